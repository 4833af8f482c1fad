/* Explicit circuits as JSON: an object with
 *
 *   inputs      number of inputs, the constant one included (optional, checked)
 *   constraints number of rows (optional, checked)
 *   rows        [[A, B, C], ...], each of A, B, C a list of [kind, index, coefficient]; kind "in" or "aux"
 *   aux         values of the aux variables
 *   witness     {"inputs": values, the leading one included}
 *
 * Values and coefficients are 64 hex digits, little-endian, canonical. Other members are ignored.
 */
#ifndef ZK_GROTH16_R1CS_JSON_H
#define ZK_GROTH16_R1CS_JSON_H

#include "program/program.h"

typedef struct zk_r1cs_circuit {
    char *name; /* the file's name without folder and extension */
    zk_program *program;
    uint8_t (*hints)[32]; /* [n_hints] the assignment, as the program takes it */
    size_t n_hints;
    uint8_t (*publics)[32]; /* [n_publics] without the leading one */
    size_t n_publics;
} zk_r1cs_circuit;

#define ZK_R1CS_JSON_MAX_BYTES (256u << 20)

/* BAD_INPUT names file, member and place. */
cuzk_status zk_r1cs_json_read(zk_r1cs_circuit *circuit, const char *path, cuzk_err *err) ZK_MUST_USE;
void zk_r1cs_circuit_clear(zk_r1cs_circuit *circuit); /* zeroed is fine */

#endif
