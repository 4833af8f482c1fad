#include "config/address.h"

#include <stdio.h>
#include <string.h>

#include "config/config_impl.h"

cuzk_status zk_address_parse(zk_address *a, const char *text, cuzk_err *err) {
    *a = (zk_address){0};
    const char *rest = text;
    if (strncmp(text, "unix:", 5) == 0) {
        rest += strncmp(text, "unix://", 7) == 0 ? 7 : 5;
        a->is_unix = a->is_loopback = true;
        if (*rest != '/' || strlen(rest) >= 108)
            return ZK_FAIL(err, CUZK_BAD_INPUT, "address: found \"%.200s\", expected unix:///path of at most 107 bytes",
                           text);
        snprintf(a->host, sizeof a->host, "%s", rest);
        return CUZK_OK;
    }
    static const char *const schemes[] = {"tcp://", "http://", "https://", "dns:///", "ipv4:", "ipv6:"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (strncmp(rest, schemes[i], strlen(schemes[i])) == 0) rest += strlen(schemes[i]);
    const char *colon = strrchr(rest, ':');
    uint64_t port = 0;
    const char *digits = colon ? colon + 1 : "";
    size_t n_host = colon ? (size_t)(colon - rest) : 0;
    bool bracketed = n_host >= 2 && rest[0] == '[' && rest[n_host - 1] == ']';
    bool good = colon && zk_config_parse_digits(&port, &digits) && !*digits && port < 65536 &&
                n_host < sizeof a->host && (bracketed || !memchr(rest, ':', n_host)) && !memchr(rest, '/', n_host);
    if (!good)
        return ZK_FAIL(err, CUZK_BAD_INPUT,
                       "address: found \"%.200s\", expected unix:///path or host:port with a port below 65536", text);
    snprintf(a->host, sizeof a->host, "%.*s", (int)(bracketed ? n_host - 2 : n_host), rest + bracketed);
    if (!a->host[0]) snprintf(a->host, sizeof a->host, "0.0.0.0");
    snprintf(a->port, sizeof a->port, "%u", (unsigned)port);
    a->is_loopback =
        strncmp(a->host, "127.", 4) == 0 || strcmp(a->host, "::1") == 0 || strcmp(a->host, "localhost") == 0;
    return CUZK_OK;
}
