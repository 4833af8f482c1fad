/* A program from rows written out: one template, one instance. For circuits that come as plain R1CS. */
#ifndef ZK_PROGRAM_EXPLICIT_H
#define ZK_PROGRAM_EXPLICIT_H

#include "program/program.h"

typedef struct zk_explicit_term {
    zk_var var;
    zk_fr coef;
} zk_explicit_term;

/* Row i has terms[row[i] .. row[i+1]-1], in any order; repeated variables are added up, zeros dropped. */
typedef struct zk_explicit_matrix {
    const size_t *row; /* [n_rows + 1] */
    const zk_explicit_term *terms;
} zk_explicit_matrix;

/* n_inputs counts the constant one. All variables are wide and taken from hints: inputs 1 .. n_inputs-1, then aux
 * 0 .. n_aux-1, so that n_hints = n_inputs - 1 + n_aux. name: static string. CUZK_BAD_INPUT for a variable out of
 * range. */
cuzk_status zk_program_from_rows(zk_program **program, const char *name, uint32_t n_inputs, uint32_t n_aux,
                                 uint32_t n_rows, const zk_explicit_matrix abc[3], cuzk_err *err) ZK_MUST_USE;

#endif
