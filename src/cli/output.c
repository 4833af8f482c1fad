#include "cli/output.h"

zk_json_writer *cli_json_begin(void) {
    zk_json_writer *json = zk_json_writer_create(stdout, 1);
    zk_json_begin_object(json, NULL);
    return json;
}

cuzk_status cli_json_end(zk_json_writer *json, cuzk_err *err) {
    zk_json_end(json);
    cuzk_status status = zk_json_writer_finish(json, err);
    zk_json_writer_destroy(json);
    if (status == CUZK_OK && fflush(stdout) != 0) return ZK_FAIL(err, CUZK_IO, "cannot write to standard output");
    return status;
}

void cli_json_checkpoints(zk_json_writer *json, const char *key, const zk_checkpoints *checkpoints) {
    zk_json_begin_array(json, key);
    for (size_t i = 0; i < checkpoints->n; i++) zk_json_put_hex(json, NULL, checkpoints->at[i], 8);
    zk_json_end(json);
}
