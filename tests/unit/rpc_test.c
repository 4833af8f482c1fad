/* The gRPC service and the HTTP pages over a fake engine, with our own client and with raw bytes. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/json_dom.h"
#include "base/span.h"
#include "rpc/names.h"
#include "rpc/http.h"
#include "rpc/pb.h"
#include "rpc_common.h"

static cuzk_status refused(const char *method, const void *request, size_t n, const char *message) {
    uint8_t *response = NULL;
    size_t n_response = 0;
    cuzk_err err = {0};
    cuzk_status status = call(method, request, n, &response, &n_response, &err);
    free(response);
    ZK_CHECKF(status != CUZK_OK && strstr(err.message, message), "%s: %s", method, err.message);
    return status;
}

static void test_submit(void) {
    start();
    zk_request r = sample("snap-1193-117");
    char id[ZK_JOB_ID_BYTES], again[ZK_JOB_ID_BYTES];
    submit(&r, id);
    ZK_CHECK(fake_n_jobs(fx.engine) == 1);
    const fake_job *j = fake_job_at(fx.engine, 0);
    ZK_CHECK(strcmp(j->job_id, id) == 0 && strcmp(j->request_id, "snap-1193-117") == 0);
    ZK_CHECK(j->request.kind == ZK_KIND_UPDATE && j->request.priority == ZK_PRIORITY_HIGH);
    ZK_CHECK(j->request.sector_bytes == 2048 && j->request.registered_proof == 5 && j->request.miner_id == 1193);
    ZK_CHECK(j->request.sector_number == UINT64_MAX && j->request.partition_index == UINT32_MAX);
    struct {
        zk_content_field field;
        const zk_blob *blob;
    } want[] = {{ZK_CONTENT_VANILLA_PROOF, &r.vanilla_proof},
                {ZK_CONTENT_VANILLA_PROOFS, &r.vanilla_proofs[0]},
                {ZK_CONTENT_VANILLA_PROOFS, &r.vanilla_proofs[1]},
                {ZK_CONTENT_VANILLA_PROOFS, &r.vanilla_proofs[2]},
                {ZK_CONTENT_RANDOMNESS, &r.randomness},
                {ZK_CONTENT_COMM_R_OLD, &r.comm_r_old},
                {ZK_CONTENT_COMM_R_NEW, &r.comm_r_new},
                {ZK_CONTENT_COMM_D_NEW, &r.comm_d_new}};
    ZK_CHECK(j->n_fields == 8);
    for (size_t i = 0; i < 8; i++)
        ZK_CHECKF(j->fields[i].field == want[i].field && j->fields[i].n == want[i].blob->n &&
                      j->fields[i].hash == fake_hash(FAKE_HASH, want[i].blob->data, want[i].blob->n),
                  "field %zu", i);
    ZK_CHECK(strcmp(submit(&r, again), id) == 0 && fake_n_jobs(fx.engine) == 1);
    stop();
}

/* SubmitProofRequest built by hand. */
static zk_pb_writer message_of(uint32_t kind) {
    zk_pb_writer w = {0};
    zk_pb_put_varint(&w, 2, kind);
    return w;
}

static void test_submit_malformed(void) {
    start();
    static const struct {
        const char *bytes;
        size_t n;
        const char *message;
    } cases[] = {
        {"", 0, "INVALID_ARGUMENT: proof_kind"},
        {"\x10\x09", 2, "proof_kind: found 9, expected 1 to 4"},
        {"\x10\x01\x28\x07", 4, "priority: found 7"},
        {"\x10", 1, "byte 1: the message ends inside a field"},
        {"\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11, "a varint of more than 64 bits"},
        {"\x52\x05"
         "abc",
         5, "a field is longer than the message"},
        {"\x52\xff\xff\xff\xff\x0f", 6, "a field is longer than the message"},
        {"\x52\x01"
         "a"
         "\x52\x01"
         "b",
         6, "vanilla_proof: found a second value"},
        {"\x52\x01"
         "a"
         "\x52\0",
         5, "vanilla_proof: found a second value"},
        {"\x0a\x02\xc3\x28", 4, "request_id: the text is not UTF-8"},
        {"\x0a\x02"
         "a\0",
         4, "request_id: a zero byte"},
        {"\x00\x01", 2, "a field number out of range"},
        {"\x0b\x0c", 2, "a field of unknown wire type"},
        {"\x0f", 1, "a field of unknown wire type"},
        {"\x79\x01", 2, "the message ends inside a field"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ZK_CHECKF(refused("SubmitProof", cases[i].bytes, cases[i].n, cases[i].message) == CUZK_BAD_INPUT, "case %zu",
                  i);
    zk_pb_writer w = message_of(1);
    char id[600];
    memset(id, 'x', sizeof id);
    zk_pb_put_bytes(&w, 1, id, 513);
    ZK_CHECK(refused("SubmitProof", w.data, w.n, "request_id: found 513 bytes, expected at most 512") ==
             CUZK_BAD_INPUT);
    free(w.data);
    /* Prove: the same inside field 1; without it nothing is asked. */
    ZK_CHECK(refused("Prove", "", 0, "proof_kind") == CUZK_BAD_INPUT);
    ZK_CHECK(refused("Prove", "\x0a\x05\x10", 3, "a field is longer than the message") == CUZK_BAD_INPUT);
    ZK_CHECK(refused("Prove",
                     "\x0a\x02\x52\x05"
                     "abcde",
                     9, "a field is longer than the message") == CUZK_BAD_INPUT);
    /* Fields that nobody knows are skipped, of every type; empty singular fields may come often. */
    w = message_of(4);
    zk_pb_put_bytes(&w, 10, "", 0);
    zk_pb_put_bytes(&w, 10, "", 0);
    zk_pb_put_bytes(&w, 10, "proof", 5);
    zk_pb_put_varint(&w, 99, 5);
    zk_pb_put_text(&w, 100, "unknown");
    static const uint8_t fixed[] = {0xa9, 0x06, 1, 2, 3, 4, 5, 6, 7, 8, 0xad, 0x06, 1, 2, 3, 4};
    uint8_t *message = malloc(w.n + sizeof fixed), *response = NULL;
    size_t n_response = 0;
    cuzk_err err = {0};
    memcpy(message, w.data, w.n);
    memcpy(message + w.n, fixed, sizeof fixed);
    ZK_CHECK_OK(call("SubmitProof", message, w.n + sizeof fixed, &response, &n_response, &err), err);
    const fake_job *j = fake_job_at(fx.engine, 0);
    ZK_CHECK(fake_n_jobs(fx.engine) == 1 && j->n_fields == 1 && j->fields[0].n == 5 &&
             j->request.kind == ZK_KIND_WINNING);
    free(response);
    free(message);
    free(w.data);
    /* Other messages that are no messages. */
    static const char *const methods[] = {"AwaitProof", "CancelProof", "GetStatus",
                                          "GetMetrics", "PreloadSRS",  "EvictSRS"};
    for (size_t i = 0; i < 6; i++)
        ZK_CHECK(refused(methods[i], "\x0a\x7f", 2, "INVALID_ARGUMENT: the message is no ") == CUZK_BAD_INPUT);
    ZK_CHECK(refused("Nothing", "", 0, "UNIMPLEMENTED: unknown method /cuzk.v1.ProvingEngine/Nothing") ==
             CUZK_UNSUPPORTED);
    stop();
}

static void test_limits_and_failures(void) {
    start();
    size_t n = (4 << 20) + 1;
    zk_pb_writer w = message_of(1);
    uint8_t *blob = calloc(1, n);
    zk_pb_put_bytes(&w, 10, blob, n - w.n - 5);
    ZK_CHECK(w.n == n);
    ZK_CHECK(refused("SubmitProof", w.data, n, "RESOURCE_EXHAUSTED") == CUZK_EXHAUSTED);
    ZK_CHECK(refused("SubmitProof", w.data, n, "4194304") == CUZK_EXHAUSTED); /* the limit is named */
    ZK_CHECK(fake_n_jobs(fx.engine) == 0);
    free(w.data);
    w = message_of(1);
    zk_pb_put_bytes(&w, 10, blob, (4 << 20) - w.n - 5); /* exactly the limit */
    uint8_t *response = NULL;
    size_t n_response = 0;
    cuzk_err err = {0};
    ZK_CHECK(w.n == 4 << 20);
    ZK_CHECK_OK(call("SubmitProof", w.data, w.n, &response, &n_response, &err), err);
    free(response);
    static const struct {
        cuzk_status engine;
        const char *code;
        cuzk_status client;
    } cases[] = {{CUZK_BAD_INPUT, "INVALID_ARGUMENT", CUZK_BAD_INPUT},
                 {CUZK_UNSUPPORTED, "INVALID_ARGUMENT", CUZK_BAD_INPUT},
                 {CUZK_NOT_FOUND, "NOT_FOUND", CUZK_NOT_FOUND},
                 {CUZK_EXHAUSTED, "RESOURCE_EXHAUSTED", CUZK_EXHAUSTED},
                 {CUZK_OUT_OF_MEMORY, "RESOURCE_EXHAUSTED", CUZK_EXHAUSTED},
                 {CUZK_IO, "UNAVAILABLE", CUZK_IO},
                 {CUZK_DEVICE, "UNAVAILABLE", CUZK_IO},
                 {CUZK_INTERNAL, "INTERNAL", CUZK_INTERNAL},
                 {CUZK_CHECK_FAILED, "FAILED_PRECONDITION", CUZK_CHECK_FAILED},
                 {CUZK_CANCELLED, "CANCELLED", CUZK_CANCELLED}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s: because %zu", cases[i].code, i);
        fake_fail_submit(fx.engine, cases[i].engine, strstr(text, "because"));
        ZK_CHECKF(refused("SubmitProof", "\x10\x01", 2, text) == cases[i].client, "case %zu", i);
    }
    free(w.data);
    free(blob);
    stop();
}

/* ---- waiting ---- */

static void test_await(void) {
    start();
    zk_request r = sample("a");
    char id[ZK_JOB_ID_BYTES];
    waiter w[6];
    submit(&r, id);
    await(&w[0], id, 0, 0);
    await(&w[1], id, 40, 0);         /* TIMEOUT */
    await(&w[2], id, UINT64_MAX, 0); /* beyond any clock: for ever */
    await(&w[3], "job-77", 0, 0);    /* UNKNOWN */
    await(&w[4], "an id that is much longer than any id that the engine could have given", 0, 0);
    await(&w[5], id, 0, 60); /* the client's deadline */
    WAIT_FOR(w[1].done && w[3].done && w[4].done && w[5].done);
    ZK_CHECK(w[1].status == CUZK_OK && w[1].outcome == CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__TIMEOUT);
    ZK_CHECK(w[3].outcome == CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__UNKNOWN && strstr(w[3].message, "no such job"));
    ZK_CHECK(w[4].outcome == CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__UNKNOWN && w[4].status == CUZK_OK);
    ZK_CHECK(w[5].status == CUZK_EXHAUSTED && strstr(w[5].message, "DEADLINE_EXCEEDED"));
    ZK_CHECK(!w[0].done && !w[2].done);
    WAIT_FOR(fake_n_watches(fx.engine) == 2);
    fake_finish(fx.engine, id, ZK_OUTCOME_COMPLETED, "");
    WAIT_FOR(w[0].done && w[2].done);
    ZK_CHECK(w[0].outcome == CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__COMPLETED && w[0].n_proof == 192 &&
             w[0].total_ms == 10);
    await(&w[0], id, 0, 0); /* over already */
    WAIT_FOR(w[0].done);
    ZK_CHECK(w[0].n_proof == 192);
    r = sample("b");
    submit(&r, id);
    await(&w[0], id, 0, 0);
    WAIT_FOR(fake_n_watches(fx.engine) == 1);
    fake_finish(fx.engine, id, ZK_OUTCOME_FAILED, "challenge 3: path 1");
    WAIT_FOR(w[0].done);
    ZK_CHECK(w[0].outcome == CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__FAILED &&
             strcmp(w[0].message, "challenge 3: path 1") == 0);
    stop();
}

/* ---- Prove ---- */

static bool is_running(size_t i) { return fake_outcome(fx.engine, i) == ZK_OUTCOME_UNKNOWN; }

static zk_client_call *prove(waiter *w, const char *request_id) {
    zk_request r = sample(request_id);
    uint8_t *message = NULL;
    size_t n = 0;
    cuzk_err err = {0};
    zk_client_call *c = NULL;
    *w = (waiter){0};
    ZK_CHECK_OK(zk_client_encode_submit(&message, &n, &r, true, &err), err);
    ZK_CHECK_OK(zk_client_start(&c, fx.client, &(zk_client_query){"Prove", message, n}, on_await, w, &err), err);
    free(message);
    return c;
}

static void test_prove(void) {
    start();
    waiter w[3];
    char id[ZK_JOB_ID_BYTES];
    prove(&w[0], "p");
    WAIT_FOR(fake_n_watches(fx.engine) == 1);
    fake_finish(fx.engine, fake_job_at(fx.engine, 0)->job_id, ZK_OUTCOME_COMPLETED, "");
    WAIT_FOR(w[0].done);
    ZK_CHECK(w[0].status == CUZK_OK);
    /* The client goes: its job goes too. */
    zk_client_call *c = prove(&w[0], "alone");
    WAIT_FOR(fake_n_watches(fx.engine) == 1);
    size_t at = fake_index_of(fx.engine, "alone");
    zk_client_cancel(c);
    WAIT_FOR(w[0].done && fake_outcome(fx.engine, at) == ZK_OUTCOME_CANCELLED);
    ZK_CHECK(w[0].status == CUZK_CANCELLED);
    /* Shared with a second Prove of the same request: it stays until the last has gone. */
    c = prove(&w[0], "shared");
    WAIT_FOR(fake_n_watches(fx.engine) == 1);
    prove(&w[1], "shared");
    WAIT_FOR(fake_n_watches(fx.engine) == 2);
    at = fake_index_of(fx.engine, "shared");
    zk_client_cancel(c);
    WAIT_FOR(w[0].done && fake_n_watches(fx.engine) == 1);
    sleep_ms(30);
    ZK_CHECK(is_running(at) && !w[1].done);
    fake_finish(fx.engine, fake_job_at(fx.engine, at)->job_id, ZK_OUTCOME_COMPLETED, "");
    WAIT_FOR(w[1].done);
    /* Shared with a SubmitProof: somebody may come for it later. */
    c = prove(&w[0], "submitted");
    WAIT_FOR(fake_n_watches(fx.engine) == 1);
    zk_request r = sample("submitted");
    submit(&r, id);
    zk_client_cancel(c);
    WAIT_FOR(w[0].done && fake_n_watches(fx.engine) == 0);
    sleep_ms(30);
    ZK_CHECK(is_running(fake_index_of(fx.engine, "submitted")));
    /* It goes before it is heard of: its job is gone, or never comes. */
    zk_client_cancel(prove(&w[0], "at once"));
    WAIT_FOR(w[0].done);
    sleep_ms(30);
    WAIT_FOR((at = fake_index_of(fx.engine, "at once")) == SIZE_MAX ||
             fake_outcome(fx.engine, at) == ZK_OUTCOME_CANCELLED);
    stop();
}

static void test_cancel(void) {
    start();
    zk_request r = sample("c");
    char id[ZK_JOB_ID_BYTES];
    waiter w;
    submit(&r, id);
    await(&w, id, 0, 0);
    WAIT_FOR(fake_n_watches(fx.engine) == 1);
    Cuzk__V1__CancelProofRequest q = CUZK__V1__CANCEL_PROOF_REQUEST__INIT;
    const char *const ids[] = {id, id, "job-99", "a text that is far too long to be the id of a job of this engine",
                               ""};
    for (unsigned i = 0; i < 5; i++) {
        q.job_id = (char *)(uintptr_t)ids[i];
        Cuzk__V1__CancelProofResponse *m = ask("CancelProof", &q.base, &cuzk__v1__cancel_proof_response__descriptor);
        ZK_CHECK(m->was_running == (i == 0));
        protobuf_c_message_free_unpacked(&m->base, NULL);
    }
    WAIT_FOR(w.done);
    ZK_CHECK(w.outcome == CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__CANCELLED);
    stop();
}

static void test_status_and_keys(void) {
    start();
    Cuzk__V1__GetStatusRequest q = CUZK__V1__GET_STATUS_REQUEST__INIT;
    Cuzk__V1__GetStatusResponse *s = ask("GetStatus", &q.base, &cuzk__v1__get_status_response__descriptor);
    ZK_CHECK(s->n_gpus == 1 && strcmp(s->gpus[0]->name, "cpu (worker 0): a \"CPU\"") == 0 &&
             strcmp(s->gpus[0]->current_job_id, "run-1") == 0);
    ZK_CHECK(strcmp(s->gpus[0]->current_proof_kind, "porep-c2") == 0 && s->gpus[0]->vram_total_bytes == 1000);
    ZK_CHECK(s->n_loaded_srs == 2 && s->loaded_srs[1]->tier == CUZK__V1__SRSSTATUS__TIER__COLD);
    ZK_CHECK(s->n_queues == 4 && strcmp(s->queues[1]->proof_kind, "snap-update") == 0 && s->uptime_seconds == 61);
    ZK_CHECK(s->pinned_memory_limit_bytes == 1 << 20);
    protobuf_c_message_free_unpacked(&s->base, NULL);
    Cuzk__V1__PreloadSrsRequest p = CUZK__V1__PRELOAD_SRS_REQUEST__INIT;
    p.circuit_id = "porep-2k";
    for (unsigned again = 0; again < 2; again++) {
        Cuzk__V1__PreloadSrsResponse *m = ask("PreloadSRS", &p.base, &cuzk__v1__preload_srs_response__descriptor);
        ZK_CHECK(m->already_loaded == (again == 1) && m->load_time_ms == (again ? 0 : 7));
        protobuf_c_message_free_unpacked(&m->base, NULL);
    }
    ZK_CHECK(refused("PreloadSRS", "\x0a\x01x", 3, "NOT_FOUND: x: no file v28-x.params in /params") == CUZK_NOT_FOUND);
    Cuzk__V1__EvictSrsRequest e = CUZK__V1__EVICT_SRS_REQUEST__INIT;
    e.circuit_id = "porep-2k";
    Cuzk__V1__EvictSrsResponse *m = ask("EvictSRS", &e.base, &cuzk__v1__evict_srs_response__descriptor);
    ZK_CHECK(m->was_loaded && m->freed_bytes == 4096);
    protobuf_c_message_free_unpacked(&m->base, NULL);
    Cuzk__V1__GetMetricsRequest g = CUZK__V1__GET_METRICS_REQUEST__INIT;
    Cuzk__V1__GetMetricsResponse *t = ask("GetMetrics", &g.base, &cuzk__v1__get_metrics_response__descriptor);
    static const char *const lines[] = {
        "\ncuzk_uptime_seconds 61\n",
        "\ncuzk_queue_depth 0\n",
        "\ncuzk_running_jobs 0\n",
        "\ncuzk_gpu_workers 1\n",
        "\ncuzk_proofs_completed_total 0\n",
        "\ncuzk_proofs_failed_total 0\n",
        "\ncuzk_proofs_completed{proof_kind=\"porep_c2\"} 0\n",
        "\ncuzk_proofs_failed{proof_kind=\"winning_post\"} 0\n",
        "\ncuzk_proof_duration_seconds_sum{proof_kind=\"window_post\"} 0.000000\n",
        "\ncuzk_proof_duration_seconds_count{proof_kind=\"snap_update\"} 0\n",
        "\ncuzk_stage_duration_seconds_bucket{stage=\"msm\",le=\"1000\"} 1\n",
        "\ncuzk_stage_duration_seconds_bucket{stage=\"msm\",le=\"+Inf\"} 3\n",
        "\ncuzk_memory_buffer_bytes{buffer=\"msm buckets\"} 10\n",
        "\ncuzk_rpc_calls_total{method=\"PreloadSRS\",code=\"NOT_FOUND\"} 1\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        ZK_CHECKF(strstr(t->prometheus_text, lines[i]), "%s", lines[i]);
    protobuf_c_message_free_unpacked(&t->base, NULL);
    stop();
}

/* What a client makes of an entry, ours and one of a daemon that knows nothing of this. */
static void test_device_names(void) {
    static const struct {
        uint32_t ordinal;
        const char *name, *id, *rest;
    } cases[] = {
        {0, "cpu (worker 0): 2 threads", "cpu (worker 0)", "2 threads"},
        {0, "cpu (worker 4294967295): 64 threads, 2 nodes", "cpu (worker 4294967295)", "64 threads, 2 nodes"},
        {0, "cpu (worker 7): ", "cpu (worker 7)", ""},
        {0, "NVIDIA H200", "cuda:0", "NVIDIA H200"},
        {4294967295u, "GPU 7", "cuda:4294967295", "GPU 7"},
        {1, "", "cuda:1", ""},
        {2, "cpu (worker", "cuda:2", "cpu (worker"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char id[ZK_RPC_DEVICE_ID_BYTES];
        const char *rest = zk_rpc_device_split(id, cases[i].ordinal, cases[i].name);
        ZK_CHECKF(strcmp(id, cases[i].id) == 0 && strcmp(rest, cases[i].rest) == 0, "%s: %s", id, rest);
    }
    zk_worker_view w = {.id = 3, .device_kind = "cpu", .device = "cpu, 2 threads"};
    char id[ZK_RPC_DEVICE_ID_BYTES], name[ZK_RPC_CPU_NAME_BYTES];
    zk_rpc_device_id(id, &w);
    zk_rpc_cpu_name(name, &w);
    ZK_CHECK(strcmp(id, "cpu") == 0 && strcmp(name, "cpu (worker 3): 2 threads") == 0);
}

/* One entry a device, with the job of whichever of its workers has one. */
static void test_devices(void) {
    start();
    fake_use_devices(fx.engine);
    Cuzk__V1__GetStatusRequest q = CUZK__V1__GET_STATUS_REQUEST__INIT;
    Cuzk__V1__GetStatusResponse *s = ask("GetStatus", &q.base, &cuzk__v1__get_status_response__descriptor);
    ZK_CHECKF(s->n_gpus == 2, "%zu devices", s->n_gpus);
    ZK_CHECK(s->gpus[0]->ordinal == 0 && strcmp(s->gpus[0]->name, "GPU") == 0);
    ZK_CHECK(strcmp(s->gpus[0]->current_job_id, "run-1") == 0);
    ZK_CHECK(s->gpus[1]->ordinal == 1 && !s->gpus[1]->current_job_id[0] && !s->gpus[1]->current_proof_kind[0]);
    ZK_CHECK(s->gpus[1]->vram_total_bytes == 8000 && s->gpus[1]->vram_free_bytes == 4000);
    protobuf_c_message_free_unpacked(&s->base, NULL);
    Cuzk__V1__GetMetricsRequest g = CUZK__V1__GET_METRICS_REQUEST__INIT;
    Cuzk__V1__GetMetricsResponse *t = ask("GetMetrics", &g.base, &cuzk__v1__get_metrics_response__descriptor);
    ZK_CHECK(strstr(t->prometheus_text, "\ncuzk_gpu_workers 3\n"));
    ZK_CHECK(strstr(t->prometheus_text, "\ncuzk_gpu_lanes 4\n"));
    ZK_CHECK(strstr(t->prometheus_text, "\ncuzk_gpu_memory_bytes{gpu=\"0\",worker=\"0\",state=\"reserved\"} 3000\n"));
    ZK_CHECK(!strstr(t->prometheus_text, "\ncuzk_gpu_memory_bytes{gpu=\"0\",worker=\"1\"")); /* the same memory */
    ZK_CHECK(strstr(t->prometheus_text, "\ncuzk_gpu_memory_bytes{gpu=\"1\",worker=\"2\",state=\"reserved\"} 3000\n"));
    protobuf_c_message_free_unpacked(&t->base, NULL);
    stop();
}

/* ---- health, reflection, the end ---- */

static uint64_t health(const char *service, cuzk_status want) {
    zk_pb_writer w = {0};
    uint8_t *response = NULL;
    size_t n = 0;
    cuzk_err err = {0};
    zk_pb_put_text(&w, 1, service);
    cuzk_status status = call("/grpc.health.v1.Health/Check", w.data, w.n, &response, &n, &err);
    free(w.data);
    ZK_CHECKF(status == want, "%s", err.message);
    uint64_t value = n == 2 && response[0] == 8 ? response[1] : 99;
    free(response);
    return value;
}

static void test_health_and_end(void) {
    start();
    ZK_CHECK(health("", CUZK_OK) == 1 && health("cuzk.v1.ProvingEngine", CUZK_OK) == 1);
    health("cuzk.v1.Other", CUZK_NOT_FOUND);
    zk_request r = sample("end");
    char id[ZK_JOB_ID_BYTES];
    waiter w[2];
    submit(&r, id);
    await(&w[0], id, 0, 0);
    prove(&w[1], "end 2");
    WAIT_FOR(fake_n_watches(fx.engine) == 2);
    zk_rpc_server_drain(fx.server);
    ZK_CHECK(health("", CUZK_OK) == 2);
    ZK_CHECK(refused("SubmitProof", "\x10\x01", 2, "UNAVAILABLE: the daemon is about to end") == CUZK_IO);
    ZK_CHECK(!w[0].done);
    zk_rpc_server_destroy(fx.server);
    fx.server = NULL;
    WAIT_FOR(w[0].done && w[1].done);
    ZK_CHECK(w[0].status == CUZK_IO && strstr(w[0].message, "goes on at its next start"));
    ZK_CHECK(is_running(0) && is_running(1)); /* the jobs are the engine's and stay */
    ZK_CHECK(refused("GetStatus", "", 0, "UNAVAILABLE") == CUZK_IO);
    stop();
}

static const char *reflect(const char *version, uint32_t field, const char *text, uint32_t answer) {
    static char found[20000];
    char method[100];
    zk_pb_writer w = {0};
    uint8_t *response = NULL;
    size_t n = 0;
    cuzk_err err = {0};
    zk_pb_put_text(&w, field, text);
    snprintf(method, sizeof method, "/grpc.reflection.%s.ServerReflection/ServerReflectionInfo", version);
    ZK_CHECK_OK(call(method, w.data, w.n, &response, &n, &err), err);
    free(w.data);
    zk_pb_reader reader = {response, response + n, false};
    zk_pb_field f;
    found[0] = 0;
    while (zk_pb_next(&reader, &f))
        if (zk_pb_is(&f, answer, ZK_PB_BYTES))
            for (size_t i = 0; i < f.n && i < sizeof found - 1; i++) { /* made printable */
                found[i] = f.data[i] ? (char)f.data[i] : '.';
                found[i + 1] = 0;
            }
    ZK_CHECK(!reader.bad);
    free(response);
    return found;
}

static void test_reflection(void) {
    static const char *const versions[] = {"v1", "v1alpha"};
    start();
    for (unsigned v = 0; v < 2; v++) {
        const char *services = reflect(versions[v], 7, "", 6);
        ZK_CHECK(strstr(services, "cuzk.v1.ProvingEngine") && strstr(services, "grpc.health.v1.Health"));
        ZK_CHECK(strstr(services, "grpc.reflection.v1alpha.ServerReflection"));
        ZK_CHECK(strstr(reflect(versions[v], 3, "cuzk.proto", 4), "SubmitProofRequest"));
        ZK_CHECK(strstr(reflect(versions[v], 3, "grpc/health/v1/health.proto", 4), "HealthCheckRequest"));
        static const char *const known[] = {"cuzk.v1.ProvingEngine",
                                            "cuzk.v1.ProvingEngine.Prove",
                                            "cuzk.v1.GPUStatus",
                                            "cuzk.v1.SRSStatus.Tier",
                                            "cuzk.v1.AwaitProofResponse.Status.TIMEOUT",
                                            "cuzk.v1.SubmitProofRequest.comm_r_old",
                                            "cuzk.v1.ProofKind"},
                                 *const unknown[] = {"cuzk.v1",
                                                     "cuzk.v1.",
                                                     "cuzk.v1.Proving",
                                                     "cuzk.v1.ProvingEngine.Pro",
                                                     "cuzk.v1.ProvingEngineX",
                                                     "",
                                                     "x",
                                                     "cuzk.v1.GPUStatus.name.x"};
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            ZK_CHECKF(strstr(reflect(versions[v], 4, known[i], 4), "cuzk.proto"), "%s", known[i]);
        for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
            ZK_CHECKF(strstr(reflect(versions[v], 4, unknown[i], 7), "no symbol"), "%s", unknown[i]);
        ZK_CHECK(strstr(reflect(versions[v], 6, "x", 7), "no extensions"));
        ZK_CHECK(strstr(reflect(versions[v], 1, "host", 7), "nothing is asked"));
        refused(v ? "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
                  : "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                "\x3a\x09", 2, "is no ServerReflectionRequest");
    }
    stop();
}

static void test_unix_socket(void) {
    char path[100], listen_on[120], *listen[] = {listen_on};
    cuzk_err err = {0};
    struct stat st;
    snprintf(path, sizeof path, "/tmp/cuzk-test-%d/rpc.sock", (int)getpid());
    snprintf(listen_on, sizeof listen_on, "unix://%s", path);
    start_with(&(zk_rpc_options){.listen = listen, .n_listen = 1, .socket_mode = 0600});
    ZK_CHECK(stat(path, &st) == 0 && S_ISSOCK(st.st_mode) && (st.st_mode & 0777) == 0600);
    zk_client_destroy(fx.client);
    ZK_CHECK_OK(zk_client_create(&fx.client, listen_on, NULL, &err), err);
    ZK_CHECK(health("", CUZK_OK) == 1);
    zk_rpc_server *second = NULL; /* does not take the name away */
    ZK_CHECK(zk_rpc_server_create(&second, fx.engine, &(zk_rpc_options){.listen = listen, .n_listen = 1}, &err) ==
                 CUZK_BAD_INPUT &&
             !second && strstr(err.message, "another process serves there"));
    ZK_CHECK(health("", CUZK_OK) == 1);
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    memcpy(a.sun_path, path, strlen(path));
    int mute = socket(AF_UNIX, SOCK_STREAM, 0); /* a client that never answers does not hold up the end */
    ZK_CHECK(mute >= 0 && connect(mute, (struct sockaddr *)&a, sizeof a) == 0);
    ZK_CHECK(send(mute, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33, 0) == 33);
    char hello[9];
    ZK_CHECK(recv(mute, hello, sizeof hello, MSG_WAITALL) == sizeof hello);
    uint64_t begin_ns = zk_now_ns();
    stop();
    ZK_CHECK(zk_now_ns() - begin_ns < 15 * UINT64_C(1000000000)); /* gRPC's own patience is 20 s */
    close(mute);
    ZK_CHECK(stat(path, &st) != 0);
    /* of a process that died; of another kind, alive */
    for (int alive = 0; alive < 2; alive++) {
        int fd = socket(AF_UNIX, alive ? SOCK_DGRAM : SOCK_STREAM, 0);
        ZK_CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0);
        if (!alive) {
            close(fd);
            start_with(&(zk_rpc_options){.listen = listen, .n_listen = 1});
            zk_client_destroy(fx.client);
            ZK_CHECK_OK(zk_client_create(&fx.client, listen_on, NULL, &err), err);
            ZK_CHECK(health("", CUZK_OK) == 1);
            stop();
            continue;
        }
        zk_engine *engine = fake_create();
        ZK_CHECK(zk_rpc_server_create(&second, engine, &(zk_rpc_options){.listen = listen, .n_listen = 1}, &err) ==
                     CUZK_BAD_INPUT &&
                 !second);
        fake_destroy(engine);
        ZK_CHECK(stat(path, &st) == 0);
        close(fd);
        unlink(path);
    }
    *strrchr(path, '/') = 0;
    rmdir(path);
}

static void test_bad_options(void) {
    static const char *const bad[] = {"nowhere", "192.0.2.1:1", "unix://relative"};
    zk_engine *engine = fake_create();
    for (size_t i = 0; i < 3; i++) {
        cuzk_err err = {0};
        zk_rpc_server *server = NULL;
        char *listen[] = {(char *)(uintptr_t)bad[i]};
        ZK_CHECKF(zk_rpc_server_create(&server, engine, &(zk_rpc_options){.listen = listen, .n_listen = 1}, &err) ==
                          CUZK_BAD_INPUT &&
                      !server,
                  "case %zu", i);
        ZK_CHECK(strstr(err.message, bad[i]));
    }
    cuzk_err err = {0};
    zk_rpc_server *server = NULL, *second = NULL;
    char *listen[] = {"127.0.0.1:0"}, taken[40], *listen_taken[] = {taken};
    ZK_CHECK_OK(zk_rpc_server_create(&server, engine, &(zk_rpc_options){.listen = listen, .n_listen = 1}, &err), err);
    snprintf(taken, sizeof taken, "127.0.0.1:%d", zk_rpc_server_port(server, 0));
    ZK_CHECK(zk_rpc_server_create(&second, engine, &(zk_rpc_options){.listen = listen_taken, .n_listen = 1}, &err) ==
             CUZK_BAD_INPUT);
    zk_rpc_server_destroy(server);
    fake_destroy(engine);
}

/* ---- HTTP ---- */

static char *get(int port, const char *request) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    static char text[100000];
    size_t n = 0;
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ZK_CHECK(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    ZK_CHECK(write(fd, request, strlen(request)) == (ssize_t)strlen(request));
    for (ssize_t k; n < sizeof text - 1 && (k = read(fd, text + n, sizeof text - 1 - n)) > 0;) n += (size_t)k;
    close(fd);
    text[n] = 0;
    return text;
}

/* The JSON of a /status has these workers, in order; what the public shape calls gpu_ordinal is a number in all. */
static void check_device_ids(const char *answer, const char *const *ids, size_t n) {
    zk_json_doc *doc = NULL;
    cuzk_err err = {0};
    const char *body = strstr(answer, "\r\n\r\n") + 4;
    ZK_CHECK_OK(zk_json_parse(&doc, body, strlen(body), 0, &err), err);
    const zk_json_value *workers = zk_json_member_of(zk_json_root(doc), "gpu_workers");
    ZK_CHECK(zk_json_count(workers) == n);
    for (size_t i = 0; i < n; i++) {
        const zk_json_value *w = zk_json_element_of(workers, i);
        ZK_CHECKF(strcmp(zk_json_member_of(w, "device_id")->text, ids[i]) == 0, "worker %zu", i);
        ZK_CHECK(zk_json_member_of(w, "gpu_ordinal")->u64 == (i == 2) && zk_json_member_of(w, "worker_id")->u64 == i);
    }
    zk_json_doc_destroy(doc);
}

static void test_http(void) {
    start();
    cuzk_err err = {0};
    zk_http *http = NULL;
    ZK_CHECK_OK(zk_http_create(&http, "127.0.0.1:0", fx.engine, fx.server, &err), err);
    int port = zk_http_port(http);
#define GET(path) get(port, "GET " path " HTTP/1.0\r\n\r\n")
    char *text = GET("/status");
    ZK_CHECK(strstr(text, "200 OK") && strstr(text, "application/json"));
    zk_json_doc *doc = NULL;
    char *body = strstr(text, "\r\n\r\n") + 4;
    ZK_CHECK_OK(zk_json_parse(&doc, body, strlen(body), 0, &err), err);
    const zk_json_value *root = zk_json_root(doc), *p = zk_json_element_of(zk_json_member_of(root, "pipelines"), 0);
    static const char *const members[] = {"uptime_secs", "memory",      "synthesis", "pipelines",
                                          "gpu_workers", "allocations", "counters",  "buffers"};
    for (size_t i = 0; i < 8; i++) ZK_CHECKF(zk_json_member_of(root, members[i]), "%s", members[i]);
    ZK_CHECK(strcmp(zk_json_member_of(p, "proof_kind")->text, "porep-c2") == 0);
    ZK_CHECK(zk_json_member_of(p, "total_partitions")->u64 == 3 && zk_json_member_of(p, "partitions_done")->u64 == 1);
    const zk_json_value *q = zk_json_element_of(zk_json_member_of(p, "partitions"), 1);
    ZK_CHECK(strcmp(zk_json_member_of(q, "state")->text, "synth_done") == 0 &&
             zk_json_member_of(q, "synth_ms")->u64 == 100);
    const zk_json_value *worker = zk_json_element_of(zk_json_member_of(root, "gpu_workers"), 0);
    ZK_CHECK(strcmp(zk_json_member_of(worker, "state")->text, "proving") == 0);
    ZK_CHECK(zk_json_member_of(zk_json_member_of(root, "memory"), "available_bytes")->u64 == (1 << 20) - (1 << 10));
    ZK_CHECK(zk_json_count(zk_json_member_of(zk_json_member_of(root, "allocations"), "srs")) == 1);
    zk_json_doc_destroy(doc);
    static const char *const cpu[] = {"cpu"}, *const devices[] = {"cuda:0", "cuda:0", "cuda:1", "cpu", "cpu"};
    check_device_ids(GET("/status"), cpu, 1);
    fake_use_devices(fx.engine);
    check_device_ids(GET("/status"), devices, 5);
    text = GET("/metrics");
    ZK_CHECK(strstr(text, "text/plain; version=0.0.4") && strstr(text, "\ncuzk_queue_depth 0\n"));
    text = GET("/");
    ZK_CHECK(strstr(text, "text/html") && strstr(text, "<title>cuzk</title>") && strstr(text, "default-src 'none'"));
    ZK_CHECK(!strstr(text, "http://") && !strstr(text, "https://")); /* nothing from outside */
    ZK_CHECK(strstr(GET("/trace"), "traceEvents") && strstr(GET("/trace?job=run-1"), "traceEvents"));
    ZK_CHECK(strstr(GET("/trace?job=x"), "404"));
    ZK_CHECK(strstr(GET("/health"), "200 OK") && strstr(GET("/other"), "404"));
    static const char allow_any[] = "\r\nAccess-Control-Allow-Origin: *\r\n";
    ZK_CHECK(strstr(GET("/status"), allow_any) && strstr(GET("/status?x=1"), allow_any));
    ZK_CHECK(strstr(get(port, "HEAD /status HTTP/1.0\r\nOrigin: http://elsewhere\r\n\r\n"), allow_any));
    fake_fail_status(fx.engine, CUZK_OUT_OF_MEMORY);
    text = GET("/status"); /* a page of another origin is told why, too */
    ZK_CHECK(strstr(text, " 503 ") && strstr(text, allow_any) && strstr(text, "no status for a test"));
    ZK_CHECK(strstr(GET("/metrics"), " 503 ") && !strstr(GET("/metrics"), "Access-Control"));
    fake_fail_status(fx.engine, CUZK_OK);
    static const char *const own[] = {"GET /metrics", "GET /trace",  "GET /trace?job=x",
                                      "GET /",        "GET /health", "GET /other",
                                      "POST /status", "PUT /status", "OPTIONS /status"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        char request[100];
        snprintf(request, sizeof request, "%s HTTP/1.0\r\nOrigin: http://elsewhere\r\n\r\n", own[i]);
        text = get(port, request);
        ZK_CHECKF(!strstr(text, "Access-Control"), "%s", own[i]);
        ZK_CHECKF(!strstr(text, " 405 ") == (own[i][0] == 'G') &&
                      !strstr(text, "\r\nAllow: GET, HEAD\r\n") == (own[i][0] == 'G'),
                  "%s", own[i]);
    }
    ZK_CHECK(strstr(get(port, "POST /status HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc"), "405"));
    ZK_CHECK(!strstr(get(port, "nonsense\r\n\r\n"), "200 OK"));
    zk_http *again = NULL;
    ZK_CHECK(zk_http_create(&again, "unix:///x", fx.engine, NULL, &err) == CUZK_BAD_INPUT);
    char taken[40];
    snprintf(taken, sizeof taken, "127.0.0.1:%d", port);
    ZK_CHECK(zk_http_create(&again, taken, fx.engine, NULL, &err) == CUZK_BAD_INPUT);
    zk_http_destroy(http);
    stop();
}

ZK_TEST_MAIN(ZK_CASE(test_submit), ZK_CASE(test_submit_malformed), ZK_CASE(test_limits_and_failures),
             ZK_CASE(test_await), ZK_CASE(test_prove), ZK_CASE(test_cancel), ZK_CASE(test_status_and_keys),
             ZK_CASE(test_devices), ZK_CASE(test_device_names), ZK_CASE(test_health_and_end), ZK_CASE(test_reflection),
             ZK_CASE(test_unix_socket), ZK_CASE(test_bad_options), ZK_CASE(test_http))
