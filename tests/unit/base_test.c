/* Thread pool, CPU count, spans. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/span.h"
#include "zk_test.h"

#define MAX_N 1000

typedef struct cover {
    zk_pool *pool;
    size_t n, grain, last_begin[64];
    atomic_uint seen[MAX_N + 1];
    atomic_uint busy[64]; /* calls in progress per thread number */
    atomic_bool wrong;
    atomic_size_t nested;
} cover;

static void cover_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    cover *c = ctx;
    if (thread >= zk_pool_n_threads(c->pool) || begin >= end || end > c->n || end - begin > c->grain) {
        atomic_store(&c->wrong, true);
        return;
    }
    if (atomic_fetch_add(&c->busy[thread], 1)) atomic_store(&c->wrong, true);
    for (size_t i = begin; i < end; i++) atomic_fetch_add(&c->seen[i], 1);
    if (begin < c->last_begin[thread]) atomic_store(&c->wrong, true);
    c->last_begin[thread] = begin;
    atomic_fetch_sub(&c->busy[thread], 1);
}

static void check_cover(zk_pool *pool, size_t n, size_t grain) {
    static cover c;
    memset(&c, 0, sizeof c);
    c.pool = pool;
    c.n = n;
    c.grain = grain;
    zk_pool_for(pool, n, grain, cover_range, &c);
    ZK_CHECKF(!c.wrong, "n=%zu grain=%zu threads=%u", n, grain, zk_pool_n_threads(pool));
    for (size_t i = 0; i <= MAX_N; i++)
        ZK_CHECKF(c.seen[i] == (i < n), "n=%zu grain=%zu index=%zu seen=%u", n, grain, i, c.seen[i]);
}

static void test_pool_covers(void) {
    static const size_t ns[] = {0, 1, 2, 3, 7, 16, 63, 64, 65, 255, 1000};
    static const size_t grains[] = {1, 2, 3, 16, 64, 999, 1000, 1001, SIZE_MAX};
    for (unsigned n_threads = 0; n_threads <= 9; n_threads++) {
        cuzk_err err = {0};
        zk_pool *pool = NULL;
        if (n_threads) ZK_CHECK_OK(zk_pool_create(&pool, n_threads, &err), err);
        ZK_CHECK(zk_pool_n_threads(pool) == (n_threads ? n_threads : 1));
        for (size_t i = 0; i < sizeof ns / sizeof *ns; i++)
            for (size_t k = 0; k < sizeof grains / sizeof *grains; k++) check_cover(pool, ns[i], grains[k]);
        zk_pool_destroy(pool);
    }
}

static void add_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    atomic_fetch_add((atomic_size_t *)ctx, end - begin);
}

/* Plain writes: a missing barrier shows under the thread sanitizer. */
static void write_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    for (size_t i = begin; i < end; i++) ((size_t *)ctx)[i] += i;
}

static void test_pool_many_short_loops(void) {
    cuzk_err err = {0};
    zk_pool *pool;
    ZK_CHECK_OK(zk_pool_create(&pool, 4, &err), err);
    static size_t values[64];
    memset(values, 0, sizeof values);
    for (int round = 0; round < 3000; round++) {
        zk_pool_for(pool, 64, 1 + (size_t)round % 33, write_range, values);
        if (round % 1000 == 999) usleep(2000); /* let the workers fall asleep */
    }
    for (size_t i = 0; i < 64; i++) ZK_CHECK(values[i] == 3000 * i);
    zk_pool_destroy(pool);
}

static void nest_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    cover *c = ctx;
    for (size_t i = begin; i < end; i++) zk_pool_for(c->pool, 100, 7, add_range, &c->nested);
    cover_range(ctx, begin, end, thread);
}

static void test_pool_nested(void) {
    for (unsigned n_threads = 1; n_threads <= 5; n_threads++) {
        cuzk_err err = {0};
        static cover c;
        memset(&c, 0, sizeof c);
        c.n = 50;
        c.grain = 3;
        ZK_CHECK_OK(zk_pool_create(&c.pool, n_threads, &err), err);
        zk_pool_for(c.pool, c.n, c.grain, nest_range, &c);
        ZK_CHECK(!c.wrong && c.nested == 50 * 100);
        zk_pool_destroy(c.pool);
    }
}

typedef struct nest_two {
    zk_pool *inner;
    atomic_size_t sum;
} nest_two;

static void nest_other_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    nest_two *t = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++) zk_pool_for(t->inner, 30, 4, add_range, &t->sum);
}

static void test_pool_inside_another(void) {
    cuzk_err err = {0};
    zk_pool *outer;
    nest_two t = {0};
    ZK_CHECK_OK(zk_pool_create(&outer, 3, &err), err);
    ZK_CHECK_OK(zk_pool_create(&t.inner, 2, &err), err);
    zk_pool_for(outer, 40, 1, nest_other_range, &t);
    ZK_CHECK(t.sum == 40 * 30);
    zk_pool_destroy(t.inner);
    zk_pool_destroy(outer);
}

static void *outside_caller(void *arg) {
    zk_pool *pool = arg;
    for (int round = 0; round < 200; round++) {
        cover *c = calloc(1, sizeof *c);
        if (!c) return arg;
        c->pool = pool;
        c->n = (size_t)(round * 37) % MAX_N;
        c->grain = 1 + (size_t)round % 50;
        zk_pool_for(pool, c->n, c->grain, cover_range, c);
        bool bad = c->wrong;
        for (size_t i = 0; i <= MAX_N; i++) bad |= c->seen[i] != (i < c->n);
        free(c);
        if (bad) return arg;
    }
    return NULL;
}

static void test_pool_outside_callers(void) {
    for (unsigned n_threads = 1; n_threads <= 4; n_threads += 3) {
        cuzk_err err = {0};
        zk_pool *pool;
        pthread_t threads[5];
        ZK_CHECK_OK(zk_pool_create(&pool, n_threads, &err), err);
        for (int i = 0; i < 5; i++) ZK_CHECK(pthread_create(&threads[i], NULL, outside_caller, pool) == 0);
        bool bad = false;
        for (int i = 0; i < 5; i++) {
            void *result;
            pthread_join(threads[i], &result);
            bad |= result != NULL;
        }
        ZK_CHECK(!bad);
        zk_pool_destroy(pool);
    }
}

static void test_pool_create_limits(void) {
    cuzk_err err = {0};
    zk_pool *pool;
    ZK_CHECK(zk_pool_create(&pool, 100000, &err) == CUZK_USAGE && pool == NULL);
    ZK_CHECK(strstr(err.message, "100000"));
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_pool_create(&pool, 0, &err), err);
    ZK_CHECK(zk_pool_n_threads(pool) == zk_cpus_usable());
    zk_pool_destroy(pool);
    zk_pool_destroy(NULL);
}

static void write_file(const char *folder, const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, "w");
    ZK_CHECK(out && fputs(text, out) >= 0 && fclose(out) == 0);
}

/* The pool keeps the largest block given back; its account goes with it. */
static void test_pool_memory(void) {
    cuzk_err err = {0};
    zk_pool *pool;
    void *a, *b, *c;
    const uint64_t before = zk_mem_current_bytes();
    ZK_CHECK_OK(zk_pool_create(&pool, 2, &err), err);
    ZK_CHECK_OK(zk_pool_take_memory(&a, pool, "kept", 1000, &err), err);
    ZK_CHECK_OK(zk_pool_take_memory(&b, pool, "kept", 3 << 20, &err), err);
    ZK_CHECK(zk_mem_current_bytes() == before + 1000 + (3 << 20));
    zk_pool_give_memory(pool, b);
    zk_pool_give_memory(pool, a); /* the smaller one goes */
    ZK_CHECK(zk_mem_current_bytes() == before + (3 << 20));
    ZK_CHECK_OK(zk_pool_take_memory(&c, pool, "kept", 2 << 20, &err), err);
    ZK_CHECK(c == b && zk_mem_current_bytes() == before + (3 << 20));
    ZK_CHECK_OK(zk_pool_take_memory(&a, pool, "kept", 10, &err), err);
    ZK_CHECK(a != c);
    zk_pool_give_memory(pool, a);
    zk_pool_give_memory(pool, c);
    zk_pool_give_memory(pool, NULL);
    ZK_CHECK_OK(zk_pool_take_memory(&a, pool, "kept", 4 << 20, &err), err); /* too large: the kept one is freed */
    ZK_CHECK(zk_mem_current_bytes() == before + (4 << 20));
    zk_pool_give_memory(pool, a);
    zk_pool_release_memory(pool);
    ZK_CHECK(zk_mem_current_bytes() == before);
    ZK_CHECK_OK(zk_pool_take_memory(&a, pool, "kept", 100, &err), err);
    zk_pool_give_memory(pool, a);
    zk_pool_destroy(pool);
    ZK_CHECK_OK(zk_pool_take_memory(&a, NULL, "kept", 100, &err), err);
    zk_pool_give_memory(NULL, a);
    zk_pool_release_memory(NULL);
    ZK_CHECK(zk_mem_current_bytes() == before);
    ZK_CHECK(zk_pool_take_memory(&a, NULL, "kept", SIZE_MAX / 2, &err) == CUZK_OUT_OF_MEMORY && !a);
}

static void test_cpus_quota(void) {
    char mount[] = "/tmp/zk-cpus-XXXXXX", path[512], proc[512];
    ZK_CHECK(mkdtemp(mount));
    snprintf(proc, sizeof proc, "%s/proc", mount);
    static const char *const folders[] = {"/a", "/a/b", "/cpu,cpuacct", "/cpu,cpuacct/x"};
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s%s", mount, folders[i]);
        ZK_CHECK(mkdir(path, 0700) == 0);
    }
    write_file(mount, "proc", "0::/a/b\n");
    ZK_CHECK(zk_cpus_quota(mount, proc) == 0);
    write_file(mount, "a/b/cpu.max", "max 100000\n");
    ZK_CHECK(zk_cpus_quota(mount, proc) == 0);
    write_file(mount, "a/b/cpu.max", "750000 100000\n");
    ZK_CHECK(zk_cpus_quota(mount, proc) == 8);
    write_file(mount, "a/cpu.max", "50000 100000\n"); /* the ancestor is the tighter one */
    ZK_CHECK(zk_cpus_quota(mount, proc) == 1);
    write_file(mount, "a/cpu.max", "max 100000\n");
    ZK_CHECK(zk_cpus_quota(mount, proc) == 8);
    write_file(mount, "proc", "0::/not/visible/here\n");
    write_file(mount, "cpu.max", "200000 100000\n");
    ZK_CHECK(zk_cpus_quota(mount, proc) == 2);
    write_file(mount, "proc", "5:cpuset:/\n4:cpu,cpuacct:/x\n");
    write_file(mount, "cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
    write_file(mount, "cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
    ZK_CHECK(zk_cpus_quota(mount, proc) == 0);
    write_file(mount, "cpu,cpuacct/x/cpu.cfs_quota_us", "310000\n");
    ZK_CHECK(zk_cpus_quota(mount, proc) == 4);
    snprintf(path, sizeof path, "rm -r %s", mount);
    ZK_CHECK(system(path) == 0);
    ZK_CHECK(zk_cpus_quota(mount, proc) == 0);
    ZK_CHECK(zk_cpus_usable() >= 1);
}

static void wait_ns(uint64_t ns) {
    uint64_t end = zk_now_ns() + ns;
    while (zk_now_ns() < end) {}
}

static void test_span_sums(void) {
    uint64_t before = zk_now_ns();
    zk_trace *trace = zk_trace_create("root", before - 5000000);
    zk_span *a = zk_span_open(trace, "a");
    wait_ns(300000);
    zk_span *a1 = zk_span_open_kernel(trace, "a1");
    wait_ns(400000);
    zk_span_count(a1, "points", 1000);
    zk_span_close(trace, a1);
    zk_span *a2 = zk_span_open(trace, "a2");
    zk_span *a21 = zk_span_open(trace, "a21");
    wait_ns(200000);
    zk_span_close(trace, a); /* closes a2 and a21 too */
    zk_span *b = zk_span_open(trace, "b");
    zk_span_close(trace, a); /* already closed: nothing happens */
    zk_span_close(trace, b);
    zk_span_close(trace, zk_trace_root(trace));
    ZK_CHECK(zk_span_open(trace, "late") == NULL);
    zk_span *root = zk_trace_root(trace);
    ZK_CHECK(zk_span_duration_ns(root) >= 5900000);
    ZK_CHECK(zk_span_children_ns(root) == zk_span_duration_ns(a) + zk_span_duration_ns(b));
    ZK_CHECK(zk_span_unaccounted_ns(root) + zk_span_children_ns(root) == zk_span_duration_ns(root));
    ZK_CHECK(zk_span_unaccounted_ns(root) >= 5000000);
    ZK_CHECK(zk_span_unaccounted_ns(a) >= 300000);
    ZK_CHECK(zk_span_children_ns(a) == zk_span_duration_ns(a1) + zk_span_duration_ns(a2));
    ZK_CHECK(zk_span_duration_ns(a1) >= 400000 && zk_span_unaccounted_ns(a1) == 0);
    ZK_CHECK(zk_span_duration_ns(a21) >= 200000 && zk_span_duration_ns(a21) <= zk_span_duration_ns(a2));
    zk_trace_destroy(trace);
}

static void test_span_from_start(void) {
    uint64_t before = zk_now_ns();
    zk_trace *trace = zk_trace_create("root", before - 5000000);
    zk_span *start = zk_span_open_from_start(trace, "start");
    zk_span_close(trace, start);
    ZK_CHECK(zk_span_duration_ns(start) >= 5000000);
    zk_span *next = zk_span_open_from_start(trace, "next"); /* not the first: it begins now */
    zk_span_close(trace, next);
    zk_span *root = zk_trace_root(trace);
    zk_span_close(trace, root);
    ZK_CHECK(zk_span_duration_ns(start) + zk_span_duration_ns(next) + zk_span_unaccounted_ns(root) ==
             zk_span_duration_ns(root));
    zk_trace_destroy(trace);
    ZK_CHECK(zk_span_open_from_start(NULL, "none") == NULL);
}

static char *printed(zk_trace *trace, void (*print)(zk_trace *, FILE *)) {
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    ZK_CHECK(out != NULL);
    print(trace, out);
    fclose(out);
    return text;
}

static void check_order(const char *text, const char *const *words) {
    const char *p = text;
    for (; *words; words++) {
        p = strstr(p, *words);
        ZK_CHECKF(p, "missing or out of order: %s in\n%s", *words, text);
        p += strlen(*words);
    }
}

static void test_span_print(void) {
    zk_trace *trace = zk_trace_create("prove", 0);
    zk_span *a = zk_span_open(trace, "parse");
    zk_span *a1 = zk_span_open_kernel(trace, "read \"it\"");
    wait_ns(100000);
    zk_span_count(a1, "bytes", 4096);
    zk_span_close(trace, a1);
    wait_ns(400000);
    zk_span_close(trace, a);
    zk_span *b = zk_span_open(trace, "check");
    zk_span_close(trace, b);
    wait_ns(100000);
    char *text = printed(trace, zk_trace_print);
    check_order(text, (const char *const[]){"prove ", "100.00 %\n", "  parse ", "    read \"it\" ", "bytes/s\n",
                                            "    unaccounted", "  check ", "  unaccounted", NULL});
    free(text);
    text = printed(trace, zk_trace_print_json);
    check_order(text, (const char *const[]){"{\"name\":\"prove\",\"start_ns\":", "\"children\":[{\"name\":\"parse\"",
                                            "\"children\":[{\"name\":\"read \\\"it\\\"\"", "\"kernel\":true",
                                            "\"count\":4096,\"children\":[]}]},{\"name\":\"check\"",
                                            "\"children\":[]}]}", NULL});
    int depth = 0;
    for (char *p = text; *p; p++) {
        depth += *p == '{' || *p == '[' ? 1 : *p == '}' || *p == ']' ? -1 : 0;
        ZK_CHECK(depth > 0 || p[1] == 0);
    }
    ZK_CHECK(depth == 0);
    free(text);
    text = printed(trace, zk_trace_print_chrome);
    check_order(text, (const char *const[]){"\"traceEvents\":[", "\"prove\"", "\"ph\":\"X\"", "\"check\"", "]}", NULL});
    free(text);
    zk_trace_destroy(trace);
    zk_trace_destroy(NULL);
}

static void test_span_alone_and_null(void) {
    zk_trace *trace = zk_trace_create("only", 0);
    char *text = printed(trace, zk_trace_print);
    check_order(text, (const char *const[]){"only ", "  unaccounted", NULL});
    free(text);
    zk_trace_destroy(trace);
    ZK_CHECK(zk_span_open(NULL, "x") == NULL && zk_trace_root(NULL) == NULL);
    zk_span_close(NULL, NULL);
    zk_span_count(NULL, "x", 1);
    ZK_CHECK(zk_span_duration_ns(NULL) == 0 && zk_span_children_ns(NULL) == 0 && zk_span_unaccounted_ns(NULL) == 0);
    text = printed(NULL, zk_trace_print_json);
    ZK_CHECK(*text == 0);
    free(text);
}

static void test_span_many(void) {
    zk_trace *trace = zk_trace_create("root", 0);
    for (int i = 0; i < 1000; i++) zk_span_close(trace, zk_span_open(trace, "leaf"));
    zk_span *root = zk_trace_root(trace);
    zk_span_close(trace, root);
    ZK_CHECK(zk_span_children_ns(root) + zk_span_unaccounted_ns(root) == zk_span_duration_ns(root));
    zk_trace_destroy(trace);
}

ZK_TEST_MAIN(ZK_CASE(test_pool_covers), ZK_CASE(test_pool_many_short_loops), ZK_CASE(test_pool_nested),
             ZK_CASE(test_pool_inside_another), ZK_CASE(test_pool_outside_callers), ZK_CASE(test_pool_create_limits),
             ZK_CASE(test_pool_memory), ZK_CASE(test_cpus_quota), ZK_CASE(test_span_sums),
             ZK_CASE(test_span_from_start), ZK_CASE(test_span_print), ZK_CASE(test_span_alone_and_null),
             ZK_CASE(test_span_many))
