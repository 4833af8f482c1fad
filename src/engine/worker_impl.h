/* The worker's own structures. Threads: one that receives, one that does tasks ("main"), and with `lookahead` one that
 * opens jobs and makes inputs ahead. The lock guards jobs, slots and the list of circuits; main alone changes the list
 * and reads it without the lock. */
#ifndef ZK_ENGINE_WORKER_IMPL_H
#define ZK_ENGINE_WORKER_IMPL_H

#include <pthread.h>

#include "base/pool.h"
#include "base/retire.h"
#include "engine/ipc.h"
#include "engine/worker.h"
#include "filecoin/ahead.h"
#include "groth16/prove.h"

/* A circuit with its keys and the workspace of one partition. */
typedef struct loaded {
    struct loaded *next;
    zk_proof_kind kind;
    uint64_t sector_bytes, bytes, host_bytes; /* reserved, for the keys and for inputs if those are elsewhere */
    uint64_t scratch_bytes;                   /* what its sums work with */
    zk_program *program;
    zk_resident_program *resident;
    zk_proving_key *key;
    zk_prover *prover;
} loaded;

/* A job read from its spool file, shared by those who work on it. */
typedef struct open_job {
    struct open_job *next;
    char id[ZK_JOB_ID_BYTES];
    zk_job *job;    /* NULL while it is being read */
    uint64_t bytes; /* reserved */
    unsigned refs;
} open_job;

typedef enum slot_state { SLOT_FREE, SLOT_ASKED, SLOT_MAKING, SLOT_READY, SLOT_USED } slot_state;

/* The inputs of a partition, made ahead. */
typedef struct input_slot {
    struct worker *worker;
    slot_state state;
    char job_id[ZK_JOB_ID_BYTES];
    uint32_t partition;
    uint64_t granted; /* bytes that the daemon reserved for the job */
    uint64_t asked_n; /* order of asking */
    open_job *job;
    zk_partition_input input;
    zk_ahead_task task;
} input_slot;

typedef struct queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    zk_ipc_message messages[8]; /* the daemon sends one task and few answers ahead */
    unsigned first, n;
    bool gone;
} queue;

/* For tests: one fault at a place that is named, or (what[0] is 0 and `random`) faults at random. */
typedef struct worker_faults {
    char what[16], stage[ZK_STAGE_NAME_BYTES];
    unsigned n, seen;
    bool always, random;
    double alloc, device, crash, wrong, lie; /* probabilities, see worker.h */
} worker_faults;

typedef struct worker {
    const zk_worker_options *options;
    queue incoming;
    zk_backend *backend;
    bool on_cuda;
    zk_pool *pool;
    zk_retire *retire;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    loaded *circuits;
    uint64_t scratch_bytes; /* reserved: what sums over the largest of the circuits work with */
    open_job *jobs;
    open_job *current; /* main's, kept for its next partition */
    zk_ahead *ahead;   /* NULL: nothing is made ahead */
    input_slot slots[ZK_WORKER_MAX_LOOKAHEAD + 2];
    unsigned n_slots;
    uint64_t n_asked;
    zk_partition_input own; /* inputs that were not made ahead */
    worker_faults faults;
} worker;

/* ---- worker.c ---- */
cuzk_status worker_next_message(zk_ipc_message *message, worker *self, cuzk_err *err) ZK_MUST_USE;
cuzk_status worker_say(worker *self, zk_ipc_message message, cuzk_err *err) ZK_MUST_USE;
/* A stage begins: the daemon is told, and the fault meant for it happens. Main only. */
cuzk_status worker_stage(worker *self, const char *stage, cuzk_err *err) ZK_MUST_USE;

/* ---- worker_faults.c: for tests; nothing of it happens without zk_worker_options.fault ---- */
cuzk_status worker_faults_parse(worker *self, const char *text, cuzk_err *err) ZK_MUST_USE;
/* The device's operations may fail or give wrong sums from now on, if that is asked for. */
void worker_faults_wrap(worker *self);
/* A stage begins: the fault that is meant for it. */
cuzk_status worker_faults_stage(worker *self, const char *stage, cuzk_err *err) ZK_MUST_USE;
/* Whether the proof that was just verified counts as wrong; and whether a wrong one is passed off as verified. */
bool worker_faults_wrong(const worker *self);
bool worker_faults_lie(worker *self);

/* ---- worker_keys.c: main only ---- */
loaded *worker_find_circuit(worker *self, zk_proof_kind kind, uint64_t sector_bytes);
/* plain: without the prepared key that may lie beside the parameter file. One that cannot be used is logged. */
cuzk_status worker_load(loaded **out, worker *self, zk_proof_kind kind, uint64_t sector_bytes, bool plain,
                        zk_trace *trace, cuzk_err *err) ZK_MUST_USE;
/* Frees a circuit for good, then says so. */
cuzk_status worker_evict(worker *self, zk_proof_kind kind, uint64_t sector_bytes, uint64_t *freed,
                         cuzk_err *err) ZK_MUST_USE;
void worker_unload_all(worker *self);
/* After a task: no more than the circuits that are left need. */
void worker_settle_scratch(worker *self);
/* Asks for memory and waits; the daemon may want keys evicted first. Kind UNSPECIFIED: host memory, for a job. */
cuzk_status worker_reserve(worker *self, zk_proof_kind kind, uint64_t sector_bytes, uint64_t bytes, uint64_t host_bytes,
                           cuzk_err *err) ZK_MUST_USE;
void worker_release(worker *self, zk_proof_kind kind, uint64_t bytes, uint64_t host_bytes);

/* ---- worker_jobs.c ---- */
/* The job becomes the current one. `check`: its digest, and its vanilla proof. Main only. */
cuzk_status worker_take_job(worker *self, const char *job_id, bool check, zk_trace *trace, cuzk_err *err) ZK_MUST_USE;
/* Nothing is kept for the next task. Main only. */
void worker_forget_jobs(worker *self);
/* Makes the slots ready, before anything else. */
void worker_jobs_start(worker *self);
/* Inputs of a partition of the current job: made ahead, or now. Valid until worker_input_done. Main only. */
cuzk_status worker_input(const zk_partition_input **input, worker *self, size_t n_hints, uint32_t partition,
                         cuzk_err *err) ZK_MUST_USE;
void worker_input_done(worker *self, const zk_partition_input *input);
/* The daemon says what will probably come next. From the receiving thread. */
void worker_look_ahead(worker *self, const zk_ipc_message *message);

#endif
