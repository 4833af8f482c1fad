/* Prepared keys as files: points that stand for sections h and l of a `.params` file, beside it as `<name>.prepared`.
 * What they are: docs/internals/prepared-keys.md; how they are made: prepare.h. Integers are little-endian.
 *
 *   OFFSET  SIZE  DESCRIPTION
 *        0    16  "cuzk-prepared-1\n"
 *       16     8  bytes of the .params file
 *       24    32  SHA-256 of the .params file
 *       56    32  SHA-256 of its verifying key, the first bytes of it
 *       88     4  log2 of the domain n
 *       92     4  m, the inputs that occur in C
 *       96     8  aux variables
 *      104   96n  g: points for the values of a b on the coset, zcash uncompressed encoding, as all points
 *                 l: of these m inputs by ascending index, then of all aux, with their share of c
 *              32  SHA-256 of all before
 */
#ifndef ZK_GROTH16_PREPARED_PARAMS_H
#define ZK_GROTH16_PREPARED_PARAMS_H

#include "groth16/proving_key.h"

#define ZK_PREPARED_HEADER_BYTES 104

typedef enum zk_prepared_section_id { ZK_PREPARED_G, ZK_PREPARED_L, ZK_PREPARED_N_SECTIONS } zk_prepared_section_id;
const char *zk_prepared_section_name(zk_prepared_section_id id); /* "g", "l" */

typedef struct zk_prepared_header {
    uint64_t params_bytes;
    uint8_t params_sha256[32], vk_sha256[32];
    uint32_t log2_n, n_c_inputs;
    uint64_t n_aux;
} zk_prepared_header;
void zk_prepared_header_encode(uint8_t bytes[ZK_PREPARED_HEADER_BYTES], const zk_prepared_header *header);

/* An open file. The bytes stay mapped until it is closed. */
typedef struct zk_prepared_params zk_prepared_params;
struct zk_prepared_params {
    zk_prepared_header header;
    struct {
        uint64_t offset;
        size_t n;
        const uint8_t *points;
    } section[ZK_PREPARED_N_SECTIONS];
    zk_file_map map;
};

/* Where the prepared key of a parameter file belongs: `.params` at its end becomes `.prepared`, which is else appended.
 * free() it. */
cuzk_status zk_prepared_path(char **path, const char *params_path, cuzk_err *err) ZK_MUST_USE;

/* Maps a file and compares it with the parameter file and the circuit (masks: in the prepared form): all lengths and
 * counts, the digest of the verifying key. The digests of the whole files are left to zk_prepared_params_verify, or to
 * who makes them and calls zk_prepared_params_match, the points to whoever loads them. BAD_INPUT: another key's, or
 * damaged. */
cuzk_status zk_prepared_params_open(zk_prepared_params **prepared, const char *path, const zk_params *params,
                                    const zk_program *program, const zk_query_masks *masks, cuzk_err *err) ZK_MUST_USE;
void zk_prepared_params_close(zk_prepared_params *prepared); /* NULL is fine */

/* How much of the file its own digest is of. */
static inline uint64_t zk_prepared_params_digested_bytes(const zk_prepared_params *prepared) {
    return prepared->map.n_bytes - 32;
}
/* Whether the mapped file of a prepared key ends with this digest. BAD_INPUT: damaged; says both. */
cuzk_status zk_prepared_map_match(const zk_file_map *map, const uint8_t own_sha256[32], cuzk_err *err) ZK_MUST_USE;
/* Whether these digests are those that the file names: of so many bytes of its own, and of the whole parameter file;
 * either may be NULL, not known. BAD_INPUT: damaged, or of another file. */
cuzk_status zk_prepared_params_match(const zk_prepared_params *prepared, const uint8_t *own_sha256,
                                     const uint8_t *params_sha256, const zk_params *params, cuzk_err *err) ZK_MUST_USE;

/* Words the refusal of a point. Returns `status`. */
cuzk_status zk_prepared_params_refuse_point(const zk_prepared_params *prepared, zk_prepared_section_id id,
                                            const zk_points_fault *fault, cuzk_status status, cuzk_err *err);

/* Reads both files whole and compares their digests. CHECK_FAILED: says which. */
cuzk_status zk_prepared_params_verify(const zk_prepared_params *prepared, const zk_params *params,
                                      zk_params_progress progress, void *progress_ctx, cuzk_err *err) ZK_MUST_USE;

/* SHA-256 of bytes in memory, by pieces, looking at the process's cancel flag in between. progress may be NULL. */
cuzk_status zk_digest_pieces(uint8_t sha256[32], const uint8_t *bytes, size_t n, const char *what,
                             zk_params_progress progress, void *progress_ctx, cuzk_err *err) ZK_MUST_USE;

#endif
