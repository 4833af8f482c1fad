#include "engine/ipc.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/clock.h"

cuzk_status zk_ipc_send(int fd, zk_ipc_message *message, const char *text, size_t n_text, cuzk_err *err) {
    if (n_text > ZK_IPC_MAX_TEXT) n_text = 0; /* texts are reports: one that is too long is lost, not cut */
    message->n_text = (uint32_t)n_text;
    struct iovec parts[2] = {{message, sizeof *message}, {(void *)(uintptr_t)text, n_text}};
    struct msghdr header = {.msg_iov = parts, .msg_iovlen = n_text ? 2 : 1};
    for (;;) {
        if (sendmsg(fd, &header, MSG_NOSIGNAL) >= 0) return CUZK_OK;
        if (errno == EINTR) continue;
        return ZK_FAIL(err, CUZK_IO, "worker: sending: %s", strerror(errno));
    }
}

/* poll(2) that a signal does not shorten: the one that asks a daemon to end or to reload may come while it starts. */
static int wait_readable(int fd, uint64_t timeout_ms) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    const uint64_t until_ns = zk_now_ns() + timeout_ms * ZK_MS_NS;
    int n;
    do {
        const uint64_t now_ns = zk_now_ns();
        n = poll(&p, 1, now_ns < until_ns ? (int)((until_ns - now_ns + ZK_MS_NS - 1) / ZK_MS_NS) : 0);
    } while (n < 0 && errno == EINTR);
    return n;
}

cuzk_status zk_ipc_receive(zk_ipc_message *message, char *text, int fd, int timeout_ms, cuzk_err *err) {
    char drop[1];
    if (timeout_ms >= 0) {
        int n = wait_readable(fd, (uint64_t)timeout_ms);
        if (n == 0) return CUZK_EXHAUSTED; /* an ordinary event: no message */
        if (n < 0) return ZK_FAIL(err, CUZK_IO, "worker: poll: %s", strerror(errno));
    }
    struct iovec parts[2] = {{message, sizeof *message}, {text ? text : drop, text ? ZK_IPC_MAX_TEXT : sizeof drop}};
    struct msghdr header = {.msg_iov = parts, .msg_iovlen = 2};
    for (;;) {
        ssize_t n = recvmsg(fd, &header, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            return ZK_FAIL(err, CUZK_IO, "worker: the other end is gone%s%s", n ? ": " : "", n ? strerror(errno) : "");
        if ((size_t)n < sizeof *message) return ZK_FAIL(err, CUZK_IO, "worker: a message of %zd bytes", n);
        message->message[sizeof message->message - 1] = 0;
        message->stage[sizeof message->stage - 1] = 0;
        message->job_id[sizeof message->job_id - 1] = 0;
        message->device[sizeof message->device - 1] = 0;
        message->device_kind[sizeof message->device_kind - 1] = 0;
        size_t n_text = (size_t)n - sizeof *message;
        if (text) text[n_text] = 0;
        message->n_text = text ? (uint32_t)n_text : 0;
        return CUZK_OK;
    }
}
