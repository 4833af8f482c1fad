/* Opening NVIDIA devices. In a build without CUDA the functions are there and say so. */
#ifndef ZK_BACKEND_CUDA_H
#define ZK_BACKEND_CUDA_H

#include "backend/backend.h"
#include "base/pool.h"

/* Devices of this machine. UNSUPPORTED: this build has no CUDA code (*n is 0), or none for any of the *n devices, and
 * says which; DEVICE: no driver, or no device (*n is 0). */
cuzk_status zk_backend_cuda_count(int *n, cuzk_err *err) ZK_MUST_USE;

/* Device `ordinal`. memory_bytes: device memory to take at once; 0: as needed, up to what is free. Threads of the pool
 * (borrowed) feed it. Threads: backend.h. */
cuzk_status zk_backend_open_cuda(zk_backend **backend, int ordinal, uint64_t memory_bytes, zk_pool *pool,
                                 cuzk_err *err) ZK_MUST_USE;

/* Memory of the device that a CUDA backend has opened: of the whole device, and what the backend could still take. */
void zk_backend_cuda_memory(uint64_t *total, uint64_t *free, const zk_backend *backend);

#endif
