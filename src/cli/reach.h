/* What somebody whose call ended without a daemon's answer is told to do. */
#ifndef ZK_CLI_REACH_H
#define ZK_CLI_REACH_H

#include <stdint.h>

#include "rpc/client.h"

typedef struct cli_reach {
    zk_client_reach reach;
    cuzk_status status;
    const char *message; /* of the failed call: "ADDRESS: CODE: text" */
    const char *origin;  /* where the address is from: "--connect", "CUZK_CONNECT", "default" */
    bool tls;            /* by --tls-ca */
    bool certificate;    /* --tls-cert was given */
    uint64_t timeout_s;  /* 0: none */
} cli_reach;

enum { CLI_ADVICE_BYTES = 256 };
/* What is wrong and what to do, to stand behind the message; "" if the message says it all. */
void cli_reach_advice(char advice[CLI_ADVICE_BYTES], const cli_reach *reach);

#endif
