#include "filecoin/bincode.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "field/fr.h"

void zk_bincode_init(zk_bincode *r, const uint8_t *bytes, size_t n, cuzk_err *err) {
    *r = (zk_bincode){.bytes = bytes, .n = n, .err = err};
}

void zk_bincode_enter(zk_bincode *r, const char *name, uint32_t index) {
    if (r->depth < ZK_BINCODE_MAX_DEPTH) {
        r->place[r->depth].name = name;
        r->place[r->depth].index = index;
    }
    r->depth++;
}

void zk_bincode_leave(zk_bincode *r) { r->depth--; }

static cuzk_status refuse(const zk_bincode *r, size_t at, const char *what, const char *found, const char *expected) {
    char where[160] = "";
    size_t n = 0;
    for (unsigned i = 0; i < r->depth && i < ZK_BINCODE_MAX_DEPTH && n < sizeof where; i++) {
        n += (size_t)snprintf(where + n, sizeof where - n, "%s%s", n ? "." : "", r->place[i].name);
        if (r->place[i].index != ZK_BINCODE_NO_INDEX && n < sizeof where)
            n += (size_t)snprintf(where + n, sizeof where - n, "[%" PRIu32 "]", r->place[i].index);
    }
    return ZK_FAIL(r->err, CUZK_BAD_INPUT, "byte %zu: %s%s%s: found %s, expected %s", at, where, n ? ": " : "", what,
                   found, expected);
}

static cuzk_status take(const uint8_t **bytes, zk_bincode *r, size_t n, const char *what) {
    size_t left = r->n - r->at;
    if (n <= left) {
        *bytes = r->bytes + r->at;
        r->at += n;
        return CUZK_OK;
    }
    char found[48], expected[32];
    snprintf(found, sizeof found, "%zu byte%s up to the end", left, left == 1 ? "" : "s");
    snprintf(expected, sizeof expected, "%zu", n);
    return refuse(r, r->at, what, found, expected);
}

static cuzk_status number(uint64_t *value, zk_bincode *r, unsigned width, uint64_t least, uint64_t most,
                          const char *what) {
    const uint8_t *bytes = NULL;
    ZK_TRY(take(&bytes, r, width, what));
    uint64_t v = width == 4 ? zk_load_le32(bytes) : zk_load_le64(bytes);
    if (v >= least && v <= most) {
        *value = v;
        return CUZK_OK;
    }
    char found[24], expected[56];
    snprintf(found, sizeof found, "%" PRIu64, v);
    if (least == most)
        snprintf(expected, sizeof expected, "%" PRIu64, least);
    else
        snprintf(expected, sizeof expected, "%" PRIu64 " to %" PRIu64, least, most);
    return refuse(r, r->at - width, what, found, expected);
}

cuzk_status zk_bincode_u32(uint32_t *value, zk_bincode *r, uint32_t least, uint32_t most, const char *what) {
    uint64_t v = 0;
    ZK_TRY(number(&v, r, 4, least, most, what));
    *value = (uint32_t)v;
    return CUZK_OK;
}

cuzk_status zk_bincode_u64(uint64_t *value, zk_bincode *r, uint64_t least, uint64_t most, const char *what) {
    return number(value, r, 8, least, most, what);
}

bool zk_node_is_canonical(const uint8_t node[32]) {
    for (int i = 3; i >= 0; i--) {
        uint64_t limb = zk_load_le64(node + 8 * i);
        if (limb != zk_fr_modulus[i]) return limb < zk_fr_modulus[i];
    }
    return false;
}

cuzk_status zk_bincode_node(uint8_t node[32], zk_bincode *r, const char *what) {
    const uint8_t *bytes = NULL;
    ZK_TRY(take(&bytes, r, 32, what));
    if (!zk_node_is_canonical(bytes)) {
        char hex[65];
        zk_hex_encode(hex, bytes, 32);
        return refuse(r, r->at - 32, what, hex, "a field element (below r, little-endian)");
    }
    memcpy(node, bytes, 32);
    return CUZK_OK;
}

cuzk_status zk_bincode_end(const zk_bincode *r) {
    if (r->at == r->n) return CUZK_OK;
    char found[32];
    snprintf(found, sizeof found, "%zu byte%s more", r->n - r->at, r->n - r->at == 1 ? "" : "s");
    return refuse(r, r->at, "end", found, "none");
}
