/* Runs the kernels of this folder on the host, for tests on machines without a GPU.
 *
 * A launch runs its blocks one after the other in the calling thread. Kernels with barriers (of the block or of warps)
 * run the threads of a block as coroutines, switched at each barrier; others run as plain loops. Shared memory is
 * static (one block at a time). Device memory is host memory, streams run at once, events do nothing. Only what the
 * kernels here use is provided.
 *
 * There are two devices, alike. As in CUDA each thread has a current one, the first until it says otherwise; streams
 * and events belong to the one that was current when they were made, and work for a stream of another fails.
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
typedef int cudaStream_t; /* 1 + its device */
typedef int cudaEvent_t;
enum {
    cudaSuccess = 0,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorInvalidDevice = 101,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorUnknown = 999
};
struct cudaDeviceProp {
    char name[256];
    int multiProcessorCount, major, minor;
};
enum cudaDeviceAttr { cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor };
struct cudaFuncAttributes {
    int unused;
};
enum { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2, cudaFuncAttributeMaxDynamicSharedMemorySize };

constexpr int ZK_EMULATE_DEVICES = 2;
extern thread_local int zk_emulate_device;        /* the thread's current one */
extern thread_local cudaError_t zk_emulate_error; /* of a launch; cudaGetLastError takes it */

/* Counts one call: its fault, or success. The second for what works on the current device. */
cudaError_t zk_emulate_call();
cudaError_t zk_emulate_device_call();
#define ZK_EMULATE_CALL()                                                                                              \
    do {                                                                                                               \
        const cudaError_t fault_ = zk_emulate_device_call();                                                           \
        if (fault_ != cudaSuccess) return fault_;                                                                      \
    } while (0)
/* Not for the devices whose numbers are in the environment as ZK_EMULATE_NO_CODE ("0", "01"): these are older. */
bool zk_emulate_has_code(int device);
inline bool zk_emulate_is_here(int stream_or_event) { return stream_or_event == 1 + zk_emulate_device; }

inline const char *cudaGetErrorString(cudaError_t e) {
    return e == cudaSuccess                      ? "no error"
           : e == cudaErrorMemoryAllocation      ? "out of memory"
           : e == cudaErrorInvalidDevice         ? "invalid device ordinal"
           : e == cudaErrorInvalidResourceHandle ? "invalid resource handle"
                                                 : "unknown error";
}
inline const char *cudaGetErrorName(cudaError_t e) {
    return e == cudaSuccess                      ? "cudaSuccess"
           : e == cudaErrorMemoryAllocation      ? "cudaErrorMemoryAllocation"
           : e == cudaErrorInvalidDevice         ? "cudaErrorInvalidDevice"
           : e == cudaErrorInvalidResourceHandle ? "cudaErrorInvalidResourceHandle"
                                                 : "cudaErrorUnknown";
}
inline cudaError_t cudaGetLastError() {
    const cudaError_t error = zk_emulate_error;
    zk_emulate_error = cudaSuccess;
    return error == cudaSuccess ? zk_emulate_call() : error;
}
inline cudaError_t cudaSetDevice(int device) {
    if (device < 0 || device >= ZK_EMULATE_DEVICES) return cudaErrorInvalidDevice;
    const cudaError_t fault = zk_emulate_call();
    if (fault == cudaSuccess) zk_emulate_device = device;
    return fault;
}
inline cudaError_t cudaDriverGetVersion(int *version) {
    const cudaError_t fault = zk_emulate_call();
    *version = 0;
    return fault;
}
inline cudaError_t cudaGetDeviceCount(int *n) {
    const cudaError_t fault = zk_emulate_call();
    *n = ZK_EMULATE_DEVICES;
    return fault;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
    const cudaError_t fault = zk_emulate_call();
    *properties = cudaDeviceProp{"emulated device", 4, zk_emulate_has_code(device) ? 9 : 6, 0};
    return fault;
}
inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
    const cudaError_t fault = zk_emulate_call();
    *value = attribute == cudaDevAttrComputeCapabilityMinor ? 0 : zk_emulate_has_code(device) ? 9 : 6;
    return fault;
}
template <class K> inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *, K) {
    ZK_EMULATE_CALL();
    return zk_emulate_has_code(zk_emulate_device) ? cudaSuccess : cudaErrorNoKernelImageForDevice;
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
    return zk_emulate_device_call();
}
inline cudaError_t cudaFreeHost(void *p) { return cudaFree(p); }
inline cudaError_t cudaMemcpyAsync(void *d, const void *s, size_t n, int, cudaStream_t) {
    ZK_EMULATE_CALL();
    return memcpy(d, s, n), cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void *d, int v, size_t n, cudaStream_t stream) {
    ZK_EMULATE_CALL();
    if (!zk_emulate_is_here(stream)) return cudaErrorInvalidResourceHandle;
    return memset(d, v, n), cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, int) {
    ZK_EMULATE_CALL();
    return *s = 1 + zk_emulate_device, cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return zk_emulate_device_call(); }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return zk_emulate_device_call(); }
inline cudaError_t cudaDeviceSynchronize() { return zk_emulate_device_call(); }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return zk_emulate_device_call(); }
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, int) {
    ZK_EMULATE_CALL();
    return *e = 1 + zk_emulate_device, cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return zk_emulate_device_call(); }
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    ZK_EMULATE_CALL();
    return event == stream ? cudaSuccess : cudaErrorInvalidResourceHandle;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return zk_emulate_device_call(); }
template <class K> inline cudaError_t cudaFuncSetAttribute(K, int, int) { return zk_emulate_device_call(); }

#define ZK_DYNAMIC_SHARED(type, name) type *name = (type *)zk_emulate_shared
template <class Thread>
void zk_emulate_run_on(cudaStream_t stream, unsigned grid, unsigned block, bool barriers, Thread &&thread) {
    if (zk_emulate_is_here(stream))
        zk_emulate_run(grid, block, barriers, thread);
    else
        zk_emulate_error = cudaErrorInvalidResourceHandle;
}
#define ZK_LAUNCH(kernel, grid, block, shared, stream, ...)                                                            \
    zk_emulate_run_on(stream, (unsigned)(grid), (unsigned)(block), false, [&] { kernel(__VA_ARGS__); })
#define ZK_LAUNCH_BARRIERS(kernel, grid, block, shared, stream, ...)                                                   \
    zk_emulate_run_on(stream, (unsigned)(grid), (unsigned)(block), true, [&] { kernel(__VA_ARGS__); })

#endif
