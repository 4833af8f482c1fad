#include "msm/glv.h"

/* ---- digits ---- */

#define DIGIT(entry, e, negative) ((entry) | (e) << 2 | (negative) << 4)

/* The representative of the class (m mod 4) + 4 (q mod 4), and its value m + q eta. eta^2 = (-1, 1), (1 + eta) eta =
 * (-1, 2), (1 + eta) eta^2 = (-2, 1), 2 eta^2 = (-2, 2). */
static const struct representative {
    uint8_t digit;
    int8_t m, q;
} representatives[16] = {
    {0, 0, 0},
    {DIGIT(1, 0, 0), 1, 0},
    {DIGIT(3, 0, 0), 2, 0},
    {DIGIT(1, 0, 1), -1, 0},
    {DIGIT(1, 1, 0), 0, 1},
    {DIGIT(2, 0, 0), 1, 1},
    {DIGIT(2, 2, 0), -2, 1},
    {DIGIT(1, 2, 0), -1, 1},
    {DIGIT(3, 1, 0), 0, 2},
    {DIGIT(2, 1, 1), 1, -2},
    {DIGIT(3, 2, 1), 2, -2},
    {DIGIT(2, 1, 0), -1, 2},
    {DIGIT(1, 1, 1), 0, -1},
    {DIGIT(1, 2, 1), 1, -1},
    {DIGIT(2, 2, 1), 2, -1},
    {DIGIT(2, 0, 1), -1, -1},
};

/* v = v / ZK_CURVE_ABS_X, returns the remainder. */
static uint64_t divide(uint64_t v[4]) {
    zk_u128 rest = 0;
    for (int i = 4; i-- > 0;) {
        rest = rest << 64 | v[i];
        v[i] = (uint64_t)(rest / ZK_CURVE_ABS_X);
        rest %= ZK_CURVE_ABS_X;
    }
    return (uint64_t)rest;
}

void zk_glv_recode(zk_glv_digit digits[ZK_GLV_DIGITS], const zk_fr *k) {
    uint64_t v[4];
    zk_fr_to_limbs(v, k);
    const uint64_t low = divide(v), high = divide(v);
    const zk_u128 m = (zk_u128)high * ZK_CURVE_ABS_X + low, q = (zk_u128)v[1] << 64 | v[0];
    int carry_m = 0, carry_q = 0; /* what the digits so far leave over: 0 or 1 */
    for (int i = 0; i < ZK_GLV_DIGITS; i++) {
        const int t = i < 64 ? (int)(m >> 2 * i & 3) + carry_m : carry_m;
        const int u = i < 64 ? (int)(q >> 2 * i & 3) + carry_q : carry_q;
        const struct representative *d = &representatives[(t & 3) | (u & 3) << 2];
        digits[i] = d->digit;
        carry_m = (t - d->m) >> 2;
        carry_q = (u - d->q) >> 2;
    }
}

/* ---- points ---- */

void zk_glv_entries(zk_g1 r[2], const zk_g1_affine *p) {
    zk_g1_affine image;
    zk_g1 point;
    zk_fp_mul(&image.x, &p->x, &zk_g1_beta);
    zk_fp_neg(&image.y, &p->y);
    zk_g1_from_affine(&point, p);
    zk_g1_add_affine(&r[0], &point, &image);
    zk_g1_double(&r[1], &point);
}

void zk_glv_table_fill(zk_glv_table *table, const zk_g1_affine *p, const zk_g1_affine entries[2]) {
    for (int t = 0; t < 3; t++) {
        const zk_g1_affine *from = t ? &entries[t - 1] : p;
        table->x[t][0] = from->x;
        zk_fp_mul(&table->x[t][1], &from->x, &zk_g1_beta);
        zk_fp_add(&table->x[t][2], &table->x[t][0], &table->x[t][1]); /* 1 + beta + beta^2 = 0 */
        zk_fp_neg(&table->x[t][2], &table->x[t][2]);
        table->y[t] = from->y;
    }
}

void zk_glv_mul(zk_g1 *r, const zk_glv_table *table, const zk_glv_digit digits[ZK_GLV_DIGITS]) {
    zk_g1 sum;
    zk_g1_set_infinity(&sum);
    for (int i = ZK_GLV_DIGITS; i-- > 0;) {
        zk_g1_double(&sum, &sum);
        zk_g1_double(&sum, &sum);
        const zk_glv_digit d = digits[i];
        if (!d) continue;
        const unsigned t = (d & 3) - 1, e = d >> 2 & 3;
        zk_g1_affine term = {table->x[t][e], table->y[t]};
        if ((d >> 4 ^ e) & 1) zk_fp_neg(&term.y, &term.y);
        zk_g1_add_affine(&sum, &sum, &term);
    }
    *r = sum;
}
