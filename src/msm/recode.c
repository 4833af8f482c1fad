#include "msm/recode.h"

/* x^2, and floor(2^319 / x^2) to divide by it. */
static const uint64_t x2[2] = {0x0000000100000000, 0xac45a4010001a402};
static const uint64_t x2_reciprocal[3] = {0x01a75a5c93d6e013, 0xb1fb72917b67f717, 0xbe35f678f00fd56e};
/* (r - 1) / 2 */
static const uint64_t half_modulus[4] = {0x7fffffff80000000, 0xa9ded2017fff2dff, 0x199cec0404d0ec02,
                                         0x39f6d3a994cebea4};

static void set_windows(zk_windows *w, unsigned c, unsigned max_bits) {
    *w = (zk_windows){.c = c, .n_limbs = max_bits / 64};
    /* max_bits - 1 bits and a sign must fit; max_bits / 64 limbs hold u. */
    w->n = (max_bits - (max_bits == 256) + c - 1) / c;
    w->bits = w->n * c < max_bits ? w->n * c : max_bits;
    for (unsigned i = 0; i < w->n; i++) {
        unsigned bit = i + 1 < w->n ? c * i + c - 1 : w->bits - 1;
        w->offset[bit / 64] |= (uint64_t)1 << (bit % 64);
    }
}

/* |v| < 2^254 0.906: 255 bits with the sign, if the carry into the top window is small beside 2^254, as it is for
 * c >= 5; for c = 4, W = 64 windows have 256 bits. */
void zk_windows_whole(zk_windows *w, unsigned c) { set_windows(w, c, 256); }

/* |v| < 2^127 0.674, and the carry adds at most 2^125 (1 + 2^(1-c)) when the top window has two bits, the least that
 * occurs: below 2^127. */
void zk_windows_half(zk_windows *w, unsigned c) { set_windows(w, c, 128); }

void zk_recode_whole(uint64_t u[4], const zk_windows *w, const zk_fr *s) {
    uint64_t v[4];
    unsigned char carry = 0, borrow = 0;
    zk_fr_to_limbs(v, s);
    if (zk_limbs_less(half_modulus, v, 4))
        for (int i = 0; i < 4; i++) borrow = zk_sbb(borrow, v[i], zk_fr_modulus[i], &v[i]);
    for (int i = 0; i < 4; i++) carry = zk_adc(carry, v[i], w->offset[i], &u[i]);
}

/* q = round(s / x^2), k1 = s - q x^2. The reciprocal is exact to 2^-64, so k1 is within a hair of half of x^2. If q is
 * in the upper half, both are brought down with r = (x^2 - 1) x^2 + 1. */
void zk_recode_halves(uint64_t u1[2], uint64_t u2[2], const zk_windows *w, const zk_fr *s) {
    uint64_t v[4], t[4], product[7] = {0};
    zk_fr_to_limbs(v, s);
    const zk_u128 square = (zk_u128)x2[1] << 64 | x2[0], half = square >> 1;
    unsigned char carry = zk_adc(0, v[0], (uint64_t)half, &t[0]);
    carry = zk_adc(carry, v[1], (uint64_t)(half >> 64), &t[1]);
    carry = zk_adc(carry, v[2], 0, &t[2]);
    (void)zk_adc(carry, v[3], 0, &t[3]);
    for (int i = 0; i < 3; i++) {
        uint64_t high = 0;
        for (int j = 0; j < 4; j++) product[i + j] = zk_mac(product[i + j], x2_reciprocal[i], t[j], &high);
        product[i + 4] = high;
    }
    zk_u128 q = (zk_u128)(product[6] << 1 | product[5] >> 63) << 64 | (product[5] << 1 | product[4] >> 63);
    zk_u128 k1 = ((zk_u128)v[1] << 64 | v[0]) - q * square;
    if (q > half) {
        q -= square - 1;
        k1 -= 1;
    }
    const zk_u128 offset = (zk_u128)w->offset[1] << 64 | w->offset[0];
    zk_u128 r1 = k1 + offset, r2 = offset - q;
    u1[0] = (uint64_t)r1;
    u1[1] = (uint64_t)(r1 >> 64);
    u2[0] = (uint64_t)r2;
    u2[1] = (uint64_t)(r2 >> 64);
}
