/* MSM and masked sum in G1. */
#include "msm_stored.cuh"
#include "msm_streamed.cuh"
#include "signs.cuh"

namespace zk {
template void msm_bytes<fp>(size_t *, size_t *, const zk_cuda *, const zk_cuda_bases &);
template void msm_way<fp>(zk_cuda_msm_way *, const zk_cuda *, const zk_cuda_bases &);
template void masked_sum_bytes<fp>(size_t *, size_t *, const zk_cuda *, size_t);
template void streamed_bytes<fp>(size_t *, size_t *, const zk_cuda *, int, size_t);
template cuzk_status bases_prepare<fp>(const zk_cuda_bases *, zk_cuda *, cuzk_err *);
template cuzk_status signs_build<fp>(bool *, zk_cuda_signs *, zk_cuda *, cuzk_err *);
} // namespace zk

extern "C" {
cuzk_status zk_cuda_msm_g1(struct zk_g1_affine *result, zk_cuda *device, zk_dptr bases, zk_dptr scalars, size_t n,
                           cuzk_err *err) {
    const zk_cuda_bases plain = {bases, 0, n, 0, 1, zk::SCALAR_BITS};
    return zk::guarded(err, "msm", [&] { return zk::msm<zk::fp>(result, device, plain, scalars, n, err); });
}
cuzk_status zk_cuda_msm_g1_stored(struct zk_g1_affine *result, zk_cuda *device, const zk_cuda_bases *bases,
                                  zk_dptr scalars, size_t n, cuzk_err *err) {
    return zk::guarded(err, "msm", [&] { return zk::msm<zk::fp>(result, device, *bases, scalars, n, err); });
}
cuzk_status zk_cuda_masked_sum_g1(struct zk_g1_affine *result, zk_cuda *device, zk_dptr bases, zk_dptr bits, size_t n,
                                  cuzk_err *err) {
    return zk::guarded(err, "masked sum", [&] { return zk::masked_sum<zk::fp>(result, device, bases, bits, n, err); });
}
cuzk_status zk_cuda_signs_sum_g1(struct zk_g1_affine *result, zk_cuda *device, const zk_cuda_signs *table, zk_dptr bits,
                                 cuzk_err *err) {
    return zk::guarded(err, "masked sum", [&] { return zk::signs_sum<zk::fp>(result, device, table, bits, err); });
}
cuzk_status zk_cuda_msm_g1_streamed(struct zk_g1_affine *result, zk_cuda *device, const struct zk_g1_affine *bases,
                                    zk_dptr scalars, size_t n, cuzk_err *err) {
    return zk::guarded(err, "msm", [&] { return zk::msm_streamed<zk::fp>(result, device, bases, scalars, n, err); });
}
cuzk_status zk_cuda_masked_sums_g1_streamed(struct zk_g1_affine *results, zk_cuda *device,
                                            const struct zk_g1_affine *bases, const zk_dptr *bits, size_t n_masks,
                                            size_t n, cuzk_err *err) {
    return zk::guarded(err, "masked sum",
                       [&] { return zk::masked_sums_streamed<zk::fp>(results, device, bases, bits, n_masks, n, err); });
}
cuzk_status zk_cuda_masked_sum_g1_streamed(struct zk_g1_affine *result, zk_cuda *device,
                                           const struct zk_g1_affine *bases, zk_dptr bits, size_t n, cuzk_err *err) {
    return zk::guarded(err, "masked sum",
                       [&] { return zk::masked_sums_streamed<zk::fp>(result, device, bases, &bits, 1, n, err); });
}
}
