/* One value of the table of keys: from text, from TOML, and back. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "config/config_impl.h"

enum { MAX_LIST = 256 };

/* ---- numbers with units ---- */

typedef struct unit {
    const char *name; /* NULL: the end of the table */
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
                                  {"TB", 1000000000000},
                                  {0}};
static const unit time_units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}, {0}};

bool zk_config_parse_digits(uint64_t *value, const char **text) {
    const char *p = *text;
    if (!isdigit((unsigned char)*p)) return false;
    uint64_t v = 0;
    for (; isdigit((unsigned char)*p); p++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v)) return false;
    *text = p;
    *value = v;
    return true;
}

static const unit *parse_unit(const char **text, const unit *units) {
    size_t n = 0;
    while (isalpha((unsigned char)(*text)[n])) n++;
    for (const unit *u = units; u->name; u++)
        if (strlen(u->name) == n && strncmp(u->name, *text, n) == 0) {
            *text += n;
            return u;
        }
    return NULL;
}

bool zk_config_parse_size(uint64_t *bytes, const char *text) {
    uint64_t value = 0;
    if (!zk_config_parse_digits(&value, &text)) return false;
    while (*text == ' ') text++;
    if (*text) {
        const unit *u = parse_unit(&text, size_units);
        if (!u || *text || __builtin_mul_overflow(value, u->factor, &value)) return false;
    }
    *bytes = value;
    return true;
}

bool zk_config_parse_duration(uint64_t *ms, const char *text) {
    uint64_t sum = 0, last = UINT64_MAX;
    do {
        uint64_t value = 0, factor = 1000;
        if (!zk_config_parse_digits(&value, &text)) return false;
        while (*text == ' ') text++;
        if (*text || last != UINT64_MAX) {
            const unit *u = parse_unit(&text, time_units);
            if (!u || u->factor >= last) return false;
            factor = last = u->factor;
        }
        if (__builtin_mul_overflow(value, factor, &value) || __builtin_add_overflow(sum, value, &sum)) return false;
        while (*text == ' ') text++;
    } while (*text);
    *ms = sum;
    return true;
}

static void print_with_unit(FILE *out, uint64_t value, const unit *units) {
    const unit *best = NULL;
    for (const unit *u = units; u->name; u++)
        if (value && value % u->factor == 0 && (!best || u->factor > best->factor)) best = u;
    if (best)
        fprintf(out, "\"%" PRIu64 "%s\"", value / best->factor, best->name);
    else
        fputc('0', out);
}

/* ---- where it is ---- */

static void *member_of(const zk_config *config, const zk_config_key *key) { return (char *)config + key->offset; }

static void free_list(zk_config_list *list) {
    for (size_t i = 0; i < list->n; i++) free(list->items[i]);
    free(list->items);
    *list = (zk_config_list){0};
}

void zk_config_value_free(zk_config *config, const zk_config_key *key) {
    if (key->type == ZK_CONFIG_TEXT) free(*(char **)member_of(config, key));
    if (key->type == ZK_CONFIG_LIST) free_list(member_of(config, key));
}

static cuzk_status no_memory(const zk_config_key *key, cuzk_err *err) {
    return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory", key->name);
}

/* ---- from text ---- */

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

static cuzk_status unexpected(const zk_config_key *key, const char *text, cuzk_err *err) {
    return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found \"%.60s\", expected %s", key->name, text, type_text(key->type));
}

static cuzk_status set_bool(bool *member, const zk_config_key *key, const char *text, cuzk_err *err) {
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) return unexpected(key, text, err);
    *member = text[0] == 't';
    return CUZK_OK;
}

static cuzk_status set_choice(unsigned *member, const zk_config_key *key, const char *text, cuzk_err *err) {
    unsigned i = 0;
    size_t n_text = strlen(text);
    for (const char *p = key->choices;; i++) {
        size_t n = strcspn(p, "|");
        if (n == n_text && memcmp(p, text, n) == 0) {
            *member = i;
            return CUZK_OK;
        }
        p += n;
        if (!*p++) break;
    }
    return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found \"%.60s\", expected one of %s", key->name, text, key->choices);
}

static cuzk_status set_string(char **member, const zk_config_key *key, const char *text, cuzk_err *err) {
    char *copy = zk_strdup(text);
    if (!copy) return no_memory(key, err);
    free(*member);
    *member = copy;
    return CUZK_OK;
}

static cuzk_status set_items(zk_config_list *member, const zk_config_key *key, const char *const *items, size_t n,
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
        return no_memory(key, err);
    }
    free_list(member);
    *member = list;
    return CUZK_OK;
}

static cuzk_status set_list(zk_config_list *member, const zk_config_key *key, const char *text, cuzk_err *err) {
    const char *items[MAX_LIST];
    size_t n = 0;
    char *copy = zk_strdup(text), *save = NULL;
    if (!copy) return no_memory(key, err);
    char *item = strtok_r(copy, ",", &save);
    for (; item && n < MAX_LIST; item = strtok_r(NULL, ",", &save)) items[n++] = item;
    cuzk_status status = !item ? set_items(member, key, items, n, err)
                               : ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found more than %zu items", key->name, n);
    free(copy);
    return status;
}

/* The types that are numbers: what of them the text can say. */
static bool parse_number(uint64_t *value, zk_config_type type, const char *text) {
    switch (type) {
    case ZK_CONFIG_SIZE_AUTO:
    case ZK_CONFIG_SIZE:
        return zk_config_parse_size(value, text) && (type == ZK_CONFIG_SIZE || *value != ZK_CONFIG_AUTO);
    case ZK_CONFIG_DURATION:
        return zk_config_parse_duration(value, text);
    default:
        return zk_config_parse_digits(value, &text) && !*text;
    }
}

static cuzk_status set_number(uint64_t *member, const zk_config_key *key, const char *text, cuzk_err *err) {
    uint64_t value = 0;
    if (key->type == ZK_CONFIG_SIZE_AUTO && strcmp(text, "auto") == 0) {
        *member = ZK_CONFIG_AUTO;
        return CUZK_OK;
    }
    if (!parse_number(&value, key->type, text)) return unexpected(key, text, err);
    const char *unit_text = key->type == ZK_CONFIG_NUMBER ? "" : key->type == ZK_CONFIG_DURATION ? " ms" : " bytes";
    bool fits = value >= key->min && value <= key->max;
    if (!fits && key->max == UINT64_MAX)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %.60s, expected at least %" PRIu64 "%s", key->name, text,
                       key->min, unit_text);
    if (!fits)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %.60s, expected %" PRIu64 " to %" PRIu64 "%s", key->name, text,
                       key->min, key->max, unit_text);
    *member = value;
    return CUZK_OK;
}

cuzk_status zk_config_value_from_text(zk_config *config, const zk_config_key *key, const char *text, cuzk_err *err) {
    void *member = member_of(config, key);
    switch (key->type) {
    case ZK_CONFIG_IGNORED:
        return CUZK_OK;
    case ZK_CONFIG_BOOL:
        return set_bool(member, key, text, err);
    case ZK_CONFIG_CHOICE:
        return set_choice(member, key, text, err);
    case ZK_CONFIG_TEXT:
        return set_string(member, key, text, err);
    case ZK_CONFIG_LIST:
        return set_list(member, key, text, err);
    case ZK_CONFIG_NUMBER:
    case ZK_CONFIG_SIZE:
    case ZK_CONFIG_SIZE_AUTO:
    case ZK_CONFIG_DURATION:
        return set_number(member, key, text, err);
    }
    return ZK_FAIL(err, CUZK_INTERNAL, "%s: a key of unknown type", key->name);
}

/* ---- from TOML ---- */

static bool kind_fits(zk_config_type type, zk_toml_kind kind) {
    switch (type) {
    case ZK_CONFIG_BOOL:
        return kind == ZK_TOML_BOOL;
    case ZK_CONFIG_NUMBER:
        return kind == ZK_TOML_INTEGER;
    case ZK_CONFIG_SIZE:
    case ZK_CONFIG_SIZE_AUTO:
    case ZK_CONFIG_DURATION:
        return kind == ZK_TOML_STRING || kind == ZK_TOML_INTEGER;
    default:
        return kind == ZK_TOML_STRING;
    }
}

/* An array, or one value in place of an array of one. */
static cuzk_status set_array(zk_config_list *member, const zk_config_key *key, const zk_toml_value *value,
                             cuzk_err *err) {
    const char *items[MAX_LIST];
    bool array = value->kind == ZK_TOML_ARRAY;
    size_t n = array ? value->n : 1;
    if (n > MAX_LIST)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %zu items, expected at most %d", key->name, n, MAX_LIST);
    for (size_t i = 0; i < n; i++) {
        const zk_toml_value *item = array ? &value->items[i] : value;
        if (item->kind != ZK_TOML_STRING && item->kind != ZK_TOML_INTEGER)
            return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %s in the list, expected strings or integers", key->name,
                           zk_toml_kind_text(item->kind));
        items[i] = item->text;
    }
    return set_items(member, key, items, n, err);
}

cuzk_status zk_config_value_from_toml(zk_config *config, const zk_config_key *key, const zk_toml_value *value,
                                      cuzk_err *err) {
    if (key->type == ZK_CONFIG_IGNORED) return CUZK_OK;
    if (key->type == ZK_CONFIG_LIST) return set_array(member_of(config, key), key, value, err);
    if (!kind_fits(key->type, value->kind))
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %s%s%.60s, expected %s", key->name,
                       zk_toml_kind_text(value->kind), value->kind == ZK_TOML_ARRAY ? "" : " ", value->text,
                       key->type == ZK_CONFIG_CHOICE ? key->choices : type_text(key->type));
    if (strlen(value->text) != value->n)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found a zero byte in the string", key->name);
    if (value->kind != ZK_TOML_INTEGER) return zk_config_value_from_text(config, key, value->text, err);
    if (value->i64 < 0)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %" PRId64 ", expected %s", key->name, value->i64,
                       type_text(key->type));
    char plain[24]; /* it may be written hexadecimal, or with a sign */
    snprintf(plain, sizeof plain, "%" PRId64, value->i64);
    return zk_config_value_from_text(config, key, plain, err);
}

/* ---- and back ---- */

static void print_quoted(FILE *out, const char *text) {
    fputc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else if (*p < ' ' || *p == 0x7f)
            fprintf(out, "\\u%04x", *p);
        else
            fputc(*p, out);
    }
    fputc('"', out);
}

static void print_choice(FILE *out, const char *choices, unsigned i) {
    const char *p = choices;
    for (; i > 0; i--) p += strcspn(p, "|") + 1;
    fprintf(out, "\"%.*s\"", (int)strcspn(p, "|"), p);
}

static void print_list(FILE *out, const zk_config_list *list) {
    fputc('[', out);
    for (size_t i = 0; i < list->n; i++) {
        if (i) fputs(", ", out);
        print_quoted(out, list->items[i]);
    }
    fputc(']', out);
}

void zk_config_value_print(FILE *out, const zk_config *config, const zk_config_key *key) {
    const void *member = member_of(config, key);
    switch (key->type) {
    case ZK_CONFIG_BOOL:
        fputs(*(const bool *)member ? "true" : "false", out);
        break;
    case ZK_CONFIG_NUMBER:
        fprintf(out, "%" PRIu64, *(const uint64_t *)member);
        break;
    case ZK_CONFIG_SIZE_AUTO:
        if (*(const uint64_t *)member == ZK_CONFIG_AUTO) {
            fputs("\"auto\"", out);
            break;
        }
        /* fall through */
    case ZK_CONFIG_SIZE:
        print_with_unit(out, *(const uint64_t *)member, size_units);
        break;
    case ZK_CONFIG_DURATION:
        print_with_unit(out, *(const uint64_t *)member, time_units);
        break;
    case ZK_CONFIG_TEXT:
        print_quoted(out, *(char *const *)member);
        break;
    case ZK_CONFIG_CHOICE:
        print_choice(out, key->choices, *(const unsigned *)member);
        break;
    case ZK_CONFIG_LIST:
        print_list(out, member);
        break;
    case ZK_CONFIG_IGNORED:
        break;
    }
}

static bool same_list(const zk_config_list *a, const zk_config_list *b) {
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++) same = strcmp(a->items[i], b->items[i]) == 0;
    return same;
}

bool zk_config_value_same(const zk_config *a, const zk_config *b, const zk_config_key *key) {
    const void *x = member_of(a, key), *y = member_of(b, key);
    switch (key->type) {
    case ZK_CONFIG_BOOL:
        return *(const bool *)x == *(const bool *)y;
    case ZK_CONFIG_CHOICE:
        return *(const unsigned *)x == *(const unsigned *)y;
    case ZK_CONFIG_TEXT:
        return strcmp(*(char *const *)x, *(char *const *)y) == 0;
    case ZK_CONFIG_LIST:
        return same_list(x, y);
    case ZK_CONFIG_NUMBER:
    case ZK_CONFIG_SIZE:
    case ZK_CONFIG_SIZE_AUTO:
    case ZK_CONFIG_DURATION:
        return *(const uint64_t *)x == *(const uint64_t *)y;
    case ZK_CONFIG_IGNORED:
        break;
    }
    return true;
}
