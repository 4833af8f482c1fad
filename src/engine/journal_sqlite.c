#include "engine/journal_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

/* Numbers that may use all 64 bits (sector numbers, miners) are stored as the signed number of the same bits. */
static const char schema[] =
    "CREATE TABLE IF NOT EXISTS jobs ("
    " id TEXT PRIMARY KEY, request_id TEXT NOT NULL, digest BLOB NOT NULL, kind INTEGER NOT NULL,"
    " priority INTEGER NOT NULL, partition_index INTEGER NOT NULL, sector_bytes INTEGER NOT NULL,"
    " registered_proof INTEGER NOT NULL, sector_number INTEGER NOT NULL, miner_id INTEGER NOT NULL,"
    " accepted_ms INTEGER NOT NULL, file_bytes INTEGER NOT NULL, state INTEGER NOT NULL, ended_ms INTEGER,"
    " status INTEGER, message TEXT, proof BLOB, queue_wait_ms INTEGER, srs_load_ms INTEGER, synthesis_ms INTEGER,"
    " gpu_compute_ms INTEGER, total_ms INTEGER);"
    "CREATE INDEX IF NOT EXISTS jobs_by_request ON jobs (request_id, digest);"
    "CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, ended_ms);"
    "CREATE TABLE IF NOT EXISTS partitions ("
    " job_id TEXT NOT NULL, idx INTEGER NOT NULL, proof BLOB NOT NULL, srs_load_ns INTEGER NOT NULL,"
    " synth_ns INTEGER NOT NULL, gpu_ns INTEGER NOT NULL, PRIMARY KEY (job_id, idx)) WITHOUT ROWID;";

typedef enum statement_id {
    ST_ACCEPT,
    ST_FIND,
    ST_PARTITION,
    ST_END,
    ST_DROP_PARTITIONS,
    ST_RESULT,
    ST_EACH_OPEN,
    ST_EACH_PARTITION,
    ST_EXPIRE,
    N_STATEMENTS
} statement_id;

static const char *const sql[N_STATEMENTS] = {
    [ST_ACCEPT] = "INSERT INTO jobs (id, request_id, digest, kind, priority, partition_index, sector_bytes,"
                  " registered_proof, sector_number, miner_id, accepted_ms, file_bytes, state)"
                  " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,0)",
    [ST_FIND] = "SELECT id, state FROM jobs WHERE request_id = ? AND digest = ? AND state <= 1"
                " ORDER BY accepted_ms DESC LIMIT 1",
    [ST_PARTITION] = "INSERT OR REPLACE INTO partitions (job_id, idx, proof, srs_load_ns, synth_ns, gpu_ns)"
                     " SELECT id, ?2, ?3, ?4, ?5, ?6 FROM jobs WHERE id = ?1 AND state = 0",
    [ST_END] = "UPDATE jobs SET state = ?2, ended_ms = ?3, status = ?4, message = ?5, proof = ?6, queue_wait_ms = ?7,"
               " srs_load_ms = ?8, synthesis_ms = ?9, gpu_compute_ms = ?10, total_ms = ?11 WHERE id = ?1 AND state = 0",
    [ST_DROP_PARTITIONS] = "DELETE FROM partitions WHERE job_id = ?",
    [ST_RESULT] = "SELECT kind, state, status, message, proof, queue_wait_ms, srs_load_ms, synthesis_ms,"
                  " gpu_compute_ms, total_ms FROM jobs WHERE id = ?",
    [ST_EACH_OPEN] = "SELECT " ZK_JOURNAL_COLUMNS " FROM jobs WHERE state = 0 ORDER BY accepted_ms, id",
    [ST_EACH_PARTITION] = "SELECT idx, proof, srs_load_ns, synth_ns, gpu_ns FROM partitions WHERE job_id = ?",
    [ST_EXPIRE] = "DELETE FROM jobs WHERE state > 0 AND ended_ms < ?",
};

typedef struct sqlite_journal {
    zk_journal base;
    pthread_mutex_t lock; /* one statement at a time */
    sqlite3 *db;
    sqlite3_stmt *statement[N_STATEMENTS];
    char *path;
    int lock_fd, file_fd; /* path.lock, and path itself */
} sqlite_journal;

static sqlite_journal *self_of(zk_journal *journal) { return (sqlite_journal *)journal; }

/* ---- opening ---- */

cuzk_status zk_journal_fail(sqlite3 *db, const char *path, const char *what, int code, cuzk_err *err) {
    const char *text = db ? sqlite3_errmsg(db) : sqlite3_errstr(code);
    switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return ZK_FAIL(err, CUZK_BAD_INPUT,
                       "%s: the journal is damaged (%s: %s); `cuzk journal salvage %s` takes over what can be read",
                       path, what, text, path);
    case SQLITE_NOMEM:
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: %s: no memory", path, what);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ZK_FAIL(err, CUZK_EXHAUSTED, "%s: %s: in use: %s", path, what, text);
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: journal: %s: %s", path, what, text);
    default:
        return ZK_FAIL(err, CUZK_IO, "%s: journal: %s: %s", path, what, text);
    }
}

cuzk_status zk_journal_exec(sqlite3 *db, const char *path, const char *statement, cuzk_err *err) {
    int code = sqlite3_exec(db, statement, NULL, NULL, NULL);
    if (code == SQLITE_OK) return CUZK_OK;
    char what[48];
    snprintf(what, sizeof what, "%.40s", statement);
    return zk_journal_fail(db, path, what, code, err);
}

const char *const zk_journal_file_suffixes[ZK_JOURNAL_N_FILES] = {"", "-wal", "-shm"};
enum { FILE_BYTES = 4200 };

/* The name of a file with something behind it. */
static cuzk_status name_with(char name[FILE_BYTES], const char *path, const char *suffix, cuzk_err *err) {
    if ((size_t)snprintf(name, FILE_BYTES, "%s%s", path, suffix) < FILE_BYTES) return CUZK_OK;
    return ZK_FAIL(err, CUZK_BAD_INPUT, "the path of the journal is too long");
}

/* Locks an open file; closed if that fails. */
static cuzk_status lock_open(int *fd, const char *path, cuzk_err *err) {
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0) return CUZK_OK;
    int code = errno;
    close(*fd);
    *fd = -1;
    if (code != EWOULDBLOCK) return ZK_FAIL(err, CUZK_IO, "%s: the journal cannot be locked: %s", path, strerror(code));
    return ZK_FAIL(err, CUZK_EXHAUSTED, "%s: another process has the journal open", path);
}

cuzk_status zk_journal_lock(int *fd, const char *path, cuzk_err *err) {
    char name[FILE_BYTES];
    ZK_TRY(name_with(name, path, ".lock", err));
    ZK_TRY(zk_file_open(fd, name, O_RDWR | O_CREAT, 0644, err));
    return lock_open(fd, path, err);
}

cuzk_status zk_journal_lock_file(int *fd, const char *path, cuzk_err *err) {
    ZK_TRY(zk_file_open(fd, path, O_RDWR, 0, err));
    return lock_open(fd, path, err);
}

/* The first cell of a statement's first row as text. */
static cuzk_status ask(char *text, size_t n_text, sqlite3 *db, const char *path, const char *question, cuzk_err *err) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, question, -1, &statement, NULL);
    if (code == SQLITE_OK) code = sqlite3_step(statement);
    cuzk_status status = CUZK_OK;
    if (code == SQLITE_ROW)
        snprintf(text, n_text, "%s", (const char *)sqlite3_column_text(statement, 0));
    else
        status = zk_journal_fail(db, path, question, code, err);
    sqlite3_finalize(statement);
    return status;
}

/* The page cache is the only thing of SQLite's that grows for hours: a page is added when it is first touched, and a
 * journal gets a new one every few jobs. So it lies in a block that is taken, and touched, before the first journal is
 * opened. Beyond it SQLite allocates. */
#define CACHE_KIB 256
#define CACHE_PAGES 72 /* of 4 KiB; SQLite holds a tenth back */
static void take_page_cache(void) {
    static _Alignas(16) unsigned char block[CACHE_PAGES * (4096 + 256)]; /* a page and SQLite's header of it */
    int header;
    memset(block, 0xff, sizeof block);
    if (sqlite3_config(SQLITE_CONFIG_PCACHE_HDRSZ, &header) != SQLITE_OK) return;
    int slot = (4096 + header + 7) & ~7;
    sqlite3_config(SQLITE_CONFIG_PAGECACHE, block, slot, (int)(sizeof block / (size_t)slot));
}

cuzk_status zk_journal_check_kind(const char *path, cuzk_err *err) {
    char name[FILE_BYTES];
    for (size_t i = 0; i < ZK_JOURNAL_N_FILES; i++) {
        ZK_TRY(name_with(name, path, zk_journal_file_suffixes[i], err));
        ZK_TRY(zk_file_check_regular(name, err));
    }
    return CUZK_OK;
}

/* A file that may only be read opens well: the first job would find out, and what SQLite makes beside it would be as
 * read-only for good. */
static cuzk_status check_writable(const char *path, cuzk_err *err) {
    char name[FILE_BYTES];
    ZK_TRY(zk_journal_check_kind(path, err));
    for (size_t i = 0; i < ZK_JOURNAL_N_FILES; i++) {
        ZK_TRY(name_with(name, path, zk_journal_file_suffixes[i], err));
        if (faccessat(AT_FDCWD, name, R_OK | W_OK, AT_EACCESS) != 0 && errno != ENOENT)
            return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: the journal cannot be written: %s", name, strerror(errno));
    }
    return CUZK_OK;
}

cuzk_status zk_journal_db_open(sqlite3 **out, const char *path, cuzk_err *err) {
    sqlite3 *db = NULL;
    cuzk_status status = CUZK_OK;
    char text[256];
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    ZK_TRY(check_writable(path, err));
    pthread_once(&once, take_page_cache);
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) ZK_GOTO(zk_journal_fail(db, path, "open", code, err));
    sqlite3_extended_result_codes(db, 1);
    sqlite3_busy_timeout(db, 5000);
    ZK_GOTO(ask(text, sizeof text, db, path, "PRAGMA journal_mode = WAL", err));
    if (strcmp(text, "wal") != 0)
        ZK_GOTO(ZK_FAIL(err, CUZK_IO, "%s: the file system does not support the journal's WAL mode", path));
    ZK_GOTO(zk_journal_exec(db, path, "PRAGMA synchronous = FULL", err));
    /* A statement touches few pages; the default of 2 MiB would fill for hours and look like a leak. */
    snprintf(text, sizeof text, "PRAGMA cache_size = -%d", CACHE_KIB);
    ZK_GOTO(zk_journal_exec(db, path, text, err));
    ZK_GOTO(ask(text, sizeof text, db, path, "PRAGMA quick_check(1)", err));
    if (strcmp(text, "ok") != 0) {
        for (char *c = text; *c; c++)
            if (*c == '\n') *c = ' '; /* a message is one line */
        status = ZK_FAIL(err, CUZK_BAD_INPUT,
                         "%s: the journal is damaged (%.200s); `cuzk journal salvage %s` takes over what can be read",
                         path, text, path);
        goto out;
    }
    ZK_GOTO(ask(text, sizeof text, db, path, "PRAGMA user_version", err));
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        ZK_GOTO(ZK_FAIL(err, CUZK_BAD_INPUT, "%s: journal of version %s, this program knows up to %d", path, text,
                        ZK_JOURNAL_VERSION));
    if (text[0] == '0') {
        ZK_GOTO(zk_journal_exec(db, path, schema, err));
        snprintf(text, sizeof text, "PRAGMA user_version = %d", ZK_JOURNAL_VERSION);
        ZK_GOTO(zk_journal_exec(db, path, text, err));
    }
    *out = db;
    db = NULL;
out:
    sqlite3_close(db);
    return status;
}

/* ---- statements ---- */

typedef struct binding {
    sqlite3_stmt *statement;
    int n, code;
} binding;

static binding begin(sqlite_journal *self, statement_id id) {
    pthread_mutex_lock(&self->lock);
    return (binding){.statement = self->statement[id], .code = SQLITE_OK};
}

/* A journal that turns out damaged while it is in use is nobody's bad input: the same call may succeed once it is
 * mended.
 */
static cuzk_status fail_in_use(sqlite_journal *self, const char *what, int code, cuzk_err *err) {
    cuzk_status status = zk_journal_fail(self->db, self->path, what, code, err);
    if (status != CUZK_BAD_INPUT) return status;
    if (err) err->status = CUZK_IO;
    return CUZK_IO;
}

/* Releases the statement and the lock; keeps the status of a failure. */
static cuzk_status finish(sqlite_journal *self, binding *b, const char *what, int wanted, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    if (b->code != wanted) status = fail_in_use(self, what, b->code, err);
    sqlite3_reset(b->statement);
    sqlite3_clear_bindings(b->statement);
    pthread_mutex_unlock(&self->lock);
    return status;
}

static void put_u64(binding *b, uint64_t value) {
    if (b->code == SQLITE_OK) b->code = sqlite3_bind_int64(b->statement, ++b->n, (sqlite3_int64)value);
}

static void put_text(binding *b, const char *text, size_t n) {
    if (b->code == SQLITE_OK) b->code = sqlite3_bind_text(b->statement, ++b->n, text, (int)n, SQLITE_STATIC);
}

static void put_blob(binding *b, const void *data, size_t n) {
    if (b->code == SQLITE_OK) b->code = sqlite3_bind_blob64(b->statement, ++b->n, data, n, SQLITE_STATIC);
}

static void step(binding *b) {
    if (b->code == SQLITE_OK || b->code == SQLITE_ROW) b->code = sqlite3_step(b->statement);
}

static uint64_t get_u64(const binding *b, int column) { return (uint64_t)sqlite3_column_int64(b->statement, column); }

static size_t get_bytes(void *out, size_t max, const binding *b, int column) {
    const void *data = sqlite3_column_blob(b->statement, column);
    size_t n = (size_t)sqlite3_column_bytes(b->statement, column);
    if (n > max) n = max;
    if (n) memcpy(out, data, n);
    return n;
}

/* ---- the operations ---- */

static cuzk_status journal_accept(bool *accepted, zk_journal *journal, const zk_content_meta *meta, uint64_t file_bytes,
                                  const char *path, cuzk_err *err) {
    sqlite_journal *self = self_of(journal);
    (void)path; /* the spool file is the only copy */
    *accepted = true;
    binding b = begin(self, ST_ACCEPT);
    put_text(&b, meta->job_id, strlen(meta->job_id));
    put_text(&b, meta->request_id, meta->n_request_id);
    put_blob(&b, meta->digest, sizeof meta->digest);
    put_u64(&b, meta->kind);
    put_u64(&b, meta->priority);
    put_u64(&b, meta->partition_index);
    put_u64(&b, meta->sector_bytes);
    put_u64(&b, meta->registered_proof);
    put_u64(&b, meta->sector_number);
    put_u64(&b, meta->miner_id);
    put_u64(&b, meta->accepted_ms);
    put_u64(&b, file_bytes);
    step(&b);
    return finish(self, &b, "accepting a job", SQLITE_DONE, err);
}

static cuzk_status journal_find(bool *found, char job_id[ZK_JOB_ID_BYTES], zk_journal_state *state, zk_journal *journal,
                                const char *request_id, size_t n_request_id, const uint8_t digest[32], cuzk_err *err) {
    sqlite_journal *self = self_of(journal);
    binding b = begin(self, ST_FIND);
    put_text(&b, request_id, n_request_id);
    put_blob(&b, digest, 32);
    step(&b);
    *found = b.code == SQLITE_ROW;
    if (*found) {
        size_t n = get_bytes(job_id, ZK_JOB_ID_BYTES - 1, &b, 0);
        job_id[n] = 0;
        *state = (zk_journal_state)get_u64(&b, 1);
    }
    return finish(self, &b, "looking up a request", *found ? SQLITE_ROW : SQLITE_DONE, err);
}

static cuzk_status journal_partition_done(bool *kept, zk_journal *journal, const char *job_id,
                                          const zk_journal_partition *partition, cuzk_err *err) {
    sqlite_journal *self = self_of(journal);
    binding b = begin(self, ST_PARTITION);
    put_text(&b, job_id, strlen(job_id));
    put_u64(&b, partition->index);
    put_blob(&b, partition->proof, sizeof partition->proof);
    put_u64(&b, partition->srs_load_ns);
    put_u64(&b, partition->synth_ns);
    put_u64(&b, partition->gpu_ns);
    step(&b);
    *kept = b.code == SQLITE_DONE && sqlite3_changes(self->db) == 1;
    return finish(self, &b, "keeping a partition", SQLITE_DONE, err);
}

static cuzk_status journal_end(bool *ended, zk_journal *journal, const char *job_id, const zk_journal_end *end,
                               cuzk_err *err) {
    sqlite_journal *self = self_of(journal);
    *ended = false;
    binding b = begin(self, ST_END);
    b.code = sqlite3_exec(self->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    bool open = b.code == SQLITE_OK;
    put_text(&b, job_id, strlen(job_id));
    put_u64(&b, (uint64_t)end->state);
    put_u64(&b, zk_wall_ms());
    put_u64(&b, (uint64_t)end->status);
    put_text(&b, end->message ? end->message : "", end->message ? strlen(end->message) : 0);
    put_blob(&b, end->proof, end->n_proof);
    put_u64(&b, end->queue_wait_ms);
    put_u64(&b, end->srs_load_ms);
    put_u64(&b, end->synthesis_ms);
    put_u64(&b, end->gpu_compute_ms);
    put_u64(&b, end->total_ms);
    step(&b);
    if (b.code == SQLITE_DONE) {
        *ended = sqlite3_changes(self->db) == 1;
        sqlite3_stmt *drop = self->statement[ST_DROP_PARTITIONS];
        b.code = sqlite3_bind_text(drop, 1, job_id, -1, SQLITE_STATIC);
        if (b.code == SQLITE_OK) b.code = sqlite3_step(drop);
        sqlite3_reset(drop);
        sqlite3_clear_bindings(drop);
        sqlite3_reset(b.statement);
        if (b.code == SQLITE_DONE && sqlite3_exec(self->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
            b.code = sqlite3_extended_errcode(self->db);
    }
    int code = b.code;
    cuzk_status status = CUZK_OK;
    if (code != SQLITE_DONE) {
        status = fail_in_use(self, "ending a job", code, err);
        sqlite3_reset(b.statement);
        if (open && !sqlite3_get_autocommit(self->db)) sqlite3_exec(self->db, "ROLLBACK", NULL, NULL, NULL);
        *ended = false;
    }
    b.code = SQLITE_DONE;
    cuzk_status unused = finish(self, &b, "ending a job", SQLITE_DONE, NULL);
    return status != CUZK_OK ? status : unused;
}

static cuzk_status journal_result(zk_result *result, zk_journal *journal, const char *job_id, cuzk_err *err) {
    sqlite_journal *self = self_of(journal);
    *result = (zk_result){.outcome = ZK_OUTCOME_UNKNOWN};
    snprintf(result->job_id, sizeof result->job_id, "%s", job_id);
    binding b = begin(self, ST_RESULT);
    put_text(&b, job_id, strlen(job_id));
    step(&b);
    bool found = b.code == SQLITE_ROW, no_memory = false;
    if (found) {
        uint64_t state = get_u64(&b, 1);
        result->kind = (zk_proof_kind)get_u64(&b, 0);
        result->outcome = zk_journal_outcome(state);
        result->status = (cuzk_status)get_u64(&b, 2);
        result->message[get_bytes(result->message, sizeof result->message - 1, &b, 3)] = 0;
        result->n_proof = (size_t)sqlite3_column_bytes(b.statement, 4);
        if (result->n_proof) {
            result->proof = zk_malloc(result->n_proof);
            no_memory = !result->proof;
            if (!no_memory) get_bytes(result->proof, result->n_proof, &b, 4);
        }
        result->queue_wait_ms = get_u64(&b, 5);
        result->srs_load_ms = get_u64(&b, 6);
        result->synthesis_ms = get_u64(&b, 7);
        result->gpu_compute_ms = get_u64(&b, 8);
        result->total_ms = get_u64(&b, 9);
    }
    cuzk_status status = finish(self, &b, "reading a result", found ? SQLITE_ROW : SQLITE_DONE, err);
    if (no_memory) status = ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a proof");
    if (status != CUZK_OK) zk_result_clear(result);
    return status;
}

static cuzk_status journal_each_open(zk_journal *journal, zk_journal_job_fn fn, void *ctx, cuzk_err *err) {
    sqlite_journal *self = self_of(journal);
    cuzk_status status = CUZK_OK;
    binding b = begin(self, ST_EACH_OPEN);
    for (step(&b); b.code == SQLITE_ROW && status == CUZK_OK; step(&b)) {
        zk_journal_job job = {
            .meta =
                {
                    .kind = (uint32_t)get_u64(&b, 3),
                    .priority = (uint32_t)get_u64(&b, 4),
                    .partition_index = (uint32_t)get_u64(&b, 5),
                    .sector_bytes = get_u64(&b, 6),
                    .registered_proof = get_u64(&b, 7),
                    .sector_number = get_u64(&b, 8),
                    .miner_id = get_u64(&b, 9),
                    .accepted_ms = get_u64(&b, 10),
                },
            .file_bytes = get_u64(&b, 11),
            .state = ZK_JOURNAL_OPEN,
        };
        zk_content_meta *meta = &job.meta;
        get_bytes(meta->job_id, sizeof meta->job_id - 1, &b, 0);
        meta->n_request_id = (uint32_t)get_bytes(meta->request_id, sizeof meta->request_id, &b, 1);
        get_bytes(meta->digest, sizeof meta->digest, &b, 2);
        status = fn(ctx, &job, err);
    }
    if (status != CUZK_OK) b.code = SQLITE_DONE;
    cuzk_status read = finish(self, &b, "reading open jobs", SQLITE_DONE, err);
    return status != CUZK_OK ? status : read;
}

static cuzk_status journal_each_partition(zk_journal *journal, const char *job_id,
                                          void (*fn)(void *ctx, const zk_journal_partition *partition), void *ctx,
                                          cuzk_err *err) {
    sqlite_journal *self = self_of(journal);
    binding b = begin(self, ST_EACH_PARTITION);
    put_text(&b, job_id, strlen(job_id));
    for (step(&b); b.code == SQLITE_ROW; step(&b)) {
        zk_journal_partition partition = {
            .index = (uint32_t)get_u64(&b, 0),
            .srs_load_ns = get_u64(&b, 2),
            .synth_ns = get_u64(&b, 3),
            .gpu_ns = get_u64(&b, 4),
        };
        if (get_bytes(partition.proof, sizeof partition.proof, &b, 1) == sizeof partition.proof) fn(ctx, &partition);
    }
    return finish(self, &b, "reading partitions", SQLITE_DONE, err);
}

static cuzk_status journal_expire(uint64_t *n, zk_journal *journal, uint64_t ended_before_ms, cuzk_err *err) {
    sqlite_journal *self = self_of(journal);
    binding b = begin(self, ST_EXPIRE);
    put_u64(&b, ended_before_ms);
    step(&b);
    *n = b.code == SQLITE_DONE ? (uint64_t)sqlite3_changes(self->db) : 0;
    return finish(self, &b, "forgetting old results", SQLITE_DONE, err);
}

static uint64_t journal_size(zk_journal *journal) {
    sqlite_journal *self = self_of(journal);
    char name[4200];
    uint64_t bytes = 0;
    const char *const suffixes[] = {"", "-wal"};
    for (size_t i = 0; i < 2; i++) {
        struct stat s;
        snprintf(name, sizeof name, "%s%s", self->path, suffixes[i]);
        if (stat(name, &s) == 0) bytes += (uint64_t)s.st_size;
    }
    return bytes;
}

static void journal_close(zk_journal *journal) {
    sqlite_journal *self = self_of(journal);
    for (size_t i = 0; i < N_STATEMENTS; i++) sqlite3_finalize(self->statement[i]);
    sqlite3_close(self->db);
    if (self->file_fd >= 0) close(self->file_fd);
    if (self->lock_fd >= 0) close(self->lock_fd);
    pthread_mutex_destroy(&self->lock);
    free(self->path);
    free(self);
}

static const zk_journal_ops ops = {
    .close = journal_close,
    .accept = journal_accept,
    .find = journal_find,
    .partition_done = journal_partition_done,
    .end = journal_end,
    .result = journal_result,
    .each_open = journal_each_open,
    .each_partition = journal_each_partition,
    .expire = journal_expire,
    .size_bytes = journal_size,
};

cuzk_status zk_journal_open_sqlite(zk_journal **journal, const char *path, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    sqlite_journal *self = zk_calloc(1, sizeof *self);
    if (!self) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the journal");
    self->base.ops = &ops;
    self->lock_fd = self->file_fd = -1;
    pthread_mutex_init(&self->lock, NULL);
    self->path = zk_strdup(path);
    if (!self->path) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the journal"));
    ZK_GOTO(zk_journal_lock(&self->lock_fd, path, err));
    ZK_GOTO(zk_journal_db_open(&self->db, path, err));
    ZK_GOTO(zk_journal_lock_file(&self->file_fd, path, err));
    for (size_t i = 0; i < N_STATEMENTS; i++) {
        int code = sqlite3_prepare_v3(self->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &self->statement[i], NULL);
        if (code != SQLITE_OK) ZK_GOTO(zk_journal_fail(self->db, path, "prepare", code, err));
    }
    *journal = &self->base;
    self = NULL;
out:
    if (self) journal_close(&self->base);
    return status;
}
