/* The edges of a device, emulated or not: another one than the first, driven by threads that never heard of it; several
 * at once; a witness that is bad where there is no memory to say so; keys whose making is cancelled. On the emulated
 * one also what C++ throws, and devices that the build has no code for. */
#include "groth16_common.h"

#include <pthread.h>

#include "backend/arrays.h"
#include "backend/cuda_impl.h"
#include "base/alloc.h"
#include "base/cancel.h"
#include "base/mem.h"
#if defined(ZK_CUDA_EMULATE)
#include "cuda/emulate_faults.h"
#else
static unsigned zk_emulate_used(void) { return 0; } /* not known */
#endif

static const char circuit_name[] = "bits-64";
static toy circuit;
static zk_blinding blinding;
static uint8_t expected[ZK_PROOF_BYTES];

static void open_circuit(void) {
    if (circuit.program) return;
    circuit = toy_open(circuit_name);
    const zk_json_value *entry = zk_json_element_of(zk_json_member_of(zk_json_root(circuit.json), "proofs"), 0);
    json_proof(&blinding, expected, entry);
}

typedef struct device_run {
    int ordinal;
    size_t budget;
    bool prepared;
    zk_backend *backend;
    zk_resident_program *program;
    zk_proving_key *key;
    zk_prover *prover[2];
    zk_prove_request request;
    uint8_t proof[ZK_PROOF_BYTES];
    cuzk_status status;
    cuzk_err err;
} device_run;

static cuzk_status run_open(device_run *r, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_toxic_waste toxic = fixed_toxic();
    ZK_GOTO(zk_backend_open_cuda(&r->backend, r->ordinal, r->budget, test_pool, err));
    ZK_GOTO(zk_resident_program_load(&r->program, r->backend, circuit.circuit.program, err));
    if (r->prepared)
        ZK_GOTO(zk_proving_key_generate_prepared(&r->key, r->program, &toxic, test_pool, NULL, err));
    else
        ZK_GOTO(zk_proving_key_load(&r->key, r->program, toy_path(circuit_name, ".params"), test_pool, NULL, err));
    ZK_GOTO(zk_prover_create(&r->prover[0], r->key, test_pool, err));
out:
    return status;
}

static void run_close(device_run *r) {
    for (int k = 1; k >= 0; k--) zk_prover_destroy(r->prover[k]);
    zk_proving_key_destroy(r->key);
    zk_resident_program_unload(r->program);
    zk_backend_close(r->backend);
    ZK_CHECK(zk_cuda_bytes_kept() == 0);
}

/* The second device, if there is one. */
static int other_device(void) {
    cuzk_err err = {0};
    int n;
    ZK_CHECK_OK(zk_backend_cuda_count(&n, &err), err);
    return n > 1;
}

/* ---- threads ---- */

typedef struct step {
    device_run *run;
    int lane, number; /* of the thing to be done */
} step;

/* 0: the backend, 1: the program, 2: the key, 3: the first prover, 4: the second, 5: a wait; from 10 on: a stage. */
static void *do_step(void *ctx) {
    const step *s = ctx;
    device_run *r = s->run;
    cuzk_err *err = &r->err;
    zk_toxic_waste toxic = fixed_toxic();
    if (s->number == 0) {
        r->status = zk_backend_open_cuda(&r->backend, r->ordinal, r->budget, test_pool, err);
    } else if (s->number == 1) {
        r->status = zk_resident_program_load(&r->program, r->backend, circuit.circuit.program, err);
    } else if (s->number == 2) {
        r->status = r->prepared ? zk_proving_key_generate_prepared(&r->key, r->program, &toxic, test_pool, NULL, err)
                                : zk_proving_key_load(&r->key, r->program, toy_path(circuit_name, ".params"), test_pool,
                                                      NULL, err);
    } else if (s->number == 3) {
        r->status = zk_prover_create(&r->prover[0], r->key, test_pool, err);
    } else if (s->number == 4) {
        r->status = zk_prover_create_beside(&r->prover[1], r->key, test_pool, err);
    } else if (s->number == 5) {
        r->status = zk_backend_wait(r->backend, NULL, err);
    } else {
        zk_prove_stage_id stage = (zk_prove_stage_id)(s->number - 10);
        if (stage == 0) zk_prove_begin(r->prover[s->lane], &r->request);
        r->status = zk_prove_stage(r->prover[s->lane], stage, NULL, err);
    }
    return NULL;
}
static void *close_in_thread(void *ctx) {
    run_close(((const step *)ctx)->run);
    return NULL;
}

static void in_a_thread(void *(*body)(void *), device_run *r, int lane, int number) {
    pthread_t thread;
    step s = {r, lane, number};
    ZK_CHECK(pthread_create(&thread, NULL, body, &s) == 0);
    pthread_join(thread, NULL);
    ZK_CHECKF(r->status == CUZK_OK, "step %d: %s", number, r->err.message);
    ZK_CHECKF((zk_emulate_used() & ~(1u << r->ordinal)) == 0, "step %d: another device was used", number);
}

/* The second device: every step of a run by a new thread; the first is never touched. All on the device, with a
 * prepared key, and with the key in host memory, where there is no room for a second lane. */
static void test_other_device(void) {
    open_circuit();
#if defined(ZK_CUDA_EMULATE)
    const int n_ways = 3;
#else
    const int n_ways = 2;                           /* workspaces are larger */
#endif
    for (int i = 0; i < n_ways; i++) {
        device_run r = {.ordinal = other_device(), .budget = i == 2 ? 2460000 : (size_t)64 << 20, .prepared = i == 1};
        r.request = toy_request(&circuit, &blinding);
        (void)zk_emulate_used();
        for (int number = 0; number < 6; number++)
            if (number != 4 || i < 2) in_a_thread(do_step, &r, 0, number);
        ZK_CHECK((((const cuda_points *)r.key->h)->host != NULL) == (i == 2));
        for (int lane = 0; lane < 2 && r.prover[lane]; lane++) {
            for (int stage = 0; stage < ZK_PROVE_N_STAGES; stage++) in_a_thread(do_step, &r, lane, 10 + stage);
            ZK_CHECK_MEM(zk_prove_result(r.prover[lane]), expected, sizeof expected);
        }
        in_a_thread(close_in_thread, &r, 0, 100);
    }
}

/* The checks and arrays of points, each from a thread that has done nothing before. */
typedef struct points_run {
    zk_backend *backend;
    zk_params *params;
    cuzk_status status;
    cuzk_err err;
    uint8_t encoded[64 * 96];
} points_run;

static void *check_in_thread(void *ctx) {
    points_run *r = ctx;
    r->status = zk_params_check_on(r->params, r->backend, test_pool, NULL, NULL, &r->err);
    return NULL;
}

static void *array_in_thread(void *ctx) {
    points_run *r = ctx;
    zk_buffer *points = NULL;
    size_t bad;
    const uint8_t *h = r->params->bytes + r->params->section[ZK_PARAMS_H].offset;
    cuzk_err *err = &r->err;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(zk_buffer_create(&points, r->backend, "points", 64 * sizeof(zk_g1_affine), err));
    ZK_GOTO(zk_array_decode(NULL, points, 0, h, 64, &bad, err));
    ZK_CHECK(bad == 64);
    ZK_GOTO(zk_array_encode(NULL, r->encoded, points, 0, 64, err));
    ZK_CHECK_MEM(r->encoded, h, sizeof r->encoded);
    ZK_GOTO(zk_array_transform(NULL, points, 6, &zk_fr_one, &zk_fr_one, NULL, NULL, err));
out:
    zk_buffer_destroy(points);
    r->status = status;
    return NULL;
}

static void test_other_device_points(void) {
    points_run r = {0};
    void *(*const bodies[])(void *) = {check_in_thread, array_in_thread};
    open_circuit();
    (void)zk_emulate_used();
    ZK_CHECK_OK(zk_params_open(&r.params, toy_path(circuit_name, ".params"), NULL, &r.err), r.err);
    ZK_CHECK_OK(zk_backend_open_cuda(&r.backend, other_device(), (size_t)64 << 20, test_pool, &r.err), r.err);
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        pthread_t thread;
        ZK_CHECK(pthread_create(&thread, NULL, bodies[i], &r) == 0);
        pthread_join(thread, NULL);
        ZK_CHECK_OK(r.status, r.err);
    }
    zk_backend_close(r.backend);
    zk_params_close(r.params);
    ZK_CHECK((zk_emulate_used() & 1) == 0);
}

/* A thread for each device, all at once: the same bytes. */
static void *prove_alone(void *ctx) {
    device_run *r = ctx;
    r->status = run_open(r, &r->err);
    for (int i = 0; i < 5 && r->status == CUZK_OK; i++) {
        memset(r->proof, 0, sizeof r->proof);
        r->status = zk_prove(r->proof, r->prover[0], &r->request, NULL, &r->err);
        if (r->status == CUZK_OK && memcmp(r->proof, expected, sizeof expected) != 0)
            r->status = ZK_FAIL(&r->err, CUZK_INTERNAL, "proof %d is another one", i);
    }
    return NULL;
}

static void test_at_once(void) {
    enum { MOST = 8 };
    device_run r[MOST];
    pthread_t thread[MOST];
    cuzk_err err = {0};
    int n;
    open_circuit();
    ZK_CHECK_OK(zk_backend_cuda_count(&n, &err), err);
    if (n > MOST) n = MOST;
    for (int i = 0; i < n; i++) {
        r[i] = (device_run){.ordinal = i, .budget = (size_t)64 << 20, .request = toy_request(&circuit, &blinding)};
        ZK_CHECK(pthread_create(&thread[i], NULL, prove_alone, &r[i]) == 0);
    }
    for (int i = 0; i < n; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < n; i++) ZK_CHECKF(r[i].status == CUZK_OK, "device %d: %s", i, r[i].err.message);
    for (int i = 0; i < n; i++) run_close(&r[i]);
    printf("   %d devices\n", n);
}

#if defined(ZK_CUDA_EMULATE)

static void test_no_code(void) {
    zk_backend *backend;
    cuzk_err err = {0};
    int n;
    open_circuit();
    setenv("ZK_EMULATE_NO_CODE", "1", 1);
    ZK_CHECK_OK(zk_backend_cuda_count(&n, &err), err);
    ZK_CHECK(n == 2 && zk_backend_open_cuda(&backend, 1, 0, test_pool, &err) == CUZK_UNSUPPORTED && !backend);
    ZK_CHECKF(strstr(err.message, "device 1 (emulated device) has compute capability 6.0") &&
                  strstr(err.message, "9.0"),
              "%s", err.message);
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_backend_open_cuda(&backend, 0, 0, test_pool, &err), err);
    zk_backend_close(backend);
    setenv("ZK_EMULATE_NO_CODE", "01", 1);
    ZK_CHECK(zk_backend_cuda_count(&n, &err) == CUZK_UNSUPPORTED && n == 2);
    ZK_CHECKF(strstr(err.message, "compute capability 6.0"), "%s", err.message);
    unsetenv("ZK_EMULATE_NO_CODE");
}

/* ---- what C++ throws ---- */

/* Pieces of host memory in turn, with something that is no std::exception: an error comes back. */
static void test_thrown(void) {
    uint64_t memory = zk_mem_current_bytes();
    unsigned n_strange = 0;
    bool happened = true;
    open_circuit();
    memory = zk_mem_current_bytes();
    for (uint64_t n = 1; happened; n += n < 100 ? 1 : 7) {
        device_run r = {.budget = (size_t)64 << 20};
        cuzk_err err = {0};
        r.request = toy_request(&circuit, &blinding);
        zk_emulate_throw(true);
        zk_alloc_fail_nth(n);
        cuzk_status status = run_open(&r, &err);
        if (status == CUZK_OK) status = zk_prove(r.proof, r.prover[0], &r.request, NULL, &err);
        happened = zk_alloc_failed();
        zk_alloc_fail_nth(0);
        zk_emulate_throw(false);
        ZK_CHECKF(status == CUZK_OK || status == CUZK_OUT_OF_MEMORY || status == CUZK_INTERNAL, "%llu: %s",
                  (unsigned long long)n, err.message);
        n_strange += status == CUZK_INTERNAL;
        ZK_CHECK(status != CUZK_INTERNAL || strstr(err.message, "thrown"));
        run_close(&r);
        ZK_CHECK(zk_mem_current_bytes() == memory);
    }
    printf("   %u times\n", n_strange);
    ZK_CHECK(n_strange > 30);
}

#define EMULATED ZK_CASE(test_no_code), ZK_CASE(test_thrown)
#else
#define EMULATED
#endif

/* ---- a prepared key and a bad witness ---- */

/* While each buffer, or each piece of host memory after "rows c", is refused: the row, or what was short of memory, but
 * never that after the proof was found not to hold. */
static void test_bad_witness(void) {
    device_run r = {.budget = (size_t)64 << 20, .prepared = true};
    cuzk_err err = {0};
    char row[sizeof err.message];
    uint64_t last = 0;
    bool happened = true;
    open_circuit();
    ZK_CHECK_OK(run_open(&r, &err), err);
    circuit.circuit.hints[circuit.circuit.n_hints - 1][0] ^= 1;
    r.request = toy_request(&circuit, &blinding);
    r.request.publics = NULL;
    ZK_CHECK(zk_prove(r.proof, r.prover[0], &r.request, NULL, &err) == CUZK_BAD_WITNESS);
    ZK_CHECKF(strstr(err.message, "is not satisfied (row "), "%s", err.message);
    strcpy(row, err.message);
    for (uint64_t n = 1; happened; n++) {
        zk_err_reset(&err);
        zk_cuda_alloc_fail_nth(n);
        cuzk_status status = zk_prove(r.proof, r.prover[0], &r.request, NULL, &err);
        happened = zk_cuda_alloc_failed();
        zk_cuda_alloc_fail_nth(0);
        if (happened && status == CUZK_BAD_WITNESS) last = n;
        ZK_CHECKF(status == CUZK_BAD_WITNESS ? strcmp(err.message, row) == 0
                                             : status == CUZK_OUT_OF_MEMORY && !strstr(err.message, "verify"),
                  "buffer %llu: %s", (unsigned long long)n, err.message);
    }
    ZK_CHECK(last > 0);
    unsigned n_short = 0;
    happened = true;
    for (uint64_t n = 1; happened; n++) {
        zk_err_reset(&err);
        zk_cuda_alloc_fail_nth(last);
        zk_alloc_fail_nth(n);
        cuzk_status status = zk_prove(r.proof, r.prover[0], &r.request, NULL, &err);
        happened = zk_alloc_failed();
        zk_cuda_alloc_fail_nth(0);
        zk_alloc_fail_nth(0);
        bool short_of_memory = strstr(err.message, "no memory to look for the row") != NULL;
        n_short += short_of_memory;
        ZK_CHECKF(status == CUZK_BAD_WITNESS ? short_of_memory || strcmp(err.message, row) == 0
                                             : status == CUZK_OUT_OF_MEMORY,
                  "host memory %llu: %s", (unsigned long long)n, err.message);
    }
    printf("   buffer %llu, %u times no memory at all\n", (unsigned long long)last, n_short);
    ZK_CHECK(n_short >= 3);
    circuit.circuit.hints[circuit.circuit.n_hints - 1][0] ^= 1;
    r.request = toy_request(&circuit, &blinding);
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_prove(r.proof, r.prover[0], &r.request, NULL, &err), err);
    ZK_CHECK_MEM(r.proof, expected, sizeof expected);
    run_close(&r);
}

/* ---- asked to stop ---- */

typedef struct scalars_log {
    unsigned calls, cancel_at;
} scalars_log;

static void ones(void *ctx, zk_fr *out, size_t first, size_t n) {
    scalars_log *log = ctx;
    (void)first;
    for (size_t i = 0; i < n; i++) out[i] = zk_fr_one;
    if (++log->calls == log->cancel_at) zk_cancel_request(NULL);
}

/* Within a section of a key: after the slice under way. */
static void test_cancelled(void) {
#if defined(ZK_CUDA_EMULATE)
    enum { N = 20000 };
#else
    enum { N = 12 << 20 };                          /* slices are larger */
#endif
    zk_multiples *multiples;
    cuzk_err err = {0};
    open_circuit();
    zk_fr *s = malloc(N * sizeof *s);
    uint8_t *encoded = calloc(N, ZK_G1_UNCOMPRESSED_BYTES);
    ZK_CHECK_OK(zk_multiples_create(&multiples, test_backend, ZK_G1, N, &err), err);
    for (unsigned cancel = 0; cancel < 3; cancel++) {
        zk_resident_points *points = NULL;
        zk_points_fault fault;
        scalars_log log = {.cancel_at = cancel ? cancel + 1 : 0};
        const zk_points_source source = {
            .name = "ones", .group = ZK_G1, .n = N, .multiples = multiples, .scalars = ones, .scalars_ctx = &log};
        cuzk_status status = zk_resident_points_load(&points, NULL, &fault, test_backend, &source, &err);
        zk_cancel_clear(NULL);
        if (!cancel) ZK_CHECKF(log.calls > 4, "%u slices", log.calls);
        ZK_CHECK(status == (cancel ? CUZK_CANCELLED : CUZK_OK) && (!cancel || log.calls == cancel + 1));
        zk_err_reset(&err);
        zk_resident_points_unload(points);
    }
    scalars_log none = {0};
    ones(&none, s, 0, N);
    zk_cancel_request(NULL);
    ZK_CHECK(zk_multiples_encode(multiples, encoded, s, N, &err) == CUZK_CANCELLED);
    zk_err_reset(&err);
    zk_cancel_clear(NULL);
    ZK_CHECK_OK(zk_multiples_encode(multiples, encoded, s, N, &err), err);
    zk_cancel_request(NULL);
    zk_resident_points *points = NULL;
    zk_points_fault fault;
    const zk_points_source source = {.name = "ones", .group = ZK_G1, .n = N, .encoded = encoded};
    ZK_CHECK(zk_resident_points_load(&points, NULL, &fault, test_backend, &source, &err) == CUZK_CANCELLED && !points);
    zk_cancel_clear(NULL);
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_resident_points_load(&points, NULL, &fault, test_backend, &source, &err), err);
    zk_resident_points_unload(points);
    zk_multiples_destroy(multiples);
    free(encoded);
    free(s);
}

ZK_TEST_MAIN(ZK_CASE(test_other_device), ZK_CASE(test_other_device_points), ZK_CASE(test_at_once),
             ZK_CASE(test_bad_witness), ZK_CASE(test_cancelled), EMULATED)
