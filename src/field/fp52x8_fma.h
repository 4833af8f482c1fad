/* Products of field/fp52x8.h, which includes this, by field/v4_fma.h. One half of the lanes is worked on after the
 * other: nine sums and five operands fill the sixteen registers. */
#ifndef ZK_FIELD_FP52X8_FMA_H
#define ZK_FIELD_FP52X8_FMA_H

#include "field/v4_fma.h"

/* Of a product; of the eight rows of a reduction, and the carries into limbs 1 .. 7. */
#define ZK_START_PRODUCT(c) ZK_V4_START(ZK_ROWS_LOW(c, 0, 7, 8), ZK_ROWS_HIGH(c, 0, 7, 8), 0)
#define ZK_START_REDUCTION(c) ZK_V4_START(ZK_REDUCTION_LOW(c), ZK_REDUCTION_HIGH(c), (c) > 0 && (c) < 8)
#define ZK_REDUCTION_LOW(c) (ZK_ROWS_LOW(c, 1, 7, 8) + ZK_ROWS_LOW(c, 7, 7, 8))
#define ZK_REDUCTION_HIGH(c) (ZK_ROWS_HIGH(c, 1, 7, 8) + ZK_ROWS_HIGH(c, 7, 7, 8))
#define ZK_START_BOTH(c)                                                                                               \
    ZK_V4_START(ZK_ROWS_LOW(c, 0, 7, 8) + ZK_REDUCTION_LOW(c), ZK_ROWS_HIGH(c, 0, 7, 8) + ZK_REDUCTION_HIGH(c),        \
                (c) > 0 && (c) < 8)

/* What becomes of the limbs of a result: see fp52x8.h. */
typedef enum zk_fp52_form { ZK_FP52_LOOSE, ZK_FP52_FACTOR, ZK_FP52_TIGHT } zk_fp52_form;

/* Limbs 8 .. 15, w[1..8], and the carry of limb 7, w[0]. */
ZK_INLINE void zk_fp52x4_finish(zk_fp52x8 *r, const int half, const __m256i w[9], const zk_fp52_form form) {
    __m256i below = w[0];
    ZK_UNROLL for (int k = 0; k < 8; k++) {
        const __m256i limb = k == 0 || form != ZK_FP52_LOOSE ? zk_v4_add_carry(w[k + 1], below) : w[k + 1];
        r->l[k].h[half] = form == ZK_FP52_TIGHT && k < 7 ? _mm256_and_si256(limb, zk_v4_set1(ZK_MASK_52)) : limb;
        below = limb;
    }
}

/* The last step of a reduction: w[0..8] are limbs 7 .. 15. */
ZK_INLINE void zk_fp52x4_last_step(__m256i w[9], zk_v4_constants c) {
    const __m256d *table = (const __m256d *)zk_fp52_reduction_doubles;
    __m256i low = _mm256_setzero_si256(), high = low;
    zk_v4_step(&low, &high, &table[16], zk_v4_double(w[0]), c);
    zk_v4_row(w, table + 8, zk_v4_double(low), c, 8);
}

/* r = a b / R in one half of the lanes: a row of the product, a step of the reduction by turns, so that products hide
 * the time from one quotient to the next. */
ZK_INLINE void zk_fp52x4_mul(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b, const int half,
                             const zk_fp52_form form) {
    const zk_v4_constants c = zk_v4_constants_set();
    const __m256d *m = (const __m256d *)zk_fp52_reduction_doubles;
    __m256d factor[8];
    __m256i w[10];
    ZK_UNROLL for (int i = 0; i < 8; i++) factor[i] = zk_v4_double(a->l[i].h[half]);
    ZK_UNROLL for (int i = 0; i < 8; i++) w[i] = ZK_START_BOTH(i);
    w[8] = ZK_START_BOTH(8);
    ZK_UNROLL for (int j = 0; j < 7; j++) {
        zk_v4_row(w, factor, zk_v4_double(b->l[j].h[half]), c, 8);
        const __m256d q = zk_v4_double(w[0]);
        w[1] = _mm256_add_epi64(w[1], zk_v4_carry(w[0]));
        w[9] = ZK_START_BOTH(j + 9);
        zk_v4_row(w + 1, m, q, c, 8);
        ZK_UNROLL for (int k = 0; k < 8; k++) w[k] = w[k + 1];
        w[8] = w[9];
    }
    zk_v4_row(w, factor, zk_v4_double(b->l[7].h[half]), c, 8);
    zk_fp52x4_last_step(w, c);
    zk_fp52x4_finish(r, half, w, form);
}

/* r = a^2 / R. As zk_fp52x4_mul, but row j has only a_j^2 and a_j times 2 (a_(j+1) + a_(j+2) 2^52 + ...), in limbs
 * below 2^52: all but the first take the bit that doubling drives out of the limb below. */
ZK_INLINE void zk_fp52x4_sqr(zk_fp52x8 *r, const zk_fp52x8 *a, const int half, const zk_fp52_form form) {
    /* pairs i + k = c, i <= k */
#define PAIRS(c) ((c) < 0 || (c) > 14 ? 0 : (c) / 2 - ((c) > 7 ? (c)-7 : 0) + 1)
#define START(c) ZK_V4_START(PAIRS(c) + ZK_REDUCTION_LOW(c), PAIRS((c)-1) + ZK_REDUCTION_HIGH(c), (c) > 0 && (c) < 8)
    const zk_v4_constants c = zk_v4_constants_set();
    const __m256d *m = (const __m256d *)zk_fp52_reduction_doubles;
    __m256d once[8], twice[8], first_twice[8];
    __m256i w[10];
    ZK_UNROLL for (int i = 0; i < 8; i++) {
        const __m256i limb = a->l[i].h[half], doubled = _mm256_add_epi64(limb, limb);
        once[i] = zk_v4_double(limb);
        first_twice[i] = zk_v4_double(doubled);
        if (i < 2) continue;
        const __m256i bit = _mm256_and_si256(_mm256_srli_epi64(a->l[i - 1].h[half], 51), zk_v4_set1(1));
        twice[i] = zk_v4_double(_mm256_or_si256(doubled, bit));
    }
    ZK_UNROLL for (int i = 0; i < 8; i++) w[i] = START(i);
    w[8] = START(8);
    ZK_UNROLL for (int j = 0; j < 7; j++) {
        zk_v4_step(&w[j], &w[j + 1], &once[j], once[j], c);
        zk_v4_step(&w[j + 1], &w[j + 2], &first_twice[j + 1], once[j], c);
        ZK_UNROLL for (int k = j + 2; k < 8; k++) zk_v4_step(&w[k], &w[k + 1], &twice[k], once[j], c);
        const __m256d q = zk_v4_double(w[0]);
        w[1] = _mm256_add_epi64(w[1], zk_v4_carry(w[0]));
        w[9] = START(j + 9);
        zk_v4_row(w + 1, m, q, c, 8);
        ZK_UNROLL for (int k = 0; k < 8; k++) w[k] = w[k + 1];
        w[8] = w[9];
    }
    zk_v4_step(&w[7], &w[8], &once[7], once[7], c);
    zk_fp52x4_last_step(w, c);
    zk_fp52x4_finish(r, half, w, form);
#undef START
#undef PAIRS
}

/* t = a b, in one half of the lanes */
ZK_INLINE void zk_fp52x4_product(zk_v8 t[16], const zk_fp52x8 *a, const zk_fp52x8 *b, const int half) {
    const zk_v4_constants c = zk_v4_constants_set();
    __m256d factor[8];
    __m256i w[9];
    ZK_UNROLL for (int i = 0; i < 8; i++) factor[i] = zk_v4_double(a->l[i].h[half]);
    ZK_UNROLL for (int i = 0; i < 8; i++) w[i] = ZK_START_PRODUCT(i);
    w[8] = ZK_START_PRODUCT(8);
    ZK_UNROLL for (int j = 0; j < 8; j++) {
        zk_v4_row(w, factor, zk_v4_double(b->l[j].h[half]), c, 8);
        t[j].h[half] = w[0];
        ZK_UNROLL for (int k = 0; k < 8; k++) w[k] = w[k + 1];
        w[8] = ZK_START_PRODUCT(j + 9);
    }
    ZK_UNROLL for (int k = 0; k < 8; k++) t[8 + k].h[half] = w[k];
}

/* r = t / R, in one half of the lanes */
ZK_INLINE void zk_fp52x4_montgomery(zk_fp52x8 *r, const zk_v8 t[16], const int half, const zk_fp52_form form) {
    const zk_v4_constants c = zk_v4_constants_set();
    const __m256d *m = (const __m256d *)zk_fp52_reduction_doubles;
    __m256i w[10];
    ZK_UNROLL for (int i = 0; i < 8; i++) w[i] = _mm256_add_epi64(t[i].h[half], ZK_START_REDUCTION(i));
    w[8] = _mm256_add_epi64(t[8].h[half], ZK_START_REDUCTION(8));
    ZK_UNROLL for (int i = 0; i < 7; i++) {
        const __m256d q = zk_v4_double(w[0]);
        w[1] = _mm256_add_epi64(w[1], zk_v4_carry(w[0]));
        w[9] = _mm256_add_epi64(t[i + 9].h[half], ZK_START_REDUCTION(i + 9));
        zk_v4_row(w + 1, m, q, c, 8);
        ZK_UNROLL for (int k = 0; k < 8; k++) w[k] = w[k + 1];
        w[8] = w[9];
    }
    zk_fp52x4_last_step(w, c);
    zk_fp52x4_finish(r, half, w, form);
}

/* ---- What fp52x8_ifma.h has, with its contracts ---- */

/* A limb, of up to 55 bits, of q p, q in 0 .. 7. */
ZK_INLINE zk_v8 zk_fp52x8_multiple(zk_v8 q, const int limb) { return zk_v8_mul_small(q, zk_fp52_multiples[limb][1]); }

/* loose -> tight, of the same value. */
ZK_INLINE void zk_fp52x8_carry(zk_fp52x8 *r, const zk_fp52x8 *a) {
    ZK_UNROLL for (int half = 0; half < 2; half++) {
        __m256i t = a->l[0].h[half];
        ZK_UNROLL for (int i = 0; i < 7; i++) {
            r->l[i].h[half] = _mm256_and_si256(t, zk_v4_set1(ZK_MASK_52));
            t = zk_v4_add_carry(a->l[i + 1].h[half], t);
        }
        r->l[7].h[half] = t;
    }
}

/* loose -> factor. Carries without the masks. */
ZK_INLINE void zk_fp52x8_carry_factor(zk_fp52x8 *r, const zk_fp52x8 *a) {
    ZK_UNROLL for (int half = 0; half < 2; half++) {
        __m256i t = a->l[0].h[half];
        r->l[0].h[half] = t;
        ZK_UNROLL for (int i = 0; i < 7; i++) {
            t = zk_v4_add_carry(a->l[i + 1].h[half], t);
            r->l[i + 1].h[half] = t;
        }
    }
}

ZK_INLINE void zk_fp52x8_product(zk_v8 t[16], const zk_fp52x8 *a, const zk_fp52x8 *b) {
    ZK_BOTH_HALVES(zk_fp52x4_product(t, a, b, half));
}
ZK_INLINE void zk_fp52x8_montgomery(zk_fp52x8 *r, zk_v8 t[16]) {
    ZK_BOTH_HALVES(zk_fp52x4_montgomery(r, t, half, ZK_FP52_LOOSE));
}
ZK_INLINE void zk_fp52x8_mul_loose(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b) {
    ZK_BOTH_HALVES(zk_fp52x4_mul(r, a, b, half, ZK_FP52_LOOSE));
}
ZK_INLINE void zk_fp52x8_mul_factor(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b) {
    ZK_BOTH_HALVES(zk_fp52x4_mul(r, a, b, half, ZK_FP52_FACTOR));
}
ZK_INLINE void zk_fp52x8_mul(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b) {
    ZK_BOTH_HALVES(zk_fp52x4_mul(r, a, b, half, ZK_FP52_TIGHT));
}
ZK_INLINE void zk_fp52x8_sqr_loose(zk_fp52x8 *r, const zk_fp52x8 *a) {
    ZK_BOTH_HALVES(zk_fp52x4_sqr(r, a, half, ZK_FP52_LOOSE));
}
ZK_INLINE void zk_fp52x8_sqr(zk_fp52x8 *r, const zk_fp52x8 *a) {
    ZK_BOTH_HALVES(zk_fp52x4_sqr(r, a, half, ZK_FP52_TIGHT));
}

#endif
