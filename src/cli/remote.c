#include "cli/remote.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/reach.h"
#include "cli/session.h"
#include "config/address.h"
#include "filecoin/job.h"

cuzk_status cli_remote_open(cli_remote *r, cuzk_err *err) {
    const char *address = r->address, *set = getenv("CUZK_CONNECT");
    zk_client_options options = {r->ca, r->certificate, r->key, r->name};
    zk_address parsed;
    cuzk_err bad = {0};
    r->origin = "--connect";
    if (!address && set && set[0]) address = set, r->origin = "CUZK_CONNECT";
    if (!address) address = "unix:///run/curio/cuzk.sock", r->origin = "default";
    if (zk_address_parse(&parsed, address, &bad) != CUZK_OK)
        return ZK_FAIL(err, CUZK_USAGE, "%s: %s", r->origin, bad.message);
    if ((r->certificate || r->key || r->name) && !r->ca)
        return ZK_FAIL(err, CUZK_USAGE, "--tls-cert, --tls-key and --tls-name go with --tls-ca");
    if (!r->certificate != !r->key)
        return ZK_FAIL(err, CUZK_USAGE, "expected both of --tls-cert and --tls-key, or neither");
    return zk_client_create(&r->client, address, &options, err);
}

void cli_remote_advise(const cli_remote *r, cuzk_status status, cuzk_err *err) {
    char advice[CLI_ADVICE_BYTES];
    cli_reach_advice(advice, &(cli_reach){.reach = zk_client_last_reach(r->client),
                                          .status = status,
                                          .message = err->message,
                                          .origin = r->origin,
                                          .tls = r->ca != NULL,
                                          .certificate = r->certificate != NULL,
                                          .timeout_s = r->timeout_s});
    if (!advice[0]) return;
    size_t n = strlen(err->message), room = sizeof err->message - strlen(advice) - 3;
    snprintf(err->message + (n < room ? n : room), sizeof err->message - (n < room ? n : room), "; %s", advice);
}

void cli_remote_close(cli_remote *r) {
    zk_client_destroy(r->client);
    r->client = NULL;
}

uint64_t cli_remote_timeout_ms(const cli_remote *r) {
    return r->timeout_s > UINT64_MAX / 1000 ? 0 : r->timeout_s * 1000;
}

cuzk_status cli_remote_call_raw(void **answer, cli_remote *r, const char *method, const void *request, size_t n,
                                const ProtobufCMessageDescriptor *type, cuzk_err *err) {
    uint8_t *response = NULL;
    size_t n_response = 0;
    *answer = NULL;
    zk_client_query query = {method, request, n, cli_remote_timeout_ms(r)};
    cuzk_status status = zk_client_call_sync(&response, &n_response, r->client, &query, cli_cancelled, NULL, err);
    if (status != CUZK_OK) {
        cli_remote_advise(r, status, err);
        return status;
    }
    *answer = protobuf_c_message_unpack(type, NULL, n_response, response);
    free(response);
    return *answer ? CUZK_OK : ZK_FAIL(err, CUZK_INTERNAL, "%s: the answer is no %s", method, type->short_name);
}

cuzk_status cli_remote_call(void **answer, cli_remote *r, const char *method, const ProtobufCMessage *request,
                            const ProtobufCMessageDescriptor *type, cuzk_err *err) {
    size_t n = protobuf_c_message_get_packed_size(request);
    uint8_t *buffer = zk_malloc(n);
    if (!buffer) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a message");
    protobuf_c_message_pack(request, buffer);
    cuzk_status status = cli_remote_call_raw(answer, r, method, buffer, n, type, err);
    free(buffer);
    return status;
}

/* A PoRep request around the output of commit phase 1. */
static cuzk_status read_c1(zk_request **out, const char *path, const uint64_t *miner, const uint64_t *sector,
                           cuzk_err *err) {
    zk_job *job = NULL;
    cuzk_status status = CUZK_OK;
    zk_request *q = zk_calloc(1, sizeof *q);
    if (!q) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a request");
    q->request_id = zk_strdup("");
    if (!q->request_id) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a request"));
    ZK_GOTO(zk_job_from_c1_file(&job, path, err));
    ZK_GOTO(zk_job_expect(job, miner, sector, err));
    if (!job->has_miner || !job->has_sector) /* the replica id is made of both */
        ZK_GOTO(ZK_FAIL(err, CUZK_USAGE, "--c1: %s names no %s number: expected --%s N", path,
                        job->has_miner ? "sector" : "miner", job->has_miner ? "sector" : "miner"));
    ZK_GOTO(zk_file_read_input(&q->vanilla_proof.data, &q->vanilla_proof.n, path, ZK_REQUEST_MAX_FILE_BYTES, err));
    q->kind = ZK_KIND_POREP;
    q->sector_bytes = job->sector_bytes;
    q->registered_proof = job->registered_number;
    q->sector_number = job->sector;
    q->miner_id = job->miner;
    *out = q;
    q = NULL;
out:
    zk_job_destroy(job);
    zk_request_destroy(q);
    return status;
}

cuzk_status cli_remote_read_request(zk_request **request, const char *request_path, const char *c1_path,
                                    const uint64_t *miner, const uint64_t *sector, cuzk_err *err) {
    if (!request_path == !c1_path) return ZK_FAIL(err, CUZK_USAGE, "expected one of --request FILE and --c1 FILE");
    if (c1_path) return read_c1(request, c1_path, miner, sector, err);
    if (miner || sector) return ZK_FAIL(err, CUZK_USAGE, "--miner and --sector go with --c1: a request has its own");
    return zk_request_read_file(request, request_path, err);
}

cuzk_status cli_remote_outcome(const Cuzk__V1__AwaitProofResponse *a, cuzk_err *err) {
    const char *text = a->error_message[0] ? a->error_message : "no reason given";
    switch (a->status) {
    case CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__COMPLETED:
        return CUZK_OK;
    case CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__FAILED:
        return ZK_FAIL(err, CUZK_BAD_INPUT, "job %s failed: %s", a->job_id, text);
    case CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__CANCELLED:
        return ZK_FAIL(err, CUZK_CHECK_FAILED, "job %s was cancelled", a->job_id);
    case CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__TIMEOUT:
        return ZK_FAIL(err, CUZK_CHECK_FAILED, "job %s has not ended yet", a->job_id);
    default:
        return ZK_FAIL(err, CUZK_NOT_FOUND, "job %s: %s", a->job_id, text);
    }
}
