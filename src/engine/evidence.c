/* What is kept of a wrong proof, for whoever looks for the fault: the input, the proof, and who made it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "engine/engine_impl.h"

static cuzk_status write_report(const char *path, const engine_job *job, const engine_lane *lane,
                                const zk_ipc_message *done, cuzk_err *err) {
    zk_json_writer *w = zk_json_writer_create(NULL, 2);
    zk_json_begin_object(w, NULL);
    zk_json_put_string(w, "job", job->meta.job_id);
    zk_json_put_string(w, "request", job->request_id);
    zk_json_put_string(w, "circuit", job->circuit_id);
    zk_json_put_u64(w, "partition", done->partition);
    zk_json_put_u64(w, "worker", lane->id);
    zk_json_put_string(w, "device_kind", lane->device_kind);
    zk_json_put_string(w, "device", lane->device);
    zk_json_put_string(w, "error", done->message);
    zk_json_put_hex(w, "proof", done->proof, sizeof done->proof);
    zk_json_put_u64(w, "unix_time", (uint64_t)time(NULL));
    zk_json_end(w);
    cuzk_status status = zk_json_writer_finish(w, err);
    size_t n = 0;
    const char *text = zk_json_writer_text(w, &n);
    if (status == CUZK_OK) status = zk_file_write(path, text, n, err);
    zk_json_writer_destroy(w);
    return status;
}

void engine_keep_evidence(zk_engine *engine, const engine_job *job, const engine_lane *lane,
                          const zk_ipc_message *done) {
    const zk_engine_options *o = &engine->options;
    char path[ZK_SPOOL_PATH_BYTES], spool[ZK_SPOOL_PATH_BYTES];
    cuzk_err err = {0};
    zk_file_map map = {0};
    cuzk_status status = CUZK_OK;
    ZK_GOTO(zk_folder_create(o->evidence_dir, &err));
    snprintf(path, sizeof path, "%s/%s-%" PRIu32 "-%" PRIu64 ".json", o->evidence_dir, job->meta.job_id,
             done->partition, lane->n_wrong);
    ZK_GOTO(write_report(path, job, lane, done, &err));
    zk_spool_path(spool, o->spool_dir, job->meta.job_id);
    ZK_GOTO(zk_file_map_open(&map, spool, 0, UINT64_MAX, &err));
    zk_spool_path(path, o->evidence_dir, job->meta.job_id);
    ZK_GOTO(zk_file_write(path, map.data, map.n_bytes, &err));
out:
    zk_file_map_close(&map);
    if (status != CUZK_OK) ZK_LOG_ERROR("evidence of a wrong proof could not be kept", zk_kv_str("error", err.message));
}
