#include "base/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cpus.h"
#include "base/mem.h"
#include "base/numa.h"
#include "base/progress.h"

/* A loop is open while its caller hands out chunks. Workers join an open loop and leave it; the caller closes it once
 * the chunks are gone and waits for those who joined, so a worker that wakes late delays nobody. `state` holds both:
 * the top bit says open, the rest counts the workers inside. The job fields are written only while it is zero. */
#define STATE_OPEN ((uint32_t)1 << 31)
#define MAX_THREADS 4096

/* Polls before sleeping: 5 to 20 microseconds, about the price of the sleep and wake-up it may save. */
#define SPINS 400

struct zk_pool {
    pthread_mutex_t callers; /* held by the outside caller whose loop runs */
    pthread_mutex_t mutex;   /* guards the two condition variables */
    pthread_cond_t work;     /* generation or stop has changed */
    pthread_cond_t done;     /* the last worker has left a closed loop */
    pthread_t *threads;      /* [n_threads - 1] */
    unsigned n_threads, n_started, spins;
    void *_Atomic kept; /* a block of zk_mem_alloc, or NULL */
    zk_range_fn fn;
    void *ctx;
    zk_progress *progress; /* the caller's: chunks are signs of it */
    size_t n, grain, n_chunks;
    _Alignas(64) atomic_size_t next_chunk;
    _Alignas(64) _Atomic uint32_t state;
    _Alignas(64) _Atomic uint64_t generation; /* counts loops */
    atomic_uint n_sleeping;
    atomic_bool stop;
};

typedef struct worker_start {
    zk_pool *pool;
    unsigned index, node; /* in zk_numa_here() */
} worker_start;

/* The loops that run on this thread, innermost first. */
typedef struct loop_frame {
    const zk_pool *pool;
    unsigned thread;
    const struct loop_frame *outer;
} loop_frame;

static _Thread_local const loop_frame *thread_frames;

static inline void cpu_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void run_chunks(zk_pool *pool, unsigned thread) {
    loop_frame frame = {pool, thread, thread_frames};
    zk_progress *own = zk_progress_thread;
    thread_frames = &frame;
    zk_progress_bind(pool->progress);
    for (;;) {
        size_t chunk = atomic_fetch_add_explicit(&pool->next_chunk, 1, memory_order_relaxed);
        if (chunk >= pool->n_chunks) break;
        size_t begin = chunk * pool->grain, left = pool->n - begin;
        pool->fn(pool->ctx, begin, begin + (left < pool->grain ? left : pool->grain), thread);
        zk_progress_note();
    }
    zk_progress_bind(own);
    thread_frames = frame.outer;
}

static void run_alone(size_t n, size_t grain, zk_range_fn fn, void *ctx, unsigned thread) {
    for (size_t begin = 0; begin < n;) {
        size_t end = n - begin < grain ? n : begin + grain;
        fn(ctx, begin, end, thread);
        zk_progress_note();
        begin = end;
    }
}

static bool loop_join(zk_pool *pool) {
    uint32_t state = atomic_load(&pool->state);
    while (state & STATE_OPEN)
        if (atomic_compare_exchange_weak(&pool->state, &state, state + 1)) return true;
    return false;
}

static void loop_leave(zk_pool *pool) {
    if (atomic_fetch_sub(&pool->state, 1) != 1) return;
    pthread_mutex_lock(&pool->mutex);
    pthread_cond_signal(&pool->done);
    pthread_mutex_unlock(&pool->mutex);
}

/* Waits until there is a loop after number `seen`, or stop; returns the newest number. */
static uint64_t wait_for_work(zk_pool *pool, uint64_t seen) {
    uint64_t now = seen;
    for (unsigned i = 0; i < pool->spins; i++) {
        now = atomic_load(&pool->generation);
        if (now != seen || atomic_load(&pool->stop)) return now;
        cpu_relax();
    }
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->n_sleeping, 1);
    while ((now = atomic_load(&pool->generation)) == seen && !atomic_load(&pool->stop))
        pthread_cond_wait(&pool->work, &pool->mutex);
    atomic_fetch_sub(&pool->n_sleeping, 1);
    pthread_mutex_unlock(&pool->mutex);
    return now;
}

static void *worker_main(void *arg) {
    worker_start start = *(worker_start *)arg;
    free(arg);
    zk_pool *pool = start.pool;
    uint64_t seen = 0;
    zk_numa_bind(start.node);
    for (;;) {
        seen = wait_for_work(pool, seen);
        if (atomic_load(&pool->stop)) return NULL;
        if (!loop_join(pool)) continue;
        run_chunks(pool, start.index);
        loop_leave(pool);
    }
}

cuzk_status zk_pool_create(zk_pool **pool_out, unsigned n_threads, cuzk_err *err) {
    *pool_out = NULL;
    unsigned n_cpus = zk_cpus_usable();
    if (n_threads == 0) n_threads = n_cpus < MAX_THREADS ? n_cpus : MAX_THREADS;
    if (n_threads > MAX_THREADS)
        return ZK_FAIL(err, CUZK_USAGE, "thread pool: %u threads asked, at most %d allowed", n_threads, MAX_THREADS);
    zk_pool *pool = zk_alloc_should_fail() ? NULL : aligned_alloc(_Alignof(zk_pool), sizeof *pool);
    if (!pool) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "thread pool: no memory");
    *pool = (zk_pool){.n_threads = n_threads, .spins = n_threads <= n_cpus ? SPINS : 0};
    pthread_mutex_init(&pool->callers, NULL);
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    if (n_threads > 1 && !(pool->threads = zk_calloc(n_threads - 1, sizeof *pool->threads))) {
        zk_pool_destroy(pool);
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "thread pool: no memory for %u threads", n_threads);
    }
    /* Signals are for the threads that know about them, never for workers. */
    sigset_t all, old;
    sigfillset(&all);
    /* Faults of a worker are its own; one that is blocked ends the process whatever handles it (zk_file_map_guard). */
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    unsigned node_of[MAX_THREADS] = {0};
    if (zk_numa_n_nodes() > 1) zk_numa_spread(node_of, n_threads, zk_numa_here());
    int failure = 0;
    while (!failure && pool->n_started < n_threads - 1) {
        worker_start *start = zk_malloc(sizeof *start);
        if (!start) {
            failure = -1;
            break;
        }
        *start = (worker_start){pool, pool->n_started + 1, node_of[pool->n_started + 1]};
        failure = pthread_create(&pool->threads[pool->n_started], NULL, worker_main, start);
        if (failure)
            free(start);
        else
            pool->n_started++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (failure) {
        unsigned n_started = pool->n_started;
        zk_pool_destroy(pool);
        return failure < 0 ? ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "thread pool: no memory for %u threads", n_threads)
                           : ZK_FAIL(err, CUZK_EXHAUSTED, "thread pool: thread %u of %u cannot be started (error %d)",
                                     n_started + 2, n_threads, failure);
    }
    *pool_out = pool;
    return CUZK_OK;
}

void zk_pool_destroy(zk_pool *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->mutex);
    atomic_store(&pool->stop, true);
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
    for (unsigned i = 0; i < pool->n_started; i++) pthread_join(pool->threads[i], NULL);
    zk_pool_release_memory(pool);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->mutex);
    pthread_mutex_destroy(&pool->callers);
    free(pool->threads);
    free(pool);
}

unsigned zk_pool_n_threads(const zk_pool *pool) { return pool ? pool->n_threads : 1; }

static void wake_workers(zk_pool *pool, size_t n_wanted) {
    /* A worker counts itself as sleeping before it looks at the generation, so one of the two sees the other. */
    if (atomic_load(&pool->n_sleeping) == 0) return;
    pthread_mutex_lock(&pool->mutex);
    if (n_wanted >= pool->n_started)
        pthread_cond_broadcast(&pool->work);
    else
        while (n_wanted--) pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
}

static void wait_for_workers(zk_pool *pool) {
    for (unsigned i = 0; i < pool->spins; i++) {
        if (atomic_load(&pool->state) == 0) return;
        cpu_relax();
    }
    pthread_mutex_lock(&pool->mutex);
    while (atomic_load(&pool->state) != 0) pthread_cond_wait(&pool->done, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

void zk_pool_for(zk_pool *pool, size_t n, size_t grain, zk_range_fn fn, void *ctx) {
    if (n == 0) return;
    if (grain == 0) grain = 1;
    if (!pool) {
        run_alone(n, grain, fn, ctx, 0);
        return;
    }
    for (const loop_frame *frame = thread_frames; frame; frame = frame->outer) {
        if (frame->pool != pool) continue;
        run_alone(n, grain, fn, ctx, frame->thread);
        return;
    }
    pthread_mutex_lock(&pool->callers);
    pool->fn = fn;
    pool->ctx = ctx;
    pool->progress = zk_progress_bound();
    pool->n = n;
    pool->grain = grain;
    pool->n_chunks = n / grain + (n % grain != 0);
    atomic_store_explicit(&pool->next_chunk, 0, memory_order_relaxed);
    bool shared = pool->n_started > 0 && pool->n_chunks > 1;
    if (shared) {
        atomic_store(&pool->state, STATE_OPEN);
        atomic_fetch_add(&pool->generation, 1);
        wake_workers(pool, pool->n_chunks - 1);
    }
    run_chunks(pool, 0);
    if (shared && atomic_fetch_and(&pool->state, ~STATE_OPEN) != STATE_OPEN) wait_for_workers(pool);
    pthread_mutex_unlock(&pool->callers);
}

cuzk_status zk_pool_take_memory(void **block, zk_pool *pool, const char *name, size_t n_bytes, cuzk_err *err) {
    *block = pool ? atomic_exchange(&pool->kept, NULL) : NULL;
    if (*block && zk_mem_block_bytes(*block) >= n_bytes) return CUZK_OK;
    zk_mem_free(*block);
    return zk_mem_alloc(block, name, n_bytes, err);
}

void zk_pool_give_memory(zk_pool *pool, void *block) {
    if (!block) return;
    void *other = pool ? atomic_exchange(&pool->kept, NULL) : NULL;
    if (!pool || (other && zk_mem_block_bytes(other) > zk_mem_block_bytes(block))) {
        zk_mem_free(block);
        block = other;
    } else {
        zk_mem_free(other);
    }
    /* Somebody may have given another meanwhile: it goes. */
    if (block) zk_mem_free(atomic_exchange(&pool->kept, block));
}

void zk_pool_release_memory(zk_pool *pool) {
    if (pool) zk_mem_free(atomic_exchange(&pool->kept, NULL));
}
