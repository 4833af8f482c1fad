#include "rpc_fake_engine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct zk_watch {
    zk_watch *next;
    char job_id[ZK_JOB_ID_BYTES];
    zk_watch_fn fn;
    void *ctx;
};

struct zk_engine {
    pthread_mutex_t mutex;
    fake_job *jobs[FAKE_MAX_JOBS];
    size_t n_jobs, n_watches, n_contents;
    zk_watch *watches;
    cuzk_status fail_status;
    char fail_message[200];
    bool loaded, devices;
    cuzk_status status_fails;
    atomic_bool hold_unknown;
    atomic_uint n_to_meet, n_met;
};

struct zk_content {
    zk_engine *engine;
    fake_field fields[64];
    size_t n_fields;
    uint64_t left;
};

const double zk_histogram_bounds[ZK_HISTOGRAM_BUCKETS - 1] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                                              1,     2.5,    5,     10,   25,    50,   100, 250,  1000};

uint64_t fake_hash(uint64_t h, const void *data, size_t n) {
    const uint8_t *p = data;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

zk_engine *fake_create(void) {
    zk_engine *e = calloc(1, sizeof *e);
    pthread_mutex_init(&e->mutex, NULL);
    return e;
}

void fake_destroy(zk_engine *e) {
    for (size_t i = 0; i < e->n_jobs; i++) free(e->jobs[i]);
    pthread_mutex_destroy(&e->mutex);
    free(e);
}

void fake_hang(zk_engine *e) { pthread_mutex_lock(&e->mutex); }

void fake_go_on(zk_engine *e) { pthread_mutex_unlock(&e->mutex); }

void fake_hold_unknown(zk_engine *e, bool hold) { atomic_store(&e->hold_unknown, hold); }

void fake_meet(zk_engine *e, unsigned n) {
    atomic_store(&e->n_met, 0);
    atomic_store(&e->n_to_meet, n);
}

static bool has_met(zk_engine *e) {
    atomic_fetch_add(&e->n_met, 1);
    for (int i = 0; i < 120000 && atomic_load(&e->n_met) < atomic_load(&e->n_to_meet); i++) usleep(1000);
    return atomic_load(&e->n_met) >= atomic_load(&e->n_to_meet);
}

size_t fake_n_jobs(zk_engine *e) {
    pthread_mutex_lock(&e->mutex);
    size_t n = e->n_jobs;
    pthread_mutex_unlock(&e->mutex);
    return n;
}

fake_job *fake_job_at(zk_engine *e, size_t i) {
    pthread_mutex_lock(&e->mutex);
    fake_job *job = e->jobs[i];
    pthread_mutex_unlock(&e->mutex);
    return job;
}

size_t fake_n_watches(zk_engine *e) {
    pthread_mutex_lock(&e->mutex);
    size_t n = e->n_watches;
    pthread_mutex_unlock(&e->mutex);
    return n;
}

size_t fake_n_open_contents(zk_engine *e) {
    pthread_mutex_lock(&e->mutex);
    size_t n = e->n_contents;
    pthread_mutex_unlock(&e->mutex);
    return n;
}

void fake_fail_submit(zk_engine *e, cuzk_status status, const char *message) {
    pthread_mutex_lock(&e->mutex);
    e->fail_status = status;
    snprintf(e->fail_message, sizeof e->fail_message, "%s", message);
    pthread_mutex_unlock(&e->mutex);
}

void fake_fail_status(zk_engine *e, cuzk_status status) {
    pthread_mutex_lock(&e->mutex);
    e->status_fails = status;
    pthread_mutex_unlock(&e->mutex);
}

void fake_use_devices(zk_engine *e) {
    pthread_mutex_lock(&e->mutex);
    e->devices = true;
    pthread_mutex_unlock(&e->mutex);
}

zk_outcome fake_outcome(zk_engine *e, size_t i) {
    pthread_mutex_lock(&e->mutex);
    zk_outcome outcome = e->jobs[i]->outcome;
    pthread_mutex_unlock(&e->mutex);
    return outcome;
}

size_t fake_index_of(zk_engine *e, const char *request_id) {
    size_t i = 0;
    pthread_mutex_lock(&e->mutex);
    while (i < e->n_jobs && strcmp(e->jobs[i]->request_id, request_id) != 0) i++;
    size_t found = i < e->n_jobs ? i : SIZE_MAX;
    pthread_mutex_unlock(&e->mutex);
    return found;
}

static fake_job *find(zk_engine *e, const char *job_id) {
    for (size_t i = 0; i < e->n_jobs; i++)
        if (strcmp(e->jobs[i]->job_id, job_id) == 0) return e->jobs[i];
    return NULL;
}

static void fire(const zk_watch *w, const fake_job *job, const char *message) {
    zk_result r = {.outcome = job ? job->outcome : ZK_OUTCOME_UNKNOWN};
    uint8_t proof[192];
    snprintf(r.job_id, sizeof r.job_id, "%s", w->job_id);
    snprintf(r.message, sizeof r.message, "%s", message);
    if (job && job->outcome == ZK_OUTCOME_COMPLETED) {
        memcpy(proof, job->proof, sizeof proof);
        r.proof = proof;
        r.n_proof = sizeof proof;
        r.queue_wait_ms = 1, r.srs_load_ms = 2, r.synthesis_ms = 3, r.gpu_compute_ms = 4, r.total_ms = 10;
    }
    w->fn(w->ctx, &r);
}

void fake_finish(zk_engine *e, const char *job_id, zk_outcome outcome, const char *message) {
    zk_watch *mine = NULL;
    pthread_mutex_lock(&e->mutex);
    fake_job *job = find(e, job_id);
    job->outcome = outcome;
    memset(job->proof, 0x5a, sizeof job->proof);
    for (zk_watch **p = &e->watches; *p;) {
        zk_watch *w = *p;
        if (strcmp(w->job_id, job_id) == 0) {
            *p = w->next;
            w->next = mine;
            mine = w;
            e->n_watches--;
        } else {
            p = &w->next;
        }
    }
    pthread_mutex_unlock(&e->mutex);
    while (mine) {
        zk_watch *next = mine->next;
        fire(mine, job, message);
        free(mine);
        mine = next;
    }
}

bool zk_engine_knows(zk_engine *e, const char *job_id) {
    pthread_mutex_lock(&e->mutex);
    fake_job *job = find(e, job_id);
    bool knows = job && job->outcome == ZK_OUTCOME_UNKNOWN;
    pthread_mutex_unlock(&e->mutex);
    return knows;
}

cuzk_status zk_engine_watch(zk_watch **watch, zk_engine *e, const char *job_id, zk_watch_fn fn, void *ctx,
                            cuzk_err *err) {
    (void)err;
    while (atomic_load(&e->hold_unknown) && !zk_engine_knows(e, job_id)) usleep(5000);
    zk_watch *w = calloc(1, sizeof *w);
    snprintf(w->job_id, sizeof w->job_id, "%s", job_id);
    w->fn = fn;
    w->ctx = ctx;
    pthread_mutex_lock(&e->mutex);
    fake_job *job = find(e, job_id);
    bool over = !job || job->outcome != ZK_OUTCOME_UNKNOWN;
    if (!over) {
        w->next = e->watches;
        e->watches = w;
        e->n_watches++;
    }
    pthread_mutex_unlock(&e->mutex);
    if (over) fire(w, job, "");
    if (watch) *watch = over ? NULL : w;
    if (over) free(w);
    return CUZK_OK;
}

bool zk_engine_unwatch(zk_engine *e, const char *job_id, void *ctx) {
    zk_watch *found = NULL;
    pthread_mutex_lock(&e->mutex);
    for (zk_watch **p = &e->watches; *p && !found; p = &(*p)->next)
        if ((*p)->ctx == ctx && strcmp((*p)->job_id, job_id) == 0) {
            found = *p;
            *p = found->next;
            e->n_watches--;
            break;
        }
    pthread_mutex_unlock(&e->mutex);
    free(found);
    return found != NULL;
}

cuzk_status zk_engine_cancel(bool *was_running, zk_engine *e, const char *job_id, cuzk_err *err) {
    (void)err;
    pthread_mutex_lock(&e->mutex);
    fake_job *job = find(e, job_id);
    *was_running = job && job->outcome == ZK_OUTCOME_UNKNOWN;
    pthread_mutex_unlock(&e->mutex);
    if (*was_running) fake_finish(e, job_id, ZK_OUTCOME_CANCELLED, "");
    return CUZK_OK;
}

cuzk_status zk_content_create(zk_content **content, zk_engine *e, cuzk_err *err) {
    (void)err;
    *content = calloc(1, sizeof **content);
    (*content)->engine = e;
    pthread_mutex_lock(&e->mutex);
    e->n_contents++;
    pthread_mutex_unlock(&e->mutex);
    return CUZK_OK;
}

cuzk_status zk_content_field_begin(zk_content *c, zk_content_field field, uint64_t n, cuzk_err *err) {
    if (c->n_fields == 64) return ZK_FAIL(err, CUZK_EXHAUSTED, "too many fields");
    c->fields[c->n_fields++] = (fake_field){field, n, FAKE_HASH};
    c->left = n;
    return CUZK_OK;
}

cuzk_status zk_content_write(zk_content *c, const void *data, size_t n, cuzk_err *err) {
    if (n > c->left) return ZK_FAIL(err, CUZK_INTERNAL, "more than announced");
    fake_field *f = &c->fields[c->n_fields - 1];
    f->hash = fake_hash(f->hash, data, n);
    c->left -= n;
    return CUZK_OK;
}

void zk_content_abort(zk_content *c) {
    if (!c) return;
    pthread_mutex_lock(&c->engine->mutex);
    c->engine->n_contents--;
    pthread_mutex_unlock(&c->engine->mutex);
    free(c);
}

cuzk_status zk_engine_submit(zk_submitted *s, zk_engine *e, const zk_engine_request *request, zk_content *c,
                             cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    memset(s, 0, sizeof *s);
    pthread_mutex_lock(&e->mutex);
    fake_job *known = NULL;
    for (size_t i = 0; i < e->n_jobs && request->request_id[0]; i++)
        if (strcmp(e->jobs[i]->request_id, request->request_id) == 0) known = e->jobs[i];
    if (e->fail_status != CUZK_OK) {
        status = ZK_FAIL(err, e->fail_status, "%s", e->fail_message);
        e->fail_status = CUZK_OK;
    } else if (request->kind == ZK_KIND_UNSPECIFIED || c->left > 0) {
        status = ZK_FAIL(err, CUZK_BAD_INPUT, "proof_kind: found 0, expected 1 to 4");
    } else if (known) {
        s->joined = true;
        s->finished = known->outcome == ZK_OUTCOME_COMPLETED;
        strcpy(s->job_id, known->job_id);
    } else {
        fake_job *job = calloc(1, sizeof *job);
        snprintf(job->job_id, sizeof job->job_id, "job-%zu", e->n_jobs + 1);
        job->request = *request;
        snprintf(job->request_id, sizeof job->request_id, "%s", request->request_id);
        memcpy(job->fields, c->fields, sizeof job->fields);
        job->n_fields = c->n_fields;
        strcpy(s->job_id, job->job_id);
        s->queue_position = (uint32_t)e->n_jobs;
        e->jobs[e->n_jobs++] = job;
    }
    pthread_mutex_unlock(&e->mutex);
    zk_content_abort(c);
    return status;
}

void zk_engine_count_refused(zk_engine *e) { (void)e; }

cuzk_status zk_engine_preload(bool *already, uint64_t *ms, zk_engine *e, const char *id, cuzk_err *err) {
    if (strcmp(id, "porep-2k") != 0) return ZK_FAIL(err, CUZK_NOT_FOUND, "%s: no file v28-x.params in /params", id);
    if (!has_met(e)) return ZK_FAIL(err, CUZK_INTERNAL, "nobody else came");
    pthread_mutex_lock(&e->mutex);
    *already = e->loaded;
    *ms = e->loaded ? 0 : 7;
    e->loaded = true;
    pthread_mutex_unlock(&e->mutex);
    return CUZK_OK;
}

cuzk_status zk_engine_evict(bool *was, uint64_t *freed, zk_engine *e, const char *id, cuzk_err *err) {
    (void)id, (void)err;
    *was = e->loaded;
    *freed = e->loaded ? 4096 : 0;
    e->loaded = false;
    return CUZK_OK;
}

const char *zk_partition_state_name(zk_partition_state state) {
    static const char *const names[] = {"pending", "synthesizing", "synth_done", "gpu", "done", "failed"};
    return names[state];
}

const char *zk_worker_state_name(zk_worker_state state) {
    static const char *const names[] = {"starting", "idle",    "preparing", "loading",
                                        "proving",  "stopped", "off",       "retired"};
    return names[state];
}

/* One block of everything, with something in each list. */
typedef struct view {
    zk_engine_status status;
    zk_queue_view queues[4];
    zk_job_view jobs[2];
    zk_partition_view partitions[3];
    zk_worker_view workers[5];
    zk_srs_view srs[2];
    zk_memory_view memory[1];
    zk_histogram histograms[1];
} view;

static void show_devices(view *v) {
    const zk_worker_view gpu = {.pid = 1,
                                .device_kind = "cuda",
                                .device = "GPU",
                                .partition = -1,
                                .memory_total_bytes = 8000,
                                .memory_free_bytes = 4000,
                                .device_reserved_bytes = 3000};
    v->workers[1] = v->workers[0];
    memcpy(v->workers[1].device_kind, "cuda", 5);
    memcpy(v->workers[1].device, "GPU", 4);
    v->workers[0] = v->workers[2] = gpu;
    v->workers[2].device_ordinal = 1;
    v->workers[3] = v->workers[4] = (zk_worker_view){.pid = 1, .device_kind = "cpu", .device = "CPU", .partition = -1};
    v->workers[4].checks_only = true;
    for (unsigned i = 0; i < 5; i++) v->workers[i].id = v->workers[i].process = i;
    v->workers[1].process = 0; /* the second lane of the first device */
    v->workers[1].pid = 1;
    v->status.n_workers = 5;
}

cuzk_status zk_engine_get_status(zk_engine_status **status, zk_engine *e, cuzk_err *err) {
    pthread_mutex_lock(&e->mutex);
    cuzk_status fails = e->status_fails;
    pthread_mutex_unlock(&e->mutex);
    if (fails != CUZK_OK) return ZK_FAIL(err, fails, "no status for a test");
    view *v = calloc(1, sizeof *v);
    pthread_mutex_lock(&e->mutex);
    for (unsigned k = 0; k < 4; k++) v->queues[k].kind = (zk_proof_kind)(k + 1);
    for (size_t i = 0; i < e->n_jobs; i++) {
        zk_queue_view *q = &v->queues[e->jobs[i]->request.kind - 1];
        q->pending += e->jobs[i]->outcome == ZK_OUTCOME_UNKNOWN;
        q->n_completed += e->jobs[i]->outcome == ZK_OUTCOME_COMPLETED;
        q->n_failed += e->jobs[i]->outcome == ZK_OUTCOME_FAILED;
    }
    bool devices = e->devices;
    pthread_mutex_unlock(&e->mutex);
    for (unsigned k = 0; k < 4; k++) {
        v->status.n_completed += v->queues[k].n_completed;
        v->status.n_failed += v->queues[k].n_failed;
    }
    for (unsigned k = 0; k < 3; k++)
        v->partitions[k] = (zk_partition_view){k, (zk_partition_state)(k * 2), k * 100, 0, 1, k ? 0 : -1};
    v->jobs[0] = (zk_job_view){.job_id = "run-1",
                               .request_id = "porep-1-2 \"quoted\"",
                               .kind = ZK_KIND_POREP,
                               .priority = ZK_PRIORITY_NORMAL,
                               .circuit_id = "porep-2k",
                               .running = true,
                               .started_ago_ms = 1500,
                               .n_partitions = 3,
                               .n_done = 1,
                               .partitions = v->partitions};
    v->jobs[1] =
        (zk_job_view){.job_id = "wait-1", .kind = ZK_KIND_WINNING, .circuit_id = "winning-2k", .queue_position = 1};
    v->workers[0] = (zk_worker_view){.device_kind = "cpu",
                                     .device = "a \"CPU\"",
                                     .job_id = "run-1",
                                     .kind = ZK_KIND_POREP,
                                     .partition = 1,
                                     .stage = "msm",
                                     .busy_ms = 900,
                                     .state = ZK_WORKER_PROVING,
                                     .memory_total_bytes = 1000,
                                     .memory_free_bytes = 400};
    v->srs[0] = (zk_srs_view){.circuit_id = "porep-2k", .tier = ZK_SRS_HOT, .bytes = 4096, .ref_count = 1};
    v->srs[1] = (zk_srs_view){.circuit_id = "winning-2k", .tier = ZK_SRS_COLD, .bytes = 10};
    v->memory[0] = (zk_memory_view){"msm buckets", 10, 20};
    v->histograms[0] = (zk_histogram){.name = "msm", .n = 3, .sum_ns = 3000000000};
    v->histograms[0].bucket[0] = 1;
    v->histograms[0].bucket[ZK_HISTOGRAM_BUCKETS - 1] = 2;
    v->status.uptime_ms = 61500;
    v->status.queues = v->queues, v->status.n_queues = 4;
    v->status.jobs = v->jobs, v->status.n_jobs = 2;
    v->status.workers = v->workers, v->status.n_workers = 1;
    if (devices) show_devices(v);
    v->status.srs = v->srs, v->status.n_srs = 2;
    v->status.memory = v->memory, v->status.n_memory = 1;
    v->status.histograms = v->histograms, v->status.n_histograms = 1;
    v->status.memory_budget_bytes = 1 << 20, v->status.memory_reserved_bytes = 1 << 10;
    *status = &v->status;
    return CUZK_OK;
}

void zk_engine_status_destroy(zk_engine_status *status) { free(status); }

cuzk_status zk_engine_trace(zk_engine *e, const char *job_id, FILE *out, cuzk_err *err) {
    (void)e;
    if (job_id && strcmp(job_id, "run-1") != 0) return ZK_FAIL(err, CUZK_NOT_FOUND, "no job %s", job_id);
    fputs("{\"traceEvents\":[]}\n", out);
    return CUZK_OK;
}
