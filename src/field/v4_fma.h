/* Products of limbs of 52 bits in double-precision arithmetic, four at a time, for AVX2 and FMA.
 *
 * Rounding must be toward zero (field/rounding.h). For integers a, b below 2^52
 *
 *   high = fma(a, b, 2^104)                      = 2^104 + 2^52 floor(a b / 2^52)
 *   low  = fma(a, b, (2^104 + 2^52) - high)      = 2^52 + (a b mod 2^52)
 *
 * as what follows the leading bit of a number in [2^104, 2^105) counts 2^52, and all else here is exact. The last 52
 * bits of both patterns are the halves of the product, as vpmadd52 has them; patterns are added as integers, and the
 * sums start from minus the sum of the exponents, so bounds are those of vpmadd52 and its code is followed step by
 * step. A step takes five operations: one and a half cycles or so for four lanes.
 */
#ifndef ZK_FIELD_V4_FMA_H
#define ZK_FIELD_V4_FMA_H

#include "field/v8.h"

#define ZK_DOUBLE_HIGH 0x4670000000000000u /* pattern of 2^104 */
#define ZK_DOUBLE_LOW 0x4330000000000000u  /* and of 2^52 */

ZK_INLINE __m256i zk_v4_set1(uint64_t x) { return _mm256_set1_epi64x((long long)x); }

/* The low 52 bits as a number. */
ZK_INLINE __m256d zk_v4_double(__m256i a) {
    const __m256i exponent = zk_v4_set1(ZK_DOUBLE_LOW);
    const __m256i bits = _mm256_or_si256(_mm256_and_si256(a, zk_v4_set1(ZK_MASK_52)), exponent);
    return _mm256_sub_pd(_mm256_castsi256_pd(bits), _mm256_castsi256_pd(exponent));
}

typedef struct zk_v4_constants {
    __m256d high, both; /* 2^104, 2^104 + 2^52 */
} zk_v4_constants;
ZK_INLINE zk_v4_constants zk_v4_constants_set(void) {
    return (zk_v4_constants){_mm256_set1_pd(0x1p104), _mm256_set1_pd(0x1p104 + 0x1p52)};
}

/* low += pattern of the low half, high += pattern of the high half. In one statement: the compiler knows nothing of
 * the rounding, and its own order costs spills. */
ZK_INLINE void zk_v4_step(__m256i *low, __m256i *high, const __m256d *a, __m256d b, zk_v4_constants c) {
    __m256d h, s;
    __asm__("vmovapd %[a], %[h]\n\t"
            "vfmadd213pd %[c1], %[b], %[h]\n\t"
            "vsubpd %[h], %[c2], %[s]\n\t"
            "vpaddq %[h], %[high], %[high]\n\t"
            "vfmadd231pd %[a], %[b], %[s]\n\t"
            "vpaddq %[s], %[low], %[low]"
            : [low] "+x"(*low), [high] "+x"(*high), [h] "=&x"(h), [s] "=&x"(s)
            : [a] "m"(*a), [b] "x"(b), [c1] "xm"(c.high), [c2] "x"(c.both));
}

/* t[0..n] += a[0..n - 1] b, n at most 8 */
ZK_INLINE void zk_v4_row(__m256i *t, const __m256d *a, __m256d b, zk_v4_constants c, const int n) {
    ZK_UNROLL for (int k = 0; k < n; k++) zk_v4_step(&t[k], &t[k + 1], &a[k], b, c);
}

/* Minus the exponents of n_low and n_high patterns, minus 2^10 more if a carry is added that is so much too large. */
#define ZK_V4_START(n_low, n_high, carry)                                                                              \
    zk_v4_set1((uint64_t)0 - (uint64_t)(n_low)*ZK_DOUBLE_LOW - (uint64_t)(n_high)*ZK_DOUBLE_HIGH -                     \
               (uint64_t)(carry)*1024)
/* Rows first .. last, the first product of each in the column of its number, n products long: how many halves column c
 * gets. */
#define ZK_ROWS_LOW(c, first, last, n)                                                                                 \
    ((c) < (first) || (c) >= (last) + (n)                                                                              \
         ? 0                                                                                                           \
         : ((c) < (last) ? (c) : (last)) - ((c) - (n) + 1 > (first) ? (c) - (n) + 1 : (first)) + 1)
#define ZK_ROWS_HIGH(c, first, last, n) ZK_ROWS_LOW((c)-1, first, last, n)

/* floor(a / 2^52) + 2^10, |a| < 2^62 */
ZK_INLINE __m256i zk_v4_carry(__m256i a) {
    return _mm256_srli_epi64(_mm256_add_epi64(a, zk_v4_set1((uint64_t)1 << 62)), 52);
}
/* limb + floor(below / 2^52), |below| < 2^62 */
ZK_INLINE __m256i zk_v4_add_carry(__m256i limb, __m256i below) {
    return _mm256_add_epi64(_mm256_sub_epi64(limb, zk_v4_set1(1024)), zk_v4_carry(below));
}

/* q x, q below 2^6, x below 2^58 */
ZK_INLINE zk_v8 zk_v8_mul_small(zk_v8 q, const uint64_t x) {
    return zk_v8_add(zk_v8_mul_low32(q, zk_v8_set1(x)), zk_v8_slli(zk_v8_mul_low32(q, zk_v8_set1(x >> 32)), 32));
}

ZK_INLINE zk_v8 zk_v8_madd52lo(zk_v8 t, zk_v8 a, zk_v8 b) {
    ZK_UNROLL for (int half = 0; half < 2; half++) {
        const __m256d factor = zk_v4_double(a.h[half]);
        __m256i high = _mm256_setzero_si256();
        t.h[half] = _mm256_add_epi64(t.h[half], ZK_V4_START(1, 0, 0));
        zk_v4_step(&t.h[half], &high, &factor, zk_v4_double(b.h[half]), zk_v4_constants_set());
    }
    return t;
}
ZK_INLINE zk_v8 zk_v8_madd52hi(zk_v8 t, zk_v8 a, zk_v8 b) {
    ZK_UNROLL for (int half = 0; half < 2; half++) {
        const __m256d factor = zk_v4_double(a.h[half]);
        __m256i low = _mm256_setzero_si256();
        t.h[half] = _mm256_add_epi64(t.h[half], ZK_V4_START(0, 1, 0));
        zk_v4_step(&low, &t.h[half], &factor, zk_v4_double(b.h[half]), zk_v4_constants_set());
    }
    return t;
}

#define ZK_BOTH_HALVES(call)                                                                                           \
    do { ZK_UNROLL for (int half = 0; half < 2; half++) call; } while (0)

#endif
