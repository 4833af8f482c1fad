/* Reading vectors/update in tests. */
#ifndef ZK_TEST_UPDATE_VECTORS_H
#define ZK_TEST_UPDATE_VECTORS_H

#include <inttypes.h>

#include "base/file.h"
#include "filecoin/update.h"
#include "filecoin_vectors.h"

static inline void read_file(uint8_t **data, size_t *n, const char *name) {
    char path[4096];
    cuzk_err err = {0};
    snprintf(path, sizeof path, "%s/update/%s", zk_test_vectors_dir(), name);
    ZK_CHECK_OK(zk_file_read(data, n, path, 1 << 20, &err), err);
}

static inline bool has_file(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/update/%s", zk_test_vectors_dir(), name);
    FILE *f = fopen(path, "rb");
    if (f) fclose(f);
    return f != NULL;
}

static inline zk_json_doc *load_update_json(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "update/%s.json", name);
    return load_json(path);
}

/* What update/NAME.json states. */
static inline void get_statement(zk_update_statement *s, const zk_json_value *sample) {
    uint8_t r_old[32], d_new[32], r_new[32];
    cuzk_err err = {0};
    const zk_json_value *commitments = get(sample, "commitments");
    get_node(r_old, commitments, "comm_r_old");
    get_node(d_new, commitments, "comm_d_new");
    get_node(r_new, commitments, "comm_r_new");
    ZK_CHECK_OK(zk_update_statement_init(s, get_u64(sample, "sector_bytes"), r_old, d_new, r_new, &err), err);
}

/* One partition proof of a sample. */
typedef struct update_case {
    zk_json_doc *doc;
    zk_update_statement statement;
    uint32_t partition;
    uint8_t *bytes;
    size_t n;
    zk_update_proof proof;
} update_case;

static inline void case_load(update_case *c, const char *sample, uint32_t partition) {
    char name[128];
    cuzk_err err = {0};
    memset(c, 0, sizeof *c);
    c->doc = load_update_json(sample);
    c->partition = partition;
    get_statement(&c->statement, zk_json_root(c->doc));
    snprintf(name, sizeof name, "%s-p%" PRIu32 ".bin", sample, partition);
    read_file(&c->bytes, &c->n, name);
    ZK_CHECK_OK(zk_update_proof_read(&c->proof, &c->statement.shape, c->bytes, c->n, &err), err);
}

static inline void case_free(update_case *c) {
    zk_update_proof_free(&c->proof);
    free(c->bytes);
    zk_json_doc_destroy(c->doc);
}

#endif
