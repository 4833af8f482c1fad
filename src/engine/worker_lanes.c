/* Two lanes: two partitions side by side on one device, each with a prover on a queue of its own. The first lane loads
 * and evicts; as nobody may use the device meanwhile, it takes the second one's provers away before, and makes them
 * anew after, for the circuits that are there then and as far as there is room. Where there is none, and points are
 * streamed, the first lane gets several provers in their place, which work together (worker_prove.c). */
#include <errno.h>
#include <inttypes.h>

#include "base/cancel.h"
#include "base/cond.h"
#include "base/log.h"
#include "engine/worker_impl.h"

static uint64_t device_free(const worker *w) {
    uint64_t total = 0, free_bytes = 0;
    if (w->options->cuda_memory) w->options->cuda_memory(&total, &free_bytes, w->backend);
    return free_bytes;
}

/* ---- from two to one ---- */

/* Waits until the second lane proves nothing; it begins nothing until worker_widen. */
static cuzk_status await_beside(worker_lane *self, cuzk_err *err) {
    worker *w = self->w;
    cuzk_status status = CUZK_OK;
    pthread_mutex_lock(&w->lock);
    w->narrowed = true;
    while (w->beside_busy && status == CUZK_OK) {
        zk_cond_wait_until(&w->changed, &w->lock, zk_now_ns() + 20 * ZK_MS_NS); /* or cancelled meanwhile */
        status = zk_cancel_check(NULL, "load", err);
    }
    pthread_mutex_unlock(&w->lock);
    return status;
}

static void take_provers_away(worker *w) {
    for (loaded *c = w->circuits; c; c = c->next) {
        zk_prover_destroy(c->provers[1]);
        c->provers[1] = NULL;
    }
    zk_backend_stream_close(w->backend, w->stream);
    w->stream = NULL;
    for (loaded *c = w->circuits; c; c = c->next) zk_prover_rest(c->provers[0]); /* they lend again */
    zk_retire_drain(w->retire);
}

cuzk_status worker_narrow(worker_lane *self, cuzk_err *err) {
    worker *w = self->w;
    bool had_group = false;
    ZK_TRY(await_beside(self, err));
    for (loaded *c = w->circuits; c; c = c->next) {
        had_group |= c->n_group > 0;
        worker_group_clear(c);
    }
    if (!w->stream && !had_group) return CUZK_OK;
    if (w->stream) take_provers_away(w);
    zk_ipc_message m = {.type = ZK_IPC_LANES, .n_lanes = 1, .bytes = w->beside_bytes};
    w->beside_bytes = 0;
    return worker_say(self, m, err);
}

/* ---- from one to two ---- */

/* What the second lane takes, measured; plans tell where a device does not. */
static cuzk_status make_provers(worker *w, uint64_t *bytes, unsigned *n, cuzk_err *err) {
    uint64_t start = device_free(w), most = 0, planned = 0;
    *n = 0;
    ZK_TRY(zk_backend_stream_open(&w->stream, w->backend, err));
    uint64_t open = device_free(w);
    for (loaded *c = w->circuits; c; c = c->next) {
        uint64_t before = device_free(w);
        cuzk_status status = zk_prover_create_on(&c->provers[1], c->key, w->stream, w->pool, err);
        if (status == CUZK_OUT_OF_MEMORY) continue;
        ZK_TRY(status);
        uint64_t after = device_free(w);
        if (before > after && before - after > most) most = before - after;
        if (c->prover_bytes > planned) planned = c->prover_bytes;
        if (w->circuits->next) zk_prover_rest(c->provers[1]); /* one of several works at a time */
        ++*n;
    }
    *bytes = (start > open ? start - open : 0) + most;
    if (*bytes < planned) *bytes = planned;
    return *n ? CUZK_OK : CUZK_OUT_OF_MEMORY;
}

/* The daemon keeps the account of the device's memory. */
static bool may_take(worker_lane *self, uint64_t bytes) {
    zk_ipc_message m = {.type = ZK_IPC_RESERVE, .kind = ZK_KIND_POREP, .bytes = bytes, .optional = true}, answer;
    return worker_say(self, m, NULL) == CUZK_OK && worker_next_message(&answer, self, NULL) == CUZK_OK &&
           answer.type == ZK_IPC_GRANTED;
}

static cuzk_status tell_lanes(worker_lane *self, cuzk_err *err) {
    for (const loaded *c = self->w->circuits; c; c = c->next) {
        zk_ipc_message m = {.type = ZK_IPC_LANES,
                            .kind = c->kind,
                            .sector_bytes = c->sector_bytes,
                            .n_lanes = c->provers[1] ? 2 : 1,
                            .n_group = c->n_group};
        ZK_TRY(worker_say(self, m, err));
    }
    return CUZK_OK;
}

/* ---- several provers for one lane ---- */

void worker_group_clear(loaded *c) {
    while (c->n_group > 1) zk_prover_destroy(c->group[--c->n_group]);
    c->n_group = 0;
}

cuzk_status worker_group_shrink(worker_lane *self, loaded *c, unsigned n, cuzk_err *err) {
    while (c->n_group > n) zk_prover_destroy(c->group[--c->n_group]);
    return tell_lanes(self, err);
}

/* A circuit whose points do not fit the device has all of it reserved, and is alone there. */
static void make_group(worker_lane *self) {
    loaded *c = self->w->circuits;
    cuzk_err why = {0};
    if (!c || c->next || self->w->stream) return;
    c->group[0] = c->provers[0];
    cuzk_status status = zk_prove_together_make(c->group, &c->n_group, ZK_IPC_MAX_GROUP, &why);
    if (status == CUZK_OK && c->n_group > 1) status = tell_lanes(self, &why);
    if (status == CUZK_OK && c->n_group > 1) return;
    if (status != CUZK_OK) ZK_LOG_INFO("partitions are proved one by one", zk_kv_str("why", why.message));
    worker_group_clear(c);
}

static void set_narrowed(worker *w, bool narrowed) {
    pthread_mutex_lock(&w->lock);
    w->narrowed = narrowed;
    pthread_mutex_unlock(&w->lock);
}

/* ---- faster sums ---- */

enum { MOST_PLANES = 6 }; /* multiples of a point that are worth storing, and more */

static uint64_t bytes_of(const zk_resident_points *points) {
    size_t one = points->group == ZK_G1 ? sizeof(zk_g1_affine) : sizeof(zk_g2_affine);
    return points->n <= ZK_SHORT_LIST ? (uint64_t)points->n * one * MOST_PLANES : 0;
}

/* Multiples of the short lists of a key that is alone on the device, if the daemon has memory to spare for them. */
static void store_multiples(worker_lane *self) {
    worker *w = self->w;
    loaded *c = w->circuits;
    cuzk_err why = {0};
    if (!c || c->next || c->has_multiples || w->backend->caps.shares_host_memory) return;
    const zk_resident_points *const lists[] = {c->key->l[0], c->key->a[0], c->key->b_g1[0], c->key->b_g2[0], c->key->h};
    uint64_t most = 0;
    for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++) most += bytes_of(lists[i]);
    c->has_multiples = true; /* or not to be tried again */
    if (!may_take(self, most)) return;
    uint64_t before = device_free(w);
    if (zk_proving_key_speed_up(c->key, ZK_SHORT_LIST, NULL, &why) != CUZK_OK)
        ZK_LOG_INFO("no multiples of a key are stored", zk_kv_str("why", why.message));
    uint64_t after = device_free(w), used = before > after ? before - after : 0;
    used = used < most ? used : most;
    worker_release(self, c->kind, most - used, 0);
    c->bytes += used;
}

/* ---- after a load ---- */

static void make_second(worker_lane *self) {
    worker *w = self->w;
    cuzk_err why = {0};
    uint64_t bytes = 0;
    unsigned n = 0;
    if (w->n_lanes < 2 || !w->circuits || w->stream || !w->backend->caps.has_streams) return;
    cuzk_status status = make_provers(w, &bytes, &n, &why);
    if (status == CUZK_OK && !may_take(self, bytes))
        status = ZK_FAIL(&why, CUZK_OUT_OF_MEMORY, "%" PRIu64 " bytes are not free of what others reserved", bytes);
    if (status == CUZK_OK) {
        w->beside_bytes = bytes;
        status = tell_lanes(self, &why);
    } else {
        take_provers_away(w);
        ZK_LOG_INFO("one partition at a time: no room for two", zk_kv_str("device", w->backend->caps.device),
                    zk_kv_str("why", why.message));
    }
}

void worker_widen(worker_lane *self) {
    if (!self->w->narrowed || self->index) return;
    pthread_mutex_lock(&self->w->lock);
    bool alone = !self->w->beside_busy; /* else worker_narrow was cancelled, and all is as it was */
    pthread_mutex_unlock(&self->w->lock);
    if (alone) make_second(self);
    if (alone) make_group(self);
    if (alone) store_multiples(self);
    set_narrowed(self->w, false);
}

/* ---- the second lane ---- */

cuzk_status worker_join(loaded **circuit, worker_lane *self, zk_proof_kind kind, uint64_t sector_bytes, cuzk_err *err) {
    worker *w = self->w;
    pthread_mutex_lock(&w->lock);
    loaded *c = w->narrowed ? NULL : worker_find_circuit(self, kind, sector_bytes);
    *circuit = c && c->provers[1] ? c : NULL;
    w->beside_busy = *circuit != NULL;
    pthread_mutex_unlock(&w->lock);
    return *circuit ? CUZK_OK : ZK_FAIL(err, CUZK_EXHAUSTED, "no second lane for this circuit now");
}

void worker_part(worker_lane *self) {
    pthread_mutex_lock(&self->w->lock);
    self->w->beside_busy = false;
    pthread_cond_broadcast(&self->w->changed);
    pthread_mutex_unlock(&self->w->lock);
}

void worker_rest_others(worker_lane *self, const loaded *circuit) {
    if (!self->w->stream) return; /* alone, a prover lends its memory anyway */
    for (loaded *c = self->w->circuits; c; c = c->next)
        if (c != circuit) zk_prover_rest(c->provers[self->index]);
}
