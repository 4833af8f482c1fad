/* Products of field/fr52x8.h, which includes this, by field/v4_fma.h. */
#ifndef ZK_FIELD_FR52X8_FMA_H
#define ZK_FIELD_FR52X8_FMA_H

#include "field/v4_fma.h"

/* loose -> factor of the same value. */
ZK_INLINE void zk_fr52x8_carry_factor(zk_fr52x8 *r, const zk_fr52x8 *a) {
    ZK_UNROLL for (int half = 0; half < 2; half++) {
        __m256i t = a->l[0].h[half];
        r->l[0].h[half] = t;
        ZK_UNROLL for (int i = 0; i < 4; i++) {
            t = zk_v4_add_carry(a->l[i + 1].h[half], t);
            r->l[i + 1].h[half] = t;
        }
    }
}

/* A limb, of up to 58 bits, of q r, q below 2^6. */
ZK_INLINE zk_v8 zk_fr52x8_multiple(zk_v8 q, const int limb) { return zk_v8_mul_small(q, zk_fr52_multiples[limb][1]); }
/* t - q r, loose; q below 36. */
ZK_INLINE void zk_fr52x8_take_multiple(zk_fr52x8 *t, zk_v8 q) {
    ZK_UNROLL for (int i = 0; i < 5; i++) t->l[i] = zk_v8_sub(t->l[i], zk_fr52x8_multiple(q, i));
}

/* Of a product; of a reduction, three rows by m and two by r, and the carries into limbs 1 .. 5. */
#define ZK_FR_PRODUCT_LOW(c) ZK_ROWS_LOW(c, 0, 4, 5)
#define ZK_FR_PRODUCT_HIGH(c) ZK_ROWS_HIGH(c, 0, 4, 5)
#define ZK_FR_REDUCTION_LOW(c) (ZK_ROWS_LOW(c, 1, 3, 5) + ZK_ROWS_LOW(c, 3, 4, 5))
#define ZK_FR_REDUCTION_HIGH(c) (ZK_ROWS_HIGH(c, 1, 3, 5) + ZK_ROWS_HIGH(c, 3, 4, 5))
#define ZK_FR_START(c)                                                                                                 \
    ZK_V4_START(ZK_FR_PRODUCT_LOW(c) + ZK_FR_REDUCTION_LOW(c), ZK_FR_PRODUCT_HIGH(c) + ZK_FR_REDUCTION_HIGH(c),        \
                (c) > 0 && (c) < 6)
#define ZK_FR_START_REDUCTION(c) ZK_V4_START(ZK_FR_REDUCTION_LOW(c), ZK_FR_REDUCTION_HIGH(c), (c) > 0 && (c) < 6)

/* The number that makes limb + q r a multiple of 2^52: -1/r = -1 - 2^32 modulo that. */
ZK_INLINE __m256d zk_fr52x4_quotient(__m256i limb) {
    return zk_v4_double(_mm256_sub_epi64(_mm256_setzero_si256(), _mm256_add_epi64(limb, _mm256_slli_epi64(limb, 32))));
}

/* Step j of the reduction of fr52x8_ifma.h: w[0..6] are the limbs from j on, and one further then. */
ZK_INLINE void zk_fr52x4_reduction_step(__m256i w[7], const int j, zk_v4_constants c) {
    const __m256d *m = (const __m256d *)zk_fr52_reduction_doubles;
    if (j < 3) {
        const __m256d q = zk_v4_double(w[0]);
        w[1] = _mm256_add_epi64(w[1], zk_v4_carry(w[0]));
        zk_v4_row(w + 1, m, q, c, 5);
    } else {
        zk_v4_row(w, m + 5, zk_fr52x4_quotient(w[0]), c, 5);
        w[1] = _mm256_add_epi64(w[1], zk_v4_carry(w[0]));
    }
    ZK_UNROLL for (int k = 0; k < 6; k++) w[k] = w[k + 1];
}

/* a b / R, loose, below (magnitude of a)(magnitude of b) / 35.3 + 1.01; a, b factors. Rows of the product and of the
 * reduction, and the halves of the lanes, take turns: what a quotient waits for is hidden. b is converted beforehand,
 * which a loop over many a does once. */
ZK_INLINE void zk_fr52x8_mul_loose(zk_fr52x8 *r, const zk_fr52x8 *a, const zk_fr52x8 *b) {
    const zk_v4_constants c = zk_v4_constants_set();
    __m256d factor[2][5];
    __m256i w[2][7];
    ZK_UNROLL for (int half = 0; half < 2; half++) {
        ZK_UNROLL for (int i = 0; i < 5; i++) factor[half][i] = zk_v4_double(b->l[i].h[half]);
        ZK_UNROLL for (int i = 0; i < 6; i++) w[half][i] = ZK_FR_START(i);
    }
    ZK_UNROLL for (int j = 0; j < 5; j++) {
        ZK_UNROLL for (int half = 0; half < 2; half++)
            zk_v4_row(w[half], factor[half], zk_v4_double(a->l[j].h[half]), c, 5);
        ZK_UNROLL for (int half = 0; half < 2; half++) {
            w[half][6] = ZK_FR_START(j + 6);
            zk_fr52x4_reduction_step(w[half], j, c);
        }
    }
    ZK_UNROLL for (int half = 0; half < 2; half++) {
        ZK_UNROLL for (int k = 0; k < 5; k++) r->l[k].h[half] = w[half][k];
    }
}

/* r = t / R, loose, below t / R + r (1 + 2^-50). */
ZK_INLINE void zk_fr52x8_montgomery(zk_fr52x8 *r, const zk_v8 t[10]) {
    const zk_v4_constants c = zk_v4_constants_set();
    __m256i w[2][7];
    ZK_UNROLL for (int half = 0; half < 2; half++) {
        ZK_UNROLL for (int i = 0; i < 6; i++) w[half][i] = _mm256_add_epi64(t[i].h[half], ZK_FR_START_REDUCTION(i));
    }
    ZK_UNROLL for (int j = 0; j < 5; j++) {
        ZK_UNROLL for (int half = 0; half < 2; half++) {
            w[half][6] = j < 4 ? _mm256_add_epi64(t[j + 6].h[half], ZK_FR_START_REDUCTION(j + 6)) : w[half][5];
            zk_fr52x4_reduction_step(w[half], j, c);
        }
    }
    ZK_UNROLL for (int half = 0; half < 2; half++) {
        ZK_UNROLL for (int k = 0; k < 5; k++) r->l[k].h[half] = w[half][k];
    }
}

/* r = a^2 / R, loose; a a factor. */
ZK_INLINE void zk_fr52x8_sqr_loose(zk_fr52x8 *r, const zk_fr52x8 *a) { zk_fr52x8_mul_loose(r, a, a); }

/* t += sum a[i] b[i stride], i < n */
ZK_INLINE void zk_fr52x8_accumulate(zk_v8 t[10], const zk_fr52x8 *a, const zk_fr52 *b, size_t stride, size_t n) {
    const zk_v4_constants c = zk_v4_constants_set();
    ZK_UNROLL for (int half = 0; half < 2; half++) {
        __m256i w[10];
        ZK_UNROLL for (int i = 0; i < 5; i++) {
            w[i] = _mm256_add_epi64(t[i].h[half], ZK_V4_START(n * ZK_FR_PRODUCT_LOW(i), n * ZK_FR_PRODUCT_HIGH(i), 0));
            w[i + 5] = _mm256_add_epi64(t[i + 5].h[half],
                                        ZK_V4_START(n * ZK_FR_PRODUCT_LOW(i + 5), n * ZK_FR_PRODUCT_HIGH(i + 5), 0));
        }
        for (size_t k = 0; k < n; k++) {
            __m256d factor[5];
            ZK_UNROLL for (int i = 0; i < 5; i++) factor[i] = zk_v4_double(a[k].l[i].h[half]);
            ZK_UNROLL for (int j = 0; j < 5; j++)
                zk_v4_row(w + j, factor, zk_v4_double(zk_v4_set1(b[k * stride].l[j])), c, 5);
        }
        ZK_UNROLL for (int i = 0; i < 5; i++) {
            t[i].h[half] = w[i];
            t[i + 5].h[half] = w[i + 5];
        }
    }
}

/* Eight consecutive elements <-> four words a lane. */
ZK_INLINE void zk_fr52x8_load_words(zk_v8 w[4], const zk_fr *x) {
    ZK_UNROLL for (int half = 0; half < 2; half++) {
        __m256i row[4], t[4];
        ZK_UNROLL for (int k = 0; k < 4; k++) row[k] = _mm256_loadu_si256((const __m256i *)(x + 4 * half + k));
        zk_v4_transpose(t, row);
        ZK_UNROLL for (int i = 0; i < 4; i++) w[i].h[half] = t[i];
    }
}
ZK_INLINE void zk_fr52x8_store_words(zk_fr *x, const zk_v8 w[4]) {
    ZK_UNROLL for (int half = 0; half < 2; half++) {
        __m256i a[4], row[4];
        ZK_UNROLL for (int i = 0; i < 4; i++) a[i] = w[i].h[half];
        zk_v4_transpose(row, a);
        ZK_UNROLL for (int k = 0; k < 4; k++) _mm256_storeu_si256((__m256i *)(x + 4 * half + k), row[k]);
    }
}

#endif
