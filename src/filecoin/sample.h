/* Valid inputs without an operator's sector: for tests, benchmarks and trying out. All values follow from a text, the
 * same text gives the same input. */
#ifndef ZK_FILECOIN_SAMPLE_H
#define ZK_FILECOIN_SAMPLE_H

#include "base/pool.h"
#include "filecoin/c1.h"

/* SHA-256 of the text with the top two bits of the last byte cleared. */
void zk_sample_seed32(uint8_t out[32], const char *text);

/* First n bytes of SHA-256(label || counter as u64 LE), counter = 0, 1, 2 ... */
void zk_sample_data(uint8_t *out, size_t n, const char *label);

/* The output of commit phase 1 for a sector.
 *
 * Up to 8 MiB a sector is really sealed: data `TEXT data`, fr32-padded; labels, columns, replica and trees in memory.
 * Larger ones are sparse: the data are all zero; labels of nodes that nobody is challenged for are SHA-256("TEXT label" ||
 * layer as u32 LE || node as u64 LE) cut to 254 bits; labels of challenged nodes are computed from their parents; leaves
 * of the replica tree that are not challenged are zero, as are those of the column tree that are neither challenged nor
 * parent of a challenge. A sparse sector can only answer interactive challenges, since the others depend on comm_r:
 * UNSUPPORTED for other features.
 * ticket = seed32("TEXT ticket"), seed = seed32("TEXT seed"). */
cuzk_status zk_sample_porep(zk_c1 **c1, const zk_registered_seal *seal, const char *text, uint64_t miner,
                            uint64_t sector, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

#endif
