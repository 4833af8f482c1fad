/* Reading the JSON vectors in the tests of src/filecoin. */
#ifndef ZK_TEST_FILECOIN_VECTORS_H
#define ZK_TEST_FILECOIN_VECTORS_H

#include "base/json_dom.h"
#include "filecoin/graph.h"
#include "hash/sha256.h"
#include "zk_test.h"

static inline zk_json_doc *load_json(const char *name) {
    char path[4096];
    cuzk_err err = {0};
    zk_json_doc *doc = NULL;
    snprintf(path, sizeof path, "%s/%s", zk_test_vectors_dir(), name);
    ZK_CHECK_OK(zk_json_parse_file(&doc, path, 64u << 20, &err), err);
    return doc;
}

static inline const zk_json_value *get(const zk_json_value *object, const char *name) {
    const zk_json_value *value = zk_json_member_of(object, name);
    ZK_CHECKF(value != NULL, "member %s", name);
    return value;
}

static inline uint64_t u64_of(const zk_json_value *value) {
    uint64_t out = 0;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_json_get_u64(&out, value, UINT64_MAX, "number", &err), err);
    return out;
}

static inline uint64_t get_u64(const zk_json_value *object, const char *name) { return u64_of(get(object, name)); }

static inline const char *get_text(const zk_json_value *object, const char *name) {
    const char *text = NULL;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_json_get_string(&text, get(object, name), name, &err), err);
    return text;
}

static inline void hex_of(uint8_t *out, size_t n, const zk_json_value *value) {
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_json_get_hex(out, n, value, "hex", &err), err);
}

static inline void get_node(uint8_t out[32], const zk_json_value *object, const char *name) {
    hex_of(out, 32, get(object, name));
}

/* SHA-256 of the parents of all nodes, 32-bit little-endian, as in the vectors. */
static inline void digest_of_parents(uint8_t digest[32], const zk_graph *graph) {
    zk_sha256_ctx ctx;
    zk_sha256_init(&ctx);
    for (uint32_t v = 0; v < graph->n_nodes; v++) {
        uint32_t parents[ZK_ALL_PARENTS];
        zk_graph_parents(parents, graph, v);
        zk_sha256_update(&ctx, parents, sizeof parents);
    }
    zk_sha256_final(digest, &ctx);
}

#endif
