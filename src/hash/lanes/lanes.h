/* Poseidon, eight hashes at a time in the lanes of vectors. */
#ifndef ZK_HASH_LANES_H
#define ZK_HASH_LANES_H

#include "field/fr52.h"
#include "hash/poseidon.h"

#define ZK_POSEIDON_LANES_MAX_ARITY 11
#define ZK_POSEIDON_LANES 8

typedef struct zk_poseidon_tables {
    unsigned width, full_rounds, partial_rounds;
    zk_fr52 to_lanes, from_lanes; /* factors between v 2^256 and v 2^260 */
    zk_fr52 tag;
    const zk_fr52 *mds, *compressed, *pre_sparse, *v_rest, *fast; /* as in zk_poseidon_params */
} zk_poseidon_tables;

/* The constants of an instance of arity <= ZK_POSEIDON_LANES_MAX_ARITY in the form that lanes take; made on the first
 * call, any thread; live until exit. NULL: out of memory. */
const zk_poseidon_tables *zk_poseidon_lanes_tables(const zk_poseidon_params *params);

/* zk_poseidon_hash of ZK_POSEIDON_LANES inputs: in[k] is the first of `arity` elements of hash k, out[k] its result. */
typedef void (*zk_poseidon_lanes_fn)(zk_fr out[ZK_POSEIDON_LANES], const zk_poseidon_tables *tables,
                                     const zk_fr *const in[ZK_POSEIDON_LANES]);

typedef struct zk_poseidon_lanes {
    const char *name; /* as CUZK_CPU has it */
    size_t least;     /* so many hashes one by one cost as much as eight in lanes */
    zk_poseidon_lanes_fn hash;
} zk_poseidon_lanes;

/* The fastest that the CPU, the system and CUZK_CPU allow; NULL: none, or not for this arity. */
const zk_poseidon_lanes *zk_poseidon_lanes_of(unsigned arity);

/* Of a build for x86-64. */
void zk_poseidon_hash_ifma(zk_fr out[ZK_POSEIDON_LANES], const zk_poseidon_tables *tables,
                           const zk_fr *const in[ZK_POSEIDON_LANES]);
void zk_poseidon_hash_fma(zk_fr out[ZK_POSEIDON_LANES], const zk_poseidon_tables *tables,
                          const zk_fr *const in[ZK_POSEIDON_LANES]);

#endif
