/* From scalars to sorted buckets and the pairs of every round; see msm_plan.cuh. Kernels in sort.cu. */
#ifndef ZK_CUDA_MSM_SORT_CUH
#define ZK_CUDA_MSM_SORT_CUH

#include "msm_plan.cuh"

namespace zk {

/* limbs: [8][n], limb k of s_i + bias, s_i taken between -r/2 and r/2. bin_count: [units][bins], += entries of each
 * bin. Shared memory: 4 units bins bytes. */
__global__ void __launch_bounds__(SORT_THREADS)
    center_scalars(u32 *limbs, u32 *bin_count, const fr *scalars, u32 n, msm_shape shape);
/* The same for hexagons. codes: [digits][n], of hexagon.cuh. */
__global__ void __launch_bounds__(SORT_THREADS)
    hexagon_codes(u32 *codes, u32 *bin_count, const fr *scalars, u32 n, msm_shape shape);
/* A block a unit: start ([units][bins + 1]) and cursor ([units][bins]) from counts. */
__global__ void __launch_bounds__(SORT_THREADS) bin_offsets(u32 *start, u32 *cursor, const u32 *count, u32 bins);

/* The windows of one unit. */
struct unit_window {
    u32 bit, width; /* of hexagons `bit` is the digit's number */
    u32 key;        /* number of the set's first bucket in the unit */
    u32 ref;        /* of point 0 in the window's plane */
};
struct unit_windows {
    u32 count;
    unit_window at[MAX_WINDOWS];
};
/* Entries (bucket, ref) of the nonzero digits to their bins. Grid: windows.count * tiles. cursor: [bins] of the unit.
 */
__global__ void __launch_bounds__(SORT_THREADS)
    split_bins(uint2 *entries, u32 *cursor, const u32 *limbs, u32 n, unit_windows windows, u32 tiles, u32 bin_shift);
__global__ void __launch_bounds__(SORT_THREADS)
    split_codes(uint2 *entries, u32 *cursor, const u32 *codes, u32 n, unit_windows windows, u32 tiles, u32 bin_shift);

/* A range of bins, or a part of one, of a unit's entries. */
struct sort_range {
    const uint2 *entries; /* of the unit */
    const u32 *bin_start; /* of the unit, [bins + 1] */
    u32 first, bins;      /* bins of the range */
    u32 begin, end;       /* entries of the range */
    u32 low_bits, sub_bits;
    ZK_HD void bin(u32 b, u32 *from, u32 *to) const {
        const u32 start = bin_start[first + b], stop = bin_start[first + b + 1];
        *from = start < begin ? begin : start;
        *to = stop > end ? end : stop;
    }
    u32 groups() const { return bins << sub_bits; }
};
/* group_count: [groups], zeroed before. Grid: bins * tiles, tiles of the fullest bin. */
__global__ void __launch_bounds__(SORT_THREADS) count_groups(u32 *group_count, sort_range range, u32 tiles);
/* A block a bin. group_start: [groups + 1], from the range's first entry; group_cursor: [groups]. */
__global__ void __launch_bounds__(SORT_THREADS)
    group_offsets(u32 *group_start, u32 *group_cursor, const u32 *group_count, sort_range range);
__global__ void __launch_bounds__(SORT_THREADS)
    split_groups(uint2 *entries, u32 *group_cursor, sort_range range, u32 tiles);

/* What every bucket of a range adds, for all rounds at once: of m entries there are ceil(m / 2^(r-1)) at the start of
 * round r = 1, 2, ..., and pairs of neighbours are added. The pairs of a round lie together in the list of pairs, their
 * sums at the same places of the pool. Rounds r (odd) and r + 1 share a region, one growing up, the other down: over
 * both a bucket has at most 3 m / (3 2^(r-1) + 1) pairs, so that 1.0628 places an entry are enough for all. */
constexpr int MAX_ROUNDS = 31;
struct round_places {
    u32 at[MAX_ROUNDS + 2]; /* of round r: the start of its region if r is odd, the end if it is even */
    u32 total;
    ZK_HD u32 first(u32 round, u32 from, u32 n) const { return round & 1 ? at[round] + from : at[round] - from - n; }
};
inline round_places places_of_rounds(u32 entries) {
    round_places p;
    p.at[0] = p.total = 0;
    for (u32 r = 1; r <= (u32)MAX_ROUNDS; r += 2) {
        p.at[r] = p.total;
        p.total += (u32)((u64)3 * entries / (3 * ((u64)1 << (r - 1)) + 1));
        p.at[r + 1] = p.total;
    }
    return p;
}
/* A block a group. grid: [groups << low_bits], the ref of each bucket's sum, REF_NONE for an empty bucket. round_count:
 * [MAX_ROUNDS + 1], zeroed before. sorted: [entries], for groups of more than SORT_TILE entries. */
__global__ void __launch_bounds__(SORT_THREADS)
    plan_groups(uint2 *pairs, u32 *grid, u32 *round_count, u32 *sorted, const uint2 *entries, const u32 *group_start,
                u32 low_bits, round_places places);

} // namespace zk
#endif
