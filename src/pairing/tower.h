/* Fp6 = Fp2[v]/(v^3 - xi), Fp12 = Fp6[w]/(w^2 - v), xi = 1 + u. Results may alias operands. M and S are multiplications
 * and squarings in Fp2.
 */
#ifndef ZK_PAIRING_TOWER_H
#define ZK_PAIRING_TOWER_H

#include "pairing/pairing.h"

extern const zk_fp6 zk_fp6_zero, zk_fp6_one;
extern const zk_fp12 zk_fp12_zero, zk_fp12_one;

void zk_fp6_add(zk_fp6 *r, const zk_fp6 *a, const zk_fp6 *b);
void zk_fp6_sub(zk_fp6 *r, const zk_fp6 *a, const zk_fp6 *b);
void zk_fp6_neg(zk_fp6 *r, const zk_fp6 *a);
void zk_fp6_double(zk_fp6 *r, const zk_fp6 *a);
void zk_fp6_mul(zk_fp6 *r, const zk_fp6 *a, const zk_fp6 *b);      /* 6M */
void zk_fp6_sqr(zk_fp6 *r, const zk_fp6 *a);                       /* 2M + 3S */
void zk_fp6_mul_v(zk_fp6 *r, const zk_fp6 *a);                     /* times v */
bool zk_fp6_inv_var(zk_fp6 *r, const zk_fp6 *a);                   /* false, r = 0 for 0 */
void zk_fp6_frobenius(zk_fp6 *r, const zk_fp6 *a, unsigned power); /* a^(p^power) */
bool zk_fp6_is_zero(const zk_fp6 *a);
bool zk_fp6_eq(const zk_fp6 *a, const zk_fp6 *b);

void zk_fp12_mul(zk_fp12 *r, const zk_fp12 *a, const zk_fp12 *b); /* 18M */
void zk_fp12_sqr(zk_fp12 *r, const zk_fp12 *a);                   /* 12M */
void zk_fp12_conjugate(zk_fp12 *r, const zk_fp12 *a);             /* negates c1; equals a^(p^6) */
bool zk_fp12_inv_var(zk_fp12 *r, const zk_fp12 *a);               /* false, r = 0 for 0 */
void zk_fp12_frobenius(zk_fp12 *r, const zk_fp12 *a, unsigned power);
bool zk_fp12_is_one(const zk_fp12 *a);
bool zk_fp12_eq(const zk_fp12 *a, const zk_fp12 *b);

/* Squaring of elements of the cyclotomic subgroup (order dividing p^4 - p^2 + 1): Granger and Scott, "Faster squaring
 * in the cyclotomic subgroup of sixth degree extensions", 2010. 9S. For others the result is meaningless. */
void zk_fp12_cyclotomic_sqr(zk_fp12 *r, const zk_fp12 *a);

/* a times the sparse element (c0 + c1 v) + (c4 v) w, the shape of a line. 13M. */
void zk_fp12_mul_by_014(zk_fp12 *r, const zk_fp12 *a, const zk_fp2 *c0, const zk_fp2 *c1, const zk_fp2 *c4);
/* The same with c4 = 1. 10M. */
void zk_fp12_mul_by_01_one(zk_fp12 *r, const zk_fp12 *a, const zk_fp2 *c0, const zk_fp2 *c1);
/* a times the product of two such lines, l[2][3] = c0, c1, c4. 23M. */
void zk_fp12_mul_by_two_lines(zk_fp12 *r, const zk_fp12 *a, const zk_fp2 l[2][3]);

#endif
