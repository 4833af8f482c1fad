/* Curve arithmetic on eight points at a time (AVX-512 IFMA), for curve/many.c. Only if zk_cpu_has_ifma(). */
#ifndef ZK_CURVE_IFMA_LANES_H
#define ZK_CURVE_IFMA_LANES_H

#include "curve/curve.h"

/* a[k] = a[k]^e; e: six limbs, not zero. */
void zk_fp_pow_lanes(zk_fp a[8], const uint64_t e[6]);

/* Bit k: point k, on the curve and not infinity, is in the subgroup. Lanes that met an exceptional addition (points of
 * small order do) are set in *undecided and must be asked of the scalar code. */
unsigned zk_g1_subgroup_lanes(unsigned *undecided, const zk_g1_affine p[8]);
unsigned zk_g2_subgroup_lanes(unsigned *undecided, const zk_g2_affine p[8]);

/* Eight uncompressed encodings, one after another. Bit k: it is of a point on the curve other than infinity, which is
 * r[k]; the rest of r is undefined, and the scalar code must say why. */
unsigned zk_g1_deserialize_lanes(zk_g1_affine r[8], const uint8_t *bytes);
unsigned zk_g2_deserialize_lanes(zk_g2_affine r[8], const uint8_t *bytes);

/* r[k] = [2^64 + z[k][0] - x^2 z[k][1]] p[k] with x the parameter of the curve, for points of G1 other than infinity.
 */
void zk_g1_mul_pairs_lanes(zk_g1 r[8], const zk_g1_affine p[8], const uint64_t z[8][2]);

#endif
