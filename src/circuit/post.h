/* The circuit of WinningPoSt and of one WindowPoSt partition (fallback PoSt): for each sector, that comm_r is the hash
 * of comm_c and comm_r_last, and that the challenged leaves of the replica are under comm_r_last.
 *
 * The circuit depends on the sector size, the number of sectors and of challenges per sector only.
 *
 * Inputs, in order: 1, and for each sector: comm_r, then the index of each challenged leaf.
 */
#ifndef ZK_CIRCUIT_POST_H
#define ZK_CIRCUIT_POST_H

#include "circuit/opening.h"

struct zk_program;

typedef struct zk_post_shape {
    uint64_t sector_bytes;
    uint32_t n_sectors;
    uint32_t n_challenges; /* of each sector */
} zk_post_shape;

/* All values are 32 bytes, little-endian, field elements; indices from the leaf up, below the arity of their level. */
typedef struct zk_post_opening {
    const uint8_t *leaf;           /* [32] */
    const uint32_t *index;         /* [zk_opening_shape.n_nodes] */
    const uint8_t (*siblings)[32]; /* [zk_opening_shape.n_siblings] */
} zk_post_opening;

typedef struct zk_post_sector {
    const uint8_t *comm_r, *comm_c, *comm_r_last; /* [32] each */
    const zk_post_opening *openings;              /* [n_challenges] */
} zk_post_sector;

/* Builds the program; `name` is a static string. UNSUPPORTED: a size without a circuit. */
cuzk_status zk_post_program(struct zk_program **program, const zk_post_shape *shape, const char *name,
                            cuzk_err *err) ZK_MUST_USE;

/* Writes the program's hints; n_hints must be the program's. sectors[n_sectors], an entry may occur more than once. The
 * values are copied, not checked. */
cuzk_status zk_post_hints(uint8_t (*hints)[32], size_t n_hints, const zk_post_shape *shape,
                          const zk_post_sector *const *sectors, cuzk_err *err) ZK_MUST_USE;

#endif
