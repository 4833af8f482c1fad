/* What the files of the journal in PostgreSQL share. */
#ifndef ZK_ENGINE_JOURNAL_POSTGRES_H
#define ZK_ENGINE_JOURNAL_POSTGRES_H

#include "engine/journal.h"
#include "engine/postgres.h"

enum { POSTGRES_CHUNK_BYTES = 1 << 20, POSTGRES_N_BULK = 2 };

typedef struct postgres_journal {
    zk_journal base;
    char *dsn, client_name[96];
    char name[64], id[ZK_JOB_ID_BYTES]; /* of this machine */
    uint64_t lease_ms;
    int lock_fd;
    zk_pg_link main, listener;        /* the listener is used by wait alone */
    zk_pg_link bulk[POSTGRES_N_BULK]; /* for content of more than one chunk */
    uint64_t n_listens;               /* connections of the listener that LISTEN was said on */
    bool deaf;                        /* the server does not know LISTEN */
    uint64_t next_poll_ns;
    atomic_uint_least64_t size_bytes;
} postgres_journal;

static inline postgres_journal *postgres_journal_of(zk_journal *journal) { return (postgres_journal *)journal; }

/* ---- journal_postgres_units.c: the shared part of zk_journal_ops ---- */
cuzk_status postgres_take(zk_journal_take *take, zk_journal *journal, const char *job_id, uint32_t wish, cuzk_err *err);
cuzk_status postgres_give_back(zk_journal *journal, const zk_journal_unit *unit, bool counts, uint64_t delay_ms,
                               cuzk_err *err);
cuzk_status postgres_prepared(zk_journal *journal, const char *job_id, uint32_t kind, uint64_t sector_bytes,
                              uint32_t n_partitions, cuzk_err *err);
cuzk_status postgres_raise(zk_journal *journal, const char *job_id, uint32_t priority, cuzk_err *err);
cuzk_status postgres_fetch(zk_journal *journal, const char *job_id, const char *path, cuzk_err *err);
cuzk_status postgres_wait(zk_journal *journal, uint64_t timeout_ms, void (*fn)(void *ctx, const char *job_id),
                          void *ctx, cuzk_err *err);
cuzk_status postgres_beat(zk_journal *journal, uint32_t n_workers, const zk_journal_unit *units, size_t n_units,
                          cuzk_err *err);
cuzk_status postgres_each_machine(zk_journal *journal, void (*fn)(void *ctx, const zk_journal_machine *machine),
                                  void *ctx, cuzk_err *err);

#endif
