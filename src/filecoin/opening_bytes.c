#include "filecoin/opening_bytes.h"

#include <string.h>

#include "base/bytes.h"

static const char *const part_names[] = {"base", "sub", "top"};

zk_opening_parts zk_opening_parts_of(const zk_opening_shape *shape) {
    zk_opening_parts parts = {1, {{shape->n_base, 8}}};
    const uint32_t arities[] = {shape->sub_arity, shape->top_arity};
    for (int i = 0; i < 2; i++) {
        if (!arities[i]) continue;
        parts.part[parts.n].n_levels = 1;
        parts.part[parts.n++].arity = arities[i];
    }
    return parts;
}

zk_opening_parts zk_opening_parts_binary(uint32_t n_levels) { return (zk_opening_parts){1, {{n_levels, 2}}}; }

size_t zk_opening_n_bytes(const zk_opening_parts *parts) {
    size_t n = 4 + 2 * 32;
    for (uint32_t i = 0; i < parts->n; i++)
        n += 8 + parts->part[i].n_levels * (8 + (size_t)(parts->part[i].arity - 1) * 32 + 8);
    return n;
}

/* ---- reading; `rest` moves on over what is read ---- */

static cuzk_status read_path(zk_opening_view *rest, zk_bincode *r, const zk_opening_parts *parts, uint32_t part) {
    uint32_t n_levels = parts->part[part].n_levels, arity = parts->part[part].arity;
    uint64_t value = 0;
    zk_bincode_enter(r, part_names[part], ZK_BINCODE_NO_INDEX);
    ZK_TRY(zk_bincode_u64(&value, r, n_levels, n_levels, "number of levels"));
    zk_bincode_leave(r);
    for (uint32_t i = 0; i < n_levels; i++) {
        zk_bincode_enter(r, part_names[part], i);
        ZK_TRY(zk_bincode_u64(&value, r, arity - 1, arity - 1, "number of hashes"));
        for (uint32_t k = 0; k + 1 < arity; k++) {
            zk_bincode_enter(r, "hashes", k);
            ZK_TRY(zk_bincode_node(*rest->siblings++, r, "sibling"));
            zk_bincode_leave(r);
        }
        ZK_TRY(zk_bincode_u64(&value, r, 0, arity - 1, "index"));
        *rest->index++ = (uint32_t)value;
        zk_bincode_leave(r);
    }
    return CUZK_OK;
}

cuzk_status zk_opening_read(const zk_opening_view *to, zk_bincode *r, const zk_opening_parts *parts) {
    zk_opening_view rest = *to;
    uint32_t tag = 0;
    ZK_TRY(zk_bincode_u32(&tag, r, parts->n - 1, parts->n - 1, "variant"));
    for (uint32_t i = 0; i < parts->n && parts->n > 1; i++) ZK_TRY(read_path(&rest, r, parts, i));
    ZK_TRY(zk_bincode_node(to->root, r, "root"));
    ZK_TRY(zk_bincode_node(to->leaf, r, "leaf"));
    return parts->n > 1 ? CUZK_OK : read_path(&rest, r, parts, 0);
}

/* ---- writing, in the same way ---- */

static uint8_t *put_u64(uint8_t *to, uint64_t value) {
    zk_store_le64(to, value);
    return to + 8;
}

static uint8_t *write_path(uint8_t *to, const zk_opening_parts *parts, uint32_t part, zk_opening_view *rest) {
    uint32_t n_levels = parts->part[part].n_levels, n_siblings = parts->part[part].arity - 1;
    to = put_u64(to, n_levels);
    for (uint32_t i = 0; i < n_levels; i++) {
        to = put_u64(to, n_siblings);
        memcpy(to, rest->siblings, (size_t)n_siblings * 32);
        rest->siblings += n_siblings;
        to = put_u64(to + (size_t)n_siblings * 32, *rest->index++);
    }
    return to;
}

uint8_t *zk_opening_write(uint8_t *to, const zk_opening_parts *parts, const zk_opening_view *from) {
    zk_opening_view rest = *from;
    zk_store_le32(to, parts->n - 1);
    to += 4;
    for (uint32_t i = 0; i < parts->n && parts->n > 1; i++) to = write_path(to, parts, i, &rest);
    memcpy(to, from->root, 32);
    memcpy(to + 32, from->leaf, 32);
    to += 64;
    return parts->n > 1 ? to : write_path(to, parts, 0, &rest);
}
