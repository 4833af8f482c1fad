/* The sources of this folder for G2. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "field/fp2_52x8.h"
#include "msm/ifma/digits.h"
#include "msm/ifma/ifma.h"

#define FE zk_fp2
#define FE_(name) zk_fp2_##name
#define AFFINE zk_g2_affine
#define POINT zk_g2
#define GROUP(name) zk_g2_##name
#define MSM(name) zk_msm_g2_##name
#define MASKED_SUM zk_masked_sum_g2_ifma
#define SUBSET(name) zk_subset_table_g2_##name
#define FIXED_MUL zk_fixed_base_g2_mul_ifma
#define SUBGROUP(name) zk_g2_subgroup_sums_##name##_ifma

/* 512 additions share an inversion; sums, batch and the rows of this batch and the next are 512 KB of a 1 MiB L2. */
#define BATCH_VECS 64

/* ---- Coordinates: c0 + c1 u ---- */

#define VEC zk_fp2_52x8
#define VEC_FPS 2

/* Factors and tight values are the same here, as products need the sum of both parts. */
#define vec_mul_factor vec_mul

static const uint64_t one_limbs[8] = {0x6480ea8e9b9af, 0x65766c8fe444f, 0x8b540fea96f7d, 0x3b2ee82efd422,
                                      0xa6723e5f0ade5, 0xff6eb6fdd4230, 0xe06ef23c24a25, 0x0000000014c8e};

/* What takes u^2 x and u^3 y to x and y: 2^404 and 2^414 mod p */
static const uint64_t two_404[8] = {0xd003480ea7ee1, 0x3798a71288f15, 0xf9b49b2d851eb, 0xf5b85ac3d2c2d,
                                    0xe247b2f79f0ad, 0x5a88f0d3f7602, 0xf0c3ce8358db5, 0x0000000004cc5};
static const uint64_t two_414[8] = {0xcd203aa3a2e6c, 0x58629a23f8dcb, 0x33208dac15cdf, 0x1cdb47705d494,
                                    0x42522721fe21d, 0xd4997671edca6, 0x8f166e8dd8641, 0x0000000018b30};

ZK_INLINE void vec_set_one(VEC *r) {
    ZK_UNROLL for (int i = 0; i < 8; i++) {
        r->c0.l[i] = zk_v8_set1(one_limbs[i]);
        r->c1.l[i] = _mm512_setzero_si512();
    }
}

#define vec_mul_loose zk_fp2_52x8_mul_loose
static void vec_carry(VEC *r, const VEC *a) {
    zk_fp52x8_carry(&r->c0, &a->c0);
    zk_fp52x8_carry(&r->c1, &a->c1);
}
static void vec_mul(VEC *r, const VEC *a, const VEC *b) {
    VEC t;
    vec_mul_loose(&t, a, b);
    vec_carry(r, &t);
}
#define fp_mul_loose zk_fp52x8_mul_loose_fn
#define vec_blend zk_fp2_52x8_blend
ZK_INLINE void vec_reduce_wide(VEC *r, const VEC *a) {
    zk_fp52x8_reduce_wide(&r->c0, &a->c0);
    zk_fp52x8_reduce_wide(&r->c1, &a->c1);
}
/* Loose below 8p -> reduced. */
ZK_INLINE void vec_reduce_small(VEC *r, const VEC *a) {
    zk_fp52x8_reduce(&r->c0, &a->c0);
    zk_fp52x8_reduce(&r->c1, &a->c1);
}
/* a - b + m, m: limbs of a multiple of p, at least the magnitude of b; loose. */
ZK_INLINE void fp_sub_plus(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b, const uint64_t m[8]) {
    ZK_UNROLL for (int i = 0; i < 8; i++) r->l[i] =
        _mm512_add_epi64(_mm512_sub_epi64(a->l[i], b->l[i]), zk_v8_set1(m[i]));
}
ZK_INLINE void vec_sub_plus(VEC *r, const VEC *a, const VEC *b, const uint64_t m[8]) {
    fp_sub_plus(&r->c0, &a->c0, &b->c0, m);
    fp_sub_plus(&r->c1, &a->c1, &b->c1, m);
}
/* 4p - a, tight. */
ZK_INLINE void vec_neg(VEC *r, const VEC *a) {
    VEC t;
    zk_fp52x8_neg_if_loose(&t.c0, &a->c0, 0xff, 4);
    zk_fp52x8_neg_if_loose(&t.c1, &a->c1, 0xff, 4);
    vec_carry(r, &t);
}
/* d = x2 - x1 + before, tight. */
static void vec_difference(VEC *d, const VEC *x2, const VEC *x1, const uint64_t before[8]) {
    VEC t;
    vec_sub_plus(&t, x2, x1, before);
    vec_carry(d, &t);
}
/* y2 - y1 + before, or 4p - y2 - y1 + before in the lanes given; tight. */
static void vec_slope_numerator(VEC *r, const VEC *y2, __mmask8 negate, const VEC *y1, const uint64_t before[8]) {
    VEC t;
    zk_fp52x8_neg_if_loose(&t.c0, &y2->c0, negate, 4);
    zk_fp52x8_neg_if_loose(&t.c1, &y2->c1, negate, 4);
    vec_sub_plus(&t, &t, y1, before);
    vec_carry(r, &t);
}
/* lambda^2 - d - 2 x1 = lambda^2 - x1 - x2 - before, plus what keeps it positive; then below 8p if it is to be reduced.
 * The square is (l0 + l1)(l0 - l1) + 2 l0 l1 u, lambda below 2.3p. */
static void x3_of(VEC *r, const VEC *lambda, const VEC *d, const VEC *x1, const uint64_t for_x3[8], const bool reduce) {
    VEC t;
    zk_fp52x8 sum, difference;
    zk_fp52x8_add_loose(&sum, &lambda->c0, &lambda->c1);
    zk_fp52x8_carry_factor(&sum, &sum);
    zk_fp52x8_sub_loose(&difference, &lambda->c0, &lambda->c1, 3);
    zk_fp52x8_carry_factor(&difference, &difference);
    fp_mul_loose(&t.c0, &sum, &difference);
    zk_fp52x8_add_loose(&sum, &lambda->c0, &lambda->c0);
    zk_fp52x8_carry_factor(&sum, &sum);
    fp_mul_loose(&t.c1, &sum, &lambda->c1);
    vec_sub_plus(&t, &t, d, for_x3);
    ZK_UNROLL for (int i = 0; i < 8; i++) {
        t.c0.l[i] = _mm512_sub_epi64(t.c0.l[i], _mm512_slli_epi64(x1->c0.l[i], 1));
        t.c1.l[i] = _mm512_sub_epi64(t.c1.l[i], _mm512_slli_epi64(x1->c1.l[i], 1));
    }
    if (reduce)
        vec_reduce_small(r, &t);
    else
        vec_carry(r, &t);
}
/* lambda (x1 - x3 + after) - y1 + before */
static void y3_of(VEC *r, const VEC *lambda, const VEC *x1, const VEC *x3, const VEC *y1, const uint64_t before[8],
                  const uint64_t after[8], const bool reduce) {
    VEC t;
    vec_difference(&t, x1, x3, after);
    vec_mul_loose(&t, &t, lambda);
    vec_sub_plus(&t, &t, y1, before);
    if (reduce)
        vec_reduce_small(r, &t);
    else
        vec_carry(r, &t);
}
#define vec_x3(r, l, d, x1, b, reduce) x3_of(r, l, d, x1, (b)->for_x3, reduce)
#define vec_y3(r, l, x1, x3, y1, b, reduce) y3_of(r, l, x1, x3, y1, (b)->before, (b)->after, reduce)

static void vec_load_rows(VEC *r, const char *const at[8], size_t offset) {
    const uint64_t *first[8], *second[8];
    ZK_UNROLL for (int k = 0; k < 8; k++) {
        first[k] = (const uint64_t *)(at[k] + offset);
        second[k] = first[k] + 8;
    }
    zk_v8_load_transposed(r->c0.l, first, 8);
    zk_v8_load_transposed(r->c1.l, second, 8);
}
static void vec_store_rows(uint64_t *const row[8], const VEC *a) {
    __m512i t[8], u[8];
    zk_v8_transpose(t, a->c0.l);
    zk_v8_transpose(u, a->c1.l);
    ZK_UNROLL for (int k = 0; k < 8; k++) {
        _mm512_store_si512(row[k], t[k]);
        _mm512_store_si512(row[k] + 8, u[k]);
    }
}
/* Words of a coordinate of eight points, shifted as batch.inc says. */
ZK_INLINE void load_part(zk_fp52x8 *r, const char *const at[8], const size_t offset, const bool y) {
    const uint64_t *row[8];
    __m512i w[6];
    ZK_UNROLL for (int k = 0; k < 8; k++) row[k] = (const uint64_t *)(at[k] + offset);
    zk_v8_load_transposed(w, row, 6);
    zk_fp52x8_split(r, w, y ? 2 : 12);
}
ZK_INLINE void vec_load_elements(VEC *r, const char *const at[8], const bool y) {
    load_part(&r->c0, at, y ? 96 : 0, y);
    load_part(&r->c1, at, y ? 144 : 48, y);
}
static void vec_to_by(FE r[8], const VEC *a, const uint64_t factor[8]) {
    zk_fp c0[8], c1[8];
    zk_fp52x8_to_elements_by(c0, &a->c0, factor);
    zk_fp52x8_to_elements_by(c1, &a->c1, factor);
    for (int k = 0; k < 8; k++) r[k] = (FE){c0[k], c1[k]};
}
static void vec_to_x(FE r[8], const VEC *a) { vec_to_by(r, a, two_404); }
static void vec_to_y(FE r[8], const VEC *a) { vec_to_by(r, a, two_414); }
#define vec_to_elements zk_fp2_52x8_to_elements
ZK_INLINE void vec_broadcast(VEC *r, const FE *a) {
    zk_fp52x8_broadcast(&r->c0, &a->c0);
    zk_fp52x8_broadcast(&r->c1, &a->c1);
}
/* Lane k of r is lane k ^ distance of a, distance 1, 2 or 4. */
static void vec_swap_lanes(VEC *r, const VEC *a, int distance) {
    zk_fp52x8_swap_lanes(&r->c0, &a->c0, distance);
    zk_fp52x8_swap_lanes(&r->c1, &a->c1, distance);
}
static void vec_set_lane(VEC *x, VEC *y, int lane, const AFFINE *a) {
    const char *at[8];
    VEC t;
    for (int k = 0; k < 8; k++) at[k] = (const char *)a;
    vec_load_elements(&t, at, false);
    vec_blend(x, x, &t, (__mmask8)(1u << lane));
    vec_load_elements(&t, at, true);
    vec_blend(y, y, &t, (__mmask8)(1u << lane));
}
/* Whether the lowest limbs of a lane are zero, as they are where all are. */
ZK_INLINE bool vec_maybe_zero(const VEC *a) {
    const __m512i any = _mm512_or_si512(a->c0.l[0], a->c1.l[0]);
    return _mm512_testn_epi64_mask(any, any) != 0;
}
/* Lanes where all limbs are zero. */
ZK_INLINE __mmask8 vec_zero_limbs(const VEC *a) {
    __m512i any = _mm512_or_si512(a->c0.l[0], a->c1.l[0]);
    ZK_UNROLL for (int i = 1; i < 8; i++) any = _mm512_or_si512(any, _mm512_or_si512(a->c0.l[i], a->c1.l[i]));
    return _mm512_testn_epi64_mask(any, any);
}
/* Lanes that are 0 mod p, a tight below 2p. */
static __mmask8 vec_zero_residues(const VEC *a) {
    const zk_fp52x8 *part[2] = {&a->c0, &a->c1};
    __mmask8 lanes = 0xff;
    for (int c = 0; c < 2; c++) {
        __m512i any = _mm512_setzero_si512(), other = any;
        for (int i = 0; i < 8; i++) {
            any = _mm512_or_si512(any, part[c]->l[i]);
            other = _mm512_or_si512(other, _mm512_xor_si512(part[c]->l[i], zk_v8_set1(zk_fp52_multiples[i][1])));
        }
        lanes &= _mm512_testn_epi64_mask(any, any) | _mm512_testn_epi64_mask(other, other);
    }
    return lanes;
}

#include "msm/ifma/batch.inc"

/* ---- Images ----
 *
 * psi (curve/g2.c) multiplies by x = -z, z = 0xd201000000010000: [z^j]P = (-1)^j psi^j(P). In coordinates, with
 * c_x = c u and the norm of c_y being 2^((p-1)/2) = -1:
 *
 *   psi(x, y) = (conj(x) c u, conj(y) c_y),  psi^2(x, y) = (c^2 x, -y),  psi^3(x, y) = (c^2 conj(x) c u, -conj(y) c_y)
 *
 * A point's rows hold x, y, c^2 x, psi x, psi y, c^2 psi x; the signs are in the digits: those of images 1 and 2 are
 * negated.
 */

#define IMAGES 4
#define IMAGE_LIMBS 1
#define WINDOW_BITS_LEAST 4
#define WINDOW_BITS_MOST 17
#define SLICE_MOST ((size_t)1 << 17)
static const uint32_t image_ref[IMAGES] = {0, 3 * ROW_BYTES / 2, ROW_BYTES / 2 + 2, 4 * ROW_BYTES / 2 + 2};

/* Windows for numbers |v| < z / 2 + 2 < 2^63 0.821. The string has 64 bits with half of the top window's range added
 * and half of 2^c for every other window: it must not overflow, so the top window has three bits at least. */
static void windows_of(zk_windows *w, unsigned c) {
    while (64 - ((64 + c - 1) / c - 1) * c < 3) c++;
    *w = (zk_windows){.c = c, .n = (64 + c - 1) / c, .bits = 64, .n_limbs = 1};
    for (unsigned i = 0; i < w->n; i++) w->offset[0] |= (uint64_t)1 << (i + 1 < w->n ? c * i + c - 1 : 63);
}

/* Divides a number of n limbs by z, to nearest; returns the remainder, between -z/2 and z/2. */
static int64_t divide_by_z(uint64_t *v, int n) {
    const uint64_t z = 0xd201000000010000;
    uint64_t remainder = 0;
    for (int i = n; i-- > 0;) __asm__("divq %2" : "+a"(v[i]), "+d"(remainder) : "r"(z) : "cc");
    if (remainder <= z / 2) return (int64_t)remainder;
    for (int i = 0; i < n && ++v[i] == 0; i++) continue;
    return (int64_t)(remainder - z);
}

static void recode_one(uint64_t u[4], const zk_windows *w, const zk_fr *s) {
    uint64_t v[4], negated[4];
    unsigned char borrow = 0;
    zk_fr_to_limbs(v, s);
    for (int i = 0; i < 4; i++) borrow = zk_sbb(borrow, zk_fr_modulus[i], v[i], &negated[i]);
    bool negative = zk_limbs_less(negated, v, 4);
    uint64_t *size = negative ? negated : v;
    int64_t part[4];
    for (int j = 0; j < 3; j++) part[j] = divide_by_z(size, 4 - j);
    part[3] = (int64_t)size[0];
    for (int j = 0; j < 4; j++) {
        bool flip = negative != (j == 1 || j == 2);
        u[j] = w->offset[0] + (flip ? (uint64_t)0 - (uint64_t)part[j] : (uint64_t)part[j]);
    }
}

static void recode(__m512i u[IMAGES][IMAGE_LIMBS], const zk_windows *w, const zk_fr *scalars) {
    uint64_t word[IMAGES][8];
    for (int k = 0; k < 8; k++) {
        uint64_t part[IMAGES];
        recode_one(part, w, &scalars[k]);
        for (int i = 0; i < IMAGES; i++) word[i][k] = part[i];
    }
    for (int i = 0; i < IMAGES; i++) u[i][0] = _mm512_loadu_si512(word[i]);
}

/* Rows of the images of eight points, point by point; bit k: point k is not infinity. */
static __mmask8 prepare(uint64_t *rows, const AFFINE points[8]) {
    static const zk_fp c_element = {{0x890dc9e4867545c3, 0x2af322533285a5d5, 0x50880866309b7e2c, 0xa20d1b8c7e881024,
                                     0x14e4f04fe2db9068, 0x14e56d3f1564853a}};
    static const zk_fp2 c_y_element = {{{0x3e2f585da55c9ad1, 0x4294213d86c18183, 0x382844c88b623732, 0x92ad2afd19103e18,
                                         0x1d794e4fac7cf0b9, 0x0bd592fc7d825ec8}},
                                       {{0x7bcfa7a25aa30fda, 0xdc17dec12a927e7c, 0x2f088dd86b4ebef1, 0xd1ca2087da74d4a7,
                                         0x2da2596696cebc1d, 0x0e2b7eedbbfd87d2}}};
    const char *at[8];
    uint64_t *out[6][8];
    for (int k = 0; k < 8; k++) {
        at[k] = (const char *)&points[k];
        for (int i = 0; i < 6; i++) out[i][k] = rows + (6 * k + i) * ROW_WORDS;
    }
    zk_fp52x8 c, square;
    VEC x, y, c_y, t;
    zk_fp52x8_broadcast(&c, &c_element);
    zk_fp52x8_sqr(&square, &c);
    zk_fp52x8_broadcast(&c_y.c0, &c_y_element.c0);
    zk_fp52x8_broadcast(&c_y.c1, &c_y_element.c1);
    vec_load_elements(&x, at, false);
    vec_load_elements(&y, at, true);
    const __mmask8 infinite = vec_zero_limbs(&x) & vec_zero_limbs(&y);
    vec_store_rows(out[0], &x);
    vec_store_rows(out[1], &y);
    zk_fp52x8_mul(&t.c0, &x.c0, &square);
    zk_fp52x8_mul(&t.c1, &x.c1, &square);
    vec_store_rows(out[2], &t);
    /* conj(x0 + x1 u) c u = c x1 + c x0 u */
    zk_fp52x8_mul(&t.c0, &x.c1, &c);
    zk_fp52x8_mul(&t.c1, &x.c0, &c);
    vec_store_rows(out[3], &t);
    zk_fp52x8_mul(&t.c0, &t.c0, &square);
    zk_fp52x8_mul(&t.c1, &t.c1, &square);
    vec_store_rows(out[5], &t);
    zk_fp52x8_neg_if_loose(&y.c1, &y.c1, 0xff, 4);
    zk_fp52x8_carry(&y.c1, &y.c1);
    vec_mul(&t, &y, &c_y);
    vec_store_rows(out[4], &t);
    return (__mmask8)~infinite;
}

#include "msm/ifma/pippenger.inc"
#include "msm/ifma/sums.inc"
#include "msm/ifma/subgroup.inc"
