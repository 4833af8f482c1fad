/* Setup and proof against the formulas, evaluated the slow way with the trapdoor known; interruption, full disks, and
 * circuits and toxic waste that cannot be used. */
#include "groth16_common.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "groth16/key_writer.h"
#include "program/builder.h"
#include "program/explicit.h"

/* ---- random circuits of bits, wide variables and inputs ---- */

typedef struct mix_param {
    uint64_t seed, n_bits, n_products, n_inputs;
} mix_param;

/* A small combination of what there is. */
static void random_lc(zk_recorder *rec, zk_lc *lc, const zk_lit *have, size_t n, uint64_t *seed) {
    for (unsigned k = 0; k < 1 + zk_test_rand(seed) % 4; k++) {
        zk_fr coef;
        switch (zk_test_rand(seed) % 3) {
        case 0:
            zk_fr_from_u64(&coef, 1);
            break;
        case 1:
            zk_fr_from_i64(&coef, -1);
            break;
        default:
            zk_fr_from_u64(&coef, 2 + zk_test_rand(seed) % 1000);
        }
        zk_lc_add(rec, lc, have[zk_test_rand(seed) % n], &coef);
    }
}

/* Bits (each with its row), then products of two combinations, each a row, then inputs that are combinations. */
static void record_mix(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out, size_t n_out) {
    const mix_param *p = param;
    uint64_t seed = p->seed;
    zk_lit have[512];
    size_t n = 0;
    have[n++] = ZK_LIT_TRUE;
    for (size_t i = 0; i < n_in; i++) have[n++] = in[i];
    uint32_t hint = p->n_bits ? zk_rec_hint(rec) : 0;
    for (uint32_t i = 0; i < p->n_bits; i++) {
        zk_lit bit = zk_rec_bits(rec, 1);
        zk_rec_op(rec, (zk_op){.code = ZK_OP_HINT_BIT, .n = 1, .dst = zk_lit_var(bit), .a = hint, .b = i});
        zk_lc_add_int(rec, zk_rec_a(rec), bit, 1);
        zk_lc_add_int(rec, zk_rec_b(rec), ZK_LIT_TRUE, 1);
        zk_lc_add_int(rec, zk_rec_b(rec), bit, -1);
        zk_rec_row(rec);
        have[n++] = bit;
    }
    for (uint32_t i = 0; i < p->n_products; i++) {
        zk_lit product = zk_rec_wides(rec, 1);
        random_lc(rec, zk_rec_a(rec), have, n, &seed);
        random_lc(rec, zk_rec_b(rec), have, n, &seed);
        zk_rec_op(rec, (zk_op){.code = ZK_OP_MULADD,
                               .n = 1,
                               .dst = zk_lit_var(product),
                               .a = zk_rec_lc(rec, zk_rec_a(rec)),
                               .b = zk_rec_lc(rec, zk_rec_b(rec)),
                               .c = ZK_NO_LC});
        zk_lc_add_int(rec, zk_rec_c(rec), product, 1);
        zk_rec_row(rec);
        have[n++] = product;
    }
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        zk_lit input = zk_rec_input(rec);
        random_lc(rec, zk_rec_a(rec), have, n, &seed);
        zk_rec_op(rec, (zk_op){.code = ZK_OP_LC, .n = 1, .dst = zk_lit_var(input), .a = zk_rec_lc(rec, zk_rec_a(rec))});
        zk_lc_add_int(rec, zk_rec_b(rec), ZK_LIT_TRUE, 1);
        zk_lc_add_int(rec, zk_rec_c(rec), input, 1);
        zk_rec_row(rec);
        if (i % 2) have[n++] = input;
    }
    for (size_t i = 0; i < n_out; i++) out[i] = have[n - 1 - i % n];
}
static const zk_gadget gadget_mix = {"mix", record_mix};

/* Some instances, each fed with what earlier ones gave out; templates repeat. */
static zk_program *random_program(uint64_t seed) {
    cuzk_err err = {0};
    zk_builder *builder;
    zk_program *program;
    zk_cell cells[8];
    size_t n_cells = 0;
    ZK_CHECK_OK(zk_builder_create(&builder, "random mix", &err), err);
    for (unsigned k = 0; k < 2 + seed % 5; k++) {
        mix_param p = {.seed = zk_test_rand(&seed) % 3, .n_bits = seed % 2 ? 5 : 11};
        p.n_products = seed % 4;
        p.n_inputs = seed % 3;
        zk_cell out[3];
        zk_builder_call(builder, &gadget_mix, &p, sizeof p, cells, n_cells, out, 3);
        n_cells = 3;
        memcpy(cells, out, sizeof out);
    }
    ZK_CHECK_OK(zk_builder_finish(&program, builder, &err), err);
    zk_builder_destroy(builder);
    return program;
}

/* ---- the formulas, slowly ---- */

typedef struct slow {
    unsigned log2_n;
    zk_fr *lagrange;  /* [n] at tau, each by its product formula */
    zk_fr *column[3]; /* inputs, then aux */
    const zk_program *program;
    unsigned matrix;
} slow;

static void visit(void *ctx, uint32_t row, const zk_row_term *terms, size_t n_terms) {
    slow *s = ctx;
    for (size_t k = 0; k < n_terms; k++) {
        zk_var var = terms[k].var;
        zk_fr t, *to = &s->column[s->matrix][var & ZK_VAR_INPUT ? var & ~ZK_VAR_INPUT : s->program->n_inputs + var];
        zk_fr_mul(&t, &s->program->coefs[terms[k].coef], &s->lagrange[row]);
        zk_fr_add(to, to, &t);
    }
}

static slow slow_columns(const zk_program *program, const zk_fr *tau) {
    slow s = {.program = program};
    cuzk_err err = {0};
    zk_fr w;
    while (((size_t)1 << s.log2_n) < (size_t)program->n_rows + program->n_inputs) s.log2_n++;
    size_t n = (size_t)1 << s.log2_n, n_vars = (size_t)program->n_inputs + program->n_aux;
    zk_fr *power = calloc(n, sizeof *power);
    s.lagrange = calloc(n, sizeof *s.lagrange);
    zk_fr_root_of_unity(&w, s.log2_n);
    power[0] = zk_fr_one;
    for (size_t i = 1; i < n; i++) zk_fr_mul(&power[i], &power[i - 1], &w);
    for (size_t j = 0; j < n; j++) {
        zk_fr above = zk_fr_one, below = zk_fr_one, t;
        for (size_t k = 0; k < n; k++) {
            if (k == j) continue;
            zk_fr_sub(&t, tau, &power[k]);
            zk_fr_mul(&above, &above, &t);
            zk_fr_sub(&t, &power[j], &power[k]);
            zk_fr_mul(&below, &below, &t);
        }
        zk_fr_inv_var(&below, &below);
        zk_fr_mul(&s.lagrange[j], &above, &below);
    }
    for (s.matrix = 0; s.matrix < 3; s.matrix++) {
        s.column[s.matrix] = calloc(n_vars, sizeof(zk_fr));
        ZK_CHECK_OK(zk_program_walk(program, s.matrix, 0, program->n_instances, visit, &s, &err), err);
    }
    for (size_t i = 0; i < program->n_inputs; i++)
        zk_fr_add(&s.column[0][i], &s.column[0][i], &s.lagrange[program->n_rows + i]);
    free(power);
    return s;
}

static void slow_free(slow *s) {
    free(s->lagrange);
    for (unsigned m = 0; m < 3; m++) free(s->column[m]);
}

static void random_fr(zk_fr *r, uint64_t *seed) {
    uint8_t wide[64];
    for (unsigned i = 0; i < 8; i++) zk_store_le64(wide + 8 * i, zk_test_rand(seed));
    zk_fr_from_bytes_wide(r, wide);
}

static zk_toxic_waste random_toxic(uint64_t *seed) {
    zk_toxic_waste t;
    zk_fr *value[5] = {&t.alpha, &t.beta, &t.gamma, &t.delta, &t.tau};
    for (unsigned i = 0; i < 5; i++) random_fr(value[i], seed);
    return t;
}

static void test_columns(void) {
    uint64_t seed = 11;
    test_open();
    for (unsigned round = 0; round < 30; round++) {
        zk_program *program = random_program(seed + round);
        zk_columns columns;
        zk_fr tau;
        cuzk_err err = {0};
        random_fr(&tau, &seed);
        slow s = slow_columns(program, &tau);
        ZK_CHECK_OK(zk_columns_compute(&columns, program, &tau, round % 2 ? test_pool : NULL, &err), err);
        ZK_CHECK(columns.log2_n == s.log2_n);
        for (unsigned m = 0; m < 3; m++)
            for (size_t i = 0; i < (size_t)program->n_inputs + program->n_aux; i++)
                ZK_CHECKF(zk_fr_eq(&columns.value[m][i], &s.column[m][i]), "round %u matrix %u variable %zu", round, m,
                          i);
        zk_columns_clear(&columns);
        slow_free(&s);
        zk_program_destroy(program);
    }
}

static void add_product(zk_fr *sum, const zk_fr *a, const zk_fr *b) {
    zk_fr t;
    zk_fr_mul(&t, a, b);
    zk_fr_add(sum, sum, &t);
}

/* The discrete logarithms of the proof's points, from the assignment and the trapdoor alone. */
typedef struct logs {
    zk_fr a, b, c;
} logs;
static logs expected_logs(const slow *s, const zk_fr *w, const zk_toxic_waste *toxic, const zk_blinding *blinding) {
    const zk_program *p = s->program;
    zk_fr sum[3] = {zk_fr_zero, zk_fr_zero, zk_fr_zero}, aux = zk_fr_zero, t, rs;
    logs r;
    for (size_t i = 0; i < (size_t)p->n_inputs + p->n_aux; i++) {
        for (unsigned m = 0; m < 3; m++) add_product(&sum[m], &w[i], &s->column[m][i]);
        if (i < p->n_inputs) continue;
        zk_fr_mul(&t, &toxic->beta, &s->column[0][i]);
        add_product(&t, &toxic->alpha, &s->column[1][i]);
        zk_fr_add(&t, &t, &s->column[2][i]);
        add_product(&aux, &t, &w[i]);
    }
    zk_fr_add(&r.a, &toxic->alpha, &sum[0]);
    add_product(&r.a, &blinding->r, &toxic->delta);
    zk_fr_add(&r.b, &toxic->beta, &sum[1]);
    add_product(&r.b, &blinding->s, &toxic->delta);
    /* h(tau) t(tau) = A(tau) B(tau) - C(tau) for a satisfied circuit */
    zk_fr_mul(&t, &sum[0], &sum[1]);
    zk_fr_sub(&t, &t, &sum[2]);
    zk_fr_add(&r.c, &aux, &t);
    zk_fr_inv_var(&t, &toxic->delta);
    zk_fr_mul(&r.c, &r.c, &t);
    add_product(&r.c, &blinding->s, &r.a);
    add_product(&r.c, &blinding->r, &r.b);
    zk_fr_mul(&rs, &blinding->r, &blinding->s);
    zk_fr_mul(&rs, &rs, &toxic->delta);
    zk_fr_sub(&r.c, &r.c, &rs);
    return r;
}

static void expected_proof(uint8_t encoded[ZK_PROOF_BYTES], const logs *l) {
    zk_proof proof;
    zk_g1 g;
    zk_g2 h;
    zk_g1_from_affine(&g, &zk_g1_generator);
    zk_g1_mul_var(&g, &g, &l->a);
    zk_g1_to_affine(&proof.a, &g);
    zk_g1_from_affine(&g, &zk_g1_generator);
    zk_g1_mul_var(&g, &g, &l->c);
    zk_g1_to_affine(&proof.c, &g);
    zk_g2_from_affine(&h, &zk_g2_generator);
    zk_g2_mul_var(&h, &h, &l->b);
    zk_g2_to_affine(&proof.b, &h);
    zk_proof_encode(encoded, &proof);
}

/* The whole assignment as field elements: inputs, then aux. */
static zk_fr *whole_assignment(const zk_program *program, const uint8_t (*hints)[32]) {
    zk_fr *w = calloc((size_t)program->n_inputs + program->n_aux + program->n_wide, sizeof *w);
    zk_fr *wide = w + program->n_inputs + program->n_aux;
    uint64_t *bits = calloc((program->n_aux + 63) / 64 + 1, 8);
    zk_witness witness = {w, bits, wide};
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_program_witness(program, hints, &witness, NULL, &err), err);
    for (size_t i = 0; i < program->n_aux; i++) zk_fr_from_u64(&w[program->n_inputs + i], bits[i / 64] >> i % 64 & 1);
    for (uint32_t slot = 0; slot < program->n_wide; slot++)
        w[program->n_inputs + zk_program_wide_aux(program, slot)] = wide[slot];
    free(bits);
    return w;
}

static uint64_t accounted(const char *name) {
    zk_mem_row rows[64];
    size_t n = zk_mem_rows(rows, 64);
    ZK_CHECK(n <= 64);
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0) return rows[i].current_bytes;
    return 0;
}

static void test_proofs_by_trapdoor(void) {
    uint64_t seed = 5;
    unsigned n_bits = 0, n_wide = 0;
    test_open();
    for (unsigned round = 0; round < 12; round++) {
        zk_program *program = random_program(100 + round);
        zk_toxic_waste toxic = random_toxic(&seed);
        zk_setup_result result;
        zk_resident_program *resident;
        zk_proving_key *key;
        zk_prover *prover;
        zk_memory_plan plan = {0};
        zk_query_masks masks;
        cuzk_err err = {0};
        const char *path = temp_path("trapdoor", ".params");
        zk_setup_options options = {.toxic = &toxic, .params_path = path, .pool = test_pool};
        ZK_CHECK_OK(zk_setup(&result, program, &options, &err), err);
        ZK_CHECK_OK(zk_resident_program_load(&resident, test_backend, program, &err), err);
        ZK_CHECK_OK(zk_proving_key_load(&key, resident, path, test_pool, NULL, &err), err);
        ZK_CHECK_OK(zk_prover_create(&prover, key, test_pool, &err), err);
        /* memory is known before it is taken, line by line */
        ZK_CHECK_OK(zk_query_masks_compute(&masks, program, test_pool, &err), err);
        zk_proving_key_plan(resident, &masks, &plan);
        zk_prover_plan(resident, &masks, &plan);
        for (unsigned i = 0; i < plan.n_rows; i++)
            if (strcmp(plan.row[i].name, "selections") != 0)
                ZK_CHECKF(accounted(plan.row[i].name) == plan.row[i].bytes, "%s: %llu, planned %llu", plan.row[i].name,
                          (unsigned long long)accounted(plan.row[i].name), (unsigned long long)plan.row[i].bytes);
        zk_query_masks_clear(&masks);
        slow s = slow_columns(program, &toxic.tau);
        uint8_t(*hints)[32] = calloc(program->n_hints + 1, 32);
        for (unsigned k = 0; k < 2; k++) {
            if (k == 1) { /* a key without a file */
                zk_prover_destroy(prover);
                zk_proving_key_destroy(key);
                ZK_CHECK_OK(zk_proving_key_generate(&key, resident, &toxic, test_pool, NULL, &err), err);
                ZK_CHECK_OK(zk_prover_create(&prover, key, test_pool, &err), err);
            }
            zk_blinding blinding;
            uint8_t proof[ZK_PROOF_BYTES], expected[ZK_PROOF_BYTES];
            for (size_t i = 0; i < program->n_hints; i++)
                for (unsigned b = 0; b < 4; b++) hints[i][b] = (uint8_t)zk_test_rand(&seed);
            random_fr(&blinding.r, &seed);
            random_fr(&blinding.s, &seed);
            zk_prove_request request = {
                .hints = (const uint8_t(*)[32])hints, .n_hints = program->n_hints, .blinding = &blinding};
            ZK_CHECK_OK(zk_prove(proof, prover, &request, NULL, &err), err);
            zk_fr *w = whole_assignment(program, (const uint8_t(*)[32])hints);
            logs l = expected_logs(&s, w, &toxic, &blinding);
            expected_proof(expected, &l);
            ZK_CHECKF(memcmp(proof, expected, sizeof proof) == 0, "round %u", round);
            free(w);
        }
        n_bits += key->selection[ZK_QUERY_A]->n_bits > 0 && key->selection[ZK_QUERY_B]->n_bits > 0;
        n_wide += key->selection[ZK_QUERY_A]->n_full > 0 && !key->selection[ZK_QUERY_B]->full_is_range;
        slow_free(&s);
        free(hints);
        zk_prover_destroy(prover);
        zk_proving_key_destroy(key);
        zk_resident_program_unload(resident);
        zk_program_destroy(program);
        unlink(path);
    }
    ZK_CHECK(n_bits > 3 && n_wide > 3); /* the circuits really mix */
}

/* ---- what setup refuses ---- */

static zk_program *rows_program(uint32_t n_aux, bool use_last) {
    /* aux_i * 1 = aux_i for all, or all but the last, aux variables */
    size_t n_rows = n_aux - !use_last, *row = calloc(n_rows + 1, sizeof *row);
    zk_explicit_term *a = calloc(n_rows + 1, sizeof *a), *b = calloc(n_rows + 1, sizeof *b);
    zk_program *program;
    cuzk_err err = {0};
    for (size_t i = 0; i < n_rows; i++) {
        row[i + 1] = i + 1;
        a[i] = (zk_explicit_term){(zk_var)i, zk_fr_one};
        b[i] = (zk_explicit_term){ZK_VAR_ONE, zk_fr_one};
    }
    zk_explicit_matrix abc[3] = {{row, a}, {row, b}, {row, a}};
    ZK_CHECK_OK(zk_program_from_rows(&program, "rows", 2, n_aux, (uint32_t)n_rows, abc, &err), err);
    free(row);
    free(a);
    free(b);
    return program;
}

static void test_refusals(void) {
    zk_toxic_waste toxic = fixed_toxic(), bad;
    zk_setup_result result;
    cuzk_err err = {0};
    test_open();
    const char *path = temp_path("refused", ".params");
    zk_setup_options options = {.toxic = &toxic, .params_path = path, .pool = test_pool};
    zk_resident_program *resident;
    zk_proving_key *key;
    zk_program *program = rows_program(9, false);
    ZK_CHECK_OK(zk_resident_program_load(&resident, test_backend, program, &err), err);
    ZK_CHECK(zk_setup(&result, program, &options, &err) == CUZK_BAD_INPUT);
    ZK_CHECKF(strstr(err.message, "unconstrained variable: aux 8 "), "%s", err.message);
    zk_err_reset(&err);
    ZK_CHECK(zk_proving_key_generate(&key, resident, &toxic, test_pool, NULL, &err) == CUZK_BAD_INPUT);
    ZK_CHECKF(!key && strstr(err.message, "unconstrained variable: aux 8 "), "%s", err.message);
    zk_err_reset(&err);
    zk_resident_program_unload(resident);
    zk_program_destroy(program);

    program = rows_program(9, true);
    ZK_CHECK_OK(zk_resident_program_load(&resident, test_backend, program, &err), err);
    zk_fr *value[5] = {&bad.alpha, &bad.beta, &bad.gamma, &bad.delta, &bad.tau};
    for (unsigned i = 0; i < 6; i++) {
        bad = toxic;
        options.toxic = &bad;
        if (i < 5)
            *value[i] = zk_fr_zero;
        else
            zk_fr_root_of_unity(&bad.tau, 3); /* the domain has 16 rows */
        ZK_CHECKF(zk_setup(&result, program, &options, &err) == CUZK_BAD_INPUT, "case %u", i);
        ZK_CHECKF(strstr(err.message, "toxic waste: "), "%s", err.message);
        zk_err_reset(&err);
        ZK_CHECKF(zk_proving_key_generate(&key, resident, &bad, test_pool, NULL, &err) == CUZK_BAD_INPUT, "case %u", i);
        ZK_CHECKF(!key && strstr(err.message, "toxic waste: "), "%s", err.message);
        zk_err_reset(&err);
    }
    zk_resident_program_unload(resident);
    options.toxic = &toxic;
    options.params_path = temp_path("no-such-folder/refused", ".params");
    cuzk_status status = zk_setup(&result, program, &options, &err);
    ZK_CHECKF(status != CUZK_OK && strstr(err.message, "no-such-folder/refused.params"), "%s", err.message);
    zk_err_reset(&err);
    ZK_CHECK(access(path, F_OK) != 0);

    /* random toxic waste: works, and differs each time */
    uint8_t first[32];
    options = (zk_setup_options){.params_path = path, .pool = test_pool, .resumable = true};
    ZK_CHECK_OK(zk_setup(&result, program, &options, &err), err);
    memcpy(first, result.params_sha256, 32);
    ZK_CHECK_OK(zk_setup(&result, program, &options, &err), err);
    ZK_CHECK(memcmp(first, result.params_sha256, 32) != 0);
    unlink(path);
    zk_program_destroy(program);
}

/* ---- interruption ---- */

static bool gone(const char *name) {
    return access(temp_path(name, ".params"), F_OK) != 0 && access(temp_path(name, ".params.partial"), F_OK) != 0 &&
           access(temp_path(name, ".params.partial.state"), F_OK) != 0 &&
           access(temp_path(name, ".params.partial.state.new"), F_OK) != 0 && access(temp_path(name, ".vk"), F_OK) != 0;
}

static void test_full_disk(void) {
    toy t = toy_open("random-1000");
    zk_toxic_waste toxic = fixed_toxic();
    struct rlimit old, low;
    ZK_CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    signal(SIGXFSZ, SIG_IGN);
    char params[512], vk[512];
    strcpy(params, temp_path("full", ".params"));
    strcpy(vk, temp_path("full", ".vk"));
    for (unsigned resumable = 0; resumable < 2; resumable++)
        for (rlim_t limit = 0; limit < 399096; limit += 39909) {
            zk_setup_options options = {
                .toxic = &toxic, .params_path = params, .vk_path = vk, .pool = test_pool, .resumable = resumable};
            zk_setup_result result;
            cuzk_err err = {0};
            low = old;
            low.rlim_cur = limit;
            ZK_CHECK(setrlimit(RLIMIT_FSIZE, &low) == 0);
            cuzk_status status = zk_setup(&result, t.circuit.program, &options, &err);
            ZK_CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
            ZK_CHECKF(status == CUZK_IO, "limit %lu: %s", (unsigned long)limit, err.message);
            ZK_CHECKF(strstr(err.message, "full.params") && strstr(err.message, strerror(EFBIG)), "%s", err.message);
            ZK_CHECKF(gone("full"), "limit %lu", (unsigned long)limit);
        }
    toy_close(&t);
}

static unsigned asked, stop_at;
static bool stop(void *ctx) {
    (void)ctx;
    return ++asked == stop_at;
}

static cuzk_status setup_until(zk_setup_result *result, const zk_program *program, const zk_toxic_waste *toxic,
                               unsigned until, cuzk_err *err) {
    static char params[512], vk[512];
    strcpy(params, temp_path("resumed", ".params"));
    strcpy(vk, temp_path("resumed", ".vk"));
    asked = 0;
    stop_at = until;
    zk_setup_options options = {
        .toxic = toxic, .params_path = params, .vk_path = vk, .pool = test_pool, .resumable = true, .cancelled = stop};
    return zk_setup(result, program, &options, err);
}

static void expect_same_file(const char *name) {
    bytes made = read_bytes(temp_path("resumed", ".params")), expected = read_bytes(toy_path(name, ".params"));
    ZK_CHECK(made.n == expected.n);
    ZK_CHECK_MEM(made.data, expected.data, made.n);
    free(made.data);
    free(expected.data);
    ZK_CHECK(access(temp_path("resumed", ".params.partial"), F_OK) != 0);
    ZK_CHECK(access(temp_path("resumed", ".params.partial.state"), F_OK) != 0);
    unlink(temp_path("resumed", ".params"));
    unlink(temp_path("resumed", ".vk"));
}

static void test_resume(void) {
    toy t = toy_open("random-1000");
    zk_toxic_waste toxic = fixed_toxic(), other = toxic;
    zk_setup_result result;
    const zk_program *program = t.circuit.program;
    char partial[512];
    strcpy(partial, temp_path("resumed", ".params.partial"));
    zk_fr_add(&other.beta, &other.beta, &zk_fr_one);
    for (unsigned until = 1; until <= 6; until++)
        for (unsigned damage = 0; damage < 5; damage++) {
            cuzk_err err = {0};
            ZK_CHECK(setup_until(&result, program, &toxic, until, &err) == CUZK_CANCELLED);
            ZK_CHECK(cuzk_status_exit_code(err.status) == 130);
            ZK_CHECK(access(temp_path("resumed", ".params"), F_OK) != 0);
            ZK_CHECK((access(partial, F_OK) == 0) == (until > 1));
            zk_err_reset(&err);
            if (until > 1 && damage == 1) { /* a byte of what is done */
                int fd = open(partial, O_RDWR);
                uint8_t byte;
                ZK_CHECK(pread(fd, &byte, 1, 1000) == 1);
                byte ^= 1;
                ZK_CHECK(pwrite(fd, &byte, 1, 1000) == 1);
                close(fd);
            }
            if (until > 1 && damage == 2) ZK_CHECK(truncate(partial, 2000) == 0);
            if (until > 1 && damage == 3) { /* something behind it, as after a crash between two states */
                int fd = open(partial, O_WRONLY | O_APPEND);
                ZK_CHECK(write(fd, "more", 4) == 4);
                close(fd);
            }
            if (damage == 4) { /* another key of the same circuit does not go on from there */
                ZK_CHECK(setup_until(&result, program, &other, 0, &err) == CUZK_OK);
                ZK_CHECK(result.resumed_bytes == 0);
            }
            ZK_CHECK_OK(setup_until(&result, program, &toxic, 0, &err), err);
            bool goes_on = until > 1 && (damage == 0 || damage == 3);
            ZK_CHECKF((result.resumed_bytes > 0) == goes_on, "until %u damage %u: %llu", until, damage,
                      (unsigned long long)result.resumed_bytes);
            expect_same_file("random-1000");
        }
    /* twice interrupted */
    cuzk_err err = {0};
    ZK_CHECK(setup_until(&result, program, &toxic, 3, &err) == CUZK_CANCELLED);
    zk_err_reset(&err);
    ZK_CHECK(setup_until(&result, program, &toxic, 5, &err) == CUZK_CANCELLED);
    ZK_CHECK(result.resumed_bytes > 0);
    zk_err_reset(&err);
    ZK_CHECK_OK(setup_until(&result, program, &toxic, 0, &err), err);
    expect_same_file("random-1000");

    /* two writers of one file */
    zk_key_writer writer;
    ZK_CHECK_OK(zk_key_writer_open(&writer, temp_path("resumed", ".params"), NULL, &err), err);
    ZK_CHECK(setup_until(&result, program, &toxic, 0, &err) == CUZK_EXHAUSTED);
    ZK_CHECK(strstr(err.message, "resumed.params.partial"));
    zk_key_writer_abandon(&writer, false);
    ZK_CHECK(gone("resumed"));

    /* what cannot be replaced is found before the work */
    static const char *const suffixes[] = {".params", ".vk"};
    for (size_t i = 0; i < 2; i++) {
        zk_err_reset(&err);
        ZK_CHECK(mkdir(temp_path("resumed", suffixes[i]), 0777) == 0);
        ZK_CHECK(setup_until(&result, program, &toxic, 0, &err) == CUZK_BAD_INPUT);
        ZK_CHECKF(strstr(err.message, "found a folder") && asked <= 1, "%s, asked %u times", err.message, asked);
        ZK_CHECK(rmdir(temp_path("resumed", suffixes[i])) == 0);
        ZK_CHECK(gone("resumed"));
    }
    toy_close(&t);
}

ZK_TEST_MAIN(ZK_CASE(test_columns), ZK_CASE(test_proofs_by_trapdoor), ZK_CASE(test_refusals), ZK_CASE(test_full_disk),
             ZK_CASE(test_resume))
