/* Products of field/fr52x8.h, which includes this, by vpmadd52. */
#ifndef ZK_FIELD_FR52X8_IFMA_H
#define ZK_FIELD_FR52X8_IFMA_H

/* loose -> factor of the same value. */
ZK_INLINE void zk_fr52x8_carry_factor(zk_fr52x8 *r, const zk_fr52x8 *a) {
    r->l[0] = a->l[0];
    ZK_UNROLL for (int i = 0; i < 4; i++) r->l[i + 1] = zk_v8_add(a->l[i + 1], zk_v8_srai52(r->l[i]));
}

/* A limb of q r, q in 0 .. 15. */
ZK_INLINE zk_v8 zk_fr52x8_multiple(zk_v8 q, const int limb) {
    return _mm512_permutex2var_epi64(zk_v8_load(zk_fr52_multiples[limb]), q, zk_v8_load(zk_fr52_multiples[limb] + 8));
}
/* t - q r modulo 2^260, loose; q below 36. */
ZK_INLINE void zk_fr52x8_take_multiple(zk_fr52x8 *t, zk_v8 q) {
    /* 2^260 - r */
    const uint64_t n[5] = {0x00000ffffffff, 0xfd0001a401000, 0x65e27faac425b, 0x82b7ccc627f7f, 0xf8c1258acd662};
    ZK_UNROLL for (int i = 0; i < 5; i++) t->l[i] = zk_v8_madd52lo(t->l[i], q, zk_v8_set1(n[i]));
    ZK_UNROLL for (int i = 0; i < 4; i++) t->l[i + 1] = zk_v8_madd52hi(t->l[i + 1], q, zk_v8_set1(n[i]));
}

/* t = a b; a, b factors. 50 vpmadd52. */
ZK_INLINE void zk_fr52x8_product(zk_v8 t[10], const zk_fr52x8 *a, const zk_fr52x8 *b) {
    const zk_v8 zero = zk_v8_zero();
    ZK_UNROLL for (int i = 0; i < 5; i++) t[i] = t[i + 5] = zero;
    ZK_UNROLL for (int j = 0; j < 5; j++) {
        ZK_UNROLL for (int i = 0; i < 5; i++) t[i + j] = zk_v8_madd52lo(t[i + j], a->l[i], b->l[j]);
        ZK_UNROLL for (int i = 0; i < 5; i++) t[i + j + 1] = zk_v8_madd52hi(t[i + j + 1], a->l[i], b->l[j]);
    }
}

/* r = t / R, loose, below t / R + r (1 + 2^-50). Montgomery's reduction: the first three quotients are the limbs
 * themselves, as they add a multiple of r that is -1 mod 2^52 (of which (m + 1) / 2^52 is left, one limb up); the last
 * two add multiples of r below 2^52 r, so that the result stays small. 52 vpmadd52. */
ZK_INLINE void zk_fr52x8_montgomery(zk_fr52x8 *r, zk_v8 t[10]) {
#define LIMB(x) x
    const uint64_t m[10] = {ZK_FR52_REDUCTION(LIMB)}, *p = m + 5;
#undef LIMB
    ZK_UNROLL for (int i = 0; i < 3; i++) {
        zk_v8 q = t[i];
        t[i + 1] = zk_v8_add(t[i + 1], zk_v8_srai52(q));
        ZK_UNROLL for (int k = 0; k < 5; k++) t[i + 1 + k] = zk_v8_madd52lo(t[i + 1 + k], q, zk_v8_set1(m[k]));
        ZK_UNROLL for (int k = 0; k < 5; k++) t[i + 2 + k] = zk_v8_madd52hi(t[i + 2 + k], q, zk_v8_set1(m[k]));
    }
    ZK_UNROLL for (int i = 3; i < 5; i++) {
        /* -1/r mod 2^52 */
        zk_v8 q = zk_v8_madd52lo(zk_v8_zero(), t[i], zk_v8_set1(0xffffeffffffff));
        ZK_UNROLL for (int k = 0; k < 5; k++) t[i + k] = zk_v8_madd52lo(t[i + k], q, zk_v8_set1(p[k]));
        t[i + 1] = zk_v8_add(t[i + 1], zk_v8_srai52(t[i]));
        ZK_UNROLL for (int k = 0; k < 5; k++) t[i + 1 + k] = zk_v8_madd52hi(t[i + 1 + k], q, zk_v8_set1(p[k]));
    }
    ZK_UNROLL for (int k = 0; k < 5; k++) r->l[k] = t[5 + k];
}

/* a b / R, loose, below (magnitude of a)(magnitude of b) / 35.3 + 1.01; a, b factors. */
ZK_INLINE void zk_fr52x8_mul_loose(zk_fr52x8 *r, const zk_fr52x8 *a, const zk_fr52x8 *b) {
    zk_v8 t[10];
    zk_fr52x8_product(t, a, b);
    zk_fr52x8_montgomery(r, t);
}

/* r = a^2 / R, loose; a a factor. 30 vpmadd52 and the reduction. */
ZK_INLINE void zk_fr52x8_sqr_loose(zk_fr52x8 *r, const zk_fr52x8 *a) {
    zk_v8 t[10];
    ZK_UNROLL for (int i = 0; i < 10; i++) t[i] = zk_v8_zero();
    ZK_UNROLL for (int j = 0; j < 5; j++) ZK_UNROLL for (int i = j + 1; i < 5; i++) {
        t[i + j] = zk_v8_madd52lo(t[i + j], a->l[i], a->l[j]);
        t[i + j + 1] = zk_v8_madd52hi(t[i + j + 1], a->l[i], a->l[j]);
    }
    ZK_UNROLL for (int i = 1; i < 9; i++) t[i] = zk_v8_add(t[i], t[i]);
    ZK_UNROLL for (int i = 0; i < 5; i++) {
        t[2 * i] = zk_v8_madd52lo(t[2 * i], a->l[i], a->l[i]);
        t[2 * i + 1] = zk_v8_madd52hi(t[2 * i + 1], a->l[i], a->l[i]);
    }
    zk_fr52x8_montgomery(r, t);
}

/* t += sum a[i] b[i stride], i < n */
ZK_INLINE void zk_fr52x8_accumulate(zk_v8 t[10], const zk_fr52x8 *a, const zk_fr52 *b, size_t stride, size_t n) {
    for (size_t k = 0; k < n; k++, a++, b += stride) {
        ZK_UNROLL for (int j = 0; j < 5; j++) {
            const zk_v8 bj = zk_v8_set1(b->l[j]);
            ZK_UNROLL for (int i = 0; i < 5; i++) t[i + j] = zk_v8_madd52lo(t[i + j], a->l[i], bj);
            ZK_UNROLL for (int i = 0; i < 5; i++) t[i + j + 1] = zk_v8_madd52hi(t[i + j + 1], a->l[i], bj);
        }
    }
}

/* Eight consecutive elements <-> four words a lane. */
ZK_INLINE void zk_fr52x8_load_words(zk_v8 w[4], const zk_fr *x) {
    const zk_v8 low = _mm512_set_epi64(13, 9, 5, 1, 12, 8, 4, 0), high = _mm512_set_epi64(15, 11, 7, 3, 14, 10, 6, 2);
    zk_v8 in[4];
    ZK_UNROLL for (int i = 0; i < 4; i++) in[i] = zk_v8_load(x + 2 * i);
    zk_v8 a = _mm512_permutex2var_epi64(in[0], low, in[1]), b = _mm512_permutex2var_epi64(in[2], low, in[3]);
    zk_v8 c = _mm512_permutex2var_epi64(in[0], high, in[1]), d = _mm512_permutex2var_epi64(in[2], high, in[3]);
    w[0] = _mm512_shuffle_i64x2(a, b, 0x44);
    w[1] = _mm512_shuffle_i64x2(a, b, 0xee);
    w[2] = _mm512_shuffle_i64x2(c, d, 0x44);
    w[3] = _mm512_shuffle_i64x2(c, d, 0xee);
}
ZK_INLINE void zk_fr52x8_store_words(zk_fr *x, const zk_v8 w[4]) {
    const zk_v8 even = _mm512_set_epi64(13, 9, 5, 1, 12, 8, 4, 0), odd = _mm512_set_epi64(15, 11, 7, 3, 14, 10, 6, 2);
    /* a: words 0, 1 of elements 0..3; c: words 2, 3 of them; b, d: of elements 4..7 */
    zk_v8 a = _mm512_shuffle_i64x2(w[0], w[1], 0x44), b = _mm512_shuffle_i64x2(w[0], w[1], 0xee);
    zk_v8 c = _mm512_shuffle_i64x2(w[2], w[3], 0x44), d = _mm512_shuffle_i64x2(w[2], w[3], 0xee);
    zk_v8_store(x, _mm512_permutex2var_epi64(a, even, c));
    zk_v8_store(x + 2, _mm512_permutex2var_epi64(a, odd, c));
    zk_v8_store(x + 4, _mm512_permutex2var_epi64(b, even, d));
    zk_v8_store(x + 6, _mm512_permutex2var_epi64(b, odd, d));
}

#endif
