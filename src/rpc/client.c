#include "rpc/client.h"

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "config/address.h"
#include <cuzk.pb-c.h>
#include "rpc/codes.h"
#include "rpc/core_log.h"
#include "rpc/handover.h"
#include "rpc/tls.h"

struct zk_client_call {
    zk_client *client;
    grpc_call *call;
    grpc_metadata_array initial, trailing;
    grpc_byte_buffer *request, *response;
    grpc_status_code code;
    grpc_slice details;
    bool cancelled;    /* by us */
    const char *debug; /* what the core says of a failure, beside the details */
    zk_client_done_fn done;
    void *ctx;
    zk_client_call *next, *before;
};

struct zk_client {
    grpc_channel *channel;
    grpc_completion_queue *cq;
    zk_client_call *calls; /* running ones */
    bool connected;        /* some time or other */
    zk_client_reach last;
    char *address; /* as it was given */
};

static grpc_arg int_arg(const char *key, int value) {
    return (grpc_arg){.type = GRPC_ARG_INTEGER, .key = (char *)(uintptr_t)key, .value.integer = value};
}

cuzk_status zk_client_create(zk_client **client, const char *address, const zk_client_options *options, cuzk_err *err) {
    zk_address a;
    grpc_channel_credentials *credentials = NULL;
    cuzk_status status = CUZK_OK;
    *client = NULL;
    zk_client *c = zk_calloc(1, sizeof *c);
    if (!c) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a client");
    zk_rpc_core_log(ZK_LOG_DEBUG); /* who calls is told what is wrong */
    grpc_init();
    c->address = zk_strdup(address);
    if (!c->address) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a client"));
    ZK_GOTO(zk_address_parse(&a, address, err));
    ZK_GOTO(zk_rpc_channel_credentials(&credentials, options, err));
    char target[sizeof a.host + sizeof a.port + 8];
    if (a.is_unix)
        snprintf(target, sizeof target, "unix:%s", a.host);
    else
        snprintf(target, sizeof target, strchr(a.host, ':') ? "[%s]:%s" : "%s:%s", a.host, a.port);
    grpc_arg args[6] = {
        int_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, -1), int_arg(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1),
        int_arg(GRPC_ARG_ENABLE_HTTP_PROXY, 0),           int_arg(GRPC_ARG_ENABLE_RETRIES, 0),
        int_arg(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1),
    };
    size_t n_args = 5;
    if (options && options->tls_name)
        args[n_args++] = (grpc_arg){.type = GRPC_ARG_STRING,
                                    .key = (char *)(uintptr_t)GRPC_SSL_TARGET_NAME_OVERRIDE_ARG,
                                    .value.string = (char *)(uintptr_t)options->tls_name};
    grpc_channel_args channel_args = {n_args, args};
    c->channel = grpc_channel_create(target, credentials, &channel_args);
    c->cq = grpc_completion_queue_create_for_next(NULL);
    *client = c;
    c = NULL;
out:
    if (credentials) grpc_channel_credentials_release(credentials);
    zk_client_destroy(c);
    return status;
}

static const char core_cancelled[] = "CANCELLED";

static bool is_ready(zk_client *c) {
    bool ready = grpc_channel_check_connectivity_state(c->channel, 0) == GRPC_CHANNEL_READY;
    c->connected |= ready;
    return ready;
}

/* A server that ends has its core cancel the calls that came too late to be answered. */
static bool is_of_end(const zk_client_call *call) {
    return call->code == GRPC_STATUS_CANCELLED && !call->cancelled &&
           grpc_slice_eq(call->details, grpc_slice_from_static_string(core_cancelled));
}

/* Whether the details of UNAVAILABLE are of the connection: the core hands them on as if the server had said so. */
static bool is_broken(grpc_slice details) {
    static const char *const texts[] = {"Socket closed", "Connection reset",     "Broken pipe", "recvmsg:",
                                        "sendmsg:",      "Cancelling all calls", core_cancelled};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t n = strlen(texts[i]);
        if (GRPC_SLICE_LENGTH(details) >= n && memcmp(GRPC_SLICE_START_PTR(details), texts[i], n) == 0) return true;
    }
    return false;
}

static zk_client_reach reach_of(const zk_client_call *call) {
    zk_client *c = call->client;
    bool ready = is_ready(c), peer = call->debug && strstr(call->debug, "from peer");
    c->connected |= peer || call->code == GRPC_STATUS_OK;
    bool ours = call->code == GRPC_STATUS_UNAVAILABLE && ((!ready && !peer) || is_broken(call->details));
    if (ours && c->connected) return ZK_CLIENT_LOST;
    return ours || (call->code == GRPC_STATUS_DEADLINE_EXCEEDED && !c->connected) ? ZK_CLIENT_UNREACHED
                                                                                  : ZK_CLIENT_ANSWERED;
}

/* What is to be told of "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Connection ..." */
static const char *core_of(const char *details) {
    static const char last[] = "last error: ";
    const char *at = strstr(details, last), *code = at ? strstr(at + sizeof last - 1, ": ") : NULL,
               *peer = code ? strstr(code + 2, ": ") : NULL;
    return peer && peer[2] ? peer + 2 : details;
}

static void finish(zk_client_call *call) {
    zk_client *c = call->client;
    cuzk_err err = {0};
    if (is_of_end(call)) call->code = GRPC_STATUS_UNAVAILABLE, c->connected = true;
    cuzk_status status = zk_rpc_status_of(call->code);
    grpc_slice body = grpc_empty_slice();
    c->last = reach_of(call);
    *(call->before ? &call->before->next : &c->calls) = call->next;
    if (call->next) call->next->before = call->before;
    if (status == CUZK_OK && !call->response)
        status = ZK_FAIL(&err, CUZK_INTERNAL, "%s: an answer without message", c->address);
    if (status == CUZK_OK) {
        grpc_byte_buffer_reader reader;
        if (grpc_byte_buffer_reader_init(&reader, call->response)) {
            body = grpc_byte_buffer_reader_readall(&reader);
            grpc_byte_buffer_reader_destroy(&reader);
        }
    } else if (!err.message[0]) {
        char *text = grpc_slice_to_c_string(call->details);
        ZK_FAIL(&err, status, "%s: %s: %s", c->address, zk_rpc_code_name(call->code), core_of(text));
        gpr_free(text);
    }
    call->done(call->ctx, status, GRPC_SLICE_START_PTR(body), GRPC_SLICE_LENGTH(body), &err);
    grpc_slice_unref(body);
    grpc_slice_unref(call->details);
    gpr_free((void *)(uintptr_t)call->debug);
    grpc_metadata_array_destroy(&call->initial);
    grpc_metadata_array_destroy(&call->trailing);
    if (call->request) grpc_byte_buffer_destroy(call->request);
    if (call->response) grpc_byte_buffer_destroy(call->response);
    grpc_call_unref(call->call);
    free(call);
}

static gpr_timespec after_ms(uint64_t ms) {
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                        gpr_time_from_millis((int64_t)(ms < INT64_MAX ? ms : INT64_MAX), GPR_TIMESPAN));
}

cuzk_status zk_client_start(zk_client_call **out, zk_client *c, const zk_client_query *query, zk_client_done_fn done,
                            void *ctx, cuzk_err *err) {
    char path[200];
    snprintf(path, sizeof path, query->method[0] == '/' ? "%s" : "/cuzk.v1.ProvingEngine/%s", query->method);
    zk_client_call *call = zk_calloc(1, sizeof *call);
    if (!call) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a call");
    call->client = c;
    call->done = done;
    call->ctx = ctx;
    call->details = grpc_empty_slice();
    grpc_metadata_array_init(&call->initial);
    grpc_metadata_array_init(&call->trailing);
    grpc_slice slice = grpc_slice_from_copied_buffer(query->message, query->n),
               name = grpc_slice_from_copied_string(path);
    call->request = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    gpr_timespec deadline = query->timeout_ms ? after_ms(query->timeout_ms) : gpr_inf_future(GPR_CLOCK_MONOTONIC);
    call->call = grpc_channel_create_call(c->channel, NULL, GRPC_PROPAGATE_DEFAULTS, c->cq, name, NULL, deadline, NULL);
    grpc_slice_unref(name);
    grpc_op ops[] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA},
        {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = call->request},
        {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
        {.op = GRPC_OP_RECV_INITIAL_METADATA, .data.recv_initial_metadata.recv_initial_metadata = &call->initial},
        {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &call->response},
        {.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
         .data.recv_status_on_client = {&call->trailing, &call->code, &call->details, &call->debug}},
    };
    call->next = c->calls;
    if (c->calls) c->calls->before = call;
    c->calls = call;
    ZK_RPC_GIVE(call);
    if (grpc_call_start_batch(call->call, ops, sizeof ops / sizeof ops[0], call, NULL) != GRPC_CALL_OK) {
        c->calls = call->next;
        if (call->next) call->next->before = NULL;
        grpc_call_unref(call->call);
        grpc_byte_buffer_destroy(call->request);
        free(call);
        return ZK_FAIL(err, CUZK_INTERNAL, "%s: the call cannot be started", c->address);
    }
    if (out) *out = call;
    return CUZK_OK;
}

zk_client_reach zk_client_last_reach(const zk_client *c) { return c->last; }

void zk_client_cancel(zk_client_call *call) {
    call->cancelled = true;
    grpc_call_cancel(call->call, NULL);
}

unsigned zk_client_poll(zk_client *c, unsigned timeout_ms) {
    unsigned n = 0;
    gpr_timespec until = after_ms(timeout_ms);
    for (;;) {
        grpc_event event = grpc_completion_queue_next(c->cq, n ? gpr_inf_past(GPR_CLOCK_MONOTONIC) : until, NULL);
        if (event.type != GRPC_OP_COMPLETE) {
            if (!n) (void)is_ready(c); /* for later */
            return n;
        }
        ZK_RPC_TAKE(event.tag);
        finish(event.tag);
        n++;
    }
}

void zk_client_destroy(zk_client *c) {
    if (!c) return;
    for (zk_client_call *call = c->calls; call; call = call->next) grpc_call_cancel(call->call, NULL);
    while (c->calls) zk_client_poll(c, 1000);
    if (c->cq) {
        grpc_completion_queue_shutdown(c->cq);
        while (grpc_completion_queue_next(c->cq, gpr_inf_future(GPR_CLOCK_REALTIME), NULL).type !=
               GRPC_QUEUE_SHUTDOWN) {}
        grpc_completion_queue_destroy(c->cq);
    }
    if (c->channel) grpc_channel_destroy(c->channel);
    free(c->address);
    free(c);
    grpc_shutdown_blocking();
}

typedef struct sync_result {
    bool done;
    cuzk_status status;
    uint8_t *data;
    size_t n;
    cuzk_err *err;
} sync_result;

static void keep_result(void *ctx, cuzk_status status, const uint8_t *response, size_t n, const cuzk_err *err) {
    sync_result *r = ctx;
    r->done = true;
    r->status = status;
    if (status != CUZK_OK) {
        if (r->err && r->err->status == CUZK_OK) *r->err = *err;
        return;
    }
    r->data = zk_malloc(n + 1);
    r->n = n;
    if (!r->data) {
        r->status = ZK_FAIL(r->err, CUZK_OUT_OF_MEMORY, "no memory for an answer of %zu bytes", n);
        return;
    }
    if (n) memcpy(r->data, response, n);
    r->data[n] = 0;
}

cuzk_status zk_client_call_sync(uint8_t **response, size_t *n_response, zk_client *c, const zk_client_query *query,
                                bool (*stop)(void *ctx), void *ctx, cuzk_err *err) {
    sync_result r = {.err = err};
    zk_client_call *call = NULL;
    *response = NULL;
    *n_response = 0;
    ZK_TRY(zk_client_start(&call, c, query, keep_result, &r, err));
    for (bool stopped = false; !r.done;) {
        zk_client_poll(c, 100);
        if (!r.done && !stopped && stop && stop(ctx)) {
            zk_client_cancel(call);
            stopped = true;
        }
    }
    *response = r.data;
    *n_response = r.n;
    return r.status;
}

cuzk_status zk_client_encode_submit(uint8_t **message, size_t *n, const zk_request *q, bool nested, cuzk_err *err) {
    Cuzk__V1__SubmitProofRequest m = CUZK__V1__SUBMIT_PROOF_REQUEST__INIT;
    Cuzk__V1__ProveRequest p = CUZK__V1__PROVE_REQUEST__INIT;
    ProtobufCBinaryData *proofs = zk_calloc(q->n_vanilla_proofs + 1, sizeof *proofs);
    *message = NULL;
    if (!proofs) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a message");
    for (size_t i = 0; i < q->n_vanilla_proofs; i++)
        proofs[i] = (ProtobufCBinaryData){q->vanilla_proofs[i].n, q->vanilla_proofs[i].data};
    m.request_id = q->request_id ? q->request_id : (char *)(uintptr_t) "";
    m.proof_kind = (Cuzk__V1__ProofKind)q->kind;
    m.sector_size = q->sector_bytes;
    m.registered_proof = q->registered_proof;
    m.priority = (Cuzk__V1__Priority)q->priority;
    m.vanilla_proof = (ProtobufCBinaryData){q->vanilla_proof.n, q->vanilla_proof.data};
    m.n_vanilla_proofs = q->n_vanilla_proofs;
    m.vanilla_proofs = proofs;
    m.sector_number = q->sector_number;
    m.miner_id = q->miner_id;
    m.randomness = (ProtobufCBinaryData){q->randomness.n, q->randomness.data};
    m.partition_index = q->partition_index;
    m.comm_r_old = (ProtobufCBinaryData){q->comm_r_old.n, q->comm_r_old.data};
    m.comm_r_new = (ProtobufCBinaryData){q->comm_r_new.n, q->comm_r_new.data};
    m.comm_d_new = (ProtobufCBinaryData){q->comm_d_new.n, q->comm_d_new.data};
    p.submit = &m;
    const ProtobufCMessage *whole = nested ? &p.base : &m.base;
    *n = protobuf_c_message_get_packed_size(whole);
    *message = zk_malloc(*n ? *n : 1);
    if (*message) protobuf_c_message_pack(whole, *message);
    free(proofs);
    return *message ? CUZK_OK : ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a message of %zu bytes", *n);
}
