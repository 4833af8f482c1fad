/* Planes of multiples of fixed bases: plane j is plane j - 1 doubled `distance` times. The doublings are in Jacobian
 * coordinates, in registers; then the denominators of a slice of points are inverted together. */
#ifndef ZK_CUDA_MSM_STORED_CUH
#define ZK_CUDA_MSM_STORED_CUH

#include "msm_impl.cuh"

namespace zk {

/* Sums and differences of values in [0, 2p), in that range again. */
ZK_HD fp add_twice(const fp &a, const fp &b) { return reduce_once<2>(add_raw(a, b)); }
ZK_HD fp sub_twice(const fp &a, const fp &b) { return sub_mod<2>(a, b); }
ZK_HD fp2 add_twice(const fp2 &a, const fp2 &b) { return fp2{add_twice(a.c0, b.c0), add_twice(a.c1, b.c1)}; }
ZK_HD fp2 sub_twice(const fp2 &a, const fp2 &b) { return fp2{sub_twice(a.c0, b.c0), sub_twice(a.c1, b.c1)}; }

/* out[i]: X, Y of [2^doublings] in[i] = (X/Z^2, Y/Z^3), in [0, 2p); z: planes of n, Z canonical. EFD dbl-2009-l: with a
 * = 0, A = X^2, B = Y^2, S = 4 X B, X' = 9 A^2 - 2 S, Y' = 3 A (S - X') - 8 B^2, Z' = 2 Y Z. Infinity comes in as y = 0
 * and leaves as Z = 0, as does a point of order two. */
template <class F>
__global__ void __launch_bounds__(128)
    double_points(affine<F> *out, uint4 *z, const affine<F> *in, u32 n, u32 doublings) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    F X = load(&in[i].x), Y = load(&in[i].y), Z = F::one();
#pragma unroll 1
    for (u32 k = 0; k < doublings; k++) {
        const F B = sqr_lazy(Y);
        F S = mul_lazy(X, B);
        S = add_twice(S, S);
        S = add_twice(S, S);
        F E = sqr_lazy(X);
        E = add_twice(E, add_twice(E, E));
        Z = mul_lazy(Y, Z);
        Z = add_twice(Z, Z);
        X = sub_twice(sqr_lazy(E), add_twice(S, S));
        F C = sqr_lazy(B);
        C = add_twice(C, C);
        C = add_twice(C, C);
        C = add_twice(C, C);
        Y = sub_twice(mul_lazy(E, sub_twice(S, X)), C);
    }
    store(&out[i].x, X);
    store(&out[i].y, Y);
    store_element(z + i, n, canonical(Z));
}

/* Running products of the Z that are not zero; thread t owns t, t + n_threads, ... */
template <class F>
__global__ void __launch_bounds__(ADD_THREADS)
    z_forward(uint4 *prefix, F *product, const uint4 *z, u32 n, u32 n_threads) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n_threads) return;
    F acc = F::one();
    for (u32 i = t; i < n; i += n_threads) {
        F d;
        load_element(&d, z + i, n);
        store_element(prefix + i, n, acc);
        if (!d.is_zero()) acc = mul_lazy(acc, d);
    }
    store(&product[t], acc);
}

/* points[i]: (X, Y) to affine. product: the inverses. */
template <class F>
__global__ void __launch_bounds__(ADD_THREADS)
    z_backward(affine<F> *points, const uint4 *prefix, const F *product, const uint4 *z, u32 n, u32 n_threads) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n_threads || t >= n) return;
    F inv = load(&product[t]);
    u32 i = t + (n - 1 - t) / n_threads * n_threads;
    for (;; i -= n_threads) {
        F d, x = F::zero(), y = F::zero();
        load_element(&d, z + i, n);
        if (!d.is_zero()) {
            F l;
            load_element(&l, prefix + i, n);
            l = mul_lazy(inv, l); /* 1/Z */
            inv = mul_lazy(inv, d);
            const F l2 = sqr_lazy(l);
            x = canonical(mul_lazy(l2, load(&points[i].x)));
            y = canonical(mul_lazy(mul_lazy(l2, l), load(&points[i].y)));
        }
        store(&points[i].x, x);
        store(&points[i].y, y);
        if (i == t) break;
    }
}

template <class F> struct doubling_workspace {
    uint4 *z, *prefix; /* [planes_of<F> * slice] */
    F *product, *scratch;
};
template <class F> size_t doubling_carve(doubling_workspace<F> *w, void *base, const zk_cuda *d, size_t slice) {
    carver memory(base);
    memory.take(&w->z, slice * planes_of<F>::value);
    memory.take(&w->prefix, slice * planes_of<F>::value);
    memory.take(&w->product, add_threads_for(d, (u32)slice));
    memory.take(&w->scratch, add_threads_for(d, (u32)slice));
    return memory.used;
}

#if defined(ZK_CUDA_EMULATE)
constexpr size_t DOUBLING_SLICE = 100; /* points at once; so that tests have several */
#else
constexpr size_t DOUBLING_SLICE = (size_t)1 << 22;
#endif
constexpr size_t DOUBLING_LEAST = 4096; /* when memory is short */

/* Fills b->multiples; the call is finished when main comes to its end. */
template <class F> cuzk_status bases_prepare(const zk_cuda_bases *b, zk_cuda *d, cuzk_err *err) {
    const size_t planes = b->planes;
    if (planes < 2 || b->n == 0) return CUZK_OK;
    if (b->n * planes >= MAX_POINTS)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "%zu points in %zu planes, at most %u together", b->n, planes,
                       MAX_POINTS - 1);
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    workspace_piece piece(d);
    doubling_workspace<F> w;
    size_t slice = b->n < DOUBLING_SLICE ? b->n : DOUBLING_SLICE;
    ZK_TRY(fit_slice(&slice, 1, DOUBLING_LEAST, err, [&](size_t points, cuzk_err *e) {
        return zk_cuda_alloc(&piece.memory, d, doubling_carve(&w, nullptr, d, points), "multiples of points", e);
    }));
    (void)doubling_carve(&w, (void *)piece.memory, d, slice);
    auto doubles = double_points<F>;
    auto forward = z_forward<F>;
    auto backward = z_backward<F>;
    auto invert = invert_products<F>;
    for (size_t plane = 1; plane < planes; plane++) {
        affine<F> *to = (affine<F> *)b->multiples + (plane - 1) * b->n;
        const affine<F> *from = plane == 1 ? (const affine<F> *)b->points : to - b->n;
        for (size_t at = 0; at < b->n; at += slice) {
            const u32 n = (u32)(b->n - at < slice ? b->n - at : slice);
            const u32 threads = add_threads_for(d, n), blocks = ceil_div(threads, ADD_THREADS);
            const u32 inverters = ceil_div(threads, invert_share(threads));
            ZK_RUN_EACH(doubles, n, 128, d->main, to + at, w.z, from + at, n, b->distance);
            ZK_RUN(forward, blocks, ADD_THREADS, 0, d->main, w.prefix, w.product, w.z, n, threads);
            ZK_RUN_EACH(invert, inverters, 64, d->main, w.product, w.scratch, threads, inverters);
            ZK_RUN(backward, blocks, ADD_THREADS, 0, d->main, to + at, w.prefix, w.product, w.z, n, threads);
        }
    }
    return CUZK_OK;
}

} // namespace zk
#endif
