#include "base/alloc.h"
#include "base/bytes.h"
#include "base/cancel.h"
#include "base/mem.h"
#include "base/rand.h"
#include "groth16/prepare_impl.h"

#define PIECE ((size_t)1 << 20) /* scalars made and uploaded at a time */
#define CHUNK 4096

static cuzk_status wait(const zk_prepare_sums *s, const char *what, cuzk_err *err) {
    ZK_TRY(zk_backend_wait(s->options->backend, NULL, err));
    if (s->options->progress) s->options->progress(s->options->progress_ctx, what, 0, 0);
    return zk_cancel_check(NULL, what, err);
}

cuzk_status zk_prepare_sums_open(zk_prepare_sums *s, const zk_params *params, const zk_prepare_order *order,
                                 unsigned log2_n, const zk_prepare_options *options, cuzk_err *err) {
    const zk_params_section *h = &params->section[ZK_PARAMS_H];
    zk_points_source source = {.name = "prepare h", .encoded = params->bytes + h->offset, .n = h->n};
    zk_points_fault fault;
    *s = (zk_prepare_sums){.options = options, .params = params, .order = order, .n = (size_t)1 << log2_n};
    zk_fr_pow_u64(&s->inv_z, &zk_fr_generator, s->n);
    zk_fr_sub(&s->inv_z, &s->inv_z, &zk_fr_one);
    zk_fr_inv_var(&s->inv_z, &s->inv_z);
    ZK_TRY(zk_mem_alloc((void **)&s->rows, "prepare rows", s->n * sizeof *s->rows, err));
    ZK_TRY(zk_ntt_domain_create(&s->domain, log2_n, options->pool, err));
    cuzk_status status = zk_resident_points_load(&s->h, NULL, &fault, options->backend, &source, err);
    if (status != CUZK_OK && fault.found) return zk_params_refuse_point(params, ZK_PARAMS_H, &fault, status, err);
    return status;
}

void zk_prepare_sums_close(zk_prepare_sums *s) {
    if (!s->options) return;
    zk_buffer_destroy(s->scalars);
    zk_resident_points_unload(s->h);
    zk_ntt_domain_destroy(s->domain);
    zk_mem_free(s->rows);
    *s = (zk_prepare_sums){0};
}

static cuzk_status scalars_for(zk_prepare_sums *s, size_t n, cuzk_err *err) {
    zk_buffer_destroy(s->scalars);
    return zk_buffer_create(&s->scalars, s->options->backend, "prepare scalars", n * sizeof(zk_fr), err);
}

/* 1/z times the sum over the points of h, scalars s->rows. */
static cuzk_status sum_over_h(zk_g1 *sum, zk_prepare_sums *s, cuzk_err *err) {
    zk_point_sum result;
    ZK_TRY(scalars_for(s, s->n, err));
    ZK_TRY(zk_buffer_upload(NULL, s->scalars, 0, s->rows, s->n * sizeof *s->rows, err));
    ZK_TRY(zk_stage_msm(NULL, s->h, s->scalars, 0, &result, err));
    ZK_TRY(wait(s, "sum over h", err));
    zk_g1_mul_var(sum, &result.g1, &s->inv_z);
    return CUZK_OK;
}

/* sum_i rows_i R_i = 1/(n z) sum_m (sum_i rows_i w^(-i m)) H_m */
static cuzk_status sum_of_rows(zk_g1 *sum, zk_prepare_sums *s, const zk_prepare_weights *weights, cuzk_err *err) {
    memset(s->rows, 0, s->n * sizeof *s->rows);
    ZK_TRY(zk_prepare_rows(s->rows, s->order, weights, s->options->pool, err));
    zk_ntt_inverse(s->domain, s->rows, s->options->pool);
    return sum_over_h(sum, s, err);
}

cuzk_status zk_prepare_constant(zk_g1 *sum, zk_prepare_sums *s, cuzk_err *err) {
    return sum_of_rows(sum, s, &(zk_prepare_weights){.constant_only = true}, err);
}

/* ---- random combinations ---- */

typedef struct random_job {
    zk_fr *out;
    uint64_t seed;
    size_t first; /* out[0] is number `first` */
    size_t n;     /* or, if not zero: out[i] is number -i mod n */
} random_job;

static void random_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const random_job *job = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++)
        zk_fr_from_u64(&job->out[i],
                       zk_prepare_random(job->seed, job->n ? (job->n - i) & (job->n - 1) : job->first + i));
}

/* sum_i [number first + i] P_i over the points of a section. */
static cuzk_status combine(zk_g1 *sum, zk_prepare_sums *s, const zk_points_source *source, size_t first, uint64_t seed,
                           zk_points_fault *fault, cuzk_err *err) {
    zk_resident_points *points = NULL;
    zk_point_sum result;
    zk_fr *piece = NULL;
    cuzk_status status = CUZK_OK;
    *fault = (zk_points_fault){0};
    ZK_GOTO(scalars_for(s, source->n, err));
    ZK_GOTO(zk_mem_alloc((void **)&piece, "prepare piece", zk_min_size(PIECE, source->n) * sizeof *piece, err));
    for (size_t at = 0; at < source->n; at += PIECE) {
        size_t n = zk_min_size(PIECE, source->n - at);
        random_job job = {.out = piece, .seed = seed, .first = first + at};
        zk_pool_for(s->options->pool, n, CHUNK, random_range, &job);
        ZK_GOTO(zk_buffer_upload(NULL, s->scalars, at * sizeof *piece, piece, n * sizeof *piece, err));
    }
    ZK_GOTO(zk_resident_points_load(&points, NULL, fault, s->options->backend, source, err));
    ZK_GOTO(zk_stage_msm(NULL, points, s->scalars, 0, &result, err));
    ZK_GOTO(wait(s, source->name, err));
    *sum = result.g1;
out:
    zk_resident_points_unload(points);
    zk_mem_free(piece);
    return status;
}

static cuzk_status combine_prepared(zk_g1 *sum, zk_prepare_sums *s, const zk_prepared_params *prepared,
                                    zk_prepared_section_id id, uint64_t seed, cuzk_err *err) {
    zk_points_source source = {.name = id == ZK_PREPARED_G ? "checking g" : "checking l",
                               .encoded = prepared->section[id].points,
                               .n = prepared->section[id].n};
    zk_points_fault fault;
    cuzk_status status = combine(sum, s, &source, 0, seed, &fault, err);
    return fault.found ? zk_prepared_params_refuse_point(prepared, id, &fault, CUZK_CHECK_FAILED, err) : status;
}

static cuzk_status disagree(const zk_prepare_sums *s, zk_prepared_section_id id, cuzk_err *err) {
    return ZK_FAIL(err, CUZK_CHECK_FAILED,
                   "%s: section %s of its prepared key does not agree with it: a point of the parameters is not in the "
                   "subgroup (cuzk params check tells), or %s computes wrongly",
                   s->params->name, zk_prepared_section_name(id), s->options->backend->caps.device);
}

/* sum_j e_j G_j = 1/(n z) sum_k g^-k (sum_j e_j w^(jk)) H_k; the inverse transform of the coset has w^(-jk). */
static cuzk_status check_g(zk_prepare_sums *s, const zk_prepared_params *prepared, uint64_t seed, cuzk_err *err) {
    zk_g1 left, right;
    random_job job = {.out = s->rows, .seed = seed, .n = s->n};
    ZK_TRY(combine_prepared(&left, s, prepared, ZK_PREPARED_G, seed, err));
    zk_pool_for(s->options->pool, s->n, CHUNK, random_range, &job);
    zk_ntt_coset_inverse(s->domain, s->rows, s->options->pool);
    ZK_TRY(sum_over_h(&right, s, err));
    return zk_g1_eq(&left, &right) ? CUZK_OK : disagree(s, ZK_PREPARED_G, err);
}

static cuzk_status check_l(zk_prepare_sums *s, const zk_prepared_params *prepared, uint64_t seed, cuzk_err *err) {
    const zk_params_section *l = &s->params->section[ZK_PARAMS_L];
    zk_points_source source = {.name = "checking l", .encoded = s->params->bytes + l->offset, .n = l->n};
    zk_points_fault fault;
    zk_g1 left, right, rows;
    ZK_TRY(combine_prepared(&left, s, prepared, ZK_PREPARED_L, seed, err));
    cuzk_status status = combine(&right, s, &source, s->order->n_c_inputs, seed, &fault, err);
    if (fault.found) return zk_params_refuse_point(s->params, ZK_PARAMS_L, &fault, status, err);
    ZK_TRY(status);
    ZK_TRY(sum_of_rows(&rows, s, &(zk_prepare_weights){.seed = seed}, err));
    zk_g1_neg(&rows, &rows);
    zk_g1_add(&right, &right, &rows);
    return zk_g1_eq(&left, &right) ? CUZK_OK : disagree(s, ZK_PREPARED_L, err);
}

cuzk_status zk_prepare_check(zk_prepare_sums *s, const zk_prepared_params *prepared, cuzk_err *err) {
    uint64_t seed[2];
    ZK_TRY(zk_rand_bytes((uint8_t *)seed, sizeof seed, err));
    ZK_TRY(check_g(s, prepared, seed[0], err));
    return check_l(s, prepared, seed[1], err);
}
