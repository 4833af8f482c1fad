/* Verifying keys, in memory and as `.vk` files.
 *
 *   OFFSET  SIZE  DESCRIPTION (points in the zcash uncompressed encoding)
 *        0    96  alpha in G1
 *       96    96  beta in G1
 *      192   192  beta in G2
 *      384   192  gamma in G2
 *      576    96  delta in G1
 *      672   192  delta in G2
 *      864     4  number of inputs, the constant one included, u32 big-endian
 *      868  96 n  ic_i = (beta A_i + alpha B_i + C_i)/gamma in G1, one an input
 */
#ifndef ZK_GROTH16_VK_H
#define ZK_GROTH16_VK_H

#include "curve/curve.h"

typedef struct zk_vk {
    zk_g1_affine alpha_g1, beta_g1, delta_g1;
    zk_g2_affine beta_g2, gamma_g2, delta_g2;
    uint32_t n_ic;
    zk_g1_affine *ic; /* [n_ic] */
} zk_vk;

#define ZK_VK_HEADER_BYTES 868 /* up to and with the count */
#define ZK_VK_MAX_FILE_BYTES (1u << 28)
size_t zk_vk_bytes(uint32_t n_ic);

/* The number of inputs of the key at the start of `bytes`, all of which are there; no point is looked at. BAD_INPUT. */
cuzk_status zk_vk_measure(uint32_t *n_ic, const uint8_t *bytes, size_t n_bytes, const char *name,
                          cuzk_err *err) ZK_MUST_USE;
/* Reads a key from the start of `bytes`; *n_used is its length. Every point is checked: canonical, on the curve, in the
 * subgroup, not infinity. `name` (a file) stands in front of messages; BAD_INPUT. */
cuzk_status zk_vk_decode(zk_vk *vk, size_t *n_used, const uint8_t *bytes, size_t n_bytes, const char *name,
                         cuzk_err *err) ZK_MUST_USE;
/* The same for those who ask whether the points are good: a bad one gives CHECK_FAILED. */
cuzk_status zk_vk_check(zk_vk *vk, size_t *n_used, const uint8_t *bytes, size_t n_bytes, const char *name,
                        cuzk_err *err) ZK_MUST_USE;
void zk_vk_encode(uint8_t *bytes, const zk_vk *vk); /* zk_vk_bytes(vk->n_ic) bytes */
void zk_vk_clear(zk_vk *vk);

/* The whole file must be one key. */
cuzk_status zk_vk_read(zk_vk *vk, const char *path, cuzk_err *err) ZK_MUST_USE;
/* Whole or not at all. */
cuzk_status zk_vk_write(const zk_vk *vk, const char *path, cuzk_err *err) ZK_MUST_USE;

/* Whether the key can be that of a circuit with n_inputs inputs (the one included); names both if not. BAD_INPUT. */
cuzk_status zk_vk_match(const zk_vk *vk, const char *name, const char *circuit, uint32_t n_inputs,
                        cuzk_err *err) ZK_MUST_USE;

/* For messages: the bytes of a point, shortened. */
#define ZK_POINT_TEXT_BYTES 40
void zk_point_text(char text[ZK_POINT_TEXT_BYTES], const uint8_t *encoded);

#endif
