/* gRPC's own messages go where ours go, not past them to standard error. */
#ifndef ZK_RPC_CORE_LOG_H
#define ZK_RPC_CORE_LOG_H

#include "base/log.h"

/* Its errors get this level, all else DEBUG. For the whole process; to be called before gRPC is used. */
void zk_rpc_core_log(zk_log_level errors);

#endif
