/* The sources of this folder for G1. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "field/fp52x8.h"
#include "field/fr52x8.h"
#include "msm/ifma/digits.h"
#include "msm/ifma/ifma.h"

#define FE zk_fp
#define FE_(name) zk_fp_##name
#define AFFINE zk_g1_affine
#define POINT zk_g1
#define GROUP(name) zk_g1_##name
#define MSM(name) zk_msm_g1_##name
#define MASKED_SUM zk_masked_sum_g1_ifma
#define SUBSET(name) zk_subset_table_g1_##name
#define FIXED_MUL zk_fixed_base_g1_mul_ifma
#define SUBGROUP(name) zk_g1_subgroup_sums_##name##_ifma

/* 1,024 additions share an inversion; sums, batch and the rows of this batch and the next are 512 KB of a 1 MiB L2. */
#define BATCH_VECS 128

/* ---- Coordinates: one element of Fp ---- */

#define VEC zk_fp52x8
#define VEC_FPS 1

/* 2^416 mod p */
static const uint64_t one_limbs[8] = {0x6480ea8e9b9af, 0x65766c8fe444f, 0x8b540fea96f7d, 0x3b2ee82efd422,
                                      0xa6723e5f0ade5, 0xff6eb6fdd4230, 0xe06ef23c24a25, 0x0000000014c8e};

/* What takes u^2 x and u^3 y to x and y: 2^404 and 2^414 mod p */
static const uint64_t two_404[8] = {0xd003480ea7ee1, 0x3798a71288f15, 0xf9b49b2d851eb, 0xf5b85ac3d2c2d,
                                    0xe247b2f79f0ad, 0x5a88f0d3f7602, 0xf0c3ce8358db5, 0x0000000004cc5};
static const uint64_t two_414[8] = {0xcd203aa3a2e6c, 0x58629a23f8dcb, 0x33208dac15cdf, 0x1cdb47705d494,
                                    0x42522721fe21d, 0xd4997671edca6, 0x8f166e8dd8641, 0x0000000018b30};

ZK_INLINE void vec_set_one(VEC *r) { ZK_UNROLL for (int i = 0; i < 8; i++) r->l[i] = zk_v8_set1(one_limbs[i]); }
ZK_INLINE void vec_mul(VEC *r, const VEC *a, const VEC *b) { zk_fp52x8_mul(r, a, b); }
/* To be multiplied with only; so may the operands be. */
static __attribute__((noinline)) void vec_mul_factor(VEC *r, const VEC *a, const VEC *b) {
    zk_fp52x8_mul_factor(r, a, b);
}
ZK_INLINE void vec_blend(VEC *r, const VEC *a, const VEC *b, __mmask8 lanes) { zk_fp52x8_blend(r, a, b, lanes); }
ZK_INLINE void vec_reduce_wide(VEC *r, const VEC *a) { zk_fp52x8_reduce_wide(r, a); }
/* a - b + m, m: limbs of a multiple of p, at least the magnitude of b; loose. */
ZK_INLINE void vec_sub_plus(VEC *r, const VEC *a, const VEC *b, const uint64_t m[8]) {
    ZK_UNROLL for (int i = 0; i < 8; i++) r->l[i] =
        _mm512_add_epi64(_mm512_sub_epi64(a->l[i], b->l[i]), zk_v8_set1(m[i]));
}
/* 4p - a, tight. */
ZK_INLINE void vec_neg(VEC *r, const VEC *a) {
    VEC t;
    zk_fp52x8_neg_if_loose(&t, a, 0xff, 4);
    zk_fp52x8_carry(r, &t);
}
/* d = x2 - x1 + before, tight. */
ZK_INLINE void vec_difference(VEC *d, const VEC *x2, const VEC *x1, const uint64_t before[8]) {
    VEC t;
    vec_sub_plus(&t, x2, x1, before);
    zk_fp52x8_carry(d, &t);
}
/* y2 - y1 + before, or 4p - y2 - y1 + before in the lanes given; a factor. */
ZK_INLINE void vec_slope_numerator(VEC *r, const VEC *y2, __mmask8 negate, const VEC *y1, const uint64_t before[8]) {
    VEC t = *y2;
    if (!__builtin_constant_p(negate) || negate) zk_fp52x8_neg_if_loose(&t, y2, negate, 4);
    vec_sub_plus(&t, &t, y1, before);
    zk_fp52x8_carry_factor(r, &t);
}
/* lambda^2 - d - 2 x1 = lambda^2 - x1 - x2 - before, plus what keeps it positive; then below 8p if it is to be reduced.
 */
ZK_INLINE void x3_of(VEC *r, const VEC *lambda, const VEC *d, const VEC *x1, const uint64_t for_x3[8],
                     const bool reduce) {
    VEC t;
    zk_fp52x8_sqr_loose(&t, lambda);
    vec_sub_plus(&t, &t, d, for_x3);
    ZK_UNROLL for (int i = 0; i < 8; i++) t.l[i] = _mm512_sub_epi64(_mm512_sub_epi64(t.l[i], x1->l[i]), x1->l[i]);
    if (reduce)
        zk_fp52x8_reduce(r, &t);
    else
        zk_fp52x8_carry(r, &t);
}
/* lambda (x1 - x3 + after) - y1 + before */
ZK_INLINE void y3_of(VEC *r, const VEC *lambda, const VEC *x1, const VEC *x3, const VEC *y1, const uint64_t before[8],
                     const uint64_t after[8], const bool reduce) {
    VEC t;
    vec_sub_plus(&t, x1, x3, after);
    zk_fp52x8_carry_factor(&t, &t);
    zk_fp52x8_mul_loose(&t, &t, lambda);
    vec_sub_plus(&t, &t, y1, before);
    if (reduce)
        zk_fp52x8_reduce(r, &t);
    else
        zk_fp52x8_carry(r, &t);
}
#define VEC_FN static __attribute__((noinline)) void
VEC_FN x3_growing(VEC *r, const VEC *l, const VEC *d, const VEC *x1, const uint64_t m[8]) {
    x3_of(r, l, d, x1, m, false);
}
VEC_FN x3_reduced(VEC *r, const VEC *l, const VEC *d, const VEC *x1, const uint64_t m[8]) {
    x3_of(r, l, d, x1, m, true);
}
VEC_FN y3_growing(VEC *r, const VEC *l, const VEC *x1, const VEC *x3, const VEC *y1, const uint64_t *m,
                  const uint64_t *n) {
    y3_of(r, l, x1, x3, y1, m, n, false);
}
VEC_FN y3_reduced(VEC *r, const VEC *l, const VEC *x1, const VEC *x3, const VEC *y1, const uint64_t *m,
                  const uint64_t *n) {
    y3_of(r, l, x1, x3, y1, m, n, true);
}
#define vec_x3(r, l, d, x1, b, reduce) ((reduce) ? x3_reduced : x3_growing)(r, l, d, x1, (b)->for_x3)
#define vec_y3(r, l, x1, x3, y1, b, reduce)                                                                            \
    ((reduce) ? y3_reduced : y3_growing)(r, l, x1, x3, y1, (b)->before, (b)->after)

ZK_INLINE void vec_load_rows(VEC *r, const char *const at[8], size_t offset) {
    const uint64_t *row[8];
    ZK_UNROLL for (int k = 0; k < 8; k++) row[k] = (const uint64_t *)(at[k] + offset);
    zk_v8_load_transposed(r->l, row, 8);
}
ZK_INLINE void vec_store_rows(uint64_t *const row[8], const VEC *a) {
    __m512i t[8];
    zk_v8_transpose(t, a->l);
    ZK_UNROLL for (int i = 0; i < 8; i++) _mm512_store_si512(row[i], t[i]);
}
/* Words of a coordinate of eight points, shifted as batch.inc says. */
ZK_INLINE void vec_load_elements(VEC *r, const char *const at[8], const bool y) {
    const uint64_t *row[8];
    __m512i w[6];
    ZK_UNROLL for (int k = 0; k < 8; k++) row[k] = (const uint64_t *)(at[k] + (y ? sizeof(FE) : 0));
    zk_v8_load_transposed(w, row, 6);
    zk_fp52x8_split(r, w, y ? 2 : 12);
}
static void vec_to_x(FE r[8], const VEC *a) { zk_fp52x8_to_elements_by(r, a, two_404); }
static void vec_to_y(FE r[8], const VEC *a) { zk_fp52x8_to_elements_by(r, a, two_414); }
#define vec_to_elements zk_fp52x8_to_elements
ZK_INLINE void vec_broadcast(VEC *r, const FE *a) { zk_fp52x8_broadcast(r, a); }
/* Lane k of r is lane k ^ distance of a, distance 1, 2 or 4. */
static void vec_swap_lanes(VEC *r, const VEC *a, int distance) { zk_fp52x8_swap_lanes(r, a, distance); }
static void vec_set_lane(VEC *x, VEC *y, int lane, const AFFINE *a) {
    const char *at[8];
    VEC t;
    for (int k = 0; k < 8; k++) at[k] = (const char *)a;
    vec_load_elements(&t, at, false);
    vec_blend(x, x, &t, (__mmask8)(1u << lane));
    vec_load_elements(&t, at, true);
    vec_blend(y, y, &t, (__mmask8)(1u << lane));
}
/* Whether the lowest limb of a lane is zero, as it is where all are. */
ZK_INLINE bool vec_maybe_zero(const VEC *a) { return _mm512_testn_epi64_mask(a->l[0], a->l[0]) != 0; }
/* Lanes where all limbs are zero. */
ZK_INLINE __mmask8 vec_zero_limbs(const VEC *a) {
    __m512i any = a->l[0];
    ZK_UNROLL for (int i = 1; i < 8; i++) any = _mm512_or_si512(any, a->l[i]);
    return _mm512_testn_epi64_mask(any, any);
}
/* Lanes that are 0 mod p, a tight below 2p. */
static __mmask8 vec_zero_residues(const VEC *a) {
    __m512i other = _mm512_setzero_si512();
    for (int i = 0; i < 8; i++)
        other = _mm512_or_si512(other, _mm512_xor_si512(a->l[i], zk_v8_set1(zk_fp52_multiples[i][1])));
    return vec_zero_limbs(a) | _mm512_testn_epi64_mask(other, other);
}

#include "msm/ifma/batch.inc"

/* ---- Images: phi(x, y) = (beta x, y) multiplies by -z^2 (curve/g1.c, msm/recode.h) ---- */

#define IMAGES 2
#define IMAGE_LIMBS 2
static const uint32_t image_ref[IMAGES] = {0, ROW_BYTES / 2 + 2};
#define WINDOW_BITS_LEAST 4
#define WINDOW_BITS_MOST 19
#define SLICE_MOST ((size_t)1 << 19)

static void windows_of(zk_windows *w, unsigned c) { zk_windows_half(w, c); }

/* x^2, floor(x^2 / 2) and 2^260 / x^2 to nearest, in limbs of 52 bits. */
static const uint64_t x2_limbs[3] = {0x0000100000000, 0x010001a402000, 0x0000000ac45a4};
static const uint64_t half_x2_limbs[3] = {0x0000080000000, 0x008000d201000, 0x00000005622d2};
static const uint64_t x2_reciprocal_limbs[3] = {0xe522f6cfee2e0, 0x1e01faadd63f6, 0x0000017c6becf};

/* Signed limbs -> bits 0 .. 127 of the number. */
ZK_INLINE void low_words(__m512i w[2], const __m512i l[3]) {
    const __m512i mask = zk_v8_set1(ZK_FP52_MASK);
    __m512i l1 = _mm512_add_epi64(l[1], _mm512_srai_epi64(l[0], 52));
    __m512i l2 = _mm512_add_epi64(l[2], _mm512_srai_epi64(l1, 52));
    l1 = _mm512_and_si512(l1, mask);
    w[0] = _mm512_or_si512(_mm512_and_si512(l[0], mask), _mm512_slli_epi64(l1, 52));
    w[1] = _mm512_or_si512(_mm512_srli_epi64(l1, 12), _mm512_slli_epi64(l2, 40));
}

/* zk_recode_halves for eight scalars: u[0] of k1, u[1] of -k2. s = k1 + q x^2 with q = floor((s + x^2/2) / x^2), found
 * from the upper limbs of both: |k1| may exceed half of x^2 by a 60th, which leaves it below 2^127 0.70. */
static void recode(__m512i u[IMAGES][IMAGE_LIMBS], const zk_windows *windows, const zk_fr *scalars) {
    const __m512i mask = zk_v8_set1(ZK_FP52_MASK), zero = _mm512_setzero_si512();
    __m512i w[4], t[10], v[5], h[3], c[3], x2[3], p[6];
    zk_fr52x8_load_words(w, scalars);
    /* Out of the form with R = 2^256: times 2^4, reduced by 2^260. */
    t[0] = _mm512_and_si512(_mm512_slli_epi64(w[0], 4), mask);
    for (int i = 1; i < 5; i++) {
        const unsigned at = (unsigned)(52 * i - 4) % 64, word = (unsigned)(52 * i - 4) / 64;
        t[i] = _mm512_srli_epi64(w[word], at);
        if (at > 12 && word < 3) t[i] = _mm512_or_si512(t[i], _mm512_slli_epi64(w[word + 1], 64 - at));
        t[i] = _mm512_and_si512(t[i], mask);
        t[i + 5] = zero;
    }
    t[5] = zero;
    zk_fr52x8 plain;
    zk_fr52x8_montgomery(&plain, t);
    /* v: tight; h: the limbs 2 .. 4 of v + x^2/2. */
    __m512i carry = zero, carry_h = zero;
    for (int i = 0; i < 5; i++) {
        carry = _mm512_add_epi64(plain.l[i], carry);
        v[i] = _mm512_and_si512(carry, mask);
        carry = _mm512_srai_epi64(carry, 52);
        carry_h = _mm512_add_epi64(i < 3 ? _mm512_add_epi64(v[i], zk_v8_set1(half_x2_limbs[i])) : v[i], carry_h);
        if (i >= 2) h[i - 2] = _mm512_and_si512(carry_h, mask);
        carry_h = _mm512_srli_epi64(carry_h, 52);
    }
    for (int i = 0; i < 3; i++) {
        c[i] = zk_v8_set1(x2_reciprocal_limbs[i]);
        x2[i] = zk_v8_set1(x2_limbs[i]);
    }
    /* q = h c / 2^156. What the limbs 0 and 1 of the product would carry is lost. */
    for (int i = 0; i < 6; i++) p[i] = zero;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            if (i + j >= 2) p[i + j] = zk_v8_madd52lo(p[i + j], h[i], c[j]);
            if (i + j >= 1) p[i + j + 1] = zk_v8_madd52hi(p[i + j + 1], h[i], c[j]);
        }
    __m512i q[3];
    for (int i = 3; i < 6; i++) {
        p[i] = _mm512_add_epi64(p[i], _mm512_srli_epi64(p[i - 1], 52));
        q[i - 3] = _mm512_and_si512(p[i], mask);
    }
    /* k1 = v - q x^2 */
    __m512i qx[4] = {zero, zero, zero, zero}, k1[3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; i + j < 3; j++) {
            qx[i + j] = zk_v8_madd52lo(qx[i + j], q[i], x2[j]);
            qx[i + j + 1] = zk_v8_madd52hi(qx[i + j + 1], q[i], x2[j]);
        }
    for (int i = 0; i < 3; i++) k1[i] = _mm512_sub_epi64(v[i], qx[i]);
    /* If q > x^2/2, both are brought down by r = (x^2 - 1) x^2 + 1. */
    __m512i below = zero;
    for (int i = 0; i < 3; i++)
        below = _mm512_add_epi64(_mm512_sub_epi64(zk_v8_set1(half_x2_limbs[i]), q[i]), _mm512_srai_epi64(below, 52));
    const __mmask8 upper = _mm512_movepi64_mask(below);
    for (int i = 0; i < 3; i++) q[i] = _mm512_mask_sub_epi64(q[i], upper, q[i], x2[i]);
    q[0] = _mm512_mask_add_epi64(q[0], upper, q[0], zk_v8_set1(1));
    k1[0] = _mm512_mask_sub_epi64(k1[0], upper, k1[0], zk_v8_set1(1));
    for (int i = 0; i < 3; i++) {
        const uint64_t *o = windows->offset;
        const uint64_t limb = i == 0 ? o[0] : i == 1 ? o[0] >> 52 | o[1] << 12 : o[1] >> 40;
        const __m512i offset = zk_v8_set1(limb & ZK_FP52_MASK);
        k1[i] = _mm512_add_epi64(k1[i], offset);
        q[i] = _mm512_sub_epi64(offset, q[i]);
    }
    low_words(u[0], k1);
    low_words(u[1], q);
}

/* Rows of the images of eight points, point by point; bit k: point k is not infinity. */
static __mmask8 prepare(uint64_t *rows, const AFFINE points[8]) {
    static const zk_fp beta_element = {{0x30f1361b798a64e8, 0xf3b8ddab7ece5a2a, 0x16a8ca3ac61577f7, 0xc26a2ff874fd029b,
                                        0x3636b76660701c6e, 0x051ba4ab241b6160}};
    const char *at[8];
    uint64_t *out[3][8];
    for (int k = 0; k < 8; k++) {
        at[k] = (const char *)&points[k];
        for (int c = 0; c < 3; c++) out[c][k] = rows + (3 * k + c) * ROW_WORDS;
    }
    VEC x, y, beta;
    vec_load_elements(&x, at, false);
    vec_load_elements(&y, at, true);
    const __mmask8 infinite = vec_zero_limbs(&x) & vec_zero_limbs(&y);
    vec_store_rows(out[0], &x);
    vec_store_rows(out[1], &y);
    zk_fp52x8_broadcast(&beta, &beta_element);
    vec_mul(&x, &x, &beta);
    vec_store_rows(out[2], &x);
    return (__mmask8)~infinite;
}

#include "msm/ifma/pippenger.inc"
#include "msm/ifma/sums.inc"
#include "msm/ifma/subgroup.inc"
