/* Arrays of points on the CPU. */
#include "backend/arrays.h"

#include <stdatomic.h>

#include "backend/cpu_impl.h"
#include "curve/many.h"

#define CODE_CHUNK 512 /* points coded together by a thread */

typedef struct code_job {
    zk_g1_affine *points;
    const uint8_t *encoded;
    uint8_t *out;
    _Atomic size_t first_bad; /* least index refused */
} code_job;

/* Chunks come in ascending order and one below the least refused index is always finished, so the least is exact. */
static void decode_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    code_job *job = ctx;
    (void)thread;
    if (begin > atomic_load(&job->first_bad)) return;
    size_t i = begin + zk_g1_deserialize_many(&job->points[begin], job->encoded + begin * ZK_G1_UNCOMPRESSED_BYTES,
                                              end - begin);
    if (i == end) return;
    size_t seen = atomic_load(&job->first_bad);
    while (i < seen && !atomic_compare_exchange_weak(&job->first_bad, &seen, i)) {}
}

static cuzk_status array_decode(zk_stream *stream, zk_buffer *points, size_t first, const uint8_t *encoded, size_t n,
                                size_t *bad, cuzk_err *err) {
    code_job job = {.points = (zk_g1_affine *)points->host + first, .encoded = encoded, .first_bad = n};
    (void)stream, (void)err;
    zk_pool_for(zk_cpu_pool(points->backend), n, CODE_CHUNK, decode_range, &job);
    *bad = job.first_bad;
    return CUZK_OK;
}

static void encode_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const code_job *job = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++) zk_g1_serialize(job->out + i * ZK_G1_UNCOMPRESSED_BYTES, &job->points[i]);
}

static cuzk_status array_encode(zk_stream *stream, uint8_t *encoded, const zk_buffer *points, size_t first, size_t n,
                                cuzk_err *err) {
    code_job job = {.points = (zk_g1_affine *)points->host + first, .out = encoded};
    (void)stream, (void)err;
    zk_pool_for(zk_cpu_pool(points->backend), n, CODE_CHUNK, encode_range, &job);
    return CUZK_OK;
}

static cuzk_status array_transform(zk_stream *stream, zk_buffer *points, unsigned log2_n, const zk_fr *shift,
                                   const zk_fr *scale, zk_transform_progress progress, void *progress_ctx,
                                   cuzk_err *err) {
    (void)stream;
    return zk_g1_transform(points->host, log2_n, shift, scale, zk_cpu_pool(points->backend), progress, progress_ctx,
                           err);
}

static cuzk_status array_add_columns(zk_stream *stream, zk_buffer *points, const zk_sparse_columns *columns,
                                     const zk_buffer *rows, cuzk_err *err) {
    (void)stream;
    return zk_g1_add_columns(points->host, columns, rows->host, zk_cpu_pool(points->backend), err);
}

const zk_array_ops zk_cpu_array_ops = {
    .decode = array_decode,
    .encode = array_encode,
    .transform = array_transform,
    .add_columns = array_add_columns,
};
