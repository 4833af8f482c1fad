/* A job: one request, decoded and understood, whatever its kind. What proves, verifies or explains a request goes
 * through this interface and needs to know no kind. The kinds themselves are in kinds.h. */
#ifndef ZK_FILECOIN_JOB_H
#define ZK_FILECOIN_JOB_H

#include "base/pool.h"
#include "filecoin/registered.h"
#include "filecoin/request.h"

struct zk_program;
struct zk_kind_ops;

typedef struct zk_job {
    zk_proof_kind kind;
    const struct zk_kind_ops *ops;
    const char *registered_name; /* static */
    uint64_t registered_number, sector_bytes;
    uint32_t n_partitions;
    uint32_t n_publics;         /* public inputs of a partition, without the leading one */
    uint32_t n_challenge_lists; /* for display: one a partition, or one a sector */
    bool has_miner, has_sector;
    uint64_t miner, sector;
    const uint64_t *sectors; /* [n_sectors] of a kind that proves many at once; NULL for the others */
    uint32_t n_sectors;
    void *input; /* the kind's own */
} zk_job;

/* From the output of commit phase 1, in any of its forms. */
cuzk_status zk_job_from_c1_file(zk_job **job, const char *path, cuzk_err *err) ZK_MUST_USE;
/* From a request that zk_request_check (request_head.h) lets pass, and whose own members (registered proof, sector
 * size, sector number) must agree with what it carries. A WindowPoSt request with more sectors than a partition holds
 * becomes a job of several partitions (given to a daemon it is refused). */
cuzk_status zk_job_from_request(zk_job **job, const zk_request *request, cuzk_err *err) ZK_MUST_USE;
void zk_job_destroy(zk_job *job); /* NULL is fine */

/* Miner and sector the caller means; NULL: not said. A number that differs from the input's own is BAD_INPUT. */
cuzk_status zk_job_expect(zk_job *job, const uint64_t *miner, const uint64_t *sector, cuzk_err *err) ZK_MUST_USE;

/* Whether the vanilla proof holds. CHECK_FAILED: `check` (static string) is the name of the check that fails, `at` says
 * where; both also in the message. */
typedef struct zk_job_failure {
    const char *check;
    char at[128];
} zk_job_failure;
cuzk_status zk_job_check(zk_job_failure *failure, const zk_job *job, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;
/* The same for who is to prove it, which would be in vain: BAD_INPUT "the vanilla proof does not hold (check NAME):
 * ..." in place of CHECK_FAILED. */
cuzk_status zk_job_require(const zk_job *job, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

/* The circuit, and the name of its key files without "v28-" and suffix. */
cuzk_status zk_job_program(struct zk_program **program, const zk_job *job, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_job_identifier(char identifier[ZK_IDENTIFIER_MAX], const zk_job *job, cuzk_err *err) ZK_MUST_USE;

/* Public inputs of a partition: [n_publics][32] LE. */
void zk_job_publics(uint8_t (*publics)[32], const zk_job *job, uint32_t partition);
/* The private input of a partition's circuit: [program->n_hints][32]. */
cuzk_status zk_job_hints(uint8_t (*hints)[32], size_t n_hints, const zk_job *job, uint32_t partition,
                         cuzk_err *err) ZK_MUST_USE;

/* For display: challenges of a list (below n_challenge_lists), *n of them, at most `max` are written. */
void zk_job_challenges(uint64_t *challenges, size_t *n, size_t max, const zk_job *job, uint32_t list);

/* For display: 32-byte values that the input states, by their names in C1 or requests. */
typedef struct zk_job_fact {
    const char *name; /* static */
    const uint8_t *first;
    size_t n, stride; /* n values, one every `stride` bytes */
    bool is_list;     /* one for each sector, even where n is 1 */
} zk_job_fact;
#define ZK_JOB_MAX_FACTS 8
size_t zk_job_facts(zk_job_fact facts[ZK_JOB_MAX_FACTS], const zk_job *job);

#endif
