/* Sector updates through the command line, as far as it takes seconds: circuits, inputs, verification, refusals. */
#include "update_request.h"

enum { PROOF_BYTES = 192, FIRST_APEX_LEAF = 40, COMM_C = 0 };

static void test_circuit(void) {
    e2e_result r;
    zk_json_doc *doc = load_json("circuits/update-2048.json"), *made = NULL;
    const zk_json_value *expected = zk_json_root(doc);
    cuzk_err err = {0};
    E2E_RUN(&r, 0, "circuit", "digest", "update", "--sector-size", "2KiB", "--json");
    ZK_CHECK_OK(zk_json_parse(&made, r.out, r.n_out, 0, &err), err);
    const zk_json_value *found = zk_json_root(made);
    static const char *const numbers[] = {"inputs", "aux", "constraints", "zero_coefficients_dropped"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        ZK_CHECKF(get_u64(found, numbers[i]) == get_u64(expected, numbers[i]), "%s", numbers[i]);
    for (size_t m = 0; m < 3; m++) {
        const char name[2] = {"ABC"[m], 0};
        uint8_t a[32], b[32];
        get_node(a, get(found, "sha256"), name);
        get_node(b, get(expected, "sha256"), name);
        ZK_CHECK_MEM(a, b, 32);
    }
    ZK_CHECK(strcmp(get_text(found, "cache_id"), get_text(expected, "cache_id")) == 0);
    zk_json_doc_destroy(made);
    zk_json_doc_destroy(doc);
    e2e_free(&r);
    E2E_RUN(&r, 0, "circuit", "info", "update", "--sector-size", "64GiB", "--json");
    e2e_free(&r);
    E2E_RUN(&r, 3, "circuit", "info", "update", "--sector-size", "1GiB");
    ZK_CHECKF(strstr(r.err, "there are update circuits for"), "%s", r.err);
    e2e_free(&r);
}

static void test_inspect(void) {
    e2e_result r;
    E2E_RUN(&r, 0, "inspect", "--request", update_request("real-8388608", 1, SIZE_MAX), "--json");
    ZK_CHECKF(strstr(r.out, "\"holds\": true"), "%s", r.out);
    e2e_free(&r);
    E2E_RUN(&r, 1, "inspect", "--request", update_request("real-8388608", 1, FIRST_APEX_LEAF), "--json");
    ZK_CHECKF(strstr(r.out, "\"failed_check\": \"apex_"), "%s", r.out);
    ZK_CHECKF(strstr(r.out, "\"at\": \"partition 3, challenge "), "%s", r.out);
    e2e_free(&r);
    E2E_RUN(&r, 3, "inspect", "--request", update_request("real-8388608", 0, SIZE_MAX));
    ZK_CHECKF(strstr(r.err, "sector_size: found 8388608, but StackedDrg2KiBV1"), "%s", r.err);
    e2e_free(&r);
}

static void test_witness_digest(void) {
    e2e_result r;
    uint8_t want[32], found[32];
    cuzk_err err = {0};
    zk_json_doc *doc = load_json("update/witness-real-8388608-p3.json"), *made = NULL;
    E2E_RUN(&r, 0, "witness", "digest", "--request", update_request("real-8388608", 1, SIZE_MAX), "--partition", "3",
            "--json");
    ZK_CHECK_OK(zk_json_parse(&made, r.out, r.n_out, 0, &err), err);
    get_node(want, get(zk_json_root(doc), "witness"), "sha256_aux");
    get_node(found, zk_json_root(made), "sha256_aux");
    ZK_CHECK_MEM(found, want, 32);
    ZK_CHECK(strstr(r.out, "\"satisfied\": true"));
    zk_json_doc_destroy(made);
    zk_json_doc_destroy(doc);
    e2e_free(&r);
}

/* The reference's proof, and what is not it. */
static void test_verify(void) {
    e2e_result r;
    size_t n = 0;
    const char *request = update_request("real-2048", 0, SIZE_MAX), *vk = e2e_vector("update/update-2048.vk");
    E2E_RUN(&r, 0, "verify", "--request", request, "--vk", vk, e2e_vector("update/real-2048-groth.bin"));
    e2e_free(&r);
    uint8_t *proof = e2e_read(e2e_vector("update/real-2048-groth.bin"), &n);
    ZK_CHECK(n == PROOF_BYTES);
    proof[47] ^= 1;
    e2e_write(e2e_path("altered.proof"), proof, n);
    E2E_RUN(&r, 1, "verify", "--request", request, "--vk", vk, e2e_path("altered.proof"));
    e2e_free(&r);
    e2e_write(e2e_path("altered.proof"), proof, n - 1);
    E2E_RUN(&r, 1, "verify", "--request", request, "--vk", vk, e2e_path("altered.proof"));
    e2e_free(&r);
    free(proof);
    /* Another sector's proof. */
    E2E_RUN(&r, 1, "verify", "--request", update_request("auto-2048", 0, SIZE_MAX), "--vk", vk,
            e2e_vector("update/real-2048-groth.bin"));
    e2e_free(&r);
}

/* An input that cannot be proved is refused before keys are looked for. */
static void test_prove_refuses(void) {
    e2e_result r;
    const char *out = e2e_path("refused.proof");
    E2E_RUN(&r, 3, "prove", "--request", update_request("real-2048", 0, COMM_C), "--params", e2e_path("no-keys"), "-o",
            out);
    ZK_CHECKF(strstr(r.err, "check comm_r_old failed"), "%s", r.err);
    ZK_CHECK(!e2e_exists(out));
    e2e_free(&r);
    e2e_cleanup();
}

ZK_TEST_MAIN(ZK_CASE(test_circuit), ZK_CASE(test_inspect), ZK_CASE(test_witness_digest), ZK_CASE(test_verify),
             ZK_CASE(test_prove_refuses))
