#include "hash/blake2b.h"

#include <string.h>

#include "base/bytes.h"

static const uint64_t iv[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                               0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

static const uint8_t sigma[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

static inline uint64_t ror(uint64_t x, unsigned n) { return x >> n | x << (64 - n); }

static inline void quarter(uint64_t *v, unsigned a, unsigned b, unsigned c, unsigned d, uint64_t x, uint64_t y) {
    v[a] += v[b] + x, v[d] = ror(v[d] ^ v[a], 32), v[c] += v[d], v[b] = ror(v[b] ^ v[c], 24);
    v[a] += v[b] + y, v[d] = ror(v[d] ^ v[a], 16), v[c] += v[d], v[b] = ror(v[b] ^ v[c], 63);
}

/* The buffer, whose `held` bytes are already counted in n_bytes. */
static void compress(zk_blake2b_ctx *ctx, uint64_t last_mask) {
    uint64_t v[16], m[16];
    for (unsigned i = 0; i < 16; i++) m[i] = zk_load_le64(ctx->buffer + 8 * i);
    for (unsigned i = 0; i < 8; i++) v[i] = ctx->state[i], v[8 + i] = iv[i];
    v[12] ^= ctx->n_bytes; /* the high half of the byte count stays 0: 2^64 bytes are out of reach */
    v[14] ^= last_mask;
    for (unsigned round = 0; round < 12; round++) {
        const uint8_t *s = sigma[round % 10];
        quarter(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
        quarter(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
        quarter(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
        quarter(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
        quarter(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
        quarter(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
        quarter(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
        quarter(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (unsigned i = 0; i < 8; i++) ctx->state[i] ^= v[i] ^ v[8 + i];
}

void zk_blake2b_init(zk_blake2b_ctx *ctx, size_t out_bytes, const void *key, size_t n_key) {
    ctx->out_bytes = zk_max_size(1, zk_min_size(out_bytes, ZK_BLAKE2B_MAX_BYTES));
    n_key = zk_min_size(n_key, 64);
    ctx->n_bytes = 0;
    ctx->held = 0;
    memcpy(ctx->state, iv, sizeof ctx->state);
    ctx->state[0] ^= 0x01010000u ^ (uint64_t)n_key << 8 ^ ctx->out_bytes; /* fanout 1, depth 1 */
    if (n_key > 0) { /* the key, padded with zeros, is the first block */
        memset(ctx->buffer, 0, sizeof ctx->buffer);
        memcpy(ctx->buffer, key, n_key);
        ctx->held = sizeof ctx->buffer;
    }
}

void zk_blake2b_update(zk_blake2b_ctx *ctx, const void *data, size_t n) {
    const uint8_t *p = data;
    while (n > 0) {
        if (ctx->held == sizeof ctx->buffer) {
            ctx->n_bytes += ctx->held;
            compress(ctx, 0);
            ctx->held = 0;
        }
        size_t take = zk_min_size(sizeof ctx->buffer - ctx->held, n);
        memcpy(ctx->buffer + ctx->held, p, take);
        ctx->held += take, p += take, n -= take;
    }
}

void zk_blake2b_final(uint8_t *digest, zk_blake2b_ctx *ctx) {
    uint8_t all[64];
    memset(ctx->buffer + ctx->held, 0, sizeof ctx->buffer - ctx->held);
    ctx->n_bytes += ctx->held;
    compress(ctx, UINT64_MAX);
    for (unsigned i = 0; i < 8; i++) zk_store_le64(all + 8 * i, ctx->state[i]);
    memcpy(digest, all, ctx->out_bytes);
}

void zk_blake2b(uint8_t *digest, size_t out_bytes, const void *data, size_t n) {
    zk_blake2b_ctx ctx;
    zk_blake2b_init(&ctx, out_bytes, NULL, 0);
    zk_blake2b_update(&ctx, data, n);
    zk_blake2b_final(digest, &ctx);
}
