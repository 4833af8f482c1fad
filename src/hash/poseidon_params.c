/* Constants of the Poseidon instances: Grain LFSR, Cauchy matrix, compressed constants, sparse factorisation. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "hash/poseidon.h"

/* Partial rounds for 128 bits of security, by width (RF is 8 for all); from the security inequalities with the
 * designers' margin. */
static unsigned partial_rounds_of(unsigned width) {
    return width <= 3    ? 55
           : width <= 7  ? 56
           : width <= 15 ? 57
           : width <= 31 ? 59
           : width <= 62 ? 60
                         : ZK_POSEIDON_MAX_PARTIAL_ROUNDS;
}

/* ---- Grain LFSR: the state's bit i is bits[(start + i) mod 80] ---- */
typedef struct grain {
    uint8_t bits[80];
    unsigned start;
} grain;

static unsigned grain_step(grain *g) {
    static const unsigned taps[6] = {62, 51, 38, 23, 13, 0};
    unsigned bit = 0;
    for (unsigned i = 0; i < 6; i++) bit ^= g->bits[(g->start + taps[i]) % 80];
    g->bits[g->start] = (uint8_t)bit;
    g->start = (g->start + 1) % 80;
    return bit;
}

static void grain_push(grain *g, unsigned *at, unsigned value, unsigned n_bits) {
    while (n_bits-- > 0) g->bits[(*at)++] = value >> n_bits & 1;
}

static void grain_init(grain *g, unsigned width, unsigned partial_rounds) {
    unsigned at = 0;
    g->start = 0;
    grain_push(g, &at, 1, 2); /* prime field */
    grain_push(g, &at, 1, 4); /* x^5 */
    grain_push(g, &at, 255, 12);
    grain_push(g, &at, width, 12);
    grain_push(g, &at, ZK_POSEIDON_FULL_ROUNDS, 10);
    grain_push(g, &at, partial_rounds, 10);
    grain_push(g, &at, (1u << 30) - 1, 30);
    for (unsigned i = 0; i < 160; i++) grain_step(g);
}

/* 255 output bits, the most significant first; values >= r are drawn anew. */
static void grain_element(zk_fr *r, grain *g) {
    uint8_t bytes[32];
    do {
        memset(bytes, 0, sizeof bytes);
        for (unsigned bit = 255; bit-- > 0;) {
            while (grain_step(g) == 0) grain_step(g);
            bytes[bit / 8] |= (uint8_t)(grain_step(g) << bit % 8);
        }
    } while (!zk_fr_from_bytes_le(r, bytes));
}

/* ---- Small dense linear algebra over Fr ---- */

/* Solves A X = B in place by Gauss-Jordan: A is n x n, B is n x m and becomes X. A must be invertible and is
 * destroyed. */
static void solve(zk_fr *a, zk_fr *b, unsigned n, unsigned m) {
    for (unsigned col = 0; col < n; col++) {
        unsigned pivot = col;
        while (zk_fr_is_zero(&a[pivot * n + col])) pivot++;
        for (unsigned j = 0; pivot != col && j < n; j++) {
            zk_fr t = a[pivot * n + j];
            a[pivot * n + j] = a[col * n + j], a[col * n + j] = t;
        }
        for (unsigned j = 0; pivot != col && j < m; j++) {
            zk_fr t = b[pivot * m + j];
            b[pivot * m + j] = b[col * m + j], b[col * m + j] = t;
        }
        zk_fr inverse;
        zk_fr_inv_var(&inverse, &a[col * n + col]);
        for (unsigned j = col; j < n; j++) zk_fr_mul(&a[col * n + j], &a[col * n + j], &inverse);
        for (unsigned j = 0; j < m; j++) zk_fr_mul(&b[col * m + j], &b[col * m + j], &inverse);
        for (unsigned i = 0; i < n; i++) {
            zk_fr factor = a[i * n + col], t;
            if (i == col || zk_fr_is_zero(&factor)) continue;
            for (unsigned j = col; j < n; j++) {
                zk_fr_mul(&t, &factor, &a[col * n + j]);
                zk_fr_sub(&a[i * n + j], &a[i * n + j], &t);
            }
            for (unsigned j = 0; j < m; j++) {
                zk_fr_mul(&t, &factor, &b[col * m + j]);
                zk_fr_sub(&b[i * m + j], &b[i * m + j], &t);
            }
        }
    }
}

/* out_j = sum_i v_i M[i][j]; out must not be v. */
static void vector_times_matrix(zk_fr *out, const zk_fr *v, const zk_fr *m, unsigned n) {
    for (unsigned j = 0; j < n; j++) {
        zk_fr sum = zk_fr_zero, t;
        for (unsigned i = 0; i < n; i++) {
            zk_fr_mul(&t, &v[i], &m[i * n + j]);
            zk_fr_add(&sum, &sum, &t);
        }
        out[j] = sum;
    }
}

static void make_mds(zk_fr *mds, unsigned width) {
    zk_fr inverse[2 * (ZK_POSEIDON_MAX_ARITY + 1)];
    for (unsigned k = 0; k < 2 * width - 1; k++) {
        zk_fr_from_u64(&inverse[k], width + k);
        zk_fr_inv_var(&inverse[k], &inverse[k]);
    }
    for (unsigned i = 0; i < width; i++)
        for (unsigned j = 0; j < width; j++) mds[i * width + j] = inverse[i + j];
}

/* Constants move backwards through the mixing before them; through a partial round only entries other than 0 pass, so
 * one constant a partial round stays behind. */
static void make_compressed(zk_fr *out, const zk_fr *rc, const zk_fr *mds_inverse, unsigned t, unsigned rf,
                            unsigned rp) {
    zk_fr acc[ZK_POSEIDON_MAX_ARITY + 1], moved[ZK_POSEIDON_MAX_ARITY + 1];
    unsigned half = rf / 2;
    zk_fr *partial = out + (half + 1) * t, *second_half = partial + rp;
    memcpy(out, rc, t * sizeof *out);
    for (unsigned k = 1; k < half; k++) vector_times_matrix(out + k * t, rc + k * t, mds_inverse, t);
    memcpy(acc, rc + (half + rp) * t, t * sizeof *acc);
    for (unsigned i = rp; i-- > 0;) {
        vector_times_matrix(moved, acc, mds_inverse, t);
        partial[i] = moved[0];
        acc[0] = rc[(half + i) * t];
        for (unsigned j = 1; j < t; j++) zk_fr_add(&acc[j], &moved[j], &rc[(half + i) * t + j]);
    }
    vector_times_matrix(out + half * t, acc, mds_inverse, t);
    for (unsigned k = 1; k < half; k++)
        vector_times_matrix(second_half + (k - 1) * t, rc + (half + rp + k) * t, mds_inverse, t);
}

/* Factors M = M' M'' from the last partial round backwards: M' is M with first row and column of the identity, M''
 * the sparse matrix; M' joins the mixing of the round before. scratch: t^2 elements. */
static void make_sparse(zk_fr *pre_sparse, zk_fr *w_hat, zk_fr *v_rest, const zk_fr *mds, unsigned t, unsigned rp,
                        zk_fr *m, zk_fr *scratch) {
    memcpy(m, mds, (size_t)t * t * sizeof *m);
    for (unsigned i = rp; i-- > 0;) {
        zk_fr *w = w_hat + i * t;
        for (unsigned r = 1; r < t; r++) {
            w[r] = m[r * t];
            memcpy(scratch + (r - 1) * (t - 1), m + r * t + 1, (t - 1) * sizeof *m);
        }
        w[0] = m[0];
        memcpy(v_rest + i * (t - 1), m + 1, (t - 1) * sizeof *m);
        solve(scratch, w + 1, t - 1, 1);
        /* m = mds * M' */
        memset(m, 0, t * sizeof *m);
        m[0] = zk_fr_one;
        for (unsigned r = 1; r < t; r++) m[r * t] = zk_fr_zero;
        for (unsigned r = 0; r < t; r++) vector_times_matrix(scratch + r * t, mds + r * t, m, t);
        memcpy(m, scratch, (size_t)t * t * sizeof *m);
    }
    memcpy(pre_sparse, m, (size_t)t * t * sizeof *m);
}

/* fast[i] = [w_hat_i[1 .. t-1], c_0 .. c_{l-1}, w_hat_i[0]] for round i = start + l of its block, with c_k the dot
 * product of w_hat_i and v_rest_{start + k}: how the S-box output of round start + k enters entry 0 after round i. */
static void make_fast(zk_fr *fast, const zk_fr *w_hat, const zk_fr *v_rest, unsigned t, unsigned rp) {
    for (unsigned i = 0; i < rp; i++, fast += t - 1 + ZK_POSEIDON_BLOCK) {
        unsigned start = i - i % ZK_POSEIDON_BLOCK;
        const zk_fr *w = w_hat + (size_t)i * t;
        memcpy(fast, w + 1, (t - 1) * sizeof *fast);
        for (unsigned k = start; k < i; k++) {
            zk_fr sum = zk_fr_zero, p;
            for (unsigned j = 1; j < t; j++) {
                zk_fr_mul(&p, &w[j], &v_rest[k * (t - 1) + j - 1]);
                zk_fr_add(&sum, &sum, &p);
            }
            fast[t - 1 + k - start] = sum;
        }
        fast[t - 1 + i - start] = w[0];
    }
}

static zk_poseidon_params *make_params(unsigned arity) {
    unsigned t = arity + 1, rf = ZK_POSEIDON_FULL_ROUNDS, rp = partial_rounds_of(t);
    size_t square = (size_t)t * t;
    size_t n = 5 * square + (size_t)(rf + rp) * t + (size_t)rf * t + rp + (size_t)rp * (2 * t - 1) +
               (size_t)rp * (t - 1 + ZK_POSEIDON_BLOCK);
    /* Not by zk_calloc: they are made once for the process, and callers that fail for want of them try again. */
    zk_poseidon_params *params = calloc(1, sizeof *params + n * sizeof(zk_fr));
    if (!params) return NULL;
    zk_fr *at = (zk_fr *)(params + 1);
    zk_fr *mds = at, *rc = mds + square, *compressed = rc + (size_t)(rf + rp) * t;
    zk_fr *pre_sparse = compressed + (size_t)rf * t + rp, *w_hat = pre_sparse + square;
    zk_fr *v_rest = w_hat + (size_t)rp * t, *fast = v_rest + (size_t)rp * (t - 1);
    zk_fr *inverse = fast + (size_t)rp * (t - 1 + ZK_POSEIDON_BLOCK), *scratch = inverse + square;
    grain g;

    params->arity = arity, params->width = t;
    params->full_rounds = rf, params->partial_rounds = rp;
    zk_fr two, exponent;
    zk_fr_from_u64(&two, 2);
    zk_fr_pow_u64(&exponent, &two, arity);
    zk_fr_sub(&params->tree_tag, &exponent, &zk_fr_one);
    params->mds = mds, params->round_constants = rc, params->compressed = compressed;
    params->pre_sparse = pre_sparse, params->w_hat = w_hat, params->v_rest = v_rest, params->fast = fast;

    make_mds(mds, t);
    grain_init(&g, t, rp);
    for (size_t i = 0; i < (size_t)(rf + rp) * t; i++) grain_element(&rc[i], &g);
    memcpy(scratch, mds, square * sizeof *mds);
    for (unsigned i = 0; i < t; i++) inverse[i * t + i] = zk_fr_one;
    solve(scratch, inverse, t, t);
    make_compressed(compressed, rc, inverse, t, rf, rp);
    make_sparse(pre_sparse, w_hat, v_rest, mds, t, rp, scratch, scratch + square);
    make_fast(fast, w_hat, v_rest, t, rp);
    return params;
}

static _Atomic(zk_poseidon_params *) instances[ZK_POSEIDON_MAX_ARITY + 1];

const zk_poseidon_params *zk_poseidon_get(unsigned arity) {
    if (arity < 1 || arity > ZK_POSEIDON_MAX_ARITY) return NULL;
    zk_poseidon_params *params = atomic_load_explicit(&instances[arity], memory_order_acquire);
    if (params) return params;
    /* Threads that race here make the same values; the first to store wins. */
    zk_poseidon_params *made = make_params(arity);
    if (!made) return NULL;
    if (!atomic_compare_exchange_strong(&instances[arity], &params, made)) {
        free(made);
        return params;
    }
    return made;
}
