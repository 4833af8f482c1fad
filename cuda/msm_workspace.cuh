/* What the MSM of one group takes of device memory, and the choice of a way that fits; msm_plan.cuh says how it is cut
 * up, msm_lanes.cuh does it. */
#ifndef ZK_CUDA_MSM_WORKSPACE_CUH
#define ZK_CUDA_MSM_WORKSPACE_CUH

#include "msm_impl.cuh"
#include "msm_sort.cuh"

namespace zk {

/* ---- lines: rows and columns of buckets ---- */

/* Rounds of line sums go on while they have so many pairs; what is left is summed by mixed additions, whose latency is
 * less than that of the rounds. */
#if defined(ZK_CUDA_EMULATE)
constexpr u32 LINE_ROUND_PAIRS = 1u << 6;
#else
constexpr u32 LINE_ROUND_PAIRS = 1u << 16;
#endif

/* Rows and columns of 2^log2 buckets, at least 4. */
inline line_shape lines_of(u32 windows, u32 log2, u32 first) {
    line_shape s;
    s.windows = windows;
    s.columns = 1u << (log2 + 1) / 2;
    s.rows = 1u << log2 / 2;
    s.row0 = first / s.columns;
    return s;
}

inline u32 log2_of(u32 power) { return 31 - (u32)__builtin_clz(power); }
/* By ratio: from 2^(k-1/2) up to 2^(k+1/2) it is k. 0 < n < MAX_POINTS */
inline u32 log2_nearest(size_t n) {
    const u32 k = 63 - (u32)__builtin_clzll(n);
    return (double)n * (double)n >= 2.0 * (double)((u64)1 << 2 * k) ? k + 1 : k;
}

/* The buckets of hexagons in rows [first, first + rows_room) of each of `windows` sets, padded for the number of rounds
 * that is returned. There are two rows of room or more. */
inline u32 hexagon_lines(line_shape *s, const hexagons &h, u32 windows, u32 first, u32 rows_room) {
    const u32 left = first < h.rows() ? h.rows() - first : 1, rows = left < rows_room ? left : rows_room;
    u32 rounds = 1;
    while (rows >> (rounds + 1) && (u64)windows * rows * h.columns() >> rounds >= LINE_ROUND_PAIRS) rounds++;
    const u32 unit = 1u << rounds;
    s->windows = windows;
    s->rows = (rows + unit - 1) / unit * unit;
    s->columns = (h.columns() + unit - 1) / unit * unit;
    s->row0 = first;
    s->column0 = 0;
    return rounds;
}
/* Blocks that sum the folded half of the last digit's buckets; the host adds theirs. One a multiprocessor of an H200,
 * fewer where a block would have less than FOLDED_SHARE buckets. */
constexpr u32 FOLDED_BLOCKS = 132, FOLDED_SHARE = 1024;
inline u32 folded_blocks(const line_shape &s) {
    const u32 blocks = ceil_div(s.rows * s.columns, FOLDED_SHARE);
    return blocks < FOLDED_BLOCKS ? blocks : FOLDED_BLOCKS;
}
constexpr u32 NO_SET = 0xffffffffu;

/* ---- memory ---- */

/* What a lane works with, for a range of up to c.capacity entries and c.buckets buckets. Host pointers: parts of the
 * lane's pinned buffer. */
template <class F> struct msm_lane {
    add_chain<F> chain;
    uint2 *pairs;      /* [places_of_rounds(c.capacity).total], of all rounds; their sums have the same places */
    uint2 *split;      /* [c.capacity], entries by groups; it and `sorted` lie where the rounds have their prefix */
    u32 *sorted;       /* [c.capacity], of plan_groups */
    u32 *grid;         /* [c.buckets], the ref of each bucket's sum */
    uint2 *line_first; /* [summed_buckets()], pairs that join classes, or of the lines' first round */
    xyzz<F> *lines;    /* sums of rows, then of columns, see line_sums */
    xyzz<F> *sums;     /* of lines by bits of their numbers, see bit_sums, then of what is folded */
    u32 *group_count, *group_start, *group_cursor; /* [groups], [groups + 1], [groups] */
    u32 *round_count;                              /* [MAX_ROUNDS + 1], pairs of each round; host_rounds is a copy */
    u32 *host_rounds;
    xyzz<F> *host_sums[2]; /* copies of `sums` */
    msm_range range;
    struct {
        bool there;
        u32 set;    /* the first of the range's sets */
        u32 folded; /* the set of which folded_blocks sums follow, NO_SET */
        line_shape shape;
    } result[2]; /* what host_sums hold, or will hold once the stream comes to it */
    u32 turn;    /* which of them is next */
};

/* For slices of c.slice points, of a shape s. */
template <class F> struct msm_workspace {
    u32 *limbs;     /* [8][points] limbs; of hexagons [s.hex.digits][points] codes */
    u32 *bin_count; /* [units][bins], as bin_cursor */
    u32 *bin_start; /* [units][bins + 1] */
    u32 *bin_cursor;
    uint4 *base_x;     /* [4 points], see point_source; null: there is none */
    uint2 *entries[2]; /* [windows of unit 0][points], entries of a unit by bins; c.buffers of them */
    msm_lane<F> lanes[MAX_LANES];
};

/* Pinned buffers of lanes: starts of bins (of lane 0's), rounds, two times sums. */
constexpr size_t PINNED_BINS = 128 << 10, PINNED_ROUNDS = 1 << 10;
constexpr size_t PINNED_SUMS = (PINNED_BYTES - PINNED_BINS - PINNED_ROUNDS) / 2 / 512 * 512;

/* Buckets of a range that are summed by lines: a quarter of hexagons' keys, whose other bits are the class. */
inline u32 summed_buckets(const msm_shape &s, const msm_config &c) {
    return s.is_hexagons() ? c.buckets / 4 : c.buckets;
}

/* The most lines and parts of sums that a range of a shape can have. */
inline void most_lines(u32 *lines, u32 *parts, const msm_shape &s, const msm_config &c) {
    const u32 set = 1u << (s.width - 1), log2 = log2_of(c.buckets < set ? c.buckets : set);
    const u32 windows = c.buckets < set ? 1 : c.buckets / set;
    if (s.is_hexagons()) { /* padded they fit the powers of two of a key */
        *lines = windows * ((1u << s.hex.row_bits) + (1u << s.hex.column_bits));
        const u32 blocks = ((1u << s.hex.column_bits) + BIT_LINES - 1) / BIT_LINES;
        *parts = blocks * windows * (s.hex.row_bits + s.hex.column_bits) + FOLDED_BLOCKS;
        return;
    }
    const line_shape l = lines_of(windows, log2, 0);
    *lines = l.lines();
    /* see bit_sums: a row has a bit for 2^(width-1) / columns, a column one more */
    *parts = bit_blocks(l) * windows * s.width;
}

template <class F>
void lane_carve(msm_lane<F> *l, carver &memory, const zk_cuda *d, const msm_shape &s, const msm_config &c) {
    const size_t groups = c.buckets >> s.low_bits;
    const u32 places = places_of_rounds(c.capacity).total, buckets = summed_buckets(s, c);
    const size_t most_pairs = c.capacity / 2 > buckets ? c.capacity / 2 : buckets;
    const size_t prefix_bytes = most_pairs * sizeof(F), sort_bytes = c.capacity * (sizeof(uint2) + sizeof(u32));
    u32 lines, parts;
    char *prefix;
    most_lines(&lines, &parts, s, c);
    l->chain.pool_size = (places > buckets ? places : buckets) + (s.is_hexagons() ? 2 : 1) * buckets;
    chain_carve(l->chain, memory, d, most_pairs);
    memory.take(&l->pairs, places);
    memory.take(&prefix, prefix_bytes > sort_bytes ? prefix_bytes : sort_bytes);
    l->chain.prefix = (uint4 *)prefix;
    l->split = (uint2 *)prefix;
    l->sorted = prefix ? (u32 *)(l->split + c.capacity) : nullptr;
    memory.take(&l->grid, c.buckets);
    memory.take(&l->line_first, buckets);
    memory.take(&l->lines, lines);
    memory.take(&l->sums, parts);
    memory.take(&l->group_count, groups);
    memory.take(&l->group_start, groups + 1);
    memory.take(&l->group_cursor, groups);
    memory.take(&l->round_count, MAX_ROUNDS + 1);
}

/* Cuts `base` up; with base null it only says how much is needed. */
template <class F>
size_t msm_carve(msm_workspace<F> *w, void *base, const zk_cuda *d, const msm_shape &s, const msm_config &c) {
    carver memory(base);
    const size_t bins = (size_t)s.units << s.bin_bits;
    memory.take(&w->limbs, (size_t)(s.is_hexagons() ? s.hex.digits : 8) * c.slice);
    memory.take(&w->bin_count, bins);
    memory.take(&w->bin_start, bins + s.units);
    memory.take(&w->bin_cursor, bins);
    w->base_x = nullptr;
    if (c.spread_x) memory.take(&w->base_x, (size_t)4 * c.slice);
    for (u32 k = 0; k < c.buffers; k++) memory.take(&w->entries[k], (size_t)s.windows_of(0) * c.slice);
    for (u32 i = 0; i < c.lanes; i++) lane_carve(&w->lanes[i], memory, d, s, c);
    return memory.used;
}

/* ---- the choice of a way ---- */

/* The fastest way that fits, and the extremes. Streamed bases: two buffers of a slice come on top, and the copy of the
 * first slice is waited for. */
template <class F> struct msm_choice : msm_visitor {
    /* additions in the time that a link of 50 GB/s takes for a point, at 3.4 G/s in G1 and 1.2 G/s in G2 */
    static constexpr double copy_cost = sizeof(F) == sizeof(fp) ? 6.5 : 4.6;
    static constexpr double good = 1.1; /* so many times the additions of the slice sizes seen so far */
    const zk_cuda *device;
    size_t room;             /* bytes that the way may take */
    size_t least = SIZE_MAX; /* bytes of the leanest way, whether or not there is room */
    size_t bytes = 0;        /* of the way chosen; 0: none fits yet */
    bool streamed;
    bool one_is_enough = false; /* a way that is good, not the very best and the extremes */
    double cost = 0;            /* additions */
    double enough = 0;          /* of ways that cost no more than this, the one that takes least memory */
    msm_config config;
    msm_shape shape;
    msm_choice(const zk_cuda *d, size_t r, bool s) : device(d), room(r), streamed(s) {}
    bool satisfied(double additions) override { return one_is_enough && bytes && cost <= good * additions; }
    void visit(const msm_config &c, const msm_shape &s, double its_cost) override {
        msm_workspace<F> w;
        size_t its_bytes = msm_carve(&w, nullptr, device, s, c);
        if (streamed) {
            its_bytes += 2 * c.slice * sizeof(affine<F>);
            its_cost += copy_cost * (double)c.slice;
        }
        if (its_bytes < least) least = its_bytes;
        if (its_bytes > room) return;
        const bool leaner = its_bytes < bytes, both = enough && its_cost <= enough && cost <= enough;
        if (bytes && !(both || its_cost == cost ? leaner : its_cost < cost)) return;
        bytes = its_bytes;
        cost = its_cost;
        config = c;
        shape = s;
    }
};
inline msm_limits limits_of(const zk_cuda *d) { return msm_limits{d->tune_windows, d->tune_entries, d->tune_lanes, 0}; }

/* Visits the one way that was measured for so many points (zk_cuda_msm_prefer), if there is one. */
template <class F> void msm_visit_preferred(msm_choice<F> &choice, const zk_cuda_bases &b, size_t n) {
    const zk_cuda_msm_way way = choice.device->preferred[sizeof(F) != sizeof(fp)][log2_nearest(n)];
    if (choice.streamed || b.planes > 1 || limits_of(choice.device).any()) return;
    if (way.windows || way.entries || way.lanes)
        msm_consider(choice, n, 1, SCALAR_BITS, sizeof(affine<F>),
                     msm_limits{way.windows, way.entries, way.lanes, 0, true});
}

/* For a call: the way that was measured for so many points, else a good one. */
template <class F> void msm_choose(msm_choice<F> &choice, const zk_cuda_bases &b, size_t n) {
    choice.one_is_enough = !choice.streamed;
    msm_visit_preferred(choice, b, n);
    if (choice.bytes == 0) msm_consider(choice, n, b.planes, b.distance, sizeof(affine<F>), limits_of(choice.device));
}

template <class F>
void msm_extremes(size_t *best, size_t *least, const zk_cuda *d, const zk_cuda_bases &b, bool streamed) {
    constexpr double nearly = 1.015;
    msm_choice<F> choice(d, SIZE_MAX, streamed);
    if (b.n) msm_consider(choice, b.n, b.planes, b.distance, sizeof(affine<F>), limits_of(d));
    choice.enough = nearly * choice.cost;
    if (b.n) msm_consider(choice, b.n, b.planes, b.distance, sizeof(affine<F>), limits_of(d));
    msm_choice<F> measured(d, SIZE_MAX, streamed);
    if (b.n) msm_visit_preferred(measured, b, b.n);
    *best = measured.bytes ? measured.bytes : choice.bytes;
    *least = choice.bytes ? choice.least : 0;
}
template <class F> void msm_way(zk_cuda_msm_way *way, const zk_cuda *d, const zk_cuda_bases &b) {
    msm_choice<F> choice(d, zk_cuda_bytes_free(d), false);
    if (b.n) msm_choose(choice, b, b.n);
    *way = choice.bytes
               ? zk_cuda_msm_way{choice.shape.windows.n_windows + (choice.shape.is_hexagons() ? ZK_CUDA_HEXAGONS : 0),
                                 choice.config.capacity, choice.config.lanes}
               : zk_cuda_msm_way{0, 0, 0};
}
template <class F> void msm_bytes(size_t *best, size_t *least, const zk_cuda *d, const zk_cuda_bases &b) {
    msm_extremes<F>(best, least, d, b, false);
}

} // namespace zk
#endif
