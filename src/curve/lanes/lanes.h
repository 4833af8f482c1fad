/* Curve arithmetic on eight points at a time, for curve/many.c: one table for each instruction set that this CPU may
 * have.
 */
#ifndef ZK_CURVE_LANES_H
#define ZK_CURVE_LANES_H

#include "curve/curve.h"

typedef struct zk_curve_lanes {
    size_t least; /* so many points in scalar code cost as much as a vector of eight */

    /* a[k] = a[k]^e; e: six limbs, not zero. */
    void (*fp_pow)(zk_fp a[8], const uint64_t e[6]);

    /* Bit k: point k, on the curve and not infinity, is in the subgroup. Lanes that met an exceptional addition (points
     * of small order do) are set in *undecided and must be asked of the scalar code. */
    unsigned (*g1_subgroup)(unsigned *undecided, const zk_g1_affine p[8]);
    unsigned (*g2_subgroup)(unsigned *undecided, const zk_g2_affine p[8]);

    /* Eight uncompressed encodings, one after another. Bit k: it is of a point on the curve other than infinity, which
     * is r[k]; the rest of r is undefined, and the scalar code must say why. */
    unsigned (*g1_deserialize)(zk_g1_affine r[8], const uint8_t *bytes);
    unsigned (*g2_deserialize)(zk_g2_affine r[8], const uint8_t *bytes);

    /* r[k] = [2^64 + z[k][0] - x^2 z[k][1]] p[k] with x the parameter of the curve, for points of G1 other than
     * infinity. */
    void (*g1_mul_pairs)(zk_g1 r[8], const zk_g1_affine p[8], const uint64_t z[8][2]);
} zk_curve_lanes;

/* The fastest that the CPU, the system and CUZK_CPU allow; NULL: none. */
const zk_curve_lanes *zk_curve_lanes_active(void);

/* The members, of a build for x86-64. */
#define ZK_CURVE_LANES_DECLARE(isa)                                                                                    \
    void zk_fp_pow_lanes_##isa(zk_fp a[8], const uint64_t e[6]);                                                       \
    unsigned zk_g1_subgroup_lanes_##isa(unsigned *undecided, const zk_g1_affine p[8]);                                 \
    unsigned zk_g2_subgroup_lanes_##isa(unsigned *undecided, const zk_g2_affine p[8]);                                 \
    unsigned zk_g1_deserialize_lanes_##isa(zk_g1_affine r[8], const uint8_t *bytes);                                   \
    unsigned zk_g2_deserialize_lanes_##isa(zk_g2_affine r[8], const uint8_t *bytes);                                   \
    void zk_g1_mul_pairs_lanes_##isa(zk_g1 r[8], const zk_g1_affine p[8], const uint64_t z[8][2]);
ZK_CURVE_LANES_DECLARE(ifma)
ZK_CURVE_LANES_DECLARE(fma)

#endif
