/* Proving, as stages.
 *
 *   check        hints canonical, numbers of things right
 *   synthesize   the assignment; a, b, c over the domain; every row satisfied
 *   h            (a b - c)/(x^n - 1)
 *   msm          the sums over the queries
 *   assemble     A = alpha + sum w_i A_i + r delta
 *                B = beta + sum w_i B_i + s delta
 *                C = sum_aux w_i l_i + sum h_k H_k + s A + r B1 - r s delta
 *   verify       the proof against the key; one that does not hold never leaves
 *
 * With a prepared key (docs/internals/prepared-keys.md) c is not evaluated, h is the values of a b on the coset, which
 * take the place of its coefficients in the sum, and l has the inputs in it. The proof is the same. That every row is
 * satisfied is then looked at only if the proof does not verify, so that BAD_WITNESS comes from the stage verify. So it
 * does with a plain key on a device that has no room for a, b and c at once (zk_proof_vectors): there c is evaluated
 * within the stage h, and takes its share of h from the memory of b.
 *
 * A prover is the workspace of one partition in flight: buffers for one circuit, made once, used for any number of
 * proofs one after the other. zk_prove runs all stages; a scheduler runs them one by one and puts stages of other
 * provers between them. Stages of one prover run in order on its stream.
 */
#ifndef ZK_GROTH16_PROVE_H
#define ZK_GROTH16_PROVE_H

#include "groth16/proving_key.h"

typedef enum zk_prove_stage_id {
    ZK_PROVE_CHECK,
    ZK_PROVE_SYNTHESIZE,
    ZK_PROVE_H,
    ZK_PROVE_MSM,
    ZK_PROVE_ASSEMBLE,
    ZK_PROVE_VERIFY,
    ZK_PROVE_N_STAGES
} zk_prove_stage_id;
const char *zk_prove_stage_name(zk_prove_stage_id stage);

typedef struct zk_blinding {
    zk_fr r, s;
} zk_blinding;

/* What is to be proved. All is borrowed until the last stage is done, hints and publics until synthesize is. */
typedef struct zk_prove_request {
    const uint8_t (*hints)[32]; /* [n_hints] the private input of the program, LE, canonical */
    size_t n_hints;
    const uint8_t (*publics)[32]; /* [n_publics] expected, LE, without the leading one; NULL: not compared */
    size_t n_publics;
    const zk_blinding *blinding; /* for tests; NULL: from the kernel's generator */
} zk_prove_request;

typedef struct zk_prover zk_prover;

/* Buffers of a prover, before they are taken. */
void zk_prover_plan(const zk_resident_program *program, const zk_query_masks *masks, zk_memory_plan *plan);
/* key and what it refers to must outlive the prover. `pool` is for the host's share of the work. */
cuzk_status zk_prover_create(zk_prover **prover, const zk_proving_key *key, struct zk_pool *pool,
                             cuzk_err *err) ZK_MUST_USE;
/* The same on a stream of its own (backend.h), so that its kernels run beside those of other provers, driven by other
 * threads. OUT_OF_MEMORY where the device has no room for that; UNSUPPORTED where it has no streams. */
cuzk_status zk_prover_create_beside(zk_prover **prover, const zk_proving_key *key, struct zk_pool *pool,
                                    cuzk_err *err) ZK_MUST_USE;
/* The same on a stream of the caller, which outlives the prover: one for provers that never work at the same time. */
cuzk_status zk_prover_create_on(zk_prover **prover, const zk_proving_key *key, zk_stream *stream, struct zk_pool *pool,
                                cuzk_err *err) ZK_MUST_USE;
/* Between two proofs, when this prover may not work for a while: its memory is others' until its next proof, also while
 * streams are open. That proof gives OUT_OF_MEMORY if they still have it. NULL is fine. */
void zk_prover_rest(zk_prover *prover);
void zk_prover_destroy(zk_prover *prover); /* NULL is fine; secrets are wiped */

/* Starts a proof; what was in flight is dropped. */
void zk_prove_begin(zk_prover *prover, const zk_prove_request *request);
/* Runs the next stage, which must be `stage` (else INTERNAL). Each opens a span of its name. After a failure only
 * zk_prove_begin can follow.
 * BAD_INPUT: hints; BAD_WITNESS: an unsatisfied row (named), or public inputs that are not the expected ones; INTERNAL:
 * the proof of a satisfied circuit does not verify: key or device are at fault.
 * CANCELLED: the process asked to stop (base/cancel.h); looked at after each kernel. */
cuzk_status zk_prove_stage(zk_prover *prover, zk_prove_stage_id stage, zk_trace *trace, cuzk_err *err) ZK_MUST_USE;
/* The proof, after the last stage. */
const uint8_t *zk_prove_result(const zk_prover *prover);

/* The stage msm in two halves, for several provers of one key, each made by zk_prover_create, where the points of bits
 * are streamed (zk_proving_key_streams_bits): one after the other comes to its sums over full points, whose vectors are
 * then free for the next; the sums over bits are made together, and each goes on with assemble. The proofs are the
 * same.
 *
 *   for each: begin, check, synthesize, h, zk_prove_full;  zk_prove_bits;  for each: assemble, verify
 *
 * *failed: the prover that is to blame (one that stands for all of them where none is); all have to begin anew.
 * zk_prove_together_check: OUT_OF_MEMORY where the device has no room for n provers like this one, which are there. */
cuzk_status zk_prove_together_check(const zk_prover *prover, unsigned n, cuzk_err *err) ZK_MUST_USE;
/* Makes provers[1] and on, which lend each other their memory, beside provers[0], which is there: as many as there is
 * room for, `most` at most. *n: of all; 1 where points of bits are not streamed. After a failure those are left. */
cuzk_status zk_prove_together_make(zk_prover *provers[], unsigned *n, unsigned most, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_prove_full(zk_prover *prover, zk_trace *trace, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_prove_bits(zk_prover *const provers[], unsigned n, unsigned *failed, zk_trace *trace,
                          cuzk_err *err) ZK_MUST_USE;

/* All stages. */
cuzk_status zk_prove(uint8_t proof[ZK_PROOF_BYTES], zk_prover *prover, const zk_prove_request *request, zk_trace *trace,
                     cuzk_err *err) ZK_MUST_USE;

#endif
