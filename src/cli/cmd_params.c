/* cuzk params info, cuzk params check, cuzk params prepare */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "cli/circuits.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/session.h"
#include "groth16/prepare.h"
#include "groth16/r1cs_json.h"

typedef struct params_args {
    const char *file;
    bool json;
    cli_work work;
} params_args;

static cuzk_status info(const params_args *args, const zk_params *params, zk_pool *pool, cuzk_err *err) {
    (void)pool;
    uint8_t sha256[32];
    cuzk_status status = zk_digest_pieces(sha256, params->bytes, params->n_bytes, "digest", cli_progress, NULL, err);
    cli_progress_end();
    ZK_TRY(status);
    if (!args->json) {
        char hex[65];
        zk_hex_encode(hex, sha256, 32);
        printf("%s: %zu bytes, SHA-256 %s\n", args->file, params->n_bytes, hex);
        printf("verifying key: %" PRIu32 " inputs (with the constant one)\n", params->vk.n_ic);
        for (int i = 0; i < ZK_PARAMS_N_SECTIONS; i++)
            printf("%-5s %10" PRIu32 " points of %zu bytes at offset %" PRIu64 "\n",
                   zk_params_section_name((zk_params_section_id)i), params->section[i].n,
                   zk_params_point_bytes((zk_params_section_id)i), params->section[i].offset);
        return CUZK_OK;
    }
    zk_json_writer *json = cli_json_begin();
    zk_json_put_string(json, "file", args->file);
    zk_json_put_u64(json, "bytes", params->n_bytes);
    zk_json_put_hex(json, "sha256", sha256, 32);
    zk_json_begin_object(json, "counts");
    zk_json_put_u64(json, "ic", params->vk.n_ic);
    for (int i = 0; i < ZK_PARAMS_N_SECTIONS; i++)
        zk_json_put_u64(json, zk_params_section_name((zk_params_section_id)i), params->section[i].n);
    zk_json_end(json);
    zk_json_begin_object(json, "offsets");
    for (int i = 0; i < ZK_PARAMS_N_SECTIONS; i++)
        zk_json_put_u64(json, zk_params_section_name((zk_params_section_id)i), params->section[i].offset);
    zk_json_end(json);
    return cli_json_end(json, err);
}

static cuzk_status check(const params_args *args, const zk_params *params, zk_pool *pool, cuzk_err *err) {
    zk_backend *backend;
    ZK_TRY(cli_backend_open(&backend, &args->work, pool, err));
    bool on_device = zk_resident_points_can_check(backend);
    cuzk_status status = on_device ? zk_params_check_on(params, backend, pool, cli_progress, NULL, err)
                                   : zk_params_check(params, pool, cli_progress, NULL, err);
    const char *const kind = backend->caps.kind; /* static */
    zk_backend_close(backend);
    cli_progress_end();
    ZK_TRY(status);
    unsigned error_bits = on_device ? ZK_SUBGROUP_LOG2_ERROR : ZK_CHECK_LOG2_ERROR;
    if (args->json) {
        zk_json_writer *json = cli_json_begin();
        zk_json_put_string(json, "file", args->file);
        zk_json_put_string(json, "backend", kind);
        zk_json_put_bool(json, "holds", true);
        zk_json_put_i64(json, "log2_error_probability", -(int64_t)error_bits);
        return cli_json_end(json, err);
    }
    printf(
        "%s: every point is canonical, on the curve and in the subgroup (a point outside the subgroup is missed with\n"
        "probability 2^-%u at most)\n",
        args->file, error_bits);
    return CUZK_OK;
}

/* The answer no, as an object; its message goes to stderr, too. */
static cuzk_status put_refusal(const char *file, cuzk_err *err) {
    zk_json_writer *json = cli_json_begin();
    zk_json_put_string(json, "file", file);
    zk_json_put_bool(json, "holds", false);
    zk_json_put_string(json, "message", err->message);
    cuzk_err failed = {0};
    cuzk_status status = cli_json_end(json, &failed);
    if (status == CUZK_OK) return CUZK_CHECK_FAILED;
    *err = failed;
    return status;
}

static int run(const cli_command *self, int argc, char **argv,
               cuzk_status (*action)(const params_args *, const zk_params *, zk_pool *, cuzk_err *)) {
    params_args args = {0};
    cuzk_err err = {0};
    zk_pool *pool = NULL;
    zk_params *params = NULL;
    cli_option options[] = {
        {"json", NULL, CLI_FLAG, &args.json, "one JSON object on standard output"},
        CLI_WORK_OPTIONS(args.work),
        CLI_DEVICE_OPTIONS(args.work),
    };
    size_t n_options = sizeof options / sizeof options[0];
    if (action == info) n_options -= CLI_N_OPTIONS(CLI_DEVICE_OPTIONS(args.work));
    cli_positional positionals[] = {{"FILE", &args.file, "a .params file", false}};
    bool help = false;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_parse(&help, &(cli_arguments){options, n_options, CLI_ALL(positionals)}, self, argc, argv, &err));
    if (help) goto out;
    ZK_GOTO(cli_work_start(&args.work, &pool, &err));
    ZK_GOTO(action == check ? zk_params_open_to_check(&params, args.file, &err)
                            : zk_params_open(&params, args.file, NULL, &err));
    ZK_GOTO(action(&args, params, pool, &err));
out:
    if (status == CUZK_CHECK_FAILED && args.json) status = put_refusal(args.file, &err);
    zk_params_close(params);
    zk_pool_destroy(pool);
    return cli_report(self, status, &err);
}

static int run_info(const cli_command *self, int argc, char **argv) { return run(self, argc, argv, info); }
static int run_check(const cli_command *self, int argc, char **argv) { return run(self, argc, argv, check); }

const cli_command cli_params_info = {"params info", "counts, offsets and digest of a .params file", run_info, NULL};
const cli_command cli_params_check = {
    "params check", "checks every point of a .params file: canonical, on the curve, in the subgroup", run_check,
    "Subgroup membership is tested by random subset sums; the command states the probability of a miss. Exit code 1\n"
    "when a point is refused, with section, index and offset."};

/* ---- prepare ---- */

typedef struct prepare_args {
    const char *file, *kind, *r1cs;
    uint64_t sector_bytes;
    bool check, json;
    cli_work work;
} prepare_args;

/* The circuit that was named, or that has this file name. */
static cuzk_status find_circuit(zk_program **program, zk_r1cs_circuit *circuit, const prepare_args *args,
                                cuzk_err *err) {
    zk_proof_kind kind;
    uint64_t sector_bytes = args->sector_bytes;
    if (args->r1cs && args->kind) return ZK_FAIL(err, CUZK_USAGE, "expected one of --circuit and --r1cs");
    if (!args->kind != !args->sector_bytes)
        return ZK_FAIL(err, CUZK_USAGE, "--circuit and --sector-size belong together");
    if (args->r1cs) return zk_r1cs_json_read(circuit, args->r1cs, err);
    if (args->kind)
        ZK_TRY(cli_kind(&kind, args->kind, err));
    else
        ZK_TRY(cli_circuit_of_key(&kind, &sector_bytes, args->file, err));
    return zk_kind_program(program, kind, sector_bytes, err);
}

static cuzk_status report_prepared(const prepare_args *args, const char *path, uint64_t bytes, uint64_t start_ns,
                                   cuzk_err *err) {
    double seconds = (double)(zk_now_ns() - start_ns) * 1e-9;
    if (args->json) {
        zk_json_writer *json = cli_json_begin();
        zk_json_put_string(json, "params", args->file);
        zk_json_put_string(json, "prepared", path);
        zk_json_put_u64(json, "bytes", bytes);
        zk_json_put_bool(json, "made", !args->check);
        zk_json_put_double(json, "seconds", seconds);
        return cli_json_end(json, err);
    }
    if (args->check)
        printf("%s: complete, of %s (the digests of both files hold)\n", path, args->file);
    else
        printf("%s  %" PRIu64 " bytes\nmade and checked in %.1f s; `cuzk prove --prepared` uses it\n", path, bytes,
               seconds);
    return CUZK_OK;
}

static cuzk_status make_prepared(uint64_t *bytes, const prepare_args *args, const zk_params *params, const char *path,
                                 const zk_program *program, zk_pool *pool, cuzk_err *err) {
    zk_backend *backend = NULL;
    zk_prepare_result result;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_backend_open(&backend, &args->work, pool, err));
    zk_prepare_options options = {.backend = backend, .pool = pool, .progress = cli_progress};
    ZK_GOTO(zk_prepare(&result, params, path, program, &options, err));
    *bytes = result.bytes;
out:
    cli_progress_end();
    zk_backend_close(backend);
    return status;
}

static cuzk_status check_prepared(uint64_t *bytes, const zk_params *params, const char *path, const zk_program *program,
                                  zk_pool *pool, cuzk_err *err) {
    zk_query_masks masks = {0};
    zk_prepared_params *prepared = NULL;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(zk_query_masks_compute(&masks, program, pool, err));
    ZK_GOTO(zk_query_masks_prepare(&masks, program, err));
    ZK_GOTO(zk_prepared_params_open(&prepared, path, params, program, &masks, err));
    ZK_GOTO(zk_prepared_params_verify(prepared, params, cli_progress, NULL, err));
    *bytes = prepared->map.n_bytes;
out:
    cli_progress_end();
    zk_prepared_params_close(prepared);
    zk_query_masks_clear(&masks);
    return status;
}

static int run_prepare(const cli_command *self, int argc, char **argv) {
    prepare_args args = {0};
    uint64_t start_ns = zk_now_ns(), bytes = 0;
    cuzk_err err = {0};
    zk_pool *pool = NULL;
    zk_params *params = NULL;
    zk_program *program = NULL;
    zk_r1cs_circuit circuit = {0};
    char *path = NULL;
    cli_option options[] = {
        {"check", NULL, CLI_FLAG, &args.check, "only compare the digests of both files with those that were written"},
        {"circuit", "KIND", CLI_STRING, &args.kind, CLI_KINDS " (default: by FILE's name)"},
        {"sector-size", "S", CLI_SIZE, &args.sector_bytes, "with --circuit"},
        {"r1cs", "FILE", CLI_STRING, &args.r1cs, "explicit circuit instead, JSON with `rows` and `aux`"},
        {"json", NULL, CLI_FLAG, &args.json, "one JSON object on standard output"},
        CLI_WORK_OPTIONS(args.work),
        CLI_DEVICE_OPTIONS(args.work),
    };
    cli_positional positionals[] = {{"FILE", &args.file, "a .params file", false}};
    bool help = false;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_parse(&help, &(cli_arguments){CLI_ALL(options), CLI_ALL(positionals)}, self, argc, argv, &err));
    if (help) goto out;
    ZK_GOTO(cli_work_start(&args.work, &pool, &err));
    ZK_GOTO(find_circuit(&program, &circuit, &args, &err));
    ZK_GOTO(zk_params_open(&params, args.file, NULL, &err));
    ZK_GOTO(zk_prepared_path(&path, args.file, &err));
    const zk_program *of = program ? program : circuit.program;
    ZK_GOTO(args.check ? check_prepared(&bytes, params, path, of, pool, &err)
                       : make_prepared(&bytes, &args, params, path, of, pool, &err));
    ZK_GOTO(report_prepared(&args, path, bytes, start_ns, &err));
out:
    if (status == CUZK_CHECK_FAILED && args.json) status = put_refusal(args.file, &err);
    free(path);
    zk_params_close(params);
    zk_program_destroy(program);
    zk_r1cs_circuit_clear(&circuit);
    zk_pool_destroy(pool);
    return cli_report(self, status, &err);
}

const cli_command cli_params_prepare = {
    "params prepare", "makes the prepared key of a .params file, for shorter proofs", run_prepare,
    "Writes NAME.prepared beside NAME.params: points with which a proof takes four transforms instead of six and no\n"
    "product with C. The proof is the same; `prove --prepared` uses it. Two random linear combinations of the points\n"
    "are checked against FILE before the file gets its name. Not resumable: minutes on a GPU; on a CPU circuits of\n"
    "2^20 rows and more take hours."};
