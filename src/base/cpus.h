/* How many CPUs this process may really use. */
#ifndef ZK_BASE_CPUS_H
#define ZK_BASE_CPUS_H

/* The smaller of the CPUs in the affinity mask and the CPU quota of the control group (v1 or v2, this group and all
 * its ancestors), rounded up; at least 1. */
unsigned zk_cpus_usable(void);

/* The quota part alone, in CPUs rounded up; 0 when there is no quota. `cgroup_mount` is the folder that stands for
 * /sys/fs/cgroup, `proc_cgroup` the file that stands for /proc/self/cgroup. A path that is not visible below the mount
 * (a container whose mount already is its own group) is looked up at the nearest ancestor that exists. */
unsigned zk_cpus_quota(const char *cgroup_mount, const char *proc_cgroup);

#endif
