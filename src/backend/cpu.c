/* The CPU backend: buffers are host memory, stages run on a thread pool before they return. */
#include "backend/arrays.h"
#include "backend/cpu_impl.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/numa.h"
#include "base/retire.h"
#include "msm/msm.h"

/* ---- device ---- */

static void cpu_close(zk_backend *backend) { free(backend); }

static const zk_device_ops device_ops = {.close = cpu_close};

/* ---- buffers ---- */

static cuzk_status buffer_create(zk_buffer **buffer, zk_backend *backend, const char *name, size_t bytes,
                                 cuzk_err *err) {
    zk_buffer *b = zk_calloc(1, sizeof *b);
    if (!b) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "buffer %s: out of memory", name);
    *b = (zk_buffer){.backend = backend, .name = name, .bytes = bytes};
    cuzk_status status = zk_mem_alloc_shared(&b->host, name, bytes, err);
    if (status != CUZK_OK) {
        free(b);
        return status;
    }
    *buffer = b;
    return CUZK_OK;
}

static void buffer_destroy(zk_buffer *buffer) {
    zk_retire_mem(buffer->backend->retire, buffer->host);
    free(buffer);
}

static cuzk_status buffer_upload(zk_stream *stream, zk_buffer *buffer, size_t offset, const void *src, size_t bytes,
                                 cuzk_err *err) {
    (void)stream, (void)err;
    if (bytes) memcpy((uint8_t *)buffer->host + offset, src, bytes);
    return CUZK_OK;
}

static cuzk_status buffer_download(zk_stream *stream, void *dst, const zk_buffer *buffer, size_t offset, size_t bytes,
                                   cuzk_err *err) {
    (void)stream, (void)err;
    if (bytes) memcpy(dst, (const uint8_t *)buffer->host + offset, bytes);
    return CUZK_OK;
}

static const zk_buffer_ops buffer_ops = {buffer_create, buffer_destroy, buffer_upload, buffer_download};

/* ---- residency ---- */

static void program_plan(const zk_backend *backend, const zk_program *program, unsigned log2_n, zk_memory_plan *plan) {
    (void)backend, (void)program; /* the program's own tables are read in place */
    zk_memory_plan_add(plan, "ntt tables", 1, zk_ntt_domain_bytes(log2_n));
}

static cuzk_status program_load(zk_resident_program **resident, zk_backend *backend, const zk_program *program,
                                unsigned log2_n, cuzk_err *err) {
    cpu_program *p = zk_calloc(1, sizeof *p);
    if (!p) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "circuit %s: out of memory", program->name);
    p->base = (zk_resident_program){backend, program, log2_n};
    cuzk_status status = zk_ntt_domain_create(&p->domain, log2_n, zk_cpu_pool(backend), err);
    if (status != CUZK_OK) {
        free(p);
        return status;
    }
    *resident = &p->base;
    return CUZK_OK;
}

static void program_unload(zk_resident_program *resident) {
    cpu_program *p = (cpu_program *)resident;
    zk_ntt_domain_destroy(p->domain);
    free(p);
}

static const zk_residency_ops residency_ops = {
    .program_plan = program_plan,
    .program_load = program_load,
    .program_unload = program_unload,
    .points_plan = zk_cpu_points_plan,
    .points_load = zk_cpu_points_load,
    .points_unload = zk_cpu_points_unload,
    .selection_create = zk_cpu_selection_create,
    .selection_destroy = zk_cpu_selection_destroy,
    .multiples_create = zk_cpu_multiples_create,
    .multiples_destroy = zk_cpu_multiples_destroy,
    .multiples_encode = zk_cpu_multiples_encode,
};

/* ---- stages ---- */

static zk_witness witness_of(const zk_program *program, const zk_buffer *bits, const zk_buffer *full) {
    return (zk_witness){.inputs = full->host, .bits = bits->host, .wide = (zk_fr *)full->host + program->n_inputs};
}

static cuzk_status stage_witness(zk_stream *stream, const zk_resident_program *program, const uint8_t (*hints)[32],
                                 zk_buffer *bits, zk_buffer *full, cuzk_err *err) {
    zk_witness w = witness_of(program->program, bits, full);
    (void)stream;
    return zk_program_witness(program->program, hints, &w, zk_cpu_pool(program->backend), err);
}

static void clear_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    memset((zk_fr *)ctx + begin, 0, (end - begin) * sizeof(zk_fr));
}

static cuzk_status stage_evaluate(zk_stream *stream, const zk_resident_program *resident, const zk_buffer *bits,
                                  const zk_buffer *full, zk_buffer *a, zk_buffer *b, zk_buffer *c, cuzk_err *err) {
    const zk_program *program = resident->program;
    zk_pool *pool = zk_cpu_pool(resident->backend);
    zk_witness w = witness_of(program, bits, full);
    zk_buffer *const abc[3] = {a, b, c};
    (void)stream;
    ZK_TRY(zk_program_eval_computed(program, &w, a->host, b->host, c ? c->host : NULL, pool, err));
    for (unsigned m = 0; m < (c ? 3 : 2); m++) {
        zk_fr *tail = (zk_fr *)abc[m]->host + program->n_rows;
        zk_pool_for(pool, ((size_t)1 << resident->log2_n) - program->n_rows, 1 << 15, clear_range, tail);
        if (m == 0) memcpy(tail, w.inputs, program->n_inputs * sizeof(zk_fr));
    }
    return CUZK_OK;
}

static cuzk_status stage_first_unsatisfied(zk_stream *stream, const zk_resident_program *program, const zk_buffer *a,
                                           const zk_buffer *b, const zk_buffer *c, size_t *row, cuzk_err *err) {
    (void)stream, (void)err;
    *row = zk_program_first_unsatisfied(a->host, b->host, c->host, program->program->n_rows,
                                        zk_cpu_pool(program->backend));
    return CUZK_OK;
}

static cuzk_status stage_quotient(zk_stream *stream, const zk_resident_program *program, zk_buffer *a, zk_buffer *b,
                                  zk_buffer *c, cuzk_err *err) {
    (void)stream, (void)err;
    zk_ntt_quotient(((const cpu_program *)program)->domain, a->host, b->host, c->host, zk_cpu_pool(program->backend));
    return CUZK_OK;
}

static cuzk_status stage_products(zk_stream *stream, const zk_resident_program *program, zk_buffer *a, zk_buffer *b,
                                  cuzk_err *err) {
    (void)stream, (void)err;
    zk_ntt_products(((const cpu_program *)program)->domain, a->host, b->host, zk_cpu_pool(program->backend));
    return CUZK_OK;
}

static cuzk_status stage_msm(zk_stream *stream, const zk_resident_points *points, const zk_buffer *scalars,
                             size_t first, zk_point_sum *sum, cuzk_err *err) {
    const void *bases = ((const cpu_points *)points)->points;
    const zk_fr *s = scalars->host;
    zk_pool *pool = zk_cpu_pool(points->backend);
    (void)stream;
    if (points->n) s += first;
    return points->group == ZK_G1 ? zk_msm_g1(&sum->g1, bases, s, points->n, pool, err)
                                  : zk_msm_g2(&sum->g2, bases, s, points->n, pool, err);
}

static cuzk_status stage_masked_sum(zk_stream *stream, const zk_resident_points *points, const zk_buffer *bits,
                                    zk_point_sum *sum, cuzk_err *err) {
    const void *bases = ((const cpu_points *)points)->points;
    zk_pool *pool = zk_cpu_pool(points->backend);
    (void)stream;
    return points->group == ZK_G1 ? zk_masked_sum_g1(&sum->g1, bases, bits->host, points->n, pool, err)
                                  : zk_masked_sum_g2(&sum->g2, bases, bits->host, points->n, pool, err);
}

static const zk_stage_ops stage_ops = {
    .witness = stage_witness,
    .evaluate = stage_evaluate,
    .first_unsatisfied = stage_first_unsatisfied,
    .quotient = stage_quotient,
    .products = stage_products,
    .compact_bits = zk_cpu_compact_bits,
    .compact_full = zk_cpu_compact_full,
    .msm = stage_msm,
    .masked_sum = stage_masked_sum,
};

cuzk_status zk_backend_open_cpu(zk_backend **backend, zk_pool *pool, cuzk_err *err) {
    *backend = NULL;
    cpu_backend *cpu = zk_calloc(1, sizeof *cpu);
    if (!cpu) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "cpu backend: out of memory");
    cpu->pool = pool;
    cpu->base = (zk_backend){.device = &device_ops,
                             .buffer = &buffer_ops,
                             .residency = &residency_ops,
                             .stage = &stage_ops,
                             .array = &zk_cpu_array_ops};
    cpu->base.caps = (zk_backend_caps){.kind = "cpu",
                                       .n_threads = zk_pool_n_threads(pool),
                                       .shares_host_memory = true,
                                       .max_log2_n = ZK_FR_TWO_ADICITY};
    int n = snprintf(cpu->base.caps.device, sizeof cpu->base.caps.device, "cpu, %u thread%s", cpu->base.caps.n_threads,
                     cpu->base.caps.n_threads == 1 ? "" : "s");
    if (zk_numa_n_nodes() > 1)
        snprintf(cpu->base.caps.device + n, sizeof cpu->base.caps.device - (size_t)n, ", %u nodes", zk_numa_n_nodes());
    *backend = &cpu->base;
    return CUZK_OK;
}
