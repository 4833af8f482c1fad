#include "groth16/random.h"

#include "base/rand.h"

cuzk_status zk_random_fr(zk_fr *r, cuzk_err *err) {
    uint8_t wide[64];
    cuzk_status status = zk_rand_bytes(wide, sizeof wide, err);
    if (status == CUZK_OK) zk_fr_from_bytes_wide(r, wide);
    zk_wipe(wide, sizeof wide);
    return status;
}
