/* Eight-way field operations on eight scalar elements, for tests: a table for each instruction set. */
#ifndef FIELD_LANES_H
#define FIELD_LANES_H

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

/* By which functions a product and a square are made: mul_loose and sqr_loose; mul_factor; mul and sqr; product and
 * montgomery. */
typedef enum lanes_product { LANES_P_LOOSE, LANES_P_FACTOR, LANES_P_TIGHT, LANES_P_APART, LANES_P_N } lanes_product;

typedef struct field_lanes {
    const char *name;
    void (*fp)(zk_fp r[8], const zk_fp a[8], const zk_fp b[8], lanes_op op);
    void (*fr)(zk_fr r[8], const zk_fr a[8], const zk_fr b[8], lanes_op op);
    /* r = a b / 2^416, and s = a^2 / 2^416; [limb][lane]. */
    void (*products)(uint64_t r[8][8], uint64_t s[8][8], const uint64_t a[8][8], const uint64_t b[8][8],
                     lanes_product how);
    /* r[i][k] = rows[k][i], by registers and from memory; rows of eight words. */
    void (*transpose)(uint64_t r[2][8][8], const uint64_t rows[8][8]);
    /* The words of 32 bits in the lanes given, one after another, in full and their low halves; the low 16 and 32 bits
     * of eight words of 64; and carry[k] = x[k] / 2^52, rounded down. */
    void (*words)(uint32_t packed[16], uint16_t halves[16], uint32_t low[8], uint16_t lower[8], int64_t carry[8],
                  const uint32_t in[16], uint32_t lanes, const uint64_t x[8]);
} field_lanes;

extern const field_lanes field_lanes_ifma, field_lanes_fma;

#endif
