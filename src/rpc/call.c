#include "rpc/call.h"

#include <grpc/support/alloc.h>
#include <malloc.h>
#include <string.h>

#include "base/alloc.h"
#include "rpc/handover.h"

/* The slices of larger ones must not stay in the allocator's pools. */
#define LARGE_REQUEST_BYTES ((size_t)8 << 20)

void zk_rpc_call_ref(zk_rpc_call *call) { atomic_fetch_add(&call->refs, 1); }

void zk_rpc_call_drop_request(zk_rpc_call *call) {
    if (!call->request) return;
    bool large = grpc_byte_buffer_length(call->request) >= LARGE_REQUEST_BYTES;
    grpc_byte_buffer_destroy(call->request);
    call->request = NULL;
    if (large) malloc_trim(0);
}

void zk_rpc_call_unref(zk_rpc_call *call) {
    if (atomic_fetch_sub(&call->refs, 1) != 1) return;
    if (call->call) {
        grpc_call_unref(call->call);
        atomic_fetch_sub(&call->server->open_calls, 1);
    }
    zk_rpc_call_drop_request(call);
    if (call->response) grpc_byte_buffer_destroy(call->response);
    grpc_call_details_destroy(&call->details);
    grpc_metadata_array_destroy(&call->metadata);
    free(call);
}

bool zk_rpc_call_claim(zk_rpc_call *call) { return !atomic_exchange(&call->claimed, true); }

/* Starts a batch whose event holds a reference. A batch that cannot be started is our fault and ends the call. */
static void start(zk_rpc_call *call, const grpc_op *ops, size_t n_ops, zk_rpc_tag *tag) {
    zk_rpc_call_ref(call);
    ZK_RPC_GIVE(tag);
    if (grpc_call_start_batch(call->call, ops, n_ops, tag, NULL) == GRPC_CALL_OK) return;
    grpc_call_cancel(call->call, NULL);
    zk_rpc_call_unref(call);
}

static void count_code(zk_rpc_call *call, grpc_status_code code) {
    zk_rpc_server *s = call->server;
    size_t n_service = zk_rpc_n_service_methods;
    if (!call->method || call->method < zk_rpc_service_methods || call->method >= zk_rpc_service_methods + n_service)
        return;
    if ((unsigned)code < ZK_RPC_N_CODES) atomic_fetch_add(&s->counts[call->method - zk_rpc_service_methods][code], 1);
}

static size_t put_metadata(zk_rpc_call *call, grpc_op *op) {
    if (atomic_exchange(&call->sent_metadata, true)) return 0;
    *op = (grpc_op){.op = GRPC_OP_SEND_INITIAL_METADATA};
    return 1;
}

static size_t put_message(zk_rpc_call *call, grpc_op *op, grpc_slice payload) {
    if (call->response) grpc_byte_buffer_destroy(call->response);
    call->response = grpc_raw_byte_buffer_create(&payload, 1);
    grpc_slice_unref(payload);
    *op = (grpc_op){.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = call->response};
    return 1;
}

static void answer(zk_rpc_call *call, const grpc_slice *payload, grpc_status_code code, const char *message) {
    grpc_op ops[3];
    size_t n = put_metadata(call, ops);
    if (payload) n += put_message(call, ops + n, *payload);
    grpc_slice details = grpc_slice_from_copied_string(message);
    ops[n++] = (grpc_op){.op = GRPC_OP_SEND_STATUS_FROM_SERVER,
                         .data.send_status_from_server = {.status = code, .status_details = &details}};
    count_code(call, code);
    start(call, ops, n, &call->on_answered);
    grpc_slice_unref(details);
}

void zk_rpc_call_reply(zk_rpc_call *call, grpc_slice payload) { answer(call, &payload, GRPC_STATUS_OK, ""); }
void zk_rpc_call_fail(zk_rpc_call *call, grpc_status_code code, const char *message) {
    answer(call, NULL, code, message);
}
void zk_rpc_call_finish(zk_rpc_call *call) { answer(call, NULL, GRPC_STATUS_OK, ""); }

void zk_rpc_call_fail_err(zk_rpc_call *call, cuzk_status status, const cuzk_err *err) {
    if (!zk_rpc_call_claim(call)) return;
    zk_rpc_call_fail(call, zk_rpc_code_of(status), err->message[0] ? err->message : cuzk_status_text(status));
}

void zk_rpc_call_send(zk_rpc_call *call, grpc_slice payload, zk_rpc_event_fn after) {
    grpc_op ops[2];
    size_t n = put_metadata(call, ops);
    n += put_message(call, ops + n, payload);
    call->after_send = after;
    start(call, ops, n, &call->on_sent);
}

void zk_rpc_call_receive(zk_rpc_call *call) {
    zk_rpc_call_drop_request(call);
    grpc_op op = {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &call->request};
    start(call, &op, 1, &call->on_message);
}

bool zk_rpc_call_flatten(zk_rpc_call *call, grpc_slice *slice) {
    grpc_byte_buffer_reader reader;
    if (call->request && grpc_byte_buffer_reader_init(&reader, call->request)) {
        *slice = grpc_byte_buffer_reader_readall(&reader);
        grpc_byte_buffer_reader_destroy(&reader);
        return true;
    }
    if (zk_rpc_call_claim(call))
        zk_rpc_call_fail(call, GRPC_STATUS_INVALID_ARGUMENT, "the message is missing or cannot be decompressed");
    return false;
}

grpc_slice zk_rpc_slice_of(zk_pb_writer *writer) {
    grpc_slice slice = grpc_slice_from_copied_buffer((const char *)writer->data, writer->failed ? 0 : writer->n);
    free(writer->data);
    *writer = (zk_pb_writer){0};
    return slice;
}

/* ---- waiting ---- */

void zk_rpc_wait_begin(zk_rpc_call *call) {
    zk_rpc_server *s = call->server;
    zk_rpc_wait *w = &call->wait;
    w->call = call;
    zk_rpc_call_ref(call); /* for the list */
    pthread_mutex_lock(&s->mutex);
    w->listed = true;
    w->before = NULL;
    w->next = s->waits;
    if (s->waits) s->waits->before = w;
    s->waits = w;
    s->n_waits++;
    if (w->deadline_ns && w->deadline_ns < s->timer_until_ns) pthread_cond_signal(&s->timer_wake);
    pthread_mutex_unlock(&s->mutex);
}

void zk_rpc_wait_end(zk_rpc_call *call) {
    zk_rpc_server *s = call->server;
    zk_rpc_wait *w = &call->wait;
    pthread_mutex_lock(&s->mutex);
    bool was = w->listed;
    if (was) {
        *(w->before ? &w->before->next : &s->waits) = w->next;
        if (w->next) w->next->before = w->before;
        w->listed = false;
        s->n_waits--;
    }
    pthread_mutex_unlock(&s->mutex);
    if (was) zk_rpc_call_unref(call);
}
