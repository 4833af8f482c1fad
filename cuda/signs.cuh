/* Sums over bits of fixed bases by signs: fewer additions for more memory.
 *
 * A bit is b = (1 + s)/2 with s = 1 or -1, so that sum b_i P_i = (sum P_i + sum s_i P_i)/2. The first sum does not
 * depend on the bits. For the second the bases are taken in groups of k: up to a sign a group contributes one of the
 * 2^(k-1) points P +- Q +- R ..., all of which are stored. That is one addition a group, n/k whatever the bits are,
 * where adding the bases of the set bits takes as many as there are: n/2 of random bits. No list of set bits is needed,
 * and all additions are like any other. k = 3 stores 4/3 n points for n/3 additions, k = 4 2n for n/4; k = 2 stores n
 * and gains nothing.
 *
 * The half is a multiple by (r + 1)/2 of one point, on the host. It is the right one for points of order r, infinity
 * included, which all points of a valid key are. Of a base outside the subgroup another point than the base would be
 * added if its bit is set (none if it is not): with such a key, which `params check` finds, proofs may have other bytes
 * than the CPU's.
 *
 * While a table is built the bases lie at the end of its memory. Group g is written to [2^(k-1) g, 2^(k-1) (g + 1)) and
 * read from k g + (2^(k-1) - k) groups on: what is written first never reaches what is still to be read, as slices are
 * copied out before. */
#ifndef ZK_CUDA_SIGNS_CUH
#define ZK_CUDA_SIGNS_CUH

#include "msm_impl.cuh"

extern "C" {
#include "curve/curve.h"
}

namespace zk {

#if defined(ZK_CUDA_EMULATE)
constexpr u32 SIGNS_SLICE = 1u << 7; /* stored points made at once, so that tests have several */
constexpr size_t SIGNS_LEAST = 40;   /* and lists of toys have tables */
#else
constexpr u32 SIGNS_SLICE = 1u << 21;
constexpr size_t SIGNS_LEAST = 1u << 21; /* saves 0.1 ms, the price of halving a point */
#endif
constexpr u32 SIGNS_LEAST_SLICE = 1024; /* groups, when memory is short */

/* refs[g]: the stored point of group g, negated or not. bits: from the first base of group 0 on, n of them; beyond are
 * bases at infinity. Null: all set. */
__global__ void __launch_bounds__(256) signs_refs(u32 *refs, const u64 *bits, size_t n, u32 groups, u32 together);
/* Step j = 1, 2, ... of a table: of each group's 2^(j-1) sums from pool index `before` on (j = 1: its first base) and
 * base j with both signs. Sum c of 2^j: base t has a minus if bit t - 1 of c is set. n: pairs. */
__global__ void __launch_bounds__(256) signs_pairs(uint2 *pairs, u32 n, u32 j, u32 before, u32 together);

template <class F> struct signs_workspace {
    affine<F> *bases; /* of a slice */
    uint2 *pairs;
    add_chain<F> chain;
};
/* For slices of so many groups. */
template <class F> size_t signs_carve(signs_workspace<F> *w, void *base, const zk_cuda *d, u32 groups, u32 together) {
    carver memory(base);
    const size_t pairs = (size_t)groups << (together - 1); /* of the last step */
    w->chain.pool_size = groups * ((1u << together) - 2);
    memory.take(&w->bases, (size_t)groups * together);
    memory.take(&w->pairs, pairs);
    chain_carve(w->chain, memory, d, pairs);
    memory.take(&w->chain.prefix, pairs * planes_of<F>::value);
    return memory.used;
}

/* += the sum of +- bases of the table. w: for slices of so many groups, which is a multiple of 64 or all. */
template <class F>
cuzk_status signs_add(xyzz<F> *sum, zk_cuda *d, sum_workspace<F> &w, const zk_cuda_signs *t, const u64 *bits,
                      size_t slice, cuzk_err *err) {
    const u32 k = t->together;
    const size_t groups = (t->n + k - 1) / k;
    for (size_t at = 0; at < groups; at += slice) {
        const u32 here = (u32)(groups - at < slice ? groups - at : slice);
        ZK_RUN_EACH(signs_refs, here, 256, d->main, w.refs, bits ? bits + at / 64 * k : nullptr, t->n - at * k, here,
                    k);
        ZK_TRY(sum_refs(sum, d, w, (const affine<F> *)t->sums + (at << (k - 1)), here, err));
    }
    return CUZK_OK;
}

/* The stored points of `here` groups from group `at` on, in steps of one base more. */
template <class F>
cuzk_status signs_slice(affine<F> *sums, zk_cuda *d, signs_workspace<F> &w, const affine<F> *bases, u32 here, u32 k,
                        cuzk_err *err) {
    const u32 n_sums = here << (k - 1);
    auto store_pool = pool_to_points<F>;
    u32 before = 0; /* where the sums of the step before start in the pool */
    ZK_CUDA_TRY(cudaMemcpyAsync(w.bases, bases, (size_t)here * k * sizeof *bases, cudaMemcpyDeviceToDevice, d->main));
    ZK_TRY(chain_start(w.chain, err));
    for (u32 j = 1; j < k; j++) {
        const u32 n = here << j, first = w.chain.pool_used;
        ZK_RUN_EACH(signs_pairs, n, 256, d->main, w.pairs, n, j, before, k);
        ZK_TRY(add_round(w.chain, pair_list{w.pairs, 0}, n, err));
        before = first;
    }
    ZK_RUN_EACH(store_pool, n_sums, 256, d->main, sums, w.chain.source(), before, n_sums);
    return CUZK_OK;
}

template <class F> cuzk_status signs_build(bool *kept, zk_cuda_signs *t, zk_cuda *d, cuzk_err *err) {
    const u32 k = t->together, each = 1u << (k - 1);
    const u32 groups = ceil_div(t->n, k);
    affine<F> *const sums = (affine<F> *)t->sums, *const bases = (affine<F> *)zk_cuda_signs_bases(t);
    workspace_piece piece(d);
    signs_workspace<F> w;
    sum_workspace<F> in_all;
    size_t bytes = 0, sum_slice = sum_slice_of(groups, 1);
    u32 slice = groups < SIGNS_SLICE / each ? groups : SIGNS_SLICE / each;
    memset(t->total, 0, sizeof t->total); /* infinity */
    if (groups == 0) return CUZK_OK;
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    /* One piece for the table and the sum of all afterwards, so that memory is short before the bases are lost. */
    const size_t least = sum_carve(&in_all, nullptr, d, sum_slice_of(groups, groups), false);
    ZK_TRY(fit_slice(&slice, 1, SIGNS_LEAST_SLICE, err, [&](u32 at_once, cuzk_err *e) {
        bytes = signs_carve(&w, nullptr, d, at_once, k);
        if (bytes < least) bytes = least;
        return zk_cuda_alloc(&piece.memory, d, bytes, "sums of points", e);
    }));
    (void)signs_carve(&w, (void *)piece.memory, d, slice, k);
    w.chain.device = d;
    w.chain.stream = d->main;
    w.chain.bases = w.bases;
    w.chain.apart = true;
    ZK_CUDA_TRY(cudaMemsetAsync(bases + t->n, 0, ((size_t)groups * k - t->n) * sizeof *bases, d->main)); /* infinity */
    *kept = false;
    for (u32 at = 0; at < groups; at += slice)
        ZK_TRY(signs_slice(sums + (size_t)at * each, d, w, bases + (size_t)at * k,
                           groups - at < slice ? groups - at : slice, k, err));
    for (size_t slices = 2; sum_carve(&in_all, nullptr, d, sum_slice, false) > bytes; slices *= 2)
        sum_slice = sum_slice_of(groups, slices);
    (void)sum_carve(&in_all, (void *)piece.memory, d, sum_slice, false);
    xyzz<F> all = xyzz<F>::infinity();
    ZK_TRY(signs_add(&all, d, in_all, t, nullptr, sum_slice, err));
    const affine<F> total = to_affine(all);
    memcpy(t->total, &total, sizeof total);
    return CUZK_OK;
}

inline void half_of(zk_g1_affine *a, const zk_fr *half) {
    zk_g1 p;
    zk_g1_from_affine(&p, a);
    zk_g1_mul_var(&p, &p, half);
    zk_g1_to_affine(a, &p);
}
inline void half_of(zk_g2_affine *a, const zk_fr *half) {
    zk_g2 p;
    zk_g2_from_affine(&p, a);
    zk_g2_mul_var(&p, &p, half);
    zk_g2_to_affine(a, &p);
}

template <class F, class Affine>
cuzk_status signs_sum(Affine *result, zk_cuda *d, const zk_cuda_signs *t, zk_dptr bits, cuzk_err *err) {
    const size_t groups = (t->n + t->together - 1) / t->together;
    affine<F> total;
    memset((void *)result, 0, sizeof *result); /* infinity */
    if (groups == 0) return CUZK_OK;
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    memcpy((void *)&total, t->total, sizeof total);
    xyzz<F> sum = to_xyzz(total);
    sum_workspace<F> w;
    workspace_piece piece(d);
    size_t slice;
    ZK_TRY(sum_allocate(&w, &piece, &slice, groups, groups, false, err));
    ZK_TRY(signs_add(&sum, d, w, t, (const u64 *)bits, slice, err));
    total = to_affine(sum);
    static_assert(sizeof total == sizeof *result, "the same bytes");
    memcpy((void *)result, &total, sizeof total);
    zk_fr half;
    zk_fr_from_u64(&half, 2);
    (void)zk_fr_inv_var(&half, &half);
    half_of(result, &half);
    return CUZK_OK;
}

} // namespace zk
#endif
