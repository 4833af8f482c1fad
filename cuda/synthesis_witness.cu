/* The witness: level by level of the program, within an instance step by step. */
#include "synthesis_poseidon.cuh"

namespace zk {
namespace {

constexpr u32 HASH_THREADS = 64;

/* Bits of an instance, a byte each. */
template <bool GLOBAL> struct bit_values {
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
 * shared with other instances. */
__device__ void store_bits(u32 *bits, u32 first, const uint8_t *v, u32 n, const team &team) {
    const u32 from = first / 32, to = (first + n - 1) / 32, lane = team.lane();
    for (u32 w = from + team.warp(); w <= to; w += team.n_warps()) {
        const u32 at = w * 32 + lane;
        const u32 word = __ballot_sync(0xffffffffu, at >= first && at < first + n && v[at - first]);
        if (lane) continue;
        if (w == from || w == to)
            atomicOr(&bits[w], word);
        else
            bits[w] = word;
    }
}

template <class Bits> struct runner {
    const instance_view &view;
    const Bits bit;
    const fr *hints;
    fr *scratch; /* of the warp */
    u32 lane;

    __device__ fr lc(u32 first, u32 n) const { return sum_terms(view, bit, first, n, 0, 1); }
    __device__ fr lc_by_warp(u32 first, u32 n) const { return warp_sum(sum_terms(view, bit, first, n, lane, 32)); }
    __device__ void set(u32 operand, const fr &v) const { store(&view.full[view.index(operand)], v); }

    __device__ void by_thread(const circuit_op &op) const {
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

    __device__ void by_warp(const circuit_op &op) const {
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
        case ZK_OP_SUM32: {
            const u32 *lits = view.t.lits + op.a + lane;
            u64 sum = op.c;
            for (u32 k = 0; k < op.b; k++) {
                const u32 lit = lits[32 * k];
                sum += __ballot_sync(0xffffffffu, (bit(lit >> 1) ^ lit) & 1);
            }
            for (u32 i = lane; i < n; i += 32) bit.v[op.dst + i] = sum >> i & 1;
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

__device__ inline u32 is_set(const u32 *bits, u32 i) { return bits[i / 32] >> (i % 32) & 1; }

template <class Bits>
__device__ void run_instance(const witness_job &job, u32 instance, const Bits &bit, fr *scratch, const team &team) {
    const circuit_tables &g = job.t;
    const circuit_instance x = g.instances[instance];
    const circuit_template t = g.templates[x.template_id];
    const u32 n_bits = t.own + t.n_own;
    for (u32 i = team.thread; 16 * i < n_bits; i += team.n) ((uint4 *)bit.v)[i] = make_uint4(0, 0, 0, 0);
    team.sync();
    for (u32 i = team.thread; i <= t.n_ports; i += team.n) {
        const u32 port = i ? g.ports[x.first_port + i - 1] : ZK_PORT_INPUT;
        if (i == 0 || (port & ZK_PORT_KIND_MASK) == ZK_PORT_BIT)
            bit.v[i] = i == 0 || is_set(job.bits, port & ZK_PORT_INDEX_MASK);
    }
    team.sync();
    const instance_view view = {g, x, job.full};
    const runner<Bits> run = {view, bit, job.hints, scratch, team.lane()};
    for (u32 s = 0; s < t.n_steps; s++) {
        const circuit_step step = g.steps[t.steps + s];
        for (u32 i = team.thread; i < step.n_bit_ops; i += team.n) {
            const circuit_bit_op op = g.bit_ops[step.bit_ops + i];
            const u32 table = op.x >> 28 | op.y >> 28 << 4;
            bit.v[op.x & 0x0fffffff] = table >> (bit(op.y & 0x0fffffff) | bit(op.z) << 1 | bit(op.w) << 2) & 1;
        }
        for (u32 i = team.thread; i < step.n_lane_ops; i += team.n) run.by_thread(g.ops[step.lane_ops + i]);
        for (u32 i = team.warp(); i < step.n_warp_ops; i += team.n_warps()) run.by_warp(g.ops[step.warp_ops + i]);
        team.sync();
    }
    if (t.n_own) store_bits(job.bits, x.first_aux, bit.v + t.own, t.n_own, team);
}

/* Shared memory: scratch of each warp, then the bits. */
template <bool GLOBAL>
__global__ void __launch_bounds__(256, 2) run_level(witness_job job, u32 first, u32 scratch_bytes, u32 global_bytes) {
    ZK_DYNAMIC_SHARED(uint8_t, shared);
    const circuit_item item = job.t.items[first + blockIdx.x];
    const u32 warp = threadIdx.x / 32;
    fr *scratch = (fr *)(shared + warp * scratch_bytes);
    uint8_t *v = shared + WARPS * scratch_bytes;
    if (GLOBAL) {
        run_instance(job, item.first, bit_values<true>{job.global + (size_t)item.begin * global_bytes}, scratch,
                     team{threadIdx.x, TEAM});
    } else if (item.count == 0) {
        run_instance(job, item.first, bit_values<false>{v}, scratch, team{threadIdx.x, TEAM});
    } else if (warp < item.count) {
        run_instance(job, job.t.list[item.first + warp], bit_values<false>{v + warp * item.stride}, scratch,
                     team{threadIdx.x % 32, 32});
    }
}

/* Many instances that are one Poseidon permutation each. */
__global__ void __launch_bounds__(64) run_hashes(witness_job job, u32 first, u32 n) {
    ZK_DYNAMIC_SHARED(uint4, shared);
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const circuit_instance x = job.t.instances[job.t.list[first + i]];
    const circuit_template t = job.t.templates[x.template_id];
    const circuit_op op = job.t.ops[job.t.steps[t.steps].warp_ops];
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

cuzk_status run_launch(const zk_cuda_program *p, const witness_job &job, const circuit_launch &launch, cuzk_err *err) {
    zk_cuda *d = p->device;
    const auto kernel = launch.kind == circuit_launch::INSTANCES_GLOBAL ? run_level<true> : run_level<false>;
    if (launch.kind == circuit_launch::HASHES) {
        const u32 shared = launch.shared_bytes * HASH_THREADS;
        ZK_CUDA_TRY(cudaFuncSetAttribute(run_hashes, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
        ZK_RUN(run_hashes, ceil_div(launch.n, HASH_THREADS), HASH_THREADS, shared, d->main, job, launch.first,
               launch.n);
        return CUZK_OK;
    }
    ZK_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)launch.shared_bytes));
    ZK_RUN_BARRIERS(kernel, launch.n, TEAM, launch.shared_bytes, d->main, job, launch.first, launch.scratch_bytes,
                    launch.global_bytes);
    return CUZK_OK;
}

} // namespace
} // namespace zk

extern "C" cuzk_status zk_cuda_witness(const zk_cuda_program *p, const uint8_t (*hints)[32], zk_dptr bits, zk_dptr full,
                                       cuzk_err *err) {
    using namespace zk;
    zk_cuda *d = p->device;
    scratch mem(d);
    fr *device_hints;
    u32 *bad, first_bad = UINT32_MAX;
    witness_job job = {p->t, nullptr, (u32 *)(uintptr_t)bits, (fr *)(uintptr_t)full, nullptr};
    size_t global_bytes = 0;
    for (const circuit_launch &launch : p->witness)
        if (launch.kind == circuit_launch::INSTANCES_GLOBAL) {
            const size_t bytes = (size_t)launch.n * launch.global_bytes;
            if (bytes > global_bytes) global_bytes = bytes;
        }
    ZK_TRY(mem.take(&device_hints, p->n_hints, "private values", err));
    ZK_TRY(mem.take(&bad, 1, "first private value that is out of range", err));
    if (global_bytes) ZK_TRY(mem.take(&job.global, global_bytes, "bits of large templates", err));
    job.hints = device_hints;
    ZK_TRY(upload_hints(d, device_hints, hints[0], (size_t)p->n_hints * 32, err));
    ZK_CUDA_TRY(cudaMemsetAsync(bad, 0xff, sizeof *bad, d->main));
    if (p->n_hints)
        ZK_RUN(find_bad_hints, ceil_div(p->n_hints, 256), 256, 0, d->main, bad, device_hints, p->t.hint_mask,
               p->n_hints);
    ZK_CUDA_TRY(cudaMemcpyAsync(d->pinned[0], bad, sizeof *bad, cudaMemcpyDeviceToHost, d->main));
    ZK_CUDA_TRY(cudaEventRecord(d->fork, d->main));
    ZK_CUDA_TRY(cudaMemsetAsync(job.bits, 0, ((size_t)p->n_aux + 63) / 64 * 8, d->main));
    ZK_RUN(set_one, 1, 1, 0, d->main, job.full);
    for (const circuit_launch &launch : p->witness) ZK_TRY(run_launch(p, job, launch, err));
    /* The levels run on while the host hears of the hints. */
    ZK_CUDA_TRY(cudaEventSynchronize(d->fork));
    memcpy(&first_bad, d->pinned[0], sizeof first_bad);
    if (first_bad != UINT32_MAX)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "circuit %s: private value %u is not below r", p->name, first_bad);
    return CUZK_OK;
}
