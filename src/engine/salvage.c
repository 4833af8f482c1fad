/* Takes over what can be read of a damaged journal. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/journal_sqlite.h"

enum { PATH_BYTES = 4200, MAX_NAMES = 1000 };

typedef struct salvage {
    sqlite3 *old, *fresh;
    sqlite3_stmt *insert, *insert_partition;
    zk_salvage_report *report;
} salvage;

/* Copies the row that `from` stands on; false if a value of it is not what belongs there. */
static bool copy_row(sqlite3_stmt *to, sqlite3_stmt *from, int n_columns) {
    sqlite3_reset(to);
    sqlite3_clear_bindings(to);
    for (int i = 0; i < n_columns; i++)
        if (sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i)) != SQLITE_OK) return false;
    return sqlite3_step(to) == SQLITE_DONE;
}

static bool job_row_ok(sqlite3_stmt *row) {
    const char *id = (const char *)sqlite3_column_text(row, 0);
    sqlite3_int64 state = sqlite3_column_int64(row, 12);
    return id && zk_job_id_ok(id) && sqlite3_column_bytes(row, 2) == 32 && state >= ZK_JOURNAL_OPEN &&
           state <= ZK_JOURNAL_CANCELLED &&
           (state != ZK_JOURNAL_COMPLETED || sqlite3_column_bytes(row, 16) % ZK_PROOF_BYTES == 0);
}

/* Rows by their number, each on its own, so that a damaged page costs its rows alone. */
static void copy_jobs(salvage *s) {
    sqlite3_stmt *ids = NULL, *row = NULL;
    const char *const orders[] = {"ASC", "DESC"};
    /* A scan ends at the first damaged page: the second, from the other end, finds what lies behind it. */
    for (size_t i = 0; i < 2; i++) {
        char text[512];
        snprintf(text, sizeof text, "SELECT %s FROM jobs ORDER BY rowid %s", ZK_JOURNAL_COLUMNS, orders[i]);
        if (sqlite3_prepare_v2(s->old, text, -1, &row, NULL) != SQLITE_OK) {
            s->report->n_lost++;
            return;
        }
        int code;
        while ((code = sqlite3_step(row)) == SQLITE_ROW) {
            if (!job_row_ok(row)) {
                if (i == 0) s->report->n_lost++;
            } else if (copy_row(s->insert, row, ZK_JOURNAL_N_COLUMNS)) {
                s->report->n_jobs++;
                s->report->n_results += sqlite3_column_int64(row, 12) == ZK_JOURNAL_COMPLETED;
            }
        }
        sqlite3_finalize(row);
        if (code == SQLITE_DONE) break;
        if (i == 0) s->report->n_lost++;
    }
    if (sqlite3_prepare_v2(s->old, "SELECT job_id, idx, proof, srs_load_ns, synth_ns, gpu_ns FROM partitions", -1, &ids,
                           NULL) == SQLITE_OK)
        while (sqlite3_step(ids) == SQLITE_ROW)
            if (sqlite3_column_bytes(ids, 2) == ZK_PROOF_BYTES) copy_row(s->insert_partition, ids, 6);
    sqlite3_finalize(ids);
}

/* Open jobs are all in the spool; a job whose row was lost comes back as accepted. */
static void take_spool(salvage *s, const char *spool_dir) {
    DIR *dir = opendir(spool_dir);
    if (!dir) return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        size_t n = strlen(entry->d_name);
        char path[PATH_BYTES];
        zk_spooled spooled;
        if (n < 7 || strcmp(entry->d_name + n - 6, ".spool") != 0) continue;
        if ((size_t)snprintf(path, sizeof path, "%s/%s", spool_dir, entry->d_name) >= sizeof path) continue;
        if (zk_spooled_open(&spooled, path, true, NULL) != CUZK_OK) {
            s->report->n_lost++;
            continue;
        }
        const zk_content_meta *m = &spooled.meta;
        sqlite3_reset(s->insert);
        sqlite3_clear_bindings(s->insert);
        sqlite3_bind_text(s->insert, 1, m->job_id, -1, SQLITE_STATIC);
        sqlite3_bind_text(s->insert, 2, m->request_id, (int)m->n_request_id, SQLITE_STATIC);
        sqlite3_bind_blob(s->insert, 3, m->digest, sizeof m->digest, SQLITE_STATIC);
        const uint64_t numbers[] = {
            m->kind,          m->priority, m->partition_index, m->sector_bytes,     m->registered_proof,
            m->sector_number, m->miner_id, m->accepted_ms,     spooled.map.n_bytes, ZK_JOURNAL_OPEN};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            sqlite3_bind_int64(s->insert, 4 + (int)i, (sqlite3_int64)numbers[i]);
        if (sqlite3_step(s->insert) == SQLITE_DONE) {
            s->report->n_jobs++;
            s->report->n_from_spool++;
        }
        sqlite3_reset(s->insert);
        zk_spooled_close(&spooled);
    }
    closedir(dir);
}

/* A name that says what is the case, and that nothing has: a journal that was moved aside in the same second stays. */
static cuzk_status name_aside(char *to, size_t n_to, const char *path, const char *state, cuzk_err *err) {
    const long long when = (long long)time(NULL);
    struct stat there;
    for (unsigned n = 0; n < MAX_NAMES; n++) {
        char more[16] = "";
        if (n) snprintf(more, sizeof more, "-%u", n);
        snprintf(to, n_to, "%s.%s-%lld%s", path, state, when, more);
        if (lstat(to, &there) != 0 && errno == ENOENT) return CUZK_OK;
    }
    return ZK_FAIL(err, CUZK_IO, "%s: cannot be moved aside: %s is there already", path, to);
}

/* All files of a journal under another name. */
static cuzk_status move_files(const char *to, const char *from, cuzk_err *err) {
    for (size_t i = 0; i < ZK_JOURNAL_N_FILES; i++) {
        char old_name[PATH_BYTES + 8], new_name[PATH_BYTES + 8];
        snprintf(old_name, sizeof old_name, "%s%s", from, zk_journal_file_suffixes[i]);
        snprintf(new_name, sizeof new_name, "%s%s", to, zk_journal_file_suffixes[i]);
        if (rename(old_name, new_name) != 0 && (i == 0 || errno != ENOENT))
            return ZK_FAIL(err, CUZK_IO, "%s: cannot be moved: %s", old_name, strerror(errno));
    }
    return CUZK_OK;
}

static void remove_files(const char *path) {
    for (size_t i = 0; i < ZK_JOURNAL_N_FILES; i++) {
        char name[PATH_BYTES + 8];
        snprintf(name, sizeof name, "%s%s", path, zk_journal_file_suffixes[i]);
        unlink(name);
    }
}

static bool pages_are_good(sqlite3 *db) {
    sqlite3_stmt *check = NULL;
    bool good = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &check, NULL) == SQLITE_OK &&
                sqlite3_step(check) == SQLITE_ROW;
    const char *text = good ? (const char *)sqlite3_column_text(check, 0) : NULL;
    good = text && strcmp(text, "ok") == 0;
    sqlite3_finalize(check);
    return good;
}

static void close_both(salvage *s) {
    sqlite3_finalize(s->insert);
    sqlite3_finalize(s->insert_partition);
    sqlite3_close(s->old);
    sqlite3_close(s->fresh);
    s->insert = s->insert_partition = NULL;
    s->old = s->fresh = NULL;
}

/* Makes the new journal beside the old one. */
static cuzk_status fill(salvage *s, const char *fresh, const char *path, const char *spool_dir, cuzk_err *err) {
    ZK_TRY(zk_journal_db_open(&s->fresh, fresh, err));
    /* Without OR IGNORE: a row that is there already fails and is not counted. */
    const char *insert =
        "INSERT INTO jobs (" ZK_JOURNAL_COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
    if (sqlite3_prepare_v2(s->fresh, insert, -1, &s->insert, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(s->fresh, "INSERT OR IGNORE INTO partitions VALUES (?,?,?,?,?,?)", -1, &s->insert_partition,
                           NULL) != SQLITE_OK)
        return zk_journal_fail(s->fresh, fresh, "prepare", sqlite3_extended_errcode(s->fresh), err);
    ZK_TRY(zk_journal_exec(s->fresh, fresh, "BEGIN", err));
    /* A head that is beyond reading leaves the spool, as a journal that is gone does. */
    if (!s->report->was_missing) {
        if (sqlite3_open_v2(path, &s->old, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK)
            copy_jobs(s);
        else
            s->report->n_lost++;
        s->report->was_damaged = s->report->n_lost > 0 || !pages_are_good(s->old);
    }
    take_spool(s, spool_dir);
    return zk_journal_exec(s->fresh, fresh, "COMMIT", err);
}

/* The new journal takes the place of the old one, which goes aside. */
static cuzk_status put_in_place(zk_salvage_report *report, const char *path, const char *fresh, cuzk_err *err) {
    char *aside = report->old_path;
    if (report->was_missing) return move_files(path, fresh, err);
    ZK_TRY(name_aside(aside, sizeof report->old_path, path, report->was_damaged ? "damaged" : "intact", err));
    ZK_TRY(move_files(aside, path, err));
    cuzk_status status = move_files(path, fresh, err);
    if (status == CUZK_OK) return CUZK_OK;
    cuzk_status back = move_files(path, aside, NULL);
    (void)back; /* else it stays there, by a name that says what it is */
    return status;
}

/* The old journal stays where it is until the new one is whole, should this fail or be killed: a daemon that starts on
 * an empty one clears the spool. */
cuzk_status zk_engine_salvage(zk_salvage_report *report, const char *path, const char *spool_dir, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    salvage s = {.report = report};
    char fresh[PATH_BYTES], spool[PATH_BYTES], lock[PATH_BYTES + 8];
    int lock_fd = -1, file_fd = -1;
    bool is_ours = false;
    *report = (zk_salvage_report){0};
    if (strlen(path) >= sizeof report->old_path - 40)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "the path of the journal is too long");
    if ((size_t)snprintf(spool, sizeof spool, "%s%s", spool_dir ? spool_dir : path, spool_dir ? "" : ".spool") >=
        sizeof spool)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "the path of the spool folder is too long");
    snprintf(lock, sizeof lock, "%s.lock", path);
    snprintf(fresh, sizeof fresh, "%s.salvage", path);
    bool had_lock = access(lock, F_OK) == 0;
    ZK_GOTO(zk_journal_check_kind(path, err));
    int code = access(path, F_OK) == 0 ? 0 : errno;
    report->was_missing = code == ENOENT && zk_spool_count(spool) > 0;
    if (code && !report->was_missing)
        ZK_GOTO(ZK_FAIL(err, code == ENOENT ? CUZK_NOT_FOUND : CUZK_IO, "%s: cannot be salvaged: %s", path,
                        strerror(code)));
    ZK_GOTO(zk_journal_lock(&lock_fd, path, err));
    if (!report->was_missing) ZK_GOTO(zk_journal_lock_file(&file_fd, path, err));
    is_ours = true;
    remove_files(fresh); /* of one that was interrupted */
    status = fill(&s, fresh, path, spool, err);
    close_both(&s);
    if (status == CUZK_OK) status = put_in_place(report, path, fresh, err);
out:
    if (status != CUZK_OK && is_ours) remove_files(fresh);
    if (status != CUZK_OK && !had_lock && lock_fd >= 0) unlink(lock);
    if (file_fd >= 0) close(file_fd);
    if (lock_fd >= 0) close(lock_fd);
    return status;
}
