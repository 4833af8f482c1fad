/* Many hashes of one arity. */
#include "hash/lanes/lanes.h"
#include "hash/poseidon.h"

/* Returns how many were hashed. A few that are left over are cheaper without lanes; other remainders fill their lanes
 * up with the last input. */
static size_t hash_in_lanes(zk_fr *out, const zk_poseidon_params *params, const zk_fr *in, size_t n) {
    const zk_poseidon_lanes *lanes = zk_poseidon_lanes_of(params->arity);
    if (!lanes || n < lanes->least) return 0;
    const zk_poseidon_tables *tables = zk_poseidon_lanes_tables(params);
    if (!tables) return 0;
    size_t done = 0;
    while (n - done >= lanes->least) {
        const zk_fr *from[ZK_POSEIDON_LANES];
        zk_fr hashes[ZK_POSEIDON_LANES];
        size_t left = n - done, now = left < ZK_POSEIDON_LANES ? left : ZK_POSEIDON_LANES;
        for (size_t k = 0; k < ZK_POSEIDON_LANES; k++) from[k] = in + (done + (k < now ? k : now - 1)) * params->arity;
        lanes->hash(hashes, tables, from);
        for (size_t k = 0; k < now; k++) out[done + k] = hashes[k];
        done += now;
    }
    return done;
}

void zk_poseidon_hash_many(zk_fr *out, const zk_poseidon_params *params, const zk_fr *in, size_t n) {
    for (size_t i = hash_in_lanes(out, params, in, n); i < n; i++)
        zk_poseidon_hash(&out[i], params, in + i * params->arity);
}
