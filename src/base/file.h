/* Files: read whole, read in pieces, mapped, and written so that a file is either complete or not there.
 *
 * Failures name the path, the operation, the offset where it matters and the system's text. A path that does not exist
 * is CUZK_NOT_FOUND, one that may not be used (permission, kind, size) CUZK_BAD_INPUT, a failing disk CUZK_IO.
 *
 * What is read has to be a regular file (or a link to one): a folder, device, socket or named pipe is refused by its
 * name, without a wait for the other end of a pipe.
 */
#ifndef ZK_BASE_FILE_H
#define ZK_BASE_FILE_H

#include "base/status.h"

/* The whole file, at most max_bytes. One zero byte follows the data. free() it. */
cuzk_status zk_file_read(uint8_t **data, size_t *n_bytes, const char *path, size_t max_bytes,
                         cuzk_err *err) ZK_MUST_USE;
/* The same for what a person names on a command line: also a pipe without a name, as a shell makes it behind
 * /dev/stdin and <(...). */
cuzk_status zk_file_read_input(uint8_t **data, size_t *n_bytes, const char *path, size_t max_bytes,
                               cuzk_err *err) ZK_MUST_USE;

/* BAD_INPUT for a path that is there and no regular file: for those that others (a database) open. */
cuzk_status zk_file_check_regular(const char *path, cuzk_err *err) ZK_MUST_USE;
/* open(2) of a regular file (flags O_CREAT: made if missing), close-on-exec; the caller closes it. */
cuzk_status zk_file_open(int *fd, const char *path, int flags, unsigned mode, cuzk_err *err) ZK_MUST_USE;

/* ---- reading in pieces: a regular file, or a pipe as zk_file_read_input takes it ---- */

typedef struct zk_file_reader zk_file_reader;
cuzk_status zk_file_reader_create(zk_file_reader **reader, const char *path, cuzk_err *err) ZK_MUST_USE;
void zk_file_reader_destroy(zk_file_reader *reader); /* NULL is fine */
/* Fills `data` unless the file ends first: *n_read < n_bytes means the end. */
cuzk_status zk_file_reader_read(size_t *n_read, zk_file_reader *reader, void *data, size_t n_bytes,
                                cuzk_err *err) ZK_MUST_USE;
uint64_t zk_file_reader_offset(const zk_file_reader *reader); /* bytes read so far */

/* ---- mapping ---- */

/* A regular file, mapped read-only as long as the struct lives. Zero-initialise it.
 * Touching a page behind the end of a file that has shrunk is a bus error, which ends a process that has not called
 * zk_file_map_guard. Files that are read by mapping must not be changed in place (writers here never do), and readers
 * call zk_file_map_check before they report success and after they find an inconsistency, so that a file that changes
 * under the reader is named as such. */
typedef struct zk_file_map {
    const uint8_t *data; /* [n_bytes]; a valid pointer even for an empty file */
    size_t n_bytes;
    char *path;
    int fd;
    uint64_t device, inode;
    int64_t mtime_s, mtime_ns;
} zk_file_map;

/* The size must lie in [min_bytes, max_bytes]. */
cuzk_status zk_file_map_open(zk_file_map *map, const char *path, uint64_t min_bytes, uint64_t max_bytes,
                             cuzk_err *err) ZK_MUST_USE;
void zk_file_map_close(zk_file_map *map); /* zeroes it; a zeroed map is fine */
/* CUZK_BAD_INPUT when size, modification time or identity differ from those at mapping. A file that was replaced by
 * another of the same name is no change: the mapping shows the old one. */
cuzk_status zk_file_map_check(const zk_file_map *map, cuzk_err *err) ZK_MUST_USE;
/* For the process: takes over SIGBUS, so that the part of a mapped file that is lost while it is read shows zeros, and
 * zk_file_map_check tells. Bus errors elsewhere end the process as before. */
void zk_file_map_guard(void);

/* ---- atomic writing ---- */

/* Writes to a temporary name in the folder of `path`; commit makes it durable and renames it over `path` (what a
 * symbolic link points at is replaced, not the link); everything else leaves `path` as it was. A path that is a device
 * or pipe is written directly. Buffered; the first failure stays: later writes and commit return it again. A process
 * that writes under a file size limit must ignore SIGXFSZ (and SIGPIPE for pipes) to see the failure. */
typedef struct zk_file_writer zk_file_writer;

/* Whether zk_file_writer_create would succeed: to be asked before long work whose result goes to `path`. Leaves nothing
 * behind. */
cuzk_status zk_file_check_writable(const char *path, cuzk_err *err) ZK_MUST_USE;

cuzk_status zk_file_writer_create(zk_file_writer **writer, const char *path, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_file_writer_write(zk_file_writer *writer, const void *data, size_t n_bytes, cuzk_err *err) ZK_MUST_USE;
uint64_t zk_file_writer_offset(const zk_file_writer *writer); /* bytes accepted so far */
/* Both free the writer, whatever happens. Commit: flush, fsync, rename, fsync of the folder; on failure the temporary
 * file is gone. Abort of NULL is fine. */
cuzk_status zk_file_writer_commit(zk_file_writer *writer, cuzk_err *err) ZK_MUST_USE;
void zk_file_writer_abort(zk_file_writer *writer);

/* All of it for content that is in memory. */
cuzk_status zk_file_write(const char *path, const void *data, size_t n_bytes, cuzk_err *err) ZK_MUST_USE;

/* Creates the folder and its missing ancestors; an existing folder is fine. */
cuzk_status zk_folder_create(const char *path, cuzk_err *err) ZK_MUST_USE;

#endif
