/* Fp2, eight elements at a time: c0 + c1 u over field/fp52x8.h, whose terms (tight, loose, magnitude) are used here.
 * Include only where that may be.
 */
#ifndef ZK_FIELD_FP2_52X8_H
#define ZK_FIELD_FP2_52X8_H

#include "field/fp52x8.h"

typedef struct zk_fp2_52x8 {
    zk_fp52x8 c0, c1;
} zk_fp2_52x8;

/* Products in Fp as functions, of which Fp2 takes two or three: inlined copies spill. */
ZK_LANES_FN void zk_fp52x8_wide_product(zk_v8 t[16], const zk_fp52x8 *a, const zk_fp52x8 *b) {
    zk_v8 w[16];
    zk_fp52x8_product(w, a, b);
    for (int i = 0; i < 16; i++) t[i] = w[i];
}

/* Karatsuba's three products and two reductions, 642 vpmadd52; loose. c1 = a0 b1 + a1 b0 below 1.26p, c0 = a0 b0 - a1
 * b1 + p below 2.26p, for operands of magnitudes up to 2^15. */
ZK_LANES_FN void zk_fp2_52x8_mul_loose(zk_fp2_52x8 *r, const zk_fp2_52x8 *a, const zk_fp2_52x8 *b) {
    zk_fp52x8 sa, sb;
    zk_v8 t0[16], t1[16], t[16];
    zk_fp52x8_add_loose(&sa, &a->c0, &a->c1);
    zk_fp52x8_carry_factor(&sa, &sa);
    zk_fp52x8_add_loose(&sb, &b->c0, &b->c1);
    zk_fp52x8_carry_factor(&sb, &sb);
    zk_fp52x8_wide_product(t0, &a->c0, &b->c0);
    zk_fp52x8_wide_product(t1, &a->c1, &b->c1);
    zk_fp52x8_product(t, &sa, &sb);
    ZK_UNROLL for (int i = 0; i < 8; i++) {
        t[i] = zk_v8_sub(t[i], zk_v8_add(t0[i], t1[i]));
        t[i + 8] = zk_v8_sub(t[i + 8], zk_v8_add(t0[i + 8], t1[i + 8]));
    }
    zk_fp52x8_montgomery(&r->c1, t);
    ZK_UNROLL for (int i = 0; i < 8; i++) {
        t[i] = zk_v8_sub(t0[i], t1[i]);
        t[i + 8] = zk_v8_add(zk_v8_sub(t0[i + 8], t1[i + 8]), zk_v8_set1(zk_fp52_multiples[i][1]));
    }
    zk_fp52x8_montgomery(&r->c0, t);
}

ZK_INLINE void zk_fp2_52x8_carry(zk_fp2_52x8 *r, const zk_fp2_52x8 *a) {
    zk_fp52x8_carry(&r->c0, &a->c0);
    zk_fp52x8_carry(&r->c1, &a->c1);
}

/* The same, tight. */
ZK_INLINE void zk_fp2_52x8_mul(zk_fp2_52x8 *r, const zk_fp2_52x8 *a, const zk_fp2_52x8 *b) {
    zk_fp2_52x8 t;
    zk_fp2_52x8_mul_loose(&t, a, b);
    zk_fp2_52x8_carry(r, &t);
}

ZK_LANES_FN void zk_fp52x8_mul_loose_fn(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b) {
    zk_fp52x8_mul_loose(r, a, b);
}

/* (a0 + a1)(a0 - a1) + 2 a0 a1 u: tight, below 1.26p; a of magnitudes up to 2^7. */
ZK_INLINE void zk_fp2_52x8_sqr(zk_fp2_52x8 *r, const zk_fp2_52x8 *a) {
    zk_fp2_52x8 t;
    zk_fp52x8 sum, difference, twice;
    zk_fp52x8_add_loose(&sum, &a->c0, &a->c1);
    zk_fp52x8_carry_factor(&sum, &sum);
    zk_fp52x8_sub_shifted(&difference, &a->c0, &a->c1, 7);
    zk_fp52x8_carry_factor(&difference, &difference);
    zk_fp52x8_add_loose(&twice, &a->c0, &a->c0);
    zk_fp52x8_carry_factor(&twice, &twice);
    zk_fp52x8_mul_loose_fn(&t.c0, &sum, &difference);
    zk_fp52x8_mul_loose_fn(&t.c1, &twice, &a->c1);
    zk_fp2_52x8_carry(r, &t);
}

/* a b with b in Fp: tight, below 1.26p. */
ZK_INLINE void zk_fp2_52x8_mul_fp(zk_fp2_52x8 *r, const zk_fp2_52x8 *a, const zk_fp52x8 *b) {
    zk_fp2_52x8 t;
    zk_fp52x8_mul_loose_fn(&t.c0, &a->c0, b);
    zk_fp52x8_mul_loose_fn(&t.c1, &a->c1, b);
    zk_fp2_52x8_carry(r, &t);
}

/* a + b; a - b + 2^k p with 2^k at least the magnitude of b: loose. */
ZK_INLINE void zk_fp2_52x8_add_loose(zk_fp2_52x8 *r, const zk_fp2_52x8 *a, const zk_fp2_52x8 *b) {
    zk_fp52x8_add_loose(&r->c0, &a->c0, &b->c0);
    zk_fp52x8_add_loose(&r->c1, &a->c1, &b->c1);
}
ZK_INLINE void zk_fp2_52x8_sub_shifted(zk_fp2_52x8 *r, const zk_fp2_52x8 *a, const zk_fp2_52x8 *b, const int k) {
    zk_fp52x8_sub_shifted(&r->c0, &a->c0, &b->c0, k);
    zk_fp52x8_sub_shifted(&r->c1, &a->c1, &b->c1, k);
}
/* 2^k a, loose. */
ZK_INLINE void zk_fp2_52x8_shift_loose(zk_fp2_52x8 *r, const zk_fp2_52x8 *a, const unsigned k) {
    zk_fp52x8_shift_loose(&r->c0, &a->c0, k);
    zk_fp52x8_shift_loose(&r->c1, &a->c1, k);
}
ZK_INLINE void zk_fp2_52x8_blend(zk_fp2_52x8 *r, const zk_fp2_52x8 *a, const zk_fp2_52x8 *b, __mmask8 lanes) {
    zk_fp52x8_blend(&r->c0, &a->c0, &b->c0, lanes);
    zk_fp52x8_blend(&r->c1, &a->c1, &b->c1, lanes);
}

ZK_LANES_FN void zk_fp2_52x8_from_elements(zk_fp2_52x8 *r, const zk_fp2 a[8]) {
    zk_fp c0[8], c1[8];
    for (int k = 0; k < 8; k++) {
        c0[k] = a[k].c0;
        c1[k] = a[k].c1;
    }
    zk_fp52x8_from_elements(&r->c0, c0);
    zk_fp52x8_from_elements(&r->c1, c1);
}
ZK_LANES_FN void zk_fp2_52x8_to_elements(zk_fp2 r[8], const zk_fp2_52x8 *a) {
    zk_fp c0[8], c1[8];
    zk_fp52x8_to_elements(c0, &a->c0);
    zk_fp52x8_to_elements(c1, &a->c1);
    for (int k = 0; k < 8; k++) r[k] = (zk_fp2){c0[k], c1[k]};
}

#endif
