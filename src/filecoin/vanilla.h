/* Verification of a C1 without a circuit: all that the circuit would demand, and what only the document repeats. */
#ifndef ZK_FILECOIN_VANILLA_H
#define ZK_FILECOIN_VANILLA_H

#include "base/pool.h"
#include "filecoin/c1.h"

/* X(name, what it says). In the order in which one challenge's checks run. */
#define ZK_VANILLA_CHECKS(X)                                                                                           \
    X(comm_d_not_zero, "comm_d is not all zero")                                                                       \
    X(comm_r_not_zero, "comm_r is not all zero")                                                                       \
    X(seed_not_zero, "the seed is not all zero")                                                                       \
    X(replica_id, "the replica id follows from prover, sector number, ticket and comm_d")                              \
    X(comm_r, "comm_r is the hash of comm_c and comm_r_last, the roots of the first challenge's openings")             \
    X(data_index, "the path in the data tree leads from the challenged leaf")                                          \
    X(data_path, "the path in the data tree leads to its root")                                                        \
    X(comm_d, "the root of the data tree is comm_d")                                                                   \
    X(replica_index, "the path in the replica tree leads from the challenged leaf")                                    \
    X(replica_path, "the path in the replica tree leads to its root")                                                  \
    X(comm_r_last, "all paths in the replica tree have one root")                                                      \
    X(column_node, "a column carries the number of its node")                                                          \
    X(column_index, "the path of a column leads from its node")                                                        \
    X(column_leaf, "the leaf of a column's path is the hash of the column")                                            \
    X(column_path, "the path of a column leads to its root")                                                           \
    X(comm_c, "all paths of columns have one root")                                                                    \
    X(labeling_layer, "a labeling proof carries the number of its layer")                                              \
    X(labeling_node, "a labeling proof carries the number of the challenged node")                                     \
    X(labeling_repeat, "the 37 parents of a labeling proof repeat in a cycle")                                         \
    X(labeling_parents, "the parents of a labeling proof are the labels in the parents' columns")                      \
    X(label, "the label of the challenged node is the hash of its parents' labels")                                    \
    X(encoding_layer, "the encoding proof carries the number of the last layer")                                       \
    X(encoding_node, "the encoding proof carries the number of the challenged node")                                   \
    X(encoding_repeat, "the 37 parents of the encoding proof repeat in a cycle")                                       \
    X(encoding_parents, "the parents of the encoding proof are the labels in the parents' columns")                    \
    X(encoding, "the replica's leaf is the data's leaf plus the label of the last layer")

typedef enum zk_vanilla_check {
    ZK_VANILLA_NONE, /* all hold */
#define X(name, text) ZK_VANILLA_##name,
    ZK_VANILLA_CHECKS(X)
#undef X
} zk_vanilla_check;

const char *zk_vanilla_check_name(zk_vanilla_check check);

#define ZK_VANILLA_NOWHERE UINT32_MAX

/* The first check that does not hold, by partition, challenge and the order of the checks. Numbers that do not apply
 * are ZK_VANILLA_NOWHERE. */
typedef struct zk_vanilla_failure {
    zk_vanilla_check check;
    uint32_t partition, challenge;
    uint32_t column;  /* 0: the challenged node's; 1 .. 6 base parents, 7 .. 14 expander parents */
    uint32_t layer;   /* from 1 */
    uint32_t level;   /* of a path, 0 next to the leaf */
    uint32_t element; /* among repeated parents */
} zk_vanilla_failure;

/* CUZK_OK if all checks hold; CUZK_CHECK_FAILED with the message naming check, place, found and expected; failure (may
 * be NULL) says the same in numbers. Challenges are spread over the pool (NULL: this thread). replica_id is not
 * checked here. */
cuzk_status zk_c1_verify(zk_vanilla_failure *failure, const zk_c1 *c1, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

/* The check replica_id, for who knows the prover and the sector. */
cuzk_status zk_c1_verify_replica_id(const zk_c1 *c1, const uint8_t prover_id[32], uint64_t sector_number,
                                    cuzk_err *err) ZK_MUST_USE;

/* ---- Public inputs of the circuits ---- */

/* What a PoRep proof states. */
typedef struct zk_porep_statement {
    const zk_registered_seal *seal;
    uint8_t replica_id[32], comm_d[32], comm_r[32], seed[32];
} zk_porep_statement;

void zk_c1_statement(zk_porep_statement *statement, const zk_c1 *c1);

/* 3 + 18 challenges; the leading constant one is not counted. */
uint32_t zk_porep_n_public_inputs(const zk_registered_seal *seal);
/* Inputs of one partition, field elements little-endian: replica id, comm_d, comm_r, then for each challenge:
 * challenge, 6 base and 8 expander parents, and the challenge three times. */
void zk_porep_public_inputs(uint8_t (*inputs)[32], const zk_porep_statement *statement, uint32_t partition);

#endif
