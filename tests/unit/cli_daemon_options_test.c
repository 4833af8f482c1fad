/* Settings as the engine sees them. */
#include "cli/daemon_options.h"
#include "zk_test.h"

static zk_config *config;
static char devices[CLI_DEVICES_BYTES];

static zk_engine_options options_of(const char *const *pairs) {
    zk_engine_options o = {0};
    cuzk_err err = {0};
    zk_config_destroy(config);
    config = NULL;
    ZK_CHECK_OK(zk_config_create(&config, &err), err);
    for (; *pairs; pairs += 2) ZK_CHECK_OK(zk_config_set(config, pairs[0], pairs[1], "test", &err), err);
    ZK_CHECK_OK(cli_daemon_options(&o, devices, config, &err), err);
    return o;
}
#define OPTIONS(...) options_of((const char *const[]){__VA_ARGS__, NULL})

static void test_defaults(void) {
    zk_engine_options o = OPTIONS(NULL);
    ZK_CHECK(strcmp(o.devices, "auto") == 0 && strcmp(o.param_cache, "/var/tmp/filecoin-proof-parameters") == 0);
    ZK_CHECK(strcmp(o.journal_path, "/var/lib/cuzk/journal.db") == 0 && !o.spool_dir && !o.worker_fault);
    ZK_CHECK(o.n_workers == 1 && o.lanes_per_worker == 0 && o.worker_threads == 0 && !o.no_express);
    ZK_CHECK(o.device_memory_bytes == 0 && o.safety_margin_bytes == 0 && !o.no_safety_margin);
    ZK_CHECK(!o.no_lookahead && o.lookahead == 1 && !o.no_checkers && o.n_checkers == 1);
    ZK_CHECK(o.group_wait_ms == 5000 && o.max_batch == 0 && o.aging_ms == 600000 && o.max_queued == 10000);
    ZK_CHECK(o.memory_budget_bytes == 0 && o.eviction_min_idle_ms == 300000 && o.retention_ms == 86400000);
    ZK_CHECK(!o.no_prepared && o.warm == ZK_WARM_CACHE && o.job_limit_ms == 0 && o.stall_limit_ms == 600000 &&
             o.fleet_lease_ms == 30000);
}

static void test_values(void) {
    zk_engine_options o =
        OPTIONS("gpus.devices", "0,cuda:2", "gpus.gpu_threads", "32", "gpus.gpu_workers_per_device", "2",
                "synthesis.threads", "8", "scheduler.max_batch_size", "3", "scheduler.max_batch_wait_ms", "10000",
                "pipeline.synthesis_lookahead", "2", "pipeline.synthesis_concurrency", "4",
                "pipeline.max_parallel_synthesis", "18", "pipeline.slot_size", "5", "pipeline.max_gpu_queue_depth", "8",
                "memory.total_budget", "256GiB", "memory.safety_margin", "5GiB", "memory.eviction_min_idle", "0",
                "journal.spool", "/spool", "scheduler.express_workers", "false", "gpus.device_memory", "15GiB");
    ZK_CHECK(strcmp(o.devices, "0,cuda:2") == 0 && o.worker_threads == 32 && o.n_workers == 2 && o.max_batch == 3);
    ZK_CHECK(o.group_wait_ms == 10000 && o.lookahead == 2 && o.n_checkers == 4 && o.max_synthesizing == 18);
    ZK_CHECK(o.max_job_in_flight == 5 && o.max_prepared == 8 && o.memory_budget_bytes == (uint64_t)256 << 30);
    ZK_CHECK(o.safety_margin_bytes == (uint64_t)5 << 30 && o.eviction_min_idle_ms == 0 && o.no_express);
    ZK_CHECK(strcmp(o.spool_dir, "/spool") == 0 && o.device_memory_bytes == (uint64_t)15 << 30);
    ZK_CHECK(OPTIONS("synthesis.threads", "8").worker_threads == 8);
}

/* 0 as a setting says none, not the engine's default. */
static void test_none(void) {
    ZK_CHECK(OPTIONS("scheduler.max_batch_wait_ms", "0").group_wait_ms == 1);
    ZK_CHECK(OPTIONS("scheduler.sort_by_type", "false").group_wait_ms == 1);
    ZK_CHECK(OPTIONS("pipeline.synthesis_lookahead", "0").no_lookahead);
    ZK_CHECK(OPTIONS("pipeline.synthesis_concurrency", "0").no_checkers);
    zk_engine_options o = OPTIONS("memory.safety_margin", "0");
    ZK_CHECK(o.no_safety_margin && o.safety_margin_bytes == 0);
    o = OPTIONS("memory.safety_margin", "auto", "memory.total_budget", "auto", "gpus.device_memory", "auto");
    ZK_CHECK(!o.no_safety_margin && !o.safety_margin_bytes && !o.memory_budget_bytes && !o.device_memory_bytes);
    o = OPTIONS("memory.safety_margin", "1");
    ZK_CHECK(!o.no_safety_margin && o.safety_margin_bytes == 1);
    o = OPTIONS("pipeline.enabled", "false");
    ZK_CHECK(o.no_lookahead && o.no_checkers);
}

static void test_too_many_devices(void) {
    zk_engine_options o = {0};
    cuzk_err err = {0};
    char list[2000] = "0";
    for (size_t n = 1; n + 10 < sizeof list; n += 9) memcpy(list + n, ",cuda:999", 10);
    ZK_CHECK(OPTIONS(NULL).devices == devices);
    ZK_CHECK_OK(zk_config_set(config, "gpus.devices", list, "test", &err), err);
    ZK_CHECK(cli_daemon_options(&o, devices, config, &err) == CUZK_BAD_INPUT && strstr(err.message, "gpus.devices"));
    zk_config_destroy(config);
    config = NULL;
}

ZK_TEST_MAIN(ZK_CASE(test_defaults), ZK_CASE(test_values), ZK_CASE(test_none), ZK_CASE(test_too_many_devices))
