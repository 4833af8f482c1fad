#include "backend/arrays.h"

#include <inttypes.h>

static cuzk_status check(const zk_buffer *buffer, size_t first, size_t n, const char *what, cuzk_err *err) {
    size_t have = buffer->bytes / sizeof(zk_g1_affine);
    if (!buffer->backend->array)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "%s: %s prepares no keys", what, buffer->backend->caps.device);
    if (buffer->lost)
        return ZK_FAIL(err, CUZK_INTERNAL, "%s: buffer %s was discarded and has not been written since", what,
                       buffer->name);
    if (first > have || n > have - first)
        return ZK_FAIL(err, CUZK_INTERNAL, "%s: buffer %s: points %zu to %zu + %zu asked, it has %zu", what,
                       buffer->name, first, first, n, have);
    return CUZK_OK;
}

/* Devices read where the entries say. */
static cuzk_status check_columns(const zk_sparse_columns *columns, size_t n_rows, cuzk_err *err) {
    const uint32_t *start = columns->start;
    for (size_t k = 0; k < columns->n; k++)
        if (start[k] > start[k + 1])
            return ZK_FAIL(err, CUZK_INTERNAL,
                           "sums of columns: column %zu ends at entry %" PRIu32 " and starts at %" PRIu32, k,
                           start[k + 1], start[k]);
    for (uint32_t e = start[0]; e < start[columns->n]; e++) {
        const zk_sparse_entry *entry = &columns->entries[e];
        if (entry->row >= n_rows || entry->coef >= columns->n_coefs)
            return ZK_FAIL(err, CUZK_INTERNAL,
                           "sums of columns: entry %" PRIu32 " is row %" PRIu32 " of %zu, coefficient %" PRIu32
                           " of %zu",
                           e, entry->row, n_rows, entry->coef, columns->n_coefs);
    }
    return CUZK_OK;
}

cuzk_status zk_array_decode(zk_stream *stream, zk_buffer *points, size_t first, const uint8_t *encoded, size_t n,
                            size_t *bad, cuzk_err *err) {
    *bad = 0;
    ZK_TRY(check(points, first, n, "decode", err));
    return points->backend->array->decode(stream, points, first, encoded, n, bad, err);
}

cuzk_status zk_array_encode(zk_stream *stream, uint8_t *encoded, const zk_buffer *points, size_t first, size_t n,
                            cuzk_err *err) {
    ZK_TRY(check(points, first, n, "encode", err));
    return points->backend->array->encode(stream, encoded, points, first, n, err);
}

cuzk_status zk_array_transform(zk_stream *stream, zk_buffer *points, unsigned log2_n, const zk_fr *shift,
                               const zk_fr *scale, zk_transform_progress progress, void *progress_ctx, cuzk_err *err) {
    const unsigned most = points->backend->caps.max_log2_n;
    if (log2_n > most)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "transform of 2^%u points: %s takes at most 2^%u", log2_n,
                       points->backend->caps.device, most);
    ZK_TRY(check(points, 0, (size_t)1 << log2_n, "transform", err));
    return points->backend->array->transform(stream, points, log2_n, shift, scale, progress, progress_ctx, err);
}

cuzk_status zk_array_add_columns(zk_stream *stream, zk_buffer *points, const zk_sparse_columns *columns,
                                 const zk_buffer *rows, cuzk_err *err) {
    ZK_TRY(check(points, 0, columns->n, "sums of columns", err));
    ZK_TRY(check(rows, 0, 0, "sums of columns", err));
    if (columns->n == 0) return CUZK_OK;
    ZK_TRY(check_columns(columns, rows->bytes / sizeof(zk_g1_affine), err));
    return points->backend->array->add_columns(stream, points, columns, rows, err);
}
