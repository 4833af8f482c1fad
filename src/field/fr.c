#include "field/fr.h"

#include "base/bytes.h"
#include "field/modinv.h"
#include "field/variants.h"

const zk_fr zk_fr_zero = {{0, 0, 0, 0}};
const zk_fr zk_fr_one = {{0x00000001fffffffe, 0x5884b7fa00034802, 0x998c4fefecbc4ff5, 0x1824b159acc5056f}};
const zk_fr zk_fr_r2 = {{0xc999e990f3f29c6d, 0x2b6cedcb87925c23, 0x05d314967254398f, 0x0748d9d99f59ff11}};
const uint64_t zk_fr_modulus[4] = {ZK_FR_P0, ZK_FR_P1, ZK_FR_P2, ZK_FR_P3};
const zk_fr zk_fr_generator = {{0x0000000efffffff1, 0x17e363d300189c0f, 0xff9c57876f8457b0, 0x351332208fc5a8c4}};
const zk_fr zk_fr_root_of_unity_2_32 = {
    {0xb9b58d8c5f0e466a, 0x5b1b4c801819d7ec, 0x0af53ae352a31e64, 0x5bf3adda19e9b27b}};

/* R^3 mod r: brings the upper half of a 512-bit number into Montgomery form in one multiplication. */
static const zk_fr r3 = {{0xc62c1807439b73af, 0x1b3e0d188cf06990, 0x73d13c71c7b5f418, 0x6e2a5bb9c8db33e9}};

void zk_fr_mul_portable(zk_fr *r, const zk_fr *a, const zk_fr *b) {
    ZK_FR_LOCAL_MODULUS(p);
    zk_limbs_mont_mul(r->l, a->l, b->l, p, ZK_FR_NEG_INV, 4);
}

void zk_fr_sqr_portable(zk_fr *r, const zk_fr *a) {
    ZK_FR_LOCAL_MODULUS(p);
    zk_limbs_mont_mul(r->l, a->l, a->l, p, ZK_FR_NEG_INV, 4);
}

void zk_fr_pow_var(zk_fr *r, const zk_fr *a, const uint64_t *e, size_t n_limbs) {
    /* Windows of four bits, from the top. */
    zk_fr powers[16], x = zk_fr_one;
    bool started = false;
    powers[0] = zk_fr_one;
    for (int i = 1; i < 16; i++) zk_fr_mul(&powers[i], &powers[i - 1], a);
    for (size_t i = 16 * n_limbs; i-- > 0;) {
        unsigned digit = e[i / 16] >> (4 * (i % 16)) & 15;
        if (started)
            for (int k = 0; k < 4; k++) zk_fr_sqr(&x, &x);
        if (digit) zk_fr_mul(&x, &x, &powers[digit]);
        started |= digit != 0;
    }
    *r = x;
}

void zk_fr_pow_u64(zk_fr *r, const zk_fr *a, uint64_t e) {
    zk_fr base = *a, x = zk_fr_one;
    for (; e; e >>= 1) {
        if (e & 1) zk_fr_mul(&x, &x, &base);
        if (e > 1) zk_fr_sqr(&base, &base);
    }
    *r = x;
}

bool zk_fr_inv_var(zk_fr *r, const zk_fr *a) {
    /* r in limbs of 62 bits, and 1/r mod 2^62 below */
    static const int64_t p62[5] = {0x3fffffff00000001, 0x0ef6900bfff96ffb, 0x339d80809a1d8055, 0x3b69d4ca675f520c,
                                   0x73};
    if (zk_fr_is_zero(a)) {
        *r = zk_fr_zero;
        return false;
    }
    zk_modinv_var(r->l, a->l, zk_fr_r2.l, p62, 0x0000000100000001, 4, 5);
    return true;
}

#define FE zk_fr
#define FE_(name) zk_fr_##name
#include "field/batch_inv.inc"

bool zk_fr_sqrt_var(zk_fr *r, const zk_fr *a) {
    /* Tonelli-Shanks with r - 1 = 2^32 t: invariant x^2 = a b, b of order 2^k with k < v, z of order 2^v. */
    static const uint64_t half_t[4] = {0x7fff2dff7fffffff, 0x04d0ec02a9ded201, 0x94cebea4199cec04,
                                       0x0000000039f6d3a9}; /* (t - 1)/2 */
    if (zk_fr_is_zero(a)) {
        *r = zk_fr_zero;
        return true;
    }
    zk_fr w, x, b, z = zk_fr_root_of_unity_2_32;
    zk_fr_pow_var(&w, a, half_t, 4);
    zk_fr_mul(&x, a, &w);
    zk_fr_mul(&b, &x, &w);
    unsigned v = ZK_FR_TWO_ADICITY;
    while (!zk_fr_is_one(&b)) {
        unsigned k = 0;
        for (zk_fr s = b; !zk_fr_is_one(&s) && k < v; k++) zk_fr_sqr(&s, &s);
        if (k == v) return false; /* only in the first round: b has full order, a is no square */
        for (unsigned i = v - k - 1; i > 0; i--) zk_fr_sqr(&z, &z);
        zk_fr_mul(&x, &x, &z);
        zk_fr_sqr(&z, &z);
        zk_fr_mul(&b, &b, &z);
        v = k;
    }
    zk_fr minus_x;
    uint64_t limbs[4], minus_limbs[4];
    zk_fr_neg(&minus_x, &x);
    zk_fr_to_limbs(limbs, &x);
    zk_fr_to_limbs(minus_limbs, &minus_x);
    *r = zk_limbs_less(limbs, minus_limbs, 4) ? x : minus_x;
    return true;
}

void zk_fr_from_u64(zk_fr *r, uint64_t v) {
    const zk_fr plain = {{v, 0, 0, 0}};
    zk_fr_mul(r, &zk_fr_r2, &plain);
}

void zk_fr_from_i64(zk_fr *r, int64_t v) {
    zk_fr_from_u64(r, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
    if (v < 0) zk_fr_neg(r, r);
}

void zk_fr_from_limbs(zk_fr *r, const uint64_t limbs[4]) {
    const zk_fr plain = {{limbs[0], limbs[1], limbs[2], limbs[3]}};
    zk_fr_mul(r, &zk_fr_r2, &plain);
}

void zk_fr_to_limbs(uint64_t limbs[4], const zk_fr *a) {
    ZK_FR_LOCAL_MODULUS(p);
    uint64_t t[8] = {a->l[0], a->l[1], a->l[2], a->l[3]};
    zk_limbs_mont_reduce(limbs, t, p, ZK_FR_NEG_INV, 4);
}

static void load(uint64_t limbs[4], const uint8_t bytes[32]) {
    for (int i = 0; i < 4; i++) limbs[i] = zk_load_le64(bytes + 8 * i);
}

bool zk_fr_from_bytes_le(zk_fr *r, const uint8_t bytes[32]) {
    uint64_t limbs[4];
    load(limbs, bytes);
    if (!zk_limbs_less(limbs, zk_fr_modulus, 4)) return false;
    zk_fr_from_limbs(r, limbs);
    return true;
}

void zk_fr_to_bytes_le(uint8_t bytes[32], const zk_fr *a) {
    uint64_t limbs[4];
    zk_fr_to_limbs(limbs, a);
    for (int i = 0; i < 4; i++) zk_store_le64(bytes + 8 * i, limbs[i]);
}

void zk_fr_from_bytes_wide(zk_fr *r, const uint8_t bytes[64]) {
    zk_fr lo, hi;
    load(lo.l, bytes);
    load(hi.l, bytes + 32);
    zk_fr_mul(&lo, &zk_fr_r2, &lo);
    zk_fr_mul(&hi, &r3, &hi);
    zk_fr_add(r, &lo, &hi);
}

void zk_fr_from_bytes_reduce(zk_fr *r, const uint8_t bytes[32]) {
    zk_fr plain;
    load(plain.l, bytes);
    zk_fr_mul(r, &zk_fr_r2, &plain);
}

void zk_fr_root_of_unity(zk_fr *r, unsigned log2_n) {
    *r = zk_fr_root_of_unity_2_32;
    for (unsigned i = log2_n; i < ZK_FR_TWO_ADICITY; i++) zk_fr_sqr(r, r);
}
