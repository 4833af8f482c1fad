/* The same steps as in poseidon.c, on eight states in the lanes of vectors, with values v as v 2^260 mod r.
 *
 * Entries of a state are tight: limbs 0..3 below 2^52, limb 4 what is left, so that they may be multiplied and added
 * alike. Bounds in multiples of r, for width <= 12 and blocks of 4; a sum of n products of entries below m with
 * constants is below n m / 35.3 + 1.01:
 *   full rounds    entries below 4, after the S-box with its constant below 1.2 + 1, mixed below 1.8
 *   partial rounds entries other than 0 grow by 4 * 2.4 / 35.3 + 1.01 < 1.3 a block: below 1.8 + 15 * 1.3 < 22; entry 0
 *                  is below (11 * 22 + 4 * 2.4) / 35.3 + 1.01 < 8.2, after the S-box below 1.4 + 1
 *   after them     22^2 / 35.3 + 1.01 < 15, squared below 7.4, times 22 below 5.7, plus 1: mixed below 3.3
 * An accumulator's limb takes ten summands below 2^52 a product and as many of the reduction: (16 + 1) 10 2^52 < 2^60.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "field/fr52x8.h"
#include "hash/ifma/poseidon.h"

#define MAX_WIDTH (ZK_POSEIDON_IFMA_MAX_ARITY + 1)
#define LANES ZK_POSEIDON_LANES

typedef struct zk_poseidon_tables {
    unsigned width, full_rounds, partial_rounds;
    zk_fr52 to_lanes, from_lanes; /* factors between v 2^256 and v 2^260 */
    zk_fr52 tag;
    const zk_fr52 *mds, *compressed, *pre_sparse, *v_rest, *fast; /* as in zk_poseidon_params */
} zk_poseidon_tables;

/* ---- Tables ---- */

static zk_fr52 *convert(const zk_fr52 **table, zk_fr52 *at, const zk_fr *from, size_t n) {
    *table = at;
    for (size_t i = 0; i < n; i++) zk_fr_to_fr52(&at[i], &from[i]);
    return at + n;
}

static zk_poseidon_tables *make_tables(const zk_poseidon_params *p) {
    size_t t = p->width, rp = p->partial_rounds, n_compressed = p->full_rounds * t + rp;
    size_t n_fast = rp * (t - 1 + ZK_POSEIDON_BLOCK);
    zk_poseidon_tables *tables =
        malloc(sizeof *tables + (2 * t * t + n_compressed + rp * (t - 1) + n_fast) * sizeof(zk_fr52));
    if (!tables) return NULL;
    zk_fr52 *at = (zk_fr52 *)(tables + 1);
    zk_fr sixteen, inverse;
    tables->width = p->width, tables->full_rounds = p->full_rounds, tables->partial_rounds = p->partial_rounds;
    zk_fr_from_u64(&sixteen, 16);
    zk_fr_inv_var(&inverse, &sixteen);
    zk_fr_to_fr52(&tables->to_lanes, &sixteen);
    zk_fr_to_fr52(&tables->from_lanes, &inverse);
    zk_fr_to_fr52(&tables->tag, &p->tree_tag);
    at = convert(&tables->mds, at, p->mds, t * t);
    at = convert(&tables->compressed, at, p->compressed, n_compressed);
    at = convert(&tables->pre_sparse, at, p->pre_sparse, t * t);
    at = convert(&tables->v_rest, at, p->v_rest, rp * (t - 1));
    convert(&tables->fast, at, p->fast, n_fast);
    return tables;
}

const zk_poseidon_tables *zk_poseidon_ifma_tables(const zk_poseidon_params *params) {
    static _Atomic(zk_poseidon_tables *) made_tables[ZK_POSEIDON_IFMA_MAX_ARITY + 1];
    _Atomic(zk_poseidon_tables *) *slot = &made_tables[params->arity];
    zk_poseidon_tables *tables = atomic_load_explicit(slot, memory_order_acquire);
    if (tables) return tables;
    /* Threads that race here make the same values; the first to store wins. */
    zk_poseidon_tables *made = make_tables(params);
    if (!made) return NULL;
    if (!atomic_compare_exchange_strong(slot, &tables, made)) {
        free(made);
        return tables;
    }
    return made;
}

/* ---- Arithmetic ---- */

/* loose -> tight of the same value. */
ZK_INLINE void carry_tight(zk_fr52x8 *r, const zk_fr52x8 *a) {
    zk_fr52x8_carry_factor(r, a);
    ZK_UNROLL for (int i = 0; i < 4; i++) r->l[i] = _mm512_and_si512(r->l[i], zk_v8_set1(ZK_FR52_MASK));
}

ZK_INLINE void add_constant(zk_fr52x8 *r, const zk_fr52x8 *a, const zk_fr52 *b) {
    ZK_UNROLL for (int i = 0; i < 5; i++) r->l[i] = _mm512_add_epi64(a->l[i], zk_v8_set1(b->l[i]));
}

/* r = a^2 / R, loose; a a factor. 30 vpmadd52 and the reduction. */
ZK_INLINE void square_loose(zk_fr52x8 *r, const zk_fr52x8 *a) {
    __m512i t[10];
    ZK_UNROLL for (int i = 0; i < 10; i++) t[i] = _mm512_setzero_si512();
    ZK_UNROLL for (int j = 0; j < 5; j++) ZK_UNROLL for (int i = j + 1; i < 5; i++) {
        t[i + j] = _mm512_madd52lo_epu64(t[i + j], a->l[i], a->l[j]);
        t[i + j + 1] = _mm512_madd52hi_epu64(t[i + j + 1], a->l[i], a->l[j]);
    }
    ZK_UNROLL for (int i = 1; i < 9; i++) t[i] = _mm512_add_epi64(t[i], t[i]);
    ZK_UNROLL for (int i = 0; i < 5; i++) {
        t[2 * i] = _mm512_madd52lo_epu64(t[2 * i], a->l[i], a->l[i]);
        t[2 * i + 1] = _mm512_madd52hi_epu64(t[2 * i + 1], a->l[i], a->l[i]);
    }
    zk_fr52x8_montgomery(r, t);
}

/* x = x^5 + key (NULL: 0) */
ZK_INLINE void sbox(zk_fr52x8 *x, const zk_fr52 *key) {
    zk_fr52x8 y;
    square_loose(&y, x);
    zk_fr52x8_carry_factor(&y, &y);
    square_loose(&y, &y);
    zk_fr52x8_carry_factor(&y, &y);
    zk_fr52x8_mul_loose(&y, &y, x);
    if (key) add_constant(&y, &y, key);
    carry_tight(x, &y);
}

/* t += sum a[i] b[i stride], i < n */
ZK_INLINE void accumulate(__m512i t[10], const zk_fr52x8 *a, const zk_fr52 *b, size_t stride, size_t n) {
    for (size_t k = 0; k < n; k++, a++, b += stride) {
        ZK_UNROLL for (int j = 0; j < 5; j++) {
            const __m512i bj = zk_v8_set1(b->l[j]);
            ZK_UNROLL for (int i = 0; i < 5; i++) t[i + j] = _mm512_madd52lo_epu64(t[i + j], a->l[i], bj);
            ZK_UNROLL for (int i = 0; i < 5; i++) t[i + j + 1] = _mm512_madd52hi_epu64(t[i + j + 1], a->l[i], bj);
        }
    }
}

/* r = init (NULL: 0) + sum a[i] b[i stride] / R, i < n, tight */
ZK_INLINE void dot(zk_fr52x8 *r, const zk_fr52x8 *init, const zk_fr52x8 *a, const zk_fr52 *b, size_t stride, size_t n) {
    __m512i t[10];
    zk_fr52x8 sum;
    ZK_UNROLL for (int i = 0; i < 5; i++) {
        t[i] = _mm512_setzero_si512();
        t[i + 5] = init ? init->l[i] : _mm512_setzero_si512();
    }
    accumulate(t, a, b, stride, n);
    zk_fr52x8_montgomery(&sum, t);
    carry_tight(r, &sum);
}

/* ---- The permutation ---- */

static void full_round(zk_fr52x8 *state, const zk_fr52 *key, const zk_fr52 *m, unsigned t) {
    zk_fr52x8 x[MAX_WIDTH];
    for (unsigned i = 0; i < t; i++) {
        x[i] = state[i];
        sbox(&x[i], &key[i]);
    }
    for (unsigned j = 0; j < t; j++) dot(&state[j], NULL, x, m + j, t, t);
}

static void partial_rounds(zk_fr52x8 *state, const zk_poseidon_tables *p, const zk_fr52 *keys) {
    zk_fr52x8 terms[MAX_WIDTH + ZK_POSEIDON_BLOCK], *x = terms + p->width - 1;
    unsigned t = p->width;
    for (unsigned start = 0; start < p->partial_rounds; start += ZK_POSEIDON_BLOCK) {
        unsigned n = p->partial_rounds - start;
        if (n > ZK_POSEIDON_BLOCK) n = ZK_POSEIDON_BLOCK;
        for (unsigned j = 1; j < t; j++) terms[j - 1] = state[j];
        for (unsigned i = 0; i < n; i++) {
            x[i] = state[0];
            sbox(&x[i], &keys[start + i]);
            dot(&state[0], NULL, terms, p->fast + (size_t)(start + i) * (t - 1 + ZK_POSEIDON_BLOCK), 1, t + i);
        }
        for (unsigned j = 1; j < t; j++)
            dot(&state[j], &state[j], x, p->v_rest + (size_t)start * (t - 1) + j - 1, t - 1, n);
    }
}

/* All rounds, of the last mixing only entry 1; goes to *out. */
static void permute(zk_fr52x8 *out, zk_fr52x8 *state, const zk_poseidon_tables *p) {
    const zk_fr52 *key = p->compressed;
    unsigned t = p->width, half = p->full_rounds / 2;
    for (unsigned i = 0; i < t; i++) {
        add_constant(&state[i], &state[i], key++);
        carry_tight(&state[i], &state[i]);
    }
    for (unsigned k = 0; k < half; k++, key += t) full_round(state, key, k + 1 < half ? p->mds : p->pre_sparse, t);
    partial_rounds(state, p, key);
    key += p->partial_rounds;
    for (unsigned k = 0; k + 1 < half; k++, key += t) full_round(state, key, p->mds, t);
    for (unsigned i = 0; i < t; i++) sbox(&state[i], NULL);
    dot(out, NULL, state, p->mds + 1, t, t);
}

void zk_poseidon_ifma_hash(zk_fr out[LANES], const zk_poseidon_tables *tables, const zk_fr *const in[LANES]) {
    zk_fr52x8 state[MAX_WIDTH], factor, x;
    __m512i w[4];
    zk_fr52x8_broadcast(&state[0], &tables->tag);
    zk_fr52x8_broadcast(&factor, &tables->to_lanes);
    for (unsigned i = 1; i < tables->width; i++) {
        zk_fr row[LANES];
        for (unsigned k = 0; k < LANES; k++) row[k] = in[k][i - 1];
        zk_fr52x8_load_words(w, row);
        zk_fr52x8_from_words(&x, w);
        zk_fr52x8_mul_loose(&state[i], &x, &factor);
    }
    permute(&x, state, tables);
    zk_fr52x8_broadcast(&factor, &tables->from_lanes);
    zk_fr52x8_mul_loose(&x, &x, &factor);
    zk_fr52x8_to_words(w, &x);
    zk_fr52x8_store_words(out, w);
}
