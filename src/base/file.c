#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/cancel.h"
#include "base/progress.h"

#define WRITE_BUFFER_BYTES ((size_t)1 << 20)
/* One system call moves at most this much: some file systems refuse more than 2 GiB. */
#define MAX_CALL_BYTES ((size_t)1 << 30)
#define MAX_READ_BYTES ((size_t)64 << 20) /* a second of a slow disk: signs of progress between */

static cuzk_status status_of_errno(int code) {
    switch (code) {
    case ENOENT:
        return CUZK_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EISDIR:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EROFS:
        return CUZK_BAD_INPUT;
    case ENOMEM:
        return CUZK_OUT_OF_MEMORY;
    case EMFILE:
    case ENFILE:
        return CUZK_EXHAUSTED;
    case EINTR: /* told on only when the process was asked to stop */
        return CUZK_CANCELLED;
    default:
        return CUZK_IO;
    }
}

static const char *errno_text(int code, char *text, size_t n_text) { return strerror_r(code, text, n_text); }

static cuzk_status fail_errno(const char *path, const char *operation, int code, cuzk_err *err) {
    char text[128];
    return ZK_FAIL(err, status_of_errno(code), "%s: %s: %s", path, operation, errno_text(code, text, sizeof text));
}

static cuzk_status fail_errno_at(const char *path, const char *operation, uint64_t offset, int code, cuzk_err *err) {
    char text[128];
    return ZK_FAIL(err, status_of_errno(code), "%s: %s at byte %llu: %s", path, operation, (unsigned long long)offset,
                   errno_text(code, text, sizeof text));
}

/* A signal that asks the process to stop also ends the wait for the other end of a pipe. */
static bool interrupted_only(void) { return errno == EINTR && !zk_cancel_requested(NULL); }

static int open_retry(const char *path, int flags, mode_t mode) {
    for (;;) {
        int fd = open(path, flags | O_CLOEXEC, mode);
        if (fd >= 0 || !interrupted_only()) return fd;
    }
}

/* ---- kinds ---- */

#define PIPEFS 0x50495045 /* of statfs(2): pipes without a name */

static const char *kind_text(mode_t mode) {
    return S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

static cuzk_status fail_kind(const char *path, mode_t mode, cuzk_err *err) {
    return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %s, expected a regular file", path, kind_text(mode));
}

cuzk_status zk_file_check_regular(const char *path, cuzk_err *err) {
    struct stat st;
    return stat(path, &st) != 0 || S_ISREG(st.st_mode) ? CUZK_OK : fail_kind(path, st.st_mode, err);
}

/* What the shell hands over by /dev/stdin or <(...): opening it waits for nobody. */
static bool is_nameless_pipe(const char *path) {
    struct statfs fs;
    return statfs(path, &fs) == 0 && fs.f_type == PIPEFS;
}

/* The kind is looked at before, as opening a device may do something to it, and after, as the name may be another
 * file's by then. Not blocking: opening a pipe would wait for its other end. */
static cuzk_status open_kind(int *fd_out, const char *path, int flags, mode_t mode, bool pipes, cuzk_err *err) {
    struct stat st;
    *fd_out = -1;
    pipes = pipes && is_nameless_pipe(path);
    if (!pipes) ZK_TRY(zk_file_check_regular(path, err));
    int fd = open_retry(path, flags | O_NONBLOCK | O_NOCTTY, mode);
    if (fd < 0) return fail_errno(path, "cannot open", errno, err);
    int code = fstat(fd, &st) == 0 ? 0 : errno;
    cuzk_status status = CUZK_OK;
    if (code)
        status = fail_errno(path, "cannot open", code, err);
    else if (pipes && S_ISFIFO(st.st_mode))
        fcntl(fd, F_SETFL, flags & O_ACCMODE); /* reading waits again */
    else if (!S_ISREG(st.st_mode))
        status = fail_kind(path, st.st_mode, err);
    if (status == CUZK_OK)
        *fd_out = fd;
    else
        close(fd);
    return status;
}

cuzk_status zk_file_open(int *fd, const char *path, int flags, unsigned mode, cuzk_err *err) {
    return open_kind(fd, path, flags, (mode_t)mode, false, err);
}

static cuzk_status read_full(size_t *n_read, int fd, uint8_t *data, size_t n_bytes, const char *path, uint64_t offset,
                             cuzk_err *err) {
    size_t done = 0;
    while (done < n_bytes) {
        ssize_t n = read(fd, data + done, zk_min_size(n_bytes - done, MAX_READ_BYTES));
        if (n < 0 && interrupted_only()) continue;
        if (n < 0) return fail_errno_at(path, "cannot read", offset + done, errno, err);
        if (n == 0) break;
        done += (size_t)n;
        zk_progress_note();
    }
    *n_read = done;
    return CUZK_OK;
}

/* ---- reading ---- */

struct zk_file_reader {
    int fd;
    uint64_t offset;
    char *path;
};

static cuzk_status reader_create(zk_file_reader **reader_out, const char *path, bool pipes, cuzk_err *err) {
    *reader_out = NULL;
    zk_file_reader *reader = zk_calloc(1, sizeof *reader);
    if (reader) reader->fd = -1;
    if (!reader || !(reader->path = zk_strdup(path))) {
        zk_file_reader_destroy(reader);
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory to read it", path);
    }
    cuzk_status status = open_kind(&reader->fd, path, O_RDONLY, 0, pipes, err);
    if (status == CUZK_OK)
        *reader_out = reader;
    else
        zk_file_reader_destroy(reader);
    return status;
}

cuzk_status zk_file_reader_create(zk_file_reader **reader, const char *path, cuzk_err *err) {
    return reader_create(reader, path, true, err);
}

void zk_file_reader_destroy(zk_file_reader *reader) {
    if (!reader) return;
    if (reader->fd >= 0) close(reader->fd);
    free(reader->path);
    free(reader);
}

cuzk_status zk_file_reader_read(size_t *n_read, zk_file_reader *reader, void *data, size_t n_bytes, cuzk_err *err) {
    *n_read = 0;
    ZK_TRY(read_full(n_read, reader->fd, data, n_bytes, reader->path, reader->offset, err));
    reader->offset += *n_read;
    return CUZK_OK;
}

uint64_t zk_file_reader_offset(const zk_file_reader *reader) { return reader->offset; }

static cuzk_status read_whole(uint8_t **data_out, size_t *n_bytes, const char *path, size_t max_bytes, bool pipes,
                              cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_file_reader *reader = NULL;
    uint8_t *data = NULL;
    size_t capacity = 0, n = 0;
    struct stat st;
    *data_out = NULL;
    *n_bytes = 0;
    if (max_bytes > SIZE_MAX - 2) max_bytes = SIZE_MAX - 2;
    ZK_GOTO(reader_create(&reader, path, pipes, err));
    /* The size is a hint: pipes and /proc have none. Room for one byte more shows a file beyond the limit. */
    size_t wanted = 4096;
    if (fstat(reader->fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        wanted = zk_min_size((size_t)st.st_size, max_bytes) + 2;
    for (;;) {
        if (wanted > max_bytes + 2) wanted = max_bytes + 2;
        if (!zk_grow((void **)&data, &capacity, wanted, 1)) {
            status = ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory for %zu bytes", path, wanted);
            goto out;
        }
        size_t n_read = 0;
        ZK_GOTO(zk_file_reader_read(&n_read, reader, data + n, wanted - 1 - n, err));
        n += n_read;
        if (n < wanted - 1) break;
        if (n > max_bytes) {
            status =
                ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found more than %zu bytes, expected at most that", path, max_bytes);
            goto out;
        }
        wanted = n > (SIZE_MAX - 2) / 2 ? SIZE_MAX : 2 * n + 2;
    }
    data[n] = 0;
    *data_out = data;
    *n_bytes = n;
    data = NULL;
out:
    zk_file_reader_destroy(reader);
    free(data);
    return status;
}

cuzk_status zk_file_read(uint8_t **data, size_t *n_bytes, const char *path, size_t max_bytes, cuzk_err *err) {
    return read_whole(data, n_bytes, path, max_bytes, false, err);
}

cuzk_status zk_file_read_input(uint8_t **data, size_t *n_bytes, const char *path, size_t max_bytes, cuzk_err *err) {
    return read_whole(data, n_bytes, path, max_bytes, true, err);
}

/* ---- mapping ---- */

/* What is mapped now, for the handler below. More maps than that at a time are not guarded. */
enum { MAX_GUARDED = 64 };
static struct {
    _Atomic size_t n_bytes; /* 0: free */
    _Atomic uintptr_t data; /* 0: not yet, or no more */
} guarded[MAX_GUARDED];

static void guard_add(const uint8_t *data, size_t n_bytes) {
    for (unsigned i = 0; i < MAX_GUARDED; i++) {
        size_t unused = 0;
        if (!atomic_compare_exchange_strong(&guarded[i].n_bytes, &unused, n_bytes)) continue;
        atomic_store(&guarded[i].data, (uintptr_t)data);
        return;
    }
}

static void guard_remove(const uint8_t *data) {
    for (unsigned i = 0; i < MAX_GUARDED; i++)
        if (atomic_load(&guarded[i].data) == (uintptr_t)data) {
            atomic_store(&guarded[i].data, 0);
            atomic_store(&guarded[i].n_bytes, 0);
            return;
        }
}

/* Zeros in place of what the file lost, from the page at fault to the end of the mapping. mmap is a bare system call,
 * so it may be called here. */
static void on_bus_error(int signal_number, siginfo_t *info, void *context) {
    (void)context;
    int saved = errno;
    uintptr_t at = (uintptr_t)info->si_addr, page = at & ~((uintptr_t)4096 - 1);
    for (unsigned i = 0; i < MAX_GUARDED; i++) {
        uintptr_t data = atomic_load(&guarded[i].data);
        size_t n_bytes = atomic_load(&guarded[i].n_bytes);
        if (!data || at < data || at - data >= (n_bytes + 4095) / 4096 * 4096) continue;
        void *zeros =
            mmap((void *)page, data + n_bytes - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        errno = saved;
        if (zeros != MAP_FAILED) return;
    }
    errno = saved;
    signal(signal_number, SIG_DFL); /* not ours: the access is repeated and ends the process */
}

void zk_file_map_guard(void) {
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

cuzk_status zk_file_map_open(zk_file_map *map, const char *path, uint64_t min_bytes, uint64_t max_bytes,
                             cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_file_map m = {.fd = -1};
    struct stat st;
    m.path = zk_strdup(path);
    if (!m.path) {
        status = ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory to map it", path);
        goto out;
    }
    ZK_GOTO(open_kind(&m.fd, path, O_RDONLY, 0, false, err));
    if (fstat(m.fd, &st) != 0) {
        status = fail_errno(path, "cannot open", errno, err);
        goto out;
    }
    uint64_t size = (uint64_t)st.st_size;
    if (size < min_bytes || size > max_bytes || size > SIZE_MAX) {
        status = ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %llu bytes, expected %llu to %llu", path,
                         (unsigned long long)size, (unsigned long long)min_bytes, (unsigned long long)max_bytes);
        goto out;
    }
    m.n_bytes = (size_t)size;
    m.device = (uint64_t)st.st_dev;
    m.inode = (uint64_t)st.st_ino;
    m.mtime_s = st.st_mtim.tv_sec;
    m.mtime_ns = st.st_mtim.tv_nsec;
    m.data = (const uint8_t *)"";
    if (m.n_bytes) {
        void *data = zk_alloc_should_fail() ? MAP_FAILED : mmap(NULL, m.n_bytes, PROT_READ, MAP_SHARED, m.fd, 0);
        if (data == MAP_FAILED) {
            m.n_bytes = 0;
            status = fail_errno(path, "cannot map", errno, err);
            goto out;
        }
        m.data = data;
        guard_add(m.data, m.n_bytes);
    }
    *map = m;
    return CUZK_OK;
out:
    if (m.fd >= 0) close(m.fd);
    free(m.path);
    *map = (zk_file_map){0};
    return status;
}

void zk_file_map_close(zk_file_map *map) {
    if (map->path) {
        if (map->n_bytes) {
            guard_remove(map->data);
            munmap((void *)(uintptr_t)map->data, map->n_bytes);
        }
        close(map->fd);
        free(map->path);
    }
    *map = (zk_file_map){0};
}

cuzk_status zk_file_map_check(const zk_file_map *map, cuzk_err *err) {
    struct stat st;
    if (fstat(map->fd, &st) != 0) return fail_errno(map->path, "cannot look at the open file", errno, err);
    if ((uint64_t)st.st_size != map->n_bytes)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: changed while in use: found %llu bytes, expected %zu as at opening",
                       map->path, (unsigned long long)st.st_size, map->n_bytes);
    if ((uint64_t)st.st_dev != map->device || (uint64_t)st.st_ino != map->inode || st.st_mtim.tv_sec != map->mtime_s ||
        st.st_mtim.tv_nsec != map->mtime_ns)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: changed while in use: modification time is not that at opening",
                       map->path);
    return CUZK_OK;
}

/* ---- writing ---- */

struct zk_file_writer {
    int fd;
    bool direct;      /* device or pipe: no temporary name */
    bool created;     /* the temporary file exists */
    uint64_t flushed; /* bytes written to the file */
    size_t n_buffer;
    uint8_t *buffer; /* [WRITE_BUFFER_BYTES] */
    char *path;      /* final name, links resolved */
    char *temporary;
    cuzk_err err; /* first failure */
};

static void writer_free(zk_file_writer *writer) {
    if (!writer) return;
    if (writer->fd >= 0) close(writer->fd);
    if (writer->created) unlink(writer->temporary);
    free(writer->buffer);
    free(writer->path);
    free(writer->temporary);
    free(writer);
}

void zk_file_writer_abort(zk_file_writer *writer) { writer_free(writer); }

/* The name that rename will replace: what a link finally points at; a link to nothing is itself replaced. */
static cuzk_status resolve(char **path_out, bool *direct, const char *path, cuzk_err *err) {
    struct stat st;
    *direct = false;
    *path_out = NULL;
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found a folder, expected a file to write", path);
        *direct = !S_ISREG(st.st_mode);
        if (!*direct && lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
            *path_out = realpath(path, NULL);
            if (!*path_out) return fail_errno(path, "cannot follow the link", errno, err);
            return CUZK_OK;
        }
    } else if (errno != ENOENT || path[0] == 0) { /* a missing file is to be made, but not one without a name */
        return fail_errno(path, "cannot write there", errno, err);
    }
    *path_out = zk_strdup(path);
    return *path_out ? CUZK_OK : ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory to write it", path);
}

static cuzk_status open_temporary(zk_file_writer *writer, const char *path, cuzk_err *err) {
    static atomic_uint counter;
    const char *slash = strrchr(writer->path, '/'), *base = slash ? slash + 1 : writer->path;
    size_t n = strlen(writer->path) + 64;
    writer->temporary = zk_malloc(n);
    if (!writer->temporary) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory to write it", path);
    for (int attempt = 0; attempt < 1000; attempt++) {
        /* A long name is cut so that the temporary one does not exceed the system's limit. */
        snprintf(writer->temporary, n, "%.*s.%.*s.%ld-%u.tmp", (int)(base - writer->path), writer->path, 200, base,
                 (long)getpid(), atomic_fetch_add(&counter, 1));
        writer->fd = open_retry(writer->temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (writer->fd >= 0 || errno != EEXIST) break;
    }
    if (writer->fd < 0) return fail_errno(path, "cannot create a file there", errno, err);
    writer->created = true;
    return CUZK_OK;
}

cuzk_status zk_file_writer_create(zk_file_writer **writer_out, const char *path, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    *writer_out = NULL;
    zk_file_writer *writer = zk_calloc(1, sizeof *writer);
    if (writer) writer->fd = -1;
    if (!writer || !(writer->buffer = zk_malloc(WRITE_BUFFER_BYTES))) {
        status = ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory to write it", path);
        goto out;
    }
    ZK_GOTO(resolve(&writer->path, &writer->direct, path, err));
    if (!writer->direct) {
        ZK_GOTO(open_temporary(writer, path, err));
    } else if ((writer->fd = open_retry(path, O_WRONLY, 0)) < 0) {
        status = fail_errno(path, "cannot open for writing", errno, err);
        goto out;
    }
    *writer_out = writer;
    writer = NULL;
out:
    writer_free(writer);
    return status;
}

/* Repeats the first failure in the caller's err. */
static cuzk_status first_failure(const zk_file_writer *writer, cuzk_err *err) {
    if (err && err->status == CUZK_OK) *err = writer->err;
    return writer->err.status;
}

static cuzk_status write_out(zk_file_writer *writer, const uint8_t *data, size_t n_bytes) {
    while (n_bytes) {
        ssize_t n = write(writer->fd, data, zk_min_size(n_bytes, MAX_CALL_BYTES));
        if (n < 0 && interrupted_only()) continue;
        if (n <= 0)
            return fail_errno_at(writer->path, "cannot write", writer->flushed, n < 0 ? errno : EIO, &writer->err);
        /* A short write is followed by another, which tells the reason if there is one. */
        writer->flushed += (uint64_t)n;
        data += n;
        n_bytes -= (size_t)n;
    }
    return CUZK_OK;
}

static cuzk_status flush_buffer(zk_file_writer *writer) {
    size_t n = writer->n_buffer;
    writer->n_buffer = 0;
    return write_out(writer, writer->buffer, n);
}

cuzk_status zk_file_writer_write(zk_file_writer *writer, const void *data, size_t n_bytes, cuzk_err *err) {
    if (writer->err.status != CUZK_OK) return first_failure(writer, err);
    if (n_bytes == 0) return CUZK_OK;
    if (n_bytes > WRITE_BUFFER_BYTES - writer->n_buffer) {
        if (flush_buffer(writer) != CUZK_OK) return first_failure(writer, err);
        if (n_bytes >= WRITE_BUFFER_BYTES)
            return write_out(writer, data, n_bytes) == CUZK_OK ? CUZK_OK : first_failure(writer, err);
    }
    memcpy(writer->buffer + writer->n_buffer, data, n_bytes);
    writer->n_buffer += n_bytes;
    return CUZK_OK;
}

uint64_t zk_file_writer_offset(const zk_file_writer *writer) { return writer->flushed + writer->n_buffer; }

/* The rename itself becomes durable. Folders that cannot be opened or synced (some network file systems) are let pass:
 * the file is complete and in place. */
static cuzk_status sync_folder(zk_file_writer *writer) {
    const char *slash = strrchr(writer->path, '/');
    size_t n = slash ? (size_t)(slash - writer->path) : 0;
    char folder[PATH_MAX];
    if (n >= sizeof folder) return CUZK_OK;
    memcpy(folder, slash == writer->path ? "/" : slash ? writer->path : ".", n ? n : 1);
    folder[n ? n : 1] = 0;
    int fd = open_retry(folder, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0) return CUZK_OK;
    cuzk_status status = CUZK_OK;
    if (fsync(fd) != 0 && errno == EIO) status = fail_errno(folder, "cannot sync the folder", errno, &writer->err);
    close(fd);
    return status;
}

cuzk_status zk_file_writer_commit(zk_file_writer *writer, cuzk_err *err) {
    cuzk_status status = writer->err.status;
    if (status == CUZK_OK) status = flush_buffer(writer);
    if (status == CUZK_OK && fsync(writer->fd) != 0 &&
        !(writer->direct && (errno == EINVAL || errno == ENOTSUP || errno == EROFS)))
        status = fail_errno(writer->path, "cannot sync", errno, &writer->err);
    if (status == CUZK_OK) {
        int fd = writer->fd;
        writer->fd = -1;
        /* Network file systems may report a failed write only here. */
        if (close(fd) != 0 && errno != EINTR) status = fail_errno(writer->path, "cannot close", errno, &writer->err);
    }
    if (status == CUZK_OK && !writer->direct) {
        if (rename(writer->temporary, writer->path) != 0) {
            status = fail_errno(writer->path, "cannot rename the finished file to this", errno, &writer->err);
        } else {
            writer->created = false;
            status = sync_folder(writer);
        }
    }
    if (status != CUZK_OK) first_failure(writer, err);
    writer_free(writer);
    return status;
}

cuzk_status zk_file_write(const char *path, const void *data, size_t n_bytes, cuzk_err *err) {
    zk_file_writer *writer = NULL;
    ZK_TRY(zk_file_writer_create(&writer, path, err));
    cuzk_status status = zk_file_writer_write(writer, data, n_bytes, err);
    if (status == CUZK_OK) return zk_file_writer_commit(writer, err);
    zk_file_writer_abort(writer);
    return status;
}

cuzk_status zk_file_check_writable(const char *path, cuzk_err *err) {
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        /* Opening a pipe and closing it again would be seen at its other end. */
        return access(path, W_OK) == 0 ? CUZK_OK : fail_errno(path, "cannot write there", errno, err);
    zk_file_writer *writer = NULL;
    ZK_TRY(zk_file_writer_create(&writer, path, err));
    zk_file_writer_abort(writer);
    return CUZK_OK;
}

cuzk_status zk_folder_create(const char *path, cuzk_err *err) {
    char name[PATH_MAX];
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof name) return fail_errno(path, "cannot create the folder", n ? ENAMETOOLONG : ENOENT, err);
    memcpy(name, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (name[i] != '/' && name[i] != 0) continue;
        char kept = name[i];
        name[i] = 0;
        struct stat st;
        int code = mkdir(name, 0777) == 0 ? 0 : errno;
        /* A folder above may exist and be read-only; what counts is that it is one. */
        if (code && (stat(name, &st) != 0 || !S_ISDIR(st.st_mode)))
            return fail_errno(name, "cannot create the folder", code == EEXIST ? ENOTDIR : code, err);
        name[i] = kept;
    }
    return CUZK_OK;
}
