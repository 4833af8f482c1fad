/* Built for any CPU. */
#include "ntt/lanes/lanes.h"

#include "base/mem.h"
#include "field/cpu.h"
#include "field/fr52.h"

/* Eight leaves at least: they are the lanes. */
#define LOG2_N_MIN (LEAF_LOG2 + 3)

const zk_ntt_lanes *zk_ntt_lanes_of(unsigned log2_n) {
    if (log2_n < LOG2_N_MIN) return NULL;
#if ZK_HAVE_LANES
    if (zk_cpu_can_ifma()) return &zk_ntt_lanes_ifma;
    if (zk_cpu_can_fma()) return &zk_ntt_lanes_fma;
#endif
    return NULL;
}

static void tables_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    zk_ntt_domain *d = ctx;
    for (size_t i = begin; i < end; i++) zk_fr_to_fr52(&d->block52[i], &d->block[i]);
}

cuzk_status zk_ntt_lanes_tables(zk_ntt_domain *domain, size_t n, zk_pool *pool, cuzk_err *err) {
    _Static_assert(sizeof(zk_fr52) == ZK_NTT_LANES_ELEMENT_BYTES, "size told in the header");
    void *block;
    ZK_TRY(zk_mem_alloc_shared(&block, "ntt tables", n * sizeof *domain->block52, err));
    domain->block52 = block;
    zk_pool_for(pool, n, 4096, tables_range, domain);
    return CUZK_OK;
}
