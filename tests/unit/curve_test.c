/* curve.json, every entry, and properties of both groups, for each variant of the field functions. */
#include "base/pool.h"
#include "curve/curve.h"
#include "curve/many.h"
#include "field_variants.h"
#include "rounding_mode.h"
#include "zk_json.h"

/* With less of the CPU, and with rounding up, which is to be back afterwards. */
static void on_other_cpus(void (*test)(void)) {
    static const char *const limits[] = {"portable", "avx2"};
    const unsigned usual = mode_now();
    for (int i = 0; i < 2; i++) {
        setenv("CUZK_CPU", limits[i], 1);
        mode_set(0x5f80);
        const unsigned before = mode_now();
        test();
        ZK_CHECK(mode_now() == before);
        mode_set(usual);
    }
    unsetenv("CUZK_CPU");
}

static void random_fp(zk_fp *r, uint64_t *seed) {
    uint64_t limbs[6];
    for (int i = 0; i < 6; i++) limbs[i] = zk_test_rand(seed);
    limbs[5] >>= 4;
    zk_fp_from_limbs(r, limbs);
}

#define FE zk_fp
#define FE_FIRST_LIMB l[0]
#define FE_(name) zk_fp_##name
#define POINT zk_g1
#define AFFINE zk_g1_affine
#define GROUP(name) zk_g1_##name
#define CASE(name) g1_##name
#define SECTION "g1"
#define COMPRESSED 48
#define COFACTOR                                                                                                       \
    { 0x8c00aaab0000aaab, 0x396c8c005555e156 }
#define SMALL_ORDERS                                                                                                   \
    { 3, 11, 10177, 859267 }
static void g1_random_element(zk_fp *r, uint64_t *seed) { random_fp(r, seed); }
#include "curve_cases.inc"
#undef FE
#undef FE_FIRST_LIMB
#undef FE_
#undef POINT
#undef AFFINE
#undef GROUP
#undef CASE
#undef SECTION
#undef COMPRESSED
#undef COFACTOR
#undef SMALL_ORDERS

#define FE zk_fp2
#define FE_FIRST_LIMB c0.l[0]
#define FE_(name) zk_fp2_##name
#define POINT zk_g2
#define AFFINE zk_g2_affine
#define GROUP(name) zk_g2_##name
#define CASE(name) g2_##name
#define SECTION "g2"
#define COMPRESSED 96
#define COFACTOR                                                                                                       \
    {                                                                                                                  \
        0xcf1c38e31c7238e5, 0x1616ec6e786f0c70, 0x21537e293a6691ae, 0xa628f1cb4d9e82ef, 0xa68a205b2e5a7ddf,            \
            0xcd91de4547085aba, 0x91d50792876a202, 0x5d543a95414e7f1                                                   \
    }
#define SMALL_ORDERS                                                                                                   \
    { 13, 23, 2713, 11953, 262069 }
static void g2_random_element(zk_fp2 *r, uint64_t *seed) {
    random_fp(&r->c0, seed);
    random_fp(&r->c1, seed);
}
#include "curve_cases.inc"

/* x with x^3 + 4 + 4u in Fp: 3 a^2 b - b^3 = -4 for x = a + b u. Their roots go another way. */
static void g2_many_real(void) {
    enum { N = 8 };
    uint8_t encoded[N][96];
    const uint8_t *bytes[N];
    zk_g2_affine a, r[N];
    zk_point_verdict verdicts[N];
    zk_fp four;
    zk_fp_from_u64(&four, 4);
    size_t n = 0;
    for (uint64_t v = 1; n < N; v++) {
        zk_fp b, t, u;
        zk_fp_from_u64(&b, v);
        zk_fp_sqr(&t, &b);
        zk_fp_mul(&t, &t, &b);
        zk_fp_sub(&t, &t, &four);
        zk_fp_double(&u, &b);
        zk_fp_add(&u, &u, &b);
        ZK_CHECK(zk_fp_inv_var(&u, &u));
        zk_fp_mul(&t, &t, &u);
        if (!zk_fp_sqrt_var(&a.x.c0, &t)) continue;
        a.x.c1 = b;
        a.y = zk_fp2_one;
        zk_g2_compress(encoded[n], &a);
        bytes[n] = encoded[n];
        zk_fp2 square;
        ZK_CHECK(zk_g2_decompress_begin(&a, &square, &verdicts[n], encoded[n]) && zk_fp_is_zero(&square.c1));
        n++;
    }
    zk_g2_decompress_many(r, verdicts, bytes, N, NULL);
    for (size_t i = 0; i < N; i++) {
        ZK_CHECK(zk_g2_decompress(&a, bytes[i], false) == ZK_POINT_OK);
        ZK_CHECKF(verdicts[i] == zk_g2_decompress(&a, bytes[i], true), "%zu: %d", i, verdicts[i]);
    }
}

static void g1_mul_pairs(void) {
    enum { N = 21 };
    static const uint64_t edges[] = {0, 1, 2, UINT64_MAX, (uint64_t)1 << 63, 0x5555555555555555};
    zk_g1_affine p[N], r[N];
    uint64_t pairs[N][2], seed = 4;
    for (size_t i = 0; i < N; i++) {
        zk_fr k;
        zk_g1 m;
        zk_fr_from_u64(&k, zk_test_rand(&seed));
        zk_g1_from_affine(&m, &zk_g1_generator);
        zk_g1_mul_var(&m, &m, &k);
        zk_g1_to_affine(&p[i], &m);
        for (int c = 0; c < 2; c++) pairs[i][c] = i < 12 ? edges[(i * (c + 1) + c) % 6] : zk_test_rand(&seed);
    }
    p[3] = p[17] = (zk_g1_affine){zk_fp_zero, zk_fp_zero};
    for (size_t n = 0; n <= N; n++) {
        memset(r, 0x5a, sizeof r);
        zk_g1_mul_pairs_many(r, p, (const uint64_t(*)[2])pairs, n, NULL);
        for (size_t i = 0; i < n; i++) {
            zk_g1 m, found;
            zk_fr k;
            zk_pair_to_fr(&k, pairs[i]);
            zk_g1_from_affine(&m, &p[i]);
            zk_g1_mul_var(&m, &m, &k);
            zk_g1_from_affine(&found, &r[i]);
            ZK_CHECKF(zk_g1_eq(&m, &found), "%zu of %zu", i, n);
        }
        if (n < N) ZK_CHECK(r[n].x.l[0] == 0x5a5a5a5a5a5a5a5a);
    }
    /* In place. */
    zk_g1_mul_pairs_many(p, p, (const uint64_t(*)[2])pairs, N, NULL);
    ZK_CHECK_MEM(p, r, sizeof r);
}

static void g1_mul_pairs_other_cpus(void) { on_other_cpus(g1_mul_pairs); }

VARIANTS(g1_vectors_arithmetic)
VARIANTS(g1_vectors_encodings)
VARIANTS(g1_verdicts)
VARIANTS(g1_subgroup)
VARIANTS(g1_scalars)
VARIANTS(g1_batch)
VARIANTS(g2_vectors_arithmetic)
VARIANTS(g2_vectors_encodings)
VARIANTS(g2_verdicts)
VARIANTS(g2_subgroup)
VARIANTS(g2_scalars)
VARIANTS(g2_batch)

ZK_TEST_MAIN(BOTH(g1_vectors_arithmetic), BOTH(g1_vectors_encodings), BOTH(g1_verdicts), BOTH(g1_subgroup),
             BOTH(g1_scalars), BOTH(g1_batch), BOTH(g2_vectors_arithmetic), BOTH(g2_vectors_encodings),
             BOTH(g2_verdicts), BOTH(g2_subgroup), BOTH(g2_scalars), BOTH(g2_batch), ZK_CASE(g1_many), ZK_CASE(g1_row),
             ZK_CASE(g1_many_other_cpus), ZK_CASE(g2_many), ZK_CASE(g2_row), ZK_CASE(g2_many_other_cpus),
             ZK_CASE(g2_many_real), ZK_CASE(g1_mul_pairs), ZK_CASE(g1_mul_pairs_other_cpus))
