/* The control groups of this process, version 1 or 2: whoever wants a limit looks at each of their folders. */
#ifndef ZK_BASE_CGROUP_H
#define ZK_BASE_CGROUP_H

#include <stdbool.h>

typedef void (*zk_cgroup_fn)(void *ctx, const char *folder, bool v2);

/* Calls fn for the folder of the process's group and those of all its ancestors up to the mount; in version 1 in the
 * hierarchy of the controller ("cpu", "memory"), in version 2 in the one there is. `cgroup_mount` is the folder that
 * stands for /sys/fs/cgroup, `proc_cgroup` the file that stands for /proc/self/cgroup. Folders need not exist: of a
 * path that is not visible below the mount (a container whose mount already is its own group) the ancestors do. */
void zk_cgroup_each(const char *cgroup_mount, const char *proc_cgroup, const char *controller, zk_cgroup_fn fn,
                    void *ctx);

#endif
