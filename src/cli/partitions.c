#include "cli/partitions.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

enum { N_SLOTS = CLI_MAX_LANES + 1 }; /* partitions whose inputs are in memory: those in hand and the next */

typedef struct slot {
    uint8_t (*hints)[32], (*publics)[32];
    bool full;
} slot;

/* One thread makes inputs, in order; each lane takes the next that is there. */
typedef struct partition_run {
    const cli_partitions *work;
    cli_prover *prover;
    uint8_t *proofs;
    slot slots[N_SLOTS];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t made, taken; /* partitions */
    bool stop, checked;
    cuzk_status status, check_status; /* the first failure; the vanilla proof */
    cuzk_err err, check_err;
} partition_run;

typedef struct lane_run {
    partition_run *run;
    unsigned lane;
} lane_run;

/* The first failure counts, and ends the run. */
static void fail(partition_run *run, uint32_t partition, cuzk_status status, cuzk_err *err) {
    pthread_mutex_lock(&run->lock);
    if (run->status == CUZK_OK) {
        zk_err_prefix(err, "partition %" PRIu32, partition);
        run->status = status;
        run->err = *err;
    }
    run->stop = true;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
}

static void check(partition_run *run) {
    if (!run->work->check) return;
    cuzk_status status = zk_job_require(run->work->job, run->prover->pool, &run->check_err);
    pthread_mutex_lock(&run->lock);
    run->check_status = status;
    run->checked = true;
    run->stop = run->stop || status != CUZK_OK;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
}

/* What failed may follow from a vanilla proof that does not hold, which says more. */
static bool of_input(cuzk_status status) {
    return status == CUZK_OK || cuzk_status_classify(status) == CUZK_CLASS_INPUT;
}
static bool wants_check(partition_run *run) {
    pthread_mutex_lock(&run->lock);
    bool wanted = !run->checked && of_input(run->status);
    pthread_mutex_unlock(&run->lock);
    return wanted;
}

/* Waits for the slot of partition i to be free; false: the run ends. */
static bool await_slot(partition_run *run, uint32_t i) {
    pthread_mutex_lock(&run->lock);
    while (run->slots[i % N_SLOTS].full && !run->stop) pthread_cond_wait(&run->changed, &run->lock);
    bool go = !run->stop;
    pthread_mutex_unlock(&run->lock);
    return go;
}

static void *make_inputs(void *ctx) {
    partition_run *run = ctx;
    const cli_partitions *work = run->work;
    uint32_t first = work->n < run->prover->n_lanes ? work->n : run->prover->n_lanes;
    for (uint32_t i = 0; i < work->n && await_slot(run, i); i++) {
        slot *to = &run->slots[i % N_SLOTS];
        cuzk_err err = {0};
        cuzk_status status = zk_job_hints(to->hints, work->program->n_hints, work->job, work->first + i, &err);
        if (status != CUZK_OK) {
            fail(run, work->first + i, status, &err);
            break;
        }
        zk_job_publics(to->publics, work->job, work->first + i);
        pthread_mutex_lock(&run->lock);
        to->full = true;
        run->made = i + 1;
        pthread_cond_broadcast(&run->changed);
        pthread_mutex_unlock(&run->lock);
        if (i + 1 == first) check(run); /* each lane has something to do */
    }
    if (wants_check(run)) check(run);
    return NULL;
}

/* The next partition whose inputs are there; false: none is left. */
static bool take_partition(uint32_t *i, partition_run *run) {
    pthread_mutex_lock(&run->lock);
    while (!run->stop && run->taken < run->work->n && run->taken == run->made)
        pthread_cond_wait(&run->changed, &run->lock);
    bool go = !run->stop && run->taken < run->work->n;
    if (go) *i = run->taken++;
    pthread_mutex_unlock(&run->lock);
    return go;
}

static zk_prove_request request_of(const partition_run *run, uint32_t i) {
    const cli_partitions *work = run->work;
    const slot *from = &run->slots[i % N_SLOTS];
    return (zk_prove_request){
        .hints = (const uint8_t(*)[32])from->hints,
        .n_hints = work->program->n_hints,
        .publics = (const uint8_t(*)[32])from->publics,
        .n_publics = work->job->n_publics,
        .blinding = work->blinding ? &work->blinding[work->first + i] : NULL,
    };
}

static void free_slot(partition_run *run, uint32_t i) {
    pthread_mutex_lock(&run->lock);
    run->slots[i % N_SLOTS].full = false;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
}

enum { LABEL_BYTES = 48 };
static void label_of(char label[LABEL_BYTES], const partition_run *run, uint32_t i) {
    snprintf(label, LABEL_BYTES, "partition %" PRIu32 " of %" PRIu32, i + 1, run->work->n);
}

static uint8_t *proof_of(const partition_run *run, uint32_t i) { return run->proofs + (size_t)i * ZK_PROOF_BYTES; }

/* The inputs of the next partition, timed: what could not be made ahead. */
static bool await_partition(uint32_t *i, partition_run *run, zk_trace *trace) {
    zk_span *span = zk_span_open_kernel(trace, "inputs");
    bool go = take_partition(i, run);
    zk_span_close(trace, span);
    return go;
}

static void *run_lane(void *ctx) {
    const lane_run *lane = ctx;
    partition_run *run = lane->run;
    zk_trace *trace = run->prover->lane_traces[lane->lane];
    uint32_t i;
    while (await_partition(&i, run, trace)) {
        cuzk_err err = {0};
        char label[LABEL_BYTES];
        zk_prove_request request = request_of(run, i);
        label_of(label, run, i);
        zk_span *span = zk_span_open(trace, "partition");
        cuzk_status status = cli_lane_prove(proof_of(run, i), run->prover, lane->lane, &request, label, &err);
        free_slot(run, i);
        zk_span_close(trace, span);
        if (status != CUZK_OK) fail(run, run->work->first + i, status, &err);
    }
    return NULL;
}

/* Partitions `members` of a group, from their sums over bits on. False: one failed. */
static bool finish_group(partition_run *run, const uint32_t *members, unsigned n) {
    cuzk_err err = {0};
    unsigned failed;
    zk_span *span = zk_span_open(run->prover->trace, "partitions together");
    cuzk_status status = cli_group_bits(run->prover, n, &failed, &err);
    for (unsigned k = 0; k < n && status == CUZK_OK; k++) {
        failed = k;
        status = cli_group_finish(proof_of(run, members[k]), run->prover, k, &err);
    }
    zk_span_close(run->prover->trace, span);
    if (status != CUZK_OK) fail(run, run->work->first + members[failed], status, &err);
    return status == CUZK_OK;
}

/* One after the other up to the sums over bits, then those of all. */
static void run_groups(partition_run *run) {
    cli_prover *prover = run->prover;
    uint32_t members[CLI_MAX_GROUP];
    unsigned n;
    bool go;
    do {
        uint32_t i;
        for (n = 0; n < prover->n_group && await_partition(&i, run, prover->trace); n++) {
            cuzk_err err = {0};
            char label[LABEL_BYTES];
            zk_prove_request request = request_of(run, i);
            label_of(label, run, i);
            zk_span *span = zk_span_open(prover->trace, "partition");
            cuzk_status status = cli_group_begin(prover, n, &request, label, &err);
            free_slot(run, i);
            zk_span_close(prover->trace, span);
            members[n] = i;
            if (status == CUZK_OK) continue;
            fail(run, run->work->first + i, status, &err);
            return;
        }
        pthread_mutex_lock(&run->lock);
        go = n && !run->stop;
        pthread_mutex_unlock(&run->lock);
    } while (go && finish_group(run, members, n) && n == prover->n_group);
}

static cuzk_status make_slots(partition_run *run, cuzk_err *err) {
    for (unsigned i = 0; i < N_SLOTS; i++) {
        run->slots[i].hints = zk_malloc((size_t)run->work->program->n_hints * 32);
        run->slots[i].publics = zk_malloc((size_t)run->work->job->n_publics * 32);
        if (!run->slots[i].hints || !run->slots[i].publics)
            return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the input of a partition");
    }
    return CUZK_OK;
}

/* All lanes, the first on this thread. A lane whose thread cannot be started leaves its work to the others. */
static void run_lanes(partition_run *run) {
    if (run->prover->n_group) {
        run_groups(run);
        return;
    }
    lane_run lanes[CLI_MAX_LANES];
    pthread_t threads[CLI_MAX_LANES];
    bool started[CLI_MAX_LANES] = {false};
    for (unsigned i = 0; i < run->prover->n_lanes; i++) {
        lanes[i] = (lane_run){run, i};
        if (i) started[i] = pthread_create(&threads[i], NULL, run_lane, &lanes[i]) == 0;
    }
    run_lane(&lanes[0]);
    for (unsigned i = 1; i < run->prover->n_lanes; i++)
        if (started[i]) pthread_join(threads[i], NULL);
}

static cuzk_status outcome(partition_run *run, cuzk_err *err) {
    if (run->checked && run->check_status != CUZK_OK && of_input(run->status)) {
        if (err) *err = run->check_err;
        return run->check_status;
    }
    if (run->status != CUZK_OK && err) *err = run->err;
    return run->status;
}

cuzk_status cli_partitions_prove(uint8_t *proofs, cli_prover *prover, const cli_partitions *work, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    partition_run run = {.work = work, .prover = prover, .proofs = proofs};
    pthread_t maker;
    pthread_mutex_init(&run.lock, NULL);
    pthread_cond_init(&run.changed, NULL);
    ZK_GOTO(make_slots(&run, err));
    if (pthread_create(&maker, NULL, make_inputs, &run) != 0)
        ZK_GOTO(ZK_FAIL(err, CUZK_EXHAUSTED, "no thread to prepare partitions"));
    run_lanes(&run);
    pthread_join(maker, NULL);
    status = outcome(&run, err);
out:
    for (unsigned i = 0; i < N_SLOTS; i++) {
        free(run.slots[i].hints);
        free(run.slots[i].publics);
    }
    pthread_mutex_destroy(&run.lock);
    pthread_cond_destroy(&run.changed);
    return status;
}
