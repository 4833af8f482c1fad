/* Poseidon with all its S-boxes written down, in the optimised form (src/hash/poseidon.h): by a warp where few hashes
 * are to be made and their latency counts, by a thread where there are many. */
#ifndef ZK_CUDA_SYNTHESIS_POSEIDON_CUH
#define ZK_CUDA_SYNTHESIS_POSEIDON_CUH

#include "synthesis.cuh"

namespace zk {

constexpr u32 POSEIDON_HALF = 4; /* full rounds before and after the partial ones */

/* Where S-box i writes, as ZK_OP_POSEIDON says: the first of the first round (the tag's) nothing, the others of the
 * first round x^2, x^4, output, later ones their input before that. */
struct poseidon_record {
    fr *to;
    u32 width;
    __device__ u32 position(u32 i) const { return i < width ? 3 * (i - 1) : 3 * (width - 1) + 4 * (i - width); }
    __device__ void sbox(u32 i, const fr &x, const fr &x2, const fr &x4, const fr &y) const {
        if (i == 0) return;
        fr *at = to + position(i);
        if (i >= width) store(at++, x);
        store(at, x2);
        store(at + 1, x4);
        store(at + 2, y);
    }
};

/* x^5 + key in place; key may be null */
__device__ inline void poseidon_sbox(fr *x, const fr *key, const poseidon_record &record, u32 i) {
    const fr x2 = mul(*x, *x), x4 = mul(x2, x2);
    fr y = mul(x4, *x);
    if (key) y = add(y, load(key));
    record.sbox(i, *x, x2, x4, y);
    *x = y;
}

/* ---- by a warp ---- */

/* S-boxes on all entries of the state, then the mixing with m (null: none). state: [width], parts: [max(width, 32)],
 * shared memory; the caller's lane must have written the entries `lane`, lane + 32 ... itself. */
__device__ inline void poseidon_full_round(fr *state, fr *parts, u32 lane, u32 t, const fr *keys, const fr *m,
                                           const poseidon_record &record, u32 first_sbox) {
    for (u32 j = lane; j < t; j += 32) {
        fr x = load(&state[j]);
        poseidon_sbox(&x, keys ? keys + j : nullptr, record, first_sbox + j);
        store(&state[j], x);
    }
    __syncwarp();
    if (!m) return;
    const u32 n_parts = t < 32 ? 32 / t : 1; /* lanes for one column */
    for (u32 q = lane; q < t * n_parts; q += 32) {
        const u32 j = q % t;
        fr sum = fr::zero();
        for (u32 i = q / t; i < t; i += n_parts) sum = add(sum, mul(load(&state[i]), load(&m[i * t + j])));
        store(&parts[q], sum);
    }
    __syncwarp();
    for (u32 j = lane; j < t; j += 32) {
        fr sum = load(&parts[j]);
        for (u32 k = 1; k < n_parts; k++) sum = add(sum, load(&parts[k * t + j]));
        store(&state[j], sum);
    }
    __syncwarp();
}

/* All partial rounds. Entries `lane` + 32 k, k < K, are the lane's; entry 0 is lane 0's. While lane 0 squares entry 0,
 * the others multiply theirs with the column of the round, so that a round is four products long. */
template <int K>
__device__ inline void poseidon_partial_rounds(fr *state, u32 lane, u32 t, u32 rounds, const fr *keys, const fr *w,
                                               const fr *v, const poseidon_record &record, u32 first_sbox) {
    fr e[K];
#pragma unroll
    for (int k = 0; k < K; k++) e[k] = lane + 32 * k < t ? load(&state[lane + 32 * k]) : fr::zero();
    const bool own = lane > 0 && lane < t;
    /* The lane's constants, a round ahead. Lane 0 has w[0] for the end of the round, and the key. */
    fr w_next = lane < t ? load(&w[lane]) : fr::zero(), v_next = own ? load(&v[lane - 1]) : fr::zero();
    for (u32 r = 0; r < rounds; r++, w += t, v += t - 1) {
        const fr x = e[0], w_now = w_next, v_now = lane ? v_next : w_next, key = load(&keys[r]);
        const fr p = product(x, lane ? w_now : x);
        if (r + 1 < rounds) {
            if (lane < t) w_next = load(&w[t + lane]);
            if (own) v_next = load(&v[t - 1 + lane - 1]);
        }
        fr others = lane ? p : fr::zero();
#pragma unroll
        for (int k = 1; k < K; k++)
            if (lane + 32 * k < t) others = add(others, product(e[k], load(&w[lane + 32 * k])));
        others = warp_sum(others);
        const fr x4 = product(p, p);
        fr y = add(product(x4, x), key);
        if (lane == 0) record.sbox(first_sbox + r, x, p, x4, y);
        y = broadcast(y);
        e[0] = add(product(y, v_now), lane ? x : others);
#pragma unroll
        for (int k = 1; k < K; k++)
            if (lane + 32 * k < t) e[k] = add(e[k], product(y, load(&v[lane + 32 * k - 1])));
    }
#pragma unroll
    for (int k = 0; k < K; k++)
        if (lane + 32 * k < t) store(&state[lane + 32 * k], e[k]);
    __syncwarp();
}

/* scratch: shared memory of the warp, width + max(width, 32) elements. inputs: operands. */
__device__ inline void poseidon_by_warp(const instance_view &view, const circuit_poseidon &p, const fr &tag,
                                        const u32 *inputs, fr *to, fr *scratch, u32 lane) {
    const u32 t = p.width;
    const fr *constants = view.t.constants, *keys = constants + p.compressed, *mds = constants + p.mds;
    fr *state = scratch, *parts = scratch + t;
    const poseidon_record record = {to, t};
    for (u32 j = lane; j < t; j += 32) store(&state[j], add(j ? view.value(inputs[j - 1]) : tag, load(&keys[j])));
    keys += t;
    u32 sbox = 0;
    for (u32 k = 0; k < POSEIDON_HALF; k++, keys += t, sbox += t)
        poseidon_full_round(state, parts, lane, t, keys, k + 1 < POSEIDON_HALF ? mds : constants + p.pre_sparse, record,
                            sbox);
    if (t <= 32)
        poseidon_partial_rounds<1>(state, lane, t, p.partial_rounds, keys, constants + p.w_hat, constants + p.v_rest,
                                   record, sbox);
    else
        poseidon_partial_rounds<3>(state, lane, t, p.partial_rounds, keys, constants + p.w_hat, constants + p.v_rest,
                                   record, sbox);
    keys += p.partial_rounds;
    sbox += p.partial_rounds;
    for (u32 k = 0; k < POSEIDON_HALF; k++, keys += t, sbox += t) {
        const bool last = k + 1 == POSEIDON_HALF;
        poseidon_full_round(state, parts, lane, t, last ? nullptr : keys, last ? nullptr : mds, record, sbox);
    }
    /* Of the last mixing, the output only. */
    fr sum = fr::zero();
    for (u32 i = lane; i < t; i += 32) sum = add(sum, mul(load(&state[i]), load(&mds[i * t + 1])));
    sum = warp_sum(sum);
    if (lane == 0) store(to + record.position(sbox), sum);
    __syncwarp(); /* scratch may be used again */
}

/* ---- by a thread ---- */

/* Two states of one thread in shared memory, interleaved so that threads of a warp read neighbouring pieces. */
struct thread_states {
    uint4 *shared;
    u32 thread, n_threads;
    __device__ fr get(u32 i) const {
        const uint4 a = shared[2 * i * n_threads + thread], b = shared[(2 * i + 1) * n_threads + thread];
        fr r;
        r.l[0] = a.x, r.l[1] = a.y, r.l[2] = a.z, r.l[3] = a.w;
        r.l[4] = b.x, r.l[5] = b.y, r.l[6] = b.z, r.l[7] = b.w;
        return r;
    }
    __device__ void set(u32 i, const fr &v) const {
        shared[2 * i * n_threads + thread] = make_uint4(v.l[0], v.l[1], v.l[2], v.l[3]);
        shared[(2 * i + 1) * n_threads + thread] = make_uint4(v.l[4], v.l[5], v.l[6], v.l[7]);
    }
};

__device__ inline fr poseidon_column(const thread_states &s, u32 from, u32 t, const fr *m) { /* stride t */
    fr sum = fr::zero();
    for (u32 i = 0; i < t; i++) sum = add(sum, product(s.get(from + i), load(&m[i * t])));
    return sum;
}

__device__ inline void poseidon_by_thread(const instance_view &view, const circuit_poseidon &p, const fr &tag,
                                          const u32 *inputs, fr *to, const thread_states &s) {
    const u32 t = p.width;
    const fr *constants = view.t.constants, *keys = constants + p.compressed, *mds = constants + p.mds;
    const poseidon_record record = {to, t};
    u32 from = 0, sbox = 0;
    for (u32 j = 0; j < t; j++) s.set(j, add(j ? view.value(inputs[j - 1]) : tag, load(&keys[j])));
    keys += t;
    for (u32 half = 0; half < 2; half++) {
        for (u32 k = 0; k < POSEIDON_HALF; k++) {
            const bool last = k + 1 == POSEIDON_HALF, end = half && last;
            for (u32 j = 0; j < t; j++, sbox++) {
                fr x = s.get(from + j);
                poseidon_sbox(&x, end ? nullptr : keys++, record, sbox);
                s.set(from + j, x);
            }
            if (end) break;
            const fr *m = last ? constants + p.pre_sparse : mds;
            for (u32 j = 0; j < t; j++) s.set((from ^ t) + j, poseidon_column(s, from, t, m + j));
            from ^= t;
        }
        if (half) break;
        const fr *w = constants + p.w_hat, *v = constants + p.v_rest;
        fr x = s.get(from);
        for (u32 r = 0; r < p.partial_rounds; r++, sbox++, w += t, v += t - 1) {
            poseidon_sbox(&x, keys++, record, sbox);
            fr sum = product(x, load(&w[0]));
            for (u32 j = 1; j < t; j++) {
                const fr e = s.get(from + j);
                sum = add(sum, product(e, load(&w[j])));
                s.set(from + j, add(e, product(x, load(&v[j - 1]))));
            }
            x = sum;
        }
        s.set(from, x);
    }
    store(to + record.position(sbox), poseidon_column(s, from, t, mds + 1));
}

} // namespace zk
#endif
