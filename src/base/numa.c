#include "base/numa.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bitmap.h"
#include "base/bytes.h"

#define MAX_LIST_BYTES ((size_t)1 << 15) /* "0,2,4,...,8190" has 20,000 */

/* ---- topology ---- */

static bool read_number(unsigned *value, const char **at, unsigned limit) {
    const char *p = *at;
    unsigned v = 0;
    if (*p < '0' || *p > '9') return false;
    for (; *p >= '0' && *p <= '9'; p++)
        if ((v = 10 * v + (unsigned)(*p - '0')) >= limit) return false;
    *value = v;
    *at = p;
    return true;
}

/* "0-3,8,10-11\n"; an empty line is an empty list. Ascending, as the kernel writes it. */
static bool parse_list(uint64_t *bits, unsigned n_bits, const char *text) {
    unsigned next = 0, first, last;
    memset(bits, 0, n_bits / 8);
    if (*text == '\n' && !text[1]) return true;
    for (;;) {
        if (!read_number(&first, &text, n_bits) || first < next) return false;
        last = first;
        if (*text == '-' && (text++, !read_number(&last, &text, n_bits) || last < first)) return false;
        for (unsigned i = first; i <= last; i++) bits[i / 64] |= UINT64_C(1) << i % 64;
        next = last + 1;
        if (*text == '\n') text++;
        if (!*text) return true;
        if (*text++ != ',') return false;
    }
}

/* found is NULL: a file that is not there is an error. */
static cuzk_status read_list(uint64_t *bits, unsigned n_bits, bool *found, const char *path, cuzk_err *err) {
    char text[MAX_LIST_BYTES];
    FILE *in = fopen(path, "re");
    if (found) *found = in != NULL;
    if (!in) {
        if (found) return CUZK_OK;
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "%s: cannot be read (%s)", path, strerror(errno));
    }
    size_t n = fread(text, 1, sizeof text - 1, in);
    bool whole = n > 0 && feof(in) && !ferror(in);
    fclose(in);
    text[n] = 0;
    if (whole && strlen(text) == n && parse_list(bits, n_bits, text)) return CUZK_OK;
    return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found \"%.*s\", expected a list such as 0-3,8", path,
                   (int)zk_min_size(strcspn(text, "\n"), 60), text);
}

static unsigned count_bits(const uint64_t *words, size_t n) {
    unsigned count = 0;
    for (size_t i = 0; i < n; i++) count += (unsigned)__builtin_popcountll(words[i]);
    return count;
}

cuzk_status zk_numa_read(zk_numa_topology *t, const char *root, const zk_cpu_mask *allowed, cuzk_err *err) {
    enum { N_WORDS = ZK_NUMA_MAX_CPUS / 64 };
    char path[1024];
    uint64_t online[ZK_NUMA_MAX_IDS / 64], with_memory[ZK_NUMA_MAX_IDS / 64];
    zk_cpu_mask seen = {{0}}, cpus;
    bool memory_known = false;
    unsigned n = 0;

    t->n_nodes = 0;
    snprintf(path, sizeof path, "%s/online", root);
    ZK_TRY(read_list(online, ZK_NUMA_MAX_IDS, NULL, path, err));
    static const char *const memory_names[] = {"has_memory", "has_normal_memory"}; /* the second: kernels before 3.8 */
    for (int i = 0; i < 2 && !memory_known; i++) {
        snprintf(path, sizeof path, "%s/%s", root, memory_names[i]);
        ZK_TRY(read_list(with_memory, ZK_NUMA_MAX_IDS, &memory_known, path, err));
    }
    for (unsigned id = 0; id < ZK_NUMA_MAX_IDS; id++) {
        if (!zk_bitmap_get(online, id)) continue;
        snprintf(path, sizeof path, "%s/node%u/cpulist", root, id);
        ZK_TRY(read_list(cpus.words, ZK_NUMA_MAX_CPUS, NULL, path, err));
        for (unsigned i = 0; i < N_WORDS; i++) {
            if (cpus.words[i] & seen.words[i])
                return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: CPU %u belongs to an earlier node too", path,
                               64 * i + (unsigned)__builtin_ctzll(cpus.words[i] & seen.words[i]));
            seen.words[i] |= cpus.words[i];
            cpus.words[i] &= allowed->words[i];
        }
        unsigned n_cpus = count_bits(cpus.words, N_WORDS);
        if (!n_cpus) continue;
        if (n == ZK_NUMA_MAX_NODES)
            return ZK_FAIL(err, CUZK_UNSUPPORTED, "%s: more than %d nodes with CPUs", root, ZK_NUMA_MAX_NODES);
        t->nodes[n++] = (zk_numa_node){id, n_cpus, !memory_known || zk_bitmap_get(with_memory, id), cpus};
    }
    for (unsigned i = 0; i < N_WORDS; i++)
        if (allowed->words[i] & ~seen.words[i])
            return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: CPU %u belongs to no node", root,
                           64 * i + (unsigned)__builtin_ctzll(allowed->words[i] & ~seen.words[i]));
    t->n_nodes = n;
    return CUZK_OK;
}

bool zk_numa_affinity(zk_cpu_mask *allowed) {
    memset(allowed, 0, sizeof *allowed);
    /* The system call's own form: an array of words, however long the kernel's is if there is room. */
    return syscall(SYS_sched_getaffinity, 0, sizeof *allowed, allowed) > 0;
}

void zk_numa_spread(unsigned *node_of, unsigned n_threads, const zk_numa_topology *topology) {
    uint64_t n_on[ZK_NUMA_MAX_NODES] = {0};
    for (unsigned t = 0; t < n_threads; t++) {
        unsigned best = 0;
        for (unsigned k = 1; k < topology->n_nodes; k++) /* (n_on[k] + 1) / n_cpus of k is less */
            if ((n_on[k] + 1) * topology->nodes[best].n_cpus < (n_on[best] + 1) * topology->nodes[k].n_cpus) best = k;
        node_of[t] = best;
        n_on[best]++;
    }
}

const char *const zk_numa_mode_names[ZK_NUMA_N_MODES] = {"auto", "off", "interleave"};

zk_numa_mode zk_numa_mode_of(const char *text) {
    for (zk_numa_mode mode = 0; text && mode < ZK_NUMA_N_MODES; mode++)
        if (strcmp(text, zk_numa_mode_names[mode]) == 0) return mode;
    return ZK_NUMA_AUTO;
}

/* ---- of this process ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* held while `here` is made */
static struct {
    atomic_bool ready;
    zk_numa_mode mode;
    zk_numa_topology topology;
    unsigned n_memory_nodes; /* that are spread over; 0 unless there are two */
    uint64_t memory_nodes[ZK_NUMA_MAX_IDS / 64];
    atomic_uint_fast64_t n_bound, n_bind_refused, n_placed, n_place_refused;
} here;

/* Whether memory is placed by default, where it is touched first; nobody who says otherwise is overruled. */
static bool has_default_policy(void) {
    int policy = MPOL_DEFAULT;
    return syscall(SYS_get_mempolicy, &policy, NULL, 0ul, NULL, 0ul) != 0 || policy == MPOL_DEFAULT;
}

/* mode and topology are set. */
static void derive(void) {
    unsigned n = 0;
    memset(here.memory_nodes, 0, sizeof here.memory_nodes);
    for (unsigned k = 0; k < here.topology.n_nodes; k++) {
        const zk_numa_node *node = &here.topology.nodes[k];
        if (node->has_memory) here.memory_nodes[node->id / 64] |= UINT64_C(1) << node->id % 64;
        n += node->has_memory;
    }
    here.n_memory_nodes = n > 1 && has_default_policy() ? n : 0;
}

static void prepare(void) {
    if (atomic_load_explicit(&here.ready, memory_order_acquire)) return;
    pthread_mutex_lock(&mutex);
    if (!atomic_load(&here.ready)) {
        zk_cpu_mask allowed;
        here.mode = zk_numa_mode_of(getenv("CUZK_NUMA"));
        here.topology.n_nodes = 0;
        if (here.mode != ZK_NUMA_OFF && zk_numa_affinity(&allowed))
            (void)!zk_numa_read(&here.topology, "/sys/devices/system/node", &allowed, NULL); /* none: one node */
        derive();
        atomic_store_explicit(&here.ready, true, memory_order_release);
    }
    pthread_mutex_unlock(&mutex);
}

const zk_numa_topology *zk_numa_here(void) {
    prepare();
    return &here.topology;
}

unsigned zk_numa_n_nodes(void) {
    prepare();
    return here.topology.n_nodes > 1 ? here.topology.n_nodes : 1;
}

void zk_numa_bind(unsigned node) {
    prepare();
    if (here.mode != ZK_NUMA_AUTO || here.topology.n_nodes < 2 || node >= here.topology.n_nodes) return;
    const zk_cpu_mask *cpus = &here.topology.nodes[node].cpus;
    bool good = syscall(SYS_sched_setaffinity, 0, sizeof *cpus, cpus) == 0;
    atomic_fetch_add(good ? &here.n_bound : &here.n_bind_refused, 1);
}

void zk_numa_place(void *pages, size_t n_bytes, bool shared) {
    prepare();
    if (!here.n_memory_nodes || here.mode == ZK_NUMA_OFF || !(shared || here.mode == ZK_NUMA_INTERLEAVE)) return;
    /* The kernel reads one bit less than it is told. */
    bool good = syscall(SYS_mbind, pages, n_bytes, MPOL_INTERLEAVE, here.memory_nodes, ZK_NUMA_MAX_IDS + 1ul, 0u) == 0;
    atomic_fetch_add(good ? &here.n_placed : &here.n_place_refused, 1);
}

zk_numa_counts zk_numa_get_counts(void) {
    return (zk_numa_counts){atomic_load(&here.n_bound), atomic_load(&here.n_bind_refused), atomic_load(&here.n_placed),
                            atomic_load(&here.n_place_refused)};
}

void zk_numa_replace(const zk_numa_topology *topology, zk_numa_mode mode) {
    atomic_store(&here.ready, topology != NULL);
    atomic_store(&here.n_bound, 0);
    atomic_store(&here.n_bind_refused, 0);
    atomic_store(&here.n_placed, 0);
    atomic_store(&here.n_place_refused, 0);
    if (!topology) return;
    here.mode = mode;
    here.topology = *topology;
    if (mode == ZK_NUMA_OFF) here.topology.n_nodes = 0;
    derive();
}
