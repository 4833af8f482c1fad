/* Valid inputs without an operator's sector: for tests, benchmarks and trying out. All values follow from a text, the
 * same text gives the same input; it has at most ZK_SAMPLE_MAX_TEXT bytes (else USAGE). */
#ifndef ZK_FILECOIN_SAMPLE_H
#define ZK_FILECOIN_SAMPLE_H

#include "base/pool.h"
#include "filecoin/c1.h"
#include "filecoin/request.h"
#include "filecoin/tree.h"

/* Sectors up to this size are really sealed. */
#define ZK_SAMPLE_MAX_SEALED_BYTES (UINT64_C(8) << 20)

#define ZK_SAMPLE_MAX_TEXT 200 /* so that no label made of it is cut */
cuzk_status zk_sample_check_text(const char *text, cuzk_err *err) ZK_MUST_USE;

/* SHA-256 of the text with the top two bits of the last byte cleared. */
void zk_sample_seed32(uint8_t out[32], const char *text);

/* First n bytes of SHA-256(label || counter as u64 LE), counter = 0, 1, 2 ... */
void zk_sample_data(uint8_t *out, size_t n, const char *label);

/* The output of commit phase 1 for a sector.
 *
 * Up to 8 MiB a sector is really sealed: data `TEXT data`, fr32-padded; labels, columns, replica and trees in memory.
 * Larger ones are sparse: the data are all zero; labels of nodes that nobody is challenged for are SHA-256("TEXT label"
 * || layer as u32 LE || node as u64 LE) cut to 254 bits; labels of challenged nodes are computed from their parents;
 * leaves of the replica tree that are not challenged are zero, as are those of the column tree that are neither
 * challenged nor parent of a challenge. A sparse sector can only answer interactive challenges, since the others depend
 * on comm_r: UNSUPPORTED for other features. ticket = seed32("TEXT ticket"), seed = seed32("TEXT seed"). */
cuzk_status zk_sample_porep(zk_c1 **c1, const zk_registered_seal *seal, const char *text, uint64_t miner,
                            uint64_t sector, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

/* Of a really sealed sector as above: the tree over its replica, and comm_c. At most ZK_SAMPLE_MAX_SEALED_BYTES. */
cuzk_status zk_sample_sealed_tree(zk_tree **tree_r, uint8_t comm_c[32], const zk_registered_seal *seal,
                                  const char *text, uint64_t miner, uint64_t sector, zk_pool *pool,
                                  cuzk_err *err) ZK_MUST_USE;

/* The same for a sector whose data are all zero, with an identity of the caller's. */
typedef struct zk_sample_identity {
    uint8_t porep_id[32], prover_id[32], ticket[32];
    uint64_t sector;
} zk_sample_identity;
cuzk_status zk_sample_sealed_zeros(zk_tree **tree_r, uint8_t comm_c[32], const zk_registered_seal *seal,
                                   const zk_sample_identity *identity, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;
/* The interactive type of version 1.1 of a size; NULL if there is none. */
const zk_registered_seal *zk_sample_seal_type(uint64_t sector_bytes);

typedef struct zk_sample_post_options {
    const char *text;
    uint64_t miner, first_sector; /* sectors are numbered from there */
    size_t n_sectors;             /* WindowPoSt: may be more than a partition holds; WinningPoSt has one */
    uint64_t first_position;      /* of the first sector in the list of the whole window */
} zk_sample_post_options;

/* A request of WinningPoSt or WindowPoSt. Small sectors are sealed ones; of larger ones the replica tree has values
 * seed32("TEXT post leaf SECTOR LEAF") where it is opened and zeros elsewhere, and comm_c is seed32("TEXT post comm_c
 * SECTOR"). Randomness is seed32("TEXT post randomness"). Destroy the result. */
cuzk_status zk_sample_post(zk_request **request, const zk_registered_post *type, const zk_sample_post_options *options,
                           zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

/* A request of SnapDeals, all partitions. Up to ZK_SAMPLE_MAX_SEALED_BYTES a sector of zeros is really sealed
 * (identity: seed32 of "TEXT SIZE porep id", "... prover", "... ticket", sector the first 8 bytes of "... sector") and
 * updated with the data of label "TEXT SIZE data". Larger sectors exist by a rule: old and new nodes depend on the
 * block of a node's number (its high bits) and on a class (0 .. 7) made of the low bits, so that each tree has few
 * different nodes, and yet all children of a node differ. */
cuzk_status zk_sample_update(zk_request **request, const zk_registered_update *type, const char *text, uint64_t miner,
                             uint64_t sector, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

#endif
