/* The encoding of protobuf messages, as far as small hand-written messages need it (health, reflection, descriptors).
 */
#ifndef ZK_RPC_PB_H
#define ZK_RPC_PB_H

#include "base/status.h"

typedef enum zk_pb_type { ZK_PB_VARINT = 0, ZK_PB_FIXED64 = 1, ZK_PB_BYTES = 2, ZK_PB_FIXED32 = 5 } zk_pb_type;

typedef struct zk_pb_field {
    uint32_t number;
    zk_pb_type type;
    uint64_t value;      /* of a number */
    const uint8_t *data; /* [n] of BYTES, in the message */
    size_t n;
} zk_pb_field;

/* Reads fields one after another: false at the end or, with *bad set, when the message is malformed. */
typedef struct zk_pb_reader {
    const uint8_t *p, *end;
    bool bad;
} zk_pb_reader;
bool zk_pb_next(zk_pb_reader *reader, zk_pb_field *field);
bool zk_pb_is(const zk_pb_field *field, uint32_t number, zk_pb_type type);

/* A growing message. Zero-initialise; `failed` once memory ran out (the data is then useless). free(data) at the end.
 */
typedef struct zk_pb_writer {
    uint8_t *data;
    size_t n, capacity;
    bool failed;
} zk_pb_writer;
void zk_pb_put_varint(zk_pb_writer *writer, uint32_t number, uint64_t value); /* also when 0 */
void zk_pb_put_bytes(zk_pb_writer *writer, uint32_t number, const void *data, size_t n);
void zk_pb_put_text(zk_pb_writer *writer, uint32_t number, const char *text);

#endif
