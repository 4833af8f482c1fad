/* Partitions, proved by a worker: one, or several of a job together. Where the points of bits are streamed to the
 * device they come once for all of those: one after the other gets as far as its sums over full points, then the sums
 * over bits are made, then each is finished (groth16/prove.h). */
#include <inttypes.h>
#include <string.h>

#include "base/span.h"
#include "engine/worker_impl.h"

/* ---- stages ---- */

static void count_stage(zk_ipc_message *done, zk_prove_stage_id stage, uint64_t ns) {
    done->stage_ns[stage] += ns;
    *(stage <= ZK_PROVE_SYNTHESIZE ? &done->synth_ns : &done->gpu_ns) += ns;
}

/* full_only: of the stage msm the sums over full points alone. */
static cuzk_status run_stage(worker_lane *self, zk_prover *prover, zk_prove_stage_id stage, bool full_only,
                             zk_ipc_message *done, zk_trace *trace, cuzk_err *err) {
    uint64_t start = zk_now_ns();
    ZK_TRY(worker_stage(self, zk_prove_stage_name(stage), err));
    cuzk_status status = full_only ? zk_prove_full(prover, trace, err) : zk_prove_stage(prover, stage, trace, err);
    if (stage == ZK_PROVE_VERIFY) {
        if (status == CUZK_OK && worker_faults_wrong(self))
            status = ZK_FAIL(err, CUZK_INTERNAL, "wrong proof of a test");
        done->wrong_proof = status == CUZK_INTERNAL;
        memcpy(done->proof, zk_prove_result(prover), sizeof done->proof);
        if (status == CUZK_OK && worker_faults_lie(self))
            done->proof[0] ^= 0x20; /* -A in place of A: well encoded, and wrong */
    }
    count_stage(done, stage, zk_now_ns() - start);
    return status;
}

/* Takes the inputs of a partition and begins with it, up to `last`. Inputs are of no use after synthesis. */
static cuzk_status begin(worker_lane *self, const loaded *c, zk_prover *prover, zk_prove_stage_id last, bool full_only,
                         zk_ipc_message *done, zk_trace *trace, cuzk_err *err) {
    const zk_partition_input *input = NULL;
    self->partition = done->partition;
    zk_span *span = zk_span_open_kernel(trace, "inputs"); /* what was not made ahead */
    cuzk_status status = worker_input(&input, self, c->program->n_hints, done->partition, err);
    zk_span_close(trace, span);
    done->input_ahead = input != &self->own;
    if (status == CUZK_OK) {
        zk_prove_request request = {
            .hints = (const uint8_t(*)[32])input->hints,
            .n_hints = input->n_hints,
            .publics = (const uint8_t(*)[32])input->publics,
            .n_publics = self->current->job->n_publics,
            .blinding = self->w->options->blinding,
        };
        zk_prove_begin(prover, &request);
    }
    for (unsigned i = 0; i <= (unsigned)last && status == CUZK_OK; i++)
        status = run_stage(self, prover, (zk_prove_stage_id)i, full_only && i == ZK_PROVE_MSM, done, trace, err);
    worker_input_done(self, input);
    return status;
}

/* ---- one ---- */

static cuzk_status prove_one(worker_lane *self, const loaded *c, zk_ipc_message *done, zk_trace *trace, cuzk_err *err) {
    return begin(self, c, c->provers[self->index], ZK_PROVE_VERIFY, false, done, trace, err);
}

/* ---- several ---- */

/* The inputs of what comes next in a group are made meanwhile; its job is open. */
static void look_ahead(worker_lane *self, const zk_ipc_message *task, unsigned next) {
    zk_ipc_message m = {.type = ZK_IPC_AHEAD, .partition = task->more[next]};
    memcpy(m.job_id, task->job_id, sizeof m.job_id);
    worker_look_ahead(self, &m);
}

/* Members one after the other up to their sums over full points. One for which there is no memory is left out, and
 * those after it; *n: those that were begun. After a failure *failed is to blame. */
static cuzk_status begin_members(zk_ipc_message members[], unsigned *n, worker_lane *self, loaded *c,
                                 const zk_ipc_message *task, zk_trace *trace, cuzk_err *err) {
    unsigned most = 1 + task->n_more < c->n_group ? 1 + task->n_more : c->n_group;
    zk_ipc_message common = members[0];
    for (*n = 0; *n < most && (*n == 0 || !self->yield); ++*n) {
        zk_ipc_message *done = &members[*n];
        *done = common;
        done->partition = *n ? task->more[*n - 1] : task->partition;
        done->already_loaded = common.already_loaded || *n;
        if (*n) done->srs_load_ns = 0;
        if (*n + 1 < most) look_ahead(self, task, *n);
        zk_span *span = zk_span_open(trace, "partition");
        cuzk_status status = begin(self, c, c->group[*n], ZK_PROVE_MSM, true, done, trace, err);
        zk_span_close(trace, span);
        if (status == CUZK_OUT_OF_MEMORY && *n) {
            zk_err_reset(err);
            return worker_group_shrink(self, c, *n, err);
        }
        ZK_TRY(status);
    }
    return CUZK_OK;
}

static cuzk_status finish(worker_lane *self, zk_prover *prover, zk_ipc_message *done, zk_trace *trace, cuzk_err *err) {
    self->partition = done->partition;
    ZK_TRY(run_stage(self, prover, ZK_PROVE_ASSEMBLE, false, done, trace, err));
    return run_stage(self, prover, ZK_PROVE_VERIFY, false, done, trace, err);
}

/* All but the first are told one by one; what is returned, in *done, is of the first, or of one that failed. */
static cuzk_status prove_together(worker_lane *self, loaded *c, const zk_ipc_message *task, zk_ipc_message *done,
                                  zk_trace *trace, cuzk_err *err) {
    zk_ipc_message members[ZK_IPC_MAX_GROUP];
    unsigned n, at = 0;
    cuzk_status status = CUZK_OK;
    members[0] = *done;
    status = begin_members(members, &n, self, c, task, trace, err);
    if (status != CUZK_OK) at = n;
    uint64_t start = zk_now_ns();
    if (status == CUZK_OK) status = zk_prove_bits(c->group, n, &at, trace, err);
    uint64_t each = (zk_now_ns() - start) / (n ? n : 1);
    if (status == CUZK_OK)
        for (unsigned i = 0; i < n; i++) count_stage(&members[i], ZK_PROVE_MSM, each);
    for (unsigned left = n; left-- > 0 && status == CUZK_OK;) {
        at = left;
        status = finish(self, c->group[at], &members[at], trace, err);
        if (status != CUZK_OK || !at) break;
        members[at].type = ZK_IPC_PROVED;
        status = worker_say(self, members[at], err);
    }
    *done = members[at];
    done->type = ZK_IPC_DONE;
    return status;
}

/* ---- a task ---- */

static cuzk_status check_partitions(const zk_ipc_message *task, uint32_t n_partitions, cuzk_err *err) {
    if (task->n_more > ZK_IPC_MAX_GROUP - 1)
        return ZK_FAIL(err, CUZK_INTERNAL, "%" PRIu32 " partitions together", task->n_more + 1);
    for (uint32_t i = 0; i <= task->n_more; i++) {
        uint32_t partition = i ? task->more[i - 1] : task->partition;
        if (partition >= n_partitions)
            return ZK_FAIL(err, CUZK_INTERNAL, "partition %" PRIu32 " of %" PRIu32, partition, n_partitions);
    }
    return CUZK_OK;
}

cuzk_status worker_prove(worker_lane *self, const zk_ipc_message *task, zk_ipc_message *done, zk_trace *trace,
                         cuzk_err *err) {
    loaded *c = NULL;
    self->partition = task->partition;
    ZK_TRY(worker_take_job(self, task->job_id, false, trace, err));
    const zk_job *job = self->current->job;
    ZK_TRY(check_partitions(task, job->n_partitions, err));
    const uint64_t start = zk_now_ns();
    if (self->index) {
        ZK_TRY(worker_join(&c, self, job->kind, job->sector_bytes, err));
        done->already_loaded = true;
    } else {
        done->already_loaded = worker_find_circuit(self, job->kind, job->sector_bytes) != NULL;
        ZK_TRY(worker_load(&c, self, job->kind, job->sector_bytes, task->plain, trace, err));
        done->srs_load_ns = zk_now_ns() - start;
    }
    done->prepared = c->key->form == ZK_KEY_PREPARED;
    worker_rest_others(self, c);
    cuzk_status status = task->n_more && c->n_group > 1 ? prove_together(self, c, task, done, trace, err)
                                                        : prove_one(self, c, done, trace, err);
    if (self->index) worker_part(self);
    return status;
}
