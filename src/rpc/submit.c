/* SubmitProofRequest, field by field over the slices as they were received: large fields go to the spool in those
 * pieces, nothing is put together in memory. */
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "rpc/call.h"

typedef struct walker {
    grpc_byte_buffer_reader reader;
    const uint8_t *p, *end; /* rest of the current slice */
    uint64_t offset, left;  /* in the message; of the message being read */
    cuzk_err *err;
} walker;

static cuzk_status malformed(walker *w, const char *what) {
    return ZK_FAIL(w->err, CUZK_BAD_INPUT, "SubmitProofRequest: byte %" PRIu64 ": %s", w->offset, what);
}

/* At least one byte at p, or false at the end of the message. */
static bool fill(walker *w) {
    while (w->p == w->end) {
        grpc_slice *slice = NULL;
        if (!grpc_byte_buffer_reader_peek(&w->reader, &slice)) return false;
        w->p = GRPC_SLICE_START_PTR(*slice);
        w->end = w->p + GRPC_SLICE_LENGTH(*slice);
    }
    return true;
}

static cuzk_status take(walker *w, uint8_t *out, size_t n) {
    for (size_t k = 0; k < n; k++) {
        if (w->left == 0 || !fill(w)) return malformed(w, "the message ends inside a field");
        out[k] = *w->p++;
        w->offset++;
        w->left--;
    }
    return CUZK_OK;
}

static cuzk_status take_varint(walker *w, uint64_t *value) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t b = 0;
        ZK_TRY(take(w, &b, 1));
        if (shift == 63 && b > 1) break;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            *value = v;
            return CUZK_OK;
        }
    }
    return malformed(w, "a varint of more than 64 bits");
}

/* The next n bytes, n <= left, into the spool (content NULL: skipped). */
static cuzk_status take_bytes(walker *w, zk_content *content, uint64_t n) {
    while (n > 0) {
        if (!fill(w)) return malformed(w, "the message ends inside a field");
        size_t piece = (size_t)(w->end - w->p);
        if (piece > n) piece = (size_t)n;
        if (content) ZK_TRY(zk_content_write(content, w->p, piece, w->err));
        w->p += piece;
        w->offset += piece;
        w->left -= piece;
        n -= piece;
    }
    return CUZK_OK;
}

static cuzk_status take_length(walker *w, uint64_t *n) {
    ZK_TRY(take_varint(w, n));
    return *n > w->left ? malformed(w, "a field is longer than the message") : CUZK_OK;
}

static cuzk_status take_request_id(walker *w, zk_rpc_submit *s) {
    uint64_t n = 0;
    ZK_TRY(take_length(w, &n));
    if (n > ZK_REQUEST_ID_MAX_BYTES)
        return ZK_FAIL(w->err, CUZK_BAD_INPUT, "request_id: found %" PRIu64 " bytes, expected at most %d", n,
                       ZK_REQUEST_ID_MAX_BYTES);
    ZK_TRY(take(w, (uint8_t *)s->request_id, (size_t)n));
    s->request_id[n] = 0;
    if (memchr(s->request_id, 0, (size_t)n)) return malformed(w, "request_id: a zero byte in the text");
    if (zk_utf8_valid_bytes(s->request_id, (size_t)n) < n) return malformed(w, "request_id: the text is not UTF-8");
    return CUZK_OK;
}

typedef struct byte_field {
    zk_content_field field;
    const char *name;
    bool repeated;
} byte_field;
static const byte_field byte_fields[] = {
    {ZK_CONTENT_VANILLA_PROOF, "vanilla_proof", false}, {ZK_CONTENT_VANILLA_PROOFS, "vanilla_proofs", true},
    {ZK_CONTENT_RANDOMNESS, "randomness", false},       {ZK_CONTENT_COMM_R_OLD, "comm_r_old", false},
    {ZK_CONTENT_COMM_R_NEW, "comm_r_new", false},       {ZK_CONTENT_COMM_D_NEW, "comm_d_new", false},
};
enum { N_BYTE_FIELDS = sizeof byte_fields / sizeof byte_fields[0] };

static cuzk_status take_content(walker *w, zk_rpc_submit *s, unsigned i, unsigned *seen) {
    const byte_field *f = &byte_fields[i];
    uint64_t n = 0;
    ZK_TRY(take_length(w, &n));
    /* What is in the spool cannot be replaced by a later value, not by an empty one, either. */
    if (!f->repeated && *seen >> i & 1)
        return ZK_FAIL(w->err, CUZK_BAD_INPUT, "%s: found a second value, expected one", f->name);
    if (!f->repeated && n == 0) return CUZK_OK; /* the same as absent */
    *seen |= 1u << i;
    ZK_TRY(zk_content_field_begin(s->content, f->field, n, w->err));
    return take_bytes(w, s->content, n);
}

static cuzk_status skip(walker *w, unsigned type) {
    uint64_t n = 0;
    switch (type) {
    case ZK_PB_VARINT:
        return take_varint(w, &n);
    case ZK_PB_FIXED64:
        n = 8;
        break;
    case ZK_PB_FIXED32:
        n = 4;
        break;
    case ZK_PB_BYTES:
        ZK_TRY(take_length(w, &n));
        break;
    default:
        return malformed(w, "a field of unknown wire type");
    }
    return n > w->left ? malformed(w, "the message ends inside a field") : take_bytes(w, NULL, n);
}

static cuzk_status take_number(walker *w, zk_rpc_submit *s, uint64_t number, bool *taken) {
    zk_engine_request *r = &s->request;
    uint64_t v = 0;
    struct {
        uint32_t number;
        uint64_t *out;
    } const wide[] = {{3, &r->sector_bytes}, {4, &r->registered_proof}, {20, &r->sector_number}, {21, &r->miner_id}};
    *taken = true;
    for (unsigned i = 0; i < 4; i++)
        if (number == wide[i].number) return take_varint(w, wide[i].out);
    switch (number) {
    case 2:
        ZK_TRY(take_varint(w, &v));
        if (v >= ZK_N_KINDS)
            return ZK_FAIL(w->err, CUZK_BAD_INPUT, "proof_kind: found %" PRIu64 ", expected 1 to %d", v,
                           ZK_N_KINDS - 1);
        r->kind = (zk_proof_kind)v;
        return CUZK_OK;
    case 5:
        ZK_TRY(take_varint(w, &v));
        if (v >= ZK_N_PRIORITIES)
            return ZK_FAIL(w->err, CUZK_BAD_INPUT, "priority: found %" PRIu64 ", expected 0 to %d", v,
                           ZK_N_PRIORITIES - 1);
        r->priority = (zk_priority)v;
        return CUZK_OK;
    case 23:
        ZK_TRY(take_varint(w, &v));
        r->partition_index = (uint32_t)v; /* as protobuf cuts it */
        return CUZK_OK;
    default:
        *taken = false;
        return CUZK_OK;
    }
}

static cuzk_status read_fields(walker *w, zk_rpc_submit *s, unsigned *seen) {
    while (w->left > 0) {
        uint64_t tag = 0;
        ZK_TRY(take_varint(w, &tag));
        uint64_t number = tag >> 3;
        unsigned type = (unsigned)(tag & 7);
        if (number == 0 || tag > UINT32_MAX) return malformed(w, "a field number out of range");
        bool taken = false;
        if (type == ZK_PB_VARINT) ZK_TRY(take_number(w, s, number, &taken));
        if (type == ZK_PB_BYTES && number == 1) {
            ZK_TRY(take_request_id(w, s));
            taken = true;
        }
        for (unsigned i = 0; !taken && type == ZK_PB_BYTES && i < N_BYTE_FIELDS; i++)
            if (number == (uint64_t)byte_fields[i].field) {
                ZK_TRY(take_content(w, s, i, seen));
                taken = true;
            }
        if (!taken) ZK_TRY(skip(w, type));
    }
    return CUZK_OK;
}

cuzk_status zk_rpc_submit_read(zk_rpc_submit *s, zk_engine *engine, grpc_byte_buffer *message, bool nested,
                               cuzk_err *err) {
    *s = (zk_rpc_submit){0};
    walker w = {.err = err, .left = grpc_byte_buffer_length(message)};
    unsigned seen = 0;
    cuzk_status status = CUZK_OK;
    if (!grpc_byte_buffer_reader_init(&w.reader, message))
        return ZK_FAIL(err, CUZK_BAD_INPUT, "SubmitProofRequest: the message cannot be decompressed");
    ZK_GOTO(zk_content_create(&s->content, engine, err));
    if (!nested) {
        ZK_GOTO(read_fields(&w, s, &seen));
    } else {
        uint64_t left = w.left;
        while (left > 0) {
            uint64_t tag = 0, n = 0, before = w.offset;
            w.left = left;
            ZK_GOTO(take_varint(&w, &tag));
            if (tag == (1 << 3 | ZK_PB_BYTES)) {
                ZK_GOTO(take_length(&w, &n));
                w.left = n;
                ZK_GOTO(read_fields(&w, s, &seen));
            } else {
                if (tag >> 3 == 0 || tag > UINT32_MAX) ZK_GOTO(malformed(&w, "a field number out of range"));
                ZK_GOTO(skip(&w, (unsigned)(tag & 7)));
            }
            left -= w.offset - before;
        }
    }
    s->request.request_id = s->request_id;
    s->request.one_partition = true;
out:
    grpc_byte_buffer_reader_destroy(&w.reader);
    return status;
}
