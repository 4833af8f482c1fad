/* Loads, stores, small bit helpers, hexadecimal. */
#ifndef ZK_BASE_BYTES_H
#define ZK_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t zk_load_be32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}
static inline void zk_store_be32(uint8_t *p, uint32_t v) {
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
}
static inline uint64_t zk_load_be64(const uint8_t *p) { return (uint64_t)zk_load_be32(p) << 32 | zk_load_be32(p + 4); }
static inline void zk_store_be64(uint8_t *p, uint64_t v) {
    zk_store_be32(p, (uint32_t)(v >> 32));
    zk_store_be32(p + 4, (uint32_t)v);
}
/* Little-endian: the project supports little-endian machines only (CMake checks). */
static inline uint32_t zk_load_le32(const void *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
static inline uint64_t zk_load_le64(const void *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}
static inline void zk_store_le32(void *p, uint32_t v) { memcpy(p, &v, 4); }
static inline void zk_store_le64(void *p, uint64_t v) { memcpy(p, &v, 8); }

static inline size_t zk_min_size(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t zk_max_size(size_t a, size_t b) { return a > b ? a : b; }
/* Least k with 2^k >= n; 0 for n <= 1. */
static inline unsigned zk_log2_ceil(uint64_t n) { return n <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(n - 1); }

/* The lowest n_bits bits of i, n_bits <= 64, the other way round. */
static inline uint64_t zk_reverse_bits(uint64_t i, unsigned n_bits) {
    i = (i >> 1 & 0x5555555555555555u) | (i & 0x5555555555555555u) << 1;
    i = (i >> 2 & 0x3333333333333333u) | (i & 0x3333333333333333u) << 2;
    i = (i >> 4 & 0x0f0f0f0f0f0f0f0fu) | (i & 0x0f0f0f0f0f0f0f0fu) << 4;
    return n_bits ? __builtin_bswap64(i) >> (64 - n_bits) : 0;
}

/* Lower-case digits and a zero byte: text has room for 2 n + 1. */
void zk_hex_encode(char *text, const uint8_t *data, size_t n);
/* Exactly n_out bytes from the first 2 n_out characters (either case); false at the first that is no digit, so a
 * zero-terminated text that is too short is refused and not overrun. What follows them is the caller's to check. */
bool zk_hex_decode(uint8_t *out, size_t n_out, const char *text);

#endif
