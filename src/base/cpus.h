/* How many CPUs this process may really use. */
#ifndef ZK_BASE_CPUS_H
#define ZK_BASE_CPUS_H

/* The smaller of the CPUs in the affinity mask and the CPU quota of the control group (v1 or v2, this group and all
 * its ancestors), rounded up; at least 1. */
unsigned zk_cpus_usable(void);

/* The quota part alone, in CPUs rounded up; 0 when there is no quota. The paths are those of zk_cgroup_each. */
unsigned zk_cpus_quota(const char *cgroup_mount, const char *proc_cgroup);

#endif
