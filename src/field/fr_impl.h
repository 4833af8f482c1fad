/* Inline definitions of field/fr.h; include that. */
#ifndef ZK_FIELD_FR_IMPL_H
#define ZK_FIELD_FR_IMPL_H

#define ZK_FR_P0 0xffffffff00000001u
#define ZK_FR_P1 0x53bda402fffe5bfeu
#define ZK_FR_P2 0x3339d80809a1d805u
#define ZK_FR_P3 0x73eda753299d7d48u
#define ZK_FR_NEG_INV 0xfffffffeffffffffu /* -1/r mod 2^64 */

/* The modulus as a local constant, so that the compiler sees its limbs. */
#define ZK_FR_LOCAL_MODULUS(p) const uint64_t p[4] = {ZK_FR_P0, ZK_FR_P1, ZK_FR_P2, ZK_FR_P3}

static inline void zk_fr_add(zk_fr *r, const zk_fr *a, const zk_fr *b) {
#if ZK_LIMB_X86
    zk_limbs4_add_mod_x86(r->l, a->l, b->l, zk_fr_modulus);
#else
    ZK_FR_LOCAL_MODULUS(p);
    zk_limbs_add_mod(r->l, a->l, b->l, p, 4);
#endif
}

static inline void zk_fr_sub(zk_fr *r, const zk_fr *a, const zk_fr *b) {
#if ZK_LIMB_X86
    zk_limbs4_sub_mod_x86(r->l, a->l, b->l, zk_fr_modulus);
#else
    ZK_FR_LOCAL_MODULUS(p);
    zk_limbs_sub_mod(r->l, a->l, b->l, p, 4);
#endif
}

static inline void zk_fr_neg(zk_fr *r, const zk_fr *a) {
    const zk_fr zero = {{0}};
    zk_fr_sub(r, &zero, a);
}

static inline void zk_fr_double(zk_fr *r, const zk_fr *a) { zk_fr_add(r, a, a); }

static inline void zk_fr_mul(zk_fr *r, const zk_fr *a, const zk_fr *b) { zk_field_active.fr_mul(r, a, b); }
static inline void zk_fr_sqr(zk_fr *r, const zk_fr *a) { zk_field_active.fr_sqr(r, a); }

static inline bool zk_fr_is_zero(const zk_fr *a) { return zk_limbs_is_zero(a->l, 4); }
static inline bool zk_fr_is_one(const zk_fr *a) { return zk_limbs_eq(a->l, zk_fr_one.l, 4); }
static inline bool zk_fr_eq(const zk_fr *a, const zk_fr *b) { return zk_limbs_eq(a->l, b->l, 4); }

#endif
