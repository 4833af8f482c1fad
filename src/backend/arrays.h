/* Arrays of points of G1 in buffers: what keys of another form are made with (groth16/prepare.h).
 *
 * A buffer of n points has 96 n bytes, the points in the form of zk_g1_affine, which all devices share; 96 zero bytes
 * are infinity. A device that leaves out the table prepares no keys. Order and streams are those of backend.h.
 */
#ifndef ZK_BACKEND_ARRAYS_H
#define ZK_BACKEND_ARRAYS_H

#include "backend/backend.h"
#include "msm/transform.h"

typedef struct zk_array_ops {
    cuzk_status (*decode)(zk_stream *stream, zk_buffer *points, size_t first, const uint8_t *encoded, size_t n,
                          size_t *bad, cuzk_err *err);
    cuzk_status (*encode)(zk_stream *stream, uint8_t *encoded, const zk_buffer *points, size_t first, size_t n,
                          cuzk_err *err);
    cuzk_status (*transform)(zk_stream *stream, zk_buffer *points, unsigned log2_n, const zk_fr *shift,
                             const zk_fr *scale, zk_transform_progress progress, void *progress_ctx, cuzk_err *err);
    cuzk_status (*add_columns)(zk_stream *stream, zk_buffer *points, const zk_sparse_columns *columns,
                               const zk_buffer *rows, cuzk_err *err);
} zk_array_ops;

/* [n] points in the zcash uncompressed encoding (host memory) to points first .. first + n - 1. Checked: canonical, on
 * the curve, not infinity. *bad: least index refused, n if none; then the points are not complete. Both are there when
 * the call returns. UNSUPPORTED: the device has no such table. */
cuzk_status zk_array_decode(zk_stream *stream, zk_buffer *points, size_t first, const uint8_t *encoded, size_t n,
                            size_t *bad, cuzk_err *err) ZK_MUST_USE;
/* The other way; infinity is encoded as such. The bytes are there when the call returns. */
cuzk_status zk_array_encode(zk_stream *stream, uint8_t *encoded, const zk_buffer *points, size_t first, size_t n,
                            cuzk_err *err) ZK_MUST_USE;
/* zk_g1_transform of the first 2^log2_n points. Returns when it is done. */
cuzk_status zk_array_transform(zk_stream *stream, zk_buffer *points, unsigned log2_n, const zk_fr *shift,
                               const zk_fr *scale, zk_transform_progress progress, void *progress_ctx,
                               cuzk_err *err) ZK_MUST_USE;
/* zk_g1_add_columns; the columns are in host memory. Returns when it is done. INTERNAL: an entry names a row or a
 * coefficient that is not there. */
cuzk_status zk_array_add_columns(zk_stream *stream, zk_buffer *points, const zk_sparse_columns *columns,
                                 const zk_buffer *rows, cuzk_err *err) ZK_MUST_USE;

#endif
