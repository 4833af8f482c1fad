/* The sources of this folder for G1. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/mem.h"
#include "field/fp52x8.h"
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

/* 1,024 additions share an inversion; sums, batch and the rows of this batch and the next are 512 KB of a 1 MiB L2. */
#define BATCH_VECS 128

/* ---- Coordinates: one element of Fp ---- */

#define VEC zk_fp52x8
#define VEC_FPS 1

/* 2^416 mod p */
static const uint64_t one_limbs[8] = {0x6480ea8e9b9af, 0x65766c8fe444f, 0x8b540fea96f7d, 0x3b2ee82efd422,
                                      0xa6723e5f0ade5, 0xff6eb6fdd4230, 0xe06ef23c24a25, 0x0000000014c8e};

ZK_INLINE void vec_set_one(VEC *r) { ZK_UNROLL for (int i = 0; i < 8; i++) r->l[i] = zk_v8_set1(one_limbs[i]); }
ZK_INLINE void vec_mul(VEC *r, const VEC *a, const VEC *b) { zk_fp52x8_mul(r, a, b); }
/* To be multiplied with only; so may the operands be. */
static __attribute__((noinline)) void vec_mul_factor(VEC *r, const VEC *a, const VEC *b) {
    zk_fp52x8_mul_factor(r, a, b);
}
ZK_INLINE void vec_blend(VEC *r, const VEC *a, const VEC *b, __mmask8 lanes) { zk_fp52x8_blend(r, a, b, lanes); }
/* Tight below 8p -> reduced. */
ZK_INLINE void vec_reduce_small(VEC *r, const VEC *a) { zk_fp52x8_reduce(r, a); }
/* 2p - a, tight. */
ZK_INLINE void vec_neg(VEC *r, const VEC *a) {
    VEC t;
    zk_fp52x8_neg_if_loose(&t, a, 0xff, 2);
    zk_fp52x8_carry(r, &t);
}
/* d = x2 - x1 + 2p < 3.3p, tight. */
ZK_INLINE void vec_difference(VEC *d, const VEC *x2, const VEC *x1) {
    VEC t;
    zk_fp52x8_sub_loose(&t, x2, x1, 2);
    zk_fp52x8_carry(d, &t);
}
/* y2 - y1 + 2p, or -y2 - y1 + 4p in the lanes given; a factor, below 4p. */
ZK_INLINE void vec_slope_numerator(VEC *r, const VEC *y2, __mmask8 negate, const VEC *y1) {
    VEC t;
    zk_fp52x8_neg_if_loose(&t, y2, negate, 2);
    zk_fp52x8_sub_loose(&t, &t, y1, 2);
    zk_fp52x8_carry_factor(r, &t);
}
/* lambda^2 - d - 2 x1 (+ 6p >= 3.3p + 2.02p + p/100), reduced. */
static __attribute__((noinline)) void vec_x3(VEC *r, const VEC *lambda, const VEC *d, const VEC *x1) {
    VEC t;
    zk_fp52x8_sqr_loose(&t, lambda);
    zk_fp52x8_sub_loose(&t, &t, d, 6);
    ZK_UNROLL for (int i = 0; i < 8; i++) t.l[i] = _mm512_sub_epi64(t.l[i], _mm512_slli_epi64(x1->l[i], 1));
    zk_fp52x8_reduce(r, &t);
}
/* lambda (x1 - x3) - y1, reduced. */
static __attribute__((noinline)) void vec_y3(VEC *r, const VEC *lambda, const VEC *x1, const VEC *x3, const VEC *y1) {
    VEC t;
    zk_fp52x8_sub_loose(&t, x1, x3, 2);
    zk_fp52x8_carry_factor(&t, &t);
    zk_fp52x8_mul_loose(&t, &t, lambda);
    zk_fp52x8_sub_loose(&t, &t, y1, 2);
    zk_fp52x8_reduce(r, &t);
}
ZK_INLINE void vec_load_rows(VEC *r, const uint64_t *const row[8]) { zk_v8_load_transposed(r->l, row); }
ZK_INLINE void vec_store_rows(uint64_t *const row[8], const VEC *a) {
    __m512i t[8];
    zk_v8_transpose(t, a->l);
    ZK_UNROLL for (int i = 0; i < 8; i++) _mm512_store_si512(row[i], t[i]);
}
/* Elements inside points: y is the last of its point, so that the 64 bytes read begin before it. */
ZK_INLINE void vec_load_elements(VEC *r, const FE *const element[8], const bool y) {
    __m512i t[8], w[8];
    ZK_UNROLL for (int i = 0; i < 8; i++) t[i] = _mm512_loadu_si512(element[i]->l - (y ? 2 : 0));
    zk_v8_transpose(w, t);
    zk_fp52x8_from_words(r, w + (y ? 2 : 0));
}
#define vec_to_elements zk_fp52x8_to_elements
ZK_INLINE void vec_broadcast(VEC *r, const FE *a) { zk_fp52x8_broadcast(r, a); }
/* Lane k of r is lane k ^ distance of a, distance 1, 2 or 4. */
static void vec_swap_lanes(VEC *r, const VEC *a, int distance) { zk_fp52x8_swap_lanes(r, a, distance); }
static void vec_set_lane(VEC *r, int lane, const FE *a) { zk_fp52x8_set_lane(r, lane, a); }
/* Lanes where all limbs are zero. */
ZK_INLINE __mmask8 vec_zero_limbs(const VEC *a) {
    __m512i any = a->l[0];
    ZK_UNROLL for (int i = 1; i < 8; i++) any = _mm512_or_si512(any, a->l[i]);
    return _mm512_testn_epi64_mask(any, any);
}
/* Lanes that may be 0 mod p, a tight below 4p: by the lowest limb. */
static __mmask8 vec_maybe_zero(const VEC *a) {
    __mmask8 lanes = 0;
    for (int k = 0; k < 4; k++) lanes |= _mm512_cmpeq_epi64_mask(a->l[0], zk_v8_set1(zk_fp52_multiples[0][k]));
    return lanes;
}

#include "msm/ifma/batch.inc"

/* ---- Images: phi(x, y) = (beta x, y) multiplies by -z^2 (curve/g1.c, msm/recode.h) ---- */

#define IMAGES 2
#define IMAGE_LIMBS 2
#define ROW_COORDINATES 3 /* x, beta x, y */
#define WINDOW_BITS_LEAST 4
#define WINDOW_BITS_MOST 19
#define SLICE_MOST ((size_t)1 << 21)
static const uint32_t image_x[8] = {0, 1}, image_y[8] = {2, 2};

static void windows_of(zk_windows *w, unsigned c) { zk_windows_half(w, c); }
static void recode(uint64_t *u, const zk_windows *w, const zk_fr *s) { zk_recode_halves(u, u + 2, w, s); }

static void prepare(uint64_t *rows, const AFFINE points[8]) {
    static const zk_fp beta_element = {{0x30f1361b798a64e8, 0xf3b8ddab7ece5a2a, 0x16a8ca3ac61577f7, 0xc26a2ff874fd029b,
                                        0x3636b76660701c6e, 0x051ba4ab241b6160}};
    const FE *x[8], *y[8];
    uint64_t *out[3][8];
    for (int k = 0; k < 8; k++) {
        x[k] = &points[k].x;
        y[k] = &points[k].y;
        for (int c = 0; c < 3; c++) out[c][k] = rows + (3 * k + c) * ROW_WORDS;
    }
    VEC v, beta;
    zk_fp52x8_broadcast(&beta, &beta_element);
    vec_load_elements(&v, x, false);
    vec_store_rows(out[0], &v);
    vec_mul(&v, &v, &beta);
    vec_store_rows(out[1], &v);
    vec_load_elements(&v, y, true);
    vec_store_rows(out[2], &v);
}

#include "msm/ifma/pippenger.inc"
#include "msm/ifma/sums.inc"
