/* Sums over bits by signs: what does not depend on the group. */
#include "signs.cuh"

namespace zk {

__global__ void __launch_bounds__(256) signs_refs(u32 *refs, const u64 *bits, size_t n, u32 groups, u32 together) {
    const u32 g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= groups) return;
    const size_t at = (size_t)g * together, word = at / 64, shift = at % 64;
    u64 v = ~(u64)0;
    if (bits) {
        v = bits[word] >> shift; /* the first base of a group is there */
        if (shift + together > 64 && (word + 1) * 64 < n) v |= bits[word + 1] << (64 - shift);
    }
    const u32 others = (1u << (together - 1)) - 1, plus = (u32)v & 1;
    const u32 signs = (u32)(plus ? ~v : v) >> 1 & others; /* against that of the first base */
    refs[g] = g << (together - 1) | signs | (plus ? 0 : REF_NEG);
}

__global__ void __launch_bounds__(256) signs_pairs(uint2 *pairs, u32 n, u32 j, u32 before, u32 together) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const u32 half = 1u << (j - 1), g = i >> j, c = i & (2 * half - 1), base = g * together;
    pairs[i] = make_uint2(j == 1 ? base : REF_POOL | (before + g * half + (c & (half - 1))),
                          (base + j) | (c & half ? REF_NEG : 0));
}

extern template cuzk_status signs_build<fp>(bool *, zk_cuda_signs *, zk_cuda *, cuzk_err *);
extern template cuzk_status signs_build<fp2>(bool *, zk_cuda_signs *, zk_cuda *, cuzk_err *);

static size_t points_of(size_t n, unsigned together) { return (n + together - 1) / together << (together - 1); }
/* The kernels can do it. */
static bool fits(size_t n, unsigned together) {
    return together > 1 && together <= ZK_CUDA_SIGNS_MOST && n < MAX_POINTS && points_of(n, together) < MAX_POINTS;
}
static size_t bytes_of_point(int group) { return group ? sizeof(affine<fp2>) : sizeof(affine<fp>); }

} // namespace zk

extern "C" {

bool zk_cuda_signs_pay(size_t n, unsigned together) { return n >= zk::SIGNS_LEAST && zk::fits(n, together); }

size_t zk_cuda_signs_bytes(int group, size_t n, unsigned together) {
    return zk::points_of(n, together) * zk::bytes_of_point(group);
}

zk_dptr zk_cuda_signs_bases(const zk_cuda_signs *t) {
    const size_t groups = (t->n + t->together - 1) / t->together;
    return t->sums + (zk::points_of(t->n, t->together) - groups * t->together) * zk::bytes_of_point(t->group);
}

cuzk_status zk_cuda_signs_build(bool *kept, zk_cuda_signs *t, zk_cuda *d, cuzk_err *err) {
    *kept = true;
    if (!zk::fits(t->n, t->together))
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "signed sums of %u of %zu points, at most %u of them and %u sums",
                       t->together, t->n, ZK_CUDA_SIGNS_MOST, zk::MAX_POINTS - 1);
    return zk::guarded(err, "signed sums", [&] {
        return t->group ? zk::signs_build<zk::fp2>(kept, t, d, err) : zk::signs_build<zk::fp>(kept, t, d, err);
    });
}

void zk_cuda_signs_sum_bytes(size_t *best, size_t *least, const zk_cuda *d, int group, size_t n, unsigned together) {
    zk_cuda_masked_sum_bytes(best, least, d, group, (n + together - 1) / together);
}

} /* extern "C" */
