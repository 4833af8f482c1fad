/* The journal: which jobs were accepted, what became of them. One interface, so that one machine can keep it in SQLite
 * and many can share it elsewhere. Each call is one transaction, durable when it returns. Any thread may call. */
#ifndef ZK_ENGINE_JOURNAL_H
#define ZK_ENGINE_JOURNAL_H

#include "engine/content.h"

typedef struct zk_journal zk_journal;

/* States as they are stored. A job in an open state has a spool file and is taken up at the next start. */
typedef enum zk_journal_state {
    ZK_JOURNAL_OPEN, /* accepted: queued or running */
    ZK_JOURNAL_COMPLETED,
    ZK_JOURNAL_FAILED,
    ZK_JOURNAL_CANCELLED
} zk_journal_state;

/* A partition proved before the job was over. */
typedef struct zk_journal_partition {
    uint32_t index;
    uint8_t proof[192];
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

typedef struct zk_journal_ops {
    void (*close)(zk_journal *journal);
    /* Adds an open job. */
    cuzk_status (*accept)(zk_journal *journal, const zk_content_meta *meta, uint64_t file_bytes, cuzk_err *err);
    /* The latest job with this request id and digest that is open or completed; *found false: none. */
    cuzk_status (*find)(bool *found, char job_id[ZK_JOB_ID_BYTES], zk_journal_state *state, zk_journal *journal,
                        const char *request_id, size_t n_request_id, const uint8_t digest[32], cuzk_err *err);
    cuzk_status (*partition_done)(zk_journal *journal, const char *job_id, const zk_journal_partition *partition,
                                  cuzk_err *err);
    /* Ends an open job; *ended false: it was not open (any more), nothing is changed. */
    cuzk_status (*end)(bool *ended, zk_journal *journal, const char *job_id, const zk_journal_end *end, cuzk_err *err);
    /* The result of a job; outcome UNKNOWN: not there, INTERRUPTED: open. */
    cuzk_status (*result)(zk_result *result, zk_journal *journal, const char *job_id, cuzk_err *err);
    /* Calls fn for each open job, oldest first. */
    cuzk_status (*each_open)(zk_journal *journal,
                             cuzk_status (*fn)(void *ctx, const zk_content_meta *meta, uint64_t file_bytes,
                                               cuzk_err *err),
                             void *ctx, cuzk_err *err);
    cuzk_status (*each_partition)(zk_journal *journal, const char *job_id,
                                  void (*fn)(void *ctx, const zk_journal_partition *partition), void *ctx,
                                  cuzk_err *err);
    /* Forgets ended jobs that ended before this time of the wall clock. */
    cuzk_status (*expire)(uint64_t *n, zk_journal *journal, uint64_t ended_before_ms, cuzk_err *err);
    uint64_t (*size_bytes)(zk_journal *journal);
} zk_journal_ops;

struct zk_journal {
    const zk_journal_ops *ops;
};

/* SQLite in WAL mode; every commit is flushed to the disk. The file is locked as long as it is open: EXHAUSTED if
 * another process has it. BAD_INPUT: damaged, or of a later version. */
cuzk_status zk_journal_open_sqlite(zk_journal **journal, const char *path, cuzk_err *err) ZK_MUST_USE;

#endif
