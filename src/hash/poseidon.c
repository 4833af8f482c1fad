#include "hash/poseidon.h"

#include <string.h>

#include "field/cpu.h"
#include "hash/poseidon_dot.h"

#define MAX_WIDTH (ZK_POSEIDON_MAX_ARITY + 1)

static zk_poseidon_dot_fn choose_dot(void) {
#if defined(ZK_POSEIDON_HAVE_ADX)
    const zk_cpu_features *cpu = zk_cpu_get_features();
    if (cpu->bmi2 && cpu->adx && zk_cpu_get_limit() >= ZK_CPU_ADX) return zk_poseidon_dot_adx;
#endif
    return zk_poseidon_dot_portable;
}

/* y = x^5 + key (NULL: 0), in place. The record, if there is one, takes all intermediate values; *record moves on. */
static inline void sbox(zk_fr *x, const zk_fr *key, zk_poseidon_sbox **record) {
    zk_fr x2, x4, y;
    zk_fr_sqr(&x2, x);
    zk_fr_sqr(&x4, &x2);
    zk_fr_mul(&y, &x4, x);
    if (key) zk_fr_add(&y, &y, key);
    if (*record) *(*record)++ = (zk_poseidon_sbox){*x, x2, x4, y};
    *x = y;
}

static void mix(zk_fr *state, const zk_fr *m, unsigned t, zk_poseidon_dot_fn dot) {
    zk_fr out[MAX_WIDTH];
    for (unsigned j = 0; j < t; j++) dot(&out[j], NULL, state, m + j, t, t);
    memcpy(state, out, t * sizeof *state);
}

/* Partial rounds in blocks. Within a block the entries other than 0 stay as they were at its start: what round k would
 * have added to them, x_k v_rest_k, reaches entry 0 of a later round i by the dot product of v_rest_k and w_hat_i. So a
 * block costs one reduction a round and one an entry, instead of one for each product.
 *   terms: [entries 1 .. t-1 at the block's start, x_0, x_1 ...], to be multiplied with fast[i] */
static void partial_rounds(zk_fr *state, const zk_poseidon_params *p, const zk_fr *keys, zk_poseidon_dot_fn dot,
                           zk_poseidon_sbox **record) {
    zk_fr terms[MAX_WIDTH + ZK_POSEIDON_BLOCK], *x = terms + p->width - 1;
    unsigned t = p->width;
    for (unsigned start = 0; start < p->partial_rounds; start += ZK_POSEIDON_BLOCK) {
        unsigned n = p->partial_rounds - start;
        if (n > ZK_POSEIDON_BLOCK) n = ZK_POSEIDON_BLOCK;
        memcpy(terms, state + 1, (t - 1) * sizeof *terms);
        for (unsigned i = 0; i < n; i++) {
            x[i] = state[0];
            sbox(&x[i], &keys[start + i], record);
            dot(&state[0], NULL, terms, p->fast + (size_t)(start + i) * (t - 1 + ZK_POSEIDON_BLOCK), 1, t + i);
        }
        for (unsigned j = 1; j < t; j++)
            dot(&state[j], &state[j], x, p->v_rest + (size_t)start * (t - 1) + j - 1, t - 1, n);
    }
}

/* All rounds but the mixing of the last one. record: NULL, or [n_sboxes]. */
static void permute_unmixed(zk_fr *state, const zk_poseidon_params *params, zk_poseidon_dot_fn dot,
                            zk_poseidon_sbox *record) {
    const zk_fr *key = params->compressed;
    unsigned t = params->width, half = params->full_rounds / 2;
    for (unsigned i = 0; i < t; i++) zk_fr_add(&state[i], &state[i], key++);
    for (unsigned k = 0; k < half; k++) {
        for (unsigned i = 0; i < t; i++) sbox(&state[i], key++, &record);
        mix(state, k + 1 < half ? params->mds : params->pre_sparse, t, dot);
    }
    partial_rounds(state, params, key, dot, &record);
    key += params->partial_rounds;
    for (unsigned k = 0; k + 1 < half; k++) {
        for (unsigned i = 0; i < t; i++) sbox(&state[i], key++, &record);
        mix(state, params->mds, t, dot);
    }
    for (unsigned i = 0; i < t; i++) sbox(&state[i], NULL, &record);
}

void zk_poseidon_permute(zk_fr *state, const zk_poseidon_params *params) {
    zk_poseidon_dot_fn dot = choose_dot();
    permute_unmixed(state, params, dot, NULL);
    mix(state, params->mds, params->width, dot);
}

unsigned zk_poseidon_n_sboxes(const zk_poseidon_params *params) {
    return params->full_rounds * params->width + params->partial_rounds;
}

void zk_poseidon_trace(zk_fr *out, zk_poseidon_sbox *sboxes, const zk_poseidon_params *params, const zk_fr *tag,
                       const zk_fr *in) {
    zk_poseidon_dot_fn dot = choose_dot();
    zk_fr state[MAX_WIDTH];
    state[0] = *tag;
    memcpy(state + 1, in, params->arity * sizeof *in);
    permute_unmixed(state, params, dot, sboxes);
    /* The output is one entry, so that is all the last mixing needs to give. */
    dot(out, NULL, state, params->mds + 1, params->width, params->width);
}

void zk_poseidon_hash_tagged(zk_fr *out, const zk_poseidon_params *params, const zk_fr *tag, const zk_fr *in) {
    zk_poseidon_trace(out, NULL, params, tag, in);
}

void zk_poseidon_hash(zk_fr *out, const zk_poseidon_params *params, const zk_fr *in) {
    zk_poseidon_hash_tagged(out, params, &params->tree_tag, in);
}

void zk_poseidon_hash_plain(zk_fr *out, const zk_poseidon_params *params, const zk_fr *tag, const zk_fr *in) {
    zk_fr state[MAX_WIDTH], mixed[MAX_WIDTH], p, x2;
    unsigned t = params->width, half = params->full_rounds / 2, partial_end = half + params->partial_rounds;
    state[0] = *tag;
    memcpy(state + 1, in, params->arity * sizeof *in);
    for (unsigned k = 0; k < params->full_rounds + params->partial_rounds; k++) {
        unsigned n_sboxes = k < half || k >= partial_end ? t : 1;
        for (unsigned i = 0; i < t; i++) zk_fr_add(&state[i], &state[i], &params->round_constants[(size_t)k * t + i]);
        for (unsigned i = 0; i < n_sboxes; i++) {
            zk_fr_sqr(&x2, &state[i]);
            zk_fr_sqr(&x2, &x2);
            zk_fr_mul(&state[i], &state[i], &x2);
        }
        for (unsigned j = 0; j < t; j++) {
            mixed[j] = zk_fr_zero;
            for (unsigned i = 0; i < t; i++) {
                zk_fr_mul(&p, &state[i], &params->mds[i * t + j]);
                zk_fr_add(&mixed[j], &mixed[j], &p);
            }
        }
        memcpy(state, mixed, t * sizeof *state);
    }
    *out = state[1];
}
