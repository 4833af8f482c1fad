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

/* One datagram of NAME=value lines; false: it could not be sent. A manager that cannot be reached is no failure: it is
 * logged once, and tried again with the next text. One that does not read costs a second, once. */
bool cli_manager_tell(const char *lines);
/* The text that `systemctl status` shows; with a state before it ("READY=1", "RELOADING=1...", "STOPPING=1"), or NULL.
 * Without one nothing is sent when it is the text that was sent last. A state that cannot be sent, as the manager's
 * queue is full, is owed and goes before all later texts: a READY=1 that is lost would leave the unit reloading for
 * ever. */
void cli_manager_tell_status(const char *state, const char *text);
/* Sends what is owed; false: something still is. To be called again and again until then. */
bool cli_manager_tell_owed(void);

#endif
