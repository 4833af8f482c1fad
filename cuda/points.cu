/* Points: staging, what does not depend on the group, and the choice of it. */
#include "points_multiples.cuh"
#include "points_subgroup.cuh"

#include <new>

namespace zk {

constexpr size_t MOST_POINTS = (size_t)1 << 31;

static cuzk_status staging_open(zk_cuda *d, cuzk_err *err) {
    staging_buffers &s = d->staging;
    if (s.ready) return CUZK_OK;
    for (int i = 0; i < staging_buffers::N; i++) {
        if (!s.copied[i]) ZK_CUDA_TRY(cudaEventCreateWithFlags(&s.copied[i], cudaEventDisableTiming));
        if (!s.consumed[i]) ZK_CUDA_TRY(cudaEventCreateWithFlags(&s.consumed[i], cudaEventDisableTiming));
        if (!s.host[i]) ZK_CUDA_TRY(cudaMallocHost((void **)&s.host[i], STAGING_BYTES));
    }
    s.ready = true;
    return CUZK_OK;
}

cuzk_status upload_ring::start(zk_cuda *d, scratch &memory, int n_slots, size_t bytes_each, cuzk_err *err) {
    device = d;
    slots = n_slots;
    at = 0;
    if (bytes_each > STAGING_BYTES || n_slots > staging_buffers::N)
        return ZK_FAIL(err, CUZK_INTERNAL, "staging: %d buffers of %zu bytes", n_slots, bytes_each);
    ZK_TRY(staging_open(d, err));
    for (int i = 0; i < slots; i++) ZK_TRY(memory.take(&arrived[i], bytes_each, "staged bytes", err));
    ZK_CUDA_TRY(cudaEventRecord(d->fork, d->main)); /* what held this memory before */
    ZK_CUDA_TRY(cudaStreamWaitEvent(d->lane[0], d->fork, 0));
    return CUZK_OK;
}

cuzk_status upload_ring::next(char **host, cuzk_err *err) {
    ZK_CUDA_TRY(cudaEventSynchronize(device->staging.copied[at]));
    *host = device->staging.host[at];
    return CUZK_OK;
}

cuzk_status upload_ring::send(char **there, size_t bytes, cuzk_err *err) {
    staging_buffers &s = device->staging;
    ZK_CUDA_TRY(cudaStreamWaitEvent(device->lane[0], s.consumed[at], 0));
    ZK_CUDA_TRY(cudaMemcpyAsync(arrived[at], s.host[at], bytes, cudaMemcpyHostToDevice, device->lane[0]));
    ZK_CUDA_TRY(cudaEventRecord(s.copied[at], device->lane[0]));
    ZK_CUDA_TRY(cudaStreamWaitEvent(device->main, s.copied[at], 0));
    *there = arrived[at];
    return CUZK_OK;
}

cuzk_status upload_ring::done(cuzk_err *err) {
    ZK_CUDA_TRY(cudaEventRecord(device->staging.consumed[at], device->main));
    at = (at + 1) % slots;
    return CUZK_OK;
}

/* ---- multiples ---- */

ZK_HD u32 digit_ref(const u32 *planes, u32 n, u32 i, u32 negated, digit_place d) {
    const u32 k = d.bit / 32, s = d.bit % 32, half = 1u << (d.width - 1);
    u32 x = planes[(size_t)k * n + i] >> s;
    if (s + d.width > 32) x |= planes[(size_t)(k + 1) * n + i] << (32 - s);
    x &= 2 * half - 1;
    if (x == half) return REF_NONE;
    return x > half ? (d.entry + (x - half - 1)) | negated : (d.entry + (half - x - 1)) | (negated ^ REF_NEG);
}

__global__ void __launch_bounds__(256)
    multiples_pairs(uint2 *pairs, const u32 *planes, u32 n, digit_place before, digit_place next, bool start) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const u32 negated = planes[(size_t)7 * n + i] & REF_NEG;
    pairs[i] = make_uint2(start ? digit_ref(planes, n, i, negated, before) : REF_POOL | i,
                          digit_ref(planes, n, i, negated, next));
}

__global__ void __launch_bounds__(256) table_round(uint2 *pairs, u32 n_windows, u32 stride, u32 m) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n_windows * m) return;
    const u32 first = i / m * stride;
    pairs[i] = make_uint2(first + i % m, first + m - 1);
}

/* ---- subgroup ---- */

ZK_HD void chacha_quarter(u32 *x, int a, int b, int c, int d) {
    const auto turn = [](u32 v, int k) { return v << k | v >> (32 - k); };
    x[a] += x[b];
    x[d] = turn(x[d] ^ x[a], 16);
    x[c] += x[d];
    x[b] = turn(x[b] ^ x[c], 12);
    x[a] += x[b];
    x[d] = turn(x[d] ^ x[a], 8);
    x[c] += x[d];
    x[b] = turn(x[b] ^ x[c], 7);
}

/* Block `counter` of ChaCha12. */
__device__ inline void chacha_block(u32 *x, const chacha_key &key, u64 counter, u32 stream) {
    const u32 input[16] = {0x61707865,   0x3320646e,           0x79622d32,  0x6b206574,
                           key.word[0],  key.word[1],          key.word[2], key.word[3],
                           key.word[4],  key.word[5],          key.word[6], key.word[7],
                           (u32)counter, (u32)(counter >> 32), stream,      0};
#pragma unroll
    for (int k = 0; k < 16; k++) x[k] = input[k];
    for (int round = 0; round < 12; round += 2) {
        chacha_quarter(x, 0, 4, 8, 12);
        chacha_quarter(x, 1, 5, 9, 13);
        chacha_quarter(x, 2, 6, 10, 14);
        chacha_quarter(x, 3, 7, 11, 15);
        chacha_quarter(x, 0, 5, 10, 15);
        chacha_quarter(x, 1, 6, 11, 12);
        chacha_quarter(x, 2, 7, 8, 13);
        chacha_quarter(x, 3, 4, 9, 14);
    }
#pragma unroll
    for (int k = 0; k < 16; k++) x[k] += input[k];
}

__global__ void __launch_bounds__(256) random_bits(uint4 *bits, u32 n_blocks, chacha_key key, u32 stream) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n_blocks) return;
    u32 x[16];
    chacha_block(x, key, t, stream);
#pragma unroll
    for (int k = 0; k < 4; k++)
        bits[(size_t)4 * t + k] = make_uint4(x[4 * k], x[4 * k + 1], x[4 * k + 2], x[4 * k + 3]);
}

__global__ void __launch_bounds__(256) deal_points(u32 *slots, u32 *counts, u32 *overflow, size_t first, u32 n,
                                                   u32 n_buckets, u32 capacity, chacha_key key, u32 stream) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= ceil_div(n, 16)) return;
    u32 x[16];
    chacha_block(x, key, first / 16 + t, stream);
#pragma unroll
    for (u32 k = 0; k < 16; k++) {
        const u32 i = 16 * t + k;
        if (i >= n) break;
        const u32 bucket = x[k] & (n_buckets - 1), place = atomicAdd(&counts[bucket], 1u);
        if (place < capacity)
            slots[bucket * capacity + place] = i;
        else
            *overflow = 1;
    }
}

__global__ void __launch_bounds__(256) bucket_pairs(uint2 *pairs, u32 n_buckets, u32 entries, u32 first, u32 other) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x, each = (entries + 1) / 2;
    if (i >= n_buckets * each) return;
    const u32 b = i / each, e = i % each * 2, at = first + b * entries + e;
    const u32 left_over = other == NO_OTHER ? REF_NONE : REF_POOL | (other + b);
    pairs[i] = make_uint2(REF_POOL | at, e + 1 < entries ? REF_POOL | (at + 1) : left_over);
}

__global__ void __launch_bounds__(256) numbers_with_bit(u64 *words, u32 n_words, u32 j) {
    const u32 w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= n_words) return;
    const u64 low[6] = {0xaaaaaaaaaaaaaaaau, 0xccccccccccccccccu, 0xf0f0f0f0f0f0f0f0u,
                        0xff00ff00ff00ff00u, 0xffff0000ffff0000u, 0xffffffff00000000u};
    words[w] = j < 6 ? low[j] : (w >> (j - 6)) & 1 ? ~(u64)0 : 0;
}

static cuzk_status choose(const point_ops **ops, zk_cuda *d, int group, size_t n, cuzk_err *err) {
    if (group != 0 && group != 1) return ZK_FAIL(err, CUZK_USAGE, "points: group %d, expected 0 or 1", group);
    if (n > MOST_POINTS) return ZK_FAIL(err, CUZK_UNSUPPORTED, "points: %zu of them, at most %zu", n, MOST_POINTS);
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    *ops = group == 0 ? &points_g1 : &points_g2;
    return CUZK_OK;
}

} // namespace zk

struct zk_cuda_multiples {
    zk_cuda *device;
    int group;
    const zk::point_ops *ops;
    zk::multiples_table table;
};

/* Nothing is to be done for no points. */
template <class Body> static cuzk_status guarded(size_t n, cuzk_err *err, const Body &body) {
    return n ? zk::guarded(err, "points", body) : CUZK_OK;
}

extern "C" {

cuzk_status zk_cuda_points_decode(size_t *bad, zk_cuda *d, int group, zk_dptr full, zk_dptr bits,
                                  const uint8_t *encoded, size_t n, const uint64_t *is_bit, struct zk_pool *pool,
                                  cuzk_err *err) {
    const zk::point_ops *ops = nullptr;
    *bad = n;
    ZK_TRY(zk::choose(&ops, d, group, n, err));
    return guarded(n, err, [&] { return ops->decode(bad, d, full, bits, encoded, n, is_bit, pool, err); });
}

cuzk_status zk_cuda_points_encode(zk_cuda *d, int group, zk_dptr encoded, zk_dptr points, size_t n, cuzk_err *err) {
    const zk::point_ops *ops = nullptr;
    ZK_TRY(zk::choose(&ops, d, group, n, err));
    return guarded(n, err, [&] { return ops->encode(d, encoded, points, n, err); });
}

cuzk_status zk_cuda_points_subgroup(bool *good, zk_cuda *d, int group, zk_dptr points, size_t n, const uint8_t seed[32],
                                    cuzk_err *err) {
    const zk::point_ops *ops = nullptr;
    zk::chacha_key key;
    *good = false;
    ZK_TRY(zk::choose(&ops, d, group, n, err));
    if (n == 0) {
        *good = true;
        return CUZK_OK;
    }
    memcpy(key.word, seed, sizeof key.word);
    const cuzk_status status = guarded(n, err, [&] { return ops->subgroup(good, d, points, n, key, err); });
    if (status != CUZK_OK) *good = false;
    return status;
}

cuzk_status zk_cuda_multiples_create(zk_cuda_multiples **multiples, zk_cuda *d, int group, uint64_t n_expected,
                                     cuzk_err *err) {
    const zk::point_ops *ops = nullptr;
    *multiples = nullptr;
    ZK_TRY(zk::choose(&ops, d, group, 0, err));
    zk_cuda_multiples *m = new (std::nothrow) zk_cuda_multiples{d, group, ops, {}};
    if (!m) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "multiples: no memory for their description");
    /* Additions: one a scalar and window but the first, one a table entry. */
    const auto cost = [n_expected](uint32_t w) {
        return (w - 1) * (double)n_expected + w * (double)((uint64_t)1 << (zk::ceil_div(255, w) - 1));
    };
    uint32_t windows = 16;
    for (uint32_t w = 17; w <= zk::MAX_WINDOWS; w++)
        if (cost(w) < cost(windows)) windows = w;
    cuzk_status status;
    for (;; windows++) { /* narrower tables when memory is short */
        cuzk_err none = {};
        const bool last = windows == zk::MAX_WINDOWS;
        cuzk_err *const e = last ? err : &none;
        zk::plan_windows(&m->table.windows, windows);
        m->table.stride = 1u << (zk::ceil_div(255, windows) - 1);
        status = zk_cuda_alloc(&m->table.points, d, (size_t)windows * m->table.stride * ops->point_bytes,
                               "table of multiples", e);
        if (status == CUZK_OK) status = guarded(1, e, [&] { return ops->build(d, m->table, e); });
        if (status == CUZK_OK) break;
        zk_cuda_free(d, m->table.points);
        m->table.points = 0;
        if (!last && status == CUZK_OUT_OF_MEMORY) continue;
        if (!last) status = ZK_FAIL(err, status, "%s", none.message);
        delete m;
        return status;
    }
    *multiples = m;
    return CUZK_OK;
}

void zk_cuda_multiples_destroy(zk_cuda_multiples *m) {
    if (!m) return;
    zk_cuda_free(m->device, m->table.points);
    delete m;
}

cuzk_status zk_cuda_multiples_points(const zk_cuda_multiples *m, zk_dptr points, zk_dptr scalars, size_t n,
                                     cuzk_err *err) {
    const zk::point_ops *ops = nullptr;
    ZK_TRY(zk::choose(&ops, m->device, m->group, n, err));
    return guarded(n, err, [&] { return ops->multiples(m->device, m->table, points, scalars, n, err); });
}

cuzk_status zk_cuda_multiples_split(size_t *bad, const zk_cuda_multiples *m, zk_dptr full, zk_dptr bits,
                                    void (*scalars)(void *ctx, struct zk_fr *out, size_t first, size_t n), void *ctx,
                                    size_t n, const uint64_t *is_bit, cuzk_err *err) {
    const zk::point_ops *ops = nullptr;
    *bad = n;
    ZK_TRY(zk::choose(&ops, m->device, m->group, n, err));
    return guarded(n, err,
                   [&] { return ops->split(bad, m->device, m->table, full, bits, scalars, ctx, n, is_bit, err); });
}

cuzk_status zk_cuda_multiples_encode(const zk_cuda_multiples *m, uint8_t *encoded, const struct zk_fr *scalars,
                                     size_t n, cuzk_err *err) {
    const zk::point_ops *ops = nullptr;
    ZK_TRY(zk::choose(&ops, m->device, m->group, n, err));
    return guarded(n, err, [&] { return ops->multiples_encoded(m->device, m->table, encoded, scalars, n, err); });
}

} /* extern "C" */
