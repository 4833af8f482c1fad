#include "cli/assignment.h"

#include <inttypes.h>

#include "base/alloc.h"

cuzk_status cli_assignment_alloc(cli_assignment *a, const zk_program *program, cuzk_err *err) {
    a->hints = zk_malloc((size_t)program->n_hints * 32);
    a->w.inputs = zk_malloc((size_t)program->n_inputs * sizeof(zk_fr));
    a->w.bits = zk_malloc(((size_t)program->n_aux + 63) / 64 * 8);
    a->w.wide = zk_malloc((size_t)program->n_wide * sizeof(zk_fr));
    for (unsigned m = 0; m < 3; m++) a->rows[m] = zk_malloc((size_t)program->n_rows * sizeof(zk_fr));
    if (a->hints && a->w.inputs && a->w.bits && a->w.wide && a->rows[0] && a->rows[1] && a->rows[2]) return CUZK_OK;
    return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "circuit %s: no memory for %" PRIu32 " variables and %" PRIu32 " rows",
                   program->name, program->n_aux, program->n_rows);
}

void cli_assignment_free(cli_assignment *a) {
    free(a->hints);
    free(a->w.inputs);
    free(a->w.bits);
    free(a->w.wide);
    for (unsigned m = 0; m < 3; m++) free(a->rows[m]);
    *a = (cli_assignment){0};
}
