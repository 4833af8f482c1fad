/* cuzk tune: measures how multi-scalar multiplications are best cut on a device, for later runs */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda.h"
#include "backend/tuning.h"
#include "base/alloc.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/session.h"

typedef struct tune_args {
    const char *out_path;
    uint64_t from, to, runs;
    bool json;
    cli_work work;
} tune_args;

static const char *group_name(zk_group group) { return group == ZK_G1 ? "G1" : "G2"; }

static void print_row(const zk_tuning_entry *e) {
    printf("%s 2^%-2u %9.3f ms by the rule, %9.3f ms", group_name(e->group), e->log2_n, e->rule_ms, e->ms);
    const struct {
        unsigned value;
        const char *name;
    } choice[] = {{e->windows, "windows"}, {e->entries, "entries"}, {e->lanes, "lanes"}};
    bool any = false;
    for (unsigned i = 0; i < 3; i++) {
        if (!choice[i].value) continue;
        printf("%s%u %s", any ? ", " : " with ", choice[i].value, choice[i].name);
        any = true;
    }
    puts(any ? "" : ": the rule");
    fflush(stdout);
}

static void report_row(void *ctx, const zk_tuning_entry *e) {
    const tune_args *args = ctx;
    cli_progress_end();
    if (!args->json) print_row(e);
    cli_progress(NULL, "measuring", 0, 0);
}

static cuzk_status check_args(const tune_args *args, cuzk_err *err) {
    if (args->work.backend && (strcmp(args->work.backend, "cuda") != 0 && strcmp(args->work.backend, "auto") != 0))
        return ZK_FAIL(err, CUZK_USAGE, "--backend: found \"%s\"; only CUDA devices are tuned", args->work.backend);
    if (args->from > args->to || args->to > 29)
        return ZK_FAIL(err, CUZK_USAGE, "--from, --to: found %" PRIu64 " and %" PRIu64 ", expected from <= to <= 29",
                       args->from, args->to);
    if (args->runs < 1 || args->runs > 25)
        return ZK_FAIL(err, CUZK_USAGE, "--runs: found %" PRIu64 ", expected 1 to 25", args->runs);
    return CUZK_OK;
}

/* A machine without a device is a failing machine here, whatever the reason is. */
static cuzk_status open_device(zk_backend **backend, tune_args *args, zk_pool *pool, cuzk_err *err) {
    cuzk_err why = {0};
    int n = 0;
    cuzk_status status = zk_backend_cuda_count(&n, &why);
    if (status != CUZK_OK || n == 0)
        return ZK_FAIL(err, CUZK_DEVICE, "no CUDA device: %s", why.message[0] ? why.message : "this machine has none");
    args->work.backend = "cuda";
    return cli_backend_open(backend, &args->work, pool, err);
}

static cuzk_status report(const tune_args *args, const zk_tuning *tuning, const char *path, cuzk_err *err) {
    if (!args->json) {
        printf("%s: %u sizes of %s, driver %s\n", path, tuning->n, tuning->device, tuning->driver);
        return CUZK_OK;
    }
    zk_json_writer *json = cli_json_begin();
    zk_json_put_string(json, "file", path);
    zk_json_put_string(json, "device", tuning->device);
    zk_json_put_string(json, "driver", tuning->driver);
    zk_tuning_put_ways(json, tuning);
    return cli_json_end(json, err);
}

static int run(const cli_command *self, int argc, char **argv) {
    tune_args args = {.from = 16, .to = 26, .runs = 3};
    cuzk_err err = {0};
    zk_pool *pool = NULL;
    zk_backend *backend = NULL;
    zk_tuning *tuning = NULL;
    char *path = NULL;
    cli_option options[] = {
        {"o", "FILE", CLI_STRING, &args.out_path, "where the table goes (default: where later runs look for it)"},
        {"from", "N", CLI_U64, &args.from, "least size, 2^N points (default 16)"},
        {"to", "N", CLI_U64, &args.to, "largest size, if memory allows it (default 26)"},
        {"runs", "N", CLI_COUNT, &args.runs, "measurements of each way, of which the median counts (default 3)"},
        {"json", NULL, CLI_FLAG, &args.json, "one JSON object on standard output"},
        CLI_WORK_OPTIONS(args.work),
        CLI_DEVICE_OPTIONS(args.work),
    };
    bool help = false;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_parse(&help, &(cli_arguments){CLI_ALL(options)}, self, argc, argv, &err));
    if (help) goto out;
    ZK_GOTO(check_args(&args, &err));
    tuning = zk_calloc(1, sizeof *tuning);
    if (!tuning) ZK_GOTO(ZK_FAIL(&err, CUZK_OUT_OF_MEMORY, "no memory for a table"));
    ZK_GOTO(cli_work_start(&args.work, &pool, &err));
    ZK_GOTO(open_device(&backend, &args, pool, &err));
    if (args.out_path) {
        path = zk_strdup(args.out_path);
        if (!path) ZK_GOTO(ZK_FAIL(&err, CUZK_OUT_OF_MEMORY, "no memory for a path"));
    } else {
        ZK_GOTO(zk_tuning_path(&path, backend->caps.device, &err));
    }
    ZK_GOTO(zk_tuning_check_writable(path, &err));
    cli_progress(NULL, "making points", 0, 0);
    ZK_GOTO(zk_tuning_measure(tuning, backend, (unsigned)args.from, (unsigned)args.to, (unsigned)args.runs, report_row,
                              &args, &err));
    cli_progress_end();
    ZK_GOTO(zk_tuning_write(path, tuning, &err));
    ZK_GOTO(report(&args, tuning, path, &err));
out:
    cli_progress_end();
    free(path);
    free(tuning);
    zk_backend_close(backend);
    zk_pool_destroy(pool);
    return cli_report(self, status, &err);
}

const cli_command cli_tune = {
    "tune", "measures how MSMs are best cut on a CUDA device, for later runs", run,
    "Tries numbers of windows, of lanes, and how much a lane works on at once, for MSMs over random points of both\n"
    "groups, and compares every result. The table goes to $XDG_CACHE_HOME/cuzk/tune-DEVICE.json (~/.cache/cuzk), "
    "where\n"
    "every command that opens this device finds it. Takes some minutes; the device should have nothing else to do."};
