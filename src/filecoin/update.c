/* The kind sector update (SnapDeals): the rules, and a request as a job. */
#include "filecoin/update.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "filecoin/bincode.h"
#include "filecoin/kinds.h"
#include "hash/poseidon.h"

#define DEFAULT_H 3 /* the place, in the list of allowed values, of the h that provers use */

/* ---- rules ---- */

/* G(a, b) */
static cuzk_status derive(zk_fr *out, const zk_fr *a, const zk_fr *b, cuzk_err *err) {
    const zk_poseidon_params *pair = zk_poseidon_get(2);
    zk_fr tag, in[2] = {*a, *b};
    if (!pair) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "poseidon: no memory for the constants of arity 2");
    zk_fr_from_u64(&tag, ZK_UPDATE_RANDOMNESS_TAG);
    zk_poseidon_hash_tagged(out, pair, &tag, in);
    return CUZK_OK;
}

static cuzk_status element(zk_fr *out, const uint8_t bytes[32], const char *name, cuzk_err *err) {
    if (zk_fr_from_bytes_le(out, bytes)) return CUZK_OK;
    char hex[65];
    zk_hex_encode(hex, bytes, 32);
    return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %s, expected a field element (below r, little-endian)", name, hex);
}

cuzk_status zk_update_phi(zk_fr *phi, const uint8_t comm_d_new[32], const uint8_t comm_r_old[32], cuzk_err *err) {
    zk_fr d, r;
    ZK_TRY(element(&d, comm_d_new, "comm_d_new", err));
    ZK_TRY(element(&r, comm_r_old, "comm_r_old", err));
    return derive(phi, &d, &r, err);
}

cuzk_status zk_update_rho(zk_fr *rho, const zk_fr *phi, uint64_t high, cuzk_err *err) {
    zk_fr x;
    zk_fr_from_u64(&x, high);
    return derive(rho, phi, &x, err);
}

/* n bits from bit `at` on, n < 64. */
static uint64_t bits_of(const uint64_t limbs[4], uint32_t at, uint32_t n) {
    uint64_t v = limbs[at / 64] >> at % 64;
    if (at % 64 + n > 64) v |= limbs[at / 64 + 1] << (64 - at % 64);
    return v & ((UINT64_C(1) << n) - 1);
}

cuzk_status zk_update_challenges(uint64_t *challenges, const zk_update_shape *shape, const uint8_t comm_r_new[32],
                                 uint32_t partition, cuzk_err *err) {
    uint32_t n_bits = shape->challenge_bits;
    uint64_t limbs[4] = {0};
    zk_fr comm_r;
    ZK_TRY(element(&comm_r, comm_r_new, "comm_r_new", err));
    for (uint32_t i = 0; i < shape->n_challenges; i++) {
        uint32_t j = i / shape->challenges_per_digest, k = i % shape->challenges_per_digest;
        if (k == 0) {
            zk_fr number, digest;
            zk_fr_from_u64(&number, (uint64_t)partition * shape->n_digests + j);
            ZK_TRY(derive(&digest, &comm_r, &number, err));
            zk_fr_to_limbs(limbs, &digest);
        }
        challenges[i] = bits_of(limbs, k * n_bits, n_bits) | (uint64_t)partition << n_bits;
    }
    return CUZK_OK;
}

uint32_t zk_update_h_select(const zk_update_shape *shape, uint32_t h) {
    for (uint32_t i = 0; i < ZK_UPDATE_N_HS; i++)
        if (shape->hs[i] == h) return 1u << i;
    return 0;
}

cuzk_status zk_update_statement_init(zk_update_statement *s, uint64_t sector_bytes, const uint8_t comm_r_old[32],
                                     const uint8_t comm_d_new[32], const uint8_t comm_r_new[32], cuzk_err *err) {
    zk_fr unused;
    memset(s, 0, sizeof *s);
    ZK_TRY(zk_update_shape_get(&s->shape, sector_bytes, err));
    ZK_TRY(element(&unused, comm_r_old, "comm_r_old", err));
    ZK_TRY(element(&unused, comm_r_new, "comm_r_new", err));
    ZK_TRY(element(&unused, comm_d_new, "comm_d_new", err));
    s->h = s->shape.hs[DEFAULT_H];
    memcpy(s->comm_r_old, comm_r_old, 32);
    memcpy(s->comm_d_new, comm_d_new, 32);
    memcpy(s->comm_r_new, comm_r_new, 32);
    return CUZK_OK;
}

static uint64_t k_and_h_select(const zk_update_statement *s, uint32_t partition) {
    return partition + (uint64_t)zk_update_h_select(&s->shape, s->h) * zk_update_n_partitions(&s->shape);
}

void zk_update_publics(uint8_t (*publics)[32], const zk_update_statement *s, uint32_t partition) {
    memset(publics[0], 0, 32);
    zk_store_le64(publics[0], k_and_h_select(s, partition));
    memcpy(publics[1], s->comm_r_old, 32);
    memcpy(publics[2], s->comm_d_new, 32);
    memcpy(publics[3], s->comm_r_new, 32);
}

cuzk_status zk_update_proof_hints(uint8_t (*hints)[32], size_t n_hints, const zk_update_statement *s,
                                  uint32_t partition, const zk_update_proof *proof, cuzk_err *err) {
    const zk_update_shape *shape = &s->shape;
    zk_update_opening openings[ZK_UPDATE_MAX_CHALLENGES];
    zk_opening_view path[ZK_UPDATE_N_TREES];
    zk_update_partition p = {.k_and_h_select = k_and_h_select(s, partition),
                             .comm_r_old = s->comm_r_old,
                             .comm_d_new = s->comm_d_new,
                             .comm_r_new = s->comm_r_new,
                             .comm_c = proof->comm_c,
                             .apex_leaves = (const uint8_t(*)[32])proof->nodes,
                             .openings = openings};
    for (uint32_t i = 0; i < shape->n_challenges; i++) {
        for (unsigned t = 0; t < ZK_UPDATE_N_TREES; t++)
            path[t] = zk_update_proof_path(proof, shape, i, (zk_update_tree)t);
        openings[i] = (zk_update_opening){.old_leaf = path[ZK_UPDATE_OLD].leaf,
                                          .data_leaf = path[ZK_UPDATE_DATA].leaf,
                                          .old_siblings = (const uint8_t(*)[32])path[ZK_UPDATE_OLD].siblings,
                                          .new_siblings = (const uint8_t(*)[32])path[ZK_UPDATE_NEW].siblings,
                                          .data_siblings = (const uint8_t(*)[32])path[ZK_UPDATE_DATA].siblings};
        if (i > 0) continue;
        p.comm_r_last_old = path[ZK_UPDATE_OLD].root;
        p.comm_r_last_new = path[ZK_UPDATE_NEW].root;
        p.partition_path = openings[0].data_siblings + shape->apex_height + shape->apex_bits;
    }
    return zk_update_hints(hints, n_hints, shape->sector_bytes, &p, err);
}

/* ---- one request ---- */

typedef struct update_input {
    zk_update_statement statement;
    uint32_t n_proofs; /* one a partition */
    zk_update_proof proofs[];
} update_input;

static const update_input *input_of(const zk_job *job) { return job->input; }

static cuzk_status identifier(char out[ZK_IDENTIFIER_MAX], uint64_t sector_bytes, cuzk_err *err) {
    zk_update_shape shape;
    ZK_TRY(zk_update_shape_get(&shape, sector_bytes, err));
    zk_update_identifier(out, sector_bytes);
    return CUZK_OK;
}

static cuzk_status check_head(zk_request_head *head, zk_request_use use, cuzk_err *err) {
    const zk_registered_update *t = zk_registered_update_by_number(head->registered_proof);
    zk_update_statement statement;
    if (!t)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "registered_proof: found %" PRIu64 ", expected 0 to %u for a sector update",
                       head->registered_proof, ZK_N_REGISTERED_UPDATES - 1);
    ZK_TRY(zk_request_check_size(head, t->name, t->sector_bytes, err));
    if (head->n_vanilla_bytes)
        return ZK_FAIL(err, CUZK_BAD_INPUT,
                       "vanilla_proof: found %" PRIu64
                       " bytes, a sector update has vanilla_proofs (one for each partition) alone",
                       head->n_vanilla_bytes);
    if (head->n_vanilla_proofs != t->n_partitions)
        return ZK_FAIL(err, CUZK_BAD_INPUT,
                       "vanilla_proofs: found %" PRIu64 " entries, expected %" PRIu32 ", one for each partition",
                       head->n_vanilla_proofs, t->n_partitions);
    if (head->partition_index)
        return ZK_FAIL(err, CUZK_BAD_INPUT,
                       "partition_index: found %" PRIu32 ", a sector update proves all partitions and has 0",
                       head->partition_index);
    ZK_TRY(zk_request_check_element(&head->comm_r_old, "comm_r_old", err));
    ZK_TRY(zk_request_check_element(&head->comm_r_new, "comm_r_new", err));
    ZK_TRY(zk_request_check_element(&head->comm_d_new, "comm_d_new", err));
    ZK_TRY(zk_update_statement_init(&statement, t->sector_bytes, head->comm_r_old.bytes, head->comm_d_new.bytes,
                                    head->comm_r_new.bytes, err));
    ZK_TRY(zk_request_check_entries(head, zk_update_proof_n_bytes(&statement.shape), err));
    return use == ZK_REQUEST_READ ? CUZK_OK : zk_update_require_statement(&statement, err);
}

static cuzk_status open_request(zk_job *job, const zk_request *request, cuzk_err *err) {
    const zk_registered_update *type = zk_registered_update_by_number(request->registered_proof);
    update_input *input = zk_calloc(1, sizeof *input + type->n_partitions * sizeof *input->proofs);
    if (!input)
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for %" PRIu32 " partition proofs", type->n_partitions);
    job->input = input;
    ZK_TRY(zk_update_statement_init(&input->statement, type->sector_bytes, request->comm_r_old.data,
                                    request->comm_d_new.data, request->comm_r_new.data, err));
    for (; input->n_proofs < type->n_partitions; input->n_proofs++) {
        const zk_blob *blob = &request->vanilla_proofs[input->n_proofs];
        zk_update_proof *proof = &input->proofs[input->n_proofs];
        cuzk_status status = zk_update_proof_read(proof, &input->statement.shape, blob->data, blob->n, err);
        if (status == CUZK_OK) {
            zk_passed_tell(&request->passed, blob->data, blob->n);
            continue;
        }
        zk_update_proof_free(proof);
        zk_err_prefix(err, "vanilla_proofs[%" PRIu32 "]", input->n_proofs);
        return status;
    }
    job->registered_name = type->name;
    job->registered_number = type->number;
    job->sector_bytes = type->sector_bytes;
    job->n_partitions = job->n_challenge_lists = type->n_partitions;
    job->n_publics = ZK_UPDATE_N_PUBLICS;
    return zk_job_expect(job, &request->miner_id, &request->sector_number, err);
}

static void close_job(zk_job *job) {
    update_input *input = job->input;
    for (uint32_t i = 0; input && i < input->n_proofs; i++) zk_update_proof_free(&input->proofs[i]);
    free(input);
}

static cuzk_status check(zk_job_failure *failure, const zk_job *job, zk_pool *pool, cuzk_err *err) {
    const update_input *input = input_of(job);
    zk_update_failure f;
    cuzk_status status = zk_update_verify(&f, &input->statement, input->proofs, 0, input->n_proofs, pool, err);
    if (status != CUZK_CHECK_FAILED) return status;
    const struct {
        const char *name;
        uint32_t value;
    } places[] = {{"partition", f.partition}, {"challenge", f.challenge}, {"level", f.level}};
    size_t n = 0, n_at = sizeof failure->at;
    failure->check = zk_update_check_name(f.check);
    for (size_t i = 0; i < sizeof places / sizeof *places && n < n_at; i++)
        if (places[i].value != ZK_UPDATE_NOWHERE)
            n += (size_t)snprintf(failure->at + n, n_at - n, "%s%s %" PRIu32, n ? ", " : "", places[i].name,
                                  places[i].value);
    return status;
}

static void publics(uint8_t (*publics)[32], const zk_job *job, uint32_t partition) {
    zk_update_publics(publics, &input_of(job)->statement, partition);
}

static cuzk_status hints(uint8_t (*hints)[32], size_t n_hints, const zk_job *job, uint32_t partition, cuzk_err *err) {
    const update_input *input = input_of(job);
    if (partition >= input->n_proofs)
        return ZK_FAIL(err, CUZK_USAGE, "partition %" PRIu32 " asked, there are %" PRIu32, partition, input->n_proofs);
    return zk_update_proof_hints(hints, n_hints, &input->statement, partition, &input->proofs[partition], err);
}

static void challenges(uint64_t *challenges, size_t *n, size_t max, const zk_job *job, uint32_t partition) {
    const zk_update_statement *s = &input_of(job)->statement;
    uint64_t all[ZK_UPDATE_MAX_CHALLENGES];
    *n = 0;
    if (zk_update_challenges(all, &s->shape, s->comm_r_new, partition, NULL) != CUZK_OK) return; /* for display only */
    *n = s->shape.n_challenges;
    memcpy(challenges, all, (*n < max ? *n : max) * sizeof *all);
}

static size_t facts(zk_job_fact facts[ZK_JOB_MAX_FACTS], const zk_job *job) {
    const update_input *input = input_of(job);
    const zk_update_statement *s = &input->statement;
    zk_opening_view old = zk_update_proof_path(&input->proofs[0], &s->shape, 0, ZK_UPDATE_OLD);
    zk_opening_view new = zk_update_proof_path(&input->proofs[0], &s->shape, 0, ZK_UPDATE_NEW);
    size_t n = 0;
    facts[n++] = (zk_job_fact){"comm_r_old", s->comm_r_old, 1, 32, false};
    facts[n++] = (zk_job_fact){"comm_d_new", s->comm_d_new, 1, 32, false};
    facts[n++] = (zk_job_fact){"comm_r_new", s->comm_r_new, 1, 32, false};
    facts[n++] = (zk_job_fact){"comm_c", input->proofs[0].comm_c, 1, 32, false};
    facts[n++] = (zk_job_fact){"comm_r_last_old", old.root, 1, 32, false};
    facts[n++] = (zk_job_fact){"comm_r_last_new", new.root, 1, 32, false};
    return n;
}

const zk_kind_ops zk_kind_update = {
    .kind = ZK_KIND_UPDATE,
    .program = zk_update_program,
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
