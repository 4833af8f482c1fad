/* Bitmaps: arrays of 64-bit words, bit i is bit i mod 64 of word i / 64. */
#ifndef ZK_BASE_BITMAP_H
#define ZK_BASE_BITMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t zk_bitmap_words(size_t n_bits) { return (n_bits + 63) / 64; }

static inline bool zk_bitmap_get(const uint64_t *map, size_t i) { return map[i / 64] >> i % 64 & 1; }

/* The word `at` of a bitmap of n bits, without what lies beyond them. */
static inline uint64_t zk_bitmap_word(const uint64_t *map, size_t n, size_t at) {
    uint64_t word = map[at];
    return n - at * 64 < 64 ? word & ((UINT64_C(1) << n % 64) - 1) : word;
}

/* How many bits are set, and whether they are neighbours; *first is the lowest (0 if none). */
static inline size_t zk_bitmap_count(const uint64_t *map, size_t n, bool *is_range, size_t *first) {
    size_t count = 0, low = 0, high = 0;
    for (size_t at = 0; at < zk_bitmap_words(n); at++) {
        uint64_t word = zk_bitmap_word(map, n, at);
        if (!word) continue;
        if (!count) low = at * 64 + (size_t)__builtin_ctzll(word);
        high = at * 64 + 64 - (size_t)__builtin_clzll(word);
        count += (size_t)__builtin_popcountll(word);
    }
    *is_range = count == high - low;
    *first = low;
    return count;
}

#endif
