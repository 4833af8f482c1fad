/* The machines of a daemon's fleet. GetStatus has no place for them; its metrics do. */
#ifndef ZK_CLI_MACHINES_H
#define ZK_CLI_MACHINES_H

#include "base/json_writer.h"

typedef struct cli_machine {
    char name[72], id[48];
    double seen_s;
    uint64_t n_partitions, n_proved;
} cli_machine;

typedef struct cli_machines {
    bool fleet, reachable;
    cli_machine list[64]; /* more are left out */
    size_t n;
} cli_machines;

/* From the daemon's Prometheus text. */
void cli_machines_parse(cli_machines *machines, const char *metrics);
/* Nothing for a daemon that is in no fleet. */
void cli_machines_print(const cli_machines *machines);
void cli_machines_put(zk_json_writer *json, const cli_machines *machines); /* the member "fleet" */

#endif
