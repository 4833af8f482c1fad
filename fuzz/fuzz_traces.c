/* Timing trees: two documents with a zero byte between them (one document: compared with itself). Whatever they say,
 * figures are finite and in order, and a set does not differ from itself. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/trace_compare.h"

static zk_trace_set *read_set(const uint8_t *data, size_t size) {
    zk_trace_set *set = zk_trace_set_create();
    cuzk_err err = {0};
    if (!set) abort();
    if (zk_trace_set_add(set, (const char *)data, size, "fuzz", &err) == CUZK_OK) {
        if (!zk_trace_set_n_runs(set)) abort();
        return set;
    }
    if (strncmp(err.message, "fuzz: ", 6) != 0) abort();
    zk_trace_set_destroy(set);
    return NULL;
}

static void check_times(const zk_trace_times *t) {
    if (!isfinite(t->min_ns) || !isfinite(t->max_ns) || !isfinite(t->spread_ns)) abort();
    if (!(0 <= t->min_ns && t->min_ns <= t->median_ns && t->median_ns <= t->max_ns && t->spread_ns >= 0)) abort();
}

static void check_side(const zk_trace_side *s) {
    check_times(&s->total);
    check_times(&s->own);
    check_times(&s->unaccounted);
    /* to the rounding of sums */
    if (s->own.max_ns > s->total.max_ns * (1 + 1e-9) + 1 || s->unaccounted.max_ns > s->total.max_ns * (1 + 1e-9) + 1)
        abort();
}

static void compare(const zk_trace_set *a, const zk_trace_set *b) {
    zk_trace_comparison *c = NULL;
    cuzk_err err = {0};
    cuzk_status status = zk_trace_compare(&c, a, b, 3, &err);
    if (status != CUZK_OK) {
        if (status != CUZK_BAD_INPUT || c || !err.message[0]) abort();
        return;
    }
    for (size_t i = 0; i < c->n_stages; i++) {
        const zk_trace_stage *s = &c->stages[i];
        if (zk_trace_verdict_is_regression(s->verdict) != (i < c->n_regressions)) abort();
        if (a == b && (s->verdict != ZK_TRACE_SAME || s->change_ns != 0 || s->own_change_ns != 0)) abort();
        if ((s->verdict == ZK_TRACE_NEW) != !s->a.n_runs || (s->verdict == ZK_TRACE_GONE) != !s->b.n_runs) abort();
        if (!isfinite(s->spread_ns) || !isfinite(s->own_spread_ns) || !isfinite(c->root_ns)) abort();
        check_side(&s->a);
        check_side(&s->b);
    }
    zk_trace_comparison_destroy(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *between = size ? memchr(data, 0, size) : NULL;
    size_t n = between ? (size_t)(between - data) : size;
    zk_trace_set *a = read_set(data, n), *b = between ? read_set(between + 1, size - n - 1) : NULL;
    if (a) compare(a, a);
    if (a && b) compare(a, b);
    zk_trace_set_destroy(a);
    zk_trace_set_destroy(b);
    return 0;
}
