/* The client side: calls of cuzk.v1.ProvingEngine, many at a time from one thread. */
#ifndef ZK_RPC_CLIENT_H
#define ZK_RPC_CLIENT_H

#include "base/status.h"
#include "filecoin/request.h"

typedef struct zk_client zk_client;
typedef struct zk_client_call zk_client_call;

/* Zero members mean the defaults. */
typedef struct zk_client_options {
    const char *tls_ca, *tls_certificate, *tls_key; /* PEM files; tls_ca: TLS is used, the server checked against it */
    const char *tls_name;                           /* the name the server's certificate must have, if not the host */
} zk_client_options;

/* `address` as in `listen`. Nothing is connected yet. options may be NULL. */
cuzk_status zk_client_create(zk_client **client, const char *address, const zk_client_options *options,
                             cuzk_err *err) ZK_MUST_USE;
void zk_client_destroy(zk_client *client); /* ends running calls with CANCELLED, their `done` is called; NULL is fine */

/* `response` holds the message of a call that succeeded and is the client's. `err` says what a failed one was answered
 * (its status by codes.h, "CODE: message"). Called from zk_client_poll or zk_client_destroy. */
typedef void (*zk_client_done_fn)(void *ctx, cuzk_status status, const uint8_t *response, size_t n_response,
                                  const cuzk_err *err);
/* What is called: "SubmitProof" ..., or "/package.Service/Method". */
typedef struct zk_client_query {
    const char *method;
    const void *message; /* [n] encoded */
    size_t n;
    uint64_t timeout_ms; /* 0: none */
} zk_client_query;
/* Starts a call; nothing of the query is needed after that. `call` may be NULL. */
cuzk_status zk_client_start(zk_client_call **call, zk_client *client, const zk_client_query *query,
                            zk_client_done_fn done, void *ctx, cuzk_err *err) ZK_MUST_USE;
void zk_client_cancel(zk_client_call *call); /* `done` still comes */
/* How the last call that ended came to its end: to be asked in `done`, or after a call that was waited for. */
typedef enum zk_client_reach {
    ZK_CLIENT_ANSWERED,  /* by the server, or ended here: CANCELLED, DEADLINE_EXCEEDED ... */
    ZK_CLIENT_UNREACHED, /* there was never a connection */
    ZK_CLIENT_LOST,      /* there was one */
} zk_client_reach;
zk_client_reach zk_client_last_reach(const zk_client *client);
/* Serves finished calls for up to timeout_ms; returns how many. */
unsigned zk_client_poll(zk_client *client, unsigned timeout_ms);

/* One call, waited for. `stop` (may be NULL) is polled about ten times a second; true cancels. The response is to be
 * freed. */
cuzk_status zk_client_call_sync(uint8_t **response, size_t *n_response, zk_client *client, const zk_client_query *query,
                                bool (*stop)(void *ctx), void *ctx, cuzk_err *err) ZK_MUST_USE;

/* SubmitProofRequest (nested: inside a ProveRequest) of a request, encoded; to be freed. */
cuzk_status zk_client_encode_submit(uint8_t **message, size_t *n, const zk_request *request, bool nested,
                                    cuzk_err *err) ZK_MUST_USE;

#endif
