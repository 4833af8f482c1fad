/* Copies of the state for whoever looks, histograms, traces. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/span.h"
#include "engine/circuits.h"
#include "engine/engine_impl.h"
#include "engine/memory.h"

enum { MAX_TRACES = 64, MAX_TRACE_BYTES = 8 << 20 };

const double zk_histogram_bounds[ZK_HISTOGRAM_BUCKETS - 1] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                                              1,     2.5,    5,     10,   25,    50,   100, 300,  1000};

const char *zk_partition_state_name(zk_partition_state state) {
    static const char *const names[] = {"pending", "synthesizing", "synth_done", "gpu", "done", "failed"};
    return (unsigned)state < sizeof names / sizeof *names ? names[state] : "unknown";
}

const char *zk_worker_state_name(zk_worker_state state) {
    static const char *const names[] = {"starting", "idle",    "preparing", "loading",
                                        "proving",  "stopped", "off",       "retired"};
    return (unsigned)state < sizeof names / sizeof *names ? names[state] : "unknown";
}

void engine_observe(zk_engine *engine, unsigned histogram, uint64_t ns) {
    zk_histogram *h = &engine->histograms[histogram];
    unsigned i = 0;
    while (i < ZK_HISTOGRAM_BUCKETS - 1 && (double)ns * 1e-9 > zk_histogram_bounds[i]) i++;
    h->bucket[i]++;
    h->n++;
    h->sum_ns += ns;
}

/* ---- traces ---- */

/* The events between the brackets of a worker's document; process and lane stand in for the writer's constants. */
static size_t copy_events(char *out, const char *text, size_t n_text, int pid, unsigned lane) {
    const char *at = memchr(text, '[', n_text), *end = text + n_text;
    size_t n = 0;
    if (!at) return 0;
    while (end > at && end[-1] != ']') end--;
    if (end <= at) return 0;
    end--;
    static const char constant[] = "\"pid\":1,\"tid\":1";
    for (at++; at < end;) {
        if ((size_t)(end - at) >= sizeof constant - 1 && memcmp(at, constant, sizeof constant - 1) == 0) {
            n += (size_t)sprintf(out + n, "\"pid\":%d,\"tid\":%u", pid, lane);
            at += sizeof constant - 1;
        } else {
            out[n++] = *at++;
        }
    }
    return n;
}

static void trim_traces(zk_engine *engine) {
    size_t n = 0, bytes = 0;
    for (engine_trace **at = &engine->traces; *at;) {
        engine_trace *t = *at;
        n++;
        bytes += t->n_events;
        if (n > 1 && (n > MAX_TRACES || bytes > MAX_TRACE_BYTES)) {
            *at = t->next;
            bytes -= t->n_events;
            free(t->events);
            free(t);
        } else {
            at = &t->next;
        }
    }
}

void engine_trace_add(zk_engine *engine, const char *job_id, const engine_lane *lane, const char *text, size_t n_text) {
    if (!n_text) return;
    engine_trace **at = &engine->traces;
    while (*at && strcmp((*at)->job_id, job_id) != 0) at = &(*at)->next;
    engine_trace *t = *at;
    if (t) {
        *at = t->next;
    } else {
        t = zk_calloc(1, sizeof *t);
        if (!t) return;
        snprintf(t->job_id, sizeof t->job_id, "%s", job_id);
    }
    t->next = engine->traces;
    engine->traces = t;
    /* a process number has at most ten digits, an event more than 40 bytes */
    char *events = zk_realloc(t->events, t->n_events + n_text + n_text / 4 + 16);
    if (!events) return;
    t->events = events;
    size_t start = t->n_events;
    if (start) events[t->n_events++] = ',';
    size_t n =
        copy_events(events + t->n_events, text, n_text, (int)lane->first->pid, engine_lane_is_second(lane) ? 2 : 1);
    t->n_events = n ? t->n_events + n : start;
    trim_traces(engine);
}

cuzk_status zk_engine_trace(zk_engine *engine, const char *job_id, FILE *out, cuzk_err *err) {
    char *copy = NULL;
    size_t n = 0;
    bool found = !job_id;
    FILE *memory = open_memstream(&copy, &n);
    if (!memory) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a trace");
    engine_lock(engine);
    bool first = true;
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        const engine_lane *lane = &engine->lanes[i];
        if (!lane->pid) continue;
        fprintf(memory, "%s{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"worker %u (%s)\"}}",
                first ? "" : ",\n", (int)lane->pid, i, lane->device_kind);
        first = false;
    }
    for (const engine_trace *t = engine->traces; t; t = t->next) {
        if (job_id && strcmp(t->job_id, job_id) != 0) continue;
        found = true;
        if (!t->n_events) continue;
        if (!first) fputc(',', memory);
        fwrite(t->events, 1, t->n_events, memory);
        first = false;
    }
    engine_unlock(engine);
    cuzk_status status = CUZK_OK;
    if (fclose(memory) != 0) status = ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a trace");
    if (status == CUZK_OK && !found) status = ZK_FAIL(err, CUZK_NOT_FOUND, "%.40s: no trace of such a job", job_id);
    if (status == CUZK_OK) {
        fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", out);
        fwrite(copy, 1, n, out);
        fputs("\n]}\n", out);
        if (ferror(out)) status = ZK_FAIL(err, CUZK_IO, "a trace could not be written");
    }
    free(copy);
    return status;
}

/* ---- status ---- */

/* One block of memory for all arrays: counted first, then filled. */
typedef struct builder {
    zk_engine_status status;
    zk_layout layout;
    zk_queue_view *queues;
    zk_job_view *jobs;
    zk_partition_view *partitions;
    zk_worker_view *workers;
    zk_srs_view *srs;
    zk_memory_view *memory;
    zk_histogram *histograms;
    zk_machine_view *machines;
    size_t n_partitions, max_srs, max_memory;
} builder;

static void lay_out(builder *b, const zk_engine *engine) {
    b->queues = zk_layout_take(&b->layout, "queues", ZK_N_KINDS, sizeof *b->queues, 8);
    b->jobs = zk_layout_take(&b->layout, "jobs", engine->n_jobs, sizeof *b->jobs, 8);
    b->partitions = zk_layout_take(&b->layout, "partitions", b->n_partitions, sizeof *b->partitions, 8);
    b->workers = zk_layout_take(&b->layout, "workers", engine->n_lanes, sizeof *b->workers, 8);
    b->srs = zk_layout_take(&b->layout, "srs", b->max_srs, sizeof *b->srs, 8);
    b->memory = zk_layout_take(&b->layout, "memory", b->max_memory, sizeof *b->memory, 8);
    b->histograms = zk_layout_take(&b->layout, "histograms", N_HISTOGRAMS, sizeof *b->histograms, 8);
    b->machines = zk_layout_take(&b->layout, "machines", engine->n_machines, sizeof *b->machines, 8);
}

static void view_job(builder *b, zk_engine *engine, const engine_job *job, uint64_t now) {
    zk_job_view *v = &b->jobs[b->status.n_jobs++];
    *v = (zk_job_view){
        .kind = (zk_proof_kind)job->meta.kind,
        .priority = job->priority,
        .running = job->started_ns != 0,
        .accepted_ago_ms = engine_ms(now - job->accepted_ns),
        .started_ago_ms = job->started_ns ? engine_ms(now - job->started_ns) : 0,
        .n_partitions = job->n_partitions,
        .n_done = job->n_done,
        .partitions = b->partitions + b->n_partitions,
    };
    memcpy(v->job_id, job->meta.job_id, sizeof v->job_id);
    memcpy(v->request_id, job->request_id, sizeof v->request_id);
    memcpy(v->circuit_id, job->circuit_id, sizeof v->circuit_id);
    for (uint32_t i = 0; i < job->n_partitions; i++) {
        const engine_partition *p = &job->partitions[i];
        b->partitions[b->n_partitions++] = (zk_partition_view){
            .index = i,
            .state = p->state,
            .synth_ms = engine_ms(p->synth_ns + (p->synth_start_ns ? now - p->synth_start_ns : 0)),
            .gpu_ms = engine_ms(p->gpu_ns + (p->gpu_start_ns ? now - p->gpu_start_ns : 0)),
            .attempts = p->attempts,
            .worker = p->lane,
        };
    }
    (void)engine;
}

static void view_jobs(builder *b, zk_engine *engine) {
    uint64_t now = zk_now_ns();
    b->n_partitions = 0;
    for (size_t i = 0; i < engine->n_jobs; i++) {
        const engine_job *job = engine->jobs[i];
        if (!engine_job_is_open(job)) continue;
        zk_queue_view *q = &b->queues[job->meta.kind < ZK_N_KINDS ? job->meta.kind : 0];
        if (job->started_ns)
            q->in_progress++;
        else
            q->pending++;
        if (job->started_ns) view_job(b, engine, job, now);
    }
    /* the queue, in its order: positions are a permutation, found one after the other */
    size_t first = b->status.n_jobs;
    for (size_t i = 0; i < engine->n_jobs; i++)
        if (engine_job_is_open(engine->jobs[i]) && !engine->jobs[i]->started_ns)
            view_job(b, engine, engine->jobs[i], now);
    size_t n = b->status.n_jobs - first;
    if (n > 1000) return; /* a very long queue is shown in order of acceptance */
    for (size_t i = 0; i < n; i++) {
        const engine_job *job = engine_job_find(engine, b->jobs[first + i].job_id);
        b->jobs[first + i].queue_position = job ? engine_queue_position(engine, job) : 0;
    }
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && b->jobs[first + k].queue_position < b->jobs[first + k - 1].queue_position; k--) {
            zk_job_view swap = b->jobs[first + k];
            b->jobs[first + k] = b->jobs[first + k - 1];
            b->jobs[first + k - 1] = swap;
        }
}

/* A second lane is there when its process has room for it. */
static bool is_visible(const engine_lane *lane) {
    bool wide = !engine_lane_is_second(lane) || engine_lane_is_busy(lane);
    for (unsigned i = 0; i < lane->first->n_circuits && !wide; i++) wide = lane->first->circuits[i].n_lanes > 1;
    return wide;
}

static void view_worker(zk_worker_view *v, const engine_lane *lane) {
    uint64_t now = zk_now_ns();
    const engine_lane *first = lane->first;
    *v = (zk_worker_view){
        .id = lane->id,
        .process = first->id,
        .pid = first->pid,
        .state = first->state == ZK_WORKER_RETIRED ? ZK_WORKER_RETIRED
                 : lane->stopped                   ? ZK_WORKER_STOPPED
                                                   : lane->state,
        .min_priority = lane->min_priority,
        .kind = lane->task.kind,
        .partition = lane->task.type == TASK_PROVE ? (int64_t)lane->partition : -1,
        .busy_ms = lane->task.type != TASK_NONE && lane->task.start_ns ? engine_ms(now - lane->task.start_ns) : 0,
        .still_ms = engine_lane_is_busy(lane) ? (int64_t)engine_ms(lane->task.stall.still_ns) : -1,
        .n_proved = lane->n_proved,
        .n_wrong = lane->n_wrong,
        .n_crashes = lane->n_crashes,
        .n_starts = lane->n_starts,
        .rss_bytes = lane->pid ? zk_memory_of_process(lane->pid) : 0,
        .reserved_bytes = lane->host_bytes,
        .device_reserved_bytes = lane->device_bytes,
        .checks_only = lane->role == ROLE_CHECKER,
        .device_ordinal = lane->on->ordinal,
        .memory_total_bytes = first->device_total_bytes ? first->device_total_bytes : lane->engine->machine_bytes,
        .memory_free_bytes = first->device_total_bytes ? first->device_free_bytes : zk_memory_available(),
    };
    memcpy(v->device_kind, lane->device_kind, sizeof v->device_kind);
    memcpy(v->device, lane->device, sizeof v->device);
    memcpy(v->stage, lane->stage, sizeof v->stage);
    if (lane->task.job) memcpy(v->job_id, lane->task.job->meta.job_id, sizeof v->job_id);
}

static zk_srs_view *srs_of(builder *b, zk_proof_kind kind, uint64_t sector_bytes) {
    char id[ZK_CIRCUIT_ID_BYTES];
    if (zk_circuit_id(id, kind, sector_bytes, NULL) != CUZK_OK) return NULL;
    for (size_t i = 0; i < b->status.n_srs; i++)
        if (strcmp(b->srs[i].circuit_id, id) == 0) return &b->srs[i];
    if (b->status.n_srs == b->max_srs) return NULL;
    zk_srs_view *v = &b->srs[b->status.n_srs++];
    *v = (zk_srs_view){.tier = ZK_SRS_COLD, .evictable = false};
    memcpy(v->circuit_id, id, sizeof v->circuit_id);
    return v;
}

/* A file that is loaded is mapped: what of it has been read shows as memory of the process, until the end. */
static void view_progress(zk_srs_view *v, engine_lane *lane) {
    uint64_t files = lane->pid && strcmp(lane->stage, "load") == 0 ? zk_memory_of_files(lane->pid) : 0;
    uint64_t done = files > lane->load_base_bytes ? files - lane->load_base_bytes : 0;
    if (done > lane->load_done_bytes) lane->load_done_bytes = done;
    if (!v->load_total_bytes || lane->load_done_bytes < v->load_done_bytes) v->load_done_bytes = lane->load_done_bytes;
    v->load_total_bytes = UINT64_MAX; /* the file is asked later */
}

static void view_srs(builder *b, zk_engine *engine) {
    uint64_t now = zk_now_ns();
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        engine_lane *lane = &engine->lanes[i];
        for (unsigned k = 0; k < lane->n_circuits; k++) {
            const engine_circuit *c = &lane->circuits[k];
            zk_srs_view *v = srs_of(b, c->kind, c->sector_bytes);
            if (!v) continue;
            bool used = engine_circuit_in_use(lane, c);
            uint64_t ago = used ? 0 : engine_ms(now - c->last_used_ns);
            v->last_used_ago_ms = v->n_workers && v->last_used_ago_ms < ago ? v->last_used_ago_ms : ago;
            v->n_workers++;
            v->ref_count += used;
            v->loading |= c->loading;
            v->prepared |= c->prepared && !c->loading;
            if (c->loading) view_progress(v, lane);
            v->bytes += c->bytes + c->host_bytes;
            if (!c->loading) v->tier = ZK_SRS_HOT;
            v->evictable = v->ref_count == 0;
        }
    }
    for (unsigned i = 0; i < engine->n_warm; i++) {
        const engine_warm *w = &engine->warm[i];
        zk_srs_view *v = w->is_warm && !w->prepared ? srs_of(b, w->kind, w->sector_bytes) : NULL;
        if (!v) continue;
        v->locked = w->locked;
        if (v->tier == ZK_SRS_HOT) continue;
        v->tier = ZK_SRS_WARM;
        if (!v->n_workers) v->last_used_ago_ms = engine_ms(now - w->last_used_ns);
        v->evictable = !v->loading;
    }
}

typedef struct key_files {
    builder *b;
    zk_engine *engine;
} key_files;

/* What the disk says. Without the lock. */
static void view_file(void *ctx, zk_proof_kind kind, uint64_t sector_bytes) {
    key_files *files = ctx;
    char path[ZK_KEY_PATH_BYTES];
    uint8_t sha256[32];
    uint64_t bytes = 0;
    if (zk_circuit_key_path(path, &bytes, files->engine->options.param_cache, kind, sector_bytes, NULL) != CUZK_OK)
        return;
    zk_srs_view *v = srs_of(files->b, kind, sector_bytes);
    if (!v) return;
    if (!v->n_workers) v->bytes = bytes;
    if (zk_digests_get(sha256, files->engine->digests, path)) zk_hex_encode(v->sha256, sha256, 32);
    if (!v->load_total_bytes) return;
    v->load_total_bytes = bytes;
    if (v->load_done_bytes > bytes) v->load_done_bytes = bytes;
}

static void add_memory(builder *b, const char *name, uint64_t current, uint64_t peak) {
    for (size_t i = 0; i < b->status.n_memory; i++)
        if (strcmp(b->memory[i].name, name) == 0) {
            b->memory[i].current_bytes += current;
            b->memory[i].peak_bytes += peak;
            return;
        }
    if (b->status.n_memory == b->max_memory) return;
    zk_memory_view *v = &b->memory[b->status.n_memory++];
    *v = (zk_memory_view){.current_bytes = current, .peak_bytes = peak};
    snprintf(v->name, sizeof v->name, "%s", name);
}

static void view_memory(builder *b, const zk_engine *engine) {
    for (unsigned i = 0; i < engine->n_lanes; i++)
        for (const char *line = engine->lanes[i].memory_text; line && *line;) {
            uint64_t current, peak;
            int n = 0;
            size_t length = strcspn(line, "\n");
            if (sscanf(line, "%" SCNu64 " %" SCNu64 " %n", &current, &peak, &n) == 2 && n && (size_t)n < length) {
                char name[48];
                snprintf(name, sizeof name, "%.*s", (int)(length - (size_t)n), line + n);
                add_memory(b, name, current, peak);
            }
            line += length + (line[length] == '\n');
        }
    zk_mem_row rows[32];
    size_t n_rows = zk_mem_rows(rows, 32);
    for (size_t i = 0; i < n_rows && i < 32; i++)
        add_memory(b, rows[i].name, rows[i].current_bytes, rows[i].peak_bytes);
}

static void view_fleet(builder *b, const zk_engine *engine) {
    uint64_t since_ms = engine_ms(zk_now_ns() - engine->machines_seen_ns);
    b->status.fleet = zk_journal_is_shared(engine->journal);
    b->status.fleet_lost = engine->fleet_lost;
    b->status.n_machines = engine->n_machines;
    for (size_t i = 0; i < engine->n_machines; i++) {
        b->machines[i] = engine->machines[i];
        b->machines[i].seen_ago_ms += since_ms;
        b->machines[i].started_ago_ms += since_ms;
    }
}

static void view_counters(zk_engine_status *s, zk_queue_view *queues, const zk_engine *engine) {
    for (unsigned k = 1; k < ZK_N_KINDS; k++) {
        const engine_kind_counters *c = &engine->kinds[k];
        queues[k].kind = (zk_proof_kind)k;
        queues[k].n_completed = c->n_completed;
        queues[k].n_failed = c->n_failed;
        queues[k].n_cancelled = c->n_cancelled;
        queues[k].duration_sum_ns = c->duration_sum_ns;
        queues[k].n_durations = c->n_durations;
        s->n_completed += c->n_completed;
        s->n_failed += c->n_failed;
        s->n_cancelled += c->n_cancelled;
    }
    s->uptime_ms = engine_ms(zk_now_ns() - engine->start_ns);
    s->draining = engine->draining;
    s->memory_budget_bytes = engine->host.budget_bytes;
    s->memory_reserved_bytes = engine->host.reserved_bytes;
    s->memory_base_bytes = engine->host.base_bytes;
    s->machine_memory_bytes = engine->machine_bytes;
    s->n_submitted = engine->n_submitted;
    s->n_joined = engine->n_joined;
    s->n_rejected = engine->n_rejected;
    s->n_worker_crashes = engine->n_crashes;
    s->n_worker_stalls = engine->n_stalls;
    s->n_retries = engine->n_retries;
    s->n_wrong_proofs = engine->n_wrong;
    s->n_preempted = engine->n_preempted;
    s->n_prepared_ahead = engine->n_ahead;
    s->n_together = engine->n_together;
    s->unaccounted_ns = engine->unaccounted_ns;
    s->traced_ns = engine->traced_ns;
    s->n_watches = engine->n_watches;
    memcpy(s->journal_error, engine->journal_error, sizeof s->journal_error);
    for (size_t i = 0; i < engine->n_jobs; i++) {
        s->spool_bytes += engine->jobs[i]->file_bytes;
        s->n_unwritten += engine->jobs[i]->phase == ENGINE_UNWRITTEN;
    }
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        s->retire_pending_bytes += engine->lanes[i].retire_pending_bytes;
        s->retire_pending_items += engine->lanes[i].retire_pending_items;
    }
}

cuzk_status zk_engine_get_status(zk_engine_status **out, zk_engine *engine, cuzk_err *err) {
    builder b = {.max_srs = 4 * ENGINE_MAX_CIRCUITS, .max_memory = 128};
    cuzk_status status = CUZK_OK;
    engine_lock(engine);
    for (size_t i = 0; i < engine->n_jobs; i++) b.n_partitions += engine->jobs[i]->n_partitions;
    lay_out(&b, engine);
    size_t head = (sizeof b.status + 63) / 64 * 64;
    zk_engine_status *s = b.layout.failed ? NULL : zk_malloc(head + b.layout.n_bytes);
    if (!s) {
        status = ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a status");
        goto out;
    }
    zk_layout measured = b.layout;
    b.layout = (zk_layout){0};
    zk_layout_deal(&b.layout, (uint8_t *)s + head, measured.n_bytes);
    lay_out(&b, engine);
    memset(b.queues, 0, ZK_N_KINDS * sizeof *b.queues);
    view_jobs(&b, engine);
    for (unsigned i = 0; i < engine->n_lanes; i++)
        if (is_visible(&engine->lanes[i])) view_worker(&b.workers[b.status.n_workers++], &engine->lanes[i]);
    view_srs(&b, engine);
    view_memory(&b, engine);
    view_counters(&b.status, b.queues, engine);
    view_fleet(&b, engine);
    memcpy(b.histograms, engine->histograms, sizeof engine->histograms);
out:
    engine_unlock(engine);
    if (status != CUZK_OK) return status;
    /* the disk is asked without the lock */
    zk_circuit_each(view_file, &(key_files){&b, engine});
    b.status.journal_bytes = engine->journal->ops->size_bytes(engine->journal);
    b.status.own_bytes = zk_memory_own_of(getpid());
    zk_memory_heap(&b.status.heap_live_bytes, &b.status.heap_free_bytes);
    b.status.queues = b.queues + 1;
    b.status.n_queues = ZK_N_KINDS - 1;
    b.status.jobs = b.jobs;
    b.status.workers = b.workers;
    b.status.srs = b.srs;
    b.status.memory = b.memory;
    b.status.histograms = b.histograms;
    b.status.machines = b.machines;
    b.status.n_histograms = N_HISTOGRAMS;
    *s = b.status;
    *out = s;
    return CUZK_OK;
}

void zk_engine_status_destroy(zk_engine_status *status) { free(status); }
