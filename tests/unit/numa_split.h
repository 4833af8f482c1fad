/* Masks of CPUs, and this machine taken for one of two nodes. */
#ifndef NUMA_SPLIT_H
#define NUMA_SPLIT_H

#include "base/numa.h"
#include "zk_test.h"

static inline void mask_set(zk_cpu_mask *mask, unsigned first, unsigned last) {
    for (unsigned i = first; i <= last; i++) mask->words[i / 64] |= UINT64_C(1) << i % 64;
}

static inline zk_cpu_mask mask_of(unsigned first, unsigned last) {
    zk_cpu_mask mask = {{0}};
    mask_set(&mask, first, last);
    return mask;
}

/* Our CPUs as two nodes: the first, and the others (which may be none: then a CPU that no machine has). */
static inline void split_here(zk_numa_topology *t, unsigned id0, unsigned id1) {
    zk_cpu_mask all;
    unsigned n = 0;
    ZK_CHECK(zk_numa_affinity(&all));
    *t = (zk_numa_topology){.n_nodes = 2, .nodes = {{.id = id0, .has_memory = true}, {.id = id1, .has_memory = true}}};
    for (unsigned i = 0; i < ZK_NUMA_MAX_CPUS; i++)
        if (all.words[i / 64] >> i % 64 & 1) {
            mask_set(&t->nodes[n > 0].cpus, i, i);
            t->nodes[n > 0].n_cpus++;
            n++;
        }
    if (n == 1) t->nodes[1] = (zk_numa_node){id1, 1, true, mask_of(ZK_NUMA_MAX_CPUS - 1, ZK_NUMA_MAX_CPUS - 1)};
}

#endif
