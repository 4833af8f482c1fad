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

/* A block's counters of bins, in shared memory, and those of the whole launch. */
__device__ __forceinline__ void clear_counts(u32 *counts, u32 bins) {
    for (u32 k = threadIdx.x; k < bins; k += SORT_THREADS) counts[k] = 0;
}
__device__ __forceinline__ void add_counts(u32 *bin_count, const u32 *counts, u32 bins) {
    for (u32 k = threadIdx.x; k < bins; k += SORT_THREADS)
        if (counts[k]) atomicAdd(&bin_count[k], counts[k]);
}

__global__ void __launch_bounds__(SORT_THREADS)
    center_scalars(u32 *limbs, u32 *bin_count, const fr *scalars, u32 n, msm_shape shape) {
    ZK_DYNAMIC_SHARED(u32, counts);
    const u32 bins = shape.units << shape.bin_bits;
    clear_counts(counts, bins);
    __syncthreads();
    for (u32 i = blockIdx.x * SORT_THREADS + threadIdx.x; i < n; i += gridDim.x * SORT_THREADS) {
        const fr s = from_mont(load(&scalars[i]));
        u32 negative, none;
        const fr bias = bias_of(shape.windows), other = opposite_of(&negative, s);
        const fr below = sub_borrow(none, bias, other), above = add_raw(bias, s);
        u32 x[9];
#pragma unroll
        for (int k = 0; k < 8; k++) {
            x[k] = negative ? below.l[k] : above.l[k];
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
    add_counts(bin_count, counts, bins);
}

__global__ void __launch_bounds__(SORT_THREADS)
    hexagon_codes(u32 *codes, u32 *bin_count, const fr *scalars, u32 n, msm_shape shape) {
    ZK_DYNAMIC_SHARED(u32, counts);
    const u32 bins = shape.units << shape.bin_bits, shift = shape.bin_shift(0), set_bits = shape.hex.key_bits();
    __shared__ u32 first_bin[MAX_HEXAGONS], first_key[MAX_HEXAGONS]; /* of a digit: its unit's bins, its keys there */
    if (threadIdx.x < shape.hex.digits) {
        const u32 unit = threadIdx.x / shape.unit_sets;
        first_bin[threadIdx.x] = unit << shape.bin_bits;
        first_key[threadIdx.x] = (threadIdx.x - unit * shape.unit_sets) << set_bits;
    }
    clear_counts(counts, bins);
    __syncthreads();
    for (u32 i = blockIdx.x * SORT_THREADS + threadIdx.x; i < n; i += gridDim.x * SORT_THREADS) {
        hexagon_digits(load(&scalars[i]), shape.hex, [&](u32 digit, u32 code) {
            codes[(size_t)digit * n + i] = code;
            if (code == HEXAGON_NONE) return;
            const u32 key = first_key[digit] + (code & ~HEXAGON_NEGATIVE);
            atomicAdd(&counts[first_bin[digit] + (key >> shift)], 1u);
        });
    }
    __syncthreads();
    add_counts(bin_count, counts, bins);
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
constexpr u32 ALL_BITS = 0xffffffffu;

/* Moves the items that load(j, &item) gives (false: none) to out, each behind those that its bin's cursor has counted;
 * the bin is (key >> shift) & mask. They go through shared memory, so that what a bin gets is written together. */
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
    for (u32 j = 0; j < SORT_ITEMS; j++) rank[j] = load(j, &item[j]) ? 0 : NO_RANK; /* all before one is waited for */
#pragma unroll
    for (u32 j = 0; j < SORT_ITEMS; j++)
        if (rank[j] != NO_RANK) rank[j] = atomicAdd(&count[(item[j].x >> shift) & mask], 1u);
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
    split_tile(entries, cursor, bin_shift, ALL_BITS, [&](u32 j, uint2 *item) {
        const u32 i = from + j * SORT_THREADS;
        if (i >= n) return false;
        const u32 digit = bits_of(limb[i], two ? limb[(size_t)n + i] : 0, w.bit, w.width);
        if (digit == half) return false;
        item->x = w.key + (digit > half ? digit - half : half - digit) - 1;
        item->y = (w.ref + i) | (digit < half ? REF_NEG : 0u);
        return true;
    });
}

__global__ void __launch_bounds__(SORT_THREADS)
    split_codes(uint2 *entries, u32 *cursor, const u32 *codes, u32 n, unit_windows windows, u32 tiles, u32 bin_shift) {
    const unit_window w = windows.at[blockIdx.x / tiles];
    const u32 from = blockIdx.x % tiles * SORT_TILE + threadIdx.x;
    codes += (size_t)w.bit * n;
    split_tile(entries, cursor, bin_shift, ALL_BITS, [&](u32 j, uint2 *item) {
        const u32 i = from + j * SORT_THREADS;
        if (i >= n) return false;
        const u32 code = codes[i];
        if (code == HEXAGON_NONE) return false;
        item->x = w.key + (code & ~HEXAGON_NEGATIVE);
        item->y = (w.ref + i) | (code & HEXAGON_NEGATIVE);
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
    u32 key[SORT_ITEMS];
#pragma unroll
    for (u32 j = 0; j < SORT_ITEMS; j++) {
        const u32 p = from + j * SORT_THREADS + t;
        key[j] = p < to ? range.entries[p].x : 0;
    }
#pragma unroll
    for (u32 j = 0; j < SORT_ITEMS; j++)
        if (from + j * SORT_THREADS + t < to) atomicAdd(&count[(key[j] >> range.low_bits) & mask], 1u);
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
ZK_HD u32 entries_after(u32 m, u32 r) { return (m >> r) + ((m & ((1u << r) - 1)) != 0); }
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
/* A thread's bucket between rounds. */
struct bucket_state {
    u32 m;        /* entries */
    u32 first;    /* place of the first sum of the last round */
    u32 leftover; /* the entry after these sums, if there is one */
    /* What it adds in a round, its pairs from place `at` on; there are some. */
    __device__ bucket_round next(u32 round, u32 at, u32 *ref, const u32 *refs) {
        const u32 left = entries_after(m, round - 1);
        bucket_round b = {refs, 0, REF_POOL | first, leftover};
        if (!refs) b.sums = entries_after(m, round - 2) >> 1;
        if (left & 1) leftover = b.entry(left - 1);
        if (left == 2) *ref = REF_POOL | at;
        first = at;
        return b;
    }
};

/* So many rounds are planned at a time, each with 16 bits of a word for its pairs, which are gathered in shared memory.
 */
constexpr u32 ROUNDS_TOGETHER = 4, ROUND_BITS = 64 / ROUNDS_TOGETHER;
static_assert(SORT_TILE < 1u << ROUND_BITS, "the pairs of a round fit its bits");
ZK_HD u32 of_round(u64 word, u32 q) { return (u32)(word >> q * ROUND_BITS) & ((1u << ROUND_BITS) - 1); }

/* count: entries of each bucket, then of groups that fit where its pairs of round 1 are staged (upper half) and how
 * many they are, of others where its entries start in `sorted`. */
struct plan_shared {
    u64 scan[SORT_THREADS];
    u32 count[SORT_SPLIT];
    u32 round_first[ROUNDS_TOGETHER]; /* place in the list of the first pair of each round */
    u32 single[SORT_SPLIT];           /* the last entry of buckets with an odd number of them */
    union {
        uint2 staged[SORT_TILE];
        struct {
            bucket_round round[SORT_SPLIT];
            u32 at[SORT_SPLIT], pairs[SORT_SPLIT], n;
        } large;
    };
};

/* ---- a group that fits shared memory: the pairs of round 1 are its entries, placed by bucket ---- */

/* A thread's entries: t, t + SORT_THREADS, ... */
struct group_entries {
    u32 ref[SORT_ITEMS];
    u32 where[SORT_ITEMS]; /* its number in its bucket << LOW_BITS, and the bucket; NO_RANK: none is there */
};

__device__ __forceinline__ void count_entries(group_entries &mine, plan_shared &shared, const uint2 *entries, u32 m,
                                              u32 buckets) {
#pragma unroll
    for (u32 j = 0; j < SORT_ITEMS; j++) { /* all before one is waited for */
        const u32 p = j * SORT_THREADS + threadIdx.x;
        const uint2 e = p < m ? entries[p] : make_uint2(NO_RANK, 0);
        mine.where[j] = e.x;
        mine.ref[j] = e.y;
    }
#pragma unroll
    for (u32 j = 0; j < SORT_ITEMS; j++) {
        if (j * SORT_THREADS + threadIdx.x >= m) continue;
        const u32 bucket = mine.where[j] & (buckets - 1);
        mine.where[j] = atomicAdd(&shared.count[bucket], 1u) << LOW_BITS | bucket;
    }
}

/* Stages the pairs of round 1. at: of the thread's first pair among them. */
__device__ __forceinline__ void stage_entries(plan_shared &shared, const group_entries &mine, const bucket_state *own,
                                              u32 at) {
    for (u32 k = 0; k < OWN; k++) {
        shared.count[OWN * threadIdx.x + k] = at << 16 | own[k].m / 2;
        at += own[k].m / 2;
    }
    __syncthreads();
#pragma unroll
    for (u32 j = 0; j < SORT_ITEMS; j++) {
        if (mine.where[j] == NO_RANK) continue;
        const u32 bucket = mine.where[j] & (SORT_SPLIT - 1), rank = mine.where[j] >> LOW_BITS;
        const u32 place = shared.count[bucket];
        if (rank < 2 * (place & 0xffff))
            ((u32 *)shared.staged)[2 * (place >> 16) + rank] = mine.ref[j];
        else
            shared.single[bucket] = mine.ref[j];
    }
}

/* Stages the pairs of the thread's buckets in one round, from place `staged` on (those of round 1 are there), and notes
 * what these buckets come to. at: place of their first pair in the list. */
__device__ __forceinline__ void stage_round(plan_shared &shared, bucket_state *own, u32 *grid, u32 buckets, u32 round,
                                            u32 staged, u32 at) {
    for (u32 k = 0; k < OWN; k++) {
        const u32 bucket = OWN * threadIdx.x + k, here = pairs_in(own[k].m, round);
        if (round == 1) {
            own[k].leftover = shared.single[bucket];
            own[k].first = at;
            if (own[k].m < 2 && bucket < buckets) grid[bucket] = own[k].m ? own[k].leftover : REF_NONE;
            if (own[k].m == 2) grid[bucket] = REF_POOL | at;
        } else if (here) {
            const bucket_round b = own[k].next(round, at, &grid[bucket], nullptr);
            for (u32 p = 0; p < here; p++) shared.staged[staged + p] = b.pair(p);
        }
        staged += here;
        at += here;
    }
}

/* n pairs, those of one round behind those of the round before: n_pairs in each. */
__device__ __forceinline__ void write_staged(uint2 *pairs, const plan_shared &shared, u64 n_pairs, u32 n) {
    for (u32 p = threadIdx.x; p < n; p += SORT_THREADS) {
        u32 q = 0, in_round = p;
        while (in_round >= of_round(n_pairs, q)) in_round -= of_round(n_pairs, q++);
        pairs[shared.round_first[q] + in_round] = shared.staged[p];
    }
}

__device__ inline void plan_small_group(plan_shared &shared, uint2 *pairs, u32 *grid, u32 *round_count,
                                        const uint2 *entries, u32 m, u32 buckets, const round_places &places) {
    const u32 t = threadIdx.x;
    group_entries mine;
    count_entries(mine, shared, entries, m, buckets);
    __syncthreads();
    bucket_state own[OWN];
    for (u32 k = 0; k < OWN; k++) own[k] = bucket_state{shared.count[OWN * t + k], 0, 0};
#pragma unroll 1
    for (u32 from = 1; from <= (u32)MAX_ROUNDS; from += ROUNDS_TOGETHER) {
        u64 n = 0, sum; /* pairs in each of these rounds, of the thread and of the block */
        for (u32 q = 0; q < ROUNDS_TOGETHER; q++)
            for (u32 k = 0; k < OWN; k++) n += (u64)pairs_in(own[k].m, from + q) << q * ROUND_BITS;
        const u64 before = block_scan(shared.scan, n, &sum);
        if (t < ROUNDS_TOGETHER) {
            const u32 here = of_round(sum, t);
            if (here) shared.round_first[t] = places.first(from + t, atomicAdd(&round_count[from + t], here), here);
        }
        if (from == 1) stage_entries(shared, mine, own, of_round(before, 0));
        __syncthreads();
        u32 start = 0; /* of the round in what is staged */
#pragma unroll 1
        for (u32 q = 0; q < ROUNDS_TOGETHER; start += of_round(sum, q), q++)
            stage_round(shared, own, grid, buckets, from + q, start + of_round(before, q),
                        shared.round_first[q] + of_round(before, q));
        __syncthreads();
        write_staged(pairs, shared, sum, start);
        if (of_round(sum, ROUNDS_TOGETHER - 1) == 0) break;
    }
}

/* ---- a group that does not fit: its entries are sorted in global memory ---- */

/* start, count: of the thread's buckets in `sorted`. */
__device__ __forceinline__ void sort_large_group(u32 *sorted, u32 *start, u32 *count, plan_shared &shared,
                                                 const uint2 *entries, u32 m, u32 buckets) {
    const u32 t = threadIdx.x;
    u32 total;
    for (u32 p = t; p < m; p += SORT_THREADS) atomicAdd(&shared.count[entries[p].x & (buckets - 1)], 1u);
    __syncthreads();
    for (u32 k = 0; k < OWN; k++) count[k] = shared.count[OWN * t + k];
    scan_owned((u32 *)shared.scan, start, count, &total);
    for (u32 k = 0; k < OWN; k++) shared.count[OWN * t + k] = start[k];
    __syncthreads();
    for (u32 p = t; p < m; p += SORT_THREADS) {
        const uint2 e = entries[p];
        sorted[atomicAdd(&shared.count[e.x & (buckets - 1)], 1u)] = e.y;
    }
    __syncthreads();
}

constexpr u32 ALONE = 32; /* pairs that one thread writes; more are spread over the block */
__device__ inline void plan_large_group(plan_shared &shared, uint2 *pairs, u32 *grid, u32 *round_count, u32 *sorted,
                                        const uint2 *entries, u32 m, u32 buckets, const round_places &places) {
    const u32 t = threadIdx.x;
    u32 count[OWN], start[OWN], total;
    sort_large_group(sorted, start, count, shared, entries, m, buckets);
    bucket_state own[OWN];
    for (u32 k = 0; k < OWN; k++) {
        own[k] = bucket_state{count[k], 0, 0};
        if (OWN * t + k < buckets && count[k] < 2) grid[OWN * t + k] = count[k] ? sorted[start[k]] : REF_NONE;
    }
    auto &large = shared.large;
    for (u32 round = 1; round <= (u32)MAX_ROUNDS; round++) {
        u32 n[OWN];
        for (u32 k = 0; k < OWN; k++) n[k] = pairs_in(own[k].m, round);
        u32 at = block_scan((u32 *)shared.scan, n[0] + n[1], &total);
        if (total == 0) break;
        if (t == 0) {
            shared.round_first[0] = places.first(round, atomicAdd(&round_count[round], total), total);
            large.n = 0;
        }
        __syncthreads();
        at += shared.round_first[0];
        for (u32 k = 0; k < OWN; k++) {
            if (!n[k]) continue;
            const bucket_round b = own[k].next(round, at, &grid[OWN * t + k], round == 1 ? sorted + start[k] : nullptr);
            if (n[k] <= ALONE) {
                for (u32 q = 0; q < n[k]; q++) pairs[at + q] = b.pair(q);
            } else {
                const u32 slot = atomicAdd(&large.n, 1u);
                large.round[slot] = b;
                large.at[slot] = at;
                large.pairs[slot] = n[k];
            }
            at += n[k];
        }
        __syncthreads();
        for (u32 slot = 0; slot < large.n; slot++) {
            const bucket_round b = large.round[slot];
            for (u32 q = t; q < large.pairs[slot]; q += SORT_THREADS) pairs[large.at[slot] + q] = b.pair(q);
        }
    }
}

__global__ void __launch_bounds__(SORT_THREADS, 4)
    plan_groups(uint2 *pairs, u32 *grid, u32 *round_count, u32 *sorted, const uint2 *entries, const u32 *group_start,
                u32 low_bits, round_places places) {
    __shared__ plan_shared shared;
    const u32 begin = group_start[blockIdx.x], m = group_start[blockIdx.x + 1] - begin;
    grid += (size_t)blockIdx.x << low_bits;
    for (u32 k = 0; k < OWN; k++) shared.count[OWN * threadIdx.x + k] = 0;
    __syncthreads();
    if (m <= SORT_TILE)
        plan_small_group(shared, pairs, grid, round_count, entries + begin, m, 1u << low_bits, places);
    else
        plan_large_group(shared, pairs, grid, round_count, sorted + begin, entries + begin, m, 1u << low_bits, places);
}

} // namespace zk
