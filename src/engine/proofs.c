/* Every proof is verified here, in the daemon, before it counts: with public inputs that this process derives from the
 * content that was accepted, and the verifying key of the file that the worker has loaded. What the worker itself found
 * is not relied on. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "engine/circuits.h"
#include "engine/engine_impl.h"
#include "filecoin/job.h"
#include "groth16/verify.h"

/* ---- verifying keys ---- */

struct engine_vk {
    engine_vk *next;
    zk_proof_kind kind;
    uint64_t sector_bytes;
    zk_file_identity file;
    zk_prepared_vk *vk;
    unsigned refs; /* circuits of lanes, and who verifies now */
};

static bool is_for(const engine_vk *k, zk_proof_kind kind, uint64_t sector_bytes) {
    return k->kind == kind && k->sector_bytes == sector_bytes;
}

static void free_vk(engine_vk *k) {
    if (!k) return;
    zk_prepared_vk_destroy(k->vk);
    free(k);
}

/* Takes one that is known. Needs the lock. */
static engine_vk *find(zk_engine *engine, zk_proof_kind kind, uint64_t sector_bytes, const zk_file_identity *file) {
    for (engine_vk *k = engine->vks; k; k = k->next)
        if (is_for(k, kind, sector_bytes) && zk_file_identity_same(&k->file, file)) {
            k->refs++;
            return k;
        }
    return NULL;
}

/* Those of the same circuit that nobody uses make room. Needs the lock. */
static void add(zk_engine *engine, engine_vk *fresh) {
    for (engine_vk **at = &engine->vks; *at;) {
        engine_vk *old = *at;
        if (old->refs || !is_for(old, fresh->kind, fresh->sector_bytes)) {
            at = &old->next;
            continue;
        }
        *at = old->next;
        free_vk(old);
    }
    fresh->next = engine->vks;
    engine->vks = fresh;
}

cuzk_status engine_vk_hold(engine_vk **out, zk_engine *engine, zk_proof_kind kind, uint64_t sector_bytes,
                           const zk_file_identity *expected, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    char path[ZK_KEY_PATH_BYTES];
    zk_file_map map = {0};
    zk_vk vk = {0};
    size_t n_used;
    engine_vk *k = NULL;
    *out = NULL;
    ZK_GOTO(zk_circuit_key_path(path, NULL, engine->options.param_cache, kind, sector_bytes, err));
    ZK_GOTO(zk_file_map_open(&map, path, 0, UINT64_MAX, err));
    zk_file_identity file = zk_file_identity_of(&map);
    if (expected && !zk_file_identity_same(&file, expected))
        ZK_GOTO(ZK_FAIL(err, CUZK_EXHAUSTED, "%s: replaced by another file while it was opened", path));
    engine_lock(engine);
    *out = find(engine, kind, sector_bytes, &file);
    engine_unlock(engine);
    if (*out) goto out;
    k = zk_calloc(1, sizeof *k);
    if (!k) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a verifying key"));
    *k = (engine_vk){.kind = kind, .sector_bytes = sector_bytes, .file = file, .refs = 1};
    status = zk_vk_decode(&vk, &n_used, map.data, map.n_bytes, path, err);
    if (status == CUZK_BAD_INPUT) { /* it may have shrunk under the reader */
        cuzk_err changed = {0};
        if (zk_file_map_check(&map, &changed) != CUZK_OK && err) *err = changed;
    }
    ZK_GOTO(status);
    ZK_GOTO(zk_prepared_vk_create(&k->vk, &vk, path, err));
    engine_lock(engine);
    *out = find(engine, kind, sector_bytes, &file); /* somebody else may have been quicker */
    if (!*out) {
        add(engine, k);
        *out = k;
        k = NULL;
    }
    engine_unlock(engine);
out:
    free_vk(k);
    zk_vk_clear(&vk);
    zk_file_map_close(&map);
    return status;
}

void engine_vk_keep(engine_vk *vk) { vk->refs++; }

void engine_vk_drop(engine_vk *vk) {
    if (vk) vk->refs--;
}

void engine_vks_free(zk_engine *engine) {
    while (engine->vks) {
        engine_vk *k = engine->vks;
        engine->vks = k->next;
        free_vk(k);
    }
}

/* ---- public inputs ---- */

/* Opens the content that was accepted. Whatever else lies in its place is damage. */
static cuzk_status open_content(zk_spooled *spooled, const zk_engine *engine, const engine_job *job, bool check_digest,
                                cuzk_err *err) {
    char path[ZK_SPOOL_PATH_BYTES];
    zk_spool_path(path, engine->options.spool_dir, job->meta.job_id);
    ZK_TRY(zk_spooled_open(spooled, path, check_digest, err));
    if (memcmp(spooled->meta.digest, job->meta.digest, sizeof job->meta.digest) == 0) return CUZK_OK;
    zk_spooled_close(spooled);
    return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: damaged: not the content that was accepted", path);
}

static cuzk_status derive(uint8_t (**publics)[32], uint32_t *n_publics, uint32_t n_partitions,
                          const zk_request *request, cuzk_err *err) {
    zk_job *parsed = NULL;
    size_t n;
    ZK_TRY(zk_job_from_request(&parsed, request, err));
    cuzk_status status = CUZK_OK;
    if (parsed->n_partitions != n_partitions)
        ZK_GOTO(ZK_FAIL(err, CUZK_INTERNAL, "the worker found %" PRIu32 " partitions, there are %" PRIu32, n_partitions,
                        parsed->n_partitions));
    *n_publics = parsed->n_publics;
    if (!zk_mul_size(&n, n_partitions, parsed->n_publics) || !(*publics = zk_calloc(n ? n : 1, sizeof **publics)))
        ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for public inputs"));
    for (uint32_t i = 0; i < n_partitions; i++) zk_job_publics(*publics + (size_t)i * parsed->n_publics, parsed, i);
out:
    zk_job_destroy(parsed);
    return status;
}

/* Once a job: the decoded content is large, its public inputs are not. One job at a time. */
static cuzk_status make_publics(zk_engine *engine, engine_job *job, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_spooled spooled = {0};
    uint8_t(*publics)[32] = NULL;
    uint32_t n = 0;
    pthread_mutex_lock(&engine->publics_lock);
    engine_lock(engine);
    bool there = job->publics != NULL;
    engine_unlock(engine);
    if (there) goto out;
    ZK_GOTO(open_content(&spooled, engine, job, false, err));
    ZK_GOTO(derive(&publics, &n, job->n_partitions, &spooled.request, err));
    engine_lock(engine);
    job->n_publics = n;
    job->publics = publics;
    engine_unlock(engine);
out:
    zk_spooled_close(&spooled);
    pthread_mutex_unlock(&engine->publics_lock);
    return status;
}

/* ---- proofs ---- */

cuzk_status engine_proof_check(zk_engine *engine, engine_job *job, engine_vk *vk, uint32_t partition,
                               const uint8_t proof[ZK_PROOF_BYTES], cuzk_err *err) {
    if (!vk) return ZK_FAIL(err, CUZK_INTERNAL, "no verifying key is known for the keys of the worker");
    if (partition >= job->n_partitions)
        return ZK_FAIL(err, CUZK_INTERNAL, "partition %" PRIu32 " of %" PRIu32, partition, job->n_partitions);
    ZK_TRY(make_publics(engine, job, err));
    const uint8_t(*publics)[32] = (const uint8_t(*)[32])(job->publics + (size_t)partition * job->n_publics);
    cuzk_status status = zk_verify(vk->vk, proof, ZK_PROOF_BYTES, publics, job->n_publics, NULL, err);
    if (status != CUZK_BAD_PROOF) return status;
    /* Before a device is blamed: was it given what was accepted? */
    zk_spooled spooled = {0};
    cuzk_err damage = {0};
    cuzk_status read = open_content(&spooled, engine, job, true, &damage);
    zk_spooled_close(&spooled);
    if (read != CUZK_OK && err) *err = damage;
    return read != CUZK_OK ? read : status;
}
