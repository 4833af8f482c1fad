/* Fp, eight elements at a time, for AVX-512 with IFMA or AVX2 with FMA (field/v8.h). Include only in files built with
 * those instruction sets; without IFMA call only where field/rounding.h has set the mode.
 *
 *   lane k of an element = sum_i l[i][k] 2^(52 i) mod p,  Montgomery form with R = 2^416
 *
 * R / p is above 2^34.6, so values need not be reduced: bounds are counted in multiples of p ("magnitude").
 *
 *   tight   0 <= l[i] < 2^52 for every i, value < m p for the stated magnitude m; two tight values multiply if the
 *           product of their magnitudes is below 2^34. What is stored is tight.
 *   factor  tight but for bits from 52 on, which may be anything in limbs 0..6: vpmadd52 does not look at them. Only to
 *           multiply with.
 *   loose   limbs are signed 64-bit numbers, |l[i]| < 2^60, and the sum is not negative: results of products and
 *           chains of additions before zk_fp52x8_carry.
 */
#ifndef ZK_FIELD_FP52X8_H
#define ZK_FIELD_FP52X8_H

#include "field/fp.h"
#include "field/fp52.h"
#include "field/v8.h"

typedef struct zk_fp52x8 {
    zk_v8 l[ZK_FP52_LIMBS];
} zk_fp52x8;

/* Products, carries and multiples of p; contracts in fp52x8_ifma.h. */
#if ZK_V8_IFMA
#include "field/fp52x8_ifma.h"
#else
#include "field/fp52x8_fma.h"
#endif

/* loose below 8 p and not below p / 100 -> tight below 1.01 p. The quotient is read off the top limb, which the carries
 * still missing change by less than p / 1000. */
ZK_INLINE void zk_fp52x8_reduce(zk_fp52x8 *r, const zk_fp52x8 *a) {
    /* p / 2^364 = 106513.1; 2^31 / 106513.2 = 20161.6 */
    zk_v8 q = zk_v8_srli(zk_v8_mul_low32(a->l[7], zk_v8_set1(20161)), 31);
    zk_fp52x8 t;
    ZK_UNROLL for (int i = 0; i < 8; i++) t.l[i] = zk_v8_sub(a->l[i], zk_fp52x8_multiple(q, i));
    zk_fp52x8_carry(r, &t);
}

/* a + b: loose, as all of these. */
ZK_INLINE void zk_fp52x8_add_loose(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b) {
    ZK_UNROLL for (int i = 0; i < 8; i++) r->l[i] = zk_v8_add(a->l[i], b->l[i]);
}
/* a - b + m p, m a constant in 1..7 at least the magnitude of b. */
ZK_INLINE void zk_fp52x8_sub_loose(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b, const int m) {
    ZK_UNROLL for (int i = 0; i < 8; i++) r->l[i] =
        zk_v8_add(zk_v8_sub(a->l[i], b->l[i]), zk_v8_set1(zk_fp52_multiples[i][m]));
}
/* a - b + 2^k p, k a constant in 0..7, 2^k at least the magnitude of b. */
ZK_INLINE void zk_fp52x8_sub_shifted(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b, const int k) {
    ZK_UNROLL for (int i = 0; i < 8; i++) r->l[i] =
        zk_v8_add(zk_v8_sub(a->l[i], b->l[i]), zk_v8_set1(zk_fp52_shifted[k][i]));
}
/* 2^k a */
ZK_INLINE void zk_fp52x8_shift_loose(zk_fp52x8 *r, const zk_fp52x8 *a, const unsigned k) {
    ZK_UNROLL for (int i = 0; i < 8; i++) r->l[i] = zk_v8_slli(a->l[i], k);
}
/* m p - a in the lanes of the mask, a elsewhere; loose. */
ZK_INLINE void zk_fp52x8_neg_if_loose(zk_fp52x8 *r, const zk_fp52x8 *a, __mmask8 lanes, const int m) {
    ZK_UNROLL for (int i = 0; i < 8; i++) r->l[i] =
        zk_v8_sub_in(a->l[i], lanes, zk_v8_set1(zk_fp52_multiples[i][m]), a->l[i]);
}
ZK_INLINE void zk_fp52x8_blend(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b, __mmask8 lanes) {
    ZK_UNROLL for (int i = 0; i < 8; i++) r->l[i] = zk_v8_blend(a->l[i], b->l[i], lanes);
}

/* Lane k of r is lane k ^ distance of a. */
ZK_INLINE void zk_fp52x8_swap_lanes(zk_fp52x8 *r, const zk_fp52x8 *a, int distance) {
    ZK_UNROLL for (int i = 0; i < 8; i++) r->l[i] = zk_v8_swap_lanes(a->l[i], distance);
}

/* Tight, any magnitude -> tight, below 1.13 p: floor(value / p), estimated from the top limb, times p is taken away by
 * adding its product with 2^416 - p modulo 2^416. 16 vpmadd52. */
ZK_INLINE void zk_fp52x8_reduce_wide(zk_fp52x8 *r, const zk_fp52x8 *a) {
    const uint64_t n[8] = {0x1000000005555, 0x014eac0000460, 0x94f09dbe15400, 0xed4098cf2d5f0,
                           0x89b88b47b0c7a, 0xe45849bcb4532, 0xe15c6801965b4, 0xffffffffe5fee};
    zk_fp52x8 t = *a;
    zk_v8 q = zk_v8_madd52hi(zk_v8_zero(), t.l[7], zk_v8_set1(0x9d835d2f3)); /* floor(2^416 / p) */
    ZK_UNROLL for (int i = 0; i < 8; i++) t.l[i] = zk_v8_madd52lo(t.l[i], q, zk_v8_set1(n[i]));
    ZK_UNROLL for (int i = 0; i < 7; i++) t.l[i + 1] = zk_v8_madd52hi(t.l[i + 1], q, zk_v8_set1(n[i]));
    zk_fp52x8_carry(r, &t);
    r->l[7] = zk_v8_and(r->l[7], zk_v8_set1(ZK_MASK_52));
}

/* The number 2^shift w of six words a lane, tight; w < p, so the magnitude is 2^shift. shift: a constant, 0 .. 32. */
ZK_INLINE void zk_fp52x8_split(zk_fp52x8 *r, const zk_v8 w[6], const int shift) {
    const zk_v8 mask = zk_v8_set1(ZK_MASK_52);
    r->l[0] = zk_v8_and(zk_v8_slli(w[0], (unsigned)shift), mask);
    ZK_UNROLL for (int i = 1; i < 8; i++) {
        int bit = 52 * i - shift, word = bit / 64, at = bit % 64;
        zk_v8 x = zk_v8_srli(w[word], (unsigned)at);
        if (at > 12 && word < 5) { /* (x | y) & mask */
            zk_v8 y = zk_v8_slli(w[word + 1], (unsigned)(64 - at));
            r->l[i] = zk_v8_masked_and_or(x, y, mask);
        } else {
            r->l[i] = at < 12 ? zk_v8_and(x, mask) : x;
        }
    }
}

/* Six 64-bit words a lane, Montgomery form with R = 2^384 and < p -> tight, below 1.13 p. The factor 2^32 between the
 * forms is a shift of the words. */
ZK_INLINE void zk_fp52x8_from_words(zk_fp52x8 *r, const zk_v8 w[6]) {
    zk_fp52x8 t;
    zk_fp52x8_split(&t, w, 32);
    zk_fp52x8_reduce_wide(r, &t);
}

/* a factor / 2^416 mod p as six words a lane, fully reduced; a tight, magnitude up to 2^30, factor reduced. */
ZK_INLINE void zk_fp52x8_to_words_by(zk_v8 w[6], const zk_fp52x8 *a, const uint64_t factor[8]) {
    zk_fp52x8 t, u;
    ZK_UNROLL for (int i = 0; i < 8; i++) t.l[i] = zk_v8_set1(factor[i]);
    zk_fp52x8_mul(&t, a, &t); /* below 1.26 p */
    ZK_UNROLL for (int i = 0; i < 8; i++) u.l[i] = zk_v8_sub(t.l[i], zk_v8_set1(zk_fp52_multiples[i][1]));
    zk_fp52x8_carry(&u, &u);
    zk_fp52x8_blend(&t, &u, &t, zk_v8_negative_lanes(u.l[7]));
    ZK_UNROLL for (int i = 0; i < 6; i++) {
        int limb = 64 * i / 52, shift = 64 * i % 52;
        zk_v8 x = zk_v8_or(zk_v8_srli(t.l[limb], (unsigned)shift), zk_v8_slli(t.l[limb + 1], (unsigned)(52 - shift)));
        if (104 - shift < 64 && limb + 2 < 8) x = zk_v8_or(x, zk_v8_slli(t.l[limb + 2], (unsigned)(104 - shift)));
        w[i] = x;
    }
}

/* Tight, magnitude up to 2^30 -> six words a lane, Montgomery form with R = 2^384, fully reduced. */
ZK_INLINE void zk_fp52x8_to_words(zk_v8 w[6], const zk_fp52x8 *a) {
    const uint64_t two_384[8] = {0x900000002fffd, 0x0bc40c0002760, 0x3c758baebf400, 0x57455f4898575,
                                 0xd77ce58537052, 0x071a97a256ec6, 0xec3fa80e4935c, 0x0000000015f65};
    zk_fp52x8_to_words_by(w, a, two_384);
}

/* Between lanes and an array, for what is not hot. */
ZK_LANES_FN void zk_fp52x8_from_elements(zk_fp52x8 *r, const zk_fp a[8]) {
    uint64_t word[6][8];
    zk_v8 w[6];
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 8; k++) word[i][k] = a[k].l[i];
        w[i] = zk_v8_load(word[i]);
    }
    zk_fp52x8_from_words(r, w);
}
ZK_INLINE void zk_fp52x8_words_to_elements(zk_fp r[8], const zk_v8 w[6]) {
    uint64_t word[6][8];
    for (int i = 0; i < 6; i++) zk_v8_store(word[i], w[i]);
    for (int k = 0; k < 8; k++)
        for (int i = 0; i < 6; i++) r[k].l[i] = word[i][k];
}
ZK_LANES_FN void zk_fp52x8_to_elements(zk_fp r[8], const zk_fp52x8 *a) {
    zk_v8 w[6];
    zk_fp52x8_to_words(w, a);
    zk_fp52x8_words_to_elements(r, w);
}
ZK_LANES_FN void zk_fp52x8_to_elements_by(zk_fp r[8], const zk_fp52x8 *a, const uint64_t factor[8]) {
    zk_v8 w[6];
    zk_fp52x8_to_words_by(w, a, factor);
    zk_fp52x8_words_to_elements(r, w);
}

/* 2^416 mod p: one, tight and reduced. */
ZK_INLINE void zk_fp52x8_set_one(zk_fp52x8 *r) {
    static const uint64_t one[8] = {0x6480ea8e9b9af, 0x65766c8fe444f, 0x8b540fea96f7d, 0x3b2ee82efd422,
                                    0xa6723e5f0ade5, 0xff6eb6fdd4230, 0xe06ef23c24a25, 0x0000000014c8e};
    ZK_UNROLL for (int i = 0; i < 8; i++) r->l[i] = zk_v8_set1(one[i]);
}

/* The same value in all lanes. */
ZK_INLINE void zk_fp52x8_broadcast(zk_fp52x8 *r, const zk_fp *a) {
    zk_v8 w[6];
    ZK_UNROLL for (int i = 0; i < 6; i++) w[i] = zk_v8_set1(a->l[i]);
    zk_fp52x8_from_words(r, w);
}

#endif
