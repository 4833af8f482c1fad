#include "pairing/pairing.h"

#include "base/bytes.h"
#include "base/pool.h"
#include "field/cpu.h"
#include "pairing/lanes/lanes.h"
#include "pairing/tower.h"

/* The bits of ZK_CURVE_ABS_X below the top one, and those of them that are set. */
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
    zk_g2_affine q;
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
    r->q = *q;
    r->is_infinity = zk_g2_affine_is_infinity(q);
    if (r->is_infinity) return;
    zk_fp2 scale[N_LINES], scratch[N_LINES];
    walker t = {q->x, q->y, zk_fp2_one};
    size_t n = 0;
    for (int i = N_DOUBLINGS - 1; i >= 0; i--) {
        for (int adding = 0; adding <= (int)(ZK_CURVE_ABS_X >> i & 1); adding++) {
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

/* Pairs of one Miller loop, none with an infinity: some walk, some have their lines ready. */
typedef struct miller_pairs {
    size_t n, n_prepared;
    const zk_g1_affine *p[GROUP_SIZE], *prepared_p[GROUP_SIZE];
    const zk_g2_affine *q[GROUP_SIZE];
    const zk_g2_prepared *prepared[GROUP_SIZE];
} miller_pairs;

/* Lines with c4 = 1 are divided by y_P as well: c0/y_P + c1 x_P/y_P v + v w. */
static void miller_group(zk_fp12 *f, const miller_pairs *m) {
    walker t[GROUP_SIZE];
    zk_fp2 l[GROUP_SIZE][3];
    zk_fp y_inverse[GROUP_SIZE], ratio[GROUP_SIZE], scratch[GROUP_SIZE];
    size_t at = 0;
    for (size_t k = 0; k < m->n; k++) t[k] = (walker){m->q[k]->x, m->q[k]->y, zk_fp2_one};
    for (size_t k = 0; k < m->n_prepared; k++)
        y_inverse[k] = m->prepared_p[k]->y; /* not zero: the order of E1 is odd */
    if (m->n_prepared) zk_fp_batch_inv_var(y_inverse, m->n_prepared, scratch);
    for (size_t k = 0; k < m->n_prepared; k++) zk_fp_mul(&ratio[k], &m->prepared_p[k]->x, &y_inverse[k]);
    *f = zk_fp12_one;
    for (int i = N_DOUBLINGS - 1; i >= 0; i--) {
        if (i < N_DOUBLINGS - 1) zk_fp12_sqr(f, f);
        for (int adding = 0; adding <= (int)(ZK_CURVE_ABS_X >> i & 1); adding++, at++) {
            for (size_t k = 0; k < m->n; k++) {
                line step;
                if (adding)
                    add_step(&step, &t[k], m->q[k]);
                else
                    double_step(&step, &t[k]);
                l[k][0] = step.c0;
                l[k][1] = step.c1;
                l[k][2] = step.c4;
            }
            multiply_lines(f, l, m->p, m->n);
            for (size_t k = 0; k < m->n_prepared; k++) {
                zk_fp2 c0, c1;
                zk_fp2_mul_fp(&c0, &m->prepared[k]->lines[at].c0, &y_inverse[k]);
                zk_fp2_mul_fp(&c1, &m->prepared[k]->lines[at].c1, &ratio[k]);
                zk_fp12_mul_by_01_one(f, f, &c0, &c1);
            }
        }
    }
    /* x is negative: f_{x} and 1/f_{|x|} agree up to factors that vanish, and so do the inverse and the conjugate. */
    zk_fp12_conjugate(f, f);
}

/* *product times the value of the pairs, which are then gone. */
static void miller_flush(zk_fp12 *product, bool *is_first, miller_pairs *m) {
    zk_fp12 f;
    if (m->n + m->n_prepared == 0) return;
    miller_group(&f, m);
    if (*is_first)
        *product = f;
    else
        zk_fp12_mul(product, product, &f);
    *is_first = false;
    m->n = m->n_prepared = 0;
}

static void miller_mixed(zk_fp12 *r, const zk_g1_affine *p, const zk_g2_affine *q, size_t n,
                         const zk_g1_affine *prepared_p, const zk_g2_prepared *const *prepared, size_t n_prepared) {
    miller_pairs m = {0};
    bool is_first = true;
    zk_fp12 product = zk_fp12_one;
    for (size_t i = 0; i < n; i++) {
        if (zk_g1_affine_is_infinity(&p[i]) || zk_g2_affine_is_infinity(&q[i])) continue;
        m.p[m.n] = &p[i];
        m.q[m.n++] = &q[i];
        if (m.n == GROUP_SIZE) miller_flush(&product, &is_first, &m);
    }
    for (size_t i = 0; i < n_prepared; i++) {
        if (zk_g1_affine_is_infinity(&prepared_p[i]) || prepared[i]->is_infinity) continue;
        m.prepared_p[m.n_prepared] = &prepared_p[i];
        m.prepared[m.n_prepared++] = prepared[i];
        if (m.n_prepared == GROUP_SIZE) miller_flush(&product, &is_first, &m);
    }
    miller_flush(&product, &is_first, &m);
    *r = product;
}

void zk_pairing_miller_loop(zk_fp12 *r, const zk_g1_affine *p, const zk_g2_affine *q, size_t n) {
    miller_mixed(r, p, q, n, NULL, NULL, 0);
}

void zk_pairing_miller_loop_prepared(zk_fp12 *r, const zk_g1_affine *p, const zk_g2_prepared *const *q, size_t n) {
    miller_mixed(r, NULL, NULL, 0, p, q, n);
}

/* ---- many pairs ---- */

#define LANES 8
/* Groups whose values are held at a time. */
#define GROUPS_MOST 32

static bool use_lanes(size_t n) {
#if ZK_HAVE_IFMA
    /* A vector costs as much as four pairs in scalar code. */
    return n > 4 && zk_cpu_can_ifma();
#else
    (void)n;
    return false;
#endif
}

typedef struct many_job {
    const zk_g1_affine *p, *prepared_p;
    const zk_g2_affine *q;
    const zk_g2_prepared *const *prepared;
    size_t n; /* pairs that walk; the prepared ones are counted after them */
    size_t begin, end, group;
    bool lanes;
    zk_fp12 values[GROUPS_MOST];
} many_job;

static void many_lanes(zk_fp12 *r, const many_job *job, size_t first, size_t last) {
    *r = zk_fp12_one;
#if ZK_HAVE_IFMA
    const zk_g1_affine *p[ZK_MILLER_LANES_MOST];
    const zk_g2_affine *q[ZK_MILLER_LANES_MOST];
    size_t count = 0;
    for (size_t i = first; i < last; i++) {
        p[count] = i < job->n ? &job->p[i] : &job->prepared_p[i - job->n];
        q[count] = i < job->n ? &job->q[i] : &job->prepared[i - job->n]->q;
        count += !zk_g1_affine_is_infinity(p[count]) && !zk_g2_affine_is_infinity(q[count]);
    }
    if (count) zk_pairing_miller_ifma(r, p, q, count);
#else
    (void)job, (void)first, (void)last;
#endif
}

static void many_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    many_job *job = ctx;
    (void)thread;
    for (size_t g = begin; g < end; g++) {
        const size_t first = job->begin + g * job->group, last = zk_min_size(first + job->group, job->end);
        if (job->lanes) {
            many_lanes(&job->values[g], job, first, last);
            continue;
        }
        const size_t i = zk_min_size(first, job->n), i_end = zk_min_size(last, job->n);
        const size_t k = zk_max_size(first, job->n) - job->n, k_end = zk_max_size(last, job->n) - job->n;
        miller_mixed(&job->values[g], job->p + i, job->q + i, i_end - i, job->prepared_p + k, job->prepared + k,
                     k_end - k);
    }
}

void zk_pairing_miller_loop_many(zk_fp12 *r, const zk_g1_affine *p, const zk_g2_affine *q, size_t n,
                                 const zk_g1_affine *prepared_p, const zk_g2_prepared *const *prepared,
                                 size_t n_prepared, zk_pool *pool) {
    const size_t total = n + n_prepared, n_threads = zk_pool_n_threads(pool);
    many_job job = {.p = p, .prepared_p = prepared_p, .q = q, .prepared = prepared, .n = n, .lanes = use_lanes(total)};
    const size_t unit = job.lanes ? LANES : 1, most = job.lanes ? ZK_MILLER_LANES_MOST : GROUP_SIZE;
    *r = zk_fp12_one;
    for (; job.begin < total; job.begin = job.end) {
        const size_t left = total - job.begin, n_units = (left + unit - 1) / unit;
        /* All threads get something, then groups as large as may be, as pairs of a group share their squarings. */
        job.group = zk_min_size((n_units + n_threads - 1) / n_threads * unit, most);
        job.end = job.begin + zk_min_size(left, job.group * GROUPS_MOST);
        const size_t n_groups = (job.end - job.begin - 1) / job.group + 1;
        zk_pool_for(pool, n_groups, 1, many_range, &job);
        for (size_t g = 0; g < n_groups; g++) zk_fp12_mul(r, r, &job.values[g]);
    }
}

/* ---- final exponentiation ---- */

/* a^x for a in the cyclotomic subgroup. */
static void pow_x(zk_fp12 *r, const zk_fp12 *a) {
    zk_fp12 base = *a, f = *a;
    for (int i = N_DOUBLINGS - 1; i >= 0; i--) {
        zk_fp12_cyclotomic_sqr(&f, &f);
        if (ZK_CURVE_ABS_X >> i & 1) zk_fp12_mul(&f, &f, &base);
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
