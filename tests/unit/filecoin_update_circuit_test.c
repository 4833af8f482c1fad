/* Sector updates in the circuit: witnesses, what each altered value breaks, and updates as jobs. */
#include "base/alloc.h"
#include "filecoin/job.h"
#include "update_witness.h"

static void test_witness_real_2k(void) { check_update_witness("real-2048", 0, true); }
static void test_witness_auto_2k(void) { check_update_witness("auto-2048", 0, true); }
static void test_witness_4k(void) { check_update_witness("real-4096", 0, true); }

/* ---- what an altered value breaks ---- */

/* Rows that do not hold: their number, and the first few. */
static size_t broken_rows(update_run *u, uint32_t *first, size_t max) {
    size_t n = 0;
    update_eval(u);
    for (uint32_t i = 0; i < u->r.p->n_rows; i++) {
        zk_fr ab;
        zk_fr_mul(&ab, &u->r.abc[0][i], &u->r.abc[1][i]);
        if (zk_fr_eq(&ab, &u->r.abc[2][i])) continue;
        if (n < max) first[n] = i;
        n++;
    }
    return n;
}

/* The node or the position that a name stands for. */
static uint8_t *find_node(const update_case *c, const char *field, uint32_t **index) {
    const zk_update_shape *shape = &c->statement.shape;
    unsigned i = 0, level = 0, k = 0;
    char tree_name[16], what[32];
    int end = 0;
    *index = NULL;
    if (strcmp(field, "comm_c") == 0) return (uint8_t *)(uintptr_t)c->proof.comm_c;
    if (sscanf(field, "apex_leafs[%u]", &i) == 1) return c->proof.nodes[i];
    ZK_CHECKF(sscanf(field, "challenge_proofs[%u].proof_%5[a-z_].%n", &i, tree_name, &end) == 2 && end, "%s", field);
    zk_update_tree tree = strcmp(tree_name, "r_old") == 0   ? ZK_UPDATE_OLD
                          : strcmp(tree_name, "d_new") == 0 ? ZK_UPDATE_DATA
                                                            : ZK_UPDATE_NEW;
    zk_opening_view path = zk_update_proof_path(&c->proof, shape, i, tree);
    field += end;
    if (strcmp(field, "root") == 0) return path.root;
    if (strcmp(field, "leaf") == 0) return path.leaf;
    ZK_CHECKF(sscanf(field, "base[%u].%31[a-z]", &level, what) == 2, "%s", field);
    if (strcmp(what, "index") == 0) {
        *index = &path.index[level];
        return NULL;
    }
    ZK_CHECKF(sscanf(field, "base[%u].hashes[%u]", &level, &k) == 2, "%s", field);
    for (uint32_t l = 0; l < level; l++) k += zk_update_tree_arity(shape, tree, l) - 1;
    return path.siblings[k];
}

/* The reference's list: of each change, whether the circuit still holds, and if not, in which rows not. Where the
 * reference gives up before it has an assignment, the vanilla check alone decides. */
static void test_altered_values(void) {
    update_run u;
    update_run_open(&u, "real-2048", 0, true);
    update_case *c = &u.c;
    zk_json_doc *bad = load_update_json("bad-real-2048-p0");
    const zk_json_value *list = get(zk_json_root(bad), "circuit");
    size_t n_compared = 0;
    for (size_t k = 0; k < zk_json_count(list); k++) {
        const zk_json_value *entry = zk_json_element_of(list, k);
        const char *change = get_text(entry, "change");
        size_t n_field = strcspn(change, ":");
        bool none = change[n_field] == 0;
        zk_update_statement s = c->statement;
        zk_update_failure failure;
        uint32_t *index = NULL, first[8];
        uint8_t *node = NULL;
        char field[128];
        snprintf(field, sizeof field, "%.*s", (int)n_field, change);
        if (strncmp(field, "public ", 7) == 0)
            node = strcmp(field + 7, "comm_d_new") == 0   ? s.comm_d_new
                   : strcmp(field + 7, "comm_r_old") == 0 ? s.comm_r_old
                                                          : s.comm_r_new;
        else if (!none)
            node = find_node(c, field, &index);
        if (node) node[0] ^= 1;
        if (index) *index ^= 1;
        cuzk_status status = zk_update_verify(&failure, &s, &c->proof, 0, 1, u.pool, NULL);
        ZK_CHECKF((status == CUZK_OK) == (strcmp(get_text(entry, "vanilla"), "valid") == 0), "%s", change);
        if (!zk_json_member_of(entry, "synthesis")) {
            const zk_json_value *rows = get(entry, "first");
            update_assign(&u, &s, &c->proof);
            size_t n = broken_rows(&u, first, 8);
            ZK_CHECKF(n == get_u64(entry, "unsatisfied_constraints"), "%s: %zu rows", change, n);
            ZK_CHECK(zk_json_count(rows) == (n < 8 ? n : 8));
            for (size_t i = 0; i < zk_json_count(rows); i++)
                ZK_CHECKF(first[i] == u64_of(zk_json_element_of(rows, i)), "%s: row %u", change, first[i]);
            n_compared++;
        }
        if (node) node[0] ^= 1;
        if (index) *index ^= 1;
    }
    ZK_CHECK(n_compared == 13);
    zk_json_doc_destroy(bad);
    update_run_close(&u);
}

/* No variable is free: another value breaks a row. The evaluation is of the whole circuit, so only some are tried. */
static void test_disturbed_witness(void) {
    update_run u;
    update_run_open(&u, "real-2048", 0, true);
    const zk_program *p = u.r.p;
    uint32_t row[1];
    uint64_t seed = 1;
    update_assign(&u, &u.c.statement, &u.c.proof);
    ZK_CHECK(broken_rows(&u, row, 1) == 0);
    for (int k = 0; k < 14; k++) {
        uint32_t aux = (uint32_t)(zk_test_rand(&seed) % p->n_aux);
        if (k < 2)
            aux = k ? p->n_aux - 1 : 0;
        else if (k < 10)
            aux = zk_program_wide_aux(p, (uint32_t)(zk_test_rand(&seed) % p->n_wide));
        aux_disturb(p, &u.r.w, aux);
        ZK_CHECKF(broken_rows(&u, row, 1) > 0, "aux %u is free", aux);
        aux_restore(p, &u.r.w, aux);
    }
    for (uint32_t i = 1; i < p->n_inputs; i++) {
        zk_fr_add(&u.r.w.inputs[i], &u.r.w.inputs[i], &zk_fr_one);
        ZK_CHECKF(broken_rows(&u, row, 1) > 0, "input %u is free", i);
        zk_fr_sub(&u.r.w.inputs[i], &u.r.w.inputs[i], &zk_fr_one);
    }
    update_run_close(&u);
}

/* Hints are counted. */
static void test_hint_room(void) {
    update_case c;
    zk_program *p = NULL;
    cuzk_err err = {0};
    case_load(&c, "real-2048", 0);
    ZK_CHECK_OK(zk_update_program(&p, 2048, &err), err);
    uint8_t(*hints)[32] = malloc((p->n_hints + (size_t)1) * 32);
    ZK_CHECK(hints);
    ZK_CHECK(zk_update_proof_hints(hints, p->n_hints - 1, &c.statement, 0, &c.proof, NULL) == CUZK_INTERNAL);
    ZK_CHECK(zk_update_proof_hints(hints, p->n_hints + 1, &c.statement, 0, &c.proof, NULL) == CUZK_INTERNAL);
    ZK_CHECK_OK(zk_update_proof_hints(hints, p->n_hints, &c.statement, 0, &c.proof, &err), err);
    free(hints);
    zk_program_destroy(p);
    case_free(&c);
}

/* ---- jobs ---- */

typedef struct job_case {
    update_case c[4];
    zk_blob proofs[4];
    zk_request request;
} job_case;

static void job_case_open(job_case *j, const char *sample, uint32_t n_partitions, uint64_t registered_proof) {
    memset(j, 0, sizeof *j);
    for (uint32_t k = 0; k < n_partitions; k++) {
        case_load(&j->c[k], sample, k);
        j->proofs[k] = (zk_blob){j->c[k].bytes, j->c[k].n};
    }
    zk_update_statement *s = &j->c[0].statement;
    j->request = (zk_request){.kind = ZK_KIND_UPDATE,
                              .sector_bytes = s->shape.sector_bytes,
                              .registered_proof = registered_proof,
                              .sector_number = 77,
                              .miner_id = 1000,
                              .vanilla_proofs = j->proofs,
                              .n_vanilla_proofs = n_partitions,
                              .comm_r_old = {s->comm_r_old, 32},
                              .comm_r_new = {s->comm_r_new, 32},
                              .comm_d_new = {s->comm_d_new, 32}};
}

static void job_case_close(job_case *j) {
    for (size_t k = 0; k < j->request.n_vanilla_proofs; k++) case_free(&j->c[k]);
}

static void test_job(void) {
    job_case j;
    zk_job *job = NULL;
    cuzk_err err = {0};
    zk_job_failure failure;
    job_case_open(&j, "real-8388608", 4, 1);
    ZK_CHECK_OK(zk_job_from_request(&job, &j.request, &err), err);
    ZK_CHECK(job->kind == ZK_KIND_UPDATE && job->n_partitions == 4 && job->n_publics == 4 &&
             job->sector_bytes == 8 << 20);
    ZK_CHECK(job->has_miner && job->miner == 1000 && job->has_sector && job->sector == 77);
    ZK_CHECK(strcmp(job->registered_name, "StackedDrg8MiBV1") == 0 && job->registered_number == 1);
    ZK_CHECK_OK(zk_job_check(&failure, job, NULL, &err), err);
    ZK_CHECK(!failure.check);
    const zk_json_value *proofs = get(zk_json_root(j.c[0].doc), "partition_proofs");
    for (uint32_t k = 0; k < 4; k++) {
        const zk_json_value *v = zk_json_element_of(proofs, k);
        uint8_t publics[4][32], want[32];
        uint64_t challenges[3];
        size_t n = 0;
        zk_job_publics(publics, job, k);
        for (size_t i = 0; i < 4; i++) {
            hex_of(want, 32, zk_json_element_of(get(v, "public_inputs"), i));
            ZK_CHECK_MEM(publics[i], want, 32);
        }
        zk_job_challenges(challenges, &n, 3, job, k);
        ZK_CHECK(n == 10);
        for (size_t i = 0; i < 3; i++) ZK_CHECK(challenges[i] == u64_of(zk_json_element_of(get(v, "challenges"), i)));
    }
    char identifier[ZK_IDENTIFIER_MAX];
    ZK_CHECK_OK(zk_job_identifier(identifier, job, &err), err);
    zk_json_doc *circuit = load_json("circuits/update-8388608.json");
    ZK_CHECK(strcmp(identifier, get_text(zk_json_root(circuit), "cache_id")) == 0);
    zk_json_doc_destroy(circuit);
    zk_job_fact facts[ZK_JOB_MAX_FACTS];
    size_t n_facts = zk_job_facts(facts, job);
    const zk_json_value *commitments = get(zk_json_root(j.c[0].doc), "commitments");
    ZK_CHECK(n_facts == 6);
    for (size_t i = 0; i < n_facts; i++) {
        uint8_t want[32];
        get_node(want, commitments, facts[i].name);
        ZK_CHECK_MEM(facts[i].first, want, 32);
    }
    uint8_t hint[1][32];
    ZK_CHECK(zk_job_hints(hint, 1, job, 4, NULL) == CUZK_USAGE);
    zk_job_destroy(job);

    /* A check that fails is named with its place. */
    cuzk_err failed = {0};
    j.c[2].bytes[40] ^= 1; /* the first apex leaf */
    ZK_CHECK_OK(zk_job_from_request(&job, &j.request, &err), err);
    ZK_CHECK(zk_job_check(&failure, job, NULL, &failed) == CUZK_CHECK_FAILED);
    ZK_CHECKF(strncmp(failure.check, "apex_", 5) == 0 && strncmp(failure.at, "partition 2, challenge ", 23) == 0,
              "%s at %s", failure.check, failure.at);
    zk_job_destroy(job);
    job_case_close(&j);
}

/* What a request states beside its proofs. */
static void test_job_refused(void) {
    job_case j;
    uint8_t too_large[32];
    memset(too_large, 0xff, sizeof too_large);
    job_case_open(&j, "real-2048", 1, 0);
    const zk_request good = j.request;
    zk_request r[11];
    static const char *const expected[] = {"registered_proof: found 5",
                                           "sector_size: found 4096",
                                           "vanilla_proofs: found 0 entries, expected 1",
                                           "vanilla_proofs: found 2 entries, expected 1",
                                           "vanilla_proof: found 1 bytes",
                                           "partition_index: found 1",
                                           "comm_r_old: found 31 bytes, expected 32",
                                           "comm_r_new: found 33 bytes, expected 32",
                                           "comm_d_new: found 0 bytes, expected 32",
                                           "comm_d_new: found ffffffff",
                                           "vanilla_proofs[0]: found 15063 bytes, expected 15064"};
    for (size_t i = 0; i < 11; i++) r[i] = good;
    r[0].registered_proof = 5;
    r[1].sector_bytes = 4096;
    r[2].n_vanilla_proofs = 0;
    r[3].n_vanilla_proofs = 2;
    r[4].vanilla_proof = (zk_blob){too_large, 1};
    r[5].partition_index = 1;
    r[6].comm_r_old.n = 31;
    r[7].comm_r_new.n = 33;
    r[8].comm_d_new = (zk_blob){NULL, 0};
    r[9].comm_d_new.data = too_large;
    zk_blob shorter = {j.c[0].bytes, j.c[0].n - 1};
    r[10].vanilla_proofs = &shorter;
    for (size_t i = 0; i < 11; i++) {
        zk_job *job = NULL;
        cuzk_err err = {0};
        ZK_CHECKF(zk_job_from_request(&job, &r[i], &err) == CUZK_BAD_INPUT && !job, "%s", expected[i]);
        ZK_CHECKF(strncmp(err.message, expected[i], strlen(expected[i])) == 0, "%s", err.message);
    }
    job_case_close(&j);
}

/* Each allocation fails in turn: that is reported, and nothing leaks. */
static void test_out_of_memory(void) {
    job_case j;
    uint64_t n = 0;
    job_case_open(&j, "real-2048", 1, 0);
    for (bool done = false; !done; n++) {
        zk_job *job = NULL;
        cuzk_err err = {0};
        zk_job_failure failure;
        zk_alloc_fail_nth(n + 1);
        cuzk_status status = zk_job_from_request(&job, &j.request, &err);
        if (status == CUZK_OK) status = zk_job_check(&failure, job, NULL, &err);
        done = !zk_alloc_failed();
        zk_alloc_fail_nth(0);
        ZK_CHECKF(status == (done ? CUZK_OK : CUZK_OUT_OF_MEMORY), "allocation %" PRIu64 ": %s", n, err.message);
        zk_job_destroy(job);
    }
    ZK_CHECK(n > 4);
    job_case_close(&j);
}

ZK_TEST_MAIN(ZK_CASE(test_out_of_memory), ZK_CASE(test_witness_real_2k), ZK_CASE(test_witness_auto_2k),
             ZK_CASE(test_witness_4k), ZK_CASE(test_altered_values), ZK_CASE(test_disturbed_witness),
             ZK_CASE(test_hint_room), ZK_CASE(test_job), ZK_CASE(test_job_refused))
