/* cuzk status, submit, await, cancel, preload, evict, metrics: a daemon's clients. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/machines.h"
#include "cli/output.h"
#include "cli/remote.h"
#include "cli/session.h"
#include "rpc/names.h"

static const char json_help[] = "one JSON object on standard output";

/* ---- status ---- */

static void print_status(const Cuzk__V1__GetStatusResponse *s) {
    char a[32], id[ZK_RPC_DEVICE_ID_BYTES];
    printf("up %" PRIu64 " s, %" PRIu64 " proofs completed, %" PRIu64 " failed\n", s->uptime_seconds,
           s->total_proofs_completed, s->total_proofs_failed);
    printf("memory reserved: %.1f of %.1f MiB\n\n", (double)s->pinned_memory_bytes / 1048576,
           (double)s->pinned_memory_limit_bytes / 1048576);
    printf("%-16s %8s %12s\n", "queue", "pending", "in progress");
    for (size_t i = 0; i < s->n_queues; i++)
        printf("%-16s %8" PRIu32 " %12" PRIu32 "\n", s->queues[i]->proof_kind, s->queues[i]->pending,
               s->queues[i]->in_progress);
    printf("\n%-16s %-40s %s\n", "device", "name", "work");
    for (size_t i = 0; i < s->n_gpus; i++) {
        const Cuzk__V1__GPUStatus *g = s->gpus[i];
        const char *name = zk_rpc_device_split(id, g->ordinal, g->name);
        printf("%-16s %-40.40s %s%s%s\n", id, name, g->current_job_id[0] ? g->current_proof_kind : "idle",
               g->current_job_id[0] ? " " : "", g->current_job_id);
    }
    printf("\n%-16s %-5s %14s %6s\n", "keys", "tier", "size", "in use");
    for (size_t i = 0; i < s->n_loaded_srs; i++) {
        const Cuzk__V1__SRSStatus *k = s->loaded_srs[i];
        snprintf(a, sizeof a, "%.1f MiB", (double)k->size_bytes / 1048576);
        printf("%-16s %-5s %14s %6" PRIu32 "\n", k->circuit_id, zk_rpc_tier_name((unsigned)k->tier), a, k->ref_count);
    }
}

static void put_status(zk_json_writer *j, const Cuzk__V1__GetStatusResponse *s) {
    zk_json_begin_array(j, "gpus");
    for (size_t i = 0; i < s->n_gpus; i++) {
        const Cuzk__V1__GPUStatus *g = s->gpus[i];
        zk_json_begin_object(j, NULL);
        char id[ZK_RPC_DEVICE_ID_BYTES];
        zk_rpc_device_split(id, g->ordinal, g->name);
        zk_json_put_string(j, "device", id);
        zk_json_put_u64(j, "ordinal", g->ordinal);
        zk_json_put_string(j, "name", g->name);
        zk_json_put_u64(j, "vram_total_bytes", g->vram_total_bytes);
        zk_json_put_u64(j, "vram_free_bytes", g->vram_free_bytes);
        zk_json_put_string(j, "current_job_id", g->current_job_id);
        zk_json_put_string(j, "current_proof_kind", g->current_proof_kind);
        zk_json_end(j);
    }
    zk_json_end(j);
    zk_json_begin_array(j, "loaded_srs");
    for (size_t i = 0; i < s->n_loaded_srs; i++) {
        const Cuzk__V1__SRSStatus *k = s->loaded_srs[i];
        zk_json_begin_object(j, NULL);
        zk_json_put_string(j, "circuit_id", k->circuit_id);
        zk_json_put_string(j, "tier", zk_rpc_tier_name((unsigned)k->tier));
        zk_json_put_u64(j, "size_bytes", k->size_bytes);
        zk_json_put_u64(j, "ref_count", k->ref_count);
        zk_json_end(j);
    }
    zk_json_end(j);
    zk_json_begin_array(j, "queues");
    for (size_t i = 0; i < s->n_queues; i++) {
        zk_json_begin_object(j, NULL);
        zk_json_put_string(j, "proof_kind", s->queues[i]->proof_kind);
        zk_json_put_u64(j, "pending", s->queues[i]->pending);
        zk_json_put_u64(j, "in_progress", s->queues[i]->in_progress);
        zk_json_end(j);
    }
    zk_json_end(j);
    zk_json_put_u64(j, "total_proofs_completed", s->total_proofs_completed);
    zk_json_put_u64(j, "total_proofs_failed", s->total_proofs_failed);
    zk_json_put_u64(j, "uptime_seconds", s->uptime_seconds);
    zk_json_put_u64(j, "pinned_memory_bytes", s->pinned_memory_bytes);
    zk_json_put_u64(j, "pinned_memory_limit_bytes", s->pinned_memory_limit_bytes);
}

static cuzk_status ask_machines(cli_machines *machines, cli_remote *remote, cuzk_err *err) {
    Cuzk__V1__GetMetricsRequest q = CUZK__V1__GET_METRICS_REQUEST__INIT;
    Cuzk__V1__GetMetricsResponse *m = NULL;
    ZK_TRY(
        cli_remote_call((void **)&m, remote, "GetMetrics", &q.base, &cuzk__v1__get_metrics_response__descriptor, err));
    cli_machines_parse(machines, m->prometheus_text);
    cuzk__v1__get_metrics_response__free_unpacked(m, NULL);
    return CUZK_OK;
}

static int run_status(const cli_command *self, int argc, char **argv) {
    cli_remote remote = {0};
    bool json_wanted = false, help = false;
    cuzk_err err = {0};
    cuzk_status status = CUZK_OK;
    Cuzk__V1__GetStatusResponse *s = NULL;
    cli_option options[] = {CLI_REMOTE_OPTIONS(remote), {"json", NULL, CLI_FLAG, &json_wanted, json_help}};
    ZK_GOTO(cli_parse(&help, &(cli_arguments){CLI_ALL(options)}, self, argc, argv, &err));
    if (help) goto out;
    ZK_GOTO(cli_remote_open(&remote, &err));
    Cuzk__V1__GetStatusRequest q = CUZK__V1__GET_STATUS_REQUEST__INIT;
    ZK_GOTO(
        cli_remote_call((void **)&s, &remote, "GetStatus", &q.base, &cuzk__v1__get_status_response__descriptor, &err));
    cli_machines machines;
    ZK_GOTO(ask_machines(&machines, &remote, &err));
    if (json_wanted) {
        zk_json_writer *json = cli_json_begin();
        put_status(json, s);
        cli_machines_put(json, &machines);
        ZK_GOTO(cli_json_end(json, &err));
    } else {
        print_status(s);
        cli_machines_print(&machines);
    }
out:
    if (s) cuzk__v1__get_status_response__free_unpacked(s, NULL);
    cli_remote_close(&remote);
    return cli_report(self, status, &err);
}

/* ---- submit, await ---- */

/* Waits for a job, tells what it took, keeps the proof. */
static cuzk_status await_job(cli_remote *remote, const char *job_id, uint64_t wait_s, const char *out_path,
                             bool json_wanted, cuzk_err *err) {
    Cuzk__V1__AwaitProofRequest q = CUZK__V1__AWAIT_PROOF_REQUEST__INIT;
    Cuzk__V1__AwaitProofResponse *a = NULL;
    cuzk_status status = CUZK_OK;
    q.job_id = (char *)(uintptr_t)job_id;
    q.timeout_ms = wait_s > UINT64_MAX / 1000 ? 0 : wait_s * 1000;
    cli_progress(NULL, "waiting for the proof", 0, 0);
    status =
        cli_remote_call((void **)&a, remote, "AwaitProof", &q.base, &cuzk__v1__await_proof_response__descriptor, err);
    cli_progress_end();
    if (status != CUZK_OK) goto out;
    if (json_wanted) {
        zk_json_writer *j = cli_json_begin();
        zk_json_put_string(j, "job_id", a->job_id);
        const ProtobufCEnumValue *name =
            protobuf_c_enum_descriptor_get_value(&cuzk__v1__await_proof_response__status__descriptor, (int)a->status);
        zk_json_put_string(j, "status", name ? name->name : "UNKNOWN");
        zk_json_put_u64(j, "proof_bytes", a->proof.len);
        zk_json_put_string(j, "error_message", a->error_message);
        zk_json_put_u64(j, "queue_wait_ms", a->queue_wait_ms);
        zk_json_put_u64(j, "srs_load_ms", a->srs_load_ms);
        zk_json_put_u64(j, "synthesis_ms", a->synthesis_ms);
        zk_json_put_u64(j, "gpu_compute_ms", a->gpu_compute_ms);
        zk_json_put_u64(j, "total_ms", a->total_ms);
        ZK_GOTO(cli_json_end(j, err));
    }
    ZK_GOTO(cli_remote_outcome(a, err));
    if (out_path) ZK_GOTO(zk_file_write(out_path, a->proof.data, a->proof.len, err));
    if (!json_wanted)
        printf("%s: completed, %zu bytes%s%s; waited %" PRIu64 " ms, keys %" PRIu64 " ms, synthesis %" PRIu64
               " ms, proving %" PRIu64 " ms, in all %" PRIu64 " ms\n",
               a->job_id, a->proof.len, out_path ? " in " : "", out_path ? out_path : "", a->queue_wait_ms,
               a->srs_load_ms, a->synthesis_ms, a->gpu_compute_ms, a->total_ms);
out:
    if (a) cuzk__v1__await_proof_response__free_unpacked(a, NULL);
    return status;
}

static cuzk_status set_priority(zk_request *request, const char *text, cuzk_err *err) {
    for (int p = ZK_PRIORITY_LOW; p < ZK_N_PRIORITIES; p++)
        if (strcasecmp(text, zk_priority_proto_name((zk_priority)p)) == 0) {
            request->priority = (zk_priority)p;
            return CUZK_OK;
        }
    return ZK_FAIL(err, CUZK_USAGE, "--priority: found \"%s\", expected low, normal, high or critical", text);
}

static int run_submit(const cli_command *self, int argc, char **argv) {
    cli_remote remote = {0};
    const char *request_path = NULL, *c1_path = NULL, *out_path = NULL, *priority = NULL, *id = NULL;
    bool json_wanted = false, wait = false, help = false;
    cuzk_err err = {0};
    cuzk_status status = CUZK_OK;
    zk_request *request = NULL;
    uint8_t *message = NULL;
    size_t n = 0;
    uint64_t miner = 0, sector = 0;
    Cuzk__V1__SubmitProofResponse *s = NULL;
    cli_option options[] = {
        CLI_REMOTE_OPTIONS(remote),
        {"request", "FILE", CLI_STRING, &request_path, "a request: JSON of the message SubmitProofRequest"},
        {"c1", "FILE", CLI_STRING, &c1_path,
         "PoRep: output of commit phase 1: JSON of the API or Curio's envelope, plain or zstd"},
        {"miner", "N", CLI_U64, &miner, "with --c1: number of the miner"},
        {"sector", "N", CLI_U64, &sector, "with --c1: number of the sector, if FILE does not name it"},
        {"request-id", "TEXT", CLI_STRING, &id, "idempotency key in place of the file's"},
        {"priority", "NAME", CLI_STRING, &priority, "low, normal, high or critical (default: by the kind of proof)"},
        {"wait", NULL, CLI_FLAG, &wait, "wait for the proof"},
        {"o", "FILE", CLI_STRING, &out_path, "wait, and write the proof here"},
        {"json", NULL, CLI_FLAG, &json_wanted, json_help},
    };
    const cli_arguments arguments = {CLI_ALL(options)};
    ZK_GOTO(cli_parse(&help, &arguments, self, argc, argv, &err));
    if (help) goto out;
    ZK_GOTO(cli_remote_read_request(&request, request_path, c1_path, cli_given(&arguments, "miner") ? &miner : NULL,
                                    cli_given(&arguments, "sector") ? &sector : NULL, &err));
    if (priority) ZK_GOTO(set_priority(request, priority, &err));
    if (id) {
        free(request->request_id);
        request->request_id = zk_strdup(id);
        if (!request->request_id) ZK_GOTO(ZK_FAIL(&err, CUZK_OUT_OF_MEMORY, "no memory for a request"));
    }
    ZK_GOTO(zk_client_encode_submit(&message, &n, request, false, &err));
    zk_request_destroy(request);
    request = NULL;
    ZK_GOTO(cli_remote_open(&remote, &err));
    ZK_GOTO(cli_remote_call_raw((void **)&s, &remote, "SubmitProof", message, n,
                                &cuzk__v1__submit_proof_response__descriptor, &err));
    free(message);
    message = NULL;
    if (wait || out_path) {
        if (!json_wanted) fprintf(stderr, "job %s\n", s->job_id);
        status = await_job(&remote, s->job_id, 0, out_path, json_wanted, &err);
    } else if (json_wanted) {
        zk_json_writer *j = cli_json_begin();
        zk_json_put_string(j, "job_id", s->job_id);
        zk_json_put_u64(j, "queue_position", s->queue_position);
        zk_json_put_string(j, "assigned_gpu", s->assigned_gpu);
        status = cli_json_end(j, &err);
    } else {
        printf("%s\n", s->job_id);
    }
out:
    free(message);
    zk_request_destroy(request);
    if (s) cuzk__v1__submit_proof_response__free_unpacked(s, NULL);
    cli_remote_close(&remote);
    return cli_report(self, status, &err);
}

static int run_await(const cli_command *self, int argc, char **argv) {
    cli_remote remote = {0};
    const char *job_id = NULL, *out_path = NULL;
    uint64_t wait_s = 0;
    bool json_wanted = false, help = false;
    cuzk_err err = {0};
    cuzk_status status = CUZK_OK;
    cli_option options[] = {
        CLI_REMOTE_OPTIONS(remote),
        {"wait", "SECONDS", CLI_U64, &wait_s,
         "ask the daemon to answer after this time at the latest (default: never)"},
        {"o", "FILE", CLI_STRING, &out_path, "where the proof goes"},
        {"json", NULL, CLI_FLAG, &json_wanted, json_help},
    };
    cli_positional positionals[] = {{"JOB", &job_id, "the id that submit gave", false}};
    ZK_GOTO(cli_parse(&help, &(cli_arguments){CLI_ALL(options), CLI_ALL(positionals)}, self, argc, argv, &err));
    if (help) goto out;
    ZK_GOTO(cli_remote_open(&remote, &err));
    status = await_job(&remote, job_id, wait_s, out_path, json_wanted, &err);
out:
    cli_remote_close(&remote);
    return cli_report(self, status, &err);
}

/* ---- one argument, one answer ---- */

typedef enum simple { CANCEL, PRELOAD, EVICT } simple;

static cuzk_status call_simple(simple what, const char *argument, cli_remote *remote, bool json_wanted, cuzk_err *err) {
    Cuzk__V1__CancelProofRequest cancel = CUZK__V1__CANCEL_PROOF_REQUEST__INIT;
    Cuzk__V1__PreloadSrsRequest preload = CUZK__V1__PRELOAD_SRS_REQUEST__INIT;
    Cuzk__V1__EvictSrsRequest evict = CUZK__V1__EVICT_SRS_REQUEST__INIT;
    cancel.job_id = preload.circuit_id = evict.circuit_id = (char *)(uintptr_t)argument;
    const struct {
        const char *method;
        const ProtobufCMessage *request;
        const ProtobufCMessageDescriptor *type;
    } calls[] = {{"CancelProof", &cancel.base, &cuzk__v1__cancel_proof_response__descriptor},
                 {"PreloadSRS", &preload.base, &cuzk__v1__preload_srs_response__descriptor},
                 {"EvictSRS", &evict.base, &cuzk__v1__evict_srs_response__descriptor}};
    void *answer = NULL;
    cuzk_status status = CUZK_OK;
    if (what == PRELOAD) cli_progress(NULL, "loading keys", 0, 0);
    status = cli_remote_call(&answer, remote, calls[what].method, calls[what].request, calls[what].type, err);
    cli_progress_end();
    if (status != CUZK_OK) return status;
    zk_json_writer *j = json_wanted ? cli_json_begin() : NULL;
    if (what == CANCEL) {
        bool was = ((Cuzk__V1__CancelProofResponse *)answer)->was_running;
        if (j)
            zk_json_put_bool(j, "was_running", was);
        else if (was)
            printf("%s: cancelled\n", argument);
        if (!was) status = ZK_FAIL(err, CUZK_CHECK_FAILED, "job %s is not queued or running", argument);
    } else if (what == PRELOAD) {
        const Cuzk__V1__PreloadSrsResponse *a = answer;
        if (j) {
            zk_json_put_bool(j, "already_loaded", a->already_loaded);
            zk_json_put_u64(j, "load_time_ms", a->load_time_ms);
        } else if (a->already_loaded) {
            printf("%s: was loaded\n", argument);
        } else {
            printf("%s: loaded in %" PRIu64 " ms\n", argument, a->load_time_ms);
        }
    } else {
        const Cuzk__V1__EvictSrsResponse *a = answer;
        if (j) {
            zk_json_put_bool(j, "was_loaded", a->was_loaded);
            zk_json_put_u64(j, "freed_bytes", a->freed_bytes);
        } else if (a->was_loaded) {
            printf("%s: %" PRIu64 " bytes freed\n", argument, a->freed_bytes);
        } else {
            printf("%s: was not loaded\n", argument);
        }
    }
    protobuf_c_message_free_unpacked(answer, NULL);
    if (j) {
        cuzk_status written = cli_json_end(j, err);
        if (status == CUZK_OK) status = written;
    }
    return status;
}

static int run_simple(const cli_command *self, int argc, char **argv, simple what, const char *name, const char *text) {
    cli_remote remote = {0};
    const char *argument = NULL;
    bool json_wanted = false, help = false;
    cuzk_err err = {0};
    cuzk_status status = CUZK_OK;
    cli_option options[] = {CLI_REMOTE_OPTIONS(remote), {"json", NULL, CLI_FLAG, &json_wanted, json_help}};
    cli_positional positionals[] = {{name, &argument, text, false}};
    ZK_GOTO(cli_parse(&help, &(cli_arguments){CLI_ALL(options), CLI_ALL(positionals)}, self, argc, argv, &err));
    if (help) goto out;
    ZK_GOTO(cli_remote_open(&remote, &err));
    status = call_simple(what, argument, &remote, json_wanted, &err);
out:
    cli_remote_close(&remote);
    return cli_report(self, status, &err);
}

static int run_cancel(const cli_command *self, int argc, char **argv) {
    return run_simple(self, argc, argv, CANCEL, "JOB", "the id that submit gave");
}
static int run_preload(const cli_command *self, int argc, char **argv) {
    return run_simple(self, argc, argv, PRELOAD, "CIRCUIT", "such as porep-32g, wpost-32g, winning-32g, snap-32g");
}
static int run_evict(const cli_command *self, int argc, char **argv) {
    return run_simple(self, argc, argv, EVICT, "CIRCUIT", "such as porep-32g, wpost-32g, winning-32g, snap-32g");
}

static int run_metrics(const cli_command *self, int argc, char **argv) {
    cli_remote remote = {0};
    bool json_wanted = false, help = false;
    cuzk_err err = {0};
    cuzk_status status = CUZK_OK;
    Cuzk__V1__GetMetricsResponse *m = NULL;
    cli_option options[] = {CLI_REMOTE_OPTIONS(remote), {"json", NULL, CLI_FLAG, &json_wanted, json_help}};
    ZK_GOTO(cli_parse(&help, &(cli_arguments){CLI_ALL(options)}, self, argc, argv, &err));
    if (help) goto out;
    ZK_GOTO(cli_remote_open(&remote, &err));
    Cuzk__V1__GetMetricsRequest q = CUZK__V1__GET_METRICS_REQUEST__INIT;
    ZK_GOTO(cli_remote_call((void **)&m, &remote, "GetMetrics", &q.base, &cuzk__v1__get_metrics_response__descriptor,
                            &err));
    if (json_wanted) {
        zk_json_writer *j = cli_json_begin();
        zk_json_put_string(j, "prometheus_text", m->prometheus_text);
        ZK_GOTO(cli_json_end(j, &err));
        goto out;
    }
    fputs(m->prometheus_text, stdout);
out:
    if (m) cuzk__v1__get_metrics_response__free_unpacked(m, NULL);
    cli_remote_close(&remote);
    return cli_report(self, status, &err);
}

const cli_command cli_status = {"status", "what a daemon is doing", run_status, NULL};
const cli_command cli_submit = {
    "submit", "gives a daemon a request to prove", run_submit,
    "Prints the job's id. With --wait or -o it waits for the proof. Exit code 3 when the request was refused or the\n"
    "job failed, 1 when it was cancelled."};
const cli_command cli_await = {
    "await", "waits for a daemon's proof", run_await,
    "Exit code 3 when the job failed or is not known, 1 when it was cancelled or has not ended after --wait."};
const cli_command cli_cancel = {"cancel", "ends a daemon's job", run_cancel,
                                "Exit code 1 when there was nothing to end."};
const cli_command cli_preload = {"preload", "loads the keys of a circuit in a daemon", run_preload, NULL};
const cli_command cli_evict = {"evict", "releases the keys of a circuit in a daemon", run_evict, NULL};
const cli_command cli_metrics = {"metrics", "a daemon's counters as Prometheus text", run_metrics, NULL};
