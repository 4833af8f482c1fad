/* Signs of progress: long work says that it goes on, and who watches it, perhaps from another process, asks now and
 * then whether it has. They are given where work passes anyway: by checks of a cancel flag (cancel.h), chunks of a
 * pool's loop (pool.h), spans, pieces of files read, memory given back. What waits for something that another watches
 * over gives them, too; what waits for ever does not (it polls zk_cancel_requested).
 *
 * A sign is a flag, not a count: it is written once between two looks, however many threads give it. */
#ifndef ZK_BASE_PROGRESS_H
#define ZK_BASE_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>

/* Zero-initialise; may lie in memory that processes share. */
typedef struct zk_progress {
    _Alignas(64) atomic_bool made;
} zk_progress;

_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "processes share it");

/* Where threads that are bound to nothing give their signs; never NULL. Set while the process has one thread. */
extern zk_progress *zk_progress_process;
/* Where this thread gives its signs; NULL: where the process does. A pool's loop takes it from its caller. */
extern _Thread_local zk_progress *zk_progress_thread;

static inline void zk_progress_bind(zk_progress *progress) { zk_progress_thread = progress; }
static inline zk_progress *zk_progress_bound(void) {
    return zk_progress_thread ? zk_progress_thread : zk_progress_process;
}

/* The work goes on: a load, rarely a store. */
static inline void zk_progress_note(void) {
    zk_progress *p = zk_progress_bound();
    if (!atomic_load_explicit(&p->made, memory_order_relaxed))
        atomic_store_explicit(&p->made, true, memory_order_relaxed);
}

/* Whether there was a sign since the last time. */
static inline bool zk_progress_take(zk_progress *progress) {
    return atomic_exchange_explicit(&progress->made, false, memory_order_relaxed);
}

#endif
