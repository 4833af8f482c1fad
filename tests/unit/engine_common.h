/* What tests of the engine share: keys of a small circuit, requests, an engine in a folder of its own. The program is
 * its own worker: main of the test calls engine_test_role first. */
#ifndef ZK_TEST_ENGINE_COMMON_H
#define ZK_TEST_ENGINE_COMMON_H

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json_dom.h"
#include "base/log.h"
#include "base/span.h"
#include "engine/circuits.h"
#include "engine/content.h"
#include "engine/engine.h"
#include "engine/worker.h"
#include "filecoin/job.h"
#include "filecoin/kinds.h"
#include "filecoin/sample.h"
#include "groth16/params.h"
#include "groth16/setup.h"
#include "groth16/verify.h"
#include "zk_test.h"

static char test_dir[256];

static inline const char *test_path(const char *name) {
    static char paths[16][512];
    static unsigned next;
    char *path = paths[next++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", test_dir, name);
    return path;
}

static inline void test_dir_make(void) {
    const char *tmp = getenv("TMPDIR");
    snprintf(test_dir, sizeof test_dir, "%s/cuzk-engine-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(test_dir)) abort();
}

static inline void test_dir_remove(void) {
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", test_dir);
    if (system(command) != 0) fprintf(stderr, "could not remove %s\n", test_dir);
}

/* Keys are kept beside the build. */
static inline const char *test_keys(void) { return CUZK_ENGINE_KEYS; }

static inline void test_keys_make(zk_proof_kind kind) {
    char path[ZK_KEY_PATH_BYTES];
    cuzk_err err = {0};
    if (zk_circuit_key_path(path, NULL, test_keys(), kind, 2048, NULL) == CUZK_OK) return;
    ZK_CHECK_OK(zk_folder_create(test_keys(), &err), err);
    zk_program *program = NULL;
    ZK_CHECK_OK(zk_kind_program(&program, kind, 2048, &err), err);
    zk_pool *pool = NULL;
    ZK_CHECK_OK(zk_pool_create(&pool, 0, &err), err);
    zk_toxic_waste toxic;
    ZK_CHECK_OK(zk_toxic_waste_random(&toxic, &err), err);
    /* NOT_FOUND filled the path in */
    zk_setup_options options = {.toxic = &toxic, .params_path = path, .pool = pool};
    zk_setup_result result;
    ZK_CHECK_OK(zk_setup(&result, program, &options, &err), err);
    zk_pool_destroy(pool);
    zk_program_destroy(program);
}

/* A request whose content depends on the text. Kept: sealing takes a while. */
static inline const zk_request *test_request(zk_proof_kind kind, const char *text, size_t n_sectors) {
    static struct {
        char key[128];
        zk_request *request;
    } kept[64];
    char key[128];
    cuzk_err err = {0};
    snprintf(key, sizeof key, "%d %s %zu", (int)kind, text, n_sectors);
    size_t i = 0;
    for (; i < 64 && kept[i].request; i++)
        if (strcmp(kept[i].key, key) == 0) return kept[i].request;
    if (i == 64) ZK_FAIL_CASE("too many kinds of requests");
    zk_sample_post_options options = {.text = text, .miner = 1193, .first_sector = 117, .n_sectors = n_sectors};
    const zk_registered_post *type = zk_registered_post_by_name(
        kind == ZK_KIND_WINNING ? "StackedDrgWinning2KiBV1" : "StackedDrgWindow2KiBV1_2",
        strlen(kind == ZK_KIND_WINNING ? "StackedDrgWinning2KiBV1" : "StackedDrgWindow2KiBV1_2"));
    ZK_CHECK(type != NULL);
    ZK_CHECK_OK(zk_sample_post(&kept[i].request, type, &options, NULL, &err), err);
    snprintf(kept[i].key, sizeof kept[i].key, "%s", key);
    return kept[i].request;
}

/* The same content under another id and priority. */
static inline zk_request test_as(const zk_request *request, const char *id, zk_priority priority) {
    zk_request copy = *request;
    copy.request_id = (char *)(uintptr_t)id;
    copy.priority = priority;
    return copy;
}

static inline zk_engine_options test_options(const char *name) {
    static char journal[8][512];
    static unsigned next;
    char *path = journal[next++ % 8];
    snprintf(path, sizeof journal[0], "%s/%s/journal", test_dir, name);
    return (zk_engine_options){
        .param_cache = test_keys(),
        .journal_path = path,
        .no_express = true,
        .worker_threads = 1,
        /* scripts/tsan.sh: the same test built without a sanitizer, so that proofs are not what takes the time */
        .worker_program = getenv("CUZK_TEST_WORKER"),
    };
}

static inline zk_engine *test_engine(const zk_engine_options *options) {
    zk_engine *engine = NULL;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_engine_create(&engine, options, &err), err);
    return engine;
}

static inline void test_submit(zk_submitted *s, zk_engine *engine, const zk_request *request) {
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_engine_submit_request(s, engine, request, &err), err);
}

#define TEST_UNTIL(cond)                                                                                               \
    do {                                                                                                               \
        uint64_t end_ns_ = zk_now_ns() + ZK_TEST_HANG_S * ZK_SECOND_NS;                                                \
        while (!(cond)) {                                                                                              \
            ZK_CHECKF(zk_now_ns() < end_ns_, "%s does not come", #cond);                                               \
            usleep(2000);                                                                                              \
        }                                                                                                              \
    } while (0)

/* What workers with the fault "hold@..." wait for: they go on when they are let go. */
static inline const char *test_hold(void) {
    cuzk_err err = {0};
    const char *path = test_path("hold");
    ZK_CHECK_OK(zk_file_write(path, "", 0, &err), err);
    setenv("CUZK_TEST_HOLD", path, 1);
    return path;
}
static inline void test_let_go(void) { unlink(test_path("hold")); }

static inline void test_await(zk_result *result, zk_engine *engine, const char *job_id) {
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_engine_await(result, engine, job_id, ZK_TEST_HANG_S * 1000, NULL, NULL, &err), err);
    ZK_CHECKF(result->outcome != ZK_OUTCOME_TIMEOUT, "%s does not end", job_id);
}

/* The proof holds for the request, by the key of the file. */
static inline void test_verify(const zk_request *request, const zk_result *result) {
    cuzk_err err = {0};
    ZK_CHECKF(result->outcome == ZK_OUTCOME_COMPLETED, "outcome %d: %s", (int)result->outcome, result->message);
    zk_job *job = NULL;
    ZK_CHECK_OK(zk_job_from_request(&job, request, &err), err);
    ZK_CHECK(result->n_proof == (size_t)job->n_partitions * ZK_PROOF_BYTES);
    char path[ZK_KEY_PATH_BYTES];
    ZK_CHECK_OK(zk_circuit_key_path(path, NULL, test_keys(), job->kind, job->sector_bytes, &err), err);
    zk_params *params = NULL;
    zk_prepared_vk *vk = NULL;
    ZK_CHECK_OK(zk_params_open(&params, path, NULL, &err), err);
    ZK_CHECK_OK(zk_prepared_vk_create(&vk, &params->vk, path, &err), err);
    uint8_t(*publics)[32] = malloc((size_t)job->n_partitions * job->n_publics * 32);
    for (uint32_t i = 0; i < job->n_partitions; i++) zk_job_publics(publics + i * job->n_publics, job, i);
    cuzk_status status = zk_verify_batch(vk, result->proof, result->n_proof, job->n_partitions,
                                         (const uint8_t(*)[32])publics, job->n_publics, NULL, &err);
    free(publics);
    zk_prepared_vk_destroy(vk);
    zk_params_close(params);
    zk_job_destroy(job);
    ZK_CHECKF(status == CUZK_OK, "%s", err.message);
}

/* A job from its request to a proof that holds; proof: where it goes, may be NULL. */
static inline void test_prove_to(uint8_t *proof, zk_engine *engine, const zk_request *request) {
    zk_submitted s;
    zk_result result;
    test_submit(&s, engine, request);
    test_await(&result, engine, s.job_id);
    test_verify(request, &result);
    if (proof) memcpy(proof, result.proof, result.n_proof);
    zk_result_clear(&result);
}
static inline void test_prove_request(zk_engine *engine, const zk_request *request) {
    test_prove_to(NULL, engine, request);
}

static inline zk_engine_status *test_status(zk_engine *engine) {
    zk_engine_status *status = NULL;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_engine_get_status(&status, engine, &err), err);
    return status;
}

static inline bool test_holds(zk_engine *engine, bool (*holds)(const zk_engine_status *status)) {
    zk_engine_status *status = test_status(engine);
    bool yes = holds(status);
    zk_engine_status_destroy(status);
    return yes;
}

/* Worker 0, with a partition. */
static inline bool test_is_in_stage(zk_engine *engine, const char *stage) {
    zk_engine_status *status = test_status(engine);
    bool there = strcmp(status->workers[0].stage, stage) == 0 && status->workers[0].partition >= 0;
    zk_engine_status_destroy(status);
    return there;
}

/* Of a stage in which the worker stands still. */
static inline void test_await_stage(zk_engine *engine, const char *stage) {
    TEST_UNTIL(test_is_in_stage(engine, stage));
}

/* Proves the request until the condition holds: a worker that came late, or had to stand aside, found nothing left to
 * do the first time. Returns how often. */
static inline unsigned test_prove_until(zk_engine *engine, const zk_request *request,
                                        bool (*holds)(const zk_engine_status *status)) {
    for (unsigned n = 1; n <= 50; n++) {
        zk_request nameless = test_as(request, "", request->priority);
        test_prove_request(engine, &nameless);
        if (test_holds(engine, holds)) return n;
    }
    ZK_FAIL_CASE("the work is never shared");
}

/* What a fault of the workers has cost the engine so far. */
static inline void test_check_cost(zk_engine *engine, const char *fault, uint64_t crashes, uint64_t wrong,
                                   uint64_t least_retries, uint64_t most_retries) {
    zk_engine_status *st = test_status(engine);
    ZK_CHECKF(st->n_worker_crashes == crashes && st->n_wrong_proofs == wrong && st->n_retries >= least_retries &&
                  st->n_retries <= most_retries,
              "%s: %llu crashes, %llu wrong, %llu retries", fault, (unsigned long long)st->n_worker_crashes,
              (unsigned long long)st->n_wrong_proofs, (unsigned long long)st->n_retries);
    zk_engine_status_destroy(st);
}

static inline size_t test_count_files(const char *dir) {
    size_t n = 0;
    DIR *d = opendir(dir);
    if (!d) return 0;
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

/* Two devices that are the CPU in disguise: what the engine does with devices of their own needs none. */
#define TEST_DEVICE_BYTES ((uint64_t)1 << 30)
static inline cuzk_status test_cuda_count(int *n, cuzk_err *err) {
    const char *count = getenv("CUZK_TEST_DEVICES");
    *n = count ? atoi(count) : 2;
    return *n ? CUZK_OK : ZK_FAIL(err, CUZK_DEVICE, "none in this test");
}
/* So many streams at a time; there is no memory for more. What runs on them runs side by side. */
static int test_streams_left;
struct zk_stream {
    char unused;
};
static inline cuzk_status test_stream_open(zk_stream **stream, zk_backend *backend, cuzk_err *err) {
    static zk_stream streams;
    (void)backend;
    if (test_streams_left == 0) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no room in this test");
    test_streams_left--;
    *stream = &streams;
    return CUZK_OK;
}
static inline void test_stream_close(zk_stream *stream) {
    (void)stream;
    test_streams_left++;
}
static inline void test_add_streams(zk_backend *backend, int n) {
    static zk_device_ops ops;
    test_streams_left = n;
    ops = *backend->device;
    ops.stream_open = test_stream_open;
    ops.stream_close = test_stream_close;
    backend->device = &ops;
    backend->caps.has_streams = true;
}
static void (*test_change_backend)(zk_backend *backend); /* of a test's own, in the worker */
static uint64_t test_device_taken; /* what the worker was told to take at once; 0: all, as needed */
static inline cuzk_status test_cuda_open(zk_backend **backend, int ordinal, uint64_t memory_bytes, zk_pool *pool,
                                         cuzk_err *err) {
    if (ordinal >= 2 || getenv("CUZK_TEST_BROKEN")) return ZK_FAIL(err, CUZK_DEVICE, "device %d: there are 2", ordinal);
    ZK_TRY(zk_backend_open_cpu(backend, pool, err));
    zk_backend_caps *caps = &(*backend)->caps;
    caps->kind = "cuda";
    const char *bytes = getenv("CUZK_TEST_DEVICE_BYTES"), *streams = getenv("CUZK_TEST_STREAMS");
    caps->memory_bytes = bytes ? strtoull(bytes, NULL, 10) : TEST_DEVICE_BYTES;
    if (memory_bytes) caps->memory_bytes = memory_bytes;
    test_device_taken = memory_bytes;
    caps->shares_host_memory = false;
    if (streams) test_add_streams(*backend, atoi(streams));
    snprintf(caps->device, sizeof caps->device, "test device %d", ordinal);
    if (test_change_backend) test_change_backend(*backend);
    return CUZK_OK;
}
static inline void test_cuda_memory(uint64_t *total, uint64_t *free, const zk_backend *backend) {
    (void)backend;
    *total = test_device_taken ? test_device_taken : 2 * TEST_DEVICE_BYTES;
    *free = TEST_DEVICE_BYTES;
}

/* A budget for either of the two smallest circuits, but not for both. */
static inline uint64_t test_budget_for_one(const zk_engine_options *options, bool proves) {
    zk_engine *engine = test_engine(options);
    cuzk_err err = {0};
    bool was;
    uint64_t unused, both, larger;
    ZK_CHECK_OK(zk_engine_preload(&was, &unused, engine, "wpost-2k", &err), err);
    ZK_CHECK_OK(zk_engine_preload(&was, &unused, engine, "winning-2k", &err), err);
    const zk_proof_kind kinds[] = {ZK_KIND_WINDOW, ZK_KIND_WINNING};
    for (unsigned i = 0; proves && i < 2; i++) { /* after proofs the processes are as large as they get */
        test_prove_request(engine, test_request(kinds[i], "budget", 1));
    }
    zk_engine_status *status = test_status(engine);
    both = status->memory_reserved_bytes;
    zk_engine_status_destroy(status);
    ZK_CHECK_OK(zk_engine_evict(&was, &unused, engine, "wpost-2k", &err), err);
    status = test_status(engine);
    larger = status->memory_reserved_bytes;
    uint64_t budget = (both + larger) / 2 + status->memory_base_bytes;
    zk_engine_status_destroy(status);
    zk_engine_destroy(engine);
    return budget;
}

/* `worker` as the engine starts it. */
static inline int test_worker_main(int argc, char **argv) {
    zk_worker_options options = {
        .cuda_count = test_cuda_count, .cuda_open = test_cuda_open, .cuda_memory = test_cuda_memory};
    cuzk_err err = {0};
    for (int i = 2; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--fd") == 0) options.fd = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--progress-fd") == 0) options.progress_fd = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--threads") == 0) options.n_threads = (unsigned)atoi(argv[i + 1]);
        if (strcmp(argv[i], "--device") == 0) options.device = argv[i + 1];
        if (strcmp(argv[i], "--device-memory") == 0) options.device_memory_bytes = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--lookahead") == 0) options.lookahead = (unsigned)atoi(argv[i + 1]);
        if (strcmp(argv[i], "--lanes") == 0) options.n_lanes = (unsigned)atoi(argv[i + 1]);
        if (strcmp(argv[i], "--params") == 0) options.param_cache = argv[i + 1];
        if (strcmp(argv[i], "--prepared") == 0) options.no_prepared = strcmp(argv[i + 1], "off") == 0;
        if (strcmp(argv[i], "--spool") == 0) options.spool_dir = argv[i + 1];
        if (strcmp(argv[i], "--fault") == 0) options.fault = argv[i + 1];
    }
    static zk_blinding blinding;
    if (getenv("CUZK_TEST_BLINDING")) {
        zk_fr_from_u64(&blinding.r, 7);
        zk_fr_from_u64(&blinding.s, 11);
        options.blinding = &blinding;
    }
    const char *fault = getenv("CUZK_TEST_FAULT_OF_0");
    if (fault && options.device && strcmp(options.device, "cuda:0") == 0) options.fault = fault;
    return cuzk_status_exit_code(zk_worker_run(&options, &err));
}

/* Runs the cases in a folder with keys of both kinds. Returns the exit code of the program. */
static inline int test_engine_main(const zk_test_case *cases, size_t n, int argc, char **argv) {
    if (setjmp(zk_test_jump) != 0) return 2; /* the keys cannot be made */
    zk_log_set_level(getenv("CUZK_ENGINE_LOG") ? ZK_LOG_DEBUG : ZK_LOG_OFF);
    test_dir_make();
    test_keys_make(ZK_KIND_WINDOW);
    test_keys_make(ZK_KIND_WINNING);
    int code = zk_test_run(cases, n, argc, argv);
    test_dir_remove();
    return code;
}

#endif
