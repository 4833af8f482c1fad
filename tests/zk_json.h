/* JSON for tests: reads a vector file into a tree. Trusts its input (the vectors of this tree); a malformed file ends
 * the case. The tree lives until the program ends. Numbers are kept as text and as double.
 *
 *   const zk_json *file = zk_json_load("primitives/field.json");
 *   const zk_json *mul = zk_json_get(zk_json_get(file, "fr"), "mul");
 *   for (size_t i = 0; i < mul->n; i++) use(zk_json_text(zk_json_at(mul, i)));
 */
#ifndef ZK_TEST_JSON_H
#define ZK_TEST_JSON_H

#include <ctype.h>

#include "zk_test.h"

typedef enum zk_json_kind {
    ZK_JSON_NULL,
    ZK_JSON_BOOL,
    ZK_JSON_NUMBER,
    ZK_JSON_STRING,
    ZK_JSON_ARRAY,
    ZK_JSON_OBJECT
} zk_json_kind;

typedef struct zk_json {
    zk_json_kind kind;
    bool truth;
    double number;
    const char *text; /* strings and numbers, NUL-terminated; escapes other than \" \\ \/ \n \t are not undone */
    size_t n;         /* children */
    struct zk_json *child;
    const char **key; /* objects */
} zk_json;

static inline char *zk_json_skip(char *s) {
    while (isspace((unsigned char)*s)) s++;
    return s;
}

static inline char *zk_json_parse_string(char *s, const char **text) {
    char *out = s + 1;
    *text = out;
    for (s++; *s != '"'; s++) {
        if (!*s) ZK_FAIL_CASE("json: string without end");
        if (*s == '\\' && strchr("\"\\/nt", s[1])) {
            s++;
            *out++ = *s == 'n' ? '\n' : *s == 't' ? '\t' : *s;
        } else {
            *out++ = *s;
        }
    }
    *out = 0;
    return s + 1;
}

static inline char *zk_json_parse(char *s, zk_json *r) {
    memset(r, 0, sizeof *r);
    s = zk_json_skip(s);
    if (*s == '{' || *s == '[') {
        char close = *s == '{' ? '}' : ']';
        r->kind = *s == '{' ? ZK_JSON_OBJECT : ZK_JSON_ARRAY;
        size_t room = 0;
        for (s = zk_json_skip(s + 1); *s != close; s = zk_json_skip(s)) {
            if (r->n == room) {
                room = room ? 2 * room : 8;
                r->child = realloc(r->child, room * sizeof *r->child);
                if (close == '}') r->key = realloc(r->key, room * sizeof *r->key);
                if (!r->child) ZK_FAIL_CASE("json: out of memory");
            }
            if (close == '}') {
                s = zk_json_skip(zk_json_parse_string(s, &r->key[r->n]));
                if (*s != ':') ZK_FAIL_CASE("json: ':' expected, found '%c'", *s);
                s++;
            }
            s = zk_json_skip(zk_json_parse(s, &r->child[r->n++]));
            if (*s == ',')
                s++;
            else if (*s != close)
                ZK_FAIL_CASE("json: ',' or '%c' expected, found '%c'", close, *s);
        }
        return s + 1;
    }
    if (*s == '"') {
        r->kind = ZK_JSON_STRING;
        return zk_json_parse_string(s, &r->text);
    }
    size_t length = strcspn(s, ",]} \t\r\n");
    char *copy = strndup(s, length);
    if (!copy || !length) ZK_FAIL_CASE("json: value expected");
    r->text = copy;
    if (strcmp(copy, "null") == 0) return s + length;
    r->kind = ZK_JSON_BOOL;
    r->truth = strcmp(copy, "true") == 0;
    if (r->truth || strcmp(copy, "false") == 0) return s + length;
    r->kind = ZK_JSON_NUMBER;
    r->number = strtod(copy, NULL);
    return s + length;
}

/* path: relative to the folder of the vectors. A file is read once. */
static inline const zk_json *zk_json_load(const char *path) {
    static struct loaded {
        struct loaded *next;
        char *name, *text;
        zk_json root;
    } * files;
    for (const struct loaded *f = files; f; f = f->next)
        if (strcmp(f->name, path) == 0) return &f->root;
    char name[4096];
    snprintf(name, sizeof name, "%s/%s", zk_test_vectors_dir(), path);
    FILE *in = fopen(name, "rb");
    if (!in) ZK_FAIL_CASE("cannot open %s", name);
    fseek(in, 0, SEEK_END);
    long size = ftell(in);
    rewind(in);
    struct loaded *file = calloc(1, sizeof *file);
    if (!file) ZK_FAIL_CASE("json: out of memory");
    file->next = files;
    file->name = strdup(path);
    file->text = malloc((size_t)size + 1);
    if (!file->name || !file->text || fread(file->text, 1, (size_t)size, in) != (size_t)size)
        ZK_FAIL_CASE("cannot read %s", name);
    file->text[size] = 0;
    fclose(in);
    zk_json_parse(file->text, &file->root);
    files = file;
    return &file->root;
}

/* NULL if the object has no such key. */
static inline const zk_json *zk_json_find(const zk_json *object, const char *key) {
    for (size_t i = 0; object->key && i < object->n; i++)
        if (strcmp(object->key[i], key) == 0) return &object->child[i];
    return NULL;
}

static inline const zk_json *zk_json_get(const zk_json *object, const char *key) {
    const zk_json *r = zk_json_find(object, key);
    if (!r) ZK_FAIL_CASE("json: no key %s", key);
    return r;
}

static inline const zk_json *zk_json_at(const zk_json *array, size_t i) {
    if (i >= array->n) ZK_FAIL_CASE("json: index %zu of %zu", i, array->n);
    return &array->child[i];
}

static inline const char *zk_json_text(const zk_json *value) {
    if (!value->text) ZK_FAIL_CASE("json: text expected");
    return value->text;
}

/* Hex text to exactly n bytes. */
static inline void zk_json_hex(uint8_t *bytes, size_t n, const zk_json *value) {
    const char *s = zk_json_text(value);
    if (strlen(s) != 2 * n) ZK_FAIL_CASE("json: %zu hex digits expected, found %zu", 2 * n, strlen(s));
    for (size_t i = 0; i < n; i++) {
        unsigned byte;
        if (sscanf(s + 2 * i, "%2x", &byte) != 1) ZK_FAIL_CASE("json: bad hex %s", s);
        bytes[i] = (uint8_t)byte;
    }
}

#endif
