#include "filecoin/labels.h"

#include <string.h>

#include "base/bytes.h"
#include "hash/poseidon.h"
#include "hash/sha256.h"

void zk_create_label(uint8_t label[32], const uint8_t replica_id[32], uint32_t layer, uint64_t node,
                     const uint8_t (*parents)[32], uint32_t n_parents) {
    uint8_t message[64 + ZK_LABEL_PARENTS * 32] = {0};
    size_t n = 64;
    memcpy(message, replica_id, 32);
    zk_store_be32(message + 32, layer);
    zk_store_be64(message + 36, node);
    for (unsigned i = 0; n_parents > 0 && i < ZK_LABEL_PARENTS; i++, n += 32)
        memcpy(message + n, parents[i % n_parents], 32);
    zk_sha256_trunc254(label, message, n);
}

cuzk_status zk_column_hash(zk_fr *hash, const uint8_t (*labels)[32], uint32_t n_layers, cuzk_err *err) {
    zk_fr in[ZK_POSEIDON_MAX_ARITY];
    const zk_poseidon_params *params = zk_poseidon_get(n_layers);
    if (!params) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "poseidon: no memory for the constants of arity %u", n_layers);
    for (uint32_t i = 0; i < n_layers; i++)
        if (!zk_fr_from_bytes_le(&in[i], labels[i]))
            return ZK_FAIL(err, CUZK_BAD_INPUT, "label of layer %u is not a field element", i + 1);
    zk_poseidon_hash(hash, params, in);
    return CUZK_OK;
}

bool zk_column_hash_many(zk_fr *hashes, const uint8_t (*const *labels)[32], size_t n, uint32_t n_layers) {
    enum { BATCH = 8 };
    zk_fr in[BATCH * 16];
    const zk_poseidon_params *params = n_layers <= 16 ? zk_poseidon_get(n_layers) : NULL;
    if (!params) return false;
    for (size_t start = 0; start < n; start += BATCH) {
        size_t now = n - start < BATCH ? n - start : BATCH;
        for (size_t k = 0; k < now; k++)
            for (uint32_t i = 0; i < n_layers; i++)
                if (!zk_fr_from_bytes_le(&in[k * n_layers + i], labels[start + k][i])) return false;
        zk_poseidon_hash_many(hashes + start, params, in, now);
    }
    return true;
}

bool zk_encode(uint8_t encoded[32], const uint8_t key[32], const uint8_t data[32]) {
    zk_fr a, b;
    if (!zk_fr_from_bytes_le(&a, key) || !zk_fr_from_bytes_le(&b, data)) return false;
    zk_fr_add(&a, &a, &b);
    zk_fr_to_bytes_le(encoded, &a);
    return true;
}

void zk_data_node(uint8_t node[32], const uint8_t left[32], const uint8_t right[32]) {
    uint8_t message[64];
    memcpy(message, left, 32);
    memcpy(message + 32, right, 32);
    zk_sha256_trunc254(node, message, sizeof message);
}
