#include "groth16/key_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/file.h"

/* The state file: all integers little-endian. */
typedef struct writer_state {
    char magic[16];
    uint8_t fingerprint[32];
    uint64_t n_bytes;
    uint8_t sha256[32];
} writer_state;
static const char magic[16] = "cuzk-partial-1\n";

static void close_writer(zk_key_writer *w) {
    if (w->fd >= 0) close(w->fd);
    free(w->path);
    free(w->partial);
    free(w->state);
    free(w->state_new);
    *w = (zk_key_writer){.fd = -1};
}

static bool write_all(int fd, const void *bytes, size_t n) {
    const uint8_t *at = bytes;
    while (n) {
        ssize_t done = write(fd, at, n < (1u << 26) ? n : (1u << 26));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        if (done == 0) {
            errno = ENOSPC;
            return false;
        }
        at += done;
        n -= (size_t)done;
    }
    return true;
}

/* How much of the partial file can be used; the running digest is brought there. */
static uint64_t usable_bytes(zk_key_writer *w) {
    writer_state state;
    struct stat st;
    uint64_t usable = 0;
    uint8_t digest[32], *buffer = NULL;
    int fd;
    if (zk_file_open(&fd, w->state, O_RDONLY, 0, NULL) != CUZK_OK) return 0;
    bool good = read(fd, &state, sizeof state) == (ssize_t)sizeof state &&
                memcmp(state.magic, magic, sizeof magic) == 0 &&
                memcmp(state.fingerprint, w->fingerprint, sizeof w->fingerprint) == 0 && fstat(w->fd, &st) == 0 &&
                (uint64_t)st.st_size >= state.n_bytes;
    close(fd);
    if (!good || !(buffer = zk_malloc(1 << 20))) return 0;
    while (usable < state.n_bytes) {
        size_t want = zk_min_size(1 << 20, state.n_bytes - usable);
        ssize_t got = pread(w->fd, buffer, want, (off_t)usable);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        zk_sha256_update(&w->sha, buffer, (size_t)got);
        usable += (uint64_t)got;
    }
    free(buffer);
    zk_sha256_peek(digest, &w->sha);
    if (usable == state.n_bytes && memcmp(digest, state.sha256, 32) == 0) return usable;
    zk_sha256_init(&w->sha);
    return 0;
}

cuzk_status zk_key_writer_open(zk_key_writer *w, const char *path, const uint8_t *fingerprint, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    struct stat ours, named;
    *w = (zk_key_writer){.fd = -1, .resumable = fingerprint != NULL};
    if (fingerprint) memcpy(w->fingerprint, fingerprint, sizeof w->fingerprint);
    zk_sha256_init(&w->sha);
    w->path = zk_strdup(path);
    w->partial = zk_asprintf("%s.partial", path);
    w->state = zk_asprintf("%s.partial.state", path);
    w->state_new = zk_asprintf("%s.partial.state.new", path);
    if (!w->path || !w->partial || !w->state || !w->state_new) {
        status = ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: out of memory", path);
        goto out;
    }
    ZK_GOTO(zk_file_check_regular(path, err)); /* what could not be replaced at the end */
    do {                                       /* the file may be renamed between open and lock */
        if (w->fd >= 0) close(w->fd);
        ZK_GOTO(zk_file_open(&w->fd, w->partial, O_RDWR | O_CREAT, 0644, err));
        if (fstat(w->fd, &ours) != 0) {
            status = ZK_FAIL(err, CUZK_IO, "%s: %s", w->partial, strerror(errno));
            goto out;
        }
        if (flock(w->fd, LOCK_EX | LOCK_NB) != 0) {
            status = ZK_FAIL(err, CUZK_EXHAUSTED, "%s: another process is writing this file", w->partial);
            goto out;
        }
    } while (stat(w->partial, &named) != 0 || named.st_ino != ours.st_ino || named.st_dev != ours.st_dev);
    w->resumed = w->saved = w->resumable ? usable_bytes(w) : 0;
    if (ftruncate(w->fd, (off_t)w->resumed) != 0 || lseek(w->fd, (off_t)w->resumed, SEEK_SET) < 0) {
        status = ZK_FAIL(err, CUZK_IO, "%s: %s", w->partial, strerror(errno));
        goto out;
    }
out:
    if (status != CUZK_OK) close_writer(w);
    return status;
}

bool zk_key_writer_skip(zk_key_writer *w, uint64_t n) {
    if (w->offset + n > w->resumed) return false;
    w->offset += n;
    return true;
}

/* Best effort: without a state the next call starts from nothing. */
static void save_state(zk_key_writer *w) {
    writer_state state = {.n_bytes = w->offset};
    memcpy(state.magic, magic, sizeof magic);
    memcpy(state.fingerprint, w->fingerprint, sizeof state.fingerprint);
    zk_sha256_peek(state.sha256, &w->sha);
    if (fdatasync(w->fd) != 0) return;
    int fd;
    if (zk_file_open(&fd, w->state_new, O_WRONLY | O_CREAT | O_TRUNC, 0644, NULL) != CUZK_OK) return;
    bool good = write_all(fd, &state, sizeof state);
    close(fd);
    if (good && rename(w->state_new, w->state) == 0)
        w->saved = w->offset;
    else
        unlink(w->state_new);
}

cuzk_status zk_key_writer_put(zk_key_writer *w, const void *bytes, size_t n, cuzk_err *err) {
    if (w->offset < w->resumed) { /* parts are the same in every call, so the seam lies between two of them */
        if (w->resumed - w->offset >= n) {
            w->offset += n;
            return CUZK_OK;
        }
        return ZK_FAIL(err, CUZK_INTERNAL, "%s: resumed at byte %llu, inside a part", w->partial,
                       (unsigned long long)w->resumed);
    }
    if (!write_all(w->fd, bytes, n))
        return ZK_FAIL(err, CUZK_IO, "%s: writing %zu bytes at offset %llu: %s", w->partial, n,
                       (unsigned long long)w->offset, strerror(errno));
    zk_sha256_update(&w->sha, bytes, n);
    w->offset += n;
    if (w->resumable && w->offset - w->saved >= ZK_KEY_WRITER_SAVE_BYTES) save_state(w);
    return CUZK_OK;
}

/* So that the new name survives a crash. Some file systems cannot; nothing is lost but that. */
static void sync_folder(const char *path) {
    char *copy = zk_strdup(path);
    if (!copy) return;
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(copy);
}

cuzk_status zk_key_writer_finish(zk_key_writer *w, uint8_t sha256[32], cuzk_err *err) {
    if (fsync(w->fd) != 0 || rename(w->partial, w->path) != 0) {
        cuzk_status status = ZK_FAIL(err, CUZK_IO, "%s: %s", w->path, strerror(errno));
        zk_key_writer_abandon(w, false);
        return status;
    }
    unlink(w->state);
    sync_folder(w->path);
    zk_sha256_final(sha256, &w->sha);
    close_writer(w);
    return CUZK_OK;
}

void zk_key_writer_abandon(zk_key_writer *w, bool keep) {
    if (!w || w->fd < 0) return;
    if (keep && w->resumable) {
        if (w->offset > w->saved && w->offset > w->resumed) save_state(w);
    } else {
        unlink(w->partial);
        unlink(w->state);
    }
    close_writer(w);
}
