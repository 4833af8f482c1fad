/* The journal of a fleet, on a real PostgreSQL: units are taken once, leases end, the first result counts. */
#include "engine_common.h"
#include "journal_suite.h"
#include "postgres_server.h"

#include <pthread.h>

enum { LONG_MS = 86400000 }; /* a lease that does not end in a test */

static zk_journal *open_as(const char *dsn, const char *name, uint64_t lease_ms) {
    char path[64];
    zk_journal *journal = NULL;
    cuzk_err err = {0};
    static unsigned n;
    snprintf(path, sizeof path, "journal-%s-%u", name, n++);
    zk_journal_fleet fleet = {.dsn = dsn, .machine = name, .lease_ms = lease_ms, .path = test_path(path)};
    ZK_CHECK_OK(zk_journal_open_fleet(&journal, &fleet, &err), err);
    return journal;
}

static zk_journal_take take_from(zk_journal *journal, const char *job_id, uint32_t wish) {
    zk_journal_take t;
    cuzk_err err = {0};
    ZK_CHECK_OK(journal->ops->take(&t, journal, job_id, wish, &err), err);
    return t;
}

static zk_journal_take take(zk_journal *journal, const char *job_id, bool preparation) {
    return take_from(journal, job_id, preparation ? ZK_JOURNAL_PREPARATION : 0);
}

static zk_journal_take take_when_free(zk_journal *journal, const char *job_id) {
    zk_journal_take t;
    TEST_UNTIL((t = take(journal, job_id, false)).grant == ZK_JOURNAL_TAKEN);
    return t;
}

static bool done(zk_journal *journal, const char *job_id, uint32_t index, uint8_t mark) {
    zk_journal_partition p = {.index = index, .proof = {mark}, .synth_ns = 3};
    bool kept;
    cuzk_err err = {0};
    ZK_CHECK_OK(journal->ops->partition_done(&kept, journal, job_id, &p, &err), err);
    return kept;
}

/* An accepted job of n partitions. */
static void prepared_job(zk_content_meta *meta, zk_journal *journal, uint32_t n) {
    cuzk_err err = {0};
    suite_job(meta, journal, test_path("spool"), "", "x");
    ZK_CHECK(take(journal, meta->job_id, true).grant == ZK_JOURNAL_TAKEN);
    ZK_CHECK_OK(journal->ops->prepared(journal, meta->job_id, ZK_KIND_WINDOW, 2048, n, &err), err);
}

/* ---- the common suite ---- */

static const char *suite_dsn;

static zk_journal *reopen(zk_journal *journal) {
    journal->ops->close(journal);
    return open_as(suite_dsn, "again", 0);
}

static void test_suite(void) {
    suite_dsn = pg_dsn("suite");
    suite_run(open_as(suite_dsn, "first", 0), reopen, test_path("suite.spool"));
}

/* ---- tables ---- */

static void *open_main(void *ctx) {
    zk_journal *journal = NULL;
    zk_journal_fleet fleet = {.dsn = suite_dsn, .path = ctx};
    return zk_journal_open_fleet(&journal, &fleet, NULL) == CUZK_OK ? journal : NULL;
}

static void test_tables(void) {
    enum { N = 6 };
    static char paths[N][512];
    pthread_t threads[N];
    zk_journal *journals[N];
    suite_dsn = pg_dsn("tables");
    for (size_t i = 0; i < N; i++) {
        snprintf(paths[i], sizeof paths[i], "%s-%zu", test_path("tables"), i);
        ZK_CHECK(pthread_create(&threads[i], NULL, open_main, paths[i]) == 0);
    }
    for (size_t i = 0; i < N; i++) pthread_join(threads[i], (void **)&journals[i]);
    for (size_t i = 0; i < N; i++) {
        ZK_CHECK(journals[i] != NULL);
        journals[i]->ops->close(journals[i]);
    }
    ZK_CHECK(pg_ask(suite_dsn, "SELECT count(*) FROM cuzk_version") == 1);
    zk_journal *journal = NULL;
    cuzk_err err = {0};
    zk_journal_fleet fleet = {.dsn = suite_dsn, .path = test_path("tables")};
    /* of a later program */
    pg_ask(suite_dsn, "UPDATE cuzk_version SET version = version + 1");
    ZK_CHECK(zk_journal_open_fleet(&journal, &fleet, &err) == CUZK_BAD_INPUT && strstr(err.message, "version 2"));
    zk_err_reset(&err);
    /* who may not make tables can use them */
    pg_ask(suite_dsn, "UPDATE cuzk_version SET version = version - 1;"
                      "CREATE ROLE guest LOGIN; GRANT USAGE ON SCHEMA tables TO guest;"
                      "GRANT ALL ON ALL TABLES IN SCHEMA tables TO guest");
    char dsn[300];
    snprintf(dsn, sizeof dsn, "%s user=guest", suite_dsn);
    fleet.dsn = dsn;
    ZK_CHECK_OK(zk_journal_open_fleet(&journal, &fleet, &err), err);
    journal->ops->close(journal);
    fleet.dsn = "host=/nowhere user=cuzk password=secret";
    ZK_CHECK(zk_journal_open_fleet(&journal, &fleet, &err) == CUZK_IO);
    ZK_CHECKF(strstr(err.message, "/nowhere") && !strstr(err.message, "secret"), "%s", err.message);
}

/* ---- units ---- */

static void test_units(void) {
    const char *dsn = pg_dsn("units");
    zk_journal *a = open_as(dsn, "a", LONG_MS), *b = open_as(dsn, "b", LONG_MS);
    zk_content_meta job;
    cuzk_err err = {0};
    suite_job(&job, a, test_path("spool"), "id", "x");
    ZK_CHECK(take(b, job.job_id, false).grant == ZK_JOURNAL_NONE_FREE); /* no partitions yet */
    zk_journal_take t = take(b, job.job_id, true);
    ZK_CHECK(t.grant == ZK_JOURNAL_TAKEN && t.index == ZK_JOURNAL_PREPARATION && t.attempts == 0);
    t = take(a, job.job_id, true);
    ZK_CHECKF(t.grant == ZK_JOURNAL_NONE_FREE && t.retry_ms > LONG_MS / 2 && t.retry_ms <= LONG_MS, "%d %llu",
              (int)t.grant, (unsigned long long)t.retry_ms);
    ZK_CHECK_OK(b->ops->prepared(b, job.job_id, ZK_KIND_WINDOW, 4096, 3, &err), err);
    ZK_CHECK_OK(a->ops->prepared(a, job.job_id, ZK_KIND_WINDOW, 4096, 7, &err), err); /* too late */
    bool found;
    zk_journal_job seen;
    ZK_CHECK_OK(a->ops->look(&found, &seen, a, job.job_id, &err), err);
    ZK_CHECK(found && seen.n_partitions == 3 && seen.meta.kind == ZK_KIND_WINDOW && seen.meta.sector_bytes == 4096);
    ZK_CHECK(seen.started && seen.n_done == 0 && seen.age_ms < LONG_MS && seen.state == ZK_JOURNAL_OPEN);
    ZK_CHECK_MEM(seen.meta.digest, job.digest, 32);
    ZK_CHECK(seen.meta.n_request_id == 2 && memcmp(seen.meta.request_id, "id", 2) == 0);
    ZK_CHECK(take(a, job.job_id, false).index == 0 && take(b, job.job_id, false).index == 1);
    ZK_CHECK(take(a, job.job_id, false).index == 2 && take(a, job.job_id, false).grant == ZK_JOURNAL_NONE_FREE);
    /* given back: with a delay, counted, and only by who has it */
    zk_journal_unit unit = {.index = 2};
    memcpy(unit.job_id, job.job_id, sizeof unit.job_id);
    ZK_CHECK_OK(b->ops->give_back(b, &unit, true, 0, &err), err);
    ZK_CHECK(take(b, job.job_id, false).grant == ZK_JOURNAL_NONE_FREE);
    ZK_CHECK_OK(a->ops->give_back(a, &unit, true, LONG_MS / 4, &err), err);
    t = take(b, job.job_id, false);
    ZK_CHECK(t.grant == ZK_JOURNAL_NONE_FREE && t.retry_ms > LONG_MS / 8 && t.retry_ms <= LONG_MS / 4);
    pg_ask(dsn, "UPDATE cuzk_units SET not_before = clock_timestamp() WHERE idx = 2");
    ZK_CHECK(take(a, job.job_id, false).index == 2);
    uint64_t start = zk_now_ns();
    ZK_CHECK_OK(a->ops->give_back(a, &unit, true, 300, &err), err);
    t = take_when_free(b, job.job_id);
    ZK_CHECKF(zk_now_ns() - start > 250 * ZK_MS_NS, "%llu ms", (unsigned long long)((zk_now_ns() - start) / ZK_MS_NS));
    ZK_CHECK(t.index == 2 && t.attempts == 2);
    ZK_CHECK(done(b, job.job_id, 2, 9) && suite_n_partitions(a, job.job_id) == 1);
    suite_end(b, job.job_id, true);
    ZK_CHECK(take(a, job.job_id, false).grant == ZK_JOURNAL_OVER);
    ZK_CHECK(take(a, "job-none", false).grant == ZK_JOURNAL_OVER);
    /* what is wished for, else what follows, else the first */
    zk_content_meta other;
    prepared_job(&other, a, 4);
    ZK_CHECK(take_from(a, other.job_id, 2).index == 2 && take_from(b, other.job_id, 2).index == 3);
    ZK_CHECK(take_from(a, other.job_id, 2).index == 0 && take_from(b, other.job_id, 9).index == 1);
    suite_end(a, other.job_id, true);
    ZK_CHECK(pg_ask(dsn, "SELECT (SELECT count(*) FROM cuzk_units) + (SELECT count(*) FROM cuzk_content)") == 0);
    a->ops->close(a);
    b->ops->close(b);
}

/* Who goes on saying that it has a unit keeps it; who does not loses it, and its late result is dropped: or kept, if it
 * comes before the other's. */
static void test_leases(void) {
    const char *dsn = pg_dsn("leases");
    zk_journal *a = open_as(dsn, "a", LONG_MS), *b = open_as(dsn, "b", LONG_MS);
    zk_content_meta job;
    cuzk_err err = {0};
    prepared_job(&job, a, 3);
    for (uint32_t i = 0; i < 3; i++) ZK_CHECK(take(a, job.job_id, false).index == i);
    zk_journal_unit kept = {.index = 1}, foreign = {.index = 0};
    memcpy(kept.job_id, job.job_id, sizeof kept.job_id);
    memcpy(foreign.job_id, job.job_id, sizeof foreign.job_id);
    pg_ask(dsn, "UPDATE cuzk_units SET lease_until = clock_timestamp() - interval '1 s' WHERE NOT done");
    ZK_CHECK_OK(a->ops->beat(a, 1, &kept, 1, &err), err);
    ZK_CHECK_OK(b->ops->beat(b, 2, &foreign, 1, &err), err); /* saying so of another's is not having it */
    ZK_CHECK(take(b, job.job_id, false).index == 0 && take(b, job.job_id, false).index == 2);
    ZK_CHECK(take(b, job.job_id, false).grant == ZK_JOURNAL_NONE_FREE);
    ZK_CHECK(done(b, job.job_id, 0, 1) && !done(a, job.job_id, 0, 2));
    ZK_CHECK(done(a, job.job_id, 2, 3) && !done(b, job.job_id, 2, 4));
    ZK_CHECK(pg_ask(dsn, "SELECT get_byte(proof, 0) FROM cuzk_units WHERE idx = 0") == 1);
    ZK_CHECK(pg_ask(dsn, "SELECT get_byte(proof, 0) FROM cuzk_units WHERE idx = 2") == 3);
    /* whoever closes leaves nothing behind */
    a->ops->close(a);
    zk_journal_take t = take(b, job.job_id, false);
    ZK_CHECK(t.grant == ZK_JOURNAL_TAKEN && t.index == 1);
    b->ops->close(b);
    ZK_CHECK(pg_ask(dsn, "SELECT count(*) FROM cuzk_machines") == 0);
}

/* A lease ends by itself, not before its time, and from a sign of life on it is as long as at first. */
static void test_lease_ends(void) {
    enum { MS = 400 };
    const char *dsn = pg_dsn("lease_ends");
    zk_journal *a = open_as(dsn, "a", MS), *b = open_as(dsn, "b", LONG_MS);
    zk_content_meta job;
    cuzk_err err = {0};
    zk_journal_unit unit = {.index = 0};
    for (unsigned beats = 0; beats < 2; beats++) {
        prepared_job(&job, b, 1);
        memcpy(unit.job_id, job.job_id, sizeof unit.job_id);
        uint64_t start = zk_now_ns();
        ZK_CHECK(take(a, job.job_id, false).grant == ZK_JOURNAL_TAKEN);
        if (beats) {
            usleep(MS * 1000 / 2);
            start = zk_now_ns();
            ZK_CHECK_OK(a->ops->beat(a, 1, &unit, 1, &err), err);
        }
        take_when_free(b, job.job_id);
        ZK_CHECKF(zk_now_ns() - start > (MS - 50) * ZK_MS_NS, "%llu ms",
                  (unsigned long long)((zk_now_ns() - start) / ZK_MS_NS));
    }
    a->ops->close(a);
    b->ops->close(b);
}

/* ---- at the same time ---- */

enum { N_TAKERS = 6, N_UNITS = 60 };
static zk_content_meta shared_job;
static atomic_uint taken[N_UNITS];

static void *taker_main(void *ctx) {
    zk_journal *journal = ctx;
    for (;;) {
        zk_journal_take t;
        if (journal->ops->take(&t, journal, shared_job.job_id, 7, NULL) != CUZK_OK) return journal;
        if (t.grant != ZK_JOURNAL_TAKEN) return NULL;
        taken[t.index]++;
    }
}

static void test_skip_locked(void) {
    const char *dsn = pg_dsn("skip");
    zk_journal *journals[N_TAKERS];
    pthread_t threads[N_TAKERS];
    for (size_t i = 0; i < N_TAKERS; i++) journals[i] = open_as(dsn, "taker", LONG_MS);
    prepared_job(&shared_job, journals[0], N_UNITS);
    for (size_t i = 0; i < N_TAKERS; i++) ZK_CHECK(pthread_create(&threads[i], NULL, taker_main, journals[i]) == 0);
    for (size_t i = 0; i < N_TAKERS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        ZK_CHECK(!failed);
    }
    for (size_t i = 0; i < N_UNITS; i++) ZK_CHECKF(taken[i] == 1, "unit %zu: %u times", i, taken[i]);
    for (size_t i = 0; i < N_TAKERS; i++) journals[i]->ops->close(journals[i]);
}

typedef struct acceptor {
    zk_journal *journal;
    zk_content_meta meta;
    uint64_t bytes;
    char spool[512];
    bool accepted;
    cuzk_status status;
} acceptor;

static void *acceptor_main(void *ctx) {
    acceptor *a = ctx;
    a->status = suite_accept(&a->accepted, a->journal, &a->meta, a->bytes, a->spool, NULL);
    return NULL;
}

static void test_once(void) {
    const char *dsn = pg_dsn("once");
    enum { N = 6 };
    static acceptor acceptors[N];
    pthread_t threads[N];
    for (size_t i = 0; i < N; i++) {
        acceptor *a = &acceptors[i];
        a->journal = open_as(dsn, "acceptor", 0);
        snprintf(a->spool, sizeof a->spool, "%s", test_path("once"));
        a->bytes = suite_spool(&a->meta, a->spool, "request", "the same");
    }
    for (size_t i = 0; i < N; i++) ZK_CHECK(pthread_create(&threads[i], NULL, acceptor_main, &acceptors[i]) == 0);
    unsigned n = 0;
    for (size_t i = 0; i < N; i++) {
        pthread_join(threads[i], NULL);
        ZK_CHECK(acceptors[i].status == CUZK_OK);
        n += acceptors[i].accepted;
    }
    ZK_CHECKF(n == 1, "%u accepted", n);
    ZK_CHECK(pg_ask(dsn, "SELECT count(*) FROM cuzk_jobs") == 1);
    ZK_CHECK(pg_ask(dsn, "SELECT count(*) FROM cuzk_content") == 1);
    char id[ZK_JOB_ID_BYTES];
    bool found, accepted;
    zk_journal_state state;
    cuzk_err err = {0};
    zk_journal *j = acceptors[0].journal;
    ZK_CHECK_OK(j->ops->find(&found, id, &state, j, "request", 7, acceptors[0].meta.digest, &err), err);
    ZK_CHECK(found && state == ZK_JOURNAL_OPEN);
    /* completed, it is still the one; failed, it is not */
    suite_end(j, id, true);
    ZK_CHECK_OK(suite_accept(&accepted, j, &acceptors[1].meta, acceptors[1].bytes, acceptors[1].spool, &err), err);
    ZK_CHECK(!accepted || strcmp(id, acceptors[1].meta.job_id) == 0);
    pg_ask(dsn, "UPDATE cuzk_jobs SET state = 2");
    acceptor *other = strcmp(id, acceptors[1].meta.job_id) == 0 ? &acceptors[2] : &acceptors[1];
    ZK_CHECK_OK(suite_accept(&accepted, j, &other->meta, other->bytes, other->spool, &err), err);
    ZK_CHECK(accepted);
    /* without an id there is nothing to be the same */
    zk_content_meta one, two;
    suite_job(&one, j, test_path("once"), "", "nameless");
    suite_job(&two, j, test_path("once"), "", "nameless");
    /* text that the database cannot hold */
    uint64_t bytes = suite_spool(&one, test_path("once"), "\xff\xfe", "x");
    ZK_CHECK(suite_accept(&accepted, j, &one, bytes, test_path("once"), &err) == CUZK_BAD_INPUT);
    for (size_t i = 0; i < N; i++) acceptors[i].journal->ops->close(acceptors[i].journal);
}

/* ---- content ---- */

static void test_content(void) {
    const char *dsn = pg_dsn("content");
    zk_journal *a = open_as(dsn, "a", 0), *b = open_as(dsn, "b", 0);
    const size_t sizes[] = {0, 1000, (1 << 20) - 1, 1 << 20, 5 << 19};
    char there[512], here[512];
    cuzk_err err = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        zk_content *content = NULL;
        zk_content_meta meta;
        uint64_t bytes = 0, seed = i;
        bool accepted;
        uint8_t *data = malloc(sizes[i] + 8), *found = NULL;
        size_t n_found = 0;
        for (size_t k = 0; k < sizes[i]; k += 8) {
            uint64_t word = zk_test_rand(&seed);
            memcpy(data + k, &word, 8);
        }
        snprintf(there, sizeof there, "%s", test_path("content-a"));
        ZK_CHECK_OK(zk_folder_create(there, &err), err);
        ZK_CHECK_OK(zk_content_open(&content, there, 8 << 20, &err), err);
        ZK_CHECK_OK(zk_content_field_begin(content, ZK_CONTENT_VANILLA_PROOF, sizes[i], &err), err);
        ZK_CHECK_OK(zk_content_write(content, data, sizes[i], &err), err);
        zk_engine_request request = {.kind = ZK_KIND_POREP};
        ZK_CHECK_OK(zk_content_commit(&meta, &bytes, content, &request, &err), err);
        ZK_CHECK_OK(suite_accept(&accepted, a, &meta, bytes, there, &err), err);
        ZK_CHECK(accepted);
        snprintf(here, sizeof here, "%s/fetched", test_dir);
        ZK_CHECK_OK(b->ops->fetch(b, meta.job_id, here, &err), err);
        ZK_CHECK_OK(zk_file_read(&found, &n_found, here, 8 << 20, &err), err);
        ZK_CHECKF(n_found == bytes, "%zu bytes", n_found);
        ZK_CHECK(memmem(found, n_found, data, sizes[i]) != NULL);
        free(found);
        free(data);
        unlink(here);
        pg_ask(dsn, "UPDATE cuzk_content SET data = set_byte(data, 50, get_byte(data, 50) # 1)");
        ZK_CHECK(b->ops->fetch(b, meta.job_id, here, &err) == CUZK_BAD_INPUT);
        ZK_CHECK(access(here, F_OK) != 0);
        zk_err_reset(&err);
        pg_ask(dsn, "UPDATE cuzk_content SET data = set_byte(data, 50, get_byte(data, 50) # 1)");
    }
    ZK_CHECK(pg_ask(dsn, "SELECT max(seq) FROM cuzk_content") == 2);
    ZK_CHECK(b->ops->fetch(b, "job-none", here, &err) == CUZK_BAD_INPUT && access(here, F_OK) != 0);
    a->ops->close(a);
    b->ops->close(b);
}

/* ---- news ---- */

typedef struct news {
    unsigned n, n_any;
    char last[ZK_JOB_ID_BYTES];
} news;

static void hear(void *ctx, const char *job_id) {
    news *n = ctx;
    n->n++;
    n->n_any += job_id == NULL;
    if (job_id) snprintf(n->last, sizeof n->last, "%s", job_id);
}

static news wait_for(zk_journal *journal, uint64_t ms) {
    news n = {0};
    cuzk_err err = {0};
    ZK_CHECK_OK(journal->ops->wait(journal, ms, hear, &n, &err), err);
    return n;
}

/* It listens anew, as what was before is not known: told at once, whereupon it goes on waiting. */
static void await_any(zk_journal *journal) {
    news n;
    TEST_UNTIL((n = wait_for(journal, 50)).n > 0);
    ZK_CHECK(n.n == 1 && n.n_any == 1);
}

static void test_news(void) {
    const char *dsn = pg_dsn("news");
    zk_journal *a = open_as(dsn, "a", 0), *b = open_as(dsn, "b", 0);
    zk_content_meta job;
    cuzk_err err = {0};
    news n;
    await_any(a);
    await_any(b);
    ZK_CHECK(wait_for(a, 50).n == 0);
    suite_job(&job, b, test_path("spool"), "", "x");
    uint64_t start = zk_now_ns();
    n = wait_for(a, LONG_MS);
    ZK_CHECK(n.n == 1 && strcmp(n.last, job.job_id) == 0 && zk_now_ns() - start < LONG_MS / 2 * ZK_MS_NS);
    ZK_CHECK(wait_for(b, 50).n == 0); /* its own is no news */
    ZK_CHECK(take(a, job.job_id, true).grant == ZK_JOURNAL_TAKEN);
    ZK_CHECK_OK(a->ops->prepared(a, job.job_id, ZK_KIND_WINDOW, 2048, 2, &err), err);
    ZK_CHECK_OK(a->ops->raise(a, job.job_id, ZK_PRIORITY_HIGH, &err), err);
    ZK_CHECK_OK(a->ops->raise(a, job.job_id, ZK_PRIORITY_LOW, &err), err); /* lower is no raise */
    ZK_CHECK(wait_for(b, LONG_MS).n >= 1);
    zk_journal_job seen;
    bool found;
    ZK_CHECK_OK(b->ops->look(&found, &seen, b, job.job_id, &err), err);
    ZK_CHECK(seen.meta.priority == ZK_PRIORITY_HIGH);
    suite_end(a, job.job_id, true);
    while (strcmp((n = wait_for(b, LONG_MS)).last, job.job_id) != 0) ZK_CHECK(n.n > 0);
    a->ops->close(a);
    ZK_CHECK(wait_for(b, LONG_MS).n >= 1);
    b->ops->close(b);
}

typedef struct machines {
    unsigned n, n_self;
    zk_journal_machine last;
} machines;

static void note_machine(void *ctx, const zk_journal_machine *m) {
    machines *list = ctx;
    list->n++;
    list->n_self += m->self;
    list->last = *m;
}

static void test_machines(void) {
    const char *dsn = pg_dsn("machines");
    zk_journal *a = open_as(dsn, "alpha", LONG_MS), *b = open_as(dsn, "beta \xc3\xa9", LONG_MS);
    zk_content_meta job;
    cuzk_err err = {0};
    prepared_job(&job, b, 3);
    ZK_CHECK(take(b, job.job_id, false).grant == ZK_JOURNAL_TAKEN);
    ZK_CHECK(take(b, job.job_id, false).grant == ZK_JOURNAL_TAKEN && done(b, job.job_id, 0, 1));
    ZK_CHECK_OK(b->ops->beat(b, 5, NULL, 0, &err), err);
    machines list = {0};
    ZK_CHECK_OK(a->ops->each_machine(a, note_machine, &list, &err), err);
    ZK_CHECK(list.n == 2 && list.n_self == 1 && !list.last.self && strcmp(list.last.name, "beta ??") == 0);
    ZK_CHECK(list.last.n_workers == 5 && list.last.n_units == 1 && list.last.n_proved == 1);
    ZK_CHECK(list.last.seen_ago_ms < LONG_MS && a->ops->size_bytes(a) > 1000);
    suite_end(b, job.job_id, true); /* what it still had counts as its own */
    ZK_CHECK_OK(a->ops->each_machine(a, note_machine, &list, &err), err);
    ZK_CHECK(list.last.n_proved == 2 && list.last.n_units == 0);
    a->ops->close(a);
    b->ops->close(b);
}

/* ---- lost and found ---- */

static void test_lost(void) {
    const char *dsn = pg_dsn("lost");
    zk_journal *a = open_as(dsn, "a", LONG_MS);
    zk_content_meta job;
    cuzk_err err = {0};
    bool accepted, found;
    zk_journal_job seen;
    prepared_job(&job, a, 2);
    await_any(a);
    pg_stop(SIGQUIT);
    uint64_t start = zk_now_ns();
    ZK_CHECK(a->ops->look(&found, &seen, a, job.job_id, &err) == CUZK_IO);
    ZK_CHECKF(strstr(err.message, "cannot be reached"), "%s", err.message);
    zk_err_reset(&err);
    zk_content_meta other;
    uint64_t bytes = suite_spool(&other, test_path("spool"), "", "y");
    ZK_CHECK(suite_accept(&accepted, a, &other, bytes, test_path("spool"), &err) == CUZK_IO && !accepted);
    zk_err_reset(&err);
    ZK_CHECK(a->ops->beat(a, 1, NULL, 0, &err) == CUZK_IO);
    ZK_CHECK(wait_for(a, 100).n == 0);
    ZK_CHECK(zk_now_ns() - start < 60 * ZK_SECOND_NS); /* nothing waits for answers, three times 20 s */
    pg_start();
    news n;
    TEST_UNTIL((n = wait_for(a, 500)).n_any > 0);
    TEST_UNTIL(a->ops->look(&found, &seen, a, job.job_id, NULL) == CUZK_OK);
    ZK_CHECK(found && seen.n_partitions == 2);
    /* a connection that the server closes while nobody uses it costs nothing */
    pid_t backend = (pid_t)pg_ask(pg_base_dsn(), "SELECT pid FROM pg_stat_activity WHERE datname = 'postgres'"
                                                 " AND application_name = 'cuzk a' AND query NOT LIKE 'LISTEN%'");
    ZK_CHECK(backend > 0);
    pg_ask(pg_base_dsn(), "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                          " AND datname = 'postgres'");
    TEST_UNTIL(kill(backend, 0) != 0 && errno == ESRCH);
    ZK_CHECK_OK(a->ops->look(&found, &seen, a, job.job_id, &err), err);
    ZK_CHECK(done(a, job.job_id, 1, 9));
    a->ops->close(a);
}

int main(int argc, char **argv) {
    static const zk_test_case cases[] = {
        ZK_CASE(test_suite),      ZK_CASE(test_tables),      ZK_CASE(test_units), ZK_CASE(test_leases),
        ZK_CASE(test_lease_ends), ZK_CASE(test_skip_locked), ZK_CASE(test_once),  ZK_CASE(test_content),
        ZK_CASE(test_news),       ZK_CASE(test_machines),    ZK_CASE(test_lost),
    };
    zk_log_set_level(getenv("CUZK_ENGINE_LOG") ? ZK_LOG_DEBUG : ZK_LOG_OFF);
    test_dir_make();
    pg_create();
    int code = zk_test_run(cases, sizeof cases / sizeof cases[0], argc, argv);
    pg_remove();
    test_dir_remove();
    return code;
}
