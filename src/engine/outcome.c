/* What follows from the end of a task: partitions kept, tried again or given up, jobs ended. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/span.h"
#include "engine/engine_impl.h"
#include "groth16/prove.h"

enum { MAX_WRONG = 2 };

/* Needs the lock. */
static bool give_back_partition(engine_lane *lane, uint32_t partition, bool counts, uint64_t delay_ns) {
    engine_job *job = lane->task.job;
    engine_partition *p = &job->partitions[partition];
    if (p->state == ZK_PARTITION_DONE) return true; /* elsewhere */
    uint64_t now = zk_now_ns();
    *p = (engine_partition){.lane = -1, .attempts = p->attempts + counts, .not_before_ns = now + delay_ns};
    if (counts) {
        p->failed_on = lane->on;
        p->failed_ns = now;
    }
    return p->attempts < lane->engine->options.max_attempts;
}

bool engine_give_back_more(engine_lane *lane, bool counts) {
    engine_task *task = &lane->task;
    bool again = true;
    for (; task->n_more; task->n_more--) {
        if (!engine_job_is_open(task->job)) continue;
        lane->engine->n_retries += counts;
        again &= give_back_partition(lane, task->more[task->n_more - 1], counts, 0);
    }
    return again;
}

bool engine_give_back(engine_lane *lane, bool counts, uint64_t delay_ns) {
    zk_engine *engine = lane->engine;
    engine_task *task = &lane->task;
    engine_job *job = task->job;
    if (!engine_job_is_open(job)) return true;
    engine->n_retries += counts;
    task->returned = true;
    task->return_counts = counts;
    task->return_delay_ns = delay_ns;
    if (task->type == TASK_PREPARE) {
        if (!job->partitions) job->phase = ENGINE_NEW; /* else it was prepared elsewhere meanwhile */
        job->prepare_attempts += counts;
        job->prepare_not_before_ns = zk_now_ns() + delay_ns;
        return job->prepare_attempts < engine->options.max_attempts;
    }
    if (task->type == TASK_CHECK) {
        job->check = CHECK_TODO;
        job->check_attempts += counts;
        job->check_not_before_ns = zk_now_ns() + delay_ns;
        return job->check_attempts < engine->options.max_attempts;
    }
    return give_back_partition(lane, task->partition, counts, delay_ns);
}

/* What was proved before, by an earlier life of the engine or elsewhere. Needs the lock, which is given up meanwhile.
 */
static cuzk_status recover_partitions(engine_lane *lane, engine_job *job, cuzk_err *err) {
    job->phase = ENGINE_PREPARING; /* nobody takes a partition until it is known which are there */
    engine_unlock(lane->engine);
    cuzk_status status = engine_job_recover(lane->engine, job, err);
    engine_lock(lane->engine);
    if (engine_job_is_open(job)) job->phase = ENGINE_READY;
    return status;
}

/* A shared journal makes the partitions known to others. Needs the lock, which is given up meanwhile. */
static bool tell_prepared(engine_lane *lane, const zk_ipc_message *done) {
    zk_journal *journal = lane->engine->journal;
    engine_job *job = lane->task.job;
    cuzk_err err = {0};
    if (!zk_journal_is_shared(journal)) return true;
    engine_unlock(lane->engine);
    cuzk_status status =
        journal->ops->prepared(journal, job->meta.job_id, done->kind, done->sector_bytes, done->n_partitions, &err);
    engine_lock(lane->engine);
    if (status == CUZK_OK) return true;
    ZK_LOG_WARN("the fleet could not be told of a job's partitions; it is prepared again",
                zk_kv_str("job", job->meta.job_id), zk_kv_str("error", err.message));
    engine_give_back(lane, false, ZK_SECOND_NS);
    return false;
}

/* Needs the lock, which is given up meanwhile. */
void engine_task_prepared(engine_lane *lane, const zk_ipc_message *done) {
    zk_engine *engine = lane->engine;
    engine_job *job = lane->task.job;
    cuzk_err err = {0};
    engine_observe(engine, HISTOGRAM_PREPARE, done->total_ns);
    if (!engine_job_is_open(job) || !tell_prepared(lane, done) || !engine_job_is_open(job)) return;
    /* The input decides what is proved; the request's numbers had to agree with it. */
    job->meta.kind = done->kind;
    job->meta.sector_bytes = done->sector_bytes;
    cuzk_status status = zk_circuit_id(job->circuit_id, (zk_proof_kind)done->kind, done->sector_bytes, &err);
    if (status == CUZK_OK && !job->partitions) {
        status = engine_job_prepared(job, done->n_partitions, &err);
        job->check = engine_checks_itself(lane, job) ? CHECK_DONE : CHECK_TODO;
    }
    if (status == CUZK_OK && job->recovered) status = recover_partitions(lane, job, &err);
    pthread_cond_broadcast(&engine->work);
    engine_unlock(lane->engine);
    if (status != CUZK_OK)
        engine_job_end(engine, job, ZK_OUTCOME_FAILED, status, err.message);
    else
        engine_job_finish_if_done(engine, job);
    engine_lock(lane->engine);
}

/* Needs the lock, which is given up meanwhile. */
void engine_task_checked(engine_lane *lane) {
    engine_job *job = lane->task.job;
    if (!engine_job_is_open(job)) return;
    job->check = CHECK_DONE;
    cuzk_err held = job->held_failure;
    engine_unlock(lane->engine);
    if (held.status != CUZK_OK)
        engine_job_end(lane->engine, job, ZK_OUTCOME_FAILED, held.status, held.message);
    else
        engine_job_finish_if_done(lane->engine, job);
    engine_lock(lane->engine);
}

/* Whether the proof holds; that the worker found so counts for nothing. Needs the lock, which is given up meanwhile. */
static cuzk_status verify(engine_lane *lane, const zk_ipc_message *done, cuzk_err *err) {
    engine_job *job = lane->task.job;
    zk_proof_kind kind = (zk_proof_kind)job->meta.kind;
    uint64_t sector_bytes = job->meta.sector_bytes;
    const engine_circuit *c = engine_lane_circuit(lane->first, kind, sector_bytes);
    engine_vk *vk = c ? c->vk : NULL;
    cuzk_status status = CUZK_OK;
    if (vk) engine_vk_keep(vk);
    engine_unlock(lane->engine);
    if (!vk) /* the lane beside has lost the process meanwhile */
        status = engine_vk_hold(&vk, lane->engine, kind, sector_bytes, NULL, err);
    if (status == CUZK_OK) status = engine_proof_check(lane->engine, job, vk, lane->task.partition, done->proof, err);
    engine_lock(lane->engine);
    engine_vk_drop(vk);
    return status;
}

/* The proof does not hold, or it cannot be told: as if the worker had said so. Needs the lock, which is given up
 * meanwhile. Returns whether the process can go on. */
static bool refuse_proof(engine_lane *lane, const zk_ipc_message *done, cuzk_status verified, const cuzk_err *why) {
    zk_ipc_message failed = *done;
    failed.wrong_proof = verified == CUZK_BAD_PROOF;
    failed.status = (uint32_t)(failed.wrong_proof ? CUZK_INTERNAL : verified);
    snprintf(failed.message, sizeof failed.message, "%s%.460s",
             failed.wrong_proof ? "the daemon finds what the worker did not: " : "", why->message);
    return engine_task_failed(lane, &failed);
}

/* Needs the lock. */
static void count_proof(engine_lane *lane, const zk_ipc_message *done) {
    zk_engine *engine = lane->engine;
    for (unsigned i = 0; i < ZK_PROVE_N_STAGES; i++) engine_observe(engine, HISTOGRAM_STAGES + i, done->stage_ns[i]);
    if (!done->already_loaded) engine_observe(engine, HISTOGRAM_SRS, done->srs_load_ns);
    lane->n_proved++;
    lane->first->n_bad = 0;
    engine->n_ahead += done->input_ahead;
}

typedef struct write_outcome {
    bool late;   /* another machine's result was first: this one is dropped */
    bool failed; /* the journal could not be told */
} write_outcome;

/* Without the lock. */
static write_outcome write_partition(zk_engine *engine, const engine_job *job, const zk_journal_partition *kept) {
    bool first = true, shared = zk_journal_is_shared(engine->journal);
    cuzk_err err = {0};
    if (job->n_partitions == 1) return (write_outcome){0}; /* the end of the job says the same */
    cuzk_status status = engine->journal->ops->partition_done(&first, engine->journal, job->meta.job_id, kept, &err);
    status = engine_journal_went(engine, status, &err);
    if (status != CUZK_OK)
        ZK_LOG_ERROR(shared ? "a partition could not be written to the journal; it is kept and written later"
                            : "a partition could not be written to the journal; only a restart would notice",
                     zk_kv_str("error", err.message));
    bool late = shared && status == CUZK_OK && !first;
    if (late) {
        ZK_LOG_INFO("a late result is dropped: there was one already", zk_kv_str("job", job->meta.job_id),
                    zk_kv_u64("partition", kept->index));
        cuzk_status seen = engine_fleet_refresh(engine, job->meta.job_id, NULL);
        (void)seen; /* else it is seen later */
    }
    return (write_outcome){.late = late, .failed = status != CUZK_OK};
}

/* Needs the lock. */
static void keep_partition(engine_lane *lane, const zk_journal_partition *kept, write_outcome written) {
    engine_job *job = lane->task.job;
    engine_partition *p = &job->partitions[kept->index];
    p->taken = false;
    p->lane = (int)lane->id;
    if (written.late || p->state == ZK_PARTITION_DONE) return;
    p->unwritten = written.failed;
    engine_job_take_partition(job, kept);
}

/* Needs the lock, which is given up meanwhile. */
bool engine_task_proved(engine_lane *lane, const zk_ipc_message *done) {
    zk_engine *engine = lane->engine;
    engine_job *job = lane->task.job;
    cuzk_err bad = {0};
    if (!engine_job_is_open(job)) return true;
    cuzk_status verified = verify(lane, done, &bad);
    if (!engine_job_is_open(job)) return true;
    if (verified != CUZK_OK) return refuse_proof(lane, done, verified, &bad);
    zk_journal_partition kept = {.index = lane->task.partition,
                                 .srs_load_ns = done->srs_load_ns,
                                 .synth_ns = done->synth_ns,
                                 .gpu_ns = done->gpu_ns};
    memcpy(kept.proof, done->proof, sizeof kept.proof);
    count_proof(lane, done);
    engine_unlock(engine);
    write_outcome written = write_partition(engine, job, &kept);
    engine_lock(engine);
    if (!engine_job_is_open(job)) return true;
    keep_partition(lane, &kept, written);
    engine_unlock(engine);
    engine_job_finish_if_done(engine, job);
    engine_lock(engine);
    return true;
}

/* ---- partitions proved together ---- */

/* The partition takes the place of the task's own, which is at *index of `more` then; false: it is not there. */
static bool bring_forward(unsigned *index, engine_task *task, uint32_t partition) {
    for (*index = 0; *index < task->n_more; ++*index) {
        if (task->more[*index] != partition) continue;
        task->more[*index] = task->partition;
        task->partition = partition;
        return true;
    }
    return false;
}

bool engine_task_proved_one(engine_lane *lane, const zk_ipc_message *m) {
    engine_task *task = &lane->task;
    unsigned index;
    if (task->type != TASK_PROVE || !bring_forward(&index, task, m->partition)) return false;
    lane->engine->n_together++;
    if (!engine_task_proved(lane, m)) task->distrusted = true;
    task->partition = task->more[index];
    task->more[index] = task->more[--task->n_more];
    return true;
}

void engine_task_is_of(engine_lane *lane, uint32_t partition) {
    unsigned index;
    (void)bring_forward(&index, &lane->task, partition); /* else it is in its place, or of no partition */
}

/* Needs the lock, which is given up meanwhile. */
static void fail_job(engine_lane *lane, cuzk_status status, const char *message) {
    engine_job *job = lane->task.job;
    char text[512];
    if (lane->task.type == TASK_PROVE)
        snprintf(text, sizeof text, "partition %" PRIu32 ": %.480s", lane->task.partition, message);
    else
        snprintf(text, sizeof text, "%.511s", message);
    engine_unlock(lane->engine);
    engine_job_end(lane->engine, job, ZK_OUTCOME_FAILED, status, text);
    engine_lock(lane->engine);
}

/* An input that cannot be proved, while another worker checks it and may say better why. Needs the lock. */
static bool hold_failure(engine_lane *lane, cuzk_status status, const char *message) {
    engine_job *job = lane->task.job;
    if (lane->task.type != TASK_PROVE || job->check == CHECK_DONE || !engine_job_is_open(job)) return false;
    if (cuzk_status_classify(status) != CUZK_CLASS_INPUT) return false;
    cuzk_err held = {0};
    (void)ZK_FAIL(&held, status, "partition %" PRIu32 ": %s", lane->task.partition, message);
    job->held_failure = held; /* the partition stays taken: nobody tries it again */
    return true;
}

/* More memory was asked for than there is: another device may have it. Needs the lock, which is given up meanwhile. */
static void too_large(engine_lane *lane, cuzk_status status, const char *message) {
    engine_job *job = lane->task.job;
    if (!engine_lane_suits(lane, job) && engine_some_lane_left(lane->engine, job))
        engine_give_back(lane, false, 0);
    else
        fail_job(lane, status, message);
}

/* A device that fails again and again rests longer and longer, while others can do its work. Needs the lock. */
static void rest(engine_lane *lane) {
    unsigned n = ++lane->first->n_bad;
    if (n < 2 || !lane->task.job || !engine_another_suits(lane, lane->task.job)) return;
    lane->first->not_before_ns = zk_now_ns() + ((uint64_t)1 << (n < 7 ? n - 2 : 5)) * ZK_SECOND_NS;
}

bool engine_mistrusts(const zk_engine *engine, zk_proof_kind kind, uint64_t sector_bytes) {
    for (unsigned i = 0; i < engine->n_mistrusted; i++)
        if (engine->mistrusted[i].kind == kind && engine->mistrusted[i].sector_bytes == sector_bytes) return true;
    return false;
}

/* Its points are on the curve, that is all that was checked of them when they were loaded. Needs the lock. */
static void mistrust(engine_lane *lane) {
    zk_engine *engine = lane->engine;
    const engine_task *task = &lane->task;
    if (engine->n_mistrusted == ENGINE_MAX_CIRCUITS || engine_mistrusts(engine, task->kind, task->sector_bytes)) return;
    engine->mistrusted[engine->n_mistrusted].kind = task->kind;
    engine->mistrusted[engine->n_mistrusted++].sector_bytes = task->sector_bytes;
    ZK_LOG_WARN("the prepared key of this circuit is not used any more until a restart: cuzk params prepare --check",
                zk_kv_str("circuit", task->job->circuit_id));
}

/* Needs the lock, which is given up meanwhile. */
static void wrong_proof(engine_lane *lane, const zk_ipc_message *done) {
    zk_engine *engine = lane->engine;
    engine_job *job = lane->task.job;
    engine->n_wrong++;
    lane->n_wrong++;
    ZK_LOG_ERROR("a proof does not verify", zk_kv_u64("worker", lane->id), zk_kv_str("device", lane->device),
                 zk_kv_str("job", job->meta.job_id), zk_kv_u64("partition", lane->task.partition));
    if (done->prepared) mistrust(lane);
    engine_unlock(engine);
    engine_keep_evidence(engine, job, lane, done);
    engine_lock(engine);
    bool again = engine_give_back(lane, true, 0);
    /* a key is blamed before a device is */
    if (!done->prepared && ++lane->on->n_wrong >= MAX_WRONG)
        engine_device_retire(lane, "two wrong proofs of its device");
    if (!engine_some_lane_left(engine, job) && !zk_journal_is_shared(engine->journal))
        fail_job(lane, CUZK_DEVICE, "no worker is left: all were retired for wrong proofs");
    else if (!again)
        fail_job(lane, (cuzk_status)done->status, done->message);
    engine_lane *other = engine_lane_other(lane);
    if (engine_lane_is_busy(other)) other->loss = LOSS_IS_FREE; /* a wrong proof says nothing about the next */
}

/* Something is short, now or for ever. Needs the lock, which is given up meanwhile. */
static void lacks_resource(engine_lane *lane, cuzk_status status, const char *message) {
    engine_job *job = lane->task.job;
    bool on_device = lane->task.type == TASK_PROVE && !engine_device_is_cpu(lane->on);
    if (lane->never) {
        too_large(lane, status, message);
    } else if (status == CUZK_EXHAUSTED) {
        engine_give_back(lane, false, ZK_SECOND_NS);
    } else if (on_device && engine_another_suits(lane, job)) {
        engine_device_unfit(lane->on, lane->task.kind, lane->task.sector_bytes);
        engine_give_back(lane, true, 0);
    } else if (!engine_give_back(lane, true, ZK_SECOND_NS)) {
        fail_job(lane, status, message);
    }
}

/* Needs the lock, which is given up meanwhile. */
bool engine_task_failed(engine_lane *lane, const zk_ipc_message *done) {
    bool shared = zk_journal_is_shared(lane->engine->journal);
    cuzk_status status = (cuzk_status)done->status;
    if (done->wrong_proof) {
        wrong_proof(lane, done);
        return false; /* with fresh memory next time */
    }
    if (shared && status == CUZK_NOT_FOUND) { /* keys; others may have them */
        engine_give_back(lane, false, 0);
        return true;
    }
    switch (cuzk_status_classify(status)) {
    case CUZK_CLASS_CANCELLED:
        engine_give_back(lane, false, 0);
        return true;
    case CUZK_CLASS_IO: /* a disk of this machine; another may do */
        if (!shared || !engine_give_back(lane, true, ZK_SECOND_NS)) fail_job(lane, status, done->message);
        return true;
    case CUZK_CLASS_RESOURCE:
        lacks_resource(lane, status, done->message);
        return true;
    case CUZK_CLASS_DEVICE:
        rest(lane);
        if (!engine_give_back(lane, true, 0)) fail_job(lane, status, done->message);
        return false; /* device errors stick to the process */
    default:
        if (!hold_failure(lane, status, done->message)) fail_job(lane, status, done->message);
        return true;
    }
}

void engine_finish_call(engine_lane *lane, cuzk_status status, const char *message, const zk_ipc_message *done) {
    engine_key_call *call = lane->task.call;
    if (!call) return;
    if (status != CUZK_OK && call->status == CUZK_OK) call->status = ZK_FAIL(&call->err, status, "%s", message);
    call->already_loaded &= done && done->already_loaded;
    call->n_running--;
    pthread_cond_broadcast(&lane->engine->done);
}

void engine_settle_circuits(engine_lane *lane) {
    uint64_t now = zk_now_ns();
    for (unsigned i = lane->first->n_circuits; i-- > 0;) {
        engine_circuit *c = &lane->first->circuits[i];
        if (c->kind == lane->task.kind && c->sector_bytes == lane->task.sector_bytes) c->last_used_ns = now;
        if (c->loading && !engine_lane_is_second(lane)) engine_lane_forget_circuit(lane, c);
    }
}

void engine_task_crashed(engine_lane *lane, bool seen, const char *how, cuzk_err *err) {
    zk_engine *engine = lane->engine;
    char text[512];
    snprintf(text, sizeof text, "the worker process %s (%s)", lane->task.stalled_ns ? "stood still" : "died", how);
    if (seen) {
        engine->n_crashes++;
        lane->first->n_crashes++;
        engine->n_stalls += lane->task.stalled_ns != 0;
        rest(lane);
    }
    ZK_LOG_ERROR(lane->task.stalled_ns ? "worker stood still" : "worker died", zk_kv_u64("worker", lane->id),
                 zk_kv_str("how", how), zk_kv_str("error", err->message),
                 zk_kv_str("job", lane->task.job ? lane->task.job->meta.job_id : ""), zk_kv_str("stage", lane->stage));
    bool counts = lane->loss != LOSS_IS_FREE, again = true;
    if (lane->task.job) {
        again = engine_give_back(lane, counts, 0);
        again = engine_give_back_more(lane, counts) && again;
    }
    if (!again) {
        const char *what = lane->task.stalled_ns ? "the worker process stood still, or died, each time"
                                                 : "the worker process died each time";
        snprintf(text, sizeof text, "given up after %" PRIu32 " attempts: %s (%s) in %s", engine->options.max_attempts,
                 what, how, lane->stage[0] ? lane->stage : "its first step");
        fail_job(lane, CUZK_DEVICE, text);
    }
    engine_finish_call(lane, CUZK_DEVICE, text, NULL);
}
