/* The vectors of PoSt: vanilla files, requests made of them. */
#ifndef ZK_TEST_POST_VECTORS_H
#define ZK_TEST_POST_VECTORS_H

#include "base/bytes.h"
#include "filecoin/post.h"
#include "filecoin_vectors.h"
#include "hash/sha256.h"

static inline zk_blob read_post_file(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/post/%s", zk_test_vectors_dir(), name);
    FILE *f = fopen(path, "rb");
    ZK_CHECKF(f != NULL, "cannot open %s", path);
    fseek(f, 0, SEEK_END);
    zk_blob blob = {.n = (size_t)ftell(f)};
    rewind(f);
    blob.data = malloc(blob.n + 1);
    ZK_CHECK(blob.data && fread(blob.data, 1, blob.n, f) == blob.n);
    fclose(f);
    return blob;
}

static inline void hex_of_node(uint8_t out[32], const zk_json_value *object, const char *name) {
    hex_of(out, 32, get(object, name));
}

/* A request of one of the files, before decoding. */
typedef struct post_request {
    const zk_registered_post *type;
    uint8_t randomness[32];
    uint32_t partition_index;
    zk_blob vanilla[8];
    size_t n;
} post_request;

static inline const zk_registered_post *type_named(const char *name) {
    const zk_registered_post *type = zk_registered_post_by_name(name, strlen(name));
    ZK_CHECKF(type != NULL, "%s", name);
    return type;
}

static inline void add_vanilla(post_request *r, const char *file) {
    ZK_CHECK(r->n < sizeof r->vanilla / sizeof r->vanilla[0]);
    r->vanilla[r->n++] = read_post_file(file);
}

static inline void free_request(post_request *r) {
    for (size_t i = 0; i < r->n; i++) free(r->vanilla[i].data);
}

/* From a file of the shape of winning-*.json or window-*-nN-*.json. */
static inline void request_of(post_request *r, const zk_json_value *root) {
    memset(r, 0, sizeof *r);
    r->type = type_named(get_text(root, "registered_proof"));
    hex_of_node(r->randomness, root, "randomness");
    if (r->type->kind == ZK_POST_WINNING) {
        add_vanilla(r, get_text(get(root, "vanilla"), "file"));
    } else {
        const zk_json_value *sectors = get(root, "sectors");
        for (size_t i = 0; i < zk_json_count(sectors); i++)
            add_vanilla(r, get_text(get(zk_json_element_of(sectors, i), "vanilla"), "file"));
    }
}

static inline cuzk_status create_post(zk_post **post, const post_request *r, cuzk_err *err) {
    zk_blob randomness = {(uint8_t *)(uintptr_t)r->randomness, 32};
    return zk_post_create(post, r->type, &randomness, r->partition_index, r->vanilla, r->n, NULL, err);
}

/* Public inputs of a partition; free() them. */
static inline uint8_t (*publics_of(const zk_post *post, uint32_t partition))[32] {
    uint8_t(*publics)[32] = malloc((size_t)zk_post_n_publics(post->type) * 32);
    ZK_CHECK(publics);
    zk_post_publics(publics, post, partition);
    return publics;
}

#endif
