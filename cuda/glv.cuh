/* Multiples of points of G1 by the digits of src/msm/glv.h: [m + q eta]P, digits in Z[eta]/4 and a table of P,
 * (1 + eta) P, 2 P, so that all threads add at the same places.
 *
 * A digit is its class (m mod 4) | (q mod 4) << 2, which stands for (-1)^negative eta^e entry. The table lies on an
 * isomorphic curve, (x, y) -> (x s^2, y s^3), where all three points are affine without an inversion: no formula needs
 * the curve's constant, and the scale s goes into Z at the end.
 *
 * jacobian: x = X/Z^2, y = Y/Z^3, infinity Z = 0, canonical coordinates; complete. Doubling 3M+4S, addition of an
 * affine point 8M+3S. Multiplications are calls: inlined, the loop would not fit the instruction cache.
 */
#ifndef ZK_CUDA_GLV_CUH
#define ZK_CUDA_GLV_CUH

#include "curve.cuh"

namespace zk {

struct jacobian {
    fp x, y, z;
};

/* a = x^2, b = y^2, d = 4 x b, e = 3 a: x' = e^2 - 2 d, y' = e (d - x') - 8 b^2, z' = 2 y z */
__host__ __device__ ZK_NOINLINE inline void jacobian_double(jacobian &p) {
    const fp a = sqr(p.x), b = sqr(p.y), d = dbl(dbl(mul(p.x, b))), e = add(dbl(a), a);
    p.z = dbl(mul(p.y, p.z));
    p.x = sub(sqr(e), dbl(d));
    p.y = sub(mul(e, sub(d, p.x)), dbl(dbl(dbl(sqr(b)))));
}

/* h = qx z^2 - x, m = qy z^3 - y, v = x h^2: x' = m^2 - h^3 - 2 v, y' = m (v - x') - y h^3, z' = z h. q is not
 * infinity.
 */
__host__ __device__ ZK_NOINLINE inline void jacobian_add_affine(jacobian &p, const fp &qx, const fp &qy) {
    if (p.z.is_zero()) {
        p = jacobian{qx, qy, fp::one()};
        return;
    }
    const fp zz = sqr(p.z), h = sub(mul(qx, zz), p.x), m = sub(mul(qy, mul(zz, p.z)), p.y);
    if (h.is_zero()) {
        if (m.is_zero())
            jacobian_double(p);
        else
            p.z = fp::zero();
        return;
    }
    const fp hh = sqr(h), hhh = mul(h, hh), v = mul(p.x, hh);
    p.z = mul(p.z, h);
    p.x = sub(sub(sqr(m), hhh), dbl(v));
    p.y = sub(mul(m, sub(v, p.x)), mul(p.y, hhh));
}

/* beta, 1 + beta + beta^2 = 0: (beta x, -y) is [x^2](x, y), x the parameter of the curve */
ZK_HD fp glv_beta() {
    return fp{{0x798a64e8u, 0x30f1361bu, 0x7ece5a2au, 0xf3b8ddabu, 0xc61577f7u, 0x16a8ca3au, 0x74fd029bu, 0xc26a2ff8u,
               0x60701c6eu, 0x3636b766u, 0x241b6160u, 0x051ba4abu}};
}

/* ---- digits ---- */

constexpr int GLV_DIGITS = 65, GLV_WORDS = 9; /* eight digits a word */

/* By the class of a digit: the entry (1, 2, 3) and e, two bits each; whether y changes its sign (negative and eta^e
 * together); what is carried on from m and from q. */
constexpr u32 GLV_ENTRY = 0xa5bb6974u, GLV_POWER = 0x2965a100u, GLV_MINUS = 0xed18u, GLV_CARRY_M = 0x88c8u,
              GLV_CARRY_Q = 0xf600u;

/* k = m + q x^2, 0 <= m < x^2, by the reciprocal floor(2^384 / x^2). Of the product only the columns from 10 on are
 * taken: what is left out is less than 2^-28 of the quotient's unit, so that this is q, q - 1 or, hardly ever, q - 2.
 * m[4] is 0. */
__host__ __device__ inline void glv_split(u32 m[5], u32 q[4], const fr &k) {
    constexpr u32 reciprocal[9] = {0x818be409u, 0xa1a872d6u, 0x27adc027u, 0x034eb4b9u, 0xf6cfee2eu,
                                   0x63f6e522u, 0xe01faaddu, 0x7c6becf1u, 0x00000001u};
    constexpr u32 x2[5] = {0x00000000u, 0x00000001u, 0x0001a402u, 0xac45a401u, 0};
    constexpr int FROM = 10;
    const fr plain = from_mont(k);
    u32 product[17 - FROM] = {0}, t[5];
#pragma unroll
    for (int i = FROM - 7; i < 9; i++) {
        u64 carry = 0;
#pragma unroll
        for (int j = FROM > i ? FROM - i : 0; j < 8; j++) {
            carry += (u64)reciprocal[i] * plain.l[j] + product[i + j - FROM];
            product[i + j - FROM] = (u32)carry;
            carry >>= 32;
        }
        product[i + 8 - FROM] = (u32)carry;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) q[i] = product[12 - FROM + i];
#pragma unroll
    for (int i = 0; i < 5; i++) t[i] = 0; /* q x^2, its low limbs */
#pragma unroll
    for (int i = 0; i < 4; i++) {
        u64 carry = 0;
#pragma unroll
        for (int j = 0; i + j < 5; j++) {
            carry += (u64)q[i] * x2[j] + t[i + j];
            t[i + j] = (u32)carry;
            carry >>= 32;
        }
    }
    u64 borrow = 0;
#pragma unroll
    for (int i = 0; i < 5; i++) {
        const u64 d = (u64)plain.l[i] - t[i] - borrow;
        m[i] = (u32)d;
        borrow = (d >> 32) & 1;
    }
#pragma unroll 1
    for (;;) { /* while q is too small */
        borrow = 0;
#pragma unroll
        for (int i = 0; i < 5; i++) {
            const u64 d = (u64)m[i] - x2[i] - borrow;
            t[i] = (u32)d;
            borrow = (d >> 32) & 1;
        }
        if (borrow) break;
        u64 sum = (u64)1 << 32;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            m[i] = t[i];
            sum = (sum >> 32) + q[i];
            q[i] = (u32)sum;
        }
        m[4] = t[4];
    }
}

__host__ __device__ inline void glv_recode(u32 digits[GLV_WORDS], const fr &k) {
    u32 m[5], q[4];
    glv_split(m, q, k);
    u32 carry_m = 0, carry_q = 0;
    for (int i = 0; i < GLV_WORDS; i++) digits[i] = 0;
    for (int i = 0; i < GLV_DIGITS; i++) {
        const u32 u = (i < 64 ? (m[i / 16] >> (2 * (i % 16))) & 3 : 0) + carry_m;
        const u32 v = (i < 64 ? (q[i / 16] >> (2 * (i % 16))) & 3 : 0) + carry_q;
        const u32 c = (u & 3) | (v & 3) << 2;
        digits[i / 8] |= c << (4 * (i % 8));
        carry_m = (u >> 2) + ((GLV_CARRY_M >> c) & 1);
        carry_q = (v >> 2) + ((GLV_CARRY_Q >> c) & 1);
    }
}

/* ---- multiples ---- */

struct glv_table {
    fp x[6], y[3]; /* x and beta x of each entry, y */
    fp scale;      /* s */
};

/* p: of the subgroup, not infinity. */
__host__ __device__ inline void glv_fill(glv_table &table, const affine<fp> &p) {
    const fp beta = glv_beta(), image_x = mul(p.x, beta);
    jacobian twice{p.x, p.y, fp::one()};
    jacobian_double(twice);
    /* (x, y) + (beta x, -y) with z = h = beta x - x: m = -2 y */
    const fp h = sub(image_x, p.x), m = neg(dbl(p.y)), hh = sqr(h), hhh = mul(h, hh), v = mul(p.x, hh);
    jacobian sum;
    sum.z = h;
    sum.x = sub(sub(sqr(m), hhh), dbl(v));
    sum.y = sub(mul(m, sub(v, sum.x)), mul(p.y, hhh));
    table.scale = mul(twice.z, sum.z);
    fp s = sqr(table.scale);
    table.x[0] = mul(p.x, s);
    table.y[0] = mul(p.y, mul(s, table.scale));
    s = sqr(twice.z);
    table.x[2] = mul(sum.x, s);
    table.y[1] = mul(sum.y, mul(s, twice.z));
    s = sqr(sum.z);
    table.x[4] = mul(twice.x, s);
    table.y[2] = mul(twice.y, mul(s, sum.z));
    for (int i = 0; i < 6; i += 2) table.x[i + 1] = mul(table.x[i], beta);
}

__host__ __device__ inline jacobian glv_multiply(const glv_table &table, const u32 digits[GLV_WORDS]) {
    jacobian sum{fp::zero(), fp::zero(), fp::zero()};
#pragma unroll 1
    for (int i = GLV_DIGITS - 1; i >= 0; i--) {
        jacobian_double(sum);
        jacobian_double(sum);
        const u32 c = (digits[i / 8] >> (4 * (i % 8))) & 15;
        if (c == 0) continue;
        const u32 entry = ((GLV_ENTRY >> (2 * c)) & 3) - 1, power = (GLV_POWER >> (2 * c)) & 3;
        fp x = table.x[2 * entry + (power & 1)], y = table.y[entry];
        if (power == 2) x = neg(add(x, table.x[2 * entry + 1]));
        if ((GLV_MINUS >> c) & 1) y = neg(y);
        jacobian_add_affine(sum, x, y);
    }
    sum.z = mul(sum.z, table.scale);
    return sum;
}

} // namespace zk
#endif
