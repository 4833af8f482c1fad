/* Comparison of sets of runs: made-up timing trees whose change is known. */
#include <math.h>
#include <stdarg.h>

#include "base/json_dom.h"
#include "base/span.h"
#include "base/trace_compare.h"
#include "zk_test.h"

/* A tree as text: "name 1.5 [ child 1 child 0.4 ]", times in seconds; each time is multiplied by one of the given
 * factors, so that runs differ. */
typedef struct text {
    char data[8192];
    size_t n;
} text;

__attribute__((format(printf, 2, 3))) static void put(text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->data + t->n, sizeof t->data - t->n, format, args);
    va_end(args);
    ZK_CHECK(n >= 0 && (t->n += (size_t)n) < sizeof t->data);
}

static const char *put_tree(text *t, const char *at, double factor) {
    char name[32], opening[2] = "";
    double seconds;
    int used = 0;
    bool first = true;
    for (;; first = false) {
        if (sscanf(at, " %1[]]%n", opening, &used) == 1) return at + used;
        if (sscanf(at, " %31[^ ] %lf%n", name, &seconds, &used) != 2) return at;
        at += used;
        put(t, "%s{\"name\":\"%s\",\"duration_ns\":%.0f,\"children\":[", first ? "" : ",", name,
            seconds * factor * 1e9);
        if (sscanf(at, " %1[[]%n", opening, &used) == 1) at = put_tree(t, at + used, factor);
        put(t, "]}");
    }
}

/* A set of n runs of this tree, the longest `noise` (a share) longer than the shortest. */
static zk_trace_set *set_of(const char *tree, size_t n, double noise) {
    zk_trace_set *set = zk_trace_set_create();
    cuzk_err err = {0};
    for (size_t i = 0; i < n; i++) {
        text t = {.n = 0};
        size_t k = (i * 7 + 3) % n; /* not in order */
        put_tree(&t, tree, 1 + (n > 1 ? noise * (double)k / (double)(n - 1) : 0));
        ZK_CHECK_OK(zk_trace_set_add(set, t.data, t.n, "a run", &err), err);
    }
    ZK_CHECK(zk_trace_set_n_runs(set) == n);
    return set;
}

static zk_trace_comparison *compare(zk_trace_set *a, zk_trace_set *b) {
    zk_trace_comparison *c = NULL;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_trace_compare(&c, a, b, 3, &err), err);
    zk_trace_set_destroy(a);
    zk_trace_set_destroy(b);
    return c;
}

static const zk_trace_stage *stage_of(const zk_trace_comparison *c, const char *path) {
    for (size_t i = 0; i < c->n_stages; i++)
        if (strcmp(c->stages[i].path, path) == 0) return &c->stages[i];
    ZK_FAIL_CASE("no stage %s", path);
}

static bool near(double found_ns, double seconds) { return fabs(found_ns - seconds * 1e9) < 1e6; }

/* The three timers around each other, and ten seconds between the second and the third that no timer has: one line. */
static void test_hidden_gap(void) {
    zk_trace_comparison *c = compare(set_of("pipeline 25.9 [ prover 25.8 [ cuda 25.7 ] ]", 7, 0.004),
                                     set_of("pipeline 36.0 [ prover 25.8 [ cuda 25.7 ] ]", 7, 0.004));
    ZK_CHECKF(c->n_regressions == 1 && c->n_stages == 3, "%zu regressions", c->n_regressions);
    const zk_trace_stage *worst = &c->stages[0];
    ZK_CHECK(strcmp(worst->path, "pipeline") == 0 && worst->verdict == ZK_TRACE_SLOWER);
    ZK_CHECKF(fabs(worst->own_change_ns - 10.1e9) < 0.1e9, "%.0f", worst->own_change_ns);
    ZK_CHECK(worst->b.unaccounted.median_ns > 10.1e9 && worst->a.unaccounted.median_ns < 0.2e9);
    ZK_CHECK(stage_of(c, "pipeline/prover")->verdict == ZK_TRACE_SAME);
    ZK_CHECK(stage_of(c, "pipeline/prover/cuda")->verdict == ZK_TRACE_SAME);
    zk_trace_comparison_destroy(c);
}

/* A stage far down: told there, and its ancestors say that it is by a part of theirs. */
static void test_deep_stage(void) {
    zk_trace_comparison *c = compare(set_of("prove 20 [ load 5 partition 14 [ h 6 msm 8 [ g1 5 g2 3 ] ] ]", 5, 0.01),
                                     set_of("prove 22 [ load 5 partition 16 [ h 6 msm 10 [ g1 7 g2 3 ] ] ]", 5, 0.01));
    ZK_CHECK(c->n_regressions == 1 && strcmp(c->stages[0].path, "prove/partition/msm/g1") == 0);
    ZK_CHECK(strcmp(c->stages[0].name, "g1") == 0 && near(c->stages[0].change_ns, 2.01));
    ZK_CHECK(stage_of(c, "prove")->verdict == ZK_TRACE_SLOWER_BY_PARTS);
    ZK_CHECK(stage_of(c, "prove/partition/msm")->verdict == ZK_TRACE_SLOWER_BY_PARTS);
    ZK_CHECK(stage_of(c, "prove/load")->verdict == ZK_TRACE_SAME);
    zk_trace_comparison_destroy(c);
    /* the other way round */
    c = compare(set_of("prove 22 [ load 5 h 17 ]", 5, 0.01), set_of("prove 20 [ load 5 h 15 ]", 5, 0.01));
    ZK_CHECK(c->n_regressions == 0 && stage_of(c, "prove/h")->verdict == ZK_TRACE_FASTER);
    ZK_CHECK(stage_of(c, "prove")->verdict == ZK_TRACE_FASTER_BY_PARTS);
    zk_trace_comparison_destroy(c);
}

/* The same growth of 4 % is a regression between quiet runs and none between noisy ones. */
static void test_spread(void) {
    zk_trace_comparison *c = compare(set_of("a 10 [ b 10 ]", 9, 0.01), set_of("a 10.4 [ b 10.4 ]", 9, 0.01));
    ZK_CHECK(c->n_regressions == 1 && strcmp(c->stages[0].path, "a/b") == 0);
    zk_trace_comparison_destroy(c);
    c = compare(set_of("a 10 [ b 10 ]", 9, 0.20), set_of("a 10.4 [ b 10.4 ]", 9, 0.20));
    ZK_CHECK(c->n_regressions == 0);
    zk_trace_comparison_destroy(c);
    /* one run that stands out is no spread */
    zk_trace_set *a = set_of("a 10", 8, 0.005);
    cuzk_err err = {0};
    const char *run = "{\"name\":\"a\",\"duration_ns\":30000000000,\"children\":[]}";
    ZK_CHECK_OK(zk_trace_set_add(a, run, strlen(run), "x", &err), err);
    c = compare(a, set_of("a 10.5", 9, 0.005));
    ZK_CHECK(c->n_regressions == 1 && c->stages[0].a.total.max_ns == 30e9 && c->stages[0].a.total.spread_ns < 0.1e9);
    zk_trace_comparison_destroy(c);
}

/* The figures themselves. */
static void test_figures(void) {
    zk_trace_comparison *c = compare(set_of("a 10 [ b 4 c 5 ]", 5, 0.4), set_of("a 10 [ b 4 c 5 ]", 4, 0.3));
    const zk_trace_stage *s = stage_of(c, "a");
    /* 10 11 12 13 14: deviations 0 1 1 2 2 */
    ZK_CHECK(near(s->a.total.median_ns, 12) && near(s->a.total.spread_ns, 1.4826) && near(s->a.total.min_ns, 10));
    ZK_CHECK(near(s->a.total.max_ns, 14) && near(s->a.unaccounted.median_ns, 1.2) && s->a.n_runs == 5);
    /* 10 11 12 13: few runs, range 3 */
    ZK_CHECK(near(s->b.total.median_ns, 11.5) && near(s->b.total.spread_ns, 3 / 2.059) && s->b.n_runs == 4);
    ZK_CHECK(near(s->change_ns, -0.5) && near(s->spread_ns, hypot(1.4826, 3 / 2.059)));
    ZK_CHECK(near(stage_of(c, "a/b")->a.own.median_ns, 4.8) && stage_of(c, "a/b")->a.unaccounted.median_ns == 0);
    zk_trace_comparison_destroy(c);
    /* one run each: five in a hundred stand for the spread */
    c = compare(set_of("a 10", 1, 0), set_of("a 11", 1, 0));
    ZK_CHECK(c->n_regressions == 0 && near(c->stages[0].a.total.spread_ns, 0.5));
    zk_trace_comparison_destroy(c);
    c = compare(set_of("a 10", 1, 0), set_of("a 13", 1, 0));
    ZK_CHECK(c->n_regressions == 1);
    zk_trace_comparison_destroy(c);
}

/* A timer put around time that was there before changes nothing; new work in a new stage does, in its parent's name. */
static void test_new_and_gone(void) {
    zk_trace_comparison *c = compare(set_of("p 20 [ a 10 ]", 5, 0.01), set_of("p 20 [ a 10 release 9 ]", 5, 0.01));
    ZK_CHECK(c->n_regressions == 0 && stage_of(c, "p/release")->verdict == ZK_TRACE_NEW);
    ZK_CHECK(stage_of(c, "p")->a.unaccounted.median_ns > 10e9 && stage_of(c, "p")->b.unaccounted.median_ns < 1.1e9);
    zk_trace_comparison_destroy(c);
    c = compare(set_of("p 20 [ a 10 release 9 ]", 5, 0.01), set_of("p 20 [ a 10 ]", 5, 0.01));
    ZK_CHECK(c->n_regressions == 0 && stage_of(c, "p/release")->verdict == ZK_TRACE_GONE);
    zk_trace_comparison_destroy(c);
    c = compare(set_of("p 11 [ a 10 ]", 5, 0.01), set_of("p 20 [ a 10 release 9 [ x 8 ] ]", 5, 0.01));
    ZK_CHECK(c->n_regressions == 1 && strcmp(c->stages[0].path, "p") == 0);
    ZK_CHECK(stage_of(c, "p/release/x")->verdict == ZK_TRACE_NEW && stage_of(c, "p/release/x")->a.n_runs == 0);
    zk_trace_comparison_destroy(c);
}

/* Twelve stages each a little slower, none for itself beyond its spread: the whole is. */
static void test_together(void) {
    zk_trace_set *sets[2];
    cuzk_err err = {0};
    for (int side = 0; side < 2; side++) {
        sets[side] = zk_trace_set_create();
        for (int run = 0; run < 9; run++) {
            text t = {.n = 0};
            double sum = 0;
            put(&t, "{\"name\":\"w\",\"children\":[");
            for (int i = 0; i < 12; i++) {
                /* noise of +-8 % that cancels out over the stages of a run */
                double s = 1 + 0.02 * (((run + i / 2 * 4) % 9) - 4) * (i % 2 ? 1 : -1) + 0.06 * side;
                sum += s;
                put(&t, "%s{\"name\":\"s%d\",\"duration_ns\":%.0f}", i ? "," : "", i, s * 1e9);
            }
            put(&t, "],\"duration_ns\":%.0f}", sum * 1e9);
            ZK_CHECK_OK(zk_trace_set_add(sets[side], t.data, t.n, "run", &err), err);
        }
    }
    zk_trace_comparison *c = compare(sets[0], sets[1]);
    ZK_CHECKF(c->n_regressions == 1, "%zu", c->n_regressions);
    ZK_CHECK(strcmp(c->stages[0].path, "w") == 0 && c->stages[0].verdict == ZK_TRACE_SLOWER_TOGETHER);
    zk_trace_comparison_destroy(c);
}

/* Spans of one name in one run are one stage. */
static void test_repeated(void) {
    zk_trace_comparison *c = compare(set_of("p 10 [ q 2 q 3 q 4 ]", 3, 0.01), set_of("p 10 [ q 9 ]", 3, 0.01));
    const zk_trace_stage *q = stage_of(c, "p/q");
    ZK_CHECK(c->n_stages == 2 && q->verdict == ZK_TRACE_SAME && q->a.n_spans == 3 && q->b.n_spans == 1);
    ZK_CHECK(near(q->a.total.median_ns, 9 * 1.005));
    zk_trace_comparison_destroy(c);
}

/* What the program writes, in both forms, is the same set. */
static void test_own_forms(void) {
    char *texts[2] = {NULL, NULL};
    size_t n[2];
    cuzk_err err = {0};
    zk_trace *trace = zk_trace_create("root", 0);
    zk_span *outer = zk_span_open(trace, "outer"), *inner = zk_span_open_kernel(trace, "in\"ner");
    while (zk_span_duration_ns(inner) < 2000000) {}
    zk_span_close(trace, inner);
    zk_span_close(trace, outer);
    zk_span_close(trace, zk_span_open(trace, "after"));
    for (int i = 0; i < 2; i++) {
        FILE *out = open_memstream(&texts[i], &n[i]);
        i ? zk_trace_print_chrome(trace, out) : zk_trace_print_json(trace, out);
        fclose(out);
    }
    zk_trace_set *sets[2];
    for (int i = 0; i < 2; i++) {
        sets[i] = zk_trace_set_create();
        ZK_CHECK_OK(zk_trace_set_add(sets[i], texts[i], n[i], "x", &err), err);
    }
    zk_trace_comparison *c = compare(sets[0], sets[1]);
    ZK_CHECK(c->n_stages == 4 && c->n_regressions == 0);
    for (size_t i = 0; i < c->n_stages; i++) {
        const zk_trace_stage *s = &c->stages[i];
        ZK_CHECKF(s->verdict == ZK_TRACE_SAME && fabs(s->change_ns) < 3, "%s", s->path);
        ZK_CHECK(fabs(s->a.unaccounted.median_ns - s->b.unaccounted.median_ns) < 10);
    }
    ZK_CHECK(stage_of(c, "root/outer/in\"ner")->a.total.median_ns >= 2e6);
    zk_trace_comparison_destroy(c);
    zk_trace_destroy(trace);
    for (int i = 0; i < 2; i++) free(texts[i]);
}

/* A daemon's document: tasks of several workers, in any order; each is a run of its own. */
static void test_chrome(void) {
    static const char document[] =
        "{\"displayTimeUnit\":\"ms\",\"traceEvents\":["
        "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":7,\"args\":{\"name\":\"worker\"}},"
        "{\"name\":\"h\",\"ph\":\"X\",\"ts\":1100.000,\"dur\":500.000,\"pid\":7,\"tid\":1},"
        "{\"name\":\"partition\",\"ph\":\"X\",\"ts\":1000.000,\"dur\":1000.000,\"pid\":7,\"tid\":1},"
        "{\"name\":\"partition\",\"ph\":\"X\",\"ts\":1000.000,\"dur\":1200.000,\"pid\":8,\"tid\":1},"
        "{\"name\":\"h\",\"ph\":\"X\",\"ts\":1000.000,\"dur\":1200.000,\"pid\":8,\"tid\":1},"
        "{\"name\":\"partition\",\"ph\":\"X\",\"ts\":2000.000,\"dur\":800.000,\"pid\":7,\"tid\":1},"
        "{\"name\":\"check job\",\"ph\":\"X\",\"ts\":10.000,\"dur\":8.000,\"pid\":7,\"tid\":1}]}";
    cuzk_err err = {0};
    zk_trace_set *sets[2];
    for (int i = 0; i < 2; i++) {
        sets[i] = zk_trace_set_create();
        ZK_CHECK_OK(zk_trace_set_add(sets[i], document, sizeof document - 1, "x", &err), err);
        ZK_CHECK(zk_trace_set_n_runs(sets[i]) == 4);
    }
    zk_trace_comparison *c = compare(sets[0], sets[1]);
    const zk_trace_stage *s = stage_of(c, "partition"), *h = stage_of(c, "partition/h");
    ZK_CHECK(c->n_stages == 3 && s->a.n_runs == 3 && s->a.total.median_ns == 1000e3 && s->a.total.min_ns == 800e3);
    ZK_CHECK(s->a.unaccounted.max_ns == 500e3 && s->a.unaccounted.min_ns == 0); /* without parts: not asked */
    ZK_CHECK(h->a.n_runs == 3 && h->a.total.min_ns == 0 && h->a.total.median_ns == 500e3);
    ZK_CHECK(stage_of(c, "check job")->a.n_runs == 1);
    zk_trace_comparison_destroy(c);
}

/* Parts whose sum passes 2^64 cover all of their span. */
static void test_largest(void) {
    static const char run[] = "{\"name\":\"a\",\"duration_ns\":18446744073709551615,\"children\":["
                              "{\"name\":\"b\",\"duration_ns\":18446744073709551615},"
                              "{\"name\":\"c\",\"duration_ns\":1000}]}";
    zk_trace_set *sets[2];
    cuzk_err err = {0};
    for (int i = 0; i < 2; i++) {
        sets[i] = zk_trace_set_create();
        ZK_CHECK_OK(zk_trace_set_add(sets[i], run, sizeof run - 1, "x", &err), err);
    }
    zk_trace_comparison *c = compare(sets[0], sets[1]);
    ZK_CHECK(c->n_regressions == 0 && stage_of(c, "a")->a.unaccounted.max_ns == 0);
    zk_trace_comparison_destroy(c);
}

static void test_refused(void) {
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "7",
        "{\"name\":\"a\"}",
        "{\"duration_ns\":1}",
        "{\"name\":\"a\",\"duration_ns\":-1}",
        "{\"name\":\"a\",\"duration_ns\":1.5}",
        "{\"name\":7,\"duration_ns\":1}",
        "{\"name\":\"a\",\"duration_ns\":1,\"children\":{}}",
        "{\"name\":\"a\",\"duration_ns\":1,\"children\":[7]}",
        "{\"traceEvents\":[]}",
        "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1}]}",
        "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":2}]}",
        "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":-2}]}",
        "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"ts\":-1,\"dur\":2}]}",
        "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1e17}]}",
        "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1e999}]}",
        "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2,\"tid\":-1e999}]}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cuzk_err err = {0};
        zk_trace_set *set = zk_trace_set_create();
        ZK_CHECKF(zk_trace_set_add(set, bad[i], strlen(bad[i]), "the file", &err) == CUZK_BAD_INPUT, "%s", bad[i]);
        ZK_CHECKF(strncmp(err.message, "the file: ", 10) == 0, "%s", err.message);
        zk_trace_set_destroy(set);
    }
    zk_trace_set *empty = zk_trace_set_create(), *a = set_of("a 1", 1, 0), *b = set_of("b 1", 1, 0);
    zk_trace_comparison *c = NULL;
    cuzk_err err = {0};
    ZK_CHECK(zk_trace_compare(&c, a, empty, 3, &err) == CUZK_BAD_INPUT && strstr(err.message, "B has no runs"));
    zk_err_reset(&err);
    ZK_CHECK(zk_trace_compare(&c, a, b, 3, &err) == CUZK_BAD_INPUT && strstr(err.message, "\"a\", B of \"b\""));
    zk_trace_set_destroy(empty);
    zk_trace_set_destroy(a);
    zk_trace_set_destroy(b);
}

ZK_TEST_MAIN(ZK_CASE(test_hidden_gap), ZK_CASE(test_deep_stage), ZK_CASE(test_spread), ZK_CASE(test_figures),
             ZK_CASE(test_new_and_gone), ZK_CASE(test_together), ZK_CASE(test_repeated), ZK_CASE(test_own_forms),
             ZK_CASE(test_chrome), ZK_CASE(test_largest), ZK_CASE(test_refused))
