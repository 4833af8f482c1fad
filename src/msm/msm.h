/* Multi-scalar multiplication and its relatives on the CPU.
 *
 * All are exact for any n >= 0 and any input: repeated points, P and -P, infinity among the bases (counts as zero),
 * scalars 0, 1, r-1. Time depends on the data.
 */
#ifndef ZK_MSM_MSM_H
#define ZK_MSM_MSM_H

#include "base/pool.h"
#include "curve/curve.h"

/* sum_i [s_i] B_i. bases: [n] affine; scalars: [n] Montgomery form. Bases must be in the subgroup of order r (G1 uses
 * its endomorphism, which multiplies only those as it should). Working memory: zk_msm_*_mem_bytes. */
cuzk_status zk_msm_g1(zk_g1 *r, const zk_g1_affine *bases, const zk_fr *scalars, size_t n, zk_pool *pool,
                      cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_msm_g2(zk_g2 *r, const zk_g2_affine *bases, const zk_fr *scalars, size_t n, zk_pool *pool,
                      cuzk_err *err) ZK_MUST_USE;

/* Working memory of one call with a pool of n_threads, which keeps it (base/pool.h). In G1 100 (code in lanes: 230)
 * bytes a point, up to 2^22 (2^19) points, which are worked on at a time, plus buckets: in all below 700 MiB (160 MiB)
 * plus 4 MiB a thread; in G2 below 600 MiB (160 MiB) plus as much. */
size_t zk_msm_g1_mem_bytes(size_t n, unsigned n_threads);
size_t zk_msm_g2_mem_bytes(size_t n, unsigned n_threads);

/* Sum of the bases whose bit is set. bits: [ceil(n/64)] words, base i is bit i mod 64 of word i / 64; bits from n on
 * are ignored. By batched affine additions in a tree. */
cuzk_status zk_masked_sum_g1(zk_g1 *r, const zk_g1_affine *bases, const uint64_t *bits, size_t n, zk_pool *pool,
                             cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_masked_sum_g2(zk_g2 *r, const zk_g2_affine *bases, const uint64_t *bits, size_t n, zk_pool *pool,
                             cuzk_err *err) ZK_MUST_USE;

/* Multiples of one fixed base: r[i] = [s_i] base as affine points, by a table of signed windows and batched affine
 * additions. For key setup. Windows of c bits (4 to 24) cost ceil(255/c) additions per scalar and a table of as many
 * times 2^(c-1) points; zk_fixed_base_window_bits gives the best c up to 17 for n scalars. */
unsigned zk_fixed_base_window_bits(size_t n);
typedef struct zk_fixed_base_g1 zk_fixed_base_g1;
typedef struct zk_fixed_base_g2 zk_fixed_base_g2;
cuzk_status zk_fixed_base_g1_create(zk_fixed_base_g1 **table, const zk_g1_affine *base, unsigned window_bits,
                                    zk_pool *pool, cuzk_err *err) ZK_MUST_USE;
void zk_fixed_base_g1_destroy(zk_fixed_base_g1 *table);
cuzk_status zk_fixed_base_g1_mul(const zk_fixed_base_g1 *table, zk_g1_affine *r, const zk_fr *scalars, size_t n,
                                 zk_pool *pool, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_fixed_base_g2_create(zk_fixed_base_g2 **table, const zk_g2_affine *base, unsigned window_bits,
                                    zk_pool *pool, cuzk_err *err) ZK_MUST_USE;
void zk_fixed_base_g2_destroy(zk_fixed_base_g2 *table);
cuzk_status zk_fixed_base_g2_mul(const zk_fixed_base_g2 *table, zk_g2_affine *r, const zk_fr *scalars, size_t n,
                                 zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

#endif
