/* The first failure of many independent checks that threads run in any order: what is reported does not depend on the
 * number of threads. */
#ifndef ZK_FILECOIN_FIRST_FAILURE_H
#define ZK_FILECOIN_FIRST_FAILURE_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/status.h"

/* Initialise with ZK_FIRST_FAILURE_INIT. Units are numbered in the order in which failures count. */
typedef struct zk_first_failure {
    pthread_mutex_t lock; /* guards status, err and what the caller notes beside them; unit is read without it */
    _Atomic(size_t) unit; /* lowest that failed so far; SIZE_MAX: none */
    cuzk_status status;
    cuzk_err err;
} zk_first_failure;

#define ZK_FIRST_FAILURE_INIT                                                                                          \
    { .lock = PTHREAD_MUTEX_INITIALIZER, .unit = SIZE_MAX }

/* Whether a unit before this one has failed, so that this one need not be looked at. */
static inline bool zk_first_failure_precedes(const zk_first_failure *first, size_t unit) {
    return atomic_load(&first->unit) < unit;
}

/* Notes that `unit` failed with this status and error; of the units noted the lowest counts. *to = *from (n bytes:
 * where it failed) goes with it. */
static inline void zk_first_failure_note(zk_first_failure *first, size_t unit, cuzk_status status, const cuzk_err *err,
                                         void *to, const void *from, size_t n) {
    pthread_mutex_lock(&first->lock);
    if (unit < atomic_load(&first->unit)) {
        atomic_store(&first->unit, unit);
        first->status = status;
        first->err = *err;
        memcpy(to, from, n);
    }
    pthread_mutex_unlock(&first->lock);
}

#endif
