/* Parts of prepare.c: columns of C as lists, and sums over the points of section h that numbers alone determine. */
#ifndef ZK_GROTH16_PREPARE_IMPL_H
#define ZK_GROTH16_PREPARE_IMPL_H

#include "backend/arrays.h"
#include "groth16/prepare.h"
#include "ntt/ntt.h"

/* ---- columns ---- */

/* Which column of section l a variable has: that of an aux variable, or of an input that occurs in C. */
typedef struct zk_prepare_order {
    const zk_program *program;
    uint32_t *input; /* [n_inputs] column of an input in C */
    size_t n_c_inputs;
    bool has_constant; /* the constant occurs in C; its column is 0 */
} zk_prepare_order;
cuzk_status zk_prepare_order_make(zk_prepare_order *order, const zk_program *program, cuzk_err *err) ZK_MUST_USE;
void zk_prepare_order_clear(zk_prepare_order *order);
static inline size_t zk_prepare_column(const zk_prepare_order *order, zk_var var) {
    return var & ZK_VAR_INPUT ? order->input[var & ~ZK_VAR_INPUT] : order->n_c_inputs + var;
}

/* -C column by column, but for the constant's, which is empty here. Row i is named -i mod n, the place of R_i in the
 * transform of the points. */
typedef struct zk_prepare_columns {
    uint32_t *start; /* [columns + 1] into entries */
    zk_sparse_entry *entries;
    zk_fr *coefs; /* [n_coefs] the program's dictionary, the opposites from the third on */
} zk_prepare_columns;
cuzk_status zk_prepare_columns_make(zk_prepare_columns *columns, const zk_prepare_order *order, uint64_t n_entries,
                                    unsigned log2_n, cuzk_err *err) ZK_MUST_USE;
void zk_prepare_columns_clear(zk_prepare_columns *columns);

/* rows: [n] zeros; adds C_(i, v) d(column of v) to row i, over all variables v, or the constant alone. */
typedef struct zk_prepare_weights {
    uint64_t seed;
    bool constant_only; /* with weight 1 */
} zk_prepare_weights;
cuzk_status zk_prepare_rows(zk_fr *rows, const zk_prepare_order *order, const zk_prepare_weights *weights,
                            struct zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

/* Number i of a random combination. */
static inline uint64_t zk_prepare_random(uint64_t seed, uint64_t i) { /* splitmix64 */
    uint64_t z = seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* ---- sums ---- */

typedef struct zk_prepare_sums {
    const zk_prepare_options *options;
    const zk_params *params;
    const zk_prepare_order *order;
    size_t n;    /* the domain */
    zk_fr inv_z; /* 1/(g^n - 1) */
    zk_fr *rows; /* [n] */
    zk_ntt_domain *domain;
    zk_resident_points *h;
    zk_buffer *scalars; /* of the sum in hand */
} zk_prepare_sums;
/* Loads section h and makes tables. Close it also after a failure; zeroed is fine. */
cuzk_status zk_prepare_sums_open(zk_prepare_sums *sums, const zk_params *params, const zk_prepare_order *order,
                                 unsigned log2_n, const zk_prepare_options *options, cuzk_err *err) ZK_MUST_USE;
void zk_prepare_sums_close(zk_prepare_sums *sums);

/* sum_i v_i R_i for v the constant's column of C. */
cuzk_status zk_prepare_constant(zk_g1 *sum, zk_prepare_sums *sums, cuzk_err *err) ZK_MUST_USE;
/* The two combinations of docs/internals/prepared-keys.md. CHECK_FAILED. */
cuzk_status zk_prepare_check(zk_prepare_sums *sums, const zk_prepared_params *prepared, cuzk_err *err) ZK_MUST_USE;

#endif
