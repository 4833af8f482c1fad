#include "engine/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/cond.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/worker_impl.h"

/* ---- messages ---- */

/* Tasks beside each other are cancelled one by one. */
static zk_cancel *cancel_of(worker_lane *self) { return self->w->n_lanes > 1 ? &self->cancel : NULL; }

/* Receives all the time, so that CANCEL is seen while a task runs. When the daemon is gone nothing is worth finishing.
 */
static void *receive_loop(void *ctx) {
    worker_lane *self = ctx;
    queue *q = &self->incoming;
    for (;;) {
        zk_ipc_message message;
        cuzk_status status = zk_ipc_receive(&message, NULL, self->fd, -1, NULL);
        if (status == CUZK_OK && message.type == ZK_IPC_CANCEL) {
            zk_cancel_request(cancel_of(self));
            continue;
        }
        if (status == CUZK_OK && message.type == ZK_IPC_YIELD) {
            self->yield = true;
            continue;
        }
        if (status == CUZK_OK && message.type == ZK_IPC_AHEAD) {
            worker_look_ahead(self, &message);
            continue;
        }
        /* A new task: what was asked to stop is over. */
        if (status == CUZK_OK && message.type >= ZK_IPC_PREPARE && message.type <= ZK_IPC_LOAD) {
            zk_cancel_clear(cancel_of(self));
            self->yield = false;
        }
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

cuzk_status worker_next_message(zk_ipc_message *message, worker_lane *self, cuzk_err *err) {
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

cuzk_status worker_say(worker_lane *self, zk_ipc_message message, cuzk_err *err) {
    return zk_ipc_send(self->fd, &message, NULL, 0, err);
}

cuzk_status worker_stage(worker_lane *self, const char *stage, cuzk_err *err) {
    zk_ipc_message message = {.type = ZK_IPC_STAGE, .partition = self->partition};
    snprintf(message.stage, sizeof message.stage, "%s", stage);
    ZK_TRY(worker_say(self, message, err));
    ZK_TRY(zk_cancel_check(NULL, stage, err));
    return worker_faults_stage(self, stage, err);
}

/* ---- tasks ---- */

static void put_device_memory(zk_ipc_message *message, const worker_lane *self) {
    if (self->w->on_cuda && self->w->options->cuda_memory)
        self->w->options->cuda_memory(&message->device_total_bytes, &message->device_free_bytes, self->w->backend);
}

/* Closes the stream that makes the text; NULL: there was no memory for it. */
static char *text_of(FILE *out, char **text) {
    if (fclose(out) == 0) return *text;
    free(*text);
    return NULL;
}

/* "CURRENT PEAK NAME", a line each */
static char *memory_text(size_t *n) {
    char *text = NULL;
    zk_mem_row rows[64];
    size_t n_rows = zk_mem_rows(rows, 64);
    FILE *out = open_memstream(&text, n);
    if (!out) return NULL;
    for (size_t i = 0; i < n_rows && i < 64; i++)
        fprintf(out, "%" PRIu64 " %" PRIu64 " %s\n", rows[i].current_bytes, rows[i].peak_bytes, rows[i].name);
    return text_of(out, &text);
}

static char *trace_text(zk_trace *trace, size_t *n) {
    char *text = NULL;
    FILE *out = open_memstream(&text, n);
    if (!out) return NULL;
    zk_trace_print_chrome(trace, out);
    return text_of(out, &text);
}

/* What the daemon asked for; `done` gets what is to be told of it. */
static cuzk_status do_task(zk_ipc_message *done, worker_lane *self, const zk_ipc_message *task, zk_trace *trace,
                           cuzk_err *err) {
    zk_proof_kind kind = (zk_proof_kind)task->kind;
    uint64_t sector_bytes = task->sector_bytes;
    loaded *c = NULL;
    switch (task->type) {
    case ZK_IPC_PREPARE:
        ZK_TRY(worker_take_job(self, task->job_id, task->check, trace, err));
        done->n_partitions = self->current->job->n_partitions;
        done->kind = (uint32_t)self->current->job->kind;
        done->sector_bytes = self->current->job->sector_bytes;
        return CUZK_OK;
    case ZK_IPC_PROVE:
        return worker_prove(self, task, done, trace, err);
    case ZK_IPC_LOAD:
        done->already_loaded = worker_find_circuit(self, kind, sector_bytes) != NULL;
        return worker_load(&c, self, kind, sector_bytes, task->plain, trace, err);
    case ZK_IPC_FORGET:
        worker_forget_jobs(self);
        return CUZK_OK;
    default:
        done->already_loaded = worker_find_circuit(self, kind, sector_bytes) != NULL;
        return worker_evict(self, kind, sector_bytes, err);
    }
}

/* Sends a message with a text behind it, and frees that; without memory for one there is none. */
static cuzk_status say_with_text(worker_lane *self, zk_ipc_message *message, char *text, size_t n, cuzk_err *err) {
    cuzk_status status = zk_ipc_send(self->fd, message, text, text ? n : 0, err);
    free(text);
    return status;
}

/* The end of a task: first the account of memory, then DONE with the trace. */
static cuzk_status say_done(worker_lane *self, zk_ipc_message *done, zk_trace *trace, cuzk_err *err) {
    size_t n_text = 0;
    put_device_memory(done, self);
    zk_retire_stats stats = zk_retire_get_stats(self->w->retire);
    done->retire_pending_bytes = stats.pending_bytes;
    done->retire_pending_items = stats.n_pending;
    char *text = memory_text(&n_text);
    ZK_TRY(say_with_text(self, &(zk_ipc_message){.type = ZK_IPC_MEMORY}, text, n_text, err));
    text = trace_text(trace, &n_text);
    return say_with_text(self, done, text, n_text, err);
}

/* IO: the daemon is gone; what becomes of the task it is told. */
static cuzk_status run_task(worker_lane *self, const zk_ipc_message *task, cuzk_err *err) {
    static const char *const names[] = {[ZK_IPC_PREPARE] = "check job",
                                        [ZK_IPC_PROVE] = "partition",
                                        [ZK_IPC_LOAD] = "preload",
                                        [ZK_IPC_EVICT] = "evict",
                                        [ZK_IPC_FORGET] = "forget"};
    zk_ipc_message done = {.type = ZK_IPC_DONE, .kind = task->kind, .partition = task->partition};
    cuzk_err failure = {0};
    uint64_t start = zk_now_ns();
    zk_trace *trace = zk_trace_create(names[task->type], 0);
    memcpy(done.job_id, task->job_id, sizeof done.job_id);
    done.status = (uint32_t)do_task(&done, self, task, trace, &failure);
    snprintf(done.message, sizeof done.message, "%s", failure.message);
    if (self->index == 0) {
        worker_widen(self);
        worker_settle_scratch(self);
    }
    if (trace) zk_span_close(trace, zk_trace_root(trace));
    done.total_ns = zk_now_ns() - start;
    done.unaccounted_ns = zk_span_unaccounted_ns(zk_trace_root(trace));
    cuzk_status sent = say_done(self, &done, trace, err);
    zk_trace_destroy(trace);
    return sent;
}

static cuzk_status hello(worker_lane *self, cuzk_err *err) {
    zk_ipc_message message = {.type = ZK_IPC_HELLO, .version = ZK_IPC_VERSION, .pid = (uint32_t)getpid()};
    message.bytes = self->w->backend->caps.memory_bytes;
    put_device_memory(&message, self);
    snprintf(message.device_kind, sizeof message.device_kind, "%s", self->w->backend->caps.kind);
    snprintf(message.device, sizeof message.device, "%s", self->w->backend->caps.device);
    return worker_say(self, message, err);
}

/* ---- the device ---- */

/* The ordinal of "cuda:N"; false: it is something else. */
static bool cuda_ordinal(int *ordinal, const char *device) {
    int n = 0;
    return sscanf(device, "cuda:%d%n", ordinal, &n) == 1 && !device[n] && *ordinal >= 0;
}

static cuzk_status open_device(worker_lane *self, cuzk_err *err) {
    const char *device = self->w->options->device ? self->w->options->device : "cpu";
    int ordinal;
    if (strcmp(device, "cpu") == 0) return zk_backend_open_cpu(&self->w->backend, self->w->pool, err);
    if (!cuda_ordinal(&ordinal, device))
        return ZK_FAIL(err, CUZK_USAGE, "--device: found \"%s\", expected cpu, cuda:N or probe", device);
    if (!self->w->options->cuda_open)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "%s: this program has no CUDA code", device);
    self->w->on_cuda = true;
    return self->w->options->cuda_open(&self->w->backend, ordinal, self->w->options->device_memory_bytes, self->w->pool,
                                       err);
}

/* Asked once by a daemon, which itself never touches a device. */
static cuzk_status probe(worker_lane *self, cuzk_err *err) {
    zk_ipc_message message = {.type = ZK_IPC_HELLO, .version = ZK_IPC_VERSION, .pid = (uint32_t)getpid()};
    cuzk_err why = {0};
    int n = 0;
    cuzk_status status = self->w->options->cuda_count
                             ? self->w->options->cuda_count(&n, &why)
                             : ZK_FAIL(&why, CUZK_UNSUPPORTED, "this program has no CUDA code");
    message.status = (uint32_t)status;
    message.n_devices = status == CUZK_OK && n > 0 ? (uint32_t)n : 0;
    snprintf(message.message, sizeof message.message, "%s", why.message);
    return worker_say(self, message, err);
}

/* In place of a greeting: what keeps the worker from starting. */
static void say_why(worker_lane *self, cuzk_status status, const cuzk_err *why) {
    zk_ipc_message message = {.type = ZK_IPC_HELLO, .version = ZK_IPC_VERSION, .status = (uint32_t)status};
    snprintf(message.message, sizeof message.message, "%s", why->message);
    cuzk_status sent = worker_say(self, message, NULL);
    (void)sent; /* the daemon sees that the process ended */
}

/* ---- life ---- */

static cuzk_status serve(worker_lane *self, cuzk_err *err) {
    zk_cancel_bind(cancel_of(self));
    zk_progress_bind(self->progress);
    for (;;) {
        zk_ipc_message task;
        ZK_TRY(worker_next_message(&task, self, err));
        if (task.type == ZK_IPC_EXIT) return CUZK_OK;
        if (task.type < ZK_IPC_PREPARE || task.type > ZK_IPC_FORGET) continue; /* an answer nobody waits for */
        ZK_TRY(run_task(self, &task, err));
    }
}

static void *serve_beside(void *ctx) {
    cuzk_status status = serve(ctx, NULL);
    (void)status; /* the first lane sees, too, that the daemon is gone */
    return NULL;
}

static cuzk_status lane_start(worker_lane *self, cuzk_err *err) {
    worker_jobs_start(self);
    if (self->w->options->lookahead) ZK_TRY(zk_ahead_create(&self->ahead, err));
    if (pthread_create(&self->receiver, NULL, receive_loop, self) != 0)
        return ZK_FAIL(err, CUZK_EXHAUSTED, "worker: no thread to receive");
    self->receiving = true;
    if (self->index == 0) return CUZK_OK; /* this thread's */
    if (pthread_create(&self->thread, NULL, serve_beside, self) != 0)
        return ZK_FAIL(err, CUZK_EXHAUSTED, "worker: no thread for the second lane");
    self->running = true;
    return CUZK_OK;
}

static void lane_stop(worker_lane *self) {
    shutdown(self->fd, SHUT_RDWR);
    if (self->receiving) pthread_join(self->receiver, NULL);
    if (self->running) pthread_join(self->thread, NULL);
}

static void lane_destroy(worker_lane *self) {
    zk_ahead_destroy(self->ahead);
    self->ahead = NULL;
    worker_forget_jobs(self);
    for (unsigned i = 0; i < self->n_slots; i++) zk_partition_input_clear(&self->slots[i].input);
    zk_partition_input_clear(&self->own);
    pthread_mutex_destroy(&self->incoming.lock);
    pthread_cond_destroy(&self->incoming.filled);
}

static void destroy(worker *w) {
    for (unsigned i = 0; i < w->n_lanes; i++) lane_destroy(&w->lanes[i]);
    worker_unload_all(&w->lanes[0]);
    if (w->stream) zk_backend_stream_close(w->backend, w->stream);
    if (w->retire) zk_retire_drain(w->retire);
    zk_backend_close(w->backend);
    zk_retire_destroy(w->retire);
    zk_pool_destroy(w->pool);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
    free(w->lanes);
    free(w);
}

/* Threads that are bound to nothing give signs for the first lane, whose the process is. */
static cuzk_status open_progress(worker *w, cuzk_err *err) {
    const size_t n_bytes = ZK_WORKER_MAX_LANES * sizeof *w->progress;
    if (!w->options->progress_fd) return CUZK_OK;
    void *shared = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, w->options->progress_fd, 0);
    if (shared == MAP_FAILED) return ZK_FAIL(err, CUZK_EXHAUSTED, "worker: shared memory: %s", strerror(errno));
    close(w->options->progress_fd);
    w->progress = shared;
    for (unsigned i = 0; i < w->n_lanes; i++) w->lanes[i].progress = &w->progress[i];
    zk_progress_process = &w->progress[0];
    return CUZK_OK;
}

static worker *create(const zk_worker_options *options) {
    unsigned n_lanes = options->n_lanes > 1 ? ZK_WORKER_MAX_LANES : 1;
    worker *w = zk_calloc(1, sizeof *w);
    if (w) w->lanes = zk_calloc(n_lanes, sizeof *w->lanes);
    if (!w || !w->lanes) {
        free(w);
        return NULL;
    }
    w->options = options;
    w->n_lanes = n_lanes;
    pthread_mutex_init(&w->lock, NULL);
    zk_cond_init(&w->changed);
    for (unsigned i = 0; i < n_lanes; i++) {
        worker_lane *lane = &w->lanes[i];
        lane->w = w;
        lane->index = i;
        lane->fd = options->fd + (int)i;
        pthread_mutex_init(&lane->incoming.lock, NULL);
        pthread_cond_init(&lane->incoming.filled, NULL);
    }
    return w;
}

cuzk_status zk_worker_run(const zk_worker_options *options, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    worker *w = create(options);
    bool greeted = false;
    cuzk_err own_err = {0};
    if (!err) err = &own_err; /* the daemon is told */
    if (!w) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the worker");
    worker_lane *self = &w->lanes[0];
    /* Signals of a terminal or service manager are the daemon's business, which tells its workers. A worker whose
     * daemon dies, dies: also one that is stopped and sees no end of file. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    zk_file_map_guard();
    ZK_GOTO(open_progress(w, err));
    ZK_GOTO(worker_faults_parse(self, options->fault, err));
    if (options->device && strcmp(options->device, "probe") == 0) {
        status = probe(self, err);
        greeted = true;
        goto out;
    }
    if (options->lookahead > ZK_WORKER_MAX_LOOKAHEAD)
        ZK_GOTO(
            ZK_FAIL(err, CUZK_USAGE, "--lookahead: found %u, at most %d", options->lookahead, ZK_WORKER_MAX_LOOKAHEAD));
    ZK_GOTO(zk_pool_create(&w->pool, options->n_threads, err));
    ZK_GOTO(zk_retire_create(&w->retire, 0, 0, err));
    ZK_GOTO(open_device(self, err));
    zk_backend_set_retire(w->backend, w->retire);
    worker_faults_wrap(self);
    ZK_GOTO(hello(self, err));
    greeted = true;
    for (unsigned i = 0; i < w->n_lanes; i++) ZK_GOTO(lane_start(&w->lanes[i], err));
    status = serve(self, err);
out:
    if (!greeted && status != CUZK_OK) say_why(self, status, err);
    for (unsigned i = 0; i < w->n_lanes; i++) lane_stop(&w->lanes[i]);
    destroy(w);
    return status;
}
