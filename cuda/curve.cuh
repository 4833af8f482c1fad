/* The two curves y^2 = x^3 + b over a field F (fp: G1, fp2: G2); no formula here needs b.
 *
 * affine: x, y canonical, infinity is x = y = 0; byte for byte zk_g1_affine and zk_g2_affine.
 * xyzz:   x = X/ZZ, y = Y/ZZZ, ZZ^3 = ZZZ^2, infinity ZZ = 0; canonical coordinates.
 * All additions are complete. Formulas: EFD, short Weierstrass, XYZZ: madd-2008-s (8M+2S), add-2008-s (12M+2S),
 * dbl-2008-s-1 (6M+4S with a = 0).
 */
#ifndef ZK_CUDA_CURVE_CUH
#define ZK_CUDA_CURVE_CUH

#include "inverse.cuh"

namespace zk {

template <class F> struct alignas(16) affine {
    F x, y;
    ZK_HD bool is_infinity() const { return x.is_zero() && y.is_zero(); }
    ZK_HD static affine infinity() { return affine{F::zero(), F::zero()}; }
};

template <class F> struct alignas(16) xyzz {
    F x, y, zz, zzz;
    ZK_HD bool is_infinity() const { return zz.is_zero(); }
    ZK_HD static xyzz infinity() { return xyzz{F::zero(), F::zero(), F::zero(), F::zero()}; }
};

template <class F> ZK_HD xyzz<F> to_xyzz(const affine<F> &a) {
    if (a.is_infinity()) return xyzz<F>::infinity();
    return xyzz<F>{a.x, a.y, F::one(), F::one()};
}

template <class F> __host__ __device__ ZK_NOINLINE void xyzz_double(xyzz<F> &p) {
    if (p.is_infinity()) return;
    F u = dbl(p.y), v = sqr(u), w = mul(u, v), s = mul(p.x, v), m = sqr(p.x);
    m = add(dbl(m), m);
    F x3 = sub(sqr(m), dbl(s));
    p.y = sub(mul(m, sub(s, x3)), mul(w, p.y));
    p.x = x3;
    p.zz = mul(v, p.zz);
    p.zzz = mul(w, p.zzz); /* y = 0 gives ZZ = 0, infinity, as it should */
}

template <class F> __host__ __device__ ZK_NOINLINE void xyzz_add_affine(xyzz<F> &p, const affine<F> &q) {
    if (q.is_infinity()) return;
    if (p.is_infinity()) {
        p = to_xyzz(q);
        return;
    }
    F d = sub(mul(q.x, p.zz), p.x), r = sub(mul(q.y, p.zzz), p.y);
    if (d.is_zero()) {
        if (r.is_zero())
            xyzz_double(p);
        else
            p = xyzz<F>::infinity();
        return;
    }
    F dd = sqr(d), ddd = mul(d, dd), t = mul(p.x, dd);
    F x3 = sub(sub(sqr(r), ddd), dbl(t));
    p.y = sub(mul(r, sub(t, x3)), mul(p.y, ddd));
    p.x = x3;
    p.zz = mul(p.zz, dd);
    p.zzz = mul(p.zzz, ddd);
}

template <class F> __host__ __device__ ZK_NOINLINE void xyzz_add(xyzz<F> &p, const xyzz<F> &q) {
    if (q.is_infinity()) return;
    if (p.is_infinity()) {
        p = q;
        return;
    }
    F u = mul(p.x, q.zz), s = mul(p.y, q.zzz);
    F d = sub(mul(q.x, p.zz), u), r = sub(mul(q.y, p.zzz), s);
    if (d.is_zero()) {
        if (r.is_zero())
            xyzz_double(p);
        else
            p = xyzz<F>::infinity();
        return;
    }
    F dd = sqr(d), ddd = mul(d, dd), t = mul(u, dd);
    F x3 = sub(sub(sqr(r), ddd), dbl(t));
    p.y = sub(mul(r, sub(t, x3)), mul(s, ddd));
    p.x = x3;
    p.zz = mul(mul(p.zz, q.zz), dd);
    p.zzz = mul(mul(p.zzz, q.zzz), ddd);
}

/* [k]a, k of n_limbs 32-bit limbs; double and add. */
template <class F> __host__ __device__ inline xyzz<F> scalar_mul(const affine<F> &a, const u32 *k, int n_limbs) {
    xyzz<F> r = xyzz<F>::infinity();
    for (int i = 32 * n_limbs - 1; i >= 0; i--) {
        xyzz_double(r);
        if ((k[i >> 5] >> (i & 31)) & 1) xyzz_add_affine(r, a);
    }
    return r;
}

template <class F> __host__ __device__ inline affine<F> to_affine(const xyzz<F> &p) {
    if (p.is_infinity()) return affine<F>::infinity();
    F i = inverse(p.zzz); /* 1/ZZZ = 1/z^3 */
    F z = mul(i, p.zz);   /* z^2/z^3 = 1/z */
    return affine<F>{mul(p.x, sqr(z)), mul(p.y, i)};
}

} // namespace zk
#endif
