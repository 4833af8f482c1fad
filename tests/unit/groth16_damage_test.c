/* Damaged and foreign key files and proofs: each refusal names the place. */
#include "groth16_common.h"

static const char *const section_names[ZK_PARAMS_N_SECTIONS] = {"h", "l", "a", "b_g1", "b_g2"};

typedef struct fixture {
    toy t;
    bytes file;
    zk_query_masks masks;
    zk_params_counts counts;
    zk_params_section section[ZK_PARAMS_N_SECTIONS];
    size_t vk_bytes;
} fixture;

static fixture fixture_open(const char *name) {
    fixture f;
    zk_params *params;
    cuzk_err err = {0};
    f.t = toy_open(name);
    f.file = read_bytes(toy_path(name, ".params"));
    ZK_CHECK_OK(zk_query_masks_compute(&f.masks, f.t.circuit.program, test_pool, &err), err);
    ZK_CHECK_OK(zk_params_counts_of(&f.counts, f.t.circuit.program, &f.masks.stats, &err), err);
    ZK_CHECK_OK(zk_params_open_bytes(&params, "f", f.file.data, f.file.n, &f.counts, &err), err);
    memcpy(f.section, params->section, sizeof f.section);
    f.vk_bytes = params->vk_bytes;
    ZK_CHECK_OK(zk_params_check(params, test_pool, NULL, NULL, &err), err);
    zk_params_close(params);
    return f;
}

static void fixture_close(fixture *f) {
    zk_query_masks_clear(&f->masks);
    free(f->file.data);
    toy_close(&f->t);
}

/* Loads the key; the file must be refused with BAD_INPUT and with both texts in the message. */
static void expect_refused(const fixture *f, size_t n_bytes, bool knows_circuit, const char *text, const char *text2) {
    zk_params *params = NULL;
    zk_proving_key *key = NULL;
    cuzk_err err = {0};
    cuzk_status status =
        zk_params_open_bytes(&params, "key-file", f->file.data, n_bytes, knows_circuit ? &f->counts : NULL, &err);
    if (status == CUZK_OK) status = zk_proving_key_load_files(&key, f->t.program, params, NULL, &f->masks, NULL, &err);
    ZK_CHECKF(status == CUZK_BAD_INPUT, "expected a refusal with %s", text);
    ZK_CHECK(!key);
    ZK_CHECKF(strstr(err.message, "key-file: ") == err.message, "%s", err.message);
    ZK_CHECKF(strstr(err.message, text) && strstr(err.message, text2), "expected %s, %s; found %s", text, text2,
              err.message);
    zk_params_close(params);
}

static void test_truncated(void) {
    fixture f = fixture_open("random-1000");
    char text[64];
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++) {
        size_t n = zk_params_point_bytes((zk_params_section_id)id), start = f.section[id].count_offset;
        size_t end = f.section[id].offset + f.section[id].n * n;
        snprintf(text, sizeof text, "section %s: count at offset %zu", section_names[id], start);
        const size_t cuts[] = {start,       start + 3, start + 4, f.section[id].offset + n / 2,
                               end - n / 2, end - n,   end - 1};
        for (size_t k = 0; k < sizeof cuts / sizeof cuts[0]; k++)
            for (int knows = 0; knows < 2; knows++) expect_refused(&f, cuts[k], knows, text, "file ends at");
    }
    for (size_t k = 0; k < f.vk_bytes; k += k < 860 ? 43 : 1) expect_refused(&f, k, true, "section vk", "");
    /* one byte behind the end */
    f.file.data = realloc(f.file.data, f.file.n + 1);
    f.file.data[f.file.n] = 0;
    expect_refused(&f, f.file.n + 1, false, "section b_g2", "nothing behind it");
    expect_refused(&f, f.file.n + 1, true, "section b_g2", "nothing behind it");
    fixture_close(&f);
}

static void test_counts(void) {
    fixture f = fixture_open("random-1000");
    char text[64], found[64];
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++)
        for (int d = -1; d <= 1; d += 2) {
            uint8_t *count = f.file.data + f.section[id].count_offset;
            uint32_t n = f.section[id].n;
            zk_store_be32(count, n + (uint32_t)d);
            snprintf(text, sizeof text, "section %s: count at offset %zu", section_names[id],
                     (size_t)f.section[id].count_offset);
            snprintf(found, sizeof found, "found %u points, circuit random-1000 needs %u", n + (uint32_t)d, n);
            expect_refused(&f, f.file.n, true, text, found);
            expect_refused(&f, f.file.n, false, "section ", "");
            zk_store_be32(count, n);
        }
    uint8_t *inputs = f.file.data + ZK_VK_HEADER_BYTES - 4;
    static const uint32_t wrong[] = {0, 7, 9, 1u << 31, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        zk_store_be32(inputs, wrong[i]);
        expect_refused(&f, f.file.n, true, "section vk", "");
    }
    fixture_close(&f);
}

/* One bit, in turn in many points of each section. */
static void test_flipped_bits(void) {
    fixture f = fixture_open("random-1000");
    uint64_t seed = 7;
    char text[64], offset[64];
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++) {
        size_t n = zk_params_point_bytes((zk_params_section_id)id);
        for (unsigned k = 0; k < 24; k++) {
            size_t index = k == 0 ? 0 : k == 1 ? f.section[id].n - 1 : zk_test_rand(&seed) % f.section[id].n;
            size_t bit = k < 8 ? k : zk_test_rand(&seed) % (n * 8), at = f.section[id].offset + index * n;
            f.file.data[at + bit / 8] ^= 0x80 >> bit % 8;
            snprintf(text, sizeof text, "section %s: point %zu of %u", section_names[id], index, f.section[id].n);
            snprintf(offset, sizeof offset, "at offset %zu: ", at);
            expect_refused(&f, f.file.n, true, text, offset);
            f.file.data[at + bit / 8] ^= 0x80 >> bit % 8;
        }
    }
    for (size_t at = 0; at < f.vk_bytes; at += 17) {
        if (at >= ZK_VK_HEADER_BYTES - 4 && at < ZK_VK_HEADER_BYTES) continue;
        f.file.data[at] ^= 1 << at % 8;
        expect_refused(&f, f.file.n, true, "section vk", "at offset ");
        f.file.data[at] ^= 1 << at % 8;
    }
    fixture_close(&f);
}

/* Points that are on the curve but not in the group. (0, 2) has order 3. */
static void outside_g1(uint8_t encoded[96], bool negative) {
    memset(encoded, 0, 96);
    encoded[95] = 2;
    if (negative) {
        zk_fp y;
        ZK_CHECK(zk_fp_from_bytes_be(&y, encoded + 48));
        zk_fp_neg(&y, &y);
        zk_fp_to_bytes_be(encoded + 48, &y);
    }
}
static void outside_g2(uint8_t encoded[192]) {
    zk_g2_affine p;
    zk_fp2 b = {zk_fp_one, zk_fp_one}, t;
    zk_fp2_double(&b, &b);
    zk_fp2_double(&b, &b);
    p.x = zk_fp2_zero;
    for (;;) {
        zk_fp2_sqr(&t, &p.x);
        zk_fp2_mul(&t, &t, &p.x);
        zk_fp2_add(&t, &t, &b);
        if (zk_fp2_sqrt_var(&p.y, &t)) break;
        zk_fp2_add(&p.x, &p.x, &zk_fp2_one);
    }
    ZK_CHECK(zk_g2_affine_is_on_curve(&p) && !zk_g2_affine_is_in_subgroup(&p));
    zk_g2_serialize(encoded, &p);
}

/* zk_params_check must refuse point `index` of a section. */
static void expect_check_finds(const uint8_t *file, size_t n, int id, size_t index, const char *why) {
    zk_params *params;
    cuzk_err err = {0};
    char text[64];
    ZK_CHECK_OK(zk_params_open_bytes(&params, "key-file", file, n, NULL, &err), err);
    cuzk_status status = zk_params_check(params, test_pool, NULL, NULL, &err);
    ZK_CHECKF(status == CUZK_CHECK_FAILED && cuzk_status_exit_code(status) == 1, "%s", err.message);
    snprintf(text, sizeof text, "section %s: point %zu of ", section_names[id], index);
    ZK_CHECKF(strstr(err.message, text) && strstr(err.message, why), "expected %s %s, found %s", text, why,
              err.message);
    zk_params_close(params);
}

static void test_outside_the_group(void) {
    fixture f = fixture_open("random-1000");
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++) {
        size_t n = zk_params_point_bytes((zk_params_section_id)id), index = f.section[id].n / 3;
        uint8_t *at = f.file.data + f.section[id].offset + index * n, saved[192];
        memcpy(saved, at, n);
        if (n == 96)
            outside_g1(at, false);
        else
            outside_g2(at);
        expect_check_finds(f.file.data, f.file.n, id, index, "subgroup");
        memset(at, 0, n);
        at[0] = 0x40;
        expect_check_finds(f.file.data, f.file.n, id, index, "infinity");
        char text[64];
        snprintf(text, sizeof text, "section %s: point %zu of ", section_names[id], index);
        expect_refused(&f, f.file.n, true, text, "infinity");
        /* x = 0 written as p: the point would be (0, 2) */
        static const char p_hex[] = "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffff"
                                    "b9feffffffffaaab";
        if (n == 96) {
            outside_g1(at, false);
            ZK_CHECK(zk_hex_decode(at, 48, p_hex));
        } else {
            ZK_CHECK(zk_hex_decode(at + 48, 48, p_hex));
            at[0] = 0;
        }
        expect_check_finds(f.file.data, f.file.n, id, index, zk_point_verdict_text(ZK_POINT_NOT_CANONICAL));
        expect_refused(&f, f.file.n, true, text, zk_point_verdict_text(ZK_POINT_NOT_CANONICAL));
        memcpy(at, saved, n);
    }
    /* in the verifying key the group is always tested */
    outside_g1(f.file.data, false);
    expect_refused(&f, f.file.n, true, "section vk: alpha in G1", "subgroup");
    fixture_close(&f);
}

/* A section so long that the check goes by sums: two opposite points of order 3 far apart are still found. */
static void test_outside_the_group_by_sums(void) {
    enum { N = 16500 };
    fixture f = fixture_open("three-rows");
    size_t h_bytes = (size_t)N * 96, old_h = 4 + f.section[ZK_PARAMS_H].n * (size_t)96,
           n = f.file.n - old_h + 4 + h_bytes;
    uint8_t *file = malloc(n), *h = file + f.section[ZK_PARAMS_H].offset;
    zk_g1 *jacobian = malloc(N * sizeof *jacobian);
    zk_g1_affine *affine = malloc(N * sizeof *affine);
    zk_params *params;
    cuzk_err err = {0};
    zk_g1_from_affine(&jacobian[0], &zk_g1_generator);
    for (size_t i = 1; i < N; i++) zk_g1_add_affine(&jacobian[i], &jacobian[i - 1], &zk_g1_generator);
    zk_g1_batch_to_affine(affine, jacobian, N);
    memcpy(file, f.file.data, f.section[ZK_PARAMS_H].count_offset);
    zk_store_be32(h - 4, N);
    for (size_t i = 0; i < N; i++) zk_g1_serialize(h + i * 96, &affine[i]);
    memcpy(h + h_bytes, f.file.data + f.section[ZK_PARAMS_L].count_offset,
           f.file.n - f.section[ZK_PARAMS_L].count_offset);
    ZK_CHECK_OK(zk_params_open_bytes(&params, "long", file, n, NULL, &err), err);
    ZK_CHECK_OK(zk_params_check(params, test_pool, NULL, NULL, &err), err);
    zk_params_close(params);

    outside_g1(h + (size_t)96 * 12345, false);
    outside_g1(h + (size_t)96 * 16450, true);
    ZK_CHECK_OK(zk_params_open_bytes(&params, "key-file", file, n, NULL, &err), err);
    ZK_CHECK(zk_params_check(params, test_pool, NULL, NULL, &err) == CUZK_CHECK_FAILED);
    ZK_CHECKF(strstr(err.message, "section h: point 12345 of ") || strstr(err.message, "section h: point 16450 of "),
              "%s", err.message);
    zk_params_close(params);
    zk_g1_serialize(h + (size_t)96 * 12345, &affine[12345]);
    zk_g1_serialize(h + (size_t)96 * 16450, &affine[16450]);

    /* one alone, wherever it is, by both codes */
    static const size_t places[] = {0, 8191, 8192, 16383, 16384, N - 1};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        uint8_t *at = h + 96 * places[i];
        outside_g1(at, i % 2);
        if (i == 3) ZK_CHECK(setenv("CUZK_CPU", "portable", 1) == 0);
        expect_check_finds(file, n, ZK_PARAMS_H, places[i], "subgroup");
        unsetenv("CUZK_CPU");
        at[95] ^= 1;
        expect_check_finds(file, n, ZK_PARAMS_H, places[i], zk_point_verdict_text(ZK_POINT_NOT_ON_CURVE));
        zk_g1_serialize(at, &affine[places[i]]);
    }
    /* a whole block of points of order 3, and their opposites at the same places of the next */
    for (size_t i = 0; i < 16384; i++) outside_g1(h + 96 * i, i >= 8192);
    ZK_CHECK_OK(zk_params_open_bytes(&params, "key-file", file, n, NULL, &err), err);
    ZK_CHECK(zk_params_check(params, test_pool, NULL, NULL, &err) == CUZK_CHECK_FAILED);
    ZK_CHECKF(strstr(err.message, "section h: point ") && strstr(err.message, "subgroup"), "%s", err.message);
    zk_params_close(params);
    free(file);
    free(jacobian);
    free(affine);
    fixture_close(&f);
}

static void test_other_circuit(void) {
    fixture f = fixture_open("random-1017");
    zk_proving_key *key;
    zk_vk vk;
    cuzk_err err = {0};
    /* as many inputs, one row more, twice the domain */
    const char *path = toy_path("random-1018", ".params");
    ZK_CHECK(zk_proving_key_load(&key, f.t.program, path, test_pool, NULL, &err) == CUZK_BAD_INPUT);
    ZK_CHECKF(strstr(err.message, path) && strstr(err.message, "random-1017") && strstr(err.message, "section h"), "%s",
              err.message);
    zk_err_reset(&err);
    path = toy_path("random-1000", ".params");
    ZK_CHECK(zk_proving_key_load(&key, f.t.program, path, test_pool, NULL, &err) == CUZK_BAD_INPUT);
    ZK_CHECKF(strstr(err.message, path) && strstr(err.message, "random-1017") && strstr(err.message, "section vk"),
              "%s", err.message);
    zk_err_reset(&err);
    path = toy_path("random-1000", ".vk");
    ZK_CHECK_OK(zk_vk_read(&vk, path, &err), err);
    ZK_CHECK(zk_vk_match(&vk, path, "random-1017", f.t.circuit.program->n_inputs, &err) == CUZK_BAD_INPUT);
    zk_vk_clear(&vk);
    zk_err_reset(&err);
    ZK_CHECK(zk_proving_key_load(&key, f.t.program, temp_path("absent", ".params"), test_pool, NULL, &err) ==
             CUZK_NOT_FOUND);
    ZK_CHECK(strstr(err.message, "absent.params"));
    zk_err_reset(&err);
    ZK_CHECK(zk_proving_key_load(&key, f.t.program, test_folder, test_pool, NULL, &err) == CUZK_BAD_INPUT);
    fixture_close(&f);
}

static void test_vk_files(void) {
    bytes b = read_bytes(toy_path("three-rows", ".vk"));
    const char *path = temp_path("damaged", ".vk");
    zk_vk vk;
    cuzk_err err = {0};
    test_open();
    b.data = realloc(b.data, b.n + 1);
    b.data[b.n] = 0;
    for (size_t n = 0; n <= b.n + 1; n += n + 100 < b.n ? 91 : 1) {
        ZK_CHECK_OK(zk_file_write(path, b.data, n, &err), err);
        cuzk_status status = zk_vk_read(&vk, path, &err);
        ZK_CHECKF((status == CUZK_OK) == (n == b.n), "%zu bytes: %s", n, err.message);
        if (status == CUZK_OK) {
            uint8_t *again = malloc(b.n);
            zk_vk_encode(again, &vk);
            ZK_CHECK_MEM(again, b.data, b.n);
            free(again);
            zk_vk_clear(&vk);
        } else {
            ZK_CHECK(status == CUZK_BAD_INPUT && strstr(err.message, path) && strstr(err.message, "section vk"));
        }
        zk_err_reset(&err);
    }
    unlink(path);
    free(b.data);
}

/* ---- proofs ---- */

static void test_proofs(void) {
    toy t = toy_open("random-1000");
    size_t n_publics = t.circuit.n_publics;
    const uint8_t(*in)[32] = (const uint8_t(*)[32])t.circuit.publics;
    uint8_t good[2 * ZK_PROOF_BYTES], bad[2 * ZK_PROOF_BYTES], point[192];
    zk_vk vk;
    zk_prepared_vk *prepared;
    cuzk_err err = {0};
    json_hex(good, ZK_PROOF_BYTES, zk_json_element_of(zk_json_member_of(zk_json_root(t.json), "proofs"), 1), "proof");
    memcpy(good + ZK_PROOF_BYTES, good, ZK_PROOF_BYTES);
    ZK_CHECK_OK(zk_vk_read(&vk, toy_path("random-1000", ".vk"), &err), err);
    ZK_CHECK_OK(zk_prepared_vk_create(&prepared, &vk, "random-1000.vk", &err), err);
    ZK_CHECK_OK(zk_verify(prepared, good, ZK_PROOF_BYTES, in, n_publics, test_pool, &err), err);
    ZK_CHECK_OK(zk_verify(prepared, good, ZK_PROOF_BYTES, in, n_publics, NULL, &err), err);

    for (size_t bit = 0; bit < 8 * ZK_PROOF_BYTES; bit += bit % 384 < 8 ? 1 : 5) {
        memcpy(bad, good, sizeof bad);
        bad[bit / 8] ^= 0x80 >> bit % 8;
        ZK_CHECKF(zk_verify(prepared, bad, ZK_PROOF_BYTES, in, n_publics, NULL, &err) == CUZK_BAD_PROOF, "bit %zu",
                  bit);
        zk_err_reset(&err);
    }
    static const size_t lengths[] = {0, 1, 48, 191, 193, 384};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        ZK_CHECK(zk_verify(prepared, good, lengths[i], in, n_publics, NULL, &err) == CUZK_BAD_PROOF);
        ZK_CHECK(strstr(err.message, "bytes"));
        zk_err_reset(&err);
    }
    ZK_CHECK(zk_verify_batch(prepared, good, 0, 0, in, n_publics, NULL, &err) == CUZK_BAD_PROOF);
    zk_err_reset(&err);

    static const struct {
        const char *name;
        size_t offset, n;
    } points[] = {{"point A at offset 0", 0, 48}, {"point B at offset 48", 48, 96}, {"point C at offset 144", 144, 48}};
    for (unsigned i = 0; i < 3; i++)
        for (unsigned kind = 0; kind < 3; kind++) {
            memcpy(bad, good, sizeof bad);
            uint8_t *at = bad + points[i].offset;
            if (kind == 0) { /* infinity, well encoded */
                memset(at, 0, points[i].n);
                at[0] = 0xc0;
            } else if (kind == 1) { /* x >= p */
                memset(at, 0xff, points[i].n);
                at[0] = 0x9f;
            } else if (points[i].n == 48) {
                zk_g1_affine p;
                outside_g1(point, false);
                ZK_CHECK(zk_g1_deserialize(&p, point, false) == ZK_POINT_OK);
                zk_g1_compress(at, &p);
            } else {
                zk_g2_affine p;
                outside_g2(point);
                ZK_CHECK(zk_g2_deserialize(&p, point, false) == ZK_POINT_OK);
                zk_g2_compress(at, &p);
            }
            ZK_CHECK(zk_verify(prepared, bad, ZK_PROOF_BYTES, in, n_publics, NULL, &err) == CUZK_BAD_PROOF);
            ZK_CHECKF(strstr(err.message, points[i].name), "%s", err.message);
            zk_err_reset(&err);
        }

    /* public inputs */
    ZK_CHECK(zk_verify(prepared, good, ZK_PROOF_BYTES, in, n_publics - 1, NULL, &err) == CUZK_BAD_INPUT);
    zk_err_reset(&err);
    uint8_t(*more)[32] = calloc(n_publics + 1, 32);
    memcpy(more, in, n_publics * 32);
    ZK_CHECK(zk_verify(prepared, good, ZK_PROOF_BYTES, (const uint8_t(*)[32])more, n_publics + 1, NULL, &err) ==
             CUZK_BAD_INPUT);
    zk_err_reset(&err);
    /* the same value mod r: x + r, where it fits 32 bytes */
    unsigned carry = 0;
    for (unsigned k = 0; k < 32; k++) {
        unsigned sum = more[2][k] + (unsigned)(zk_fr_modulus[k / 8] >> 8 * (k % 8) & 0xff) + carry;
        more[2][k] = (uint8_t)sum;
        carry = sum >> 8;
    }
    ZK_CHECK(carry == 0);
    ZK_CHECK(zk_verify(prepared, good, ZK_PROOF_BYTES, (const uint8_t(*)[32])more, n_publics, NULL, &err) ==
             CUZK_BAD_INPUT);
    ZK_CHECKF(strstr(err.message, "public input 2"), "%s", err.message);
    free(more);
    zk_prepared_vk_destroy(prepared);
    zk_vk_clear(&vk);
    toy_close(&t);
}

ZK_TEST_MAIN(ZK_CASE(test_truncated), ZK_CASE(test_counts), ZK_CASE(test_flipped_bits), ZK_CASE(test_outside_the_group),
             ZK_CASE(test_outside_the_group_by_sums), ZK_CASE(test_other_circuit), ZK_CASE(test_vk_files),
             ZK_CASE(test_proofs))
