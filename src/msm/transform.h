/* Fourier transforms of points of G1, for keys of another form (docs/internals/prepared-keys.md).
 *
 * n = 2^log2_n points P_k become Q_j = [scale] sum_k [(shift w^j)^k] P_k, w of order n as in ntt/ntt.h. In place,
 * natural order in and out.
 *
 * A butterfly multiplies one point by a root of unity: some 1,600 multiplications in Fp. There are n/2 log2 n of them.
 */
#ifndef ZK_MSM_TRANSFORM_H
#define ZK_MSM_TRANSFORM_H

#include "base/pool.h"
#include "curve/curve.h"

/* Progress of long work: done and total in the same unit; false asks to stop. */
typedef bool (*zk_transform_progress)(void *ctx, uint64_t done, uint64_t total);

/* points: of G1, any, infinity too. CANCELLED: progress (may be NULL) said so, or the process was asked to stop; the
 * points are lost. */
cuzk_status zk_g1_transform(zk_g1_affine *points, unsigned log2_n, const zk_fr *shift, const zk_fr *scale,
                            zk_pool *pool, zk_transform_progress progress, void *progress_ctx,
                            cuzk_err *err) ZK_MUST_USE;

/* Columns of a sparse matrix: entries start[k] .. start[k+1]-1 are those of column k. A coefficient is an index into a
 * dictionary whose first two are 1 and -1. */
typedef struct zk_sparse_entry {
    uint32_t row, coef;
} zk_sparse_entry;
typedef struct zk_sparse_columns {
    size_t n, n_coefs;
    const uint32_t *start; /* [n + 1] into entries, ascending; start[0] is any number */
    const zk_sparse_entry *entries;
    const zk_fr *coefs; /* [n_coefs] */
} zk_sparse_columns;

/* points[k] += sum over the entries of column k of [coefs[coef]] rows[row]. */
cuzk_status zk_g1_add_columns(zk_g1_affine *points, const zk_sparse_columns *columns, const zk_g1_affine *rows,
                              zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

#endif
