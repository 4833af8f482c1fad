/* Cancel flags: somebody asks, long loops look. */
#ifndef ZK_BASE_CANCEL_H
#define ZK_BASE_CANCEL_H

#include <stdatomic.h>

#include "base/status.h"

/* Zero-initialise; one per job, or use the global one alone. A request cannot be taken back except by the owner, when
 * nothing runs under the flag. */
typedef struct zk_cancel {
    atomic_int requested;
} zk_cancel;

/* The flag of the whole process; every check looks at it too. */
extern zk_cancel zk_cancel_global;

/* A flag for what this thread does, where threads of a process have work of their own: checks of this thread with NULL
 * look at it, too. Borrowed until another one, or NULL, is bound. */
extern _Thread_local const zk_cancel *zk_cancel_thread;
static inline void zk_cancel_bind(const zk_cancel *cancel) { zk_cancel_thread = cancel; }

/* Async-signal-safe. NULL is the global flag. */
static inline void zk_cancel_request(zk_cancel *cancel) {
    atomic_store_explicit(&(cancel ? cancel : &zk_cancel_global)->requested, 1, memory_order_relaxed);
}

static inline void zk_cancel_clear(zk_cancel *cancel) {
    atomic_store_explicit(&(cancel ? cancel : &zk_cancel_global)->requested, 0, memory_order_relaxed);
}

/* Cheap enough for each chunk of a loop (a few loads). NULL looks at the global flag and that of the thread. */
static inline bool zk_cancel_requested(const zk_cancel *cancel) {
    if (!cancel) cancel = zk_cancel_thread;
    return atomic_load_explicit(&zk_cancel_global.requested, memory_order_relaxed) ||
           (cancel && atomic_load_explicit(&cancel->requested, memory_order_relaxed));
}

/* CUZK_CANCELLED "cancelled during WHAT" once requested. Else a sign of progress (progress.h): not for loops that
 * wait for something, which may never come. */
cuzk_status zk_cancel_check(const zk_cancel *cancel, const char *what, cuzk_err *err) ZK_MUST_USE;

#endif
