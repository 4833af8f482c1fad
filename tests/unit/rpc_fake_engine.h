/* An engine that proves nothing: jobs end when a test says so. */
#ifndef RPC_FAKE_ENGINE_H
#define RPC_FAKE_ENGINE_H

#include "engine/engine.h"

#define FAKE_MAX_JOBS 4096

typedef struct fake_field {
    zk_content_field field;
    uint64_t n;
    uint64_t hash; /* of its bytes, FNV-1a */
} fake_field;

typedef struct fake_job {
    char job_id[ZK_JOB_ID_BYTES];
    zk_engine_request request;
    char request_id[ZK_REQUEST_ID_MAX_BYTES + 1];
    fake_field fields[64];
    size_t n_fields;
    zk_outcome outcome; /* UNKNOWN: queued */
    uint8_t proof[192];
} fake_job;

zk_engine *fake_create(void);
void fake_destroy(zk_engine *engine);
size_t fake_n_jobs(zk_engine *engine);
size_t fake_index_of(zk_engine *engine, const char *request_id); /* SIZE_MAX: it did not come */
fake_job *fake_job_at(zk_engine *engine, size_t i);              /* its outcome changes: see below */
zk_outcome fake_outcome(zk_engine *engine, size_t i);
void fake_finish(zk_engine *engine, const char *job_id, zk_outcome outcome, const char *message);
size_t fake_n_watches(zk_engine *engine);
size_t fake_n_open_contents(zk_engine *engine);
/* The next submit fails so. */
void fake_fail_submit(zk_engine *engine, cuzk_status status, const char *message);
/* Who asks for the status is told so, or, with CUZK_OK, gets it again. */
void fake_fail_status(zk_engine *engine, cuzk_status status);
/* The status shows two GPUs (the first with two workers, the second of them busy), a CPU worker, one that checks. */
void fake_use_devices(zk_engine *engine);
/* Nobody gets an answer from the engine until it is given free. */
void fake_hang(zk_engine *engine);
void fake_go_on(zk_engine *engine);
/* While it is so, who asks for a job that is not known waits, as for a database that does not answer. */
void fake_hold_unknown(zk_engine *engine, bool hold);
/* Keys are loaded by so many callers at a time, else by none of them. */
void fake_meet(zk_engine *engine, unsigned n);
uint64_t fake_hash(uint64_t hash, const void *data, size_t n); /* start with FAKE_HASH */
#define FAKE_HASH UINT64_C(0xcbf29ce484222325)

#endif
