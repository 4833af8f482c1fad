/* The daemon's own heap does not grow with the jobs it has done. Proofs would take minutes: the worker of this test
 * says what a worker says, with a proof that a real one made of the same content. */
#include <stdatomic.h>
#include <sys/socket.h>

#include "base/file.h"
#include "engine/ipc.h"
#include "engine/memory.h"
#include "engine_common.h"
#ifdef CUZK_TEST_RPC
#include "rpc/client.h"
#include "rpc/pb.h"
#include "rpc/server.h"
#endif

/* ---- the worker ---- */

static zk_ipc_message say(zk_ipc_message m, const char *text, bool wants_answer) {
    zk_ipc_message answer = {0};
    cuzk_err err = {0};
    if (zk_ipc_send(3, &m, text, text ? strlen(text) : 0, &err) != CUZK_OK) exit(0);
    if (wants_answer && zk_ipc_receive(&answer, NULL, 3, -1, &err) != CUZK_OK) exit(0);
    return answer;
}

/* As if it loaded the keys. */
static void load_keys(const char *keys) {
    char path[ZK_KEY_PATH_BYTES];
    zk_file_map map = {0};
    cuzk_err err = {0};
    zk_ipc_message m = {.type = ZK_IPC_RESERVE, .kind = ZK_KIND_WINDOW, .sector_bytes = 2048, .bytes = 1 << 20};
    if (zk_circuit_key_path(path, NULL, keys, ZK_KIND_WINDOW, 2048, &err) != CUZK_OK ||
        zk_file_map_open(&map, path, 0, UINT64_MAX, &err) != CUZK_OK)
        exit(2);
    if (say(m, NULL, true).type != ZK_IPC_GRANTED) exit(2);
    m.type = ZK_IPC_KEY_FILE;
    m.file = zk_file_identity_of(&map);
    zk_file_map_close(&map);
    if (say(m, NULL, true).type == ZK_IPC_DENIED) exit(2);
    m.type = ZK_IPC_LOADED;
    say(m, NULL, false);
}

/* One of 16 jobs is refused; with its 100th partition the process dies. */
static int fake_worker(const char *keys) {
    char text[3000] = "{\"traceEvents\":[";
    uint8_t *proof = NULL;
    size_t n_proof;
    bool loaded = false;
    cuzk_err err = {0};
    zk_ipc_message m = {.type = ZK_IPC_HELLO, .version = ZK_IPC_VERSION, .pid = (uint32_t)getpid()};
    snprintf(m.device_kind, sizeof m.device_kind, "cpu");
    snprintf(m.device, sizeof m.device, "none");
    say(m, NULL, false);
    while (strlen(text) < sizeof text - 64) strcat(text, "{\"name\":\"h\",\"pid\":1,\"tid\":1},");
    strcat(text, "{}]}");
    if (zk_file_read(&proof, &n_proof, getenv("CUZK_TEST_PROOF"), 4096, &err) != CUZK_OK || n_proof != 192) exit(2);
    for (unsigned n_prepared = 0, n_proved = 0;;) {
        if (zk_ipc_receive(&m, NULL, 3, -1, &err) != CUZK_OK || m.type == ZK_IPC_EXIT) return 0;
        if (m.type < ZK_IPC_PREPARE || m.type > ZK_IPC_FORGET) continue; /* it was too late */
        zk_ipc_message done = {.type = ZK_IPC_DONE, .kind = ZK_KIND_WINDOW, .sector_bytes = 2048, .n_partitions = 1};
        memcpy(done.job_id, m.job_id, sizeof done.job_id);
        say((zk_ipc_message){.type = ZK_IPC_STAGE, .stage = "prepare"}, NULL, false);
        if (m.type == ZK_IPC_PREPARE && n_prepared++ % 16 == 3) {
            done.status = CUZK_BAD_INPUT;
            snprintf(done.message, sizeof done.message, "this proof does not hold");
        }
        if (m.type == ZK_IPC_PROVE) {
            if (!loaded) load_keys(keys);
            loaded = true;
            if (++n_proved == 100) exit(1);
            memcpy(done.proof, proof, 192);
        }
        say((zk_ipc_message){.type = ZK_IPC_MEMORY}, "1 2 rows\n", false);
        say(done, text, false);
    }
}

/* ---- the daemon ---- */

static void make_proof(const zk_request *request) {
    zk_engine_options options = test_options("real");
    zk_engine *engine = test_engine(&options);
    uint8_t proof[192];
    cuzk_err err = {0};
    test_prove_to(proof, engine, request);
    zk_engine_destroy(engine);
    ZK_CHECK_OK(zk_file_write(test_path("proof"), proof, sizeof proof, &err), err);
    setenv("CUZK_TEST_PROOF", test_path("proof"), 1);
}

static void note_end(void *ctx, const zk_result *result) {
    (void)result;
    atomic_store((atomic_bool *)ctx, true);
}

/* Jobs in tens, as clients come: one of ten is cancelled, one asked for twice, one watched by somebody who leaves. */
static void run_jobs(unsigned *n_completed, zk_engine *engine, const zk_request *request, unsigned first, unsigned n) {
    enum { TOGETHER = 10 };
    zk_submitted s[TOGETHER], twin;
    cuzk_err err = {0};
    char id[32];
    bool was;
    for (unsigned i = first; i < first + n; i += TOGETHER) {
        for (unsigned k = 0; k < TOGETHER; k++) {
            snprintf(id, sizeof id, "job-%u", i + k);
            zk_request named = test_as(request, id, k % 3 ? ZK_PRIORITY_NORMAL : ZK_PRIORITY_HIGH);
            test_submit(&s[k], engine, &named);
            zk_watch *watch;
            if (k == 4) ZK_CHECK_OK(zk_engine_cancel(&was, engine, s[k].job_id, &err), err);
            if (k == 5) test_submit(&twin, engine, &named);
            if (k == 6) {
                atomic_bool ended = false;
                ZK_CHECK_OK(zk_engine_watch(&watch, engine, s[k].job_id, note_end, &ended, &err), err);
                /* gone: the job has ended meanwhile */
                if (!zk_engine_unwatch(engine, s[k].job_id, &ended)) TEST_UNTIL(atomic_load(&ended));
            }
        }
        for (unsigned k = 0; k < TOGETHER; k++) {
            zk_result result;
            test_await(&result, engine, s[k].job_id);
            *n_completed += result.outcome == ZK_OUTCOME_COMPLETED;
            zk_result_clear(&result);
        }
        char *text = NULL;
        size_t n_text;
        FILE *out = open_memstream(&text, &n_text);
        ZK_CHECK_OK(zk_engine_trace(engine, NULL, out, &err), err);
        fclose(out);
        free(text);
        zk_engine_status_destroy(test_status(engine));
    }
}

static uint64_t live_bytes(void) {
    uint64_t live, unused;
    zk_memory_heap(&live, &unused);
    return live;
}

/* What is kept (traces of 64 jobs, a verifying key) is there after the first jobs. 64 bytes of each of 800 others would
 * be 64,000 with what the allocator adds, of 400 calls 32,000. */
enum { BOUND_BYTES = 16 << 10 };
static void check_flat(const char *what, uint64_t before) {
    uint64_t after = live_bytes();
    for (unsigned i = 0; i < 600 && after > before + BOUND_BYTES; i++) { /* some is let go on other threads */
        usleep(100000);
        after = live_bytes();
    }
    printf("# %s: %llu bytes live, then %+lld\n", what, (unsigned long long)before, (long long)(after - before));
    /* Sanitizers have an allocator of their own. */
#if !defined(ZK_TEST_ADDRESS_SANITIZER) && !defined(ZK_TEST_THREAD_SANITIZER)
    ZK_CHECK(before > 100000);
#endif
    ZK_CHECKF(after <= before + BOUND_BYTES, "%llu bytes, then %llu", (unsigned long long)before,
              (unsigned long long)after);
}

static void test_jobs(void) {
    zk_engine_options options = test_options("flat");
    const zk_request *request = test_request(ZK_KIND_WINDOW, "a", 1);
    zk_engine *engine = test_engine(&options);
    unsigned n_completed = 0;
    run_jobs(&n_completed, engine, request, 0, 200);
    uint64_t after_200 = live_bytes();
    run_jobs(&n_completed, engine, request, 200, 800);
    check_flat("200 jobs, then 1,000", after_200);
    zk_engine_status *status = test_status(engine);
    ZK_CHECKF(n_completed > 750 && status->n_failed >= 50 && status->n_cancelled >= 50 && status->n_joined >= 50 &&
                  status->n_worker_crashes >= 5 && status->n_retries >= 5,
              "%u completed, %llu failed, %llu cancelled, %llu joined, %llu crashes, %llu retries", n_completed,
              (unsigned long long)status->n_failed, (unsigned long long)status->n_cancelled,
              (unsigned long long)status->n_joined, (unsigned long long)status->n_worker_crashes,
              (unsigned long long)status->n_retries);
    zk_engine_status_destroy(status);
    zk_engine_destroy(engine);
}

#ifdef CUZK_TEST_RPC
static void answered(void *ctx, cuzk_status status, const uint8_t *response, size_t n_response, const cuzk_err *err) {
    (void)ctx, (void)status, (void)response, (void)n_response, (void)err;
}

/* One connection: a request and its proof, the status; every tenth client leaves while it waits. */
static void be_client(unsigned *n_completed, const char *address, const zk_request *request, unsigned i) {
    zk_client *client = NULL;
    zk_client_call *left = NULL;
    cuzk_err err = {0};
    uint8_t *message = NULL, *answer = NULL;
    size_t n = 0, n_answer = 0;
    char id[32], job_id[ZK_JOB_ID_BYTES] = "";
    snprintf(id, sizeof id, "call-%u", i);
    zk_request named = test_as(request, id, ZK_PRIORITY_NORMAL);
    ZK_CHECK_OK(zk_client_create(&client, address, NULL, &err), err);
    ZK_CHECK_OK(zk_client_encode_submit(&message, &n, &named, false, &err), err);
    ZK_CHECK_OK(zk_client_call_sync(&answer, &n_answer, client, &(zk_client_query){"SubmitProof", message, n}, NULL,
                                    NULL, &err),
                err);
    zk_pb_field field;
    for (zk_pb_reader r = {.p = answer, .end = answer + n_answer}; zk_pb_next(&r, &field);)
        if (zk_pb_is(&field, 1, ZK_PB_BYTES)) snprintf(job_id, sizeof job_id, "%.*s", (int)field.n, field.data);
    free(message);
    free(answer);
    zk_pb_writer wait = {0};
    zk_pb_put_text(&wait, 1, job_id);
    if (i % 10 == 9) {
        ZK_CHECK_OK(
            zk_client_start(&left, client, &(zk_client_query){"AwaitProof", wait.data, wait.n}, answered, NULL, &err),
            err);
    } else {
        ZK_CHECK_OK(zk_client_call_sync(&answer, &n_answer, client, &(zk_client_query){"AwaitProof", wait.data, wait.n},
                                        NULL, NULL, &err),
                    err);
        *n_completed += n_answer > 192; /* with a proof */
        free(answer);
    }
    free(wait.data);
    ZK_CHECK_OK(
        zk_client_call_sync(&answer, &n_answer, client, &(zk_client_query){"GetStatus", "", 0}, NULL, NULL, &err), err);
    free(answer);
    zk_client_destroy(client);
}

static void test_calls(void) {
    zk_engine_options options = test_options("calls");
    const zk_request *request = test_request(ZK_KIND_WINDOW, "a", 1);
    char address[300], *listen[] = {address};
    cuzk_err err = {0};
    zk_engine *engine = test_engine(&options);
    zk_rpc_server *server = NULL;
    unsigned n_completed = 0;
    snprintf(address, sizeof address, "unix://%s", test_path("socket"));
    ZK_CHECK_OK(zk_rpc_server_create(&server, engine, &(zk_rpc_options){.listen = listen, .n_listen = 1}, &err), err);
    for (unsigned i = 0; i < 100; i++) be_client(&n_completed, address, request, i);
    usleep(200000); /* what ended is let go on other threads */
    uint64_t after_100 = live_bytes();
    for (unsigned i = 100; i < 500; i++) be_client(&n_completed, address, request, i);
    check_flat("100 calls, then 500", after_100);
    zk_rpc_server_destroy(server);
    zk_engine_destroy(engine);
    ZK_CHECKF(n_completed > 375, "%u completed", n_completed);
}
#endif

int main(int argc, char **argv) {
    static const zk_test_case cases[] = {
        ZK_CASE(test_jobs),
#ifdef CUZK_TEST_RPC
        ZK_CASE(test_calls),
#endif
    };
    if (argc > 1 && strcmp(argv[1], "worker") == 0) {
        const char *keys = NULL; /* not this program's own: it may be another build's worker */
        for (int i = 2; i + 1 < argc; i += 2)
            if (strcmp(argv[i], "--params") == 0) keys = argv[i + 1];
        return getenv("CUZK_TEST_FAKE_WORKER") ? fake_worker(keys) : test_worker_main(argc, argv);
    }
    zk_engine_small_heap(); /* else what the allocator keeps for each thread counts as live */
    zk_log_set_level(getenv("CUZK_ENGINE_LOG") ? ZK_LOG_DEBUG : ZK_LOG_OFF);
    if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 0); /* a disk is not what this is about */
    if (setjmp(zk_test_jump) != 0) return 2;
    test_dir_make();
    test_keys_make(ZK_KIND_WINDOW);
    make_proof(test_request(ZK_KIND_WINDOW, "a", 1));
    setenv("CUZK_TEST_FAKE_WORKER", "1", 1);
    int code = zk_test_run(cases, sizeof cases / sizeof cases[0], argc, argv);
    test_dir_remove();
    return code;
}
