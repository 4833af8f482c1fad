/* cuzk verify, cuzk verify r1cs */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/circuits.h"
#include "cli/commands.h"
#include "cli/job.h"
#include "cli/output.h"
#include "cli/session.h"
#include "groth16/r1cs_json.h"
#include "groth16/verify.h"

typedef struct verify_args {
    cli_input input;
    const char *file; /* explicit circuit */
    const char *params_dir, *vk_path, *proof_path;
    uint64_t partition;
    bool one_partition, json;
    cli_work work;
} verify_args;

/* Statement: public inputs of n circuits of one kind, and the key's path. */
typedef struct statement {
    char *vk_path;
    uint8_t (*publics)[32];
    size_t n_publics, n;
} statement;

static cuzk_status read_key(zk_prepared_vk **prepared, const char *path, cuzk_err *err) {
    zk_vk vk = {0};
    ZK_TRY(zk_vk_read(&vk, path, err));
    cuzk_status status = zk_prepared_vk_create(prepared, &vk, path, err);
    zk_vk_clear(&vk);
    return status;
}

/* A longer file cannot be a proof and is not read to its end. */
static cuzk_status read_proof(uint8_t **proof, size_t *n, const char *path, size_t n_expected, cuzk_err *err) {
    enum { SLACK_BYTES = 1 << 20 };
    cuzk_status status = CUZK_OK;
    zk_file_reader *reader = NULL;
    ZK_TRY(zk_file_reader_create(&reader, path, err));
    *proof = zk_malloc(n_expected + SLACK_BYTES);
    if (!*proof) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory for %zu bytes", path, n_expected));
    ZK_GOTO(zk_file_reader_read(n, reader, *proof, n_expected + SLACK_BYTES, err));
out:
    zk_file_reader_destroy(reader);
    return status;
}

static cuzk_status verify(const verify_args *args, const statement *s, zk_pool *pool, cuzk_err *err) {
    zk_prepared_vk *vk = NULL;
    uint8_t *proof = NULL;
    size_t n_proof = 0;
    uint64_t start_ns = 0;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(read_key(&vk, s->vk_path, err));
    ZK_GOTO(read_proof(&proof, &n_proof, args->proof_path, s->n * ZK_PROOF_BYTES, err));
    start_ns = zk_now_ns();
    status = zk_verify_batch(vk, proof, n_proof, s->n, (const uint8_t(*)[32])s->publics, s->n_publics, pool, err);
    if (status != CUZK_OK && status != CUZK_BAD_PROOF) goto out;
    if (status == CUZK_BAD_PROOF) zk_err_prefix(err, "%s", args->proof_path);
    double ms = (double)(zk_now_ns() - start_ns) * 1e-6;
    if (args->json) {
        zk_json_writer *json = cli_json_begin();
        zk_json_put_bool(json, "valid", status == CUZK_OK);
        zk_json_put_u64(json, "partitions", s->n);
        zk_json_put_double(json, "ms", ms);
        if (status != CUZK_OK && err) zk_json_put_string(json, "message", err->message);
        cuzk_status written = cli_json_end(json, err);
        if (status == CUZK_OK) status = written;
    } else if (status == CUZK_OK) {
        printf("%s: valid (%zu partition%s, %.1f ms)\n", args->proof_path, s->n, s->n == 1 ? "" : "s", ms);
    }
out:
    free(proof);
    zk_prepared_vk_destroy(vk);
    return status;
}

static cuzk_status state_job(statement *s, const verify_args *args, const cli_arguments *given, cuzk_err *err) {
    zk_job *job = NULL;
    char identifier[ZK_IDENTIFIER_MAX];
    uint32_t first = 0;
    cuzk_status status = CUZK_OK;
    if (!args->params_dir == !args->vk_path)
        return ZK_FAIL(err, CUZK_USAGE, "expected one of --params DIR and --vk FILE (see --help)");
    ZK_GOTO(cli_input_read(&job, &args->input, given, err));
    s->n = job->n_partitions;
    if (args->one_partition) {
        if (args->partition >= s->n)
            ZK_GOTO(
                ZK_FAIL(err, CUZK_USAGE, "--partition: found %" PRIu64 ", the input has %zu", args->partition, s->n));
        first = (uint32_t)args->partition;
        s->n = 1;
    }
    s->n_publics = job->n_publics;
    s->publics = zk_calloc(s->n * s->n_publics, 32);
    if (!s->publics) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the public inputs"));
    for (uint32_t i = 0; i < s->n; i++) zk_job_publics(s->publics + i * s->n_publics, job, first + i);
    if (args->vk_path) {
        s->vk_path = zk_strdup(args->vk_path);
        if (!s->vk_path) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a path"));
    } else {
        ZK_GOTO(zk_job_identifier(identifier, job, err));
        ZK_GOTO(cli_key_path(&s->vk_path, args->params_dir, identifier, ".vk", err));
        ZK_GOTO(cli_key_expect(s->vk_path, args->params_dir, err));
    }
out:
    zk_job_destroy(job);
    return status;
}

static cuzk_status state_r1cs(statement *s, const verify_args *args, cuzk_err *err) {
    zk_r1cs_circuit circuit = {0};
    cuzk_status status = CUZK_OK;
    if (!args->params_dir) return ZK_FAIL(err, CUZK_USAGE, "missing option --params DIR (see --help)");
    ZK_GOTO(zk_r1cs_json_read(&circuit, args->file, err));
    s->n = 1;
    s->n_publics = circuit.n_publics;
    s->publics = circuit.publics;
    circuit.publics = NULL;
    ZK_GOTO(cli_stem_path(&s->vk_path, args->params_dir, args->file, ".vk", err));
out:
    zk_r1cs_circuit_clear(&circuit);
    return status;
}

static int run(const cli_command *self, int argc, char **argv, bool explicit_circuit) {
    verify_args args = {0};
    cuzk_err err = {0};
    zk_pool *pool = NULL;
    statement s = {0};
    cli_option options[] = {
        {"params", "DIR", CLI_STRING, &args.params_dir, "folder of the key files; the .vk is enough"},
        {"json", NULL, CLI_FLAG, &args.json, "one JSON object on standard output"},
        CLI_WORK_OPTIONS(args.work),
        {"vk", "FILE", CLI_STRING, &args.vk_path, "the verifying key, instead of --params"},
        {"partition", "K", CLI_U64, &args.partition, "the proof is of this partition alone"},
        CLI_INPUT_OPTIONS(args.input),
    };
    const size_t n_all = sizeof options / sizeof options[0],
                 n_of_requests = 2 + CLI_N_OPTIONS(CLI_INPUT_OPTIONS(args.input));
    cli_positional positionals[] = {
        {"FILE", &args.file, "explicit circuit, JSON with `rows`, `aux` and `witness`", false},
        {"PROOF", &args.proof_path, "the proof, partitions concatenated", false},
    };
    const cli_arguments arguments = {options, explicit_circuit ? n_all - n_of_requests : n_all,
                                     positionals + !explicit_circuit, explicit_circuit ? 2 : 1};
    bool help = false;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_parse(&help, &arguments, self, argc, argv, &err));
    if (help) goto out;
    args.one_partition = cli_given(&arguments, "partition");
    ZK_GOTO(cli_work_start(&args.work, &pool, &err));
    if (explicit_circuit)
        ZK_GOTO(state_r1cs(&s, &args, &err));
    else
        ZK_GOTO(state_job(&s, &args, &arguments, &err));
    ZK_GOTO(verify(&args, &s, pool, &err));
out:
    free(s.publics);
    free(s.vk_path);
    zk_pool_destroy(pool);
    return cli_report(self, status, &err);
}

static int run_job(const cli_command *self, int argc, char **argv) { return run(self, argc, argv, false); }
static int run_r1cs(const cli_command *self, int argc, char **argv) { return run(self, argc, argv, true); }

const cli_command cli_verify = {"verify", "verifies the proof of a request", run_job,
                                "Exit code 1 when the proof does not hold, cannot be decoded or has the wrong length."};
const cli_command cli_verify_r1cs = {"verify r1cs", "verifies the proof of an explicit circuit", run_r1cs,
                                     "Key files are named after FILE's stem: DIR/STEM.vk."};
