#include "filecoin/request_head.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "filecoin/bincode.h"
#include "filecoin/kinds.h"

void zk_request_field_set(zk_request_field *field, const zk_blob *blob) {
    *field = (zk_request_field){.n = blob->n};
    size_t n = zk_min_size(blob->n, sizeof field->bytes);
    if (n) memcpy(field->bytes, blob->data, n);
}

void zk_request_head_add_entry(zk_request_head *head, uint64_t n_bytes) {
    uint64_t i = head->n_vanilla_proofs++;
    if (i == 0) {
        head->entry_bytes = n_bytes;
    } else if (!head->odd_entry && n_bytes != head->entry_bytes) {
        head->odd_entry = i;
        head->odd_bytes = n_bytes;
    }
}

void zk_request_head_get(zk_request_head *head, const zk_request *r) {
    *head = (zk_request_head){
        .kind = r->kind,
        .sector_bytes = r->sector_bytes,
        .registered_proof = r->registered_proof,
        .miner_id = r->miner_id,
        .partition_index = r->partition_index,
        .n_vanilla_bytes = r->vanilla_proof.n,
    };
    zk_request_field_set(&head->randomness, &r->randomness);
    zk_request_field_set(&head->comm_r_old, &r->comm_r_old);
    zk_request_field_set(&head->comm_r_new, &r->comm_r_new);
    zk_request_field_set(&head->comm_d_new, &r->comm_d_new);
    for (size_t i = 0; i < r->n_vanilla_proofs; i++) zk_request_head_add_entry(head, r->vanilla_proofs[i].n);
}

cuzk_status zk_request_check(zk_request_head *head, zk_request_use use, cuzk_err *err) {
    const zk_kind_ops *ops = NULL;
    if (head->kind <= ZK_KIND_UNSPECIFIED || head->kind >= ZK_N_KINDS)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "proof_kind: found %d, expected 1 to %d", (int)head->kind, ZK_N_KINDS - 1);
    if (head->miner_id > INT64_MAX) /* an actor's address has no room for it */
        return ZK_FAIL(err, CUZK_BAD_INPUT, "miner_id: found %" PRIu64 ", expected a number below 2^63",
                       head->miner_id);
    ZK_TRY(zk_kind_get(&ops, head->kind, err));
    return ops->check_head(head, use, err);
}

cuzk_status zk_request_check_size(zk_request_head *head, const char *registered_name, uint64_t registered_bytes,
                                  cuzk_err *err) {
    if (head->sector_bytes == 0) head->sector_bytes = registered_bytes;
    if (head->sector_bytes == registered_bytes) return CUZK_OK;
    return ZK_FAIL(err, CUZK_BAD_INPUT, "sector_size: found %" PRIu64 ", but %s (%" PRIu64 ") has %" PRIu64,
                   head->sector_bytes, registered_name, head->registered_proof, registered_bytes);
}

cuzk_status zk_request_check_entries(const zk_request_head *head, uint64_t n_bytes, cuzk_err *err) {
    bool first = head->n_vanilla_proofs > 0 && head->entry_bytes != n_bytes;
    if (!first && !head->odd_entry) return CUZK_OK;
    return ZK_FAIL(err, CUZK_BAD_INPUT, "vanilla_proofs[%" PRIu64 "]: found %" PRIu64 " bytes, expected %" PRIu64,
                   first ? 0 : head->odd_entry, first ? head->entry_bytes : head->odd_bytes, n_bytes);
}

cuzk_status zk_request_check_element(const zk_request_field *field, const char *name, cuzk_err *err) {
    if (field->n != 32) return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %" PRIu64 " bytes, expected 32", name, field->n);
    if (zk_node_is_canonical(field->bytes)) return CUZK_OK;
    char hex[65];
    zk_hex_encode(hex, field->bytes, 32);
    return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %s, expected a field element (below r, little-endian)", name, hex);
}
