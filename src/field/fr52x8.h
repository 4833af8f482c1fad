/* Fr, eight elements at a time, for AVX-512 with IFMA. Include only in files built with those instruction sets.
 *
 *   lane k of an element = sum_i l[i][k] 2^(52 i) mod r,  five limbs; products are Montgomery's with R = 2^260
 *
 * R / r is 35.36, and bounds are counted in multiples of r ("magnitude"). Which Montgomery form a value is in is its
 * owner's business: linear code multiplies values of any form by constants in the form with R = 2^260, and they keep
 * theirs; zk_fr_to_fr52 makes such constants.
 *
 *   factor  bits 0..51 of limbs 0..3 and all of limb 4 make up a value below the stated magnitude; bits from 52 on of
 *           limbs 0..3 may be anything, as vpmadd52 does not look at them. Only to multiply with.
 *   loose   limbs are signed 64-bit numbers, |l[i]| < 2^61; the value they sum up to is not negative. All else.
 */
#ifndef ZK_FIELD_FR52X8_H
#define ZK_FIELD_FR52X8_H

#include <immintrin.h>

#include "field/fr.h"

#define ZK_FR52_LIMBS 5
#define ZK_FR52_MASK 0xfffffffffffffu
#define ZK_FR52_R0 0xfffff00000001
#define ZK_FR52_R1 0x02fffe5bfefff
#define ZK_FR52_R2 0x9a1d80553bda4
#define ZK_FR52_R3 0x7d483339d8080
#define ZK_FR52_R4 0x073eda753299d

typedef struct zk_fr52x8 {
    __m512i l[ZK_FR52_LIMBS];
} zk_fr52x8;

/* One element, tight limbs, reduced: a constant for all lanes. */
typedef struct zk_fr52 {
    uint64_t l[ZK_FR52_LIMBS];
} zk_fr52;

ZK_INLINE __m512i zk_w8_set1(uint64_t x) { return _mm512_set1_epi64((long long)x); }

/* Montgomery form with R = 2^256 -> with R = 2^260. */
static inline void zk_fr_to_fr52(zk_fr52 *r, const zk_fr *a) {
    zk_fr t = *a;
    for (int i = 0; i < 4; i++) zk_fr_double(&t, &t);
    for (int i = 0; i < 5; i++) {
        int bit = 52 * i, word = bit / 64, shift = bit % 64;
        uint64_t x = t.l[word] >> shift;
        if (shift > 12 && word < 3) x |= t.l[word + 1] << (64 - shift);
        r->l[i] = x & ZK_FR52_MASK;
    }
}

ZK_INLINE void zk_fr52x8_broadcast(zk_fr52x8 *r, const zk_fr52 *a) {
    ZK_UNROLL for (int i = 0; i < 5; i++) r->l[i] = zk_w8_set1(a->l[i]);
}

/* loose -> factor of the same value. */
ZK_INLINE void zk_fr52x8_carry_factor(zk_fr52x8 *r, const zk_fr52x8 *a) {
    r->l[0] = a->l[0];
    ZK_UNROLL for (int i = 0; i < 4; i++) r->l[i + 1] = _mm512_add_epi64(a->l[i + 1], _mm512_srai_epi64(r->l[i], 52));
}

ZK_INLINE void zk_fr52x8_add_loose(zk_fr52x8 *r, const zk_fr52x8 *a, const zk_fr52x8 *b) {
    ZK_UNROLL for (int i = 0; i < 5; i++) r->l[i] = _mm512_add_epi64(a->l[i], b->l[i]);
}
/* k r in radix 2^52: [limb][k] */
extern const uint64_t zk_fr52_multiples[5][16];
/* a - b + m r, m a constant in 0..15 at least the magnitude of b. */
ZK_INLINE void zk_fr52x8_sub_loose(zk_fr52x8 *r, const zk_fr52x8 *a, const zk_fr52x8 *b, const int m) {
    ZK_UNROLL for (int i = 0; i < 5; i++) r->l[i] =
        _mm512_add_epi64(_mm512_sub_epi64(a->l[i], b->l[i]), zk_w8_set1(zk_fr52_multiples[i][m]));
}

/* t = a b; a, b factors. 50 vpmadd52. */
ZK_INLINE void zk_fr52x8_product(__m512i t[10], const zk_fr52x8 *a, const zk_fr52x8 *b) {
    const __m512i zero = _mm512_setzero_si512();
    ZK_UNROLL for (int i = 0; i < 5; i++) t[i] = t[i + 5] = zero;
    ZK_UNROLL for (int j = 0; j < 5; j++) {
        ZK_UNROLL for (int i = 0; i < 5; i++) t[i + j] = _mm512_madd52lo_epu64(t[i + j], a->l[i], b->l[j]);
        ZK_UNROLL for (int i = 0; i < 5; i++) t[i + j + 1] = _mm512_madd52hi_epu64(t[i + j + 1], a->l[i], b->l[j]);
    }
}

/* r = t / R, loose, below t / R + r (1 + 2^-50). Montgomery's reduction: the first three quotients are the limbs
 * themselves, as they add a multiple of r that is -1 mod 2^52 (of which (m + 1) / 2^52 is left, one limb up); the last
 * two add multiples of r below 2^52 r, so that the result stays small. 52 vpmadd52. */
ZK_INLINE void zk_fr52x8_montgomery(zk_fr52x8 *r, __m512i t[10]) {
    const uint64_t m[5] = {0xfdfff1a402001, 0x2d083dd6c33ff, 0x44cd43798bcce, 0x436f80f0223a9, 0x073eda0144f28};
    const uint64_t p[5] = {ZK_FR52_R0, ZK_FR52_R1, ZK_FR52_R2, ZK_FR52_R3, ZK_FR52_R4};
    ZK_UNROLL for (int i = 0; i < 3; i++) {
        __m512i q = t[i];
        t[i + 1] = _mm512_add_epi64(t[i + 1], _mm512_srai_epi64(q, 52));
        ZK_UNROLL for (int k = 0; k < 5; k++) t[i + 1 + k] = _mm512_madd52lo_epu64(t[i + 1 + k], q, zk_w8_set1(m[k]));
        ZK_UNROLL for (int k = 0; k < 5; k++) t[i + 2 + k] = _mm512_madd52hi_epu64(t[i + 2 + k], q, zk_w8_set1(m[k]));
    }
    ZK_UNROLL for (int i = 3; i < 5; i++) {
        /* -1/r mod 2^52 */
        __m512i q = _mm512_madd52lo_epu64(_mm512_setzero_si512(), t[i], zk_w8_set1(0xffffeffffffff));
        ZK_UNROLL for (int k = 0; k < 5; k++) t[i + k] = _mm512_madd52lo_epu64(t[i + k], q, zk_w8_set1(p[k]));
        t[i + 1] = _mm512_add_epi64(t[i + 1], _mm512_srai_epi64(t[i], 52));
        ZK_UNROLL for (int k = 0; k < 5; k++) t[i + 1 + k] = _mm512_madd52hi_epu64(t[i + 1 + k], q, zk_w8_set1(p[k]));
    }
    ZK_UNROLL for (int k = 0; k < 5; k++) r->l[k] = t[5 + k];
}

/* a b / R, loose, below (magnitude of a)(magnitude of b) / 35.3 + 1.01; a, b factors. */
ZK_INLINE void zk_fr52x8_mul_loose(zk_fr52x8 *r, const zk_fr52x8 *a, const zk_fr52x8 *b) {
    __m512i t[10];
    zk_fr52x8_product(t, a, b);
    zk_fr52x8_montgomery(r, t);
}

/* Four 64-bit words a lane <-> limbs, of the same value. */
ZK_INLINE void zk_fr52x8_from_words(zk_fr52x8 *r, const __m512i w[4]) {
    const __m512i mask = zk_w8_set1(ZK_FR52_MASK);
    r->l[0] = _mm512_and_si512(w[0], mask);
    ZK_UNROLL for (int i = 1; i < 4; i++) {
        __m512i x = _mm512_or_si512(_mm512_srli_epi64(w[i - 1], (unsigned)(64 - 12 * i)),
                                    _mm512_slli_epi64(w[i], (unsigned)(12 * i)));
        r->l[i] = _mm512_and_si512(x, mask);
    }
    r->l[4] = _mm512_srli_epi64(w[3], 16);
}

/* floor(value / r) or, seldom, one less, of the top limb of a value below 35 r with all carries done:
 * value / r = (top / 2^24)(2^232 / r), and the reciprocal is 0x2355094e / 2^52. */
ZK_INLINE __m512i zk_fr52_quotient(__m512i top) {
    return _mm512_srli_epi64(_mm512_mul_epu32(_mm512_srli_epi64(top, 24), zk_w8_set1(0x2355094e)), 52);
}

/* loose below 16 r -> loose below r (1 + 2^-21) */
ZK_INLINE void zk_fr52x8_reduce(zk_fr52x8 *r, const zk_fr52x8 *a) {
    const __m512i mask = zk_w8_set1(ZK_FR52_MASK);
    zk_fr52x8 t;
    zk_fr52x8_carry_factor(&t, a);
    __m512i q = zk_fr52_quotient(t.l[4]);
    ZK_UNROLL for (int i = 0; i < 5; i++) {
        __m512i multiple = _mm512_permutex2var_epi64(_mm512_loadu_si512(zk_fr52_multiples[i]), q,
                                                     _mm512_loadu_si512(zk_fr52_multiples[i] + 8));
        r->l[i] = _mm512_sub_epi64(i < 4 ? _mm512_and_si512(t.l[i], mask) : t.l[i], multiple);
    }
}

/* loose below 35 r -> words, fully reduced. The quotient by r is estimated from the top limb after carries: what is
 * left is below r (1 + 2^-21) and has r taken off where it can be. */
ZK_INLINE void zk_fr52x8_to_words(__m512i w[4], const zk_fr52x8 *a) {
    const __m512i mask = zk_w8_set1(ZK_FR52_MASK);
    /* 2^260 - r */
    const uint64_t n[5] = {0x00000ffffffff, 0xfd0001a401000, 0x65e27faac425b, 0x82b7ccc627f7f, 0xf8c1258acd662};
    zk_fr52x8 t, u;
    zk_fr52x8_carry_factor(&t, a);
    __m512i q = zk_fr52_quotient(t.l[4]);
    ZK_UNROLL for (int i = 0; i < 4; i++) t.l[i] = _mm512_and_si512(t.l[i], mask);
    ZK_UNROLL for (int i = 0; i < 5; i++) t.l[i] = _mm512_madd52lo_epu64(t.l[i], q, zk_w8_set1(n[i]));
    ZK_UNROLL for (int i = 0; i < 4; i++) t.l[i + 1] = _mm512_madd52hi_epu64(t.l[i + 1], q, zk_w8_set1(n[i]));
    zk_fr52x8_carry_factor(&t, &t);
    ZK_UNROLL for (int i = 0; i < 5; i++) t.l[i] = _mm512_and_si512(t.l[i], mask);
    ZK_UNROLL for (int i = 0; i < 5; i++) u.l[i] = _mm512_sub_epi64(t.l[i], zk_w8_set1(zk_fr52_multiples[i][1]));
    zk_fr52x8_carry_factor(&u, &u);
    __mmask8 less = _mm512_movepi64_mask(u.l[4]);
    ZK_UNROLL for (int i = 0; i < 4; i++) t.l[i] = _mm512_mask_and_epi64(t.l[i], (__mmask8)~less, u.l[i], mask);
    t.l[4] = _mm512_mask_mov_epi64(u.l[4], less, t.l[4]);
    ZK_UNROLL for (int i = 0; i < 4; i++) w[i] = _mm512_or_si512(
        _mm512_srli_epi64(t.l[i], (unsigned)(12 * i)), _mm512_slli_epi64(t.l[i + 1], (unsigned)(52 - 12 * i)));
}

/* Eight consecutive elements <-> four words a lane. */
ZK_INLINE void zk_fr52x8_load_words(__m512i w[4], const zk_fr *x) {
    const __m512i low = _mm512_set_epi64(13, 9, 5, 1, 12, 8, 4, 0), high = _mm512_set_epi64(15, 11, 7, 3, 14, 10, 6, 2);
    __m512i in[4];
    ZK_UNROLL for (int i = 0; i < 4; i++) in[i] = _mm512_loadu_si512(x + 2 * i);
    __m512i a = _mm512_permutex2var_epi64(in[0], low, in[1]), b = _mm512_permutex2var_epi64(in[2], low, in[3]);
    __m512i c = _mm512_permutex2var_epi64(in[0], high, in[1]), d = _mm512_permutex2var_epi64(in[2], high, in[3]);
    w[0] = _mm512_shuffle_i64x2(a, b, 0x44);
    w[1] = _mm512_shuffle_i64x2(a, b, 0xee);
    w[2] = _mm512_shuffle_i64x2(c, d, 0x44);
    w[3] = _mm512_shuffle_i64x2(c, d, 0xee);
}
ZK_INLINE void zk_fr52x8_store_words(zk_fr *x, const __m512i w[4]) {
    const __m512i even = _mm512_set_epi64(13, 9, 5, 1, 12, 8, 4, 0), odd = _mm512_set_epi64(15, 11, 7, 3, 14, 10, 6, 2);
    /* a: words 0, 1 of elements 0..3; c: words 2, 3 of them; b, d: of elements 4..7 */
    __m512i a = _mm512_shuffle_i64x2(w[0], w[1], 0x44), b = _mm512_shuffle_i64x2(w[0], w[1], 0xee);
    __m512i c = _mm512_shuffle_i64x2(w[2], w[3], 0x44), d = _mm512_shuffle_i64x2(w[2], w[3], 0xee);
    _mm512_storeu_si512(x, _mm512_permutex2var_epi64(a, even, c));
    _mm512_storeu_si512(x + 2, _mm512_permutex2var_epi64(a, odd, c));
    _mm512_storeu_si512(x + 4, _mm512_permutex2var_epi64(b, even, d));
    _mm512_storeu_si512(x + 6, _mm512_permutex2var_epi64(b, odd, d));
}

#endif
