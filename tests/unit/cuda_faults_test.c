/* Everything that a run takes from a device or asks of it fails in turn: buffers, host memory, and on the emulated
 * device CUDA calls. Each run ends with an error that says what it was, or with the right proof; nothing is kept; the
 * next works. */
#include "groth16_common.h"

#include "base/alloc.h"
#include "base/mem.h"
#include "cuda/cuda_kernels.h"
#if defined(ZK_CUDA_EMULATE)
#include "cuda/emulate_faults.h"
#endif

#ifndef STRIDE
#define STRIDE 37 /* of the CUDA calls of a proof; the program of `check-full` takes all of them */
#endif

static const char circuit_name[] = "bits-64"; /* has points of all kinds */
static toy circuit;
static zk_toxic_waste toxic;
static zk_blinding blinding;
static uint8_t expected[ZK_PROOF_BYTES];

static void open_circuit(void) {
    if (circuit.program) return;
    test_open();
    circuit = toy_open(circuit_name);
    toxic = fixed_toxic();
    const zk_json_value *entry = zk_json_element_of(zk_json_member_of(zk_json_root(circuit.json), "proofs"), 0);
    json_proof(&blinding, expected, entry);
}

typedef struct device_run {
    zk_backend *backend;
    zk_resident_program *program;
    zk_proving_key *key;
    zk_prover *provers[2];
} device_run;

typedef struct how {
    bool from_toxic, two_lanes;
} how;

static cuzk_status run_open(device_run *r, how h, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    *r = (device_run){0};
    ZK_GOTO(zk_backend_open_cuda(&r->backend, 0, 64 << 20, test_pool, err));
    ZK_GOTO(zk_resident_program_load(&r->program, r->backend, circuit.circuit.program, err));
    if (h.from_toxic)
        ZK_GOTO(zk_proving_key_generate(&r->key, r->program, &toxic, test_pool, NULL, err));
    else
        ZK_GOTO(zk_proving_key_load(&r->key, r->program, toy_path(circuit_name, ".params"), test_pool, NULL, err));
    ZK_GOTO(zk_prover_create(&r->provers[0], r->key, test_pool, err));
    if (h.two_lanes) ZK_GOTO(zk_prover_create_beside(&r->provers[1], r->key, test_pool, err));
out:
    return status;
}

static cuzk_status run_prove(uint8_t proof[ZK_PROOF_BYTES], zk_prover *prover, cuzk_err *err) {
    zk_prove_request request = toy_request(&circuit, &blinding);
    return zk_prove(proof, prover, &request, NULL, err);
}

static void run_close(device_run *r) {
    zk_prover_destroy(r->provers[1]);
    zk_prover_destroy(r->provers[0]);
    zk_proving_key_destroy(r->key);
    zk_resident_program_unload(r->program);
    zk_backend_close(r->backend);
}

static cuzk_status run_all(uint8_t proof[ZK_PROOF_BYTES], how h, cuzk_err *err) {
    device_run r;
    cuzk_status status = run_open(&r, h, err);
    for (int lane = 0; lane < (h.two_lanes ? 2 : 1) && status == CUZK_OK; lane++)
        status = run_prove(proof, r.provers[lane], err);
    run_close(&r);
    return status;
}

/* ---- what fails ---- */

typedef struct fault {
    const char *name;
    void (*arm)(uint64_t nth);
    bool (*happened)(void);
    cuzk_status status;   /* of a run that fails */
    const char *says;     /* in its message; NULL: anything */
    bool after;           /* the device still works */
    uint64_t all, stride; /* all of the first, then every so many */
} fault;

static const fault buffers = {
    "buffer", zk_cuda_alloc_fail_nth, zk_cuda_alloc_failed, CUZK_OUT_OF_MEMORY, "device", true, 1000, 1};
static const fault host_memory = {"host memory", zk_alloc_fail_nth, zk_alloc_failed, CUZK_OUT_OF_MEMORY, NULL, true,
                                  150,           STRIDE / 5 + 1};
static void check_failure(const fault *f, uint64_t n, cuzk_status status, const cuzk_err *err,
                          const uint8_t proof[ZK_PROOF_BYTES]) {
    if (status == CUZK_OK) { /* a leaner way, or a call that cleans up */
        ZK_CHECKF(memcmp(proof, expected, sizeof expected) == 0, "%s %llu: wrong proof", f->name,
                  (unsigned long long)n);
        return;
    }
    ZK_CHECKF(status == f->status, "%s %llu: status %d, %s", f->name, (unsigned long long)n, status, err->message);
    ZK_CHECKF(err->status == status && err->message[0], "%s %llu", f->name, (unsigned long long)n);
    ZK_CHECKF(!f->says || strstr(err->message, f->says) || strstr(err->message, "pinned host memory"), "%s %llu: %s",
              f->name, (unsigned long long)n, err->message);
}

/* The whole run, from opening the device to closing it. */
static void fail_each(const fault *f, how h) {
    uint64_t n = 0, runs = 0, n_failed = 0, memory = zk_mem_current_bytes();
    for (bool happened = true; happened; runs++) {
        uint8_t proof[ZK_PROOF_BYTES];
        cuzk_err err = {0};
        n += n < f->all ? 1 : f->stride;
        f->arm(n);
        cuzk_status status = run_all(proof, h, &err);
        happened = f->happened();
        f->arm(0);
        check_failure(f, n, status, &err, proof);
        n_failed += status != CUZK_OK;
        ZK_CHECKF(zk_cuda_bytes_kept() == 0, "%s %llu: buffers are kept", f->name, (unsigned long long)n);
        ZK_CHECKF(zk_mem_current_bytes() == memory, "%s %llu: memory is kept", f->name, (unsigned long long)n);
        ZK_CHECK(happened || status == CUZK_OK);
    }
    printf("   %s: %llu of %llu runs failed, the last of %llu\n", f->name, (unsigned long long)n_failed,
           (unsigned long long)runs, (unsigned long long)n);
    ZK_CHECK(n > 10 && n_failed > 10);
}

/* Proofs alone: the same prover goes on afterwards. */
static void fail_each_proof(const fault *f) {
    device_run r;
    cuzk_err err = {0};
    uint8_t proof[ZK_PROOF_BYTES];
    uint64_t n = 0, n_failed = 0;
    ZK_CHECK_OK(run_open(&r, (how){0}, &err), err);
    ZK_CHECK_OK(run_prove(proof, r.provers[0], &err), err);
    uint64_t total, before, after;
    zk_backend_cuda_memory(&total, &before, r.backend);
    for (bool happened = true; happened;) {
        n += n < 20 ? 1 : f->stride;
        f->arm(n);
        cuzk_status status = run_prove(proof, r.provers[0], &err);
        happened = f->happened();
        f->arm(0);
        check_failure(f, n, status, &err, proof);
        if (status == CUZK_OK) continue;
        n_failed++;
        zk_err_reset(&err);
        memset(proof, 0, sizeof proof);
        ZK_CHECK_OK(run_prove(proof, r.provers[0], &err), err);
        ZK_CHECK_MEM(proof, expected, sizeof proof);
        zk_backend_cuda_memory(&total, &after, r.backend);
        ZK_CHECKF(before == after, "%s %llu: %llu bytes free before, %llu after", f->name, (unsigned long long)n,
                  (unsigned long long)before, (unsigned long long)after);
    }
    run_close(&r);
    ZK_CHECK(zk_cuda_bytes_kept() == 0);
    ZK_CHECKF(n_failed > 3, "%s", f->name);
}

static void test_none(void) {
    uint8_t proof[ZK_PROOF_BYTES];
    cuzk_err err = {0};
    open_circuit();
    for (int k = 0; k < 3; k++) {
        ZK_CHECK_OK(run_all(proof, (how){.from_toxic = k == 1, .two_lanes = k == 2}, &err), err);
        ZK_CHECK_MEM(proof, expected, sizeof proof);
        ZK_CHECK(zk_cuda_bytes_kept() == 0);
    }
}

static void test_buffers(void) {
    open_circuit();
    fail_each(&buffers, (how){0});
    fault fewer = buffers;
    fewer.all = 60;
    fewer.stride = 4;
    fail_each(&fewer, (how){.from_toxic = true, .two_lanes = true});
    fail_each_proof(&buffers);
}

static void test_host_memory(void) {
    open_circuit();
    fail_each(&host_memory, (how){0});
    fail_each_proof(&host_memory);
}

#if defined(ZK_CUDA_EMULATE)
static void arm_once(uint64_t nth) { zk_emulate_fail_nth(nth, ZK_FAULT_ONCE); }
static void arm_lasting(uint64_t nth) { zk_emulate_fail_nth(nth, ZK_FAULT_LASTING); }
static void arm_memory(uint64_t nth) { zk_emulate_fail_nth(nth, ZK_FAULT_MEMORY); }

static const fault calls[] = {
    {"call", arm_once, zk_emulate_failed, CUZK_DEVICE, "cudaErrorUnknown", true, 150, STRIDE},
    {"device lost", arm_lasting, zk_emulate_failed, CUZK_DEVICE, "cudaErrorUnknown", false, 150, 2 * STRIDE},
    {"memory of a call", arm_memory, zk_emulate_failed, CUZK_OUT_OF_MEMORY, "cudaErrorMemoryAllocation", true, 150,
     3 * STRIDE},
};

static void test_calls(void) {
    open_circuit();
    for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++) {
        fail_each(&calls[k], (how){.two_lanes = k == 1});
        if (calls[k].after) fail_each_proof(&calls[k]);
    }
}
#define CALLS ZK_CASE(test_calls)
#else
#define CALLS
#endif

ZK_TEST_MAIN(ZK_CASE(test_none), ZK_CASE(test_buffers), ZK_CASE(test_host_memory), CALLS)
