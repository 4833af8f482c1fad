#include "groth16/setup.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/cancel.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rand.h"
#include "groth16/key_writer.h"

#define SLICE ((size_t)1 << 16) /* points written at a time; part of the fingerprint */
#define BATCH (4 * SLICE)       /* points made at a time: a device wants many */

/* What a setup works with, and frees at its end. */
typedef struct setup_job {
    const zk_program *program;
    const zk_setup_options *options;
    zk_backend *own_backend; /* when none was given */
    zk_toxic_waste toxic;
    zk_key_scalars scalars;
    zk_multiples *multiples[2];
    zk_fr *batch;   /* [BATCH] scalars (or as many as there are) */
    uint8_t *bytes; /* [BATCH] points, encoded */
    zk_key_writer writer;
    bool writing;
    uint64_t done, total;
} setup_job;

static cuzk_status report(const setup_job *job, const char *section, cuzk_err *err) {
    const zk_setup_options *o = job->options;
    if (o->progress) o->progress(o->progress_ctx, section, job->done, job->total);
    if (o->cancelled && o->cancelled(o->cancelled_ctx))
        return ZK_FAIL(err, CUZK_CANCELLED, "setup of %s cancelled at section %s", o->params_path, section);
    return zk_cancel_check(NULL, "setup", err);
}

/* Points [first, first + n) of a section, encoded in job->bytes. */
static cuzk_status make_batch(setup_job *job, zk_params_section_id id, size_t first, size_t n, cuzk_err *err) {
    zk_key_scalars_get(&job->scalars, id, job->batch, first, n);
    for (size_t i = 0; i < n; i++)
        if (zk_fr_is_zero(&job->batch[i])) return zk_key_scalars_refuse(id, first + i, err);
    return zk_multiples_encode(job->multiples[zk_params_section_group(id)], job->bytes, job->batch, n, err);
}

static cuzk_status write_section(setup_job *job, zk_params_section_id id, cuzk_err *err) {
    const char *name = zk_params_section_name(id);
    size_t point_bytes = zk_params_point_bytes(id), n = job->scalars.n[id];
    size_t made_first = 0, made_end = 0; /* the points in job->bytes */
    uint8_t count[4];
    zk_store_be32(count, (uint32_t)n);
    ZK_TRY(zk_key_writer_put(&job->writer, count, sizeof count, err));
    for (size_t first = 0; first < n; first += SLICE) {
        size_t m = zk_min_size(SLICE, n - first);
        if (!zk_key_writer_skip(&job->writer, m * point_bytes)) {
            if (first >= made_end) {
                made_first = first;
                made_end = first + zk_min_size(BATCH, n - first);
                ZK_TRY(make_batch(job, id, first, made_end - first, err));
            }
            ZK_TRY(
                zk_key_writer_put(&job->writer, job->bytes + (first - made_first) * point_bytes, m * point_bytes, err));
        }
        job->done += m;
        ZK_TRY(report(job, name, err));
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

static cuzk_status prepare(setup_job *job, cuzk_err *err) {
    const zk_setup_options *o = job->options;
    zk_backend *backend = o->backend;
    size_t most = 0;
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++) most = zk_max_size(most, job->scalars.n[id]);
    most = zk_min_size(most, BATCH);
    if (!backend) {
        ZK_TRY(zk_backend_open_cpu(&job->own_backend, o->pool, err));
        backend = job->own_backend;
    }
    ZK_TRY(zk_mem_alloc((void **)&job->batch, "setup scalars", most * sizeof *job->batch, err));
    ZK_TRY(zk_mem_alloc((void **)&job->bytes, "setup bytes", most * ZK_G2_UNCOMPRESSED_BYTES, err));
    return zk_key_multiples_create(job->multiples, &job->scalars, backend, err);
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
    uint8_t print[32];

    zk_span *span = zk_span_open(o->trace, "columns");
    ZK_TRY(zk_key_scalars_create(&job->scalars, job->program, &job->toxic, o->pool, err));
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++) job->total += job->scalars.n[id];
    ZK_TRY(report(job, "columns", err));
    zk_span_close(o->trace, span);

    span = zk_span_open(o->trace, "tables");
    ZK_TRY(prepare(job, err));
    ZK_TRY(zk_key_scalars_vk(vk, &job->scalars, job->multiples, err));
    zk_span_close(o->trace, span);

    span = zk_span_open_kernel(o->trace, "open"); /* a resumed file is read up to where it ends */
    fingerprint(print, job->program, &job->toxic);
    if (o->vk_path) ZK_TRY(zk_file_check_writable(o->vk_path, err)); /* it is written last */
    ZK_TRY(zk_key_writer_open(&job->writer, o->params_path, o->resumable && o->toxic ? print : NULL, err));
    job->writing = true;
    result->resumed_bytes = job->writer.resumed;
    ZK_TRY(write_vk(job, vk, result->vk_sha256, err));
    zk_span_close(o->trace, span);

    for (int i = 0; i < ZK_PARAMS_N_SECTIONS; i++) {
        zk_params_section_id id = (zk_params_section_id)i;
        span = zk_span_open_kernel(o->trace, zk_params_section_name(id));
        ZK_TRY(write_section(job, id, err));
        zk_key_scalars_done(&job->scalars, id);
        zk_span_count(span, "points", job->scalars.n[id]);
        zk_span_close(o->trace, span);
    }

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
    ZK_GOTO(make_keys(result, &job, &vk, err));
out:
    if (job.writing) zk_key_writer_abandon(&job.writer, status == CUZK_CANCELLED);
    zk_wipe(&job.toxic, sizeof job.toxic);
    zk_key_scalars_clear(&job.scalars);
    zk_key_multiples_destroy(job.multiples);
    zk_backend_close(job.own_backend);
    zk_mem_free(job.batch);
    zk_mem_free(job.bytes);
    zk_vk_clear(&vk);
    zk_span_close(options->trace, span);
    return status;
}
