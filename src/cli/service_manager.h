/* What the service manager (systemd) is told over its notification socket, sd_notify(3). */
#ifndef ZK_CLI_SERVICE_MANAGER_H
#define ZK_CLI_SERVICE_MANAGER_H

#include <stdbool.h>
#include <stdint.h>

/* Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment, so that no child speaks for this process.
 * Before there are threads. Without NOTIFY_SOCKET the functions below do nothing. */
void cli_manager_open(void);
bool cli_manager_is_there(void);
/* How often it wants to hear WATCHDOG=1: half of its limit. 0: not at all. */
uint64_t cli_manager_watchdog_ms(void);

/* One datagram of NAME=value lines. A manager that cannot be reached is no failure: it is logged once, and tried again
 * with the next text. One that does not read costs a second, once. */
void cli_manager_tell(const char *lines);
/* The text that `systemctl status` shows; with lines before it ("READY=1"), or NULL. Without them nothing is sent when
 * it is the text that was sent last. */
void cli_manager_tell_status(const char *lines, const char *text);

#endif
