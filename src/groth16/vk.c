#include "groth16/vk.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/file.h"

size_t zk_vk_bytes(uint32_t n_ic) { return ZK_VK_HEADER_BYTES + (size_t)n_ic * ZK_G1_UNCOMPRESSED_BYTES; }

void zk_point_text(char text[ZK_POINT_TEXT_BYTES], const uint8_t *encoded) {
    zk_hex_encode(text, encoded, 16);
    memcpy(text + 32, "...", 4);
}

static cuzk_status refuse(const char *name, const char *what, size_t offset, const uint8_t *bytes, const char *why,
                          cuzk_err *err) {
    char text[ZK_POINT_TEXT_BYTES];
    zk_point_text(text, bytes);
    return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: section vk: %s at offset %zu: %s: found %s, expected a point of the group",
                   name, what, offset, why, text);
}

static cuzk_status read_g1(zk_g1_affine *r, const char *name, const char *what, const uint8_t *bytes, size_t offset,
                           cuzk_err *err) {
    zk_point_verdict verdict = zk_g1_deserialize(r, bytes + offset, true);
    if (verdict != ZK_POINT_OK) return refuse(name, what, offset, bytes + offset, zk_point_verdict_text(verdict), err);
    if (zk_g1_affine_is_infinity(r)) return refuse(name, what, offset, bytes + offset, "infinity", err);
    return CUZK_OK;
}

static cuzk_status read_g2(zk_g2_affine *r, const char *name, const char *what, const uint8_t *bytes, size_t offset,
                           cuzk_err *err) {
    zk_point_verdict verdict = zk_g2_deserialize(r, bytes + offset, true);
    if (verdict != ZK_POINT_OK) return refuse(name, what, offset, bytes + offset, zk_point_verdict_text(verdict), err);
    if (zk_g2_affine_is_infinity(r)) return refuse(name, what, offset, bytes + offset, "infinity", err);
    return CUZK_OK;
}

cuzk_status zk_vk_decode(zk_vk *vk, size_t *n_used, const uint8_t *bytes, size_t n_bytes, const char *name,
                         cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    *vk = (zk_vk){0};
    *n_used = 0;
    if (n_bytes < ZK_VK_HEADER_BYTES)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: section vk: ends at offset %zu, expected %d bytes and the inputs",
                       name, n_bytes, ZK_VK_HEADER_BYTES);
    ZK_TRY(read_g1(&vk->alpha_g1, name, "alpha in G1", bytes, 0, err));
    ZK_TRY(read_g1(&vk->beta_g1, name, "beta in G1", bytes, 96, err));
    ZK_TRY(read_g2(&vk->beta_g2, name, "beta in G2", bytes, 192, err));
    ZK_TRY(read_g2(&vk->gamma_g2, name, "gamma in G2", bytes, 384, err));
    ZK_TRY(read_g1(&vk->delta_g1, name, "delta in G1", bytes, 576, err));
    ZK_TRY(read_g2(&vk->delta_g2, name, "delta in G2", bytes, 672, err));

    uint32_t n_ic = zk_load_be32(bytes + ZK_VK_HEADER_BYTES - 4);
    size_t room = (n_bytes - ZK_VK_HEADER_BYTES) / ZK_G1_UNCOMPRESSED_BYTES;
    if (n_ic == 0 || n_ic > room)
        return ZK_FAIL(
            err, CUZK_BAD_INPUT,
            "%s: section vk: count of inputs at offset %d: found %u, expected 1 to %zu (what the file holds)", name,
            ZK_VK_HEADER_BYTES - 4, n_ic, room);
    vk->ic = zk_malloc(n_ic * sizeof *vk->ic);
    if (!vk->ic) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: %u input points: out of memory", name, n_ic);
    vk->n_ic = n_ic;
    for (uint32_t i = 0; i < n_ic; i++) {
        char what[32];
        snprintf(what, sizeof what, "ic %u", i);
        ZK_GOTO(read_g1(&vk->ic[i], name, what, bytes, zk_vk_bytes(i), err));
    }
    *n_used = zk_vk_bytes(n_ic);
out:
    if (status != CUZK_OK) zk_vk_clear(vk);
    return status;
}

void zk_vk_encode(uint8_t *bytes, const zk_vk *vk) {
    zk_g1_serialize(bytes, &vk->alpha_g1);
    zk_g1_serialize(bytes + 96, &vk->beta_g1);
    zk_g2_serialize(bytes + 192, &vk->beta_g2);
    zk_g2_serialize(bytes + 384, &vk->gamma_g2);
    zk_g1_serialize(bytes + 576, &vk->delta_g1);
    zk_g2_serialize(bytes + 672, &vk->delta_g2);
    zk_store_be32(bytes + ZK_VK_HEADER_BYTES - 4, vk->n_ic);
    for (uint32_t i = 0; i < vk->n_ic; i++) zk_g1_serialize(bytes + zk_vk_bytes(i), &vk->ic[i]);
}

void zk_vk_clear(zk_vk *vk) {
    free(vk->ic);
    *vk = (zk_vk){0};
}

cuzk_status zk_vk_match(const zk_vk *vk, const char *name, const char *circuit, uint32_t n_inputs, cuzk_err *err) {
    if (vk->n_ic == n_inputs) return CUZK_OK;
    return ZK_FAIL(err, CUZK_BAD_INPUT,
                   "%s: section vk: %u inputs, circuit %s has %u (both with the constant one): key of another circuit",
                   name, vk->n_ic, circuit, n_inputs);
}

cuzk_status zk_vk_read(zk_vk *vk, const char *path, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    uint8_t *bytes = NULL;
    size_t n_bytes = 0, n_used;
    *vk = (zk_vk){0};
    ZK_TRY(zk_file_read(&bytes, &n_bytes, path, ZK_VK_MAX_FILE_BYTES, err));
    ZK_GOTO(zk_vk_decode(vk, &n_used, bytes, n_bytes, path, err));
    if (n_used != n_bytes) {
        status = ZK_FAIL(err, CUZK_BAD_INPUT,
                         "%s: section vk: %u inputs end at offset %zu, file at %zu: expected nothing behind them", path,
                         vk->n_ic, n_used, n_bytes);
        zk_vk_clear(vk);
    }
out:
    free(bytes);
    return status;
}

cuzk_status zk_vk_write(const zk_vk *vk, const char *path, cuzk_err *err) {
    size_t n_bytes = zk_vk_bytes(vk->n_ic);
    uint8_t *bytes = zk_malloc(n_bytes);
    if (!bytes) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: out of memory", path);
    zk_vk_encode(bytes, vk);
    cuzk_status status = zk_file_write(path, bytes, n_bytes, err);
    free(bytes);
    return status;
}
