/* Many independent additions of affine points with one inversion.
 *
 * a[p.a] += b[p.b] (or -b[p.b]) for each pair p. Complete: equal and opposite points and infinity on either side give
 * the exact result. Cost per addition: 5 M + 1 S, and the share of one inversion and 21 M (Montgomery's trick, eight
 * products side by side, which fill the multiplier and are the lanes of a vector version).
 *
 * Everything above (buckets, sums, tables) reduces to this one call, so it is also the place for vector code.
 */
#ifndef ZK_MSM_BATCH_AFFINE_H
#define ZK_MSM_BATCH_AFFINE_H

#include "curve/curve.h"

#define ZK_PAIR_NEGATE ((uint32_t)1 << 31)

typedef struct zk_affine_pair {
    uint32_t a;
    uint32_t b; /* top bit: subtract */
} zk_affine_pair;

/* Most pairs in one call: the scratch, the points and those fetched ahead stay within an L2 cache of 1 MiB. */
#define ZK_G1_BATCH_MAX 1024
#define ZK_G2_BATCH_MAX 512

/* Memory that the caller will read after this call: fetched into cache while the additions are computed. Zeroed: none.
 */
typedef struct zk_ahead {
    void (*fetch)(const void *ctx, size_t i); /* prefetches item i */
    const void *ctx;
    size_t next, end; /* items not yet asked for; next moves on */
} zk_ahead;

typedef struct zk_g1_batch {
    zk_ahead ahead;
    zk_fp denominator[ZK_G1_BATCH_MAX], product[ZK_G1_BATCH_MAX];
    uint8_t kind[ZK_G1_BATCH_MAX];
} zk_g1_batch;

typedef struct zk_g2_batch {
    zk_ahead ahead;
    zk_fp2 denominator[ZK_G2_BATCH_MAX], product[ZK_G2_BATCH_MAX];
    uint8_t kind[ZK_G2_BATCH_MAX];
} zk_g2_batch;

/* n <= ZK_G*_BATCH_MAX. Each element of a stands in at most one pair; an element of b may stand in many, but not be one
 * of the elements of a that change. a and b may be one array. Indices are below 2^31. scratch->ahead must be set. */
void zk_g1_batch_add(zk_g1_affine *a, const zk_g1_affine *b, const zk_affine_pair *pairs, size_t n,
                     zk_g1_batch *scratch);
void zk_g2_batch_add(zk_g2_affine *a, const zk_g2_affine *b, const zk_affine_pair *pairs, size_t n,
                     zk_g2_batch *scratch);

#endif
