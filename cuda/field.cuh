/* Fp and Fr in Montgomery form with 32-bit limbs, and Fp2.
 *
 * An element is W limbs of 32 bits, least significant first, value * R mod m with R = 2^(32 W): byte for byte the
 * zk_fp (6x64) and zk_fr (4x64) of src/field, so arrays are shared with the host unchanged.
 *
 * Ranges. Stored elements are canonical, below m. Inside kernels two wider ranges are used:
 *   twice   [0, 2m)          results of mul_lazy, sqr_lazy, add_lazy, sub_lazy
 *   any     [0, 2^(32 W))    for Fp up to 9.8 m, for Fr up to 2.2 m
 * mul_lazy(a, b) = a b / R + e m with 0 <= e <= 1: it stays in `twice` whenever a b <= m R. The running sum of its rows
 * is below a + m, which must fit: Fp takes both factors from `twice` (and up to 4m), Fr takes a canonical a and any b.
 *
 * Multiplication: row by row (one limb of b a row, then one row of reduction), products at even and odd positions kept
 * in two accumulators so that every mad.lo/mad.hi pair is one IMAD.WIDE with carry. 2 W^2 + W multiplications. Squaring
 * (Fp): off-diagonal products once, doubled by shifts, then the diagonal, then the reduction rows: 1.5 W^2 + 1.5 W.
 */
#ifndef ZK_CUDA_FIELD_CUH
#define ZK_CUDA_FIELD_CUH

#include "ptx.cuh"

#include <cstring>
#if defined(__CUDACC__)
#include <vector_types.h>
#elif !defined(ZK_CUDA_EMULATE)
#define ZK_NO_VECTORS /* plain host: no uint4 */
#endif

namespace zk {

struct fp_params {
    static constexpr int W = 12;
    static constexpr u32 M0 = 0xfffcfffdu; /* -m^-1 mod 2^32 */
    ZK_HD static constexpr u32 mod(int i) {
        constexpr u32 v[12] = {0xffffaaabu, 0xb9feffffu, 0xb153ffffu, 0x1eabfffeu, 0xf6b0f624u, 0x6730d2a0u,
                               0xf38512bfu, 0x64774b84u, 0x434bacd7u, 0x4b1ba7b6u, 0x397fe69au, 0x1a0111eau};
        return v[i];
    }
    ZK_HD static constexpr u32 one(int i) { /* R mod m */
        constexpr u32 v[12] = {0x0002fffdu, 0x76090000u, 0xc40c0002u, 0xebf4000bu, 0x53c758bau, 0x5f489857u,
                               0x70525745u, 0x77ce5853u, 0xa256ec6du, 0x5c071a97u, 0xfa80e493u, 0x15f65ec3u};
        return v[i];
    }
    ZK_HD static constexpr u32 r2(int i) { /* R^2 mod m */
        constexpr u32 v[12] = {0x1c341746u, 0xf4df1f34u, 0x09d104f1u, 0x0a76e6a6u, 0x4c95b6d5u, 0x8de5476cu,
                               0x939d83c0u, 0x67eb88a9u, 0xb519952du, 0x9a793e85u, 0x92cae3aau, 0x11988fe5u};
        return v[i];
    }
};

struct fr_params {
    static constexpr int W = 8;
    static constexpr u32 M0 = 0xffffffffu;
    ZK_HD static constexpr u32 mod(int i) {
        constexpr u32 v[8] = {0x00000001u, 0xffffffffu, 0xfffe5bfeu, 0x53bda402u,
                              0x09a1d805u, 0x3339d808u, 0x299d7d48u, 0x73eda753u};
        return v[i];
    }
    ZK_HD static constexpr u32 one(int i) {
        constexpr u32 v[8] = {0xfffffffeu, 0x00000001u, 0x00034802u, 0x5884b7fau,
                              0xecbc4ff5u, 0x998c4fefu, 0xacc5056fu, 0x1824b159u};
        return v[i];
    }
    ZK_HD static constexpr u32 r2(int i) {
        constexpr u32 v[8] = {0xf3f29c6du, 0xc999e990u, 0x87925c23u, 0x2b6cedcbu,
                              0x7254398fu, 0x05d31496u, 0x9f59ff11u, 0x0748d9d9u};
        return v[i];
    }
};

template <class P> struct alignas(16) mont {
    static constexpr int W = P::W;
    typedef mont base_field;
    u32 l[W];

    ZK_HD static mont zero() {
        mont r;
#pragma unroll
        for (int i = 0; i < W; i++) r.l[i] = 0;
        return r;
    }
    ZK_HD static mont one() {
        mont r;
#pragma unroll
        for (int i = 0; i < W; i++) r.l[i] = P::one(i);
        return r;
    }
    ZK_HD static mont r2() {
        mont r;
#pragma unroll
        for (int i = 0; i < W; i++) r.l[i] = P::r2(i);
        return r;
    }
    /* Exactly zero as stored; for canonical elements that is zero in the field. */
    ZK_HD bool is_zero() const {
        u32 t = 0;
#pragma unroll
        for (int i = 0; i < W; i++) t |= l[i];
        return t == 0;
    }
    ZK_HD bool is_modulus() const {
        u32 t = 0;
#pragma unroll
        for (int i = 0; i < W; i++) t |= l[i] ^ P::mod(i);
        return t == 0;
    }
    ZK_HD bool operator==(const mont &b) const {
        u32 t = 0;
#pragma unroll
        for (int i = 0; i < W; i++) t |= l[i] ^ b.l[i];
        return t == 0;
    }
    ZK_HD bool operator!=(const mont &b) const { return !(*this == b); }
};
typedef mont<fp_params> fp;
typedef mont<fr_params> fr;

/* Limb of K m. Needs K m < 2^(32 W). */
template <class P, int K> ZK_HD constexpr u32 multiple_limb(int i) {
    u64 c = 0;
    u32 r = 0;
    for (int k = 0; k <= i; k++) {
        c += (u64)P::mod(k) * (u32)K;
        r = (u32)c;
        c >>= 32;
    }
    return r;
}
template <class P, int K> struct multiple {
    u32 l[P::W];
    ZK_HD constexpr multiple() : l() {
        for (int i = 0; i < P::W; i++) l[i] = multiple_limb<P, K>(i);
    }
};

/* r = a + b, no reduction; the sum must fit. */
template <class P> ZK_HD mont<P> add_raw(const mont<P> &a, const mont<P> &b) {
    constexpr int W = P::W;
    mont<P> r;
#if defined(ZK_CARRY_CHAINS)
    ZK_ADD_CC(r.l[0], a.l[0], b.l[0]);
#pragma unroll
    for (int i = 1; i < W - 1; i++) ZK_ADDC_CC(r.l[i], a.l[i], b.l[i]);
    ZK_ADDC(r.l[W - 1], a.l[W - 1], b.l[W - 1]);
#else
    u64 c = 0;
    for (int i = 0; i < W; i++) {
        c += (u64)a.l[i] + b.l[i];
        r.l[i] = (u32)c;
        c >>= 32;
    }
#endif
    return r;
}

/* a + K m */
template <int K, class P> ZK_HD mont<P> add_multiple(const mont<P> &a) {
    constexpr multiple<P, K> k{};
    mont<P> m;
#pragma unroll
    for (int i = 0; i < P::W; i++) m.l[i] = k.l[i];
    return add_raw(a, m);
}

/* a - b mod 2^(32 W), the borrow as 0 or 0xffffffff */
template <class P> ZK_HD mont<P> sub_borrow(u32 &borrow, const mont<P> &a, const mont<P> &b) {
    constexpr int W = P::W;
    mont<P> r;
#if defined(ZK_CARRY_CHAINS)
    ZK_SUB_CC(r.l[0], a.l[0], b.l[0]);
#pragma unroll
    for (int i = 1; i < W; i++) ZK_SUBC_CC(r.l[i], a.l[i], b.l[i]);
    ZK_SUBC(borrow, 0u, 0u);
#else
    u64 c = 0;
    for (int i = 0; i < W; i++) {
        u64 t = (u64)a.l[i] - b.l[i] - c;
        r.l[i] = (u32)t;
        c = (t >> 32) & 1;
    }
    borrow = 0u - (u32)c;
#endif
    return r;
}

/* a - b + K m; the result must be in [0, 2^(32 W)). */
template <int K, class P> ZK_HD mont<P> sub_plus(const mont<P> &a, const mont<P> &b) {
    u32 borrow;
    return sub_borrow(borrow, add_multiple<K>(a), b);
}

/* a, or a - K m if that is not negative */
template <int K, class P> ZK_HD mont<P> reduce_once(const mont<P> &a) {
    constexpr multiple<P, K> k{};
    mont<P> m, t;
    u32 borrow;
#pragma unroll
    for (int i = 0; i < P::W; i++) m.l[i] = k.l[i];
    t = sub_borrow(borrow, a, m);
#pragma unroll
    for (int i = 0; i < P::W; i++) t.l[i] = borrow ? a.l[i] : t.l[i];
    return t;
}

/* a - b mod K m for a, b in [0, K m): adds K m if the difference is negative. */
template <int K, class P> ZK_HD mont<P> sub_mod(const mont<P> &a, const mont<P> &b) {
    constexpr multiple<P, K> k{};
    u32 borrow;
    mont<P> t = sub_borrow(borrow, a, b);
#if defined(__CUDA_ARCH__)
    if constexpr (P::W == 8) { /* the addition back under a predicate: no masking */
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %8, 0;\n\t"
                     "@p add.cc.u32 %0, %0, %9;\n\t@p addc.cc.u32 %1, %1, %10;\n\t"
                     "@p addc.cc.u32 %2, %2, %11;\n\t@p addc.cc.u32 %3, %3, %12;\n\t"
                     "@p addc.cc.u32 %4, %4, %13;\n\t@p addc.cc.u32 %5, %5, %14;\n\t"
                     "@p addc.cc.u32 %6, %6, %15;\n\t@p addc.u32 %7, %7, %16;\n\t}"
                     : "+r"(t.l[0]), "+r"(t.l[1]), "+r"(t.l[2]), "+r"(t.l[3]), "+r"(t.l[4]), "+r"(t.l[5]), "+r"(t.l[6]),
                       "+r"(t.l[7])
                     : "r"(borrow), "n"(k.l[0]), "n"(k.l[1]), "n"(k.l[2]), "n"(k.l[3]), "n"(k.l[4]), "n"(k.l[5]),
                       "n"(k.l[6]), "n"(k.l[7]));
        return t;
    } else
#endif
    {
        mont<P> m;
#pragma unroll
        for (int i = 0; i < P::W; i++) m.l[i] = k.l[i] & borrow;
        return add_raw(t, m);
    }
}

/* a + b mod K m for a, b in [0, K m]; 2 K m may exceed 2^(32 W) by one bit. */
template <int K, class P> ZK_HD mont<P> add_mod(const mont<P> &a, const mont<P> &b) {
    constexpr int W = P::W;
    constexpr multiple<P, K> k{};
    mont<P> t, s;
    u32 keep; /* negative: the sum was below K m */
#if defined(ZK_CARRY_CHAINS)
    u32 carry;
    ZK_ADD_CC(t.l[0], a.l[0], b.l[0]);
#pragma unroll
    for (int i = 1; i < W; i++) ZK_ADDC_CC(t.l[i], a.l[i], b.l[i]);
    ZK_ADDC(carry, 0u, 0u);
    ZK_SUB_CC(s.l[0], t.l[0], k.l[0]);
#pragma unroll
    for (int i = 1; i < W; i++) ZK_SUBC_CC(s.l[i], t.l[i], k.l[i]);
    ZK_SUBC(keep, carry, 0u);
#else
    u64 c = 0, d = 0;
    for (int i = 0; i < W; i++) {
        c += (u64)a.l[i] + b.l[i];
        t.l[i] = (u32)c;
        c >>= 32;
        const u64 x = (u64)t.l[i] - k.l[i] - d;
        s.l[i] = (u32)x;
        d = (x >> 32) & 1;
    }
    keep = (u32)(c - d);
#endif
#pragma unroll
    for (int i = 0; i < W; i++) s.l[i] = (int32_t)keep < 0 ? t.l[i] : s.l[i];
    return s;
}

/* a < m */
template <class P> ZK_HD bool is_reduced(const mont<P> &a) {
    mont<P> m;
    u32 borrow;
#pragma unroll
    for (int i = 0; i < P::W; i++) m.l[i] = P::mod(i);
    (void)sub_borrow(borrow, a, m);
    return borrow != 0;
}

template <class P> ZK_HD mont<P> canonical(const mont<P> &a) { return reduce_once<1>(a); } /* of `twice` */
ZK_HD fp add(const fp &a, const fp &b) { return reduce_once<1>(add_raw(a, b)); }
ZK_HD fr add(const fr &a, const fr &b) { return reduce_once<1>(add_raw(a, b)); }
template <class P> ZK_HD mont<P> sub(const mont<P> &a, const mont<P> &b) { return sub_mod<1>(a, b); }
template <class P> ZK_HD mont<P> dbl(const mont<P> &a) { return add(a, a); }
template <class P> ZK_HD mont<P> neg(const mont<P> &a) { return sub(mont<P>::zero(), a); }

#if defined(ZK_CARRY_CHAINS)
/* One row of reduction for all forms below: e += m_i * even limbs, o += m_i * odd limbs; e[0] becomes zero. */
template <class P> ZK_CHAIN void reduce_row(u32 *e, u32 *o) {
    constexpr int W = P::W;
    u32 mi;
    ZK_MUL_LO(mi, e[0], P::M0);
#pragma unroll
    for (int j = 0; j < W; j += 2) {
        if (j == 0)
            ZK_MAD_CC(o[j], o[j + 1], P::mod(j + 1), mi);
        else
            ZK_MADC_CC(o[j], o[j + 1], P::mod(j + 1), mi);
    }
#pragma unroll
    for (int j = 0; j < W; j += 2) {
        if (j == 0)
            ZK_MAD_CC(e[j], e[j + 1], P::mod(j), mi);
        else
            ZK_MADC_CC(e[j], e[j + 1], P::mod(j), mi);
    }
    ZK_ADDC(o[W - 1], o[W - 1], 0u);
}

template <class P> ZK_CHAIN mont<P> mul_rows(const mont<P> &a, const mont<P> &b) {
    constexpr int W = P::W;
    u32 even[W], odd[W];
#pragma unroll
    for (int i = 0; i < W; i++) {
        u32 *e = (i & 1) ? odd : even, *o = (i & 1) ? even : odd; /* each row shifts by one limb: the roles change */
        if (i == 0) {
#pragma unroll
            for (int j = 0; j < W; j += 2) ZK_MUL2(o[j], o[j + 1], a.l[j + 1], b.l[0]);
#pragma unroll
            for (int j = 0; j < W; j += 2) ZK_MUL2(e[j], e[j + 1], a.l[j], b.l[0]);
        } else {
            ZK_ADD_CC(e[0], e[0], o[1]);
#pragma unroll
            for (int j = 0; j < W - 2; j += 2) ZK_MADC_INTO_CC(o[j], o[j + 1], a.l[j + 1], b.l[i], o[j + 2], o[j + 3]);
            ZK_MADC_INTO(o[W - 2], o[W - 1], a.l[W - 1], b.l[i], 0u);
#pragma unroll
            for (int j = 0; j < W; j += 2) {
                if (j == 0)
                    ZK_MAD_CC(e[j], e[j + 1], a.l[j], b.l[i]);
                else
                    ZK_MADC_CC(e[j], e[j + 1], a.l[j], b.l[i]);
            }
            ZK_ADDC(o[W - 1], o[W - 1], 0u);
        }
        reduce_row<P>(e, o);
    }
    mont<P> r; /* W is even: the value is even + (odd >> 32) */
    ZK_ADD_CC(r.l[0], even[0], odd[1]);
#pragma unroll
    for (int k = 1; k < W - 1; k++) ZK_ADDC_CC(r.l[k], even[k], odd[k + 1]);
    ZK_ADDC(r.l[W - 1], even[W - 1], 0u);
    return r;
}

/* The same for Fr, two rows at a time, using r = h 2^64 + 2^64 - 2^32 + 1: with t the low 64 bits, m = -t (1 + 2^32)
 * mod 2^64 makes t + m r divisible by 2^64, the quotient being c + m - m_1 + m h, where m = m_0 + m_1 2^32 and c the
 * carry of t + m - (m_0 2^32). So a row of reduction has 6 multiplications instead of 9: 112 in all instead of 136.
 * e[k], o[k]: the limb at position k of the even and of the odd accumulator. */
ZK_CHAIN fr mul_two_rows(const fr &a, const fr &b) {
    u32 e[10], o[10];
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        const u32 b0 = b.l[i], b1 = b.l[i + 1];
        if (i == 0) {
#pragma unroll
            for (int j = 0; j < 8; j += 2) ZK_MUL2(e[j], e[j + 1], a.l[j], b0);
#pragma unroll
            for (int j = 1; j < 8; j += 2) ZK_MUL2(o[j], o[j + 1], a.l[j], b0);
            e[8] = 0;
        } else {
            ZK_MAD_CC(e[0], e[1], a.l[0], b0);
#pragma unroll
            for (int j = 2; j < 8; j += 2) ZK_MADC_CC(e[j], e[j + 1], a.l[j], b0);
            ZK_ADDC(e[8], 0u, 0u);
            ZK_MAD_CC(o[1], o[2], a.l[1], b0);
#pragma unroll
            for (int j = 3; j < 7; j += 2) ZK_MADC_CC(o[j], o[j + 1], a.l[j], b0);
            ZK_MADC_INTO(o[7], o[8], a.l[7], b0, o[7]);
        }
        ZK_MAD_CC(o[1], o[2], a.l[0], b1);
#pragma unroll
        for (int j = 2; j < 8; j += 2) ZK_MADC_CC(o[j + 1], o[j + 2], a.l[j], b1);
        ZK_ADDC(o[9], 0u, 0u);
        ZK_MAD_CC(e[2], e[3], a.l[1], b1);
#pragma unroll
        for (int j = 3; j < 7; j += 2) ZK_MADC_CC(e[j + 1], e[j + 2], a.l[j], b1);
        ZK_MADC_INTO(e[8], e[9], a.l[7], b1, e[8]);

        const u32 t1 = e[1] + o[1], sum = e[0] + t1;
        u32 m0, m1, d0, d1;
        ZK_SUB_CC(m0, 0u, e[0]);
        ZK_SUBC(m1, 0u, sum);
        ZK_SUB_CC(d0, m0, m1); /* d = m - m_1 */
        ZK_SUBC(d1, m1, 0u);
        ZK_CARRY_OF(e[0], m0);
        ZK_CARRYC_OF(t1, m1); /* c, into position 2 */
#pragma unroll
        for (int j = 2; j < 8; j += 2) ZK_MADC_CC(e[j], e[j + 1], fr_params::mod(j), m0);
        ZK_ADDC_CC(e[8], e[8], 0u);
        ZK_ADDC(e[9], e[9], 0u);
        ZK_CARRY_OF(e[1], o[1]);
        ZK_ADDC_CC(e[2], e[2], o[2]);
#pragma unroll
        for (int j = 3; j < 8; j += 2) ZK_MADC_CC(o[j], o[j + 1], fr_params::mod(j), m0);
        ZK_ADDC(o[9], o[9], 0u);
        ZK_ADD_CC(e[2], e[2], d0);
        ZK_ADDC_CC(e[3], e[3], d1);
#pragma unroll
        for (int j = 3; j < 8; j += 2) ZK_MADC_CC(e[j + 1], e[j + 2], fr_params::mod(j), m1);
        ZK_MAD_CC(o[3], o[4], fr_params::mod(2), m1);
#pragma unroll
        for (int j = 4; j < 8; j += 2) ZK_MADC_CC(o[j + 1], o[j + 2], fr_params::mod(j), m1);
        ZK_ADDC(o[9], o[9], 0u);
        if (i < 6) {
#pragma unroll
            for (int k = 0; k < 8; k++) e[k] = e[k + 2];
#pragma unroll
            for (int k = 1; k < 8; k++) o[k] = o[k + 2];
        }
    }
    fr r;
    r.l[0] = e[2];
    ZK_ADD_CC(r.l[1], e[3], o[3]);
#pragma unroll
    for (int k = 2; k < 7; k++) ZK_ADDC_CC(r.l[k], e[k + 2], o[k + 2]);
    ZK_ADDC(r.l[7], e[9], o[9]);
    return r;
}

ZK_CHAIN fp mul_lazy(const fp &a, const fp &b) { return mul_rows(a, b); }
ZK_CHAIN fr mul_lazy(const fr &a, const fr &b) { return mul_two_rows(a, b); }

/* t: 2W limbs of a^2 */
template <class P> ZK_CHAIN void square_wide(u32 *t, const u32 *a) {
    constexpr int W = P::W;
    u32 ev[2 * W], od[2 * W]; /* off-diagonal sums by the parity of their position */
#pragma unroll
    for (int j = 1; j < W; j += 2) ZK_MUL2(od[j], od[j + 1], a[j], a[0]);
#pragma unroll
    for (int j = 2; j < W; j += 2) ZK_MUL2(ev[j], ev[j + 1], a[j], a[0]);
#pragma unroll
    for (int i = 1; i < W - 1; i++) {
        { /* the chain that ends at a[W-1] a[i], where the accumulator holds one limb only */
            u32 *x = ((i + W - 1) & 1) ? od : ev;
            const int j0 = ((W - 1 - i) & 1) ? i + 1 : i + 2;
            if (j0 <= W - 1) {
                u32 top = 0;
                if (i > 1) top = x[i + W - 1];
                if (j0 == W - 1) {
                    if (i > 1)
                        ZK_MAD_INTO(x[i + W - 1], x[i + W], a[W - 1], a[i], top);
                    else
                        ZK_MUL2(x[i + W - 1], x[i + W], a[W - 1], a[i]);
                } else {
#pragma unroll
                    for (int j = j0; j < W - 1; j += 2) {
                        if (j == j0)
                            ZK_MAD_CC(x[i + j], x[i + j + 1], a[j], a[i]);
                        else
                            ZK_MADC_CC(x[i + j], x[i + j + 1], a[j], a[i]);
                    }
                    ZK_MADC_INTO(x[i + W - 1], x[i + W], a[W - 1], a[i], top);
                }
            }
        }
        { /* the chain that ends at a[W-2] a[i], its carry becomes the next limb */
            u32 *x = ((i + W - 2) & 1) ? od : ev;
            const int j0 = ((W - 2 - i) & 1) ? i + 1 : i + 2;
            if (j0 <= W - 2) {
#pragma unroll
                for (int j = j0; j <= W - 2; j += 2) {
                    if (j == j0)
                        ZK_MAD_CC(x[i + j], x[i + j + 1], a[j], a[i]);
                    else
                        ZK_MADC_CC(x[i + j], x[i + j + 1], a[j], a[i]);
                }
                ZK_ADDC(x[i + W], 0u, 0u);
            }
        }
    }
    u32 s[2 * W];
    s[1] = od[1];
    ZK_ADD_CC(s[2], ev[2], od[2]);
#pragma unroll
    for (int k = 3; k < 2 * W - 2; k++) ZK_ADDC_CC(s[k], ev[k], od[k]);
    ZK_ADDC(s[2 * W - 2], od[2 * W - 2], 0u);
    t[0] = 0;
    t[1] = s[1] << 1;
#pragma unroll
    for (int k = 2; k < 2 * W - 1; k++) t[k] = ZK_SHIFT1(s[k - 1], s[k]);
    t[2 * W - 1] = s[2 * W - 2] >> 31;
#pragma unroll
    for (int i = 0; i < W; i++) {
        if (i == 0)
            ZK_MAD_CC(t[0], t[1], a[0], a[0]);
        else
            ZK_MADC_CC(t[2 * i], t[2 * i + 1], a[i], a[i]);
    }
}

/* t / R + e m, 0 <= e <= 1 */
template <class P> ZK_CHAIN mont<P> reduce_wide(const u32 *t) {
    constexpr int W = P::W;
    u32 even[W], odd[W];
#pragma unroll
    for (int i = 0; i < W; i++) even[i] = t[i];
#pragma unroll
    for (int i = 0; i < W; i++) {
        u32 *e = (i & 1) ? odd : even, *o = (i & 1) ? even : odd;
        u32 mi;
        if (i == 0) {
            ZK_MUL_LO(mi, e[0], P::M0);
#pragma unroll
            for (int j = 0; j < W; j += 2) ZK_MUL2(o[j], o[j + 1], P::mod(j + 1), mi);
        } else {
            ZK_ADD_CC(e[0], e[0], o[1]);
            ZK_MUL_LO(mi, e[0], P::M0); /* leaves the carry alone */
#pragma unroll
            for (int j = 0; j < W - 2; j += 2) ZK_MADC_INTO_CC(o[j], o[j + 1], P::mod(j + 1), mi, o[j + 2], o[j + 3]);
            ZK_MADC_INTO(o[W - 2], o[W - 1], P::mod(W - 1), mi, 0u);
        }
#pragma unroll
        for (int j = 0; j < W; j += 2) {
            if (j == 0)
                ZK_MAD_CC(e[j], e[j + 1], P::mod(j), mi);
            else
                ZK_MADC_CC(e[j], e[j + 1], P::mod(j), mi);
        }
        ZK_ADDC(o[W - 1], o[W - 1], 0u);
    }
    mont<P> r;
    ZK_ADD_CC(r.l[0], even[0], odd[1]);
#pragma unroll
    for (int k = 1; k < W - 1; k++) ZK_ADDC_CC(r.l[k], even[k], odd[k + 1]);
    ZK_ADDC(r.l[W - 1], even[W - 1], 0u);
    ZK_ADD_CC(r.l[0], r.l[0], t[W]);
#pragma unroll
    for (int k = 1; k < W - 1; k++) ZK_ADDC_CC(r.l[k], r.l[k], t[W + k]);
    ZK_ADDC(r.l[W - 1], r.l[W - 1], t[2 * W - 1]);
    return r;
}
template <class P> ZK_CHAIN mont<P> sqr_lazy(const mont<P> &a) {
    u32 t[2 * P::W];
    square_wide<P>(t, a.l);
    return reduce_wide<P>(t);
}
#else
/* Portable: row by row with 64-bit limbs; the last conditional subtraction is left out to keep the range of mul_lazy.
 */
template <class P> inline u64 mod64(int i) { return (u64)P::mod(2 * i) | (u64)P::mod(2 * i + 1) << 32; }
template <class P> inline mont<P> mul_lazy(const mont<P> &a, const mont<P> &b) {
    constexpr int N = P::W / 2;
    /* -m^-1 mod 2^64 from that mod 2^32 by one Newton step */
    const u64 m0 = (u64)P::M0 * (2 + mod64<P>(0) * (u64)P::M0);
    u64 x[N], y[N], t[N + 2] = {0};
    memcpy(x, a.l, sizeof x);
    memcpy(y, b.l, sizeof y);
    for (int i = 0; i < N; i++) {
        unsigned __int128 c = 0;
        for (int j = 0; j < N; j++) {
            c += (unsigned __int128)x[j] * y[i] + t[j];
            t[j] = (u64)c;
            c >>= 64;
        }
        c += t[N];
        t[N] = (u64)c;
        t[N + 1] = (u64)(c >> 64);
        const u64 m = t[0] * m0;
        c = ((unsigned __int128)m * mod64<P>(0) + t[0]) >> 64;
        for (int j = 1; j < N; j++) {
            c += (unsigned __int128)m * mod64<P>(j) + t[j];
            t[j - 1] = (u64)c;
            c >>= 64;
        }
        c += t[N];
        t[N - 1] = (u64)c;
        t[N] = t[N + 1] + (u64)(c >> 64);
    }
    mont<P> r;
    memcpy(r.l, t, sizeof r.l);
    return r;
}
template <class P> inline mont<P> sqr_lazy(const mont<P> &a) { return mul_lazy(a, a); }
#endif

#if defined(__CUDA_ARCH__)
#define ZK_NOINLINE __noinline__
#else
#define ZK_NOINLINE
#endif

/* Canonical results. Real calls on the device: the paths that use them are not the hot ones, and inlined they make code
 * that takes minutes to compile and does not fit the instruction cache. */
template <class P> __host__ __device__ ZK_NOINLINE mont<P> mul(mont<P> a, mont<P> b) {
    return canonical(mul_lazy(a, b));
}
template <class P> __host__ __device__ ZK_NOINLINE mont<P> sqr(mont<P> a) { return canonical(sqr_lazy(a)); }

/* Montgomery form to plain limbs and back (canonical). */
template <class P> ZK_HD mont<P> from_mont(const mont<P> &a) {
    mont<P> one = mont<P>::zero();
    one.l[0] = 1;
    return mul(a, one);
}
template <class P> ZK_HD mont<P> to_mont(const mont<P> &a) { return mul(a, mont<P>::r2()); }

template <class P> ZK_HD mont<P> pow_u64(mont<P> a, u64 e) {
    mont<P> r = mont<P>::one();
    while (e) {
        if (e & 1) r = mul(r, a);
        a = sqr(a);
        e >>= 1;
    }
    return r;
}

/* Fp2 = Fp[u]/(u^2 + 1). */
struct alignas(16) fp2 {
    typedef fp base_field;
    fp c0, c1;
    ZK_HD static fp2 zero() { return fp2{fp::zero(), fp::zero()}; }
    ZK_HD static fp2 one() { return fp2{fp::one(), fp::zero()}; }
    ZK_HD bool is_zero() const { return c0.is_zero() && c1.is_zero(); }
    ZK_HD bool is_modulus() const { return c0.is_modulus() && c1.is_modulus(); }
    ZK_HD bool operator==(const fp2 &b) const { return c0 == b.c0 && c1 == b.c1; }
    ZK_HD bool operator!=(const fp2 &b) const { return !(*this == b); }
};
ZK_HD fp2 canonical(const fp2 &a) { return fp2{canonical(a.c0), canonical(a.c1)}; }
ZK_HD fp2 add(const fp2 &a, const fp2 &b) { return fp2{add(a.c0, b.c0), add(a.c1, b.c1)}; }
ZK_HD fp2 sub(const fp2 &a, const fp2 &b) { return fp2{sub(a.c0, b.c0), sub(a.c1, b.c1)}; }
ZK_HD fp2 neg(const fp2 &a) { return fp2{neg(a.c0), neg(a.c1)}; }
ZK_HD fp2 dbl(const fp2 &a) { return add(a, a); }
template <int K> ZK_HD fp2 sub_plus(const fp2 &a, const fp2 &b) {
    return fp2{sub_plus<K>(a.c0, b.c0), sub_plus<K>(a.c1, b.c1)};
}
template <int K> ZK_HD fp2 reduce_once(const fp2 &a) { return fp2{reduce_once<K>(a.c0), reduce_once<K>(a.c1)}; }
ZK_HD fp2 add_raw(const fp2 &a, const fp2 &b) { return fp2{add_raw(a.c0, b.c0), add_raw(a.c1, b.c1)}; }
/* Karatsuba, 3 multiplications: c1 = (a0+a1)(b0+b1) - a0 b0 - a1 b1. Parts of both factors below 2p: the sums are below
 * 4p, their product below 16 p^2 gives at most 2.63p, so c1 + 4p - ... stays below 7p; both parts end below 2p. */
__host__ __device__ ZK_NOINLINE inline fp2 mul_lazy(fp2 a, fp2 b) {
    fp t = mul_lazy(add_raw(a.c0, a.c1), add_raw(b.c0, b.c1));
    fp v0 = mul_lazy(a.c0, b.c0), v1 = mul_lazy(a.c1, b.c1);
    fp2 r;
    r.c0 = sub_mod<2>(v0, v1);
    r.c1 = sub_plus<4>(t, add_raw(v0, v1));
    r.c1 = reduce_once<2>(reduce_once<4>(r.c1));
    return r;
}
/* (a0 + a1)(a0 - a1), 2 a0 a1. Factors below 4p and 4p. */
__host__ __device__ ZK_NOINLINE inline fp2 sqr_lazy(fp2 a) {
    fp2 r;
    fp s = add_raw(a.c0, a.c1), d = sub_mod<2>(a.c0, a.c1);
    r.c0 = mul_lazy(s, d); /* 4p * 2p / R + p < 2p */
    r.c1 = mul_lazy(add_raw(a.c0, a.c0), a.c1);
    return r;
}
ZK_HD fp2 mul(const fp2 &a, const fp2 &b) {
    const fp v0 = mul(a.c0, b.c0), v1 = mul(a.c1, b.c1), t = mul(add_raw(a.c0, a.c1), add_raw(b.c0, b.c1));
    return fp2{sub(v0, v1), sub(t, add(v0, v1))};
}
ZK_HD fp2 sqr(const fp2 &a) {
    const fp t = mul(a.c0, a.c1);
    return fp2{mul(add_raw(a.c0, a.c1), sub(a.c0, a.c1)), dbl(t)};
}
#if !defined(ZK_NO_VECTORS)
/* 16-byte loads and stores. */
template <class P> ZK_HD mont<P> load(const mont<P> *p) {
    mont<P> r;
    const uint4 *q = (const uint4 *)p;
#pragma unroll
    for (int i = 0; i < P::W / 4; i++) {
        uint4 v = q[i];
        r.l[4 * i] = v.x;
        r.l[4 * i + 1] = v.y;
        r.l[4 * i + 2] = v.z;
        r.l[4 * i + 3] = v.w;
    }
    return r;
}
template <class P> ZK_HD void store(mont<P> *p, const mont<P> &a) {
    uint4 *q = (uint4 *)p;
#pragma unroll
    for (int i = 0; i < P::W / 4; i++) q[i] = make_uint4(a.l[4 * i], a.l[4 * i + 1], a.l[4 * i + 2], a.l[4 * i + 3]);
}
ZK_HD fp2 load(const fp2 *p) { return fp2{load(&p->c0), load(&p->c1)}; }
ZK_HD void store(fp2 *p, const fp2 &a) {
    store(&p->c0, a.c0);
    store(&p->c1, a.c1);
}
#endif

} // namespace zk
#endif
