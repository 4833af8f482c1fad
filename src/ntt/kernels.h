/* What a transform is made of: levels of butterflies on small blocks that lie in cache.
 *
 * Two networks, each the transpose of the other, with one twiddle per block and level. Level l of 0..log2 n - 1 works
 * on 2^l blocks of 2m = n / 2^l elements; block b has the twiddle zeta[b] = e(sum_i b_i 2^(-i-2)), where b_i is bit i
 * of b and e(t) = w^(t n), so all levels read prefixes of one table (bit-reversed order of exponents).
 *
 *   split: natural order to bit-reversed. Levels ascending, (u, v) -> (u + zeta v, u - zeta v). Reduces a polynomial
 *          mod x^2m - zeta^2 to its residues mod x^m - zeta and x^m + zeta.
 *   merge: bit-reversed order to natural. Levels descending, (u, v) -> (u + v, (u - v) zeta).
 *
 * Both compute y_j = sum_i x_i w^(ij). These functions are the place for vector code: each butterfly row has one
 * twiddle.
 */
#ifndef ZK_NTT_KERNELS_H
#define ZK_NTT_KERNELS_H

#include "field/fr.h"

/* n_levels levels on a tile of 2^n_levels rows of n_columns elements, contiguous; the columns are independent.
 * zeta[k]: the 2^k twiddles of the k-th level of the tile. */
void zk_ntt_tile_split(zk_fr *tile, size_t n_columns, const zk_fr *const *zeta, unsigned n_levels);
void zk_ntt_tile_merge(zk_fr *tile, size_t n_columns, const zk_fr *const *zeta, unsigned n_levels);

/* r_i = x_i s */
void zk_ntt_scale(zk_fr *r, const zk_fr *x, size_t n, const zk_fr *s);
/* r_i = x_i y_i */
void zk_ntt_mul(zk_fr *r, const zk_fr *x, const zk_fr *y, size_t n);
/* r_i -= x_i s */
void zk_ntt_sub_scaled(zk_fr *r, const zk_fr *x, size_t n, const zk_fr *s);

#endif
