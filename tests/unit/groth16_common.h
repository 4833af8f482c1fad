/* What the tests of Groth16 share: circuits and keys of tests/vectors/toy, fixed toxic waste, temporary folders. */
#ifndef ZK_TESTS_GROTH16_COMMON_H
#define ZK_TESTS_GROTH16_COMMON_H

#include "zk_test.h"

#include <unistd.h>

#include "backend/cuda.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/json_dom.h"
#include "base/pool.h"
#include "groth16/prove.h"
#include "groth16/r1cs_json.h"
#include "groth16/setup.h"
#include "hash/sha256.h"

static const char *const toys[] = {"one-row",     "three-rows",  "no-inputs",  "bits-64",
                                   "random-1000", "random-1017", "random-1018"};
#define N_TOYS (sizeof toys / sizeof toys[0])

static zk_pool *test_pool;
static zk_backend *test_backend;
static char test_folder[64];

/* At exit: the tests remove their files, so the folder is empty unless one failed. */
static inline void test_close(void) { rmdir(test_folder); }

static inline void test_open(void) {
    cuzk_err err = {0};
    if (test_pool) return;
    ZK_CHECK_OK(zk_pool_create(&test_pool, 2, &err), err);
#if defined(ZK_TEST_CUDA) /* the same tests on the other device */
    ZK_CHECK_OK(zk_backend_open_cuda(&test_backend, 0, 0, test_pool, &err), err);
#else
    ZK_CHECK_OK(zk_backend_open_cpu(&test_backend, test_pool, &err), err);
#endif
    strcpy(test_folder, "/tmp/cuzk-test-XXXXXX");
    ZK_CHECK(mkdtemp(test_folder));
    atexit(test_close);
}

/* Texts of paths, four at a time. */
static inline const char *test_path(const char *folder, const char *name, const char *suffix) {
    static char text[4][512];
    static unsigned turn;
    char *t = text[turn++ % 4];
    snprintf(t, sizeof text[0], "%s/%s%s", folder, name, suffix);
    return t;
}
static inline const char *toy_path(const char *name, const char *suffix) {
    static char folder[400];
    snprintf(folder, sizeof folder, "%s/toy", zk_test_vectors_dir());
    return test_path(folder, name, suffix);
}
static inline const char *temp_path(const char *name, const char *suffix) {
    return test_path(test_folder, name, suffix);
}

/* SHA-256 of the text with the top two bits cleared. */
static inline void seed_fr(zk_fr *r, const char *text) {
    uint8_t digest[32];
    zk_sha256_trunc254(digest, text, strlen(text));
    ZK_CHECK(zk_fr_from_bytes_le(r, digest));
}

static inline zk_toxic_waste fixed_toxic(void) {
    zk_toxic_waste toxic;
    seed_fr(&toxic.alpha, "cuzk toxic alpha");
    seed_fr(&toxic.beta, "cuzk toxic beta");
    seed_fr(&toxic.gamma, "cuzk toxic gamma");
    seed_fr(&toxic.delta, "cuzk toxic delta");
    seed_fr(&toxic.tau, "cuzk toxic tau");
    return toxic;
}

typedef struct bytes {
    uint8_t *data;
    size_t n;
} bytes;
static inline bytes read_bytes(const char *path) {
    cuzk_err err = {0};
    bytes b;
    ZK_CHECK_OK(zk_file_read(&b.data, &b.n, path, 1 << 30, &err), err);
    return b;
}

typedef struct toy {
    zk_r1cs_circuit circuit;
    zk_resident_program *program;
    zk_json_doc *json;
} toy;

static inline toy toy_open(const char *name) {
    cuzk_err err = {0};
    toy t;
    test_open();
    ZK_CHECK_OK(zk_r1cs_json_read(&t.circuit, toy_path(name, ".json"), &err), err);
    ZK_CHECK_OK(zk_resident_program_load(&t.program, test_backend, t.circuit.program, &err), err);
    ZK_CHECK_OK(zk_json_parse_file(&t.json, toy_path(name, ".json"), 1 << 26, &err), err);
    return t;
}
static inline void toy_close(toy *t) {
    zk_resident_program_unload(t->program);
    zk_r1cs_circuit_clear(&t->circuit);
    zk_json_doc_destroy(t->json);
}

static inline zk_prove_request toy_request(const toy *t, const zk_blinding *blinding) {
    return (zk_prove_request){.hints = (const uint8_t(*)[32])t->circuit.hints,
                              .n_hints = t->circuit.n_hints,
                              .publics = (const uint8_t(*)[32])t->circuit.publics,
                              .n_publics = t->circuit.n_publics,
                              .blinding = blinding};
}

static inline void json_hex(uint8_t *out, size_t n, const zk_json_value *object, const char *name) {
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_json_get_hex(out, n, zk_json_member_of(object, name), name, &err), err);
}

/* An entry of the list "proofs" of a toy: its blinding and the proof that this must give. */
static inline void json_proof(zk_blinding *blinding, uint8_t expected[ZK_PROOF_BYTES], const zk_json_value *entry) {
    uint8_t scalar[32];
    json_hex(scalar, 32, entry, "r");
    ZK_CHECK(zk_fr_from_bytes_le(&blinding->r, scalar));
    json_hex(scalar, 32, entry, "s");
    ZK_CHECK(zk_fr_from_bytes_le(&blinding->s, scalar));
    json_hex(expected, ZK_PROOF_BYTES, entry, "proof");
}

#endif
