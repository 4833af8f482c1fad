/* The gRPC server over a fake engine, with our own client: what its tests share. */
#ifndef RPC_COMMON_H
#define RPC_COMMON_H

#include <time.h>

#include <cuzk.pb-c.h>
#include "base/clock.h"
#include "rpc/client.h"
#include "rpc/server.h"
#include "rpc_fake_engine.h"
#include "zk_test.h"

typedef struct fixture {
    zk_engine *engine;
    zk_rpc_server *server;
    zk_client *client;
    char address[64];
} fixture;

static fixture fx;

static inline void start_with(const zk_rpc_options *options) {
    cuzk_err err = {0};
    fx.engine = fake_create();
    ZK_CHECK_OK(zk_rpc_server_create(&fx.server, fx.engine, options, &err), err);
    snprintf(fx.address, sizeof fx.address, "127.0.0.1:%d", zk_rpc_server_port(fx.server, 0));
    ZK_CHECK_OK(zk_client_create(&fx.client, fx.address, NULL, &err), err);
}

static inline void start(void) {
    char *listen[] = {"127.0.0.1:0"};
    start_with(&(zk_rpc_options){.listen = listen, .n_listen = 1, .max_message_bytes = 4 << 20});
}

static inline void stop(void) {
    zk_client_destroy(fx.client);
    zk_rpc_server_destroy(fx.server);
    ZK_CHECK(fake_n_watches(fx.engine) == 0 && fake_n_open_contents(fx.engine) == 0);
    fake_destroy(fx.engine);
    fx = (fixture){0};
}

static inline void sleep_ms(unsigned ms) {
    nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

/* Polls until cond. */
#define WAIT_FOR(cond)                                                                                                 \
    do {                                                                                                               \
        uint64_t end_ns_ = zk_now_ns() + ZK_TEST_HANG_S * ZK_SECOND_NS;                                                \
        while (!(cond)) {                                                                                              \
            zk_client_poll(fx.client, 10);                                                                             \
            ZK_CHECKF(zk_now_ns() < end_ns_, "%s does not come", #cond);                                               \
        }                                                                                                              \
    } while (0)

static inline cuzk_status call(const char *method, const void *request, size_t n, uint8_t **response,
                               size_t *n_response, cuzk_err *err) {
    return zk_client_call_sync(response, n_response, fx.client,
                               &(zk_client_query){method, request, n, ZK_TEST_HANG_S * 1000}, NULL, NULL, err);
}

/* Packs, calls, unpacks; the call must succeed. */
static inline void *ask(const char *method, const ProtobufCMessage *request, const ProtobufCMessageDescriptor *answer) {
    uint8_t *buffer = malloc(protobuf_c_message_get_packed_size(request) + 1), *response = NULL;
    size_t n = protobuf_c_message_pack(request, buffer), n_response = 0;
    cuzk_err err = {0};
    ZK_CHECK_OK(call(method, buffer, n, &response, &n_response, &err), err);
    void *m = protobuf_c_message_unpack(answer, NULL, n_response, response);
    ZK_CHECK(m);
    free(buffer);
    free(response);
    return m;
}

static inline zk_request sample(const char *id) {
    static uint8_t big[300000], small[32] = {1, 2, 3};
    static zk_blob proofs[3] = {{big, 1000}, {big, 0}, {big + 5, 70000}};
    for (size_t i = 0; i < sizeof big; i++) big[i] = (uint8_t)(i * 7 + i / 251);
    return (zk_request){
        .request_id = (char *)(uintptr_t)id,
        .kind = ZK_KIND_UPDATE,
        .priority = ZK_PRIORITY_HIGH,
        .sector_bytes = 2048,
        .registered_proof = 5,
        .sector_number = UINT64_MAX,
        .miner_id = 1193,
        .partition_index = UINT32_MAX,
        .vanilla_proof = {big, sizeof big},
        .vanilla_proofs = proofs,
        .n_vanilla_proofs = 3,
        .randomness = {small, 32},
        .comm_r_old = {small, 31},
        .comm_r_new = {small, 30},
        .comm_d_new = {small, 29},
    };
}

static inline char *submit(const zk_request *r, char job_id[ZK_JOB_ID_BYTES]) {
    uint8_t *message = NULL, *response = NULL;
    size_t n = 0, n_response = 0;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_client_encode_submit(&message, &n, r, false, &err), err);
    ZK_CHECK_OK(call("SubmitProof", message, n, &response, &n_response, &err), err);
    Cuzk__V1__SubmitProofResponse *s = cuzk__v1__submit_proof_response__unpack(NULL, n_response, response);
    snprintf(job_id, ZK_JOB_ID_BYTES, "%s", s->job_id);
    cuzk__v1__submit_proof_response__free_unpacked(s, NULL);
    free(message);
    free(response);
    return job_id;
}

/* ---- waiting ---- */

typedef struct waiter {
    bool done;
    cuzk_status status;
    Cuzk__V1__AwaitProofResponse__Status outcome;
    size_t n_proof;
    char message[512];
    uint64_t total_ms;
} waiter;
static unsigned n_done;

static inline void on_await(void *ctx, cuzk_status status, const uint8_t *response, size_t n, const cuzk_err *err) {
    waiter *w = ctx;
    w->done = true;
    n_done++;
    w->status = status;
    snprintf(w->message, sizeof w->message, "%s", err->message);
    if (status != CUZK_OK) return;
    Cuzk__V1__AwaitProofResponse *m = cuzk__v1__await_proof_response__unpack(NULL, n, response);
    if (!m) return;
    w->outcome = m->status;
    w->n_proof = m->proof.len;
    w->total_ms = m->total_ms;
    snprintf(w->message, sizeof w->message, "%s", m->error_message);
    cuzk__v1__await_proof_response__free_unpacked(m, NULL);
}

static inline zk_client_call *await(waiter *w, const char *job_id, uint64_t timeout_ms, uint64_t deadline_ms) {
    Cuzk__V1__AwaitProofRequest m = CUZK__V1__AWAIT_PROOF_REQUEST__INIT;
    uint8_t buffer[400];
    cuzk_err err = {0};
    zk_client_call *c = NULL;
    m.job_id = (char *)(uintptr_t)job_id;
    m.timeout_ms = timeout_ms;
    *w = (waiter){0};
    size_t n = cuzk__v1__await_proof_request__pack(&m, buffer);
    ZK_CHECK_OK(
        zk_client_start(&c, fx.client, &(zk_client_query){"AwaitProof", buffer, n, deadline_ms}, on_await, w, &err),
        err);
    return c;
}

#endif
