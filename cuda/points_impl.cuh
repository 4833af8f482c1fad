/* Points between host and device, and multiples of the generator: what points.cu, points_g1.cu and points_g2.cu share.
 */
#ifndef ZK_CUDA_POINTS_IMPL_CUH
#define ZK_CUDA_POINTS_IMPL_CUH

#include "msm_impl.cuh"

extern "C" {
#include "base/pool.h"
#include "curve/curve.h"

struct zk_cancel; /* base/cancel.h, which is C alone */
cuzk_status zk_cancel_check(const struct zk_cancel *cancel, const char *what, cuzk_err *err) ZK_MUST_USE;
}

#include <optional>

namespace zk {

/* Between slices: CANCELLED once the process is asked to stop. Nothing that was queued goes on then, as the memory it
 * writes may be the host's. */
inline cuzk_status check_cancelled(zk_cuda *d, const char *what, cuzk_err *err) {
    const cuzk_status status = zk_cancel_check(nullptr, what, err);
    if (status != CUZK_OK) drain(d);
    return status;
}

/* ---- staging ---- */

/* Host memory to the device by pinned buffers: the host fills one while the copies of others run on lane 0 and kernels
 * on main work on what has arrived.
 *
 *   start; then for each slice: next (a free pinned buffer), send (its copy; main waits for it), kernels on main, done
 *
 * The events of a buffer outlive the ring: one that starts later waits for what an earlier one left running. */
struct upload_ring {
    zk_cuda *device;
    int slots, at = 0;
    char *arrived[staging_buffers::N];

    cuzk_status start(zk_cuda *d, scratch &memory, int n_slots, size_t bytes_each, cuzk_err *err);
    cuzk_status next(char **host, cuzk_err *err);
    cuzk_status send(char **arrived, size_t bytes, cuzk_err *err);
    cuzk_status done(cuzk_err *err);
};

/* ---- where the points of a slice go ---- */

constexpr size_t LEAST_STAGED = 4096; /* points: there are no smaller slices */
constexpr size_t MASK_BYTES = 12;     /* of 64 points: a word and its rank */

template <class F> struct point_sink {
    affine<F> *full, *bits; /* of the whole array */
    const u64 *words;       /* of the slice; null: all points are full */
    const u32 *rank;        /* bits set in the words before */
    size_t first;           /* index of the slice's first point, a multiple of 64 */
    size_t first_bit;       /* bit points before it */

    __device__ inline affine<F> *place(u32 i) const {
        if (!words) return full + first + i;
        const u64 word = words[i / 64], below = ((u64)1 << (i % 64)) - 1;
        const size_t before = first_bit + rank[i / 64] + (u32)__popcll(word & below);
        return (word >> (i % 64)) & 1 ? bits + before : full + (first + i - before);
    }
};

/* The words of a slice of n points from `first` on and their ranks, as sink.words and sink.rank expect them side by
 * side; returns the bits set. */
inline size_t put_mask(char *to, const uint64_t *is_bit, size_t first, u32 n) {
    const u32 n_words = ceil_div(n, 64);
    u32 sum = 0;
    for (u32 k = 0; k < n_words; k++) {
        u64 word = is_bit[first / 64 + k];
        if (n - k * 64 < 64) word &= ((u64)1 << (n - k * 64)) - 1;
        memcpy(to + (size_t)8 * k, &word, 8);
        memcpy(to + (size_t)8 * n_words + (size_t)4 * k, &sum, 4);
        sum += (u32)__builtin_popcountll(word);
    }
    return sum;
}
template <class F> inline void sink_mask(point_sink<F> *sink, const char *arrived, u32 n) {
    sink->words = (const u64 *)arrived;
    sink->rank = (const u32 *)(arrived + (size_t)8 * ceil_div(n, 64));
}

/* ---- multiples ---- */

/* table[w stride + k - 1] = [k 2^offset[w]] G, 1 <= k <= stride */
struct multiples_table {
    window_plan windows;
    u32 stride;
    zk_dptr points;
};

/* ---- the functions of cuda_kernels.h for one group ---- */

struct chacha_key {
    u32 word[8];
};

struct point_ops {
    size_t point_bytes; /* encoded, and affine */
    cuzk_status (*decode)(size_t *bad, zk_cuda *d, zk_dptr full, zk_dptr bits, const uint8_t *encoded, size_t n,
                          const uint64_t *is_bit, zk_pool *pool, cuzk_err *err);
    cuzk_status (*encode)(zk_cuda *d, zk_dptr encoded, zk_dptr points, size_t n, cuzk_err *err);
    cuzk_status (*build)(zk_cuda *d, const multiples_table &table, cuzk_err *err); /* fills table.points */
    cuzk_status (*multiples)(zk_cuda *d, const multiples_table &table, zk_dptr points, zk_dptr scalars, size_t n,
                             cuzk_err *err);
    cuzk_status (*split)(size_t *bad, zk_cuda *d, const multiples_table &table, zk_dptr full, zk_dptr bits,
                         void (*scalars)(void *, zk_fr *, size_t, size_t), void *ctx, size_t n, const uint64_t *is_bit,
                         cuzk_err *err);
    cuzk_status (*multiples_encoded)(zk_cuda *d, const multiples_table &table, uint8_t *encoded, const zk_fr *scalars,
                                     size_t n, cuzk_err *err);
    cuzk_status (*subgroup)(bool *good, zk_cuda *d, zk_dptr points, size_t n, const chacha_key &key, cuzk_err *err);
};
extern const point_ops points_g1, points_g2;

} // namespace zk
#endif
