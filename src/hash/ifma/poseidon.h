/* Poseidon in AVX-512 IFMA, eight hashes at a time. Only where zk_cpu_can_ifma() holds. */
#ifndef ZK_HASH_IFMA_POSEIDON_H
#define ZK_HASH_IFMA_POSEIDON_H

#include "hash/poseidon.h"

#define ZK_POSEIDON_IFMA_MAX_ARITY 11
#define ZK_POSEIDON_LANES 8

/* The constants of an instance of arity <= ZK_POSEIDON_IFMA_MAX_ARITY in the form that lanes take; made on the first
 * call, any thread; live until exit. NULL: out of memory. */
const struct zk_poseidon_tables *zk_poseidon_ifma_tables(const zk_poseidon_params *params);

/* zk_poseidon_hash of ZK_POSEIDON_LANES inputs: in[k] is the first of `arity` elements of hash k, out[k] its result. */
void zk_poseidon_ifma_hash(zk_fr out[ZK_POSEIDON_LANES], const struct zk_poseidon_tables *tables,
                           const zk_fr *const in[ZK_POSEIDON_LANES]);

#endif
