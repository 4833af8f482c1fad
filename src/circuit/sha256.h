/* SHA-256 of bits. */
#ifndef ZK_CIRCUIT_SHA256_H
#define ZK_CIRCUIT_SHA256_H

#include "circuit/synth.h"

/* One compression: in[0..511] the block, most significant bit of each word first; in[512..767] and out[0..255] the
 * chaining value, least significant bit of each word first. One template with all its packed sums. */
extern const zk_gadget zk_gadget_sha256_block;

/* digest = SHA-256 of n bits (whole bytes, most significant bit first), padding included; same bit order. */
void zk_synth_sha256(zk_synth *s, zk_cell digest[256], const zk_cell *bits, size_t n);

#endif
