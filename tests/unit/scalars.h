/* What the tests of long sums and transforms share: a pool of two threads, scalars at random or by name. */
#ifndef ZK_TEST_SCALARS_H
#define ZK_TEST_SCALARS_H

#include "base/pool.h"
#include "field/fr.h"
#include "hash/sha256.h"
#include "zk_test.h"

/* Made at the first call, lives until the program ends. */
static inline zk_pool *two_threads(void) {
    static zk_pool *pool;
    if (!pool) {
        cuzk_err err = {0};
        ZK_CHECK_OK(zk_pool_create(&pool, 2, &err), err);
    }
    return pool;
}

static inline zk_fr fr_random(uint64_t *seed) {
    uint8_t bytes[64];
    zk_fr r;
    for (int i = 0; i < 8; i++) {
        uint64_t v = zk_test_rand(seed);
        memcpy(bytes + 8 * i, &v, 8);
    }
    zk_fr_from_bytes_wide(&r, bytes);
    return r;
}

/* The vectors' scalar of a name: its SHA-256, little-endian, reduced. */
static inline zk_fr hfr(const char *text) {
    uint8_t digest[32];
    zk_fr r;
    zk_sha256(digest, text, strlen(text));
    zk_fr_from_bytes_reduce(&r, digest);
    return r;
}

#endif
