#include "cli/proving.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/circuits.h"
#include "cli/testdata.h"
#include "groth16/prepared_params.h"

cuzk_status cli_key_args_check(const cli_key_args *args, cuzk_err *err) {
    if (!args->params_dir == !args->toxic_path)
        return ZK_FAIL(err, CUZK_USAGE, "expected one of --params DIR and --test-toxic FILE (see --help)");
    return CUZK_OK;
}

static cuzk_status expect_prepared(const char *params_path, cuzk_err *err) {
    char *path = NULL;
    ZK_TRY(zk_prepared_path(&path, params_path, err));
    cuzk_status status = CUZK_OK;
    if (cli_is_missing(path))
        status = ZK_FAIL(err, CUZK_NOT_FOUND, "no prepared key beside %s: `cuzk params prepare` makes it", params_path);
    free(path);
    return status;
}

cuzk_status cli_key_find(cli_key *key, const cli_key_args *args, const char *identifier, const char *file,
                         cuzk_err *err) {
    key->params_path = NULL;
    key->prepared = args->prepared;
    if (args->toxic_path) return cli_read_toxic(&key->toxic, args->toxic_path, err);
    if (identifier) {
        ZK_TRY(cli_key_path(&key->params_path, args->params_dir, identifier, ".params", err));
        ZK_TRY(cli_key_expect(key->params_path, args->params_dir, err));
        return args->prepared ? expect_prepared(key->params_path, err) : CUZK_OK;
    }
    return cli_stem_path(&key->params_path, args->params_dir, file, ".params", err);
}

void cli_key_clear(cli_key *key) {
    free(key->params_path);
    key->params_path = NULL;
}

static cuzk_status open_key(cli_prover *prover, const cli_key *key, cuzk_err *err) {
    cli_progress(NULL, key->params_path ? "loading keys" : "making test keys", 0, 0);
    if (key->params_path && key->prepared && key->check_digest)
        ZK_TRY(cli_prepared_digest_start(&prover->digest, key->params_path, err));
    if (key->params_path)
        return (key->prepared ? zk_proving_key_load_prepared : zk_proving_key_load)(
            &prover->key, prover->program, key->params_path, prover->pool, prover->trace, err);
    return (key->prepared ? zk_proving_key_generate_prepared : zk_proving_key_generate)(
        &prover->key, prover->program, &key->toxic, prover->pool, prover->trace, err);
}

cuzk_status cli_prover_open(cli_prover *prover, const zk_program *program, const cli_key *key, const cli_work *work,
                            zk_pool *pool, zk_trace *trace, cuzk_err *err) {
    *prover = (cli_prover){.pool = pool, .trace = trace};
    cuzk_status status = CUZK_OK;
    zk_span *span = zk_span_open_kernel(trace, "open device");
    ZK_GOTO(cli_backend_open(&prover->backend, work, pool, err));
    zk_span_close(trace, span);
    span = zk_span_open_kernel(trace, "load program");
    ZK_GOTO(zk_resident_program_load(&prover->program, prover->backend, program, err));
    zk_span_close(trace, span);
    ZK_TRY(cli_check_cancelled(err));
    ZK_TRY(open_key(prover, key, err));
    span = zk_span_open_kernel(trace, "buffers");
    ZK_GOTO(zk_prover_create(&prover->lanes[0], prover->key, pool, err));
    prover->prover = prover->lanes[0];
    prover->lane_traces[0] = trace;
    prover->n_lanes = 1;
out:
    zk_span_close(trace, span);
    return status;
}

cuzk_status cli_prover_settle(cli_prover *prover, cuzk_status status, cuzk_err *err) {
    if (!prover->digest || (status != CUZK_OK && status != CUZK_INTERNAL)) return status;
    cuzk_err damage = {0};
    cli_progress(NULL, "digest of the prepared key", 0, 0);
    zk_span *span = zk_span_open_kernel(prover->trace, "digest"); /* what is left of it */
    cuzk_status found = cli_prepared_digest_await(prover->digest, &damage);
    zk_span_close(prover->trace, span);
    if (found == CUZK_OK) return status;
    if (err) *err = damage;
    return found;
}

/* Where points of bits are streamed: several provers, for which they come once. */
static cuzk_status make_group(cli_prover *prover, uint32_t n, cuzk_err *err) {
    unsigned n_group = 0;
    prover->group[0] = prover->prover;
    cuzk_status status = zk_prove_together_make(prover->group, &n_group, n < CLI_MAX_GROUP ? n : CLI_MAX_GROUP, err);
    prover->n_group = n_group > 1 ? n_group : 0;
    return status;
}

cuzk_status cli_prover_widen(cli_prover *prover, uint32_t n, cuzk_err *err) {
    cuzk_err none = {0};
    if (n < 2 || prover->n_lanes == CLI_MAX_LANES || !prover->backend->caps.has_streams) return CUZK_OK;
    cuzk_status status = zk_prover_create_beside(&prover->lanes[prover->n_lanes], prover->key, prover->pool, &none);
    if (status == CUZK_OUT_OF_MEMORY) return make_group(prover, n, err);
    if (status != CUZK_OK) {
        if (err) *err = none;
        return status;
    }
    if (prover->trace) prover->lane_traces[prover->n_lanes] = zk_trace_create("second lane", 0);
    prover->n_lanes++;
    return CUZK_OK;
}

static void say(const char *label, const char *what) {
    char text[64];
    snprintf(text, sizeof text, "%s: %s", label, what);
    cli_progress(NULL, text, 0, 0);
}

cuzk_status cli_lane_prove(uint8_t proof[ZK_PROOF_BYTES], cli_prover *prover, unsigned lane,
                           const zk_prove_request *request, const char *label, cuzk_err *err) {
    zk_prover *p = prover->lanes[lane];
    zk_prove_begin(p, request);
    for (int stage = 0; stage < ZK_PROVE_N_STAGES; stage++) {
        if (lane == 0) { /* the progress line belongs to one thread */
            ZK_TRY(cli_check_cancelled(err));
            say(label, zk_prove_stage_name((zk_prove_stage_id)stage));
        }
        ZK_TRY(zk_prove_stage(p, (zk_prove_stage_id)stage, prover->lane_traces[lane], err));
    }
    memcpy(proof, zk_prove_result(p), ZK_PROOF_BYTES);
    return CUZK_OK;
}

cuzk_status cli_group_begin(cli_prover *prover, unsigned member, const zk_prove_request *request, const char *label,
                            cuzk_err *err) {
    zk_prover *p = prover->group[member];
    zk_prove_begin(p, request);
    for (int stage = 0; stage <= ZK_PROVE_MSM; stage++) {
        ZK_TRY(cli_check_cancelled(err));
        say(label, zk_prove_stage_name((zk_prove_stage_id)stage));
        if (stage < ZK_PROVE_MSM) ZK_TRY(zk_prove_stage(p, (zk_prove_stage_id)stage, prover->trace, err));
    }
    return zk_prove_full(p, prover->trace, err);
}

cuzk_status cli_group_bits(cli_prover *prover, unsigned n, unsigned *failed, cuzk_err *err) {
    *failed = 0;
    ZK_TRY(cli_check_cancelled(err));
    say("all partitions", "msm of bits");
    return zk_prove_bits(prover->group, n, failed, prover->trace, err);
}

cuzk_status cli_group_finish(uint8_t proof[ZK_PROOF_BYTES], cli_prover *prover, unsigned member, cuzk_err *err) {
    zk_prover *p = prover->group[member];
    for (int stage = ZK_PROVE_ASSEMBLE; stage < ZK_PROVE_N_STAGES; stage++)
        ZK_TRY(zk_prove_stage(p, (zk_prove_stage_id)stage, prover->trace, err));
    memcpy(proof, zk_prove_result(p), ZK_PROOF_BYTES);
    return CUZK_OK;
}

cuzk_status cli_prover_prove(uint8_t proof[ZK_PROOF_BYTES], cli_prover *prover, const zk_prove_request *request,
                             const char *label, cuzk_err *err) {
    return cli_lane_prove(proof, prover, 0, request, label, err);
}

void cli_prover_print_lanes(const cli_prover *prover) {
    for (unsigned i = 1; i < prover->n_lanes; i++)
        if (prover->lane_traces[i]) zk_trace_print(prover->lane_traces[i], stderr);
}

void cli_prover_close(cli_prover *prover) {
    cli_progress_end();
    for (unsigned i = 1; i < prover->n_group; i++) zk_prover_destroy(prover->group[i]);
    while (prover->n_lanes) {
        zk_prover_destroy(prover->lanes[--prover->n_lanes]);
        if (prover->n_lanes) zk_trace_destroy(prover->lane_traces[prover->n_lanes]);
    }
    cli_prepared_digest_end(prover->digest);
    zk_proving_key_destroy(prover->key);
    zk_resident_program_unload(prover->program);
    zk_backend_close(prover->backend);
    *prover = (cli_prover){0};
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
