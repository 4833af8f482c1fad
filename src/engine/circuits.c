#include "engine/circuits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filecoin/kinds.h"

static const struct {
    zk_proof_kind kind;
    const char *prefix;
} prefixes[] = {
    {ZK_KIND_POREP, "porep"},
    {ZK_KIND_UPDATE, "snap"},
    {ZK_KIND_WINDOW, "wpost"},
    {ZK_KIND_WINNING, "winning"},
};
enum { N_PREFIXES = sizeof prefixes / sizeof prefixes[0] };

/* The sizes that are registered for some kind; a kind that lacks one says so itself. */
static const struct {
    const char *name;
    uint64_t bytes;
} sizes[] = {
    {"2k", 2048}, {"8m", 8u << 20}, {"512m", 512u << 20}, {"32g", (uint64_t)32 << 30}, {"64g", (uint64_t)64 << 30},
};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

cuzk_status zk_circuit_id(char id[ZK_CIRCUIT_ID_BYTES], zk_proof_kind kind, uint64_t sector_bytes, cuzk_err *err) {
    char identifier[ZK_IDENTIFIER_MAX];
    ZK_TRY(zk_kind_identifier(identifier, kind, sector_bytes, err));
    for (size_t i = 0; i < N_PREFIXES; i++)
        for (size_t k = 0; k < N_SIZES; k++)
            if (prefixes[i].kind == kind && sizes[k].bytes == sector_bytes) {
                snprintf(id, ZK_CIRCUIT_ID_BYTES, "%s-%s", prefixes[i].prefix, sizes[k].name);
                return CUZK_OK;
            }
    return ZK_FAIL(err, CUZK_UNSUPPORTED, "%s of %" PRIu64 " byte sectors: there is no such circuit",
                   zk_proof_kind_name(kind) ? zk_proof_kind_name(kind) : "proof", sector_bytes);
}

cuzk_status zk_circuit_parse(zk_proof_kind *kind, uint64_t *sector_bytes, const char *id, cuzk_err *err) {
    for (size_t i = 0; i < N_PREFIXES; i++) {
        size_t n = strlen(prefixes[i].prefix);
        if (strncmp(id, prefixes[i].prefix, n) != 0 || id[n] != '-') continue;
        for (size_t k = 0; k < N_SIZES; k++)
            if (strcmp(id + n + 1, sizes[k].name) == 0) {
                *kind = prefixes[i].kind;
                *sector_bytes = sizes[k].bytes;
                char identifier[ZK_IDENTIFIER_MAX];
                return zk_kind_identifier(identifier, *kind, *sector_bytes, err);
            }
    }
    return ZK_FAIL(err, CUZK_UNSUPPORTED,
                   "circuit: found \"%.40s\", expected porep-, snap-, wpost- or winning- with 2k, 8m, 512m, 32g or 64g",
                   id);
}

cuzk_status zk_circuit_key_path(char path[ZK_KEY_PATH_BYTES], uint64_t *file_bytes, const char *param_cache,
                                zk_proof_kind kind, uint64_t sector_bytes, cuzk_err *err) {
    char identifier[ZK_IDENTIFIER_MAX], name[ZK_IDENTIFIER_MAX + 16], id[ZK_CIRCUIT_ID_BYTES];
    ZK_TRY(zk_kind_identifier(identifier, kind, sector_bytes, err));
    ZK_TRY(zk_circuit_id(id, kind, sector_bytes, err));
    zk_parameter_file_name(name, identifier, ".params");
    if ((size_t)snprintf(path, ZK_KEY_PATH_BYTES, "%s/%s", param_cache, name) >= ZK_KEY_PATH_BYTES)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "the path of the parameter folder is too long");
    struct stat s;
    int code = stat(path, &s) != 0 || access(path, R_OK) != 0 ? errno : 0;
    const char *why = code == ENOENT || code == ENOTDIR ? "no such file"
                      : code                            ? strerror(code)
                      : !S_ISREG(s.st_mode)             ? "no regular file"
                                                        : NULL;
    if (why)
        return ZK_FAIL(err, CUZK_NOT_FOUND, "keys of %s: %s: %s in the parameter folder %.200s (srs.param_cache)", id,
                       name, why, param_cache);
    if (file_bytes) *file_bytes = (uint64_t)s.st_size;
    return CUZK_OK;
}

void zk_circuit_each(void (*fn)(void *ctx, zk_proof_kind kind, uint64_t sector_bytes), void *ctx) {
    for (size_t i = 0; i < N_PREFIXES; i++)
        for (size_t k = 0; k < N_SIZES; k++) {
            char identifier[ZK_IDENTIFIER_MAX];
            if (zk_kind_identifier(identifier, prefixes[i].kind, sizes[k].bytes, NULL) == CUZK_OK)
                fn(ctx, prefixes[i].kind, sizes[k].bytes);
        }
}
