/* JSON output, to a stream or a growing buffer. Commas, colons and escapes are the writer's business; the caller's
 * calls must nest (a call that does not fit the grammar is remembered as CUZK_INTERNAL). */
#ifndef ZK_BASE_JSON_WRITER_H
#define ZK_BASE_JSON_WRITER_H

#include <stdio.h>

#include "base/status.h"

typedef struct zk_json_writer zk_json_writer;

/* out NULL: into memory, see zk_json_writer_text. indent 0: one line; else spaces per level. NULL when out of memory;
 * every function below accepts a NULL writer and does nothing, and zk_json_writer_finish then reports it. */
zk_json_writer *zk_json_writer_create(FILE *out, unsigned indent);
void zk_json_writer_destroy(zk_json_writer *writer);

/* Each writes one value; inside an object `key` is required, inside an array and at the top it must be NULL. */
void zk_json_begin_object(zk_json_writer *writer, const char *key);
void zk_json_begin_array(zk_json_writer *writer, const char *key);
void zk_json_end(zk_json_writer *writer);                                           /* the innermost object or array */
void zk_json_put_string(zk_json_writer *writer, const char *key, const char *text); /* NULL text: null */
/* Bytes that are not UTF-8 become U+FFFD. */
void zk_json_put_text(zk_json_writer *writer, const char *key, const char *text, size_t n_text);
void zk_json_put_u64(zk_json_writer *writer, const char *key, uint64_t value);
void zk_json_put_i64(zk_json_writer *writer, const char *key, int64_t value);
/* Shortest text that reads back as the same number; infinities and NaN become null. */
void zk_json_put_double(zk_json_writer *writer, const char *key, double value);
void zk_json_put_bool(zk_json_writer *writer, const char *key, bool value);
void zk_json_put_null(zk_json_writer *writer, const char *key);
void zk_json_put_hex(zk_json_writer *writer, const char *key, const uint8_t *data, size_t n); /* string, lower case */
/* A value that already is JSON text (a trace, a nested document). */
void zk_json_put_raw(zk_json_writer *writer, const char *key, const char *text, size_t n_text);

/* Ends the document: a newline for a stream, and the first failure since creation, among them open containers
 * (CUZK_INTERNAL), a stream error (CUZK_IO) and lack of memory. */
cuzk_status zk_json_writer_finish(zk_json_writer *writer, cuzk_err *err) ZK_MUST_USE;
/* Memory writers: the text so far, zero-terminated, owned by the writer. */
const char *zk_json_writer_text(const zk_json_writer *writer, size_t *n_text);

#endif
