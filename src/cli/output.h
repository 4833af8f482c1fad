/* `--json`: one object on stdout and nothing else there. */
#ifndef ZK_CLI_OUTPUT_H
#define ZK_CLI_OUTPUT_H

#include "base/json_writer.h"
#include "program/digest.h"

zk_json_writer *cli_json_begin(void); /* on stdout, an object open */
/* Closes the object; a failing stdout is an IO error. */
cuzk_status cli_json_end(zk_json_writer *json, cuzk_err *err) ZK_MUST_USE;

void cli_json_checkpoints(zk_json_writer *json, const char *key, const zk_checkpoints *checkpoints);

#endif
