/* In AVX-512 and IFMA. */
#define LANES_HASH zk_poseidon_hash_ifma
#include "hash/lanes/poseidon.inc"
