/* The optimal ate pairing e: G1 x G2 -> GT of BLS12-381 and the tower it lives in.
 *
 *   Fp6 = Fp2[v]/(v^3 - (1 + u)),  Fp12 = Fp6[w]/(w^2 - v)
 *
 * Values are raised to 3 (p^12 - 1)/r, like the libraries we compare with; see tests/vectors/primitives/README.md.
 */
#ifndef ZK_PAIRING_PAIRING_H
#define ZK_PAIRING_PAIRING_H

#include "curve/curve.h"

typedef struct zk_fp6 {
    zk_fp2 c0, c1, c2;
} zk_fp6;
typedef struct zk_fp12 {
    zk_fp6 c0, c1;
} zk_fp12;

/* (tower functions zk_fp6_*, zk_fp12_*: declared in pairing/tower.h) */

/* Line coefficients of one Q, and Q itself, so that Miller loops with a fixed Q (verifying keys) need no G2 arithmetic.
 */
typedef struct zk_g2_prepared zk_g2_prepared;
size_t zk_g2_prepared_bytes(void);
void zk_g2_prepare(zk_g2_prepared *r, const zk_g2_affine *q);

/* Product of Miller loops over n pairs, sharing the squarings; pairs with an infinity contribute one. */
void zk_pairing_miller_loop(zk_fp12 *r, const zk_g1_affine *p, const zk_g2_affine *q, size_t n);
void zk_pairing_miller_loop_prepared(zk_fp12 *r, const zk_g1_affine *p, const zk_g2_prepared *const *q, size_t n);

struct zk_pool;
/* The product over both kinds, up to factors that the final exponentiation removes; on the threads of a pool and, for
 * enough pairs, in the lanes of vectors. */
void zk_pairing_miller_loop_many(zk_fp12 *r, const zk_g1_affine *p, const zk_g2_affine *q, size_t n,
                                 const zk_g1_affine *prepared_p, const zk_g2_prepared *const *prepared,
                                 size_t n_prepared, struct zk_pool *pool);
void zk_pairing_final_exp(zk_fp12 *r, const zk_fp12 *f);
void zk_pairing(zk_fp12 *r, const zk_g1_affine *p, const zk_g2_affine *q);
/* True if the product of e(p_i, q_i) is one. */
bool zk_pairing_product_is_one(const zk_g1_affine *p, const zk_g2_affine *q, size_t n);

#endif
