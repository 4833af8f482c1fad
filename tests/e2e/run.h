/* Running the program from end-to-end tests: a child process, its exit code, what it printed, how long it took. */
#ifndef ZK_E2E_RUN_H
#define ZK_E2E_RUN_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "zk_test.h"

typedef struct e2e_result {
    int code; /* exit code; 128 + signal if killed */
    char *out, *err;
    size_t n_out, n_err;
    double seconds;
    long max_rss_kib;
} e2e_result;

static inline const char *e2e_program(void) {
    const char *program = getenv("CUZK_PROGRAM");
    return program ? program : CUZK_PROGRAM;
}

static inline double e2e_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void e2e_append(char **text, size_t *n, const char *data, size_t n_data) {
    *text = realloc(*text, *n + n_data + 1);
    memcpy(*text + *n, data, n_data);
    *n += n_data;
    (*text)[*n] = 0;
}

/* Runs the program with the arguments (NULL-terminated, without argv[0]). file_limit_bytes: RLIMIT_FSIZE of the child,
 * 0 for none (writes beyond fail as on a full disk). */
static inline void e2e_run_limited(e2e_result *r, rlim_t file_limit_bytes, const char *const *args) {
    memset(r, 0, sizeof *r);
    e2e_append(&r->out, &r->n_out, "", 0);
    e2e_append(&r->err, &r->n_err, "", 0);
    const char *argv[64] = {e2e_program()};
    size_t n = 1;
    while (args[n - 1]) {
        ZK_CHECK(n < 63);
        argv[n] = args[n - 1];
        n++;
    }
    argv[n] = NULL;
    int out[2], err[2];
    ZK_CHECK(pipe(out) == 0 && pipe(err) == 0);
    double start = e2e_now();
    pid_t pid = fork();
    ZK_CHECK(pid >= 0);
    if (pid == 0) {
        dup2(out[1], 1);
        dup2(err[1], 2);
        close(out[0]);
        close(err[0]);
        close(out[1]);
        close(err[1]);
        if (file_limit_bytes) {
            struct rlimit limit = {file_limit_bytes, file_limit_bytes};
            setrlimit(RLIMIT_FSIZE, &limit);
            signal(SIGXFSZ, SIG_IGN);
        }
        execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    close(out[1]);
    close(err[1]);
    struct pollfd fds[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
    int open_fds = 2;
    while (open_fds > 0 && poll(fds, 2, -1) > 0) {
        for (int i = 0; i < 2; i++) {
            if (fds[i].fd < 0 || !fds[i].revents) continue;
            char buffer[65536];
            ssize_t got = read(fds[i].fd, buffer, sizeof buffer);
            if (got > 0) {
                e2e_append(i ? &r->err : &r->out, i ? &r->n_err : &r->n_out, buffer, (size_t)got);
            } else {
                close(fds[i].fd);
                fds[i].fd = -1;
                open_fds--;
            }
        }
    }
    int status = 0;
    struct rusage usage;
    ZK_CHECK(wait4(pid, &status, 0, &usage) == pid);
    r->seconds = e2e_now() - start;
    r->max_rss_kib = usage.ru_maxrss;
    r->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline void e2e_free(e2e_result *r) {
    free(r->out);
    free(r->err);
}

#define E2E_ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})
/* Runs and demands an exit code; on another one prints what the program said. */
#define E2E_RUN(r, expected, ...) E2E_RUN_LIMITED(r, expected, 0, __VA_ARGS__)
#define E2E_RUN_LIMITED(r, expected, limit, ...)                                                                       \
    do {                                                                                                               \
        e2e_run_limited((r), (limit), E2E_ARGS(__VA_ARGS__));                                                          \
        ZK_CHECKF((r)->code == (expected), "exit code %d, stderr: %s", (r)->code, (r)->err);                           \
    } while (0)

/* A folder for one test program's files, made once; removed by e2e_cleanup. */
static inline const char *e2e_dir(void) {
    static char dir[256];
    if (!dir[0]) {
        const char *tmp = getenv("TMPDIR");
        snprintf(dir, sizeof dir, "%s/cuzk-e2e-XXXXXX", tmp ? tmp : "/tmp");
        if (!mkdtemp(dir)) abort();
    }
    return dir;
}

/* Path of a file in that folder; a few results stay valid at a time. */
static inline const char *e2e_path(const char *name) {
    static char paths[16][512];
    static unsigned next;
    char *path = paths[next++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", e2e_dir(), name);
    return path;
}

static inline const char *e2e_vector(const char *name) {
    static char paths[16][512];
    static unsigned next;
    char *path = paths[next++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", zk_test_vectors_dir(), name);
    return path;
}

static inline uint8_t *e2e_read(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    ZK_CHECKF(f != NULL, "%s: %s", path, strerror(errno));
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    uint8_t *data = malloc((size_t)size + 1);
    *n = fread(data, 1, (size_t)size, f);
    data[*n] = 0;
    fclose(f);
    return data;
}

static inline void e2e_write(const char *path, const void *data, size_t n) {
    FILE *f = fopen(path, "wb");
    ZK_CHECK(f != NULL);
    ZK_CHECK(fwrite(data, 1, n, f) == n);
    fclose(f);
}

static inline bool e2e_exists(const char *path) { return access(path, F_OK) == 0; }

static inline int e2e_count_files(const char *dir) {
    char command[512];
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", dir);
    FILE *f = popen(command, "r");
    int n = -1;
    if (!f || fscanf(f, "%d", &n) != 1) n = -1;
    if (f) pclose(f);
    return n;
}

static inline void e2e_cleanup(void) {
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", e2e_dir());
    if (system(command) != 0) fprintf(stderr, "could not remove %s\n", e2e_dir());
}

#endif
