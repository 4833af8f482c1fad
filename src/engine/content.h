/* Spool files: the content of a job on disk.
 *
 *   SIZE  DESCRIPTION
 *      8  "cuzkjob1"
 *   for each field:
 *      4  number (zk_content_field), u32
 *      4  0
 *      8  length n, u64
 *      n  bytes
 *   at the end, zk_content_meta
 *
 * Numbers are little-endian. The digest is SHA-256 over the fields as they stand, then kind, partition index (u32),
 * sector size, registered proof, sector number, miner (u64). */
#ifndef ZK_ENGINE_CONTENT_H
#define ZK_ENGINE_CONTENT_H

#include "base/file.h"
#include "engine/engine.h"
#include "filecoin/request_head.h"

typedef struct zk_content_meta {
    char magic[8]; /* "cuzkmeta" */
    uint32_t kind, priority, partition_index, n_request_id;
    uint64_t sector_bytes, registered_proof, sector_number, miner_id;
    uint64_t accepted_ms; /* wall clock */
    uint8_t digest[32];
    char job_id[ZK_JOB_ID_BYTES];
    char request_id[ZK_REQUEST_ID_MAX_BYTES];
} zk_content_meta;
_Static_assert(sizeof(zk_content_meta) == 8 + 16 + 40 + 32 + ZK_JOB_ID_BYTES + ZK_REQUEST_ID_MAX_BYTES, "no padding");

bool zk_job_id_ok(const char *job_id); /* looks like the id of a job: safe in a path */

cuzk_status zk_content_open(zk_content **content, const char *spool_dir, uint64_t max_bytes, cuzk_err *err) ZK_MUST_USE;
const char *zk_content_job_id(const zk_content *content);
/* What was written so far, and the request's numbers, as zk_request_check wants them. Fails as the content has. */
cuzk_status zk_content_head(zk_request_head *head, zk_content *content, const zk_engine_request *request,
                            cuzk_err *err) ZK_MUST_USE;
/* Writes the metadata and makes the file durable; fills the digest and the id. Frees the content, whatever happens. */
cuzk_status zk_content_commit(zk_content_meta *meta, uint64_t *file_bytes, zk_content *content,
                              const zk_engine_request *request, cuzk_err *err) ZK_MUST_USE;

#define ZK_SPOOL_PATH_BYTES 4096
void zk_spool_path(char path[ZK_SPOOL_PATH_BYTES], const char *spool_dir, const char *job_id);
/* Spool files of jobs in the folder, whole or damaged; 0 if there is no folder. */
uint64_t zk_spool_count(const char *spool_dir);

/* A spool file as a request: blobs point into the mapping. */
typedef struct zk_spooled {
    zk_file_map map;
    zk_content_meta meta;
    zk_request request; /* borrowed: do not destroy */
} zk_spooled;
/* check_digest: read all of it and compare. BAD_INPUT: damaged. */
cuzk_status zk_spooled_open(zk_spooled *spooled, const char *path, bool check_digest, cuzk_err *err) ZK_MUST_USE;
void zk_spooled_close(zk_spooled *spooled);
/* Memory of a job that is read from a spool file of this length, at most. */
static inline uint64_t zk_spooled_job_bytes(uint64_t file_bytes) { return 2 * file_bytes; }

#endif
