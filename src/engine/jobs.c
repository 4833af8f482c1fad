/* Jobs from acceptance to their end. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/span.h"
#include "engine/engine_impl.h"
#include "groth16/verify.h"

uint64_t engine_ms(uint64_t ns) { return ns / 1000000; }

engine_job *engine_job_find(zk_engine *engine, const char *job_id) {
    for (size_t i = 0; i < engine->n_jobs; i++)
        if (strcmp(engine->jobs[i]->meta.job_id, job_id) == 0) return engine->jobs[i];
    return NULL;
}

void engine_job_hold(engine_job *job) { job->refs++; }

void engine_job_drop(engine_job *job) {
    if (!job || --job->refs) return;
    free(job->partitions);
    free(job->proofs);
    free(job->publics);
    zk_result_clear(&job->result);
    free(job);
}

void engine_job_release(zk_engine *engine, engine_job *job) {
    engine_lock(engine);
    engine_job_drop(job);
    engine_unlock(engine);
}

bool engine_job_is_open(const engine_job *job) { return job->phase < ENGINE_ENDING; }

zk_priority engine_priority(zk_priority asked, zk_proof_kind kind) {
    return asked                     ? asked
           : kind == ZK_KIND_WINNING ? ZK_PRIORITY_CRITICAL
           : kind == ZK_KIND_WINDOW  ? ZK_PRIORITY_HIGH
                                     : ZK_PRIORITY_NORMAL;
}

cuzk_status engine_job_add(engine_job **out, zk_engine *engine, const zk_content_meta *meta, uint64_t file_bytes,
                           cuzk_err *err) {
    engine_job *job = zk_calloc(1, sizeof *job);
    if (!job || !zk_grow((void **)&engine->jobs, &engine->jobs_capacity, engine->n_jobs + 1, sizeof *engine->jobs)) {
        free(job);
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a job");
    }
    job->meta = *meta;
    job->file_bytes = file_bytes;
    memcpy(job->request_id, meta->request_id, meta->n_request_id);
    job->priority = engine_priority((zk_priority)meta->priority, (zk_proof_kind)meta->kind);
    job->refs = 1;
    job->accepted_ns = zk_now_ns();
    if (zk_circuit_id(job->circuit_id, (zk_proof_kind)meta->kind, meta->sector_bytes, NULL) != CUZK_OK)
        job->circuit_id[0] = 0; /* preparing it will say what is wrong */
    engine->jobs[engine->n_jobs++] = job;
    if (out) *out = job;
    return CUZK_OK;
}

cuzk_status engine_job_prepared(engine_job *job, uint32_t n_partitions, cuzk_err *err) {
    engine_partition *partitions = zk_calloc(n_partitions ? n_partitions : 1, sizeof *partitions);
    uint8_t(*proofs)[ZK_PROOF_BYTES] = zk_calloc(n_partitions ? n_partitions : 1, sizeof *proofs);
    if (!partitions || !proofs) {
        free(partitions);
        free(proofs);
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for %" PRIu32 " partitions", n_partitions);
    }
    for (uint32_t i = 0; i < n_partitions; i++) partitions[i].lane = -1;
    job->partitions = partitions;
    job->proofs = proofs;
    job->n_partitions = n_partitions;
    job->phase = ENGINE_READY;
    return CUZK_OK;
}

/* ---- partitions that are done ---- */

void engine_job_take_partition(engine_job *job, const zk_journal_partition *kept) {
    if (kept->index >= job->n_partitions || job->partitions[kept->index].state == ZK_PARTITION_DONE) return;
    engine_partition *p = &job->partitions[kept->index];
    p->state = ZK_PARTITION_DONE;
    p->srs_load_ns = kept->srs_load_ns;
    p->synth_ns = kept->synth_ns;
    p->gpu_ns = kept->gpu_ns;
    p->synth_start_ns = p->gpu_start_ns = 0;
    memcpy(job->proofs[kept->index], kept->proof, sizeof job->proofs[0]);
    job->synth_ns += kept->synth_ns;
    job->gpu_ns += kept->gpu_ns;
    job->srs_load_ns += kept->srs_load_ns;
    job->n_done++;
}

/* It was proved elsewhere: whoever still works on it here may stop. Needs the lock. */
static void stop_partition(zk_engine *engine, const engine_job *job, uint32_t partition) {
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        engine_task *task = &engine->lanes[i].task;
        if (task->job == job && task->type == TASK_PROVE && task->partition == partition) task->cancel = true;
    }
}

typedef struct kept_partitions {
    zk_journal_partition *list;
    size_t n, capacity;
} kept_partitions;

static void collect(void *ctx, const zk_journal_partition *partition) {
    kept_partitions *kept = ctx;
    if (zk_grow((void **)&kept->list, &kept->capacity, kept->n + 1, sizeof *kept->list))
        kept->list[kept->n++] = *partition;
    /* else it is proved again */
}

/* What a file has kept since an earlier life is verified once more; one that does not hold is proved again. */
static void drop_damaged(kept_partitions *kept, zk_engine *engine, engine_job *job) {
    engine_vk *vk = NULL;
    cuzk_err err = {0};
    size_t n = 0;
    cuzk_status status =
        kept->n ? engine_vk_hold(&vk, engine, (zk_proof_kind)job->meta.kind, job->meta.sector_bytes, NULL, &err)
                : CUZK_OK;
    for (size_t i = 0; i < kept->n; i++) {
        if (status == CUZK_OK) zk_err_reset(&err);
        if (status == CUZK_OK &&
            engine_proof_check(engine, job, vk, kept->list[i].index, kept->list[i].proof, &err) == CUZK_OK)
            kept->list[n++] = kept->list[i];
        else
            ZK_LOG_WARN("a partition that the journal has is proved again", zk_kv_str("job", job->meta.job_id),
                        zk_kv_u64("partition", kept->list[i].index), zk_kv_str("error", err.message));
    }
    kept->n = n;
    engine_lock(engine);
    engine_vk_drop(vk);
    engine_unlock(engine);
}

cuzk_status engine_job_recover(zk_engine *engine, engine_job *job, cuzk_err *err) {
    kept_partitions kept = {0};
    cuzk_status status = engine->journal->ops->each_partition(engine->journal, job->meta.job_id, collect, &kept, err);
    if (!zk_journal_is_shared(engine->journal)) drop_damaged(&kept, engine, job);
    engine_lock(engine);
    for (size_t i = 0; i < kept.n && engine_job_is_open(job); i++) {
        engine_job_take_partition(job, &kept.list[i]);
        stop_partition(engine, job, kept.list[i].index);
    }
    engine_unlock(engine);
    free(kept.list);
    return status;
}

cuzk_status engine_journal_went(zk_engine *engine, cuzk_status status, const cuzk_err *err) {
    if (status != CUZK_OK && status != CUZK_IO) return status; /* says nothing about the disk */
    engine_lock(engine);
    snprintf(engine->journal_error, sizeof engine->journal_error, "%s",
             status == CUZK_OK ? ""
             : err             ? err->message
                               : "the journal fails");
    engine_unlock(engine);
    return status;
}

/* ---- the end ---- */

static const zk_journal_state state_of[] = {
    [ZK_OUTCOME_COMPLETED] = ZK_JOURNAL_COMPLETED,
    [ZK_OUTCOME_FAILED] = ZK_JOURNAL_FAILED,
    [ZK_OUTCOME_CANCELLED] = ZK_JOURNAL_CANCELLED,
};

static void fill_result(engine_job *job, zk_outcome outcome, cuzk_status status, const char *message) {
    uint64_t now = zk_now_ns();
    zk_result *r = &job->result;
    *r = (zk_result){.kind = (zk_proof_kind)job->meta.kind, .outcome = outcome, .status = status};
    memcpy(r->job_id, job->meta.job_id, sizeof r->job_id);
    snprintf(r->message, sizeof r->message, "%s", message ? message : "");
    if (outcome == ZK_OUTCOME_COMPLETED) {
        r->proof = (uint8_t *)job->proofs;
        r->n_proof = (size_t)job->n_partitions * sizeof *job->proofs;
        job->proofs = NULL;
    }
    r->queue_wait_ms = engine_ms((job->started_ns ? job->started_ns : now) - job->accepted_ns);
    r->srs_load_ms = engine_ms(job->srs_load_ns);
    r->synthesis_ms = engine_ms(job->synth_ns);
    r->gpu_compute_ms = engine_ms(job->gpu_ns);
    r->total_ms = engine_ms(now - job->accepted_ns);
}

static void remove_spool(const zk_engine *engine, const engine_job *job) {
    char path[ZK_SPOOL_PATH_BYTES];
    zk_spool_path(path, engine->options.spool_dir, job->meta.job_id);
    unlink(path);
}

static cuzk_status write_end(bool *ended, zk_engine *engine, const engine_job *job, cuzk_err *err) {
    const zk_result *r = &job->result;
    zk_journal_end end = {
        .state = state_of[r->outcome],
        .status = r->status,
        .message = r->message,
        .proof = r->proof,
        .n_proof = r->n_proof,
        .queue_wait_ms = r->queue_wait_ms,
        .srs_load_ms = r->srs_load_ms,
        .synthesis_ms = r->synthesis_ms,
        .gpu_compute_ms = r->gpu_compute_ms,
        .total_ms = r->total_ms,
    };
    cuzk_status status = engine->journal->ops->end(ended, engine->journal, job->meta.job_id, &end, err);
    ZK_TRY(engine_journal_went(engine, status, err));
    remove_spool(engine, job);
    return CUZK_OK;
}

/* Another end was first and stands: of another machine, or else something is wrong. */
static void take_first_end(zk_engine *engine, engine_job *job) {
    zk_result kept = {0};
    cuzk_status status = engine->journal->ops->result(&kept, engine->journal, job->meta.job_id, NULL);
    if (!zk_journal_is_shared(engine->journal))
        ZK_LOG_ERROR("a job that was over ended again; the first end stands", zk_kv_str("job", job->meta.job_id));
    if (status == CUZK_OK && kept.outcome != ZK_OUTCOME_UNKNOWN && kept.outcome != ZK_OUTCOME_INTERRUPTED) {
        engine_lock(engine);
        zk_result ours = job->result;
        job->result = kept;
        kept = ours;
        engine_unlock(engine);
    }
    zk_result_clear(&kept);
}

static void remove_job(zk_engine *engine, engine_job *job) {
    for (size_t i = 0; i < engine->n_jobs; i++)
        if (engine->jobs[i] == job) {
            memmove(&engine->jobs[i], &engine->jobs[i + 1], (engine->n_jobs - i - 1) * sizeof *engine->jobs);
            engine->n_jobs--;
            job->phase = ENGINE_OVER;
            engine_job_drop(job);
            return;
        }
}

static void count_end(zk_engine *engine, const engine_job *job) {
    engine_kind_counters *k = &engine->kinds[job->meta.kind < ZK_N_KINDS ? job->meta.kind : 0];
    switch (job->result.outcome) {
    case ZK_OUTCOME_COMPLETED:
        k->n_completed++;
        k->n_durations++;
        k->duration_sum_ns += zk_now_ns() - job->accepted_ns;
        engine_observe(engine, HISTOGRAM_TOTAL, zk_now_ns() - job->accepted_ns);
        break;
    case ZK_OUTCOME_FAILED:
        k->n_failed++;
        break;
    default:
        k->n_cancelled++;
        break;
    }
}

/* Lanes that work for the job are to stop. */
static void stop_lanes(zk_engine *engine, const engine_job *job) {
    for (unsigned i = 0; i < engine->n_lanes; i++)
        if (engine->lanes[i].task.job == job) engine->lanes[i].task.cancel = true;
}

/* The job is off the list, unless the journal still has to be told. The caller holds it. */
static void fire_watches(zk_engine *engine, engine_job *job, bool written) {
    engine_lock(engine);
    zk_watch *watches = job->watches;
    job->watches = NULL;
    for (zk_watch *w = watches; w; w = w->next) engine->n_watches--;
    if (written) {
        remove_job(engine, job);
    } else {
        job->phase = ENGINE_UNWRITTEN;
        job->retry_end_ns = zk_now_ns() + ZK_SECOND_NS;
    }
    pthread_cond_broadcast(&engine->work);
    pthread_cond_broadcast(&engine->done);
    engine_unlock(engine);
    while (watches) {
        zk_watch *w = watches;
        watches = w->next;
        w->fn(w->ctx, &job->result);
        free(w);
    }
}

/* The journal is told, then the watchers; a proof is useful before it is written, so that a full disk delays the
 * journal alone. The caller holds the job. */
static void settle(zk_engine *engine, engine_job *job, bool first) {
    cuzk_err err = {0};
    bool ended = false;
    cuzk_status status = write_end(&ended, engine, job, &err);
    if (status == CUZK_OK && !ended && first) take_first_end(engine, job);
    if (status != CUZK_OK && first)
        ZK_LOG_ERROR("the journal could not be told the end of a job; trying again", zk_kv_str("job", job->meta.job_id),
                     zk_kv_str("error", err.message));
    engine_lock(engine);
    if (first && (ended || status != CUZK_OK)) count_end(engine, job); /* else another machine counts it */
    engine_unlock(engine);
    fire_watches(engine, job, status == CUZK_OK);
}

void engine_job_over(zk_engine *engine, engine_job *job, zk_result *result) {
    engine_lock(engine);
    bool open = engine_job_is_open(job);
    if (open) {
        job->phase = ENGINE_ENDING;
        engine_job_hold(job);
        job->result = *result;
        *result = (zk_result){0};
        stop_lanes(engine, job);
    }
    engine_unlock(engine);
    if (!open) return;
    remove_spool(engine, job);
    fire_watches(engine, job, true);
    engine_job_release(engine, job);
}

void engine_job_end(zk_engine *engine, engine_job *job, zk_outcome outcome, cuzk_status status, const char *message) {
    engine_lock(engine);
    if (!engine_job_is_open(job)) {
        engine_unlock(engine);
        return;
    }
    job->phase = ENGINE_ENDING;
    engine_job_hold(job);
    fill_result(job, outcome, status, message);
    stop_lanes(engine, job);
    pthread_cond_broadcast(&engine->work);
    engine_unlock(engine);
    if (outcome == ZK_OUTCOME_FAILED)
        ZK_LOG_WARN("job failed", zk_kv_str("job", job->meta.job_id), zk_kv_str("request", job->request_id),
                    zk_kv_str("error", job->result.message));
    else
        ZK_LOG_INFO(outcome == ZK_OUTCOME_COMPLETED ? "job completed" : "job cancelled",
                    zk_kv_str("job", job->meta.job_id), zk_kv_str("request", job->request_id),
                    zk_kv_u64("total_ms", job->result.total_ms));
    settle(engine, job, true);
    engine_job_release(engine, job);
}

void engine_job_finish_if_done(zk_engine *engine, engine_job *job) {
    engine_lock(engine);
    bool done = job->phase == ENGINE_READY && job->n_done == job->n_partitions && job->check == CHECK_DONE;
    engine_unlock(engine);
    if (done) engine_job_end(engine, job, ZK_OUTCOME_COMPLETED, CUZK_OK, NULL);
}

void engine_jobs_retry(zk_engine *engine) {
    for (;;) {
        engine_job *job = NULL;
        engine_lock(engine);
        uint64_t now = zk_now_ns();
        for (size_t i = 0; i < engine->n_jobs && !job; i++)
            if (engine->jobs[i]->phase == ENGINE_UNWRITTEN && engine->jobs[i]->retry_end_ns <= now) {
                job = engine->jobs[i];
                job->phase = ENGINE_ENDING;
                engine_job_hold(job);
            }
        engine_unlock(engine);
        if (!job) return;
        settle(engine, job, false);
        engine_job_release(engine, job);
    }
}

/* ---- what callers do with them ---- */

void zk_result_clear(zk_result *result) {
    free(result->proof);
    *result = (zk_result){0};
}

/* A proof that the disk has changed never leaves. */
static cuzk_status check_kept(const zk_result *r, cuzk_err *err) {
    zk_proof proof;
    for (size_t at = 0; at < r->n_proof; at += ZK_PROOF_BYTES)
        if (r->n_proof - at < ZK_PROOF_BYTES || zk_proof_decode(&proof, r->proof + at, NULL) != CUZK_OK)
            return ZK_FAIL(err, CUZK_IO, "job %s: the journal is damaged: what it has of the proof is no proof",
                           r->job_id);
    return CUZK_OK;
}

static cuzk_status kept_result(zk_result *result, zk_engine *engine, const char *job_id, cuzk_err *err) {
    cuzk_err own = {0}, *e = err ? err : &own;
    cuzk_status status = engine->journal->ops->result(result, engine->journal, job_id, e);
    if (status == CUZK_OK) {
        status = check_kept(result, e);
        if (status != CUZK_OK) zk_result_clear(result);
    }
    return engine_journal_went(engine, status, e);
}

bool zk_engine_knows(zk_engine *engine, const char *job_id) {
    engine_lock(engine);
    bool knows = engine_job_find(engine, job_id) != NULL;
    engine_unlock(engine);
    return knows;
}

cuzk_status zk_engine_watch(zk_watch **out, zk_engine *engine, const char *job_id, zk_watch_fn fn, void *ctx,
                            cuzk_err *err) {
    if (out) *out = NULL;
    zk_watch *watch = zk_malloc(sizeof *watch);
    if (!watch) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory to wait for a job");
    *watch = (zk_watch){.fn = fn, .ctx = ctx};
    cuzk_status status = engine_fleet_know(engine, job_id, err);
    if (status != CUZK_OK) {
        free(watch);
        return status;
    }
    engine_lock(engine);
    engine_job *job = engine_job_find(engine, job_id);
    if (job && job->phase != ENGINE_UNWRITTEN) {
        watch->next = job->watches;
        job->watches = watch;
        engine->n_watches++;
        if (out) *out = watch;
        engine_unlock(engine);
        return CUZK_OK;
    }
    if (job) engine_job_hold(job);
    engine_unlock(engine);
    free(watch);
    if (job) { /* decided; nothing changes the result any more */
        fn(ctx, &job->result);
        engine_job_release(engine, job);
        return CUZK_OK;
    }
    zk_result result;
    ZK_TRY(kept_result(&result, engine, job_id, err));
    fn(ctx, &result);
    zk_result_clear(&result);
    return CUZK_OK;
}

bool zk_engine_unwatch(zk_engine *engine, const char *job_id, void *ctx) {
    bool found = false;
    engine_lock(engine);
    engine_job *job = engine_job_find(engine, job_id);
    for (zk_watch **at = job ? &job->watches : NULL; at && *at; at = &(*at)->next)
        if ((*at)->ctx == ctx) {
            zk_watch *watch = *at;
            *at = watch->next;
            free(watch);
            engine->n_watches--;
            found = true;
            break;
        }
    engine_unlock(engine);
    return found;
}

typedef struct awaiter {
    pthread_mutex_t lock;
    pthread_cond_t fired;
    bool done, no_memory;
    zk_result *result;
} awaiter;

static void await_fired(void *ctx, const zk_result *result) {
    awaiter *a = ctx;
    pthread_mutex_lock(&a->lock);
    *a->result = *result;
    if (result->n_proof) {
        a->result->proof = zk_malloc(result->n_proof);
        a->no_memory = !a->result->proof;
        if (a->result->proof) memcpy(a->result->proof, result->proof, result->n_proof);
    }
    a->done = true;
    pthread_cond_signal(&a->fired);
    pthread_mutex_unlock(&a->lock);
}

cuzk_status zk_engine_await(zk_result *result, zk_engine *engine, const char *job_id, uint64_t timeout_ms,
                            bool (*gave_up)(void *ctx), void *ctx, cuzk_err *err) {
    awaiter a = {.lock = PTHREAD_MUTEX_INITIALIZER, .result = result};
    *result = (zk_result){0};
    zk_cond_init(&a.fired);
    uint64_t start = zk_now_ns(), limit = timeout_ms > UINT64_MAX / 2000000 ? 0 : timeout_ms * 1000000;
    cuzk_status status = zk_engine_watch(NULL, engine, job_id, await_fired, &a, err);
    zk_outcome early = ZK_OUTCOME_UNKNOWN;
    pthread_mutex_lock(&a.lock);
    while (status == CUZK_OK && !a.done && early == ZK_OUTCOME_UNKNOWN) {
        uint64_t now = zk_now_ns(), until = now + (gave_up ? 100 * ZK_MS_NS : 3600 * ZK_SECOND_NS);
        if (limit && until > start + limit) until = start + limit;
        zk_cond_wait_until(&a.fired, &a.lock, until);
        if (a.done) break;
        if (limit && zk_now_ns() >= start + limit) early = ZK_OUTCOME_TIMEOUT;
        if (gave_up && gave_up(ctx)) early = ZK_OUTCOME_INTERRUPTED;
    }
    pthread_mutex_unlock(&a.lock);
    if (early != ZK_OUTCOME_UNKNOWN && zk_engine_unwatch(engine, job_id, &a)) {
        *result = (zk_result){.outcome = early};
        snprintf(result->job_id, sizeof result->job_id, "%s", job_id);
    } else if (status == CUZK_OK) { /* it fires, or has fired */
        pthread_mutex_lock(&a.lock);
        while (!a.done) pthread_cond_wait(&a.fired, &a.lock);
        pthread_mutex_unlock(&a.lock);
    }
    pthread_cond_destroy(&a.fired);
    if (a.no_memory) {
        zk_result_clear(result);
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a proof");
    }
    return status;
}

cuzk_status zk_engine_cancel(bool *was_running, zk_engine *engine, const char *job_id, cuzk_err *err) {
    *was_running = false;
    ZK_TRY(engine_fleet_know(engine, job_id, err));
    engine_lock(engine);
    engine_job *job = engine_job_find(engine, job_id);
    *was_running = job && engine_job_is_open(job);
    if (*was_running) engine_job_hold(job);
    engine_unlock(engine);
    if (!*was_running) return CUZK_OK;
    engine_job_end(engine, job, ZK_OUTCOME_CANCELLED, CUZK_CANCELLED, "cancelled by the client");
    engine_job_release(engine, job);
    return CUZK_OK;
}
