/* The PoRep circuits against the reference: structure, witness, and that nothing in them is free. */
#include "circuit_c1.h"
#include "gadget_run.h"

static void test_structure_2k(void) { check_porep_structure(2048); }
static void test_structure_4k(void) { check_porep_structure(4096); }
static void test_structure_32k(void) { check_porep_structure(32768); }
static void test_structure_8m(void) { check_porep_structure(UINT64_C(8) << 20); }
static void test_structure_512m(void) { check_porep_structure(UINT64_C(512) << 20); }

/* Sizes without a vector: they exist, their tables are sound. */
static void test_other_sizes(void) {
    static const struct {
        uint64_t bytes;
        uint32_t base, nodes, hashes, comm_d;
    } sizes[] = {{16384, 2, 3, 21, 9},
                 {UINT64_C(16) << 20, 6, 7, 43, 19},
                 {UINT64_C(1) << 30, 8, 9, 57, 25},
                 {UINT64_C(64) << 30, 9, 11, 71, 31}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        zk_porep_shape shape;
        cuzk_err err = {0};
        ZK_CHECK_OK(zk_porep_shape_get(&shape, sizes[i].bytes, &err), err);
        ZK_CHECK(shape.tree.n_base == sizes[i].base && shape.tree.n_nodes == sizes[i].nodes &&
                 shape.tree.n_siblings == sizes[i].hashes && shape.n_data_nodes == sizes[i].comm_d);
    }
    zk_program *p = NULL;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_porep_program(&p, UINT64_C(64) << 30, &err), err);
    ZK_CHECK(p->n_inputs == 4 + 18 * 18);
    /* The schedule: every instance once, what an instance needs is made in an earlier level. */
    uint32_t *level = calloc(p->n_instances, sizeof *level);
    ZK_CHECK(level && p->level_start[0] == 0 && p->level_start[p->n_levels] == p->n_instances);
    for (uint32_t k = 0; k < p->n_levels; k++)
        for (uint32_t i = p->level_start[k]; i < p->level_start[k + 1]; i++) {
            ZK_CHECK(level[p->order[i]] == 0);
            level[p->order[i]] = k + 1;
        }
    for (uint32_t i = 0; i < p->n_instances; i++) {
        const zk_instance *x = &p->instances[i];
        const zk_template *t = &p->templates[x->template_id];
        uint32_t owner = 0;
        ZK_CHECK(level[i]);
        for (uint32_t k = 0; k < t->n_ports; k++) {
            zk_var v = zk_program_port_var(p, p->ports[x->first_port + k]);
            if (v & ZK_VAR_INPUT) continue; /* this circuit reads no inputs */
            const zk_instance *o = &p->instances[owner];
            if (v < o->first_aux || v >= o->first_aux + p->templates[o->template_id].n_aux) {
                uint32_t lo = 0, hi = i;
                while (hi - lo > 1) {
                    uint32_t mid = (lo + hi) / 2;
                    if (p->instances[mid].first_aux <= v)
                        lo = mid;
                    else
                        hi = mid;
                }
                owner = lo;
            }
            ZK_CHECKF(level[owner] < level[i], "instance %u needs %u", i, owner);
        }
    }
    free(level);
    zk_program_destroy(p);
    ZK_CHECK(zk_porep_program(&p, 1024, &err) == CUZK_UNSUPPORTED && !p);
    ZK_CHECKF(strstr(err.message, "1024"), "%s", err.message);
    ZK_CHECK(zk_porep_program(&p, UINT64_C(128) << 30, NULL) == CUZK_UNSUPPORTED);
}

/* ---- witness ---- */

typedef struct sealed {
    gadget_run r;
    uint8_t (*hints)[32];
    zk_json_doc *vector;
    const zk_json_value *partition; /* in vector */
} sealed;

static void sealed_load(sealed *s, const char *name, uint64_t sector_bytes) {
    char path[128];
    cuzk_err err = {0};
    zk_program *p = NULL;
    c1_values c1;
    snprintf(path, sizeof path, "porep/seal-%s.c1.json", name);
    zk_json_doc *doc = load_json(path);
    c1_load(&c1, zk_json_root(doc), 0);
    zk_json_doc_destroy(doc);
    snprintf(path, sizeof path, "porep/seal-%s.json", name);
    s->vector = load_json(path);
    s->partition = zk_json_element_of(zk_json_member_of(zk_json_root(s->vector), "partitions"), 0);
    ZK_CHECK_OK(zk_porep_program(&p, sector_bytes, &err), err);
    ZK_CHECK((s->hints = malloc(p->n_hints * sizeof *s->hints)));
    ZK_CHECK(zk_porep_hints(s->hints, p->n_hints - 1, sector_bytes, &c1.partition, NULL) == CUZK_INTERNAL);
    ZK_CHECK_OK(zk_porep_hints(s->hints, p->n_hints, sector_bytes, &c1.partition, &err), err);
    c1_free(&c1);
    run_alloc(&s->r, p, true);
}

static void sealed_free(sealed *s) {
    run_free(&s->r);
    free(s->hints);
    zk_json_doc_destroy(s->vector);
}

static void check_witness(const char *name, uint64_t sector_bytes) {
    sealed s;
    cuzk_err err = {0};
    uint8_t sha256[32], want[32];
    zk_checkpoints checkpoints;
    sealed_load(&s, name, sector_bytes);
    run_witness(&s.r, (const uint8_t(*)[32])s.hints);
    const zk_json_value *witness = zk_json_member_of(s.partition, "witness");
    uint64_t every = get_u64(witness, "every");
    ZK_CHECK_OK(zk_witness_digest(sha256, &checkpoints, s.r.p, &s.r.w, (uint32_t)every, &err), err);
    check_checkpoints("aux", &checkpoints, zk_json_member_of(witness, "checkpoints_aux"), every);
    zk_checkpoints_free(&checkpoints);
    get_hex(want, 32, zk_json_member_of(witness, "sha256_aux"), "sha256_aux");
    ZK_CHECK_MEM(sha256, want, 32);
    const zk_json_value *inputs = zk_json_member_of(s.partition, "public_inputs");
    ZK_CHECK(zk_json_count(inputs) == s.r.p->n_inputs - 1);
    for (uint32_t i = 1; i < s.r.p->n_inputs; i++) {
        uint8_t found[32];
        get_hex(want, 32, zk_json_element_of(inputs, i - 1), "public_inputs");
        zk_fr_to_bytes_le(found, &s.r.w.inputs[i]);
        ZK_CHECKF(!memcmp(want, found, 32), "input %u", i);
    }
    run_satisfied(&s.r);
    sealed_free(&s);
}

static void test_witness_2k_v1(void) { check_witness("StackedDrg2KiBV1", 2048); }
static void test_witness_2k_v1_1(void) { check_witness("StackedDrg2KiBV1_1", 2048); }
static void test_witness_2k_synthetic(void) { check_witness("StackedDrg2KiBV1_1_Feat_SyntheticPoRep", 2048); }
static void test_witness_8m(void) { check_witness("StackedDrg8MiBV1_1", UINT64_C(8) << 20); }

/* Any number of threads gives the same assignment and the same rows. */
static void test_threads(void) {
    sealed s, other;
    cuzk_err err = {0};
    sealed_load(&s, "StackedDrg2KiBV1", 2048);
    sealed_load(&other, "StackedDrg2KiBV1", 2048);
    const zk_program *p = s.r.p;
    run_witness(&s.r, (const uint8_t(*)[32])s.hints);
    run_satisfied(&s.r);
    for (unsigned n = 1; n <= 5; n += 2) {
        zk_pool *pool = NULL;
        gadget_run *r = &other.r;
        ZK_CHECK_OK(zk_pool_create(&pool, n, &err), err);
        memset(r->w.bits, 0x5a, (p->n_aux + (size_t)63) / 64 * 8);
        ZK_CHECK_OK(zk_program_witness(p, (const uint8_t(*)[32])s.hints, &r->w, pool, &err), err);
        ZK_CHECK_MEM(r->w.bits, s.r.w.bits, (p->n_aux + (size_t)63) / 64 * 8);
        ZK_CHECK_MEM(r->w.wide, s.r.w.wide, p->n_wide * sizeof(zk_fr));
        ZK_CHECK_MEM(r->w.inputs, s.r.w.inputs, p->n_inputs * sizeof(zk_fr));
        ZK_CHECK_OK(zk_program_eval(p, &r->w, r->abc[0], r->abc[1], r->abc[2], pool, &err), err);
        for (int m = 0; m < 3; m++) ZK_CHECK_MEM(r->abc[m], s.r.abc[m], p->n_rows * sizeof(zk_fr));
        /* One matrix alone, at an address that is not aligned. */
        uint8_t *odd = malloc(p->n_rows * sizeof(zk_fr) + 64);
        ZK_CHECK(odd);
        zk_fr *b = (zk_fr *)(((uintptr_t)odd + 15) / 16 * 16 + 8);
        ZK_CHECK_OK(zk_program_eval(p, &r->w, NULL, b, NULL, pool, &err), err);
        ZK_CHECK_MEM(b, s.r.abc[1], p->n_rows * sizeof(zk_fr));
        free(odd);
        zk_pool_destroy(pool);
    }
    sealed_free(&other);
    sealed_free(&s);
}

typedef struct naive {
    const zk_program *p;
    const zk_fr *aux, *inputs, *found;
} naive;

static void check_row(void *ctx, uint32_t row, const zk_row_term *terms, size_t n) {
    const naive *x = ctx;
    zk_fr sum = zk_fr_zero;
    for (size_t i = 0; i < n; i++) {
        zk_fr v = terms[i].var & ZK_VAR_INPUT ? x->inputs[terms[i].var & ~ZK_VAR_INPUT] : x->aux[terms[i].var];
        zk_fr_mul(&v, &v, &x->p->coefs[terms[i].coef]);
        zk_fr_add(&sum, &sum, &v);
    }
    ZK_CHECKF(zk_fr_eq(&sum, &x->found[row]), "row %u", row);
}

/* Every row, term by term. */
static void test_eval_against_walk(void) {
    sealed s;
    cuzk_err err = {0};
    sealed_load(&s, "StackedDrg2KiBV1_1", 2048);
    const zk_program *p = s.r.p;
    run_witness(&s.r, (const uint8_t(*)[32])s.hints);
    run_satisfied(&s.r);
    zk_fr *aux = malloc(p->n_aux * sizeof *aux);
    ZK_CHECK(aux);
    uint32_t slot = 0;
    for (uint32_t i = 0; i < p->n_aux; i++) {
        if (slot < p->n_wide && zk_program_wide_aux(p, slot) == i)
            aux[i] = s.r.w.wide[slot++];
        else
            zk_fr_from_u64(&aux[i], s.r.w.bits[i / 64] >> (i % 64) & 1);
    }
    for (unsigned m = 0; m < 3; m++) {
        naive x = {p, aux, s.r.w.inputs, s.r.abc[m]};
        ZK_CHECK_OK(zk_program_walk(p, m, 0, p->n_instances, check_row, &x, &err), err);
    }
    free(aux);
    sealed_free(&s);
}

/* No variable is free: another value breaks a row. The evaluation is of the whole circuit, so only some are tried: the
 * first, the last, and some in all kinds of gadgets. */
static void test_disturbed_witness(void) {
    sealed s;
    sealed_load(&s, "StackedDrg2KiBV1", 2048);
    const zk_program *p = s.r.p;
    run_witness(&s.r, (const uint8_t(*)[32])s.hints);
    uint64_t seed = 1;
    for (int k = 0; k < 16; k++) {
        uint32_t aux = (uint32_t)(zk_test_rand(&seed) % p->n_aux);
        if (k < 2)
            aux = k ? p->n_aux - 1 : 0;
        else if (k < 12)
            aux = zk_program_wide_aux(p, (uint32_t)(zk_test_rand(&seed) % p->n_wide));
        aux_disturb(p, &s.r.w, aux);
        ZK_CHECKF(run_check(&s.r) < p->n_rows, "aux %u is free", aux);
        aux_restore(p, &s.r.w, aux);
    }
    for (uint32_t i = 1; i < p->n_inputs; i += 11) {
        zk_fr_add(&s.r.w.inputs[i], &s.r.w.inputs[i], &zk_fr_one);
        ZK_CHECKF(run_check(&s.r) < p->n_rows, "input %u is free", i);
        zk_fr_sub(&s.r.w.inputs[i], &s.r.w.inputs[i], &zk_fr_one);
    }
    run_satisfied(&s.r);
    sealed_free(&s);
}

/* Hints from an altered sector are a witness that does not satisfy. */
static void test_altered_hint(void) {
    sealed s;
    sealed_load(&s, "StackedDrg2KiBV1", 2048);
    uint64_t seed = 2;
    for (int k = 0; k < 6; k++) {
        uint32_t i = k ? (uint32_t)(zk_test_rand(&seed) % s.r.p->n_hints) : 0;
        s.hints[i][0] ^= 1;
        run_witness(&s.r, (const uint8_t(*)[32])s.hints);
        ZK_CHECKF(run_check(&s.r) < s.r.p->n_rows, "hint %u", i);
        s.hints[i][0] ^= 1;
    }
    sealed_free(&s);
}

ZK_TEST_MAIN(ZK_CASE(test_structure_2k), ZK_CASE(test_structure_4k), ZK_CASE(test_structure_32k),
             ZK_CASE(test_structure_8m), ZK_CASE(test_structure_512m), ZK_CASE(test_other_sizes),
             ZK_CASE(test_witness_2k_v1), ZK_CASE(test_witness_2k_v1_1), ZK_CASE(test_witness_2k_synthetic),
             ZK_CASE(test_witness_8m), ZK_CASE(test_threads), ZK_CASE(test_eval_against_walk),
             ZK_CASE(test_disturbed_witness), ZK_CASE(test_altered_hint))
