/* Products with factors that are known beforehand: roots of unity, powers, constants (Shoup's form).
 *
 * A factor w is kept as itself, not in Montgomery form, with q = floor(w 2^256 / r). For any v then
 *   w v - floor(q v / 2^256) r  is in  [0, r (1 + v / 2^256)),
 * so a v below 2r (0.906 2^256) gives a result below 1.906 r, and what is in Montgomery form stays in it. Only the
 * upper half of q v and the lower halves of the two other products are needed, and r = 1 - 2^32 mod 2^64: 86 wide and
 * 14 low multiplications where a Montgomery product takes 112 wide ones, and half the additions.
 *
 * Of q v the columns below the sixth limb are left out. They come to less than 6 2^224, 2^-29 of the quotient's unit:
 * the quotient is one short at most where the true one is within 2^-29 of the next, so the bound above grows by r
 * 2^-29.
 */
#ifndef ZK_CUDA_FACTOR_CUH
#define ZK_CUDA_FACTOR_CUH

#include "field.cuh"

namespace zk {

struct fr_factor {
    fr w, q; /* plain numbers, w < r */
};

/* Limbs 2 to 7 of 2^256 - r, whose limbs 0 and 1 are 2^32 - 1 and 0. */
ZK_HD constexpr u32 fr_negative(int i) {
    constexpr u32 v[6] = {0x0001a401u, 0xac425bfdu, 0xf65e27fau, 0xccc627f7u, 0xd66282b7u, 0x8c1258acu};
    return v[i];
}

/* a b mod 2^256, not on hot paths */
ZK_HD fr lower_product(const fr &a, const fr &b) {
    fr x = fr::zero();
    for (int i = 0; i < 8; i++) {
        u64 c = 0;
        for (int j = 0; i + j < 8; j++) {
            c += (u64)a.l[i] * b.l[j] + x.l[i + j];
            x.l[i + j] = (u32)c;
            c >>= 32;
        }
    }
    return x;
}

/* Of a canonical m in Montgomery form. m = w 2^256 mod r is the remainder of the division that gives q, so
 * q r = -m mod 2^256. */
ZK_HD fr_factor factor_of(const fr &m) {
    const fr minus_r_inverse = {
        {0xffffffffu, 0xfffffffeu, 0xfffe5bfdu, 0x53ba5bffu, 0x0004ec06u, 0x181b2c17u, 0xd7bf2839u, 0x3d443ab0u}};
    return fr_factor{from_mont(m), lower_product(m, minus_r_inverse)};
}

#if defined(ZK_CARRY_CHAINS)
/* Upper half of q v as above, q of ROWS >= 7 limbs. Accumulators by the parity of a product's position, indexed by
 * limb. */
template <int ROWS> ZK_CHAIN void upper_product(u32 *h, const u32 *q, const u32 *v) {
    u32 even[16], odd[16];
    even[15] = odd[15] = 0;
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int parity = 0; parity < 2; parity++) {
            u32 *x = parity ? odd : even;
            const int first = parity ? 7 : i < 7 ? 6 : 8, last = ((i + 7) & 1) == parity ? i + 7 : i + 6;
#pragma unroll
            for (int s = first; s <= last; s += 2) {
                if (i == 0)
                    ZK_MUL2(x[s], x[s + 1], v[s - i], q[i]);
                else if (s == i + 7) /* above is nothing yet, here the carry of the row before */
                    ZK_MADC_INTO(x[s], x[s + 1], v[s - i], q[i], i > 1 ? x[s] : 0u);
                else if (s == first)
                    ZK_MAD_CC(x[s], x[s + 1], v[s - i], q[i]);
                else
                    ZK_MADC_CC(x[s], x[s + 1], v[s - i], q[i]);
            }
            if (i > 0 && last == i + 6) ZK_ADDC(x[last + 2], 0u, 0u);
        }
    }
    ZK_CARRY_OF(even[7], odd[7]);
#pragma unroll
    for (int k = 0; k < 7; k++) ZK_ADDC_CC(h[k], even[k + 8], odd[k + 8]);
    ZK_ADDC(h[7], even[15], odd[15]);
}

/* One row of lower products, a b[k] at position AT + k, modulo 2^256: of the last limb the low half. */
template <int AT> ZK_CHAIN void lower_row(u32 *even, u32 *odd, u32 a, const u32 *b) {
#pragma unroll
    for (int parity = 0; parity < 2; parity++) {
        u32 *x = parity ? odd : even;
        const int first = (AT & 1) == parity ? AT : AT + 1;
#pragma unroll
        for (int s = first; s < 7; s += 2) {
            if (s == first)
                ZK_MAD_CC(x[s], x[s + 1], b[s - AT], a);
            else
                ZK_MADC_CC(x[s], x[s + 1], b[s - AT], a);
        }
        if (parity && first < 7) ZK_MADC_LO(x[7], b[7 - AT], a);
        if (parity && first == 7) ZK_MAD_LO(x[7], b[7 - AT], a);
    }
}

/* f.w v mod r, below 1.91 r; v below 2r. W: the limbs of w that may not be zero, as bits; Q: how many of q may not. */
template <int W = 0xff, int Q = 8> ZK_CHAIN fr mul_factor(const fr_factor &f, const fr &v) {
    u32 h[8], minus_r[6], even[9], odd[9]; /* by limb; the ninth is not looked at */
    upper_product<Q>(h, f.q.l, v.l);
#pragma unroll
    for (int k = 0; k < 6; k++) minus_r[k] = fr_negative(k);
#pragma unroll
    for (int k = 0; k < 8; k++) { /* h (2^32 - 1), less one */
        even[k] = ~h[k];
        odd[k + 1] = h[k];
    }
    if (W >> 0 & 1) lower_row<0>(even, odd, f.w.l[0], v.l);
    if (W >> 1 & 1) lower_row<1>(even, odd, f.w.l[1], v.l);
    if (W >> 2 & 1) lower_row<2>(even, odd, f.w.l[2], v.l);
    if (W >> 3 & 1) lower_row<3>(even, odd, f.w.l[3], v.l);
    if (W >> 4 & 1) lower_row<4>(even, odd, f.w.l[4], v.l);
    if (W >> 5 & 1) lower_row<5>(even, odd, f.w.l[5], v.l);
    if (W >> 6 & 1) lower_row<6>(even, odd, f.w.l[6], v.l);
    if (W >> 7 & 1) lower_row<7>(even, odd, f.w.l[7], v.l);
    lower_row<2>(even, odd, h[0], minus_r);
    lower_row<3>(even, odd, h[1], minus_r);
    lower_row<4>(even, odd, h[2], minus_r);
    lower_row<5>(even, odd, h[3], minus_r);
    lower_row<6>(even, odd, h[4], minus_r);
    lower_row<7>(even, odd, h[5], minus_r);
    fr r;
    ZK_ADD_CC(r.l[0], even[0], 1u);
#pragma unroll
    for (int k = 1; k < 7; k++) ZK_ADDC_CC(r.l[k], even[k], odd[k]);
    ZK_ADDC(r.l[7], even[7], odd[7]);
    return r;
}
#else
/* Portable, with the whole of q v. */
template <int W = 0xff, int Q = 8> inline fr mul_factor(const fr_factor &f, const fr &v) {
    u32 product[16] = {0};
    for (int i = 0; i < 8; i++) {
        u64 c = 0;
        for (int j = 0; j < 8; j++) {
            c += (u64)f.q.l[i] * v.l[j] + product[i + j];
            product[i + j] = (u32)c;
            c >>= 32;
        }
        product[i + 8] = (u32)c;
    }
    fr h, r;
    u32 borrow;
    memcpy(h.l, product + 8, sizeof h.l);
    for (int k = 0; k < 8; k++) r.l[k] = fr_params::mod(k);
    return sub_borrow(borrow, lower_product(f.w, v), lower_product(h, r));
}
#endif

} // namespace zk
#endif
