#include "filecoin/request.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_dom.h"
#include "base/base64.h"

static const char *const kind_names[ZK_N_KINDS] = {NULL, "porep", "update", "window", "winning"};
static const char *const kind_proto_names[ZK_N_KINDS] = {"PROOF_KIND_UNSPECIFIED", "POREP_SEAL_COMMIT",
                                                         "SNAP_DEALS_UPDATE", "WINDOW_POST_PARTITION", "WINNING_POST"};
static const char *const priority_proto_names[ZK_N_PRIORITIES] = {"PRIORITY_UNSPECIFIED", "LOW", "NORMAL", "HIGH",
                                                                  "CRITICAL"};

const char *zk_proof_kind_name(zk_proof_kind kind) { return (unsigned)kind < ZK_N_KINDS ? kind_names[kind] : NULL; }

const char *zk_proof_kind_proto_name(zk_proof_kind kind) {
    return kind_proto_names[(unsigned)kind < ZK_N_KINDS ? kind : 0];
}

const char *zk_priority_proto_name(zk_priority priority) {
    return priority_proto_names[(unsigned)priority < ZK_N_PRIORITIES ? priority : 0];
}

zk_proof_kind zk_proof_kind_by_name(const char *name) {
    for (unsigned i = 1; i < ZK_N_KINDS; i++)
        if (strcmp(kind_names[i], name) == 0) return (zk_proof_kind)i;
    return ZK_KIND_UNSPECIFIED;
}

cuzk_status zk_blob_copy(zk_blob *out, const void *data, size_t n, cuzk_err *err) {
    out->data = zk_malloc(n);
    if (!out->data) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for %zu bytes", n);
    memcpy(out->data, data, n);
    out->n = n;
    return CUZK_OK;
}

/* ---- readers of one member, by type ---- */

static cuzk_status read_u64(uint64_t *out, const zk_json_value *value, uint64_t max, const char *name, cuzk_err *err) {
    if (!zk_json_is(value, ZK_JSON_STRING)) return zk_json_get_u64(out, value, max, name, err);
    uint64_t v = 0;
    bool good = value->n > 0 && value->n <= 20;
    for (size_t i = 0; good && i < value->n; i++) {
        char c = value->text[i];
        good = c >= '0' && c <= '9' && !__builtin_mul_overflow(v, 10, &v) &&
               !__builtin_add_overflow(v, (uint64_t)(c - '0'), &v);
    }
    if (!good || v > max)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: byte %" PRIu64 ": found \"%.40s\", expected an integer up to %" PRIu64,
                       name, value->offset, value->text, max);
    *out = v;
    return CUZK_OK;
}

static cuzk_status read_enum(unsigned *out, const zk_json_value *value, const char *const *names, unsigned n,
                             const char *name, cuzk_err *err) {
    if (zk_json_is(value, ZK_JSON_STRING)) {
        for (unsigned i = 0; i < n; i++) {
            if (strcmp(value->text, names[i]) != 0) continue;
            *out = i;
            return CUZK_OK;
        }
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: byte %" PRIu64 ": found \"%.60s\", expected one of %s ... %s", name,
                       value->offset, value->text, names[0], names[n - 1]);
    }
    uint64_t v = 0;
    ZK_TRY(zk_json_get_u64(&v, value, n - 1, name, err));
    *out = (unsigned)v;
    return CUZK_OK;
}

static cuzk_status read_blob(zk_blob *out, const zk_json_value *value, const char *name, cuzk_err *err) {
    const char *text = NULL;
    ZK_TRY(zk_json_get_string(&text, value, name, err));
    out->data = zk_malloc(zk_base64_max_bytes(value->n));
    if (!out->data) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory for %zu base64 characters", name, value->n);
    zk_base64 state = {0};
    cuzk_status status = zk_base64_decode(out->data, &out->n, &state, text, value->n, err);
    if (status == CUZK_OK) status = zk_base64_finish(&state, err);
    if (status != CUZK_OK) zk_err_prefix(err, "%s: string at byte %" PRIu64, name, value->offset);
    return status;
}

static cuzk_status read_blobs(zk_request *request, const zk_json_value *value, const char *name, cuzk_err *err) {
    if (!zk_json_is(value, ZK_JSON_ARRAY_BEGIN))
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: byte %" PRIu64 ": expected an array of strings", name, value->offset);
    size_t n = zk_json_count(value);
    request->vanilla_proofs = zk_calloc(n ? n : 1, sizeof *request->vanilla_proofs);
    if (!request->vanilla_proofs) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory for %zu entries", name, n);
    request->n_vanilla_proofs = n;
    for (size_t i = 0; i < n; i++)
        ZK_TRY(read_blob(&request->vanilla_proofs[i], zk_json_element_of(value, i), name, err));
    return CUZK_OK;
}

static cuzk_status read_member(zk_request *r, const zk_json_member *member, cuzk_err *err) {
    const char *name = member->name;
    const zk_json_value *value = &member->value;
    struct {
        const char *name;
        uint64_t *out;
    } const numbers[] = {{"sector_size", &r->sector_bytes},
                         {"registered_proof", &r->registered_proof},
                         {"sector_number", &r->sector_number},
                         {"miner_id", &r->miner_id}};
    struct {
        const char *name;
        zk_blob *out;
    } const blobs[] = {{"vanilla_proof", &r->vanilla_proof},
                       {"randomness", &r->randomness},
                       {"comm_r_old", &r->comm_r_old},
                       {"comm_r_new", &r->comm_r_new},
                       {"comm_d_new", &r->comm_d_new}};
    bool absent = zk_json_is(value, ZK_JSON_NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(name, numbers[i].name) == 0)
            return absent ? CUZK_OK : read_u64(numbers[i].out, value, UINT64_MAX, name, err);
    for (size_t i = 0; i < sizeof blobs / sizeof blobs[0]; i++)
        if (strcmp(name, blobs[i].name) == 0) return absent ? CUZK_OK : read_blob(blobs[i].out, value, name, err);
    if (strcmp(name, "vanilla_proofs") == 0) return absent ? CUZK_OK : read_blobs(r, value, name, err);
    if (strcmp(name, "partition_index") == 0) {
        uint64_t v = 0;
        if (!absent) ZK_TRY(read_u64(&v, value, UINT32_MAX, name, err));
        r->partition_index = (uint32_t)v;
        return CUZK_OK;
    }
    unsigned v = 0;
    if (strcmp(name, "proof_kind") == 0) {
        if (!absent) ZK_TRY(read_enum(&v, value, kind_proto_names, ZK_N_KINDS, name, err));
        r->kind = (zk_proof_kind)v;
        return CUZK_OK;
    }
    if (strcmp(name, "priority") == 0) {
        if (!absent) ZK_TRY(read_enum(&v, value, priority_proto_names, ZK_N_PRIORITIES, name, err));
        r->priority = (zk_priority)v;
        return CUZK_OK;
    }
    if (strcmp(name, "request_id") == 0) {
        const char *text = "";
        if (!absent) ZK_TRY(zk_json_get_string(&text, value, name, err));
        free(r->request_id);
        r->request_id = zk_strdup(text);
        return r->request_id ? CUZK_OK : ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for request_id");
    }
    return ZK_FAIL(err, CUZK_BAD_INPUT, "byte %" PRIu64 ": unknown member \"%.60s\"", value->offset, name);
}

static cuzk_status from_doc(zk_request **request, const zk_json_doc *doc, cuzk_err *err) {
    const zk_json_value *root = zk_json_root(doc);
    if (!zk_json_is(root, ZK_JSON_OBJECT_BEGIN))
        return ZK_FAIL(err, CUZK_BAD_INPUT, "byte %" PRIu64 ": expected an object (a SubmitProofRequest)",
                       root->offset);
    cuzk_status status = CUZK_OK;
    zk_request *r = zk_calloc(1, sizeof *r);
    if (!r) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a request");
    r->request_id = zk_strdup("");
    if (!r->request_id) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a request"));
    for (size_t i = 0; i < root->n; i++) ZK_GOTO(read_member(r, &root->members[i], err));
    if (r->kind == ZK_KIND_UNSPECIFIED) ZK_GOTO(ZK_FAIL(err, CUZK_BAD_INPUT, "proof_kind is missing"));
    *request = r;
    r = NULL;
out:
    zk_request_destroy(r);
    return status;
}

cuzk_status zk_request_read_file(zk_request **request, const char *path, cuzk_err *err) {
    zk_json_doc *doc = NULL;
    ZK_TRY(zk_json_parse_file(&doc, path, ZK_REQUEST_MAX_FILE_BYTES, err));
    cuzk_status status = from_doc(request, doc, err);
    zk_json_doc_destroy(doc);
    if (status != CUZK_OK) zk_err_prefix(err, "%s", path);
    return status;
}

void zk_request_destroy(zk_request *request) {
    if (!request) return;
    free(request->request_id);
    zk_blob *blobs[] = {&request->vanilla_proof, &request->randomness, &request->comm_r_old, &request->comm_r_new,
                        &request->comm_d_new};
    for (size_t i = 0; i < sizeof blobs / sizeof blobs[0]; i++) free(blobs[i]->data);
    for (size_t i = 0; i < request->n_vanilla_proofs; i++) free(request->vanilla_proofs[i].data);
    free(request->vanilla_proofs);
    free(request);
}
