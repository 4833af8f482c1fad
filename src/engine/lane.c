/* A lane: the daemon's side of one worker process. Starts it, gives it one task at a time, listens. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/span.h"
#include "engine/engine_impl.h"

#define SECOND_NS UINT64_C(1000000000)
enum { START_TIMEOUT_MS = 30000, CANCEL_GRACE_S = 30, MAX_WRONG = 2, MAX_START_FAILURES = 5, WORKER_FD = 3 };

extern char **environ;

static void lock(engine_lane *lane) { pthread_mutex_lock(&lane->engine->lock); }
static void unlock(engine_lane *lane) { pthread_mutex_unlock(&lane->engine->lock); }

/* ---- the process ---- */

static cuzk_status spawn(pid_t *pid, int *fd, engine_lane *lane, cuzk_err *err) {
    const zk_engine_options *o = &lane->engine->options;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return ZK_FAIL(err, CUZK_EXHAUSTED, "worker: socketpair: %s", strerror(errno));
    int bytes = 4 * ZK_IPC_MAX_TEXT;
    for (int i = 0; i < 2; i++) setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    char threads[16], number[16];
    snprintf(threads, sizeof threads, "%u", o->worker_threads);
    snprintf(number, sizeof number, "%d", WORKER_FD);
    const char *argv[] = {o->worker_program,
                          "worker",
                          "--fd",
                          number,
                          "--threads",
                          threads,
                          "--params",
                          o->param_cache,
                          "--spool",
                          o->spool_dir,
                          o->worker_fault ? "--fault" : NULL,
                          o->worker_fault,
                          NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    /* dup2 to the same number keeps the descriptor open across exec, too */
    posix_spawn_file_actions_adddup2(&actions, pair[1], WORKER_FD);
    posix_spawn_file_actions_addclosefrom_np(&actions, WORKER_FD + 1);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    int code = posix_spawn(pid, o->worker_program, &actions, &attr, (char *const *)(uintptr_t)argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    close(pair[1]);
    if (code != 0) {
        close(pair[0]);
        return ZK_FAIL(err, CUZK_IO, "worker: cannot start %s: %s", o->worker_program, strerror(code));
    }
    *fd = pair[0];
    return CUZK_OK;
}

/* How a process ended, for messages. */
static void describe_exit(char *text, size_t n, int status) {
    if (WIFSIGNALED(status))
        snprintf(text, n, "killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(text, n, "exit code %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

/* The process is over, or is to be: nothing of it is left afterwards. Needs the lock, which is given up meanwhile. */
static void end_process(engine_lane *lane, bool force, char *how, size_t n_how) {
    zk_engine *engine = lane->engine;
    pid_t pid = lane->pid;
    int status = 0;
    if (!pid) return;
    lane->pid = 0; /* nobody sends it signals from now on: it is reaped here */
    lane->stopped = false;
    unlock(lane);
    if (force) kill(pid, SIGKILL);
    kill(pid, SIGCONT);
    close(lane->fd);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (how) describe_exit(how, n_how, status);
    lock(lane);
    lane->fd = -1;
    lane->state = lane->state == ZK_WORKER_RETIRED ? ZK_WORKER_RETIRED : ZK_WORKER_OFF;
    lane->n_circuits = 0;
    engine_release(lane, lane->reserved_bytes);
    free(lane->memory_text);
    lane->memory_text = NULL;
    lane->retire_pending_bytes = lane->retire_pending_items = 0;
    engine_balance(engine);
}

/* Needs the lock, which is given up meanwhile. */
static cuzk_status start_process(engine_lane *lane, cuzk_err *err) {
    pid_t pid = 0;
    int fd = -1;
    lane->state = ZK_WORKER_STARTING;
    unlock(lane);
    zk_ipc_message hello = {0};
    cuzk_status status = spawn(&pid, &fd, lane, err);
    if (status == CUZK_OK) {
        uint64_t until = zk_now_ns() + START_TIMEOUT_MS * UINT64_C(1000000);
        do {
            status = zk_ipc_receive(&hello, NULL, fd, 100, err);
        } while (status == CUZK_EXHAUSTED && zk_now_ns() < until && !lane->engine->stopping);
        if (status == CUZK_EXHAUSTED) status = ZK_FAIL(err, status, "worker: no word from process %d", (int)pid);
        if (status == CUZK_OK && (hello.type != ZK_IPC_HELLO || hello.version != ZK_IPC_VERSION))
            status =
                ZK_FAIL(err, CUZK_INTERNAL, "worker: %s is of another version", lane->engine->options.worker_program);
    }
    lock(lane);
    if (pid) {
        lane->pid = pid;
        lane->fd = fd;
    }
    if (status != CUZK_OK) {
        char how[64] = "";
        end_process(lane, true, how, sizeof how);
        lane->state = ZK_WORKER_OFF;
        return status;
    }
    memcpy(lane->device_kind, hello.device_kind, sizeof lane->device_kind);
    memcpy(lane->device, hello.device, sizeof lane->device);
    lane->device_memory_bytes = hello.bytes;
    lane->n_starts++;
    lane->start_failures = 0;
    return CUZK_OK;
}

static void retire_lane(engine_lane *lane, const char *why) {
    ZK_LOG_ERROR("worker retired", zk_kv_u64("worker", lane->id), zk_kv_str("device", lane->device),
                 zk_kv_str("why", why));
    lane->state = ZK_WORKER_RETIRED;
}

/* ---- a task ---- */

static zk_ipc_type ipc_type(engine_task_type type) {
    switch (type) {
    case TASK_PREPARE:
        return ZK_IPC_PREPARE;
    case TASK_PROVE:
        return ZK_IPC_PROVE;
    case TASK_LOAD:
        return ZK_IPC_LOAD;
    default:
        return ZK_IPC_EVICT;
    }
}

static void stage_ended(engine_partition *p, uint64_t now) {
    if (p->synth_start_ns) p->synth_ns += now - p->synth_start_ns;
    if (p->gpu_start_ns) p->gpu_ns += now - p->gpu_start_ns;
    p->synth_start_ns = p->gpu_start_ns = 0;
}

/* Needs the lock. */
static void stage_began(engine_lane *lane, const char *stage) {
    snprintf(lane->stage, sizeof lane->stage, "%s", stage);
    engine_job *job = lane->task.job;
    bool proving = strcmp(stage, "prepare") != 0 && strcmp(stage, "load") != 0;
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
    engine_partition *p = &job->partitions[lane->task.partition];
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

/* Waits until the budget has room, evicts what must go. Needs the lock, which is given up meanwhile. */
static cuzk_status answer_reserve(engine_lane *lane, const zk_ipc_message *asked) {
    zk_engine *engine = lane->engine;
    zk_ipc_message answer = {.type = ZK_IPC_GRANTED};
    uint64_t begin = zk_now_ns();
    for (;;) {
        engine_circuit victim = {0};
        engine_grant grant = engine_reserve(&victim, lane, asked->bytes);
        if (grant == GRANT_YES) {
            engine_circuit *c = engine_lane_circuit(lane, (zk_proof_kind)asked->kind, asked->sector_bytes);
            if (c) c->bytes = asked->bytes;
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
            snprintf(answer.message, sizeof answer.message,
                     never ? "memory: %" PRIu64 " bytes are needed, the budget is %" PRIu64
                           : "memory: %" PRIu64 " bytes are not free now, the budget is %" PRIu64,
                     asked->bytes, engine->budget_bytes);
            break;
        }
        lane->waiting_memory = true;
        engine_balance(engine);
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += 1;
        pthread_cond_timedwait(&engine->work, &engine->lock, &until);
    }
    if (lane->waiting_memory) {
        lane->waiting_memory = false;
        engine_balance(engine);
        ZK_LOG_DEBUG("waited for memory", zk_kv_u64("worker", lane->id),
                     zk_kv_u64("ms", (zk_now_ns() - begin) / 1000000));
    }
    unlock(lane);
    cuzk_status status = zk_ipc_send(lane->fd, &answer, NULL, 0, NULL);
    lock(lane);
    return status;
}

/* Everything but DONE. Needs the lock. */
static cuzk_status handle(engine_lane *lane, const zk_ipc_message *m, const char *text, zk_ipc_message *asked) {
    engine_circuit *c;
    switch (m->type) {
    case ZK_IPC_STAGE:
        stage_began(lane, m->stage);
        return CUZK_OK;
    case ZK_IPC_RESERVE:
        *asked = *m;
        return answer_reserve(lane, asked);
    case ZK_IPC_RELEASE:
        engine_release(lane, m->bytes);
        return CUZK_OK;
    case ZK_IPC_EVICTED:
        c = engine_lane_circuit(lane, (zk_proof_kind)m->kind, m->sector_bytes);
        if (c) engine_lane_forget_circuit(lane, c);
        engine_release(lane, m->bytes);
        /* If it was in answer to a reservation the worker still waits for that. */
        return asked->type == ZK_IPC_RESERVE && lane->task.type != TASK_EVICT ? answer_reserve(lane, asked) : CUZK_OK;
    case ZK_IPC_LOADED:
        c = engine_lane_circuit(lane, (zk_proof_kind)m->kind, m->sector_bytes);
        if (c) {
            c->loading = false;
            c->bytes = m->bytes;
        }
        asked->type = 0;
        return CUZK_OK;
    case ZK_IPC_MEMORY:
        free(lane->memory_text);
        lane->memory_text = zk_strdup(text);
        return CUZK_OK;
    default:
        return CUZK_INTERNAL;
    }
}

/* Sends the task and listens until it is done: OK. IO: the process is gone or was ended because it did not stop. */
static cuzk_status converse(engine_lane *lane, zk_ipc_message *done, char *text, cuzk_err *err) {
    zk_engine *engine = lane->engine;
    zk_ipc_message m = {.type = ipc_type(lane->task.type), .kind = lane->task.kind, .partition = lane->task.partition};
    zk_ipc_message asked = {0};
    m.sector_bytes = lane->task.sector_bytes;
    if (lane->task.job) memcpy(m.job_id, lane->task.job->meta.job_id, sizeof m.job_id);
    unlock(lane);
    cuzk_status status = zk_ipc_send(lane->fd, &m, NULL, 0, err);
    lock(lane);
    while (status == CUZK_OK) {
        unlock(lane);
        status = zk_ipc_receive(&m, text, lane->fd, 50, err);
        lock(lane);
        if (engine->stopping) return ZK_FAIL(err, CUZK_CANCELLED, "the engine ends");
        if (lane->task.cancel && !lane->task.cancel_sent_ns) {
            zk_ipc_message cancel = {.type = ZK_IPC_CANCEL};
            lane->task.cancel_sent_ns = zk_now_ns();
            engine_balance(engine); /* it must run to stop */
            if (zk_ipc_send(lane->fd, &cancel, NULL, 0, NULL) != CUZK_OK) status = CUZK_IO;
        } else if (lane->task.cancel && zk_now_ns() - lane->task.cancel_sent_ns > CANCEL_GRACE_S * SECOND_NS) {
            return ZK_FAIL(err, CUZK_IO, "the worker did not stop within %d s", CANCEL_GRACE_S);
        }
        if (status == CUZK_EXHAUSTED) {
            status = CUZK_OK;
            continue;
        }
        if (status != CUZK_OK) break;
        if (m.type == ZK_IPC_DONE) {
            *done = m;
            return CUZK_OK;
        }
        status = handle(lane, &m, text, &asked);
    }
    return status == CUZK_IO ? status : ZK_FAIL(err, CUZK_IO, "the worker said what it should not");
}

/* ---- after a task ---- */

/* The partition is to be tried again, by whoever comes; false: it was tried often enough. Needs the lock. */
static bool give_back(engine_lane *lane, bool counts, uint64_t delay_ns) {
    zk_engine *engine = lane->engine;
    engine_task *task = &lane->task;
    engine_job *job = task->job;
    if (!engine_job_is_open(job)) return true;
    engine->n_retries += counts;
    if (task->type == TASK_PREPARE) {
        job->phase = ENGINE_NEW;
        job->prepare_attempts += counts;
        job->prepare_not_before_ns = zk_now_ns() + delay_ns;
        return job->prepare_attempts < engine->options.max_attempts;
    }
    engine_partition *p = &job->partitions[task->partition];
    *p = (engine_partition){.lane = -1, .attempts = p->attempts + counts, .not_before_ns = zk_now_ns() + delay_ns};
    return p->attempts < engine->options.max_attempts;
}

/* Needs the lock. */
static void take_over_partition(engine_job *job, const zk_journal_partition *kept) {
    if (kept->index >= job->n_partitions || job->partitions[kept->index].state == ZK_PARTITION_DONE) return;
    engine_partition *p = &job->partitions[kept->index];
    p->state = ZK_PARTITION_DONE;
    p->synth_ns = kept->synth_ns;
    p->gpu_ns = kept->gpu_ns;
    p->synth_start_ns = p->gpu_start_ns = 0;
    memcpy(job->proofs[kept->index], kept->proof, sizeof job->proofs[0]);
    job->synth_ns += kept->synth_ns;
    job->gpu_ns += kept->gpu_ns;
    job->srs_load_ns += kept->srs_load_ns;
    job->n_done++;
}

typedef struct kept_partitions {
    zk_journal_partition *list;
    size_t n, capacity;
    bool no_memory;
} kept_partitions;

static void collect(void *ctx, const zk_journal_partition *partition) {
    kept_partitions *kept = ctx;
    if (zk_grow((void **)&kept->list, &kept->capacity, kept->n + 1, sizeof *kept->list))
        kept->list[kept->n++] = *partition;
    else
        kept->no_memory = true; /* it is proved again */
}

/* What was proved before the engine ended last time. Needs the lock, which is given up meanwhile. */
static cuzk_status recover_partitions(engine_lane *lane, engine_job *job, cuzk_err *err) {
    zk_engine *engine = lane->engine;
    kept_partitions kept = {0};
    job->phase = ENGINE_PREPARING; /* nobody takes a partition until it is known which are there */
    unlock(lane);
    cuzk_status status = engine->journal->ops->each_partition(engine->journal, job->meta.job_id, collect, &kept, err);
    lock(lane);
    if (engine_job_is_open(job)) {
        for (size_t i = 0; i < kept.n; i++) take_over_partition(job, &kept.list[i]);
        job->phase = ENGINE_READY;
    }
    free(kept.list);
    return status;
}

/* Needs the lock, which is given up meanwhile. */
static void prepared(engine_lane *lane, const zk_ipc_message *done) {
    zk_engine *engine = lane->engine;
    engine_job *job = lane->task.job;
    cuzk_err err = {0};
    engine_observe(engine, HISTOGRAM_PREPARE, done->total_ns);
    if (!engine_job_is_open(job)) return;
    /* The input decides what is proved; the request's numbers had to agree with it. */
    job->meta.kind = done->kind;
    job->meta.sector_bytes = done->sector_bytes;
    cuzk_status status = zk_circuit_id(job->circuit_id, (zk_proof_kind)done->kind, done->sector_bytes, &err);
    if (status == CUZK_OK) status = engine_job_prepared(job, done->n_partitions, &err);
    if (status == CUZK_OK && job->recovered) status = recover_partitions(lane, job, &err);
    pthread_cond_broadcast(&engine->work);
    unlock(lane);
    if (status != CUZK_OK)
        engine_job_end(engine, job, ZK_OUTCOME_FAILED, status, err.message);
    else
        engine_job_finish_if_done(engine, job);
    lock(lane);
}

/* Needs the lock, which is given up meanwhile. */
static void proved(engine_lane *lane, const zk_ipc_message *done) {
    zk_engine *engine = lane->engine;
    engine_job *job = lane->task.job;
    zk_journal_partition kept = {.index = lane->task.partition,
                                 .srs_load_ns = done->srs_load_ns,
                                 .synth_ns = done->synth_ns,
                                 .gpu_ns = done->gpu_ns};
    memcpy(kept.proof, done->proof, sizeof kept.proof);
    for (unsigned i = 0; i < 6; i++) engine_observe(engine, HISTOGRAM_STAGES + i, done->stage_ns[i]);
    if (!done->already_loaded) engine_observe(engine, HISTOGRAM_SRS, done->srs_load_ns);
    lane->n_proved++;
    if (!engine_job_is_open(job)) return;
    bool last = job->n_partitions == 1;
    unlock(lane);
    /* The end of the job says the same for a single one. */
    cuzk_err err = {0};
    if (!last && engine->journal->ops->partition_done(engine->journal, job->meta.job_id, &kept, &err) != CUZK_OK)
        ZK_LOG_ERROR("a partition could not be written to the journal; only a restart would notice",
                     zk_kv_str("error", err.message));
    lock(lane);
    if (!engine_job_is_open(job)) return;
    take_over_partition(job, &kept);
    job->partitions[kept.index].taken = false;
    job->partitions[kept.index].lane = (int)lane->id;
    unlock(lane);
    engine_job_finish_if_done(engine, job);
    lock(lane);
}

/* Needs the lock, which is given up meanwhile. */
static void fail_job(engine_lane *lane, cuzk_status status, const char *message) {
    engine_job *job = lane->task.job;
    char text[512];
    if (lane->task.type == TASK_PROVE)
        snprintf(text, sizeof text, "partition %" PRIu32 ": %.480s", lane->task.partition, message);
    else
        snprintf(text, sizeof text, "%.511s", message);
    unlock(lane);
    engine_job_end(lane->engine, job, ZK_OUTCOME_FAILED, status, text);
    lock(lane);
}

/* Whether any lane can still do work of this priority. */
static bool some_lane_left(const zk_engine *engine, zk_priority priority) {
    for (unsigned i = 0; i < engine->n_lanes; i++)
        if (engine->lanes[i].state != ZK_WORKER_RETIRED && engine->lanes[i].min_priority <= priority) return true;
    return false;
}

/* Needs the lock, which is given up meanwhile. Returns whether the process can go on. */
static bool failed(engine_lane *lane, const zk_ipc_message *done) {
    zk_engine *engine = lane->engine;
    engine_job *job = lane->task.job;
    cuzk_status status = (cuzk_status)done->status;
    if (done->wrong_proof) {
        engine->n_wrong++;
        lane->n_wrong++;
        ZK_LOG_ERROR("a proof does not verify", zk_kv_u64("worker", lane->id), zk_kv_str("device", lane->device),
                     zk_kv_str("job", job->meta.job_id), zk_kv_u64("partition", lane->task.partition));
        unlock(lane);
        engine_keep_evidence(engine, job, lane, done);
        lock(lane);
        bool again = give_back(lane, true, 0);
        if (lane->n_wrong >= MAX_WRONG) retire_lane(lane, "two wrong proofs");
        if (!some_lane_left(engine, job->priority))
            fail_job(lane, CUZK_DEVICE, "no worker is left: all were retired for wrong proofs");
        else if (!again)
            fail_job(lane, status, done->message);
        return false; /* with fresh memory next time */
    }
    switch (cuzk_status_classify(status)) {
    case CUZK_CLASS_CANCELLED:
        give_back(lane, false, 0);
        return true;
    case CUZK_CLASS_RESOURCE:
        if (status == CUZK_EXHAUSTED) {
            give_back(lane, false, SECOND_NS);
            return true;
        }
        if (!give_back(lane, true, SECOND_NS)) fail_job(lane, status, done->message);
        return true;
    case CUZK_CLASS_DEVICE:
        if (!give_back(lane, true, 0)) fail_job(lane, status, done->message);
        return false; /* device errors stick to the process */
    default:
        fail_job(lane, status, done->message);
        return true;
    }
}

static void finish_call(engine_lane *lane, cuzk_status status, const char *message, const zk_ipc_message *done) {
    engine_key_call *call = lane->task.call;
    if (!call) return;
    call->status = status;
    if (status != CUZK_OK) (void)ZK_FAIL(&call->err, status, "%s", message);
    call->already_loaded = done && done->already_loaded;
    call->load_ns = done ? done->total_ns : 0;
    call->done = true;
    pthread_cond_broadcast(&lane->engine->done);
}

/* Circuits whose loading did not come to an end are not there. */
static void settle_circuits(engine_lane *lane) {
    uint64_t now = zk_now_ns();
    for (unsigned i = lane->n_circuits; i-- > 0;) {
        engine_circuit *c = &lane->circuits[i];
        if (c->kind == lane->task.kind && c->sector_bytes == lane->task.sector_bytes) c->last_used_ns = now;
        if (c->loading) engine_lane_forget_circuit(lane, c);
    }
}

static void crashed(engine_lane *lane, const char *how, cuzk_err *err) {
    zk_engine *engine = lane->engine;
    char text[512];
    snprintf(text, sizeof text, "the worker process died (%s)", how);
    engine->n_crashes++;
    lane->n_crashes++;
    ZK_LOG_ERROR("worker died", zk_kv_u64("worker", lane->id), zk_kv_str("how", how), zk_kv_str("error", err->message),
                 zk_kv_str("job", lane->task.job ? lane->task.job->meta.job_id : ""), zk_kv_str("stage", lane->stage));
    if (lane->task.job && !give_back(lane, true, 0)) {
        snprintf(text, sizeof text, "given up after %" PRIu32 " attempts: the worker process died each time (%s) in %s",
                 engine->options.max_attempts, how, lane->stage[0] ? lane->stage : "its first step");
        fail_job(lane, CUZK_DEVICE, text);
    }
    finish_call(lane, CUZK_DEVICE, text, NULL);
}

/* Needs the lock, which is given up meanwhile. */
static void run_task(engine_lane *lane, char *text) {
    zk_engine *engine = lane->engine;
    engine_task *task = &lane->task;
    cuzk_err err = {0};
    zk_ipc_message done = {0};
    task->start_ns = zk_now_ns();
    lane->stopped_ns = 0;
    lane->stage[0] = 0;
    lane->state = task->type == TASK_LOAD ? ZK_WORKER_LOADING : ZK_WORKER_PREPARING;
    engine_balance(engine);
    cuzk_status status = converse(lane, &done, text, &err);
    lane->waiting_memory = false;
    if (status != CUZK_OK) {
        char how[96] = "";
        end_process(lane, true, how, sizeof how);
        if (engine->stopping) {
            if (task->job) give_back(lane, false, 0);
            finish_call(lane, CUZK_CANCELLED, "the engine ends", NULL);
        } else {
            crashed(lane, how, &err);
        }
    } else {
        settle_circuits(lane);
        lane->retire_pending_bytes = done.retire_pending_bytes;
        lane->retire_pending_items = done.retire_pending_items;
        engine->traced_ns += done.total_ns;
        engine->unaccounted_ns += done.unaccounted_ns;
        if (task->job) engine_trace_add(engine, task->job->meta.job_id, (int)lane->pid, text, done.n_text);
        bool good = true;
        if (!task->job)
            finish_call(lane, (cuzk_status)done.status, done.message, &done);
        else if (done.status != CUZK_OK)
            good = failed(lane, &done);
        else if (task->type == TASK_PREPARE)
            prepared(lane, &done);
        else
            proved(lane, &done);
        if (!good) end_process(lane, true, NULL, 0);
    }
    if (task->job) {
        engine_served(engine, task->job->meta.miner_id, zk_now_ns() - task->start_ns);
        engine_job_drop(task->job);
    }
    *task = (engine_task){0};
    lane->stage[0] = 0;
    if (lane->state != ZK_WORKER_RETIRED) lane->state = lane->pid ? ZK_WORKER_IDLE : ZK_WORKER_OFF;
    lane->idle_since_ns = zk_now_ns();
    engine_balance(engine);
    pthread_cond_broadcast(&engine->work);
    pthread_cond_broadcast(&engine->done);
}

/* ---- the thread ---- */

/* A worker that ended while it had nothing to do. Needs the lock. */
static void look_after_idle(engine_lane *lane) {
    zk_engine *engine = lane->engine;
    if (!lane->pid) return;
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
        zk_ipc_message bye = {.type = ZK_IPC_EXIT};
        if (zk_ipc_send(lane->fd, &bye, NULL, 0, NULL) != CUZK_OK) gone = true;
    }
    end_process(lane, gone, NULL, 0);
}

/* Needs the lock, which is given up meanwhile. */
static void start_failed(engine_lane *lane, const cuzk_err *err) {
    zk_engine *engine = lane->engine;
    lane->start_failures++;
    lane->not_before_ns = zk_now_ns() + SECOND_NS * lane->start_failures;
    if (engine->stopping) return;
    ZK_LOG_ERROR("worker does not start", zk_kv_u64("worker", lane->id), zk_kv_str("error", err->message));
    if (lane->start_failures >= MAX_START_FAILURES) retire_lane(lane, err->message);
}

static void say_goodbye(engine_lane *lane) {
    zk_ipc_message bye = {.type = ZK_IPC_EXIT};
    bool gone = lane->pid && zk_ipc_send(lane->fd, &bye, NULL, 0, NULL) != CUZK_OK;
    end_process(lane, gone, NULL, 0);
}

void *engine_lane_main(void *ctx) {
    engine_lane *lane = ctx;
    zk_engine *engine = lane->engine;
    char *text = zk_malloc(ZK_IPC_MAX_TEXT + 1);
    lock(lane);
    lane->idle_since_ns = zk_now_ns();
    while (!engine->stopping) {
        cuzk_err err = {0};
        bool wanted = lane->min_priority == ZK_PRIORITY_LOW && lane->state == ZK_WORKER_OFF && !engine->draining &&
                      lane->not_before_ns <= zk_now_ns();
        if (!text) {
            retire_lane(lane, "no memory");
            break;
        }
        if (wanted && start_process(lane, &err) == CUZK_OK) lane->state = ZK_WORKER_IDLE;
        if (wanted && lane->state == ZK_WORKER_OFF) start_failed(lane, &err);
        if (engine->stopping) break;
        engine_task task;
        if (engine_pick(&task, engine, lane)) {
            lane->task = task;
            if (!lane->pid && start_process(lane, &err) != CUZK_OK) {
                if (task.job) give_back(lane, false, 0);
                start_failed(lane, &err);
                if (task.job && lane->state == ZK_WORKER_RETIRED && !some_lane_left(engine, task.job->priority))
                    fail_job(lane, CUZK_DEVICE, err.message);
                finish_call(lane, CUZK_DEVICE, err.message, NULL);
                if (task.job) engine_job_drop(task.job);
                lane->task = (engine_task){0};
                continue;
            }
            run_task(lane, text);
            continue;
        }
        look_after_idle(lane);
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += 1;
        pthread_cond_timedwait(&engine->work, &engine->lock, &until);
    }
    say_goodbye(lane);
    unlock(lane);
    free(text);
    return NULL;
}
