/* Work done ahead: one thread that does what it is given, in order, beside a thread that proves; and the inputs of a
 * partition as such work. */
#ifndef ZK_FILECOIN_AHEAD_H
#define ZK_FILECOIN_AHEAD_H

#include "filecoin/job.h"

typedef struct zk_ahead zk_ahead;

/* One piece of work. Zero-initialise; `run` and `ctx` are the caller's, the rest is the thread's. */
typedef struct zk_ahead_task {
    void (*run)(void *ctx);
    void *ctx;
    struct zk_ahead_task *next;
    enum { ZK_AHEAD_IDLE, ZK_AHEAD_QUEUED, ZK_AHEAD_RUNNING } state;
} zk_ahead_task;

cuzk_status zk_ahead_create(zk_ahead **ahead, cuzk_err *err) ZK_MUST_USE;
/* Waits for the task that runs; those that have not begun never run. NULL is fine. */
void zk_ahead_destroy(zk_ahead *ahead);
/* The task, which is idle, stays the caller's but must live until it is idle again. */
void zk_ahead_start(zk_ahead *ahead, zk_ahead_task *task);
/* Returns when the task is idle. One that has not begun runs on the caller, at once. What it wrote is visible. */
void zk_ahead_wait(zk_ahead *ahead, zk_ahead_task *task);
/* Returns when the task is idle; one that has not begun never runs. */
void zk_ahead_cancel(zk_ahead *ahead, zk_ahead_task *task);

/* The inputs of one partition. Zero-initialise; reusable. */
typedef struct zk_partition_input {
    const zk_job *job; /* borrowed until the task is idle */
    uint32_t partition;
    size_t n_hints, hints_capacity, publics_capacity;
    uint8_t (*hints)[32], (*publics)[32]; /* [n_hints], [job->n_publics] */
    cuzk_status status;
    cuzk_err err;
} zk_partition_input;
/* Makes them on the calling thread; status and err are kept, too. */
cuzk_status zk_partition_input_make(zk_partition_input *input, const zk_job *job, size_t n_hints, uint32_t partition,
                                    cuzk_err *err) ZK_MUST_USE;
void zk_partition_input_clear(zk_partition_input *input); /* frees; zeroed is fine */

#endif
