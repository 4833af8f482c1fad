/* Many points at a time: eight in the lanes of vectors where the CPU has AVX-512 IFMA or AVX2, else one by one, and on
 * all threads of a pool. Results are those of the functions of curve.h.
 */
#ifndef ZK_CURVE_MANY_H
#define ZK_CURVE_MANY_H

#include "curve/curve.h"

struct zk_pool;

/* zk_g1_decompress with the subgroup check of each of n encodings: verdicts[i] and, where it is OK, r[i]. */
void zk_g1_decompress_many(zk_g1_affine *r, zk_point_verdict *verdicts, const uint8_t *const *bytes, size_t n,
                           struct zk_pool *pool);
void zk_g2_decompress_many(zk_g2_affine *r, zk_point_verdict *verdicts, const uint8_t *const *bytes, size_t n,
                           struct zk_pool *pool);

/* zk_g1_deserialize, without the subgroup check, of n encodings one after another, on this thread: up to the first that
 * is refused or infinity. Returns how many there are before it; r from there on is undefined. */
size_t zk_g1_deserialize_many(zk_g1_affine *r, const uint8_t *bytes, size_t n);
size_t zk_g2_deserialize_many(zk_g2_affine *r, const uint8_t *bytes, size_t n);

/* How many of n points on the curve come before the first that is not in the subgroup, on this thread; infinity is in
 * it.
 */
size_t zk_g1_in_subgroup_many(const zk_g1_affine *p, size_t n);
size_t zk_g2_in_subgroup_many(const zk_g2_affine *p, size_t n);

/* Multipliers for random combinations: k(a, b) = 2^64 + a - x^2 b for 64-bit a and b, x the parameter of the curve. The
 * 2^128 pairs give different numbers mod r, as a + b phi and a' + b' phi differ by an element of Z[phi] of norm below
 * r. In G1 they cost the doublings of 64 bits. */
void zk_pair_to_fr(zk_fr *k, const uint64_t pair[2]);
/* r[i] = [k(pairs[i])] p[i] for points of G1 (in the subgroup). */
void zk_g1_mul_pairs_many(zk_g1_affine *r, const zk_g1_affine *p, const uint64_t (*pairs)[2], size_t n,
                          struct zk_pool *pool);

#endif
