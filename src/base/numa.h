/* Nodes: CPUs and the memory next to them, and what follows for threads and for large memory.
 *
 * Where the CPUs that this process may use belong to more than one node, the workers of a pool are spread over the
 * nodes in proportion to their CPUs and bound to the CPUs of their node (what a worker touches first then stays beside
 * it), and memory that all of them read lies page by page on all nodes in turn. On one node, or where the system tells
 * nothing that makes sense, nothing at all is done; a kernel that refuses (containers, seccomp) changes nothing but a
 * counter.
 *
 * CUZK_NUMA=auto (unset, or any other text) does that; `interleave` spreads all memory of zk_mem_alloc over the nodes
 * and binds no thread, as numactl --interleave would; `off` does nothing. */
#ifndef ZK_BASE_NUMA_H
#define ZK_BASE_NUMA_H

#include "base/status.h"

#define ZK_NUMA_MAX_CPUS 8192 /* what a kernel can be built for; nodes that it numbers are fewer than 1024 */
#define ZK_NUMA_MAX_IDS 1024
#define ZK_NUMA_MAX_NODES 64 /* with CPUs of ours; more are treated as none */

typedef struct zk_cpu_mask {
    uint64_t words[ZK_NUMA_MAX_CPUS / 64];
} zk_cpu_mask;

typedef struct zk_numa_node {
    unsigned id, n_cpus; /* the kernel's number, which need not be consecutive; at least one CPU */
    bool has_memory;
    zk_cpu_mask cpus;
} zk_numa_node;

/* The nodes that have CPUs of ours, by ascending id. */
typedef struct zk_numa_topology {
    unsigned n_nodes;
    zk_numa_node nodes[ZK_NUMA_MAX_NODES];
} zk_numa_topology;

/* Reads `root`, which stands for /sys/devices/system/node, and keeps of each node the CPUs in `allowed`. Nodes without
 * any (memory alone, or all of it somebody else's) are left out. CUZK_UNSUPPORTED if a list
 * is missing (of the nodes, of the CPUs of one), or more than ZK_NUMA_MAX_NODES are left; CUZK_BAD_INPUT, naming the
 * file, for a list that is malformed, a CPU in two nodes, or an allowed one in none. On failure n_nodes is 0. */
cuzk_status zk_numa_read(zk_numa_topology *topology, const char *root, const zk_cpu_mask *allowed,
                         cuzk_err *err) ZK_MUST_USE;

/* The mask of the calling thread, in which the cpuset of its control group is contained already; false if the kernel
 * does not tell, or has more CPUs than fit. */
bool zk_numa_affinity(zk_cpu_mask *allowed);

/* node_of[t] is the index into topology->nodes of thread t of n_threads: always the node that has the fewest threads a
 * CPU so far, the first of equals. With as many threads as CPUs each node gets as many as it has CPUs. n_nodes >= 1. */
void zk_numa_spread(unsigned *node_of, unsigned n_threads, const zk_numa_topology *topology);

typedef enum zk_numa_mode { ZK_NUMA_AUTO, ZK_NUMA_OFF, ZK_NUMA_INTERLEAVE, ZK_NUMA_N_MODES } zk_numa_mode;
extern const char *const zk_numa_mode_names[ZK_NUMA_N_MODES];
zk_numa_mode zk_numa_mode_of(const char *text); /* of CUZK_NUMA; NULL: not set */

/* ---- of this process: read when first asked for, from any thread ---- */

const zk_numa_topology *zk_numa_here(void); /* n_nodes 0: unknown, or off */
/* How many nodes are told apart: 1 where nothing is done. */
unsigned zk_numa_n_nodes(void);
/* Binds the calling thread to nodes[node] of zk_numa_here(), if threads are to be bound. */
void zk_numa_bind(unsigned node);
/* Before the first touch of fresh pages (page-aligned): spreads them, if the mode says so for memory that is shared (or
 * not), and the process was not started under a memory policy of its own. */
void zk_numa_place(void *pages, size_t n_bytes, bool shared);

/* What was asked of the kernel. */
typedef struct zk_numa_counts {
    uint64_t n_bound, n_bind_refused, n_placed, n_place_refused;
} zk_numa_counts;
zk_numa_counts zk_numa_get_counts(void);

/* For tests, while no other thread runs: puts another topology and mode in place (NULL: back to this machine and the
 * environment, read again), and counts from zero. */
void zk_numa_replace(const zk_numa_topology *topology, zk_numa_mode mode);

#endif
