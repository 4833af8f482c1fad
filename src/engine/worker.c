#include "engine/worker.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/worker_impl.h"

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
        if (status == CUZK_OK && message.type == ZK_IPC_AHEAD) {
            worker_look_ahead(self, &message);
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

cuzk_status worker_next_message(zk_ipc_message *message, worker *self, cuzk_err *err) {
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

cuzk_status worker_say(worker *self, zk_ipc_message message, cuzk_err *err) {
    return zk_ipc_send(self->options->fd, &message, NULL, 0, err);
}

cuzk_status worker_stage(worker *self, const char *stage, cuzk_err *err) {
    zk_ipc_message message = {.type = ZK_IPC_STAGE};
    snprintf(message.stage, sizeof message.stage, "%s", stage);
    ZK_TRY(worker_say(self, message, err));
    ZK_TRY(zk_cancel_check(NULL, stage, err));
    return worker_faults_stage(self, stage, err);
}

/* ---- tasks ---- */

static cuzk_status run_stages(worker *self, zk_prover *prover, zk_ipc_message *done, zk_trace *trace, cuzk_err *err) {
    for (int i = 0; i < ZK_PROVE_N_STAGES; i++) {
        zk_prove_stage_id stage = (zk_prove_stage_id)i;
        uint64_t start = zk_now_ns();
        ZK_TRY(worker_stage(self, zk_prove_stage_name(stage), err));
        cuzk_status status = zk_prove_stage(prover, stage, trace, err);
        if (stage == ZK_PROVE_VERIFY) {
            if (status == CUZK_OK && worker_faults_wrong(self))
                status = ZK_FAIL(err, CUZK_INTERNAL, "wrong proof of a test");
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
    if (worker_faults_lie(self)) done->proof[0] ^= 0x20; /* -A in place of A: well encoded, and wrong */
    return CUZK_OK;
}

static cuzk_status prove(worker *self, const zk_ipc_message *task, zk_ipc_message *done, zk_trace *trace,
                         cuzk_err *err) {
    loaded *c = NULL;
    uint64_t start = zk_now_ns();
    ZK_TRY(worker_take_job(self, task->job_id, false, trace, err));
    const zk_job *job = self->current->job;
    done->prepare_ns = zk_now_ns() - start;
    start = zk_now_ns();
    done->already_loaded = worker_find_circuit(self, job->kind, job->sector_bytes) != NULL;
    ZK_TRY(worker_load(&c, self, job->kind, job->sector_bytes, task->plain, trace, err));
    done->prepared = c->key->form == ZK_KEY_PREPARED;
    done->srs_load_ns = zk_now_ns() - start;
    if (task->partition >= job->n_partitions)
        return ZK_FAIL(err, CUZK_INTERNAL, "partition %" PRIu32 " of %" PRIu32, task->partition, job->n_partitions);
    const zk_partition_input *input = NULL;
    zk_span *span = zk_span_open_kernel(trace, "inputs"); /* what was not made ahead */
    cuzk_status status = worker_input(&input, self, c->program->n_hints, task->partition, err);
    zk_span_close(trace, span);
    done->input_ahead = input != &self->own;
    if (status == CUZK_OK) {
        zk_prove_request request = {
            .hints = (const uint8_t(*)[32])input->hints,
            .n_hints = input->n_hints,
            .publics = (const uint8_t(*)[32])input->publics,
            .n_publics = job->n_publics,
            .blinding = self->options->blinding,
        };
        zk_prove_begin(c->prover, &request);
        status = run_stages(self, c->prover, done, trace, err);
    }
    worker_input_done(self, input);
    return status;
}

static void put_device_memory(zk_ipc_message *message, const worker *self) {
    if (self->on_cuda && self->options->cuda_memory)
        self->options->cuda_memory(&message->device_total_bytes, &message->device_free_bytes, self->backend);
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
                                        [ZK_IPC_EVICT] = "evict",
                                        [ZK_IPC_FORGET] = "forget"};
    uint64_t start = zk_now_ns();
    zk_trace *trace = zk_trace_create(names[task->type], 0);
    loaded *c = NULL;
    uint64_t freed = 0;
    switch (task->type) {
    case ZK_IPC_PREPARE:
        status = worker_take_job(self, task->job_id, task->check, trace, &failure);
        if (status == CUZK_OK) {
            done.n_partitions = self->current->job->n_partitions;
            done.kind = (uint32_t)self->current->job->kind;
            done.sector_bytes = self->current->job->sector_bytes;
        }
        break;
    case ZK_IPC_PROVE:
        status = prove(self, task, &done, trace, &failure);
        break;
    case ZK_IPC_LOAD:
        done.already_loaded = worker_find_circuit(self, (zk_proof_kind)task->kind, task->sector_bytes) != NULL;
        status = worker_load(&c, self, (zk_proof_kind)task->kind, task->sector_bytes, task->plain, trace, &failure);
        break;
    case ZK_IPC_FORGET:
        status = CUZK_OK;
        worker_forget_jobs(self);
        break;
    default:
        done.already_loaded = worker_find_circuit(self, (zk_proof_kind)task->kind, task->sector_bytes) != NULL;
        status = worker_evict(self, (zk_proof_kind)task->kind, task->sector_bytes, &freed, &failure);
        done.bytes = freed;
        break;
    }
    worker_settle_scratch(self);
    if (trace) zk_span_close(trace, zk_trace_root(trace));
    done.total_ns = zk_now_ns() - start;
    done.unaccounted_ns = zk_span_unaccounted_ns(zk_trace_root(trace));
    done.status = (uint32_t)status;
    snprintf(done.message, sizeof done.message, "%s", failure.message);
    put_device_memory(&done, self);
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
    put_device_memory(&message, self);
    snprintf(message.device_kind, sizeof message.device_kind, "%s", self->backend->caps.kind);
    snprintf(message.device, sizeof message.device, "%s", self->backend->caps.device);
    return worker_say(self, message, err);
}

/* ---- the device ---- */

/* The ordinal of "cuda:N"; false: it is something else. */
static bool cuda_ordinal(int *ordinal, const char *device) {
    int n = 0;
    return sscanf(device, "cuda:%d%n", ordinal, &n) == 1 && !device[n] && *ordinal >= 0;
}

static cuzk_status open_device(worker *self, cuzk_err *err) {
    const char *device = self->options->device ? self->options->device : "cpu";
    int ordinal;
    if (strcmp(device, "cpu") == 0) return zk_backend_open_cpu(&self->backend, self->pool, err);
    if (!cuda_ordinal(&ordinal, device))
        return ZK_FAIL(err, CUZK_USAGE, "--device: found \"%s\", expected cpu, cuda:N or probe", device);
    if (!self->options->cuda_open) return ZK_FAIL(err, CUZK_UNSUPPORTED, "%s: this program has no CUDA code", device);
    self->on_cuda = true;
    return self->options->cuda_open(&self->backend, ordinal, 0, self->pool, err);
}

/* Asked once by a daemon, which itself never touches a device. */
static cuzk_status probe(worker *self, cuzk_err *err) {
    zk_ipc_message message = {.type = ZK_IPC_HELLO, .version = ZK_IPC_VERSION, .pid = (uint32_t)getpid()};
    cuzk_err why = {0};
    int n = 0;
    cuzk_status status = self->options->cuda_count ? self->options->cuda_count(&n, &why)
                                                   : ZK_FAIL(&why, CUZK_UNSUPPORTED, "this program has no CUDA code");
    message.status = (uint32_t)status;
    message.n_devices = status == CUZK_OK && n > 0 ? (uint32_t)n : 0;
    snprintf(message.message, sizeof message.message, "%s", why.message);
    return worker_say(self, message, err);
}

/* In place of a greeting: what keeps the worker from starting. */
static void say_why(worker *self, cuzk_status status, const cuzk_err *why) {
    zk_ipc_message message = {.type = ZK_IPC_HELLO, .version = ZK_IPC_VERSION, .status = (uint32_t)status};
    snprintf(message.message, sizeof message.message, "%s", why->message);
    cuzk_status sent = worker_say(self, message, NULL);
    (void)sent; /* the daemon sees that the process ended */
}

/* ---- life ---- */

static void destroy(worker *self) {
    zk_ahead_destroy(self->ahead);
    self->ahead = NULL;
    worker_forget_jobs(self);
    for (unsigned i = 0; i < self->n_slots; i++) zk_partition_input_clear(&self->slots[i].input);
    zk_partition_input_clear(&self->own);
    worker_unload_all(self);
    if (self->retire) zk_retire_drain(self->retire);
    zk_backend_close(self->backend);
    zk_retire_destroy(self->retire);
    zk_pool_destroy(self->pool);
    pthread_mutex_destroy(&self->lock);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->incoming.lock);
    pthread_cond_destroy(&self->incoming.filled);
    free(self);
}

static cuzk_status serve(worker *self, cuzk_err *err) {
    for (;;) {
        zk_ipc_message task;
        ZK_TRY(worker_next_message(&task, self, err));
        if (task.type == ZK_IPC_EXIT) return CUZK_OK;
        if (task.type < ZK_IPC_PREPARE || task.type > ZK_IPC_FORGET) continue; /* an answer nobody waits for */
        ZK_TRY(run_task(self, &task, err));
    }
}

cuzk_status zk_worker_run(const zk_worker_options *options, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    worker *self = zk_calloc(1, sizeof *self);
    pthread_t receiver;
    bool receiving = false, greeted = false;
    cuzk_err own_err = {0};
    if (!err) err = &own_err; /* the daemon is told */
    if (!self) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the worker");
    /* Signals of a terminal or service manager are the daemon's business, which tells its workers. A worker whose
     * daemon dies, dies: also one that is stopped and sees no end of file. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    zk_file_map_guard();
    self->options = options;
    pthread_mutex_init(&self->incoming.lock, NULL);
    pthread_cond_init(&self->incoming.filled, NULL);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    ZK_GOTO(worker_faults_parse(self, options->fault, err));
    if (options->device && strcmp(options->device, "probe") == 0) {
        status = probe(self, err);
        greeted = true;
        goto out;
    }
    if (options->lookahead > ZK_WORKER_MAX_LOOKAHEAD)
        ZK_GOTO(
            ZK_FAIL(err, CUZK_USAGE, "--lookahead: found %u, at most %d", options->lookahead, ZK_WORKER_MAX_LOOKAHEAD));
    ZK_GOTO(zk_pool_create(&self->pool, options->n_threads, err));
    ZK_GOTO(zk_retire_create(&self->retire, 0, 0, err));
    ZK_GOTO(open_device(self, err));
    zk_backend_set_retire(self->backend, self->retire);
    worker_faults_wrap(self);
    worker_jobs_start(self);
    if (options->lookahead) ZK_GOTO(zk_ahead_create(&self->ahead, err));
    ZK_GOTO(hello(self, err));
    greeted = true;
    if (pthread_create(&receiver, NULL, receive_loop, self) != 0)
        ZK_GOTO(ZK_FAIL(err, CUZK_EXHAUSTED, "worker: no thread to receive"));
    receiving = true;
    status = serve(self, err);
out:
    if (!greeted && status != CUZK_OK) say_why(self, status, err);
    shutdown(options->fd, SHUT_RDWR);
    if (receiving) pthread_join(receiver, NULL);
    destroy(self);
    return status;
}
