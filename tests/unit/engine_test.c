/* The engine with real workers and proofs of the smallest circuits: submit, join, cancel, order, faults, restarts. */
#include "engine_common.h"

#include <pthread.h>

#include "engine/journal_sqlite.h"

/* ---- one job after the other ---- */

static void test_prove(void) {
    zk_engine_options options = test_options("prove");
    zk_engine *engine = test_engine(&options);
    const zk_request *request = test_request(ZK_KIND_WINNING, "a", 1);
    zk_submitted s;
    zk_result result;
    test_submit(&s, engine, request);
    ZK_CHECK(!s.joined && zk_job_id_ok(s.job_id));
    test_await(&result, engine, s.job_id);
    test_verify(request, &result);
    ZK_CHECK(result.total_ms >= result.gpu_compute_ms && result.gpu_compute_ms > 0);
    zk_result_clear(&result);
    /* the result stays, also without the engine's memory of it */
    test_await(&result, engine, s.job_id);
    test_verify(request, &result);
    zk_result_clear(&result);
    test_await(&result, engine, "job-00000000000-0000000000000000");
    ZK_CHECK(result.outcome == ZK_OUTCOME_UNKNOWN);
    ZK_CHECK(test_count_files(test_path("prove/journal.spool")) == 0);
    zk_engine_status *status = test_status(engine);
    ZK_CHECK(status->n_completed == 1 && status->n_jobs == 0 && status->n_workers == 1);
    ZK_CHECK(status->n_srs >= 1 && status->memory_reserved_bytes > 0);
    zk_engine_status_destroy(status);
    char *text = NULL;
    size_t n = 0;
    cuzk_err err = {0};
    FILE *out = open_memstream(&text, &n);
    ZK_CHECK_OK(zk_engine_trace(engine, s.job_id, out, &err), err);
    fclose(out);
    zk_json_doc *doc = NULL;
    ZK_CHECK_OK(zk_json_parse(&doc, text, n, 0, &err), err);
    ZK_CHECK(zk_json_count(zk_json_member_of(zk_json_root(doc), "traceEvents")) > 10);
    zk_json_doc_destroy(doc);
    free(text);
    zk_engine_destroy(engine);
}

static void test_partitions(void) {
    zk_engine_options options = test_options("partitions");
    options.n_workers = 2;
    zk_engine *engine = test_engine(&options);
    const zk_request *request = test_request(ZK_KIND_WINDOW, "a", 5);
    zk_submitted s;
    zk_result result;
    test_submit(&s, engine, request);
    test_await(&result, engine, s.job_id);
    ZK_CHECK(result.n_proof == 3 * ZK_PROOF_BYTES);
    test_verify(request, &result);
    zk_result_clear(&result);
    zk_engine_destroy(engine);
}

static void test_idempotency(void) {
    zk_engine_options options = test_options("idempotency");
    zk_engine *engine = test_engine(&options);
    zk_request a = test_as(test_request(ZK_KIND_WINDOW, "a", 1), "same", ZK_PRIORITY_LOW);
    zk_request raised = test_as(&a, "same", ZK_PRIORITY_HIGH);
    zk_request b = test_as(test_request(ZK_KIND_WINDOW, "b", 1), "same", ZK_PRIORITY_LOW);
    zk_request nameless = test_as(&a, "", ZK_PRIORITY_LOW);
    zk_submitted first, again, other, later, one, two;
    zk_result result;
    test_submit(&first, engine, &a);
    test_submit(&again, engine, &raised);
    test_submit(&other, engine, &b);
    ZK_CHECK(!first.joined && again.joined && !again.finished && !other.joined);
    ZK_CHECK(strcmp(first.job_id, again.job_id) == 0 && strcmp(first.job_id, other.job_id) != 0);
    test_await(&result, engine, first.job_id);
    test_verify(&a, &result);
    uint8_t proof[ZK_PROOF_BYTES];
    memcpy(proof, result.proof, sizeof proof);
    zk_result_clear(&result);
    test_submit(&later, engine, &a);
    ZK_CHECK(later.joined && later.finished && strcmp(later.job_id, first.job_id) == 0);
    test_await(&result, engine, later.job_id);
    ZK_CHECK_MEM(proof, result.proof, sizeof proof);
    zk_result_clear(&result);
    test_await(&result, engine, other.job_id);
    test_verify(&b, &result);
    zk_result_clear(&result);
    /* without an id nothing is joined */
    test_submit(&one, engine, &nameless);
    test_submit(&two, engine, &nameless);
    ZK_CHECK(!one.joined && !two.joined && strcmp(one.job_id, two.job_id) != 0);
    zk_engine_destroy(engine);
    /* kept over a restart */
    engine = test_engine(&options);
    test_submit(&later, engine, &a);
    ZK_CHECK(later.joined && later.finished && strcmp(later.job_id, first.job_id) == 0);
    test_await(&result, engine, one.job_id);
    test_verify(&nameless, &result);
    zk_result_clear(&result);
    zk_engine_destroy(engine);
}

/* A kept proof that the disk has changed is an error, not a result. */
static void test_damaged_proof(void) {
    zk_engine_options options = test_options("damaged");
    zk_engine *engine = test_engine(&options);
    zk_submitted s;
    zk_result result;
    cuzk_err err = {0};
    uint8_t *data = NULL, *at;
    size_t n = 0;
    test_submit(&s, engine, test_request(ZK_KIND_WINDOW, "a", 1));
    test_await(&result, engine, s.job_id);
    ZK_CHECK(result.n_proof == ZK_PROOF_BYTES);
    zk_engine_destroy(engine);
    ZK_CHECK_OK(zk_file_read(&data, &n, options.journal_path, 1 << 24, &err), err);
    at = memmem(data, n, result.proof, result.n_proof);
    ZK_CHECK(at != NULL);
    at[100] ^= 4;
    ZK_CHECK_OK(zk_file_write(options.journal_path, data, n, &err), err);
    free(data);
    zk_result_clear(&result);
    engine = test_engine(&options);
    ZK_CHECK(zk_engine_await(&result, engine, s.job_id, 1000, NULL, NULL, &err) == CUZK_IO);
    ZK_CHECKF(strstr(err.message, "damaged") && !result.n_proof, "%s", err.message);
    zk_engine_status *status = test_status(engine);
    ZK_CHECK(strstr(status->journal_error, "damaged"));
    zk_engine_status_destroy(status);
    zk_engine_destroy(engine);
}

static void spoil(void *ctx, const zk_journal_partition *partition) {
    zk_journal_partition *copy = ctx;
    *copy = *partition;
    copy->proof[0] ^= 0x20; /* -A for A: still a point */
}

static uint32_t first_job_done(zk_engine *engine) {
    zk_engine_status *status = test_status(engine);
    uint32_t n_done = status->n_jobs ? status->jobs[0].n_done : 0;
    zk_engine_status_destroy(status);
    return n_done;
}

/* A partition that the disk has changed is proved again. */
static void test_damaged_partition(void) {
    zk_engine_options options = test_options("damaged-partition");
    options.worker_fault = "hang@h:2+";
    zk_engine *engine = test_engine(&options);
    const zk_request *request = test_request(ZK_KIND_WINDOW, "a", 3);
    zk_submitted s;
    zk_result result;
    cuzk_err err = {0};
    test_submit(&s, engine, request);
    uint64_t accepted_ns = zk_now_ns();
    TEST_UNTIL(first_job_done(engine) > 0);
    zk_engine_destroy(engine);
    zk_journal *journal = NULL;
    zk_journal_partition kept = {.index = 99};
    bool written = false;
    ZK_CHECK_OK(zk_journal_open_sqlite(&journal, options.journal_path, &err), err);
    ZK_CHECK_OK(journal->ops->each_partition(journal, s.job_id, spoil, &kept, &err), err);
    ZK_CHECK(kept.index == 0);
    ZK_CHECK_OK(journal->ops->partition_done(&written, journal, s.job_id, &kept, &err), err);
    ZK_CHECK(written);
    journal->ops->close(journal);
    options.worker_fault = NULL;
    uint64_t age_ms = (zk_now_ns() - accepted_ns) / 1000000;
    engine = test_engine(&options);
    zk_engine_status *status = test_status(engine);
    ZK_CHECK(status->n_jobs == 1 && status->jobs[0].accepted_ago_ms + 5 >= age_ms); /* it has waited since then */
    zk_engine_status_destroy(status);
    test_await(&result, engine, s.job_id);
    test_verify(request, &result);
    zk_result_clear(&result);
    zk_engine_destroy(engine);
}

/* A failure is never kept; a vanilla proof that does not hold is one. */
static void test_failure(void) {
    zk_engine_options options = test_options("failure");
    zk_engine *engine = test_engine(&options);
    zk_request bad = test_as(test_request(ZK_KIND_WINDOW, "a", 1), "bad", ZK_PRIORITY_UNSPECIFIED);
    zk_blob blob = {malloc(bad.vanilla_proofs[0].n), bad.vanilla_proofs[0].n};
    memcpy(blob.data, bad.vanilla_proofs[0].data, blob.n);
    blob.data[blob.n / 2] ^= 1;
    bad.vanilla_proofs = &blob;
    zk_submitted first, again;
    zk_result result;
    test_submit(&first, engine, &bad);
    test_await(&result, engine, first.job_id);
    ZK_CHECK(result.outcome == ZK_OUTCOME_FAILED && result.message[0] && result.status == CUZK_BAD_INPUT);
    zk_result_clear(&result);
    test_submit(&again, engine, &bad);
    ZK_CHECK(!again.joined && strcmp(first.job_id, again.job_id) != 0);
    test_await(&result, engine, again.job_id);
    ZK_CHECK(result.outcome == ZK_OUTCOME_FAILED);
    free(blob.data);
    zk_engine_destroy(engine);
}

static void test_missing_keys(void) {
    zk_engine_options options = test_options("missing");
    options.param_cache = test_dir;
    zk_engine *engine = test_engine(&options);
    zk_submitted s;
    cuzk_err err = {0};
    uint64_t ms;
    bool loaded;
    ZK_CHECK(zk_engine_submit_request(&s, engine, test_request(ZK_KIND_WINNING, "a", 1), &err) == CUZK_NOT_FOUND);
    ZK_CHECK(strstr(err.message, "v28-proof-of-spacetime") && strstr(err.message, test_dir));
    zk_err_reset(&err);
    ZK_CHECK(zk_engine_preload(&loaded, &ms, engine, "winning-2k", &err) == CUZK_NOT_FOUND);
    ZK_CHECK(strstr(err.message, "v28-proof-of-spacetime") && strstr(err.message, test_dir));
    zk_err_reset(&err);
    ZK_CHECK(zk_engine_preload(&loaded, &ms, engine, "porep-3k", &err) == CUZK_UNSUPPORTED);
    ZK_CHECK(test_count_files(test_path("missing/journal.spool")) == 0);
    zk_engine_destroy(engine);
}

static void test_preload_evict(void) {
    zk_engine_options options = test_options("preload");
    zk_engine *engine = test_engine(&options);
    cuzk_err err = {0};
    bool loaded = true;
    uint64_t ms = 0, bytes = 0;
    ZK_CHECK_OK(zk_engine_evict(&loaded, &bytes, engine, "winning-2k", &err), err);
    ZK_CHECK(!loaded && bytes == 0);
    ZK_CHECK_OK(zk_engine_preload(&loaded, &ms, engine, "winning-2k", &err), err);
    ZK_CHECK(!loaded);
    ZK_CHECK_OK(zk_engine_preload(&loaded, &ms, engine, "winning-2k", &err), err);
    ZK_CHECK(loaded);
    zk_engine_status *status = test_status(engine);
    ZK_CHECK(status->n_srs >= 1 && status->srs[0].tier == ZK_SRS_HOT && status->srs[0].ref_count == 0);
    uint64_t hot = status->srs[0].bytes;
    ZK_CHECK(status->memory_reserved_bytes >= hot);
    zk_engine_status_destroy(status);
    ZK_CHECK_OK(zk_engine_evict(&loaded, &bytes, engine, "winning-2k", &err), err);
    ZK_CHECK(loaded && bytes == hot);
    status = test_status(engine);
    ZK_CHECK(status->memory_reserved_bytes == 0);
    zk_engine_status_destroy(status);
    zk_engine_destroy(engine);
}

/* Two circuits, room for one: each evicts the other; a budget that is too small is an error that says so. */
static void prove_and_verify(zk_engine *engine, zk_proof_kind kind) {
    const zk_request *request = test_request(kind, "a", 1);
    zk_request nameless = test_as(request, "", ZK_PRIORITY_NORMAL);
    zk_submitted s;
    zk_result result;
    test_submit(&s, engine, &nameless);
    test_await(&result, engine, s.job_id);
    test_verify(request, &result);
    zk_result_clear(&result);
}

static void test_budget(void) {
    zk_engine_options options = test_options("budget");
    cuzk_err err = {0};
    bool loaded;
    uint64_t ms;
    zk_engine *engine = test_engine(&options);
    prove_and_verify(engine, ZK_KIND_WINNING); /* the memory of this process counts: what is going to stay is there */
    prove_and_verify(engine, ZK_KIND_WINDOW);
    zk_engine_destroy(engine);
    options.memory_budget_bytes = test_budget_for_one(&options, true);
    engine = test_engine(&options);
    const zk_proof_kind kinds[] = {ZK_KIND_WINNING, ZK_KIND_WINDOW, ZK_KIND_WINNING};
    for (size_t i = 0; i < 3; i++) {
        prove_and_verify(engine, kinds[i]);
        zk_engine_status *status = test_status(engine);
        ZK_CHECK(status->memory_reserved_bytes <= options.memory_budget_bytes);
        ZK_CHECK(status->memory_base_bytes > 0);
        zk_engine_status_destroy(status);
    }
    zk_engine_destroy(engine);
    options.memory_budget_bytes = 1 << 20;
    engine = test_engine(&options);
    ZK_CHECK(zk_engine_preload(&loaded, &ms, engine, "winning-2k", &err) == CUZK_OUT_OF_MEMORY);
    ZK_CHECK(strstr(err.message, "1048576"));
    zk_engine_destroy(engine);
}

/* ---- cancel, limits, order ---- */

/* No worker has died, and the first one has nothing to do. */
static bool is_idle(zk_engine *engine) {
    zk_engine_status *status = test_status(engine);
    bool idle = status->workers[0].state == ZK_WORKER_IDLE;
    uint64_t n_crashes = status->n_worker_crashes;
    zk_engine_status_destroy(status);
    ZK_CHECK(n_crashes == 0);
    return idle;
}

static void test_cancel(void) {
    zk_engine_options options = test_options("cancel");
    options.worker_fault = "hang@synthesize:1+";
    zk_engine *engine = test_engine(&options);
    zk_request a = test_as(test_request(ZK_KIND_WINDOW, "a", 1), "", ZK_PRIORITY_NORMAL);
    zk_submitted running, queued;
    zk_result result;
    cuzk_err err = {0};
    bool was = false;
    test_submit(&running, engine, &a);
    test_submit(&queued, engine, &a);
    test_await_stage(engine, "synthesize");
    ZK_CHECK_OK(zk_engine_await(&result, engine, running.job_id, 50, NULL, NULL, &err), err);
    ZK_CHECK(result.outcome == ZK_OUTCOME_TIMEOUT);
    ZK_CHECK_OK(zk_engine_cancel(&was, engine, queued.job_id, &err), err);
    ZK_CHECK(was);
    test_await(&result, engine, queued.job_id);
    ZK_CHECK(result.outcome == ZK_OUTCOME_CANCELLED);
    ZK_CHECK_OK(zk_engine_cancel(&was, engine, running.job_id, &err), err);
    ZK_CHECK(was);
    test_await(&result, engine, running.job_id);
    ZK_CHECK(result.outcome == ZK_OUTCOME_CANCELLED);
    ZK_CHECK_OK(zk_engine_cancel(&was, engine, running.job_id, &err), err);
    ZK_CHECK(!was);
    TEST_UNTIL(is_idle(engine)); /* the worker stops and is the same */
    zk_engine_destroy(engine);
}

/* A job that hangs, and one behind it, end by the limit. Whether a worker had the first one by then: how far that is
 * depends on the machine. */
static bool limit_names_worker(uint64_t limit_ms) {
    zk_engine_options options = test_options("limit");
    options.worker_fault = "hang@h:1+";
    options.job_limit_ms = limit_ms;
    zk_engine *engine = test_engine(&options);
    zk_submitted s, waits;
    zk_result result, waited;
    char begin[40], nobody[80], worker[80];
    snprintf(begin, sizeof begin, " %llu ms: ", (unsigned long long)limit_ms);
    snprintf(nobody, sizeof nobody, "%sno worker had it", begin);
    snprintf(worker, sizeof worker, "%sworker 0 (cpu) has been in stage ", begin);
    zk_request first = test_as(test_request(ZK_KIND_WINDOW, "a", 1), "", ZK_PRIORITY_NORMAL);
    zk_request other = test_as(test_request(ZK_KIND_WINDOW, "a", 1), "", ZK_PRIORITY_LOW);
    other.miner_id++;
    test_submit(&s, engine, &first);
    test_submit(&waits, engine, &other);
    test_await(&result, engine, s.job_id);
    test_await(&waited, engine, waits.job_id);
    zk_engine_destroy(engine);
    ZK_CHECK(result.outcome == ZK_OUTCOME_FAILED && waited.outcome == ZK_OUTCOME_FAILED);
    ZK_CHECKF(strstr(waited.message, nobody) || strstr(waited.message, worker), "%s", waited.message);
    const char *stage = strstr(result.message, worker);
    ZK_CHECKF(stage ? strstr(stage, " for ") != NULL &&
                          (!strstr(stage, "stage h") || strstr(stage, "h of partition 0 for "))
                    : strstr(result.message, nobody) != NULL,
              "%s", result.message);
    return stage && strstr(stage, "stage h");
}

static void test_time_limit(void) {
    bool named = false;
    for (uint64_t ms = 500; ms < ZK_TEST_HANG_S * 1000 && !named; ms *= 4) named = limit_names_worker(ms);
    ZK_CHECK(named);
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
    ends.ended[ends.n++] = result->outcome == ZK_OUTCOME_COMPLETED ? *(const char *)ctx : '!';
    pthread_mutex_unlock(&ends.lock);
}

/* Later and more urgent goes first; inside a class the order of acceptance. The first job holds the worker until all
 * are there. */
static void test_priorities(void) {
    zk_engine_options options = test_options("priorities");
    options.worker_fault = "hang@synthesize:1";
    zk_engine *engine = test_engine(&options);
    static const struct {
        const char *name;
        zk_priority priority;
    } jobs[] = {{"0", ZK_PRIORITY_NORMAL}, {"a", ZK_PRIORITY_LOW},  {"b", ZK_PRIORITY_NORMAL},
                {"c", ZK_PRIORITY_NORMAL}, {"d", ZK_PRIORITY_HIGH}, {"e", ZK_PRIORITY_CRITICAL}};
    cuzk_err err = {0};
    zk_submitted s, first;
    bool was;
    ends.n = 0;
    for (size_t i = 0; i < 6; i++) {
        zk_request request = test_as(test_request(ZK_KIND_WINDOW, "a", 1), "", jobs[i].priority);
        test_submit(&s, engine, &request);
        ZK_CHECK_OK(zk_engine_watch(NULL, engine, s.job_id, note_end, (void *)(uintptr_t)jobs[i].name, &err), err);
        if (i == 0) {
            first = s;
            test_await_stage(engine, "synthesize");
        }
    }
    zk_engine_status *status = test_status(engine);
    ZK_CHECK(status->n_jobs == 6 && status->queues[ZK_KIND_WINDOW - 1].pending == 5);
    ZK_CHECK(status->jobs[1].priority == ZK_PRIORITY_CRITICAL && status->jobs[5].priority == ZK_PRIORITY_LOW);
    zk_engine_status_destroy(status);
    ZK_CHECK_OK(zk_engine_cancel(&was, engine, first.job_id, &err), err);
    TEST_UNTIL(n_ended() == 6);
    ends.ended[6] = 0;
    ZK_CHECKF(strcmp(ends.ended, "!edbca") == 0, "order %s", ends.ended);
    zk_engine_destroy(engine);
}

/* An urgent job does not wait for a partition that takes for ever. */
static void test_overtaking(void) {
    zk_engine_options options = test_options("overtaking");
    options.no_express = false;
    options.worker_fault = "hold@h:3"; /* the third partition; the urgent job's process has one alone */
    test_hold();
    zk_engine *engine = test_engine(&options);
    const zk_request *window = test_request(ZK_KIND_WINDOW, "a", 5), *winning = test_request(ZK_KIND_WINNING, "a", 1);
    zk_request slow = test_as(window, "", ZK_PRIORITY_NORMAL);
    zk_submitted a, b;
    zk_result result;
    cuzk_err err = {0};
    bool loaded;
    uint64_t ms;
    ZK_CHECK_OK(zk_engine_preload(&loaded, &ms, engine, "winning-2k", &err), err);
    test_submit(&a, engine, &slow);
    TEST_UNTIL(first_job_done(engine) == 2 && test_is_in_stage(engine, "h"));
    test_submit(&b, engine, winning);
    test_await(&result, engine, b.job_id);
    test_verify(winning, &result);
    zk_result_clear(&result);
    zk_engine_status *status = test_status(engine);
    ZK_CHECK(status->n_preempted > 0);
    ZK_CHECK(status->n_jobs == 1); /* the slow one is still there */
    zk_engine_status_destroy(status);
    test_let_go();
    test_await(&result, engine, a.job_id);
    test_verify(window, &result);
    zk_result_clear(&result);
    zk_engine_destroy(engine);
}

/* ---- faults ---- */

/* Kills the worker if it has a job; *over: there is none. */
static bool kill_busy(bool *over, zk_engine *engine) {
    zk_engine_status *status = test_status(engine);
    bool busy = status->workers[0].job_id[0] && status->workers[0].pid;
    bool killed = busy && kill(status->workers[0].pid, SIGKILL) == 0;
    *over = status->n_jobs == 0;
    zk_engine_status_destroy(status);
    return killed;
}

static void test_worker_killed(void) {
    zk_engine_options options = test_options("killed");
    zk_engine *engine = test_engine(&options);
    zk_request request = test_as(test_request(ZK_KIND_WINDOW, "a", 3), "", ZK_PRIORITY_NORMAL);
    zk_submitted s[100];
    unsigned kills = 0, n = 0;
    uint64_t seed = 7;
    bool over = true;
    while (kills < 2) { /* in one job, unless that is over before */
        ZK_CHECK(n < 100);
        if (over) test_submit(&s[n++], engine, &request);
        kills += kill_busy(&over, engine);
        usleep((useconds_t)(50000 + zk_test_rand(&seed) % 200000));
    }
    for (unsigned i = 0; i < n; i++) {
        zk_result result;
        test_await(&result, engine, s[i].job_id);
        test_verify(&request, &result);
        zk_result_clear(&result);
    }
    zk_engine_status *status = test_status(engine);
    ZK_CHECK(status->n_worker_crashes >= 1);
    zk_engine_status_destroy(status);
    zk_engine_destroy(engine);
}

/* An input that kills each worker is given up, and others go on. */
static void test_poison(void) {
    zk_engine_options options = test_options("poison");
    options.worker_fault = "crash@msm:1+";
    zk_engine *engine = test_engine(&options);
    zk_submitted s;
    zk_result result;
    test_submit(&s, engine, test_request(ZK_KIND_WINDOW, "a", 1));
    test_await(&result, engine, s.job_id);
    ZK_CHECKF(result.outcome == ZK_OUTCOME_FAILED && strstr(result.message, "3 attempts"), "%s", result.message);
    zk_engine_status *status = test_status(engine);
    ZK_CHECK(status->n_worker_crashes == 3);
    zk_engine_status_destroy(status);
    zk_engine_destroy(engine);
}

static void test_device_error(void) {
    zk_engine_options options = test_options("device");
    options.worker_fault = "device@h:2";
    zk_engine *engine = test_engine(&options);
    const zk_request *request = test_request(ZK_KIND_WINDOW, "a", 3);
    test_prove_request(engine, request);
    zk_engine_destroy(engine);
}

/* What failed on an express worker is another's at once, not when that one is busy with something else. */
static void test_urgent_device_error(void) {
    zk_engine_options options = test_options("urgent");
    options.no_express = false;
    options.worker_fault = "device@h:2"; /* of each process, which ends of it */
    zk_engine *engine = test_engine(&options);
    const zk_request request = test_as(test_request(ZK_KIND_WINDOW, "a", 1), "", ZK_PRIORITY_CRITICAL);
    for (unsigned i = 0; i < 4; i++) { /* two express workers: the third at the latest fails */
        zk_submitted s;
        zk_result result;
        cuzk_err err = {0};
        test_submit(&s, engine, &request);
        /* it would be left alone for two minutes */
        ZK_CHECK_OK(zk_engine_await(&result, engine, s.job_id, 110000, NULL, NULL, &err), err);
        test_verify(&request, &result);
        zk_result_clear(&result);
    }
    test_check_cost(engine, "device@h:2", 0, 0, 1, 4);
    zk_engine_destroy(engine);
}

/* Two wrong proofs retire a worker; another does the job; the evidence is there. */
static void test_wrong_proofs(void) {
    zk_engine_options options = test_options("wrong");
    options.worker_fault = "wrong@verify:1+";
    zk_engine *engine = test_engine(&options);
    zk_submitted s;
    zk_result result;
    test_submit(&s, engine, test_request(ZK_KIND_WINDOW, "a", 1));
    test_await(&result, engine, s.job_id);
    ZK_CHECKF(result.outcome == ZK_OUTCOME_FAILED && strstr(result.message, "retired"), "%s", result.message);
    zk_engine_status *status = test_status(engine);
    ZK_CHECK(status->n_wrong_proofs == 2 && status->workers[0].state == ZK_WORKER_RETIRED);
    zk_engine_status_destroy(status);
    zk_engine_destroy(engine);
    ZK_CHECK(test_count_files(test_path("wrong/journal.evidence")) == 3); /* two reports, one input */
}

/* A worker that passes a wrong proof off as verified is caught by the daemon: tried again in a new process. */
static void test_lie(void) {
    zk_engine_options options = test_options("lie");
    options.worker_fault = "lie@verify:2";
    zk_engine *engine = test_engine(&options);
    const zk_request *request = test_request(ZK_KIND_WINDOW, "a", 3);
    zk_submitted s;
    zk_result result;
    test_submit(&s, engine, request);
    test_await(&result, engine, s.job_id);
    test_verify(request, &result);
    ZK_CHECK(result.n_proof == 2 * ZK_PROOF_BYTES);
    zk_result_clear(&result);
    zk_engine_status *status = test_status(engine);
    ZK_CHECK(status->n_wrong_proofs == 1 && status->n_retries == 1 && status->workers[0].state != ZK_WORKER_RETIRED);
    zk_engine_status_destroy(status);
    zk_engine_destroy(engine);
    ZK_CHECK(test_count_files(test_path("lie/journal.evidence")) == 2); /* a report, the input */
}

/* Wrong proofs are the device's, whichever of its workers gave them: all are retired. */
static void test_lies_of_a_device(void) {
    zk_engine_options options = test_options("lies");
    options.worker_fault = "lie@verify:1+";
    options.n_workers = 2;
    zk_engine *engine = test_engine(&options);
    zk_submitted s;
    zk_result result;
    test_submit(&s, engine, test_request(ZK_KIND_WINDOW, "a", 1));
    test_await(&result, engine, s.job_id);
    ZK_CHECKF(result.outcome == ZK_OUTCOME_FAILED && strstr(result.message, "retired"), "%s", result.message);
    zk_engine_status *status = test_status(engine);
    ZK_CHECK(status->n_wrong_proofs == 2 && status->n_workers == 2);
    for (unsigned i = 0; i < 2; i++) ZK_CHECK(status->workers[i].state == ZK_WORKER_RETIRED);
    zk_engine_status_destroy(status);
    zk_engine_destroy(engine);
}

/* ---- many ---- */

typedef struct client {
    zk_engine *engine;
    char id[32];
    cuzk_status status;
    zk_result result;
} client;

static void *client_main(void *ctx) {
    client *c = ctx;
    zk_request request = test_as(test_request(ZK_KIND_WINDOW, "a", 1), c->id, ZK_PRIORITY_NORMAL);
    zk_submitted s;
    c->status = zk_engine_submit_request(&s, c->engine, &request, NULL);
    if (c->status == CUZK_OK) c->status = zk_engine_await(&c->result, c->engine, s.job_id, 0, NULL, NULL, NULL);
    return NULL;
}

/* Fifty clients at once, five of each request: ten proofs. */
static void test_concurrent(void) {
    zk_engine_options options = test_options("concurrent");
    zk_engine *engine = test_engine(&options);
    enum { N = 50 };
    static client clients[N];
    pthread_t threads[N];
    test_request(ZK_KIND_WINDOW, "a", 1); /* made before */
    for (size_t i = 0; i < N; i++) {
        clients[i] = (client){.engine = engine};
        snprintf(clients[i].id, sizeof clients[i].id, "client-%zu", i % 10);
        ZK_CHECK(pthread_create(&threads[i], NULL, client_main, &clients[i]) == 0);
    }
    for (size_t i = 0; i < N; i++) pthread_join(threads[i], NULL);
    for (size_t i = 0; i < N; i++) {
        ZK_CHECK(clients[i].status == CUZK_OK && clients[i].result.outcome == ZK_OUTCOME_COMPLETED);
        ZK_CHECK_MEM(clients[i].result.proof, clients[i % 10].result.proof, ZK_PROOF_BYTES);
    }
    zk_engine_status *status = test_status(engine);
    ZK_CHECK(status->n_completed == 10 && status->n_joined == 40 && status->n_submitted == 10);
    zk_engine_status_destroy(status);
    for (size_t i = 0; i < N; i++) zk_result_clear(&clients[i].result);
    zk_engine_destroy(engine);
}

static void test_drain(void) {
    zk_engine_options options = test_options("drain");
    zk_engine *engine = test_engine(&options);
    zk_request a = test_as(test_request(ZK_KIND_WINDOW, "a", 5), "", ZK_PRIORITY_NORMAL);
    zk_submitted first, second;
    zk_result result;
    cuzk_err err = {0};
    test_submit(&first, engine, &a);
    test_submit(&second, engine, &a);
    ZK_CHECK_OK(zk_engine_drain(engine, ZK_TEST_HANG_S * 1000, &err), err);
    ZK_CHECK(zk_engine_submit_request(&second, engine, &a, &err) == CUZK_IO);
    bool loaded;
    uint64_t ms;
    ZK_CHECK(zk_engine_preload(&loaded, &ms, engine, "wpost-2k", &err) == CUZK_IO);
    zk_engine_destroy(engine);
    engine = test_engine(&options);
    test_await(&result, engine, first.job_id);
    test_verify(&a, &result);
    zk_result_clear(&result);
    zk_engine_destroy(engine);
}

/* ---- the whole process dies ---- */

/* The daemon of the next test: takes jobs until it is killed. */
static int host_main(char **argv) {
    snprintf(test_dir, sizeof test_dir, "%s", argv[2]);
    zk_engine_options options = test_options("host");
    zk_engine *engine = test_engine(&options);
    FILE *ids = fopen(test_path("ids"), "a");
    if (!ids) return 2;
    for (unsigned i = 0; i < (unsigned)atoi(argv[3]); i++) {
        char id[32];
        snprintf(id, sizeof id, "host-%u", i);
        zk_request request = test_as(test_request(ZK_KIND_WINDOW, "a", 3), id, ZK_PRIORITY_NORMAL);
        zk_submitted s;
        test_submit(&s, engine, &request);
        fprintf(ids, "%s\n", s.job_id);
        fflush(ids);
    }
    for (;;) pause();
}

static pid_t start_host(unsigned n_jobs) {
    char number[16];
    snprintf(number, sizeof number, "%u", n_jobs);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "engine_test", "host", test_dir, number, (char *)NULL);
        _exit(127);
    }
    return pid;
}

/* Jobs that the daemons of the next test say they took. */
static bool some_accepted(void) {
    struct stat st;
    return stat(test_path("ids"), &st) == 0 && st.st_size >= ZK_JOB_ID_BYTES - 1;
}

static void test_daemon_killed(void) {
    uint64_t seed = 11;
    enum { N_JOBS = 4, MAX_SEEN = 64 };
    const char *more = getenv("CUZK_ENGINE_KILLS");
    unsigned n_kills = more ? (unsigned)atoi(more) : 5;
    for (unsigned i = 0; i < n_kills; i++) {
        pid_t pid = start_host(N_JOBS);
        ZK_CHECK(pid > 0);
        usleep((useconds_t)(100000 + zk_test_rand(&seed) % 900000));
        if (i + 1 == n_kills) TEST_UNTIL(some_accepted());
        ZK_CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
    }
    zk_engine_options options = test_options("host");
    zk_engine *engine = NULL;
    cuzk_err err = {0};
    /* its workers die with it; they do not hold the journal */
    ZK_CHECK_OK(zk_engine_create(&engine, &options, &err), err);
    FILE *ids = fopen(test_path("ids"), "r");
    ZK_CHECK(ids != NULL);
    char line[64], seen[MAX_SEEN][ZK_JOB_ID_BYTES];
    unsigned n = 0;
    while (fgets(line, sizeof line, ids)) {
        line[strcspn(line, "\n")] = 0;
        if (strlen(line) < 10) continue; /* cut off by the kill */
        bool known = false;
        for (unsigned k = 0; k < n; k++) known |= strcmp(seen[k], line) == 0;
        zk_result result;
        test_await(&result, engine, line);
        test_verify(test_request(ZK_KIND_WINDOW, "a", 3), &result);
        zk_result_clear(&result);
        ZK_CHECK(known || n < MAX_SEEN);
        if (!known) snprintf(seen[n++], ZK_JOB_ID_BYTES, "%.39s", line);
    }
    fclose(ids);
    /* a request that was accepted once is the same job in every later life */
    ZK_CHECKF(n <= N_JOBS && n > 0, "%u jobs", n);
    ZK_CHECK(test_count_files(test_path("host/journal.spool")) == 0);
    zk_engine_destroy(engine);
}

static void flat_rounds(zk_engine *engine, unsigned n) {
    const zk_request *request = test_request(ZK_KIND_WINDOW, "a", 1);
    for (unsigned i = 0; i < n; i++) {
        zk_request nameless = test_as(request, "", ZK_PRIORITY_NORMAL);
        zk_submitted s;
        zk_result result;
        test_submit(&s, engine, &nameless);
        test_await(&result, engine, s.job_id);
        ZK_CHECK(result.outcome == ZK_OUTCOME_COMPLETED);
        zk_result_clear(&result);
    }
}

static uint64_t worker_rss(zk_engine *engine) {
    zk_engine_status *status = test_status(engine);
    uint64_t rss = status->workers[0].rss_bytes;
    zk_engine_status_destroy(status);
    return rss;
}

/* Memory of a worker does not grow with the proofs it makes. */
static void test_flat_memory(void) {
    zk_engine_options options = test_options("flat");
    zk_engine *engine = test_engine(&options);
    const char *more = getenv("CUZK_ENGINE_PROOFS");
    unsigned n = more ? (unsigned)atoi(more) : 10;
    flat_rounds(engine, n / 2 + 3);
    uint64_t before = worker_rss(engine);
    flat_rounds(engine, n);
    uint64_t after = worker_rss(engine);
#if defined(ZK_TEST_ADDRESS_SANITIZER) || defined(ZK_TEST_THREAD_SANITIZER)
    before += before / 2; /* sanitizers keep freed memory for a while */
#endif
    ZK_CHECKF(after <= before + before / 50, "%llu bytes, then %llu", (unsigned long long)before,
              (unsigned long long)after);
    if (more)
        printf("# worker: %llu bytes, after %u proofs more %llu\n", (unsigned long long)before, n,
               (unsigned long long)after);
    zk_engine_destroy(engine);
}

int main(int argc, char **argv) {
    static const zk_test_case cases[] = {
        ZK_CASE(test_prove),        ZK_CASE(test_partitions),    ZK_CASE(test_idempotency),
        ZK_CASE(test_failure),      ZK_CASE(test_missing_keys),  ZK_CASE(test_preload_evict),
        ZK_CASE(test_budget),       ZK_CASE(test_cancel),        ZK_CASE(test_time_limit),
        ZK_CASE(test_priorities),   ZK_CASE(test_overtaking),    ZK_CASE(test_worker_killed),
        ZK_CASE(test_poison),       ZK_CASE(test_device_error),  ZK_CASE(test_urgent_device_error),
        ZK_CASE(test_wrong_proofs), ZK_CASE(test_lie),           ZK_CASE(test_lies_of_a_device),
        ZK_CASE(test_concurrent),   ZK_CASE(test_drain),         ZK_CASE(test_daemon_killed),
        ZK_CASE(test_flat_memory),  ZK_CASE(test_damaged_proof), ZK_CASE(test_damaged_partition),
    };
    if (argc > 1 && strcmp(argv[1], "worker") == 0) return test_worker_main(argc, argv);
    if (setjmp(zk_test_jump) != 0) return 2;
    if (argc > 3 && strcmp(argv[1], "host") == 0) return host_main(argv);
    zk_log_set_level(getenv("CUZK_ENGINE_LOG") ? ZK_LOG_DEBUG : ZK_LOG_OFF);
    test_dir_make();
    test_keys_make(ZK_KIND_WINNING);
    test_keys_make(ZK_KIND_WINDOW);
    int code = zk_test_run(cases, sizeof cases / sizeof cases[0], argc, argv);
    test_dir_remove();
    return code;
}
