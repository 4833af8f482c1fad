#include "pairing/tower.h"

const zk_fp6 zk_fp6_zero = {0};
const zk_fp6 zk_fp6_one = {.c0 = {.c0 = ZK_FP_ONE}};
const zk_fp12 zk_fp12_zero = {0};
const zk_fp12 zk_fp12_one = {.c0 = {.c0 = {.c0 = ZK_FP_ONE}}};

/* ---- Fp6 ---- */

void zk_fp6_add(zk_fp6 *r, const zk_fp6 *a, const zk_fp6 *b) {
    zk_fp2_add(&r->c0, &a->c0, &b->c0);
    zk_fp2_add(&r->c1, &a->c1, &b->c1);
    zk_fp2_add(&r->c2, &a->c2, &b->c2);
}

void zk_fp6_sub(zk_fp6 *r, const zk_fp6 *a, const zk_fp6 *b) {
    zk_fp2_sub(&r->c0, &a->c0, &b->c0);
    zk_fp2_sub(&r->c1, &a->c1, &b->c1);
    zk_fp2_sub(&r->c2, &a->c2, &b->c2);
}

void zk_fp6_neg(zk_fp6 *r, const zk_fp6 *a) {
    zk_fp2_neg(&r->c0, &a->c0);
    zk_fp2_neg(&r->c1, &a->c1);
    zk_fp2_neg(&r->c2, &a->c2);
}

void zk_fp6_double(zk_fp6 *r, const zk_fp6 *a) { zk_fp6_add(r, a, a); }

/* (a + b)(c + d) - s - t: the cross terms a d + b c, if s = a c and t = b d. */
static void cross(zk_fp2 *r, const zk_fp2 *a, const zk_fp2 *b, const zk_fp2 *c, const zk_fp2 *d, const zk_fp2 *s,
                  const zk_fp2 *t) {
    zk_fp2 x, y;
    zk_fp2_add(&x, a, b);
    zk_fp2_add(&y, c, d);
    zk_fp2_mul(&x, &x, &y);
    zk_fp2_sub(&x, &x, s);
    zk_fp2_sub(r, &x, t);
}

/* Karatsuba over three coefficients. */
void zk_fp6_mul(zk_fp6 *r, const zk_fp6 *a, const zk_fp6 *b) {
    zk_fp2 v0, v1, v2, x01, x02, x12;
    zk_fp2_mul(&v0, &a->c0, &b->c0);
    zk_fp2_mul(&v1, &a->c1, &b->c1);
    zk_fp2_mul(&v2, &a->c2, &b->c2);
    cross(&x01, &a->c0, &a->c1, &b->c0, &b->c1, &v0, &v1);
    cross(&x02, &a->c0, &a->c2, &b->c0, &b->c2, &v0, &v2);
    cross(&x12, &a->c1, &a->c2, &b->c1, &b->c2, &v1, &v2);
    zk_fp2_mul_xi(&x12, &x12);
    zk_fp2_add(&r->c0, &v0, &x12);
    zk_fp2_mul_xi(&v2, &v2);
    zk_fp2_add(&r->c1, &x01, &v2);
    zk_fp2_add(&r->c2, &x02, &v1);
}

/* Chung and Hasan's SQR2. */
void zk_fp6_sqr(zk_fp6 *r, const zk_fp6 *a) {
    zk_fp2 s0, s1, s2, s3, s4;
    zk_fp2_sqr(&s0, &a->c0);
    zk_fp2_mul(&s1, &a->c0, &a->c1);
    zk_fp2_double(&s1, &s1);
    zk_fp2_sub(&s2, &a->c0, &a->c1);
    zk_fp2_add(&s2, &s2, &a->c2);
    zk_fp2_sqr(&s2, &s2);
    zk_fp2_mul(&s3, &a->c1, &a->c2);
    zk_fp2_double(&s3, &s3);
    zk_fp2_sqr(&s4, &a->c2);
    zk_fp2_add(&s2, &s2, &s1);
    zk_fp2_add(&s2, &s2, &s3);
    zk_fp2_sub(&s2, &s2, &s0);
    zk_fp2_sub(&r->c2, &s2, &s4);
    zk_fp2_mul_xi(&s3, &s3);
    zk_fp2_add(&r->c0, &s0, &s3);
    zk_fp2_mul_xi(&s4, &s4);
    zk_fp2_add(&r->c1, &s1, &s4);
}

void zk_fp6_mul_v(zk_fp6 *r, const zk_fp6 *a) {
    zk_fp2 top = a->c2;
    r->c2 = a->c1;
    r->c1 = a->c0;
    zk_fp2_mul_xi(&r->c0, &top);
}

/* Times b0 + b1 v: 5M. */
static void fp6_mul_by_01(zk_fp6 *r, const zk_fp6 *a, const zk_fp2 *b0, const zk_fp2 *b1) {
    zk_fp2 v0, v1, x01, t;
    zk_fp2_mul(&v0, &a->c0, b0);
    zk_fp2_mul(&v1, &a->c1, b1);
    cross(&x01, &a->c0, &a->c1, b0, b1, &v0, &v1);
    zk_fp2_mul(&t, &a->c2, b1);
    zk_fp2_mul_xi(&t, &t);
    zk_fp2_mul(&r->c2, &a->c2, b0);
    zk_fp2_add(&r->c2, &r->c2, &v1);
    zk_fp2_add(&r->c0, &v0, &t);
    r->c1 = x01;
}

/* Times b1 v: 3M. */
static void fp6_mul_by_1(zk_fp6 *r, const zk_fp6 *a, const zk_fp2 *b1) {
    zk_fp2 t;
    zk_fp2_mul(&t, &a->c2, b1);
    zk_fp2_mul(&r->c2, &a->c1, b1);
    zk_fp2_mul(&r->c1, &a->c0, b1);
    zk_fp2_mul_xi(&r->c0, &t);
}

/* Times b1 v + b2 v^2: 5M. */
static void fp6_mul_by_12(zk_fp6 *r, const zk_fp6 *a, const zk_fp2 *b1, const zk_fp2 *b2) {
    zk_fp2 v1, v2, x12, t;
    zk_fp2_mul(&v1, &a->c1, b1);
    zk_fp2_mul(&v2, &a->c2, b2);
    cross(&x12, &a->c1, &a->c2, b1, b2, &v1, &v2);
    zk_fp2_mul(&t, &a->c0, b1);
    zk_fp2_mul(&r->c2, &a->c0, b2);
    zk_fp2_add(&r->c2, &r->c2, &v1);
    zk_fp2_mul_xi(&r->c0, &x12);
    zk_fp2_mul_xi(&v2, &v2);
    zk_fp2_add(&r->c1, &t, &v2);
}

/* By the adjugate: with A = a0^2 - xi a1 a2, B = xi a2^2 - a0 a1, C = a1^2 - a0 a2 the norm is a0 A + xi (a2 B + a1 C).
 */
bool zk_fp6_inv_var(zk_fp6 *r, const zk_fp6 *a) {
    zk_fp2 c0, c1, c2, norm, t;
    zk_fp2_sqr(&c0, &a->c0);
    zk_fp2_mul(&t, &a->c1, &a->c2);
    zk_fp2_mul_xi(&t, &t);
    zk_fp2_sub(&c0, &c0, &t);
    zk_fp2_sqr(&c1, &a->c2);
    zk_fp2_mul_xi(&c1, &c1);
    zk_fp2_mul(&t, &a->c0, &a->c1);
    zk_fp2_sub(&c1, &c1, &t);
    zk_fp2_sqr(&c2, &a->c1);
    zk_fp2_mul(&t, &a->c0, &a->c2);
    zk_fp2_sub(&c2, &c2, &t);
    zk_fp2_mul(&norm, &a->c2, &c1);
    zk_fp2_mul(&t, &a->c1, &c2);
    zk_fp2_add(&norm, &norm, &t);
    zk_fp2_mul_xi(&norm, &norm);
    zk_fp2_mul(&t, &a->c0, &c0);
    zk_fp2_add(&norm, &norm, &t);
    bool invertible = zk_fp2_inv_var(&norm, &norm);
    zk_fp2_mul(&r->c0, &c0, &norm);
    zk_fp2_mul(&r->c1, &c1, &norm);
    zk_fp2_mul(&r->c2, &c2, &norm);
    return invertible;
}

bool zk_fp6_is_zero(const zk_fp6 *a) {
    return zk_fp2_is_zero(&a->c0) && zk_fp2_is_zero(&a->c1) && zk_fp2_is_zero(&a->c2);
}

bool zk_fp6_eq(const zk_fp6 *a, const zk_fp6 *b) {
    return zk_fp2_eq(&a->c0, &b->c0) && zk_fp2_eq(&a->c1, &b->c1) && zk_fp2_eq(&a->c2, &b->c2);
}

/* ---- Fp12 ---- */

void zk_fp12_mul(zk_fp12 *r, const zk_fp12 *a, const zk_fp12 *b) {
    zk_fp6 v0, v1, s, t;
    zk_fp6_add(&s, &a->c0, &a->c1);
    zk_fp6_add(&t, &b->c0, &b->c1);
    zk_fp6_mul(&v0, &a->c0, &b->c0);
    zk_fp6_mul(&v1, &a->c1, &b->c1);
    zk_fp6_mul(&s, &s, &t);
    zk_fp6_sub(&s, &s, &v0);
    zk_fp6_sub(&r->c1, &s, &v1);
    zk_fp6_mul_v(&v1, &v1);
    zk_fp6_add(&r->c0, &v0, &v1);
}

/* (c0 + c1)(c0 + v c1) = c0^2 + v c1^2 + (1 + v) c0 c1 */
void zk_fp12_sqr(zk_fp12 *r, const zk_fp12 *a) {
    zk_fp6 product, s, t;
    zk_fp6_mul(&product, &a->c0, &a->c1);
    zk_fp6_add(&s, &a->c0, &a->c1);
    zk_fp6_mul_v(&t, &a->c1);
    zk_fp6_add(&t, &t, &a->c0);
    zk_fp6_mul(&s, &s, &t);
    zk_fp6_sub(&s, &s, &product);
    zk_fp6_mul_v(&t, &product);
    zk_fp6_sub(&r->c0, &s, &t);
    zk_fp6_double(&r->c1, &product);
}

void zk_fp12_conjugate(zk_fp12 *r, const zk_fp12 *a) {
    r->c0 = a->c0;
    zk_fp6_neg(&r->c1, &a->c1);
}

/* 1/(c0 + c1 w) = (c0 - c1 w)/(c0^2 - v c1^2) */
bool zk_fp12_inv_var(zk_fp12 *r, const zk_fp12 *a) {
    zk_fp6 norm, t;
    zk_fp6_sqr(&norm, &a->c0);
    zk_fp6_sqr(&t, &a->c1);
    zk_fp6_mul_v(&t, &t);
    zk_fp6_sub(&norm, &norm, &t);
    bool invertible = zk_fp6_inv_var(&norm, &norm);
    zk_fp6_mul(&r->c0, &a->c0, &norm);
    zk_fp6_mul(&r->c1, &a->c1, &norm);
    zk_fp6_neg(&r->c1, &r->c1);
    return invertible;
}

bool zk_fp12_is_one(const zk_fp12 *a) { return zk_fp12_eq(a, &zk_fp12_one); }

bool zk_fp12_eq(const zk_fp12 *a, const zk_fp12 *b) { return zk_fp6_eq(&a->c0, &b->c0) && zk_fp6_eq(&a->c1, &b->c1); }

/* (a + b s)^2 = r0 + r1 s in Fp4 = Fp2[s]/(s^2 - xi): 3S. */
static void fp4_sqr(zk_fp2 *r0, zk_fp2 *r1, const zk_fp2 *a, const zk_fp2 *b) {
    zk_fp2 a2, b2, t;
    zk_fp2_sqr(&a2, a);
    zk_fp2_sqr(&b2, b);
    zk_fp2_add(&t, a, b);
    zk_fp2_sqr(&t, &t);
    zk_fp2_sub(&t, &t, &a2);
    zk_fp2_sub(r1, &t, &b2);
    zk_fp2_mul_xi(&b2, &b2);
    zk_fp2_add(r0, &a2, &b2);
}

/* r = 3 t - 2 z */
static void three_minus_two(zk_fp2 *r, const zk_fp2 *t, const zk_fp2 *z) {
    zk_fp2 d;
    zk_fp2_sub(&d, t, z);
    zk_fp2_double(&d, &d);
    zk_fp2_add(r, &d, t);
}

/* r = 3 t + 2 z */
static void three_plus_two(zk_fp2 *r, const zk_fp2 *t, const zk_fp2 *z) {
    zk_fp2 d;
    zk_fp2_add(&d, t, z);
    zk_fp2_double(&d, &d);
    zk_fp2_add(r, &d, t);
}

void zk_fp12_cyclotomic_sqr(zk_fp12 *r, const zk_fp12 *a) {
    /* Fp12 as a cubic extension of Fp4, with pairs (c0.c0, c1.c1), (c1.c0, c0.c2), (c0.c1, c1.c2). */
    zk_fp2 t0, t1, t2, t3, t4, t5;
    fp4_sqr(&t0, &t1, &a->c0.c0, &a->c1.c1);
    fp4_sqr(&t2, &t3, &a->c1.c0, &a->c0.c2);
    fp4_sqr(&t4, &t5, &a->c0.c1, &a->c1.c2);
    zk_fp2_mul_xi(&t5, &t5);
    three_minus_two(&r->c0.c0, &t0, &a->c0.c0);
    three_minus_two(&r->c0.c1, &t2, &a->c0.c1);
    three_minus_two(&r->c0.c2, &t4, &a->c0.c2);
    three_plus_two(&r->c1.c0, &t5, &a->c1.c0);
    three_plus_two(&r->c1.c1, &t1, &a->c1.c1);
    three_plus_two(&r->c1.c2, &t3, &a->c1.c2);
}

/* ---- lines ---- */

void zk_fp12_mul_by_014(zk_fp12 *r, const zk_fp12 *a, const zk_fp2 *c0, const zk_fp2 *c1, const zk_fp2 *c4) {
    zk_fp6 v0, v1, s;
    zk_fp2 t;
    fp6_mul_by_01(&v0, &a->c0, c0, c1);
    fp6_mul_by_1(&v1, &a->c1, c4);
    zk_fp6_add(&s, &a->c0, &a->c1);
    zk_fp2_add(&t, c1, c4);
    fp6_mul_by_01(&s, &s, c0, &t);
    zk_fp6_sub(&s, &s, &v0);
    zk_fp6_sub(&r->c1, &s, &v1);
    zk_fp6_mul_v(&v1, &v1);
    zk_fp6_add(&r->c0, &v0, &v1);
}

void zk_fp12_mul_by_01_one(zk_fp12 *r, const zk_fp12 *a, const zk_fp2 *c0, const zk_fp2 *c1) {
    /* (f0 + f1 w)(A + v w) = f0 A + v^2 f1 + (f1 A + v f0) w: no Karatsuba, as v costs nothing. */
    zk_fp6 v0, v1, t;
    fp6_mul_by_01(&v0, &a->c0, c0, c1);
    fp6_mul_by_01(&v1, &a->c1, c0, c1);
    zk_fp6_mul_v(&t, &a->c0);
    zk_fp6_add(&v1, &v1, &t);
    zk_fp6_mul_v(&t, &a->c1);
    zk_fp6_mul_v(&t, &t);
    zk_fp6_add(&r->c0, &v0, &t);
    r->c1 = v1;
}

void zk_fp12_mul_by_two_lines(zk_fp12 *r, const zk_fp12 *a, const zk_fp2 l[2][3]) {
    /* The product: full first half, y v + z v^2 in the second. 6M. */
    const zk_fp2 *c = l[0], *d = l[1];
    zk_fp2 v0, v1, v4, y, z;
    zk_fp6 first, v, s, t;
    zk_fp2_mul(&v0, &c[0], &d[0]);
    zk_fp2_mul(&v1, &c[1], &d[1]);
    zk_fp2_mul(&v4, &c[2], &d[2]);
    cross(&first.c1, &c[0], &c[1], &d[0], &d[1], &v0, &v1);
    cross(&y, &c[0], &c[2], &d[0], &d[2], &v0, &v4);
    cross(&z, &c[1], &c[2], &d[1], &d[2], &v1, &v4);
    zk_fp2_mul_xi(&v4, &v4);
    zk_fp2_add(&first.c0, &v0, &v4);
    first.c2 = v1;
    /* Karatsuba with it: 6M + 5M + 6M. */
    zk_fp6_mul(&v, &a->c0, &first);
    fp6_mul_by_12(&t, &a->c1, &y, &z);
    zk_fp6_add(&s, &a->c0, &a->c1);
    zk_fp2_add(&first.c1, &first.c1, &y);
    zk_fp2_add(&first.c2, &first.c2, &z);
    zk_fp6_mul(&s, &s, &first);
    zk_fp6_sub(&s, &s, &v);
    zk_fp6_sub(&r->c1, &s, &t);
    zk_fp6_mul_v(&t, &t);
    zk_fp6_add(&r->c0, &v, &t);
}
