/* Merkle trees with few or many leaves that are not zero, for making inputs: roots and openings.
 *
 * Leaves that are not given are zero, so subtrees without a given leaf are the zero subtrees, which cost nothing. A
 * tree with g given leaves takes about 40 g bytes a level that is not shared.
 */
#ifndef ZK_FILECOIN_TREE_H
#define ZK_FILECOIN_TREE_H

#include "base/pool.h"
#include "filecoin/merkle.h"

#define ZK_TREE_MAX_LEVELS 40

typedef struct zk_tree_row {
    size_t n;
    uint64_t *index;     /* [n] ascending: number of the node in its row */
    uint8_t (*node)[32]; /* [n] */
    uint8_t zero[32];    /* every other node of the row */
} zk_tree_row;

typedef struct zk_tree {
    bool is_data;           /* binary, truncated SHA-256; else Poseidon by shape */
    zk_opening_shape shape; /* Poseidon trees */
    uint32_t n_levels;
    zk_tree_row row[ZK_TREE_MAX_LEVELS + 1]; /* 0: leaves, n_levels: the root */
} zk_tree;

/* index: [n] strictly ascending leaf numbers (NULL: 0 .. n-1), leaves: [n] field elements LE. Both are copied. */
cuzk_status zk_tree_build(zk_tree **tree, const zk_opening_shape *shape, const uint64_t *index,
                          const uint8_t (*leaves)[32], size_t n, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;
/* Binary tree of 2^n_levels leaves, as over the data of a sector. */
cuzk_status zk_data_tree_build(zk_tree **tree, uint32_t n_levels, const uint64_t *index, const uint8_t (*leaves)[32],
                               size_t n, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;
void zk_tree_destroy(zk_tree *tree); /* NULL is fine */

const uint8_t *zk_tree_top(const zk_tree *tree); /* the root, 32 bytes */
/* Node `index` of a row; rows count from the leaves. */
const uint8_t *zk_tree_node(const zk_tree *tree, uint32_t row, uint64_t index);
/* The opening of a leaf, from the leaf up: position in each node, and the other children in order. */
void zk_tree_open(uint32_t *index, uint8_t (*siblings)[32], const zk_tree *tree, uint64_t leaf);

#endif
