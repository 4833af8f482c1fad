/* 64-bit limbs: carries, multiply-accumulate, and Montgomery multiplication over any number of limbs.
 *
 * The generic functions take the limb count as their last argument; they are always inlined with a constant count, so
 * that the loops unroll and the code is as if written for that field.
 */
#ifndef ZK_FIELD_LIMB_H
#define ZK_FIELD_LIMB_H

#include <stdbool.h>
#include <stdint.h>

#include "field/limb_x86.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef unsigned __int128 zk_u128;
typedef __int128 zk_i128;

#define ZK_INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define ZK_UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__OPTIMIZE__)
#define ZK_UNROLL _Pragma("GCC unroll 8")
#else
#define ZK_UNROLL
#endif

/* The bits of a limb of 52 bits, as the code in lanes has them. */
#define ZK_MASK_52 0xfffffffffffffu

/* *r = a + b + carry; returns the carry out. carry is 0 or 1. */
ZK_INLINE unsigned char zk_adc(unsigned char carry, uint64_t a, uint64_t b, uint64_t *r) {
#if defined(__x86_64__)
    unsigned long long out;
    carry = _addcarry_u64(carry, a, b, &out);
    *r = out;
    return carry;
#else
    zk_u128 t = (zk_u128)a + b + carry;
    *r = (uint64_t)t;
    return (unsigned char)(t >> 64);
#endif
}

/* *r = a - b - borrow; returns the borrow out. */
ZK_INLINE unsigned char zk_sbb(unsigned char borrow, uint64_t a, uint64_t b, uint64_t *r) {
#if defined(__x86_64__)
    unsigned long long out;
    borrow = _subborrow_u64(borrow, a, b, &out);
    *r = out;
    return borrow;
#else
    zk_u128 t = (zk_u128)a - b - borrow;
    *r = (uint64_t)t;
    return (unsigned char)((t >> 64) & 1);
#endif
}

/* t + a b + carry; the high half goes to carry. Cannot overflow 128 bits. */
ZK_INLINE uint64_t zk_mac(uint64_t t, uint64_t a, uint64_t b, uint64_t *carry) {
    zk_u128 x = (zk_u128)a * b + t + *carry;
    *carry = (uint64_t)(x >> 64);
    return (uint64_t)x;
}

/* r = t - p if t >= p, else t: reduced for t < 2p. r may be t. */
ZK_INLINE void zk_limbs_reduce_once(uint64_t *r, const uint64_t *t, const uint64_t *p, const int n) {
    uint64_t s[8];
    unsigned char borrow = 0;
    ZK_UNROLL for (int i = 0; i < n; i++) borrow = zk_sbb(borrow, t[i], p[i], &s[i]);
    ZK_UNROLL for (int i = 0; i < n; i++) r[i] = borrow ? t[i] : s[i];
}

/* r = a + b mod p; needs 2p < 2^(64 n). */
ZK_INLINE void zk_limbs_add_mod(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *p, const int n) {
    uint64_t t[8];
    unsigned char carry = 0;
    ZK_UNROLL for (int i = 0; i < n; i++) carry = zk_adc(carry, a[i], b[i], &t[i]);
    zk_limbs_reduce_once(r, t, p, n);
}

/* r = a - b mod p. */
ZK_INLINE void zk_limbs_sub_mod(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *p, const int n) {
    uint64_t t[8];
    unsigned char borrow = 0, carry = 0;
    ZK_UNROLL for (int i = 0; i < n; i++) borrow = zk_sbb(borrow, a[i], b[i], &t[i]);
    uint64_t mask = 0 - (uint64_t)borrow;
    ZK_UNROLL for (int i = 0; i < n; i++) carry = zk_adc(carry, t[i], p[i] & mask, &r[i]);
    (void)carry;
}

/* r = a / 2 mod p, p odd; needs 2p < 2^(64 n). */
ZK_INLINE void zk_limbs_halve_mod(uint64_t *r, const uint64_t *a, const uint64_t *p, const int n) {
    uint64_t t[8], mask = 0 - (a[0] & 1);
    unsigned char carry = 0;
    ZK_UNROLL for (int i = 0; i < n; i++) carry = zk_adc(carry, a[i], p[i] & mask, &t[i]);
    (void)carry;
    ZK_UNROLL for (int i = 0; i < n; i++) r[i] = t[i] >> 1 | (i + 1 < n ? t[i + 1] << 63 : 0);
}

ZK_INLINE bool zk_limbs_is_zero(const uint64_t *a, const int n) {
    uint64_t any = 0;
    ZK_UNROLL for (int i = 0; i < n; i++) any |= a[i];
    return any == 0;
}

ZK_INLINE bool zk_limbs_eq(const uint64_t *a, const uint64_t *b, const int n) {
    uint64_t any = 0;
    ZK_UNROLL for (int i = 0; i < n; i++) any |= a[i] ^ b[i];
    return any == 0;
}

/* a < b, both n limbs. */
ZK_INLINE bool zk_limbs_less(const uint64_t *a, const uint64_t *b, const int n) {
    uint64_t s;
    unsigned char borrow = 0;
    ZK_UNROLL for (int i = 0; i < n; i++) borrow = zk_sbb(borrow, a[i], b[i], &s);
    return borrow;
}

/* r = a b / 2^(64 n) mod p, fully reduced. a < p; b may be any n-limb value. neg_inv = -1/p mod 2^64.
 * Rows of the operand scan are interleaved with the reduction (CIOS, Koc-Acar-Kaliski 1996). The running value stays
 * below a + p < 2p < 2^(64 n), so the top word of each row takes both carries and no extra word is needed.
 * 2 n^2 + n multiplications. */
ZK_INLINE void zk_limbs_mont_mul(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *p, uint64_t neg_inv,
                                 const int n) {
    uint64_t t[8] = {0};
    ZK_UNROLL for (int i = 0; i < n; i++) {
        uint64_t carry_ab = 0, carry_mp = 0;
        t[0] = zk_mac(t[0], a[0], b[i], &carry_ab);
        uint64_t m = t[0] * neg_inv;
        (void)zk_mac(t[0], m, p[0], &carry_mp);
        ZK_UNROLL for (int j = 1; j < n; j++) {
            t[j] = zk_mac(t[j], a[j], b[i], &carry_ab);
            t[j - 1] = zk_mac(t[j], m, p[j], &carry_mp);
        }
        t[n - 1] = carry_ab + carry_mp;
    }
    zk_limbs_reduce_once(r, t, p, n);
}

/* r = t / 2^(64 n) mod p for t < p 2^(64 n), 2n limbs; clobbers t. n^2 + n multiplications. */
ZK_INLINE void zk_limbs_mont_reduce(uint64_t *r, uint64_t *t, const uint64_t *p, uint64_t neg_inv, const int n) {
    uint64_t top = 0;
    ZK_UNROLL for (int i = 0; i < n; i++) {
        uint64_t m = t[i] * neg_inv, carry = 0;
        ZK_UNROLL for (int j = 0; j < n; j++) t[i + j] = zk_mac(t[i + j], m, p[j], &carry);
        zk_u128 s = (zk_u128)t[i + n] + carry + top;
        t[i + n] = (uint64_t)s;
        top = (uint64_t)(s >> 64);
    }
    zk_limbs_reduce_once(r, t + n, p, n);
}

/* t[2n] = a b. n^2 multiplications. */
ZK_INLINE void zk_limbs_mul_wide(uint64_t *t, const uint64_t *a, const uint64_t *b, const int n) {
    for (int i = 0; i < n; i++) t[i] = 0;
    ZK_UNROLL for (int i = 0; i < n; i++) {
        uint64_t carry = 0;
        ZK_UNROLL for (int j = 0; j < n; j++) t[i + j] = zk_mac(t[i + j], a[j], b[i], &carry);
        t[i + n] = carry;
    }
}

#endif
