/* A worker that makes no progress is ended, and its partitions are proved again; one that is slow, paused with the
 * machine, stopped by somebody or waiting is not. No clock of the machine decides: limits that a busy machine could
 * reach matter only where the worker hangs for good, or where one try more changes nothing. */
#include "engine_common.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "base/cancel.h"
#include "base/pool.h"
#include "base/progress.h"
#include "engine/stall.h"

/* ---- signs of progress ---- */

static void check_sign(void *ctx, size_t begin, size_t end, unsigned thread) {
    zk_progress **seen = ctx;
    (void)end;
    (void)thread;
    seen[begin] = zk_progress_bound();
}

static void test_signs(void) {
    zk_progress own = {0}, other = {0};
    zk_progress *const process = zk_progress_process, *seen[64] = {0};
    cuzk_err err = {0};
    zk_cancel cancel = {0};
    zk_pool *pool = NULL;
    zk_progress_process = &other;
    ZK_CHECK(!zk_progress_take(&own));
    ZK_CHECK_OK(zk_cancel_check(NULL, "test", &err), err);
    ZK_CHECK(zk_progress_take(&other) && !zk_progress_take(&other)); /* once a sign */
    zk_progress_bind(&own);
    ZK_CHECK_OK(zk_cancel_check(&cancel, "test", &err), err);
    ZK_CHECK(zk_progress_take(&own) && !zk_progress_take(&other));
    ZK_CHECK(!zk_cancel_requested(&cancel) && !zk_progress_take(&own)); /* who waits may ask */
    zk_cancel_request(&cancel);
    ZK_CHECK(zk_cancel_check(&cancel, "test", NULL) == CUZK_CANCELLED && !zk_progress_take(&own));
    zk_trace *trace = zk_trace_create("test", 0);
    zk_span *span = zk_span_open(trace, "span");
    ZK_CHECK(zk_progress_take(&own));
    zk_span_close(trace, span);
    ZK_CHECK(zk_progress_take(&own));
    zk_trace_destroy(trace);
    zk_progress_take(&own);
    /* threads of a pool work for its caller */
    ZK_CHECK_OK(zk_pool_create(&pool, 3, &err), err);
    zk_pool_for(pool, 64, 1, check_sign, seen);
    for (size_t i = 0; i < 64; i++) ZK_CHECK(seen[i] == &own);
    ZK_CHECK(zk_progress_take(&own) && !zk_progress_take(&other) && zk_progress_bound() == &own);
    zk_pool_for(NULL, 2, 1, check_sign, seen);
    ZK_CHECK(zk_progress_take(&own));
    zk_pool_destroy(pool);
    zk_progress_bind(NULL);
    zk_progress_process = process;
}

/* ---- time without progress ---- */

static void test_time(void) {
    const uint64_t ms = ZK_MS_NS, hour = 3600 * ZK_SECOND_NS;
    zk_stall stall;
    uint64_t now = 17;
    zk_stall_begin(&stall, now);
    ZK_CHECK(stall.still_ns == 0);
    for (unsigned i = 0; i < 20; i++) zk_stall_look(&stall, now += 50 * ms, false);
    ZK_CHECK(stall.still_ns == 1000 * ms);
    zk_stall_look(&stall, now += hour, false); /* this process was stopped, or the machine */
    ZK_CHECK(stall.still_ns == 1000 * ms + ZK_STALL_LOOK_NS);
    zk_stall_look(&stall, now, false);
    zk_stall_look(&stall, now - 5, false); /* never, by this clock */
    ZK_CHECK(stall.still_ns == 1000 * ms + ZK_STALL_LOOK_NS);
    zk_stall_pause(&stall, now += hour); /* others had its CPUs: what was before still counts */
    zk_stall_look(&stall, now += 50 * ms, false);
    ZK_CHECK(stall.still_ns == 1050 * ms + ZK_STALL_LOOK_NS);
    zk_stall_look(&stall, now += 50 * ms, true);
    ZK_CHECK(stall.still_ns == 0);
    /* one that hardly gets a CPU, and moves once in a second, never reaches two */
    for (unsigned i = 0; i < 400; i++) {
        zk_stall_look(&stall, now += 50 * ms, i % 20 == 0);
        ZK_CHECK(stall.still_ns < 1000 * ms);
    }
}

/* ---- workers ---- */

/* Until the worker is in the stage, by a task that has a fault there. */
static pid_t await_stage(zk_engine *engine, const char *stage) {
    for (unsigned i = 0; i < 12000; i++) {
        zk_engine_status *st = test_status(engine);
        const zk_worker_view *w = &st->workers[0];
        pid_t pid = strcmp(w->stage, stage) == 0 ? w->pid : 0;
        zk_engine_status_destroy(st);
        if (pid) return pid;
        usleep(5000);
    }
    ZK_FAIL_CASE("never in this stage");
    return 0;
}

static uint64_t n_stalls(zk_engine *engine, bool all_crashes) {
    zk_engine_status *st = test_status(engine);
    uint64_t n = st->n_worker_stalls;
    ZK_CHECK(st->n_worker_crashes >= n && (!all_crashes || st->n_worker_crashes == n));
    zk_engine_status_destroy(st);
    return n;
}

/* What is open for a moment, a message or a copy of the content, is closed soon. */
#define OPEN_FILES "/proc/self/fd"
static void await_open_files(size_t n) {
    for (unsigned i = 0; i < 2000 && test_count_files(OPEN_FILES) > n; i++) usleep(5000);
    ZK_CHECKF(test_count_files(OPEN_FILES) <= n, "%zu open, before %zu", test_count_files(OPEN_FILES), n);
}

static int64_t still_ms(zk_engine *engine) {
    zk_engine_status *st = test_status(engine);
    int64_t ms = st->workers[0].still_ms;
    zk_engine_status_destroy(st);
    return ms;
}

/* Three partitions by processes that hang in their second: at least two hang. */
static void test_replaced(void) {
    zk_engine_options options = test_options("replaced");
    options.worker_fault = "hang@h:2";
    options.stall_limit_ms = 500;
    options.max_attempts = 100; /* should the machine stand still: a try more */
    zk_engine *engine = test_engine(&options);
    test_prove_request(engine, test_request(ZK_KIND_WINDOW, "a", 5));
    uint64_t n = n_stalls(engine, true);
    size_t n_files = test_count_files(OPEN_FILES);
    test_prove_request(engine, test_request(ZK_KIND_WINDOW, "b", 5));
    ZK_CHECK(n >= 2 && n_stalls(engine, true) > n);
    await_open_files(n_files);
    TEST_UNTIL(still_ms(engine) == -1); /* the job ends before the worker's task is put away */
    zk_engine_status *st = test_status(engine);
    ZK_CHECK(st->n_retries >= 2);
    zk_engine_status_destroy(st);
    zk_engine_destroy(engine);
}

/* Without a limit it is waited for; the status says how long, and a limit may come later. */
static void test_limit_later(void) {
    zk_engine_options options = test_options("later");
    options.worker_fault = "hang@msm:1";
    options.max_attempts = 1;
    zk_engine *engine = test_engine(&options);
    zk_submitted s;
    zk_result result;
    test_submit(&s, engine, test_request(ZK_KIND_WINDOW, "a", 1));
    await_stage(engine, "msm");
    for (; still_ms(engine) < 300; usleep(20000)) ZK_CHECK(n_stalls(engine, true) == 0);
    zk_engine_set_stall_limit(engine, 1);
    test_await(&result, engine, s.job_id);
    ZK_CHECKF(result.outcome == ZK_OUTCOME_FAILED && strstr(result.message, "stood still") &&
                  strstr(result.message, "(no progress for ") && strstr(result.message, " in msm"),
              "%s", result.message);
    ZK_CHECK(n_stalls(engine, true) == 1);
    zk_result_clear(&result);
    zk_engine_destroy(engine);
}

/* It hangs each time: the job fails and says so, also to the next life of the engine; the worker is there again. */
static void test_given_up(void) {
    zk_engine_options options = test_options("given-up");
    options.worker_fault = "hang@h:1+";
    options.stall_limit_ms = 100;
    zk_engine *engine = test_engine(&options);
    zk_submitted s;
    zk_result result;
    for (unsigned i = 0; i < 2; i++) {
        if (i == 0) test_submit(&s, engine, test_request(ZK_KIND_WINNING, "a", 1));
        test_await(&result, engine, s.job_id);
        ZK_CHECKF(result.outcome == ZK_OUTCOME_FAILED && strstr(result.message, "given up after 3 attempts") &&
                      strstr(result.message, "stood still"),
                  "%s", result.message);
        if (i == 0) ZK_CHECK(n_stalls(engine, true) >= 3);
        zk_result_clear(&result);
        zk_engine_destroy(engine);
        options.worker_fault = NULL;
        options.stall_limit_ms = 0;
        engine = test_engine(&options);
    }
    test_prove_request(engine, test_request(ZK_KIND_WINNING, "b", 1));
    zk_engine_destroy(engine);
}

/* In the load for a job, and for a call, which is told. */
static void test_key_load(void) {
    zk_engine_options options = test_options("load");
    options.worker_fault = "hang@load:2";
    options.max_attempts = 100;
    zk_engine *engine = test_engine(&options);
    cuzk_err err = {0};
    bool was;
    uint64_t ms;
    ZK_CHECK_OK(zk_engine_preload(&was, &ms, engine, "winning-2k", &err), err);
    zk_engine_set_stall_limit(engine, 500);
    cuzk_status status = zk_engine_preload(&was, &ms, engine, "wpost-2k", &err);
    ZK_CHECKF(status == CUZK_DEVICE && strstr(err.message, "the worker process stood still (no progress for"), "%s",
              err.message);
    ZK_CHECK(n_stalls(engine, true) == 1);
    /* the next process loads the keys of one kind, and hangs with those of the other */
    test_prove_request(engine, test_request(ZK_KIND_WINNING, "a", 1));
    test_prove_request(engine, test_request(ZK_KIND_WINDOW, "a", 1));
    ZK_CHECK(n_stalls(engine, true) >= 2);
    zk_engine_destroy(engine);
}

/* Slow: longer than the limit, with signs of progress all the time. */
static void test_slow(void) {
    zk_engine_options options = test_options("slow");
    options.worker_fault = "slow@h:1"; /* three seconds at least */
    options.stall_limit_ms = 2000;
    zk_engine *engine = test_engine(&options);
    uint64_t start = zk_now_ns();
    test_prove_request(engine, test_request(ZK_KIND_WINDOW, "a", 1));
    ZK_CHECK(zk_now_ns() - start > 2500 * ZK_MS_NS);
    ZK_CHECK(n_stalls(engine, true) == 0);
    zk_engine_destroy(engine);
}

/* This process, the daemon, does not run for a second. */
static void pause_here(void) {
    pid_t daemon = getpid(), pauser = fork();
    int status = -1;
    if (pauser == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        kill(daemon, SIGSTOP);
        sleep(1);
        kill(daemon, SIGCONT);
        _exit(0);
    }
    ZK_CHECK(waitpid(pauser, &status, 0) == pauser && status == 0);
}

/* Time in which the daemon did not run is no time in which a worker stood still, though it did. */
static void test_paused(void) {
    zk_engine_options options = test_options("paused");
    options.worker_fault = "hang@h:1";
    zk_engine *engine = test_engine(&options);
    zk_submitted s;
    test_submit(&s, engine, test_request(ZK_KIND_WINDOW, "a", 1));
    await_stage(engine, "h");
    int64_t before = still_ms(engine), after, passed;
    uint64_t start = zk_now_ns();
    pause_here();
    for (unsigned i = 0; (after = still_ms(engine)) == before && i < 2000; i++) usleep(5000); /* until it looks again */
    passed = (int64_t)((zk_now_ns() - start) / ZK_MS_NS);
    ZK_CHECK(before >= 0 && passed >= 990);
    ZK_CHECKF(after >= 0 && after - before <= passed - 700, "%lld ms more in %lld", (long long)(after - before),
              (long long)passed);
    zk_engine_destroy(engine);
}

/* Who is stopped by somebody, or by a debugger, is left alone as long as that lasts. */
static void test_held(void) {
    zk_engine_options options = test_options("held");
    options.worker_fault = "hang@synthesize:1";
    options.max_attempts = 1;
    zk_engine *engine = test_engine(&options);
    zk_submitted s;
    zk_result result;
    test_submit(&s, engine, test_request(ZK_KIND_WINDOW, "a", 1));
    pid_t worker = await_stage(engine, "synthesize");
    ZK_CHECK(!zk_process_is_held(worker) && !zk_process_is_held(0x7fffffff));
    ZK_CHECK(kill(worker, SIGSTOP) == 0);
    for (unsigned i = 0; i < 2000 && !zk_process_is_held(worker); i++) usleep(1000);
    zk_engine_set_stall_limit(engine, 1);
    usleep(500000);
    ZK_CHECK(n_stalls(engine, true) == 0);
    ZK_CHECK(kill(worker, SIGCONT) == 0);
    test_await(&result, engine, s.job_id);
    ZK_CHECKF(result.outcome == ZK_OUTCOME_FAILED && strstr(result.message, "stood still"), "%s", result.message);
    ZK_CHECK(n_stalls(engine, true) == 1);
    zk_result_clear(&result);
    zk_engine_destroy(engine);
}

/* ---- a process that does not end ---- */

/* Holds what the process has open, so that nobody sees it closed when it is killed, as with one that does not end. */
static pid_t fork_holder(pid_t worker) {
    int ready[2];
    char good = 0;
    ZK_CHECK(pipe(ready) == 0);
    pid_t holder = fork();
    if (holder == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        long process = syscall(SYS_pidfd_open, worker, 0);
        for (int fd = 3; fd <= 4; fd++) good += syscall(SYS_pidfd_getfd, process, fd, 0) >= 0;
        if (write(ready[1], &good, 1) != 1) _exit(1);
        for (;;) pause();
    }
    ZK_CHECK(read(ready[0], &good, 1) == 1);
    close(ready[0]);
    close(ready[1]);
    if (good < 2) fprintf(stderr, "descriptors of a worker cannot be held here: tested less\n");
    return holder;
}

/* Two lanes of a process: whichever ends it, the other one does not go on listening to it. */
static void test_two_lanes(void) {
    zk_engine_options options = test_options("lanes");
    zk_submitted s;
    zk_result result;
    unsigned n = 0;
    setenv("CUZK_TEST_DEVICES", "1", 1);
    setenv("CUZK_TEST_STREAMS", "1", 1);
    options.devices = "0";
    options.worker_threads = 2;
    options.worker_fault = "hang@h:1+";
    zk_engine *engine = test_engine(&options);
    test_submit(&s, engine, test_request(ZK_KIND_WINDOW, "a", 5));
    pid_t worker = 0, second = 0;
    for (unsigned i = 0; i < 12000 && (n < 2 || worker != second); i++) {
        zk_engine_status *st = test_status(engine);
        n = 0;
        for (size_t k = 0; k < st->n_workers; k++) {
            if (strcmp(st->workers[k].stage, "h") != 0) continue;
            *(n++ ? &second : &worker) = st->workers[k].pid;
        }
        zk_engine_status_destroy(st);
        usleep(5000);
    }
    ZK_CHECK(n == 2 && worker > 0 && worker == second);
    pid_t holder = fork_holder(worker);
    zk_engine_set_stall_limit(engine, 100);
    test_await(&result, engine, s.job_id);
    ZK_CHECKF(result.outcome == ZK_OUTCOME_FAILED && strstr(result.message, "given up after 3 attempts"), "%s",
              result.message);
    ZK_CHECK(n_stalls(engine, true) >= 2);
    zk_result_clear(&result);
    zk_engine_destroy(engine);
    ZK_CHECK(kill(holder, SIGKILL) == 0 && waitpid(holder, NULL, 0) == holder);
    unsetenv("CUZK_TEST_DEVICES");
    unsetenv("CUZK_TEST_STREAMS");
}

/* A process that is dead stays, for who has to reap it, as long as another one traces it and does not look: to the
 * engine as one that waits inside the kernel. 0: tracing is not allowed here. */
static pid_t fork_tracer(pid_t worker) {
    int ready[2];
    char good = 0;
    ZK_CHECK(pipe(ready) == 0);
    pid_t tracer = fork();
    if (tracer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        good = ptrace(PTRACE_SEIZE, worker, NULL, NULL) == 0;
        if (write(ready[1], &good, 1) != 1) _exit(1);
        for (;;) pause();
    }
    ZK_CHECK(read(ready[0], &good, 1) == 1);
    close(ready[0]);
    close(ready[1]);
    if (good) return tracer;
    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
    return 0;
}

/* Its partition is proved by the other worker; what it has stays taken, and its lane alone, until it has ended. */
static void test_undead(void) {
    zk_engine_options options = test_options("undead");
    options.n_workers = 2;
    options.worker_fault = "slow@h:1";
    zk_engine *engine = test_engine(&options);
    zk_submitted s;
    zk_result result;
    const zk_request *request = test_request(ZK_KIND_WINDOW, "a", 1);
    test_submit(&s, engine, request);
    unsigned at = 0;
    pid_t worker = 0;
    for (unsigned i = 0; i < 12000 && !worker; i++) {
        zk_engine_status *st = test_status(engine);
        for (unsigned k = 0; k < 2; k++)
            if (strcmp(st->workers[k].stage, "h") == 0) worker = st->workers[at = k].pid;
        zk_engine_status_destroy(st);
        usleep(5000);
    }
    ZK_CHECK(worker > 0);
    pid_t tracer = fork_tracer(worker);
    if (!tracer) {
        fprintf(stderr, "tracing is not allowed here: not tested\n");
        zk_engine_destroy(engine);
        return;
    }
    ZK_CHECK(kill(worker, SIGKILL) == 0);
    test_await(&result, engine, s.job_id);
    test_verify(request, &result);
    zk_result_clear(&result);
    zk_engine_status *st = test_status(engine);
    ZK_CHECK(st->n_worker_crashes == 1 && st->n_worker_stalls == 0);
    ZK_CHECKF(st->workers[at].state == ZK_WORKER_OFF && st->workers[at].pid == 0 && st->workers[at].n_starts == 1 &&
                  st->workers[at].reserved_bytes > 0,
              "state %d, pid %d, %llu starts", (int)st->workers[at].state, st->workers[at].pid,
              (unsigned long long)st->workers[at].n_starts);
    zk_engine_status_destroy(st);
    ZK_CHECK(kill(worker, 0) == 0);                                    /* still there */
    test_prove_request(engine, test_request(ZK_KIND_WINNING, "a", 1)); /* the engine opens its key, and keeps it */
    size_t n_files = test_count_files(OPEN_FILES);
    test_prove_request(engine, test_request(ZK_KIND_WINNING, "b", 1));
    await_open_files(n_files); /* nothing is started in its place, again and again */
    ZK_CHECK(kill(tracer, SIGKILL) == 0 && waitpid(tracer, NULL, 0) == tracer);
    for (unsigned i = 0;; i++) { /* and now there is another process */
        st = test_status(engine);
        bool back = st->workers[at].state == ZK_WORKER_IDLE && st->workers[at].n_starts == 2;
        ZK_CHECK(i < 12000);
        if (back) ZK_CHECK(st->workers[at].reserved_bytes == 0);
        zk_engine_status_destroy(st);
        if (back) break;
        usleep(5000);
    }
    zk_engine_destroy(engine);
}

/* An engine that ends does not wait for it, either. */
static void test_undead_at_the_end(void) {
    zk_engine_options options = test_options("undead-end");
    options.worker_fault = "hang@h:1";
    zk_engine *engine = test_engine(&options);
    zk_submitted s;
    test_submit(&s, engine, test_request(ZK_KIND_WINDOW, "a", 1));
    pid_t worker = await_stage(engine, "h"), tracer = fork_tracer(worker);
    zk_engine_destroy(engine);
    if (!tracer) return;
    ZK_CHECK(kill(worker, 0) == 0 && waitpid(worker, NULL, WNOHANG) == 0); /* it was not waited for */
    ZK_CHECK(kill(tracer, SIGKILL) == 0 && waitpid(tracer, NULL, 0) == tracer);
    ZK_CHECK(waitpid(worker, NULL, 0) == worker);
}

static const zk_test_case cases[] = {
    ZK_CASE(test_signs),
    ZK_CASE(test_time),
    ZK_CASE(test_replaced),
    ZK_CASE(test_limit_later),
    ZK_CASE(test_given_up),
    ZK_CASE(test_key_load),
    ZK_CASE(test_slow),
    ZK_CASE(test_paused),
    ZK_CASE(test_held),
    ZK_CASE(test_undead),
    ZK_CASE(test_undead_at_the_end),
    ZK_CASE(test_two_lanes),
};

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0) return test_worker_main(argc, argv);
    return test_engine_main(cases, sizeof cases / sizeof *cases, argc, argv);
}
