/* The circuit of one PoRep partition (StackedDrg): that the labels of the challenged nodes follow from their parents,
 * that the replica is data plus last label, and that all of it is committed to by comm_d, comm_c and comm_r_last.
 *
 * The circuit depends on the sector size only: it is the same for all PoRep versions and features.
 *
 * Inputs, in order: 1, replica_id, comm_d, comm_r, and for each challenge: leaf index in tree D, leaf indices of the 6
 * base and the 8 expander parents in tree C, challenge, leaf index in tree R, leaf index of the challenged column in
 * tree C (18 in all; the first, and the last three, are the challenge).
 */
#ifndef ZK_CIRCUIT_POREP_H
#define ZK_CIRCUIT_POREP_H

#include "circuit/opening.h"

struct zk_program;

#define ZK_POREP_DRG_PARENTS 6
#define ZK_POREP_EXP_PARENTS 8
#define ZK_POREP_PARENTS (ZK_POREP_DRG_PARENTS + ZK_POREP_EXP_PARENTS)
#define ZK_POREP_MAX_LAYERS 11
#define ZK_POREP_MAX_PATH 64

/* What the sector size decides. */
typedef struct zk_porep_shape {
    uint64_t sector_bytes;
    uint64_t n_leaves;     /* sector_bytes / 32 */
    uint32_t n_layers;     /* 2 or 11 */
    uint32_t n_challenges; /* per partition: 2 or 18 */
    zk_opening_shape tree; /* of trees C and R */
    uint32_t n_data_nodes; /* nodes (and siblings) on a path of tree D, which is binary */
} zk_porep_shape;

/* 2, 4, 16, 32 KiB, 8, 16, 512 MiB, 1, 32, 64 GiB. CUZK_UNSUPPORTED otherwise. */
cuzk_status zk_porep_shape_get(zk_porep_shape *shape, uint64_t sector_bytes, cuzk_err *err) ZK_MUST_USE;

/* An opening of a Merkle tree, nodes from the leaf up. All nodes are 32 bytes, canonical field elements, little-endian.
 */
typedef struct zk_porep_path {
    const uint32_t *index;         /* [nodes] position of the child in each node, < arity */
    const uint8_t (*siblings)[32]; /* of each node the other children in order (arity - 1), one node after the other */
} zk_porep_path;

typedef struct zk_porep_column {
    const uint8_t (*labels)[32]; /* [n_layers] */
    zk_porep_path path;          /* of the column's hash in tree C: tree.n_nodes, tree.n_siblings */
} zk_porep_column;

typedef struct zk_porep_challenge {
    uint64_t challenge;                        /* index of the challenged node */
    const uint8_t *data_leaf;                  /* [32] */
    zk_porep_path data_path;                   /* in tree D: n_data_nodes */
    zk_porep_column parents[ZK_POREP_PARENTS]; /* 6 base parents, then 8 expander parents */
    zk_porep_path replica_path;                /* of the encoded node in tree R */
    zk_porep_path column_path;                 /* of the challenged node's column hash in tree C */
} zk_porep_challenge;

typedef struct zk_porep_partition {
    const uint8_t *replica_id, *comm_d, *comm_r, *comm_c, *comm_r_last; /* [32] each */
    const zk_porep_challenge *challenges;                               /* [n_challenges] */
} zk_porep_partition;

/* Builds the program. */
cuzk_status zk_porep_program(struct zk_program **program, uint64_t sector_bytes, cuzk_err *err) ZK_MUST_USE;

/* Writes the program's hints for one partition; n_hints must be the program's. The values are copied, not checked. */
cuzk_status zk_porep_hints(uint8_t (*hints)[32], size_t n_hints, uint64_t sector_bytes,
                           const zk_porep_partition *partition, cuzk_err *err) ZK_MUST_USE;

#endif
