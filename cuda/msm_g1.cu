/* MSM and masked sum in G1. */
#include "msm_impl.cuh"

extern "C" {
cuzk_status zk_cuda_msm_g1(struct zk_g1_affine *result, zk_cuda *device, zk_dptr bases, zk_dptr scalars, size_t n,
                           cuzk_err *err) {
    return zk::msm<zk::fp>(result, device, bases, scalars, n, err);
}
cuzk_status zk_cuda_masked_sum_g1(struct zk_g1_affine *result, zk_cuda *device, zk_dptr bases, zk_dptr bits, size_t n,
                                  cuzk_err *err) {
    return zk::masked_sum<zk::fp>(result, device, bases, bits, n, err);
}
}
