/* The processes behind the daemon: `worker`, which the daemon starts, and the repair of its journal. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/testdata.h"
#include "engine/engine.h"
#include "engine/worker.h"

/* As the daemon logs; it says so in the environment. */
static void take_over_logging(void) {
    const char *level_name = getenv("CUZK_WORKER_LOG_LEVEL"), *format = getenv("CUZK_WORKER_LOG_FORMAT");
    zk_log_level level;
    if (level_name && zk_log_level_parse(&level, level_name)) zk_log_set_level(level);
    if (format && strcmp(format, "json") == 0) zk_log_set_format(ZK_LOG_FORMAT_JSON);
}

static int run_worker(const cli_command *self, int argc, char **argv) {
    uint64_t fd = 0, progress_fd = 0, threads = 0, lookahead = 0, lanes = 1;
    const char *prepared = NULL;
    zk_worker_options worker = {
        .cuda_count = zk_backend_cuda_count, .cuda_open = zk_backend_open_cuda, .cuda_memory = zk_backend_cuda_memory};
    cuzk_err err = {0};
    cli_option options[] = {
        {"fd", "N", CLI_U64, &fd, "the socket to the daemon", true},
        {"progress-fd", "N", CLI_U64, &progress_fd, "memory shared with the daemon, for signs of progress"},
        {"threads", "N", CLI_U64, &threads, "threads to use; 0: one per usable CPU"},
        {"device", "NAME", CLI_STRING, &worker.device,
         "cpu (default), cuda:N; probe: tells the number of devices, ends"},
        {"device-memory", "SIZE", CLI_SIZE, &worker.device_memory_bytes,
         "memory of a GPU to take at once; 0: as needed"},
        {"lookahead", "N", CLI_U64, &lookahead, "partitions to prepare beside the proof of another (default 0)"},
        {"lanes", "N", CLI_U64, &lanes, "partitions side by side, 1 or 2, as far as there is room (default 1)"},
        {"params", "DIR", CLI_STRING, &worker.param_cache, "folder of the key files", true},
        {"prepared", "auto|off", CLI_STRING, &prepared, "prepared keys beside key files: used (default), or not"},
        {"spool", "DIR", CLI_STRING, &worker.spool_dir, "folder of the jobs", true},
        {"fault", "FAULT", CLI_STRING, &worker.fault, "faults, for tests (src/engine/worker.h)"},
    };
    bool help = false;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_parse(&help, &(cli_arguments){CLI_ALL(options)}, self, argc, argv, &err));
    if (help) goto out;
    if (fd > INT32_MAX || progress_fd > INT32_MAX || threads > 1024 || lookahead > 1024 || lanes > 2)
        ZK_GOTO(ZK_FAIL(&err, CUZK_USAGE,
                        "--fd, --progress-fd, --threads, --lookahead or --lanes: the number is too large"));
    take_over_logging();
    const char *toxic_path = getenv("CUZK_TEST_TOXIC"); /* see worker.h; the daemon's environment is its workers' */
    zk_toxic_waste toxic;
    if (toxic_path) ZK_GOTO(cli_read_toxic(&toxic, toxic_path, &err));
    worker.toxic = toxic_path ? &toxic : NULL;
    worker.no_prepared = prepared && strcmp(prepared, "off") == 0;
    worker.fd = (int)fd;
    worker.progress_fd = (int)progress_fd;
    worker.n_lanes = (unsigned)lanes;
    worker.n_threads = (unsigned)threads;
    worker.lookahead = (unsigned)lookahead;
    status = zk_worker_run(&worker, &err);
out:
    return cli_report(self, status, &err);
}

static int run_salvage(const cli_command *self, int argc, char **argv) {
    const char *journal = NULL, *spool = NULL;
    bool json_wanted = false, help = false;
    cuzk_err err = {0};
    cuzk_status status = CUZK_OK;
    zk_salvage_report report;
    cli_option options[] = {
        {"spool", "DIR", CLI_STRING, &spool, "folder of the jobs' content (default: JOURNAL.spool)"},
        {"json", NULL, CLI_FLAG, &json_wanted, "one JSON object on standard output"},
    };
    cli_positional positionals[] = {{"JOURNAL", &journal, "the journal's file", false}};
    ZK_GOTO(cli_parse(&help, &(cli_arguments){CLI_ALL(options), CLI_ALL(positionals)}, self, argc, argv, &err));
    if (help) goto out;
    ZK_GOTO(zk_engine_salvage(&report, journal, spool, &err));
    if (json_wanted) {
        zk_json_writer *json = cli_json_begin();
        zk_json_put_u64(json, "jobs", report.n_jobs);
        zk_json_put_u64(json, "results", report.n_results);
        zk_json_put_u64(json, "from_spool", report.n_from_spool);
        zk_json_put_u64(json, "lost", report.n_lost);
        zk_json_put_bool(json, "was_damaged", report.was_damaged);
        zk_json_put_bool(json, "was_missing", report.was_missing);
        zk_json_put_string(json, "old_journal", report.old_path);
        ZK_GOTO(cli_json_end(json, &err));
    } else {
        printf("%s: %" PRIu64 " jobs, %" PRIu64 " of them with a proof, %" PRIu64 " taken back from the spool; %" PRIu64
               " rows or scans lost\n",
               journal, report.n_jobs, report.n_results, report.n_from_spool, report.n_lost);
        if (report.was_missing)
            printf("there was no journal; it is made of the spool\n");
        else
            printf(report.was_damaged ? "the damaged journal is %s\n" : "the old journal was not damaged; it is %s\n",
                   report.old_path);
    }
out:
    return cli_report(self, status, &err);
}

const cli_command cli_worker = {"worker", "proves what a daemon gives it (started by the daemon)", run_worker,
                                "Not to be started by hand: it speaks to its daemon over the socket --fd."};
const cli_command cli_journal_salvage = {
    "journal salvage", "takes over what can be read of a damaged journal", run_salvage,
    "The old journal is moved aside and a new one made in its place. Jobs that were not finished are taken back\n"
    "from their content in the spool folder, also if the journal is gone. The daemon must not run."};
