/* In place of the daemon and its clients where the build found no libraries for them. */
#include <stdio.h>

#include "cli/commands.h"

static int run(const cli_command *self, int argc, char **argv) {
    (void)argc, (void)argv;
    cuzk_err err = {0};
    return cli_report(
        self,
        ZK_FAIL(&err, CUZK_UNSUPPORTED,
                "this build has no gRPC: %s not found when it was configured (on Debian: libgrpc-dev "
                "libprotobuf-c-dev protobuf-c-compiler protobuf-compiler libmicrohttpd-dev libsqlite3-dev "
                "pkg-config)",
                CUZK_RPC_MISSING),
        &err);
}

const cli_command cli_daemon = {"daemon", "serves proofs over gRPC (not in this build)", run, NULL};
const cli_command cli_status = {"status", "what a daemon is doing (not in this build)", run, NULL};
const cli_command cli_submit = {"submit", "gives a daemon a request to prove (not in this build)", run, NULL};
const cli_command cli_await = {"await", "waits for a daemon's proof (not in this build)", run, NULL};
const cli_command cli_cancel = {"cancel", "ends a daemon's job (not in this build)", run, NULL};
const cli_command cli_preload = {"preload", "loads the keys of a circuit in a daemon (not in this build)", run, NULL};
const cli_command cli_evict = {"evict", "releases the keys of a circuit in a daemon (not in this build)", run, NULL};
const cli_command cli_metrics = {"metrics", "a daemon's counters (not in this build)", run, NULL};
const cli_command cli_bench_single = {"bench single", "measures a daemon (not in this build)", run, NULL};
const cli_command cli_bench_batch = {"bench batch", "measures a daemon (not in this build)", run, NULL};
const cli_command cli_bench_stress = {"bench stress", "measures a daemon (not in this build)", run, NULL};
