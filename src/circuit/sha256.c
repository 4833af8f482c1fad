#include "circuit/sha256.h"

#include <string.h>

#include "circuit/bits.h"
#include "circuit/num.h"
#include "hash/sha256.h"

static void words_be(zk_word *w, const zk_lit *bits, size_t n_words) {
    for (size_t k = 0; k < n_words; k++)
        for (int i = 0; i < 32; i++) w[k].bit[i] = bits[32 * k + 31 - i];
}

/* rotr(r0) ^ rotr(r1) ^ (rotr or shr)(r2) */
static void sigma(zk_recorder *rec, zk_word *r, const zk_word *a, unsigned r0, unsigned r1, unsigned r2, bool shift) {
    zk_word x, y;
    zk_word_rotr(&x, a, r0);
    zk_word_rotr(&y, a, r1);
    zk_word_xor(rec, &x, &x, &y);
    if (shift)
        zk_word_shr(&y, a, r2);
    else
        zk_word_rotr(&y, a, r2);
    zk_word_xor(rec, r, &x, &y);
}

static void block(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out, size_t n_out) {
    (void)param;
    (void)n_in;
    (void)n_out;
    zk_word w[64], state[8];
    words_be(w, in, 16);
    for (int k = 0; k < 8; k++) memcpy(state[k].bit, in + 512 + 32 * k, sizeof state[k].bit);
    zk_multieq eq;
    zk_multieq_init(&eq);
    for (int i = 16; i < 64; i++) {
        zk_word addends[4] = {w[i - 16], {{0}}, w[i - 7], {{0}}};
        sigma(rec, &addends[1], &w[i - 15], 7, 18, 3, true);
        sigma(rec, &addends[3], &w[i - 2], 17, 19, 10, true);
        zk_word_sum(rec, &eq, &w[i], addends, 4);
    }
    /* The sums that give the new a and e of a round are made at the start of the next, where the last ones take in the
     * chaining value as well. */
    zk_word sum_a[8], sum_e[7];
    zk_word a = state[0], b = state[1], c = state[2], d = state[3];
    zk_word e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i++) {
        if (i) zk_word_sum(rec, &eq, &e, sum_e, 6);
        zk_word temp1[5] = {h};
        sigma(rec, &temp1[1], &e, 6, 11, 25, false);
        zk_word_ch(rec, &temp1[2], &e, &f, &g);
        zk_word_const(&temp1[3], zk_sha256_round_constants[i]);
        temp1[4] = w[i];
        if (i) zk_word_sum(rec, &eq, &a, sum_a, 7);
        memcpy(sum_e, temp1, sizeof temp1);
        memcpy(sum_a, temp1, sizeof temp1);
        sum_e[5] = d;
        sigma(rec, &sum_a[5], &a, 2, 13, 22, false);
        zk_word_maj(rec, &sum_a[6], &a, &b, &c);
        h = g;
        g = f;
        f = e;
        d = c;
        c = b;
        b = a;
    }
    zk_word r[8];
    sum_a[7] = state[0];
    sum_e[6] = state[4];
    zk_word_sum(rec, &eq, &r[0], sum_a, 8);
    zk_word_sum(rec, &eq, &r[1], (zk_word[2]){state[1], b}, 2);
    zk_word_sum(rec, &eq, &r[2], (zk_word[2]){state[2], c}, 2);
    zk_word_sum(rec, &eq, &r[3], (zk_word[2]){state[3], d}, 2);
    zk_word_sum(rec, &eq, &r[4], sum_e, 7);
    zk_word_sum(rec, &eq, &r[5], (zk_word[2]){state[5], f}, 2);
    zk_word_sum(rec, &eq, &r[6], (zk_word[2]){state[6], g}, 2);
    zk_word_sum(rec, &eq, &r[7], (zk_word[2]){state[7], h}, 2);
    zk_multieq_finish(rec, &eq);
    for (int k = 0; k < 8; k++) memcpy(out + 32 * k, r[k].bit, sizeof r[k].bit);
}

const zk_gadget zk_gadget_sha256_block = {"sha256 block", block};

static zk_cell cell_const(bool value) { return value ? ZK_CELL_TRUE : ZK_CELL_FALSE; }

/* Bit i of the padded message of n bits, padded_bits in all. */
static zk_cell padded_bit(const zk_cell *bits, size_t n, size_t padded_bits, size_t i) {
    if (i < n) return bits[i];
    if (i + 64 < padded_bits) return cell_const(i == n);
    return cell_const((uint64_t)n >> (padded_bits - 1 - i) & 1);
}

void zk_synth_sha256(zk_synth *s, zk_cell digest[256], const zk_cell *bits, size_t n) {
    if (!s->builder) return;
    size_t padded_bits = (n + 1 + 64 + 511) / 512 * 512;
    zk_cell in[768];
    for (int k = 0; k < 8; k++)
        for (int i = 0; i < 32; i++) in[512 + 32 * k + i] = cell_const(zk_sha256_initial_state[k] >> i & 1);
    for (size_t at = 0; at < padded_bits; at += 512) {
        for (size_t i = 0; i < 512; i++) in[i] = padded_bit(bits, n, padded_bits, at + i);
        zk_synth_call(s, &zk_gadget_sha256_block, NULL, 0, in, 768, in + 512, 256);
    }
    for (int k = 0; k < 8; k++)
        for (int i = 0; i < 32; i++) digest[32 * k + i] = in[512 + 32 * k + 31 - i];
}

zk_cell zk_synth_data_node(zk_synth *s, const zk_cell children[2]) {
    zk_cell bits[512], digest[256];
    if (!s->builder) return 0;
    for (int i = 0; i < 2; i++) {
        zk_synth_to_bits(s, bits + 256 * i, children[i]);
        zk_cells_swap_bytes(bits + 256 * i, bits + 256 * i, ZK_NUM_BITS);
    }
    zk_synth_sha256(s, digest, bits, 512);
    zk_cells_swap_bytes(digest, digest, 256);
    return zk_synth_pack(s, digest, ZK_NUM_PACK_BITS);
}
