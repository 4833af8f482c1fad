/* Uncompressed encodings, eight at a time. */
#include "curve/ifma/lanes.h"
#include "field/fp2_52x8.h"

/* 2^800 mod p: from plain numbers to the form with R = 2^384 by a multiplication that divides by 2^416. */
static const uint64_t two_800[8] = {0x551039a1d2c25, 0xc857a984373dc, 0x3331128e8da66, 0xba38b82e8f651,
                                    0xbb197b6252a29, 0xcbe4f4e32928c, 0x80ef81f158c5d, 0x000000000e91f};

/* A coordinate of eight encodings, `stride` bytes apart, in words as zk_fp has them. Returns the lanes where it is
 * below p; flags make it larger. */
static __mmask8 load_coordinate(__m512i w[6], const uint8_t *bytes, size_t stride) {
    const __m512i reversed = _mm512_broadcast_i32x4(_mm_set_epi64x(0x08090a0b0c0d0e0f, 0x0001020304050607));
    const uint64_t *row[8];
    __m512i big_endian[6];
    zk_fp52x8 a, t;
    for (size_t k = 0; k < 8; k++) row[k] = (const uint64_t *)(bytes + k * stride);
    zk_v8_load_transposed(big_endian, row, 6);
    for (int i = 0; i < 6; i++) w[i] = _mm512_shuffle_epi8(big_endian[5 - i], reversed);
    zk_fp52x8_split(&a, w, 0);
    for (int i = 0; i < 8; i++) t.l[i] = _mm512_sub_epi64(a.l[i], zk_v8_set1(zk_fp52_multiples[i][1]));
    zk_fp52x8_carry(&t, &t);
    zk_fp52x8_to_words_by(w, &a, two_800);
    return _mm512_movepi64_mask(t.l[7]);
}

/* Lanes that are 0 mod p; a: loose, between 0.1 p and 8 p. */
static __mmask8 zero_residues(const zk_fp52x8 *a) {
    zk_fp52x8 t;
    __m512i zero = _mm512_setzero_si512(), p = zero;
    zk_fp52x8_reduce(&t, a);
    for (int i = 0; i < 8; i++) {
        zero = _mm512_or_si512(zero, t.l[i]);
        p = _mm512_or_si512(p, _mm512_xor_si512(t.l[i], zk_v8_set1(zk_fp52_multiples[i][1])));
    }
    return _mm512_testn_epi64_mask(zero, zero) | _mm512_testn_epi64_mask(p, p);
}

/* left - right - b + 4p, where b = 4 in the form below is 2^358; right below 2.3 p. */
static __mmask8 equation_holds(const zk_fp52x8 *left, const zk_fp52x8 *right) {
    zk_fp52x8 t;
    zk_fp52x8_sub_loose(&t, left, right, 4);
    t.l[6] = _mm512_sub_epi64(t.l[6], zk_v8_set1((uint64_t)1 << 46));
    return zero_residues(&t);
}

/* Words of eight points, eight words further with each vector. */
static void store(uint64_t *out, size_t stride_words, const __m512i *w, const int n) {
    __m512i all[8], t[8];
    for (int i = 0; i < 8; i++) all[i] = i < n ? w[i] : _mm512_setzero_si512();
    zk_v8_transpose(t, all);
    for (size_t k = 0; k < 8; k++) _mm512_mask_storeu_epi64(out + k * stride_words, (__mmask8)((1u << n) - 1), t[k]);
}

/* The equations are those of the isomorphic curves of (2^-20 x, 2^-30 y), whose coordinates with R = 2^416 are the
 * words, with R = 2^384, shifted by 12 and 2 bits. */
#define SHIFT_X 12
#define SHIFT_Y 2

unsigned zk_g1_deserialize_lanes(zk_g1_affine r[8], const uint8_t *bytes) {
    __m512i w[12];
    __mmask8 good = load_coordinate(w, bytes, 96) & load_coordinate(w + 6, bytes + 48, 96);
    zk_fp52x8 x, y, t;
    zk_fp52x8_split(&x, w, SHIFT_X);
    zk_fp52x8_split(&y, w + 6, SHIFT_Y);
    zk_fp52x8_sqr(&t, &x);
    zk_fp52x8_mul_loose(&t, &t, &x);
    zk_fp52x8_sqr_loose(&y, &y);
    store(r[0].x.l, sizeof *r / 8, w, 8);
    store(r[0].x.l + 8, sizeof *r / 8, w + 8, 4);
    return good & equation_holds(&y, &t);
}

unsigned zk_g2_deserialize_lanes(zk_g2_affine r[8], const uint8_t *bytes) {
    __m512i w[24];
    __mmask8 good = 0xff;
    for (size_t c = 0; c < 4; c++) /* the encoding has c1 first */
        good &= load_coordinate(w + 6 * (c ^ 1), bytes + 48 * c, 192);
    zk_fp2_52x8 x, y, t;
    zk_fp52x8_split(&x.c0, w, SHIFT_X);
    zk_fp52x8_split(&x.c1, w + 6, SHIFT_X);
    zk_fp52x8_split(&y.c0, w + 12, SHIFT_Y);
    zk_fp52x8_split(&y.c1, w + 18, SHIFT_Y);
    zk_fp2_52x8_mul(&t, &x, &x);
    zk_fp2_52x8_mul(&t, &t, &x);
    zk_fp2_52x8_sqr(&y, &y);
    for (size_t i = 0; i < 24; i += 8) store(r[0].x.c0.l + i, sizeof *r / 8, w + i, 8);
    return good & equation_holds(&y.c0, &t.c0) & equation_holds(&y.c1, &t.c1);
}
