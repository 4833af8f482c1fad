/* Witnesses of sector updates against vectors/update/witness-SAMPLE-pK.json. */
#ifndef ZK_TEST_UPDATE_WITNESS_H
#define ZK_TEST_UPDATE_WITNESS_H

#include "gadget_run.h"
#include "program/digest.h"
#include "update_vectors.h"

typedef struct update_run {
    update_case c;
    gadget_run r;
    uint8_t (*hints)[32];
    zk_pool *pool;
} update_run;

static inline void update_run_open(update_run *u, const char *sample, uint32_t partition, bool evaluate) {
    cuzk_err err = {0};
    zk_program *p = NULL;
    memset(u, 0, sizeof *u);
    case_load(&u->c, sample, partition);
    ZK_CHECK_OK(zk_update_program(&p, u->c.statement.shape.sector_bytes, &err), err);
    ZK_CHECK((u->hints = malloc(p->n_hints * sizeof *u->hints)));
    run_alloc(&u->r, p, evaluate);
    ZK_CHECK_OK(zk_pool_create(&u->pool, 0, &err), err);
}

static inline void update_run_close(update_run *u) {
    zk_pool_destroy(u->pool);
    run_free(&u->r);
    free(u->hints);
    case_free(&u->c);
}

/* The assignment for a statement and a proof. */
static inline void update_assign(update_run *u, const zk_update_statement *s, const zk_update_proof *proof) {
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_update_proof_hints(u->hints, u->r.p->n_hints, s, u->c.partition, proof, &err), err);
    ZK_CHECK_OK(zk_program_witness(u->r.p, (const uint8_t(*)[32])u->hints, &u->r.w, u->pool, &err), err);
}

static inline void update_eval(update_run *u) {
    cuzk_err err = {0};
    gadget_run *r = &u->r;
    ZK_CHECK_OK(zk_program_eval(r->p, &r->w, r->abc[0], r->abc[1], r->abc[2], u->pool, &err), err);
}

/* Digest, first and last values, public inputs, and (evaluate) that every row holds. */
static inline void check_update_witness(const char *sample, uint32_t partition, bool evaluate) {
    update_run u;
    char name[128];
    cuzk_err err = {0};
    uint8_t found[32], want[32];
    zk_checkpoints checkpoints;
    update_run_open(&u, sample, partition, evaluate);
    const zk_program *p = u.r.p;
    update_assign(&u, &u.c.statement, &u.c.proof);
    snprintf(name, sizeof name, "witness-%s-p%" PRIu32, sample, partition);
    zk_json_doc *doc = load_update_json(name);
    const zk_json_value *witness = get(zk_json_root(doc), "witness");
    uint64_t every = get_u64(zk_json_root(doc), "rows_per_checkpoint");
    ZK_CHECK_OK(zk_witness_digest(found, &checkpoints, p, &u.r.w, (uint32_t)every, &err), err);
    const zk_json_value *expected = get(witness, "checkpoints_aux");
    ZK_CHECK(checkpoints.n == zk_json_count(expected));
    for (size_t i = 0; i < checkpoints.n; i++) {
        hex_of(want, 8, zk_json_element_of(expected, i));
        ZK_CHECKF(!memcmp(want, checkpoints.at[i], 8), "first difference in %" PRIu64 " .. %" PRIu64, i * every,
                  (i + 1) * every - 1);
    }
    zk_checkpoints_free(&checkpoints);
    get_node(want, witness, "sha256_aux");
    ZK_CHECK_MEM(found, want, 32);
    const zk_json_value *inputs = get(witness, "inputs");
    ZK_CHECK(zk_json_count(inputs) == p->n_inputs && p->n_inputs == 1 + ZK_UPDATE_N_PUBLICS);
    uint8_t publics[ZK_UPDATE_N_PUBLICS][32];
    zk_update_publics(publics, &u.c.statement, partition);
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        hex_of(want, 32, zk_json_element_of(inputs, i));
        zk_fr_to_bytes_le(found, &u.r.w.inputs[i]);
        ZK_CHECK_MEM(found, want, 32);
        if (i) ZK_CHECK_MEM(publics[i - 1], want, 32);
    }
    if (evaluate) {
        update_eval(&u);
        size_t row = zk_program_first_unsatisfied(u.r.abc[0], u.r.abc[1], u.r.abc[2], p->n_rows, u.pool);
        ZK_CHECKF(row == p->n_rows, "row %zu of %u fails", row, p->n_rows);
    }
    zk_json_doc_destroy(doc);
    update_run_close(&u);
}

#endif
