/* The journal of a fleet in PostgreSQL: who works on what, contents for others, machines, news. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/span.h"
#include "engine/journal_postgres.h"

enum { POLL_MS = 1000 };

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

cuzk_status postgres_take(zk_journal_take *take, zk_journal *journal, const char *job_id, uint32_t wish,
                          cuzk_err *err) {
    postgres_journal *self = postgres_journal_of(journal);
    PGresult *r = NULL;
    bool preparation = wish == ZK_JOURNAL_PREPARATION;
    zk_pg_values v = {0};
    zk_pg_text(&v, job_id);
    zk_pg_text(&v, preparation ? "t" : "f");
    zk_pg_text(&v, self->id);
    zk_pg_u64(&v, self->lease_ms);
    zk_pg_u64(&v, preparation ? 0 : wish);
    *take = (zk_journal_take){.grant = ZK_JOURNAL_NONE_FREE};
    ZK_TRY(
        zk_pg_once(&r, &self->main, "taking a unit",
                   "WITH free AS (SELECT u.job_id, u.idx FROM cuzk_units u JOIN cuzk_jobs j ON j.id = u.job_id"
                   " WHERE u.job_id = $1 AND j.state = 0 AND NOT u.done AND (u.idx < 0) = $2::boolean"
                   " AND (u.owner IS NULL OR u.lease_until < clock_timestamp()) AND u.not_before <= clock_timestamp()"
                   " ORDER BY u.idx < $5::int, u.idx LIMIT 1 FOR UPDATE OF u SKIP LOCKED)"
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

cuzk_status postgres_give_back(zk_journal *journal, const zk_journal_unit *unit, bool counts, uint64_t delay_ms,
                               cuzk_err *err) {
    postgres_journal *self = postgres_journal_of(journal);
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

cuzk_status postgres_prepared(zk_journal *journal, const char *job_id, uint32_t kind, uint64_t sector_bytes,
                              uint32_t n_partitions, cuzk_err *err) {
    zk_pg_values v = {0};
    zk_pg_text(&v, job_id);
    zk_pg_u64(&v, kind);
    zk_pg_u64(&v, sector_bytes);
    zk_pg_u64(&v, n_partitions);
    return zk_pg_once(NULL, &postgres_journal_of(journal)->main, "keeping a preparation",
                      "WITH p AS (UPDATE cuzk_jobs SET kind = $2::int, sector_bytes = $3::bigint,"
                      " n_partitions = $4::int WHERE id = $1 AND state = 0 AND n_partitions IS NULL RETURNING id),"
                      " d AS (UPDATE cuzk_units SET done = true, owner = NULL, lease_until = NULL FROM p"
                      " WHERE job_id = p.id AND idx = -1),"
                      " i AS (INSERT INTO cuzk_units (job_id, idx)"
                      " SELECT p.id, g FROM p, generate_series(0, $4::int - 1) g)"
                      " SELECT pg_notify('cuzk_jobs', id)::text FROM p",
                      &v, err);
}

cuzk_status postgres_raise(zk_journal *journal, const char *job_id, uint32_t priority, cuzk_err *err) {
    zk_pg_values v = {0};
    zk_pg_text(&v, job_id);
    zk_pg_u64(&v, priority);
    return zk_pg_once(NULL, &postgres_journal_of(journal)->main, "raising a priority",
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

cuzk_status postgres_fetch(zk_journal *journal, const char *job_id, const char *path, cuzk_err *err) {
    postgres_journal *self = postgres_journal_of(journal);
    zk_pg_link *link = NULL;
    zk_file_writer *writer = NULL;
    zk_spooled spooled = {0};
    ZK_TRY(zk_file_writer_create(&writer, path, err));
    cuzk_status status = zk_pg_begin_any(&link, self->bulk, POSTGRES_N_BULK, err);
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

cuzk_status postgres_beat(zk_journal *journal, uint32_t n_workers, const zk_journal_unit *units, size_t n_units,
                          cuzk_err *err) {
    static const zk_pg_values none = {0};
    postgres_journal *self = postgres_journal_of(journal);
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

cuzk_status postgres_each_machine(zk_journal *journal, void (*fn)(void *ctx, const zk_journal_machine *machine),
                                  void *ctx, cuzk_err *err) {
    static const zk_pg_values none = {0};
    postgres_journal *self = postgres_journal_of(journal);
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
        for (size_t i = 0; i < POSTGRES_N_BULK; i++) own |= n->be_pid == self->bulk[i].backend_pid;
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

cuzk_status postgres_wait(zk_journal *journal, uint64_t timeout_ms, void (*fn)(void *ctx, const char *job_id),
                          void *ctx, cuzk_err *err) {
    postgres_journal *self = postgres_journal_of(journal);
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
