/* Inline definitions of field/fp.h; include that. */
#ifndef ZK_FIELD_FP_IMPL_H
#define ZK_FIELD_FP_IMPL_H

#define ZK_FP_P0 0xb9feffffffffaaabu
#define ZK_FP_P1 0x1eabfffeb153ffffu
#define ZK_FP_P2 0x6730d2a0f6b0f624u
#define ZK_FP_P3 0x64774b84f38512bfu
#define ZK_FP_P4 0x4b1ba7b6434bacd7u
#define ZK_FP_P5 0x1a0111ea397fe69au
/* R mod p: one in Montgomery form, as an initialiser. */
#define ZK_FP_ONE                                                                                                      \
    {                                                                                                                  \
        {                                                                                                              \
            0x760900000002fffd, 0xebf4000bc40c0002, 0x5f48985753c758ba, 0x77ce585370525745, 0x5c071a97a256ec6d,        \
                0x15f65ec3fa80e493                                                                                     \
        }                                                                                                              \
    }
#define ZK_FP_NEG_INV 0x89f3fffcfffcfffdu /* -1/p mod 2^64 */

/* The modulus as a local constant, so that the compiler sees its limbs. */
#define ZK_FP_LOCAL_MODULUS(p) const uint64_t p[6] = {ZK_FP_P0, ZK_FP_P1, ZK_FP_P2, ZK_FP_P3, ZK_FP_P4, ZK_FP_P5}

static inline void zk_fp_add(zk_fp *r, const zk_fp *a, const zk_fp *b) {
#if ZK_LIMB_X86
    zk_limbs6_add_mod_x86(r->l, a->l, b->l, zk_fp_modulus);
#else
    ZK_FP_LOCAL_MODULUS(p);
    zk_limbs_add_mod(r->l, a->l, b->l, p, 6);
#endif
}

static inline void zk_fp_sub(zk_fp *r, const zk_fp *a, const zk_fp *b) {
#if ZK_LIMB_X86
    zk_limbs6_sub_mod_x86(r->l, a->l, b->l, zk_fp_modulus);
#else
    ZK_FP_LOCAL_MODULUS(p);
    zk_limbs_sub_mod(r->l, a->l, b->l, p, 6);
#endif
}

static inline void zk_fp_neg(zk_fp *r, const zk_fp *a) {
    const zk_fp zero = {{0}};
    zk_fp_sub(r, &zero, a);
}

static inline void zk_fp_double(zk_fp *r, const zk_fp *a) { zk_fp_add(r, a, a); }

static inline void zk_fp_halve(zk_fp *r, const zk_fp *a) {
    ZK_FP_LOCAL_MODULUS(p);
    zk_limbs_halve_mod(r->l, a->l, p, 6);
}

static inline void zk_fp_mul(zk_fp *r, const zk_fp *a, const zk_fp *b) { zk_field_active.fp_mul(r, a, b); }
static inline void zk_fp_sqr(zk_fp *r, const zk_fp *a) { zk_field_active.fp_sqr(r, a); }

static inline bool zk_fp_is_zero(const zk_fp *a) { return zk_limbs_is_zero(a->l, 6); }
static inline bool zk_fp_is_one(const zk_fp *a) { return zk_limbs_eq(a->l, zk_fp_one.l, 6); }
static inline bool zk_fp_eq(const zk_fp *a, const zk_fp *b) { return zk_limbs_eq(a->l, b->l, 6); }

static inline void zk_fp2_add(zk_fp2 *r, const zk_fp2 *a, const zk_fp2 *b) {
    zk_fp_add(&r->c0, &a->c0, &b->c0);
    zk_fp_add(&r->c1, &a->c1, &b->c1);
}

static inline void zk_fp2_sub(zk_fp2 *r, const zk_fp2 *a, const zk_fp2 *b) {
    zk_fp_sub(&r->c0, &a->c0, &b->c0);
    zk_fp_sub(&r->c1, &a->c1, &b->c1);
}

static inline void zk_fp2_neg(zk_fp2 *r, const zk_fp2 *a) {
    zk_fp_neg(&r->c0, &a->c0);
    zk_fp_neg(&r->c1, &a->c1);
}

static inline void zk_fp2_double(zk_fp2 *r, const zk_fp2 *a) {
    zk_fp_double(&r->c0, &a->c0);
    zk_fp_double(&r->c1, &a->c1);
}

static inline void zk_fp2_halve(zk_fp2 *r, const zk_fp2 *a) {
    zk_fp_halve(&r->c0, &a->c0);
    zk_fp_halve(&r->c1, &a->c1);
}

static inline void zk_fp2_mul(zk_fp2 *r, const zk_fp2 *a, const zk_fp2 *b) { zk_field_active.fp2_mul(r, a, b); }
static inline void zk_fp2_sqr(zk_fp2 *r, const zk_fp2 *a) { zk_field_active.fp2_sqr(r, a); }

static inline void zk_fp2_mul_fp(zk_fp2 *r, const zk_fp2 *a, const zk_fp *b) {
    zk_fp s = *b; /* b may be a part of r */
    zk_fp_mul(&r->c0, &a->c0, &s);
    zk_fp_mul(&r->c1, &a->c1, &s);
}

/* (c0 + c1 u)(1 + u) = (c0 - c1) + (c0 + c1) u */
static inline void zk_fp2_mul_xi(zk_fp2 *r, const zk_fp2 *a) {
    zk_fp difference;
    zk_fp_sub(&difference, &a->c0, &a->c1);
    zk_fp_add(&r->c1, &a->c0, &a->c1);
    r->c0 = difference;
}

static inline void zk_fp2_conjugate(zk_fp2 *r, const zk_fp2 *a) {
    r->c0 = a->c0;
    zk_fp_neg(&r->c1, &a->c1);
}

static inline bool zk_fp2_is_zero(const zk_fp2 *a) { return zk_fp_is_zero(&a->c0) && zk_fp_is_zero(&a->c1); }
static inline bool zk_fp2_is_one(const zk_fp2 *a) { return zk_fp_is_one(&a->c0) && zk_fp_is_zero(&a->c1); }
static inline bool zk_fp2_eq(const zk_fp2 *a, const zk_fp2 *b) {
    return zk_fp_eq(&a->c0, &b->c0) && zk_fp_eq(&a->c1, &b->c1);
}

#endif
