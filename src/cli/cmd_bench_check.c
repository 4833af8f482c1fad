/* cuzk bench check: the vanilla check of a request, without reading it */
#include "cli/bench.h"
#include "cli/commands.h"
#include "cli/job.h"

typedef struct check_run {
    zk_job *job;
    zk_pool *pool;
} check_run;

static cuzk_status check_once(void *ctx, cuzk_err *err) {
    const check_run *run = ctx;
    return zk_job_require(run->job, run->pool, err);
}

static int run_check(const cli_command *self, int argc, char **argv) {
    cli_bench bench = {0};
    cli_input input = {0};
    check_run run = {0};
    cuzk_err err = {0};
    cli_option options[] = {
        CLI_BENCH_OPTIONS(bench),
        CLI_INPUT_OPTIONS(input),
    };
    const cli_arguments arguments = {CLI_ALL(options)};
    bool help = false;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_parse(&help, &arguments, self, argc, argv, &err));
    if (help) goto out;
    ZK_GOTO(cli_bench_start(&bench, self->name, &err));
    run.pool = bench.pool;
    ZK_GOTO(cli_input_read(&run.job, &input, &arguments, &err));
    ZK_GOTO(cli_bench_measure(&bench, check_once, &run, &err));
    bench.checked = true; /* a proof that does not hold ends the runs */
    cli_bench_field fields[] = {{"partitions", run.job->n_partitions}};
    ZK_GOTO(cli_bench_report(&bench, fields, 1, run.job->n_partitions, "partitions", &err));
out:
    zk_job_destroy(run.job);
    cli_bench_end(&bench);
    return cli_report(self, status, &err);
}

const cli_command cli_bench_check = {"bench check", "vanilla check of a request that has been read", run_check, NULL};
