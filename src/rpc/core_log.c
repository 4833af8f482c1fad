#include "rpc/core_log.h"

#include <grpc/support/log.h>
#include <stdatomic.h>

static atomic_int error_level;

static void pass_on(gpr_log_func_args *args) {
    zk_log_level level =
        args->severity == GPR_LOG_SEVERITY_ERROR ? (zk_log_level)atomic_load(&error_level) : ZK_LOG_DEBUG;
    ZK_LOG(level, "grpc", zk_kv_str("text", args->message), zk_kv_str("file", args->file),
           zk_kv_i64("line", args->line));
}

void zk_rpc_core_log(zk_log_level errors) {
    atomic_store(&error_level, (int)errors);
    gpr_set_log_function(pass_on);
}
