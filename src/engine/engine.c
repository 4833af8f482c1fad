/* The life of an engine: what is found on disk at its start, its threads, housekeeping, drain and end. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/rand.h"
#include "base/span.h"
#include "engine/engine_impl.h"
#include "engine/memory.h"
#include "groth16/prove.h"

enum { HOUSEKEEPING_MS = 250, EXPIRE_EVERY_S = 60, TRIM_EVERY_S = 5 };

/* ---- what is on disk ---- */

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
    char *record = zk_asprintf("%s.keys", engine->options.journal_path);
    if (!record) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the path of the digests");
    cuzk_status status = zk_digests_open(&engine->digests, record, engine->options.manifest, err);
    free(record);
    return status;
}

/* A journal that is gone would be made anew, and what it had accepted be swept from the spool. */
static cuzk_status check_not_lost(const zk_engine_options *o, cuzk_err *err) {
    struct stat there;
    bool is_new = stat(o->journal_path, &there) == 0 ? there.st_size == 0 : errno == ENOENT;
    uint64_t n = is_new ? zk_spool_count(o->spool_dir) : 0;
    if (!n) return CUZK_OK;
    return ZK_FAIL(err, CUZK_BAD_INPUT,
                   "%s: there is no journal, but %s has %" PRIu64
                   " requests of one: put it back, make one of them with "
                   "`cuzk journal salvage %s`, or remove them",
                   o->journal_path, o->spool_dir, n, o->journal_path);
}

static cuzk_status open_journal(zk_engine *engine, cuzk_err *err) {
    const zk_engine_options *o = &engine->options;
    if (!o->fleet_dsn) {
        ZK_TRY(check_not_lost(o, err));
        ZK_TRY(zk_journal_open_sqlite(&engine->journal, o->journal_path, err));
        return engine->journal->ops->each_open(engine->journal, recover_job, engine, err);
    }
    const zk_journal_fleet fleet = {
        .dsn = o->fleet_dsn, .machine = o->fleet_machine, .lease_ms = o->fleet_lease_ms, .path = o->journal_path};
    ZK_TRY(zk_journal_open_fleet(&engine->journal, &fleet, err));
    ZK_TRY(zk_rand_bytes((uint8_t *)&engine->first_partition, sizeof engine->first_partition, err));
    engine->first_partition %= 1u << 16;
    ZK_TRY(engine_fleet_sync(engine, false, err));
    return engine_fleet_beat(engine, err);
}

/* What lies there is this engine's alone: two with one folder would sweep each other's jobs away. A file system without
 * locks of folders has none of that. */
static cuzk_status lock_spool(zk_engine *engine, cuzk_err *err) {
    const char *folder = engine->options.spool_dir;
    engine->spool_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (engine->spool_fd >= 0 && flock(engine->spool_fd, LOCK_EX | LOCK_NB) == 0) return CUZK_OK;
    if (errno == EWOULDBLOCK) return ZK_FAIL(err, CUZK_EXHAUSTED, "%s: another daemon has this spool folder", folder);
    ZK_LOG_WARN("the spool folder cannot be locked", zk_kv_str("path", folder), zk_kv_str("error", strerror(errno)));
    return CUZK_OK;
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

/* ---- housekeeping ---- */

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

void zk_engine_set_stall_limit(zk_engine *engine, uint64_t ms) {
    engine_lock(engine);
    engine->options.stall_limit_ms = ms;
    engine_unlock(engine);
}

/* Jobs whose time is over. */
static void limit_jobs(zk_engine *engine) {
    uint64_t limit = engine->options.job_limit_ms * 1000000;
    while (limit) {
        engine_job *late = NULL;
        engine_lock(engine);
        uint64_t now = zk_now_ns();
        for (size_t i = 0; i < engine->n_jobs && !late; i++)
            if (engine_job_is_open(engine->jobs[i]) && now - engine->jobs[i]->accepted_ns > limit)
                late = engine->jobs[i];
        char work[320], text[400];
        if (late) {
            engine_job_hold(late);
            describe_work(work, sizeof work, engine, late);
        }
        engine_unlock(engine);
        if (!late) return;
        snprintf(text, sizeof text, "not done within the limit of %" PRIu64 " ms: %s", engine->options.job_limit_ms,
                 work);
        engine_job_end(engine, late, ZK_OUTCOME_FAILED, CUZK_EXHAUSTED, text);
        engine_job_release(engine, late);
    }
}

/* Jobs that nobody is left for; in a fleet others may do them. */
static void fail_orphans(zk_engine *engine) {
    while (!zk_journal_is_shared(engine->journal)) {
        engine_job *orphan = NULL;
        engine_lock(engine);
        /* one that ended while the daemon itself stood still is not lost */
        for (unsigned i = 0; i < engine->n_lanes; i++) engine_lane_look_for_end(&engine->lanes[i]);
        for (size_t i = 0; i < engine->n_jobs && !orphan; i++)
            if (engine_job_is_open(engine->jobs[i]) && !engine_some_lane_left(engine, engine->jobs[i]))
                orphan = engine->jobs[i];
        if (orphan) engine_job_hold(orphan);
        engine_unlock(engine);
        if (!orphan) return;
        engine_job_end(engine, orphan, ZK_OUTCOME_FAILED, CUZK_DEVICE,
                       "no worker is left for this job: all were retired, hang, or are too small for its keys");
        engine_job_release(engine, orphan);
    }
}

/* What this process takes, for messages on their way, results and the like, is part of the host's base. */
static void measure_self(zk_engine *engine) {
    uint64_t own = zk_memory_own_of(getpid());
    engine_lock(engine);
    engine->host.base_bytes = engine->host.base_bytes - engine->own_base_bytes + own;
    engine->own_base_bytes = own;
    engine_unlock(engine);
}

static void *housekeep(void *ctx) {
    zk_engine *engine = ctx;
    uint64_t next_expire = 0, next_trim = 0;
    for (;;) {
        engine_lock(engine);
        bool stopping = engine->stopping;
        engine_balance(engine); /* for limits of standing still */
        engine_unlock(engine);
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

/* ---- lanes ---- */

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

/* ---- life ---- */

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
    engine->spool_fd = -1;
    engine->start_ns = zk_now_ns();
    init_histograms(engine);
    ZK_GOTO(engine_options_take(engine, options, err));
    ZK_GOTO(engine_devices_find(engine, engine->options.devices, err));
    ZK_GOTO(make_folders(&engine->options, err));
    ZK_GOTO(open_digests(engine, err));
    ZK_GOTO(open_journal(engine, err));
    ZK_GOTO(lock_spool(engine, err));
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
    engine_lock(engine);
    engine->stopping = true;
    /* Threads may sit in a kernel of the worker's: it is ended, what it did is in the journal. */
    pthread_cond_broadcast(&engine->work);
    pthread_cond_broadcast(&engine->done);
    engine_unlock(engine);
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
    if (engine->spool_fd >= 0) close(engine->spool_fd);
    engine_options_free(&engine->options);
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
    engine_lock(engine);
    engine->draining = true;
    pthread_cond_broadcast(&engine->work);
    while (n_busy(engine) && zk_cond_wait_until(&engine->done, &engine->lock, until)) {}
    unsigned left = n_busy(engine);
    engine_unlock(engine);
    if (left)
        return ZK_FAIL(err, CUZK_EXHAUSTED,
                       "%u partitions still run after %" PRIu64 " ms; they are done again at the next start", left,
                       timeout_ms);
    return CUZK_OK;
}
