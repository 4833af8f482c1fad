/* Digests of a circuit's structure and of an assignment, for comparison with other implementations.
 *
 * Structure: for each of A, B, C one SHA-256 runs over all rows in order; a row is its number of terms (u32 LE), then
 * per term: kind (1 byte: 0 input, 1 aux), index (u32 LE), coefficient (32 bytes LE); inputs first, then aux, each by
 * ascending index. The rows that Groth16 adds for the inputs are not included.
 * Assignment: SHA-256 over all aux values in order, 32 bytes LE each.
 * A checkpoint is the first 8 bytes of the running digest after every so many rows, or values.
 */
#ifndef ZK_PROGRAM_DIGEST_H
#define ZK_PROGRAM_DIGEST_H

#include "program/program.h"

typedef struct zk_checkpoints {
    uint8_t (*at)[8]; /* [n], owned */
    size_t n;
} zk_checkpoints;

typedef struct zk_structure_digest {
    uint8_t sha256[3][32]; /* A, B, C */
    zk_checkpoints checkpoints[3];
    zk_program_stats stats;
} zk_structure_digest;

/* Both end with CANCELLED once that is asked for. rows_per_checkpoint 0: none. The matrices are hashed on different
 * threads of the pool. On success free the result. */
cuzk_status zk_structure_digest_make(zk_structure_digest *digest, const zk_program *program,
                                     uint32_t rows_per_checkpoint, struct zk_pool *pool, cuzk_err *err) ZK_MUST_USE;
void zk_structure_digest_free(zk_structure_digest *digest);

/* checkpoints may be NULL (then `every` is not used); else free it after success. */
cuzk_status zk_witness_digest(uint8_t sha256[32], zk_checkpoints *checkpoints, const zk_program *program,
                              const zk_witness *w, uint32_t every, cuzk_err *err) ZK_MUST_USE;
void zk_checkpoints_free(zk_checkpoints *checkpoints);

#endif
