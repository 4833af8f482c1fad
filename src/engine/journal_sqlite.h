/* What the journal and its salvage share. */
#ifndef ZK_ENGINE_JOURNAL_SQLITE_H
#define ZK_ENGINE_JOURNAL_SQLITE_H

#include <sqlite3.h>

#include "engine/journal.h"

#define ZK_JOURNAL_VERSION 1

/* Columns of a job row, in this order, in every statement that reads or copies whole rows. */
#define ZK_JOURNAL_COLUMNS                                                                                             \
    "id, request_id, digest, kind, priority, partition_index, sector_bytes, registered_proof, sector_number, "         \
    "miner_id, accepted_ms, file_bytes, state, ended_ms, status, message, proof, queue_wait_ms, srs_load_ms, "         \
    "synthesis_ms, gpu_compute_ms, total_ms"
enum { ZK_JOURNAL_N_COLUMNS = 22 };

/* What SQLite opens for a journal: its path with each of these behind it. */
enum { ZK_JOURNAL_N_FILES = 3 };
extern const char *const zk_journal_file_suffixes[ZK_JOURNAL_N_FILES];

/* BAD_INPUT when the file, or one of those that SQLite keeps beside it, is there and not a regular file. */
cuzk_status zk_journal_check_kind(const char *path, cuzk_err *err);
/* Opens or makes the file and its tables. BAD_INPUT: damaged, not to be written, or no file. */
cuzk_status zk_journal_db_open(sqlite3 **db, const char *path, cuzk_err *err);
/* Words a failure of SQLite. */
cuzk_status zk_journal_fail(sqlite3 *db, const char *path, const char *what, int code, cuzk_err *err);
cuzk_status zk_journal_exec(sqlite3 *db, const char *path, const char *sql, cuzk_err *err);

#endif
