/* The edge of the CUDA code: the device and its kernels, in C, without a CUDA type.
 *
 * Everything that can fail returns cuzk_status and describes the failure in err: which CUDA call, what it answered.
 * After a CUZK_DEVICE error the device is to be considered lost.
 *
 * Memory. zk_cuda_open takes one block of device memory; buffers and the workspaces of the kernels come from it, so
 * nothing is allocated from the driver afterwards. When a workspace does not fit a kernel uses a leaner way, or fails
 * with CUZK_OUT_OF_MEMORY and says how much it asked for.
 *
 * Order. Copies and kernels run in order on the device's main stream. Calls whose result goes to host memory return
 * when it is there; all others return at once and zk_cuda_sync waits. One thread at a time may use a device.
 *
 * Data. Field elements and points are those of src/field and src/curve, byte for byte: Montgomery form, canonical,
 * infinity x = y = 0.
 */
#ifndef ZK_CUDA_KERNELS_H
#define ZK_CUDA_KERNELS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t zk_dptr; /* device address; 0 is none */
typedef struct zk_cuda zk_cuda;
struct zk_g1_affine;
struct zk_g2_affine;

cuzk_status zk_cuda_device_count(int *count, cuzk_err *err) ZK_MUST_USE;
/* pool_bytes: device memory to take; 0 takes all that is free but 1 GiB. */
cuzk_status zk_cuda_open(zk_cuda **device, int ordinal, size_t pool_bytes, cuzk_err *err) ZK_MUST_USE;
void zk_cuda_close(zk_cuda *device);

/* 512-byte aligned. name: what the buffer is, for messages. */
cuzk_status zk_cuda_alloc(zk_dptr *buffer, zk_cuda *device, size_t bytes, const char *name, cuzk_err *err) ZK_MUST_USE;
/* The buffer may still be in use by work queued before; 0 is allowed. */
void zk_cuda_free(zk_cuda *device, zk_dptr buffer);
size_t zk_cuda_bytes_free(const zk_cuda *device); /* in the pool, all pieces */
size_t zk_cuda_bytes_peak(const zk_cuda *device); /* most ever in use */

cuzk_status zk_cuda_upload(zk_cuda *device, zk_dptr to, const void *from, size_t bytes, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_download(zk_cuda *device, void *to, zk_dptr from, size_t bytes, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_fill(zk_cuda *device, zk_dptr to, int byte, size_t bytes, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_sync(zk_cuda *device, cuzk_err *err) ZK_MUST_USE;

/* Transforms of 2^log2_n elements of Fr at x, in place, natural order, 0 <= log2_n <= 28; roots and coset of
 * src/ntt/ntt.h. */
typedef enum zk_cuda_ntt_kind {
    ZK_CUDA_NTT_FORWARD,
    ZK_CUDA_NTT_INVERSE,
    ZK_CUDA_NTT_COSET_FORWARD,
    ZK_CUDA_NTT_COSET_INVERSE,
} zk_cuda_ntt_kind;
cuzk_status zk_cuda_ntt(zk_cuda *device, zk_dptr x, unsigned log2_n, zk_cuda_ntt_kind kind, cuzk_err *err) ZK_MUST_USE;
/* As zk_ntt_quotient: a becomes the coefficients of (a b - c)/(x^n - 1), b and c are clobbered. No buffer of full size
 * beyond the three; the passes before and after the pointwise step are fused with it. */
cuzk_status zk_cuda_ntt_quotient(zk_cuda *device, zk_dptr a, zk_dptr b, zk_dptr c, unsigned log2_n,
                                 cuzk_err *err) ZK_MUST_USE;
/* Tables for one size, kept until the device is closed or the size changes. full: also the n twiddles between the first
 * two passes (32 n bytes), which saves one multiplication in fourteen. Calls above make the small tables as needed. */
cuzk_status zk_cuda_ntt_prepare(zk_cuda *device, unsigned log2_n, bool full, cuzk_err *err) ZK_MUST_USE;

/* sum_i [s_i] B_i, to host memory. bases: [n] affine, scalars: [n] Fr; any n < 2^30, any points, any scalars. */
cuzk_status zk_cuda_msm_g1(struct zk_g1_affine *result, zk_cuda *device, zk_dptr bases, zk_dptr scalars, size_t n,
                           cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_msm_g2(struct zk_g2_affine *result, zk_cuda *device, zk_dptr bases, zk_dptr scalars, size_t n,
                           cuzk_err *err) ZK_MUST_USE;

/* Sum of the bases whose bit is set, as zk_masked_sum_g1 of src/msm. bits: [ceil(n/64)] 64-bit words. */
cuzk_status zk_cuda_masked_sum_g1(struct zk_g1_affine *result, zk_cuda *device, zk_dptr bases, zk_dptr bits, size_t n,
                                  cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_masked_sum_g2(struct zk_g2_affine *result, zk_cuda *device, zk_dptr bases, zk_dptr bits, size_t n,
                                  cuzk_err *err) ZK_MUST_USE;

/* Windows of the next MSMs: their number, how many are worked on together, how many lanes run side by side; 0 means the
 * table. For tuning and for tests of every width. */
void zk_cuda_msm_tune(zk_cuda *device, unsigned windows, unsigned batch, unsigned lanes);

#ifdef __cplusplus
}
#endif
#endif
