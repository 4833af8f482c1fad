/* Circuits are written once and walked twice: to build the program, and to collect its hints for given values. Both
 * walks make the same calls, so that what a gadget consumes and what it is given cannot diverge.
 *
 * While building, the values behind hints are ignored and may be NULL; each call is checked to consume as many hints as
 * were pushed before it. While collecting, calls of gadgets do nothing and cells are meaningless. Failure is sticky.
 */
#ifndef ZK_CIRCUIT_SYNTH_H
#define ZK_CIRCUIT_SYNTH_H

#include "program/builder.h"

typedef struct zk_synth {
    zk_builder *builder; /* NULL: collecting hints */
    uint8_t (*hints)[32];
    size_t max_hints; /* room in hints */
    size_t n_hints;   /* pushed so far */
    cuzk_status status;
    cuzk_err err;
} zk_synth;

/* Pushes hints for the next call. */
void zk_synth_hints(zk_synth *s, const uint8_t (*values)[32], size_t n);
void zk_synth_hint(zk_synth *s, const uint8_t *value);
void zk_synth_hint_u64(zk_synth *s, uint64_t value);

void zk_synth_call(zk_synth *s, const zk_gadget *gadget, const void *param, size_t param_bytes, const zk_cell *in,
                   size_t n_in, zk_cell *out, size_t n_out);

/* The ends of the two walks. A failure of the walk is passed on; hints that do not fill their room are INTERNAL. */
cuzk_status zk_synth_finish_program(struct zk_program **program, zk_synth *s, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_synth_finish_hints(const zk_synth *s, cuzk_err *err) ZK_MUST_USE;

#endif
