/* Fr, eight elements at a time, for AVX-512 with IFMA or AVX2 with FMA (field/v8.h). Include only in files built with
 * those instruction sets; without IFMA call only where field/rounding.h has set the mode.
 *
 *   lane k of an element = sum_i l[i][k] 2^(52 i) mod r,  five limbs; products are Montgomery's with R = 2^260
 *
 * R / r is 35.36, and bounds are counted in multiples of r ("magnitude"). Which Montgomery form a value is in is its
 * owner's business: linear code multiplies values of any form by constants in the form with R = 2^260, and they keep
 * theirs; zk_fr_to_fr52 makes such constants.
 *
 *   factor  bits 0..51 of limbs 0..3 and all of limb 4 make up a value below the stated magnitude; bits from 52 on of
 *           limbs 0..3 may be anything, as vpmadd52 does not look at them. Only to multiply with.
 *   loose   limbs are signed 64-bit numbers, |l[i]| < 2^61; the value they sum up to is not negative. All else.
 */
#ifndef ZK_FIELD_FR52X8_H
#define ZK_FIELD_FR52X8_H

#include "field/fr52.h"
#include "field/v8.h"

typedef struct zk_fr52x8 {
    zk_v8 l[ZK_FR52_LIMBS];
} zk_fr52x8;

ZK_INLINE void zk_fr52x8_broadcast(zk_fr52x8 *r, const zk_fr52 *a) {
    ZK_UNROLL for (int i = 0; i < 5; i++) r->l[i] = zk_v8_set1(a->l[i]);
}

ZK_INLINE void zk_fr52x8_add_loose(zk_fr52x8 *r, const zk_fr52x8 *a, const zk_fr52x8 *b) {
    ZK_UNROLL for (int i = 0; i < 5; i++) r->l[i] = zk_v8_add(a->l[i], b->l[i]);
}

/* Products, carries, multiples of r, and elements in memory; contracts in fr52x8_ifma.h. */
#if ZK_V8_IFMA
#include "field/fr52x8_ifma.h"
#else
#include "field/fr52x8_fma.h"
#endif

/* a - b + m r, m a constant in 0..15 at least the magnitude of b. */
ZK_INLINE void zk_fr52x8_sub_loose(zk_fr52x8 *r, const zk_fr52x8 *a, const zk_fr52x8 *b, const int m) {
    ZK_UNROLL for (int i = 0; i < 5; i++) r->l[i] =
        zk_v8_add(zk_v8_sub(a->l[i], b->l[i]), zk_v8_set1(zk_fr52_multiples[i][m]));
}

/* Four 64-bit words a lane <-> limbs, of the same value. */
ZK_INLINE void zk_fr52x8_from_words(zk_fr52x8 *r, const zk_v8 w[4]) {
    const zk_v8 mask = zk_v8_set1(ZK_MASK_52);
    r->l[0] = zk_v8_and(w[0], mask);
    ZK_UNROLL for (int i = 1; i < 4; i++) {
        zk_v8 x = zk_v8_or(zk_v8_srli(w[i - 1], (unsigned)(64 - 12 * i)), zk_v8_slli(w[i], (unsigned)(12 * i)));
        r->l[i] = zk_v8_and(x, mask);
    }
    r->l[4] = zk_v8_srli(w[3], 16);
}

/* floor(value / r) or, seldom, one less, of the top limb of a value below 35 r with all carries done:
 * value / r = (top / 2^24)(2^232 / r), and the reciprocal is 0x2355094e / 2^52. */
ZK_INLINE zk_v8 zk_fr52x8_quotient(zk_v8 top) {
    return zk_v8_srli(zk_v8_mul_low32(zk_v8_srli(top, 24), zk_v8_set1(0x2355094e)), 52);
}

/* loose below 16 r -> loose below r (1 + 2^-21) */
ZK_INLINE void zk_fr52x8_reduce(zk_fr52x8 *r, const zk_fr52x8 *a) {
    const zk_v8 mask = zk_v8_set1(ZK_MASK_52);
    zk_fr52x8 t;
    zk_fr52x8_carry_factor(&t, a);
    zk_v8 q = zk_fr52x8_quotient(t.l[4]);
    ZK_UNROLL for (int i = 0; i < 5; i++) {
        zk_v8 multiple = zk_fr52x8_multiple(q, i);
        r->l[i] = zk_v8_sub(i < 4 ? zk_v8_and(t.l[i], mask) : t.l[i], multiple);
    }
}

/* loose below 35 r -> words, fully reduced. The quotient by r is estimated from the top limb after carries: what is
 * left is below r (1 + 2^-21) and has r taken off where it can be. */
ZK_INLINE void zk_fr52x8_to_words(zk_v8 w[4], const zk_fr52x8 *a) {
    const zk_v8 mask = zk_v8_set1(ZK_MASK_52);
    zk_fr52x8 t, u;
    zk_fr52x8_carry_factor(&t, a);
    zk_v8 q = zk_fr52x8_quotient(t.l[4]);
    ZK_UNROLL for (int i = 0; i < 4; i++) t.l[i] = zk_v8_and(t.l[i], mask);
    zk_fr52x8_take_multiple(&t, q);
    zk_fr52x8_carry_factor(&t, &t);
    ZK_UNROLL for (int i = 0; i < 5; i++) t.l[i] = zk_v8_and(t.l[i], mask);
    ZK_UNROLL for (int i = 0; i < 5; i++) u.l[i] = zk_v8_sub(t.l[i], zk_v8_set1(zk_fr52_multiples[i][1]));
    zk_fr52x8_carry_factor(&u, &u);
    __mmask8 less = zk_v8_negative_lanes(u.l[4]);
    ZK_UNROLL for (int i = 0; i < 4; i++) t.l[i] = zk_v8_and_in(t.l[i], (__mmask8)~less, u.l[i], mask);
    t.l[4] = zk_v8_blend(u.l[4], t.l[4], less);
    ZK_UNROLL for (int i = 0; i < 4; i++) w[i] =
        zk_v8_or(zk_v8_srli(t.l[i], (unsigned)(12 * i)), zk_v8_slli(t.l[i + 1], (unsigned)(52 - 12 * i)));
}

#endif
