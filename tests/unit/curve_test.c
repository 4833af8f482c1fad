/* curve.json, every entry, and properties of both groups, for each variant of the field functions. */
#include "curve/curve.h"
#include "field_variants.h"
#include "zk_json.h"

static void random_fp(zk_fp *r, uint64_t *seed) {
    uint64_t limbs[6];
    for (int i = 0; i < 6; i++) limbs[i] = zk_test_rand(seed);
    limbs[5] >>= 4;
    zk_fp_from_limbs(r, limbs);
}

#define FE zk_fp
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
             BOTH(g2_verdicts), BOTH(g2_subgroup), BOTH(g2_scalars), BOTH(g2_batch))
