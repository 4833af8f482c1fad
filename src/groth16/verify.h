/* Proofs and their verification.
 *
 *   e(A, B) = e(alpha, beta) e(sum_j x_j ic_j, gamma) e(C, delta),   x_0 = 1
 */
#ifndef ZK_GROTH16_VERIFY_H
#define ZK_GROTH16_VERIFY_H

#include "groth16/vk.h"

#define ZK_PROOF_BYTES 192 /* A (48), B (96), C (48), compressed */

typedef struct zk_proof {
    zk_g1_affine a, c;
    zk_g2_affine b;
} zk_proof;

void zk_proof_encode(uint8_t bytes[ZK_PROOF_BYTES], const zk_proof *proof);
/* Canonical, on the curve, in the subgroup, not infinity; else BAD_PROOF with the point's name and offset. */
cuzk_status zk_proof_decode(zk_proof *proof, const uint8_t bytes[ZK_PROOF_BYTES], cuzk_err *err) ZK_MUST_USE;

/* A verifying key with the line coefficients of its G2 points. */
typedef struct zk_prepared_vk zk_prepared_vk;
/* Copies what it needs of vk. `name` (file or circuit) is copied and stands in messages. */
cuzk_status zk_prepared_vk_create(zk_prepared_vk **prepared, const zk_vk *vk, const char *name,
                                  cuzk_err *err) ZK_MUST_USE;
void zk_prepared_vk_destroy(zk_prepared_vk *prepared); /* NULL is fine */

struct zk_pool;
/* One proof. publics: [n_publics] times 32 bytes LE, canonical, without the leading one. OK: the proof holds.
 * BAD_PROOF: wrong length, not decodable, or the equation does not hold. BAD_INPUT: wrong number of public inputs, or
 * one >= r. */
cuzk_status zk_verify(const zk_prepared_vk *vk, const uint8_t *proof, size_t n_proof_bytes,
                      const uint8_t (*publics)[32], size_t n_publics, struct zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

/* The circuits of one proof: n_proofs proofs in a row, and n_publics public inputs for each in a row. All equations are
 * checked at once, multiplied by random 128-bit numbers: false ones pass with probability 2^-128. If they do not hold,
 * the message names the first proof that fails. n_proofs = 0 is BAD_PROOF: there is nothing that could hold. */
cuzk_status zk_verify_batch(const zk_prepared_vk *vk, const uint8_t *proofs, size_t n_proof_bytes, size_t n_proofs,
                            const uint8_t (*publics)[32], size_t n_publics, struct zk_pool *pool,
                            cuzk_err *err) ZK_MUST_USE;

#endif
