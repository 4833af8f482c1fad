#include "filecoin/job.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "filecoin/c1.h"
#include "filecoin/kinds.h"

static cuzk_status create(zk_job **job, zk_proof_kind kind, cuzk_err *err) {
    const zk_kind_ops *ops = NULL;
    ZK_TRY(zk_kind_get(&ops, kind, err));
    *job = zk_calloc(1, sizeof **job);
    if (!*job) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a job");
    (*job)->kind = kind;
    (*job)->ops = ops;
    return CUZK_OK;
}

cuzk_status zk_job_from_c1_file(zk_job **out, const char *path, cuzk_err *err) {
    zk_job *job = NULL;
    zk_c1 *c1 = NULL;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(create(&job, ZK_KIND_POREP, err));
    ZK_GOTO(zk_c1_read_file(&c1, path, err));
    zk_porep_job_set_c1(job, c1);
    *out = job;
    job = NULL;
out:
    zk_job_destroy(job);
    return status;
}

cuzk_status zk_job_from_request(zk_job **out, const zk_request *request, cuzk_err *err) {
    zk_job *job = NULL;
    cuzk_status status = CUZK_OK;
    zk_request_head head;
    zk_request_head_get(&head, request);
    ZK_GOTO(zk_request_check(&head, ZK_REQUEST_READ, err));
    ZK_GOTO(create(&job, request->kind, err));
    ZK_GOTO(job->ops->open(job, request, err));
    *out = job;
    job = NULL;
out:
    zk_job_destroy(job);
    return status;
}

void zk_job_destroy(zk_job *job) {
    if (!job) return;
    job->ops->close(job);
    free(job);
}

static bool proves(const zk_job *job, uint64_t sector) {
    for (uint32_t i = 0; i < job->n_sectors; i++)
        if (job->sectors[i] == sector) return true;
    return false;
}

cuzk_status zk_job_expect(zk_job *job, const uint64_t *miner, const uint64_t *sector, cuzk_err *err) {
    if (sector && job->sectors) {
        if (!proves(job, *sector))
            return ZK_FAIL(err, CUZK_BAD_INPUT, "sector number: %" PRIu64 " is not among the input's %" PRIu32, *sector,
                           job->n_sectors);
    } else if (sector) {
        if (job->has_sector && job->sector != *sector)
            return ZK_FAIL(err, CUZK_BAD_INPUT, "sector number: the input says %" PRIu64 ", expected %" PRIu64,
                           job->sector, *sector);
        job->has_sector = true;
        job->sector = *sector;
    }
    if (miner) {
        if (job->has_miner && job->miner != *miner)
            return ZK_FAIL(err, CUZK_BAD_INPUT, "miner number: the input says %" PRIu64 ", expected %" PRIu64,
                           job->miner, *miner);
        job->has_miner = true;
        job->miner = *miner;
    }
    return CUZK_OK;
}

cuzk_status zk_job_check(zk_job_failure *failure, const zk_job *job, zk_pool *pool, cuzk_err *err) {
    memset(failure, 0, sizeof *failure);
    return job->ops->check(failure, job, pool, err);
}

cuzk_status zk_job_require(const zk_job *job, zk_pool *pool, cuzk_err *err) {
    zk_job_failure failure;
    cuzk_status status = zk_job_check(&failure, job, pool, err);
    if (status != CUZK_CHECK_FAILED) return status;
    if (err) err->status = CUZK_BAD_INPUT;
    zk_err_prefix(err, "the vanilla proof does not hold (check %s)", failure.check);
    return CUZK_BAD_INPUT;
}

cuzk_status zk_job_program(struct zk_program **program, const zk_job *job, cuzk_err *err) {
    return job->ops->program(program, job->sector_bytes, err);
}

cuzk_status zk_job_identifier(char identifier[ZK_IDENTIFIER_MAX], const zk_job *job, cuzk_err *err) {
    return job->ops->identifier(identifier, job->sector_bytes, err);
}

void zk_job_publics(uint8_t (*publics)[32], const zk_job *job, uint32_t partition) {
    job->ops->publics(publics, job, partition);
}

cuzk_status zk_job_hints(uint8_t (*hints)[32], size_t n_hints, const zk_job *job, uint32_t partition, cuzk_err *err) {
    return job->ops->hints(hints, n_hints, job, partition, err);
}

void zk_job_challenges(uint64_t *challenges, size_t *n, size_t max, const zk_job *job, uint32_t list) {
    job->ops->challenges(challenges, n, max, job, list);
}

size_t zk_job_facts(zk_job_fact facts[ZK_JOB_MAX_FACTS], const zk_job *job) { return job->ops->facts(facts, job); }
