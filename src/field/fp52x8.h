/* Fp, eight elements at a time, for AVX-512 with IFMA. Include only in files built with those instruction sets.
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
 *
 * vpmadd52 issues once a cycle on the machines at hand, so their number is the cost: 257 a multiplication, 201 a
 * square.
 */
#ifndef ZK_FIELD_FP52X8_H
#define ZK_FIELD_FP52X8_H

#include <immintrin.h>

#include "field/fp.h"

#define ZK_FP52_LIMBS 8
#define ZK_FP52_MASK 0xfffffffffffffu

typedef struct zk_fp52x8 {
    __m512i l[ZK_FP52_LIMBS];
} zk_fp52x8;

ZK_INLINE __m512i zk_v8_set1(uint64_t x) { return _mm512_set1_epi64((long long)x); }
ZK_INLINE __m512i zk_v8_madd52lo(__m512i t, __m512i a, __m512i b) { return _mm512_madd52lo_epu64(t, a, b); }
ZK_INLINE __m512i zk_v8_madd52hi(__m512i t, __m512i a, __m512i b) { return _mm512_madd52hi_epu64(t, a, b); }

/* Eight rows of eight words become eight columns: r[i] lane k = row[k] lane i. 24 shuffles. */
ZK_INLINE void zk_v8_transpose(__m512i r[8], const __m512i row[8]) {
    __m512i a[8], b[8];
    ZK_UNROLL for (int i = 0; i < 4; i++) {
        a[2 * i] = _mm512_unpacklo_epi64(row[2 * i], row[2 * i + 1]);
        a[2 * i + 1] = _mm512_unpackhi_epi64(row[2 * i], row[2 * i + 1]);
    }
    ZK_UNROLL for (int i = 0; i < 2; i++) {
        /* a[4i], a[4i + 2]: words 0, 2, 4, 6 of rows 4i .. 4i + 3 in pairs; a[4i + 1], a[4i + 3]: the odd words. */
        b[4 * i] = _mm512_shuffle_i64x2(a[4 * i], a[4 * i + 2], 0x88);
        b[4 * i + 1] = _mm512_shuffle_i64x2(a[4 * i + 1], a[4 * i + 3], 0x88);
        b[4 * i + 2] = _mm512_shuffle_i64x2(a[4 * i], a[4 * i + 2], 0xdd);
        b[4 * i + 3] = _mm512_shuffle_i64x2(a[4 * i + 1], a[4 * i + 3], 0xdd);
    }
    ZK_UNROLL for (int i = 0; i < 2; i++) {
        r[i] = _mm512_shuffle_i64x2(b[i], b[4 + i], 0x88);
        r[4 + i] = _mm512_shuffle_i64x2(b[i], b[4 + i], 0xdd);
        r[2 + i] = _mm512_shuffle_i64x2(b[2 + i], b[6 + i], 0x88);
        r[6 + i] = _mm512_shuffle_i64x2(b[2 + i], b[6 + i], 0xdd);
    }
}

/* The same of the first n words, n even, of rows in memory, any alignment: pairs of words come by masked broadcasts,
 * which leaves n shuffles. */
ZK_INLINE void zk_v8_load_transposed(__m512i *r, const uint64_t *const row[8], const int n) {
    ZK_UNROLL for (int i = 0; i < n; i += 2) {
        __m512i even = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(row[0] + i)));
        __m512i odd = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(row[1] + i)));
        ZK_UNROLL for (int k = 1; k < 4; k++) {
            const __mmask8 lanes = (__mmask8)(3u << 2 * k);
            even = _mm512_mask_broadcast_i64x2(even, lanes, _mm_loadu_si128((const __m128i *)(row[2 * k] + i)));
            odd = _mm512_mask_broadcast_i64x2(odd, lanes, _mm_loadu_si128((const __m128i *)(row[2 * k + 1] + i)));
        }
        r[i] = _mm512_unpacklo_epi64(even, odd);
        r[i + 1] = _mm512_unpackhi_epi64(even, odd);
    }
}

/* (m + 1) / 2^52 for m = p (-1/p mod 2^52), then p, then -1/p mod 2^52. In memory, of unknown value to the compiler: it
 * would keep moving immediates into vector registers instead, through the units that multiply. */
extern const uint64_t zk_fp52_reduction[17];

/* k p for k = 0..7, limb i in row i, ready for a permutation by k. */
extern const uint64_t zk_fp52_multiples[ZK_FP52_LIMBS][8];

/* 2^k p for k = 0..7, with limbs of up to 60 bits. */
extern const uint64_t zk_fp52_shifted[8][ZK_FP52_LIMBS];

/* loose -> tight, of the same value. */
ZK_INLINE void zk_fp52x8_carry(zk_fp52x8 *r, const zk_fp52x8 *a) {
    const __m512i mask = zk_v8_set1(ZK_FP52_MASK);
    __m512i t = a->l[0];
    ZK_UNROLL for (int i = 0; i < 7; i++) {
        r->l[i] = _mm512_and_si512(t, mask);
        t = _mm512_add_epi64(a->l[i + 1], _mm512_srai_epi64(t, 52));
    }
    r->l[7] = t;
}

/* loose -> factor. Carries without the masks. */
ZK_INLINE void zk_fp52x8_carry_factor(zk_fp52x8 *r, const zk_fp52x8 *a) {
    r->l[0] = a->l[0];
    ZK_UNROLL for (int i = 0; i < 7; i++) r->l[i + 1] = _mm512_add_epi64(a->l[i + 1], _mm512_srai_epi64(r->l[i], 52));
}

/* loose below 8 p and not below p / 100 -> tight below 1.01 p. The quotient is read off the top limb, which the carries
 * still missing change by less than p / 1000. */
ZK_INLINE void zk_fp52x8_reduce(zk_fp52x8 *r, const zk_fp52x8 *a) {
    /* p / 2^364 = 106513.1; 2^31 / 106513.2 = 20161.6 */
    __m512i q = _mm512_srli_epi64(_mm512_mul_epu32(a->l[7], zk_v8_set1(20161)), 31);
    zk_fp52x8 t;
    ZK_UNROLL for (int i = 0; i < 8; i++) t.l[i] =
        _mm512_sub_epi64(a->l[i], _mm512_permutexvar_epi64(q, _mm512_loadu_si512(zk_fp52_multiples[i])));
    zk_fp52x8_carry(r, &t);
}

/* a + b, a - b + 2p (b below 2p), a - b + 4p (b below 4p): loose */
ZK_INLINE void zk_fp52x8_add_loose(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b) {
    ZK_UNROLL for (int i = 0; i < 8; i++) r->l[i] = _mm512_add_epi64(a->l[i], b->l[i]);
}
/* a - b + m p, m a constant in 1..7 at least the magnitude of b. */
ZK_INLINE void zk_fp52x8_sub_loose(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b, const int m) {
    ZK_UNROLL for (int i = 0; i < 8; i++) r->l[i] =
        _mm512_add_epi64(_mm512_sub_epi64(a->l[i], b->l[i]), zk_v8_set1(zk_fp52_multiples[i][m]));
}
/* a - b + 2^k p, k a constant in 0..7, 2^k at least the magnitude of b. */
ZK_INLINE void zk_fp52x8_sub_shifted(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b, const int k) {
    ZK_UNROLL for (int i = 0; i < 8; i++) r->l[i] =
        _mm512_add_epi64(_mm512_sub_epi64(a->l[i], b->l[i]), zk_v8_set1(zk_fp52_shifted[k][i]));
}
/* m p - a in the lanes of the mask, a elsewhere; loose. */
ZK_INLINE void zk_fp52x8_neg_if_loose(zk_fp52x8 *r, const zk_fp52x8 *a, __mmask8 lanes, const int m) {
    ZK_UNROLL for (int i = 0; i < 8; i++) r->l[i] =
        _mm512_mask_sub_epi64(a->l[i], lanes, zk_v8_set1(zk_fp52_multiples[i][m]), a->l[i]);
}
ZK_INLINE void zk_fp52x8_blend(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b, __mmask8 lanes) {
    ZK_UNROLL for (int i = 0; i < 8; i++) r->l[i] = _mm512_mask_mov_epi64(a->l[i], lanes, b->l[i]);
}

/* Lane k of r is lane k ^ distance of a. */
ZK_INLINE void zk_fp52x8_swap_lanes(zk_fp52x8 *r, const zk_fp52x8 *a, int distance) {
    const __m512i from = _mm512_xor_si512(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), zk_v8_set1((uint64_t)distance));
    ZK_UNROLL for (int i = 0; i < 8; i++) r->l[i] = _mm512_permutexvar_epi64(from, a->l[i]);
}

/* t = a b as 16 loose limbs below 2^56; a, b tight or factors. 128 vpmadd52. */
ZK_INLINE void zk_fp52x8_product(__m512i t[16], const zk_fp52x8 *a, const zk_fp52x8 *b) {
    const __m512i zero = _mm512_setzero_si512();
    ZK_UNROLL for (int i = 0; i < 8; i++) t[i] = t[i + 8] = zero;
    ZK_UNROLL for (int j = 0; j < 8; j++) {
        __m512i bj = b->l[j];
        ZK_UNROLL for (int i = 0; i < 8; i++) t[i + j] = zk_v8_madd52lo(t[i + j], a->l[i], bj);
        ZK_UNROLL for (int i = 0; i < 8; i++) t[i + j + 1] = zk_v8_madd52hi(t[i + j + 1], a->l[i], bj);
    }
}

/* t = a^2; 72 vpmadd52. */
ZK_INLINE void zk_fp52x8_product_sqr(__m512i t[16], const zk_fp52x8 *a) {
    const __m512i zero = _mm512_setzero_si512();
    ZK_UNROLL for (int i = 0; i < 8; i++) t[i] = t[i + 8] = zero;
    ZK_UNROLL for (int j = 0; j < 7; j++) {
        ZK_UNROLL for (int i = j + 1; i < 8; i++) t[i + j] = zk_v8_madd52lo(t[i + j], a->l[i], a->l[j]);
        ZK_UNROLL for (int i = j + 1; i < 8; i++) t[i + j + 1] = zk_v8_madd52hi(t[i + j + 1], a->l[i], a->l[j]);
    }
    ZK_UNROLL for (int i = 1; i < 8; i++) t[i] = _mm512_add_epi64(t[i], t[i]);
    ZK_UNROLL for (int i = 8; i < 15; i++) t[i] = _mm512_add_epi64(t[i], t[i]);
    ZK_UNROLL for (int i = 0; i < 8; i++) {
        t[2 * i] = zk_v8_madd52lo(t[2 * i], a->l[i], a->l[i]);
        t[2 * i + 1] = zk_v8_madd52hi(t[2 * i + 1], a->l[i], a->l[i]);
    }
}

/* r = t / R mod p, loose, below t / R + 1.25 p; t: loose limbs, of either sign (a negative t gives that much less).
 * Montgomery's reduction, a limb at a time. Seven steps use m = p (-1/p mod 2^52), which is -1 mod 2^52: then the
 * quotient is the limb itself and only (m + 1) / 2^52 has to be added, one limb further up. The last step uses p,
 * and sees to it that the result is small: 7 steps leave at most m / 2^52 < 0.25 p. 129 vpmadd52. */
ZK_INLINE void zk_fp52x8_montgomery(zk_fp52x8 *r, __m512i t[16]) {
    const uint64_t *m = zk_fp52_reduction, *p = m + 8;
    ZK_UNROLL for (int i = 0; i < 7; i++) {
        __m512i q = t[i];
        t[i + 1] = _mm512_add_epi64(t[i + 1], _mm512_srai_epi64(t[i], 52));
        ZK_UNROLL for (int k = 0; k < 8; k++) t[i + 1 + k] = zk_v8_madd52lo(t[i + 1 + k], q, zk_v8_set1(m[k]));
        ZK_UNROLL for (int k = 0; k < 8; k++) t[i + 2 + k] = zk_v8_madd52hi(t[i + 2 + k], q, zk_v8_set1(m[k]));
    }
    __m512i q = zk_v8_madd52lo(_mm512_setzero_si512(), t[7], zk_v8_set1(m[16]));
    t[7] = zk_v8_madd52lo(t[7], q, zk_v8_set1(p[0]));
    ZK_UNROLL for (int k = 1; k < 8; k++) t[7 + k] = zk_v8_madd52lo(t[7 + k], q, zk_v8_set1(p[k]));
    ZK_UNROLL for (int k = 0; k < 8; k++) t[8 + k] = zk_v8_madd52hi(t[8 + k], q, zk_v8_set1(p[k]));
    t[8] = _mm512_add_epi64(t[8], _mm512_srai_epi64(t[7], 52));
    ZK_UNROLL for (int k = 0; k < 8; k++) r->l[k] = t[8 + k];
}

/* r = a b / R, a^2 / R: loose, below (magnitude of a)(magnitude of b) 2^-34 p + 1.25 p */
ZK_INLINE void zk_fp52x8_mul_loose(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b) {
    __m512i t[16];
    zk_fp52x8_product(t, a, b);
    zk_fp52x8_montgomery(r, t);
}
ZK_INLINE void zk_fp52x8_sqr_loose(zk_fp52x8 *r, const zk_fp52x8 *a) {
    __m512i t[16];
    zk_fp52x8_product_sqr(t, a);
    zk_fp52x8_montgomery(r, t);
}
/* The same as a factor. */
ZK_INLINE void zk_fp52x8_mul_factor(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b) {
    zk_fp52x8 t;
    zk_fp52x8_mul_loose(&t, a, b);
    zk_fp52x8_carry_factor(r, &t);
}
/* The same, tight. */
ZK_INLINE void zk_fp52x8_mul(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b) {
    zk_fp52x8 t;
    zk_fp52x8_mul_loose(&t, a, b);
    zk_fp52x8_carry(r, &t);
}
ZK_INLINE void zk_fp52x8_sqr(zk_fp52x8 *r, const zk_fp52x8 *a) {
    zk_fp52x8 t;
    zk_fp52x8_sqr_loose(&t, a);
    zk_fp52x8_carry(r, &t);
}

/* Tight, any magnitude -> tight, below 1.13 p: floor(value / p), estimated from the top limb, times p is taken away by
 * adding its product with 2^416 - p modulo 2^416. 16 vpmadd52. */
ZK_INLINE void zk_fp52x8_reduce_wide(zk_fp52x8 *r, const zk_fp52x8 *a) {
    const uint64_t n[8] = {0x1000000005555, 0x014eac0000460, 0x94f09dbe15400, 0xed4098cf2d5f0,
                           0x89b88b47b0c7a, 0xe45849bcb4532, 0xe15c6801965b4, 0xffffffffe5fee};
    zk_fp52x8 t = *a;
    __m512i q = zk_v8_madd52hi(_mm512_setzero_si512(), t.l[7], zk_v8_set1(0x9d835d2f3)); /* floor(2^416 / p) */
    ZK_UNROLL for (int i = 0; i < 8; i++) t.l[i] = zk_v8_madd52lo(t.l[i], q, zk_v8_set1(n[i]));
    ZK_UNROLL for (int i = 0; i < 7; i++) t.l[i + 1] = zk_v8_madd52hi(t.l[i + 1], q, zk_v8_set1(n[i]));
    zk_fp52x8_carry(r, &t);
    r->l[7] = _mm512_and_si512(r->l[7], zk_v8_set1(ZK_FP52_MASK));
}

/* The number 2^shift w of six words a lane, tight; w < p, so the magnitude is 2^shift. shift: a constant, 0 .. 32. */
ZK_INLINE void zk_fp52x8_split(zk_fp52x8 *r, const __m512i w[6], const int shift) {
    const __m512i mask = zk_v8_set1(ZK_FP52_MASK);
    r->l[0] = _mm512_and_si512(_mm512_slli_epi64(w[0], (unsigned)shift), mask);
    ZK_UNROLL for (int i = 1; i < 8; i++) {
        int bit = 52 * i - shift, word = bit / 64, at = bit % 64;
        __m512i x = _mm512_srli_epi64(w[word], (unsigned)at);
        if (at > 12 && word < 5) { /* (x | y) & mask */
            __m512i y = _mm512_slli_epi64(w[word + 1], (unsigned)(64 - at));
            r->l[i] = _mm512_ternarylogic_epi64(x, y, mask, 0xa8);
        } else {
            r->l[i] = at < 12 ? _mm512_and_si512(x, mask) : x;
        }
    }
}

/* Six 64-bit words a lane, Montgomery form with R = 2^384 and < p -> tight, below 1.13 p. The factor 2^32 between the
 * forms is a shift of the words. */
ZK_INLINE void zk_fp52x8_from_words(zk_fp52x8 *r, const __m512i w[6]) {
    zk_fp52x8 t;
    zk_fp52x8_split(&t, w, 32);
    zk_fp52x8_reduce_wide(r, &t);
}

/* a factor / 2^416 mod p as six words a lane, fully reduced; a tight, magnitude up to 2^30, factor reduced. */
ZK_INLINE void zk_fp52x8_to_words_by(__m512i w[6], const zk_fp52x8 *a, const uint64_t factor[8]) {
    zk_fp52x8 t, u;
    ZK_UNROLL for (int i = 0; i < 8; i++) t.l[i] = zk_v8_set1(factor[i]);
    zk_fp52x8_mul(&t, a, &t); /* below 1.26 p */
    ZK_UNROLL for (int i = 0; i < 8; i++) u.l[i] = _mm512_sub_epi64(t.l[i], zk_v8_set1(zk_fp52_multiples[i][1]));
    zk_fp52x8_carry(&u, &u);
    zk_fp52x8_blend(&t, &u, &t, _mm512_movepi64_mask(u.l[7]));
    ZK_UNROLL for (int i = 0; i < 6; i++) {
        int limb = 64 * i / 52, shift = 64 * i % 52;
        __m512i x = _mm512_or_si512(_mm512_srli_epi64(t.l[limb], (unsigned)shift),
                                    _mm512_slli_epi64(t.l[limb + 1], (unsigned)(52 - shift)));
        if (104 - shift < 64 && limb + 2 < 8)
            x = _mm512_or_si512(x, _mm512_slli_epi64(t.l[limb + 2], (unsigned)(104 - shift)));
        w[i] = x;
    }
}

/* Tight, magnitude up to 2^30 -> six words a lane, Montgomery form with R = 2^384, fully reduced. */
ZK_INLINE void zk_fp52x8_to_words(__m512i w[6], const zk_fp52x8 *a) {
    const uint64_t two_384[8] = {0x900000002fffd, 0x0bc40c0002760, 0x3c758baebf400, 0x57455f4898575,
                                 0xd77ce58537052, 0x071a97a256ec6, 0xec3fa80e4935c, 0x0000000015f65};
    zk_fp52x8_to_words_by(w, a, two_384);
}

/* Between lanes and an array, for what is not hot. */
static __attribute__((noinline, unused)) void zk_fp52x8_from_elements(zk_fp52x8 *r, const zk_fp a[8]) {
    uint64_t word[6][8];
    __m512i w[6];
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 8; k++) word[i][k] = a[k].l[i];
        w[i] = _mm512_loadu_si512(word[i]);
    }
    zk_fp52x8_from_words(r, w);
}
ZK_INLINE void zk_fp52x8_words_to_elements(zk_fp r[8], const __m512i w[6]) {
    uint64_t word[6][8];
    for (int i = 0; i < 6; i++) _mm512_storeu_si512(word[i], w[i]);
    for (int k = 0; k < 8; k++)
        for (int i = 0; i < 6; i++) r[k].l[i] = word[i][k];
}
static __attribute__((noinline, unused)) void zk_fp52x8_to_elements(zk_fp r[8], const zk_fp52x8 *a) {
    __m512i w[6];
    zk_fp52x8_to_words(w, a);
    zk_fp52x8_words_to_elements(r, w);
}
static __attribute__((noinline, unused)) void zk_fp52x8_to_elements_by(zk_fp r[8], const zk_fp52x8 *a,
                                                                       const uint64_t factor[8]) {
    __m512i w[6];
    zk_fp52x8_to_words_by(w, a, factor);
    zk_fp52x8_words_to_elements(r, w);
}

/* The same value in all lanes. */
ZK_INLINE void zk_fp52x8_broadcast(zk_fp52x8 *r, const zk_fp *a) {
    __m512i w[6];
    ZK_UNROLL for (int i = 0; i < 6; i++) w[i] = zk_v8_set1(a->l[i]);
    zk_fp52x8_from_words(r, w);
}
/* In one lane. */
ZK_INLINE void zk_fp52x8_set_lane(zk_fp52x8 *r, int lane, const zk_fp *a) {
    zk_fp52x8 t;
    zk_fp52x8_broadcast(&t, a);
    zk_fp52x8_blend(r, r, &t, (__mmask8)(1u << lane));
}

#endif
