/* The gRPC server: cuzk.v1.ProvingEngine, health and reflection over an engine. */
#ifndef ZK_RPC_SERVER_H
#define ZK_RPC_SERVER_H

#include <stdio.h>

#include "engine/engine.h"

typedef struct zk_rpc_server zk_rpc_server;

/* Zero members mean the defaults. Strings are borrowed during create. */
typedef struct zk_rpc_options {
    char *const *listen; /* [n_listen] addresses as config/address.h has them; port 0: any free one */
    size_t n_listen;
    uint64_t max_message_bytes;                            /* 256 MiB */
    unsigned socket_mode;                                  /* 0660 */
    const char *tls_certificate, *tls_key, *tls_client_ca; /* PEM files; NULL or "": none */
    unsigned n_threads;                                    /* that serve connections: 2 */
    unsigned max_blocking;                                 /* threads for calls that touch disk or wait for keys: 16 */
} zk_rpc_options;

/* Binds all addresses and serves. BAD_INPUT: an address or PEM file that cannot be used. */
cuzk_status zk_rpc_server_create(zk_rpc_server **server, zk_engine *engine, const zk_rpc_options *options,
                                 cuzk_err *err) ZK_MUST_USE;
/* From now on health says NOT_SERVING and new work is refused with UNAVAILABLE; waiting calls go on. */
void zk_rpc_server_drain(zk_rpc_server *server);
/* No new calls; those that wait end with UNAVAILABLE; returns when no call is left. The engine is not used any more. */
void zk_rpc_server_destroy(zk_rpc_server *server); /* NULL is fine */
/* For a watchdog: how long ago the serving thread that is furthest behind was last ready for an event. Each is ready
 * twice a second when nothing happens; none may block, so one that is silent for seconds hangs. */
uint64_t zk_rpc_server_silent_ms(const zk_rpc_server *server);
/* Of the ith address: the port it is bound to (0 for a unix socket). */
int zk_rpc_server_port(const zk_rpc_server *server, size_t i);

typedef struct zk_rpc_counts {
    uint64_t open_calls, waiting_calls, received_bytes;
} zk_rpc_counts;
void zk_rpc_server_counts(zk_rpc_counts *counts, const zk_rpc_server *server);
/* Prometheus lines about calls by method and code; server NULL: nothing. */
void zk_rpc_server_print_metrics(FILE *out, const zk_rpc_server *server);

#endif
