/* The output of commit phase 1 (C1), read from JSON into flat arrays.
 *
 * Accepted: the API's object {registered_proof, vanilla_proofs, comm_r, comm_d, replica_id, seed, ticket}, and the
 * envelope {SectorNum, Phase1Out, SectorSize} with that object in base64; members in any order; plain or zstd. The
 * document is streamed: memory beyond the result is bounded by some hundred KiB, whatever the document's size.
 *
 * Refused with CUZK_BAD_INPUT (message: byte offset, place in the document, found, expected): members that are
 * missing, unknown or there twice; any count that is not what the registered proof requires (partitions, challenges,
 * layers, parents, path lengths, siblings); numbers out of range; 32-byte values >= r where a field element is meant
 * (all but seed and ticket). What only hashing can tell is the business of vanilla.h.
 */
#ifndef ZK_FILECOIN_C1_H
#define ZK_FILECOIN_C1_H

#include "circuit/opening.h"
#include "filecoin/graph.h"
#include "filecoin/input.h"
#include "filecoin/registered.h"

#define ZK_C1_MAX_LAYERS 11
#define ZK_C1_NO_MISMATCH UINT32_MAX

typedef uint8_t zk_node[32]; /* a field element, little-endian, canonical, unless noted */

/* What the sector size decides. */
typedef struct zk_c1_shape {
    uint64_t sector_bytes, n_nodes;
    uint32_t n_challenges, n_layers;
    zk_opening_shape tree; /* of the trees over columns and replica */
    uint32_t n_data_nodes; /* nodes, and siblings, of a path in the binary data tree */
    /* Storage of one challenge. */
    uint32_t nodes_per_challenge, numbers_per_challenge;
} zk_c1_shape;

typedef struct zk_c1_partition {
    zk_node *nodes;    /* [n_challenges][nodes_per_challenge] */
    uint32_t *numbers; /* [n_challenges][numbers_per_challenge] */
    uint64_t *places;  /* [n_challenges][n_layers + 1]: `node` of the labeling proofs and the encoding proof */
} zk_c1_partition;

typedef struct zk_c1 {
    const zk_registered_seal *seal;
    zk_c1_shape shape;
    uint32_t n_partitions;
    zk_c1_partition *partitions;
    zk_node comm_r, comm_d, replica_id;
    uint8_t seed[32], ticket[32]; /* any bytes */
    bool has_sector_number;       /* the envelope's */
    uint64_t sector_number;
    uint64_t n_document_bytes; /* as read, after unpacking */
} zk_c1;

/* Takes input over and closes it, also on failure. */
cuzk_status zk_c1_read(zk_c1 **c1, zk_input *input, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_c1_read_file(zk_c1 **c1, const char *path, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_c1_read_memory(zk_c1 **c1, const void *data, size_t n, cuzk_err *err) ZK_MUST_USE;
void zk_c1_destroy(zk_c1 *c1); /* NULL is fine */

cuzk_status zk_c1_shape_get(zk_c1_shape *shape, const zk_registered_seal *seal, cuzk_err *err) ZK_MUST_USE;

/* ---- Views into the arrays of a partition ---- */

/* Nodes from the leaf up; of each node the other children in order. */
typedef struct zk_c1_path {
    zk_node *root, *leaf;
    uint32_t *index; /* position among the node's children, below its arity */
    zk_node *siblings;
} zk_c1_path;

typedef struct zk_c1_column {
    uint32_t *node;
    zk_node *labels; /* [n_layers] */
    zk_c1_path path;
} zk_c1_column;

/* The 37 parents of the document are these, repeated in a cycle. `mismatch` is the first of the 37 that did not repeat
 * what it should, or ZK_C1_NO_MISMATCH. */
typedef struct zk_c1_labeling {
    zk_node *parents;
    uint32_t n_parents; /* 6 in layer 1, else 14 */
    uint32_t *layer;    /* layer_index, from 1 */
    uint32_t *mismatch;
    uint64_t *node;
} zk_c1_labeling;

typedef struct zk_c1_challenge {
    zk_c1_path data, replica;             /* comm_d_proofs, comm_r_last_proof */
    zk_c1_column column;                  /* c_x */
    zk_c1_column parents[ZK_ALL_PARENTS]; /* drg_parents, then exp_parents */
    zk_c1_labeling labeling[ZK_C1_MAX_LAYERS];
    zk_c1_labeling encoding;
} zk_c1_challenge;

void zk_c1_challenge_get(zk_c1_challenge *view, const zk_c1 *c1, uint32_t partition, uint32_t challenge);

#endif
