/* A journal that other machines share: their jobs become known here, units are taken before work begins, leases are
 * renewed, results that could not be written are written later. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/span.h"
#include "engine/circuits.h"
#include "engine/engine_impl.h"

enum { WAIT_MS = 250, SYNC_EVERY_S = 10, BEATS_IN_LEASE = 4, MAX_CHANGES = 256, NO_KEYS_S = 60, NO_CONTENT_S = 10 };

/* Ids of jobs; `all`: too many, or not known which. */
typedef struct id_list {
    char (*ids)[ZK_JOB_ID_BYTES];
    size_t n, capacity;
    bool all;
} id_list;

static void list_add(id_list *list, const char *job_id) {
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->ids[i], job_id) == 0) return;
    if (list->n >= MAX_CHANGES || !zk_grow((void **)&list->ids, &list->capacity, list->n + 1, sizeof *list->ids)) {
        list->all = true;
        return;
    }
    snprintf(list->ids[list->n++], ZK_JOB_ID_BYTES, "%.*s", ZK_JOB_ID_BYTES - 1, job_id);
}

/* ---- what others did ---- */

typedef struct sight {
    zk_engine *engine;
    unsigned sync;       /* number of the round, 0: one job alone */
    bool told;           /* somebody said that something has changed */
    id_list more_proofs; /* jobs with partitions that were proved elsewhere */
} sight;

/* Needs the lock. */
static cuzk_status see_open(sight *s, engine_job *job, const zk_journal_job *seen, cuzk_err *err) {
    uint64_t now = zk_now_ns();
    zk_priority priority = engine_priority((zk_priority)seen->meta.priority, (zk_proof_kind)seen->meta.kind);
    if (priority > job->priority) job->priority = priority;
    if (seen->started && !job->started_ns) job->started_ns = now;
    if (seen->n_partitions && !job->partitions) {
        job->meta.kind = seen->meta.kind;
        job->meta.sector_bytes = seen->meta.sector_bytes;
        ZK_TRY(zk_circuit_id(job->circuit_id, (zk_proof_kind)job->meta.kind, job->meta.sector_bytes, err));
        ZK_TRY(engine_job_prepared(job, seen->n_partitions, err));
    }
    if (seen->n_done > job->n_done) list_add(&s->more_proofs, job->meta.job_id);
    if (s->told) job->not_before_ns = 0; /* asking again may pay */
    return CUZK_OK;
}

static cuzk_status see(void *ctx, const zk_journal_job *seen, cuzk_err *err) {
    sight *s = ctx;
    zk_engine *engine = s->engine;
    cuzk_status status = CUZK_OK;
    engine_lock(engine);
    engine_job *job = engine_job_find(engine, seen->meta.job_id);
    if (!job) {
        status = engine_job_add(&job, engine, &seen->meta, seen->file_bytes, err);
        if (status == CUZK_OK) {
            uint64_t now = zk_now_ns(), age_ns = seen->age_ms * 1000000;
            job->recovered = job->elsewhere = true;
            job->accepted_ns = now > age_ns ? now - age_ns : 0;
        }
    }
    if (status == CUZK_OK) {
        job->sync = s->sync;
        if (engine_job_is_open(job)) status = see_open(s, job, seen, err);
    }
    pthread_cond_broadcast(&engine->work);
    engine_unlock(engine);
    return status;
}

/* The job ended elsewhere, or is gone. Holds nothing; takes the lock. */
static cuzk_status see_over(zk_engine *engine, engine_job *job, cuzk_err *err) {
    zk_result kept;
    ZK_TRY(engine->journal->ops->result(&kept, engine->journal, job->meta.job_id, err));
    if (kept.outcome == ZK_OUTCOME_INTERRUPTED) return CUZK_OK; /* it is open, after all */
    if (kept.outcome == ZK_OUTCOME_UNKNOWN) {
        kept.kind = (zk_proof_kind)job->meta.kind;
        kept.outcome = ZK_OUTCOME_FAILED;
        kept.status = CUZK_IO;
        snprintf(kept.message, sizeof kept.message, "the job is gone from the database of the fleet");
    }
    engine_job_over(engine, job, &kept);
    zk_result_clear(&kept);
    return CUZK_OK;
}

static engine_job *hold_job(zk_engine *engine, const char *job_id) {
    engine_lock(engine);
    engine_job *job = engine_job_find(engine, job_id);
    if (job) engine_job_hold(job);
    engine_unlock(engine);
    return job;
}

static cuzk_status read_more_proofs(sight *s, cuzk_err *err) {
    for (size_t i = 0; i < s->more_proofs.n; i++) {
        engine_job *job = hold_job(s->engine, s->more_proofs.ids[i]);
        if (!job) continue;
        cuzk_status status = engine_job_recover(s->engine, job, err);
        if (status == CUZK_OK) engine_job_finish_if_done(s->engine, job);
        engine_job_release(s->engine, job);
        ZK_TRY(status);
    }
    return CUZK_OK;
}

cuzk_status engine_fleet_refresh(zk_engine *engine, const char *job_id, cuzk_err *err) {
    zk_journal_job seen;
    bool found = false;
    sight s = {.engine = engine, .told = true};
    ZK_TRY(engine->journal->ops->look(&found, &seen, engine->journal, job_id, err));
    cuzk_status status = CUZK_OK;
    if (found && seen.state == ZK_JOURNAL_OPEN) {
        status = see(&s, &seen, err);
        if (status == CUZK_OK) status = read_more_proofs(&s, err);
    } else {
        engine_job *job = hold_job(engine, job_id);
        if (job) {
            status = see_over(engine, job, err);
            engine_job_release(engine, job);
        }
    }
    free(s.more_proofs.ids);
    return status;
}

cuzk_status engine_fleet_know(zk_engine *engine, const char *job_id, cuzk_err *err) {
    if (!zk_journal_is_shared(engine->journal)) return CUZK_OK;
    engine_job *job = hold_job(engine, job_id);
    if (!job) return engine_fleet_refresh(engine, job_id, err);
    engine_job_release(engine, job);
    return CUZK_OK;
}

cuzk_status engine_fleet_sync(zk_engine *engine, bool told, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    if (++engine->sync == 0) engine->sync = 1;
    sight s = {.engine = engine, .sync = engine->sync, .told = told};
    /* What is accepted here from now on may not be among the rows. */
    engine_lock(engine);
    for (size_t i = 0; i < engine->n_jobs; i++) engine->jobs[i]->sync = 0;
    size_t n_before = engine->n_jobs;
    engine_job **before = zk_calloc(n_before + 1, sizeof *before);
    for (size_t i = 0; before && i < n_before; i++) engine_job_hold(before[i] = engine->jobs[i]);
    engine_unlock(engine);
    if (!before) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory to look at the jobs of the fleet"));
    ZK_GOTO(engine->journal->ops->each_open(engine->journal, see, &s, err));
    ZK_GOTO(read_more_proofs(&s, err));
    for (size_t i = 0; i < n_before && status == CUZK_OK; i++) {
        engine_lock(engine);
        bool gone = before[i]->sync != s.sync && engine_job_is_open(before[i]);
        engine_unlock(engine);
        if (gone) status = see_over(engine, before[i], err);
    }
out:
    engine_lock(engine);
    for (size_t i = 0; before && i < n_before; i++) engine_job_drop(before[i]);
    engine_unlock(engine);
    free(before);
    free(s.more_proofs.ids);
    return status;
}

/* ---- units ---- */

/* Needs the lock. */
static void untake(engine_task *task) {
    engine_job *job = task->job;
    if (task->type == TASK_PREPARE) {
        if (job->phase == ENGINE_PREPARING && !job->partitions) job->phase = ENGINE_NEW;
    } else {
        job->partitions[task->partition].taken = false;
        job->partitions[task->partition].lane = -1;
    }
}

/* The journal chose the partition. false: a lane of this engine has it, or it is done. Needs the lock. */
static bool adopt(engine_task *task, engine_lane *lane, const zk_journal_take *take) {
    engine_job *job = task->job;
    if (task->type == TASK_PREPARE) {
        if (take->attempts > job->prepare_attempts) job->prepare_attempts = take->attempts;
        return true;
    }
    if (take->index != task->partition) {
        if (take->index >= job->n_partitions) return false;
        engine_partition *p = &job->partitions[take->index];
        if (p->taken || p->state == ZK_PARTITION_DONE) return false;
        untake(task);
        task->partition = take->index;
        p->taken = true;
        p->lane = (int)lane->id;
    }
    engine_partition *p = &job->partitions[task->partition];
    if (take->attempts > p->attempts) p->attempts = take->attempts;
    return true;
}

/* The content of the job is here. Without the lock. */
static cuzk_status fetch(zk_engine *engine, const engine_job *job, cuzk_err *err) {
    char path[ZK_SPOOL_PATH_BYTES];
    zk_spool_path(path, engine->options.spool_dir, job->meta.job_id);
    if (access(path, F_OK) == 0) return CUZK_OK;
    return engine->journal->ops->fetch(engine->journal, job->meta.job_id, path, err);
}

/* How long this engine leaves the job alone. */
static uint64_t not_now(cuzk_status status, const zk_journal_take *take) {
    if (status == CUZK_NOT_FOUND) return NO_KEYS_S * ZK_SECOND_NS;
    if (status != CUZK_OK) return (take->grant == ZK_JOURNAL_TAKEN ? NO_CONTENT_S : 1) * ZK_SECOND_NS;
    return take->grant == ZK_JOURNAL_TAKEN ? ZK_SECOND_NS : take->retry_ms * 1000000;
}

static void tell_why_not(zk_engine *engine, const engine_job *job, cuzk_status status, const cuzk_err *err) {
    if (status == CUZK_NOT_FOUND)
        ZK_LOG_DEBUG("a job is left to others: no keys here", zk_kv_str("job", job->meta.job_id),
                     zk_kv_str("error", err->message));
    else
        ZK_LOG_WARN("no work on a job of the fleet for now", zk_kv_str("job", job->meta.job_id),
                    zk_kv_str("error", err->message));
    if (status == CUZK_IO) engine->fleet_doubt = true;
}

bool engine_fleet_take(engine_task *task, engine_lane *lane) {
    zk_engine *engine = lane->engine;
    engine_job *job = task->job;
    const zk_journal_ops *ops = engine->journal->ops;
    if (!job || task->type == TASK_CHECK || !zk_journal_is_shared(engine->journal)) return true;
    zk_journal_take take = {.grant = ZK_JOURNAL_NONE_FREE};
    cuzk_err err = {0};
    char keys[ZK_KEY_PATH_BYTES];
    bool preparation = task->type == TASK_PREPARE;
    uint32_t wish = preparation ? ZK_JOURNAL_PREPARATION : task->partition;
    zk_proof_kind kind = (zk_proof_kind)job->meta.kind;
    uint64_t sector_bytes = job->meta.sector_bytes;
    engine_unlock(engine);
    /* Whoever lacks the keys leaves it to the others. */
    cuzk_status status =
        preparation ? CUZK_OK : zk_circuit_key_path(keys, NULL, engine->options.param_cache, kind, sector_bytes, &err);
    if (status == CUZK_OK) status = ops->take(&take, engine->journal, job->meta.job_id, wish, &err);
    engine_lock(engine);
    lane->has_unit = take.grant == ZK_JOURNAL_TAKEN;
    if (lane->has_unit) {
        lane->unit.index = take.index;
        memcpy(lane->unit.job_id, job->meta.job_id, sizeof lane->unit.job_id);
        engine_unlock(engine);
        status = fetch(engine, job, &err);
        engine_lock(engine);
        job->elsewhere = job->elsewhere && status != CUZK_OK;
    }
    if (status != CUZK_OK) tell_why_not(engine, job, status, &err);
    /* Meanwhile the lane beside may have seen the end of the process: nothing is started before all of it is gone. */
    while (lane->first->ending) pthread_cond_wait(&engine->work, &engine->lock);
    bool wanted = engine_job_is_open(job) && !engine->draining && !engine->stopping && !engine_lane_is_ending(lane);
    if (lane->has_unit && status == CUZK_OK && wanted && adopt(task, lane, &take)) return true;
    untake(task);
    job->not_before_ns = zk_now_ns() + not_now(status, &take);
    /* One that this engine works on already (its lease had ended) is not given back. */
    task->returned = lane->has_unit && (status != CUZK_OK || !wanted);
    engine_fleet_return(lane, task);
    if (take.grant == ZK_JOURNAL_OVER || (take.grant == ZK_JOURNAL_TAKEN && status == CUZK_BAD_INPUT)) {
        engine_unlock(engine);
        if (take.grant == ZK_JOURNAL_OVER)
            status = engine_fleet_refresh(engine, job->meta.job_id, NULL);
        else
            engine_job_end(engine, job, ZK_OUTCOME_FAILED, status, err.message);
        engine_lock(engine);
    }
    engine_job_drop(job);
    return false;
}

void engine_fleet_return(engine_lane *lane, const engine_task *task) {
    zk_engine *engine = lane->engine;
    cuzk_err err = {0};
    if (!lane->has_unit) return;
    if (task->returned) {
        zk_journal_unit unit = lane->unit;
        engine_unlock(engine);
        if (engine->journal->ops->give_back(engine->journal, &unit, task->return_counts,
                                            task->return_delay_ns / 1000000, &err) != CUZK_OK)
            ZK_LOG_WARN("a unit of work is free for others only when its lease ends", zk_kv_str("job", unit.job_id),
                        zk_kv_str("error", err.message));
        engine_lock(engine);
    }
    lane->has_unit = false;
}

/* ---- the thread ---- */

/* One partition whose result the journal does not have yet. */
static engine_job *next_unwritten(zk_journal_partition *partition, zk_engine *engine) {
    engine_job *found = NULL;
    engine_lock(engine);
    for (size_t i = 0; i < engine->n_jobs && !found; i++) {
        engine_job *job = engine->jobs[i];
        for (uint32_t k = 0; engine_job_is_open(job) && k < job->n_partitions && !found; k++) {
            const engine_partition *p = &job->partitions[k];
            if (!p->unwritten) continue;
            found = job;
            *partition = (zk_journal_partition){
                .index = k, .srs_load_ns = p->srs_load_ns, .synth_ns = p->synth_ns, .gpu_ns = p->gpu_ns};
            memcpy(partition->proof, job->proofs[k], sizeof partition->proof);
            engine_job_hold(job);
        }
    }
    engine_unlock(engine);
    return found;
}

static cuzk_status write_results(zk_engine *engine, cuzk_err *err) {
    zk_journal_partition partition;
    cuzk_status status = CUZK_OK;
    for (engine_job *job; status == CUZK_OK && (job = next_unwritten(&partition, engine));) {
        bool kept = false;
        status = engine->journal->ops->partition_done(&kept, engine->journal, job->meta.job_id, &partition, err);
        engine_lock(engine);
        if (status == CUZK_OK && engine_job_is_open(job)) job->partitions[partition.index].unwritten = false;
        engine_unlock(engine);
        if (status == CUZK_OK && !kept) {
            ZK_LOG_INFO("a late result is dropped: there was one already", zk_kv_str("job", job->meta.job_id),
                        zk_kv_u64("partition", partition.index));
            status = engine_fleet_refresh(engine, job->meta.job_id, err);
        }
        engine_job_release(engine, job);
    }
    return status;
}

/* What this engine has: what lanes work on, and results that are still to be written. */
static zk_journal_unit *list_units(size_t *n, zk_engine *engine) {
    zk_journal_unit *units = NULL;
    size_t capacity = 0;
    *n = 0;
    engine_lock(engine);
    for (unsigned i = 0; i < engine->n_lanes; i++)
        if (engine->lanes[i].has_unit && zk_grow((void **)&units, &capacity, *n + 1, sizeof *units))
            units[(*n)++] = engine->lanes[i].unit;
    for (size_t i = 0; i < engine->n_jobs; i++) {
        const engine_job *job = engine->jobs[i];
        for (uint32_t k = 0; engine_job_is_open(job) && k < job->n_partitions; k++) {
            if (!job->partitions[k].unwritten || !zk_grow((void **)&units, &capacity, *n + 1, sizeof *units)) continue;
            units[*n].index = k;
            memcpy(units[(*n)++].job_id, job->meta.job_id, sizeof units->job_id);
        }
    }
    engine_unlock(engine);
    return units;
}

typedef struct machine_list {
    zk_machine_view *views;
    size_t n, capacity;
} machine_list;

static void add_machine(void *ctx, const zk_journal_machine *m) {
    machine_list *list = ctx;
    if (!zk_grow((void **)&list->views, &list->capacity, list->n + 1, sizeof *list->views)) return;
    zk_machine_view *v = &list->views[list->n++];
    *v = (zk_machine_view){
        .self = m->self,
        .seen_ago_ms = m->seen_ago_ms,
        .started_ago_ms = m->started_ago_ms,
        .n_workers = m->n_workers,
        .n_units = m->n_units,
        .n_proved = m->n_proved,
    };
    memcpy(v->name, m->name, sizeof v->name);
    memcpy(v->id, m->id, sizeof v->id);
}

cuzk_status engine_fleet_beat(zk_engine *engine, cuzk_err *err) {
    size_t n = 0;
    zk_journal_unit *units = list_units(&n, engine);
    uint32_t n_workers = 0;
    for (unsigned i = 0; i < engine->n_lanes; i++)
        n_workers += engine->lanes[i].role == ROLE_ORDINARY && !engine_lane_is_second(&engine->lanes[i]);
    cuzk_status status = engine->journal->ops->beat(engine->journal, n_workers, units, n, err);
    free(units);
    machine_list list = {0};
    if (status == CUZK_OK) status = engine->journal->ops->each_machine(engine->journal, add_machine, &list, err);
    if (status == CUZK_OK) {
        engine_lock(engine);
        zk_machine_view *old = engine->machines;
        engine->machines = list.views;
        engine->n_machines = list.n;
        engine->machines_seen_ns = zk_now_ns();
        list.views = old;
        engine_unlock(engine);
    }
    free(list.views);
    return status;
}

static void note_change(void *ctx, const char *job_id) {
    id_list *changes = ctx;
    if (job_id)
        list_add(changes, job_id);
    else
        changes->all = true;
}

/* OK or the first failure. */
static cuzk_status follow(zk_engine *engine, const id_list *changes, bool sync, cuzk_err *err) {
    if (sync || changes->all) return engine_fleet_sync(engine, changes->all, err);
    for (size_t i = 0; i < changes->n; i++) ZK_TRY(engine_fleet_refresh(engine, changes->ids[i], err));
    return CUZK_OK;
}

static void tell_connection(zk_engine *engine, cuzk_status status, const cuzk_err *err) {
    bool lost = status != CUZK_OK;
    if (lost == engine->fleet_lost) return;
    engine->fleet_lost = lost;
    if (lost)
        ZK_LOG_ERROR("the fleet is out of reach: running partitions go on, no new work is accepted or taken",
                     zk_kv_str("error", err->message));
    else
        ZK_LOG_INFO("the fleet is within reach again");
}

void *engine_fleet_main(void *ctx) {
    zk_engine *engine = ctx;
    uint64_t lease_ms = engine->options.fleet_lease_ms, next_beat = 0, next_sync = 0;
    while (!engine->stopping) {
        id_list changes = {0};
        cuzk_err err = {0};
        cuzk_status status = engine->journal->ops->wait(engine->journal, WAIT_MS, note_change, &changes, &err);
        uint64_t now = zk_now_ns();
        bool beat = now >= next_beat || engine->fleet_doubt, was_lost = engine->fleet_lost;
        engine->fleet_doubt = false;
        if (status == CUZK_OK && (beat || !was_lost)) status = write_results(engine, &err);
        if (status == CUZK_OK && beat) status = engine_fleet_beat(engine, &err);
        if (status == CUZK_OK && (beat || !was_lost)) {
            bool sync = now >= next_sync || was_lost;
            status = follow(engine, &changes, sync, &err);
            if (sync && status == CUZK_OK) next_sync = now + SYNC_EVERY_S * ZK_SECOND_NS;
        }
        if (beat || status != CUZK_OK) {
            next_beat = now + (status == CUZK_OK ? lease_ms * 1000000 / BEATS_IN_LEASE : ZK_SECOND_NS);
            tell_connection(engine, status, &err);
        }
        if (status != CUZK_OK) next_sync = 0;
        free(changes.ids);
    }
    return NULL;
}
