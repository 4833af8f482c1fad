/* Several engines on one PostgreSQL: a job is proved by all together, and nothing that happens to one of them, or to
 * the database, loses or repeats it. Real workers and proofs of the smallest circuits. */
#include "engine_common.h"
#include "postgres_server.h"

enum { LEASE_MS = 1000 };

static const char *dsn;

static zk_engine_options fleet_options(const char *test, const char *machine) {
    static char names[16][64];
    static unsigned next;
    char *name = names[next++ % 16];
    snprintf(name, sizeof names[0], "%s-%s", test, machine);
    zk_engine_options o = test_options(name);
    o.fleet_dsn = dsn;
    o.fleet_machine = machine;
    o.fleet_lease_ms = LEASE_MS;
    return o;
}

static zk_engine *fleet_engine(const char *test, const char *machine, const char *fault) {
    zk_engine_options o = fleet_options(test, machine);
    o.worker_fault = fault;
    return test_engine(&o);
}

static zk_request window_request(const char *id) {
    return test_as(test_request(ZK_KIND_WINDOW, "a", 5), id, ZK_PRIORITY_NORMAL); /* three partitions */
}

/* Polls until the statement's first cell has the value. */
static void await_value(const char *sql, long value) {
    long found = 0;
    for (unsigned i = 0; i < 1200; i++) {
        found = pg_ask(dsn, sql);
        if (found == value) return;
        usleep(50000);
    }
    ZK_FAIL_CASE("%s: found %ld, expected %ld", sql, found, value);
}

static uint64_t proved_by(zk_engine *engine) {
    zk_engine_status *status = test_status(engine);
    uint64_t n = status->workers[0].n_proved;
    zk_engine_status_destroy(status);
    return n;
}

static void await_stage(zk_engine *engine, const char *stage) {
    for (unsigned i = 0; i < 60000; i++) {
        zk_engine_status *status = test_status(engine);
        bool there = strcmp(status->workers[0].stage, stage) == 0 && status->workers[0].partition >= 0;
        zk_engine_status_destroy(status);
        if (there) return;
        usleep(500);
    }
    ZK_FAIL_CASE("stage %s does not come", stage);
}

static void check_no_rest(void) {
    ZK_CHECK(pg_ask(dsn, "SELECT (SELECT count(*) FROM cuzk_units) + (SELECT count(*) FROM cuzk_content)"
                         " + (SELECT count(*) FROM cuzk_jobs WHERE state = 0)") == 0);
}

/* Three partitions, two machines that come to a stop in their second one: each has proved one when both stand still or
 * idle. The third machine finishes what is left once they are gone. */
static void test_together(void) {
    dsn = pg_dsn("together");
    zk_engine *a = fleet_engine("together", "a", "hang@h:2"), *b = fleet_engine("together", "b", "hang@h:2"), *c;
    zk_request request = window_request("together");
    zk_submitted s;
    zk_result result;
    test_submit(&s, a, &request);
    await_value("SELECT count(*) FROM cuzk_units WHERE idx >= 0 AND done", 2);
    ZK_CHECK(proved_by(a) == 1 && proved_by(b) == 1);
    await_value("SELECT count(*) FROM cuzk_units WHERE owner IS NOT NULL AND NOT done AND lease_until > now()", 1);
    c = fleet_engine("together", "c", NULL);
    zk_engine_status *status = test_status(c);
    ZK_CHECK(status->fleet && !status->fleet_lost && status->n_machines == 3 && status->n_jobs == 1);
    ZK_CHECK(status->jobs[0].running && status->jobs[0].n_partitions == 3 && status->jobs[0].n_done == 2);
    zk_engine_status_destroy(status);
    zk_engine_destroy(a);
    zk_engine_destroy(b);
    test_await(&result, c, s.job_id);
    test_verify(&request, &result);
    zk_result_clear(&result);
    ZK_CHECK(proved_by(c) == 1);
    ZK_CHECK(test_count_files(test_path("together-c/journal.spool")) == 0);
    check_no_rest();
    zk_engine_destroy(c);
}

/* Many jobs, submitted here and there, awaited elsewhere: each once. */
static void test_many(void) {
    dsn = pg_dsn("many");
    enum { N = 9, N_ENGINES = 3 };
    zk_engine *engines[N_ENGINES];
    const char *const names[] = {"a", "b", "c"};
    zk_submitted s[N], again;
    zk_result first, second;
    char id[16];
    for (size_t i = 0; i < N_ENGINES; i++) engines[i] = fleet_engine("many", names[i], NULL);
    for (size_t i = 0; i < N; i++) {
        snprintf(id, sizeof id, "many-%zu", i);
        zk_request request = i % 3 ? test_as(test_request(ZK_KIND_WINDOW, "a", 1), id, 0) : window_request(id);
        test_submit(&s[i], engines[i % N_ENGINES], &request);
        ZK_CHECK(!s[i].joined);
        test_submit(&again, engines[(i + 1) % N_ENGINES], &request); /* known there, too */
        ZK_CHECK(again.joined && strcmp(again.job_id, s[i].job_id) == 0);
    }
    for (size_t i = 0; i < N; i++) {
        zk_request request = i % 3 ? test_as(test_request(ZK_KIND_WINDOW, "a", 1), id, 0) : window_request(id);
        test_await(&first, engines[(i + 2) % N_ENGINES], s[i].job_id);
        test_verify(&request, &first);
        test_await(&second, engines[i % N_ENGINES], s[i].job_id);
        ZK_CHECK(second.n_proof == first.n_proof && memcmp(second.proof, first.proof, first.n_proof) == 0);
        zk_result_clear(&first);
        zk_result_clear(&second);
    }
    uint64_t n_proved = 0, n_completed = 0;
    for (size_t i = 0; i < N_ENGINES; i++) {
        zk_engine_status *status = test_status(engines[i]);
        n_proved += status->workers[0].n_proved;
        n_completed += status->n_completed;
        zk_engine_status_destroy(status);
    }
    ZK_CHECKF(n_proved == 15, "%llu partitions", (unsigned long long)n_proved);
    ZK_CHECKF(n_completed == N, "%llu jobs counted", (unsigned long long)n_completed);
    ZK_CHECK(pg_ask(dsn, "SELECT sum(n_proved) FROM cuzk_machines") == 15);
    check_no_rest();
    for (size_t i = 0; i < N_ENGINES; i++) zk_engine_destroy(engines[i]);
}

/* ---- a machine dies ---- */

/* The machine of the next test: takes work until it is killed. */
static _Noreturn void host_main(char **argv) {
    snprintf(test_dir, sizeof test_dir, "%s", argv[2]);
    dsn = argv[3];
    fleet_engine("dies", argv[4], "hang@h:1+");
    for (;;) pause();
}

static void test_machine_dies(void) {
    dsn = pg_dsn("dies");
    zk_engine *a = fleet_engine("dies", "a", NULL);
    zk_request request = window_request("dies");
    zk_submitted s;
    zk_result result;
    pid_t pid = fork();
    ZK_CHECK(pid >= 0);
    if (pid == 0) {
        execl("/proc/self/exe", "engine_fleet_test", "host", test_dir, dsn, "b", (char *)NULL);
        _exit(127);
    }
    await_value("SELECT count(*) FROM cuzk_machines", 2);
    test_submit(&s, a, &request);
    /* the other machine has one and says so; this one has proved the rest and has to wait */
    await_value("SELECT count(*) FROM cuzk_units WHERE idx >= 0 AND done", 2);
    usleep(2 * LEASE_MS * 1000);
    ZK_CHECK(pg_ask(dsn, "SELECT count(*) FROM cuzk_units WHERE NOT done AND lease_until > now()") == 1);
    ZK_CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
    uint64_t start = zk_now_ns();
    test_await(&result, a, s.job_id);
    test_verify(&request, &result);
    zk_result_clear(&result);
    ZK_CHECK(zk_now_ns() - start < 60000000000u && proved_by(a) == 3);
    check_no_rest();
    zk_engine_destroy(a);
}

/* ---- cancelled, failed, raised elsewhere ---- */

static void test_elsewhere(void) {
    dsn = pg_dsn("elsewhere");
    zk_engine *a = fleet_engine("elsewhere", "a", "hang@synthesize:1"), *b;
    zk_request request = window_request("cancel");
    zk_submitted s;
    zk_result result;
    cuzk_err err = {0};
    bool was = false;
    test_submit(&s, a, &request);
    await_stage(a, "synthesize");
    zk_engine_options o = fleet_options("elsewhere", "b");
    o.param_cache = test_dir; /* it has no keys: leaves the work to others, and fails nothing */
    b = test_engine(&o);
    zk_engine_status *status = test_status(b);
    ZK_CHECK(status->n_jobs == 1);
    zk_engine_status_destroy(status);
    ZK_CHECK_OK(zk_engine_cancel(&was, b, s.job_id, &err), err);
    ZK_CHECK(was);
    test_await(&result, a, s.job_id);
    ZK_CHECK(result.outcome == ZK_OUTCOME_CANCELLED);
    zk_result_clear(&result);
    /* the worker there has stopped and does the next job, though it comes from here */
    zk_request bad = test_as(test_request(ZK_KIND_WINDOW, "a", 1), "bad", ZK_PRIORITY_LOW);
    zk_blob blob = {malloc(bad.vanilla_proofs[0].n), bad.vanilla_proofs[0].n};
    memcpy(blob.data, bad.vanilla_proofs[0].data, blob.n);
    blob.data[blob.n / 2] ^= 1;
    bad.vanilla_proofs = &blob;
    test_submit(&s, a, &bad);
    test_await(&result, b, s.job_id);
    ZK_CHECK(result.outcome == ZK_OUTCOME_FAILED && result.status == CUZK_BAD_INPUT && result.message[0]);
    zk_result_clear(&result);
    free(blob.data);
    ZK_CHECK_OK(zk_engine_cancel(&was, b, s.job_id, &err), err);
    ZK_CHECK(!was);
    test_await(&result, b, "job-00000000000-0000000000000000");
    ZK_CHECK(result.outcome == ZK_OUTCOME_UNKNOWN);
    check_no_rest();
    zk_engine_destroy(a);
    zk_engine_destroy(b);
}

/* A restart takes up what is there, and keeps the content it still has. */
static void test_restart(void) {
    dsn = pg_dsn("restart");
    zk_engine *a = fleet_engine("restart", "a", "hang@h:1+");
    zk_request request = window_request("restart");
    zk_submitted s, again;
    zk_result result;
    test_submit(&s, a, &request);
    await_stage(a, "h");
    zk_engine_destroy(a);
    ZK_CHECK(test_count_files(test_path("restart-a/journal.spool")) == 1);
    a = fleet_engine("restart", "a", NULL);
    test_submit(&again, a, &request);
    ZK_CHECK(again.joined && strcmp(again.job_id, s.job_id) == 0);
    test_await(&result, a, s.job_id);
    test_verify(&request, &result);
    zk_result_clear(&result);
    test_submit(&again, a, &request);
    ZK_CHECK(again.joined && again.finished);
    ZK_CHECK(test_count_files(test_path("restart-a/journal.spool")) == 0);
    zk_engine_destroy(a);
}

/* ---- the database goes away ---- */

/* What runs goes on and its result is kept; new work is refused; when the database is back all is as if it had not been
 * away: no partition is proved twice. */
static void test_lost(void) {
    dsn = pg_dsn("lost");
    zk_engine *a = fleet_engine("lost", "a", NULL);
    zk_request request = window_request("lost"), other = window_request("other");
    zk_submitted s, refused;
    zk_result result;
    cuzk_err err = {0};
    test_submit(&s, a, &request);
    await_stage(a, "msm");
    uint64_t before = proved_by(a);
    pg_stop(SIGQUIT);
    for (unsigned i = 0;; i++) { /* it is noticed, and the partition comes to its end */
        zk_engine_status *status = test_status(a);
        bool lost = status->fleet_lost && status->workers[0].n_proved == before + 1;
        zk_engine_status_destroy(status);
        if (lost) break;
        ZK_CHECK(i < 6000);
        usleep(10000);
    }
    ZK_CHECK(zk_engine_submit_request(&refused, a, &other, &err) == CUZK_IO);
    ZK_CHECKF(strstr(err.message, "fleet"), "%s", err.message);
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_engine_await(&result, a, s.job_id, 50, NULL, NULL, &err), err); /* known here */
    ZK_CHECK(result.outcome == ZK_OUTCOME_TIMEOUT);
    usleep(LEASE_MS * 1000);
    ZK_CHECK(proved_by(a) == before + 1); /* nothing new is taken */
    pg_start();
    test_await(&result, a, s.job_id);
    test_verify(&request, &result);
    zk_result_clear(&result);
    ZK_CHECKF(proved_by(a) == 3, "%llu partitions", (unsigned long long)proved_by(a));
    test_submit(&s, a, &other);
    test_await(&result, a, s.job_id);
    test_verify(&other, &result);
    zk_result_clear(&result);
    check_no_rest();
    zk_engine_destroy(a);
}

/* The end of a job while the database is away: whoever waits has the proof at once, the journal later. */
static void test_lost_end(void) {
    dsn = pg_dsn("lost_end");
    zk_engine *a = fleet_engine("lost_end", "a", NULL);
    zk_request request = test_as(test_request(ZK_KIND_WINDOW, "a", 1), "end", ZK_PRIORITY_NORMAL);
    zk_submitted s;
    zk_result result;
    test_submit(&s, a, &request);
    await_stage(a, "msm");
    pg_stop(SIGQUIT);
    test_await(&result, a, s.job_id);
    test_verify(&request, &result);
    zk_result_clear(&result);
    pg_start();
    await_value("SELECT count(*) FROM cuzk_jobs WHERE state = 1 AND length(proof) = 192", 1);
    check_no_rest();
    zk_engine_destroy(a);
}

int main(int argc, char **argv) {
    static const zk_test_case cases[] = {
        ZK_CASE(test_together), ZK_CASE(test_many), ZK_CASE(test_machine_dies), ZK_CASE(test_elsewhere),
        ZK_CASE(test_restart),  ZK_CASE(test_lost), ZK_CASE(test_lost_end),
    };
    if (argc > 1 && strcmp(argv[1], "worker") == 0) return test_worker_main(argc, argv);
    if (setjmp(zk_test_jump) != 0) return 2;
    zk_log_set_level(getenv("CUZK_ENGINE_LOG") ? ZK_LOG_DEBUG : ZK_LOG_OFF);
    if (argc > 4 && strcmp(argv[1], "host") == 0) host_main(argv);
    test_dir_make();
    test_keys_make(ZK_KIND_WINDOW);
    pg_create();
    int code = zk_test_run(cases, sizeof cases / sizeof cases[0], argc, argv);
    pg_remove();
    test_dir_remove();
    return code;
}
