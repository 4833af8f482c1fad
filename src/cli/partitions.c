#include "cli/partitions.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

enum { N_SLOTS = 2 }; /* partitions whose inputs are in memory: the one in hand and the next */

typedef struct slot {
    uint8_t (*hints)[32], (*publics)[32];
} slot;

/* The second thread makes inputs ahead of the prover. */
typedef struct feeder {
    const cli_partitions *work;
    zk_pool *pool;
    slot slots[N_SLOTS];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t made, used; /* partitions */
    bool checked, stop;
    cuzk_status status, check_status;
    cuzk_err err, check_err;
} feeder;

cuzk_status cli_job_check(const zk_job *job, zk_pool *pool, cuzk_err *err) {
    zk_job_failure failure;
    cuzk_status status = zk_job_check(&failure, job, pool, err);
    if (status != CUZK_CHECK_FAILED) return status;
    if (err) err->status = CUZK_BAD_INPUT;
    zk_err_prefix(err, "the vanilla proof does not hold (check %s)", failure.check);
    return CUZK_BAD_INPUT;
}

static void check(feeder *f) {
    cuzk_status status = f->work->check ? cli_job_check(f->work->job, f->pool, &f->check_err) : CUZK_OK;
    pthread_mutex_lock(&f->lock);
    f->check_status = status;
    f->checked = true;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void *feed(void *ctx) {
    feeder *f = ctx;
    const cli_partitions *work = f->work;
    for (uint32_t i = 0; i < work->n; i++) {
        pthread_mutex_lock(&f->lock);
        while (i - f->used >= N_SLOTS && !f->stop) pthread_cond_wait(&f->changed, &f->lock);
        bool stop = f->stop;
        pthread_mutex_unlock(&f->lock);
        if (stop) break;
        const slot *to = &f->slots[i % N_SLOTS];
        cuzk_status status = zk_job_hints(to->hints, work->program->n_hints, work->job, work->first + i, &f->err);
        zk_job_publics(to->publics, work->job, work->first + i);
        pthread_mutex_lock(&f->lock);
        f->status = status;
        f->made = i + 1;
        pthread_cond_broadcast(&f->changed);
        pthread_mutex_unlock(&f->lock);
        if (i == 0) check(f);
        if (status != CUZK_OK) break;
    }
    return NULL;
}

/* Waits until the inputs of partition i are there. */
static cuzk_status await_inputs(feeder *f, uint32_t i, cuzk_err *err) {
    pthread_mutex_lock(&f->lock);
    while (f->made <= i) pthread_cond_wait(&f->changed, &f->lock);
    cuzk_status status = f->made == i + 1 ? f->status : CUZK_OK;
    if (status != CUZK_OK && err) *err = f->err;
    pthread_mutex_unlock(&f->lock);
    return status;
}

static void release_inputs(feeder *f) {
    pthread_mutex_lock(&f->lock);
    f->used++;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

/* What the check says, now (OK while it runs) or at its end. */
static cuzk_status check_result(feeder *f, bool wait, cuzk_err *err) {
    pthread_mutex_lock(&f->lock);
    while (wait && !f->checked) pthread_cond_wait(&f->changed, &f->lock);
    cuzk_status status = f->checked ? f->check_status : CUZK_OK;
    if (status != CUZK_OK && err) *err = f->check_err;
    pthread_mutex_unlock(&f->lock);
    return status;
}

static cuzk_status prove_one(uint8_t *proof, cli_prover *prover, feeder *f, uint32_t i, cuzk_err *err) {
    const cli_partitions *work = f->work;
    const slot *from = &f->slots[i % N_SLOTS];
    uint32_t k = work->first + i;
    zk_span *span = zk_span_open_kernel(prover->trace, "inputs"); /* what could not be made ahead */
    cuzk_status status = await_inputs(f, i, err);
    zk_span_close(prover->trace, span);
    if (status == CUZK_OK) {
        zk_prove_request request = {
            .hints = (const uint8_t(*)[32])from->hints,
            .n_hints = work->program->n_hints,
            .publics = (const uint8_t(*)[32])from->publics,
            .n_publics = work->job->n_publics,
            .blinding = work->blinding ? &work->blinding[k] : NULL,
        };
        char label[48];
        snprintf(label, sizeof label, "partition %" PRIu32 " of %" PRIu32, i + 1, work->n);
        status = cli_prover_prove(proof, prover, &request, label, err);
    }
    if (status != CUZK_OK) zk_err_prefix(err, "partition %" PRIu32, k);
    return status;
}

static cuzk_status prove_all(uint8_t *proofs, cli_prover *prover, feeder *f, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    for (uint32_t i = 0; i < f->work->n && status == CUZK_OK; i++) {
        zk_span *span = zk_span_open(prover->trace, "partition");
        status = prove_one(proofs + (size_t)i * ZK_PROOF_BYTES, prover, f, i, err);
        zk_span_close(prover->trace, span);
        release_inputs(f);
        if (status == CUZK_OK) status = check_result(f, false, err);
    }
    if (status == CUZK_OK || cuzk_status_classify(status) == CUZK_CLASS_INPUT) {
        cuzk_status checked = check_result(f, true, err);
        if (checked != CUZK_OK) status = checked;
    }
    return status;
}

static cuzk_status make_slots(feeder *f, cuzk_err *err) {
    for (unsigned i = 0; i < N_SLOTS; i++) {
        f->slots[i].hints = zk_malloc((size_t)f->work->program->n_hints * 32);
        f->slots[i].publics = zk_malloc((size_t)f->work->job->n_publics * 32);
        if (!f->slots[i].hints || !f->slots[i].publics)
            return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the input of a partition");
    }
    return CUZK_OK;
}

cuzk_status cli_partitions_prove(uint8_t *proofs, cli_prover *prover, const cli_partitions *work, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    feeder f = {.work = work, .pool = prover->pool};
    pthread_t thread;
    pthread_mutex_init(&f.lock, NULL);
    pthread_cond_init(&f.changed, NULL);
    ZK_GOTO(make_slots(&f, err));
    if (pthread_create(&thread, NULL, feed, &f) != 0)
        ZK_GOTO(ZK_FAIL(err, CUZK_EXHAUSTED, "no thread to prepare partitions"));
    status = prove_all(proofs, prover, &f, err);
    pthread_mutex_lock(&f.lock);
    f.stop = true;
    pthread_cond_broadcast(&f.changed);
    pthread_mutex_unlock(&f.lock);
    pthread_join(thread, NULL);
out:
    for (unsigned i = 0; i < N_SLOTS; i++) {
        free(f.slots[i].hints);
        free(f.slots[i].publics);
    }
    pthread_mutex_destroy(&f.lock);
    pthread_cond_destroy(&f.changed);
    return status;
}
