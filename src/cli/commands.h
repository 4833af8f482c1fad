/* The commands of the program; each file cmd_*.c defines some of them. */
#ifndef ZK_CLI_COMMANDS_H
#define ZK_CLI_COMMANDS_H

#include "cli/args.h"

extern const cli_command cli_circuit_info, cli_circuit_digest;                   /* cmd_circuit.c */
extern const cli_command cli_witness_digest, cli_inspect;                        /* cmd_input.c */
extern const cli_command cli_setup, cli_setup_r1cs;                              /* cmd_setup.c */
extern const cli_command cli_params_info, cli_params_check, cli_params_prepare;  /* cmd_params.c */
extern const cli_command cli_prove, cli_prove_r1cs;                              /* cmd_prove.c */
extern const cli_command cli_verify, cli_verify_r1cs;                            /* cmd_verify.c */
extern const cli_command cli_sample;                                             /* cmd_sample.c */
extern const cli_command cli_bench_msm, cli_bench_ntt, cli_bench_masked_sum;     /* cmd_bench.c */
extern const cli_command cli_bench_prove, cli_bench_synthesize, cli_bench_setup; /* cmd_bench_prove.c */
extern const cli_command cli_bench_verify;                                       /* also there */
extern const cli_command cli_bench_request;                                      /* cmd_bench_request.c */
extern const cli_command cli_bench_check;                                        /* cmd_bench_check.c */
extern const cli_command cli_bench_hash;                                         /* cmd_bench_hash.c */
extern const cli_command cli_worker, cli_journal_salvage;                        /* cmd_engine.c */

extern const cli_command cli_config_check, cli_config_sample; /* cmd_config.c */
extern const cli_command cli_trace_compare;                   /* cmd_trace.c */
extern const cli_command cli_tune;                            /* cmd_tune.c */
/* cmd_daemon.c, cmd_client.c, cmd_bench_daemon.c; or, without the libraries, cmd_no_daemon.c */
extern const cli_command cli_daemon;
extern const cli_command cli_status, cli_submit, cli_await, cli_cancel, cli_preload, cli_evict, cli_metrics;
extern const cli_command cli_bench_single, cli_bench_batch, cli_bench_stress;

#endif
