/* Number-theoretic transforms over Fr, natural order in and out, in place.
 *
 *   forward: y_j = sum_i x_i w^(ij),  w of order n = 2^log2_n;   inverse: x_i = n^-1 sum_j y_j w^(-ij)
 *   coset variants: evaluation on g <w>, g = 7 (x_i times g^i before, or times g^-i after)
 *
 * Domains up to 2^27 are what the proofs need; larger work up to 2^32 if memory allows.
 */
#ifndef ZK_NTT_NTT_H
#define ZK_NTT_NTT_H

#include "base/pool.h"
#include "field/fr.h"

/* Twiddle tables of one size, shared and read-only after creation. */
typedef struct zk_ntt_domain zk_ntt_domain;
cuzk_status zk_ntt_domain_create(zk_ntt_domain **domain, unsigned log2_n, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;
void zk_ntt_domain_destroy(zk_ntt_domain *domain);
size_t zk_ntt_domain_bytes(unsigned log2_n); /* memory of the tables */

void zk_ntt_forward(const zk_ntt_domain *domain, zk_fr *x, zk_pool *pool);
void zk_ntt_inverse(const zk_ntt_domain *domain, zk_fr *x, zk_pool *pool);
void zk_ntt_coset_forward(const zk_ntt_domain *domain, zk_fr *x, zk_pool *pool);
void zk_ntt_coset_inverse(const zk_ntt_domain *domain, zk_fr *x, zk_pool *pool);

/* The quotient of Groth16: a, b, c are evaluations over the domain (n elements each); on return a holds the n
 * coefficients of (a b - c)/(x^n - 1), of which the last is to be dropped by the caller; b and c are clobbered. */
void zk_ntt_quotient(const zk_ntt_domain *domain, zk_fr *a, zk_fr *b, zk_fr *c, zk_pool *pool);

/* What keys prepared for the coset take instead (docs/internals/prepared-keys.md): a, b as above; on return a_j holds
 * a(x) b(x) at x = g w^-j, and b is clobbered. The sign of the exponent suits devices that transform in one direction
 * only. */
void zk_ntt_products(const zk_ntt_domain *domain, zk_fr *a, zk_fr *b, zk_pool *pool);

#endif
