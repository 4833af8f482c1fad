/* Rows whose value is known once the witness is: a row (combination) * 1 = v that defines v, where the witness
 * operation has computed v as the value of that very combination. The combinations of a Poseidon permutation are long
 * (some 3200 products a hash of arity 8 in all), its S-boxes' inputs are at hand. */
#ifndef ZK_PROGRAM_DEFINED_H
#define ZK_PROGRAM_DEFINED_H

#include "program/program.h"

#define ZK_NOT_DEFINED UINT32_MAX

/* For each row of a template the local variable that has the value of A in every assignment that zk_program_witness
 * makes, or ZK_NOT_DEFINED: [n_rows]; free() it. *rows is NULL where there is no such row. */
cuzk_status zk_template_defined_rows(uint32_t **rows, const zk_template *t, cuzk_err *err) ZK_MUST_USE;

#endif
