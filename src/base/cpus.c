#include "base/cpus.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Least quota of base/path and its ancestors up to and including base. */
static unsigned quota_of_chain(const char *base, const char *path, bool v2) {
    char folder[1280];
    size_t n_base = strlen(base);
    if ((size_t)snprintf(folder, sizeof folder, "%s%s", base, path) >= sizeof folder) return 0;
    unsigned least = 0;
    for (;;) {
        unsigned n = quota_of_folder(folder, v2);
        if (n && (!least || n < least)) least = n;
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < n_base) return least;
        *slash = 0;
    }
}

/* Whether the comma-separated list names the controller `cpu`. */
static bool lists_cpu(const char *list) {
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, ",");
        if (n == 3 && memcmp(p, "cpu", 3) == 0) return true;
        p += n + (p[n] == ',');
    }
    return false;
}

unsigned zk_cpus_quota(const char *cgroup_mount, const char *proc_cgroup) {
    FILE *in = fopen(proc_cgroup, "re");
    if (!in) return 0;
    unsigned least = 0;
    char line[1024];
    while (fgets(line, sizeof line, in)) {
        /* hierarchy:controllers:path; version 2 is hierarchy 0 with an empty list. */
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *controllers++ = 0;
        *path++ = 0;
        unsigned n = 0;
        char base[256];
        if (*controllers == 0) {
            n = quota_of_chain(cgroup_mount, path, true);
        } else if (lists_cpu(controllers)) {
            /* The mount is named after the controller list, with a link `cpu` next to it where the system has one. */
            const char *names[2] = {controllers, "cpu"};
            for (int i = 0; i < 2 && !n; i++)
                if ((size_t)snprintf(base, sizeof base, "%s/%s", cgroup_mount, names[i]) < sizeof base)
                    n = quota_of_chain(base, path, false);
        }
        if (n && (!least || n < least)) least = n;
    }
    fclose(in);
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
