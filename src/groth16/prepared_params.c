#include "groth16/prepared_params.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/cancel.h"
#include "hash/sha256.h"

static const char magic[16] = "cuzk-prepared-1\n";

static const char *const section_name[ZK_PREPARED_N_SECTIONS] = {"g", "l"};
const char *zk_prepared_section_name(zk_prepared_section_id id) { return section_name[id]; }

void zk_prepared_header_encode(uint8_t bytes[ZK_PREPARED_HEADER_BYTES], const zk_prepared_header *header) {
    memcpy(bytes, magic, sizeof magic);
    zk_store_le64(bytes + 16, header->params_bytes);
    memcpy(bytes + 24, header->params_sha256, 32);
    memcpy(bytes + 56, header->vk_sha256, 32);
    zk_store_le32(bytes + 88, header->log2_n);
    zk_store_le32(bytes + 92, header->n_c_inputs);
    zk_store_le64(bytes + 96, header->n_aux);
}

static void header_decode(zk_prepared_header *header, const uint8_t bytes[ZK_PREPARED_HEADER_BYTES]) {
    header->params_bytes = zk_load_le64(bytes + 16);
    memcpy(header->params_sha256, bytes + 24, 32);
    memcpy(header->vk_sha256, bytes + 56, 32);
    header->log2_n = zk_load_le32(bytes + 88);
    header->n_c_inputs = zk_load_le32(bytes + 92);
    header->n_aux = zk_load_le64(bytes + 96);
}

cuzk_status zk_prepared_path(char **path, const char *params_path, cuzk_err *err) {
    static const char from[] = ".params";
    size_t n = strlen(params_path);
    if (n > sizeof from && memcmp(params_path + n - (sizeof from - 1), from, sizeof from) == 0) n -= sizeof from - 1;
    *path = zk_asprintf("%.*s.prepared", (int)n, params_path);
    return *path ? CUZK_OK : ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: out of memory", params_path);
}

/* ---- opening ---- */

static cuzk_status check_value(const zk_prepared_params *p, const char *what, uint64_t found, uint64_t expected,
                               const char *of, cuzk_err *err) {
    if (found == expected) return CUZK_OK;
    return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: %s: found %llu, expected %llu, that of %s: prepared from another key",
                   p->map.path, what, (unsigned long long)found, (unsigned long long)expected, of);
}

static cuzk_status check_header(zk_prepared_params *p, const zk_params *params, const zk_program *program,
                                const zk_query_masks *masks, cuzk_err *err) {
    const zk_prepared_header *header = &p->header;
    uint8_t sha256[32];
    unsigned log2_n;
    ZK_TRY(zk_program_log2_domain(&log2_n, program, err));
    ZK_TRY(check_value(p, "length of the parameter file", header->params_bytes, params->n_bytes, params->name, err));
    zk_sha256(sha256, params->bytes, params->vk_bytes);
    if (memcmp(sha256, header->vk_sha256, 32) != 0)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: prepared from a key other than %s (the verifying keys differ)",
                       p->map.path, params->name);
    ZK_TRY(check_value(p, "log2 of the domain", header->log2_n, log2_n, program->name, err));
    ZK_TRY(check_value(p, "inputs in C", header->n_c_inputs, masks->n_c_inputs, program->name, err));
    return check_value(p, "aux variables", header->n_aux, program->n_aux, program->name, err);
}

static cuzk_status open_mapped(zk_prepared_params *p, const zk_params *params, const zk_program *program,
                               const zk_query_masks *masks, cuzk_err *err) {
    const uint8_t *bytes = p->map.data;
    if (memcmp(bytes, magic, sizeof magic) != 0)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: not a prepared key of this version: expected \"%.15s\" at offset 0",
                       p->map.path, magic);
    header_decode(&p->header, bytes);
    ZK_TRY(check_header(p, params, program, masks, err));
    p->section[ZK_PREPARED_G].n = (size_t)1 << p->header.log2_n;
    p->section[ZK_PREPARED_L].n = (size_t)p->header.n_c_inputs + (size_t)p->header.n_aux;
    uint64_t at = ZK_PREPARED_HEADER_BYTES;
    for (int i = 0; i < ZK_PREPARED_N_SECTIONS; i++) {
        p->section[i].offset = at;
        p->section[i].points = bytes + at; /* not read before the length is known */
        at += (uint64_t)p->section[i].n * ZK_G1_UNCOMPRESSED_BYTES;
    }
    at += ZK_SHA256_DIGEST_BYTES;
    if (at != p->map.n_bytes)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %zu bytes, expected %llu: incomplete or damaged", p->map.path,
                       p->map.n_bytes, (unsigned long long)at);
    return CUZK_OK;
}

cuzk_status zk_prepared_params_open(zk_prepared_params **prepared, const char *path, const zk_params *params,
                                    const zk_program *program, const zk_query_masks *masks, cuzk_err *err) {
    *prepared = NULL;
    zk_prepared_params *p = zk_calloc(1, sizeof *p);
    if (!p) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: out of memory", path);
    cuzk_status status =
        zk_file_map_open(&p->map, path, ZK_PREPARED_HEADER_BYTES + ZK_SHA256_DIGEST_BYTES, UINT64_MAX, err);
    if (status == CUZK_OK) status = open_mapped(p, params, program, masks, err);
    if (status != CUZK_OK) {
        zk_prepared_params_close(p);
        return status;
    }
    *prepared = p;
    return CUZK_OK;
}

void zk_prepared_params_close(zk_prepared_params *prepared) {
    if (!prepared) return;
    zk_file_map_close(&prepared->map);
    free(prepared);
}

cuzk_status zk_prepared_params_refuse_point(const zk_prepared_params *p, zk_prepared_section_id id,
                                            const zk_points_fault *fault, cuzk_status status, cuzk_err *err) {
    uint64_t offset = p->section[id].offset + (uint64_t)fault->index * ZK_G1_UNCOMPRESSED_BYTES;
    ZK_TRY(zk_file_map_check(&p->map, err));
    return ZK_FAIL(err, status, "%s: section %s: point %zu of %zu at offset %llu: %s", p->map.path, section_name[id],
                   fault->index, p->section[id].n, (unsigned long long)offset,
                   fault->infinity ? "infinity" : zk_point_verdict_text(fault->verdict));
}

/* ---- digests ---- */

cuzk_status zk_digest_pieces(uint8_t sha256[32], const uint8_t *bytes, size_t n, const char *what,
                             zk_params_progress progress, void *progress_ctx, cuzk_err *err) {
    const size_t piece = 16 << 20;
    zk_sha256_ctx sha;
    zk_sha256_init(&sha);
    for (size_t at = 0; at < n; at += piece) {
        size_t here = zk_min_size(piece, n - at);
        zk_sha256_update(&sha, bytes + at, here);
        if (progress) progress(progress_ctx, what, at + here, n);
        ZK_TRY(zk_cancel_check(NULL, what, err));
    }
    zk_sha256_final(sha256, &sha);
    return CUZK_OK;
}

static cuzk_status compare(const uint8_t found[32], const uint8_t expected[32], const char *name, const char *where,
                           cuzk_err *err) {
    char a[65], b[65];
    if (memcmp(found, expected, 32) == 0) return CUZK_OK;
    zk_hex_encode(a, found, 32);
    zk_hex_encode(b, expected, 32);
    return ZK_FAIL(err, CUZK_CHECK_FAILED, "%s: SHA-256 is %s, expected %s, as %s", name, a, b, where);
}

cuzk_status zk_prepared_map_match(const zk_file_map *map, const uint8_t own_sha256[32], cuzk_err *err) {
    char found[65], expected[65];
    const uint8_t *own = map->data + map->n_bytes - ZK_SHA256_DIGEST_BYTES;
    if (memcmp(own_sha256, own, 32) == 0) return CUZK_OK;
    ZK_TRY(zk_file_map_check(map, err));
    zk_hex_encode(found, own_sha256, 32);
    zk_hex_encode(expected, own, 32);
    return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: damaged: its SHA-256 is %s, it ends with %s", map->path, found, expected);
}

cuzk_status zk_prepared_params_match(const zk_prepared_params *p, const uint8_t *own_sha256,
                                     const uint8_t *params_sha256, const zk_params *params, cuzk_err *err) {
    if (own_sha256) ZK_TRY(zk_prepared_map_match(&p->map, own_sha256, err));
    if (params_sha256 && memcmp(params_sha256, p->header.params_sha256, 32) != 0)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: prepared from another file than %s (its SHA-256 differs)", p->map.path,
                       params->name);
    return CUZK_OK;
}

cuzk_status zk_prepared_params_verify(const zk_prepared_params *p, const zk_params *params, zk_params_progress progress,
                                      void *progress_ctx, cuzk_err *err) {
    uint8_t sha256[32];
    size_t n = p->map.n_bytes - ZK_SHA256_DIGEST_BYTES;
    ZK_TRY(zk_digest_pieces(sha256, p->map.data, n, "digest of the prepared key", progress, progress_ctx, err));
    ZK_TRY(zk_file_map_check(&p->map, err));
    ZK_TRY(compare(sha256, p->map.data + n, p->map.path, "it ends with", err));
    ZK_TRY(zk_digest_pieces(sha256, params->bytes, params->n_bytes, "digest of the parameters", progress, progress_ctx,
                            err));
    ZK_TRY(zk_params_unchanged(params, err));
    return compare(sha256, p->header.params_sha256, params->name, p->map.path, err);
}
