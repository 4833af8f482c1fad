/* cuzk bench request: whole requests with a resident key, from the file to verified proofs */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/bench.h"
#include "cli/commands.h"
#include "cli/folder.h"
#include "cli/job.h"
#include "cli/partitions.h"
#include "cli/testdata.h"
#include "hash/sha256.h"

typedef struct request_args {
    cli_bench bench;
    cli_key_args keys;
    const char *folder, *blinding_path;
    uint64_t lanes; /* 0: not given */
    bool steady, multiples;
} request_args;

static cuzk_status read_job(zk_job **job, const char *path, cuzk_err *err) {
    zk_request *request = NULL;
    ZK_TRY(zk_request_read_file(&request, path, err));
    cuzk_status status = zk_job_from_request(job, request, err);
    zk_request_destroy(request);
    if (status != CUZK_OK) zk_err_prefix(err, "%s", path);
    return status;
}

typedef struct reader {
    const char *path;
    size_t index; /* of the request */
    zk_job *job;
    cuzk_status status;
    cuzk_err err;
} reader;

static void *read_ahead(void *ctx) {
    reader *r = ctx;
    r->status = read_job(&r->job, r->path, &r->err);
    return NULL;
}

typedef struct request_run {
    const request_args *args;
    cli_files files;        /* of the requests */
    uint8_t (*digests)[32]; /* [files.n] of the proofs of each request, once it was proved */
    bool *proved;           /* [files.n] */
    zk_program *program;
    uint32_t n_partitions;
    cli_prover prover;
    uint8_t *proofs;
    zk_blinding *blinding; /* [n_partitions], or NULL: random */
    uint64_t turn;         /* request of the next run */
    reader ahead;          /* steady: the request that is read while another is proved */
    pthread_t thread;
    bool reading;
} request_run;

static cuzk_status start_reading(request_run *run, cuzk_err *err) {
    size_t index = (size_t)(run->turn++ % run->files.n);
    run->ahead = (reader){.path = run->files.paths[index], .index = index};
    if (pthread_create(&run->thread, NULL, read_ahead, &run->ahead) != 0)
        return ZK_FAIL(err, CUZK_EXHAUSTED, "no thread to read requests");
    run->reading = true;
    return CUZK_OK;
}

static cuzk_status take_read(zk_job **job, request_run *run, cuzk_err *err) {
    if (!run->reading) ZK_TRY(start_reading(run, err));
    pthread_join(run->thread, NULL);
    run->reading = false;
    *job = run->ahead.job;
    if (run->ahead.status != CUZK_OK && err) *err = run->ahead.err;
    return run->ahead.status;
}

/* With fixed blinding the proofs of a request are always the same. */
static cuzk_status compare_runs(request_run *run, size_t index, cuzk_err *err) {
    uint8_t digest[32];
    if (!run->blinding) return CUZK_OK;
    zk_sha256(digest, run->proofs, (size_t)run->n_partitions * ZK_PROOF_BYTES);
    if (run->proved[index] && memcmp(digest, run->digests[index], 32) != 0)
        return ZK_FAIL(err, CUZK_CHECK_FAILED, "%s: with the same blinding two runs gave different proofs",
                       run->files.paths[index]);
    memcpy(run->digests[index], digest, 32);
    run->proved[index] = true;
    return CUZK_OK;
}

/* One request: read, proved, all its proofs checked together. */
static cuzk_status request_once(void *ctx, cuzk_err *err) {
    request_run *run = ctx;
    cuzk_status status = CUZK_OK;
    zk_job *job = NULL;
    uint8_t(*publics)[32] = NULL;
    ZK_TRY(take_read(&job, run, err));
    size_t index = run->ahead.index;
    if (run->args->steady) ZK_GOTO(start_reading(run, err));
    if (job->n_partitions != run->n_partitions)
        ZK_GOTO(ZK_FAIL(err, CUZK_BAD_INPUT,
                        "requests of one circuit and length are expected: %" PRIu32 " partitions found, %" PRIu32
                        " expected",
                        job->n_partitions, run->n_partitions));
    cli_partitions work = {
        .job = job, .program = run->program, .n = run->n_partitions, .blinding = run->blinding, .check = true};
    ZK_GOTO(cli_partitions_prove(run->proofs, &run->prover, &work, err));
    ZK_GOTO(compare_runs(run, index, err));
    publics = zk_malloc((size_t)job->n_publics * run->n_partitions * 32);
    if (!publics) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for public inputs"));
    for (uint32_t k = 0; k < run->n_partitions; k++) zk_job_publics(publics + (size_t)k * job->n_publics, job, k);
    ZK_GOTO(zk_verify_batch(run->prover.key->prepared, run->proofs, (size_t)run->n_partitions * ZK_PROOF_BYTES,
                            run->n_partitions, (const uint8_t(*)[32])publics, job->n_publics, run->prover.pool, err));
out:
    free(publics);
    zk_job_destroy(job);
    return status;
}

static cuzk_status open_run(request_run *run, zk_job *job, cuzk_err *err) {
    const request_args *args = run->args;
    cuzk_status status = CUZK_OK;
    char identifier[ZK_IDENTIFIER_MAX];
    cli_key key = {0};
    run->n_partitions = job->n_partitions;
    if (args->blinding_path) ZK_TRY(cli_read_blinding(&run->blinding, run->n_partitions, args->blinding_path, err));
    ZK_TRY(zk_job_program(&run->program, job, err));
    run->proofs = zk_malloc((size_t)run->n_partitions * ZK_PROOF_BYTES);
    run->digests = zk_calloc(run->files.n, sizeof *run->digests);
    run->proved = zk_calloc(run->files.n, sizeof *run->proved);
    if (!run->proofs || !run->digests || !run->proved) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for proofs");
    ZK_GOTO(zk_job_identifier(identifier, job, err));
    ZK_GOTO(cli_key_find(&key, &args->keys, identifier, NULL, err));
    ZK_GOTO(cli_prover_open(&run->prover, run->program, &key, &args->bench.work, args->bench.pool, NULL, err));
    if (args->lanes != 1) ZK_GOTO(cli_prover_widen(&run->prover, run->n_partitions, err));
    ZK_GOTO(zk_proving_key_speed_up(run->prover.key, args->multiples ? SIZE_MAX : ZK_SHORT_LIST, NULL, err));
out:
    cli_key_clear(&key);
    return status;
}

static cuzk_status bench_request(request_args *args, cuzk_err *err) {
    cli_bench *bench = &args->bench;
    cuzk_status status = CUZK_OK;
    request_run run = {.args = args};
    zk_job *job = NULL;
    ZK_TRY(cli_key_args_check(&args->keys, err));
    ZK_GOTO(cli_json_files(&run.files, args->folder, "requests", err));
    ZK_GOTO(read_job(&job, run.files.paths[0], err));
    ZK_GOTO(open_run(&run, job, err));
    bench->backend = run.prover.backend;
    ZK_GOTO(cli_bench_measure(bench, request_once, &run, err));
    zk_sha256(bench->checksum, run.proofs, (size_t)run.n_partitions * ZK_PROOF_BYTES);
    bench->checked = true; /* every proof is verified */
    cli_bench_field fields[] = {{"partitions", run.n_partitions}, {"constraints", run.program->n_rows}};
    ZK_GOTO(cli_bench_report(bench, fields, 2, run.n_partitions, "circuits", err));
out:
    if (run.reading) {
        pthread_join(run.thread, NULL);
        zk_job_destroy(run.ahead.job);
    }
    cli_prover_close(&run.prover);
    free(run.proofs);
    free(run.blinding);
    zk_job_destroy(job);
    zk_program_destroy(run.program);
    cli_files_clear(&run.files);
    free(run.digests);
    free(run.proved);
    return status;
}

static int run_request(const cli_command *self, int argc, char **argv) {
    request_args args = {0};
    cuzk_err err = {0};
    cli_option options[] = {
        CLI_BENCH_OPTIONS(args.bench),
        CLI_DEVICE_OPTIONS(args.bench.work),
        {"lanes", "N", CLI_COUNT, &args.lanes,
         "partitions proved side by side, 1 or 2 (default: 2 where there is room)"},
        {"multiples", NULL, CLI_FLAG, &args.multiples, "keep multiples of the bases in the device memory that is left"},
        {"steady", NULL, CLI_FLAG, &args.steady, "the next request is read while one is proved"},
        {"test-blinding", "FILE", CLI_STRING, &args.blinding_path,
         "fixed blinding, as for `prove`; every run of a request must give the same bytes"},
        CLI_KEY_OPTIONS(args.keys),
    };
    cli_positional positionals[] = {{"FOLDER", &args.folder,
                                     "requests of one circuit (*.json: the message SubmitProofRequest), proved in turn",
                                     false}};
    bool help = false;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_parse(&help, &(cli_arguments){CLI_ALL(options), CLI_ALL(positionals)}, self, argc, argv, &err));
    if (help) goto out;
    if (args.lanes > CLI_MAX_LANES)
        ZK_GOTO(ZK_FAIL(&err, CUZK_USAGE, "--lanes: found %" PRIu64 ", expected 1 or 2", args.lanes));
    ZK_GOTO(cli_bench_start(&args.bench, self->name, &err));
    status = bench_request(&args, &err);
out:
    cli_bench_end(&args.bench);
    return cli_report(self, status, &err);
}

const cli_command cli_bench_request = {"bench request", "whole requests with a resident key, from file to proof",
                                       run_request, NULL};
