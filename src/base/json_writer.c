#include "base/json_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/utf8.h"

#define MAX_LEVELS 64

struct zk_json_writer {
    FILE *out;
    char *text;
    size_t n_text, capacity;
    unsigned indent, n_levels;
    bool is_object[MAX_LEVELS], is_empty[MAX_LEVELS];
    bool has_root;
    cuzk_err err;
};

zk_json_writer *zk_json_writer_create(FILE *out, unsigned indent) {
    zk_json_writer *w = zk_calloc(1, sizeof *w);
    if (!w) return NULL;
    w->out = out;
    w->indent = indent;
    return w;
}

void zk_json_writer_destroy(zk_json_writer *w) {
    if (!w) return;
    free(w->text);
    free(w);
}

static void emit(zk_json_writer *w, const char *text, size_t n) {
    if (w->err.status != CUZK_OK || n == 0) return;
    if (w->out) {
        errno = 0;
        if (fwrite(text, 1, n, w->out) != n)
            ZK_FAIL(&w->err, CUZK_IO, "json: cannot write: %s", errno ? strerror(errno) : "stream error");
        return;
    }
    size_t total;
    if (!zk_add_size(&total, w->n_text, n) || total == SIZE_MAX ||
        !zk_grow((void **)&w->text, &w->capacity, total + 1, 1)) {
        ZK_FAIL(&w->err, CUZK_OUT_OF_MEMORY, "json: no memory for a text of more than %zu bytes", w->n_text);
        return;
    }
    memcpy(w->text + w->n_text, text, n);
    w->n_text = total;
    w->text[total] = 0;
}

static void emit_literal(zk_json_writer *w, const char *text) { emit(w, text, strlen(text)); }

static void new_line(zk_json_writer *w) {
    if (!w->indent) return;
    emit_literal(w, "\n");
    for (size_t i = 0; i < (size_t)w->indent * w->n_levels; i++) emit(w, " ", 1);
}

static void emit_quoted(zk_json_writer *w, const char *text, size_t n_text) {
    const uint8_t *p = (const uint8_t *)text, *end = p + n_text, *run = p;
    emit(w, "\"", 1);
    while (p < end) {
        size_t n = zk_utf8_length(p, (size_t)(end - p));
        if (n && *p >= 0x20 && *p != '"' && *p != '\\' && *p != 0x7f) {
            p += n;
            continue;
        }
        emit(w, (const char *)run, (size_t)(p - run));
        char escape[8];
        static const char names[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
        const char *at = *p ? strchr(names, *p) : NULL;
        if (n == 0)
            memcpy(escape, "\xef\xbf\xbd", 4);
        else if (at)
            memcpy(escape, (const char[]){'\\', letters[at - names], 0}, 3);
        else
            snprintf(escape, sizeof escape, "\\u%04x", *p);
        emit_literal(w, escape);
        run = ++p;
    }
    emit(w, (const char *)run, (size_t)(p - run));
    emit(w, "\"", 1);
}

/* Everything in front of a value; false: the call does not fit. */
static bool begin_value(zk_json_writer *w, const char *key) {
    if (!w || w->err.status != CUZK_OK) return false;
    bool in_object = w->n_levels && w->is_object[w->n_levels - 1];
    if (in_object != (key != NULL) || (w->n_levels == 0 && w->has_root)) {
        ZK_FAIL(&w->err, CUZK_INTERNAL, "json: value with%s name (%.40s) where none fits", key ? " a" : "out a",
                key ? key : "");
        return false;
    }
    w->has_root = true;
    if (w->n_levels) {
        if (!w->is_empty[w->n_levels - 1]) emit_literal(w, ",");
        w->is_empty[w->n_levels - 1] = false;
        new_line(w);
    }
    if (key) {
        emit_quoted(w, key, strlen(key));
        emit_literal(w, w->indent ? ": " : ":");
    }
    return w->err.status == CUZK_OK;
}

static void begin_container(zk_json_writer *w, const char *key, bool object) {
    if (!begin_value(w, key)) return;
    if (w->n_levels == MAX_LEVELS) {
        ZK_FAIL(&w->err, CUZK_INTERNAL, "json: more than %d levels written", MAX_LEVELS);
        return;
    }
    emit_literal(w, object ? "{" : "[");
    w->is_object[w->n_levels] = object;
    w->is_empty[w->n_levels++] = true;
}

void zk_json_begin_object(zk_json_writer *w, const char *key) { begin_container(w, key, true); }
void zk_json_begin_array(zk_json_writer *w, const char *key) { begin_container(w, key, false); }

void zk_json_end(zk_json_writer *w) {
    if (!w || w->err.status != CUZK_OK) return;
    if (w->n_levels == 0) {
        ZK_FAIL(&w->err, CUZK_INTERNAL, "json: end of a container that is not open");
        return;
    }
    w->n_levels--;
    if (!w->is_empty[w->n_levels]) new_line(w);
    emit_literal(w, w->is_object[w->n_levels] ? "}" : "]");
}

void zk_json_put_text(zk_json_writer *w, const char *key, const char *text, size_t n_text) {
    if (begin_value(w, key)) emit_quoted(w, text, n_text);
}

void zk_json_put_string(zk_json_writer *w, const char *key, const char *text) {
    if (text)
        zk_json_put_text(w, key, text, strlen(text));
    else
        zk_json_put_null(w, key);
}

void zk_json_put_raw(zk_json_writer *w, const char *key, const char *text, size_t n_text) {
    if (begin_value(w, key)) emit(w, text, n_text);
}

void zk_json_put_u64(zk_json_writer *w, const char *key, uint64_t value) {
    char text[24];
    zk_json_put_raw(w, key, text, (size_t)snprintf(text, sizeof text, "%" PRIu64, value));
}

void zk_json_put_i64(zk_json_writer *w, const char *key, int64_t value) {
    char text[24];
    zk_json_put_raw(w, key, text, (size_t)snprintf(text, sizeof text, "%" PRId64, value));
}

void zk_json_put_double(zk_json_writer *w, const char *key, double value) {
    if (!isfinite(value)) {
        zk_json_put_null(w, key);
        return;
    }
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    zk_json_put_raw(w, key, text, strlen(text));
}

void zk_json_put_bool(zk_json_writer *w, const char *key, bool value) {
    zk_json_put_raw(w, key, value ? "true" : "false", value ? 4 : 5);
}

void zk_json_put_null(zk_json_writer *w, const char *key) { zk_json_put_raw(w, key, "null", 4); }

void zk_json_put_hex(zk_json_writer *w, const char *key, const uint8_t *data, size_t n) {
    if (!begin_value(w, key)) return;
    char text[129];
    emit(w, "\"", 1);
    for (size_t i = 0; i < n; i += 64) {
        size_t k = zk_min_size(n - i, 64);
        zk_hex_encode(text, data + i, k);
        emit(w, text, 2 * k);
    }
    emit(w, "\"", 1);
}

cuzk_status zk_json_writer_finish(zk_json_writer *w, cuzk_err *err) {
    if (!w) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "json: no memory for a writer");
    if (w->n_levels || !w->has_root) ZK_FAIL(&w->err, CUZK_INTERNAL, "json: ended with %u open levels", w->n_levels);
    if (w->out) {
        emit_literal(w, "\n");
        errno = 0;
        if (fflush(w->out) != 0) ZK_FAIL(&w->err, CUZK_IO, "json: cannot write: %s", strerror(errno));
    }
    if (w->err.status != CUZK_OK && err && err->status == CUZK_OK) *err = w->err;
    return w->err.status;
}

const char *zk_json_writer_text(const zk_json_writer *w, size_t *n_text) {
    if (n_text) *n_text = w ? w->n_text : 0;
    return w && w->text ? w->text : "";
}
