/* Options of an engine: copied, with the defaults in place of what is not said. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/engine_impl.h"

static cuzk_status copy_text(const char **out, const char *text, const char *suffix, cuzk_err *err) {
    *out = zk_asprintf("%s%s", text, suffix ? suffix : "");
    return *out ? CUZK_OK : ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for options");
}

static cuzk_status own_program(const char **out, cuzk_err *err) {
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) return ZK_FAIL(err, CUZK_IO, "/proc/self/exe: %s", strerror(errno));
    path[n] = 0;
    return copy_text(out, path, NULL, err);
}

/* That of the folder of the keys, if there is one and nothing else was asked for. */
static cuzk_status choose_manifest(zk_engine_options *o, const zk_engine_options *given, cuzk_err *err) {
    if (given->manifest && given->manifest[0]) return copy_text(&o->manifest, given->manifest, NULL, err);
    ZK_TRY(copy_text(&o->manifest, given->param_cache, "/parameters.json", err));
    if (access(o->manifest, F_OK) == 0) return CUZK_OK;
    free((void *)(uintptr_t)o->manifest);
    o->manifest = NULL;
    return copy_text(&o->manifest, "", NULL, err);
}

#define DEFAULT(member, value)                                                                                         \
    do {                                                                                                               \
        if (!o->member) o->member = (value);                                                                           \
    } while (0)

cuzk_status engine_options_take(zk_engine *engine, const zk_engine_options *given, cuzk_err *err) {
    zk_engine_options *o = &engine->options;
    *o = *given;
    o->param_cache = o->journal_path = o->spool_dir = o->evidence_dir = NULL;
    o->worker_program = o->devices = o->worker_fault = o->fleet_dsn = o->fleet_machine = NULL;
    o->manifest = NULL;
    if (!given->param_cache || !given->journal_path)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "options: the folder of the keys and the path of the journal are required");
    ZK_TRY(copy_text(&o->param_cache, given->param_cache, NULL, err));
    ZK_TRY(copy_text(&o->journal_path, given->journal_path, NULL, err));
    ZK_TRY(copy_text(&o->spool_dir, given->spool_dir ? given->spool_dir : given->journal_path,
                     given->spool_dir ? NULL : ".spool", err));
    ZK_TRY(copy_text(&o->evidence_dir, given->evidence_dir ? given->evidence_dir : given->journal_path,
                     given->evidence_dir ? NULL : ".evidence", err));
    ZK_TRY(copy_text(&o->devices, given->devices && given->devices[0] ? given->devices : "cpu", NULL, err));
    if (given->worker_program)
        ZK_TRY(copy_text(&o->worker_program, given->worker_program, NULL, err));
    else
        ZK_TRY(own_program(&o->worker_program, err));
    ZK_TRY(choose_manifest(o, given, err));
    if (given->worker_fault) ZK_TRY(copy_text(&o->worker_fault, given->worker_fault, NULL, err));
    if (given->fleet_dsn && given->fleet_dsn[0]) ZK_TRY(copy_text(&o->fleet_dsn, given->fleet_dsn, NULL, err));
    if (given->fleet_machine) ZK_TRY(copy_text(&o->fleet_machine, given->fleet_machine, NULL, err));
    DEFAULT(fleet_lease_ms, 30000);
    DEFAULT(n_workers, 1);
    DEFAULT(lanes_per_worker, o->n_workers == 1 ? 2 : 1);
    DEFAULT(max_content_bytes, (uint64_t)1 << 30);
    DEFAULT(max_queued, 10000);
    DEFAULT(retention_ms, UINT64_C(24) * 3600 * 1000);
    DEFAULT(aging_ms, 10 * 60 * 1000);
    DEFAULT(group_wait_ms, 5000);
    DEFAULT(max_attempts, 3);
    DEFAULT(lookahead, 1);
    DEFAULT(n_checkers, 1);
    if (o->lookahead > ZK_WORKER_MAX_LOOKAHEAD) o->lookahead = ZK_WORKER_MAX_LOOKAHEAD;
    if (o->n_checkers > 64) o->n_checkers = 64;
    if (o->n_workers > 256) return ZK_FAIL(err, CUZK_BAD_INPUT, "workers: found %u, at most 256", o->n_workers);
    engine->machine_bytes = zk_engine_memory_auto();
    engine->host.budget_bytes = o->memory_budget_bytes;
    if (!engine->host.budget_bytes) {
        DEFAULT(safety_margin_bytes, o->no_safety_margin ? 0 : engine->machine_bytes / 16);
        engine->host.budget_bytes = engine->machine_bytes > 2 * o->safety_margin_bytes
                                        ? engine->machine_bytes - o->safety_margin_bytes
                                        : engine->machine_bytes / 2;
    }
    return CUZK_OK;
}

void engine_options_free(zk_engine_options *o) {
    const char *const texts[] = {o->param_cache,    o->journal_path, o->spool_dir, o->evidence_dir,  o->devices,
                                 o->worker_program, o->worker_fault, o->fleet_dsn, o->fleet_machine, o->manifest};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free((void *)(uintptr_t)texts[i]);
}
