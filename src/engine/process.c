/* The process of a worker, as the daemon sees it: started, greeted, ended. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/span.h"
#include "engine/engine_impl.h"
#include "engine/memory.h"

enum { START_TIMEOUT_MS = 30000, WORKER_FD = 3, HANDED_OVER = ZK_WORKER_MAX_LANES + 1 };
/* What a process gets to end by itself, and once it was killed: more than that takes one that waits for a driver or a
 * disk, which nothing wakes. Jobs wait this long for it to come back. */
enum { EXIT_GRACE_S = 30, KILL_GRACE_S = 2, LOST_AFTER_S = 60 };

extern char **environ;

/* The descriptor in place of *fd, above all numbers that it will have in the process. Returns an errno. */
static int move_up(int *fd) {
    int above = fcntl(*fd, F_DUPFD_CLOEXEC, WORKER_FD + HANDED_OVER), code = errno;
    close(*fd);
    *fd = above;
    return above < 0 ? code : 0;
}

/* The ends of a socket: ours, and that of the process. */
static cuzk_status open_pair(int pair[2], cuzk_err *err) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return ZK_FAIL(err, CUZK_EXHAUSTED, "worker: socketpair: %s", strerror(errno));
    int bytes = 4 * ZK_IPC_MAX_TEXT;
    for (int i = 0; i < 2; i++) setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    int code = move_up(&pair[1]);
    if (!code) return CUZK_OK;
    close(pair[0]);
    return ZK_FAIL(err, CUZK_EXHAUSTED, "worker: socket: %s", strerror(code));
}

/* Memory for signs of progress, which the process gets by *fd. */
static cuzk_status open_progress(zk_progress **progress, int *fd, cuzk_err *err) {
    const size_t n_bytes = ZK_WORKER_MAX_LANES * sizeof **progress;
    *fd = memfd_create("cuzk progress", MFD_CLOEXEC);
    int code = *fd < 0 ? errno : move_up(fd);
    if (!code && ftruncate(*fd, (off_t)n_bytes) != 0) code = errno;
    void *shared = code ? MAP_FAILED : mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (!code && shared == MAP_FAILED) code = errno;
    if (!code) {
        *progress = shared;
        return CUZK_OK;
    }
    if (*fd >= 0) close(*fd);
    *fd = -1;
    return ZK_FAIL(err, CUZK_EXHAUSTED, "worker: shared memory: %s", strerror(code));
}

void engine_progress_free(zk_progress *progress) {
    if (progress) munmap(progress, ZK_WORKER_MAX_LANES * sizeof *progress);
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

/* The program with handed[i] at WORKER_FD + i and nothing above. Returns an errno. */
static int spawn(pid_t *pid, const char *const *argv, const int *handed, unsigned n) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    const sigset_t held = held_signals();
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    for (unsigned i = 0; i < n; i++) posix_spawn_file_actions_adddup2(&actions, handed[i], WORKER_FD + (int)i);
    posix_spawn_file_actions_addclosefrom_np(&actions, WORKER_FD + (int)n);
    posix_spawnattr_setsigmask(&attr, &held);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    int code = posix_spawn(pid, argv[0], &actions, &attr, (char *const *)(uintptr_t)argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

/* The sockets of the lanes, then the memory: ours in fds, those of the process in handed[n_lanes + 1]. */
static cuzk_status open_all(int *fds, int *handed, zk_progress **progress, unsigned n_lanes, cuzk_err *err) {
    unsigned n = 0;
    cuzk_status status = CUZK_OK;
    *progress = NULL;
    for (; n < n_lanes; n++) {
        int pair[2];
        status = open_pair(pair, err);
        if (status != CUZK_OK) break;
        fds[n] = pair[0];
        handed[n] = pair[1];
    }
    if (status == CUZK_OK) status = open_progress(progress, &handed[n_lanes], err);
    for (unsigned i = 0; i < n && status != CUZK_OK; i++) {
        close(fds[i]);
        close(handed[i]);
    }
    return status;
}

cuzk_status engine_spawn(pid_t *pid, int *fds, zk_progress **progress, unsigned n_lanes, const zk_engine_options *o,
                         const char *device, unsigned lookahead, cuzk_err *err) {
    int handed[HANDED_OVER];
    ZK_TRY(open_all(fds, handed, progress, n_lanes, err));
    char threads[16], number[16], ahead[16], lanes[16], memory[24], signs[16];
    snprintf(threads, sizeof threads, "%u", o->worker_threads);
    snprintf(number, sizeof number, "%d", WORKER_FD);
    snprintf(ahead, sizeof ahead, "%u", lookahead);
    snprintf(lanes, sizeof lanes, "%u", n_lanes);
    snprintf(signs, sizeof signs, "%u", WORKER_FD + n_lanes);
    snprintf(memory, sizeof memory, "%" PRIu64, o->device_memory_bytes);
    /* clang-format off: a line an option */
    const char *const argv[] = {o->worker_program,
                                "worker",
                                "--fd",
                                number,
                                "--progress-fd",
                                signs,
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
    int code = spawn(pid, argv, handed, n_lanes + 1);
    for (unsigned i = 0; i <= n_lanes; i++) close(handed[i]);
    if (code == 0) return CUZK_OK;
    for (unsigned i = 0; i < n_lanes; i++) close(fds[i]);
    engine_progress_free(*progress);
    *progress = NULL;
    return ZK_FAIL(err, CUZK_IO, "worker: cannot start %s: %s", o->worker_program, strerror(code));
}

bool engine_reap(int *status, pid_t pid, uint64_t most_ns) {
    const uint64_t until = zk_now_ns() + most_ns;
    *status = 0;
    for (unsigned us = 200;; us = us < 20000 ? 2 * us : us) {
        pid_t ended = waitpid(pid, status, WNOHANG);
        if (ended > 0 || (ended < 0 && errno != EINTR)) return true;
        if (zk_now_ns() >= until) return false;
        usleep(us);
    }
}

/* How a process ended, for messages. */
static void describe_exit(char *text, size_t n, const engine_lane *lane, bool reaped, int status) {
    if (lane->task.stalled_ns)
        snprintf(text, n, "no progress for %.1f s, killed%s", (double)lane->task.stalled_ns / 1e9,
                 reaped ? "" : ", it has not ended yet");
    else if (!reaped)
        snprintf(text, n, "killed, it has not ended yet");
    else if (WIFSIGNALED(status))
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

/* What the process had is free. Needs the lock. */
static void free_memory(engine_lane *first) {
    engine_release(first, first->device_bytes, first->host_bytes);
    engine_lane_measure(first, 0);
}

/* It was killed and does not end: it waits inside the kernel, for a driver or a disk. What it has stays taken, and the
 * lane stays as it is until it has ended. Needs the lock. */
static void leave_behind(engine_lane *first, pid_t pid) {
    first->unreaped = pid;
    first->unreaped_since_ns = zk_now_ns();
    ZK_LOG_WARN("a worker process was killed and has not ended yet; its device gets no work until it has",
                zk_kv_u64("worker", first->id), zk_kv_u64("pid", (uint64_t)pid), zk_kv_str("device", first->device));
}

void engine_lane_look_for_end(engine_lane *lane) {
    int status;
    if (!lane->unreaped || !engine_reap(&status, lane->unreaped, 0)) return;
    ZK_LOG_INFO("the worker process has ended after all", zk_kv_u64("worker", lane->id),
                zk_kv_u64("pid", (uint64_t)lane->unreaped));
    lane->unreaped = 0;
    free_memory(lane);
    pthread_cond_broadcast(&lane->engine->work);
}

/* Since when a process that does not end has the lane or its GPU; 0: none has. */
static uint64_t held_since(const engine_lane *lane) {
    const zk_engine *engine = lane->engine;
    if (lane->first->unreaped) return lane->first->unreaped_since_ns;
    for (unsigned i = 0; i < engine->n_lanes && !engine_device_is_cpu(lane->on); i++)
        if (engine->lanes[i].on == lane->on && engine->lanes[i].unreaped) return engine->lanes[i].unreaped_since_ns;
    return 0;
}

bool engine_lane_is_held(const engine_lane *lane) { return held_since(lane) != 0; }

bool engine_lane_is_lost(const engine_lane *lane) {
    uint64_t since = held_since(lane);
    return since && zk_now_ns() - since > LOST_AFTER_S * ZK_SECOND_NS;
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
    bool reaped = engine_reap(&status, pid, (force ? KILL_GRACE_S : EXIT_GRACE_S) * ZK_SECOND_NS);
    if (!reaped && !force) {
        kill(pid, SIGKILL);
        reaped = engine_reap(&status, pid, KILL_GRACE_S * ZK_SECOND_NS);
    }
    describe_exit(text, sizeof text, lane, reaped, status);
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
    engine_progress_free(first->progress);
    first->progress = NULL;
    if (reaped)
        free_memory(first);
    else
        leave_behind(first, pid);
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
    int fds[ZK_WORKER_MAX_LANES] = {-1, -1};
    zk_progress *progress = NULL;
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
    cuzk_status status =
        engine_spawn(&pid, fds, &progress, n_lanes, o, device, cpu || o->no_lookahead ? 0 : o->lookahead, err);
    if (status == CUZK_OK) status = greet(&hello, lane, fds[0], pid, device, err);
    engine_lock(lane->engine);
    if (pid) {
        lane->pid = pid;
        lane->fd = fds[0];
        lane->progress = progress;
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
