/* Powers by sliding windows: what the code for one element and that for eight in lanes have in common. The exponent is
 * read from the top; a zero is a square, a window of up to five bits that begins and ends with a one is as many squares
 * and a multiplication by one of the odd powers a, a^3 .. a^31.
 */
#ifndef ZK_FIELD_POW_H
#define ZK_FIELD_POW_H

#include <stddef.h>
#include <stdint.h>

#define ZK_POW_WINDOW 5
#define ZK_POW_ODD (1 << (ZK_POW_WINDOW - 1)) /* odd powers */

/* Bit i of e, 64-bit limbs, least significant first. */
static inline unsigned zk_pow_bit(const uint64_t *e, size_t i) { return e[i / 64] >> (i % 64) & 1; }

/* The window that begins with bit i - 1, which is set: the number that its bits i - 1 down to *low make up. */
static inline unsigned zk_pow_window(size_t *low, const uint64_t *e, size_t i) {
    unsigned digit = 0;
    size_t end = i >= ZK_POW_WINDOW ? i - ZK_POW_WINDOW : 0;
    while (!zk_pow_bit(e, end)) end++;
    for (size_t k = i; k-- > end;) digit = digit << 1 | zk_pow_bit(e, k);
    *low = end;
    return digit;
}

#endif
