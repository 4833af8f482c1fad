/* Memory of the machine, of its control groups, of processes. */
#ifndef ZK_ENGINE_MEMORY_H
#define ZK_ENGINE_MEMORY_H

#include "engine/engine.h"

/* MemTotal and MemAvailable; 0 if they cannot be read. */
uint64_t zk_memory_machine(void);
uint64_t zk_memory_available(void);
/* Least limit of this group and its ancestors, version 1 or 2; 0: none. `cgroup_mount` is the folder that stands for
 * /sys/fs/cgroup, `proc_cgroup` the file that stands for /proc/self/cgroup. */
uint64_t zk_memory_group_limit(const char *cgroup_mount, const char *proc_cgroup);
/* Resident set; 0 if there is no such process. */
uint64_t zk_memory_of_process(int pid);
/* That part of it which is pages of files, or not. */
uint64_t zk_memory_of_files(int pid);
uint64_t zk_memory_own_of(int pid);

/* What this process has allocated, and what lies free in the allocator's pools. */
void zk_memory_heap(uint64_t *live_bytes, uint64_t *free_bytes);

#endif
