/* Rounds of affine additions, and the masked sum, for one group; the MSM is in msm_lanes.cuh. */
#ifndef ZK_CUDA_MSM_IMPL_CUH
#define ZK_CUDA_MSM_IMPL_CUH

#include "msm_plan.cuh"

namespace zk {

/* Threads of a round, each of which multiplies the denominators of its pairs together. More threads than the chip holds
 * at once even out the end of a launch; more pairs a thread make inversions rarer. */
constexpr u32 ADD_THREADS_MOST = 1024; /* a multiprocessor */
inline u32 add_threads_most(const zk_cuda *d) {
    return (u32)d->multiprocessors * (d->tune_threads ? d->tune_threads : ADD_THREADS_MOST);
}
/* Eight pairs a thread or more where there are as many; four, on a quarter of the threads, where a round is short. */
inline u32 add_threads_for(const zk_cuda *d, u32 n_pairs) {
    const u32 full = add_threads_most(d), few = full / 4;
    if (n_pairs >= full * 8) return full;
    if (n_pairs <= few * 4) return ceil_div(n_pairs, 4); /* latency is what counts */
    return n_pairs <= few * 8 ? few : ceil_div(n_pairs, 8);
}
/* Products that share one inversion: many when there are enough to fill the chip, few when latency is what counts. */
inline u32 invert_share(u32 threads) {
    const u32 share = threads / 4096;
    return share < 1 ? 1 : share > 32 ? 32 : share;
}

constexpr u32 MAX_CHAIN_ROUNDS = 128; /* more than the rounds over buckets and lines together */

/* Buffers of one chain of rounds. */
template <class F> struct add_chain {
    zk_cuda *device;
    cudaStream_t stream;
    const affine<F> *bases;
    const uint4 *base_x = nullptr; /* see point_source, also for more and split */
    const affine<F> *more = nullptr;
    u32 split = BEYOND;
    uint4 *pool = nullptr; /* sums, planes of pool_size */
    u32 pool_used = 0, pool_size;
    uint4 *prefix;        /* [planes_of<F> * most pairs of a round] */
    F *product, *scratch; /* [add_threads_for(most pairs)] */
    u32 *special_counts;  /* [MAX_CHAIN_ROUNDS], zeroed when the chain starts */
    u32 *special_pairs;   /* [most pairs of a round] */
    u32 rounds = 0;
    bool apart = false;  /* no sum of a round lies where one of its points does */
    bool beside = false; /* other chains run at the same time */
    point_source<F> source() const { return point_source<F>{bases, pool, pool_size, base_x, more, split}; }
};

template <class F> cuzk_status chain_allocate(add_chain<F> &c, scratch &memory, size_t most_pairs, cuzk_err *err) {
    const size_t threads = add_threads_most(c.device);
    ZK_TRY(memory.take(&c.pool, (size_t)c.pool_size * 2 * planes_of<F>::value, "sums of points", err));
    ZK_TRY(memory.take(&c.prefix, most_pairs * planes_of<F>::value, "running products", err));
    ZK_TRY(memory.take(&c.product, threads, "products", err));
    ZK_TRY(memory.take(&c.scratch, threads, "inverse scratch", err));
    ZK_TRY(memory.take(&c.special_pairs, most_pairs, "special pairs", err));
    return memory.take(&c.special_counts, MAX_CHAIN_ROUNDS, "special counts", err);
}
/* The same but for prefix and pool from one piece; c.pool_size is set. */
template <class F> void chain_carve(add_chain<F> &c, carver &memory, const zk_cuda *d, size_t most_pairs) {
    const size_t full = add_threads_most(d), few = most_pairs / 4 + 1, threads = few < full ? few : full;
    memory.take(&c.pool, (size_t)c.pool_size * 2 * planes_of<F>::value);
    memory.take(&c.product, threads);
    memory.take(&c.scratch, threads);
    memory.take(&c.special_pairs, most_pairs);
    memory.take(&c.special_counts, MAX_CHAIN_ROUNDS);
}

template <class F> cuzk_status chain_start(add_chain<F> &c, cuzk_err *err) {
    c.rounds = c.pool_used = 0;
    ZK_CUDA_TRY(cudaMemsetAsync(c.special_counts, 0, MAX_CHAIN_ROUNDS * sizeof(u32), c.stream));
    return CUZK_OK;
}

/* Adds n_pairs pairs; the sums are pool[pool_used ...], which grows. TURN: see add_forward; of chains that are apart.
 */
template <class F, bool TURN = false>
cuzk_status add_round(add_chain<F> &c, pair_list list, u32 n_pairs, cuzk_err *err) {
    if (n_pairs == 0) return CUZK_OK;
    if (n_pairs > c.pool_size - c.pool_used)
        return ZK_FAIL(err, CUZK_INTERNAL, "msm: round of %u sums, the pool has room for %u", n_pairs,
                       c.pool_size - c.pool_used);
    if (c.rounds == MAX_CHAIN_ROUNDS) return ZK_FAIL(err, CUZK_INTERNAL, "msm: more than %u rounds", MAX_CHAIN_ROUNDS);
    const special_list specials{c.special_counts + c.rounds++, c.special_pairs};
    const point_source<F> source = c.source();
    /* Large rounds leave half of the chip to others: a forward pass of one then runs beside a backward pass of another.
     */
    const u32 most = add_threads_for(c.device, n_pairs), threads = c.beside && n_pairs / 64 >= most ? most / 2 : most;
    const u32 blocks = ceil_div(threads, ADD_THREADS);
    auto forward = add_forward<F, TURN>;
    constexpr int min_blocks = sizeof(F) == sizeof(fp) ? 4 : 2;
    auto backward = add_backward<F, min_blocks, TURN>;
    auto between = add_between<F>;
    auto invert = invert_products<F>;
    auto special = add_special<F, TURN>;
    const u32 inverters = ceil_div(threads, invert_share(threads)), of_inverters = ceil_div(inverters, 64);
    const u32 of_specials = (u32)c.device->multiprocessors;
    uint4 *out = c.pool + c.pool_used;
    const bool at_once = c.apart && !TURN; /* where a special pair's sum goes its turned x waits */
    ZK_RUN(forward, blocks, ADD_THREADS, 0, c.stream, source, list, n_pairs, threads, c.prefix, c.product, specials,
           c.apart ? out : nullptr);
    if (at_once)
        ZK_RUN(between, of_inverters + of_specials, 64, 0, c.stream, c.product, c.scratch, threads, inverters, out,
               source, list, specials);
    else
        ZK_RUN(invert, of_inverters, 64, 0, c.stream, c.product, c.scratch, threads, inverters);
    ZK_RUN(backward, blocks, ADD_THREADS, 0, c.stream, out, source, list, n_pairs, threads, c.prefix, c.product);
    if (!at_once) ZK_RUN(special, of_specials, 64, 0, c.stream, out, source, list, specials);
    c.pool_used += n_pairs;
    return CUZK_OK;
}

/* Main waits for lanes. */
template <class F> cuzk_status lanes_join(zk_cuda *d, u32 lanes, cuzk_err *err) {
    for (u32 i = 0; i < lanes; i++) {
        ZK_CUDA_TRY(cudaEventRecord(d->joined[i], d->lane[i]));
        ZK_CUDA_TRY(cudaStreamWaitEvent(d->main, d->joined[i], 0));
    }
    return CUZK_OK;
}

/* One piece of a pool, its own queue's or, while it is this one's turn, the common one; given back when the function
 * returns, which also may be in the middle of its work. */
struct workspace_piece {
    zk_cuda *device, *from;
    zk_dptr memory = 0;
    std::unique_lock<std::mutex> turn;
    explicit workspace_piece(zk_cuda *d) : device(d), from(d) {}
    workspace_piece(const workspace_piece &) = delete;
    workspace_piece &operator=(const workspace_piece &) = delete;
    ~workspace_piece() {
        if (memory) drain(device);
        zk_cuda_free(from, memory);
    }
    zk_cuda *common() const { return (device->parent ? device->parent : device)->common; }
    void take_turn() {
        from = common();
        turn = std::unique_lock<std::mutex>(from->turn);
    }
    void end_turn() {
        turn = {};
        from = device;
    }
};

/* ---- masked sum ----
 * The refs of the set bits are added in pairs, round after round, until few enough points are left for mixed additions.
 * Only a multiple of 2^rounds refs goes into the rounds, the few others are left to the end. */
constexpr u32 SUM_BLOCKS = 264; /* two for each multiprocessor of an H200; the host adds their sums */
#if defined(ZK_CUDA_EMULATE)
constexpr u32 SUM_DIRECT = 1u << 10; /* so that tests take both ways */
constexpr size_t SUM_SLICE_UNIT = 64;
#else
constexpr u32 SUM_DIRECT = 1u << 20; /* so many points are left to mixed additions */
constexpr size_t SUM_SLICE_UNIT = 1u << 16;
#endif

template <class F> struct sum_workspace {
    u64 *partial;        /* [blocks of the mask + 1] */
    xyzz<F> *sums;       /* [SUM_BLOCKS] */
    u32 *refs;           /* [count] */
    affine<F> *slice[2]; /* of streamed bases */
    add_chain<F> chain;
};
/* For slices of n points. */
template <class F> size_t sum_carve(sum_workspace<F> *w, void *base, const zk_cuda *d, size_t n, bool streamed) {
    carver memory(base);
    for (u32 k = 0; streamed && k < 2; k++) memory.take(&w->slice[k], n);
    memory.take(&w->partial, ceil_div(n, (u64)MASK_WORDS * 64) + 1);
    memory.take(&w->sums, SUM_BLOCKS);
    memory.take(&w->refs, n);
    if (n > SUM_DIRECT) {
        const size_t half = n / 2;
        w->chain.pool_size = (u32)(half + half / 2); /* the round before, and this one */
        chain_carve(w->chain, memory, d, half);
        memory.take(&w->chain.prefix, half * planes_of<F>::value);
    }
    return memory.used;
}

/* += the sum of the points that w.refs name, count > 0. */
template <class F>
cuzk_status sum_refs(xyzz<F> *result, zk_cuda *d, sum_workspace<F> &w, const affine<F> *bases, u32 count,
                     cuzk_err *err) {
    add_chain<F> &c = w.chain;
    u32 rounds = 0, left = count, first = 0;
    c.device = d;
    c.stream = d->main;
    c.bases = bases;
    c.apart = true;
    while (count >> rounds > SUM_DIRECT) rounds++;
    if (rounds) {
        const u32 half = count >> rounds << (rounds - 1); /* sums of the first round */
        ZK_TRY(chain_start(c, err));
        for (u32 r = 1; r <= rounds; r++) {
            c.pool_used = r & 1 ? 0 : half; /* rounds go to and fro between two places */
            const u32 next = c.pool_used;
            ZK_TRY(add_round(c, pair_list{r == 1 ? (const uint2 *)w.refs : nullptr, first}, half >> (r - 1), err));
            first = next;
        }
        left = count >> rounds;
    }
    const u32 taken = left << rounds;
    auto plain = plain_sum<F>;
    ZK_RUN_BARRIERS(plain, SUM_BLOCKS, sum_threads<F>::value, sum_threads<F>::value * sizeof(xyzz<F>), d->main, w.sums,
                    c.source(), rounds ? nullptr : w.refs, first, left, w.refs + taken, count - taken);
    ZK_CUDA_TRY(cudaMemcpyAsync(d->pinned[0], w.sums, SUM_BLOCKS * sizeof(xyzz<F>), cudaMemcpyDeviceToHost, d->main));
    ZK_CUDA_TRY(cudaStreamSynchronize(d->main));
    const xyzz<F> *host = (const xyzz<F> *)d->pinned[0];
    for (u32 i = 0; i < SUM_BLOCKS; i++) xyzz_add(*result, host[i]);
    return CUZK_OK;
}

/* += the sum of a slice, n > 0. */
template <class F>
cuzk_status sum_slice(xyzz<F> *result, zk_cuda *d, sum_workspace<F> &w, const affine<F> *bases, const u64 *bits, u32 n,
                      cuzk_err *err) {
    const u32 blocks = ceil_div(n, (u64)MASK_WORDS * 64);
    ZK_RUN_BARRIERS(mask_count, blocks, 256, 0, d->main, w.partial, bits, n);
    ZK_CUDA_TRY(cudaMemsetAsync(w.partial + blocks, 0, sizeof(u64), d->main));
    ZK_RUN_BARRIERS(scan_sums, 1, 256, 0, d->main, w.partial, blocks + 1);
    ZK_CUDA_TRY(cudaMemcpyAsync(d->pinned[0], w.partial + blocks, sizeof(u64), cudaMemcpyDeviceToHost, d->main));
    ZK_RUN_BARRIERS(mask_refs, blocks, 256, 0, d->main, w.refs, w.partial, bits, n);
    ZK_CUDA_TRY(cudaStreamSynchronize(d->main));
    const u32 count = (u32) * (const u64 *)d->pinned[0];
    return count ? sum_refs(result, d, w, bases, count, err) : CUZK_OK;
}

/* Slices are whole words of the mask. */
inline size_t sum_slice_of(size_t n, size_t slices) {
    const size_t each = (n + slices - 1) / slices,
                 whole = (each + SUM_SLICE_UNIT - 1) / SUM_SLICE_UNIT * SUM_SLICE_UNIT;
    return whole < n ? whole : n;
}
/* Takes the largest slices that there is room for, at most `most` points if that can be. */
template <class F>
cuzk_status sum_allocate(sum_workspace<F> *w, workspace_piece *piece, size_t *slice, size_t n, size_t most,
                         bool streamed, cuzk_err *err) {
    zk_cuda *d = piece->device;
    size_t before = 0, bytes = 0;
    for (size_t slices = 1;; slices *= 2) {
        *slice = sum_slice_of(n, slices);
        if (*slice == before) break;
        before = *slice;
        if (*slice > most && *slice > SUM_SLICE_UNIT) continue;
        bytes = sum_carve(w, nullptr, d, *slice, streamed);
        if (bytes > zk_cuda_bytes_free(d)) continue;
        cuzk_err none = {};
        const cuzk_status status = zk_cuda_alloc(&piece->memory, d, bytes, "masked sum", &none);
        if (status == CUZK_OUT_OF_MEMORY) continue;
        if (status != CUZK_OK) return ZK_FAIL(err, status, "%s", none.message);
        (void)sum_carve(w, (void *)piece->memory, d, *slice, streamed);
        return CUZK_OK;
    }
    return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "masked sum of %zu points: slices of %zu need %zu bytes, %zu are free", n,
                   *slice, bytes, zk_cuda_bytes_free(d));
}

template <class F>
void sum_extremes(size_t *best, size_t *least, const zk_cuda *d, size_t n, size_t most, bool streamed) {
    sum_workspace<F> w;
    *best = *least = 0;
    for (size_t slices = 1, before = 0; n; slices *= 2) {
        const size_t slice = sum_slice_of(n, slices);
        if (slice == before) break;
        before = slice;
        if (slice > most && slice > SUM_SLICE_UNIT) continue;
        const size_t bytes = sum_carve(&w, nullptr, d, slice, streamed);
        if (*best == 0) *best = bytes;
        *least = bytes;
    }
}
template <class F> void masked_sum_bytes(size_t *best, size_t *least, const zk_cuda *d, size_t n) {
    sum_extremes<F>(best, least, d, n, n, false);
}

template <class F>
cuzk_status masked_sum(void *result, zk_cuda *d, zk_dptr bases, zk_dptr bits, size_t n, cuzk_err *err) {
    xyzz<F> sum = xyzz<F>::infinity();
    if (n >= MAX_POINTS) return ZK_FAIL(err, CUZK_UNSUPPORTED, "masked sum: %zu points, at most %u", n, MAX_POINTS - 1);
    if (n) {
        ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
        sum_workspace<F> w;
        workspace_piece piece(d);
        size_t slice;
        ZK_TRY(sum_allocate(&w, &piece, &slice, n, n, false, err));
        for (size_t at = 0; at < n; at += slice) {
            const u32 here = n - at < slice ? (u32)(n - at) : (u32)slice;
            ZK_TRY(sum_slice(&sum, d, w, (const affine<F> *)bases + at, (const u64 *)bits + at / 64, here, err));
        }
    }
    const affine<F> answer = to_affine(sum);
    memcpy(result, &answer, sizeof answer); /* C structures have smaller alignment */
    return CUZK_OK;
}

} // namespace zk
#endif
