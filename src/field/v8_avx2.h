/* See v8.h, which includes this in files built for AVX2 and FMA. */
#ifndef ZK_FIELD_V8_AVX2_H
#define ZK_FIELD_V8_AVX2_H

#include "field/v8_tables.h"

#define ZK_V8_IFMA 0

typedef struct zk_v8 {
    __m256i h[2]; /* lanes 0 .. 3 and 4 .. 7 */
} zk_v8;
typedef struct zk_w16 {
    __m256i h[2];
} zk_w16;

#define ZK_EACH_HALF(type, expression)                                                                                 \
    do {                                                                                                               \
        type r_;                                                                                                       \
        ZK_UNROLL for (int i = 0; i < 2; i++) r_.h[i] = (expression);                                                  \
        return r_;                                                                                                     \
    } while (0)

ZK_INLINE zk_v8 zk_v8_zero(void) { ZK_EACH_HALF(zk_v8, _mm256_setzero_si256()); }
ZK_INLINE zk_v8 zk_v8_set1(uint64_t x) { ZK_EACH_HALF(zk_v8, _mm256_set1_epi64x((long long)x)); }
ZK_INLINE zk_v8 zk_v8_add(zk_v8 a, zk_v8 b) { ZK_EACH_HALF(zk_v8, _mm256_add_epi64(a.h[i], b.h[i])); }
ZK_INLINE zk_v8 zk_v8_sub(zk_v8 a, zk_v8 b) { ZK_EACH_HALF(zk_v8, _mm256_sub_epi64(a.h[i], b.h[i])); }
ZK_INLINE zk_v8 zk_v8_and(zk_v8 a, zk_v8 b) { ZK_EACH_HALF(zk_v8, _mm256_and_si256(a.h[i], b.h[i])); }
ZK_INLINE zk_v8 zk_v8_or(zk_v8 a, zk_v8 b) { ZK_EACH_HALF(zk_v8, _mm256_or_si256(a.h[i], b.h[i])); }
ZK_INLINE zk_v8 zk_v8_xor(zk_v8 a, zk_v8 b) { ZK_EACH_HALF(zk_v8, _mm256_xor_si256(a.h[i], b.h[i])); }
ZK_INLINE zk_v8 zk_v8_slli(zk_v8 a, const unsigned n) { ZK_EACH_HALF(zk_v8, _mm256_slli_epi64(a.h[i], (int)n)); }
ZK_INLINE zk_v8 zk_v8_srli(zk_v8 a, const unsigned n) { ZK_EACH_HALF(zk_v8, _mm256_srli_epi64(a.h[i], (int)n)); }
ZK_INLINE zk_v8 zk_v8_sll(zk_v8 a, __m128i n) { ZK_EACH_HALF(zk_v8, _mm256_sll_epi64(a.h[i], n)); }
ZK_INLINE zk_v8 zk_v8_srl(zk_v8 a, __m128i n) { ZK_EACH_HALF(zk_v8, _mm256_srl_epi64(a.h[i], n)); }
ZK_INLINE zk_v8 zk_v8_srai52(zk_v8 a) {
    const __m256i sign = _mm256_set1_epi64x(1 << 11);
    ZK_EACH_HALF(zk_v8, _mm256_sub_epi64(_mm256_xor_si256(_mm256_srli_epi64(a.h[i], 52), sign), sign));
}
ZK_INLINE zk_v8 zk_v8_masked_and_or(zk_v8 x, zk_v8 y, zk_v8 mask) { return zk_v8_and(zk_v8_or(x, y), mask); }
/* The lanes 4 half .. 4 half + 3 as ones and zeros. */
ZK_INLINE __m256i zk_v4_ones(__mmask8 lanes, const int half) {
    const __m256i bit = half ? _mm256_set_epi64x(128, 64, 32, 16) : _mm256_set_epi64x(8, 4, 2, 1);
    return _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(lanes), bit), bit);
}
ZK_INLINE zk_v8 zk_v8_blend(zk_v8 a, zk_v8 b, __mmask8 lanes) {
    ZK_EACH_HALF(zk_v8, _mm256_blendv_epi8(a.h[i], b.h[i], zk_v4_ones(lanes, i)));
}
ZK_INLINE zk_v8 zk_v8_sub_in(zk_v8 old, __mmask8 lanes, zk_v8 a, zk_v8 b) {
    return zk_v8_blend(old, zk_v8_sub(a, b), lanes);
}
ZK_INLINE zk_v8 zk_v8_and_in(zk_v8 old, __mmask8 lanes, zk_v8 a, zk_v8 b) {
    return zk_v8_blend(old, zk_v8_and(a, b), lanes);
}
ZK_INLINE unsigned zk_v4_signs(__m256i a) { return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(a)); }
ZK_INLINE __mmask8 zk_v8_negative_lanes(zk_v8 a) { return (__mmask8)(zk_v4_signs(a.h[0]) | zk_v4_signs(a.h[1]) << 4); }
ZK_INLINE __mmask8 zk_v8_zero_lanes(zk_v8 a) {
    ZK_UNROLL for (int i = 0; i < 2; i++) a.h[i] = _mm256_cmpeq_epi64(a.h[i], _mm256_setzero_si256());
    return zk_v8_negative_lanes(a);
}
ZK_INLINE zk_v8 zk_v8_load(const void *p) { ZK_EACH_HALF(zk_v8, _mm256_loadu_si256((const __m256i *)p + i)); }
ZK_INLINE zk_v8 zk_v8_strided(const uint64_t *p, const int step) {
    ZK_EACH_HALF(zk_v8, _mm256_set_epi64x((long long)p[(4 * i + 3) * step], (long long)p[(4 * i + 2) * step],
                                          (long long)p[(4 * i + 1) * step], (long long)p[4 * i * step]));
}
ZK_INLINE void zk_v8_store(void *p, zk_v8 a) {
    ZK_UNROLL for (int i = 0; i < 2; i++) _mm256_storeu_si256((__m256i *)p + i, a.h[i]);
}
ZK_INLINE zk_v8 zk_v8_swap_bytes(zk_v8 a) {
    const __m256i reversed = _mm256_broadcastsi128_si256(_mm_set_epi64x(0x08090a0b0c0d0e0f, 0x0001020304050607));
    ZK_EACH_HALF(zk_v8, _mm256_shuffle_epi8(a.h[i], reversed));
}
ZK_INLINE void zk_v8_store_first(void *p, zk_v8 a, const int n) {
    ZK_UNROLL for (int i = 0; i < n / 4; i++) _mm256_storeu_si256((__m256i *)p + i, a.h[i]);
}
ZK_INLINE void zk_v8_store_row(void *p, zk_v8 a) {
    ZK_UNROLL for (int i = 0; i < 2; i++) _mm256_store_si256((__m256i *)p + i, a.h[i]);
}
ZK_INLINE __m256i zk_v8_to_u32(zk_v8 a) {
    const __m256i even = _mm256_castps_si256(
        _mm256_shuffle_ps(_mm256_castsi256_ps(a.h[0]), _mm256_castsi256_ps(a.h[1]), 0x88)); /* 0 1 4 5, 2 3 6 7 */
    return _mm256_permute4x64_epi64(even, 0xd8);
}
ZK_INLINE __m128i zk_u32x8_to_u16(__m256i a) {
    const __m256i low = _mm256_and_si256(a, _mm256_set1_epi32(0xffff));
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0xd8));
}
ZK_INLINE __m128i zk_v8_to_u16(zk_v8 a) { return zk_u32x8_to_u16(zk_v8_to_u32(a)); }

/* The low halves as unsigned numbers, multiplied. */
ZK_INLINE zk_v8 zk_v8_mul_low32(zk_v8 a, zk_v8 b) { ZK_EACH_HALF(zk_v8, _mm256_mul_epu32(a.h[i], b.h[i])); }

/* r[i] lane k = row[k] lane i */
ZK_INLINE void zk_v4_transpose(__m256i r[4], const __m256i row[4]) {
    __m256i even[2], odd[2];
    /* Words 0, 1 and 2, 3 of rows k and k + 2. */
    even[0] = _mm256_permute2x128_si256(row[0], row[2], 0x20);
    even[1] = _mm256_permute2x128_si256(row[0], row[2], 0x31);
    odd[0] = _mm256_permute2x128_si256(row[1], row[3], 0x20);
    odd[1] = _mm256_permute2x128_si256(row[1], row[3], 0x31);
    ZK_UNROLL for (int i = 0; i < 2; i++) {
        r[2 * i] = _mm256_unpacklo_epi64(even[i], odd[i]);
        r[2 * i + 1] = _mm256_unpackhi_epi64(even[i], odd[i]);
    }
}
ZK_INLINE void zk_v8_transpose(zk_v8 r[8], const zk_v8 row[8]) {
    ZK_UNROLL for (int rows = 0; rows < 2; rows++) {
        ZK_UNROLL for (int words = 0; words < 2; words++) {
            __m256i a[4], t[4];
            ZK_UNROLL for (int k = 0; k < 4; k++) a[k] = row[4 * rows + k].h[words];
            zk_v4_transpose(t, a);
            ZK_UNROLL for (int i = 0; i < 4; i++) r[4 * words + i].h[rows] = t[i];
        }
    }
}
ZK_INLINE __m256i zk_v4_of_pairs(const uint64_t *low, const uint64_t *high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low)),
                                   _mm_loadu_si128((const __m128i *)high), 1);
}
ZK_INLINE void zk_v8_load_transposed(zk_v8 *r, const uint64_t *const row[8], const int n) {
    ZK_UNROLL for (int i = 0; i < n; i += 2) {
        ZK_UNROLL for (int half = 0; half < 2; half++) {
            const uint64_t *const *first = row + 4 * half;
            const __m256i even = zk_v4_of_pairs(first[0] + i, first[2] + i),
                          odd = zk_v4_of_pairs(first[1] + i, first[3] + i);
            r[i].h[half] = _mm256_unpacklo_epi64(even, odd);
            r[i + 1].h[half] = _mm256_unpackhi_epi64(even, odd);
        }
    }
}
/* Lane k of r is lane k ^ distance of a, distance 1, 2 or 4. */
ZK_INLINE zk_v8 zk_v8_swap_lanes(zk_v8 a, int distance) {
    if (distance == 4) return (zk_v8){{a.h[1], a.h[0]}};
    if (distance == 2) ZK_EACH_HALF(zk_v8, _mm256_permute4x64_epi64(a.h[i], 0x4e));
    ZK_EACH_HALF(zk_v8, _mm256_permute4x64_epi64(a.h[i], 0xb1));
}

ZK_INLINE zk_w16 zk_w16_set1(uint32_t x) { ZK_EACH_HALF(zk_w16, _mm256_set1_epi32((int)x)); }
ZK_INLINE zk_w16 zk_w16_count(void) {
    return (zk_w16){{_mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0), _mm256_set_epi32(15, 14, 13, 12, 11, 10, 9, 8)}};
}
ZK_INLINE zk_w16 zk_w16_load(const void *p) { ZK_EACH_HALF(zk_w16, _mm256_loadu_si256((const __m256i *)p + i)); }
ZK_INLINE void zk_w16_store(void *p, zk_w16 a) {
    ZK_UNROLL for (int i = 0; i < 2; i++) _mm256_storeu_si256((__m256i *)p + i, a.h[i]);
}
ZK_INLINE zk_w16 zk_w16_load_i16(const int16_t *p) {
    ZK_EACH_HALF(zk_w16, _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p + i)));
}
ZK_INLINE zk_w16 zk_w16_of_u8(__m128i a) {
    return (zk_w16){{_mm256_cvtepu8_epi32(a), _mm256_cvtepu8_epi32(_mm_srli_si128(a, 8))}};
}
ZK_INLINE zk_w16 zk_w16_add(zk_w16 a, zk_w16 b) { ZK_EACH_HALF(zk_w16, _mm256_add_epi32(a.h[i], b.h[i])); }
ZK_INLINE zk_w16 zk_w16_sub(zk_w16 a, zk_w16 b) { ZK_EACH_HALF(zk_w16, _mm256_sub_epi32(a.h[i], b.h[i])); }
ZK_INLINE zk_w16 zk_w16_mul(zk_w16 a, zk_w16 b) { ZK_EACH_HALF(zk_w16, _mm256_mullo_epi32(a.h[i], b.h[i])); }
ZK_INLINE zk_w16 zk_w16_and(zk_w16 a, zk_w16 b) { ZK_EACH_HALF(zk_w16, _mm256_and_si256(a.h[i], b.h[i])); }
ZK_INLINE zk_w16 zk_w16_or(zk_w16 a, zk_w16 b) { ZK_EACH_HALF(zk_w16, _mm256_or_si256(a.h[i], b.h[i])); }
ZK_INLINE zk_w16 zk_w16_abs(zk_w16 a) { ZK_EACH_HALF(zk_w16, _mm256_abs_epi32(a.h[i])); }
ZK_INLINE zk_w16 zk_w16_srl(zk_w16 a, __m128i n) { ZK_EACH_HALF(zk_w16, _mm256_srl_epi32(a.h[i], n)); }
ZK_INLINE zk_w16 zk_w16_srli(zk_w16 a, const unsigned n) { ZK_EACH_HALF(zk_w16, _mm256_srli_epi32(a.h[i], (int)n)); }
ZK_INLINE __mmask16 zk_w16_negative_lanes(zk_w16 a) {
    return (__mmask16)((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(a.h[0])) |
                       (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(a.h[1])) << 8);
}
ZK_INLINE __mmask16 zk_w16_equal_lanes(zk_w16 a, zk_w16 b) {
    ZK_UNROLL for (int i = 0; i < 2; i++) a.h[i] = _mm256_cmpeq_epi32(a.h[i], b.h[i]);
    return zk_w16_negative_lanes(a);
}
ZK_INLINE __mmask16 zk_w16_set_lanes(zk_w16 a) { return (__mmask16)~zk_w16_equal_lanes(a, zk_w16_set1(0)); }
/* a < b, both below 2^31 */
ZK_INLINE __mmask16 zk_w16_less_lanes(zk_w16 a, zk_w16 b) {
    ZK_UNROLL for (int i = 0; i < 2; i++) a.h[i] = _mm256_cmpgt_epi32(b.h[i], a.h[i]);
    return zk_w16_negative_lanes(a);
}
/* a in the lanes given, else 0 */
ZK_INLINE zk_w16 zk_w16_keep(zk_w16 a, __mmask16 lanes) {
    const __m256i bit = _mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);
    ZK_EACH_HALF(zk_w16, _mm256_and_si256(a.h[i], _mm256_cmpeq_epi32(
                                                      _mm256_and_si256(_mm256_set1_epi32(lanes >> 8 * i), bit), bit)));
}

ZK_INLINE __m256i zk_u32x8_compress(__m256i a, unsigned lanes) {
    return _mm256_permutevar8x32_epi32(a, _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)zk_v8_bits_of[lanes])));
}
ZK_INLINE void zk_w16_compress(uint32_t *to, __mmask16 lanes, zk_w16 a) {
    const unsigned low = lanes & 0xffu, high = (unsigned)lanes >> 8;
    _mm256_storeu_si256((__m256i *)to, zk_u32x8_compress(a.h[0], low));
    _mm256_storeu_si256((__m256i *)(to + __builtin_popcount(low)), zk_u32x8_compress(a.h[1], high));
}
ZK_INLINE void zk_w16_compress_u16(uint16_t *to, __mmask16 lanes, zk_w16 a) {
    const unsigned low = lanes & 0xffu, high = (unsigned)lanes >> 8;
    _mm_storeu_si128((__m128i *)to, zk_u32x8_to_u16(zk_u32x8_compress(a.h[0], low)));
    _mm_storeu_si128((__m128i *)(to + __builtin_popcount(low)), zk_u32x8_to_u16(zk_u32x8_compress(a.h[1], high)));
}
ZK_INLINE __mmask8 zk_u32x8_odd(__m256i a) {
    return (__mmask8)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32(a, 31)));
}

#endif
