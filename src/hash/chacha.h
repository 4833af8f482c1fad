/* ChaCha key streams (D. J. Bernstein, 2008; RFC 8439 for the 32-bit counter), any even number of rounds. */
#ifndef ZK_HASH_CHACHA_H
#define ZK_HASH_CHACHA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct zk_chacha {
    uint32_t input[16];
    unsigned rounds;
    bool wide_counter;
    unsigned used; /* bytes of block given out; 64: none left */
    uint8_t block[64];
} zk_chacha;

/* 64-bit block counter in words 12 and 13, words 14 and 15 zero. */
void zk_chacha_init_wide(zk_chacha *c, unsigned rounds, const uint8_t key[32]);
/* 32-bit block counter in word 12 (it wraps), 12-byte nonce in words 13 to 15. */
void zk_chacha_init_ietf(zk_chacha *c, unsigned rounds, const uint8_t key[32], const uint8_t nonce[12]);

/* The next n bytes of the stream. */
void zk_chacha_read(zk_chacha *c, void *out, size_t n);
uint64_t zk_chacha_read_u64(zk_chacha *c); /* the next 8 bytes, little-endian */
/* Moves to a byte position of the stream. */
void zk_chacha_seek(zk_chacha *c, uint64_t position);

#endif
