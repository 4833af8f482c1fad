/* Circuits by the ids that clients use, and where their keys are. */
#ifndef ZK_ENGINE_CIRCUITS_H
#define ZK_ENGINE_CIRCUITS_H

#include "engine/engine.h"

#define ZK_KEY_PATH_BYTES 4096

/* Path of the parameter file. NOT_FOUND, naming file and folder, unless it is a readable regular file; *file_bytes
 * (may be NULL) is its length. */
cuzk_status zk_circuit_key_path(char path[ZK_KEY_PATH_BYTES], uint64_t *file_bytes, const char *param_cache,
                                zk_proof_kind kind, uint64_t sector_bytes, cuzk_err *err) ZK_MUST_USE;

/* All circuits there are: calls fn for each kind and sector size. */
void zk_circuit_each(void (*fn)(void *ctx, zk_proof_kind kind, uint64_t sector_bytes), void *ctx);

#endif
