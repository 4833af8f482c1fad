/* PostgreSQL: a connection that comes back by itself, and statements on it. */
#ifndef ZK_ENGINE_POSTGRES_H
#define ZK_ENGINE_POSTGRES_H

#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/status.h"

/* Connects when it is used. After a failure the next attempt is made after 0.25 s, then twice as long each time, at
 * most 10 s; until then using it fails at once. */
typedef struct zk_pg_link {
    pthread_mutex_t lock; /* whoever has it uses the connection */
    const char *dsn, *name;
    PGconn *conn;
    atomic_int backend_pid; /* 0: not connected; read without the lock */
    uint64_t n_connects;
    uint64_t not_before_ns;
    unsigned n_failures;
    char last_error[256];
} zk_pg_link;

/* dsn and name (of the client, as the server shows it) stay the caller's and must live as long as the link. */
void zk_pg_link_init(zk_pg_link *link, const char *dsn, const char *name);
void zk_pg_link_close(zk_pg_link *link);
/* Takes the link and connects if need be. The caller has it until zk_pg_end, unless this fails: IO. */
cuzk_status zk_pg_begin(zk_pg_link *link, cuzk_err *err) ZK_MUST_USE;
/* One of several: one that nobody uses, if there is. */
cuzk_status zk_pg_begin_any(zk_pg_link **link, zk_pg_link *links, size_t n_links, cuzk_err *err) ZK_MUST_USE;
void zk_pg_end(zk_pg_link *link);
/* The connection is of no use any more. */
void zk_pg_lost(zk_pg_link *link, const char *why);

/* Parameters $1, $2 ... Text and bytes stay the caller's until the statement is done. */
enum { ZK_PG_MAX_VALUES = 20 };
typedef struct zk_pg_values {
    int n;
    const char *data[ZK_PG_MAX_VALUES];
    int n_bytes[ZK_PG_MAX_VALUES], is_binary[ZK_PG_MAX_VALUES];
    char numbers[ZK_PG_MAX_VALUES][24];
} zk_pg_values;
void zk_pg_text(zk_pg_values *values, const char *text);
void zk_pg_u64(zk_pg_values *values, uint64_t value);               /* as the signed number of the same bits */
void zk_pg_bytes(zk_pg_values *values, const void *data, size_t n); /* NULL: null */

/* Runs a statement on a link that the caller has. *result (may be NULL if not wanted) is to be given to PQclear; all
 * columns are text or bytea, in binary form. values NULL: no parameters; several statements are fine then, no result.
 * `what` names it in messages. IO: lost connection, or the server refuses; BAD_INPUT: text that is not UTF-8. */
cuzk_status zk_pg_run(PGresult **result, zk_pg_link *link, const char *what, const char *sql,
                      const zk_pg_values *values, cuzk_err *err) ZK_MUST_USE;
/* begin, run, end. */
cuzk_status zk_pg_once(PGresult **result, zk_pg_link *link, const char *what, const char *sql,
                       const zk_pg_values *values, cuzk_err *err) ZK_MUST_USE;

uint64_t zk_pg_get_u64(const PGresult *result, int row, int column); /* of a number as text; null: 0 */
size_t zk_pg_get_bytes(void *out, size_t max, const PGresult *result, int row, int column); /* cut off at max */

#endif
