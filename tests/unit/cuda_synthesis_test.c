/* Witness, evaluation, check of rows and compaction of the CUDA code against the CPU's, on circuits of proofs and on
 * random ones. Runs in the emulator (small circuits; FULL: more of them) and on a device. */
#include "cuda/cuda_kernels.h"
#include "filecoin/job.h"
#include "gadget_run.h"
#include "hash/poseidon.h"
#include "post_vectors.h"
#include "program/explicit.h"
#include "update_vectors.h"

#if defined(ZK_CUDA_EMULATE)
#define EMULATED 1
#define POOL_BYTES ((size_t)512 << 20)
#else
#define EMULATED 0
#define POOL_BYTES ((size_t)24 << 30)
#endif
#if !EMULATED
#define FULL 1
#endif

static zk_cuda *device;
static uint64_t rng = 1;

static uint32_t below(uint32_t n) { return (uint32_t)(zk_test_rand(&rng) % n); }

static zk_fr random_fr(void) {
    uint8_t bytes[64];
    zk_fr r;
    for (int k = 0; k < 8; k++) {
        uint64_t v = zk_test_rand(&rng);
        memcpy(bytes + 8 * k, &v, 8);
    }
    zk_fr_from_bytes_wide(&r, bytes);
    return r;
}

static void open_once(void) {
    cuzk_err err = {0};
    if (!device) ZK_CHECK_OK(zk_cuda_open(&device, 0, POOL_BYTES, &err), err);
}

/* ---- device buffers: poisoned, with a guard behind ---- */

enum { GUARD = 64, POISON = 0xa7 };

static zk_dptr take(size_t bytes) {
    cuzk_err err = {0};
    zk_dptr d = 0;
    ZK_CHECK_OK(zk_cuda_alloc(&d, device, bytes + GUARD, "test", &err), err);
    ZK_CHECK_OK(zk_cuda_fill(device, d, POISON, bytes + GUARD, &err), err);
    return d;
}

static void *fetch(zk_dptr d, size_t bytes, const char *what) {
    cuzk_err err = {0};
    uint8_t *data = malloc(bytes + GUARD);
    ZK_CHECK(data);
    ZK_CHECK_OK(zk_cuda_download(device, data, d, bytes + GUARD, &err), err);
    for (int i = 0; i < GUARD; i++) ZK_CHECKF(data[bytes + i] == POISON, "%s: written behind the end", what);
    return data;
}

static void expect_fr(zk_dptr d, const zk_fr *want, size_t n, const char *what) {
    zk_fr *got = fetch(d, n * sizeof *got, what);
    for (size_t i = 0; i < n; i++)
        ZK_CHECKF(zk_fr_eq(&got[i], &want[i]), "%s: first difference at %zu of %zu", what, i, n);
    free(got);
}

/* ---- one circuit ---- */

typedef struct sample {
    zk_program *p;
    uint8_t (*hints)[32];
} sample;

static void sample_free(sample *s) {
    zk_program_destroy(s->p);
    free(s->hints);
}

static void poison(void) {
    cuzk_err err = {0};
    zk_dptr d = 0;
    ZK_CHECK_OK(zk_cuda_alloc(&d, device, 8 << 20, "poison", &err), err);
    ZK_CHECK_OK(zk_cuda_fill(device, d, 0xff, 8 << 20, &err), err);
    zk_cuda_free(device, d);
}

typedef struct on_device {
    zk_cuda_program *resident;
    zk_dptr bits, full, abc[3];
    size_t n;
} on_device;

static void device_run_open(on_device *r, const zk_program *p) {
    cuzk_err err = {0};
    unsigned log2_n = 0;
    while (((uint64_t)1 << log2_n) < (uint64_t)p->n_rows + p->n_inputs) log2_n++;
    r->n = (size_t)1 << log2_n;
    r->bits = take(((size_t)p->n_aux + 63) / 64 * 8);
    r->full = take(((size_t)p->n_inputs + p->n_wide) * sizeof(zk_fr));
    for (int m = 0; m < 3; m++) r->abc[m] = take(r->n * sizeof(zk_fr));
    poison();
    size_t before = zk_cuda_bytes_free(device);
    ZK_CHECK_OK(zk_cuda_program_load(&r->resident, device, p, log2_n, &err), err);
    size_t used = before - zk_cuda_bytes_free(device), stated = zk_cuda_program_bytes(p, log2_n);
    ZK_CHECKF(used <= stated, "tables take %zu bytes, %zu were announced", used, stated);
}

static void device_run_close(on_device *r) {
    zk_cuda_program_unload(r->resident);
    zk_cuda_free(device, r->bits);
    zk_cuda_free(device, r->full);
    for (int m = 0; m < 3; m++) zk_cuda_free(device, r->abc[m]);
}

static void check_witness(const on_device *r, const gadget_run *cpu) {
    const zk_program *p = cpu->p;
    size_t words = ((size_t)p->n_aux + 63) / 64;
    uint64_t *bits = fetch(r->bits, words * 8, "bits");
    for (size_t i = 0; i < words; i++)
        ZK_CHECKF(bits[i] == cpu->w.bits[i], "%s: bits differ in word %zu of %zu: %016" PRIx64 ", expected %016" PRIx64,
                  p->name, i, words, bits[i], cpu->w.bits[i]);
    free(bits);
    zk_fr *full = malloc(((size_t)p->n_inputs + p->n_wide) * sizeof *full);
    ZK_CHECK(full);
    memcpy(full, cpu->w.inputs, p->n_inputs * sizeof *full);
    memcpy(full + p->n_inputs, cpu->w.wide, (size_t)p->n_wide * sizeof *full);
    expect_fr(r->full, full, (size_t)p->n_inputs + p->n_wide, "inputs and wide values");
    free(full);
}

static void check_rows(const on_device *r, const gadget_run *cpu, unsigned matrices) {
    const zk_program *p = cpu->p;
    cuzk_err err = {0};
    zk_dptr out[3];
    for (int m = 0; m < 3; m++) {
        ZK_CHECK_OK(zk_cuda_fill(device, r->abc[m], POISON, r->n * sizeof(zk_fr), &err), err);
        out[m] = matrices >> m & 1 ? r->abc[m] : 0;
    }
    ZK_CHECK_OK(zk_cuda_evaluate(device, r->resident, r->bits, r->full, out[0], out[1], out[2], &err), err);
    zk_fr *want = malloc(r->n * sizeof *want);
    ZK_CHECK(want);
    for (int m = 0; m < 3; m++) {
        char name[2] = {"ABC"[m], 0};
        memset(want, 0, r->n * sizeof *want);
        memcpy(want, cpu->abc[m], (size_t)p->n_rows * sizeof *want);
        if (m == 0) memcpy(want + p->n_rows, cpu->w.inputs, p->n_inputs * sizeof *want);
        if (!out[m]) memset(want, POISON, r->n * sizeof *want);
        expect_fr(r->abc[m], want, r->n, name);
    }
    free(want);
}

static void check_unsatisfied(const on_device *r, const gadget_run *cpu) {
    const size_t n = cpu->p->n_rows;
    size_t row, want = zk_program_first_unsatisfied(cpu->abc[0], cpu->abc[1], cpu->abc[2], n, NULL);
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_cuda_first_unsatisfied(&row, device, r->abc[0], r->abc[1], r->abc[2], n, &err), err);
    ZK_CHECKF(row == want, "row %zu of %zu, expected %zu", row, n, want);
    /* break rows, the last one first */
    const size_t breaks[] = {n - 1, n / 2, n > 300 ? 257 : 0, 0};
    for (size_t k = 0; n && k < 4; k++) {
        zk_fr c;
        if (breaks[k] >= want) continue;
        zk_fr_add(&c, &cpu->abc[2][breaks[k]], &zk_fr_one);
        ZK_CHECK_OK(zk_cuda_upload(device, r->abc[2] + breaks[k] * sizeof c, &c, sizeof c, &err), err);
        ZK_CHECK_OK(zk_cuda_first_unsatisfied(&row, device, r->abc[0], r->abc[1], r->abc[2], n, &err), err);
        ZK_CHECKF(row == breaks[k], "row %zu of %zu, expected %zu", row, n, breaks[k]);
    }
}

static void check_sample(const sample *s) {
    gadget_run cpu = {0};
    on_device r = {0};
    cuzk_err err = {0};
    open_once();
    run_alloc(&cpu, s->p, true);
    run_witness(&cpu, (const uint8_t(*)[32])s->hints);
    ZK_CHECK_OK(zk_program_eval_computed(s->p, &cpu.w, cpu.abc[0], cpu.abc[1], cpu.abc[2], NULL, &err), err);
    device_run_open(&r, s->p);
    /* twice: with what the first run left behind */
    for (int k = 0; k < 2; k++) {
        ZK_CHECK_OK(zk_cuda_witness(device, r.resident, (const uint8_t(*)[32])s->hints, r.bits, r.full, &err), err);
        check_witness(&r, &cpu);
    }
    static const unsigned some[] = {4, 3, 6, 7}; /* matrices */
    for (int k = 0; k < 4; k++) check_rows(&r, &cpu, some[k]);
    check_unsatisfied(&r, &cpu);
    device_run_close(&r);
    cpu.p = NULL;
    run_free(&cpu);
}

/* ---- circuits of proofs ---- */

static void load_post(sample *s, const char *name) {
    char file[96], identifier[ZK_IDENTIFIER_MAX];
    cuzk_err err = {0};
    post_request r;
    zk_post *post = NULL;
    zk_post_shape shape;
    snprintf(file, sizeof file, "post/%s.json", name);
    zk_json_doc *doc = load_json(file);
    request_of(&r, zk_json_root(doc));
    ZK_CHECK_OK(create_post(&post, &r, &err), err);
    ZK_CHECK_OK(zk_post_circuit(&shape, identifier, r.type->kind, r.type->sector_bytes, &err), err);
    ZK_CHECK_OK(zk_post_program(&s->p, &shape, "post", &err), err);
    ZK_CHECK((s->hints = malloc((size_t)s->p->n_hints * 32)));
    ZK_CHECK_OK(zk_post_partition_hints(s->hints, s->p->n_hints, post, 0, &err), err);
    zk_post_destroy(post);
    free_request(&r);
    zk_json_doc_destroy(doc);
}

static void test_winning(void) {
    sample s = {0};
    load_post(&s, "winning-2KiB");
    check_sample(&s);
    /* Hashes by threads; then all small instances of a level in few blocks. */
    zk_cuda_synthesis_tune(device, 1, 0);
    check_sample(&s);
    zk_cuda_synthesis_tune(device, 0, 1);
    check_sample(&s);
    zk_cuda_synthesis_tune(device, 0, 0);
    sample_free(&s);
}

static void test_bad_hints(void) {
    sample s = {0};
    on_device r = {0};
    gadget_run cpu = {0};
    open_once();
    load_post(&s, "winning-2KiB");
    run_alloc(&cpu, s.p, false);
    device_run_open(&r, s.p);
    for (int round = 0; round < 6; round++) {
        cuzk_err want = {0}, got = {0};
        uint8_t(*hints)[32] = malloc((size_t)s.p->n_hints * 32);
        ZK_CHECK(hints);
        memcpy(hints, s.hints, (size_t)s.p->n_hints * 32);
        for (int k = 0; k < 1 + round % 3; k++) {
            uint8_t *hint = hints[round < 3 ? (uint32_t)round * (s.p->n_hints - 1) / 2 : below(s.p->n_hints)];
            for (int i = 0; i < 4; i++) memcpy(hint + 8 * i, &zk_fr_modulus[i], 8); /* r */
            if (k == 1) memset(hint, 0xff, 32);
            if (k == 2) hint[0]--; /* r - 1 is good */
        }
        cuzk_status cpu_status = zk_program_witness(s.p, (const uint8_t(*)[32])hints, &cpu.w, NULL, &want);
        cuzk_status status = zk_cuda_witness(device, r.resident, (const uint8_t(*)[32])hints, r.bits, r.full, &got);
        ZK_CHECKF(status == cpu_status && !strcmp(got.message, want.message), "round %d: %s, expected %s", round,
                  got.message, want.message);
        if (status == CUZK_OK) check_witness(&r, &cpu);
        free(hints);
    }
    device_run_close(&r);
    cpu.p = NULL;
    run_free(&cpu);
    sample_free(&s);
}

#if defined(FULL)
static void load_porep(sample *s, const char *name) {
    char path[4096];
    cuzk_err err = {0};
    zk_job *job = NULL;
    snprintf(path, sizeof path, "%s/porep/%s.c1.json", zk_test_vectors_dir(), name);
    ZK_CHECK_OK(zk_job_from_c1_file(&job, path, &err), err);
    ZK_CHECK_OK(zk_job_program(&s->p, job, &err), err);
    ZK_CHECK((s->hints = malloc((size_t)s->p->n_hints * 32)));
    ZK_CHECK_OK(zk_job_hints(s->hints, s->p->n_hints, job, 0, &err), err);
    zk_job_destroy(job);
}

static void load_update(sample *s, const char *name, uint32_t partition) {
    cuzk_err err = {0};
    update_case c;
    case_load(&c, name, partition);
    ZK_CHECK_OK(zk_update_program(&s->p, c.statement.shape.sector_bytes, &err), err);
    ZK_CHECK((s->hints = malloc((size_t)s->p->n_hints * 32)));
    ZK_CHECK_OK(zk_update_proof_hints(s->hints, s->p->n_hints, &c.statement, partition, &c.proof, &err), err);
    case_free(&c);
}

static void test_porep(void) {
    sample s = {0};
    load_porep(&s, "seal-StackedDrg2KiBV1_1");
    check_sample(&s);
    sample_free(&s);
}

static void test_update(void) {
    sample s = {0};
    load_update(&s, "real-2048", 0);
    check_sample(&s);
    sample_free(&s);
}

static void test_window(void) {
    sample s = {0};
    load_post(&s, "window-2KiB-n2-v1_2");
    check_sample(&s);
    sample_free(&s);
}

static void test_larger(void) {
    sample s = {0};
    load_post(&s, "winning-32GiB");
    check_sample(&s);
    sample_free(&s);
    if (EMULATED) return;
    load_update(&s, "real-32768", 1);
    check_sample(&s);
    sample_free(&s);
    load_porep(&s, "seal-StackedDrg8MiBV1_1");
    check_sample(&s);
    sample_free(&s);
    load_update(&s, "real-8388608", 3);
    check_sample(&s);
    sample_free(&s);
}
#endif

/* ---- random circuits ---- */

typedef struct recipe {
    uint64_t seed;
    uint32_t n_bits, n_wides, n_ops, n_rows, max_terms, max_arity;
} recipe;

/* What has been made so far. */
typedef struct made {
    zk_lit bits[6000], wides[3000];
    uint32_t n_bits, n_wides;
} made;
static made so_far;

static zk_lit any_bit(void) {
    if (below(20) == 0) return below(2) ? ZK_LIT_TRUE : ZK_LIT_FALSE;
    return so_far.bits[below(so_far.n_bits)] ^ below(2);
}
static zk_lit any_wide(void) { return so_far.wides[below(so_far.n_wides)]; }
static void keep_bits(zk_lit first, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) so_far.bits[so_far.n_bits++] = first + 2 * i;
}
static void keep_wides(zk_lit first, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) so_far.wides[so_far.n_wides++] = first + 2 * i;
}

static zk_fr any_coef(void) {
    static const int64_t some[] = {1, -1, 2, 8, 1 << 20, INT64_MIN, 5};
    zk_fr c;
    if (below(3) == 0) return random_fr();
    zk_fr_from_i64(&c, some[below(7)]);
    return c;
}

/* kind: 0 bits with small coefficients, 1 bits, 2 anything, 3 one wide value, 4 nothing */
static void any_lc(zk_recorder *rec, zk_lc *lc, uint32_t kind, uint32_t max_terms) {
    uint32_t n = kind == 4 ? 0 : kind == 3 ? 1 : kind == 0 ? below(6) : below(below(4) ? 5 : max_terms);
    if (kind == 3) {
        zk_lc_add_int(rec, lc, any_wide(), 1);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        zk_fr coef = any_coef();
        if (kind == 0)
            zk_lc_add_int(rec, lc, any_bit(), (int)below(3) - 1);
        else
            zk_lc_add(rec, lc, kind == 2 && below(2) ? any_wide() : any_bit(), &coef);
    }
}

static uint32_t stored_lc(zk_recorder *rec, uint32_t max_terms) {
    zk_lc lc = {0};
    any_lc(rec, &lc, 1 + below(2), max_terms);
    uint32_t r = zk_rec_lc(rec, &lc);
    zk_lc_free(&lc);
    return r;
}

static void any_poseidon(zk_recorder *rec, uint32_t max_arity) {
    static const uint32_t arities[] = {2, 1, 8, 11, 4, 34};
    zk_lit in[ZK_POSEIDON_MAX_ARITY];
    uint32_t arity;
    do arity = arities[below(6)];
    while (arity > max_arity);
    const zk_poseidon_params *params = zk_poseidon_get(arity);
    for (uint32_t i = 0; i < arity; i++) in[i] = zk_lit_var(any_wide());
    zk_fr tag = any_coef();
    uint32_t n = 3 * (params->width - 1) + 4 * (zk_poseidon_n_sboxes(params) - params->width) + 1;
    uint32_t lits = zk_rec_lits(rec, in, arity), coef = zk_rec_coef(rec, &tag);
    zk_lit out = zk_rec_wides(rec, n);
    zk_rec_op(rec, (zk_op){.code = ZK_OP_POSEIDON, .n = (uint16_t)arity, .dst = zk_lit_var(out), .a = lits, .b = coef});
    keep_wides(out + 2 * (n - 1), 1);
}

static void any_op(zk_recorder *rec, const recipe *x) {
    static const uint16_t widths[] = {32, 35, 1, 31, 33, 34, 40, 64};
    zk_lit lits[9 * 32], out;
    zk_op op = {.n = 1};
    switch (below(10)) {
    case 0: /* mostly bits */
    case 1:
    case 2:
    case 3: {
        static const uint16_t codes[] = {ZK_OP_AND, ZK_OP_XOR, ZK_OP_CH, ZK_OP_MAJ};
        for (uint32_t k = 1 + below(40); k; k--) {
            op.code = codes[below(4)];
            op.a = any_bit(), op.b = any_bit(), op.c = op.code >= ZK_OP_CH ? any_bit() : 0;
            out = zk_rec_bits(rec, 1);
            op.dst = zk_lit_var(out);
            zk_rec_op(rec, op);
            keep_bits(out, 1);
        }
        return;
    }
    case 4: {
        op = (zk_op){.code = ZK_OP_SUM32, .n = widths[below(8)], .b = below(10), .c = below(2) ? UINT32_MAX : below(9)};
        for (uint32_t i = 0; i < 32 * op.b; i++) lits[i] = any_bit();
        op.a = zk_rec_lits(rec, lits, 32 * op.b);
        out = zk_rec_bits(rec, op.n);
        keep_bits(out, op.n);
        break;
    }
    case 5: {
        op = (zk_op){.code = ZK_OP_BITS, .n = (uint16_t)(1 + below(255)), .a = zk_lit_var(any_wide())};
        op.b = below(256u - op.n);
        out = zk_rec_bits(rec, op.n);
        keep_bits(out, op.n);
        break;
    }
    case 6:
        op = (zk_op){.code = ZK_OP_LC, .n = 1, .a = stored_lc(rec, x->max_terms)};
        out = below(4) ? zk_rec_wides(rec, 1) : zk_rec_input(rec);
        keep_wides(out, 1);
        break;
    case 7:
        op =
            (zk_op){.code = ZK_OP_MULADD, .n = 1, .a = stored_lc(rec, x->max_terms), .b = stored_lc(rec, x->max_terms)};
        op.c = below(2) ? ZK_NO_LC : stored_lc(rec, x->max_terms);
        out = zk_rec_wides(rec, 1);
        keep_wides(out, 1);
        break;
    case 8:
        op = (zk_op){.code = ZK_OP_HINT, .n = 1, .a = zk_rec_hint(rec)};
        out = below(3) ? zk_rec_wides(rec, 1) : zk_rec_input(rec);
        keep_wides(out, 1);
        break;
    default:
        any_poseidon(rec, x->max_arity);
        return;
    }
    op.dst = zk_lit_var(out);
    zk_rec_op(rec, op);
}

/* in: n_bits bits, then wide values. out: some of what was made, first bits, then wide values. */
static void record_random(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out,
                          size_t n_out) {
    recipe x;
    memcpy(&x, param, sizeof x);
    rng = x.seed;
    so_far.n_bits = so_far.n_wides = 0;
    for (size_t i = 0; i < n_in; i++) {
        if (i < x.n_bits)
            so_far.bits[so_far.n_bits++] = in[i];
        else
            so_far.wides[so_far.n_wides++] = in[i];
    }
    for (uint32_t k = 0; k < 3; k++) { /* bits whose hint need not be a field element; a wide value */
        zk_lit bit = zk_rec_bits(rec, 1), wide = zk_rec_wides(rec, 1);
        zk_rec_op(rec,
                  (zk_op){.code = ZK_OP_HINT_BIT, .n = 1, .dst = zk_lit_var(bit), .a = zk_rec_hint(rec), .b = 255 - k});
        zk_rec_op(rec, (zk_op){.code = ZK_OP_HINT, .n = 1, .dst = zk_lit_var(wide), .a = zk_rec_hint(rec)});
        keep_bits(bit, 1);
        keep_wides(wide, 1);
    }
    for (uint32_t i = 0; i < x.n_ops && so_far.n_bits < 5000 && so_far.n_wides < 2900; i++) any_op(rec, &x);
    for (uint32_t i = 0; i < x.n_rows; i++) {
        any_lc(rec, zk_rec_a(rec), below(5), x.max_terms);
        any_lc(rec, zk_rec_b(rec), below(5), x.max_terms);
        any_lc(rec, zk_rec_c(rec), below(5), x.max_terms);
        zk_rec_row(rec);
    }
    for (size_t i = 0; i < n_out; i++) out[i] = i < n_out / 2 ? any_bit() : any_wide();
}
static const zk_gadget gadget_random = {"random", record_random};

static void check_random(uint64_t seed, uint32_t n_calls, uint32_t n_ops, uint32_t n_rows, uint32_t max_terms) {
    enum { N = 24 };
    zk_builder *b = NULL;
    sample s = {0};
    cuzk_err err = {0};
    zk_cell cells[2 * N] = {0}, in[2 * N];
    uint32_t n_in = 0;
    ZK_CHECK_OK(zk_builder_create(&b, "random", &err), err);
    for (uint32_t call = 0; call < n_calls; call++) {
        recipe x = {seed, 0, 0, n_ops, n_rows, max_terms, seed % 4 == 0 ? 34 : 11};
        uint64_t choice = seed + call;
        if (call % 3 == 2) x.seed += call; /* other templates between repeated ones */
        if (n_in) {
            for (uint32_t i = 0; i < N; i++) { /* not in order, some twice */
                in[i] = cells[zk_test_rand(&choice) % N] ^ (call & 1);
                in[N + i] = cells[N + zk_test_rand(&choice) % N];
            }
            x.n_bits = x.n_wides = N;
        }
        zk_builder_call(b, &gadget_random, &x, sizeof x, in, n_in, cells, 2 * N);
        n_in = 2 * N;
    }
    ZK_CHECK_OK(zk_builder_finish(&s.p, b, &err), err);
    zk_builder_destroy(b);
    ZK_CHECK((s.hints = malloc((size_t)s.p->n_hints * 32)));
    rng = seed;
    for (uint32_t i = 0; i < s.p->n_hints; i++) {
        zk_fr v = random_fr();
        zk_fr_to_bytes_le(s.hints[i], &v);
        if (i % 5 == 0) { /* 0, r - 1 */
            if (i % 2)
                zk_fr_neg(&v, &zk_fr_one);
            else
                v = zk_fr_zero;
            zk_fr_to_bytes_le(s.hints[i], &v);
        }
    }
    check_sample(&s);
    sample_free(&s);
}

static void test_random(void) {
    for (uint64_t seed = 1; seed <= 6; seed++) check_random(seed, 4, 12, 40, 60);
    check_random(100, 3, 70, 300, 400);
    check_random(104, 5, 2, 1, 3);
#if defined(FULL)
    for (uint64_t seed = 201; seed <= 230; seed++) check_random(seed, 5, 30, 100, 100);
    check_random(300, 3, 60, 9000, 90); /* rows and sums in several pieces */
#endif
}

/* More bits than shared memory holds: in the witness; and in the evaluation too. */
static void record_many(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out, size_t n_out) {
    uint32_t n;
    (void)n_in;
    memcpy(&n, param, sizeof n);
    zk_lit first = zk_rec_bits(rec, n);
    uint32_t hint = 0;
    for (uint32_t i = 0; i < n; i++) {
        zk_lit bit = first + 2 * i;
        if (i < 256) {
            if (i == 0) hint = zk_rec_hint(rec);
            zk_rec_op(rec, (zk_op){.code = ZK_OP_HINT_BIT, .n = 1, .dst = zk_lit_var(bit), .a = hint, .b = i});
        } else {
            zk_rec_op(rec, (zk_op){.code = ZK_OP_XOR,
                                   .n = 1,
                                   .dst = zk_lit_var(bit),
                                   .a = i % 1000 || i == 1000 ? first + 2 * (i * 7919u % 256) : bit - 2000,
                                   .b = (first + 2 * (i % 251)) ^ 1});
        }
        if (i % 3) continue;
        zk_lc_add_int(rec, zk_rec_a(rec), bit, 2);
        zk_lc_add_int(rec, zk_rec_a(rec), zk_lit_not(in[i % 2]), 1);
        zk_lc_add_int(rec, zk_rec_b(rec), bit, -1);
        for (uint32_t k = 0; k < (i % 999 ? 3 : 40u); k++)
            zk_lc_add_int(rec, zk_rec_c(rec), first + 2 * ((i + 1000 * k) % n), 3);
        zk_rec_row(rec);
    }
    for (size_t i = 0; i < n_out; i++) out[i] = first + 2 * (n - 1);
}
static const zk_gadget gadget_many = {"many", record_many};

static void check_many(uint32_t n) {
    zk_builder *b = NULL;
    sample s = {0};
    cuzk_err err = {0};
    zk_cell bits[3], out[2];
    ZK_CHECK_OK(zk_builder_create(&b, "many bits", &err), err);
    zk_builder_call(b, &gadget_test_bits, NULL, 0, NULL, 0, bits, 3);
    zk_builder_call(b, &gadget_many, &n, sizeof n, bits, 2, &out[0], 1);
    zk_builder_call(b, &gadget_many, &n, sizeof n, bits + 1, 2, &out[1], 1);
    zk_builder_call(b, &gadget_many, &n, sizeof n, out, 2, &out[0], 1);
    ZK_CHECK_OK(zk_builder_finish(&s.p, b, &err), err);
    zk_builder_destroy(b);
    ZK_CHECK((s.hints = malloc((size_t)s.p->n_hints * 32)));
    for (uint32_t i = 0; i < s.p->n_hints * 32; i++) s.hints[i / 32][i % 32] = (uint8_t)below(256);
    check_sample(&s);
    sample_free(&s);
}

static void test_many_bits(void) {
    check_many(170001);
#if defined(FULL)
    check_many(1400003);
#endif
}

/* ---- explicit rows ---- */

static void check_explicit(uint32_t n_inputs, uint32_t n_aux, uint32_t n_rows, uint32_t max_terms) {
    sample s = {0};
    cuzk_err err = {0};
    zk_explicit_matrix abc[3];
    for (int m = 0; m < 3; m++) {
        size_t *row = calloc(n_rows + (size_t)1, sizeof *row);
        zk_explicit_term *terms = calloc((size_t)n_rows * max_terms + 1, sizeof *terms);
        ZK_CHECK(row && terms);
        for (uint32_t i = 0; i < n_rows; i++) {
            row[i + 1] = row[i] + below(max_terms + 1);
            for (size_t k = row[i]; k < row[i + 1]; k++) {
                terms[k].var = n_aux && below(3) ? below(n_aux) : ZK_VAR_INPUT | below(n_inputs);
                terms[k].coef = any_coef();
            }
        }
        abc[m] = (zk_explicit_matrix){row, terms};
    }
    ZK_CHECK_OK(zk_program_from_rows(&s.p, "explicit", n_inputs, n_aux, n_rows, abc, &err), err);
    ZK_CHECK((s.hints = malloc((size_t)s.p->n_hints * 32 + 1)));
    for (uint32_t i = 0; i < s.p->n_hints; i++) {
        zk_fr v = random_fr();
        zk_fr_to_bytes_le(s.hints[i], &v);
    }
    check_sample(&s);
    for (int m = 0; m < 3; m++) {
        free((void *)(uintptr_t)abc[m].row);
        free((void *)(uintptr_t)abc[m].terms);
    }
    sample_free(&s);
}

static void test_explicit(void) {
    check_explicit(1, 0, 1, 2); /* no private value at all */
    check_explicit(1, 1, 1, 3);
    check_explicit(5, 3, 7, 4);
    check_explicit(3, 1000, 1021, 40); /* fills the domain */
    check_explicit(3, 300, 1022, 3);   /* one more */
#if defined(FULL)
    check_explicit(100, 50000, 30000, 9);
#endif
}

static void test_domain_too_small(void) {
    zk_builder *b = NULL;
    zk_program *p = NULL;
    zk_cuda_program *resident = NULL;
    cuzk_err err = {0};
    zk_cell bits[8];
    open_once();
    ZK_CHECK_OK(zk_builder_create(&b, "test", &err), err);
    zk_builder_call(b, &gadget_test_bits, NULL, 0, NULL, 0, bits, 8);
    ZK_CHECK_OK(zk_builder_finish(&p, b, &err), err);
    zk_builder_destroy(b);
    ZK_CHECK(zk_cuda_program_load(&resident, device, p, 3, &err) == CUZK_INTERNAL && !resident);
    zk_program_destroy(p);
}

/* ---- compaction ---- */

static void check_compact(size_t n, int kind) {
    cuzk_err err = {0};
    size_t words = (n + 63) / 64, count = 0;
    uint64_t *mask = malloc(words * 8 + 8), *bits = malloc(words * 8 + 8), *want_bits = calloc(words + 1, 8);
    zk_fr *values = malloc((n + 1) * sizeof *values), *want = malloc((n + 1) * sizeof *want);
    ZK_CHECK(mask && bits && want_bits && values && want);
    for (size_t i = 0; i < words; i++) {
        uint64_t r = zk_test_rand(&rng);
        bits[i] = zk_test_rand(&rng);
        mask[i] = kind == 0   ? 0
                  : kind == 1 ? UINT64_MAX
                  : kind == 2 ? r
                  : kind == 3 ? (i % 5 == 0) * (UINT64_C(1) << (r % 64))
                  : kind == 4 ? (i / 300 % 2 ? 0 : r | r >> 7)
                              : UINT64_C(0x8000000000000001);
    }
    for (size_t i = 0; i < n; i++) {
        values[i] = random_fr();
        if (!(mask[i / 64] >> (i % 64) & 1)) continue;
        want_bits[count / 64] |= (bits[i / 64] >> (i % 64) & 1) << (count % 64);
        want[count++] = values[i];
    }
    zk_cuda_mask *resident = NULL;
    poison();
    ZK_CHECK_OK(zk_cuda_mask_create(&resident, device, mask, n, &err), err);
    zk_dptr in = take(words * 8), fr_in = take(n * sizeof *values), out = take((count + 63) / 64 * 8);
    zk_dptr fr_out = take(count * sizeof *values);
    if (n) {
        ZK_CHECK_OK(zk_cuda_upload(device, in, bits, words * 8, &err), err);
        ZK_CHECK_OK(zk_cuda_upload(device, fr_in, values, n * sizeof *values, &err), err);
    }
    ZK_CHECK_OK(zk_cuda_compact_bits(device, resident, out, in, &err), err);
    ZK_CHECK_OK(zk_cuda_compact_fr(device, resident, fr_out, fr_in, &err), err);
    uint64_t *got = fetch(out, (count + 63) / 64 * 8, "compact bits");
    for (size_t i = 0; i < (count + 63) / 64; i++)
        ZK_CHECKF(got[i] == want_bits[i], "n = %zu, kind %d: word %zu of %zu bits", n, kind, i, count);
    free(got);
    expect_fr(fr_out, want, count, "compact elements");
    zk_cuda_mask_destroy(resident);
    const zk_dptr all[] = {in, fr_in, out, fr_out};
    for (int i = 0; i < 4; i++) zk_cuda_free(device, all[i]);
    free(mask), free(bits), free(want_bits), free(values), free(want);
}

static void test_compact(void) {
    static const size_t sizes[] = {0, 1, 63, 64, 65, 127, 1000, 16383, 16384, 16385, 50000};
    open_once();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int kind = 0; kind < 6; kind++) check_compact(sizes[i], kind);
}

#if defined(FULL)
#define FULL_CASES ZK_CASE(test_porep), ZK_CASE(test_update), ZK_CASE(test_window), ZK_CASE(test_larger)
#else
#define FULL_CASES
#endif
ZK_TEST_MAIN(ZK_CASE(test_compact), ZK_CASE(test_explicit), ZK_CASE(test_domain_too_small), ZK_CASE(test_random),
             ZK_CASE(test_many_bits), ZK_CASE(test_winning), ZK_CASE(test_bad_hints), FULL_CASES)
