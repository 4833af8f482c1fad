/* Products of field/fp52x8.h, which includes this, by field/v4_fma.h. One half of the lanes is worked on after the
 * other: nine sums and five operands fill the sixteen registers. */
#ifndef ZK_FIELD_FP52X8_FMA_H
#define ZK_FIELD_FP52X8_FMA_H

#include "field/v4_fma.h"

/* zk_fp52_reduction as numbers, in all lanes. */
extern const double zk_fp52_reduction_doubles[17][4];

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
    __m256i carry = zk_v4_carry(w[0]);
    ZK_UNROLL for (int k = 0; k < 8; k++) {
        __m256i limb = w[k + 1];
        if (k == 0 || form != ZK_FP52_LOOSE) limb = _mm256_add_epi64(_mm256_sub_epi64(limb, zk_v4_set1(1024)), carry);
        r->l[k].h[half] = form == ZK_FP52_TIGHT && k < 7 ? _mm256_and_si256(limb, zk_v4_set1(ZK_FP52_MASK)) : limb;
        carry = zk_v4_carry(limb);
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

/* t = a b */
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

/* t = a^2. Row j adds a_j a_i, i > j, to columns 2j + 1 .. j + 8; the first two are complete then, and are doubled. */
ZK_INLINE void zk_fp52x4_product_sqr(zk_v8 t[16], const zk_fp52x8 *a, const int half) {
    const zk_v4_constants c = zk_v4_constants_set();
    __m256d factor[8];
    __m256i w[16];
    ZK_UNROLL for (int i = 0; i < 8; i++) factor[i] = zk_v4_double(a->l[i].h[half]);
    /* column c: pairs i + j = c with i > j have their low halves there, pairs with i + j = c - 1 their high ones */
#define PAIRS(c) ((c) < 0 ? 0 : (c) < 8 ? ((c) + 1) / 2 : (c) < 14 ? (15 - (c)) / 2 : 0)
#define START_SQUARE(c) ZK_V4_START(PAIRS(c), PAIRS((c)-1), 0)
    ZK_UNROLL for (int i = 1; i < 9; i++) w[i] = START_SQUARE(i);
    __m256i low = ZK_V4_START(1, 0, 0), high = ZK_V4_START(0, 1, 0);
    zk_v4_step(&low, &high, &factor[0], factor[0], c);
    t[0].h[half] = low;
    ZK_UNROLL for (int j = 0; j < 7; j++) {
        ZK_UNROLL for (int i = j + 1; i < 8; i++) zk_v4_step(&w[i + j], &w[i + j + 1], &factor[i], factor[j], c);
        t[2 * j + 1].h[half] = _mm256_add_epi64(_mm256_add_epi64(w[2 * j + 1], w[2 * j + 1]), high);
        low = _mm256_add_epi64(_mm256_add_epi64(w[2 * j + 2], w[2 * j + 2]), ZK_V4_START(1, 0, 0));
        high = ZK_V4_START(0, 1, 0);
        zk_v4_step(&low, &high, &factor[j + 1], factor[j + 1], c);
        t[2 * j + 2].h[half] = low;
        if (j < 6) w[j + 9] = START_SQUARE(j + 9);
    }
    t[15].h[half] = high;
#undef START_SQUARE
#undef PAIRS
}

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

/* ---- What fp52x8_ifma.h has ---- */

/* A limb, of up to 55 bits, of q p, q in 0 .. 7. */
ZK_INLINE zk_v8 zk_fp52x8_multiple(zk_v8 q, const int limb) {
    const uint64_t p = zk_fp52_multiples[limb][1];
    return zk_v8_add(zk_v8_mul_low32(q, zk_v8_set1(p)), zk_v8_slli(zk_v8_mul_low32(q, zk_v8_set1(p >> 32)), 32));
}

/* loose -> tight, of the same value. */
ZK_INLINE void zk_fp52x8_carry(zk_fp52x8 *r, const zk_fp52x8 *a) {
    ZK_UNROLL for (int half = 0; half < 2; half++) {
        __m256i t = a->l[0].h[half];
        ZK_UNROLL for (int i = 0; i < 7; i++) {
            r->l[i].h[half] = _mm256_and_si256(t, zk_v4_set1(ZK_FP52_MASK));
            t = _mm256_add_epi64(_mm256_sub_epi64(a->l[i + 1].h[half], zk_v4_set1(1024)), zk_v4_carry(t));
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
            t = _mm256_add_epi64(_mm256_sub_epi64(a->l[i + 1].h[half], zk_v4_set1(1024)), zk_v4_carry(t));
            r->l[i + 1].h[half] = t;
        }
    }
}

ZK_INLINE void zk_fp52x8_product(zk_v8 t[16], const zk_fp52x8 *a, const zk_fp52x8 *b) {
    ZK_BOTH_HALVES(zk_fp52x4_product(t, a, b, half));
}
ZK_INLINE void zk_fp52x8_product_sqr(zk_v8 t[16], const zk_fp52x8 *a) {
    ZK_BOTH_HALVES(zk_fp52x4_product_sqr(t, a, half));
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
    zk_v8 t[16];
    zk_fp52x8_product_sqr(t, a);
    ZK_BOTH_HALVES(zk_fp52x4_montgomery(r, t, half, ZK_FP52_LOOSE));
}
ZK_INLINE void zk_fp52x8_sqr(zk_fp52x8 *r, const zk_fp52x8 *a) {
    zk_v8 t[16];
    zk_fp52x8_product_sqr(t, a);
    ZK_BOTH_HALVES(zk_fp52x4_montgomery(r, t, half, ZK_FP52_TIGHT));
}

#endif
