#include "circuit/bits.h"

#include <string.h>

/* Bits of a sum that one row can hold, exclusive: the field's 254 whole bits. */
#define MULTIEQ_CAPACITY 254

static uint32_t op_bit(zk_recorder *rec, zk_op_code code, zk_lit a, zk_lit b, zk_lit c) {
    zk_lit r = zk_rec_bits(rec, 1);
    zk_rec_op(rec, (zk_op){.code = (uint16_t)code, .n = 1, .dst = zk_lit_var(r), .a = a, .b = b, .c = c});
    return r;
}

void zk_bit_constrain(zk_recorder *rec, zk_lit bit) {
    zk_lc_add_int(rec, zk_rec_a(rec), zk_lit_not(bit), 1);
    zk_lc_add_int(rec, zk_rec_b(rec), bit, 1);
    zk_rec_row(rec);
}

zk_lit zk_bit_and(zk_recorder *rec, zk_lit a, zk_lit b) {
    if (a == ZK_LIT_FALSE || b == ZK_LIT_FALSE) return ZK_LIT_FALSE;
    if (a == ZK_LIT_TRUE) return b;
    if (b == ZK_LIT_TRUE) return a;
    if ((a & 1) && !(b & 1)) { /* the plain one comes first */
        zk_lit t = a;
        a = b;
        b = t;
    }
    zk_lit r = op_bit(rec, ZK_OP_AND, a, b, 0);
    zk_lc_add_int(rec, zk_rec_a(rec), a, 1);
    zk_lc_add_int(rec, zk_rec_b(rec), b, 1);
    zk_lc_add_int(rec, zk_rec_c(rec), r, 1);
    zk_rec_row(rec);
    return r;
}

zk_lit zk_bit_xor(zk_recorder *rec, zk_lit a, zk_lit b) {
    if (zk_lit_is_const(a)) return a == ZK_LIT_TRUE ? zk_lit_not(b) : b;
    if (zk_lit_is_const(b)) return b == ZK_LIT_TRUE ? zk_lit_not(a) : a;
    uint32_t neg = (a ^ b) & 1;
    zk_lit x = a & ~1u, y = b & ~1u;
    if (neg && (a & 1)) { /* the plain one comes first */
        x = b & ~1u;
        y = a & ~1u;
    }
    /* 2 x y = x + y - r */
    zk_lit r = op_bit(rec, ZK_OP_XOR, x, y, 0);
    zk_lc_add_int(rec, zk_rec_a(rec), x, 2);
    zk_lc_add_int(rec, zk_rec_b(rec), y, 1);
    zk_lc_add_int(rec, zk_rec_c(rec), x, 1);
    zk_lc_add_int(rec, zk_rec_c(rec), y, 1);
    zk_lc_add_int(rec, zk_rec_c(rec), r, -1);
    zk_rec_row(rec);
    return r ^ neg;
}

zk_lit zk_bit_ch(zk_recorder *rec, zk_lit a, zk_lit b, zk_lit c) {
    if (a == ZK_LIT_TRUE && zk_lit_is_const(b) && zk_lit_is_const(c)) return b;
    if (a == ZK_LIT_FALSE) return c;
    if (b == ZK_LIT_FALSE) return zk_bit_and(rec, zk_lit_not(a), c);
    if (c == ZK_LIT_FALSE) return zk_bit_and(rec, a, b);
    if (c == ZK_LIT_TRUE) return zk_lit_not(zk_bit_and(rec, a, zk_lit_not(b)));
    if (b == ZK_LIT_TRUE) return zk_lit_not(zk_bit_and(rec, zk_lit_not(a), zk_lit_not(c)));
    /* a (b - c) = r - c */
    zk_lit r = op_bit(rec, ZK_OP_CH, a, b, c);
    zk_lc_add_int(rec, zk_rec_a(rec), b, 1);
    zk_lc_add_int(rec, zk_rec_a(rec), c, -1);
    zk_lc_add_int(rec, zk_rec_b(rec), a, 1);
    zk_lc_add_int(rec, zk_rec_c(rec), r, 1);
    zk_lc_add_int(rec, zk_rec_c(rec), c, -1);
    zk_rec_row(rec);
    return r;
}

zk_lit zk_bit_maj(zk_recorder *rec, zk_lit a, zk_lit b, zk_lit c) {
    if (zk_lit_is_const(a) && zk_lit_is_const(b) && zk_lit_is_const(c)) return a == b ? a : c;
    if (a == ZK_LIT_FALSE) return zk_bit_and(rec, b, c);
    if (b == ZK_LIT_FALSE) return zk_bit_and(rec, a, c);
    if (c == ZK_LIT_FALSE) return zk_bit_and(rec, a, b);
    if (c == ZK_LIT_TRUE) return zk_lit_not(zk_bit_and(rec, zk_lit_not(a), zk_lit_not(b)));
    if (b == ZK_LIT_TRUE) return zk_lit_not(zk_bit_and(rec, zk_lit_not(a), zk_lit_not(c)));
    if (a == ZK_LIT_TRUE) return zk_lit_not(zk_bit_and(rec, zk_lit_not(b), zk_lit_not(c)));
    /* With bc = b c: (2 bc - b - c) a = bc - r */
    zk_lit r = op_bit(rec, ZK_OP_MAJ, a, b, c);
    zk_lit bc = zk_bit_and(rec, b, c);
    zk_lc_add_int(rec, zk_rec_a(rec), bc, 2);
    zk_lc_add_int(rec, zk_rec_a(rec), b, -1);
    zk_lc_add_int(rec, zk_rec_a(rec), c, -1);
    zk_lc_add_int(rec, zk_rec_b(rec), a, 1);
    zk_lc_add_int(rec, zk_rec_c(rec), bc, 1);
    zk_lc_add_int(rec, zk_rec_c(rec), r, -1);
    zk_rec_row(rec);
    return r;
}

void zk_pow2_init(zk_pow2 *pow2) {
    pow2->at[0] = zk_fr_one;
    for (int i = 1; i < 255; i++) zk_fr_double(&pow2->at[i], &pow2->at[i - 1]);
}

/* ---- words ---- */

void zk_word_const(zk_word *r, uint32_t value) {
    for (int i = 0; i < 32; i++) r->bit[i] = value >> i & 1 ? ZK_LIT_TRUE : ZK_LIT_FALSE;
}

void zk_word_rotr(zk_word *r, const zk_word *a, unsigned by) {
    for (unsigned i = 0; i < 32; i++) r->bit[i] = a->bit[(i + by) % 32];
}

void zk_word_shr(zk_word *r, const zk_word *a, unsigned by) {
    for (unsigned i = 0; i < 32; i++) r->bit[i] = i + by < 32 ? a->bit[i + by] : ZK_LIT_FALSE;
}

void zk_word_xor(zk_recorder *rec, zk_word *r, const zk_word *a, const zk_word *b) {
    for (int i = 0; i < 32; i++) r->bit[i] = zk_bit_xor(rec, a->bit[i], b->bit[i]);
}

void zk_word_ch(zk_recorder *rec, zk_word *r, const zk_word *a, const zk_word *b, const zk_word *c) {
    for (int i = 0; i < 32; i++) r->bit[i] = zk_bit_ch(rec, a->bit[i], b->bit[i], c->bit[i]);
}

void zk_word_maj(zk_recorder *rec, zk_word *r, const zk_word *a, const zk_word *b, const zk_word *c) {
    for (int i = 0; i < 32; i++) r->bit[i] = zk_bit_maj(rec, a->bit[i], b->bit[i], c->bit[i]);
}

/* ---- sums ---- */

void zk_multieq_init(zk_multieq *eq) {
    memset(eq, 0, sizeof *eq);
    zk_pow2_init(&eq->pow2);
}

static void flush(zk_recorder *rec, zk_multieq *eq) {
    zk_lc_add_int(rec, zk_rec_b(rec), ZK_LIT_TRUE, 1);
    zk_rec_enforce(rec, &eq->lhs, zk_rec_b(rec), &eq->rhs);
    zk_lc_clear(zk_rec_b(rec));
    zk_lc_clear(&eq->lhs);
    zk_lc_clear(&eq->rhs);
    eq->bits_used = 0;
}

void zk_multieq_finish(zk_recorder *rec, zk_multieq *eq) {
    if (eq->bits_used) flush(rec, eq);
    zk_lc_free(&eq->lhs);
    zk_lc_free(&eq->rhs);
}

static bool word_value(uint32_t *value, const zk_word *w) {
    *value = 0;
    for (int i = 0; i < 32; i++) {
        if (!zk_lit_is_const(w->bit[i])) return false;
        *value |= (uint32_t)(w->bit[i] == ZK_LIT_TRUE) << i;
    }
    return true;
}

/* The operation that computes n bits from dst on. Constant words become one number as far as they fit. */
static void op_sum(zk_recorder *rec, uint32_t dst, unsigned n_bits, const zk_word *words, size_t n) {
    zk_lit lits[32 * ZK_WORD_MAX_ADDENDS];
    uint32_t constant = 0, n_words = 0, value;
    for (size_t i = 0; i < n; i++) {
        if (word_value(&value, &words[i]) && value <= UINT32_MAX - constant)
            constant += value;
        else
            memcpy(lits + 32 * n_words++, words[i].bit, sizeof words[i].bit);
    }
    zk_rec_op(rec, (zk_op){.code = ZK_OP_SUM32,
                           .n = (uint16_t)n_bits,
                           .dst = dst,
                           .a = zk_rec_lits(rec, lits, 32 * (size_t)n_words),
                           .b = n_words,
                           .c = constant});
}

void zk_word_sum(zk_recorder *rec, zk_multieq *eq, zk_word *r, const zk_word *words, size_t n) {
    uint32_t sum = 0, value;
    bool constant = true;
    for (size_t i = 0; i < n; i++) {
        constant = constant && word_value(&value, &words[i]);
        if (constant) sum += value;
    }
    if (constant) {
        zk_word_const(r, sum);
        return;
    }
    unsigned n_bits = 64 - (unsigned)__builtin_clzll((uint64_t)n * UINT32_MAX);
    zk_lit first = zk_rec_bits(rec, n_bits);
    op_sum(rec, zk_lit_var(first), n_bits, words, n);
    for (unsigned i = 0; i < n_bits; i++) zk_bit_constrain(rec, first + 2 * i);
    if (eq->bits_used + n_bits >= MULTIEQ_CAPACITY) flush(rec, eq);
    for (size_t k = 0; k < n; k++)
        for (int i = 0; i < 32; i++) zk_lc_add(rec, &eq->lhs, words[k].bit[i], &eq->pow2.at[eq->bits_used + i]);
    for (unsigned i = 0; i < n_bits; i++) zk_lc_add(rec, &eq->rhs, first + 2 * i, &eq->pow2.at[eq->bits_used + i]);
    eq->bits_used += n_bits;
    for (int i = 0; i < 32; i++) r->bit[i] = first + 2 * (zk_lit)i;
}
