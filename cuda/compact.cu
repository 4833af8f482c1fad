/* Compaction under static masks: bits and elements of Fr. */
#include "device.cuh"
#include "field.cuh"

#include <vector>

struct zk_cuda_mask {
    zk_cuda *device;
    size_t n, count; /* bits of the mask, those that are set */
    zk_dptr memory;
    const uint64_t *words;
    const uint32_t *rank; /* [words] set bits before a word */
};

namespace zk {
namespace {

constexpr u32 BLOCK = 256;

/* The bits of v where mask is set, moved together (the parallel suffix method of Hacker's Delight, 7-4). */
__device__ inline u64 extract_bits(u64 v, u64 mask) {
    v &= mask;
    u64 zeros = ~mask << 1; /* bit i: parity of the zeros to the right */
#pragma unroll
    for (int i = 0; i < 6; i++) {
        u64 parity = zeros;
#pragma unroll
        for (int s = 1; s < 64; s *= 2) parity ^= parity << s;
        const u64 move = parity & mask, moved = v & move;
        mask = (mask ^ move) | (move >> (1 << i));
        v = (v ^ moved) | (moved >> (1 << i));
        zeros &= ~parity;
    }
    return v;
}

/* A block puts together what 256 words give, then writes it; the words at both ends are shared with its neighbours. */
__global__ void __launch_bounds__(256)
    compact_bits(u32 *out, const u64 *bits, const u64 *mask, const u32 *rank, u32 n_words) {
    __shared__ u32 part[2 * BLOCK + 1];
    const u32 w = blockIdx.x * BLOCK + threadIdx.x;
    const u32 first = rank[blockIdx.x * BLOCK], shift = first % 32;
    for (u32 i = threadIdx.x; i < 2 * BLOCK + 1; i += BLOCK) part[i] = 0;
    __syncthreads();
    const u64 m = w < n_words ? mask[w] : 0;
    if (m) {
        const u64 v = extract_bits(bits[w], m);
        const u32 at = shift + rank[w] - first, s = at % 32;
        const u32 low = (u32)v << s, middle = (u32)(v >> (32 - s)), high = s ? (u32)(v >> 32 >> (32 - s)) : 0;
        if (low) atomicOr(&part[at / 32], low);
        if (middle) atomicOr(&part[at / 32 + 1], middle);
        if (high) atomicOr(&part[at / 32 + 2], high);
    }
    __syncthreads();
    const u32 last = (blockIdx.x + 1) * BLOCK < n_words ? (blockIdx.x + 1) * BLOCK : n_words;
    const u32 end = shift + rank[last] - first, n = (end + 31) / 32;
    for (u32 i = threadIdx.x; i < n; i += BLOCK) {
        u32 *to = &out[first / 32 + i];
        if (i == 0 || i + 1 == n) {
            if (part[i]) atomicOr(to, part[i]);
        } else {
            *to = part[i];
        }
    }
}

/* Two threads an element. */
__global__ void __launch_bounds__(256)
    compact_elements(uint4 *out, const uint4 *values, const u64 *mask, const u32 *rank, u64 n) {
    const u64 piece = (u64)blockIdx.x * BLOCK + threadIdx.x, i = piece / 2;
    if (i >= n) return;
    const u64 word = mask[i / 64], bit = (u64)1 << (i % 64);
    if (!(word & bit)) return;
    const u64 to = rank[i / 64] + (u32)__popcll(word & (bit - 1));
    out[2 * to + piece % 2] = values[piece];
}

/* The words, then from a multiple of 512 bytes on the ranks. */
size_t bytes_of_words(size_t n) { return ((n + 63) / 64 * 8 + 511) & ~(size_t)511; }
size_t bytes_of_mask(size_t n) { return bytes_of_words(n) + ((n + 63) / 64 + 1) * sizeof(u32); }

cuzk_status create(zk_cuda_mask *m, const uint64_t *words, cuzk_err *err) {
    const size_t n_words = (m->n + 63) / 64, word_bytes = bytes_of_words(m->n);
    std::vector<uint64_t> own(words, words + n_words);
    std::vector<u32> rank(n_words + 1);
    if (m->n % 64) own[n_words - 1] &= ((uint64_t)1 << m->n % 64) - 1;
    for (size_t i = 0; i < n_words; i++) rank[i + 1] = rank[i] + (u32)__builtin_popcountll(own[i]);
    m->count = rank[n_words];
    ZK_TRY(zk_cuda_alloc(&m->memory, m->device, bytes_of_mask(m->n), "mask", err));
    m->words = (const uint64_t *)(uintptr_t)m->memory;
    m->rank = (const uint32_t *)(uintptr_t)(m->memory + word_bytes);
    if (n_words) ZK_TRY(zk_cuda_upload(m->device, m->memory, own.data(), n_words * 8, err));
    return zk_cuda_upload(m->device, m->memory + word_bytes, rank.data(), rank.size() * 4, err);
}

} // namespace
} // namespace zk

extern "C" {

cuzk_status zk_cuda_mask_create(zk_cuda_mask **mask, zk_cuda *device, const uint64_t *words, size_t n, cuzk_err *err) {
    *mask = nullptr;
    if (n >> 32) return ZK_FAIL(err, CUZK_UNSUPPORTED, "mask: %zu bits, at most 2^32 - 1", n);
    zk_cuda_mask *m = nullptr;
    const cuzk_status status = zk::guarded(err, "mask", [&] {
        m = new zk_cuda_mask{};
        m->device = device;
        m->n = n;
        return zk::create(m, words, err);
    });
    if (status != CUZK_OK) {
        zk_cuda_mask_destroy(m);
        return status;
    }
    *mask = m;
    return CUZK_OK;
}

size_t zk_cuda_mask_bytes(size_t n) { return zk_cuda_alloc_bytes(zk::bytes_of_mask(n)); }

void zk_cuda_mask_destroy(zk_cuda_mask *m) {
    if (!m) return;
    zk_cuda_free(m->device, m->memory);
    delete m;
}

cuzk_status zk_cuda_compact_bits(zk_cuda *d, const zk_cuda_mask *m, zk_dptr out, zk_dptr bits, cuzk_err *err) {
    using namespace zk;
    const u32 n_words = (u32)((m->n + 63) / 64);
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    if (m->count) ZK_CUDA_TRY(cudaMemsetAsync((void *)out, 0, (m->count + 63) / 64 * 8, d->main));
    if (n_words)
        ZK_RUN_BARRIERS(compact_bits, ceil_div(n_words, BLOCK), BLOCK, 0, d->main, (u32 *)(uintptr_t)out,
                        (const u64 *)(uintptr_t)bits, m->words, m->rank, n_words);
    return CUZK_OK;
}

cuzk_status zk_cuda_compact_fr(zk_cuda *d, const zk_cuda_mask *m, zk_dptr out, zk_dptr values, cuzk_err *err) {
    using namespace zk;
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    if (m->n)
        ZK_RUN_EACH(compact_elements, 2 * (u64)m->n, BLOCK, d->main, (uint4 *)(uintptr_t)out,
                    (const uint4 *)(uintptr_t)values, m->words, m->rank, (u64)m->n);
    return CUZK_OK;
}

} /* extern "C" */
