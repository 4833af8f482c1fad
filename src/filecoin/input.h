/* Byte sources: a file or memory, plain or zstd-compressed (recognised by its first four bytes). */
#ifndef ZK_FILECOIN_INPUT_H
#define ZK_FILECOIN_INPUT_H

#include "base/status.h"

/* Told which bytes a decoder is done with, so that whoever has them mapped can let go of their pages; in order, all of
 * them after success. fn NULL: nobody wants to know. */
typedef struct zk_passed {
    void (*fn)(void *ctx, const void *data, size_t n);
    void *ctx;
} zk_passed;
static inline void zk_passed_tell(const zk_passed *passed, const void *data, size_t n) {
    if (passed && passed->fn && n) passed->fn(passed->ctx, data, n);
}

typedef struct zk_input zk_input;
struct zk_input {
    /* The next piece, n > 0 bytes unless *last (nothing follows). It is valid until the next call. Not called again
     * after *last. */
    cuzk_status (*read)(zk_input *input, const uint8_t **data, size_t *n, bool *last, cuzk_err *err);
    void (*close)(zk_input *input); /* frees input */
};

/* Messages start with the path. The file is read in pieces of 256 KiB. */
cuzk_status zk_input_open_file(zk_input **input, const char *path, cuzk_err *err) ZK_MUST_USE;
/* The memory is borrowed until close; what of it has been read is told (`passed` may be NULL; copied). */
cuzk_status zk_input_open_memory(zk_input **input, const void *data, size_t n, const zk_passed *passed,
                                 cuzk_err *err) ZK_MUST_USE;
void zk_input_close(zk_input *input); /* NULL is fine */

/* Whether this build can read zstd. */
bool zk_input_has_zstd(void);

#endif
