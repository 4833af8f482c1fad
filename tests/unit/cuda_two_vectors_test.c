/* Proofs with a plain key where a, b and c do not fit the emulated device at once: c is evaluated in the place of b.
 * The CPU's bytes, for budgets around both limits, with memory that is overwritten, with failures, for several provers
 * together. MSMs are given few buckets, so that vectors are what takes memory. */
#include "cuda_run.h"
#include "base/alloc.h"
#include "base/cancel.h"
#include "base/mem.h"
#include "cuda/emulate_faults.h"
#include "program/builder.h"

#ifndef FULL
#define FULL 0
#endif
#define LOG2_N (FULL ? 13 : 12) /* the least with which three vectors are more than one and the workspace of an MSM */
#define ROWS_OF_INSTANCE 100

/* ---- a circuit ---- */

typedef struct row_param {
    uint32_t n_rows;
} row_param;

enum { N_BITS = 8, N_PRODUCTS = 5 };

static void add(zk_recorder *rec, zk_lc *lc, zk_lit lit, int64_t coef) {
    zk_fr value;
    zk_fr_from_i64(&value, coef);
    zk_lc_add(rec, lc, lit, &value);
}

/* y = x^2 of two hints, bits of x, products, of which each is a row many times over, scaled. Few rows: the first. */
static void record_rows(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out, size_t n_out) {
    uint32_t hint = zk_rec_hint(rec), n_rows = ((const row_param *)param)->n_rows, n_products = 0;
    zk_lit bit[N_BITS], wide = zk_rec_wides(rec, 2), w[N_PRODUCTS + 1];
    zk_rec_op(rec, (zk_op){.code = ZK_OP_HINT, .n = 1, .dst = zk_lit_var(wide), .a = hint});
    zk_rec_op(rec, (zk_op){.code = ZK_OP_HINT, .n = 1, .dst = zk_lit_var(wide + 2), .a = zk_rec_hint(rec)});
    add(rec, zk_rec_a(rec), wide, 1);
    add(rec, zk_rec_b(rec), wide, 1);
    add(rec, zk_rec_c(rec), wide + 2, 1);
    zk_rec_row(rec);
    for (uint32_t i = 0; i < N_BITS && 1 + i < n_rows; i++) {
        bit[i] = zk_rec_bits(rec, 1);
        zk_rec_op(rec, (zk_op){.code = ZK_OP_HINT_BIT, .n = 1, .dst = zk_lit_var(bit[i]), .a = hint, .b = i});
        add(rec, zk_rec_a(rec), bit[i], 1);
        add(rec, zk_rec_b(rec), ZK_LIT_TRUE, 1);
        add(rec, zk_rec_b(rec), bit[i], -1);
        zk_rec_row(rec);
    }
    w[0] = n_in ? in[0] : wide;
    for (uint32_t r = 0; 1 + N_BITS + r < n_rows; r++) {
        uint32_t k = r % N_PRODUCTS;
        bool first = r < N_PRODUCTS;
        int64_t factor = first ? 1 : r;
        if (first) w[++n_products] = zk_rec_wides(rec, 1);
        add(rec, zk_rec_a(rec), w[k], factor);
        add(rec, zk_rec_a(rec), bit[k], -3 * factor);
        add(rec, zk_rec_b(rec), w[k], 1);
        add(rec, zk_rec_b(rec), bit[k + 1], 2);
        add(rec, zk_rec_b(rec), ZK_LIT_TRUE, 7);
        if (first)
            zk_rec_op(rec, (zk_op){.code = ZK_OP_MULADD,
                                   .n = 1,
                                   .dst = zk_lit_var(w[k + 1]),
                                   .a = zk_rec_lc(rec, zk_rec_a(rec)),
                                   .b = zk_rec_lc(rec, zk_rec_b(rec)),
                                   .c = ZK_NO_LC});
        add(rec, zk_rec_c(rec), w[k + 1], factor);
        zk_rec_row(rec);
    }
    if (n_out) out[0] = n_products ? w[n_products] : wide + 2;
}
static const zk_gadget gadget_rows = {"rows", record_rows};

static zk_program *make_program(uint32_t n_rows) {
    cuzk_err err = {0};
    zk_builder *builder;
    zk_program *program;
    zk_cell cell;
    size_t n_cells = 0;
    ZK_CHECK_OK(zk_builder_create(&builder, "many rows", &err), err);
    while (n_rows) { /* the last has fewest */
        row_param p = {n_rows < 2 * ROWS_OF_INSTANCE ? n_rows : ROWS_OF_INSTANCE};
        zk_builder_call(builder, &gadget_rows, &p, sizeof p, &cell, n_cells, &cell, 1);
        n_cells = 1;
        n_rows -= p.n_rows;
    }
    ZK_CHECK_OK(zk_builder_finish(&program, builder, &err), err);
    zk_builder_destroy(builder);
    return program;
}

/* x, x^2 of each instance. */
static uint8_t (*make_hints(const zk_program *program))[32] {
    uint8_t(*hints)[32] = calloc(program->n_hints, 32);
    for (uint32_t i = 0; i + 1 < program->n_hints; i += 2) {
        char text[32];
        zk_fr x;
        snprintf(text, sizeof text, "hint %u", i);
        seed_fr(&x, text);
        zk_fr_to_bytes_le(hints[i], &x);
        zk_fr_sqr(&x, &x);
        zk_fr_to_bytes_le(hints[i + 1], &x);
    }
    return hints;
}

/* ---- what is proved, and the CPU's proof ---- */

enum { N_PROOFS = 3 };
static zk_program *program;
static uint8_t (*hints)[32];
static zk_blinding blinding[N_PROOFS];
static uint8_t expected[N_PROOFS][ZK_PROOF_BYTES];
static char params[512];

static zk_prove_request request_of(unsigned k) {
    return (zk_prove_request){
        .hints = (const uint8_t(*)[32])hints, .n_hints = program->n_hints, .blinding = &blinding[k]};
}

static void open_circuit(void) {
    cuzk_err err = {0};
    zk_backend *cpu;
    zk_resident_program *resident;
    zk_proving_key *key;
    zk_prover *prover;
    zk_setup_result result;
    zk_toxic_waste toxic = fixed_toxic();
    if (program) return;
    test_open();
    setenv("CUZK_POISON_DEVICE", "1", 1);
    program = make_program((5u << LOG2_N) / 8);
    hints = make_hints(program);
    snprintf(params, sizeof params, "%s", temp_path("rows", ".params"));
    zk_setup_options options = {.toxic = &toxic, .params_path = params, .pool = test_pool};
    ZK_CHECK_OK(zk_setup(&result, program, &options, &err), err);
    ZK_CHECK_OK(zk_backend_open_cpu(&cpu, test_pool, &err), err);
    ZK_CHECK_OK(zk_resident_program_load(&resident, cpu, program, &err), err);
    ZK_CHECK(resident->log2_n == LOG2_N);
    ZK_CHECK_OK(zk_proving_key_load(&key, resident, params, test_pool, NULL, &err), err);
    ZK_CHECK(key->n_vectors == 3);
    ZK_CHECK_OK(zk_prover_create(&prover, key, test_pool, &err), err);
    for (unsigned k = 0; k < N_PROOFS; k++) {
        seed_fr(&blinding[k].r, k ? k > 1 ? "r2" : "r1" : "r0");
        seed_fr(&blinding[k].s, k ? k > 1 ? "s2" : "s1" : "s0");
        zk_prove_request request = request_of(k);
        ZK_CHECK_OK(zk_prove(expected[k], prover, &request, NULL, &err), err);
    }
    zk_prover_destroy(prover);
    zk_proving_key_destroy(key);
    zk_resident_program_unload(resident);
    zk_backend_close(cpu);
}

/* Vectors that the plan of a prover has; all its other lines are left out. */
static unsigned vectors_planned(const zk_resident_program *resident, uint64_t *planned) {
    zk_memory_plan plan = {0};
    zk_query_masks masks;
    cuzk_err err = {0};
    unsigned n = 0;
    ZK_CHECK_OK(zk_query_masks_compute(&masks, resident->program, test_pool, &err), err);
    zk_prover_plan(resident, &masks, &plan);
    for (unsigned i = 0; i < plan.n_rows; i++)
        if (strncmp(plan.row[i].name, "rows ", 5) == 0) {
            ZK_CHECK(plan.row[i].bytes == zk_domain_bytes(resident));
            n++;
        }
    if (planned) *planned = plan.bytes;
    zk_query_masks_clear(&masks);
    return n;
}

static cuzk_status run_open(cuda_run *r, size_t budget, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    *r = (cuda_run){0};
    ZK_GOTO(zk_backend_open_cuda(&r->backend, 0, budget, test_pool, err));
    zk_cuda_msm_tune(cuda_of(r->backend)->device, 52, 300, 1, 32);
    ZK_GOTO(zk_resident_program_load(&r->program, r->backend, program, err));
    ZK_GOTO(zk_proving_key_load(&r->key, r->program, params, test_pool, NULL, err));
    ZK_GOTO(zk_prover_create(&r->prover, r->key, test_pool, err));
out:
    return status;
}

static cuzk_status prove(uint8_t proof[ZK_PROOF_BYTES], const cuda_run *r, cuzk_err *err) {
    zk_prove_request request = request_of(0);
    memset(proof, 0, ZK_PROOF_BYTES);
    return zk_prove(proof, r->prover, &request, NULL, err);
}

static void check_proof(const cuda_run *r) {
    uint8_t proof[ZK_PROOF_BYTES];
    cuzk_err err = {0};
    ZK_CHECK_OK(prove(proof, r, &err), err);
    ZK_CHECK_MEM(proof, expected[0], sizeof proof);
}

/* The least budget in which everything opens, with that many vectors. */
static size_t least_budget(unsigned n_vectors) {
    static size_t known[4];
    size_t low = 0, high = (size_t)16 << 20;
    open_circuit();
    if (known[n_vectors]) return known[n_vectors];
    while (high - low > 512) {
        size_t middle = (low + high) / 1024 * 512;
        cuda_run r;
        cuzk_err err = {0};
        cuzk_status status = run_open(&r, middle ? middle : 512, &err);
        ZK_CHECKF(status == CUZK_OK || status == CUZK_OUT_OF_MEMORY, "%zu bytes: %s", middle, err.message);
        *(status == CUZK_OK && r.key->n_vectors >= n_vectors ? &high : &low) = middle;
        run_close(&r);
    }
    return known[n_vectors] = high;
}

/* ---- tests ---- */

/* Domains of 2^1 to 2^12: h from two vectors and from three, on the device, and the CPU's. */
static void test_quotient(void) {
    test_open();
    setenv("CUZK_POISON_DEVICE", "1", 1);
    for (unsigned k = 1; k <= 12; k++)
        for (unsigned fill = 0; fill < 2; fill++) { /* all of the domain, and little of it */
            zk_program *p = make_program(fill ? (1u << k) / 2 : (1u << k) - 1);
            uint8_t(*of)[32] = make_hints(p);
            size_t n = (size_t)1 << k;
            zk_fr *h[3];
            cuzk_err err = {0};
            for (unsigned way = 0; way < 3; way++) {
                zk_backend *backend;
                zk_resident_program *r;
                zk_buffer *bits, *full, *v[3];
                h[way] = calloc(n, sizeof(zk_fr));
                ZK_CHECK_OK(way ? zk_backend_open_cuda(&backend, 0, 8 << 20, test_pool, &err)
                                : zk_backend_open_cpu(&backend, test_pool, &err),
                            err);
                ZK_CHECK_OK(zk_resident_program_load(&r, backend, p, &err), err);
                ZK_CHECKF(r->log2_n == k, "2^%u: %u", k, r->log2_n);
                ZK_CHECK_OK(zk_buffer_create(&bits, backend, "bits", zk_witness_bits_bytes(p), &err), err);
                ZK_CHECK_OK(zk_buffer_create(&full, backend, "full", zk_witness_full_bytes(p), &err), err);
                for (int m = 0; m < 3; m++)
                    ZK_CHECK_OK(zk_buffer_create(&v[m], backend, "rows", zk_domain_bytes(r), &err), err);
                ZK_CHECK_OK(zk_stage_witness(NULL, r, (const uint8_t(*)[32])of, bits, full, &err), err);
                ZK_CHECK_OK(zk_stage_evaluate(NULL, r, bits, full, v[0], v[1], way == 2 ? NULL : v[2], &err), err);
                if (way == 2)
                    ZK_CHECK_OK(zk_stage_quotient_in_two(NULL, r, bits, full, v[0], v[1], &err), err);
                else
                    ZK_CHECK_OK(zk_stage_quotient(NULL, r, v[0], v[1], v[2], &err), err);
                ZK_CHECK_OK(zk_buffer_download(NULL, h[way], v[0], 0, n * sizeof(zk_fr), &err), err);
                if (!way) {
                    ZK_CHECK(zk_stage_quotient_in_two(NULL, r, bits, full, v[0], v[1], &err) == CUZK_UNSUPPORTED);
                    zk_err_reset(&err);
                }
                if (way == 2) { /* nothing of what was discarded is read */
                    zk_buffer_discard(bits);
                    ZK_CHECK(zk_stage_quotient_in_two(NULL, r, bits, full, v[0], v[1], &err) == CUZK_INTERNAL);
                    zk_err_reset(&err);
                }
                zk_buffer *const all[] = {bits, full, v[0], v[1], v[2]};
                for (int i = 0; i < 5; i++) zk_buffer_destroy(all[i]);
                zk_resident_program_unload(r);
                zk_backend_close(backend);
            }
            ZK_CHECKF(zk_fr_is_zero(&h[0][n - 1]), "2^%u", k);
            for (unsigned way = 1; way < 3; way++)
                ZK_CHECKF(memcmp(h[0], h[way], n * sizeof(zk_fr)) == 0, "2^%u, way %u", k, way);
            for (unsigned way = 0; way < 3; way++) free(h[way]);
            zk_program_destroy(p);
            free(of);
        }
}

/* What the plan says when nothing is loaded. */
static unsigned vectors_before(size_t budget) {
    zk_backend *backend;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_backend_open_cuda(&backend, 0, budget, test_pool, &err), err);
    zk_cuda_msm_tune(cuda_of(backend)->device, 52, 300, 1, 32);
    const zk_resident_program probe = {.backend = backend, .program = program, .log2_n = LOG2_N};
    unsigned n_vectors = vectors_planned(&probe, NULL);
    zk_backend_close(backend);
    return n_vectors;
}

/* Around the limits: refused with the number, two vectors, three. The plan says so before and after the load. */
static void test_limits(void) {
    const size_t two = least_budget(2), three = least_budget(3);
    const struct {
        size_t budget;
        unsigned n_vectors;
    } at[] = {{two, 2},          {two + 512, 2},   {(two + three) / 1024 * 512, 2},
              {three - 4096, 2}, {three - 512, 2}, {three, 3},
              {three + 4096, 3}, {16 << 20, 3}};
    cuda_run r;
    cuzk_err err = {0};
    char number[64];
    uint64_t planned[4] = {0};
    ZK_CHECK(run_open(&r, two - 512, &err) == CUZK_OUT_OF_MEMORY && !r.key);
    run_close(&r);
    snprintf(number, sizeof number, "for 2 vectors of 2^%d ", LOG2_N);
    ZK_CHECKF(strstr(err.message, "a proof takes") && strstr(err.message, number), "%s", err.message);
    snprintf(number, sizeof number, "of %zu", two - 512);
    ZK_CHECKF(strstr(err.message, number), "%s", err.message);
    zk_err_reset(&err);
    printf("   two vectors from %zu, three from %zu\n", two, three);
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        /* before the load tables are estimated, to a page or two each */
        bool close = at[i].budget + 4096 > three && at[i].budget < three + 4096;
        ZK_CHECKF(close || vectors_before(at[i].budget) == at[i].n_vectors, "budget %zu", at[i].budget);
        ZK_CHECK_OK(run_open(&r, at[i].budget, &err), err);
        ZK_CHECKF(r.key->n_vectors == at[i].n_vectors, "budget %zu: %u vectors", at[i].budget, r.key->n_vectors);
        ZK_CHECK(vectors_planned(r.program, &planned[at[i].n_vectors]) == at[i].n_vectors);
        for (int again = 0; again <= FULL; again++) check_proof(&r);
        ZK_CHECK(zk_cuda_bytes_peak(cuda_of(r.backend)->device) <= at[i].budget);
        if (i == 0) /* the one that is least is used up, all but what alignment takes */
            ZK_CHECK(zk_cuda_bytes_peak(cuda_of(r.backend)->device) + 1024 > two);
        run_close(&r);
    }
    ZK_CHECK(planned[2] + (sizeof(zk_fr) << LOG2_N) >= planned[3] && planned[2] < planned[3]);
}

/* A prepared key has two vectors anyway, with which it works as before. */
static void test_prepared(void) {
    zk_toxic_waste toxic = fixed_toxic();
    cuda_run r = {0};
    cuzk_err err = {0};
    open_circuit();
    ZK_CHECK_OK(zk_backend_open_cuda(&r.backend, 0, 16 << 20, test_pool, &err), err);
    ZK_CHECK_OK(zk_resident_program_load(&r.program, r.backend, program, &err), err);
    ZK_CHECK_OK(zk_proving_key_generate_prepared(&r.key, r.program, &toxic, test_pool, NULL, &err), err);
    ZK_CHECK(r.key->n_vectors == 2);
    ZK_CHECK_OK(zk_prover_create(&r.prover, r.key, test_pool, &err), err);
    check_proof(&r);
    run_close(&r);
}

/* The row is named, whatever memory there is for the search, and the next proof is right. */
static void test_bad_witness(void) {
    cuda_run r;
    cuzk_err err = {0};
    uint8_t proof[ZK_PROOF_BYTES];
    char row[64];
    open_circuit();
    uint32_t i = program->n_hints / 4 * 2;
    snprintf(row, sizeof row, "row 0 of instance %u, rows", i / 2);
    const size_t budgets[] = {least_budget(2), least_budget(3) - 512, least_budget(3)};
    for (unsigned k = 0; k < (FULL ? 3 : 1); k++) {
        ZK_CHECK_OK(run_open(&r, budgets[k], &err), err);
        hints[i + 1][0] ^= 1;
        ZK_CHECK(prove(proof, &r, &err) == CUZK_BAD_WITNESS);
        hints[i + 1][0] ^= 1;
        ZK_CHECKF(strstr(err.message, "is not satisfied") && strstr(err.message, row), "%s", err.message);
        zk_err_reset(&err);
        check_proof(&r);
        run_close(&r);
    }
}

/* Asked to stop before each stage: the prover goes on with the next proof. */
static void test_cancel(void) {
    cuda_run r;
    cuzk_err err = {0};
    open_circuit();
    zk_prove_request request = request_of(0);
    ZK_CHECK_OK(run_open(&r, least_budget(2), &err), err);
    for (int at = ZK_PROVE_SYNTHESIZE; at <= ZK_PROVE_MSM; at++) {
        zk_prove_begin(r.prover, &request);
        for (int stage = 0; stage < at; stage++)
            ZK_CHECK_OK(zk_prove_stage(r.prover, (zk_prove_stage_id)stage, NULL, &err), err);
        zk_cancel_request(NULL);
        ZK_CHECK(zk_prove_stage(r.prover, (zk_prove_stage_id)at, NULL, &err) == CUZK_CANCELLED);
        zk_cancel_clear(NULL);
        zk_err_reset(&err);
    }
    check_proof(&r);
    run_close(&r);
}

/* Several in the memory of one: each in its turn, sums over bits together. */
static void test_together(void) {
    cuda_run r;
    cuzk_err err = {0};
    zk_prover *provers[N_PROOFS] = {NULL};
    unsigned n = 0, failed;
    size_t budget = least_budget(2);
    for (; n < N_PROOFS; budget += 4096) {
        ZK_CHECK_OK(run_open(&r, budget, &err), err);
        provers[0] = r.prover;
        ZK_CHECK_OK(zk_prove_together_make(provers, &n, N_PROOFS, &err), err);
        if (n == N_PROOFS) break;
        for (unsigned k = 1; k < n; k++) zk_prover_destroy(provers[k]);
        run_close(&r);
    }
    ZK_CHECK(r.key->n_vectors == 2 && budget < least_budget(3));
    for (unsigned k = 0; k < N_PROOFS; k++) {
        zk_prove_request request = request_of(k);
        zk_prove_begin(provers[k], &request);
        for (int stage = ZK_PROVE_CHECK; stage < ZK_PROVE_MSM; stage++)
            ZK_CHECK_OK(zk_prove_stage(provers[k], (zk_prove_stage_id)stage, NULL, &err), err);
        ZK_CHECK_OK(zk_prove_full(provers[k], NULL, &err), err);
    }
    ZK_CHECK_OK(zk_prove_bits(provers, N_PROOFS, &failed, NULL, &err), err);
    for (unsigned k = 0; k < N_PROOFS; k++) {
        for (int stage = ZK_PROVE_ASSEMBLE; stage < ZK_PROVE_N_STAGES; stage++)
            ZK_CHECK_OK(zk_prove_stage(provers[k], (zk_prove_stage_id)stage, NULL, &err), err);
        ZK_CHECK_MEM(zk_prove_result(provers[k]), expected[k], ZK_PROOF_BYTES);
    }
    for (unsigned k = 1; k < N_PROOFS; k++) zk_prover_destroy(provers[k]);
    run_close(&r);
}

/* Allocations and calls of the stages synthesize and h fail in turn, every one in the long test; then the same prover
 * proves. */
static void test_faults(void) {
    static const cuzk_status says[] = {CUZK_OUT_OF_MEMORY, CUZK_DEVICE, CUZK_OUT_OF_MEMORY};
    cuda_run r;
    cuzk_err err = {0};
    open_circuit();
    zk_prove_request request = request_of(0);
    ZK_CHECK_OK(run_open(&r, least_budget(2), &err), err);
    check_proof(&r);
    for (int what = 0; what < 3; what++) { /* device memory, calls, host memory */
        unsigned n_failed = 0;
        bool happened = true;
        for (uint64_t n = 1; happened; n += FULL || n < 10 ? 1 : 7) {
            cuzk_status status = CUZK_OK;
            zk_prove_begin(r.prover, &request);
            if (what == 0) zk_cuda_alloc_fail_nth(n);
            if (what == 1) zk_emulate_fail_nth(n, ZK_FAULT_ONCE);
            if (what == 2) zk_alloc_fail_nth(n);
            for (int stage = ZK_PROVE_CHECK; stage <= ZK_PROVE_H && status == CUZK_OK; stage++)
                status = zk_prove_stage(r.prover, (zk_prove_stage_id)stage, NULL, &err);
            happened = what == 0 ? zk_cuda_alloc_failed() : what == 1 ? zk_emulate_failed() : zk_alloc_failed();
            zk_cuda_alloc_fail_nth(0);
            zk_emulate_fail_nth(0, ZK_FAULT_ONCE);
            zk_alloc_fail_nth(0);
            ZK_CHECKF(status == CUZK_OK || (happened && status == says[what] && err.message[0]), "%d, %llu: %s", what,
                      (unsigned long long)n, err.message);
            n_failed += status != CUZK_OK;
            zk_err_reset(&err);
            if (FULL && n % 64 == 0) check_proof(&r);
        }
        printf("   kind %d: %u failed\n", what, n_failed);
        ZK_CHECK(n_failed > 3);
        check_proof(&r);
    }
    run_close(&r);
}

static void test_end(void) { unlink(params); }

ZK_TEST_MAIN(ZK_CASE(test_quotient), ZK_CASE(test_limits), ZK_CASE(test_prepared), ZK_CASE(test_bad_witness),
             ZK_CASE(test_cancel), ZK_CASE(test_together), ZK_CASE(test_faults), ZK_CASE(test_end))
