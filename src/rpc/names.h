/* What proof kinds, tiers of keys and devices are called in answers. */
#ifndef ZK_RPC_NAMES_H
#define ZK_RPC_NAMES_H

#include "engine/engine.h"

const char *zk_rpc_kind_name(zk_proof_kind kind);  /* "porep-c2" ...; "unknown" for none */
const char *zk_rpc_kind_label(zk_proof_kind kind); /* of metrics: "porep_c2" */
const char *zk_rpc_tier_name(unsigned tier);       /* zk_srs_tier, or as it came over the wire: "hot", "warm", "cold" */

/* Devices: so that workers of the CPU are told apart from CUDA devices, which have an ordinal. */
enum { ZK_RPC_DEVICE_ID_BYTES = 32, ZK_RPC_CPU_NAME_BYTES = 128 };

/* "cuda:0", as in gpus.devices; "cpu" for all workers of the CPU. */
void zk_rpc_device_id(char id[ZK_RPC_DEVICE_ID_BYTES], const zk_worker_view *worker);

/* `name` of a GPUStatus. There is no field that says what kind of device it is of, and all CPU workers have ordinal 0:
 * theirs is "cpu (worker 3): 2 threads". A CUDA device has its own name alone, as in the public engine. */
void zk_rpc_cpu_name(char name[ZK_RPC_CPU_NAME_BYTES], const zk_worker_view *worker);
/* Of a GPUStatus of such a daemon or a public one: "cpu (worker 3)" or "cuda:0"; the rest of the name is returned. */
const char *zk_rpc_device_split(char id[ZK_RPC_DEVICE_ID_BYTES], uint32_t ordinal, const char *name);

#endif
