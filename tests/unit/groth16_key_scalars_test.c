/* The scalars of a key against their formulas, toxic waste that puts a point at infinity, and a section of several
 * batches with an interruption. */
#include "groth16_common.h"

#include <fcntl.h>

#include "program/explicit.h"

/* Rows x_i * x_i = x_(i+1), i < n_aux - 1, with every `skip`-th right factor the constant; the last one times one is
 * input 1; then n_more rows x_0 * 1 = x_0. */
static zk_program *squares(uint32_t n_aux, uint32_t skip, uint32_t n_more) {
    size_t n_rows = (size_t)n_aux + n_more, *row = calloc(n_rows + 1, sizeof *row);
    zk_explicit_term *a = calloc(n_rows, sizeof *a), *b = calloc(n_rows, sizeof *b), *c = calloc(n_rows, sizeof *c);
    zk_program *program;
    cuzk_err err = {0};
    for (size_t i = 0; i < n_rows; i++) {
        row[i + 1] = i + 1;
        zk_var var = i < n_aux ? (zk_var)i : 0;
        bool last = i == n_aux - 1, one = last || i >= n_aux || i % skip == 0;
        a[i] = (zk_explicit_term){var, zk_fr_one};
        b[i] = (zk_explicit_term){one ? ZK_VAR_ONE : var, zk_fr_one};
        c[i] = (zk_explicit_term){i >= n_aux ? 0 : last ? ZK_VAR_INPUT | 1 : var + 1, zk_fr_one};
    }
    zk_explicit_matrix abc[3] = {{row, a}, {row, b}, {row, c}};
    ZK_CHECK_OK(zk_program_from_rows(&program, "squares", 2, n_aux, (uint32_t)n_rows, abc, &err), err);
    free(row);
    free(a);
    free(b);
    free(c);
    return program;
}

static void weigh(zk_fr *r, const zk_columns *columns, size_t at, const zk_toxic_waste *toxic, const zk_fr *by) {
    zk_fr t, inverse;
    zk_fr_mul(r, &toxic->beta, &columns->value[0][at]);
    zk_fr_mul(&t, &toxic->alpha, &columns->value[1][at]);
    zk_fr_add(r, r, &t);
    zk_fr_add(r, r, &columns->value[2][at]);
    zk_fr_inv_var(&inverse, by);
    zk_fr_mul(r, r, &inverse);
}

/* The section in pieces of all kinds of lengths, in any order. */
static void check_section(const zk_key_scalars *scalars, zk_params_section_id id, const zk_fr *expected, size_t n) {
    static const size_t lengths[] = {1, 2, 1023, 1024, 1025, 4097};
    uint64_t seed = 3;
    ZK_CHECKF(scalars->n[id] == n, "section %d: %llu, expected %zu", id, (unsigned long long)scalars->n[id], n);
    zk_fr *out = malloc((n + 1) * sizeof *out);
    zk_key_scalars_get(scalars, id, out, 0, n);
    for (size_t i = 0; i < n; i++) ZK_CHECKF(zk_fr_eq(&out[i], &expected[i]), "section %d scalar %zu", id, i);
    for (unsigned round = 0; round < 60; round++) {
        size_t m = zk_min_size(lengths[round % 6], n), first = zk_test_rand(&seed) % (n - m + 1);
        if (round < 6) first = n - m;
        memset(&out[m], 0xa5, sizeof out[m]);
        zk_fr guard = out[m];
        zk_key_scalars_get(scalars, id, out, first, m);
        for (size_t i = 0; i < m; i++)
            ZK_CHECKF(zk_fr_eq(&out[i], &expected[first + i]), "section %d scalar %zu from %zu", id, first + i, first);
        ZK_CHECK_MEM(&out[m], &guard, sizeof guard);
    }
    free(out);
}

static void test_scalars(void) {
    zk_toxic_waste toxic = fixed_toxic();
    cuzk_err err = {0};
    test_open();
    for (unsigned round = 0; round < 4; round++) {
        zk_program *program = squares(round < 2 ? 20011 : 5, round % 2 ? 1 : 3, 7);
        zk_key_scalars scalars;
        zk_columns columns;
        ZK_CHECK_OK(zk_columns_compute(&columns, program, &toxic.tau, NULL, &err), err);
        ZK_CHECK_OK(zk_key_scalars_create(&scalars, program, &toxic, test_pool, &err), err);
        size_t n_vars = columns.n_inputs + columns.n_aux, n_h = ((size_t)1 << columns.log2_n) - 1, n = 0;
        zk_fr *expected = malloc((n_h + n_vars) * sizeof *expected);
        zk_fr_inv_var(&expected[0], &toxic.delta);
        zk_fr_mul(&expected[0], &expected[0], &columns.t);
        for (size_t i = 1; i < n_h; i++) zk_fr_mul(&expected[i], &expected[i - 1], &toxic.tau);
        check_section(&scalars, ZK_PARAMS_H, expected, n_h);
        zk_key_scalars_done(&scalars, ZK_PARAMS_H);
        for (size_t i = 0; i < columns.n_aux; i++)
            weigh(&expected[i], &columns, columns.n_inputs + i, &toxic, &toxic.delta);
        check_section(&scalars, ZK_PARAMS_L, expected, columns.n_aux);
        zk_key_scalars_done(&scalars, ZK_PARAMS_L);
        for (int id = ZK_PARAMS_A; id < ZK_PARAMS_N_SECTIONS; id++) {
            const zk_fr *column = columns.value[id == ZK_PARAMS_A ? 0 : 1];
            for (size_t i = n = 0; i < n_vars; i++)
                if (!zk_fr_is_zero(&column[i])) expected[n++] = column[i];
            check_section(&scalars, (zk_params_section_id)id, expected, n);
            zk_key_scalars_done(&scalars, (zk_params_section_id)id);
        }
        ZK_CHECK(n == (round % 2 ? 1 : 1 + (size_t)(round < 2 ? 20010 : 4) * 2 / 3)); /* B has gaps */
        for (unsigned m = 0; m < 3; m++) ZK_CHECK(!scalars.columns.value[m]);         /* and all was given back */
        free(expected);
        zk_columns_clear(&columns);
        zk_key_scalars_clear(&scalars);
        zk_program_destroy(program);
    }
}

/* ---- points that would be infinity ---- */

static void expect_refusal(const zk_resident_program *resident, const zk_toxic_waste *toxic, const char *text) {
    zk_proving_key *key;
    zk_setup_result result;
    cuzk_err err = {0};
    const char *path = temp_path("infinity", ".params");
    zk_setup_options options = {.toxic = toxic, .params_path = path, .pool = test_pool};
    ZK_CHECK(zk_setup(&result, resident->program, &options, &err) == CUZK_BAD_INPUT);
    ZK_CHECKF(strstr(err.message, text), "%s", err.message);
    ZK_CHECK(access(path, F_OK) != 0);
    zk_err_reset(&err);
    ZK_CHECK(zk_proving_key_generate(&key, resident, toxic, test_pool, NULL, &err) == CUZK_BAD_INPUT);
    ZK_CHECKF(!key && strstr(err.message, text), "%s", err.message);
}

/* alpha = -(beta A + C)/B of a variable makes its beta A + alpha B + C zero. */
static void test_infinity(void) {
    static const size_t places[] = {0, 3, 4, 5000, 9000}; /* variables: two inputs, then aux */
    zk_program *program = squares(10000, 10001, 0);
    zk_resident_program *resident;
    zk_columns columns;
    zk_toxic_waste toxic = fixed_toxic();
    cuzk_err err = {0};
    test_open();
    ZK_CHECK_OK(zk_resident_program_load(&resident, test_backend, program, &err), err);
    ZK_CHECK_OK(zk_columns_compute(&columns, program, &toxic.tau, test_pool, &err), err);
    for (size_t k = 0; k < sizeof places / sizeof places[0]; k++) {
        zk_fr rest;
        char text[80];
        toxic.alpha = zk_fr_zero;
        ZK_CHECK(!zk_fr_is_zero(&columns.value[1][places[k]]));
        weigh(&rest, &columns, places[k], &toxic, &columns.value[1][places[k]]);
        zk_fr_neg(&toxic.alpha, &rest);
        if (places[k] == 0)
            strcpy(text, "toxic waste: ic of input 0 would be infinity");
        else
            snprintf(text, sizeof text, "toxic waste: point %zu of section l would be infinity", places[k] - 2);
        expect_refusal(resident, &toxic, text);
    }
    zk_columns_clear(&columns);
    zk_resident_program_unload(resident);
    zk_program_destroy(program);
}

/* x * 1 = y; x * 1 = z; y * 1 = x: A of x is L_0 + L_1, zero at tau = 2 w/(1 + w). */
static void test_cancelled_column(void) {
    const zk_explicit_term a[3] = {{0, zk_fr_one}, {0, zk_fr_one}, {1, zk_fr_one}},
                           b[3] = {{ZK_VAR_ONE, zk_fr_one}, {ZK_VAR_ONE, zk_fr_one}, {ZK_VAR_ONE, zk_fr_one}},
                           c[3] = {{1, zk_fr_one}, {2, zk_fr_one}, {0, zk_fr_one}};
    const size_t row[4] = {0, 1, 2, 3};
    const zk_explicit_matrix abc[3] = {{row, a}, {row, b}, {row, c}};
    zk_program *program;
    zk_resident_program *resident;
    zk_proving_key *key;
    zk_toxic_waste toxic = fixed_toxic();
    zk_fr w, t;
    cuzk_err err = {0};
    test_open();
    ZK_CHECK_OK(zk_program_from_rows(&program, "cancel", 2, 3, 3, abc, &err), err);
    ZK_CHECK_OK(zk_resident_program_load(&resident, test_backend, program, &err), err);
    ZK_CHECK_OK(zk_proving_key_generate(&key, resident, &toxic, test_pool, NULL, &err), err);
    zk_proving_key_destroy(key);
    zk_fr_root_of_unity(&w, resident->log2_n);
    zk_fr_add(&t, &w, &zk_fr_one);
    zk_fr_inv_var(&t, &t);
    zk_fr_double(&w, &w);
    zk_fr_mul(&toxic.tau, &w, &t);
    ZK_CHECK(zk_proving_key_generate(&key, resident, &toxic, test_pool, NULL, &err) == CUZK_BAD_INPUT);
    ZK_CHECKF(!key && strstr(err.message, "section a has 3 points other than infinity, expected 4"), "%s", err.message);
    zk_resident_program_unload(resident);
    zk_program_destroy(program);
}

/* ---- sections longer than what is made at a time ---- */

static unsigned n_asked, stop_at;
static bool stop(void *ctx) {
    (void)ctx;
    return ++n_asked == stop_at;
}

/* h has 2^19 - 1 points; interrupted in the middle of what is made at a time, and after it. */
static void test_long_section(void) {
    enum { SLICE = 1 << 16, N_H = (1 << 19) - 1 };
    static const unsigned stops[] = {4, 8, 0}; /* after the columns and 3 slices, and 7 */
    static const size_t places[] = {0,         1,         SLICE - 1,     SLICE,         2 * SLICE - 1, 2 * SLICE,
                                    4 * SLICE, 5 * SLICE, 6 * SLICE - 1, 6 * SLICE + 1, N_H - 2,       N_H - 1};
    zk_program *program = squares(9, 2, 1 << 18);
    zk_toxic_waste toxic = fixed_toxic();
    zk_setup_result result;
    zk_params *params;
    cuzk_err err = {0};
    test_open();
    const char *path = temp_path("long", ".params");
    zk_setup_options options = {
        .toxic = &toxic, .params_path = path, .pool = test_pool, .resumable = true, .cancelled = stop};
    for (unsigned k = 0; k < 3; k++) {
        stop_at = stops[k];
        n_asked = 0;
        options.backend = k == 1 ? test_backend : NULL; /* who makes them does not matter */
        cuzk_status status = zk_setup(&result, program, &options, &err);
        ZK_CHECKF(status == (stop_at ? CUZK_CANCELLED : CUZK_OK), "%s", err.message);
        zk_err_reset(&err);
    }
    ZK_CHECK(result.resumed_bytes == zk_vk_bytes(2) + 4 + (uint64_t)7 * SLICE * 96);
    ZK_CHECK_OK(zk_params_open(&params, path, NULL, &err), err);
    ZK_CHECK(params->section[ZK_PARAMS_H].n == N_H);
    zk_fr first, k;
    zk_fr_pow_u64(&first, &toxic.tau, 1 << 19);
    zk_fr_sub(&first, &first, &zk_fr_one);
    zk_fr_inv_var(&k, &toxic.delta);
    zk_fr_mul(&first, &first, &k);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        zk_g1 point;
        zk_g1_affine affine;
        uint8_t expected[96];
        zk_fr_pow_u64(&k, &toxic.tau, places[i]);
        zk_fr_mul(&k, &k, &first);
        zk_g1_from_affine(&point, &zk_g1_generator);
        zk_g1_mul_var(&point, &point, &k);
        zk_g1_to_affine(&affine, &point);
        zk_g1_serialize(expected, &affine);
        ZK_CHECKF(memcmp(params->bytes + params->section[ZK_PARAMS_H].offset + places[i] * 96, expected, 96) == 0,
                  "point %zu", places[i]);
    }
    zk_params_close(params);
    unlink(path);
    zk_program_destroy(program);
}

ZK_TEST_MAIN(ZK_CASE(test_scalars), ZK_CASE(test_infinity), ZK_CASE(test_cancelled_column), ZK_CASE(test_long_section))
