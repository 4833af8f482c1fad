/* The columns of a circuit's matrices at a point: what the points of its key are made from. */
#ifndef ZK_GROTH16_COLUMNS_H
#define ZK_GROTH16_COLUMNS_H

#include "base/pool.h"
#include "program/program.h"

/* The columns of A, B, C at tau: value[m][i] for inputs i, then aux. Rows of the inputs are included in A. */
typedef struct zk_columns {
    size_t n_inputs, n_aux;
    zk_fr *value[3];
    zk_fr t; /* tau^n - 1 */
    unsigned log2_n;
} zk_columns;
/* BAD_INPUT: tau in the domain, or a variable that occurs in no row (named). Memory: 32 bytes a variable and matrix, 32
 * a row of the domain and 32 a port while it runs. */
cuzk_status zk_columns_compute(zk_columns *columns, const zk_program *program, const zk_fr *tau, zk_pool *pool,
                               cuzk_err *err) ZK_MUST_USE;
void zk_columns_clear(zk_columns *columns);
/* Replaces the columns of C by sums with other weights of the rows: scale L_i(tau) + power_scale w^i in row i, L_i the
 * Lagrange polynomials and w the root of the domain. Memory: as above. */
cuzk_status zk_columns_reweigh_c(zk_columns *columns, const zk_program *program, const zk_fr *tau, const zk_fr *scale,
                                 const zk_fr *power_scale, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;
/* Which inputs occur in C: bitmap [ceil(n_inputs/64)], and their number. */
cuzk_status zk_columns_c_inputs(uint64_t *c_input, size_t *n, const zk_program *program, cuzk_err *err) ZK_MUST_USE;

#endif
