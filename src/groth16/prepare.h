/* Making a prepared key from a parameter file: docs/internals/prepared-keys.md. */
#ifndef ZK_GROTH16_PREPARE_H
#define ZK_GROTH16_PREPARE_H

#include "base/pool.h"
#include "groth16/prepared_params.h"

typedef struct zk_prepare_options {
    zk_backend *backend;
    zk_pool *pool; /* for work on the host */
    zk_trace *trace;
    zk_params_progress progress; /* of each step, in its own unit; NULL: none */
    void *progress_ctx;
} zk_prepare_options;

typedef struct zk_prepare_result {
    uint64_t bytes; /* of the file */
    uint8_t params_sha256[32];
} zk_prepare_result;

/* Writes the prepared key of `params` to `path`, whole or not at all: under `<path>.partial` until it is complete and
 * two random linear combinations of the points written agree with those of the parameter file (an error passes with
 * probability 2^-64). Not resumable: minutes on a GPU, hours on a CPU for circuits of 2^20 rows and more.
 *
 * BAD_INPUT: the parameter file is not this circuit's, has a point that is refused, or gives a point at infinity.
 * CHECK_FAILED: a combination does not agree: a point of the parameters is not in the subgroup (zk_params_check tells),
 * or the device computes wrongly. EXHAUSTED: another process writes the same file. CANCELLED: the process was asked to
 * stop. Memory on the device: 96 bytes a row of the domain, later the points of two sections and what an MSM needs; on
 * the host 64 bytes a row of the domain, 8 an entry of C, 4 a variable. */
cuzk_status zk_prepare(zk_prepare_result *result, const zk_params *params, const char *path, const zk_program *program,
                       const zk_prepare_options *options, cuzk_err *err) ZK_MUST_USE;

#endif
