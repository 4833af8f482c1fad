/* How programs are made: gadgets are recorded once per shape of their inputs, then instantiated.
 *
 * A *gadget* is a function that drives a recorder: it allocates variables, says how the witness computes them, enforces
 * rows. It sees its inputs as literals of local variables, or constants. A *builder* assembles the program: each call
 * of a gadget looks up the template recorded for that gadget, parameter and shape (which inputs are constant, negated,
 * of which kind, equal to earlier ones), records it if there is none, and appends an instance. Distinct variables
 * become ports, so that within a template different local variables are different circuit variables.
 *
 * Failure (out of memory, limits) is sticky: gadgets need no checks, zk_builder_finish reports.
 */
#ifndef ZK_PROGRAM_BUILDER_H
#define ZK_PROGRAM_BUILDER_H

#include "program/grow.h"
#include "program/program.h"

/* ---- recording a gadget ---- */

typedef struct zk_recorder zk_recorder;

/* Local variables while recording. Literals (zk_lit) are variable * 2 + negated; wide variables and inputs are never
 * negated. */
static inline uint32_t zk_lit_var(zk_lit lit) { return lit >> 1; }
static inline zk_lit zk_lit_not(zk_lit lit) { return lit ^ 1; }
static inline bool zk_lit_is_const(zk_lit lit) { return lit <= ZK_LIT_FALSE; }

/* The next variable(s), as literal of the first; no row and no operation come with it. */
zk_lit zk_rec_bits(zk_recorder *rec, uint32_t n);
zk_lit zk_rec_wides(zk_recorder *rec, uint32_t n);
zk_lit zk_rec_input(zk_recorder *rec);
/* What the next aux variable will be. */
zk_lit zk_rec_next_aux(const zk_recorder *rec);
/* The next hint. */
uint32_t zk_rec_hint(zk_recorder *rec);

/* A linear combination under construction: variables may repeat, zeros are dropped when it is used. Zero-initialise. */
typedef struct zk_lc_entry {
    uint32_t var;
    zk_fr coef;
} zk_lc_entry;
typedef ZK_LIST(zk_lc_entry) zk_lc;

/* lc += coef * lit, where a negated literal stands for 1 - var, and constants for 0 and 1. */
void zk_lc_add(zk_recorder *rec, zk_lc *lc, zk_lit lit, const zk_fr *coef);
void zk_lc_add_int(zk_recorder *rec, zk_lc *lc, zk_lit lit, int coef); /* |coef| <= 4 */
/* lc += coef * other */
void zk_lc_add_lc(zk_recorder *rec, zk_lc *lc, const zk_lc *other, const zk_fr *coef);
static inline void zk_lc_clear(zk_lc *lc) { lc->n = 0; }
void zk_lc_free(zk_lc *lc);
/* Merges equal variables and drops zeros, so that a combination that is added up again and again stays short. */
void zk_lc_merge(zk_recorder *rec, zk_lc *lc);

/* a * b = c; NULL is zero. */
void zk_rec_enforce(zk_recorder *rec, const zk_lc *a, const zk_lc *b, const zk_lc *c);
/* Three combinations of the recorder's own, and the row made of them, which empties them. */
zk_lc *zk_rec_a(zk_recorder *rec);
zk_lc *zk_rec_b(zk_recorder *rec);
zk_lc *zk_rec_c(zk_recorder *rec);
void zk_rec_row(zk_recorder *rec);

/* Witness operations, in order of execution. Operands as zk_op_code says, with local variables and literals as they are
 * while recording; combinations and operand lists are stored first, a list serves one operation. */
void zk_rec_op(zk_recorder *rec, zk_op op);
uint32_t zk_rec_lits(zk_recorder *rec, const zk_lit *lits, size_t n);
uint32_t zk_rec_lc(zk_recorder *rec, const zk_lc *lc);
uint32_t zk_rec_coef(zk_recorder *rec, const zk_fr *coef); /* dictionary index */
void zk_rec_fail(zk_recorder *rec);                        /* out of memory in the gadget itself */

/* ---- building a program ---- */

typedef void (*zk_gadget_fn)(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out,
                             size_t n_out);
typedef struct zk_gadget {
    const char *name;
    zk_gadget_fn record; /* must fill all of out; out does not alias in */
} zk_gadget;

/* A literal in circuit terms: where the value lives (ZK_PORT_*) * 2 + negated. */
typedef uint64_t zk_cell;
#define ZK_CELL_TRUE ((zk_cell)ZK_PORT_INPUT << 1)
#define ZK_CELL_FALSE (ZK_CELL_TRUE | 1)

typedef struct zk_builder zk_builder;

/* name: static string. */
cuzk_status zk_builder_create(zk_builder **builder, const char *name, cuzk_err *err) ZK_MUST_USE;
void zk_builder_destroy(zk_builder *builder); /* NULL is fine */

/* One instance of a gadget (a static object). `param` (param_bytes, no padding in it) is part of the template's
 * identity. `out` may be `in`. */
void zk_builder_call(zk_builder *builder, const zk_gadget *gadget, const void *param, size_t param_bytes,
                     const zk_cell *in, size_t n_in, zk_cell *out, size_t n_out);

uint32_t zk_builder_n_hints(const zk_builder *builder); /* consumed so far */
cuzk_status zk_builder_status(const zk_builder *builder);

/* Hands over the program; the builder is spent (destroy it). */
cuzk_status zk_builder_finish(zk_program **program, zk_builder *builder, cuzk_err *err) ZK_MUST_USE;

#endif
