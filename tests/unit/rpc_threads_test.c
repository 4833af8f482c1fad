/* Threads of the gRPC server: none for a call that waits, none held up by another; one that hangs is seen. */
#include "rpc/deadlocks.h"
#include "rpc_common.h"

static unsigned n_threads_now(void) {
    char line[200];
    unsigned n = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, f)) sscanf(line, "Threads: %u", &n);
    fclose(f);
    return n;
}

/* A thousand waiting calls cost no thread each, and GetStatus is answered beside them. */
static void test_many_waiting(void) {
    enum { N = 1000 };
    static waiter w[N];
    start();
    zk_request r = sample("many");
    char id[ZK_JOB_ID_BYTES];
    submit(&r, id);
    unsigned before = n_threads_now();
    n_done = 0;
    for (unsigned i = 0; i < N; i++) await(&w[i], id, 0, 0);
    WAIT_FOR(fake_n_watches(fx.engine) == N);
    /* the core has some more of its own when there is much to do */
    ZK_CHECKF(n_threads_now() <= before + N / 10, "%u threads before, %u now", before, n_threads_now());
    for (unsigned i = 0; i < 100; i++) {
        Cuzk__V1__GetStatusRequest q = CUZK__V1__GET_STATUS_REQUEST__INIT;
        void *m = ask("GetStatus", &q.base, &cuzk__v1__get_status_response__descriptor);
        protobuf_c_message_free_unpacked(m, NULL);
    }
    ZK_CHECK(n_done == 0);
    fake_finish(fx.engine, id, ZK_OUTCOME_COMPLETED, "");
    WAIT_FOR(n_done == N);
    for (unsigned i = 0; i < N; i++) ZK_CHECK(w[i].status == CUZK_OK && w[i].n_proof == 192);
    stop();
}

/* A journal that does not answer holds up those who ask it for a job, nobody else; their deadlines count. */
static void test_await_slow_journal(void) {
    enum { N = 4 }; /* more than there are threads that serve */
    start();
    waiter w[N], late;
    fake_hold_unknown(fx.engine, true);
    for (unsigned i = 0; i < N; i++) await(&w[i], "job-unknown", 0, 0);
    await(&late, "job-late", 300, 0);
    zk_client_poll(fx.client, 100);
    Cuzk__V1__GetStatusRequest q = CUZK__V1__GET_STATUS_REQUEST__INIT;
    Cuzk__V1__GetStatusResponse *s = ask("GetStatus", &q.base, &cuzk__v1__get_status_response__descriptor);
    protobuf_c_message_free_unpacked(&s->base, NULL);
    WAIT_FOR(late.done);
    bool early = false;
    for (unsigned i = 0; i < N; i++) early |= w[i].done;
    fake_hold_unknown(fx.engine, false);
    ZK_CHECK(late.status == CUZK_OK && late.outcome == CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__TIMEOUT && !early);
    for (unsigned i = 0; i < N; i++) {
        WAIT_FOR(w[i].done);
        ZK_CHECK(w[i].status == CUZK_OK && w[i].outcome == CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__UNKNOWN);
    }
    stop();
}

static void keep_status(void *ctx, cuzk_status status, const uint8_t *response, size_t n, const cuzk_err *err) {
    (void)response, (void)n, (void)err;
    *(cuzk_status *)ctx = status;
}

/* What a watchdog looks at: one serving thread that hangs is seen beside one that serves; idle ones hang not. */
static void test_silence(void) {
    start();
    sleep_ms(1500); /* some rounds without a call */
    WAIT_FOR(zk_rpc_server_silent_ms(fx.server) < 1200);
    cuzk_status answer = CUZK_INTERNAL;
    cuzk_err err = {0};
    fake_hang(fx.engine);
    zk_client_call *held = NULL;
    ZK_CHECK_OK(zk_client_start(&held, fx.client, &(zk_client_query){"GetStatus", "", 0}, keep_status, &answer, &err),
                err);
    for (uint64_t end_ns = zk_now_ns() + ZK_TEST_HANG_S * ZK_SECOND_NS;
         zk_rpc_server_silent_ms(fx.server) < 2000 && zk_now_ns() < end_ns;)
        zk_client_poll(fx.client, 50);
    bool seen = zk_rpc_server_silent_ms(fx.server) >= 2000, answered = answer == CUZK_OK;
    uint8_t *response = NULL;
    size_t n = 0;
    cuzk_status other = call("/no.Such/Method", "", 0, &response, &n, &err); /* by the other thread */
    bool still = zk_rpc_server_silent_ms(fx.server) >= 2000;
    fake_go_on(fx.engine);
    ZK_CHECK(seen && !answered && other == CUZK_UNSUPPORTED && still);
    WAIT_FOR(answer == CUZK_OK && zk_rpc_server_silent_ms(fx.server) < 1200);
    stop();
}

static void count_good(void *ctx, cuzk_status status, const uint8_t *response, size_t n_response, const cuzk_err *err) {
    (void)response, (void)n_response, (void)err;
    *(int *)ctx = status == CUZK_OK ? 1 : -1;
}

/* Of two calls that come at once while one thread is idle, neither waits for the end of the other. */
static void test_blocking_side_by_side(void) {
    start();
    uint8_t q[32];
    Cuzk__V1__PreloadSrsRequest p = CUZK__V1__PRELOAD_SRS_REQUEST__INIT;
    p.circuit_id = (char *)(uintptr_t) "porep-2k";
    size_t n = cuzk__v1__preload_srs_request__pack(&p, q);
    for (unsigned round = 0; round < 400; round++) {
        int done[2] = {0, 0};
        cuzk_err err = {0};
        zk_client_call *c;
        unsigned together = round ? 2 : 1;
        fake_meet(fx.engine, together);
        for (unsigned i = 0; i < together; i++)
            ZK_CHECK_OK(
                zk_client_start(&c, fx.client, &(zk_client_query){"PreloadSRS", q, n}, count_good, &done[i], &err),
                err);
        for (unsigned i = 0; i < together; i++) {
            WAIT_FOR(done[i]);
            ZK_CHECKF(done[i] == 1, "round %u", round);
        }
    }
    stop();
}

/* Whatever Abseil's functions are called in this build, its search for deadlocks is found where there is one. */
static void test_no_deadlock_search(void) {
    char line[512];
    bool shared = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    ZK_CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps)) shared |= strstr(line, "libabsl_synchronization") != NULL;
    fclose(maps);
    ZK_CHECK(zk_rpc_no_deadlock_search() || !shared);
}

ZK_TEST_MAIN(ZK_CASE(test_many_waiting), ZK_CASE(test_await_slow_journal), ZK_CASE(test_silence),
             ZK_CASE(test_blocking_side_by_side), ZK_CASE(test_no_deadlock_search))
