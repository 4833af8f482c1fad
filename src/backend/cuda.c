/* The CUDA backend: handles of backend.h around the kernels of cuda/. */
#include <inttypes.h>
#include <stdio.h>

#include "backend/arrays.h"
#include "backend/cuda.h"
#include "backend/cuda_impl.h"
#include "backend/tuning.h"
#include "base/alloc.h"
#include "base/bitmap.h"
#include "base/log.h"

typedef struct cuda_buffer {
    zk_buffer base;
    zk_dptr memory; /* 0: discarded */
} cuda_buffer;

typedef struct cuda_selection {
    zk_selection base;
    zk_cuda_mask *bit, *full;
} cuda_selection;

static zk_cuda *device_of(const zk_backend *backend) { return cuda_of(backend)->device; }
static zk_cuda *queue_of(const zk_stream *stream, const zk_backend *backend) {
    return stream ? stream->queue : device_of(backend);
}
static zk_dptr memory_of(const zk_buffer *buffer) { return ((const cuda_buffer *)buffer)->memory; }

/* ---- the device ---- */

static void device_close(zk_backend *backend) {
    zk_cuda_close(device_of(backend));
    free(backend);
}

static cuzk_status stream_open(zk_stream **stream, zk_backend *backend, cuzk_err *err) {
    cuda_backend *cuda = cuda_of(backend);
    size_t bytes, common;
    cuzk_status status = CUZK_OK;
    ZK_TRY(zk_cuda_queue_bytes(&bytes, &common, cuda, err));
    zk_stream *s = zk_calloc(1, sizeof *s);
    if (!s) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "stream: out of memory");
    s->backend = cuda;
    bool first = atomic_load(&cuda->n_streams) == 0;
    if (first) ZK_GOTO(zk_cuda_share(cuda->device, common, err));
    ZK_GOTO(zk_cuda_fork(&s->queue, cuda->device, bytes, err));
    atomic_fetch_add(&cuda->n_streams, 1);
    *stream = s;
out:
    if (status != CUZK_OK) {
        if (first) (void)!zk_cuda_share(cuda->device, 0, NULL);
        free(s);
    }
    return status;
}

static void stream_close(zk_stream *stream) {
    cuda_backend *cuda = stream->backend;
    zk_cuda_close(stream->queue);
    if (atomic_fetch_sub(&cuda->n_streams, 1) == 1) (void)!zk_cuda_share(cuda->device, 0, NULL); /* cannot fail */
    free(stream);
}

static cuzk_status device_wait(zk_backend *backend, zk_stream *stream, cuzk_err *err) {
    return zk_cuda_sync(queue_of(stream, backend), err);
}

static const zk_device_ops device_ops = {
    .close = device_close,
    .stream_open = stream_open,
    .stream_close = stream_close,
    .wait = device_wait,
};

/* ---- buffers ---- */

static cuzk_status buffer_create(zk_buffer **buffer, zk_backend *backend, const char *name, size_t bytes,
                                 cuzk_err *err) {
    cuda_buffer *b = zk_calloc(1, sizeof *b);
    if (!b) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "buffer %s: out of memory", name);
    b->base = (zk_buffer){.backend = backend, .name = name, .bytes = bytes};
    cuzk_status status = zk_cuda_alloc(&b->memory, device_of(backend), bytes, name, err);
    if (status != CUZK_OK) {
        free(b);
        return status;
    }
    *buffer = &b->base;
    return CUZK_OK;
}

static void buffer_destroy(zk_buffer *buffer) {
    zk_cuda_free(device_of(buffer->backend), memory_of(buffer));
    free(buffer);
}

static cuzk_status buffer_upload(zk_stream *stream, zk_buffer *buffer, size_t offset, const void *src, size_t bytes,
                                 cuzk_err *err) {
    return zk_cuda_upload(queue_of(stream, buffer->backend), memory_of(buffer) + offset, src, bytes, err);
}

static cuzk_status buffer_download(zk_stream *stream, void *dst, const zk_buffer *buffer, size_t offset, size_t bytes,
                                   cuzk_err *err) {
    return zk_cuda_download(queue_of(stream, buffer->backend), dst, memory_of(buffer) + offset, bytes, err);
}

static void buffer_release(zk_buffer *buffer) {
    zk_cuda_free(device_of(buffer->backend), memory_of(buffer));
    ((cuda_buffer *)buffer)->memory = 0;
}

static void buffer_discard(zk_buffer *buffer) {
    if (atomic_load(&cuda_of(buffer->backend)->n_streams) == 0) buffer_release(buffer);
}

/* Memory for a buffer that is going to be written by the queue, as far as anybody will read it. */
static cuzk_status buffer_renew(zk_buffer *buffer, zk_cuda *queue, cuzk_err *err) {
    cuda_buffer *b = (cuda_buffer *)buffer;
    zk_cuda *device = device_of(buffer->backend);
    if (!b->memory) return zk_cuda_alloc(&b->memory, device, buffer->bytes, buffer->name, err);
    return zk_cuda_is_poisoned(device) ? zk_cuda_fill(queue, b->memory, 0xa5, buffer->bytes, err) : CUZK_OK;
}

static const zk_buffer_ops buffer_ops = {
    .create = buffer_create,
    .destroy = buffer_destroy,
    .upload = buffer_upload,
    .download = buffer_download,
    .discard = buffer_discard,
    .release = buffer_release,
};

/* ---- programs ---- */

static void program_plan(const zk_backend *backend, const zk_program *program, unsigned log2_n, zk_memory_plan *plan) {
    (void)backend;
    size_t tables, temporary;
    zk_cuda_ntt_bytes(&tables, &temporary, log2_n);
    zk_memory_plan_add(plan, "circuit tables", 1, zk_cuda_program_bytes(program, log2_n));
    zk_memory_plan_add(plan, "transform tables", 1, tables);
}

static cuzk_status program_load(zk_resident_program **resident, zk_backend *backend, const zk_program *program,
                                unsigned log2_n, cuzk_err *err) {
    cuda_backend *cuda = cuda_of(backend);
    cuda_program *p = zk_calloc(1, sizeof *p);
    if (!p) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "circuit %s: out of memory", program->name);
    p->base = (zk_resident_program){backend, program, log2_n};
    cuzk_status status = zk_cuda_program_load(&p->tables, cuda->device, program, log2_n, err);
    if (status == CUZK_OK) status = zk_cuda_ntt_prepare(cuda->device, log2_n, err); /* before what comes and goes */
    if (status != CUZK_OK) {
        zk_cuda_program_unload(p->tables);
        free(p);
        return status;
    }
    zk_cuda_needs_default(p);
    p->next = cuda->programs;
    cuda->programs = p;
    *resident = &p->base;
    return CUZK_OK;
}

static void program_unload(zk_resident_program *resident) {
    cuda_program *p = (cuda_program *)resident;
    cuda_backend *cuda = cuda_of(resident->backend);
    cuda_program **at = &cuda->programs;
    while (*at != p) at = &(*at)->next;
    *at = p->next;
    if (cuda->loading == p) cuda->loading = NULL;
    zk_cuda_free(cuda->device, p->twiddles);
    zk_cuda_program_unload(p->tables);
    free(p);
}

/* ---- multiples ---- */

static void multiples_destroy(zk_multiples *multiples) {
    zk_cuda_multiples_destroy(((cuda_multiples *)multiples)->tables);
    free(multiples);
}

static cuzk_status multiples_create(zk_multiples **multiples, zk_backend *backend, zk_group group, uint64_t n_expected,
                                    cuzk_err *err) {
    cuda_multiples *m = zk_calloc(1, sizeof *m);
    if (!m) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "multiples of the generator: out of memory");
    m->base = (zk_multiples){backend, group};
    cuzk_status status = zk_cuda_multiples_create(&m->tables, device_of(backend), (int)group, n_expected, err);
    if (status != CUZK_OK) {
        free(m);
        return status;
    }
    *multiples = &m->base;
    return CUZK_OK;
}

static cuzk_status multiples_encode(const zk_multiples *multiples, uint8_t *encoded, const zk_fr *scalars, size_t n,
                                    cuzk_err *err) {
    return zk_cuda_multiples_encode(((const cuda_multiples *)multiples)->tables, encoded, scalars, n, err);
}

/* ---- selections ---- */

static void selection_destroy(zk_selection *selection) {
    cuda_selection *s = (cuda_selection *)selection;
    zk_cuda_mask_destroy(s->bit);
    zk_cuda_mask_destroy(s->full);
    free(s);
}

static cuzk_status selection_create(zk_selection **selection, zk_backend *backend, const uint64_t *bit_mask,
                                    size_t n_aux, const uint64_t *full_mask, size_t n_values, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    bool range;
    size_t first;
    cuda_selection *s = zk_calloc(1, sizeof *s);
    if (!s) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "selection: out of memory");
    s->base = (zk_selection){.backend = backend, .n_aux = n_aux, .n_values = n_values};
    s->base.n_bits = zk_bitmap_count(bit_mask, n_aux, &range, &first);
    s->base.n_full = zk_bitmap_count(full_mask, n_values, &s->base.full_is_range, &s->base.full_first);
    ZK_GOTO(zk_cuda_mask_create(&s->bit, device_of(backend), bit_mask, n_aux, err));
    ZK_GOTO(zk_cuda_mask_create(&s->full, device_of(backend), full_mask, n_values, err));
    *selection = &s->base;
    s = NULL;
out:
    if (s) selection_destroy(&s->base);
    return status;
}

static const zk_residency_ops residency_ops = {
    .program_plan = program_plan,
    .program_load = program_load,
    .program_unload = program_unload,
    .proof_plan = zk_cuda_proof_plan,
    .proof_vectors = zk_cuda_proof_vectors,
    .proof_reserve = zk_cuda_proof_reserve,
    .proof_check = zk_cuda_proof_check,
    .points_plan = zk_cuda_points_plan,
    .points_load = zk_cuda_points_load,
    .points_unload = zk_cuda_points_unload,
    .points_speed_up = zk_cuda_points_speed_up,
    .points_in_subgroup = zk_cuda_points_in_subgroup,
    .selection_create = selection_create,
    .selection_destroy = selection_destroy,
    .multiples_create = multiples_create,
    .multiples_destroy = multiples_destroy,
    .multiples_encode = multiples_encode,
};

/* ---- stages ---- */

static cuzk_status stage_witness(zk_stream *stream, const zk_resident_program *program, const uint8_t (*hints)[32],
                                 zk_buffer *bits, zk_buffer *full, cuzk_err *err) {
    zk_cuda *queue = queue_of(stream, program->backend);
    ZK_TRY(zk_cuda_ntt_prepare(queue, program->log2_n, err)); /* before what comes and goes, see program_load */
    ZK_TRY(buffer_renew(bits, queue, err));
    ZK_TRY(buffer_renew(full, queue, err));
    return zk_cuda_witness(queue, ((const cuda_program *)program)->tables, hints, memory_of(bits), memory_of(full),
                           err);
}

static cuzk_status stage_evaluate(zk_stream *stream, const zk_resident_program *program, const zk_buffer *bits,
                                  const zk_buffer *full, zk_buffer *a, zk_buffer *b, zk_buffer *c, cuzk_err *err) {
    zk_cuda *queue = queue_of(stream, program->backend);
    ZK_TRY(buffer_renew(a, queue, err));
    ZK_TRY(buffer_renew(b, queue, err));
    if (c) ZK_TRY(buffer_renew(c, queue, err));
    return zk_cuda_evaluate(queue, ((const cuda_program *)program)->tables, memory_of(bits), memory_of(full),
                            memory_of(a), memory_of(b), c ? memory_of(c) : 0, err);
}

static cuzk_status stage_first_unsatisfied(zk_stream *stream, const zk_resident_program *program, const zk_buffer *a,
                                           const zk_buffer *b, const zk_buffer *c, size_t *row, cuzk_err *err) {
    return zk_cuda_first_unsatisfied(row, queue_of(stream, program->backend), memory_of(a), memory_of(b), memory_of(c),
                                     program->program->n_rows, err);
}

static cuzk_status stage_quotient(zk_stream *stream, const zk_resident_program *program, zk_buffer *a, zk_buffer *b,
                                  zk_buffer *c, cuzk_err *err) {
    return zk_cuda_ntt_quotient(queue_of(stream, program->backend), memory_of(a), memory_of(b), memory_of(c),
                                program->log2_n, ((const cuda_program *)program)->twiddles, err);
}

static cuzk_status stage_quotient_in_two(zk_stream *stream, const zk_resident_program *program, const zk_buffer *bits,
                                         const zk_buffer *full, zk_buffer *a, zk_buffer *b, cuzk_err *err) {
    const cuda_program *p = (const cuda_program *)program;
    zk_cuda *queue = queue_of(stream, program->backend);
    ZK_TRY(zk_cuda_ntt_quotient_ab(queue, memory_of(a), memory_of(b), program->log2_n, p->twiddles, err));
    ZK_TRY(buffer_renew(b, queue, err));
    ZK_TRY(zk_cuda_evaluate(queue, p->tables, memory_of(bits), memory_of(full), 0, 0, memory_of(b), err));
    return zk_cuda_ntt_quotient_c(queue, memory_of(a), memory_of(b), program->log2_n, p->twiddles, err);
}

static cuzk_status stage_products(zk_stream *stream, const zk_resident_program *program, zk_buffer *a, zk_buffer *b,
                                  cuzk_err *err) {
    return zk_cuda_ntt_products(queue_of(stream, program->backend), memory_of(a), memory_of(b), program->log2_n,
                                ((const cuda_program *)program)->twiddles, err);
}

static cuzk_status stage_compact_bits(zk_stream *stream, const zk_selection *selection, const zk_buffer *bits,
                                      zk_buffer *out, cuzk_err *err) {
    zk_cuda *queue = queue_of(stream, selection->backend);
    ZK_TRY(buffer_renew(out, queue, err));
    return zk_cuda_compact_bits(queue, ((const cuda_selection *)selection)->bit, memory_of(out), memory_of(bits), err);
}

static cuzk_status stage_compact_full(zk_stream *stream, const zk_selection *selection, const zk_buffer *full,
                                      zk_buffer *out, cuzk_err *err) {
    zk_cuda *queue = queue_of(stream, selection->backend);
    ZK_TRY(buffer_renew(out, queue, err));
    return zk_cuda_compact_fr(queue, ((const cuda_selection *)selection)->full, memory_of(out), memory_of(full), err);
}

static cuzk_status stage_msm(zk_stream *stream, const zk_resident_points *points, const zk_buffer *scalars,
                             size_t first, zk_point_sum *sum, cuzk_err *err) {
    const cuda_points *p = (const cuda_points *)points;
    zk_cuda *device = queue_of(stream, points->backend);
    zk_dptr s = memory_of(scalars) + first * sizeof(zk_fr);
    if (points->together)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "msm: of %zu points there are signed sums of %u, for masked sums",
                       points->n, points->together);
    if (points->group == ZK_G1) {
        zk_g1_affine result;
        ZK_TRY(p->host ? zk_cuda_msm_g1_streamed(&result, device, p->host, s, points->n, err)
                       : zk_cuda_msm_g1_stored(&result, device, &p->bases, s, points->n, err));
        zk_g1_from_affine(&sum->g1, &result);
    } else {
        zk_g2_affine result;
        ZK_TRY(p->host ? zk_cuda_msm_g2_streamed(&result, device, p->host, s, points->n, err)
                       : zk_cuda_msm_g2_stored(&result, device, &p->bases, s, points->n, err));
        zk_g2_from_affine(&sum->g2, &result);
    }
    return CUZK_OK;
}

static cuzk_status stage_masked_sum(zk_stream *stream, const zk_resident_points *points, const zk_buffer *bits,
                                    zk_point_sum *sum, cuzk_err *err) {
    const cuda_points *p = (const cuda_points *)points;
    zk_cuda *device = queue_of(stream, points->backend);
    zk_dptr b = memory_of(bits);
    if (points->group == ZK_G1) {
        zk_g1_affine result;
        ZK_TRY(p->host            ? zk_cuda_masked_sum_g1_streamed(&result, device, p->host, b, points->n, err)
               : points->together ? zk_cuda_signs_sum_g1(&result, device, &p->signs, b, err)
                                  : zk_cuda_masked_sum_g1(&result, device, p->bases.points, b, points->n, err));
        zk_g1_from_affine(&sum->g1, &result);
    } else {
        zk_g2_affine result;
        ZK_TRY(p->host            ? zk_cuda_masked_sum_g2_streamed(&result, device, p->host, b, points->n, err)
               : points->together ? zk_cuda_signs_sum_g2(&result, device, &p->signs, b, err)
                                  : zk_cuda_masked_sum_g2(&result, device, p->bases.points, b, points->n, err));
        zk_g2_from_affine(&sum->g2, &result);
    }
    return CUZK_OK;
}

static cuzk_status stage_masked_sums(zk_stream *stream, const zk_resident_points *points, const zk_buffer *const *bits,
                                     size_t n, zk_point_sum *sums, cuzk_err *err) {
    const cuda_points *p = (const cuda_points *)points;
    zk_cuda *device = queue_of(stream, points->backend);
    zk_dptr masks[ZK_MAX_MASKS];
    for (size_t i = 0; i < n; i++) masks[i] = memory_of(bits[i]);
    if (points->group == ZK_G1) {
        zk_g1_affine results[ZK_MAX_MASKS];
        ZK_TRY(zk_cuda_masked_sums_g1_streamed(results, device, p->host, masks, n, points->n, err));
        for (size_t i = 0; i < n; i++) zk_g1_from_affine(&sums[i].g1, &results[i]);
    } else {
        zk_g2_affine results[ZK_MAX_MASKS];
        ZK_TRY(zk_cuda_masked_sums_g2_streamed(results, device, p->host, masks, n, points->n, err));
        for (size_t i = 0; i < n; i++) zk_g2_from_affine(&sums[i].g2, &results[i]);
    }
    return CUZK_OK;
}

static const zk_stage_ops stage_ops = {
    .witness = stage_witness,
    .evaluate = stage_evaluate,
    .first_unsatisfied = stage_first_unsatisfied,
    .quotient = stage_quotient,
    .quotient_in_two = stage_quotient_in_two,
    .products = stage_products,
    .compact_bits = stage_compact_bits,
    .compact_full = stage_compact_full,
    .msm = stage_msm,
    .masked_sum = stage_masked_sum,
    .masked_sums = stage_masked_sums,
};

/* ---- arrays of points ---- */

static cuzk_status array_decode(zk_stream *stream, zk_buffer *points, size_t first, const uint8_t *encoded, size_t n,
                                size_t *bad, cuzk_err *err) {
    const cuda_backend *cuda = cuda_of(points->backend);
    return zk_cuda_points_decode(bad, queue_of(stream, points->backend), ZK_G1,
                                 memory_of(points) + first * sizeof(zk_g1_affine), 0, encoded, n, NULL, cuda->pool,
                                 err);
}

static cuzk_status array_encode(zk_stream *stream, uint8_t *encoded, const zk_buffer *points, size_t first, size_t n,
                                cuzk_err *err) {
    zk_cuda *device = queue_of(stream, points->backend);
    const size_t bytes = n * ZK_G1_UNCOMPRESSED_BYTES;
    zk_dptr out;
    ZK_TRY(zk_cuda_alloc(&out, device, bytes, "encoded points", err));
    cuzk_status status =
        zk_cuda_points_encode(device, ZK_G1, out, memory_of(points) + first * sizeof(zk_g1_affine), n, err);
    if (status == CUZK_OK) status = zk_cuda_download(device, encoded, out, bytes, err);
    zk_cuda_free(device, out);
    return status;
}

static cuzk_status array_transform(zk_stream *stream, zk_buffer *points, unsigned log2_n, const zk_fr *shift,
                                   const zk_fr *scale, zk_transform_progress progress, void *progress_ctx,
                                   cuzk_err *err) {
    return zk_cuda_g1_transform(queue_of(stream, points->backend), memory_of(points), log2_n, shift, scale, progress,
                                progress_ctx, err);
}

static cuzk_status array_add_columns(zk_stream *stream, zk_buffer *points, const zk_sparse_columns *columns,
                                     const zk_buffer *rows, cuzk_err *err) {
    return zk_cuda_g1_add_columns(queue_of(stream, points->backend), memory_of(points), columns, memory_of(rows), err);
}

static const zk_array_ops array_ops = {
    .decode = array_decode,
    .encode = array_encode,
    .transform = array_transform,
    .add_columns = array_add_columns,
};

/* ---- opening ---- */

#define MAX_LOG2_N 28 /* of the transforms */

/* The table that `cuzk tune` wrote for this device, if there is one. */
static void read_tuning(cuda_backend *cuda) {
    cuzk_err err = {0};
    char *path = NULL;
    zk_tuning *tuning = zk_malloc(sizeof *tuning);
    cuzk_status status = tuning ? zk_tuning_path(&path, cuda->base.caps.device, &err)
                                : ZK_FAIL(&err, CUZK_OUT_OF_MEMORY, "no memory to read it");
    if (status == CUZK_OK) status = zk_tuning_read(tuning, path, cuda->base.caps.device, &err);
    if (status == CUZK_OK)
        zk_tuning_apply(&cuda->base, tuning);
    else if (status != CUZK_NOT_FOUND)
        ZK_LOG_WARN("the table of `cuzk tune` is not used", zk_kv_str("why", err.message));
    free(path);
    free(tuning);
}

cuzk_status zk_backend_cuda_count(int *n, cuzk_err *err) {
    *n = 0;
    return zk_cuda_device_count(n, err);
}

cuzk_status zk_backend_open_cuda(zk_backend **backend, int ordinal, uint64_t memory_bytes, zk_pool *pool,
                                 cuzk_err *err) {
    *backend = NULL;
    if (memory_bytes > SIZE_MAX)
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "device %d: %" PRIu64 " bytes asked for", ordinal, memory_bytes);
    cuda_backend *cuda = zk_calloc(1, sizeof *cuda);
    if (!cuda) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "cuda backend: out of memory");
    cuda->pool = pool;
    cuda->base = (zk_backend){.device = &device_ops,
                              .buffer = &buffer_ops,
                              .residency = &residency_ops,
                              .stage = &stage_ops,
                              .array = &array_ops};
    cuzk_status status = zk_cuda_open(&cuda->device, ordinal, (size_t)memory_bytes, err);
    if (status != CUZK_OK) {
        free(cuda);
        return status;
    }
    cuda->base.caps = (zk_backend_caps){
        .kind = "cuda",
        .n_threads = zk_pool_n_threads(pool),
        .has_streams = true,
        .max_log2_n = MAX_LOG2_N,
        .memory_bytes = zk_cuda_bytes_free(cuda->device),
    };
    snprintf(cuda->base.caps.device, sizeof cuda->base.caps.device, "%s", zk_cuda_name(cuda->device));
    read_tuning(cuda);
    *backend = &cuda->base;
    return CUZK_OK;
}

void zk_backend_cuda_memory(uint64_t *total, uint64_t *free, const zk_backend *backend) {
    *total = zk_cuda_bytes_total(device_of(backend));
    *free = zk_cuda_bytes_free(device_of(backend));
}
