/* Requests: what a client asks to be proved, as the gRPC message SubmitProofRequest has it, and its file form.
 *
 * The file form is the proto3 JSON mapping of that message under its proto names: bytes as base64, uint64 as number or
 * string of digits, enums by name or number; a member that is absent or null has its default; an unknown one is an
 * error.
 */
#ifndef ZK_FILECOIN_REQUEST_H
#define ZK_FILECOIN_REQUEST_H

#include "filecoin/input.h"

typedef enum zk_proof_kind {
    ZK_KIND_UNSPECIFIED,
    ZK_KIND_POREP,   /* POREP_SEAL_COMMIT */
    ZK_KIND_UPDATE,  /* SNAP_DEALS_UPDATE */
    ZK_KIND_WINDOW,  /* WINDOW_POST_PARTITION */
    ZK_KIND_WINNING, /* WINNING_POST */
    ZK_N_KINDS
} zk_proof_kind;

typedef enum zk_priority {
    ZK_PRIORITY_UNSPECIFIED,
    ZK_PRIORITY_LOW,
    ZK_PRIORITY_NORMAL,
    ZK_PRIORITY_HIGH,
    ZK_PRIORITY_CRITICAL,
    ZK_N_PRIORITIES
} zk_priority;

/* "porep", "update", "window", "winning" as on the command line; NULL for UNSPECIFIED. */
const char *zk_proof_kind_name(zk_proof_kind kind);
/* Names of the gRPC enums. */
const char *zk_proof_kind_proto_name(zk_proof_kind kind);
const char *zk_priority_proto_name(zk_priority priority);
/* UNSPECIFIED if the text is no kind. */
zk_proof_kind zk_proof_kind_by_name(const char *name);

typedef struct zk_blob {
    uint8_t *data;
    size_t n;
} zk_blob;

/* Allocates; free() out->data. */
cuzk_status zk_blob_copy(zk_blob *out, const void *data, size_t n, cuzk_err *err) ZK_MUST_USE;

typedef struct zk_request {
    char *request_id; /* never NULL */
    zk_proof_kind kind;
    zk_priority priority;
    uint64_t sector_bytes, registered_proof, sector_number, miner_id;
    uint32_t partition_index;
    zk_blob vanilla_proof;
    zk_blob *vanilla_proofs; /* [n_vanilla_proofs] */
    size_t n_vanilla_proofs;
    zk_blob randomness, comm_r_old, comm_r_new, comm_d_new; /* as long as the request had them; checked by the kind */
    zk_passed passed; /* of vanilla_proof and vanilla_proofs, while a job is made of them (zk_job_from_request) */
} zk_request;

#define ZK_REQUEST_MAX_FILE_BYTES ((size_t)1 << 30)

cuzk_status zk_request_read_file(zk_request **request, const char *path, cuzk_err *err) ZK_MUST_USE;
/* Writes the file form, whole or not at all. */
cuzk_status zk_request_write_file(const zk_request *request, const char *path, cuzk_err *err) ZK_MUST_USE;
void zk_request_destroy(zk_request *request); /* NULL is fine */

#endif
