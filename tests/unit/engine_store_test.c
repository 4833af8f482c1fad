/* What the engine keeps on disk: spool files, the journal, their repair; and the small parts that need no proof. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "engine/journal_sqlite.h"
#include "engine/memory.h"
#include "engine_common.h"
#include "journal_suite.h"

enum { N_JOBS = 40 };

static void write_text(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    ZK_CHECK(f != NULL);
    fputs(text, f);
    fclose(f);
}

/* ---- spool files ---- */

static void test_content(void) {
    const char *spool = test_path("spool");
    zk_content_meta meta, other;
    cuzk_err err = {0};
    suite_spool(&meta, spool, "an id", "vanilla");
    suite_spool(&other, spool, "another id", "vanilla");
    ZK_CHECK(strcmp(meta.job_id, other.job_id) != 0);
    ZK_CHECK_MEM(meta.digest, other.digest, 32); /* the content alone */
    suite_spool(&other, spool, "an id", "Vanilla");
    ZK_CHECK(memcmp(meta.digest, other.digest, 32) != 0);
    char path[ZK_SPOOL_PATH_BYTES];
    zk_spool_path(path, spool, meta.job_id);
    zk_spooled spooled;
    ZK_CHECK_OK(zk_spooled_open(&spooled, path, true, &err), err);
    ZK_CHECK(spooled.request.vanilla_proof.n == 7 && memcmp(spooled.request.vanilla_proof.data, "vanilla", 7) == 0);
    ZK_CHECK(strcmp(spooled.request.request_id, "an id") == 0 && spooled.request.miner_id == UINT64_MAX);
    zk_spooled_close(&spooled);
    /* every byte counts, and no length is believed */
    size_t n = 0;
    uint8_t *data = NULL;
    ZK_CHECK_OK(zk_file_read(&data, &n, path, 1 << 20, &err), err);
    for (size_t i = 0; i < n; i++) {
        bool covered = i < n - sizeof meta || (i >= n - sizeof meta + 8 && i < n - sizeof meta + 12);
        data[i] ^= 0x40;
        ZK_CHECK_OK(zk_file_write(path, data, n, &err), err);
        cuzk_status status = zk_spooled_open(&spooled, path, true, NULL);
        ZK_CHECKF(status == CUZK_BAD_INPUT || (status == CUZK_OK && !covered), "byte %zu", i);
        zk_spooled_close(&spooled);
        data[i] ^= 0x40;
        if (i > 40) i += 12;
    }
    for (size_t k = 0; k < n; k += 9) {
        ZK_CHECK_OK(zk_file_write(path, data, k, &err), err);
        ZK_CHECK(zk_spooled_open(&spooled, path, true, NULL) == CUZK_BAD_INPUT);
    }
    free(data);
}

static void test_content_limits(void) {
    const char *spool = test_path("limits");
    cuzk_err err = {0};
    zk_content_meta meta;
    uint64_t bytes;
    zk_engine_request request = {.request_id = "x", .kind = ZK_KIND_POREP};
    zk_content *content = suite_content(spool, 10, "0123456789");
    ZK_CHECK(zk_content_write(content, "a", 1, &err) == CUZK_BAD_INPUT); /* longer than announced */
    zk_err_reset(&err);
    ZK_CHECK(zk_content_commit(&meta, &bytes, content, &request, &err) == CUZK_BAD_INPUT); /* the failure stays */
    zk_err_reset(&err);
    content = suite_content(spool, 10, "01234");
    ZK_CHECK(zk_content_field_begin(content, ZK_CONTENT_RANDOMNESS, 6, &err) == CUZK_EXHAUSTED);
    ZK_CHECK(strstr(err.message, "10 bytes"));
    zk_content_abort(content);
    zk_err_reset(&err);
    content = suite_content(spool, 100, "01234");
    ZK_CHECK_OK(zk_content_field_begin(content, ZK_CONTENT_RANDOMNESS, 6, &err), err);
    ZK_CHECK(zk_content_commit(&meta, &bytes, content, &request, &err) == CUZK_BAD_INPUT); /* 6 bytes missing */
    zk_err_reset(&err);
    /* Entries that are empty cost a message next to nothing, the disk a head each. */
    content = suite_content(spool, 5, "01234");
    for (unsigned i = 0; i < ZK_CONTENT_MAX_ENTRIES; i++)
        ZK_CHECK(zk_content_field_begin(content, ZK_CONTENT_VANILLA_PROOFS, 0, &err) == CUZK_OK);
    ZK_CHECK(zk_content_field_begin(content, ZK_CONTENT_VANILLA_PROOFS, 0, &err) == CUZK_BAD_INPUT);
    ZK_CHECKF(strstr(err.message, "vanilla_proofs: found more than 1048576 entries"), "%s", err.message);
    zk_content_abort(content);
    ZK_CHECK(test_count_files(spool) == 0);
}

/* ---- journal ---- */

static const char *suite_path;

static zk_journal *reopen(zk_journal *journal) {
    cuzk_err err = {0};
    journal->ops->close(journal);
    ZK_CHECK_OK(zk_journal_open_sqlite(&journal, suite_path, &err), err);
    return journal;
}

static void test_journal(void) {
    zk_journal *journal = NULL, *second = NULL;
    cuzk_err err = {0};
    suite_path = test_path("journal-a");
    ZK_CHECK_OK(zk_journal_open_sqlite(&journal, suite_path, &err), err);
    ZK_CHECK(zk_journal_open_sqlite(&second, suite_path, &err) == CUZK_EXHAUSTED);
    ZK_CHECK(strstr(err.message, "journal-a"));
    /* also when somebody has tidied up */
    char name[600];
    snprintf(name, sizeof name, "%s.lock", suite_path);
    ZK_CHECK(unlink(name) == 0);
    zk_err_reset(&err);
    ZK_CHECK(zk_journal_open_sqlite(&second, suite_path, &err) == CUZK_EXHAUSTED);
    ZK_CHECK(strstr(err.message, "journal-a: another process has the journal open"));
    zk_salvage_report report;
    zk_err_reset(&err);
    ZK_CHECK(zk_engine_salvage(&report, suite_path, NULL, &err) == CUZK_EXHAUSTED);
    ZK_CHECK(access(suite_path, F_OK) == 0);
    suite_run(journal, reopen, test_path("journal-a.spool"));
}

static void damage(const char *path, off_t at, size_t n_bytes) {
    int fd = open(path, O_WRONLY);
    ZK_CHECK(fd >= 0);
    for (size_t i = 0; i < n_bytes; i++) ZK_CHECK(pwrite(fd, "\xff", 1, at + (off_t)i) == 1);
    close(fd);
}

/* A new journal in the test's folder; path and spool: its names. */
static zk_journal *open_new(char path[512], char spool[600], const char *name) {
    zk_journal *journal = NULL;
    cuzk_err err = {0};
    snprintf(path, 512, "%s", test_path(name));
    snprintf(spool, 600, "%s.spool", path);
    ZK_CHECK_OK(zk_journal_open_sqlite(&journal, path, &err), err);
    return journal;
}

static void check_n_open(const char *path, unsigned expected) {
    zk_journal *journal = NULL;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_journal_open_sqlite(&journal, path, &err), err);
    unsigned n = suite_n_open(journal);
    ZK_CHECKF(n == expected, "%s: %u open jobs, expected %u", path, n, expected);
    journal->ops->close(journal);
}

/* Damage in different places: refused with the way out in the message; salvage brings back every open job. */
static void salvage_after(const char *name, off_t at, size_t n_bytes, bool rows_survive) {
    char path[512], spool[600];
    zk_journal *journal = open_new(path, spool, name);
    cuzk_err err = {0};
    zk_content_meta meta[N_JOBS];
    for (unsigned i = 0; i < N_JOBS; i++) {
        char id[32];
        snprintf(id, sizeof id, "job %u", i);
        suite_job(&meta[i], journal, spool, id, id);
        if (i % 2) continue;
        char file[ZK_SPOOL_PATH_BYTES];
        suite_end(journal, meta[i].job_id, true);
        zk_spool_path(file, spool, meta[i].job_id);
        unlink(file);
    }
    journal->ops->close(journal); /* which brings everything into the main file */
    damage(path, at, n_bytes);
    zk_engine_options options = {.param_cache = "/", .journal_path = path};
    zk_engine *engine = NULL;
    ZK_CHECK(zk_engine_create(&engine, &options, &err) == CUZK_BAD_INPUT);
    ZK_CHECKF(strstr(err.message, "cuzk journal salvage") && strstr(err.message, path), "%s", err.message);
    zk_err_reset(&err);
    zk_salvage_report report;
    ZK_CHECK_OK(zk_engine_salvage(&report, path, NULL, &err), err);
    ZK_CHECK(report.was_damaged && strstr(report.old_path, ".damaged-") && access(report.old_path, F_OK) == 0);
    ZK_CHECKF(rows_survive ? report.n_results > 0 : report.n_from_spool == N_JOBS / 2, "%llu results, %llu from spool",
              (unsigned long long)report.n_results, (unsigned long long)report.n_from_spool);
    check_n_open(path, N_JOBS / 2);
}

static void test_salvage_head(void) { salvage_after("journal-h", 0, 100, false); }
static void test_salvage_first_page(void) { salvage_after("journal-f", 100, 3000, false); }
/* Nothing is wrong with it: so it says, and takes over all the same. */
static void test_salvage_intact(void) {
    char path[512], spool[600], old[4200];
    zk_journal *journal = open_new(path, spool, "journal-i");
    cuzk_err err = {0};
    zk_content_meta meta[4];
    for (unsigned i = 0; i < 3; i++) suite_job(&meta[i], journal, spool, i ? "b" : "a", "proof");
    suite_end(journal, meta[0].job_id, true);
    suite_spool(&meta[3], spool, "c", "of no row");
    journal->ops->close(journal);
    zk_salvage_report report;
    ZK_CHECK_OK(zk_engine_salvage(&report, path, NULL, &err), err);
    ZK_CHECK(!report.was_damaged && report.n_lost == 0 && report.n_jobs == 4 && report.n_results == 1);
    ZK_CHECK(report.n_from_spool == 1);
    snprintf(old, sizeof old, "%s", report.old_path);
    ZK_CHECKF(strstr(old, "journal-i.intact-") && access(old, F_OK) == 0, "%s", old);
    check_n_open(path, 3);
    check_n_open(old, 2); /* whole, as it was */
}

/* Twice within a second: each time the old one is kept. */
static void test_salvage_twice(void) {
    char path[512];
    snprintf(path, sizeof path, "%s", test_path("journal-t"));
    zk_journal *journal = NULL;
    cuzk_err err = {0};
    zk_salvage_report report[3];
    ZK_CHECK_OK(zk_journal_open_sqlite(&journal, path, &err), err);
    journal->ops->close(journal);
    for (unsigned i = 0; i < 3; i++) {
        ZK_CHECK_OK(zk_engine_salvage(&report[i], path, NULL, &err), err);
        for (unsigned k = 0; k < i; k++) ZK_CHECK(strcmp(report[k].old_path, report[i].old_path) != 0);
    }
    for (unsigned i = 0; i < 3; i++) ZK_CHECKF(access(report[i].old_path, F_OK) == 0, "%s", report[i].old_path);
}

/* No room for the new one: the old one is where it was, whole. */
static void test_salvage_no_room(void) {
    char path[512], spool[600];
    zk_journal *journal = open_new(path, spool, "journal-n");
    cuzk_err err = {0};
    zk_content_meta meta;
    zk_salvage_report report;
    struct rlimit before;
    suite_job(&meta, journal, spool, "a", "proof");
    journal->ops->close(journal);
    size_t n = test_count_files(test_dir);
    ZK_CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR && getrlimit(RLIMIT_FSIZE, &before) == 0);
    for (rlim_t most = 4096; most < 1 << 20; most *= 2) {
        ZK_CHECK(setrlimit(RLIMIT_FSIZE, &(struct rlimit){most, before.rlim_max}) == 0);
        cuzk_status status = zk_engine_salvage(&report, path, NULL, &err);
        ZK_CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
        ZK_CHECK(most > 4096 || status == CUZK_IO);
        if (status == CUZK_OK) break;
        zk_err_reset(&err);
        ZK_CHECKF(test_count_files(test_dir) <= n + 1, "%zu files, before %zu", test_count_files(test_dir),
                  n); /* .lock */
        check_n_open(path, 1);
    }
    check_n_open(path, 1);
}

/* Refused, it leaves behind what was there before. */
static void test_salvage_refused(void) {
    char path[512], lock[600];
    snprintf(path, sizeof path, "%s", test_path("journal-r"));
    snprintf(lock, sizeof lock, "%s.lock", path);
    zk_journal *journal = NULL;
    zk_salvage_report report;
    cuzk_err err = {0};
    size_t n = test_count_files(test_dir);
    ZK_CHECK(zk_engine_salvage(&report, path, NULL, &err) == CUZK_NOT_FOUND); /* there is none */
    ZK_CHECK(test_count_files(test_dir) == n);
    write_text(lock, "");
    ZK_CHECK(zk_engine_salvage(&report, path, NULL, NULL) == CUZK_NOT_FOUND);
    ZK_CHECK(access(lock, F_OK) == 0); /* somebody else's */
    ZK_CHECK_OK(zk_journal_open_sqlite(&journal, path, &err), err);
    ZK_CHECK(zk_engine_salvage(&report, path, NULL, NULL) == CUZK_EXHAUSTED && access(lock, F_OK) == 0);
    ZK_CHECK(unlink(lock) == 0);
    ZK_CHECK(zk_engine_salvage(&report, path, NULL, NULL) == CUZK_EXHAUSTED && access(lock, F_OK) != 0);
    journal->ops->close(journal);
}

/* A journal that is gone, or was cut to nothing, is made of what lies in the spool. */
static void test_salvage_missing(void) {
    char path[512], spool[600];
    zk_journal *journal = open_new(path, spool, "journal-g");
    cuzk_err err = {0};
    zk_content_meta meta[2];
    zk_salvage_report report;
    for (unsigned i = 0; i < 2; i++) suite_job(&meta[i], journal, spool, i ? "b" : "a", "proof");
    journal->ops->close(journal);
    ZK_CHECK(zk_spool_count(spool) == 2 && zk_spool_count(path) == 0);
    for (unsigned cut = 0; cut < 2; cut++) {
        ZK_CHECK(cut ? truncate(path, 0) == 0 : unlink(path) == 0);
        ZK_CHECK_OK(zk_engine_salvage(&report, path, NULL, &err), err);
        ZK_CHECK(report.was_missing == !cut && report.was_damaged == cut && report.n_jobs == 2);
        ZK_CHECK(report.n_from_spool == 2 && (report.old_path[0] != 0) == cut);
        check_n_open(path, 2);
    }
}

static void test_salvage_page(void) { salvage_after("journal-p", 6 * 4096, 4096, true); }

/* Damage that shows while the journal is open: an error of the disk that names the way out, never somebody's bad input,
 * and never a wrong result: what is read is what was written, or is refused by whoever decodes it. */
static void test_damaged_in_use(void) {
    enum { N = 200, N_PROOF = 100 * 192 }; /* more than SQLite keeps in memory */
    const char *path = test_path("journal-u"), *spool = test_path("journal-u.spool");
    zk_journal *journal = NULL;
    cuzk_err err = {0};
    static zk_content_meta meta[N];
    uint8_t *proof = malloc(N_PROOF);
    memset(proof, 0x5c, N_PROOF);
    ZK_CHECK_OK(zk_journal_open_sqlite(&journal, path, &err), err);
    for (unsigned i = 0; i < N; i++) {
        bool ended;
        suite_job(&meta[i], journal, spool, "x", "one");
        zk_journal_end end = {.state = ZK_JOURNAL_COMPLETED, .proof = proof, .n_proof = N_PROOF};
        ZK_CHECK_OK(journal->ops->end(&ended, journal, meta[i].job_id, &end, &err), err);
    }
    journal->ops->close(journal);
    ZK_CHECK_OK(zk_journal_open_sqlite(&journal, path, &err), err);
    damage(path, 400 * 4096, 100 * 4096); /* proofs, and no inner page of a tree */
    unsigned n_failed = 0, n_good = 0;
    for (unsigned i = 0; i < N; i++) {
        zk_result result;
        zk_err_reset(&err);
        cuzk_status status = journal->ops->result(&result, journal, meta[i].job_id, &err);
        if (status == CUZK_OK && result.n_proof == N_PROOF && memcmp(result.proof, proof, N_PROOF) == 0) n_good++;
        if (status == CUZK_OK) zk_result_clear(&result);
        if (status == CUZK_OK) continue;
        n_failed++;
        ZK_CHECKF(status == CUZK_IO && strstr(err.message, "cuzk journal salvage"), "%s", err.message);
    }
    ZK_CHECKF(n_failed > 0 && n_good > 0, "%u failed, %u good", n_failed, n_good);
    journal->ops->close(journal);
    free(proof);
}

/* A spool that cannot be written is a fault of the disk, too. */
static void test_spool_gone(void) {
    const char *spool = test_path("gone");
    zk_content *content = NULL;
    cuzk_err err = {0};
    ZK_CHECK(zk_content_open(&content, spool, 1000, &err) == CUZK_IO && strstr(err.message, "gone"));
    zk_err_reset(&err);
    content = suite_content(spool, 100, "vanilla");
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", spool);
    ZK_CHECK(system(command) == 0);
    zk_engine_request request = {.request_id = "x", .kind = ZK_KIND_POREP};
    zk_content_meta meta;
    uint64_t bytes;
    ZK_CHECK(zk_content_commit(&meta, &bytes, content, &request, &err) == CUZK_IO);
}

/* ---- what is no file, or cannot be written, is found at the start ---- */

/* The engine does not start, and says `why` of `name`. */
static void check_refused(const zk_engine_options *options, const char *name, const char *why) {
    zk_engine *engine = NULL;
    cuzk_err err = {0};
    cuzk_status status = zk_engine_create(&engine, options, &err);
    ZK_CHECKF(status == CUZK_BAD_INPUT && !engine, "%s: status %d: %s", name, (int)status, err.message);
    ZK_CHECKF(strstr(err.message, name) && strstr(err.message, why), "%s, %s: %s", name, why, err.message);
}

static void test_not_files(void) {
    const char *const suffixes[] = {"", "-wal", "-shm", ".lock", ".keys"};
    char path[512], name[600];
    alarm(600); /* for a wait */
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        snprintf(path, sizeof path, "%s%zu", test_path("kind"), i);
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        zk_engine_options options = {.param_cache = "/", .journal_path = path};
        ZK_CHECK(mkfifo(name, 0600) == 0);
        check_refused(&options, name, "found a pipe, expected a regular file");
        ZK_CHECK(unlink(name) == 0 && mkdir(name, 0700) == 0);
        check_refused(&options, name, "found a folder, expected a regular file");
        ZK_CHECK(rmdir(name) == 0 && symlink("/dev/zero", name) == 0);
        check_refused(&options, name, "found a device, expected a regular file");
    }
    const char *spool = test_path("no-folder");
    zk_engine_options options = {.param_cache = "/", .journal_path = test_path("kind"), .spool_dir = spool};
    ZK_CHECK(mkfifo(spool, 0600) == 0);
    check_refused(&options, spool, "Not a directory");
    zk_salvage_report report;
    cuzk_err err = {0};
    ZK_CHECK(zk_engine_salvage(&report, spool, NULL, &err) == CUZK_BAD_INPUT && strstr(err.message, "found a pipe"));
    alarm(0);
}

static void test_not_writable(void) {
    char folder[512], path[600], spool[600];
    cuzk_err err = {0};
    zk_journal *journal = NULL;
    sqlite3 *db = NULL;
    snprintf(folder, sizeof folder, "%s", test_path("read-only"));
    snprintf(path, sizeof path, "%s/journal", folder);
    snprintf(spool, sizeof spool, "%s/spool", folder);
    bool root = geteuid() == 0; /* who may do all */
    ZK_CHECK(chmod(test_dir, 0755) == 0 && mkdir(folder, 0755) == 0);
    if (root) ZK_CHECK(chown(folder, 65534, 65534) == 0 && seteuid(65534) == 0);
    zk_engine_options options = {.param_cache = "/", .journal_path = path, .spool_dir = spool};
    ZK_CHECK_OK(zk_journal_open_sqlite(&journal, path, &err), err);
    journal->ops->close(journal);

    ZK_CHECK(mkdir(spool, 0755) == 0 && chmod(spool, 0555) == 0);
    check_refused(&options, spool, "spool folder: ");
    check_refused(&options, spool, "Permission denied");
    ZK_CHECK(chmod(spool, 0755) == 0);

    ZK_CHECK(chmod(path, 0444) == 0); /* opens well, if only to read */
    check_refused(&options, path, "the journal cannot be written: Permission denied");
    ZK_CHECK(chmod(path, 0644) == 0);

    ZK_CHECK_OK(zk_journal_db_open(&db, path, &err), err); /* whose log stays there */
    char name[700];
    snprintf(name, sizeof name, "%s-wal", path);
    ZK_CHECK(chmod(name, 0444) == 0);
    check_refused(&options, name, "the journal cannot be written: Permission denied");
    ZK_CHECK(chmod(name, 0644) == 0);

    ZK_CHECK(chmod(folder, 0555) == 0); /* with all its files there */
    check_refused(&options, path, "folder of the journal: ");
    check_refused(&options, path, "Permission denied");
    ZK_CHECK(chmod(folder, 0755) == 0);
    sqlite3_close(db);
    ZK_CHECK_OK(zk_journal_open_sqlite(&journal, path, &err), err);
    journal->ops->close(journal);
    ZK_CHECK(test_count_files(spool) == 0);
    if (root) ZK_CHECK(seteuid(0) == 0);
}

/* Two engines never share a spool, whose files without a job in the journal are swept at the start. */
static void test_spool_locked(void) {
    char spool[512];
    zk_engine *first = NULL, *second = NULL;
    cuzk_err err = {0};
    snprintf(spool, sizeof spool, "%s", test_path("one-spool"));
    zk_engine_options options = test_options("spool-1");
    options.spool_dir = spool;
    ZK_CHECK_OK(zk_engine_create(&first, &options, &err), err);
    zk_engine_options other = test_options("spool-2");
    other.spool_dir = spool;
    ZK_CHECK(zk_engine_create(&second, &other, &err) == CUZK_EXHAUSTED && !second);
    ZK_CHECKF(strstr(err.message, "one-spool: another daemon has this spool folder"), "%s", err.message);
    zk_engine_destroy(first);
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_engine_create(&second, &other, &err), err);
    zk_engine_destroy(second);
}

/* ---- the rest ---- */

static void test_circuits(void) {
    char id[ZK_CIRCUIT_ID_BYTES];
    zk_proof_kind kind;
    uint64_t bytes;
    cuzk_err err = {0};
    const char *const good[] = {"porep-2k",    "porep-8m", "porep-512m", "porep-32g", "porep-64g",   "wpost-32g",
                                "winning-32g", "snap-32g", "snap-64g",   "wpost-64g", "winning-512m"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ZK_CHECK_OK(zk_circuit_parse(&kind, &bytes, good[i], &err), err);
        ZK_CHECK_OK(zk_circuit_id(id, kind, bytes, &err), err);
        ZK_CHECK(strcmp(id, good[i]) == 0);
    }
    const char *const bad[] = {"", "porep", "porep-", "porep-32", "porep-32gb", "post-32g", "wpost_32g", "porep-3k"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ZK_CHECK(zk_circuit_parse(&kind, &bytes, bad[i], NULL) == CUZK_UNSUPPORTED);
}

static void test_memory_groups(void) {
    char mount[512], deep[600];
    snprintf(mount, sizeof mount, "%s", test_path("cgroup"));
    cuzk_err err = {0};
    snprintf(deep, sizeof deep, "%s/a/b", mount);
    ZK_CHECK_OK(zk_folder_create(deep, &err), err);
    write_text(test_path("self"), "0::/a/b\n");
    ZK_CHECK(zk_memory_group_limit(mount, test_path("self")) == 0);
    write_text(test_path("cgroup/a/b/memory.max"), "max\n");
    write_text(test_path("cgroup/a/memory.max"), "3000\n");
    ZK_CHECK(zk_memory_group_limit(mount, test_path("self")) == 3000);
    write_text(test_path("cgroup/a/b/memory.high"), "2000\n");
    ZK_CHECK(zk_memory_group_limit(mount, test_path("self")) == 2000);
    snprintf(deep, sizeof deep, "%s/memory/x", mount);
    ZK_CHECK_OK(zk_folder_create(deep, &err), err);
    write_text(test_path("cgroup/memory/x/memory.limit_in_bytes"), "1000\n");
    write_text(test_path("self"), "5:cpu,cpuacct:/x\n4:memory:/x/not/visible\n");
    ZK_CHECK(zk_memory_group_limit(mount, test_path("self")) == 1000);
    write_text(test_path("self"), "4:hugetlb,memory:/x\n"); /* mounted together, with a link `memory` */
    ZK_CHECK(zk_memory_group_limit(mount, test_path("self")) == 1000);
    write_text(test_path("self"), "4:memory_recursiveprot,cpu:/x\n");
    ZK_CHECK(zk_memory_group_limit(mount, test_path("self")) == 0);
    ZK_CHECK(zk_memory_group_limit(mount, test_path("none")) == 0);
    ZK_CHECK(zk_engine_memory_auto() > 0 && zk_memory_of_process(getpid()) > 4096);
}

int main(int argc, char **argv) {
    static const zk_test_case cases[] = {
        ZK_CASE(test_content),         ZK_CASE(test_content_limits),     ZK_CASE(test_journal),
        ZK_CASE(test_salvage_head),    ZK_CASE(test_salvage_first_page), ZK_CASE(test_salvage_page),
        ZK_CASE(test_salvage_intact),  ZK_CASE(test_salvage_twice),      ZK_CASE(test_salvage_no_room),
        ZK_CASE(test_salvage_refused), ZK_CASE(test_salvage_missing),    ZK_CASE(test_damaged_in_use),
        ZK_CASE(test_spool_gone),      ZK_CASE(test_spool_locked),       ZK_CASE(test_not_files),
        ZK_CASE(test_not_writable),    ZK_CASE(test_circuits),           ZK_CASE(test_memory_groups),
    };
    if (argc > 1 && strcmp(argv[1], "worker") == 0) return test_worker_main(argc, argv);
    zk_log_set_level(ZK_LOG_OFF);
    test_dir_make();
    int code = zk_test_run(cases, sizeof cases / sizeof cases[0], argc, argv);
    test_dir_remove();
    return code;
}
