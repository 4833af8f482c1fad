/* Key generation: `.params` and `.vk` of a circuit from its toxic waste.
 *
 * Whoever knows the toxic waste can prove anything, so keys made here are for tests and private circuits only.
 */
#ifndef ZK_GROTH16_SETUP_H
#define ZK_GROTH16_SETUP_H

#include "base/span.h"
#include "groth16/key_scalars.h"

typedef struct zk_setup_options {
    const zk_toxic_waste *toxic; /* NULL: random, wiped before return */
    const char *params_path;
    const char *vk_path; /* NULL: not written */
    /* Keep what is done when cancelled or killed, and go on from there in the next call: `<params_path>.partial`, with
     * the digests of program, toxic waste and finished bytes in `<params_path>.partial.state`. Needs given toxic waste.
     */
    bool resumable;
    zk_backend *backend; /* makes the points; NULL: the CPU, on the pool */
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
 * not do (a zero, or tau in the domain). IO: names the file. CANCELLED. Memory: that of zk_key_scalars_create; tables
 * and slices, at most 250 MB. */
cuzk_status zk_setup(zk_setup_result *result, const zk_program *program, const zk_setup_options *options,
                     cuzk_err *err) ZK_MUST_USE;

#endif
