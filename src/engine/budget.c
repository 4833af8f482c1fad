/* One budget for all workers: keys and workspaces are admitted by the peak they will reach. */
#include <string.h>

#include "base/span.h"
#include "engine/engine_impl.h"

engine_circuit *engine_lane_circuit(engine_lane *lane, zk_proof_kind kind, uint64_t sector_bytes) {
    for (unsigned i = 0; i < lane->n_circuits; i++)
        if (lane->circuits[i].kind == kind && lane->circuits[i].sector_bytes == sector_bytes) return &lane->circuits[i];
    return NULL;
}

static bool task_uses(const engine_task *task, const engine_circuit *c) {
    bool uses = task->type == TASK_PREPARE || task->type == TASK_PROVE || task->type == TASK_LOAD;
    return uses && task->kind == c->kind && task->sector_bytes == c->sector_bytes;
}

bool engine_circuit_in_use(const engine_lane *lane, const engine_circuit *c) {
    return c->loading || task_uses(&lane->task, c) || (lane->beside && task_uses(&lane->beside->task, c));
}

void engine_lane_forget_circuit(engine_lane *lane, engine_circuit *circuit) {
    engine_vk_drop(circuit->vk);
    *circuit = lane->circuits[--lane->n_circuits];
}

/* Where the lane's keys are. */
static bool on_host(const engine_lane *lane) { return lane->on->pool == &lane->engine->host; }

static uint64_t room(const engine_pool *pool) {
    uint64_t taken = pool->reserved_bytes + pool->base_bytes;
    return pool->budget_bytes > taken ? pool->budget_bytes - taken : 0;
}

void engine_lane_measure(engine_lane *lane, uint64_t own_bytes) {
    lane = lane->first;
    uint64_t base = own_bytes > lane->host_bytes ? own_bytes - lane->host_bytes : 0;
    /* Memory that was reserved need not be touched yet, so that a process looks smaller than it is. */
    if (own_bytes && base < lane->base_bytes) return;
    engine_pool *host = &lane->engine->host;
    host->base_bytes = host->base_bytes - lane->base_bytes + base;
    lane->base_bytes = base;
}

void engine_release(engine_lane *lane, uint64_t bytes, uint64_t host_bytes) {
    zk_engine *engine = lane->engine;
    lane = lane->first;
    if (on_host(lane)) host_bytes += bytes, bytes = 0;
    if (host_bytes > lane->host_bytes) host_bytes = lane->host_bytes;
    if (bytes > lane->device_bytes) bytes = lane->device_bytes;
    lane->host_bytes -= host_bytes;
    engine->host.reserved_bytes -= host_bytes;
    lane->device_bytes -= bytes;
    if (bytes) lane->on->pool->reserved_bytes -= bytes;
    pthread_cond_broadcast(&engine->work);
}

static void take(engine_lane *lane, uint64_t bytes, uint64_t host_bytes) {
    lane->host_bytes += host_bytes;
    lane->engine->host.reserved_bytes += host_bytes;
    lane->device_bytes += bytes;
    if (bytes) lane->on->pool->reserved_bytes += bytes;
}

/* Least recently used keys in the pool that nobody uses. Those of other lanes can only be taken while the lane is idle;
 * for keys that no job waits for, those that were used lately are left alone. */
static engine_circuit *least_used(engine_lane **owner, zk_engine *engine, engine_lane *asking,
                                  const engine_pool *pool) {
    engine_circuit *best = NULL;
    uint64_t now = zk_now_ns();
    uint64_t min_idle = asking->task.type == TASK_LOAD ? engine->options.eviction_min_idle_ms * 1000000 : 0;
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        engine_lane *lane = &engine->lanes[i];
        bool busy = engine_lane_is_busy(lane) || engine_lane_is_busy(lane->beside);
        if (lane->on->pool != pool || (lane != asking->first && busy)) continue;
        for (unsigned k = 0; k < lane->n_circuits; k++) {
            engine_circuit *c = &lane->circuits[k];
            if (c->evict_wanted || engine_circuit_in_use(lane, c)) continue;
            if (now - c->last_used_ns < min_idle) continue;
            if (best && best->last_used_ns <= c->last_used_ns) continue;
            best = c;
            *owner = lane;
        }
    }
    return best;
}

static bool works_on(const engine_lane *lane) { return engine_lane_is_busy(lane) && !lane->waiting_memory; }

/* Whether memory of the pool will become free without this lane's help. */
static bool others_hold(const zk_engine *engine, const engine_lane *asking, const engine_pool *pool) {
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        const engine_lane *lane = &engine->lanes[i];
        bool has = pool == &engine->host ? lane->host_bytes > 0 : lane->on->pool == pool && lane->device_bytes > 0;
        if (lane == asking->first) {
            if (works_on(engine_lane_other(asking))) return true;
            continue;
        }
        if (!has) continue;
        if (works_on(lane) || works_on(lane->beside)) return true;
        for (unsigned k = 0; k < lane->n_circuits; k++)
            if (lane->circuits[k].evict_wanted) return true;
    }
    return false;
}

/* What of the pool the lane has beside loaded keys: its task's own. */
static uint64_t fixed(const engine_lane *lane, const engine_pool *pool) {
    bool host = pool == &lane->engine->host;
    uint64_t bytes = host ? lane->host_bytes : lane->device_bytes;
    for (unsigned k = 0; k < lane->n_circuits; k++) {
        const engine_circuit *c = &lane->circuits[k];
        uint64_t part = (lane->on->pool == pool ? c->bytes : 0) + (host ? c->host_bytes : 0);
        if (!c->loading) bytes -= part < bytes ? part : bytes;
    }
    return bytes;
}

/* What to do about a pool that is short of bytes. */
static engine_grant make_room(engine_circuit *victim, engine_lane *lane, const engine_pool *pool) {
    zk_engine *engine = lane->engine;
    engine_lane *owner = NULL;
    if (pool == &engine->host && engine_warm_unlock(engine)) return GRANT_WAIT;
    engine_circuit *c = least_used(&owner, engine, lane, pool);
    if (c && owner == lane->first) {
        *victim = *c;
        return GRANT_EVICT;
    }
    if (c) {
        c->evict_wanted = true;
        pthread_cond_broadcast(&engine->work);
        return GRANT_WAIT;
    }
    return others_hold(engine, lane, pool) ? GRANT_WAIT : GRANT_LATER;
}

engine_grant engine_reserve(engine_circuit *victim, engine_lane *lane, uint64_t bytes, uint64_t host_bytes) {
    zk_engine *engine = lane->engine;
    if (on_host(lane)) host_bytes += bytes, bytes = 0;
    const struct {
        const engine_pool *pool;
        uint64_t bytes;
    } wanted[] = {{lane->on->pool, bytes}, {&engine->host, host_bytes}};
    for (unsigned i = 0; i < 2; i++) {
        uint64_t budget = wanted[i].pool->budget_bytes;
        budget -= wanted[i].pool->base_bytes < budget ? wanted[i].pool->base_bytes : budget;
        if (wanted[i].bytes > budget) return GRANT_NEVER;
        if (engine_lane_is_busy(engine_lane_other(lane))) continue; /* what its task has comes back */
        if (fixed(lane->first, wanted[i].pool) > budget - wanted[i].bytes) return GRANT_NEVER;
    }
    for (unsigned i = 0; i < 2; i++)
        if (wanted[i].bytes > room(wanted[i].pool)) return make_room(victim, lane, wanted[i].pool);
    take(lane->first, bytes, host_bytes);
    return GRANT_YES;
}

bool engine_reserve_free(engine_lane *lane, uint64_t bytes) {
    if (on_host(lane) || bytes > room(lane->on->pool)) return false;
    take(lane->first, bytes, 0);
    return true;
}
