/* Base64 (RFC 4648, standard alphabet), decoded in pieces of any size. Strict: no line breaks or other foreign
 * characters, padding required, unused bits zero, nothing after the padding. */
#ifndef ZK_BASE_BASE64_H
#define ZK_BASE_BASE64_H

#include "base/status.h"

/* Zero-initialise. */
typedef struct zk_base64 {
    uint64_t offset;    /* characters consumed */
    uint32_t bits;      /* digits of the unfinished group */
    unsigned n_digits;  /* of it, 0..3 */
    unsigned n_padding; /* '=' seen; > 0: the text is over but for a second '=' */
} zk_base64;

/* Room for the bytes that n more characters can give. */
static inline size_t zk_base64_max_bytes(size_t n_text) { return n_text / 4 * 3 + 3; }

/* Decodes n_text characters; `out` has room for zk_base64_max_bytes(n_text).
 * CUZK_BAD_INPUT "base64: character N: ...". */
cuzk_status zk_base64_decode(uint8_t *out, size_t *n_out, zk_base64 *state, const char *text, size_t n_text,
                             cuzk_err *err) ZK_MUST_USE;
/* After the last piece: the text must be complete. */
cuzk_status zk_base64_finish(const zk_base64 *state, cuzk_err *err) ZK_MUST_USE;

/* 4 * ceil(n / 3) characters and a zero byte. */
void zk_base64_encode(char *text, const uint8_t *data, size_t n);

#endif
