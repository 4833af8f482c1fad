/* Sector updates (SnapDeals): a sealed sector without data becomes one with data. The rules, the vanilla proofs of a
 * request as flat arrays, their verification without a circuit, public inputs.
 *
 * With n nodes of 32 bytes a sector, L = log2 n, and G(x, y) the Poseidon hash of two values with the domain tag 2^40:
 * phi = G(comm_d_new, comm_r_old), rho(x) = G(phi, x), and node i of the new replica is old + data * rho(i >> (L - h)).
 * comm_r = Poseidon(comm_c, comm_r_last) for both replicas; comm_c is that of the original sealing.
 *
 * Vanilla bytes of one partition (bincode): comm_c; number of apex leaves u64, the leaves; number of challenges u64;
 * for each an opening (opening_bytes.h) in the old replica's tree, in the data tree, in the new replica's tree.
 */
#ifndef ZK_FILECOIN_UPDATE_H
#define ZK_FILECOIN_UPDATE_H

#include "base/pool.h"
#include "circuit/update.h"
#include "field/fr.h"
#include "filecoin/opening_bytes.h"

/* What a proof states. */
typedef struct zk_update_statement {
    zk_update_shape shape;
    uint32_t h; /* the registered proofs use one value a size */
    uint8_t comm_r_old[32], comm_d_new[32], comm_r_new[32];
} zk_update_statement;

/* With the h of registered proofs. BAD_INPUT: a commitment that is not a field element. */
cuzk_status zk_update_statement_init(zk_update_statement *statement, uint64_t sector_bytes,
                                     const uint8_t comm_r_old[32], const uint8_t comm_d_new[32],
                                     const uint8_t comm_r_new[32], cuzk_err *err) ZK_MUST_USE;

static inline uint32_t zk_update_n_partitions(const zk_update_shape *shape) { return 1u << shape->partition_bits; }

/* ---- rules ---- */

/* These fail for want of memory only. The commitments must be field elements. */
cuzk_status zk_update_phi(zk_fr *phi, const uint8_t comm_d_new[32], const uint8_t comm_r_old[32],
                          cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_update_rho(zk_fr *rho, const zk_fr *phi, uint64_t high, cuzk_err *err) ZK_MUST_USE;
/* The partition's challenged nodes, [n_challenges]: digest j is G(comm_r_new, partition n_digests + j), of whose bits
 * (least significant first) each challenge takes challenge_bits in turn; all lie in the partition's part of the sector.
 */
cuzk_status zk_update_challenges(uint64_t *challenges, const zk_update_shape *shape, const uint8_t comm_r_new[32],
                                 uint32_t partition, cuzk_err *err) ZK_MUST_USE;
/* The bit that stands for h: 1 << the first index in shape->hs; 0 if h is not among them. */
uint32_t zk_update_h_select(const zk_update_shape *shape, uint32_t h);
/* Public inputs of a partition's circuit, without the leading one. */
void zk_update_publics(uint8_t (*publics)[32], const zk_update_statement *statement, uint32_t partition);

/* ---- vanilla proofs ---- */

typedef enum zk_update_tree { ZK_UPDATE_OLD, ZK_UPDATE_DATA, ZK_UPDATE_NEW, ZK_UPDATE_N_TREES } zk_update_tree;

/* One partition. All nodes are field elements, little-endian, canonical; positions are below the arity of their level.
 */
typedef struct zk_update_proof {
    uint8_t comm_c[32];
    /* Apex leaves; then of each challenge, for each tree: root, leaf, siblings from the leaf up. */
    uint8_t (*nodes)[32];
    uint32_t *index; /* of each challenge, for each tree: positions from the leaf up */
} zk_update_proof;

/* Undefined contents. Free also what was only zeroed. */
cuzk_status zk_update_proof_alloc(zk_update_proof *proof, const zk_update_shape *shape, cuzk_err *err) ZK_MUST_USE;
void zk_update_proof_free(zk_update_proof *proof);

zk_opening_view zk_update_proof_path(const zk_update_proof *proof, const zk_update_shape *shape, uint32_t challenge,
                                     zk_update_tree tree);
uint32_t zk_update_tree_n_levels(const zk_update_shape *shape, zk_update_tree tree);
uint32_t zk_update_tree_arity(const zk_update_shape *shape, zk_update_tree tree, uint32_t level);

/* Bytes of a partition's vanilla proof. */
size_t zk_update_proof_n_bytes(const zk_update_shape *shape);
/* Allocates; free also after a failure. BAD_INPUT: a wrong count or tag, a value that is not canonical, a position out
 * of range, an end too early or too late. What only hashing can tell is the business of zk_update_verify. */
cuzk_status zk_update_proof_read(zk_update_proof *proof, const zk_update_shape *shape, const uint8_t *bytes, size_t n,
                                 cuzk_err *err) ZK_MUST_USE;
void zk_update_proof_write(uint8_t *bytes, const zk_update_shape *shape, const zk_update_proof *proof);

/* Private inputs of the partition's circuit, [n_hints][32]. The values are taken as they are: verify first. */
cuzk_status zk_update_proof_hints(uint8_t (*hints)[32], size_t n_hints, const zk_update_statement *statement,
                                  uint32_t partition, const zk_update_proof *proof, cuzk_err *err) ZK_MUST_USE;

/* ---- verification without a circuit ---- */

/* X(name, what it says). In the order in which they run. */
#define ZK_UPDATE_CHECKS(X)                                                                                            \
    X(comm_r_old_not_zero, "comm_r_old is not all zero")                                                               \
    X(comm_d_new_not_zero, "comm_d_new is not all zero")                                                               \
    X(comm_r_new_not_zero, "comm_r_new is not all zero")                                                               \
    X(comm_r_old, "comm_r_old is the hash of comm_c and the root of the first opening in the old replica")             \
    X(comm_r_new, "comm_r_new is the hash of comm_c and the root of the first opening in the new replica")             \
    X(old_index, "the path in the old replica leads from the challenged node")                                         \
    X(old_path, "the path in the old replica leads to its root")                                                       \
    X(old_root, "all paths in the old replica have one root")                                                          \
    X(data_index, "the path in the data leads from the challenged node")                                               \
    X(data_path, "the path in the data leads to its root")                                                             \
    X(data_root, "the root of a path in the data is comm_d_new")                                                       \
    X(new_index, "the path in the new replica leads from the challenged node")                                         \
    X(new_path, "the path in the new replica leads to its root")                                                       \
    X(new_root, "all paths in the new replica have one root")                                                          \
    X(apex_leaf, "the path in the data passes through the apex leaf of its place")                                     \
    X(apex_path, "the path in the data has the siblings that follow from the apex leaves")                             \
    X(encoding, "the new replica's node is the old one plus data times rho")

typedef enum zk_update_check {
    ZK_UPDATE_NONE, /* all hold */
#define X(name, text) ZK_UPDATE_CHECK_##name,
    ZK_UPDATE_CHECKS(X)
#undef X
} zk_update_check;

const char *zk_update_check_name(zk_update_check check);

#define ZK_UPDATE_NOWHERE UINT32_MAX

/* Numbers that do not apply are ZK_UPDATE_NOWHERE. */
typedef struct zk_update_failure {
    zk_update_check check;
    uint32_t partition, challenge;
    uint32_t level; /* of a path, 0 next to the leaf */
} zk_update_failure;

/* The checks of the statement alone, the first of all (..._not_zero), for who is about to have it proved: BAD_INPUT
 * "FIELD: found ..., expected ... (check NAME)". */
cuzk_status zk_update_require_statement(const zk_update_statement *statement, cuzk_err *err) ZK_MUST_USE;

/* proofs[n], of partitions first, first + 1 ... CHECK_FAILED: the first check that does not hold, by partition,
 * challenge and the order of the checks; failure (may be NULL) and the message say where. BAD_INPUT: no such partition,
 * or an h that is not allowed. Challenges are spread over the pool (NULL: this thread).
 *
 * Everything that the circuit demands is checked, and that what the circuit does not look at agrees. */
cuzk_status zk_update_verify(zk_update_failure *failure, const zk_update_statement *statement,
                             const zk_update_proof *proofs, uint32_t first, uint32_t n, zk_pool *pool,
                             cuzk_err *err) ZK_MUST_USE;

#endif
