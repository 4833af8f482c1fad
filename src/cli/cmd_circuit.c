/* cuzk circuit info, cuzk circuit digest */
#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "cli/circuits.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/session.h"
#include "filecoin/post.h"

typedef struct circuit_args {
    const char *kind_name;
    zk_proof_kind kind;
    uint64_t sector_bytes, rows_per_checkpoint;
    bool json;
    cli_work work;
} circuit_args;

static void put_stats(zk_json_writer *json, const zk_program *program, const zk_program_stats *stats) {
    zk_json_put_u64(json, "inputs", program->n_inputs);
    zk_json_put_u64(json, "aux", program->n_aux);
    zk_json_put_u64(json, "constraints", program->n_rows);
    zk_json_begin_array(json, "nnz");
    for (unsigned m = 0; m < 3; m++) zk_json_put_u64(json, NULL, stats->nnz[m]);
    zk_json_end(json);
    zk_json_begin_object(json, "density");
    zk_json_put_u64(json, "a_aux", stats->a_aux);
    zk_json_put_u64(json, "b_input", stats->b_input);
    zk_json_put_u64(json, "b_aux", stats->b_aux);
    zk_json_end(json);
}

static cuzk_status print_info(const circuit_args *args, const zk_program *program, const zk_program_stats *stats,
                              cuzk_err *err) {
    double build_ms = (double)program->build_ns * 1e-6;
    if (args->json) {
        zk_json_writer *json = cli_json_begin();
        put_stats(json, program, stats);
        zk_json_put_u64(json, "wide", program->n_wide);
        zk_json_put_u64(json, "hints", program->n_hints);
        zk_json_put_u64(json, "levels", program->n_levels);
        zk_json_put_u64(json, "templates", program->n_templates);
        zk_json_put_u64(json, "instances", program->n_instances);
        zk_json_put_u64(json, "program_bytes", program->bytes);
        zk_json_put_double(json, "build_ms", build_ms);
        return cli_json_end(json, err);
    }
    char size[32];
    printf("circuit       %s, sector size %s\n", args->kind_name, cli_format_size(size, args->sector_bytes));
    printf("inputs        %" PRIu32 " (with the constant one)\n", program->n_inputs);
    printf("aux           %" PRIu32 ", of which %" PRIu32 " are full field elements and the others bits\n",
           program->n_aux, program->n_wide);
    printf("constraints   %" PRIu32 "\n", program->n_rows);
    printf("non-zeros     A %" PRIu64 ", B %" PRIu64 ", C %" PRIu64 "\n", stats->nnz[0], stats->nnz[1], stats->nnz[2]);
    printf("density       %" PRIu32 " aux in A, %" PRIu32 " inputs and %" PRIu32 " aux in B\n", stats->a_aux,
           stats->b_input, stats->b_aux);
    printf("program       %" PRIu32 " templates, %" PRIu32 " instances, %" PRIu32
           " levels, %.1f MB, built in %.0f ms\n",
           program->n_templates, program->n_instances, program->n_levels, (double)program->bytes * 1e-6, build_ms);
    return CUZK_OK;
}

static cuzk_status info(const circuit_args *args, zk_pool *pool, const zk_program *program, cuzk_err *err) {
    zk_program_stats stats;
    ZK_TRY(zk_program_density(program, NULL, NULL, NULL, &stats, pool, err));
    return print_info(args, program, &stats, err);
}

static cuzk_status digest(const circuit_args *args, zk_pool *pool, const zk_program *program, cuzk_err *err) {
    if (args->rows_per_checkpoint > UINT32_MAX)
        return ZK_FAIL(err, CUZK_USAGE, "--rows-per-checkpoint: found %" PRIu64 ", expected at most %u",
                       args->rows_per_checkpoint, UINT32_MAX);
    static const char *const names[3] = {"A", "B", "C"};
    char identifier[ZK_IDENTIFIER_MAX];
    zk_post_shape shape = {0}; /* a circuit of PoSt is one of so many sectors, with so many challenges each */
    if (args->kind == ZK_KIND_WINNING || args->kind == ZK_KIND_WINDOW)
        ZK_TRY(zk_post_circuit(&shape, identifier, args->kind == ZK_KIND_WINNING ? ZK_POST_WINNING : ZK_POST_WINDOW,
                               args->sector_bytes, err));
    else
        ZK_TRY(zk_kind_identifier(identifier, args->kind, args->sector_bytes, err));
    /* as the listed circuits have it: finer for small ones */
    uint32_t every = args->rows_per_checkpoint          ? (uint32_t)args->rows_per_checkpoint
                     : args->sector_bytes <= (8u << 20) ? 1u << 16
                                                        : 1u << 20;
    zk_structure_digest made;
    ZK_TRY(zk_structure_digest_make(&made, program, every, pool, err));
    cuzk_status status = CUZK_OK;
    if (args->json) {
        zk_json_writer *json = cli_json_begin();
        put_stats(json, program, &made.stats);
        zk_json_put_string(json, "cache_id", identifier);
        zk_json_put_u64(json, "rows_per_checkpoint", every);
        zk_json_begin_object(json, "sha256");
        for (unsigned m = 0; m < 3; m++) zk_json_put_hex(json, names[m], made.sha256[m], 32);
        zk_json_end(json);
        zk_json_begin_object(json, "checkpoints");
        for (unsigned m = 0; m < 3; m++) cli_json_checkpoints(json, names[m], &made.checkpoints[m]);
        zk_json_end(json);
        zk_json_put_u64(json, "zero_coefficients_dropped", made.stats.n_zero_terms);
        if (shape.n_sectors) {
            zk_json_put_u64(json, "sectors", shape.n_sectors);
            zk_json_put_u64(json, "challenges", shape.n_challenges);
        }
        status = cli_json_end(json, err);
    } else {
        for (unsigned m = 0; m < 3; m++) {
            char hex[65];
            zk_hex_encode(hex, made.sha256[m], 32);
            printf("%s %s  %" PRIu64 " terms\n", names[m], hex, made.stats.nnz[m]);
        }
    }
    zk_structure_digest_free(&made);
    return status;
}

static int run(const cli_command *self, int argc, char **argv, bool with_checkpoints,
               cuzk_status (*action)(const circuit_args *, zk_pool *, const zk_program *, cuzk_err *)) {
    circuit_args args = {0};
    cuzk_err err = {0};
    zk_pool *pool = NULL;
    zk_program *program = NULL;
    cli_option options[] = {
        {"sector-size", "S", CLI_SIZE, &args.sector_bytes, "sector size: " CLI_SECTOR_SIZES, true},
        {"json", NULL, CLI_FLAG, &args.json, "one JSON object on standard output"},
        CLI_WORK_OPTIONS(args.work),
        {"rows-per-checkpoint", "N", CLI_COUNT, &args.rows_per_checkpoint,
         "running digest after every N rows (default 65536 up to 8MiB, else 1048576)"},
    };
    cli_positional positionals[] = {{"KIND", &args.kind_name, CLI_KINDS, false}};
    size_t n_options = sizeof options / sizeof options[0] - (with_checkpoints ? 0 : 1);
    bool help = false;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_parse(&help, &(cli_arguments){options, n_options, CLI_ALL(positionals)}, self, argc, argv, &err));
    if (help) goto out;
    ZK_GOTO(cli_kind(&args.kind, args.kind_name, &err));
    ZK_GOTO(cli_work_start(&args.work, &pool, &err));
    ZK_GOTO(zk_kind_program(&program, args.kind, args.sector_bytes, &err));
    ZK_GOTO(action(&args, pool, program, &err));
out:
    zk_program_destroy(program);
    zk_pool_destroy(pool);
    return cli_report(self, status, &err);
}

static int run_info(const cli_command *self, int argc, char **argv) { return run(self, argc, argv, false, info); }
static int run_digest(const cli_command *self, int argc, char **argv) { return run(self, argc, argv, true, digest); }

const cli_command cli_circuit_info = {"circuit info", "numbers of a circuit: variables, rows, templates, build time",
                                      run_info, NULL};
const cli_command cli_circuit_digest = {
    "circuit digest", "SHA-256 of the matrices A, B, C of a circuit, streamed from the program that `prove` uses",
    run_digest,
    "For each matrix all rows are hashed in order: number of terms (u32 LE), then per term kind (0 input, 1 aux),\n"
    "index (u32 LE), coefficient (32 bytes LE). Rows that key setup adds for the inputs are not included."};
