#include "rpc/status_json.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json_writer.h"
#include "rpc/names.h"

static double seconds(uint64_t ms) { return (double)ms / 1000; }

static void put_text_or_null(zk_json_writer *j, const char *key, const char *text) {
    zk_json_put_string(j, key, text[0] ? text : NULL);
}

static void put_partitions(zk_json_writer *j, const zk_job_view *job) {
    zk_json_begin_array(j, "partitions");
    for (uint32_t k = 0; k < job->n_partitions; k++) {
        const zk_partition_view *p = &job->partitions[k];
        bool synth = p->state != ZK_PARTITION_PENDING;
        bool device = p->state == ZK_PARTITION_GPU || p->state == ZK_PARTITION_DONE;
        zk_json_begin_object(j, NULL);
        zk_json_put_u64(j, "index", p->index);
        zk_json_put_string(j, "state", zk_partition_state_name(p->state));
        synth ? zk_json_put_u64(j, "synth_ms", p->synth_ms) : zk_json_put_null(j, "synth_ms");
        device ? zk_json_put_u64(j, "gpu_ms", p->gpu_ms) : zk_json_put_null(j, "gpu_ms");
        zk_json_put_u64(j, "attempts", p->attempts);
        p->worker >= 0 ? zk_json_put_u64(j, "worker", (uint64_t)p->worker) : zk_json_put_null(j, "worker");
        zk_json_end(j);
    }
    zk_json_end(j);
}

static void put_pipelines(zk_json_writer *j, const zk_engine_status *st) {
    zk_json_begin_array(j, "pipelines");
    for (size_t i = 0; i < st->n_jobs; i++) {
        const zk_job_view *job = &st->jobs[i];
        if (!job->running) continue;
        zk_json_begin_object(j, NULL);
        zk_json_put_string(j, "job_id", job->job_id);
        zk_json_put_string(j, "proof_kind", zk_rpc_kind_name(job->kind));
        zk_json_put_double(j, "started_secs_ago", seconds(job->started_ago_ms));
        zk_json_put_u64(j, "total_partitions", job->n_partitions);
        zk_json_put_u64(j, "partitions_done", job->n_done);
        put_partitions(j, job);
        zk_json_put_string(j, "request_id", job->request_id);
        zk_json_put_string(j, "circuit_id", job->circuit_id);
        zk_json_put_string(j, "priority", zk_priority_proto_name(job->priority));
        zk_json_end(j);
    }
    zk_json_end(j);
    zk_json_begin_array(j, "queued");
    for (size_t i = 0; i < st->n_jobs; i++) {
        const zk_job_view *job = &st->jobs[i];
        if (job->running) continue;
        zk_json_begin_object(j, NULL);
        zk_json_put_string(j, "job_id", job->job_id);
        zk_json_put_string(j, "request_id", job->request_id);
        zk_json_put_string(j, "proof_kind", zk_rpc_kind_name(job->kind));
        zk_json_put_string(j, "circuit_id", job->circuit_id);
        zk_json_put_string(j, "priority", zk_priority_proto_name(job->priority));
        zk_json_put_u64(j, "queue_position", job->queue_position);
        zk_json_put_double(j, "accepted_secs_ago", seconds(job->accepted_ago_ms));
        zk_json_end(j);
    }
    zk_json_end(j);
}

static void put_workers(zk_json_writer *j, const zk_engine_status *st) {
    zk_json_begin_array(j, "gpu_workers");
    for (size_t i = 0; i < st->n_workers; i++) {
        const zk_worker_view *w = &st->workers[i];
        bool busy = w->job_id[0] != 0;
        char device_id[ZK_RPC_DEVICE_ID_BYTES];
        zk_rpc_device_id(device_id, w);
        zk_json_begin_object(j, NULL);
        zk_json_put_u64(j, "worker_id", w->id);
        zk_json_put_u64(j, "process_of", w->process);
        zk_json_put_u64(j, "gpu_ordinal", w->device_ordinal);
        zk_json_put_string(j, "state", busy ? "proving" : "idle");
        put_text_or_null(j, "current_job", w->job_id);
        w->partition >= 0 ? zk_json_put_u64(j, "current_partition", (uint64_t)w->partition)
                          : zk_json_put_null(j, "current_partition");
        busy ? zk_json_put_double(j, "busy_secs", seconds(w->busy_ms)) : zk_json_put_null(j, "busy_secs");
        w->still_ms >= 0 ? zk_json_put_double(j, "progress_secs_ago", seconds((uint64_t)w->still_ms))
                         : zk_json_put_null(j, "progress_secs_ago");
        zk_json_put_string(j, "detail", zk_worker_state_name(w->state));
        put_text_or_null(j, "stage", w->stage);
        zk_json_put_string(j, "device_id", device_id);
        zk_json_put_string(j, "device", w->device);
        zk_json_put_string(j, "device_kind", w->device_kind);
        zk_json_put_string(j, "min_priority", zk_priority_proto_name(w->min_priority));
        zk_json_put_u64(j, "pid", (uint64_t)(w->pid > 0 ? w->pid : 0));
        zk_json_put_u64(j, "rss_bytes", w->rss_bytes);
        zk_json_put_u64(j, "reserved_bytes", w->reserved_bytes);
        zk_json_put_u64(j, "device_reserved_bytes", w->device_reserved_bytes);
        zk_json_put_bool(j, "checks_only", w->checks_only);
        zk_json_put_u64(j, "memory_total_bytes", w->memory_total_bytes);
        zk_json_put_u64(j, "memory_free_bytes", w->memory_free_bytes);
        zk_json_put_u64(j, "proved", w->n_proved);
        zk_json_put_u64(j, "wrong", w->n_wrong);
        zk_json_put_u64(j, "crashes", w->n_crashes);
        zk_json_end(j);
    }
    zk_json_end(j);
}

static void put_allocations(zk_json_writer *j, const zk_engine_status *st) {
    zk_json_begin_object(j, "allocations");
    zk_json_begin_array(j, "srs");
    for (size_t i = 0; i < st->n_srs; i++) {
        const zk_srs_view *v = &st->srs[i];
        if (v->tier == ZK_SRS_COLD && !v->loading) continue;
        zk_json_begin_object(j, NULL);
        zk_json_put_string(j, "circuit_id", v->circuit_id);
        zk_json_put_u64(j, "bytes", v->bytes);
        zk_json_put_double(j, "last_used_secs_ago", seconds(v->last_used_ago_ms));
        zk_json_put_bool(j, "evictable", v->evictable);
        zk_json_put_string(j, "tier", zk_rpc_tier_name(v->tier));
        zk_json_put_u64(j, "ref_count", v->ref_count);
        zk_json_put_bool(j, "loading", v->loading);
        zk_json_put_bool(j, "locked", v->locked);
        if (v->loading) {
            zk_json_put_u64(j, "load_done_bytes", v->load_done_bytes);
            zk_json_put_u64(j, "load_total_bytes", v->load_total_bytes);
        }
        put_text_or_null(j, "sha256", v->sha256);
        if (v->tier == ZK_SRS_HOT) zk_json_put_string(j, "form", v->prepared ? "prepared" : "plain");
        zk_json_end(j);
    }
    zk_json_end(j);
    zk_json_begin_array(j, "pce");
    zk_json_end(j);
    zk_json_end(j);
    zk_json_begin_array(j, "srs_on_disk");
    for (size_t i = 0; i < st->n_srs; i++)
        if (st->srs[i].tier == ZK_SRS_COLD) zk_json_put_string(j, NULL, st->srs[i].circuit_id);
    zk_json_end(j);
}

static void put_counters(zk_json_writer *j, const zk_engine_status *st) {
    uint64_t pending = 0;
    zk_json_begin_object(j, "counters");
    zk_json_put_u64(j, "total_completed", st->n_completed);
    zk_json_put_u64(j, "total_failed", st->n_failed);
    zk_json_begin_object(j, "completed_by_kind");
    for (size_t i = 0; i < st->n_queues; i++)
        zk_json_put_u64(j, zk_rpc_kind_name(st->queues[i].kind), st->queues[i].n_completed);
    zk_json_end(j);
    zk_json_begin_object(j, "failed_by_kind");
    for (size_t i = 0; i < st->n_queues; i++) {
        zk_json_put_u64(j, zk_rpc_kind_name(st->queues[i].kind), st->queues[i].n_failed);
        pending += st->queues[i].pending;
    }
    zk_json_end(j);
    zk_json_put_u64(j, "queue_depth", pending);
    zk_json_put_u64(j, "total_cancelled", st->n_cancelled);
    zk_json_put_u64(j, "submitted", st->n_submitted);
    zk_json_put_u64(j, "joined", st->n_joined);
    zk_json_put_u64(j, "rejected", st->n_rejected);
    zk_json_put_u64(j, "worker_crashes", st->n_worker_crashes);
    zk_json_put_u64(j, "worker_stalls", st->n_worker_stalls);
    zk_json_put_u64(j, "retries", st->n_retries);
    zk_json_put_u64(j, "wrong_proofs", st->n_wrong_proofs);
    zk_json_put_u64(j, "preemptions", st->n_preempted);
    zk_json_put_u64(j, "prepared_ahead", st->n_prepared_ahead);
    zk_json_put_u64(j, "proved_together", st->n_together);
    zk_json_end(j);
}

/* Machines that share the jobs; null for a daemon of its own. */
static void put_fleet(zk_json_writer *j, const zk_engine_status *st) {
    if (!st->fleet) {
        zk_json_put_null(j, "fleet");
        return;
    }
    zk_json_begin_object(j, "fleet");
    zk_json_put_bool(j, "reachable", !st->fleet_lost);
    zk_json_begin_array(j, "machines");
    for (size_t i = 0; i < st->n_machines; i++) {
        const zk_machine_view *m = &st->machines[i];
        zk_json_begin_object(j, NULL);
        zk_json_put_string(j, "name", m->name);
        zk_json_put_string(j, "id", m->id);
        zk_json_put_bool(j, "self", m->self);
        zk_json_put_double(j, "seen_secs_ago", seconds(m->seen_ago_ms));
        zk_json_put_double(j, "started_secs_ago", seconds(m->started_ago_ms));
        zk_json_put_u64(j, "workers", m->n_workers);
        zk_json_put_u64(j, "partitions_in_hand", m->n_units);
        zk_json_put_u64(j, "partitions_proved", m->n_proved);
        zk_json_end(j);
    }
    zk_json_end(j);
    zk_json_end(j);
}

static void put_memory(zk_json_writer *j, const zk_engine_status *st) {
    uint64_t total = st->memory_budget_bytes, used = st->memory_reserved_bytes + st->memory_base_bytes;
    zk_json_begin_object(j, "memory");
    zk_json_put_u64(j, "total_bytes", total);
    zk_json_put_u64(j, "used_bytes", used);
    zk_json_put_u64(j, "available_bytes", used < total ? total - used : 0);
    zk_json_put_u64(j, "machine_bytes", st->machine_memory_bytes);
    zk_json_put_u64(j, "base_bytes", st->memory_base_bytes);
    zk_json_begin_object(j, "daemon");
    zk_json_put_u64(j, "own_bytes", st->own_bytes);
    zk_json_put_u64(j, "heap_live_bytes", st->heap_live_bytes);
    zk_json_put_u64(j, "heap_free_bytes", st->heap_free_bytes);
    zk_json_end(j);
    zk_json_begin_array(j, "by_buffer");
    for (size_t i = 0; i < st->n_memory; i++) {
        zk_json_begin_object(j, NULL);
        zk_json_put_string(j, "name", st->memory[i].name);
        zk_json_put_u64(j, "bytes", st->memory[i].current_bytes);
        zk_json_put_u64(j, "peak_bytes", st->memory[i].peak_bytes);
        zk_json_end(j);
    }
    zk_json_end(j);
    zk_json_end(j);
}

/* Partitions in work, by what is done with them. */
typedef struct in_flight {
    uint64_t synthesizing, waiting, proving;
} in_flight;

static in_flight count_in_flight(const zk_engine_status *st) {
    in_flight n = {0};
    for (size_t i = 0; i < st->n_jobs; i++)
        for (uint32_t k = 0; st->jobs[i].running && k < st->jobs[i].n_partitions; k++) {
            zk_partition_state s = st->jobs[i].partitions[k].state;
            n.synthesizing += s == ZK_PARTITION_SYNTHESIZING;
            n.waiting += s == ZK_PARTITION_SYNTH_DONE;
            n.proving += s == ZK_PARTITION_GPU;
        }
    return n;
}

static void put_synthesis(zk_json_writer *j, const zk_engine_status *st, const in_flight *n) {
    zk_json_begin_object(j, "synthesis");
    zk_json_put_u64(j, "max_concurrent", st->n_workers);
    zk_json_put_u64(j, "active", n->synthesizing);
    zk_json_end(j);
}

static void put_buffers(zk_json_writer *j, const zk_engine_status *st, const in_flight *n) {
    zk_json_begin_object(j, "buffers");
    zk_json_put_u64(j, "synth_in_flight", n->synthesizing);
    zk_json_put_u64(j, "provers_in_flight", n->proving);
    zk_json_put_u64(j, "aux_in_flight", n->synthesizing + n->waiting);
    zk_json_put_u64(j, "shells_in_flight", 0);
    zk_json_put_u64(j, "pending_handles", st->retire_pending_items);
    zk_json_end(j);
}

static void put_journal(zk_json_writer *j, const zk_engine_status *st) {
    zk_json_begin_object(j, "journal");
    zk_json_put_u64(j, "bytes", st->journal_bytes);
    zk_json_put_u64(j, "unwritten", st->n_unwritten);
    put_text_or_null(j, "error", st->journal_error);
    zk_json_end(j);
}

static void put_rpc(zk_json_writer *j, const zk_rpc_counts *rpc) {
    zk_json_begin_object(j, "rpc");
    zk_json_put_u64(j, "open_calls", rpc->open_calls);
    zk_json_put_u64(j, "waiting_calls", rpc->waiting_calls);
    zk_json_end(j);
}

static void put_status(zk_json_writer *j, const zk_engine_status *st, const zk_rpc_counts *rpc) {
    const in_flight n = count_in_flight(st);
    zk_json_begin_object(j, NULL);
    zk_json_put_double(j, "uptime_secs", seconds(st->uptime_ms));
    put_memory(j, st);
    put_synthesis(j, st, &n);
    put_pipelines(j, st);
    put_workers(j, st);
    put_allocations(j, st);
    put_counters(j, st);
    put_buffers(j, st, &n);
    zk_json_put_bool(j, "draining", st->draining);
    put_fleet(j, st);
    zk_json_put_u64(j, "retire_pending_bytes", st->retire_pending_bytes);
    put_journal(j, st);
    put_rpc(j, rpc);
    zk_json_end(j);
}

cuzk_status zk_rpc_status_json(char **text, size_t *n, zk_engine *engine, const zk_rpc_server *server, cuzk_err *err) {
    zk_engine_status *st = NULL;
    zk_json_writer *j = NULL;
    zk_rpc_counts counts;
    cuzk_status status = CUZK_OK;
    *text = NULL;
    ZK_GOTO(zk_engine_get_status(&st, engine, err));
    zk_rpc_server_counts(&counts, server);
    j = zk_json_writer_create(NULL, 0);
    put_status(j, st, &counts);
    ZK_GOTO(zk_json_writer_finish(j, err));
    const char *written = zk_json_writer_text(j, n);
    *text = zk_malloc(*n + 1);
    if (!*text) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the status"));
    memcpy(*text, written, *n);
    (*text)[*n] = 0;
out:
    zk_json_writer_destroy(j);
    zk_engine_status_destroy(st);
    return status;
}
