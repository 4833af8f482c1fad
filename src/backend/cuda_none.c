/* In place of cuda.c where the build has no CUDA code. */
#include "backend/cuda.h"
#include "backend/tuning.h"

static cuzk_status none(cuzk_err *err) { return ZK_FAIL(err, CUZK_UNSUPPORTED, "this build has no CUDA code"); }

cuzk_status zk_backend_cuda_count(int *n, cuzk_err *err) {
    *n = 0;
    return none(err);
}

cuzk_status zk_backend_open_cuda(zk_backend **backend, int ordinal, uint64_t memory_bytes, zk_pool *pool,
                                 cuzk_err *err) {
    (void)ordinal, (void)memory_bytes, (void)pool;
    *backend = NULL;
    return none(err);
}

void zk_backend_cuda_memory(uint64_t *total, uint64_t *free, const zk_backend *backend) {
    (void)backend;
    *total = *free = 0;
}

cuzk_status zk_tuning_measure(zk_tuning *tuning, zk_backend *backend, unsigned from, unsigned to, unsigned runs,
                              zk_tuning_report report, void *report_ctx, cuzk_err *err) {
    (void)backend, (void)from, (void)to, (void)runs, (void)report, (void)report_ctx;
    *tuning = (zk_tuning){0};
    return none(err);
}

void zk_tuning_apply(zk_backend *backend, const zk_tuning *tuning) { (void)backend, (void)tuning; }
