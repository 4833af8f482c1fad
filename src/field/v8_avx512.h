/* See v8.h, which includes this in files built for AVX-512. */
#ifndef ZK_FIELD_V8_AVX512_H
#define ZK_FIELD_V8_AVX512_H

#define ZK_V8_IFMA 1

typedef __m512i zk_v8;
typedef __m512i zk_w16;

ZK_INLINE zk_v8 zk_v8_zero(void) { return _mm512_setzero_si512(); }
ZK_INLINE zk_v8 zk_v8_set1(uint64_t x) { return _mm512_set1_epi64((long long)x); }
ZK_INLINE zk_v8 zk_v8_add(zk_v8 a, zk_v8 b) { return _mm512_add_epi64(a, b); }
ZK_INLINE zk_v8 zk_v8_sub(zk_v8 a, zk_v8 b) { return _mm512_sub_epi64(a, b); }
ZK_INLINE zk_v8 zk_v8_and(zk_v8 a, zk_v8 b) { return _mm512_and_si512(a, b); }
ZK_INLINE zk_v8 zk_v8_or(zk_v8 a, zk_v8 b) { return _mm512_or_si512(a, b); }
ZK_INLINE zk_v8 zk_v8_xor(zk_v8 a, zk_v8 b) { return _mm512_xor_si512(a, b); }
ZK_INLINE zk_v8 zk_v8_slli(zk_v8 a, const unsigned n) { return _mm512_slli_epi64(a, n); }
ZK_INLINE zk_v8 zk_v8_srli(zk_v8 a, const unsigned n) { return _mm512_srli_epi64(a, n); }
ZK_INLINE zk_v8 zk_v8_sll(zk_v8 a, __m128i n) { return _mm512_sll_epi64(a, n); }
ZK_INLINE zk_v8 zk_v8_srl(zk_v8 a, __m128i n) { return _mm512_srl_epi64(a, n); }
ZK_INLINE zk_v8 zk_v8_srai52(zk_v8 a) { return _mm512_srai_epi64(a, 52); }
ZK_INLINE zk_v8 zk_v8_masked_and_or(zk_v8 x, zk_v8 y, zk_v8 mask) {
    return _mm512_ternarylogic_epi64(x, y, mask, 0xa8);
}
ZK_INLINE zk_v8 zk_v8_blend(zk_v8 a, zk_v8 b, __mmask8 lanes) { return _mm512_mask_mov_epi64(a, lanes, b); }
ZK_INLINE zk_v8 zk_v8_sub_in(zk_v8 old, __mmask8 lanes, zk_v8 a, zk_v8 b) {
    return _mm512_mask_sub_epi64(old, lanes, a, b);
}
ZK_INLINE zk_v8 zk_v8_and_in(zk_v8 old, __mmask8 lanes, zk_v8 a, zk_v8 b) {
    return _mm512_mask_and_epi64(old, lanes, a, b);
}
ZK_INLINE __mmask8 zk_v8_zero_lanes(zk_v8 a) { return _mm512_testn_epi64_mask(a, a); }
ZK_INLINE __mmask8 zk_v8_negative_lanes(zk_v8 a) { return _mm512_movepi64_mask(a); }
ZK_INLINE zk_v8 zk_v8_load(const void *p) { return _mm512_loadu_si512(p); }
ZK_INLINE zk_v8 zk_v8_strided(const uint64_t *p, const int step) {
    return _mm512_set_epi64((long long)p[7 * step], (long long)p[6 * step], (long long)p[5 * step],
                            (long long)p[4 * step], (long long)p[3 * step], (long long)p[2 * step], (long long)p[step],
                            (long long)p[0]);
}
ZK_INLINE void zk_v8_store(void *p, zk_v8 a) { _mm512_storeu_si512(p, a); }
ZK_INLINE void zk_v8_store_row(void *p, zk_v8 a) { _mm512_store_si512(p, a); }
ZK_INLINE __m256i zk_v8_to_u32(zk_v8 a) { return _mm512_cvtepi64_epi32(a); }
ZK_INLINE __m128i zk_v8_to_u16(zk_v8 a) { return _mm512_cvtepi64_epi16(a); }

ZK_INLINE zk_v8 zk_v8_swap_bytes(zk_v8 a) {
    return _mm512_shuffle_epi8(a, _mm512_broadcast_i32x4(_mm_set_epi64x(0x08090a0b0c0d0e0f, 0x0001020304050607)));
}
ZK_INLINE void zk_v8_store_first(void *p, zk_v8 a, const int n) {
    _mm512_mask_storeu_epi64(p, (__mmask8)((1u << n) - 1), a);
}

/* t + the low or high 52 bits of the product of the low 52 bits of a and b. */
ZK_INLINE zk_v8 zk_v8_madd52lo(zk_v8 t, zk_v8 a, zk_v8 b) { return _mm512_madd52lo_epu64(t, a, b); }
ZK_INLINE zk_v8 zk_v8_madd52hi(zk_v8 t, zk_v8 a, zk_v8 b) { return _mm512_madd52hi_epu64(t, a, b); }

/* The low halves as unsigned numbers, multiplied. */
ZK_INLINE zk_v8 zk_v8_mul_low32(zk_v8 a, zk_v8 b) { return _mm512_mul_epu32(a, b); }
/* 24 shuffles. */
ZK_INLINE void zk_v8_transpose(zk_v8 r[8], const zk_v8 row[8]) {
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

/* Pairs of words come by masked broadcasts, which leaves n shuffles. */
ZK_INLINE void zk_v8_load_transposed(zk_v8 *r, const uint64_t *const row[8], const int n) {
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

/* Lane k of r is lane k ^ distance of a. */
ZK_INLINE zk_v8 zk_v8_swap_lanes(zk_v8 a, int distance) {
    const __m512i from = _mm512_xor_si512(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), zk_v8_set1((uint64_t)distance));
    return _mm512_permutexvar_epi64(from, a);
}

ZK_INLINE zk_w16 zk_w16_set1(uint32_t x) { return _mm512_set1_epi32((int)x); }
ZK_INLINE zk_w16 zk_w16_count(void) { return _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0); }
ZK_INLINE zk_w16 zk_w16_load(const void *p) { return _mm512_loadu_si512(p); }
ZK_INLINE void zk_w16_store(void *p, zk_w16 a) { _mm512_storeu_si512(p, a); }
ZK_INLINE zk_w16 zk_w16_load_i16(const int16_t *p) {
    return _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)p));
}
ZK_INLINE zk_w16 zk_w16_of_u8(__m128i a) { return _mm512_cvtepu8_epi32(a); }
ZK_INLINE zk_w16 zk_w16_add(zk_w16 a, zk_w16 b) { return _mm512_add_epi32(a, b); }
ZK_INLINE zk_w16 zk_w16_sub(zk_w16 a, zk_w16 b) { return _mm512_sub_epi32(a, b); }
ZK_INLINE zk_w16 zk_w16_mul(zk_w16 a, zk_w16 b) { return _mm512_mullo_epi32(a, b); }
ZK_INLINE zk_w16 zk_w16_and(zk_w16 a, zk_w16 b) { return _mm512_and_si512(a, b); }
ZK_INLINE zk_w16 zk_w16_or(zk_w16 a, zk_w16 b) { return _mm512_or_si512(a, b); }
ZK_INLINE zk_w16 zk_w16_abs(zk_w16 a) { return _mm512_abs_epi32(a); }
ZK_INLINE zk_w16 zk_w16_srl(zk_w16 a, __m128i n) { return _mm512_srl_epi32(a, n); }
ZK_INLINE zk_w16 zk_w16_srli(zk_w16 a, const unsigned n) { return _mm512_srli_epi32(a, n); }
ZK_INLINE __mmask16 zk_w16_equal_lanes(zk_w16 a, zk_w16 b) { return _mm512_cmpeq_epi32_mask(a, b); }
ZK_INLINE __mmask16 zk_w16_set_lanes(zk_w16 a) { return _mm512_test_epi32_mask(a, a); } /* not zero */
/* a < b, both below 2^31 */
ZK_INLINE __mmask16 zk_w16_less_lanes(zk_w16 a, zk_w16 b) { return _mm512_cmplt_epu32_mask(a, b); }
/* a in the lanes given, else 0 */
ZK_INLINE zk_w16 zk_w16_keep(zk_w16 a, __mmask16 lanes) { return _mm512_maskz_mov_epi32(lanes, a); }
ZK_INLINE void zk_w16_compress(uint32_t *to, __mmask16 lanes, zk_w16 a) {
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(lanes, a));
}
ZK_INLINE void zk_w16_compress_u16(uint16_t *to, __mmask16 lanes, zk_w16 a) {
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(lanes, a)));
}
ZK_INLINE __mmask8 zk_u32x8_odd(__m256i a) { return _mm256_test_epi32_mask(a, _mm256_set1_epi32(1)); }

#endif
