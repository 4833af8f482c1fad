/* The engine: accepts requests, keeps them safe, proves them in worker processes, keeps the results.
 *
 * Everything a front end (gRPC, HTTP, command line) needs is here; it never touches journal, workers or devices. All
 * functions may be called from any thread. A job is accepted once its content is on disk and its row in the journal is:
 * from then on no crash loses it, and it ends exactly once, as COMPLETED, FAILED or CANCELLED.
 *
 * Order of work: CRITICAL > HIGH > NORMAL > LOW. A job that waits rises one class every `aging_ms`. Inside a class
 * miners take turns, a miner's jobs go first come first served, and jobs whose keys are loaded may go ahead a little.
 * CRITICAL and HIGH each have a worker of their own besides the ordinary ones: when all ordinary CPU workers are busy
 * with less urgent work these are stopped (SIGSTOP) while the urgent partition runs.
 *
 * Several engines may share one journal ("fleet"). Then each knows all jobs, any of them proves any partition, and a
 * job can be awaited and cancelled at each. An engine that ends or dies leaves its partitions to the others. While the
 * database is out of reach, running partitions go on and their results are kept until it is back; submit gives IO. */
#ifndef ZK_ENGINE_ENGINE_H
#define ZK_ENGINE_ENGINE_H

#include <stdio.h>

#include "filecoin/request.h"

typedef struct zk_engine zk_engine;

#define ZK_JOB_ID_BYTES 40     /* with the final zero; lower-case letters, digits and '-' */
#define ZK_CIRCUIT_ID_BYTES 24 /* "porep-32g" ... */
#define ZK_REQUEST_ID_MAX_BYTES 512
#define ZK_STAGE_NAME_BYTES 24

/* What becomes of a key file whose keys are on no device (any more). CACHE: it stays open, its pages in the system's
 * cache as long as that likes; what a waiting job will need is read ahead. RESIDENT: also locked in memory while the
 * budget has room, given up first when something else needs it. */
typedef enum zk_warm_policy { ZK_WARM_CACHE, ZK_WARM_RESIDENT, ZK_WARM_OFF } zk_warm_policy;

/* Zero members mean the defaults. Strings are copied. */
typedef struct zk_engine_options {
    const char *param_cache;  /* folder of the v28-*.params files; required */
    const char *journal_path; /* SQLite file; required. Its folder is made if missing */
    const char *spool_dir;    /* content of accepted jobs; default: journal_path + ".spool" */
    const char *evidence_dir; /* of wrong proofs; default: journal_path + ".evidence" */

    /* What the key files have to be: Filecoin's parameters.json; default: that of param_cache if there is one. Digests
     * are remembered in journal_path + ".keys". */
    const char *manifest;

    zk_warm_policy warm;

    bool no_prepared; /* prepared keys (groth16/prepared_params.h) that lie beside key files are not used */

    const char *worker_program; /* default: this executable; started as `WORKER_PROGRAM worker ...` */
    /* "cpu" (the default), "auto" (all CUDA devices, else the CPU), or a list such as "cuda:0,cuda:1" or "0,1" */
    const char *devices;
    unsigned n_workers;      /* ordinary worker processes of each device; 1 */
    unsigned worker_threads; /* of each; 0: all usable CPUs */
    /* Partitions that a worker of a device proves side by side, where there is memory for two beside the keys: 1, or 2;
     * 0: 2 if it is the only one of its device. A CPU proves one. */
    unsigned lanes_per_worker;
    uint64_t device_memory_bytes; /* of a CUDA device, taken by a worker at its start; 0: as needed, up to all of it */
    bool no_express;              /* no workers of their own for CRITICAL and HIGH */

    /* Work beside a device: its worker makes the inputs of the partitions that come next, other workers check vanilla
     * proofs. Without it, and on CPUs, a job is checked before its first partition. */
    bool no_lookahead, no_checkers;
    uint32_t lookahead;         /* partitions prepared ahead of a device; 1, at most 8 */
    uint32_t max_prepared;      /* the same over all devices; 0: as memory allows */
    uint32_t n_checkers;        /* jobs checked at a time beside devices; 1 */
    uint32_t max_synthesizing;  /* partitions in synthesis at a time; 0: as many as there are workers */
    uint32_t max_job_in_flight; /* partitions of one job in work at a time; 0: as many as there are workers */
    uint32_t max_batch;         /* jobs of one circuit that a worker does in a row past an older job; 0: any */

    uint64_t memory_budget_bytes;  /* of everything together; 0: auto, see zk_engine_memory_auto */
    uint64_t safety_margin_bytes;  /* of `auto`; 1/16 of the memory */
    bool no_safety_margin;         /* `auto` takes it all */
    uint64_t eviction_min_idle_ms; /* keys used more recently are evicted only when a job waits for the memory */
    uint64_t max_content_bytes;    /* of one job; 1 GiB */
    uint32_t max_queued;           /* jobs not yet finished; 10,000: beyond it submit gives EXHAUSTED */

    uint64_t retention_ms;  /* results stay this long after the end; 24 h */
    uint64_t aging_ms;      /* 10 min */
    uint64_t group_wait_ms; /* how long a job may be passed by jobs whose keys are loaded; 5 s */
    uint64_t job_limit_ms;  /* from acceptance to the end, else FAILED; 0: none */
    /* a worker that has a task and makes no progress this long is ended, as if it had died; 0: waited for */
    uint64_t stall_limit_ms;
    uint64_t worker_idle_ms; /* an express worker that had no work this long ends; 0: never (its keys stay loaded) */
    uint32_t max_attempts;   /* of a partition whose worker died; 3 */

    const char *worker_fault; /* for tests: passed to workers, see worker.h */

    const char *fleet_dsn; /* a database that holds the journal, shared with others; NULL or "": journal_path does */
    const char *fleet_machine; /* name of this engine there; the host's */
    uint64_t fleet_lease_ms;   /* what an engine has is free for others when it has been silent this long; 30 s */
} zk_engine_options;

/* Opens the journal, takes up what was unfinished, starts the workers (not waited for). With fleet_dsn, journal_path is
 * locked all the same and names the folders beside it.
 * BAD_INPUT: damaged journal, or none but requests in its spool (the message names `cuzk journal salvage`); bad
 * options; EXHAUSTED: another engine has the journal open. UNSUPPORTED: fleet_dsn in a build without its library; IO:
 * its database is out of reach; DEVICE: a device that was asked for is not there. This process itself never touches
 * one: a short-lived worker counts them. */
cuzk_status zk_engine_create(zk_engine **engine, const zk_engine_options *options, cuzk_err *err) ZK_MUST_USE;
/* Ends all: running partitions are given up and stay in the journal for the next start. Watches that have not fired are
 * called with INTERRUPTED. No other call may be in progress or follow. NULL is fine. */
void zk_engine_destroy(zk_engine *engine);
/* From now on submit and preload give IO and no partition is started; returns when none runs, or after timeout_ms (then
 * EXHAUSTED). Queued jobs stay in the journal. */
cuzk_status zk_engine_drain(zk_engine *engine, uint64_t timeout_ms, cuzk_err *err);

/* Another limit than that of the options, from now on. */
void zk_engine_set_stall_limit(zk_engine *engine, uint64_t ms);

/* MemTotal or the limit of the control groups (v1, v2, this group and its ancestors), whichever is smaller. */
uint64_t zk_engine_memory_auto(void);

/* For a process that is nothing but a daemon, before it has threads: the allocator keeps one pool, of a size that is
 * taken now, and nothing for each thread. With its defaults each thread fills a pool and a cache of its own, so that a
 * few MiB of live memory take tens of resident ones, more as the hours go by. The program starts again, once and with
 * the same arguments, for what only its environment can say (glibc.malloc.tcache_count, if GLIBC_TUNABLES does not have
 * it); if that cannot be, it goes on as it is. */
void zk_engine_small_heap(void);

/* ---- submit ---- */

/* What a request says besides its bytes. */
typedef struct zk_engine_request {
    const char *request_id; /* NULL or "": no idempotency. At most ZK_REQUEST_ID_MAX_BYTES */
    zk_proof_kind kind;
    zk_priority priority;  /* UNSPECIFIED: CRITICAL for WinningPoSt, HIGH for WindowPoSt, else NORMAL */
    uint64_t sector_bytes; /* 0: that of the registered proof */
    uint64_t registered_proof, sector_number, miner_id;
    uint32_t partition_index;
    bool one_partition; /* a WindowPoSt of more sectors than a partition holds is refused, as it is over gRPC */
} zk_engine_request;

/* The byte fields of SubmitProofRequest, by their numbers. */
typedef enum zk_content_field {
    ZK_CONTENT_VANILLA_PROOF = 10,
    ZK_CONTENT_VANILLA_PROOFS = 11, /* repeated, in order */
    ZK_CONTENT_RANDOMNESS = 22,
    ZK_CONTENT_COMM_R_OLD = 30,
    ZK_CONTENT_COMM_R_NEW = 31,
    ZK_CONTENT_COMM_D_NEW = 32,
} zk_content_field;

/* Content on its way to disk: one field after another, each in pieces of any size (a slice as it was received). One
 * thread at a time. Nothing is kept in memory but a small buffer. */
typedef struct zk_content zk_content;
cuzk_status zk_content_create(zk_content **content, zk_engine *engine, cuzk_err *err) ZK_MUST_USE;
/* More of vanilla_proofs has no request; each has a head in the file, which an empty one has not in the message. */
enum { ZK_CONTENT_MAX_ENTRIES = 1 << 20 };
/* Begins a field of exactly n_bytes. BAD_INPUT: an entry too many; EXHAUSTED beyond max_content_bytes, IO for a full
 * disk; the first failure stays. */
cuzk_status zk_content_field_begin(zk_content *content, zk_content_field field, uint64_t n_bytes,
                                   cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_content_write(zk_content *content, const void *data, size_t n, cuzk_err *err) ZK_MUST_USE;
void zk_content_abort(zk_content *content); /* NULL is fine */

typedef struct zk_submitted {
    char job_id[ZK_JOB_ID_BYTES];
    bool joined;             /* the request was known: this is the job of the earlier submit */
    bool finished;           /* ... and its proof is there already */
    uint32_t queue_position; /* jobs ahead; 0: next, or running, or finished */
    char assigned[96];       /* device it runs on; "" if none yet */
} zk_submitted;

/* Makes the content durable and accepts the job. Frees the content, whatever happens.
 * BAD_INPUT: malformed, or it cannot be right (zk_request_check), which leaves nothing behind; UNSUPPORTED: size;
 * NOT_FOUND: the keys are not there (file and folder named); EXHAUSTED: queue full; IO: disk full, read-only journal,
 * draining. The same request_id with the same content (fields, numbers and kind; not the priority) joins the job while
 * it is queued or running, or finds its kept proof; after a failure or cancellation, or with other content, it is a new
 * job. A join with a higher priority raises the job's. */
cuzk_status zk_engine_submit(zk_submitted *submitted, zk_engine *engine, const zk_engine_request *request,
                             zk_content *content, cuzk_err *err) ZK_MUST_USE;
/* The same for a request in memory. */
cuzk_status zk_engine_submit_request(zk_submitted *submitted, zk_engine *engine, const zk_request *request,
                                     cuzk_err *err) ZK_MUST_USE;
/* One more in n_rejected: a request that somebody refused before it came to zk_engine_submit. */
void zk_engine_count_refused(zk_engine *engine);

/* ---- results ---- */

typedef enum zk_outcome {
    ZK_OUTCOME_UNKNOWN, /* no such job, or its time of keeping is over */
    ZK_OUTCOME_COMPLETED,
    ZK_OUTCOME_FAILED,
    ZK_OUTCOME_CANCELLED,
    ZK_OUTCOME_TIMEOUT,     /* await only */
    ZK_OUTCOME_INTERRUPTED, /* the engine ends; the job goes on at the next start. Or: the waiter gave up */
} zk_outcome;

typedef struct zk_result {
    char job_id[ZK_JOB_ID_BYTES];
    zk_proof_kind kind;
    zk_outcome outcome;
    cuzk_status status; /* of a failure */
    char message[512];  /* of a failure */
    uint8_t *proof;     /* [n_proof] partitions in a row */
    size_t n_proof;
    uint64_t queue_wait_ms, srs_load_ms, synthesis_ms, gpu_compute_ms, total_ms;
} zk_result;
void zk_result_clear(zk_result *result); /* zeroed is fine */

/* Whether the job has not ended, as far as this engine knows without asking its journal. Never waits for disk or
 * database, as zk_engine_watch may for a job that is not known. */
bool zk_engine_knows(zk_engine *engine, const char *job_id);
/* Calls fn exactly once, when the job is over or at once if it is (also for a job that is not known): from this call or
 * from a thread of the engine. fn must be quick and must not destroy the engine; `result` is the engine's. */
typedef void (*zk_watch_fn)(void *ctx, const zk_result *result);
typedef struct zk_watch zk_watch;
/* *watch stays valid until it has fired or zk_engine_unwatch was called; may be NULL when not wanted. If it fires from
 * this call *watch is NULL. */
cuzk_status zk_engine_watch(zk_watch **watch, zk_engine *engine, const char *job_id, zk_watch_fn fn, void *ctx,
                            cuzk_err *err) ZK_MUST_USE;
/* true: taken back, fn will not be called. false: fn was called, or is being called. The id, not the pointer, decides,
 * so that asking after it fired is fine as long as ctx is unique among watches of the job. */
bool zk_engine_unwatch(zk_engine *engine, const char *job_id, void *ctx);

/* Waits. timeout_ms 0: for ever. `gave_up` (may be NULL) is polled about every 100 ms. The caller clears the result.
 * Fails only for lack of memory or a failing journal. */
cuzk_status zk_engine_await(zk_result *result, zk_engine *engine, const char *job_id, uint64_t timeout_ms,
                            bool (*gave_up)(void *ctx), void *ctx, cuzk_err *err) ZK_MUST_USE;

/* Ends a queued job at once, a running one at the next kernel of its worker; its watches fire now. was_running: queued
 * or running (false: unknown or over). */
cuzk_status zk_engine_cancel(bool *was_running, zk_engine *engine, const char *job_id, cuzk_err *err) ZK_MUST_USE;

/* ---- keys ---- */

/* "porep-32g" of kind and size, and back. UNSUPPORTED: no such circuit. */
cuzk_status zk_circuit_id(char id[ZK_CIRCUIT_ID_BYTES], zk_proof_kind kind, uint64_t sector_bytes,
                          cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_circuit_parse(zk_proof_kind *kind, uint64_t *sector_bytes, const char *id, cuzk_err *err) ZK_MUST_USE;

/* Loads the keys of a circuit in a worker and waits. NOT_FOUND names file and folder; EXHAUSTED: does not fit the
 * budget; BAD_INPUT: damaged file; IO: the engine ends. */
cuzk_status zk_engine_preload(bool *already_loaded, uint64_t *load_ms, zk_engine *engine, const char *circuit_id,
                              cuzk_err *err) ZK_MUST_USE;
/* EXHAUSTED while a job uses them. */
cuzk_status zk_engine_evict(bool *was_loaded, uint64_t *freed_bytes, zk_engine *engine, const char *circuit_id,
                            cuzk_err *err) ZK_MUST_USE;

/* ---- what it is doing: a consistent copy ---- */

typedef enum zk_partition_state {
    ZK_PARTITION_PENDING,
    ZK_PARTITION_SYNTHESIZING,
    ZK_PARTITION_SYNTH_DONE,
    ZK_PARTITION_GPU, /* stages h to verify, whatever the device */
    ZK_PARTITION_DONE,
    ZK_PARTITION_FAILED
} zk_partition_state;
const char *zk_partition_state_name(zk_partition_state state); /* "pending", "synthesizing", "synth_done", "gpu" ... */

typedef struct zk_partition_view {
    uint32_t index;
    zk_partition_state state;
    uint64_t synth_ms, gpu_ms; /* so far */
    uint32_t attempts;
    int worker; /* -1: none */
} zk_partition_view;

typedef struct zk_job_view {
    char job_id[ZK_JOB_ID_BYTES];
    char request_id[ZK_REQUEST_ID_MAX_BYTES + 1];
    zk_proof_kind kind;
    zk_priority priority;
    char circuit_id[ZK_CIRCUIT_ID_BYTES];
    bool running;             /* else queued */
    uint64_t accepted_ago_ms; /* since acceptance */
    uint64_t started_ago_ms;  /* since the first work; 0 if queued */
    uint32_t queue_position;  /* of a queued one */
    uint32_t n_partitions;    /* 0: not known yet */
    uint32_t n_done;
    const zk_partition_view *partitions; /* [n_partitions] */
} zk_job_view;

typedef enum zk_worker_state {
    ZK_WORKER_STARTING,
    ZK_WORKER_IDLE,
    ZK_WORKER_PREPARING, /* parses and checks a job */
    ZK_WORKER_LOADING,   /* keys */
    ZK_WORKER_PROVING,
    ZK_WORKER_STOPPED, /* an urgent partition has its CPUs */
    ZK_WORKER_OFF,     /* not started (express workers start on demand), or between two starts */
    ZK_WORKER_RETIRED  /* gave wrong proofs or cannot start */
} zk_worker_state;
const char *zk_worker_state_name(zk_worker_state state);

typedef struct zk_worker_view {
    unsigned id;
    unsigned process; /* id of the worker whose process it is: another one's if two prove in it side by side, which has
                         the figures of the process */
    bool checks_only; /* checks vanilla proofs beside devices, proves nothing */
    int pid;          /* 0: no process */
    zk_worker_state state;
    zk_priority min_priority; /* LOW: takes everything */
    unsigned device_ordinal;
    char device_kind[8]; /* "cpu", "cuda" */
    char device[96];
    uint64_t memory_total_bytes, memory_free_bytes; /* of the device; for the CPU of the machine */
    char job_id[ZK_JOB_ID_BYTES];                   /* "": none */
    zk_proof_kind kind;
    int64_t partition;               /* -1: none */
    char stage[ZK_STAGE_NAME_BYTES]; /* "" : none */
    uint64_t busy_ms;                /* with the current task */
    int64_t still_ms;                /* without a sign of progress, as far as was looked; -1: it has no task */
    uint64_t n_proved, n_wrong, n_crashes, n_starts;
    uint64_t rss_bytes, reserved_bytes; /* of the host */
    uint64_t device_reserved_bytes;     /* of a device with memory of its own */
} zk_worker_view;

typedef enum zk_srs_tier { ZK_SRS_HOT, ZK_SRS_WARM, ZK_SRS_COLD } zk_srs_tier; /* as the gRPC enum */
typedef struct zk_srs_view {
    char circuit_id[ZK_CIRCUIT_ID_BYTES];
    zk_srs_tier tier;   /* hot: on a device; warm: the file is in host memory; cold: only the file is there */
    bool locked;        /* warm: the memory is the engine's own */
    uint64_t bytes;     /* hot: reserved, over all workers; else of the file */
    uint32_t ref_count; /* partitions and loads that use it now */
    uint32_t n_workers; /* that have it */
    bool loading;
    uint64_t load_done_bytes, load_total_bytes; /* of the key file, while it is loaded; of the worker furthest behind */
    uint64_t last_used_ago_ms;
    bool evictable;
    char sha256[65]; /* of the key file, as it was last loaded; "": not known */
    bool prepared;   /* hot: a prepared key takes the place of two of its sections */
} zk_srs_view;

typedef struct zk_memory_view {
    char name[48];
    uint64_t current_bytes, peak_bytes; /* over all workers and this process */
} zk_memory_view;

typedef struct zk_queue_view {
    zk_proof_kind kind;
    uint32_t pending, in_progress;
    uint64_t n_completed, n_failed, n_cancelled; /* since start */
    uint64_t duration_sum_ns, n_durations;       /* acceptance to end, of the completed */
} zk_queue_view;

/* Upper bounds in seconds: 0.001 0.0025 0.005 0.01 ... 1000, then infinity. Not cumulative. */
#define ZK_HISTOGRAM_BUCKETS 19
extern const double zk_histogram_bounds[ZK_HISTOGRAM_BUCKETS - 1];
typedef struct zk_histogram {
    char name[ZK_STAGE_NAME_BYTES]; /* a stage ("synthesize"), or "queue_wait", "prepare", "srs_load", "total" */
    uint64_t n, sum_ns;
    uint64_t bucket[ZK_HISTOGRAM_BUCKETS];
} zk_histogram;

typedef struct zk_machine_view {
    char name[64], id[ZK_JOB_ID_BYTES]; /* id: of one life of one engine */
    bool self;
    uint64_t seen_ago_ms, started_ago_ms;
    uint32_t n_workers, n_units; /* partitions and preparations it has now */
    uint64_t n_proved;           /* partitions */
} zk_machine_view;

typedef struct zk_engine_status {
    uint64_t uptime_ms;
    bool draining;
    const zk_queue_view *queues; /* one a kind: [n_queues] */
    size_t n_queues;
    const zk_job_view *jobs; /* not finished: running first, then in order of the queue */
    size_t n_jobs;
    const zk_worker_view *workers;
    size_t n_workers;
    const zk_srs_view *srs;
    size_t n_srs;
    const zk_memory_view *memory; /* by buffer */
    size_t n_memory;
    const zk_histogram *histograms;
    size_t n_histograms;
    uint64_t memory_budget_bytes, memory_reserved_bytes, machine_memory_bytes;
    uint64_t memory_base_bytes; /* of the budget, beside what is reserved: what processes take without work */
    /* of this process: without pages of files; what is allocated; what lies free in the allocator */
    uint64_t own_bytes, heap_live_bytes, heap_free_bytes;
    uint64_t retire_pending_bytes, retire_pending_items; /* freed later, over all workers */
    uint64_t n_completed, n_failed, n_cancelled;         /* since start */
    uint64_t n_submitted, n_joined, n_rejected;          /* requests: new jobs, answered by an earlier one, refused */
    uint64_t n_worker_crashes, n_retries, n_wrong_proofs, n_preempted;
    uint64_t n_worker_stalls;           /* among the crashes */
    uint64_t n_prepared_ahead;          /* partitions whose inputs were made beside the proof of another */
    uint64_t n_together;                /* partitions proved together with another, which they follow */
    uint64_t unaccounted_ns, traced_ns; /* sums over partitions: what no span covers, and all */
    uint64_t spool_bytes, journal_bytes;
    char journal_error[512]; /* "": the last call of the journal succeeded */
    uint32_t n_unwritten;    /* jobs that have ended, which the journal could not be told yet */
    uint32_t n_watches;
    bool fleet, fleet_lost; /* shares its journal; and cannot reach it */
    const zk_machine_view *machines;
    size_t n_machines;
} zk_engine_status;
cuzk_status zk_engine_get_status(zk_engine_status **status, zk_engine *engine, cuzk_err *err) ZK_MUST_USE;
void zk_engine_status_destroy(zk_engine_status *status); /* NULL is fine */

/* The spans of a finished or running job (NULL: of the last ones), of all processes on one clock (CLOCK_MONOTONIC, in
 * microseconds), as Chrome trace events: one JSON document. NOT_FOUND: no such job, or its trace is gone. */
cuzk_status zk_engine_trace(zk_engine *engine, const char *job_id, FILE *out, cuzk_err *err) ZK_MUST_USE;

/* ---- journal repair ---- */

typedef struct zk_salvage_report {
    uint64_t n_jobs, n_results, n_lost; /* rows kept, of them with a proof, rows that could not be read */
    uint64_t n_from_spool;              /* unfinished jobs taken back from their spool files */
    bool was_damaged;                   /* the old journal: its pages, or a row */
    bool was_missing;                   /* there was none: the new one is made of the spool */
    char old_path[4096];                /* where it is now: the name says whether it is intact or damaged */
} zk_salvage_report;
/* Copies what can be read into a new journal; one that is gone is made of the spool alone. spool_dir as in the options
 * (NULL: default). No engine may run. Refused (no such journal and nothing in the spool, one that is in use) or failed
 * (no room) it leaves everything as it was. */
cuzk_status zk_engine_salvage(zk_salvage_report *report, const char *journal_path, const char *spool_dir,
                              cuzk_err *err) ZK_MUST_USE;

#endif
