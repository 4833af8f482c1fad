#include "field/fp.h"

#include "base/bytes.h"
#include "field/modinv.h"
#include "field/pow.h"
#include "field/sqrt.h"
#include "field/variants.h"

const zk_fp zk_fp_zero = {{0}};
const zk_fp zk_fp_one = ZK_FP_ONE;
const zk_fp zk_fp_r2 = {{0xf4df1f341c341746, 0x0a76e6a609d104f1, 0x8de5476c4c95b6d5, 0x67eb88a9939d83c0,
                         0x9a793e85b519952d, 0x11988fe592cae3aa}};
const uint64_t zk_fp_modulus[6] = {ZK_FP_P0, ZK_FP_P1, ZK_FP_P2, ZK_FP_P3, ZK_FP_P4, ZK_FP_P5};

void zk_fp_mul_portable(zk_fp *r, const zk_fp *a, const zk_fp *b) {
    ZK_FP_LOCAL_MODULUS(p);
    zk_limbs_mont_mul(r->l, a->l, b->l, p, ZK_FP_NEG_INV, 6);
}

void zk_fp_sqr_portable(zk_fp *r, const zk_fp *a) {
    ZK_FP_LOCAL_MODULUS(p);
    zk_limbs_mont_mul(r->l, a->l, a->l, p, ZK_FP_NEG_INV, 6);
}

void zk_fp_pow_var(zk_fp *r, const zk_fp *a, const uint64_t *e, size_t n_limbs) {
    zk_fp odd[ZK_POW_ODD], square, x = zk_fp_one;
    bool started = false;
    odd[0] = *a;
    zk_fp_sqr(&square, a);
    for (int i = 1; i < ZK_POW_ODD; i++) zk_fp_mul(&odd[i], &odd[i - 1], &square);
    for (size_t i = 64 * n_limbs; i > 0;) {
        if (!zk_pow_bit(e, i - 1)) {
            if (started) zk_fp_sqr(&x, &x);
            i--;
            continue;
        }
        size_t low;
        const unsigned digit = zk_pow_window(&low, e, i);
        if (started) {
            for (size_t k = low; k < i; k++) zk_fp_sqr(&x, &x);
            zk_fp_mul(&x, &x, &odd[digit / 2]);
        } else {
            x = odd[digit / 2];
        }
        started = true;
        i = low;
    }
    *r = x;
}

bool zk_fp_inv_var(zk_fp *r, const zk_fp *a) {
    /* p in limbs of 62 bits, and 1/p mod 2^62 below */
    static const int64_t p62[7] = {0x39feffffffffaaab,
                                   0x3aaffffac54ffffe,
                                   0x330d2a0f6b0f6241,
                                   0x1dd2e13ce144afd9,
                                   0x1ba7b6434bacd764,
                                   0x0447a8e5ff9a692c,
                                   0x1a0};
    if (zk_fp_is_zero(a)) {
        *r = zk_fp_zero;
        return false;
    }
    zk_modinv_var(r->l, a->l, zk_fp_r2.l, p62, 0x360c000300030003, 6, 7);
    return true;
}

#define FE zk_fp
#define FE_(name) zk_fp_##name
#include "field/batch_inv.inc"

const uint64_t zk_fp_sqrt_exponent[6] = {0xee7fbfffffffeaab, 0x07aaffffac54ffff, 0xd9cc34a83dac3d89,
                                         0xd91dd2e13ce144af, 0x92c6e9ed90d2eb35, 0x0680447a8e5ff9a6};

bool zk_fp_sqrt_finish(zk_fp *r, const zk_fp *a, const zk_fp *power) {
    zk_fp root = *power, square;
    zk_fp_sqr(&square, &root);
    if (!zk_fp_eq(&square, a)) return false;
    if (zk_fp_is_lexicographically_largest(&root)) zk_fp_neg(&root, &root);
    *r = root;
    return true;
}

bool zk_fp_sqrt_var(zk_fp *r, const zk_fp *a) {
    zk_fp power;
    zk_fp_pow_var(&power, a, zk_fp_sqrt_exponent, 6);
    return zk_fp_sqrt_finish(r, a, &power);
}

bool zk_fp_is_lexicographically_largest(const zk_fp *a) {
    static const uint64_t half[6] = {0xdcff7fffffffd555, 0x0f55ffff58a9ffff, 0xb39869507b587b12,
                                     0xb23ba5c279c2895f, 0x258dd3db21a5d66b, 0x0d0088f51cbff34d}; /* (p - 1)/2 */
    uint64_t limbs[6];
    zk_fp_to_limbs(limbs, a);
    return zk_limbs_less(half, limbs, 6);
}

void zk_fp_from_u64(zk_fp *r, uint64_t v) {
    const zk_fp plain = {{v}};
    zk_fp_mul(r, &zk_fp_r2, &plain);
}

void zk_fp_from_limbs(zk_fp *r, const uint64_t limbs[6]) {
    zk_fp plain;
    for (int i = 0; i < 6; i++) plain.l[i] = limbs[i];
    zk_fp_mul(r, &zk_fp_r2, &plain);
}

void zk_fp_to_limbs(uint64_t limbs[6], const zk_fp *a) {
    ZK_FP_LOCAL_MODULUS(p);
    uint64_t t[12] = {0};
    for (int i = 0; i < 6; i++) t[i] = a->l[i];
    zk_limbs_mont_reduce(limbs, t, p, ZK_FP_NEG_INV, 6);
}

bool zk_fp_from_bytes_be(zk_fp *r, const uint8_t bytes[48]) {
    uint64_t limbs[6];
    for (int i = 0; i < 6; i++) limbs[i] = zk_load_be64(bytes + 40 - 8 * i);
    if (!zk_limbs_less(limbs, zk_fp_modulus, 6)) return false;
    zk_fp_from_limbs(r, limbs);
    return true;
}

void zk_fp_to_bytes_be(uint8_t bytes[48], const zk_fp *a) {
    uint64_t limbs[6];
    zk_fp_to_limbs(limbs, a);
    for (int i = 0; i < 6; i++) zk_store_be64(bytes + 40 - 8 * i, limbs[i]);
}

bool zk_fp_from_bytes_le(zk_fp *r, const uint8_t bytes[48]) {
    uint64_t limbs[6];
    for (int i = 0; i < 6; i++) limbs[i] = zk_load_le64(bytes + 8 * i);
    if (!zk_limbs_less(limbs, zk_fp_modulus, 6)) return false;
    zk_fp_from_limbs(r, limbs);
    return true;
}

void zk_fp_to_bytes_le(uint8_t bytes[48], const zk_fp *a) {
    uint64_t limbs[6];
    zk_fp_to_limbs(limbs, a);
    for (int i = 0; i < 6; i++) zk_store_le64(bytes + 8 * i, limbs[i]);
}
