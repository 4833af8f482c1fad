/* Multiplication of points of G1 by way of their endomorphism, for many points and few doublings.
 *
 * eta(x, y) = (beta x, -y), beta^3 = 1, is the endomorphism of order 6 that multiplies G1 by x^2, x the parameter of
 * the curve. eta^2 = eta - 1, so the numbers m + q eta form the hexagonal lattice Z[eta], and [k]P = [m + q eta]P for
 * k = m + q x^2 with 0 <= m, q < x^2 + 1 < 2^128 (R. Gallant, R. Lambert, S. Vanstone, "Faster point multiplication on
 * elliptic curves with efficient endomorphisms", 2001).
 *
 * Digits: m + q eta = sum_i d_i 4^i. The 16 classes of Z[eta]/4 are represented by 0, the six units eta^e, the six
 * (1 + eta) eta^e, and 2, 2 eta, 2 eta^2 with a sign. Multiplication by eta costs a multiplication by beta, so that
 * P, (1 + eta) P and 2 P are the whole table: 128 doublings and 61 additions on average, at the same places for all
 * scalars.
 */
#ifndef ZK_MSM_GLV_H
#define ZK_MSM_GLV_H

#include "curve/curve.h"

#define ZK_GLV_DIGITS 65

/* A digit is 0, or entry | e << 2 | negative << 4 with entry 1, 2, 3 for 1, 1 + eta, 2: (-1)^negative eta^e entry. */
typedef uint8_t zk_glv_digit;
/* digits[i] of weight 4^i */
void zk_glv_recode(zk_glv_digit digits[ZK_GLV_DIGITS], const zk_fr *k);

/* x[t][e] = beta^e x of entry t + 1, y of it. */
typedef struct zk_glv_table {
    zk_fp x[3][3], y[3];
} zk_glv_table;
/* The entries of a point of G1 other than infinity, but the first: r[0] = (1 + eta) P, r[1] = 2 P, never infinity. */
void zk_glv_entries(zk_g1 r[2], const zk_g1_affine *p);
/* entries: r of above, affine */
void zk_glv_table_fill(zk_glv_table *table, const zk_g1_affine *p, const zk_g1_affine entries[2]);

/* [k]P from the table of P and the digits of k. */
void zk_glv_mul(zk_g1 *r, const zk_glv_table *table, const zk_glv_digit digits[ZK_GLV_DIGITS]);

#endif
