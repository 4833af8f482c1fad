/* Memory of the machine, of its control groups, of processes. */
#ifndef ZK_ENGINE_MEMORY_H
#define ZK_ENGINE_MEMORY_H

#include "engine/engine.h"

/* MemAvailable of the machine; 0 if it cannot be read. */
uint64_t zk_memory_available(void);
/* Least limit of this process's control group and its ancestors; 0: none. The paths are those of zk_cgroup_each. */
uint64_t zk_memory_group_limit(const char *cgroup_mount, const char *proc_cgroup);
/* Resident set; 0 if there is no such process. */
uint64_t zk_memory_of_process(int pid);
/* That part of it which is pages of files, or not. */
uint64_t zk_memory_of_files(int pid);
uint64_t zk_memory_own_of(int pid);

/* What this process has allocated, and what lies free in the allocator's pools. */
void zk_memory_heap(uint64_t *live_bytes, uint64_t *free_bytes);
/* The heap of a daemon: so much is taken, and touched, at the start, and so much may lie free before it goes back to
 * the system. What a daemon keeps and the buffers of some ten clients fit, so that its resident memory is the same from
 * the first minute on, whatever lives when. */
#define ZK_HEAP_TAKEN_BYTES ((size_t)3 << 20)
#define ZK_HEAP_KEPT_BYTES ((size_t)4 << 20)
/* Gives back what lies free beyond that. */
void zk_memory_trim(void);

#endif
