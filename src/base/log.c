#include "base/log.h"

#include "base/json_writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_LINE 4096

_Atomic int zk_log_min_level = ZK_LOG_WARN;
static atomic_int log_fd = 2, log_format = ZK_LOG_FORMAT_LOGFMT;
static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER; /* lines do not mix, even when a write comes out short */
static _Thread_local const zk_log_context *thread_context;

static const char *const level_names[] = {"debug", "info", "warn", "error", "off"};

void zk_log_set_level(zk_log_level level) { atomic_store(&zk_log_min_level, (int)level); }
void zk_log_set_fd(int fd) { atomic_store(&log_fd, fd); }
void zk_log_set_format(zk_log_format format) { atomic_store(&log_format, (int)format); }

bool zk_log_level_parse(zk_log_level *level, const char *text) {
    for (int i = 0; i <= ZK_LOG_OFF; i++)
        if (strcmp(text, level_names[i]) == 0) {
            *level = (zk_log_level)i;
            return true;
        }
    return false;
}

/* Text of bounded length: all or nothing for each piece, so that a cut line stays well-formed. */
typedef struct line {
    char *text;
    size_t n, capacity;
    bool full;
} line;

static void put(line *l, const char *text, size_t n) {
    if (l->full || n > l->capacity - l->n) {
        l->full = true;
        return;
    }
    memcpy(l->text + l->n, text, n);
    l->n += n;
}

static void put_key(line *l, const char *key) {
    for (const char *p = key; *p; p++) {
        bool plain =
            (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || strchr("_-./", *p);
        put(l, plain ? p : "_", 1);
    }
    put(l, "=", 1);
}

static void put_value(line *l, const char *text) {
    bool quote = *text == 0;
    for (const unsigned char *p = (const unsigned char *)text; *p && !quote; p++)
        quote = *p <= ' ' || *p == '=' || *p == '"' || *p == '\\' || *p >= 0x7f;
    if (!quote) {
        put(l, text, strlen(text));
        return;
    }
    put(l, "\"", 1);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        char escape[8];
        if (*p == '"' || *p == '\\')
            put(l, (const char[]){'\\', (char)*p}, 2);
        else if (*p == '\n')
            put(l, "\\n", 2);
        else if (*p == '\t')
            put(l, "\\t", 2);
        else if (*p < ' ' || *p == 0x7f)
            put(l, escape, (size_t)snprintf(escape, sizeof escape, "\\x%02x", *p));
        else
            put(l, (const char *)p, 1);
    }
    put(l, "\"", 1);
}

static void put_field(line *l, const zk_kv *field) {
    size_t before = l->n;
    char text[40];
    put(l, " ", 1);
    put_key(l, field->key);
    switch (field->kind) {
    case ZK_KV_STR:
        put_value(l, field->str ? field->str : "");
        break;
    case ZK_KV_U64:
        put(l, text, (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)field->u64));
        break;
    case ZK_KV_I64:
        put(l, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)field->i64));
        break;
    case ZK_KV_DOUBLE:
        put(l, text, (size_t)snprintf(text, sizeof text, "%.6g", field->f64));
        break;
    case ZK_KV_BOOL:
        put_value(l, field->u64 ? "true" : "false");
        break;
    case ZK_KV_HEX:
        for (size_t i = 0; i < field->n && !l->full; i++) {
            snprintf(text, sizeof text, "%02x", field->hex[i]);
            put(l, text, 2);
        }
        break;
    }
    if (l->full) l->n = before;
}

void zk_log_context_add(zk_log_context *context, zk_kv field) {
    line l = {context->text, context->n, sizeof context->text, false};
    put_field(&l, &field);
    context->n = l.n;
}

const zk_log_context *zk_log_context_use(const zk_log_context *context) {
    const zk_log_context *before = thread_context;
    thread_context = context;
    return before;
}

static void put_head(line *l, zk_log_level level, const char *message) {
    struct timespec now;
    struct tm utc;
    char text[48];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    n += (size_t)snprintf(text + n, sizeof text - n, ".%03ldZ", now.tv_nsec / 1000000);
    put(l, "level=", 6);
    put(l, level_names[level], strlen(level_names[level]));
    put(l, " ts=", 4);
    put(l, text, n);
    put(l, " msg=", 5);
    size_t before = l->n;
    put_value(l, message);
    if (!l->full) return;
    /* A message longer than the line is cut, the rest of the line stays empty. */
    l->n = before;
    l->full = false;
    char cut[MAX_LINE / 8];
    snprintf(cut, sizeof cut, "%s", message);
    put_value(l, cut);
    l->full = true;
}

/* ---- JSON, from the line as logfmt has it ---- */

/* A number as JSON writes it. */
static bool is_json_number(const char *s, size_t n) {
    size_t i = n > 0 && s[0] == '-', digits = i;
    while (i < n && s[i] >= '0' && s[i] <= '9') i++;
    if (i == digits || (s[digits] == '0' && i > digits + 1)) return false;
    if (i < n && s[i] == '.') {
        size_t from = ++i;
        while (i < n && s[i] >= '0' && s[i] <= '9') i++;
        if (i == from) return false;
    }
    if (i < n && s[i] == 'e') {
        i++;
        if (i < n && (s[i] == '+' || s[i] == '-')) i++;
        size_t from = i;
        while (i < n && s[i] >= '0' && s[i] <= '9') i++;
        if (i == from) return false;
    }
    return i == n;
}

/* A quoted value of put_value, decoded in place; *end is set behind the closing quote. */
static size_t unquote(char *text, const char *p, const char *end, const char **after) {
    size_t n = 0;
    for (p++; p < end && *p != '"'; p++) {
        if (*p != '\\' || p + 1 >= end) {
            text[n++] = *p;
            continue;
        }
        p++;
        unsigned value = 0;
        if (*p == 'x' && p + 2 < end && sscanf(p + 1, "%2x", &value) == 1) {
            text[n++] = (char)value;
            p += 2;
        } else {
            text[n++] = (char)(*p == 'n' ? '\n' : *p == 't' ? '\t' : *p);
        }
    }
    *after = p < end ? p + 1 : end;
    return n;
}

static void put_json(zk_json_writer *json, const char *p, const char *end) {
    char key[MAX_LINE], text[MAX_LINE];
    zk_json_begin_object(json, NULL);
    while (p < end) {
        const char *equals = memchr(p, '=', (size_t)(end - p));
        if (!equals) break; /* the mark of a line that was cut */
        size_t n_key = (size_t)(equals - p), n = 0;
        memcpy(key, p, n_key);
        key[n_key] = 0;
        p = equals + 1;
        if (p < end && *p == '"') {
            n = unquote(text, p, end, &p);
            zk_json_put_text(json, key, text, n);
        } else {
            const char *space = memchr(p, ' ', (size_t)(end - p));
            n = (size_t)((space ? space : end) - p);
            if (is_json_number(p, n))
                zk_json_put_raw(json, key, p, n);
            else if ((n == 4 && memcmp(p, "true", 4) == 0) || (n == 5 && memcmp(p, "false", 5) == 0))
                zk_json_put_bool(json, key, n == 4);
            else
                zk_json_put_text(json, key, p, n);
            p += n;
        }
        while (p < end && *p == ' ') p++;
    }
    zk_json_end(json);
}

static void write_line(const char *text, size_t n_text) {
    int fd = atomic_load(&log_fd), saved = errno;
    pthread_mutex_lock(&log_mutex);
    for (size_t done = 0; done < n_text;) {
        ssize_t n = write(fd, text + done, n_text - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            break; /* a log that cannot be written must not stop the work */
    }
    pthread_mutex_unlock(&log_mutex);
    errno = saved;
}

static bool write_json(const char *text, size_t n_text) {
    zk_json_writer *json = zk_json_writer_create(NULL, 0);
    put_json(json, text, text + n_text);
    bool good = zk_json_writer_finish(json, NULL) == CUZK_OK;
    if (good) {
        size_t n = 0;
        const char *body = zk_json_writer_text(json, &n);
        char line_text[6 * MAX_LINE + 64]; /* every byte escaped */
        good = n < sizeof line_text;
        if (good) {
            memcpy(line_text, body, n);
            line_text[n++] = '\n';
            write_line(line_text, n);
        }
    }
    zk_json_writer_destroy(json);
    return good;
}

void zk_log_write(zk_log_level level, const char *message, const zk_kv *fields, size_t n_fields) {
    char text[MAX_LINE];
    if ((unsigned)level >= ZK_LOG_OFF) level = ZK_LOG_ERROR;
    line l = {text, 0, sizeof text - 5, false};
    put_head(&l, level, message);
    if (thread_context) put(&l, thread_context->text, thread_context->n);
    for (size_t i = 0; i < n_fields && !l.full; i++) put_field(&l, &fields[i]);
    if (l.full) {
        memcpy(text + l.n, " ...", 4);
        l.n += 4;
    }
    if (atomic_load(&log_format) == ZK_LOG_FORMAT_JSON && write_json(text, l.n)) return;
    text[l.n++] = '\n';
    write_line(text, l.n);
}
