#include "rpc/device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
