/* All errors of a file, not only the first. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "config/config_impl.h"

enum { MAX_ERRORS = 100 };

cuzk_status zk_config_note(zk_config_errors *errors, unsigned line, cuzk_status status, cuzk_err *err) {
    if (!errors || status != CUZK_BAD_INPUT || errors->n == MAX_ERRORS) return status;
    char *text = zk_strdup(err->message);
    zk_err_reset(err);
    if (!text || !zk_grow((void **)&errors->list, &errors->capacity, errors->n + 1, sizeof *errors->list)) {
        free(text);
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for an error");
    }
    size_t at = errors->n++;
    for (; at > 0 && line && (!errors->list[at - 1].line || errors->list[at - 1].line > line); at--)
        errors->list[at] = errors->list[at - 1];
    errors->list[at] = (struct zk_config_error){line, text};
    return CUZK_OK;
}

cuzk_status zk_config_judge(size_t *n_errors, zk_config *config, const char *path, char *const *environment,
                            zk_config_warn_fn warn, zk_config_warn_fn wrong, void *ctx, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    cuzk_err own = {0}, *e = err ? err : &own;
    zk_config_errors errors = {0};
    uint8_t *data = NULL;
    size_t n = 0;
    ZK_GOTO(zk_file_read(&data, &n, path, ZK_TOML_MAX_BYTES, e));
    ZK_GOTO(zk_config_note_text(config, &errors, (const char *)data, n, path, warn, ctx, e));
    if (environment) ZK_GOTO(zk_config_note_environment(config, &errors, environment, warn, ctx, e));
    ZK_GOTO(zk_config_note_check(&errors, config, warn, ctx, e));
out:
    *n_errors = errors.n;
    for (size_t i = 0; i < errors.n; i++) {
        wrong(ctx, errors.list[i].text);
        free(errors.list[i].text);
    }
    free(errors.list);
    free(data);
    return status;
}
