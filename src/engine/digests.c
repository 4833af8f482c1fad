#include "engine/digests.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/json_dom.h"
#include "base/log.h"
#include "hash/blake2b.h"
#include "hash/sha256.h"

enum { PIECE_BYTES = 4 << 20, MAX_RECORD_BYTES = 1 << 20, MAX_MANIFEST_BYTES = 16 << 20, MAX_ENTRIES = 256 };

typedef struct entry {
    zk_file_identity identity;
    zk_file_digest digest;
    char *path;
} entry;

struct zk_digests {
    pthread_mutex_t lock;
    char *record;
    zk_json_doc *manifest; /* NULL: none */
    char *manifest_name;
    entry *entries; /* least recently made first */
    size_t n, capacity;
};

zk_file_identity zk_file_identity_of(const zk_file_map *map) {
    return (zk_file_identity){.device = map->device,
                              .inode = map->inode,
                              .n_bytes = map->n_bytes,
                              .mtime_s = map->mtime_s,
                              .mtime_ns = map->mtime_ns};
}

bool zk_file_identity_same(const zk_file_identity *a, const zk_file_identity *b) {
    return a->device == b->device && a->inode == b->inode && a->n_bytes == b->n_bytes && a->mtime_s == b->mtime_s &&
           a->mtime_ns == b->mtime_ns;
}

/* ---- making ---- */

static cuzk_status read_piece(uint8_t *piece, size_t n, int fd, uint64_t at, cuzk_err *err) {
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, piece + done, n - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return ZK_FAIL(err, CUZK_IO, "cannot read at byte %" PRIu64 ": %s", at + done, strerror(errno));
        if (got == 0) return ZK_FAIL(err, CUZK_BAD_INPUT, "changed while in use: it ends at byte %" PRIu64, at + done);
        done += (size_t)got;
    }
    return CUZK_OK;
}

cuzk_status zk_file_digest_make(zk_file_digest *digest, int fd, uint64_t n_bytes, bool with_blake2b,
                                const zk_cancel *cancel, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_sha256_ctx sha256;
    zk_blake2b_ctx blake2b;
    uint8_t whole[ZK_BLAKE2B_MAX_BYTES] = {0}, *piece = zk_malloc(PIECE_BYTES);
    if (!piece) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a digest");
    zk_sha256_init(&sha256);
    zk_blake2b_init(&blake2b, sizeof whole, NULL, 0);
    for (uint64_t at = 0; at < n_bytes; at += PIECE_BYTES) {
        size_t n = n_bytes - at < PIECE_BYTES ? (size_t)(n_bytes - at) : PIECE_BYTES;
        ZK_GOTO(zk_cancel_check(cancel, "digest", err));
        ZK_GOTO(read_piece(piece, n, fd, at, err));
        zk_sha256_update(&sha256, piece, n);
        if (with_blake2b) zk_blake2b_update(&blake2b, piece, n);
    }
    zk_sha256_final(digest->sha256, &sha256);
    if (with_blake2b) zk_blake2b_final(whole, &blake2b);
    memcpy(digest->blake2b, whole, sizeof digest->blake2b);
    digest->has_blake2b = with_blake2b;
out:
    free(piece);
    return status;
}

/* ---- the record ---- */

static entry *find(zk_digests *d, const char *path) {
    for (size_t i = 0; i < d->n; i++)
        if (strcmp(d->entries[i].path, path) == 0) return &d->entries[i];
    return NULL;
}

static void drop(zk_digests *d, entry *e) {
    free(e->path);
    memmove(e, e + 1, (size_t)(d->entries + d->n - e - 1) * sizeof *e);
    d->n--;
}

static bool put(zk_digests *d, const entry *from) {
    entry *old = find(d, from->path), copy = *from;
    copy.path = zk_strdup(from->path);
    if (!copy.path || !zk_grow((void **)&d->entries, &d->capacity, d->n + 1, sizeof *d->entries)) {
        free(copy.path);
        return false;
    }
    if (old) drop(d, find(d, from->path));
    if (d->n == MAX_ENTRIES) drop(d, &d->entries[0]);
    d->entries[d->n++] = copy;
    return true;
}

static void read_line(zk_digests *d, char *line) {
    char sha256[65], blake2b[65];
    int at = 0;
    entry e = {0};
    if (sscanf(line, "%64s %64s %" SCNu64 " %" SCNd64 ".%" SCNd64 " %" SCNu64 " %" SCNu64 " %n", sha256, blake2b,
               &e.identity.n_bytes, &e.identity.mtime_s, &e.identity.mtime_ns, &e.identity.device, &e.identity.inode,
               &at) != 7 ||
        !line[at])
        return;
    e.digest.has_blake2b = strcmp(blake2b, "-") != 0;
    if (strlen(sha256) != 64 || !zk_hex_decode(e.digest.sha256, 32, sha256)) return;
    if (e.digest.has_blake2b && (strlen(blake2b) != 2 * ZK_MANIFEST_DIGEST_BYTES ||
                                 !zk_hex_decode(e.digest.blake2b, ZK_MANIFEST_DIGEST_BYTES, blake2b)))
        return;
    e.path = line + at;
    if (!put(d, &e)) ZK_LOG_WARN("no memory for a remembered digest");
}

static void read_record(zk_digests *d) {
    uint8_t *text = NULL;
    size_t n = 0;
    cuzk_err err = {0};
    cuzk_status status = zk_file_read(&text, &n, d->record, MAX_RECORD_BYTES, &err);
    if (status != CUZK_OK) {
        if (status != CUZK_NOT_FOUND) ZK_LOG_WARN("digests of keys are made again", zk_kv_str("error", err.message));
        return;
    }
    for (char *line = (char *)text; line < (char *)text + n;) {
        size_t length = strcspn(line, "\n");
        char *next = line + length + 1;
        line[length] = 0;
        read_line(d, line);
        line = next;
    }
    free(text);
}

static void write_record(zk_digests *d) {
    char *text = NULL;
    size_t n = 0;
    cuzk_err err = {0};
    FILE *out = open_memstream(&text, &n);
    if (!out) return;
    for (size_t i = 0; i < d->n; i++) {
        const entry *e = &d->entries[i];
        char sha256[65], blake2b[65] = "-";
        zk_hex_encode(sha256, e->digest.sha256, 32);
        if (e->digest.has_blake2b) zk_hex_encode(blake2b, e->digest.blake2b, ZK_MANIFEST_DIGEST_BYTES);
        fprintf(out, "%s %s %" PRIu64 " %" PRId64 ".%09" PRId64 " %" PRIu64 " %" PRIu64 " %s\n", sha256, blake2b,
                e->identity.n_bytes, e->identity.mtime_s, e->identity.mtime_ns, e->identity.device, e->identity.inode,
                e->path);
    }
    bool good = fclose(out) == 0;
    cuzk_status status = good ? zk_file_write(d->record, text, n, &err)
                              : ZK_FAIL(&err, CUZK_OUT_OF_MEMORY, "%s: no memory for its text", d->record);
    if (status != CUZK_OK) ZK_LOG_WARN("digests of keys are not remembered", zk_kv_str("error", err.message));
    free(text);
}

/* ---- the manifest ---- */

/* The digest that it has for the file; *there false: none. */
static cuzk_status wanted_digest(bool *there, uint8_t digest[ZK_MANIFEST_DIGEST_BYTES], const zk_digests *d,
                                 const char *path, cuzk_err *err) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const zk_json_value *file = d->manifest ? zk_json_member_of(zk_json_root(d->manifest), name) : NULL;
    *there = file != NULL;
    if (!file) return CUZK_OK;
    cuzk_status status =
        zk_json_get_hex(digest, ZK_MANIFEST_DIGEST_BYTES, zk_json_member_of(file, "digest"), "digest", err);
    if (status != CUZK_OK) zk_err_prefix(err, "%s: %s", d->manifest_name, name);
    return status;
}

static cuzk_status compare(const zk_digests *d, const char *path, const zk_file_digest *found, cuzk_err *err) {
    uint8_t wanted[ZK_MANIFEST_DIGEST_BYTES];
    bool there;
    ZK_TRY(wanted_digest(&there, wanted, d, path, err));
    if (!there || !found->has_blake2b || memcmp(wanted, found->blake2b, sizeof wanted) == 0) return CUZK_OK;
    char is[65], should_be[65];
    zk_hex_encode(is, found->blake2b, sizeof wanted);
    zk_hex_encode(should_be, wanted, sizeof wanted);
    return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found digest %s, expected %s as %s says", path, is, should_be,
                   d->manifest_name);
}

/* ---- the interface ---- */

cuzk_status zk_digests_open(zk_digests **digests, const char *record, const char *manifest, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    *digests = NULL;
    zk_digests *d = zk_calloc(1, sizeof *d);
    if (!d) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for digests");
    pthread_mutex_init(&d->lock, NULL);
    d->record = zk_strdup(record);
    d->manifest_name = zk_strdup(manifest ? manifest : "");
    if (!d->record || !d->manifest_name) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for digests"));
    if (manifest && *manifest) {
        ZK_GOTO(zk_json_parse_file(&d->manifest, manifest, MAX_MANIFEST_BYTES, err));
        if (!zk_json_is(zk_json_root(d->manifest), ZK_JSON_OBJECT_BEGIN))
            ZK_GOTO(ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %s, expected an object", manifest,
                            zk_json_kind_text(zk_json_root(d->manifest)->kind)));
    }
    ZK_GOTO(zk_file_check_regular(record, err)); /* it is written, too, while others wait */
    read_record(d);
    *digests = d;
    d = NULL;
out:
    zk_digests_close(d);
    return status;
}

void zk_digests_close(zk_digests *d) {
    if (!d) return;
    for (size_t i = 0; i < d->n; i++) free(d->entries[i].path);
    free(d->entries);
    free(d->record);
    free(d->manifest_name);
    zk_json_doc_destroy(d->manifest);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

cuzk_status zk_digests_look(bool *known, bool *with_blake2b, zk_digests *d, const char *path,
                            const zk_file_identity *identity, cuzk_err *err) {
    uint8_t wanted[ZK_MANIFEST_DIGEST_BYTES];
    *known = false;
    ZK_TRY(wanted_digest(with_blake2b, wanted, d, path, err));
    pthread_mutex_lock(&d->lock);
    const entry *e = find(d, path);
    zk_file_digest digest = {0};
    if (e && zk_file_identity_same(&e->identity, identity) && (e->digest.has_blake2b || !*with_blake2b)) {
        *known = true;
        digest = e->digest;
    }
    pthread_mutex_unlock(&d->lock);
    return *known ? compare(d, path, &digest, err) : CUZK_OK;
}

cuzk_status zk_digests_remember(bool *changed, uint8_t before[32], zk_digests *d, const char *path,
                                const zk_file_identity *identity, const zk_file_digest *digest, cuzk_err *err) {
    pthread_mutex_lock(&d->lock);
    const entry *old = find(d, path);
    *changed = old && memcmp(old->digest.sha256, digest->sha256, 32) != 0;
    if (old) memcpy(before, old->digest.sha256, 32);
    entry fresh = {.identity = *identity, .digest = *digest, .path = (char *)(uintptr_t)path};
    if (put(d, &fresh)) write_record(d);
    pthread_mutex_unlock(&d->lock);
    return compare(d, path, digest, err);
}

bool zk_digests_get(uint8_t sha256[32], zk_digests *d, const char *path) {
    pthread_mutex_lock(&d->lock);
    const entry *e = find(d, path);
    if (e) memcpy(sha256, e->digest.sha256, 32);
    pthread_mutex_unlock(&d->lock);
    return e != NULL;
}
