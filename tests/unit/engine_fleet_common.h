/* What tests of fleets share: engines on one database, machines that can be killed. */
#ifndef ZK_TEST_ENGINE_FLEET_COMMON_H
#define ZK_TEST_ENGINE_FLEET_COMMON_H

#include "engine_common.h"
#include "postgres_server.h"

/* No stall of the machine is as long as this: work changes hands because of what a test does, not by the way. */
enum { LEASE_MS = 600000 };

static const char *dsn;

static inline zk_engine_options fleet_options(const char *test, const char *machine) {
    static char names[16][64];
    static unsigned next;
    char *name = names[next++ % 16];
    snprintf(name, sizeof names[0], "%s-%s", test, machine);
    zk_engine_options o = test_options(name);
    o.fleet_dsn = dsn;
    o.fleet_machine = machine;
    o.fleet_lease_ms = LEASE_MS;
    return o;
}

static inline zk_engine *lease_engine(const char *test, const char *machine, const char *fault, uint64_t lease_ms) {
    zk_engine_options o = fleet_options(test, machine);
    o.worker_fault = fault;
    o.fleet_lease_ms = lease_ms;
    return test_engine(&o);
}

static inline zk_engine *fleet_engine(const char *test, const char *machine, const char *fault) {
    return lease_engine(test, machine, fault, LEASE_MS);
}

static inline zk_request window_request(const char *id) {
    return test_as(test_request(ZK_KIND_WINDOW, "a", 5), id, ZK_PRIORITY_NORMAL); /* three partitions */
}

/* Polls until the statement's first cell has the value. */
static inline void await_value(const char *sql, long value) {
    uint64_t end_ns = zk_now_ns() + ZK_TEST_HANG_S * ZK_SECOND_NS;
    for (long found; (found = pg_ask(dsn, sql)) != value; usleep(50000))
        ZK_CHECKF(zk_now_ns() < end_ns, "%s: found %ld, expected %ld", sql, found, value);
}

static inline uint64_t proved_by(zk_engine *engine) {
    zk_engine_status *status = test_status(engine);
    uint64_t n = status->workers[0].n_proved;
    zk_engine_status_destroy(status);
    return n;
}

static inline void check_no_rest(void) {
    ZK_CHECK(pg_ask(dsn, "SELECT (SELECT count(*) FROM cuzk_units) + (SELECT count(*) FROM cuzk_content)"
                         " + (SELECT count(*) FROM cuzk_jobs WHERE state = 0)") == 0);
}

/* A machine of the next tests: takes work until it is killed. */
static inline _Noreturn void host_main(char **argv) {
    snprintf(test_dir, sizeof test_dir, "%s", argv[2]);
    dsn = argv[3];
    lease_engine(argv[4], argv[5], argv[6], strtoull(argv[7], NULL, 10));
    for (;;) pause();
}

static inline pid_t start_host(const char *test, const char *machine, const char *fault, uint64_t lease_ms) {
    char lease[24];
    snprintf(lease, sizeof lease, "%llu", (unsigned long long)lease_ms);
    pid_t pid = fork();
    ZK_CHECK(pid >= 0);
    if (pid != 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execl("/proc/self/exe", "engine_fleet_test", "host", test_dir, dsn, test, machine, fault, lease, (char *)NULL);
    _exit(127);
}

static inline void kill_host(pid_t pid) { ZK_CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid); }

/* The common part of main: what the program is as a child, and the server. */
static inline int fleet_main(const zk_test_case *cases, size_t n, int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0) return test_worker_main(argc, argv);
    if (setjmp(zk_test_jump) != 0) return 2;
    zk_log_set_level(getenv("CUZK_ENGINE_LOG") ? ZK_LOG_DEBUG : ZK_LOG_OFF);
    if (argc > 7 && strcmp(argv[1], "host") == 0) host_main(argv);
    test_dir_make();
    test_keys_make(ZK_KIND_WINDOW);
    pg_create();
    int code = zk_test_run(cases, n, argc, argv);
    pg_remove();
    test_dir_remove();
    return code;
}

#endif
