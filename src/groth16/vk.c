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

/* A key being read. */
typedef struct reader {
    const uint8_t *bytes;
    const char *name;
    cuzk_status bad_point; /* what one gives */
    cuzk_err *err;
} reader;

static cuzk_status refuse(const reader *r, const char *what, size_t offset, const char *why) {
    char text[ZK_POINT_TEXT_BYTES];
    zk_point_text(text, r->bytes + offset);
    return ZK_FAIL(r->err, r->bad_point,
                   "%s: section vk: %s at offset %zu: %s: found %s, expected a point of the group", r->name, what,
                   offset, why, text);
}

static cuzk_status read_g1(zk_g1_affine *point, const reader *r, const char *what, size_t offset) {
    zk_point_verdict verdict = zk_g1_deserialize(point, r->bytes + offset, true);
    if (verdict != ZK_POINT_OK) return refuse(r, what, offset, zk_point_verdict_text(verdict));
    if (zk_g1_affine_is_infinity(point)) return refuse(r, what, offset, "infinity");
    return CUZK_OK;
}

static cuzk_status read_g2(zk_g2_affine *point, const reader *r, const char *what, size_t offset) {
    zk_point_verdict verdict = zk_g2_deserialize(point, r->bytes + offset, true);
    if (verdict != ZK_POINT_OK) return refuse(r, what, offset, zk_point_verdict_text(verdict));
    if (zk_g2_affine_is_infinity(point)) return refuse(r, what, offset, "infinity");
    return CUZK_OK;
}

cuzk_status zk_vk_measure(uint32_t *n_ic, const uint8_t *bytes, size_t n_bytes, const char *name, cuzk_err *err) {
    *n_ic = 0;
    if (n_bytes < ZK_VK_HEADER_BYTES)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: section vk: ends at offset %zu, expected %d bytes and the inputs",
                       name, n_bytes, ZK_VK_HEADER_BYTES);
    uint32_t n = zk_load_be32(bytes + ZK_VK_HEADER_BYTES - 4);
    size_t room = (n_bytes - ZK_VK_HEADER_BYTES) / ZK_G1_UNCOMPRESSED_BYTES;
    if (n == 0 || n > room)
        return ZK_FAIL(
            err, CUZK_BAD_INPUT,
            "%s: section vk: count of inputs at offset %d: found %u, expected 1 to %zu (what the file holds)", name,
            ZK_VK_HEADER_BYTES - 4, n, room);
    *n_ic = n;
    return CUZK_OK;
}

static cuzk_status decode(zk_vk *vk, size_t *n_used, size_t n_bytes, const reader *r) {
    cuzk_status status = CUZK_OK;
    uint32_t n_ic;
    *vk = (zk_vk){0};
    *n_used = 0;
    ZK_TRY(zk_vk_measure(&n_ic, r->bytes, n_bytes, r->name, r->err));
    ZK_TRY(read_g1(&vk->alpha_g1, r, "alpha in G1", 0));
    ZK_TRY(read_g1(&vk->beta_g1, r, "beta in G1", 96));
    ZK_TRY(read_g2(&vk->beta_g2, r, "beta in G2", 192));
    ZK_TRY(read_g2(&vk->gamma_g2, r, "gamma in G2", 384));
    ZK_TRY(read_g1(&vk->delta_g1, r, "delta in G1", 576));
    ZK_TRY(read_g2(&vk->delta_g2, r, "delta in G2", 672));
    vk->ic = zk_malloc(n_ic * sizeof *vk->ic);
    if (!vk->ic) return ZK_FAIL(r->err, CUZK_OUT_OF_MEMORY, "%s: %u input points: out of memory", r->name, n_ic);
    vk->n_ic = n_ic;
    for (uint32_t i = 0; i < n_ic; i++) {
        char what[32];
        snprintf(what, sizeof what, "ic %u", i);
        ZK_GOTO(read_g1(&vk->ic[i], r, what, zk_vk_bytes(i)));
    }
    *n_used = zk_vk_bytes(n_ic);
out:
    if (status != CUZK_OK) zk_vk_clear(vk);
    return status;
}

cuzk_status zk_vk_decode(zk_vk *vk, size_t *n_used, const uint8_t *bytes, size_t n_bytes, const char *name,
                         cuzk_err *err) {
    return decode(vk, n_used, n_bytes, &(reader){bytes, name, CUZK_BAD_INPUT, err});
}

cuzk_status zk_vk_check(zk_vk *vk, size_t *n_used, const uint8_t *bytes, size_t n_bytes, const char *name,
                        cuzk_err *err) {
    return decode(vk, n_used, n_bytes, &(reader){bytes, name, CUZK_CHECK_FAILED, err});
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
