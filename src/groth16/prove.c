#include "groth16/prove.h"

#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/cancel.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/rand.h"
#include "groth16/random.h"

struct zk_prover {
    const zk_proving_key *key;
    zk_pool *pool;
    zk_stream *stream;
    bool owns_stream;
    zk_buffer *bits, *full;           /* the assignment */
    zk_buffer *a, *b, *c;             /* over the domain; a becomes h. c is NULL with a prepared key or n_vectors = 2 */
    zk_buffer *some_bits, *some_full; /* compacted for one query after the other */

    zk_prove_request request;
    unsigned next; /* stage; ZK_PROVE_N_STAGES: done */
    bool failed;
    bool full_done; /* of the stage msm, what is over full points */
    uint8_t (*publics)[32];
    zk_fr *inputs;
    zk_g1 h, l, a_sum, b_g1;
    zk_g2 b_g2;
    zk_proof proof;
    uint8_t bytes[ZK_PROOF_BYTES];
};

static const char *const stage_name[ZK_PROVE_N_STAGES] = {"check", "synthesize", "h", "msm", "assemble", "verify"};
const char *zk_prove_stage_name(zk_prove_stage_id stage) { return stage_name[stage]; }

/* ---- workspace ---- */

void zk_prover_plan(const zk_resident_program *program, const zk_query_masks *masks, zk_memory_plan *plan) {
    zk_proof_shape shape;
    zk_proof_shape_make(&shape, program, masks);
    shape.n_vectors = zk_proof_vectors(program->backend, &shape);
    zk_memory_plan_add(plan, "witness bits", 1, zk_witness_bits_bytes(program->program));
    zk_memory_plan_add(plan, "witness values", 1, zk_witness_full_bytes(program->program));
    zk_memory_plan_add(plan, "rows a", 1, zk_domain_bytes(program));
    zk_memory_plan_add(plan, "rows b", 1, zk_domain_bytes(program));
    if (shape.n_vectors == 3) zk_memory_plan_add(plan, "rows c", 1, zk_domain_bytes(program));
    zk_memory_plan_add(plan, "query bits", 1, shape.some_bits);
    zk_memory_plan_add(plan, "query values", 1, shape.some_full);
    zk_proof_plan(program->backend, &shape, plan);
}

/* What comes and goes within a proof. A prover that works alone lends the memory in between. */
static cuzk_status lend(zk_buffer **buffer, zk_backend *backend, const char *name, size_t bytes, cuzk_err *err) {
    ZK_TRY(zk_buffer_create(buffer, backend, name, bytes, err));
    zk_buffer_discard(*buffer);
    return CUZK_OK;
}

static cuzk_status create(zk_prover **prover, const zk_proving_key *key, bool own_stream, zk_stream *stream,
                          zk_pool *pool, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    const zk_program *program = key->program->program;
    zk_backend *backend = key->program->backend;
    size_t domain = zk_domain_bytes(key->program), some_bits = 0, some_full = 0;
    *prover = NULL;
    zk_prover *p = zk_calloc(1, sizeof *p);
    if (!p) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "prover of %s: out of memory", program->name);
    p->key = key;
    p->pool = pool;
    p->stream = stream;
    p->next = ZK_PROVE_N_STAGES;
    p->failed = true;
    p->publics = zk_malloc((size_t)program->n_inputs * 32);
    p->inputs = zk_malloc(program->n_inputs * sizeof *p->inputs);
    if (!p->publics || !p->inputs) {
        status = ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "prover of %s: out of memory", program->name);
        goto out;
    }
    for (int q = 0; q < ZK_N_QUERIES; q++) {
        const zk_selection *s = key->selection[q];
        some_bits = zk_max_size(some_bits, (s->n_bits + 63) / 64 * 8);
        if (!s->full_is_range) some_full = zk_max_size(some_full, s->n_full * sizeof(zk_fr));
    }
    if (own_stream) ZK_GOTO(zk_backend_stream_open(&p->stream, backend, err));
    p->owns_stream = own_stream;
    ZK_GOTO(zk_buffer_create(&p->bits, backend, "witness bits", zk_witness_bits_bytes(program), err));
    ZK_GOTO(zk_buffer_create(&p->full, backend, "witness values", zk_witness_full_bytes(program), err));
    /* Last: a device that carves memory in order has them beside what is free, and uses both while they are. */
    ZK_GOTO(lend(&p->some_bits, backend, "query bits", some_bits, err));
    ZK_GOTO(lend(&p->some_full, backend, "query values", some_full, err));
    ZK_GOTO(lend(&p->a, backend, "rows a", domain, err));
    ZK_GOTO(lend(&p->b, backend, "rows b", domain, err));
    if (key->n_vectors == 3) ZK_GOTO(lend(&p->c, backend, "rows c", domain, err));
    ZK_GOTO(zk_proof_check(key->program, 0, err));
    *prover = p;
    p = NULL;
out:
    zk_prover_destroy(p);
    return status;
}

cuzk_status zk_prover_create(zk_prover **prover, const zk_proving_key *key, zk_pool *pool, cuzk_err *err) {
    return create(prover, key, false, NULL, pool, err);
}

cuzk_status zk_prover_create_beside(zk_prover **prover, const zk_proving_key *key, zk_pool *pool, cuzk_err *err) {
    const zk_backend *backend = key->program->backend;
    *prover = NULL;
    if (!backend->caps.has_streams)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "%s: one prover at a time", backend->caps.device);
    return create(prover, key, true, NULL, pool, err);
}

cuzk_status zk_prover_create_on(zk_prover **prover, const zk_proving_key *key, zk_stream *stream, zk_pool *pool,
                                cuzk_err *err) {
    return create(prover, key, false, stream, pool, err);
}

void zk_prover_rest(zk_prover *p) {
    if (!p) return;
    zk_buffer *const buffers[] = {p->bits, p->full, p->a, p->b, p->c, p->some_bits, p->some_full};
    for (unsigned i = 0; i < sizeof buffers / sizeof buffers[0]; i++) zk_buffer_release(buffers[i]);
    p->next = ZK_PROVE_N_STAGES;
    p->failed = true; /* only zk_prove_begin can follow */
}

void zk_prover_destroy(zk_prover *p) {
    if (!p) return;
    zk_buffer *const buffers[] = {p->bits, p->full, p->a, p->b, p->c, p->some_bits, p->some_full};
    for (unsigned i = 0; i < sizeof buffers / sizeof buffers[0]; i++) zk_buffer_destroy(buffers[i]);
    if (p->owns_stream) zk_backend_stream_close(p->key->program->backend, p->stream);
    free(p->publics);
    free(p->inputs);
    zk_wipe(p, sizeof *p);
    free(p);
}

/* ---- stages ---- */

/* After each kernel: its results are there, and nobody has asked to stop. */
static cuzk_status wait(zk_prover *p, cuzk_err *err) {
    ZK_TRY(zk_backend_wait(p->key->program->backend, p->stream, err));
    return zk_cancel_check(NULL, "prove", err);
}

static cuzk_status stage_check(zk_prover *p, cuzk_err *err) {
    const zk_program *program = p->key->program->program;
    const zk_prove_request *request = &p->request;
    if (request->n_hints != program->n_hints)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "circuit %s takes %u private values, found %zu", program->name,
                       program->n_hints, request->n_hints);
    if (request->publics && request->n_publics != program->n_inputs - 1)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "circuit %s has %u public inputs, found %zu", program->name,
                       program->n_inputs - 1, request->n_publics);
    for (size_t i = 0; i < request->n_hints; i++) {
        zk_fr value;
        if (!zk_fr_from_bytes_le(&value, request->hints[i]))
            return ZK_FAIL(err, CUZK_BAD_INPUT, "private value %zu of circuit %s is not below r", i, program->name);
    }
    return CUZK_OK;
}

static cuzk_status name_row(const zk_program *program, size_t row, cuzk_err *err) {
    for (uint32_t i = 0; i < program->n_instances; i++) {
        const zk_instance *instance = &program->instances[i];
        const zk_template *t = &program->templates[instance->template_id];
        if (row - instance->first_row >= t->n_rows || row < instance->first_row) continue;
        return ZK_FAIL(err, CUZK_BAD_WITNESS, "circuit %s: row %zu is not satisfied (row %zu of instance %u, %s)",
                       program->name, row, row - instance->first_row, i, t->name);
    }
    return ZK_FAIL(err, CUZK_BAD_WITNESS, "circuit %s: row %zu is not satisfied", program->name, row);
}

static cuzk_status compare_publics(const zk_prover *p, cuzk_err *err) {
    const zk_prove_request *request = &p->request;
    if (!request->publics) return CUZK_OK;
    for (size_t i = 0; i < request->n_publics; i++) {
        if (memcmp(request->publics[i], p->publics[i], 32) == 0) continue;
        char found[65], expected[65];
        zk_hex_encode(found, p->publics[i], 32);
        zk_hex_encode(expected, request->publics[i], 32);
        return ZK_FAIL(err, CUZK_BAD_WITNESS, "circuit %s: public input %zu is %s, expected %s",
                       p->key->program->program->name, i, found, expected);
    }
    return CUZK_OK;
}

static cuzk_status stage_synthesize(zk_prover *p, zk_trace *trace, cuzk_err *err) {
    const zk_resident_program *resident = p->key->program;
    const zk_program *program = resident->program;
    size_t row;
    zk_span *span = zk_span_open_kernel(trace, "witness");
    ZK_TRY(zk_stage_witness(p->stream, resident, p->request.hints, p->bits, p->full, err));
    ZK_TRY(zk_buffer_download(p->stream, p->inputs, p->full, 0, program->n_inputs * sizeof *p->inputs, err));
    ZK_TRY(wait(p, err));
    for (uint32_t i = 1; i < program->n_inputs; i++) zk_fr_to_bytes_le(p->publics[i - 1], &p->inputs[i]);
    zk_span_count(span, "variables", program->n_aux);
    zk_span_close(trace, span);

    span = zk_span_open_kernel(trace, "evaluate");
    ZK_TRY(zk_stage_evaluate(p->stream, resident, p->bits, p->full, p->a, p->b, p->c, err));
    ZK_TRY(wait(p, err));
    zk_span_count(span, "rows", program->n_rows);
    zk_span_close(trace, span);

    if (p->c) { /* without c the proof alone tells: see stage_verify */
        span = zk_span_open_kernel(trace, "satisfied");
        ZK_TRY(zk_stage_first_unsatisfied(p->stream, resident, p->a, p->b, p->c, &row, err));
        ZK_TRY(wait(p, err));
        zk_span_close(trace, span);
        if (row < program->n_rows) return name_row(program, row, err);
    }
    return compare_publics(p, err);
}

static cuzk_status stage_h(zk_prover *p, zk_trace *trace, cuzk_err *err) {
    bool prepared = p->key->form == ZK_KEY_PREPARED;
    zk_span *span = zk_span_open_kernel(trace, prepared ? "products" : "quotient");
    if (p->c)
        ZK_TRY(zk_stage_quotient(p->stream, p->key->program, p->a, p->b, p->c, err));
    else if (!prepared)
        ZK_TRY(zk_stage_quotient_in_two(p->stream, p->key->program, p->bits, p->full, p->a, p->b, err));
    else
        ZK_TRY(zk_stage_products(p->stream, p->key->program, p->a, p->b, err));
    ZK_TRY(wait(p, err));
    zk_span_count(span, "rows", (uint64_t)1 << p->key->program->log2_n);
    zk_span_close(trace, span);
    zk_buffer_discard(p->b);
    zk_buffer_discard(p->c);
    return CUZK_OK;
}

static cuzk_status msm(zk_point_sum *sum, zk_prover *p, const zk_resident_points *points, const zk_buffer *scalars,
                       size_t first, const char *name, zk_trace *trace, cuzk_err *err) {
    zk_span *span = zk_span_open_kernel(trace, name);
    ZK_TRY(zk_stage_msm(p->stream, points, scalars, first, sum, err));
    ZK_TRY(wait(p, err));
    zk_span_count(span, "points", points->n);
    zk_span_close(trace, span);
    return CUZK_OK;
}

/* The full values of a query, compacted unless they are neighbours. */
static cuzk_status compact_full(const zk_buffer **scalars, size_t *first, zk_prover *p, zk_query_id query,
                                zk_trace *trace, cuzk_err *err) {
    const zk_selection *selection = p->key->selection[query];
    *scalars = p->full;
    *first = selection->full_first;
    if (selection->full_is_range) return CUZK_OK;
    zk_span *span = zk_span_open_kernel(trace, "compact values");
    ZK_TRY(zk_stage_compact_full(p->stream, selection, p->full, p->some_full, err));
    ZK_TRY(wait(p, err));
    zk_span_close(trace, span);
    *scalars = p->some_full;
    *first = 0;
    return CUZK_OK;
}

static cuzk_status full_sums(zk_prover *p, zk_trace *trace, cuzk_err *err) {
    const zk_proving_key *key = p->key;
    zk_point_sum sum;
    const zk_buffer *scalars;
    size_t first;
    ZK_TRY(msm(&sum, p, key->h, p->a, 0, "h msm", trace, err));
    p->h = sum.g1;
    zk_buffer_discard(p->a);
    ZK_TRY(compact_full(&scalars, &first, p, ZK_QUERY_L, trace, err));
    ZK_TRY(msm(&sum, p, key->l[0], scalars, first, "l msm", trace, err));
    p->l = sum.g1;
    ZK_TRY(compact_full(&scalars, &first, p, ZK_QUERY_A, trace, err));
    ZK_TRY(msm(&sum, p, key->a[0], scalars, first, "a msm", trace, err));
    p->a_sum = sum.g1;
    ZK_TRY(compact_full(&scalars, &first, p, ZK_QUERY_B, trace, err));
    ZK_TRY(msm(&sum, p, key->b_g1[0], scalars, first, "b_g1 msm", trace, err));
    p->b_g1 = sum.g1;
    ZK_TRY(msm(&sum, p, key->b_g2[0], scalars, first, "b_g2 msm", trace, err));
    p->b_g2 = sum.g2;
    zk_buffer_discard(p->some_full);
    p->full_done = true;
    return CUZK_OK;
}

/* ---- sums over bit points, of one prover or of several together ---- */

static cuzk_status compact_bits(zk_prover *const provers[], unsigned n, unsigned *failed, zk_query_id query,
                                zk_trace *trace, cuzk_err *err) {
    zk_span *span = zk_span_open_kernel(trace, "compact bits");
    for (*failed = 0; *failed < n; ++*failed) {
        zk_prover *p = provers[*failed];
        ZK_TRY(zk_stage_compact_bits(p->stream, p->key->selection[query], p->bits, p->some_bits, err));
        ZK_TRY(wait(p, err));
    }
    zk_span_close(trace, span);
    *failed = 0;
    return CUZK_OK;
}

static const char *unit_of(const zk_resident_points *points) {
    static const char *const unit[] = {"points", "points", "points by twos", "points by threes", "points by fours"};
    return points->together < sizeof unit / sizeof unit[0] ? unit[points->together] : unit[0];
}

static cuzk_status masked_sums(zk_point_sum *sums, zk_prover *const provers[], unsigned n,
                               const zk_resident_points *points, const char *name, zk_trace *trace, cuzk_err *err) {
    const zk_buffer *bits[ZK_MAX_MASKS];
    for (unsigned i = 0; i < n; i++) bits[i] = provers[i]->some_bits;
    zk_span *span = zk_span_open_kernel(trace, name);
    ZK_TRY(zk_stage_masked_sums(provers[0]->stream, points, bits, n, sums, err));
    ZK_TRY(wait(provers[0], err));
    zk_span_count(span, unit_of(points), n * (uint64_t)points->n);
    zk_span_close(trace, span);
    return CUZK_OK;
}

static cuzk_status bit_sums(zk_prover *const provers[], unsigned n, unsigned *failed, zk_trace *trace, cuzk_err *err) {
    const zk_proving_key *key = provers[0]->key;
    zk_point_sum sums[ZK_MAX_MASKS];
    ZK_TRY(compact_bits(provers, n, failed, ZK_QUERY_L, trace, err));
    ZK_TRY(masked_sums(sums, provers, n, key->l[1], "l bits", trace, err));
    for (unsigned i = 0; i < n; i++) zk_g1_add(&provers[i]->l, &provers[i]->l, &sums[i].g1);
    ZK_TRY(compact_bits(provers, n, failed, ZK_QUERY_A, trace, err));
    ZK_TRY(masked_sums(sums, provers, n, key->a[1], "a bits", trace, err));
    for (unsigned i = 0; i < n; i++) zk_g1_add(&provers[i]->a_sum, &provers[i]->a_sum, &sums[i].g1);
    ZK_TRY(compact_bits(provers, n, failed, ZK_QUERY_B, trace, err));
    ZK_TRY(masked_sums(sums, provers, n, key->b_g1[1], "b_g1 bits", trace, err));
    for (unsigned i = 0; i < n; i++) zk_g1_add(&provers[i]->b_g1, &provers[i]->b_g1, &sums[i].g1);
    ZK_TRY(masked_sums(sums, provers, n, key->b_g2[1], "b_g2 bits", trace, err));
    for (unsigned i = 0; i < n; i++) zk_g2_add(&provers[i]->b_g2, &provers[i]->b_g2, &sums[i].g2);
    for (unsigned i = 0; i < n; i++) zk_buffer_discard(provers[i]->some_bits);
    return CUZK_OK;
}

static cuzk_status stage_msm(zk_prover *p, zk_trace *trace, cuzk_err *err) {
    unsigned failed;
    if (!p->full_done) ZK_TRY(full_sums(p, trace, err));
    return bit_sums(&p, 1, &failed, trace, err);
}

static void g1_add_multiple(zk_g1 *sum, const zk_g1 *a, const zk_fr *k) {
    zk_g1 t;
    zk_g1_mul_var(&t, a, k);
    zk_g1_add(sum, sum, &t);
    zk_wipe(&t, sizeof t);
}

static cuzk_status stage_assemble(zk_prover *p, cuzk_err *err) {
    const zk_vk *vk = &p->key->vk;
    zk_blinding blinding;
    zk_fr *r = &blinding.r, *s = &blinding.s, rs;
    zk_g1 a, b1, c, delta;
    zk_g2 b2, delta2;
    if (p->request.blinding) {
        blinding = *p->request.blinding;
    } else {
        cuzk_status status = zk_random_fr(r, err);
        if (status == CUZK_OK) status = zk_random_fr(s, err);
        if (status != CUZK_OK) {
            zk_wipe(&blinding, sizeof blinding);
            return status;
        }
    }
    zk_g1_from_affine(&delta, &vk->delta_g1);
    zk_g2_from_affine(&delta2, &vk->delta_g2);

    zk_g1_add_affine(&a, &p->a_sum, &vk->alpha_g1);
    g1_add_multiple(&a, &delta, r);
    zk_g2_mul_var(&b2, &delta2, s);
    zk_g2_add_affine(&b2, &b2, &vk->beta_g2);
    zk_g2_add(&b2, &b2, &p->b_g2);
    zk_g1_add_affine(&b1, &p->b_g1, &vk->beta_g1);
    g1_add_multiple(&b1, &delta, s);

    zk_g1_add(&c, &p->l, &p->h);
    g1_add_multiple(&c, &a, s);
    g1_add_multiple(&c, &b1, r);
    zk_fr_mul(&rs, r, s);
    zk_fr_neg(&rs, &rs);
    g1_add_multiple(&c, &delta, &rs);

    zk_g1_to_affine(&p->proof.a, &a);
    zk_g2_to_affine(&p->proof.b, &b2);
    zk_g1_to_affine(&p->proof.c, &c);
    zk_proof_encode(p->bytes, &p->proof);
    zk_wipe(&blinding, sizeof blinding);
    zk_wipe(&rs, sizeof rs);
    return CUZK_OK;
}

/* ---- a witness that was not checked, for c was not there: after a proof that does not verify ---- */

/* The rows once more, with c in device memory of its own. */
static cuzk_status find_on_device(size_t *row, zk_prover *p, cuzk_err *err) {
    const zk_resident_program *resident = p->key->program;
    zk_buffer *c = NULL;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(zk_buffer_create(&c, resident->backend, "rows c", zk_domain_bytes(resident), err));
    ZK_GOTO(zk_stage_evaluate(p->stream, resident, p->bits, p->full, p->a, p->b, c, err));
    ZK_GOTO(zk_stage_first_unsatisfied(p->stream, resident, p->a, p->b, c, row, err));
    ZK_GOTO(wait(p, err));
out:
    zk_buffer_destroy(c);
    return status;
}

/* Slower, from the assignment alone: instance by instance on the host. */
static cuzk_status find_on_host(size_t *row, zk_prover *p, cuzk_err *err) {
    const zk_program *program = p->key->program->program;
    size_t bits_bytes = zk_witness_bits_bytes(program), full_bytes = zk_witness_full_bytes(program);
    cuzk_status status = CUZK_OK;
    void *bits = NULL, *full = NULL;
    ZK_GOTO(zk_mem_alloc(&bits, "witness bits", bits_bytes, err));
    ZK_GOTO(zk_mem_alloc(&full, "witness values", full_bytes, err));
    ZK_GOTO(zk_buffer_download(p->stream, bits, p->bits, 0, bits_bytes, err));
    ZK_GOTO(zk_buffer_download(p->stream, full, p->full, 0, full_bytes, err));
    ZK_GOTO(wait(p, err));
    zk_witness w = {.inputs = full, .bits = bits, .wide = (zk_fr *)full + program->n_inputs};
    ZK_GOTO(zk_program_find_unsatisfied(row, program, &w, p->pool, err));
out:
    if (bits) zk_wipe(bits, bits_bytes);
    if (full) zk_wipe(full, full_bytes);
    zk_mem_free(bits);
    zk_mem_free(full);
    return status;
}

/* BAD_WITNESS with the row; OK: the circuit is satisfied. */
static cuzk_status find_unsatisfied(zk_prover *p, cuzk_err *err) {
    const zk_program *program = p->key->program->program;
    cuzk_err why = {0};
    size_t row = 0;
    cuzk_status status = find_on_device(&row, p, &why);
    if (status == CUZK_OUT_OF_MEMORY) {
        zk_err_reset(&why);
        status = find_on_host(&row, p, &why);
    }
    if (status == CUZK_OUT_OF_MEMORY)
        return ZK_FAIL(err, CUZK_BAD_WITNESS,
                       "circuit %s: the proof does not verify: the witness does not satisfy the circuit, or the key is "
                       "damaged; there is no memory to look for the row (%s)",
                       program->name, why.message);
    if (status != CUZK_OK)
        return ZK_FAIL(err, status, "the proof does not verify; looking for the row: %s", why.message);
    return row < program->n_rows ? name_row(program, row, err) : CUZK_OK;
}

static cuzk_status stage_verify(zk_prover *p, cuzk_err *err) {
    cuzk_err why = {0};
    size_t n_publics = p->key->program->program->n_inputs - 1;
    cuzk_status status = zk_verify(p->key->prepared, p->bytes, ZK_PROOF_BYTES, (const uint8_t(*)[32])p->publics,
                                   n_publics, p->pool, &why);
    if (status == CUZK_OK) return CUZK_OK;
    zk_wipe(p->bytes, sizeof p->bytes);
    if (cuzk_status_classify(status) == CUZK_CLASS_RESOURCE) return ZK_FAIL(err, status, "%s", why.message);
    if (!p->c) ZK_TRY(find_unsatisfied(p, err));
    return ZK_FAIL(
        err, CUZK_INTERNAL,
        "circuit %s is satisfied, but its proof does not verify (%s): the key is damaged or of another circuit, "
        "or %s computes wrongly",
        p->key->program->program->name, why.message, p->key->program->backend->caps.device);
}

void zk_prove_begin(zk_prover *p, const zk_prove_request *request) {
    zk_buffer *const lent[] = {p->a, p->b, p->c, p->some_bits, p->some_full};
    for (unsigned i = 0; i < sizeof lent / sizeof lent[0]; i++) zk_buffer_discard(lent[i]); /* of a proof that failed */
    p->request = *request;
    p->next = ZK_PROVE_CHECK;
    p->failed = p->full_done = false;
    memset(p->bytes, 0, sizeof p->bytes);
}

cuzk_status zk_prove_stage(zk_prover *p, zk_prove_stage_id stage, zk_trace *trace, cuzk_err *err) {
    if (p->failed || p->next != (unsigned)stage)
        return ZK_FAIL(err, CUZK_INTERNAL, "prover: stage %s asked for, %s is next", stage_name[stage],
                       p->failed                     ? "a new proof"
                       : p->next < ZK_PROVE_N_STAGES ? stage_name[p->next]
                                                     : "nothing");
    bool leaf = stage == ZK_PROVE_CHECK || stage == ZK_PROVE_ASSEMBLE || stage == ZK_PROVE_VERIFY;
    zk_span *span = leaf ? zk_span_open_kernel(trace, stage_name[stage]) : zk_span_open(trace, stage_name[stage]);
    cuzk_status status = CUZK_INTERNAL;
    switch (stage) {
    case ZK_PROVE_CHECK:
        status = stage_check(p, err);
        break;
    case ZK_PROVE_SYNTHESIZE:
        status = stage_synthesize(p, trace, err);
        break;
    case ZK_PROVE_H:
        status = stage_h(p, trace, err);
        break;
    case ZK_PROVE_MSM:
        status = stage_msm(p, trace, err);
        break;
    case ZK_PROVE_ASSEMBLE:
        status = stage_assemble(p, err);
        break;
    case ZK_PROVE_VERIFY:
        status = stage_verify(p, err);
        break;
    case ZK_PROVE_N_STAGES:
        break;
    }
    zk_span_close(trace, span); /* with what a failure left open */
    p->next++;
    p->failed = status != CUZK_OK;
    return status;
}

/* ---- several provers with one key ---- */

cuzk_status zk_prove_together_check(const zk_prover *prover, unsigned n, cuzk_err *err) {
    const zk_proving_key *key = prover->key;
    if (n > ZK_MAX_MASKS) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%u provers together, at most %d", n, ZK_MAX_MASKS);
    return zk_proof_check(key->program, n * (prover->some_bits->bytes + 512), err);
}

cuzk_status zk_prove_together_make(zk_prover *provers[], unsigned *n, unsigned most, cuzk_err *err) {
    zk_prover *first = provers[0];
    cuzk_err why = {0};
    *n = 1;
    if (!zk_proving_key_streams_bits(first->key)) return CUZK_OK;
    while (*n < most && *n < ZK_MAX_MASKS) {
        zk_prover **next = &provers[*n];
        cuzk_status status = create(next, first->key, false, first->stream, first->pool, &why);
        if (status == CUZK_OK) status = zk_prove_together_check(first, *n + 1, &why);
        if (status == CUZK_OK) {
            ++*n;
            continue;
        }
        zk_prover_destroy(*next);
        *next = NULL;
        if (status == CUZK_OUT_OF_MEMORY) break;
        if (err) *err = why;
        return status;
    }
    return CUZK_OK;
}

cuzk_status zk_prove_full(zk_prover *p, zk_trace *trace, cuzk_err *err) {
    if (p->failed || p->full_done || p->next != ZK_PROVE_MSM)
        return ZK_FAIL(err, CUZK_INTERNAL, "prover: sums over full points asked for, they are not next");
    zk_span *span = zk_span_open(trace, stage_name[ZK_PROVE_MSM]);
    cuzk_status status = full_sums(p, trace, err);
    zk_span_close(trace, span); /* with what a failure left open */
    p->failed = status != CUZK_OK;
    return status;
}

cuzk_status zk_prove_bits(zk_prover *const provers[], unsigned n, unsigned *failed, zk_trace *trace, cuzk_err *err) {
    *failed = 0;
    if (n == 0) return CUZK_OK;
    if (n > ZK_MAX_MASKS) return ZK_FAIL(err, CUZK_INTERNAL, "%u provers together, at most %d", n, ZK_MAX_MASKS);
    for (unsigned i = 0; i < n; i++)
        if (provers[i]->failed || !provers[i]->full_done || provers[i]->key != provers[0]->key ||
            provers[i]->stream != provers[0]->stream)
            return ZK_FAIL(err, CUZK_INTERNAL, "prover %u of %u: sums over bits asked for, they are not next", i, n);
    zk_span *span = zk_span_open(trace, "msm of bits");
    cuzk_status status = bit_sums(provers, n, failed, trace, err);
    zk_span_close(trace, span);
    for (unsigned i = 0; i < n; i++) {
        provers[i]->full_done = false;
        provers[i]->next = ZK_PROVE_ASSEMBLE;
        provers[i]->failed = status != CUZK_OK;
    }
    return status;
}

const uint8_t *zk_prove_result(const zk_prover *p) { return p->bytes; }

cuzk_status zk_prove(uint8_t proof[ZK_PROOF_BYTES], zk_prover *prover, const zk_prove_request *request, zk_trace *trace,
                     cuzk_err *err) {
    zk_prove_begin(prover, request);
    for (int stage = 0; stage < ZK_PROVE_N_STAGES; stage++)
        ZK_TRY(zk_prove_stage(prover, (zk_prove_stage_id)stage, trace, err));
    memcpy(proof, zk_prove_result(prover), ZK_PROOF_BYTES);
    return CUZK_OK;
}
