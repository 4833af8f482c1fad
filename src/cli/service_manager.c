#include "cli/service_manager.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

enum { MAX_STATUS = 512, MAX_DATAGRAM = MAX_STATUS + 256, MAX_OWED = 2 };

static struct {
    struct sockaddr_un to;
    socklen_t n_to; /* 0: nobody is to be told */
    uint64_t watchdog_ms;
    bool lost;
    char status[MAX_STATUS]; /* told last */
    char owed[MAX_OWED][MAX_DATAGRAM];
    unsigned n_owed; /* at most RELOADING and the READY after it */
} manager;

static void take_socket(const char *path) {
    size_t n = path ? strlen(path) : 0;
    if (n == 0) return;
    if ((path[0] != '/' && path[0] != '@') || n < 2 || n >= sizeof manager.to.sun_path) {
        ZK_LOG_WARN("NOTIFY_SOCKET is no address of a socket", zk_kv_str("found", path));
        return;
    }
    manager.to.sun_family = AF_UNIX;
    memcpy(manager.to.sun_path, path, n);
    if (path[0] == '@') manager.to.sun_path[0] = 0; /* the abstract name space: all bytes count, no zero at the end */
    manager.n_to = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
}

static void take_watchdog(const char *usec, const char *pid) {
    if (!usec || (pid && strtol(pid, NULL, 10) != getpid())) return;
    long long us = strtoll(usec, NULL, 10);
    if (us >= 2000) manager.watchdog_ms = (uint64_t)us / 2000;
}

void cli_manager_open(void) {
    memset(&manager, 0, sizeof manager);
    take_socket(getenv("NOTIFY_SOCKET"));
    if (manager.n_to) take_watchdog(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

bool cli_manager_is_there(void) { return manager.n_to > 0; }

uint64_t cli_manager_watchdog_ms(void) { return manager.watchdog_ms; }

static int send_lines(const char *lines) {
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return errno;
    const struct timeval second = {.tv_sec = 1};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
    ssize_t n = sendto(fd, lines, strlen(lines), MSG_NOSIGNAL | (manager.lost ? MSG_DONTWAIT : 0),
                       (const struct sockaddr *)&manager.to, manager.n_to);
    int code = n < 0 ? errno : 0;
    close(fd);
    return code;
}

bool cli_manager_tell(const char *lines) {
    if (!manager.n_to) return true;
    int code = send_lines(lines);
    if (code && !manager.lost)
        ZK_LOG_WARN("the service manager cannot be told", zk_kv_str("text", lines), zk_kv_str("error", strerror(code)));
    manager.lost = code != 0;
    return code == 0;
}

bool cli_manager_tell_owed(void) {
    while (manager.n_owed) {
        if (!cli_manager_tell(manager.owed[0])) return false;
        manager.n_owed--;
        memmove(manager.owed[0], manager.owed[1], (MAX_OWED - 1) * sizeof manager.owed[0]);
    }
    return true;
}

/* A reload or an end makes what was owed before it worthless; of the READY after a reload the last counts. */
static void owe(const char *datagram) {
    bool ready = strncmp(datagram, "READY=1", 7) == 0;
    if (!ready)
        manager.n_owed = 0;
    else if (manager.n_owed && strncmp(manager.owed[manager.n_owed - 1], "READY=1", 7) == 0)
        manager.n_owed--;
    if (manager.n_owed < MAX_OWED) snprintf(manager.owed[manager.n_owed++], MAX_DATAGRAM, "%s", datagram);
}

void cli_manager_tell_status(const char *state, const char *text) {
    char all[MAX_DATAGRAM], status[MAX_STATUS];
    if (!manager.n_to) return;
    snprintf(status, sizeof status, "%s", text);
    for (char *c = status; *c; c++)
        if (*c == '\n') *c = ' '; /* which would be a line of its own */
    if (!state && strcmp(status, manager.status) == 0) return;
    snprintf(all, sizeof all, "%s%sSTATUS=%s", state ? state : "", state ? "\n" : "", status);
    if (state) owe(all);
    if (!cli_manager_tell_owed() || (!state && !cli_manager_tell(all)))
        manager.status[0] = 0; /* so that the next is sent, even if it is the same */
    else
        memcpy(manager.status, status, sizeof status);
}
