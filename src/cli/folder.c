#include "cli/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static int is_json(const struct dirent *entry) {
    size_t n = strlen(entry->d_name);
    return entry->d_name[0] != '.' && n > 5 && strcmp(entry->d_name + n - 5, ".json") == 0;
}

cuzk_status cli_json_files(cli_files *files, const char *folder, const char *what, cuzk_err *err) {
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, is_json, alphasort);
    *files = (cli_files){0};
    if (n < 0)
        return ZK_FAIL(err, errno == ENOENT ? CUZK_NOT_FOUND : CUZK_IO, "%s: the folder cannot be read: %s", folder,
                       strerror(errno));
    files->paths = zk_calloc((size_t)n + 1, sizeof *files->paths);
    for (int i = 0; i < n; i++) {
        if (files->paths && (files->paths[files->n] = zk_asprintf("%s/%s", folder, entries[i]->d_name))) files->n++;
        free(entries[i]);
    }
    free(entries);
    if (n == 0) return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found no %s (*.json) in the folder", folder, what);
    return files->n == (size_t)n ? CUZK_OK : ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: out of memory", folder);
}

void cli_files_clear(cli_files *files) {
    for (size_t i = 0; i < files->n; i++) free(files->paths[i]);
    free(files->paths);
    *files = (cli_files){0};
}
