/* Miller loops in the lanes of AVX-512 IFMA, for pairing.c. Only if zk_cpu_can_ifma(). */
#ifndef ZK_PAIRING_LANES_H
#define ZK_PAIRING_LANES_H

#include "pairing/pairing.h"

#define ZK_MILLER_LANES_MOST 64 /* pairs that share their squarings */

/* The product over n pairs, 0 < n <= ZK_MILLER_LANES_MOST, none with an infinity; equal to that of the scalar code
 * after the final exponentiation. */
void zk_pairing_miller_ifma(zk_fp12 *r, const zk_g1_affine *const *p, const zk_g2_affine *const *q, size_t n);

#endif
