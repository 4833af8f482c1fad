/* A circuit as plain tables.
 *
 * A *template* is the small R1CS of one gadget for one shape of its inputs: rows over local variables, and the witness
 * operations that compute those variables. It is recorded once. A *program* is a list of instances of templates; each
 * instance adds a contiguous range of rows, of aux variables and of inputs, and binds its ports to earlier variables.
 * Backends and Groth16 know a circuit by this and nothing else. There are no pointers between tables but the top-level
 * arrays, so that a program can be copied to a device array by array.
 *
 * Variables of the circuit: inputs 0.. (input 0 is the constant one) and aux 0.. in order of allocation. Whether an aux
 * variable is a single bit or a full field element ("wide") is known statically, per template.
 *
 * Local variables of a template, in this order:
 *   0                              the constant one
 *   1 .. n_ports                   ports: variables that exist before the instance
 *   then n_inputs                  inputs that the instance adds
 *   then n_aux                     aux variables that the instance adds, in order of allocation
 */
#ifndef ZK_PROGRAM_PROGRAM_H
#define ZK_PROGRAM_PROGRAM_H

#include "base/status.h"
#include "field/fr.h"

/* A variable of the whole circuit: aux i is i, input i is ZK_VAR_INPUT | i. */
typedef uint32_t zk_var;
#define ZK_VAR_INPUT 0x80000000u
#define ZK_VAR_ONE ZK_VAR_INPUT /* input 0 */

/* A literal: local variable * 2 + negated. Literal 0 is constant true, literal 1 constant false. */
typedef uint32_t zk_lit;
#define ZK_LIT_TRUE 0u
#define ZK_LIT_FALSE 1u

typedef struct zk_term {
    uint32_t var;  /* local variable */
    uint32_t coef; /* index into the program's dictionary of coefficients */
} zk_term;

/* Where the value of a port lives. */
#define ZK_PORT_KIND_MASK 0xc0000000u
#define ZK_PORT_BIT 0x00000000u   /* | aux index: a bit in the bitmap */
#define ZK_PORT_WIDE 0x40000000u  /* | slot in the wide list */
#define ZK_PORT_INPUT 0x80000000u /* | input index */
#define ZK_PORT_INDEX_MASK 0x3fffffffu

/* Witness operations: a closed set. `dst` is the first local variable written; operations run in order. */
typedef enum zk_op_code {
    ZK_OP_HINT,     /* dst (wide or input) <- hint[a]: a field element of the private input, 32 bytes LE */
    ZK_OP_HINT_BIT, /* dst (bit) <- bit b of hint[a] */
    ZK_OP_BITS,     /* dst .. dst+n-1 (bits) <- bits b .. b+n-1 of the canonical value of variable a */
    ZK_OP_AND,      /* dst (bit) <- lit a & lit b */
    ZK_OP_XOR,      /* dst (bit) <- lit a ^ lit b */
    ZK_OP_CH,       /* dst (bit) <- lit a ? lit b : lit c */
    ZK_OP_MAJ,      /* dst (bit) <- majority of lits a, b, c */
    ZK_OP_SUM32, /* dst .. dst+n-1 (bits, least significant first) <- sum of b words of 32 lits each at lits[a ..], plus
                    the constant c (32 bits); n bits are kept */
    ZK_OP_LC,    /* dst (wide or input) <- linear combination a */
    ZK_OP_MULADD,   /* dst (wide) <- lc a * lc b + lc c (c = ZK_NO_LC: nothing added) */
    ZK_OP_POSEIDON, /* the variables of one Poseidon permutation of arity n, from dst on, from the n wide variables
                       lits[a ..] (as variables, not literals), domain tag coefs[b]: for each S-box of the optimised
                       form, in order, its input (not in the first round), x^2, x^4 and output (of the tag's S-box in
                       the first round, a constant, nothing), at the end the hash */
    ZK_N_OPS
} zk_op_code;

#define ZK_NO_LC UINT32_MAX

typedef struct zk_op {
    uint16_t code; /* zk_op_code */
    uint16_t n;
    uint32_t dst, a, b, c;
} zk_op;

/* The dictionary of coefficients begins with 1, -1, 2, -2, 3, -3, 4, -4. */
#define ZK_N_SMALL_COEFS 8u
static inline int zk_small_coef(uint32_t coef) { return (int)(coef / 2 + 1) * (coef & 1 ? -1 : 1); }

/* What a row of one matrix consists of; decides how it is evaluated. */
typedef enum zk_row_class {
    ZK_ROW_ZERO,  /* no terms */
    ZK_ROW_SMALL, /* constant and bits with small coefficients, whose absolute values add up to <= ZK_ROW_SMALL_MAX */
    ZK_ROW_BITS,  /* constant and bits, any coefficients */
    ZK_ROW_WIDE,  /* has inputs or wide variables */
} zk_row_class;
#define ZK_ROW_SMALL_MAX 8

/* One of A, B, C: row i of the template has terms[row[i] .. row[i+1]-1]. Within a row: the constant, ports that are
 * inputs, new inputs, other ports, new aux variables, each by ascending local number; each variable once, no zero
 * coefficient. So where an instance's ports ascend, the terms of its rows do, too. */
typedef struct zk_matrix {
    uint32_t *row; /* [n_rows + 1] */
    zk_term *terms;
    uint8_t *row_class; /* [n_rows] zk_row_class */
} zk_matrix;

/* What a local variable is. */
typedef enum zk_local_kind { ZK_LOCAL_ONE, ZK_LOCAL_BIT, ZK_LOCAL_WIDE, ZK_LOCAL_INPUT } zk_local_kind;

typedef struct zk_template {
    const char *name; /* gadget, for reports; static string */
    uint32_t n_ports, n_inputs, n_aux, n_wide, n_rows, n_hints;
    uint32_t n_ops, n_lits, n_lcs;
    uint32_t n_zero_terms; /* of the rows, dropped: their coefficients were or became zero */
    zk_matrix abc[3];
    zk_op *ops;
    uint32_t *lits;     /* [n_lits] operand lists */
    uint32_t *lc_start; /* [n_lcs + 1] into lc_terms */
    zk_term *lc_terms;
    uint32_t *wide;      /* [n_wide] local aux numbers (0 = first new aux) that are wide, ascending */
    uint64_t *wide_mask; /* [ceil(n_aux/64)] the same as a bitmap */
    uint8_t *kind;       /* [1 + n_ports + n_inputs + n_aux] zk_local_kind of each local variable */
} zk_template;

static inline uint32_t zk_template_n_locals(const zk_template *t) { return 1 + t->n_ports + t->n_inputs + t->n_aux; }

/* Positions are running sums over the instances before. */
typedef struct zk_instance {
    uint32_t template_id;
    uint32_t first_aux, first_row, first_input, first_wide, first_hint;
    uint32_t first_port; /* into ports */
} zk_instance;

typedef struct zk_program {
    const char *name;
    uint32_t n_inputs; /* with the constant */
    uint32_t n_aux, n_rows, n_wide, n_hints;
    uint32_t n_templates, n_instances, n_ports, n_coefs, n_levels;
    zk_template *templates;
    zk_instance *instances;
    uint32_t *ports; /* [n_ports] ZK_PORT_* */
    zk_fr *coefs;    /* [n_coefs] dictionary, Montgomery form */
    /* Schedule: instances in an order in which level k depends on levels < k only; instances of a level are
     * independent. */
    uint32_t *level_start; /* [n_levels + 1] into order */
    uint32_t *order;       /* [n_instances] */
    size_t bytes;          /* memory of all tables */
    uint64_t build_ns;
} zk_program;

void zk_program_destroy(zk_program *program); /* NULL is fine */

/* The variable a port stands for (a wide slot is looked up by binary search over instances). */
zk_var zk_program_port_var(const zk_program *program, uint32_t port);
/* The aux index of a wide slot. */
uint32_t zk_program_wide_aux(const zk_program *program, uint32_t slot);

/* ---- the witness ---- */

/* One assignment. Bits live in a bitmap over all aux variables (wide positions are zero), the others in a list. */
typedef struct zk_witness {
    zk_fr *inputs;  /* [n_inputs], Montgomery; inputs[0] = 1 */
    uint64_t *bits; /* [ceil(n_aux/64)] */
    zk_fr *wide;    /* [n_wide], Montgomery, in aux order */
} zk_witness;

/* Computes inputs, bits and wide from the hints ([n_hints] times 32 bytes LE canonical), level by level on the pool.
 * The arrays of `w` are the caller's, of the sizes above; they need not be cleared. */
struct zk_pool;
cuzk_status zk_program_witness(const zk_program *program, const uint8_t (*hints)[32], zk_witness *w,
                               struct zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

/* a_i, b_i, c_i = row i of A, B, C times the assignment, for all rows of the program, [n_rows] each, Montgomery. The
 * rows that Groth16 adds for the inputs are not included. Any of a, b, c may be NULL. */
cuzk_status zk_program_eval(const zk_program *program, const zk_witness *w, zk_fr *a, zk_fr *b, zk_fr *c,
                            struct zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

/* The same for an assignment that zk_program_witness has just made. Rows (combination) * 1 = v that define v, computed
 * there as the value of that combination, take v's value instead of adding the terms up: nearly all the work of a
 * circuit that is mostly Poseidon. Such rows come out satisfied whatever the assignment is, so this is not for
 * assignments of any other origin. */
cuzk_status zk_program_eval_computed(const zk_program *program, const zk_witness *w, zk_fr *a, zk_fr *b, zk_fr *c,
                                     struct zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

/* First row with a_i b_i != c_i, or n_rows if satisfied. */
size_t zk_program_first_unsatisfied(const zk_fr *a, const zk_fr *b, const zk_fr *c, size_t n_rows,
                                    struct zk_pool *pool);

/* The same from the assignment alone, without vectors over all rows: memory for the rows of one instance a thread.
 * Rows are evaluated as by zk_program_eval. */
cuzk_status zk_program_find_unsatisfied(size_t *row, const zk_program *program, const zk_witness *w,
                                        struct zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

/* ---- walking rows with circuit variables ---- */

typedef struct zk_row_term {
    zk_var var;
    uint32_t coef; /* dictionary index */
} zk_row_term;

/* Calls visit for each row of one matrix (0: A, 1: B, 2: C) in order, for instances [first, first + count). Terms are
 * sorted: inputs first, then aux, each by ascending index; each variable once. */
typedef void (*zk_row_visitor)(void *ctx, uint32_t row, const zk_row_term *terms, size_t n_terms);
cuzk_status zk_program_walk(const zk_program *program, unsigned matrix, uint32_t first, uint32_t count,
                            zk_row_visitor visit, void *ctx, cuzk_err *err) ZK_MUST_USE;

/* Non-zero terms of A, B, C, and which variables occur (the lengths of the key's queries). */
typedef struct zk_program_stats {
    uint64_t nnz[3];
    uint32_t a_aux, b_input, b_aux;
    uint64_t n_zero_terms; /* written down by gadgets with the coefficient zero, and dropped */
} zk_program_stats;

/* Which aux variables occur in A and in B (bitmaps [ceil(n_aux/64)]), and which inputs in B ([ceil(n_inputs/64)]). Any
 * may be NULL. */
cuzk_status zk_program_density(const zk_program *program, uint64_t *a_aux, uint64_t *b_aux, uint64_t *b_input,
                               zk_program_stats *stats, struct zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

#endif
