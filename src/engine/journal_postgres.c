/* The journal of a fleet in PostgreSQL. Jobs and their units are rows; a unit is taken by locking its row with SKIP
 * LOCKED, so that machines do not wait for each other. All times are the server's. Everything that changes a job ends
 * with a notification, which carries the job's id. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/rand.h"
#include "base/span.h"
#include "engine/journal.h"
#include "engine/postgres.h"

enum { CHUNK_BYTES = 1 << 20, N_BULK = 2, POLL_MS = 1000 };

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

typedef struct postgres_journal {
    zk_journal base;
    char *dsn, client_name[96];
    char name[64], id[ZK_JOB_ID_BYTES]; /* of this machine */
    uint64_t lease_ms;
    int lock_fd;
    zk_pg_link main, listener; /* the listener is used by wait alone */
    zk_pg_link bulk[N_BULK];   /* for content of more than one chunk */
    uint64_t n_listens;        /* connections of the listener that LISTEN was said on */
    bool deaf;                 /* the server does not know LISTEN */
    uint64_t next_poll_ns;
    atomic_uint_least64_t size_bytes;
} postgres_journal;

static postgres_journal *self_of(zk_journal *journal) { return (postgres_journal *)journal; }

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
    uint8_t *chunk = zk_malloc(CHUNK_BYTES);
    size_t n = CHUNK_BYTES;
    if (!chunk) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory to send the content of a job");
    ZK_GOTO(zk_file_reader_create(&reader, path, err));
    for (uint64_t seq = 0; n == CHUNK_BYTES; seq++) {
        ZK_GOTO(zk_file_reader_read(&n, reader, chunk, CHUNK_BYTES, err));
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
    postgres_journal *self = self_of(journal);
    zk_pg_link *link = &self->main;
    cuzk_status status = CUZK_OK;
    *accepted = false;
    if (file_bytes > CHUNK_BYTES)
        ZK_TRY(zk_pg_begin_any(&link, self->bulk, N_BULK, err));
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
    ZK_TRY(zk_pg_once(&r, &self_of(journal)->main, "looking up a request",
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
    postgres_journal *self = self_of(journal);
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
    postgres_journal *self = self_of(journal);
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
    ZK_TRY(zk_pg_once(&r, &self_of(journal)->main, "reading a result",
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
    ZK_TRY(zk_pg_once(&r, &self_of(journal)->main, "reading open jobs",
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
    ZK_TRY(zk_pg_once(&r, &self_of(journal)->main, "looking at a job", JOB_COLUMNS "WHERE j.id = $1", &v, err));
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
    ZK_TRY(zk_pg_once(&r, &self_of(journal)->main, "reading partitions",
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
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000, day_ms = 86400000;
    /* As an age, for the clock of the server; a time to come is as good as tomorrow. */
    int64_t age_ms = ended_before_ms > now_ms
                         ? -(int64_t)(ended_before_ms - now_ms < day_ms ? ended_before_ms - now_ms : day_ms)
                         : (int64_t)(now_ms - ended_before_ms);
    zk_pg_u64(&v, (uint64_t)age_ms);
    *n = 0;
    ZK_TRY(zk_pg_once(&r, &self_of(journal)->main, "forgetting old results",
                      "DELETE FROM cuzk_jobs WHERE state > 0"
                      " AND ended < clock_timestamp() - $1::bigint * interval '1 ms'",
                      &v, err));
    *n = strtoull(PQcmdTuples(r), NULL, 10);
    PQclear(r);
    return CUZK_OK;
}

static uint64_t journal_size(zk_journal *journal) { return self_of(journal)->size_bytes; }

/* ---- units ---- */

static uint32_t index_of_row(uint64_t idx) { return (int64_t)idx < 0 ? ZK_JOURNAL_PREPARATION : (uint32_t)idx; }
static uint64_t row_of_index(uint32_t index) { return index == ZK_JOURNAL_PREPARATION ? UINT64_MAX : index; }

/* Why there is none, and when one may become free without being told: the first lease or delay that ends. */
static cuzk_status none_free(zk_journal_take *take, postgres_journal *self, const char *job_id, bool preparation,
                             cuzk_err *err) {
    PGresult *r = NULL;
    zk_pg_values v = {0};
    zk_pg_text(&v, job_id);
    zk_pg_text(&v, preparation ? "t" : "f");
    zk_pg_u64(&v, self->lease_ms);
    ZK_TRY(zk_pg_once(&r, &self->main, "looking at units",
                      "SELECT j.state::text, coalesce((extract(epoch FROM min(greatest(u.lease_until, u.not_before))"
                      " - clock_timestamp()) * 1000)::bigint, $3::bigint)::text"
                      " FROM cuzk_jobs j LEFT JOIN cuzk_units u"
                      " ON u.job_id = j.id AND NOT u.done AND (u.idx < 0) = $2::boolean"
                      " WHERE j.id = $1 GROUP BY j.id",
                      &v, err));
    bool open = PQntuples(r) == 1 && zk_pg_get_u64(r, 0, 0) == ZK_JOURNAL_OPEN;
    int64_t ms = open ? (int64_t)zk_pg_get_u64(r, 0, 1) : 0;
    take->grant = open ? ZK_JOURNAL_NONE_FREE : ZK_JOURNAL_OVER;
    take->retry_ms = ms < 100 ? 100 : (uint64_t)ms < self->lease_ms ? (uint64_t)ms : self->lease_ms;
    PQclear(r);
    return CUZK_OK;
}

static cuzk_status journal_take(zk_journal_take *take, zk_journal *journal, const char *job_id, bool preparation,
                                cuzk_err *err) {
    postgres_journal *self = self_of(journal);
    PGresult *r = NULL;
    zk_pg_values v = {0};
    zk_pg_text(&v, job_id);
    zk_pg_text(&v, preparation ? "t" : "f");
    zk_pg_text(&v, self->id);
    zk_pg_u64(&v, self->lease_ms);
    *take = (zk_journal_take){.grant = ZK_JOURNAL_NONE_FREE};
    ZK_TRY(
        zk_pg_once(&r, &self->main, "taking a unit",
                   "WITH free AS (SELECT u.job_id, u.idx FROM cuzk_units u JOIN cuzk_jobs j ON j.id = u.job_id"
                   " WHERE u.job_id = $1 AND j.state = 0 AND NOT u.done AND (u.idx < 0) = $2::boolean"
                   " AND (u.owner IS NULL OR u.lease_until < clock_timestamp()) AND u.not_before <= clock_timestamp()"
                   " ORDER BY u.idx LIMIT 1 FOR UPDATE OF u SKIP LOCKED)"
                   " UPDATE cuzk_units u SET owner = $3, takes = takes + 1,"
                   " lease_until = clock_timestamp() + $4::bigint * interval '1 ms'"
                   " FROM free WHERE u.job_id = free.job_id AND u.idx = free.idx"
                   " RETURNING u.idx::text, u.attempts::text",
                   &v, err));
    bool taken = PQntuples(r) == 1;
    if (taken) {
        take->grant = ZK_JOURNAL_TAKEN;
        take->index = index_of_row(zk_pg_get_u64(r, 0, 0));
        take->attempts = (uint32_t)zk_pg_get_u64(r, 0, 1);
    }
    PQclear(r);
    return taken ? CUZK_OK : none_free(take, self, job_id, preparation, err);
}

static cuzk_status journal_give_back(zk_journal *journal, const zk_journal_unit *unit, bool counts, uint64_t delay_ms,
                                     cuzk_err *err) {
    postgres_journal *self = self_of(journal);
    zk_pg_values v = {0};
    zk_pg_text(&v, unit->job_id);
    zk_pg_u64(&v, row_of_index(unit->index));
    zk_pg_u64(&v, counts);
    zk_pg_u64(&v, delay_ms);
    zk_pg_text(&v, self->id);
    return zk_pg_once(
        NULL, &self->main, "giving a unit back",
        "WITH b AS (UPDATE cuzk_units SET owner = NULL, lease_until = NULL, attempts = attempts + $3::int,"
        " not_before = clock_timestamp() + $4::bigint * interval '1 ms'"
        " WHERE job_id = $1 AND idx = $2::int AND owner = $5 AND NOT done RETURNING job_id)"
        " SELECT pg_notify('cuzk_jobs', job_id)::text FROM b",
        &v, err);
}

static cuzk_status journal_prepared(zk_journal *journal, const char *job_id, uint32_t kind, uint64_t sector_bytes,
                                    uint32_t n_partitions, cuzk_err *err) {
    zk_pg_values v = {0};
    zk_pg_text(&v, job_id);
    zk_pg_u64(&v, kind);
    zk_pg_u64(&v, sector_bytes);
    zk_pg_u64(&v, n_partitions);
    return zk_pg_once(NULL, &self_of(journal)->main, "keeping a preparation",
                      "WITH p AS (UPDATE cuzk_jobs SET kind = $2::int, sector_bytes = $3::bigint,"
                      " n_partitions = $4::int WHERE id = $1 AND state = 0 AND n_partitions IS NULL RETURNING id),"
                      " d AS (UPDATE cuzk_units SET done = true, owner = NULL, lease_until = NULL FROM p"
                      " WHERE job_id = p.id AND idx = -1),"
                      " i AS (INSERT INTO cuzk_units (job_id, idx)"
                      " SELECT p.id, g FROM p, generate_series(0, $4::int - 1) g)"
                      " SELECT pg_notify('cuzk_jobs', id)::text FROM p",
                      &v, err);
}

static cuzk_status journal_raise(zk_journal *journal, const char *job_id, uint32_t priority, cuzk_err *err) {
    zk_pg_values v = {0};
    zk_pg_text(&v, job_id);
    zk_pg_u64(&v, priority);
    return zk_pg_once(NULL, &self_of(journal)->main, "raising a priority",
                      "WITH r AS (UPDATE cuzk_jobs SET priority = $2::int WHERE id = $1 AND state = 0"
                      " AND priority < $2::int RETURNING id) SELECT pg_notify('cuzk_jobs', id)::text FROM r",
                      &v, err);
}

static cuzk_status write_chunks(zk_file_writer *writer, zk_pg_link *link, const char *job_id, cuzk_err *err) {
    for (uint64_t seq = 0;; seq++) {
        PGresult *r = NULL;
        zk_pg_values v = {0};
        zk_pg_text(&v, job_id);
        zk_pg_u64(&v, seq);
        ZK_TRY(zk_pg_run(&r, link, "fetching content",
                         "SELECT data FROM cuzk_content WHERE job_id = $1 AND seq = $2::int", &v, err));
        bool more = PQntuples(r) == 1;
        cuzk_status status =
            more ? zk_file_writer_write(writer, PQgetvalue(r, 0, 0), (size_t)PQgetlength(r, 0, 0), err) : CUZK_OK;
        PQclear(r);
        if (status != CUZK_OK || !more) return status;
    }
}

static cuzk_status journal_fetch(zk_journal *journal, const char *job_id, const char *path, cuzk_err *err) {
    postgres_journal *self = self_of(journal);
    zk_pg_link *link = NULL;
    zk_file_writer *writer = NULL;
    zk_spooled spooled = {0};
    ZK_TRY(zk_file_writer_create(&writer, path, err));
    cuzk_status status = zk_pg_begin_any(&link, self->bulk, N_BULK, err);
    if (status == CUZK_OK) {
        status = write_chunks(writer, link, job_id, err);
        zk_pg_end(link);
    }
    if (status == CUZK_OK)
        status = zk_file_writer_commit(writer, err);
    else
        zk_file_writer_abort(writer);
    if (status != CUZK_OK) return status;
    status = zk_spooled_open(&spooled, path, true, err);
    if (status == CUZK_OK && strcmp(spooled.meta.job_id, job_id) != 0)
        status = ZK_FAIL(err, CUZK_BAD_INPUT, "%s: the content of another job", path);
    zk_spooled_close(&spooled);
    if (status != CUZK_OK) unlink(path);
    return status;
}

/* ---- machines ---- */

/* Arrays of the units' ids and numbers, as PostgreSQL writes them. */
static cuzk_status unit_arrays(char **ids, char **numbers, const zk_journal_unit *units, size_t n, cuzk_err *err) {
    size_t room = n * (ZK_JOB_ID_BYTES + 1) + 3, n_ids = 1, n_numbers = 1;
    *ids = zk_malloc(room);
    *numbers = zk_malloc(room);
    if (!*ids || !*numbers) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for leases");
    (*ids)[0] = (*numbers)[0] = '{';
    for (size_t i = 0; i < n; i++) {
        n_ids += (size_t)sprintf(*ids + n_ids, "%s%.*s", i ? "," : "", ZK_JOB_ID_BYTES - 1, units[i].job_id);
        n_numbers += (size_t)sprintf(*numbers + n_numbers, "%s%d", i ? "," : "", (int)row_of_index(units[i].index));
    }
    strcpy(*ids + n_ids, "}");
    strcpy(*numbers + n_numbers, "}");
    return CUZK_OK;
}

/* A row that somebody else works on at this moment is left out: nobody waits here, so nobody waits in a circle. */
static cuzk_status renew_leases(postgres_journal *self, const zk_journal_unit *units, size_t n_units, cuzk_err *err) {
    char *ids = NULL, *numbers = NULL;
    cuzk_status status = unit_arrays(&ids, &numbers, units, n_units, err);
    if (status == CUZK_OK) {
        zk_pg_values v = {0};
        zk_pg_text(&v, self->id);
        zk_pg_text(&v, ids);
        zk_pg_text(&v, numbers);
        zk_pg_u64(&v, self->lease_ms);
        status = zk_pg_once(NULL, &self->main, "renewing leases",
                            "UPDATE cuzk_units u SET lease_until = clock_timestamp() + $4::bigint * interval '1 ms'"
                            " FROM (SELECT c.job_id, c.idx FROM cuzk_units c"
                            " JOIN unnest($2::text[], $3::int[]) AS h (job_id, idx) USING (job_id, idx)"
                            " WHERE c.owner = $1 AND NOT c.done FOR UPDATE OF c SKIP LOCKED) h"
                            " WHERE u.job_id = h.job_id AND u.idx = h.idx",
                            &v, err);
    }
    free(ids);
    free(numbers);
    return status;
}

static cuzk_status journal_beat(zk_journal *journal, uint32_t n_workers, const zk_journal_unit *units, size_t n_units,
                                cuzk_err *err) {
    static const zk_pg_values none = {0};
    postgres_journal *self = self_of(journal);
    PGresult *r = NULL;
    zk_pg_values v = {0};
    if (n_units) ZK_TRY(renew_leases(self, units, n_units, err));
    zk_pg_text(&v, self->id);
    zk_pg_text(&v, self->name);
    zk_pg_u64(&v, n_workers);
    ZK_TRY(zk_pg_once(NULL, &self->main, "a sign of life",
                      "WITH old AS (DELETE FROM cuzk_machines WHERE seen < now() - interval '1 hour' AND id <> $1)"
                      " INSERT INTO cuzk_machines (id, name, n_workers) VALUES ($1, $2, $3::int)"
                      " ON CONFLICT (id) DO UPDATE SET seen = now(), n_workers = excluded.n_workers",
                      &v, err));
    ZK_TRY(zk_pg_once(&r, &self->main, "the size of the tables",
                      "SELECT (pg_total_relation_size('cuzk_jobs') + pg_total_relation_size('cuzk_units')"
                      " + pg_total_relation_size('cuzk_content'))::text",
                      &none, err));
    self->size_bytes = zk_pg_get_u64(r, 0, 0);
    PQclear(r);
    return CUZK_OK;
}

static cuzk_status journal_each_machine(zk_journal *journal, void (*fn)(void *ctx, const zk_journal_machine *machine),
                                        void *ctx, cuzk_err *err) {
    static const zk_pg_values none = {0};
    postgres_journal *self = self_of(journal);
    PGresult *r = NULL;
    ZK_TRY(zk_pg_once(&r, &self->main, "reading machines",
                      "SELECT m.id, m.name, greatest(0, (extract(epoch FROM now() - m.seen) * 1000)::bigint)::text,"
                      " greatest(0, (extract(epoch FROM now() - m.started) * 1000)::bigint)::text, m.n_workers::text,"
                      " m.n_proved::text, (SELECT count(*) FROM cuzk_units u WHERE u.owner = m.id AND NOT u.done"
                      " AND u.lease_until > now())::text FROM cuzk_machines m ORDER BY m.name, m.started, m.id",
                      &none, err));
    for (int row = 0; row < PQntuples(r); row++) {
        zk_journal_machine m = {
            .seen_ago_ms = zk_pg_get_u64(r, row, 2),
            .started_ago_ms = zk_pg_get_u64(r, row, 3),
            .n_workers = (uint32_t)zk_pg_get_u64(r, row, 4),
            .n_proved = zk_pg_get_u64(r, row, 5),
            .n_units = (uint32_t)zk_pg_get_u64(r, row, 6),
        };
        zk_pg_get_bytes(m.id, sizeof m.id - 1, r, row, 0);
        zk_pg_get_bytes(m.name, sizeof m.name - 1, r, row, 1);
        m.self = strcmp(m.id, self->id) == 0;
        fn(ctx, &m);
    }
    PQclear(r);
    return CUZK_OK;
}

/* ---- waiting ---- */

/* News of others; what this process did it knows. Returns whether there were any. */
static bool deliver(postgres_journal *self, void (*fn)(void *ctx, const char *job_id), void *ctx) {
    bool any = false;
    for (PGnotify *n; (n = PQnotifies(self->listener.conn)); PQfreemem(n)) {
        bool own = n->be_pid == self->main.backend_pid;
        for (size_t i = 0; i < N_BULK; i++) own |= n->be_pid == self->bulk[i].backend_pid;
        if (own) continue;
        fn(ctx, zk_job_id_ok(n->extra) ? n->extra : NULL);
        any = true;
    }
    return any;
}

/* Says LISTEN on a new connection. What happened before it did is not known. */
static void listen_anew(postgres_journal *self, void (*fn)(void *ctx, const char *job_id), void *ctx) {
    cuzk_err err = {0};
    if (self->n_listens == self->listener.n_connects) return;
    cuzk_status status = zk_pg_run(NULL, &self->listener, "LISTEN", "LISTEN cuzk_jobs", NULL, &err);
    if (status != CUZK_OK && self->listener.conn && !self->deaf) {
        self->deaf = true;
        ZK_LOG_WARN("the database of the fleet has no notifications; it is asked every second",
                    zk_kv_str("error", err.message));
    }
    if (status != CUZK_OK && !self->listener.conn) return;
    self->n_listens = self->listener.n_connects;
    fn(ctx, NULL);
}

static cuzk_status journal_wait(zk_journal *journal, uint64_t timeout_ms, void (*fn)(void *ctx, const char *job_id),
                                void *ctx, cuzk_err *err) {
    postgres_journal *self = self_of(journal);
    uint64_t now = zk_now_ns(), until = now + timeout_ms * 1000000;
    (void)err;
    if (self->deaf && now >= self->next_poll_ns) {
        self->next_poll_ns = now + POLL_MS * UINT64_C(1000000);
        fn(ctx, NULL);
    }
    for (bool any = false; !any && (now = zk_now_ns()) < until;) {
        uint64_t left_ms = (until - now) / 1000000 + 1;
        if (zk_pg_begin(&self->listener, NULL) != CUZK_OK) {
            usleep((useconds_t)(left_ms < 100 ? left_ms : 100) * 1000);
            continue;
        }
        listen_anew(self, fn, ctx);
        if (self->listener.conn) any = deliver(self, fn, ctx);
        struct pollfd p = {.fd = self->listener.conn ? PQsocket(self->listener.conn) : -1, .events = POLLIN};
        if (!any && poll(&p, 1, (int)left_ms) > 0 && !PQconsumeInput(self->listener.conn))
            zk_pg_lost(&self->listener, PQerrorMessage(self->listener.conn));
        zk_pg_end(&self->listener);
    }
    return CUZK_OK;
}

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
    postgres_journal *self = self_of(journal);
    leave(self);
    zk_pg_link_close(&self->main);
    zk_pg_link_close(&self->listener);
    for (size_t i = 0; i < N_BULK; i++) zk_pg_link_close(&self->bulk[i]);
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
    .take = journal_take,
    .give_back = journal_give_back,
    .prepared = journal_prepared,
    .fetch = journal_fetch,
    .look = journal_look,
    .raise = journal_raise,
    .wait = journal_wait,
    .beat = journal_beat,
    .each_machine = journal_each_machine,
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
    for (size_t i = 0; i < N_BULK; i++) zk_pg_link_init(&self->bulk[i], self->dsn, self->client_name);
    if (!self->dsn) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the journal"));
    ZK_GOTO(name_machine(self, fleet->machine, err));
    ZK_GOTO(zk_journal_lock(&self->lock_fd, fleet->path, err));
    ZK_GOTO(zk_pg_begin(&self->main, err));
    status = migrate(&self->main, err);
    if (status != CUZK_OK) zk_pg_lost(&self->main, "the tables could not be made");
    zk_pg_end(&self->main);
    if (status == CUZK_OK) status = journal_beat(&self->base, 0, NULL, 0, err);
    if (status != CUZK_OK) goto out;
    *journal = &self->base;
    self = NULL;
out:
    if (self) journal_close(&self->base);
    return status;
}
