/* From a request to an accepted job: its content on disk, its row in the journal, or the earlier job that it joins. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "engine/circuits.h"
#include "engine/engine_impl.h"

static cuzk_status reach_fleet(const zk_engine *engine, cuzk_err *err) {
    return engine->fleet_lost ? ZK_FAIL(err, CUZK_IO, "the database of the fleet is out of reach: no new jobs for now")
                              : CUZK_OK;
}

cuzk_status zk_content_create(zk_content **content, zk_engine *engine, cuzk_err *err) {
    ZK_TRY(reach_fleet(engine, err)); /* before a large request is received in vain */
    return zk_content_open(content, engine->options.spool_dir, engine->options.max_content_bytes, err);
}

/* All that can be told without reading vanilla proofs. Fills in a sector size that is not said. */
static cuzk_status check_request(zk_engine_request *r, const zk_engine *engine, zk_content *content, cuzk_err *err) {
    zk_request_head head;
    if (r->request_id && strlen(r->request_id) > ZK_REQUEST_ID_MAX_BYTES)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "request_id: found %zu bytes, at most %d", strlen(r->request_id),
                       ZK_REQUEST_ID_MAX_BYTES);
    if ((unsigned)r->priority >= ZK_N_PRIORITIES)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "priority: found %d, expected 0 to %d", (int)r->priority,
                       ZK_N_PRIORITIES - 1);
    ZK_TRY(zk_content_head(&head, content, r, err));
    ZK_TRY(zk_request_check(&head, r->one_partition ? ZK_REQUEST_PARTITION : ZK_REQUEST_PROVE, err));
    r->sector_bytes = head.sector_bytes;
    char path[ZK_KEY_PATH_BYTES];
    return zk_circuit_key_path(path, NULL, engine->options.param_cache, r->kind, r->sector_bytes, err);
}

static void fill_submitted(zk_submitted *s, zk_engine *engine, const engine_job *job) {
    s->queue_position = engine_queue_position(engine, job);
    for (unsigned i = 0; i < engine->n_lanes; i++)
        if (engine->lanes[i].task.job == job) snprintf(s->assigned, sizeof s->assigned, "%s", engine->lanes[i].device);
}

/* The job of an earlier submit of the same, if it is of use. Under submit_lock where the journal is not shared. */
static cuzk_status join(zk_submitted *s, zk_engine *engine, const zk_content_meta *meta, cuzk_err *err) {
    char id[ZK_JOB_ID_BYTES];
    zk_journal_state state;
    bool found = false;
    if (!meta->n_request_id) return CUZK_OK;
    cuzk_status status = engine->journal->ops->find(&found, id, &state, engine->journal, meta->request_id,
                                                    meta->n_request_id, meta->digest, err);
    ZK_TRY(engine_journal_went(engine, status, err));
    if (!found) return CUZK_OK;
    if (state == ZK_JOURNAL_OPEN) ZK_TRY(engine_fleet_know(engine, id, err));
    bool raised = false;
    engine_lock(engine);
    engine_job *job = engine_job_find(engine, id);
    bool ending = job && job->phase >= ENGINE_ENDING; /* with a failure it is not kept */
    if (state == ZK_JOURNAL_COMPLETED || (job && (!ending || job->result.outcome == ZK_OUTCOME_COMPLETED))) {
        memcpy(s->job_id, id, sizeof s->job_id);
        s->joined = true;
        s->finished = !job || ending;
        if (job && !ending) {
            if ((zk_priority)meta->priority > job->priority) {
                job->priority = (zk_priority)meta->priority;
                raised = true;
                pthread_cond_broadcast(&engine->work);
            }
            fill_submitted(s, engine, job);
        }
        engine->n_joined++;
    }
    engine_unlock(engine);
    if (raised && zk_journal_is_shared(engine->journal))
        return engine->journal->ops->raise(engine->journal, id, meta->priority, err);
    return CUZK_OK;
}

/* *accepted false: another machine was quicker with the same request. */
static cuzk_status accept(bool *accepted, zk_submitted *s, zk_engine *engine, const zk_content_meta *meta,
                          uint64_t file_bytes, cuzk_err *err) {
    char path[ZK_SPOOL_PATH_BYTES];
    zk_spool_path(path, engine->options.spool_dir, meta->job_id);
    cuzk_status status = engine->journal->ops->accept(accepted, engine->journal, meta, file_bytes, path, err);
    ZK_TRY(engine_journal_went(engine, status, err));
    if (!*accepted) return CUZK_OK;
    engine_lock(engine);
    engine_job *job = engine_job_find(engine, meta->job_id); /* the fleet may have told already */
    status = job ? CUZK_OK : engine_job_add(&job, engine, meta, file_bytes, err);
    if (status == CUZK_OK) {
        job->recovered = zk_journal_is_shared(engine->journal); /* others may be first with a partition */
        memcpy(s->job_id, meta->job_id, sizeof s->job_id);
        fill_submitted(s, engine, job);
        engine->n_submitted++;
        pthread_cond_broadcast(&engine->work);
    }
    engine_unlock(engine);
    if (status != CUZK_OK) {
        zk_journal_end end = {.state = ZK_JOURNAL_FAILED, .status = status, .message = "no memory for the job"};
        bool ended;
        cuzk_status told = engine->journal->ops->end(&ended, engine->journal, meta->job_id, &end, NULL);
        (void)told; /* if that fails, too, the job is done after a restart */
    }
    return status;
}

enum { SETTLE_TRIES = 50, SETTLE_US = 20000 };

/* Joins the job of the same request or becomes one. Where others share the journal, one of theirs may come between the
 * question and the answer, or may be about to end with a failure: then again. */
static cuzk_status join_or_accept(zk_submitted *s, zk_engine *engine, const zk_content_meta *meta, uint64_t file_bytes,
                                  cuzk_err *err) {
    for (unsigned i = 0; i < SETTLE_TRIES; i++) {
        bool accepted = false;
        if (i) usleep(SETTLE_US);
        ZK_TRY(join(s, engine, meta, err));
        if (s->joined) return CUZK_OK;
        ZK_TRY(accept(&accepted, s, engine, meta, file_bytes, err));
        if (accepted) return CUZK_OK;
    }
    return ZK_FAIL(err, CUZK_IO, "another machine is about to end a job of the same request");
}

static cuzk_status admit(zk_engine *engine, cuzk_err *err) {
    engine_lock(engine);
    cuzk_status status = reach_fleet(engine, err);
    if (status != CUZK_OK) {
        /* as it says */
    } else if (engine->draining || engine->stopping)
        status = engine_fail_ending(err);
    else if (engine->n_jobs >= engine->options.max_queued)
        status = ZK_FAIL(err, CUZK_EXHAUSTED, "the queue is full: %zu jobs, the limit is %" PRIu32, engine->n_jobs,
                         engine->options.max_queued);
    engine_unlock(engine);
    return status;
}

cuzk_status zk_engine_submit(zk_submitted *submitted, zk_engine *engine, const zk_engine_request *asked,
                             zk_content *content, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_engine_request request = *asked;
    zk_content_meta meta;
    uint64_t file_bytes = 0;
    bool on_disk = false, locked = false;
    char path[ZK_SPOOL_PATH_BYTES];
    *submitted = (zk_submitted){0};
    zk_spool_path(path, engine->options.spool_dir, zk_content_job_id(content));
    ZK_GOTO(admit(engine, err));
    ZK_GOTO(check_request(&request, engine, content, err));
    zk_content *committed = content;
    content = NULL;
    ZK_GOTO(zk_content_commit(&meta, &file_bytes, committed, &request, err));
    on_disk = true;
    if (!zk_journal_is_shared(engine->journal)) { /* a shared one refuses a second job of one request itself */
        pthread_mutex_lock(&engine->submit_lock);
        locked = true;
    }
    ZK_GOTO(join_or_accept(submitted, engine, &meta, file_bytes, err));
    if (!submitted->joined) {
        on_disk = false; /* the job's */
        ZK_LOG_INFO("job accepted", zk_kv_str("job", meta.job_id), zk_kv_str("request", request.request_id),
                    zk_kv_str("kind", zk_proof_kind_name(request.kind)), zk_kv_u64("bytes", file_bytes));
    }
out:
    if (locked) pthread_mutex_unlock(&engine->submit_lock);
    zk_content_abort(content);
    if (on_disk) unlink(path);
    if (status != CUZK_OK) zk_engine_count_refused(engine);
    return status;
}

void zk_engine_count_refused(zk_engine *engine) {
    engine_lock(engine);
    engine->n_rejected++;
    engine_unlock(engine);
}

static cuzk_status put_blob(zk_content *content, zk_content_field field, const zk_blob *blob, cuzk_err *err) {
    if (!blob->n && field != ZK_CONTENT_VANILLA_PROOFS) return CUZK_OK;
    ZK_TRY(zk_content_field_begin(content, field, blob->n, err));
    return blob->n ? zk_content_write(content, blob->data, blob->n, err) : CUZK_OK;
}

cuzk_status zk_engine_submit_request(zk_submitted *submitted, zk_engine *engine, const zk_request *r, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_content *content = NULL;
    ZK_GOTO(zk_content_create(&content, engine, err));
    ZK_GOTO(put_blob(content, ZK_CONTENT_VANILLA_PROOF, &r->vanilla_proof, err));
    for (size_t i = 0; i < r->n_vanilla_proofs; i++)
        ZK_GOTO(put_blob(content, ZK_CONTENT_VANILLA_PROOFS, &r->vanilla_proofs[i], err));
    ZK_GOTO(put_blob(content, ZK_CONTENT_RANDOMNESS, &r->randomness, err));
    ZK_GOTO(put_blob(content, ZK_CONTENT_COMM_R_OLD, &r->comm_r_old, err));
    ZK_GOTO(put_blob(content, ZK_CONTENT_COMM_R_NEW, &r->comm_r_new, err));
    ZK_GOTO(put_blob(content, ZK_CONTENT_COMM_D_NEW, &r->comm_d_new, err));
    zk_engine_request request = {
        .request_id = r->request_id,
        .kind = r->kind,
        .priority = r->priority,
        .sector_bytes = r->sector_bytes,
        .registered_proof = r->registered_proof,
        .sector_number = r->sector_number,
        .miner_id = r->miner_id,
        .partition_index = r->partition_index,
    };
    zk_content *filled = content;
    content = NULL;
    status = zk_engine_submit(submitted, engine, &request, filled, err);
out:
    zk_content_abort(content);
    return status;
}
