/* Constants of Fp in limbs of 52 bits, for the code in lanes (field/fp52x8.h). For any CPU. */
#ifndef ZK_FIELD_FP52_H
#define ZK_FIELD_FP52_H

#include <stdint.h>

#define ZK_FP52_LIMBS 8

/* (m + 1) / 2^52 for m = p (-1/p mod 2^52), then p, then -1/p mod 2^52. In memory, of unknown value to the compiler: it
 * would keep moving immediates into vector registers instead, through the units that multiply. */
extern const uint64_t zk_fp52_reduction[17];
/* The same as numbers, in all lanes of a ymm. */
extern const double zk_fp52_reduction_doubles[17][4];

/* k p for k = 0..7, limb i in row i, ready for a permutation by k. */
extern const uint64_t zk_fp52_multiples[ZK_FP52_LIMBS][8];

/* 2^k p for k = 0..7, with limbs of up to 60 bits. */
extern const uint64_t zk_fp52_shifted[8][ZK_FP52_LIMBS];

#endif
