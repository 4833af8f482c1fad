/* Constants and the choice of code. Built for any CPU. */
#include <stdatomic.h>
#include <stdlib.h>

#include "field/cpu.h"
#include "hash/lanes/lanes.h"

static zk_fr52 *convert(const zk_fr52 **table, zk_fr52 *at, const zk_fr *from, size_t n) {
    *table = at;
    for (size_t i = 0; i < n; i++) zk_fr_to_fr52(&at[i], &from[i]);
    return at + n;
}

static zk_poseidon_tables *make_tables(const zk_poseidon_params *p) {
    size_t t = p->width, rp = p->partial_rounds, n_compressed = p->full_rounds * t + rp;
    size_t n_fast = rp * (t - 1 + ZK_POSEIDON_BLOCK);
    zk_poseidon_tables *tables =
        malloc(sizeof *tables + (2 * t * t + n_compressed + rp * (t - 1) + n_fast) * sizeof(zk_fr52));
    if (!tables) return NULL;
    zk_fr52 *at = (zk_fr52 *)(tables + 1);
    zk_fr sixteen, inverse;
    tables->width = p->width, tables->full_rounds = p->full_rounds, tables->partial_rounds = p->partial_rounds;
    zk_fr_from_u64(&sixteen, 16);
    zk_fr_inv_var(&inverse, &sixteen);
    zk_fr_to_fr52(&tables->to_lanes, &sixteen);
    zk_fr_to_fr52(&tables->from_lanes, &inverse);
    zk_fr_to_fr52(&tables->tag, &p->tree_tag);
    at = convert(&tables->mds, at, p->mds, t * t);
    at = convert(&tables->compressed, at, p->compressed, n_compressed);
    at = convert(&tables->pre_sparse, at, p->pre_sparse, t * t);
    at = convert(&tables->v_rest, at, p->v_rest, rp * (t - 1));
    convert(&tables->fast, at, p->fast, n_fast);
    return tables;
}

const zk_poseidon_tables *zk_poseidon_lanes_tables(const zk_poseidon_params *params) {
    static _Atomic(zk_poseidon_tables *) made_tables[ZK_POSEIDON_LANES_MAX_ARITY + 1];
    _Atomic(zk_poseidon_tables *) *slot = &made_tables[params->arity];
    zk_poseidon_tables *tables = atomic_load_explicit(slot, memory_order_acquire);
    if (tables) return tables;
    /* Threads that race here make the same values; the first to store wins. */
    zk_poseidon_tables *made = make_tables(params);
    if (!made) return NULL;
    if (!atomic_compare_exchange_strong(slot, &tables, made)) {
        free(made);
        return tables;
    }
    return made;
}

const zk_poseidon_lanes *zk_poseidon_lanes_of(unsigned arity) {
#if ZK_HAVE_LANES
    static const zk_poseidon_lanes ifma = {"ifma", 2, zk_poseidon_hash_ifma}, fma = {"avx2", 5, zk_poseidon_hash_fma};
    if (arity > ZK_POSEIDON_LANES_MAX_ARITY) return NULL;
    if (zk_cpu_can_ifma()) return &ifma;
    if (zk_cpu_can_fma()) return &fma;
#else
    (void)arity;
#endif
    return NULL;
}
