/* Two partitions side by side in a worker of a device with streams, played by the CPU: who proves what, what a failure
 * costs the partition beside, and when there is one lane alone. */
#include "engine_common.h"

enum { SECOND = 2 }; /* index of the second lane in the status: behind the device's first and the checker */

static zk_engine *open_engine(const char *name, const char *fault, zk_engine_options *options) {
    *options = test_options(name);
    options->devices = "0";
    options->worker_threads = 2;
    options->worker_fault = fault;
    return test_engine(options);
}

static const zk_request *window(void) { return test_request(ZK_KIND_WINDOW, "lanes", 12); }
enum { N_PARTITIONS = 6 };

static bool proves(const zk_worker_view *w) { return w->partition >= 0 && strcmp(w->stage, "msm") == 0; }
/* After the first, which loads the keys: each stands still in its MSM. */
static const char both_held[] = "hold@msm:2+";
static bool both_prove(const zk_engine_status *st) {
    return st->n_workers > SECOND && proves(&st->workers[0]) && proves(&st->workers[SECOND]);
}

static bool is_shared(const zk_engine_status *st) {
    return st->n_workers > SECOND && st->workers[0].n_proved > 0 && st->workers[SECOND].n_proved > 0 &&
           st->n_prepared_ahead > 0;
}

static void test_side_by_side(void) {
    uint8_t expected[N_PARTITIONS * ZK_PROOF_BYTES], proof[sizeof expected];
    zk_engine_options options = test_options("cpu");
    zk_engine *engine = test_engine(&options);
    test_prove_to(expected, engine, window());
    zk_engine_destroy(engine);
    engine = open_engine("beside", NULL, &options);
    test_prove_to(proof, engine, window());
    ZK_CHECK_MEM(proof, expected, sizeof expected);
    unsigned n_jobs = 1 + test_prove_until(engine, window(), is_shared);
    zk_engine_status *st = test_status(engine);
    ZK_CHECKF(st->n_workers == 3, "%zu workers", st->n_workers);
    const zk_worker_view *first = &st->workers[0], *second = &st->workers[SECOND];
    ZK_CHECK(first->process == first->id && second->process == first->id && second->id != first->id);
    ZK_CHECK(first->pid > 0 && second->pid == first->pid && strcmp(first->device, second->device) == 0);
    ZK_CHECKF(first->n_proved > 0 && second->n_proved > 0 &&
                  first->n_proved + second->n_proved == n_jobs * N_PARTITIONS,
              "%llu and %llu", (unsigned long long)first->n_proved, (unsigned long long)second->n_proved);
    ZK_CHECK(second->device_reserved_bytes == 0 && second->rss_bytes == 0); /* the first one has the process's */
    ZK_CHECKF(st->n_prepared_ahead > 0, "%llu", (unsigned long long)st->n_prepared_ahead);
    zk_engine_status_destroy(st);
    /* what a trace shows */
    char *text = NULL;
    size_t n = 0;
    cuzk_err err = {0};
    FILE *out = open_memstream(&text, &n);
    ZK_CHECK_OK(zk_engine_trace(engine, NULL, out, &err), err);
    fclose(out);
    ZK_CHECK(strstr(text, "\"tid\":1") && strstr(text, "\"tid\":2"));
    free(text);
    zk_engine_destroy(engine);
}

static uint64_t reserved_with(unsigned lanes) {
    zk_engine_options options = test_options(lanes == 1 ? "one" : "two");
    options.devices = "0";
    options.lanes_per_worker = lanes;
    zk_engine *engine = test_engine(&options);
    test_prove_request(engine, window());
    zk_engine_status *st = test_status(engine);
    uint64_t bytes = st->workers[0].device_reserved_bytes;
    ZK_CHECKF(st->n_workers == (lanes == 1 ? 2 : 3), "%zu workers", st->n_workers);
    zk_engine_status_destroy(st);
    zk_engine_destroy(engine);
    return bytes;
}

/* One lane: asked for, where the device has no room, or where the budget has none. */
static void test_one_lane(void) {
    char text[32];
    uint64_t one = reserved_with(1), two = reserved_with(0);
    ZK_CHECKF(two > one, "%llu, %llu bytes", (unsigned long long)one, (unsigned long long)two);
    snprintf(text, sizeof text, "%llu", (unsigned long long)(one + two) / 2);
    static const char *const names[] = {"CUZK_TEST_DEVICE_BYTES", "CUZK_TEST_STREAMS"};
    const char *const values[] = {text, "0"};
    for (unsigned i = 0; i < 2; i++) {
        zk_engine_options options;
        setenv(names[i], values[i], 1);
        zk_engine *engine = open_engine(names[i], NULL, &options);
        test_prove_request(engine, window());
        zk_engine_status *st = test_status(engine);
        ZK_CHECKF(st->n_workers == 2 && st->workers[0].n_proved == N_PARTITIONS, "%s: %zu workers", names[i],
                  st->n_workers);
        ZK_CHECK(st->workers[0].device_reserved_bytes == one);
        zk_engine_status_destroy(st);
        zk_engine_destroy(engine);
        unsetenv(names[i]);
        setenv("CUZK_TEST_STREAMS", "1", 1);
    }
}

static bool second_proved(const zk_engine_status *st) { return st->workers[SECOND].n_proved > 0; }

/* The process dies with two partitions in it: both are proved once more, each alone. */
static void test_killed(void) {
    zk_engine_options options;
    test_hold();
    zk_engine *engine = open_engine("killed", both_held, &options);
    zk_submitted s;
    zk_result result = {0};
    test_submit(&s, engine, window());
    TEST_UNTIL(test_holds(engine, both_prove));
    zk_engine_status *st = test_status(engine);
    int pid = st->workers[0].pid;
    zk_engine_status_destroy(st);
    ZK_CHECK(pid > 0 && kill(pid, SIGKILL) == 0);
    unsigned alone = 0;
    uint64_t end_ns = zk_now_ns() + ZK_TEST_HANG_S * ZK_SECOND_NS;
    for (bool over = false; !over;) {
        ZK_CHECK(zk_now_ns() < end_ns);
        if (alone) test_let_go(); /* the second of the two stands still, too */
        st = test_status(engine);
        over = st->n_jobs == 0;
        for (size_t k = 0; k < st->n_workers && !over; k++) {
            int64_t partition = st->workers[k].partition;
            if (partition < 0 || !st->jobs[0].n_partitions || !st->jobs[0].partitions[partition].attempts) continue;
            ZK_CHECK(k == 0);
            ZK_CHECK(st->n_workers <= SECOND || st->workers[SECOND].partition < 0);
            alone++;
        }
        zk_engine_status_destroy(st);
        usleep(2000);
    }
    ZK_CHECK(alone > 0);
    test_await(&result, engine, s.job_id);
    test_verify(window(), &result);
    zk_result_clear(&result);
    st = test_status(engine);
    ZK_CHECKF(st->n_worker_crashes == 1 && st->n_retries == 2, "%llu crashes, %llu retries",
              (unsigned long long)st->n_worker_crashes, (unsigned long long)st->n_retries);
    zk_engine_status_destroy(st);
    test_prove_until(engine, window(), second_proved); /* both lanes go on */
    zk_engine_destroy(engine);
}

static void with_fault(const char *name, const char *fault, uint64_t crashes, uint64_t wrong, uint64_t least,
                       uint64_t most) {
    zk_engine_options options;
    zk_engine *engine = open_engine(name, fault, &options);
    test_prove_request(engine, window());
    test_check_cost(engine, fault, crashes, wrong, least, most);
    zk_engine_destroy(engine);
}

/* A wrong proof costs its own partition a try, not the one beside; an error of the device may be of either. */
static void test_faults(void) {
    with_fault("wrong", "wrong@verify:5", 0, 1, 1, 1);
    with_fault("lie", "lie@verify:5", 0, 1, 1, 1);
    with_fault("device", "device@h:5", 0, 0, 1, 2);
    with_fault("crash", "crash@assemble:5", 1, 0, 1, 2);
}

/* A partition that kills its process each time ends its job. */
static void test_poison(void) {
    zk_engine_options options;
    zk_engine *engine = open_engine("poison", "crash@msm:1+", &options);
    zk_submitted s;
    zk_result result = {0};
    test_submit(&s, engine, window());
    test_await(&result, engine, s.job_id);
    ZK_CHECKF(result.outcome == ZK_OUTCOME_FAILED && strstr(result.message, "given up after 3 attempts"), "%s",
              result.message);
    zk_result_clear(&result);
    zk_engine_destroy(engine);
}

static bool two_jobs(const zk_engine_status *st) {
    return both_prove(st) && strcmp(st->workers[0].job_id, st->workers[SECOND].job_id) != 0;
}

/* One of two jobs that are proved side by side is cancelled; the other one does not notice. */
static void test_cancel(void) {
    zk_engine_options options = test_options("cancel");
    options.devices = "0";
    options.worker_threads = 2;
    options.max_job_in_flight = 1; /* so that two jobs are in work */
    options.worker_fault = both_held;
    test_hold();
    zk_engine *engine = test_engine(&options);
    cuzk_err err = {0};
    zk_submitted a, b;
    zk_result result = {0};
    const zk_request *other = test_request(ZK_KIND_WINDOW, "other", 12);
    test_submit(&a, engine, window());
    test_submit(&b, engine, other);
    TEST_UNTIL(test_holds(engine, two_jobs));
    bool was = false;
    ZK_CHECK_OK(zk_engine_cancel(&was, engine, a.job_id, &err), err);
    ZK_CHECK(was);
    test_await(&result, engine, a.job_id);
    ZK_CHECK(result.outcome == ZK_OUTCOME_CANCELLED);
    zk_result_clear(&result);
    test_let_go();
    test_await(&result, engine, b.job_id);
    test_verify(other, &result);
    zk_result_clear(&result);
    zk_engine_status *st = test_status(engine);
    ZK_CHECKF(st->n_retries == 0 && st->n_worker_crashes == 0, "%llu retries", (unsigned long long)st->n_retries);
    zk_engine_status_destroy(st);
    test_prove_request(engine, window()); /* both lanes go on */
    zk_engine_destroy(engine);
}

/* Keys of another circuit are loaded between proofs of two lanes, and evicted. */
static void test_circuits(void) {
    zk_engine_options options;
    test_hold();
    zk_engine *engine = open_engine("circuits", both_held, &options);
    cuzk_err err = {0};
    zk_submitted s[4];
    zk_result result = {0};
    const zk_request *requests[4] = {window(), test_request(ZK_KIND_WINNING, "lanes", 1),
                                     test_request(ZK_KIND_WINDOW, "other", 12),
                                     test_request(ZK_KIND_WINNING, "lanes too", 1)};
    bool was = false;
    uint64_t freed = 0;
    test_submit(&s[0], engine, requests[0]);
    TEST_UNTIL(test_holds(engine, both_prove));
    ZK_CHECK(zk_engine_evict(&was, &freed, engine, "wpost-2k", &err) == CUZK_EXHAUSTED);
    zk_err_reset(&err);
    for (unsigned i = 1; i < 4; i++) test_submit(&s[i], engine, requests[i]);
    test_let_go();
    for (unsigned i = 0; i < 4; i++) {
        test_await(&result, engine, s[i].job_id);
        test_verify(requests[i], &result);
        zk_result_clear(&result);
    }
    zk_engine_status *st = test_status(engine);
    ZK_CHECKF(st->n_retries == 0 && st->n_worker_crashes == 0, "%llu retries", (unsigned long long)st->n_retries);
    ZK_CHECK(st->n_workers > SECOND && st->workers[SECOND].n_proved > 0);
    zk_engine_status_destroy(st);
    ZK_CHECK_OK(zk_engine_evict(&was, &freed, engine, "winning-2k", &err), err);
    ZK_CHECK(was && freed > 0);
    ZK_CHECK_OK(zk_engine_evict(&was, &freed, engine, "wpost-2k", &err), err);
    st = test_status(engine);
    ZK_CHECKF(st->workers[0].device_reserved_bytes == 0, "%llu bytes",
              (unsigned long long)st->workers[0].device_reserved_bytes);
    ZK_CHECK(st->n_workers == SECOND);
    zk_engine_status_destroy(st);
    test_prove_request(engine, window());
    zk_engine_destroy(engine);
}

int main(int argc, char **argv) {
    static const zk_test_case cases[] = {
        ZK_CASE(test_side_by_side), ZK_CASE(test_one_lane), ZK_CASE(test_killed),   ZK_CASE(test_faults),
        ZK_CASE(test_poison),       ZK_CASE(test_cancel),   ZK_CASE(test_circuits),
    };
    if (argc > 1 && strcmp(argv[1], "worker") == 0) return test_worker_main(argc, argv);
    setenv("CUZK_TEST_STREAMS", "1", 1);
    setenv("CUZK_TEST_BLINDING", "1", 1);
    return test_engine_main(cases, sizeof cases / sizeof cases[0], argc, argv);
}
