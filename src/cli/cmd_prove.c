/* cuzk prove, cuzk prove r1cs */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/job.h"
#include "cli/output.h"
#include "cli/partitions.h"
#include "cli/testdata.h"
#include "groth16/r1cs_json.h"

typedef struct prove_args {
    const cli_arguments *given;
    cli_input input;
    const char *file; /* explicit circuit */
    cli_key_args keys;
    const char *out_path, *blinding_path, *trace_path;
    uint64_t partition;
    bool one_partition, json, quiet;
    cli_work work;
} prove_args;

static cuzk_status check_args(const prove_args *args, cuzk_err *err) {
    ZK_TRY(cli_key_args_check(&args->keys, err));
    return zk_file_check_writable(args->out_path, err);
}

/* ---- requests ---- */

typedef struct job_run {
    zk_job *job;
    zk_program *program;
    cli_prover prover;
    zk_blinding *blinding; /* [n_partitions] or NULL */
    uint8_t *proofs;
    uint32_t first, n; /* partitions to prove */
} job_run;

static cuzk_status job_open(job_run *run, const prove_args *args, zk_pool *pool, zk_trace *trace, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    cli_progress(NULL, "reading the input", 0, 0);
    zk_span *span = zk_span_open_kernel(trace, "parse");
    ZK_GOTO(cli_input_read(&run->job, &args->input, args->given, err));
    zk_span_close(trace, span);
    run->n = run->job->n_partitions;
    if (args->one_partition) {
        if (args->partition >= run->n)
            return ZK_FAIL(err, CUZK_USAGE, "--partition: found %" PRIu64 ", the input has %" PRIu32, args->partition,
                           run->n);
        run->first = (uint32_t)args->partition;
        run->n = 1;
    }
    if (args->blinding_path)
        ZK_TRY(cli_read_blinding(&run->blinding, (size_t)run->first + run->n, args->blinding_path, err));
    cli_progress(NULL, "checking the vanilla proof", 0, 0);
    span = zk_span_open_kernel(trace, "check input");
    ZK_GOTO(zk_job_require(run->job, pool, err));
    zk_span_close(trace, span);
    span = zk_span_open_kernel(trace, "build program");
    ZK_GOTO(zk_job_program(&run->program, run->job, err));
out:
    zk_span_close(trace, span);
    return status;
}

static cuzk_status job_prove(job_run *run, cuzk_err *err) {
    run->proofs = zk_malloc((size_t)run->n * ZK_PROOF_BYTES);
    if (!run->proofs) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for %" PRIu32 " proofs", run->n);
    cli_partitions work = {
        .job = run->job, .program = run->program, .first = run->first, .n = run->n, .blinding = run->blinding};
    return cli_partitions_prove(run->proofs, &run->prover, &work, err);
}

static void job_close(job_run *run) {
    cli_prover_close(&run->prover);
    free(run->blinding); /* fixed by a test's file, no secret */
    zk_program_destroy(run->program);
    zk_job_destroy(run->job);
}

static cuzk_status prove_job(uint8_t **proofs, size_t *n_proofs, const prove_args *args, zk_pool *pool, zk_trace *trace,
                             cuzk_err *err) {
    job_run run = {0};
    char identifier[ZK_IDENTIFIER_MAX];
    cli_key key = {0};
    cuzk_status status = CUZK_OK;
    ZK_GOTO(job_open(&run, args, pool, trace, err));
    ZK_GOTO(zk_job_identifier(identifier, run.job, err));
    ZK_GOTO(cli_key_find(&key, &args->keys, identifier, NULL, err));
    key.check_digest = true;
    ZK_GOTO(cli_prover_open(&run.prover, run.program, &key, &args->work, pool, trace, err));
    ZK_GOTO(cli_prover_widen(&run.prover, run.n, err));
    ZK_GOTO(cli_prover_settle(&run.prover, job_prove(&run, err), err));
    *proofs = run.proofs;
    *n_proofs = run.n;
    run.proofs = NULL;
out:;
    zk_span *span = zk_span_open_kernel(trace, "release");
    free(run.proofs);
    if (!args->quiet) cli_prover_print_lanes(&run.prover);
    job_close(&run);
    cli_key_clear(&key);
    zk_span_close(trace, span);
    return status;
}

/* ---- explicit circuits ---- */

static cuzk_status prove_r1cs(uint8_t **proofs, size_t *n_proofs, const prove_args *args, zk_pool *pool,
                              zk_trace *trace, cuzk_err *err) {
    zk_r1cs_circuit circuit = {0};
    cli_prover prover = {0};
    cli_key key = {0};
    zk_blinding *blinding = NULL;
    uint8_t *proof = NULL;
    cuzk_status status = CUZK_OK;
    zk_span *span = zk_span_open_kernel(trace, "parse");
    status = zk_r1cs_json_read(&circuit, args->file, err);
    zk_span_close(trace, span);
    if (status != CUZK_OK) goto out;
    if (args->blinding_path) ZK_GOTO(cli_read_blinding(&blinding, 1, args->blinding_path, err));
    ZK_GOTO(cli_key_find(&key, &args->keys, NULL, args->file, err));
    key.check_digest = true;
    ZK_GOTO(cli_prover_open(&prover, circuit.program, &key, &args->work, pool, trace, err));
    proof = zk_malloc(ZK_PROOF_BYTES);
    if (!proof) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a proof"));
    zk_prove_request request = {
        .hints = (const uint8_t(*)[32])circuit.hints,
        .n_hints = circuit.n_hints,
        .publics = (const uint8_t(*)[32])circuit.publics,
        .n_publics = circuit.n_publics,
        .blinding = blinding,
    };
    ZK_GOTO(cli_prover_settle(&prover, cli_prover_prove(proof, &prover, &request, circuit.name, err), err));
    *proofs = proof;
    *n_proofs = 1;
    proof = NULL;
out:
    span = zk_span_open_kernel(trace, "release");
    free(proof);
    free(blinding);
    cli_prover_close(&prover);
    zk_r1cs_circuit_clear(&circuit);
    cli_key_clear(&key);
    zk_span_close(trace, span);
    return status;
}

/* ---- both ---- */

static cuzk_status report(const prove_args *args, size_t n_proofs, zk_trace *trace, cuzk_err *err) {
    double seconds = (double)(zk_now_ns() - cli_process_start_ns()) * 1e-9;
    if (args->json) {
        zk_json_writer *json = cli_json_begin();
        zk_json_put_string(json, "proof", args->out_path);
        zk_json_put_u64(json, "partitions", n_proofs);
        zk_json_put_u64(json, "bytes", n_proofs * ZK_PROOF_BYTES);
        zk_json_put_double(json, "seconds", seconds);
        ZK_TRY(cli_json_end(json, err));
    } else {
        printf("%s: %zu bytes, proof of %zu partition%s, verified\n", args->out_path, n_proofs * ZK_PROOF_BYTES,
               n_proofs, n_proofs == 1 ? "" : "s");
    }
    return cli_trace_report(trace, !args->quiet, args->trace_path, err);
}

static int run(const cli_command *self, int argc, char **argv, bool explicit_circuit) {
    prove_args args = {0};
    cuzk_err err = {0};
    zk_pool *pool = NULL;
    zk_trace *trace = NULL;
    uint8_t *proofs = NULL;
    size_t n_proofs = 0;
    cli_option options[] = {
        {"o", "FILE", CLI_STRING, &args.out_path, "where the proof goes", true},
        CLI_KEY_OPTIONS(args.keys),
        {"test-blinding", "FILE", CLI_STRING, &args.blinding_path,
         "fixed blinding, JSON [{\"r\": hex, \"s\": hex}, ...], one entry a partition (for tests)"},
        {"trace", "FILE", CLI_STRING, &args.trace_path, "write the timing tree as JSON"},
        {"json", NULL, CLI_FLAG, &args.json, "one JSON object on standard output"},
        {"quiet", NULL, CLI_FLAG, &args.quiet, "no progress and no timing tree on standard error"},
        CLI_WORK_OPTIONS(args.work),
        CLI_DEVICE_OPTIONS(args.work),
        {"partition", "K", CLI_U64, &args.partition, "prove this partition alone"},
        CLI_INPUT_OPTIONS(args.input),
    };
    const size_t n_all = sizeof options / sizeof options[0],
                 n_of_requests = 1 + CLI_N_OPTIONS(CLI_INPUT_OPTIONS(args.input));
    cli_positional positionals[] = {
        {"FILE", &args.file, "explicit circuit, JSON with `rows`, `aux` and `witness`", false}};
    const cli_arguments arguments = {options, explicit_circuit ? n_all - n_of_requests : n_all, positionals,
                                     explicit_circuit};
    bool help = false;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_parse(&help, &arguments, self, argc, argv, &err));
    if (help) goto out;
    args.given = &arguments;
    if (args.quiet) cli_progress_disable();
    args.one_partition = cli_given(&arguments, "partition");
    ZK_GOTO(check_args(&args, &err));
    trace = zk_trace_create("prove", cli_process_start_ns());
    zk_span *span = zk_span_open_from_start(trace, "start"); /* exec, dynamic linking, arguments, threads */
    status = cli_work_start(&args.work, &pool, &err);
    zk_span_close(trace, span);
    if (status != CUZK_OK) goto out;
    ZK_GOTO((explicit_circuit ? prove_r1cs : prove_job)(&proofs, &n_proofs, &args, pool, trace, &err));
    ZK_GOTO(cli_check_cancelled(&err));
    span = zk_span_open(trace, "write");
    status = zk_file_write(args.out_path, proofs, n_proofs * ZK_PROOF_BYTES, &err);
    zk_span_close(trace, span);
    if (status != CUZK_OK) goto out;
    ZK_GOTO(report(&args, n_proofs, trace, &err));
out:
    cli_progress_end();
    free(proofs);
    zk_trace_destroy(trace);
    zk_pool_destroy(pool);
    return cli_report(self, status, &err);
}

static int run_job(const cli_command *self, int argc, char **argv) { return run(self, argc, argv, false); }
static int run_r1cs(const cli_command *self, int argc, char **argv) { return run(self, argc, argv, true); }

const cli_command cli_prove = {
    "prove", "proves a request: C1 output or request file in, proof out", run_job,
    "The vanilla proof is checked first; an input that does not hold is refused with exit code 3. Every proof is "
    "verified\n"
    "before it is written. Partitions are concatenated. At the end a timing tree goes to standard error."};
const cli_command cli_prove_r1cs = {"prove r1cs", "proves an explicit circuit with the assignment in its file",
                                    run_r1cs, "Key files are named after FILE's stem: DIR/STEM.params."};
