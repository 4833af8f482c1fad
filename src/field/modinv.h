/* Modular inversion by Bernstein and Yang's division steps ("Fast constant-time gcd computation and modular inversion",
 * 2019), in the variable-time form of Wuille's note for 64-bit machines: batches of 62 steps work on the low words
 * alone and give a 2x2 matrix, which is then applied to the full numbers; trailing zeros are skipped at once and up to
 * six bits of g are cancelled per step.
 *
 * Numbers are signed, in limbs of 62 bits (all but the top one in [0, 2^62)), N of them: always inlined with constant
 * N.
 */
#ifndef ZK_FIELD_MODINV_H
#define ZK_FIELD_MODINV_H

#include "field/limb.h"

#define ZK_MODINV_MAX_LIMBS 7
#define ZK_MODINV_MASK ((1ull << 62) - 1)

/* (f, g) * 2^62 -> (u f + v g, q f + r g) */
typedef struct zk_modinv_matrix {
    int64_t u, v, q, r;
} zk_modinv_matrix;

/* 62 division steps, for which the low 62 bits of f (odd) and g suffice; eta = -delta. Returns the new eta. */
ZK_INLINE int64_t zk_modinv_steps(zk_modinv_matrix *m, int64_t eta, uint64_t f, uint64_t g) {
    uint64_t u = 1, v = 0, q = 0, r = 1;
    int left = 62;
    for (;;) {
        int zeros = __builtin_ctzll(g | ~0ull << left);
        g >>= zeros;
        u <<= zeros;
        v <<= zeros;
        eta -= zeros;
        left -= zeros;
        if (left == 0) break;
        uint64_t w;
        if (eta < 0) {
            uint64_t t;
            eta = -eta;
            t = f, f = g, g = 0 - t;
            t = u, u = q, q = 0 - t;
            t = v, v = r, r = 0 - t;
            /* Cancel up to six bits: -g/f mod 64, as f (f^2 - 2) = -1/f mod 64. */
            int limit = eta + 1 > left ? left : (int)eta + 1;
            w = f * g * (f * f - 2) & ~0ull >> (64 - limit) & 63;
        } else {
            /* Here eta is small as a rule: four bits, f + (((f + 1) & 4) << 1) = 1/f mod 16. */
            int limit = eta + 1 > left ? left : (int)eta + 1;
            w = (0 - (f + (((f + 1) & 4) << 1))) * g & ~0ull >> (64 - limit) & 15;
        }
        g += f * w;
        q += u * w;
        r += v * w;
    }
    *m = (zk_modinv_matrix){(int64_t)u, (int64_t)v, (int64_t)q, (int64_t)r};
    return eta;
}

/* (f, g) = M (f, g) / 2^62 over `len` limbs; exact. */
ZK_INLINE void zk_modinv_update_fg(int64_t *f, int64_t *g, const zk_modinv_matrix *m, int len) {
    zk_i128 cf = (zk_i128)m->u * f[0] + (zk_i128)m->v * g[0], cg = (zk_i128)m->q * f[0] + (zk_i128)m->r * g[0];
    cf >>= 62;
    cg >>= 62;
    for (int i = 1; i < len; i++) {
        cf += (zk_i128)m->u * f[i] + (zk_i128)m->v * g[i];
        cg += (zk_i128)m->q * f[i] + (zk_i128)m->r * g[i];
        f[i - 1] = (int64_t)((uint64_t)cf & ZK_MODINV_MASK);
        g[i - 1] = (int64_t)((uint64_t)cg & ZK_MODINV_MASK);
        cf >>= 62;
        cg >>= 62;
    }
    f[len - 1] = (int64_t)cf;
    g[len - 1] = (int64_t)cg;
}

/* (d, e) = M (d, e) / 2^62 mod p; both stay in (-2p, p). p_inv = 1/p mod 2^62. */
ZK_INLINE void zk_modinv_update_de(int64_t *d, int64_t *e, const zk_modinv_matrix *m, const int64_t *p, uint64_t p_inv,
                                   const int n) {
    const int64_t u = m->u, v = m->v, q = m->q, r = m->r;
    /* Add p where d or e is negative, and the multiple of p that makes the low 62 bits zero. */
    int64_t sign_d = d[n - 1] >> 63, sign_e = e[n - 1] >> 63;
    int64_t md = (u & sign_d) + (v & sign_e), me = (q & sign_d) + (r & sign_e);
    zk_i128 cd = (zk_i128)u * d[0] + (zk_i128)v * e[0], ce = (zk_i128)q * d[0] + (zk_i128)r * e[0];
    md -= (int64_t)((p_inv * (uint64_t)cd + (uint64_t)md) & ZK_MODINV_MASK);
    me -= (int64_t)((p_inv * (uint64_t)ce + (uint64_t)me) & ZK_MODINV_MASK);
    cd += (zk_i128)p[0] * md;
    ce += (zk_i128)p[0] * me;
    cd >>= 62;
    ce >>= 62;
    ZK_UNROLL for (int i = 1; i < n; i++) {
        cd += (zk_i128)u * d[i] + (zk_i128)v * e[i] + (zk_i128)p[i] * md;
        ce += (zk_i128)q * d[i] + (zk_i128)r * e[i] + (zk_i128)p[i] * me;
        d[i - 1] = (int64_t)((uint64_t)cd & ZK_MODINV_MASK);
        e[i - 1] = (int64_t)((uint64_t)ce & ZK_MODINV_MASK);
        cd >>= 62;
        ce >>= 62;
    }
    d[n - 1] = (int64_t)cd;
    e[n - 1] = (int64_t)ce;
}

/* d = (d < 0 ? d + p : d) after an optional negation; d in (-2p, p) becomes [0, p). */
ZK_INLINE void zk_modinv_normalize(int64_t *d, bool negate, const int64_t *p, const int n) {
    for (int pass = 0; pass < 2; pass++) {
        int64_t add = d[n - 1] >> 63, carry = 0, flip = pass == 0 && negate ? -1 : 0;
        ZK_UNROLL for (int i = 0; i < n; i++) {
            int64_t x = d[i] + (p[i] & add);
            x = ((x ^ flip) - flip) + carry;
            carry = x >> 62;
            d[i] = i < n - 1 ? (int64_t)((uint64_t)x & ZK_MODINV_MASK) : x;
        }
    }
}

ZK_INLINE void zk_modinv_pack(int64_t *r, const uint64_t *a, const int n_limbs, const int n) {
    for (int i = 0; i < n; i++) {
        int bit = 62 * i, word = bit / 64, shift = bit % 64;
        uint64_t x = word < n_limbs ? a[word] >> shift : 0;
        if (shift > 2 && word + 1 < n_limbs) x |= a[word + 1] << (64 - shift);
        r[i] = (int64_t)(x & ZK_MODINV_MASK);
    }
}

ZK_INLINE void zk_modinv_unpack(uint64_t *r, const int64_t *a, const int n_limbs, const int n) {
    for (int i = 0; i < n_limbs; i++) {
        int limb = 64 * i / 62, shift = 64 * i % 62;
        r[i] = (uint64_t)a[limb] >> shift;
        if (limb + 1 < n) r[i] |= (uint64_t)a[limb + 1] << (62 - shift);
    }
}

/* r = scale / a mod p for 0 < a < p, all as plain 64-bit limbs; p odd prime, scale < p. p62: p in 62-bit limbs.
 * With scale = R^2 this maps Montgomery form to Montgomery form. */
ZK_INLINE void zk_modinv_var(uint64_t *r, const uint64_t *a, const uint64_t *scale, const int64_t *p62,
                             uint64_t p_inv62, const int n_limbs, const int n) {
    int64_t f[ZK_MODINV_MAX_LIMBS], g[ZK_MODINV_MAX_LIMBS], d[ZK_MODINV_MAX_LIMBS] = {0}, e[ZK_MODINV_MAX_LIMBS];
    for (int i = 0; i < n; i++) f[i] = p62[i];
    zk_modinv_pack(g, a, n_limbs, n);
    zk_modinv_pack(e, scale, n_limbs, n);
    int64_t eta = -1;
    int len = n;
    for (;;) {
        zk_modinv_matrix m;
        eta = zk_modinv_steps(&m, eta, (uint64_t)f[0], (uint64_t)g[0]);
        zk_modinv_update_de(d, e, &m, p62, p_inv62, n);
        zk_modinv_update_fg(f, g, &m, len);
        int64_t any = 0;
        for (int i = 0; i < len; i++) any |= g[i];
        if (any == 0) break;
        /* Drop the top limb when it is only a sign in both numbers. */
        int64_t f_top = f[len - 1], g_top = g[len - 1];
        if (len > 1 && (f_top == 0 || f_top == -1) && (g_top == 0 || g_top == -1)) {
            f[len - 2] |= (int64_t)((uint64_t)f_top << 62);
            g[len - 2] |= (int64_t)((uint64_t)g_top << 62);
            len--;
        }
    }
    /* f is now +1 or -1, and d f = scale / a. */
    zk_modinv_normalize(d, f[len - 1] < 0, p62, n);
    zk_modinv_unpack(r, d, n_limbs, n);
}

#endif
