/* Two provers side by side on a device, emulated or not, each driven by a thread: the same proofs, whatever one of them
 * meets, and one lane where there is no room for two. Memory is overwritten whenever it changes hands. */
#include "groth16_common.h"

#include <pthread.h>

#include "cuda/cuda_kernels.h"
#if defined(ZK_CUDA_EMULATE)
#include "cuda/emulate_faults.h"
#endif

#ifndef N_PROOFS
#define N_PROOFS 20
#endif

static const char circuit_name[] = "bits-64";
static toy circuit;
static zk_blinding blinding;
static uint8_t expected[ZK_PROOF_BYTES];

static void open_circuit(void) {
    if (circuit.program) return;
    setenv("CUZK_POISON_DEVICE", "1", 1);
    circuit = toy_open(circuit_name);
    const zk_json_value *entry = zk_json_element_of(zk_json_member_of(zk_json_root(circuit.json), "proofs"), 0);
    json_proof(&blinding, expected, entry);
}

typedef struct lanes {
    zk_backend *backend;
    zk_resident_program *program;
    zk_proving_key *key;
    zk_prover *prover[2];
    cuzk_status second; /* of the lane beside the first */
} lanes;

static cuzk_status lanes_open(lanes *l, size_t budget, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    *l = (lanes){0};
    ZK_GOTO(zk_backend_open_cuda(&l->backend, 0, budget, test_pool, err));
    ZK_GOTO(zk_resident_program_load(&l->program, l->backend, circuit.circuit.program, err));
    ZK_GOTO(zk_proving_key_load(&l->key, l->program, toy_path(circuit_name, ".params"), test_pool, NULL, err));
    ZK_GOTO(zk_prover_create(&l->prover[0], l->key, test_pool, err));
    l->second = zk_prover_create_beside(&l->prover[1], l->key, test_pool, err);
out:
    return status;
}

static void lanes_close(lanes *l) {
    zk_prover_destroy(l->prover[1]);
    zk_prover_destroy(l->prover[0]);
    zk_proving_key_destroy(l->key);
    zk_resident_program_unload(l->program);
    zk_backend_close(l->backend);
    ZK_CHECK(zk_cuda_bytes_kept() == 0);
}

/* ---- a thread that proves ---- */

typedef struct driver {
    zk_prover *prover;
    zk_prove_request request;
    unsigned n, wrong, failed; /* proofs; of these with other bytes; with an error */
    cuzk_status status;        /* of the last */
    cuzk_err err;
} driver;

static void *drive(void *ctx) {
    driver *d = ctx;
    for (unsigned i = 0; i < d->n; i++) {
        uint8_t proof[ZK_PROOF_BYTES] = {0};
        zk_err_reset(&d->err);
        d->status = zk_prove(proof, d->prover, &d->request, NULL, &d->err);
        d->failed += d->status != CUZK_OK;
        d->wrong += d->status == CUZK_OK && memcmp(proof, expected, sizeof proof) != 0;
    }
    return NULL;
}

static void drive_both(driver d[2]) {
    pthread_t thread;
    ZK_CHECK(pthread_create(&thread, NULL, drive, &d[1]) == 0);
    drive(&d[0]);
    pthread_join(thread, NULL);
}

static void drivers_of(driver d[2], const lanes *l, unsigned n) {
    for (unsigned i = 0; i < 2; i++)
        d[i] = (driver){.prover = l->prover[i], .request = toy_request(&circuit, &blinding), .n = n};
}

/* ---- tests ---- */

static void test_same_bytes(void) {
    lanes l;
    driver d[2];
    cuzk_err err = {0};
    open_circuit();
    ZK_CHECK_OK(lanes_open(&l, (size_t)64 << 20, &err), err);
    ZK_CHECK_OK(l.second, err);
    drivers_of(d, &l, N_PROOFS);
    drive(&d[0]); /* one alone, then both */
    ZK_CHECK(d[0].failed == 0 && d[0].wrong == 0);
    drive_both(d);
    for (unsigned i = 0; i < 2; i++)
        ZK_CHECKF(d[i].failed == 0 && d[i].wrong == 0, "lane %u: %u failed, %u wrong, %s", i, d[i].failed, d[i].wrong,
                  d[i].err.message);
    lanes_close(&l);
}

/* From what is too little for one to what is enough for two. */
static void test_room(void) {
    unsigned n_none = 0, n_one = 0, n_two = 0;
    open_circuit();
    for (size_t budget = (size_t)2 << 20; n_two < 2; budget += (size_t)256 << 10) {
        lanes l;
        driver d[2];
        cuzk_err err = {0};
        cuzk_status status = lanes_open(&l, budget, &err);
        ZK_CHECK(status == CUZK_OK || (status == CUZK_OUT_OF_MEMORY && n_one == 0));
        if (status == CUZK_OK) {
            drivers_of(d, &l, 1);
            ZK_CHECKF(l.second == CUZK_OK || (l.second == CUZK_OUT_OF_MEMORY && n_two == 0), "%zu bytes: %s", budget,
                      err.message);
            ZK_CHECK((l.second == CUZK_OK) == (l.prover[1] != NULL));
            if (l.prover[1]) {
                d[0].n = d[1].n = 2;
                drive_both(d);
            } else {
                drive(&d[0]);
            }
            for (unsigned i = 0; i < (l.prover[1] ? 2 : 1); i++)
                ZK_CHECKF(d[i].failed == 0 && d[i].wrong == 0, "%zu bytes, lane %u: %s", budget, i, d[i].err.message);
        }
        n_none += status != CUZK_OK;
        n_one += status == CUZK_OK && !l.prover[1];
        n_two += l.prover[1] != NULL;
        lanes_close(&l);
    }
    ZK_CHECKF(n_none > 0 && n_one > 0, "%u none, %u one", n_none, n_one);
}

static void test_bad_witness_beside(void) {
    lanes l;
    driver d[2];
    cuzk_err err = {0};
    open_circuit();
    uint8_t(*hints)[32] = malloc(circuit.circuit.n_hints * 32);
    ZK_CHECK_OK(lanes_open(&l, (size_t)64 << 20, &err), err);
    ZK_CHECK_OK(l.second, err);
    memcpy(hints, circuit.circuit.hints, circuit.circuit.n_hints * 32);
    hints[circuit.circuit.n_hints - 1][0] ^= 1;
    for (unsigned bad = 0; bad < 2; bad++) {
        drivers_of(d, &l, 3);
        d[bad].request.hints = (const uint8_t(*)[32])hints;
        d[bad].n = 5;
        drive_both(d);
        ZK_CHECKF(d[bad].failed == 5 && d[bad].status == CUZK_BAD_WITNESS, "%s", d[bad].err.message);
        ZK_CHECK(d[!bad].failed == 0 && d[!bad].wrong == 0);
    }
    drivers_of(d, &l, 1);
    drive_both(d);
    ZK_CHECK(d[0].failed + d[1].failed + d[0].wrong + d[1].wrong == 0);
    lanes_close(&l);
    free(hints);
}

#if defined(ZK_CUDA_EMULATE)
/* A device that is lost while both are at work: both say so, all can be closed. */
static void test_device_lost(void) {
    open_circuit();
    for (unsigned nth = 50; nth < 1000; nth += 190) {
        lanes l;
        driver d[2];
        cuzk_err err = {0};
        ZK_CHECK_OK(lanes_open(&l, (size_t)64 << 20, &err), err);
        ZK_CHECK_OK(l.second, err);
        drivers_of(d, &l, 2);
        zk_emulate_fail_nth(nth, ZK_FAULT_LASTING);
        drive_both(d);
        ZK_CHECK(zk_emulate_failed());
        for (unsigned i = 0; i < 2; i++) {
            ZK_CHECK(d[i].failed > 0 && d[i].wrong == 0);
            ZK_CHECKF(d[i].status == CUZK_DEVICE && strstr(d[i].err.message, "cudaErrorUnknown"), "%s",
                      d[i].err.message);
        }
        lanes_close(&l);
        zk_emulate_fail_nth(0, ZK_FAULT_ONCE);
    }
}
#define LOST ZK_CASE(test_device_lost)
#else
#define LOST
#endif

/* ---- several circuits ---- */

/* Both lanes prove both circuits: each lane has a prover of each, of which one rests. There is memory for two to work.
 */
typedef struct pair_lane {
    zk_prover *prover[2];
    zk_prove_request request[2];
    const uint8_t (*expected)[ZK_PROOF_BYTES];
    unsigned first, failed, wrong;
    cuzk_err err;
} pair_lane;

static void *drive_pair(void *ctx) {
    pair_lane *l = ctx;
    for (unsigned i = 0; i < 10; i++) {
        unsigned of = (l->first + i / 2) % 2; /* each twice in a row, so that the lanes meet in all ways */
        uint8_t proof[ZK_PROOF_BYTES] = {0};
        zk_prover_rest(l->prover[!of]);
        cuzk_status status = zk_prove(proof, l->prover[of], &l->request[of], NULL, &l->err);
        l->failed += status != CUZK_OK;
        l->wrong += status == CUZK_OK && memcmp(proof, l->expected[of], sizeof proof) != 0;
    }
    return NULL;
}

static void test_two_circuits(void) {
    static const char *const names[2] = {"bits-64", "random-1000"};
    toy toys_of[2];
    zk_blinding blindings[2];
    uint8_t proofs[2][ZK_PROOF_BYTES];
    zk_backend *backend = NULL;
    zk_resident_program *program[2];
    zk_proving_key *key[2];
    zk_stream *stream = NULL;
    pair_lane lane[2] = {{.first = 0}, {.first = 1}};
    cuzk_err err = {0};
    open_circuit();
    ZK_CHECK_OK(zk_backend_open_cuda(&backend, 0, (size_t)64 << 20, test_pool, &err), err);
    for (unsigned i = 0; i < 2; i++) {
        toys_of[i] = toy_open(names[i]);
        const zk_json_value *entry = zk_json_element_of(zk_json_member_of(zk_json_root(toys_of[i].json), "proofs"), 0);
        json_proof(&blindings[i], proofs[i], entry);
        ZK_CHECK_OK(zk_resident_program_load(&program[i], backend, toys_of[i].circuit.program, &err), err);
        ZK_CHECK_OK(zk_proving_key_load(&key[i], program[i], toy_path(names[i], ".params"), test_pool, NULL, &err),
                    err);
        ZK_CHECK_OK(zk_prover_create(&lane[0].prover[i], key[i], test_pool, &err), err);
        zk_prover_rest(lane[0].prover[i]);
    }
    ZK_CHECK_OK(zk_backend_stream_open(&stream, backend, &err), err);
    for (unsigned i = 0; i < 2; i++) {
        ZK_CHECK_OK(zk_prover_create_on(&lane[1].prover[i], key[i], stream, test_pool, &err), err);
        zk_prover_rest(lane[1].prover[i]);
    }
    for (unsigned k = 0; k < 2; k++) {
        lane[k].expected = (const uint8_t(*)[ZK_PROOF_BYTES])proofs;
        for (unsigned i = 0; i < 2; i++) lane[k].request[i] = toy_request(&toys_of[i], &blindings[i]);
    }
    pthread_t thread;
    ZK_CHECK(pthread_create(&thread, NULL, drive_pair, &lane[1]) == 0);
    drive_pair(&lane[0]);
    pthread_join(thread, NULL);
    for (unsigned k = 0; k < 2; k++)
        ZK_CHECKF(lane[k].failed == 0 && lane[k].wrong == 0, "lane %u: %u failed, %u wrong, %s", k, lane[k].failed,
                  lane[k].wrong, lane[k].err.message);
    for (unsigned i = 0; i < 2; i++) zk_prover_destroy(lane[1].prover[i]);
    zk_backend_stream_close(backend, stream);
    for (unsigned i = 0; i < 2; i++) {
        zk_prover_destroy(lane[0].prover[i]);
        zk_proving_key_destroy(key[i]);
        zk_resident_program_unload(program[i]);
        toy_close(&toys_of[i]);
    }
    zk_backend_close(backend);
    ZK_CHECK(zk_cuda_bytes_kept() == 0);
}

ZK_TEST_MAIN(ZK_CASE(test_same_bytes), ZK_CASE(test_room), ZK_CASE(test_bad_witness_beside), ZK_CASE(test_two_circuits),
             LOST)
