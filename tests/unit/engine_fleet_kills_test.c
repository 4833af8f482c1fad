/* Machines of a fleet that are killed at random. CUZK_ENGINE_KILLS: how often (20). */
#include "engine_fleet_common.h"

/* Machines are killed and come back while jobs arrive: each ends once, with a proof. */
static void test_kills(void) {
    dsn = pg_dsn("kills");
    enum { N = 8, N_HOSTS = 2 };
    const char *more = getenv("CUZK_ENGINE_KILLS"), *const names[N_HOSTS] = {"b", "c"};
    unsigned n_kills = more ? (unsigned)atoi(more) : 20;
    zk_engine *a = lease_engine("kills", "a", NULL, 1000); /* leases end: a kill leaves one behind */
    zk_submitted s[N];
    zk_result result;
    pid_t hosts[N_HOSTS];
    uint64_t seed = 5;
    for (size_t i = 0; i < N_HOSTS; i++) hosts[i] = start_host("kills", names[i], "", 1000);
    for (unsigned i = 0; i < N || i < n_kills; i++) {
        char id[16];
        snprintf(id, sizeof id, "kills-%u", i % N);
        zk_request request = window_request(id);
        if (i < N) test_submit(&s[i], a, &request);
        usleep((useconds_t)(50000 + zk_test_rand(&seed) % 300000));
        size_t k = zk_test_rand(&seed) % N_HOSTS;
        if (i >= n_kills) continue;
        kill_host(hosts[k]);
        hosts[k] = start_host("kills", names[k], "", 1000);
    }
    for (size_t i = 0; i < N; i++) {
        zk_request request = window_request("");
        test_await(&result, a, s[i].job_id);
        test_verify(&request, &result);
        zk_result_clear(&result);
    }
    ZK_CHECK(pg_ask(dsn, "SELECT count(*) FROM cuzk_jobs WHERE state = 1") == N);
    check_no_rest();
    for (size_t i = 0; i < N_HOSTS; i++) kill_host(hosts[i]);
    zk_engine_destroy(a);
}

int main(int argc, char **argv) {
    static const zk_test_case cases[] = {ZK_CASE(test_kills)};
    return fleet_main(cases, 1, argc, argv);
}
