/* cuzk setup KIND, cuzk setup r1cs */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/circuits.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/testdata.h"
#include "groth16/params.h"
#include "groth16/r1cs_json.h"

typedef struct setup_args {
    const char *source; /* kind, or file of an explicit circuit */
    const char *out_dir, *toxic_path;
    uint64_t sector_bytes;
    bool reuse, json;
    cli_work work;
} setup_args;

/* Whether both files are there, belong together and have this circuit's counts; *n_bytes: of the params. */
static bool keys_present(uint64_t *n_bytes, const zk_program *program, const char *params_path, const char *vk_path,
                         zk_pool *pool) {
    zk_params *params = NULL;
    zk_program_stats stats;
    zk_params_counts counts;
    uint8_t *vk = NULL;
    size_t n_vk = 0;
    bool present = zk_program_density(program, NULL, NULL, NULL, &stats, pool, NULL) == CUZK_OK &&
                   zk_params_counts_of(&counts, program, &stats, NULL) == CUZK_OK &&
                   zk_params_open(&params, params_path, &counts, NULL) == CUZK_OK &&
                   zk_file_read(&vk, &n_vk, vk_path, ZK_VK_MAX_FILE_BYTES, NULL) == CUZK_OK &&
                   n_vk == params->vk_bytes && memcmp(vk, params->bytes, n_vk) == 0;
    if (present) *n_bytes = params->n_bytes;
    free(vk);
    zk_params_close(params);
    return present;
}

static cuzk_status report(const setup_args *args, const zk_setup_result *result, const char *params_path,
                          const char *vk_path, uint64_t start_ns, cuzk_err *err) {
    double seconds = (double)(zk_now_ns() - start_ns) * 1e-9;
    if (args->json) {
        zk_json_writer *json = cli_json_begin();
        zk_json_put_string(json, "params", params_path);
        zk_json_put_string(json, "vk", vk_path);
        zk_json_put_u64(json, "params_bytes", result->params_bytes);
        zk_json_put_hex(json, "params_sha256", result->params_sha256, 32);
        zk_json_put_hex(json, "vk_sha256", result->vk_sha256, 32);
        zk_json_put_double(json, "seconds", seconds);
        return cli_json_end(json, err);
    }
    printf("%s  %" PRIu64 " bytes\n%s\nmade in %.1f s", params_path, result->params_bytes, vk_path, seconds);
    if (result->resumed_bytes) printf(" (%" PRIu64 " bytes were there from an earlier run)", result->resumed_bytes);
    printf("; test keys: whoever knows their toxic waste can forge proofs\n");
    return CUZK_OK;
}

static cuzk_status report_reuse(const setup_args *args, uint64_t params_bytes, const char *params_path,
                                const char *vk_path, cuzk_err *err) {
    if (args->json) {
        zk_json_writer *json = cli_json_begin();
        zk_json_put_string(json, "params", params_path);
        zk_json_put_string(json, "vk", vk_path);
        zk_json_put_u64(json, "params_bytes", params_bytes);
        zk_json_put_bool(json, "reused", true);
        return cli_json_end(json, err);
    }
    printf("%s  %" PRIu64 " bytes\n%s\nthere already, kept\n", params_path, params_bytes, vk_path);
    return CUZK_OK;
}

static void show_progress(void *ctx, const char *section, uint64_t done, uint64_t total) {
    char what[48];
    snprintf(what, sizeof what, "test keys, section %s", section);
    cli_progress(ctx, what, done, total);
}

static cuzk_status make_keys(const setup_args *args, const zk_program *program, const char *params_path,
                             const char *vk_path, zk_pool *pool, cuzk_err *err) {
    uint64_t start_ns = zk_now_ns();
    uint64_t present_bytes;
    if (args->reuse && keys_present(&present_bytes, program, params_path, vk_path, pool))
        return report_reuse(args, present_bytes, params_path, vk_path, err);
    zk_toxic_waste toxic;
    if (args->toxic_path) ZK_TRY(cli_read_toxic(&toxic, args->toxic_path, err));
    zk_backend *backend;
    ZK_TRY(cli_backend_open(&backend, &args->work, pool, err));
    zk_setup_result result;
    zk_setup_options options = {
        .toxic = args->toxic_path ? &toxic : NULL,
        .params_path = params_path,
        .vk_path = vk_path,
        .resumable = args->toxic_path != NULL,
        .backend = backend,
        .pool = pool,
        .progress = show_progress,
        .cancelled = cli_cancelled,
    };
    cuzk_status status = zk_setup(&result, program, &options, err);
    zk_backend_close(backend);
    cli_progress_end();
    if (status != CUZK_OK) return status;
    return report(args, &result, params_path, vk_path, start_ns, err);
}

static cuzk_status setup_kind(const setup_args *args, zk_pool *pool, cuzk_err *err) {
    zk_proof_kind kind;
    char identifier[ZK_IDENTIFIER_MAX];
    char *params_path = NULL, *vk_path = NULL;
    zk_program *program = NULL;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_kind(&kind, args->source, err));
    ZK_GOTO(zk_kind_identifier(identifier, kind, args->sector_bytes, err));
    ZK_GOTO(zk_kind_program(&program, kind, args->sector_bytes, err));
    ZK_GOTO(zk_folder_create(args->out_dir, err));
    ZK_GOTO(cli_key_path(&params_path, args->out_dir, identifier, ".params", err));
    ZK_GOTO(cli_key_path(&vk_path, args->out_dir, identifier, ".vk", err));
    ZK_GOTO(make_keys(args, program, params_path, vk_path, pool, err));
out:
    zk_program_destroy(program);
    free(params_path);
    free(vk_path);
    return status;
}

static cuzk_status setup_r1cs(const setup_args *args, zk_pool *pool, cuzk_err *err) {
    char *params_path = NULL, *vk_path = NULL;
    zk_r1cs_circuit circuit = {0};
    cuzk_status status = CUZK_OK;
    ZK_GOTO(zk_r1cs_json_read(&circuit, args->source, err));
    ZK_GOTO(zk_folder_create(args->out_dir, err));
    ZK_GOTO(cli_stem_path(&params_path, args->out_dir, args->source, ".params", err));
    ZK_GOTO(cli_stem_path(&vk_path, args->out_dir, args->source, ".vk", err));
    ZK_GOTO(make_keys(args, circuit.program, params_path, vk_path, pool, err));
out:
    zk_r1cs_circuit_clear(&circuit);
    free(params_path);
    free(vk_path);
    return status;
}

static int run(const cli_command *self, int argc, char **argv, bool explicit_circuit) {
    setup_args args = {0};
    cuzk_err err = {0};
    zk_pool *pool = NULL;
    cli_option options[] = {
        {"out", "DIR", CLI_STRING, &args.out_dir, "folder for the key files, made if missing", true},
        {"test-toxic", "FILE", CLI_STRING, &args.toxic_path,
         "fixed toxic waste, JSON with alpha, beta, gamma, delta, tau (32 bytes LE, hex)"},
        {"reuse", NULL, CLI_FLAG, &args.reuse, "keep key files of this circuit that are there already"},
        {"json", NULL, CLI_FLAG, &args.json, "one JSON object on standard output"},
        CLI_WORK_OPTIONS(args.work),
        CLI_DEVICE_OPTIONS(args.work),
        {"sector-size", "S", CLI_SIZE, &args.sector_bytes, "sector size: " CLI_SECTOR_SIZES, true},
    };
    cli_positional positionals[] = {
        {"KIND", &args.source, CLI_KINDS, false},
        {"FILE", &args.source, "explicit circuit, JSON with `rows`, `aux` and `witness`", false},
    };
    size_t n_options = sizeof options / sizeof options[0] - (explicit_circuit ? 1 : 0);
    bool help = false;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_parse(&help, &(cli_arguments){options, n_options, &positionals[explicit_circuit], 1}, self, argc, argv,
                      &err));
    if (help) goto out;
    ZK_GOTO(cli_work_start(&args.work, &pool, &err));
    ZK_GOTO((explicit_circuit ? setup_r1cs : setup_kind)(&args, pool, &err));
out:
    zk_pool_destroy(pool);
    return cli_report(self, status, &err);
}

static int run_kind(const cli_command *self, int argc, char **argv) { return run(self, argc, argv, false); }
static int run_r1cs(const cli_command *self, int argc, char **argv) { return run(self, argc, argv, true); }

#define TEST_KEYS_NOTE                                                                                                 \
    "Keys made here are for tests: whoever knows the toxic waste can forge proofs. Without --test-toxic it is drawn\n" \
    "from the kernel's generator and wiped. With --test-toxic an interrupted run is continued by the next one, from\n" \
    "FILE.partial. Files appear under their final names only when complete."

const cli_command cli_setup = {"setup", "makes test keys (.params, .vk) of a Filecoin circuit", run_kind,
                               TEST_KEYS_NOTE};
const cli_command cli_setup_r1cs = {"setup r1cs", "makes test keys of an explicit circuit", run_r1cs,
                                    "Key files are named after FILE's stem.\n\n" TEST_KEYS_NOTE};
