/* The functions of msm.h with eight points in the lanes of vectors, and the same contracts: one table for each
 * instruction set that this CPU may have. The public functions take them for inputs long enough to gain.
 *
 * Bases are read in their 64-bit form. A multiplication of n points takes about 230 n bytes in G1 and 840 n in G2
 * beside its buckets, for at most 2^19 and 2^17 points at a time.
 */
#ifndef ZK_MSM_LANES_H
#define ZK_MSM_LANES_H

#include "msm/msm.h"
#include "msm/recode.h"
#include "msm/subgroup.h"

/* The choices of a multiplication overridden, zero members are chosen; for tests and measurements. */
typedef struct zk_msm_lanes_tuning {
    unsigned window_bits;
    size_t slice_points;  /* most points worked on together */
    size_t round_entries; /* most entries of a part of the buckets that are collected at a time */
} zk_msm_lanes_tuning;

/* tuning: NULL for none.
 *
 * Subset tables: for each four bases the sums of their fifteen non-empty subsets, 15 / 4 points a base; a masked sum
 * then takes one addition for four bases. entries: [ceil(n/4)][15], entry k - 1 of a group is the sum of the bases i
 * with bit i of k; freed by zk_mem_free. Building takes eleven additions a group.
 *
 * fixed_mul: r[i] = [s_i] base. entries: [windows->n][2^(c-1)], entry d - 1 of window w is d [2^(c w)] base.
 *
 * sums_*: those of subgroup.h; freed by zk_mem_free. */
#define ZK_MSM_LANES_DECLARE(g)                                                                                        \
    typedef struct zk_msm_##g##_lanes {                                                                                \
        const char *name; /* as CUZK_CPU has it */                                                                     \
        cuzk_status (*msm)(zk_##g * r, const zk_##g##_affine *bases, const zk_fr *scalars, size_t n,                   \
                           const zk_msm_lanes_tuning *tuning, zk_pool *pool, cuzk_err *err);                           \
        size_t (*mem_bytes)(size_t n, unsigned n_threads);                                                             \
        cuzk_status (*masked_sum)(zk_##g * r, const zk_##g##_affine *bases, const uint64_t *bits, size_t n,            \
                                  zk_pool *pool, cuzk_err *err);                                                       \
        size_t (*subset_table_bytes)(size_t n);                                                                        \
        cuzk_status (*subset_table_create)(zk_##g##_affine * *entries, const zk_##g##_affine *bases, size_t n,         \
                                           zk_pool *pool, cuzk_err *err);                                              \
        cuzk_status (*subset_table_sum)(zk_##g * r, const zk_##g##_affine *entries, const uint64_t *bits, size_t n,    \
                                        zk_pool *pool, cuzk_err *err);                                                 \
        cuzk_status (*fixed_mul)(zk_##g##_affine * r, const zk_##g##_affine *entries, const zk_windows *windows,       \
                                 const zk_fr *scalars, size_t n, zk_pool *pool, cuzk_err *err);                        \
        cuzk_status (*sums_create)(void **sums, cuzk_err *err);                                                        \
        void (*sums_add)(void *sums, const zk_##g##_affine *points, size_t n_points, const zk_subgroup_draw *draws);   \
        void (*sums_get)(zk_##g##_affine * r, const void *sums, unsigned pass);                                        \
        void (*sums_join)(void *sums, void *other);                                                                    \
    } zk_msm_##g##_lanes;                                                                                              \
    extern const zk_msm_##g##_lanes zk_msm_##g##_ifma, zk_msm_##g##_fma; /* of a build for x86-64 */                   \
    /* Number k, from 0 on, of those that the CPU, the system and CUZK_CPU allow, the fastest first; else NULL. */     \
    const zk_msm_##g##_lanes *zk_msm_##g##_lanes_at(size_t k);
ZK_MSM_LANES_DECLARE(g1)
ZK_MSM_LANES_DECLARE(g2)

#endif
