/* Comparison of circuits and witnesses with the vectors. */
#ifndef CIRCUIT_CHECK_H
#define CIRCUIT_CHECK_H

#include <inttypes.h>

#include "base/json_dom.h"
#include "base/pool.h"
#include "circuit/porep.h"
#include "program/digest.h"
#include "zk_test.h"

static inline zk_json_doc *load_json(const char *name) {
    char path[4096];
    zk_json_doc *doc = NULL;
    cuzk_err err = {0};
    int n = snprintf(path, sizeof path, "%s/%s", zk_test_vectors_dir(), name);
    ZK_CHECK(n > 0 && (size_t)n < sizeof path);
    ZK_CHECK_OK(zk_json_parse_file(&doc, path, 256 << 20, &err), err);
    return doc;
}

static inline uint64_t get_u64(const zk_json_value *v, const char *name) {
    uint64_t r = 0;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_json_get_u64(&r, zk_json_member_of(v, name), UINT64_MAX, name, &err), err);
    return r;
}

static inline void get_hex(uint8_t *out, size_t n, const zk_json_value *v, const char *name) {
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_json_get_hex(out, n, v, name, &err), err);
}

/* First checkpoint that differs, as the first unit of its block; all must be there. */
static inline void check_checkpoints(const char *what, const zk_checkpoints *found, const zk_json_value *expected,
                                     uint64_t every) {
    ZK_CHECKF(found->n == zk_json_count(expected), "%s: %zu checkpoints, expected %zu", what, found->n,
              zk_json_count(expected));
    for (size_t i = 0; i < found->n; i++) {
        uint8_t want[8];
        get_hex(want, 8, zk_json_element_of(expected, i), what);
        ZK_CHECKF(!memcmp(want, found->at[i], 8), "%s: first difference in %" PRIu64 " .. %" PRIu64, what, i * every,
                  (i + 1) * every - 1);
    }
}

/* The program of a kind and sector size against vectors/circuits. */
static inline void check_structure(const char *kind, uint64_t sector_bytes, const zk_program *p) {
    char name[64];
    cuzk_err err = {0};
    zk_structure_digest digest;
    zk_pool *pool = NULL;
    snprintf(name, sizeof name, "circuits/%s-%" PRIu64 ".json", kind, sector_bytes);
    zk_json_doc *doc = load_json(name);
    const zk_json_value *v = zk_json_root(doc), *density = zk_json_member_of(v, "density");
    ZK_CHECK(p->n_inputs == get_u64(v, "inputs"));
    ZK_CHECK(p->n_aux == get_u64(v, "aux"));
    ZK_CHECK(p->n_rows == get_u64(v, "constraints"));
    ZK_CHECK_OK(zk_pool_create(&pool, 0, &err), err);
    uint64_t every = get_u64(v, "rows_per_checkpoint");
    ZK_CHECK_OK(zk_structure_digest_make(&digest, p, (uint32_t)every, pool, &err), err);
    for (unsigned m = 0; m < 3; m++) {
        const char letter[2] = {"ABC"[m], 0};
        uint8_t want[32];
        check_checkpoints(letter, &digest.checkpoints[m],
                          zk_json_member_of(zk_json_member_of(v, "checkpoints"), letter), every);
        get_hex(want, 32, zk_json_member_of(zk_json_member_of(v, "sha256"), letter), letter);
        ZK_CHECK_MEM(want, digest.sha256[m], 32);
        uint64_t nnz = 0;
        ZK_CHECK_OK(zk_json_get_u64(&nnz, zk_json_element_of(zk_json_member_of(v, "nnz"), m), UINT64_MAX, "nnz", &err),
                    err);
        ZK_CHECK(digest.stats.nnz[m] == nnz);
    }
    ZK_CHECK(digest.stats.a_aux == get_u64(density, "a_aux"));
    ZK_CHECK(digest.stats.b_aux == get_u64(density, "b_aux"));
    ZK_CHECK(digest.stats.b_input == get_u64(density, "b_input"));
    ZK_CHECK(digest.stats.n_zero_terms == get_u64(v, "zero_coefficients_dropped"));
    zk_structure_digest_free(&digest);
    zk_pool_destroy(pool);
    zk_json_doc_destroy(doc);
}

static inline void check_porep_structure(uint64_t sector_bytes) {
    cuzk_err err = {0};
    zk_program *p = NULL;
    ZK_CHECK_OK(zk_porep_program(&p, sector_bytes, &err), err);
    check_structure("porep", sector_bytes, p);
    zk_program_destroy(p);
}

#endif
