/* Progress of long work: stages report, somebody else renders. */
#ifndef ZK_BASE_PROGRESS_H
#define ZK_BASE_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* `report` is called with done <= total, total 0 when it is not known; for one stage never from two threads at once,
 * with ascending `done`, first with 0 and last with the final value. It must be quick and must not call back. A NULL
 * progress or report is no progress. */
typedef struct zk_progress {
    void (*report)(void *ctx, const char *stage, uint64_t done, uint64_t total);
    void *ctx;
} zk_progress;

/* One stage. Any thread may add; reports go out at most every 50 ms. `stage` must outlive it. */
typedef struct zk_progress_stage {
    const zk_progress *progress;
    const char *stage;
    uint64_t total, reported;
    _Atomic uint64_t done, next_ns;
    atomic_flag reporting; /* guards `reported` and the call */
} zk_progress_stage;

void zk_progress_begin(zk_progress_stage *stage, const zk_progress *progress, const char *name, uint64_t total);
void zk_progress_add(zk_progress_stage *stage, uint64_t n);
/* After all adds; reports where the stage ended, complete or not. */
void zk_progress_end(zk_progress_stage *stage);

#endif
