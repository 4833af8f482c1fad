#include "cli/reach.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char nobody[] =
    "no daemon serves there: start one (cuzk daemon), or name its address with --connect or CUZK_CONNECT";

/* What gRPC or the system say of a connection that was not made -> what it means. The first that fits counts. */
static const struct {
    const char *text;
    enum { ANY, TLS } with;
    const char *advice;
} causes[] = {
    {"No such file", ANY, nobody},
    {"Connection refused", ANY, nobody},
    {"Permission denied", ANY, "only the socket's owner and group may use it (usermod -aG, or daemon.socket_mode)"},
    {"DNS resolution failed", ANY, "no such host"},
    {"wrong version number", TLS, "what serves there speaks no TLS: leave out --tls-ca"},
    {"certificate verify failed", TLS, "its certificate is not signed by one of --tls-ca"},
    {"is not in peer certificate", TLS, "its certificate is for another name: give that with --tls-name"},
    {"http1.x server", ANY, "what serves there speaks HTTP, not gRPC: give daemon.listen, not daemon.status_listen"},
    {"Failed parsing HTTP/2", ANY, "what serves there speaks something else than gRPC"},
    {"empty address list", TLS, "the files of --tls-ca, --tls-cert and --tls-key do not fit together"},
};
/* Connected, and closed by the other side: it says so in several ways. */
static const char *const closed[] = {"Socket closed", "Connection reset", "Broken pipe"};

static const char *cause_of(const cli_reach *r) {
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++) {
        bool fits = causes[i].with == ANY || r->tls;
        if (fits && strstr(r->message, causes[i].text)) return causes[i].advice;
    }
    for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++) {
        if (!strstr(r->message, closed[i])) continue;
        return !r->tls          ? "it ends the connection: TLS is spoken there, perhaps (--tls-ca)"
               : r->certificate ? "it ends the connection: the certificate of --tls-cert is not accepted"
                                : "it ends the connection: a client certificate is demanded (--tls-cert, --tls-key)";
    }
    return "no connection to a daemon (--connect and CUZK_CONNECT name its address)";
}

void cli_reach_advice(char advice[CLI_ADVICE_BYTES], const cli_reach *r) {
    advice[0] = 0;
    if (r->reach == ZK_CLIENT_LOST)
        snprintf(advice, CLI_ADVICE_BYTES,
                 "the daemon ended or died; jobs that it accepted go on when it is started again");
    else if (r->reach == ZK_CLIENT_UNREACHED && r->status == CUZK_IO)
        snprintf(advice, CLI_ADVICE_BYTES, "%s (address by %s)", cause_of(r), r->origin);
    else if (r->reach == ZK_CLIENT_UNREACHED && r->timeout_s && strstr(r->message, "DEADLINE_EXCEEDED"))
        snprintf(advice, CLI_ADVICE_BYTES, "no connection within %" PRIu64 " s (address by %s)", r->timeout_s,
                 r->origin);
    else if (r->timeout_s && strstr(r->message, "DEADLINE_EXCEEDED"))
        snprintf(advice, CLI_ADVICE_BYTES, "no answer within the %" PRIu64 " s of --timeout", r->timeout_s);
    else if (r->status == CUZK_UNSUPPORTED)
        snprintf(advice, CLI_ADVICE_BYTES,
                 "what serves there is no cuzk daemon, or one without this call (address by %s)", r->origin);
}
