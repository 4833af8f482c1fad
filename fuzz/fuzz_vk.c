/* Verifying keys: whatever decodes must encode to the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "groth16/vk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    zk_vk vk;
    size_t n_used;
    cuzk_err err = {0};
    if (zk_vk_decode(&vk, &n_used, data, size, "fuzz", &err) != CUZK_OK) return 0;
    uint8_t *again = malloc(n_used);
    if (!again || n_used > size || n_used != zk_vk_bytes(vk.n_ic)) abort();
    zk_vk_encode(again, &vk);
    if (memcmp(again, data, n_used)) abort();
    free(again);
    zk_vk_clear(&vk);
    return 0;
}
