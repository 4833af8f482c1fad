/* The worker's own structures. A lane has a socket and threads: one that receives, one that does tasks ("main"), and
 * with `lookahead` one that opens jobs and makes inputs ahead. Of two lanes the second only proves, with what the first
 * has loaded. The lock guards jobs, slots and the list of circuits; the first lane's main alone changes the list and
 * reads it without the lock; the second's reads it between worker_join and worker_part. */
#ifndef ZK_ENGINE_WORKER_IMPL_H
#define ZK_ENGINE_WORKER_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/cancel.h"
#include "base/pool.h"
#include "base/progress.h"
#include "base/retire.h"
#include "engine/ipc.h"
#include "engine/worker.h"
#include "filecoin/ahead.h"
#include "groth16/prove.h"

/* A circuit with its keys and the workspace of a partition for each lane. */
typedef struct loaded {
    struct loaded *next;
    zk_proof_kind kind;
    uint64_t sector_bytes, bytes, host_bytes; /* reserved, for the keys and for inputs if those are elsewhere */
    uint64_t scratch_bytes;                   /* what its sums work with */
    zk_program *program;
    zk_resident_program *resident;
    zk_proving_key *key;
    zk_prover *provers[2]; /* of the lanes; the second may be NULL */
    uint64_t prover_bytes; /* of each, as planned */
    /* provers of the first lane that work together, the first of them provers[0]; 0: there are none */
    zk_prover *group[ZK_IPC_MAX_GROUP];
    unsigned n_group;
    bool has_multiples; /* of short lists of points, or they were not to be had */
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
    struct worker_lane *lane;
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

/* What the process has, for all lanes. */
typedef struct worker {
    const zk_worker_options *options;
    zk_backend *backend;
    bool on_cuda;
    zk_pool *pool;
    zk_retire *retire;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    loaded *circuits;
    uint64_t scratch_bytes; /* reserved: what sums over the largest of the circuits work with */
    open_job *jobs;
    worker_faults faults;
    struct worker_lane *lanes; /* [n_lanes] */
    zk_progress *progress;     /* [ZK_WORKER_MAX_LANES], shared with the daemon */
    unsigned n_lanes;
    zk_stream *stream;          /* of the second lane; NULL: there is one for now */
    uint64_t beside_bytes;      /* reserved of the device for the second lane */
    bool narrowed, beside_busy; /* the second lane begins nothing; it proves */
} worker;

/* One task after the other. */
typedef struct worker_lane {
    worker *w;
    unsigned index;
    int fd;
    zk_progress *progress; /* its signs */
    queue incoming;
    zk_cancel cancel;   /* of its task, where there are others */
    uint32_t partition; /* at hand */
    atomic_bool yield;  /* of those that are proved together no further one is begun */
    open_job *current;  /* main's, kept for its next partition */
    zk_ahead *ahead;    /* NULL: nothing is made ahead */
    input_slot slots[ZK_WORKER_MAX_LOOKAHEAD + 2];
    unsigned n_slots;
    uint64_t n_asked;
    zk_partition_input own; /* inputs that were not made ahead */
    pthread_t receiver, thread;
    bool receiving, running;
    bool fault_hit; /* a fault of a test is meant for the stage that it is in */
} worker_lane;

/* ---- worker.c ---- */
cuzk_status worker_next_message(zk_ipc_message *message, worker_lane *self, cuzk_err *err) ZK_MUST_USE;
cuzk_status worker_say(worker_lane *self, zk_ipc_message message, cuzk_err *err) ZK_MUST_USE;
/* A stage begins: the daemon is told, and the fault meant for it happens. Main only. */
cuzk_status worker_stage(worker_lane *self, const char *stage, cuzk_err *err) ZK_MUST_USE;

/* ---- worker_prove.c: main only ---- */
/* PROVE: one partition, or several where that is cheaper, the others told by PROVED. */
cuzk_status worker_prove(worker_lane *self, const zk_ipc_message *task, zk_ipc_message *done, zk_trace *trace,
                         cuzk_err *err) ZK_MUST_USE;

/* ---- worker_faults.c: for tests; nothing of it happens without zk_worker_options.fault ---- */
cuzk_status worker_faults_parse(worker_lane *self, const char *text, cuzk_err *err) ZK_MUST_USE;
/* The device's operations may fail or give wrong sums from now on, if that is asked for. */
void worker_faults_wrap(worker_lane *self);
/* A stage begins: the fault that is meant for it. */
cuzk_status worker_faults_stage(worker_lane *self, const char *stage, cuzk_err *err) ZK_MUST_USE;
/* Whether the proof that was just verified counts as wrong; and whether a wrong one is passed off as verified. */
bool worker_faults_wrong(const worker_lane *self);
bool worker_faults_lie(const worker_lane *self);

/* ---- worker_keys.c: main only ---- */
loaded *worker_find_circuit(worker_lane *self, zk_proof_kind kind, uint64_t sector_bytes);
/* plain: without the prepared key that may lie beside the parameter file. One that cannot be used is logged. */
cuzk_status worker_load(loaded **out, worker_lane *self, zk_proof_kind kind, uint64_t sector_bytes, bool plain,
                        zk_trace *trace, cuzk_err *err) ZK_MUST_USE;
/* Frees a circuit for good, then says so. */
cuzk_status worker_evict(worker_lane *self, zk_proof_kind kind, uint64_t sector_bytes, cuzk_err *err) ZK_MUST_USE;
void worker_unload_all(worker_lane *self);
/* After a task: no more than the circuits that are left need. */
void worker_settle_scratch(worker_lane *self);
/* Asks for memory and waits; the daemon may want keys evicted first. Kind UNSPECIFIED: host memory, for a job. */
cuzk_status worker_reserve(worker_lane *self, zk_proof_kind kind, uint64_t sector_bytes, uint64_t bytes,
                           uint64_t host_bytes, cuzk_err *err) ZK_MUST_USE;
void worker_release(worker_lane *self, zk_proof_kind kind, uint64_t bytes, uint64_t host_bytes);

/* ---- worker_lanes.c ---- */
/* Before keys are loaded or evicted: nobody but the caller uses the device, until worker_widen. CANCELLED: while it
 * waited. First lane only, as the next. */
cuzk_status worker_narrow(worker_lane *self, cuzk_err *err) ZK_MUST_USE;
/* After that: the second lane has provers again, as far as there is room, or the first one several for partitions
 * together; multiples of points take what is left. */
void worker_widen(worker_lane *self);
void worker_group_clear(loaded *circuit);
/* No more than n partitions together, and the daemon knows. */
cuzk_status worker_group_shrink(worker_lane *self, loaded *circuit, unsigned n, cuzk_err *err) ZK_MUST_USE;
/* A circuit for the second lane, until worker_part. EXHAUSTED: it has no prover for that now. */
cuzk_status worker_join(loaded **circuit, worker_lane *self, zk_proof_kind kind, uint64_t sector_bytes,
                        cuzk_err *err) ZK_MUST_USE;
void worker_part(worker_lane *self);
/* Before a proof: the lane's provers of other circuits hold no memory. */
void worker_rest_others(worker_lane *self, const loaded *circuit);

/* ---- worker_test_keys.c ---- */
/* For tests: the key of a program that is loaded, made from the toxic waste of the options. The parameter file has to
 * be empty, and gets the verifying key, by which the daemon verifies. */
cuzk_status worker_generate_key(loaded *c, worker_lane *self, zk_key_form form, zk_trace *trace,
                                cuzk_err *err) ZK_MUST_USE;

/* ---- worker_jobs.c ---- */
/* The job becomes the current one. `check`: its digest, and its vanilla proof. Main only. */
cuzk_status worker_take_job(worker_lane *self, const char *job_id, bool check, zk_trace *trace,
                            cuzk_err *err) ZK_MUST_USE;
/* Nothing is kept for the next task. Main only. */
void worker_forget_jobs(worker_lane *self);
/* Makes the slots ready, before anything else. */
void worker_jobs_start(worker_lane *self);
/* Inputs of a partition of the current job: made ahead, or now. Valid until worker_input_done. Main only. */
cuzk_status worker_input(const zk_partition_input **input, worker_lane *self, size_t n_hints, uint32_t partition,
                         cuzk_err *err) ZK_MUST_USE;
void worker_input_done(worker_lane *self, const zk_partition_input *input);
/* The daemon says what will probably come next. From the receiving thread. */
void worker_look_ahead(worker_lane *self, const zk_ipc_message *message);

#endif
