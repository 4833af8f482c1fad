/* Eight-way field operations on eight scalar elements, for tests; built with the instruction sets they need. */
#ifndef IFMA_FIELD_LANES_H
#define IFMA_FIELD_LANES_H

#include "field/fp.h"
#include "field/fr.h"

typedef enum lanes_op {
    LANES_ROUND_TRIP, /* a */
    LANES_MUL,        /* a b */
    LANES_SQR,        /* a^2 */
    LANES_ADD,        /* a + b */
    LANES_SUB,        /* a - b */
    LANES_NEG_ODD,    /* -a in lanes 1, 3, 5, 7, else a */
    LANES_SWAP,       /* lane k from a's lane k ^ 1 */
    LANES_LARGE,      /* (7 a + b)(a - b), by values as large as the bounds allow */
    LANES_N_OPS
} lanes_op;

void lanes_fp(zk_fp r[8], const zk_fp a[8], const zk_fp b[8], lanes_op op);
void lanes_fr(zk_fr r[8], const zk_fr a[8], const zk_fr b[8], lanes_op op);

/* r[i][k] = rows[k][i], by registers and from memory; rows of eight words. */
void lanes_transpose(uint64_t r[2][8][8], const uint64_t rows[8][8]);

#endif
