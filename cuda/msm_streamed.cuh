/* MSM and masked sum of bases in host memory, for one group: slices come on the copy stream into one of two buffers
 * while the slice in the other is worked on. */
#ifndef ZK_CUDA_MSM_STREAMED_CUH
#define ZK_CUDA_MSM_STREAMED_CUH

#include "msm_lanes.cuh"

namespace zk {

template <class F> struct base_stream {
    zk_cuda *device;
    const char *host; /* [n] points */
    size_t n, slice, sent = 0;
    affine<F> *buffer[2];

    u32 count(size_t at) const { return (u32)(n - at < slice ? n - at : slice); }
    /* Starts the copy of the next slice, if there is one; its buffer is free. */
    cuzk_status send(cuzk_err *err) {
        if (sent >= n) return CUZK_OK;
        const u32 which = sent / slice % 2;
        ZK_CUDA_TRY(cudaMemcpyAsync(buffer[which], host + sent * sizeof(affine<F>), count(sent) * sizeof(affine<F>),
                                    cudaMemcpyHostToDevice, device->copies));
        ZK_CUDA_TRY(cudaEventRecord(device->arrived[which], device->copies));
        sent += slice;
        return CUZK_OK;
    }
    cuzk_status start(cuzk_err *err) {
        ZK_CUDA_TRY(cudaEventRecord(device->fork, device->main)); /* what may still use the memory */
        ZK_CUDA_TRY(cudaStreamWaitEvent(device->copies, device->fork, 0));
        ZK_TRY(send(err));
        return send(err);
    }
    /* Main waits for the slice at `at`. */
    cuzk_status receive(const affine<F> **bases, size_t at, cuzk_err *err) {
        const u32 which = at / slice % 2;
        ZK_CUDA_TRY(cudaStreamWaitEvent(device->main, device->arrived[which], 0));
        *bases = buffer[which];
        return CUZK_OK;
    }
};

template <class F>
cuzk_status msm_streamed(void *result, zk_cuda *d, const void *bases, zk_dptr scalars, size_t n, cuzk_err *err) {
    memset(result, 0, sizeof(affine<F>)); /* infinity */
    if (n >= MAX_POINTS) return ZK_FAIL(err, CUZK_UNSUPPORTED, "msm: %zu points, at most %u", n, MAX_POINTS - 1);
    if (n == 0) return CUZK_OK;
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    workspace_piece piece(d);
    std::unique_ptr<msm_job<F>> job(new (std::nothrow) msm_job<F>);
    if (!job) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "msm: no memory for its description");
    const zk_cuda_bases plain = {0, 0, n, 0, 1, SCALAR_BITS};
    ZK_TRY(msm_allocate(job.get(), &piece, plain, n, true, err));
    base_stream<F> stream{d, (const char *)bases, n, job->config.slice, 0, {job->slice[0], job->slice[1]}};
    ZK_TRY(stream.start(err));
    for (size_t at = 0; at < n; at += stream.slice) {
        const affine<F> *here = nullptr;
        ZK_TRY(stream.receive(&here, at, err));
        job->at = at;
        job->n = stream.count(at);
        ZK_TRY(msm_slice(job.get(), here, (const affine<F> *)nullptr, (const fr *)scalars + at, err));
        ZK_TRY(stream.send(err));
    }
    const affine<F> answer = msm_total(*job);
    memcpy(result, &answer, sizeof answer);
    return CUZK_OK;
}

/* Sixteen slices or more, so that little time passes before the first has come and after the last. */
inline size_t streamed_sum_slice(size_t n) { return sum_slice_of(n, 16); }

/* results: [n_masks] affine, bits: as many masks over the same bases; a slice serves all of them. */
template <class F>
cuzk_status masked_sums_streamed(void *results, zk_cuda *d, const void *bases, const zk_dptr *bits, size_t n_masks,
                                 size_t n, cuzk_err *err) {
    memset(results, 0, n_masks * sizeof(affine<F>)); /* infinity */
    if (n >= MAX_POINTS) return ZK_FAIL(err, CUZK_UNSUPPORTED, "masked sum: %zu points, at most %u", n, MAX_POINTS - 1);
    if (n == 0 || n_masks == 0) return CUZK_OK;
    std::unique_ptr<xyzz<F>[]> sums(new (std::nothrow) xyzz<F>[n_masks]);
    if (!sums) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "masked sum: no memory for %zu of them", n_masks);
    for (size_t k = 0; k < n_masks; k++) sums[k] = xyzz<F>::infinity();
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    sum_workspace<F> w;
    workspace_piece piece(d);
    base_stream<F> stream{d, (const char *)bases, n, 0, 0, {nullptr, nullptr}};
    ZK_TRY(sum_allocate(&w, &piece, &stream.slice, n, streamed_sum_slice(n), true, err));
    for (u32 k = 0; k < 2; k++) stream.buffer[k] = w.slice[k];
    ZK_TRY(stream.start(err));
    for (size_t at = 0; at < n; at += stream.slice) {
        const affine<F> *here = nullptr;
        ZK_TRY(stream.receive(&here, at, err));
        for (size_t k = 0; k < n_masks; k++)
            ZK_TRY(sum_slice(&sums[k], d, w, here, (const u64 *)bits[k] + at / 64, stream.count(at), err));
        ZK_TRY(stream.send(err));
    }
    for (size_t k = 0; k < n_masks; k++) {
        const affine<F> answer = to_affine(sums[k]);
        memcpy((char *)results + k * sizeof answer, &answer, sizeof answer);
    }
    return CUZK_OK;
}

template <class F> void streamed_bytes(size_t *best, size_t *least, const zk_cuda *d, int kind, size_t n) {
    const zk_cuda_bases plain = {0, 0, n, 0, 1, SCALAR_BITS};
    if (kind == 0)
        msm_extremes<F>(best, least, d, plain, true);
    else
        sum_extremes<F>(best, least, d, n, streamed_sum_slice(n), true);
}

} // namespace zk
#endif
