/* Openings of Merkle trees in the vanilla proofs of PoSt and sector updates (bincode).
 *
 * A path is a count u64 of nodes, and for each from the bottom up: the number u64 of siblings, the siblings, the
 * position u64 of the running node among them. An opening begins with a tag u32: 0 for a tree of one kind of node:
 * root, leaf, path; 1 for one with a sub node, 2 with a sub and a top node: base path, sub path, top path where there
 * is one, root, leaf.
 */
#ifndef ZK_FILECOIN_OPENING_BYTES_H
#define ZK_FILECOIN_OPENING_BYTES_H

#include "circuit/opening.h"
#include "filecoin/bincode.h"

/* The paths that an opening consists of, from the leaf up; all nodes of one have the same arity. */
typedef struct zk_opening_parts {
    uint32_t n; /* 1 to 3 */
    struct {
        uint32_t n_levels, arity;
    } part[3];
} zk_opening_parts;

zk_opening_parts zk_opening_parts_of(const zk_opening_shape *shape); /* trees over replicas */
zk_opening_parts zk_opening_parts_binary(uint32_t n_levels);         /* trees over data */

/* Bytes of one opening. */
size_t zk_opening_n_bytes(const zk_opening_parts *parts);

/* An opening elsewhere in memory: siblings of all levels from the leaf up, index[levels] below the arities. */
typedef struct zk_opening_view {
    uint8_t *root, *leaf;    /* [32] */
    uint8_t (*siblings)[32]; /* [sum of arity - 1 over the levels] */
    uint32_t *index;         /* [levels] */
} zk_opening_view;

/* Fills what the view points to. BAD_INPUT as the functions of bincode.h. */
cuzk_status zk_opening_read(const zk_opening_view *to, zk_bincode *r, const zk_opening_parts *parts) ZK_MUST_USE;
/* Writes zk_opening_n_bytes(parts) bytes and returns the place behind them. */
uint8_t *zk_opening_write(uint8_t *to, const zk_opening_parts *parts, const zk_opening_view *from);

#endif
