/* What the engine is doing, as Prometheus text and as the JSON of /status. */
#ifndef ZK_RPC_METRICS_H
#define ZK_RPC_METRICS_H

#include "rpc/server.h"

/* Zero-terminated, to be freed. server may be NULL. */
cuzk_status zk_rpc_metrics_text(char **text, size_t *n, zk_engine *engine, const zk_rpc_server *server,
                                cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_rpc_status_json(char **text, size_t *n, zk_engine *engine, const zk_rpc_server *server,
                               cuzk_err *err) ZK_MUST_USE;
/* Names of proof kinds on the wire: "porep-c2" in GetStatus and /status, "porep_c2" as label; "unknown" for none. */
const char *zk_rpc_kind_name(zk_proof_kind kind);
const char *zk_rpc_kind_label(zk_proof_kind kind);

/* Gives memory of large messages back to the system. */
void zk_rpc_trim(void);

#endif
