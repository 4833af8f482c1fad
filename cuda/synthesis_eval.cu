/* A, B, C times the assignment, and the check of the rows. */
#include "synthesis.cuh"

namespace zk {
namespace {

/* Bits of an instance in shared memory, moved up by `shift`, so that the own ones are whole words of the assignment.
 * GLOBAL: only the ports there, own bits where they are. */
template <bool GLOBAL> struct packed_bits {
    const u32 *words, *all;
    u32 shift, own, first_aux;
    __device__ u32 operator()(u32 i) const {
        if (GLOBAL && i >= own) {
            const u32 at = first_aux + i - own;
            return all[at / 32] >> (at % 32) & 1;
        }
        const u32 at = i + shift;
        return words[at / 32] >> (at % 32) & 1;
    }
};

template <bool GLOBAL>
__device__ packed_bits<GLOBAL> load_bits(u32 *words, const circuit_tables &g, const circuit_instance &x,
                                         const circuit_template &t, const u32 *bits, const team &team) {
    const u32 shift = t.n_own && !GLOBAL ? x.first_aux % 32 : 0, before = t.own / 32;
    const u32 n_own = GLOBAL ? 0 : t.n_own, n = n_own ? (shift + n_own + 31) / 32 : 1;
    for (u32 w = team.thread; w < before; w += team.n) words[w] = 0;
    for (u32 w = team.thread; w < n; w += team.n) {
        const u32 word = n_own ? bits[x.first_aux / 32 + w] : 0;
        words[before + w] = w ? word : word & ~((1u << shift) - 1); /* ports may follow into the first */
    }
    team.sync();
    for (u32 i = team.thread; i <= t.n_ports; i += team.n) {
        const u32 port = i ? g.ports[x.first_port + i - 1] : ZK_PORT_INPUT, at = port & ZK_PORT_INDEX_MASK;
        if (i == 0 || ((port & ZK_PORT_KIND_MASK) == ZK_PORT_BIT && (bits[at / 32] >> (at % 32) & 1)))
            atomicOr(&words[(i + shift) / 32], 1u << ((i + shift) % 32));
    }
    team.sync();
    return {words, bits, shift, t.own, x.first_aux};
}

struct eval_job {
    circuit_tables t;
    const u32 *bits;
    fr *full;
    fr *out[3];
};

constexpr u32 NO_VALUE = UINT32_MAX;

/* The number of a value: below N_SMALL a small number, above an element of `full`; NO_VALUE where the row is a sum. */
template <class Bits>
__device__ __forceinline__ u32 row_value(const circuit_row row, const instance_view &view, const Bits &bit) {
    switch (row.x & 3) {
    case ROW_SMALL: {
        const u32 b0 = bit(row.x >> 16), b1 = bit(row.y & 0xffff), b2 = bit(row.y >> 16);
        const u32 c0 = row.x >> 7 & 7, c1 = row.x >> 10 & 7, c2 = row.x >> 13 & 7; /* row_coef */
        return (row.x >> 2 & 31) - ROW_SMALL_BIAS + ZK_ROW_SMALL_MAX + b0 * (c0 + (c0 >> 2)) + b1 * (c1 + (c1 >> 2)) +
               b2 * (c2 + (c2 >> 2)) - 4 * (b0 + b1 + b2);
    }
    case ROW_COPY:
        return N_SMALL + view.index(row.y);
    default:
        return NO_VALUE;
    }
}

/* Rows begin .. end - 1 of an instance. A lane finds out what the value of its row is; then two lanes copy one element,
 * so that a warp writes whole lines. */
template <class Bits>
__device__ __forceinline__ void write_rows(const eval_job &job, const circuit_instance &x, const Bits &bit,
                                           const uint4 *small, u32 begin, u32 end, const team &team) {
    const instance_view view = {job.t, x, job.full};
    const u32 lane = team.lane();
#pragma unroll 1
    for (u32 m = 0; m < 3; m++) {
        fr *const out = job.out[m];
        if (!out) continue;
        const circuit_row *rows = job.t.rows + job.t.templates[x.template_id].rows[m];
        uint4 *const to = (uint4 *)(out + x.first_row);
        for (u32 first = begin + team.warp() * 32; first < end; first += team.n) {
            const u32 value = first + lane < end ? row_value(rows[first + lane], view, bit) : NO_VALUE;
#pragma unroll
            for (u32 half = 0; half < 2; half++) {
                const u32 v = __shfl_sync(0xffffffffu, value, (int)(half * 16 + lane / 2));
                if (v == NO_VALUE) continue;
                const uint4 piece = v < N_SMALL ? small[2 * v + lane % 2]
                                                : ((const uint4 *)job.full)[2 * (size_t)(v - N_SMALL) + lane % 2];
                to[2 * first + 32 * half + lane] = piece;
            }
        }
    }
}

template <bool GLOBAL>
__global__ void __launch_bounds__(256) eval_rows(const __grid_constant__ eval_job job, u32 first_item) {
    ZK_DYNAMIC_SHARED(uint4, shared);
    const circuit_item item = job.t.items[first_item + blockIdx.x];
    const u32 warp = threadIdx.x / 32;
    if (threadIdx.x < 2 * N_SMALL) shared[threadIdx.x] = ((const uint4 *)job.t.small)[threadIdx.x];
    __syncthreads();
    if (item.count && warp >= item.count) return;
    const team team = item.count ? zk::team{threadIdx.x % 32, 32} : zk::team{threadIdx.x, TEAM};
    u32 *words = (u32 *)(shared + 2 * N_SMALL) + (item.count ? warp * (item.stride / 4) : 0);
    const circuit_instance x = job.t.instances[item.count ? job.t.list[item.first + warp] : item.first];
    const circuit_template t = job.t.templates[x.template_id];
    const auto bit = load_bits<GLOBAL>(words, job.t, x, t, job.bits, team);
    write_rows(job, x, bit, shared, item.count ? 0 : item.begin, item.count ? t.n_rows : item.end, team);
}

/* Rows that are sums: long ones by warps, then the others by threads. */
template <bool GLOBAL>
__global__ void __launch_bounds__(256) eval_sums(const __grid_constant__ eval_job job, u32 first_item) {
    ZK_DYNAMIC_SHARED(uint4, shared);
    const circuit_item item = job.t.items[first_item + blockIdx.x];
    const u32 warp = threadIdx.x / 32;
    if (item.count && warp >= item.count) return;
    const team team = item.count ? zk::team{threadIdx.x % 32, 32} : zk::team{threadIdx.x, TEAM};
    u32 *words = (u32 *)shared + (item.count ? warp * (item.stride / 4) : 0);
    const circuit_instance x = job.t.instances[item.count ? job.t.list[item.first + warp] : item.first];
    const circuit_template t = job.t.templates[x.template_id];
    const auto bit = load_bits<GLOBAL>(words, job.t, x, t, job.bits, team);
    const instance_view view = {job.t, x, job.full};
    const u32 begin = item.count ? 0 : item.begin, end = item.count ? t.n_sums : item.end, lane = team.lane();
    const u32 long_end = end < t.n_long ? end : t.n_long, short_begin = begin > t.n_long ? begin : t.n_long;
    for (u32 i = begin + team.warp(); i < long_end; i += team.n_warps()) {
        const circuit_sum sum = job.t.sums[t.sums + i];
        fr *out = job.out[sum.x >> 30];
        if (!out) continue;
        const fr v = warp_sum(sum_terms(view, bit, sum.y, sum.z, lane, 32));
        if (lane == 0) store(&out[x.first_row + (sum.x & SUM_ROW)], v);
    }
    for (u32 i = short_begin + team.thread; i < end; i += team.n) {
        const circuit_sum sum = job.t.sums[t.sums + i];
        fr *out = job.out[sum.x >> 30];
        if (out) store(&out[x.first_row + (sum.x & SUM_ROW)], sum_terms(view, bit, sum.y, sum.z, 0, 1));
    }
}

/* Each thread takes one row of every gridful, and stops where a lower row has been found. */
__global__ void __launch_bounds__(256)
    find_unsatisfied(unsigned long long *least, const fr *a, const fr *b, const fr *c, size_t n) {
    const volatile unsigned long long *seen = least;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n && i < *seen;
         i += (size_t)gridDim.x * blockDim.x)
        if (product(load(&a[i]), load(&b[i])) != load(&c[i])) atomicMin(least, (unsigned long long)i);
}

} // namespace
} // namespace zk

extern "C" {

cuzk_status zk_cuda_evaluate(zk_cuda *d, const zk_cuda_program *p, zk_dptr bits, zk_dptr full, zk_dptr a, zk_dptr b,
                             zk_dptr c, cuzk_err *err) {
    using namespace zk;
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    eval_job job = {p->t, (const u32 *)(uintptr_t)bits, (fr *)(uintptr_t)full, {}};
    const zk_dptr out[3] = {a, b, c};
    for (int m = 0; m < 3; m++) job.out[m] = (fr *)(uintptr_t)out[m];
    for (int pass = 0; pass < 2; pass++)
        for (const circuit_launch &launch : pass ? p->sums : p->rows) {
            const bool global = launch.kind == circuit_launch::INSTANCES_GLOBAL;
            const auto kernel =
                pass ? (global ? eval_sums<true> : eval_sums<false>) : (global ? eval_rows<true> : eval_rows<false>);
            ZK_TRY(allow_shared(kernel, launch, err));
            ZK_RUN_BARRIERS(kernel, launch.n, TEAM, launch.shared_bytes, d->main, job, launch.first);
        }
    const size_t n = (size_t)1 << p->log2_n, n_inputs = p->t.n_inputs;
    for (int m = 0; m < 3; m++) {
        if (!job.out[m]) continue;
        const size_t at = p->n_rows + (m == 0 ? n_inputs : 0);
        if (m == 0)
            ZK_CUDA_TRY(cudaMemcpyAsync(job.out[0] + p->n_rows, job.full, n_inputs * sizeof(fr),
                                        cudaMemcpyDeviceToDevice, d->main));
        ZK_CUDA_TRY(cudaMemsetAsync(job.out[m] + at, 0, (n - at) * sizeof(fr), d->main));
    }
    return CUZK_OK;
}

cuzk_status zk_cuda_first_unsatisfied(size_t *row, zk_cuda *d, zk_dptr a, zk_dptr b, zk_dptr c, size_t n_rows,
                                      cuzk_err *err) {
    using namespace zk;
    scratch mem(d);
    least_index least;
    *row = n_rows;
    if (n_rows == 0) return CUZK_OK;
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    ZK_TRY(least.start(d, mem, "first unsatisfied row", err));
    const u64 blocks = ((u64)n_rows + 255) / 256, most = 8 * (u64)d->multiprocessors;
    ZK_RUN(find_unsatisfied, (u32)(blocks < most ? blocks : most), 256, 0, d->main, least.there,
           (const fr *)(uintptr_t)a, (const fr *)(uintptr_t)b, (const fr *)(uintptr_t)c, n_rows);
    return least.get(row, d, n_rows, err);
}

} /* extern "C" */
