/* The journal of a fleet in PostgreSQL. Jobs and their units are rows; a unit is taken by locking its row with SKIP
 * LOCKED, so that machines do not wait for each other. All times are the server's. Everything that changes a job ends
 * with a notification, which carries the job's id. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/rand.h"
#include "engine/journal_postgres.h"

/* The schema by version: entry v takes the tables from version v to v + 1. Numbers that may use all 64 bits are stored
 * as the signed number of the same bits. Unit -1 is the preparation. */
static const char *const migrations[] = {
    "CREATE TABLE cuzk_jobs ("
    " id text PRIMARY KEY, request_id text NOT NULL, digest bytea NOT NULL, kind int NOT NULL, priority int NOT NULL,"
    " partition_index bigint NOT NULL, sector_bytes bigint NOT NULL, registered_proof bigint NOT NULL,"
    " sector_number bigint NOT NULL, miner_id bigint NOT NULL, accepted_ms bigint NOT NULL,"
    " accepted timestamptz NOT NULL DEFAULT clock_timestamp(), file_bytes bigint NOT NULL, n_partitions int,"
    " state int NOT NULL DEFAULT 0, ended timestamptz, status int, message text, proof bytea, queue_wait_ms bigint,"
    " srs_load_ms bigint, synthesis_ms bigint, gpu_compute_ms bigint, total_ms bigint);"
    "CREATE UNIQUE INDEX cuzk_jobs_once ON cuzk_jobs (request_id, digest) WHERE state <= 1 AND request_id <> '';"
    "CREATE INDEX cuzk_jobs_open ON cuzk_jobs (accepted, id) WHERE state = 0;"
    "CREATE INDEX cuzk_jobs_ended ON cuzk_jobs (ended) WHERE state > 0;"
    "CREATE TABLE cuzk_units ("
    " job_id text NOT NULL REFERENCES cuzk_jobs ON DELETE CASCADE, idx int NOT NULL, owner text,"
    " lease_until timestamptz, not_before timestamptz NOT NULL DEFAULT now(), takes int NOT NULL DEFAULT 0,"
    " attempts int NOT NULL DEFAULT 0, done boolean NOT NULL DEFAULT false, proof bytea, srs_load_ns bigint,"
    " synth_ns bigint, gpu_ns bigint, PRIMARY KEY (job_id, idx));"
    "CREATE INDEX cuzk_units_owner ON cuzk_units (owner) WHERE owner IS NOT NULL;"
    "CREATE TABLE cuzk_content (job_id text NOT NULL, seq int NOT NULL, data bytea NOT NULL,"
    " PRIMARY KEY (job_id, seq));"
    "ALTER TABLE cuzk_content ALTER data SET STORAGE EXTERNAL;"
    "CREATE TABLE cuzk_machines ("
    " id text PRIMARY KEY, name text NOT NULL, started timestamptz NOT NULL DEFAULT now(),"
    " seen timestamptz NOT NULL DEFAULT now(), n_workers int NOT NULL, n_proved bigint NOT NULL DEFAULT 0);",
};
enum { VERSION = sizeof migrations / sizeof migrations[0] };

/* Columns of a job and the order in which job_of reads them. */
#define JOB_COLUMNS                                                                                                    \
    "SELECT j.id, j.request_id, j.digest, j.kind::text, j.priority::text, j.partition_index::text,"                    \
    " j.sector_bytes::text, j.registered_proof::text, j.sector_number::text, j.miner_id::text, j.accepted_ms::text,"   \
    " j.file_bytes::text, j.state::text, coalesce(j.n_partitions, 0)::text, u.n_done::text, u.n_takes::text,"          \
    " (extract(epoch FROM clock_timestamp() - j.accepted) * 1000)::bigint::text"                                       \
    " FROM cuzk_jobs j LEFT JOIN LATERAL (SELECT count(*) FILTER (WHERE done AND idx >= 0) AS n_done,"                 \
    " coalesce(sum(takes), 0) AS n_takes FROM cuzk_units WHERE job_id = j.id) u ON true "

/* ---- tables ---- */

static cuzk_status migrate(zk_pg_link *link, cuzk_err *err) {
    static const zk_pg_values none = {0};
    PGresult *r = NULL;
    cuzk_status status = CUZK_OK;
    char text[96];
    uint64_t version = 0;
    /* One at a time, until the end of the transaction; the key is ours by convention alone. */
    ZK_GOTO(zk_pg_run(NULL, link, "tables", "BEGIN; SELECT pg_advisory_xact_lock(7165906141)", NULL, err));
    /* Who may not create tables can use those that are there. */
    ZK_GOTO(zk_pg_run(&r, link, "tables", "SELECT coalesce(to_regclass('cuzk_version')::text, '')", &none, err));
    if (PQgetlength(r, 0, 0) == 0)
        ZK_GOTO(zk_pg_run(NULL, link, "making the tables",
                          "CREATE TABLE cuzk_version (version int NOT NULL); INSERT INTO cuzk_version VALUES (0)", NULL,
                          err));
    PQclear(r);
    r = NULL;
    ZK_GOTO(zk_pg_run(&r, link, "tables", "SELECT max(version)::text FROM cuzk_version", &none, err));
    version = zk_pg_get_u64(r, 0, 0);
    if (version > VERSION)
        ZK_GOTO(ZK_FAIL(err, CUZK_BAD_INPUT,
                        "the database of the fleet: tables of version %" PRIu64 ", this program knows up to %d",
                        version, (int)VERSION));
    for (; version < VERSION; version++) {
        ZK_GOTO(zk_pg_run(NULL, link, "making the tables", migrations[version], NULL, err));
        snprintf(text, sizeof text, "UPDATE cuzk_version SET version = %d", (int)version + 1);
        ZK_GOTO(zk_pg_run(NULL, link, "making the tables", text, NULL, err));
    }
    ZK_GOTO(zk_pg_run(NULL, link, "making the tables", "COMMIT", NULL, err));
out:
    PQclear(r);
    return status; /* after a failure the connection goes, and with it the transaction */
}

/* ---- jobs ---- */

static cuzk_status send_content(zk_pg_link *link, const char *job_id, const char *path, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_file_reader *reader = NULL;
    uint8_t *chunk = zk_malloc(POSTGRES_CHUNK_BYTES);
    size_t n = POSTGRES_CHUNK_BYTES;
    if (!chunk) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory to send the content of a job");
    ZK_GOTO(zk_file_reader_create(&reader, path, err));
    for (uint64_t seq = 0; n == POSTGRES_CHUNK_BYTES; seq++) {
        ZK_GOTO(zk_file_reader_read(&n, reader, chunk, POSTGRES_CHUNK_BYTES, err));
        if (n == 0) break;
        zk_pg_values v = {0};
        zk_pg_text(&v, job_id);
        zk_pg_u64(&v, seq);
        zk_pg_bytes(&v, chunk, n);
        ZK_GOTO(zk_pg_run(NULL, link, "sending content",
                          "INSERT INTO cuzk_content (job_id, seq, data) VALUES ($1, $2::int, $3::bytea)", &v, err));
    }
out:
    zk_file_reader_destroy(reader);
    free(chunk);
    return status;
}

static cuzk_status add_row(bool *added, zk_pg_link *link, const zk_content_meta *meta, uint64_t file_bytes,
                           cuzk_err *err) {
    char request_id[ZK_REQUEST_ID_MAX_BYTES + 1] = "";
    PGresult *r = NULL;
    zk_pg_values v = {0};
    memcpy(request_id, meta->request_id, meta->n_request_id);
    zk_pg_text(&v, meta->job_id);
    zk_pg_text(&v, request_id);
    zk_pg_bytes(&v, meta->digest, sizeof meta->digest);
    zk_pg_u64(&v, meta->kind);
    zk_pg_u64(&v, meta->priority);
    zk_pg_u64(&v, meta->partition_index);
    zk_pg_u64(&v, meta->sector_bytes);
    zk_pg_u64(&v, meta->registered_proof);
    zk_pg_u64(&v, meta->sector_number);
    zk_pg_u64(&v, meta->miner_id);
    zk_pg_u64(&v, meta->accepted_ms);
    zk_pg_u64(&v, file_bytes);
    ZK_TRY(zk_pg_run(&r, link, "accepting a job",
                     "WITH j AS (INSERT INTO cuzk_jobs (id, request_id, digest, kind, priority, partition_index,"
                     " sector_bytes, registered_proof, sector_number, miner_id, accepted_ms, file_bytes)"
                     " VALUES ($1, $2, $3::bytea, $4::int, $5::int, $6::bigint, $7::bigint, $8::bigint, $9::bigint,"
                     " $10::bigint, $11::bigint, $12::bigint)"
                     " ON CONFLICT (request_id, digest) WHERE state <= 1 AND request_id <> '' DO NOTHING RETURNING id)"
                     " SELECT pg_notify('cuzk_jobs', id)::text FROM j",
                     &v, err));
    *added = PQntuples(r) == 1;
    PQclear(r);
    if (!*added) return CUZK_OK;
    v = (zk_pg_values){0};
    zk_pg_text(&v, meta->job_id);
    return zk_pg_run(NULL, link, "accepting a job", "INSERT INTO cuzk_units (job_id, idx) VALUES ($1, -1)", &v, err);
}

/* The content first: whoever adds the same job at the same time waits only for what comes after the row. */
static cuzk_status journal_accept(bool *accepted, zk_journal *journal, const zk_content_meta *meta, uint64_t file_bytes,
                                  const char *path, cuzk_err *err) {
    postgres_journal *self = postgres_journal_of(journal);
    zk_pg_link *link = &self->main;
    cuzk_status status = CUZK_OK;
    *accepted = false;
    if (file_bytes > POSTGRES_CHUNK_BYTES)
        ZK_TRY(zk_pg_begin_any(&link, self->bulk, POSTGRES_N_BULK, err));
    else
        ZK_TRY(zk_pg_begin(link, err));
    ZK_GOTO(zk_pg_run(NULL, link, "accepting a job", "BEGIN", NULL, err));
    ZK_GOTO(send_content(link, meta->job_id, path, err));
    ZK_GOTO(add_row(accepted, link, meta, file_bytes, err));
    ZK_GOTO(zk_pg_run(NULL, link, "accepting a job", *accepted ? "COMMIT" : "ROLLBACK", NULL, err));
out:
    if (status != CUZK_OK) {
        *accepted = false;
        if (zk_pg_run(NULL, link, "giving up", "ROLLBACK", NULL, NULL) != CUZK_OK && link->conn)
            zk_pg_lost(link, "a transaction could not be ended");
    }
    zk_pg_end(link);
    return status;
}

static cuzk_status journal_find(bool *found, char job_id[ZK_JOB_ID_BYTES], zk_journal_state *state, zk_journal *journal,
                                const char *request_id, size_t n_request_id, const uint8_t digest[32], cuzk_err *err) {
    char id[ZK_REQUEST_ID_MAX_BYTES + 1];
    PGresult *r = NULL;
    zk_pg_values v = {0};
    snprintf(id, sizeof id, "%.*s", (int)n_request_id, request_id);
    zk_pg_text(&v, id);
    zk_pg_bytes(&v, digest, 32);
    *found = false;
    ZK_TRY(zk_pg_once(&r, &postgres_journal_of(journal)->main, "looking up a request",
                      "SELECT id, state::text FROM cuzk_jobs WHERE request_id = $1 AND digest = $2::bytea"
                      " AND state <= 1 ORDER BY accepted DESC LIMIT 1",
                      &v, err));
    *found = PQntuples(r) == 1;
    if (*found) {
        job_id[zk_pg_get_bytes(job_id, ZK_JOB_ID_BYTES - 1, r, 0, 0)] = 0;
        *state = (zk_journal_state)zk_pg_get_u64(r, 0, 1);
    }
    PQclear(r);
    return CUZK_OK;
}

static cuzk_status journal_partition_done(bool *kept, zk_journal *journal, const char *job_id,
                                          const zk_journal_partition *partition, cuzk_err *err) {
    postgres_journal *self = postgres_journal_of(journal);
    PGresult *r = NULL;
    zk_pg_values v = {0};
    zk_pg_text(&v, job_id);
    zk_pg_u64(&v, partition->index);
    zk_pg_bytes(&v, partition->proof, sizeof partition->proof);
    zk_pg_u64(&v, partition->srs_load_ns);
    zk_pg_u64(&v, partition->synth_ns);
    zk_pg_u64(&v, partition->gpu_ns);
    zk_pg_text(&v, self->id);
    *kept = false;
    ZK_TRY(zk_pg_once(&r, &self->main, "keeping a partition",
                      "WITH d AS (UPDATE cuzk_units u SET done = true, owner = NULL, lease_until = NULL,"
                      " proof = $3::bytea, srs_load_ns = $4::bigint, synth_ns = $5::bigint, gpu_ns = $6::bigint"
                      " FROM cuzk_jobs j WHERE u.job_id = $1 AND u.idx = $2::int AND NOT u.done AND j.id = u.job_id"
                      " AND j.state = 0 RETURNING u.job_id),"
                      " m AS (UPDATE cuzk_machines SET n_proved = n_proved + 1 WHERE id = $7"
                      " AND EXISTS (SELECT 1 FROM d))"
                      " SELECT pg_notify('cuzk_jobs', job_id)::text FROM d",
                      &v, err));
    *kept = PQntuples(r) == 1;
    PQclear(r);
    return CUZK_OK;
}

/* Text that the database takes whatever its encoding. */
static void plain_text(char *out, size_t n_out, const char *text) {
    size_t n = 0;
    for (const unsigned char *p = (const unsigned char *)(text ? text : ""); *p && n + 1 < n_out; p++)
        out[n++] = *p < 0x80 ? (char)*p : '?';
    out[n] = 0;
}

static cuzk_status journal_end(bool *ended, zk_journal *journal, const char *job_id, const zk_journal_end *end,
                               cuzk_err *err) {
    postgres_journal *self = postgres_journal_of(journal);
    char message[512];
    PGresult *r = NULL;
    zk_pg_values v = {0};
    plain_text(message, sizeof message, end->message);
    zk_pg_text(&v, job_id);
    zk_pg_u64(&v, (uint64_t)end->state);
    zk_pg_u64(&v, (uint64_t)end->status);
    zk_pg_text(&v, message);
    zk_pg_bytes(&v, end->proof, end->n_proof);
    zk_pg_u64(&v, end->queue_wait_ms);
    zk_pg_u64(&v, end->srs_load_ms);
    zk_pg_u64(&v, end->synthesis_ms);
    zk_pg_u64(&v, end->gpu_compute_ms);
    zk_pg_u64(&v, end->total_ms);
    zk_pg_text(&v, self->id);
    *ended = false;
    ZK_TRY(zk_pg_once(&r, &self->main, "ending a job",
                      "WITH e AS (UPDATE cuzk_jobs SET state = $2::int, ended = clock_timestamp(), status = $3::int,"
                      " message = $4, proof = $5::bytea, queue_wait_ms = $6::bigint, srs_load_ms = $7::bigint,"
                      " synthesis_ms = $8::bigint, gpu_compute_ms = $9::bigint, total_ms = $10::bigint"
                      " WHERE id = $1 AND state = 0 RETURNING id, state),"
                      " u AS (DELETE FROM cuzk_units USING e WHERE job_id = e.id RETURNING idx, owner, done),"
                      " c AS (DELETE FROM cuzk_content USING e WHERE job_id = e.id),"
                      " m AS (UPDATE cuzk_machines SET n_proved = n_proved + (SELECT count(*) FROM u"
                      " WHERE idx >= 0 AND NOT done AND owner = $11) WHERE id = $11"
                      " AND EXISTS (SELECT 1 FROM e WHERE state = 1))"
                      " SELECT pg_notify('cuzk_jobs', id)::text FROM e",
                      &v, err));
    *ended = PQntuples(r) == 1;
    PQclear(r);
    return CUZK_OK;
}

static cuzk_status read_result(zk_result *result, const PGresult *r, cuzk_err *err) {
    uint64_t state = zk_pg_get_u64(r, 0, 1);
    result->kind = (zk_proof_kind)zk_pg_get_u64(r, 0, 0);
    result->outcome = zk_journal_outcome(state);
    result->status = (cuzk_status)zk_pg_get_u64(r, 0, 2);
    result->message[zk_pg_get_bytes(result->message, sizeof result->message - 1, r, 0, 3)] = 0;
    result->n_proof = (size_t)PQgetlength(r, 0, 4);
    if (result->n_proof) {
        result->proof = zk_malloc(result->n_proof);
        if (!result->proof) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a proof");
        zk_pg_get_bytes(result->proof, result->n_proof, r, 0, 4);
    }
    result->queue_wait_ms = zk_pg_get_u64(r, 0, 5);
    result->srs_load_ms = zk_pg_get_u64(r, 0, 6);
    result->synthesis_ms = zk_pg_get_u64(r, 0, 7);
    result->gpu_compute_ms = zk_pg_get_u64(r, 0, 8);
    result->total_ms = zk_pg_get_u64(r, 0, 9);
    return CUZK_OK;
}

static cuzk_status journal_result(zk_result *result, zk_journal *journal, const char *job_id, cuzk_err *err) {
    PGresult *r = NULL;
    zk_pg_values v = {0};
    zk_pg_text(&v, job_id);
    *result = (zk_result){.outcome = ZK_OUTCOME_UNKNOWN};
    snprintf(result->job_id, sizeof result->job_id, "%s", job_id);
    ZK_TRY(zk_pg_once(&r, &postgres_journal_of(journal)->main, "reading a result",
                      "SELECT kind::text, state::text, status::text, message, proof, queue_wait_ms::text,"
                      " srs_load_ms::text, synthesis_ms::text, gpu_compute_ms::text, total_ms::text"
                      " FROM cuzk_jobs WHERE id = $1",
                      &v, err));
    cuzk_status status = PQntuples(r) == 1 ? read_result(result, r, err) : CUZK_OK;
    PQclear(r);
    if (status != CUZK_OK) zk_result_clear(result);
    return status;
}

static void job_of(zk_journal_job *job, const PGresult *r, int row) {
    *job = (zk_journal_job){
        .meta =
            {
                .kind = (uint32_t)zk_pg_get_u64(r, row, 3),
                .priority = (uint32_t)zk_pg_get_u64(r, row, 4),
                .partition_index = (uint32_t)zk_pg_get_u64(r, row, 5),
                .sector_bytes = zk_pg_get_u64(r, row, 6),
                .registered_proof = zk_pg_get_u64(r, row, 7),
                .sector_number = zk_pg_get_u64(r, row, 8),
                .miner_id = zk_pg_get_u64(r, row, 9),
                .accepted_ms = zk_pg_get_u64(r, row, 10),
            },
        .file_bytes = zk_pg_get_u64(r, row, 11),
        .state = (zk_journal_state)zk_pg_get_u64(r, row, 12),
        .n_partitions = (uint32_t)zk_pg_get_u64(r, row, 13),
        .n_done = (uint32_t)zk_pg_get_u64(r, row, 14),
        .started = zk_pg_get_u64(r, row, 15) > 0,
    };
    int64_t age_ms = (int64_t)zk_pg_get_u64(r, row, 16);
    job->age_ms = age_ms > 0 ? (uint64_t)age_ms : 0;
    zk_pg_get_bytes(job->meta.job_id, sizeof job->meta.job_id - 1, r, row, 0);
    job->meta.n_request_id = (uint32_t)zk_pg_get_bytes(job->meta.request_id, sizeof job->meta.request_id, r, row, 1);
    zk_pg_get_bytes(job->meta.digest, sizeof job->meta.digest, r, row, 2);
}

static cuzk_status journal_each_open(zk_journal *journal, zk_journal_job_fn fn, void *ctx, cuzk_err *err) {
    static const zk_pg_values none = {0};
    PGresult *r = NULL;
    cuzk_status status = CUZK_OK;
    ZK_TRY(zk_pg_once(&r, &postgres_journal_of(journal)->main, "reading open jobs",
                      JOB_COLUMNS "WHERE j.state = 0 ORDER BY j.accepted, j.id", &none, err));
    for (int row = 0; row < PQntuples(r) && status == CUZK_OK; row++) {
        zk_journal_job job;
        job_of(&job, r, row);
        status = fn(ctx, &job, err);
    }
    PQclear(r);
    return status;
}

static cuzk_status journal_look(bool *found, zk_journal_job *job, zk_journal *journal, const char *job_id,
                                cuzk_err *err) {
    PGresult *r = NULL;
    zk_pg_values v = {0};
    zk_pg_text(&v, job_id);
    *found = false;
    ZK_TRY(zk_pg_once(&r, &postgres_journal_of(journal)->main, "looking at a job", JOB_COLUMNS "WHERE j.id = $1", &v,
                      err));
    *found = PQntuples(r) == 1;
    if (*found) job_of(job, r, 0);
    PQclear(r);
    return CUZK_OK;
}

static cuzk_status journal_each_partition(zk_journal *journal, const char *job_id,
                                          void (*fn)(void *ctx, const zk_journal_partition *partition), void *ctx,
                                          cuzk_err *err) {
    PGresult *r = NULL;
    zk_pg_values v = {0};
    zk_pg_text(&v, job_id);
    ZK_TRY(zk_pg_once(&r, &postgres_journal_of(journal)->main, "reading partitions",
                      "SELECT idx::text, proof, srs_load_ns::text, synth_ns::text, gpu_ns::text FROM cuzk_units"
                      " WHERE job_id = $1 AND idx >= 0 AND done ORDER BY idx",
                      &v, err));
    for (int row = 0; row < PQntuples(r); row++) {
        zk_journal_partition partition = {
            .index = (uint32_t)zk_pg_get_u64(r, row, 0),
            .srs_load_ns = zk_pg_get_u64(r, row, 2),
            .synth_ns = zk_pg_get_u64(r, row, 3),
            .gpu_ns = zk_pg_get_u64(r, row, 4),
        };
        if (zk_pg_get_bytes(partition.proof, sizeof partition.proof, r, row, 1) == sizeof partition.proof)
            fn(ctx, &partition);
    }
    PQclear(r);
    return CUZK_OK;
}

static cuzk_status journal_expire(uint64_t *n, zk_journal *journal, uint64_t ended_before_ms, cuzk_err *err) {
    PGresult *r = NULL;
    zk_pg_values v = {0};
    uint64_t now_ms = zk_wall_ms(), day_ms = 86400000;
    /* As an age, for the clock of the server; a time to come is as good as tomorrow. */
    int64_t age_ms = ended_before_ms > now_ms
                         ? -(int64_t)(ended_before_ms - now_ms < day_ms ? ended_before_ms - now_ms : day_ms)
                         : (int64_t)(now_ms - ended_before_ms);
    zk_pg_u64(&v, (uint64_t)age_ms);
    *n = 0;
    ZK_TRY(zk_pg_once(&r, &postgres_journal_of(journal)->main, "forgetting old results",
                      "DELETE FROM cuzk_jobs WHERE state > 0"
                      " AND ended < clock_timestamp() - $1::bigint * interval '1 ms'",
                      &v, err));
    *n = strtoull(PQcmdTuples(r), NULL, 10);
    PQclear(r);
    return CUZK_OK;
}

static uint64_t journal_size(zk_journal *journal) { return postgres_journal_of(journal)->size_bytes; }

/* ---- opening ---- */

/* What this process has is free for others at once. */
static void leave(postgres_journal *self) {
    zk_pg_values v = {0};
    if (!self->main.conn || !self->id[0]) return;
    zk_pg_text(&v, self->id);
    cuzk_status status =
        zk_pg_once(NULL, &self->main, "leaving",
                   "WITH u AS (UPDATE cuzk_units SET owner = NULL, lease_until = NULL WHERE owner = $1 AND NOT done),"
                   " m AS (DELETE FROM cuzk_machines WHERE id = $1) SELECT pg_notify('cuzk_jobs', '*')::text",
                   &v, NULL);
    (void)status; /* else the leases end by themselves */
}

static void journal_close(zk_journal *journal) {
    postgres_journal *self = postgres_journal_of(journal);
    leave(self);
    zk_pg_link_close(&self->main);
    zk_pg_link_close(&self->listener);
    for (size_t i = 0; i < POSTGRES_N_BULK; i++) zk_pg_link_close(&self->bulk[i]);
    if (self->lock_fd >= 0) close(self->lock_fd);
    free(self->dsn);
    free(self);
}

static const zk_journal_ops ops = {
    .close = journal_close,
    .accept = journal_accept,
    .find = journal_find,
    .partition_done = journal_partition_done,
    .end = journal_end,
    .result = journal_result,
    .each_open = journal_each_open,
    .each_partition = journal_each_partition,
    .expire = journal_expire,
    .size_bytes = journal_size,
    .take = postgres_take,
    .give_back = postgres_give_back,
    .prepared = postgres_prepared,
    .fetch = postgres_fetch,
    .look = journal_look,
    .raise = postgres_raise,
    .wait = postgres_wait,
    .beat = postgres_beat,
    .each_machine = postgres_each_machine,
};

static cuzk_status name_machine(postgres_journal *self, const char *name, cuzk_err *err) {
    char host[64] = "";
    uint8_t random[8];
    char hex[17];
    if (!name || !*name) {
        gethostname(host, sizeof host - 1);
        name = host[0] ? host : "unnamed";
    }
    plain_text(self->name, sizeof self->name, name);
    ZK_TRY(zk_rand_bytes(random, sizeof random, err));
    zk_hex_encode(hex, random, sizeof random);
    snprintf(self->id, sizeof self->id, "machine-%s", hex);
    snprintf(self->client_name, sizeof self->client_name, "cuzk %s", self->name);
    return CUZK_OK;
}

cuzk_status zk_journal_open_fleet(zk_journal **journal, const zk_journal_fleet *fleet, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    postgres_journal *self = zk_calloc(1, sizeof *self);
    if (!self) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the journal");
    self->base.ops = &ops;
    self->lock_fd = -1;
    self->lease_ms = fleet->lease_ms ? fleet->lease_ms : 30000;
    self->dsn = zk_strdup(fleet->dsn);
    zk_pg_link_init(&self->main, self->dsn, self->client_name);
    zk_pg_link_init(&self->listener, self->dsn, self->client_name);
    for (size_t i = 0; i < POSTGRES_N_BULK; i++) zk_pg_link_init(&self->bulk[i], self->dsn, self->client_name);
    if (!self->dsn) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the journal"));
    ZK_GOTO(name_machine(self, fleet->machine, err));
    ZK_GOTO(zk_journal_lock(&self->lock_fd, fleet->path, err));
    ZK_GOTO(zk_pg_begin(&self->main, err));
    status = migrate(&self->main, err);
    if (status != CUZK_OK) zk_pg_lost(&self->main, "the tables could not be made");
    zk_pg_end(&self->main);
    if (status == CUZK_OK) status = postgres_beat(&self->base, 0, NULL, 0, err);
    if (status != CUZK_OK) goto out;
    *journal = &self->base;
    self = NULL;
out:
    if (self) journal_close(&self->base);
    return status;
}
