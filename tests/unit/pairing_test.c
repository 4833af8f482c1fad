/* The tower parts of field.json, all of pairing.json, and what must hold between them, for each variant of the field
 * functions. */
#include "base/pool.h"
#include "pairing/pairing.h"
#include "pairing/tower.h"
#include "field_variants.h"
#include "zk_json.h"

/* ---- reading ---- */

static zk_fp fp(const zk_json *v) {
    uint8_t bytes[48];
    zk_fp r;
    zk_json_hex(bytes, 48, v);
    ZK_CHECK(zk_fp_from_bytes_le(&r, bytes));
    return r;
}

static zk_fp2 fp2(const zk_json *v) { return (zk_fp2){fp(zk_json_at(v, 0)), fp(zk_json_at(v, 1))}; }
static zk_fp6 fp6(const zk_json *v) {
    return (zk_fp6){fp2(zk_json_at(v, 0)), fp2(zk_json_at(v, 1)), fp2(zk_json_at(v, 2))};
}
static zk_fp12 fp12(const zk_json *v) { return (zk_fp12){fp6(zk_json_at(v, 0)), fp6(zk_json_at(v, 1))}; }

static const zk_json *tower_vectors(const char *section) {
    static const zk_json *file;
    if (!file) file = zk_json_load("primitives/field.json");
    return zk_json_get(file, section);
}

static const zk_json *pairing_vectors(const char *section) {
    static const zk_json *file;
    if (!file) file = zk_json_load("primitives/pairing.json");
    return zk_json_get(file, section);
}

static zk_g1_affine g1(const zk_json *v) {
    uint8_t bytes[48];
    zk_g1_affine r;
    zk_json_hex(bytes, 48, v);
    ZK_CHECK(zk_g1_decompress(&r, bytes, true) == ZK_POINT_OK);
    return r;
}

static zk_g2_affine g2(const zk_json *v) {
    uint8_t bytes[96];
    zk_g2_affine r;
    zk_json_hex(bytes, 96, v);
    ZK_CHECK(zk_g2_decompress(&r, bytes, true) == ZK_POINT_OK);
    return r;
}

static void random_fp12(zk_fp12 *r, uint64_t *seed) {
    zk_fp *parts = (zk_fp *)r;
    for (int i = 0; i < 12; i++) {
        uint64_t limbs[6];
        for (int k = 0; k < 6; k++) limbs[k] = zk_test_rand(seed);
        limbs[5] >>= 4;
        zk_fp_from_limbs(&parts[i], limbs);
    }
}

static zk_g1_affine g1_multiple(uint64_t k) {
    zk_g1 p;
    zk_g1_affine r;
    zk_fr scalar;
    zk_fr_from_u64(&scalar, k);
    zk_g1_from_affine(&p, &zk_g1_generator);
    zk_g1_mul_var(&p, &p, &scalar);
    zk_g1_to_affine(&r, &p);
    return r;
}

static zk_g2_affine g2_multiple(uint64_t k) {
    zk_g2 p;
    zk_g2_affine r;
    zk_fr scalar;
    zk_fr_from_u64(&scalar, k);
    zk_g2_from_affine(&p, &zk_g2_generator);
    zk_g2_mul_var(&p, &p, &scalar);
    zk_g2_to_affine(&r, &p);
    return r;
}

/* ---- the tower ---- */

static void test_fp6_vectors(void) {
    const zk_json *all = tower_vectors("fp6"), *list = zk_json_get(all, "mul");
    ZK_CHECK(list->n > 0);
    for (size_t i = 0; i < list->n; i++) {
        const zk_json *e = zk_json_at(list, i);
        zk_fp6 a = fp6(zk_json_at(e, 0)), b = fp6(zk_json_at(e, 1)), expected = fp6(zk_json_at(e, 2)), r;
        zk_fp6_mul(&r, &a, &b);
        ZK_CHECKF(zk_fp6_eq(&r, &expected), "mul, entry %zu", i);
        r = a;
        zk_fp6_mul(&r, &r, &b);
        ZK_CHECKF(zk_fp6_eq(&r, &expected), "mul in place, entry %zu", i);
        zk_fp6_mul(&b, &a, &b);
        ZK_CHECKF(zk_fp6_eq(&b, &expected), "mul in place, entry %zu", i);
    }
    list = zk_json_get(all, "square");
    ZK_CHECK(list->n > 0);
    for (size_t i = 0; i < list->n; i++) {
        zk_fp6 a = fp6(zk_json_at(zk_json_at(list, i), 0)), expected = fp6(zk_json_at(zk_json_at(list, i), 1));
        zk_fp6_sqr(&a, &a);
        ZK_CHECKF(zk_fp6_eq(&a, &expected), "square, entry %zu", i);
    }
    list = zk_json_get(all, "inverse");
    ZK_CHECK(list->n > 0);
    for (size_t i = 0; i < list->n; i++) {
        const zk_json *out = zk_json_at(zk_json_at(list, i), 1);
        zk_fp6 a = fp6(zk_json_at(zk_json_at(list, i), 0));
        bool ok = zk_fp6_inv_var(&a, &a);
        ZK_CHECKF(ok == (out->kind != ZK_JSON_NULL), "inverse, entry %zu", i);
        zk_fp6 expected = ok ? fp6(out) : zk_fp6_zero;
        ZK_CHECKF(zk_fp6_eq(&a, &expected), "inverse, entry %zu", i);
    }
    list = zk_json_get(all, "mul_by_v");
    ZK_CHECK(list->n > 0);
    for (size_t i = 0; i < list->n; i++) {
        zk_fp6 a = fp6(zk_json_at(zk_json_at(list, i), 0)), expected = fp6(zk_json_at(zk_json_at(list, i), 1));
        zk_fp6_mul_v(&a, &a);
        ZK_CHECKF(zk_fp6_eq(&a, &expected), "times v, entry %zu", i);
    }
    list = zk_json_get(all, "frobenius");
    ZK_CHECK(list->n > 0);
    for (size_t i = 0; i < list->n; i++) {
        const zk_json *e = zk_json_at(list, i);
        zk_fp6 a = fp6(zk_json_get(e, "in")), expected = fp6(zk_json_get(e, "out"));
        zk_fp6_frobenius(&a, &a, (unsigned)zk_json_get(e, "power")->number);
        ZK_CHECKF(zk_fp6_eq(&a, &expected), "frobenius, entry %zu", i);
    }
    zk_fp6 zero = zk_fp6_zero;
    ZK_CHECK(!zk_fp6_inv_var(&zero, &zero) && zk_fp6_is_zero(&zero));
}

static void test_fp12_vectors(void) {
    const zk_json *all = tower_vectors("fp12"), *list = zk_json_get(all, "mul");
    ZK_CHECK(list->n > 0);
    for (size_t i = 0; i < list->n; i++) {
        const zk_json *e = zk_json_at(list, i);
        zk_fp12 a = fp12(zk_json_at(e, 0)), b = fp12(zk_json_at(e, 1)), expected = fp12(zk_json_at(e, 2)), r;
        zk_fp12_mul(&r, &a, &b);
        ZK_CHECKF(zk_fp12_eq(&r, &expected), "mul, entry %zu", i);
        r = a;
        zk_fp12_mul(&r, &r, &b);
        ZK_CHECKF(zk_fp12_eq(&r, &expected), "mul in place, entry %zu", i);
        zk_fp12_mul(&b, &a, &b);
        ZK_CHECKF(zk_fp12_eq(&b, &expected), "mul in place, entry %zu", i);
    }
    list = zk_json_get(all, "square");
    ZK_CHECK(list->n > 0);
    for (size_t i = 0; i < list->n; i++) {
        zk_fp12 a = fp12(zk_json_at(zk_json_at(list, i), 0)), expected = fp12(zk_json_at(zk_json_at(list, i), 1));
        zk_fp12_sqr(&a, &a);
        ZK_CHECKF(zk_fp12_eq(&a, &expected), "square, entry %zu", i);
    }
    list = zk_json_get(all, "inverse");
    ZK_CHECK(list->n > 0);
    for (size_t i = 0; i < list->n; i++) {
        const zk_json *out = zk_json_at(zk_json_at(list, i), 1);
        zk_fp12 a = fp12(zk_json_at(zk_json_at(list, i), 0));
        bool ok = zk_fp12_inv_var(&a, &a);
        ZK_CHECKF(ok == (out->kind != ZK_JSON_NULL), "inverse, entry %zu", i);
        zk_fp12 expected = ok ? fp12(out) : zk_fp12_zero;
        ZK_CHECKF(zk_fp12_eq(&a, &expected), "inverse, entry %zu", i);
    }
    list = zk_json_get(all, "conjugate");
    ZK_CHECK(list->n > 0);
    for (size_t i = 0; i < list->n; i++) {
        zk_fp12 a = fp12(zk_json_at(zk_json_at(list, i), 0)), expected = fp12(zk_json_at(zk_json_at(list, i), 1)), b;
        zk_fp12_frobenius(&b, &a, 6);
        ZK_CHECKF(zk_fp12_eq(&b, &expected), "conjugate by frobenius, entry %zu", i);
        zk_fp12_conjugate(&a, &a);
        ZK_CHECKF(zk_fp12_eq(&a, &expected), "conjugate, entry %zu", i);
    }
    list = zk_json_get(all, "frobenius");
    ZK_CHECK(list->n > 0);
    for (size_t i = 0; i < list->n; i++) {
        const zk_json *e = zk_json_at(list, i);
        zk_fp12 a = fp12(zk_json_get(e, "in")), expected = fp12(zk_json_get(e, "out"));
        zk_fp12_frobenius(&a, &a, (unsigned)zk_json_get(e, "power")->number);
        ZK_CHECKF(zk_fp12_eq(&a, &expected), "frobenius, entry %zu", i);
    }
    zk_fp12 zero = zk_fp12_zero;
    ZK_CHECK(!zk_fp12_inv_var(&zero, &zero) && zk_fp12_eq(&zero, &zk_fp12_zero));
}

/* Frobenius powers compose, up to 12 and beyond; power 1 is a^p by plain exponentiation. */
static void test_frobenius_powers(void) {
    uint64_t seed = 21;
    zk_fp12 a, step, direct;
    random_fp12(&a, &seed);
    step = zk_fp12_one;
    for (int i = 380; i >= 0; i--) {
        zk_fp12_sqr(&step, &step);
        if (zk_fp_modulus[i / 64] >> (i % 64) & 1) zk_fp12_mul(&step, &step, &a);
    }
    zk_fp12_frobenius(&direct, &a, 1);
    ZK_CHECK(zk_fp12_eq(&direct, &step));
    step = a;
    for (unsigned power = 0; power <= 13; power++) {
        zk_fp12_frobenius(&direct, &a, power);
        ZK_CHECKF(zk_fp12_eq(&direct, &step), "power %u", power);
        zk_fp6 half;
        zk_fp6_frobenius(&half, &a.c0, power);
        ZK_CHECKF(zk_fp6_eq(&half, &step.c0), "fp6, power %u", power);
        zk_fp12_frobenius(&step, &step, 1);
    }
    ZK_CHECK(!zk_fp12_eq(&a, &step));
}

static void test_sparse(void) {
    uint64_t seed = 22;
    for (int round = 0; round < 8; round++) {
        zk_fp12 a, b, line[2] = {zk_fp12_zero, zk_fp12_zero}, expected, r;
        random_fp12(&a, &seed);
        zk_fp2 l[2][3];
        for (int k = 0; k < 2; k++) {
            random_fp12(&b, &seed);
            if (round == 1) b = zk_fp12_zero;
            if (round == 2) b.c0.c1 = zk_fp2_zero;
            line[k].c0.c0 = l[k][0] = b.c0.c0;
            line[k].c0.c1 = l[k][1] = b.c0.c1;
            line[k].c1.c1 = l[k][2] = b.c1.c1;
        }
        zk_fp12_mul(&expected, &a, &line[0]);
        zk_fp12_mul_by_014(&r, &a, &l[0][0], &l[0][1], &l[0][2]);
        ZK_CHECKF(zk_fp12_eq(&r, &expected), "round %d", round);
        zk_fp12_mul(&expected, &expected, &line[1]);
        r = a;
        zk_fp12_mul_by_two_lines(&r, &r, (const zk_fp2(*)[3])l);
        ZK_CHECKF(zk_fp12_eq(&r, &expected), "round %d", round);
        line[0].c1.c1 = zk_fp2_one;
        zk_fp12_mul(&expected, &a, &line[0]);
        r = a;
        zk_fp12_mul_by_01_one(&r, &r, &l[0][0], &l[0][1]);
        ZK_CHECKF(zk_fp12_eq(&r, &expected), "round %d", round);
    }
}

/* Elements a^((p^6 - 1)(p^2 + 1)). */
static void test_cyclotomic(void) {
    uint64_t seed = 23;
    for (int round = 0; round < 8; round++) {
        zk_fp12 a, t, m, plain;
        random_fp12(&a, &seed);
        ZK_CHECK(zk_fp12_inv_var(&t, &a));
        zk_fp12_conjugate(&m, &a);
        zk_fp12_mul(&m, &m, &t);
        zk_fp12_frobenius(&t, &m, 2);
        zk_fp12_mul(&m, &m, &t);
        for (int k = 0; k < 3; k++) {
            zk_fp12_sqr(&plain, &m);
            zk_fp12_cyclotomic_sqr(&m, &m);
            ZK_CHECKF(zk_fp12_eq(&plain, &m), "round %d, step %d", round, k);
        }
    }
}

/* ---- pairings ---- */

static bool product_is_one_prepared(const zk_g1_affine *p, const zk_g2_affine *q, size_t n) {
    char *memory = malloc(zk_g2_prepared_bytes() * (n + 1));
    const zk_g2_prepared *prepared[64];
    ZK_CHECK(memory && n <= 64);
    for (size_t i = 0; i < n; i++) {
        zk_g2_prepared *one = (zk_g2_prepared *)(void *)(memory + i * zk_g2_prepared_bytes());
        zk_g2_prepare(one, &q[i]);
        prepared[i] = one;
    }
    zk_fp12 f;
    zk_pairing_miller_loop_prepared(&f, p, prepared, n);
    free(memory);
    zk_pairing_final_exp(&f, &f);
    return zk_fp12_is_one(&f);
}

static void test_pairing_cases(void) {
    const zk_json *list = pairing_vectors("cases");
    ZK_CHECK(list->n > 0);
    for (size_t i = 0; i < list->n; i++) {
        const zk_json *e = zk_json_at(list, i), *pairs = zk_json_get(e, "pairs");
        bool expected = zk_json_get(e, "product_is_one")->truth;
        zk_g1_affine p[32];
        zk_g2_affine q[32];
        ZK_CHECK(pairs->n <= 32);
        for (size_t k = 0; k < pairs->n; k++) {
            p[k] = g1(zk_json_at(zk_json_at(pairs, k), 0));
            q[k] = g2(zk_json_at(zk_json_at(pairs, k), 1));
        }
        ZK_CHECKF(zk_pairing_product_is_one(p, q, pairs->n) == expected, "%s", zk_json_text(zk_json_get(e, "name")));
        ZK_CHECKF(product_is_one_prepared(p, q, pairs->n) == expected, "%s", zk_json_text(zk_json_get(e, "name")));
    }
}

static void test_pairing_gt(void) {
    const zk_json *list = pairing_vectors("gt");
    ZK_CHECK(list->n > 0);
    for (size_t i = 0; i < list->n; i++) {
        const zk_json *e = zk_json_at(list, i);
        uint8_t scalar[32], expected[12 * 48], got[12 * 48], torus[6 * 48];
        zk_fr a, b;
        zk_json_hex(scalar, 32, zk_json_get(e, "a"));
        ZK_CHECK(zk_fr_from_bytes_le(&a, scalar));
        zk_json_hex(scalar, 32, zk_json_get(e, "b"));
        ZK_CHECK(zk_fr_from_bytes_le(&b, scalar));
        zk_g1 p;
        zk_g2 q;
        zk_g1_affine pa;
        zk_g2_affine qa;
        zk_g1_from_affine(&p, &zk_g1_generator);
        zk_g2_from_affine(&q, &zk_g2_generator);
        zk_g1_mul_var(&p, &p, &a);
        zk_g2_mul_var(&q, &q, &b);
        zk_g1_to_affine(&pa, &p);
        zk_g2_to_affine(&qa, &q);
        zk_fp12 gt;
        zk_pairing(&gt, &pa, &qa);
        for (int k = 0; k < 12; k++) zk_fp_to_bytes_le(got + 48 * k, (const zk_fp *)&gt + k);
        zk_json_hex(expected, sizeof expected, zk_json_get(e, "fp12"));
        ZK_CHECKF(memcmp(got, expected, sizeof got) == 0, "entry %zu", i);
        /* Torus form: t = (c0 + 1)/c1. */
        zk_fp6 t, inverse;
        zk_fp6_add(&t, &gt.c0, &zk_fp6_one);
        ZK_CHECK(zk_fp6_inv_var(&inverse, &gt.c1));
        zk_fp6_mul(&t, &t, &inverse);
        zk_json_hex(torus, sizeof torus, zk_json_get(e, "torus_compressed"));
        for (int k = 0; k < 6; k++) zk_fp_to_bytes_le(got + 48 * k, (const zk_fp *)&t + k);
        ZK_CHECKF(memcmp(got, torus, sizeof torus) == 0, "entry %zu, torus form", i);
    }
}

/* Group sizes round the number of pairs that share squarings, with infinities in between. */
static void test_pairing_sizes(void) {
    static const size_t sizes[] = {0, 1, 2, 15, 16, 17, 31, 32, 33};
    zk_g1_affine p[34], infinity1 = {zk_fp_zero, zk_fp_zero};
    zk_g2_affine q[34], infinity2 = {zk_fp2_zero, zk_fp2_zero};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        size_t n = sizes[k];
        uint64_t sum = 0;
        for (size_t i = 0; i < n; i++) {
            p[i] = g1_multiple(i + 2);
            q[i] = g2_multiple(3 * i + 1);
            if (n >= 15 && i % 7 == 3)
                p[i] = infinity1;
            else if (n >= 15 && i == 14)
                q[i] = infinity2;
            else
                sum += (i + 2) * (3 * i + 1);
        }
        p[n] = g1_multiple(sum);
        zk_g1_affine_neg(&p[n], &p[n]);
        q[n] = zk_g2_generator;
        ZK_CHECKF(zk_pairing_product_is_one(p, q, n + 1), "n = %zu", n);
        ZK_CHECKF(product_is_one_prepared(p, q, n + 1), "n = %zu", n);
        p[n] = g1_multiple(sum + 1);
        zk_g1_affine_neg(&p[n], &p[n]);
        ZK_CHECKF(!zk_pairing_product_is_one(p, q, n + 1), "n = %zu", n);
        ZK_CHECKF(!product_is_one_prepared(p, q, n + 1), "n = %zu", n);
    }
    ZK_CHECK(zk_pairing_product_is_one(NULL, NULL, 0));
    zk_fp12 one;
    zk_pairing_miller_loop_prepared(&one, NULL, NULL, 0);
    ZK_CHECK(zk_fp12_is_one(&one));
    zk_pairing_final_exp(&one, &zk_fp12_zero);
    ZK_CHECK(!zk_fp12_is_one(&one));
}

/* Walking and prepared pairs together, in lanes, in scalar groups, on threads: the value of the simple loop. */
static void test_pairing_many(void) {
    enum { MOST = 320, N_PREPARED = 3, N_POOLS = 4 };
    /* On 40 threads, 320 pairs are more groups than are held at a time. */
    static const unsigned n_threads[N_POOLS] = {1, 2, 3, 40};
    static const size_t sizes[] = {0, 1, 2, 5, 7, 8, 9, 13, 16, 17, 61, 64, 65, 128, 150, MOST};
    static zk_g1_affine p[MOST];
    static zk_g2_affine q[MOST];
    zk_g1_affine infinity1 = {zk_fp_zero, zk_fp_zero}, prepared_p[N_PREPARED];
    zk_g2_affine infinity2 = {zk_fp2_zero, zk_fp2_zero}, prepared_q[N_PREPARED];
    zk_g2_prepared *prepared[N_PREPARED];
    zk_pool *pools[N_POOLS] = {NULL};
    cuzk_err err = {0};
    for (unsigned t = 1; t < N_POOLS; t++) ZK_CHECK_OK(zk_pool_create(&pools[t], n_threads[t], &err), err);
    for (size_t i = 0; i < MOST; i++) {
        p[i] = g1_multiple(5 * i + 2);
        q[i] = g2_multiple(3 * i + 1);
        if (i % 11 == 6) p[i] = infinity1;
        if (i == 14 || (i >= 64 && i < 72)) q[i] = infinity2;
    }
    for (size_t i = 0; i < N_PREPARED; i++) {
        prepared_p[i] = i == 1 ? infinity1 : g1_multiple(i + 1000);
        prepared_q[i] = g2_multiple(i + 2000);
        prepared[i] = malloc(zk_g2_prepared_bytes());
        ZK_CHECK(prepared[i]);
        zk_g2_prepare(prepared[i], &prepared_q[i]);
    }
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        const size_t n = sizes[k];
        for (size_t m = 0; m <= N_PREPARED; m += N_PREPARED) {
            zk_fp12 expected, rest, found;
            zk_pairing_miller_loop(&expected, p, q, n);
            zk_pairing_miller_loop(&rest, prepared_p, prepared_q, m);
            zk_fp12_mul(&expected, &expected, &rest);
            zk_pairing_final_exp(&expected, &expected);
            ZK_CHECK(n + m == 0 || !zk_fp12_is_one(&expected));
            for (unsigned t = 0; t < N_POOLS; t++) {
                zk_pairing_miller_loop_many(&found, p, q, n, prepared_p, (const zk_g2_prepared *const *)prepared, m,
                                            pools[t]);
                zk_pairing_final_exp(&found, &found);
                ZK_CHECKF(zk_fp12_eq(&found, &expected), "n = %zu, %zu prepared, pool %u", n, m, t);
            }
        }
    }
    for (size_t i = 0; i < N_PREPARED; i++) free(prepared[i]);
    for (unsigned t = 1; t < N_POOLS; t++) zk_pool_destroy(pools[t]);
}

static void test_pairing_many_portable_cpu(void) {
    setenv("CUZK_CPU", "portable", 1);
    test_pairing_many();
    unsetenv("CUZK_CPU");
}

VARIANTS(test_fp6_vectors)
VARIANTS(test_fp12_vectors)
VARIANTS(test_frobenius_powers)
VARIANTS(test_sparse)
VARIANTS(test_cyclotomic)
VARIANTS(test_pairing_cases)
VARIANTS(test_pairing_gt)
VARIANTS(test_pairing_sizes)

ZK_TEST_MAIN(BOTH(test_fp6_vectors), BOTH(test_fp12_vectors), BOTH(test_frobenius_powers), BOTH(test_sparse),
             BOTH(test_cyclotomic), BOTH(test_pairing_cases), BOTH(test_pairing_gt), BOTH(test_pairing_sizes),
             ZK_CASE(test_pairing_many), ZK_CASE(test_pairing_many_portable_cpu))
