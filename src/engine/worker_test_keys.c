/* Keys of known toxic waste, made where they are used: a device is measured without files of fifty gigabytes. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "engine/circuits.h"
#include "engine/worker_impl.h"

/* No file that is anything else is written to. */
static cuzk_status put_vk(const char *path, const zk_vk *vk, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_file_map map = {0};
    size_t n = zk_vk_bytes(vk->n_ic);
    uint8_t *bytes = zk_malloc(n);
    if (!bytes) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a verifying key");
    zk_vk_encode(bytes, vk);
    ZK_GOTO(zk_file_map_open(&map, path, 0, UINT64_MAX, err));
    bool same = map.n_bytes == n && memcmp(map.data, bytes, n) == 0;
    if (map.n_bytes && !same)
        status = ZK_FAIL(err, CUZK_BAD_INPUT, "%s: keys of a test are asked for: found %zu bytes, expected none", path,
                         map.n_bytes);
    else if (!same)
        status = zk_file_write(path, bytes, n, err);
out:
    zk_file_map_close(&map);
    free(bytes);
    return status;
}

static cuzk_status ask(const loaded *c, worker_lane *self, const char *path, cuzk_err *err) {
    zk_ipc_message m = {.type = ZK_IPC_KEY_FILE, .kind = c->kind, .sector_bytes = c->sector_bytes}, answer;
    zk_file_map map = {0};
    ZK_TRY(zk_file_map_open(&map, path, 1, UINT64_MAX, err));
    m.file = zk_file_identity_of(&map);
    zk_file_map_close(&map);
    ZK_TRY(worker_say(self, m, err));
    ZK_TRY(worker_next_message(&answer, self, err));
    return answer.type == ZK_IPC_DENIED ? ZK_FAIL(err, (cuzk_status)answer.status, "%s", answer.message) : CUZK_OK;
}

cuzk_status worker_generate_key(loaded *c, worker_lane *self, zk_key_form form, zk_trace *trace, cuzk_err *err) {
    const zk_worker_options *o = self->w->options;
    char path[ZK_KEY_PATH_BYTES];
    ZK_LOG_WARN("keys of known toxic waste, for tests: proofs prove nothing", zk_kv_str("circuit", c->program->name));
    ZK_TRY(zk_circuit_key_path(path, NULL, o->param_cache, c->kind, c->sector_bytes, err));
    ZK_TRY((form == ZK_KEY_PREPARED ? zk_proving_key_generate_prepared : zk_proving_key_generate)(
        &c->key, c->resident, o->toxic, self->w->pool, trace, err));
    ZK_TRY(put_vk(path, &c->key->vk, err));
    return ask(c, self, path, err);
}
