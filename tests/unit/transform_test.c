/* Multiples by the hexagonal digits, transforms of points and sums of sparse columns, against their definitions. */
#include "msm/transform.h"
#include "msm/glv.h"
#include "msm/msm.h"
#include "ntt/ntt.h"
#include "scalars.h"

#define ABS_X 0xd201000000010000u

static zk_fr fr_of_int(int64_t v) {
    zk_fr r;
    zk_fr_from_i64(&r, v);
    return r;
}

static zk_fr fr_x_squared(void) {
    zk_fr x;
    zk_fr_from_u64(&x, ABS_X);
    zk_fr_sqr(&x, &x);
    return x;
}

/* 0, small numbers, the neighbours of x^2 and r, roots of unity, random ones. */
static zk_fr case_scalar(unsigned i, uint64_t *seed) {
    zk_fr x2 = fr_x_squared(), t;
    if (i < 9) return fr_of_int((int64_t)i - 4);
    if (i < 14) {
        t = fr_of_int((int64_t)i - 11);
        zk_fr_add(&t, &t, &x2);
        return t;
    }
    if (i < 19) {
        t = fr_of_int((int64_t)i - 16);
        zk_fr_sub(&t, &t, &x2);
        return t;
    }
    if (i < 19 + 33) {
        zk_fr_root_of_unity(&t, i - 19);
        return t;
    }
    return fr_random(seed);
}
#define N_CASES 120

static void test_digits(void) {
    uint64_t seed = 1;
    zk_fr eta = fr_x_squared(), four = fr_of_int(4),
          entry[4] = {fr_of_int(0), fr_of_int(1), fr_of_int(1), fr_of_int(2)};
    zk_fr_add(&entry[2], &entry[2], &eta);
    for (unsigned i = 0; i < N_CASES; i++) {
        zk_fr k = case_scalar(i, &seed), sum = zk_fr_zero;
        zk_glv_digit digits[ZK_GLV_DIGITS];
        zk_glv_recode(digits, &k);
        for (int j = ZK_GLV_DIGITS; j-- > 0;) {
            zk_fr d = entry[digits[j] & 3];
            for (int e = digits[j] >> 2 & 3; e > 0; e--) zk_fr_mul(&d, &d, &eta);
            if (digits[j] >> 4) zk_fr_neg(&d, &d);
            zk_fr_mul(&sum, &sum, &four);
            zk_fr_add(&sum, &sum, &d);
        }
        ZK_CHECKF(zk_fr_eq(&sum, &k), "case %u", i);
    }
}

/* [s]G for each scalar */
static void multiples(zk_g1_affine *r, const zk_fr *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        zk_g1 t;
        zk_g1_from_affine(&t, &zk_g1_generator);
        zk_g1_mul_var(&t, &t, &s[i]);
        zk_g1_to_affine(&r[i], &t);
    }
}

static void test_multiples(void) {
    uint64_t seed = 2;
    for (unsigned i = 0; i < N_CASES; i++) {
        zk_fr k = case_scalar(i, &seed), s = fr_random(&seed);
        zk_g1_affine p, entries[2];
        zk_g1 jacobian[2], product, expected;
        zk_glv_table table;
        zk_glv_digit digits[ZK_GLV_DIGITS];
        multiples(&p, &s, 1);
        zk_glv_entries(jacobian, &p);
        for (int e = 0; e < 2; e++) zk_g1_to_affine(&entries[e], &jacobian[e]);
        zk_glv_table_fill(&table, &p, entries);
        zk_glv_recode(digits, &k);
        zk_glv_mul(&product, &table, digits);
        zk_g1_from_affine(&expected, &p);
        zk_g1_mul_var(&expected, &expected, &k);
        ZK_CHECKF(zk_g1_eq(&product, &expected), "case %u", i);
    }
}

/* What the transform must give for points [s_k]G: scale sum_k (shift w^j)^k s_k. */
static void scalar_transform(zk_fr *out, const zk_fr *s, unsigned log2_n, const zk_fr *shift, const zk_fr *scale) {
    size_t n = (size_t)1 << log2_n;
    zk_fr w, base = *shift;
    zk_fr_root_of_unity(&w, log2_n);
    for (size_t j = 0; j < n; j++) {
        zk_fr power = *scale, t;
        out[j] = zk_fr_zero;
        for (size_t k = 0; k < n; k++) {
            zk_fr_mul(&t, &power, &s[k]);
            zk_fr_add(&out[j], &out[j], &t);
            zk_fr_mul(&power, &power, &base);
        }
        zk_fr_mul(&base, &base, &w);
    }
}

static void check_transform(const zk_fr *s, unsigned log2_n, const zk_fr *shift, const zk_fr *scale, const char *what) {
    size_t n = (size_t)1 << log2_n;
    cuzk_err err = {0};
    zk_fr *expected = malloc(n * sizeof *expected);
    zk_g1_affine *points = malloc((n + 1) * sizeof *points), *wanted = malloc(n * sizeof *wanted);
    scalar_transform(expected, s, log2_n, shift, scale);
    multiples(wanted, expected, n);
    multiples(points, s, n);
    memset(&points[n], 0xa5, sizeof *points);
    ZK_CHECK_OK(zk_g1_transform(points, log2_n, shift, scale, two_threads(), NULL, NULL, &err), err);
    for (size_t j = 0; j < n; j++)
        ZK_CHECKF(zk_g1_affine_eq(&points[j], &wanted[j]), "2^%u, %s: point %zu", log2_n, what, j);
    for (size_t i = 0; i < sizeof *points; i++) ZK_CHECK(((const uint8_t *)&points[n])[i] == 0xa5);
    free(expected);
    free(points);
    free(wanted);
}

static void test_transform(void) {
    uint64_t seed = 3;
    for (unsigned log2_n = 0; log2_n <= 8; log2_n++) {
        size_t n = (size_t)1 << log2_n;
        zk_fr *s = malloc(n * sizeof *s), shift = fr_random(&seed), scale = fr_random(&seed), g = zk_fr_generator;
        for (size_t k = 0; k < n; k++) s[k] = fr_random(&seed);
        check_transform(s, log2_n, &zk_fr_one, &zk_fr_one, "plain");
        check_transform(s, log2_n, &shift, &scale, "shifted and scaled");
        if (log2_n > 6) {
            free(s);
            continue;
        }
        check_transform(s, log2_n, &g, &zk_fr_one, "shifted");
        s[n - 1] = zk_fr_zero; /* infinity */
        check_transform(s, log2_n, &zk_fr_one, &scale, "scaled, one infinity");
        for (size_t k = 0; k < n; k++) s[k] = zk_fr_one; /* infinity everywhere but at 0 */
        check_transform(s, log2_n, &zk_fr_one, &zk_fr_one, "all equal");
        for (size_t k = 1; k < n; k += 2) zk_fr_neg(&s[k], &s[k]);
        check_transform(s, log2_n, &zk_fr_one, &scale, "P and -P");
        for (size_t k = 0; k < n; k++) s[k] = zk_fr_zero;
        check_transform(s, log2_n, &shift, &scale, "all infinity");
        free(s);
    }
}

/* A longer one against the transform of the scalars by src/ntt. */
static void test_long_transform(void) {
    const unsigned log2_n = 11;
    const size_t n = (size_t)1 << log2_n;
    uint64_t seed = 4;
    cuzk_err err = {0};
    zk_ntt_domain *domain;
    zk_fixed_base_g1 *base;
    zk_fr *s = malloc(n * sizeof *s);
    zk_g1_affine *points = malloc(n * sizeof *points), *wanted = malloc(n * sizeof *wanted);
    for (size_t k = 0; k < n; k++) s[k] = fr_random(&seed);
    ZK_CHECK_OK(zk_fixed_base_g1_create(&base, &zk_g1_generator, 8, two_threads(), &err), err);
    ZK_CHECK_OK(zk_ntt_domain_create(&domain, log2_n, two_threads(), &err), err);
    ZK_CHECK_OK(zk_fixed_base_g1_mul(base, points, s, n, two_threads(), &err), err);
    zk_ntt_coset_forward(domain, s, two_threads());
    ZK_CHECK_OK(zk_fixed_base_g1_mul(base, wanted, s, n, two_threads(), &err), err);
    zk_fr shift = zk_fr_generator;
    ZK_CHECK_OK(zk_g1_transform(points, log2_n, &shift, &zk_fr_one, two_threads(), NULL, NULL, &err), err);
    for (size_t j = 0; j < n; j++) ZK_CHECKF(zk_g1_affine_eq(&points[j], &wanted[j]), "point %zu", j);
    zk_ntt_domain_destroy(domain);
    zk_fixed_base_g1_destroy(base);
    free(s);
    free(points);
    free(wanted);
}

static bool stop_at_half(void *ctx, uint64_t done, uint64_t total) {
    uint64_t *last = ctx;
    ZK_CHECK(done > *last && done <= total);
    *last = done;
    return 2 * done < total;
}

static bool go_on(void *ctx, uint64_t done, uint64_t total) {
    uint64_t *last = ctx;
    ZK_CHECK(done > last[0] && done <= total && (!last[1] || last[1] == total));
    last[0] = done;
    last[1] = total;
    return true;
}

static void test_progress(void) {
    zk_g1_affine points[64];
    uint64_t last[2] = {0}, seed = 5;
    cuzk_err err = {0};
    zk_fr s = fr_random(&seed);
    for (int i = 0; i < 64; i++) points[i] = zk_g1_generator;
    ZK_CHECK_OK(zk_g1_transform(points, 6, &s, &s, two_threads(), go_on, last, &err), err);
    ZK_CHECK(last[0] == last[1] && last[1] == 64 + 6 * 32);
    last[0] = 0;
    ZK_CHECK(zk_g1_transform(points, 6, &s, &s, two_threads(), stop_at_half, last, &err) == CUZK_CANCELLED);
    zk_err_reset(&err);
    ZK_CHECK(zk_g1_transform(points, 33, &s, &s, NULL, NULL, NULL, &err) == CUZK_UNSUPPORTED);
}

/* ---- columns ---- */

#define N_COLUMNS 300
#define N_ROWS 40
#define N_COEFS 16

static void test_columns(void) {
    uint64_t seed = 6;
    cuzk_err err = {0};
    zk_fr coefs[N_COEFS], row_scalar[N_ROWS], column_scalar[N_COLUMNS], expected[N_COLUMNS];
    zk_g1_affine rows[N_ROWS], points[N_COLUMNS], wanted[N_COLUMNS];
    uint32_t start[N_COLUMNS + 1] = {0};
    static zk_sparse_entry entries[N_COLUMNS * 8];
    coefs[0] = zk_fr_one;
    zk_fr_neg(&coefs[1], &zk_fr_one);
    for (unsigned i = 2; i < N_COEFS; i++) { /* powers of two, their negatives, any */
        zk_fr_pow_u64(&coefs[i], &(zk_fr){0}, 0);
        for (unsigned k = 0; k < 21 * (i - 1) && i < 12; k++) zk_fr_double(&coefs[i], &coefs[i]);
        if (i % 2) zk_fr_neg(&coefs[i], &coefs[i]);
        if (i >= 12) coefs[i] = fr_random(&seed);
    }
    for (unsigned i = 0; i < N_ROWS; i++) row_scalar[i] = i == 7 ? zk_fr_zero : fr_random(&seed);
    row_scalar[9] = row_scalar[8];
    zk_fr_neg(&row_scalar[10], &row_scalar[8]);
    multiples(rows, row_scalar, N_ROWS);
    for (uint32_t k = 0; k < N_COLUMNS; k++) {
        uint32_t n = k < 6 ? (uint32_t[]){0, 1, 2, 2, 8, 0}[k] : (uint32_t)(zk_test_rand(&seed) % 9);
        column_scalar[k] = k % 5 == 4 ? zk_fr_zero : fr_random(&seed);
        expected[k] = column_scalar[k];
        start[k + 1] = start[k] + n;
        for (uint32_t e = start[k]; e < start[k + 1]; e++) {
            zk_fr t;
            entries[e] =
                (zk_sparse_entry){(uint32_t)(zk_test_rand(&seed) % N_ROWS), (uint32_t)(zk_test_rand(&seed) % N_COEFS)};
            if (k == 2) entries[e] = (zk_sparse_entry){8 + e - start[k], 0}; /* P + P */
            if (k == 3) entries[e] = (zk_sparse_entry){9 + e - start[k], 0}; /* P - P */
            zk_fr_mul(&t, &row_scalar[entries[e].row], &coefs[entries[e].coef]);
            zk_fr_add(&expected[k], &expected[k], &t);
        }
    }
    multiples(points, column_scalar, N_COLUMNS);
    multiples(wanted, expected, N_COLUMNS);
    zk_sparse_columns columns = {N_COLUMNS, N_COEFS, start, entries, coefs};
    ZK_CHECK_OK(zk_g1_add_columns(points, &columns, rows, two_threads(), &err), err);
    for (uint32_t k = 0; k < N_COLUMNS; k++) ZK_CHECKF(zk_g1_affine_eq(&points[k], &wanted[k]), "column %u", k);
    columns.n = 0;
    ZK_CHECK_OK(zk_g1_add_columns(NULL, &columns, rows, two_threads(), &err), err);
}

ZK_TEST_MAIN(ZK_CASE(test_digits), ZK_CASE(test_multiples), ZK_CASE(test_transform), ZK_CASE(test_long_transform),
             ZK_CASE(test_progress), ZK_CASE(test_columns))
