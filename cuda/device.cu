/* The device object, its pool, copies. */
#include "device.cuh"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace zk {
cuzk_status cuda_fail(cuzk_err *err, const char *file, int line, const char *what, cudaError_t error) {
    cuzk_status status = error == cudaErrorMemoryAllocation ? CUZK_OUT_OF_MEMORY : CUZK_DEVICE;
    return zk_err_set(err, status, file, line, "CUDA: %s: %s (%s)", what, cudaGetErrorString(error),
                      cudaGetErrorName(error));
}

void drain(zk_cuda *d) {
    (void)cudaSetDevice(d->ordinal);
    if (d->main) (void)cudaStreamSynchronize(d->main);
    if (d->copies) (void)cudaStreamSynchronize(d->copies);
    for (cudaStream_t lane : d->lane)
        if (lane) (void)cudaStreamSynchronize(lane);
}

__global__ void nothing() {}

/* Compute capabilities times 100 that this build was compiled for, ascending. */
#if defined(__CUDA_ARCH_LIST__)
static const int architectures[] = {__CUDA_ARCH_LIST__};
#else
static const int architectures[] = {900};
#endif

static cuzk_status no_code(int ordinal, const char *name, int major, int minor, cuzk_err *err) {
    char list[96] = "";
    size_t at = 0;
    for (const int a : architectures)
        if (at < sizeof list)
            at += (size_t)snprintf(list + at, sizeof list - at, "%s%d.%d", at ? ", " : "", a / 100, a / 10 % 10);
    return ZK_FAIL(err, CUZK_UNSUPPORTED,
                   "device %d (%s) has compute capability %d.%d; this build has no code for it, it was compiled for %s",
                   ordinal, name, major, minor, list);
}

/* What the device is, and whether this build has code for it. */
static cuzk_status device_describe(zk_cuda *d, cuzk_err *err) {
    cudaDeviceProp properties;
    cudaFuncAttributes attributes;
    ZK_CUDA_TRY(cudaGetDeviceProperties(&properties, d->ordinal));
    snprintf(d->name, sizeof d->name, "%.*s", (int)sizeof d->name - 1, properties.name);
    d->multiprocessors = properties.multiProcessorCount;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, nothing);
    if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction) {
        (void)cudaGetLastError();
        return no_code(d->ordinal, d->name, properties.major, properties.minor, err);
    }
    ZK_CUDA_TRY(error);
    return CUZK_OK;
}
} // namespace zk

extern "C" {

/* Whether there is code is known when a device is opened; here, without opening one, what is too old for any. */
cuzk_status zk_cuda_device_count(int *count, cuzk_err *err) {
    int n = 0, major = 0, minor = 0;
    bool usable = false;
    *count = 0;
    ZK_CUDA_TRY(cudaGetDeviceCount(&n));
    for (int i = 0; i < n && !usable; i++) {
        ZK_CUDA_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, i));
        ZK_CUDA_TRY(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, i));
        usable = 100 * major + 10 * minor >= zk::architectures[0];
    }
    *count = n;
    return usable || n == 0 ? CUZK_OK : zk::no_code(n - 1, "CUDA", major, minor, err);
}

static cuzk_status open_queue(zk_cuda *d, cuzk_err *err) {
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

static cuzk_status open_device(zk_cuda *d, size_t pool_bytes, cuzk_err *err) {
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    ZK_TRY(zk::device_describe(d, err));
    size_t free_bytes = 0, total = 0;
    ZK_CUDA_TRY(cudaMemGetInfo(&free_bytes, &total));
    d->total_bytes = total;
    ZK_CUDA_TRY(cudaDriverGetVersion(&d->driver));
    const bool grows = pool_bytes == 0;
    if (grows) {
        const size_t reserve = (size_t)1 << 30;
        pool_bytes = free_bytes > 2 * reserve ? free_bytes - reserve : free_bytes / 2;
    }
    if (pool_bytes > free_bytes)
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "device %d: %zu bytes asked for, %zu of %zu free", d->ordinal,
                       pool_bytes, free_bytes, total);
    ZK_TRY(zk::pool_open(&d->pool, d->ordinal, pool_bytes, !grows, err));
    return open_queue(d, err);
}

cuzk_status zk_cuda_open(zk_cuda **device, int ordinal, size_t pool_bytes, cuzk_err *err) {
    *device = nullptr;
    zk_cuda *d = new (std::nothrow) zk_cuda;
    if (!d) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "device %d: no memory for its description", ordinal);
    d->ordinal = ordinal;
    d->pool.poisoned = getenv("CUZK_POISON_DEVICE") != nullptr;
    cuzk_status status = open_device(d, pool_bytes, err);
    if (status != CUZK_OK) {
        zk_cuda_close(d);
        return status;
    }
    *device = d;
    return CUZK_OK;
}

cuzk_status zk_cuda_fork(zk_cuda **queue, zk_cuda *device, size_t bytes, cuzk_err *err) {
    zk_dptr memory;
    *queue = nullptr;
    ZK_CUDA_TRY(cudaSetDevice(device->ordinal)); /* streams and events belong to the current one */
    ZK_TRY(zk_cuda_alloc(&memory, device, bytes, "workspace of a queue", err));
    zk_cuda *q = new (std::nothrow) zk_cuda;
    if (!q) {
        zk_cuda_free(device, memory);
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "device %d: no memory for a queue", device->ordinal);
    }
    q->parent = device;
    q->ordinal = device->ordinal;
    q->multiprocessors = device->multiprocessors;
    q->total_bytes = device->total_bytes;
    q->driver = device->driver;
    memcpy(q->name, device->name, sizeof q->name);
    memcpy(q->preferred, device->preferred, sizeof q->preferred);
    q->pool.poisoned = device->pool.poisoned;
    cuzk_status status = zk::pool_adopt(&q->pool, (char *)(uintptr_t)memory, bytes, err);
    if (status == CUZK_OK) status = open_queue(q, err);
    if (status != CUZK_OK) {
        zk_cuda_close(q);
        return status;
    }
    *queue = q;
    return CUZK_OK;
}

cuzk_status zk_cuda_share(zk_cuda *device, size_t bytes, cuzk_err *err) {
    zk_cuda_close(device->common);
    device->common = nullptr;
    return bytes ? zk_cuda_fork(&device->common, device, bytes, err) : CUZK_OK;
}

void zk_cuda_close(zk_cuda *d) {
    if (!d) return;
    zk_cuda_close(d->common);
    (void)cudaSetDevice(d->ordinal);
    if (d->parent)
        zk::drain(d);
    else
        (void)cudaDeviceSynchronize();
    zk_cuda_free(d, d->ntt.memory);
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
    if (d->parent) zk_cuda_free(d->parent, (zk_dptr)(uintptr_t)d->pool.base);
    zk::pool_close(&d->pool);
    delete d;
}

const char *zk_cuda_name(const zk_cuda *d) { return d->name; }
size_t zk_cuda_bytes_total(const zk_cuda *d) { return d->total_bytes; }
unsigned zk_cuda_driver(const zk_cuda *d) { return (unsigned)d->driver; }

cuzk_status zk_cuda_upload(zk_cuda *d, zk_dptr to, const void *from, size_t bytes, cuzk_err *err) {
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    ZK_CUDA_TRY(cudaMemcpyAsync((void *)to, from, bytes, cudaMemcpyHostToDevice, d->main));
    ZK_CUDA_TRY(cudaStreamSynchronize(d->main));
    return CUZK_OK;
}

cuzk_status zk_cuda_download(zk_cuda *d, void *to, zk_dptr from, size_t bytes, cuzk_err *err) {
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    ZK_CUDA_TRY(cudaMemcpyAsync(to, (const void *)from, bytes, cudaMemcpyDeviceToHost, d->main));
    ZK_CUDA_TRY(cudaStreamSynchronize(d->main));
    return CUZK_OK;
}

cuzk_status zk_cuda_fill(zk_cuda *d, zk_dptr to, int byte, size_t bytes, cuzk_err *err) {
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    ZK_CUDA_TRY(cudaMemsetAsync((void *)to, byte, bytes, d->main));
    return CUZK_OK;
}

cuzk_status zk_cuda_sync(zk_cuda *d, cuzk_err *err) {
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    ZK_CUDA_TRY(cudaStreamSynchronize(d->main));
    return CUZK_OK;
}

void zk_cuda_msm_tune(zk_cuda *d, unsigned windows, unsigned entries, unsigned lanes, unsigned threads) {
    d->tune_threads = threads;
    d->tune_windows = windows;
    d->tune_entries = entries;
    d->tune_lanes = lanes;
}

cuzk_status zk_cuda_host_alloc(void **memory, zk_cuda *d, size_t bytes, const char *name, cuzk_err *err) {
    *memory = nullptr;
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    const cudaError_t error = cudaMallocHost(memory, bytes ? bytes : 1);
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: %zu bytes of pinned host memory", name, bytes);
    }
    ZK_CUDA_TRY(error);
    return CUZK_OK;
}

void zk_cuda_host_free(zk_cuda *d, void *memory) {
    if (!memory) return;
    (void)cudaSetDevice(d->ordinal);
    (void)cudaFreeHost(memory);
}

} /* extern "C" */
