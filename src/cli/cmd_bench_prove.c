/* cuzk bench synthesize, prove, setup, verify: the stages of a whole proof */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/bench.h"
#include "cli/commands.h"
#include "cli/job.h"
#include "cli/proving.h"
#include "groth16/setup.h"
#include "hash/sha256.h"
#include "program/explicit.h"

typedef struct bench_args {
    cli_bench bench;
    cli_input input;
    cli_key_args keys;
    uint64_t log2_n; /* of the chain; 0: not given */
    uint64_t batch;  /* 0: not given */
} bench_args;

enum { DEFAULT_SETUP_LOG2_N = 17, MAX_CHECKED_SETUP_LOG2_N = 9, VERIFY_LOG2_N = 10, MAX_BATCH = 100000 };

static cuzk_status check_log2_n(uint64_t log2_n, cuzk_err *err) {
    if (log2_n >= 4 && log2_n <= 26) return CUZK_OK;
    return ZK_FAIL(err, CUZK_USAGE, "--chain: found %" PRIu64 ", expected 4 to 26", log2_n);
}

/* ---- the chain: x_(i+1) = x_i (x_i + i + 1), x_0 secret, x_n public; 2^k - 8 rows ---- */

typedef struct chain {
    zk_program *program;
    uint8_t (*hints)[32];
    size_t n_hints;
    uint8_t public_input[32];
} chain;

static void chain_free(chain *c) {
    zk_program_destroy(c->program);
    free(c->hints);
}

static cuzk_status chain_make(chain *c, unsigned log2_n, cuzk_err *err) {
    size_t n = ((size_t)1 << log2_n) - 8; /* aux x_0 .. x_(n-1), input 1 is x_n */
    cuzk_status status = CUZK_OK;
    zk_explicit_term *terms = zk_calloc(n, 4 * sizeof *terms);
    zk_explicit_term *a = terms, *b = terms + n, *next = terms + 3 * n;
    size_t *one_each = zk_calloc(n + 1, sizeof *one_each), *two_each = zk_calloc(n + 1, sizeof *two_each);
    c->n_hints = n + 1;
    c->hints = zk_calloc(c->n_hints, 32);
    if (!terms || !one_each || !two_each || !c->hints)
        ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a chain of %zu rows", n));
    zk_fr x;
    cli_bench_scalar(&x, 7, 0);
    for (size_t i = 0; i < n; i++) {
        zk_fr step, factor;
        zk_fr_from_u64(&step, i + 1);
        zk_fr_to_bytes_le(c->hints[1 + i], &x); /* inputs come first, then aux */
        a[i] = (zk_explicit_term){.var = (zk_var)i, .coef = zk_fr_one};
        b[2 * i] = (zk_explicit_term){.var = ZK_VAR_ONE, .coef = step};
        b[2 * i + 1] = a[i];
        next[i] = (zk_explicit_term){.var = i + 1 < n ? (zk_var)(i + 1) : (ZK_VAR_INPUT | 1), .coef = zk_fr_one};
        one_each[i + 1] = i + 1;
        two_each[i + 1] = 2 * (i + 1);
        zk_fr_add(&factor, &x, &step);
        zk_fr_mul(&x, &x, &factor);
    }
    zk_fr_to_bytes_le(c->hints[0], &x);
    memcpy(c->public_input, c->hints[0], 32);
    const zk_explicit_matrix abc[3] = {{one_each, a}, {two_each, b}, {one_each, next}};
    ZK_GOTO(zk_program_from_rows(&c->program, "chain", 2, (uint32_t)n, (uint32_t)n, abc, err));
out:
    free(terms);
    free(one_each);
    free(two_each);
    return status;
}

/* ---- proofs ---- */

typedef struct proof_run {
    cli_prover prover;
    zk_prove_request request;
    uint8_t proof[ZK_PROOF_BYTES];
} proof_run;

static cuzk_status prove_once(void *ctx, cuzk_err *err) {
    proof_run *run = ctx;
    return zk_prove(run->proof, run->prover.prover, &run->request, NULL, err);
}

/* Fixed blinding makes the proof, and so the checksum, the same in every run. */
static void fix_blinding(zk_blinding *blinding) {
    cli_bench_scalar(&blinding->r, 8, 0);
    cli_bench_scalar(&blinding->s, 8, 1);
}

static cuzk_status bench_prove(bench_args *args, const cli_arguments *given, cuzk_err *err) {
    cli_bench *bench = &args->bench;
    bool is_chain = args->log2_n != 0;
    if (is_chain) ZK_TRY(check_log2_n(args->log2_n, err));
    ZK_TRY(cli_key_args_check(&args->keys, err));
    if (is_chain && args->keys.params_dir) return ZK_FAIL(err, CUZK_USAGE, "--chain needs --test-toxic FILE");
    chain c = {0};
    zk_job *job = NULL;
    zk_program *program = NULL;
    uint8_t(*hints)[32] = NULL, (*publics)[32] = NULL;
    cli_key key = {0};
    proof_run run = {0};
    zk_blinding blinding;
    char identifier[ZK_IDENTIFIER_MAX];
    cuzk_status status = CUZK_OK;
    fix_blinding(&blinding);
    if (is_chain) {
        ZK_GOTO(chain_make(&c, (unsigned)args->log2_n, err));
        run.request = (zk_prove_request){(const uint8_t(*)[32])c.hints, c.n_hints, (const uint8_t(*)[32])c.public_input,
                                         1, &blinding};
    } else {
        ZK_GOTO(cli_input_read(&job, &args->input, given, err));
        ZK_GOTO(zk_job_program(&program, job, err));
        hints = zk_malloc((size_t)program->n_hints * 32);
        publics = zk_malloc((size_t)job->n_publics * 32);
        if (!hints || !publics) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the input of a partition"));
        ZK_GOTO(zk_job_hints(hints, program->n_hints, job, 0, err));
        zk_job_publics(publics, job, 0);
        run.request = (zk_prove_request){(const uint8_t(*)[32])hints, program->n_hints, (const uint8_t(*)[32])publics,
                                         job->n_publics, &blinding};
    }
    const zk_program *circuit = is_chain ? c.program : program;
    if (!is_chain) ZK_GOTO(zk_job_identifier(identifier, job, err));
    ZK_GOTO(cli_key_find(&key, &args->keys, is_chain ? NULL : identifier, NULL, err));
    ZK_GOTO(cli_prover_open(&run.prover, circuit, &key, &bench->work, bench->pool, NULL, err));
    bench->backend = run.prover.backend;
    ZK_GOTO(cli_bench_measure(bench, prove_once, &run, err));
    zk_sha256(bench->checksum, run.proof, sizeof run.proof);
    bench->checked = true; /* zk_prove verifies */
    cli_bench_field fields[] = {{"constraints", circuit->n_rows}, {"aux", circuit->n_aux}};
    ZK_GOTO(cli_bench_report(bench, fields, 2, circuit->n_rows, "constraints", err));
out:
    cli_prover_close(&run.prover);
    cli_key_clear(&key);
    free(hints);
    free(publics);
    zk_program_destroy(program);
    zk_job_destroy(job);
    chain_free(&c);
    return status;
}

/* ---- synthesis: assignment and a, b, c ---- */

typedef struct synthesis {
    const zk_program *program;
    zk_backend *backend;
    zk_resident_program *resident;
    zk_buffer *bits, *full, *rows[3];
    uint8_t (*hints)[32];
} synthesis;

static cuzk_status synthesis_open(synthesis *s, const cli_work *work, zk_job *job, zk_pool *pool, cuzk_err *err) {
    static const char *const names[3] = {"rows a", "rows b", "rows c"};
    const zk_program *program = s->program;
    ZK_TRY(cli_backend_open(&s->backend, work, pool, err));
    ZK_TRY(zk_resident_program_load(&s->resident, s->backend, program, err));
    ZK_TRY(zk_buffer_create(&s->bits, s->backend, "witness bits", zk_witness_bits_bytes(program), err));
    ZK_TRY(zk_buffer_create(&s->full, s->backend, "witness values", zk_witness_full_bytes(program), err));
    for (unsigned m = 0; m < 3; m++)
        ZK_TRY(zk_buffer_create(&s->rows[m], s->backend, names[m], zk_domain_bytes(s->resident), err));
    s->hints = zk_malloc((size_t)program->n_hints * 32);
    if (!s->hints) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the input of a partition");
    return zk_job_hints(s->hints, program->n_hints, job, 0, err);
}

static void synthesis_close(synthesis *s) {
    free(s->hints);
    for (unsigned m = 0; m < 3; m++) zk_buffer_destroy(s->rows[m]);
    zk_buffer_destroy(s->full);
    zk_buffer_destroy(s->bits);
    zk_resident_program_unload(s->resident);
    zk_backend_close(s->backend);
}

static cuzk_status synthesize_once(void *ctx, cuzk_err *err) {
    synthesis *s = ctx;
    ZK_TRY(zk_stage_witness(NULL, s->resident, (const uint8_t(*)[32])s->hints, s->bits, s->full, err));
    ZK_TRY(zk_stage_evaluate(NULL, s->resident, s->bits, s->full, s->rows[0], s->rows[1], s->rows[2], err));
    return zk_backend_wait(s->backend, NULL, err);
}

/* Every row satisfied, and the digest of the assignment (known for the published inputs). */
static cuzk_status synthesis_check(cli_bench *bench, const synthesis *s, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    const zk_program *program = s->program;
    size_t row;
    zk_fr *full = zk_malloc(zk_witness_full_bytes(program));
    uint64_t *bits = zk_malloc(zk_witness_bits_bytes(program));
    if (!full || !bits) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for an assignment"));
    ZK_GOTO(zk_stage_first_unsatisfied(NULL, s->resident, s->rows[0], s->rows[1], s->rows[2], &row, err));
    ZK_GOTO(zk_buffer_download(NULL, full, s->full, 0, zk_witness_full_bytes(program), err));
    ZK_GOTO(zk_buffer_download(NULL, bits, s->bits, 0, zk_witness_bits_bytes(program), err));
    ZK_GOTO(zk_backend_wait(s->backend, NULL, err));
    if (row != program->n_rows) ZK_GOTO(ZK_FAIL(err, CUZK_INTERNAL, "%s: row %zu is not satisfied", bench->name, row));
    zk_witness w = {.inputs = full, .bits = bits, .wide = full + program->n_inputs};
    ZK_GOTO(zk_witness_digest(bench->checksum, NULL, program, &w, 0, err));
    bench->checked = true;
out:
    free(full);
    free(bits);
    return status;
}

static cuzk_status bench_synthesize(bench_args *args, const cli_arguments *given, cuzk_err *err) {
    cli_bench *bench = &args->bench;
    zk_job *job = NULL;
    zk_program *program = NULL;
    synthesis s = {0};
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_input_read(&job, &args->input, given, err));
    ZK_GOTO(zk_job_program(&program, job, err));
    s.program = program;
    ZK_GOTO(synthesis_open(&s, &bench->work, job, bench->pool, err));
    bench->backend = s.backend;
    ZK_GOTO(cli_bench_measure(bench, synthesize_once, &s, err));
    ZK_GOTO(synthesis_check(bench, &s, err));
    cli_bench_field fields[] = {{"constraints", program->n_rows}, {"aux", program->n_aux}};
    ZK_GOTO(cli_bench_report(bench, fields, 2, program->n_rows, "constraints", err));
out:
    synthesis_close(&s);
    zk_program_destroy(program);
    zk_job_destroy(job);
    return status;
}

/* ---- setup and verification, on the chain ---- */

/* Toxic waste of benchmarks: fixed, so that results can be compared. */
static void fix_toxic(zk_toxic_waste *toxic) {
    zk_fr *values[] = {&toxic->alpha, &toxic->beta, &toxic->gamma, &toxic->delta, &toxic->tau};
    for (uint64_t i = 0; i < 5; i++) cli_bench_scalar(values[i], 9, i);
}

typedef struct setup_run {
    chain chain;
    zk_backend *backend;
    char dir[256], params_path[300], vk_path[300]; /* dir "": there is none */
    zk_toxic_waste toxic;
    zk_setup_result result;
    zk_pool *pool;
} setup_run;

static cuzk_status make_folder(setup_run *run, cuzk_err *err) {
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(run->dir, sizeof run->dir, "%s/cuzk-keys-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    errno = ENAMETOOLONG; /* unless mkdtemp says something else */
    if (n < 0 || (size_t)n >= sizeof run->dir || !mkdtemp(run->dir)) {
        cuzk_status status =
            ZK_FAIL(err, CUZK_IO, "%s: cannot make a folder for test keys: %s", run->dir, strerror(errno));
        run->dir[0] = 0;
        return status;
    }
    snprintf(run->params_path, sizeof run->params_path, "%s/test.params", run->dir);
    snprintf(run->vk_path, sizeof run->vk_path, "%s/test.vk", run->dir);
    return CUZK_OK;
}

static void remove_folder(setup_run *run) {
    if (!run->dir[0]) return;
    unlink(run->params_path);
    unlink(run->vk_path);
    rmdir(run->dir);
}

static cuzk_status setup_once(void *ctx, cuzk_err *err) {
    setup_run *run = ctx;
    zk_setup_options options = {.toxic = &run->toxic,
                                .params_path = run->params_path,
                                .vk_path = run->vk_path,
                                .backend = run->backend,
                                .pool = run->pool};
    return zk_setup(&run->result, run->chain.program, &options, err);
}

/* Point i of a section is its scalar times the generator, by doubling and adding. */
static bool is_multiple(const uint8_t *encoded, zk_group group, const zk_fr *scalar) {
    uint8_t expected[ZK_G2_UNCOMPRESSED_BYTES];
    if (group == ZK_G1) {
        zk_g1 p;
        zk_g1_affine a;
        zk_g1_from_affine(&p, &zk_g1_generator);
        zk_g1_mul_var(&p, &p, scalar);
        zk_g1_to_affine(&a, &p);
        zk_g1_serialize(expected, &a);
        return memcmp(encoded, expected, ZK_G1_UNCOMPRESSED_BYTES) == 0;
    }
    zk_g2 p;
    zk_g2_affine a;
    zk_g2_from_affine(&p, &zk_g2_generator);
    zk_g2_mul_var(&p, &p, scalar);
    zk_g2_to_affine(&a, &p);
    zk_g2_serialize(expected, &a);
    return memcmp(encoded, expected, ZK_G2_UNCOMPRESSED_BYTES) == 0;
}

static cuzk_status check_setup(const setup_run *run, cuzk_err *err) {
    zk_key_scalars scalars = {0};
    zk_params *params = NULL;
    zk_fr *values = NULL;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(zk_key_scalars_create(&scalars, run->chain.program, &run->toxic, run->pool, err));
    ZK_GOTO(zk_params_open(&params, run->params_path, NULL, err));
    for (int i = 0; i < ZK_PARAMS_N_SECTIONS; i++) {
        zk_params_section_id id = (zk_params_section_id)i;
        uint32_t n = params->section[i].n;
        if (n != scalars.n[i])
            ZK_GOTO(ZK_FAIL(err, CUZK_INTERNAL, "bench setup: section %s: %" PRIu32 " points, expected %" PRIu64,
                            zk_params_section_name(id), n, scalars.n[i]));
        free(values);
        values = zk_malloc(n * sizeof *values);
        if (!values) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for %" PRIu32 " scalars", n));
        zk_key_scalars_get(&scalars, id, values, 0, n);
        for (uint32_t k = 0; k < n; k++)
            if (!is_multiple(params->bytes + params->section[i].offset + k * zk_params_point_bytes(id),
                             zk_params_section_group(id), &values[k]))
                ZK_GOTO(ZK_FAIL(err, CUZK_INTERNAL, "bench setup: section %s: point %" PRIu32 " is wrong",
                                zk_params_section_name(id), k));
    }
out:
    free(values);
    zk_params_close(params);
    zk_key_scalars_clear(&scalars);
    return status;
}

static cuzk_status bench_setup(bench_args *args, cuzk_err *err) {
    cli_bench *bench = &args->bench;
    uint64_t log2_n = args->log2_n ? args->log2_n : DEFAULT_SETUP_LOG2_N;
    setup_run run = {.pool = bench->pool};
    cuzk_status status = CUZK_OK;
    ZK_TRY(check_log2_n(log2_n, err));
    fix_toxic(&run.toxic);
    ZK_GOTO(make_folder(&run, err));
    ZK_GOTO(chain_make(&run.chain, (unsigned)log2_n, err));
    ZK_GOTO(cli_backend_open(&run.backend, &bench->work, bench->pool, err));
    bench->backend = run.backend;
    ZK_GOTO(cli_bench_measure(bench, setup_once, &run, err));
    memcpy(bench->checksum, run.result.params_sha256, 32);
    if (log2_n <= MAX_CHECKED_SETUP_LOG2_N) {
        ZK_GOTO(check_setup(&run, err));
        bench->checked = true;
    }
    cli_bench_field fields[] = {{"constraints", run.chain.program->n_rows}, {"params_bytes", run.result.params_bytes}};
    ZK_GOTO(cli_bench_report(bench, fields, 2, run.chain.program->n_rows, "constraints", err));
out:
    zk_backend_close(run.backend);
    chain_free(&run.chain);
    remove_folder(&run);
    return status;
}

typedef struct verify_run {
    const zk_prepared_vk *vk;
    uint8_t *proofs;        /* [n] */
    uint8_t (*publics)[32]; /* [n] one a proof */
    size_t n;
    zk_pool *pool;
} verify_run;

static cuzk_status verify_once(void *ctx, cuzk_err *err) {
    verify_run *run = ctx;
    return zk_verify_batch(run->vk, run->proofs, run->n * ZK_PROOF_BYTES, run->n, (const uint8_t(*)[32])run->publics, 1,
                           run->pool, err);
}

static cuzk_status bench_verify(bench_args *args, cuzk_err *err) {
    cli_bench *bench = &args->bench;
    uint64_t batch = args->batch ? args->batch : 1;
    if (batch > MAX_BATCH)
        return ZK_FAIL(err, CUZK_USAGE, "--batch: found %" PRIu64 ", expected at most %d", batch, MAX_BATCH);
    chain c = {0};
    cli_key key = {0};
    cli_prover prover = {0};
    verify_run run = {.n = batch, .pool = bench->pool};
    cuzk_status status = CUZK_OK;
    fix_toxic(&key.toxic);
    ZK_GOTO(chain_make(&c, VERIFY_LOG2_N, err));
    ZK_GOTO(cli_prover_open(&prover, c.program, &key, &bench->work, bench->pool, NULL, err));
    run.vk = prover.key->prepared;
    run.proofs = zk_malloc(batch * ZK_PROOF_BYTES);
    run.publics = zk_malloc(batch * 32);
    if (!run.proofs || !run.publics)
        ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for %" PRIu64 " proofs", batch));
    zk_prove_request request = {.hints = (const uint8_t(*)[32])c.hints, .n_hints = c.n_hints};
    for (uint64_t i = 0; i < batch; i++) {
        ZK_GOTO(zk_prove(run.proofs + i * ZK_PROOF_BYTES, prover.prover, &request, NULL, err));
        memcpy(run.publics[i], c.public_input, 32);
    }
    ZK_GOTO(cli_bench_measure(bench, verify_once, &run, err));
    run.publics[0][0] ^= 1;
    if (verify_once(&run, NULL) != CUZK_BAD_PROOF)
        ZK_GOTO(ZK_FAIL(err, CUZK_INTERNAL, "%s: a false statement was accepted", bench->name));
    bench->checked = true;
    zk_sha256(bench->checksum, c.public_input, 32);
    cli_bench_field fields[] = {{"batch", batch}};
    ZK_GOTO(cli_bench_report(bench, fields, 1, batch, "proofs", err));
out:
    cli_prover_close(&prover);
    free(run.proofs);
    free(run.publics);
    chain_free(&c);
    return status;
}

/* ---- commands ---- */

enum bench_kind { BENCH_PROVE, BENCH_SYNTHESIZE, BENCH_SETUP, BENCH_VERIFY };

static int run(const cli_command *self, int argc, char **argv, enum bench_kind kind) {
    bench_args args = {0};
    cuzk_err err = {0};
    const cli_option chain_option = {"chain", "K", CLI_COUNT, &args.log2_n,
                                     "the chain of 2^K - 8 multiplications with a full-width witness"};
    const cli_option batch_option = {"batch", "N", CLI_COUNT, &args.batch, "proofs checked together (default 1)"};
    cli_option table[] = {
        kind == BENCH_VERIFY ? batch_option : chain_option,
        CLI_BENCH_OPTIONS(args.bench),
        CLI_DEVICE_OPTIONS(args.bench.work),
        CLI_INPUT_OPTIONS(args.input),
        CLI_KEY_OPTIONS(args.keys),
    };
    const size_t n_input = CLI_N_OPTIONS(CLI_INPUT_OPTIONS(args.input)),
                 n_key = CLI_N_OPTIONS(CLI_KEY_OPTIONS(args.keys));
    cli_arguments arguments = {CLI_ALL(table)};
    if (kind == BENCH_SYNTHESIZE) { /* of an input alone, and no key */
        arguments.options++;
        arguments.n_options -= 1 + n_key;
    }
    if (kind == BENCH_SETUP || kind == BENCH_VERIFY) arguments.n_options -= n_key + n_input;
    bool help = false;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_parse(&help, &arguments, self, argc, argv, &err));
    if (help) goto out;
    ZK_GOTO(cli_bench_start(&args.bench, self->name, &err));
    switch (kind) {
    case BENCH_PROVE:
        status = bench_prove(&args, &arguments, &err);
        break;
    case BENCH_SYNTHESIZE:
        status = bench_synthesize(&args, &arguments, &err);
        break;
    case BENCH_SETUP:
        status = bench_setup(&args, &err);
        break;
    case BENCH_VERIFY:
        status = bench_verify(&args, &err);
        break;
    }
out:
    cli_bench_end(&args.bench);
    return cli_report(self, status, &err);
}

static int run_prove(const cli_command *self, int argc, char **argv) { return run(self, argc, argv, BENCH_PROVE); }
static int run_synthesize(const cli_command *self, int argc, char **argv) {
    return run(self, argc, argv, BENCH_SYNTHESIZE);
}
static int run_setup(const cli_command *self, int argc, char **argv) { return run(self, argc, argv, BENCH_SETUP); }
static int run_verify(const cli_command *self, int argc, char **argv) { return run(self, argc, argv, BENCH_VERIFY); }

const cli_command cli_bench_prove = {"bench prove", "whole proofs of one partition with resident keys, or of a chain",
                                     run_prove, NULL};
const cli_command cli_bench_synthesize = {"bench synthesize", "assignment and a, b, c of one partition", run_synthesize,
                                          NULL};
const cli_command cli_bench_setup = {"bench setup", "key setup of a chain of multiplications", run_setup, NULL};
const cli_command cli_bench_verify = {"bench verify", "verification of one proof, or of a batch", run_verify, NULL};
