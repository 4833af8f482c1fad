/* What a client without an answer is told, by what gRPC and the system said (messages of gRPC 1.51). */
#include "cli/reach.h"
#include "zk_test.h"

static const char nobody[] = "no daemon serves there: start one (cuzk daemon), or name its address with --connect";

static void expect(const cli_reach *r, const char *want) {
    char advice[CLI_ADVICE_BYTES];
    memset(advice, 'x', sizeof advice);
    cli_reach_advice(advice, r);
    ZK_CHECKF(want ? strstr(advice, want) != NULL : !advice[0], "%s: %s", r->message, advice);
    ZK_CHECKF(!strstr(r->message, "UNAVAILABLE") || r->reach != ZK_CLIENT_UNREACHED ||
                  strstr(advice, "(address by CUZK_CONNECT)"),
              "%s: %s", r->message, advice);
}

static void test_connections(void) {
    static const struct {
        const char *text;
        bool tls, certificate;
        const char *advice;
    } cases[] = {
        {"No such file or directory", false, false, nobody},
        {"Failed to connect to remote host: Connection refused", false, false, nobody},
        {"Failed to connect to remote host: Connection refused", true, true, nobody},
        {"Permission denied", false, false, "socket's owner and group"},
        {"DNS resolution failed for nowhere.invalid:9: C-ares status is not ARES_SUCCESS", false, false,
         "no such host"},
        {"Ssl handshake failed: SSL_ERROR_SSL: error:0A00010B:SSL routines::wrong version number", true, false,
         "leave out --tls-ca"},
        {"Ssl handshake failed: SSL_ERROR_SSL: error:0A000086:SSL routines::certificate verify failed", true, false,
         "not signed by one of --tls-ca"},
        {"Peer name elsewhere is not in peer certificate", true, false, "--tls-name"},
        {"Trying to connect an http1.x server", false, false, "daemon.listen, not daemon.status_listen"},
        {"Failed parsing HTTP/2", false, false, "something else than gRPC"},
        {"empty address list: ", true, true, "do not fit together"},
        {"Socket closed", false, false, "TLS is spoken there"},
        {"Socket closed", true, false, "a client certificate is demanded"},
        {"recvmsg:Connection reset by peer", true, false, "a client certificate is demanded"},
        {"Broken pipe", true, true, "the certificate of --tls-cert is not accepted"},
        {"something that is new", true, true, "no connection to a daemon"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char message[300];
        snprintf(message, sizeof message, "127.0.0.1:9820: UNAVAILABLE: %s", cases[i].text);
        expect(&(cli_reach){.reach = ZK_CLIENT_UNREACHED,
                            .status = CUZK_IO,
                            .message = message,
                            .origin = "CUZK_CONNECT",
                            .tls = cases[i].tls,
                            .certificate = cases[i].certificate},
               cases[i].advice);
    }
}

static void test_others(void) {
    static const char late[] = "a:1: DEADLINE_EXCEEDED: Deadline Exceeded";
    expect(&(cli_reach){ZK_CLIENT_LOST, CUZK_IO, "a:1: UNAVAILABLE: Socket closed", "default", false, false, 0},
           "go on when it is started again");
    expect(&(cli_reach){ZK_CLIENT_UNREACHED, CUZK_EXHAUSTED, late, "default", false, false, 7},
           "no connection within 7 s (address by default)");
    expect(&(cli_reach){ZK_CLIENT_ANSWERED, CUZK_EXHAUSTED, late, "default", false, false, 7},
           "no answer within the 7 s of --timeout");
    expect(&(cli_reach){ZK_CLIENT_ANSWERED, CUZK_UNSUPPORTED, "a:1: UNIMPLEMENTED: unknown service", "--connect", false,
                        false, 0},
           "no cuzk daemon, or one without this call (address by --connect)");
    /* what the daemon itself says needs no more */
    expect(&(cli_reach){ZK_CLIENT_ANSWERED, CUZK_IO, "a:1: UNAVAILABLE: No such file", "default", false, false, 9},
           NULL);
    expect(
        &(cli_reach){ZK_CLIENT_ANSWERED, CUZK_EXHAUSTED, "a:1: RESOURCE_EXHAUSTED: full", "default", false, false, 9},
        NULL);
    expect(&(cli_reach){ZK_CLIENT_ANSWERED, CUZK_NOT_FOUND, "a:1: NOT_FOUND: x", "default", false, false, 0}, NULL);
    expect(&(cli_reach){ZK_CLIENT_ANSWERED, CUZK_CANCELLED, "a:1: CANCELLED: x", "default", false, false, 0}, NULL);
}

ZK_TEST_MAIN(ZK_CASE(test_connections), ZK_CASE(test_others))
