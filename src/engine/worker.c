#include "engine/worker.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/retire.h"
#include "engine/circuits.h"
#include "engine/content.h"
#include "engine/ipc.h"
#include "filecoin/job.h"
#include "groth16/prove.h"

/* A circuit with its keys and the workspace of one partition. */
typedef struct loaded {
    struct loaded *next;
    zk_proof_kind kind;
    uint64_t sector_bytes, bytes; /* reserved */
    zk_program *program;
    zk_resident_program *resident;
    zk_proving_key *key;
    zk_prover *prover;
} loaded;

typedef struct queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    zk_ipc_message messages[8]; /* the daemon sends one task and few answers ahead */
    unsigned first, n;
    bool gone;
} queue;

typedef struct worker {
    const zk_worker_options *options;
    queue incoming;
    zk_backend *backend;
    zk_pool *pool;
    zk_retire *retire;
    loaded *circuits;
    /* the job at hand, kept for its next partition */
    zk_job *job;
    char job_id[ZK_JOB_ID_BYTES];
    uint64_t job_bytes; /* reserved */
    /* fault for tests */
    char fault_what[16], fault_stage[ZK_STAGE_NAME_BYTES];
    unsigned fault_n, fault_seen;
    bool fault_always;
} worker;

/* ---- messages ---- */

/* Receives all the time, so that CANCEL is seen while a task runs. When the daemon is gone nothing is worth finishing.
 */
static void *receive_loop(void *ctx) {
    worker *self = ctx;
    queue *q = &self->incoming;
    for (;;) {
        zk_ipc_message message;
        cuzk_status status = zk_ipc_receive(&message, NULL, self->options->fd, -1, NULL);
        if (status == CUZK_OK && message.type == ZK_IPC_CANCEL) {
            zk_cancel_request(NULL);
            continue;
        }
        /* A new task: what was asked to stop is over. */
        if (status == CUZK_OK && message.type >= ZK_IPC_PREPARE && message.type <= ZK_IPC_LOAD) zk_cancel_clear(NULL);
        pthread_mutex_lock(&q->lock);
        if (status != CUZK_OK || q->n == sizeof q->messages / sizeof *q->messages) {
            q->gone = true;
            zk_cancel_request(NULL);
        } else {
            q->messages[(q->first + q->n++) % (sizeof q->messages / sizeof *q->messages)] = message;
        }
        bool gone = q->gone;
        pthread_cond_signal(&q->filled);
        pthread_mutex_unlock(&q->lock);
        if (gone) return NULL;
        if (message.type == ZK_IPC_EXIT) return NULL;
    }
}

static cuzk_status next_message(zk_ipc_message *message, worker *self, cuzk_err *err) {
    queue *q = &self->incoming;
    cuzk_status status = CUZK_OK;
    pthread_mutex_lock(&q->lock);
    while (!q->n && !q->gone) pthread_cond_wait(&q->filled, &q->lock);
    if (q->n) {
        *message = q->messages[q->first];
        q->first = (q->first + 1) % (sizeof q->messages / sizeof *q->messages);
        q->n--;
    } else {
        status = ZK_FAIL(err, CUZK_IO, "the daemon is gone");
    }
    pthread_mutex_unlock(&q->lock);
    return status;
}

static cuzk_status say(worker *self, zk_ipc_message message, cuzk_err *err) {
    return zk_ipc_send(self->options->fd, &message, NULL, 0, err);
}

/* ---- faults ---- */

static cuzk_status fault_parse(worker *self, const char *text, cuzk_err *err) {
    char plus = 0;
    if (!text || !*text) return CUZK_OK;
    int n = sscanf(text, "%15[a-z]@%23[a-z_]:%u%c", self->fault_what, self->fault_stage, &self->fault_n, &plus);
    if (n < 3) return ZK_FAIL(err, CUZK_USAGE, "--fault: found \"%s\", expected WHAT@STAGE:N", text);
    self->fault_always = plus == '+';
    return CUZK_OK;
}

/* A stage begins: the daemon is told, and the fault meant for it happens. */
static cuzk_status stage_begin(worker *self, const char *stage, cuzk_err *err) {
    zk_ipc_message message = {.type = ZK_IPC_STAGE};
    snprintf(message.stage, sizeof message.stage, "%s", stage);
    ZK_TRY(say(self, message, err));
    ZK_TRY(zk_cancel_check(NULL, stage, err));
    if (!self->fault_n || strcmp(self->fault_stage, stage) != 0) return CUZK_OK;
    self->fault_seen++;
    if (self->fault_seen < self->fault_n || (self->fault_seen > self->fault_n && !self->fault_always)) return CUZK_OK;
    if (strcmp(self->fault_what, "crash") == 0) raise(SIGKILL);
    if (strcmp(self->fault_what, "device") == 0) return ZK_FAIL(err, CUZK_DEVICE, "device error of a test");
    if (strcmp(self->fault_what, "alloc") == 0) zk_alloc_fail_nth(1);
    while (strcmp(self->fault_what, "hang") == 0) {
        usleep(10000);
        ZK_TRY(zk_cancel_check(NULL, stage, err));
    }
    return CUZK_OK;
}

static bool fault_wrong(const worker *self) {
    return strcmp(self->fault_what, "wrong") == 0 && self->fault_seen >= self->fault_n &&
           (self->fault_seen == self->fault_n || self->fault_always);
}

/* ---- memory ---- */

static void unload(loaded *c) {
    zk_prover_destroy(c->prover);
    zk_proving_key_destroy(c->key);
    zk_resident_program_unload(c->resident);
    zk_program_destroy(c->program);
    free(c);
}

/* Frees a circuit for good, then says so. */
static cuzk_status evict(worker *self, zk_proof_kind kind, uint64_t sector_bytes, uint64_t *freed, cuzk_err *err) {
    *freed = 0;
    for (loaded **at = &self->circuits; *at; at = &(*at)->next) {
        loaded *c = *at;
        if (c->kind != kind || c->sector_bytes != sector_bytes) continue;
        *at = c->next;
        *freed = c->bytes;
        unload(c);
        zk_retire_drain(self->retire);
        break;
    }
    return say(self,
               (zk_ipc_message){.type = ZK_IPC_EVICTED, .kind = kind, .sector_bytes = sector_bytes, .bytes = *freed},
               err);
}

/* Asks for memory and waits; the daemon may want keys evicted first. */
static cuzk_status reserve(worker *self, zk_proof_kind kind, uint64_t sector_bytes, uint64_t bytes, cuzk_err *err) {
    ZK_TRY(say(self,
               (zk_ipc_message){.type = ZK_IPC_RESERVE, .kind = kind, .sector_bytes = sector_bytes, .bytes = bytes},
               err));
    for (;;) {
        zk_ipc_message answer;
        ZK_TRY(next_message(&answer, self, err));
        switch (answer.type) {
        case ZK_IPC_GRANTED:
            return CUZK_OK;
        case ZK_IPC_EVICT: {
            uint64_t freed;
            ZK_TRY(evict(self, (zk_proof_kind)answer.kind, answer.sector_bytes, &freed, err));
            break;
        }
        case ZK_IPC_DENIED:
            return ZK_FAIL(err, (cuzk_status)answer.status, "%s", answer.message);
        default:
            return ZK_FAIL(err, CUZK_INTERNAL, "worker: message %" PRIu32 " in answer to a reservation", answer.type);
        }
    }
}

static void release(worker *self, uint64_t bytes) {
    cuzk_status status = bytes ? say(self, (zk_ipc_message){.type = ZK_IPC_RELEASE, .bytes = bytes}, NULL) : CUZK_OK;
    (void)status; /* a daemon that is gone is seen at the next message */
}

/* ---- keys ---- */

static loaded *find_circuit(worker *self, zk_proof_kind kind, uint64_t sector_bytes) {
    for (loaded *c = self->circuits; c; c = c->next)
        if (c->kind == kind && c->sector_bytes == sector_bytes) return c;
    return NULL;
}

static cuzk_status load(loaded **out, worker *self, zk_proof_kind kind, uint64_t sector_bytes, zk_trace *trace,
                        cuzk_err *err) {
    *out = find_circuit(self, kind, sector_bytes);
    if (*out) return CUZK_OK;
    cuzk_status status = CUZK_OK;
    char path[ZK_KEY_PATH_BYTES];
    zk_params *params = NULL;
    zk_query_masks masks = {0};
    zk_memory_plan plan = {0};
    uint64_t reserved = 0;
    loaded *c = zk_calloc(1, sizeof *c);
    if (!c) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a circuit");
    c->kind = kind;
    c->sector_bytes = sector_bytes;
    zk_span *span = zk_span_open(trace, "load keys"), *inner = NULL;
    ZK_GOTO(stage_begin(self, "load", err));
    ZK_GOTO(zk_circuit_key_path(path, NULL, self->options->param_cache, kind, sector_bytes, err));
    inner = zk_span_open_kernel(trace, "build program");
    ZK_GOTO(zk_circuit_program(&c->program, kind, sector_bytes, err));
    zk_span_close(trace, inner);
    inner = zk_span_open_kernel(trace, "query masks");
    ZK_GOTO(zk_query_masks_compute(&masks, c->program, self->pool, err));
    zk_span_close(trace, inner);
    zk_params_counts counts;
    ZK_GOTO(zk_params_counts_of(&counts, c->program, &masks.stats, err));
    ZK_GOTO(zk_params_open(&params, path, &counts, err));
    inner = zk_span_open_kernel(trace, "reserve memory");
    /* The plans need a resident program for its domain alone. */
    zk_resident_program_plan(self->backend, c->program, &plan);
    zk_resident_program probe = {.backend = self->backend, .program = c->program};
    ZK_GOTO(zk_program_log2_domain(&probe.log2_n, c->program, err));
    zk_proving_key_plan(&probe, &masks, &plan);
    zk_prover_plan(&probe, &masks, &plan);
    ZK_GOTO(reserve(self, kind, sector_bytes, plan.bytes, err));
    reserved = plan.bytes;
    zk_span_close(trace, inner);
    inner = zk_span_open_kernel(trace, "load program");
    ZK_GOTO(zk_resident_program_load(&c->resident, self->backend, c->program, err));
    zk_span_close(trace, inner);
    ZK_GOTO(zk_proving_key_load_params(&c->key, c->resident, params, &masks, trace, err));
    inner = zk_span_open_kernel(trace, "buffers");
    ZK_GOTO(zk_prover_create(&c->prover, c->key, self->pool, err));
    ZK_GOTO(say(self,
                (zk_ipc_message){.type = ZK_IPC_LOADED, .kind = kind, .sector_bytes = sector_bytes, .bytes = reserved},
                err));
    c->bytes = reserved;
    c->next = self->circuits;
    self->circuits = c;
    *out = c;
    c = NULL;
    reserved = 0;
out:
    zk_span_close(trace, span);
    zk_params_close(params);
    zk_query_masks_clear(&masks);
    if (c) {
        unload(c);
        zk_retire_drain(self->retire);
        release(self, reserved);
    }
    return status;
}

/* ---- tasks ---- */

static void drop_job(worker *self) {
    zk_job_destroy(self->job);
    self->job = NULL;
    self->job_id[0] = 0;
    release(self, self->job_bytes);
    self->job_bytes = 0;
}

/* Reads the job, unless it is the one at hand; `check`: also its digest and its vanilla proof. */
static cuzk_status open_job(worker *self, const char *job_id, bool check, zk_trace *trace, cuzk_err *err) {
    if (self->job && strcmp(self->job_id, job_id) == 0 && !check) return CUZK_OK;
    cuzk_status status = CUZK_OK;
    zk_spooled spooled = {0};
    char path[ZK_SPOOL_PATH_BYTES];
    zk_span *span = zk_span_open(trace, "prepare"), *inner = NULL;
    drop_job(self);
    ZK_GOTO(stage_begin(self, "prepare", err));
    zk_spool_path(path, self->options->spool_dir, job_id);
    inner = zk_span_open_kernel(trace, "open");
    ZK_GOTO(zk_spooled_open(&spooled, path, check, err));
    zk_span_close(trace, inner);
    /* The mapped text and what is decoded of it: about as much again. */
    uint64_t bytes = 2 * (uint64_t)spooled.map.n_bytes;
    ZK_GOTO(reserve(self, ZK_KIND_UNSPECIFIED, 0, bytes, err));
    self->job_bytes = bytes;
    inner = zk_span_open_kernel(trace, "parse");
    ZK_GOTO(zk_job_from_request(&self->job, &spooled.request, err));
    zk_span_close(trace, inner);
    if (spooled.request.miner_id) ZK_GOTO(zk_job_expect(self->job, &spooled.request.miner_id, NULL, err));
    if (check) {
        inner = zk_span_open_kernel(trace, "check input");
        zk_job_failure failure;
        status = zk_job_check(&failure, self->job, self->pool, err);
        zk_span_close(trace, inner);
        if (status == CUZK_CHECK_FAILED) { /* to prove it would be in vain */
            status = CUZK_BAD_INPUT;
            if (err) err->status = status;
            zk_err_prefix(err, "the vanilla proof does not hold (check %s)", failure.check);
        }
        if (status != CUZK_OK) goto out;
    }
    snprintf(self->job_id, sizeof self->job_id, "%s", job_id);
out:
    zk_span_close(trace, span);
    zk_spooled_close(&spooled);
    if (status != CUZK_OK) drop_job(self);
    return status;
}

static cuzk_status run_stages(worker *self, zk_prover *prover, zk_ipc_message *done, zk_trace *trace, cuzk_err *err) {
    for (int i = 0; i < ZK_PROVE_N_STAGES; i++) {
        zk_prove_stage_id stage = (zk_prove_stage_id)i;
        uint64_t start = zk_now_ns();
        ZK_TRY(stage_begin(self, zk_prove_stage_name(stage), err));
        cuzk_status status = zk_prove_stage(prover, stage, trace, err);
        if (stage == ZK_PROVE_VERIFY) {
            if (status == CUZK_OK && fault_wrong(self)) status = ZK_FAIL(err, CUZK_INTERNAL, "wrong proof of a test");
            done->wrong_proof = status == CUZK_INTERNAL;
            if (done->wrong_proof) memcpy(done->proof, zk_prove_result(prover), sizeof done->proof);
        }
        done->stage_ns[i] = zk_now_ns() - start;
        if (stage <= ZK_PROVE_SYNTHESIZE)
            done->synth_ns += done->stage_ns[i];
        else
            done->gpu_ns += done->stage_ns[i];
        ZK_TRY(status);
    }
    memcpy(done->proof, zk_prove_result(prover), sizeof done->proof);
    return CUZK_OK;
}

static cuzk_status prove(worker *self, const zk_ipc_message *task, zk_ipc_message *done, zk_trace *trace,
                         cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    uint8_t(*hints)[32] = NULL, (*publics)[32] = NULL;
    loaded *c = NULL;
    uint64_t start = zk_now_ns();
    ZK_TRY(open_job(self, task->job_id, false, trace, err));
    done->prepare_ns = zk_now_ns() - start;
    start = zk_now_ns();
    done->already_loaded = find_circuit(self, self->job->kind, self->job->sector_bytes) != NULL;
    ZK_TRY(load(&c, self, self->job->kind, self->job->sector_bytes, trace, err));
    done->srs_load_ns = zk_now_ns() - start;
    if (task->partition >= self->job->n_partitions)
        return ZK_FAIL(err, CUZK_INTERNAL, "partition %" PRIu32 " of %" PRIu32, task->partition,
                       self->job->n_partitions);
    zk_span *span = zk_span_open_kernel(trace, "inputs");
    size_t n_hints = c->program->n_hints, n_publics = self->job->n_publics;
    hints = zk_malloc(n_hints * 32);
    publics = zk_malloc(n_publics * 32);
    if (!hints || !publics) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the input of a partition"));
    ZK_GOTO(zk_job_hints(hints, n_hints, self->job, task->partition, err));
    zk_job_publics(publics, self->job, task->partition);
    zk_span_close(trace, span);
    zk_prove_request request = {
        .hints = (const uint8_t(*)[32])hints,
        .n_hints = n_hints,
        .publics = (const uint8_t(*)[32])publics,
        .n_publics = n_publics,
    };
    zk_prove_begin(c->prover, &request);
    ZK_GOTO(run_stages(self, c->prover, done, trace, err));
out:
    free(hints);
    free(publics);
    return status;
}

/* name current peak, a line each */
static char *memory_text(size_t *n) {
    char *text = NULL;
    zk_mem_row rows[64];
    size_t n_rows = zk_mem_rows(rows, 64);
    FILE *out = open_memstream(&text, n);
    if (!out) return NULL;
    for (size_t i = 0; i < n_rows && i < 64; i++)
        fprintf(out, "%" PRIu64 " %" PRIu64 " %s\n", rows[i].current_bytes, rows[i].peak_bytes, rows[i].name);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static char *trace_text(zk_trace *trace, size_t *n) {
    char *text = NULL;
    FILE *out = open_memstream(&text, n);
    if (!out) return NULL;
    zk_trace_print_chrome(trace, out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static cuzk_status run_task(worker *self, const zk_ipc_message *task, cuzk_err *err) {
    zk_ipc_message done = {.type = ZK_IPC_DONE, .kind = task->kind, .partition = task->partition};
    memcpy(done.job_id, task->job_id, sizeof done.job_id);
    cuzk_err failure = {0};
    cuzk_status status;
    static const char *const names[] = {[ZK_IPC_PREPARE] = "check job",
                                        [ZK_IPC_PROVE] = "partition",
                                        [ZK_IPC_LOAD] = "preload",
                                        [ZK_IPC_EVICT] = "evict"};
    uint64_t start = zk_now_ns();
    zk_trace *trace = zk_trace_create(names[task->type], 0);
    loaded *c = NULL;
    uint64_t freed = 0;
    switch (task->type) {
    case ZK_IPC_PREPARE:
        status = open_job(self, task->job_id, true, trace, &failure);
        if (status == CUZK_OK) {
            done.n_partitions = self->job->n_partitions;
            done.kind = (uint32_t)self->job->kind;
            done.sector_bytes = self->job->sector_bytes;
        }
        break;
    case ZK_IPC_PROVE:
        status = prove(self, task, &done, trace, &failure);
        break;
    case ZK_IPC_LOAD:
        done.already_loaded = find_circuit(self, (zk_proof_kind)task->kind, task->sector_bytes) != NULL;
        status = load(&c, self, (zk_proof_kind)task->kind, task->sector_bytes, trace, &failure);
        break;
    default:
        done.already_loaded = find_circuit(self, (zk_proof_kind)task->kind, task->sector_bytes) != NULL;
        status = evict(self, (zk_proof_kind)task->kind, task->sector_bytes, &freed, &failure);
        done.bytes = freed;
        break;
    }
    if (trace) zk_span_close(trace, zk_trace_root(trace));
    done.total_ns = zk_now_ns() - start;
    done.unaccounted_ns = zk_span_unaccounted_ns(zk_trace_root(trace));
    done.status = (uint32_t)status;
    snprintf(done.message, sizeof done.message, "%s", failure.message);
    zk_retire_stats stats = zk_retire_get_stats(self->retire);
    done.retire_pending_bytes = stats.pending_bytes;
    done.retire_pending_items = stats.n_pending;
    size_t n_text = 0;
    char *text = memory_text(&n_text);
    zk_ipc_message memory = {.type = ZK_IPC_MEMORY};
    cuzk_status sent = zk_ipc_send(self->options->fd, &memory, text, text ? n_text : 0, err);
    free(text);
    n_text = 0;
    text = trace_text(trace, &n_text);
    if (sent == CUZK_OK) sent = zk_ipc_send(self->options->fd, &done, text, text ? n_text : 0, err);
    free(text);
    zk_trace_destroy(trace);
    return sent;
}

static cuzk_status hello(worker *self, cuzk_err *err) {
    zk_ipc_message message = {.type = ZK_IPC_HELLO, .version = ZK_IPC_VERSION, .pid = (uint32_t)getpid()};
    message.bytes = self->backend->caps.memory_bytes;
    snprintf(message.device_kind, sizeof message.device_kind, "%s", self->backend->caps.kind);
    snprintf(message.device, sizeof message.device, "%s", self->backend->caps.device);
    return say(self, message, err);
}

cuzk_status zk_worker_run(const zk_worker_options *options, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    worker *self = zk_calloc(1, sizeof *self);
    pthread_t receiver;
    bool receiving = false;
    if (!self) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the worker");
    /* Signals of a terminal or service manager are the daemon's business, which tells its workers. A worker whose
     * daemon dies, dies: also one that is stopped and sees no end of file. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    self->options = options;
    pthread_mutex_init(&self->incoming.lock, NULL);
    pthread_cond_init(&self->incoming.filled, NULL);
    ZK_GOTO(fault_parse(self, options->fault, err));
    ZK_GOTO(zk_pool_create(&self->pool, options->n_threads, err));
    ZK_GOTO(zk_retire_create(&self->retire, 0, 0, err));
    ZK_GOTO(zk_backend_open_cpu(&self->backend, self->pool, err));
    zk_backend_set_retire(self->backend, self->retire);
    ZK_GOTO(hello(self, err));
    if (pthread_create(&receiver, NULL, receive_loop, self) != 0)
        ZK_GOTO(ZK_FAIL(err, CUZK_EXHAUSTED, "worker: no thread to receive"));
    receiving = true;
    for (;;) {
        zk_ipc_message task;
        ZK_GOTO(next_message(&task, self, err));
        if (task.type == ZK_IPC_EXIT) break;
        if (task.type < ZK_IPC_PREPARE || task.type > ZK_IPC_EVICT) continue; /* an answer nobody waits for */
        ZK_GOTO(run_task(self, &task, err));
    }
out:
    shutdown(options->fd, SHUT_RDWR);
    if (receiving) pthread_join(receiver, NULL);
    zk_job_destroy(self->job);
    while (self->circuits) {
        loaded *c = self->circuits;
        self->circuits = c->next;
        unload(c);
    }
    if (self->retire) zk_retire_drain(self->retire);
    zk_backend_close(self->backend);
    zk_retire_destroy(self->retire);
    zk_pool_destroy(self->pool);
    pthread_mutex_destroy(&self->incoming.lock);
    pthread_cond_destroy(&self->incoming.filled);
    free(self);
    return status;
}
