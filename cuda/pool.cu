/* The pool of device memory.
 *
 * The addresses of all that it may ever hold are reserved at once, and memory is mapped behind them as it is needed: so
 * pieces that were taken at different times merge when they are free, and a workspace of tens of gigabytes finds room
 * wherever that much is free in a row. Where the driver cannot do that, all memory is taken at once. */
#include "device.cuh"

#if !defined(ZK_CUDA_EMULATE)
#include <cuda.h>
#endif

namespace zk {
namespace {

constexpr size_t ALIGN = 512;
constexpr size_t STEP_BYTES = (size_t)256 << 20; /* least that is asked of the driver */

size_t round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }

#if !defined(ZK_CUDA_EMULATE)

/* Functions of the driver, found at run time: the runtime library has no name for them. */
struct driver {
    CUresult (*granularity)(size_t *, const CUmemAllocationProp *, CUmemAllocationGranularity_flags);
    CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
    CUresult (*unreserve)(CUdeviceptr, size_t);
    CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *, unsigned long long);
    CUresult (*release)(CUmemGenericAllocationHandle);
    CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
    CUresult (*unmap)(CUdeviceptr, size_t);
    CUresult (*set_access)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
};

bool find(void **function, const char *name) {
    cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
    const cudaError_t error = cudaGetDriverEntryPointByVersion(name, function, 11020, cudaEnableDefault, &found);
#else
    const cudaError_t error = cudaGetDriverEntryPoint(name, function, cudaEnableDefault, &found);
#endif
    if (error == cudaSuccess && found == cudaDriverEntryPointSuccess && *function) return true;
    (void)cudaGetLastError();
    return false;
}

const driver *driver_get() {
    static driver d;
    static const bool complete = find((void **)&d.granularity, "cuMemGetAllocationGranularity") &&
                                 find((void **)&d.reserve, "cuMemAddressReserve") &&
                                 find((void **)&d.unreserve, "cuMemAddressFree") &&
                                 find((void **)&d.create, "cuMemCreate") && find((void **)&d.release, "cuMemRelease") &&
                                 find((void **)&d.map, "cuMemMap") && find((void **)&d.unmap, "cuMemUnmap") &&
                                 find((void **)&d.set_access, "cuMemSetAccess");
    return complete ? &d : nullptr;
}

CUmemAllocationProp memory_of(int ordinal) {
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = ordinal;
    return prop;
}

/* Reserves the range; false: the driver cannot. */
bool reserve(pool *p, int ordinal) {
    const driver *d = driver_get();
    const CUmemAllocationProp prop = memory_of(ordinal);
    size_t granularity = 0;
    CUdeviceptr base = 0;
    if (!d || d->granularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) != CUDA_SUCCESS) return false;
    p->granularity = granularity;
    p->reserved = round_up(p->limit, granularity);
    if (d->reserve(&base, p->reserved, 0, 0, 0) != CUDA_SUCCESS) return false;
    p->base = (char *)base;
    p->mapped = true;
    return true;
}

/* Backs `bytes` more. */
cudaError_t back(pool *p, int ordinal, size_t bytes) {
    const driver *d = driver_get();
    const CUmemAllocationProp prop = memory_of(ordinal);
    CUmemGenericAllocationHandle handle;
    CUmemAccessDesc access = {};
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    const CUdeviceptr at = (CUdeviceptr)(p->base + p->held);
    CUresult result = d->create(&handle, bytes, &prop, 0);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return cudaErrorMemoryAllocation;
    if (result != CUDA_SUCCESS) return cudaErrorUnknown;
    if (d->map(at, bytes, 0, handle, 0) != CUDA_SUCCESS) {
        d->release(handle);
        return cudaErrorUnknown;
    }
    if (d->set_access(at, bytes, &access, 1) != CUDA_SUCCESS) {
        d->unmap(at, bytes);
        d->release(handle);
        return cudaErrorUnknown;
    }
    p->handles.push_back(handle);
    p->handle_bytes.push_back(bytes);
    return cudaSuccess;
}

void unback(pool *p) {
    const driver *d = driver_get();
    size_t at = 0;
    for (size_t i = 0; i < p->handles.size(); i++) {
        d->unmap((CUdeviceptr)(p->base + at), p->handle_bytes[i]);
        d->release(p->handles[i]);
        at += p->handle_bytes[i];
    }
    d->unreserve((CUdeviceptr)p->base, p->reserved);
}

#else /* host memory is not there before it is used anyway */

bool reserve(pool *, int) { return false; }
cudaError_t back(pool *, int, size_t) { return cudaErrorMemoryAllocation; }
void unback(pool *) {}

#endif

void add_free(pool *p, char *at, size_t bytes) {
    auto next = p->free_pieces.lower_bound(at);
    if (next != p->free_pieces.end() && next->first == at + bytes) {
        bytes += next->second;
        next = p->free_pieces.erase(next);
    }
    if (next != p->free_pieces.begin()) {
        auto before = std::prev(next);
        if (before->first + before->second == at) {
            before->second += bytes;
            return;
        }
    }
    p->free_pieces[at] = bytes;
}

/* Memory behind the end, so that a piece of `need` bytes is free there. */
cudaError_t grow(pool *p, int ordinal, size_t need) {
    if (!p->mapped) return cudaErrorMemoryAllocation;
    size_t tail = 0;
    if (!p->free_pieces.empty()) {
        auto last = std::prev(p->free_pieces.end());
        if (last->first + last->second == p->base + p->held) tail = last->second;
    }
    const size_t room = p->held < p->limit ? p->limit - p->held : 0, missing = need - tail;
    if (missing > room) return cudaErrorMemoryAllocation;
    size_t bytes = round_up(missing > STEP_BYTES ? missing : STEP_BYTES, p->granularity);
    if (bytes > room) bytes = round_up(missing, p->granularity);
    if (bytes > p->reserved - p->held) return cudaErrorMemoryAllocation;
    cudaError_t error = back(p, ordinal, bytes);
    if (error == cudaErrorMemoryAllocation && bytes > round_up(missing, p->granularity)) {
        bytes = round_up(missing, p->granularity); /* others use the device, too */
        error = back(p, ordinal, bytes);
    }
    if (error != cudaSuccess) return error;
    char *const at = p->base + p->held;
    p->held += bytes;
    add_free(p, at, bytes);
    return cudaSuccess;
}

/* Best fit: the smallest piece that is large enough. */
char *take_piece(pool *p, size_t need) {
    auto best = p->free_pieces.end();
    for (auto it = p->free_pieces.begin(); it != p->free_pieces.end(); ++it)
        if (it->second >= need && (best == p->free_pieces.end() || it->second < best->second)) best = it;
    if (best == p->free_pieces.end()) return nullptr;
    char *const at = best->first;
    const size_t rest = best->second - need;
    p->free_pieces.erase(best);
    if (rest) p->free_pieces[at + need] = rest;
    return at;
}

} // namespace

cuzk_status pool_open(pool *p, int ordinal, size_t limit, bool whole, cuzk_err *err) {
    p->limit = limit & ~(ALIGN - 1);
    if (!whole && reserve(p, ordinal)) return CUZK_OK;
    ZK_CUDA_TRY(cudaMalloc((void **)&p->base, p->limit));
    p->held = p->reserved = p->limit;
    if (p->limit) p->free_pieces[p->base] = p->limit;
    return CUZK_OK;
}

void pool_adopt(pool *p, char *base, size_t bytes) {
    p->base = base;
    p->limit = p->held = p->reserved = bytes;
    p->owned = false;
    p->free_pieces[base] = bytes;
}

void pool_close(pool *p) {
    if (p->mapped)
        unback(p);
    else if (p->base && p->owned)
        (void)cudaFree(p->base);
    p->base = nullptr;
    p->mapped = false;
}

} // namespace zk

extern "C" {

cuzk_status zk_cuda_alloc(zk_dptr *buffer, zk_cuda *d, size_t bytes, const char *name, cuzk_err *err) {
    using namespace zk;
    pool *p = &d->pool;
    *buffer = 0;
    if (bytes > p->limit)
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: %zu bytes, the device pool has %zu", name, bytes, p->limit);
    const size_t need = bytes ? round_up(bytes, ALIGN) : ALIGN;
    const std::lock_guard<std::mutex> guard(p->lock);
    char *at = take_piece(p, need);
    if (!at) {
        const cudaError_t error = grow(p, d->ordinal, need);
        if (error != cudaSuccess && error != cudaErrorMemoryAllocation)
            return cuda_fail(err, __FILE__, __LINE__, name, error);
        at = take_piece(p, need);
    }
    if (!at)
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: %zu bytes, %zu of the device pool's %zu are free", name, need,
                       p->limit - p->used, p->limit);
    p->taken[at] = need;
    p->used += need;
    if (p->used > p->peak) p->peak = p->used;
    *buffer = (zk_dptr)(uintptr_t)at;
    return CUZK_OK;
}

void zk_cuda_free(zk_cuda *d, zk_dptr buffer) {
    zk::pool *p = &d->pool;
    const std::lock_guard<std::mutex> guard(p->lock);
    auto it = p->taken.find((char *)(uintptr_t)buffer);
    if (!buffer || it == p->taken.end()) return;
    p->used -= it->second;
    zk::add_free(p, it->first, it->second);
    p->taken.erase(it);
}

size_t zk_cuda_bytes_limit(const zk_cuda *d) { return d->pool.limit; }
size_t zk_cuda_bytes_free(const zk_cuda *d) { return d->pool.limit - d->pool.used; }
size_t zk_cuda_bytes_peak(const zk_cuda *d) { return d->pool.peak; }

} /* extern "C" */
