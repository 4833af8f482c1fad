/* Where somebody listens: what daemon.listen and --connect name. */
#ifndef ZK_CONFIG_ADDRESS_H
#define ZK_CONFIG_ADDRESS_H

#include "base/status.h"

typedef struct zk_address {
    bool is_unix, is_loopback; /* a unix socket counts as loopback */
    char host[256];            /* or the socket's path */
    char port[8];
} zk_address;

/* "unix:///path", "unix:path", "host:port", "[::1]:port", "tcp://host:port", "http://host:port". BAD_INPUT
 * "address: found ..., expected ...". */
cuzk_status zk_address_parse(zk_address *address, const char *text, cuzk_err *err) ZK_MUST_USE;

#endif
