/* Bits and 32-bit words: gadget parts that are recorded into the template of whoever uses them. Order of variables and
 * rows, and which combinations of constants cost none, are those of bellman's gadgets.
 */
#ifndef ZK_CIRCUIT_BITS_H
#define ZK_CIRCUIT_BITS_H

#include "program/builder.h"

/* The row (1 - bit) bit = 0. */
void zk_bit_constrain(zk_recorder *rec, zk_lit bit);

zk_lit zk_bit_and(zk_recorder *rec, zk_lit a, zk_lit b);
zk_lit zk_bit_xor(zk_recorder *rec, zk_lit a, zk_lit b);
zk_lit zk_bit_ch(zk_recorder *rec, zk_lit a, zk_lit b, zk_lit c);  /* a ? b : c */
zk_lit zk_bit_maj(zk_recorder *rec, zk_lit a, zk_lit b, zk_lit c); /* majority */

/* 2^0 .. 2^254 */
typedef struct zk_pow2 {
    zk_fr at[255];
} zk_pow2;
void zk_pow2_init(zk_pow2 *pow2);

/* A 32-bit word, least significant bit first. */
typedef struct zk_word {
    zk_lit bit[32];
} zk_word;

void zk_word_const(zk_word *r, uint32_t value);
void zk_word_rotr(zk_word *r, const zk_word *a, unsigned by);
void zk_word_shr(zk_word *r, const zk_word *a, unsigned by);
void zk_word_xor(zk_recorder *rec, zk_word *r, const zk_word *a, const zk_word *b);
void zk_word_ch(zk_recorder *rec, zk_word *r, const zk_word *a, const zk_word *b, const zk_word *c);
void zk_word_maj(zk_recorder *rec, zk_word *r, const zk_word *a, const zk_word *b, const zk_word *c);

/* Equalities of sums of few bits, packed into as few rows as the field has room for. */
typedef struct zk_multieq {
    zk_pow2 pow2;
    unsigned bits_used;
    zk_lc lhs, rhs;
} zk_multieq;
void zk_multieq_init(zk_multieq *eq);
void zk_multieq_finish(zk_recorder *rec, zk_multieq *eq); /* the last row; frees */

#define ZK_WORD_MAX_ADDENDS 10
/* r = sum of n words (2 .. ZK_WORD_MAX_ADDENDS) mod 2^32 */
void zk_word_sum(zk_recorder *rec, zk_multieq *eq, zk_word *r, const zk_word *words, size_t n);

#endif
