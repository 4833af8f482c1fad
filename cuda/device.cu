/* The device object, its pool, copies. */
#include "device.cuh"

#include <new>

namespace zk {
cuzk_status cuda_fail(cuzk_err *err, const char *file, int line, const char *what, cudaError_t error) {
    cuzk_status status = error == cudaErrorMemoryAllocation ? CUZK_OUT_OF_MEMORY : CUZK_DEVICE;
    return zk_err_set(err, status, file, line, "CUDA: %s: %s (%s)", what, cudaGetErrorString(error),
                      cudaGetErrorName(error));
}
constexpr size_t ALIGN = 512;
} // namespace zk

extern "C" {

cuzk_status zk_cuda_device_count(int *count, cuzk_err *err) {
    ZK_CUDA_TRY(cudaGetDeviceCount(count));
    return CUZK_OK;
}

static cuzk_status open_device(zk_cuda *d, size_t pool_bytes, cuzk_err *err) {
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    size_t free_bytes = 0, total = 0;
    ZK_CUDA_TRY(cudaMemGetInfo(&free_bytes, &total));
    if (pool_bytes == 0) {
        const size_t reserve = (size_t)1 << 30;
        pool_bytes = free_bytes > 2 * reserve ? free_bytes - reserve : free_bytes / 2;
    }
    pool_bytes &= ~(zk::ALIGN - 1);
    if (pool_bytes > free_bytes)
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "device %d: %zu bytes asked for, %zu of %zu free", d->ordinal,
                       pool_bytes, free_bytes, total);
#if !defined(ZK_CUDA_EMULATE)
    ZK_CUDA_TRY(cudaDeviceGetAttribute(&d->multiprocessors, cudaDevAttrMultiProcessorCount, d->ordinal));
#endif
    ZK_CUDA_TRY(cudaMalloc((void **)&d->pool, pool_bytes));
    d->pool_bytes = pool_bytes;
    d->free_pieces[0] = pool_bytes;
    ZK_CUDA_TRY(cudaStreamCreateWithFlags(&d->main, cudaStreamNonBlocking));
    ZK_CUDA_TRY(cudaEventCreateWithFlags(&d->fork, cudaEventDisableTiming));
    for (int i = 0; i < zk::MAX_LANES; i++) {
        ZK_CUDA_TRY(cudaStreamCreateWithFlags(&d->lane[i], cudaStreamNonBlocking));
        ZK_CUDA_TRY(cudaEventCreateWithFlags(&d->joined[i], cudaEventDisableTiming));
        ZK_CUDA_TRY(cudaMallocHost((void **)&d->pinned[i], zk::PINNED_BYTES));
    }
    return CUZK_OK;
}

cuzk_status zk_cuda_open(zk_cuda **device, int ordinal, size_t pool_bytes, cuzk_err *err) {
    *device = nullptr;
    zk_cuda *d = new (std::nothrow) zk_cuda;
    if (!d) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "device %d: no memory for its description", ordinal);
    d->ordinal = ordinal;
    cuzk_status status = open_device(d, pool_bytes, err);
    if (status != CUZK_OK) {
        zk_cuda_close(d);
        return status;
    }
    *device = d;
    return CUZK_OK;
}

void zk_cuda_close(zk_cuda *d) {
    if (!d) return;
    (void)cudaDeviceSynchronize();
    for (int i = 0; i < zk::MAX_LANES; i++) {
        if (d->pinned[i]) (void)cudaFreeHost(d->pinned[i]);
        if (d->lane[i]) (void)cudaStreamDestroy(d->lane[i]);
        if (d->joined[i]) (void)cudaEventDestroy(d->joined[i]);
    }
    if (d->fork) (void)cudaEventDestroy(d->fork);
    if (d->main) (void)cudaStreamDestroy(d->main);
    if (d->pool) (void)cudaFree(d->pool);
    delete d;
}

/* Best fit: the smallest piece that is large enough. */
cuzk_status zk_cuda_alloc(zk_dptr *buffer, zk_cuda *d, size_t bytes, const char *name, cuzk_err *err) {
    *buffer = 0;
    if (bytes > d->pool_bytes)
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: %zu bytes, the device pool has %zu", name, bytes, d->pool_bytes);
    const size_t need = bytes ? (bytes + zk::ALIGN - 1) & ~(zk::ALIGN - 1) : zk::ALIGN;
    auto best = d->free_pieces.end();
    for (auto it = d->free_pieces.begin(); it != d->free_pieces.end(); ++it)
        if (it->second >= need && (best == d->free_pieces.end() || it->second < best->second)) best = it;
    if (best == d->free_pieces.end())
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: %zu bytes, %zu of the device pool's %zu are free", name, need,
                       d->pool_bytes - d->used_bytes, d->pool_bytes);
    const size_t offset = best->first, rest = best->second - need;
    d->free_pieces.erase(best);
    if (rest) d->free_pieces[offset + need] = rest;
    d->taken[offset] = need;
    d->used_bytes += need;
    if (d->used_bytes > d->peak_bytes) d->peak_bytes = d->used_bytes;
    *buffer = (zk_dptr)(uintptr_t)(d->pool + offset);
    return CUZK_OK;
}

void zk_cuda_free(zk_cuda *d, zk_dptr buffer) {
    if (!buffer) return;
    auto it = d->taken.find((size_t)((char *)(uintptr_t)buffer - d->pool));
    if (it == d->taken.end()) return;
    size_t offset = it->first, bytes = it->second;
    d->taken.erase(it);
    d->used_bytes -= bytes;
    auto next = d->free_pieces.lower_bound(offset);
    if (next != d->free_pieces.end() && next->first == offset + bytes) {
        bytes += next->second;
        next = d->free_pieces.erase(next);
    }
    if (next != d->free_pieces.begin()) {
        auto before = std::prev(next);
        if (before->first + before->second == offset) {
            before->second += bytes;
            return;
        }
    }
    d->free_pieces[offset] = bytes;
}

size_t zk_cuda_bytes_free(const zk_cuda *d) { return d->pool_bytes - d->used_bytes; }
size_t zk_cuda_bytes_peak(const zk_cuda *d) { return d->peak_bytes; }

cuzk_status zk_cuda_upload(zk_cuda *d, zk_dptr to, const void *from, size_t bytes, cuzk_err *err) {
    ZK_CUDA_TRY(cudaMemcpyAsync((void *)to, from, bytes, cudaMemcpyHostToDevice, d->main));
    ZK_CUDA_TRY(cudaStreamSynchronize(d->main));
    return CUZK_OK;
}

cuzk_status zk_cuda_download(zk_cuda *d, void *to, zk_dptr from, size_t bytes, cuzk_err *err) {
    ZK_CUDA_TRY(cudaMemcpyAsync(to, (const void *)from, bytes, cudaMemcpyDeviceToHost, d->main));
    ZK_CUDA_TRY(cudaStreamSynchronize(d->main));
    return CUZK_OK;
}

cuzk_status zk_cuda_fill(zk_cuda *d, zk_dptr to, int byte, size_t bytes, cuzk_err *err) {
    ZK_CUDA_TRY(cudaMemsetAsync((void *)to, byte, bytes, d->main));
    return CUZK_OK;
}

cuzk_status zk_cuda_sync(zk_cuda *d, cuzk_err *err) {
    ZK_CUDA_TRY(cudaStreamSynchronize(d->main));
    return CUZK_OK;
}

void zk_cuda_msm_tune(zk_cuda *d, unsigned windows, unsigned batch, unsigned lanes) {
    d->tune_windows = windows;
    d->tune_batch = batch;
    d->tune_lanes = lanes;
}

} /* extern "C" */
