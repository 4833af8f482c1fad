/* Many hashes of one arity. Built for any CPU. */
#include "hash/poseidon.h"

#if ZK_HAVE_IFMA
#include "field/cpu.h"
#include "hash/ifma/poseidon.h"

/* Returns how many were hashed. A single one that is left over is cheaper without lanes; other remainders fill their
 * lanes up with the last input. */
static size_t hash_in_lanes(zk_fr *out, const zk_poseidon_params *params, const zk_fr *in, size_t n) {
    if (n < 2 || params->arity > ZK_POSEIDON_IFMA_MAX_ARITY || !zk_cpu_can_ifma()) return 0;
    const struct zk_poseidon_tables *tables = zk_poseidon_ifma_tables(params);
    if (!tables) return 0;
    size_t done = 0;
    while (n - done > 1) {
        const zk_fr *from[ZK_POSEIDON_LANES];
        zk_fr hashes[ZK_POSEIDON_LANES];
        size_t left = n - done, now = left < ZK_POSEIDON_LANES ? left : ZK_POSEIDON_LANES;
        for (size_t k = 0; k < ZK_POSEIDON_LANES; k++) from[k] = in + (done + (k < now ? k : now - 1)) * params->arity;
        zk_poseidon_ifma_hash(hashes, tables, from);
        for (size_t k = 0; k < now; k++) out[done + k] = hashes[k];
        done += now;
    }
    return done;
}
#else
static size_t hash_in_lanes(zk_fr *out, const zk_poseidon_params *params, const zk_fr *in, size_t n) {
    (void)out, (void)params, (void)in, (void)n;
    return 0;
}
#endif

void zk_poseidon_hash_many(zk_fr *out, const zk_poseidon_params *params, const zk_fr *in, size_t n) {
    for (size_t i = hash_in_lanes(out, params, in, n); i < n; i++)
        zk_poseidon_hash(&out[i], params, in + i * params->arity);
}
