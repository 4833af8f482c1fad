/* Proofs with little device memory, on a device, emulated or not: keys partly or wholly in host memory, a refusal
 * before any work where even that is not enough. */
#include "cuda_run.h"

typedef enum source { FROM_FILE, FROM_TOXIC, PREPARED } source;
static const char *const source_name[] = {"file", "toxic waste", "prepared"};

static cuzk_status run_open(cuda_run *r, const toy *t, const char *name, source from, size_t budget, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_toxic_waste toxic = fixed_toxic();
    *r = (cuda_run){0};
    ZK_GOTO(zk_backend_open_cuda(&r->backend, 0, budget, test_pool, err));
    ZK_GOTO(zk_resident_program_load(&r->program, r->backend, t->circuit.program, err));
    if (from == FROM_FILE)
        ZK_GOTO(zk_proving_key_load(&r->key, r->program, toy_path(name, ".params"), test_pool, NULL, err));
    else if (from == FROM_TOXIC)
        ZK_GOTO(zk_proving_key_generate(&r->key, r->program, &toxic, test_pool, NULL, err));
    else
        ZK_GOTO(zk_proving_key_generate_prepared(&r->key, r->program, &toxic, test_pool, NULL, err));
    ZK_GOTO(zk_prover_create(&r->prover, r->key, test_pool, err));
out:
    return status;
}

/* Bytes of the key's points on the device and in host memory. */
static void where(size_t *device, size_t *host, const zk_proving_key *key) {
    const zk_resident_points *const all[] = {key->h,       key->l[0],    key->l[1],    key->a[0],   key->a[1],
                                             key->b_g1[0], key->b_g1[1], key->b_g2[0], key->b_g2[1]};
    *device = *host = 0;
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        *(((const cuda_points *)all[i])->host ? host : device) += all[i]->n * cuda_point_bytes(all[i]->group);
}

static void check_proof(const cuda_run *r, const toy *t, size_t k) {
    const zk_json_value *entry = zk_json_element_of(zk_json_member_of(zk_json_root(t->json), "proofs"), k);
    uint8_t proof[ZK_PROOF_BYTES], expected[ZK_PROOF_BYTES];
    zk_blinding blinding;
    cuzk_err err = {0};
    json_proof(&blinding, expected, entry);
    zk_prove_request request = toy_request(t, &blinding);
    ZK_CHECK_OK(zk_prove(proof, r->prover, &request, NULL, &err), err);
    ZK_CHECK_MEM(proof, expected, sizeof proof);
}

/* The least budget with which everything opens, in steps of the pool. */
static size_t least_budget(const toy *t, const char *name, source from) {
    size_t low = 0, high = (size_t)64 << 20; /* low refuses, high opens */
    while (high - low > 512) {
        size_t middle = (low + high) / 2 / 512 * 512;
        cuda_run r;
        cuzk_err err = {0};
        cuzk_status status = run_open(&r, t, name, from, middle ? middle : 512, &err);
        run_close(&r);
        ZK_CHECKF(status == CUZK_OK || status == CUZK_OUT_OF_MEMORY, "%zu bytes: %s", middle, err.message);
        ZK_CHECK(status == CUZK_OK || strstr(err.message, "memory") || strstr(err.message, "pool"));
        *(status == CUZK_OK ? &high : &low) = middle;
    }
    return high;
}

static void budgets(const char *name, source from) {
    toy t = toy_open(name);
    cuda_run r;
    cuzk_err err = {0};
    size_t device, host, key, least = least_budget(&t, name, from);

    /* a page too little: before any point is read, with the numbers */
    ZK_CHECK(run_open(&r, &t, name, from, least - 512, &err) == CUZK_OUT_OF_MEMORY);
    ZK_CHECK(!r.key && !r.prover);
    run_close(&r);
    if (from == FROM_FILE) {
        char number[32];
        ZK_CHECKF(strstr(err.message, "a proof takes"), "%s", err.message);
        snprintf(number, sizeof number, "of %zu", least - 512);
        ZK_CHECKF(strstr(err.message, number), "%s", err.message);
    }
    zk_err_reset(&err);

    ZK_CHECK_OK(run_open(&r, &t, name, from, (size_t)64 << 20, &err), err);
    where(&key, &host, r.key);
    ZK_CHECK(host == 0 && key > 0);
    run_close(&r);

    printf("   %s from %s: key %zu, least budget %zu\n", name, source_name[from], key, least);
    size_t before = 0, partly = 0;
    size_t beside = from == FROM_FILE ? 0 : (size_t)16 << 20; /* tables of multiples, while keys are made */
    const size_t budget[] = {least,           least + 512, least + key / 4,
                             least + key / 2, least + key, least + 2 * key + beside};
    for (size_t i = 0; i < sizeof budget / sizeof budget[0]; i++) {
        ZK_CHECK_OK(run_open(&r, &t, name, from, budget[i], &err), err);
        where(&device, &host, r.key);
        ZK_CHECK(device + host == key);
        /* more memory holds more, all but what alignment takes */
        ZK_CHECKF(device + 1024 >= before, "budget %zu: %zu of the key on the device, %zu with less", budget[i], device,
                  before);
        partly += device > 0 && host > 0;
        before = device;
        for (size_t k = 0; k < 2; k++) check_proof(&r, &t, k);
        zk_cuda *pool = cuda_of(r.backend)->device;
        ZK_CHECK(zk_cuda_bytes_peak(pool) <= budget[i]);
        if (i == 0 &&
            from == FROM_FILE) /* tables of multiples leave room for a toy's key, on a real device for all of it */
            ZK_CHECKF(device <= key / 8, "%zu of %zu on the device", device, key);
        if (i == 0) printf("   peak %zu, %zu of the key on the device\n", zk_cuda_bytes_peak(pool), device);
        run_close(&r);
    }
    ZK_CHECK(before == key && (partly > 0 || from != FROM_FILE));
    toy_close(&t);
}

/* Several provers in about what is enough for one: sums over bits of all of them together, the same proofs. A prover
 * that fails before is left out. */
enum { N_TOGETHER = 4 };

static void prove_together(zk_prover *const provers[N_TOGETHER], const toy *t, int bad) {
    const zk_json_value *list = zk_json_member_of(zk_json_root(t->json), "proofs");
    zk_blinding blinding[N_TOGETHER];
    uint8_t expected[N_TOGETHER][ZK_PROOF_BYTES];
    zk_prover *good[N_TOGETHER];
    unsigned n_good = 0, index[N_TOGETHER], failed;
    cuzk_err err = {0};
    for (unsigned i = 0; i < N_TOGETHER; i++) {
        const zk_json_value *entry = zk_json_element_of(list, i);
        json_proof(&blinding[i], expected[i], entry);
        zk_prove_request request = toy_request(t, &blinding[i]);
        if ((int)i == bad) request.n_hints--;
        zk_prove_begin(provers[i], &request);
        cuzk_status status = CUZK_OK;
        for (int stage = ZK_PROVE_CHECK; stage < ZK_PROVE_MSM && status == CUZK_OK; stage++)
            status = zk_prove_stage(provers[i], (zk_prove_stage_id)stage, NULL, &err);
        if ((int)i == bad) {
            ZK_CHECK(status == CUZK_BAD_INPUT && zk_prove_full(provers[i], NULL, &err) == CUZK_INTERNAL);
            zk_err_reset(&err);
            continue;
        }
        ZK_CHECK_OK(status, err);
        ZK_CHECK_OK(zk_prove_full(provers[i], NULL, &err), err);
        index[n_good] = i;
        good[n_good++] = provers[i];
    }
    if (bad >= 0) {
        ZK_CHECK(zk_prove_bits(provers, N_TOGETHER, &failed, NULL, &err) == CUZK_INTERNAL);
        zk_err_reset(&err);
    }
    ZK_CHECK_OK(zk_prove_bits(good, n_good, &failed, NULL, &err), err);
    for (unsigned i = 0; i < n_good; i++) {
        ZK_CHECK_OK(zk_prove_stage(good[i], ZK_PROVE_ASSEMBLE, NULL, &err), err);
        ZK_CHECK_OK(zk_prove_stage(good[i], ZK_PROVE_VERIFY, NULL, &err), err);
        ZK_CHECK_MEM(zk_prove_result(good[i]), expected[index[i]], ZK_PROOF_BYTES);
    }
}

static void test_together(void) {
    toy t = toy_open("bits-64");
    size_t least = least_budget(&t, "bits-64", FROM_FILE), more = 0;
    for (bool done = false; !done; more += 4096) {
        cuda_run r;
        cuzk_err err = {0};
        zk_prover *provers[N_TOGETHER] = {NULL};
        unsigned n = 1;
        ZK_CHECK(more < 1 << 20);
        ZK_CHECK_OK(run_open(&r, &t, "bits-64", FROM_FILE, least + more, &err), err);
        ZK_CHECK(zk_proving_key_streams_bits(r.key) || more);
        provers[0] = r.prover;
        while (n < N_TOGETHER && zk_prover_create(&provers[n], r.key, test_pool, &err) == CUZK_OK) n++;
        zk_err_reset(&err);
        cuzk_status room = zk_prove_together_check(r.prover, n, &err);
        ZK_CHECK(room == CUZK_OK || room == CUZK_OUT_OF_MEMORY);
        done = n == N_TOGETHER && room == CUZK_OK;
        for (int bad = -1; bad < N_TOGETHER && done; bad += 2) prove_together(provers, &t, bad);
        for (unsigned i = 1; i < n; i++) zk_prover_destroy(provers[i]);
        run_close(&r);
    }
    ZK_CHECK(more > 0);
    toy_close(&t);
}

/* Circuits of two sizes take turns in what is just enough for the larger one and both keys. */
static void test_turns(void) {
    static const char *const names[2] = {"bits-64", "random-1018"};
    toy t[2] = {toy_open(names[0]), toy_open(names[1])};
    size_t low = least_budget(&t[1], names[1], FROM_FILE), high = low + ((size_t)4 << 20);
    for (size_t budget = low;; budget += 64 << 10) {
        cuda_run r[2] = {0};
        cuzk_err err = {0};
        cuzk_status status = run_open(&r[0], &t[0], names[0], FROM_FILE, budget, &err);
        ZK_CHECK_OK(status, err);
        r[1].backend = r[0].backend;
        status = zk_resident_program_load(&r[1].program, r[1].backend, t[1].circuit.program, &err);
        if (status == CUZK_OK)
            status = zk_proving_key_load(&r[1].key, r[1].program, toy_path(names[1], ".params"), test_pool, NULL, &err);
        if (status == CUZK_OK) status = zk_prover_create(&r[1].prover, r[1].key, test_pool, &err);
        ZK_CHECK(status == CUZK_OK || (status == CUZK_OUT_OF_MEMORY && budget < high));
        for (size_t k = 0; k < 4 && status == CUZK_OK; k++) check_proof(&r[k % 2], &t[k % 2], k);
        zk_prover_destroy(r[1].prover);
        zk_proving_key_destroy(r[1].key);
        zk_resident_program_unload(r[1].program);
        run_close(&r[0]);
        if (status != CUZK_OK) continue;
        ZK_CHECK(budget > low);
        break;
    }
    toy_close(&t[0]);
    toy_close(&t[1]);
}

static void test_bits(void) { budgets("bits-64", FROM_FILE); }
static void test_full(void) { budgets("random-1018", FROM_FILE); }
static void test_generated(void) { budgets("bits-64", FROM_TOXIC); }
static void test_prepared(void) { budgets("bits-64", PREPARED); }

ZK_TEST_MAIN(ZK_CASE(test_bits), ZK_CASE(test_full), ZK_CASE(test_generated), ZK_CASE(test_prepared),
             ZK_CASE(test_turns), ZK_CASE(test_together))
