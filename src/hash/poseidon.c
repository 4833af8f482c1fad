#include "hash/poseidon.h"

#include <string.h>

#include "field/cpu.h"
#include "field/limb.h"

/* The hot loops are sums of products: products are added up unreduced in nine limbs and reduced once. Everything below
 * is always inlined into the two entry points at the end, one of them compiled for BMI2 and ADX. */

#define MAX_WIDTH (ZK_POSEIDON_MAX_ARITY + 1)
#define NEG_INV 0xfffffffeffffffffu /* -1/r mod 2^64 */

/* Sum of at most 2 MAX_WIDTH products of reduced elements: below 2^7 r^2 < 2^517. */
typedef struct wide {
    uint64_t l[9];
} wide;

static const uint64_t modulus[4] = {0xffffffff00000001u, 0x53bda402fffe5bfeu, 0x3339d80809a1d805u, 0x73eda753299d7d48u};

ZK_INLINE void mul(zk_fr *r, const zk_fr *a, const zk_fr *b) {
    zk_limbs_mont_mul(r->l, a->l, b->l, modulus, NEG_INV, 4);
}

ZK_INLINE void add(zk_fr *r, const zk_fr *a, const zk_fr *b) { zk_limbs_add_mod(r->l, a->l, b->l, modulus, 4); }

/* acc += a b */
ZK_INLINE void wide_mul_add(wide *acc, const zk_fr *a, const zk_fr *b) {
    uint64_t t[8];
    unsigned char carry = 0;
    zk_limbs_mul_wide(t, a->l, b->l, 4);
    ZK_UNROLL for (int i = 0; i < 8; i++) carry = zk_adc(carry, acc->l[i], t[i], &acc->l[i]);
    acc->l[8] += carry;
}

/* r = acc / 2^256 mod r. */
ZK_INLINE void wide_reduce(zk_fr *r, wide *acc) {
    uint64_t *t = acc->l, top = 0;
    ZK_UNROLL for (int i = 0; i < 4; i++) {
        uint64_t m = t[i] * NEG_INV, carry = 0;
        ZK_UNROLL for (int j = 0; j < 4; j++) t[i + j] = zk_mac(t[i + j], m, modulus[j], &carry);
        top = zk_adc((unsigned char)top, t[i + 4], carry, &t[i + 4]);
    }
    t[8] += top;
    /* v = t[4..8] < 2^7 r, so v >> 248 < 2^14. 116 = ceil(r / 2^248) makes q at most v / r, and short of it by less
     * than 1.1: one conditional subtraction is left. */
    uint64_t q = (t[8] << 8 | t[7] >> 56) / 116, borrow_mul = 0, v[4];
    unsigned char borrow = 0;
    ZK_UNROLL for (int i = 0; i < 4; i++) {
        uint64_t qr = zk_mac(0, q, modulus[i], &borrow_mul);
        borrow = zk_sbb(borrow, t[4 + i], qr, &v[i]);
    }
    zk_limbs_reduce_once(r->l, v, modulus, 4);
}

ZK_INLINE void pow5(zk_fr *r, const zk_fr *x) {
    zk_fr x2, x4;
    mul(&x2, x, x);
    mul(&x4, &x2, &x2);
    mul(r, &x4, x);
}

ZK_INLINE void mix(zk_fr *state, const zk_fr *m, unsigned t) {
    zk_fr out[MAX_WIDTH];
    for (unsigned j = 0; j < t; j++) {
        wide acc = {{0}};
        for (unsigned i = 0; i < t; i++) wide_mul_add(&acc, &state[i], &m[i * t + j]);
        wide_reduce(&out[j], &acc);
    }
    memcpy(state, out, t * sizeof *state);
}

/* Partial rounds in blocks. Within a block the entries other than 0 stay as they were at its start: what round l would
 * have added to them, x_l v_rest_l, reaches entry 0 of a later round i through carry_over[i][l], the dot product of
 * v_rest_l with w_hat_i. A block costs one reduction a round and one an entry, instead of one for each product. */
ZK_INLINE void partial_rounds(zk_fr *state, const zk_poseidon_params *params, const zk_fr *keys, unsigned t) {
    zk_fr x[ZK_POSEIDON_BLOCK];
    for (unsigned start = 0; start < params->partial_rounds; start += ZK_POSEIDON_BLOCK) {
        unsigned n = params->partial_rounds - start;
        if (n > ZK_POSEIDON_BLOCK) n = ZK_POSEIDON_BLOCK;
        for (unsigned i = 0; i < n; i++) {
            const zk_fr *w = params->w_hat + (size_t)(start + i) * t;
            const zk_fr *c = params->carry_over + (size_t)(start + i) * ZK_POSEIDON_BLOCK;
            wide acc = {{0}};
            for (unsigned j = 1; j < t; j++) wide_mul_add(&acc, &state[j], &w[j]);
            for (unsigned k = 0; k < i; k++) wide_mul_add(&acc, &x[k], &c[k]);
            pow5(&x[i], &state[0]);
            add(&x[i], &x[i], &keys[start + i]);
            wide_mul_add(&acc, &x[i], &w[0]);
            wide_reduce(&state[0], &acc);
        }
        for (unsigned j = 1; j < t; j++) {
            wide acc = {{0}}; /* starts as state[j] 2^256, which reduces to state[j] */
            for (unsigned i = 0; i < 4; i++) acc.l[4 + i] = state[j].l[i];
            for (unsigned k = 0; k < n; k++)
                wide_mul_add(&acc, &x[k], &params->v_rest[(size_t)(start + k) * (t - 1) + j - 1]);
            wide_reduce(&state[j], &acc);
        }
    }
}

ZK_INLINE void permute_inline(zk_fr *state, const zk_poseidon_params *params, const unsigned t) {
    const zk_fr *key = params->compressed;
    unsigned half = params->full_rounds / 2;
    for (unsigned i = 0; i < t; i++) add(&state[i], &state[i], &key[i]);
    key += t;
    for (unsigned k = 0; k < half; k++, key += t) {
        for (unsigned i = 0; i < t; i++) {
            pow5(&state[i], &state[i]);
            add(&state[i], &state[i], &key[i]);
        }
        mix(state, k + 1 < half ? params->mds : params->pre_sparse, t);
    }
    partial_rounds(state, params, key, t);
    key += params->partial_rounds;
    for (unsigned k = 0; k < half; k++, key += t) {
        for (unsigned i = 0; i < t; i++) {
            pow5(&state[i], &state[i]);
            if (k + 1 < half) add(&state[i], &state[i], &key[i]);
        }
        mix(state, params->mds, t);
    }
}

static void permute_portable(zk_fr *state, const zk_poseidon_params *params) {
    permute_inline(state, params, params->width);
}

#if defined(__x86_64__)
__attribute__((target("bmi2,adx"))) static void permute_adx(zk_fr *state, const zk_poseidon_params *params) {
    permute_inline(state, params, params->width);
}
#endif

void zk_poseidon_permute(zk_fr *state, const zk_poseidon_params *params) {
#if defined(__x86_64__)
    const zk_cpu_features *cpu = zk_cpu_get_features();
    if (cpu->bmi2 && cpu->adx && zk_cpu_get_limit() >= ZK_CPU_ADX) {
        permute_adx(state, params);
        return;
    }
#endif
    permute_portable(state, params);
}

unsigned zk_poseidon_n_sboxes(const zk_poseidon_params *params) {
    return params->full_rounds * params->width + params->partial_rounds;
}

void zk_poseidon_hash_tagged(zk_fr *out, const zk_poseidon_params *params, const zk_fr *tag, const zk_fr *in) {
    zk_fr state[MAX_WIDTH];
    state[0] = *tag;
    memcpy(state + 1, in, params->arity * sizeof *in);
    zk_poseidon_permute(state, params);
    *out = state[1];
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

static void sbox_record(zk_fr *state, zk_poseidon_sbox *s, const zk_fr *key) {
    s->x = *state;
    mul(&s->x2, &s->x, &s->x);
    mul(&s->x4, &s->x2, &s->x2);
    mul(&s->y, &s->x4, &s->x);
    if (key) add(&s->y, &s->y, key);
    *state = s->y;
}

static void mix_sparse(zk_fr *state, const zk_fr *w_hat, const zk_fr *v_rest, unsigned t) {
    zk_fr s0 = state[0], p;
    wide acc = {{0}};
    for (unsigned i = 0; i < t; i++) wide_mul_add(&acc, &state[i], &w_hat[i]);
    for (unsigned j = 1; j < t; j++) {
        mul(&p, &s0, &v_rest[j - 1]);
        add(&state[j], &state[j], &p);
    }
    wide_reduce(&state[0], &acc);
}

void zk_poseidon_trace(zk_fr *out, zk_poseidon_sbox *sboxes, const zk_poseidon_params *params, const zk_fr *tag,
                       const zk_fr *in) {
    zk_fr state[MAX_WIDTH];
    const zk_fr *key = params->compressed;
    unsigned t = params->width, half = params->full_rounds / 2;
    state[0] = *tag;
    memcpy(state + 1, in, params->arity * sizeof *in);
    for (unsigned i = 0; i < t; i++) add(&state[i], &state[i], key++);
    for (unsigned k = 0; k < half; k++) {
        for (unsigned i = 0; i < t; i++) sbox_record(&state[i], sboxes++, key++);
        mix(state, k + 1 < half ? params->mds : params->pre_sparse, t);
    }
    for (unsigned k = 0; k < params->partial_rounds; k++) {
        sbox_record(&state[0], sboxes++, key++);
        mix_sparse(state, params->w_hat + (size_t)k * t, params->v_rest + (size_t)k * (t - 1), t);
    }
    for (unsigned k = 0; k < half; k++) {
        for (unsigned i = 0; i < t; i++) sbox_record(&state[i], sboxes++, k + 1 < half ? key++ : NULL);
        mix(state, params->mds, t);
    }
    *out = state[1];
}
