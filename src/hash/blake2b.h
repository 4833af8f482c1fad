/* BLAKE2b (RFC 7693), unkeyed or keyed, output of 1 to 64 bytes. */
#ifndef ZK_HASH_BLAKE2B_H
#define ZK_HASH_BLAKE2B_H

#include <stddef.h>
#include <stdint.h>

#define ZK_BLAKE2B_MAX_BYTES 64
#define ZK_BLAKE2B_BLOCK_BYTES 128

typedef struct zk_blake2b_ctx {
    uint64_t state[8];
    uint64_t n_bytes; /* compressed so far */
    size_t held;      /* bytes in buffer; a full buffer waits, because the last block is marked */
    size_t out_bytes;
    uint8_t buffer[ZK_BLAKE2B_BLOCK_BYTES];
} zk_blake2b_ctx;

/* out_bytes: 1 .. 64; n_key: 0 (unkeyed; key may be NULL) .. 64. Other values are cut to the nearest allowed. */
void zk_blake2b_init(zk_blake2b_ctx *ctx, size_t out_bytes, const void *key, size_t n_key);
void zk_blake2b_update(zk_blake2b_ctx *ctx, const void *data, size_t n);
/* Writes out_bytes bytes. ctx must be initialised again before further use. */
void zk_blake2b_final(uint8_t *digest, zk_blake2b_ctx *ctx);

/* One shot, unkeyed. */
void zk_blake2b(uint8_t *digest, size_t out_bytes, const void *data, size_t n);

#endif
