/* Points: staging, what does not depend on the group, and the choice of it. */
#include "points_multiples.cuh"

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

struct chacha_key {
    u32 word[8];
};
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

/* bits: [8 n_blocks] words, the ChaCha12 blocks 0 .. n_blocks - 1 of a stream. */
__global__ void __launch_bounds__(256) random_bits(uint4 *bits, u32 n_blocks, chacha_key key, u32 stream) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n_blocks) return;
    u32 input[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, x[16];
#pragma unroll
    for (int k = 0; k < 8; k++) input[4 + k] = key.word[k];
    input[12] = t;
    input[13] = 0;
    input[14] = stream;
    input[15] = 0;
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
    for (int k = 0; k < 4; k++)
        bits[(size_t)4 * t + k] = make_uint4(x[4 * k] + input[4 * k], x[4 * k + 1] + input[4 * k + 1],
                                             x[4 * k + 2] + input[4 * k + 2], x[4 * k + 3] + input[4 * k + 3]);
}

constexpr u32 SUBSET_SUMS = 40;

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

extern "C" {

cuzk_status zk_cuda_points_decode(size_t *bad, zk_cuda *d, int group, zk_dptr full, zk_dptr bits,
                                  const uint8_t *encoded, size_t n, const uint64_t *is_bit, struct zk_pool *pool,
                                  cuzk_err *err) {
    const zk::point_ops *ops = nullptr;
    *bad = n;
    ZK_TRY(zk::choose(&ops, d, group, n, err));
    return n ? ops->decode(bad, d, full, bits, encoded, n, is_bit, pool, err) : CUZK_OK;
}

cuzk_status zk_cuda_points_encode(zk_cuda *d, int group, zk_dptr encoded, zk_dptr points, size_t n, cuzk_err *err) {
    const zk::point_ops *ops = nullptr;
    ZK_TRY(zk::choose(&ops, d, group, n, err));
    return n ? ops->encode(d, encoded, points, n, err) : CUZK_OK;
}

cuzk_status zk_cuda_points_subgroup(bool *good, zk_cuda *d, int group, zk_dptr points, size_t n, const uint8_t seed[32],
                                    cuzk_err *err) {
    const zk::point_ops *ops = nullptr;
    zk::chacha_key key;
    zk::scratch memory(d);
    uint4 *bits = nullptr;
    *good = false;
    ZK_TRY(zk::choose(&ops, d, group, n, err));
    memcpy(key.word, seed, sizeof key.word);
    const uint32_t n_blocks = zk::ceil_div(n, 512);
    ZK_TRY(memory.take(&bits, (size_t)4 * n_blocks, "random subset", err));
    for (uint32_t k = 0; k < zk::SUBSET_SUMS && n; k++) {
        ZK_RUN(zk::random_bits, zk::ceil_div(n_blocks, 256), 256, 0, d->main, bits, n_blocks, key, k);
        ZK_TRY(ops->sum_in_subgroup(good, d, points, (zk_dptr)bits, n, err));
        if (!*good) return CUZK_OK;
    }
    *good = true;
    return CUZK_OK;
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
        if (status == CUZK_OK) status = ops->build(d, m->table, e);
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
    return n ? ops->multiples(m->device, m->table, points, scalars, n, err) : CUZK_OK;
}

cuzk_status zk_cuda_multiples_split(size_t *bad, const zk_cuda_multiples *m, zk_dptr full, zk_dptr bits,
                                    void (*scalars)(void *ctx, struct zk_fr *out, size_t first, size_t n), void *ctx,
                                    size_t n, const uint64_t *is_bit, cuzk_err *err) {
    const zk::point_ops *ops = nullptr;
    *bad = n;
    ZK_TRY(zk::choose(&ops, m->device, m->group, n, err));
    return n ? ops->split(bad, m->device, m->table, full, bits, scalars, ctx, n, is_bit, err) : CUZK_OK;
}

cuzk_status zk_cuda_multiples_encode(const zk_cuda_multiples *m, uint8_t *encoded, const struct zk_fr *scalars,
                                     size_t n, cuzk_err *err) {
    const zk::point_ops *ops = nullptr;
    ZK_TRY(zk::choose(&ops, m->device, m->group, n, err));
    return n ? ops->multiples_encoded(m->device, m->table, encoded, scalars, n, err) : CUZK_OK;
}

} /* extern "C" */
