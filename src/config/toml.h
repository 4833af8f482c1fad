/* TOML 1.0 as far as configuration files need it: tables, arrays of tables, dotted and quoted keys, strings of all four
 * forms, integers, floats, booleans, arrays, inline tables. Dates and times are refused.
 *
 * The document is flat: each value has its full path ("memory.total_budget", "peer[0].name"), in the file's order.
 * Strict: a key or table defined twice, a value where a table is, text after a value, control characters and text that
 * is not UTF-8 are errors. Failures are CUZK_BAD_INPUT "NAME:LINE: found ..., expected ...".
 */
#ifndef ZK_CONFIG_TOML_H
#define ZK_CONFIG_TOML_H

#include "base/status.h"

#define ZK_TOML_MAX_BYTES ((size_t)1 << 20)
#define ZK_TOML_MAX_ENTRIES 4096
#define ZK_TOML_MAX_DEPTH 16

typedef enum zk_toml_kind {
    ZK_TOML_STRING,
    ZK_TOML_INTEGER,
    ZK_TOML_FLOAT,
    ZK_TOML_BOOL,
    ZK_TOML_ARRAY, /* of any values but tables */
} zk_toml_kind;

typedef struct zk_toml_value {
    zk_toml_kind kind;
    unsigned line;
    const char *text; /* decoded string, or the number as written without underscores; zero-terminated */
    size_t n;         /* bytes of text, or elements */
    union {
        int64_t i64;
        double f64;
        bool b;
        struct zk_toml_value *items;
    };
} zk_toml_value;

typedef struct zk_toml_entry {
    const char *path; /* a part that is no bare key is quoted as JSON would */
    unsigned line;
    zk_toml_value value;
} zk_toml_entry;

typedef struct zk_toml zk_toml;

/* `name` stands in messages. Limits: the constants above. */
cuzk_status zk_toml_parse(zk_toml **doc, const char *text, size_t n_text, const char *name, cuzk_err *err) ZK_MUST_USE;
/* The same, for who wants to know all that is wrong: `wrong` gets the failure of a line, lines in their order; if it
 * returns OK what follows is read. Values under a table's name that is wrong are read for errors alone. */
typedef cuzk_status (*zk_toml_wrong_fn)(void *ctx, unsigned line, cuzk_err *err);
cuzk_status zk_toml_parse_on(zk_toml **doc, const char *text, size_t n_text, const char *name, zk_toml_wrong_fn wrong,
                             void *ctx, cuzk_err *err) ZK_MUST_USE;
void zk_toml_destroy(zk_toml *doc); /* NULL is fine */
size_t zk_toml_count(const zk_toml *doc);
const zk_toml_entry *zk_toml_at(const zk_toml *doc, size_t i);
const char *zk_toml_kind_text(zk_toml_kind kind); /* "a string" ... */

#endif
