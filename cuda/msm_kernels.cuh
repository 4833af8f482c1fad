/* Kernels of the multi-scalar multiplication and the masked sum.
 *
 * A point is named by a ref: 30 bits of index, REF_POOL (an intermediate sum) or not (a base), REF_NEG (take -P; bases only).
 * REF_NONE is the point at infinity. All sums are trees of affine additions: a round adds disjoint pairs of refs and
 * appends the results to the pool.
 *
 * An affine addition needs 1/(x2 - x1): l = (y2 - y1)/(x2 - x1), x3 = l^2 - x1 - x2, y3 = l (x1 - x3) - y1. The inversions of
 * a round are shared (Montgomery's trick): the forward kernel multiplies the denominators of a thread's pairs and keeps
 * the running products, the invert kernel inverts the products of all threads, the backward kernel walks back: 5M + 1S and
 * an inversion shared by a hundred. Equal points are doubled (denominator 2y, numerator 3x^2), opposite ones and infinity
 * have the denominator 1 and a result of their own. No correctness depends on points being in general position.
 */
#ifndef ZK_CUDA_MSM_KERNELS_CUH
#define ZK_CUDA_MSM_KERNELS_CUH

#include "curve.cuh"
#include "device.cuh"

namespace zk {

constexpr u32 REF_NEG = 0x80000000u, REF_POOL = 0x40000000u, REF_INDEX = 0x3fffffffu, REF_NONE = 0xffffffffu;
constexpr u32 MAX_POINTS = 1u << 30;
constexpr int ADD_THREADS = 128;

template <class F> struct point_source {
    const affine<F> *bases, *pool;
    ZK_HD const affine<F> *at(u32 ref) const { return ((ref & REF_POOL) ? pool : bases) + (ref & REF_INDEX); }
    __host__ __device__ inline affine<F> get(u32 ref) const {
        if (ref == REF_NONE) return affine<F>::infinity();
        const affine<F> *p = at(ref);
        affine<F> r{load(&p->x), load(&p->y)};
        if (ref & REF_NEG) r.y = neg(r.y);
        return r;
    }
};

/* What a round adds: pairs[i], or the neighbours 2i, 2i+1 of the pool from `first` on when pairs is null. */
struct pair_list {
    const uint2 *pairs;
    u32 first;
    ZK_HD uint2 get(u32 i) const {
        if (pairs) return pairs[i];
        return make_uint2(REF_POOL | (first + 2 * i), REF_POOL | (first + 2 * i + 1));
    }
};

/* ---- additions ---- */

/* The denominator of a pair in special position. */
template <class F>
__host__ __device__ ZK_NOINLINE void special_denominator(F *d, const point_source<F> &source, u32 ra, u32 rb) {
    *d = F::one();
    affine<F> a = source.get(ra), b = source.get(rb);
    if (a.is_infinity() || b.is_infinity()) return;
    if (a.x != b.x) {
        *d = sub(b.x, a.x);
        return;
    }
    if (a.y == b.y && !a.y.is_zero()) *d = dbl(a.y);
}
/* Its sum, given the inverse of that denominator; true if the pair was special after all. */
template <class F>
__host__ __device__ ZK_NOINLINE bool special_sum(affine<F> *r, const F *inverse_d, const point_source<F> &source, u32 ra,
                                                 u32 rb) {
    affine<F> a = source.get(ra), b = source.get(rb);
    if (a.is_infinity()) {
        *r = b;
    } else if (b.is_infinity()) {
        *r = a;
    } else if (a.x != b.x) {
        return false;
    } else if (a.y == b.y && !a.y.is_zero()) {
        F m = sqr(a.x), l = mul(add(dbl(m), m), *inverse_d);
        F x3 = sub(sqr(l), dbl(a.x));
        r->y = sub(mul(l, sub(a.x, x3)), a.y);
        r->x = x3;
    } else {
        *r = affine<F>::infinity();
    }
    return true;
}
/* x2 - x1 + p of canonical x1, x2, in (0, 2p); whether the pair may be special: equal x or an x that is 0. */
template <class F> ZK_HD bool maybe_special(const F &d, const F &x1, const F &x2) {
    return d.is_modulus() || x1.is_zero() || x2.is_zero();
}
/* y or p - y, in [0, p] */
ZK_HD fp negate_if(const fp &y, bool negate) {
    fp n, p;
#pragma unroll
    for (int i = 0; i < fp::W; i++) p.l[i] = fp_params::mod(i);
    u32 borrow;
    n = sub_borrow(borrow, p, y);
#pragma unroll
    for (int i = 0; i < fp::W; i++) n.l[i] = negate ? n.l[i] : y.l[i];
    return n;
}
ZK_HD fp2 negate_if(const fp2 &y, bool negate) { return fp2{negate_if(y.c0, negate), negate_if(y.c1, negate)}; }

/* prefix: [n_pairs], product: [n_threads]; thread t owns the pairs t, t + n_threads, ... */
template <class F>
__global__ void __launch_bounds__(ADD_THREADS)
    add_forward(point_source<F> source, pair_list list, u32 n_pairs, u32 n_threads, F *prefix, F *product) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n_threads) return;
    F acc = F::one();
    for (u32 i = t; i < n_pairs; i += n_threads) {
        const uint2 r = list.get(i);
        F d;
        bool special = r.x == REF_NONE || r.y == REF_NONE;
        if (!special) {
            const F x1 = load(&source.at(r.x)->x), x2 = load(&source.at(r.y)->x);
            d = sub_plus<1>(x2, x1);
            special = maybe_special(d, x1, x2);
        }
        if (special) special_denominator(&d, source, r.x, r.y);
        store(&prefix[i], acc);
        acc = mul_lazy(acc, d);
    }
    store(&product[t], acc);
}

/* product[i] becomes 1/product[i], i < n; scratch: [n]. Thread t owns t, t + n_threads, ... */
template <class F>
__global__ void __launch_bounds__(64) invert_products(F *product, F *scratch, u32 n, u32 n_threads) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n_threads || t >= n) return;
    F acc = load(&product[t]);
    u32 last = t;
    for (u32 i = t + n_threads; i < n; i += n_threads) {
        store(&scratch[i], acc);
        acc = mul_lazy(acc, load(&product[i]));
        last = i;
    }
    F inv = inverse(canonical(acc));
    for (u32 i = last; i > t; i -= n_threads) {
        const F p = load(&product[i]);
        store(&product[i], mul_lazy(inv, load(&scratch[i])));
        inv = mul_lazy(inv, p);
    }
    store(&product[t], inv);
}

/* out: [n_pairs] sums */
template <class F, int MIN_BLOCKS>
__global__ void __launch_bounds__(ADD_THREADS, MIN_BLOCKS)
    add_backward(affine<F> *out, point_source<F> source, pair_list list, u32 n_pairs, u32 n_threads, const F *prefix,
                 const F *product) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n_threads || t >= n_pairs) return;
    F inv = load(&product[t]);
    u32 i = t + (n_pairs - 1 - t) / n_threads * n_threads;
    for (;; i -= n_threads) {
        const uint2 r = list.get(i);
        F x1, x2, d;
        bool special = r.x == REF_NONE || r.y == REF_NONE;
        if (!special) {
            x1 = load(&source.at(r.x)->x);
            x2 = load(&source.at(r.y)->x);
            d = sub_plus<1>(x2, x1);
            special = maybe_special(d, x1, x2);
        }
        F l = mul_lazy(inv, load(&prefix[i])); /* 1/d */
        bool done = false;
        if (special) {
            affine<F> sum;
            done = special_sum(&sum, &l, source, r.x, r.y);
            if (done) {
                store(&out[i].x, canonical(sum.x));
                store(&out[i].y, canonical(sum.y));
            }
            special_denominator(&d, source, r.x, r.y);
        }
        inv = mul_lazy(inv, d);
        if (!done) {
            const F y1 = negate_if(load(&source.at(r.x)->y), r.x & REF_NEG);
            const F y2 = negate_if(load(&source.at(r.y)->y), r.y & REF_NEG);
            l = mul_lazy(l, sub_plus<1>(y2, y1));
            F x3 = sub_plus<2>(sqr_lazy(l), add_raw(x1, x2)); /* < 4p */
            x3 = reduce_once<1>(reduce_once<2>(x3));
            store(&out[i].x, x3);
            F y3 = sub_plus<1>(mul_lazy(l, sub_plus<1>(x1, x3)), y1); /* < 3p */
            store(&out[i].y, reduce_once<1>(reduce_once<2>(y3)));
        }
        if (i == t) break;
    }
}

/* ---- scalars to sorted buckets ---- */

/* The windows of an MSM: digit w has bits [offset[w], offset[w+1]) of scalar + bias, minus half its range: a signed digit
 * without carries. bias = sum of half ranges. |s| + bias must stay below 2^255 for the top digit to fit: with |s| <= r/2 <
 * 0.906 * 2^254 and windows of 4 bits and more it is below 1.98 * 2^254; windows of 3 bits would not do. */
constexpr int MAX_WINDOWS = 63;
struct window_plan {
    u32 n_windows;
    u32 offset[MAX_WINDOWS + 1]; /* offset[n_windows] = 255 */
    u32 bias[8];
};

/* planes: [8][n], limb k of |s_i| + bias, where |s| = min(s, r - s); bit 31 of limb 7: s was negated. */
__global__ void __launch_bounds__(256) prepare_scalars(u32 *planes, const fr *scalars, u32 n, window_plan plan);
/* Digits of windows first .. first + count - 1: keys[w n + i] = w stride + |digit|, or 0 for the digit 0; refs: the base with
 * the digit's sign. */
__global__ void __launch_bounds__(256)
    window_digits(u32 *keys, u32 *refs, const u32 *planes, u32 n, window_plan plan, u32 first, u32 count, u32 stride);

/* start, end: [n_buckets + 1] by key, zeroed before; the run of each key > 0 in sorted keys. zeros: how many keys are 0. */
__global__ void __launch_bounds__(256) bucket_bounds(u32 *start, u32 *end, u32 *zeros, const u32 *keys, u32 n);

/* pairs[r] += pairs that round r has, r from 1: of m entries there are ceil(m / 2^(r-1)) at the start of round r. */
constexpr int MAX_ROUNDS = 31;
struct round_totals {
    unsigned long long pairs[MAX_ROUNDS + 1];
    u32 zeros, pad;
};
__global__ void __launch_bounds__(256)
    count_rounds(round_totals *totals, const u32 *start, const u32 *end, u32 n_keys, const u32 *zeros);

/* Exclusive sums over keys of (pairs of the round << 32 | entries after the round): block sums, then their scan in one block,
 * then the rest. sums: [ceil(n_keys / SCAN_BLOCK)]. */
constexpr int SCAN_BLOCK = 2048;
__global__ void __launch_bounds__(256) scan_blocks(u64 *sums, const u32 *start, const u32 *end, u32 n_keys, u32 round);
__global__ void __launch_bounds__(256) scan_sums(u64 *sums, u32 n);
__global__ void __launch_bounds__(256)
    scan_finish(u64 *out, const u64 *sums, const u32 *start, const u32 *end, u32 n_keys, u32 round);

/* One round of lists to pairs and the next lists. keys_in, refs_in: [n_in], first entry of key k at begin_in[k] (round 1:
 * start, with the zeros before it; later the low half of the last scan). */
__global__ void __launch_bounds__(256)
    plan_round(uint2 *pairs, u32 *keys_out, u32 *refs_out, const u32 *keys_in, const u32 *refs_in, u32 n_in,
               const u32 *start, const u32 *end, const u64 *scan_before, const u64 *scan, u32 round, u32 pool_first);

/* ---- bucket reduction ----
 * sum_b b S_b with b = hi 2^k + lo is sum_hi hi 2^k R_hi + sum_lo lo C_lo, R and C plain sums over rows and columns. */
struct reduction_shape {
    u32 windows, stride; /* stride = S = 2^(c-1) buckets a window, b = 1 .. S */
    u32 rows, columns;   /* H, K: powers of two, H K = S, b = hi K + lo */
    ZK_HD u32 row_entries() const { return windows * (rows - 1) * columns; }    /* rows 1 .. H-1 */
    ZK_HD u32 column_entries() const { return windows * (columns - 1) * rows; } /* columns 1 .. K-1 */
    ZK_HD u32 weighted() const { return rows + columns - 1; }                   /* a window: rows, columns, bucket S */
};
__global__ void __launch_bounds__(256) scatter_buckets(u32 *grid, const u32 *keys, const u32 *refs, u32 n);
/* entries: row by row, then column by column. */
__global__ void __launch_bounds__(256) grid_entries(u32 *entries, const u32 *grid, reduction_shape shape);

/* sums[w parts + part] = sum of weight * point over a slice of window w's weighted points. rows_first, columns_first: pool
 * index of R_1 of window 0 and C_1 of window 0. */
template <class F> struct sum_threads {
    static constexpr int value = sizeof(F) == sizeof(fp) ? 128 : 64;
};
template <class F> __device__ inline void block_sum(xyzz<F> *shared, xyzz<F> *out) {
    for (u32 half = blockDim.x / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) xyzz_add(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
    if (threadIdx.x == 0) *out = shared[0];
}
template <class F>
__global__ void __launch_bounds__(sum_threads<F>::value)
    weighted_sum(xyzz<F> *sums, point_source<F> source, const u32 *grid, reduction_shape shape, u32 rows_first,
                 u32 columns_first, u32 parts) {
    ZK_DYNAMIC_SHARED(xyzz<F>, shared);
    const u32 window = blockIdx.x / parts, e = blockIdx.x % parts * blockDim.x + threadIdx.x;
    const u32 H = shape.rows, K = shape.columns;
    u32 ref = REF_NONE, weight = 0;
    if (e < H - 1) {
        ref = REF_POOL | (rows_first + window * (H - 1) + e);
        weight = (e + 1) * K;
    } else if (e < H - 1 + K - 1) {
        const u32 lo = e - (H - 1);
        ref = REF_POOL | (columns_first + window * (K - 1) + lo);
        weight = lo + 1;
    } else if (e == H - 1 + K - 1) {
        ref = grid[window * shape.stride + shape.stride];
        weight = shape.stride;
    }
    const affine<F> p = source.get(ref);
    shared[threadIdx.x] = xyzz<F>::infinity();
    for (int bit = 31 - __clz(weight | 1); bit >= 0; bit--) {
        xyzz_double(shared[threadIdx.x]);
        if ((weight >> bit) & 1) xyzz_add_affine(shared[threadIdx.x], p);
    }
    block_sum(shared, &sums[blockIdx.x]);
}

/* Plain sum of the pool range [first, first + n) and of up to 32 more points. */
struct extra_refs {
    u32 n, ref[MAX_ROUNDS + 1];
};
template <class F>
__global__ void __launch_bounds__(sum_threads<F>::value)
    plain_sum(xyzz<F> *sums, point_source<F> source, const u32 *refs, u32 first, u32 n, extra_refs extra) {
    ZK_DYNAMIC_SHARED(xyzz<F>, shared);
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    shared[threadIdx.x] = xyzz<F>::infinity();
    for (u32 i = t; i < n; i += gridDim.x * blockDim.x)
        xyzz_add_affine(shared[threadIdx.x], source.get(refs ? refs[i] : REF_POOL | (first + i)));
    if (t < extra.n) xyzz_add_affine(shared[threadIdx.x], source.get(extra.ref[t]));
    block_sum(shared, &sums[blockIdx.x]);
}

/* ---- masked sums: the set bits as a list of refs ---- */
constexpr int MASK_WORDS = 1024; /* 64-bit words a block */
__global__ void __launch_bounds__(256) mask_count(u64 *sums, const u64 *bits, u32 n);
__global__ void __launch_bounds__(256) mask_refs(u32 *refs, const u64 *sums, const u64 *bits, u32 n);

/* Sorts pairs of 32-bit keys and values by the low `bits` bits, stable; the result is in the first or the second pair of
 * buffers, `selected` says which. With temp null only *temp_bytes is set. */
cuzk_status sort_pairs(int *selected, size_t *temp_bytes, void *temp, u32 *keys[2], u32 *values[2], size_t n, int bits,
                       cudaStream_t stream, cuzk_err *err);

} // namespace zk
#endif
