/* What can be said of a request before its vanilla proofs are read: the one list of rules for whoever accepts, decodes
 * or proves requests. */
#ifndef ZK_FILECOIN_REQUEST_HEAD_H
#define ZK_FILECOIN_REQUEST_HEAD_H

#include "filecoin/request.h"

/* A field that should have 32 bytes: how many it has, and the first 32 of them. */
typedef struct zk_request_field {
    uint64_t n;
    uint8_t bytes[32];
} zk_request_field;

/* Numbers that have rules and short fields of a request whole; of its vanilla proofs how many there are, and how long.
 * Of fixed size, whatever is in the request. Zero-initialise. */
typedef struct zk_request_head {
    zk_proof_kind kind;
    uint64_t sector_bytes; /* 0: not said */
    uint64_t registered_proof, miner_id;
    uint32_t partition_index;
    zk_request_field randomness, comm_r_old, comm_r_new, comm_d_new;
    uint64_t n_vanilla_bytes; /* of vanilla_proof */
    uint64_t n_vanilla_proofs;
    uint64_t entry_bytes;          /* of vanilla_proofs[0] */
    uint64_t odd_entry, odd_bytes; /* the first entry of another length, and its length; 0: there is none */
} zk_request_head;

void zk_request_field_set(zk_request_field *field, const zk_blob *blob);
/* One more entry of vanilla_proofs. */
void zk_request_head_add_entry(zk_request_head *head, uint64_t n_bytes);
void zk_request_head_get(zk_request_head *head, const zk_request *request);

/* What the request is for. READ: to look at it. PROVE: also what its statement alone shows to be in vain is refused.
 * PARTITION: as a daemon is given it, so that a WindowPoSt is one partition, too. */
typedef enum zk_request_use { ZK_REQUEST_READ, ZK_REQUEST_PROVE, ZK_REQUEST_PARTITION } zk_request_use;

/* Whether the request can be right. BAD_INPUT: "FIELD: found ..., expected ...". A sector size that was not said is
 * filled in: the registered proof has it. Fields that a kind does not use are not looked at. */
cuzk_status zk_request_check(zk_request_head *head, zk_request_use use, cuzk_err *err) ZK_MUST_USE;

/* ---- for the kinds ---- */

/* The sector size is that of the registered proof, or 0, which is filled in. */
cuzk_status zk_request_check_size(zk_request_head *head, const char *registered_name, uint64_t registered_bytes,
                                  cuzk_err *err) ZK_MUST_USE;
/* Every entry of vanilla_proofs has so many bytes. */
cuzk_status zk_request_check_entries(const zk_request_head *head, uint64_t n_bytes, cuzk_err *err) ZK_MUST_USE;
/* `name` has 32 bytes, which are a field element. */
cuzk_status zk_request_check_element(const zk_request_field *field, const char *name, cuzk_err *err) ZK_MUST_USE;

#endif
