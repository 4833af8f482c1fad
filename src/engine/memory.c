/* How much memory the machine and its control groups allow. */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/cgroup.h"
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

static void take_limit(uint64_t *limit, const char *folder, const char *file) {
    char path[1400];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, file) < sizeof path)
        *limit = least(*limit, read_number(path));
}

static void take_limits(void *ctx, const char *folder, bool v2) {
    uint64_t *limit = ctx;
    if (!v2) take_limit(limit, folder, "memory.limit_in_bytes");
    if (v2) take_limit(limit, folder, "memory.max");
    if (v2) take_limit(limit, folder, "memory.high");
}

uint64_t zk_memory_group_limit(const char *cgroup_mount, const char *proc_cgroup) {
    uint64_t limit = 0;
    zk_cgroup_each(cgroup_mount, proc_cgroup, "memory", take_limits, &limit);
    return limit;
}

/* The line "NAME: N kB" of /proc/meminfo, in bytes. */
static uint64_t read_meminfo(const char *name) {
    FILE *in = fopen("/proc/meminfo", "re");
    if (!in) return 0;
    char line[256];
    size_t n_name = strlen(name);
    uint64_t kib = 0;
    while (fgets(line, sizeof line, in))
        if (strncmp(line, name, n_name) == 0 && sscanf(line + n_name, ": %" SCNu64, &kib) == 1) break;
    fclose(in);
    return kib * 1024;
}

uint64_t zk_memory_available(void) { return read_meminfo("MemAvailable"); }

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

/* What the allocator keeps for each thread cannot be set but in the environment of a program that starts. */
static const char tunable[] = "GLIBC_TUNABLES", no_cache[] = "glibc.malloc.tcache_count=0";

/* Takes our setting from the end of the environment's, so that workers do not inherit it. Returns whether it was there.
 */
static bool take_setting(char *set) {
    size_t n = strlen(set), n_own = sizeof no_cache - 1;
    if (n < n_own || strcmp(set + n - n_own, no_cache) != 0) return false;
    if (n == n_own) return unsetenv(tunable) == 0;
    set[n - n_own - 1] = 0; /* the colon */
    return true;
}

static void start_again(const char *set) {
    char value[1024], path[4096], line[65536];
    char *argv[1024];
    size_t argc = 0;
    int n = snprintf(value, sizeof value, "%s%s%s", set ? set : "", set && *set ? ":" : "", no_cache);
    if (n < 0 || (size_t)n >= sizeof value) return;
    ssize_t n_path = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n_path <= 0) return;
    path[n_path] = 0;
    FILE *in = fopen("/proc/self/cmdline", "re");
    if (!in) return;
    size_t n_line = fread(line, 1, sizeof line, in);
    fclose(in);
    if (!n_line || n_line == sizeof line || line[n_line - 1]) return;
    for (size_t at = 0; at < n_line; at += strlen(line + at) + 1) {
        if (argc + 1 == sizeof argv / sizeof *argv) return;
        argv[argc++] = line + at;
    }
    argv[argc] = NULL;
    if (setenv(tunable, value, 1) != 0) return;
    execv(path, argv);
    if (set)
        take_setting(getenv(tunable));
    else
        unsetenv(tunable);
}

void zk_engine_small_heap(void) {
    char *set = getenv(tunable);
    /* A setting of the user's stays; a program with rights of another user would lose ours, and start again for ever.
     */
    if (!(set && take_setting(set)) && !(set && strstr(set, "tcache_count")) && !getauxval(AT_SECURE)) start_again(set);
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 128 << 10); /* said, so that they do not grow with what is freed */
    mallopt(M_TRIM_THRESHOLD, ZK_HEAP_KEPT_BYTES);
    enum { PIECE_BYTES = 64 << 10, N_PIECES = ZK_HEAP_TAKEN_BYTES / PIECE_BYTES };
    void *pieces[N_PIECES];
    for (int i = 0; i < N_PIECES; i++)
        if ((pieces[i] = malloc(PIECE_BYTES))) memset(pieces[i], 0xff, PIECE_BYTES);
    for (int i = 0; i < N_PIECES; i++) free(pieces[i]);
}

void zk_memory_trim(void) {
    uint64_t live, unused;
    zk_memory_heap(&live, &unused);
    if (unused > ZK_HEAP_KEPT_BYTES) malloc_trim(0);
}

uint64_t zk_engine_memory_auto(void) {
    return least(read_meminfo("MemTotal"), zk_memory_group_limit("/sys/fs/cgroup", "/proc/self/cgroup"));
}
