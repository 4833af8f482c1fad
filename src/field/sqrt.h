/* Square roots in parts: what lies before and after the long powers, so that powers of many numbers can be had together
 * (curve/many.c). zk_fp_sqrt_var and zk_fp2_sqrt_var are made of the same parts.
 */
#ifndef ZK_FIELD_SQRT_H
#define ZK_FIELD_SQRT_H

#include "field/fp.h"

extern const uint64_t zk_fp_sqrt_exponent[6];         /* (p + 1)/4 */
extern const uint64_t zk_fp_inverse_sqrt_exponent[6]; /* (p - 3)/4 */

/* The smaller root of a; power = a^((p+1)/4). False if a is not a square. */
bool zk_fp_sqrt_finish(zk_fp *r, const zk_fp *a, const zk_fp *power);

/* Some square root of a, c1 != 0, by the complex method: with n = sqrt(c0^2 + c1^2) one of d = (c0 +- n)/2 is a square
 * x^2 in Fp, and the root is x + c1/(2x) u. Two exponentiations: w = d^((p-3)/4) gives x = d w, and d w^2 = +-1 says
 * whether d is a square. If it is not, the other sign's d' = -c1^2/(4d) is one, whose root c1/(2x) follows from the
 * same w. */
void zk_fp2_sqrt_norm(zk_fp *norm, const zk_fp2 *a); /* not a square in Fp: a is none in Fp2 */
void zk_fp2_sqrt_half(zk_fp *d, const zk_fp2 *a, const zk_fp *norm_root);
/* The smaller root; power = d^((p-3)/4). */
void zk_fp2_sqrt_finish(zk_fp2 *r, const zk_fp2 *a, const zk_fp *d, const zk_fp *power);

#endif
