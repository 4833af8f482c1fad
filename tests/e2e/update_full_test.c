/* Keys and proofs of the 2 KiB sector update, equal to the reference's to the last byte. The keys take 656 MB, in the
 * folder for temporary files, and are removed. */
#include "update_request.h"

enum { PROOF_BYTES = 192 };

#define STEM                                                                                                           \
    "v28-empty-sector-update-merkletree-poseidon_hasher-8-0-0-"                                                        \
    "fb9e095bebdd77511c0269b967b4d87ba8b8a525edaa0e165de23ba454510194"

static void test_setup_equals_reference(void) {
    e2e_result r;
    size_t n = 0, n_expected = 0;
    zk_json_doc *doc = load_json("update/groth-2048.json"), *info = NULL;
    cuzk_err err = {0};
    E2E_RUN(&r, 0, "setup", "update", "--sector-size", "2KiB", "--out", e2e_dir(), "--test-toxic",
            e2e_vector("toxic.json"));
    e2e_free(&r);
    const zk_json_value *expected = get(zk_json_root(doc), "params");
    E2E_RUN(&r, 0, "params", "info", e2e_path(STEM ".params"), "--json");
    ZK_CHECK_OK(zk_json_parse(&info, r.out, r.n_out, 0, &err), err);
    ZK_CHECK(strcmp(get_text(zk_json_root(info), "sha256"), get_text(expected, "params_sha256")) == 0);
    ZK_CHECK(get_u64(zk_json_root(info), "bytes") == get_u64(expected, "params_bytes"));
    e2e_free(&r);
    uint8_t *vk = e2e_read(e2e_path(STEM ".vk"), &n),
            *want = e2e_read(e2e_vector("update/update-2048.vk"), &n_expected);
    ZK_CHECK(n == n_expected && memcmp(vk, want, n) == 0);
    free(vk);
    free(want);
    zk_json_doc_destroy(info);
    zk_json_doc_destroy(doc);
}

static void check_proof(const char *r_hex, const char *s_hex, const uint8_t expected[PROOF_BYTES]) {
    e2e_result r;
    size_t n = 0;
    const char *out = e2e_path("update.proof"), *blinding = e2e_path("blinding.json");
    const char *request = update_request("real-2048", 0, SIZE_MAX);
    FILE *f = fopen(blinding, "w");
    ZK_CHECK(f != NULL);
    fprintf(f, "[{\"r\":\"%s\",\"s\":\"%s\"}]\n", r_hex, s_hex);
    fclose(f);
    E2E_RUN(&r, 0, "prove", "--request", request, "--params", e2e_dir(), "--test-blinding", blinding, "-o", out);
    e2e_free(&r);
    uint8_t *proof = e2e_read(out, &n);
    ZK_CHECK(n == PROOF_BYTES && memcmp(proof, expected, n) == 0);
    free(proof);
    E2E_RUN(&r, 0, "verify", "--request", request, "--params", e2e_dir(), out);
    e2e_free(&r);
}

static void test_proofs_equal_reference(void) {
    static const char zero[] = "0000000000000000000000000000000000000000000000000000000000000000";
    uint8_t expected[PROOF_BYTES];
    zk_json_doc *doc = load_json("update/groth-2048.json");
    const zk_json_value *root = zk_json_root(doc);
    hex_of(expected, sizeof expected, get(root, "proof"));
    check_proof(get_text(root, "r"), get_text(root, "s"), expected);
    hex_of(expected, sizeof expected, get(root, "proof_with_r_and_s_zero"));
    check_proof(zero, zero, expected);
    zk_json_doc_destroy(doc);
    e2e_cleanup();
}

ZK_TEST_MAIN(ZK_CASE(test_setup_equals_reference), ZK_CASE(test_proofs_equal_reference))
