#include "groth16/random.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

cuzk_status zk_random_bytes(void *bytes, size_t n, cuzk_err *err) {
    uint8_t *at = bytes;
    while (n) {
        ssize_t got = getrandom(at, n, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return ZK_FAIL(err, CUZK_IO, "kernel random generator: %s", strerror(errno));
        at += got;
        n -= (size_t)got;
    }
    return CUZK_OK;
}

cuzk_status zk_random_fr(zk_fr *r, cuzk_err *err) {
    uint8_t wide[64];
    cuzk_status status = zk_random_bytes(wide, sizeof wide, err);
    if (status == CUZK_OK) zk_fr_from_bytes_wide(r, wide);
    explicit_bzero(wide, sizeof wide);
    return status;
}

cuzk_status zk_random_fr_128(zk_fr *r, cuzk_err *err) {
    uint64_t limbs[4] = {0};
    do ZK_TRY(zk_random_bytes(limbs, 16, err));
    while (!(limbs[0] | limbs[1]));
    zk_fr_from_limbs(r, limbs);
    return CUZK_OK;
}
