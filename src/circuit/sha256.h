/* SHA-256 of bits. */
#ifndef ZK_CIRCUIT_SHA256_H
#define ZK_CIRCUIT_SHA256_H

#include "circuit/synth.h"

/* One compression: in[0..511] the block, most significant bit of each word first; in[512..767] and out[0..255] the
 * chaining value, least significant bit of each word first. One template with all its packed sums. */
extern const zk_gadget zk_gadget_sha256_block;

/* digest = SHA-256 of n bits (whole bytes, most significant bit first), padding included; same bit order. */
void zk_synth_sha256(zk_synth *s, zk_cell digest[256], const zk_cell *bits, size_t n);

/* Node of a binary tree over data: SHA-256 of two field elements, 32 bytes LE each, without the two top bits. */
zk_cell zk_synth_data_node(zk_synth *s, const zk_cell children[2]);

#endif
