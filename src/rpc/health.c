/* grpc.health.v1.Health: SERVING until the daemon begins to end, or has no worker left that could prove. */
#include <string.h>

#include "rpc/call.h"

enum { SERVING = 1, NOT_SERVING = 2, SERVICE_UNKNOWN = 3 };

static int health_of(const zk_rpc_server *s) {
    if (atomic_load(&s->draining)) return NOT_SERVING;
    zk_engine_status *st = NULL;
    cuzk_err err = {0};
    if (zk_engine_get_status(&st, s->engine, &err) != CUZK_OK) return NOT_SERVING;
    size_t n_retired = 0;
    for (size_t i = 0; i < st->n_workers; i++) n_retired += st->workers[i].state == ZK_WORKER_RETIRED;
    int health = st->draining || (st->n_workers > 0 && n_retired == st->n_workers) ? NOT_SERVING : SERVING;
    zk_engine_status_destroy(st);
    return health;
}

static grpc_slice pack_health(int health) {
    zk_pb_writer w = {0};
    zk_pb_put_varint(&w, 1, (uint64_t)health);
    return zk_rpc_slice_of(&w);
}

/* Whether the request asks for a service that is here; `bad`: the call has been failed. */
static bool asks_known(zk_rpc_call *call, bool *bad) {
    static const char *const known[] = {"", "cuzk.v1.ProvingEngine", "grpc.health.v1.Health"};
    grpc_slice slice;
    zk_pb_field f = {0}, service = {0};
    *bad = !zk_rpc_call_flatten(call, &slice);
    if (*bad) return false;
    zk_pb_reader r = {GRPC_SLICE_START_PTR(slice), GRPC_SLICE_END_PTR(slice), false};
    while (zk_pb_next(&r, &f))
        if (zk_pb_is(&f, 1, ZK_PB_BYTES)) service = f;
    bool is = false;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        is |= service.n == strlen(known[i]) && (service.n == 0 || memcmp(service.data, known[i], service.n) == 0);
    *bad = r.bad;
    grpc_slice_unref(slice);
    if (r.bad && zk_rpc_call_claim(call))
        zk_rpc_call_fail(call, GRPC_STATUS_INVALID_ARGUMENT, "the message is no HealthCheckRequest");
    return is;
}

static void handle_check(zk_rpc_call *call) {
    bool bad = false, known = asks_known(call, &bad);
    if (bad || !zk_rpc_call_claim(call)) return;
    if (known)
        zk_rpc_call_reply(call, pack_health(health_of(call->server)));
    else
        zk_rpc_call_fail(call, GRPC_STATUS_NOT_FOUND, "no such service here");
}

static void push(zk_rpc_call *call);

static void after_push(zk_rpc_call *call, bool ok) {
    atomic_store(&call->sending, false);
    if (ok) push(call);
}

/* Sends the state if it is news. */
static void push(zk_rpc_call *call) {
    if (atomic_load(&call->claimed) || atomic_exchange(&call->sending, true)) return;
    int health = health_of(call->server);
    if (health == call->sent_health) {
        atomic_store(&call->sending, false);
        return;
    }
    call->sent_health = health;
    zk_rpc_call_send(call, pack_health(health), after_push);
}

void zk_rpc_health_changed(zk_rpc_call *call) { push(call); }

void zk_rpc_health_over(zk_rpc_call *call, zk_outcome why) {
    (void)why;
    if (zk_rpc_call_claim(call)) zk_rpc_call_fail(call, GRPC_STATUS_UNAVAILABLE, "the daemon ends");
    zk_rpc_wait_end(call);
}

static void handle_watch(zk_rpc_call *call) {
    bool bad = false, known = asks_known(call, &bad);
    if (bad) return;
    call->wait.is_health = true;
    zk_rpc_wait_begin(call);
    if (known) {
        push(call);
    } else {
        atomic_store(&call->sending, true); /* for good: nothing else will ever be said */
        zk_rpc_call_send(call, pack_health(SERVICE_UNKNOWN), NULL);
    }
    if (atomic_load(&call->closed) || atomic_load(&call->server->ending))
        zk_rpc_health_over(call, ZK_OUTCOME_CANCELLED);
}

static const zk_rpc_method methods[] = {
    {"/grpc.health.v1.Health/Check", handle_check, false, false},
    {"/grpc.health.v1.Health/Watch", handle_watch, false, false},
};
const zk_rpc_method *const zk_rpc_health_methods = methods;
const size_t zk_rpc_n_health_methods = sizeof methods / sizeof methods[0];
