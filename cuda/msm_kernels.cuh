/* Kernels of the multi-scalar multiplication and the masked sum.
 *
 * A point is named by a ref: 30 bits of index, REF_POOL (an intermediate sum) or not (a base), REF_NEG (take -P; bases
 * only). REF_NONE is the point at infinity. All sums are trees of affine additions: a round adds disjoint pairs of refs
 * and appends the results to the pool.
 *
 * An affine addition needs 1/(x2 - x1): l = (y2 - y1)/(x2 - x1), x3 = l^2 - x1 - x2, y3 = l (x1 - x3) - y1. The
 * inversions of a round are shared (Montgomery's trick): the forward kernel multiplies the denominators of a thread's
 * pairs and keeps the running products, the invert kernel inverts the products of all threads, the backward kernel
 * walks back: 5M + 1S and an inversion shared by a hundred. Pairs of equal or opposite points or with infinity are set
 * aside and added one by one: no correctness depends on points being in general position.
 */
#ifndef ZK_CUDA_MSM_KERNELS_CUH
#define ZK_CUDA_MSM_KERNELS_CUH

#include "curve.cuh"
#include "device.cuh"
#include "hexagon.cuh"

namespace zk {

constexpr u32 REF_NEG = 0x80000000u, REF_POOL = 0x40000000u, REF_INDEX = 0x3fffffffu, REF_NONE = 0xffffffffu;
constexpr u32 MAX_POINTS = 1u << 30;
constexpr u32 BEYOND = 0xffffffffu; /* greater than any index or number of pairs */
constexpr int ADD_THREADS = 128;

/* Intermediate values lie in planes of 16 bytes: piece k of element i at plane[k stride + i], so that neighbouring
 * threads read and write neighbouring addresses. */
template <class P> ZK_HD mont<P> load_strided(const uint4 *p, size_t stride) {
    mont<P> r;
#pragma unroll
    for (int i = 0; i < P::W / 4; i++) {
        const uint4 v = p[i * stride];
        r.l[4 * i] = v.x;
        r.l[4 * i + 1] = v.y;
        r.l[4 * i + 2] = v.z;
        r.l[4 * i + 3] = v.w;
    }
    return r;
}
template <class P> ZK_HD void store_strided(uint4 *p, size_t stride, const mont<P> &a) {
#pragma unroll
    for (int i = 0; i < P::W / 4; i++)
        p[i * stride] = make_uint4(a.l[4 * i], a.l[4 * i + 1], a.l[4 * i + 2], a.l[4 * i + 3]);
}
template <class F> struct planes_of { /* 16-byte pieces of an element */
    static constexpr u32 value = sizeof(F) / 16;
};
ZK_HD void load_element(fp *r, const uint4 *p, size_t stride) { *r = load_strided<fp_params>(p, stride); }
ZK_HD void load_element(fp2 *r, const uint4 *p, size_t stride) {
    r->c0 = load_strided<fp_params>(p, stride);
    r->c1 = load_strided<fp_params>(p + planes_of<fp>::value * stride, stride);
}
ZK_HD void store_element(uint4 *p, size_t stride, const fp &a) { store_strided(p, stride, a); }
ZK_HD void store_element(uint4 *p, size_t stride, const fp2 &a) {
    store_strided(p, stride, a.c0);
    store_strided(p + planes_of<fp>::value * stride, stride, a.c1);
}

/* pool: [2 planes_of<F>][pool_size], x canonical, then y, for Fp in [0, 2p). base_x: null, or the x of the bases 64
 * bytes apart (Fp): memory is read in pieces of 64 bytes, and of the 96-byte points every other x lies across two.
 * Bases from number `split` on are at `more`, which is so far before them that it takes the same index. */
template <class F> struct point_source {
    const affine<F> *bases;
    const uint4 *pool;
    u32 pool_size;
    const uint4 *base_x;
    const affine<F> *more = nullptr;
    u32 split = BEYOND;

    struct place {
        const uint4 *p;
        size_t stride;
        ZK_HD F x() const {
            F r;
            load_element(&r, p, stride);
            return r;
        }
        ZK_HD F y() const {
            F r;
            load_element(&r, p + planes_of<F>::value * stride, stride);
            return r;
        }
    };
    ZK_HD place at(u32 ref) const {
        const size_t index = ref & REF_INDEX;
        return (ref & REF_POOL)
                   ? place{pool + index, pool_size}
                   : place{(const uint4 *)(index < split ? bases : more) + index * (2 * planes_of<F>::value), 1};
    }
    ZK_HD F x_of(u32 ref) const {
        if (sizeof(F) == sizeof(fp) && base_x && !(ref & REF_POOL))
            return place{base_x + (size_t)(ref & REF_INDEX) * 4, 1}.x();
        return at(ref).x();
    }
    ZK_HD bool is_infinity(u32 ref) const {
        return ref == REF_NONE || (at(ref).x().is_zero() && at(ref).y().is_zero());
    }
    __host__ __device__ inline affine<F> get(u32 ref) const {
        if (ref == REF_NONE) return affine<F>::infinity();
        const place p = at(ref);
        affine<F> r{p.x(), p.y()};
        if (ref & REF_POOL) r.y = canonical(r.y);
        if (ref & REF_NEG) r.y = neg(r.y);
        return r;
    }
};

/* What a round adds: pairs[i]; or, if that is null, the pool's neighbours first + 2i, first + 2i + 1 for i < near, and
 * for the others far + i and what lies `near` behind it. */
struct pair_list {
    const uint2 *pairs;
    u32 first;
    u32 near = BEYOND, far = 0;
    ZK_HD uint2 get(u32 i) const {
        if (pairs) return pairs[i];
        const u32 one = i < near ? first + 2 * i : far + i;
        return make_uint2(REF_POOL | one, REF_POOL | (one + (i < near ? 1 : near)));
    }
};

/* ---- additions ---- */

/* d = x2 - x1 + p of canonical x1, x2, in (0, 2p); whether the pair may be special: equal x or an x that is 0. One limb
 * of each tells nearly always. */
ZK_HD u32 low_limb(const fp &a) { return a.l[0]; }
ZK_HD u32 low_limb(const fp2 &a) { return a.c0.l[0]; }
template <class F> ZK_HD bool maybe_special(const F &d, const F &x1, const F &x2) {
    if (low_limb(d) != fp_params::mod(0) && low_limb(x1) != 0 && low_limb(x2) != 0) return false;
    return d.is_modulus() || x1.is_zero() || x2.is_zero();
}
/* y or p - y. Only bases are negated: rounds that add sums take no branch. */
ZK_HD void negate_if(fp *y, bool negate) {
    if (!negate) return;
    fp p;
#pragma unroll
    for (int i = 0; i < fp::W; i++) p.l[i] = fp_params::mod(i);
    u32 borrow;
    *y = sub_borrow(borrow, p, *y);
}
ZK_HD void negate_if(fp2 *y, bool negate) {
    negate_if(&y->c0, negate);
    negate_if(&y->c1, negate);
}

/* The pairs of a round in special position: found by the forward kernel, left out by the backward kernel. Where one
 * side is infinity the forward kernel writes the other one; the rest is added one by one by others, with an inversion
 * each: rare unless points repeat. */
struct special_list {
    u32 *count; /* 0 at the start of the round */
    u32 *pairs; /* [n_pairs] */
};

/* Writes the sum of a pair if a side of it is infinity. In pieces, for few registers. */
template <class F, bool TURN>
__device__ inline bool add_infinity(uint4 *out, const point_source<F> &source, uint2 pair) {
    const bool of_first = source.is_infinity(pair.y);
    if (!of_first && !source.is_infinity(pair.x)) return false;
    const u32 ref = of_first ? pair.x : pair.y;
    F v = F::zero();
    if (ref != REF_NONE) v = source.at(ref).x();
    if (TURN && !of_first) v = turn_x(v);
    store_element(out, source.pool_size, v);
    if (ref != REF_NONE) v = source.at(ref).y();
    negate_if(&v, ref != REF_NONE && (ref & REF_NEG));
    store_element(out + planes_of<F>::value * (size_t)source.pool_size, source.pool_size, v);
    return true;
}

/* prefix: planes of n_pairs, product: [n_threads]; thread t owns the pairs t, t + n_threads, ... out: as of
 * add_backward, null if sums of the round lie where points of it do. With TURN the sums are P + t(Q) for t(x, y) =
 * (turn_x(x), y), and the x of t(Q) wait in `out` for the backward kernel. */
template <class F, bool TURN>
__global__ void __launch_bounds__(ADD_THREADS)
    add_forward(point_source<F> source, pair_list list, u32 n_pairs, u32 n_threads, uint4 *prefix, F *product,
                special_list specials, uint4 *out) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n_threads) return;
    F acc = F::one();
    for (u32 i = t; i < n_pairs; i += n_threads) {
        const uint2 r = list.get(i);
        F d;
        bool special = r.x == REF_NONE || r.y == REF_NONE;
        if (!special) {
            const F x1 = source.x_of(r.x);
            F x2 = source.x_of(r.y);
            if (TURN) {
                x2 = turn_x(x2);
                store_element(out + i, source.pool_size, x2);
            }
            d = sub_plus<1>(x2, x1);
            special = maybe_special(d, x1, x2);
        }
        store_element(prefix + i, n_pairs, acc);
        if (!special)
            acc = mul_lazy(acc, d);
        else if (!out || !add_infinity<F, TURN>(out + i, source, r))
            specials.pairs[atomicAdd(specials.count, 1u)] = i;
    }
    store(&product[t], acc);
}

/* product[i] becomes 1/product[i], i < n; scratch: [n]. Thread t owns t, t + n_threads, ... */
template <class F> __device__ inline void invert_owned(F *product, F *scratch, u32 n, u32 n_threads, u32 t) {
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
template <class F> __global__ void __launch_bounds__(64) invert_products(F *product, F *scratch, u32 n, u32 n_threads) {
    invert_owned(product, scratch, n, n_threads, blockIdx.x * blockDim.x + threadIdx.x);
}

/* The special pairs t, t + n_threads, ... */
template <class F, bool TURN = false>
__device__ inline void add_specials(uint4 *out, const point_source<F> &source, const pair_list &list,
                                    const special_list &specials, u32 t, u32 n_threads) {
    const u32 n = *specials.count;
    const size_t stride = source.pool_size, y_at = planes_of<F>::value * stride;
    for (u32 k = t; k < n; k += n_threads) {
        const u32 i = specials.pairs[k];
        const uint2 r = list.get(i);
        const affine<F> a = source.get(r.x);
        affine<F> b = source.get(r.y), sum = affine<F>::infinity();
        if (TURN) b.x = turn_x(b.x);
        if (a.is_infinity()) {
            sum = b;
        } else if (b.is_infinity()) {
            sum = a;
        } else if (a.x != b.x || (a.y == b.y && !a.y.is_zero())) {
            F d = sub(b.x, a.x), m = sub(b.y, a.y); /* one x is 0: an ordinary addition */
            if (d.is_zero()) {
                d = dbl(a.y);
                m = sqr(a.x);
                m = add(dbl(m), m);
            }
            const F l = mul(m, inverse(d));
            sum.x = sub(sqr(l), add(a.x, b.x));
            sum.y = sub(mul(l, sub(a.x, sum.x)), a.y);
        }
        store_element(out + i, stride, sum.x);
        store_element(out + i + y_at, stride, sum.y);
    }
}

template <class F, bool TURN>
__global__ void __launch_bounds__(64)
    add_special(uint4 *out, point_source<F> source, pair_list list, special_list specials) {
    add_specials<F, TURN>(out, source, list, specials, blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x);
}

/* Between forward and backward, if no sum overwrites a point of the round: the first blocks invert the products, the
 * others add the special pairs. */
template <class F>
__global__ void __launch_bounds__(64) add_between(F *product, F *scratch, u32 n, u32 n_inverters, uint4 *out,
                                                  point_source<F> source, pair_list list, special_list specials) {
    const u32 blocks = (n_inverters + blockDim.x - 1) / blockDim.x;
    if (blockIdx.x < blocks)
        invert_owned(product, scratch, n, n_inverters, blockIdx.x * blockDim.x + threadIdx.x);
    else
        add_specials(out, source, list, specials, (blockIdx.x - blocks) * blockDim.x + threadIdx.x,
                     (gridDim.x - blocks) * blockDim.x);
}

/* out: the place of the first sum in the pool's planes */
template <class F, int MIN_BLOCKS, bool TURN>
__global__ void __launch_bounds__(ADD_THREADS, MIN_BLOCKS)
    add_backward(uint4 *out, point_source<F> source, pair_list list, u32 n_pairs, u32 n_threads, const uint4 *prefix,
                 const F *product) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n_threads || t >= n_pairs) return;
    const size_t stride = source.pool_size, y_at = planes_of<F>::value * stride;
    F inv = load(&product[t]);
    u32 i = t + (n_pairs - 1 - t) / n_threads * n_threads;
    for (;; i -= n_threads) {
        const uint2 r = list.get(i);
        if (r.x != REF_NONE && r.y != REF_NONE) {
            const F x1 = source.at(r.x).x();
            F x2;
            if (TURN)
                load_element(&x2, out + i, stride);
            else
                x2 = source.at(r.y).x();
            const F d = sub_plus<1>(x2, x1);
            if (!maybe_special(d, x1, x2)) {
                F l;
                load_element(&l, prefix + i, n_pairs);
                l = mul_lazy(inv, l); /* 1/d */
                inv = mul_lazy(inv, d);
                F y1 = source.at(r.x).y(), y2 = source.at(r.y).y();
                negate_if(&y1, r.x & REF_NEG);
                negate_if(&y2, r.y & REF_NEG);
                /* Fp: y1, y2 < 2p, the numerator < 4p, l < 1.6p. Fp2 keeps its parts below 2p, so y is canonical there.
                 */
                constexpr bool lazy = sizeof(F) == sizeof(fp);
                l = mul_lazy(l, sub_plus < lazy ? 2 : 1 > (y2, y1));
                F x3 = sub_plus<2>(sqr_lazy(l), add_raw(x1, x2)); /* < 4p */
                x3 = reduce_once<1>(reduce_once<2>(x3));
                store_element(out + i, stride, x3);
                F y3 = reduce_once<2>(sub_plus < lazy ? 2 : 1 > (mul_lazy(l, sub_plus<1>(x1, x3)), y1)); /* from < 4p */
                if (!lazy) y3 = reduce_once<1>(y3);
                store_element(out + i + y_at, stride, y3);
            }
        }
        if (i == t) break;
    }
}

/* Sums first, first + 1, ... of the pool as affine points. */
template <class F>
__global__ void __launch_bounds__(256) pool_to_points(affine<F> *out, point_source<F> source, u32 first, u32 n) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const affine<F> p = source.get(REF_POOL | (first + i));
    store(&out[i].x, p.x);
    store(&out[i].y, p.y);
}

/* x of each base, 64 bytes apart. */
__global__ void __launch_bounds__(256) spread_x(uint4 *base_x, const affine<fp> *bases, u32 n);

/* ---- scalars ---- */

/* The windows of an MSM: digit w has bits [offset[w], offset[w+1]) of scalar + bias, minus half its range: a signed
 * digit without carries. bias = sum of half ranges. |s| + bias must stay below 2^255 for the top digit to fit: with |s|
 * <= r/2 < 0.906 * 2^254 and windows of 4 bits and more it is below 1.98 * 2^254; windows of 3 bits would not do. */
constexpr int MAX_WINDOWS = 63;
struct window_plan {
    u32 n_windows;
    u32 offset[MAX_WINDOWS + 1]; /* offset[n_windows] = 255 */
    u32 bias[8];
};

ZK_HD fr bias_of(const window_plan &plan) {
    fr bias;
#pragma unroll
    for (int k = 0; k < 8; k++) bias.l[k] = plan.bias[k];
    return bias;
}
/* r - s, of a plain s < r. *larger: all ones if s is the larger of the two, else 0. */
ZK_HD fr opposite_of(u32 *larger, const fr &s) {
    fr r;
#pragma unroll
    for (int k = 0; k < 8; k++) r.l[k] = fr_params::mod(k);
    const fr other = sub_borrow(*larger, r, s);
    (void)sub_borrow(*larger, other, s);
    return other;
}

/* planes: [8][n], limb k of |s_i| + bias, where |s| = min(s, r - s); bit 31 of limb 7: s was negated. */
__global__ void __launch_bounds__(256) prepare_scalars(u32 *planes, const fr *scalars, u32 n, window_plan plan);

/* ---- bucket reduction ----
 * sum_b (b + 1) S_b with b = b0 + hi 2^k + lo is 2^k sum_hi (b0 / 2^k + hi) R_hi + sum_lo (lo + 1) C_lo, with R and C
 * the plain sums of rows and columns. With digits of hexagons a bucket weighs row + column z once the classes of
 * units are joined; rows and columns are padded, so that a few rounds halve them. */
struct line_shape {
    u32 windows;       /* ranges of buckets of different windows */
    u32 rows, columns; /* H, K of each window: powers of two, K = H or 2H; of hexagons any even numbers */
    u32 row0;          /* weight of the first row: b0 / K; of hexagons the row itself */
    u32 column0 = 1;   /* weight of the first column */
    ZK_HD u32 buckets() const { return windows * rows * columns; }
    ZK_HD u32 lines() const { return windows * (rows + columns); } /* (row, window), then (window, column) */
    ZK_HD u32 at(u32 window, u32 row, u32 column) const { return (row * windows + window) * columns + column; }
    ZK_HD void place(u32 at, u32 *window, u32 *row, u32 *column) const {
        *column = at % columns;
        *window = at / columns % windows;
        *row = at / columns / windows;
    }
};
/* Halving the lines: of buckets (row, window, column), in this order, neighbours in a row are added, and those of a
 * column half the rows apart: [buckets] pairs, half of them of rows, then of columns; likewise what either gives. Of
 * round 0 the buckets themselves lie at `first`, later the sums of the round before. */
ZK_HD pair_list line_round(u32 first, u32 n_pairs, u32 round) {
    const u32 half = n_pairs / 2;
    return pair_list{nullptr, first, half, round ? first + half : first - half};
}
/* Round 0 for buckets that `grid` has the refs of, by windows. pairs: [buckets] */
__global__ void __launch_bounds__(256) line_pairs(uint2 *pairs, const u32 *grid, line_shape shape);
/* Pairs that join the classes of units: of class 1 and class 2, or of class 0 and what joins these, which is in the
 * pool from `joined` on. grid: by the keys of h; pairs: [buckets], by rows and windows. */
__global__ void __launch_bounds__(256)
    join_pairs(uint2 *pairs, const u32 *grid, hexagons h, line_shape shape, bool last, u32 joined);

template <class F> struct sum_threads { static constexpr int value = sizeof(F) == sizeof(fp) ? 128 : 64; };
/* The sum over each `group` neighbouring threads, in the first of them. */
template <class F> __device__ inline void block_sum(xyzz<F> *shared, u32 group) {
    for (u32 half = group / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x % group < half) xyzz_add(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
}
/* The lines' sums once `rounds` rounds have halved them so often; what they left lies from pool index `first` on. */
constexpr u32 LINE_THREADS = 8;
template <class F>
__global__ void __launch_bounds__(sum_threads<F>::value)
    line_sums(xyzz<F> *lines, point_source<F> source, u32 first, line_shape shape, u32 rounds) {
    ZK_DYNAMIC_SHARED(xyzz<F>, shared);
    const u32 line = (blockIdx.x * blockDim.x + threadIdx.x) / LINE_THREADS, rows = shape.windows * shape.rows;
    const u32 in_row = shape.columns >> rounds, in_column = shape.rows >> rounds;
    const u32 n = line >= shape.lines() ? 0 : line < rows ? in_row : in_column;
    const u32 at = first + (line < rows ? line * in_row : rows * in_row + line - rows);
    const u32 step = line < rows ? 1 : shape.windows * shape.columns;
    shared[threadIdx.x] = xyzz<F>::infinity();
    for (u32 i = threadIdx.x % LINE_THREADS; i < n; i += LINE_THREADS)
        xyzz_add_affine(shared[threadIdx.x], source.get(REF_POOL | (at + i * step)));
    block_sum(shared, LINE_THREADS);
    if (threadIdx.x % LINE_THREADS == 0 && n) lines[line] = shared[threadIdx.x];
}
/* A window's weighted sums, bit by bit of the weights: part j sums the rows whose weight has bit j, for the bits of
 * rows, then likewise the columns. Several blocks share a part if lines are many: a multiprocessor is slow at adding
 * alone. The host puts them together, and is slow too. */
constexpr u32 BIT_LINES = 512; /* of a block, half of which have the bit */
ZK_HD u32 bit_blocks(const line_shape &s) { return (s.columns + BIT_LINES - 1) / BIT_LINES; }
ZK_HD u32 bits_in(u32 v) {
    u32 n = 0;
    while (v >> n) n++;
    return n;
}
ZK_HD u32 row_bits(const line_shape &s) { return bits_in(s.row0 + s.rows - 1); }
ZK_HD u32 column_bits(const line_shape &s) { return bits_in(s.column0 + s.columns - 1); }
template <class F>
__global__ void __launch_bounds__(sum_threads<F>::value)
    bit_sums(xyzz<F> *sums, const xyzz<F> *lines, line_shape shape) {
    ZK_DYNAMIC_SHARED(xyzz<F>, shared);
    const u32 of_rows = row_bits(shape), parts = of_rows + column_bits(shape);
    const u32 blocks = bit_blocks(shape), index = blockIdx.x / blocks, block = blockIdx.x % blocks;
    const u32 window = index / parts, part = index % parts;
    const bool row = part < of_rows;
    const u32 bit = row ? part : part - of_rows, n = row ? shape.rows : shape.columns;
    const u32 weight0 = row ? shape.row0 : shape.column0;
    lines += row ? window : shape.windows * shape.rows + window * n;
    const u32 step = row ? shape.windows : 1;
    shared[threadIdx.x] = xyzz<F>::infinity();
    for (u32 i = block * blockDim.x + threadIdx.x; i < n; i += blocks * blockDim.x)
        if (((weight0 + i) >> bit) & 1) xyzz_add(shared[threadIdx.x], lines[i * step]);
    block_sum(shared, blockDim.x);
    if (threadIdx.x == 0) sums[blockIdx.x] = shared[0];
}

/* Sums of a window's buckets in the folded half of the last digit's hexagon; all buckets of the range lie in the pool
 * from `first` on. */
template <class F>
__global__ void __launch_bounds__(sum_threads<F>::value)
    folded_sums(xyzz<F> *sums, point_source<F> source, u32 first, u32 window, hexagons h, line_shape shape) {
    ZK_DYNAMIC_SHARED(xyzz<F>, shared);
    shared[threadIdx.x] = xyzz<F>::infinity();
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < shape.rows * shape.columns; i += gridDim.x * blockDim.x) {
        const u32 row = i / shape.columns, column = i % shape.columns, of_set = shape.row0 + row;
        if (of_set < h.rows() && column < h.columns() && h.folded(of_set, column))
            xyzz_add_affine(shared[threadIdx.x], source.get(REF_POOL | (first + shape.at(window, row, column))));
    }
    block_sum(shared, blockDim.x);
    if (threadIdx.x == 0) sums[blockIdx.x] = shared[0];
}

/* Plain sum of n points, the pool's from `first` on or those of refs, and of n_more more of which more_refs tell. */
template <class F>
__global__ void __launch_bounds__(sum_threads<F>::value)
    plain_sum(xyzz<F> *sums, point_source<F> source, const u32 *refs, u32 first, u32 n, const u32 *more_refs,
              u32 n_more) {
    ZK_DYNAMIC_SHARED(xyzz<F>, shared);
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    shared[threadIdx.x] = xyzz<F>::infinity();
    for (u32 i = t; i < n; i += threads)
        xyzz_add_affine(shared[threadIdx.x], source.get(refs ? refs[i] : REF_POOL | (first + i)));
    for (u32 i = t; i < n_more; i += threads) xyzz_add_affine(shared[threadIdx.x], source.get(more_refs[i]));
    block_sum(shared, blockDim.x);
    if (threadIdx.x == 0) sums[blockIdx.x] = shared[0];
}

/* ---- masked sums: the set bits as a list of refs ---- */
constexpr int MASK_WORDS = 1024; /* 64-bit words a block */
__global__ void __launch_bounds__(256) mask_count(u64 *sums, const u64 *bits, u32 n);
__global__ void __launch_bounds__(256) scan_sums(u64 *sums, u32 n);
__global__ void __launch_bounds__(256) mask_refs(u32 *refs, const u64 *sums, const u64 *bits, u32 n);

} // namespace zk
#endif
