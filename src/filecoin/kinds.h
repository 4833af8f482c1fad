/* The kinds of proof: what each must be able to do, as a table of functions. A kind is one file that exports one such
 * table, listed in kinds.c. */
#ifndef ZK_FILECOIN_KINDS_H
#define ZK_FILECOIN_KINDS_H

#include "filecoin/job.h"
#include "filecoin/request_head.h"

typedef struct zk_kind_ops {
    zk_proof_kind kind;

    /* ---- the circuit of a sector size; UNSUPPORTED for a size that has none ---- */
    cuzk_status (*program)(struct zk_program **program, uint64_t sector_bytes, cuzk_err *err);
    cuzk_status (*identifier)(char identifier[ZK_IDENTIFIER_MAX], uint64_t sector_bytes, cuzk_err *err);

    /* ---- one input ---- */
    /* zk_request_check, for a head whose kind is this one. */
    cuzk_status (*check_head)(zk_request_head *head, zk_request_use use, cuzk_err *err);
    /* Decodes the request, whose head has passed the check, into job->input and fills the job's members; kind and ops
     * are set, all else is zero. The request is not kept. On failure `close` is called by the caller. */
    cuzk_status (*open)(zk_job *job, const zk_request *request, cuzk_err *err);
    void (*close)(zk_job *job); /* frees job->input, which may be NULL */
    /* As the functions of job.h that are called so. `failure` is zeroed. */
    cuzk_status (*check)(zk_job_failure *failure, const zk_job *job, zk_pool *pool, cuzk_err *err);
    void (*publics)(uint8_t (*publics)[32], const zk_job *job, uint32_t partition);
    cuzk_status (*hints)(uint8_t (*hints)[32], size_t n_hints, const zk_job *job, uint32_t partition, cuzk_err *err);
    void (*challenges)(uint64_t *challenges, size_t *n, size_t max, const zk_job *job, uint32_t list);
    size_t (*facts)(zk_job_fact facts[ZK_JOB_MAX_FACTS], const zk_job *job);
} zk_kind_ops;

extern const zk_kind_ops zk_kind_porep;                   /* porep.c */
extern const zk_kind_ops zk_kind_winning, zk_kind_window; /* post.c */
extern const zk_kind_ops zk_kind_update;                  /* update.c */

/* UNSUPPORTED for a kind that is not built in. */
cuzk_status zk_kind_get(const zk_kind_ops **ops, zk_proof_kind kind, cuzk_err *err) ZK_MUST_USE;

/* Of the circuit of a kind and sector size: its program, and the name of its key files without "v28-" and suffix.
 * UNSUPPORTED: there is none. */
cuzk_status zk_kind_program(struct zk_program **program, zk_proof_kind kind, uint64_t sector_bytes,
                            cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_kind_identifier(char identifier[ZK_IDENTIFIER_MAX], zk_proof_kind kind, uint64_t sector_bytes,
                               cuzk_err *err) ZK_MUST_USE;

/* The members of a PoRep job, whose kind and ops are set, from a C1, which it takes over. */
struct zk_c1;
void zk_porep_job_set_c1(zk_job *job, struct zk_c1 *c1);

#endif
