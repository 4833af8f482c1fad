#include "cli/daemon_options.h"

#include <stdio.h>

/* "auto", or the list with commas. */
static cuzk_status device_list(char devices[CLI_DEVICES_BYTES], const zk_config *c, cuzk_err *err) {
    size_t n = (size_t)snprintf(devices, CLI_DEVICES_BYTES, "%s", c->gpus.devices.n ? "" : "auto");
    for (size_t i = 0; i < c->gpus.devices.n && n < CLI_DEVICES_BYTES; i++)
        n += (size_t)snprintf(devices + n, CLI_DEVICES_BYTES - n, "%s%s", i ? "," : "", c->gpus.devices.items[i]);
    return n < CLI_DEVICES_BYTES ? CUZK_OK : ZK_FAIL(err, CUZK_BAD_INPUT, "gpus.devices: the list is too long");
}

/* 0 of the engine's options: its own choice. */
static uint64_t or_auto(uint64_t bytes) { return bytes == ZK_CONFIG_AUTO ? 0 : bytes; }

cuzk_status cli_daemon_options(zk_engine_options *options, char devices[CLI_DEVICES_BYTES], const zk_config *c,
                               cuzk_err *err) {
    ZK_TRY(device_list(devices, c, err));
    uint64_t threads = c->gpus.gpu_threads ? c->gpus.gpu_threads : c->synthesis.threads;
    bool pipeline = c->pipeline.enabled;
    bool groups = c->scheduler.sort_by_type && c->scheduler.max_batch_wait_ms;
    *options = (zk_engine_options){
        .param_cache = c->srs.param_cache,
        .manifest = c->srs.manifest,
        .warm = (zk_warm_policy)c->srs.warm,
        .no_prepared = c->srs.prepared != 0,
        .journal_path = c->journal.path,
        .spool_dir = c->journal.spool[0] ? c->journal.spool : NULL,
        .devices = devices,
        .no_lookahead = !pipeline || !c->pipeline.synthesis_lookahead,
        .no_checkers = !pipeline || !c->pipeline.synthesis_concurrency,
        .lookahead = (uint32_t)c->pipeline.synthesis_lookahead,
        .n_checkers = (uint32_t)c->pipeline.synthesis_concurrency,
        .max_synthesizing = (uint32_t)c->pipeline.max_parallel_synthesis,
        .max_job_in_flight = (uint32_t)c->pipeline.slot_size,
        .max_prepared = (uint32_t)c->pipeline.max_gpu_queue_depth,
        .max_batch = (uint32_t)c->scheduler.max_batch_size,
        .n_workers = (unsigned)c->gpus.workers_per_device,
        .lanes_per_worker = (unsigned)c->gpus.lanes_per_worker,
        .device_memory_bytes = or_auto(c->gpus.device_memory_bytes),
        .worker_threads = (unsigned)threads,
        .no_express = !c->scheduler.express_workers,
        .memory_budget_bytes = or_auto(c->memory.total_budget_bytes),
        .safety_margin_bytes = or_auto(c->memory.safety_margin_bytes),
        .no_safety_margin = c->memory.safety_margin_bytes == 0,
        .eviction_min_idle_ms = c->memory.eviction_min_idle_ms,
        .max_queued = (uint32_t)c->daemon.max_queued,
        .retention_ms = c->journal.retention_ms,
        .fleet_dsn = c->fleet.dsn,
        .fleet_machine = c->fleet.machine,
        .fleet_lease_ms = c->fleet.lease_ms,
        .aging_ms = c->scheduler.aging_ms,
        .group_wait_ms = groups ? c->scheduler.max_batch_wait_ms : 1, /* 1: as good as none */
        .job_limit_ms = c->daemon.job_limit_ms,
        .stall_limit_ms = c->daemon.stall_limit_ms,
    };
    return CUZK_OK;
}
