#include "cli/circuits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "circuit/porep.h"
#include "cli/args.h"

cuzk_status cli_kind(zk_proof_kind *kind, const char *name, cuzk_err *err) {
    *kind = zk_proof_kind_by_name(name);
    if (*kind == ZK_KIND_UNSPECIFIED)
        return ZK_FAIL(err, CUZK_USAGE, "KIND: found \"%s\", expected porep, winning, window or update", name);
    return CUZK_OK;
}

static cuzk_status unsupported(zk_proof_kind kind, cuzk_err *err) {
    return ZK_FAIL(err, CUZK_UNSUPPORTED, "the circuit of kind %s is not part of this version; porep is",
                   zk_proof_kind_name(kind));
}

cuzk_status cli_circuit_program(zk_program **program, zk_proof_kind kind, uint64_t sector_bytes, cuzk_err *err) {
    if (kind == ZK_KIND_POREP) return zk_porep_program(program, sector_bytes, err);
    return unsupported(kind, err);
}

cuzk_status cli_circuit_identifier(char identifier[ZK_IDENTIFIER_MAX], zk_proof_kind kind, uint64_t sector_bytes,
                                   cuzk_err *err) {
    if (kind != ZK_KIND_POREP) return unsupported(kind, err);
    zk_porep_identifier(identifier, sector_bytes);
    return CUZK_OK;
}

cuzk_status cli_key_path(char **path, const char *dir, const char *identifier, const char *suffix, cuzk_err *err) {
    char name[ZK_IDENTIFIER_MAX + 16];
    zk_parameter_file_name(name, identifier, suffix);
    if (asprintf(path, "%s/%s", dir, name) < 0) {
        *path = NULL;
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a path");
    }
    return CUZK_OK;
}

cuzk_status cli_stem_path(char **path, const char *dir, const char *file, const char *suffix, cuzk_err *err) {
    const char *slash = strrchr(file, '/');
    const char *stem = slash ? slash + 1 : file;
    const char *dot = strrchr(stem, '.');
    int length = (int)(dot && dot != stem ? dot - stem : (ptrdiff_t)strlen(stem));
    if (asprintf(path, "%s/%.*s%s", dir, length, stem, suffix) < 0) {
        *path = NULL;
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a path");
    }
    return CUZK_OK;
}
