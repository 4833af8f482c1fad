/* Key generation: `.params` and `.vk` of a circuit from its toxic waste.
 *
 * Whoever knows the toxic waste can prove anything, so keys made here are for tests and private circuits only.
 */
#ifndef ZK_GROTH16_SETUP_H
#define ZK_GROTH16_SETUP_H

#include "base/pool.h"
#include "base/span.h"
#include "program/program.h"

typedef struct zk_toxic_waste {
    zk_fr alpha, beta, gamma, delta, tau;
} zk_toxic_waste;

cuzk_status zk_toxic_waste_random(zk_toxic_waste *toxic, cuzk_err *err) ZK_MUST_USE; /* wipe it after use */

typedef struct zk_setup_options {
    const zk_toxic_waste *toxic; /* NULL: random, wiped before return */
    const char *params_path;
    const char *vk_path; /* NULL: not written */
    /* Keep what is done when cancelled or killed, and go on from there in the next call: `<params_path>.partial`, with
     * the digests of program, toxic waste and finished bytes in `<params_path>.partial.state`. Needs given toxic waste.
     */
    bool resumable;
    zk_pool *pool;
    zk_trace *trace;
    /* Points done of all, after each slice. `section`: "columns", "h", "l", "a", "b_g1", "b_g2". */
    void (*progress)(void *ctx, const char *section, uint64_t done, uint64_t total);
    void *progress_ctx;
    bool (*cancelled)(void *ctx); /* asked after each slice; NULL: never */
    void *cancelled_ctx;
} zk_setup_options;

typedef struct zk_setup_result {
    uint64_t params_bytes, resumed_bytes; /* of the file; of it made by earlier calls */
    uint8_t params_sha256[32], vk_sha256[32];
} zk_setup_result;

/* Writes both files whole or not at all. BAD_INPUT: a variable that occurs in no row (named), or toxic waste that does
 * not do (a zero, or tau in the domain). IO: names the file. CANCELLED. Memory: some 130 bytes a variable, 32 a row of
 * the domain, tables and slices of at most 250 MB. */
cuzk_status zk_setup(zk_setup_result *result, const zk_program *program, const zk_setup_options *options,
                     cuzk_err *err) ZK_MUST_USE;

/* ---- parts, for tests ---- */

/* The columns of A, B, C at tau: value[m][i] for inputs i, then aux. Rows of the inputs are included in A. */
typedef struct zk_columns {
    size_t n_inputs, n_aux;
    zk_fr *value[3];
    zk_fr t; /* tau^n - 1 */
    unsigned log2_n;
} zk_columns;
cuzk_status zk_columns_compute(zk_columns *columns, const zk_program *program, const zk_fr *tau, zk_pool *pool,
                               cuzk_err *err) ZK_MUST_USE;
void zk_columns_clear(zk_columns *columns);

#endif
