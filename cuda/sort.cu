/* Sorting of (key, value) pairs: the toolkit's radix sort on the device, the standard library in the emulator. */
#include "msm_kernels.cuh"

#if defined(ZK_CUDA_EMULATE)
#include <algorithm>
#include <vector>
#else
#include <cub/device/device_radix_sort.cuh>
#endif

namespace zk {

cuzk_status sort_pairs(int *selected, size_t *temp_bytes, void *temp, u32 *keys[2], u32 *values[2], size_t n, int bits,
                       cudaStream_t stream, cuzk_err *err) {
#if defined(ZK_CUDA_EMULATE)
    (void)stream;
    (void)err;
    if (!temp) {
        *temp_bytes = 1;
        return CUZK_OK;
    }
    const u32 mask = bits >= 32 ? 0xffffffffu : (1u << bits) - 1;
    std::vector<u32> order(n);
    for (size_t i = 0; i < n; i++) order[i] = (u32)i;
    std::stable_sort(order.begin(), order.end(),
                     [&](u32 a, u32 b) { return (keys[0][a] & mask) < (keys[0][b] & mask); });
    for (size_t i = 0; i < n; i++) {
        keys[1][i] = keys[0][order[i]];
        values[1][i] = values[0][order[i]];
    }
    *selected = 1;
    return CUZK_OK;
#else
    cub::DoubleBuffer<u32> k(keys[0], keys[1]), v(values[0], values[1]);
    ZK_CUDA_TRY(cub::DeviceRadixSort::SortPairs(temp, *temp_bytes, k, v, (u32)n, 0, bits, stream));
    if (temp) *selected = k.selector;
    return CUZK_OK;
#endif
}

} // namespace zk
