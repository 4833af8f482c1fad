/* Messages between the daemon and its workers: what signals and ends of a process make of a wait. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/ipc.h"
#include "zk_test.h"

static volatile sig_atomic_t n_signals;

static void on_alarm(int number) {
    (void)number;
    n_signals++;
}

/* A signal every 5 ms, in the only thread that does not block it. */
static void alarms(bool on) {
    const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, 5000}, {0, 5000}}, never = {0};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, on ? &often : &never, NULL);
}

static void *send_later(void *ctx) {
    const int *fd = ctx;
    zk_ipc_message m = {.type = ZK_IPC_HELLO, .version = ZK_IPC_VERSION};
    usleep(100000);
    return zk_ipc_send(*fd, &m, NULL, 0, NULL) == CUZK_OK ? NULL : ctx;
}

static void test_signals(void) {
    int pair[2];
    cuzk_err err = {0};
    zk_ipc_message m = {0};
    pthread_t thread;
    void *failed;
    sigset_t alarm_only;
    ZK_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
    ZK_CHECK(pthread_create(&thread, NULL, send_later, &pair[0]) == 0);
    pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
    alarms(true);
    /* what is sent within the time arrives */
    ZK_CHECK_OK(zk_ipc_receive(&m, NULL, pair[1], 60000, &err), err);
    ZK_CHECK(m.type == ZK_IPC_HELLO && n_signals > 0);
    pthread_join(thread, &failed);
    ZK_CHECK(!failed);
    /* nothing: not before the time is over, and not for ever */
    uint64_t start = zk_now_ns();
    n_signals = 0;
    ZK_CHECK(zk_ipc_receive(&m, NULL, pair[1], 60, &err) == CUZK_EXHAUSTED);
    ZK_CHECK(zk_now_ns() - start >= 60 * ZK_MS_NS && n_signals > 0);
    ZK_CHECK(zk_ipc_receive(&m, NULL, pair[1], 0, &err) == CUZK_EXHAUSTED);
    close(pair[0]);
    ZK_CHECK(zk_ipc_receive(&m, NULL, pair[1], 60000, &err) == CUZK_IO);
    alarms(false);
    close(pair[1]);
}

ZK_TEST_MAIN(ZK_CASE(test_signals))
