/* Several engines on one PostgreSQL: a job is proved by all together, and nothing that happens to one of them, or to
 * the database, loses or repeats it. Real workers and proofs of the smallest circuits. */
#include "engine_fleet_common.h"

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
    TEST_UNTIL(proved_by(a) + proved_by(b) == 2); /* counted a moment later */
    ZK_CHECK(proved_by(a) == 1);
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
    TEST_UNTIL(proved_by(c) >= 1);
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

/* What cannot be right comes to no machine: refused where it is submitted, also under the id of a job. */
static void test_refused(void) {
    dsn = pg_dsn("refused");
    zk_engine *a = fleet_engine("refused", "a", "hang@h:1");
    zk_request good = window_request("refused"), bad = good;
    zk_submitted s, again;
    cuzk_err err = {0};
    test_submit(&s, a, &good);
    bad.randomness.n = 31;
    ZK_CHECK(zk_engine_submit_request(&again, a, &bad, &err) == CUZK_BAD_INPUT);
    ZK_CHECKF(strcmp(err.message, "randomness: found 31 bytes, expected 32") == 0, "%s", err.message);
    zk_err_reset(&err);
    good.sector_bytes = 0; /* the registered proof says it */
    ZK_CHECK_OK(zk_engine_submit_request(&again, a, &good, &err), err);
    ZK_CHECK(again.joined && strcmp(again.job_id, s.job_id) == 0);
    zk_engine_status *status = test_status(a);
    ZK_CHECK(status->n_submitted == 1 && status->n_joined == 1 && status->n_rejected == 1 && status->n_failed == 0);
    zk_engine_status_destroy(status);
    ZK_CHECK(pg_ask(dsn, "SELECT count(*) FROM cuzk_jobs") == 1);
    ZK_CHECK(pg_ask(dsn, "SELECT count(DISTINCT job_id) FROM cuzk_content") == 1);
    bool was = false;
    ZK_CHECK_OK(zk_engine_cancel(&was, a, s.job_id, &err), err);
    zk_engine_destroy(a);
    ZK_CHECK(test_count_files(test_path("refused-a/journal.spool")) == 0);
    check_no_rest();
}

/* ---- a machine dies ---- */

static void test_machine_dies(void) {
    enum { THEIRS_MS = 8000 }; /* the lease whose end is waited for */
    dsn = pg_dsn("dies");
    test_hold();
    zk_engine *a = fleet_engine("dies", "a", "hold@load:1");
    zk_request request = window_request("dies");
    zk_submitted s;
    zk_result result;
    char renewed[200];
    pid_t pid = start_host("dies", "b", "hang@h:1+", THEIRS_MS);
    test_submit(&s, a, &request);
    await_value("SELECT count(*) FROM cuzk_units u JOIN cuzk_machines m ON m.id = u.owner"
                " WHERE u.idx >= 0 AND m.name = 'b'",
                1);
    test_let_go();
    /* the other machine has one and says so; this one proves the rest and has to wait */
    await_value("SELECT count(*) FROM cuzk_units WHERE idx >= 0 AND done", 2);
    long until = pg_ask(dsn, "SELECT floor(extract(epoch FROM lease_until) * 1000) FROM cuzk_units WHERE NOT done");
    snprintf(renewed, sizeof renewed,
             "SELECT count(*) FROM cuzk_units WHERE NOT done AND extract(epoch FROM lease_until) * 1000 > %ld",
             until + 1);
    await_value(renewed, 1);
    ZK_CHECK(proved_by(a) == 2);
    kill_host(pid);
    test_await(&result, a, s.job_id);
    test_verify(&request, &result);
    zk_result_clear(&result);
    ZK_CHECK(proved_by(a) == 3);
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
    test_await_stage(a, "synthesize");
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

/* A machine that leaves says so of all that it had at once: the others do not wait for the end of its lease. Played, as
 * most of its units it gives back one by one, and the others hear of each. */
static void test_leaves(void) {
    dsn = pg_dsn("leaves");
    test_hold();
    zk_engine *a = fleet_engine("leaves", "a", "hold@load:1");
    zk_request request = window_request("leaves");
    zk_submitted s;
    zk_result result;
    test_submit(&s, a, &request);
    test_await_stage(a, "load");
    ZK_CHECK(pg_ask(dsn, "WITH t AS (UPDATE cuzk_units SET owner = 'other', lease_until = now() + interval '1 day'"
                         " WHERE idx >= 0 AND owner IS NULL RETURNING idx) SELECT count(*) FROM t") == 2);
    test_let_go();
    await_value("SELECT count(*) FROM cuzk_units WHERE idx >= 0 AND done", 1);
    usleep(500000); /* it has asked for more */
    pg_ask(dsn, "WITH u AS (UPDATE cuzk_units SET owner = NULL, lease_until = NULL WHERE owner = 'other')"
                " SELECT pg_notify('cuzk_jobs', '*')");
    test_await(&result, a, s.job_id);
    test_verify(&request, &result);
    zk_result_clear(&result);
    zk_engine_destroy(a);
}

/* A restart takes up what is there, and keeps the content it still has. */
static void test_restart(void) {
    dsn = pg_dsn("restart");
    zk_engine *a = fleet_engine("restart", "a", "hang@h:1+");
    zk_request request = window_request("restart");
    zk_submitted s, again;
    zk_result result;
    test_submit(&s, a, &request);
    test_await_stage(a, "h");
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

/* What failed here is free at once, for this engine and for others: a lease of a day would stand in the way. */
static void give_back(const char *name, const char *fault) {
    dsn = pg_dsn(name);
    zk_engine_options o = fleet_options(name, "a");
    o.worker_fault = fault;
    o.stall_limit_ms = 300; /* of one that hangs; a try more costs nothing */
    o.fleet_lease_ms = 86400000;
    o.max_attempts = 1000;
    zk_engine *a = test_engine(&o), *b;
    zk_request request = test_as(test_request(ZK_KIND_WINDOW, "a", 1), "back", ZK_PRIORITY_NORMAL);
    zk_submitted s;
    zk_result result;
    test_submit(&s, a, &request);
    await_value("SELECT count(*) FROM cuzk_units WHERE idx = 0 AND attempts >= 2", 1);
    o = fleet_options(name, "b");
    o.fleet_lease_ms = 86400000;
    b = test_engine(&o);
    test_await(&result, b, s.job_id);
    test_verify(&request, &result);
    zk_result_clear(&result);
    ZK_CHECK(proved_by(a) == 0 && proved_by(b) == 1);
    zk_engine_destroy(a);
    zk_engine_destroy(b);
}

static void test_given_back(void) { give_back("given_back", "device@h:1+"); }
static void test_given_back_stalled(void) { give_back("stalled", "hang@h:1+"); }

/* Attempts are counted over all machines. */
static void test_poison(void) {
    dsn = pg_dsn("poison");
    zk_engine *a = fleet_engine("poison", "a", "crash@msm:1+"), *b = fleet_engine("poison", "b", "crash@msm:1+");
    zk_request request = test_as(test_request(ZK_KIND_WINDOW, "a", 1), "poison", ZK_PRIORITY_NORMAL);
    zk_submitted s;
    zk_result result;
    test_submit(&s, a, &request);
    test_await(&result, b, s.job_id);
    ZK_CHECKF(result.outcome == ZK_OUTCOME_FAILED && strstr(result.message, "3 attempts"), "%s", result.message);
    zk_engine_status *status[2] = {test_status(a), test_status(b)};
    uint64_t crashes = status[0]->n_worker_crashes + status[1]->n_worker_crashes;
    for (int i = 0; i < 2; i++) zk_engine_status_destroy(status[i]);
    ZK_CHECKF(crashes == 3, "%llu crashes", (unsigned long long)crashes);
    check_no_rest();
    zk_engine_destroy(a);
    zk_engine_destroy(b);
}

/* Somebody else was first to end the job, and is still at it when this engine comes: that end stands, also for who
 * waits here. */
static void test_first_end(void) {
    dsn = pg_dsn("first_end");
    test_hold();
    zk_engine *a = fleet_engine("first_end", "a", "hold@h:3");
    zk_request request = window_request("first");
    zk_submitted s;
    zk_result result;
    test_submit(&s, a, &request);
    await_value("SELECT count(*) FROM cuzk_units WHERE idx >= 0 AND done", 2);
    test_await_stage(a, "h");
    PGconn *other = PQconnectdb(dsn);
    PQclear(PQexec(other, "BEGIN"));
    PGresult *r = PQexec(other, "UPDATE cuzk_jobs SET state = 2, status = 3, message = 'by hand', ended = now()"
                                " WHERE state = 0");
    bool first = strcmp(PQcmdTuples(r), "1") == 0;
    PQclear(r);
    test_let_go();
    await_value("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%ended = %'", 1);
    PQclear(PQexec(other, "COMMIT"));
    PQfinish(other);
    test_await(&result, a, s.job_id);
    ZK_CHECK(first && result.outcome == ZK_OUTCOME_FAILED && strcmp(result.message, "by hand") == 0);
    ZK_CHECK(result.n_proof == 0);
    zk_result_clear(&result);
    zk_engine_status *status = test_status(a);
    ZK_CHECK(status->n_completed == 0 && status->n_failed == 0); /* others count it */
    zk_engine_status_destroy(status);
    zk_engine_destroy(a);
}

/* ---- the database goes away ---- */

static bool is_lost_after_one(zk_engine *engine) {
    zk_engine_status *status = test_status(engine);
    bool lost = status->fleet_lost && status->workers[0].n_proved == 1;
    zk_engine_status_destroy(status);
    return lost;
}

/* What runs goes on, its result is kept and written when the database is back; new work is refused meanwhile. */
static void test_lost(void) {
    dsn = pg_dsn("lost");
    test_hold();
    zk_engine *a = fleet_engine("lost", "a", "hold@h:1+"), *b;
    zk_request request = window_request("lost"), other = window_request("other");
    zk_submitted s, refused;
    zk_result result;
    cuzk_err err = {0};
    test_submit(&s, a, &request);
    test_await_stage(a, "h");
    pg_stop(SIGQUIT);
    test_let_go();
    TEST_UNTIL(is_lost_after_one(a)); /* it is noticed, and the partition comes to its end */
    test_hold();                      /* of the next one */
    ZK_CHECK(zk_engine_submit_request(&refused, a, &other, &err) == CUZK_IO);
    ZK_CHECKF(strstr(err.message, "fleet"), "%s", err.message);
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_engine_await(&result, a, s.job_id, 50, NULL, NULL, &err), err); /* known here */
    ZK_CHECK(result.outcome == ZK_OUTCOME_TIMEOUT);
    usleep(1000000);
    zk_engine_status *status = test_status(a);
    ZK_CHECK(status->jobs[0].n_done == 1 && status->workers[0].partition < 0); /* nothing new is taken */
    zk_engine_status_destroy(status);
    pg_start();
    await_value("SELECT count(*) FROM cuzk_units WHERE idx >= 0 AND done", 1);
    test_await_stage(a, "h");
    b = fleet_engine("lost", "b", NULL);
    zk_engine_destroy(a);
    test_await(&result, b, s.job_id);
    test_verify(&request, &result);
    zk_result_clear(&result);
    TEST_UNTIL(proved_by(b) >= 2);
    ZK_CHECKF(proved_by(b) == 2, "%llu partitions", (unsigned long long)proved_by(b));
    check_no_rest();
    zk_engine_destroy(b);
}

/* The end of a job while the database is away: whoever waits has the proof at once, the journal later. */
static void test_lost_end(void) {
    dsn = pg_dsn("lost_end");
    test_hold();
    zk_engine *a = fleet_engine("lost_end", "a", "hold@h:1");
    zk_request request = test_as(test_request(ZK_KIND_WINDOW, "a", 1), "end", ZK_PRIORITY_NORMAL);
    zk_submitted s;
    zk_result result;
    test_submit(&s, a, &request);
    test_await_stage(a, "h");
    pg_stop(SIGQUIT);
    test_let_go();
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
        ZK_CASE(test_together), ZK_CASE(test_many),      ZK_CASE(test_machine_dies), ZK_CASE(test_elsewhere),
        ZK_CASE(test_leaves),   ZK_CASE(test_restart),   ZK_CASE(test_given_back),   ZK_CASE(test_given_back_stalled),
        ZK_CASE(test_poison),   ZK_CASE(test_first_end), ZK_CASE(test_lost),         ZK_CASE(test_lost_end),
        ZK_CASE(test_refused),
    };
    return fleet_main(cases, sizeof cases / sizeof cases[0], argc, argv);
}
