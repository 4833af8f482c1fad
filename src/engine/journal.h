/* The journal: which jobs were accepted, what became of them. One interface, so that one machine can keep it in a file
 * and many can share it in a database ("fleet"). Each call is one transaction, durable when it returns. Any thread may
 * call.
 *
 * A job is made of units: its preparation, then its partitions. Where the journal is one process's own, that process
 * alone knows who works on what, and the members of zk_journal_ops marked "shared" are NULL. In a shared one a unit is
 * taken before work on it begins. Whoever has it says so again and again (beat); when that stays out for the time of
 * the lease anyone may take it. The first result of a unit is kept, each later one is dropped: no matter who has the
 * lease.
 *
 * IO: the disk or the database fails; the same call may succeed later. After IO of accept the job may be there
 * nevertheless, after IO of partition_done and end calling again is right. */
#ifndef ZK_ENGINE_JOURNAL_H
#define ZK_ENGINE_JOURNAL_H

#include "engine/content.h"
#include "groth16/verify.h"

typedef struct zk_journal zk_journal;

/* States as they are stored. A job in an open state has a spool file and is taken up at the next start. */
typedef enum zk_journal_state {
    ZK_JOURNAL_OPEN, /* accepted: queued or running */
    ZK_JOURNAL_COMPLETED,
    ZK_JOURNAL_FAILED,
    ZK_JOURNAL_CANCELLED
} zk_journal_state;

/* As a result tells it; a number that is no state: UNKNOWN. */
static inline zk_outcome zk_journal_outcome(uint64_t state) {
    switch (state) {
    case ZK_JOURNAL_OPEN:
        return ZK_OUTCOME_INTERRUPTED;
    case ZK_JOURNAL_COMPLETED:
        return ZK_OUTCOME_COMPLETED;
    case ZK_JOURNAL_FAILED:
        return ZK_OUTCOME_FAILED;
    case ZK_JOURNAL_CANCELLED:
        return ZK_OUTCOME_CANCELLED;
    default:
        return ZK_OUTCOME_UNKNOWN;
    }
}

/* A partition proved before the job was over. */
typedef struct zk_journal_partition {
    uint32_t index;
    uint8_t proof[ZK_PROOF_BYTES];
    uint64_t srs_load_ns, synth_ns, gpu_ns;
} zk_journal_partition;

/* What a job ended with. */
typedef struct zk_journal_end {
    zk_journal_state state;
    cuzk_status status;
    const char *message;
    const uint8_t *proof; /* [n_proof] */
    size_t n_proof;
    uint64_t queue_wait_ms, srs_load_ms, synthesis_ms, gpu_compute_ms, total_ms;
} zk_journal_end;

/* A job as the journal has it. */
typedef struct zk_journal_job {
    zk_content_meta meta; /* kind and size: as the preparation found them, once it is done */
    uint64_t file_bytes;
    zk_journal_state state;
    uint64_t age_ms;       /* since acceptance; 0: not told */
    uint32_t n_partitions; /* 0: not prepared, or not told */
    uint32_t n_done;       /* of them */
    bool started;          /* a unit was taken at some time; false: not told */
} zk_journal_job;
typedef cuzk_status (*zk_journal_job_fn)(void *ctx, const zk_journal_job *job, cuzk_err *err);

/* ---- of shared journals ---- */

#define ZK_JOURNAL_PREPARATION UINT32_MAX
typedef struct zk_journal_unit {
    char job_id[ZK_JOB_ID_BYTES];
    uint32_t index; /* partition, or ZK_JOURNAL_PREPARATION */
} zk_journal_unit;

typedef enum zk_journal_grant {
    ZK_JOURNAL_TAKEN,     /* it is the caller's */
    ZK_JOURNAL_NONE_FREE, /* others have all that is left */
    ZK_JOURNAL_OVER       /* the job is not open (any more) */
} zk_journal_grant;

typedef struct zk_journal_take {
    zk_journal_grant grant;
    uint32_t index;    /* TAKEN: which */
    uint32_t attempts; /* TAKEN: that failed and counted so far, of all machines */
    uint64_t retry_ms; /* NONE_FREE: earlier than this none will be free without a word (wait) */
} zk_journal_take;

typedef struct zk_journal_machine {
    char name[64], id[ZK_JOB_ID_BYTES]; /* id: of one life of one daemon */
    bool self;
    uint64_t seen_ago_ms, started_ago_ms;
    uint32_t n_workers, n_units; /* units it has */
    uint64_t n_proved;           /* partitions whose result was kept */
} zk_journal_machine;

typedef struct zk_journal_ops {
    /* Shared: gives back all units of this process first. */
    void (*close)(zk_journal *journal);
    /* Adds an open job, whose content is the file at `path`; a shared journal takes a copy. *accepted false (shared):
     * somebody else has added a job of the same request id and digest that is open or completed; find tells which. */
    cuzk_status (*accept)(bool *accepted, zk_journal *journal, const zk_content_meta *meta, uint64_t file_bytes,
                          const char *path, cuzk_err *err);
    /* The latest job with this request id and digest that is open or completed; *found false: none. */
    cuzk_status (*find)(bool *found, char job_id[ZK_JOB_ID_BYTES], zk_journal_state *state, zk_journal *journal,
                        const char *request_id, size_t n_request_id, const uint8_t digest[32], cuzk_err *err);
    /* *kept false: the job is not open any more, or (shared) the partition has a result already. */
    cuzk_status (*partition_done)(bool *kept, zk_journal *journal, const char *job_id,
                                  const zk_journal_partition *partition, cuzk_err *err);
    /* Ends an open job; *ended false: it was not open (any more), nothing is changed. */
    cuzk_status (*end)(bool *ended, zk_journal *journal, const char *job_id, const zk_journal_end *end, cuzk_err *err);
    /* The result of a job; outcome UNKNOWN: not there, INTERRUPTED: open. */
    cuzk_status (*result)(zk_result *result, zk_journal *journal, const char *job_id, cuzk_err *err);
    /* Calls fn for each open job, oldest first. fn must not call the journal. */
    cuzk_status (*each_open)(zk_journal *journal, zk_journal_job_fn fn, void *ctx, cuzk_err *err);
    cuzk_status (*each_partition)(zk_journal *journal, const char *job_id,
                                  void (*fn)(void *ctx, const zk_journal_partition *partition), void *ctx,
                                  cuzk_err *err);
    /* Forgets ended jobs that ended before this time of the wall clock. */
    cuzk_status (*expire)(uint64_t *n, zk_journal *journal, uint64_t ended_before_ms, cuzk_err *err);
    uint64_t (*size_bytes)(zk_journal *journal); /* shared: as the last beat found it */

    /* ---- shared ---- */
    /* Takes the preparation of a job (wish ZK_JOURNAL_PREPARATION), or one of its partitions: this one, else the next
     * that is free, the first following the last. */
    cuzk_status (*take)(zk_journal_take *take, zk_journal *journal, const char *job_id, uint32_t wish, cuzk_err *err);
    /* Gives a unit back that this process has; nobody gets it before delay_ms. counts: as an attempt. */
    cuzk_status (*give_back)(zk_journal *journal, const zk_journal_unit *unit, bool counts, uint64_t delay_ms,
                             cuzk_err *err);
    /* The preparation is done. Nothing happens if it was already. */
    cuzk_status (*prepared)(zk_journal *journal, const char *job_id, uint32_t kind, uint64_t sector_bytes,
                            uint32_t n_partitions, cuzk_err *err);
    /* Writes the content of a job to `path`, whole or not at all. BAD_INPUT: it is not what was accepted. */
    cuzk_status (*fetch)(zk_journal *journal, const char *job_id, const char *path, cuzk_err *err);
    /* One job, open or not; *found false: not there. */
    cuzk_status (*look)(bool *found, zk_journal_job *job, zk_journal *journal, const char *job_id, cuzk_err *err);
    /* Makes the job's priority at least this. */
    cuzk_status (*raise)(zk_journal *journal, const char *job_id, uint32_t priority, cuzk_err *err);
    /* Waits until others change something, at most timeout_ms; calls fn for each job that changed, with NULL when any
     * may have. One thread at a time. OK also when the connection is lost: that is told by NULL when it is back. */
    cuzk_status (*wait)(zk_journal *journal, uint64_t timeout_ms, void (*fn)(void *ctx, const char *job_id), void *ctx,
                        cuzk_err *err);
    /* This process is alive and has these units. To be called a few times in each lease. */
    cuzk_status (*beat)(zk_journal *journal, uint32_t n_workers, const zk_journal_unit *units, size_t n_units,
                        cuzk_err *err);
    cuzk_status (*each_machine)(zk_journal *journal, void (*fn)(void *ctx, const zk_journal_machine *machine),
                                void *ctx, cuzk_err *err);
} zk_journal_ops;

struct zk_journal {
    const zk_journal_ops *ops;
};

static inline bool zk_journal_is_shared(const zk_journal *journal) { return journal->ops->take != NULL; }

/* SQLite in WAL mode; every commit is flushed to the disk. The file is locked as long as it is open: EXHAUSTED if
 * another process has it. BAD_INPUT: damaged, or of a later version. */
cuzk_status zk_journal_open_sqlite(zk_journal **journal, const char *path, cuzk_err *err) ZK_MUST_USE;

typedef struct zk_journal_fleet {
    const char *dsn;     /* connection string or URI of the database */
    const char *machine; /* name for people; NULL or "": the host's */
    uint64_t lease_ms;   /* 0: 30 s */
    const char *path;    /* locked as that of a journal in a file: what lies beside it is this process's */
} zk_journal_fleet;
/* A database that many share; makes or updates its tables. IO: it cannot be reached. BAD_INPUT: tables of a later
 * version. UNSUPPORTED: this build has no library for it. */
cuzk_status zk_journal_open_fleet(zk_journal **journal, const zk_journal_fleet *fleet, cuzk_err *err) ZK_MUST_USE;

/* Locks the journal at `path` for this process; *fd is to be closed at the end. */
cuzk_status zk_journal_lock(int *fd, const char *path, cuzk_err *err) ZK_MUST_USE;
/* The same for the journal's file itself, which is there: the file beside it that zk_journal_lock makes may be deleted
 * while it is locked. To be closed after SQLite has let go of the journal: closing it ends the process's other locks. */
cuzk_status zk_journal_lock_file(int *fd, const char *path, cuzk_err *err) ZK_MUST_USE;

#endif
