#include "program/defined.h"

#include <string.h>

#include "base/alloc.h"
#include "hash/poseidon.h"

enum { NOT_COMPUTED, COMPUTED, SEEN };

/* Marks the variables of all permutations; their number, in the order that ZK_OP_POSEIDON says. */
static bool mark_computed(uint8_t *state, const zk_template *t) {
    bool any = false;
    for (uint32_t i = 0; i < t->n_ops; i++) {
        const zk_op *op = &t->ops[i];
        if (op->code != ZK_OP_POSEIDON) continue;
        const zk_poseidon_params *p = zk_poseidon_get(op->n);
        if (!p) continue;
        memset(state + op->dst, COMPUTED, 3 * (p->width - 1) + 4 * (zk_poseidon_n_sboxes(p) - p->width) + 1);
        any = true;
    }
    return any;
}

/* The variable that a row defines. A variable is defined by the first row whose C is this variable alone; other rows of
 * that form, say that two variables are equal, must be evaluated. */
static uint32_t defined_by(uint8_t *state, const zk_template *t, uint32_t r) {
    const zk_term *row[3];
    uint32_t n[3];
    for (int m = 0; m < 3; m++) {
        const zk_matrix *x = &t->abc[m];
        row[m] = x->terms + x->row[r];
        n[m] = x->row[r + 1] - x->row[r];
    }
    uint32_t v = n[2] == 1 && row[2]->coef == 0 ? row[2]->var : 0;
    bool first = state[v] == COMPUTED;
    for (uint32_t i = 0; i < n[2]; i++)
        if (state[row[2][i].var] == COMPUTED) state[row[2][i].var] = SEEN;
    if (!first || n[1] != 1 || row[1]->var != 0 || row[1]->coef != 0) return ZK_NOT_DEFINED;
    for (uint32_t i = 0; i < n[0]; i++)
        if (row[0][i].var >= v) return ZK_NOT_DEFINED;
    return v;
}

cuzk_status zk_template_defined_rows(uint32_t **rows, const zk_template *t, cuzk_err *err) {
    *rows = NULL;
    uint8_t *state = zk_calloc(zk_template_n_locals(t), 1);
    if (!state) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "template %s: no memory", t->name);
    if (mark_computed(state, t)) {
        *rows = zk_malloc(((size_t)t->n_rows + 1) * sizeof **rows);
        if (!*rows) {
            free(state);
            return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "template %s: no memory", t->name);
        }
        for (uint32_t r = 0; r < t->n_rows; r++) (*rows)[r] = defined_by(state, t, r);
    }
    free(state);
    return CUZK_OK;
}
