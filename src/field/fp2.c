#include "field/fp.h"
#include "field/sqrt.h"
#include "field/variants.h"

const zk_fp2 zk_fp2_zero = {{{0}}, {{0}}};
const zk_fp2 zk_fp2_one = {ZK_FP_ONE, {{0}}};

/* Karatsuba: 3M. */
void zk_fp2_mul_portable(zk_fp2 *r, const zk_fp2 *a, const zk_fp2 *b) {
    zk_fp v0, v1, sum_a, sum_b;
    zk_fp_add(&sum_a, &a->c0, &a->c1);
    zk_fp_add(&sum_b, &b->c0, &b->c1);
    zk_fp_mul_portable(&v0, &a->c0, &b->c0);
    zk_fp_mul_portable(&v1, &a->c1, &b->c1);
    zk_fp_mul_portable(&sum_a, &sum_a, &sum_b);
    zk_fp_sub(&r->c0, &v0, &v1);
    zk_fp_sub(&sum_a, &sum_a, &v0);
    zk_fp_sub(&r->c1, &sum_a, &v1);
}

/* (c0 + c1)(c0 - c1) + 2 c0 c1 u: 2M. */
void zk_fp2_sqr_portable(zk_fp2 *r, const zk_fp2 *a) {
    zk_fp sum, difference, twice;
    zk_fp_add(&sum, &a->c0, &a->c1);
    zk_fp_sub(&difference, &a->c0, &a->c1);
    zk_fp_double(&twice, &a->c0);
    zk_fp_mul_portable(&r->c1, &twice, &a->c1);
    zk_fp_mul_portable(&r->c0, &sum, &difference);
}

/* 1/(c0 + c1 u) = (c0 - c1 u)/(c0^2 + c1^2) */
bool zk_fp2_inv_var(zk_fp2 *r, const zk_fp2 *a) {
    zk_fp norm, square;
    zk_fp_sqr(&norm, &a->c0);
    zk_fp_sqr(&square, &a->c1);
    zk_fp_add(&norm, &norm, &square);
    /* -1 is no square mod p, so the norm vanishes only for zero. */
    bool invertible = zk_fp_inv_var(&norm, &norm);
    zk_fp_mul(&r->c0, &a->c0, &norm);
    zk_fp_mul(&r->c1, &a->c1, &norm);
    zk_fp_neg(&r->c1, &r->c1);
    return invertible;
}

#define FE zk_fp2
#define FE_(name) zk_fp2_##name
#include "field/batch_inv.inc"

const uint64_t zk_fp_inverse_sqrt_exponent[6] = {0xee7fbfffffffeaaa, 0x07aaffffac54ffff, 0xd9cc34a83dac3d89,
                                                 0xd91dd2e13ce144af, 0x92c6e9ed90d2eb35, 0x0680447a8e5ff9a6};

void zk_fp2_sqrt_norm(zk_fp *norm, const zk_fp2 *a) {
    zk_fp t;
    zk_fp_sqr(norm, &a->c0);
    zk_fp_sqr(&t, &a->c1);
    zk_fp_add(norm, norm, &t);
}

void zk_fp2_sqrt_half(zk_fp *d, const zk_fp2 *a, const zk_fp *norm_root) {
    zk_fp_add(d, &a->c0, norm_root);
    zk_fp_halve(d, d);
}

void zk_fp2_sqrt_finish(zk_fp2 *r, const zk_fp2 *a, const zk_fp *d, const zk_fp *power) {
    zk_fp x, y, t;
    zk_fp2 root;
    zk_fp_mul(&x, d, power); /* d w^2 = x w = 1: x^2 = d, w = 1/x;  x w = -1: x^2 = -d, w = -1/x */
    zk_fp_halve(&y, &a->c1);
    zk_fp_mul(&y, &y, power);
    zk_fp_mul(&t, &x, power);
    if (zk_fp_is_one(&t)) {
        root = (zk_fp2){x, y};
    } else {
        /* y^2 = c1^2/(4 x^2) = -c1^2/(4d) = d', and y x' = c1/2 for x' = -x. */
        root.c0 = y;
        zk_fp_neg(&root.c1, &x);
    }
    if (zk_fp2_is_lexicographically_largest(&root)) zk_fp2_neg(&root, &root);
    *r = root;
}

static bool complex_sqrt(zk_fp2 *r, const zk_fp2 *a) {
    zk_fp norm, t, d, w;
    zk_fp2_sqrt_norm(&norm, a);
    if (!zk_fp_sqrt_var(&t, &norm)) return false; /* a is a square in Fp2 exactly if its norm is one in Fp */
    zk_fp2_sqrt_half(&d, a, &t);
    zk_fp_pow_var(&w, &d, zk_fp_inverse_sqrt_exponent, 6);
    zk_fp2_sqrt_finish(r, a, &d, &w);
    return true;
}

bool zk_fp2_sqrt_var(zk_fp2 *r, const zk_fp2 *a) {
    if (!zk_fp_is_zero(&a->c1)) return complex_sqrt(r, a);
    /* Every element of Fp is a square in Fp2: of x or of x u. */
    zk_fp2 root = zk_fp2_zero;
    zk_fp minus;
    zk_fp_neg(&minus, &a->c0);
    if (!zk_fp_sqrt_var(&root.c0, &a->c0) && !zk_fp_sqrt_var(&root.c1, &minus)) return false;
    if (zk_fp2_is_lexicographically_largest(&root)) zk_fp2_neg(&root, &root);
    *r = root;
    return true;
}

bool zk_fp2_is_lexicographically_largest(const zk_fp2 *a) {
    return zk_fp_is_lexicographically_largest(zk_fp_is_zero(&a->c1) ? &a->c0 : &a->c1);
}
