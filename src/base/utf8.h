/* UTF-8 (RFC 3629): what is well-formed. Overlong forms, surrogates and what lies beyond U+10FFFF are not. */
#ifndef ZK_BASE_UTF8_H
#define ZK_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* How many continuation bytes follow this first byte of a character: 0 to 3; -1: it begins none. The first of them lies
 * in [*min, *max], the others in [0x80, 0xbf]. */
static inline int zk_utf8_n_following(uint8_t *min, uint8_t *max, uint8_t first) {
    *min = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    *max = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return first < 0x80 ? 0 : first < 0xc2 || first > 0xf4 ? -1 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
}

/* Bytes of the character at p, of which n can be read: 1 to 4; 0: none is there, or it is cut off. */
static inline size_t zk_utf8_length(const uint8_t *p, size_t n) {
    uint8_t min, max;
    int n_following = n ? zk_utf8_n_following(&min, &max, *p) : -1;
    if (n_following < 0 || (size_t)n_following >= n) return 0;
    for (int i = 1; i <= n_following; i++) {
        if (p[i] < min || p[i] > max) return 0;
        min = 0x80;
        max = 0xbf;
    }
    return (size_t)n_following + 1;
}

/* Where the text stops to be well-formed: at the first byte of what is no character, or at its end, n. */
static inline size_t zk_utf8_valid_bytes(const void *text, size_t n) {
    const uint8_t *p = text;
    size_t at = 0, length = 1;
    while (at < n && length) {
        length = zk_utf8_length(p + at, n - at);
        at += length;
    }
    return at;
}

#endif
