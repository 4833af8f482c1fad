/* Whether a worker that has a task stands still. */
#ifndef ZK_ENGINE_STALL_H
#define ZK_ENGINE_STALL_H

#include <stdbool.h>
#include <stdint.h>

/* How long there has been no sign of progress (base/progress.h), in time in which somebody looked: of the time between
 * two looks at most ZK_STALL_LOOK_NS counts, so that a machine that was suspended, a process that was stopped or hardly
 * runs finds nobody guilty of it. */
typedef struct zk_stall {
    uint64_t looked_ns, still_ns;
} zk_stall;
#define ZK_STALL_LOOK_NS ((uint64_t)200000000)

void zk_stall_begin(zk_stall *stall, uint64_t now_ns);
/* To be called several times in ZK_STALL_LOOK_NS. progress: since the last look. */
void zk_stall_look(zk_stall *stall, uint64_t now_ns, bool progress);
/* Instead: nobody expects progress now. That time does not count, what came before it does, so that who is paused again
 * and again is found, too. */
void zk_stall_pause(zk_stall *stall, uint64_t now_ns);

/* Whether a process is stopped by a signal, or traced: somebody has it in hand, who may let it go on. */
bool zk_process_is_held(int pid);

#endif
