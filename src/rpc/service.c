/* The eight calls of cuzk.v1.ProvingEngine. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/span.h"
#include <cuzk.pb-c.h>
#include "rpc/call.h"
#include "rpc/metrics.h"
#include "rpc/names.h"

/* ---- messages ---- */

/* A whole small message, unpacked; NULL: the call has been failed. */
static ProtobufCMessage *unpack(zk_rpc_call *call, const ProtobufCMessageDescriptor *type) {
    grpc_slice slice;
    if (!zk_rpc_call_flatten(call, &slice)) return NULL;
    ProtobufCMessage *message =
        protobuf_c_message_unpack(type, NULL, GRPC_SLICE_LENGTH(slice), GRPC_SLICE_START_PTR(slice));
    grpc_slice_unref(slice);
    if (message) return message;
    char text[96];
    snprintf(text, sizeof text, "the message is no %s", type->short_name);
    if (zk_rpc_call_claim(call)) zk_rpc_call_fail(call, GRPC_STATUS_INVALID_ARGUMENT, text);
    return NULL;
}

static grpc_slice pack(const ProtobufCMessage *message) {
    grpc_slice slice = grpc_slice_malloc(protobuf_c_message_get_packed_size(message));
    protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(slice));
    return slice;
}

static void reply(zk_rpc_call *call, const ProtobufCMessage *message) {
    if (zk_rpc_call_claim(call)) zk_rpc_call_reply(call, pack(message));
}

/* protobuf-c wants char * where it only reads. */
static char *text_of(const char *text) { return (char *)(uintptr_t)text; }

/* ---- waiting for a job ---- */

static grpc_slice pack_result(const zk_rpc_wait *wait, const zk_result *r, zk_outcome outcome) {
    Cuzk__V1__AwaitProofResponse m = CUZK__V1__AWAIT_PROOF_RESPONSE__INIT;
    Cuzk__V1__ProveResponse p = CUZK__V1__PROVE_RESPONSE__INIT;
    m.job_id = text_of(wait->job_id);
    m.status = (Cuzk__V1__AwaitProofResponse__Status)outcome;
    if (outcome == ZK_OUTCOME_UNKNOWN) m.error_message = text_of("no such job, or its result is no longer kept");
    if (r) {
        m.proof = (ProtobufCBinaryData){r->n_proof, r->proof};
        if (outcome != ZK_OUTCOME_COMPLETED && r->message[0]) m.error_message = text_of(r->message);
        m.queue_wait_ms = r->queue_wait_ms;
        m.srs_load_ms = r->srs_load_ms;
        m.synthesis_ms = r->synthesis_ms;
        m.gpu_compute_ms = r->gpu_compute_ms;
        m.total_ms = r->total_ms;
    }
    p.result = &m;
    return wait->is_prove ? pack(&p.base) : pack(&m.base);
}

static void on_result(void *ctx, const zk_result *result) {
    zk_rpc_call *call = ctx;
    if (zk_rpc_call_claim(call)) {
        if (result->outcome == ZK_OUTCOME_INTERRUPTED)
            zk_rpc_call_fail(call, GRPC_STATUS_UNAVAILABLE, "the daemon ends; the job goes on at its next start");
        else
            zk_rpc_call_reply(call, pack_result(&call->wait, result, result->outcome));
        zk_rpc_wait_end(call);
    }
    zk_rpc_call_unref(call);
}

static void cancel_task(zk_rpc_call *call) {
    bool was = false;
    cuzk_err err = {0};
    if (zk_engine_cancel(&was, call->server->engine, call->wait.job_id, &err) != CUZK_OK)
        ZK_LOG_WARN("a job whose client has gone could not be cancelled", zk_kv_str("job", call->wait.job_id),
                    zk_kv_str("error", err.message));
    else if (was)
        ZK_LOG_INFO("job cancelled: its client has gone", zk_kv_str("job", call->wait.job_id));
}

/* Whether nobody but this Prove waits for the job or was given its id. */
static bool alone(zk_rpc_call *call) {
    zk_rpc_server *s = call->server;
    pthread_mutex_lock(&s->mutex);
    bool is = call->wait.owns_job;
    for (const zk_rpc_wait *w = s->waits; w && is; w = w->next)
        is = w->call == call || w->is_health || strcmp(w->job_id, call->wait.job_id) != 0;
    pthread_mutex_unlock(&s->mutex);
    return is;
}

/* Somebody else has learnt the id: the job no longer ends with the Prove that made it. */
static void share_job(zk_rpc_server *s, const char *job_id) {
    pthread_mutex_lock(&s->mutex);
    for (zk_rpc_wait *w = s->waits; w; w = w->next)
        if (strcmp(w->job_id, job_id) == 0) w->owns_job = false;
    pthread_mutex_unlock(&s->mutex);
}

void zk_rpc_wait_over(zk_rpc_call *call, zk_outcome why) {
    if (!zk_rpc_call_claim(call)) return;
    bool unwatched = zk_engine_unwatch(call->server->engine, call->wait.job_id, call);
    if (why == ZK_OUTCOME_TIMEOUT)
        zk_rpc_call_reply(call, pack_result(&call->wait, NULL, ZK_OUTCOME_TIMEOUT));
    else if (why == ZK_OUTCOME_CANCELLED)
        zk_rpc_call_fail(call, GRPC_STATUS_CANCELLED, "the client has gone");
    else
        zk_rpc_call_fail(call, GRPC_STATUS_UNAVAILABLE, "the daemon ends; the job goes on at its next start");
    if (why == ZK_OUTCOME_CANCELLED && call->wait.is_prove && alone(call)) zk_rpc_call_run(call, cancel_task);
    zk_rpc_wait_end(call);
    if (unwatched) zk_rpc_call_unref(call);
}

/* The call is in the list already, so that its deadline and its client count meanwhile. */
static void watch_job(zk_rpc_call *call) {
    zk_rpc_server *s = call->server;
    cuzk_err err = {0};
    zk_rpc_call_ref(call); /* for the watch */
    cuzk_status status = zk_engine_watch(NULL, s->engine, call->wait.job_id, on_result, call, &err);
    if (status != CUZK_OK) {
        zk_rpc_call_fail_err(call, status, &err);
        zk_rpc_wait_end(call);
        zk_rpc_call_unref(call);
        return;
    }
    /* What ended the wait before the watch was there could not take it back. */
    if (atomic_load(&call->claimed) && zk_engine_unwatch(s->engine, call->wait.job_id, call)) zk_rpc_call_unref(call);
    if (atomic_load(&call->closed)) zk_rpc_wait_over(call, ZK_OUTCOME_CANCELLED);
    if (atomic_load(&s->ending)) zk_rpc_wait_over(call, ZK_OUTCOME_INTERRUPTED);
}

/* call->wait is filled in but for the list. */
static void await_job(zk_rpc_call *call) {
    zk_rpc_wait_begin(call);
    watch_job(call);
}

static void handle_await(zk_rpc_call *call) {
    Cuzk__V1__AwaitProofRequest *m = (void *)unpack(call, &cuzk__v1__await_proof_request__descriptor);
    if (!m) return;
    zk_rpc_wait *w = &call->wait;
    bool possible = strlen(m->job_id) < sizeof w->job_id;
    if (possible) strcpy(w->job_id, m->job_id);
    uint64_t ns = 0;
    if (m->timeout_ms && !__builtin_mul_overflow(m->timeout_ms, 1000000, &ns) &&
        __builtin_add_overflow(ns, zk_now_ns(), &w->deadline_ns))
        w->deadline_ns = 0; /* beyond any clock */
    if (!possible) {        /* no id of ours */
        Cuzk__V1__AwaitProofResponse r = CUZK__V1__AWAIT_PROOF_RESPONSE__INIT;
        r.job_id = m->job_id;
        r.error_message = text_of("no such job");
        reply(call, &r.base);
    } else {
        share_job(call->server, w->job_id);
        zk_rpc_wait_begin(call);
        if (zk_engine_knows(call->server->engine, w->job_id))
            watch_job(call);
        else /* the journal is asked: a disk or a database may take its time, which is not the serving thread's */
            zk_rpc_call_run(call, watch_job);
    }
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

/* ---- submit ---- */

static bool refuse_when_draining(zk_rpc_call *call) {
    if (!atomic_load(&call->server->draining)) return false;
    if (zk_rpc_call_claim(call))
        zk_rpc_call_fail(call, GRPC_STATUS_UNAVAILABLE, "the daemon is about to end and takes no new work");
    return true;
}

/* Reads and accepts; false: the call has been failed. */
static bool submit(zk_rpc_call *call, zk_submitted *submitted, bool nested) {
    cuzk_err err = {0};
    zk_rpc_submit s = {0};
    if (refuse_when_draining(call)) return false;
    cuzk_status status = zk_rpc_submit_read(&s, call->server->engine, call->request, nested, &err);
    /* The slices are on disk: gone before the job starts. */
    zk_rpc_call_drop_request(call);
    if (status == CUZK_OK) {
        status = zk_engine_submit(submitted, call->server->engine, &s.request, s.content, &err);
    } else {
        zk_content_abort(s.content);
        zk_engine_count_refused(call->server->engine);
    }
    if (status == CUZK_OK) return true;
    ZK_LOG_INFO("request refused", zk_kv_str("request", s.request_id), zk_kv_str("error", err.message));
    zk_rpc_call_fail_err(call, status, &err);
    return false;
}

static void handle_submit(zk_rpc_call *call) {
    zk_submitted s;
    if (!submit(call, &s, false)) return;
    share_job(call->server, s.job_id);
    Cuzk__V1__SubmitProofResponse r = CUZK__V1__SUBMIT_PROOF_RESPONSE__INIT;
    r.job_id = s.job_id;
    r.queue_position = s.queue_position;
    r.assigned_gpu = s.assigned;
    reply(call, &r.base);
}

static void handle_prove(zk_rpc_call *call) {
    zk_submitted s;
    if (!submit(call, &s, true)) return;
    if (s.joined) share_job(call->server, s.job_id);
    zk_rpc_wait *w = &call->wait;
    strcpy(w->job_id, s.job_id);
    w->is_prove = true;
    w->owns_job = !s.joined;
    await_job(call);
}

static void handle_cancel(zk_rpc_call *call) {
    Cuzk__V1__CancelProofRequest *m = (void *)unpack(call, &cuzk__v1__cancel_proof_request__descriptor);
    if (!m) return;
    Cuzk__V1__CancelProofResponse r = CUZK__V1__CANCEL_PROOF_RESPONSE__INIT;
    cuzk_err err = {0};
    bool was = false;
    cuzk_status status =
        strlen(m->job_id) < ZK_JOB_ID_BYTES ? zk_engine_cancel(&was, call->server->engine, m->job_id, &err) : CUZK_OK;
    r.was_running = was;
    if (status == CUZK_OK)
        reply(call, &r.base);
    else
        zk_rpc_call_fail_err(call, status, &err);
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

/* ---- keys ---- */

static void handle_preload(zk_rpc_call *call) {
    Cuzk__V1__PreloadSrsRequest *m = (void *)unpack(call, &cuzk__v1__preload_srs_request__descriptor);
    if (!m) return;
    Cuzk__V1__PreloadSrsResponse r = CUZK__V1__PRELOAD_SRS_RESPONSE__INIT;
    cuzk_err err = {0};
    bool already = false;
    uint64_t ms = 0;
    if (!refuse_when_draining(call)) {
        cuzk_status status = zk_engine_preload(&already, &ms, call->server->engine, m->circuit_id, &err);
        r.already_loaded = already;
        r.load_time_ms = ms;
        if (status == CUZK_OK)
            reply(call, &r.base);
        else
            zk_rpc_call_fail_err(call, status, &err);
    }
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

static void handle_evict(zk_rpc_call *call) {
    Cuzk__V1__EvictSrsRequest *m = (void *)unpack(call, &cuzk__v1__evict_srs_request__descriptor);
    if (!m) return;
    Cuzk__V1__EvictSrsResponse r = CUZK__V1__EVICT_SRS_RESPONSE__INIT;
    cuzk_err err = {0};
    bool was = false;
    uint64_t freed = 0;
    cuzk_status status = zk_engine_evict(&was, &freed, call->server->engine, m->circuit_id, &err);
    r.was_loaded = was;
    r.freed_bytes = freed;
    if (status == CUZK_OK)
        reply(call, &r.base);
    else
        zk_rpc_call_fail_err(call, status, &err);
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

/* ---- what it is doing ---- */

static bool is_device(const zk_worker_view *w) { return strcmp(w->device_kind, "cpu") != 0; }

typedef char device_name[ZK_RPC_CPU_NAME_BYTES];

/* One entry a device, whichever of its workers is busy; the CPU's workers only where nothing else proves. Those have
 * no ordinal of their own, and a name that says whose they are (names.h). */
static size_t list_gpus(Cuzk__V1__GPUStatus *gpus, Cuzk__V1__GPUStatus **list, device_name *names,
                        const zk_engine_status *st) {
    bool devices = false;
    size_t n = 0;
    for (size_t i = 0; i < st->n_workers; i++) devices |= is_device(&st->workers[i]);
    for (size_t i = 0; i < st->n_workers; i++) {
        const zk_worker_view *w = &st->workers[i];
        if (!w->device[0] || w->checks_only || (devices && !is_device(w))) continue; /* [0]: not started yet */
        size_t k = devices ? 0 : n;
        while (k < n && gpus[k].ordinal != w->device_ordinal) k++;
        Cuzk__V1__GPUStatus *g = &gpus[k];
        if (k < n && (g->current_job_id[0] || !w->job_id[0])) continue;
        list[k] = g;
        n += k == n;
        cuzk__v1__gpustatus__init(g);
        g->ordinal = w->device_ordinal;
        if (!is_device(w)) zk_rpc_cpu_name(names[k], w);
        g->name = text_of(is_device(w) ? w->device : names[k]);
        g->vram_total_bytes = w->memory_total_bytes;
        g->vram_free_bytes = w->memory_free_bytes;
        g->current_job_id = text_of(w->job_id);
        g->current_proof_kind = text_of(w->job_id[0] ? zk_rpc_kind_name(w->kind) : "");
    }
    return n;
}

static void reply_status(zk_rpc_call *call, const zk_engine_status *st) {
    Cuzk__V1__GetStatusResponse r = CUZK__V1__GET_STATUS_RESPONSE__INIT;
    size_t n = st->n_workers + st->n_srs + st->n_queues;
    Cuzk__V1__GPUStatus *gpus = zk_calloc(st->n_workers + 1, sizeof *gpus),
                        **gpu_list = zk_calloc(n + 1, sizeof(void *));
    device_name *names = zk_calloc(st->n_workers + 1, sizeof *names);
    Cuzk__V1__SRSStatus *srs = zk_calloc(st->n_srs + 1, sizeof *srs);
    Cuzk__V1__QueueStatus *queues = zk_calloc(st->n_queues + 1, sizeof *queues);
    if (gpus && gpu_list && names && srs && queues) {
        Cuzk__V1__SRSStatus **srs_list = (void *)(gpu_list + st->n_workers);
        Cuzk__V1__QueueStatus **queue_list = (void *)(gpu_list + st->n_workers + st->n_srs);
        r.n_gpus = list_gpus(gpus, gpu_list, names, st);
        for (size_t i = 0; i < st->n_srs; i++) {
            const zk_srs_view *v = &st->srs[i];
            Cuzk__V1__SRSStatus *m = srs_list[i] = &srs[i];
            cuzk__v1__srsstatus__init(m);
            m->circuit_id = text_of(v->circuit_id);
            m->tier = (Cuzk__V1__SRSStatus__Tier)v->tier;
            m->size_bytes = v->bytes;
            m->ref_count = v->ref_count;
        }
        for (size_t i = 0; i < st->n_queues; i++) {
            const zk_queue_view *v = &st->queues[i];
            Cuzk__V1__QueueStatus *m = queue_list[i] = &queues[i];
            cuzk__v1__queue_status__init(m);
            m->proof_kind = text_of(zk_rpc_kind_name(v->kind));
            m->pending = v->pending;
            m->in_progress = v->in_progress;
        }
        r.gpus = gpu_list;
        r.loaded_srs = srs_list;
        r.n_loaded_srs = st->n_srs;
        r.queues = queue_list;
        r.n_queues = st->n_queues;
        r.total_proofs_completed = st->n_completed;
        r.total_proofs_failed = st->n_failed;
        r.uptime_seconds = st->uptime_ms / 1000;
        r.pinned_memory_bytes = st->memory_reserved_bytes;
        r.pinned_memory_limit_bytes = st->memory_budget_bytes;
        reply(call, &r.base);
    } else {
        zk_rpc_call_fail_err(call, CUZK_OUT_OF_MEMORY, &(cuzk_err){0});
    }
    free(gpus);
    free(gpu_list);
    free(names);
    free(srs);
    free(queues);
}

static void handle_status(zk_rpc_call *call) {
    ProtobufCMessage *m = unpack(call, &cuzk__v1__get_status_request__descriptor);
    if (!m) return;
    protobuf_c_message_free_unpacked(m, NULL);
    zk_engine_status *st = NULL;
    cuzk_err err = {0};
    cuzk_status status = zk_engine_get_status(&st, call->server->engine, &err);
    if (status == CUZK_OK)
        reply_status(call, st);
    else
        zk_rpc_call_fail_err(call, status, &err);
    zk_engine_status_destroy(st);
}

static void handle_metrics(zk_rpc_call *call) {
    ProtobufCMessage *m = unpack(call, &cuzk__v1__get_metrics_request__descriptor);
    if (!m) return;
    protobuf_c_message_free_unpacked(m, NULL);
    char *text = NULL;
    size_t n = 0;
    cuzk_err err = {0};
    cuzk_status status = zk_rpc_metrics_text(&text, &n, call->server->engine, call->server, &err);
    if (status == CUZK_OK) {
        Cuzk__V1__GetMetricsResponse r = CUZK__V1__GET_METRICS_RESPONSE__INIT;
        r.prometheus_text = text;
        reply(call, &r.base);
    } else {
        zk_rpc_call_fail_err(call, status, &err);
    }
    free(text);
}

static const zk_rpc_method methods[] = {
    {"/cuzk.v1.ProvingEngine/SubmitProof", handle_submit, true, false},
    {"/cuzk.v1.ProvingEngine/AwaitProof", handle_await, false, false},
    {"/cuzk.v1.ProvingEngine/Prove", handle_prove, true, false},
    {"/cuzk.v1.ProvingEngine/CancelProof", handle_cancel, true, false},
    {"/cuzk.v1.ProvingEngine/GetStatus", handle_status, false, false},
    {"/cuzk.v1.ProvingEngine/GetMetrics", handle_metrics, false, false},
    {"/cuzk.v1.ProvingEngine/PreloadSRS", handle_preload, true, false},
    {"/cuzk.v1.ProvingEngine/EvictSRS", handle_evict, true, false},
};
const zk_rpc_method *const zk_rpc_service_methods = methods;
const size_t zk_rpc_n_service_methods = sizeof methods / sizeof methods[0];
