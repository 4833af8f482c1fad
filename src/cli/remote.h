/* What all commands that talk to a daemon share. */
#ifndef ZK_CLI_REMOTE_H
#define ZK_CLI_REMOTE_H

#include <cuzk.pb-c.h>

#include "cli/args.h"
#include "rpc/client.h"

typedef struct cli_remote {
    const char *address, *ca, *certificate, *key, *name;
    const char *origin; /* of the address in use */
    uint64_t timeout_s; /* 0: none */
    zk_client *client;
} cli_remote;

#define CLI_REMOTE_OPTIONS(remote)                                                                                     \
    {"connect", "ADDR", CLI_STRING, &(remote).address,                                                                 \
     "the daemon: unix:///path or host:port (default: $CUZK_CONNECT, else unix:///run/curio/cuzk.sock)"},              \
        {"timeout", "SECONDS", CLI_U64, &(remote).timeout_s, "give up after this time (default: none)"},               \
        {"tls-ca", "FILE", CLI_STRING, &(remote).ca, "speak TLS and check the daemon's certificate against this"},     \
        {"tls-cert", "FILE", CLI_STRING, &(remote).certificate, "certificate to show to the daemon"},                  \
        {"tls-key", "FILE", CLI_STRING, &(remote).key, "its private key"}, {                                           \
        "tls-name", "NAME", CLI_STRING, &(remote).name, "name in the daemon's certificate, if not the host's"          \
    }

cuzk_status cli_remote_open(cli_remote *remote, cuzk_err *err) ZK_MUST_USE;
void cli_remote_close(cli_remote *remote);
uint64_t cli_remote_timeout_ms(const cli_remote *remote);
/* Packs, calls, unpacks. The answer is freed with protobuf_c_message_free_unpacked. Ends with CANCELLED when the user
 * asks to stop. */
cuzk_status cli_remote_call(void **answer, cli_remote *remote, const char *method, const ProtobufCMessage *request,
                            const ProtobufCMessageDescriptor *answer_type, cuzk_err *err) ZK_MUST_USE;
/* The same for an encoded request. */
cuzk_status cli_remote_call_raw(void **answer, cli_remote *remote, const char *method, const void *request, size_t n,
                                const ProtobufCMessageDescriptor *answer_type, cuzk_err *err) ZK_MUST_USE;

/* Says behind the message of a call that failed what is to be done about it. */
void cli_remote_advise(const cli_remote *remote, cuzk_status status, cuzk_err *err);

/* The request of --request FILE, or the one around --c1 FILE: that needs both numbers (NULL: not given), as far as the
 * file has them not, and is refused if they are others than the file's. */
cuzk_status cli_remote_read_request(zk_request **request, const char *request_path, const char *c1_path,
                                    const uint64_t *miner, const uint64_t *sector, cuzk_err *err) ZK_MUST_USE;
/* BAD_INPUT, CHECK_FAILED ... for an answer that is not COMPLETED. */
cuzk_status cli_remote_outcome(const Cuzk__V1__AwaitProofResponse *answer, cuzk_err *err) ZK_MUST_USE;

#endif
