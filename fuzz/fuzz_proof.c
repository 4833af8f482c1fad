/* Proofs: whatever decodes must encode to the same bytes; verification of it must end. */
#include <stdlib.h>
#include <string.h>

#include "groth16/verify.h"

/* A key that was never set up: every point is the generator, one public input. */
static const zk_prepared_vk *key(void) {
    static zk_prepared_vk *prepared;
    zk_g1_affine ic[2] = {zk_g1_generator, zk_g1_generator};
    zk_vk vk = {.alpha_g1 = zk_g1_generator,
                .beta_g1 = zk_g1_generator,
                .delta_g1 = zk_g1_generator,
                .beta_g2 = zk_g2_generator,
                .gamma_g2 = zk_g2_generator,
                .delta_g2 = zk_g2_generator,
                .n_ic = 2,
                .ic = ic};
    cuzk_err err = {0};
    if (!prepared && zk_prepared_vk_create(&prepared, &vk, "fuzz", &err) != CUZK_OK) abort();
    return prepared;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t publics[1][32] = {{0}}, again[ZK_PROOF_BYTES];
    zk_proof proof;
    cuzk_err err = {0};
    if (size >= 32) {
        memcpy(publics[0], data, 32);
        data += 32;
        size -= 32;
    }
    cuzk_status status = zk_verify(key(), data, size, (const uint8_t(*)[32])publics, 1, NULL, &err);
    if (status != CUZK_OK && status != CUZK_BAD_PROOF && status != CUZK_BAD_INPUT) abort();
    if (size == ZK_PROOF_BYTES && zk_proof_decode(&proof, data, NULL) == CUZK_OK) {
        zk_proof_encode(again, &proof);
        if (memcmp(again, data, sizeof again)) abort();
    }
    return 0;
}
