/* What the engine and the calls of the server come to, as Prometheus text: of GetMetrics and of /metrics. */
#ifndef ZK_RPC_METRICS_H
#define ZK_RPC_METRICS_H

#include "rpc/server.h"

/* Zero-terminated, to be freed. server may be NULL. */
cuzk_status zk_rpc_metrics_text(char **text, size_t *n, zk_engine *engine, const zk_rpc_server *server,
                                cuzk_err *err) ZK_MUST_USE;

#endif
