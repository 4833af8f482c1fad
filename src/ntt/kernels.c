#include "ntt/kernels.h"

/* The twiddle of block 0 is one: both kinds are (u, v) -> (u + v, u - v). */
static inline void butterflies_by_one(zk_fr *u, zk_fr *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        zk_fr t = v[i];
        zk_fr_sub(&v[i], &u[i], &t);
        zk_fr_add(&u[i], &u[i], &t);
    }
}

void zk_ntt_tile_split(zk_fr *tile, size_t n_columns, const zk_fr *const *zeta, unsigned n_levels) {
    for (unsigned level = 0; level < n_levels; level++) {
        size_t half = n_columns << (n_levels - 1 - level);
        for (size_t b = 0; b < (size_t)1 << level; b++) {
            zk_fr *u = tile + 2 * half * b, *v = u + half;
            zk_fr twiddle = zeta[level][b];
            if (zk_fr_is_one(&twiddle)) {
                butterflies_by_one(u, v, half);
            } else {
                for (size_t i = 0; i < half; i++) {
                    zk_fr t;
                    zk_fr_mul(&t, &v[i], &twiddle);
                    zk_fr_sub(&v[i], &u[i], &t);
                    zk_fr_add(&u[i], &u[i], &t);
                }
            }
        }
    }
}

void zk_ntt_tile_merge(zk_fr *tile, size_t n_columns, const zk_fr *const *zeta, unsigned n_levels) {
    for (unsigned level = n_levels; level-- > 0;) {
        size_t half = n_columns << (n_levels - 1 - level);
        for (size_t b = 0; b < (size_t)1 << level; b++) {
            zk_fr *u = tile + 2 * half * b, *v = u + half;
            zk_fr twiddle = zeta[level][b];
            if (zk_fr_is_one(&twiddle)) {
                butterflies_by_one(u, v, half);
            } else {
                for (size_t i = 0; i < half; i++) {
                    zk_fr t;
                    zk_fr_sub(&t, &u[i], &v[i]);
                    zk_fr_add(&u[i], &u[i], &v[i]);
                    zk_fr_mul(&v[i], &t, &twiddle);
                }
            }
        }
    }
}

void zk_ntt_scale(zk_fr *r, const zk_fr *x, size_t n, const zk_fr *s) {
    for (size_t i = 0; i < n; i++) zk_fr_mul(&r[i], &x[i], s);
}

void zk_ntt_mul(zk_fr *r, const zk_fr *x, const zk_fr *y, size_t n) {
    for (size_t i = 0; i < n; i++) zk_fr_mul(&r[i], &x[i], &y[i]);
}

void zk_ntt_sub_scaled(zk_fr *r, const zk_fr *x, size_t n, const zk_fr *s) {
    for (size_t i = 0; i < n; i++) {
        zk_fr t;
        zk_fr_mul(&t, &x[i], s);
        zk_fr_sub(&r[i], &r[i], &t);
    }
}
