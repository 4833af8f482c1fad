/* What the MSM needs and does not depend on the group: small kernels, and the choice of the group. */
#include "block_scan.cuh"
#include "msm_plan.cuh"

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
    u32 negated;
    const fr other = opposite_of(&negated, s);
    fr a;
#pragma unroll
    for (int k = 0; k < 8; k++) a.l[k] = negated ? other.l[k] : s.l[k];
    a = add_raw(a, bias_of(plan));
    a.l[7] |= negated & REF_NEG;
#pragma unroll
    for (int k = 0; k < 8; k++) planes[(size_t)k * n + i] = a.l[k];
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

__global__ void __launch_bounds__(256) line_pairs(uint2 *pairs, const u32 *grid, line_shape shape) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x, n = shape.buckets();
    if (i >= n) return;
    const uint2 places = line_round(0, n, 0).get(i);
    const auto ref = [&](u32 at) {
        u32 window, row, column;
        shape.place(at & REF_INDEX, &window, &row, &column);
        return grid[(window * shape.rows + row) * shape.columns + column];
    };
    pairs[i] = make_uint2(ref(places.x), ref(places.y));
}

__global__ void __launch_bounds__(256)
    join_pairs(uint2 *pairs, const u32 *grid, hexagons h, line_shape shape, bool last, u32 joined) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= shape.buckets()) return;
    u32 window, row, column;
    shape.place(i, &window, &row, &column);
    grid += (size_t)window << h.key_bits();
    pairs[i] = last ? make_uint2(grid[h.key(row, column, 0)], REF_POOL | (joined + i))
                    : make_uint2(grid[h.key(row, column, 1)], grid[h.key(row, column, 2)]);
}

} // namespace zk

extern "C" {

cuzk_status zk_cuda_bases_prepare(const zk_cuda_bases *bases, zk_cuda *d, cuzk_err *err) {
    return zk::guarded(err, "multiples of points", [&] {
        return bases->group ? zk::bases_prepare<zk::fp2>(bases, d, err) : zk::bases_prepare<zk::fp>(bases, d, err);
    });
}

void zk_cuda_msm_bytes(size_t *best, size_t *least, const zk_cuda *d, const zk_cuda_bases *bases) {
    if (bases->group)
        zk::msm_bytes<zk::fp2>(best, least, d, *bases);
    else
        zk::msm_bytes<zk::fp>(best, least, d, *bases);
}

void zk_cuda_msm_way_of(zk_cuda_msm_way *way, const zk_cuda *d, const zk_cuda_bases *bases) {
    if (bases->group)
        zk::msm_way<zk::fp2>(way, d, *bases);
    else
        zk::msm_way<zk::fp>(way, d, *bases);
}

void zk_cuda_msm_prefer(zk_cuda *d, int group, unsigned log2_n, zk_cuda_msm_way way) {
    if (log2_n < zk::MAX_LOG2_POINTS) d->preferred[group != 0][log2_n] = way;
}

void zk_cuda_streamed_bytes(size_t *best, size_t *least, const zk_cuda *d, int group, int kind, size_t n) {
    if (group)
        zk::streamed_bytes<zk::fp2>(best, least, d, kind, n);
    else
        zk::streamed_bytes<zk::fp>(best, least, d, kind, n);
}

void zk_cuda_masked_sum_bytes(size_t *best, size_t *least, const zk_cuda *d, int group, size_t n) {
    if (group)
        zk::masked_sum_bytes<zk::fp2>(best, least, d, n);
    else
        zk::masked_sum_bytes<zk::fp>(best, least, d, n);
}

} /* extern "C" */
