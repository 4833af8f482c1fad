#include "rpc/pb.h"

#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"

static bool read_varint(zk_pb_reader *r, uint64_t *value) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70 && r->p < r->end; shift += 7) {
        uint8_t b = *r->p++;
        if (shift == 63 && b > 1) return false;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            *value = v;
            return true;
        }
    }
    return false;
}

static bool read_fixed(zk_pb_reader *r, uint64_t *value, size_t n) {
    if ((size_t)(r->end - r->p) < n) return false;
    *value = n == 8 ? zk_load_le64(r->p) : zk_load_le32(r->p);
    r->p += n;
    return true;
}

bool zk_pb_next(zk_pb_reader *r, zk_pb_field *field) {
    uint64_t tag = 0, n = 0;
    *field = (zk_pb_field){0};
    if (r->bad || r->p == r->end) return false;
    r->bad = true;
    if (!read_varint(r, &tag) || tag > UINT32_MAX || tag >> 3 == 0) return false;
    field->number = (uint32_t)(tag >> 3);
    field->type = (zk_pb_type)(tag & 7);
    switch (field->type) {
    case ZK_PB_VARINT:
        if (!read_varint(r, &field->value)) return false;
        break;
    case ZK_PB_FIXED64:
        if (!read_fixed(r, &field->value, 8)) return false;
        break;
    case ZK_PB_FIXED32:
        if (!read_fixed(r, &field->value, 4)) return false;
        break;
    case ZK_PB_BYTES:
        if (!read_varint(r, &n) || n > (uint64_t)(r->end - r->p)) return false;
        field->data = r->p;
        field->n = (size_t)n;
        r->p += n;
        break;
    default:
        return false;
    }
    r->bad = false;
    return true;
}

bool zk_pb_is(const zk_pb_field *field, uint32_t number, zk_pb_type type) {
    return field->number == number && field->type == type;
}

static void put(zk_pb_writer *w, const void *data, size_t n) {
    size_t sum = 0;
    if (w->failed || !zk_add_size(&sum, w->n, n) || !zk_grow((void **)&w->data, &w->capacity, sum ? sum : 1, 1)) {
        w->failed = true;
        return;
    }
    if (n) memcpy(w->data + w->n, data, n);
    w->n = sum;
}

static void put_varint(zk_pb_writer *w, uint64_t v) {
    uint8_t bytes[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) bytes[n++] = (uint8_t)(v | 0x80);
    bytes[n++] = (uint8_t)v;
    put(w, bytes, n);
}

void zk_pb_put_varint(zk_pb_writer *w, uint32_t number, uint64_t value) {
    put_varint(w, (uint64_t)number << 3 | ZK_PB_VARINT);
    put_varint(w, value);
}

void zk_pb_put_bytes(zk_pb_writer *w, uint32_t number, const void *data, size_t n) {
    put_varint(w, (uint64_t)number << 3 | ZK_PB_BYTES);
    put_varint(w, n);
    put(w, data, n);
}

void zk_pb_put_text(zk_pb_writer *w, uint32_t number, const char *text) {
    zk_pb_put_bytes(w, number, text, strlen(text));
}
