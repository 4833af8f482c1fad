/* The dictionary of coefficients of a program under construction: each value once, found by hashing. */
#ifndef ZK_PROGRAM_COEFS_H
#define ZK_PROGRAM_COEFS_H

#include "base/status.h"
#include "field/fr.h"
#include "program/grow.h"

typedef struct zk_coefs {
    ZK_LIST(zk_fr) values;
    uint32_t *slots; /* [mask + 1] index + 1, 0 is free */
    size_t mask;
} zk_coefs;

/* With the small coefficients in their places (see zk_small_coef). */
cuzk_status zk_coefs_init(zk_coefs *coefs, cuzk_err *err) ZK_MUST_USE;
void zk_coefs_free(zk_coefs *coefs);
/* Index of a value, added if new; UINT32_MAX when out of memory. */
uint32_t zk_coefs_index(zk_coefs *coefs, const zk_fr *value);

#endif
