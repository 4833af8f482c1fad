#include "filecoin/challenges.h"

#include <string.h>

#include "base/bytes.h"
#include "hash/blake2b.h"
#include "hash/chacha.h"
#include "hash/sha256.h"

#define SYNTHETIC_SET (1u << 18)
static const uint8_t synthetic_nonce[12] = "synth-porep";

void zk_prover_id(uint8_t prover_id[32], uint64_t miner) {
    memset(prover_id, 0, 32);
    for (unsigned i = 0; i == 0 || miner > 0; i++, miner >>= 7)
        prover_id[i] = (uint8_t)((miner & 0x7f) | (miner >> 7 > 0 ? 0x80 : 0));
}

bool zk_prover_id_miner(uint64_t *miner, const uint8_t prover_id[32]) {
    uint8_t again[32];
    uint64_t value = 0;
    for (unsigned i = 0; i < 10; i++) {
        value |= (uint64_t)(prover_id[i] & 0x7f) << 7 * i;
        if (!(prover_id[i] & 0x80)) break;
    }
    *miner = value;
    zk_prover_id(again, value);
    return memcmp(again, prover_id, 32) == 0;
}

void zk_replica_id(uint8_t replica_id[32], const uint8_t prover_id[32], uint64_t sector_number,
                   const uint8_t ticket[32], const uint8_t comm_d[32], const uint8_t porep_id[32]) {
    uint8_t message[136];
    memcpy(message, prover_id, 32);
    zk_store_be64(message + 32, sector_number);
    memcpy(message + 40, ticket, 32);
    memcpy(message + 72, comm_d, 32);
    memcpy(message + 104, porep_id, 32);
    zk_sha256_trunc254(replica_id, message, sizeof message);
}

/* (32 bytes as a little-endian integer mod (n_nodes - 1)) + 1 */
static uint64_t bytes_to_challenge(const uint8_t bytes[32], uint64_t n_nodes) {
    unsigned __int128 rest = 0;
    for (unsigned i = 4; i-- > 0;) rest = (rest << 64 | zk_load_le64(bytes + 8 * i)) % (n_nodes - 1);
    return (uint64_t)rest + 1;
}

static void synthetic_key(uint8_t key[32], const char *text, const uint8_t a[32], const uint8_t b[32]) {
    zk_blake2b_ctx ctx;
    zk_blake2b_init(&ctx, 32, text, strlen(text));
    zk_blake2b_update(&ctx, a, 32);
    zk_blake2b_update(&ctx, b, 32);
    zk_blake2b_final(key, &ctx);
}

void zk_challenge_set_init(zk_challenge_set *set, zk_porep_feature feature, uint64_t n_nodes,
                           const uint8_t replica_id[32], const uint8_t comm_r[32], const uint8_t seed[32]) {
    memset(set, 0, sizeof *set);
    set->feature = feature;
    set->n_nodes = n_nodes;
    memcpy(set->replica_id, replica_id, 32);
    memcpy(set->comm_r, comm_r, 32);
    memcpy(set->seed, seed, 32);
    if (feature != ZK_POREP_SYNTHETIC) return;
    synthetic_key(set->generation_key, "filecoin.io|PoRep|1|Synthetic|1|Generation", replica_id, comm_r);
    synthetic_key(set->selection_key, "filecoin.io|PoRep|1|Synthetic|1|Selection", replica_id, seed);
}

uint64_t zk_synthetic_set_size(const zk_challenge_set *set) {
    return set->n_nodes < SYNTHETIC_SET ? set->n_nodes : SYNTHETIC_SET;
}

uint64_t zk_synthetic_set_element(const zk_challenge_set *set, uint64_t index) {
    zk_chacha stream;
    uint8_t bytes[32];
    zk_chacha_init_ietf(&stream, 20, set->generation_key, synthetic_nonce);
    zk_chacha_seek(&stream, 32 * index);
    zk_chacha_read(&stream, bytes, sizeof bytes);
    return bytes_to_challenge(bytes, set->n_nodes);
}

static uint64_t synthetic_challenge(const zk_challenge_set *set, uint32_t j) {
    zk_chacha stream;
    uint8_t bytes[4];
    zk_chacha_init_ietf(&stream, 20, set->selection_key, synthetic_nonce);
    zk_chacha_seek(&stream, 4 * (uint64_t)j);
    zk_chacha_read(&stream, bytes, sizeof bytes);
    return zk_synthetic_set_element(set, zk_load_le32(bytes) % zk_synthetic_set_size(set));
}

void zk_challenge_set_get(uint64_t *challenges, uint32_t first, uint32_t n, const zk_challenge_set *set) {
    static const char ni_tag[] = "filecoin.io|PoRep|1|NonInteractive|1";
    for (uint32_t i = 0; i < n; i++) {
        uint8_t index[4], digest[32];
        zk_sha256_ctx ctx;
        if (set->feature == ZK_POREP_SYNTHETIC) {
            challenges[i] = synthetic_challenge(set, first + i);
            continue;
        }
        zk_store_le32(index, first + i);
        zk_sha256_init(&ctx);
        if (set->feature == ZK_POREP_NON_INTERACTIVE) zk_sha256_update(&ctx, ni_tag, sizeof ni_tag - 1);
        zk_sha256_update(&ctx, set->replica_id, 32);
        zk_sha256_update(&ctx, set->feature == ZK_POREP_NON_INTERACTIVE ? set->comm_r : set->seed, 32);
        zk_sha256_update(&ctx, index, sizeof index);
        zk_sha256_final(digest, &ctx);
        challenges[i] = bytes_to_challenge(digest, set->n_nodes);
    }
}
