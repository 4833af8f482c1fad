#include "filecoin/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "circuit/porep.h"
#include "filecoin/challenges.h"
#include "filecoin/porep_input.h"

/* Takes the C1 over. */
static cuzk_status from_c1(zk_job **out, zk_c1 *c1, cuzk_err *err) {
    zk_job *job = zk_calloc(1, sizeof *job);
    if (!job) {
        zk_c1_destroy(c1);
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a job");
    }
    *job = (zk_job){
        .kind = ZK_KIND_POREP,
        .registered_name = c1->seal->name,
        .registered_number = c1->seal->number,
        .sector_bytes = c1->seal->sector_bytes,
        .n_partitions = c1->n_partitions,
        .n_publics = zk_porep_n_public_inputs(c1->seal),
        .has_sector = c1->has_sector_number,
        .sector = c1->sector_number,
        .c1 = c1,
    };
    *out = job;
    return CUZK_OK;
}

cuzk_status zk_job_from_c1_file(zk_job **job, const char *path, cuzk_err *err) {
    zk_c1 *c1 = NULL;
    ZK_TRY(zk_c1_read_file(&c1, path, err));
    return from_c1(job, c1, err);
}

/* What the request says beside the vanilla proof. */
static cuzk_status check_request(const zk_request *request, const zk_c1 *c1, cuzk_err *err) {
    if (request->n_vanilla_proofs)
        return ZK_FAIL(err, CUZK_BAD_INPUT,
                       "vanilla_proofs: found %zu entries, a PoRep request has vanilla_proof alone",
                       request->n_vanilla_proofs);
    if (request->registered_proof != c1->seal->number)
        return ZK_FAIL(err, CUZK_BAD_INPUT,
                       "registered_proof: found %" PRIu64 ", but vanilla_proof is of %s (%" PRIu32 ")",
                       request->registered_proof, c1->seal->name, c1->seal->number);
    if (request->sector_bytes != c1->seal->sector_bytes)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "sector_size: found %" PRIu64 ", but %s has %" PRIu64,
                       request->sector_bytes, c1->seal->name, c1->seal->sector_bytes);
    return CUZK_OK;
}

static cuzk_status unsupported(const zk_request *request, cuzk_err *err) {
    return ZK_FAIL(err, CUZK_UNSUPPORTED, "proof_kind: %s is not part of this version; porep is",
                   zk_proof_kind_name(request->kind));
}

cuzk_status zk_job_from_request(zk_job **job, const zk_request *request, cuzk_err *err) {
    if (request->kind != ZK_KIND_POREP) return unsupported(request, err);
    zk_c1 *c1 = NULL;
    cuzk_status status = zk_c1_read_memory(&c1, request->vanilla_proof.data, request->vanilla_proof.n, err);
    if (status != CUZK_OK) {
        zk_err_prefix(err, "vanilla_proof");
        return status;
    }
    status = check_request(request, c1, err);
    if (status != CUZK_OK) {
        zk_c1_destroy(c1);
        return status;
    }
    zk_job *made = NULL;
    ZK_TRY(from_c1(&made, c1, err));
    status = zk_job_expect(made, &request->miner_id, &request->sector_number, err);
    if (status != CUZK_OK) {
        zk_job_destroy(made);
        return status;
    }
    *job = made;
    return CUZK_OK;
}

void zk_job_destroy(zk_job *job) {
    if (!job) return;
    zk_c1_destroy(job->c1);
    free(job);
}

cuzk_status zk_job_expect(zk_job *job, const uint64_t *miner, const uint64_t *sector, cuzk_err *err) {
    if (sector) {
        if (job->has_sector && job->sector != *sector)
            return ZK_FAIL(err, CUZK_BAD_INPUT, "sector number: the input says %" PRIu64 ", expected %" PRIu64,
                           job->sector, *sector);
        job->has_sector = true;
        job->sector = *sector;
    }
    if (miner) {
        job->has_miner = true;
        job->miner = *miner;
    }
    return CUZK_OK;
}

static void describe(char *at, size_t n_at, const zk_vanilla_failure *failure) {
    const struct {
        const char *name;
        uint32_t value;
    } places[] = {{"partition", failure->partition}, {"challenge", failure->challenge}, {"column", failure->column},
                  {"layer", failure->layer},         {"level", failure->level},         {"element", failure->element}};
    size_t n = 0;
    at[0] = 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0] && n < n_at; i++)
        if (places[i].value != ZK_VANILLA_NOWHERE)
            n += (size_t)snprintf(at + n, n_at - n, "%s%s %" PRIu32, n ? ", " : "", places[i].name, places[i].value);
}

cuzk_status zk_job_check(zk_job_failure *failure, const zk_job *job, zk_pool *pool, cuzk_err *err) {
    memset(failure, 0, sizeof *failure);
    if (job->has_miner && job->has_sector) {
        uint8_t prover_id[32];
        zk_prover_id(prover_id, job->miner);
        cuzk_status status = zk_c1_verify_replica_id(job->c1, prover_id, job->sector, err);
        if (status == CUZK_CHECK_FAILED) failure->check = zk_vanilla_check_name(ZK_VANILLA_replica_id);
        if (status != CUZK_OK) return status;
    }
    zk_vanilla_failure vanilla;
    cuzk_status status = zk_c1_verify(&vanilla, job->c1, pool, err);
    if (status == CUZK_CHECK_FAILED) {
        failure->check = zk_vanilla_check_name(vanilla.check);
        describe(failure->at, sizeof failure->at, &vanilla);
    }
    return status;
}

cuzk_status zk_job_program(struct zk_program **program, const zk_job *job, cuzk_err *err) {
    return zk_porep_program(program, job->sector_bytes, err);
}

void zk_job_identifier(char identifier[ZK_IDENTIFIER_MAX], const zk_job *job) {
    zk_porep_identifier(identifier, job->sector_bytes);
}

void zk_job_publics(uint8_t (*publics)[32], const zk_job *job, uint32_t partition) {
    zk_porep_statement statement;
    zk_c1_statement(&statement, job->c1);
    zk_porep_public_inputs(publics, &statement, partition);
}

cuzk_status zk_job_hints(uint8_t (*hints)[32], size_t n_hints, const zk_job *job, uint32_t partition, cuzk_err *err) {
    zk_porep_input *input = NULL;
    ZK_TRY(zk_porep_input_create(&input, job->c1, partition, err));
    cuzk_status status = zk_porep_hints(hints, n_hints, job->sector_bytes, &input->partition, err);
    free(input);
    return status;
}

void zk_job_challenges(uint64_t *challenges, size_t *n, size_t max, const zk_job *job, uint32_t partition) {
    zk_porep_statement statement;
    zk_c1_statement(&statement, job->c1);
    zk_challenge_set set;
    uint32_t per_partition = statement.seal->n_challenges;
    zk_challenge_set_init(&set, statement.seal->feature, statement.seal->sector_bytes / 32, statement.replica_id,
                          statement.comm_r, statement.seed);
    *n = per_partition;
    uint32_t wanted = per_partition < max ? per_partition : (uint32_t)max;
    zk_challenge_set_get(challenges, partition * per_partition, wanted, &set);
}
