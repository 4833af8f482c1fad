#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "filecoin/request.h"

static cuzk_status put_blob(zk_json_writer *json, const char *key, const zk_blob *blob, cuzk_err *err) {
    size_t n_text = (blob->n + 2) / 3 * 4;
    char *text = zk_malloc(n_text + 1);
    if (!text) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for %zu base64 characters", n_text);
    zk_base64_encode(text, blob->data, blob->n);
    zk_json_put_text(json, key, text, n_text);
    free(text);
    return CUZK_OK;
}

static cuzk_status put_request(zk_json_writer *json, const zk_request *r, cuzk_err *err) {
    zk_json_begin_object(json, NULL);
    if (r->request_id[0]) zk_json_put_string(json, "request_id", r->request_id);
    zk_json_put_string(json, "proof_kind", zk_proof_kind_proto_name(r->kind));
    zk_json_put_u64(json, "sector_size", r->sector_bytes);
    zk_json_put_u64(json, "registered_proof", r->registered_proof);
    if (r->priority != ZK_PRIORITY_UNSPECIFIED)
        zk_json_put_string(json, "priority", zk_priority_proto_name(r->priority));
    zk_json_put_u64(json, "sector_number", r->sector_number);
    zk_json_put_u64(json, "miner_id", r->miner_id);
    if (r->partition_index) zk_json_put_u64(json, "partition_index", r->partition_index);
    const struct {
        const char *key;
        const zk_blob *blob;
    } blobs[] = {{"randomness", &r->randomness},
                 {"comm_r_old", &r->comm_r_old},
                 {"comm_r_new", &r->comm_r_new},
                 {"comm_d_new", &r->comm_d_new},
                 {"vanilla_proof", &r->vanilla_proof}};
    for (size_t i = 0; i < sizeof blobs / sizeof blobs[0]; i++)
        if (blobs[i].blob->n) ZK_TRY(put_blob(json, blobs[i].key, blobs[i].blob, err));
    if (r->n_vanilla_proofs) {
        zk_json_begin_array(json, "vanilla_proofs");
        for (size_t i = 0; i < r->n_vanilla_proofs; i++) ZK_TRY(put_blob(json, NULL, &r->vanilla_proofs[i], err));
        zk_json_end(json);
    }
    zk_json_end(json);
    return CUZK_OK;
}

cuzk_status zk_request_write_file(const zk_request *request, const char *path, cuzk_err *err) {
    zk_json_writer *json = zk_json_writer_create(NULL, 0);
    cuzk_status status = put_request(json, request, err);
    if (status == CUZK_OK) status = zk_json_writer_finish(json, err);
    if (status == CUZK_OK) {
        size_t n = 0;
        const char *text = zk_json_writer_text(json, &n);
        status = zk_file_write(path, text, n, err);
    }
    zk_json_writer_destroy(json);
    return status;
}
