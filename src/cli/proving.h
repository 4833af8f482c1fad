/* The run of one circuit's proofs on a device: what `prove`, `prove r1cs` and `bench prove` share. */
#ifndef ZK_CLI_PROVING_H
#define ZK_CLI_PROVING_H

#include "cli/session.h"
#include "groth16/prove.h"

typedef struct cli_prover {
    zk_backend *backend;
    zk_resident_program *program;
    zk_proving_key *key;
    zk_prover *prover;
    zk_pool *pool;
    zk_trace *trace;
} cli_prover;

/* Opens the device, loads program and key. Both are borrowed; destroy with cli_prover_close, also after a failure. */
cuzk_status cli_prover_open(cli_prover *prover, const zk_program *program, const char *params_path,
                            const cli_work *work, zk_pool *pool, zk_trace *trace, cuzk_err *err) ZK_MUST_USE;
/* One proof, stage by stage; stops between stages when the user asked to. `label` goes into progress messages. */
cuzk_status cli_prover_prove(uint8_t proof[ZK_PROOF_BYTES], cli_prover *prover, const zk_prove_request *request,
                             const char *label, cuzk_err *err) ZK_MUST_USE;
void cli_prover_close(cli_prover *prover);

/* Test keys made for one run: files in a temporary folder that is removed by cli_test_keys_remove. */
typedef struct cli_test_keys {
    char dir[256]; /* "": there is none */
    char params_path[320], vk_path[320];
} cli_test_keys;
/* The empty folder and where the files go. */
cuzk_status cli_test_keys_folder(cli_test_keys *keys, cuzk_err *err) ZK_MUST_USE;
/* The folder, and the parameters in it. */
cuzk_status cli_test_keys_make(cli_test_keys *keys, const zk_program *program, const char *toxic_path, zk_pool *pool,
                               zk_trace *trace, cuzk_err *err) ZK_MUST_USE;
void cli_test_keys_remove(cli_test_keys *keys); /* zeroed is fine */

/* The timing tree on stderr, and as JSON into a file (NULL: not). Closes the trace's root. */
cuzk_status cli_trace_report(zk_trace *trace, bool print, const char *json_path, cuzk_err *err) ZK_MUST_USE;

#endif
