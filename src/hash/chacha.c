#include "hash/chacha.h"

#include <string.h>

#include "base/bytes.h"

static inline uint32_t rol(uint32_t x, unsigned n) { return x << n | x >> (32 - n); }

static inline void quarter(uint32_t *v, unsigned a, unsigned b, unsigned c, unsigned d) {
    v[a] += v[b], v[d] = rol(v[d] ^ v[a], 16), v[c] += v[d], v[b] = rol(v[b] ^ v[c], 12);
    v[a] += v[b], v[d] = rol(v[d] ^ v[a], 8), v[c] += v[d], v[b] = rol(v[b] ^ v[c], 7);
}

/* Fills the block for the current counter and moves the counter on. */
static void next_block(zk_chacha *c) {
    uint32_t v[16];
    memcpy(v, c->input, sizeof v);
    for (unsigned i = 0; i < c->rounds; i += 2) {
        for (unsigned k = 0; k < 4; k++) quarter(v, k, 4 + k, 8 + k, 12 + k);
        for (unsigned k = 0; k < 4; k++) quarter(v, k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4);
    }
    for (unsigned i = 0; i < 16; i++) zk_store_le32(c->block + 4 * i, v[i] + c->input[i]);
    if (++c->input[12] == 0 && c->wide_counter) c->input[13]++;
    c->used = 0;
}

static void init(zk_chacha *c, unsigned rounds, const uint8_t key[32]) {
    static const char text[16] = "expand 32-byte k";
    memset(c, 0, sizeof *c);
    memcpy(c->input, text, 16);
    memcpy(c->input + 4, key, 32);
    c->rounds = rounds;
    c->used = 64;
}

void zk_chacha_init_wide(zk_chacha *c, unsigned rounds, const uint8_t key[32]) {
    init(c, rounds, key);
    c->wide_counter = true;
}

void zk_chacha_init_ietf(zk_chacha *c, unsigned rounds, const uint8_t key[32], const uint8_t nonce[12]) {
    init(c, rounds, key);
    memcpy(c->input + 13, nonce, 12);
}

void zk_chacha_read(zk_chacha *c, void *out, size_t n) {
    uint8_t *p = out;
    while (n > 0) {
        if (c->used == 64) next_block(c);
        size_t take = zk_min_size(64 - c->used, n);
        memcpy(p, c->block + c->used, take);
        c->used += (unsigned)take, p += take, n -= take;
    }
}

uint64_t zk_chacha_read_u64(zk_chacha *c) {
    uint8_t bytes[8];
    zk_chacha_read(c, bytes, 8);
    return zk_load_le64(bytes);
}

void zk_chacha_seek(zk_chacha *c, uint64_t position) {
    uint64_t block = position / 64;
    c->input[12] = (uint32_t)block;
    if (c->wide_counter) c->input[13] = (uint32_t)(block >> 32);
    c->used = 64;
    if (position % 64 != 0) {
        next_block(c);
        c->used = (unsigned)(position % 64);
    }
}
