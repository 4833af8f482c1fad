/* Keys that somebody asks for, or wants to be rid of: workers are told, their work is awaited. */
#include <string.h>

#include "engine/circuits.h"
#include "engine/engine_impl.h"

cuzk_status engine_fail_ending(cuzk_err *err) {
    return ZK_FAIL(err, CUZK_IO, "the daemon is about to end and takes no new work");
}

/* Devices whose workers are to load the keys; *loaded: those that have them. Needs the lock. */
static uint64_t devices_for(uint64_t *loaded, zk_engine *engine, const engine_key_call *call) {
    uint64_t wanted = 0;
    *loaded = 0;
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        engine_lane *lane = &engine->lanes[i];
        uint64_t bit = (uint64_t)1 << (lane->on - engine->devices);
        engine_circuit *c = engine_lane_circuit(lane, call->kind, call->sector_bytes);
        if (engine_lane_for_kind(engine, lane, call->kind)) wanted |= bit;
        if (c && !c->loading && !c->evict_wanted) *loaded |= bit;
    }
    return wanted;
}

/* Waits until every device has loaded the keys, or one has failed. Needs the lock. */
static void load_everywhere(zk_engine *engine, engine_key_call *call) {
    engine_key_call **at = &engine->key_calls;
    uint64_t loaded;
    while (*at) at = &(*at)->next;
    *at = call;
    pthread_cond_broadcast(&engine->work);
    for (;;) {
        uint64_t left = devices_for(&loaded, engine, call) & ~call->devices;
        bool more = left && call->status == CUZK_OK && !engine->stopping && !engine->draining;
        if (!call->n_running && !more) break;
        zk_cond_wait_until(&engine->done, &engine->lock, zk_now_ns() + ZK_SECOND_NS);
    }
    for (at = &engine->key_calls; *at != call; at = &(*at)->next) {}
    *at = call->next;
}

cuzk_status zk_engine_preload(bool *already_loaded, uint64_t *load_ms, zk_engine *engine, const char *circuit_id,
                              cuzk_err *err) {
    engine_key_call call = {.already_loaded = true};
    char path[ZK_KEY_PATH_BYTES];
    uint64_t loaded = 0, start = zk_now_ns();
    *already_loaded = false;
    *load_ms = 0;
    ZK_TRY(zk_circuit_parse(&call.kind, &call.sector_bytes, circuit_id, err));
    ZK_TRY(zk_circuit_key_path(path, NULL, engine->options.param_cache, call.kind, call.sector_bytes, err));
    engine_lock(engine);
    bool refused = engine->draining || engine->stopping;
    uint64_t wanted = devices_for(&loaded, engine, &call);
    call.devices = loaded;
    if (!refused && wanted & ~loaded) load_everywhere(engine, &call);
    bool some = call.devices & ~loaded, ending = engine->draining || engine->stopping;
    engine_unlock(engine);
    if (refused) return engine_fail_ending(err);
    bool missing = wanted & ~loaded && !some; /* nobody took it */
    if (missing && ending) return engine_fail_ending(err);
    if (!wanted || missing)
        return ZK_FAIL(err, CUZK_DEVICE, "%s: no worker is left that could load the keys", circuit_id);
    if (call.status != CUZK_OK) {
        if (err && !err->status) *err = call.err;
        return call.status;
    }
    *already_loaded = call.already_loaded;
    *load_ms = some ? engine_ms(zk_now_ns() - start) : 0;
    return CUZK_OK;
}

cuzk_status zk_engine_evict(bool *was_loaded, uint64_t *freed_bytes, zk_engine *engine, const char *circuit_id,
                            cuzk_err *err) {
    zk_proof_kind kind;
    uint64_t sector_bytes;
    *was_loaded = false;
    *freed_bytes = 0;
    ZK_TRY(zk_circuit_parse(&kind, &sector_bytes, circuit_id, err));
    cuzk_status status = CUZK_OK;
    engine_lock(engine);
    for (unsigned i = 0; i < engine->n_lanes && status == CUZK_OK; i++) {
        engine_circuit *c = engine_lane_circuit(&engine->lanes[i], kind, sector_bytes);
        if (c && engine_circuit_in_use(&engine->lanes[i], c))
            status = ZK_FAIL(err, CUZK_EXHAUSTED, "%s: in use by worker %u", circuit_id, i);
    }
    for (unsigned i = 0; i < engine->n_lanes && status == CUZK_OK; i++) {
        engine_circuit *c = engine_lane_circuit(&engine->lanes[i], kind, sector_bytes);
        if (!c) continue;
        *was_loaded = true;
        *freed_bytes += c->bytes + c->host_bytes;
        c->evict_wanted = true;
    }
    if (status == CUZK_OK) engine_warm_drop(engine, kind, sector_bytes);
    pthread_cond_broadcast(&engine->work);
    for (unsigned i = 0; i < engine->n_lanes && *was_loaded; i++)
        for (;;) { /* until it is really free */
            engine_circuit *c = engine_lane_circuit(&engine->lanes[i], kind, sector_bytes);
            if (!c || !c->evict_wanted || engine->stopping) break;
            zk_cond_wait_until(&engine->done, &engine->lock, zk_now_ns() + 100 * ZK_MS_NS);
        }
    engine_unlock(engine);
    return status;
}
