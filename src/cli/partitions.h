/* The partitions of one job on the lanes of a prover, while another thread prepares what comes next. */
#ifndef ZK_CLI_PARTITIONS_H
#define ZK_CLI_PARTITIONS_H

#include "cli/proving.h"
#include "filecoin/job.h"

typedef struct cli_partitions {
    const zk_job *job;
    const zk_program *program;
    uint32_t first, n;           /* which */
    const zk_blinding *blinding; /* by partition number; NULL: random */
    /* Also check the vanilla proof, beside the first partition: the device need not wait for it. */
    bool check;
} cli_partitions;

/* proofs: [n] of ZK_PROOF_BYTES, each verified. A vanilla proof that does not hold is reported as zk_job_require does,
 * rather than as the circuit that it fails to satisfy. */
cuzk_status cli_partitions_prove(uint8_t *proofs, cli_prover *prover, const cli_partitions *work,
                                 cuzk_err *err) ZK_MUST_USE;

#endif
