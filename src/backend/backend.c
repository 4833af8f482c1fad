/* The front of every backend: arguments are checked once, here; devices trust them. */
#include "backend/backend.h"

#include "base/bytes.h"

void zk_memory_plan_add(zk_memory_plan *plan, const char *name, uint64_t count, uint64_t element_bytes) {
    uint64_t bytes;
    if (__builtin_mul_overflow(count, element_bytes, &bytes)) bytes = UINT64_MAX;
    if (__builtin_add_overflow(plan->bytes, bytes, &plan->bytes)) plan->bytes = UINT64_MAX;
    if (plan->n_rows == ZK_MEMORY_PLAN_ROWS) { /* the sum stays right; the last line collects the rest */
        uint64_t *last = &plan->row[ZK_MEMORY_PLAN_ROWS - 1].bytes;
        plan->row[ZK_MEMORY_PLAN_ROWS - 1].name = "others";
        if (__builtin_add_overflow(*last, bytes, last)) *last = UINT64_MAX;
        return;
    }
    plan->row[plan->n_rows].name = name;
    plan->row[plan->n_rows].bytes = bytes;
    plan->n_rows++;
}

void zk_backend_close(zk_backend *backend) {
    if (backend) backend->device->close(backend);
}

void zk_backend_set_retire(zk_backend *backend, struct zk_retire *retire) { backend->retire = retire; }

cuzk_status zk_backend_stream_open(zk_stream **stream, zk_backend *backend, cuzk_err *err) {
    *stream = NULL;
    return backend->device->stream_open ? backend->device->stream_open(stream, backend, err) : CUZK_OK;
}

void zk_backend_stream_close(zk_backend *backend, zk_stream *stream) {
    if (stream && backend->device->stream_close) backend->device->stream_close(stream);
}

cuzk_status zk_backend_wait(zk_backend *backend, zk_stream *stream, cuzk_err *err) {
    return backend->device->wait ? backend->device->wait(backend, stream, err) : CUZK_OK;
}

/* ---- buffers ---- */

cuzk_status zk_buffer_create(zk_buffer **buffer, zk_backend *backend, const char *name, size_t bytes, cuzk_err *err) {
    *buffer = NULL;
    return backend->buffer->create(buffer, backend, name, bytes, err);
}

void zk_buffer_destroy(zk_buffer *buffer) {
    if (buffer) buffer->backend->buffer->destroy(buffer);
}

void zk_buffer_discard(zk_buffer *buffer) {
    if (!buffer) return;
    buffer->lost = true;
    if (buffer->backend->buffer->discard) buffer->backend->buffer->discard(buffer);
}

void zk_buffer_release(zk_buffer *buffer) {
    if (!buffer) return;
    buffer->lost = true;
    if (buffer->backend->buffer->release) buffer->backend->buffer->release(buffer);
}

static cuzk_status check_range(const zk_buffer *buffer, size_t offset, size_t bytes, const char *what, cuzk_err *err) {
    if (offset > buffer->bytes || bytes > buffer->bytes - offset)
        return ZK_FAIL(err, CUZK_INTERNAL, "%s: buffer %s: bytes %zu to %zu + %zu asked, it has %zu", what,
                       buffer->name, offset, offset, bytes, buffer->bytes);
    return CUZK_OK;
}

/* For what is read, or written in part. */
static cuzk_status check_there(const zk_buffer *buffer, size_t offset, size_t bytes, const char *what, cuzk_err *err) {
    if (buffer->lost)
        return ZK_FAIL(err, CUZK_INTERNAL, "%s: buffer %s was discarded and has not been written since", what,
                       buffer->name);
    return check_range(buffer, offset, bytes, what, err);
}

/* After a stage that writes the buffer: what it says of itself. */
static cuzk_status written(zk_buffer *buffer, cuzk_status status) {
    if (buffer && status == CUZK_OK) buffer->lost = false;
    return status;
}

cuzk_status zk_buffer_upload(zk_stream *stream, zk_buffer *buffer, size_t offset, const void *src, size_t bytes,
                             cuzk_err *err) {
    ZK_TRY(check_there(buffer, offset, bytes, "upload", err));
    return buffer->backend->buffer->upload(stream, buffer, offset, src, bytes, err);
}

cuzk_status zk_buffer_download(zk_stream *stream, void *dst, const zk_buffer *buffer, size_t offset, size_t bytes,
                               cuzk_err *err) {
    ZK_TRY(check_there(buffer, offset, bytes, "download", err));
    return buffer->backend->buffer->download(stream, dst, buffer, offset, bytes, err);
}

/* ---- residency ---- */

cuzk_status zk_program_log2_domain(unsigned *log2_n, const zk_program *program, cuzk_err *err) {
    uint64_t rows = (uint64_t)program->n_rows + program->n_inputs;
    *log2_n = zk_log2_ceil(rows);
    if (*log2_n > ZK_FR_TWO_ADICITY)
        return ZK_FAIL(err, CUZK_UNSUPPORTED,
                       "circuit %s: %llu rows with those of the inputs; a domain has at most 2^%d", program->name,
                       (unsigned long long)rows, ZK_FR_TWO_ADICITY);
    return CUZK_OK;
}

void zk_resident_program_plan(const zk_backend *backend, const zk_program *program, zk_memory_plan *plan) {
    unsigned log2_n = zk_log2_ceil((uint64_t)program->n_rows + program->n_inputs);
    backend->residency->program_plan(backend, program, log2_n, plan);
}

cuzk_status zk_resident_program_load(zk_resident_program **resident, zk_backend *backend, const zk_program *program,
                                     cuzk_err *err) {
    unsigned log2_n;
    *resident = NULL;
    ZK_TRY(zk_program_log2_domain(&log2_n, program, err));
    if (log2_n > backend->caps.max_log2_n)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "circuit %s: domain of 2^%u; %s takes at most 2^%u", program->name,
                       log2_n, backend->caps.device, backend->caps.max_log2_n);
    return backend->residency->program_load(resident, backend, program, log2_n, err);
}

void zk_resident_program_unload(zk_resident_program *resident) {
    if (resident) resident->backend->residency->program_unload(resident);
}

void zk_proof_plan(const zk_backend *backend, const zk_proof_shape *shape, zk_memory_plan *plan) {
    if (backend->residency->proof_plan) backend->residency->proof_plan(backend, shape, plan);
}

unsigned zk_proof_vectors(const zk_backend *backend, const zk_proof_shape *shape) {
    const zk_residency_ops *ops = backend->residency;
    return ops->proof_vectors ? ops->proof_vectors(backend, shape) : shape->n_vectors;
}

cuzk_status zk_proof_reserve(const zk_resident_program *resident, const zk_proof_shape *shape, cuzk_err *err) {
    const zk_residency_ops *ops = resident->backend->residency;
    if (shape->n_sums > ZK_PROOF_MAX_SUMS)
        return ZK_FAIL(err, CUZK_INTERNAL, "circuit %s: %u sums", shape->program->name, shape->n_sums);
    return ops->proof_reserve ? ops->proof_reserve(resident, shape, err) : CUZK_OK;
}

cuzk_status zk_proof_check(const zk_resident_program *resident, size_t lent, cuzk_err *err) {
    const zk_residency_ops *ops = resident->backend->residency;
    return ops->proof_check ? ops->proof_check(resident, lent, err) : CUZK_OK;
}

void zk_resident_points_plan(const zk_backend *backend, const char *name, zk_group group, size_t n,
                             zk_memory_plan *plan) {
    backend->residency->points_plan(backend, name, group, n, plan);
}

static cuzk_status check_multiples(const zk_backend *backend, const zk_points_source *source, cuzk_err *err) {
    const zk_multiples *multiples = source->multiples;
    if (!multiples || !source->scalars)
        return ZK_FAIL(err, CUZK_INTERNAL, "points %s: neither encoded nor given as multiples", source->name);
    if (multiples->backend != backend || multiples->group != source->group)
        return ZK_FAIL(err, CUZK_INTERNAL, "points %s: multiples of another group or device", source->name);
    return CUZK_OK;
}

cuzk_status zk_resident_points_load(zk_resident_points **full, zk_resident_points **bits, zk_points_fault *fault,
                                    zk_backend *backend, const zk_points_source *source, cuzk_err *err) {
    *full = NULL;
    if (bits) *bits = NULL;
    *fault = (zk_points_fault){0};
    if (source->is_bit && !bits)
        return ZK_FAIL(err, CUZK_INTERNAL, "points %s: bit points asked for, no place for them", source->name);
    if (!source->encoded) ZK_TRY(check_multiples(backend, source, err));
    return backend->residency->points_load(full, bits, fault, backend, source, err);
}

void zk_resident_points_unload(zk_resident_points *points) {
    if (points) points->backend->residency->points_unload(points);
}

cuzk_status zk_multiples_create(zk_multiples **multiples, zk_backend *backend, zk_group group, uint64_t n_expected,
                                cuzk_err *err) {
    *multiples = NULL;
    if (!backend->residency->multiples_create)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "%s makes no keys", backend->caps.device);
    return backend->residency->multiples_create(multiples, backend, group, n_expected, err);
}

void zk_multiples_destroy(zk_multiples *multiples) {
    if (multiples) multiples->backend->residency->multiples_destroy(multiples);
}

cuzk_status zk_multiples_encode(const zk_multiples *multiples, uint8_t *encoded, const zk_fr *scalars, size_t n,
                                cuzk_err *err) {
    return n ? multiples->backend->residency->multiples_encode(multiples, encoded, scalars, n, err) : CUZK_OK;
}

cuzk_status zk_resident_points_speed_up(zk_resident_points *points, cuzk_err *err) {
    const zk_residency_ops *ops = points->backend->residency;
    return ops->points_speed_up ? ops->points_speed_up(points, err) : CUZK_OK;
}

bool zk_resident_points_can_check(const zk_backend *backend) { return backend->residency->points_in_subgroup != NULL; }

cuzk_status zk_resident_points_in_subgroup(bool *good, const zk_resident_points *points, size_t first, size_t n,
                                           cuzk_err *err) {
    const zk_backend *backend = points->backend;
    *good = false;
    if (first > points->n || n > points->n - first)
        return ZK_FAIL(err, CUZK_INTERNAL, "subgroup: points %zu to %zu + %zu asked, there are %zu", first, first, n,
                       points->n);
    if (!zk_resident_points_can_check(backend))
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "%s checks no subgroups", backend->caps.device);
    return backend->residency->points_in_subgroup(good, points, first, n, err);
}

cuzk_status zk_selection_create(zk_selection **selection, zk_backend *backend, const uint64_t *bit_mask, size_t n_aux,
                                const uint64_t *full_mask, size_t n_values, cuzk_err *err) {
    *selection = NULL;
    return backend->residency->selection_create(selection, backend, bit_mask, n_aux, full_mask, n_values, err);
}

void zk_selection_destroy(zk_selection *selection) {
    if (selection) selection->backend->residency->selection_destroy(selection);
}

/* ---- stages ---- */

size_t zk_witness_bits_bytes(const zk_program *program) { return ((size_t)program->n_aux + 63) / 64 * 8; }

size_t zk_witness_full_bytes(const zk_program *program) {
    return ((size_t)program->n_inputs + program->n_wide) * sizeof(zk_fr);
}

size_t zk_domain_bytes(const zk_resident_program *program) { return sizeof(zk_fr) << program->log2_n; }

/* What a stage reads; what it writes. */
static cuzk_status check_holds(const zk_buffer *buffer, size_t bytes, const char *what, cuzk_err *err) {
    return check_there(buffer, 0, bytes, what, err);
}
static cuzk_status check_takes(const zk_buffer *buffer, size_t bytes, const char *what, cuzk_err *err) {
    return check_range(buffer, 0, bytes, what, err);
}

cuzk_status zk_stage_witness(zk_stream *stream, const zk_resident_program *program, const uint8_t (*hints)[32],
                             zk_buffer *bits, zk_buffer *full, cuzk_err *err) {
    ZK_TRY(check_takes(bits, zk_witness_bits_bytes(program->program), "witness", err));
    ZK_TRY(check_takes(full, zk_witness_full_bytes(program->program), "witness", err));
    return written(bits, written(full, program->backend->stage->witness(stream, program, hints, bits, full, err)));
}

static cuzk_status check_abc(const zk_resident_program *program, const zk_buffer *a, const zk_buffer *b,
                             const zk_buffer *c, const char *what, cuzk_err *err) {
    size_t bytes = zk_domain_bytes(program);
    ZK_TRY(check_holds(a, bytes, what, err));
    ZK_TRY(check_holds(b, bytes, what, err));
    return check_holds(c, bytes, what, err);
}

cuzk_status zk_stage_evaluate(zk_stream *stream, const zk_resident_program *program, const zk_buffer *bits,
                              const zk_buffer *full, zk_buffer *a, zk_buffer *b, zk_buffer *c, cuzk_err *err) {
    ZK_TRY(check_holds(bits, zk_witness_bits_bytes(program->program), "evaluate", err));
    ZK_TRY(check_holds(full, zk_witness_full_bytes(program->program), "evaluate", err));
    const zk_buffer *const out[] = {a, b, c};
    for (int m = 0; m < 3; m++)
        if (out[m]) ZK_TRY(check_takes(out[m], zk_domain_bytes(program), "evaluate", err));
    cuzk_status status = program->backend->stage->evaluate(stream, program, bits, full, a, b, c, err);
    return written(a, written(b, written(c, status)));
}

cuzk_status zk_stage_first_unsatisfied(zk_stream *stream, const zk_resident_program *program, const zk_buffer *a,
                                       const zk_buffer *b, const zk_buffer *c, size_t *row, cuzk_err *err) {
    ZK_TRY(check_abc(program, a, b, c, "first unsatisfied row", err));
    return program->backend->stage->first_unsatisfied(stream, program, a, b, c, row, err);
}

cuzk_status zk_stage_quotient(zk_stream *stream, const zk_resident_program *program, zk_buffer *a, zk_buffer *b,
                              zk_buffer *c, cuzk_err *err) {
    ZK_TRY(check_abc(program, a, b, c, "quotient", err));
    return program->backend->stage->quotient(stream, program, a, b, c, err);
}

cuzk_status zk_stage_quotient_in_two(zk_stream *stream, const zk_resident_program *program, const zk_buffer *bits,
                                     const zk_buffer *full, zk_buffer *a, zk_buffer *b, cuzk_err *err) {
    const zk_backend *backend = program->backend;
    ZK_TRY(check_holds(bits, zk_witness_bits_bytes(program->program), "quotient", err));
    ZK_TRY(check_holds(full, zk_witness_full_bytes(program->program), "quotient", err));
    ZK_TRY(check_abc(program, a, b, b, "quotient", err));
    if (!backend->stage->quotient_in_two)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "%s: the quotient takes three vectors", backend->caps.device);
    return backend->stage->quotient_in_two(stream, program, bits, full, a, b, err);
}

cuzk_status zk_stage_products(zk_stream *stream, const zk_resident_program *program, zk_buffer *a, zk_buffer *b,
                              cuzk_err *err) {
    ZK_TRY(check_abc(program, a, b, b, "products", err));
    return program->backend->stage->products(stream, program, a, b, err);
}

cuzk_status zk_stage_compact_bits(zk_stream *stream, const zk_selection *selection, const zk_buffer *bits,
                                  zk_buffer *out, cuzk_err *err) {
    ZK_TRY(check_holds(bits, (selection->n_aux + 63) / 64 * 8, "compact bits", err));
    ZK_TRY(check_takes(out, (selection->n_bits + 63) / 64 * 8, "compact bits", err));
    return written(out, selection->backend->stage->compact_bits(stream, selection, bits, out, err));
}

cuzk_status zk_stage_compact_full(zk_stream *stream, const zk_selection *selection, const zk_buffer *full,
                                  zk_buffer *out, cuzk_err *err) {
    ZK_TRY(check_holds(full, selection->n_values * sizeof(zk_fr), "compact full", err));
    ZK_TRY(check_takes(out, selection->n_full * sizeof(zk_fr), "compact full", err));
    return written(out, selection->backend->stage->compact_full(stream, selection, full, out, err));
}

cuzk_status zk_stage_msm(zk_stream *stream, const zk_resident_points *points, const zk_buffer *scalars, size_t first,
                         zk_point_sum *sum, cuzk_err *err) {
    if (first > SIZE_MAX / sizeof(zk_fr) || points->n > SIZE_MAX / sizeof(zk_fr))
        return ZK_FAIL(err, CUZK_INTERNAL, "msm: %zu points, scalars from %zu: overflow", points->n, first);
    ZK_TRY(check_range(scalars, first * sizeof(zk_fr), points->n * sizeof(zk_fr), "msm", err));
    return points->backend->stage->msm(stream, points, scalars, first, sum, err);
}

cuzk_status zk_stage_masked_sums(zk_stream *stream, const zk_resident_points *points, const zk_buffer *const *bits,
                                 size_t n, zk_point_sum *sums, cuzk_err *err) {
    const zk_stage_ops *ops = points->backend->stage;
    if (n > ZK_MAX_MASKS) return ZK_FAIL(err, CUZK_INTERNAL, "masked sums: %zu masks, at most %d", n, ZK_MAX_MASKS);
    for (size_t i = 0; i < n; i++) ZK_TRY(check_holds(bits[i], (points->n + 63) / 64 * 8, "masked sums", err));
    if (ops->masked_sums && points->streamed) return ops->masked_sums(stream, points, bits, n, sums, err);
    for (size_t i = 0; i < n; i++) ZK_TRY(ops->masked_sum(stream, points, bits[i], &sums[i], err));
    return CUZK_OK;
}
