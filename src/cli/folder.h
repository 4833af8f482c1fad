/* A folder that stands for the files in it. */
#ifndef ZK_CLI_FOLDER_H
#define ZK_CLI_FOLDER_H

#include "base/status.h"

typedef struct cli_files {
    char **paths; /* [n] */
    size_t n;
} cli_files;

/* The files *.json of a folder in the order of their names, hidden ones left out; on failure, too, to be cleared.
 * NOT_FOUND: there is no folder; BAD_INPUT: it has none, `what` says what they would be ("requests"). */
cuzk_status cli_json_files(cli_files *files, const char *folder, const char *what, cuzk_err *err) ZK_MUST_USE;
void cli_files_clear(cli_files *files);

#endif
