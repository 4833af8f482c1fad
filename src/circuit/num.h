/* Gadgets on field elements. Order of variables and rows as in bellman's and Filecoin's gadgets. */
#ifndef ZK_CIRCUIT_NUM_H
#define ZK_CIRCUIT_NUM_H

#include "circuit/synth.h"

#define ZK_NUM_BITS 255      /* bits of a field element */
#define ZK_NUM_PACK_BITS 254 /* bits that a field element can hold, whatever they are */

/* n field elements from the pushed hints. */
void zk_synth_alloc(zk_synth *s, zk_cell *out, uint32_t n);
/* One field element from the pushed hint, also a new public input. */
zk_cell zk_synth_alloc_input(zk_synth *s);
/* Bits of a field element, least significant first. Not checked to be below r, as in the reference. */
void zk_synth_to_bits(zk_synth *s, zk_cell bits[ZK_NUM_BITS], zk_cell num);
/* The same for n bits, and with the row the other way round: sum of bits[i] 2^i times 1 = num. */
void zk_synth_split(zk_synth *s, zk_cell *bits, size_t n, zk_cell num);
/* num = sum of bits[i] 2^i, n <= ZK_NUM_PACK_BITS */
zk_cell zk_synth_pack(zk_synth *s, const zk_cell *bits, size_t n);
/* The same as a new public input. */
void zk_synth_pack_input(zk_synth *s, const zk_cell *bits, size_t n);
/* 64 bits from the pushed hint (a u64), least significant first, packed into a new public input. */
void zk_synth_u64_input(zk_synth *s, zk_cell bits[64]);
/* a = b */
void zk_synth_equal(zk_synth *s, zk_cell a, zk_cell b);
/* a + b, the sum of n values, a b, factor num + summand as a new variable */
zk_cell zk_synth_add(zk_synth *s, zk_cell a, zk_cell b);
zk_cell zk_synth_sum(zk_synth *s, const zk_cell *nums, size_t n);
zk_cell zk_synth_mul(zk_synth *s, zk_cell a, zk_cell b);
zk_cell zk_synth_affine(zk_synth *s, uint64_t factor, zk_cell num, uint64_t summand);

/* One node of a Merkle path: the position of `cur` among its siblings and the siblings from the pushed hints (index,
 * arity - 1 values); children[arity] in order, index_bits[log2 arity] least significant first. arity is 2 or 8. */
void zk_synth_merkle_node(zk_synth *s, zk_cell *index_bits, zk_cell *children, uint32_t arity, zk_cell cur);

/* The same with a position and siblings that are there already: children[arity], index_bits[log2 arity],
 * siblings[arity - 1]. */
void zk_synth_insert(zk_synth *s, zk_cell *children, uint32_t arity, const zk_cell *index_bits, zk_cell cur,
                     const zk_cell *siblings);
/* The value whose number is given by bits, least significant first, among 2^n_bits values. */
zk_cell zk_synth_select(zk_synth *s, const zk_cell *values, const zk_cell *bits, uint32_t n_bits);

/* Bits of a 32-byte little-endian value, least significant first, into the order in which SHA-256 takes bytes, and
 * back: within each byte the order is reversed; n < 256 bits are filled up with zeros. r may be `bits`. */
void zk_cells_swap_bytes(zk_cell r[256], const zk_cell *bits, size_t n);

#endif
