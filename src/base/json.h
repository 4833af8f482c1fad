/* Incremental JSON tokenizer (RFC 8259, strict), for documents too large to hold.
 *
 * The caller feeds buffers of any size and pulls events:
 *
 *   zk_json_feed(json, data, n, last);
 *   for (;;) {
 *       ZK_TRY(zk_json_next(json, &event, err));
 *       if (event.kind == ZK_JSON_MORE || event.kind == ZK_JSON_DONE) break;
 *       ...
 *   }
 *
 * How a document is cut into buffers never changes the events, except that a long string may come in other fragments.
 * Refused: everything outside the grammar (trailing commas, leading zeros, comments, a byte order mark, control
 * characters in strings, text after the value), text that is not UTF-8, lone surrogates, and what exceeds the limits.
 * Memory is bounded by the limits, never by the document. Small files: json_dom.h. Output: json_writer.h.
 */
#ifndef ZK_BASE_JSON_H
#define ZK_BASE_JSON_H

#include "base/status.h"

typedef enum zk_json_kind {
    ZK_JSON_MORE, /* the buffer is used up: feed the next one */
    ZK_JSON_DONE, /* the document is complete and its last buffer read to the end */
    ZK_JSON_OBJECT_BEGIN,
    ZK_JSON_OBJECT_END,
    ZK_JSON_ARRAY_BEGIN,
    ZK_JSON_ARRAY_END,
    ZK_JSON_KEY,    /* name of an object member: text, whole and decoded */
    ZK_JSON_STRING, /* text: a decoded fragment; `last` marks the final one (which may be empty) */
    ZK_JSON_NUMBER, /* text as written */
    ZK_JSON_TRUE,
    ZK_JSON_FALSE,
    ZK_JSON_NULL,
    ZK_JSON_BYTES, /* an array asked for by zk_json_want_bytes: text and n_text are the bytes in the caller's buffer */
} zk_json_kind;

typedef struct zk_json_event {
    zk_json_kind kind;
    unsigned depth;   /* containers around this value or key; equal for the begin and end of one container */
    uint64_t offset;  /* in the document, of the token's first byte (every fragment: of the opening quote) */
    const char *text; /* not zero-terminated, valid until the next call of next or feed */
    size_t n_text;    /* a fragment may end inside a UTF-8 sequence */
    bool first, last; /* ZK_JSON_STRING: first and final fragment */
    bool is_u64;      /* ZK_JSON_NUMBER: digits only and below 2^64, value in u64 */
    uint64_t u64;
} zk_json_event;

/* Zero members mean the defaults. */
typedef struct zk_json_limits {
    unsigned max_depth;      /* 64; at most 1024 */
    size_t max_key_bytes;    /* 1024, decoded */
    size_t max_number_bytes; /* 128 */
} zk_json_limits;

typedef struct zk_json zk_json;

cuzk_status zk_json_create(zk_json **json, const zk_json_limits *limits,
                           cuzk_err *err) ZK_MUST_USE; /* limits: may be NULL */
void zk_json_destroy(zk_json *json);
/* Back to the start of a new document. */
void zk_json_reset(zk_json *json);

/* Hands over the next n bytes (n may be 0); `last`: nothing follows. Only before the first event and after
 * ZK_JSON_MORE. The data is borrowed until ZK_JSON_MORE or ZK_JSON_DONE is returned. */
void zk_json_feed(zk_json *json, const void *data, size_t n, bool last);

/* The next event. Fails with CUZK_BAD_INPUT "json: byte N: found ..., expected ..."; a failure is final. */
cuzk_status zk_json_next(zk_json *json, zk_json_event *event, cuzk_err *err) ZK_MUST_USE;

/* If the next value is an array, it must consist of exactly n integers 0..255 (else CUZK_BAD_INPUT) and arrives in
 * `out` as one ZK_JSON_BYTES event, at many times the speed of single numbers. Any other value comes as usual; a
 * container that ends first drops the request. `out` must stay until then. */
void zk_json_want_bytes(zk_json *json, uint8_t *out, size_t n);

/* Bytes of the document read so far. */
uint64_t zk_json_offset(const zk_json *json);

#endif
