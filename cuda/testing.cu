/* Test data made on the device; see testing.h. */
#include "testing.h"

#include "factor.cuh"
#include "msm_impl.cuh"

#include <cmath>

namespace zk {

__global__ void __launch_bounds__(256) table_pairs(uint2 *pairs, u32 low, size_t first, u32 n) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    pairs[i] = make_uint2((u32)((first + i) % low), low + (u32)((first + i) / low));
}

template <class F>
__global__ void __launch_bounds__(256) planes_to_points(affine<F> *out, point_source<F> source, u32 n) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const affine<F> p = source.get(REF_POOL | i);
    store(&out[i].x, p.x);
    store(&out[i].y, p.y);
}

template <class F> cuzk_status test_bases(zk_cuda *d, zk_dptr out, zk_dptr tables, u32 low, size_t n, cuzk_err *err) {
    const u32 chunk = 1u << 24;
    const u32 most = n < chunk ? (u32)n : chunk;
    scratch memory(d);
    uint2 *pairs = nullptr;
    add_chain<F> c;
    c.device = d;
    c.stream = d->main;
    c.bases = (const affine<F> *)tables;
    c.pool_size = most;
    ZK_TRY(memory.take(&pairs, most, "test pairs", err));
    ZK_TRY(chain_allocate(c, memory, most, err));
    for (size_t at = 0; at < n; at += chunk) {
        const u32 here = n - at < chunk ? (u32)(n - at) : chunk;
        ZK_RUN_EACH(table_pairs, here, 256, d->main, pairs, low, at, here);
        ZK_TRY(chain_start(c, err));
        ZK_TRY(add_round(c, pair_list{pairs, 0}, here, err));
        auto convert = planes_to_points<F>;
        ZK_RUN_EACH(convert, here, 256, d->main, (affine<F> *)out + at,
                    (point_source<F>{c.bases, c.pool, c.pool_size, nullptr}), here);
    }
    return CUZK_OK;
}

ZK_HD u64 mix(u64 z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

__global__ void __launch_bounds__(256) random_scalars(fr *out, size_t n, u64 seed) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    fr x;
    for (u32 attempt = 0;; attempt++) {
        for (int k = 0; k < 4; k++) {
            const u64 v = mix(mix(seed + 4 * i + (u64)k) + attempt * 0x9e3779b97f4a7c15u);
            x.l[2 * k] = (u32)v;
            x.l[2 * k + 1] = (u32)(v >> 32);
        }
        x.l[7] &= 0x7fffffffu;
        if (is_reduced(x)) break;
    }
    store(&out[i], x);
}

__global__ void __launch_bounds__(256) mask_scalars(fr *out, const u64 *bits, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) store(&out[i], (bits[i / 64] >> (i % 64)) & 1 ? fr::one() : fr::zero());
}

__global__ void __launch_bounds__(256) products(fr *out, const fr *a, const fr *b, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) store(&out[i], mul(load(&a[i]), load(&b[i])));
}

__global__ void __launch_bounds__(256) marginals(fr *out, const fr *x, u32 low, size_t n, u32 high) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= low + high) return;
    fr acc = fr::zero();
    if (t < low) {
        for (size_t i = t; i < n; i += low) acc = add(acc, load(&x[i]));
    } else {
        const size_t first = (size_t)(t - low) * low;
        for (size_t i = first; i < n && i < first + low; i++) acc = add(acc, load(&x[i]));
    }
    store(&out[t], acc);
}

#if !defined(ZK_CUDA_EMULATE)
static cudaEvent_t marks[2];

/* For Fr the chain leaves the range of mul_lazy; only its speed matters here. */
template <class P, bool SQUARE> __global__ void __launch_bounds__(128, 4) chain(mont<P> *x, u32 iterations) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    mont<P> a = load(&x[2 * t]), b = load(&x[2 * t + 1]);
#pragma unroll 1
    for (u32 i = 0; i < iterations; i++) {
        if (SQUARE) {
            a = sqr_lazy(a);
            b = sqr_lazy(b);
        } else {
            a = mul_lazy(b, a);
            b = mul_lazy(a, b);
        }
    }
    store(&x[2 * t], a);
    store(&x[2 * t + 1], b);
}

/* Products with known factors. */
__global__ void __launch_bounds__(128, 4) factor_chain(fr *x, u32 iterations) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    fr a = load(&x[2 * t]), b = load(&x[2 * t + 1]);
    const fr_factor f = {a, b};
#pragma unroll 1
    for (u32 i = 0; i < iterations; i++) {
        a = mul_factor(f, a);
        b = mul_factor(f, b);
    }
    store(&x[2 * t], a);
    store(&x[2 * t + 1], b);
}

/* Of a kernel that does two operations a thread and iteration. */
template <class F> cuzk_status rate_of(double *rate, zk_cuda *d, void (*kernel)(F *, u32), cuzk_err *err) {
    const u32 blocks = (u32)d->multiprocessors * 32, iterations = 400;
    scratch memory(d);
    F *x = nullptr;
    ZK_TRY(memory.take(&x, (size_t)blocks * 256, "chains", err));
    ZK_TRY(zk_cuda_test_scalars(d, (zk_dptr)x, (size_t)blocks * 256 * sizeof(F) / sizeof(fr), 7, err));
    double ms = 0;
    for (int pass = 0; pass < 3; pass++) {
        ZK_TRY(zk_cuda_test_mark(d, 0, err));
        ZK_RUN(kernel, blocks, 128, 0, d->main, x, iterations);
        ZK_TRY(zk_cuda_test_mark(d, 1, err));
        ZK_TRY(zk_cuda_test_elapsed(&ms, d, err));
    }
    *rate = 2.0 * iterations * blocks * 128 / ms * 1e-6;
    return CUZK_OK;
}
#endif

} // namespace zk

extern "C" {

cuzk_status zk_cuda_test_bases_g1(zk_cuda *d, zk_dptr out, zk_dptr tables, uint32_t low, size_t n, cuzk_err *err) {
    return zk::test_bases<zk::fp>(d, out, tables, low, n, err);
}
cuzk_status zk_cuda_test_bases_g2(zk_cuda *d, zk_dptr out, zk_dptr tables, uint32_t low, size_t n, cuzk_err *err) {
    return zk::test_bases<zk::fp2>(d, out, tables, low, n, err);
}
cuzk_status zk_cuda_test_scalars(zk_cuda *d, zk_dptr out, size_t n, uint64_t seed, cuzk_err *err) {
    ZK_RUN_EACH(zk::random_scalars, n, 256, d->main, (zk::fr *)out, n, seed);
    return CUZK_OK;
}
cuzk_status zk_cuda_test_mask_scalars(zk_cuda *d, zk_dptr out, zk_dptr bits, size_t n, cuzk_err *err) {
    ZK_RUN_EACH(zk::mask_scalars, n, 256, d->main, (zk::fr *)out, (const uint64_t *)bits, n);
    return CUZK_OK;
}
cuzk_status zk_cuda_test_product(zk_cuda *d, zk_dptr out, zk_dptr a, zk_dptr b, size_t n, cuzk_err *err) {
    ZK_RUN_EACH(zk::products, n, 256, d->main, (zk::fr *)out, (const zk::fr *)a, (const zk::fr *)b, n);
    return CUZK_OK;
}
cuzk_status zk_cuda_test_marginals(zk_cuda *d, zk_dptr out, zk_dptr x, uint32_t low, size_t n, cuzk_err *err) {
    const uint32_t high = zk::ceil_div(n, low);
    ZK_RUN_EACH(zk::marginals, low + high, 256, d->main, (zk::fr *)out, (const zk::fr *)x, low, n, high);
    return CUZK_OK;
}

#if defined(ZK_CUDA_EMULATE)
cuzk_status zk_cuda_test_mark(zk_cuda *, int, cuzk_err *) { return CUZK_OK; }
cuzk_status zk_cuda_test_elapsed(double *ms, zk_cuda *, cuzk_err *) { return *ms = 0, CUZK_OK; }
cuzk_status zk_cuda_test_rate(double *rate, zk_cuda *, int, cuzk_err *) { return *rate = 0, CUZK_OK; }
#else
cuzk_status zk_cuda_test_mark(zk_cuda *d, int which, cuzk_err *err) {
    if (!zk::marks[which]) ZK_CUDA_TRY(cudaEventCreate(&zk::marks[which]));
    ZK_CUDA_TRY(cudaEventRecord(zk::marks[which], d->main));
    return CUZK_OK;
}
cuzk_status zk_cuda_test_elapsed(double *ms, zk_cuda *d, cuzk_err *err) {
    float f = 0;
    (void)d;
    ZK_CUDA_TRY(cudaEventSynchronize(zk::marks[1]));
    ZK_CUDA_TRY(cudaEventElapsedTime(&f, zk::marks[0], zk::marks[1]));
    *ms = f;
    return CUZK_OK;
}
cuzk_status zk_cuda_test_rate(double *rate, zk_cuda *d, int what, cuzk_err *err) {
    switch (what) {
    case 0:
        return zk::rate_of(rate, d, zk::chain<zk::fp_params, false>, err);
    case 1:
        return zk::rate_of(rate, d, zk::chain<zk::fp_params, true>, err);
    case 2:
        return zk::rate_of(rate, d, zk::chain<zk::fr_params, false>, err);
    default:
        return zk::rate_of(rate, d, zk::factor_chain, err);
    }
}
#endif

} /* extern "C" */
