#include "filecoin/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "hash/blake2b.h"
#include "hash/chacha.h"
#include "hash/sha256.h"

#define DEGREE 5 /* base parents that are drawn; the sixth is the node before */

static void derive(uint8_t out[32], const char *tag, const uint8_t porep_id[32]) {
    zk_sha256_ctx ctx;
    zk_sha256_init(&ctx);
    zk_sha256_update(&ctx, tag, strlen(tag));
    zk_sha256_update(&ctx, porep_id, 32);
    zk_sha256_final(out, &ctx);
}

void zk_graph_init(zk_graph *graph, uint64_t n_nodes, const uint8_t porep_id[32], zk_api_version api_version) {
    uint8_t digest[32];
    graph->n_nodes = n_nodes;
    graph->api_version = api_version;
    graph->feistel_table = NULL;
    derive(digest, "Filecoin_DRSample", porep_id);
    memcpy(graph->drg_seed, digest, sizeof graph->drg_seed);
    derive(digest, "Filecoin_Feistel", porep_id);
    for (unsigned i = 0; i < 3; i++) graph->feistel_keys[i] = zk_load_le64(digest + 8 * i);
}

void zk_graph_base_parents(uint32_t parents[ZK_DRG_PARENTS], const zk_graph *graph, uint32_t node) {
    uint8_t key[32];
    zk_chacha rng;
    if (node < 2) {
        memset(parents, 0, ZK_DRG_PARENTS * sizeof *parents);
        return;
    }
    memcpy(key, graph->drg_seed, sizeof graph->drg_seed);
    zk_store_le32(key + 28, node);
    zk_chacha_init_wide(&rng, 8, key);
    uint64_t meta_index = (uint64_t)node * DEGREE;
    unsigned n_buckets = zk_log2_ceil(meta_index);
    uint32_t *drawn = parents;
    if (graph->api_version == ZK_API_1_0_0)
        parents[DEGREE] = node - 1;
    else
        *drawn++ = node - 1;
    for (unsigned i = 0; i < DEGREE; i++) {
        unsigned bucket = (unsigned)(zk_chacha_read_u64(&rng) % n_buckets) + 1;
        uint64_t high = bucket < 63 && 1ull << bucket < meta_index ? 1ull << bucket : meta_index;
        uint64_t low = high >> 1 > 2 ? high >> 1 : 2;
        uint64_t distance = low + zk_chacha_read_u64(&rng) % (high - low + 1);
        uint32_t parent = (uint32_t)((meta_index - distance) / DEGREE);
        drawn[i] = parent == node ? node - 1 : parent;
    }
}

static uint64_t round_function(uint64_t half, uint64_t key, uint64_t mask) {
    uint8_t message[16], digest[64];
    zk_store_be64(message, half);
    zk_store_be64(message + 8, key);
    zk_blake2b(digest, sizeof digest, message, sizeof message);
    return zk_load_be64(digest) & mask;
}

/* Least w >= 1 with 4^w >= n. */
static unsigned half_bits(uint64_t n) {
    unsigned w = (zk_log2_ceil(n) + 1) / 2;
    return w > 0 ? w : 1;
}

/* table: NULL, or [3][2^w] the values of the round function. */
static uint64_t permute(uint64_t n, uint64_t x, const uint64_t keys[3], const uint64_t *table) {
    unsigned w = half_bits(n);
    uint64_t mask = (1ull << w) - 1;
    do {
        uint64_t left = x >> w, right = x & mask;
        for (unsigned i = 0; i < 3; i++) {
            uint64_t f = table ? table[(uint64_t)i << w | right] : round_function(right, keys[i], mask);
            uint64_t next = left ^ f;
            left = right, right = next;
        }
        x = left << w | right;
    } while (x >= n);
    return x;
}

uint64_t zk_feistel_permute(uint64_t n, uint64_t x, const uint64_t keys[3]) { return permute(n, x, keys, NULL); }

cuzk_status zk_graph_tabulate(zk_graph *graph, cuzk_err *err) {
    unsigned w = half_bits(graph->n_nodes * ZK_EXP_PARENTS);
    uint64_t mask = (1ull << w) - 1, *table = zk_malloc((3 * sizeof *table) << w);
    if (!table) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "graph: no memory for 3 * 2^%u numbers", w);
    for (unsigned i = 0; i < 3; i++)
        for (uint64_t half = 0; half <= mask; half++)
            table[(uint64_t)i << w | half] = round_function(half, graph->feistel_keys[i], mask);
    zk_graph_clear(graph);
    graph->feistel_table = table;
    return CUZK_OK;
}

void zk_graph_clear(zk_graph *graph) {
    free(graph->feistel_table);
    graph->feistel_table = NULL;
}

uint64_t zk_feistel_invert(uint64_t n, uint64_t x, const uint64_t keys[3]) {
    unsigned w = half_bits(n);
    uint64_t mask = (1ull << w) - 1;
    do {
        uint64_t left = x >> w, right = x & mask;
        for (unsigned i = 3; i-- > 0;) {
            uint64_t next = right ^ round_function(left, keys[i], mask);
            right = left, left = next;
        }
        x = left << w | right;
    } while (x >= n);
    return x;
}

void zk_graph_expander_parents(uint32_t parents[ZK_EXP_PARENTS], const zk_graph *graph, uint32_t node) {
    for (unsigned k = 0; k < ZK_EXP_PARENTS; k++) {
        uint64_t x = permute(graph->n_nodes * ZK_EXP_PARENTS, (uint64_t)node * ZK_EXP_PARENTS + k, graph->feistel_keys,
                             graph->feistel_table);
        /* The first version cut the permuted number to 32 bits before the division. */
        if (graph->api_version == ZK_API_1_0_0) x = (uint32_t)x;
        parents[k] = (uint32_t)(x / ZK_EXP_PARENTS);
    }
}

void zk_graph_parents(uint32_t parents[ZK_ALL_PARENTS], const zk_graph *graph, uint32_t node) {
    zk_graph_base_parents(parents, graph, node);
    zk_graph_expander_parents(parents + ZK_DRG_PARENTS, graph, node);
}
