/* Products of field/fp52x8.h, which includes this, by vpmadd52. It issues once a cycle on the machines at hand, so
 * their number is the cost: 257 a multiplication, 201 a square. */
#ifndef ZK_FIELD_FP52X8_IFMA_H
#define ZK_FIELD_FP52X8_IFMA_H

/* A limb of q p, q in 0 .. 7. */
ZK_INLINE zk_v8 zk_fp52x8_multiple(zk_v8 q, const int limb) {
    return _mm512_permutexvar_epi64(q, zk_v8_load(zk_fp52_multiples[limb]));
}

/* loose -> tight, of the same value. */
ZK_INLINE void zk_fp52x8_carry(zk_fp52x8 *r, const zk_fp52x8 *a) {
    const zk_v8 mask = zk_v8_set1(ZK_MASK_52);
    zk_v8 t = a->l[0];
    ZK_UNROLL for (int i = 0; i < 7; i++) {
        r->l[i] = zk_v8_and(t, mask);
        t = zk_v8_add(a->l[i + 1], zk_v8_srai52(t));
    }
    r->l[7] = t;
}

/* loose -> factor. Carries without the masks. */
ZK_INLINE void zk_fp52x8_carry_factor(zk_fp52x8 *r, const zk_fp52x8 *a) {
    r->l[0] = a->l[0];
    ZK_UNROLL for (int i = 0; i < 7; i++) r->l[i + 1] = zk_v8_add(a->l[i + 1], zk_v8_srai52(r->l[i]));
}

/* t = a b as 16 loose limbs below 2^56; a, b tight or factors. 128 vpmadd52. */
ZK_INLINE void zk_fp52x8_product(zk_v8 t[16], const zk_fp52x8 *a, const zk_fp52x8 *b) {
    const zk_v8 zero = zk_v8_zero();
    ZK_UNROLL for (int i = 0; i < 8; i++) t[i] = t[i + 8] = zero;
    ZK_UNROLL for (int j = 0; j < 8; j++) {
        zk_v8 bj = b->l[j];
        ZK_UNROLL for (int i = 0; i < 8; i++) t[i + j] = zk_v8_madd52lo(t[i + j], a->l[i], bj);
        ZK_UNROLL for (int i = 0; i < 8; i++) t[i + j + 1] = zk_v8_madd52hi(t[i + j + 1], a->l[i], bj);
    }
}

/* t = a^2; 72 vpmadd52. */
ZK_INLINE void zk_fp52x8_product_sqr(zk_v8 t[16], const zk_fp52x8 *a) {
    const zk_v8 zero = zk_v8_zero();
    ZK_UNROLL for (int i = 0; i < 8; i++) t[i] = t[i + 8] = zero;
    ZK_UNROLL for (int j = 0; j < 7; j++) {
        ZK_UNROLL for (int i = j + 1; i < 8; i++) t[i + j] = zk_v8_madd52lo(t[i + j], a->l[i], a->l[j]);
        ZK_UNROLL for (int i = j + 1; i < 8; i++) t[i + j + 1] = zk_v8_madd52hi(t[i + j + 1], a->l[i], a->l[j]);
    }
    ZK_UNROLL for (int i = 1; i < 8; i++) t[i] = zk_v8_add(t[i], t[i]);
    ZK_UNROLL for (int i = 8; i < 15; i++) t[i] = zk_v8_add(t[i], t[i]);
    ZK_UNROLL for (int i = 0; i < 8; i++) {
        t[2 * i] = zk_v8_madd52lo(t[2 * i], a->l[i], a->l[i]);
        t[2 * i + 1] = zk_v8_madd52hi(t[2 * i + 1], a->l[i], a->l[i]);
    }
}

/* r = t / R mod p, loose, below t / R + 1.25 p; t: loose limbs, of either sign (a negative t gives that much less).
 * Montgomery's reduction, a limb at a time. Seven steps use m = p (-1/p mod 2^52), which is -1 mod 2^52: then the
 * quotient is the limb itself and only (m + 1) / 2^52 has to be added, one limb further up. The last step uses p,
 * and sees to it that the result is small: 7 steps leave at most m / 2^52 < 0.25 p. 129 vpmadd52. */
ZK_INLINE void zk_fp52x8_montgomery(zk_fp52x8 *r, zk_v8 t[16]) {
    const uint64_t *m = zk_fp52_reduction, *p = m + 8;
    ZK_UNROLL for (int i = 0; i < 7; i++) {
        zk_v8 q = t[i];
        t[i + 1] = zk_v8_add(t[i + 1], zk_v8_srai52(t[i]));
        ZK_UNROLL for (int k = 0; k < 8; k++) t[i + 1 + k] = zk_v8_madd52lo(t[i + 1 + k], q, zk_v8_set1(m[k]));
        ZK_UNROLL for (int k = 0; k < 8; k++) t[i + 2 + k] = zk_v8_madd52hi(t[i + 2 + k], q, zk_v8_set1(m[k]));
    }
    zk_v8 q = zk_v8_madd52lo(zk_v8_zero(), t[7], zk_v8_set1(m[16]));
    t[7] = zk_v8_madd52lo(t[7], q, zk_v8_set1(p[0]));
    ZK_UNROLL for (int k = 1; k < 8; k++) t[7 + k] = zk_v8_madd52lo(t[7 + k], q, zk_v8_set1(p[k]));
    ZK_UNROLL for (int k = 0; k < 8; k++) t[8 + k] = zk_v8_madd52hi(t[8 + k], q, zk_v8_set1(p[k]));
    t[8] = zk_v8_add(t[8], zk_v8_srai52(t[7]));
    ZK_UNROLL for (int k = 0; k < 8; k++) r->l[k] = t[8 + k];
}

/* r = a b / R, a^2 / R: loose, below (magnitude of a)(magnitude of b) 2^-34 p + 1.25 p */
ZK_INLINE void zk_fp52x8_mul_loose(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b) {
    zk_v8 t[16];
    zk_fp52x8_product(t, a, b);
    zk_fp52x8_montgomery(r, t);
}
ZK_INLINE void zk_fp52x8_sqr_loose(zk_fp52x8 *r, const zk_fp52x8 *a) {
    zk_v8 t[16];
    zk_fp52x8_product_sqr(t, a);
    zk_fp52x8_montgomery(r, t);
}
/* The same as a factor. */
ZK_INLINE void zk_fp52x8_mul_factor(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b) {
    zk_fp52x8 t;
    zk_fp52x8_mul_loose(&t, a, b);
    zk_fp52x8_carry_factor(r, &t);
}
/* The same, tight. */
ZK_INLINE void zk_fp52x8_mul(zk_fp52x8 *r, const zk_fp52x8 *a, const zk_fp52x8 *b) {
    zk_fp52x8 t;
    zk_fp52x8_mul_loose(&t, a, b);
    zk_fp52x8_carry(r, &t);
}
ZK_INLINE void zk_fp52x8_sqr(zk_fp52x8 *r, const zk_fp52x8 *a) {
    zk_fp52x8 t;
    zk_fp52x8_sqr_loose(&t, a);
    zk_fp52x8_carry(r, &t);
}

#endif
