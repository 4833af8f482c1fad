/* Prefix sums over the 256 threads of a block. */
#ifndef ZK_CUDA_BLOCK_SCAN_CUH
#define ZK_CUDA_BLOCK_SCAN_CUH

#include "device.cuh"

namespace zk {

/* Exclusive scan of one value a thread over 256 threads; total to all. shared: [256]; free for use again after the next
 * barrier. */
template <class T> __device__ inline T block_scan(T *shared, T v, T *total) {
    const u32 t = threadIdx.x;
#if defined(__CUDA_ARCH__)
    const u32 lane = t % 32, warp = t / 32;
    T sum = v;
#pragma unroll
    for (u32 step = 1; step < 32; step *= 2) {
        const T other = __shfl_up_sync(0xffffffffu, sum, step);
        if (lane >= step) sum += other;
    }
    __syncthreads();
    if (lane == 31) shared[warp] = sum;
    __syncthreads();
    T before = 0, all = 0;
#pragma unroll
    for (u32 w = 0; w < 8; w++) {
        before += w < warp ? shared[w] : 0;
        all += shared[w];
    }
    *total = all;
    return before + sum - v;
#else /* the emulator has no shuffles, and no threads: the first one to come here adds for all */
    __syncthreads();
    shared[t] = v;
    __syncthreads();
    if (t == 0) {
        T sum = 0;
        for (u32 k = 0; k < 256; k++) {
            const T mine = shared[k];
            shared[k] = sum;
            sum += mine;
        }
        shared[0] = sum; /* the scan's first value is 0 */
    }
    __syncthreads();
    *total = shared[0];
    const T r = t ? shared[t] : 0;
    __syncthreads();
    return r;
#endif
}

} // namespace zk
#endif
