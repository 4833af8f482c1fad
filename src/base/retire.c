#include "base/retire.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cond.h"
#include "base/mem.h"
#include "base/progress.h"

#define POLL_NS 1000000

typedef struct entry {
    struct entry *next;
    uint64_t number; /* order of giving */
    zk_retire_item item;
} entry;

struct zk_retire {
    pthread_mutex_t mutex; /* guards everything but `waiting` */
    pthread_cond_t given;  /* for the worker */
    pthread_cond_t released;
    pthread_t worker;
    size_t max_items;
    uint64_t max_bytes;
    entry *inbox, **inbox_end;   /* given, not yet seen by the worker */
    entry *waiting;              /* the worker's own list, oldest first */
    uint64_t n_given, n_drained; /* all entries numbered below n_drained are released */
    bool stop;
    zk_retire_stats stats;
};

static void sleep_ns(long ns) {
    struct timespec t = {0, ns};
    nanosleep(&t, NULL);
}

static void release_here(const zk_retire_item *item) {
    while (item->ready && !item->ready(item->ready_ctx)) sleep_ns(POLL_NS);
    item->release(item->ctx);
}

/* Moves what was given to the worker's list, which is in order of giving. */
static void take_inbox(zk_retire *r) {
    entry **end = &r->waiting;
    while (*end) end = &(*end)->next;
    *end = r->inbox;
    r->inbox = NULL;
    r->inbox_end = &r->inbox;
}

/* Releases the oldest entry that is ready; false if there is none. Called without the mutex. */
static bool release_one(zk_retire *r) {
    for (entry **at = &r->waiting; *at; at = &(*at)->next) {
        entry *e = *at;
        if (e->item.ready && !e->item.ready(e->item.ready_ctx)) continue;
        *at = e->next;
        uint64_t begin = zk_now_ns();
        e->item.release(e->item.ctx);
        zk_progress_note(); /* somebody may wait for all of them */
        uint64_t ns = zk_now_ns() - begin;
        pthread_mutex_lock(&r->mutex);
        r->stats.n_pending--;
        r->stats.pending_bytes -= e->item.n_bytes;
        r->stats.n_released++;
        r->stats.released_bytes += e->item.n_bytes;
        r->stats.release_ns += ns;
        r->n_drained = r->waiting ? r->waiting->number : r->inbox ? r->inbox->number : r->n_given;
        pthread_cond_broadcast(&r->released);
        pthread_mutex_unlock(&r->mutex);
        free(e);
        return true;
    }
    return false;
}

static void *worker_main(void *arg) {
    zk_retire *r = arg;
    pthread_mutex_lock(&r->mutex);
    for (;;) {
        take_inbox(r);
        if (r->waiting) {
            pthread_mutex_unlock(&r->mutex);
            bool progress = release_one(r);
            pthread_mutex_lock(&r->mutex);
            if (progress || r->inbox) continue;
            zk_cond_wait_until(&r->given, &r->mutex, zk_now_ns() + POLL_NS);
        } else if (r->stop) {
            break;
        } else {
            pthread_cond_wait(&r->given, &r->mutex);
        }
    }
    pthread_mutex_unlock(&r->mutex);
    return NULL;
}

cuzk_status zk_retire_create(zk_retire **out, size_t max_items, uint64_t max_bytes, cuzk_err *err) {
    *out = NULL;
    zk_retire *r = zk_calloc(1, sizeof *r);
    if (!r) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "retire: no memory for the queue");
    r->max_items = max_items ? max_items : 256;
    r->max_bytes = max_bytes ? max_bytes : (uint64_t)64 << 30;
    r->inbox_end = &r->inbox;
    pthread_mutex_init(&r->mutex, NULL);
    zk_cond_init(&r->given);
    pthread_cond_init(&r->released, NULL);
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failure = pthread_create(&r->worker, NULL, worker_main, r);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (failure) {
        pthread_cond_destroy(&r->released);
        pthread_cond_destroy(&r->given);
        pthread_mutex_destroy(&r->mutex);
        free(r);
        return ZK_FAIL(err, CUZK_EXHAUSTED, "retire: the worker thread cannot be started (error %d)", failure);
    }
    *out = r;
    return CUZK_OK;
}

void zk_retire_destroy(zk_retire *r) {
    if (!r) return;
    pthread_mutex_lock(&r->mutex);
    r->stop = true;
    pthread_cond_signal(&r->given);
    pthread_mutex_unlock(&r->mutex);
    pthread_join(r->worker, NULL);
    pthread_cond_destroy(&r->released);
    pthread_cond_destroy(&r->given);
    pthread_mutex_destroy(&r->mutex);
    free(r);
}

void zk_retire_give(zk_retire *r, const zk_retire_item *item) {
    entry *e = r ? zk_malloc(sizeof *e) : NULL;
    if (!r) {
        release_here(item);
        return;
    }
    pthread_mutex_lock(&r->mutex);
    zk_retire_stats *s = &r->stats;
    bool room = s->n_pending == 0 || (s->n_pending < r->max_items && s->pending_bytes <= r->max_bytes &&
                                      item->n_bytes <= r->max_bytes - s->pending_bytes);
    if (e && room) {
        *e = (entry){.number = r->n_given++, .item = *item};
        *r->inbox_end = e;
        r->inbox_end = &e->next;
        s->n_pending++;
        s->pending_bytes += item->n_bytes;
        if (s->pending_bytes > s->peak_pending_bytes) s->peak_pending_bytes = s->pending_bytes;
        pthread_cond_signal(&r->given);
        pthread_mutex_unlock(&r->mutex);
        return;
    }
    pthread_mutex_unlock(&r->mutex);
    free(e);
    uint64_t begin = zk_now_ns(), n_bytes = item->n_bytes;
    release_here(item);
    pthread_mutex_lock(&r->mutex);
    s->n_inline++;
    s->inline_bytes += n_bytes;
    s->inline_ns += zk_now_ns() - begin;
    pthread_mutex_unlock(&r->mutex);
}

void zk_retire_mem(zk_retire *r, void *block) {
    if (!block) return;
    const char *name = zk_mem_block_name(block);
    zk_retire_give(
        r, &(zk_retire_item){name ? name : "unknown", zk_mem_block_bytes(block), zk_mem_free, block, NULL, NULL});
}

void zk_retire_drain(zk_retire *r) {
    if (!r) return;
    pthread_mutex_lock(&r->mutex);
    uint64_t target = r->n_given;
    while (r->n_drained < target) pthread_cond_wait(&r->released, &r->mutex);
    pthread_mutex_unlock(&r->mutex);
}

zk_retire_stats zk_retire_get_stats(zk_retire *r) {
    if (!r) return (zk_retire_stats){0};
    pthread_mutex_lock(&r->mutex);
    zk_retire_stats stats = r->stats;
    pthread_mutex_unlock(&r->mutex);
    return stats;
}
