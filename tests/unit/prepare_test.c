/* Prepared keys: files made by transforms of points, keys made from toxic waste in closed form, and the proofs of both
 * against those of the vectors. */
#include "backend/arrays.h"
#include "base/cancel.h"
#include "groth16/prepare_impl.h"
#include "groth16_common.h"

typedef struct progress_log {
    unsigned calls;
    bool cancel_at_l;
} progress_log;

static void note_progress(void *ctx, const char *what, uint64_t done, uint64_t total) {
    progress_log *log = ctx;
    log->calls++;
    ZK_CHECK(what && *what && done <= total);
    if (log->cancel_at_l && strcmp(what, "writing l") == 0) zk_cancel_request(NULL);
}

static cuzk_status prepare_file(zk_prepare_result *result, const toy *t, const char *params_path, const char *path,
                                progress_log *log, cuzk_err *err) {
    zk_params *params = NULL;
    zk_prepare_options options = {
        .backend = test_backend, .pool = test_pool, .progress = log ? note_progress : NULL, .progress_ctx = log};
    cuzk_status status = zk_params_open(&params, params_path, NULL, err);
    if (status == CUZK_OK) status = zk_prepare(result, params, path, t->circuit.program, &options, err);
    zk_params_close(params);
    return status;
}

static void copy_file(const char *from, const char *to) {
    cuzk_err err = {0};
    bytes b = read_bytes(from);
    ZK_CHECK_OK(zk_file_write(to, b.data, b.n, &err), err);
    free(b.data);
}

/* A toy with its parameter file and its prepared key in the test's folder. */
typedef struct fixture {
    toy t;
    char params[512], prepared[512];
} fixture;

static fixture fixture_open(const char *name) {
    fixture f = {.t = toy_open(name)};
    zk_prepare_result result;
    progress_log log = {0};
    cuzk_err err = {0};
    strcpy(f.params, temp_path(name, ".params"));
    strcpy(f.prepared, temp_path(name, ".prepared"));
    copy_file(toy_path(name, ".params"), f.params);
    ZK_CHECK_OK(prepare_file(&result, &f.t, f.params, f.prepared, &log, &err), err);
    ZK_CHECK(log.calls > 5);
    bytes b = read_bytes(f.prepared), params = read_bytes(f.params);
    uint8_t sha256[32];
    ZK_CHECK(b.n == result.bytes && access(temp_path(name, ".prepared.partial"), F_OK) != 0);
    zk_sha256(sha256, params.data, params.n);
    ZK_CHECK_MEM(sha256, result.params_sha256, 32);
    zk_sha256(sha256, b.data, b.n - 32);
    ZK_CHECK_MEM(sha256, b.data + b.n - 32, 32);
    free(b.data);
    free(params.data);
    return f;
}

static void fixture_close(fixture *f) {
    unlink(f->params);
    unlink(f->prepared);
    toy_close(&f->t);
}

static void check_proofs(const toy *t, const zk_proving_key *key, const char *what) {
    const zk_json_value *list = zk_json_member_of(zk_json_root(t->json), "proofs");
    zk_prover *prover;
    cuzk_err err = {0};
    ZK_CHECK(key->form == ZK_KEY_PREPARED);
    ZK_CHECK_OK(zk_prover_create(&prover, key, test_pool, &err), err);
    ZK_CHECK(zk_json_count(list) == 4);
    for (size_t k = 0; k < 4; k++) {
        const zk_json_value *entry = zk_json_element_of(list, k);
        zk_blinding blinding;
        uint8_t proof[ZK_PROOF_BYTES], expected[ZK_PROOF_BYTES];
        json_proof(&blinding, expected, entry);
        zk_prove_request request = toy_request(t, &blinding);
        ZK_CHECK_OK(zk_prove(proof, prover, &request, NULL, &err), err);
        ZK_CHECKF(memcmp(proof, expected, sizeof expected) == 0, "%s: proof %zu", what, k);
    }
    zk_prover_destroy(prover);
}

/* Each point of the file is the multiple of the generator that the closed form says. */
static void check_section(const zk_key_scalars *scalars, zk_prepared_section_id id, const uint8_t *points, size_t n) {
    zk_multiples *multiples[2];
    zk_fr *s = malloc(n * sizeof *s);
    uint8_t *encoded = malloc(n * ZK_G1_UNCOMPRESSED_BYTES);
    cuzk_err err = {0};
    for (size_t at = 0; at < n; at += 700) { /* in pieces: any slice is asked for */
        size_t m = n - at < 700 ? n - at : 700;
        (id == ZK_PREPARED_G ? zk_key_scalars_get_g : zk_key_scalars_get_prepared_l)(scalars, s + at, at, m);
    }
    ZK_CHECK_OK(zk_key_multiples_create(multiples, scalars, test_backend, &err), err);
    ZK_CHECK_OK(zk_multiples_encode(multiples[ZK_G1], encoded, s, n, &err), err);
    for (size_t k = 0; k < n; k++)
        ZK_CHECKF(memcmp(encoded + k * ZK_G1_UNCOMPRESSED_BYTES, points + k * ZK_G1_UNCOMPRESSED_BYTES,
                         ZK_G1_UNCOMPRESSED_BYTES) == 0,
                  "section %s: point %zu", zk_prepared_section_name(id), k);
    zk_key_multiples_destroy(multiples);
    free(s);
    free(encoded);
}

/* Files and keys from toxic waste: the same points, and the proofs of the vectors with either. */
static void test_keys(void) {
    zk_toxic_waste toxic = fixed_toxic();
    for (size_t i = 0; i < N_TOYS; i++) {
        fixture f = fixture_open(toys[i]);
        zk_key_scalars scalars;
        zk_query_masks masks;
        zk_params *params;
        zk_prepared_params *prepared;
        zk_proving_key *key;
        cuzk_err err = {0};
        ZK_CHECK_OK(zk_query_masks_compute(&masks, f.t.circuit.program, test_pool, &err), err);
        ZK_CHECK_OK(zk_query_masks_prepare(&masks, f.t.circuit.program, &err), err);
        ZK_CHECK_OK(zk_params_open(&params, f.params, NULL, &err), err);
        ZK_CHECK_OK(zk_prepared_params_open(&prepared, f.prepared, params, f.t.circuit.program, &masks, &err), err);
        ZK_CHECK_OK(zk_prepared_params_verify(prepared, params, NULL, NULL, &err), err);
        ZK_CHECK_OK(zk_key_scalars_create(&scalars, f.t.circuit.program, &toxic, test_pool, &err), err);
        ZK_CHECK_OK(zk_key_scalars_prepare(&scalars, f.t.circuit.program, &err), err);
        ZK_CHECK(scalars.n_g == prepared->section[ZK_PREPARED_G].n);
        ZK_CHECK(scalars.n_prepared_l == prepared->section[ZK_PREPARED_L].n);
        check_section(&scalars, ZK_PREPARED_G, prepared->section[ZK_PREPARED_G].points, scalars.n_g);
        check_section(&scalars, ZK_PREPARED_L, prepared->section[ZK_PREPARED_L].points, scalars.n_prepared_l);
        zk_key_scalars_clear(&scalars);
        zk_prepared_params_close(prepared);
        zk_params_close(params);
        zk_query_masks_clear(&masks);

        ZK_CHECK_OK(zk_proving_key_load_prepared(&key, f.t.program, f.params, test_pool, NULL, &err), err);
        check_proofs(&f.t, key, toys[i]);
        zk_proving_key_destroy(key);
        ZK_CHECK_OK(zk_proving_key_generate_prepared(&key, f.t.program, &toxic, test_pool, NULL, &err), err);
        check_proofs(&f.t, key, toys[i]);
        zk_proving_key_destroy(key);
        fixture_close(&f);
    }
}

static void test_toxic_on_coset(void) {
    toy t = toy_open("bits-64");
    zk_toxic_waste toxic = fixed_toxic();
    zk_proving_key *key;
    cuzk_err err = {0};
    zk_fr w;
    zk_fr_root_of_unity(&w, t.program->log2_n);
    zk_fr_mul(&toxic.tau, &zk_fr_generator, &w);
    ZK_CHECK_OK(zk_proving_key_generate(&key, t.program, &toxic, test_pool, NULL, &err), err);
    zk_proving_key_destroy(key);
    ZK_CHECK(zk_proving_key_generate_prepared(&key, t.program, &toxic, test_pool, NULL, &err) == CUZK_BAD_INPUT);
    ZK_CHECKF(strstr(err.message, "coset"), "%s", err.message);
    toy_close(&t);
}

/* The row is the one that the plain prover names, public inputs are compared, and the prover goes on working. */
static void test_bad_witness(void) {
    fixture f = fixture_open("three-rows");
    zk_proving_key *key[2];
    zk_prover *prover[2];
    cuzk_err err = {0};
    uint8_t proof[ZK_PROOF_BYTES], wrong[2][32];
    ZK_CHECK_OK(zk_proving_key_load(&key[0], f.t.program, f.params, test_pool, NULL, &err), err);
    ZK_CHECK_OK(zk_proving_key_load_prepared(&key[1], f.t.program, f.params, test_pool, NULL, &err), err);
    for (int k = 0; k < 2; k++) ZK_CHECK_OK(zk_prover_create(&prover[k], key[k], test_pool, &err), err);
    for (size_t i = 0; i < f.t.circuit.n_hints; i++) {
        char message[2][sizeof err.message];
        f.t.circuit.hints[i][0] ^= 1;
        zk_prove_request request = toy_request(&f.t, NULL);
        request.publics = NULL;
        for (int k = 0; k < 2; k++) {
            memset(proof, 0xa5, sizeof proof);
            ZK_CHECKF(zk_prove(proof, prover[k], &request, NULL, &err) == CUZK_BAD_WITNESS, "hint %zu: %s", i,
                      err.message);
            strcpy(message[k], err.message);
            zk_err_reset(&err);
            ZK_CHECK(proof[0] == 0xa5 && proof[191] == 0xa5);
        }
        ZK_CHECKF(strcmp(message[0], message[1]) == 0, "%s, prepared: %s", message[0], message[1]);
        f.t.circuit.hints[i][0] ^= 1;
    }
    zk_prove_request request = toy_request(&f.t, NULL);
    memcpy(wrong, f.t.circuit.publics, sizeof wrong);
    wrong[0][0] ^= 1;
    request.publics = (const uint8_t(*)[32])wrong;
    ZK_CHECK(zk_prove(proof, prover[1], &request, NULL, &err) == CUZK_BAD_WITNESS);
    ZK_CHECKF(strstr(err.message, "public input 0 is"), "%s", err.message);
    zk_err_reset(&err);
    request = toy_request(&f.t, NULL);
    ZK_CHECK_OK(zk_prove(proof, prover[1], &request, NULL, &err), err);
    for (int k = 0; k < 2; k++) {
        zk_prover_destroy(prover[k]);
        zk_proving_key_destroy(key[k]);
    }
    fixture_close(&f);
}

/* From the assignment alone: the row that vectors over all rows tell, for each private value that is wrong. */
static void test_find_unsatisfied(void) {
    unsigned n_found = 0;
    for (size_t i = 0; i < N_TOYS; i++) {
        toy t = toy_open(toys[i]);
        const zk_program *p = t.circuit.program;
        cuzk_err err = {0};
        zk_fr *abc[3], *inputs = malloc(p->n_inputs * sizeof *inputs), *wide = malloc((p->n_wide + 1) * sizeof *wide);
        zk_witness w = {inputs, malloc((p->n_aux + 63) / 64 * 8 + 8), wide};
        for (int m = 0; m < 3; m++) abc[m] = malloc((p->n_rows + 1) * sizeof *abc[m]);
        for (size_t k = 0; k <= t.circuit.n_hints; k += 1 + k / 10) {
            size_t row, expected;
            if (k) t.circuit.hints[k - 1][0] ^= 1;
            cuzk_status status = zk_program_witness(p, (const uint8_t(*)[32])t.circuit.hints, &w, test_pool, &err);
            if (k) t.circuit.hints[k - 1][0] ^= 1;
            if (k && status == CUZK_BAD_INPUT) { /* no field element any more */
                zk_err_reset(&err);
                continue;
            }
            ZK_CHECK_OK(status, err);
            ZK_CHECK_OK(zk_program_eval(p, &w, abc[0], abc[1], abc[2], test_pool, &err), err);
            expected = zk_program_first_unsatisfied(abc[0], abc[1], abc[2], p->n_rows, test_pool);
            ZK_CHECK_OK(zk_program_find_unsatisfied(&row, p, &w, test_pool, &err), err);
            ZK_CHECKF(row == expected && (k > 0 || row == p->n_rows), "%s: %zu, row %zu, expected %zu", toys[i], k, row,
                      expected);
            n_found += row < p->n_rows;
        }
        for (int m = 0; m < 3; m++) free(abc[m]);
        free(inputs);
        free(wide);
        free(w.bits);
        toy_close(&t);
    }
    ZK_CHECK(n_found > 20);
}

/* ---- refusals ---- */

/* Where an entry or a buffer is not there, before a device is asked. */
static void test_array_refusals(void) {
    enum { N = 4, N_ROWS = 3, N_COEFS = 3 };
    const zk_sparse_entry good[] = {{0, 0}, {N_ROWS - 1, N_COEFS - 1}, {1, 1}};
    const uint32_t start[N + 1] = {0, 1, 1, 2, 3};
    zk_fr coefs[N_COEFS] = {zk_fr_one, zk_fr_one, zk_fr_generator};
    uint8_t encoded[N * 96];
    zk_g1_affine generators[N];
    zk_buffer *points, *rows;
    cuzk_err err = {0};
    size_t bad;
    test_open();
    for (int i = 0; i < N; i++) generators[i] = zk_g1_generator;
    for (int i = 0; i < N; i++) zk_g1_serialize(encoded + i * 96, &zk_g1_generator);
    ZK_CHECK_OK(zk_buffer_create(&points, test_backend, "points", sizeof generators, &err), err);
    ZK_CHECK_OK(zk_buffer_create(&rows, test_backend, "rows", N_ROWS * sizeof generators[0], &err), err);
    ZK_CHECK_OK(zk_buffer_upload(NULL, points, 0, generators, sizeof generators, &err), err);
    ZK_CHECK_OK(zk_buffer_upload(NULL, rows, 0, generators, N_ROWS * sizeof generators[0], &err), err);
    zk_sparse_columns columns = {N, N_COEFS, start, good, coefs};
    ZK_CHECK_OK(zk_array_add_columns(NULL, points, &columns, rows, &err), err);
    for (int k = 0; k < 6; k++) {
        zk_sparse_entry entries[3];
        uint32_t at[N + 1];
        memcpy(entries, good, sizeof entries);
        memcpy(at, start, sizeof at);
        if (k == 0) entries[1].row = N_ROWS;
        if (k == 1) entries[2].row = UINT32_MAX;
        if (k == 2) entries[0].coef = N_COEFS;
        if (k == 3) at[2] = 0;
        if (k == 4) at[0] = 4;
        if (k == 5) rows->lost = true;
        columns.start = at;
        columns.entries = entries;
        cuzk_status status = zk_array_add_columns(NULL, points, &columns, rows, &err);
        ZK_CHECKF(status == CUZK_INTERNAL && strstr(err.message, "sums of columns"), "case %d: %s", k, err.message);
        zk_err_reset(&err);
        rows->lost = false;
    }
    zk_buffer_discard(points);
    ZK_CHECK(zk_array_decode(NULL, points, 0, encoded, N, &bad, &err) == CUZK_INTERNAL);
    zk_err_reset(&err);
    ZK_CHECK(zk_array_encode(NULL, encoded, points, 0, N, &err) == CUZK_INTERNAL);
    zk_err_reset(&err);
    ZK_CHECK(zk_array_transform(NULL, points, 2, &zk_fr_one, &zk_fr_one, NULL, NULL, &err) == CUZK_INTERNAL);
    zk_err_reset(&err);
    ZK_CHECK(zk_buffer_upload(NULL, points, 0, generators, 96, &err) == CUZK_INTERNAL);
    zk_err_reset(&err);
    ZK_CHECK(zk_buffer_download(NULL, generators, points, 0, 96, &err) == CUZK_INTERNAL);
    ZK_CHECKF(strstr(err.message, "buffer points was discarded"), "%s", err.message);
    zk_buffer_destroy(points);
    zk_buffer_destroy(rows);
}

/* A buffer that was discarded may be written as a whole, and only then be read. */
static void test_discarded(void) {
    toy t = toy_open("bits-64");
    const zk_resident_program *r = t.program;
    const zk_program *p = r->program;
    zk_buffer *bits, *full, *v[3];
    uint8_t one[8];
    cuzk_err err = {0};
    size_t row;
    ZK_CHECK_OK(zk_buffer_create(&bits, test_backend, "bits", zk_witness_bits_bytes(p), &err), err);
    ZK_CHECK_OK(zk_buffer_create(&full, test_backend, "full", zk_witness_full_bytes(p), &err), err);
    for (int m = 0; m < 3; m++)
        ZK_CHECK_OK(zk_buffer_create(&v[m], test_backend, "rows", zk_domain_bytes(r), &err), err);
    zk_buffer *const all[] = {bits, full, v[0], v[1], v[2]};
    for (size_t i = 0; i < 5; i++) zk_buffer_discard(all[i]);
    ZK_CHECK(zk_stage_evaluate(NULL, r, bits, full, v[0], v[1], v[2], &err) == CUZK_INTERNAL);
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_stage_witness(NULL, r, (const uint8_t(*)[32])t.circuit.hints, bits, full, &err), err);
    ZK_CHECK(zk_stage_first_unsatisfied(NULL, r, v[0], v[1], v[2], &row, &err) == CUZK_INTERNAL);
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_stage_evaluate(NULL, r, bits, full, v[0], v[1], v[2], &err), err);
    ZK_CHECK_OK(zk_stage_first_unsatisfied(NULL, r, v[0], v[1], v[2], &row, &err), err);
    ZK_CHECK_OK(zk_backend_wait(test_backend, NULL, &err), err);
    ZK_CHECK(row == p->n_rows);
    zk_buffer_discard(v[1]);
    ZK_CHECK(zk_stage_quotient(NULL, r, v[0], v[1], v[2], &err) == CUZK_INTERNAL);
    zk_err_reset(&err);
    ZK_CHECK(zk_stage_products(NULL, r, v[0], v[1], &err) == CUZK_INTERNAL);
    zk_err_reset(&err);
    ZK_CHECK(zk_buffer_download(NULL, one, v[1], 0, sizeof one, &err) == CUZK_INTERNAL);
    for (size_t i = 0; i < 5; i++) zk_buffer_destroy(all[i]);
    toy_close(&t);
}

static void expect_refused(const fixture *f, const bytes *b, size_t n, const char *text) {
    zk_proving_key *key = NULL;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_file_write(f->prepared, b->data, n, &err), err);
    cuzk_status status = zk_proving_key_load_prepared(&key, f->t.program, f->params, test_pool, NULL, &err);
    ZK_CHECKF(status == CUZK_BAD_INPUT && !key, "expected a refusal with \"%s\"", text);
    ZK_CHECKF(strstr(err.message, ".prepared: ") && strstr(err.message, text), "expected \"%s\", found %s", text,
              err.message);
}

static void flip_and_expect(const fixture *f, const bytes *b, size_t at, const char *text) {
    b->data[at] ^= 1;
    expect_refused(f, b, b->n, text);
    b->data[at] ^= 1;
}

static void exchange_neighbours(uint8_t *points, size_t n) {
    for (size_t i = 0; i + 1 < n; i += 2) {
        uint8_t saved[96];
        memcpy(saved, points + i * 96, 96);
        memcpy(points + i * 96, points + (i + 1) * 96, 96);
        memcpy(points + (i + 1) * 96, saved, 96);
    }
}

static void test_damaged_files(void) {
    fixture f = fixture_open("bits-64");
    const bytes b = read_bytes(f.prepared);
    zk_proving_key *key;
    cuzk_err err = {0};
    const size_t n_g = (size_t)1 << f.t.program->log2_n, l_at = ZK_PREPARED_HEADER_BYTES + n_g * 96;
    flip_and_expect(&f, &b, 0, "not a prepared key");
    flip_and_expect(&f, &b, 14, "not a prepared key");
    flip_and_expect(&f, &b, 16, "length of the parameter file");
    flip_and_expect(&f, &b, 60, "verifying keys differ");
    flip_and_expect(&f, &b, 88, "log2 of the domain");
    flip_and_expect(&f, &b, 92, "inputs in C");
    flip_and_expect(&f, &b, 103, "aux variables");
    flip_and_expect(&f, &b, ZK_PREPARED_HEADER_BYTES + 5 * 96 + 95, "section g: point 5 of");
    flip_and_expect(&f, &b, l_at + 7 * 96 + 95, "section l: point 7 of");
    b.data[l_at] ^= 0x40;
    expect_refused(&f, &b, b.n, "section l: point 0 of");
    b.data[l_at] ^= 0x40;
    expect_refused(&f, &b, b.n - 1, "incomplete or damaged");
    expect_refused(&f, &b, l_at, "incomplete or damaged");
    expect_refused(&f, &b, ZK_PREPARED_HEADER_BYTES + 31, "");
    expect_refused(&f, &b, 0, "");

    /* Neighbours exchanged: every point is good, the proof does not hold and does not leave. */
    for (int id = 0; id < 2; id++) {
        uint8_t *first = b.data + (id ? l_at : ZK_PREPARED_HEADER_BYTES);
        zk_prover *prover;
        uint8_t proof[ZK_PROOF_BYTES] = {0};
        exchange_neighbours(first, 40);
        ZK_CHECK_OK(zk_file_write(f.prepared, b.data, b.n, &err), err);
        exchange_neighbours(first, 40);
        ZK_CHECK_OK(zk_proving_key_load_prepared(&key, f.t.program, f.params, test_pool, NULL, &err), err);
        ZK_CHECK_OK(zk_prover_create(&prover, key, test_pool, &err), err);
        zk_prove_request request = toy_request(&f.t, NULL);
        ZK_CHECKF(zk_prove(proof, prover, &request, NULL, &err) == CUZK_INTERNAL, "section %d", id);
        ZK_CHECKF(strstr(err.message, "is satisfied") && proof[0] == 0, "%s", err.message);
        zk_err_reset(&err);
        zk_prover_destroy(prover);
        zk_proving_key_destroy(key);
    }

    /* Another circuit's, and none at all. */
    copy_file(toy_path("random-1000", ".params"), temp_path("other", ".params"));
    copy_file(f.prepared, temp_path("other", ".prepared"));
    toy other = toy_open("random-1000");
    ZK_CHECK(zk_proving_key_load_prepared(&key, other.program, temp_path("other", ".params"), test_pool, NULL, &err) ==
             CUZK_BAD_INPUT);
    zk_err_reset(&err);
    unlink(temp_path("other", ".prepared"));
    ZK_CHECK(zk_proving_key_load_prepared(&key, other.program, temp_path("other", ".params"), test_pool, NULL, &err) ==
             CUZK_NOT_FOUND);
    ZK_CHECKF(strstr(err.message, "other.prepared"), "%s", err.message);
    unlink(temp_path("other", ".params"));
    toy_close(&other);
    free(b.data);
    fixture_close(&f);
}

static void test_verify_digests(void) {
    fixture f = fixture_open("bits-64");
    zk_query_masks masks;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_query_masks_compute(&masks, f.t.circuit.program, test_pool, &err), err);
    ZK_CHECK_OK(zk_query_masks_prepare(&masks, f.t.circuit.program, &err), err);
    for (int damaged = 0; damaged < 3; damaged++) {
        zk_params *params;
        zk_prepared_params *prepared;
        bytes b = read_bytes(damaged == 2 ? f.params : f.prepared);
        if (damaged) {
            b.data[b.n / 2] ^= 1;
            ZK_CHECK_OK(zk_file_write(damaged == 2 ? f.params : f.prepared, b.data, b.n, &err), err);
        }
        ZK_CHECK_OK(zk_params_open(&params, f.params, NULL, &err), err);
        ZK_CHECK_OK(zk_prepared_params_open(&prepared, f.prepared, params, f.t.circuit.program, &masks, &err), err);
        cuzk_status status = zk_prepared_params_verify(prepared, params, NULL, NULL, &err);
        ZK_CHECK(status == (damaged ? CUZK_CHECK_FAILED : CUZK_OK));
        if (damaged) ZK_CHECKF(strstr(err.message, damaged == 2 ? ".params: " : ".prepared: "), "%s", err.message);
        zk_err_reset(&err);
        zk_prepared_params_close(prepared);
        zk_params_close(params);
        if (damaged) {
            b.data[b.n / 2] ^= 1;
            ZK_CHECK_OK(zk_file_write(damaged == 2 ? f.params : f.prepared, b.data, b.n, &err), err);
        }
        free(b.data);
    }
    zk_query_masks_clear(&masks);
    fixture_close(&f);
}

/* ---- preparing that fails ---- */

/* Any two points exchanged, in either section: the random combinations tell. */
static void test_check_finds(void) {
    fixture f = fixture_open("bits-64");
    bytes b = read_bytes(f.prepared);
    zk_query_masks masks;
    zk_prepare_order order;
    zk_params *params;
    zk_prepare_sums sums;
    zk_prepare_options options = {.backend = test_backend, .pool = test_pool};
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_query_masks_compute(&masks, f.t.circuit.program, test_pool, &err), err);
    ZK_CHECK_OK(zk_query_masks_prepare(&masks, f.t.circuit.program, &err), err);
    ZK_CHECK_OK(zk_prepare_order_make(&order, f.t.circuit.program, &err), err);
    ZK_CHECK_OK(zk_params_open(&params, f.params, NULL, &err), err);
    ZK_CHECK_OK(zk_prepare_sums_open(&sums, params, &order, f.t.program->log2_n, &options, &err), err);
    const size_t n_g = (size_t)1 << f.t.program->log2_n, l_at = ZK_PREPARED_HEADER_BYTES + n_g * 96;
    const size_t at[] = {0, ZK_PREPARED_HEADER_BYTES, l_at - 2 * 96, l_at, l_at + 96, b.n - 32 - 2 * 96};
    for (size_t k = 0; k < sizeof at / sizeof at[0]; k++) {
        zk_prepared_params *prepared;
        if (k) exchange_neighbours(b.data + at[k], 2);
        ZK_CHECK_OK(zk_file_write(f.prepared, b.data, b.n, &err), err);
        ZK_CHECK_OK(zk_prepared_params_open(&prepared, f.prepared, params, f.t.circuit.program, &masks, &err), err);
        cuzk_status status = zk_prepare_check(&sums, prepared, &err);
        ZK_CHECKF(status == (k ? CUZK_CHECK_FAILED : CUZK_OK), "case %zu: %s", k, err.message);
        if (k) ZK_CHECKF(strstr(err.message, at[k] < l_at ? "section g" : "section l"), "%s", err.message);
        zk_err_reset(&err);
        zk_prepared_params_close(prepared);
        if (k) exchange_neighbours(b.data + at[k], 2);
    }
    zk_prepare_sums_close(&sums);
    zk_params_close(params);
    zk_prepare_order_clear(&order);
    zk_query_masks_clear(&masks);
    free(b.data);
    fixture_close(&f);
}

/* A point of the curve outside the subgroup. */
static void outside(uint8_t encoded[96]) {
    zk_g1_affine p;
    uint8_t x[48] = {0x80};
    for (uint8_t low = 1;; low++) {
        x[47] = low;
        if (zk_g1_decompress(&p, x, false) == ZK_POINT_OK && !zk_g1_affine_is_in_subgroup(&p)) break;
    }
    zk_g1_serialize(encoded, &p);
}

static void expect_no_file(const fixture *f, bytes *b, cuzk_status expected, const char *text) {
    zk_prepare_result result;
    cuzk_err err = {0};
    char params[512], prepared[512];
    strcpy(params, temp_path("bad", ".params"));
    strcpy(prepared, temp_path("bad", ".prepared"));
    ZK_CHECK_OK(zk_file_write(params, b->data, b->n, &err), err);
    cuzk_status status = prepare_file(&result, &f->t, params, prepared, NULL, &err);
    ZK_CHECKF(status == expected, "expected \"%s\", status %d: %s", text, (int)status, err.message);
    ZK_CHECKF(strstr(err.message, text), "expected \"%s\", found %s", text, err.message);
    ZK_CHECK(access(prepared, F_OK) != 0 && access(temp_path("bad", ".prepared.partial"), F_OK) != 0);
    unlink(params);
}

static void test_refused_parameters(void) {
    fixture f = fixture_open("bits-64");
    bytes b = read_bytes(f.params);
    zk_params *params;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_params_open_bytes(&params, "b", b.data, b.n, NULL, &err), err);
    const zk_params_section_id ids[2] = {ZK_PARAMS_H, ZK_PARAMS_L};
    for (int i = 0; i < 2; i++) {
        uint8_t *point = b.data + params->section[ids[i]].offset + 3 * 96, saved[96];
        char text[64];
        memcpy(saved, point, 96);
        outside(point);
        if (i == 0) expect_no_file(&f, &b, CUZK_CHECK_FAILED, "not in the subgroup"); /* l is added, never multiplied */
        memcpy(point, saved, 96);
        point[95] ^= 1;
        snprintf(text, sizeof text, "section %s: point 3 of", zk_params_section_name(ids[i]));
        expect_no_file(&f, &b, CUZK_BAD_INPUT, text);
        memcpy(point, saved, 96);
    }
    zk_params_close(params);
    free(b.data);
    b = read_bytes(toy_path("random-1000", ".params"));
    expect_no_file(&f, &b, CUZK_BAD_INPUT, "circuit");
    free(b.data);
    fixture_close(&f);
}

static void test_cancelled(void) {
    fixture f = fixture_open("bits-64");
    zk_prepare_result result;
    cuzk_err err = {0};
    progress_log log = {.cancel_at_l = true};
    bytes before = read_bytes(f.prepared);
    ZK_CHECK(prepare_file(&result, &f.t, f.params, f.prepared, &log, &err) == CUZK_CANCELLED);
    zk_cancel_clear(NULL);
    bytes after = read_bytes(f.prepared); /* the old one is as it was */
    ZK_CHECK(before.n == after.n && memcmp(before.data, after.data, after.n) == 0);
    ZK_CHECK(access(temp_path("bits-64", ".prepared.partial"), F_OK) != 0);
    free(before.data);
    free(after.data);
    fixture_close(&f);
}

static void test_paths(void) {
    static const char *const cases[][2] = {{"a/v28-x.params", "a/v28-x.prepared"},
                                           {"x.params.old", "x.params.old.prepared"},
                                           {".params", ".params.prepared"},
                                           {"x", "x.prepared"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *path;
        cuzk_err err = {0};
        ZK_CHECK_OK(zk_prepared_path(&path, cases[i][0], &err), err);
        ZK_CHECKF(strcmp(path, cases[i][1]) == 0, "%s: %s", cases[i][0], path);
        free(path);
    }
}

ZK_TEST_MAIN(ZK_CASE(test_keys), ZK_CASE(test_toxic_on_coset), ZK_CASE(test_bad_witness), ZK_CASE(test_damaged_files),
             ZK_CASE(test_verify_digests), ZK_CASE(test_check_finds), ZK_CASE(test_refused_parameters),
             ZK_CASE(test_cancelled), ZK_CASE(test_paths), ZK_CASE(test_find_unsatisfied), ZK_CASE(test_array_refusals),
             ZK_CASE(test_discarded))
