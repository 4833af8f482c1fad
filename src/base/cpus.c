#include "base/cpus.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cgroup.h"

/* Whole CPUs that quota out of period microseconds amounts to. */
static unsigned quota_cpus(long long quota, long long period) {
    if (quota <= 0 || period <= 0) return 0;
    long long n = quota / period + (quota % period != 0);
    return n > 65536 ? 65536 : (unsigned)n;
}

static bool read_line(const char *folder, const char *name, char *line, int n_line) {
    char path[1536];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path) return false;
    FILE *in = fopen(path, "re");
    if (!in) return false;
    bool ok = fgets(line, n_line, in) != NULL;
    fclose(in);
    return ok;
}

static unsigned quota_of_folder(const char *folder, bool v2) {
    char line[128];
    long long quota, period;
    if (v2) {
        if (!read_line(folder, "cpu.max", line, sizeof line) || sscanf(line, "%lld %lld", &quota, &period) != 2)
            return 0;
        return quota_cpus(quota, period);
    }
    if (!read_line(folder, "cpu.cfs_quota_us", line, sizeof line) || sscanf(line, "%lld", &quota) != 1) return 0;
    if (!read_line(folder, "cpu.cfs_period_us", line, sizeof line) || sscanf(line, "%lld", &period) != 1) return 0;
    return quota_cpus(quota, period);
}

static void take_least(void *ctx, const char *folder, bool v2) {
    unsigned *least = ctx, n = quota_of_folder(folder, v2);
    if (n && (!*least || n < *least)) *least = n;
}

unsigned zk_cpus_quota(const char *cgroup_mount, const char *proc_cgroup) {
    unsigned least = 0;
    zk_cgroup_each(cgroup_mount, proc_cgroup, "cpu", take_least, &least);
    return least;
}

static unsigned affinity_cpus(void) {
    for (size_t n_bits = 1024; n_bits <= 1 << 20; n_bits *= 2) {
        cpu_set_t *set = CPU_ALLOC(n_bits);
        if (!set) break;
        size_t n_bytes = CPU_ALLOC_SIZE(n_bits);
        int n = sched_getaffinity(0, n_bytes, set) == 0 ? CPU_COUNT_S(n_bytes, set) : 0;
        CPU_FREE(set);
        if (n > 0) return (unsigned)n;
    }
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

unsigned zk_cpus_usable(void) {
    unsigned n = affinity_cpus(), quota = zk_cpus_quota("/sys/fs/cgroup", "/proc/self/cgroup");
    return quota && quota < n ? quota : n;
}
