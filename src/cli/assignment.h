/* Memory for the synthesis of one partition: what `witness digest` and `bench synthesize` share. */
#ifndef ZK_CLI_ASSIGNMENT_H
#define ZK_CLI_ASSIGNMENT_H

#include "program/program.h"

typedef struct cli_assignment {
    uint8_t (*hints)[32]; /* [program->n_hints] */
    zk_witness w;
    zk_fr *rows[3]; /* a, b, c: [program->n_rows] each */
} cli_assignment;

/* Contents are undefined. Free also after a failure; a zeroed one may be freed. */
cuzk_status cli_assignment_alloc(cli_assignment *a, const zk_program *program, cuzk_err *err) ZK_MUST_USE;
void cli_assignment_free(cli_assignment *a);

#endif
