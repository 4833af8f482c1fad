/* From scalars to sorted buckets and the pairs of every round: the kernels of msm_sort.cuh. */
#include "block_scan.cuh"
#include "msm_sort.cuh"

namespace zk {

/* Bits [bit, bit + width) of a value, from the limb of the first and, if they reach into it, the next. */
ZK_HD bool reaches_next(u32 bit, u32 width) { return bit % 32 + width > 32; }
ZK_HD u32 bits_of(u32 limb, u32 next, u32 bit, u32 width) {
    const u64 both = (u64)next << 32 | limb;
    return (u32)(both >> (bit % 32)) & ((1u << width) - 1);
}

__global__ void __launch_bounds__(SORT_THREADS)
    center_scalars(u32 *limbs, u32 *bin_count, const fr *scalars, u32 n, msm_shape shape) {
    ZK_DYNAMIC_SHARED(u32, counts);
    const u32 bins = shape.units << shape.bin_bits;
    for (u32 k = threadIdx.x; k < bins; k += SORT_THREADS) counts[k] = 0;
    __syncthreads();
    for (u32 i = blockIdx.x * SORT_THREADS + threadIdx.x; i < n; i += gridDim.x * SORT_THREADS) {
        const fr s = from_mont(load(&scalars[i]));
        u32 borrow;
        fr m, bias;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            m.l[k] = fr_params::mod(k);
            bias.l[k] = shape.windows.bias[k];
        }
        const fr other = sub_borrow(borrow, m, s); /* r - s */
        (void)sub_borrow(borrow, other, s);        /* is s the larger one? */
        u32 none;
        const fr below = sub_borrow(none, bias, other), above = add_raw(bias, s);
        u32 x[9];
#pragma unroll
        for (int k = 0; k < 8; k++) {
            x[k] = borrow ? below.l[k] : above.l[k];
            limbs[(size_t)k * n + i] = x[k];
        }
        x[8] = 0;
        for (u32 w = 0, set = 0; w < shape.windows.n_windows; w++) {
            const u32 bit = shape.windows.offset[w], width = shape.windows.offset[w + 1] - bit;
            const u32 digit = bits_of(x[bit / 32], x[bit / 32 + 1], bit, width), half = 1u << (width - 1);
            if (digit != half) {
                const u32 unit = set / shape.unit_sets, in_unit = set - unit * shape.unit_sets;
                const u32 magnitude = digit > half ? digit - half : half - digit;
                const u32 key = (in_unit << (shape.unit_width(unit) - 1)) + magnitude - 1;
                atomicAdd(&counts[(unit << shape.bin_bits) + (key >> shape.bin_shift(unit))], 1u);
            }
            if (++set == shape.sets) set = 0;
        }
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k < bins; k += SORT_THREADS)
        if (counts[k]) atomicAdd(&bin_count[k], counts[k]);
}

/* Exclusive scan of the OWN values of each of a block's threads; before[k] is of the thread's value k. */
__device__ inline void scan_owned(u32 *shared, u32 *before, const u32 *own, u32 *total) {
    before[0] = block_scan(shared, own[0] + own[1], total);
    before[1] = before[0] + own[0];
}

__global__ void __launch_bounds__(SORT_THREADS) bin_offsets(u32 *start, u32 *cursor, const u32 *count, u32 bins) {
    __shared__ u32 shared[SORT_THREADS];
    const u32 t = threadIdx.x, unit = blockIdx.x;
    u32 total, own[OWN], before[OWN];
    for (u32 k = 0; k < OWN; k++) own[k] = OWN * t + k < bins ? count[unit * bins + OWN * t + k] : 0;
    scan_owned(shared, before, own, &total);
    for (u32 k = 0; k < OWN; k++) {
        const u32 bin = OWN * t + k;
        if (bin >= bins) continue;
        start[unit * (bins + 1) + bin] = before[k];
        cursor[unit * bins + bin] = before[k];
    }
    if (t == 0) start[unit * (bins + 1) + bins] = total;
}

constexpr u32 NO_RANK = 0xffffffffu; /* of what is not there */

/* Moves the items that load(j, &item) gives (false: none) to out, each behind those that its bin's cursor has counted.
 * They go through shared memory, so that what a bin gets is written together. */
template <class Load>
__device__ inline void split_tile(uint2 *out, u32 *cursor, u32 shift, u32 mask, const Load &load) {
    __shared__ uint2 staged[SORT_TILE];
    __shared__ u32 count[SORT_SPLIT], offset[SORT_SPLIT], scan[SORT_THREADS];
    const u32 t = threadIdx.x;
    uint2 item[SORT_ITEMS];
    u32 rank[SORT_ITEMS], own[OWN], before[OWN], total;
    for (u32 k = 0; k < OWN; k++) count[OWN * t + k] = 0;
    __syncthreads();
#pragma unroll
    for (u32 j = 0; j < SORT_ITEMS; j++)
        rank[j] = load(j, &item[j]) ? atomicAdd(&count[(item[j].x >> shift) & mask], 1u) : NO_RANK;
    __syncthreads();
    for (u32 k = 0; k < OWN; k++) own[k] = count[OWN * t + k];
    scan_owned(scan, before, own, &total);
    for (u32 k = 0; k < OWN; k++) {
        count[OWN * t + k] = before[k]; /* from here on where the bin starts in the tile */
        offset[OWN * t + k] = (own[k] ? atomicAdd(&cursor[OWN * t + k], own[k]) : 0) - before[k];
    }
    __syncthreads();
#pragma unroll
    for (u32 j = 0; j < SORT_ITEMS; j++)
        if (rank[j] != NO_RANK) staged[count[(item[j].x >> shift) & mask] + rank[j]] = item[j];
    __syncthreads();
    for (u32 p = t; p < total; p += SORT_THREADS) {
        const uint2 e = staged[p];
        out[offset[(e.x >> shift) & mask] + p] = e;
    }
}

__global__ void __launch_bounds__(SORT_THREADS)
    split_bins(uint2 *entries, u32 *cursor, const u32 *limbs, u32 n, unit_windows windows, u32 tiles, u32 bin_shift) {
    const unit_window w = windows.at[blockIdx.x / tiles];
    const u32 from = blockIdx.x % tiles * SORT_TILE + threadIdx.x, half = 1u << (w.width - 1);
    const u32 *limb = limbs + (size_t)(w.bit / 32) * n;
    const bool two = reaches_next(w.bit, w.width);
    split_tile(entries, cursor, bin_shift, 0xffffffffu, [&](u32 j, uint2 *item) {
        const u32 i = from + j * SORT_THREADS;
        if (i >= n) return false;
        const u32 digit = bits_of(limb[i], two ? limb[(size_t)n + i] : 0, w.bit, w.width);
        if (digit == half) return false;
        item->x = w.key + (digit > half ? digit - half : half - digit) - 1;
        item->y = (w.ref + i) | (digit < half ? REF_NEG : 0u);
        return true;
    });
}

__global__ void __launch_bounds__(SORT_THREADS) count_groups(u32 *group_count, sort_range range, u32 tiles) {
    __shared__ u32 count[SORT_SPLIT];
    const u32 t = threadIdx.x, b = blockIdx.x / tiles, mask = (1u << range.sub_bits) - 1;
    u32 from, to;
    range.bin(b, &from, &to);
    from += blockIdx.x % tiles * SORT_TILE;
    if (from >= to) return;
    if (to - from > SORT_TILE) to = from + SORT_TILE;
    for (u32 k = 0; k < OWN; k++) count[OWN * t + k] = 0;
    __syncthreads();
    for (u32 p = from + t; p < to; p += SORT_THREADS)
        atomicAdd(&count[(range.entries[p].x >> range.low_bits) & mask], 1u);
    __syncthreads();
    for (u32 k = 0; k < OWN; k++)
        if (count[OWN * t + k]) atomicAdd(&group_count[(b << range.sub_bits) + OWN * t + k], count[OWN * t + k]);
}

__global__ void __launch_bounds__(SORT_THREADS)
    group_offsets(u32 *group_start, u32 *group_cursor, const u32 *group_count, sort_range range) {
    __shared__ u32 shared[SORT_THREADS];
    const u32 t = threadIdx.x, b = blockIdx.x, groups = 1u << range.sub_bits;
    u32 from, to, total, own[OWN], before[OWN];
    range.bin(b, &from, &to);
    for (u32 k = 0; k < OWN; k++)
        own[k] = range.sub_bits && OWN * t + k < groups ? group_count[(b << range.sub_bits) + OWN * t + k] : 0;
    scan_owned(shared, before, own, &total);
    for (u32 k = 0; k < OWN; k++) {
        if (OWN * t + k >= groups) continue;
        const u32 group = (b << range.sub_bits) + OWN * t + k;
        group_start[group] = group_cursor[group] = from - range.begin + before[k];
    }
    if (b + 1 == range.bins && t == 0) group_start[range.bins << range.sub_bits] = range.end - range.begin;
}

__global__ void __launch_bounds__(SORT_THREADS)
    split_groups(uint2 *entries, u32 *group_cursor, sort_range range, u32 tiles) {
    const u32 b = blockIdx.x / tiles;
    u32 from, to;
    range.bin(b, &from, &to);
    from += blockIdx.x % tiles * SORT_TILE;
    if (from >= to) return;
    from += threadIdx.x;
    split_tile(entries, group_cursor + (b << range.sub_bits), range.low_bits, (1u << range.sub_bits) - 1,
               [&](u32 j, uint2 *item) {
                   const u32 p = from + j * SORT_THREADS;
                   if (p >= to) return false;
                   *item = range.entries[p];
                   return true;
               });
}

/* ---- pairs ---- */

/* m entries after r rounds */
ZK_HD u32 entries_after(u32 m, u32 r) { return (u32)(((u64)m + ((u64)1 << r) - 1) >> r); }
ZK_HD u32 pairs_in(u32 m, u32 round) { return entries_after(m, round - 1) >> 1; }

/* What a bucket adds in a round; pair q is entries 2q and 2q + 1. */
struct bucket_round {
    const u32 *refs; /* round 1: its entries */
    u32 sums;        /* later: number of sums of the round before, */
    u32 first;       /* the ref of the first, */
    u32 leftover;    /* and the entry after the last of them */
    __device__ u32 entry(u32 e) const { return refs ? refs[e] : e < sums ? first + e : leftover; }
    __device__ uint2 pair(u32 q) const { return make_uint2(entry(2 * q), entry(2 * q + 1)); }
};

constexpr u32 ALONE = 32; /* pairs that one thread writes; more are spread over the block */
__global__ void __launch_bounds__(SORT_THREADS)
    plan_groups(uint2 *pairs, u32 *grid, u32 *round_count, u32 *sorted, const uint2 *entries, const u32 *group_start,
                u32 low_bits, round_places places) {
    __shared__ u32 local[SORT_TILE], count[SORT_SPLIT], scan[SORT_THREADS], round_first, n_large;
    __shared__ bucket_round large[SORT_SPLIT];
    __shared__ u32 large_at[SORT_SPLIT], large_pairs[SORT_SPLIT];
    const u32 t = threadIdx.x, buckets = 1u << low_bits, mask = buckets - 1;
    const u32 begin = group_start[blockIdx.x], m = group_start[blockIdx.x + 1] - begin;
    const bool fits = m <= SORT_TILE;
    u32 total;
    grid += (size_t)blockIdx.x << low_bits;
    entries += begin;
    sorted += begin;

    /* count, then place the refs by bucket */
    uint2 item[SORT_ITEMS];
    u32 rank[SORT_ITEMS];
    for (u32 k = 0; k < OWN; k++) count[OWN * t + k] = 0;
    __syncthreads();
    if (fits) {
#pragma unroll
        for (u32 j = 0; j < SORT_ITEMS; j++) {
            const u32 p = j * SORT_THREADS + t;
            item[j] = p < m ? entries[p] : make_uint2(0, 0);
            item[j].x &= mask;
            rank[j] = p < m ? atomicAdd(&count[item[j].x], 1u) : NO_RANK;
        }
    } else {
        for (u32 p = t; p < m; p += SORT_THREADS) atomicAdd(&count[entries[p].x & mask], 1u);
    }
    __syncthreads();
    u32 own[OWN], start[OWN];
    for (u32 k = 0; k < OWN; k++) own[k] = count[OWN * t + k];
    scan_owned(scan, start, own, &total);
    for (u32 k = 0; k < OWN; k++) count[OWN * t + k] = start[k];
    __syncthreads();
    if (fits) {
#pragma unroll
        for (u32 j = 0; j < SORT_ITEMS; j++)
            if (rank[j] != NO_RANK) local[count[item[j].x] + rank[j]] = item[j].y;
    } else {
        for (u32 p = t; p < m; p += SORT_THREADS) {
            const uint2 e = entries[p];
            sorted[atomicAdd(&count[e.x & mask], 1u)] = e.y;
        }
    }
    __syncthreads();
    const u32 *refs = fits ? local : sorted;

    u32 first[OWN], leftover[OWN];
    for (u32 k = 0; k < OWN; k++) {
        first[k] = leftover[k] = 0;
        if (OWN * t + k < buckets && own[k] < 2) grid[OWN * t + k] = own[k] ? refs[start[k]] : REF_NONE;
    }
    for (u32 round = 1; round <= (u32)MAX_ROUNDS; round++) {
        u32 n[OWN];
        for (u32 k = 0; k < OWN; k++) n[k] = pairs_in(own[k], round);
        u32 at = block_scan(scan, n[0] + n[1], &total);
        if (total == 0) break;
        if (t == 0) {
            round_first = places.first(round, atomicAdd(&round_count[round], total), total);
            n_large = 0;
        }
        __syncthreads();
        at += round_first;
        for (u32 k = 0; k < OWN; k++) {
            if (!n[k]) continue;
            const u32 left = entries_after(own[k], round - 1);
            bucket_round b = {round == 1 ? refs + start[k] : nullptr, 0, REF_POOL | first[k], leftover[k]};
            if (round > 1) b.sums = entries_after(own[k], round - 2) >> 1;
            if (left & 1) leftover[k] = b.entry(left - 1);
            if (left == 2) grid[OWN * t + k] = REF_POOL | at;
            if (n[k] <= ALONE) {
                for (u32 q = 0; q < n[k]; q++) pairs[at + q] = b.pair(q);
            } else {
                const u32 slot = atomicAdd(&n_large, 1u);
                large[slot] = b;
                large_at[slot] = at;
                large_pairs[slot] = n[k];
            }
            first[k] = at;
            at += n[k];
        }
        __syncthreads();
        for (u32 slot = 0; slot < n_large; slot++) {
            const bucket_round b = large[slot];
            for (u32 q = t; q < large_pairs[slot]; q += SORT_THREADS) pairs[large_at[slot] + q] = b.pair(q);
        }
    }
}

} // namespace zk
