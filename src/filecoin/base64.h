/* Incremental base64 decoding (RFC 4648, the standard alphabet with padding; canonical only). */
#ifndef ZK_FILECOIN_BASE64_H
#define ZK_FILECOIN_BASE64_H

#include "base/status.h"

typedef struct zk_base64 {
    uint32_t bits;     /* of the characters not yet written out */
    unsigned n_chars;  /* 0 .. 3 characters in bits */
    unsigned n_pads;   /* '=' seen */
    uint64_t position; /* characters so far */
} zk_base64;

/* Zero-initialise before the first piece. out: 3 (n / 4 + 1) bytes. */
cuzk_status zk_base64_decode(uint8_t *out, size_t *n_out, zk_base64 *state, const char *text, size_t n,
                             cuzk_err *err) ZK_MUST_USE;
/* After the last piece. */
cuzk_status zk_base64_finish(const zk_base64 *state, cuzk_err *err) ZK_MUST_USE;

#endif
