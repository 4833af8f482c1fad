/* Random bytes for secrets, and forgetting them. */
#ifndef ZK_BASE_RAND_H
#define ZK_BASE_RAND_H

#include "base/status.h"

/* From the kernel's generator, once it is seeded. On failure (CUZK_IO) `out` is wiped and must not be used. */
cuzk_status zk_rand_bytes(uint8_t *out, size_t n, cuzk_err *err) ZK_MUST_USE;

/* Zeroes memory that will not be read again; the compiler cannot leave it out. */
void zk_wipe(void *data, size_t n);

#endif
