/* Circuits of a worker: their keys on the device, and the memory for them. */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "engine/circuits.h"
#include "engine/worker_impl.h"
#include "filecoin/kinds.h"
#include "groth16/prepared_params.h"
#include "msm/msm.h"

/* ---- memory ---- */

static void unload(loaded *c) {
    worker_group_clear(c);
    zk_prover_destroy(c->provers[1]);
    zk_prover_destroy(c->provers[0]);
    zk_proving_key_destroy(c->key);
    zk_resident_program_unload(c->resident);
    zk_program_destroy(c->program);
    free(c);
}

void worker_settle_scratch(worker_lane *self) {
    uint64_t most = 0;
    for (const loaded *c = self->w->circuits; c; c = c->next) most = c->scratch_bytes > most ? c->scratch_bytes : most;
    if (most >= self->w->scratch_bytes) return;
    worker_release(self, ZK_KIND_UNSPECIFIED, self->w->scratch_bytes - most, 0);
    self->w->scratch_bytes = most;
}

void worker_unload_all(worker_lane *self) {
    while (self->w->circuits) {
        loaded *c = self->w->circuits;
        self->w->circuits = c->next;
        unload(c);
    }
}

cuzk_status worker_evict(worker_lane *self, zk_proof_kind kind, uint64_t sector_bytes, cuzk_err *err) {
    zk_ipc_message evicted = {.type = ZK_IPC_EVICTED, .kind = kind, .sector_bytes = sector_bytes};
    loaded *c = NULL;
    ZK_TRY(worker_narrow(self, err));
    pthread_mutex_lock(&self->w->lock);
    for (loaded **at = &self->w->circuits; *at && !c; at = *at ? &(*at)->next : at) {
        if ((*at)->kind != kind || (*at)->sector_bytes != sector_bytes) continue;
        c = *at;
        *at = c->next;
    }
    pthread_mutex_unlock(&self->w->lock);
    if (c) {
        evicted.bytes = c->bytes;
        evicted.host_bytes = c->host_bytes;
        unload(c);
        zk_retire_drain(self->w->retire);
        malloc_trim(0);
    }
    return worker_say(self, evicted, err);
}

cuzk_status worker_reserve(worker_lane *self, zk_proof_kind kind, uint64_t sector_bytes, uint64_t bytes,
                           uint64_t host_bytes, cuzk_err *err) {
    ZK_TRY(worker_say(self,
                      (zk_ipc_message){.type = ZK_IPC_RESERVE,
                                       .kind = kind,
                                       .sector_bytes = sector_bytes,
                                       .bytes = bytes,
                                       .host_bytes = host_bytes},
                      err));
    for (;;) {
        zk_ipc_message answer;
        ZK_TRY(worker_next_message(&answer, self, err));
        switch (answer.type) {
        case ZK_IPC_GRANTED:
            return CUZK_OK;
        case ZK_IPC_EVICT: /* of the first lane, which has the keys */
            ZK_TRY(worker_evict(self, (zk_proof_kind)answer.kind, answer.sector_bytes, err));
            break;
        case ZK_IPC_DENIED:
            return ZK_FAIL(err, (cuzk_status)answer.status, "%s", answer.message);
        default:
            return ZK_FAIL(err, CUZK_INTERNAL, "worker: message %" PRIu32 " in answer to a reservation", answer.type);
        }
    }
}

void worker_release(worker_lane *self, zk_proof_kind kind, uint64_t bytes, uint64_t host_bytes) {
    if (!bytes && !host_bytes) return;
    cuzk_status status = worker_say(
        self, (zk_ipc_message){.type = ZK_IPC_RELEASE, .kind = kind, .bytes = bytes, .host_bytes = host_bytes}, NULL);
    (void)status; /* a daemon that is gone is seen at the next message */
}

/* ---- the key file's digest ---- */

/* Made beside the loading. */
typedef struct digesting {
    pthread_t thread;
    bool running;
    const zk_file_map *map;
    uint64_t n_bytes; /* of the file, from its begin: a prepared key ends with its own digest */
    bool prepared;
    zk_file_digest digest;
    zk_cancel stop;
    zk_progress *progress; /* of who waits for it */
    bool known;            /* digest.sha256 is there */
    cuzk_status status;
    cuzk_err err;
} digesting;

static void *make_digest(void *ctx) {
    digesting *d = ctx;
    zk_progress_bind(d->progress);
    d->status = zk_file_digest_make(&d->digest, d->map->fd, d->n_bytes, d->digest.has_blake2b, &d->stop, &d->err);
    return NULL;
}

/* map, n_bytes, prepared are set. */
static cuzk_status ask_about_file(digesting *d, worker_lane *self, const loaded *c, cuzk_err *err) {
    zk_ipc_message m = {.type = ZK_IPC_KEY_FILE, .kind = c->kind, .sector_bytes = c->sector_bytes}, answer;
    m.prepared = d->prepared;
    m.file = zk_file_identity_of(d->map);
    ZK_TRY(worker_say(self, m, err));
    ZK_TRY(worker_next_message(&answer, self, err));
    if (answer.type == ZK_IPC_DENIED) return ZK_FAIL(err, (cuzk_status)answer.status, "%s", answer.message);
    d->known = answer.known;
    memcpy(d->digest.sha256, answer.digest.sha256, sizeof d->digest.sha256);
    if (answer.type != ZK_IPC_DIGEST) return CUZK_OK;
    d->digest.has_blake2b = answer.digest.has_blake2b;
    d->progress = self->progress;
    d->running = pthread_create(&d->thread, NULL, make_digest, d) == 0;
    return d->running ? CUZK_OK : ZK_FAIL(err, CUZK_EXHAUSTED, "no thread for the digest of a key file");
}

static cuzk_status tell_digest(digesting *d, worker_lane *self, const loaded *c, cuzk_err *err) {
    zk_ipc_message m = {.type = ZK_IPC_KEY_DIGEST, .kind = c->kind, .sector_bytes = c->sector_bytes}, answer;
    if (!d->running) return CUZK_OK;
    pthread_join(d->thread, NULL);
    d->running = false;
    if (d->status != CUZK_OK) {
        if (err) *err = d->err;
        zk_err_prefix(err, "%s", d->map->path);
        return d->status;
    }
    d->known = true;
    ZK_TRY(zk_file_map_check(d->map, err));
    m.prepared = d->prepared;
    m.file = zk_file_identity_of(d->map);
    m.digest = d->digest;
    ZK_TRY(worker_say(self, m, err));
    ZK_TRY(worker_next_message(&answer, self, err));
    if (answer.type == ZK_IPC_DENIED) return ZK_FAIL(err, (cuzk_status)answer.status, "%s", answer.message);
    return CUZK_OK;
}

/* What a failure leaves. */
static void give_up_digest(digesting *d) {
    if (!d->running) return;
    zk_cancel_request(&d->stop);
    pthread_join(d->thread, NULL);
}

/* ---- loading ---- */

loaded *worker_find_circuit(worker_lane *self, zk_proof_kind kind, uint64_t sector_bytes) {
    for (loaded *c = self->w->circuits; c; c = c->next)
        if (c->kind == kind && c->sector_bytes == sector_bytes) return c;
    return NULL;
}

/* What the circuit will take: of the device, and of the host if that is something else. */
static void plan(loaded *c, worker_lane *self, const zk_query_masks *masks, unsigned log2_n) {
    zk_memory_plan device = {0}, prover = {0}, inputs = {0};
    /* The plans need a resident program for its domain alone. */
    zk_resident_program probe = {.backend = self->w->backend, .program = c->program, .log2_n = log2_n};
    zk_resident_program_plan(self->w->backend, c->program, &device);
    zk_proving_key_plan(&probe, masks, &device);
    zk_prover_plan(&probe, masks, &prover);
    c->prover_bytes = prover.bytes;
    zk_memory_plan_add(&device, "prover", 1, prover.bytes);
    zk_memory_plan_add(&inputs, "inputs", self->w->n_lanes * (self->n_slots + 1),
                       ((uint64_t)c->program->n_hints + c->program->n_inputs) * 32);
    uint64_t most = self->w->backend->caps.memory_bytes;
    if (self->w->backend->caps.shares_host_memory) {
        c->bytes = device.bytes + inputs.bytes;
    } else { /* points that a device has no room for stay in host memory */
        c->bytes = most && device.bytes > most ? most : device.bytes;
        c->host_bytes = inputs.bytes + (device.bytes - c->bytes);
    }
}

/* On the CPU sums work in host memory, one at a time. */
static cuzk_status reserve_scratch(loaded *c, worker_lane *self, const zk_query_masks *masks, unsigned log2_n,
                                   cuzk_err *err) {
    const zk_backend_caps *caps = &self->w->backend->caps;
    size_t n_b = masks->query[ZK_QUERY_B].n_points - masks->query[ZK_QUERY_B].n_bits;
    uint64_t g1 = zk_msm_g1_mem_bytes((size_t)1 << log2_n, caps->n_threads);
    uint64_t g2 = zk_msm_g2_mem_bytes(n_b, caps->n_threads), most = g1 > g2 ? g1 : g2;
    if (!caps->shares_host_memory) return CUZK_OK;
    c->scratch_bytes = most;
    if (most <= self->w->scratch_bytes) return CUZK_OK;
    ZK_TRY(worker_reserve(self, ZK_KIND_UNSPECIFIED, 0, most - self->w->scratch_bytes, 0, err));
    self->w->scratch_bytes = most;
    return CUZK_OK;
}

/* What a circuit is loaded from. The masks are those of the form: prepared if there is a prepared key, else plain. */
typedef struct key_files {
    zk_params *params;
    zk_prepared_params *prepared;
    zk_query_masks masks;
    bool give_up_prepared; /* it cannot be used, the parameter file alone can be tried */
    bool generated;        /* keys of a test, made in place: there are no files */
} key_files;

static void close_files(key_files *files) {
    zk_prepared_params_close(files->prepared);
    zk_params_close(files->params);
    zk_query_masks_clear(&files->masks);
}

/* Said once a load: the proofs are the same, only slower. */
static void refuse_prepared(key_files *files, const char *path, const cuzk_err *why) {
    ZK_LOG_WARN("a prepared key is not used; proofs take the parameter file alone", zk_kv_str("file", path),
                zk_kv_str("why", why->message));
    zk_prepared_params_close(files->prepared);
    files->prepared = NULL;
}

/* Opens the prepared key beside the parameter file if there is one that may be used, and brings the masks into its
 * form. A key that is refused is no failure. */
static cuzk_status open_prepared(key_files *files, const loaded *c, worker_lane *self, const char *params_path,
                                 cuzk_err *err) {
    char *path = NULL;
    cuzk_err why = {0};
    ZK_TRY(zk_prepared_path(&path, params_path, err));
    cuzk_status status = CUZK_OK;
    if (access(path, F_OK) != 0) goto out;
    status = zk_query_masks_prepare(&files->masks, c->program, &why);
    if (status == CUZK_OK && !files->generated)
        status = zk_prepared_params_open(&files->prepared, path, files->params, c->program, &files->masks, &why);
    if (status == CUZK_OK) goto out;
    refuse_prepared(files, path, &why);
    zk_query_masks_clear(&files->masks);
    status = zk_query_masks_compute(&files->masks, c->program, self->w->pool, err);
out:
    free(path);
    return status;
}

static cuzk_status open_files(key_files *files, loaded *c, worker_lane *self, bool plain, zk_trace *trace,
                              cuzk_err *err) {
    char path[ZK_KEY_PATH_BYTES];
    zk_params_counts counts;
    ZK_TRY(zk_circuit_key_path(path, NULL, self->w->options->param_cache, c->kind, c->sector_bytes, err));
    files->generated = self->w->options->toxic != NULL;
    if (!files->generated) /* a file that is none is told before there is much work */
        ZK_TRY(zk_params_open(&files->params, path, NULL, err));
    zk_span *inner = zk_span_open_kernel(trace, "build program");
    ZK_TRY(zk_kind_program(&c->program, c->kind, c->sector_bytes, err));
    zk_span_close(trace, inner);
    inner = zk_span_open_kernel(trace, "query masks");
    ZK_TRY(zk_query_masks_compute(&files->masks, c->program, self->w->pool, err));
    zk_span_close(trace, inner);
    ZK_TRY(zk_params_counts_of(&counts, c->program, &files->masks.stats, err));
    if (!files->generated) ZK_TRY(zk_params_match(files->params, &counts, err));
    return plain || self->w->options->no_prepared ? CUZK_OK : open_prepared(files, c, self, path, err);
}

/* The prepared key names the whole parameter file by its digest, and itself. */
static cuzk_status match_digests(const key_files *files, const digesting *of_params, const digesting *of_prepared,
                                 cuzk_err *err) {
    if (!files->prepared) return CUZK_OK;
    return zk_prepared_params_match(files->prepared, of_prepared->known ? of_prepared->digest.sha256 : NULL,
                                    of_params->known ? of_params->digest.sha256 : NULL, files->params, err);
}

/* Asks the daemon about both files, and begins with what it does not know of them. */
static cuzk_status ask_about_files(digesting *of_params, digesting *of_prepared, key_files *files, worker_lane *self,
                                   const loaded *c, cuzk_err *err) {
    if (files->generated) return CUZK_OK;
    of_params->map = &files->params->map;
    of_params->n_bytes = of_params->map->n_bytes;
    ZK_TRY(ask_about_file(of_params, self, c, err));
    if (!files->prepared) return CUZK_OK;
    files->give_up_prepared = true;
    of_prepared->prepared = true;
    of_prepared->map = &files->prepared->map;
    of_prepared->n_bytes = zk_prepared_params_digested_bytes(files->prepared);
    ZK_TRY(ask_about_file(of_prepared, self, c, err));
    ZK_TRY(match_digests(files, of_params, of_prepared, err));
    files->give_up_prepared = false;
    return CUZK_OK;
}

/* Whether the parameter file alone can succeed where the prepared key has failed. */
static bool may_do_without(cuzk_status status) {
    return cuzk_status_classify(status) == CUZK_CLASS_INPUT || status == CUZK_OUT_OF_MEMORY;
}

static void drop_parts(loaded *c, worker_lane *self, bool reserved) {
    zk_prover_destroy(c->provers[0]);
    zk_proving_key_destroy(c->key);
    zk_resident_program_unload(c->resident);
    c->provers[0] = NULL;
    c->key = NULL;
    c->resident = NULL;
    zk_retire_drain(self->w->retire);
    if (reserved) worker_release(self, c->kind, c->bytes, c->host_bytes);
}

/* Everything on the device, in the form of the files. After a failure nothing is left of it. */
static cuzk_status load_parts(loaded *c, worker_lane *self, key_files *files, zk_trace *trace, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    bool reserved = false;
    digesting of_params = {0}, of_prepared = {0};
    unsigned log2_n;
    zk_span *inner = zk_span_open_kernel(trace, "await lane"); /* the other one ends what it proves */
    ZK_GOTO(worker_narrow(self, err));
    zk_span_close(trace, inner);
    inner = zk_span_open_kernel(trace, "reserve memory");
    ZK_GOTO(zk_program_log2_domain(&log2_n, c->program, err));
    ZK_GOTO(reserve_scratch(c, self, &files->masks, log2_n, err));
    plan(c, self, &files->masks, log2_n);
    ZK_GOTO(worker_reserve(self, c->kind, c->sector_bytes, c->bytes, c->host_bytes, err));
    reserved = true;
    zk_span_close(trace, inner);
    ZK_GOTO(ask_about_files(&of_params, &of_prepared, files, self, c, err));
    inner = zk_span_open_kernel(trace, "load program");
    ZK_GOTO(zk_resident_program_load(&c->resident, self->w->backend, c->program, err));
    zk_span_close(trace, inner);
    files->give_up_prepared = true;
    ZK_GOTO(files->generated ? worker_generate_key(c, self, files->masks.form, trace, err)
                             : zk_proving_key_load_files(&c->key, c->resident, files->params, files->prepared,
                                                         &files->masks, trace, err));
    files->give_up_prepared = false;
    inner = zk_span_open_kernel(trace, "buffers");
    ZK_GOTO(zk_prover_create(&c->provers[0], c->key, self->w->pool, err));
    zk_span_close(trace, inner);
    inner = zk_span_open_kernel(trace, "digest"); /* what is left of it */
    ZK_GOTO(tell_digest(&of_params, self, c, err));
    files->give_up_prepared = true;
    ZK_GOTO(tell_digest(&of_prepared, self, c, err));
    ZK_GOTO(match_digests(files, &of_params, &of_prepared, err));
out:
    zk_span_close(trace, inner);
    give_up_digest(&of_params);
    give_up_digest(&of_prepared);
    if (status != CUZK_OK) drop_parts(c, self, reserved);
    return status;
}

/* With the prepared key if it can be used, else without. */
static cuzk_status load_circuit(loaded *c, worker_lane *self, bool plain, zk_trace *trace, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    cuzk_err why = {0};
    key_files files = {0};
    ZK_GOTO(open_files(&files, c, self, plain, trace, err));
    status = load_parts(c, self, &files, trace, &why);
    if (status != CUZK_OK && files.prepared && files.give_up_prepared && may_do_without(status)) {
        refuse_prepared(&files, files.prepared->map.path, &why);
        zk_query_masks_clear(&files.masks);
        zk_err_reset(&why);
        ZK_GOTO(zk_query_masks_compute(&files.masks, c->program, self->w->pool, err));
        status = load_parts(c, self, &files, trace, &why);
    }
    if (status != CUZK_OK && err) *err = why;
out:
    close_files(&files);
    return status;
}

cuzk_status worker_load(loaded **out, worker_lane *self, zk_proof_kind kind, uint64_t sector_bytes, bool plain,
                        zk_trace *trace, cuzk_err *err) {
    *out = worker_find_circuit(self, kind, sector_bytes);
    if (*out) return CUZK_OK;
    cuzk_status status = CUZK_OK;
    loaded *c = zk_calloc(1, sizeof *c);
    if (!c) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a circuit");
    c->kind = kind;
    c->sector_bytes = sector_bytes;
    zk_span *span = zk_span_open(trace, "load keys");
    ZK_GOTO(worker_stage(self, "load", err));
    ZK_GOTO(load_circuit(c, self, plain, trace, err));
    pthread_mutex_lock(&self->w->lock);
    c->next = self->w->circuits;
    self->w->circuits = c;
    pthread_mutex_unlock(&self->w->lock);
    *out = c;
    c = NULL;
    zk_span *inner = zk_span_open_kernel(trace, "second lane");
    worker_widen(self);
    zk_span_close(trace, inner);
    ZK_GOTO(worker_say(self,
                       (zk_ipc_message){.type = ZK_IPC_LOADED,
                                        .kind = kind,
                                        .sector_bytes = sector_bytes,
                                        .bytes = (*out)->bytes,
                                        .host_bytes = (*out)->host_bytes,
                                        .prepared = (*out)->key->form == ZK_KEY_PREPARED},
                       err));
out:
    zk_span_close(trace, span);
    if (c) unload(c);
    return status;
}
