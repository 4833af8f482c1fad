#include "config/toml.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/utf8.h"

/* A path that holds a table. Explicit: its header was seen; closed: an inline table, nothing may be added. */
typedef struct table {
    const char *path;
    bool is_explicit, is_closed, is_array;
    size_t n_elements;
} table;

struct zk_toml {
    zk_arena arena;
    zk_toml_entry *entries;
    size_t n_entries, max_entries;
};

typedef struct parser {
    zk_toml *doc;
    const char *name, *p, *end;
    unsigned line;
    table *tables;
    size_t n_tables, max_tables;
    const char *prefix; /* path of the current table, "" at the top */
    char *scratch;      /* a string being decoded: it is never longer than the document */
    const char *begin;  /* of the header or pair that is being read */
    unsigned n_open;    /* arrays around the cursor */
    bool is_lost;       /* nobody knows which table this is: its name is wrong */
    bool is_full;       /* more than may be kept: what follows is not read */
    cuzk_err *err;
} parser;

static __attribute__((format(printf, 2, 3))) cuzk_status fail(parser *ps, const char *format, ...) {
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return ZK_FAIL(ps->err, CUZK_BAD_INPUT, "%s:%u: %s", ps->name, ps->line, text);
}

static cuzk_status no_memory(parser *ps) {
    return ZK_FAIL(ps->err, CUZK_OUT_OF_MEMORY, "%s:%u: no memory", ps->name, ps->line);
}

static int peek(const parser *ps) { return ps->p < ps->end ? (unsigned char)*ps->p : -1; }

/* What stands at the cursor, for messages. */
static const char *found(const parser *ps, char text[24]) {
    int c = peek(ps);
    if (c < 0)
        snprintf(text, 24, "the end of the file");
    else if (c == '\n' || c == '\r')
        snprintf(text, 24, "the end of the line");
    else if (c > ' ' && c < 0x7f)
        snprintf(text, 24, "'%c'", c);
    else
        snprintf(text, 24, "byte 0x%02x", c);
    return text;
}

static void skip_blanks(parser *ps) {
    while (ps->p < ps->end && (*ps->p == ' ' || *ps->p == '\t')) ps->p++;
}

/* Consumes a line end if one is there. */
static bool take_newline(parser *ps) {
    if (peek(ps) == '\n')
        ps->p++;
    else if (peek(ps) == '\r' && ps->end - ps->p >= 2 && ps->p[1] == '\n')
        ps->p += 2;
    else
        return false;
    ps->line++;
    return true;
}

static cuzk_status skip_comment(parser *ps) {
    skip_blanks(ps);
    if (peek(ps) != '#') return CUZK_OK;
    for (; ps->p < ps->end && *ps->p != '\n'; ps->p++) {
        unsigned char c = (unsigned char)*ps->p;
        bool before_newline = c == '\r' && ps->end - ps->p >= 2 && ps->p[1] == '\n';
        if ((c < ' ' && c != '\t' && !before_newline) || c == 0x7f)
            return fail(ps, "found control character 0x%02x in a comment", c);
        if (before_newline) break;
    }
    return CUZK_OK;
}

/* Blanks, comments and line ends, as allowed between the elements of an array. */
static cuzk_status skip_lines(parser *ps) {
    do ZK_TRY(skip_comment(ps));
    while (take_newline(ps));
    return CUZK_OK;
}

static cuzk_status end_of_line(parser *ps, const char *after) {
    char text[24];
    ZK_TRY(skip_comment(ps));
    if (peek(ps) < 0 || take_newline(ps)) return CUZK_OK;
    return fail(ps, "found %s after %s, expected the end of the line", found(ps, text), after);
}

/* ---- strings ---- */

static size_t put_utf8(char *out, uint32_t c) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00 >> n & 0xff) | c);
    return n;
}

static cuzk_status take_escape(parser *ps, char *out, size_t *n) {
    static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
    int c = peek(ps);
    if (c < 0) return fail(ps, "found the end of the file in a string");
    ps->p++;
    const char *at = c ? strchr(from, c) : NULL;
    if (at) {
        *n = 1;
        out[0] = to[at - from];
        return CUZK_OK;
    }
    if (c != 'u' && c != 'U') return fail(ps, "unknown escape \\%c in a string", c > ' ' && c < 0x7f ? c : '?');
    uint32_t value = 0;
    for (unsigned i = c == 'u' ? 4 : 8; i-- > 0; ps->p++) {
        int d = peek(ps);
        bool digit = d >= '0' && d <= '9';
        d |= 0x20;
        if (!digit && (d < 'a' || d > 'f')) return fail(ps, "a unicode escape takes %d hex digits", c == 'u' ? 4 : 8);
        value = value << 4 | (uint32_t)(digit ? d - '0' : d - 'a' + 10);
    }
    if (value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff) || value == 0)
        return fail(ps, "found escape U+%04X, expected a character other than zero and surrogates", value);
    *n = put_utf8(out, value);
    return CUZK_OK;
}

/* At the opening quote. */
static cuzk_status take_string(parser *ps, const char **text, size_t *n_text, bool multi_allowed) {
    char quote = *ps->p;
    bool multi = multi_allowed && ps->end - ps->p >= 3 && ps->p[1] == quote && ps->p[2] == quote;
    ps->p += multi ? 3 : 1;
    if (multi) take_newline(ps);
    char *out = ps->scratch;
    size_t n = 0;
    for (;;) {
        int c = peek(ps);
        if (c < 0) return fail(ps, "found the end of the file in a string");
        if (c == quote) {
            if (!multi) {
                ps->p++;
                break;
            }
            size_t run = 0;
            while (ps->p + run < ps->end && ps->p[run] == quote && run < 5) run++;
            size_t kept = run >= 3 ? run - 3 : run;
            memset(out + n, quote, kept);
            n += kept;
            ps->p += run;
            if (run >= 3) break;
        } else if (c == '\\' && quote == '"') {
            ps->p++;
            const char *after = ps->p;
            while (after < ps->end && (*after == ' ' || *after == '\t')) after++;
            if (multi && after < ps->end && (*after == '\n' || *after == '\r')) {
                ps->p = after;
                while (skip_blanks(ps), take_newline(ps)) {}
                continue;
            }
            size_t more = 0;
            ZK_TRY(take_escape(ps, out + n, &more));
            n += more;
        } else if (multi && take_newline(ps)) {
            out[n++] = '\n';
        } else if (c == '\n' || c == '\r') {
            return fail(ps, "found the end of the line in a string, expected %c", quote);
        } else if ((c < ' ' && c != '\t') || c == 0x7f) {
            return fail(ps, "found control character 0x%02x in a string", c);
        } else {
            out[n++] = (char)c;
            ps->p++;
        }
    }
    *text = zk_arena_text(&ps->doc->arena, out, n);
    *n_text = n;
    return *text ? CUZK_OK : no_memory(ps);
}

/* ---- paths ---- */

static bool is_bare(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static cuzk_status join(parser *ps, const char **path, const char *prefix, const char *part, size_t n_part) {
    bool bare = n_part > 0;
    for (size_t i = 0; i < n_part; i++) bare &= is_bare((unsigned char)part[i]);
    size_t n_prefix = strlen(prefix), n = 0;
    char *out = zk_arena_alloc(&ps->doc->arena, n_prefix + 2 * n_part + 4);
    if (!out) return no_memory(ps);
    memcpy(out, prefix, n_prefix);
    n = n_prefix;
    if (n) out[n++] = '.';
    if (!bare) out[n++] = '"';
    for (size_t i = 0; i < n_part; i++) {
        if (!bare && (part[i] == '"' || part[i] == '\\')) out[n++] = '\\';
        out[n++] = part[i];
    }
    if (!bare) out[n++] = '"';
    out[n] = 0;
    *path = out;
    return CUZK_OK;
}

static table *find_table(const parser *ps, const char *path) {
    for (size_t i = 0; i < ps->n_tables; i++)
        if (strcmp(ps->tables[i].path, path) == 0) return &ps->tables[i];
    return NULL;
}

static const zk_toml_entry *find_entry(const parser *ps, const char *path) {
    for (size_t i = 0; i < ps->doc->n_entries; i++)
        if (strcmp(ps->doc->entries[i].path, path) == 0) return &ps->doc->entries[i];
    return NULL;
}

static cuzk_status too_many(parser *ps, const char *what) {
    ps->is_full = true;
    return fail(ps, "more than %d %s", ZK_TOML_MAX_ENTRIES, what);
}

static cuzk_status add_table(parser *ps, table **t, const char *path) {
    if (ps->n_tables >= ZK_TOML_MAX_ENTRIES) return too_many(ps, "tables");
    if (!zk_grow((void **)&ps->tables, &ps->max_tables, ps->n_tables + 1, sizeof *ps->tables)) return no_memory(ps);
    *t = &ps->tables[ps->n_tables++];
    **t = (table){.path = path};
    return CUZK_OK;
}

/* A part of a path that is to be a table on the way to something else: made when missing; of an array of tables, its
 * last element. */
static cuzk_status enter(parser *ps, const char **path) {
    const zk_toml_entry *entry = find_entry(ps, *path);
    if (entry) return fail(ps, "\"%s\" already has a value in line %u, it cannot be a table", *path, entry->line);
    table *t = find_table(ps, *path);
    if (!t) return add_table(ps, &t, *path);
    if (t->is_closed) return fail(ps, "\"%s\" is an inline table, nothing can be added", *path);
    if (!t->is_array) return CUZK_OK;
    char *element = zk_arena_alloc(&ps->doc->arena, strlen(*path) + 24);
    if (!element) return no_memory(ps);
    sprintf(element, "%s[%zu]", *path, t->n_elements - 1);
    *path = element;
    return CUZK_OK;
}

/* Reads a key; its last part stays unentered. */
static cuzk_status take_key(parser *ps, const char **path, const char *prefix) {
    char text[24];
    *path = prefix;
    for (unsigned depth = 0;; depth++) {
        if (depth >= ZK_TOML_MAX_DEPTH) return fail(ps, "a key of more than %d parts", ZK_TOML_MAX_DEPTH);
        const char *part = NULL;
        size_t n = 0;
        skip_blanks(ps);
        if (peek(ps) == '"' || peek(ps) == '\'') {
            ZK_TRY(take_string(ps, &part, &n, false));
        } else {
            part = ps->p;
            while (is_bare(peek(ps))) ps->p++;
            n = (size_t)(ps->p - part);
            if (n == 0) return fail(ps, "found %s, expected a key", found(ps, text));
        }
        ZK_TRY(join(ps, path, *path, part, n));
        skip_blanks(ps);
        if (peek(ps) != '.') return CUZK_OK;
        ps->p++;
        ZK_TRY(enter(ps, path));
    }
}

/* ---- values ---- */

static cuzk_status take_value(parser *ps, zk_toml_value *value, unsigned depth);
static cuzk_status take_pair(parser *ps, const char *prefix, unsigned depth);

static bool digits_only(const char *text, const char *allowed) { return *text && text[strspn(text, allowed)] == 0; }

static cuzk_status to_number(parser *ps, zk_toml_value *value, const char *text, const char *written) {
    static const struct {
        const char *prefix, *digits;
        int base;
    } bases[] = {{"0x", "0123456789abcdefABCDEF", 16}, {"0o", "01234567", 8}, {"0b", "01", 2}};
    char *stop = NULL;
    errno = 0;
    value->text = text;
    value->n = strlen(text);
    for (size_t i = 0; i < 3; i++) {
        if (strncmp(text, bases[i].prefix, 2) != 0) continue;
        if (!digits_only(text + 2, bases[i].digits)) return fail(ps, "found \"%s\", expected a number", written);
        value->kind = ZK_TOML_INTEGER;
        value->i64 = strtoll(text + 2, &stop, bases[i].base);
        return errno ? fail(ps, "%s does not fit 64 bits", written) : CUZK_OK;
    }
    const char *body = text + (*text == '+' || *text == '-');
    if (digits_only(body, "0123456789")) {
        if (body[0] == '0' && body[1]) return fail(ps, "found \"%s\": a number does not start with 0", written);
        value->kind = ZK_TOML_INTEGER;
        value->i64 = strtoll(text, &stop, 10);
        return errno ? fail(ps, "%s does not fit 64 bits", written) : CUZK_OK;
    }
    value->kind = ZK_TOML_FLOAT;
    if (strcmp(body, "inf") == 0 || strcmp(body, "nan") == 0) {
        value->f64 = body[0] == 'n' ? NAN : *text == '-' ? -INFINITY : INFINITY;
        return CUZK_OK;
    }
    size_t n_int = strspn(body, "0123456789"), n_frac = 0, at = n_int;
    bool good = n_int > 0 && (body[0] != '0' || n_int == 1);
    if (body[at] == '.') {
        n_frac = strspn(body + at + 1, "0123456789");
        good &= n_frac > 0;
        at += 1 + n_frac;
    }
    if (body[at] == 'e' || body[at] == 'E') {
        at++;
        if (body[at] == '+' || body[at] == '-') at++;
        size_t n_exp = strspn(body + at, "0123456789");
        good &= n_exp > 0;
        at += n_exp;
    }
    if (!good || body[at]) {
        bool date = n_int >= 2 && (body[n_int] == '-' || body[n_int] == ':');
        return fail(ps,
                    date ? "found \"%s\": dates and times have no use here"
                         : "found \"%s\", expected a value (text needs quotes)",
                    written);
    }
    value->f64 = strtod(text, &stop);
    return CUZK_OK;
}

static cuzk_status take_word(parser *ps, zk_toml_value *value) {
    char text[24];
    const char *start = ps->p;
    while (is_bare(peek(ps)) || peek(ps) == '+' || peek(ps) == '.' || peek(ps) == ':') ps->p++;
    size_t n = (size_t)(ps->p - start);
    if (n == 0) return fail(ps, "found %s, expected a value", found(ps, text));
    char *written = zk_arena_text(&ps->doc->arena, start, n), *plain = zk_arena_alloc(&ps->doc->arena, n + 1);
    if (!written || !plain) return no_memory(ps);
    if (strcmp(written, "true") == 0 || strcmp(written, "false") == 0) {
        value->kind = ZK_TOML_BOOL;
        value->b = written[0] == 't';
        value->text = written;
        value->n = n;
        return CUZK_OK;
    }
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (written[i] != '_') {
            plain[k++] = written[i];
        } else if (i == 0 || i + 1 == n || strchr("_+-.", written[i - 1]) || strchr("_+-.", written[i + 1])) {
            return fail(ps, "found \"%.60s\": an underscore stands between digits", written);
        }
    }
    plain[k] = 0;
    return to_number(ps, value, plain, written);
}

static cuzk_status take_array(parser *ps, zk_toml_value *value, unsigned depth) {
    zk_toml_value *items = NULL;
    size_t n = 0, capacity = 0;
    char text[24];
    cuzk_status status = CUZK_OK;
    ps->p++;
    ps->n_open++;
    for (;;) {
        ZK_GOTO(skip_lines(ps));
        if (peek(ps) == ']') break;
        if (n >= ZK_TOML_MAX_ENTRIES) ZK_GOTO(fail(ps, "an array of more than %d values", ZK_TOML_MAX_ENTRIES));
        if (!zk_grow((void **)&items, &capacity, n + 1, sizeof *items)) ZK_GOTO(no_memory(ps));
        if (peek(ps) == '{') ZK_GOTO(fail(ps, "tables in arrays have no use here"));
        ZK_GOTO(take_value(ps, &items[n], depth + 1));
        n++;
        ZK_GOTO(skip_lines(ps));
        if (peek(ps) == ',')
            ps->p++;
        else if (peek(ps) != ']')
            ZK_GOTO(fail(ps, "found %s in an array, expected ',' or ']'", found(ps, text)));
    }
    ps->p++;
    ps->n_open--;
    value->kind = ZK_TOML_ARRAY;
    value->n = n;
    value->text = "";
    value->items = zk_arena_alloc(&ps->doc->arena, (n ? n : 1) * sizeof *items);
    if (!value->items) ZK_GOTO(no_memory(ps));
    if (n) memcpy(value->items, items, n * sizeof *items);
out:
    free(items);
    return status;
}

static cuzk_status take_value(parser *ps, zk_toml_value *value, unsigned depth) {
    if (depth > ZK_TOML_MAX_DEPTH) return fail(ps, "values nested deeper than %d", ZK_TOML_MAX_DEPTH);
    *value = (zk_toml_value){.line = ps->line};
    switch (peek(ps)) {
    case '"':
    case '\'':
        value->kind = ZK_TOML_STRING;
        return take_string(ps, &value->text, &value->n, true);
    case '[':
        return take_array(ps, value, depth);
    default:
        return take_word(ps, value);
    }
}

static cuzk_status take_inline_table(parser *ps, const char *path, unsigned depth) {
    char text[24];
    table *t = NULL;
    ps->p++;
    ZK_TRY(add_table(ps, &t, path));
    skip_blanks(ps);
    while (peek(ps) != '}') {
        ZK_TRY(take_pair(ps, path, depth + 1));
        skip_blanks(ps);
        if (peek(ps) == ',') {
            ps->p++;
            skip_blanks(ps);
            if (peek(ps) == '}') return fail(ps, "found ',' before '}' in an inline table");
        } else if (peek(ps) != '}') {
            return fail(ps, "found %s in an inline table, expected ',' or '}'", found(ps, text));
        }
    }
    ps->p++;
    find_table(ps, path)->is_closed = true;
    return CUZK_OK;
}

static cuzk_status take_pair(parser *ps, const char *prefix, unsigned depth) {
    char text[24];
    const char *path = NULL;
    if (depth > ZK_TOML_MAX_DEPTH) return fail(ps, "tables nested deeper than %d", ZK_TOML_MAX_DEPTH);
    unsigned line = ps->line;
    ZK_TRY(take_key(ps, &path, prefix));
    if (peek(ps) != '=') return fail(ps, "found %s after the key \"%s\", expected '='", found(ps, text), path);
    const zk_toml_entry *before = find_entry(ps, path);
    if (before) return fail(ps, "\"%s\" is set a second time (before in line %u)", path, before->line);
    if (find_table(ps, path)) return fail(ps, "\"%s\" is a table already", path);
    ps->p++;
    skip_blanks(ps);
    if (peek(ps) == '{') return take_inline_table(ps, path, depth);
    if (ps->doc->n_entries >= ZK_TOML_MAX_ENTRIES) return too_many(ps, "values");
    zk_toml_entry entry = {.path = path, .line = line};
    ZK_TRY(take_value(ps, &entry.value, 1));
    if (ps->is_lost) return CUZK_OK;
    if (!zk_grow((void **)&ps->doc->entries, &ps->doc->max_entries, ps->doc->n_entries + 1, sizeof entry))
        return no_memory(ps);
    ps->doc->entries[ps->doc->n_entries++] = entry;
    return CUZK_OK;
}

/* At '['. */
static cuzk_status take_header(parser *ps) {
    char text[24];
    bool array = ps->end - ps->p >= 2 && ps->p[1] == '[';
    ps->p += array ? 2 : 1;
    const char *path = NULL;
    ps->is_lost = true;
    ZK_TRY(take_key(ps, &path, ""));
    for (unsigned i = 0; i < (array ? 2 : 1); i++) {
        if (peek(ps) != ']') return fail(ps, "found %s in a table's name, expected ']'", found(ps, text));
        ps->p++;
    }
    ps->prefix = path;
    ps->is_lost = false;
    const zk_toml_entry *entry = find_entry(ps, path);
    if (entry) return fail(ps, "\"%s\" already has a value in line %u, it cannot be a table", path, entry->line);
    table *t = find_table(ps, path);
    if (t && (t->is_closed || t->is_array != array || (t->is_explicit && !array)))
        return fail(ps, "the table [%s] is defined a second time", path);
    if (!t) ZK_TRY(add_table(ps, &t, path));
    t->is_explicit = true;
    t->is_array = array;
    if (array) {
        t->n_elements++;
        ZK_TRY(enter(ps, &path));
    }
    ps->prefix = path;
    return end_of_line(ps, "a table's name");
}

/* ---- going on ---- */

static const char *line_end(const parser *ps, const char *at) {
    const char *end = memchr(at, '\n', (size_t)(ps->end - at));
    return end ? end : ps->end;
}

/* Whether the line that starts there is a table's name, or a key with a value. */
static bool begins_something(const parser *ps, const char *at) {
    const char *end = line_end(ps, at);
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    bool header = at < end && *at == '[';
    while (at < end && *at == '[') at++;
    const char *key = at;
    while (at < end && (is_bare((unsigned char)*at) || strchr(".\"' \t", *at))) at++;
    if (at == key || at == end || *at != (header ? ']' : '=')) return false;
    while (header && at < end && strchr("] \t\r", *at)) at++;
    return !header || at == end || *at == '#';
}

/* Behind the line of a failure. Where an array was open its other lines are no pairs; but the line itself may be the
 * next one's already, if its end was forgotten. */
static void skip_failure(parser *ps) {
    const char *at = ps->p;
    while (at > ps->begin && at[-1] != '\n') at--;
    bool again = ps->n_open > 0 && at > ps->begin && begins_something(ps, at);
    while (!again) {
        at = line_end(ps, at);
        if (at == ps->end) break;
        at++;
        ps->line++;
        again = ps->n_open == 0 || begins_something(ps, at);
    }
    ps->n_open = 0;
    ps->p = at;
}

static cuzk_status take_statement(parser *ps) {
    ZK_TRY(skip_lines(ps));
    ps->begin = ps->p;
    if (peek(ps) < 0) return CUZK_OK;
    if (peek(ps) == '[') return take_header(ps);
    ZK_TRY(take_pair(ps, ps->is_lost ? "?" : ps->prefix, 1));
    return end_of_line(ps, "a value");
}

cuzk_status zk_toml_parse(zk_toml **doc, const char *text, size_t n_text, const char *name, cuzk_err *err) {
    return zk_toml_parse_on(doc, text, n_text, name, NULL, NULL, err);
}

cuzk_status zk_toml_parse_on(zk_toml **doc, const char *text, size_t n_text, const char *name, zk_toml_wrong_fn wrong,
                             void *ctx, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    *doc = NULL;
    zk_toml *d = zk_calloc(1, sizeof *d);
    if (!d) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory", name);
    d->arena.max_bytes = (size_t)64 << 20;
    parser ps = {.doc = d, .name = name, .p = text, .end = text + n_text, .line = 1, .prefix = "", .err = err};
    ps.scratch = zk_malloc(n_text + 1);
    if (!ps.scratch) ZK_GOTO(no_memory(&ps));
    if (n_text > ZK_TOML_MAX_BYTES)
        ZK_GOTO(fail(&ps, "the file has %zu bytes, at most %zu are read", n_text, ZK_TOML_MAX_BYTES));
    size_t at = zk_utf8_valid_bytes(text, n_text);
    if (at < n_text) {
        for (size_t i = 0; i < at; i++) ps.line += text[i] == '\n';
        ZK_GOTO(fail(&ps, "the text is not UTF-8 (byte 0x%02x)", (unsigned char)text[at]));
    }
    static const char mark[] = {'\xef', '\xbb', '\xbf'}; /* of the order of bytes: some editors begin a file so */
    if (n_text >= sizeof mark && memcmp(text, mark, sizeof mark) == 0) ps.p += sizeof mark;
    while (peek(&ps) >= 0 && !ps.is_full) {
        ps.begin = ps.p;
        status = take_statement(&ps);
        if (status == CUZK_BAD_INPUT && wrong) {
            status = wrong(ctx, ps.line, err);
            skip_failure(&ps);
        }
        if (status != CUZK_OK) goto out;
    }
    *doc = d;
    d = NULL;
out:
    free(ps.tables);
    free(ps.scratch);
    zk_toml_destroy(d);
    return status;
}

void zk_toml_destroy(zk_toml *doc) {
    if (!doc) return;
    zk_arena_free(&doc->arena);
    free(doc->entries);
    free(doc);
}

size_t zk_toml_count(const zk_toml *doc) { return doc->n_entries; }
const zk_toml_entry *zk_toml_at(const zk_toml *doc, size_t i) { return &doc->entries[i]; }

const char *zk_toml_kind_text(zk_toml_kind kind) {
    static const char *const texts[] = {"a string", "an integer", "a float", "a boolean", "an array"};
    return (unsigned)kind < 5 ? texts[kind] : "a value";
}
