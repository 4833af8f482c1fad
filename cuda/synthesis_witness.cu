/* The witness: level by level of the program, within an instance step by step. */
#include "synthesis_poseidon.cuh"

#include <algorithm>

namespace zk {
namespace {

constexpr u32 SUM_ROWS = 8; /* of a 32-bit sum, that are loaded ahead of time */

/* Bits of an instance, a byte each. */
struct bit_values {
    uint8_t *v;
    __device__ u32 operator()(u32 i) const { return v[i]; }
};

struct witness_job {
    circuit_tables t;
    const fr *hints;
    u32 *bits;
    fr *full;
    uint8_t *global;
};

__global__ void __launch_bounds__(256) find_bad_hints(u32 *bad, const fr *hints, const u32 *mask, u32 n) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && (mask[i / 32] >> (i % 32) & 1) && !is_reduced(load(&hints[i]))) atomicMin(bad, i);
}

/* Own bits at `v` to bits first .. first + n - 1 of the assignment, which has been cleared. The words at both ends are
 * shared with other instances. A warp makes 32 words, then each lane writes one. */
__device__ __forceinline__ void store_bits(u32 *bits, u32 first, const uint8_t *v, u32 n, const team &team) {
    const u32 from = first / 32, n_words = (first + n - 1) / 32 - from + 1, shift = first % 32, lane = team.lane();
    for (u32 start = team.warp() * 32; start < n_words; start += team.n) {
        u32 mine = 0;
#pragma unroll 8
        for (u32 k = 0; k < 32; k++) {
            const u32 at = (start + k) * 32 + lane - shift;
            const u32 word = __ballot_sync(0xffffffffu, at < n && v[at]);
            if (lane == k) mine = word;
        }
        const u32 w = start + lane;
        if (w >= n_words) continue;
        if (w == 0 || w + 1 == n_words)
            atomicOr(&bits[from + w], mine);
        else
            bits[from + w] = mine;
    }
}

/* Operations other than those on bits: real calls, so that they cost the others no registers. */
struct runner {
    const instance_view &view;
    const bit_values bit;
    const fr *hints;
    fr *scratch; /* of the warp */
    u32 lane;

    __device__ fr lc(u32 first, u32 n) const { return sum_terms(view, bit, first, n, 0, 1); }
    __device__ fr lc_by_warp(u32 first, u32 n) const { return warp_sum(sum_terms(view, bit, first, n, lane, 32)); }
    __device__ void set(u32 operand, const fr &v) const { store(&view.full[view.index(operand)], v); }

    __device__ ZK_NOINLINE void by_thread(const circuit_op &op) const {
        const u32 *hint = (const u32 *)&hints[view.x.first_hint + op.a];
        switch (op.code & 0xffff) {
        case ZK_OP_HINT: {
            const fr v = load((const fr *)hint);
            set(op.dst, is_reduced(v) ? to_mont(v) : fr::zero());
            break;
        }
        case ZK_OP_HINT_BIT:
            bit.v[op.dst] = hint[op.b / 32] >> (op.b % 32) & 1;
            break;
        case ZK_OP_LC:
            set(op.dst, lc(op.a, op.n_a));
            break;
        case ZK_OP_MULADD:
            set(op.dst, add(mul(lc(op.a, op.n_a), lc(op.b, op.n_b)), lc(op.c, op.n_c)));
            break;
        }
    }

    __device__ ZK_NOINLINE void by_warp(const circuit_op &op) const {
        const u32 n = op.code >> 16;
        switch (op.code & 0xffff) {
        case ZK_OP_BITS: {
            const fr v = from_mont(view.value(op.a));
            for (u32 i = lane; i < n; i += 32) {
                const u32 at = op.b + i;
                u32 limb = 0;
#pragma unroll
                for (u32 k = 0; k < 8; k++) limb = at / 32 == k ? v.l[k] : limb;
                bit.v[op.dst + i] = limb >> (at % 32) & 1;
            }
            break;
        }
        case ZK_OP_LC: {
            const fr v = lc_by_warp(op.a, op.n_a);
            if (lane == 0) set(op.dst, v);
            break;
        }
        case ZK_OP_MULADD: {
            const fr a = lc_by_warp(op.a, op.n_a), b = lc_by_warp(op.b, op.n_b), c = lc_by_warp(op.c, op.n_c);
            if (lane == 0) set(op.dst, add(mul(a, b), c));
            break;
        }
        case ZK_OP_POSEIDON:
            poseidon_by_warp(view, view.t.poseidons[op.c], load(&view.t.coefs[op.b]), view.t.lits + op.a,
                             &view.full[view.index(op.dst)], scratch, lane);
            break;
        }
    }
};

/* What a thread needs for its first operation of a step, and its warp for its first sum: loaded a step ahead. */
struct step_operands {
    circuit_bit_op op;
    u32 sum[SUM_ROWS]; /* of the rows, this lane's words */
    __device__ __forceinline__ void load(const circuit_tables &g, const circuit_step &step, const team &team) {
        if (team.thread < step.n_bit_ops) op = g.bit_ops[step.bit_ops + team.thread];
        if (team.warp() >= step.n_sums) return;
        const u32 *words = g.lits + step.sums + team.warp() * step.sum_words + team.lane();
#pragma unroll
        for (u32 k = 0; k < SUM_ROWS; k++)
            if (32 * k < step.sum_words) sum[k] = words[32 * k];
    }
};

__device__ __forceinline__ void run_bit_op(const bit_values &bit, const circuit_bit_op &op) {
    const u32 table = op.x >> 28 | op.y >> 28 << 4;
    bit.v[op.x & 0x0fffffff] = table >> (bit(op.y & 0x0fffffff) | bit(op.z) << 1 | bit(op.w) << 2) & 1;
}

/* A sum of 32-bit words by a warp; `sum` has the first rows. */
__device__ __forceinline__ void run_sum(const bit_values &bit, const u32 *sum, const u32 *words, u32 sum_words,
                                        u32 lane) {
    const u32 dst = __shfl_sync(0xffffffffu, sum[0], SUM32_DST), n = __shfl_sync(0xffffffffu, sum[0], SUM32_N);
    u64 total = __shfl_sync(0xffffffffu, sum[0], SUM32_CONSTANT);
#pragma unroll
    for (u32 k = 1; k < SUM_ROWS; k++)
        if (32 * k < sum_words) total += __ballot_sync(0xffffffffu, (bit(sum[k] >> 1) ^ sum[k]) & 1);
    for (u32 k = SUM_ROWS; 32 * k < sum_words; k++) {
        const u32 lit = words[32 * k + lane];
        total += __ballot_sync(0xffffffffu, (bit(lit >> 1) ^ lit) & 1);
    }
    for (u32 i = lane; i < n; i += 32) bit.v[dst + i] = total >> i & 1;
}

template <bool OTHERS>
__device__ __forceinline__ void run_instance(const witness_job &job, u32 instance, const bit_values &bit, fr *scratch,
                                             const team &team) {
    const circuit_tables &g = job.t;
    const circuit_instance x = g.instances[instance];
    const circuit_template t = g.templates[x.template_id];
    const u32 n_bits = t.own + t.n_own;
    for (u32 i = team.thread; 16 * i < n_bits; i += team.n) ((uint4 *)bit.v)[i] = make_uint4(0, 0, 0, 0);
    team.sync();
#pragma unroll 4
    for (u32 i = team.thread; i <= t.n_ports; i += team.n) {
        const u32 port = i ? g.ports[x.first_port + i - 1] : ZK_PORT_INPUT, at = port & ZK_PORT_INDEX_MASK;
        if (i == 0 || (port & ZK_PORT_KIND_MASK) == ZK_PORT_BIT)
            bit.v[i] = i == 0 || (job.bits[at / 32] >> (at % 32) & 1);
    }
    team.sync();
    const instance_view view = {g, x, job.full};
    const runner run = {view, bit, job.hints, scratch, team.lane()};
    /* Descriptions of steps come two steps ahead, what they name one. */
    const circuit_step *steps = g.steps + t.steps;
    circuit_step step = steps[0], next = steps[1];
    step_operands now = {}, then = {};
    now.load(g, step, team);
    for (u32 s = 0; s < t.n_steps; s++) {
        const circuit_step after = steps[s + 2];
        then.load(g, next, team);
        if (team.thread < step.n_bit_ops) run_bit_op(bit, now.op);
        for (u32 i = team.thread + team.n; i < step.n_bit_ops; i += team.n)
            run_bit_op(bit, g.bit_ops[step.bit_ops + i]);
        for (u32 i = team.warp(); i < step.n_sums; i += team.n_warps()) {
            const u32 *words = g.lits + step.sums + i * step.sum_words;
            if (i >= team.n_warps()) {
#pragma unroll
                for (u32 k = 0; k < SUM_ROWS; k++)
                    if (32 * k < step.sum_words) now.sum[k] = words[32 * k + team.lane()];
            }
            run_sum(bit, now.sum, words, step.sum_words, team.lane());
        }
        const circuit_op *ops = g.ops + step.ops;
        if (OTHERS) {
            for (u32 i = team.thread; i < step.n_lane_ops; i += team.n) run.by_thread(ops[i]);
            for (u32 i = team.warp(); i < step.n_warp_ops; i += team.n_warps()) run.by_warp(ops[step.n_lane_ops + i]);
        }
        team.sync();
        step = next;
        next = after;
        now = then;
    }
    if (t.n_own) store_bits(job.bits, x.first_aux, bit.v + t.own, t.n_own, team);
}

/* Shared memory: scratch of each warp, then the bits. GLOBAL: those are in global memory. OTHERS: there are operations
 * other than those on bits. */
template <bool GLOBAL, bool OTHERS>
__global__ void __launch_bounds__(256, 2)
    run_level(const __grid_constant__ witness_job job, u32 first, u32 scratch_bytes, u32 global_bytes) {
    ZK_DYNAMIC_SHARED(uint8_t, shared);
    const circuit_item item = job.t.items[first + blockIdx.x];
    const u32 warp = threadIdx.x / 32;
    const bool small = item.count > 0;
    if (small && warp >= item.count) return;
    const u32 instance = small ? job.t.list[item.first + warp] : item.first;
    uint8_t *const v = GLOBAL ? job.global + (size_t)item.begin * global_bytes
                              : shared + WARPS * scratch_bytes + (small ? warp * item.stride : 0);
    run_instance<OTHERS>(job, instance, bit_values{v}, (fr *)(shared + warp * scratch_bytes),
                         small ? team{threadIdx.x % 32, 32} : team{threadIdx.x, TEAM});
}

/* Many instances that are one Poseidon permutation each. */
__global__ void __launch_bounds__(64) run_hashes(const __grid_constant__ witness_job job, u32 first, u32 n) {
    ZK_DYNAMIC_SHARED(uint4, shared);
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const circuit_instance x = job.t.instances[job.t.list[first + i]];
    const circuit_template t = job.t.templates[x.template_id];
    const circuit_op op = job.t.ops[job.t.steps[t.steps].ops];
    const instance_view view = {job.t, x, job.full};
    poseidon_by_thread(view, job.t.poseidons[op.c], load(&job.t.coefs[op.b]), job.t.lits + op.a,
                       &job.full[view.index(op.dst)], thread_states{shared, threadIdx.x, blockDim.x});
}

__global__ void set_one(fr *to) { store(to, fr::one()); }

/* Through the pinned buffers of the lanes, in turn. Returns when the last piece is on its way. */
cuzk_status upload_hints(zk_cuda *d, fr *to, const uint8_t *from, size_t bytes, cuzk_err *err) {
    int at = 0;
    for (size_t done = 0; done < bytes; at = (at + 1) % MAX_LANES) {
        const size_t n = bytes - done < PINNED_BYTES ? bytes - done : PINNED_BYTES;
        ZK_CUDA_TRY(cudaEventSynchronize(d->joined[at]));
        memcpy(d->pinned[at], from + done, n);
        ZK_CUDA_TRY(cudaMemcpyAsync((char *)to + done, d->pinned[at], n, cudaMemcpyHostToDevice, d->main));
        ZK_CUDA_TRY(cudaEventRecord(d->joined[at], d->main));
        done += n;
    }
    return CUZK_OK;
}

cuzk_status run_launch(zk_cuda *d, const witness_job &job, const circuit_launch &launch, cuzk_err *err) {
    const auto kernel = launch.kind == circuit_launch::INSTANCES_GLOBAL    ? run_level<true, true>
                        : launch.kind == circuit_launch::INSTANCES_OF_BITS ? run_level<false, false>
                                                                           : run_level<false, true>;
    if (launch.kind == circuit_launch::HASHES) {
        const u32 shared = launch.shared_bytes;
        ZK_CUDA_TRY(cudaFuncSetAttribute(run_hashes, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
        ZK_RUN(run_hashes, ceil_div(launch.n, HASH_THREADS), HASH_THREADS, shared, d->main, job, launch.first,
               launch.n);
        return CUZK_OK;
    }
    ZK_TRY(allow_shared(kernel, launch, err));
    ZK_RUN_BARRIERS(kernel, launch.n, TEAM, launch.shared_bytes, d->main, job, launch.first, launch.scratch_bytes,
                    launch.global_bytes);
    return CUZK_OK;
}

/* Bits of large templates: of the level that has most. */
size_t bytes_of_globals(const zk_cuda_program *p) {
    size_t most = 0;
    for (const circuit_launch &launch : p->witness)
        if (launch.kind == circuit_launch::INSTANCES_GLOBAL)
            most = std::max(most, (size_t)launch.n * launch.global_bytes);
    return most;
}

} // namespace
} // namespace zk

extern "C" size_t zk_cuda_witness_bytes(const zk_cuda_program *p) {
    const size_t globals = zk::bytes_of_globals(p);
    return zk_cuda_alloc_bytes((size_t)p->n_hints * sizeof(zk::fr)) + zk_cuda_alloc_bytes(sizeof(zk::u32)) +
           (globals ? zk_cuda_alloc_bytes(globals) : 0);
}

extern "C" cuzk_status zk_cuda_witness(zk_cuda *d, const zk_cuda_program *p, const uint8_t (*hints)[32], zk_dptr bits,
                                       zk_dptr full, cuzk_err *err) {
    using namespace zk;
    scratch mem(d);
    fr *device_hints;
    u32 *bad, first_bad = UINT32_MAX;
    witness_job job = {p->t, nullptr, (u32 *)(uintptr_t)bits, (fr *)(uintptr_t)full, nullptr};
    const size_t global_bytes = bytes_of_globals(p);
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    ZK_TRY(mem.take(&device_hints, p->n_hints, "private values", err));
    ZK_TRY(mem.take(&bad, 1, "first private value that is out of range", err));
    if (global_bytes) ZK_TRY(mem.take(&job.global, global_bytes, "bits of large templates", err));
    job.hints = device_hints;
    ZK_TRY(upload_hints(d, device_hints, hints[0], (size_t)p->n_hints * 32, err));
    ZK_CUDA_TRY(cudaMemsetAsync(bad, 0xff, sizeof *bad, d->main));
    if (p->n_hints)
        ZK_RUN_EACH(find_bad_hints, p->n_hints, 256, d->main, bad, device_hints, p->t.hint_mask, p->n_hints);
    ZK_CUDA_TRY(cudaMemcpyAsync(d->pinned[0], bad, sizeof *bad, cudaMemcpyDeviceToHost, d->main));
    ZK_CUDA_TRY(cudaEventRecord(d->fork, d->main));
    ZK_CUDA_TRY(cudaMemsetAsync(job.bits, 0, ((size_t)p->n_aux + 63) / 64 * 8, d->main));
    ZK_RUN(set_one, 1, 1, 0, d->main, job.full);
    for (const circuit_launch &launch : p->witness) ZK_TRY(run_launch(d, job, launch, err));
    /* The levels run on while the host hears of the hints. */
    ZK_CUDA_TRY(cudaEventSynchronize(d->fork));
    memcpy(&first_bad, d->pinned[0], sizeof first_bad);
    if (first_bad != UINT32_MAX)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "circuit %s: private value %u is not below r", p->name, first_bad);
    return CUZK_OK;
}
