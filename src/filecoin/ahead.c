#include "filecoin/ahead.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"

struct zk_ahead {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    zk_ahead_task *first, **last;
    bool ending;
};

/* Needs the lock. */
static bool unlink_task(zk_ahead *ahead, zk_ahead_task *task) {
    for (zk_ahead_task **at = &ahead->first; *at; at = &(*at)->next) {
        if (*at != task) continue;
        *at = task->next;
        if (ahead->last == &task->next) ahead->last = at;
        return true;
    }
    return false;
}

/* Needs the lock, which is given up meanwhile. */
static void run_task(zk_ahead *ahead, zk_ahead_task *task) {
    task->state = ZK_AHEAD_RUNNING;
    pthread_mutex_unlock(&ahead->lock);
    task->run(task->ctx);
    pthread_mutex_lock(&ahead->lock);
    task->state = ZK_AHEAD_IDLE;
    pthread_cond_broadcast(&ahead->changed);
}

static void *work(void *ctx) {
    zk_ahead *ahead = ctx;
    pthread_mutex_lock(&ahead->lock);
    for (;;) {
        while (!ahead->first && !ahead->ending) pthread_cond_wait(&ahead->changed, &ahead->lock);
        if (ahead->ending) break;
        zk_ahead_task *task = ahead->first;
        unlink_task(ahead, task);
        run_task(ahead, task);
    }
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

cuzk_status zk_ahead_create(zk_ahead **out, cuzk_err *err) {
    *out = NULL;
    zk_ahead *ahead = zk_calloc(1, sizeof *ahead);
    if (!ahead) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a thread that prepares");
    ahead->last = &ahead->first;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    if (pthread_create(&ahead->thread, NULL, work, ahead) != 0) {
        pthread_mutex_destroy(&ahead->lock);
        pthread_cond_destroy(&ahead->changed);
        free(ahead);
        return ZK_FAIL(err, CUZK_EXHAUSTED, "no thread to prepare partitions");
    }
    *out = ahead;
    return CUZK_OK;
}

void zk_ahead_destroy(zk_ahead *ahead) {
    if (!ahead) return;
    pthread_mutex_lock(&ahead->lock);
    ahead->ending = true;
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
    pthread_mutex_destroy(&ahead->lock);
    pthread_cond_destroy(&ahead->changed);
    free(ahead);
}

void zk_ahead_start(zk_ahead *ahead, zk_ahead_task *task) {
    pthread_mutex_lock(&ahead->lock);
    task->state = ZK_AHEAD_QUEUED;
    task->next = NULL;
    *ahead->last = task;
    ahead->last = &task->next;
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
}

static void await(zk_ahead *ahead, zk_ahead_task *task, bool run) {
    pthread_mutex_lock(&ahead->lock);
    if (task->state == ZK_AHEAD_QUEUED) {
        unlink_task(ahead, task);
        task->state = ZK_AHEAD_IDLE;
        if (run) run_task(ahead, task);
    }
    while (task->state != ZK_AHEAD_IDLE) pthread_cond_wait(&ahead->changed, &ahead->lock);
    pthread_mutex_unlock(&ahead->lock);
}

void zk_ahead_wait(zk_ahead *ahead, zk_ahead_task *task) { await(ahead, task, true); }
void zk_ahead_cancel(zk_ahead *ahead, zk_ahead_task *task) { await(ahead, task, false); }

/* ---- inputs ---- */

static bool make_room(uint8_t (**blocks)[32], size_t *capacity, size_t n) {
    size_t bytes;
    if (*blocks && n <= *capacity) return true;
    free(*blocks);
    *blocks = zk_mul_size(&bytes, n, 32) ? zk_malloc(bytes) : NULL;
    *capacity = *blocks ? n : 0;
    return *blocks != NULL;
}

cuzk_status zk_partition_input_make(zk_partition_input *in, const zk_job *job, size_t n_hints, uint32_t partition,
                                    cuzk_err *err) {
    in->job = job;
    in->partition = partition;
    in->n_hints = n_hints;
    in->err = (cuzk_err){0};
    if (!make_room(&in->hints, &in->hints_capacity, n_hints) ||
        !make_room(&in->publics, &in->publics_capacity, job->n_publics)) {
        in->status = ZK_FAIL(&in->err, CUZK_OUT_OF_MEMORY, "no memory for the input of a partition");
    } else {
        in->status = zk_job_hints(in->hints, n_hints, job, partition, &in->err);
        zk_job_publics(in->publics, job, partition);
    }
    if (in->status != CUZK_OK && err) *err = in->err;
    return in->status;
}

void zk_partition_input_clear(zk_partition_input *in) {
    free(in->hints);
    free(in->publics);
    *in = (zk_partition_input){0};
}
