#include "circuit/num.h"

#include <string.h>

#include "circuit/bits.h"
#include "hash/poseidon.h"

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

/* num = sum of bits[i] 2^i, with num allocated by the caller just before. */
static void pack_into(zk_recorder *rec, zk_lit num, const zk_lit *bits, size_t n) {
    zk_pow2 pow2;
    zk_pow2_init(&pow2);
    for (size_t i = 0; i < n; i++) zk_lc_add(rec, zk_rec_a(rec), bits[i], &pow2.at[i]);
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
    zk_pow2 pow2;
    zk_pow2_init(&pow2);
    zk_lit first = zk_rec_bits(rec, (uint32_t)n_out);
    zk_rec_op(rec, (zk_op){.code = ZK_OP_BITS, .n = (uint16_t)n_out, .dst = zk_lit_var(first), .a = zk_lit_var(in[0])});
    for (size_t i = 0; i < n_out; i++) {
        out[i] = first + 2 * (zk_lit)i;
        zk_bit_constrain(rec, out[i]);
    }
    for (size_t i = 0; i < n_out; i++) zk_lc_add(rec, zk_rec_c(rec), out[i], &pow2.at[i]);
    zk_lc_add_int(rec, zk_rec_c(rec), in[0], -1);
    zk_rec_row(rec);
}
static const zk_gadget gadget_to_bits = {"value to bits", record_to_bits};

static void record_split(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out,
                         size_t n_out) {
    (void)param, (void)n_in;
    zk_pow2 pow2;
    zk_pow2_init(&pow2);
    zk_lit first = zk_rec_bits(rec, (uint32_t)n_out);
    zk_rec_op(rec, (zk_op){.code = ZK_OP_BITS, .n = (uint16_t)n_out, .dst = zk_lit_var(first), .a = zk_lit_var(in[0])});
    for (size_t i = 0; i < n_out; i++) {
        out[i] = first + 2 * (zk_lit)i;
        zk_bit_constrain(rec, out[i]);
    }
    for (size_t i = 0; i < n_out; i++) zk_lc_add(rec, zk_rec_a(rec), out[i], &pow2.at[i]);
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

/* ---- Poseidon ---- */

typedef struct poseidon {
    zk_recorder *rec;
    const zk_poseidon_params *p;
    zk_lc state[ZK_POSEIDON_MAX_ARITY + 1], next[ZK_POSEIDON_MAX_ARITY + 1];
    const zk_fr *key; /* next compressed constant */
} poseidon;

/* The variable for a combination that is not one yet, by the row lc * 1 = var. */
static zk_lit make_var(zk_recorder *rec, const zk_lc *lc) {
    zk_lit v = zk_rec_wides(rec, 1);
    zk_lc_add_int(rec, zk_rec_b(rec), ZK_LIT_TRUE, 1);
    zk_lc_add_int(rec, zk_rec_c(rec), v, 1);
    zk_rec_enforce(rec, lc, zk_rec_b(rec), zk_rec_c(rec));
    zk_lc_clear(zk_rec_b(rec));
    zk_lc_clear(zk_rec_c(rec));
    return v;
}

/* state = (var + pre)^5 + post; pre and post may be NULL. */
static void sbox_var(poseidon *q, zk_lc *state, zk_lit var, const zk_fr *pre, const zk_fr *post) {
    zk_recorder *rec = q->rec;
    zk_lc *a = zk_rec_a(rec), *b = zk_rec_b(rec), *c = zk_rec_c(rec);
    zk_lit x2 = zk_rec_wides(rec, 1);
    zk_lc_add_int(rec, a, var, 1);
    zk_lc_add_int(rec, b, var, 1);
    if (pre) zk_lc_add(rec, a, ZK_LIT_TRUE, pre);
    if (pre) zk_lc_add(rec, b, ZK_LIT_TRUE, pre);
    zk_lc_add_int(rec, c, x2, 1);
    zk_rec_row(rec);
    zk_lit x4 = zk_rec_wides(rec, 1);
    zk_lc_add_int(rec, a, x2, 1);
    zk_lc_add_int(rec, b, x2, 1);
    zk_lc_add_int(rec, c, x4, 1);
    zk_rec_row(rec);
    zk_lit x5 = zk_rec_wides(rec, 1);
    zk_lc_add_int(rec, a, var, 1);
    if (pre) zk_lc_add(rec, a, ZK_LIT_TRUE, pre);
    zk_lc_add_int(rec, b, x4, 1);
    zk_lc_add_int(rec, c, x5, 1);
    if (post) {
        zk_fr minus;
        zk_fr_neg(&minus, post);
        zk_lc_add(rec, c, ZK_LIT_TRUE, &minus);
    }
    zk_rec_row(rec);
    zk_lc_clear(state);
    zk_lc_add_int(rec, state, x5, 1);
}

static void sbox(poseidon *q, unsigned i, const zk_fr *post) {
    sbox_var(q, &q->state[i], make_var(q->rec, &q->state[i]), NULL, post);
}

static void use_next(poseidon *q) {
    for (unsigned j = 0; j < q->p->width; j++) {
        zk_lc t = q->state[j];
        q->state[j] = q->next[j];
        q->next[j] = t;
        zk_lc_merge(q->rec, &q->state[j]);
    }
}

static void mix_dense(poseidon *q, const zk_fr *m) {
    unsigned width = q->p->width;
    for (unsigned j = 0; j < width; j++) {
        zk_lc_clear(&q->next[j]);
        for (unsigned i = 0; i < width; i++) zk_lc_add_lc(q->rec, &q->next[j], &q->state[i], &m[i * width + j]);
    }
    use_next(q);
}

static void mix_sparse(poseidon *q, unsigned round) {
    unsigned width = q->p->width;
    const zk_fr *w_hat = q->p->w_hat + (size_t)round * width, *v_rest = q->p->v_rest + (size_t)round * (width - 1);
    zk_lc_clear(&q->next[0]);
    for (unsigned i = 0; i < width; i++) zk_lc_add_lc(q->rec, &q->next[0], &q->state[i], &w_hat[i]);
    for (unsigned j = 1; j < width; j++) {
        zk_lc_clear(&q->next[j]);
        zk_lc_add_lc(q->rec, &q->next[j], &q->state[j], &zk_fr_one);
        zk_lc_add_lc(q->rec, &q->next[j], &q->state[0], &v_rest[j - 1]);
    }
    use_next(q);
}

/* The first round adds its constants on both sides of the S-boxes; that of the tag is a constant. */
static void first_round(poseidon *q, const zk_fr *tag, const zk_lit *in) {
    unsigned width = q->p->width;
    const zk_fr *pre = q->key, *post = q->key + width;
    q->key += 2 * (size_t)width;
    zk_fr x, x4;
    zk_fr_add(&x, tag, &pre[0]);
    zk_fr_sqr(&x4, &x);
    zk_fr_sqr(&x4, &x4);
    zk_fr_mul(&x, &x, &x4);
    zk_fr_add(&x, &x, &post[0]);
    zk_lc_add(q->rec, &q->state[0], ZK_LIT_TRUE, &x);
    for (unsigned i = 1; i < width; i++) sbox_var(q, &q->state[i], in[i - 1], &pre[i], &post[i]);
    mix_dense(q, q->p->mds);
}

static void full_round(poseidon *q, const zk_fr *matrix, bool last) {
    for (unsigned i = 0; i < q->p->width; i++) sbox(q, i, last ? NULL : &q->key[i]);
    if (!last) q->key += q->p->width;
    mix_dense(q, matrix);
}

static void record_poseidon(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out,
                            size_t n_out) {
    (void)n_out;
    const zk_poseidon_params *p = zk_poseidon_get((unsigned)n_in);
    if (!p) {
        zk_rec_fail(rec);
        return;
    }
    const zk_fr *tag = param ? param : &p->tree_tag;
    poseidon q = {.rec = rec, .p = p, .key = p->compressed};
    uint32_t vars[ZK_POSEIDON_MAX_ARITY];
    for (size_t i = 0; i < n_in; i++) vars[i] = zk_lit_var(in[i]);
    /* The first variable is the first S-box's square: the operation's destination is known once that is recorded. */
    uint32_t first = zk_lit_var(zk_rec_next_aux(rec));
    zk_rec_op(rec, (zk_op){.code = ZK_OP_POSEIDON,
                           .n = (uint16_t)n_in,
                           .dst = first,
                           .a = zk_rec_lits(rec, vars, n_in),
                           .b = zk_rec_coef(rec, tag)});
    unsigned half = p->full_rounds / 2;
    first_round(&q, tag, in);
    for (unsigned i = 1; i < half; i++) full_round(&q, i + 1 < half ? p->mds : p->pre_sparse, false);
    for (unsigned i = 0; i < p->partial_rounds; i++) {
        sbox(&q, 0, q.key++);
        mix_sparse(&q, i);
    }
    for (unsigned i = 0; i < half; i++) full_round(&q, p->mds, i + 1 == half);
    out[0] = make_var(rec, &q.state[1]);
    for (unsigned i = 0; i < p->width; i++) {
        zk_lc_free(&q.state[i]);
        zk_lc_free(&q.next[i]);
    }
}
static const zk_gadget gadget_poseidon = {"poseidon", record_poseidon};

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

zk_cell zk_synth_poseidon(zk_synth *s, const zk_cell *in, uint32_t arity) {
    zk_cell out = 0;
    zk_synth_call(s, &gadget_poseidon, NULL, 0, in, arity, &out, 1);
    return out;
}

zk_cell zk_synth_poseidon_tagged(zk_synth *s, const zk_cell *in, uint32_t arity, const zk_fr *tag) {
    zk_cell out = 0;
    zk_synth_call(s, &gadget_poseidon, tag, sizeof *tag, in, arity, &out, 1);
    return out;
}

void zk_cells_swap_bytes(zk_cell r[256], const zk_cell *bits, size_t n) {
    for (size_t i = 0; i < 256; i += 8) {
        zk_cell byte[8];
        for (size_t k = 0; k < 8; k++) byte[k] = i + k < n ? bits[i + k] : ZK_CELL_FALSE;
        for (size_t k = 0; k < 8; k++) r[i + k] = byte[7 - k];
    }
}
