#include "groth16/setup.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/cancel.h"
#include "base/mem.h"
#include "base/rand.h"
#include "groth16/key_writer.h"
#include "groth16/params.h"
#include "groth16/random.h"
#include "msm/msm.h"

#define SLICE ((size_t)1 << 16) /* points made and written at a time; part of the fingerprint */
#define SCALAR_CHUNK 1024
#define SERIALIZE_CHUNK 512

cuzk_status zk_toxic_waste_random(zk_toxic_waste *toxic, cuzk_err *err) {
    zk_fr *value[5] = {&toxic->alpha, &toxic->beta, &toxic->gamma, &toxic->delta, &toxic->tau};
    for (unsigned i = 0; i < 5; i++) do
            ZK_TRY(zk_random_fr(value[i], err));
        while (zk_fr_is_zero(value[i]));
    return CUZK_OK;
}

/* What a setup works with, and frees at its end. */
typedef struct setup_job {
    const zk_program *program;
    const zk_setup_options *options;
    zk_toxic_waste toxic;
    zk_columns columns;
    zk_fr inv_gamma, inv_delta, h_scale; /* t/delta */
    zk_fixed_base_g1 *g1;
    zk_fixed_base_g2 *g2;
    zk_fr *scalars; /* [SLICE] */
    void *points;   /* [SLICE] affine of either group */
    uint8_t *bytes; /* [SLICE] encoded */
    zk_key_writer writer;
    bool writing;
    uint64_t done, total;
    /* the slice in hand */
    zk_params_section_id section;
    size_t first;
    const zk_fr *values; /* a, b: compacted columns */
} setup_job;

static cuzk_status report(setup_job *job, const char *section, cuzk_err *err) {
    const zk_setup_options *o = job->options;
    if (o->progress) o->progress(o->progress_ctx, section, job->done, job->total);
    if (o->cancelled && o->cancelled(o->cancelled_ctx))
        return ZK_FAIL(err, CUZK_CANCELLED, "setup of %s cancelled at section %s", o->params_path, section);
    return zk_cancel_check(NULL, "setup", err);
}

/* ---- scalars ---- */

/* (beta A_i + alpha B_i + C_i) scale of variable `at` */
static void combine(zk_fr *r, const setup_job *job, size_t at, const zk_fr *scale) {
    zk_fr t;
    zk_fr_mul(&t, &job->columns.value[0][at], &job->toxic.beta);
    zk_fr_mul(r, &job->columns.value[1][at], &job->toxic.alpha);
    zk_fr_add(r, r, &t);
    zk_fr_add(r, r, &job->columns.value[2][at]);
    zk_fr_mul(r, r, scale);
}

static void scalars_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    setup_job *job = ctx;
    zk_fr *out = job->scalars;
    (void)thread;
    if (job->section == ZK_PARAMS_H) {
        zk_fr power;
        zk_fr_pow_u64(&power, &job->toxic.tau, job->first + begin);
        zk_fr_mul(&power, &power, &job->h_scale);
        for (size_t i = begin; i < end; i++) {
            out[i] = power;
            zk_fr_mul(&power, &power, &job->toxic.tau);
        }
    } else if (job->section == ZK_PARAMS_L) {
        for (size_t i = begin; i < end; i++)
            combine(&out[i], job, job->columns.n_inputs + job->first + i, &job->inv_delta);
    }
}

static void serialize_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    setup_job *job = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++)
        if (job->section == ZK_PARAMS_B_G2)
            zk_g2_serialize(job->bytes + i * ZK_G2_UNCOMPRESSED_BYTES, (zk_g2_affine *)job->points + i);
        else
            zk_g1_serialize(job->bytes + i * ZK_G1_UNCOMPRESSED_BYTES, (zk_g1_affine *)job->points + i);
}

/* Points [first, first + n) of the section in hand, encoded in job->bytes. */
static cuzk_status make_slice(setup_job *job, size_t n, cuzk_err *err) {
    const zk_fr *scalars = job->values ? job->values + job->first : job->scalars;
    zk_pool *pool = job->options->pool;
    if (!job->values) zk_pool_for(pool, n, SCALAR_CHUNK, scalars_range, job);
    for (size_t i = 0; i < n; i++)
        if (zk_fr_is_zero(&scalars[i]))
            return ZK_FAIL(err, CUZK_BAD_INPUT, "toxic waste: point %zu of section %s would be infinity",
                           job->first + i, zk_params_section_name(job->section));
    if (job->section == ZK_PARAMS_B_G2)
        ZK_TRY(zk_fixed_base_g2_mul(job->g2, job->points, scalars, n, pool, err));
    else
        ZK_TRY(zk_fixed_base_g1_mul(job->g1, job->points, scalars, n, pool, err));
    zk_pool_for(pool, n, SERIALIZE_CHUNK, serialize_range, job);
    return CUZK_OK;
}

static cuzk_status write_section(setup_job *job, zk_params_section_id id, size_t n, const zk_fr *values,
                                 cuzk_err *err) {
    const char *name = zk_params_section_name(id);
    size_t point_bytes = zk_params_point_bytes(id);
    uint8_t count[4];
    zk_store_be32(count, (uint32_t)n);
    job->section = id;
    job->values = values;
    ZK_TRY(zk_key_writer_put(&job->writer, count, sizeof count, err));
    for (job->first = 0; job->first < n; job->first += SLICE) {
        size_t m = zk_min_size(SLICE, n - job->first);
        if (!zk_key_writer_skip(&job->writer, m * point_bytes)) {
            ZK_TRY(make_slice(job, m, err));
            ZK_TRY(zk_key_writer_put(&job->writer, job->bytes, m * point_bytes, err));
        }
        job->done += m;
        ZK_TRY(report(job, name, err));
    }
    return CUZK_OK;
}

/* ---- the verifying key ---- */

static void g1_multiple(zk_g1_affine *r, const zk_fr *k) {
    zk_g1 t;
    zk_g1_from_affine(&t, &zk_g1_generator);
    zk_g1_mul_var(&t, &t, k);
    zk_g1_to_affine(r, &t);
}

static void g2_multiple(zk_g2_affine *r, const zk_fr *k) {
    zk_g2 t;
    zk_g2_from_affine(&t, &zk_g2_generator);
    zk_g2_mul_var(&t, &t, k);
    zk_g2_to_affine(r, &t);
}

static cuzk_status make_vk(zk_vk *vk, const setup_job *job, cuzk_err *err) {
    const zk_toxic_waste *toxic = &job->toxic;
    vk->ic = zk_malloc(job->program->n_inputs * sizeof *vk->ic);
    if (!vk->ic) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "setup: verifying key: out of memory");
    vk->n_ic = job->program->n_inputs;
    g1_multiple(&vk->alpha_g1, &toxic->alpha);
    g1_multiple(&vk->beta_g1, &toxic->beta);
    g2_multiple(&vk->beta_g2, &toxic->beta);
    g2_multiple(&vk->gamma_g2, &toxic->gamma);
    g1_multiple(&vk->delta_g1, &toxic->delta);
    g2_multiple(&vk->delta_g2, &toxic->delta);
    for (uint32_t i = 0; i < vk->n_ic; i++) {
        zk_fr k;
        combine(&k, job, i, &job->inv_gamma);
        if (zk_fr_is_zero(&k)) return ZK_FAIL(err, CUZK_BAD_INPUT, "toxic waste: ic of input %u would be infinity", i);
        g1_multiple(&vk->ic[i], &k);
    }
    return CUZK_OK;
}

/* ---- the whole ---- */

/* Digest of all that the bytes of the file depend on. */
static void fingerprint(uint8_t digest[32], const zk_program *p, const zk_toxic_waste *toxic) {
    const zk_fr *value[5] = {&toxic->alpha, &toxic->beta, &toxic->gamma, &toxic->delta, &toxic->tau};
    const uint64_t sizes[] = {SLICE,          p->n_inputs,    p->n_aux,   p->n_rows,
                              p->n_templates, p->n_instances, p->n_ports, p->n_coefs};
    static const char label[] = "cuzk setup 1";
    zk_sha256_ctx sha;
    zk_sha256_init(&sha);
    zk_sha256_update(&sha, label, sizeof label);
    zk_sha256_update(&sha, sizes, sizeof sizes);
    for (unsigned i = 0; i < 5; i++) zk_sha256_update(&sha, value[i], sizeof *value[i]);
    for (uint32_t i = 0; i < p->n_templates; i++) {
        const zk_template *t = &p->templates[i];
        const uint32_t shape[] = {t->n_ports, t->n_inputs, t->n_aux, t->n_rows};
        zk_sha256_update(&sha, shape, sizeof shape);
        for (unsigned m = 0; m < 3; m++) {
            zk_sha256_update(&sha, t->abc[m].row, ((size_t)t->n_rows + 1) * sizeof *t->abc[m].row);
            zk_sha256_update(&sha, t->abc[m].terms, t->abc[m].row[t->n_rows] * sizeof *t->abc[m].terms);
        }
    }
    zk_sha256_update(&sha, p->instances, p->n_instances * sizeof *p->instances);
    zk_sha256_update(&sha, p->ports, p->n_ports * sizeof *p->ports);
    zk_sha256_update(&sha, p->coefs, p->n_coefs * sizeof *p->coefs);
    zk_sha256_final(digest, &sha);
}

static cuzk_status check_toxic(const zk_toxic_waste *toxic, cuzk_err *err) {
    const zk_fr *value[5] = {&toxic->alpha, &toxic->beta, &toxic->gamma, &toxic->delta, &toxic->tau};
    static const char *const name[5] = {"alpha", "beta", "gamma", "delta", "tau"};
    for (unsigned i = 0; i < 5; i++)
        if (zk_fr_is_zero(value[i])) return ZK_FAIL(err, CUZK_BAD_INPUT, "toxic waste: %s is zero", name[i]);
    return CUZK_OK;
}

/* Drops the zeros; the order stays. */
static size_t compact(zk_fr *values, size_t n) {
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (!zk_fr_is_zero(&values[i])) values[m++] = values[i];
    return m;
}

/* Windows for this many multiples of one base: the table (2^w / 2 points a window) must pay for itself. */
static unsigned window_bits(uint64_t n, unsigned most) {
    unsigned w = zk_log2_ceil(n + 1);
    w = w > 8 ? w - 5 : 4;
    return w < most ? w : most;
}

static cuzk_status prepare(setup_job *job, size_t n_g1, size_t n_g2, cuzk_err *err) {
    zk_pool *pool = job->options->pool;
    zk_fr_inv_var(&job->inv_gamma, &job->toxic.gamma);
    zk_fr_inv_var(&job->inv_delta, &job->toxic.delta);
    zk_fr_mul(&job->h_scale, &job->columns.t, &job->inv_delta);
    ZK_TRY(zk_mem_alloc((void **)&job->scalars, "setup scalars", SLICE * sizeof *job->scalars, err));
    ZK_TRY(zk_mem_alloc(&job->points, "setup points", SLICE * sizeof(zk_g2_affine), err));
    ZK_TRY(zk_mem_alloc((void **)&job->bytes, "setup bytes", SLICE * ZK_G2_UNCOMPRESSED_BYTES, err));
    ZK_TRY(zk_fixed_base_g1_create(&job->g1, &zk_g1_generator, window_bits(n_g1, 16), pool, err));
    return zk_fixed_base_g2_create(&job->g2, &zk_g2_generator, window_bits(n_g2, 15), pool, err);
}

static cuzk_status write_vk(setup_job *job, zk_vk *vk, uint8_t sha256[32], cuzk_err *err) {
    size_t n = zk_vk_bytes(vk->n_ic);
    uint8_t *bytes = zk_malloc(n);
    if (!bytes) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "setup: verifying key: out of memory");
    zk_vk_encode(bytes, vk);
    zk_sha256(sha256, bytes, n);
    cuzk_status status = zk_key_writer_put(&job->writer, bytes, n, err);
    free(bytes);
    return status;
}

static cuzk_status make_keys(zk_setup_result *result, setup_job *job, zk_vk *vk, cuzk_err *err) {
    const zk_setup_options *o = job->options;
    const zk_program *program = job->program;
    zk_columns *columns = &job->columns;
    uint8_t print[32];

    zk_span *span = zk_span_open(o->trace, "columns");
    ZK_TRY(zk_columns_compute(columns, program, &job->toxic.tau, o->pool, err));
    zk_span_close(o->trace, span);
    size_t n_h = ((size_t)1 << columns->log2_n) - 1, n_vars = columns->n_inputs + columns->n_aux, n_a = 0, n_b = 0;
    for (size_t i = 0; i < n_vars; i++) {
        n_a += !zk_fr_is_zero(&columns->value[0][i]);
        n_b += !zk_fr_is_zero(&columns->value[1][i]);
    }
    if (n_h > UINT32_MAX)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "setup: a key file holds at most 2^32 - 1 points a section");
    job->total = n_h + columns->n_aux + n_a + 2 * n_b;
    ZK_TRY(report(job, "columns", err));

    span = zk_span_open(o->trace, "tables");
    ZK_TRY(prepare(job, n_h + columns->n_aux + n_a + n_b, n_b, err));
    ZK_TRY(make_vk(vk, job, err));
    zk_span_close(o->trace, span);

    span = zk_span_open_kernel(o->trace, "open"); /* a resumed file is read up to where it ends */
    fingerprint(print, program, &job->toxic);
    ZK_TRY(zk_key_writer_open(&job->writer, o->params_path, o->resumable && o->toxic ? print : NULL, err));
    job->writing = true;
    result->resumed_bytes = job->writer.resumed;
    ZK_TRY(write_vk(job, vk, result->vk_sha256, err));
    zk_span_close(o->trace, span);

    span = zk_span_open_kernel(o->trace, "h");
    ZK_TRY(write_section(job, ZK_PARAMS_H, n_h, NULL, err));
    zk_span_close(o->trace, span);
    span = zk_span_open_kernel(o->trace, "l");
    ZK_TRY(write_section(job, ZK_PARAMS_L, columns->n_aux, NULL, err));
    zk_span_close(o->trace, span);
    span = zk_span_open_kernel(o->trace, "a");
    compact(columns->value[0], n_vars); /* l needs the columns no more */
    ZK_TRY(write_section(job, ZK_PARAMS_A, n_a, columns->value[0], err));
    zk_span_close(o->trace, span);
    span = zk_span_open_kernel(o->trace, "b_g1");
    compact(columns->value[1], n_vars);
    ZK_TRY(write_section(job, ZK_PARAMS_B_G1, n_b, columns->value[1], err));
    zk_span_close(o->trace, span);
    span = zk_span_open_kernel(o->trace, "b_g2");
    ZK_TRY(write_section(job, ZK_PARAMS_B_G2, n_b, columns->value[1], err));
    zk_span_close(o->trace, span);

    span = zk_span_open_kernel(o->trace, "flush");
    result->params_bytes = job->writer.offset;
    /* the small file first: when the large one has its name, both are there */
    if (o->vk_path) ZK_TRY(zk_vk_write(vk, o->vk_path, err));
    job->writing = false;
    cuzk_status status = zk_key_writer_finish(&job->writer, result->params_sha256, err);
    if (status != CUZK_OK) {
        if (o->vk_path) unlink(o->vk_path);
        return status;
    }
    zk_span_close(o->trace, span);
    return CUZK_OK;
}

cuzk_status zk_setup(zk_setup_result *result, const zk_program *program, const zk_setup_options *options,
                     cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    setup_job job = {.program = program, .options = options};
    zk_vk vk = {0};
    zk_span *span = zk_span_open(options->trace, "setup");
    *result = (zk_setup_result){0};
    if (options->toxic)
        job.toxic = *options->toxic;
    else
        ZK_GOTO(zk_toxic_waste_random(&job.toxic, err));
    ZK_GOTO(check_toxic(&job.toxic, err));
    ZK_GOTO(make_keys(result, &job, &vk, err));
out:
    if (job.writing) zk_key_writer_abandon(&job.writer, status == CUZK_CANCELLED);
    zk_wipe(&job.toxic, sizeof job.toxic);
    zk_columns_clear(&job.columns);
    zk_fixed_base_g1_destroy(job.g1);
    zk_fixed_base_g2_destroy(job.g2);
    zk_mem_free(job.scalars);
    zk_mem_free(job.points);
    zk_mem_free(job.bytes);
    zk_vk_clear(&vk);
    zk_span_close(options->trace, span);
    return status;
}
