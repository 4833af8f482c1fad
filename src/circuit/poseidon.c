#include "circuit/poseidon.h"

#include "hash/poseidon.h"

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
