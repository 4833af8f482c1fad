/* MSM and masked sum in G2. */
#include "msm_impl.cuh"

extern "C" {
cuzk_status zk_cuda_msm_g2(struct zk_g2_affine *result, zk_cuda *device, zk_dptr bases, zk_dptr scalars, size_t n,
                           cuzk_err *err) {
    return zk::msm<zk::fp2>(result, device, bases, scalars, n, err);
}
cuzk_status zk_cuda_masked_sum_g2(struct zk_g2_affine *result, zk_cuda *device, zk_dptr bases, zk_dptr bits, size_t n,
                                  cuzk_err *err) {
    return zk::masked_sum<zk::fp2>(result, device, bases, bits, n, err);
}
}
