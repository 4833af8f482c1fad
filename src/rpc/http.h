/* HTTP, read only: / (status page), /status (JSON), /metrics (Prometheus), /trace[?job=ID] (Chrome trace), /health.
 * Pages of other origins may read /status, nothing else. */
#ifndef ZK_RPC_HTTP_H
#define ZK_RPC_HTTP_H

#include "rpc/server.h"

typedef struct zk_http zk_http;

/* `address` as config/address.h has it, TCP only; port 0: any free one. `server` may be NULL. Both are borrowed. */
cuzk_status zk_http_create(zk_http **http, const char *address, zk_engine *engine, const zk_rpc_server *server,
                           cuzk_err *err) ZK_MUST_USE;
void zk_http_destroy(zk_http *http); /* NULL is fine; returns when no request is being answered */
int zk_http_port(const zk_http *http);

#endif
