/* The stacked DRG graph: six base parents by DRSample, eight expander parents by a Feistel permutation. */
#ifndef ZK_FILECOIN_GRAPH_H
#define ZK_FILECOIN_GRAPH_H

#include "filecoin/registered.h"

#define ZK_DRG_PARENTS 6
#define ZK_EXP_PARENTS 8
#define ZK_ALL_PARENTS (ZK_DRG_PARENTS + ZK_EXP_PARENTS)

typedef struct zk_graph {
    uint64_t n_nodes; /* at most 2^32 */
    zk_api_version api_version;
    uint8_t drg_seed[28];
    uint64_t feistel_keys[3];
    uint64_t *feistel_table; /* of zk_graph_tabulate, or NULL */
} zk_graph;

void zk_graph_init(zk_graph *graph, uint64_t n_nodes, const uint8_t porep_id[32], zk_api_version api_version);

/* For whoever asks for the parents of most nodes: a table of all values that the rounds of the permutation can take, 3
 * times the root of 8 n_nodes of them, which replaces as many hashes a node as the permutation has rounds and walks.
 * The parents are the same. zk_graph_clear frees it, and is fine without one. */
cuzk_status zk_graph_tabulate(zk_graph *graph, cuzk_err *err) ZK_MUST_USE;
void zk_graph_clear(zk_graph *graph);

/* Base parents, then expander parents. node < n_nodes. */
void zk_graph_parents(uint32_t parents[ZK_ALL_PARENTS], const zk_graph *graph, uint32_t node);
void zk_graph_base_parents(uint32_t parents[ZK_DRG_PARENTS], const zk_graph *graph, uint32_t node);
void zk_graph_expander_parents(uint32_t parents[ZK_EXP_PARENTS], const zk_graph *graph, uint32_t node);

/* A permutation of 0 .. n - 1 (n <= 2^62): three Feistel rounds over the next even number of bits, walked until the
 * value falls below n; and its inverse. */
uint64_t zk_feistel_permute(uint64_t n, uint64_t x, const uint64_t keys[3]);
uint64_t zk_feistel_invert(uint64_t n, uint64_t x, const uint64_t keys[3]);

#endif
