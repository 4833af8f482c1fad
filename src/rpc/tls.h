/* TLS: gRPC's credentials from PEM files. Keys that were read are wiped. */
#ifndef ZK_RPC_TLS_H
#define ZK_RPC_TLS_H

#include <grpc/grpc_security.h>

#include "rpc/client.h"

/* Of a server; to be released. Without a certificate (NULL or "") *tls is NULL: plain text. With client_ca clients must
 * show a certificate that one of those signed. */
cuzk_status zk_rpc_server_credentials(grpc_server_credentials **tls, const char *certificate_path, const char *key_path,
                                      const char *client_ca_path, cuzk_err *err) ZK_MUST_USE;
/* Of a client; to be released. Without options->tls_ca (options may be NULL): plain text. */
cuzk_status zk_rpc_channel_credentials(grpc_channel_credentials **credentials, const zk_client_options *options,
                                       cuzk_err *err) ZK_MUST_USE;

#endif
