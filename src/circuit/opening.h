/* Openings of the trees over replicas and columns: the part that all proofs of Filecoin share. */
#ifndef ZK_CIRCUIT_OPENING_H
#define ZK_CIRCUIT_OPENING_H

#include "circuit/synth.h"

/* Base trees of arity 8, whose roots are joined by one node of arity `sub_arity`, whose results are joined by one node
 * of arity `top_arity` (0: no such node). */
typedef struct zk_opening_shape {
    uint32_t n_base; /* nodes of arity 8 on a path */
    uint32_t sub_arity, top_arity;
    uint32_t n_nodes;    /* all nodes on a path */
    uint32_t n_siblings; /* all siblings on a path */
} zk_opening_shape;

#define ZK_OPENING_MAX_NODES 12

/* 2, 4, 16, 32 KiB, 8, 16, 512 MiB, 1, 32, 64 GiB. CUZK_UNSUPPORTED otherwise. */
cuzk_status zk_opening_shape_get(zk_opening_shape *shape, uint64_t sector_bytes, cuzk_err *err) ZK_MUST_USE;

/* Children of the node at a level, from 0 next to the leaf. */
static inline uint32_t zk_opening_arity(const zk_opening_shape *shape, uint32_t level) {
    return level < shape->n_base ? 8 : level == shape->n_base ? shape->sub_arity : shape->top_arity;
}

/* Opens `leaf` under `root`; the leaf's index becomes a public input. index[n_nodes]: position of the child in each
 * node, from the leaf up; siblings[n_siblings]: of each node the other children in order. Both may be NULL while
 * building. */
void zk_synth_opening(zk_synth *s, const zk_opening_shape *shape, const uint32_t *index, const uint8_t (*siblings)[32],
                      zk_cell root, zk_cell leaf);

#endif
