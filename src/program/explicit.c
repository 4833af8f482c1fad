#include "program/explicit.h"

#include "program/builder.h"

typedef struct rows {
    uint32_t n_inputs, n_aux, n_rows;
    const zk_explicit_matrix *abc;
} rows;

static void hint(zk_recorder *rec, zk_lit lit) {
    zk_rec_op(rec, (zk_op){.code = ZK_OP_HINT, .n = 1, .dst = zk_lit_var(lit), .a = zk_rec_hint(rec)});
}

static void record(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out, size_t n_out) {
    (void)in, (void)n_in, (void)out, (void)n_out;
    const rows *x = *(const rows *const *)param;
    zk_lit input = ZK_LIT_TRUE, aux = zk_rec_wides(rec, x->n_aux);
    for (uint32_t i = 1; i < x->n_inputs; i++) {
        zk_lit lit = zk_rec_input(rec);
        if (i == 1) input = lit - 2; /* input i is input + 2 i */
        hint(rec, lit);
    }
    for (uint32_t i = 0; i < x->n_aux; i++) hint(rec, aux + 2 * i);
    for (uint32_t r = 0; r < x->n_rows; r++) {
        zk_lc *lcs[3] = {zk_rec_a(rec), zk_rec_b(rec), zk_rec_c(rec)};
        for (int m = 0; m < 3; m++)
            for (size_t k = x->abc[m].row[r]; k < x->abc[m].row[r + 1]; k++) {
                const zk_explicit_term *t = &x->abc[m].terms[k];
                uint32_t i = t->var & ~ZK_VAR_INPUT;
                zk_lit lit = !(t->var & ZK_VAR_INPUT) ? aux + 2 * i : i ? input + 2 * i : ZK_LIT_TRUE;
                zk_lc_add(rec, lcs[m], lit, &t->coef);
            }
        zk_rec_row(rec);
    }
}

static const zk_gadget gadget = {"explicit rows", record};

cuzk_status zk_program_from_rows(zk_program **program, const char *name, uint32_t n_inputs, uint32_t n_aux,
                                 uint32_t n_rows, const zk_explicit_matrix abc[3], cuzk_err *err) {
    *program = NULL;
    zk_builder *builder = NULL;
    cuzk_status status = CUZK_OK;
    if (!n_inputs)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "circuit %s: no inputs, expected at least the constant one", name);
    for (int m = 0; m < 3; m++)
        for (size_t k = abc[m].row[0]; k < abc[m].row[n_rows]; k++) {
            zk_var var = abc[m].terms[k].var;
            bool input = var & ZK_VAR_INPUT;
            if ((var & ~ZK_VAR_INPUT) >= (input ? n_inputs : n_aux))
                return ZK_FAIL(err, CUZK_BAD_INPUT, "circuit %s, matrix %c, term %zu: %s %u of %u", name, "ABC"[m], k,
                               input ? "input" : "aux", var & ~ZK_VAR_INPUT, input ? n_inputs : n_aux);
        }
    const rows x = {n_inputs, n_aux, n_rows, abc}, *param = &x;
    ZK_GOTO(zk_builder_create(&builder, name, err));
    zk_builder_call(builder, &gadget, &param, sizeof param, NULL, 0, NULL, 0);
    ZK_GOTO(zk_builder_finish(program, builder, err));
out:
    zk_builder_destroy(builder);
    return status;
}
