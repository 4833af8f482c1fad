#include "base/json_dom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/file.h"

struct zk_json_doc {
    zk_arena arena;
    zk_json_value root;
};

/* Containers in the making: their finished members and elements wait on one stack until the container ends, then move
 * into the arena as one array. */
typedef struct frame {
    zk_json_kind kind;
    uint64_t offset;
    size_t first; /* index on the stack */
} frame;

typedef struct builder {
    zk_json_doc *doc;
    zk_json_member *stack; /* elements use the value alone */
    size_t n_stack, stack_capacity;
    frame *frames;
    size_t n_frames, frames_capacity;
    const char *name; /* of the member whose value comes next */
    size_t n_name;
    char *text; /* string in the making */
    size_t n_text, text_capacity;
} builder;

static cuzk_status no_memory(uint64_t offset, cuzk_err *err) {
    return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "json: byte %llu: no memory left for the document",
                   (unsigned long long)offset);
}

static cuzk_status add_value(builder *b, zk_json_value value, cuzk_err *err) {
    if (b->n_frames == 0) {
        b->doc->root = value;
        return CUZK_OK;
    }
    if (b->n_stack >= b->doc->arena.max_bytes / sizeof *b->stack ||
        !zk_grow((void **)&b->stack, &b->stack_capacity, b->n_stack + 1, sizeof *b->stack))
        return no_memory(value.offset, err);
    b->stack[b->n_stack++] = (zk_json_member){b->name, b->n_name, value};
    return CUZK_OK;
}

static int compare_names(const void *a, const void *b) {
    const zk_json_member *x = *(const zk_json_member *const *)a, *y = *(const zk_json_member *const *)b;
    int order = memcmp(x->name, y->name, zk_min_size(x->n_name, y->n_name));
    return order ? order : (x->n_name > y->n_name) - (x->n_name < y->n_name);
}

static cuzk_status refuse_duplicates(const zk_json_member *members, size_t n, cuzk_err *err) {
    if (n < 2) return CUZK_OK;
    size_t n_bytes;
    const zk_json_member **sorted = zk_mul_size(&n_bytes, n, sizeof *sorted) ? zk_malloc(n_bytes) : NULL;
    if (!sorted) return no_memory(members->value.offset, err);
    cuzk_status status = CUZK_OK;
    for (size_t i = 0; i < n; i++) sorted[i] = &members[i];
    qsort(sorted, n, sizeof *sorted, compare_names);
    for (size_t i = 1; i < n && status == CUZK_OK; i++)
        if (compare_names(&sorted[i - 1], &sorted[i]) == 0)
            status = ZK_FAIL(
                err, CUZK_BAD_INPUT, "json: byte %llu: found a second member \"%.64s\", expected each name once",
                (unsigned long long)zk_max_size(sorted[i - 1]->value.offset, sorted[i]->value.offset), sorted[i]->name);
    free(sorted);
    return status;
}

static cuzk_status close_frame(builder *b, cuzk_err *err) {
    frame f = b->frames[--b->n_frames];
    zk_json_value value = {.kind = f.kind, .offset = f.offset, .n = b->n_stack - f.first};
    const zk_json_member *items = b->stack ? b->stack + f.first : NULL;
    if (value.n && f.kind == ZK_JSON_OBJECT_BEGIN) {
        ZK_TRY(refuse_duplicates(items, value.n, err));
        zk_json_member *members = zk_arena_calloc(&b->doc->arena, value.n, sizeof *members);
        if (!members) return no_memory(f.offset, err);
        memcpy(members, items, value.n * sizeof *members);
        value.members = members;
    } else if (value.n) {
        zk_json_value *elements = zk_arena_calloc(&b->doc->arena, value.n, sizeof *elements);
        if (!elements) return no_memory(f.offset, err);
        for (size_t i = 0; i < value.n; i++) elements[i] = items[i].value;
        value.elements = elements;
    }
    b->n_stack = f.first;
    /* The name of a member container was kept with its frame's slot below. */
    if (b->n_frames && b->frames[b->n_frames - 1].kind == ZK_JSON_OBJECT_BEGIN) {
        b->stack[b->n_stack - 1].value = value;
        return CUZK_OK;
    }
    return add_value(b, value, err);
}

static cuzk_status open_frame(builder *b, const zk_json_event *event, cuzk_err *err) {
    /* A member's name is needed again when its container ends: it waits on the stack as an unfinished member. */
    if (b->n_frames && b->frames[b->n_frames - 1].kind == ZK_JSON_OBJECT_BEGIN)
        ZK_TRY(add_value(b, (zk_json_value){.offset = event->offset}, err));
    if (!zk_grow((void **)&b->frames, &b->frames_capacity, b->n_frames + 1, sizeof *b->frames))
        return no_memory(event->offset, err);
    b->frames[b->n_frames++] = (frame){event->kind, event->offset, b->n_stack};
    return CUZK_OK;
}

static cuzk_status add_text(builder *b, const zk_json_event *event, cuzk_err *err) {
    if (event->first) b->n_text = 0;
    const char *text = event->text;
    if (!(event->first && event->last)) {
        if (b->doc->arena.max_bytes &&
            event->n_text > b->doc->arena.max_bytes - zk_min_size(b->n_text, b->doc->arena.max_bytes))
            return no_memory(event->offset, err);
        if (!zk_grow((void **)&b->text, &b->text_capacity, b->n_text + event->n_text, 1))
            return no_memory(event->offset, err);
        if (event->n_text) memcpy(b->text + b->n_text, event->text, event->n_text);
        b->n_text += event->n_text;
        text = b->text;
    } else {
        b->n_text = event->n_text;
    }
    if (!event->last) return CUZK_OK;
    text = zk_arena_text(&b->doc->arena, text, b->n_text);
    if (!text) return no_memory(event->offset, err);
    return add_value(b, (zk_json_value){.kind = ZK_JSON_STRING, .offset = event->offset, .n = b->n_text, .text = text},
                     err);
}

static cuzk_status add_event(builder *b, const zk_json_event *event, cuzk_err *err) {
    zk_json_value value = {.kind = event->kind, .offset = event->offset};
    switch (event->kind) {
    case ZK_JSON_OBJECT_BEGIN:
    case ZK_JSON_ARRAY_BEGIN:
        return open_frame(b, event, err);
    case ZK_JSON_OBJECT_END:
    case ZK_JSON_ARRAY_END:
        return close_frame(b, err);
    case ZK_JSON_KEY:
        b->name = zk_arena_text(&b->doc->arena, event->text, event->n_text);
        b->n_name = event->n_text;
        return b->name ? CUZK_OK : no_memory(event->offset, err);
    case ZK_JSON_STRING:
        return add_text(b, event, err);
    case ZK_JSON_NUMBER:
        value.n = event->n_text;
        value.is_u64 = event->is_u64;
        if (event->is_u64)
            value.u64 = event->u64;
        else if (!(value.text = zk_arena_text(&b->doc->arena, event->text, event->n_text)))
            return no_memory(event->offset, err);
        return add_value(b, value, err);
    default:
        return add_value(b, value, err);
    }
}

cuzk_status zk_json_parse(zk_json_doc **doc, const void *text, size_t n_text, size_t max_bytes, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_json *json = NULL;
    builder b = {.doc = zk_calloc(1, sizeof *b.doc)};
    *doc = NULL;
    if (!b.doc) return no_memory(0, err);
    b.doc->arena.max_bytes = max_bytes ? max_bytes : (size_t)1 << 30;
    zk_json_limits limits = {.max_key_bytes = 4096, .max_number_bytes = 4096};
    ZK_GOTO(zk_json_create(&json, &limits, err));
    zk_json_feed(json, text, n_text, true);
    for (;;) {
        zk_json_event event;
        ZK_GOTO(zk_json_next(json, &event, err));
        if (event.kind == ZK_JSON_DONE) break;
        ZK_GOTO(add_event(&b, &event, err));
    }
    *doc = b.doc;
    b.doc = NULL;
out:
    zk_json_destroy(json);
    free(b.stack);
    free(b.frames);
    free(b.text);
    zk_json_doc_destroy(b.doc);
    return status;
}

cuzk_status zk_json_parse_file(zk_json_doc **doc, const char *path, size_t max_file_bytes, cuzk_err *err) {
    uint8_t *data = NULL;
    size_t n = 0;
    *doc = NULL;
    ZK_TRY(zk_file_read_input(&data, &n, path, max_file_bytes, err));
    cuzk_status status = zk_json_parse(doc, data, n, 0, err);
    if (status != CUZK_OK) zk_err_prefix(err, "%s", path);
    free(data);
    return status;
}

void zk_json_doc_destroy(zk_json_doc *doc) {
    if (!doc) return;
    zk_arena_free(&doc->arena);
    free(doc);
}

const zk_json_value *zk_json_root(const zk_json_doc *doc) { return doc ? &doc->root : NULL; }

bool zk_json_is(const zk_json_value *value, zk_json_kind kind) { return value && value->kind == kind; }

const zk_json_value *zk_json_member_of(const zk_json_value *object, const char *name) {
    if (!zk_json_is(object, ZK_JSON_OBJECT_BEGIN)) return NULL;
    size_t n_name = strlen(name);
    for (size_t i = 0; i < object->n; i++)
        if (object->members[i].n_name == n_name && memcmp(object->members[i].name, name, n_name) == 0)
            return &object->members[i].value;
    return NULL;
}

const zk_json_value *zk_json_element_of(const zk_json_value *array, size_t i) {
    return zk_json_is(array, ZK_JSON_ARRAY_BEGIN) && i < array->n ? &array->elements[i] : NULL;
}

size_t zk_json_count(const zk_json_value *container) {
    return zk_json_is(container, ZK_JSON_ARRAY_BEGIN) || zk_json_is(container, ZK_JSON_OBJECT_BEGIN) ? container->n : 0;
}

const char *zk_json_kind_text(zk_json_kind kind) {
    switch (kind) {
    case ZK_JSON_OBJECT_BEGIN:
        return "an object";
    case ZK_JSON_ARRAY_BEGIN:
        return "an array";
    case ZK_JSON_STRING:
        return "a string";
    case ZK_JSON_NUMBER:
        return "a number";
    case ZK_JSON_TRUE:
        return "true";
    case ZK_JSON_FALSE:
        return "false";
    case ZK_JSON_NULL:
        return "null";
    case ZK_JSON_BYTES:
        return "an array of bytes";
    case ZK_JSON_KEY:
        return "a member name";
    case ZK_JSON_OBJECT_END:
    case ZK_JSON_ARRAY_END:
        return "the end of a container";
    default:
        return "the end of the text";
    }
}

static cuzk_status wrong(const zk_json_value *value, const char *expected, const char *what, cuzk_err *err) {
    if (!value) return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: missing, expected %s", what, expected);
    return ZK_FAIL(err, CUZK_BAD_INPUT, "%s (byte %llu): found %s, expected %s", what,
                   (unsigned long long)value->offset, zk_json_kind_text(value->kind), expected);
}

cuzk_status zk_json_get_u64(uint64_t *out, const zk_json_value *value, uint64_t max, const char *what, cuzk_err *err) {
    if (!zk_json_is(value, ZK_JSON_NUMBER)) return wrong(value, "an integer", what, err);
    if (!value->is_u64)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s (byte %llu): found %.40s, expected an integer from 0 to %llu", what,
                       (unsigned long long)value->offset, value->text, (unsigned long long)max);
    if (value->u64 > max)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s (byte %llu): found %llu, expected an integer from 0 to %llu", what,
                       (unsigned long long)value->offset, (unsigned long long)value->u64, (unsigned long long)max);
    *out = value->u64;
    return CUZK_OK;
}

cuzk_status zk_json_get_double(double *out, const zk_json_value *value, const char *what, cuzk_err *err) {
    if (!zk_json_is(value, ZK_JSON_NUMBER)) return wrong(value, "a number", what, err);
    double number = value->is_u64 ? (double)value->u64 : strtod(value->text, NULL);
    if (!isfinite(number))
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s (byte %llu): found %.40s, expected a number below 1.8e308", what,
                       (unsigned long long)value->offset, value->text);
    *out = number;
    return CUZK_OK;
}

cuzk_status zk_json_get_bool(bool *out, const zk_json_value *value, const char *what, cuzk_err *err) {
    if (!zk_json_is(value, ZK_JSON_TRUE) && !zk_json_is(value, ZK_JSON_FALSE))
        return wrong(value, "true or false", what, err);
    *out = value->kind == ZK_JSON_TRUE;
    return CUZK_OK;
}

cuzk_status zk_json_get_string(const char **text, const zk_json_value *value, const char *what, cuzk_err *err) {
    if (!zk_json_is(value, ZK_JSON_STRING)) return wrong(value, "a string", what, err);
    if (memchr(value->text, 0, value->n))
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s (byte %llu): found a zero byte in a string, expected none", what,
                       (unsigned long long)value->offset);
    *text = value->text;
    return CUZK_OK;
}

cuzk_status zk_json_get_hex(uint8_t *out, size_t n_out, const zk_json_value *value, const char *what, cuzk_err *err) {
    if (!zk_json_is(value, ZK_JSON_STRING)) return wrong(value, "a string of hexadecimal digits", what, err);
    if (value->n != 2 * n_out || !zk_hex_decode(out, n_out, value->text))
        return ZK_FAIL(err, CUZK_BAD_INPUT,
                       "%s (byte %llu): found %zu characters \"%.16s%s\", expected %zu hexadecimal digits", what,
                       (unsigned long long)value->offset, value->n, value->text, value->n > 16 ? "..." : "", 2 * n_out);
    return CUZK_OK;
}

cuzk_status zk_json_get_bytes(uint8_t *out, size_t n_out, const zk_json_value *value, const char *what, cuzk_err *err) {
    if (!zk_json_is(value, ZK_JSON_ARRAY_BEGIN)) return wrong(value, "an array of bytes", what, err);
    if (value->n != n_out)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s (byte %llu): found an array of %zu, expected %zu bytes", what,
                       (unsigned long long)value->offset, value->n, n_out);
    for (size_t i = 0; i < n_out; i++) {
        uint64_t byte = 0;
        ZK_TRY(zk_json_get_u64(&byte, &value->elements[i], 255, what, err));
        out[i] = (uint8_t)byte;
    }
    return CUZK_OK;
}

cuzk_status zk_json_get_member(const zk_json_value **out, const zk_json_value *object, const char *name,
                               zk_json_kind kind, cuzk_err *err) {
    if (!zk_json_is(object, ZK_JSON_OBJECT_BEGIN)) return wrong(object, "an object", name, err);
    const zk_json_value *value = zk_json_member_of(object, name);
    if (!value || (kind != ZK_JSON_DONE && value->kind != kind))
        return wrong(value, kind == ZK_JSON_DONE ? "a value" : zk_json_kind_text(kind), name, err);
    *out = value;
    return CUZK_OK;
}
