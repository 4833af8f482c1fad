/* The kind PoRep: commit phase 1 in, ten (or one, or 126) partitions out. */
#include "circuit/porep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "filecoin/c1.h"
#include "filecoin/challenges.h"
#include "filecoin/kinds.h"
#include "filecoin/porep_input.h"
#include "filecoin/vanilla.h"

static const zk_c1 *c1_of(const zk_job *job) { return job->input; }

static cuzk_status identifier(char out[ZK_IDENTIFIER_MAX], uint64_t sector_bytes, cuzk_err *err) {
    zk_porep_shape shape;
    ZK_TRY(zk_porep_shape_get(&shape, sector_bytes, err));
    zk_porep_identifier(out, sector_bytes);
    return CUZK_OK;
}

void zk_porep_job_set_c1(zk_job *job, zk_c1 *c1) {
    job->registered_name = c1->seal->name;
    job->registered_number = c1->seal->number;
    job->sector_bytes = c1->seal->sector_bytes;
    job->n_partitions = job->n_challenge_lists = c1->n_partitions;
    job->n_publics = zk_porep_n_public_inputs(c1->seal);
    job->has_sector = c1->has_sector_number;
    job->sector = c1->sector_number;
    job->input = c1;
}

static cuzk_status check_head(zk_request_head *head, zk_request_use use, cuzk_err *err) {
    const zk_registered_seal *seal = zk_registered_seal_by_number(head->registered_proof);
    (void)use;
    if (!seal)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "registered_proof: found %" PRIu64 ", expected 0 to %d for PoRep",
                       head->registered_proof, ZK_N_REGISTERED_SEALS - 1);
    ZK_TRY(zk_request_check_size(head, seal->name, seal->sector_bytes, err));
    if (head->n_vanilla_proofs)
        return ZK_FAIL(err, CUZK_BAD_INPUT,
                       "vanilla_proofs: found %" PRIu64 " entries, a PoRep request has vanilla_proof alone",
                       head->n_vanilla_proofs);
    if (!head->n_vanilla_bytes)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "vanilla_proof: found no bytes, expected the output of commit phase 1");
    return CUZK_OK;
}

static cuzk_status open_request(zk_job *job, const zk_request *request, cuzk_err *err) {
    zk_c1 *c1 = NULL;
    zk_input *input = NULL;
    const zk_blob *vanilla = &request->vanilla_proof;
    cuzk_status status = zk_input_open_memory(&input, vanilla->data, vanilla->n, &request->passed, err);
    if (status == CUZK_OK) status = zk_c1_read(&c1, input, err);
    if (status != CUZK_OK) {
        zk_err_prefix(err, "vanilla_proof");
        return status;
    }
    zk_porep_job_set_c1(job, c1);
    if (request->registered_proof != c1->seal->number) /* which also decides the sector size */
        return ZK_FAIL(err, CUZK_BAD_INPUT,
                       "registered_proof: found %" PRIu64 ", but vanilla_proof is of %s (%" PRIu32 ")",
                       request->registered_proof, c1->seal->name, c1->seal->number);
    return zk_job_expect(job, &request->miner_id, &request->sector_number, err);
}

static void close_job(zk_job *job) { zk_c1_destroy(job->input); }

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

static cuzk_status check(zk_job_failure *failure, const zk_job *job, zk_pool *pool, cuzk_err *err) {
    if (job->has_miner && job->has_sector) {
        uint8_t prover_id[32];
        zk_prover_id(prover_id, job->miner);
        cuzk_status status = zk_c1_verify_replica_id(c1_of(job), prover_id, job->sector, err);
        if (status == CUZK_CHECK_FAILED) failure->check = zk_vanilla_check_name(ZK_VANILLA_replica_id);
        if (status != CUZK_OK) return status;
    }
    zk_vanilla_failure vanilla;
    cuzk_status status = zk_c1_verify(&vanilla, c1_of(job), pool, err);
    if (status == CUZK_CHECK_FAILED) {
        failure->check = zk_vanilla_check_name(vanilla.check);
        describe(failure->at, sizeof failure->at, &vanilla);
    }
    return status;
}

static void publics(uint8_t (*publics)[32], const zk_job *job, uint32_t partition) {
    zk_porep_statement statement;
    zk_c1_statement(&statement, c1_of(job));
    zk_porep_public_inputs(publics, &statement, partition);
}

static cuzk_status hints(uint8_t (*hints)[32], size_t n_hints, const zk_job *job, uint32_t partition, cuzk_err *err) {
    zk_porep_input *input = NULL;
    ZK_TRY(zk_porep_input_create(&input, c1_of(job), partition, err));
    cuzk_status status = zk_porep_hints(hints, n_hints, job->sector_bytes, &input->partition, err);
    free(input);
    return status;
}

static void challenges(uint64_t *challenges, size_t *n, size_t max, const zk_job *job, uint32_t partition) {
    zk_porep_statement statement;
    zk_c1_statement(&statement, c1_of(job));
    zk_challenge_set set;
    uint32_t per_partition = statement.seal->n_challenges;
    zk_challenge_set_init(&set, statement.seal->feature, statement.seal->sector_bytes / 32, statement.replica_id,
                          statement.comm_r, statement.seed);
    *n = per_partition;
    uint32_t wanted = per_partition < max ? per_partition : (uint32_t)max;
    zk_challenge_set_get(challenges, partition * per_partition, wanted, &set);
}

static size_t facts(zk_job_fact facts[ZK_JOB_MAX_FACTS], const zk_job *job) {
    const zk_c1 *c1 = c1_of(job);
    size_t n = 0;
    facts[n++] = (zk_job_fact){"comm_d", c1->comm_d, 1, 32, false};
    facts[n++] = (zk_job_fact){"comm_r", c1->comm_r, 1, 32, false};
    facts[n++] = (zk_job_fact){"replica_id", c1->replica_id, 1, 32, false};
    facts[n++] = (zk_job_fact){"ticket", c1->ticket, 1, 32, false};
    facts[n++] = (zk_job_fact){"seed", c1->seed, 1, 32, false};
    return n;
}

const zk_kind_ops zk_kind_porep = {
    .kind = ZK_KIND_POREP,
    .program = zk_porep_program,
    .identifier = identifier,
    .check_head = check_head,
    .open = open_request,
    .close = close_job,
    .check = check,
    .publics = publics,
    .hints = hints,
    .challenges = challenges,
    .facts = facts,
};
