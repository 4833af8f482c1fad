/* Scalars as signed digits that can be read in any order.
 *
 * v = sum_w d_w 2^(c w), -2^(c-1) <= d_w < 2^(c-1). Stored is u = v + K >= 0 with K = 2^(bits-1) + sum_(w < W-1)
 * 2^(c-1+c w): then d_w = (c bits of u from bit c w on) - 2^(c-1), with no carry between windows; the top digit takes
 * the bits that remain and subtracts half of their range.
 */
#ifndef ZK_MSM_RECODE_H
#define ZK_MSM_RECODE_H

#include "field/fr.h"

#define ZK_WINDOW_BITS_MIN 4
#define ZK_WINDOW_BITS_MAX 24

typedef struct zk_windows {
    unsigned c;         /* bits of a window */
    unsigned n;         /* windows */
    unsigned bits;      /* of u */
    unsigned n_limbs;   /* of u */
    uint64_t offset[4]; /* K */
} zk_windows;

/* For whole scalars, as numbers between -r/2 and r/2, 4 limbs. */
void zk_windows_whole(zk_windows *w, unsigned c);
/* For halves, numbers between -2^127 0.674 and 2^127 0.674, 2 limbs. */
void zk_windows_half(zk_windows *w, unsigned c);

/* u of s. */
void zk_recode_whole(uint64_t u[4], const zk_windows *w, const zk_fr *s);
/* s = k1 + k2 x^2 mod r, x the parameter of the curve: the u of k1 and of -k2 (phi acts as -x^2 on G1, so that
 * [s]P = [k1]P + [-k2]phi(P)). */
void zk_recode_halves(uint64_t u1[2], uint64_t u2[2], const zk_windows *w, const zk_fr *s);

/* Digit number i of u. */
static inline int32_t zk_window_digit(const zk_windows *w, const uint64_t *u, unsigned i) {
    unsigned bit = i * w->c, limb = bit / 64, shift = bit % 64;
    unsigned n_bits = i + 1 < w->n ? w->c : w->bits - bit;
    uint64_t v = u[limb] >> shift;
    if (shift + n_bits > 64) v |= u[limb + 1] << (64 - shift);
    return (int32_t)(v & (((uint64_t)1 << n_bits) - 1)) - ((int32_t)1 << (n_bits - 1));
}

#endif
