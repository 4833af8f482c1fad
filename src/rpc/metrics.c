#include "rpc/metrics.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "rpc/names.h"

static void head(FILE *out, const char *name, const char *type, const char *help) {
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put(FILE *out, const char *name, const char *type, const char *help, uint64_t value) {
    head(out, name, type, help);
    fprintf(out, "%s %" PRIu64 "\n", name, value);
}

static void put_seconds(FILE *out, const char *name, const char *help, uint64_t ns) {
    head(out, name, "counter", help);
    fprintf(out, "%s %.6f\n", name, (double)ns / 1e9);
}

/* A label's value, escaped as the format wants it. */
static void put_label(FILE *out, const char *name, const char *value) {
    fprintf(out, "%s=\"", name);
    for (const char *p = value; *p; p++) {
        if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else if (*p == '\n')
            fputs("\\n", out);
        else
            fputc(*p, out);
    }
    fputc('"', out);
}

static void put_queues(FILE *out, const zk_engine_status *st) {
    head(out, "cuzk_proofs_completed", "counter", "Proofs completed, by kind.");
    for (size_t i = 0; i < st->n_queues; i++)
        fprintf(out, "cuzk_proofs_completed{proof_kind=\"%s\"} %" PRIu64 "\n", zk_rpc_kind_label(st->queues[i].kind),
                st->queues[i].n_completed);
    head(out, "cuzk_proofs_failed", "counter", "Proofs failed, by kind.");
    for (size_t i = 0; i < st->n_queues; i++)
        fprintf(out, "cuzk_proofs_failed{proof_kind=\"%s\"} %" PRIu64 "\n", zk_rpc_kind_label(st->queues[i].kind),
                st->queues[i].n_failed);
    head(out, "cuzk_proof_duration_seconds", "summary", "From acceptance to the end, of completed proofs.");
    for (size_t i = 0; i < st->n_queues; i++) {
        const zk_queue_view *q = &st->queues[i];
        fprintf(out, "cuzk_proof_duration_seconds_sum{proof_kind=\"%s\"} %.6f\n", zk_rpc_kind_label(q->kind),
                (double)q->duration_sum_ns / 1e9);
        fprintf(out, "cuzk_proof_duration_seconds_count{proof_kind=\"%s\"} %" PRIu64 "\n", zk_rpc_kind_label(q->kind),
                q->n_durations);
    }
    head(out, "cuzk_queue_jobs", "gauge", "Jobs that have not ended, by kind and state.");
    for (size_t i = 0; i < st->n_queues; i++) {
        const zk_queue_view *q = &st->queues[i];
        fprintf(out, "cuzk_queue_jobs{proof_kind=\"%s\",state=\"pending\"} %" PRIu32 "\n", zk_rpc_kind_label(q->kind),
                q->pending);
        fprintf(out, "cuzk_queue_jobs{proof_kind=\"%s\",state=\"in_progress\"} %" PRIu32 "\n",
                zk_rpc_kind_label(q->kind), q->in_progress);
    }
}

static void put_histograms(FILE *out, const zk_engine_status *st) {
    head(out, "cuzk_stage_duration_seconds", "histogram",
         "Stages of partitions, and queue_wait, prepare, srs_load, total of jobs.");
    for (size_t i = 0; i < st->n_histograms; i++) {
        const zk_histogram *h = &st->histograms[i];
        uint64_t sum = 0;
        for (unsigned k = 0; k < ZK_HISTOGRAM_BUCKETS; k++) {
            sum += h->bucket[k];
            fputs("cuzk_stage_duration_seconds_bucket{", out);
            put_label(out, "stage", h->name);
            if (k + 1 < ZK_HISTOGRAM_BUCKETS)
                fprintf(out, ",le=\"%g\"} %" PRIu64 "\n", zk_histogram_bounds[k], sum);
            else
                fprintf(out, ",le=\"+Inf\"} %" PRIu64 "\n", sum);
        }
        fputs("cuzk_stage_duration_seconds_sum{", out);
        put_label(out, "stage", h->name);
        fprintf(out, "} %.6f\ncuzk_stage_duration_seconds_count{", (double)h->sum_ns / 1e9);
        put_label(out, "stage", h->name);
        fprintf(out, "} %" PRIu64 "\n", sum);
    }
}

static void put_memory(FILE *out, const zk_engine_status *st) {
    put(out, "cuzk_memory_budget_bytes", "gauge", "Memory that daemon and workers may use.", st->memory_budget_bytes);
    put(out, "cuzk_memory_reserved_bytes", "gauge", "Memory reserved for running work and keys.",
        st->memory_reserved_bytes);
    put(out, "cuzk_daemon_own_bytes", "gauge", "Resident memory of the daemon's process without pages of files.",
        st->own_bytes);
    head(out, "cuzk_daemon_heap_bytes", "gauge", "Heap of the daemon's process: allocated, and free in the allocator.");
    fprintf(out, "cuzk_daemon_heap_bytes{state=\"live\"} %" PRIu64 "\n", st->heap_live_bytes);
    fprintf(out, "cuzk_daemon_heap_bytes{state=\"free\"} %" PRIu64 "\n", st->heap_free_bytes);
    head(out, "cuzk_memory_buffer_bytes", "gauge", "Memory by buffer, over all processes.");
    for (size_t i = 0; i < st->n_memory; i++) {
        fputs("cuzk_memory_buffer_bytes{", out);
        put_label(out, "buffer", st->memory[i].name);
        fprintf(out, "} %" PRIu64 "\n", st->memory[i].current_bytes);
    }
    head(out, "cuzk_srs_bytes", "gauge", "Keys, by circuit and tier.");
    for (size_t i = 0; i < st->n_srs; i++) {
        fputs("cuzk_srs_bytes{", out);
        put_label(out, "circuit_id", st->srs[i].circuit_id);
        fprintf(out, ",tier=\"%s\"} %" PRIu64 "\n", zk_rpc_tier_name(st->srs[i].tier), st->srs[i].bytes);
    }
    put(out, "cuzk_retire_pending_bytes", "gauge", "Memory that waits to be freed.", st->retire_pending_bytes);
    put(out, "cuzk_retire_pending_items", "gauge", "Blocks that wait to be freed.", st->retire_pending_items);
}

/* Of devices with memory of their own; what workers have of it adds up. */
static void put_devices(FILE *out, const zk_engine_status *st) {
    head(out, "cuzk_gpu_memory_bytes", "gauge", "Memory of a device: in all, free to its worker, reserved by it.");
    for (size_t i = 0; i < st->n_workers; i++) {
        const zk_worker_view *w = &st->workers[i];
        const struct {
            const char *state;
            uint64_t bytes;
        } rows[] = {
            {"total", w->memory_total_bytes}, {"free", w->memory_free_bytes}, {"reserved", w->device_reserved_bytes}};
        for (size_t k = 0; k < 3 && strcmp(w->device_kind, "cpu") != 0 && w->pid && w->process == w->id; k++)
            fprintf(out, "cuzk_gpu_memory_bytes{gpu=\"%u\",worker=\"%u\",state=\"%s\"} %" PRIu64 "\n",
                    w->device_ordinal, w->id, rows[k].state, rows[k].bytes);
    }
}

static void put_workers(FILE *out, const zk_engine_status *st) {
    size_t n_processes = 0, n_lanes = 0;
    for (size_t i = 0; i < st->n_workers; i++) {
        n_lanes += !st->workers[i].checks_only;
        n_processes += !st->workers[i].checks_only && st->workers[i].process == st->workers[i].id;
    }
    put(out, "cuzk_gpu_workers", "gauge", "Worker processes that prove.", n_processes);
    put(out, "cuzk_gpu_lanes", "gauge", "Partitions that they can prove at a time.", n_lanes);
    put_devices(out, st);
    head(out, "cuzk_worker_rss_bytes", "gauge", "Resident memory of a worker.");
    for (size_t i = 0; i < st->n_workers; i++)
        fprintf(out, "cuzk_worker_rss_bytes{worker=\"%u\"} %" PRIu64 "\n", st->workers[i].id, st->workers[i].rss_bytes);
    head(out, "cuzk_worker_busy", "gauge", "1 while the worker has a task.");
    for (size_t i = 0; i < st->n_workers; i++)
        fprintf(out, "cuzk_worker_busy{worker=\"%u\",state=\"%s\"} %d\n", st->workers[i].id,
                zk_worker_state_name(st->workers[i].state), st->workers[i].job_id[0] != 0);
    head(out, "cuzk_worker_partitions_proved_total", "counter", "Partitions proved by a worker.");
    for (size_t i = 0; i < st->n_workers; i++)
        fprintf(out, "cuzk_worker_partitions_proved_total{worker=\"%u\"} %" PRIu64 "\n", st->workers[i].id,
                st->workers[i].n_proved);
}

static void put_machine_label(FILE *out, const char *name, const zk_machine_view *m) {
    fprintf(out, "%s{", name);
    put_label(out, "machine", m->name);
    fputc(',', out);
    put_label(out, "id", m->id);
    fputs("} ", out);
}

static void put_fleet(FILE *out, const zk_engine_status *st) {
    if (!st->fleet) return;
    put(out, "cuzk_fleet_reachable", "gauge", "1 while the database of the fleet can be reached.", !st->fleet_lost);
    head(out, "cuzk_fleet_machine_seen_seconds", "gauge", "Since a machine's last sign of life.");
    for (size_t i = 0; i < st->n_machines; i++) {
        put_machine_label(out, "cuzk_fleet_machine_seen_seconds", &st->machines[i]);
        fprintf(out, "%.3f\n", (double)st->machines[i].seen_ago_ms / 1000);
    }
    head(out, "cuzk_fleet_machine_partitions", "gauge", "Partitions a machine has in hand.");
    for (size_t i = 0; i < st->n_machines; i++) {
        put_machine_label(out, "cuzk_fleet_machine_partitions", &st->machines[i]);
        fprintf(out, "%" PRIu32 "\n", st->machines[i].n_units);
    }
    head(out, "cuzk_fleet_machine_proved_total", "counter", "Partitions proved by a machine.");
    for (size_t i = 0; i < st->n_machines; i++) {
        put_machine_label(out, "cuzk_fleet_machine_proved_total", &st->machines[i]);
        fprintf(out, "%" PRIu64 "\n", st->machines[i].n_proved);
    }
}

static void print(FILE *out, const zk_engine_status *st) {
    uint64_t pending = 0, running = 0;
    for (size_t i = 0; i < st->n_queues; i++) {
        pending += st->queues[i].pending;
        running += st->queues[i].in_progress;
    }
    put(out, "cuzk_uptime_seconds", "gauge", "Since the daemon started.", st->uptime_ms / 1000);
    put(out, "cuzk_queue_depth", "gauge", "Jobs that wait.", pending);
    put(out, "cuzk_running_jobs", "gauge", "Jobs that are worked on.", running);
    put(out, "cuzk_proofs_completed_total", "counter", "Proofs completed.", st->n_completed);
    put(out, "cuzk_proofs_failed_total", "counter", "Proofs failed.", st->n_failed);
    put(out, "cuzk_proofs_cancelled_total", "counter", "Jobs cancelled.", st->n_cancelled);
    put_queues(out, st);
    put(out, "cuzk_requests_submitted_total", "counter", "Requests accepted as new jobs.", st->n_submitted);
    put(out, "cuzk_requests_joined_total", "counter", "Requests answered by an earlier job.", st->n_joined);
    put(out, "cuzk_requests_rejected_total", "counter", "Requests refused.", st->n_rejected);
    put_workers(out, st);
    put(out, "cuzk_worker_crashes_total", "counter", "Workers that ended on their own.", st->n_worker_crashes);
    put(out, "cuzk_worker_stalls_total", "counter", "Workers killed as they made no progress; among the crashes.",
        st->n_worker_stalls);
    put(out, "cuzk_partition_retries_total", "counter", "Partitions proved again after a fault.", st->n_retries);
    put(out, "cuzk_wrong_proofs_total", "counter", "Proofs that did not verify and were not given out.",
        st->n_wrong_proofs);
    put(out, "cuzk_preemptions_total", "counter", "Times that urgent work stopped other work.", st->n_preempted);
    put(out, "cuzk_partitions_prepared_ahead_total", "counter",
        "Partitions whose inputs were made beside the proof of another.", st->n_prepared_ahead);
    put(out, "cuzk_partitions_together_total", "counter",
        "Partitions proved together with another, as points that are streamed come once for all.", st->n_together);
    put_memory(out, st);
    put_seconds(out, "cuzk_traced_seconds_total", "Time of partitions.", st->traced_ns);
    put_seconds(out, "cuzk_unaccounted_seconds_total", "Time of partitions that no span covers.", st->unaccounted_ns);
    put(out, "cuzk_spool_bytes", "gauge", "Content of jobs on disk.", st->spool_bytes);
    put(out, "cuzk_journal_bytes", "gauge", "Size of the journal.", st->journal_bytes);
    put(out, "cuzk_journal_failing", "gauge", "1 while the journal cannot be written or read.",
        st->journal_error[0] != 0);
    put(out, "cuzk_jobs_unwritten", "gauge", "Jobs that have ended, which the journal could not be told yet.",
        st->n_unwritten);
    put_fleet(out, st);
    put_histograms(out, st);
}

cuzk_status zk_rpc_metrics_text(char **text, size_t *n, zk_engine *engine, const zk_rpc_server *server, cuzk_err *err) {
    zk_engine_status *st = NULL;
    *text = NULL;
    ZK_TRY(zk_engine_get_status(&st, engine, err));
    FILE *out = open_memstream(text, n);
    bool good = out != NULL;
    if (out) {
        print(out, st);
        zk_rpc_server_print_metrics(out, server);
        good = !ferror(out);
        good &= fclose(out) == 0;
    }
    zk_engine_status_destroy(st);
    if (good) return CUZK_OK;
    free(*text);
    *text = NULL;
    return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for metrics");
}
