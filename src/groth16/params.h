/* Parameter files (`.params`): a verifying key (vk.h) and the five queries of the prover. No padding, no digest.
 *
 *   for each of h, l, a, b_g1, b_g2 in this order:
 *     SIZE   DESCRIPTION
 *        4   number of points, u32 big-endian
 *     96 n   points in the zcash uncompressed encoding, G1 (192 n, G2, for b_g2); infinity has no place in a query
 *
 *   h    tau^k t(tau)/delta, k < n - 1                      n: the domain
 *   l    (beta A_i + alpha B_i + C_i)/delta                 all aux
 *   a    A_i                                                all inputs, the aux that occur in A
 *   b    B_i, in G1 and in G2                               the inputs, then the aux that occur in B
 */
#ifndef ZK_GROTH16_PARAMS_H
#define ZK_GROTH16_PARAMS_H

#include "backend/backend.h"
#include "base/file.h"
#include "groth16/vk.h"
#include "msm/subgroup.h"

typedef enum zk_params_section_id {
    ZK_PARAMS_H,
    ZK_PARAMS_L,
    ZK_PARAMS_A,
    ZK_PARAMS_B_G1,
    ZK_PARAMS_B_G2,
    ZK_PARAMS_N_SECTIONS
} zk_params_section_id;

typedef struct zk_params_section {
    uint64_t count_offset, offset; /* of the count, of the first point */
    uint32_t n;
} zk_params_section;

/* An open parameter file. The bytes stay mapped until it is closed. */
typedef struct zk_params {
    const char *name; /* file, for messages */
    const uint8_t *bytes;
    size_t n_bytes;
    zk_vk vk;
    size_t vk_bytes;
    zk_params_section section[ZK_PARAMS_N_SECTIONS];
    zk_file_map map; /* zero when the bytes are the caller's */
} zk_params;

const char *zk_params_section_name(zk_params_section_id id); /* "h", "l", "a", "b_g1", "b_g2" */
zk_group zk_params_section_group(zk_params_section_id id);
size_t zk_params_point_bytes(zk_params_section_id id); /* 96 or 192 */

/* The counts that a circuit's key has. */
typedef struct zk_params_counts {
    const char *circuit; /* for messages; lives as long as the program */
    uint32_t n_inputs;
    uint64_t n[ZK_PARAMS_N_SECTIONS];
} zk_params_counts;
cuzk_status zk_params_counts_of(zk_params_counts *counts, const zk_program *program, const zk_program_stats *stats,
                                cuzk_err *err) ZK_MUST_USE;

/* Maps a file and checks its structure: every count against the length of the file, nothing behind the last point, the
 * verifying key in full; with `expected` (may be NULL) the key of another circuit is refused, naming section and both
 * counts. Points of the queries are checked when they are loaded, or by zk_params_check. BAD_INPUT. */
cuzk_status zk_params_open(zk_params **params, const char *path, const zk_params_counts *expected,
                           cuzk_err *err) ZK_MUST_USE;
/* The same for bytes in memory (borrowed, as `name`). */
cuzk_status zk_params_open_bytes(zk_params **params, const char *name, const uint8_t *bytes, size_t n_bytes,
                                 const zk_params_counts *expected, cuzk_err *err) ZK_MUST_USE;
/* As zk_params_open without a circuit, for zk_params_check: a bad point of the verifying key gives CHECK_FAILED, as one
 * of a query does there; only what has not the structure of a parameter file is BAD_INPUT. */
cuzk_status zk_params_open_to_check(zk_params **params, const char *path, cuzk_err *err) ZK_MUST_USE;
void zk_params_close(zk_params *params); /* NULL is fine */
/* Whether the file is still the one that was mapped; readers ask before they report success. */
cuzk_status zk_params_unchanged(const zk_params *params, cuzk_err *err) ZK_MUST_USE;

/* Refuses the key of another circuit; for files that were opened without knowing it. */
cuzk_status zk_params_match(const zk_params *params, const zk_params_counts *expected, cuzk_err *err) ZK_MUST_USE;

/* Words the refusal of a point: file, section, index, offset, what was found and expected. Returns `status`. */
cuzk_status zk_params_refuse_point(const zk_params *params, zk_params_section_id id, const zk_points_fault *fault,
                                   cuzk_status status, cuzk_err *err);

/* Every point of every query: canonical, on the curve, not infinity, and in the subgroup.
 *
 * Membership by random sums (msm/subgroup.h), so that a point outside is missed with probability
 * 2^-ZK_CHECK_LOG2_ERROR at most; queries with few points are tested point by point.
 *
 * A bad point gives CHECK_FAILED. */
#define ZK_CHECK_LOG2_ERROR (ZK_SUBGROUP_PASSES * (ZK_SUBGROUP_LOG2_LANES + 1))
struct zk_pool;
typedef void (*zk_params_progress)(void *ctx, const char *what, uint64_t done, uint64_t total);
cuzk_status zk_params_check(const zk_params *params, struct zk_pool *pool, zk_params_progress progress,
                            void *progress_ctx, cuzk_err *err) ZK_MUST_USE;
/* The same on a device (zk_resident_points_can_check; borrowed), slice by slice. A point outside the subgroup is missed
 * with probability 2^-ZK_SUBGROUP_LOG2_ERROR at most. The first point that is refused is named in the same words; where
 * several are bad, the CPU may name another. DEVICE: device and CPU disagree. */
cuzk_status zk_params_check_on(const zk_params *params, zk_backend *backend, struct zk_pool *pool,
                               zk_params_progress progress, void *progress_ctx, cuzk_err *err) ZK_MUST_USE;

#endif
