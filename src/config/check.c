/* What no single key of the settings can tell. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/address.h"
#include "config/config_impl.h"

typedef struct checker {
    const zk_config *config;
    zk_config_warn_fn warn;
    void *ctx;
    zk_config_errors *errors;
} checker;

static const char *source_of(const checker *k, const char *name) { return k->config->sources[zk_config_find(name)]; }

/* Of a failure that the key's value is to blame for: where it was set. */
static cuzk_status of_key(const checker *k, const char *name, cuzk_status status, cuzk_err *err) {
    if (status == CUZK_OK) return CUZK_OK;
    const char *source = source_of(k, name), *line = strrchr(source, ':');
    zk_err_prefix(err, "%s: %s", source, name);
    return zk_config_note(k->errors, line ? (unsigned)strtoul(line + 1, NULL, 10) : 0, status, err);
}

static cuzk_status check_listen(const checker *k, cuzk_err *err) {
    const zk_config_list *listen = &k->config->daemon.listen;
    bool tls = k->config->daemon.tls_certificate[0] != 0, has_tcp = false;
    zk_address a;
    if (listen->n == 0)
        return of_key(k, "daemon.listen", ZK_FAIL(err, CUZK_BAD_INPUT, "found no address, expected at least one"), err);
    for (size_t i = 0; i < listen->n; i++) {
        cuzk_status status = zk_address_parse(&a, listen->items[i], err);
        if (status != CUZK_OK) {
            ZK_TRY(of_key(k, "daemon.listen", status, err));
            continue;
        }
        has_tcp |= !a.is_unix;
        if (!tls && !a.is_loopback)
            zk_config_say(k->warn, k->ctx, "%s: %s is served without TLS to everybody who can reach it",
                          source_of(k, "daemon.listen"), listen->items[i]);
    }
    if (tls && !has_tcp)
        zk_config_say(k->warn, k->ctx, "daemon.tls_certificate has no effect: only unix sockets are served");
    return CUZK_OK;
}

static cuzk_status check_tls(const checker *k, cuzk_err *err) {
    bool certificate = k->config->daemon.tls_certificate[0], key = k->config->daemon.tls_key[0];
    if (certificate != key)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "daemon.tls_certificate and daemon.tls_key: expected both or neither");
    if (k->config->daemon.tls_client_ca[0] && !certificate)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "daemon.tls_client_ca: expected daemon.tls_certificate beside it");
    return CUZK_OK;
}

static cuzk_status check_mode(const char *mode, cuzk_err *err) {
    bool octal = strlen(mode) >= 3 && strlen(mode) <= 4 && !mode[strspn(mode, "01234567")];
    bool lets_in = mode[strspn(mode, "0")] != 0;
    if (octal && lets_in) return CUZK_OK;
    return ZK_FAIL(err, CUZK_BAD_INPUT, "found \"%.20s\", expected octal digits such as 0660 that let somebody in",
                   mode);
}

static bool is_device(const char *text, bool alone) {
    uint64_t ordinal = 0;
    if (strcmp(text, "cpu") == 0 || (strcmp(text, "auto") == 0 && alone)) return true;
    if (strncmp(text, "cuda:", 5) == 0) text += 5;
    return zk_config_parse_digits(&ordinal, &text) && !*text && ordinal <= 1023;
}

static cuzk_status check_devices(const checker *k, cuzk_err *err) {
    const zk_config_list *devices = &k->config->gpus.devices;
    for (size_t i = 0; i < devices->n; i++)
        if (!is_device(devices->items[i], devices->n == 1)) {
            cuzk_status status =
                ZK_FAIL(err, CUZK_BAD_INPUT,
                        "found \"%.40s\", expected ordinals of devices (0, 1 ...), cuda:N, cpu, or auto alone",
                        devices->items[i]);
            ZK_TRY(of_key(k, "gpus.devices", status, err));
        }
    return CUZK_OK;
}

/* Files written for the public engine ask for 2, which there share their keys. */
static void warn_of_workers(const checker *k) {
    const zk_config *c = k->config;
    bool gpus = c->gpus.devices.n == 0;
    for (size_t i = 0; i < c->gpus.devices.n; i++) gpus |= strcmp(c->gpus.devices.items[i], "cpu") != 0;
    if (gpus && c->gpus.workers_per_device > 1 && !c->gpus.lanes_per_worker)
        zk_config_say(k->warn, k->ctx,
                      "%s: gpus.gpu_workers_per_device = %" PRIu64 ": each worker of a GPU loads keys of its own; 1 "
                      "proves two partitions side by side with one copy of them",
                      source_of(k, "gpus.gpu_workers_per_device"), c->gpus.workers_per_device);
}

/* Signs of progress may be seconds apart on a busy machine, and longer where a driver is asked for much memory. */
static void warn_of_stalls(const checker *k) {
    enum { FEW_MS = 60 * 1000 };
    const uint64_t ms = k->config->daemon.stall_limit_ms;
    if (ms && ms < FEW_MS)
        zk_config_say(k->warn, k->ctx,
                      "%s: daemon.stall_limit = %" PRIu64 " ms: workers that are only slow may be killed; 1m is enough "
                      "for most, 0 is no limit",
                      source_of(k, "daemon.stall_limit"), ms);
}

cuzk_status zk_config_check(const zk_config *c, zk_config_warn_fn warn, void *ctx, cuzk_err *err) {
    return zk_config_note_check(NULL, c, warn, ctx, err);
}

cuzk_status zk_config_note_check(zk_config_errors *errors, const zk_config *c, zk_config_warn_fn warn, void *ctx,
                                 cuzk_err *err) {
    const checker k = {c, warn, ctx, errors};
    bool all_known = !errors || errors->n == 0; /* else a value that contradicts another may be meant otherwise */
    zk_address a;
    ZK_TRY(check_listen(&k, err));
    if (c->daemon.status_listen[0])
        ZK_TRY(of_key(&k, "daemon.status_listen", zk_address_parse(&a, c->daemon.status_listen, err), err));
    if (all_known) ZK_TRY(zk_config_note(errors, 0, check_tls(&k, err), err));
    ZK_TRY(of_key(&k, "daemon.socket_mode", check_mode(c->daemon.socket_mode, err), err));
    if (!c->journal.path[0])
        ZK_TRY(of_key(&k, "journal.path", ZK_FAIL(err, CUZK_BAD_INPUT, "found \"\", expected a path"), err));
    ZK_TRY(check_devices(&k, err));
    warn_of_workers(&k);
    warn_of_stalls(&k);
    return CUZK_OK;
}
