/* How much memory the machine and its control groups allow. */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "engine/memory.h"

static uint64_t read_number(const char *path) {
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    uint64_t n = 0;
    if (fscanf(f, "%" SCNu64, &n) != 1) n = 0; /* "max" */
    fclose(f);
    return n;
}

static uint64_t least(uint64_t a, uint64_t b) { return !a ? b : !b || a < b ? a : b; }

/* Least limit of base/path and its ancestors up to and including base. A path that is not visible below the mount (a
 * container whose mount is its own group) is looked up at the ancestors that exist. */
static uint64_t limit_of_chain(const char *base, const char *path, const char *file) {
    char folder[1280], name[1400];
    size_t n_base = strlen(base);
    if ((size_t)snprintf(folder, sizeof folder, "%s%s", base, path) >= sizeof folder) return 0;
    uint64_t limit = 0;
    for (;;) {
        snprintf(name, sizeof name, "%s/%s", folder, file);
        limit = least(limit, read_number(name));
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < n_base) return limit;
        *slash = 0;
    }
}

uint64_t zk_memory_group_limit(const char *cgroup_mount, const char *proc_cgroup) {
    FILE *in = fopen(proc_cgroup, "re");
    if (!in) return 0;
    uint64_t limit = 0;
    char line[1024], base[256];
    while (fgets(line, sizeof line, in)) {
        /* hierarchy:controllers:path; version 2 is hierarchy 0 with an empty list. */
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *controllers++ = 0;
        *path++ = 0;
        if (*controllers == 0) {
            limit = least(limit, limit_of_chain(cgroup_mount, path, "memory.max"));
            limit = least(limit, limit_of_chain(cgroup_mount, path, "memory.high"));
        } else if (strcmp(controllers, "memory") == 0 &&
                   (size_t)snprintf(base, sizeof base, "%s/memory", cgroup_mount) < sizeof base) {
            limit = least(limit, limit_of_chain(base, path, "memory.limit_in_bytes"));
        }
    }
    fclose(in);
    return limit;
}

uint64_t zk_memory_machine(void) {
    FILE *in = fopen("/proc/meminfo", "re");
    if (!in) return 0;
    char line[256];
    uint64_t kib = 0;
    while (fgets(line, sizeof line, in))
        if (sscanf(line, "MemTotal: %" SCNu64, &kib) == 1) break;
    fclose(in);
    return kib * 1024;
}

uint64_t zk_memory_available(void) {
    FILE *in = fopen("/proc/meminfo", "re");
    if (!in) return 0;
    char line[256];
    uint64_t kib = 0;
    while (fgets(line, sizeof line, in))
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1) break;
    fclose(in);
    return kib * 1024;
}

static void read_statm(uint64_t *resident, uint64_t *files, int pid) {
    char path[64];
    uint64_t total;
    *resident = *files = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    FILE *in = fopen(path, "re");
    if (!in) return;
    if (fscanf(in, "%" SCNu64 " %" SCNu64 " %" SCNu64, &total, resident, files) != 3) *resident = *files = 0;
    fclose(in);
    *resident *= 4096;
    *files *= 4096;
}

uint64_t zk_memory_of_process(int pid) {
    uint64_t resident, files;
    read_statm(&resident, &files, pid);
    return resident;
}

uint64_t zk_memory_of_files(int pid) {
    uint64_t resident, files;
    read_statm(&resident, &files, pid);
    return files;
}

uint64_t zk_memory_own_of(int pid) {
    uint64_t resident, files;
    read_statm(&resident, &files, pid);
    return resident > files ? resident - files : 0;
}

void zk_memory_heap(uint64_t *live_bytes, uint64_t *free_bytes) {
    struct mallinfo2 m = mallinfo2();
    *live_bytes = m.uordblks + m.hblkhd;
    *free_bytes = m.fordblks;
}

void zk_engine_small_heap(void) {
    mallopt(M_ARENA_MAX, 2);
    mallopt(M_MMAP_THRESHOLD, 128 << 10); /* said, so that they do not grow with what is freed */
    mallopt(M_TRIM_THRESHOLD, 128 << 10);
}

uint64_t zk_engine_memory_auto(void) {
    return least(zk_memory_machine(), zk_memory_group_limit("/sys/fs/cgroup", "/proc/self/cgroup"));
}
