/* Devices with memory of their own, played by the CPU: which there are, what runs beside them, what happens when one
 * fails, and the settings that only show with several workers. */
#include "engine_common.h"

#include <pthread.h>

static cuzk_status create(zk_engine **engine, const char *name, const char *devices, cuzk_err *err) {
    zk_engine_options options = test_options(name);
    options.devices = devices;
    *engine = NULL;
    return zk_engine_create(engine, &options, err);
}

static void test_names(void) {
    static const struct {
        const char *devices;
        cuzk_status status;
        unsigned n_workers; /* with the one that checks */
        const char *text;
    } cases[] = {
        {"cpu", CUZK_OK, 1, ""},
        {"auto", CUZK_OK, 3, ""},
        {"cuda:1", CUZK_OK, 2, ""},
        {"1,cuda:0,cpu", CUZK_OK, 4, ""},
        {"cuda:2", CUZK_DEVICE, 0, "cuda:0 to cuda:1"},
        {"0,cuda:0", CUZK_BAD_INPUT, 0, "twice"},
        {"cpu,cpu", CUZK_BAD_INPUT, 0, "twice"},
        {"gpu0", CUZK_BAD_INPUT, 0, "gpu0"},
        {"cuda:", CUZK_BAD_INPUT, 0, "cuda:"},
        {"0,", CUZK_BAD_INPUT, 0, "\"\""},
        {"cuda:0x", CUZK_BAD_INPUT, 0, "cuda:0x"},
        {"auto,0", CUZK_BAD_INPUT, 0, "auto"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        zk_engine *engine = NULL;
        cuzk_err err = {0};
        cuzk_status status = create(&engine, "names", cases[i].devices, &err);
        ZK_CHECKF(status == cases[i].status && strstr(err.message, cases[i].text), "%s: %s", cases[i].devices,
                  err.message);
        if (status != CUZK_OK) continue;
        zk_engine_status *st = test_status(engine);
        ZK_CHECKF(st->n_workers == cases[i].n_workers, "%s: %zu workers", cases[i].devices, st->n_workers);
        zk_engine_status_destroy(st);
        zk_engine_destroy(engine);
    }
}

/* Without devices the CPU proves, unless a device was asked for by name. */
static void test_none(void) {
    setenv("CUZK_TEST_DEVICES", "0", 1);
    zk_engine *engine = NULL;
    cuzk_err err = {0};
    cuzk_status named = create(&engine, "none", "cuda:0", &err), automatic = create(&engine, "none", "auto", NULL);
    unsetenv("CUZK_TEST_DEVICES");
    ZK_CHECK(named == CUZK_DEVICE && strstr(err.message, "no CUDA devices: none in this test"));
    ZK_CHECK(automatic == CUZK_OK);
    zk_engine_status *st = test_status(engine);
    ZK_CHECK(st->n_workers == 1 && strcmp(st->workers[0].device_kind, "cpu") == 0);
    zk_engine_status_destroy(st);
    zk_engine_destroy(engine);
}

static bool is_shared(const zk_engine_status *st) {
    return st->workers[0].n_proved > 0 && st->workers[1].n_proved > 0 && st->n_prepared_ahead > 0;
}

/* Two devices share the partitions of a job; inputs are made ahead, the check runs beside; figures are there. */
static void test_prove(void) {
    zk_engine *engine = NULL;
    cuzk_err err = {0};
    const zk_request *request = test_request(ZK_KIND_WINDOW, "a", 12);
    ZK_CHECK_OK(create(&engine, "prove", "auto", &err), err);
    unsigned n = test_prove_until(engine, request, is_shared);
    zk_engine_status *st = test_status(engine);
    ZK_CHECK(st->n_workers == 3 && st->n_completed == n);
    for (unsigned i = 0; i < 2; i++) {
        const zk_worker_view *w = &st->workers[i];
        ZK_CHECK(strcmp(w->device_kind, "cuda") == 0 && w->device_ordinal == i && !w->checks_only);
        ZK_CHECK(w->memory_total_bytes == 2 * TEST_DEVICE_BYTES && w->memory_free_bytes == TEST_DEVICE_BYTES);
        ZK_CHECKF(w->n_proved > 0, "device %u", i);
        ZK_CHECK(w->device_reserved_bytes > 0);
    }
    ZK_CHECK(st->workers[2].checks_only && strcmp(st->workers[2].device_kind, "cpu") == 0);
    ZK_CHECK(st->workers[2].n_proved == 0);
    ZK_CHECKF(st->n_prepared_ahead > 0, "%llu ahead", (unsigned long long)st->n_prepared_ahead);
    ZK_CHECK(st->srs[0].n_workers == 2);
    zk_engine_status_destroy(st);
    zk_engine_destroy(engine);
}

/* A worker takes as much of its device as it is told to. */
static void test_device_memory(void) {
    zk_engine *engine = NULL;
    cuzk_err err = {0};
    zk_engine_options options = test_options("part");
    options.devices = "cuda:1";
    options.device_memory_bytes = (uint64_t)3 << 28;
    ZK_CHECK_OK(zk_engine_create(&engine, &options, &err), err);
    test_prove_request(engine, test_request(ZK_KIND_WINDOW, "a", 1));
    zk_engine_status *st = test_status(engine);
    ZK_CHECK(st->workers[0].memory_total_bytes == (uint64_t)3 << 28);
    zk_engine_status_destroy(st);
    zk_engine_destroy(engine);
}

/* The check says what is wrong, not the circuit that cannot be satisfied. */
static void test_bad_input(void) {
    zk_engine *engine = NULL;
    cuzk_err err = {0};
    ZK_CHECK_OK(create(&engine, "bad", "0", &err), err);
    zk_request bad = test_as(test_request(ZK_KIND_WINDOW, "a", 1), "bad", ZK_PRIORITY_UNSPECIFIED);
    zk_blob blob = {malloc(bad.vanilla_proofs[0].n), bad.vanilla_proofs[0].n};
    size_t n_bad = 0;
    /* wherever a bit is flipped; what cannot even be read fails before */
    for (size_t at = 40; at < blob.n; at += blob.n / 5) {
        memcpy(blob.data, test_request(ZK_KIND_WINDOW, "a", 1)->vanilla_proofs[0].data, blob.n);
        blob.data[at] ^= 1;
        bad.vanilla_proofs = &blob;
        zk_submitted s;
        zk_result result;
        test_submit(&s, engine, &bad);
        test_await(&result, engine, s.job_id);
        ZK_CHECK(result.outcome == ZK_OUTCOME_FAILED && result.status == CUZK_BAD_INPUT);
        n_bad += strstr(result.message, "the vanilla proof does not hold (check ") != NULL;
    }
    ZK_CHECK(n_bad > 0);
    free(blob.data);
    zk_engine_destroy(engine);
}

static void prove_with_fault(const char *name, const char *fault, const char *devices) {
    zk_engine *engine = NULL;
    cuzk_err err = {0};
    const zk_request *request = test_request(ZK_KIND_WINDOW, "a", 12);
    setenv("CUZK_TEST_FAULT_OF_0", fault, 1);
    ZK_CHECK_OK(create(&engine, name, devices, &err), err);
    test_prove_request(engine, request);
    unsetenv("CUZK_TEST_FAULT_OF_0");
    zk_engine_status *st = test_status(engine);
    /* by the other device, and where that is slow by a worker on the CPU */
    ZK_CHECKF(st->workers[0].n_proved == 0, "%s: %llu", name, (unsigned long long)st->workers[0].n_proved);
    ZK_CHECK(st->workers[1].n_proved > 0);
    zk_engine_status_destroy(st);
    zk_engine_destroy(engine);
}

/* One device fails, in any way, whatever it does: the other does its work. */
static void test_one_fails(void) {
    prove_with_fault("device-error", "device@h:1+", "auto");
    prove_with_fault("device-crash", "crash@msm:1+", "auto");
    prove_with_fault("device-memory", "alloc@load:1+", "auto");
    prove_with_fault("device-wrong", "wrong@verify:1+", "auto");
}

/* A worker that does not start says why, jobs do not wait for it for ever. */
static void test_does_not_start(void) {
    setenv("CUZK_TEST_BROKEN", "1", 1);
    zk_engine *engine = NULL;
    cuzk_err err = {0};
    ZK_CHECK_OK(create(&engine, "broken", "0", &err), err);
    zk_submitted s;
    zk_result result;
    test_submit(&s, engine, test_request(ZK_KIND_WINDOW, "a", 1));
    test_await(&result, engine, s.job_id);
    unsetenv("CUZK_TEST_BROKEN");
    ZK_CHECKF(result.outcome == ZK_OUTCOME_FAILED && strstr(result.message, "no worker is left"), "%s", result.message);
    zk_engine_destroy(engine);
}

static void test_preload_all(void) {
    zk_engine *engine = NULL;
    cuzk_err err = {0};
    bool loaded = true;
    uint64_t ms, bytes;
    ZK_CHECK_OK(create(&engine, "keys", "auto", &err), err);
    ZK_CHECK_OK(zk_engine_preload(&loaded, &ms, engine, "wpost-2k", &err), err);
    ZK_CHECK(!loaded);
    zk_engine_status *st = test_status(engine);
    ZK_CHECK(st->srs[0].n_workers == 2 && st->workers[0].device_reserved_bytes > 0);
    ZK_CHECK(st->workers[1].device_reserved_bytes == st->workers[0].device_reserved_bytes);
    uint64_t each = st->workers[0].device_reserved_bytes + st->workers[0].reserved_bytes;
    zk_engine_status_destroy(st);
    ZK_CHECK_OK(zk_engine_preload(&loaded, &ms, engine, "wpost-2k", &err), err);
    ZK_CHECK(loaded);
    ZK_CHECK_OK(zk_engine_evict(&loaded, &bytes, engine, "wpost-2k", &err), err);
    ZK_CHECK(loaded && bytes == 2 * each);
    st = test_status(engine);
    ZK_CHECK(st->workers[0].device_reserved_bytes == 0 && st->memory_reserved_bytes == 0);
    zk_engine_status_destroy(st);
    zk_engine_destroy(engine);
}

static unsigned n_in_stage(zk_engine *engine, const char *stage) {
    unsigned n = 0;
    zk_engine_status *st = test_status(engine);
    for (size_t k = 0; k < st->n_workers; k++) n += strcmp(st->workers[k].stage, stage) == 0;
    zk_engine_status_destroy(st);
    return n;
}

static void count_stuck(const zk_engine_options *options, const char *stage, unsigned n_jobs, unsigned expected) {
    cuzk_err err = {0};
    bool loaded, was;
    uint64_t ms;
    zk_engine *engine = test_engine(options);
    ZK_CHECK_OK(zk_engine_preload(&loaded, &ms, engine, "wpost-2k", &err), err);
    zk_submitted s[2];
    for (unsigned i = 0; i < n_jobs; i++) {
        zk_request request = test_as(test_request(ZK_KIND_WINDOW, "a", 12), "", ZK_PRIORITY_NORMAL);
        test_submit(&s[i], engine, &request);
    }
    TEST_UNTIL(n_in_stage(engine, stage) >= expected);
    usleep(700000); /* for more to come */
    unsigned n = n_in_stage(engine, stage);
    ZK_CHECKF(n == expected, "%u workers in %s, expected %u", n, stage, expected);
    for (unsigned i = 0; i < n_jobs; i++) ZK_CHECK_OK(zk_engine_cancel(&was, engine, s[i].job_id, &err), err);
    zk_engine_destroy(engine);
}

static void test_limits(void) {
    zk_engine_options options = test_options("limits");
    options.devices = "auto";
    options.worker_fault = "hang@synthesize:1+";
    count_stuck(&options, "synthesize", 1, 2);
    options.max_synthesizing = 1;
    count_stuck(&options, "synthesize", 1, 1);
    options.worker_fault = "hang@h:1+"; /* past it */
    count_stuck(&options, "h", 1, 2);
    options.max_synthesizing = 0;
    options.max_job_in_flight = 1;
    count_stuck(&options, "h", 1, 1);
    count_stuck(&options, "h", 2, 2);
}

/* Nothing is prepared ahead when that is off, nor checked apart. */
static void test_no_pipeline(void) {
    zk_engine_options options = test_options("no-pipeline");
    options.devices = "auto";
    options.no_lookahead = options.no_checkers = true;
    zk_engine *engine = test_engine(&options);
    const zk_request *request = test_request(ZK_KIND_WINDOW, "a", 12);
    test_prove_request(engine, request);
    zk_engine_status *st = test_status(engine);
    ZK_CHECK(st->n_workers == 2 && st->n_prepared_ahead == 0);
    zk_engine_status_destroy(st);
    zk_engine_destroy(engine);
}

typedef struct order {
    pthread_mutex_t lock;
    char ended[16];
    unsigned n;
} order;
static order ends = {.lock = PTHREAD_MUTEX_INITIALIZER};

static unsigned n_ended(void) {
    pthread_mutex_lock(&ends.lock);
    unsigned n = ends.n;
    pthread_mutex_unlock(&ends.lock);
    return n;
}

static void note_end(void *ctx, const zk_result *result) {
    pthread_mutex_lock(&ends.lock);
    if (result->outcome == ZK_OUTCOME_COMPLETED) ends.ended[ends.n++] = *(const char *)ctx;
    pthread_mutex_unlock(&ends.lock);
}

/* Jobs of the circuit at hand go past an older one of another: so many, and no more. */
static void batch_of(uint32_t max, const char *expected) {
    zk_engine_options options = test_options("batch");
    options.max_batch = max;
    options.group_wait_ms = 100000;
    zk_engine *engine = test_engine(&options);
    cuzk_err err = {0};
    bool loaded;
    uint64_t ms;
    static const char *const names[] = {"0", "x", "a", "b", "c"};
    ends.n = 0;
    ZK_CHECK_OK(zk_engine_preload(&loaded, &ms, engine, "wpost-2k", &err), err);
    for (size_t i = 0; i < 5; i++) {
        zk_proof_kind kind = i == 1 ? ZK_KIND_WINNING : ZK_KIND_WINDOW;
        zk_request request = test_as(test_request(kind, "a", i ? 1 : 12), "", ZK_PRIORITY_NORMAL);
        zk_submitted s;
        test_submit(&s, engine, &request);
        ZK_CHECK_OK(zk_engine_watch(NULL, engine, s.job_id, note_end, (void *)(uintptr_t)names[i], &err), err);
    }
    TEST_UNTIL(n_ended() == 5);
    ends.ended[5] = 0;
    ZK_CHECKF(strcmp(ends.ended, expected) == 0, "at most %u: %s, expected %s", max, ends.ended, expected);
    zk_engine_destroy(engine);
}

static void test_batch(void) {
    batch_of(0, "0abcx");
    batch_of(1, "0xabc");
    batch_of(3, "0abxc");
}

int main(int argc, char **argv) {
    static const zk_test_case cases[] = {
        ZK_CASE(test_names),     ZK_CASE(test_none),        ZK_CASE(test_prove),          ZK_CASE(test_device_memory),
        ZK_CASE(test_bad_input), ZK_CASE(test_one_fails),   ZK_CASE(test_does_not_start), ZK_CASE(test_preload_all),
        ZK_CASE(test_limits),    ZK_CASE(test_no_pipeline), ZK_CASE(test_batch),
    };
    if (argc > 1 && strcmp(argv[1], "worker") == 0) return test_worker_main(argc, argv);
    return test_engine_main(cases, sizeof cases / sizeof cases[0], argc, argv);
}
