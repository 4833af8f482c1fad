/* G1 and G2 in AVX-512 IFMA; see ifma_group.inc. On a CPU without, every case passes empty. */
#include "base/mem.h"
#include "msm/ifma/ifma.h"
#include "zk_test.h"

static zk_pool *two_threads(void) {
    static zk_pool *pool;
    if (!pool) {
        cuzk_err err = {0};
        ZK_CHECK_OK(zk_pool_create(&pool, 2, &err), err);
    }
    return pool;
}

static zk_fr *new_scalars(size_t n) {
    zk_fr *s = calloc(n + 1, sizeof *s);
    ZK_CHECK(s);
    return s;
}

static zk_fr fr_random(uint64_t *seed) {
    uint8_t bytes[64];
    zk_fr r;
    for (int i = 0; i < 8; i++) {
        uint64_t v = zk_test_rand(seed);
        memcpy(bytes + 8 * i, &v, 8);
    }
    zk_fr_from_bytes_wide(&r, bytes);
    return r;
}

#define LARGE 9001
#define T(name) g1_##name
#define AFFINE zk_g1_affine
#define POINT zk_g1
#define GROUP(name) zk_g1_##name
#define MSM_TUNED zk_msm_g1_ifma_tuned
#define MASKED_IFMA zk_masked_sum_g1_ifma
#define SUBSET(name) zk_subset_table_g1_##name
#define FIXED_IFMA zk_fixed_base_g1_mul_ifma
#include "ifma_group.inc"
#undef LARGE
#undef T
#undef AFFINE
#undef POINT
#undef GROUP
#undef MSM_TUNED
#undef MASKED_IFMA
#undef SUBSET
#undef FIXED_IFMA

#define LARGE 4500
#define T(name) g2_##name
#define AFFINE zk_g2_affine
#define POINT zk_g2
#define GROUP(name) zk_g2_##name
#define MSM_TUNED zk_msm_g2_ifma_tuned
#define MASKED_IFMA zk_masked_sum_g2_ifma
#define SUBSET(name) zk_subset_table_g2_##name
#define FIXED_IFMA zk_fixed_base_g2_mul_ifma
#include "ifma_group.inc"

ZK_TEST_MAIN(ZK_CASE(g1_msm_sizes), ZK_CASE(g2_msm_sizes), ZK_CASE(g1_msm_collisions), ZK_CASE(g2_msm_collisions),
             ZK_CASE(g1_masked), ZK_CASE(g2_masked), ZK_CASE(g1_fixed), ZK_CASE(g2_fixed))
