/* cuzk inspect, cuzk witness digest */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "cli/assignment.h"
#include "cli/commands.h"
#include "cli/job.h"
#include "cli/output.h"
#include "cli/session.h"
#include "program/digest.h"

typedef struct input_args {
    cli_input input;
    uint64_t partition, every;
    bool json;
    cli_work work;
} input_args;

enum { MAX_SHOWN_CHALLENGES = 512 };

static void put_challenges(zk_json_writer *json, const zk_job *job) {
    zk_json_begin_array(json, "challenges");
    for (uint32_t k = 0; k < job->n_challenge_lists; k++) {
        uint64_t challenges[MAX_SHOWN_CHALLENGES];
        size_t n = 0;
        zk_job_challenges(challenges, &n, MAX_SHOWN_CHALLENGES, job, k);
        zk_json_begin_array(json, NULL);
        for (size_t i = 0; i < n && i < MAX_SHOWN_CHALLENGES; i++) zk_json_put_u64(json, NULL, challenges[i]);
        zk_json_end(json);
    }
    zk_json_end(json);
}

static void put_facts(zk_json_writer *json, const zk_job *job) {
    zk_job_fact facts[ZK_JOB_MAX_FACTS];
    size_t n = zk_job_facts(facts, job);
    for (size_t i = 0; i < n; i++) {
        const zk_job_fact *f = &facts[i];
        if (f->is_list) zk_json_begin_array(json, f->name);
        for (size_t k = 0; k < f->n; k++)
            zk_json_put_hex(json, f->is_list ? NULL : f->name, f->first + k * f->stride, 32);
        if (f->is_list) zk_json_end(json);
    }
}

static cuzk_status print_json(const zk_job *job, bool holds, const zk_job_failure *failure, const cuzk_err *found,
                              cuzk_err *err) {
    zk_json_writer *json = cli_json_begin();
    zk_json_put_string(json, "kind", zk_proof_kind_name(job->kind));
    zk_json_put_string(json, "registered_proof", job->registered_name);
    zk_json_put_u64(json, "registered_proof_number", job->registered_number);
    zk_json_put_u64(json, "sector_size", job->sector_bytes);
    zk_json_put_u64(json, "partitions", job->n_partitions);
    if (job->has_miner)
        zk_json_put_u64(json, "miner_id", job->miner);
    else
        zk_json_put_null(json, "miner_id");
    if (job->has_sector)
        zk_json_put_u64(json, "sector_number", job->sector);
    else
        zk_json_put_null(json, "sector_number");
    if (job->sectors) {
        zk_json_begin_array(json, "sector_numbers");
        for (uint32_t i = 0; i < job->n_sectors; i++) zk_json_put_u64(json, NULL, job->sectors[i]);
        zk_json_end(json);
    }
    put_challenges(json, job);
    put_facts(json, job);
    zk_json_put_bool(json, "holds", holds);
    if (!holds) {
        zk_json_put_string(json, "failed_check", failure->check);
        zk_json_put_string(json, "at", failure->at);
        zk_json_put_string(json, "message", found->message);
    }
    return cli_json_end(json, err);
}

static void print_hex(const char *name, const uint8_t bytes[32]) {
    char hex[65];
    zk_hex_encode(hex, bytes, 32);
    printf("%-17s %s\n", name, hex);
}

enum { MAX_SHOWN_LINES = 16 };

static void print_facts(const zk_job *job) {
    zk_job_fact facts[ZK_JOB_MAX_FACTS];
    size_t n = zk_job_facts(facts, job);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < facts[i].n && k < MAX_SHOWN_LINES; k++)
            print_hex(k ? "" : facts[i].name, facts[i].first + k * facts[i].stride);
        if (facts[i].n > MAX_SHOWN_LINES) printf("%-17s and %zu more\n", "", facts[i].n - MAX_SHOWN_LINES);
    }
}

static void print_text(const zk_job *job, bool holds, const zk_job_failure *failure, const cuzk_err *found) {
    char size[32];
    printf("kind              %s\n", zk_proof_kind_name(job->kind));
    printf("registered proof  %s (%" PRIu64 ")\n", job->registered_name, job->registered_number);
    printf("sector size       %s, %" PRIu32 " partition%s\n", cli_format_size(size, job->sector_bytes),
           job->n_partitions, job->n_partitions == 1 ? "" : "s");
    if (job->has_miner) printf("miner             %" PRIu64 "\n", job->miner);
    if (job->has_sector) printf("sector number     %" PRIu64 "\n", job->sector);
    for (uint32_t i = 0; !job->has_sector && i < job->n_sectors && i < MAX_SHOWN_LINES; i++)
        printf("%-17s %" PRIu64 "\n", i ? "" : "sectors", job->sectors[i]);
    if (job->n_sectors > MAX_SHOWN_LINES) printf("%-17s and %" PRIu32 " more\n", "", job->n_sectors - MAX_SHOWN_LINES);
    print_facts(job);
    for (uint32_t k = 0; k < job->n_challenge_lists && k < MAX_SHOWN_LINES; k++) {
        uint64_t challenges[8];
        size_t n = 0;
        zk_job_challenges(challenges, &n, 8, job, k);
        printf("challenges %-6" PRIu32, k);
        for (size_t i = 0; i < n && i < 8; i++) printf(" %" PRIu64, challenges[i]);
        printf("%s\n", n > 8 ? " ..." : "");
    }
    if (holds)
        printf("holds             yes: everything that the circuit demands was checked\n");
    else
        printf("holds             NO: check %s fails%s%s\n                  %s\n", failure->check,
               failure->at[0] ? " at " : "", failure->at, found->message);
}

static cuzk_status inspect(const input_args *args, const zk_job *job, zk_pool *pool, cuzk_err *err) {
    zk_job_failure failure;
    cuzk_err found = {0};
    cuzk_status status = zk_job_check(&failure, job, pool, &found);
    if (status != CUZK_OK && status != CUZK_CHECK_FAILED) {
        if (err) *err = found;
        return status;
    }
    bool holds = status == CUZK_OK;
    if (args->json)
        ZK_TRY(print_json(job, holds, &failure, &found, err));
    else
        print_text(job, holds, &failure, &found);
    if (holds) return CUZK_OK;
    return ZK_FAIL(err, CUZK_CHECK_FAILED, "the vanilla proof does not hold: %s", found.message);
}

static cuzk_status witness(const input_args *args, const zk_job *job, zk_pool *pool, cuzk_err *err) {
    if (args->partition >= job->n_partitions)
        return ZK_FAIL(err, CUZK_USAGE, "--partition: found %" PRIu64 ", the input has %" PRIu32, args->partition,
                       job->n_partitions);
    if (args->every > UINT32_MAX)
        return ZK_FAIL(err, CUZK_USAGE, "--every: found %" PRIu64 ", expected at most %u", args->every, UINT32_MAX);
    cuzk_status status = CUZK_OK;
    zk_program *program = NULL;
    cli_assignment a = {0};
    zk_checkpoints checkpoints = {0};
    uint8_t sha256[32];
    uint32_t every = args->every ? (uint32_t)args->every : job->sector_bytes <= (8u << 20) ? 1u << 16 : 1u << 20;
    ZK_GOTO(zk_job_program(&program, job, err));
    ZK_GOTO(cli_assignment_alloc(&a, program, err));
    ZK_GOTO(zk_job_hints(a.hints, program->n_hints, job, (uint32_t)args->partition, err));
    ZK_GOTO(zk_program_witness(program, (const uint8_t(*)[32])a.hints, &a.w, pool, err));
    ZK_GOTO(zk_program_eval(program, &a.w, a.rows[0], a.rows[1], a.rows[2], pool, err));
    size_t bad_row = zk_program_first_unsatisfied(a.rows[0], a.rows[1], a.rows[2], program->n_rows, pool);
    bool satisfied = bad_row == program->n_rows;
    ZK_GOTO(zk_witness_digest(sha256, &checkpoints, program, &a.w, every, err));
    if (args->json) {
        zk_json_writer *json = cli_json_begin();
        zk_json_put_u64(json, "partition", args->partition);
        zk_json_begin_array(json, "public_inputs");
        for (uint32_t i = 1; i < program->n_inputs; i++) {
            uint8_t bytes[32];
            zk_fr_to_bytes_le(bytes, &a.w.inputs[i]);
            zk_json_put_hex(json, NULL, bytes, 32);
        }
        zk_json_end(json);
        zk_json_put_hex(json, "sha256_aux", sha256, 32);
        cli_json_checkpoints(json, "checkpoints_aux", &checkpoints);
        zk_json_put_u64(json, "every", every);
        zk_json_put_bool(json, "satisfied", satisfied);
        if (!satisfied) zk_json_put_u64(json, "first_unsatisfied_row", bad_row);
        ZK_GOTO(cli_json_end(json, err));
    } else {
        print_hex("aux", sha256);
        printf("satisfied         %s\n", satisfied ? "yes" : "no");
    }
    if (!satisfied)
        status = ZK_FAIL(err, CUZK_CHECK_FAILED, "row %zu of %" PRIu32 " is not satisfied", bad_row, program->n_rows);
out:
    zk_checkpoints_free(&checkpoints);
    cli_assignment_free(&a);
    zk_program_destroy(program);
    return status;
}

static int run(const cli_command *self, int argc, char **argv, bool is_witness) {
    input_args args = {0};
    cuzk_err err = {0};
    zk_pool *pool = NULL;
    zk_job *job = NULL;
    cli_option options[] = {
        CLI_INPUT_OPTIONS(args.input),
        {"json", NULL, CLI_FLAG, &args.json, "one JSON object on standard output"},
        CLI_WORK_OPTIONS(args.work),
        {"partition", "K", CLI_U64, &args.partition, "partition of the proof (default 0)"},
        {"every", "N", CLI_COUNT, &args.every,
         "running digest after every N variables (default 65536 up to 8MiB, else 1048576)"},
    };
    cli_arguments arguments = {options, sizeof options / sizeof options[0] - (is_witness ? 0 : 2)};
    bool help = false;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_parse(&help, &arguments, self, argc, argv, &err));
    if (help) goto out;
    ZK_GOTO(cli_work_start(&args.work, &pool, &err));
    ZK_GOTO(cli_input_read(&job, &args.input, &arguments, &err));
    ZK_GOTO((is_witness ? witness : inspect)(&args, job, pool, &err));
out:
    zk_job_destroy(job);
    zk_pool_destroy(pool);
    return cli_report(self, status, &err);
}

static int run_inspect(const cli_command *self, int argc, char **argv) { return run(self, argc, argv, false); }
static int run_witness(const cli_command *self, int argc, char **argv) { return run(self, argc, argv, true); }

const cli_command cli_inspect = {"inspect",
                                 "explains an input and says whether its vanilla proof holds, and if not, why not",
                                 run_inspect, "Exit code 1 when the vanilla proof does not hold."};
const cli_command cli_witness_digest = {
    "witness digest", "SHA-256 of the assignment of a partition's circuit, and whether it satisfies every row",
    run_witness, "The digest is over all aux values in order, 32 bytes LE each."};
