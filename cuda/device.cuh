/* Inside the CUDA folder: the device object, its memory pool, and how calls and launches are checked. */
#ifndef ZK_CUDA_DEVICE_CUH
#define ZK_CUDA_DEVICE_CUH

#include "cuda_kernels.h"
#include "platform.cuh"
#include "pool.cuh"

#include <exception>
#include <map>
#include <new>

#if !defined(ZK_CUDA_EMULATE)
#include <cuda_runtime.h>
#define ZK_DYNAMIC_SHARED(type, name)                                                                                  \
    extern __shared__ uint4 zk_dynamic_shared_[];                                                                      \
    type *name = (type *)zk_dynamic_shared_
#define ZK_LAUNCH(kernel, grid, block, shared, stream, ...) kernel<<<grid, block, shared, stream>>>(__VA_ARGS__)
#define ZK_LAUNCH_BARRIERS ZK_LAUNCH
#endif

namespace zk {

cuzk_status cuda_fail(cuzk_err *err, const char *file, int line, const char *what, cudaError_t error);
/* Waits for all work of a queue, on whatever stream; after a failure, when that work may use memory that is given back.
 */
void drain(zk_cuda *d);

/* A CUDA call, checked; for functions that own nothing yet. */
#define ZK_CUDA_TRY(expr)                                                                                              \
    do {                                                                                                               \
        cudaError_t zk_e_ = (expr);                                                                                    \
        if (zk_e_ != cudaSuccess) return zk::cuda_fail(err, __FILE__, __LINE__, #expr, zk_e_);                         \
    } while (0)
/* A launch, checked. kernel: a plain name (templates go through a local variable). shared: bytes a block. */
#define ZK_RUN(kernel, grid, block, shared, stream, ...)                                                               \
    do {                                                                                                               \
        ZK_LAUNCH(kernel, grid, block, shared, stream, __VA_ARGS__);                                                   \
        cudaError_t zk_e_ = cudaGetLastError();                                                                        \
        if (zk_e_ != cudaSuccess) return zk::cuda_fail(err, __FILE__, __LINE__, "launch of " #kernel, zk_e_);          \
    } while (0)
/* One of n threads or more, in blocks of `block`, without shared memory: kernels look whether there is a thing for the
 * thread. */
#define ZK_RUN_EACH(kernel, n, block, stream, ...) ZK_RUN(kernel, zk::ceil_div(n, block), block, 0, stream, __VA_ARGS__)
/* Of a kernel with barriers. */
#define ZK_RUN_BARRIERS(kernel, grid, block, shared, stream, ...)                                                      \
    do {                                                                                                               \
        ZK_LAUNCH_BARRIERS(kernel, grid, block, shared, stream, __VA_ARGS__);                                          \
        cudaError_t zk_e_ = cudaGetLastError();                                                                        \
        if (zk_e_ != cudaSuccess) return zk::cuda_fail(err, __FILE__, __LINE__, "launch of " #kernel, zk_e_);          \
    } while (0)

/* Runs the body of a function of cuda_kernels.h: nothing that is thrown in it gets out to C. */
template <class Body> cuzk_status guarded(cuzk_err *err, const char *what, Body &&body) {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no host memory", what);
    } catch (const std::exception &e) { return ZK_FAIL(err, CUZK_INTERNAL, "%s: %s", what, e.what()); } catch (...) {
        return ZK_FAIL(err, CUZK_INTERNAL, "%s: something unknown was thrown", what);
    }
}

constexpr int MAX_LANES = 6;
constexpr unsigned MAX_LOG2_POINTS = 31; /* of an MSM, rounded */
constexpr int MAX_SCRATCH = 160;
constexpr size_t PINNED_BYTES = 1 << 20; /* for each lane */

/* Pinned buffers between host memory and the device, made when first needed (points.cu). */
#if defined(ZK_CUDA_EMULATE)
constexpr size_t STAGING_BYTES = 48 << 10; /* so that tests go round */
#else
constexpr size_t STAGING_BYTES = 64 << 20;
#endif
struct staging_buffers {
    static constexpr int N = 4;
    char *host[N]{};
    cudaEvent_t copied[N]{};   /* the copy from or into the buffer has been made */
    cudaEvent_t consumed[N]{}; /* the device has done with what the last copy brought or took */
    bool ready = false;
    staging_buffers() = default;
    staging_buffers(const staging_buffers &) = delete;
    staging_buffers &operator=(const staging_buffers &) = delete;
    ~staging_buffers() {
        for (int i = 0; i < N; i++) {
            if (host[i]) (void)cudaFreeHost(host[i]);
            if (copied[i]) (void)cudaEventDestroy(copied[i]);
            if (consumed[i]) (void)cudaEventDestroy(consumed[i]);
        }
    }
};

/* Twiddle tables of one transform size; see ntt.cu. */
struct ntt_tables {
    unsigned log2_n = 0;
    bool valid = false;
    zk_dptr memory = 0;
};

/* Buffers of the pool that one function needs, given back when it returns. Work queued on the main stream or on lanes
 * that have been joined to it may still use them: the pool hands memory out only for later work on these streams. */
struct scratch {
    zk_cuda *device;
    zk_dptr held[MAX_SCRATCH];
    int n = 0;
    explicit scratch(zk_cuda *d) : device(d) {}
    scratch(const scratch &) = delete;
    scratch &operator=(const scratch &) = delete;
    ~scratch() {
        while (n) zk_cuda_free(device, held[--n]);
    }
    template <class T> cuzk_status take(T **p, size_t count, const char *name, cuzk_err *err) {
        zk_dptr d = 0;
        if (n == MAX_SCRATCH) return ZK_FAIL(err, CUZK_INTERNAL, "%s: more than %d scratch buffers", name, MAX_SCRATCH);
        if (count > SIZE_MAX / sizeof(T))
            return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: %zu elements of %zu bytes", name, count, sizeof(T));
        ZK_TRY(zk_cuda_alloc(&d, device, count * sizeof(T), name, err));
        held[n++] = d;
        *p = (T *)d;
        return CUZK_OK;
    }
};

/* For work that goes in slices: attempt(slice, err), which takes the memory for one, with ever smaller slices until
 * there is room. Slices are multiples of `unit`; one of `least` or less is the last that is tried. */
template <class Slice, class Attempt>
cuzk_status fit_slice(Slice *slice, size_t unit, size_t least, cuzk_err *err, Attempt &&attempt) {
    for (;; *slice = (Slice)(((*slice + 1) / 2 + unit - 1) / unit * unit)) {
        cuzk_err refused = {};
        const cuzk_status status = attempt(*slice, &refused);
        if (status == CUZK_OUT_OF_MEMORY && *slice > least) continue;
        if (status != CUZK_OK && err && err->status == CUZK_OK) *err = refused;
        return status;
    }
}

ZK_HD u32 ceil_div(u64 a, u64 b) { return (u32)((a + b - 1) / b); }

} // namespace zk

struct zk_cuda {
    zk_cuda *parent = nullptr; /* of a queue beside the device's */
    zk_cuda *common = nullptr; /* of a device: whose pool large sums of all its queues take turns in */
    std::mutex turn;           /* of `common`: who has it, has that pool */
    int ordinal = 0;
    int multiprocessors = 132;
    char name[96] = "";
    size_t total_bytes = 0;
    int driver = 0;
    zk::pool pool;
    cudaStream_t main{}; /* all calls; lanes fork from it and join it */
    cudaStream_t lane[zk::MAX_LANES]{};
    cudaEvent_t fork{}, joined[zk::MAX_LANES]{};
    cudaEvent_t ready[2]{};   /* of the MSM: a unit is sorted into bins */
    cudaStream_t copies{};    /* of bases in host memory */
    cudaEvent_t arrived[2]{}; /* a slice of them */
    char *pinned[zk::MAX_LANES]{};
    zk::staging_buffers staging;
    zk::ntt_tables ntt;
    zk_cuda_msm_way preferred[2][zk::MAX_LOG2_POINTS]{};                           /* by group and log2 of the points */
    unsigned tune_windows = 0, tune_entries = 0, tune_lanes = 0, tune_threads = 0; /* zk_cuda_msm_tune; 0: the rule */
    unsigned tune_hashes = 0, tune_blocks = 0;                                     /* zk_cuda_synthesis_tune */
};

namespace zk {

/* The least index of what kernels refuse, which they put there by atomicMin. */
struct least_index {
    unsigned long long *there = nullptr; /* device memory */
    cuzk_status start(zk_cuda *d, scratch &memory, const char *name, cuzk_err *err) {
        ZK_TRY(memory.take(&there, 1, name, err));
        ZK_CUDA_TRY(cudaMemsetAsync(there, 0xff, sizeof *there, d->main));
        return CUZK_OK;
    }
    /* Waits for kernels on main. *least: n if nothing was refused. */
    cuzk_status get(size_t *least, zk_cuda *d, size_t n, cuzk_err *err) const {
        unsigned long long found = 0;
        ZK_TRY(zk_cuda_download(d, &found, (zk_dptr)(uintptr_t)there, sizeof found, err));
        *least = found < n ? (size_t)found : n;
        return CUZK_OK;
    }
};

} // namespace zk

#endif
