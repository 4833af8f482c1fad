/* Jobs as a worker has them: read from the spool, checked; and the inputs of partitions, made ahead where that pays. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/content.h"
#include "engine/worker_impl.h"

/* ---- jobs ---- */

static open_job *find_job(worker_lane *self, const char *id) {
    for (open_job *j = self->w->jobs; j; j = j->next)
        if (strcmp(j->id, id) == 0) return j;
    return NULL;
}

static void drop_job(worker_lane *self, open_job *job) {
    if (!job) return;
    pthread_mutex_lock(&self->w->lock);
    bool last = --job->refs == 0;
    if (last) {
        open_job **at = &self->w->jobs;
        while (*at != job) at = &(*at)->next;
        *at = job->next;
        pthread_cond_broadcast(&self->w->changed); /* somebody may wait to read it himself */
    }
    pthread_mutex_unlock(&self->w->lock);
    if (!last) return;
    zk_job_destroy(job->job);
    worker_release(self, ZK_KIND_UNSPECIFIED, job->bytes, 0);
    free(job);
}

/* granted: already reserved for it. */
static cuzk_status read_job(open_job *to, worker_lane *self, bool check_digest, const uint64_t *granted,
                            zk_trace *trace, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_spooled spooled = {0};
    zk_job *job = NULL;
    char path[ZK_SPOOL_PATH_BYTES];
    zk_spool_path(path, self->w->options->spool_dir, to->id);
    zk_span *inner = zk_span_open_kernel(trace, "open");
    ZK_GOTO(zk_spooled_open(&spooled, path, check_digest, err));
    zk_span_close(trace, inner);
    if (!granted) {
        uint64_t bytes = zk_spooled_job_bytes(spooled.map.n_bytes);
        ZK_GOTO(worker_reserve(self, ZK_KIND_UNSPECIFIED, 0, bytes, 0, err));
        to->bytes = bytes;
    }
    inner = zk_span_open_kernel(trace, "parse");
    status = zk_job_from_request(&job, &spooled.request, err);
    /* A file that changed meanwhile is named as the cause. */
    if (status == CUZK_OK || status == CUZK_BAD_INPUT) {
        cuzk_err changed = {0};
        cuzk_status same = zk_file_map_check(&spooled.map, &changed);
        if (same != CUZK_OK && err) *err = changed;
        if (same != CUZK_OK) status = same;
    }
    if (status != CUZK_OK) goto out;
    zk_span_close(trace, inner);
    if (spooled.request.miner_id) ZK_GOTO(zk_job_expect(job, &spooled.request.miner_id, NULL, err));
    pthread_mutex_lock(&self->w->lock);
    to->job = job;
    pthread_cond_broadcast(&self->w->changed);
    pthread_mutex_unlock(&self->w->lock);
    job = NULL;
out:
    zk_job_destroy(job);
    zk_spooled_close(&spooled);
    return status;
}

/* The job, held. Whoever asks first reads it. */
static cuzk_status get_job(open_job **out, worker_lane *self, const char *id, bool check_digest,
                           const uint64_t *granted, zk_trace *trace, cuzk_err *err) {
    *out = NULL;
    open_job *fresh = zk_calloc(1, sizeof *fresh), *job;
    if (!fresh) {
        if (granted) worker_release(self, ZK_KIND_UNSPECIFIED, *granted, 0);
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a job");
    }
    memcpy(fresh->id, id, strnlen(id, sizeof fresh->id - 1));
    fresh->refs = 1;
    fresh->bytes = granted ? *granted : 0;
    pthread_mutex_lock(&self->w->lock);
    while ((job = find_job(self, id)) != NULL && !job->job) pthread_cond_wait(&self->w->changed, &self->w->lock);
    if (job) {
        job->refs++;
    } else {
        fresh->next = self->w->jobs;
        self->w->jobs = fresh;
    }
    pthread_mutex_unlock(&self->w->lock);
    if (job) {
        if (granted) worker_release(self, ZK_KIND_UNSPECIFIED, *granted, 0);
        free(fresh);
        *out = job;
        return CUZK_OK;
    }
    cuzk_status status = read_job(fresh, self, check_digest, granted, trace, err);
    if (status == CUZK_OK)
        *out = fresh;
    else
        drop_job(self, fresh);
    return status;
}

static cuzk_status check_vanilla(worker_lane *self, const zk_job *job, zk_trace *trace, cuzk_err *err) {
    zk_span *span = zk_span_open_kernel(trace, "check input");
    cuzk_status status = zk_job_require(job, self->w->pool, err);
    zk_span_close(trace, span);
    return status;
}

cuzk_status worker_take_job(worker_lane *self, const char *job_id, bool check, zk_trace *trace, cuzk_err *err) {
    if (self->current && strcmp(self->current->id, job_id) == 0 && !check) return CUZK_OK;
    cuzk_status status = CUZK_OK;
    open_job *job = NULL;
    zk_span *span = zk_span_open(trace, "prepare");
    drop_job(self, self->current);
    self->current = NULL;
    ZK_GOTO(worker_stage(self, "prepare", err));
    ZK_GOTO(get_job(&job, self, job_id, check, NULL, trace, err));
    if (check) ZK_GOTO(check_vanilla(self, job->job, trace, err));
    self->current = job;
    job = NULL;
out:
    zk_span_close(trace, span);
    drop_job(self, job);
    return status;
}

/* ---- inputs ahead ---- */

/* How many private values a circuit takes that is loaded; 0: it is not. */
static size_t hints_of(worker_lane *self, const zk_job *job) {
    size_t n = 0;
    pthread_mutex_lock(&self->w->lock);
    for (const loaded *c = self->w->circuits; c; c = c->next)
        if (c->kind == job->kind && c->sector_bytes == job->sector_bytes) n = c->program->n_hints;
    pthread_mutex_unlock(&self->w->lock);
    return n;
}

/* Runs on the thread that looks ahead, or on main when that is quicker. Failures are left to whoever does it for real.
 */
static void fill_slot(void *ctx) {
    input_slot *slot = ctx;
    worker_lane *self = slot->lane;
    open_job *job = NULL;
    zk_progress_bind(self->progress); /* main may wait for it */
    pthread_mutex_lock(&self->w->lock);
    slot->state = SLOT_MAKING;
    pthread_mutex_unlock(&self->w->lock);
    cuzk_status status = get_job(&job, self, slot->job_id, false, &slot->granted, NULL, NULL);
    slot->granted = 0;
    size_t n_hints = status == CUZK_OK ? hints_of(self, job->job) : 0;
    bool made = n_hints && slot->partition < job->job->n_partitions &&
                zk_partition_input_make(&slot->input, job->job, n_hints, slot->partition, NULL) == CUZK_OK;
    if (!made) slot->input.n_hints = 0;
    pthread_mutex_lock(&self->w->lock);
    slot->job = job; /* also without inputs: it need not be read again */
    slot->state = job ? SLOT_READY : SLOT_FREE;
    pthread_mutex_unlock(&self->w->lock);
}

/* The slot is free afterwards. Its task must be idle. */
static void empty_slot(worker_lane *self, input_slot *slot) {
    open_job *job = slot->job;
    slot->job = NULL;
    pthread_mutex_lock(&self->w->lock);
    slot->state = SLOT_FREE;
    pthread_mutex_unlock(&self->w->lock);
    drop_job(self, job);
}

void worker_look_ahead(worker_lane *self, const zk_ipc_message *m) {
    input_slot *slot = NULL;
    pthread_mutex_lock(&self->w->lock);
    for (unsigned i = 0; self->ahead && i < self->n_slots; i++) {
        input_slot *s = &self->slots[i];
        bool better = !slot || (slot->state == SLOT_READY && (s->state == SLOT_FREE || s->asked_n < slot->asked_n));
        if ((s->state == SLOT_FREE || s->state == SLOT_READY) && better) slot = s;
    }
    open_job *old = slot ? slot->job : NULL;
    if (slot) {
        slot->job = NULL;
        slot->state = SLOT_ASKED;
        slot->asked_n = ++self->n_asked;
        slot->partition = m->partition;
        slot->granted = m->bytes;
        memcpy(slot->job_id, m->job_id, sizeof slot->job_id);
    }
    pthread_mutex_unlock(&self->w->lock);
    drop_job(self, old);
    if (!slot) {
        worker_release(self, ZK_KIND_UNSPECIFIED, m->bytes, 0);
        return;
    }
    zk_ahead_wait(self->ahead, &slot->task); /* its last steps */
    zk_ahead_start(self->ahead, &slot->task);
}

cuzk_status worker_input(const zk_partition_input **input, worker_lane *self, size_t n_hints, uint32_t partition,
                         cuzk_err *err) {
    input_slot *slot = NULL;
    pthread_mutex_lock(&self->w->lock);
    for (unsigned i = 0; i < self->n_slots; i++) {
        input_slot *s = &self->slots[i];
        if (s->state == SLOT_FREE || s->state == SLOT_USED || s->partition != partition) continue;
        if (strcmp(s->job_id, self->current->id) == 0) slot = s;
    }
    pthread_mutex_unlock(&self->w->lock);
    if (slot) {
        zk_ahead_wait(self->ahead, &slot->task);
        pthread_mutex_lock(&self->w->lock);
        bool ready = slot->state == SLOT_READY, good = ready && slot->input.n_hints == n_hints;
        if (ready) slot->state = SLOT_USED; /* the receiving thread leaves it alone */
        pthread_mutex_unlock(&self->w->lock);
        *input = &slot->input;
        if (good) return CUZK_OK;
        if (ready) empty_slot(self, slot);
    }
    *input = &self->own;
    return zk_partition_input_make(&self->own, self->current->job, n_hints, partition, err);
}

void worker_input_done(worker_lane *self, const zk_partition_input *input) {
    for (unsigned i = 0; i < self->n_slots; i++)
        if (input == &self->slots[i].input) empty_slot(self, &self->slots[i]);
}

void worker_forget_jobs(worker_lane *self) {
    for (unsigned i = 0; i < self->n_slots; i++) {
        input_slot *slot = &self->slots[i];
        if (self->ahead) zk_ahead_cancel(self->ahead, &slot->task);
        if (slot->state == SLOT_ASKED) worker_release(self, ZK_KIND_UNSPECIFIED, slot->granted, 0);
        if (slot->state != SLOT_FREE) empty_slot(self, slot);
    }
    drop_job(self, self->current);
    self->current = NULL;
}

void worker_jobs_start(worker_lane *self) {
    self->n_slots = self->w->options->lookahead ? self->w->options->lookahead + 2 : 0;
    for (unsigned i = 0; i < self->n_slots; i++) {
        input_slot *slot = &self->slots[i];
        slot->lane = self;
        slot->task = (zk_ahead_task){.run = fill_slot, .ctx = slot};
    }
}
