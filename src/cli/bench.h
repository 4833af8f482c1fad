/* The benchmark harness of `cuzk bench`: runs, statistics, one report for all. */
#ifndef ZK_CLI_BENCH_H
#define ZK_CLI_BENCH_H

#include "cli/output.h"
#include "cli/session.h"
#include "field/fr.h"

typedef struct cli_bench {
    const char *name;
    uint64_t runs; /* measured; one more before them warms up */
    bool json;
    cli_work work;
    zk_pool *pool;
    const zk_backend *backend; /* what the work ran on; NULL: the CPU code itself */
    const char *code;          /* which of the CPU's; NULL: that of the field and the sums */
    uint64_t *ns;              /* [runs] */
    uint64_t cpu_ns;           /* least CPU time of a run, all threads: what counts on a machine that is shared */
    uint8_t checksum[32];
    bool checked; /* the result was compared with a slow path */
} cli_bench;

#define CLI_BENCH_OPTIONS(bench)                                                                                       \
    {"runs", "N", CLI_COUNT, &(bench).runs, "measured runs after one that warms up (default 5)"},                      \
        {"json", NULL, CLI_FLAG, &(bench).json, "one JSON object on standard output"}, CLI_WORK_OPTIONS((bench).work)

/* Checks the options, starts the pool, makes room. */
cuzk_status cli_bench_start(cli_bench *bench, const char *name, cuzk_err *err) ZK_MUST_USE;
void cli_bench_end(cli_bench *bench);

/* Runs once to warm up, then bench->runs times, measuring. */
typedef cuzk_status (*cli_bench_fn)(void *ctx, cuzk_err *err);
cuzk_status cli_bench_measure(cli_bench *bench, cli_bench_fn fn, void *ctx, cuzk_err *err) ZK_MUST_USE;

/* A name and a number ("n", 65536) or text ("group", "g1") of the report. */
typedef struct cli_bench_field {
    const char *name;
    uint64_t value;
    const char *text; /* NULL: it is the number */
} cli_bench_field;
/* The report: fields, times, rate in `units` a run (0: none) of `unit`. */
cuzk_status cli_bench_report(const cli_bench *bench, const cli_bench_field *fields, size_t n_fields, uint64_t units,
                             const char *unit, cuzk_err *err) ZK_MUST_USE;

/* The i-th scalar of a benchmark: uniform 255 bits, from a counter through a mixing function. */
void cli_bench_scalar(zk_fr *r, uint64_t stream, uint64_t i);

#endif
