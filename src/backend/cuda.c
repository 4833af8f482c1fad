/* The CUDA backend: handles of backend.h around the kernels of cuda/. */
#include <inttypes.h>
#include <stdio.h>

#include "backend/arrays.h"
#include "backend/cuda.h"
#include "base/alloc.h"
#include "base/bitmap.h"
#include "base/bytes.h"
#include "cuda/cuda_kernels.h"

typedef struct cuda_backend {
    zk_backend base;
    zk_cuda *device;
    zk_pool *pool; /* borrowed: threads that feed the device */
    /* For the programs loaded: device memory that a proof needs beside points, and of it what kernels work with. */
    size_t proof_bytes, workspace_bytes;
} cuda_backend;

struct zk_stream {
    zk_cuda *queue;
};

typedef struct cuda_buffer {
    zk_buffer base;
    zk_dptr memory; /* 0: discarded */
} cuda_buffer;

typedef struct cuda_program {
    zk_resident_program base;
    zk_cuda_program *tables;
} cuda_program;

/* Points on the device, with or without stored multiples, or in host memory that the device reads slice by slice. */
typedef struct cuda_points {
    zk_resident_points base;
    zk_cuda_bases bases; /* points: 0 when in host memory */
    void *host;
} cuda_points;

typedef struct cuda_selection {
    zk_selection base;
    zk_cuda_mask *bit, *full;
} cuda_selection;

typedef struct cuda_multiples {
    zk_multiples base;
    zk_cuda_multiples *tables;
} cuda_multiples;

static zk_cuda *device_of(const zk_backend *backend) { return ((const cuda_backend *)backend)->device; }
static zk_cuda *queue_of(const zk_stream *stream, const zk_backend *backend) {
    return stream ? stream->queue : device_of(backend);
}
static zk_dptr memory_of(const zk_buffer *buffer) { return ((const cuda_buffer *)buffer)->memory; }
static size_t point_bytes(zk_group group) { return group == ZK_G1 ? sizeof(zk_g1_affine) : sizeof(zk_g2_affine); }

/* ---- the device ---- */

static void device_close(zk_backend *backend) {
    zk_cuda_close(device_of(backend));
    free(backend);
}

static cuzk_status stream_open(zk_stream **stream, zk_backend *backend, cuzk_err *err) {
    const cuda_backend *cuda = (const cuda_backend *)backend;
    zk_stream *s = zk_calloc(1, sizeof *s);
    if (!s) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "stream: out of memory");
    cuzk_status status = zk_cuda_fork(&s->queue, cuda->device, cuda->workspace_bytes, err);
    if (status != CUZK_OK) {
        free(s);
        return status;
    }
    *stream = s;
    return CUZK_OK;
}

static void stream_close(zk_stream *stream) {
    zk_cuda_close(stream->queue);
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
    b->base = (zk_buffer){backend, name, bytes, NULL};
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

static void buffer_discard(zk_buffer *buffer) {
    zk_cuda_free(device_of(buffer->backend), memory_of(buffer));
    ((cuda_buffer *)buffer)->memory = 0;
}

/* Memory for a buffer that is going to be written whole. */
static cuzk_status buffer_revive(zk_buffer *buffer, cuzk_err *err) {
    cuda_buffer *b = (cuda_buffer *)buffer;
    if (b->memory) return CUZK_OK;
    return zk_cuda_alloc(&b->memory, device_of(buffer->backend), buffer->bytes, buffer->name, err);
}

static const zk_buffer_ops buffer_ops = {
    .create = buffer_create,
    .destroy = buffer_destroy,
    .upload = buffer_upload,
    .download = buffer_download,
    .discard = buffer_discard,
};

/* ---- programs ---- */

static void program_plan(const zk_backend *backend, const zk_program *program, unsigned log2_n, zk_memory_plan *plan) {
    (void)backend;
    zk_memory_plan_add(plan, "circuit tables", 1, zk_cuda_program_bytes(program, log2_n));
}

#define TABLES_BYTES ((size_t)256 << 20) /* twiddles, hints and other small things of a queue */

/* What a proof takes beside the points: the assignment, and either the three vectors of rows, or one of them and what
 * the largest MSM works with. On a device that is short of memory MSMs are content with less. */
static void account_for(cuda_backend *cuda, const zk_program *program, unsigned log2_n) {
    size_t rows = sizeof(zk_fr) << log2_n, best = 0, least = 0, total = zk_cuda_bytes_limit(cuda->device);
    const size_t n[2] = {(size_t)1 << log2_n, (size_t)program->n_inputs + program->n_wide};
    for (int group = ZK_G1; group <= ZK_G2; group++) {
        zk_cuda_bases bases;
        size_t most, fewest;
        zk_cuda_bases_plan(&bases, group, n[group], 0);
        zk_cuda_msm_bytes(&most, &fewest, cuda->device, &bases);
        best = zk_max_size(best, most);
        least = zk_max_size(least, fewest);
    }
    size_t assignment = 2 * (zk_witness_bits_bytes(program) + zk_witness_full_bytes(program));
    size_t workspace = TABLES_BYTES + (rows + best < total / 2 ? best : least);
    size_t need = assignment + zk_max_size(rows + workspace, 3 * rows);
    cuda->workspace_bytes = zk_max_size(cuda->workspace_bytes, workspace);
    cuda->proof_bytes = zk_max_size(cuda->proof_bytes, need);
}

static cuzk_status program_load(zk_resident_program **resident, zk_backend *backend, const zk_program *program,
                                unsigned log2_n, cuzk_err *err) {
    cuda_backend *cuda = (cuda_backend *)backend;
    cuda_program *p = zk_calloc(1, sizeof *p);
    if (!p) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "circuit %s: out of memory", program->name);
    p->base = (zk_resident_program){backend, program, log2_n};
    cuzk_status status = zk_cuda_program_load(&p->tables, cuda->device, program, log2_n, err);
    if (status != CUZK_OK) {
        free(p);
        return status;
    }
    account_for(cuda, program, log2_n);
    *resident = &p->base;
    return CUZK_OK;
}

static void program_unload(zk_resident_program *resident) {
    zk_cuda_program_unload(((cuda_program *)resident)->tables);
    free(resident);
}

/* ---- points ---- */

static void points_plan(const zk_backend *backend, const char *name, zk_group group, size_t n, zk_memory_plan *plan) {
    (void)backend;
    zk_memory_plan_add(plan, name, n, point_bytes(group));
}

static void points_unload(zk_resident_points *points) {
    cuda_points *p = (cuda_points *)points;
    zk_cuda *device = device_of(points->backend);
    zk_cuda_free(device, p->bases.points);
    zk_cuda_free(device, p->bases.multiples);
    zk_cuda_host_free(p->host);
    free(p);
}

static size_t spare_bytes(const cuda_backend *cuda) {
    size_t free_bytes = zk_cuda_bytes_free(cuda->device);
    return free_bytes > cuda->proof_bytes ? free_bytes - cuda->proof_bytes : 0;
}

/* Device memory for n points while proofs have enough beside them, else host memory. */
static cuzk_status points_create(cuda_points **points, zk_backend *backend, const zk_points_source *source, size_t n,
                                 cuzk_err *err) {
    const cuda_backend *cuda = (const cuda_backend *)backend;
    size_t bytes = n * point_bytes(source->group);
    cuda_points *p = zk_calloc(1, sizeof *p);
    if (!p) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "points %s: out of memory", source->name);
    p->base = (zk_resident_points){backend, source->group, n};
    zk_cuda_bases_plan(&p->bases, (int)source->group, n, 0);
    cuzk_status status = bytes <= spare_bytes(cuda)
                             ? zk_cuda_alloc(&p->bases.points, cuda->device, bytes, source->name, err)
                             : zk_cuda_host_alloc(&p->host, bytes, source->name, err);
    if (status != CUZK_OK) {
        free(p);
        return status;
    }
    *points = p;
    return CUZK_OK;
}

static cuzk_status points_speed_up(zk_resident_points *points, cuzk_err *err) {
    cuda_points *p = (cuda_points *)points;
    const cuda_backend *cuda = (const cuda_backend *)points->backend;
    zk_cuda_bases planned;
    if (p->host || p->bases.multiples) return CUZK_OK;
    zk_cuda_bases_plan(&planned, (int)points->group, points->n, spare_bytes(cuda));
    if (planned.planes < 2) return CUZK_OK;
    planned.points = p->bases.points;
    ZK_TRY(zk_cuda_alloc(&planned.multiples, cuda->device, zk_cuda_bases_bytes(&planned), "stored multiples", err));
    cuzk_status status = zk_cuda_bases_prepare(&planned, cuda->device, err);
    if (status == CUZK_OK)
        p->bases = planned;
    else
        zk_cuda_free(cuda->device, planned.multiples);
    return status;
}

/* What is wrong with the point at `index`, by the host's decoder. */
static void describe_fault(zk_points_fault *fault, const zk_points_source *source, size_t index) {
    *fault = (zk_points_fault){.found = true, .infinity = true, .index = index};
    if (!source->encoded) return; /* a multiple by zero */
    if (source->group == ZK_G1) {
        zk_g1_affine point;
        fault->verdict = zk_g1_deserialize(&point, source->encoded + index * ZK_G1_UNCOMPRESSED_BYTES, false);
        fault->infinity = fault->verdict == ZK_POINT_OK && zk_g1_affine_is_infinity(&point);
    } else {
        zk_g2_affine point;
        fault->verdict = zk_g2_deserialize(&point, source->encoded + index * ZK_G2_UNCOMPRESSED_BYTES, false);
        fault->infinity = fault->verdict == ZK_POINT_OK && zk_g2_affine_is_infinity(&point);
    }
}

/* Where a kernel writes points: the device reaches pinned host memory by the same address. */
static zk_dptr place_of(const cuda_points *p) {
    return !p ? 0 : p->host ? (zk_dptr)(uintptr_t)p->host : p->bases.points;
}

/* Writes all points of the source. *bad: index of the first that is refused, else source->n. */
static cuzk_status fill(size_t *bad, const cuda_points *full, const cuda_points *bits, const zk_points_source *source,
                        cuzk_err *err) {
    const cuda_backend *cuda = (const cuda_backend *)full->base.backend;
    if (source->encoded)
        return zk_cuda_points_decode(bad, cuda->device, (int)source->group, place_of(full), place_of(bits),
                                     source->encoded, source->n, source->is_bit, cuda->pool, err);
    return zk_cuda_multiples_split(bad, ((const cuda_multiples *)source->multiples)->tables, place_of(full),
                                   place_of(bits), source->scalars, source->scalars_ctx, source->n, source->is_bit,
                                   err);
}

static cuzk_status points_load(zk_resident_points **full, zk_resident_points **bits, zk_points_fault *fault,
                               zk_backend *backend, const zk_points_source *source, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    cuda_points *full_points = NULL, *bit_points = NULL;
    size_t n_bits = 0, bad, first;
    bool range;
    if (source->n > SIZE_MAX / sizeof(zk_g2_affine))
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "points %s: %zu of them", source->name, source->n);
    if (source->is_bit) {
        n_bits = zk_bitmap_count(source->is_bit, source->n, &range, &first);
        ZK_GOTO(points_create(&bit_points, backend, source, n_bits, err));
    }
    ZK_GOTO(points_create(&full_points, backend, source, source->n - n_bits, err));
    ZK_GOTO(fill(&bad, full_points, bit_points, source, err));
    if (bad < source->n) {
        describe_fault(fault, source, bad);
        status = CUZK_BAD_INPUT;
        goto out;
    }
    *full = &full_points->base;
    if (bits) *bits = bit_points ? &bit_points->base : NULL;
    full_points = bit_points = NULL;
out:
    if (full_points) points_unload(&full_points->base);
    if (bit_points) points_unload(&bit_points->base);
    return status;
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
    .points_plan = points_plan,
    .points_load = points_load,
    .points_unload = points_unload,
    .points_speed_up = points_speed_up,
    .selection_create = selection_create,
    .selection_destroy = selection_destroy,
    .multiples_create = multiples_create,
    .multiples_destroy = multiples_destroy,
    .multiples_encode = multiples_encode,
};

/* ---- stages ---- */

static cuzk_status stage_witness(zk_stream *stream, const zk_resident_program *program, const uint8_t (*hints)[32],
                                 zk_buffer *bits, zk_buffer *full, cuzk_err *err) {
    return zk_cuda_witness(queue_of(stream, program->backend), ((const cuda_program *)program)->tables, hints,
                           memory_of(bits), memory_of(full), err);
}

static cuzk_status stage_evaluate(zk_stream *stream, const zk_resident_program *program, const zk_buffer *bits,
                                  const zk_buffer *full, zk_buffer *a, zk_buffer *b, zk_buffer *c, cuzk_err *err) {
    ZK_TRY(buffer_revive(a, err));
    ZK_TRY(buffer_revive(b, err));
    if (c) ZK_TRY(buffer_revive(c, err));
    return zk_cuda_evaluate(queue_of(stream, program->backend), ((const cuda_program *)program)->tables,
                            memory_of(bits), memory_of(full), memory_of(a), memory_of(b), c ? memory_of(c) : 0, err);
}

static cuzk_status stage_first_unsatisfied(zk_stream *stream, const zk_resident_program *program, const zk_buffer *a,
                                           const zk_buffer *b, const zk_buffer *c, size_t *row, cuzk_err *err) {
    return zk_cuda_first_unsatisfied(row, queue_of(stream, program->backend), memory_of(a), memory_of(b), memory_of(c),
                                     program->program->n_rows, err);
}

static cuzk_status stage_quotient(zk_stream *stream, const zk_resident_program *program, zk_buffer *a, zk_buffer *b,
                                  zk_buffer *c, cuzk_err *err) {
    return zk_cuda_ntt_quotient(queue_of(stream, program->backend), memory_of(a), memory_of(b), memory_of(c),
                                program->log2_n, err);
}

static cuzk_status stage_products(zk_stream *stream, const zk_resident_program *program, zk_buffer *a, zk_buffer *b,
                                  cuzk_err *err) {
    return zk_cuda_ntt_products(queue_of(stream, program->backend), memory_of(a), memory_of(b), program->log2_n, err);
}

static cuzk_status stage_compact_bits(zk_stream *stream, const zk_selection *selection, const zk_buffer *bits,
                                      zk_buffer *out, cuzk_err *err) {
    return zk_cuda_compact_bits(queue_of(stream, selection->backend), ((const cuda_selection *)selection)->bit,
                                memory_of(out), memory_of(bits), err);
}

static cuzk_status stage_compact_full(zk_stream *stream, const zk_selection *selection, const zk_buffer *full,
                                      zk_buffer *out, cuzk_err *err) {
    return zk_cuda_compact_fr(queue_of(stream, selection->backend), ((const cuda_selection *)selection)->full,
                              memory_of(out), memory_of(full), err);
}

static cuzk_status stage_msm(zk_stream *stream, const zk_resident_points *points, const zk_buffer *scalars,
                             size_t first, zk_point_sum *sum, cuzk_err *err) {
    const cuda_points *p = (const cuda_points *)points;
    zk_cuda *device = queue_of(stream, points->backend);
    zk_dptr s = memory_of(scalars) + first * sizeof(zk_fr);
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
        ZK_TRY(p->host ? zk_cuda_masked_sum_g1_streamed(&result, device, p->host, b, points->n, err)
                       : zk_cuda_masked_sum_g1(&result, device, p->bases.points, b, points->n, err));
        zk_g1_from_affine(&sum->g1, &result);
    } else {
        zk_g2_affine result;
        ZK_TRY(p->host ? zk_cuda_masked_sum_g2_streamed(&result, device, p->host, b, points->n, err)
                       : zk_cuda_masked_sum_g2(&result, device, p->bases.points, b, points->n, err));
        zk_g2_from_affine(&sum->g2, &result);
    }
    return CUZK_OK;
}

static const zk_stage_ops stage_ops = {
    .witness = stage_witness,
    .evaluate = stage_evaluate,
    .first_unsatisfied = stage_first_unsatisfied,
    .quotient = stage_quotient,
    .products = stage_products,
    .compact_bits = stage_compact_bits,
    .compact_full = stage_compact_full,
    .msm = stage_msm,
    .masked_sum = stage_masked_sum,
};

/* ---- arrays of points ---- */

static cuzk_status array_decode(zk_stream *stream, zk_buffer *points, size_t first, const uint8_t *encoded, size_t n,
                                size_t *bad, cuzk_err *err) {
    const cuda_backend *cuda = (const cuda_backend *)points->backend;
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

static cuzk_status array_add_columns(zk_stream *stream, zk_buffer *points, size_t n, const zk_buffer *rows,
                                     const uint32_t *start, const zk_sparse_entry *entries, const zk_fr *coefs,
                                     size_t n_coefs, cuzk_err *err) {
    return zk_cuda_g1_add_columns(queue_of(stream, points->backend), memory_of(points), n, memory_of(rows), start,
                                  entries, coefs, n_coefs, err);
}

static const zk_array_ops array_ops = {
    .decode = array_decode,
    .encode = array_encode,
    .transform = array_transform,
    .add_columns = array_add_columns,
};

/* ---- opening ---- */

#define MAX_LOG2_N 28 /* of the transforms */

cuzk_status zk_backend_cuda_count(int *n, cuzk_err *err) { return zk_cuda_device_count(n, err); }

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
    *backend = &cuda->base;
    return CUZK_OK;
}

void zk_backend_cuda_memory(uint64_t *total, uint64_t *free, const zk_backend *backend) {
    *total = zk_cuda_bytes_total(device_of(backend));
    *free = zk_cuda_bytes_free(device_of(backend));
}
