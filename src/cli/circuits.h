/* Circuits as the command line names them: kinds, and the names of their key files. */
#ifndef ZK_CLI_CIRCUITS_H
#define ZK_CLI_CIRCUITS_H

#include "filecoin/kinds.h"

#define CLI_KINDS "porep, winning, window or update"
#define CLI_SECTOR_SIZES "2KiB, 8MiB, 512MiB, 32GiB, 64GiB"

/* Kind from its name on the command line: USAGE if there is none. */
cuzk_status cli_kind(zk_proof_kind *kind, const char *name, cuzk_err *err) ZK_MUST_USE;

/* The circuit whose parameter file has this name, in any folder. USAGE: none has. */
cuzk_status cli_circuit_of_key(zk_proof_kind *kind, uint64_t *sector_bytes, const char *params_path,
                               cuzk_err *err) ZK_MUST_USE;
/* DIR/v28-<identifier><suffix>; free() it. */
cuzk_status cli_key_path(char **path, const char *dir, const char *identifier, const char *suffix,
                         cuzk_err *err) ZK_MUST_USE;
/* Whether there is no such file; that one cannot be looked at is told by opening it. */
bool cli_is_missing(const char *path);
/* NOT_FOUND, saying how test keys come there, unless that file is there. */
cuzk_status cli_key_expect(const char *path, const char *dir, cuzk_err *err) ZK_MUST_USE;
/* DIR/<stem of file><suffix>: key files of explicit circuits. free() it. */
cuzk_status cli_stem_path(char **path, const char *dir, const char *file, const char *suffix,
                          cuzk_err *err) ZK_MUST_USE;

#endif
