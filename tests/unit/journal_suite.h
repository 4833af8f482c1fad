/* What every journal must do, and pieces for tests of journals. Include engine_common.h first. */
#ifndef ZK_TEST_JOURNAL_SUITE_H
#define ZK_TEST_JOURNAL_SUITE_H

#include "engine/journal.h"

static inline zk_content *suite_content(const char *spool, uint64_t max, const char *proof) {
    zk_content *content = NULL;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_folder_create(spool, &err), err);
    ZK_CHECK_OK(zk_content_open(&content, spool, max, &err), err);
    ZK_CHECK_OK(zk_content_field_begin(content, ZK_CONTENT_VANILLA_PROOF, strlen(proof), &err), err);
    /* in pieces */
    for (size_t i = 0; proof[i]; i++) ZK_CHECK_OK(zk_content_write(content, proof + i, 1, &err), err);
    return content;
}

/* Content in the spool; returns its size. */
static inline uint64_t suite_spool(zk_content_meta *meta, const char *spool, const char *id, const char *proof) {
    cuzk_err err = {0};
    uint64_t bytes = 0;
    zk_engine_request request = {
        .request_id = id, .kind = ZK_KIND_POREP, .priority = ZK_PRIORITY_LOW, .miner_id = UINT64_MAX};
    ZK_CHECK_OK(zk_content_commit(meta, &bytes, suite_content(spool, 1 << 20, proof), &request, &err), err);
    return bytes;
}

static inline cuzk_status suite_accept(bool *accepted, zk_journal *journal, const zk_content_meta *meta, uint64_t bytes,
                                       const char *spool, cuzk_err *err) {
    char path[ZK_SPOOL_PATH_BYTES];
    zk_spool_path(path, spool, meta->job_id);
    return journal->ops->accept(accepted, journal, meta, bytes, path, err);
}

/* An accepted job in journal and spool. */
static inline void suite_job(zk_content_meta *meta, zk_journal *journal, const char *spool, const char *id,
                             const char *proof) {
    cuzk_err err = {0};
    bool accepted = false;
    uint64_t bytes = suite_spool(meta, spool, id, proof);
    ZK_CHECK_OK(suite_accept(&accepted, journal, meta, bytes, spool, &err), err);
    ZK_CHECK(accepted);
}

static inline void suite_end(zk_journal *journal, const char *job_id, bool expected) {
    uint8_t proof[384];
    memset(proof, 7, sizeof proof);
    cuzk_err err = {0};
    bool ended = !expected;
    zk_journal_end end = {.state = ZK_JOURNAL_COMPLETED, .proof = proof, .n_proof = sizeof proof, .total_ms = 5};
    ZK_CHECK_OK(journal->ops->end(&ended, journal, job_id, &end, &err), err);
    ZK_CHECK(ended == expected);
}

static inline cuzk_status suite_count_open(void *ctx, const zk_journal_job *job, cuzk_err *err) {
    (void)err;
    *(unsigned *)ctx += job->meta.miner_id == UINT64_MAX && job->file_bytes > sizeof job->meta &&
                        job->state == ZK_JOURNAL_OPEN && job->meta.priority == ZK_PRIORITY_LOW;
    return CUZK_OK;
}

static inline unsigned suite_n_open(zk_journal *journal) {
    unsigned n = 0;
    cuzk_err err = {0};
    ZK_CHECK_OK(journal->ops->each_open(journal, suite_count_open, &n, &err), err);
    return n;
}

static inline void suite_count_partition(void *ctx, const zk_journal_partition *partition) {
    *(unsigned *)ctx += partition->proof[0] == 9 && partition->synth_ns == 3;
}

static inline unsigned suite_n_partitions(zk_journal *journal, const char *job_id) {
    unsigned n = 0;
    cuzk_err err = {0};
    ZK_CHECK_OK(journal->ops->each_partition(journal, job_id, suite_count_partition, &n, &err), err);
    return n;
}

/* The life of two jobs. `reopen` closes the journal and opens it again. */
static inline void suite_run(zk_journal *journal, zk_journal *(*reopen)(zk_journal *journal), const char *spool) {
    cuzk_err err = {0};
    zk_content_meta a, b;
    zk_result result;
    char id[ZK_JOB_ID_BYTES];
    bool found = true, kept = false, ended;
    zk_journal_state state;
    suite_job(&a, journal, spool, "same", "one");
    suite_job(&b, journal, spool, "same", "two");
    ZK_CHECK_OK(journal->ops->find(&found, id, &state, journal, "same", 4, a.digest, &err), err);
    ZK_CHECK(found && strcmp(id, a.job_id) == 0 && state == ZK_JOURNAL_OPEN);
    ZK_CHECK_OK(journal->ops->find(&found, id, &state, journal, "sam", 3, a.digest, &err), err);
    ZK_CHECK(!found);
    bool shared = zk_journal_is_shared(journal);
    if (shared) ZK_CHECK_OK(journal->ops->prepared(journal, a.job_id, ZK_KIND_POREP, 2048, 2, &err), err);
    zk_journal_partition partition = {.index = 1, .proof = {9}, .synth_ns = 3, .gpu_ns = UINT64_MAX};
    ZK_CHECK_OK(journal->ops->partition_done(&kept, journal, a.job_id, &partition, &err), err);
    ZK_CHECK(kept);
    ZK_CHECK_OK(journal->ops->partition_done(&kept, journal, a.job_id, &partition, &err), err);
    ZK_CHECK(kept == !shared); /* one process may say it twice; of many the first counts */
    journal = reopen(journal);
    ZK_CHECK(suite_n_open(journal) == 2 && suite_n_partitions(journal, a.job_id) == 1);
    ZK_CHECK_OK(journal->ops->result(&result, journal, a.job_id, &err), err);
    ZK_CHECK(result.outcome == ZK_OUTCOME_INTERRUPTED);
    suite_end(journal, a.job_id, true);
    suite_end(journal, a.job_id, false); /* once */
    ZK_CHECK_OK(journal->ops->partition_done(&kept, journal, a.job_id, &partition, &err), err);
    ZK_CHECK(!kept && suite_n_partitions(journal, a.job_id) == 0); /* none of a job that is over */
    ZK_CHECK_OK(journal->ops->result(&result, journal, a.job_id, &err), err);
    ZK_CHECK(result.outcome == ZK_OUTCOME_COMPLETED && result.n_proof == 384 && result.proof[383] == 7);
    ZK_CHECK(result.total_ms == 5 && result.kind == ZK_KIND_POREP && result.status == CUZK_OK);
    zk_result_clear(&result);
    ZK_CHECK_OK(journal->ops->find(&found, id, &state, journal, "same", 4, a.digest, &err), err);
    ZK_CHECK(found && state == ZK_JOURNAL_COMPLETED);
    zk_journal_end failure = {.state = ZK_JOURNAL_FAILED, .status = CUZK_BAD_INPUT, .message = "why"};
    ZK_CHECK_OK(journal->ops->end(&ended, journal, b.job_id, &failure, &err), err);
    ZK_CHECK_OK(journal->ops->result(&result, journal, b.job_id, &err), err);
    ZK_CHECK(result.outcome == ZK_OUTCOME_FAILED && strcmp(result.message, "why") == 0);
    ZK_CHECK(result.status == CUZK_BAD_INPUT && result.n_proof == 0);
    zk_result_clear(&result);
    ZK_CHECK_OK(journal->ops->find(&found, id, &state, journal, "same", 4, b.digest, &err), err);
    ZK_CHECK(!found); /* a failure is not kept for a repeated request */
    uint64_t expired = 0;
    ZK_CHECK_OK(journal->ops->expire(&expired, journal, 1000, &err), err);
    ZK_CHECK(expired == 0);
    ZK_CHECK_OK(journal->ops->expire(&expired, journal, UINT64_MAX >> 1, &err), err);
    ZK_CHECK(expired == 2);
    ZK_CHECK_OK(journal->ops->result(&result, journal, a.job_id, &err), err);
    ZK_CHECK(result.outcome == ZK_OUTCOME_UNKNOWN);
    /* an id that is there is refused, and nothing is half accepted */
    bool accepted = false;
    suite_job(&a, journal, spool, "", "three");
    ZK_CHECK(suite_accept(&accepted, journal, &a, 1, spool, &err) == CUZK_IO);
    ZK_CHECK(suite_n_open(journal) == 1);
    journal->ops->close(journal);
}

#endif
