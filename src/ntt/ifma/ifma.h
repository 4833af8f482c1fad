/* The passes of ntt.c in AVX-512 IFMA. */
#ifndef ZK_NTT_IFMA_H
#define ZK_NTT_IFMA_H

#include "ntt/domain.h"

/* The CPU and the system have what these functions need, CUZK_CPU allows it, and the domain is large enough. */
bool zk_ntt_ifma_usable(unsigned log2_n);

#define ZK_NTT_IFMA_ELEMENT_BYTES 40 /* of a table's element */

/* Fills domain->block52 from domain->block, n elements. */
cuzk_status zk_ntt_ifma_tables(zk_ntt_domain *domain, size_t n, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

void zk_ntt_ifma_pass(const tile_job *job, zk_pool *pool);
void zk_ntt_ifma_leaves(const leaf_job *job, zk_pool *pool);

#endif
