#include "cli/testdata.h"

#include "base/alloc.h"
#include "base/json_dom.h"

enum { MAX_FILE_BYTES = 16 << 20 };

static cuzk_status read_fr(zk_fr *r, const zk_json_value *object, const char *name, const char *path, cuzk_err *err) {
    uint8_t bytes[ZK_FR_BYTES];
    cuzk_status status = zk_json_get_hex(bytes, sizeof bytes, zk_json_member_of(object, name), name, err);
    if (status != CUZK_OK) {
        zk_err_prefix(err, "%s", path);
        return status;
    }
    if (!zk_fr_from_bytes_le(r, bytes))
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: %s: found a value not below the field modulus", path, name);
    return CUZK_OK;
}

cuzk_status cli_read_toxic(zk_toxic_waste *toxic, const char *path, cuzk_err *err) {
    zk_json_doc *doc = NULL;
    ZK_TRY(zk_json_parse_file(&doc, path, MAX_FILE_BYTES, err));
    const zk_json_value *root = zk_json_root(doc);
    cuzk_status status = CUZK_OK;
    ZK_GOTO(read_fr(&toxic->alpha, root, "alpha", path, err));
    ZK_GOTO(read_fr(&toxic->beta, root, "beta", path, err));
    ZK_GOTO(read_fr(&toxic->gamma, root, "gamma", path, err));
    ZK_GOTO(read_fr(&toxic->delta, root, "delta", path, err));
    ZK_GOTO(read_fr(&toxic->tau, root, "tau", path, err));
out:
    zk_json_doc_destroy(doc);
    return status;
}

cuzk_status cli_read_blinding(zk_blinding **blinding, size_t n, const char *path, cuzk_err *err) {
    zk_json_doc *doc = NULL;
    zk_blinding *out = NULL;
    ZK_TRY(zk_json_parse_file(&doc, path, MAX_FILE_BYTES, err));
    const zk_json_value *root = zk_json_root(doc);
    cuzk_status status = CUZK_OK;
    if (!zk_json_is(root, ZK_JSON_ARRAY_BEGIN) || zk_json_count(root) < n)
        ZK_GOTO(ZK_FAIL(err, CUZK_BAD_INPUT,
                        "%s: found %zu entries, expected an array with one for each of %zu partitions", path,
                        zk_json_count(root), n));
    out = zk_calloc(n ? n : 1, sizeof *out);
    if (!out) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for %zu blinding pairs", n));
    for (size_t k = 0; k < n; k++) {
        const zk_json_value *entry = zk_json_element_of(root, k);
        ZK_GOTO(read_fr(&out[k].r, entry, "r", path, err));
        ZK_GOTO(read_fr(&out[k].s, entry, "s", path, err));
    }
    *blinding = out;
    out = NULL;
out:
    free(out);
    zk_json_doc_destroy(doc);
    return status;
}
