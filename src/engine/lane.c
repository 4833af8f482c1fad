/* A lane: the daemon's side of one worker. Gives it one task at a time, and listens. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/span.h"
#include "engine/circuits.h"
#include "engine/engine_impl.h"
#include "engine/memory.h"
#include "groth16/prepared_params.h"

enum { LOOK_MS = 50, CANCEL_GRACE_S = 30, MAX_START_FAILURES = 5, MAX_START_DELAYS = 120 };

/* ---- a task ---- */

/* A message to the worker of a lane that has a task: nobody else closes its socket meanwhile. Needs the lock, which is
 * given up meanwhile. */
static cuzk_status tell(engine_lane *lane, zk_ipc_message *message, cuzk_err *err) {
    int fd = lane->fd;
    engine_unlock(lane->engine);
    cuzk_status status = zk_ipc_send(fd, message, NULL, 0, err);
    engine_lock(lane->engine);
    return status;
}

static zk_ipc_type ipc_type(engine_task_type type) {
    switch (type) {
    case TASK_PREPARE:
    case TASK_CHECK:
        return ZK_IPC_PREPARE;
    case TASK_PROVE:
        return ZK_IPC_PROVE;
    case TASK_LOAD:
        return ZK_IPC_LOAD;
    case TASK_FORGET:
        return ZK_IPC_FORGET;
    default:
        return ZK_IPC_EVICT;
    }
}

static void stage_ended(engine_partition *p, uint64_t now) {
    if (p->synth_start_ns) p->synth_ns += now - p->synth_start_ns;
    if (p->gpu_start_ns) p->gpu_ns += now - p->gpu_start_ns;
    p->synth_start_ns = p->gpu_start_ns = 0;
}

/* Whether the task is about this partition. */
static bool is_of_task(const engine_task *task, uint32_t partition) {
    bool found = partition == task->partition;
    for (uint32_t i = 0; i < task->n_more && !found; i++) found = partition == task->more[i];
    return found;
}

/* Needs the lock. */
static void stage_began(engine_lane *lane, const char *stage, uint32_t partition) {
    snprintf(lane->stage, sizeof lane->stage, "%s", stage);
    lane->stage_start_ns = zk_now_ns();
    lane->partition = is_of_task(&lane->task, partition) ? partition : lane->task.partition;
    engine_job *job = lane->task.job;
    bool proving = strcmp(stage, "prepare") != 0 && strcmp(stage, "load") != 0;
    if (strcmp(stage, "load") == 0) {
        lane->load_base_bytes = zk_memory_of_files(lane->pid);
        lane->load_done_bytes = 0;
    }
    if (strcmp(stage, "h") == 0) {
        lane->synthesized = true;
        if (lane->engine->options.max_synthesizing) pthread_cond_broadcast(&lane->engine->work);
    }
    lane->state = lane->task.type == TASK_PREPARE || strcmp(stage, "prepare") == 0 ? ZK_WORKER_PREPARING
                  : proving                                                        ? ZK_WORKER_PROVING
                                                                                   : ZK_WORKER_LOADING;
    if (strcmp(stage, "load") == 0 && !engine_lane_circuit(lane, lane->task.kind, lane->task.sector_bytes) &&
        lane->n_circuits < ENGINE_MAX_CIRCUITS)
        lane->circuits[lane->n_circuits++] = (engine_circuit){.kind = lane->task.kind,
                                                              .sector_bytes = lane->task.sector_bytes,
                                                              .loading = true,
                                                              .last_used_ns = zk_now_ns()};
    if (lane->task.type != TASK_PROVE || !proving || job->phase != ENGINE_READY) return;
    engine_partition *p = &job->partitions[lane->partition];
    if (p->state == ZK_PARTITION_DONE) return; /* elsewhere, meanwhile */
    uint64_t now = zk_now_ns();
    stage_ended(p, now);
    if (strcmp(stage, "check") == 0 || strcmp(stage, "synthesize") == 0) {
        p->state = ZK_PARTITION_SYNTHESIZING;
        p->synth_start_ns = now;
    } else {
        p->state = ZK_PARTITION_GPU;
        p->gpu_start_ns = now;
    }
}

static void say_denied(zk_ipc_message *answer, const engine_lane *lane, const zk_ipc_message *asked, bool never) {
    const engine_pool *host = &lane->engine->host, *pool = asked->kind ? lane->on->pool : host;
    char of[128] = "", kept[96] = "";
    if (pool == host)
        snprintf(of, sizeof of, ", of which the processes themselves take %" PRIu64, host->base_bytes);
    else
        snprintf(of, sizeof of, " of %s", lane->device);
    if (lane->task.type == TASK_LOAD && lane->engine->options.eviction_min_idle_ms)
        snprintf(kept, sizeof kept, "; keys that were used lately stay (memory.eviction_min_idle)");
    snprintf(answer->message, sizeof answer->message, "memory: %" PRIu64 " bytes are %s, the budget is %" PRIu64 "%s%s",
             asked->bytes, never ? "needed" : "not free now", pool->budget_bytes, of, kept);
}

/* Waits until the budget has room, evicts what must go. Needs the lock, which is given up meanwhile. */
static cuzk_status answer_reserve(engine_lane *lane, const zk_ipc_message *asked) {
    zk_engine *engine = lane->engine;
    zk_ipc_message answer = {.type = ZK_IPC_GRANTED};
    uint64_t begin = zk_now_ns();
    for (;;) {
        engine_circuit victim = {0};
        engine_grant grant = engine_reserve(&victim, lane, asked->kind ? asked->bytes : 0,
                                            asked->kind ? asked->host_bytes : asked->bytes);
        if (grant == GRANT_YES) {
            engine_circuit *c = engine_lane_circuit(lane, (zk_proof_kind)asked->kind, asked->sector_bytes);
            if (c) {
                c->bytes = asked->bytes;
                c->host_bytes = asked->host_bytes;
            }
            break;
        }
        if (grant == GRANT_EVICT) {
            engine_circuit *c = engine_lane_circuit(lane, victim.kind, victim.sector_bytes);
            if (c) c->evict_wanted = true;
            answer = (zk_ipc_message){.type = ZK_IPC_EVICT, .kind = victim.kind, .sector_bytes = victim.sector_bytes};
            break; /* EVICTED comes, then this is asked again by the caller */
        }
        if (grant == GRANT_LATER || grant == GRANT_NEVER || lane->task.cancel || engine->stopping) {
            bool never = grant == GRANT_NEVER;
            answer.type = ZK_IPC_DENIED;
            answer.status = lane->task.cancel || engine->stopping ? CUZK_CANCELLED
                            : never                               ? CUZK_OUT_OF_MEMORY
                                                                  : CUZK_EXHAUSTED;
            lane->never = never;
            if (never && asked->kind && asked->bytes > lane->on->pool->budget_bytes && lane->on->pool == &lane->on->own)
                engine_device_unfit(lane->on, (zk_proof_kind)asked->kind, asked->sector_bytes);
            say_denied(&answer, lane, asked, never);
            break;
        }
        lane->waiting_memory = true;
        engine_balance(engine);
        zk_cond_wait_until(&engine->work, &engine->lock, zk_now_ns() + ZK_SECOND_NS);
    }
    if (lane->waiting_memory) {
        lane->waiting_memory = false;
        engine_balance(engine);
        ZK_LOG_DEBUG("waited for memory", zk_kv_u64("worker", lane->id),
                     zk_kv_u64("ms", (zk_now_ns() - begin) / 1000000));
    }
    return tell(lane, &answer, NULL);
}

/* Memory for a second lane, which is worth no waiting. Needs the lock, which is given up meanwhile. */
static cuzk_status answer_optional(engine_lane *lane, const zk_ipc_message *asked) {
    bool yes = engine_reserve_free(lane, asked->bytes);
    zk_ipc_message answer = {.type = yes ? ZK_IPC_GRANTED : ZK_IPC_DENIED, .status = CUZK_EXHAUSTED};
    return tell(lane, &answer, NULL);
}

static cuzk_status path_of_key_file(char **path, const zk_engine *engine, const zk_ipc_message *m, cuzk_err *err) {
    char params[ZK_KEY_PATH_BYTES];
    ZK_TRY(
        zk_circuit_key_path(params, NULL, engine->options.param_cache, (zk_proof_kind)m->kind, m->sector_bytes, err));
    if (m->prepared) return zk_prepared_path(path, params, err);
    *path = zk_strdup(params);
    return *path ? CUZK_OK : ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the path of a key");
}

/* A worker is about to load keys, or has, and knows the digest of the file. Needs the lock, which is given up
 * meanwhile.
 */
static cuzk_status answer_key_file(engine_lane *lane, const zk_ipc_message *m) {
    zk_engine *engine = lane->engine;
    zk_ipc_message answer = {.type = ZK_IPC_GRANTED};
    char *path = NULL, hex[2][65];
    bool known = true, both = false, changed = false;
    uint8_t before[32];
    cuzk_err err = {0};
    engine_vk *vk = NULL;
    engine_unlock(lane->engine);
    cuzk_status status = path_of_key_file(&path, engine, m, &err);
    if (status == CUZK_OK && m->type == ZK_IPC_KEY_FILE)
        status = zk_digests_look(&known, &both, engine->digests, path, &m->file, &err);
    if (status == CUZK_OK && m->type == ZK_IPC_KEY_FILE && !m->prepared)
        status = engine_vk_hold(&vk, engine, (zk_proof_kind)m->kind, m->sector_bytes, &m->file, &err);
    if (status == CUZK_OK && m->type == ZK_IPC_KEY_DIGEST)
        status = zk_digests_remember(&changed, before, engine->digests, path, &m->file, &m->digest, &err);
    if (changed) {
        zk_hex_encode(hex[0], before, 32);
        zk_hex_encode(hex[1], m->digest.sha256, 32);
        ZK_LOG_WARN("a key file has other content than before", zk_kv_str("file", path), zk_kv_str("before", hex[0]),
                    zk_kv_str("now", hex[1]));
    }
    if (known && status == CUZK_OK) answer.known = zk_digests_get(answer.digest.sha256, engine->digests, path);
    if (!known) {
        answer.type = ZK_IPC_DIGEST;
        answer.digest.has_blake2b = both;
    }
    if (status != CUZK_OK) {
        answer.type = ZK_IPC_DENIED;
        answer.status = (uint32_t)status;
        snprintf(answer.message, sizeof answer.message, "%s", err.message);
    }
    free(path);
    status = zk_ipc_send(lane->fd, &answer, NULL, 0, NULL);
    engine_lock(lane->engine);
    if (!vk) return status;
    engine_circuit *c = engine_lane_circuit(lane, (zk_proof_kind)m->kind, m->sector_bytes);
    engine_vk_drop(c ? c->vk : vk);
    if (c) c->vk = vk;
    return status;
}

/* Everything but DONE. Needs the lock. */
static cuzk_status handle(engine_lane *lane, const zk_ipc_message *m, const char *text, zk_ipc_message *asked) {
    engine_circuit *c;
    switch (m->type) {
    case ZK_IPC_STAGE:
        stage_began(lane, m->stage, m->partition);
        return CUZK_OK;
    case ZK_IPC_RESERVE:
        if (m->optional) return answer_optional(lane, m);
        *asked = *m;
        return answer_reserve(lane, asked);
    case ZK_IPC_RELEASE:
        engine_release(lane, m->kind ? m->bytes : 0, m->kind ? m->host_bytes : m->bytes);
        return CUZK_OK;
    case ZK_IPC_EVICTED:
        c = engine_lane_circuit(lane, (zk_proof_kind)m->kind, m->sector_bytes);
        if (c) engine_lane_forget_circuit(lane, c);
        engine_release(lane, m->bytes, m->host_bytes);
        /* If it was in answer to a reservation the worker still waits for that. */
        return asked->type == ZK_IPC_RESERVE && lane->task.type != TASK_EVICT ? answer_reserve(lane, asked) : CUZK_OK;
    case ZK_IPC_LOADED:
        c = engine_lane_circuit(lane, (zk_proof_kind)m->kind, m->sector_bytes);
        if (c) {
            c->loading = false;
            c->prepared = m->prepared;
            engine_warm_used(lane->engine, c->kind, c->sector_bytes, m->prepared);
            c->bytes = m->bytes;
            c->host_bytes = m->host_bytes;
        }
        asked->type = 0;
        return CUZK_OK;
    case ZK_IPC_LANES:
        for (unsigned i = 0; i < lane->n_circuits; i++) {
            c = &lane->circuits[i];
            if (m->kind && (c->kind != (zk_proof_kind)m->kind || c->sector_bytes != m->sector_bytes)) continue;
            c->n_lanes = m->n_lanes;
            c->n_group = m->n_group < ZK_IPC_MAX_GROUP ? m->n_group : ZK_IPC_MAX_GROUP;
        }
        engine_release(lane, m->bytes, 0); /* wakes those who may go on */
        return CUZK_OK;
    case ZK_IPC_KEY_FILE:
    case ZK_IPC_KEY_DIGEST:
        return answer_key_file(lane, m);
    case ZK_IPC_PROVED:
        return engine_task_proved_one(lane, m) ? CUZK_OK : CUZK_INTERNAL;
    case ZK_IPC_MEMORY:
        free(lane->first->memory_text);
        lane->first->memory_text = zk_strdup(text);
        return CUZK_OK;
    default:
        return CUZK_INTERNAL;
    }
}

/* The worker may begin with what comes next, if there is memory for it. Needs the lock, which is given up meanwhile. */
static void offer_ahead(engine_lane *lane) {
    zk_engine *engine = lane->engine;
    engine_task next;
    if (engine_device_is_cpu(lane->on) || engine->options.no_lookahead || lane->task.type != TASK_PROVE) return;
    engine_promises_prune(lane);
    if (lane->n_promises >= engine->options.lookahead || !engine_peek(&next, engine, lane)) return;
    zk_ipc_message m = {.type = ZK_IPC_AHEAD, .partition = next.partition};
    memcpy(m.job_id, next.job->meta.job_id, sizeof m.job_id);
    bool open = strcmp(m.job_id, lane->job_at_hand) == 0;
    for (unsigned i = 0; i < lane->n_promises; i++) open |= lane->promises[i].job == next.job;
    if (!open) {
        engine_circuit victim;
        m.bytes = zk_spooled_job_bytes(next.job->file_bytes);
        if (engine->host.reserved_bytes + engine->host.base_bytes + m.bytes > engine->host.budget_bytes ||
            engine_reserve(&victim, lane, 0, m.bytes) != GRANT_YES)
            return;
    }
    engine_job_hold(next.job);
    lane->promises[lane->n_promises++] = (engine_promise){.job = next.job, .partition = next.partition};
    lane->looked_ahead = true;
    cuzk_status status = tell(lane, &m, NULL);
    (void)status; /* a worker that is gone is seen when it should answer */
}

/* Of partitions that are proved together those that are not begun wait for what is urgent, or for another life. Needs
 * the lock, which is given up meanwhile. */
static void ask_to_yield(engine_lane *lane) {
    zk_engine *engine = lane->engine;
    if (!lane->task.n_more || lane->task.yield_sent) return;
    if (!engine->draining && !engine_should_yield(engine, lane)) return;
    lane->task.yield_sent = true;
    cuzk_status status = tell(lane, &(zk_ipc_message){.type = ZK_IPC_YIELD}, NULL);
    (void)status; /* a worker that is gone is seen when it should answer */
}

/* Needs the lock. */
static zk_ipc_message message_of_task(const engine_lane *lane) {
    const engine_task *task = &lane->task;
    zk_ipc_message m = {
        .type = ipc_type(task->type),
        .kind = task->kind,
        .sector_bytes = task->sector_bytes,
        .partition = task->partition,
        .n_more = task->n_more,
        .plain = engine_mistrusts(lane->engine, task->kind, task->sector_bytes),
        .check = task->type == TASK_CHECK || (task->type == TASK_PREPARE && engine_checks_itself(lane, task->job)),
    };
    memcpy(m.more, task->more, sizeof m.more);
    if (task->job) memcpy(m.job_id, task->job->meta.job_id, sizeof m.job_id);
    return m;
}

/* Looks whether the task makes progress. spoke: it just said something, or was answered. Waiting for others is none of
 * its doing: those who paused it for urgent work, and (between two looks) the daemon itself. Needs the lock. */
static cuzk_status look(engine_lane *lane, bool spoke, cuzk_err *err) {
    engine_lane *first = lane->first;
    zk_stall *stall = &lane->task.stall;
    const uint64_t limit_ns = lane->engine->options.stall_limit_ms * ZK_MS_NS;
    zk_progress *progress = first->progress ? &first->progress[engine_lane_is_second(lane)] : NULL;
    bool made = !progress || zk_progress_take(progress);
    if (first->stopped && !made && !spoke)
        zk_stall_pause(stall, zk_now_ns());
    else
        zk_stall_look(stall, zk_now_ns(), made || spoke);
    if (!limit_ns || stall->still_ns < limit_ns || lane->task.cancel) return CUZK_OK;
    if (zk_process_is_held(first->pid)) {
        ZK_LOG_WARN("a worker makes no progress; it is left alone, as somebody has stopped or traces it",
                    zk_kv_u64("worker", lane->id), zk_kv_u64("pid", (uint64_t)first->pid));
        zk_stall_begin(stall, zk_now_ns());
        return CUZK_OK;
    }
    lane->task.stalled_ns = stall->still_ns;
    return ZK_FAIL(err, CUZK_IO, "no progress for %.1f s (daemon.stall_limit)", (double)stall->still_ns / 1e9);
}

/* Sends the task and listens until it is done: OK. IO: the process is gone or was ended because it did not stop. Needs
 * the lock, which is given up meanwhile. */
static cuzk_status converse(engine_lane *lane, zk_ipc_message *done, char *text, cuzk_err *err) {
    zk_engine *engine = lane->engine;
    zk_ipc_message m = message_of_task(lane), asked = {0};
    lane->synthesized = lane->never = false;
    if (lane->task.job) memcpy(lane->job_at_hand, m.job_id, sizeof lane->job_at_hand);
    cuzk_status status = tell(lane, &m, err);
    zk_stall_begin(&lane->task.stall, zk_now_ns());
    while (status == CUZK_OK) {
        engine_unlock(lane->engine);
        status = zk_ipc_receive(&m, text, lane->fd, LOOK_MS, err);
        engine_lock(lane->engine);
        if (engine->stopping) return ZK_FAIL(err, CUZK_CANCELLED, "the engine ends");
        offer_ahead(lane);
        ask_to_yield(lane);
        if (lane->task.cancel && !lane->task.cancel_sent_ns) {
            lane->task.cancel_sent_ns = zk_now_ns();
            engine_balance(engine); /* it must run to stop */
            if (tell(lane, &(zk_ipc_message){.type = ZK_IPC_CANCEL}, NULL) != CUZK_OK) status = CUZK_IO;
        } else if (lane->task.cancel && zk_now_ns() - lane->task.cancel_sent_ns > CANCEL_GRACE_S * ZK_SECOND_NS) {
            return ZK_FAIL(err, CUZK_IO, "the worker did not stop within %d s", CANCEL_GRACE_S);
        }
        if (status == CUZK_EXHAUSTED) {
            zk_err_reset(err);
            /* the lane beside has ended the process, which need not have closed its sockets if it hangs */
            status = lane->first->pid ? look(lane, false, err) : ZK_FAIL(err, CUZK_IO, "its process was ended");
            continue;
        }
        if (status != CUZK_OK) break;
        if (m.type == ZK_IPC_DONE) {
            *done = m;
            return CUZK_OK;
        }
        status = handle(lane, &m, text, &asked);
        if (status == CUZK_OK) status = look(lane, true, err); /* what came before was waiting for us */
    }
    return status == CUZK_IO ? status : ZK_FAIL(err, CUZK_IO, "the worker said what it should not");
}

/* The process has ended while the task was: its socket is of no use. Needs the lock. */
static void let_go(engine_lane *lane) {
    if (lane->first->pid || lane->fd < 0) return;
    close(lane->fd);
    lane->fd = -1;
}

/* Needs the lock. */
static void begin_task(engine_lane *lane) {
    engine_task *task = &lane->task;
    task->start_ns = lane->stage_start_ns = zk_now_ns();
    lane->stopped_ns = 0;
    lane->stage[0] = 0;
    lane->partition = task->partition;
    if (lane->fd < 0) lane->loss = LOSS_IS_FREE; /* the process ended before the task came to it */
    lane->state = task->type == TASK_LOAD     ? ZK_WORKER_LOADING
                  : task->type == TASK_FORGET ? ZK_WORKER_IDLE
                                              : ZK_WORKER_PREPARING;
    engine_balance(lane->engine);
}

/* The process is gone, or did not do as it should. Needs the lock, which is given up meanwhile. */
static void lose_process(engine_lane *lane, cuzk_err *err) {
    char how[96] = "";
    bool seen = engine_lane_end(lane, true, how, sizeof how);
    if (!lane->engine->stopping) {
        engine_task_crashed(lane, seen, how, err);
        return;
    }
    if (lane->task.job) engine_give_back(lane, false, 0);
    engine_give_back_more(lane, false);
    cuzk_err ending = {0};
    cuzk_status status = engine_fail_ending(&ending);
    engine_finish_call(lane, status, ending.message, NULL);
}

/* What the worker says of itself at the end of a task. Needs the lock. */
static void take_figures(engine_lane *lane, const zk_ipc_message *done, const char *text) {
    zk_engine *engine = lane->engine;
    engine_lane *first = lane->first;
    first->retire_pending_bytes = done->retire_pending_bytes;
    first->retire_pending_items = done->retire_pending_items;
    if (first->pid) engine_lane_measure(lane, zk_memory_own_of(first->pid));
    if (done->device_total_bytes) first->device_free_bytes = done->device_free_bytes;
    engine->traced_ns += done->total_ns;
    engine->unaccounted_ns += done->unaccounted_ns;
    if (lane->task.job) engine_trace_add(engine, lane->task.job->meta.job_id, lane, text, done->n_text);
}

/* Whether the process can go on. Needs the lock, which is given up meanwhile. */
static bool take_outcome(engine_lane *lane, const zk_ipc_message *done) {
    engine_task *task = &lane->task;
    engine_task_is_of(lane, done->partition);
    if (!task->job)
        engine_finish_call(lane, (cuzk_status)done->status, done->message, done);
    else if (done->status != CUZK_OK)
        return engine_task_failed(lane, done);
    else if (task->type == TASK_PREPARE)
        engine_task_prepared(lane, done);
    else if (task->type == TASK_CHECK)
        engine_task_checked(lane);
    else
        return engine_task_proved(lane, done);
    return true;
}

/* The worker has said DONE. Needs the lock, which is given up meanwhile. */
static void settle_task(engine_lane *lane, const zk_ipc_message *done, const char *text) {
    engine_settle_circuits(lane);
    take_figures(lane, done, text);
    if (lane->task.type == TASK_FORGET) {
        lane->job_at_hand[0] = 0;
        lane->looked_ahead = false;
    }
    bool good = take_outcome(lane, done) && !lane->task.distrusted;
    /* an error of the device may be of any of them */
    engine_give_back_more(lane, cuzk_status_classify((cuzk_status)done->status) == CUZK_CLASS_DEVICE);
    if (lane->retire) engine_lane_retire(lane, "wrong proofs of its device");
    if (!good || lane->first->state == ZK_WORKER_RETIRED) engine_lane_end(lane, true, NULL, 0);
}

/* Needs the lock, which is given up meanwhile. */
static void end_task(engine_lane *lane) {
    zk_engine *engine = lane->engine;
    engine_task *task = &lane->task;
    if (task->job) {
        engine_served(engine, task->job->meta.miner_id, zk_now_ns() - task->start_ns);
        engine_fleet_return(lane, task);
        engine_job_drop(task->job);
    }
    let_go(lane);
    *task = (engine_task){0};
    lane->stage[0] = 0;
    lane->loss = LOSS_NONE;
    if (lane->state != ZK_WORKER_RETIRED) lane->state = lane->first->pid ? ZK_WORKER_IDLE : ZK_WORKER_OFF;
    lane->idle_since_ns = zk_now_ns();
    engine_balance(engine);
    pthread_cond_broadcast(&engine->work);
    pthread_cond_broadcast(&engine->done);
}

/* Needs the lock, which is given up meanwhile. */
static void run_task(engine_lane *lane) {
    cuzk_err err = {0};
    zk_ipc_message done = {0};
    begin_task(lane);
    cuzk_status status = converse(lane, &done, lane->text, &err);
    lane->waiting_memory = false;
    if (status != CUZK_OK)
        lose_process(lane, &err);
    else
        settle_task(lane, &done, lane->text);
    end_task(lane);
}

/* ---- the thread ---- */

/* Asks the worker to end; false: it is gone already. Under the lock, as of a lane without a task the one beside may
 * close the socket; there is room for so small a message. */
static bool say_goodbye(engine_lane *lane) {
    return zk_ipc_send(lane->fd, &(zk_ipc_message){.type = ZK_IPC_EXIT}, NULL, 0, NULL) == CUZK_OK;
}

/* A worker that ended while it had nothing to do. Needs the lock, which is given up meanwhile. */
static void look_after_idle(engine_lane *lane) {
    zk_engine *engine = lane->engine;
    if (!lane->pid || engine_lane_is_busy(lane->beside)) return; /* that sees it by itself */
    siginfo_t info = {0};
    bool gone = waitid(P_PID, (id_t)lane->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
    bool unused = engine->options.worker_idle_ms && lane->min_priority > ZK_PRIORITY_LOW &&
                  zk_now_ns() - lane->idle_since_ns > engine->options.worker_idle_ms * 1000000;
    if (!gone && !unused) return;
    if (gone) {
        engine->n_crashes++;
        lane->n_crashes++;
        ZK_LOG_WARN("idle worker died", zk_kv_u64("worker", lane->id));
    } else {
        gone = !say_goodbye(lane);
    }
    engine_lane_end(lane, gone, NULL, 0);
}

/* Needs the lock, which is given up meanwhile. */
static void start_failed(engine_lane *lane, const cuzk_err *err) {
    zk_engine *engine = lane->engine;
    uint64_t n = ++lane->start_failures;
    lane->not_before_ns = zk_now_ns() + (n < MAX_START_DELAYS ? n : MAX_START_DELAYS) * (ZK_SECOND_NS / 2);
    if (lane->broken) lane->state = ZK_WORKER_RETIRED;
    if (engine->stopping || lane->broken) return;
    ZK_LOG_ERROR("worker does not start", zk_kv_u64("worker", lane->id), zk_kv_str("error", err->message));
    if (lane->start_failures < MAX_START_FAILURES) return;
    lane->broken = true;
    engine_lane_retire(lane, err->message);
}

/* Ordinary workers are there before work is, those for urgent work come with it. A broken one is tried again. Needs the
 * lock, which is given up meanwhile. */
static void start_ahead_of_work(engine_lane *lane) {
    zk_engine *engine = lane->engine;
    cuzk_err err = {0};
    bool wanted = lane->broken || (lane->role != ROLE_EXPRESS && lane->state == ZK_WORKER_OFF);
    if (engine_lane_is_second(lane) || lane->ending || engine_lane_is_held(lane) ||
        (lane->beside && lane->beside->fd >= 0 && !lane->pid))
        return;
    if (!wanted || engine->draining || lane->not_before_ns > zk_now_ns()) return;
    if (engine_lane_start(lane, &err) != CUZK_OK) {
        start_failed(lane, &err);
        return;
    }
    if (lane->broken) ZK_LOG_INFO("worker starts again", zk_kv_u64("worker", lane->id));
    lane->broken = false;
    lane->state = ZK_WORKER_IDLE;
    pthread_cond_broadcast(&engine->work);
}

/* A task whose worker does not start is as if it had not been taken. Needs the lock, which is given up meanwhile. */
static void give_up_start(engine_lane *lane, const cuzk_err *err) {
    engine_task *task = &lane->task;
    if (task->job) engine_give_back(lane, false, 0);
    engine_give_back_more(lane, false);
    start_failed(lane, err);
    engine_finish_call(lane, CUZK_DEVICE, err->message, NULL);
    engine_fleet_return(lane, task);
    if (task->job) engine_job_drop(task->job);
    *task = (engine_task){0};
}

/* The task was taken. Needs the lock, which is given up meanwhile. */
static void do_task(engine_lane *lane, const engine_task *task) {
    cuzk_err err = {0};
    engine_task_begins(lane->engine, task);
    lane->task = *task;
    bool starts = !engine_lane_is_second(lane) && !lane->pid;
    if (starts && engine_lane_start(lane, &err) != CUZK_OK)
        give_up_start(lane, &err);
    else
        run_task(lane);
}

void *engine_lane_main(void *ctx) {
    engine_lane *lane = ctx;
    zk_engine *engine = lane->engine;
    engine_lock(engine);
    lane->idle_since_ns = zk_now_ns();
    while (!engine->stopping) {
        engine_task task;
        engine_lane_look_for_end(lane);
        start_ahead_of_work(lane);
        if (engine->stopping) break;
        if (engine_pick(&task, engine, lane)) {
            if (engine_fleet_take(&task, lane)) do_task(lane, &task);
            continue;
        }
        look_after_idle(lane);
        zk_cond_wait_until(&engine->work, &engine->lock, zk_now_ns() + ZK_SECOND_NS);
    }
    if (!engine_lane_is_second(lane)) engine_lane_end(lane, lane->pid && !say_goodbye(lane), NULL, 0);
    engine_unlock(engine);
    return NULL;
}
