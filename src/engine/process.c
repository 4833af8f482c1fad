/* The process of a worker, as the daemon sees it: started, greeted, ended. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/span.h"
#include "engine/engine_impl.h"
#include "engine/memory.h"

enum { START_TIMEOUT_MS = 30000, WORKER_FD = 3, MAX_LANES = 2 };

extern char **environ;

/* The ends of a socket: ours, and that of the process, which is above all numbers that it will have there. */
static cuzk_status open_pair(int pair[2], cuzk_err *err) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return ZK_FAIL(err, CUZK_EXHAUSTED, "worker: socketpair: %s", strerror(errno));
    int bytes = 4 * ZK_IPC_MAX_TEXT;
    for (int i = 0; i < 2; i++) setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    int above = fcntl(pair[1], F_DUPFD_CLOEXEC, WORKER_FD + MAX_LANES);
    int code = errno;
    close(pair[1]);
    pair[1] = above;
    if (above >= 0) return CUZK_OK;
    close(pair[0]);
    return ZK_FAIL(err, CUZK_EXHAUSTED, "worker: socket: %s", strerror(code));
}

/* Those that a terminal or a service manager sends to all do not reach a worker that has not yet learnt to ignore them.
 */
static sigset_t held_signals(void) {
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    return held;
}

/* The program with pairs[i][1] at WORKER_FD + i and nothing above. Returns an errno. */
static int spawn(pid_t *pid, const char *const *argv, int pairs[][2], unsigned n_lanes) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    const sigset_t held = held_signals();
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    for (unsigned i = 0; i < n_lanes; i++) posix_spawn_file_actions_adddup2(&actions, pairs[i][1], WORKER_FD + (int)i);
    posix_spawn_file_actions_addclosefrom_np(&actions, WORKER_FD + (int)n_lanes);
    posix_spawnattr_setsigmask(&attr, &held);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    int code = posix_spawn(pid, argv[0], &actions, &attr, (char *const *)(uintptr_t)argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

cuzk_status engine_spawn(pid_t *pid, int *fds, unsigned n_lanes, const zk_engine_options *o, const char *device,
                         unsigned lookahead, cuzk_err *err) {
    int pairs[MAX_LANES][2];
    for (unsigned i = 0; i < n_lanes; i++) {
        cuzk_status status = open_pair(pairs[i], err);
        if (status == CUZK_OK) continue;
        for (unsigned k = 0; k < 2 * i; k++) close(pairs[k / 2][k % 2]);
        return status;
    }
    char threads[16], number[16], ahead[16], lanes[16], memory[24];
    snprintf(threads, sizeof threads, "%u", o->worker_threads);
    snprintf(number, sizeof number, "%d", WORKER_FD);
    snprintf(ahead, sizeof ahead, "%u", lookahead);
    snprintf(lanes, sizeof lanes, "%u", n_lanes);
    snprintf(memory, sizeof memory, "%" PRIu64, o->device_memory_bytes);
    /* clang-format off: a line an option */
    const char *const argv[] = {o->worker_program,
                                "worker",
                                "--fd",
                                number,
                                "--threads",
                                threads,
                                "--device",
                                device,
                                "--device-memory",
                                memory,
                                "--lookahead",
                                ahead,
                                "--lanes",
                                lanes,
                                "--params",
                                o->param_cache,
                                "--prepared",
                                o->no_prepared ? "off" : "auto",
                                "--spool",
                                o->spool_dir,
                                o->worker_fault ? "--fault" : NULL,
                                o->worker_fault,
                                NULL};
    /* clang-format on */
    int code = spawn(pid, argv, pairs, n_lanes);
    for (unsigned i = 0; i < n_lanes; i++) {
        close(pairs[i][1]);
        fds[i] = pairs[i][0];
        if (code != 0) close(pairs[i][0]);
    }
    if (code != 0) return ZK_FAIL(err, CUZK_IO, "worker: cannot start %s: %s", o->worker_program, strerror(code));
    return CUZK_OK;
}

/* How a process ended, for messages. */
static void describe_exit(char *text, size_t n, int status) {
    if (WIFSIGNALED(status))
        snprintf(text, n, "killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(text, n, "exit code %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

/* Nothing that the process knew is known to the lane's next one. Needs the lock. */
static void forget(engine_lane *lane) {
    lane->state = lane->state == ZK_WORKER_RETIRED ? ZK_WORKER_RETIRED : ZK_WORKER_OFF;
    lane->job_at_hand[0] = 0;
    lane->looked_ahead = false;
    engine_promises_drop(lane);
}

/* The lane beside was first to see it. Needs the lock, which is given up meanwhile. */
static void await_end(engine_lane *lane, char *how, size_t n_how) {
    while (lane->first->ending) pthread_cond_wait(&lane->engine->work, &lane->engine->lock);
    if (how) snprintf(how, n_how, "%s", lane->first->how);
    if (lane->fd >= 0) close(lane->fd);
    lane->fd = -1;
    forget(lane);
}

bool engine_lane_end(engine_lane *lane, bool force, char *how, size_t n_how) {
    zk_engine *engine = lane->engine;
    engine_lane *first = lane->first, *other = engine_lane_other(lane);
    pid_t pid = first->pid;
    int status = 0;
    char text[sizeof first->how];
    if (!pid) {
        await_end(lane, how, n_how);
        return false;
    }
    bool stopped = first->stopped;
    first->pid = 0; /* nobody sends it signals from now on: it is reaped here */
    first->stopped = false;
    first->ending = true;
    if (engine_lane_is_busy(other) && other->loss == LOSS_NONE) other->loss = LOSS_COUNTS;
    engine_unlock(lane->engine);
    if (force) kill(pid, SIGKILL);
    if (stopped)
        kill(pid, SIGCONT); /* only then: to go on disturbs one that is about to end and is looked at (leaks) */
    close(lane->fd);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    describe_exit(text, sizeof text, status);
    if (how) snprintf(how, n_how, "%s", text);
    engine_lock(lane->engine);
    memcpy(first->how, text, sizeof text);
    first->ending = false;
    lane->fd = -1;
    forget(lane);
    if (other && !engine_lane_is_busy(other)) { /* else its thread listens there */
        if (other->fd >= 0) close(other->fd);
        other->fd = -1;
        forget(other);
    }
    while (first->n_circuits) engine_lane_forget_circuit(first, &first->circuits[0]);
    engine_release(first, first->device_bytes, first->host_bytes);
    engine_lane_measure(first, 0);
    free(first->memory_text);
    first->memory_text = NULL;
    first->retire_pending_bytes = first->retire_pending_items = 0;
    engine_balance(engine);
    pthread_cond_broadcast(&engine->work);
    return true;
}

/* What a device of its own may hold: what is free, and what other workers have of it. */
static void set_device_budget(engine_lane *lane, uint64_t bytes) {
    engine_device *on = lane->on;
    if (on->pool != &on->own) return;
    on->own.budget_bytes = bytes ? bytes + on->own.reserved_bytes : UINT64_MAX / 2;
    on->n_unfit = 0;
}

/* What the process says first, and whether it can work. Without the lock. */
static cuzk_status greet(zk_ipc_message *hello, const engine_lane *lane, int fd, pid_t pid, const char *device,
                         cuzk_err *err) {
    uint64_t until = zk_now_ns() + START_TIMEOUT_MS * ZK_MS_NS;
    cuzk_status status;
    do {
        status = zk_ipc_receive(hello, NULL, fd, 100, err);
    } while (status == CUZK_EXHAUSTED && zk_now_ns() < until && !lane->engine->stopping);
    if (status == CUZK_EXHAUSTED) return ZK_FAIL(err, status, "worker: no word from process %d", (int)pid);
    ZK_TRY(status);
    if (hello->type != ZK_IPC_HELLO || hello->version != ZK_IPC_VERSION)
        return ZK_FAIL(err, CUZK_INTERNAL, "worker: %s is of another version", lane->engine->options.worker_program);
    return hello->status == CUZK_OK ? CUZK_OK
                                    : ZK_FAIL(err, (cuzk_status)hello->status, "%s: %s", device, hello->message);
}

/* Needs the lock. */
static void take_hello(engine_lane *lane, const zk_ipc_message *hello) {
    engine_lane *const lanes[] = {lane, lane->beside};
    for (unsigned i = 0; i < 2 && lanes[i]; i++) {
        memcpy(lanes[i]->device_kind, hello->device_kind, sizeof lane->device_kind);
        memcpy(lanes[i]->device, hello->device, sizeof lane->device);
    }
    if (lane->beside) lane->beside->state = ZK_WORKER_IDLE;
    lane->device_total_bytes = hello->device_total_bytes ? hello->device_total_bytes : hello->bytes;
    lane->device_free_bytes = hello->device_free_bytes;
    set_device_budget(lane, hello->bytes);
    engine_lane_measure(lane, zk_memory_own_of(lane->pid));
    lane->n_starts++;
    lane->start_failures = 0;
}

cuzk_status engine_lane_start(engine_lane *lane, cuzk_err *err) {
    pid_t pid = 0;
    int fds[MAX_LANES] = {-1, -1};
    unsigned n_lanes = lane->beside ? 2 : 1;
    lane->state = ZK_WORKER_STARTING;
    engine_unlock(lane->engine);
    zk_ipc_message hello = {0};
    char device[24];
    bool cpu = engine_device_is_cpu(lane->on);
    if (cpu)
        snprintf(device, sizeof device, "cpu");
    else
        snprintf(device, sizeof device, "cuda:%u", lane->on->ordinal);
    const zk_engine_options *o = &lane->engine->options;
    cuzk_status status = engine_spawn(&pid, fds, n_lanes, o, device, cpu || o->no_lookahead ? 0 : o->lookahead, err);
    if (status == CUZK_OK) status = greet(&hello, lane, fds[0], pid, device, err);
    engine_lock(lane->engine);
    if (pid) {
        lane->pid = pid;
        lane->fd = fds[0];
        if (lane->beside) lane->beside->fd = fds[1];
    }
    if (status != CUZK_OK) {
        engine_lane_end(lane, true, NULL, 0);
        lane->state = ZK_WORKER_OFF;
        return status;
    }
    take_hello(lane, &hello);
    return CUZK_OK;
}

void engine_lane_retire(engine_lane *lane, const char *why) {
    lane = lane->first;
    ZK_LOG_ERROR("worker retired", zk_kv_u64("worker", lane->id), zk_kv_str("device", lane->device),
                 zk_kv_str("why", why));
    lane->state = ZK_WORKER_RETIRED;
    lane->retire = false;
}

void engine_device_retire(engine_lane *lane, const char *why) {
    zk_engine *engine = lane->engine;
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        engine_lane *other = &engine->lanes[i];
        if (other->on != lane->on || engine_lane_is_second(other)) continue;
        if (other->state == ZK_WORKER_RETIRED && !other->broken) continue;
        other->broken = false; /* for good */
        if (other == lane->first || other->task.type == TASK_NONE)
            engine_lane_retire(other, why);
        else
            other->retire = true;
    }
}
