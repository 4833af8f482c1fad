/* Fr32 padding: two zero bits after every 254 data bits, so that each 32-byte node is below 2^254.
 *
 * Bits are numbered from the least significant of each byte: data bit i is output bit 256 (i div 254) + (i mod 254).
 * 127 bytes become 128.
 */
#ifndef ZK_HASH_FR32_H
#define ZK_HASH_FR32_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Whole nodes that hold n data bytes: 32 ceil(8 n / 254). */
uint64_t zk_fr32_padded_bytes(uint64_t n);
/* Data bytes in m padded bytes: floor((8 m - 2 floor(8 m / 256)) / 8). */
uint64_t zk_fr32_unpadded_bytes(uint64_t m);

/* out: zk_fr32_padded_bytes(n) bytes, the rest of the last node zero; must not overlap data. */
void zk_fr32_pad(uint8_t *out, const uint8_t *data, size_t n);

/* Data bytes offset .. offset + n - 1 out of padded[n_padded]. BAD_INPUT if they reach past the end. */
cuzk_status zk_fr32_unpad(uint8_t *out, size_t offset, size_t n, const uint8_t *padded, size_t n_padded,
                          cuzk_err *err) ZK_MUST_USE;

#endif
