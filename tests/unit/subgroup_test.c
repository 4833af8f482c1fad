/* Random sums for the subgroup check: draws, and the sums of every variant. */
#include "hash/chacha.h"
#include "msm/subgroup.h"
#include "zk_test.h"

static const uint8_t key[32] = {1, 2, 3, 0xff};

/* Repeatable, different for neighbours, passes and keys; every turn comes up, and each sign half the time. */
static void test_draws(void) {
    enum { N = 3000 };
    static zk_subgroup_draw draw, other;
    static unsigned first_turns[16], minus[ZK_SUBGROUP_PASSES];
    uint8_t other_key[32] = {1, 2, 3, 0xfe}, stream[8];
    zk_chacha c;
    for (uint64_t i = 0; i < N; i++) {
        zk_subgroup_draw_block(&draw, key, i << 20);
        for (size_t pass = 0; pass < ZK_SUBGROUP_PASSES; pass++) {
            ZK_CHECK(draw.turn[pass] < ZK_SUBGROUP_LANES);
            first_turns[draw.turn[pass] / (ZK_SUBGROUP_LANES / 16)]++;
            for (size_t k = 0; k < ZK_SUBGROUP_LANES / 64; k++)
                minus[pass] += (unsigned)__builtin_popcountll(draw.minus[pass][k]);
        }
        ZK_CHECK(memcmp(draw.minus[0], draw.minus[1], sizeof draw.minus[0]) != 0);
        ZK_CHECK(memcmp(draw.minus[1], draw.minus[2], sizeof draw.minus[0]) != 0);
    }
    for (int i = 0; i < 16; i++) /* 562 expected, deviation 23 */
        ZK_CHECKF(first_turns[i] > 400 && first_turns[i] < 730, "%u turns in part %d", first_turns[i], i);
    for (int i = 0; i < ZK_SUBGROUP_PASSES; i++) {
        const double share = minus[i] / (double)(N * ZK_SUBGROUP_LANES);
        ZK_CHECKF(share > 0.499 && share < 0.501, "pass %d: %g are subtracted", i, share);
    }
    for (uint64_t i = 0; i < 3; i++) {
        zk_subgroup_draw_block(&draw, key, i);
        zk_subgroup_draw_block(&other, key, i);
        ZK_CHECK(memcmp(&draw, &other, sizeof draw) == 0);
        zk_subgroup_draw_block(&other, key, i + 1);
        ZK_CHECK(memcmp(draw.minus, other.minus, sizeof draw.minus) != 0);
        zk_subgroup_draw_block(&other, other_key, i);
        ZK_CHECK(memcmp(draw.minus, other.minus, sizeof draw.minus) != 0);
    }
    /* Blocks are apart in the stream: the last word of one is not the first of the next. */
    zk_chacha_init_wide(&c, 12, key);
    zk_chacha_read(&c, stream, 8);
    zk_subgroup_draw_block(&draw, key, 0);
    ZK_CHECK(draw.turn[0] == ((uint32_t)stream[0] | (uint32_t)stream[1] << 8) % ZK_SUBGROUP_LANES);
}

#define T(name) g1_##name
#define AFFINE zk_g1_affine
#define POINT zk_g1
#define GROUP(name) zk_g1_##name
#include "subgroup_group.inc"
#undef T
#undef AFFINE
#undef POINT
#undef GROUP

#define T(name) g2_##name
#define AFFINE zk_g2_affine
#define POINT zk_g2
#define GROUP(name) zk_g2_##name
#include "subgroup_group.inc"

ZK_TEST_MAIN(ZK_CASE(test_draws), ZK_CASE(g1_sums), ZK_CASE(g2_sums))
