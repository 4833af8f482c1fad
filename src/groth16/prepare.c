#include "groth16/prepare.h"

#include "backend/arrays.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/cancel.h"
#include "base/mem.h"
#include "groth16/key_writer.h"
#include "groth16/prepare_impl.h"

#define SLICE_MOST ((size_t)1 << 18)

typedef struct prepare_job {
    const zk_prepare_options *options;
    const zk_params *params;
    const zk_program *program;
    size_t n; /* the domain */
    unsigned log2_n;
    zk_fr scale, inv_shift; /* 1/(n z), 1/g */
    zk_query_masks masks;
    zk_prepare_order order;
    zk_prepare_columns columns;
    zk_buffer *points; /* [n] */
    size_t slice_n;    /* points coded and written at a time */
    zk_buffer *slice;  /* [slice_n] */
    uint8_t *encoded;  /* [slice_n] */
    zk_key_writer writer;
    bool writing;
} prepare_job;

static cuzk_status report(const prepare_job *job, const char *what, uint64_t done, uint64_t total, cuzk_err *err) {
    const zk_prepare_options *o = job->options;
    if (o->progress) o->progress(o->progress_ctx, what, done, total);
    return zk_cancel_check(NULL, what, err);
}

/* ---- points of the parameter file ---- */

static cuzk_status decode(const prepare_job *job, zk_buffer *to, size_t at, zk_params_section_id id, size_t first,
                          size_t n, cuzk_err *err) {
    const zk_params_section *section = &job->params->section[id];
    const uint8_t *from = job->params->bytes + section->offset + first * ZK_G1_UNCOMPRESSED_BYTES;
    zk_g1_affine point;
    size_t bad;
    ZK_TRY(zk_array_decode(NULL, to, at, from, n, &bad, err));
    if (bad == n) return CUZK_OK;
    zk_points_fault fault = {.found = true, .index = first + bad};
    fault.verdict = zk_g1_deserialize(&point, from + bad * ZK_G1_UNCOMPRESSED_BYTES, false);
    fault.infinity = fault.verdict == ZK_POINT_OK;
    return zk_params_refuse_point(job->params, id, &fault, CUZK_BAD_INPUT, err);
}

/* ---- transforms ---- */

typedef struct step {
    const prepare_job *job;
    const char *name;
} step;

static bool step_progress(void *ctx, uint64_t done, uint64_t total) {
    const step *s = ctx;
    return report(s->job, s->name, done, total, NULL) == CUZK_OK;
}

/* job->points: the transform of the points of section h with a shift, and the scale 1/(n z). */
static cuzk_status transform(prepare_job *job, const zk_fr *shift, const char *name, cuzk_err *err) {
    const zk_g1_affine infinity = {zk_fp_zero, zk_fp_zero};
    step s = {job, name};
    zk_span *span = zk_span_open_kernel(job->options->trace, name);
    for (size_t first = 0; first < job->n - 1; first += job->slice_n)
        ZK_TRY(decode(job, job->points, first, ZK_PARAMS_H, first, zk_min_size(job->slice_n, job->n - 1 - first), err));
    ZK_TRY(zk_buffer_upload(NULL, job->points, (job->n - 1) * sizeof infinity, &infinity, sizeof infinity, err));
    ZK_TRY(zk_array_transform(NULL, job->points, job->log2_n, shift, &job->scale, step_progress, &s, err));
    zk_span_count(span, "points", job->n);
    zk_span_close(job->options->trace, span);
    return CUZK_OK;
}

/* ---- writing ---- */

/* Encodes and writes n points of a buffer, those from `index` on of a section. */
static cuzk_status put_points(prepare_job *job, const zk_buffer *from, size_t first, size_t n,
                              zk_prepared_section_id id, size_t index, cuzk_err *err) {
    ZK_TRY(zk_array_encode(NULL, job->encoded, from, first, n, err));
    for (size_t i = 0; i < n; i++)
        if (job->encoded[i * ZK_G1_UNCOMPRESSED_BYTES] & 0x40)
            return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: point %zu of section %s of its prepared key would be infinity",
                           job->params->name, index + i, zk_prepared_section_name(id));
    return zk_key_writer_put(&job->writer, job->encoded, n * ZK_G1_UNCOMPRESSED_BYTES, err);
}

static cuzk_status write_header(prepare_job *job, const zk_prepare_result *result, cuzk_err *err) {
    uint8_t bytes[ZK_PREPARED_HEADER_BYTES];
    zk_prepared_header header = {.params_bytes = job->params->n_bytes,
                                 .log2_n = job->log2_n,
                                 .n_c_inputs = (uint32_t)job->masks.n_c_inputs,
                                 .n_aux = job->program->n_aux};
    memcpy(header.params_sha256, result->params_sha256, 32);
    zk_sha256(header.vk_sha256, job->params->bytes, job->params->vk_bytes);
    zk_prepared_header_encode(bytes, &header);
    return zk_key_writer_put(&job->writer, bytes, sizeof bytes, err);
}

static cuzk_status write_g(prepare_job *job, cuzk_err *err) {
    zk_span *span = zk_span_open_kernel(job->options->trace, "write g");
    for (size_t first = 0; first < job->n; first += job->slice_n) {
        size_t n = zk_min_size(job->slice_n, job->n - first);
        ZK_TRY(put_points(job, job->points, first, n, ZK_PREPARED_G, first, err));
        ZK_TRY(report(job, "writing g", first + n, job->n, err));
    }
    zk_span_close(job->options->trace, span);
    return CUZK_OK;
}

/* Each point starts as that of the parameter file, infinity for an input, what is known already for the constant. */
static cuzk_status first_points(prepare_job *job, size_t first, size_t n, const zk_g1_affine *constant, cuzk_err *err) {
    size_t n_inputs = job->order.n_c_inputs, bytes = n * sizeof *constant;
    if (first >= n_inputs) return decode(job, job->slice, 0, ZK_PARAMS_L, first - n_inputs, n, err);
    memset(job->encoded, 0, bytes);
    if (first == 0 && job->order.has_constant) memcpy(job->encoded, constant, sizeof *constant);
    return zk_buffer_upload(NULL, job->slice, 0, job->encoded, bytes, err);
}

static cuzk_status write_l(prepare_job *job, const zk_g1_affine *constant, cuzk_err *err) {
    const zk_prepare_columns *columns = &job->columns;
    size_t n_inputs = job->order.n_c_inputs, total = n_inputs + job->program->n_aux, n;
    zk_span *span = zk_span_open_kernel(job->options->trace, "write l");
    for (size_t first = 0; first < total; first += n) {
        n = zk_min_size(job->slice_n, (first < n_inputs ? n_inputs : total) - first);
        ZK_TRY(first_points(job, first, n, constant, err));
        zk_sparse_columns slice = {n, job->program->n_coefs, columns->start + first, columns->entries, columns->coefs};
        ZK_TRY(zk_array_add_columns(NULL, job->slice, &slice, job->points, err));
        ZK_TRY(put_points(job, job->slice, 0, n, ZK_PREPARED_L, first, err));
        ZK_TRY(report(job, "writing l", first + n, total, err));
    }
    zk_span_close(job->options->trace, span);
    return CUZK_OK;
}

/* The point of the constant, by the transform of its column of C and the points of h. */
static cuzk_status constant_point(prepare_job *job, zk_g1_affine *point, cuzk_err *err) {
    zk_prepare_sums sums = {0};
    zk_g1 sum;
    cuzk_status status = CUZK_OK;
    zk_span *span = zk_span_open(job->options->trace, "constant");
    ZK_GOTO(zk_prepare_sums_open(&sums, job->params, &job->order, job->log2_n, job->options, err));
    ZK_GOTO(zk_prepare_constant(&sum, &sums, err));
    zk_g1_neg(&sum, &sum);
    zk_g1_to_affine(point, &sum);
out:
    zk_prepare_sums_close(&sums);
    zk_span_close(job->options->trace, span);
    return status;
}

/* ---- the whole ---- */

static cuzk_status check_written(prepare_job *job, const char *path, cuzk_err *err) {
    zk_prepared_params *prepared = NULL;
    zk_prepare_sums sums = {0};
    cuzk_status status = CUZK_OK;
    zk_span *span = zk_span_open(job->options->trace, "check");
    ZK_GOTO(report(job, "checking", 0, 0, err));
    ZK_GOTO(zk_prepared_params_open(&prepared, path, job->params, job->program, &job->masks, err));
    ZK_GOTO(zk_prepare_sums_open(&sums, job->params, &job->order, job->log2_n, job->options, err));
    ZK_GOTO(zk_prepare_check(&sums, prepared, err));
    ZK_GOTO(zk_params_unchanged(job->params, err));
out:
    zk_prepare_sums_close(&sums);
    zk_prepared_params_close(prepared);
    zk_span_close(job->options->trace, span);
    return status;
}

static cuzk_status start(prepare_job *job, cuzk_err *err) {
    zk_params_counts expected;
    zk_fr n, z;
    ZK_TRY(zk_program_log2_domain(&job->log2_n, job->program, err));
    ZK_TRY(zk_query_masks_compute(&job->masks, job->program, job->options->pool, err));
    ZK_TRY(zk_params_counts_of(&expected, job->program, &job->masks.stats, err));
    ZK_TRY(zk_params_match(job->params, &expected, err));
    ZK_TRY(zk_query_masks_prepare(&job->masks, job->program, err));
    job->n = (size_t)1 << job->log2_n;
    job->slice_n = zk_min_size(SLICE_MOST, zk_max_size(job->n, job->program->n_aux));
    zk_fr_from_u64(&n, job->n);
    zk_fr_pow_u64(&z, &zk_fr_generator, job->n);
    zk_fr_sub(&z, &z, &zk_fr_one);
    zk_fr_mul(&z, &z, &n);
    zk_fr_inv_var(&job->scale, &z);
    zk_fr_inv_var(&job->inv_shift, &zk_fr_generator);
    return CUZK_OK;
}

static cuzk_status write_all(prepare_job *job, const zk_prepare_result *result, cuzk_err *err) {
    zk_backend *backend = job->options->backend;
    zk_g1_affine constant = {zk_fp_zero, zk_fp_zero};
    uint8_t sha256[32];
    zk_span *span = zk_span_open_kernel(job->options->trace, "columns");
    ZK_TRY(zk_prepare_order_make(&job->order, job->program, err));
    ZK_TRY(zk_prepare_columns_make(&job->columns, &job->order, job->masks.stats.nnz[2], job->log2_n, err));
    zk_span_close(job->options->trace, span);
    if (job->order.has_constant) ZK_TRY(constant_point(job, &constant, err));

    ZK_TRY(zk_buffer_create(&job->points, backend, "prepare points", job->n * sizeof(zk_g1_affine), err));
    ZK_TRY(zk_buffer_create(&job->slice, backend, "prepare slice", job->slice_n * sizeof(zk_g1_affine), err));
    ZK_TRY(zk_mem_alloc((void **)&job->encoded, "prepare slice", job->slice_n * ZK_G1_UNCOMPRESSED_BYTES, err));
    ZK_TRY(write_header(job, result, err));
    ZK_TRY(transform(job, &job->inv_shift, "transform g", err));
    ZK_TRY(write_g(job, err));
    ZK_TRY(transform(job, &zk_fr_one, "transform r", err));
    ZK_TRY(write_l(job, &constant, err));
    zk_sha256_peek(sha256, &job->writer.sha);
    ZK_TRY(zk_key_writer_put(&job->writer, sha256, sizeof sha256, err));

    /* room for the check */
    zk_buffer_destroy(job->points);
    zk_buffer_destroy(job->slice);
    job->points = job->slice = NULL;
    zk_prepare_columns_clear(&job->columns);
    return CUZK_OK;
}

cuzk_status zk_prepare(zk_prepare_result *result, const zk_params *params, const char *path, const zk_program *program,
                       const zk_prepare_options *options, cuzk_err *err) {
    prepare_job job = {.options = options, .params = params, .program = program, .writer = {.fd = -1}};
    uint8_t sha256[32];
    cuzk_status status = CUZK_OK;
    zk_span *span = zk_span_open(options->trace, "prepare");
    *result = (zk_prepare_result){0};
    if (!options->backend->array)
        ZK_GOTO(ZK_FAIL(err, CUZK_UNSUPPORTED, "%s prepares no keys", options->backend->caps.device));
    ZK_GOTO(start(&job, err));
    ZK_GOTO(zk_key_writer_open(&job.writer, path, NULL, err));
    job.writing = true;
    ZK_GOTO(zk_digest_pieces(result->params_sha256, params->bytes, params->n_bytes, "digest of the parameters",
                             options->progress, options->progress_ctx, err));
    ZK_GOTO(write_all(&job, result, err));
    result->bytes = job.writer.offset;
    ZK_GOTO(check_written(&job, job.writer.partial, err));
    job.writing = false;
    ZK_GOTO(zk_key_writer_finish(&job.writer, sha256, err));
out:
    if (job.writing) zk_key_writer_abandon(&job.writer, false);
    zk_buffer_destroy(job.points);
    zk_buffer_destroy(job.slice);
    zk_mem_free(job.encoded);
    zk_prepare_columns_clear(&job.columns);
    zk_prepare_order_clear(&job.order);
    zk_query_masks_clear(&job.masks);
    zk_span_close(options->trace, span);
    return status;
}
