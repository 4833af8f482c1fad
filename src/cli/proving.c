#include "cli/proving.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/testdata.h"

cuzk_status cli_prover_open(cli_prover *prover, const zk_program *program, const char *params_path,
                            const cli_work *work, zk_pool *pool, zk_trace *trace, cuzk_err *err) {
    *prover = (cli_prover){.pool = pool, .trace = trace};
    cuzk_status status = CUZK_OK;
    zk_span *span = zk_span_open_kernel(trace, "open device");
    ZK_GOTO(cli_backend_open(&prover->backend, work, pool, err));
    zk_span_close(trace, span);
    span = zk_span_open_kernel(trace, "load program");
    ZK_GOTO(zk_resident_program_load(&prover->program, prover->backend, program, err));
    zk_span_close(trace, span);
    cli_progress(NULL, "loading keys", 0, 0);
    ZK_TRY(cli_check_cancelled(err));
    ZK_TRY(zk_proving_key_load(&prover->key, prover->program, params_path, pool, trace, err));
    span = zk_span_open_kernel(trace, "buffers");
    ZK_GOTO(zk_prover_create(&prover->prover, prover->key, pool, err));
out:
    zk_span_close(trace, span);
    return status;
}

cuzk_status cli_prover_prove(uint8_t proof[ZK_PROOF_BYTES], cli_prover *prover, const zk_prove_request *request,
                             const char *label, cuzk_err *err) {
    zk_prove_begin(prover->prover, request);
    for (int stage = 0; stage < ZK_PROVE_N_STAGES; stage++) {
        ZK_TRY(cli_check_cancelled(err));
        char what[64];
        snprintf(what, sizeof what, "%s: %s", label, zk_prove_stage_name((zk_prove_stage_id)stage));
        cli_progress(NULL, what, 0, 0);
        ZK_TRY(zk_prove_stage(prover->prover, (zk_prove_stage_id)stage, prover->trace, err));
    }
    memcpy(proof, zk_prove_result(prover->prover), ZK_PROOF_BYTES);
    return CUZK_OK;
}

void cli_prover_close(cli_prover *prover) {
    cli_progress_end();
    zk_prover_destroy(prover->prover);
    zk_proving_key_destroy(prover->key);
    zk_resident_program_unload(prover->program);
    zk_backend_close(prover->backend);
    *prover = (cli_prover){0};
}

cuzk_status cli_test_keys_folder(cli_test_keys *keys, cuzk_err *err) {
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(keys->dir, sizeof keys->dir, "%s/cuzk-keys-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    errno = ENAMETOOLONG; /* unless mkdtemp says something else */
    if (n < 0 || (size_t)n >= sizeof keys->dir || !mkdtemp(keys->dir)) {
        cuzk_status status =
            ZK_FAIL(err, CUZK_IO, "%s: cannot make a folder for test keys: %s", keys->dir, strerror(errno));
        keys->dir[0] = 0;
        return status;
    }
    snprintf(keys->params_path, sizeof keys->params_path, "%s/test.params", keys->dir);
    snprintf(keys->vk_path, sizeof keys->vk_path, "%s/test.vk", keys->dir);
    return CUZK_OK;
}

cuzk_status cli_test_keys_make(cli_test_keys *keys, const zk_program *program, const char *toxic_path, zk_pool *pool,
                               zk_trace *trace, cuzk_err *err) {
    zk_toxic_waste toxic;
    ZK_TRY(cli_read_toxic(&toxic, toxic_path, err));
    ZK_TRY(cli_test_keys_folder(keys, err));
    zk_setup_result result;
    zk_setup_options options = {
        .toxic = &toxic,
        .params_path = keys->params_path,
        .pool = pool,
        .trace = trace,
        .progress = cli_progress,
        .cancelled = cli_cancelled,
    };
    return zk_setup(&result, program, &options, err);
}

void cli_test_keys_remove(cli_test_keys *keys) {
    if (!keys->dir[0]) return;
    unlink(keys->params_path);
    unlink(keys->vk_path);
    rmdir(keys->dir);
    keys->dir[0] = 0;
}

cuzk_status cli_trace_report(zk_trace *trace, bool print, const char *json_path, cuzk_err *err) {
    if (json_path) {
        char *text = NULL;
        size_t n = 0;
        FILE *f = open_memstream(&text, &n);
        if (!f) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the timing tree");
        zk_trace_print_json(trace, f);
        cuzk_status status = CUZK_OK;
        if (fclose(f) != 0) status = ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the timing tree");
        if (status == CUZK_OK) status = zk_file_write(json_path, text, n, err);
        free(text);
        ZK_TRY(status);
    }
    if (print) zk_trace_print(trace, stderr);
    return CUZK_OK;
}
