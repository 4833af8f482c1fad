/* Server reflection, v1 and v1alpha (their messages are alike): answers from the embedded FileDescriptorSet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/call.h"
#include "rpc/descriptors.h"

/* Field numbers of descriptor.proto. */
enum { SET_FILE = 1, FILE_NAME = 1, FILE_PACKAGE = 2, FILE_MESSAGE = 4, FILE_ENUM = 5, FILE_SERVICE = 6 };
enum { ANY_NAME = 1, MESSAGE_FIELD = 2, MESSAGE_NESTED = 3, MESSAGE_ENUM = 4, ENUM_VALUE = 2, SERVICE_METHOD = 2 };
/* Of reflection.proto. */
enum { BY_FILENAME = 3, BY_SYMBOL = 4, BY_EXTENSION = 5, EXTENSION_NUMBERS = 6, LIST_SERVICES = 7 };
enum { ANSWER_FILES = 4, ANSWER_SERVICES = 6, ANSWER_ERROR = 7 };

typedef struct text {
    const char *s;
    size_t n;
} text;

static bool same(text a, const char *s, size_t n) { return a.n == n && memcmp(a.s, s, n) == 0; }

/* The first BYTES field of that number. */
static text member(const uint8_t *data, size_t n, uint32_t number) {
    zk_pb_reader r = {data, data + n, false};
    zk_pb_field f;
    while (zk_pb_next(&r, &f))
        if (zk_pb_is(&f, number, ZK_PB_BYTES)) return (text){(const char *)f.data, f.n};
    return (text){"", 0};
}

/* Takes "name" or "name." off the front of the symbol; false if it starts otherwise. */
static bool strip(text *symbol, text name) {
    if (name.n == 0) return true;
    if (symbol->n < name.n || memcmp(symbol->s, name.s, name.n) != 0) return false;
    if (symbol->n == name.n) {
        symbol->n = 0;
        return true;
    }
    if (symbol->s[name.n] != '.') return false;
    symbol->s += name.n + 1;
    symbol->n -= name.n + 1;
    return true;
}

/* Whether an element (message, enum, service, field ...) or something inside it has this name. `kind` is the field
 * number in the enclosing descriptor, `file` whether that is a file. */
static bool contains(const zk_pb_field *element, bool file, text symbol) {
    text name = member(element->data, element->n, ANY_NAME);
    if (name.n == 0 || !strip(&symbol, name)) return false;
    if (symbol.n == 0) return true;
    bool is_message = file ? element->number == FILE_MESSAGE : element->number == MESSAGE_NESTED;
    zk_pb_reader r = {element->data, element->data + element->n, false};
    zk_pb_field f;
    while (zk_pb_next(&r, &f)) {
        if (f.type != ZK_PB_BYTES) continue;
        bool descend = is_message ? f.number >= MESSAGE_FIELD && f.number <= MESSAGE_ENUM : f.number == ENUM_VALUE;
        if (descend && contains(&f, false, symbol)) return true;
    }
    return false;
}

static bool file_has_symbol(const zk_pb_field *file, text symbol) {
    if (!strip(&symbol, member(file->data, file->n, FILE_PACKAGE)) || symbol.n == 0) return false;
    zk_pb_reader r = {file->data, file->data + file->n, false};
    zk_pb_field f;
    while (zk_pb_next(&r, &f))
        if (f.type == ZK_PB_BYTES && f.number >= FILE_MESSAGE && f.number <= FILE_SERVICE && contains(&f, true, symbol))
            return true;
    return false;
}

static bool find_file(zk_pb_field *file, bool by_symbol, text wanted) {
    zk_pb_reader r = {zk_rpc_descriptors, zk_rpc_descriptors + zk_rpc_descriptors_bytes, false};
    while (zk_pb_next(&r, file)) {
        text name = member(file->data, file->n, FILE_NAME);
        if (by_symbol ? file_has_symbol(file, wanted) : same(name, wanted.s, wanted.n)) return true;
    }
    return false;
}

static void put_error(zk_pb_writer *w, int code, const char *message) {
    zk_pb_writer e = {0};
    zk_pb_put_varint(&e, 1, (uint64_t)code);
    zk_pb_put_text(&e, 2, message);
    zk_pb_put_bytes(w, ANSWER_ERROR, e.data, e.n);
    w->failed |= e.failed;
    free(e.data);
}

static void put_services(zk_pb_writer *w) {
    zk_pb_writer list = {0};
    zk_pb_reader files = {zk_rpc_descriptors, zk_rpc_descriptors + zk_rpc_descriptors_bytes, false};
    zk_pb_field file, f;
    while (zk_pb_next(&files, &file)) {
        text package = member(file.data, file.n, FILE_PACKAGE);
        zk_pb_reader r = {file.data, file.data + file.n, false};
        while (zk_pb_next(&r, &f)) {
            if (!zk_pb_is(&f, FILE_SERVICE, ZK_PB_BYTES)) continue;
            text name = member(f.data, f.n, ANY_NAME);
            char full[200];
            snprintf(full, sizeof full, "%.*s.%.*s", (int)package.n, package.s, (int)name.n, name.s);
            zk_pb_writer service = {0};
            zk_pb_put_text(&service, 1, full);
            zk_pb_put_bytes(&list, 1, service.data, service.n);
            list.failed |= service.failed;
            free(service.data);
        }
    }
    zk_pb_put_bytes(w, ANSWER_SERVICES, list.data, list.n);
    w->failed |= list.failed;
    free(list.data);
}

static void put_file(zk_pb_writer *w, bool by_symbol, text wanted) {
    zk_pb_field file;
    if (!find_file(&file, by_symbol, wanted)) {
        char message[200];
        snprintf(message, sizeof message, "no %s \"%.*s\" here", by_symbol ? "symbol" : "file",
                 (int)(wanted.n < 120 ? wanted.n : 120), wanted.s);
        put_error(w, GRPC_STATUS_NOT_FOUND, message);
        return;
    }
    zk_pb_writer files = {0};
    zk_pb_put_bytes(&files, 1, file.data, file.n);
    zk_pb_put_bytes(w, ANSWER_FILES, files.data, files.n);
    w->failed |= files.failed;
    free(files.data);
}

static void after_answer(zk_rpc_call *call, bool ok) {
    if (ok) zk_rpc_call_receive(call);
}

static void handle_info(zk_rpc_call *call) {
    if (!call->request) { /* the client has asked its last, or has gone */
        if (zk_rpc_call_claim(call)) zk_rpc_call_finish(call);
        return;
    }
    grpc_slice slice;
    if (!zk_rpc_call_flatten(call, &slice)) return;
    const uint8_t *data = GRPC_SLICE_START_PTR(slice);
    size_t n = GRPC_SLICE_LENGTH(slice);
    zk_pb_reader r = {data, data + n, false};
    zk_pb_field f, asked = {0};
    while (zk_pb_next(&r, &f))
        if (f.type == ZK_PB_BYTES && f.number >= BY_FILENAME && f.number <= LIST_SERVICES) asked = f;
    if (r.bad) {
        grpc_slice_unref(slice);
        if (zk_rpc_call_claim(call))
            zk_rpc_call_fail(call, GRPC_STATUS_INVALID_ARGUMENT, "the message is no ServerReflectionRequest");
        return;
    }
    zk_pb_writer w = {0};
    text host = member(data, n, 1), wanted = {(const char *)asked.data, asked.n};
    zk_pb_put_bytes(&w, 1, host.s, host.n);
    zk_pb_put_bytes(&w, 2, data, n);
    if (asked.number == BY_FILENAME || asked.number == BY_SYMBOL)
        put_file(&w, asked.number == BY_SYMBOL, wanted);
    else if (asked.number == LIST_SERVICES)
        put_services(&w);
    else if (asked.number == BY_EXTENSION || asked.number == EXTENSION_NUMBERS)
        put_error(&w, GRPC_STATUS_NOT_FOUND, "there are no extensions here");
    else
        put_error(&w, GRPC_STATUS_INVALID_ARGUMENT, "nothing is asked");
    grpc_slice_unref(slice);
    if (w.failed) {
        free(w.data);
        zk_rpc_call_fail_err(call, CUZK_OUT_OF_MEMORY, &(cuzk_err){0});
        return;
    }
    zk_rpc_call_send(call, zk_rpc_slice_of(&w), after_answer);
}

static const zk_rpc_method methods[] = {
    {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", handle_info, false, true},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", handle_info, false, true},
};
const zk_rpc_method *const zk_rpc_reflection_methods = methods;
const size_t zk_rpc_n_reflection_methods = sizeof methods / sizeof methods[0];
