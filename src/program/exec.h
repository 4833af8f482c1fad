/* What the CPU's witness and evaluation have in common: the values of one instance's local variables. */
#ifndef ZK_PROGRAM_EXEC_H
#define ZK_PROGRAM_EXEC_H

#include <string.h>

#include "base/bytes.h"
#include "program/program.h"

/* Values of local variables: bits (and the constant, 1) in v, wide variables and inputs in w. */
typedef struct zk_locals {
    uint8_t *v;
    zk_fr *w; /* NULL if no template has wide variables or inputs */
} zk_locals;

/* One for each thread of the pool, with room for any instance of the program. */
cuzk_status zk_locals_alloc_all(zk_locals **all, unsigned n, const zk_program *program, cuzk_err *err) ZK_MUST_USE;
void zk_locals_free_all(zk_locals *all, unsigned n);

/* The constant and the ports. Bits may share words with bits that others write at the same time. */
void zk_locals_load_ports(zk_locals *l, const zk_program *program, const zk_instance *x, const zk_template *t,
                          const zk_witness *w);

/* Sum of coef * value. */
void zk_locals_sum(zk_fr *r, const zk_fr *coefs, const uint8_t *kind, const zk_locals *l, const zk_term *terms,
                   size_t n);
/* The same where all variables are bits or the constant. */
void zk_locals_sum_bits(zk_fr *r, const zk_fr *coefs, const zk_locals *l, const zk_term *terms, size_t n);

#endif
