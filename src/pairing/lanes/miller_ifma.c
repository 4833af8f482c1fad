/* Miller loops in AVX-512 and IFMA, eight pairs at a time. Each lane walks its own Q and keeps its own value f, the
 * product of the values of the lanes of all vectors that share it. Formulas are those of pairing/pairing.c and
 * pairing/tower.c, all scaled so that nothing is halved.
 *
 * Magnitudes (field/fp52x8.h) stand beside what is not below 2.3p, as products are; products may have factors of up to
 * 2^15 p, squares of up to 2^7 p.
 */
#include "pairing/lanes/lanes.h"

#include "field/fp2_52x8.h"
#include "pairing/tower.h"

#define N_DOUBLINGS 63
#define VECS_MOST (ZK_MILLER_LANES_MOST / 8)

typedef zk_fp2_52x8 fe2;
typedef struct fe6 {
    fe2 c0, c1, c2;
} fe6;
typedef struct fe12 {
    fe6 c0, c1;
} fe12;

#define mul zk_fp2_52x8_mul
#define sqr zk_fp2_52x8_sqr

ZK_LANES_FN void add(fe2 *r, const fe2 *a, const fe2 *b) {
    fe2 t;
    zk_fp2_52x8_add_loose(&t, a, b);
    zk_fp2_52x8_carry(r, &t);
}
/* a - b + 2^k p */
ZK_INLINE void sub(fe2 *r, const fe2 *a, const fe2 *b, const int k) {
    fe2 t;
    zk_fp2_52x8_sub_shifted(&t, a, b, k);
    zk_fp2_52x8_carry(r, &t);
}
/* a (1 + u); 2^k at least the magnitude of a, which grows to itself and 2^k. */
ZK_INLINE void mul_xi(fe2 *r, const fe2 *a, const int k) {
    fe2 t;
    zk_fp52x8_sub_shifted(&t.c0, &a->c0, &a->c1, k);
    zk_fp52x8_add_loose(&t.c1, &a->c0, &a->c1);
    zk_fp2_52x8_carry(r, &t);
}

/* ---- lines ---- */

/* c0 + c1 v + c4 v w */
typedef struct line {
    fe2 c[3];
} line;

/* x, y, z: homogeneous, x, z below 19p, y below 18p. px, py, and 2p - py of P. */
typedef struct walker {
    fe2 x, y, z, qx, qy;
    zk_fp52x8 px, py, minus_py;
    __mmask8 lanes; /* that have a pair */
} walker;

/* With b = y^2, e = 3 b' z^2, f = 3 e: x' = 2 x y (b - f), y' = (b + f)^2 - 12 e^2, z' = 8 b y z;
 * the line is e - b, 3 x^2, -2 y z. */
static void double_step(line *l, walker *t) {
    fe2 xy, yz, b, e, f, s;
    mul(&xy, &t->x, &t->y);
    mul(&yz, &t->y, &t->z);
    sqr(&b, &t->y);
    sqr(&e, &t->z);    /* 1.3 */
    mul_xi(&e, &e, 1); /* 3.3 */
    zk_fp2_52x8_shift_loose(&s, &e, 2);
    zk_fp2_52x8_shift_loose(&e, &e, 3);
    add(&e, &e, &s); /* 40 */
    zk_fp2_52x8_shift_loose(&f, &e, 1);
    add(&f, &f, &e); /* 120 */
    sub(&l->c[0], &e, &b, 1);
    sqr(&s, &t->x);
    zk_fp2_52x8_shift_loose(&l->c[1], &s, 1);
    add(&l->c[1], &l->c[1], &s); /* 4 */
    zk_fp2_52x8_mul_fp(&l->c[1], &l->c[1], &t->px);
    zk_fp2_52x8_shift_loose(&l->c[2], &yz, 1);
    zk_fp2_52x8_carry(&l->c[2], &l->c[2]);
    zk_fp2_52x8_mul_fp(&l->c[2], &l->c[2], &t->minus_py);
    sub(&s, &b, &f, 7);
    mul(&xy, &xy, &s);
    zk_fp2_52x8_shift_loose(&s, &xy, 1);
    zk_fp2_52x8_carry(&t->x, &s); /* 4.6 */
    mul(&yz, &yz, &b);
    zk_fp2_52x8_shift_loose(&s, &yz, 3);
    zk_fp2_52x8_carry(&t->z, &s); /* 18.4 */
    add(&f, &f, &b);              /* 122 */
    sqr(&f, &f);
    sqr(&e, &e);
    zk_fp2_52x8_shift_loose(&s, &e, 2);
    zk_fp2_52x8_shift_loose(&e, &e, 3);
    zk_fp2_52x8_add_loose(&e, &e, &s); /* 15.2 */
    sub(&t->y, &f, &e, 4);
}

/* theta = y - qy z, lambda = x - qx z; the line is theta qx - lambda qy, -theta, lambda. */
static void add_step(line *l, walker *t) {
    fe2 theta, lambda, c, d, e, f, g, h, s;
    mul(&s, &t->qy, &t->z);
    sub(&theta, &t->y, &s, 2); /* 22 */
    mul(&s, &t->qx, &t->z);
    sub(&lambda, &t->x, &s, 2); /* 9 */
    mul(&l->c[0], &theta, &t->qx);
    mul(&s, &lambda, &t->qy);
    sub(&l->c[0], &l->c[0], &s, 2);
    zk_fp2_52x8_mul_fp(&s, &theta, &t->px);
    ZK_UNROLL for (int i = 0; i < 8; i++) {
        l->c[1].c0.l[i] = zk_v8_sub(zk_v8_set1(zk_fp52_shifted[1][i]), s.c0.l[i]);
        l->c[1].c1.l[i] = zk_v8_sub(zk_v8_set1(zk_fp52_shifted[1][i]), s.c1.l[i]);
    }
    zk_fp2_52x8_carry(&l->c[1], &l->c[1]);
    zk_fp2_52x8_mul_fp(&l->c[2], &lambda, &t->py);
    sqr(&c, &theta);
    sqr(&d, &lambda);
    mul(&e, &lambda, &d);
    mul(&f, &t->z, &c);
    mul(&g, &t->x, &d);
    add(&h, &e, &f); /* 4.6 */
    zk_fp2_52x8_shift_loose(&s, &g, 1);
    sub(&h, &h, &s, 3); /* 13 */
    mul(&t->x, &lambda, &h);
    sub(&g, &g, &h, 4);
    mul(&g, &g, &theta);
    mul(&s, &e, &t->y);
    sub(&t->y, &g, &s, 2); /* 7 */
    mul(&t->z, &t->z, &e);
}

/* Lanes without a pair have the line 1. */
static void take_step(line *l, walker *t, bool adding) {
    if (adding)
        add_step(l, t);
    else
        double_step(l, t);
    if (t->lanes == 0xff) return;
    fe2 zero = {0}, one = {0};
    zk_fp52x8_broadcast(&one.c0, &zk_fp_one);
    zk_fp2_52x8_blend(&l->c[0], &one, &l->c[0], t->lanes);
    zk_fp2_52x8_blend(&l->c[1], &zero, &l->c[1], t->lanes);
    zk_fp2_52x8_blend(&l->c[2], &zero, &l->c[2], t->lanes);
}

/* ---- Fp6 and Fp12: see tower.c ---- */

static void fe6_add(fe6 *r, const fe6 *a, const fe6 *b) {
    add(&r->c0, &a->c0, &b->c0);
    add(&r->c1, &a->c1, &b->c1);
    add(&r->c2, &a->c2, &b->c2);
}

ZK_INLINE void fe6_sub(fe6 *r, const fe6 *a, const fe6 *b, const int k) {
    sub(&r->c0, &a->c0, &b->c0, k);
    sub(&r->c1, &a->c1, &b->c1, k);
    sub(&r->c2, &a->c2, &b->c2, k);
}

ZK_INLINE void fe6_mul_v(fe6 *r, const fe6 *a, const int k) {
    fe2 top = a->c2;
    r->c2 = a->c1;
    r->c1 = a->c0;
    mul_xi(&r->c0, &top, k);
}

/* (a + b)(c + d) - s - t, below 10.3p; s and t products. */
static void cross(fe2 *r, const fe2 *a, const fe2 *b, const fe2 *c, const fe2 *d, const fe2 *s, const fe2 *t) {
    fe2 x, y;
    add(&x, a, b);
    add(&y, c, d);
    mul(&x, &x, &y);
    zk_fp2_52x8_add_loose(&y, s, t); /* 4.6 */
    sub(r, &x, &y, 3);
}

/* Below 29p. */
static void fe6_mul(fe6 *r, const fe6 *a, const fe6 *b) {
    fe2 v0, v1, v2, x01, x02, x12;
    mul(&v0, &a->c0, &b->c0);
    mul(&v1, &a->c1, &b->c1);
    mul(&v2, &a->c2, &b->c2);
    cross(&x01, &a->c0, &a->c1, &b->c0, &b->c1, &v0, &v1);
    cross(&x02, &a->c0, &a->c2, &b->c0, &b->c2, &v0, &v2);
    cross(&x12, &a->c1, &a->c2, &b->c1, &b->c2, &v1, &v2);
    mul_xi(&x12, &x12, 4); /* 26.3 */
    add(&r->c0, &v0, &x12);
    mul_xi(&v2, &v2, 2);
    add(&r->c1, &x01, &v2);
    add(&r->c2, &x02, &v1);
}

/* Times b0 + b1 v; below 15p. */
static void fe6_mul_by_01(fe6 *r, const fe6 *a, const fe2 *b0, const fe2 *b1) {
    fe2 v0, v1, x01, t;
    mul(&v0, &a->c0, b0);
    mul(&v1, &a->c1, b1);
    cross(&x01, &a->c0, &a->c1, b0, b1, &v0, &v1);
    mul(&t, &a->c2, b1);
    mul_xi(&t, &t, 2);
    mul(&r->c2, &a->c2, b0);
    add(&r->c2, &r->c2, &v1);
    add(&r->c0, &v0, &t);
    r->c1 = x01;
}

/* Times b1 v + b2 v^2; below 29p. */
static void fe6_mul_by_12(fe6 *r, const fe6 *a, const fe2 *b1, const fe2 *b2) {
    fe2 v1, v2, x12, t;
    mul(&v1, &a->c1, b1);
    mul(&v2, &a->c2, b2);
    cross(&x12, &a->c1, &a->c2, b1, b2, &v1, &v2);
    mul(&t, &a->c0, b1);
    mul(&r->c2, &a->c0, b2);
    add(&r->c2, &r->c2, &v1);
    mul_xi(&r->c0, &x12, 4); /* 26.3 */
    mul_xi(&v2, &v2, 2);
    add(&r->c1, &t, &v2);
}

/* Below 160p. */
static void fe12_sqr(fe12 *r, const fe12 *a) {
    fe6 product, s, t;
    fe6_mul(&product, &a->c0, &a->c1);
    fe6_add(&s, &a->c0, &a->c1);
    fe6_mul_v(&t, &a->c1, 7); /* of at most 128p: see fe12_mul_by_two_lines */
    fe6_add(&t, &t, &a->c0);
    fe6_mul(&s, &s, &t);
    fe6_sub(&s, &s, &product, 5);
    fe6_mul_v(&t, &product, 5); /* 61 */
    fe6_sub(&r->c0, &s, &t, 6);
    fe6_add(&r->c1, &product, &product);
}

/* (f0 + f1 w)((c0 + c1 v) + c4 v w), by f0 A + v^2 f1 c4 and f1 A + v f0 c4: 16M, which the odd vector may cost. */
static void fe12_mul_by_line(fe12 *r, const fe12 *a, const line *l) {
    fe6 v0, v1, s, t;
    fe6_mul_by_01(&v0, &a->c0, &l->c[0], &l->c[1]);
    fe6_mul_by_01(&v1, &a->c1, &l->c[0], &l->c[1]);
    mul(&s.c0, &a->c0.c0, &l->c[2]);
    mul(&s.c1, &a->c0.c1, &l->c[2]);
    mul(&s.c2, &a->c0.c2, &l->c[2]);
    fe6_mul_v(&s, &s, 2);
    mul(&t.c0, &a->c1.c0, &l->c[2]);
    mul(&t.c1, &a->c1.c1, &l->c[2]);
    mul(&t.c2, &a->c1.c2, &l->c[2]);
    fe6_mul_v(&t, &t, 2);
    fe6_mul_v(&t, &t, 3);
    fe6_add(&r->c0, &v0, &t);
    fe6_add(&r->c1, &v1, &s);
}

/* Result below 100p. */
static void fe12_mul_by_two_lines(fe12 *r, const fe12 *a, const line *l) {
    const fe2 *c = l[0].c, *d = l[1].c;
    fe2 v0, v1, v4, y, z;
    fe6 first, v, s, t;
    mul(&v0, &c[0], &d[0]);
    mul(&v1, &c[1], &d[1]);
    mul(&v4, &c[2], &d[2]);
    cross(&first.c1, &c[0], &c[1], &d[0], &d[1], &v0, &v1);
    cross(&y, &c[0], &c[2], &d[0], &d[2], &v0, &v4);
    cross(&z, &c[1], &c[2], &d[1], &d[2], &v1, &v4);
    mul_xi(&v4, &v4, 2);
    add(&first.c0, &v0, &v4);
    first.c2 = v1;
    fe6_mul(&v, &a->c0, &first);
    fe6_mul_by_12(&t, &a->c1, &y, &z);
    fe6_add(&s, &a->c0, &a->c1);
    add(&first.c1, &first.c1, &y);
    add(&first.c2, &first.c2, &z);
    fe6_mul(&s, &s, &first);
    fe6_add(&first, &v, &t); /* 58 */
    fe6_sub(&r->c1, &s, &first, 6);
    fe6_mul_v(&t, &t, 5); /* 61 */
    fe6_add(&r->c0, &v, &t);
}

/* ---- the loop ---- */

static void walker_set(walker *t, const zk_g1_affine *const *p, const zk_g2_affine *const *q, size_t n) {
    zk_fp x[8], y[8], minus_y[8];
    zk_fp2 qx[8], qy[8];
    for (size_t k = 0; k < 8; k++) {
        x[k] = p[k < n ? k : 0]->x;
        y[k] = p[k < n ? k : 0]->y;
        zk_fp_neg(&minus_y[k], &y[k]);
        qx[k] = q[k < n ? k : 0]->x;
        qy[k] = q[k < n ? k : 0]->y;
    }
    zk_fp52x8_from_elements(&t->px, x);
    zk_fp52x8_from_elements(&t->py, y);
    zk_fp52x8_from_elements(&t->minus_py, minus_y);
    zk_fp2_52x8_from_elements(&t->qx, qx);
    zk_fp2_52x8_from_elements(&t->qy, qy);
    t->x = t->qx;
    t->y = t->qy;
    t->z = (fe2){0};
    zk_fp52x8_broadcast(&t->z.c0, &zk_fp_one);
    t->lanes = n < 8 ? (__mmask8)((1u << n) - 1) : 0xff;
}

/* The product of all lanes. */
static void fe12_total(zk_fp12 *r, const fe12 *f) {
    const fe2 *part = &f->c0.c0;
    zk_fp2 element[6][8];
    for (int i = 0; i < 6; i++) zk_fp2_52x8_to_elements(element[i], &part[i]);
    for (int k = 0; k < 8; k++) {
        zk_fp12 t = {{element[0][k], element[1][k], element[2][k]}, {element[3][k], element[4][k], element[5][k]}};
        if (k == 0)
            *r = t;
        else
            zk_fp12_mul(r, r, &t);
    }
}

void zk_pairing_miller_ifma(zk_fp12 *r, const zk_g1_affine *const *p, const zk_g2_affine *const *q, size_t n) {
    walker walkers[VECS_MOST];
    line l[2];
    fe12 f = {0};
    const size_t n_vecs = (n + 7) / 8;
    for (size_t i = 0; i < n_vecs; i++) walker_set(&walkers[i], p + 8 * i, q + 8 * i, n - 8 * i);
    zk_fp52x8_broadcast(&f.c0.c0.c0, &zk_fp_one);
    for (int i = N_DOUBLINGS - 1; i >= 0; i--) {
        if (i < N_DOUBLINGS - 1) fe12_sqr(&f, &f);
        for (int adding = 0; adding <= (int)(ZK_CURVE_ABS_X >> i & 1); adding++) {
            for (size_t k = 0; k + 2 <= n_vecs; k += 2) {
                take_step(&l[0], &walkers[k], adding);
                take_step(&l[1], &walkers[k + 1], adding);
                fe12_mul_by_two_lines(&f, &f, l);
            }
            if (n_vecs % 2 == 0) continue;
            take_step(l, &walkers[n_vecs - 1], adding);
            fe12_mul_by_line(&f, &f, l);
        }
    }
    fe12_total(r, &f);
    zk_fp12_conjugate(r, r);
}
