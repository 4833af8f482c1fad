/* INPUT of the commands that take a request: --c1 FILE or --request FILE, and what is expected of it. */
#ifndef ZK_CLI_JOB_H
#define ZK_CLI_JOB_H

#include "cli/args.h"
#include "filecoin/job.h"

typedef struct cli_input {
    const char *c1_path, *request_path;
    uint64_t miner, sector;
} cli_input;

#define CLI_INPUT_OPTIONS(input)                                                                                       \
    {"c1", "FILE", CLI_STRING, &(input).c1_path,                                                                       \
     "output of commit phase 1: JSON of the API or Curio's envelope, plain or zstd"},                                  \
        {"request", "FILE", CLI_STRING, &(input).request_path, "a request: JSON of the message SubmitProofRequest"},   \
        {"miner", "N", CLI_U64, &(input).miner, "miner (actor) number that the input must be of"}, {                   \
        "sector", "N", CLI_U64, &(input).sector, "sector number that the input must be of"                             \
    }

/* Reads the input that the parsed arguments name. USAGE unless exactly one is given. */
cuzk_status cli_input_read(zk_job **job, const cli_input *input, const cli_arguments *arguments,
                           cuzk_err *err) ZK_MUST_USE;

#endif
