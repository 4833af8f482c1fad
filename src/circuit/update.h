/* The circuit of one partition of a sector update (SnapDeals, "empty sector update"): that the new replica's challenged
 * nodes are the old replica's plus data times rho, and that all three are committed to by comm_r_old, comm_d_new and
 * comm_r_new.
 *
 * The circuit depends on the sector size only. The challenges are derived inside it, from comm_r_new and the number of
 * the partition.
 *
 * Inputs, in order: 1, partition + h_select * n_partitions, comm_r_old, comm_d_new, comm_r_new.
 */
#ifndef ZK_CIRCUIT_UPDATE_H
#define ZK_CIRCUIT_UPDATE_H

#include "circuit/opening.h"

struct zk_program;

#define ZK_UPDATE_N_PUBLICS 4 /* without the leading one */
#define ZK_UPDATE_N_HS 6      /* values of h that the circuit knows */
#define ZK_UPDATE_MAX_CHALLENGES 86
#define ZK_UPDATE_MAX_NODE_BITS 31
/* Domain tag of the Poseidon hash of two values that derives phi, rho and challenges: 2^40. */
#define ZK_UPDATE_RANDOMNESS_TAG (UINT64_C(1) << 40)

/* What the sector size decides. The data tree is binary, 2^node_bits leaves. A partition has its own
 * 2^partition_bits-th of the sector; the subtree above it ends, 2^apex_bits nodes wide, in its apex leaves, apex_height
 * levels above the sector's leaves. */
typedef struct zk_update_shape {
    uint64_t sector_bytes;
    zk_opening_shape tree; /* over a replica */
    uint32_t node_bits, partition_bits, apex_bits, apex_height;
    uint32_t n_challenges;          /* of a partition */
    uint32_t n_digests;             /* of a partition, from which its challenges are cut */
    uint32_t challenge_bits;        /* taken from a digest for each challenge */
    uint32_t challenges_per_digest; /* the last digest may serve fewer */
    uint32_t hs[ZK_UPDATE_N_HS]; /* the choices of h, the number of high bits of a node's number that rho depends on */
} zk_update_shape;

/* 2, 4, 16, 32 KiB, 8, 16, 512 MiB, 32, 64 GiB. UNSUPPORTED otherwise. */
cuzk_status zk_update_shape_get(zk_update_shape *shape, uint64_t sector_bytes, cuzk_err *err) ZK_MUST_USE;

/* All values are 32 bytes, little-endian, field elements. Siblings run from the leaf up. */
typedef struct zk_update_opening {
    const uint8_t *old_leaf, *data_leaf;
    const uint8_t (*old_siblings)[32], (*new_siblings)[32]; /* [tree.n_siblings] */
    const uint8_t (*data_siblings)[32];                     /* [apex_height] */
} zk_update_opening;

typedef struct zk_update_partition {
    uint64_t k_and_h_select;                                   /* partition + (1 << index in hs) * n_partitions */
    const uint8_t *comm_r_old, *comm_d_new, *comm_r_new;       /* [32] each */
    const uint8_t *comm_c, *comm_r_last_old, *comm_r_last_new; /* [32] each */
    const uint8_t (*apex_leaves)[32];                          /* [2^apex_bits] */
    const uint8_t (*partition_path)[32];                       /* [partition_bits] siblings above the apex tree */
    const zk_update_opening *openings;                         /* [n_challenges] */
} zk_update_partition;

/* Builds the program. */
cuzk_status zk_update_program(struct zk_program **program, uint64_t sector_bytes, cuzk_err *err) ZK_MUST_USE;

/* Writes the program's hints for one partition; n_hints must be the program's. The values are copied, not checked. */
cuzk_status zk_update_hints(uint8_t (*hints)[32], size_t n_hints, uint64_t sector_bytes,
                            const zk_update_partition *partition, cuzk_err *err) ZK_MUST_USE;

#endif
