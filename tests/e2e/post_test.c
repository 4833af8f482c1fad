/* WinningPoSt and WindowPoSt through the command line: keys and proofs equal to the reference's, the reference's proofs
 * accepted, several partitions in one proof, refusals. Keys are made once and kept beside the build. */
#include "../unit/filecoin_vectors.h"
#include "base/base64.h"
#include "run.h"

enum { PROOF_BYTES = 192 };

static const char *keys(void) {
    const char *dir = getenv("CUZK_DEMO_KEYS");
    return dir ? dir : CUZK_TEST_KEYS;
}

static zk_json_doc *load_case(const char *name) {
    char file[128];
    snprintf(file, sizeof file, "post/%s.json", name);
    return load_json(file);
}

static bool is_winning(const zk_json_value *root) { return zk_json_member_of(root, "sector") != NULL; }

static void put_base64(FILE *f, const uint8_t *bytes, size_t n) {
    char *text = malloc(4 * (n / 3 + 1) + 1);
    ZK_CHECK(text);
    zk_base64_encode(text, bytes, n);
    fprintf(f, "\"%s\"", text);
    free(text);
}

/* The request of a vector as a file; byte `flip` of the last vanilla proof is changed (SIZE_MAX: none). */
static const char *request_file(const char *name, size_t flip) {
    zk_json_doc *doc = load_case(name);
    const zk_json_value *root = zk_json_root(doc), *sectors = zk_json_member_of(root, "sectors");
    size_t n = is_winning(root) ? 1 : zk_json_count(sectors);
    const char *path = e2e_path(flip == SIZE_MAX ? "request.json" : "altered.json");
    uint8_t randomness[32];
    FILE *f = fopen(path, "w");
    ZK_CHECK(f != NULL);
    fprintf(f, "{\"proof_kind\":\"%s\",\"sector_size\":\"%llu\",\"registered_proof\":%llu,\"miner_id\":17111,",
            is_winning(root) ? "WINNING_POST" : "WINDOW_POST_PARTITION",
            (unsigned long long)get_u64(root, "sector_size"), (unsigned long long)get_u64(root, "registered_index"));
    fprintf(f, "\"vanilla_proofs\":[");
    for (size_t i = 0; i < n; i++) {
        const zk_json_value *of = is_winning(root) ? root : zk_json_element_of(sectors, i);
        char file[160];
        size_t n_bytes = 0;
        snprintf(file, sizeof file, "post/%s", get_text(get(of, "vanilla"), "file"));
        uint8_t *bytes = e2e_read(e2e_vector(file), &n_bytes);
        if (flip < n_bytes && i + 1 == n) bytes[flip] ^= 1;
        if (i) fprintf(f, ",");
        put_base64(f, bytes, n_bytes);
        free(bytes);
    }
    get_node(randomness, root, "randomness");
    fprintf(f, "],\"randomness\":");
    put_base64(f, randomness, sizeof randomness);
    fprintf(f, "}\n");
    fclose(f);
    zk_json_doc_destroy(doc);
    return path;
}

/* Of a vector: the list of groth16 members, one a partition. */
static size_t n_proofs(const zk_json_value *root) {
    return is_winning(root) ? 1 : zk_json_count(get(root, "partition_proofs"));
}

static const zk_json_value *proof_of(const zk_json_value *root, size_t partition) {
    const zk_json_value *of = is_winning(root) ? root : zk_json_element_of(get(root, "partition_proofs"), partition);
    return get(of, "groth16");
}

static const char *blinding_file(const zk_json_value *root) {
    const char *path = e2e_path("blinding.json");
    FILE *f = fopen(path, "w");
    ZK_CHECK(f != NULL);
    for (size_t k = 0; k < n_proofs(root); k++)
        fprintf(f, "%s{\"r\":\"%s\",\"s\":\"%s\"}", k ? "," : "[", get_text(proof_of(root, k), "r"),
                get_text(proof_of(root, k), "s"));
    fprintf(f, "]\n");
    fclose(f);
    return path;
}

/* All partitions' reference proofs in a row; free() them. */
static uint8_t *reference_proofs(const zk_json_value *root, size_t *n_bytes) {
    *n_bytes = n_proofs(root) * PROOF_BYTES;
    uint8_t *bytes = malloc(*n_bytes);
    ZK_CHECK(bytes);
    for (size_t k = 0; k < n_proofs(root); k++)
        hex_of(bytes + k * PROOF_BYTES, PROOF_BYTES, get(proof_of(root, k), "proof"));
    return bytes;
}

static const char *vk_of(const char *name) {
    char file[64];
    const char *size = strchr(name, '-') + 1;
    snprintf(file, sizeof file, "post/%.*s.vk", (int)(size - name + (ptrdiff_t)strcspn(size, "-")), name);
    return e2e_vector(file);
}

/* ---- */

static void test_setup_equals_reference(void) {
    static const char *const kinds[] = {"winning", "window"};
    zk_json_doc *doc = load_json("post/params.json");
    mkdir(keys(), 0777);
    for (size_t i = 0; i < 2; i++) {
        char name[32], path[512];
        e2e_result r;
        snprintf(name, sizeof name, "%s-2KiB", kinds[i]);
        const zk_json_value *expected = get(get(zk_json_root(doc), "circuits"), name);
        E2E_RUN(&r, 0, "setup", kinds[i], "--sector-size", "2KiB", "--out", keys(), "--test-toxic",
                e2e_vector("toxic.json"));
        e2e_free(&r);
        snprintf(path, sizeof path, "%s/%s.params", keys(), get_text(expected, "reference_file_stem"));
        E2E_RUN(&r, 0, "params", "info", path, "--json");
        ZK_CHECK(strstr(r.out, get_text(expected, "params_sha256")) != NULL);
        e2e_free(&r);
        snprintf(path, sizeof path, "%s/%s.vk", keys(), get_text(expected, "reference_file_stem"));
        size_t n = 0, n_expected = 0;
        uint8_t *vk = e2e_read(path, &n), *want = e2e_read(vk_of(name), &n_expected);
        ZK_CHECK(n == n_expected && memcmp(vk, want, n) == 0);
        free(vk);
        free(want);
    }
    zk_json_doc_destroy(doc);
}

static void test_proofs_equal_reference(void) {
    static const char *const names[] = {"winning-2KiB", "window-2KiB-n5-v1_0", "window-2KiB-n1-v1_2"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        zk_json_doc *doc = load_case(names[i]);
        const char *request = request_file(names[i], SIZE_MAX), *out = e2e_path("post.proof");
        e2e_result r;
        size_t n = 0, n_expected = 0;
        E2E_RUN(&r, 0, "prove", "--request", request, "--params", keys(), "--test-blinding",
                blinding_file(zk_json_root(doc)), "-o", out);
        e2e_free(&r);
        uint8_t *proof = e2e_read(out, &n), *expected = reference_proofs(zk_json_root(doc), &n_expected);
        ZK_CHECKF(n == n_expected && memcmp(proof, expected, n) == 0, "%s: %zu bytes", names[i], n);
        E2E_RUN(&r, 0, "verify", "--request", request, "--params", keys(), out);
        e2e_free(&r);
        if (i == 0) { /* the same with a key made in the process */
            E2E_RUN(&r, 0, "prove", "--request", request, "--test-toxic", e2e_vector("toxic.json"), "--test-blinding",
                    blinding_file(zk_json_root(doc)), "-o", out);
            e2e_free(&r);
            free(proof);
            proof = e2e_read(out, &n);
            ZK_CHECK(n == n_expected && memcmp(proof, expected, n) == 0);
        }
        /* one partition alone is the same piece of the whole */
        if (n > PROOF_BYTES) {
            E2E_RUN(&r, 0, "prove", "--request", request, "--partition", "1", "--params", keys(), "--test-blinding",
                    blinding_file(zk_json_root(doc)), "-o", out);
            e2e_free(&r);
            free(proof);
            proof = e2e_read(out, &n);
            ZK_CHECK(n == PROOF_BYTES && memcmp(proof, expected + PROOF_BYTES, n) == 0);
        }
        free(proof);
        free(expected);
        zk_json_doc_destroy(doc);
    }
}

static void test_reference_proofs_accepted(void) {
    static const char *const names[] = {
        "winning-2KiB",          "winning-32GiB",         "window-2KiB-n1-v1_0",    "window-2KiB-n1-v1_2",
        "window-2KiB-n2-v1_0",   "window-2KiB-n2-v1_2",   "window-2KiB-n5-v1_0",    "window-2KiB-n5-v1_2",
        "window-8MiB-n3-v1_0",   "window-8MiB-n3-v1_2",   "window-2KiB-skip2-v1_0", "window-2KiB-skip2-v1_2",
        "window-512MiB-n3-v1_0", "window-512MiB-n3-v1_2",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        zk_json_doc *doc = load_case(names[i]);
        size_t n = 0;
        uint8_t *proof = reference_proofs(zk_json_root(doc), &n);
        const char *path = e2e_path("reference.proof");
        e2e_result r;
        e2e_write(path, proof, n);
        E2E_RUN(&r, 0, "verify", "--request", request_file(names[i], SIZE_MAX), "--vk", vk_of(names[i]), path);
        e2e_free(&r);
        free(proof);
        zk_json_doc_destroy(doc);
    }
}

/* Whole window proofs, and what the reference's verifier says of them. */
static void test_merged_proofs(void) {
    zk_json_doc *doc = load_json("post/bad-inputs.json");
    const zk_json_value *list = get(zk_json_root(doc), "merged_proofs");
    ZK_CHECK(zk_json_count(list) == 11);
    for (size_t i = 0; i < zk_json_count(list); i++) {
        const zk_json_value *row = zk_json_element_of(list, i);
        bool v1_0 = strcmp(get_text(row, "registered_proof"), "StackedDrgWindow2KiBV1") == 0;
        size_t n_sectors = zk_json_count(get(row, "verifier_sector_positions"));
        const char *request = request_file(n_sectors == 1   ? "window-2KiB-n1-v1_2"
                                           : n_sectors == 4 ? "window-2KiB-skip2-v1_2"
                                           : v1_0           ? "window-2KiB-n5-v1_0"
                                                            : "window-2KiB-n5-v1_2",
                                           SIZE_MAX);
        const char *path = e2e_path("merged.proof"), *hex = get_text(row, "proof");
        size_t n = strlen(hex) / 2;
        uint8_t *proof = malloc(n);
        e2e_result r;
        ZK_CHECK(proof);
        hex_of(proof, n, get(row, "proof"));
        e2e_write(path, proof, n);
        e2e_run_limited(&r, 0, E2E_ARGS("verify", "--request", request, "--vk", vk_of("window-2KiB-"), path));
        ZK_CHECKF(r.code == (zk_json_is(get(row, "verifies"), ZK_JSON_TRUE) ? 0 : 1), "%s: code %d",
                  get_text(row, "what"), r.code);
        e2e_free(&r);
        free(proof);
    }
    zk_json_doc_destroy(doc);
}

static void test_refused(void) {
    static const struct {
        const char *name;
        size_t byte;
        const char *check;
    } cases[] = {{"winning-2KiB", 648, "opening_path"},        /* a leaf that the reference does not look at */
                 {"winning-2KiB", 36784, "comm_r"},            /* comm_r_last */
                 {"window-2KiB-n5-v1_2", 8, "comm_r"},         /* comm_r */
                 {"window-2KiB-n5-v1_2", 63, "opening_path"}}; /* a root */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *request = request_file(cases[i].name, cases[i].byte), *out = e2e_path("refused.proof");
        char quoted[64];
        e2e_result r;
        E2E_RUN(&r, 3, "prove", "--request", request, "--params", keys(), "-o", out);
        ZK_CHECKF(strstr(r.err, cases[i].check) != NULL, "%s", r.err);
        ZK_CHECK(!e2e_exists(out));
        e2e_free(&r);
        E2E_RUN(&r, 1, "inspect", "--request", request, "--json");
        snprintf(quoted, sizeof quoted, "\"failed_check\": \"%s\"", cases[i].check);
        ZK_CHECKF(strstr(r.out, quoted) != NULL, "%s", r.out);
        ZK_CHECK(strstr(r.out, "\"at\": \"vanilla_proofs ") != NULL);
        e2e_free(&r);
    }
    e2e_result r;
    E2E_RUN(&r, 0, "inspect", "--request", request_file("window-2KiB-n5-v1_2", SIZE_MAX), "--json");
    ZK_CHECK(strstr(r.out, "\"holds\": true") && strstr(r.out, "8589970878"));
    e2e_free(&r);
    E2E_RUN(&r, 3, "inspect", "--request", request_file("winning-2KiB", 40)); /* number of sector proofs */
    ZK_CHECK(strstr(r.err, "byte 40"));
    e2e_free(&r);
    e2e_cleanup();
}

ZK_TEST_MAIN(ZK_CASE(test_setup_equals_reference), ZK_CASE(test_proofs_equal_reference),
             ZK_CASE(test_reference_proofs_accepted), ZK_CASE(test_merged_proofs), ZK_CASE(test_refused))
