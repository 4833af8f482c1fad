/* The passes of ntt.c with eight elements in the lanes of vectors: one table for each instruction set that this CPU may
 * have. */
#ifndef ZK_NTT_LANES_H
#define ZK_NTT_LANES_H

#include "ntt/domain.h"

typedef struct zk_ntt_lanes {
    void (*pass)(const tile_job *job, zk_pool *pool);
    void (*leaves)(const leaf_job *job, zk_pool *pool);
} zk_ntt_lanes;

extern const zk_ntt_lanes zk_ntt_lanes_ifma, zk_ntt_lanes_fma; /* of a build for x86-64 */

/* The fastest that the CPU, the system and CUZK_CPU allow; NULL if there is none or the domain is too small. */
const zk_ntt_lanes *zk_ntt_lanes_of(unsigned log2_n);

#define ZK_NTT_LANES_ELEMENT_BYTES 40 /* of a table's element */

/* Fills domain->block52 from domain->block, n elements. */
cuzk_status zk_ntt_lanes_tables(zk_ntt_domain *domain, size_t n, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

#endif
