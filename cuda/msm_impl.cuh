/* The host side of MSM and masked sum, for one group. */
#ifndef ZK_CUDA_MSM_IMPL_CUH
#define ZK_CUDA_MSM_IMPL_CUH

#include "msm_kernels.cuh"

namespace zk {

/* Denominators a thread multiplies together. More threads than the chip holds at once even out the end of a launch;
 * more pairs a thread make inversions rarer. */
inline u32 add_threads_for(const zk_cuda *d, u32 n_pairs) {
    const u32 full = (u32)d->multiprocessors * 1024;
    if (n_pairs >= full * 8) return full;
    return ceil_div(n_pairs, 8);
}
/* Products that share one inversion: many when there are enough to fill the chip, few when latency is what counts. */
inline u32 invert_share(u32 threads) {
    const u32 share = threads / 4096;
    return share < 1 ? 1 : share > 16 ? 16 : share;
}

constexpr u32 MAX_CHAIN_ROUNDS = 128;

/* Buffers of one chain of rounds. */
template <class F> struct add_chain {
    zk_cuda *device;
    cudaStream_t stream;
    const affine<F> *bases;
    const uint4 *base_x = nullptr; /* see point_source */
    uint4 *pool = nullptr;         /* sums, planes of pool_size */
    u32 pool_used = 0, pool_size;
    uint4 *prefix;        /* [planes_of<F> * most pairs of a round] */
    F *product, *scratch; /* [add_threads_for(most pairs)] */
    u32 *special_counts;  /* [MAX_CHAIN_ROUNDS], zeroed when the chain starts */
    u32 *special_pairs;   /* [most pairs of a round] */
    u32 rounds = 0;
};

template <class F> cuzk_status chain_allocate(add_chain<F> &c, scratch &memory, size_t most_pairs, cuzk_err *err) {
    const size_t threads = (size_t)c.device->multiprocessors * 1024;
    ZK_TRY(memory.take(&c.pool, (size_t)c.pool_size * 2 * planes_of<F>::value, "sums of points", err));
    ZK_TRY(memory.take(&c.prefix, most_pairs * planes_of<F>::value, "running products", err));
    ZK_TRY(memory.take(&c.product, threads, "products", err));
    ZK_TRY(memory.take(&c.scratch, threads, "inverse scratch", err));
    ZK_TRY(memory.take(&c.special_pairs, most_pairs, "special pairs", err));
    return memory.take(&c.special_counts, MAX_CHAIN_ROUNDS, "special counts", err);
}

template <class F> cuzk_status chain_start(add_chain<F> &c, cuzk_err *err) {
    c.rounds = c.pool_used = 0;
    ZK_CUDA_TRY(cudaMemsetAsync(c.special_counts, 0, MAX_CHAIN_ROUNDS * sizeof(u32), c.stream));
    return CUZK_OK;
}

/* Adds n_pairs pairs; the sums are pool[pool_used ...], which grows. */
template <class F> cuzk_status add_round(add_chain<F> &c, pair_list list, u32 n_pairs, cuzk_err *err) {
    if (n_pairs == 0) return CUZK_OK;
    if (n_pairs > c.pool_size - c.pool_used)
        return ZK_FAIL(err, CUZK_INTERNAL, "msm: round of %u sums, the pool has room for %u", n_pairs,
                       c.pool_size - c.pool_used);
    if (c.rounds == MAX_CHAIN_ROUNDS) return ZK_FAIL(err, CUZK_INTERNAL, "msm: more than %u rounds", MAX_CHAIN_ROUNDS);
    const special_list specials{c.special_counts + c.rounds++, c.special_pairs};
    const point_source<F> source{c.bases, c.pool, c.pool_size, c.base_x};
    const u32 threads = add_threads_for(c.device, n_pairs), blocks = ceil_div(threads, ADD_THREADS);
    auto forward = add_forward<F>;
    auto backward = add_backward < F, sizeof(F) == sizeof(fp) ? 4 : 2 > ;
    auto invert = invert_products<F>;
    ZK_RUN(forward, blocks, ADD_THREADS, 0, c.stream, source, list, n_pairs, threads, c.prefix, c.product, specials);
    const u32 inverters = ceil_div(threads, invert_share(threads));
    ZK_RUN(invert, ceil_div(inverters, 64), 64, 0, c.stream, c.product, c.scratch, threads, inverters);
    uint4 *out = c.pool + c.pool_used;
    ZK_RUN(backward, blocks, ADD_THREADS, 0, c.stream, out, source, list, n_pairs, threads, c.prefix, c.product);
    auto special = add_special<F>;
    ZK_RUN(special, 2 * (u32)c.device->multiprocessors, 64, 0, c.stream, out, source, list, specials);
    c.pool_used += n_pairs;
    return CUZK_OK;
}

/* ---- plan ---- */

struct msm_shape {
    window_plan windows;
    u32 width;  /* widest window, bits */
    u32 stride; /* buckets of a window */
    u32 batch;  /* windows worked on together */
    u32 lanes;
};

inline void plan_windows(window_plan *plan, u32 n_windows) {
    plan->n_windows = n_windows;
    plan->offset[0] = 0;
    for (int k = 0; k < 8; k++) plan->bias[k] = 0;
    for (u32 w = 0; w < n_windows; w++) {
        const u32 c = 255 / n_windows + (w < 255 % n_windows), bit = plan->offset[w] + c - 1;
        plan->bias[bit / 32] |= 1u << (bit % 32); /* half the range of the digit; the bits are distinct */
        plan->offset[w + 1] = plan->offset[w] + c;
    }
}

/* Additions of n points with w windows: each point once a window, each bucket twice in the reduction, once less in its
 * own sum. */
inline double msm_cost(double n, u32 w) { return w * (n + (double)((u64)1 << (ceil_div(255, w) - 1))); }

inline void plan_msm(msm_shape *s, const zk_cuda *d, size_t n) {
    u32 best = MAX_WINDOWS;
    for (u32 w = 11; w < (u32)MAX_WINDOWS; w++)
        if (msm_cost((double)n, w) < msm_cost((double)n, best)) best = w;
    if (d->tune_windows) best = d->tune_windows;
    if (best < 10) best = 10;
    if (best > (u32)MAX_WINDOWS) best = MAX_WINDOWS;
    plan_windows(&s->windows, best);
    s->width = ceil_div(255, best);
    s->stride = 1u << (s->width - 1);
    /* Small problems: all windows in one pass, so that the launches are few; larger ones: a few together; lanes hide
     * what is bound by latency. One H200, bench_cuda: 2^22 23.1 ms with 14 windows together, 21.5 with 4; 2^24 75.2
     * with 3, 72.0 with 4; 2^26 271 ms with 2 lanes, 263 with 3, 258 with 4. */
    const u64 together = ((u64)1 << 26) / n;
    s->batch = d->tune_batch ? d->tune_batch : n < ((size_t)1 << 21) ? best : together < 4 ? (u32)together : 4;
    if (s->batch < 1) s->batch = 1;
    if (s->batch > best) s->batch = best;
    s->lanes = d->tune_lanes ? d->tune_lanes : 4;
    if (s->lanes > (u32)MAX_LANES) s->lanes = MAX_LANES;
    if (s->lanes > ceil_div(best, s->batch)) s->lanes = ceil_div(best, s->batch);
}

inline reduction_shape plan_reduction(u32 windows, u32 width) {
    reduction_shape r;
    const u32 low = width / 2; /* ceil((width - 1) / 2) */
    r.windows = windows;
    r.stride = 1u << (width - 1);
    r.columns = 1u << low;
    r.rows = r.stride >> low;
    return r;
}

/* ---- one lane: a batch of windows from digits to weighted sums ---- */

template <class F> struct msm_lane {
    add_chain<F> chain;
    u32 *keys[2], *refs[2];
    u32 *start, *end, *first_sum, *leftover, *grid; /* by bucket */
    u64 *scan_partial;
    uint2 *pairs;
    u32 *entries;
    void *sort_temp;
    size_t sort_temp_bytes;
    round_totals *totals, *host_totals;
    xyzz<F> *sums;
    int sorted;
    u32 entries_n, keys_n, first, count, width; /* of the batch in work; width: its widest window, the first */
};

template <class F>
cuzk_status lane_allocate(msm_lane<F> *l, scratch &memory, zk_cuda *d, int index, const affine<F> *bases, u32 n,
                          const msm_shape &s, cuzk_err *err) {
    const size_t m = (size_t)n * s.batch, buckets = (size_t)s.stride * s.batch, keys = buckets + 1;
    const reduction_shape r = plan_reduction(s.batch, s.width);
    const size_t reduction = (size_t)r.row_entries() + r.column_entries();
    if (m + reduction + buckets >= MAX_POINTS)
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "msm: %zu entries and %zu buckets at once, at most %u", m, buckets,
                       MAX_POINTS);
    const size_t most = (m > reduction ? m : reduction) / 2 + 1;
    add_chain<F> &c = l->chain;
    c.device = d;
    c.stream = d->lane[index];
    c.bases = bases;
    c.pool_size = (u32)(m + reduction + buckets);
    l->host_totals = (round_totals *)d->pinned[index];
    for (int k = 0; k < 2; k++) {
        ZK_TRY(memory.take(&l->keys[k], m, "msm keys", err));
        ZK_TRY(memory.take(&l->refs[k], m, "msm refs", err));
    }
    ZK_TRY(memory.take(&l->start, keys, "msm bucket starts", err));
    ZK_TRY(memory.take(&l->end, keys, "msm bucket ends", err));
    ZK_TRY(memory.take(&l->first_sum, keys, "msm bucket sums", err));
    ZK_TRY(memory.take(&l->leftover, keys, "msm bucket leftovers", err));
    ZK_TRY(memory.take(&l->scan_partial, ceil_div(keys, SCAN_BLOCK), "msm scan sums", err));
    ZK_TRY(memory.take(&l->pairs, m / 2 + 1, "msm pairs", err));
    ZK_TRY(memory.take(&l->grid, keys, "msm bucket grid", err));
    ZK_TRY(memory.take(&l->entries, reduction, "msm reduction entries", err));
    ZK_TRY(memory.take(&l->totals, 1, "msm totals", err));
    ZK_TRY(chain_allocate(c, memory, most, err));
    const u32 parts = ceil_div(r.weighted(), sum_threads<F>::value);
    ZK_TRY(memory.take(&l->sums, (size_t)parts * s.batch, "msm window sums", err));
    u32 *none[2] = {nullptr, nullptr};
    ZK_TRY(sort_pairs(&l->sorted, &l->sort_temp_bytes, nullptr, none, none, m, 32, c.stream, err));
    char *temp = nullptr;
    ZK_TRY(memory.take(&temp, l->sort_temp_bytes, "msm sort", err));
    l->sort_temp = temp;
    return CUZK_OK;
}

/* Digits, sort, bucket bounds, and how many pairs each round will have, on its way to the host. */
template <class F>
cuzk_status lane_begin(msm_lane<F> *l, const u32 *planes, u32 n, const msm_shape &s, u32 first, cuzk_err *err) {
    cudaStream_t stream = l->chain.stream;
    l->first = first;
    l->count = s.windows.n_windows - first < s.batch ? s.windows.n_windows - first : s.batch;
    l->entries_n = l->count * n;
    l->width = s.windows.offset[first + 1] - s.windows.offset[first];
    const u32 stride = 1u << (l->width - 1);
    l->keys_n = l->count * stride + 1;
    ZK_RUN(window_digits, ceil_div(n, 256), 256, 0, stream, l->keys[0], l->refs[0], planes, n, s.windows, first,
           l->count, stride);
    int bits = 0;
    while (bits < 32 && ((u64)1 << bits) < l->keys_n) bits++;
    ZK_TRY(
        sort_pairs(&l->sorted, &l->sort_temp_bytes, l->sort_temp, l->keys, l->refs, l->entries_n, bits, stream, err));
    ZK_CUDA_TRY(cudaMemsetAsync(l->start, 0, (size_t)l->keys_n * 4, stream));
    ZK_CUDA_TRY(cudaMemsetAsync(l->end, 0, (size_t)l->keys_n * 4, stream));
    ZK_CUDA_TRY(cudaMemsetAsync(l->totals, 0, sizeof(round_totals), stream));
    ZK_CUDA_TRY(cudaMemsetAsync(l->grid, 0xff, (size_t)l->keys_n * 4, stream));
    ZK_RUN(bucket_bounds, ceil_div(l->entries_n, 256), 256, 0, stream, l->start, l->end, l->keys[l->sorted],
           l->entries_n);
    u32 blocks = ceil_div(l->keys_n, 256);
    if (blocks > 8u * (u32)l->chain.device->multiprocessors) blocks = 8u * (u32)l->chain.device->multiprocessors;
    ZK_RUN_BARRIERS(count_rounds, blocks, 256, 0, stream, l->totals, l->start, l->end, l->keys_n);
    ZK_CUDA_TRY(cudaMemcpyAsync(l->host_totals, l->totals, sizeof(round_totals), cudaMemcpyDeviceToHost, stream));
    return CUZK_OK;
}

/* Bucket sums: leaves the ref of each in grid. */
template <class F> cuzk_status lane_buckets(msm_lane<F> *l, cuzk_err *err) {
    add_chain<F> &c = l->chain;
    cudaStream_t stream = c.stream;
    const u32 blocks = ceil_div(l->keys_n, SCAN_BLOCK);
    const bucket_state buckets{l->start, l->end, l->first_sum, l->leftover, l->grid};
    u32 pool_before = 0;
    ZK_TRY(chain_start(c, err));
    for (u32 r = 1; r <= (u32)MAX_ROUNDS && (r == 1 || l->host_totals->pairs[r]); r++) {
        ZK_RUN_BARRIERS(scan_blocks, blocks, 256, 0, stream, l->scan_partial, buckets, l->keys_n, r);
        ZK_RUN_BARRIERS(scan_sums, 1, 256, 0, stream, l->scan_partial, blocks);
        ZK_RUN_BARRIERS(plan_round, blocks, 256, 0, stream, l->pairs, buckets, l->scan_partial, l->refs[l->sorted],
                        l->keys_n, r, pool_before, c.pool_used);
        pool_before = c.pool_used;
        ZK_TRY(add_round(c, pair_list{l->pairs, 0}, (u32)l->host_totals->pairs[r], err));
    }
    return CUZK_OK;
}

/* Everything after lane_begin; host_totals must have arrived. */
template <class F> cuzk_status lane_finish(msm_lane<F> *l, u32 *parts, cuzk_err *err) {
    add_chain<F> &c = l->chain;
    cudaStream_t stream = c.stream;
    ZK_TRY(lane_buckets(l, err));
    const reduction_shape s = plan_reduction(l->count, l->width);
    const u32 entries = s.row_entries() + s.column_entries();
    ZK_RUN(grid_entries, ceil_div(entries, 256), 256, 0, stream, l->entries, l->grid, s);
    /* Rows hold K entries, columns H, K = H or 2H: log2 H rounds over all, then one more over the rows if K = 2H. */
    u32 first = c.pool_used;
    ZK_TRY(add_round(c, pair_list{(const uint2 *)l->entries, 0}, entries / 2, err));
    for (u32 left = s.rows / 2, n = entries / 2; left > 1; left /= 2, n /= 2) {
        const u32 next = c.pool_used;
        ZK_TRY(add_round(c, pair_list{nullptr, first}, n / 2, err));
        first = next;
    }
    const u32 row_points = l->count * (s.rows - 1);
    u32 rows_first = first, columns_first = first + row_points;
    if (s.columns != s.rows) {
        rows_first = c.pool_used;
        columns_first = first + 2 * row_points;
        ZK_TRY(add_round(c, pair_list{nullptr, first}, row_points, err));
    }
    *parts = ceil_div(s.weighted(), sum_threads<F>::value);
    auto weighted = weighted_sum<F>;
    ZK_RUN_BARRIERS(weighted, *parts * l->count, sum_threads<F>::value, sum_threads<F>::value * sizeof(xyzz<F>), stream,
                    l->sums, (point_source<F>{c.bases, c.pool, c.pool_size, c.base_x}), l->grid, s, rows_first,
                    columns_first, *parts);
    return CUZK_OK;
}

/* ---- whole problems ---- */

template <class F> cuzk_status lanes_fork(zk_cuda *d, u32 lanes, cuzk_err *err) {
    ZK_CUDA_TRY(cudaEventRecord(d->fork, d->main));
    for (u32 i = 0; i < lanes; i++) ZK_CUDA_TRY(cudaStreamWaitEvent(d->lane[i], d->fork, 0));
    return CUZK_OK;
}
template <class F> cuzk_status lanes_join(zk_cuda *d, u32 lanes, cuzk_err *err) {
    for (u32 i = 0; i < lanes; i++) {
        ZK_CUDA_TRY(cudaEventRecord(d->joined[i], d->lane[i]));
        ZK_CUDA_TRY(cudaStreamWaitEvent(d->main, d->joined[i], 0));
    }
    return CUZK_OK;
}

#if defined(ZK_CUDA_EMULATE)
constexpr u32 SPREAD_FROM = 200; /* so that tests take both ways */
#else
constexpr u32 SPREAD_FROM = 1u << 20;
#endif

/* One slice, n > 0. */
template <class F>
cuzk_status msm_slice(xyzz<F> *result, zk_cuda *d, const affine<F> *bases, const fr *scalars, u32 n, msm_shape s,
                      cuzk_err *err) {
    scratch memory(d);
    u32 *planes = nullptr;
    xyzz<F> *gathered = nullptr; /* [n_windows][parts] */
    const u32 n_windows = s.windows.n_windows;
    const u32 parts_most = ceil_div(plan_reduction(1, s.width).weighted(), sum_threads<F>::value);
    msm_lane<F> lanes[MAX_LANES];
    ZK_TRY(memory.take(&planes, (size_t)8 * n, "msm scalars", err));
    ZK_TRY(memory.take(&gathered, (size_t)n_windows * parts_most, "msm window sums", err));
    for (u32 i = 0; i < s.lanes; i++) ZK_TRY(lane_allocate(&lanes[i], memory, d, (int)i, bases, n, s, err));

    /* Worth it where the bases do not stay in the L2 cache, and only if there is room. */
    cuzk_err none = {};
    uint4 *base_x = nullptr;
    if (sizeof(F) == sizeof(fp) && n >= SPREAD_FROM && n < (1u << 30) &&
        memory.take(&base_x, (size_t)4 * n, "msm x coordinates", &none) == CUZK_OK) {
        ZK_RUN(spread_x, ceil_div((u64)4 * n, 256), 256, 0, d->main, base_x, (const affine<fp> *)bases, n);
        for (u32 i = 0; i < s.lanes; i++) lanes[i].chain.base_x = base_x;
    }
    ZK_RUN(prepare_scalars, ceil_div(n, 256), 256, 0, d->main, planes, scalars, n, s.windows);
    ZK_TRY(lanes_fork<F>(d, s.lanes, err));
    const u32 batches = ceil_div(n_windows, s.batch);
    u32 parts = 0, parts_of[MAX_WINDOWS];
    for (u32 b = 0; b < s.lanes && b < batches; b++) ZK_TRY(lane_begin(&lanes[b], planes, n, s, b * s.batch, err));
    for (u32 b = 0; b < batches; b++) {
        msm_lane<F> *l = &lanes[b % s.lanes];
        ZK_CUDA_TRY(cudaStreamSynchronize(l->chain.stream));
        ZK_TRY(lane_finish(l, &parts, err));
        parts_of[b] = parts;
        ZK_CUDA_TRY(cudaMemcpyAsync(gathered + (size_t)l->first * parts_most, l->sums,
                                    (size_t)l->count * parts * sizeof(xyzz<F>), cudaMemcpyDeviceToDevice,
                                    l->chain.stream));
        if (b + s.lanes < batches) ZK_TRY(lane_begin(l, planes, n, s, (b + s.lanes) * s.batch, err));
    }
    ZK_TRY(lanes_join<F>(d, s.lanes, err));
    const size_t bytes = (size_t)n_windows * parts_most * sizeof(xyzz<F>);
    if (bytes > PINNED_BYTES) return ZK_FAIL(err, CUZK_INTERNAL, "msm: %zu bytes of window sums", bytes);
    ZK_CUDA_TRY(cudaMemcpyAsync(d->pinned[0], gathered, bytes, cudaMemcpyDeviceToHost, d->main));
    ZK_CUDA_TRY(cudaStreamSynchronize(d->main));
    const xyzz<F> *sums = (const xyzz<F> *)d->pinned[0];
    xyzz<F> acc = xyzz<F>::infinity();
    for (u32 w = n_windows; w-- > 0;) {
        if (w + 1 < n_windows)
            for (u32 k = s.windows.offset[w]; k < s.windows.offset[w + 1]; k++) xyzz_double(acc);
        const u32 b = w / s.batch;
        for (u32 k = 0; k < parts_of[b]; k++)
            xyzz_add(acc, sums[(size_t)b * s.batch * parts_most + (size_t)(w - b * s.batch) * parts_of[b] + k]);
    }
    xyzz_add(*result, acc);
    return CUZK_OK;
}

/* Device memory of one slice, in bytes; follows lane_allocate. */
template <class F> inline double msm_bytes(double n, const msm_shape &s) {
    const double m = n * s.batch, buckets = (double)s.stride * s.batch, most = m > 2 * buckets ? m : 2 * buckets;
    const double lane = m * 22 + buckets * 30 + (m + 3 * buckets) * sizeof(affine<F>) + most / 2 * sizeof(F) +
                        300e3 * 2 * sizeof(F) + 64e6;
    return 32 * n + lane * s.lanes;
}

template <class F> cuzk_status msm(void *result, zk_cuda *d, zk_dptr bases, zk_dptr scalars, size_t n, cuzk_err *err) {
    xyzz<F> sum = xyzz<F>::infinity();
    if (n >= MAX_POINTS) return ZK_FAIL(err, CUZK_UNSUPPORTED, "msm: %zu points, at most %u", n, MAX_POINTS - 1);
    if (n) {
        ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
        msm_shape s;
        u32 slices = 1;
        const double room = (double)zk_cuda_bytes_free(d);
        plan_msm(&s, d, n);
        while (msm_bytes<F>(ceil_div(n, slices), s) > room) { /* fewer at once, then smaller slices */
            if (s.lanes > 1) {
                s.lanes--;
            } else if (s.batch > 1) {
                s.batch = (s.batch + 1) / 2;
            } else if (slices < 64 && ceil_div(n, slices) > 4096) {
                slices *= 2;
                plan_msm(&s, d, ceil_div(n, slices));
            } else {
                return ZK_FAIL(err, CUZK_OUT_OF_MEMORY,
                               "msm of %zu points: slices of %u need %.0f bytes, %.0f are free", n, ceil_div(n, slices),
                               msm_bytes<F>(ceil_div(n, slices), s), room);
            }
        }
        const u32 slice = ceil_div(n, slices);
        for (size_t at = 0; at < n; at += slice) {
            const u32 here = n - at < slice ? (u32)(n - at) : slice;
            ZK_TRY(msm_slice<F>(&sum, d, (const affine<F> *)bases + at, (const fr *)scalars + at, here, s, err));
        }
    }
    const affine<F> answer = to_affine(sum);
    memcpy(result, &answer, sizeof answer); /* C structures have smaller alignment */
    return CUZK_OK;
}

constexpr u32 SUM_DIRECT = 1u << 20; /* masked sums: so many points are left to mixed additions */
constexpr u32 SUM_BLOCKS = 264;

template <class F>
cuzk_status masked_sum(void *result, zk_cuda *d, zk_dptr bases, zk_dptr bits, size_t n, cuzk_err *err) {
    memset(result, 0, sizeof(affine<F>)); /* infinity */
    if (n >= MAX_POINTS) return ZK_FAIL(err, CUZK_UNSUPPORTED, "masked sum: %zu points, at most %u", n, MAX_POINTS - 1);
    if (n == 0) return CUZK_OK;
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    scratch memory(d);
    u64 *partial = nullptr;
    u32 *refs = nullptr;
    xyzz<F> *sums = nullptr;
    const u32 blocks = ceil_div(n, (u64)MASK_WORDS * 64);
    ZK_TRY(memory.take(&partial, (size_t)blocks + 1, "mask sums", err));
    ZK_TRY(memory.take(&sums, SUM_BLOCKS, "masked sums", err));
    ZK_RUN_BARRIERS(mask_count, blocks, 256, 0, d->main, partial, (const u64 *)bits, (u32)n);
    ZK_CUDA_TRY(cudaMemsetAsync(partial + blocks, 0, sizeof(u64), d->main));
    ZK_RUN_BARRIERS(scan_sums, 1, 256, 0, d->main, partial, blocks + 1);
    ZK_CUDA_TRY(cudaMemcpyAsync(d->pinned[0], partial + blocks, sizeof(u64), cudaMemcpyDeviceToHost, d->main));
    ZK_CUDA_TRY(cudaStreamSynchronize(d->main));
    u32 count = (u32) * (const u64 *)d->pinned[0];
    if (count == 0) return CUZK_OK;
    ZK_TRY(memory.take(&refs, count, "masked refs", err));
    ZK_RUN_BARRIERS(mask_refs, blocks, 256, 0, d->main, refs, partial, (const u64 *)bits, (u32)n);

    add_chain<F> c;
    c.device = d;
    c.stream = d->main;
    c.bases = (const affine<F> *)bases;
    c.pool_size = count;
    extra_refs extra;
    extra.n = 0;
    u32 first = 0, last_base = REF_NONE;
    bool from_bases = true;
    if (count > SUM_DIRECT) {
        ZK_TRY(chain_allocate(c, memory, count / 2 + 1, err));
        ZK_TRY(chain_start(c, err));
        if (count & 1) { /* the odd base out goes to the end */
            ZK_CUDA_TRY(cudaMemcpyAsync(d->pinned[0], refs + count - 1, 4, cudaMemcpyDeviceToHost, d->main));
            ZK_CUDA_TRY(cudaStreamSynchronize(d->main));
            last_base = *(const u32 *)d->pinned[0];
            extra.ref[extra.n++] = last_base;
        }
        while (count > SUM_DIRECT) {
            if (!from_bases && (count & 1)) extra.ref[extra.n++] = REF_POOL | (first + count - 1);
            const u32 next = c.pool_used;
            ZK_TRY(add_round(c, pair_list{from_bases ? (const uint2 *)refs : nullptr, first}, count / 2, err));
            first = next;
            count /= 2;
            from_bases = false;
        }
    }
    auto plain = plain_sum<F>;
    ZK_RUN_BARRIERS(plain, SUM_BLOCKS, sum_threads<F>::value, sum_threads<F>::value * sizeof(xyzz<F>), d->main, sums,
                    (point_source<F>{c.bases, c.pool, c.pool_size, c.base_x}), from_bases ? refs : nullptr, first,
                    count, extra);
    ZK_CUDA_TRY(cudaMemcpyAsync(d->pinned[0], sums, SUM_BLOCKS * sizeof(xyzz<F>), cudaMemcpyDeviceToHost, d->main));
    ZK_CUDA_TRY(cudaStreamSynchronize(d->main));
    const xyzz<F> *host = (const xyzz<F> *)d->pinned[0];
    xyzz<F> acc = xyzz<F>::infinity();
    for (u32 i = 0; i < SUM_BLOCKS; i++) xyzz_add(acc, host[i]);
    const affine<F> answer = to_affine(acc);
    memcpy(result, &answer, sizeof answer);
    return CUZK_OK;
}

} // namespace zk
#endif
