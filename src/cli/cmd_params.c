/* cuzk params info, cuzk params check */
#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/session.h"
#include "groth16/params.h"
#include "hash/sha256.h"

typedef struct params_args {
    const char *file;
    bool json;
    cli_work work;
} params_args;

static void digest_of(uint8_t sha256[32], const zk_params *params) {
    enum { PIECE_BYTES = 16 << 20 };
    zk_sha256_ctx ctx;
    zk_sha256_init(&ctx);
    for (size_t at = 0; at < params->n_bytes; at += PIECE_BYTES) {
        size_t n = params->n_bytes - at < PIECE_BYTES ? params->n_bytes - at : PIECE_BYTES;
        zk_sha256_update(&ctx, params->bytes + at, n);
        cli_progress(NULL, "digest", at + n, params->n_bytes);
    }
    zk_sha256_final(sha256, &ctx);
    cli_progress_end();
}

static cuzk_status info(const params_args *args, const zk_params *params, zk_pool *pool, cuzk_err *err) {
    (void)pool;
    uint8_t sha256[32];
    digest_of(sha256, params);
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
    cuzk_status status = zk_params_check(params, pool, cli_progress, NULL, err);
    cli_progress_end();
    ZK_TRY(status);
    unsigned error_bits = ZK_CHECK_PASSES * ZK_CHECK_LOG2_BUCKETS;
    if (args->json) {
        zk_json_writer *json = cli_json_begin();
        zk_json_put_string(json, "file", args->file);
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

static int run(const cli_command *self, int argc, char **argv,
               cuzk_status (*action)(const params_args *, const zk_params *, zk_pool *, cuzk_err *)) {
    params_args args = {0};
    cuzk_err err = {0};
    zk_pool *pool = NULL;
    zk_params *params = NULL;
    cli_option options[] = {
        {"json", NULL, CLI_FLAG, &args.json, "one JSON object on standard output"},
        CLI_WORK_OPTIONS(args.work),
    };
    cli_positional positionals[] = {{"FILE", &args.file, "a .params file", false}};
    bool help = false;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_parse(self, argc, argv, options, sizeof options / sizeof options[0], positionals, 1, &help, &err));
    if (help) goto out;
    ZK_GOTO(cli_work_start(&args.work, &pool, &err));
    ZK_GOTO(zk_params_open(&params, args.file, NULL, &err));
    ZK_GOTO(action(&args, params, pool, &err));
out:
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
