/* JSON documents read whole, for small files. All values live in one arena and are read-only. Beyond the rules of
 * json.h an object with two members of one name is refused. */
#ifndef ZK_BASE_JSON_DOM_H
#define ZK_BASE_JSON_DOM_H

#include "base/json.h"

typedef struct zk_json_doc zk_json_doc;
typedef struct zk_json_value zk_json_value;
typedef struct zk_json_member zk_json_member;

struct zk_json_value {
    zk_json_kind kind; /* ZK_JSON_OBJECT_BEGIN, _ARRAY_BEGIN, _STRING, _NUMBER, _TRUE, _FALSE, _NULL */
    bool is_u64;       /* number: integer below 2^64 written with digits only; value in u64, text NULL */
    uint64_t offset;   /* in the document, for messages */
    size_t n;          /* members, elements, or bytes of text */
    union {
        const char *text; /* string (decoded) or other number, zero-terminated */
        const zk_json_value *elements;
        const zk_json_member *members; /* in the document's order */
        uint64_t u64;
    };
};

struct zk_json_member {
    const char *name; /* zero-terminated */
    size_t n_name;
    zk_json_value value;
};

/* max_bytes bounds the memory of the document (0: 1 GiB), about 32 bytes a value and the text; reading takes up to the
 * same again. */
cuzk_status zk_json_parse(zk_json_doc **doc, const void *text, size_t n_text, size_t max_bytes,
                          cuzk_err *err) ZK_MUST_USE;
/* The same for a file of at most max_file_bytes; messages start with its path. */
cuzk_status zk_json_parse_file(zk_json_doc **doc, const char *path, size_t max_file_bytes, cuzk_err *err) ZK_MUST_USE;
void zk_json_doc_destroy(zk_json_doc *doc); /* NULL is fine */
const zk_json_value *zk_json_root(const zk_json_doc *doc);

/* Look-ups that chain: NULL in, of another kind, or not there gives NULL. */
const zk_json_value *zk_json_member_of(const zk_json_value *object, const char *name);
const zk_json_value *zk_json_element_of(const zk_json_value *array, size_t i);
size_t zk_json_count(const zk_json_value *container); /* members or elements; 0 for everything else */
bool zk_json_is(const zk_json_value *value, zk_json_kind kind);

/* Typed reads with errors. `what` names the value in messages ("alpha"); a NULL value is "missing"; a wrong kind says
 * kind and byte offset. CUZK_BAD_INPUT. */
cuzk_status zk_json_get_u64(uint64_t *out, const zk_json_value *value, uint64_t max, const char *what, cuzk_err *err);
/* Refuses what a double cannot hold: the result is finite. */
cuzk_status zk_json_get_double(double *out, const zk_json_value *value, const char *what, cuzk_err *err);
cuzk_status zk_json_get_bool(bool *out, const zk_json_value *value, const char *what, cuzk_err *err);
/* The text stays with the document and contains no zero byte. */
cuzk_status zk_json_get_string(const char **text, const zk_json_value *value, const char *what, cuzk_err *err);
/* A string of exactly 2 n_out hex digits. */
cuzk_status zk_json_get_hex(uint8_t *out, size_t n_out, const zk_json_value *value, const char *what, cuzk_err *err);
/* An array of exactly n_out integers 0..255. */
cuzk_status zk_json_get_bytes(uint8_t *out, size_t n_out, const zk_json_value *value, const char *what, cuzk_err *err);
/* The member `name` of `object`, which must be of this kind (ZK_JSON_DONE: any kind). */
cuzk_status zk_json_get_member(const zk_json_value **out, const zk_json_value *object, const char *name,
                               zk_json_kind kind, cuzk_err *err);

const char *zk_json_kind_text(zk_json_kind kind); /* "an object", "a string" ... */

#endif
