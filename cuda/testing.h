/* Test data made on the device: large inputs with known answers. For tests and benchmarks only. */
#ifndef ZK_CUDA_TESTING_H
#define ZK_CUDA_TESTING_H

#include "cuda_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* out[i] = tables[i mod low] + tables[low + i / low], i < n; with random multiples of the generator in the tables the
 * points are distinct and in general position, and their logarithms are known. */
cuzk_status zk_cuda_test_bases_g1(zk_cuda *device, zk_dptr out, zk_dptr tables, uint32_t low, size_t n,
                                  cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_test_bases_g2(zk_cuda *device, zk_dptr out, zk_dptr tables, uint32_t low, size_t n,
                                  cuzk_err *err) ZK_MUST_USE;
/* n elements of Fr, uniform, from a counter-based generator. */
cuzk_status zk_cuda_test_scalars(zk_cuda *device, zk_dptr out, size_t n, uint64_t seed, cuzk_err *err) ZK_MUST_USE;
/* out[i] = 1 or 0, bit i of the mask, in Montgomery form. */
cuzk_status zk_cuda_test_mask_scalars(zk_cuda *device, zk_dptr out, zk_dptr bits, size_t n, cuzk_err *err) ZK_MUST_USE;
/* out = a b, elementwise. */
cuzk_status zk_cuda_test_product(zk_cuda *device, zk_dptr out, zk_dptr a, zk_dptr b, size_t n,
                                 cuzk_err *err) ZK_MUST_USE;
/* out[j] = sum of x[i] with i mod low = j, j < low, then out[low + k] = sum with i / low = k, k < ceil(n / low). */
cuzk_status zk_cuda_test_marginals(zk_cuda *device, zk_dptr out, zk_dptr x, uint32_t low, size_t n,
                                   cuzk_err *err) ZK_MUST_USE;
/* Milliseconds between two marks on the main stream (0 in the emulator). */
cuzk_status zk_cuda_test_mark(zk_cuda *device, int which, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_test_elapsed(double *ms, zk_cuda *device, cuzk_err *err) ZK_MUST_USE;
/* Billions of operations a second of independent chains on the whole device: 0 Fp mul, 1 Fp square, 2 Fr mul,
 * 3 Fr mul by known factors. */
cuzk_status zk_cuda_test_rate(double *rate, zk_cuda *device, int what, cuzk_err *err) ZK_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
