/* In AVX2 and FMA. */
#define LANES_HASH zk_poseidon_hash_fma
#include "hash/lanes/poseidon.inc"
