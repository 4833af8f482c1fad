/* The kernels of the MSM that do not depend on the group. */
#include "msm_kernels.cuh"

namespace zk {

__global__ void __launch_bounds__(256) spread_x(uint4 *base_x, const affine<fp> *bases, u32 n) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x; /* a 16-byte piece */
    const u32 point = i / 4, piece = i % 4;
    if (point < n && piece < 3) base_x[i] = ((const uint4 *)&bases[point])[piece];
}

__global__ void __launch_bounds__(256) prepare_scalars(u32 *planes, const fr *scalars, u32 n, window_plan plan) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const fr s = from_mont(load(&scalars[i]));
    u32 borrow;
    fr m;
#pragma unroll
    for (int k = 0; k < 8; k++) m.l[k] = fr_params::mod(k);
    const fr other = sub_borrow(borrow, m, s); /* r - s; s is the larger one if r - s < s */
    (void)sub_borrow(borrow, other, s);
    fr a, bias;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        a.l[k] = borrow ? other.l[k] : s.l[k];
        bias.l[k] = plan.bias[k];
    }
    a = add_raw(a, bias);
    a.l[7] |= borrow & 0x80000000u;
#pragma unroll
    for (int k = 0; k < 8; k++) planes[(size_t)k * n + i] = a.l[k];
}

__global__ void __launch_bounds__(256)
    window_digits(u32 *keys, u32 *refs, const u32 *planes, u32 n, window_plan plan, u32 first, u32 count, u32 stride) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const u32 negated = planes[(size_t)7 * n + i] & 0x80000000u;
    for (u32 w = 0; w < count; w++) {
        const u32 bit = plan.offset[first + w], c = plan.offset[first + w + 1] - bit, k = bit / 32, s = bit % 32;
        u32 x = planes[(size_t)k * n + i] >> s;
        if (s && k < 7) x |= planes[(size_t)(k + 1) * n + i] << (32 - s);
        x &= (1u << c) - 1;
        const u32 half = 1u << (c - 1);
        const u32 magnitude = x >= half ? x - half : half - x;
        keys[(size_t)w * n + i] = magnitude ? w * stride + magnitude : 0;
        refs[(size_t)w * n + i] = i | ((x < half ? REF_NEG : 0u) ^ negated);
    }
}

__global__ void __launch_bounds__(256) bucket_bounds(u32 *start, u32 *end, const u32 *keys, u32 n) {
    const u32 p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n) return;
    const u32 k = keys[p];
    if (k == 0) return;
    if (p == 0 || keys[p - 1] != k) start[k] = p;
    if (p + 1 == n || keys[p + 1] != k) end[k] = p + 1;
}

__global__ void __launch_bounds__(256)
    count_rounds(round_totals *totals, const u32 *start, const u32 *end, u32 n_keys) {
    __shared__ u32 pairs[MAX_ROUNDS + 1];
    if (threadIdx.x <= MAX_ROUNDS) pairs[threadIdx.x] = 0;
    __syncthreads();
    for (u32 k = blockIdx.x * blockDim.x + threadIdx.x; k < n_keys; k += gridDim.x * blockDim.x) {
        u32 m = end[k] - start[k];
        for (u32 r = 1; m > 1; r++) {
            atomicAdd(&pairs[r], m >> 1);
            m = (m + 1) >> 1;
        }
    }
    __syncthreads();
    if (threadIdx.x <= MAX_ROUNDS && pairs[threadIdx.x])
        atomicAdd(&totals->pairs[threadIdx.x], (unsigned long long)pairs[threadIdx.x]);
}

/* m entries after r rounds */
ZK_HD u32 entries_after(u32 m, u32 r) { return (u32)(((u64)m + ((u64)1 << r) - 1) >> r); }
ZK_HD u32 pairs_in(u32 m, u32 round) { return entries_after(m, round - 1) >> 1; }

/* Exclusive scan of one value a thread over 256 threads; total to all. shared: [256]; free for use again after the next
 * barrier. */
__device__ inline u64 block_scan(u64 *shared, u64 v, u64 *total) {
    const u32 t = threadIdx.x;
#if defined(__CUDA_ARCH__)
    const u32 lane = t % 32, warp = t / 32;
    u64 sum = v;
#pragma unroll
    for (u32 step = 1; step < 32; step *= 2) {
        const u64 other = __shfl_up_sync(0xffffffffu, sum, step);
        if (lane >= step) sum += other;
    }
    __syncthreads();
    if (lane == 31) shared[warp] = sum;
    __syncthreads();
    u64 before = 0, all = 0;
#pragma unroll
    for (u32 w = 0; w < 8; w++) {
        before += w < warp ? shared[w] : 0;
        all += shared[w];
    }
    *total = all;
    return before + sum - v;
#else /* the emulator has no shuffles */
    shared[t] = v;
    __syncthreads();
    for (u32 step = 1; step < 256; step *= 2) {
        const u64 other = t >= step ? shared[t - step] : 0;
        __syncthreads();
        shared[t] += other;
        __syncthreads();
    }
    *total = shared[255];
    const u64 r = shared[t] - v;
    __syncthreads();
    return r;
#endif
}

__global__ void __launch_bounds__(256) scan_blocks(u64 *sums, bucket_state buckets, u32 n_keys, u32 round) {
    __shared__ u64 shared[256];
    u64 v = 0, total;
    for (u32 j = 0; j < SCAN_BLOCK / 256; j++) {
        const u32 k = blockIdx.x * SCAN_BLOCK + j * 256 + threadIdx.x;
        if (k < n_keys) v += pairs_in(buckets.end[k] - buckets.start[k], round);
    }
    (void)block_scan(shared, v, &total);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

__global__ void __launch_bounds__(256) scan_sums(u64 *sums, u32 n) {
    __shared__ u64 shared[256];
    u64 carry = 0, total;
    for (u32 base = 0; base < n; base += 256) {
        const u32 i = base + threadIdx.x;
        const u64 v = i < n ? sums[i] : 0, e = block_scan(shared, v, &total);
        if (i < n) sums[i] = carry + e;
        carry += total;
    }
}

/* What a bucket adds in a round; pair q is entries 2q and 2q + 1. */
struct bucket_round {
    const u32 *refs; /* round 1: its entries */
    u32 sums;        /* later: number of sums of the round before, */
    u32 first;       /* the ref of the first, */
    u32 leftover;    /* and the entry after the last of them */
    __device__ u32 entry(u32 e) const { return refs ? refs[e] : e < sums ? first + e : leftover; }
};

constexpr u32 ALONE = 32; /* pairs that one thread writes; more are spread over the block */

__global__ void __launch_bounds__(256) plan_round(uint2 *pairs, bucket_state buckets, const u64 *sums, const u32 *refs,
                                                  u32 n_keys, u32 round, u32 pool_before, u32 pool_now) {
    __shared__ u64 shared[256];
    __shared__ bucket_round large[256];
    __shared__ u32 large_at[256], large_pairs[256], n_large;
    u64 carry = sums[blockIdx.x], total;
    for (u32 j = 0; j < SCAN_BLOCK / 256; j++) {
        const u32 k = blockIdx.x * SCAN_BLOCK + j * 256 + threadIdx.x;
        if (threadIdx.x == 0) n_large = 0;
        const u32 start = k < n_keys ? buckets.start[k] : 0, m = k < n_keys ? buckets.end[k] - start : 0;
        const u32 n = pairs_in(m, round);
        const u32 at = (u32)(carry + block_scan(shared, n, &total));
        carry += total;
        if (round == 1 && m == 1) buckets.grid[k] = refs[start];
        if (n) {
            const u32 entries = entries_after(m, round - 1);
            bucket_round b = {round == 1 ? refs + start : nullptr, 0, 0, 0};
            if (round > 1) {
                b.sums = entries_after(m, round - 2) >> 1;
                b.first = REF_POOL | (pool_before + buckets.first[k]);
                b.leftover = buckets.leftover[k];
            }
            buckets.first[k] = at;
            if (entries & 1) buckets.leftover[k] = b.entry(entries - 1);
            if (entries == 2) buckets.grid[k] = REF_POOL | (pool_now + at);
            if (n <= ALONE) {
                for (u32 q = 0; q < n; q++) pairs[at + q] = make_uint2(b.entry(2 * q), b.entry(2 * q + 1));
            } else {
                const u32 slot = atomicAdd(&n_large, 1u);
                large[slot] = b;
                large_at[slot] = at;
                large_pairs[slot] = n;
            }
        }
        __syncthreads();
        const u32 larger = n_large;
        for (u32 slot = 0; slot < larger; slot++) {
            const bucket_round b = large[slot];
            for (u32 q = threadIdx.x; q < large_pairs[slot]; q += 256)
                pairs[large_at[slot] + q] = make_uint2(b.entry(2 * q), b.entry(2 * q + 1));
        }
        __syncthreads();
    }
}

__global__ void __launch_bounds__(256) grid_entries(u32 *entries, const u32 *grid, reduction_shape shape) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x, rows = shape.row_entries();
    if (i >= rows + shape.column_entries()) return;
    u32 w, b;
    if (i < rows) {
        const u32 a_window = (shape.rows - 1) * shape.columns;
        w = i / a_window;
        b = shape.columns + i % a_window; /* row 1 starts at b = K */
    } else {
        const u32 j = i - rows, a_window = (shape.columns - 1) * shape.rows;
        w = j / a_window;
        const u32 lo = 1 + j % a_window / shape.rows, hi = j % shape.rows;
        b = hi * shape.columns + lo;
    }
    entries[i] = grid[w * shape.stride + b];
}

ZK_HD u64 mask_word(const u64 *bits, u32 word, u32 n) {
    if ((u64)word * 64 >= n) return 0;
    u64 v = bits[word];
    const u32 left = n - word * 64;
    return left < 64 ? v & (((u64)1 << left) - 1) : v;
}

__global__ void __launch_bounds__(256) mask_count(u64 *sums, const u64 *bits, u32 n) {
    __shared__ u64 shared[256];
    u64 v = 0, total;
    for (u32 j = 0; j < MASK_WORDS / 256; j++)
        v += (u64)__popcll(mask_word(bits, blockIdx.x * MASK_WORDS + j * 256 + threadIdx.x, n));
    (void)block_scan(shared, v, &total);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

__global__ void __launch_bounds__(256) mask_refs(u32 *refs, const u64 *sums, const u64 *bits, u32 n) {
    __shared__ u64 shared[256];
    u64 carry = sums[blockIdx.x], total;
    for (u32 j = 0; j < MASK_WORDS / 256; j++) {
        const u32 word = blockIdx.x * MASK_WORDS + j * 256 + threadIdx.x;
        u64 v = mask_word(bits, word, n);
        u64 at = carry + block_scan(shared, (u64)__popcll(v), &total);
        for (u32 bit = 0; v; bit++, v >>= 1)
            if (v & 1) refs[at++] = word * 64 + bit;
        carry += total;
    }
}

} // namespace zk
