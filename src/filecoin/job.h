/* A job: one request, decoded and understood, whatever its kind. What proves, verifies or explains a request goes
 * through this interface and needs to know no kind. */
#ifndef ZK_FILECOIN_JOB_H
#define ZK_FILECOIN_JOB_H

#include "base/pool.h"
#include "filecoin/c1.h"
#include "filecoin/request.h"
#include "filecoin/vanilla.h"

struct zk_program;

typedef struct zk_job {
    zk_proof_kind kind;
    const char *registered_name; /* static */
    uint64_t registered_number, sector_bytes;
    uint32_t n_partitions;
    uint32_t n_publics; /* public inputs of a partition, without the leading one */
    bool has_miner, has_sector;
    uint64_t miner, sector;
    zk_c1 *c1; /* PoRep */
} zk_job;

/* From the output of commit phase 1, in any of its forms. */
cuzk_status zk_job_from_c1_file(zk_job **job, const char *path, cuzk_err *err) ZK_MUST_USE;
/* From a request, whose own members (registered proof, sector size, sector number) must agree with what it carries. */
cuzk_status zk_job_from_request(zk_job **job, const zk_request *request, cuzk_err *err) ZK_MUST_USE;
void zk_job_destroy(zk_job *job); /* NULL is fine */

/* The sector the caller means; NULL: not said. A number that differs from the input's own is BAD_INPUT. */
cuzk_status zk_job_expect(zk_job *job, const uint64_t *miner, const uint64_t *sector, cuzk_err *err) ZK_MUST_USE;

/* Whether the vanilla proof holds. CHECK_FAILED: `check` (static string) is the name of the check that fails, `at` says
 * where; both also in the message. */
typedef struct zk_job_failure {
    const char *check;
    char at[128];
} zk_job_failure;
cuzk_status zk_job_check(zk_job_failure *failure, const zk_job *job, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

/* The circuit, and the name of its key files without "v28-" and suffix. */
cuzk_status zk_job_program(struct zk_program **program, const zk_job *job, cuzk_err *err) ZK_MUST_USE;
void zk_job_identifier(char identifier[ZK_IDENTIFIER_MAX], const zk_job *job);

/* Public inputs of a partition: [n_publics][32] LE. */
void zk_job_publics(uint8_t (*publics)[32], const zk_job *job, uint32_t partition);
/* The private input of a partition's circuit: [program->n_hints][32]. */
cuzk_status zk_job_hints(uint8_t (*hints)[32], size_t n_hints, const zk_job *job, uint32_t partition,
                         cuzk_err *err) ZK_MUST_USE;
/* Challenges of a partition, for display: *n of them, at most `max` are written. */
void zk_job_challenges(uint64_t *challenges, size_t *n, size_t max, const zk_job *job, uint32_t partition);

#endif
