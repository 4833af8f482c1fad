/* Recorder, builder, walking, evaluation and explicit rows, on circuits small enough to write down. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/json_dom.h"
#include "base/pool.h"
#include "gadget_run.h"
#include "hash/poseidon.h"
#include "program/defined.h"
#include "program/digest.h"
#include "program/explicit.h"

/* ---- the recorder ---- */

/* Port 1: bit, port 2: wide. Rows chosen to try merging, order and classes. */
static void record_rows(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out, size_t n_out) {
    (void)param, (void)n_in, (void)n_out;
    zk_lit wide = zk_rec_wides(rec, 1), bit = zk_rec_bits(rec, 1), input = zk_rec_input(rec);
    zk_lc *a = zk_rec_a(rec), *b = zk_rec_b(rec), *c = zk_rec_c(rec);
    /* Row 0: terms come in reverse, bit twice, a port cancels. */
    zk_lc_add_int(rec, a, bit, 1);
    zk_lc_add_int(rec, a, wide, 2);
    zk_lc_add_int(rec, a, in[1], 1);
    zk_lc_add_int(rec, a, in[0], 4);
    zk_lc_add_int(rec, a, input, -1);
    zk_lc_add_int(rec, a, zk_lit_not(bit), -2); /* -2 + 2 bit */
    zk_lc_add_int(rec, a, in[0], -4);
    /* B: only bits. C: nothing, from terms that cancel. */
    zk_lc_add_int(rec, b, zk_lit_not(in[0]), 3);
    zk_lc_add_int(rec, b, ZK_LIT_FALSE, 4);
    zk_lc_add_int(rec, c, bit, 1);
    zk_lc_add_int(rec, c, bit, -1);
    zk_rec_row(rec);
    /* Row 1: bits with a coefficient that is not small, and sums of small ones that are. */
    zk_fr big;
    zk_fr_from_u64(&big, 1000);
    zk_lc_add(rec, a, bit, &big);
    for (int i = 0; i < 2; i++) zk_lc_add_int(rec, b, bit, 4);
    zk_lc_add_int(rec, c, bit, 4);
    zk_lc_add_int(rec, c, in[0], 4);
    zk_rec_row(rec);
    out[0] = wide;
    out[1] = zk_lit_not(bit);
    out[2] = zk_lit_not(in[0]);
    out[3] = ZK_LIT_FALSE;
    out[4] = input;
}
static const zk_gadget gadget_rows = {"rows", record_rows};

static void record_wide(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out, size_t n_out) {
    (void)param, (void)in, (void)n_in, (void)n_out;
    out[0] = zk_rec_wides(rec, 1);
    zk_rec_op(rec, (zk_op){.code = ZK_OP_HINT, .n = 1, .dst = zk_lit_var(out[0]), .a = zk_rec_hint(rec)});
}
static const zk_gadget gadget_wide = {"wide", record_wide};

static int coef_of(const zk_program *p, zk_term t) {
    for (int i = -10; i <= 10; i++) {
        zk_fr c;
        zk_fr_from_i64(&c, i);
        if (zk_fr_eq(&c, &p->coefs[t.coef])) return i;
    }
    return 1000;
}

static void check_row(const zk_program *p, const zk_matrix *m, uint32_t row, zk_row_class row_class, size_t n,
                      const int (*want)[2]) {
    ZK_CHECKF(m->row_class[row] == row_class, "row %u: class %d", row, m->row_class[row]);
    ZK_CHECKF(m->row[row + 1] - m->row[row] == n, "row %u: %u terms", row, m->row[row + 1] - m->row[row]);
    for (size_t i = 0; i < n; i++) {
        zk_term t = m->terms[m->row[row] + i];
        ZK_CHECKF((int)t.var == want[i][0] && coef_of(p, t) == want[i][1], "row %u term %zu: %d * %u", row, i,
                  coef_of(p, t), t.var);
    }
}

static void test_recorder_rows(void) {
    zk_builder *b = NULL;
    zk_program *p = NULL;
    cuzk_err err = {0};
    zk_cell bit, wide, out[5];
    ZK_CHECK_OK(zk_builder_create(&b, "test", &err), err);
    zk_builder_call(b, &gadget_test_bits, NULL, 0, NULL, 0, &bit, 1);
    zk_builder_call(b, &gadget_wide, NULL, 0, NULL, 0, &wide, 1);
    zk_builder_call(b, &gadget_rows, NULL, 0, (zk_cell[2]){bit, wide}, 2, out, 5);
    ZK_CHECK_OK(zk_builder_finish(&p, b, &err), err);
    zk_builder_destroy(b);
    /* Locals: 0 one, 1 bit port, 2 wide port, 3 input, 4 wide, 5 bit. */
    const zk_template *t = &p->templates[2];
    ZK_CHECK(t->n_ports == 2 && t->n_inputs == 1 && t->n_aux == 2 && t->n_wide == 1 && t->n_rows == 2);
    ZK_CHECK(t->wide[0] == 0 && t->wide_mask[0] == 1);
    ZK_CHECK_MEM(t->kind,
                 ((uint8_t[]){ZK_LOCAL_ONE, ZK_LOCAL_BIT, ZK_LOCAL_WIDE, ZK_LOCAL_INPUT, ZK_LOCAL_WIDE, ZK_LOCAL_BIT}),
                 6);
    check_row(p, &t->abc[0], 0, ZK_ROW_WIDE, 5, (const int[][2]){{0, -2}, {3, -1}, {2, 1}, {4, 2}, {5, 3}});
    check_row(p, &t->abc[1], 0, ZK_ROW_SMALL, 2, (const int[][2]){{0, 3}, {1, -3}});
    check_row(p, &t->abc[2], 0, ZK_ROW_ZERO, 0, NULL);
    check_row(p, &t->abc[0], 1, ZK_ROW_BITS, 1, (const int[][2]){{5, 1000}});
    check_row(p, &t->abc[1], 1, ZK_ROW_BITS, 1, (const int[][2]){{5, 8}});
    check_row(p, &t->abc[2], 1, ZK_ROW_SMALL, 2, (const int[][2]){{1, 4}, {5, 4}});
    /* Outputs in circuit terms. */
    ZK_CHECK(out[0] == (zk_cell)(ZK_PORT_WIDE | 1) << 1);
    ZK_CHECK(out[1] == ((zk_cell)(ZK_PORT_BIT | 3) << 1 | 1));
    ZK_CHECK(out[2] == (bit ^ 1));
    ZK_CHECK(out[3] == ZK_CELL_FALSE);
    ZK_CHECK(out[4] == (zk_cell)(ZK_PORT_INPUT | 1) << 1);
    ZK_CHECK(zk_program_wide_aux(p, 0) == 1 && zk_program_wide_aux(p, 1) == 2);
    ZK_CHECK(p->n_levels == 2 && p->level_start[1] == 2);
    zk_program_destroy(p);
}

/* Sorting long combinations: random variables with repeats, ports and some of the template's own that copy the first
 * ports, against a dense sum. */
enum { N_LONG = 700, N_OWN = 64, N_LONG_TERMS = 3000 };
static void record_long(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out, size_t n_out) {
    (void)out, (void)n_out;
    uint64_t seed = *(const uint64_t *)param;
    const zk_lit own = zk_rec_bits(rec, N_OWN);
    for (zk_lit i = 0; i < N_OWN; i++)
        zk_rec_op(rec, (zk_op){.code = ZK_OP_AND, .n = 1, .dst = zk_lit_var(own) + i, .a = in[i], .b = in[i]});
    for (int i = 0; i < N_LONG_TERMS; i++) {
        size_t k = zk_test_rand(&seed) % (n_in + N_OWN);
        zk_lit lit = k < n_in ? in[k] : own + 2 * (zk_lit)(k - n_in);
        lit ^= (zk_lit)(zk_test_rand(&seed) & 1);
        zk_lc_add_int(rec, zk_rec_a(rec), lit, (int)(zk_test_rand(&seed) % 9) - 4);
    }
    zk_rec_row(rec);
}
static const zk_gadget gadget_long = {"long", record_long};

static void test_recorder_long_rows(void) {
    zk_builder *b = NULL;
    cuzk_err err = {0};
    gadget_run r;
    zk_program *p = NULL;
    static zk_cell bits[N_LONG];
    uint8_t hints[3][32];
    uint64_t seed = 7, s = 99;
    ZK_CHECK_OK(zk_builder_create(&b, "test", &err), err);
    zk_builder_call(b, &gadget_test_bits, NULL, 0, NULL, 0, bits, N_LONG);
    zk_builder_call(b, &gadget_long, &seed, sizeof seed, bits, N_LONG, NULL, 0);
    ZK_CHECK_OK(zk_builder_finish(&p, b, &err), err);
    zk_builder_destroy(b);
    run_alloc(&r, p, true);
    for (size_t i = 0; i < sizeof hints; i++) hints[i / 32][i % 32] = (uint8_t)zk_test_rand(&s);
    run_witness(&r, (const uint8_t(*)[32])hints);
    (void)run_check(&r);
    int64_t sum = 0;
    for (int i = 0; i < N_LONG_TERMS; i++) {
        size_t k = zk_test_rand(&seed) % (N_LONG + N_OWN), neg = zk_test_rand(&seed) & 1;
        if (k >= N_LONG) k -= N_LONG;
        int coef = (int)(zk_test_rand(&seed) % 9) - 4;
        sum += coef * ((hints[k / 256][k % 256 / 8] >> (k % 8) & 1) ^ (int)neg);
    }
    zk_fr want;
    zk_fr_from_i64(&want, sum);
    ZK_CHECK(zk_fr_eq(&want, &r.abc[0][p->n_rows - 1]));
    const zk_matrix *m = &p->templates[1].abc[0];
    for (uint32_t i = 1; i < m->row[1]; i++) ZK_CHECK(m->terms[i - 1].var < m->terms[i].var);
    run_free(&r);
}

/* ---- templates and shapes ---- */

static void record_and(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out, size_t n_out) {
    (void)param, (void)n_in, (void)n_out;
    if (zk_lit_is_const(in[0])) {
        out[0] = in[0] == ZK_LIT_TRUE ? in[1] : ZK_LIT_FALSE;
        return;
    }
    out[0] = zk_rec_bits(rec, 1);
    zk_rec_op(rec, (zk_op){.code = ZK_OP_AND, .n = 1, .dst = zk_lit_var(out[0]), .a = in[0], .b = in[1]});
    zk_lc_add_int(rec, zk_rec_a(rec), in[0], 1);
    zk_lc_add_int(rec, zk_rec_b(rec), in[1], 1);
    zk_lc_add_int(rec, zk_rec_c(rec), out[0], 1);
    zk_rec_row(rec);
}
static const zk_gadget gadget_and = {"and", record_and};

static void collect_row(void *ctx, uint32_t row, const zk_row_term *terms, size_t n) {
    uint32_t *vars = ctx;
    if (row != 7) return; /* of the call with ports in descending order, below */
    for (size_t i = 0; i < n; i++) vars[i] = terms[i].var;
}

static void record_sum(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out, size_t n_out) {
    (void)param, (void)out, (void)n_out;
    for (size_t i = 0; i < n_in; i++) zk_lc_add_int(rec, zk_rec_a(rec), in[i], 1);
    zk_rec_row(rec);
}
static const zk_gadget gadget_sum = {"sum", record_sum};

static void test_builder_shapes(void) {
    zk_builder *b = NULL;
    zk_program *p = NULL;
    cuzk_err err = {0};
    zk_cell x[3], y[8];
    ZK_CHECK_OK(zk_builder_create(&b, "test", &err), err);
    zk_builder_call(b, &gadget_test_bits, NULL, 0, NULL, 0, x, 3); /* rows 0-2 */
    struct {
        zk_cell a, b;
        uint32_t template_id;
    } calls[] = {
        {x[0], x[1], 1},     /* new */
        {x[1], x[2], 1},     /* other variables, same shape */
        {x[2], x[0], 1},     /* descending order is the same shape */
        {x[0], x[1] ^ 1, 2}, /* negated */
        {x[0], x[0], 3},     /* equal */
        {x[0], x[0] ^ 1, 4}, /* equal but for the sign */
        {ZK_CELL_TRUE, x[0], 5}, {ZK_CELL_FALSE, x[0], 6},
    };
    for (size_t i = 0; i < 8; i++)
        zk_builder_call(b, &gadget_and, NULL, 0, (zk_cell[2]){calls[i].a, calls[i].b}, 2, &y[i], 1);
    ZK_CHECK(y[6] == x[0] && y[7] == ZK_CELL_FALSE);
    /* The parameter is part of the identity, also when it is longer; the row sums what came before, unsorted. */
    uint8_t one = 1, two[2] = {1, 0};
    zk_builder_call(b, &gadget_sum, &one, 1, (zk_cell[3]){y[0], x[2], ZK_CELL_TRUE}, 3, NULL, 0);
    zk_builder_call(b, &gadget_sum, two, 2, (zk_cell[3]){y[0], x[2], ZK_CELL_TRUE}, 3, NULL, 0);
    ZK_CHECK_OK(zk_builder_finish(&p, b, &err), err);
    zk_builder_destroy(b);
    for (size_t i = 0; i < 8; i++) ZK_CHECKF(p->instances[1 + i].template_id == calls[i].template_id, "call %zu", i);
    ZK_CHECK(p->instances[9].template_id == 7 && p->instances[10].template_id == 8 && p->n_templates == 9);
    /* One port each where both literals are of one variable. */
    ZK_CHECK(p->templates[3].n_ports == 1 && p->templates[4].n_ports == 1 && p->templates[1].n_ports == 2);
    ZK_CHECK(p->n_rows == 3 + 6 + 2 && p->instances[9].first_row == 9);
    zk_program_destroy(p);
}

static void test_walk_sorts(void) {
    zk_builder *b = NULL;
    zk_program *p = NULL;
    cuzk_err err = {0};
    zk_cell x[7];
    uint32_t vars[8] = {0};
    ZK_CHECK_OK(zk_builder_create(&b, "test", &err), err);
    zk_builder_call(b, &gadget_test_bits, NULL, 0, NULL, 0, x, 7); /* rows 0-6 */
    zk_builder_call(b, &gadget_sum, NULL, 0, (zk_cell[4]){x[5], x[2], ZK_CELL_TRUE, x[3]}, 4, NULL, 0);
    ZK_CHECK_OK(zk_builder_finish(&p, b, &err), err);
    zk_builder_destroy(b);
    ZK_CHECK_OK(zk_program_walk(p, 0, 0, p->n_instances, collect_row, vars, &err), err);
    ZK_CHECK(vars[0] == ZK_VAR_ONE && vars[1] == 2 && vars[2] == 3 && vars[3] == 5);
    ZK_CHECK(zk_program_walk(p, 3, 0, 1, collect_row, vars, NULL) == CUZK_INTERNAL);
    ZK_CHECK(zk_program_walk(p, 0, 1, 2, collect_row, vars, NULL) == CUZK_INTERNAL);
    zk_program_destroy(p);
}

/* ---- hints ---- */

static void test_bad_hint(void) {
    zk_builder *b = NULL;
    zk_program *p = NULL;
    cuzk_err err = {0};
    gadget_run r;
    zk_cell x;
    uint8_t hints[3][32] = {{1}, {2}, {3}};
    ZK_CHECK_OK(zk_builder_create(&b, "test", &err), err);
    for (int i = 0; i < 3; i++) zk_builder_call(b, &gadget_wide, NULL, 0, NULL, 0, &x, 1);
    ZK_CHECK_OK(zk_builder_finish(&p, b, &err), err);
    zk_builder_destroy(b);
    run_alloc(&r, p, true);
    run_witness(&r, (const uint8_t(*)[32])hints);
    for (int i = 0; i < 4; i++) memcpy(hints[1] + 8 * i, &zk_fr_modulus[i], 8);
    memset(hints[2], 0xff, 32);
    ZK_CHECK(zk_program_witness(p, (const uint8_t(*)[32])hints, &r.w, NULL, &err) == CUZK_BAD_INPUT);
    ZK_CHECKF(strstr(err.message, "value 1 "), "%s", err.message);
    run_free(&r);
}

/* ---- explicit rows ---- */

typedef struct toy {
    zk_json_doc *doc;
    zk_program *p;
    size_t *row[3];
    zk_explicit_term *terms[3];
} toy;

static void toy_term(zk_explicit_term *t, const zk_json_value *v) {
    const char *kind = NULL;
    uint64_t index = 0;
    uint8_t coef[32];
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_json_get_string(&kind, zk_json_element_of(v, 0), "kind", &err), err);
    ZK_CHECK_OK(zk_json_get_u64(&index, zk_json_element_of(v, 1), UINT32_MAX, "index", &err), err);
    ZK_CHECK_OK(zk_json_get_hex(coef, 32, zk_json_element_of(v, 2), "coefficient", &err), err);
    t->var = (uint32_t)index | (strcmp(kind, "in") ? 0 : ZK_VAR_INPUT);
    ZK_CHECK(zk_fr_from_bytes_le(&t->coef, coef));
}

static void toy_load(toy *t, const char *name) {
    char path[1024];
    cuzk_err err = {0};
    snprintf(path, sizeof path, "%s/toy/%s.json", zk_test_vectors_dir(), name);
    ZK_CHECK_OK(zk_json_parse_file(&t->doc, path, 16 << 20, &err), err);
    const zk_json_value *root = zk_json_root(t->doc), *rows = zk_json_member_of(root, "rows");
    size_t n = zk_json_count(rows);
    uint64_t n_inputs = 0;
    ZK_CHECK_OK(zk_json_get_u64(&n_inputs, zk_json_member_of(root, "inputs"), UINT32_MAX, "inputs", &err), err);
    for (size_t m = 0; m < 3; m++) {
        size_t k = 0;
        t->row[m] = calloc(n + 1, sizeof *t->row[m]);
        for (size_t i = 0; i < n; i++)
            t->row[m][i + 1] = t->row[m][i] + zk_json_count(zk_json_element_of(zk_json_element_of(rows, i), m));
        t->terms[m] = calloc(t->row[m][n] + 1, sizeof *t->terms[m]);
        for (size_t i = 0; i < n; i++) {
            const zk_json_value *lc = zk_json_element_of(zk_json_element_of(rows, i), m);
            /* Backwards, so that the order is not the digest's. */
            for (size_t j = zk_json_count(lc); j; j--) toy_term(&t->terms[m][k++], zk_json_element_of(lc, j - 1));
        }
    }
    zk_explicit_matrix abc[3];
    for (int m = 0; m < 3; m++) abc[m] = (zk_explicit_matrix){t->row[m], t->terms[m]};
    size_t n_aux = zk_json_count(zk_json_member_of(root, "aux"));
    ZK_CHECK_OK(zk_program_from_rows(&t->p, "toy", (uint32_t)n_inputs, (uint32_t)n_aux, (uint32_t)n, abc, &err), err);
}

static void toy_free(toy *t) {
    for (int m = 0; m < 3; m++) {
        free(t->row[m]);
        free(t->terms[m]);
    }
    zk_json_doc_destroy(t->doc);
}

static void check_toy(const char *name) {
    toy t = {0};
    cuzk_err err = {0};
    zk_structure_digest digest;
    gadget_run r;
    toy_load(&t, name);
    const zk_json_value *root = zk_json_root(t.doc), *density = zk_json_member_of(root, "density");
    ZK_CHECK_OK(zk_structure_digest_make(&digest, t.p, 0, NULL, &err), err);
    for (unsigned m = 0; m < 3; m++) {
        const char letter[2] = {"ABC"[m], 0};
        uint8_t want[32];
        uint64_t nnz = 0;
        ZK_CHECK_OK(
            zk_json_get_hex(want, 32, zk_json_member_of(zk_json_member_of(root, "sha256"), letter), letter, &err), err);
        ZK_CHECK_OK(
            zk_json_get_u64(&nnz, zk_json_element_of(zk_json_member_of(root, "nnz"), m), UINT64_MAX, "nnz", &err), err);
        ZK_CHECKF(!memcmp(want, digest.sha256[m], 32), "%s: matrix %s", name, letter);
        ZK_CHECK(digest.stats.nnz[m] == nnz);
    }
    const struct {
        const char *name;
        uint32_t found;
    } counts[] = {{"a_aux", digest.stats.a_aux}, {"b_aux", digest.stats.b_aux}, {"b_input", digest.stats.b_input}};
    for (int i = 0; i < 3; i++) {
        uint64_t want = 0;
        ZK_CHECK_OK(
            zk_json_get_u64(&want, zk_json_member_of(density, counts[i].name), UINT64_MAX, counts[i].name, &err), err);
        ZK_CHECKF(want == counts[i].found, "%s: %s %u", name, counts[i].name, counts[i].found);
    }
    zk_structure_digest_free(&digest);
    /* The listed assignment satisfies it, and has the listed digest. */
    const zk_json_value *witness = zk_json_member_of(root, "witness"), *inputs = zk_json_member_of(witness, "inputs");
    const zk_json_value *aux = zk_json_member_of(root, "aux");
    uint8_t(*hints)[32] = malloc((t.p->n_hints + (size_t)1) * 32), sha256[32], want[32];
    size_t n = 0;
    for (size_t i = 1; i < zk_json_count(inputs); i++)
        ZK_CHECK_OK(zk_json_get_hex(hints[n++], 32, zk_json_element_of(inputs, i), "input", &err), err);
    for (size_t i = 0; i < zk_json_count(aux); i++)
        ZK_CHECK_OK(zk_json_get_hex(hints[n++], 32, zk_json_element_of(aux, i), "aux", &err), err);
    ZK_CHECK(n == t.p->n_hints);
    run_alloc(&r, t.p, true);
    run_witness(&r, (const uint8_t(*)[32])hints);
    run_satisfied(&r);
    ZK_CHECK_OK(zk_witness_digest(sha256, NULL, t.p, &r.w, 0, &err), err);
    ZK_CHECK_OK(zk_json_get_hex(want, 32, zk_json_member_of(witness, "sha256_aux"), "sha256_aux", &err), err);
    ZK_CHECK_MEM(sha256, want, 32);
    free(hints);
    run_free(&r);
    toy_free(&t);
}

static void test_explicit_toys(void) {
    static const char *const names[] = {"one-row",     "three-rows",  "no-inputs",  "bits-64",
                                        "random-1000", "random-1017", "random-1018"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) check_toy(names[i]);
}

static void test_explicit_refuses(void) {
    zk_program *p = NULL;
    cuzk_err err = {0};
    size_t row[2] = {0, 1}, none[2] = {0, 0};
    zk_explicit_term term = {.var = 2, .coef = zk_fr_one};
    zk_explicit_matrix abc[3] = {{none, NULL}, {row, &term}, {none, NULL}};
    ZK_CHECK(zk_program_from_rows(&p, "x", 1, 2, 1, abc, &err) == CUZK_BAD_INPUT && !p);
    ZK_CHECKF(strstr(err.message, "matrix B") && strstr(err.message, "aux 2 of 2"), "%s", err.message);
    term.var = ZK_VAR_INPUT | 1;
    ZK_CHECK(zk_program_from_rows(&p, "x", 1, 3, 1, abc, NULL) == CUZK_BAD_INPUT);
    ZK_CHECK(zk_program_from_rows(&p, "x", 0, 3, 1, abc, NULL) == CUZK_BAD_INPUT);
    term.var = ZK_VAR_ONE;
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_program_from_rows(&p, "x", 1, 0, 1, abc, &err), err);
    zk_program_destroy(p);
}

/* ---- evaluation against walking ---- */

typedef struct naive {
    const gadget_run *r;
    const zk_fr *found;
} naive;

static void check_naive(void *ctx, uint32_t row, const zk_row_term *terms, size_t n) {
    const naive *x = ctx;
    zk_fr sum = zk_fr_zero;
    for (size_t i = 0; i < n; i++) {
        zk_fr v = var_value(x->r->p, &x->r->w, terms[i].var);
        zk_fr_mul(&v, &v, &x->r->p->coefs[terms[i].coef]);
        zk_fr_add(&sum, &sum, &v);
    }
    ZK_CHECKF(zk_fr_eq(&sum, &x->found[row]), "row %u", row);
}

/* Extreme coefficients and values, so that sums without reduction are tried. */
static void record_extreme(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out,
                           size_t n_out) {
    (void)param, (void)out, (void)n_out;
    zk_lc *lcs[3] = {zk_rec_a(rec), zk_rec_b(rec), zk_rec_c(rec)};
    zk_fr coef;
    zk_fr_neg(&coef, &zk_fr_one);
    for (size_t i = 0; i < n_in; i++)
        for (int m = 0; m < 3; m++) {
            zk_lc_add(rec, lcs[m], in[i], &coef);
            if (m) zk_fr_mul(&coef, &coef, &zk_fr_generator);
        }
    zk_rec_row(rec);
}
static const zk_gadget gadget_extreme = {"extreme", record_extreme};

/* A row for each number of terms, so that what a sum without reduction leaves over takes many values: some of them need
 * the modulus taken off twice. */
static void record_prefixes(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out,
                            size_t n_out) {
    (void)param, (void)out, (void)n_out;
    for (size_t n = 1; n <= n_in; n++) {
        zk_fr coef;
        zk_fr_neg(&coef, &zk_fr_one);
        for (size_t i = 0; i < n; i++) {
            zk_lc_add(rec, zk_rec_a(rec), in[i], &coef);
            zk_fr_mul(&coef, &coef, &zk_fr_generator);
            zk_lc_add(rec, zk_rec_b(rec), in[i], &coef);
        }
        zk_rec_row(rec);
    }
}
static const zk_gadget gadget_prefixes = {"prefixes", record_prefixes};

static void test_eval_extreme(void) {
    enum { N = 600 };
    static zk_cell cells[N];
    uint8_t hints[3 + N][32];
    zk_builder *b = NULL;
    zk_program *p = NULL;
    cuzk_err err = {0};
    gadget_run r;
    ZK_CHECK_OK(zk_builder_create(&b, "test", &err), err);
    zk_builder_call(b, &gadget_test_bits, NULL, 0, NULL, 0, cells, N);
    zk_builder_call(b, &gadget_extreme, NULL, 0, cells, N, NULL, 0);
    zk_builder_call(b, &gadget_prefixes, NULL, 0, cells, N, NULL, 0);
    for (int i = 0; i < N; i++) zk_builder_call(b, &gadget_wide, NULL, 0, NULL, 0, &cells[i], 1);
    zk_builder_call(b, &gadget_extreme, NULL, 0, cells, N, NULL, 0);
    ZK_CHECK_OK(zk_builder_finish(&p, b, &err), err);
    zk_builder_destroy(b);
    run_alloc(&r, p, true);
    memset(hints, 0xff, sizeof hints);
    zk_fr minus_one;
    zk_fr_neg(&minus_one, &zk_fr_one);
    for (int i = 0; i < N; i++) zk_fr_to_bytes_le(hints[3 + i], &minus_one);
    run_witness(&r, (const uint8_t(*)[32])hints);
    (void)run_check(&r);
    for (unsigned m = 0; m < 3; m++)
        ZK_CHECK_OK(zk_program_walk(p, m, 0, p->n_instances, check_naive, &(naive){&r, r.abc[m]}, &err), err);
    run_free(&r);
}

/* Of rows (combination) * 1 = v only the first for a computed v defines it, and only from variables before it: the
 * others are statements, to be evaluated. */
static void test_first_row_defines(void) {
    const zk_poseidon_params *params = zk_poseidon_get(2);
    ZK_CHECK(params);
    const uint32_t first = 1 + 2,
                   n_aux = 3 * (params->width - 1) + 4 * (zk_poseidon_n_sboxes(params) - params->width) + 1;
    const uint32_t v = first + n_aux - 1;
    zk_op op = {.code = ZK_OP_POSEIDON, .n = 2, .dst = first};
    uint32_t start[5] = {0, 1, 2, 3, 4}, *defined = NULL;
    zk_term a[4] = {{1, 0}, {2, 0}, {v, 0}, {1, 0}}, b[4] = {{0}}, c[4] = {{v, 0}, {v, 0}, {v - 1, 0}, {v - 2, 1}};
    const zk_template t = {.name = "test",
                           .n_ports = 2,
                           .n_aux = n_aux,
                           .n_rows = 4,
                           .n_ops = 1,
                           .ops = &op,
                           .abc = {{start, a, NULL}, {start, b, NULL}, {start, c, NULL}}};
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_template_defined_rows(&defined, &t, &err), err);
    ZK_CHECK(defined && defined[0] == v);
    for (int r = 1; r < 4; r++) ZK_CHECKF(defined[r] == ZK_NOT_DEFINED, "row %d", r);
    free(defined);
}

/* ---- memory ---- */

/* Everything that allocates, once; the first status that is not OK. */
static cuzk_status build_and_run(zk_program **p, gadget_run *r, cuzk_err *err) {
    static const uint8_t hints[4][32] = {{7}, {1}, {2}, {3}};
    cuzk_status status = CUZK_OK;
    zk_builder *b = NULL;
    zk_cell bits[200], wide[2], out[5];
    zk_structure_digest digest;
    zk_checkpoints checkpoints;
    uint8_t sha256[32];
    uint64_t seed = 5;
    *p = NULL;
    r->p = NULL;
    ZK_GOTO(zk_builder_create(&b, "test", err));
    zk_builder_call(b, &gadget_test_bits, NULL, 0, NULL, 0, bits, 200);
    for (int i = 0; i < 2; i++) zk_builder_call(b, &gadget_wide, NULL, 0, NULL, 0, &wide[i], 1);
    for (int i = 0; i < 2; i++) {
        zk_builder_call(b, &gadget_long, &seed, sizeof seed, bits, 200, NULL, 0);
        zk_builder_call(b, &gadget_rows, NULL, 0, (zk_cell[2]){bits[i], wide[i]}, 2, out, 5);
    }
    ZK_GOTO(zk_builder_finish(p, b, err));
    ZK_GOTO(zk_structure_digest_make(&digest, *p, 2, NULL, err));
    zk_structure_digest_free(&digest);
    run_alloc(r, *p, true);
    ZK_GOTO(zk_program_witness(*p, hints, &r->w, NULL, err));
    ZK_GOTO(zk_program_eval(*p, &r->w, r->abc[0], r->abc[1], r->abc[2], NULL, err));
    ZK_GOTO(zk_witness_digest(sha256, &checkpoints, *p, &r->w, 3, err));
    zk_checkpoints_free(&checkpoints);
out:
    zk_builder_destroy(b);
    return status;
}

/* Each allocation fails once: that is reported, nothing leaks (under the address sanitizer), nothing crashes. */
static void test_out_of_memory(void) {
    int n_forgiven = 0;
    for (uint64_t nth = 1;; nth++) {
        cuzk_err err = {0};
        zk_program *p = NULL;
        gadget_run r = {0};
        zk_alloc_fail_nth(nth);
        cuzk_status status = build_and_run(&p, &r, &err);
        bool failed = zk_alloc_failed();
        zk_alloc_fail_nth(0);
        if (r.p)
            run_free(&r);
        else
            zk_program_destroy(p);
        if (!failed) {
            ZK_CHECK_OK(status, err);
            ZK_CHECKF(nth > 50, "only %" PRIu64 " allocations", nth);
            return;
        }
        if (status == CUZK_OK && ++n_forgiven <= 4) continue; /* cutting an array to its length may fail */
        ZK_CHECKF(status == CUZK_OUT_OF_MEMORY, "allocation %" PRIu64 ": %s", nth, cuzk_status_name(status));
    }
}

ZK_TEST_MAIN(ZK_CASE(test_recorder_rows), ZK_CASE(test_recorder_long_rows), ZK_CASE(test_builder_shapes),
             ZK_CASE(test_walk_sorts), ZK_CASE(test_bad_hint), ZK_CASE(test_explicit_toys),
             ZK_CASE(test_explicit_refuses), ZK_CASE(test_eval_extreme), ZK_CASE(test_first_row_defines),
             ZK_CASE(test_out_of_memory))
