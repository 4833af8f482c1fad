/* Membership of many points in the subgroups of order r, by random sums.
 *
 * A pass has ZK_SUBGROUP_LANES sums. Points come in blocks of as many: a block is turned by a random amount, each of
 * its points is added to the sum it comes to lie at, or subtracted, at random, and each sum is tested in the end. There
 * are ZK_SUBGROUP_PASSES passes.
 *
 * Say some points are outside, with parts T outside the subgroup. Take the last block that has any, m of them. However
 * the others fell, these must come to lie on m certain sums, which at most m of the turns do, and then each must have
 * one certain sign: the orders of the curves are odd, so T and -T differ. A pass misses with probability at most
 * m 2^-m / LANES <= 1 / (2 LANES), whatever the orders of the parts are (3 divides the cofactor of G1, 13 that of G2;
 * random combinations with one coefficient a point would miss one time in 3). All passes:
 * 2^-(PASSES (LOG2_LANES + 1)).
 *
 * Functions named zk_g2_* do in G2 exactly what zk_g1_* do in G1.
 */
#ifndef ZK_MSM_SUBGROUP_H
#define ZK_MSM_SUBGROUP_H

#include "curve/curve.h"

#define ZK_SUBGROUP_LOG2_LANES 13
#define ZK_SUBGROUP_LANES ((size_t)1 << ZK_SUBGROUP_LOG2_LANES)
#define ZK_SUBGROUP_PASSES 3
#define ZK_SUBGROUP_SUMS (ZK_SUBGROUP_PASSES * ZK_SUBGROUP_LANES)

/* The random choices for a block: sum i of a pass takes point (i + turn) mod ZK_SUBGROUP_LANES, subtracted if bit i of
 * the signs is set. */
typedef struct zk_subgroup_draw {
    uint32_t turn[ZK_SUBGROUP_PASSES];
    uint64_t minus[ZK_SUBGROUP_PASSES][ZK_SUBGROUP_LANES / 64];
} zk_subgroup_draw;

/* From a key nobody could foresee when the points were made, by ChaCha12. `block` is a number below 2^50 that no other
 * block of the check has. */
void zk_subgroup_draw_block(zk_subgroup_draw *draw, const uint8_t key[32], uint64_t block);

/* The sums of one thread: what it added. */
#define ZK_SUBGROUP_DECLARE(g)                                                                                         \
    typedef struct zk_##g##_subgroup_sums zk_##g##_subgroup_sums;                                                      \
    cuzk_status zk_##g##_subgroup_sums_create(zk_##g##_subgroup_sums **sums, cuzk_err *err) ZK_MUST_USE;               \
    void zk_##g##_subgroup_sums_destroy(zk_##g##_subgroup_sums *sums); /* NULL is fine */                              \
    /* Points on the curve: [n_points], n_draws blocks, of which the last may have fewer. */                           \
    void zk_##g##_subgroup_sums_add(zk_##g##_subgroup_sums *sums, const zk_##g##_affine *points, size_t n_points,      \
                                    const zk_subgroup_draw *draws);                                                    \
    /* r: [ZK_SUBGROUP_LANES] the sums of a pass. */                                                                   \
    void zk_##g##_subgroup_sums_get(zk_##g##_affine *r, const zk_##g##_subgroup_sums *sums, unsigned pass);            \
    /* Adds what another thread added; `other` is good for nothing but to be destroyed then. */                        \
    void zk_##g##_subgroup_sums_join(zk_##g##_subgroup_sums *sums, zk_##g##_subgroup_sums *other);

ZK_SUBGROUP_DECLARE(g1)
ZK_SUBGROUP_DECLARE(g2)

#endif
