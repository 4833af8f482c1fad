/* Openings of Merkle trees. Nodes are 32 bytes; a path lists from the leaf up, for each node, the position of the child
 * and the other children in order. */
#ifndef ZK_FILECOIN_MERKLE_H
#define ZK_FILECOIN_MERKLE_H

#include "circuit/opening.h"

/* ---- trees over replicas and columns: every level hashes with the Poseidon instance of its arity ---- */

/* The root that leaf and path lead to. Indices must be below the arities. CUZK_BAD_INPUT for a node that is not a field
 * element (not below r). */
cuzk_status zk_tree_root(uint8_t root[32], const zk_opening_shape *shape, const uint8_t leaf[32], const uint32_t *index,
                         const uint8_t (*siblings)[32], cuzk_err *err) ZK_MUST_USE;

/* Many paths in trees of one shape, with hashes of several paths side by side. `known`: root is what zk_tree_root
 * gives. Not known, without further word: a node that is no field element, an index that is not below the arity, no
 * memory. */
typedef struct zk_tree_path {
    const uint8_t *leaf;
    const uint32_t *index;
    const uint8_t (*siblings)[32];
    bool known;
    uint8_t root[32];
} zk_tree_path;
void zk_tree_roots(zk_tree_path *paths, size_t n, const zk_opening_shape *shape);
/* The root of a path after zk_tree_roots; one that is not known is left to zk_tree_root, which says why. */
cuzk_status zk_tree_path_root(uint8_t root[32], const zk_tree_path *path, const zk_opening_shape *shape,
                              cuzk_err *err) ZK_MUST_USE;

/* Position of the node that leaf number `leaf` passes through at a level, among its siblings. */
uint32_t zk_tree_index(const zk_opening_shape *shape, uint64_t leaf, uint32_t level);
/* comm_r = Poseidon(comm_c, comm_r_last). CUZK_BAD_INPUT: one of them is not a field element. */
cuzk_status zk_comm_r(uint8_t comm_r[32], const uint8_t comm_c[32], const uint8_t comm_r_last[32],
                      cuzk_err *err) ZK_MUST_USE;

/* ---- trees over data ---- */

/* Binary tree of truncated SHA-256, n_levels levels; any 32-byte values. */
void zk_data_tree_root(uint8_t root[32], uint32_t n_levels, const uint8_t leaf[32], const uint32_t *index,
                       const uint8_t (*siblings)[32]);

#endif
