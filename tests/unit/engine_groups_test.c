/* Several partitions of a job proved together, where a device has no room for their points: played by the CPU. What
 * each of them costs when one fails, and what is urgent meanwhile. */
#include "engine_common.h"

#include "backend/backend.h"

enum { N_PARTITIONS = 6 };

static zk_residency_ops streaming;
static const zk_residency_ops *plain_ops;

/* Points of bits count as streamed. */
static cuzk_status load_streamed(zk_resident_points **full, zk_resident_points **bits, zk_points_fault *fault,
                                 zk_backend *backend, const zk_points_source *source, cuzk_err *err) {
    ZK_TRY(plain_ops->points_load(full, bits, fault, backend, source, err));
    if (bits && *bits) (*bits)->streamed = true;
    return CUZK_OK;
}
static void stream_points(zk_backend *backend) {
    plain_ops = backend->residency;
    streaming = *plain_ops;
    streaming.points_load = load_streamed;
    backend->residency = &streaming;
}

static const zk_request *window(void) { return test_request(ZK_KIND_WINDOW, "groups", 12); }

static zk_engine *open_engine(const char *name, const char *fault, const char *devices) {
    zk_engine_options options = test_options(name);
    options.devices = devices;
    options.worker_threads = 2;
    options.worker_fault = fault;
    return test_engine(&options);
}

/* Under a new id each time, else the proof that is kept is the answer. */
static void prove(zk_engine *engine, uint8_t *proof) {
    static unsigned n;
    char id[16];
    snprintf(id, sizeof id, "groups-%u", n++);
    zk_request request = test_as(window(), id, ZK_PRIORITY_UNSPECIFIED);
    test_prove_to(proof, engine, &request);
}

/* The first partition loads the keys; the others come together, and the proofs are those of the CPU. */
static void test_together(void) {
    uint8_t expected[N_PARTITIONS * ZK_PROOF_BYTES], proof[sizeof expected];
    zk_engine *engine = open_engine("cpu", NULL, "cpu");
    prove(engine, expected);
    zk_engine_destroy(engine);
    engine = open_engine("together", NULL, "0");
    prove(engine, proof);
    ZK_CHECK_MEM(proof, expected, sizeof proof);
    zk_engine_status *st = test_status(engine);
    ZK_CHECKF(st->n_together == N_PARTITIONS - 2, "%llu", (unsigned long long)st->n_together);
    ZK_CHECK(st->n_retries == 0 && st->workers[0].n_proved == N_PARTITIONS);
    zk_engine_status_destroy(st);
    prove(engine, proof); /* with the keys there: all at once */
    ZK_CHECK_MEM(proof, expected, sizeof proof);
    st = test_status(engine);
    ZK_CHECKF(st->n_together == 2 * N_PARTITIONS - 3, "%llu", (unsigned long long)st->n_together);
    zk_engine_status_destroy(st);
    zk_engine_destroy(engine);
}

static bool is_shared(const zk_engine_status *st) {
    return st->workers[0].n_proved > 0 && st->workers[1].n_proved > 0 && st->n_together > 0;
}

/* Two devices share a job. */
static void test_two_devices(void) {
    zk_engine *engine = open_engine("two", NULL, "0,1");
    prove(engine, NULL);
    test_prove_until(engine, window(), is_shared);
    zk_engine_status *st = test_status(engine);
    ZK_CHECK(st->n_retries == 0);
    zk_engine_status_destroy(st);
    zk_engine_destroy(engine);
}

static void with_fault(const char *fault, uint64_t crashes, uint64_t wrong, uint64_t least, uint64_t most) {
    zk_engine *engine = open_engine(fault, fault, "0");
    prove(engine, NULL);
    test_check_cost(engine, fault, crashes, wrong, least, most);
    zk_engine_destroy(engine);
}

/* A wrong proof costs its own partition a try; the end of the process, or an error of the device, all that are not
 * done, which are then tried alone. */
static void test_faults(void) {
    with_fault("wrong@verify:5", 0, 1, 1, 1);
    with_fault("wrong@verify:6", 0, 1, 1, 1); /* of the first of them, the last that is told */
    with_fault("lie@verify:5", 0, 1, 1, 1);
    with_fault("device@h:6", 0, 0, 5, 5);
    with_fault("crash@h:6", 1, 0, 5, 5);
    with_fault("crash@assemble:4", 1, 0, 3, 3); /* two were told before */
}

/* The partitions after the first one, together: they stand still in the second's quotient. */
static const char group_held[] = "hold@h:2";
static bool group_runs(zk_engine *engine) {
    zk_engine_status *st = test_status(engine);
    bool yes = st->n_jobs == 1 && st->jobs[0].n_done == 1 && strcmp(st->workers[0].stage, "h") == 0;
    zk_engine_status_destroy(st);
    return yes;
}

/* What is urgent does not wait for all of them, and those that were not begun lose no try. */
static void test_urgent(void) {
    test_hold();
    zk_engine *engine = open_engine("urgent", group_held, "0");
    zk_request urgent = test_as(test_request(ZK_KIND_WINNING, "urgent", 1), "urgent", ZK_PRIORITY_CRITICAL);
    zk_submitted a, b;
    zk_result result;
    test_submit(&a, engine, window());
    TEST_UNTIL(group_runs(engine));
    test_submit(&b, engine, &urgent);
    usleep(500000); /* until the worker has been asked to yield */
    test_let_go();
    test_await(&result, engine, b.job_id);
    test_verify(&urgent, &result);
    zk_result_clear(&result);
    zk_engine_status *st = test_status(engine);
    ZK_CHECKF(st->n_jobs == 1 && st->jobs[0].n_done < N_PARTITIONS, "%zu jobs", st->n_jobs);
    zk_engine_status_destroy(st);
    test_await(&result, engine, a.job_id);
    test_verify(window(), &result);
    zk_result_clear(&result);
    st = test_status(engine);
    ZK_CHECKF(st->n_retries == 0, "%llu retries", (unsigned long long)st->n_retries);
    zk_engine_status_destroy(st);
    zk_engine_destroy(engine);
}

/* A job that is cancelled ends with what is proved of it; the next one finds all in order. */
static void test_cancel(void) {
    test_hold();
    zk_engine *engine = open_engine("cancel", group_held, "0");
    cuzk_err err = {0};
    zk_submitted s;
    zk_result result;
    bool was = false;
    test_submit(&s, engine, window());
    TEST_UNTIL(group_runs(engine));
    ZK_CHECK_OK(zk_engine_cancel(&was, engine, s.job_id, &err), err);
    test_await(&result, engine, s.job_id);
    ZK_CHECK(was && result.outcome == ZK_OUTCOME_CANCELLED);
    zk_result_clear(&result);
    test_let_go();
    prove(engine, NULL);
    zk_engine_status *st = test_status(engine);
    ZK_CHECK(st->n_retries == 0 && st->n_worker_crashes == 0);
    zk_engine_status_destroy(st);
    zk_engine_destroy(engine);
}

int main(int argc, char **argv) {
    static const zk_test_case cases[] = {
        ZK_CASE(test_together), ZK_CASE(test_two_devices), ZK_CASE(test_faults),
        ZK_CASE(test_urgent),   ZK_CASE(test_cancel),
    };
    test_change_backend = stream_points;
    if (argc > 1 && strcmp(argv[1], "worker") == 0) return test_worker_main(argc, argv);
    setenv("CUZK_TEST_STREAMS", "0", 1);
    setenv("CUZK_TEST_BLINDING", "1", 1);
    return test_engine_main(cases, sizeof cases / sizeof cases[0], argc, argv);
}
