/* The MSM of one group: ranges of buckets worked on by lanes, side by side; msm_plan.cuh says how it is cut up. */
#ifndef ZK_CUDA_MSM_LANES_CUH
#define ZK_CUDA_MSM_LANES_CUH

#include "msm_workspace.cuh"

#include <memory>
#include <new>

namespace zk {

/* ---- one slice ---- */

constexpr u32 DIGIT_BLOCKS = 5; /* a multiprocessor, that make digits: they leave room for the blocks of spread_x */

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
        ZK_RUN_EACH(join_pairs, buckets, 256, c.stream, l->line_first, l->grid, h, shape, last != 0, at);
        c.pool_used = at + last * buckets;
        ZK_TRY((add_round<F, true>(c, pair_list{l->line_first, 0}, buckets, err)));
    }
    return CUZK_OK;
}

/* The rounds over a range's buckets, as planned; host_rounds must have arrived. */
template <class F> cuzk_status sum_buckets(msm_lane<F> *l, const round_places &places, cuzk_err *err) {
    add_chain<F> &c = l->chain;
    ZK_TRY(chain_start(c, err));
    for (u32 r = 1; r <= (u32)MAX_ROUNDS && l->host_rounds[r]; r++) {
        const u32 n = l->host_rounds[r];
        c.pool_used = places.first(r, 0, n);
        ZK_TRY(add_round(c, pair_list{l->pairs + c.pool_used, 0}, n, err));
    }
    return CUZK_OK;
}

/* The first round of sums of lines, and for hexagons what comes before it: classes joined, the folded half of the last
 * digit's buckets summed by blocks to l->sums[parts...] if the range has some of them (its set is *folded then). at:
 * place in the pool behind the buckets' sums, where those of the round go. */
template <class F>
cuzk_status start_lines(u32 *folded, msm_lane<F> *l, const msm_shape &s, const line_shape &shape, u32 first_set, u32 at,
                        u32 parts, cuzk_err *err) {
    add_chain<F> &c = l->chain;
    const u32 buckets = shape.buckets(), threads = sum_threads<F>::value, last_set = s.sets - 1;
    pair_list list{l->line_first, 0};
    *folded = NO_SET;
    if (s.is_hexagons()) {
        const u32 joined = at + buckets;
        ZK_TRY(join_classes(l, s.hex, shape, at, err));
        if (last_set - first_set < shape.windows) {
            auto fold = folded_sums<F>;
            *folded = last_set - first_set;
            ZK_RUN_BARRIERS(fold, folded_blocks(shape), threads, threads * sizeof(xyzz<F>), c.stream, l->sums + parts,
                            c.source(), joined, *folded, s.hex, shape);
        }
        list = line_round(joined, buckets, 0);
    } else {
        ZK_RUN_EACH(line_pairs, buckets, 256, c.stream, l->line_first, l->grid, shape);
    }
    c.pool_used = at; /* what joined two classes is done with */
    return add_round(c, list, buckets, err);
}

/* Sums of rows and of columns: rounds while they are large, then mixed additions. at: of the first round's sums in the
 * pool, behind the buckets, whose sums are done with. */
template <class F>
cuzk_status sum_lines(msm_lane<F> *l, const line_shape &shape, u32 at, u32 rounds_most, cuzk_err *err) {
    add_chain<F> &c = l->chain;
    const u32 buckets = shape.buckets(), threads = sum_threads<F>::value;
    u32 rounds = 1;
    for (c.pool_used = 0; rounds < rounds_most && shape.rows >> rounds > 1 && buckets >> rounds >= LINE_ROUND_PAIRS;
         rounds++) {
        const u32 next = c.pool_used, n = buckets >> rounds;
        ZK_TRY(add_round(c, line_round(at, n, rounds), n, err));
        at = next;
    }
    auto lines = line_sums<F>;
    ZK_RUN_BARRIERS(lines, ceil_div((u64)shape.lines() * LINE_THREADS, threads), threads, threads * sizeof(xyzz<F>),
                    c.stream, l->lines, c.source(), at, shape, rounds);
    return CUZK_OK;
}

/* Sums of a range's buckets, of its lines, and by bits of their numbers, which go to the host for lane_collect;
 * host_rounds must have arrived. */
template <class F> cuzk_status lane_finish(msm_job<F> *job, u32 index, cuzk_err *err) {
    const msm_shape &s = job->shape;
    msm_lane<F> *l = &job->w.lanes[index];
    cudaStream_t stream = l->chain.stream;
    const round_places places = places_of_rounds(l->range.end - l->range.begin);
    u32 set, rounds_most, folded;
    const line_shape shape = lines_of_range(&set, &rounds_most, s, l->range);
    const u32 first_set = l->range.unit * s.unit_sets + set, threads = sum_threads<F>::value;
    const u32 behind = places.total > shape.buckets() ? places.total : shape.buckets(); /* ... the buckets' sums */
    const u32 parts = bit_blocks(shape) * shape.windows * (row_bits(shape) + column_bits(shape));
    auto bits = bit_sums<F>;
    ZK_TRY(sum_buckets(l, places, err));
    ZK_TRY(start_lines(&folded, l, s, shape, first_set, behind, parts, err));
    ZK_TRY(sum_lines(l, shape, behind, rounds_most, err));
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

/* Digits of the slice's scalars and the starts of the bins they go to, which are on the way to `host_starts`; with
 * base_x beside them the copy of the bases' x. */
template <class F>
cuzk_status make_digits(u32 *host_starts, msm_job<F> *job, const affine<F> *bases, const fr *scalars, cuzk_err *err) {
    zk_cuda *d = job->device;
    const msm_shape &s = job->shape;
    msm_workspace<F> &w = job->w;
    const u32 n = job->n, most_blocks = DIGIT_BLOCKS * (u32)d->multiprocessors, full = ceil_div(n, SORT_THREADS);
    const u32 blocks = full < most_blocks ? full : most_blocks;
    const size_t bins = (size_t)s.units << s.bin_bits, starts = bins + s.units;
    if (starts * sizeof(u32) > PINNED_BINS) return ZK_FAIL(err, CUZK_INTERNAL, "msm: %zu bins", bins);
    ZK_CUDA_TRY(cudaMemsetAsync(w.bin_count, 0, bins * sizeof(u32), d->main));
    if (w.base_x) { /* the digits leave the memory to it */
        ZK_CUDA_TRY(cudaEventRecord(d->fork, d->main));
        ZK_CUDA_TRY(cudaStreamWaitEvent(d->lane[0], d->fork, 0));
    }
    auto digits = s.is_hexagons() ? hexagon_codes : center_scalars;
    ZK_RUN_BARRIERS(digits, blocks, SORT_THREADS, bins * sizeof(u32), d->main, w.limbs, w.bin_count, scalars, n, s);
    if (w.base_x) {
        ZK_RUN_EACH(spread_x, (u64)4 * n, 256, d->lane[0], w.base_x, (const affine<fp> *)bases, n);
        ZK_CUDA_TRY(cudaEventRecord(d->joined[0], d->lane[0]));
        ZK_CUDA_TRY(cudaStreamWaitEvent(d->main, d->joined[0], 0));
    }
    ZK_RUN_BARRIERS(bin_offsets, s.units, SORT_THREADS, 0, d->main, w.bin_start, w.bin_cursor, w.bin_count, s.bins());
    ZK_CUDA_TRY(cudaMemcpyAsync(host_starts, w.bin_start, starts * sizeof(u32), cudaMemcpyDeviceToHost, d->main));
    ZK_CUDA_TRY(cudaEventRecord(d->fork, d->main));
    return CUZK_OK;
}

/* Lane i goes on lane[i] of the device; pinned[i] has its rounds and results, behind the starts of bins of pinned[0].
 */
template <class F> void lanes_open(msm_job<F> *job, const affine<F> *bases, const affine<F> *more) {
    zk_cuda *d = job->device;
    for (u32 i = 0; i < job->config.lanes; i++) {
        msm_lane<F> *l = &job->w.lanes[i];
        add_chain<F> &c = l->chain;
        c.device = d;
        c.stream = d->lane[i];
        c.bases = bases;
        c.base_x = job->w.base_x;
        c.apart = true;
        c.beside = job->config.lanes > 1;
        c.more = more;
        c.split = more ? (u32)job->stride : BEYOND;
        l->host_rounds = (u32 *)(d->pinned[i] + PINNED_BINS);
        for (u32 k = 0; k < 2; k++) {
            l->host_sums[k] = (xyzz<F> *)(d->pinned[i] + PINNED_BINS + PINNED_ROUNDS + k * PINNED_SUMS);
            l->result[k].there = false;
        }
        l->turn = 0;
    }
}

/* The ranges of all units, in order. */
inline cuzk_status plan_all_ranges(std::unique_ptr<msm_range[]> *ranges, size_t *n_ranges, const msm_shape &s,
                                   const msm_config &config, const u32 *host_starts, cuzk_err *err) {
    const auto plan = [&](msm_range *out) {
        size_t n = 0;
        for (u32 u = 0; u < s.units; u++)
            n += plan_ranges(out ? out + n : nullptr, s, config, u, host_starts + u * (s.bins() + 1));
        return n;
    };
    *n_ranges = plan(nullptr);
    ranges->reset(new (std::nothrow) msm_range[*n_ranges + 1]);
    if (!*ranges) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "msm: %zu ranges", *n_ranges);
    (void)plan(ranges->get());
    return CUZK_OK;
}

/* Adds the slice's share to set_sum. scalars: of the slice. Ranges go to the lanes by turns: while one is summed the
 * next ones are sorted, and the host adds up results of the one before. */
template <class F>
cuzk_status msm_slice(msm_job<F> *job, const affine<F> *bases, const affine<F> *more, const fr *scalars,
                      cuzk_err *err) {
    zk_cuda *d = job->device;
    const msm_shape &s = job->shape;
    const u32 lanes = job->config.lanes;
    u32 *const host_starts = (u32 *)d->pinned[0];
    ZK_TRY(make_digits(host_starts, job, bases, scalars, err));
    job->units_sorted = 0;
    while (job->units_sorted < s.units && job->units_sorted < job->config.buffers) ZK_TRY(sort_unit(job, err));
    lanes_open(job, bases, more);
    ZK_CUDA_TRY(cudaEventSynchronize(d->fork)); /* the starts have come */
    std::unique_ptr<msm_range[]> ranges;
    size_t n_ranges = 0;
    ZK_TRY(plan_all_ranges(&ranges, &n_ranges, s, job->config, host_starts, err));
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
