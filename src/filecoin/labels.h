/* Labels, columns and encoding of the stacked DRG. All values are 32 bytes, field elements little-endian. */
#ifndef ZK_FILECOIN_LABELS_H
#define ZK_FILECOIN_LABELS_H

#include "field/fr.h"
#include "filecoin/graph.h"

#define ZK_LABEL_PARENTS 37 /* parent labels in the message of one label, repeats included */

/* Label of a node in a layer (from 1): SHA-256 over replica id, layer, node and the parents' labels repeated in a cycle
 * to 37, cut to 254 bits. n_parents: 6 in layer 1, 14 in others, 0 for node 0 (which has no parents). */
void zk_create_label(uint8_t label[32], const uint8_t replica_id[32], uint32_t layer, uint64_t node,
                     const uint8_t (*parents)[32], uint32_t n_parents);

/* Poseidon over the labels of one node, layer 1 first. n_layers is the arity (2 or 11). Labels must be canonical. */
cuzk_status zk_column_hash(zk_fr *hash, const uint8_t (*labels)[32], uint32_t n_layers, cuzk_err *err) ZK_MUST_USE;

/* The hashes of many columns, several at a time; labels[i] are the n_layers labels of column i. True: all done. False:
 * some cannot be hashed, or there is no memory; zk_column_hash tells which and why. */
bool zk_column_hash_many(zk_fr *hashes, const uint8_t (*const *labels)[32], size_t n, uint32_t n_layers);

/* encoded = key + data; false if one is not canonical. */
bool zk_encode(uint8_t encoded[32], const uint8_t key[32], const uint8_t data[32]);

/* truncate(SHA-256(left || right)) */
void zk_data_node(uint8_t node[32], const uint8_t left[32], const uint8_t right[32]);

#endif
