/* The engine's own structures.
 *
 * Threads: one for each lane, the daemon's side of a worker (lane.c); for housekeeping (engine.c); for key files in
 * host memory (warm.c); for the news of a fleet (fleet.c); and whoever calls.
 *
 * Locks, in the order in which one thread may take them: submit_lock, publics_lock, lock. `lock` guards all that is
 * here but options, journal, digests and the number of lanes and devices, which stay as they are from the first thread
 * on, and what is atomic. It is never held over input/output, the journal or a call out, apart from what /proc has of a
 * process and the goodbye to a worker without work. At each function stands whether it needs the lock, or is called
 * without it. One that gives it up meanwhile leaves nothing certain that was looked at before, except what is held: a
 * job by engine_job_hold, a task by the lane whose it is. */
#ifndef ZK_ENGINE_IMPL_H
#define ZK_ENGINE_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/cond.h"
#include "base/progress.h"
#include "engine/engine.h"
#include "engine/ipc.h"
#include "engine/journal.h"
#include "engine/stall.h"
#include "engine/worker.h"

typedef struct engine_job engine_job;
typedef struct engine_lane engine_lane;
typedef struct engine_vk engine_vk; /* a verifying key, in proofs.c */

struct zk_watch {
    zk_watch *next;
    zk_watch_fn fn;
    void *ctx;
};

typedef struct engine_partition {
    zk_partition_state state;
    bool taken; /* by a lane */
    int lane;
    uint32_t attempts;
    uint64_t stage_start_ns, synth_start_ns, gpu_start_ns, synth_ns, gpu_ns;
    uint64_t not_before_ns;                /* after a failure for lack of a resource */
    const struct engine_device *failed_on; /* the device of the last try that failed, and when; NULL: none */
    uint64_t failed_ns;
    bool unwritten; /* done, but the journal could not be told; for a shared one it is told later */
    uint64_t srs_load_ns;
} engine_partition;

/* The check of a vanilla proof, where it is a task of its own. */
typedef enum engine_check { CHECK_DONE, CHECK_TODO, CHECK_TAKEN } engine_check;

typedef enum engine_job_phase {
    ENGINE_NEW, /* content not looked at yet */
    ENGINE_PREPARING,
    ENGINE_READY,     /* partitions are known */
    ENGINE_ENDING,    /* outcome decided, the journal is being told */
    ENGINE_UNWRITTEN, /* outcome known to watchers, the journal could not be told yet */
    ENGINE_OVER
} engine_job_phase;

struct engine_job {
    zk_content_meta meta;
    uint64_t file_bytes;
    char request_id[ZK_REQUEST_ID_MAX_BYTES + 1];
    char circuit_id[ZK_CIRCUIT_ID_BYTES];
    zk_priority priority;
    engine_job_phase phase;
    unsigned refs;                    /* the list, lanes, calls in progress */
    uint64_t accepted_ns, started_ns; /* monotonic; started 0: not yet */
    uint32_t prepare_attempts;
    uint64_t prepare_not_before_ns;
    engine_check check;
    uint32_t check_attempts;
    uint64_t check_not_before_ns;
    cuzk_err held_failure; /* of a partition that failed while the check runs, which may say why */
    uint32_t n_partitions, n_done;
    engine_partition *partitions;
    uint8_t (*proofs)[ZK_PROOF_BYTES];
    uint8_t (*publics)[32]; /* [n_partitions][n_publics], once the first proof is there; never changed after */
    uint32_t n_publics;
    bool recovered; /* partitions of the journal are to be taken over once their number is known */
    uint64_t srs_load_ns, synth_ns, gpu_ns;
    zk_watch *watches;
    zk_result result; /* from ENDING on */
    uint64_t retry_end_ns;
    uint64_t not_before_ns; /* shared journal: nothing of it is free, or not for this engine */
    bool elsewhere;         /* its content has not been fetched */
    unsigned sync;          /* round in which a shared journal had it last */
};

typedef struct engine_circuit {
    zk_proof_kind kind;
    uint64_t sector_bytes, bytes, host_bytes, last_used_ns; /* reserved: of the device, of the host beside it */
    bool loading, evict_wanted, prepared;
    unsigned n_lanes; /* partitions of it that the process can prove side by side */
    unsigned n_group; /* or that its first lane can prove together; 0: one */
    engine_vk *vk;    /* held; of the file that the worker has loaded. NULL: not known yet */
} engine_circuit;

typedef enum engine_task_type {
    TASK_NONE,
    TASK_PREPARE,
    TASK_CHECK, /* the vanilla proof, beside devices */
    TASK_PROVE,
    TASK_LOAD,
    TASK_EVICT,
    TASK_FORGET /* jobs that are over */
} engine_task_type;

/* Memory that is shared: of the host, or of one device. */
typedef struct engine_pool {
    uint64_t budget_bytes, reserved_bytes;
    uint64_t base_bytes; /* of the host: what processes take beside what they reserve, this one included */
} engine_pool;

#define ENGINE_MAX_CIRCUITS 32
typedef struct engine_device {
    char kind[8]; /* "cpu", "cuda" */
    unsigned ordinal;
    engine_pool *pool; /* where keys are: the host's, or `own` */
    engine_pool own;
    /* circuits that are larger than the device */
    struct {
        zk_proof_kind kind;
        uint64_t sector_bytes;
    } unfit[ENGINE_MAX_CIRCUITS];
    unsigned n_unfit;
    unsigned n_wrong; /* proofs; at MAX_WRONG its workers are retired */
} engine_device;
#define ENGINE_MAX_DEVICES 63 /* and one more, a bit each */

/* A preload or evict somebody waits for. */
typedef struct engine_key_call {
    struct engine_key_call *next;
    zk_proof_kind kind;
    uint64_t sector_bytes;
    uint64_t devices; /* bitmap of those that were asked: each that proves this circuit loads it */
    unsigned n_running;
    bool already_loaded;
    cuzk_status status; /* the first failure */
    cuzk_err err;
} engine_key_call;

typedef struct engine_task {
    engine_task_type type;
    engine_job *job; /* held */
    uint32_t partition;
    uint32_t n_more, more[ZK_IPC_MAX_GROUP - 1]; /* of the job, that are proved together with it and not done yet */
    zk_proof_kind kind;                          /* of the circuit */
    uint64_t sector_bytes;
    engine_key_call *call;
    zk_priority priority; /* of the job when it was taken */
    uint64_t start_ns;
    bool cancel; /* somebody wants it to end */
    uint64_t cancel_sent_ns;
    zk_stall stall;
    uint64_t stalled_ns;          /* it was ended for that */
    bool yield_sent;              /* others are to come before those of `more` that are not begun */
    bool distrusted;              /* the process is to end with the task */
    bool returned, return_counts; /* to be given back to a shared journal, not done */
    uint64_t return_delay_ns;
} engine_task;

/* A partition whose inputs a worker makes ahead: a hint, which binds nobody. */
typedef struct engine_promise {
    engine_job *job; /* held */
    uint32_t partition;
} engine_promise;

/* What the end of a process means for a task beside the one for which it ended: a try, as an error of the device or a
 * death may be of either, or none. */
typedef enum engine_loss { LOSS_NONE, LOSS_COUNTS, LOSS_IS_FREE } engine_loss;

typedef enum engine_role { ROLE_ORDINARY, ROLE_EXPRESS, ROLE_CHECKER } engine_role;

struct engine_lane {
    struct zk_engine *engine;
    unsigned id;
    engine_role role;
    /* A second lane proves beside another one in its process, with a socket and tasks of its own; process, keys and
     * memory are the first one's. */
    engine_lane *first, *beside; /* of a lane alone: itself, NULL */
    engine_loss loss;            /* of the task, if the process has ended */
    engine_device *on;
    pthread_t thread;
    bool started;
    zk_priority min_priority;
    zk_worker_state state; /* without STOPPED, which `stopped` says */
    bool stopped;
    uint64_t stop_start_ns, stopped_ns; /* of the task */
    pid_t pid;                          /* 0: none */
    bool ending;                        /* somebody is waiting for its end */
    pid_t unreaped;                     /* was killed, and has not ended yet: it has its memory, and the device */
    uint64_t unreaped_since_ns;
    zk_progress *progress; /* [2] signs of the lanes of the process, in memory that is shared with it */
    char how[96];          /* it ended */
    int fd;
    char device_kind[8], device[96];
    uint64_t device_total_bytes, device_free_bytes; /* of a device with memory of its own */
    engine_task task;
    zk_journal_unit unit; /* taken from a shared journal; also while the content is fetched */
    bool has_unit;
    char stage[ZK_STAGE_NAME_BYTES];
    uint32_t partition; /* that the stage is of */
    uint64_t stage_start_ns;
    bool synthesized;         /* the task is past that */
    bool never;               /* the task asked for more than there is */
    uint64_t load_done_bytes; /* as last seen */
    uint64_t load_base_bytes; /* of files in the process's memory when it began to load */
    engine_promise promises[ZK_WORKER_MAX_LOOKAHEAD];
    unsigned n_promises;
    char job_at_hand[ZK_JOB_ID_BYTES]; /* that the process has open; "": none */
    bool looked_ahead;                 /* it may have others open */
    /* jobs of one circuit in a row */
    zk_proof_kind batch_kind;
    uint64_t batch_sector_bytes;
    char batch_job[ZK_JOB_ID_BYTES];
    uint32_t n_batch;
    engine_circuit circuits[ENGINE_MAX_CIRCUITS];
    unsigned n_circuits;
    uint64_t host_bytes, device_bytes; /* reserved; a CPU's keys are of the host */
    uint64_t base_bytes;               /* what the process takes beside that */
    bool waiting_memory;
    uint64_t idle_since_ns, not_before_ns;
    uint64_t n_proved, n_wrong, n_crashes, n_starts;
    unsigned start_failures;
    unsigned n_bad; /* device errors and deaths in a row */
    bool retire;    /* when its task is over */
    bool broken;    /* retired because it does not start: tried again now and then */
    uint64_t retire_pending_bytes, retire_pending_items;
    char *text; /* [ZK_IPC_MAX_TEXT + 1] of the message at hand */
    char *memory_text;
};

/* A key file, or the prepared key beside it, that is kept warm. Its thread alone changes `map` and what it locks. */
typedef struct engine_warm {
    zk_proof_kind kind;
    uint64_t sector_bytes;
    bool prepared;
    zk_file_map map;       /* path NULL: not kept */
    bool is_warm;          /* nearly all of it is in memory, as far as can be told */
    bool locked;           /* and stays there: reserved of the host's pool */
    bool drop, unlock;     /* wanted of the thread */
    uint64_t last_used_ns; /* loaded, or wanted */
} engine_warm;

typedef struct engine_miner {
    uint64_t miner;
    uint64_t served_ns; /* virtual time */
} engine_miner;
#define ENGINE_MAX_MINERS 256

typedef struct engine_kind_counters {
    uint64_t n_completed, n_failed, n_cancelled, duration_sum_ns, n_durations;
} engine_kind_counters;

enum {
    HISTOGRAM_QUEUE,
    HISTOGRAM_PREPARE,
    HISTOGRAM_SRS,
    HISTOGRAM_TOTAL,
    HISTOGRAM_STAGES,
    N_HISTOGRAMS = HISTOGRAM_STAGES + ZK_PROVE_N_STAGES
};

typedef struct engine_trace {
    struct engine_trace *next;
    char job_id[ZK_JOB_ID_BYTES];
    char *events; /* Chrome events, separated by commas */
    size_t n_events;
} engine_trace;

struct zk_engine {
    zk_engine_options options; /* strings owned */
    zk_journal *journal;
    int spool_fd;        /* the spool folder, locked; -1: it could not be */
    zk_digests *digests; /* has a lock of its own */
    pthread_mutex_t lock;
    pthread_cond_t work;         /* something for lanes to look at */
    pthread_cond_t done;         /* something for callers to look at */
    pthread_mutex_t submit_lock; /* look-up and acceptance of a request are one step */
    pthread_t housekeeper;
    bool housekeeping, draining;
    atomic_bool stopping; /* also looked at without the lock */
    uint64_t start_ns;
    engine_job **jobs; /* not over, in order of acceptance */
    size_t n_jobs, jobs_capacity;
    engine_device *devices; /* [n_devices], of ordinary lanes; then the CPU, for others */
    unsigned n_devices;
    engine_lane *lanes;
    unsigned n_lanes;
    bool checks_apart; /* there are lanes for it */
    engine_key_call *key_calls;
    engine_warm warm[2 * ENGINE_MAX_CIRCUITS];
    unsigned n_warm;
    pthread_t warm_thread;
    pthread_cond_t warm_work;
    bool warm_running, mlock_failed;
    engine_pool host;
    struct { /* circuits whose prepared key has given a wrong proof */
        zk_proof_kind kind;
        uint64_t sector_bytes;
    } mistrusted[ENGINE_MAX_CIRCUITS];
    unsigned n_mistrusted;
    uint64_t own_base_bytes; /* this process's share of the host's base */
    uint64_t machine_bytes;
    engine_miner miners[ENGINE_MAX_MINERS];
    unsigned n_miners;
    uint64_t miner_time_ns; /* virtual time of the one served last */
    engine_kind_counters kinds[ZK_N_KINDS];
    zk_histogram histograms[N_HISTOGRAMS];
    uint64_t n_submitted, n_joined, n_rejected, n_crashes, n_stalls, n_retries, n_wrong, n_preempted, n_ahead,
        n_together;
    uint64_t unaccounted_ns, traced_ns;
    engine_vk *vks;
    pthread_mutex_t publics_lock; /* the content of one job at a time is decoded here */
    engine_trace *traces;         /* newest first */
    uint32_t n_watches;
    char journal_error[512];
    /* a shared journal */
    pthread_t fleet_thread;
    bool fleet_running;
    atomic_bool fleet_lost;  /* out of reach: nothing is taken, nothing accepted */
    atomic_bool fleet_doubt; /* somebody found it out of reach: to be looked at now */
    unsigned sync;
    uint32_t first_partition; /* where this engine begins, so that those of a fleet do not all begin in one place */
    zk_machine_view *machines;
    size_t n_machines;
    uint64_t machines_seen_ns;
};

static inline void engine_lock(zk_engine *engine) { pthread_mutex_lock(&engine->lock); }
static inline void engine_unlock(zk_engine *engine) { pthread_mutex_unlock(&engine->lock); }

/* ---- options.c: before there are threads ---- */
/* BAD_INPUT: without a folder of keys or a journal, or out of bounds. Also the host's budget. engine_options_free also
 * after a failure. */
cuzk_status engine_options_take(zk_engine *engine, const zk_engine_options *given, cuzk_err *err);
void engine_options_free(zk_engine_options *options);

/* ---- jobs.c: all need the lock unless said otherwise ---- */
engine_job *engine_job_find(zk_engine *engine, const char *job_id);
void engine_job_hold(engine_job *job);
void engine_job_drop(engine_job *job);                       /* frees at the last one */
void engine_job_release(zk_engine *engine, engine_job *job); /* the same without the lock */
cuzk_status engine_job_add(engine_job **job, zk_engine *engine, const zk_content_meta *meta, uint64_t file_bytes,
                           cuzk_err *err);
bool engine_job_is_open(const engine_job *job);                     /* not ENDING or later */
zk_priority engine_priority(zk_priority asked, zk_proof_kind kind); /* what is not asked for comes from the kind */
/* Number of partitions, after it was prepared. */
cuzk_status engine_job_prepared(engine_job *job, uint32_t n_partitions, cuzk_err *err);
/* A proof becomes the job's; nothing happens if it has one. */
void engine_job_take_partition(engine_job *job, const zk_journal_partition *partition);
/* Takes over what the journal has of a prepared job. Without the lock. */
cuzk_status engine_job_recover(zk_engine *engine, engine_job *job, cuzk_err *err);
/* Decides the outcome, tells the journal and the watchers. Called without the lock; does nothing if it is decided. */
void engine_job_end(zk_engine *engine, engine_job *job, zk_outcome outcome, cuzk_status status, const char *message);
/* The journal says that the job is over, with this result, which is emptied. Without the lock. */
void engine_job_over(zk_engine *engine, engine_job *job, zk_result *result);
/* Again for jobs that the journal could not take. Without the lock. */
void engine_jobs_retry(zk_engine *engine);
void engine_job_finish_if_done(zk_engine *engine, engine_job *job); /* without the lock */

/* Remembers for the status how a call of the journal went; returns its status. Without the lock. */
cuzk_status engine_journal_went(zk_engine *engine, cuzk_status status, const cuzk_err *err);

/* ---- devices.c ---- */
/* Which devices `devices` of the options means. */
cuzk_status engine_devices_find(zk_engine *engine, const char *text, cuzk_err *err);
/* Needs the lock, as the others. */
bool engine_device_fits(const engine_device *device, zk_proof_kind kind, uint64_t sector_bytes);
void engine_device_unfit(engine_device *device, zk_proof_kind kind, uint64_t sector_bytes);
/* Whether it proves beside another one in its process. */
static inline bool engine_lane_is_second(const engine_lane *lane) { return lane->first != lane; }
/* The lane in the same process; NULL: there is none. */
static inline engine_lane *engine_lane_other(const engine_lane *lane) {
    return engine_lane_is_second(lane) ? lane->first : lane->beside;
}
static inline bool engine_lane_is_busy(const engine_lane *lane) { return lane && lane->task.type != TASK_NONE; }
static inline bool engine_device_is_cpu(const engine_device *device) { return device->kind[1] == 'p'; }

/* ---- schedule.c: need the lock ---- */
bool engine_pick(engine_task *task, zk_engine *engine, engine_lane *lane);
void engine_task_begins(zk_engine *engine, const engine_task *task);
/* What the lane would take next, after its promises; nothing is taken. */
bool engine_peek(engine_task *task, zk_engine *engine, engine_lane *lane);
/* Whether something more urgent than what the lane has would be next. */
bool engine_should_yield(zk_engine *engine, engine_lane *lane);
/* Whether the lane can prove the job at all. */
bool engine_lane_suits(const engine_lane *lane, const engine_job *job);
/* Whether a lane of another device, in better health, can. */
bool engine_another_suits(const engine_lane *lane, const engine_job *job);
/* Whether any lane can still do what the job needs. */
bool engine_some_lane_left(const zk_engine *engine, const engine_job *job);
/* The process is over, or is to be, and the lane beside still holds its socket, or it has not let go of the device. */
bool engine_lane_is_ending(const engine_lane *lane);
/* A lane that loads the keys of this kind when that is asked for. */
bool engine_lane_for_kind(const zk_engine *engine, const engine_lane *lane, zk_proof_kind kind);
void engine_promises_drop(engine_lane *lane);
void engine_promises_prune(engine_lane *lane);
/* Whether preparing the job on this lane includes the check of its vanilla proof. */
bool engine_checks_itself(const engine_lane *lane, const engine_job *job);
/* Position of a queued job: jobs that go first. */
uint32_t engine_queue_position(zk_engine *engine, const engine_job *job);
/* Stops and resumes workers according to what runs. */
void engine_balance(zk_engine *engine);
void engine_served(zk_engine *engine, uint64_t miner, uint64_t ns);

/* ---- budget.c: need the lock ---- */
/* LATER: give up for now, others wait for memory, too; NEVER: it does not fit the budget. */
typedef enum engine_grant { GRANT_YES, GRANT_WAIT, GRANT_EVICT, GRANT_LATER, GRANT_NEVER } engine_grant;
/* GRANT_EVICT: *victim of this lane must go first. */
engine_grant engine_reserve(engine_circuit *victim, engine_lane *lane, uint64_t bytes, uint64_t host_bytes);
void engine_release(engine_lane *lane, uint64_t bytes, uint64_t host_bytes);
/* Memory of the device, if it is free now. */
bool engine_reserve_free(engine_lane *lane, uint64_t bytes);
/* The process has this much memory of its own: what of it is not reserved is its base. */
void engine_lane_measure(engine_lane *lane, uint64_t own_bytes);
engine_circuit *engine_lane_circuit(engine_lane *lane, zk_proof_kind kind, uint64_t sector_bytes);
bool engine_circuit_in_use(const engine_lane *lane, const engine_circuit *circuit);
void engine_lane_forget_circuit(engine_lane *lane, engine_circuit *circuit);

/* ---- warm.c ---- */
cuzk_status engine_warm_start(zk_engine *engine, cuzk_err *err);
void engine_warm_stop(zk_engine *engine);
/* These need the lock. */
/* Keys were loaded from the file of this circuit, and from its prepared key. */
void engine_warm_used(zk_engine *engine, zk_proof_kind kind, uint64_t sector_bytes, bool prepared);
/* The file is to leave the memory, too. */
void engine_warm_drop(zk_engine *engine, zk_proof_kind kind, uint64_t sector_bytes);
/* Locked memory is to become free for something else; false: there is none. */
bool engine_warm_unlock(zk_engine *engine);

/* ---- proofs.c ---- */
/* The verifying key in the file of a circuit's keys, for engine_vk_drop; cached. EXHAUSTED: the file is not `expected`
 * (may be NULL: any). Without the lock. */
cuzk_status engine_vk_hold(engine_vk **vk, zk_engine *engine, zk_proof_kind kind, uint64_t sector_bytes,
                           const zk_file_identity *expected, cuzk_err *err);
void engine_vk_keep(engine_vk *vk); /* these need the lock */
void engine_vk_drop(engine_vk *vk); /* NULL is fine */
void engine_vks_free(zk_engine *engine);
/* Whether the proof of a partition holds for the content that was accepted. BAD_PROOF: no. Else it could not be told:
 * the content is damaged, or gone with its job; no memory. Without the lock. */
cuzk_status engine_proof_check(zk_engine *engine, engine_job *job, engine_vk *vk, uint32_t partition,
                               const uint8_t proof[ZK_PROOF_BYTES], cuzk_err *err);

/* ---- lane.c ---- */
void *engine_lane_main(void *lane);

/* ---- process.c ---- */
/* A worker process for a device; fds[n_lanes] are the sockets to it, progress[n_lanes] their signs of life, for
 * engine_progress_free. */
cuzk_status engine_spawn(pid_t *pid, int *fds, zk_progress **progress, unsigned n_lanes,
                         const zk_engine_options *options, const char *device, unsigned lookahead, cuzk_err *err);
void engine_progress_free(zk_progress *progress); /* NULL is fine */
/* Waits for the end of a process, which it gets this long for; false: it is still there. Without the lock,
 * unless that is 0. */
bool engine_reap(int *status, pid_t pid, uint64_t most_ns);
/* These need the lock, which is given up meanwhile. */
cuzk_status engine_lane_start(engine_lane *lane, cuzk_err *err);
/* The process is over, or is to be (force): nothing of it is left afterwards, unless it does not end even though it was
 * killed (`unreaped`); that is not waited for. `how` (may be NULL) says how it ended.
 * The lane beside sees that by itself if it has a task; its `loss` may be set before. Returns whether it was this lane
 * that ended it, not the one beside. */
bool engine_lane_end(engine_lane *lane, bool force, char *how, size_t n_how);
/* Whether a process that was killed and has not ended has the lane, or its GPU: nothing is started there. */
bool engine_lane_is_held(const engine_lane *lane);
/* The same, for so long that what waits for it need wait no more. */
bool engine_lane_is_lost(const engine_lane *lane);
/* Sees whether the one of this lane has ended meanwhile. */
void engine_lane_look_for_end(engine_lane *lane);
void engine_lane_retire(engine_lane *lane, const char *why);
/* All of the device; those that are busy when their task is over. */
void engine_device_retire(engine_lane *lane, const char *why);

/* ---- outcome.c: need the lock, which is given up meanwhile ---- */
/* What the task is for is to be tried again, by whoever comes; false: it was tried often enough. */
bool engine_give_back(engine_lane *lane, bool counts, uint64_t delay_ns);
/* The same of partitions that were to be proved together with it, as far as they are not done. */
bool engine_give_back_more(engine_lane *lane, bool counts);
/* One of those is done; false: the worker said so of another one. */
bool engine_task_proved_one(engine_lane *lane, const zk_ipc_message *m);
/* What the task's end says is of this partition of it. */
void engine_task_is_of(engine_lane *lane, uint32_t partition);
void engine_task_prepared(engine_lane *lane, const zk_ipc_message *done);
void engine_task_checked(engine_lane *lane);
/* Verifies the proof. Returns whether the process can go on. */
bool engine_task_proved(engine_lane *lane, const zk_ipc_message *done);
/* Returns whether the process can go on. */
bool engine_task_failed(engine_lane *lane, const zk_ipc_message *done);
/* seen: by this lane first. */
void engine_task_crashed(engine_lane *lane, bool seen, const char *how, cuzk_err *err);
/* Whether the prepared key of a circuit is left alone. */
bool engine_mistrusts(const zk_engine *engine, zk_proof_kind kind, uint64_t sector_bytes);
/* IO: who asks may ask the next daemon. */
cuzk_status engine_fail_ending(cuzk_err *err) ZK_MUST_USE;
void engine_finish_call(engine_lane *lane, cuzk_status status, const char *message, const zk_ipc_message *done);
/* Circuits whose loading did not come to an end are not there. */
void engine_settle_circuits(engine_lane *lane);

/* ---- fleet.c: for a shared journal; without the lock unless said otherwise ---- */
/* Makes sure that an open job of others is known here. Does nothing for a journal that is not shared. */
cuzk_status engine_fleet_know(zk_engine *engine, const char *job_id, cuzk_err *err);
/* Takes over what others did to one job, to all. */
cuzk_status engine_fleet_refresh(zk_engine *engine, const char *job_id, cuzk_err *err);
cuzk_status engine_fleet_sync(zk_engine *engine, bool told, cuzk_err *err);
cuzk_status engine_fleet_beat(zk_engine *engine, cuzk_err *err);
/* Takes what was picked from the journal (which may choose another partition of the job) and fetches the content.
 * false: there is nothing to do; the task's job is dropped. Always true for a journal that is not shared. Needs the
 * lock, which is given up meanwhile. */
bool engine_fleet_take(engine_task *task, engine_lane *lane);
/* After a task: what was not done goes back. Needs the lock, which is given up meanwhile. */
void engine_fleet_return(engine_lane *lane, const engine_task *task);
void *engine_fleet_main(void *engine);

/* ---- status.c: need the lock ---- */
void engine_observe(zk_engine *engine, unsigned histogram, uint64_t ns);
void engine_trace_add(zk_engine *engine, const char *job_id, const engine_lane *lane, const char *text, size_t n_text);

/* ---- evidence.c: without the lock ---- */
void engine_keep_evidence(zk_engine *engine, const engine_job *job, const engine_lane *lane,
                          const zk_ipc_message *done);

uint64_t engine_ms(uint64_t ns);

#endif
