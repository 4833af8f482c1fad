#include "engine/engine.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/rand.h"
#include "base/span.h"
#include "engine/circuits.h"
#include "engine/engine_impl.h"
#include "engine/memory.h"
#include "groth16/prove.h"

enum { HOUSEKEEPING_MS = 250, EXPIRE_EVERY_S = 60, TRIM_EVERY_S = 5 };

/* ---- options ---- */

static cuzk_status copy_text(const char **out, const char *text, const char *suffix, cuzk_err *err) {
    char *copy = NULL;
    if (asprintf(&copy, "%s%s", text, suffix ? suffix : "") < 0)
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for options");
    *out = copy;
    return CUZK_OK;
}

static cuzk_status own_program(const char **out, cuzk_err *err) {
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) return ZK_FAIL(err, CUZK_IO, "/proc/self/exe: %s", strerror(errno));
    path[n] = 0;
    return copy_text(out, path, NULL, err);
}

/* That of the folder of the keys, if there is one and nothing else was asked for. */
static cuzk_status choose_manifest(zk_engine_options *o, const zk_engine_options *given, cuzk_err *err) {
    if (given->manifest && given->manifest[0]) return copy_text(&o->manifest, given->manifest, NULL, err);
    ZK_TRY(copy_text(&o->manifest, given->param_cache, "/parameters.json", err));
    if (access(o->manifest, F_OK) == 0) return CUZK_OK;
    free((void *)(uintptr_t)o->manifest);
    o->manifest = NULL;
    return copy_text(&o->manifest, "", NULL, err);
}

#define DEFAULT(member, value)                                                                                         \
    do {                                                                                                               \
        if (!o->member) o->member = (value);                                                                           \
    } while (0)

static cuzk_status take_options(zk_engine *engine, const zk_engine_options *given, cuzk_err *err) {
    zk_engine_options *o = &engine->options;
    *o = *given;
    o->param_cache = o->journal_path = o->spool_dir = o->evidence_dir = NULL;
    o->worker_program = o->devices = o->worker_fault = o->fleet_dsn = o->fleet_machine = NULL;
    o->manifest = NULL;
    if (!given->param_cache || !given->journal_path)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "options: the folder of the keys and the path of the journal are required");
    ZK_TRY(copy_text(&o->param_cache, given->param_cache, NULL, err));
    ZK_TRY(copy_text(&o->journal_path, given->journal_path, NULL, err));
    ZK_TRY(copy_text(&o->spool_dir, given->spool_dir ? given->spool_dir : given->journal_path,
                     given->spool_dir ? NULL : ".spool", err));
    ZK_TRY(copy_text(&o->evidence_dir, given->evidence_dir ? given->evidence_dir : given->journal_path,
                     given->evidence_dir ? NULL : ".evidence", err));
    ZK_TRY(copy_text(&o->devices, given->devices && given->devices[0] ? given->devices : "cpu", NULL, err));
    if (given->worker_program)
        ZK_TRY(copy_text(&o->worker_program, given->worker_program, NULL, err));
    else
        ZK_TRY(own_program(&o->worker_program, err));
    ZK_TRY(choose_manifest(o, given, err));
    if (given->worker_fault) ZK_TRY(copy_text(&o->worker_fault, given->worker_fault, NULL, err));
    if (given->fleet_dsn && given->fleet_dsn[0]) ZK_TRY(copy_text(&o->fleet_dsn, given->fleet_dsn, NULL, err));
    if (given->fleet_machine) ZK_TRY(copy_text(&o->fleet_machine, given->fleet_machine, NULL, err));
    DEFAULT(fleet_lease_ms, 30000);
    DEFAULT(n_workers, 1);
    DEFAULT(lanes_per_worker, o->n_workers == 1 ? 2 : 1);
    DEFAULT(max_content_bytes, (uint64_t)1 << 30);
    DEFAULT(max_queued, 10000);
    DEFAULT(retention_ms, UINT64_C(24) * 3600 * 1000);
    DEFAULT(aging_ms, 10 * 60 * 1000);
    DEFAULT(group_wait_ms, 5000);
    DEFAULT(max_attempts, 3);
    DEFAULT(lookahead, 1);
    DEFAULT(n_checkers, 1);
    if (o->lookahead > ZK_WORKER_MAX_LOOKAHEAD) o->lookahead = ZK_WORKER_MAX_LOOKAHEAD;
    if (o->n_checkers > 64) o->n_checkers = 64;
    if (o->n_workers > 256) return ZK_FAIL(err, CUZK_BAD_INPUT, "workers: found %u, at most 256", o->n_workers);
    engine->machine_bytes = zk_engine_memory_auto();
    engine->host.budget_bytes = o->memory_budget_bytes;
    if (!engine->host.budget_bytes) {
        DEFAULT(safety_margin_bytes, o->no_safety_margin ? 0 : engine->machine_bytes / 16);
        engine->host.budget_bytes = engine->machine_bytes > 2 * o->safety_margin_bytes
                                        ? engine->machine_bytes - o->safety_margin_bytes
                                        : engine->machine_bytes / 2;
    }
    return CUZK_OK;
}

static void free_options(zk_engine_options *o) {
    const char *const texts[] = {o->param_cache,    o->journal_path, o->spool_dir, o->evidence_dir,  o->devices,
                                 o->worker_program, o->worker_fault, o->fleet_dsn, o->fleet_machine, o->manifest};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free((void *)(uintptr_t)texts[i]);
}

/* ---- start ---- */

/* Found now, not by the first job. A disk that is full, or fails, may do so while a daemon runs as well: it starts, and
 * says so when it is asked for what it cannot do. */
static cuzk_status check_folder(const char *what, const char *path_in_it, cuzk_err *err) {
    cuzk_err found = {0};
    cuzk_status status = zk_file_check_writable(path_in_it, &found);
    if (status == CUZK_IO) {
        ZK_LOG_WARN("the disk cannot be written now", zk_kv_str("for", what), zk_kv_str("error", found.message));
        return CUZK_OK;
    }
    zk_err_prefix(&found, "%s", what);
    if (status != CUZK_OK && err) *err = found;
    return status;
}

static cuzk_status make_folders(const zk_engine_options *o, cuzk_err *err) {
    char folder[4096], content[ZK_SPOOL_PATH_BYTES];
    const char *slash = strrchr(o->journal_path, '/');
    if (slash && slash != o->journal_path) {
        if ((size_t)snprintf(folder, sizeof folder, "%.*s", (int)(slash - o->journal_path), o->journal_path) >=
            sizeof folder)
            return ZK_FAIL(err, CUZK_BAD_INPUT, "the path of the journal is too long");
        ZK_TRY(zk_folder_create(folder, err));
    }
    ZK_TRY(zk_file_check_regular(o->journal_path, err));
    ZK_TRY(check_folder("folder of the journal", o->journal_path, err));
    ZK_TRY(zk_folder_create(o->spool_dir, err));
    zk_spool_path(content, o->spool_dir, "job-0"); /* no job has this name; what a crash leaves is swept */
    return check_folder("spool folder", content, err);
}

static cuzk_status recover_job(void *ctx, const zk_journal_job *kept, cuzk_err *err) {
    engine_job *job = NULL;
    ZK_TRY(engine_job_add(&job, ctx, &kept->meta, kept->file_bytes, err));
    job->recovered = true;
    /* It has waited since it was accepted, not since this start. */
    uint64_t now_ms = zk_wall_ms(), age_ms = now_ms > kept->meta.accepted_ms ? now_ms - kept->meta.accepted_ms : 0;
    job->accepted_ns = job->accepted_ns / 1000000 > age_ms ? job->accepted_ns - age_ms * 1000000 : 0;
    return CUZK_OK;
}

static cuzk_status open_digests(zk_engine *engine, cuzk_err *err) {
    const char *record = NULL;
    ZK_TRY(copy_text(&record, engine->options.journal_path, ".keys", err));
    cuzk_status status = zk_digests_open(&engine->digests, record, engine->options.manifest, err);
    free((void *)(uintptr_t)record);
    return status;
}

static cuzk_status open_journal(zk_engine *engine, cuzk_err *err) {
    const zk_engine_options *o = &engine->options;
    if (!o->fleet_dsn) {
        ZK_TRY(zk_journal_open_sqlite(&engine->journal, o->journal_path, err));
        return engine->journal->ops->each_open(engine->journal, recover_job, engine, err);
    }
    const zk_journal_fleet fleet = {
        .dsn = o->fleet_dsn, .machine = o->fleet_machine, .lease_ms = o->fleet_lease_ms, .path = o->journal_path};
    ZK_TRY(zk_journal_open_fleet(&engine->journal, &fleet, err));
    ZK_TRY(zk_rand_bytes((uint8_t *)&engine->first_partition, sizeof engine->first_partition, err));
    engine->first_partition %= 1u << 16;
    ZK_TRY(engine_fleet_sync(engine, err));
    return engine_fleet_beat(engine, err);
}

/* Files of the spool that no open job owns are left over from an interrupted submit or end. */
static void sweep_spool(zk_engine *engine) {
    DIR *dir = opendir(engine->options.spool_dir);
    if (!dir) return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[ZK_SPOOL_PATH_BYTES], id[ZK_JOB_ID_BYTES];
        if (entry->d_name[0] == '.') {
            /* "." and "..", or a temporary file of the writer */
            if (!entry->d_name[1] || (entry->d_name[1] == '.' && !entry->d_name[2])) continue;
        } else {
            size_t n = strcspn(entry->d_name, ".");
            snprintf(id, sizeof id, "%.*s", (int)(n < sizeof id ? n : 0), entry->d_name);
            bool whole = strcmp(entry->d_name + n, ".spool") == 0;
            if (whole && engine_job_find(engine, id)) continue;
            if (strncmp(entry->d_name, "job-", 4) != 0) continue;
        }
        if (!strstr(entry->d_name, "job-")) continue; /* not ours */
        if ((size_t)snprintf(path, sizeof path, "%s/%s", engine->options.spool_dir, entry->d_name) < sizeof path)
            unlink(path);
    }
    closedir(dir);
}

static void expire_results(zk_engine *engine) {
    uint64_t ms = zk_wall_ms(), n = 0;
    if (ms < engine->options.retention_ms) return;
    cuzk_err err = {0};
    if (engine->journal->ops->expire(&n, engine->journal, ms - engine->options.retention_ms, &err) != CUZK_OK)
        ZK_LOG_ERROR("old results could not be forgotten", zk_kv_str("error", err.message));
}

/* What the workers of a job do, and since when: what does not come to an end is found by that. Needs the lock. */
static void describe_work(char *text, size_t n_text, const zk_engine *engine, const engine_job *job) {
    size_t at = 0;
    text[0] = 0;
    for (unsigned i = 0; i < engine->n_lanes && at < n_text; i++) {
        const engine_lane *lane = &engine->lanes[i];
        if (lane->task.job != job) continue;
        at += (size_t)snprintf(text + at, n_text - at, "%sworker %u (%s%s) has been in stage %s", at ? "; " : "",
                               lane->id, lane->device_kind, lane->stopped ? ", stopped for urgent work" : "",
                               lane->stage[0] ? lane->stage : "none yet");
        if (lane->task.type == TASK_PROVE && at < n_text)
            at += (size_t)snprintf(text + at, n_text - at, " of partition %" PRIu32, lane->partition);
        if (at < n_text)
            at += (size_t)snprintf(text + at, n_text - at, " for %" PRIu64 " ms",
                                   engine_ms(zk_now_ns() - lane->stage_start_ns));
    }
    if (at == 0) snprintf(text, n_text, "no worker had it");
}

/* Jobs whose time is over. */
static void limit_jobs(zk_engine *engine) {
    uint64_t limit = engine->options.job_limit_ms * 1000000;
    while (limit) {
        engine_job *late = NULL;
        pthread_mutex_lock(&engine->lock);
        uint64_t now = zk_now_ns();
        for (size_t i = 0; i < engine->n_jobs && !late; i++)
            if (engine_job_is_open(engine->jobs[i]) && now - engine->jobs[i]->accepted_ns > limit)
                late = engine->jobs[i];
        char work[320], text[400];
        if (late) {
            engine_job_hold(late);
            describe_work(work, sizeof work, engine, late);
        }
        pthread_mutex_unlock(&engine->lock);
        if (!late) return;
        snprintf(text, sizeof text, "not done within the limit of %" PRIu64 " ms: %s", engine->options.job_limit_ms,
                 work);
        engine_job_end(engine, late, ZK_OUTCOME_FAILED, CUZK_EXHAUSTED, text);
        pthread_mutex_lock(&engine->lock);
        engine_job_drop(late);
        pthread_mutex_unlock(&engine->lock);
    }
}

/* Jobs that nobody is left for; in a fleet others may do them. */
static void fail_orphans(zk_engine *engine) {
    while (!zk_journal_is_shared(engine->journal)) {
        engine_job *orphan = NULL;
        pthread_mutex_lock(&engine->lock);
        for (size_t i = 0; i < engine->n_jobs && !orphan; i++)
            if (engine_job_is_open(engine->jobs[i]) && !engine_some_lane_left(engine, engine->jobs[i]))
                orphan = engine->jobs[i];
        if (orphan) engine_job_hold(orphan);
        pthread_mutex_unlock(&engine->lock);
        if (!orphan) return;
        engine_job_end(engine, orphan, ZK_OUTCOME_FAILED, CUZK_DEVICE,
                       "no worker is left for this job: all were retired, or are too small for its keys");
        pthread_mutex_lock(&engine->lock);
        engine_job_drop(orphan);
        pthread_mutex_unlock(&engine->lock);
    }
}

/* Messages on their way, results, this and that. */
static void measure_self(zk_engine *engine) {
    uint64_t own = zk_memory_own_of(getpid());
    pthread_mutex_lock(&engine->lock);
    engine->host.base_bytes = engine->host.base_bytes - engine->own_base_bytes + own;
    engine->own_base_bytes = own;
    pthread_mutex_unlock(&engine->lock);
}

static void *housekeep(void *ctx) {
    zk_engine *engine = ctx;
    uint64_t next_expire = 0, next_trim = 0;
    for (;;) {
        pthread_mutex_lock(&engine->lock);
        bool stopping = engine->stopping;
        engine_balance(engine); /* for limits of standing still */
        pthread_mutex_unlock(&engine->lock);
        if (stopping) return NULL;
        engine_jobs_retry(engine);
        limit_jobs(engine);
        measure_self(engine);
        fail_orphans(engine);
        if (zk_now_ns() >= next_expire) {
            expire_results(engine);
            next_expire = zk_now_ns() + EXPIRE_EVERY_S * ZK_SECOND_NS;
        }
        if (zk_now_ns() >= next_trim) {
            zk_memory_trim();
            next_trim = zk_now_ns() + TRIM_EVERY_S * ZK_SECOND_NS;
        }
        usleep(HOUSEKEEPING_MS * 1000);
    }
}

static void add_lane(zk_engine *engine, engine_role role, engine_device *on, zk_priority min_priority) {
    engine_lane *lane = &engine->lanes[engine->n_lanes];
    *lane = (engine_lane){.engine = engine, .id = engine->n_lanes++, .state = ZK_WORKER_OFF, .fd = -1};
    lane->role = role;
    lane->first = lane;
    lane->on = on;
    lane->min_priority = min_priority;
    snprintf(lane->device_kind, sizeof lane->device_kind, "%s", on->kind);
}

static void add_second(zk_engine *engine, engine_lane *first) {
    if (engine_device_is_cpu(first->on)) return;
    add_lane(engine, first->role, first->on, first->min_priority);
    first->beside = &engine->lanes[engine->n_lanes - 1];
    first->beside->first = first;
}

static cuzk_status start_lanes(zk_engine *engine, cuzk_err *err) {
    const zk_engine_options *o = &engine->options;
    engine_device *cpu = &engine->devices[engine->n_devices];
    bool devices = false;
    for (unsigned i = 0; i < engine->n_devices; i++) devices |= !engine_device_is_cpu(&engine->devices[i]);
    unsigned n_ordinary = engine->n_devices * o->n_workers;
    size_t max = 2 * (size_t)n_ordinary + 2 + o->n_checkers;
    engine->lanes = zk_calloc(max, sizeof *engine->lanes);
    if (!engine->lanes) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for %zu workers", max);
    for (unsigned i = 0; i < n_ordinary; i++)
        add_lane(engine, ROLE_ORDINARY, &engine->devices[i / o->n_workers], ZK_PRIORITY_LOW);
    /* Beside devices, what is urgent and small goes to the CPU when they are busy; what is large would take it minutes.
     */
    if (!o->no_express) add_lane(engine, ROLE_EXPRESS, cpu, ZK_PRIORITY_CRITICAL);
    if (!o->no_express && !devices) add_lane(engine, ROLE_EXPRESS, cpu, ZK_PRIORITY_HIGH);
    engine->checks_apart = devices && !o->no_checkers;
    for (unsigned i = 0; i < o->n_checkers && engine->checks_apart; i++)
        add_lane(engine, ROLE_CHECKER, cpu, ZK_PRIORITY_LOW);
    for (unsigned i = 0; i < n_ordinary && o->lanes_per_worker > 1; i++) add_second(engine, &engine->lanes[i]);
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        engine->lanes[i].text = zk_malloc(ZK_IPC_MAX_TEXT + 1);
        if (!engine->lanes[i].text) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for worker %u", i);
        if (pthread_create(&engine->lanes[i].thread, NULL, engine_lane_main, &engine->lanes[i]) != 0)
            return ZK_FAIL(err, CUZK_EXHAUSTED, "no thread for worker %u", i);
        engine->lanes[i].started = true;
    }
    return CUZK_OK;
}

static void init_histograms(zk_engine *engine) {
    static const char *const names[] = {"queue_wait", "prepare", "srs_load", "total"};
    for (unsigned i = 0; i < N_HISTOGRAMS; i++)
        snprintf(engine->histograms[i].name, sizeof engine->histograms[i].name, "%s",
                 i < HISTOGRAM_STAGES ? names[i] : zk_prove_stage_name((zk_prove_stage_id)(i - HISTOGRAM_STAGES)));
}

cuzk_status zk_engine_create(zk_engine **out, const zk_engine_options *options, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_engine *engine = zk_calloc(1, sizeof *engine);
    if (!engine) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the engine");
    pthread_mutex_init(&engine->lock, NULL);
    pthread_mutex_init(&engine->submit_lock, NULL);
    pthread_mutex_init(&engine->publics_lock, NULL);
    zk_cond_init(&engine->work);
    zk_cond_init(&engine->done);
    zk_cond_init(&engine->warm_work);
    engine->start_ns = zk_now_ns();
    init_histograms(engine);
    ZK_GOTO(take_options(engine, options, err));
    ZK_GOTO(engine_devices_find(engine, engine->options.devices, err));
    ZK_GOTO(make_folders(&engine->options, err));
    ZK_GOTO(open_digests(engine, err));
    ZK_GOTO(open_journal(engine, err));
    sweep_spool(engine);
    if (engine->n_jobs) ZK_LOG_INFO("unfinished jobs taken up", zk_kv_u64("jobs", engine->n_jobs));
    ZK_GOTO(start_lanes(engine, err));
    if (pthread_create(&engine->housekeeper, NULL, housekeep, engine) != 0)
        ZK_GOTO(ZK_FAIL(err, CUZK_EXHAUSTED, "no thread for housekeeping"));
    engine->housekeeping = true;
    ZK_GOTO(engine_warm_start(engine, err));
    if (zk_journal_is_shared(engine->journal)) {
        if (pthread_create(&engine->fleet_thread, NULL, engine_fleet_main, engine) != 0)
            ZK_GOTO(ZK_FAIL(err, CUZK_EXHAUSTED, "no thread for the fleet"));
        engine->fleet_running = true;
    }
    *out = engine;
    engine = NULL;
out:
    zk_engine_destroy(engine);
    return status;
}

/* Whoever still waits is told that the engine ends. */
static void interrupt_watches(engine_job *job) {
    zk_result result = {.kind = (zk_proof_kind)job->meta.kind, .outcome = ZK_OUTCOME_INTERRUPTED};
    memcpy(result.job_id, job->meta.job_id, sizeof result.job_id);
    while (job->watches) {
        zk_watch *w = job->watches;
        job->watches = w->next;
        w->fn(w->ctx, &result);
        free(w);
    }
}

void zk_engine_destroy(zk_engine *engine) {
    if (!engine) return;
    pthread_mutex_lock(&engine->lock);
    engine->stopping = true;
    /* Threads may sit in a kernel of the worker's: it is ended, what it did is in the journal. */
    pthread_cond_broadcast(&engine->work);
    pthread_cond_broadcast(&engine->done);
    pthread_mutex_unlock(&engine->lock);
    for (unsigned i = 0; i < engine->n_lanes; i++)
        if (engine->lanes[i].started) pthread_join(engine->lanes[i].thread, NULL);
    if (engine->housekeeping) pthread_join(engine->housekeeper, NULL);
    engine_warm_stop(engine);
    if (engine->fleet_running) pthread_join(engine->fleet_thread, NULL);
    if (engine->journal) engine_jobs_retry(engine);
    for (size_t i = 0; i < engine->n_jobs; i++) {
        interrupt_watches(engine->jobs[i]);
        engine_job_drop(engine->jobs[i]);
    }
    free(engine->jobs);
    for (unsigned i = 0; i < engine->n_lanes; i++) free(engine->lanes[i].text);
    free(engine->lanes);
    engine_vks_free(engine);
    free(engine->devices);
    zk_digests_close(engine->digests);
    free(engine->machines);
    while (engine->traces) {
        engine_trace *t = engine->traces;
        engine->traces = t->next;
        free(t->events);
        free(t);
    }
    if (engine->journal) engine->journal->ops->close(engine->journal);
    free_options(&engine->options);
    pthread_mutex_destroy(&engine->lock);
    pthread_mutex_destroy(&engine->submit_lock);
    pthread_mutex_destroy(&engine->publics_lock);
    pthread_cond_destroy(&engine->work);
    pthread_cond_destroy(&engine->done);
    pthread_cond_destroy(&engine->warm_work);
    free(engine);
}

static unsigned n_busy(const zk_engine *engine) {
    unsigned n = 0;
    for (unsigned i = 0; i < engine->n_lanes; i++) n += engine->lanes[i].task.type != TASK_NONE;
    return n;
}

cuzk_status zk_engine_drain(zk_engine *engine, uint64_t timeout_ms, cuzk_err *err) {
    uint64_t until = zk_now_ns() + timeout_ms * 1000000;
    pthread_mutex_lock(&engine->lock);
    engine->draining = true;
    pthread_cond_broadcast(&engine->work);
    while (n_busy(engine) && zk_cond_wait_until(&engine->done, &engine->lock, until)) {}
    unsigned left = n_busy(engine);
    pthread_mutex_unlock(&engine->lock);
    if (left)
        return ZK_FAIL(err, CUZK_EXHAUSTED,
                       "%u partitions still run after %" PRIu64 " ms; they are done again at the next start", left,
                       timeout_ms);
    return CUZK_OK;
}

/* ---- submit ---- */

static cuzk_status reach_fleet(const zk_engine *engine, cuzk_err *err) {
    return engine->fleet_lost ? ZK_FAIL(err, CUZK_IO, "the database of the fleet is out of reach: no new jobs for now")
                              : CUZK_OK;
}

cuzk_status zk_content_create(zk_content **content, zk_engine *engine, cuzk_err *err) {
    ZK_TRY(reach_fleet(engine, err)); /* before a large request is received in vain */
    return zk_content_open(content, engine->options.spool_dir, engine->options.max_content_bytes, err);
}

static cuzk_status check_request(const zk_engine *engine, const zk_engine_request *r, cuzk_err *err) {
    if (r->request_id && strlen(r->request_id) > ZK_REQUEST_ID_MAX_BYTES)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "request_id: found %zu bytes, at most %d", strlen(r->request_id),
                       ZK_REQUEST_ID_MAX_BYTES);
    if (r->kind <= ZK_KIND_UNSPECIFIED || r->kind >= ZK_N_KINDS)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "proof_kind: found %d, expected 1 to %d", (int)r->kind, ZK_N_KINDS - 1);
    if ((unsigned)r->priority >= ZK_N_PRIORITIES)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "priority: found %d, expected 0 to %d", (int)r->priority,
                       ZK_N_PRIORITIES - 1);
    /* A size that is not said is known once the input is read. */
    char path[ZK_KEY_PATH_BYTES];
    return r->sector_bytes ? zk_circuit_key_path(path, NULL, engine->options.param_cache, r->kind, r->sector_bytes, err)
                           : CUZK_OK;
}

static void fill_submitted(zk_submitted *s, zk_engine *engine, const engine_job *job) {
    s->queue_position = engine_queue_position(engine, job);
    for (unsigned i = 0; i < engine->n_lanes; i++)
        if (engine->lanes[i].task.job == job) snprintf(s->assigned, sizeof s->assigned, "%s", engine->lanes[i].device);
}

/* The job of an earlier submit of the same, if it is of use. Under submit_lock where the journal is not shared. */
static cuzk_status join(zk_submitted *s, zk_engine *engine, const zk_content_meta *meta, cuzk_err *err) {
    char id[ZK_JOB_ID_BYTES];
    zk_journal_state state;
    bool found = false;
    if (!meta->n_request_id) return CUZK_OK;
    cuzk_status status = engine->journal->ops->find(&found, id, &state, engine->journal, meta->request_id,
                                                    meta->n_request_id, meta->digest, err);
    ZK_TRY(engine_journal_went(engine, status, err));
    if (!found) return CUZK_OK;
    if (state == ZK_JOURNAL_OPEN) ZK_TRY(engine_fleet_know(engine, id, err));
    bool raised = false;
    pthread_mutex_lock(&engine->lock);
    engine_job *job = engine_job_find(engine, id);
    bool ending = job && job->phase >= ENGINE_ENDING; /* with a failure it is not kept */
    if (state == ZK_JOURNAL_COMPLETED || (job && (!ending || job->result.outcome == ZK_OUTCOME_COMPLETED))) {
        memcpy(s->job_id, id, sizeof s->job_id);
        s->joined = true;
        s->finished = !job || ending;
        if (job && !ending) {
            if ((zk_priority)meta->priority > job->priority) {
                job->priority = (zk_priority)meta->priority;
                raised = true;
                pthread_cond_broadcast(&engine->work);
            }
            fill_submitted(s, engine, job);
        }
        engine->n_joined++;
    }
    pthread_mutex_unlock(&engine->lock);
    if (raised && zk_journal_is_shared(engine->journal))
        return engine->journal->ops->raise(engine->journal, id, meta->priority, err);
    return CUZK_OK;
}

/* *accepted false: another machine was quicker with the same request. */
static cuzk_status accept(bool *accepted, zk_submitted *s, zk_engine *engine, const zk_content_meta *meta,
                          uint64_t file_bytes, cuzk_err *err) {
    char path[ZK_SPOOL_PATH_BYTES];
    zk_spool_path(path, engine->options.spool_dir, meta->job_id);
    cuzk_status status = engine->journal->ops->accept(accepted, engine->journal, meta, file_bytes, path, err);
    ZK_TRY(engine_journal_went(engine, status, err));
    if (!*accepted) return CUZK_OK;
    pthread_mutex_lock(&engine->lock);
    engine_job *job = engine_job_find(engine, meta->job_id); /* the fleet may have told already */
    status = job ? CUZK_OK : engine_job_add(&job, engine, meta, file_bytes, err);
    if (status == CUZK_OK) {
        job->recovered = zk_journal_is_shared(engine->journal); /* others may be first with a partition */
        memcpy(s->job_id, meta->job_id, sizeof s->job_id);
        fill_submitted(s, engine, job);
        pthread_cond_broadcast(&engine->work);
    }
    pthread_mutex_unlock(&engine->lock);
    if (status != CUZK_OK) {
        zk_journal_end end = {.state = ZK_JOURNAL_FAILED, .status = status, .message = "no memory for the job"};
        bool ended;
        cuzk_status told = engine->journal->ops->end(&ended, engine->journal, meta->job_id, &end, NULL);
        (void)told; /* if that fails, too, the job is done after a restart */
    }
    return status;
}

enum { SETTLE_TRIES = 50, SETTLE_US = 20000 };

/* Joins the job of the same request or becomes one. Where others share the journal, one of theirs may come between the
 * question and the answer, or may be about to end with a failure: then again. */
static cuzk_status join_or_accept(zk_submitted *s, zk_engine *engine, const zk_content_meta *meta, uint64_t file_bytes,
                                  cuzk_err *err) {
    for (unsigned i = 0; i < SETTLE_TRIES; i++) {
        bool accepted = false;
        if (i) usleep(SETTLE_US);
        ZK_TRY(join(s, engine, meta, err));
        if (s->joined) return CUZK_OK;
        ZK_TRY(accept(&accepted, s, engine, meta, file_bytes, err));
        if (accepted) return CUZK_OK;
    }
    return ZK_FAIL(err, CUZK_IO, "another machine is about to end a job of the same request");
}

static cuzk_status admit(zk_engine *engine, cuzk_err *err) {
    pthread_mutex_lock(&engine->lock);
    engine->n_submitted++;
    cuzk_status status = reach_fleet(engine, err);
    if (status != CUZK_OK) {
        /* as it says */
    } else if (engine->draining || engine->stopping)
        status = ZK_FAIL(err, CUZK_EXHAUSTED, "shutting down: no new jobs are accepted");
    else if (engine->n_jobs >= engine->options.max_queued)
        status = ZK_FAIL(err, CUZK_EXHAUSTED, "the queue is full: %zu jobs, the limit is %" PRIu32, engine->n_jobs,
                         engine->options.max_queued);
    pthread_mutex_unlock(&engine->lock);
    return status;
}

cuzk_status zk_engine_submit(zk_submitted *submitted, zk_engine *engine, const zk_engine_request *request,
                             zk_content *content, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_content_meta meta;
    uint64_t file_bytes = 0;
    bool on_disk = false, locked = false;
    char path[ZK_SPOOL_PATH_BYTES];
    *submitted = (zk_submitted){0};
    zk_spool_path(path, engine->options.spool_dir, zk_content_job_id(content));
    ZK_GOTO(admit(engine, err));
    ZK_GOTO(check_request(engine, request, err));
    zk_content *committed = content;
    content = NULL;
    ZK_GOTO(zk_content_commit(&meta, &file_bytes, committed, request, err));
    on_disk = true;
    if (!zk_journal_is_shared(engine->journal)) { /* a shared one refuses a second job of one request itself */
        pthread_mutex_lock(&engine->submit_lock);
        locked = true;
    }
    ZK_GOTO(join_or_accept(submitted, engine, &meta, file_bytes, err));
    if (!submitted->joined) {
        on_disk = false; /* the job's */
        ZK_LOG_INFO("job accepted", zk_kv_str("job", meta.job_id), zk_kv_str("request", request->request_id),
                    zk_kv_str("kind", zk_proof_kind_name(request->kind)), zk_kv_u64("bytes", file_bytes));
    }
out:
    if (locked) pthread_mutex_unlock(&engine->submit_lock);
    zk_content_abort(content);
    if (on_disk) unlink(path);
    if (status != CUZK_OK) {
        pthread_mutex_lock(&engine->lock);
        engine->n_rejected++;
        pthread_mutex_unlock(&engine->lock);
    }
    return status;
}

static cuzk_status put_blob(zk_content *content, zk_content_field field, const zk_blob *blob, cuzk_err *err) {
    if (!blob->n && field != ZK_CONTENT_VANILLA_PROOFS) return CUZK_OK;
    ZK_TRY(zk_content_field_begin(content, field, blob->n, err));
    return blob->n ? zk_content_write(content, blob->data, blob->n, err) : CUZK_OK;
}

cuzk_status zk_engine_submit_request(zk_submitted *submitted, zk_engine *engine, const zk_request *r, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_content *content = NULL;
    ZK_GOTO(zk_content_create(&content, engine, err));
    ZK_GOTO(put_blob(content, ZK_CONTENT_VANILLA_PROOF, &r->vanilla_proof, err));
    for (size_t i = 0; i < r->n_vanilla_proofs; i++)
        ZK_GOTO(put_blob(content, ZK_CONTENT_VANILLA_PROOFS, &r->vanilla_proofs[i], err));
    ZK_GOTO(put_blob(content, ZK_CONTENT_RANDOMNESS, &r->randomness, err));
    ZK_GOTO(put_blob(content, ZK_CONTENT_COMM_R_OLD, &r->comm_r_old, err));
    ZK_GOTO(put_blob(content, ZK_CONTENT_COMM_R_NEW, &r->comm_r_new, err));
    ZK_GOTO(put_blob(content, ZK_CONTENT_COMM_D_NEW, &r->comm_d_new, err));
    zk_engine_request request = {
        .request_id = r->request_id,
        .kind = r->kind,
        .priority = r->priority,
        .sector_bytes = r->sector_bytes,
        .registered_proof = r->registered_proof,
        .sector_number = r->sector_number,
        .miner_id = r->miner_id,
        .partition_index = r->partition_index,
    };
    zk_content *filled = content;
    content = NULL;
    status = zk_engine_submit(submitted, engine, &request, filled, err);
out:
    zk_content_abort(content);
    return status;
}

/* ---- keys ---- */

/* Devices whose workers are to load the keys; *loaded: those that have them. Needs the lock. */
static uint64_t devices_for(uint64_t *loaded, zk_engine *engine, const engine_key_call *call) {
    uint64_t wanted = 0;
    *loaded = 0;
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        engine_lane *lane = &engine->lanes[i];
        uint64_t bit = (uint64_t)1 << (lane->on - engine->devices);
        engine_circuit *c = engine_lane_circuit(lane, call->kind, call->sector_bytes);
        if (engine_lane_for_kind(engine, lane, call->kind)) wanted |= bit;
        if (c && !c->loading && !c->evict_wanted) *loaded |= bit;
    }
    return wanted;
}

/* Waits until every device has loaded the keys, or one has failed. Needs the lock. */
static void load_everywhere(zk_engine *engine, engine_key_call *call) {
    engine_key_call **at = &engine->key_calls;
    uint64_t loaded;
    while (*at) at = &(*at)->next;
    *at = call;
    pthread_cond_broadcast(&engine->work);
    for (;;) {
        uint64_t left = devices_for(&loaded, engine, call) & ~call->devices;
        bool more = left && call->status == CUZK_OK && !engine->stopping && !engine->draining;
        if (!call->n_running && !more) break;
        zk_cond_wait_until(&engine->done, &engine->lock, zk_now_ns() + ZK_SECOND_NS);
    }
    for (at = &engine->key_calls; *at != call; at = &(*at)->next) {}
    *at = call->next;
}

cuzk_status zk_engine_preload(bool *already_loaded, uint64_t *load_ms, zk_engine *engine, const char *circuit_id,
                              cuzk_err *err) {
    engine_key_call call = {.already_loaded = true};
    char path[ZK_KEY_PATH_BYTES];
    uint64_t loaded = 0, start = zk_now_ns();
    *already_loaded = false;
    *load_ms = 0;
    ZK_TRY(zk_circuit_parse(&call.kind, &call.sector_bytes, circuit_id, err));
    ZK_TRY(zk_circuit_key_path(path, NULL, engine->options.param_cache, call.kind, call.sector_bytes, err));
    pthread_mutex_lock(&engine->lock);
    bool refused = engine->draining || engine->stopping;
    uint64_t wanted = devices_for(&loaded, engine, &call);
    call.devices = loaded;
    if (!refused && wanted & ~loaded) load_everywhere(engine, &call);
    bool some = call.devices & ~loaded;
    pthread_mutex_unlock(&engine->lock);
    if (refused) return ZK_FAIL(err, CUZK_EXHAUSTED, "shutting down: no keys are loaded");
    if (!wanted) return ZK_FAIL(err, CUZK_DEVICE, "%s: no worker is left that could load the keys", circuit_id);
    if (wanted & ~loaded && !some) return ZK_FAIL(err, CUZK_CANCELLED, "the engine ends");
    if (call.status != CUZK_OK) {
        if (err && !err->status) *err = call.err;
        return call.status;
    }
    *already_loaded = call.already_loaded;
    *load_ms = some ? engine_ms(zk_now_ns() - start) : 0;
    return CUZK_OK;
}

cuzk_status zk_engine_evict(bool *was_loaded, uint64_t *freed_bytes, zk_engine *engine, const char *circuit_id,
                            cuzk_err *err) {
    zk_proof_kind kind;
    uint64_t sector_bytes;
    *was_loaded = false;
    *freed_bytes = 0;
    ZK_TRY(zk_circuit_parse(&kind, &sector_bytes, circuit_id, err));
    cuzk_status status = CUZK_OK;
    pthread_mutex_lock(&engine->lock);
    for (unsigned i = 0; i < engine->n_lanes && status == CUZK_OK; i++) {
        engine_circuit *c = engine_lane_circuit(&engine->lanes[i], kind, sector_bytes);
        if (c && engine_circuit_in_use(&engine->lanes[i], c))
            status = ZK_FAIL(err, CUZK_EXHAUSTED, "%s: in use by worker %u", circuit_id, i);
    }
    for (unsigned i = 0; i < engine->n_lanes && status == CUZK_OK; i++) {
        engine_circuit *c = engine_lane_circuit(&engine->lanes[i], kind, sector_bytes);
        if (!c) continue;
        *was_loaded = true;
        *freed_bytes += c->bytes + c->host_bytes;
        c->evict_wanted = true;
    }
    if (status == CUZK_OK) engine_warm_drop(engine, kind, sector_bytes);
    pthread_cond_broadcast(&engine->work);
    for (unsigned i = 0; i < engine->n_lanes && *was_loaded; i++)
        for (;;) { /* until it is really free */
            engine_circuit *c = engine_lane_circuit(&engine->lanes[i], kind, sector_bytes);
            if (!c || !c->evict_wanted || engine->stopping) break;
            zk_cond_wait_until(&engine->done, &engine->lock, zk_now_ns() + 100 * ZK_MS_NS);
        }
    pthread_mutex_unlock(&engine->lock);
    return status;
}
