#include "rpc/tls.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define MAX_PEM_BYTES ((size_t)1 << 20)

/* The text of the file; of none (NULL) it stays NULL. */
static cuzk_status read_pem(char **text, const char *path, cuzk_err *err) {
    uint8_t *data = NULL;
    size_t n = 0;
    if (!path) return CUZK_OK;
    ZK_TRY(zk_file_read(&data, &n, path, MAX_PEM_BYTES, err));
    *text = (char *)data;
    return CUZK_OK;
}

/* The same, of which `what` is expected. */
static cuzk_status read_pem_of(char **text, const char *path, const char *what, cuzk_err *err) {
    ZK_TRY(read_pem(text, path, err));
    if (!*text || strstr(*text, what)) return CUZK_OK;
    return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found no PEM block of a %s", path, what);
}

static void wipe(char *key) {
    if (key) explicit_bzero(key, strlen(key));
    free(key);
}

cuzk_status zk_rpc_server_credentials(grpc_server_credentials **tls, const char *certificate_path, const char *key_path,
                                      const char *client_ca_path, cuzk_err *err) {
    char *certificate = NULL, *key = NULL, *ca = NULL;
    cuzk_status status = CUZK_OK;
    *tls = NULL;
    if (!certificate_path || !certificate_path[0]) return CUZK_OK;
    ZK_GOTO(read_pem(&certificate, certificate_path, err));
    ZK_GOTO(read_pem(&key, key_path, err));
    if (client_ca_path && client_ca_path[0]) ZK_GOTO(read_pem(&ca, client_ca_path, err));
    grpc_ssl_pem_key_cert_pair pair = {.private_key = key, .cert_chain = certificate};
    *tls = grpc_ssl_server_credentials_create_ex(ca, &pair, 1,
                                                 ca ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                                    : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
                                                 NULL);
    if (!*tls) status = ZK_FAIL(err, CUZK_BAD_INPUT, "TLS: %s and %s cannot be used", certificate_path, key_path);
out:
    free(certificate);
    wipe(key);
    free(ca);
    return status;
}

cuzk_status zk_rpc_channel_credentials(grpc_channel_credentials **out, const zk_client_options *o, cuzk_err *err) {
    char *ca = NULL, *certificate = NULL, *key = NULL;
    cuzk_status status = CUZK_OK;
    *out = NULL;
    if (!o || !o->tls_ca) {
        *out = grpc_insecure_credentials_create();
        return CUZK_OK;
    }
    ZK_GOTO(read_pem_of(&ca, o->tls_ca, "CERTIFICATE", err));
    ZK_GOTO(read_pem_of(&certificate, o->tls_certificate, "CERTIFICATE", err));
    ZK_GOTO(read_pem_of(&key, o->tls_key, "PRIVATE KEY", err));
    grpc_ssl_pem_key_cert_pair pair = {.private_key = key, .cert_chain = certificate};
    *out = grpc_ssl_credentials_create(ca, certificate && key ? &pair : NULL, NULL, NULL);
    if (!*out) status = ZK_FAIL(err, CUZK_BAD_INPUT, "TLS: %s cannot be used", o->tls_ca);
out:
    wipe(key);
    free(ca);
    free(certificate);
    return status;
}
