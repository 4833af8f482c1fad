/* The device object, its pool, copies. */
#include "device.cuh"

#include <cstdio>
#include <new>

namespace zk {
cuzk_status cuda_fail(cuzk_err *err, const char *file, int line, const char *what, cudaError_t error) {
    cuzk_status status = error == cudaErrorMemoryAllocation ? CUZK_OUT_OF_MEMORY : CUZK_DEVICE;
    return zk_err_set(err, status, file, line, "CUDA: %s: %s (%s)", what, cudaGetErrorString(error),
                      cudaGetErrorName(error));
}
constexpr size_t ALIGN = 512;
constexpr size_t SEGMENT_BYTES = (size_t)256 << 20; /* least that a growing pool asks of the driver */

__global__ void nothing() {}

/* What the device is, and whether this build has code for it. */
static cuzk_status device_describe(zk_cuda *d, cuzk_err *err) {
#if defined(ZK_CUDA_EMULATE)
    (void)err;
    snprintf(d->name, sizeof d->name, "emulated device");
#else
    cudaDeviceProp properties;
    cudaFuncAttributes attributes;
    ZK_CUDA_TRY(cudaGetDeviceProperties(&properties, d->ordinal));
    snprintf(d->name, sizeof d->name, "%s", properties.name);
    d->multiprocessors = properties.multiProcessorCount;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, nothing);
    if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "device %d (%s, sm_%d%d): this build has no code for it", d->ordinal,
                       d->name, properties.major, properties.minor);
    ZK_CUDA_TRY(error);
#endif
    return CUZK_OK;
}
} // namespace zk

extern "C" {

cuzk_status zk_cuda_device_count(int *count, cuzk_err *err) {
    ZK_CUDA_TRY(cudaGetDeviceCount(count));
    return CUZK_OK;
}

/* One more segment, all of it free. */
static cudaError_t add_segment(zk_cuda *d, size_t bytes) {
    char *memory = nullptr;
    const cudaError_t error = cudaMalloc((void **)&memory, bytes);
    if (error != cudaSuccess) return error;
    d->segments[memory] = bytes;
    d->free_pieces[memory] = bytes;
    d->held_bytes += bytes;
    return cudaSuccess;
}

/* Gives segments that nobody uses back to the driver. */
static cudaError_t drop_free_segments(zk_cuda *d) {
    for (auto it = d->segments.begin(); it != d->segments.end();) {
        auto piece = d->free_pieces.find(it->first);
        if (piece == d->free_pieces.end() || piece->second != it->second) {
            ++it;
            continue;
        }
        const cudaError_t error = cudaFree(it->first);
        if (error != cudaSuccess) return error;
        d->held_bytes -= it->second;
        d->free_pieces.erase(piece);
        it = d->segments.erase(it);
    }
    return cudaSuccess;
}

static cuzk_status open_device(zk_cuda *d, size_t pool_bytes, cuzk_err *err) {
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    ZK_TRY(zk::device_describe(d, err));
    size_t free_bytes = 0, total = 0;
    ZK_CUDA_TRY(cudaMemGetInfo(&free_bytes, &total));
    d->total_bytes = total;
    const bool grows = pool_bytes == 0;
    if (grows) {
        const size_t reserve = (size_t)1 << 30;
        pool_bytes = free_bytes > 2 * reserve ? free_bytes - reserve : free_bytes / 2;
    }
    pool_bytes &= ~(zk::ALIGN - 1);
    if (pool_bytes > free_bytes)
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "device %d: %zu bytes asked for, %zu of %zu free", d->ordinal,
                       pool_bytes, free_bytes, total);
    d->pool_bytes = pool_bytes;
    if (!grows) ZK_CUDA_TRY(add_segment(d, pool_bytes));
    ZK_CUDA_TRY(cudaStreamCreateWithFlags(&d->main, cudaStreamNonBlocking));
    ZK_CUDA_TRY(cudaEventCreateWithFlags(&d->fork, cudaEventDisableTiming));
    ZK_CUDA_TRY(cudaStreamCreateWithFlags(&d->copies, cudaStreamNonBlocking));
    for (int i = 0; i < 2; i++) {
        ZK_CUDA_TRY(cudaEventCreateWithFlags(&d->ready[i], cudaEventDisableTiming));
        ZK_CUDA_TRY(cudaEventCreateWithFlags(&d->arrived[i], cudaEventDisableTiming));
    }
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
    for (int i = 0; i < 2; i++) {
        if (d->ready[i]) (void)cudaEventDestroy(d->ready[i]);
        if (d->arrived[i]) (void)cudaEventDestroy(d->arrived[i]);
    }
    if (d->copies) (void)cudaStreamDestroy(d->copies);
    if (d->main) (void)cudaStreamDestroy(d->main);
    for (auto &segment : d->segments) (void)cudaFree(segment.first);
    delete d;
}

/* Best fit: the smallest piece that is large enough. */
static char *take_piece(zk_cuda *d, size_t need) {
    auto best = d->free_pieces.end();
    for (auto it = d->free_pieces.begin(); it != d->free_pieces.end(); ++it)
        if (it->second >= need && (best == d->free_pieces.end() || it->second < best->second)) best = it;
    if (best == d->free_pieces.end()) return nullptr;
    char *const at = best->first;
    const size_t rest = best->second - need;
    d->free_pieces.erase(best);
    if (rest) d->free_pieces[at + need] = rest;
    return at;
}

/* A segment for a piece that no segment has room for, after giving back what is free if there is no other way. */
static cudaError_t grow(zk_cuda *d, size_t need) {
    size_t room = d->pool_bytes - d->held_bytes;
    if (room < need) {
        const cudaError_t error = drop_free_segments(d);
        if (error != cudaSuccess) return error;
        room = d->pool_bytes - d->held_bytes;
        if (room < need) return cudaErrorMemoryAllocation;
    }
    const size_t bytes = need > zk::SEGMENT_BYTES ? need : room < zk::SEGMENT_BYTES ? room : zk::SEGMENT_BYTES;
    cudaError_t error = add_segment(d, bytes);
    if (error == cudaErrorMemoryAllocation) { /* others use the device, too */
        (void)cudaGetLastError();
        error = drop_free_segments(d);
        if (error == cudaSuccess) error = add_segment(d, need);
        if (error == cudaErrorMemoryAllocation) (void)cudaGetLastError();
    }
    return error;
}

cuzk_status zk_cuda_alloc(zk_dptr *buffer, zk_cuda *d, size_t bytes, const char *name, cuzk_err *err) {
    *buffer = 0;
    if (bytes > d->pool_bytes)
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: %zu bytes, the device pool has %zu", name, bytes, d->pool_bytes);
    const size_t need = bytes ? (bytes + zk::ALIGN - 1) & ~(zk::ALIGN - 1) : zk::ALIGN;
    char *at = take_piece(d, need);
    if (!at) {
        const cudaError_t error = grow(d, need);
        if (error != cudaSuccess && error != cudaErrorMemoryAllocation)
            return zk::cuda_fail(err, __FILE__, __LINE__, name, error);
        at = take_piece(d, need);
    }
    if (!at)
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: %zu bytes, %zu of the device pool's %zu are free", name, need,
                       d->pool_bytes - d->used_bytes, d->pool_bytes);
    d->taken[at] = need;
    d->used_bytes += need;
    if (d->used_bytes > d->peak_bytes) d->peak_bytes = d->used_bytes;
    *buffer = (zk_dptr)(uintptr_t)at;
    return CUZK_OK;
}

void zk_cuda_free(zk_cuda *d, zk_dptr buffer) {
    if (!buffer) return;
    auto it = d->taken.find((char *)(uintptr_t)buffer);
    if (it == d->taken.end()) return;
    char *const at = it->first;
    size_t bytes = it->second;
    d->taken.erase(it);
    d->used_bytes -= bytes;
    auto next = d->free_pieces.lower_bound(at);
    if (next != d->free_pieces.end() && next->first == at + bytes && !d->segments.count(next->first)) {
        bytes += next->second;
        next = d->free_pieces.erase(next);
    }
    if (next != d->free_pieces.begin() && !d->segments.count(at)) {
        auto before = std::prev(next);
        if (before->first + before->second == at) {
            before->second += bytes;
            return;
        }
    }
    d->free_pieces[at] = bytes;
}

const char *zk_cuda_name(const zk_cuda *d) { return d->name; }
size_t zk_cuda_bytes_total(const zk_cuda *d) { return d->total_bytes; }
size_t zk_cuda_bytes_limit(const zk_cuda *d) { return d->pool_bytes; }
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

void zk_cuda_msm_tune(zk_cuda *d, unsigned windows, unsigned entries, unsigned lanes, unsigned threads) {
    d->tune_threads = threads;
    d->tune_windows = windows;
    d->tune_entries = entries;
    d->tune_lanes = lanes;
}

} /* extern "C" */
