/* Hash functions: SHA-256 by implementation, Poseidon by arity. Usage: cuzk_bench_hash [RUNS] */
#include "bench.h"
#include "hash/poseidon.h"
#include "hash/sha256.h"

static void bench_sha256(const char *name, void (*compress)(uint32_t *, const uint8_t *, size_t), unsigned runs) {
    enum { N_BLOCKS = 1 << 18 };
    static uint8_t blocks[N_BLOCKS * 64];
    bench_times t = {.n = 0};
    for (unsigned i = 0; i < runs; i++) {
        uint32_t state[8];
        memcpy(state, zk_sha256_initial_state, sizeof state);
        bench_start(&t);
        compress(state, blocks, N_BLOCKS);
        bench_stop(&t);
        blocks[i] ^= (uint8_t)state[0]; /* keeps the work */
    }
    bench_print(name, &t, N_BLOCKS);
}

static void bench_poseidon(unsigned arity, unsigned runs) {
    enum { N_HASHES = 1000 };
    char name[32];
    bench_times t = {.n = 0};
    const zk_poseidon_params *params = zk_poseidon_get(arity);
    zk_fr in[ZK_POSEIDON_MAX_ARITY], check;
    if (!params) return;
    for (unsigned i = 0; i < arity; i++) zk_fr_from_u64(&in[i], i);
    zk_poseidon_hash_plain(&check, params, &params->tree_tag, in);
    zk_fr out;
    zk_poseidon_hash(&out, params, in);
    if (!zk_fr_eq(&out, &check)) {
        printf("poseidon %u: wrong result\n", arity);
        exit(1);
    }
    for (unsigned i = 0; i < runs; i++) {
        bench_start(&t);
        for (unsigned k = 0; k < N_HASHES; k++) zk_poseidon_hash(&in[k % arity], params, in);
        bench_stop(&t);
    }
    snprintf(name, sizeof name, "poseidon arity %u", arity);
    bench_print(name, &t, N_HASHES);

    static zk_fr many[N_HASHES * ZK_POSEIDON_MAX_ARITY], hashes[N_HASHES];
    for (unsigned i = 0; i < N_HASHES * arity; i++) zk_fr_from_u64(&many[i], i);
    t = (bench_times){.n = 0};
    for (unsigned i = 0; i < runs; i++) {
        bench_start(&t);
        zk_poseidon_hash_many(hashes, params, many, N_HASHES);
        bench_stop(&t);
        many[i] = hashes[i];
    }
    snprintf(name, sizeof name, "poseidon many arity %u", arity);
    bench_print(name, &t, N_HASHES);
}

int main(int argc, char **argv) {
    static const unsigned arities[] = {2, 4, 8, 11};
    unsigned runs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 7;
    if (runs < 1 || runs > BENCH_MAX_RUNS) runs = 7;
    bench_sha256("sha256 block, portable", zk_sha256_compress_portable, runs);
    if (zk_sha256_shani_usable()) bench_sha256("sha256 block, sha-ni", zk_sha256_compress_shani, runs);
    for (unsigned i = 0; i < sizeof arities / sizeof arities[0]; i++) bench_poseidon(arities[i], runs);
    return 0;
}
