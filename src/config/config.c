#include "config/config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/file.h"
#include "config/toml.h"

size_t zk_config_find(const char *name) {
    for (size_t i = 0; i < zk_config_n_keys; i++)
        if (strcmp(zk_config_keys[i].name, name) == 0) return i;
    return zk_config_n_keys;
}

static void *member_of(const zk_config *config, const zk_config_key *key) { return (char *)config + key->offset; }

/* ---- numbers with units ---- */

typedef struct unit {
    const char *name;
    uint64_t factor;
} unit;

static const unit size_units[] = {{"B", 1},
                                  {"KiB", (uint64_t)1 << 10},
                                  {"MiB", (uint64_t)1 << 20},
                                  {"GiB", (uint64_t)1 << 30},
                                  {"TiB", (uint64_t)1 << 40},
                                  {"KB", 1000},
                                  {"MB", 1000000},
                                  {"GB", 1000000000},
                                  {"TB", 1000000000000}};
static const unit time_units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};

static bool parse_digits(uint64_t *value, const char **text) {
    const char *p = *text;
    if (!isdigit((unsigned char)*p)) return false;
    uint64_t v = 0;
    for (; isdigit((unsigned char)*p); p++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v)) return false;
    *text = p;
    *value = v;
    return true;
}

static const unit *parse_unit(const char **text, const unit *units, size_t n_units) {
    size_t n = 0;
    while (isalpha((unsigned char)(*text)[n])) n++;
    for (size_t i = 0; i < n_units; i++)
        if (strlen(units[i].name) == n && strncmp(units[i].name, *text, n) == 0) {
            *text += n;
            return &units[i];
        }
    return NULL;
}

bool zk_config_parse_size(uint64_t *bytes, const char *text) {
    uint64_t value = 0;
    if (!parse_digits(&value, &text)) return false;
    while (*text == ' ') text++;
    if (*text) {
        const unit *u = parse_unit(&text, size_units, sizeof size_units / sizeof size_units[0]);
        if (!u || *text || __builtin_mul_overflow(value, u->factor, &value)) return false;
    }
    *bytes = value;
    return true;
}

bool zk_config_parse_duration(uint64_t *ms, const char *text) {
    uint64_t sum = 0, last = UINT64_MAX;
    do {
        uint64_t value = 0, factor = 1000;
        if (!parse_digits(&value, &text)) return false;
        while (*text == ' ') text++;
        if (*text || last != UINT64_MAX) {
            const unit *u = parse_unit(&text, time_units, sizeof time_units / sizeof time_units[0]);
            if (!u || u->factor >= last) return false;
            factor = last = u->factor;
        }
        if (__builtin_mul_overflow(value, factor, &value) || __builtin_add_overflow(sum, value, &sum)) return false;
        while (*text == ' ') text++;
    } while (*text);
    *ms = sum;
    return true;
}

static void format_units(char *text, size_t n, uint64_t value, const unit *units, size_t n_units) {
    const unit *best = NULL;
    for (size_t i = 0; i < n_units; i++)
        if (value && value % units[i].factor == 0 && (!best || units[i].factor > best->factor)) best = &units[i];
    if (best)
        snprintf(text, n, "\"%" PRIu64 "%s\"", value / best->factor, best->name);
    else
        snprintf(text, n, "0");
}

/* ---- one value ---- */

static const char *type_text(zk_config_type type) {
    switch (type) {
    case ZK_CONFIG_BOOL:
        return "true or false";
    case ZK_CONFIG_NUMBER:
        return "a whole number";
    case ZK_CONFIG_SIZE:
        return "a size such as \"5GiB\"";
    case ZK_CONFIG_SIZE_AUTO:
        return "\"auto\" or a size such as \"5GiB\"";
    case ZK_CONFIG_DURATION:
        return "a duration such as \"5m\"";
    case ZK_CONFIG_TEXT:
        return "a string";
    case ZK_CONFIG_CHOICE:
        return "a choice";
    case ZK_CONFIG_LIST:
        return "a list";
    case ZK_CONFIG_IGNORED:
        break;
    }
    return "anything";
}

static void free_list(zk_config_list *list) {
    for (size_t i = 0; i < list->n; i++) free(list->items[i]);
    free(list->items);
    *list = (zk_config_list){0};
}

static cuzk_status set_list(zk_config *config, const zk_config_key *key, const char *const *items, size_t n,
                            cuzk_err *err) {
    zk_config_list list = {0};
    list.items = zk_calloc(n ? n : 1, sizeof *list.items);
    bool good = list.items != NULL;
    for (size_t i = 0; good && i < n; i++) {
        list.items[i] = zk_strdup(items[i]);
        good = list.items[i] != NULL;
        list.n = i + 1;
    }
    if (!good) {
        free_list(&list);
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory", key->name);
    }
    free_list(member_of(config, key));
    *(zk_config_list *)member_of(config, key) = list;
    return CUZK_OK;
}

static cuzk_status set_choice(zk_config *config, const zk_config_key *key, const char *text, cuzk_err *err) {
    unsigned i = 0;
    size_t n_text = strlen(text);
    for (const char *p = key->choices;; i++) {
        size_t n = strcspn(p, "|");
        if (n == n_text && memcmp(p, text, n) == 0) {
            *(unsigned *)member_of(config, key) = i;
            return CUZK_OK;
        }
        p += n;
        if (!*p++) break;
    }
    return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found \"%.60s\", expected one of %s", key->name, text, key->choices);
}

/* A value written without quotes. Lists are split at commas. */
static cuzk_status set_text(zk_config *config, const zk_config_key *key, const char *text, cuzk_err *err) {
    void *member = member_of(config, key);
    uint64_t value = 0;
    const char *rest = text;
    bool good = false;
    switch (key->type) {
    case ZK_CONFIG_IGNORED:
        return CUZK_OK;
    case ZK_CONFIG_BOOL:
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) break;
        *(bool *)member = text[0] == 't';
        return CUZK_OK;
    case ZK_CONFIG_CHOICE:
        return set_choice(config, key, text, err);
    case ZK_CONFIG_TEXT: {
        char *copy = zk_strdup(text);
        if (!copy) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory", key->name);
        free(*(char **)member);
        *(char **)member = copy;
        return CUZK_OK;
    }
    case ZK_CONFIG_LIST: {
        char *copy = zk_strdup(text);
        const char *items[256];
        size_t n = 0;
        if (!copy) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory", key->name);
        char *save = NULL, *item = strtok_r(copy, ",", &save);
        for (; item && n < sizeof items / sizeof *items; item = strtok_r(NULL, ",", &save)) items[n++] = item;
        cuzk_status status = !item ? set_list(config, key, items, n, err)
                                   : ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found more than %zu items", key->name, n);
        free(copy);
        return status;
    }
    case ZK_CONFIG_SIZE_AUTO:
        if (strcmp(text, "auto") == 0) {
            *(uint64_t *)member = ZK_CONFIG_AUTO;
            return CUZK_OK;
        }
        good = zk_config_parse_size(&value, text) && value != ZK_CONFIG_AUTO;
        break;
    case ZK_CONFIG_SIZE:
        good = zk_config_parse_size(&value, text);
        break;
    case ZK_CONFIG_DURATION:
        good = zk_config_parse_duration(&value, text);
        break;
    case ZK_CONFIG_NUMBER:
        good = parse_digits(&value, &rest) && !*rest;
        break;
    }
    if (!good)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found \"%.60s\", expected %s", key->name, text, type_text(key->type));
    if (value < key->min || value > key->max) {
        const char *what = key->type == ZK_CONFIG_NUMBER ? "" : key->type == ZK_CONFIG_DURATION ? " ms" : " bytes";
        if (key->max == UINT64_MAX)
            return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %.60s, expected at least %" PRIu64 "%s", key->name, text,
                           key->min, what);
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %.60s, expected %" PRIu64 " to %" PRIu64 "%s", key->name, text,
                       key->min, key->max, what);
    }
    *(uint64_t *)member = value;
    return CUZK_OK;
}

static cuzk_status set_toml(zk_config *config, const zk_config_key *key, const zk_toml_value *value, cuzk_err *err) {
    bool is_text = value->kind == ZK_TOML_STRING, fits = false;
    switch (key->type) {
    case ZK_CONFIG_IGNORED:
        return CUZK_OK;
    case ZK_CONFIG_BOOL:
        fits = value->kind == ZK_TOML_BOOL;
        break;
    case ZK_CONFIG_NUMBER:
        fits = value->kind == ZK_TOML_INTEGER;
        break;
    case ZK_CONFIG_SIZE:
    case ZK_CONFIG_SIZE_AUTO:
    case ZK_CONFIG_DURATION:
        fits = is_text || value->kind == ZK_TOML_INTEGER;
        break;
    case ZK_CONFIG_TEXT:
    case ZK_CONFIG_CHOICE:
        fits = is_text;
        break;
    case ZK_CONFIG_LIST: {
        const char *one[256];
        size_t n = value->kind == ZK_TOML_ARRAY ? value->n : 1;
        if (n > 256) return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %zu items, expected at most 256", key->name, n);
        for (size_t i = 0; i < n; i++) {
            const zk_toml_value *item = value->kind == ZK_TOML_ARRAY ? &value->items[i] : value;
            if (item->kind != ZK_TOML_STRING && item->kind != ZK_TOML_INTEGER)
                return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %s in the list, expected strings or integers", key->name,
                               zk_toml_kind_text(item->kind));
            one[i] = item->text;
        }
        return set_list(config, key, one, n, err);
    }
    }
    if (!fits)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %s%s%.60s, expected %s", key->name,
                       zk_toml_kind_text(value->kind), value->kind == ZK_TOML_ARRAY ? "" : " ", value->text,
                       key->type == ZK_CONFIG_CHOICE ? key->choices : type_text(key->type));
    if (strlen(value->text) != value->n)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found a zero byte in the string", key->name);
    if (value->kind == ZK_TOML_INTEGER && key->type != ZK_CONFIG_LIST) { /* also hexadecimal and with a sign */
        char plain[24];
        if (value->i64 < 0)
            return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %" PRId64 ", expected %s", key->name, value->i64,
                           type_text(key->type));
        snprintf(plain, sizeof plain, "%" PRId64, value->i64);
        return set_text(config, key, plain, err);
    }
    return set_text(config, key, value->text, err);
}

/* ---- sources ---- */

static cuzk_status note_source(zk_config *config, size_t key, const char *source, cuzk_err *err) {
    char *copy = zk_arena_text(config->texts, source, strlen(source));
    if (!copy) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for settings");
    config->sources[key] = copy;
    return CUZK_OK;
}

static __attribute__((format(printf, 3, 4))) void say(zk_config_warn_fn warn, void *ctx, const char *format, ...) {
    if (!warn) return;
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    warn(ctx, text);
}

static void warn_deprecated(const zk_config_key *key, const char *where, zk_config_warn_fn warn, void *ctx) {
    if (key->flags & ZK_CONFIG_DEPRECATED)
        say(warn, ctx, "%s: key \"%s\" is deprecated and has no effect: %s", where, key->name, key->help);
}

cuzk_status zk_config_set(zk_config *config, const char *name, const char *text, const char *source, cuzk_err *err) {
    size_t i = zk_config_find(name);
    if (i == zk_config_n_keys) return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: unknown key \"%s\"", source, name);
    cuzk_status status = set_text(config, &zk_config_keys[i], text, err);
    if (status != CUZK_OK) {
        zk_err_prefix(err, "%s", source);
        return status;
    }
    return note_source(config, i, source, err);
}

cuzk_status zk_config_read_text(zk_config *config, const char *text, size_t n, const char *name, zk_config_warn_fn warn,
                                void *ctx, cuzk_err *err) {
    zk_toml *doc = NULL;
    char where[512];
    cuzk_status status = CUZK_OK;
    ZK_GOTO(zk_toml_parse(&doc, text, n, name, err));
    for (size_t i = 0; i < zk_toml_count(doc); i++) {
        const zk_toml_entry *entry = zk_toml_at(doc, i);
        size_t k = zk_config_find(entry->path);
        snprintf(where, sizeof where, "%s:%u", name, entry->line);
        if (k == zk_config_n_keys) {
            say(warn, ctx, "%s: unknown key \"%s\" is ignored", where, entry->path);
            continue;
        }
        warn_deprecated(&zk_config_keys[k], where, warn, ctx);
        status = set_toml(config, &zk_config_keys[k], &entry->value, err);
        if (status != CUZK_OK) {
            zk_err_prefix(err, "%s", where);
            goto out;
        }
        ZK_GOTO(note_source(config, k, where, err));
    }
out:
    zk_toml_destroy(doc);
    return status;
}

cuzk_status zk_config_read_file(zk_config *config, const char *path, zk_config_warn_fn warn, void *ctx, cuzk_err *err) {
    uint8_t *data = NULL;
    size_t n = 0;
    ZK_TRY(zk_file_read(&data, &n, path, ZK_TOML_MAX_BYTES, err));
    cuzk_status status = zk_config_read_text(config, (const char *)data, n, path, warn, ctx, err);
    free(data);
    return status;
}

/* "CUZK_DAEMON_LISTEN" of "daemon.listen". */
static bool variable_is(const char *variable, size_t n, const char *key) {
    if (n != strlen(key) + 5 || strncmp(variable, "CUZK_", 5) != 0) return false;
    for (size_t i = 0; key[i]; i++)
        if (variable[5 + i] != (key[i] == '.' ? '_' : toupper((unsigned char)key[i]))) return false;
    return true;
}

cuzk_status zk_config_read_environment(zk_config *config, char *const *environment, zk_config_warn_fn warn, void *ctx,
                                       cuzk_err *err) {
    static const char misspelt[] = "FILECOIN_PARAMETER_CACHE";
    /* The project's own variables win over those of others. */
    for (unsigned own = 0; own < 2; own++)
        for (char *const *v = environment; v && *v; v++) {
            size_t n = strcspn(*v, "=");
            if (!(*v)[n]) continue;
            if (!own && (n == sizeof misspelt - 1 || strncmp(*v, "FILECOIN_PROOFS_PARAMETER_CACHE=", 32) == 0) &&
                strncmp(*v, "FILECOIN_P", 10) == 0)
                say(warn, ctx, "environment: %.*s is not read, FIL_PROOFS_PARAMETER_CACHE is", (int)n, *v);
            for (size_t i = 0; i < zk_config_n_keys; i++) {
                const zk_config_key *key = &zk_config_keys[i];
                bool is =
                    own ? variable_is(*v, n, key->name)
                        : key->environment && strlen(key->environment) == n && strncmp(*v, key->environment, n) == 0;
                if (!is) continue;
                char where[128];
                snprintf(where, sizeof where, "environment: %.*s", (int)zk_min_size(n, 100), *v);
                warn_deprecated(key, where, warn, ctx);
                ZK_TRY(zk_config_set(config, key->name, *v + n + 1, where, err));
            }
        }
    return CUZK_OK;
}

cuzk_status zk_config_create(zk_config **config, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_toml *doc = NULL;
    *config = NULL;
    zk_config *c = zk_calloc(1, sizeof *c);
    if (!c) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for settings");
    c->sources = zk_calloc(zk_config_n_keys, sizeof *c->sources);
    c->texts = zk_calloc(1, sizeof(zk_arena));
    if (!c->sources || !c->texts) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for settings"));
    for (size_t i = 0; i < zk_config_n_keys; i++) {
        const zk_config_key *key = &zk_config_keys[i];
        char line[256];
        c->sources[i] = "default";
        if (!key->fallback) continue;
        snprintf(line, sizeof line, "value = %s\n", key->fallback);
        ZK_GOTO(zk_toml_parse(&doc, line, strlen(line), "default", err));
        ZK_GOTO(set_toml(c, key, &zk_toml_at(doc, 0)->value, err));
        zk_toml_destroy(doc);
        doc = NULL;
    }
    *config = c;
    c = NULL;
out:
    zk_toml_destroy(doc);
    zk_config_destroy(c);
    return status;
}

void zk_config_destroy(zk_config *config) {
    if (!config) return;
    for (size_t i = 0; i < zk_config_n_keys; i++) {
        const zk_config_key *key = &zk_config_keys[i];
        if (key->type == ZK_CONFIG_TEXT) free(*(char **)member_of(config, key));
        if (key->type == ZK_CONFIG_LIST) free_list(member_of(config, key));
    }
    if (config->texts) zk_arena_free(config->texts);
    free(config->texts);
    free(config->sources);
    free(config);
}

/* ---- checks across keys ---- */

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
    bool good = colon && parse_digits(&port, &digits) && !*digits && port < 65536 && n_host < sizeof a->host &&
                (bracketed || !memchr(rest, ':', n_host)) && !memchr(rest, '/', n_host);
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

static cuzk_status check_key(const zk_config *c, const char *name, cuzk_status status, cuzk_err *err) {
    if (status != CUZK_OK) zk_err_prefix(err, "%s: %s", c->sources[zk_config_find(name)], name);
    return status;
}

cuzk_status zk_config_check(const zk_config *c, zk_config_warn_fn warn, void *ctx, cuzk_err *err) {
    zk_address a;
    bool tls = c->daemon.tls_certificate[0] != 0, open_tcp = false;
    if (c->daemon.listen.n == 0)
        return check_key(c, "daemon.listen", ZK_FAIL(err, CUZK_BAD_INPUT, "found no address, expected at least one"),
                         err);
    for (size_t i = 0; i < c->daemon.listen.n; i++) {
        ZK_TRY(check_key(c, "daemon.listen", zk_address_parse(&a, c->daemon.listen.items[i], err), err));
        open_tcp |= !a.is_unix;
        if (!tls && !a.is_loopback)
            say(warn, ctx, "%s: %s is served without TLS to everybody who can reach it",
                c->sources[zk_config_find("daemon.listen")], c->daemon.listen.items[i]);
    }
    if (c->daemon.status_listen[0])
        ZK_TRY(check_key(c, "daemon.status_listen", zk_address_parse(&a, c->daemon.status_listen, err), err));
    if (tls != (c->daemon.tls_key[0] != 0))
        return ZK_FAIL(err, CUZK_BAD_INPUT, "daemon.tls_certificate and daemon.tls_key: expected both or neither");
    if (c->daemon.tls_client_ca[0] && !tls)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "daemon.tls_client_ca: expected daemon.tls_certificate beside it");
    if (tls && !open_tcp) say(warn, ctx, "daemon.tls_certificate has no effect: only unix sockets are served");
    const char *mode = c->daemon.socket_mode;
    if (strlen(mode) < 3 || strlen(mode) > 4 || mode[strspn(mode, "01234567")] || !mode[strspn(mode, "0")])
        return check_key(c, "daemon.socket_mode",
                         ZK_FAIL(err, CUZK_BAD_INPUT,
                                 "found \"%.20s\", expected octal digits such as 0660 that let somebody in", mode),
                         err);
    if (!c->journal.path[0])
        return check_key(c, "journal.path", ZK_FAIL(err, CUZK_BAD_INPUT, "found \"\", expected a path"), err);
    bool gpus = c->gpus.devices.n == 0;
    for (size_t i = 0; i < c->gpus.devices.n; i++) {
        const char *text = c->gpus.devices.items[i], *rest = text;
        uint64_t ordinal = 0;
        gpus |= strcmp(text, "cpu") != 0;
        bool word = strcmp(text, "cpu") == 0 || (strcmp(text, "auto") == 0 && c->gpus.devices.n == 1);
        if (strncmp(text, "cuda:", 5) == 0) rest += 5;
        if (!word && (!parse_digits(&ordinal, &rest) || *rest || ordinal > 1023))
            return check_key(
                c, "gpus.devices",
                ZK_FAIL(err, CUZK_BAD_INPUT,
                        "found \"%.40s\", expected ordinals of devices (0, 1 ...), cuda:N, cpu, or auto alone", text),
                err);
    }
    /* Files written for the public engine have 2, which shares its keys. */
    if (gpus && c->gpus.workers_per_device > 1 && !c->gpus.lanes_per_worker)
        say(warn, ctx,
            "%s: gpus.gpu_workers_per_device = %" PRIu64 ": each worker of a GPU loads keys of its own; 1 proves two "
            "partitions side by side with one copy of them",
            c->sources[zk_config_find("gpus.gpu_workers_per_device")], c->gpus.workers_per_device);
    return CUZK_OK;
}

/* ---- output ---- */

/* Quoted as TOML wants it. */
static size_t put_quoted(char *out, size_t n_out, const char *text) {
    size_t n = 0;
    char piece[8];
    if (n < n_out) out[n] = 0;
    n += (size_t)snprintf(out, n_out, "\"");
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\')
            snprintf(piece, sizeof piece, "\\%c", *p);
        else if (*p < ' ' || *p == 0x7f)
            snprintf(piece, sizeof piece, "\\u%04x", *p);
        else
            snprintf(piece, sizeof piece, "%c", *p);
        n += (size_t)snprintf(n < n_out ? out + n : NULL, n < n_out ? n_out - n : 0, "%s", piece);
    }
    n += (size_t)snprintf(n < n_out ? out + n : NULL, n < n_out ? n_out - n : 0, "\"");
    return n < n_out ? n : n_out ? n_out - 1 : 0;
}

static const char *format_value(char *text, size_t n_text, const zk_config *config, const zk_config_key *key) {
    const void *member = member_of(config, key);
    switch (key->type) {
    case ZK_CONFIG_BOOL:
        snprintf(text, n_text, "%s", *(const bool *)member ? "true" : "false");
        break;
    case ZK_CONFIG_NUMBER:
        snprintf(text, n_text, "%" PRIu64, *(const uint64_t *)member);
        break;
    case ZK_CONFIG_SIZE_AUTO:
        if (*(const uint64_t *)member == ZK_CONFIG_AUTO) {
            snprintf(text, n_text, "\"auto\"");
            break;
        }
        /* fall through */
    case ZK_CONFIG_SIZE:
        format_units(text, n_text, *(const uint64_t *)member, size_units, sizeof size_units / sizeof size_units[0]);
        break;
    case ZK_CONFIG_DURATION:
        format_units(text, n_text, *(const uint64_t *)member, time_units, sizeof time_units / sizeof time_units[0]);
        break;
    case ZK_CONFIG_TEXT:
        put_quoted(text, n_text, *(char *const *)member);
        break;
    case ZK_CONFIG_CHOICE: {
        const char *p = key->choices;
        for (unsigned k = *(const unsigned *)member; k > 0; k--) p += strcspn(p, "|") + 1;
        snprintf(text, n_text, "\"%.*s\"", (int)strcspn(p, "|"), p);
        break;
    }
    case ZK_CONFIG_LIST: {
        const zk_config_list *list = member;
        size_t n = (size_t)snprintf(text, n_text, "[");
        for (size_t k = 0; k < list->n && n + 3 < n_text; k++) {
            if (k) n += (size_t)snprintf(text + n, n_text - n, ", ");
            n += put_quoted(text + n, n_text - n, list->items[k]);
        }
        if (n < n_text) snprintf(text + n, n_text - n, "]");
        break;
    }
    case ZK_CONFIG_IGNORED:
        snprintf(text, n_text, "%s", "");
        break;
    }
    return text;
}

const char *zk_config_format(char *text, size_t n_text, const zk_config *config, size_t i) {
    const zk_config_key *key = &zk_config_keys[i];
    if (!(key->flags & ZK_CONFIG_SECRET) || !**(char *const *)member_of(config, key))
        return format_value(text, n_text, config, key);
    snprintf(text, n_text, "\"...\"");
    return text;
}

bool zk_config_same(const zk_config *a, const zk_config *b, size_t i) {
    char x[1024], y[1024];
    return strcmp(format_value(x, sizeof x, a, &zk_config_keys[i]), format_value(y, sizeof y, b, &zk_config_keys[i])) ==
           0;
}

void zk_config_print_sample(FILE *out, const zk_config *config) {
    const char *section = "";
    fputs("# Settings of `cuzk daemon`. A key that is left out has the value shown here. Sizes: \"5GiB\"; durations: "
          "\"5m\".\n"
          "# Each key can be set by the environment too: daemon.listen by CUZK_DAEMON_LISTEN; and by a flag: "
          "--daemon.listen.\n"
          "# (reload): a change takes effect on SIGHUP; the others need a restart.\n",
          out);
    for (size_t i = 0; i < zk_config_n_keys; i++) {
        const zk_config_key *key = &zk_config_keys[i];
        size_t n = strcspn(key->name, ".");
        char value[1024];
        if (key->flags & ZK_CONFIG_DEPRECATED) continue;
        if (strncmp(section, key->name, n + 1) != 0) fprintf(out, "\n[%.*s]\n", (int)n, key->name);
        section = key->name;
        fprintf(out, "# %s%s", key->help, key->flags & ZK_CONFIG_RELOADABLE ? " (reload)" : "");
        if (key->type == ZK_CONFIG_CHOICE) fprintf(out, "; one of %s", key->choices);
        fprintf(out, "\n%s = %s\n", key->name + n + 1,
                config ? zk_config_format(value, sizeof value, config, i) : key->fallback);
    }
}
