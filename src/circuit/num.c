#include "circuit/num.h"

#include <string.h>

#include "circuit/bits.h"

#define MAX_SELECT_BITS 7

/* ---- recorded parts ---- */

static zk_lit alloc_hint(zk_recorder *rec) {
    zk_lit num = zk_rec_wides(rec, 1);
    zk_rec_op(rec, (zk_op){.code = ZK_OP_HINT, .n = 1, .dst = zk_lit_var(num), .a = zk_rec_hint(rec)});
    return num;
}

static zk_lit alloc_hint_bit(zk_recorder *rec, uint32_t hint, uint32_t bit) {
    zk_lit r = zk_rec_bits(rec, 1);
    zk_rec_op(rec, (zk_op){.code = ZK_OP_HINT_BIT, .n = 1, .dst = zk_lit_var(r), .a = hint, .b = bit});
    zk_bit_constrain(rec, r);
    return r;
}

/* a = c, as the row a * 1 = c */
static void enforce_equal(zk_recorder *rec, zk_lit a, zk_lit c) {
    zk_lc_add_int(rec, zk_rec_a(rec), a, 1);
    zk_lc_add_int(rec, zk_rec_b(rec), ZK_LIT_TRUE, 1);
    zk_lc_add_int(rec, zk_rec_c(rec), c, 1);
    zk_rec_row(rec);
}

/* The low n bits of num as new variables. */
static void alloc_bits_of(zk_recorder *rec, zk_lit *bits, size_t n, zk_lit num) {
    zk_lit first = zk_rec_bits(rec, (uint32_t)n);
    zk_rec_op(rec, (zk_op){.code = ZK_OP_BITS, .n = (uint16_t)n, .dst = zk_lit_var(first), .a = zk_lit_var(num)});
    for (size_t i = 0; i < n; i++) {
        bits[i] = first + 2 * (zk_lit)i;
        zk_bit_constrain(rec, bits[i]);
    }
}

/* lc += sum of bits[i] 2^i */
static void add_bits(zk_recorder *rec, zk_lc *lc, const zk_lit *bits, size_t n) {
    zk_pow2 pow2;
    zk_pow2_init(&pow2);
    for (size_t i = 0; i < n; i++) zk_lc_add(rec, lc, bits[i], &pow2.at[i]);
}

/* num = sum of bits[i] 2^i, with num allocated by the caller just before. */
static void pack_into(zk_recorder *rec, zk_lit num, const zk_lit *bits, size_t n) {
    add_bits(rec, zk_rec_a(rec), bits, n);
    zk_rec_op(rec, (zk_op){.code = ZK_OP_LC, .n = 1, .dst = zk_lit_var(num), .a = zk_rec_lc(rec, zk_rec_a(rec))});
    zk_lc_add_int(rec, zk_rec_b(rec), ZK_LIT_TRUE, 1);
    zk_lc_add_int(rec, zk_rec_c(rec), num, 1);
    zk_rec_row(rec);
}

/* cond ? a : b, by the row (b - a) cond = b - r */
static zk_lit pick(zk_recorder *rec, zk_lit cond, zk_lit a, zk_lit b) {
    zk_lit r = zk_rec_wides(rec, 1);
    zk_lc *x = zk_rec_a(rec), *y = zk_rec_b(rec), *z = zk_rec_c(rec);
    zk_lc_add_int(rec, x, a, 1);
    zk_lc_add_int(rec, x, b, -1);
    zk_lc_add_int(rec, y, cond, 1);
    zk_lc_add_int(rec, z, b, 1);
    zk_rec_op(rec, (zk_op){.code = ZK_OP_MULADD,
                           .n = 1,
                           .dst = zk_lit_var(r),
                           .a = zk_rec_lc(rec, x),
                           .b = zk_rec_lc(rec, y),
                           .c = zk_rec_lc(rec, z)});
    zk_lc_clear(x);
    zk_lc_add_int(rec, x, b, 1);
    zk_lc_add_int(rec, x, a, -1);
    zk_lc_add_int(rec, z, r, -1);
    zk_rec_row(rec);
    return r;
}

/* ---- gadgets ---- */

static void record_alloc(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out,
                         size_t n_out) {
    (void)param, (void)in, (void)n_in;
    for (size_t i = 0; i < n_out; i++) out[i] = alloc_hint(rec);
}
static const zk_gadget gadget_alloc = {"alloc", record_alloc};

static void record_alloc_input(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out,
                               size_t n_out) {
    (void)param, (void)in, (void)n_in, (void)n_out;
    zk_lit num = alloc_hint(rec), input = zk_rec_input(rec);
    zk_lc_add_int(rec, zk_rec_a(rec), num, 1);
    zk_rec_op(rec, (zk_op){.code = ZK_OP_LC, .n = 1, .dst = zk_lit_var(input), .a = zk_rec_lc(rec, zk_rec_a(rec))});
    zk_lc_clear(zk_rec_a(rec));
    enforce_equal(rec, input, num);
    out[0] = num;
}
static const zk_gadget gadget_alloc_input = {"public value", record_alloc_input};

static void record_to_bits(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out,
                           size_t n_out) {
    (void)param, (void)n_in;
    alloc_bits_of(rec, out, n_out, in[0]);
    add_bits(rec, zk_rec_c(rec), out, n_out);
    zk_lc_add_int(rec, zk_rec_c(rec), in[0], -1);
    zk_rec_row(rec);
}
static const zk_gadget gadget_to_bits = {"value to bits", record_to_bits};

static void record_split(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out,
                         size_t n_out) {
    (void)param, (void)n_in;
    alloc_bits_of(rec, out, n_out, in[0]);
    add_bits(rec, zk_rec_a(rec), out, n_out);
    zk_lc_add_int(rec, zk_rec_b(rec), ZK_LIT_TRUE, 1);
    zk_lc_add_int(rec, zk_rec_c(rec), in[0], 1);
    zk_rec_row(rec);
}
static const zk_gadget gadget_split = {"value to few bits", record_split};

static void record_pack(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out, size_t n_out) {
    (void)param, (void)n_out;
    out[0] = zk_rec_wides(rec, 1);
    pack_into(rec, out[0], in, n_in);
}
static const zk_gadget gadget_pack = {"bits to value", record_pack};

static void record_pack_input(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out,
                              size_t n_out) {
    (void)param, (void)out, (void)n_out;
    pack_into(rec, zk_rec_input(rec), in, n_in);
}
static const zk_gadget gadget_pack_input = {"bits to input", record_pack_input};

static void record_u64_input(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out,
                             size_t n_out) {
    (void)param, (void)in, (void)n_in;
    uint32_t hint = zk_rec_hint(rec);
    for (size_t i = 0; i < n_out; i++) out[i] = alloc_hint_bit(rec, hint, (uint32_t)i);
    pack_into(rec, zk_rec_input(rec), out, n_out);
}
static const zk_gadget gadget_u64_input = {"public u64", record_u64_input};

static void record_equal(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out,
                         size_t n_out) {
    (void)param, (void)n_in, (void)out, (void)n_out;
    enforce_equal(rec, in[0], in[1]);
}
static const zk_gadget gadget_equal = {"equal", record_equal};

/* The variable for the combination in zk_rec_a, by the row lc * 1 = var. */
static zk_lit make_sum(zk_recorder *rec) {
    zk_lit r = zk_rec_wides(rec, 1);
    zk_rec_op(rec, (zk_op){.code = ZK_OP_LC, .n = 1, .dst = zk_lit_var(r), .a = zk_rec_lc(rec, zk_rec_a(rec))});
    zk_lc_add_int(rec, zk_rec_b(rec), ZK_LIT_TRUE, 1);
    zk_lc_add_int(rec, zk_rec_c(rec), r, 1);
    zk_rec_row(rec);
    return r;
}

static void record_sum(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out, size_t n_out) {
    (void)param, (void)n_out;
    for (size_t i = 0; i < n_in; i++) zk_lc_add_int(rec, zk_rec_a(rec), in[i], 1);
    out[0] = make_sum(rec);
}
static const zk_gadget gadget_sum = {"sum", record_sum};

typedef struct affine {
    uint64_t factor, summand;
} affine;

static void record_affine(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out,
                          size_t n_out) {
    (void)n_in, (void)n_out;
    const affine *p = param;
    zk_fr factor, summand;
    zk_fr_from_u64(&factor, p->factor);
    zk_fr_from_u64(&summand, p->summand);
    zk_lc_add(rec, zk_rec_a(rec), in[0], &factor);
    zk_lc_add(rec, zk_rec_a(rec), ZK_LIT_TRUE, &summand);
    out[0] = make_sum(rec);
}
static const zk_gadget gadget_affine = {"affine", record_affine};

static void record_mul(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out, size_t n_out) {
    (void)param, (void)n_in, (void)n_out;
    out[0] = zk_rec_wides(rec, 1);
    zk_lc_add_int(rec, zk_rec_a(rec), in[0], 1);
    zk_lc_add_int(rec, zk_rec_b(rec), in[1], 1);
    zk_rec_op(rec, (zk_op){.code = ZK_OP_MULADD,
                           .n = 1,
                           .dst = zk_lit_var(out[0]),
                           .a = zk_rec_lc(rec, zk_rec_a(rec)),
                           .b = zk_rec_lc(rec, zk_rec_b(rec)),
                           .c = ZK_NO_LC});
    zk_lc_add_int(rec, zk_rec_c(rec), out[0], 1);
    zk_rec_row(rec);
}
static const zk_gadget gadget_mul = {"product", record_mul};

/* Inserts x at position (b0, b1, b2) into seven siblings y[0..6]; r_k is child k. Which intermediate picks there are,
 * and in which order, is the reference's hand-made arrangement. */
static void insert_8(zk_recorder *rec, zk_lit *r, const zk_lit *b, zk_lit x, const zk_lit *y) {
    zk_lit none = zk_bit_and(rec, zk_lit_not(b[0]), zk_lit_not(b[1]));
    zk_lit both = zk_bit_and(rec, b[0], b[1]);
    zk_lit t;
    t = pick(rec, none, x, y[0]);
    r[0] = pick(rec, b[2], y[0], t);
    t = pick(rec, b[0], x, y[0]);
    t = pick(rec, b[1], y[1], t);
    r[1] = pick(rec, b[2], y[1], t);
    t = pick(rec, b[0], y[2], x);
    t = pick(rec, b[1], t, y[1]);
    r[2] = pick(rec, b[2], y[2], t);
    t = pick(rec, both, x, y[2]);
    r[3] = pick(rec, b[2], y[3], t);
    t = pick(rec, none, x, y[4]);
    r[4] = pick(rec, b[2], t, y[3]);
    t = pick(rec, b[0], x, y[4]);
    t = pick(rec, b[1], y[5], t);
    r[5] = pick(rec, b[2], t, y[4]);
    t = pick(rec, b[0], y[6], x);
    t = pick(rec, b[1], t, y[5]);
    r[6] = pick(rec, b[2], t, y[5]);
    t = pick(rec, both, x, y[6]);
    r[7] = pick(rec, b[2], t, y[6]);
}

static void insert(zk_recorder *rec, zk_lit *r, const zk_lit *bits, zk_lit x, const zk_lit *y, uint32_t arity) {
    if (arity == 8) {
        insert_8(rec, r, bits, x, y);
    } else {
        r[0] = pick(rec, bits[0], y[0], x);
        r[1] = pick(rec, bits[0], x, y[0]);
    }
}

/* Inputs: log2 of the arity bits, the value, its siblings. */
static void record_insert(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out,
                          size_t n_out) {
    (void)param;
    const zk_lit *x = in + (n_in - n_out);
    insert(rec, out, in, x[0], x + 1, (uint32_t)n_out);
}
static const zk_gadget gadget_insert = {"insertion", record_insert};

/* Inputs: 2^n_bits values, the bits. Halves the values by one bit after the other, the most significant first. */
static void record_select(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out,
                          size_t n_out) {
    (void)n_in, (void)n_out;
    uint32_t n_bits = *(const uint32_t *)param;
    zk_lit left[1u << MAX_SELECT_BITS];
    memcpy(left, in, sizeof *left << n_bits);
    for (uint32_t k = n_bits; k-- > 0;)
        for (size_t i = 0; i < (size_t)1 << k; i++)
            left[i] = pick(rec, in[((size_t)1 << n_bits) + k], left[((size_t)1 << k) + i], left[i]);
    out[0] = left[0];
}
static const zk_gadget gadget_select = {"selection", record_select};

static void record_merkle_node(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out,
                               size_t n_out) {
    (void)n_in, (void)n_out;
    uint32_t arity = *(const uint32_t *)param, n_bits = arity == 8 ? 3 : 1, hint = zk_rec_hint(rec);
    zk_lit y[7];
    for (uint32_t i = 0; i < n_bits; i++) out[i] = alloc_hint_bit(rec, hint, i);
    for (uint32_t i = 0; i + 1 < arity; i++) y[i] = alloc_hint(rec);
    insert(rec, out + n_bits, out, in[0], y, arity);
}
static const zk_gadget gadget_merkle_node = {"merkle node", record_merkle_node};

/* ---- calls ---- */

void zk_synth_alloc(zk_synth *s, zk_cell *out, uint32_t n) {
    if (n) zk_synth_call(s, &gadget_alloc, &n, sizeof n, NULL, 0, out, n);
}

zk_cell zk_synth_alloc_input(zk_synth *s) {
    zk_cell out = 0;
    zk_synth_call(s, &gadget_alloc_input, NULL, 0, NULL, 0, &out, 1);
    return out;
}

void zk_synth_to_bits(zk_synth *s, zk_cell bits[ZK_NUM_BITS], zk_cell num) {
    zk_synth_call(s, &gadget_to_bits, NULL, 0, &num, 1, bits, ZK_NUM_BITS);
}

void zk_synth_split(zk_synth *s, zk_cell *bits, size_t n, zk_cell num) {
    zk_synth_call(s, &gadget_split, NULL, 0, &num, 1, bits, n);
}

zk_cell zk_synth_pack(zk_synth *s, const zk_cell *bits, size_t n) {
    zk_cell out = 0;
    zk_synth_call(s, &gadget_pack, NULL, 0, bits, n, &out, 1);
    return out;
}

void zk_synth_pack_input(zk_synth *s, const zk_cell *bits, size_t n) {
    zk_synth_call(s, &gadget_pack_input, NULL, 0, bits, n, NULL, 0);
}

void zk_synth_u64_input(zk_synth *s, zk_cell bits[64]) {
    zk_synth_call(s, &gadget_u64_input, NULL, 0, NULL, 0, bits, 64);
}

void zk_synth_equal(zk_synth *s, zk_cell a, zk_cell b) {
    zk_synth_call(s, &gadget_equal, NULL, 0, (zk_cell[2]){a, b}, 2, NULL, 0);
}

zk_cell zk_synth_add(zk_synth *s, zk_cell a, zk_cell b) { return zk_synth_sum(s, (zk_cell[2]){a, b}, 2); }

zk_cell zk_synth_sum(zk_synth *s, const zk_cell *nums, size_t n) {
    zk_cell out = 0;
    zk_synth_call(s, &gadget_sum, NULL, 0, nums, n, &out, 1);
    return out;
}

zk_cell zk_synth_mul(zk_synth *s, zk_cell a, zk_cell b) {
    zk_cell out = 0;
    zk_synth_call(s, &gadget_mul, NULL, 0, (zk_cell[2]){a, b}, 2, &out, 1);
    return out;
}

zk_cell zk_synth_affine(zk_synth *s, uint64_t factor, zk_cell num, uint64_t summand) {
    const affine param = {factor, summand};
    zk_cell out = 0;
    zk_synth_call(s, &gadget_affine, &param, sizeof param, &num, 1, &out, 1);
    return out;
}

void zk_synth_merkle_node(zk_synth *s, zk_cell *index_bits, zk_cell *children, uint32_t arity, zk_cell cur) {
    uint32_t n_bits = arity == 8 ? 3 : 1;
    zk_cell out[3 + 8] = {0};
    zk_synth_call(s, &gadget_merkle_node, &arity, sizeof arity, &cur, 1, out, n_bits + arity);
    memcpy(index_bits, out, n_bits * sizeof *out);
    memcpy(children, out + n_bits, arity * sizeof *out);
}

void zk_synth_insert(zk_synth *s, zk_cell *children, uint32_t arity, const zk_cell *index_bits, zk_cell cur,
                     const zk_cell *siblings) {
    uint32_t n_bits = arity == 8 ? 3 : 1;
    zk_cell in[3 + 8];
    memcpy(in, index_bits, n_bits * sizeof *in);
    in[n_bits] = cur;
    memcpy(in + n_bits + 1, siblings, (arity - 1) * sizeof *in);
    zk_synth_call(s, &gadget_insert, NULL, 0, in, n_bits + arity, children, arity);
}

zk_cell zk_synth_select(zk_synth *s, const zk_cell *values, const zk_cell *bits, uint32_t n_bits) {
    zk_cell in[(1u << MAX_SELECT_BITS) + MAX_SELECT_BITS], out = 0;
    if (n_bits > MAX_SELECT_BITS) {
        s->status = ZK_FAIL(&s->err, CUZK_INTERNAL, "selection among 2^%u values", n_bits);
        return out;
    }
    memcpy(in, values, sizeof *in << n_bits);
    memcpy(in + ((size_t)1 << n_bits), bits, n_bits * sizeof *in);
    zk_synth_call(s, &gadget_select, &n_bits, sizeof n_bits, in, ((size_t)1 << n_bits) + n_bits, &out, 1);
    return out;
}

void zk_cells_swap_bytes(zk_cell r[256], const zk_cell *bits, size_t n) {
    for (size_t i = 0; i < 256; i += 8) {
        zk_cell byte[8];
        for (size_t k = 0; k < 8; k++) byte[k] = i + k < n ? bits[i + k] : ZK_CELL_FALSE;
        for (size_t k = 0; k < 8; k++) r[i + k] = byte[7 - k];
    }
}
