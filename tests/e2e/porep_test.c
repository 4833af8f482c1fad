/* The main job, end to end, through the command line: keys for the 2 KiB PoRep equal to the reference's, proofs equal
 * to the reference's for the same blinding, verification, refusals. Keys are made once and kept beside the build. */
#include "base/json_dom.h"
#include "run.h"

enum { PROOF_BYTES = 192, CHALLENGE_BYTES = 32 };

#define PARAMS                                                                                                         \
    "v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-sha256_hasher-"                                 \
    "032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f"

static const char *keys(void) {
    const char *dir = getenv("CUZK_DEMO_KEYS");
    return dir ? dir : CUZK_TEST_KEYS;
}

static const char *key_file(const char *suffix) {
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s%s", keys(), PARAMS, suffix);
    return path;
}

static zk_json_doc *parse_text(const char *text, size_t n) {
    zk_json_doc *doc = NULL;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_json_parse(&doc, text, n, 0, &err), err);
    return doc;
}

static zk_json_doc *parse_vector(const char *name) {
    zk_json_doc *doc = NULL;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_json_parse_file(&doc, e2e_vector(name), 64 << 20, &err), err);
    return doc;
}

static const char *text_of(const zk_json_value *value) {
    const char *text = NULL;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_json_get_string(&text, value, "text", &err), err);
    return text;
}

static uint64_t u64_of(const zk_json_value *value) {
    uint64_t v = 0;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_json_get_u64(&v, value, UINT64_MAX, "number", &err), err);
    return v;
}

static const char *c1_of(const char *registered_proof) {
    char name[128];
    snprintf(name, sizeof name, "porep/seal-%s.c1.json", registered_proof);
    if (!e2e_exists(e2e_vector(name))) snprintf(name, sizeof name, "porep/seal-%s.c1.json.zst", registered_proof);
    return e2e_vector(name);
}

/* The blinding file of a listed proof: entry k is for partition k, so the entries before it are filled with the same.
 */
static const char *blinding_file(const zk_json_value *proof, uint64_t partition) {
    const char *path = e2e_path("blinding.json");
    FILE *f = fopen(path, "w");
    ZK_CHECK(f != NULL);
    for (uint64_t k = 0; k <= partition; k++)
        fprintf(f, "%s{\"r\":\"%s\",\"s\":\"%s\"}", k ? "," : "[", text_of(zk_json_member_of(proof, "r")),
                text_of(zk_json_member_of(proof, "s")));
    fprintf(f, "]\n");
    fclose(f);
    return path;
}

static void test_setup_equals_reference(void) {
    e2e_result r;
    mkdir(keys(), 0777);
    E2E_RUN(&r, 0, "setup", "porep", "--sector-size", "2KiB", "--out", keys(), "--test-toxic",
            e2e_vector("toxic.json"));
    e2e_free(&r);
    zk_json_doc *expected = parse_vector("porep/groth-porep-2048.json");
    E2E_RUN(&r, 0, "params", "info", key_file(".params"), "--json");
    zk_json_doc *info = parse_text(r.out, r.n_out);
    e2e_free(&r);
    ZK_CHECK(strcmp(text_of(zk_json_member_of(zk_json_root(info), "sha256")),
                    text_of(zk_json_member_of(zk_json_root(expected), "params_sha256"))) == 0);
    ZK_CHECK(u64_of(zk_json_member_of(zk_json_root(info), "bytes")) ==
             u64_of(zk_json_member_of(zk_json_root(expected), "params_bytes")));
    static const char *const counts[] = {"ic", "h", "l", "a", "b_g1", "b_g2"};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        ZK_CHECKF(u64_of(zk_json_member_of(zk_json_member_of(zk_json_root(info), "counts"), counts[i])) ==
                      u64_of(zk_json_member_of(zk_json_member_of(zk_json_root(expected), "counts"), counts[i])),
                  "%s", counts[i]);
    size_t n_vk = 0, n_expected = 0;
    uint8_t *vk = e2e_read(key_file(".vk"), &n_vk),
            *vk_expected = e2e_read(e2e_vector("porep/porep-2048.vk"), &n_expected);
    ZK_CHECK(n_vk == n_expected);
    ZK_CHECK_MEM(vk, vk_expected, n_vk);
    free(vk);
    free(vk_expected);
    zk_json_doc_destroy(info);
    zk_json_doc_destroy(expected);
}

static void test_proofs_equal_reference(void) {
    zk_json_doc *doc = parse_vector("porep/groth-porep-2048.json");
    const zk_json_value *proofs = zk_json_member_of(zk_json_root(doc), "proofs");
    size_t n = zk_json_count(proofs);
    ZK_CHECK(n == 5);
    for (size_t i = 0; i < n; i++) {
        const zk_json_value *proof = zk_json_element_of(proofs, i);
        uint64_t partition = u64_of(zk_json_member_of(proof, "partition"));
        char k[24];
        snprintf(k, sizeof k, "%llu", (unsigned long long)partition);
        const char *out = e2e_path("proof.bin");
        bool generated = i == n - 1; /* once with a key made in the process */
        e2e_result r;
        E2E_RUN(&r, 0, "prove", "--c1", c1_of(text_of(zk_json_member_of(proof, "registered_proof"))), "--partition", k,
                generated ? "--test-toxic" : "--params", generated ? e2e_vector("toxic.json") : keys(),
                "--test-blinding", blinding_file(proof, partition), "-o", out);
        e2e_free(&r);
        uint8_t expected[PROOF_BYTES];
        cuzk_err err = {0};
        ZK_CHECK_OK(zk_json_get_hex(expected, sizeof expected, zk_json_member_of(proof, "proof"), "proof", &err), err);
        size_t n_bytes = 0;
        uint8_t *bytes = e2e_read(out, &n_bytes);
        ZK_CHECK(n_bytes == PROOF_BYTES);
        ZK_CHECK_MEM(bytes, expected, PROOF_BYTES);
        free(bytes);
    }
    zk_json_doc_destroy(doc);
}

/* The reference's proof of the first listed case, in a file. */
static const char *reference_proof(void) {
    zk_json_doc *doc = parse_vector("porep/groth-porep-2048.json");
    uint8_t bytes[PROOF_BYTES];
    cuzk_err err = {0};
    const zk_json_value *proof = zk_json_element_of(zk_json_member_of(zk_json_root(doc), "proofs"), 0);
    ZK_CHECK_OK(zk_json_get_hex(bytes, sizeof bytes, zk_json_member_of(proof, "proof"), "proof", &err), err);
    const char *path = e2e_path("reference.proof");
    e2e_write(path, bytes, sizeof bytes);
    zk_json_doc_destroy(doc);
    return path;
}

static void test_verify(void) {
    e2e_result r;
    const char *proof = reference_proof(), *vk = e2e_vector("porep/porep-2048.vk");
    const char *c1 = c1_of("StackedDrg2KiBV1");
    E2E_RUN(&r, 0, "verify", "--c1", c1, "--vk", vk, proof);
    e2e_free(&r);
    E2E_RUN(&r, 0, "verify", "--c1", e2e_vector("porep/seal-StackedDrg2KiBV1.wrapped.json"), "--vk", vk, proof);
    e2e_free(&r);
    /* the proof of another sector */
    E2E_RUN(&r, 1, "verify", "--c1", c1_of("StackedDrg2KiBV1_1"), "--vk", vk, proof);
    e2e_free(&r);
    /* the key of another circuit */
    E2E_RUN(&r, 3, "verify", "--c1", c1, "--vk", e2e_vector("toy/three-rows.vk"), proof);
    e2e_free(&r);
    /* every byte of the proof matters */
    size_t n = 0;
    uint8_t *bytes = e2e_read(proof, &n);
    const char *bad = e2e_path("bad.proof");
    for (size_t i = 0; i < n; i += 13) {
        bytes[i] ^= 0x04;
        e2e_write(bad, bytes, n);
        E2E_RUN(&r, 1, "verify", "--c1", c1, "--vk", vk, bad);
        e2e_free(&r);
        bytes[i] ^= 0x04;
    }
    static const size_t lengths[] = {0, 1, 191, 193, 384};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        uint8_t buffer[384] = {0};
        memcpy(buffer, bytes, n);
        e2e_write(bad, buffer, lengths[i]);
        E2E_RUN(&r, 1, "verify", "--c1", c1, "--vk", vk, bad);
        e2e_free(&r);
    }
    free(bytes);
}

/* The longest span that has no parts and is no kernel. */
static const zk_json_value *longest_leaf(const zk_json_value *span) {
    const zk_json_value *children = zk_json_member_of(span, "children"), *longest = NULL;
    size_t n = zk_json_count(children);
    if (n == 0) return zk_json_is(zk_json_member_of(span, "kernel"), ZK_JSON_TRUE) ? NULL : span;
    for (size_t i = 0; i < n; i++) {
        const zk_json_value *leaf = longest_leaf(zk_json_element_of(children, i));
        if (leaf && (!longest || u64_of(zk_json_member_of(leaf, "duration_ns")) >
                                     u64_of(zk_json_member_of(longest, "duration_ns"))))
            longest = leaf;
    }
    return longest;
}

/* The tree covers 99 % of the wall time seen from outside, and no span without parts but a kernel takes 5 %. Work that
 * has no span is missing from every run; what the system takes between two spans is, now and then, from one. */
static bool spans_add_up(char why[160]) {
    e2e_result r;
    const char *trace = e2e_path("trace.json"), *out = e2e_path("timed.proof");
    E2E_RUN(&r, 0, "prove", "--c1", c1_of("StackedDrg2KiBV1_1"), "--params", keys(), "-o", out, "--trace", trace);
    size_t n = 0;
    uint8_t *text = e2e_read(trace, &n);
    zk_json_doc *doc = parse_text((const char *)text, n);
    const zk_json_value *root = zk_json_root(doc), *leaf = longest_leaf(root);
    double total = (double)u64_of(zk_json_member_of(root, "duration_ns"));
    double covered = total - (double)u64_of(zk_json_member_of(root, "unaccounted_ns"));
    double of_leaf = leaf ? (double)u64_of(zk_json_member_of(leaf, "duration_ns")) : 0;
    snprintf(why, 160, "accounted %.3f s of %.3f s, span %s %.3f s", covered * 1e-9, r.seconds,
             leaf ? text_of(zk_json_member_of(leaf, "name")) : "", of_leaf * 1e-9);
    bool add_up = covered >= 0.99 * r.seconds * 1e9 && of_leaf < 0.05 * total;
    free(text);
    zk_json_doc_destroy(doc);
    e2e_free(&r);
    return add_up;
}

static void test_spans_add_up(void) {
    char why[160] = "";
    bool add_up = false;
    for (unsigned run = 0; run < 4 && !add_up; run++) add_up = spans_add_up(why);
    ZK_CHECKF(add_up, "in none of four runs; in the last %s", why);
    e2e_result r;
    E2E_RUN(&r, 0, "verify", "--c1", c1_of("StackedDrg2KiBV1_1"), "--params", keys(), e2e_path("timed.proof"));
    e2e_free(&r);
}

/* Refused inputs leave no output file, say what is wrong, and end with the right code. */
static void expect_prove_fails(int code, const char *c1, const char *word) {
    e2e_result r;
    const char *out = e2e_path("refused.proof");
    E2E_RUN(&r, code, "prove", "--c1", c1, "--params", keys(), "-o", out);
    ZK_CHECKF(strstr(r.err, word) != NULL, "\"%s\" not in: %s", word, r.err);
    ZK_CHECK(!e2e_exists(out));
    e2e_free(&r);
}

static void test_bad_c1(void) {
    size_t n = 0;
    char *text = (char *)e2e_read(c1_of("StackedDrg2KiBV1"), &n);
    const char *bad = e2e_path("bad.c1.json");
    e2e_result r;
    for (size_t cut = 1; cut <= n; cut += n / 7) {
        e2e_write(bad, text, n - cut);
        expect_prove_fails(3, bad, "byte");
    }
    /* one digit of a node: the vanilla proof no longer holds */
    char *at = strstr(text, "\"labeling_proofs\"");
    ZK_CHECK(at != NULL);
    at = strstr(at, "\"parents\":[[");
    ZK_CHECK(at != NULL);
    at += strlen("\"parents\":[[");
    at = strchr(at, ',') - 1; /* the last digit of a byte: 0..255 stays in range */
    char kept = *at;
    *at = (char)(kept ^ 1);
    e2e_write(bad, text, n);
    expect_prove_fails(3, bad, "label");
    E2E_RUN(&r, 1, "inspect", "--c1", bad, "--json");
    zk_json_doc *doc = parse_text(r.out, r.n_out);
    ZK_CHECK(zk_json_is(zk_json_member_of(zk_json_root(doc), "holds"), ZK_JSON_FALSE));
    ZK_CHECK(zk_json_is(zk_json_member_of(zk_json_root(doc), "failed_check"), ZK_JSON_STRING));
    zk_json_doc_destroy(doc);
    e2e_free(&r);
    *at = kept;
    /* another miner or sector than the file was made for */
    e2e_write(bad, text, n);
    E2E_RUN(&r, 3, "prove", "--c1", bad, "--params", keys(), "-o", e2e_path("refused.proof"), "--miner", "1194",
            "--sector", "117");
    e2e_free(&r);
    /* a bare C1 names neither, and one alone leaves the replica id unchecked */
    E2E_RUN(&r, 2, "inspect", "--c1", bad, "--miner", "1193");
    e2e_free(&r);
    E2E_RUN(&r, 0, "inspect", "--c1", bad, "--miner", "1193", "--sector", "117");
    e2e_free(&r);
    E2E_RUN(&r, 3, "prove", "--c1", e2e_vector("porep/seal-StackedDrg2KiBV1.wrapped.json"), "--params", keys(), "-o",
            e2e_path("refused.proof"), "--sector", "118");
    e2e_free(&r);
    E2E_RUN(&r, 0, "inspect", "--c1", e2e_vector("porep/seal-StackedDrg2KiBV1.wrapped.json"), "--sector", "117");
    e2e_free(&r);
    expect_prove_fails(3, e2e_path("no-such-file"), "no-such-file");
    /* no keys for this size in the folder */
    expect_prove_fails(3, c1_of("StackedDrg8MiBV1_1"), ".params");
    free(text);
}

static void test_disk_full(void) {
    e2e_result r;
    const char *dir = e2e_path("full");
    mkdir(dir, 0777);
    E2E_RUN_LIMITED(&r, 4, 300, "prove", "r1cs", e2e_vector("toy/three-rows.json"), "--params", e2e_vector("toy"), "-o",
                    e2e_path("toy.proof"), "--trace", e2e_path("full/trace.json"));
    e2e_free(&r);
    E2E_RUN_LIMITED(&r, 4, 200000, "setup", "r1cs", e2e_vector("toy/random-1000.json"), "--out", dir, "--test-toxic",
                    e2e_vector("toxic.json"));
    ZK_CHECKF(strstr(r.err, "random-1000") != NULL, "%s", r.err);
    e2e_free(&r);
    ZK_CHECK(e2e_count_files(dir) == 0);
}

static void test_toy_commands(void) {
    static const char *const names[] = {"one-row",     "three-rows",  "no-inputs",  "bits-64",
                                        "random-1000", "random-1017", "random-1018"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char json[64], file[64];
        e2e_result r;
        snprintf(json, sizeof json, "toy/%s.json", names[i]);
        E2E_RUN(&r, 0, "setup", "r1cs", e2e_vector(json), "--out", e2e_dir(), "--test-toxic", e2e_vector("toxic.json"));
        e2e_free(&r);
        static const char *const suffixes[] = {"params", "vk"};
        for (size_t k = 0; k < 2; k++) {
            char vector[64];
            snprintf(vector, sizeof vector, "toy/%s.%s", names[i], suffixes[k]);
            snprintf(file, sizeof file, "%s.%s", names[i], suffixes[k]);
            size_t n = 0, n_expected = 0;
            uint8_t *bytes = e2e_read(e2e_path(file), &n), *expected = e2e_read(e2e_vector(vector), &n_expected);
            ZK_CHECKF(n == n_expected && memcmp(bytes, expected, n) == 0, "%s", file);
            free(bytes);
            free(expected);
        }
        E2E_RUN(&r, 0, "prove", "r1cs", e2e_vector(json), "--params", e2e_dir(), "-o", e2e_path("toy.proof"));
        e2e_free(&r);
        E2E_RUN(&r, 0, "verify", "r1cs", e2e_vector(json), "--params", e2e_dir(), e2e_path("toy.proof"));
        e2e_free(&r);
    }
}

/* A bad point is an answer (1), whatever part of the file it is in; a file without the structure is bad input (3). */
static void test_params_check(void) {
    enum { VK = 868, N_IC = 8 };
    size_t n = 0;
    uint8_t *bytes = e2e_read(e2e_vector("toy/random-1000.params"), &n);
    const size_t h = VK + N_IC * 96; /* the count of the first query */
    const struct {
        size_t at, cut; /* the byte that is altered, the bytes left out at the end */
        int code;
        const char *says;
    } cases[] = {
        {n, 0, 0, "\"log2_error_probability\": -"},
        {50, 0, 1, "section vk: alpha in G1 at offset 0"},
        {672 + 100, 0, 1, "section vk: delta in G2 at offset 672"},
        {VK + 96 * (N_IC - 1), 0, 1, "section vk: ic 7 at offset"},
        {h + 4 + 96 * 5, 0, 1, "section h: point 5 of"},
        {n - 1, 0, 1, "section b_g2: point"},
        {VK - 1, 0, 3, "section "},
        {h, 0, 3, "section h: count"},
        {n, 1, 3, "section b_g2: count"},
        {n, n - VK + 1, 3, "section vk: ends at offset 867"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        e2e_result r;
        if (cases[i].at < n) bytes[cases[i].at] ^= 4;
        FILE *f = fopen(e2e_path("damaged.params"), "wb");
        ZK_CHECK(f && fwrite(bytes, 1, n - cases[i].cut, f) == n - cases[i].cut && fclose(f) == 0);
        if (cases[i].at < n) bytes[cases[i].at] ^= 4;
        E2E_RUN(&r, cases[i].code, "params", "check", e2e_path("damaged.params"), "--json");
        ZK_CHECKF(strstr(cases[i].code ? r.err : r.out, cases[i].says), "case %zu: %s", i, r.err);
        if (cases[i].code == 3) {
            ZK_CHECKF(r.n_out == 0, "case %zu: %s", i, r.out);
        } else {
            zk_json_doc *doc = parse_text(r.out, r.n_out);
            ZK_CHECK(zk_json_is(zk_json_member_of(zk_json_root(doc), "holds"),
                                cases[i].code ? ZK_JSON_FALSE : ZK_JSON_TRUE));
            zk_json_doc_destroy(doc);
        }
        e2e_free(&r);
    }
    free(bytes);
}

static void test_usage(void) {
    e2e_result r;
    E2E_RUN(&r, 2, "prove");
    ZK_CHECK(strstr(r.err, "--") != NULL);
    e2e_free(&r);
    E2E_RUN(&r, 2, "no-such-command");
    e2e_free(&r);
    E2E_RUN(&r, 2, "circuit", "info", "porep", "--sector-size", "2KB");
    e2e_free(&r);
    E2E_RUN(&r, 3, "circuit", "info", "porep", "--sector-size", "3KiB");
    e2e_free(&r);
    static const char *const commands[][2] = {{"prove", NULL},     {"verify", NULL},      {"inspect", NULL},
                                              {"setup", NULL},     {"params", "info"},    {"params", "check"},
                                              {"circuit", "info"}, {"circuit", "digest"}, {"witness", "digest"},
                                              {"bench", "msm"},    {"bench", "ntt"},      {"bench", "prove"}};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (commands[i][1]) {
            E2E_RUN(&r, 0, commands[i][0], commands[i][1], "--help");
        } else {
            E2E_RUN(&r, 0, commands[i][0], "--help");
        }
        ZK_CHECK(strstr(r.out, "usage: cuzk") == r.out);
        e2e_free(&r);
    }
}

/* Whether two values are the same, members in any order; prints where they are not. */
static bool same_value(const zk_json_value *a, const zk_json_value *b, const char *where) {
    bool same = a && b && a->kind == b->kind && a->n == b->n;
    if (same && a->kind == ZK_JSON_OBJECT_BEGIN) {
        for (size_t i = 0; i < a->n; i++)
            same &= same_value(&a->members[i].value, zk_json_member_of(b, a->members[i].name), a->members[i].name);
        return same;
    }
    if (same && a->kind == ZK_JSON_ARRAY_BEGIN) {
        for (size_t i = 0; i < a->n && same; i++) same = same_value(&a->elements[i], &b->elements[i], where);
        return same;
    }
    if (same && a->kind == ZK_JSON_NUMBER)
        same = a->is_u64 && b->is_u64 && a->u64 == b->u64;
    else if (same && a->kind == ZK_JSON_STRING)
        same = memcmp(a->text, b->text, a->n) == 0;
    if (!same) fprintf(stderr, "%s: another value, or missing\n", where);
    return same;
}

/* The object of a listed circuit, nothing missing and nothing more. */
static void test_circuit_digest(void) {
    static const char *const circuits[][3] = {{"porep", "2KiB", "2048"},          {"winning", "2KiB", "2048"},
                                              {"window", "2KiB", "2048"},         {"update", "2KiB", "2048"},
                                              {"window", "4KiB", "4096"},         {"window", "8MiB", "8388608"},
                                              {"winning", "32GiB", "34359738368"}};
    for (size_t i = 0; i < sizeof circuits / sizeof circuits[0]; i++) {
        e2e_result r;
        char file[64];
        E2E_RUN(&r, 0, "circuit", "digest", circuits[i][0], "--sector-size", circuits[i][1], "--json");
        snprintf(file, sizeof file, "circuits/%s-%s.json", circuits[i][0], circuits[i][2]);
        zk_json_doc *doc = parse_text(r.out, r.n_out), *expected = parse_vector(file);
        ZK_CHECKF(same_value(zk_json_root(expected), zk_json_root(doc), "object"), "%s", file);
        zk_json_doc_destroy(doc);
        zk_json_doc_destroy(expected);
        e2e_free(&r);
    }
}

static void test_witness_digest(void) {
    e2e_result r;
    E2E_RUN(&r, 0, "witness", "digest", "--c1", c1_of("StackedDrg8MiBV1_1"), "--json");
    zk_json_doc *doc = parse_text(r.out, r.n_out);
    ZK_CHECK(zk_json_is(zk_json_member_of(zk_json_root(doc), "satisfied"), ZK_JSON_TRUE));
    zk_json_doc_destroy(doc);
    e2e_free(&r);
}

static void test_clean_up(void) { e2e_cleanup(); }

ZK_TEST_MAIN(ZK_CASE(test_usage), ZK_CASE(test_circuit_digest), ZK_CASE(test_witness_digest),
             ZK_CASE(test_toy_commands), ZK_CASE(test_params_check), ZK_CASE(test_disk_full),
             ZK_CASE(test_setup_equals_reference), ZK_CASE(test_verify), ZK_CASE(test_proofs_equal_reference),
             ZK_CASE(test_spans_add_up), ZK_CASE(test_bad_c1), ZK_CASE(test_clean_up))
