/* What a test of one prover on a CUDA device, emulated or not, holds. */
#ifndef ZK_TEST_CUDA_RUN_H
#define ZK_TEST_CUDA_RUN_H

#include "groth16_common.h"

#include "backend/cuda_impl.h"

/* Zero-initialised; a test fills in as many as it gets, in this order. */
typedef struct cuda_run {
    zk_backend *backend;
    zk_resident_program *program;
    zk_proving_key *key;
    zk_prover *prover;
} cuda_run;

static inline void run_close(cuda_run *r) {
    zk_prover_destroy(r->prover);
    zk_proving_key_destroy(r->key);
    zk_resident_program_unload(r->program);
    zk_backend_close(r->backend);
    ZK_CHECK(zk_cuda_bytes_kept() == 0);
}

#endif
