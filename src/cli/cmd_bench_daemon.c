/* cuzk bench single, batch, stress: a daemon measured from outside. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/span.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/remote.h"
#include "cli/session.h"

enum { MAX_REQUESTS = 64 };

typedef struct sample {
    unsigned request;
    bool good;
    uint64_t wall_ms, queue_ms, srs_ms, synthesis_ms, gpu_ms, total_ms;
} sample;

typedef struct run_state run_state;
typedef struct slot {
    run_state *state;
    unsigned request;
    uint64_t start_ns;
    bool busy;
} slot;

struct run_state {
    cli_remote remote;
    zk_request *requests[MAX_REQUESTS];
    const char *names[MAX_REQUESTS]; /* base names, in `paths` */
    unsigned n_requests;
    char *paths;
    uint64_t count, concurrency, duration_s; /* until count proofs were started, or the time is over */
    bool keep_ids, json_wanted;
    bool lost; /* no daemon is there (any more): nothing more is started */
    slot *slots;
    sample *samples;
    size_t n_samples, max_samples, n_started, n_failed;
    char first_error[512];
    cuzk_status first_status;
    uint64_t start_ns, end_ns;
};

static void note_failure(run_state *s, cuzk_status status, const char *text) {
    s->n_failed++;
    if (s->first_error[0]) return;
    s->first_status = status;
    snprintf(s->first_error, sizeof s->first_error, "%s", text);
}

static void on_proof(void *ctx, cuzk_status status, const uint8_t *response, size_t n, const cuzk_err *err) {
    slot *k = ctx;
    run_state *s = k->state;
    sample x = {.request = k->request, .wall_ms = (zk_now_ns() - k->start_ns) / 1000000};
    k->busy = false;
    Cuzk__V1__ProveResponse *m = status == CUZK_OK ? cuzk__v1__prove_response__unpack(NULL, n, response) : NULL;
    cuzk_err outcome = {0};
    if (status != CUZK_OK) {
        cuzk_err told = *err;
        cli_remote_advise(&s->remote, status, &told);
        s->lost |= zk_client_last_reach(s->remote.client) != ZK_CLIENT_ANSWERED;
        note_failure(s, status, told.message);
    } else if (!m || !m->result) {
        note_failure(s, CUZK_INTERNAL, "an answer without result");
    } else {
        const Cuzk__V1__AwaitProofResponse *r = m->result;
        status = cli_remote_outcome(r, &outcome);
        x.good = status == CUZK_OK;
        if (!x.good) note_failure(s, status, outcome.message);
        x.queue_ms = r->queue_wait_ms;
        x.srs_ms = r->srs_load_ms;
        x.synthesis_ms = r->synthesis_ms;
        x.gpu_ms = r->gpu_compute_ms;
        x.total_ms = r->total_ms;
    }
    if (m) cuzk__v1__prove_response__free_unpacked(m, NULL);
    if (zk_grow((void **)&s->samples, &s->max_samples, s->n_samples + 1, sizeof *s->samples))
        s->samples[s->n_samples++] = x;
}

/* The request gets an id that no other has, so that the daemon proves it and finds no earlier proof. */
static cuzk_status start_proof(run_state *s, slot *k, cuzk_err *err) {
    char id[128];
    uint8_t *message = NULL;
    size_t n = 0;
    k->request = (unsigned)(s->n_started % s->n_requests);
    zk_request *q = s->requests[k->request];
    char *own = q->request_id;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(id, sizeof id, "bench-%ld-%ld%09ld-%zu", (long)getpid(), (long)now.tv_sec, now.tv_nsec, s->n_started);
    if (!s->keep_ids) q->request_id = id;
    cuzk_status status = zk_client_encode_submit(&message, &n, q, true, err);
    q->request_id = own;
    if (status != CUZK_OK) return status;
    k->state = s;
    k->busy = true;
    k->start_ns = zk_now_ns();
    s->n_started++;
    zk_client_query query = {"Prove", message, n, cli_remote_timeout_ms(&s->remote)};
    status = zk_client_start(NULL, s->remote.client, &query, on_proof, k, err);
    if (status != CUZK_OK) k->busy = false;
    free(message);
    return status;
}

static bool more_to_start(const run_state *s) {
    if (s->lost) return false;
    if (s->count) return s->n_started < s->count;
    return zk_now_ns() - s->start_ns < s->duration_s * ZK_SECOND_NS;
}

static cuzk_status run_proofs(run_state *s, cuzk_err *err) {
    s->start_ns = zk_now_ns();
    for (;;) {
        size_t n_busy = 0;
        for (uint64_t i = 0; i < s->concurrency; i++) {
            if (!s->slots[i].busy && more_to_start(s)) ZK_TRY(start_proof(s, &s->slots[i], err));
            n_busy += s->slots[i].busy;
        }
        if (n_busy == 0) break;
        zk_client_poll(s->remote.client, 100);
        ZK_TRY(cli_check_cancelled(err));
        if (s->count)
            cli_progress(NULL, "proofs", s->n_samples, s->count);
        else
            cli_progress(NULL, "seconds", (zk_now_ns() - s->start_ns) / ZK_SECOND_NS, s->duration_s);
    }
    s->end_ns = zk_now_ns();
    cli_progress_end();
    return CUZK_OK;
}

/* ---- the table ---- */

typedef enum column { WALL, QUEUE, SRS, SYNTHESIS, GPU, TOTAL, N_COLUMNS } column;
static const char *const column_names[N_COLUMNS] = {"wall_ms",      "queue_wait_ms",  "srs_load_ms",
                                                    "synthesis_ms", "gpu_compute_ms", "total_ms"};

static uint64_t value_of(const sample *x, column c) {
    const uint64_t values[N_COLUMNS] = {x->wall_ms, x->queue_ms, x->srs_ms, x->synthesis_ms, x->gpu_ms, x->total_ms};
    return values[c];
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* minimum, median, 95 %, maximum of the good samples of a request. */
static size_t quantiles(uint64_t q[4], uint64_t *scratch, const run_state *s, unsigned request, column c) {
    size_t n = 0;
    for (size_t i = 0; i < s->n_samples; i++)
        if (s->samples[i].good && s->samples[i].request == request) scratch[n++] = value_of(&s->samples[i], c);
    memset(q, 0, 4 * sizeof *q);
    if (n == 0) return 0;
    qsort(scratch, n, sizeof *scratch, by_value);
    q[0] = scratch[0], q[1] = scratch[n / 2], q[2] = scratch[(n * 95 + 99) / 100 - 1], q[3] = scratch[n - 1];
    return n;
}

static cuzk_status report(const run_state *s, cuzk_err *err) {
    uint64_t *scratch = zk_calloc(s->n_samples + 1, sizeof *scratch), q[4];
    double seconds = (double)(s->end_ns - s->start_ns) / 1e9;
    size_t n_good = s->n_samples - s->n_failed;
    cuzk_status status = CUZK_OK;
    if (!scratch) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the table");
    zk_json_writer *j = s->json_wanted ? cli_json_begin() : NULL;
    zk_json_put_u64(j, "proofs", n_good);
    zk_json_put_u64(j, "failed", s->n_failed);
    zk_json_put_u64(j, "concurrency", s->concurrency);
    zk_json_put_double(j, "seconds", seconds);
    zk_json_put_double(j, "proofs_per_minute", seconds > 0 ? (double)n_good * 60 / seconds : 0);
    zk_json_begin_array(j, "requests");
    for (unsigned r = 0; r < s->n_requests; r++) {
        zk_json_begin_object(j, NULL);
        zk_json_put_string(j, "request", s->names[r]);
        zk_json_put_string(j, "kind", zk_proof_kind_name(s->requests[r]->kind));
        for (column c = 0; c < N_COLUMNS; c++) {
            size_t n = quantiles(q, scratch, s, r, c);
            if (c == WALL && !j)
                printf("%s (%s): %zu proofs\n  %-16s %10s %10s %10s %10s\n", s->names[r],
                       zk_proof_kind_name(s->requests[r]->kind), n, "", "min", "median", "95 %", "max");
            if (!j)
                printf("  %-16s %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n", column_names[c], q[0], q[1],
                       q[2], q[3]);
            if (c == WALL) zk_json_put_u64(j, "proofs", n);
            zk_json_begin_object(j, column_names[c]);
            zk_json_put_u64(j, "min", q[0]);
            zk_json_put_u64(j, "median", q[1]);
            zk_json_put_u64(j, "p95", q[2]);
            zk_json_put_u64(j, "max", q[3]);
            zk_json_end(j);
        }
        zk_json_end(j);
    }
    zk_json_end(j);
    if (j)
        status = cli_json_end(j, err);
    else
        printf("%zu proof%s in %.1f s, %.2f a minute, %zu failed\n", n_good, n_good == 1 ? "" : "s", seconds,
               seconds > 0 ? (double)n_good * 60 / seconds : 0, s->n_failed);
    free(scratch);
    if (status == CUZK_OK && s->n_failed)
        status = ZK_FAIL(err, s->first_status, "%zu of %zu failed, the first: %s", s->n_failed, s->n_samples,
                         s->first_error);
    return status;
}

/* "a.json,b.json" */
static cuzk_status read_requests(run_state *s, const char *list, cuzk_err *err) {
    s->paths = zk_strdup(list);
    if (!s->paths) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for requests");
    char *save = NULL;
    for (char *p = strtok_r(s->paths, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
        if (s->n_requests == MAX_REQUESTS)
            return ZK_FAIL(err, CUZK_USAGE, "--request: more than %d files", MAX_REQUESTS);
        ZK_TRY(zk_request_read_file(&s->requests[s->n_requests], p, err));
        const char *slash = strrchr(p, '/');
        s->names[s->n_requests++] = slash ? slash + 1 : p;
    }
    return s->n_requests ? CUZK_OK : ZK_FAIL(err, CUZK_USAGE, "--request: expected at least one file");
}

typedef enum bench_mode { SINGLE, BATCH, STRESS } bench_mode;

static int run_bench(const cli_command *self, int argc, char **argv, bench_mode mode) {
    run_state s = {.count = mode == SINGLE ? 1 : mode == BATCH ? 10 : 0, .concurrency = mode == SINGLE ? 1 : 2};
    const char *list = NULL;
    bool help = false;
    cuzk_err err = {0};
    cuzk_status status = CUZK_OK;
    if (mode == STRESS) s.concurrency = 16, s.duration_s = 60;
    cli_option options[] = {
        CLI_REMOTE_OPTIONS(s.remote),
        {"request", "FILES", CLI_STRING, &list, "request files, separated by commas; taken in turn", true},
        {"json", NULL, CLI_FLAG, &s.json_wanted, "one JSON object on standard output"},
        {"keep-ids", NULL, CLI_FLAG, &s.keep_ids, "send the files' request ids (the daemon then finds earlier proofs)"},
        {mode == STRESS ? "duration" : "runs", "N", CLI_COUNT, mode == STRESS ? &s.duration_s : &s.count,
         mode == STRESS ? "seconds during which proofs are started (default 60)"
                        : (mode == SINGLE ? "proofs, one after the other (default 1)" : "proofs in all (default 10)")},
        {"concurrency", "N", CLI_COUNT, &s.concurrency,
         mode == BATCH ? "at a time (default 2)" : "at a time (default 16)"},
    };
    cli_arguments arguments = {CLI_ALL(options)};
    if (mode == SINGLE) arguments.n_options--; /* without the last */
    ZK_GOTO(cli_parse(&help, &arguments, self, argc, argv, &err));
    if (help) goto out;
    if (s.concurrency > 10000)
        ZK_GOTO(ZK_FAIL(&err, CUZK_USAGE, "--concurrency: found %" PRIu64 ", expected 1 to 10000", s.concurrency));
    if (s.duration_s > 31536000) ZK_GOTO(ZK_FAIL(&err, CUZK_USAGE, "--duration: more than a year"));
    s.slots = zk_calloc(s.concurrency, sizeof *s.slots);
    if (!s.slots) ZK_GOTO(ZK_FAIL(&err, CUZK_OUT_OF_MEMORY, "no memory for %" PRIu64 " calls", s.concurrency));
    ZK_GOTO(read_requests(&s, list, &err));
    ZK_GOTO(cli_remote_open(&s.remote, &err));
    ZK_GOTO(run_proofs(&s, &err));
    if (s.lost && s.n_failed == s.n_samples) ZK_GOTO(ZK_FAIL(&err, s.first_status, "%s", s.first_error));
    status = report(&s, &err);
out:
    cli_progress_end();
    cli_remote_close(&s.remote);
    for (unsigned i = 0; i < s.n_requests; i++) zk_request_destroy(s.requests[i]);
    free(s.paths);
    free(s.slots);
    free(s.samples);
    return cli_report(self, status, &err);
}

static int run_single(const cli_command *self, int argc, char **argv) { return run_bench(self, argc, argv, SINGLE); }
static int run_batch(const cli_command *self, int argc, char **argv) { return run_bench(self, argc, argv, BATCH); }
static int run_stress(const cli_command *self, int argc, char **argv) { return run_bench(self, argc, argv, STRESS); }

const cli_command cli_bench_single = {"bench single", "measures a daemon: proofs one after the other", run_single,
                                      NULL};
const cli_command cli_bench_batch = {"bench batch", "measures a daemon: a number of proofs, some at a time", run_batch,
                                     NULL};
const cli_command cli_bench_stress = {"bench stress", "measures a daemon: many proofs at a time for a while",
                                      run_stress, NULL};
