/* Digests of key files: made once, remembered for as long as the file is the same (inode, size, modification time), so
 * that neither a new worker nor a restart reads gigabytes again; and compared with a manifest where there is one.
 *
 * The record is a text file, a line a key file, written whole or not at all:
 *   SHA-256  BLAKE2B  BYTES  MTIME_S.MTIME_NS  DEVICE  INODE  PATH
 * BLAKE2B is the first 16 bytes of BLAKE2b-512, which manifests use, or "-" where nobody asked for it.
 * The digest of a prepared key (`.prepared`) is of all but the last 32 bytes, which name it.
 * A manifest is Filecoin's parameters.json: an object with a member for each file name, in it `digest`, 32 hex digits.
 */
#ifndef ZK_ENGINE_DIGESTS_H
#define ZK_ENGINE_DIGESTS_H

#include <stdbool.h>

#include "base/cancel.h"
#include "base/file.h"

#define ZK_MANIFEST_DIGEST_BYTES 16

typedef struct zk_file_identity {
    uint64_t device, inode, n_bytes;
    int64_t mtime_s, mtime_ns;
} zk_file_identity;
zk_file_identity zk_file_identity_of(const zk_file_map *map);
bool zk_file_identity_same(const zk_file_identity *a, const zk_file_identity *b);

typedef struct zk_file_digest {
    uint8_t sha256[32];
    uint8_t blake2b[ZK_MANIFEST_DIGEST_BYTES];
    bool has_blake2b;
} zk_file_digest;
/* Reads the open file, not through a mapping. with_blake2b: both, else SHA-256 alone. CANCELLED: by the flag (may be
 * NULL) or for the process. BAD_INPUT: it is shorter than n_bytes. */
cuzk_status zk_file_digest_make(zk_file_digest *digest, int fd, uint64_t n_bytes, bool with_blake2b,
                                const zk_cancel *cancel, cuzk_err *err) ZK_MUST_USE;

typedef struct zk_digests zk_digests; /* any thread may call */
/* record: made if missing; lines that make no sense are dropped. manifest: NULL or "": none. BAD_INPUT, NOT_FOUND: the
 * manifest. */
cuzk_status zk_digests_open(zk_digests **digests, const char *record, const char *manifest, cuzk_err *err) ZK_MUST_USE;
void zk_digests_close(zk_digests *digests); /* NULL is fine */

/* Whether the file's digest is known; else it is wanted, *with_blake2b too if a manifest names the file. BAD_INPUT: it
 * is known not to be what the manifest says; both are in the message. */
cuzk_status zk_digests_look(bool *known, bool *with_blake2b, zk_digests *digests, const char *path,
                            const zk_file_identity *identity, cuzk_err *err) ZK_MUST_USE;
/* BAD_INPUT as above (remembered all the same). *changed: the path had other content before, of which `before` is the
 * digest. A record that cannot be written is no failure: the digest is made again after a restart. */
cuzk_status zk_digests_remember(bool *changed, uint8_t before[32], zk_digests *digests, const char *path,
                                const zk_file_identity *identity, const zk_file_digest *digest,
                                cuzk_err *err) ZK_MUST_USE;
/* SHA-256 of the file as it was last seen; false: not known. */
bool zk_digests_get(uint8_t sha256[32], zk_digests *digests, const char *path);

#endif
