/* Writes a large file front to back under a temporary name, whole or not at all, and can go on after an interruption.
 *
 * While it grows the file is `<path>.partial`, locked against a second writer. A resumable writer also keeps
 * `<path>.partial.state`: the caller's fingerprint of everything the bytes depend on, how many bytes are on disk, and
 * their SHA-256. A later writer with the same fingerprint rereads those bytes, compares the digest, cuts what lies
 * behind and goes on; anything that does not match starts from nothing.
 */
#ifndef ZK_GROTH16_KEY_WRITER_H
#define ZK_GROTH16_KEY_WRITER_H

#include "base/status.h"
#include "hash/sha256.h"

typedef struct zk_key_writer {
    char *path, *partial, *state, *state_new;
    int fd;
    bool resumable;
    uint8_t fingerprint[32];
    uint64_t offset;  /* of the next byte asked for */
    uint64_t resumed; /* bytes that are there already */
    uint64_t saved;   /* bytes that the state file vouches for */
    zk_sha256_ctx sha;
} zk_key_writer;

#define ZK_KEY_WRITER_SAVE_BYTES (64u << 20) /* between two states */

/* fingerprint: NULL for a writer that does not resume. EXHAUSTED: another process is writing the same file. */
cuzk_status zk_key_writer_open(zk_key_writer *writer, const char *path, const uint8_t *fingerprint,
                               cuzk_err *err) ZK_MUST_USE;
/* True (and moves on) if the next n bytes are there already: they need not be made. */
bool zk_key_writer_skip(zk_key_writer *writer, uint64_t n);
cuzk_status zk_key_writer_put(zk_key_writer *writer, const void *bytes, size_t n, cuzk_err *err) ZK_MUST_USE;
/* Flushes to disk, gives the file its name and the digest of all bytes. The writer is closed, also on failure. */
cuzk_status zk_key_writer_finish(zk_key_writer *writer, uint8_t sha256[32], cuzk_err *err) ZK_MUST_USE;
/* Closes without a result; with `keep` a resumable writer leaves what is done. NULL and closed writers are fine. */
void zk_key_writer_abandon(zk_key_writer *writer, bool keep);

#endif
