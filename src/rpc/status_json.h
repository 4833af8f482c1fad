/* GET /status: the public shape, and beside its members our own (jobs, workers, draining ...). */
#ifndef ZK_RPC_STATUS_JSON_H
#define ZK_RPC_STATUS_JSON_H

#include "rpc/server.h"

/* One JSON object, zero-terminated, to be freed. server may be NULL. */
cuzk_status zk_rpc_status_json(char **text, size_t *n, zk_engine *engine, const zk_rpc_server *server,
                               cuzk_err *err) ZK_MUST_USE;

#endif
