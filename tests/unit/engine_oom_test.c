/* Every allocation of the daemon's process fails once: while an engine starts, and while it takes, proves and hands out
 * a job. What follows is an error that says so, or a proof that holds; never a job that does not end. */
#include "engine_common.h"

#include "base/alloc.h"

/* Which allocation fails next: the first ones one by one, later ones with gaps that grow (CUZK_ENGINE_OOM: all). */
static uint64_t after(uint64_t nth) { return nth + 1 + (getenv("CUZK_ENGINE_OOM") ? 0 : nth / 6); }

static void test_start(void) {
    zk_engine_options options = test_options("start");
    for (uint64_t nth = 1;; nth = after(nth)) {
        zk_engine *engine = NULL;
        cuzk_err err = {0};
        zk_alloc_fail_nth(nth);
        cuzk_status status = zk_engine_create(&engine, &options, &err);
        bool failed = zk_alloc_failed();
        zk_alloc_fail_nth(0);
        if (status != CUZK_OK)
            ZK_CHECKF(failed && status == CUZK_OUT_OF_MEMORY, "%llu: %s", (unsigned long long)nth, err.message);
        if (status == CUZK_OK) { /* and it works */
            zk_submitted s;
            zk_result result;
            test_submit(&s, engine, test_request(ZK_KIND_WINDOW, "a", 1));
            test_await(&result, engine, s.job_id);
            test_verify(test_request(ZK_KIND_WINDOW, "a", 1), &result);
            zk_result_clear(&result);
            zk_engine_destroy(engine);
        }
        if (!failed) return;
    }
}

static void test_job(void) {
    zk_engine_options options = test_options("job");
    zk_engine *engine = test_engine(&options);
    const zk_request *request = test_request(ZK_KIND_WINDOW, "a", 3);
    unsigned n_failed = 0, n_refused = 0;
    for (uint64_t nth = 1;; nth = after(nth)) {
        zk_request nameless = test_as(request, "", ZK_PRIORITY_NORMAL);
        zk_submitted s;
        zk_result result = {0};
        cuzk_err err = {0};
        zk_alloc_fail_nth(nth);
        cuzk_status status = zk_engine_submit_request(&s, engine, &nameless, &err);
        if (status == CUZK_OK) {
            status = zk_engine_await(&result, engine, s.job_id, ZK_TEST_HANG_S * 1000, NULL, NULL, &err);
            if (status == CUZK_OUT_OF_MEMORY) { /* the call; the job goes on */
                zk_err_reset(&err);
                status = zk_engine_await(&result, engine, s.job_id, ZK_TEST_HANG_S * 1000, NULL, NULL, &err);
            }
            ZK_CHECK_OK(status, err);
            if (result.outcome == ZK_OUTCOME_FAILED) {
                n_failed++;
                ZK_CHECKF(strstr(result.message, "memory"), "%llu: %s", (unsigned long long)nth, result.message);
            }
        } else {
            n_refused++;
            ZK_CHECKF(status == CUZK_OUT_OF_MEMORY, "%llu: %s", (unsigned long long)nth, err.message);
        }
        bool failed = zk_alloc_failed();
        zk_alloc_fail_nth(0);
        if (result.outcome == ZK_OUTCOME_COMPLETED) test_verify(request, &result);
        zk_result_clear(&result);
        if (!failed) break;
    }
    ZK_CHECKF(n_refused > 0, "%u refused, %u failed", n_refused, n_failed);
    zk_engine_destroy(engine);
    ZK_CHECK(test_count_files(test_path("job/journal.spool")) == 0);
}

int main(int argc, char **argv) {
    static const zk_test_case cases[] = {ZK_CASE(test_start), ZK_CASE(test_job)};
    if (argc > 1 && strcmp(argv[1], "worker") == 0) return test_worker_main(argc, argv);
    if (setjmp(zk_test_jump) != 0) return 2;
    zk_log_set_level(getenv("CUZK_ENGINE_LOG") ? ZK_LOG_DEBUG : ZK_LOG_OFF);
    test_dir_make();
    test_keys_make(ZK_KIND_WINDOW);
    int code = zk_test_run(cases, sizeof cases / sizeof cases[0], argc, argv);
    test_dir_remove();
    return code;
}
