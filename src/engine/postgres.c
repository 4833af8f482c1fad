#include "engine/postgres.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/span.h"

/* The server gives a statement up after STATEMENT_MS; a server that says nothing at all is given up after ANSWER_MS. */
enum { STATEMENT_MS = 15000, ANSWER_MS = 20000, FIRST_WAIT_MS = 250, MAX_WAIT_MS = 10000 };

/* ---- the connection ---- */

void zk_pg_link_init(zk_pg_link *link, const char *dsn, const char *name) {
    memset(link, 0, sizeof *link);
    pthread_mutex_init(&link->lock, NULL);
    link->dsn = dsn;
    link->name = name;
}

static void disconnect(zk_pg_link *link) {
    PQfinish(link->conn);
    link->conn = NULL;
    link->backend_pid = 0;
}

void zk_pg_link_close(zk_pg_link *link) {
    disconnect(link);
    pthread_mutex_destroy(&link->lock);
}

/* The first line of what the library says. */
static void keep_error(zk_pg_link *link, const char *text) {
    snprintf(link->last_error, sizeof link->last_error, "%.*s", (int)strcspn(text, "\n"), text);
}

void zk_pg_lost(zk_pg_link *link, const char *why) {
    keep_error(link, why);
    disconnect(link);
}

static cuzk_status unreachable(const zk_pg_link *link, cuzk_err *err) {
    return ZK_FAIL(err, CUZK_IO, "the database of the fleet cannot be reached: %s", link->last_error);
}

/* What the library would print. */
static void log_notice(void *unused, const char *text) {
    (void)unused;
    ZK_LOG_DEBUG("the database of the fleet says", zk_kv_str("text", text));
}

static cuzk_status connect_now(zk_pg_link *link, cuzk_err *err) {
    /* What stands before dbname is a default: the connection string wins. */
    static const char *const keys[] = {"connect_timeout",  "keepalives_idle",           "keepalives_interval",
                                       "keepalives_count", "tcp_user_timeout",          "client_encoding",
                                       "dbname",           "fallback_application_name", NULL};
    const char *values[] = {"5", "10", "5", "3", "15000", "UTF8", link->dsn, link->name, NULL};
    disconnect(link);
    link->conn = PQconnectdbParams(keys, values, 1);
    bool good = link->conn && PQstatus(link->conn) == CONNECTION_OK && PQsetnonblocking(link->conn, 1) == 0;
    if (link->conn) PQsetNoticeProcessor(link->conn, log_notice, NULL);
    char settings[256];
    /* The keepalives let the server notice that a machine is gone whose transaction others wait for. */
    snprintf(settings, sizeof settings,
             "SET statement_timeout = %d; SET idle_in_transaction_session_timeout = %d;"
             "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3",
             STATEMENT_MS, ANSWER_MS);
    if (!good) zk_pg_lost(link, link->conn ? PQerrorMessage(link->conn) : "no memory");
    if (good && zk_pg_run(NULL, link, "settings", settings, NULL, NULL) != CUZK_OK) good = false;
    if (good) {
        link->n_failures = 0;
        link->n_connects++;
        link->backend_pid = PQbackendPID(link->conn);
        return CUZK_OK;
    }
    disconnect(link);
    uint64_t wait_ms = link->n_failures < 8 ? (uint64_t)FIRST_WAIT_MS << link->n_failures : MAX_WAIT_MS;
    link->n_failures++;
    link->not_before_ns = zk_now_ns() + (wait_ms < MAX_WAIT_MS ? wait_ms : MAX_WAIT_MS) * ZK_MS_NS;
    return unreachable(link, err);
}

/* A connection that the server has closed while nobody used it is seen here, and costs no statement. */
static bool is_alive(zk_pg_link *link) {
    struct pollfd p = {.fd = link->conn ? PQsocket(link->conn) : -1, .events = POLLIN};
    if (p.fd < 0) return false;
    for (int i = 0; i < 8 && poll(&p, 1, 0) > 0; i++)
        if (!PQconsumeInput(link->conn)) return false;
    return PQstatus(link->conn) == CONNECTION_OK;
}

static cuzk_status ensure_connected(zk_pg_link *link, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    if (!is_alive(link)) status = zk_now_ns() < link->not_before_ns ? unreachable(link, err) : connect_now(link, err);
    if (status != CUZK_OK) pthread_mutex_unlock(&link->lock);
    return status;
}

cuzk_status zk_pg_begin(zk_pg_link *link, cuzk_err *err) {
    pthread_mutex_lock(&link->lock);
    return ensure_connected(link, err);
}

cuzk_status zk_pg_begin_any(zk_pg_link **link, zk_pg_link *links, size_t n_links, cuzk_err *err) {
    *link = links;
    for (size_t i = 0; i < n_links; i++)
        if (pthread_mutex_trylock(&links[i].lock) == 0) {
            *link = &links[i];
            return ensure_connected(&links[i], err);
        }
    return zk_pg_begin(links, err);
}

void zk_pg_end(zk_pg_link *link) { pthread_mutex_unlock(&link->lock); }

/* ---- statements ---- */

static int *put(zk_pg_values *v, const char *data, size_t n, bool is_binary) {
    v->data[v->n] = data;
    v->n_bytes[v->n] = (int)n;
    v->is_binary[v->n] = is_binary;
    return &v->n;
}

void zk_pg_text(zk_pg_values *v, const char *text) { ++*put(v, text, 0, false); }

void zk_pg_u64(zk_pg_values *v, uint64_t value) {
    char *text = v->numbers[v->n];
    snprintf(text, sizeof v->numbers[0], "%" PRId64, (int64_t)value);
    zk_pg_text(v, text);
}

void zk_pg_bytes(zk_pg_values *v, const void *data, size_t n) { ++*put(v, data, n, true); }

/* Until the answer is there; false: the connection is lost or nothing comes. */
static bool await_answer(zk_pg_link *link) {
    uint64_t until = zk_now_ns() + ANSWER_MS * ZK_MS_NS;
    for (;;) {
        int unsent = PQflush(link->conn);
        if (unsent < 0) return false;
        if (unsent == 0 && !PQisBusy(link->conn)) return true;
        uint64_t now = zk_now_ns();
        struct pollfd p = {.fd = PQsocket(link->conn), .events = (short)(POLLIN | (unsent ? POLLOUT : 0))};
        if (now >= until) {
            zk_pg_lost(link, "no answer");
            return false;
        }
        if (poll(&p, 1, (int)((until - now) / ZK_MS_NS) + 1) > 0 && (p.revents & (POLLIN | POLLERR | POLLHUP)) &&
            !PQconsumeInput(link->conn))
            return false;
    }
}

/* Class and text of what the server or the library says against a statement. */
static cuzk_status refused(zk_pg_link *link, const char *what, const PGresult *result, cuzk_err *err) {
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    if (link->conn && PQstatus(link->conn) != CONNECTION_OK)
        zk_pg_lost(link, result ? PQresultErrorMessage(result) : PQerrorMessage(link->conn));
    if (!link->conn) return unreachable(link, err);
    keep_error(link, result ? PQresultErrorMessage(result) : PQerrorMessage(link->conn));
    if (state && strcmp(state, "22021") == 0)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "request_id: found bytes that are not UTF-8");
    return ZK_FAIL(err, CUZK_IO, "the database of the fleet: %s: %s", what, link->last_error);
}

static cuzk_status collect(PGresult **result, zk_pg_link *link, const char *what, cuzk_err *err) {
    PGresult *last = NULL, *next;
    cuzk_status status = CUZK_OK;
    for (;;) {
        if (!await_answer(link)) {
            if (link->conn) zk_pg_lost(link, PQerrorMessage(link->conn));
            break;
        }
        next = PQgetResult(link->conn);
        if (!next) break;
        ExecStatusType s = PQresultStatus(next);
        if (status == CUZK_OK && s != PGRES_TUPLES_OK && s != PGRES_COMMAND_OK) status = refused(link, what, next, err);
        PQclear(last);
        last = next;
    }
    if (status == CUZK_OK && (!link->conn || PQstatus(link->conn) != CONNECTION_OK || !last))
        status = refused(link, what, NULL, err);
    if (status == CUZK_OK && result) {
        *result = last;
        last = NULL;
    }
    PQclear(last);
    return status;
}

cuzk_status zk_pg_run(PGresult **result, zk_pg_link *link, const char *what, const char *sql, const zk_pg_values *v,
                      cuzk_err *err) {
    if (!link->conn) return unreachable(link, err);
    int sent = v ? PQsendQueryParams(link->conn, sql, v->n, NULL, v->data, v->n_bytes, v->is_binary, 1)
                 : PQsendQuery(link->conn, sql);
    if (!sent) return refused(link, what, NULL, err);
    return collect(result, link, what, err);
}

cuzk_status zk_pg_once(PGresult **result, zk_pg_link *link, const char *what, const char *sql, const zk_pg_values *v,
                       cuzk_err *err) {
    ZK_TRY(zk_pg_begin(link, err));
    cuzk_status status = zk_pg_run(result, link, what, sql, v, err);
    zk_pg_end(link);
    return status;
}

/* ---- cells ---- */

uint64_t zk_pg_get_u64(const PGresult *result, int row, int column) {
    return (uint64_t)strtoll(PQgetvalue(result, row, column), NULL, 10);
}

size_t zk_pg_get_bytes(void *out, size_t max, const PGresult *result, int row, int column) {
    size_t n = (size_t)PQgetlength(result, row, column);
    if (n > max) n = max;
    if (n) memcpy(out, PQgetvalue(result, row, column), n);
    return n;
}
