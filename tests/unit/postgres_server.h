/* A PostgreSQL server for tests: data in a temporary folder, reached by a Unix socket alone. The server refuses to run
 * as root, so root starts it as somebody else. Include zk_test.h first. */
#ifndef ZK_TEST_POSTGRES_SERVER_H
#define ZK_TEST_POSTGRES_SERVER_H

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char pg_dir[64];
static pid_t pg_pid;

static inline const char *pg_path(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", pg_dir, name);
    return path;
}

static inline const struct passwd *pg_user(void) {
    if (getuid() != 0) return getpwuid(getuid());
    const struct passwd *user = getpwnam("postgres");
    return user ? user : getpwnam("nobody");
}

/* A program of the server's folder, as the server's user. */
static inline pid_t pg_spawn(const char *const *argv) {
    char program[512];
    snprintf(program, sizeof program, "%s/%s", CUZK_POSTGRES_BIN, argv[0]);
    const struct passwd *user = pg_user();
    pid_t pid = fork();
    if (pid != 0) return pid;
    if (getuid() == 0 && (setgroups(0, NULL) != 0 || setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0))
        _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    int log = open(pg_path("log"), O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (log < 0 || chdir(pg_dir) != 0) _exit(126);
    dup2(log, 1);
    dup2(log, 2);
    execv(program, (char *const *)(uintptr_t)argv);
    _exit(127);
}

static inline const char *pg_base_dsn(void) {
    static char dsn[128];
    snprintf(dsn, sizeof dsn, "host=%s user=cuzk dbname=postgres connect_timeout=120", pg_dir);
    return dsn;
}

static inline void pg_start(void) {
    const char *const argv[] = {"postgres",
                                "-D",
                                "data",
                                "-k",
                                pg_dir,
                                "-c",
                                "listen_addresses=",
                                "-c",
                                "fsync=off",
                                "-c",
                                "max_connections=60",
                                "-c",
                                "shared_buffers=16MB",
                                NULL};
    pg_pid = pg_spawn(argv);
    for (unsigned i = 0; PQping(pg_base_dsn()) != PQPING_OK; i++) {
        if (i > 15000 || waitpid(pg_pid, NULL, WNOHANG) == pg_pid) {
            fprintf(stderr, "the server does not start, see %s\n", pg_path("log"));
            exit(2);
        }
        usleep(20000);
    }
}

/* SIGQUIT: as in a crash. */
static inline void pg_stop(int number) {
    if (pg_pid <= 0) return;
    kill(pg_pid, number);
    while (waitpid(pg_pid, NULL, 0) < 0 && errno == EINTR) {}
    pg_pid = 0;
}

static inline void pg_create(void) {
    snprintf(pg_dir, sizeof pg_dir, "/tmp/cuzk-pg-XXXXXX");
    int status = -1;
    if (!mkdtemp(pg_dir)) exit(2);
    const struct passwd *user = pg_user();
    if (!user || (getuid() == 0 && chown(pg_dir, user->pw_uid, user->pw_gid) != 0)) exit(2);
    const char *const argv[] = {"initdb", "-D", "data", "-U",         "cuzk",      "-A",
                                "trust",  "-E", "UTF8", "--locale=C", "--no-sync", NULL};
    pid_t pid = pg_spawn(argv);
    if (waitpid(pid, &status, 0) != pid || status != 0) {
        fprintf(stderr, "initdb fails, see %s\n", pg_path("log"));
        exit(2);
    }
    pg_start();
}

static inline void pg_remove(void) {
    char command[128];
    pg_stop(SIGINT);
    snprintf(command, sizeof command, "rm -rf '%s'", pg_dir);
    if (system(command) != 0) fprintf(stderr, "could not remove %s\n", pg_dir);
}

/* Statements of the test itself; the first cell of the result as a number. */
static inline long pg_ask(const char *dsn, const char *sql) {
    PGconn *conn = PQconnectdb(dsn);
    PGresult *r = PQexec(conn, sql);
    ExecStatusType s = PQresultStatus(r);
    bool good = s == PGRES_TUPLES_OK || s == PGRES_COMMAND_OK;
    long value = good && PQntuples(r) && PQnfields(r) ? strtol(PQgetvalue(r, 0, 0), NULL, 10) : 0;
    char text[200];
    snprintf(text, sizeof text, "%s", PQerrorMessage(conn));
    PQclear(r);
    PQfinish(conn);
    ZK_CHECKF(good, "%s: %s", sql, text);
    return value;
}

/* Tables of its own for one test. */
static inline const char *pg_dsn(const char *schema) {
    static char dsns[16][256];
    static unsigned next;
    char *dsn = dsns[next++ % 16], sql[128];
    snprintf(sql, sizeof sql, "CREATE SCHEMA IF NOT EXISTS %s", schema);
    pg_ask(pg_base_dsn(), sql);
    snprintf(dsn, sizeof dsns[0], "%s options='-c search_path=%s'", pg_base_dsn(), schema);
    return dsn;
}

#endif
