#include "rpc/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *label;
} kinds[ZK_N_KINDS] = {{"unknown", "unknown"},
                       {"porep-c2", "porep_c2"},
                       {"snap-update", "snap_update"},
                       {"window-post", "window_post"},
                       {"winning-post", "winning_post"}};

const char *zk_rpc_kind_name(zk_proof_kind kind) { return kinds[(unsigned)kind < ZK_N_KINDS ? kind : 0].name; }
const char *zk_rpc_kind_label(zk_proof_kind kind) { return kinds[(unsigned)kind < ZK_N_KINDS ? kind : 0].label; }

const char *zk_rpc_tier_name(unsigned tier) {
    static const char *const names[] = {[ZK_SRS_HOT] = "hot", [ZK_SRS_WARM] = "warm", [ZK_SRS_COLD] = "cold"};
    return tier < sizeof names / sizeof names[0] ? names[tier] : "unknown";
}

void zk_rpc_device_id(char id[ZK_RPC_DEVICE_ID_BYTES], const zk_worker_view *w) {
    if (strcmp(w->device_kind, "cpu") == 0)
        snprintf(id, ZK_RPC_DEVICE_ID_BYTES, "cpu");
    else
        snprintf(id, ZK_RPC_DEVICE_ID_BYTES, "%.7s:%u", w->device_kind, w->device_ordinal);
}

void zk_rpc_cpu_name(char name[ZK_RPC_CPU_NAME_BYTES], const zk_worker_view *w) {
    static const char kind[] = "cpu, "; /* which the backend's name begins with */
    const char *rest = strncmp(w->device, kind, sizeof kind - 1) == 0 ? w->device + sizeof kind - 1 : w->device;
    snprintf(name, ZK_RPC_CPU_NAME_BYTES, "cpu (worker %u): %s", w->id, rest);
}

const char *zk_rpc_device_split(char id[ZK_RPC_DEVICE_ID_BYTES], uint32_t ordinal, const char *name) {
    uint32_t worker = 0;
    int n = 0;
    if (sscanf(name, "cpu (worker %" SCNu32 "): %n", &worker, &n) == 1 && n > 0) {
        snprintf(id, ZK_RPC_DEVICE_ID_BYTES, "cpu (worker %" PRIu32 ")", worker);
        return name + n;
    }
    snprintf(id, ZK_RPC_DEVICE_ID_BYTES, "cuda:%" PRIu32, ordinal);
    return name;
}
