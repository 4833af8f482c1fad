#include "engine/content.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/rand.h"
#include "hash/sha256.h"

static const char file_magic[8] = "cuzkjob1", meta_magic[8] = "cuzkmeta";
enum { FIELD_HEADER_BYTES = 16 };
#define MIN_FILE_BYTES (sizeof file_magic + sizeof(zk_content_meta))
#define MAX_FILE_BYTES ((uint64_t)1 << 40)

struct zk_content {
    zk_file_writer *writer;
    zk_sha256_ctx digest;
    uint64_t max_bytes, n_bytes; /* of all fields */
    uint64_t remaining;          /* of the current field */
    char job_id[ZK_JOB_ID_BYTES];
    cuzk_err failure;        /* the first */
    zk_request_head head;    /* of the fields */
    zk_request_field *field; /* the current one, if it is short */
    size_t n_field;          /* bytes that it has there */
};

/* Time, then random. */
static cuzk_status make_job_id(char job_id[ZK_JOB_ID_BYTES], cuzk_err *err) {
    uint8_t random[8];
    char hex[17];
    ZK_TRY(zk_rand_bytes(random, sizeof random, err));
    zk_hex_encode(hex, random, sizeof random);
    snprintf(job_id, ZK_JOB_ID_BYTES, "job-%011" PRIx64 "-%s", zk_wall_ms() & 0xfffffffffff, hex);
    return CUZK_OK;
}

bool zk_job_id_ok(const char *job_id) {
    size_t n = strnlen(job_id, ZK_JOB_ID_BYTES);
    if (n < 5 || n == ZK_JOB_ID_BYTES || strncmp(job_id, "job-", 4) != 0) return false;
    return strspn(job_id + 4, "0123456789abcdef-") == n - 4;
}

void zk_spool_path(char path[ZK_SPOOL_PATH_BYTES], const char *spool_dir, const char *job_id) {
    snprintf(path, ZK_SPOOL_PATH_BYTES, "%s/%s.spool", spool_dir, job_id);
}

uint64_t zk_spool_count(const char *spool_dir) {
    uint64_t n = 0;
    DIR *dir = opendir(spool_dir);
    if (!dir) return 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        n += strncmp(entry->d_name, "job-", 4) == 0 && strcmp(strchrnul(entry->d_name, '.'), ".spool") == 0;
    closedir(dir);
    return n;
}

/* ---- writing ---- */

/* The spool is ours: a folder that is gone or cannot be written is a fault of the disk, not of who sends the content.
 */
static cuzk_status of_disk(cuzk_status status, cuzk_err *err) {
    if (status != CUZK_BAD_INPUT && status != CUZK_NOT_FOUND) return status;
    if (err) err->status = CUZK_IO;
    return CUZK_IO;
}

cuzk_status zk_content_open(zk_content **out, const char *spool_dir, uint64_t max_bytes, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    char path[ZK_SPOOL_PATH_BYTES];
    zk_content *content = zk_calloc(1, sizeof *content);
    if (!content) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the content of a job");
    content->max_bytes = max_bytes;
    ZK_GOTO(make_job_id(content->job_id, err));
    zk_spool_path(path, spool_dir, content->job_id);
    ZK_GOTO(of_disk(zk_file_writer_create(&content->writer, path, err), err));
    ZK_GOTO(of_disk(zk_file_writer_write(content->writer, file_magic, sizeof file_magic, err), err));
    zk_sha256_init(&content->digest);
    *out = content;
    content = NULL;
out:
    zk_content_abort(content);
    return status;
}

const char *zk_content_job_id(const zk_content *content) { return content->job_id; }

void zk_content_abort(zk_content *content) {
    if (!content) return;
    zk_file_writer_abort(content->writer);
    free(content);
}

/* Remembers the first failure, so that whoever ignores it cannot commit. */
static cuzk_status failed(zk_content *content, cuzk_err *err) {
    if (content->failure.status && err && !err->status) *err = content->failure;
    return content->failure.status;
}

static void put(zk_content *content, const void *data, size_t n) {
    if (content->failure.status) return;
    zk_sha256_update(&content->digest, data, n);
    cuzk_status status = zk_file_writer_write(content->writer, data, n, &content->failure);
    content->failure.status = of_disk(status, &content->failure);
}

/* The failure so far, of which a field that is not complete is one. */
static cuzk_status whole(zk_content *content, cuzk_err *err) {
    if (content->remaining && !content->failure.status)
        (void)ZK_FAIL(&content->failure, CUZK_BAD_INPUT, "a field is %" PRIu64 " bytes shorter than announced",
                      content->remaining);
    return failed(content, err);
}

/* The place of a short field in the head; NULL for vanilla proofs, which are counted. */
static zk_request_field *short_field(zk_request_head *head, zk_content_field field, uint64_t n_bytes) {
    switch (field) {
    case ZK_CONTENT_VANILLA_PROOF:
        head->n_vanilla_bytes = n_bytes;
        return NULL;
    case ZK_CONTENT_VANILLA_PROOFS:
        zk_request_head_add_entry(head, n_bytes);
        return NULL;
    case ZK_CONTENT_RANDOMNESS:
        return &head->randomness;
    case ZK_CONTENT_COMM_R_OLD:
        return &head->comm_r_old;
    case ZK_CONTENT_COMM_R_NEW:
        return &head->comm_r_new;
    case ZK_CONTENT_COMM_D_NEW:
        return &head->comm_d_new;
    }
    return NULL;
}

cuzk_status zk_content_field_begin(zk_content *content, zk_content_field field, uint64_t n_bytes, cuzk_err *err) {
    ZK_TRY(whole(content, err));
    if (field == ZK_CONTENT_VANILLA_PROOFS && content->head.n_vanilla_proofs >= ZK_CONTENT_MAX_ENTRIES)
        (void)ZK_FAIL(&content->failure, CUZK_BAD_INPUT, "vanilla_proofs: found more than %d entries",
                      ZK_CONTENT_MAX_ENTRIES);
    else if (n_bytes > content->max_bytes - content->n_bytes)
        (void)ZK_FAIL(&content->failure, CUZK_EXHAUSTED,
                      "the content of a job may have %" PRIu64 " bytes, found at least %" PRIu64, content->max_bytes,
                      content->n_bytes + n_bytes);
    uint8_t header[FIELD_HEADER_BYTES] = {0};
    zk_store_le32(header, (uint32_t)field);
    zk_store_le64(header + 8, n_bytes);
    put(content, header, sizeof header);
    content->remaining = n_bytes;
    content->n_bytes += n_bytes;
    content->field = short_field(&content->head, field, n_bytes);
    content->n_field = 0;
    if (content->field) *content->field = (zk_request_field){.n = n_bytes};
    return failed(content, err);
}

cuzk_status zk_content_write(zk_content *content, const void *data, size_t n, cuzk_err *err) {
    if (!content->failure.status && n > content->remaining)
        (void)ZK_FAIL(&content->failure, CUZK_BAD_INPUT, "a field is longer than announced");
    put(content, data, n);
    if (!content->failure.status) content->remaining -= n;
    zk_request_field *field = content->field;
    size_t piece = field ? zk_min_size(n, sizeof field->bytes - content->n_field) : 0;
    if (piece) memcpy(field->bytes + content->n_field, data, piece);
    content->n_field += piece;
    return failed(content, err);
}

static void digest_finish(uint8_t digest[32], zk_sha256_ctx *ctx, const zk_content_meta *meta) {
    uint8_t bytes[40];
    zk_store_le32(bytes, meta->kind);
    zk_store_le32(bytes + 4, meta->partition_index);
    zk_store_le64(bytes + 8, meta->sector_bytes);
    zk_store_le64(bytes + 16, meta->registered_proof);
    zk_store_le64(bytes + 24, meta->sector_number);
    zk_store_le64(bytes + 32, meta->miner_id);
    zk_sha256_update(ctx, bytes, sizeof bytes);
    zk_sha256_final(digest, ctx);
}

cuzk_status zk_content_head(zk_request_head *head, zk_content *content, const zk_engine_request *request,
                            cuzk_err *err) {
    ZK_TRY(whole(content, err));
    *head = content->head;
    head->kind = request->kind;
    head->sector_bytes = request->sector_bytes;
    head->registered_proof = request->registered_proof;
    head->miner_id = request->miner_id;
    head->partition_index = request->partition_index;
    return CUZK_OK;
}

cuzk_status zk_content_commit(zk_content_meta *meta, uint64_t *file_bytes, zk_content *content,
                              const zk_engine_request *request, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    ZK_GOTO(whole(content, err));
    const char *request_id = request->request_id ? request->request_id : "";
    *meta = (zk_content_meta){
        .kind = request->kind,
        .priority = request->priority,
        .partition_index = request->partition_index,
        .n_request_id = (uint32_t)strlen(request_id),
        .sector_bytes = request->sector_bytes,
        .registered_proof = request->registered_proof,
        .sector_number = request->sector_number,
        .miner_id = request->miner_id,
        .accepted_ms = zk_wall_ms(),
    };
    memcpy(meta->magic, meta_magic, sizeof meta->magic);
    memcpy(meta->job_id, content->job_id, sizeof meta->job_id);
    memcpy(meta->request_id, request_id, meta->n_request_id);
    digest_finish(meta->digest, &content->digest, meta);
    ZK_GOTO(of_disk(zk_file_writer_write(content->writer, meta, sizeof *meta, err), err));
    *file_bytes = zk_file_writer_offset(content->writer);
    zk_file_writer *writer = content->writer;
    content->writer = NULL;
    ZK_GOTO(of_disk(zk_file_writer_commit(writer, err), err));
out:
    zk_content_abort(content);
    return status;
}

/* ---- reading ---- */

/* Pages of a mapping that are done with stay in the system's cache, but are no longer this process's memory. */
static void let_go(void *ctx, const void *data, size_t n) {
    (void)ctx;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)data & ~(page - 1);
    madvise((void *)first, ((uintptr_t)data + n - first) & ~(page - 1), MADV_DONTNEED);
}

/* Piece by piece, so that a large file does not become as much memory. */
static void digest_fields(zk_sha256_ctx *ctx, const uint8_t *data, size_t n) {
    enum { PIECE_BYTES = 1 << 20 };
    for (size_t at = 0; at < n; at += PIECE_BYTES) {
        size_t piece = zk_min_size(PIECE_BYTES, n - at);
        zk_sha256_update(ctx, data + at, piece);
        let_go(NULL, data + at, piece);
    }
}

static cuzk_status damaged(const zk_spooled *spooled, size_t at, const char *what, cuzk_err *err) {
    return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: damaged at byte %zu: %s", spooled->map.path, at, what);
}

static zk_blob *blob_of(zk_request *request, uint32_t field) {
    switch (field) {
    case ZK_CONTENT_VANILLA_PROOF:
        return &request->vanilla_proof;
    case ZK_CONTENT_RANDOMNESS:
        return &request->randomness;
    case ZK_CONTENT_COMM_R_OLD:
        return &request->comm_r_old;
    case ZK_CONTENT_COMM_R_NEW:
        return &request->comm_r_new;
    case ZK_CONTENT_COMM_D_NEW:
        return &request->comm_d_new;
    default:
        return NULL;
    }
}

static cuzk_status read_fields(zk_spooled *spooled, cuzk_err *err) {
    const uint8_t *data = spooled->map.data;
    size_t end = spooled->map.n_bytes - sizeof spooled->meta, capacity = 0;
    zk_request *request = &spooled->request;
    for (size_t at = sizeof file_magic; at < end;) {
        if (end - at < FIELD_HEADER_BYTES) return damaged(spooled, at, "a field's head is cut off", err);
        uint32_t field = zk_load_le32(data + at);
        uint64_t n = zk_load_le64(data + at + 8);
        if (n > end - at - FIELD_HEADER_BYTES) return damaged(spooled, at, "a field is longer than the file", err);
        /* The request's blobs are never written through; the type serves requests that own their bytes, too. */
        zk_blob blob = {(uint8_t *)(uintptr_t)(data + at + FIELD_HEADER_BYTES), (size_t)n};
        zk_blob *target = blob_of(request, field);
        if (target) {
            *target = blob;
        } else if (field == ZK_CONTENT_VANILLA_PROOFS) {
            if (!zk_grow((void **)&request->vanilla_proofs, &capacity, request->n_vanilla_proofs + 1, sizeof blob))
                return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a request");
            request->vanilla_proofs[request->n_vanilla_proofs++] = blob;
        } else {
            return damaged(spooled, at, "a field of unknown number", err);
        }
        at += FIELD_HEADER_BYTES + (size_t)n;
    }
    return CUZK_OK;
}

cuzk_status zk_spooled_open(zk_spooled *spooled, const char *path, bool check_digest, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    *spooled = (zk_spooled){0};
    zk_content_meta *meta = &spooled->meta;
    ZK_GOTO(zk_file_map_open(&spooled->map, path, MIN_FILE_BYTES, MAX_FILE_BYTES, err));
    size_t n_fields = spooled->map.n_bytes - sizeof *meta;
    memcpy(meta, spooled->map.data + n_fields, sizeof *meta);
    if (memcmp(spooled->map.data, file_magic, sizeof file_magic) != 0)
        ZK_GOTO(damaged(spooled, 0, "not the content of a job", err));
    if (memcmp(meta->magic, meta_magic, sizeof meta_magic) != 0 || meta->n_request_id > ZK_REQUEST_ID_MAX_BYTES ||
        meta->kind >= ZK_N_KINDS || meta->priority >= ZK_N_PRIORITIES || !zk_job_id_ok(meta->job_id))
        ZK_GOTO(damaged(spooled, n_fields, "no metadata there", err));
    if (check_digest) {
        zk_sha256_ctx ctx;
        uint8_t digest[32];
        zk_sha256_init(&ctx);
        digest_fields(&ctx, spooled->map.data + sizeof file_magic, n_fields - sizeof file_magic);
        digest_finish(digest, &ctx, meta);
        if (memcmp(digest, meta->digest, sizeof digest) != 0)
            ZK_GOTO(damaged(spooled, n_fields, "the content does not have the digest it was accepted with", err));
    }
    ZK_GOTO(read_fields(spooled, err));
    zk_request *request = &spooled->request;
    request->request_id = zk_asprintf("%.*s", (int)meta->n_request_id, meta->request_id);
    if (!request->request_id) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a request"));
    request->kind = (zk_proof_kind)meta->kind;
    request->priority = (zk_priority)meta->priority;
    request->sector_bytes = meta->sector_bytes;
    request->registered_proof = meta->registered_proof;
    request->sector_number = meta->sector_number;
    request->miner_id = meta->miner_id;
    request->partition_index = meta->partition_index;
    request->passed = (zk_passed){.fn = let_go};
out:
    if (status != CUZK_OK) zk_spooled_close(spooled);
    return status;
}

void zk_spooled_close(zk_spooled *spooled) {
    free(spooled->request.request_id);
    free(spooled->request.vanilla_proofs);
    zk_file_map_close(&spooled->map);
    *spooled = (zk_spooled){0};
}
