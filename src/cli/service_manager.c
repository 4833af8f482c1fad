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

enum { MAX_STATUS = 512 };

static struct {
    struct sockaddr_un to;
    socklen_t n_to; /* 0: nobody is to be told */
    uint64_t watchdog_ms;
    bool lost;
    char status[MAX_STATUS]; /* told last */
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

void cli_manager_tell(const char *lines) {
    if (!manager.n_to) return;
    int code = send_lines(lines);
    if (code && !manager.lost)
        ZK_LOG_WARN("the service manager cannot be told", zk_kv_str("text", lines), zk_kv_str("error", strerror(code)));
    manager.lost = code != 0;
}

void cli_manager_tell_status(const char *lines, const char *text) {
    char all[MAX_STATUS + 256];
    if (!manager.n_to || (!lines && strncmp(text, manager.status, MAX_STATUS - 1) == 0)) return;
    snprintf(manager.status, sizeof manager.status, "%s", text);
    for (char *c = manager.status; *c; c++)
        if (*c == '\n') *c = ' '; /* which would be a line of its own */
    snprintf(all, sizeof all, "%s%sSTATUS=%s", lines ? lines : "", lines ? "\n" : "", manager.status);
    cli_manager_tell(all);
}
