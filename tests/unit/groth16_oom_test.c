/* Every allocation of a whole run fails in turn: the run ends with "out of memory", leaks nothing, leaves no file. */
#include "groth16_common.h"

#include "base/alloc.h"
#include "base/mem.h"
#include "groth16/prepare.h"

static zk_toxic_waste toxic;
static char params[512], vk[512];

static cuzk_status setup_all(toy *t, cuzk_err *err) {
    zk_setup_result result;
    zk_setup_options options = {
        .toxic = &toxic, .params_path = params, .vk_path = vk, .resumable = true, .pool = test_pool};
    return zk_setup(&result, t->circuit.program, &options, err);
}

static cuzk_status read_all(toy *t, cuzk_err *err) {
    zk_r1cs_circuit circuit;
    (void)t;
    ZK_TRY(zk_r1cs_json_read(&circuit, toy_path("three-rows", ".json"), err));
    zk_r1cs_circuit_clear(&circuit);
    return CUZK_OK;
}

static cuzk_status prove_all(toy *t, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_backend *backend = NULL;
    zk_resident_program *program = NULL;
    zk_proving_key *key = NULL;
    zk_prover *prover = NULL;
    uint8_t proof[ZK_PROOF_BYTES];
    zk_prove_request request = toy_request(t, NULL);
    ZK_GOTO(zk_backend_open_cpu(&backend, test_pool, err));
    ZK_GOTO(zk_resident_program_load(&program, backend, t->circuit.program, err));
    ZK_GOTO(zk_proving_key_load(&key, program, toy_path("three-rows", ".params"), test_pool, NULL, err));
    ZK_GOTO(zk_prover_create(&prover, key, test_pool, err));
    ZK_GOTO(zk_prove(proof, prover, &request, NULL, err));
out:
    zk_prover_destroy(prover);
    zk_proving_key_destroy(key);
    zk_resident_program_unload(program);
    zk_backend_close(backend);
    return status;
}

static cuzk_status generate_all(toy *t, cuzk_err *err) {
    zk_proving_key *key;
    cuzk_status status = zk_proving_key_generate(&key, t->program, &toxic, test_pool, NULL, err);
    zk_proving_key_destroy(key);
    return status;
}

static cuzk_status prepare_all(toy *t, cuzk_err *err) {
    zk_params *p = NULL;
    zk_proving_key *key = NULL;
    zk_prepare_result result;
    zk_prepare_options options = {.backend = test_backend, .pool = test_pool};
    char prepared[512];
    cuzk_status status = CUZK_OK;
    strcpy(prepared, temp_path("three-rows", ".prepared"));
    ZK_CHECK(symlink(toy_path("three-rows", ".params"), temp_path("three-rows", ".params")) == 0);
    ZK_GOTO(zk_params_open(&p, temp_path("three-rows", ".params"), NULL, err));
    status = zk_prepare(&result, p, prepared, t->circuit.program, &options, err);
    ZK_CHECK(access(temp_path("three-rows", ".prepared.partial"), F_OK) != 0);
    ZK_CHECK((access(prepared, F_OK) == 0) == (status == CUZK_OK));
    if (status != CUZK_OK) goto out;
    ZK_GOTO(zk_proving_key_load_prepared(&key, t->program, temp_path("three-rows", ".params"), test_pool, NULL, err));
    zk_proving_key_destroy(key);
    ZK_GOTO(zk_proving_key_generate_prepared(&key, t->program, &toxic, test_pool, NULL, err));
    zk_proving_key_destroy(key);
out:
    zk_params_close(p);
    unlink(prepared);
    unlink(temp_path("three-rows", ".params"));
    return status;
}

static cuzk_status check_all(toy *t, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_params *p = NULL;
    zk_vk key = {0};
    zk_prepared_vk *prepared = NULL;
    uint8_t proofs[2 * ZK_PROOF_BYTES], publics[4][32];
    const zk_json_value *list = zk_json_member_of(zk_json_root(t->json), "proofs");
    for (size_t i = 0; i < 2; i++) {
        json_hex(proofs + i * ZK_PROOF_BYTES, ZK_PROOF_BYTES, zk_json_element_of(list, i), "proof");
        memcpy(publics[2 * i], t->circuit.publics, 64);
    }
    ZK_GOTO(zk_params_open(&p, toy_path("three-rows", ".params"), NULL, err));
    ZK_GOTO(zk_params_check(p, test_pool, NULL, NULL, err));
    ZK_GOTO(zk_vk_read(&key, toy_path("three-rows", ".vk"), err));
    ZK_GOTO(zk_prepared_vk_create(&prepared, &key, "three-rows", err));
    ZK_GOTO(zk_verify_batch(prepared, proofs, sizeof proofs, 2, (const uint8_t(*)[32])publics, 2, test_pool, err));
out:
    zk_prepared_vk_destroy(prepared);
    zk_vk_clear(&key);
    zk_params_close(p);
    return status;
}

static void fail_each(cuzk_status (*run)(toy *, cuzk_err *), bool writes) {
    toy t = toy_open("three-rows");
    toxic = fixed_toxic();
    strcpy(params, temp_path("oom", ".params"));
    strcpy(vk, temp_path("oom", ".vk"));
    uint64_t before = zk_mem_current_bytes(), n = 0;
    for (;;) {
        cuzk_err err = {0};
        zk_alloc_fail_nth(++n);
        cuzk_status status = run(&t, &err);
        bool failed = zk_alloc_failed();
        zk_alloc_fail_nth(0);
        ZK_CHECKF(zk_mem_current_bytes() == before, "allocation %llu: memory is kept", (unsigned long long)n);
        if (!failed) {
            ZK_CHECK_OK(status, err);
            break;
        }
        /* some failures only cost speed or a state that could have been kept */
        ZK_CHECKF(status == CUZK_OUT_OF_MEMORY || status == CUZK_OK, "allocation %llu: %s", (unsigned long long)n,
                  err.message);
        ZK_CHECK(status == CUZK_OK || err.message[0]);
        if (!writes) continue;
        if (status == CUZK_OK) {
            ZK_CHECK(unlink(params) == 0 && unlink(vk) == 0);
            continue;
        }
        ZK_CHECKF(access(params, F_OK) != 0 && access(temp_path("oom", ".params.partial"), F_OK) != 0,
                  "allocation %llu leaves a file", (unsigned long long)n);
    }
    ZK_CHECK(n > 3);
    unlink(params);
    unlink(vk);
    toy_close(&t);
}

static void test_setup(void) { fail_each(setup_all, true); }
static void test_generate(void) { fail_each(generate_all, false); }
static void test_prepare(void) { fail_each(prepare_all, false); }
static void test_read(void) { fail_each(read_all, false); }
static void test_prove(void) { fail_each(prove_all, false); }
static void test_check(void) { fail_each(check_all, false); }

ZK_TEST_MAIN(ZK_CASE(test_setup), ZK_CASE(test_generate), ZK_CASE(test_prepare), ZK_CASE(test_read),
             ZK_CASE(test_prove), ZK_CASE(test_check))
