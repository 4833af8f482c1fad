/* Membership in the subgroup of order r by 40 random subset sums.
 *
 * Every point gets 40 random bits; sum j is over the points whose bit j is set. A point outside is in a sum or not
 * whatever the others do, so each sum is outside with probability 1/2 at least, of whatever order the parts outside
 * are.
 *
 * The sums are not made one by one, which would be n/2 additions each. A pass takes some of the bits together: a point
 * goes into the bucket that its bits name (n additions for the sums of all buckets), then sum j is over the buckets
 * whose number has bit j. Buckets have equal places and a capacity that a random one exceeds about once in 10^15, so
 * the rounds of additions need no planning: neighbours are added until one sum is left in each.
 */
#ifndef ZK_CUDA_POINTS_SUBGROUP_CUH
#define ZK_CUDA_POINTS_SUBGROUP_CUH

#include "points_impl.cuh"

#include <cmath>

namespace zk {

constexpr u32 SUBSET_SUMS = 40;
#if defined(ZK_CUDA_EMULATE)
constexpr u32 PASS_BITS = 7;
constexpr u32 SUBSET_DIRECT = 100;
template <class F> struct deal_slice { static constexpr u32 value = 512; };
#else
constexpr u32 PASS_BITS = 14;
constexpr u32 SUBSET_DIRECT = 1u << 18; /* so few points are summed directly */
template <class F> struct deal_slice { static constexpr u32 value = sizeof(F) == sizeof(fp) ? 1u << 24 : 1u << 23; };
#endif

/* bits: [4 n_blocks] pieces of 16 bytes, the ChaCha12 blocks 0 .. n_blocks - 1 of a stream. */
__global__ void __launch_bounds__(256) random_bits(uint4 *bits, u32 n_blocks, chacha_key key, u32 stream);
/* slots: [n_buckets][capacity], REF_NONE before; each of n points to the next slot of a random bucket. first: of the
 * points, a multiple of 16, where the stream stands. n_buckets: a power of two. counts: [n_buckets], zero before. */
__global__ void __launch_bounds__(256) deal_points(u32 *slots, u32 *counts, u32 *overflow, size_t first, u32 n,
                                                   u32 n_buckets, u32 capacity, chacha_key key, u32 stream);
/* Neighbours of `entries` sums a bucket, from `first` on in the pool; one that is left over is paired with the sum
 * other + b, or with none. */
__global__ void __launch_bounds__(256) bucket_pairs(uint2 *pairs, u32 n_buckets, u32 entries, u32 first, u32 other);
/* Mask of the numbers below 64 n_words that have bit j. */
__global__ void __launch_bounds__(256) numbers_with_bit(u64 *words, u32 n_words, u32 j);

/* Pool indices, not refs; then no sum. */
constexpr u32 NO_OTHER = REF_NONE;

template <class F> struct curve_layer;
template <> struct curve_layer<fp> {
    typedef zk_g1_affine point;
    static constexpr auto masked_sum = zk_cuda_masked_sum_g1;
    static constexpr auto in_subgroup = zk_g1_affine_is_in_subgroup;
};
template <> struct curve_layer<fp2> {
    typedef zk_g2_affine point;
    static constexpr auto masked_sum = zk_cuda_masked_sum_g2;
    static constexpr auto in_subgroup = zk_g2_affine_is_in_subgroup;
};

/* Whether the sum of the points whose bit is set is in the subgroup. */
template <class F>
cuzk_status sum_in_subgroup(bool *good, zk_cuda *d, zk_dptr points, zk_dptr bits, size_t n, cuzk_err *err) {
    typename curve_layer<F>::point sum;
    *good = false;
    ZK_TRY(curve_layer<F>::masked_sum(&sum, d, points, bits, n, err));
    *good = curve_layer<F>::in_subgroup(&sum);
    return CUZK_OK;
}

template <class F>
cuzk_status sums_directly(bool *good, zk_cuda *d, zk_dptr points, size_t n, const chacha_key &key, cuzk_err *err) {
    scratch memory(d);
    uint4 *bits = nullptr;
    const u32 n_blocks = ceil_div(n, 512);
    *good = true;
    ZK_TRY(memory.take(&bits, (size_t)4 * n_blocks, "random subset", err));
    for (u32 k = 0; k < SUBSET_SUMS && *good; k++) {
        ZK_RUN_EACH(random_bits, n_blocks, 256, d->main, bits, n_blocks, key, k);
        ZK_TRY(sum_in_subgroup<F>(good, d, points, (zk_dptr)bits, n, err));
    }
    return CUZK_OK;
}

/* The sums over the points whose bit is set, for up to PASS_BITS bits at a time; its buffers last for all passes.
 *
 * Points are dealt slice by slice into buckets of equal numbers of slots, a slot being a ref. Rounds of additions take
 * neighbouring slots, then neighbouring sums, until a bucket is one sum, which is added to that of the slices before:
 *
 *   pool, in shares of n_slots()    [0, 1/2) and [1/2, 3/4)   sums of odd rounds, and of even ones
 *                                   from 3/4 on               totals: [MOST_BUCKETS], buckets over all slices so far
 *
 * The number of slots is that of MOST_BUCKETS buckets; fewer buckets have more slots each. */
template <class F> struct dealer {
    static constexpr u32 MOST_BUCKETS = 1u << PASS_BITS;
    zk_cuda *device;
    std::optional<scratch> memory;
    add_chain<F> chain;
    u32 slice = 0;             /* points dealt at once, a multiple of 16 */
    u32 capacity = 0;          /* slots of one of MOST_BUCKETS buckets, a multiple of 16 */
    u32 *slots = nullptr;      /* [n_slots()] */
    u32 *counts = nullptr;     /* [MOST_BUCKETS], points in each bucket */
    u32 *overflow = nullptr;   /* not 0: a bucket had no slot left, since the pass began */
    uint2 *pairs = nullptr;    /* [MOST_BUCKETS (capacity / 32 + 1)], of a round over odd numbers of sums */
    affine<F> *sums = nullptr; /* [MOST_BUCKETS], totals as points */
    u64 *words = nullptr;      /* [MOST_BUCKETS / 64], those with one bit */

    u32 n_slots() const { return MOST_BUCKETS * capacity; }
    u32 even_rounds() const { return n_slots() / 2; }
    u32 totals() const { return n_slots() / 4 * 3; }

    /* The number of points in a bucket is nearly Poisson: it exceeds this about once in 10^15. */
    static u32 capacity_for(u32 n, u32 n_buckets) {
        constexpr double deviations = 8;
        const double mean = (double)n / n_buckets;
        return ((u32)(mean + deviations * sqrt(mean)) + 16 + 15) / 16 * 16;
    }

    /* Buffers for as large slices of n points as there is room for, of more than SUBSET_DIRECT points. */
    cuzk_status allocate(zk_cuda *d, size_t n, cuzk_err *err) {
        constexpr size_t masked_sums = 2 << 20; /* bytes that sum_in_subgroup takes of MOST_BUCKETS points, and more */
        scratch reserve(d);
        char *some = nullptr;
        device = d;
        slice = n < deal_slice<F>::value ? (u32)((n + 15) / 16 * 16) : deal_slice<F>::value;
        ZK_TRY(reserve.take(&some, masked_sums, "masked sums of buckets", err));
        return fit_slice(&slice, 16, SUBSET_DIRECT, err, [&](u32, cuzk_err *e) { return allocate_for_slice(e); });
    }
    cuzk_status allocate_for_slice(cuzk_err *err) {
        memory.emplace(device);
        capacity = capacity_for(slice, MOST_BUCKETS);
        chain.device = device;
        chain.stream = device->main;
        chain.pool_size = totals() + MOST_BUCKETS;
        ZK_TRY(memory->take(&slots, n_slots(), "slots of buckets", err));
        ZK_TRY(memory->take(&counts, MOST_BUCKETS + 1, "counts of buckets", err));
        ZK_TRY(memory->take(&pairs, (size_t)MOST_BUCKETS * (capacity / 32 + 1), "pairs of buckets", err));
        ZK_TRY(memory->take(&sums, MOST_BUCKETS, "sums of buckets", err));
        ZK_TRY(memory->take(&words, (MOST_BUCKETS + 63) / 64, "mask of buckets", err));
        overflow = counts + MOST_BUCKETS;
        return chain_allocate(chain, *memory, n_slots() / 2, err);
    }

    /* A round from `entries` sums a bucket at `from` in the pool to half as many at `to`. One that is left over is
     * copied, or with totals_before added to the bucket's total. */
    cuzk_status halve(u32 n_buckets, u32 entries, u32 from, u32 to, u32 totals_before, cuzk_err *err) {
        const u32 n = n_buckets * ((entries + 1) / 2);
        chain.pool_used = to;
        if (entries % 2 == 0) return add_round(chain, pair_list{nullptr, from}, n, err);
        ZK_RUN_EACH(bucket_pairs, n, 256, device->main, pairs, n_buckets, entries, from, totals_before);
        return add_round(chain, pair_list{pairs, 0}, n, err);
    }
    /* Deals n points from number `first_point` on and adds the buckets to their totals. */
    cuzk_status add_slice(const affine<F> *points, size_t first_point, u32 n, u32 n_buckets, const chacha_key &key,
                          u32 stream, cuzk_err *err) {
        const u32 places = n_slots() / n_buckets;
        ZK_CUDA_TRY(cudaMemsetAsync(slots, 0xff, (size_t)n_slots() * sizeof(u32), device->main)); /* REF_NONE */
        ZK_CUDA_TRY(cudaMemsetAsync(counts, 0, n_buckets * sizeof(u32), device->main));
        ZK_RUN(deal_points, ceil_div(n, 16 * 256), 256, 0, device->main, slots, counts, overflow, first_point, n,
               n_buckets, places, key, stream);
        chain.bases = points + first_point;
        ZK_TRY(chain_start(chain, err));
        ZK_TRY(add_round(chain, pair_list{(const uint2 *)slots, 0}, n_slots() / 2, err));
        u32 at = 0;
        for (u32 entries = places / 2; entries > 1; entries = (entries + 1) / 2) {
            const u32 to = at == 0 ? even_rounds() : 0;
            ZK_TRY(halve(n_buckets, entries, at, to, NO_OTHER, err));
            at = to;
        }
        return halve(n_buckets, 1, at, totals(), first_point ? totals() : NO_OTHER, err);
    }
    /* The totals of 2^bits buckets over all n points, to `sums`. */
    cuzk_status sum_buckets(bool *overflowed, const affine<F> *points, size_t n, u32 bits, const chacha_key &key,
                            u32 stream, cuzk_err *err) {
        const u32 n_buckets = 1u << bits;
        auto convert = pool_to_points<F>;
        ZK_CUDA_TRY(cudaMemsetAsync(overflow, 0, sizeof(u32), device->main));
        for (size_t at = 0; at < n; at += slice)
            ZK_TRY(add_slice(points, at, n - at < slice ? (u32)(n - at) : slice, n_buckets, key, stream, err));
        ZK_RUN_EACH(convert, n_buckets, 256, device->main, sums, chain.source(), totals(), n_buckets);
        ZK_CUDA_TRY(cudaMemcpyAsync(device->pinned[0], overflow, sizeof(u32), cudaMemcpyDeviceToHost, device->main));
        ZK_CUDA_TRY(cudaStreamSynchronize(device->main));
        *overflowed = *(const u32 *)device->pinned[0] != 0;
        return CUZK_OK;
    }
    /* `bits` random subset sums. *overflowed: they were not made. */
    cuzk_status pass(bool *good, bool *overflowed, const affine<F> *points, size_t n, u32 bits, const chacha_key &key,
                     u32 stream, cuzk_err *err) {
        const u32 n_buckets = 1u << bits, n_words = ceil_div(n_buckets, 64);
        *good = true;
        ZK_TRY(sum_buckets(overflowed, points, n, bits, key, stream, err));
        for (u32 j = 0; j < bits && *good && !*overflowed; j++) {
            ZK_RUN_EACH(numbers_with_bit, n_words, 256, device->main, words, n_words, j);
            ZK_TRY(sum_in_subgroup<F>(good, device, (zk_dptr)sums, (zk_dptr)words, n_buckets, err));
        }
        return CUZK_OK;
    }
};

template <class F>
cuzk_status points_subgroup(bool *good, zk_cuda *d, zk_dptr points, size_t n, const chacha_key &key, cuzk_err *err) {
    if (n <= SUBSET_DIRECT) return sums_directly<F>(good, d, points, n, key, err);
    std::optional<dealer<F>> deal(std::in_place);
    u32 stream = 0;
    cuzk_err none = {};
    const cuzk_status status = deal->allocate(d, n, &none);
    if (status == CUZK_OUT_OF_MEMORY) {
        deal.reset();
        return sums_directly<F>(good, d, points, n, key, err);
    }
    if (status != CUZK_OK) return ZK_FAIL(err, status, "%s", none.message);
    *good = true;
    for (u32 done = 0; done < SUBSET_SUMS && *good;) {
        const u32 left = SUBSET_SUMS - done, bits = left < PASS_BITS ? left : PASS_BITS;
        bool overflowed = false;
        ZK_TRY(deal->pass(good, &overflowed, (const affine<F> *)points, n, bits, key, stream, err));
        if (!overflowed) done += bits;
        if (++stream == 2 * SUBSET_SUMS) /* cannot be by chance */
            return ZK_FAIL(err, CUZK_INTERNAL, "subgroup check: random buckets overflow again and again");
    }
    return CUZK_OK;
}

} // namespace zk
#endif
