/* Which nodes a PoRep opens, and the identities that go into it. */
#ifndef ZK_FILECOIN_CHALLENGES_H
#define ZK_FILECOIN_CHALLENGES_H

#include "filecoin/registered.h"

/* Miner number as unsigned LEB128, zero-padded. */
void zk_prover_id(uint8_t prover_id[32], uint64_t miner);
/* The miner number; false if the bytes are not such an id (not canonical LEB128 of a u64, or not zero-padded). */
bool zk_prover_id_miner(uint64_t *miner, const uint8_t prover_id[32]);

void zk_replica_id(uint8_t replica_id[32], const uint8_t prover_id[32], uint64_t sector_number,
                   const uint8_t ticket[32], const uint8_t comm_d[32], const uint8_t porep_id[32]);

/* Challenge j of the PoRep (counted over all partitions; partition k of c challenges has j = k c .. k c + c - 1), in
 * 1 .. n_nodes - 1. seed: not used by the non-interactive form; comm_r: not by the interactive one. */
typedef struct zk_challenge_set {
    zk_porep_feature feature;
    uint64_t n_nodes;
    uint8_t replica_id[32], comm_r[32], seed[32];
    uint8_t generation_key[32], selection_key[32]; /* synthetic */
} zk_challenge_set;

void zk_challenge_set_init(zk_challenge_set *set, zk_porep_feature feature, uint64_t n_nodes,
                           const uint8_t replica_id[32], const uint8_t comm_r[32], const uint8_t seed[32]);
void zk_challenge_set_get(uint64_t *challenges, uint32_t first, uint32_t n, const zk_challenge_set *set);

/* Synthetic form: number of elements, and element `index` of the set, which depends on replica_id and comm_r only. */
uint64_t zk_synthetic_set_size(const zk_challenge_set *set);
uint64_t zk_synthetic_set_element(const zk_challenge_set *set, uint64_t index);

#endif
