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

typedef std::map<char *, size_t> piece_map;

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
    p->handles.reserve(p->handles.size() + 1); /* so that what follows cannot throw */
    p->handle_bytes.reserve(p->handle_bytes.size() + 1);
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

/* An entry of the maps. May throw; moving it from one to the other does not, so giving memory back never fails. */
piece_map::node_type make_piece() {
    piece_map one;
    one.emplace();
    return one.extract(one.begin());
}

void add_free(pool *p, piece_map::node_type piece) {
    char *const at = piece.key();
    auto next = p->free_pieces.lower_bound(at);
    if (next != p->free_pieces.end() && next->first == at + piece.mapped()) {
        piece.mapped() += next->second;
        next = p->free_pieces.erase(next);
    }
    if (next != p->free_pieces.begin()) {
        auto before = std::prev(next);
        if (before->first + before->second == at) {
            before->second += piece.mapped();
            return;
        }
    }
    p->free_pieces.insert(std::move(piece));
}

/* Calls visit(address, bytes) for each free piece. growing: what can still be mapped is part of the last one. */
template <class Visit> void each_piece(const pool *p, bool growing, Visit visit) {
    char *const end = p->base + p->held;
    size_t room = growing && p->mapped && p->held < p->limit ? p->limit - p->held : 0;
    for (const auto &piece : p->free_pieces) {
        const bool last = piece.first + piece.second == end;
        visit(piece.first, piece.second + (last ? room : 0));
        if (last) room = 0;
    }
    if (room) visit(end, room);
}

/* The smallest piece of `need` bytes or more without which, or behind which, there is one of `keep` bytes; null: none.
 */
char *choose_piece(const pool *p, size_t need, size_t keep, bool growing) {
    size_t most = 0, second = 0, least = SIZE_MAX;
    char *best = nullptr;
    each_piece(p, growing, [&](char *, size_t bytes) {
        second = bytes > most ? most : bytes > second ? bytes : second;
        most = bytes > most ? bytes : most;
    });
    each_piece(p, growing, [&](char *at, size_t bytes) {
        if (bytes < need || bytes >= least) return;
        const size_t others = bytes == most ? second : most;
        if (others < keep && bytes - need < keep) return;
        best = at;
        least = bytes;
    });
    return best;
}

/* Memory behind the end, so that `missing` bytes more are free there. */
cudaError_t grow(pool *p, int ordinal, size_t missing, piece_map::node_type piece) {
    const size_t room = p->held < p->limit ? p->limit - p->held : 0;
    if (!p->mapped || missing > room) return cudaErrorMemoryAllocation;
    size_t bytes = round_up(missing > STEP_BYTES ? missing : STEP_BYTES, p->granularity);
    if (bytes > room) bytes = round_up(missing, p->granularity);
    if (bytes > p->reserved - p->held) return cudaErrorMemoryAllocation;
    cudaError_t error = back(p, ordinal, bytes);
    if (error == cudaErrorMemoryAllocation && bytes > round_up(missing, p->granularity)) {
        bytes = round_up(missing, p->granularity); /* others use the device, too */
        error = back(p, ordinal, bytes);
    }
    if (error != cudaSuccess) return error;
    piece.key() = p->base + p->held;
    piece.mapped() = bytes;
    p->held += bytes;
    add_free(p, std::move(piece));
    return cudaSuccess;
}

/* Takes `need` bytes and notes them, or leaves *at null. May throw before it has changed anything. */
cudaError_t take(char **at, pool *p, int ordinal, size_t need, size_t keep) {
    auto noted = make_piece(), grown = make_piece();
    const std::lock_guard<std::mutex> guard(p->lock);
    *at = choose_piece(p, need, keep, true);
    char *const end = p->base + p->held;
    if (*at && *at + need > end) {
        const auto last = p->free_pieces.find(*at);
        const cudaError_t error =
            grow(p, ordinal, need - (last == p->free_pieces.end() ? 0 : last->second), std::move(grown));
        if (error == cudaErrorMemoryAllocation)
            *at = choose_piece(p, need, keep, false);
        else if (error != cudaSuccess)
            return error;
    }
    if (!*at) return cudaSuccess;
    auto piece = p->free_pieces.extract(*at);
    const size_t rest = piece.mapped() - need;
    piece.key() = *at + need;
    piece.mapped() = rest;
    if (rest) p->free_pieces.insert(std::move(piece));
    noted.key() = *at;
    noted.mapped() = need;
    p->taken.insert(std::move(noted));
    const size_t used = p->used += need;
    if (used > p->peak) p->peak = used;
    return cudaSuccess;
}

/* ---- for tests ---- */

std::atomic<uint64_t> countdown{0};
std::atomic<bool> refused{false};
std::atomic<size_t> kept{0};

bool should_fail() {
    uint64_t left = countdown.load(std::memory_order_relaxed);
    while (left && !countdown.compare_exchange_weak(left, left - 1)) {}
    if (left != 1) return false;
    refused = true;
    return true;
}

constexpr int FRESH = 0xa5, STALE = 0x5a;

/* Before anybody else can use it. */
cudaError_t overwrite(zk_cuda *d, char *at, size_t bytes, int byte) {
    cudaError_t error = cudaSetDevice(d->ordinal);
    if (error == cudaSuccess) error = cudaMemsetAsync(at, byte, bytes, d->main);
    return error == cudaSuccess ? cudaStreamSynchronize(d->main) : error;
}

/* The first piece of a new pool. */
cuzk_status add_whole(pool *p, cuzk_err *err) {
    return guarded(err, "device pool", [&] {
        if (p->limit) p->free_pieces[p->base] = p->limit;
        return CUZK_OK;
    });
}

} // namespace

cuzk_status pool_open(pool *p, int ordinal, size_t limit, bool whole, cuzk_err *err) {
    p->limit = limit & ~(ALIGN - 1);
    if (!whole && reserve(p, ordinal)) return CUZK_OK;
    ZK_CUDA_TRY(cudaMalloc((void **)&p->base, p->limit));
    p->held = p->reserved = p->limit;
    return add_whole(p, err);
}

cuzk_status pool_adopt(pool *p, char *base, size_t bytes, cuzk_err *err) {
    p->base = base;
    p->limit = p->held = p->reserved = bytes & ~(ALIGN - 1);
    p->owned = false;
    return add_whole(p, err);
}

void pool_close(pool *p) {
    if (p->mapped)
        unback(p);
    else if (p->base && p->owned)
        (void)cudaFree(p->base);
    p->base = nullptr;
    p->mapped = false;
    kept += p->used;
}

} // namespace zk

extern "C" {

cuzk_status zk_cuda_alloc_beside(zk_dptr *buffer, zk_cuda *d, size_t bytes, size_t keep, const char *name,
                                 cuzk_err *err) {
    using namespace zk;
    pool *p = &d->pool;
    char *at = nullptr;
    *buffer = 0;
    if (bytes > p->limit)
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: %zu bytes, the device pool has %zu", name, bytes, p->limit);
    const size_t need = bytes ? round_up(bytes, ALIGN) : ALIGN;
    if (should_fail())
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: %zu bytes of device memory refused for a test", name, need);
    cudaError_t error = cudaSuccess;
    ZK_TRY(guarded(err, name, [&] {
        ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
        error = take(&at, p, d->ordinal, need, keep);
        return CUZK_OK;
    }));
    if (error != cudaSuccess) return cuda_fail(err, __FILE__, __LINE__, name, error);
    if (!at)
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: %zu bytes, %zu of the device pool's %zu are free", name, need,
                       zk_cuda_bytes_free(d), p->limit);
    *buffer = (zk_dptr)(uintptr_t)at;
    if (p->poisoned) error = overwrite(d, at, need, FRESH);
    if (error == cudaSuccess) return CUZK_OK;
    zk_cuda_free(d, *buffer);
    *buffer = 0;
    return cuda_fail(err, __FILE__, __LINE__, "cudaMemsetAsync", error);
}

cuzk_status zk_cuda_alloc(zk_dptr *buffer, zk_cuda *device, size_t bytes, const char *name, cuzk_err *err) {
    return zk_cuda_alloc_beside(buffer, device, bytes, 0, name, err);
}

void zk_cuda_free(zk_cuda *d, zk_dptr buffer) {
    zk::pool *p = &d->pool;
    char *const at = (char *)(uintptr_t)buffer;
    if (!at) return;
    if (p->poisoned) {
        size_t bytes = 0;
        {
            const std::lock_guard<std::mutex> guard(p->lock);
            auto it = p->taken.find(at);
            if (it != p->taken.end()) bytes = it->second;
        }
        if (bytes) (void)zk::overwrite(d, at, bytes, zk::STALE);
    }
    const std::lock_guard<std::mutex> guard(p->lock);
    auto piece = p->taken.extract(at);
    if (piece.empty()) return;
    p->used -= piece.mapped();
    zk::add_free(p, std::move(piece));
}

size_t zk_cuda_bytes_limit(const zk_cuda *d) { return d->pool.limit; }
size_t zk_cuda_bytes_free(const zk_cuda *d) {
    const size_t used = d->pool.used; /* what is backed is rounded up, so this may pass the limit by a little */
    return used < d->pool.limit ? d->pool.limit - used : 0;
}
size_t zk_cuda_bytes_peak(const zk_cuda *d) { return d->pool.peak; }

size_t zk_cuda_bytes_in_a_row(zk_cuda *d) {
    size_t most = 0;
    const std::lock_guard<std::mutex> guard(d->pool.lock);
    zk::each_piece(&d->pool, true, [&](char *, size_t bytes) { most = bytes > most ? bytes : most; });
    return most;
}

bool zk_cuda_is_poisoned(const zk_cuda *d) { return d->pool.poisoned; }

void zk_cuda_alloc_fail_nth(uint64_t nth) {
    zk::countdown = 0;
    zk::refused = false;
    zk::countdown = nth;
}
bool zk_cuda_alloc_failed(void) { return zk::refused; }
size_t zk_cuda_bytes_kept(void) { return zk::kept.exchange(0); }

} /* extern "C" */
