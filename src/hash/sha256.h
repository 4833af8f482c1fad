/* SHA-256 (FIPS 180-4). SHA-NI where the CPU has it, chosen at first use; the portable twin gives the same bytes. */
#ifndef ZK_HASH_SHA256_H
#define ZK_HASH_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZK_SHA256_DIGEST_BYTES 32
#define ZK_SHA256_BLOCK_BYTES 64

typedef struct zk_sha256_ctx {
    uint32_t state[8];
    uint64_t n_bytes; /* hashed so far, `buffer` included */
    uint8_t buffer[ZK_SHA256_BLOCK_BYTES];
} zk_sha256_ctx;

extern const uint32_t zk_sha256_initial_state[8];
extern const uint32_t zk_sha256_round_constants[64];

void zk_sha256(uint8_t digest[32], const void *data, size_t n);

void zk_sha256_init(zk_sha256_ctx *ctx);
void zk_sha256_update(zk_sha256_ctx *ctx, const void *data, size_t n);
/* ctx must be initialised again before further use. */
void zk_sha256_final(uint8_t digest[32], zk_sha256_ctx *ctx);
/* Digest of what was hashed so far; ctx goes on as if it had not been asked (checkpoints). */
void zk_sha256_peek(uint8_t digest[32], const zk_sha256_ctx *ctx);

/* The bare compression function over n_blocks blocks of 64 bytes; no padding. */
void zk_sha256_compress(uint32_t state[8], const uint8_t *blocks, size_t n_blocks);

/* SHA-256 with the top two bits of the last byte cleared: the digest as a value below 2^254, as all Filecoin nodes. */
void zk_sha256_trunc254(uint8_t digest[32], const void *data, size_t n);

/* The implementations, for tests and benchmarks. shani must not be called unless usable. */
void zk_sha256_compress_portable(uint32_t state[8], const uint8_t *blocks, size_t n_blocks);
void zk_sha256_compress_shani(uint32_t state[8], const uint8_t *blocks, size_t n_blocks);
bool zk_sha256_shani_usable(void);
const char *zk_sha256_code(void); /* which of them zk_sha256_compress is: "sha-ni", "portable" */

#endif
