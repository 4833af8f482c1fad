#include "cli/circuits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/args.h"
#include "filecoin/kinds.h"

cuzk_status cli_kind(zk_proof_kind *kind, const char *name, cuzk_err *err) {
    *kind = zk_proof_kind_by_name(name);
    if (*kind == ZK_KIND_UNSPECIFIED) return ZK_FAIL(err, CUZK_USAGE, "KIND: found \"%s\", expected " CLI_KINDS, name);
    return CUZK_OK;
}

cuzk_status cli_circuit_of_key(zk_proof_kind *kind, uint64_t *sector_bytes, const char *params_path, cuzk_err *err) {
    const char *slash = strrchr(params_path, '/'), *name = slash ? slash + 1 : params_path;
    char identifier[ZK_IDENTIFIER_MAX], expected[ZK_IDENTIFIER_MAX + 16];
    for (int k = ZK_KIND_UNSPECIFIED + 1; k < ZK_N_KINDS; k++)
        for (unsigned log2_bytes = 11; log2_bytes <= 36; log2_bytes++) {
            *kind = (zk_proof_kind)k;
            *sector_bytes = UINT64_C(1) << log2_bytes;
            if (zk_kind_identifier(identifier, *kind, *sector_bytes, NULL) != CUZK_OK) continue;
            zk_parameter_file_name(expected, identifier, ".params");
            if (strcmp(name, expected) == 0) return CUZK_OK;
        }
    return ZK_FAIL(err, CUZK_USAGE,
                   "%s: not the name of a circuit's parameter file: expected --circuit KIND and "
                   "--sector-size S, or --r1cs FILE",
                   params_path);
}

cuzk_status cli_key_path(char **path, const char *dir, const char *identifier, const char *suffix, cuzk_err *err) {
    char name[ZK_IDENTIFIER_MAX + 16];
    zk_parameter_file_name(name, identifier, suffix);
    *path = zk_asprintf("%s/%s", dir, name);
    return *path ? CUZK_OK : ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a path");
}

bool cli_is_missing(const char *path) { return access(path, F_OK) != 0 && errno == ENOENT; }

cuzk_status cli_key_expect(const char *path, const char *dir, cuzk_err *err) {
    if (!cli_is_missing(path)) return CUZK_OK;
    return ZK_FAIL(err, CUZK_NOT_FOUND, "%s: no such key file; test keys: `cuzk setup KIND --sector-size S --out %s`",
                   path, dir);
}

cuzk_status cli_stem_path(char **path, const char *dir, const char *file, const char *suffix, cuzk_err *err) {
    const char *slash = strrchr(file, '/');
    const char *stem = slash ? slash + 1 : file;
    const char *dot = strrchr(stem, '.');
    int length = (int)(dot && dot != stem ? dot - stem : (ptrdiff_t)strlen(stem));
    *path = zk_asprintf("%s/%.*s%s", dir, length, stem, suffix);
    return *path ? CUZK_OK : ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a path");
}
