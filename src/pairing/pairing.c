#include "pairing/pairing.h"

#include "pairing/tower.h"

/* |x| for the curve parameter x = -0xd201000000010000: its top bit is 63, five more bits are set. */
#define ABS_X 0xd201000000010000u
#define N_DOUBLINGS 63
#define N_ADDITIONS 5
#define N_LINES (N_DOUBLINGS + N_ADDITIONS)

/* A line through points of the twist, as a function of P: c0 + c1 x_P v + c4 y_P v w. It is the line on E, taken back
 * through (x, y) -> (x/w^2, y/w^3), times a factor that the final exponentiation removes (w^3 and elements of Fp2). */
typedef struct line {
    zk_fp2 c0, c1, c4;
} line;

/* Lines scaled to c4 = 1. */
struct zk_g2_prepared {
    bool is_infinity;
    struct {
        zk_fp2 c0, c1;
    } lines[N_LINES];
};

/* ---- steps of the Miller loop: homogeneous coordinates, x = X/Z, y = Y/Z ---- */

typedef struct walker {
    zk_fp2 x, y, z;
} walker;

/* t = 2 t and the tangent at the old t. C. Costello, T. Lange, M. Naehrig, "Faster pairing computations on curves with
 * high-degree twists", 2010, in the form of D. Aranha et al., "Faster explicit formulas for computing pairings over
 * ordinary curves", 2011: 3M + 6S. */
static void double_step(line *l, walker *t) {
    zk_fp2 a, b, c, e, f, g, h, s;
    zk_fp2_mul(&a, &t->x, &t->y);
    zk_fp2_halve(&a, &a);
    zk_fp2_sqr(&b, &t->y);
    zk_fp2_sqr(&c, &t->z);
    /* e = 3 b' z^2 with b' = 4 (1 + u) */
    zk_fp2_mul_xi(&e, &c);
    zk_fp2_double(&e, &e);
    zk_fp2_double(&e, &e);
    zk_fp2_double(&f, &e);
    zk_fp2_add(&e, &e, &f);
    zk_fp2_double(&f, &e);
    zk_fp2_add(&f, &f, &e);
    zk_fp2_add(&g, &b, &f);
    zk_fp2_halve(&g, &g);
    zk_fp2_add(&h, &t->y, &t->z);
    zk_fp2_sqr(&h, &h);
    zk_fp2_add(&s, &b, &c);
    zk_fp2_sub(&h, &h, &s);
    zk_fp2_sqr(&c, &t->x);
    zk_fp2_double(&l->c1, &c);
    zk_fp2_add(&l->c1, &l->c1, &c);
    zk_fp2_sub(&l->c0, &e, &b);
    zk_fp2_neg(&l->c4, &h);
    zk_fp2_sub(&f, &b, &f);
    zk_fp2_mul(&t->x, &a, &f);
    zk_fp2_sqr(&e, &e);
    zk_fp2_double(&s, &e);
    zk_fp2_add(&e, &e, &s);
    zk_fp2_sqr(&g, &g);
    zk_fp2_sub(&t->y, &g, &e);
    zk_fp2_mul(&t->z, &b, &h);
}

/* t = t + q and the line through both; same source, mixed addition: 11M + 2S. t is never q, -q or infinity on the way
 * to
 * [|x|]q for q of order r. */
static void add_step(line *l, walker *t, const zk_g2_affine *q) {
    zk_fp2 theta, lambda, c, d, e, f, g, h, s;
    zk_fp2_mul(&s, &q->y, &t->z);
    zk_fp2_sub(&theta, &t->y, &s);
    zk_fp2_mul(&s, &q->x, &t->z);
    zk_fp2_sub(&lambda, &t->x, &s);
    zk_fp2_mul(&l->c0, &theta, &q->x);
    zk_fp2_mul(&s, &lambda, &q->y);
    zk_fp2_sub(&l->c0, &l->c0, &s);
    zk_fp2_neg(&l->c1, &theta);
    l->c4 = lambda;
    zk_fp2_sqr(&c, &theta);
    zk_fp2_sqr(&d, &lambda);
    zk_fp2_mul(&e, &lambda, &d);
    zk_fp2_mul(&f, &t->z, &c);
    zk_fp2_mul(&g, &t->x, &d);
    zk_fp2_add(&h, &e, &f);
    zk_fp2_sub(&h, &h, &g);
    zk_fp2_sub(&h, &h, &g);
    zk_fp2_mul(&t->x, &lambda, &h);
    zk_fp2_sub(&g, &g, &h);
    zk_fp2_mul(&g, &g, &theta);
    zk_fp2_mul(&s, &e, &t->y);
    zk_fp2_sub(&t->y, &g, &s);
    zk_fp2_mul(&t->z, &t->z, &e);
}

size_t zk_g2_prepared_bytes(void) { return sizeof(zk_g2_prepared); }

void zk_g2_prepare(zk_g2_prepared *r, const zk_g2_affine *q) {
    r->is_infinity = zk_g2_affine_is_infinity(q);
    if (r->is_infinity) return;
    zk_fp2 scale[N_LINES], scratch[N_LINES];
    walker t = {q->x, q->y, zk_fp2_one};
    size_t n = 0;
    for (int i = N_DOUBLINGS - 1; i >= 0; i--) {
        for (int adding = 0; adding <= (int)(ABS_X >> i & 1); adding++) {
            line l;
            if (adding)
                add_step(&l, &t, q);
            else
                double_step(&l, &t);
            r->lines[n].c0 = l.c0;
            r->lines[n].c1 = l.c1;
            scale[n++] = l.c4;
        }
    }
    zk_fp2_batch_inv_var(scale, N_LINES, scratch);
    for (size_t i = 0; i < N_LINES; i++) {
        zk_fp2_mul(&r->lines[i].c0, &r->lines[i].c0, &scale[i]);
        zk_fp2_mul(&r->lines[i].c1, &r->lines[i].c1, &scale[i]);
    }
}

/* ---- Miller loops ---- */

/* Pairs that share their squarings; bounds the stack. */
#define GROUP_SIZE 16

/* f times the lines of all n pairs at their points. l[i] is clobbered. */
static void multiply_lines(zk_fp12 *f, zk_fp2 l[][3], const zk_g1_affine *const *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        zk_fp2_mul_fp(&l[i][1], &l[i][1], &p[i]->x);
        zk_fp2_mul_fp(&l[i][2], &l[i][2], &p[i]->y);
    }
    size_t i = 0;
    for (; i + 2 <= n; i += 2) zk_fp12_mul_by_two_lines(f, f, (const zk_fp2(*)[3]) & l[i]);
    if (i < n) zk_fp12_mul_by_014(f, f, &l[i][0], &l[i][1], &l[i][2]);
}

static void miller_group(zk_fp12 *f, const zk_g1_affine *const *p, const zk_g2_affine *const *q, size_t n) {
    walker t[GROUP_SIZE];
    zk_fp2 l[GROUP_SIZE][3];
    for (size_t k = 0; k < n; k++) t[k] = (walker){q[k]->x, q[k]->y, zk_fp2_one};
    *f = zk_fp12_one;
    for (int i = N_DOUBLINGS - 1; i >= 0; i--) {
        if (i < N_DOUBLINGS - 1) zk_fp12_sqr(f, f);
        for (int adding = 0; adding <= (int)(ABS_X >> i & 1); adding++) {
            for (size_t k = 0; k < n; k++) {
                line step;
                if (adding)
                    add_step(&step, &t[k], q[k]);
                else
                    double_step(&step, &t[k]);
                l[k][0] = step.c0;
                l[k][1] = step.c1;
                l[k][2] = step.c4;
            }
            multiply_lines(f, l, p, n);
        }
    }
    /* x is negative: f_{x} and 1/f_{|x|} agree up to factors that vanish, and so do the inverse and the conjugate. */
    zk_fp12_conjugate(f, f);
}

static void multiply_into(zk_fp12 *product, bool *is_first, const zk_fp12 *f) {
    if (*is_first)
        *product = *f;
    else
        zk_fp12_mul(product, product, f);
    *is_first = false;
}

void zk_pairing_miller_loop(zk_fp12 *r, const zk_g1_affine *p, const zk_g2_affine *q, size_t n) {
    zk_fp12 product = zk_fp12_one, f;
    bool is_first = true;
    const zk_g1_affine *group_p[GROUP_SIZE];
    const zk_g2_affine *group_q[GROUP_SIZE];
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (!zk_g1_affine_is_infinity(&p[i]) && !zk_g2_affine_is_infinity(&q[i])) {
            group_p[count] = &p[i];
            group_q[count++] = &q[i];
        }
        if (count == GROUP_SIZE || (count > 0 && i == n - 1)) {
            miller_group(&f, group_p, group_q, count);
            multiply_into(&product, &is_first, &f);
            count = 0;
        }
    }
    *r = product;
}

/* With c4 = 1 the line is divided by y_P as well: c0/y_P + c1 x_P/y_P v + v w. */
static void miller_group_prepared(zk_fp12 *f, const zk_g1_affine *const *p, const zk_g2_prepared *const *q, size_t n) {
    zk_fp y_inverse[GROUP_SIZE], ratio[GROUP_SIZE], scratch[GROUP_SIZE];
    for (size_t k = 0; k < n; k++) y_inverse[k] = p[k]->y; /* not zero: the order of E1 is odd */
    zk_fp_batch_inv_var(y_inverse, n, scratch);
    for (size_t k = 0; k < n; k++) zk_fp_mul(&ratio[k], &p[k]->x, &y_inverse[k]);
    *f = zk_fp12_one;
    size_t at = 0;
    for (int i = N_DOUBLINGS - 1; i >= 0; i--) {
        if (i < N_DOUBLINGS - 1) zk_fp12_sqr(f, f);
        for (int adding = 0; adding <= (int)(ABS_X >> i & 1); adding++, at++) {
            for (size_t k = 0; k < n; k++) {
                zk_fp2 c0, c1;
                zk_fp2_mul_fp(&c0, &q[k]->lines[at].c0, &y_inverse[k]);
                zk_fp2_mul_fp(&c1, &q[k]->lines[at].c1, &ratio[k]);
                zk_fp12_mul_by_01_one(f, f, &c0, &c1);
            }
        }
    }
    zk_fp12_conjugate(f, f);
}

void zk_pairing_miller_loop_prepared(zk_fp12 *r, const zk_g1_affine *p, const zk_g2_prepared *const *q, size_t n) {
    zk_fp12 product = zk_fp12_one, f;
    bool is_first = true;
    const zk_g1_affine *group_p[GROUP_SIZE];
    const zk_g2_prepared *group_q[GROUP_SIZE];
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (!zk_g1_affine_is_infinity(&p[i]) && !q[i]->is_infinity) {
            group_p[count] = &p[i];
            group_q[count++] = q[i];
        }
        if (count == GROUP_SIZE || (count > 0 && i == n - 1)) {
            miller_group_prepared(&f, group_p, group_q, count);
            multiply_into(&product, &is_first, &f);
            count = 0;
        }
    }
    *r = product;
}

/* ---- final exponentiation ---- */

/* a^x for a in the cyclotomic subgroup. */
static void pow_x(zk_fp12 *r, const zk_fp12 *a) {
    zk_fp12 base = *a, f = *a;
    for (int i = N_DOUBLINGS - 1; i >= 0; i--) {
        zk_fp12_cyclotomic_sqr(&f, &f);
        if (ABS_X >> i & 1) zk_fp12_mul(&f, &f, &base);
    }
    zk_fp12_conjugate(r, &f); /* x < 0, and the conjugate is the inverse here */
}

/* (p^12 - 1)/r = (p^6 - 1)(p^2 + 1) (p^4 - p^2 + 1)/r, and 3 times the last factor is (x - 1)^2 (x + p)(x^2 + p^2 - 1)
 * + 3: D. Hayashida, K. Hayasaka, T. Teruya, "Efficient final exponentiation via cyclotomic structure for pairings over
 * families of elliptic curves", 2020. */
void zk_pairing_final_exp(zk_fp12 *r, const zk_fp12 *f) {
    zk_fp12 m, s, t;
    if (!zk_fp12_inv_var(&t, f)) { /* zero is no value of a Miller loop */
        *r = zk_fp12_zero;
        return;
    }
    zk_fp12_conjugate(&m, f);
    zk_fp12_mul(&m, &m, &t);
    zk_fp12_frobenius(&t, &m, 2);
    zk_fp12_mul(&m, &m, &t);
    /* s = m^((x - 1)^2) */
    pow_x(&s, &m);
    zk_fp12_conjugate(&t, &m);
    zk_fp12_mul(&s, &s, &t);
    pow_x(&t, &s);
    zk_fp12_conjugate(&s, &s);
    zk_fp12_mul(&s, &s, &t);
    /* s = s^(x + p) */
    pow_x(&t, &s);
    zk_fp12_frobenius(&s, &s, 1);
    zk_fp12_mul(&s, &s, &t);
    /* t = s^(x^2 + p^2 - 1) */
    pow_x(&t, &s);
    pow_x(&t, &t);
    zk_fp12 u;
    zk_fp12_frobenius(&u, &s, 2);
    zk_fp12_mul(&t, &t, &u);
    zk_fp12_conjugate(&s, &s);
    zk_fp12_mul(&t, &t, &s);
    /* times m^3 */
    zk_fp12_cyclotomic_sqr(&u, &m);
    zk_fp12_mul(&u, &u, &m);
    zk_fp12_mul(r, &t, &u);
}

void zk_pairing(zk_fp12 *r, const zk_g1_affine *p, const zk_g2_affine *q) {
    zk_fp12 f;
    zk_pairing_miller_loop(&f, p, q, 1);
    zk_pairing_final_exp(r, &f);
}

bool zk_pairing_product_is_one(const zk_g1_affine *p, const zk_g2_affine *q, size_t n) {
    zk_fp12 f;
    zk_pairing_miller_loop(&f, p, q, n);
    zk_pairing_final_exp(&f, &f);
    return zk_fp12_is_one(&f);
}
