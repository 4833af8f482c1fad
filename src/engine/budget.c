/* One budget for all workers: keys and workspaces are admitted by the peak they will reach. */
#include <string.h>

#include "base/span.h"
#include "engine/engine_impl.h"

engine_circuit *engine_lane_circuit(engine_lane *lane, zk_proof_kind kind, uint64_t sector_bytes) {
    for (unsigned i = 0; i < lane->n_circuits; i++)
        if (lane->circuits[i].kind == kind && lane->circuits[i].sector_bytes == sector_bytes) return &lane->circuits[i];
    return NULL;
}

bool engine_circuit_in_use(const engine_lane *lane, const engine_circuit *c) {
    return c->loading || (lane->task.type != TASK_NONE && lane->task.type != TASK_EVICT && lane->task.kind == c->kind &&
                          lane->task.sector_bytes == c->sector_bytes);
}

void engine_lane_forget_circuit(engine_lane *lane, engine_circuit *circuit) {
    *circuit = lane->circuits[--lane->n_circuits];
}

void engine_release(engine_lane *lane, uint64_t bytes) {
    zk_engine *engine = lane->engine;
    if (bytes > lane->reserved_bytes) bytes = lane->reserved_bytes;
    lane->reserved_bytes -= bytes;
    engine->reserved_bytes -= bytes;
    pthread_cond_broadcast(&engine->work);
}

/* Least recently used keys that nobody uses. Those of other lanes can only be taken while the lane is idle. */
static engine_circuit *least_used(engine_lane **owner, zk_engine *engine, engine_lane *asking) {
    engine_circuit *best = NULL;
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        engine_lane *lane = &engine->lanes[i];
        if (lane != asking && lane->task.type != TASK_NONE) continue;
        for (unsigned k = 0; k < lane->n_circuits; k++) {
            engine_circuit *c = &lane->circuits[k];
            if (c->evict_wanted || engine_circuit_in_use(lane, c)) continue;
            if (best && best->last_used_ns <= c->last_used_ns) continue;
            best = c;
            *owner = lane;
        }
    }
    return best;
}

/* Whether memory will become free without this lane's help. */
static bool others_hold(const zk_engine *engine, const engine_lane *asking) {
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        const engine_lane *lane = &engine->lanes[i];
        if (lane == asking || !lane->reserved_bytes) continue;
        if (lane->task.type != TASK_NONE && !lane->waiting_memory) return true;
        for (unsigned k = 0; k < lane->n_circuits; k++)
            if (lane->circuits[k].evict_wanted) return true;
    }
    return false;
}

engine_grant engine_reserve(engine_circuit *victim, engine_lane *lane, uint64_t bytes) {
    zk_engine *engine = lane->engine;
    uint64_t fixed = lane->reserved_bytes; /* of the task itself */
    for (unsigned k = 0; k < lane->n_circuits; k++)
        if (!lane->circuits[k].loading) fixed -= lane->circuits[k].bytes;
    if (bytes > engine->budget_bytes || fixed > engine->budget_bytes - bytes) return GRANT_NEVER;
    if (bytes <= engine->budget_bytes - engine->reserved_bytes) {
        engine->reserved_bytes += bytes;
        lane->reserved_bytes += bytes;
        return GRANT_YES;
    }
    engine_lane *owner = NULL;
    engine_circuit *c = least_used(&owner, engine, lane);
    if (c && owner == lane) {
        *victim = *c;
        return GRANT_EVICT;
    }
    if (c) {
        c->evict_wanted = true;
        pthread_cond_broadcast(&engine->work);
        return GRANT_WAIT;
    }
    return others_hold(engine, lane) ? GRANT_WAIT : GRANT_LATER;
}
