/* WinningPoSt and WindowPoSt (fallback PoSt): the vanilla proofs of a request, read into flat arrays; their
 * verification without a circuit; challenges and public inputs.
 *
 * Vanilla bytes of one sector (bincode of FallbackPoStSectorProof): integers little-endian, no alignment, hashes 32
 * bytes. In order: sector number u64; comm_r; number of sector proofs u64, always 1; number of openings u64 (66 for
 * WinningPoSt, 10 for WindowPoSt); the openings (opening_bytes.h); comm_c; comm_r_last.
 */
#ifndef ZK_FILECOIN_POST_H
#define ZK_FILECOIN_POST_H

#include "base/pool.h"
#include "circuit/post.h"
#include "filecoin/registered.h"
#include "filecoin/request_head.h"

typedef uint8_t zk_post_node[32]; /* a field element, little-endian, canonical */

/* One sector's vanilla proof. */
typedef struct zk_post_vanilla {
    uint64_t sector;
    zk_post_node comm_r, comm_c, comm_r_last;
    zk_post_node *nodes; /* [openings][2 + n_siblings]: leaf, root, siblings from the leaf up */
    uint32_t *index;     /* [openings][n_nodes], each below the arity of its level */
} zk_post_vanilla;

/* A whole request. */
typedef struct zk_post {
    const zk_registered_post *type;
    zk_opening_shape tree;
    zk_post_node randomness;
    uint64_t first_position; /* of the first sector in the list of the whole window */
    uint32_t n_sectors;
    zk_post_vanilla *sectors; /* [n_sectors] */
    uint64_t *numbers;        /* [n_sectors] sector numbers */
} zk_post;

/* Of a request of this type: randomness, and how many sectors there are. BAD_INPUT as below. */
cuzk_status zk_post_check_head(const zk_registered_post *type, const zk_request_head *head, cuzk_err *err) ZK_MUST_USE;

/* Decodes. BAD_INPUT: randomness that is not a field element; no sector, or for WinningPoSt not one; with a partition
 * index other than 0, more sectors than a partition holds; vanilla bytes with a wrong count or tag, a hash that is not
 * canonical, a position out of range, an end too early or too late. Messages name the entry, the offset in it, what was
 * found and what is allowed. What only hashing can tell is the business of zk_post_verify. Entries that have been read
 * are told (`passed` may be NULL). */
cuzk_status zk_post_create(zk_post **post, const zk_registered_post *type, const zk_blob *randomness,
                           uint32_t partition_index, const zk_blob *vanilla, size_t n_vanilla, const zk_passed *passed,
                           cuzk_err *err) ZK_MUST_USE;
void zk_post_destroy(zk_post *post); /* NULL is fine */

/* Length of one sector's bytes. */
cuzk_status zk_post_vanilla_n_bytes(size_t *n_bytes, const zk_registered_post *type, cuzk_err *err) ZK_MUST_USE;

typedef struct zk_post_view {
    const uint8_t *leaf, *root;
    const uint8_t (*siblings)[32];
    const uint32_t *index;
} zk_post_view;
zk_post_view zk_post_vanilla_opening(const zk_post_vanilla *v, const zk_opening_shape *tree, uint32_t opening);

/* ---- challenges and public inputs ---- */

/* Leaves that a sector opens for indices first .. first + n - 1: u64le(SHA-256(randomness, sector, index)[0..8]) mod
 * n_leaves. */
void zk_post_leaf_challenges(uint64_t *challenges, uint32_t n, const uint8_t randomness[32], uint64_t sector,
                             uint64_t first, uint64_t n_leaves);
/* First index of the sector at a position of the whole window's list: by position before version 1.2, then always 0. */
uint64_t zk_post_first_index(const zk_registered_post *type, uint64_t position);
/* Which of n sectors has to prove for WinningPoSt. */
uint64_t zk_post_winning_sector(const uint8_t prover_id[32], const uint8_t randomness[32], uint64_t n_sectors);

/* Challenges of the sector at a place in the request: [type->n_challenges]. */
void zk_post_challenges(uint64_t *challenges, const zk_post *post, uint32_t place);

uint32_t zk_post_n_partitions(const zk_post *post);
uint32_t zk_post_n_publics(const zk_registered_post *type); /* of a partition */
void zk_post_publics(uint8_t (*publics)[32], const zk_post *post, uint32_t partition);
/* Private inputs of the circuit, [n_hints][32]. */
cuzk_status zk_post_partition_hints(uint8_t (*hints)[32], size_t n_hints, const zk_post *post, uint32_t partition,
                                    cuzk_err *err) ZK_MUST_USE;

/* ---- circuits by size ---- */

/* Shape of the circuit, and the identifier of its key files. Sizes that no registered type has (small ones for tests)
 * get two sectors a partition. */
cuzk_status zk_post_circuit(zk_post_shape *shape, char identifier[ZK_IDENTIFIER_MAX], zk_post_kind kind,
                            uint64_t sector_bytes, cuzk_err *err) ZK_MUST_USE;

/* ---- verification without a circuit ---- */

/* X(name, what it says). In the order in which one sector's checks run. */
#define ZK_POST_CHECKS(X)                                                                                              \
    X(sector_order, "sector numbers ascend, each occurs once")                                                         \
    X(comm_r, "comm_r is the hash of comm_c and comm_r_last")                                                          \
    X(opening_index, "the path leads from the challenged leaf")                                                        \
    X(opening_path, "the path leads to the opening's root")                                                            \
    X(comm_r_last, "the opening's root is comm_r_last")

typedef enum zk_post_check {
    ZK_POST_NONE, /* all hold */
#define X(name, text) ZK_POST_##name,
    ZK_POST_CHECKS(X)
#undef X
} zk_post_check;

const char *zk_post_check_name(zk_post_check check);

#define ZK_POST_NOWHERE UINT32_MAX

typedef struct zk_post_failure {
    zk_post_check check;
    uint32_t place;   /* of the sector in the request */
    uint32_t opening; /* or ZK_POST_NOWHERE */
    uint32_t level;   /* of the path, 0 next to the leaf, or ZK_POST_NOWHERE */
    uint64_t sector;
} zk_post_failure;

/* All sectors, all openings. CHECK_FAILED: the first check that does not hold, in the order of the request; failure
 * (may be NULL) and the message say where. Work is spread over the pool (NULL: this thread). */
cuzk_status zk_post_verify(zk_post_failure *failure, const zk_post *post, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

#endif
