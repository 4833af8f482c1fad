#include "config/config_impl.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/file.h"

size_t zk_config_find(const char *name) {
    for (size_t i = 0; i < zk_config_n_keys; i++)
        if (strcmp(zk_config_keys[i].name, name) == 0) return i;
    return zk_config_n_keys;
}

/* ---- sources ---- */

static cuzk_status note_source(zk_config *config, size_t key, const char *source, cuzk_err *err) {
    char *copy = zk_arena_text(config->texts, source, strlen(source));
    if (!copy) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for settings");
    config->sources[key] = copy;
    return CUZK_OK;
}

void zk_config_say(zk_config_warn_fn warn, void *ctx, const char *format, ...) {
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
        zk_config_say(warn, ctx, "%s: key \"%s\" is deprecated and has no effect: %s", where, key->name, key->help);
}

cuzk_status zk_config_set(zk_config *config, const char *name, const char *text, const char *source, cuzk_err *err) {
    size_t i = zk_config_find(name);
    if (i == zk_config_n_keys) return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: unknown key \"%s\"", source, name);
    cuzk_status status = zk_config_value_from_text(config, &zk_config_keys[i], text, err);
    if (status != CUZK_OK) {
        zk_err_prefix(err, "%s", source);
        return status;
    }
    return note_source(config, i, source, err);
}

static cuzk_status note_line(void *errors, unsigned line, cuzk_err *err) {
    return zk_config_note(errors, line, CUZK_BAD_INPUT, err);
}

cuzk_status zk_config_note_text(zk_config *config, zk_config_errors *errors, const char *text, size_t n,
                                const char *name, zk_config_warn_fn warn, void *ctx, cuzk_err *err) {
    zk_toml *doc = NULL;
    char where[512];
    cuzk_status status = CUZK_OK;
    ZK_GOTO(zk_toml_parse_on(&doc, text, n, name, errors ? note_line : NULL, errors, err));
    for (size_t i = 0; i < zk_toml_count(doc); i++) {
        const zk_toml_entry *entry = zk_toml_at(doc, i);
        size_t k = zk_config_find(entry->path);
        snprintf(where, sizeof where, "%s:%u", name, entry->line);
        if (k == zk_config_n_keys) {
            zk_config_say(warn, ctx, "%s: unknown key \"%s\" is ignored", where, entry->path);
            continue;
        }
        warn_deprecated(&zk_config_keys[k], where, warn, ctx);
        status = zk_config_value_from_toml(config, &zk_config_keys[k], &entry->value, err);
        if (status == CUZK_OK) {
            ZK_GOTO(note_source(config, k, where, err));
            continue;
        }
        zk_err_prefix(err, "%s", where);
        ZK_GOTO(zk_config_note(errors, entry->line, status, err));
    }
out:
    zk_toml_destroy(doc);
    return status;
}

cuzk_status zk_config_read_text(zk_config *config, const char *text, size_t n, const char *name, zk_config_warn_fn warn,
                                void *ctx, cuzk_err *err) {
    return zk_config_note_text(config, NULL, text, n, name, warn, ctx, err);
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
    return zk_config_note_environment(config, NULL, environment, warn, ctx, err);
}

cuzk_status zk_config_note_environment(zk_config *config, zk_config_errors *errors, char *const *environment,
                                       zk_config_warn_fn warn, void *ctx, cuzk_err *err) {
    static const char misspelt[] = "FILECOIN_PARAMETER_CACHE";
    /* The project's own variables win over those of others. */
    for (unsigned own = 0; own < 2; own++)
        for (char *const *v = environment; v && *v; v++) {
            size_t n = strcspn(*v, "=");
            if (!(*v)[n]) continue;
            if (!own && (n == sizeof misspelt - 1 || strncmp(*v, "FILECOIN_PROOFS_PARAMETER_CACHE=", 32) == 0) &&
                strncmp(*v, "FILECOIN_P", 10) == 0)
                zk_config_say(warn, ctx, "environment: %.*s is not read, FIL_PROOFS_PARAMETER_CACHE is", (int)n, *v);
            for (size_t i = 0; i < zk_config_n_keys; i++) {
                const zk_config_key *key = &zk_config_keys[i];
                bool is =
                    own ? variable_is(*v, n, key->name)
                        : key->environment && strlen(key->environment) == n && strncmp(*v, key->environment, n) == 0;
                if (!is) continue;
                char where[128];
                snprintf(where, sizeof where, "environment: %.*s", (int)zk_min_size(n, 100), *v);
                warn_deprecated(key, where, warn, ctx);
                ZK_TRY(zk_config_note(errors, 0, zk_config_set(config, key->name, *v + n + 1, where, err), err));
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
        ZK_GOTO(zk_config_value_from_toml(c, key, &zk_toml_at(doc, 0)->value, err));
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
    for (size_t i = 0; i < zk_config_n_keys; i++) zk_config_value_free(config, &zk_config_keys[i]);
    if (config->texts) zk_arena_free(config->texts);
    free(config->texts);
    free(config->sources);
    free(config);
}

/* ---- output ---- */

/* The value, or in place of a secret that is set that it is. */
static void print_shown(FILE *out, const zk_config *config, const zk_config_key *key) {
    const char *secret = key->flags & ZK_CONFIG_SECRET ? *(char *const *)((const char *)config + key->offset) : "";
    if (*secret)
        fputs("\"...\"", out);
    else
        zk_config_value_print(out, config, key);
}

char *zk_config_format(const zk_config *config, size_t i) {
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out) return NULL;
    print_shown(out, config, &zk_config_keys[i]);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

bool zk_config_same(const zk_config *a, const zk_config *b, size_t i) {
    return zk_config_value_same(a, b, &zk_config_keys[i]);
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
        if (key->flags & ZK_CONFIG_DEPRECATED) continue;
        if (strncmp(section, key->name, n + 1) != 0) fprintf(out, "\n[%.*s]\n", (int)n, key->name);
        section = key->name;
        fprintf(out, "# %s%s", key->help, key->flags & ZK_CONFIG_RELOADABLE ? " (reload)" : "");
        if (key->type == ZK_CONFIG_CHOICE) fprintf(out, "; one of %s", key->choices);
        fprintf(out, "\n%s = ", key->name + n + 1);
        if (config)
            print_shown(out, config, key);
        else
            fputs(key->fallback, out);
        fputc('\n', out);
    }
}
