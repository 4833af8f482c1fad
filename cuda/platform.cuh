/* One source for the device and the host.
 *
 * Three ways to compile the .cuh and .cu files of this folder:
 *   nvcc                        device code with PTX carry chains, host code in portable C++
 *   a C++ compiler              field.cuh and curve.cuh only, portable arithmetic (the tests of CI)
 *   a C++ compiler with
 *   ZK_CUDA_EMULATE             everything: kernels run on the host, one block after the other (emulate.h), so that
 *                               the logic of the kernels is tested on machines without a GPU
 */
#ifndef ZK_CUDA_PLATFORM_CUH
#define ZK_CUDA_PLATFORM_CUH

#include <cstddef>
#include <cstdint>

#if defined(ZK_CUDA_EMULATE)
#include "emulate.h"
#elif !defined(__CUDACC__)
#define __host__
#define __device__
#define __forceinline__ inline
#endif

#define ZK_HD __host__ __device__ __forceinline__

namespace zk {
typedef uint32_t u32;
typedef uint64_t u64;
} // namespace zk

#endif
