/* The MSM of one group: ranges of buckets worked on by lanes, side by side; msm_plan.cuh says how it is cut up. */
#ifndef ZK_CUDA_MSM_LANES_CUH
#define ZK_CUDA_MSM_LANES_CUH

#include "msm_impl.cuh"
#include "msm_sort.cuh"

#include <memory>
#include <new>

namespace zk {

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
/* Blocks that sum the folded half of the last digit's buckets; the host adds theirs. */
constexpr u32 FOLDED_BLOCKS = 132, FOLDED_SHARE = 1024;
inline u32 folded_blocks(const line_shape &s) {
    const u32 blocks = ceil_div(s.rows * s.columns, FOLDED_SHARE);
    return blocks < FOLDED_BLOCKS ? blocks : FOLDED_BLOCKS;
}
constexpr u32 NO_SET = 0xffffffffu;
constexpr u32 DIGIT_BLOCKS = 5; /* a multiprocessor, that make digits: they leave room for the blocks of spread_x */

template <class F> struct msm_lane {
    add_chain<F> chain;
    uint2 *pairs; /* of all rounds */
    uint2 *split; /* entries by groups; it and sorted lie where the rounds have their prefix */
    u32 *sorted;
    u32 *grid;         /* by bucket */
    uint2 *line_first; /* pairs that join classes, or of the lines' first round */
    xyzz<F> *lines, *sums;
    u32 *group_count, *group_start, *group_cursor, *round_count;
    /* on the host */
    u32 *host_rounds;
    xyzz<F> *host_sums[2];
    msm_range range;
    struct {
        bool there;
        u32 set;
        u32 folded; /* the set of which folded_blocks sums follow, NO_SET */
        line_shape shape;
    } result[2]; /* what host_sums hold, or will hold once the stream comes to it */
    u32 turn;    /* which of them is next */
};

template <class F> struct msm_workspace {
    u32 *limbs; /* or codes */
    u32 *bin_count, *bin_start, *bin_cursor;
    uint4 *base_x;
    uint2 *entries[2];
    msm_lane<F> lanes[MAX_LANES];
};

constexpr size_t PINNED_BINS = 128 << 10, PINNED_ROUNDS = 1 << 10; /* of lane 0's, of each lane's buffer */
constexpr size_t PINNED_SUMS = (PINNED_BYTES - PINNED_BINS - PINNED_ROUNDS) / 2 / 512 * 512;

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

/* Cuts `base` up; with base null it only says how much is needed. */
template <class F>
size_t msm_carve(msm_workspace<F> *w, void *base, const zk_cuda *d, const msm_shape &s, const msm_config &c) {
    carver memory(base);
    const size_t bins = (size_t)s.units << s.bin_bits, groups = c.buckets >> s.low_bits;
    const u32 sums = places_of_rounds(c.capacity).total;
    /* that are summed by lines: a quarter of hexagons' keys */
    const u32 buckets = s.is_hexagons() ? c.buckets / 4 : c.buckets;
    const size_t most_pairs = c.capacity / 2 > buckets ? c.capacity / 2 : buckets;
    u32 lines, parts;
    most_lines(&lines, &parts, s, c);
    memory.take(&w->limbs, (size_t)(s.is_hexagons() ? s.hex.digits : 8) * c.slice);
    memory.take(&w->bin_count, bins);
    memory.take(&w->bin_start, bins + s.units);
    memory.take(&w->bin_cursor, bins);
    w->base_x = nullptr;
    if (c.spread_x) memory.take(&w->base_x, (size_t)4 * c.slice);
    for (u32 k = 0; k < c.buffers; k++) memory.take(&w->entries[k], (size_t)s.windows_of(0) * c.slice);
    for (u32 i = 0; i < c.lanes; i++) {
        msm_lane<F> *l = &w->lanes[i];
        l->chain.pool_size = (sums > buckets ? sums : buckets) + (s.is_hexagons() ? 2 : 1) * buckets;
        chain_carve(l->chain, memory, d, most_pairs);
        memory.take(&l->pairs, sums);
        char *prefix;
        const size_t prefix_bytes = most_pairs * sizeof(F), sort_bytes = (size_t)c.capacity * 12;
        memory.take(&prefix, prefix_bytes > sort_bytes ? prefix_bytes : sort_bytes);
        l->chain.prefix = (uint4 *)prefix;
        l->split = (uint2 *)prefix;
        l->sorted = (u32 *)(l->split + (base ? c.capacity : 0));
        memory.take(&l->grid, c.buckets);
        memory.take(&l->line_first, buckets);
        memory.take(&l->lines, lines);
        memory.take(&l->sums, parts);
        memory.take(&l->group_count, groups);
        memory.take(&l->group_start, groups + 1);
        memory.take(&l->group_cursor, groups);
        memory.take(&l->round_count, MAX_ROUNDS + 1);
    }
    return memory.used;
}

/* The fastest way that fits, and the extremes. Streamed bases: two buffers of a slice come on top, and the copy of the
 * first slice is waited for. */
template <class F> struct msm_choice : msm_visitor {
    /* additions in the time that a link of 50 GB/s takes for a point, at 3.4 G/s in G1 and 1.2 G/s in G2 */
    static constexpr double copy_cost = sizeof(F) == sizeof(fp) ? 6.5 : 4.6;
    const zk_cuda *device;
    size_t room, least = SIZE_MAX, bytes = 0;
    bool streamed;
    double cost = 0, enough = 0; /* of ways that cost no more than `enough`, the one that takes least memory */
    msm_config config;
    msm_shape shape;
    msm_choice(const zk_cuda *d, size_t r, bool s) : device(d), room(r), streamed(s) {}
    bool one_is_enough = false; /* a way that is good, not the very best and the extremes */
    bool satisfied(double additions) override { return one_is_enough && bytes && cost <= 1.1 * additions; }
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

/* ---- one slice ---- */

template <class F> struct msm_job {
    zk_cuda *device;
    msm_shape shape;
    msm_config config;
    msm_workspace<F> w;
    u32 units_sorted;                 /* of this slice, sorted into bins or being so */
    u32 n;                            /* points of this slice */
    size_t stride;                    /* points of a plane */
    size_t at;                        /* of the slice in a plane */
    affine<F> *slice[2];              /* of streamed bases */
    xyzz<F> set_sum[MAX_WINDOWS + 1]; /* of hexagons one more, the carry of the last digit */
};

template <class F> cuzk_status sort_unit(msm_job<F> *job, cuzk_err *err) {
    zk_cuda *d = job->device;
    const msm_shape &s = job->shape;
    const u32 unit = job->units_sorted++, first_set = unit * s.unit_sets, tiles = ceil_div(job->n, SORT_TILE);
    if (unit >= job->config.buffers) /* what was there has been taken by lanes */
        for (u32 i = 0; i < job->config.lanes; i++) ZK_CUDA_TRY(cudaStreamWaitEvent(d->main, d->joined[i], 0));
    unit_windows windows;
    windows.count = 0;
    for (u32 w = 0; w < s.windows.n_windows; w++) {
        const u32 set = w % s.sets, plane = w / s.sets;
        if (set / s.unit_sets != unit) continue;
        windows.at[windows.count++] = unit_window{
            s.is_hexagons() ? w : s.windows.offset[w], s.windows.offset[w + 1] - s.windows.offset[w],
            (set - first_set) << (s.unit_width(unit) - 1), (u32)(plane * job->stride + (s.planes == 1 ? 0 : job->at))};
    }
    auto split = s.is_hexagons() ? split_codes : split_bins;
    ZK_RUN_BARRIERS(split, windows.count * tiles, SORT_THREADS, 0, d->main, job->w.entries[unit % job->config.buffers],
                    job->w.bin_cursor + ((size_t)unit << s.bin_bits), job->w.limbs, job->n, windows, tiles,
                    s.bin_shift(unit));
    ZK_CUDA_TRY(cudaEventRecord(d->ready[unit % job->config.buffers], d->main));
    return CUZK_OK;
}

/* Groups, and the pairs of all rounds, whose numbers go to the host. */
template <class F>
cuzk_status lane_begin(msm_job<F> *job, u32 index, const msm_range &range, const u32 *bin_start, cuzk_err *err) {
    zk_cuda *d = job->device;
    const msm_shape &s = job->shape;
    msm_lane<F> *l = &job->w.lanes[index];
    cudaStream_t stream = l->chain.stream;
    while (job->units_sorted < s.units && job->units_sorted < range.unit + job->config.buffers)
        ZK_TRY(sort_unit(job, err));
    const u32 buffer = range.unit % job->config.buffers, sub_bits = s.sub_bits(), m = range.end - range.begin;
    const sort_range r{job->w.entries[buffer],
                       job->w.bin_start + (size_t)range.unit * (s.bins() + 1),
                       range.first,
                       range.bins,
                       range.begin,
                       range.end,
                       s.low_bits_of(range.unit),
                       sub_bits};
    u32 fullest = 0;
    for (u32 b = range.first; b < range.first + range.bins; b++)
        if (bin_start[b + 1] - bin_start[b] > fullest) fullest = bin_start[b + 1] - bin_start[b];
    if (fullest > m) fullest = m;
    const u32 tiles = ceil_div(fullest, SORT_TILE);
    l->range = range;
    ZK_CUDA_TRY(cudaStreamWaitEvent(stream, d->ready[buffer], 0));
    ZK_CUDA_TRY(cudaMemsetAsync(l->round_count, 0, (MAX_ROUNDS + 1) * sizeof(u32), stream));
    if (sub_bits) {
        ZK_CUDA_TRY(cudaMemsetAsync(l->group_count, 0, r.groups() * sizeof(u32), stream));
        ZK_RUN_BARRIERS(count_groups, r.bins * tiles, SORT_THREADS, 0, stream, l->group_count, r, tiles);
    }
    ZK_RUN_BARRIERS(group_offsets, r.bins, SORT_THREADS, 0, stream, l->group_start, l->group_cursor, l->group_count, r);
    if (sub_bits) {
        ZK_RUN_BARRIERS(split_groups, r.bins * tiles, SORT_THREADS, 0, stream, l->split, l->group_cursor, r, tiles);
        ZK_CUDA_TRY(cudaEventRecord(d->joined[index], stream));
    }
    ZK_RUN_BARRIERS(plan_groups, r.groups(), SORT_THREADS, 0, stream, l->pairs, l->grid, l->round_count, l->sorted,
                    sub_bits ? l->split : r.entries + range.begin, l->group_start, r.low_bits, places_of_rounds(m));
    if (!sub_bits) ZK_CUDA_TRY(cudaEventRecord(d->joined[index], stream));
    ZK_CUDA_TRY(cudaMemcpyAsync(l->host_rounds, l->round_count, (MAX_ROUNDS + 1) * sizeof(u32), cudaMemcpyDeviceToHost,
                                stream));
    return CUZK_OK;
}

/* The lines of a range. set: its first one, in the unit; rounds_most: of halving that the lines are made for. */
inline line_shape lines_of_range(u32 *set, u32 *rounds_most, const msm_shape &s, const msm_range &range) {
    const u32 log2_set = s.unit_width(range.unit) - 1, shift = s.bin_shift(range.unit);
    const u32 log2 = log2_of(range.bins) + shift, first = range.first << shift;
    *set = first >> log2_set;
    *rounds_most = MAX_ROUNDS;
    u32 windows = 1;
    if (log2 > log2_set) {
        const u32 left = s.sets_of(range.unit) - *set;
        windows = 1u << (log2 - log2_set);
        if (windows > left) windows = left;
    }
    const u32 in_set = first & ((1u << log2_set) - 1);
    if (!s.is_hexagons()) return lines_of(windows, log2 < log2_set ? log2 : log2_set, in_set);
    const u32 in_row = s.hex.column_bits + 2;
    line_shape shape;
    *rounds_most = hexagon_lines(&shape, s.hex, windows, in_set >> in_row,
                                 log2 < log2_set ? 1u << (log2 - in_row) : 1u << s.hex.row_bits);
    return shape;
}

/* Joins the classes of units of every bucket; the sums lie in the pool behind as many of two classes, from `at` on. */
template <class F>
cuzk_status join_classes(msm_lane<F> *l, const hexagons &h, const line_shape &shape, u32 at, cuzk_err *err) {
    add_chain<F> &c = l->chain;
    const u32 buckets = shape.buckets();
    for (u32 last = 0; last < 2; last++) {
        ZK_RUN(join_pairs, ceil_div(buckets, 256), 256, 0, c.stream, l->line_first, l->grid, h, shape, last != 0, at);
        c.pool_used = at + last * buckets;
        ZK_TRY((add_round<F, true>(c, pair_list{l->line_first, 0}, buckets, err)));
    }
    return CUZK_OK;
}

/* Bucket sums, then sums of lines; host_rounds must have arrived. */
template <class F> cuzk_status lane_finish(msm_job<F> *job, u32 index, cuzk_err *err) {
    const msm_shape &s = job->shape;
    msm_lane<F> *l = &job->w.lanes[index];
    add_chain<F> &c = l->chain;
    cudaStream_t stream = c.stream;
    const round_places places = places_of_rounds(l->range.end - l->range.begin);
    ZK_TRY(chain_start(c, err));
    for (u32 r = 1; r <= (u32)MAX_ROUNDS && l->host_rounds[r]; r++) {
        const u32 n = l->host_rounds[r];
        c.pool_used = places.first(r, 0, n);
        ZK_TRY(add_round(c, pair_list{l->pairs + c.pool_used, 0}, n, err));
    }

    u32 set, rounds_most, folded = NO_SET;
    const line_shape shape = lines_of_range(&set, &rounds_most, s, l->range);
    const u32 buckets = shape.buckets(), summed = places.total > buckets ? places.total : buckets;
    const u32 threads = sum_threads<F>::value, first_set = l->range.unit * s.unit_sets + set;
    const u32 parts = bit_blocks(shape) * shape.windows * (row_bits(shape) + column_bits(shape));
    pair_list list{l->line_first, 0};
    if (s.is_hexagons()) {
        const u32 at = summed + buckets;
        ZK_TRY(join_classes(l, s.hex, shape, summed, err));
        if (s.sets - 1 - first_set < shape.windows) {
            folded = s.sets - 1 - first_set;
            auto fold = folded_sums<F>;
            ZK_RUN_BARRIERS(fold, folded_blocks(shape), threads, threads * sizeof(xyzz<F>), stream, l->sums + parts,
                            c.source(), at, folded, s.hex, shape);
        }
        list = line_round(at, buckets, 0);
    } else {
        ZK_RUN(line_pairs, ceil_div(buckets, 256), 256, 0, stream, l->line_first, l->grid, shape);
    }
    u32 at = summed, rounds = 1;
    c.pool_used = at; /* what joined two classes is done with */
    ZK_TRY(add_round(c, list, buckets, err));
    for (c.pool_used = 0; rounds < rounds_most && shape.rows >> rounds > 1 && buckets >> rounds >= LINE_ROUND_PAIRS;
         rounds++) {
        const u32 next = c.pool_used, n = buckets >> rounds;
        ZK_TRY(add_round(c, line_round(at, n, rounds), n, err));
        at = next;
    }
    auto lines = line_sums<F>;
    auto bits = bit_sums<F>;
    ZK_RUN_BARRIERS(lines, ceil_div((u64)shape.lines() * LINE_THREADS, threads), threads, threads * sizeof(xyzz<F>),
                    stream, l->lines, c.source(), at, shape, rounds);
    ZK_RUN_BARRIERS(bits, parts, threads, threads * sizeof(xyzz<F>), stream, l->sums, l->lines, shape);
    const u32 sums = parts + (folded == NO_SET ? 0 : folded_blocks(shape));
    if (sums * sizeof(xyzz<F>) > PINNED_SUMS)
        return ZK_FAIL(err, CUZK_INTERNAL, "msm: %u partial sums of a range", sums);
    ZK_CUDA_TRY(
        cudaMemcpyAsync(l->host_sums[l->turn], l->sums, sums * sizeof(xyzz<F>), cudaMemcpyDeviceToHost, stream));
    l->result[l->turn] = {true, first_set, folded, shape};
    l->turn ^= 1;
    return CUZK_OK;
}

/* z times a point */
template <class F> xyzz<F> xyzz_turned(const xyzz<F> &p) { return xyzz<F>{turn_x(p.x), neg(p.y), p.zz, p.zzz}; }

/* Adds the older of a lane's results, which has arrived, to its sets' sums. */
template <class F> void lane_collect(msm_job<F> *job, u32 index) {
    msm_lane<F> *l = &job->w.lanes[index];
    auto &r = l->result[l->turn];
    if (!r.there) return;
    r.there = false;
    const bool hex = job->shape.is_hexagons();
    const u32 of_rows = row_bits(r.shape), of_columns = column_bits(r.shape);
    const u32 shift = hex ? 0 : log2_of(r.shape.columns),
              bits = shift + of_rows > of_columns ? shift + of_rows : of_columns;
    const u32 blocks = bit_blocks(r.shape);
    xyzz<F> *sums = l->host_sums[l->turn];
    for (u32 part = 0; part < r.shape.windows * (of_rows + of_columns); part++)
        for (u32 k = 1; k < blocks; k++) xyzz_add(sums[part * blocks], sums[part * blocks + k]);
    for (u32 w = 0; w < r.shape.windows; w++, sums += blocks * (of_rows + of_columns)) {
        xyzz<F> acc = xyzz<F>::infinity();
        for (u32 bit = bits; bit-- > 0;) {
            xyzz_double(acc);
            if (bit >= shift && bit - shift < of_rows) xyzz_add(acc, sums[(bit - shift) * blocks]);
            if (bit < of_columns) {
                const xyzz<F> &sum = sums[(of_rows + bit) * blocks];
                xyzz_add(acc, hex ? xyzz_turned(sum) : sum);
            }
        }
        xyzz_add(job->set_sum[r.set + w], acc);
    }
    for (u32 k = 0; r.folded != NO_SET && k < folded_blocks(r.shape); k++, sums++)
        xyzz_add(job->set_sum[job->shape.sets], xyzz<F>{sums->x, neg(sums->y), sums->zz, sums->zzz});
}

/* Adds the slice's share to set_sum. scalars: of the slice. */
template <class F>
cuzk_status msm_slice(msm_job<F> *job, const affine<F> *bases, const affine<F> *more, const fr *scalars,
                      cuzk_err *err) {
    zk_cuda *d = job->device;
    const msm_shape &s = job->shape;
    const u32 n = job->n, lanes = job->config.lanes;
    const size_t bins = (size_t)s.units << s.bin_bits, starts = bins + s.units;
    u32 *const host_starts = (u32 *)d->pinned[0];
    if (starts * sizeof(u32) > PINNED_BINS) return ZK_FAIL(err, CUZK_INTERNAL, "msm: %zu bins", bins);
    u32 blocks = ceil_div(n, SORT_THREADS);
    if (blocks > DIGIT_BLOCKS * (u32)d->multiprocessors) blocks = DIGIT_BLOCKS * (u32)d->multiprocessors;
    ZK_CUDA_TRY(cudaMemsetAsync(job->w.bin_count, 0, bins * sizeof(u32), d->main));
    if (job->w.base_x) { /* beside the digits, which leave the memory to it */
        ZK_CUDA_TRY(cudaEventRecord(d->fork, d->main));
        ZK_CUDA_TRY(cudaStreamWaitEvent(d->lane[0], d->fork, 0));
    }
    auto digits = s.is_hexagons() ? hexagon_codes : center_scalars;
    ZK_RUN_BARRIERS(digits, blocks, SORT_THREADS, bins * sizeof(u32), d->main, job->w.limbs, job->w.bin_count, scalars,
                    n, s);
    if (job->w.base_x) {
        ZK_RUN(spread_x, ceil_div((u64)4 * n, 256), 256, 0, d->lane[0], job->w.base_x, (const affine<fp> *)bases, n);
        ZK_CUDA_TRY(cudaEventRecord(d->joined[0], d->lane[0]));
        ZK_CUDA_TRY(cudaStreamWaitEvent(d->main, d->joined[0], 0));
    }
    ZK_RUN_BARRIERS(bin_offsets, s.units, SORT_THREADS, 0, d->main, job->w.bin_start, job->w.bin_cursor,
                    job->w.bin_count, s.bins());
    ZK_CUDA_TRY(cudaMemcpyAsync(host_starts, job->w.bin_start, starts * sizeof(u32), cudaMemcpyDeviceToHost, d->main));
    ZK_CUDA_TRY(cudaEventRecord(d->fork, d->main));
    job->units_sorted = 0;
    while (job->units_sorted < s.units && job->units_sorted < job->config.buffers) ZK_TRY(sort_unit(job, err));
    for (u32 i = 0; i < lanes; i++) {
        msm_lane<F> *l = &job->w.lanes[i];
        add_chain<F> &c = l->chain;
        c.device = d;
        c.stream = d->lane[i];
        c.bases = bases;
        c.base_x = job->w.base_x;
        c.apart = true;
        c.beside = lanes > 1;
        c.more = more;
        c.split = more ? (u32)job->stride : 0xffffffffu;
        l->host_rounds = (u32 *)(d->pinned[i] + PINNED_BINS);
        for (u32 k = 0; k < 2; k++) {
            l->host_sums[k] = (xyzz<F> *)(d->pinned[i] + PINNED_BINS + PINNED_ROUNDS + k * PINNED_SUMS);
            l->result[k].there = false;
        }
        l->turn = 0;
    }
    ZK_CUDA_TRY(cudaEventSynchronize(d->fork));
    size_t n_ranges = 0;
    for (u32 u = 0; u < s.units; u++)
        n_ranges += plan_ranges(nullptr, s, job->config, u, host_starts + u * (s.bins() + 1));
    std::unique_ptr<msm_range[]> ranges(new (std::nothrow) msm_range[n_ranges + 1]);
    if (!ranges) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "msm: %zu ranges", n_ranges);
    n_ranges = 0;
    for (u32 u = 0; u < s.units; u++)
        n_ranges += plan_ranges(&ranges[n_ranges], s, job->config, u, host_starts + u * (s.bins() + 1));
    const auto begin = [&](size_t k) {
        return lane_begin(job, (u32)(k % lanes), ranges[k], host_starts + ranges[k].unit * (s.bins() + 1), err);
    };
    for (size_t k = 0; k < lanes && k < n_ranges; k++) ZK_TRY(begin(k));
    for (size_t k = 0; k < n_ranges; k++) {
        const u32 i = (u32)(k % lanes);
        ZK_CUDA_TRY(cudaStreamSynchronize(d->lane[i]));
        ZK_TRY(lane_finish(job, i, err));
        if (k + lanes < n_ranges) ZK_TRY(begin(k + lanes));
        lane_collect(job, i);
    }
    for (size_t k = n_ranges; k < n_ranges + lanes; k++) { /* in the order of the last ranges */
        const u32 i = (u32)(k % lanes);
        ZK_CUDA_TRY(cudaStreamSynchronize(d->lane[i]));
        job->w.lanes[i].turn ^= 1;
        lane_collect(job, i);
    }
    return CUZK_OK;
}

/* ---- whole problems ---- */

/* Chooses a way and takes its memory, from the common pool where that makes it faster; of streamed bases with the
 * buffers of two slices at its end. */
template <class F>
cuzk_status msm_allocate(msm_job<F> *job, workspace_piece *piece, const zk_cuda_bases &b, size_t n, bool streamed,
                         cuzk_err *err) {
    constexpr double much = 0.98; /* a turn is waited for if it saves a fiftieth or more */
    zk_cuda *d = piece->device;
    size_t room = zk_cuda_bytes_free(d);
    bool alone = !piece->common() || piece->common()->pool.limit <= room;
    cuzk_err refused = {};
    job->device = d;
    job->stride = b.n;
    for (;;) {
        msm_choice<F> choice(d, room, streamed);
        msm_choose(choice, b, n);
        if (!alone) {
            msm_choice<F> large(d, piece->common()->pool.limit, streamed);
            msm_choose(large, b, n);
            if (large.bytes && (choice.bytes == 0 || large.cost < much * choice.cost)) {
                choice = large;
                piece->take_turn();
            }
        }
        if (choice.bytes == 0)
            return ZK_FAIL(err, CUZK_OUT_OF_MEMORY,
                           "msm of %zu points: needs %zu bytes of device memory, %zu are free%s%s", n, choice.least,
                           zk_cuda_bytes_free(d), refused.message[0] ? ", which were refused: " : "", refused.message);
        const cuzk_status status = zk_cuda_alloc(&piece->memory, piece->from, choice.bytes, "msm", &refused);
        if (status == CUZK_OUT_OF_MEMORY) { /* free, but in pieces */
            if (alone) room = choice.bytes - 1;
            piece->end_turn();
            alone = true;
            continue;
        }
        if (status != CUZK_OK) return ZK_FAIL(err, status, "%s", refused.message);
        job->config = choice.config;
        job->shape = choice.shape;
        const size_t used = msm_carve(&job->w, (void *)piece->memory, d, job->shape, job->config);
        for (u32 k = 0; k < 2; k++)
            job->slice[k] = (affine<F> *)(piece->memory + used + k * job->config.slice * sizeof(affine<F>));
        for (xyzz<F> &sum : job->set_sum) sum = xyzz<F>::infinity();
        return CUZK_OK;
    }
}

/* sum over digits of B^i set_sum: B = 1 + L (1 + z), L the side */
template <class F> xyzz<F> msm_total_hexagons(const msm_job<F> &job) {
    const u32 side = job.shape.hex.side;
    xyzz<F> acc = job.set_sum[job.shape.sets];
    for (u32 set = job.shape.sets; set-- > 0;) {
        xyzz<F> both = xyzz_turned(acc), product = xyzz<F>::infinity();
        xyzz_add(both, acc);
        for (u32 bit = log2_of(side) + 1; bit-- > 0;) {
            xyzz_double(product);
            if (side >> bit & 1) xyzz_add(product, both);
        }
        xyzz_add(acc, product);
        xyzz_add(acc, job.set_sum[set]);
    }
    return acc;
}

/* sum over sets of 2^offset set_sum */
template <class F> affine<F> msm_total(const msm_job<F> &job) {
    if (job.shape.is_hexagons()) return to_affine(msm_total_hexagons(job));
    xyzz<F> acc = xyzz<F>::infinity();
    for (u32 set = job.shape.sets; set-- > 0;) {
        if (set + 1 < job.shape.sets)
            for (u32 k = job.shape.windows.offset[set]; k < job.shape.windows.offset[set + 1]; k++) xyzz_double(acc);
        xyzz_add(acc, job.set_sum[set]);
    }
    return to_affine(acc);
}

template <class F>
cuzk_status msm(void *result, zk_cuda *d, const zk_cuda_bases &b, zk_dptr scalars, size_t n, cuzk_err *err) {
    memset(result, 0, sizeof(affine<F>)); /* infinity */
    if (n > b.n) return ZK_FAIL(err, CUZK_BAD_INPUT, "msm: %zu scalars for %zu bases", n, b.n);
    if (b.n * b.planes >= MAX_POINTS)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "msm: %zu points in %u planes, at most %u together", b.n, b.planes,
                       MAX_POINTS - 1);
    if (n == 0) return CUZK_OK;
    msm_shape shape;
    if (!plan_shape(&shape, n, b.planes, b.distance, 0))
        return ZK_FAIL(err, CUZK_BAD_INPUT, "msm: %u planes of bases, %u bits apart, do not make a scalar", b.planes,
                       b.distance);
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    workspace_piece piece(d);
    std::unique_ptr<msm_job<F>> job(new (std::nothrow) msm_job<F>);
    if (!job) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "msm: no memory for its description");
    ZK_TRY(msm_allocate(job.get(), &piece, b, n, false, err));
    const affine<F> *points = (const affine<F> *)b.points, *more = nullptr;
    if (b.planes > 1) more = (const affine<F> *)(b.multiples - b.n * sizeof(affine<F>)); /* takes indexes from n on */
    for (size_t at = 0; at < n; at += job->config.slice) {
        job->at = at;
        job->n = (u32)(n - at < job->config.slice ? n - at : job->config.slice);
        ZK_TRY(msm_slice(job.get(), more ? points : points + at, more, (const fr *)scalars + at, err));
    }
    const affine<F> answer = msm_total(*job);
    memcpy(result, &answer, sizeof answer); /* C structures have smaller alignment */
    return CUZK_OK;
}

} // namespace zk
#endif
