/* The functions of msm.h in AVX-512 IFMA, with the same contracts. To be called only if zk_msm_ifma_usable(); the
 * public functions do so for inputs long enough to gain.
 *
 * Bases are read in their 64-bit form. A multiplication of n points takes about 230 n bytes in G1 and 840 n in G2
 * beside its buckets, for at most 2^19 and 2^17 points at a time.
 */
#ifndef ZK_MSM_IFMA_H
#define ZK_MSM_IFMA_H

#include "msm/msm.h"
#include "msm/recode.h"
#include "msm/subgroup.h"

/* The CPU and the system have what these functions need, and CUZK_CPU allows it. */
bool zk_msm_ifma_usable(void);

cuzk_status zk_msm_g1_ifma(zk_g1 *r, const zk_g1_affine *bases, const zk_fr *scalars, size_t n, zk_pool *pool,
                           cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_msm_g2_ifma(zk_g2 *r, const zk_g2_affine *bases, const zk_fr *scalars, size_t n, zk_pool *pool,
                           cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_masked_sum_g1_ifma(zk_g1 *r, const zk_g1_affine *bases, const uint64_t *bits, size_t n, zk_pool *pool,
                                  cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_masked_sum_g2_ifma(zk_g2 *r, const zk_g2_affine *bases, const uint64_t *bits, size_t n, zk_pool *pool,
                                  cuzk_err *err) ZK_MUST_USE;

/* Subset tables: for each four bases the sums of their fifteen non-empty subsets, 15 / 4 points a base; a masked sum
 * then takes one addition for four bases. entries: [ceil(n/4)][15], entry k - 1 of a group is the sum of the bases i
 * with bit i of k; freed by zk_mem_free. Building takes eleven additions a group. */
size_t zk_subset_table_g1_bytes(size_t n);
size_t zk_subset_table_g2_bytes(size_t n);
cuzk_status zk_subset_table_g1_create(zk_g1_affine **entries, const zk_g1_affine *bases, size_t n, zk_pool *pool,
                                      cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_subset_table_g2_create(zk_g2_affine **entries, const zk_g2_affine *bases, size_t n, zk_pool *pool,
                                      cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_subset_table_g1_sum(zk_g1 *r, const zk_g1_affine *entries, const uint64_t *bits, size_t n, zk_pool *pool,
                                   cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_subset_table_g2_sum(zk_g2 *r, const zk_g2_affine *entries, const uint64_t *bits, size_t n, zk_pool *pool,
                                   cuzk_err *err) ZK_MUST_USE;

/* r[i] = [s_i] base. entries: [windows->n][2^(c-1)], entry d - 1 of window w is d [2^(c w)] base. */
cuzk_status zk_fixed_base_g1_mul_ifma(zk_g1_affine *r, const zk_g1_affine *entries, const zk_windows *windows,
                                      const zk_fr *scalars, size_t n, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_fixed_base_g2_mul_ifma(zk_g2_affine *r, const zk_g2_affine *entries, const zk_windows *windows,
                                      const zk_fr *scalars, size_t n, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

/* The sums of subgroup.h; freed by zk_mem_free. */
#define ZK_SUBGROUP_DECLARE_IFMA(g)                                                                                    \
    cuzk_status zk_##g##_subgroup_sums_create_ifma(void **sums, cuzk_err *err) ZK_MUST_USE;                            \
    void zk_##g##_subgroup_sums_add_ifma(void *sums, const zk_##g##_affine *points, size_t n_points,                   \
                                         const zk_subgroup_draw *draws);                                               \
    void zk_##g##_subgroup_sums_get_ifma(zk_##g##_affine *r, const void *sums, unsigned pass);                         \
    void zk_##g##_subgroup_sums_join_ifma(void *sums, void *other);
ZK_SUBGROUP_DECLARE_IFMA(g1)
ZK_SUBGROUP_DECLARE_IFMA(g2)

size_t zk_msm_g1_ifma_mem_bytes(size_t n, unsigned n_threads);
size_t zk_msm_g2_ifma_mem_bytes(size_t n, unsigned n_threads);

/* The choices of a multiplication overridden, zero members are chosen; for tests and measurements. */
typedef struct zk_msm_ifma_tuning {
    unsigned window_bits;
    size_t slice_points;  /* most points worked on together */
    size_t round_entries; /* most entries of a part of the buckets that are collected at a time */
} zk_msm_ifma_tuning;
cuzk_status zk_msm_g1_ifma_tuned(zk_g1 *r, const zk_g1_affine *bases, const zk_fr *scalars, size_t n,
                                 const zk_msm_ifma_tuning *tuning, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_msm_g2_ifma_tuned(zk_g2 *r, const zk_g2_affine *bases, const zk_fr *scalars, size_t n,
                                 const zk_msm_ifma_tuning *tuning, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

#endif
