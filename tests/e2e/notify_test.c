/* The daemon and its service manager, by sd_notify(3): the test is the manager. Nothing is proved. */
#include <dirent.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "run.h"

#define WINNING_KEYS                                                                                                   \
    "v28-proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-0-0-"                                                \
    "3ea05428c9d11689f23529cde32fd30aabd50f7d2c93657c1d3650bca3e8ea9e.params"

/* ---- the manager's socket ---- */

static int manager_fd = -1;
static char manager_name[300]; /* as NOTIFY_SOCKET has it */

static void manager_open(bool abstract) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    static int n;
    if (manager_fd >= 0) close(manager_fd);
    snprintf(manager_name, sizeof manager_name, "%s%s/notify-%d", abstract ? "@" : "", e2e_dir(), n++);
    size_t length = strlen(manager_name);
    ZK_CHECK(length < sizeof a.sun_path);
    memcpy(a.sun_path, manager_name, length);
    if (abstract) a.sun_path[0] = 0;
    manager_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ZK_CHECK(manager_fd >= 0 && bind(manager_fd, (struct sockaddr *)&a,
                                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) == 0);
}

/* The next datagram within so many seconds; "" if there is none. */
static const char *hear(double seconds) {
    static char text[4096];
    struct pollfd p = {.fd = manager_fd, .events = POLLIN};
    ssize_t n = poll(&p, 1, (int)(seconds * 1000)) > 0 ? recv(manager_fd, text, sizeof text - 1, 0) : 0;
    text[n > 0 ? n : 0] = 0;
    return text;
}

/* The rest of the line NAME=, NULL if the datagram has none. */
static const char *value_of(const char *datagram, const char *name) {
    static char value[1024];
    size_t n = strlen(name);
    for (const char *line = datagram; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, name, n) == 0 && line[n] == '=') {
            snprintf(value, sizeof value, "%.*s", (int)strcspn(line + n + 1, "\n"), line + n + 1);
            return value;
        }
    return NULL;
}

static bool says(const char *datagram, const char *name, const char *value) {
    const char *found = value_of(datagram, name);
    return found && strcmp(found, value) == 0;
}

static pid_t daemon_pid;

/* How it ended, which stays to be waited for; "" while it runs. */
static const char *how_ended(void) {
    static char text[64];
    siginfo_t info = {0};
    text[0] = 0;
    if (daemon_pid > 0 && waitid(P_PID, (id_t)daemon_pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid)
        snprintf(text, sizeof text, "; the daemon has ended by %s %d", info.si_code == CLD_EXITED ? "code" : "signal",
                 info.si_status);
    return text;
}

/* Listens until a datagram has NAME=value (value NULL: any); one that also has `never` is too early. */
static const char *hear_until(const char *name, const char *value, const char *never) {
    for (double end = e2e_now() + ZK_TEST_HANG_S; e2e_now() < end;) {
        const char *text = hear(1);
        ZK_CHECKF(!never || !value_of(text, never), "%s before %s: %s", never, name, text);
        if (value ? says(text, name, value) : value_of(text, name) != NULL) return text;
        if (!*text && *how_ended()) break;
    }
    ZK_FAIL_CASE("%s=%s is not said%s", name, value ? value : "...", how_ended());
}

/* What was said before. */
static void drain_heard(void) {
    while (*hear(0.05)) {}
}

static int count_heard(const char *name, double seconds) {
    int n = 0;
    for (double end = e2e_now() + seconds; e2e_now() < end;) n += value_of(hear(end - e2e_now()), name) != NULL;
    return n;
}

/* ---- the daemon ---- */

static char address[300];

static const char *log_text(void) {
    static uint8_t *text;
    size_t n;
    free(text);
    text = e2e_read(e2e_path("log"), &n);
    return (const char *)text;
}

static void end_hard(void) {
    if (daemon_pid <= 0) return;
    kill(daemon_pid, SIGKILL);
    waitpid(daemon_pid, NULL, 0);
    daemon_pid = 0;
}

/* extra: further arguments, NULL-terminated; environment: pairs, NULL-terminated. */
static void start(const char *notify, const char *const *environment, const char *const *extra) {
    const char *argv[40] = {e2e_program(), "daemon", "--config", e2e_path("cuzk.toml"), "--gpus.devices", "cpu"};
    size_t n = 6;
    end_hard(); /* of a case that failed */
    if (!e2e_exists(e2e_path("cuzk.toml"))) e2e_write(e2e_path("cuzk.toml"), "", 0);
    snprintf(address, sizeof address, "unix://%s", e2e_path("cuzk.sock"));
    const char *const own[] = {"--listen",          address,  "--journal", e2e_path("journal.db"),
                               "--srs.param_cache", e2e_dir()};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) argv[n++] = own[i];
    for (; extra && *extra; extra++) argv[n++] = *extra;
    e2e_write(e2e_path("log"), "", 0);
    fflush(stdout);
    daemon_pid = fork();
    ZK_CHECK(daemon_pid >= 0);
    if (daemon_pid) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* does not outlive the test */
    int log = open(e2e_path("log"), O_APPEND | O_WRONLY);
    dup2(log, 1);
    dup2(log, 2);
    setenv("NOTIFY_SOCKET", notify, 1);
    for (; environment && *environment; environment += 2) setenv(environment[0], environment[1], 1);
    execv(argv[0], (char *const *)argv);
    _exit(127);
}

/* Its exit code, 128 + signal, or -1 if it does not end. */
static int await_end(void) {
    for (double end = e2e_now() + ZK_TEST_HANG_S; e2e_now() < end; usleep(10000)) {
        int status = 0;
        if (waitpid(daemon_pid, &status, WNOHANG) != daemon_pid) continue;
        daemon_pid = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    end_hard();
    return -1;
}

static void stop(void) {
    kill(daemon_pid, SIGTERM);
    int code = await_end();
    ZK_CHECKF(code == 0, "exit code %d: %s", code, log_text());
}

static bool answers(void) {
    e2e_result r;
    e2e_run_limited(&r, 0, E2E_ARGS("status", "--connect", address));
    bool good = r.code == 0;
    e2e_free(&r);
    return good;
}

static void await_log(const char *text) {
    bool over = false; /* what it said last is read once more */
    for (double end = e2e_now() + ZK_TEST_HANG_S; e2e_now() < end && !strstr(log_text(), text) && !over; usleep(20000))
        over = *how_ended();
    ZK_CHECKF(strstr(log_text(), text), "the log never says %s%s: %s", text, how_ended(), log_text());
}

/* ---- cases ---- */

static uint64_t monotonic_us(void) { return (uint64_t)(e2e_now() * 1e6); }

static void one_life(bool abstract) {
    manager_open(abstract);
    start(manager_name, NULL, NULL);
    ZK_CHECK(strncmp(value_of(hear_until("STATUS", NULL, "READY"), "STATUS"), "starting", 8) == 0);
    hear_until("READY", "1", NULL);
    ZK_CHECK(answers()); /* at once */
    const char *what = value_of(hear_until("STATUS", NULL, NULL), "STATUS");
    ZK_CHECKF(strstr(what, "0 running, 0 waiting; 0 proofs"), "%s", what);

    for (int bad = 0; bad < 2; bad++) {
        e2e_write(e2e_path("cuzk.toml"), "logging.level = \"nonsense\"", bad ? 26 : 0);
        uint64_t before = monotonic_us();
        kill(daemon_pid, SIGHUP);
        const char *text = hear_until("RELOADING", "1", "READY"), *usec = value_of(text, "MONOTONIC_USEC");
        ZK_CHECK(usec != NULL);
        uint64_t told = strtoull(usec, NULL, 10);
        ZK_CHECKF(told + 1 >= before && told <= monotonic_us() + 1, "%s", usec);
        text = hear_until("READY", "1", "STOPPING");
        ZK_CHECK(!value_of(text, "RELOADING"));
        what = value_of(text, "STATUS");
        ZK_CHECKF(what && (bad ? strstr(what, "logging.level") != NULL : strcmp(what, "settings reloaded") == 0), "%s",
                  text);
    }
    e2e_write(e2e_path("cuzk.toml"), "", 0);
    kill(daemon_pid, SIGTERM);
    hear_until("STOPPING", "1", "READY");
    ZK_CHECK(await_end() == 0);
    ZK_CHECK(count_heard("READY", 0.1) == 0);
}

static void test_path(void) { one_life(false); }
static void test_abstract(void) { one_life(true); }

static void test_failed_start(void) {
    manager_open(false);
    start(manager_name, NULL, E2E_ARGS("--journal.spool", "/dev/null/spool"));
    const char *text;
    do { text = value_of(hear_until("STATUS", NULL, "READY"), "STATUS"); } while (strncmp(text, "starting", 8) == 0);
    ZK_CHECKF(strncmp(text, "not started: ", 13) == 0 && strstr(text, "/dev/null"), "%s", text);
    int code = await_end();
    ZK_CHECKF(code == 3, "exit code %d: %s", code, log_text());
}

/* Datagrams until the manager's queue takes no more. */
static void fill_queue(void) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    memcpy(a.sun_path, manager_name, strlen(manager_name));
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    for (int i = 0; i < 100000 && sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof a) == 1; i++) {}
    ZK_CHECK(errno == EAGAIN);
    close(fd);
}

/* No manager to be reached is no failure, and logged once. */
static void test_nobody_listens(void) {
    manager_open(false);
    close(manager_fd); /* the name stays, with nobody behind it */
    manager_fd = -1;
    char gone[sizeof manager_name], full[sizeof manager_name], long_name[300];
    memcpy(gone, manager_name, sizeof gone);
    manager_open(false); /* one that does not read */
    memcpy(full, manager_name, sizeof full);
    fill_queue();
    memset(long_name, 'x', sizeof long_name);
    long_name[0] = '/';
    long_name[sizeof long_name - 1] = 0;
    char none[300];
    snprintf(none, sizeof none, "%s", e2e_path("none"));
    const char *const names[] = {none, gone, full, "@nobody-here", "relative", long_name};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        start(names[i], E2E_ARGS("WATCHDOG_USEC", "100000"), NULL);
        await_log("msg=ready");
        ZK_CHECKF(answers(), "%s: %s", names[i], log_text());
        usleep(150000); /* a ping or two */
        const char *first = strstr(log_text(), "cannot be told");
        ZK_CHECKF(!first || !strstr(first + 1, "cannot be told"), "%s: %s", names[i], log_text());
        ZK_CHECKF(first || strstr(log_text(), "is no address"), "%s: %s", names[i], log_text());
        stop();
    }
    start("", NULL, NULL); /* not a word */
    await_log("msg=ready");
    ZK_CHECK(!strstr(log_text(), "manager") && !strstr(log_text(), "NOTIFY"));
    stop();
}

/* Children must not speak for the daemon. */
static void test_children(void) {
    manager_open(false);
    start(manager_name, E2E_ARGS("WATCHDOG_USEC", "60000000", "KEPT_FOR_CHILDREN", "1"), NULL);
    hear_until("READY", "1", NULL);
    int n = 0;
    for (double end = e2e_now() + ZK_TEST_HANG_S; !n && e2e_now() < end; usleep(50000)) {
        char path[64], list[1024] = "";
        DIR *tasks;
        snprintf(path, sizeof path, "/proc/%d/task", (int)daemon_pid);
        ZK_CHECK((tasks = opendir(path)) != NULL);
        for (struct dirent *d; (d = readdir(tasks));) {
            snprintf(path, sizeof path, "/proc/%d/task/%.16s/children", (int)daemon_pid, d->d_name);
            FILE *f = fopen(path, "r");
            size_t at = strlen(list);
            if (f) list[at + fread(list + at, 1, sizeof list - 1 - at, f)] = 0;
            if (f) fclose(f);
        }
        closedir(tasks);
        for (char *rest = list, *pid; (pid = strtok_r(NULL, " ", &rest));) {
            char line[4096] = "";
            snprintf(path, sizeof path, "/proc/%s/cmdline", pid);
            FILE *f = fopen(path, "r");
            size_t n_line = f ? fread(line, 1, sizeof line - 1, f) : 0;
            if (f) fclose(f);
            /* until it has started its program it shows what the daemon was started with */
            if (strcmp(line + strnlen(line, n_line) + (n_line > 0), "worker") != 0) continue;
            snprintf(path, sizeof path, "/proc/%s/environ", pid);
            f = fopen(path, "r");
            char environment[65536];
            size_t length = f ? fread(environment, 1, sizeof environment - 1, f) : 0;
            if (f) fclose(f);
            environment[length] = 0;
            bool worker = false;
            for (size_t i = 0; i < length; i += strlen(environment + i) + 1) {
                worker |= strcmp(environment + i, "KEPT_FOR_CHILDREN=1") == 0;
                ZK_CHECKF(strncmp(environment + i, "NOTIFY_", 7) != 0 && strncmp(environment + i, "WATCHDOG_", 9) != 0,
                          "%s", environment + i);
            }
            n += worker;
        }
    }
    ZK_CHECK(n > 0);
    stop();
}

/* ---- signals ---- */

static bool catches(int number) {
    char path[64], line[256];
    uint64_t caught = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)daemon_pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "SigCgt:", 7) == 0) caught = strtoull(line + 7, NULL, 16);
    if (f) fclose(f);
    return caught >> (number - 1) & 1;
}

/* However early it is asked to end it ends: also before its settings are read, and when its parent had the signal
 * blocked. */
static void test_early_end(void) {
    for (int i = 0; i < 24; i++) {
        int number = i % 2 ? SIGINT : SIGTERM;
        sigset_t set, before;
        sigemptyset(&set);
        sigaddset(&set, number);
        if (i >= 20) sigprocmask(SIG_BLOCK, &set, &before);
        start("", NULL, NULL);
        if (i >= 20) sigprocmask(SIG_SETMASK, &before, NULL);
        for (double end = e2e_now() + ZK_TEST_HANG_S; i < 20 && !catches(number) && e2e_now() < end;) usleep(200);
        usleep((useconds_t)(i % 20 * 300));
        kill(daemon_pid, number);
        int code = await_end();
        ZK_CHECKF(code == 0 || code == 130 || code == 128 + number, "signal %d, start %d: exit code %d: %s", number, i,
                  code, log_text());
    }
}

/* A reload for which there is no time stays one; the end does not wait for reloads. */
static void test_many_reloads(void) {
    manager_open(false);
    start(manager_name, NULL, NULL);
    hear_until("READY", "1", NULL);
    pid_t pid = daemon_pid;
    for (int i = 0; i < 1000; i++) kill(pid, SIGHUP);
    await_log("settings reloaded");
    for (int i = 0; i < 1000; i++) kill(pid, SIGHUP);
    stop();
}

/* A manager that does not read for a while hears of a reload and of its end, in this order, however many there were
 * meanwhile; and of the end of all. */
static void test_busy_manager(void) {
    manager_open(false);
    start(manager_name, NULL, NULL);
    hear_until("READY", "1", NULL);
    for (int n_reloads = 1; n_reloads <= 2; n_reloads++) {
        uint64_t begin = 0;
        fill_queue();
        for (int i = 0; i < n_reloads; i++) {
            e2e_write(e2e_path("log"), "", 0);
            begin = monotonic_us();
            kill(daemon_pid, SIGHUP);
            await_log("settings reloaded");
        }
        usleep(1200000); /* until it has given up to say so */
        const char *usec = value_of(hear_until("RELOADING", "1", "READY"), "MONOTONIC_USEC");
        ZK_CHECKF(usec && strtoull(usec, NULL, 10) + 1 >= begin, "%s", usec); /* the last one */
        const char *what = value_of(hear_until("READY", "1", "RELOADING"), "STATUS");
        ZK_CHECKF(what && strcmp(what, "settings reloaded") == 0, "%s", what);
        ZK_CHECK(strstr(value_of(hear_until("STATUS", NULL, "READY"), "STATUS"), "0 running"));
    }
    fill_queue();
    kill(daemon_pid, SIGTERM);
    ZK_CHECK(await_end() == 0);
}

/* ---- the watchdog ---- */

/* Stops one thread of the daemon, as if it hung. false: this system lets nobody do that. */
static bool thread_stop(pid_t tid) {
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0) return false;
    ZK_CHECK(ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0);
    ZK_CHECK(waitpid(tid, NULL, __WALL) == tid);
    return true;
}

static void thread_go_on(pid_t tid) { ZK_CHECK(ptrace(PTRACE_DETACH, tid, NULL, NULL) == 0); }

/* A thread of that name, 0 if there is none. */
static pid_t thread_called(const char *name) {
    char path[64], found[32];
    pid_t tid = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)daemon_pid);
    DIR *tasks = opendir(path);
    for (struct dirent *d; tasks && (d = readdir(tasks));) {
        snprintf(path, sizeof path, "/proc/%d/task/%.16s/comm", (int)daemon_pid, d->d_name);
        FILE *f = fopen(path, "r");
        if (f && fgets(found, sizeof found, f) && strncmp(found, name, strlen(name)) == 0) tid = atoi(d->d_name);
        if (f) fclose(f);
    }
    if (tasks) closedir(tasks);
    return tid;
}

static void test_watchdog(void) {
    int n = 0;
    manager_open(false);
    start(manager_name, E2E_ARGS("WATCHDOG_USEC", "400000"), NULL); /* pings every 200 ms */
    hear_until("READY", "1", "WATCHDOG");
    for (int i = 0; i < 50 && !(n >= 2 && n <= 6); i++) { /* in a second in which the machine lets all run */
        drain_heard();
        n = count_heard("WATCHDOG", 1);
    }
    ZK_CHECKF(n >= 2 && n <= 6, "%d pings", n);
    pid_t serving = thread_called("grpc-serve");
    ZK_CHECK(serving > 0);
    const pid_t threads[] = {daemon_pid, serving};
    for (int i = 0; i < 2; i++) {
        if (!thread_stop(threads[i])) {
            printf("threads cannot be stopped here (%s): hangs are not tried\n", strerror(errno));
            break;
        }
        double end = e2e_now() + ZK_TEST_HANG_S;
        do { /* a serving thread counts as hanging after 2 s */
            drain_heard();
            n = count_heard("WATCHDOG", 0.8);
        } while (n > 0 && e2e_now() < end);
        if (i) await_log("hangs");
        thread_go_on(threads[i]);
        ZK_CHECKF(n == 0, "%d pings while thread %d of 2 hangs", n, i);
        hear_until("WATCHDOG", "1", NULL);
    }
    stop();
    char other[24];
    snprintf(other, sizeof other, "%d", (int)getpid());
    start(manager_name, E2E_ARGS("WATCHDOG_USEC", "200000", "WATCHDOG_PID", other), NULL); /* meant for another */
    hear_until("READY", "1", NULL);
    ZK_CHECK(count_heard("WATCHDOG", 0.5) == 0);
    stop();
}

/* A job runs when the daemon is asked to end: it says so, asks for time, and goes on feeding the watchdog. */
static void test_drain(void) {
    e2e_result r;
    e2e_write(e2e_path(WINNING_KEYS), "", 0); /* made in the worker, where the fault comes first */
    E2E_RUN(&r, 0, "sample", "winning", "--sector-size", "2KiB", "-o", e2e_path("winning.json"));
    e2e_free(&r);
    manager_open(false);
    start(manager_name, E2E_ARGS("WATCHDOG_USEC", "400000", "CUZK_TEST_TOXIC", e2e_vector("toxic.json")),
          E2E_ARGS("--test-worker-fault", "hang@prepare:1", "--daemon.drain_timeout", "5s"));
    hear_until("READY", "1", NULL);
    E2E_RUN(&r, 0, "submit", "--connect", address, "--request", e2e_path("winning.json"));
    e2e_free(&r);
    for (double end = e2e_now() + ZK_TEST_HANG_S; e2e_now() < end;) {
        const char *what = value_of(hear_until("STATUS", NULL, NULL), "STATUS");
        if (strstr(what, "1 running")) break;
    }
    double begin = e2e_now();
    kill(daemon_pid, SIGTERM);
    hear_until("STOPPING", "1", NULL);
    const char *extend = value_of(hear_until("EXTEND_TIMEOUT_USEC", NULL, NULL), "EXTEND_TIMEOUT_USEC");
    ZK_CHECK(atoll(extend) > 10000000);
    for (int i = 0; i < 2; i++) hear_until("WATCHDOG", "1", NULL); /* while it ends */
    ZK_CHECK(await_end() == 0);
    ZK_CHECKF(e2e_now() - begin >= 5, "%f s", e2e_now() - begin);
}

static void test_clean_up(void) {
    end_hard();
    e2e_cleanup();
}

ZK_TEST_MAIN(ZK_CASE(test_path), ZK_CASE(test_abstract), ZK_CASE(test_failed_start), ZK_CASE(test_nobody_listens),
             ZK_CASE(test_children), ZK_CASE(test_early_end), ZK_CASE(test_many_reloads), ZK_CASE(test_busy_manager),
             ZK_CASE(test_watchdog), ZK_CASE(test_drain), ZK_CASE(test_clean_up))
