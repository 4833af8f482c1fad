#include "base/cancel.h"

#include "base/progress.h"

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler sets the flag");

zk_cancel zk_cancel_global;
_Thread_local const zk_cancel *zk_cancel_thread;

cuzk_status zk_cancel_check(const zk_cancel *cancel, const char *what, cuzk_err *err) {
    if (!zk_cancel_requested(cancel)) {
        zk_progress_note();
        return CUZK_OK;
    }
    return ZK_FAIL(err, CUZK_CANCELLED, "cancelled during %s", what);
}
