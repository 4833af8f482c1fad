/* Runs the kernels of this folder on the host, for tests on machines without a GPU.
 *
 * A launch runs its blocks one after the other in the calling thread. Kernels with barriers (of the block or of warps)
 * run the threads of a block as coroutines, switched at each barrier; others run as plain loops. Shared memory is
 * static (one block at a time). Device memory is host memory, streams run at once, events do nothing. Only what the
 * kernels here use is provided.
 */
#ifndef ZK_CUDA_EMULATE_H
#define ZK_CUDA_EMULATE_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#define __global__
#define __host__
#define __device__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__
#define __grid_constant__

struct uint2 {
    uint32_t x, y;
};
struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};
struct dim3 {
    unsigned x, y, z;
};
inline uint2 make_uint2(uint32_t x, uint32_t y) { return uint2{x, y}; }
inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return uint4{x, y, z, w}; }
template <class T> inline T __ldg(const T *p) { return *p; }
inline uint32_t atomicAdd(uint32_t *p, uint32_t v) {
    uint32_t old = *p;
    *p += v;
    return old;
}
inline unsigned long long atomicAdd(unsigned long long *p, unsigned long long v) {
    unsigned long long old = *p;
    *p += v;
    return old;
}
inline uint32_t atomicMax(uint32_t *p, uint32_t v) {
    uint32_t old = *p;
    if (v > old) *p = v;
    return old;
}
inline unsigned long long atomicMin(unsigned long long *p, unsigned long long v) {
    unsigned long long old = *p;
    if (v < old) *p = v;
    return old;
}
inline int __popc(uint32_t v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __clz(uint32_t v) { return v ? __builtin_clz(v) : 32; }
inline uint32_t __brev(uint32_t v) {
    uint32_t r = 0;
    for (int i = 0; i < 32; i++) r |= ((v >> i) & 1) << (31 - i);
    return r;
}

extern dim3 threadIdx, blockIdx, blockDim, gridDim;
extern char zk_emulate_shared[1 << 18];
void zk_emulate_launch(unsigned grid, unsigned block, bool barriers, void (*thread)(void *), void *context);
template <class Thread> void zk_emulate_run(unsigned grid, unsigned block, bool barriers, Thread &&thread) {
    typedef std::remove_reference_t<Thread> type;
    zk_emulate_launch(
        grid, block, barriers, [](void *context) { (*(type *)context)(); }, &thread);
}
void __syncthreads();

/* Warps of 32 threads: all that still run must call these together. */
void __syncwarp(unsigned mask = 0xffffffffu);
/* What lane `from` of the caller's warp passes (n <= 32 bytes). */
void zk_emulate_exchange(void *out, const void *v, size_t n, unsigned from);
unsigned __ballot_sync(unsigned mask, int predicate);
template <class T> inline T __shfl_sync(unsigned, T v, int from) {
    T r;
    zk_emulate_exchange(&r, &v, sizeof r, (unsigned)from);
    return r;
}
template <class T> inline T __shfl_xor_sync(unsigned, T v, int with) {
    T r;
    zk_emulate_exchange(&r, &v, sizeof r, (threadIdx.x % 32) ^ (unsigned)with);
    return r;
}
inline uint32_t atomicOr(uint32_t *p, uint32_t v) {
    uint32_t old = *p;
    *p |= v;
    return old;
}
inline uint32_t atomicMin(uint32_t *p, uint32_t v) {
    uint32_t old = *p;
    if (v < old) *p = v;
    return old;
}

typedef int cudaError_t;
typedef int cudaStream_t;
typedef int cudaEvent_t;
enum { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorUnknown = 999 };
enum { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2, cudaFuncAttributeMaxDynamicSharedMemorySize };

/* Counts one call: its fault, or success. */
cudaError_t zk_emulate_call();
#define ZK_EMULATE_CALL()                                                                                              \
    do {                                                                                                               \
        const cudaError_t fault_ = zk_emulate_call();                                                                  \
        if (fault_ != cudaSuccess) return fault_;                                                                      \
    } while (0)

inline const char *cudaGetErrorString(cudaError_t e) {
    return e == cudaSuccess ? "no error" : e == cudaErrorMemoryAllocation ? "out of memory" : "unknown error";
}
inline const char *cudaGetErrorName(cudaError_t e) {
    return e == cudaSuccess                 ? "cudaSuccess"
           : e == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation"
                                            : "cudaErrorUnknown";
}
inline cudaError_t cudaGetLastError() { return zk_emulate_call(); }
inline cudaError_t cudaSetDevice(int) { return zk_emulate_call(); }
inline cudaError_t cudaDriverGetVersion(int *version) {
    ZK_EMULATE_CALL();
    return *version = 0, cudaSuccess;
}
inline cudaError_t cudaGetDeviceCount(int *n) {
    ZK_EMULATE_CALL();
    return *n = 1, cudaSuccess;
}
inline cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total) {
    ZK_EMULATE_CALL();
    return *free_bytes = *total = (size_t)1 << 30, cudaSuccess;
}
inline cudaError_t cudaMalloc(void **p, size_t n) {
    ZK_EMULATE_CALL();
    *p = aligned_alloc(512, (n + 511) & ~(size_t)511);
    return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline cudaError_t cudaMallocHost(void **p, size_t n) { return cudaMalloc(p, n); }
inline cudaError_t cudaFree(void *p) {
    free(p);
    return zk_emulate_call();
}
inline cudaError_t cudaFreeHost(void *p) { return cudaFree(p); }
inline cudaError_t cudaMemcpyAsync(void *d, const void *s, size_t n, int, cudaStream_t) {
    ZK_EMULATE_CALL();
    return memcpy(d, s, n), cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void *d, int v, size_t n, cudaStream_t) {
    ZK_EMULATE_CALL();
    return memset(d, v, n), cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, int) {
    ZK_EMULATE_CALL();
    return *s = 1, cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return zk_emulate_call(); }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return zk_emulate_call(); }
inline cudaError_t cudaDeviceSynchronize() { return zk_emulate_call(); }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return zk_emulate_call(); }
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, int) {
    ZK_EMULATE_CALL();
    return *e = 1, cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return zk_emulate_call(); }
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return zk_emulate_call(); }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return zk_emulate_call(); }
template <class K> inline cudaError_t cudaFuncSetAttribute(K, int, int) { return zk_emulate_call(); }

#define ZK_DYNAMIC_SHARED(type, name) type *name = (type *)zk_emulate_shared
#define ZK_LAUNCH(kernel, grid, block, shared, stream, ...)                                                            \
    ((void)(stream), zk_emulate_run((unsigned)(grid), (unsigned)(block), false, [&] { kernel(__VA_ARGS__); }))
#define ZK_LAUNCH_BARRIERS(kernel, grid, block, shared, stream, ...)                                                   \
    ((void)(stream), zk_emulate_run((unsigned)(grid), (unsigned)(block), true, [&] { kernel(__VA_ARGS__); }))

#endif
