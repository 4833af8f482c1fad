#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct status_row {
    const char *name, *text;
    cuzk_status_class cls;
    int exit_code;
} status_row;

static const status_row rows[] = {
#define X(name, cls, code, text) {#name, text, CUZK_CLASS_##cls, code},
    CUZK_STATUS_LIST(X)
#undef X
};

static const status_row *row_of(cuzk_status status) {
    size_t i = (size_t)status;
    return &rows[i < sizeof rows / sizeof rows[0] ? i : (size_t)CUZK_INTERNAL];
}

const char *cuzk_status_name(cuzk_status status) { return row_of(status)->name; }
const char *cuzk_status_text(cuzk_status status) { return row_of(status)->text; }
cuzk_status_class cuzk_status_classify(cuzk_status status) { return row_of(status)->cls; }
int cuzk_status_exit_code(cuzk_status status) { return row_of(status)->exit_code; }

cuzk_status zk_err_set(cuzk_err *err, cuzk_status status, const char *file, int line, const char *format, ...) {
    if (err && err->status == CUZK_OK) {
        err->status = status;
        err->file = file;
        err->line = line;
        va_list args;
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return status;
}

void zk_err_prefix(cuzk_err *err, const char *format, ...) {
    if (!err || err->status == CUZK_OK) return;
    char text[sizeof err->message];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof text) return;
    /* A message too long is cut at its end. */
    size_t at = (size_t)n, n_message = strlen(err->message);
    if (sizeof text - at < 4) return;
    text[at++] = ':';
    text[at++] = ' ';
    if (n_message > sizeof text - 1 - at) n_message = sizeof text - 1 - at;
    memcpy(text + at, err->message, n_message);
    text[at + n_message] = 0;
    memcpy(err->message, text, sizeof text);
}

void zk_err_reset(cuzk_err *err) {
    if (err) memset(err, 0, sizeof *err);
}
