/* The daemon's settings as options of the engine. */
#ifndef ZK_CLI_DAEMON_OPTIONS_H
#define ZK_CLI_DAEMON_OPTIONS_H

#include "config/config.h"
#include "engine/engine.h"

#define CLI_DEVICES_BYTES 1024

/* What a setting says is what the engine does: where 0 has a meaning as a setting it is not taken for the engine's 0,
 * which is its default. Texts are borrowed from config and devices. BAD_INPUT: gpus.devices is too long. */
cuzk_status cli_daemon_options(zk_engine_options *options, char devices[CLI_DEVICES_BYTES], const zk_config *config,
                               cuzk_err *err) ZK_MUST_USE;

#endif
