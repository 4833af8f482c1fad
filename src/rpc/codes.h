/* The one place where statuses become gRPC codes and back. */
#ifndef ZK_RPC_CODES_H
#define ZK_RPC_CODES_H

#include <grpc/status.h>

#include "base/status.h"

grpc_status_code zk_rpc_code_of(cuzk_status status);
cuzk_status zk_rpc_status_of(grpc_status_code code);
const char *zk_rpc_code_name(grpc_status_code code); /* "INVALID_ARGUMENT" ... */

#endif
