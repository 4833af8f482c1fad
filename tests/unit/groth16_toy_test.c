/* Every explicit circuit of the vectors: structure, keys, proofs and refusals, byte by byte. */
#include "groth16_common.h"

#include "program/digest.h"

static void test_structure(void) {
    for (size_t i = 0; i < N_TOYS; i++) {
        toy t = toy_open(toys[i]);
        const zk_json_value *root = zk_json_root(t.json), *sha = zk_json_member_of(root, "sha256");
        zk_structure_digest digest;
        cuzk_err err = {0};
        ZK_CHECK_OK(zk_structure_digest_make(&digest, t.circuit.program, 0, test_pool, &err), err);
        for (unsigned m = 0; m < 3; m++) {
            uint8_t expected[32];
            json_hex(expected, 32, sha, (const char *const[]){"A", "B", "C"}[m]);
            ZK_CHECKF(memcmp(digest.sha256[m], expected, 32) == 0, "%s matrix %u", toys[i], m);
        }
        zk_structure_digest_free(&digest);
        toy_close(&t);
    }
}

static void test_setup(void) {
    zk_toxic_waste toxic = fixed_toxic();
    for (size_t i = 0; i < N_TOYS; i++) {
        toy t = toy_open(toys[i]);
        cuzk_err err = {0};
        zk_setup_result result;
        char params[512], vk[512];
        strcpy(params, temp_path(toys[i], ".params"));
        strcpy(vk, temp_path(toys[i], ".vk"));
        zk_setup_options options = {.toxic = &toxic,
                                    .params_path = params,
                                    .vk_path = vk,
                                    .backend = i % 2 ? test_backend : NULL,
                                    .pool = test_pool};
        ZK_CHECK_OK(zk_setup(&result, t.circuit.program, &options, &err), err);
        bytes made = read_bytes(params), expected = read_bytes(toy_path(toys[i], ".params"));
        ZK_CHECKF(made.n == expected.n, "%s: %zu bytes, expected %zu", toys[i], made.n, expected.n);
        for (size_t k = 0; k < made.n; k++)
            ZK_CHECKF(made.data[k] == expected.data[k], "%s: first difference at %zu", toys[i], k);
        bytes made_vk = read_bytes(vk), expected_vk = read_bytes(toy_path(toys[i], ".vk"));
        ZK_CHECK(made_vk.n == expected_vk.n);
        ZK_CHECK_MEM(made_vk.data, expected_vk.data, made_vk.n);
        const zk_json_value *counts = zk_json_member_of(zk_json_root(t.json), "params");
        uint8_t sha[32];
        json_hex(sha, 32, counts, "params_sha256");
        ZK_CHECK_MEM(sha, result.params_sha256, 32);
        json_hex(sha, 32, counts, "vk_sha256");
        ZK_CHECK_MEM(sha, result.vk_sha256, 32);
        ZK_CHECK(result.params_bytes == made.n && result.resumed_bytes == 0);
        ZK_CHECK(access(temp_path(toys[i], ".params.partial"), F_OK) != 0);
        free(made.data);
        free(expected.data);
        free(made_vk.data);
        free(expected_vk.data);
        unlink(params);
        unlink(vk);
        toy_close(&t);
    }
}

/* Keys made from toxic waste on the device: the verifying key and the proofs are those of the files. */
static void test_generated_keys(void) {
    zk_toxic_waste toxic = fixed_toxic();
    for (size_t i = 0; i < N_TOYS; i++) {
        toy t = toy_open(toys[i]);
        const zk_json_value *list = zk_json_member_of(zk_json_root(t.json), "proofs");
        zk_proving_key *key;
        zk_prover *prover;
        cuzk_err err = {0};
        bytes vk = read_bytes(toy_path(toys[i], ".vk"));
        uint8_t proof[ZK_PROOF_BYTES], expected[ZK_PROOF_BYTES], *made_vk = malloc(vk.n);
        ZK_CHECK_OK(zk_proving_key_generate(&key, t.program, &toxic, test_pool, NULL, &err), err);
        ZK_CHECK(zk_vk_bytes(key->vk.n_ic) == vk.n);
        zk_vk_encode(made_vk, &key->vk);
        ZK_CHECK_MEM(made_vk, vk.data, vk.n);
        ZK_CHECK_OK(zk_prover_create(&prover, key, test_pool, &err), err);
        ZK_CHECK(zk_json_count(list) == 4);
        for (size_t k = 0; k < 4; k++) {
            const zk_json_value *entry = zk_json_element_of(list, k);
            zk_blinding blinding;
            json_proof(&blinding, expected, entry);
            zk_prove_request request = toy_request(&t, &blinding);
            ZK_CHECK_OK(zk_prove(proof, prover, &request, NULL, &err), err);
            ZK_CHECKF(memcmp(proof, expected, sizeof expected) == 0, "%s proof %zu", toys[i], k);
        }
        zk_prover_destroy(prover);
        zk_proving_key_destroy(key);
        free(vk.data);
        free(made_vk);
        toy_close(&t);
    }
}

/* What must not verify: other public inputs, altered proofs. */
static void check_must_fail(const toy *t, const zk_prepared_vk *vk, const uint8_t good[ZK_PROOF_BYTES],
                            const char *name) {
    const zk_json_value *list = zk_json_member_of(zk_json_root(t->json), "must_fail");
    size_t n_publics = t->circuit.n_publics;
    uint8_t(*publics)[32] = malloc(n_publics * 32 + 1);
    ZK_CHECK(zk_json_count(list) > 0);
    for (size_t i = 0; i < zk_json_count(list); i++) {
        const zk_json_value *entry = zk_json_element_of(list, i);
        const char *what;
        uint8_t proof[ZK_PROOF_BYTES];
        cuzk_err err = {0};
        ZK_CHECK_OK(zk_json_get_string(&what, zk_json_member_of(entry, "what"), "what", &err), err);
        memcpy(publics, t->circuit.publics, n_publics * 32);
        memcpy(proof, good, sizeof proof);
        unsigned index;
        if (zk_json_member_of(entry, "proof")) {
            json_hex(proof, sizeof proof, entry, "proof");
        } else {
            ZK_CHECKF(sscanf(what, "public input %u plus one", &index) == 1 && index < n_publics, "%s", what);
            zk_fr x;
            ZK_CHECK(zk_fr_from_bytes_le(&x, publics[index]));
            zk_fr_add(&x, &x, &zk_fr_one);
            zk_fr_to_bytes_le(publics[index], &x);
        }
        cuzk_status status =
            zk_verify(vk, proof, sizeof proof, (const uint8_t(*)[32])publics, n_publics, test_pool, &err);
        ZK_CHECKF(status == CUZK_BAD_PROOF && err.message[0], "%s: %s", name, what);
        ZK_CHECK(cuzk_status_exit_code(status) == 1);
    }
    free(publics);
}

static void test_proofs(void) {
    for (size_t i = 0; i < N_TOYS; i++) {
        toy t = toy_open(toys[i]);
        const zk_json_value *list = zk_json_member_of(zk_json_root(t.json), "proofs");
        size_t n = zk_json_count(list), n_publics = t.circuit.n_publics;
        zk_proving_key *key;
        zk_prover *prover;
        cuzk_err err = {0};
        uint8_t proof[4][ZK_PROOF_BYTES], expected[ZK_PROOF_BYTES];
        uint8_t(*publics)[32] = malloc(4 * n_publics * 32 + 1);
        ZK_CHECK(n == 4);
        ZK_CHECK_OK(zk_proving_key_load(&key, t.program, toy_path(toys[i], ".params"), test_pool, NULL, &err), err);
        ZK_CHECK_OK(zk_prover_create(&prover, key, test_pool, &err), err);
        for (size_t k = 0; k < n; k++) {
            const zk_json_value *entry = zk_json_element_of(list, k);
            zk_blinding blinding;
            json_proof(&blinding, expected, entry);
            zk_prove_request request = toy_request(&t, &blinding);
            ZK_CHECK_OK(zk_prove(proof[k], prover, &request, NULL, &err), err);
            ZK_CHECKF(memcmp(proof[k], expected, sizeof expected) == 0, "%s proof %zu", toys[i], k);
            memcpy(publics + k * n_publics, t.circuit.publics, n_publics * 32);
        }
        check_must_fail(&t, key->prepared, proof[1], toys[i]);

        /* all at once; then one is exchanged for a proof that is good, but of nothing here */
        const uint8_t(*in)[32] = (const uint8_t(*)[32])publics;
        ZK_CHECK_OK(zk_verify_batch(key->prepared, proof[0], 4 * ZK_PROOF_BYTES, 4, in, n_publics, test_pool, &err),
                    err);
        memcpy(proof[2], proof[1], 48);
        ZK_CHECK(zk_verify_batch(key->prepared, proof[0], 4 * ZK_PROOF_BYTES, 4, in, n_publics, test_pool, &err) ==
                 CUZK_BAD_PROOF);
        ZK_CHECKF(strstr(err.message, "proof 2 of 4"), "%s", err.message);
        zk_err_reset(&err);

        /* without given blinding: holds, and differs from call to call */
        zk_prove_request request = toy_request(&t, NULL);
        ZK_CHECK_OK(zk_prove(proof[0], prover, &request, NULL, &err), err);
        ZK_CHECK_OK(zk_prove(proof[1], prover, &request, NULL, &err), err);
        ZK_CHECK(memcmp(proof[0], proof[1], 48) != 0 && memcmp(proof[0] + 48, proof[1] + 48, 96) != 0);
        ZK_CHECK_OK(zk_verify(key->prepared, proof[0], ZK_PROOF_BYTES, in, n_publics, test_pool, &err), err);
        zk_prover_destroy(prover);
        zk_proving_key_destroy(key);
        free(publics);
        toy_close(&t);
    }
}

/* An assignment that does not satisfy the circuit, private values that are not canonical or too few. */
static void test_bad_witness(void) {
    toy t = toy_open("three-rows");
    zk_proving_key *key;
    zk_prover *prover;
    cuzk_err err = {0};
    uint8_t proof[ZK_PROOF_BYTES], saved[32], wrong[2][32];
    ZK_CHECK_OK(zk_proving_key_load(&key, t.program, toy_path("three-rows", ".params"), test_pool, NULL, &err), err);
    ZK_CHECK_OK(zk_prover_create(&prover, key, test_pool, &err), err);
    zk_prove_request request = toy_request(&t, NULL);
    for (size_t i = 0; i < t.circuit.n_hints; i++) {
        memcpy(saved, t.circuit.hints[i], 32);
        t.circuit.hints[i][0] ^= 1;
        request.publics = NULL;
        memset(proof, 0xa5, sizeof proof);
        ZK_CHECKF(zk_prove(proof, prover, &request, NULL, &err) == CUZK_BAD_WITNESS, "hint %zu: %s", i, err.message);
        ZK_CHECKF(strstr(err.message, "row ") && strstr(err.message, "not satisfied"), "%s", err.message);
        ZK_CHECK(proof[0] == 0xa5);
        zk_err_reset(&err);
        memset(t.circuit.hints[i], 0xff, 32);
        ZK_CHECK(zk_prove(proof, prover, &request, NULL, &err) == CUZK_BAD_INPUT);
        ZK_CHECK(strstr(err.message, "not below r"));
        zk_err_reset(&err);
        memcpy(t.circuit.hints[i], saved, 32);
    }
    request.n_hints--;
    ZK_CHECK(zk_prove(proof, prover, &request, NULL, &err) == CUZK_BAD_INPUT);
    zk_err_reset(&err);
    request = toy_request(&t, NULL);
    memcpy(wrong, t.circuit.publics, sizeof wrong);
    wrong[1][3] ^= 4;
    request.publics = (const uint8_t(*)[32])wrong;
    ZK_CHECK(zk_prove(proof, prover, &request, NULL, &err) == CUZK_BAD_WITNESS);
    ZK_CHECKF(strstr(err.message, "public input 1 is"), "%s", err.message);
    zk_err_reset(&err);

    /* stages in their order only; after all that the prover still works */
    request = toy_request(&t, NULL);
    zk_prove_begin(prover, &request);
    ZK_CHECK(zk_prove_stage(prover, ZK_PROVE_MSM, NULL, &err) == CUZK_INTERNAL);
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_prove(proof, prover, &request, NULL, &err), err);
    zk_prover_destroy(prover);
    zk_proving_key_destroy(key);
    toy_close(&t);
}

/* A key with a wrong point that lies in the group: the counts are right, the proof would not hold, so there is none. */
static void test_wrong_key_gives_no_proof(void) {
    toy t = toy_open("random-1000");
    bytes b = read_bytes(toy_path("random-1000", ".params"));
    zk_params *params;
    zk_query_masks masks;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_query_masks_compute(&masks, t.circuit.program, test_pool, &err), err);
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++) {
        zk_proving_key *key;
        zk_prover *prover;
        uint8_t proof[ZK_PROOF_BYTES], swap[192];
        ZK_CHECK_OK(zk_params_open_bytes(&params, "altered", b.data, b.n, NULL, &err), err);
        size_t n = zk_params_point_bytes((zk_params_section_id)id);
        uint8_t *first = b.data + params->section[id].offset, *last = first + (params->section[id].n - 2) * n;
        memcpy(swap, first, n);
        memcpy(first, last, n);
        memcpy(last, swap, n);
        ZK_CHECK_OK(zk_proving_key_load_files(&key, t.program, params, NULL, &masks, NULL, &err), err);
        zk_params_close(params);
        ZK_CHECK_OK(zk_prover_create(&prover, key, test_pool, &err), err);
        zk_prove_request request = toy_request(&t, NULL);
        memset(proof, 0xa5, sizeof proof);
        ZK_CHECKF(zk_prove(proof, prover, &request, NULL, &err) == CUZK_INTERNAL, "section %d", id);
        ZK_CHECKF(strstr(err.message, "does not verify"), "%s", err.message);
        ZK_CHECK(proof[0] == 0xa5 && proof[100] == 0xa5);
        zk_err_reset(&err);
        zk_prover_destroy(prover);
        zk_proving_key_destroy(key);
        memcpy(last, first, n);
        memcpy(first, swap, n);
    }
    zk_query_masks_clear(&masks);
    free(b.data);
    toy_close(&t);
}

ZK_TEST_MAIN(ZK_CASE(test_structure), ZK_CASE(test_setup), ZK_CASE(test_generated_keys), ZK_CASE(test_proofs),
             ZK_CASE(test_bad_witness), ZK_CASE(test_wrong_key_gives_no_proof))
