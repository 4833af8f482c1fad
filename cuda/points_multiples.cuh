/* Multiples of the generator. A scalar is cut into signed digits, one a window, and each picks an entry of the window's
 * table: the multiple is the sum of as many points as there are windows. The points of a slice grow together, window by
 * window, in rounds of affine additions with shared inversions (msm_kernels.cuh): one round reads one window's table,
 * which stays in the L2 cache.
 */
#ifndef ZK_CUDA_POINTS_MULTIPLES_CUH
#define ZK_CUDA_POINTS_MULTIPLES_CUH

#include "points_codec.cuh"

namespace zk {

/* Where the digit of a window lies in the scalar, and the ref of its first table entry. */
struct digit_place {
    u32 bit, width, entry;
};
/* pairs[i]: the sum so far and the entry of the digit at `next`; at the start (sums do not exist yet) the entries of
 * `before` and `next`. planes: of prepare_scalars. */
__global__ void __launch_bounds__(256)
    multiples_pairs(uint2 *pairs, const u32 *planes, u32 n, digit_place before, digit_place next, bool start);
/* Entries m + 1 .. 2m of each window from 1 .. m: pair w m + j is entries j + 1 and m. */
__global__ void __launch_bounds__(256) table_round(uint2 *pairs, u32 n_windows, u32 stride, u32 m);

template <class F>
__global__ void __launch_bounds__(256)
    table_entries(affine<F> *table, point_source<F> source, u32 n_windows, u32 stride, u32 m) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n_windows * m) return;
    const affine<F> p = source.get(REF_POOL | i);
    affine<F> *to = &table[(size_t)(i / m) * stride + m + i % m];
    store(&to->x, p.x);
    store(&to->y, p.y);
}

/* *bad: least index of a point at infinity; may be null. */
template <class F>
__global__ void __launch_bounds__(256)
    place_points(point_sink<F> sink, point_source<F> source, u32 n, unsigned long long *bad) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const affine<F> p = source.get(REF_POOL | i);
    if (bad && p.is_infinity()) atomicMin(bad, (unsigned long long)(sink.first + i));
    affine<F> *to = sink.place(i);
    store(&to->x, p.x);
    store(&to->y, p.y);
}

inline const void *generator_of(fp *) { return &zk_g1_generator; }
inline const void *generator_of(fp2 *) { return &zk_g2_generator; }

template <class F> cuzk_status multiples_build(zk_cuda *d, const multiples_table &table, cuzk_err *err) {
    const u32 n_windows = table.windows.n_windows, stride = table.stride;
    affine<F> *const points = (affine<F> *)table.points;
    scratch memory(d);
    uint2 *pairs = nullptr;
    add_chain<F> c;
    c.device = d;
    c.stream = d->main;
    c.bases = points;
    c.pool_size = n_windows * (stride / 2);
    ZK_TRY(memory.take(&pairs, c.pool_size, "pairs of multiples", err));
    ZK_TRY(chain_allocate(c, memory, c.pool_size, err));
    ZK_TRY(chain_start(c, err));

    affine<F> power;
    memcpy(&power, generator_of((F *)nullptr), sizeof power);
    xyzz<F> p = to_xyzz(power);
    affine<F> *first = (affine<F> *)d->pinned[0]; /* of each window */
    for (u32 w = 0; w < n_windows; w++) {
        first[w] = to_affine(p);
        for (u32 k = table.windows.offset[w]; k < table.windows.offset[w + 1]; k++) xyzz_double(p);
        ZK_CUDA_TRY(
            cudaMemcpyAsync(points + (size_t)w * stride, &first[w], sizeof *first, cudaMemcpyHostToDevice, d->main));
    }
    auto entries = table_entries<F>;
    for (u32 m = 1; m < stride; m *= 2) {
        const u32 n = n_windows * m, blocks = ceil_div(n, 256);
        ZK_RUN(table_round, blocks, 256, 0, d->main, pairs, n_windows, stride, m);
        c.pool_used = 0;
        ZK_TRY(add_round(c, pair_list{pairs, 0}, n, err));
        ZK_RUN(entries, blocks, 256, 0, d->main, points, (point_source<F>{c.bases, c.pool, c.pool_size, nullptr}),
               n_windows, stride, m);
    }
    ZK_CUDA_TRY(cudaStreamSynchronize(d->main));
    return CUZK_OK;
}

#if defined(ZK_CUDA_EMULATE)
template <class F> struct multiples_slice { static constexpr u32 value = 512; };
#else
template <class F> struct multiples_slice {
    static constexpr u32 value = sizeof(F) == sizeof(fp) ? 1u << 22 : 1u << 21;
};
#endif

/* The buffers of a slice of sums. */
template <class F> struct multiplier {
    zk_cuda *device;
    const multiples_table &table;
    std::optional<scratch> memory;
    add_chain<F> chain;
    u32 *planes = nullptr;
    uint2 *pairs = nullptr;
    u32 slice = 0; /* most points at once, a multiple of 64 */

    multiplier(zk_cuda *d, const multiples_table &t) : device(d), table(t) {
        chain.device = d;
        chain.stream = d->main;
        chain.bases = (const affine<F> *)t.points;
    }
    /* For a slice. others: takes what else the caller needs for one of so many points. */
    template <class Others> cuzk_status take(Others others, cuzk_err *err) {
        memory.emplace(device);
        chain.pool_size = slice;
        ZK_TRY(memory->take(&planes, (size_t)8 * slice, "scalars of multiples", err));
        ZK_TRY(memory->take(&pairs, slice, "pairs of multiples", err));
        ZK_TRY(chain_allocate(chain, *memory, slice, err));
        return others(*memory, slice, err);
    }
    /* For slices of up to `most` points, rounded up to a multiple of 64. */
    template <class Others> cuzk_status allocate(size_t most, Others others, cuzk_err *err) {
        slice = most < multiples_slice<F>::value ? (u32)((most + 63) / 64 * 64) : multiples_slice<F>::value;
        return fit_slice(&slice, 64, LEAST_STAGED, err, [&](u32, cuzk_err *e) { return take(others, e); });
    }
    digit_place digit(u32 w) const {
        return digit_place{table.windows.offset[w], table.windows.offset[w + 1] - table.windows.offset[w],
                           w * table.stride};
    }
    /* n <= slice */
    cuzk_status run(point_sink<F> sink, const fr *scalars, u32 n, unsigned long long *bad, cuzk_err *err) {
        const u32 blocks = ceil_div(n, 256);
        ZK_RUN(prepare_scalars, blocks, 256, 0, device->main, planes, scalars, n, table.windows);
        ZK_TRY(chain_start(chain, err));
        for (u32 w = 1; w < table.windows.n_windows; w++) {
            ZK_RUN(multiples_pairs, blocks, 256, 0, device->main, pairs, planes, n, digit(w - 1), digit(w), w == 1);
            chain.pool_used = 0; /* in place: a sum is read and written by one thread, in that order */
            ZK_TRY(add_round(chain, pair_list{pairs, 0}, n, err));
        }
        auto place = place_points<F>;
        ZK_RUN(place, blocks, 256, 0, device->main, sink,
               (point_source<F>{chain.bases, chain.pool, chain.pool_size, nullptr}), n, bad);
        return CUZK_OK;
    }
};

template <class F>
cuzk_status multiples_points(zk_cuda *d, const multiples_table &table, zk_dptr points, zk_dptr scalars, size_t n,
                             cuzk_err *err) {
    multiplier<F> m(d, table);
    ZK_TRY(m.allocate(
        n, [](scratch &, u32, cuzk_err *) { return CUZK_OK; }, err));
    for (size_t at = 0; at < n; at += m.slice) {
        const u32 here = n - at < m.slice ? (u32)(n - at) : m.slice;
        const point_sink<F> sink{(affine<F> *)points, nullptr, nullptr, nullptr, at, 0};
        ZK_TRY(m.run(sink, (const fr *)scalars + at, here, nullptr, err));
    }
    return CUZK_OK;
}

template <class F>
cuzk_status multiples_split(size_t *bad, zk_cuda *d, const multiples_table &table, zk_dptr full, zk_dptr bits,
                            void (*scalars)(void *, zk_fr *, size_t, size_t), void *ctx, size_t n,
                            const uint64_t *is_bit, cuzk_err *err) {
    constexpr size_t fits = STAGING_BYTES / (64 * sizeof(fr) + MASK_BYTES) * 64;
    const size_t most = n < fits ? (n + 63) / 64 * 64 : fits;
    scratch memory(d);
    upload_ring ring;
    multiplier<F> m(d, table);
    least_index worst;
    ZK_TRY(worst.start(d, memory, "least zero", err));
    const auto others = [&ring, d](scratch &s, u32 slice, cuzk_err *e) {
        return ring.start(d, s, 2, slice * sizeof(fr) + slice / 64 * MASK_BYTES, e);
    };
    ZK_TRY(m.allocate(most, others, err));
    point_sink<F> sink{(affine<F> *)full, (affine<F> *)bits, nullptr, nullptr, 0, 0};
    for (; sink.first < n; sink.first += m.slice) {
        const u32 here = (u32)(n - sink.first < m.slice ? n - sink.first : m.slice);
        size_t bytes = here * sizeof(fr), set = 0;
        char *host = nullptr, *arrived = nullptr;
        ZK_TRY(check_cancelled(d, "key generation", err));
        ZK_TRY(ring.next(&host, err));
        scalars(ctx, (zk_fr *)host, sink.first, here);
        if (is_bit) {
            set = put_mask(host + bytes, is_bit, sink.first, here);
            bytes += ceil_div(here, 64) * MASK_BYTES;
        }
        ZK_TRY(ring.send(&arrived, bytes, err));
        if (is_bit) sink_mask(&sink, arrived + here * sizeof(fr), here);
        ZK_TRY(m.run(sink, (const fr *)arrived, here, worst.there, err));
        ZK_TRY(ring.done(err));
        sink.first_bit += set;
    }
    return worst.get(bad, d, n, err);
}

/* Encoded points go home in pieces through two pinned buffers: the host copies one out while the device works on what
 * follows. */
template <class F> struct download_pair {
    static constexpr int FIRST = 2; /* of the staging buffers; the ring of scalars has those before */
    zk_cuda *device;
    uint4 *encoded[2];
    uint8_t *to[2] = {nullptr, nullptr}; /* where the piece under way goes; null: none */
    size_t bytes[2];
    int at = 0;

    cuzk_status start(zk_cuda *d, scratch &memory, size_t piece, cuzk_err *err) {
        device = d;
        for (int k = 0; k < 2; k++)
            ZK_TRY(memory.take(&encoded[k], piece * sizeof(affine<F>) / 16, "encoded points", err));
        return CUZK_OK;
    }
    cuzk_status finish(int k, cuzk_err *err) {
        if (!to[k]) return CUZK_OK;
        ZK_CUDA_TRY(cudaEventSynchronize(device->staging.copied[FIRST + k]));
        memcpy(to[k], device->staging.host[FIRST + k], bytes[k]);
        to[k] = nullptr;
        return CUZK_OK;
    }
    cuzk_status piece(uint8_t *target, const affine<F> *points, u32 n, cuzk_err *err) {
        staging_buffers &s = device->staging;
        auto kernel = encode_points<F>;
        const int k = at;
        at ^= 1;
        ZK_TRY(finish(k, err));
        ZK_RUN_EACH(kernel, n, 128, device->main, encoded[k], points, n);
        ZK_CUDA_TRY(cudaEventRecord(s.consumed[FIRST + k], device->main));
        ZK_CUDA_TRY(cudaStreamWaitEvent(device->lane[1], s.consumed[FIRST + k], 0));
        bytes[k] = (size_t)n * sizeof(affine<F>);
        ZK_CUDA_TRY(cudaMemcpyAsync(s.host[FIRST + k], encoded[k], bytes[k], cudaMemcpyDeviceToHost, device->lane[1]));
        ZK_CUDA_TRY(cudaEventRecord(s.copied[FIRST + k], device->lane[1]));
        to[k] = target;
        return finish(at, err);
    }
};

template <class F>
cuzk_status multiples_encode(zk_cuda *d, const multiples_table &table, uint8_t *encoded, const zk_fr *scalars, size_t n,
                             cuzk_err *err) {
    constexpr size_t fits = STAGING_BYTES / sizeof(fr) / 64 * 64, point_bytes = sizeof(affine<F>);
    upload_ring ring;
    download_pair<F> home;
    multiplier<F> m(d, table);
    affine<F> *points = nullptr;
    const auto piece_of = [](u32 slice) {
        return slice < STAGING_BYTES / point_bytes ? slice : (u32)(STAGING_BYTES / point_bytes);
    };
    const auto others = [&](scratch &s, u32 slice, cuzk_err *e) {
        ZK_TRY(ring.start(d, s, 2, slice * sizeof(fr), e));
        ZK_TRY(home.start(d, s, piece_of(slice), e));
        return s.take(&points, slice, "multiples", e);
    };
    ZK_TRY(m.allocate(n < fits ? n : fits, others, err));
    const u32 piece = piece_of(m.slice);
    for (size_t at = 0; at < n; at += m.slice) {
        const u32 here = (u32)(n - at < m.slice ? n - at : m.slice);
        char *host = nullptr, *arrived = nullptr;
        ZK_TRY(check_cancelled(d, "key generation", err));
        ZK_TRY(ring.next(&host, err));
        memcpy(host, scalars + at, here * sizeof(fr));
        ZK_TRY(ring.send(&arrived, here * sizeof(fr), err));
        const point_sink<F> sink{points, nullptr, nullptr, nullptr, 0, 0};
        ZK_TRY(m.run(sink, (const fr *)arrived, here, nullptr, err));
        ZK_TRY(ring.done(err));
        for (u32 k = 0; k < here; k += piece) {
            const u32 count = here - k < piece ? here - k : piece;
            ZK_TRY(home.piece(encoded + (at + k) * point_bytes, points + k, count, err));
        }
    }
    ZK_TRY(home.finish(0, err));
    return home.finish(1, err);
}

} // namespace zk
#endif
