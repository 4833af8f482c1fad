#include "curve/ifma/lanes.h"
#include "field/fp52x8.h"

#define ABS_X 0xd201000000010000u

/* Functions, as inlined copies spill. */
static __attribute__((noinline)) void mul(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b) {
    zk_fp52x8_mul(r, a, b);
}
static __attribute__((noinline)) void sqr(zk_fp52x8 *r, const zk_fp52x8 *a) { zk_fp52x8_sqr(r, a); }
ZK_INLINE void shift_loose(zk_fp52x8 *r, const zk_fp52x8 *a, const unsigned k) {
    ZK_UNROLL for (int i = 0; i < 8; i++) r->l[i] = _mm512_slli_epi64(a->l[i], k);
}

#define VEC zk_fp52x8
#define fe_mul mul
#define fe_sqr sqr
#define fe_carry zk_fp52x8_carry
#define fe_add_loose zk_fp52x8_add_loose
#define fe_sub_loose zk_fp52x8_sub_shifted
#define fe_shift_loose shift_loose
#define fe_blend zk_fp52x8_blend
#include "curve/ifma/ladder.inc"

/* 12M + 4S. */
static void lane_add(lane_point *r, const lane_point *a, const lane_point *b) {
    VEC aa, bb, u1, u2, s1, s2, z;
    sqr(&aa, &a->z);
    sqr(&bb, &b->z);
    mul(&u1, &a->x, &bb);
    mul(&u2, &b->x, &aa);
    mul(&s1, &a->y, &b->z);
    mul(&s1, &s1, &bb);
    mul(&s2, &b->y, &a->z);
    mul(&s2, &s2, &aa);
    zk_fp52x8_sub_shifted(&u2, &u2, &u1, 1);
    zk_fp52x8_carry(&u2, &u2);
    zk_fp52x8_sub_shifted(&s2, &s2, &s1, 1);
    zk_fp52x8_carry(&s2, &s2);
    mul(&z, &a->z, &b->z);
    mul(&r->z, &z, &u2);
    lane_add_finish(r, &u1, &s1, &u2, &s2);
}

/* Sliding windows of five bits, the same for all lanes. */
void zk_fp_pow_lanes(zk_fp a[8], const uint64_t e[6]) {
    zk_fp52x8 odd[16], square, x;
    bool started = false;
    zk_fp52x8_from_elements(&odd[0], a);
    sqr(&square, &odd[0]);
    for (int i = 1; i < 16; i++) mul(&odd[i], &odd[i - 1], &square);
    x = odd[0];
    for (size_t i = 384; i > 0;) {
        if (!(e[(i - 1) / 64] >> ((i - 1) % 64) & 1)) {
            if (started) sqr(&x, &x);
            i--;
            continue;
        }
        size_t low = i >= 5 ? i - 5 : 0;
        while (!(e[low / 64] >> (low % 64) & 1)) low++;
        unsigned digit = 0;
        for (size_t k = i; k-- > low;) digit = digit << 1 | (e[k / 64] >> (k % 64) & 1);
        if (started) {
            for (size_t k = low; k < i; k++) sqr(&x, &x);
            mul(&x, &x, &odd[digit / 2]);
        } else {
            x = odd[digit / 2];
        }
        started = true;
        i = low;
    }
    zk_fp52x8_to_elements(a, &x);
}

static unsigned zero_lanes(const zk_fp52x8 *a) {
    zk_fp element[8];
    unsigned zero = 0;
    zk_fp52x8_to_elements(element, a);
    for (int k = 0; k < 8; k++) zero |= (unsigned)zk_fp_is_zero(&element[k]) << k;
    return zero;
}

static void load(zk_fp52x8 *x, zk_fp52x8 *y, const zk_g1_affine p[8]) {
    zk_fp element[2][8];
    for (int k = 0; k < 8; k++) {
        element[0][k] = p[k].x;
        element[1][k] = p[k].y;
    }
    zk_fp52x8_from_elements(x, element[0]);
    zk_fp52x8_from_elements(y, element[1]);
}

static void set_one(zk_fp52x8 *r) { zk_fp52x8_broadcast(r, &zk_fp_one); }

/* phi(P) = -[x^2]P: see zk_g1_affine_is_in_subgroup. */
unsigned zk_g1_subgroup_lanes(unsigned *undecided, const zk_g1_affine p[8]) {
    lane_point sum, base;
    zk_fp52x8 x, y, t, u;
    zk_g1_affine image[8];
    load(&x, &y, p);
    sum.x = x;
    sum.y = y;
    set_one(&sum.z);
    for (int i = 62; i >= 0; i--) {
        lane_double(&sum, &sum);
        if (ABS_X >> i & 1) lane_add_affine(&sum, &sum, &x, &y, 0xff);
    }
    base = sum;
    for (int i = 62; i >= 0; i--) {
        lane_double(&sum, &sum);
        if (ABS_X >> i & 1) lane_add(&sum, &sum, &base);
    }
    *undecided = zero_lanes(&sum.z);
    for (int k = 0; k < 8; k++) zk_g1_affine_phi(&image[k], &p[k]);
    load(&x, &y, image);
    sqr(&t, &sum.z);
    mul(&x, &x, &t);
    zk_fp52x8_sub_shifted(&u, &x, &sum.x, 6);
    zk_fp52x8_carry(&u, &u);
    unsigned equal = zero_lanes(&u);
    mul(&t, &t, &sum.z);
    mul(&y, &y, &t);
    zk_fp52x8_add_loose(&u, &y, &sum.y);
    zk_fp52x8_carry(&u, &u);
    return equal & zero_lanes(&u) & ~*undecided;
}

/* Digits of both numbers together, from the top: P, phi(P) and, as 1 + phi + phi^2 = 0, P + phi(P) = -phi^2(P). */
void zk_g1_mul_pairs_lanes(zk_g1 r[8], const zk_g1_affine p[8], const uint64_t z[8][2]) {
    lane_point sum;
    zk_fp52x8 x[4], y[4], qx, qy;
    zk_g1_affine image[2][8];
    for (int k = 0; k < 8; k++) {
        zk_g1_affine_phi(&image[0][k], &p[k]);
        zk_g1_affine_phi(&image[1][k], &image[0][k]);
        zk_g1_affine_neg(&image[1][k], &image[1][k]);
    }
    load(&x[1], &y[1], p);
    load(&x[2], &y[2], image[0]);
    load(&x[3], &y[3], image[1]);
    sum.x = x[1];
    sum.y = y[1];
    set_one(&sum.z);
    for (int i = 63; i >= 0; i--) {
        __mmask8 digit[2] = {0, 0};
        for (int k = 0; k < 8; k++)
            for (int c = 0; c < 2; c++) digit[c] |= (__mmask8)((z[k][c] >> i & 1) << k);
        __mmask8 both = digit[0] & digit[1], any = digit[0] | digit[1];
        lane_double(&sum, &sum);
        zk_fp52x8_blend(&qx, &x[1], &x[2], digit[1]);
        zk_fp52x8_blend(&qx, &qx, &x[3], both);
        zk_fp52x8_blend(&qy, &y[1], &y[3], both);
        lane_add_affine(&sum, &sum, &qx, &qy, any);
    }
    zk_fp element[3][8];
    zk_fp52x8_to_elements(element[0], &sum.x);
    zk_fp52x8_to_elements(element[1], &sum.y);
    zk_fp52x8_to_elements(element[2], &sum.z);
    for (int k = 0; k < 8; k++) r[k] = (zk_g1){element[0][k], element[1][k], element[2][k]};
}
