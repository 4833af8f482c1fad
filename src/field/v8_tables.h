/* Tables of the vocabulary of vectors (field/v8.h), for any CPU. */
#ifndef ZK_FIELD_V8_TABLES_H
#define ZK_FIELD_V8_TABLES_H

#include <stdint.h>

/* Entry m: the numbers of the bits of m, from the lowest on, a byte each. */
extern const uint64_t zk_v8_bits_of[256];

#endif
