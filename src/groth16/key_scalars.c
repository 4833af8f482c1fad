#include "groth16/key_scalars.h"

#include "base/alloc.h"
#include "base/bitmap.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/rand.h"
#include "groth16/random.h"

#define SCALAR_CHUNK 1024
#define RANK_BLOCK ((size_t)4096)

cuzk_status zk_toxic_waste_random(zk_toxic_waste *toxic, cuzk_err *err) {
    zk_fr *value[5] = {&toxic->alpha, &toxic->beta, &toxic->gamma, &toxic->delta, &toxic->tau};
    for (unsigned i = 0; i < 5; i++) do
            ZK_TRY(zk_random_fr(value[i], err));
        while (zk_fr_is_zero(value[i]));
    return CUZK_OK;
}

static cuzk_status check_toxic(const zk_toxic_waste *toxic, cuzk_err *err) {
    const zk_fr *value[5] = {&toxic->alpha, &toxic->beta, &toxic->gamma, &toxic->delta, &toxic->tau};
    static const char *const name[5] = {"alpha", "beta", "gamma", "delta", "tau"};
    for (unsigned i = 0; i < 5; i++)
        if (zk_fr_is_zero(value[i])) return ZK_FAIL(err, CUZK_BAD_INPUT, "toxic waste: %s is zero", name[i]);
    return CUZK_OK;
}

/* ---- a and b: the columns that are not zero ---- */

typedef struct count_job {
    const zk_fr *column;
    size_t n;
    size_t *rank; /* [n_blocks + 1]; the count of block k goes to rank[k + 1] */
} count_job;

static void count_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const count_job *job = ctx;
    (void)thread;
    for (size_t block = begin; block < end; block++) {
        size_t count = 0, last = zk_min_size((block + 1) * RANK_BLOCK, job->n);
        for (size_t i = block * RANK_BLOCK; i < last; i++) count += !zk_fr_is_zero(&job->column[i]);
        job->rank[block + 1] = count;
    }
}

static cuzk_status rank_column(zk_key_scalars *s, unsigned matrix, uint64_t *n_nonzero, cuzk_err *err) {
    count_job job = {.column = s->columns.value[matrix], .n = s->columns.n_inputs + s->columns.n_aux};
    size_t n_blocks = (job.n + RANK_BLOCK - 1) / RANK_BLOCK;
    s->rank[matrix] = job.rank = zk_calloc(n_blocks + 1, sizeof *job.rank);
    if (!job.rank) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "key of %zu variables: out of memory", job.n);
    zk_pool_for(s->pool, n_blocks, 16, count_range, &job);
    for (size_t block = 0; block < n_blocks; block++) job.rank[block + 1] += job.rank[block];
    *n_nonzero = job.rank[n_blocks];
    return CUZK_OK;
}

/* Where the element `at` of those that are not zero stands. */
static size_t select_nonzero(const zk_key_scalars *s, unsigned matrix, size_t at) {
    const size_t *rank = s->rank[matrix];
    const zk_fr *column = s->columns.value[matrix];
    size_t low = 0, high = (s->columns.n_inputs + s->columns.n_aux + RANK_BLOCK - 1) / RANK_BLOCK;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (rank[mid] <= at)
            low = mid;
        else
            high = mid;
    }
    size_t i = low * RANK_BLOCK;
    for (size_t left = at - rank[low];; i++)
        if (!zk_fr_is_zero(&column[i]) && left-- == 0) return i;
}

/* ---- scalars ---- */

cuzk_status zk_key_scalars_create(zk_key_scalars *s, const zk_program *program, const zk_toxic_waste *toxic,
                                  zk_pool *pool, cuzk_err *err) {
    zk_fr inv_delta, inv_gamma;
    *s = (zk_key_scalars){.pool = pool, .toxic = *toxic};
    ZK_TRY(check_toxic(toxic, err));
    zk_fr_inv_var(&inv_delta, &toxic->delta);
    zk_fr_inv_var(&inv_gamma, &toxic->gamma);
    s->aux.of[2] = inv_delta;
    s->inputs.of[2] = inv_gamma;
    zk_fr_mul(&s->aux.of[0], &toxic->beta, &inv_delta);
    zk_fr_mul(&s->aux.of[1], &toxic->alpha, &inv_delta);
    zk_fr_mul(&s->inputs.of[0], &toxic->beta, &inv_gamma);
    zk_fr_mul(&s->inputs.of[1], &toxic->alpha, &inv_gamma);

    ZK_TRY(zk_columns_compute(&s->columns, program, &toxic->tau, pool, err));
    zk_fr_mul(&s->h_scale, &s->columns.t, &inv_delta);
    s->n[ZK_PARAMS_H] = (UINT64_C(1) << s->columns.log2_n) - 1;
    s->n[ZK_PARAMS_L] = s->columns.n_aux;
    ZK_TRY(rank_column(s, 0, &s->n[ZK_PARAMS_A], err));
    ZK_TRY(rank_column(s, 1, &s->n[ZK_PARAMS_B_G1], err));
    s->n[ZK_PARAMS_B_G2] = s->n[ZK_PARAMS_B_G1];
    return CUZK_OK;
}

void zk_key_scalars_clear(zk_key_scalars *s) {
    zk_columns_clear(&s->columns);
    free(s->rank[0]);
    free(s->rank[1]);
    free(s->c_input);
    free(s->c_at_tau);
    zk_wipe(s, sizeof *s);
}

/* The weighted sum of A, B, C of the variable `at`. */
static void combine(zk_fr *r, const zk_columns *columns, size_t at, const zk_key_weights *weights) {
    zk_fr t;
    *r = zk_fr_zero;
    for (unsigned m = 0; m < 3; m++) {
        const zk_fr *value = &columns->value[m][at];
        if (zk_fr_is_zero(value)) continue;
        zk_fr_mul(&t, value, &weights->of[m]);
        zk_fr_add(r, r, &t);
    }
}

typedef struct get_job {
    const zk_key_scalars *s;
    zk_params_section_id id;
    zk_fr *out;
    size_t first;
} get_job;

static void get_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const get_job *job = ctx;
    const zk_key_scalars *s = job->s;
    (void)thread;
    if (job->id == ZK_PARAMS_H) {
        zk_fr power;
        zk_fr_pow_u64(&power, &s->toxic.tau, job->first + begin);
        zk_fr_mul(&power, &power, &s->h_scale);
        for (size_t i = begin; i < end; i++) {
            job->out[i] = power;
            zk_fr_mul(&power, &power, &s->toxic.tau);
        }
    } else if (job->id == ZK_PARAMS_L) {
        for (size_t i = begin; i < end; i++)
            combine(&job->out[i], &s->columns, s->columns.n_inputs + job->first + i, &s->aux);
    } else {
        unsigned matrix = job->id == ZK_PARAMS_A ? 0 : 1;
        const zk_fr *from = &s->columns.value[matrix][select_nonzero(s, matrix, job->first + begin)];
        for (size_t i = begin; i < end; from++)
            if (!zk_fr_is_zero(from)) job->out[i++] = *from;
    }
}

void zk_key_scalars_get(const zk_key_scalars *s, zk_params_section_id id, zk_fr *out, size_t first, size_t n) {
    get_job job = {s, id, out, first};
    zk_pool_for(s->pool, n, SCALAR_CHUNK, get_range, &job);
}

void zk_key_scalars_done(zk_key_scalars *s, zk_params_section_id id) {
    static const int8_t last_use[ZK_PARAMS_N_SECTIONS] = {
        [ZK_PARAMS_H] = -1, [ZK_PARAMS_L] = 2, [ZK_PARAMS_A] = 0, [ZK_PARAMS_B_G1] = -1, [ZK_PARAMS_B_G2] = 1};
    if (last_use[id] < 0) return;
    zk_mem_free(s->columns.value[last_use[id]]);
    s->columns.value[last_use[id]] = NULL;
}

cuzk_status zk_key_scalars_refuse(zk_params_section_id id, size_t index, cuzk_err *err) {
    return ZK_FAIL(err, CUZK_BAD_INPUT, "toxic waste: point %zu of section %s would be infinity", index,
                   zk_params_section_name(id));
}

/* ---- prepared ---- */

/* C_v(tau) becomes C_v(tau) less the share that goes over the points of h,
 * t/z (C_v(tau) - tau^(n-1) sum_i C_(i,v) w^i / n). */
static cuzk_status reweigh(zk_key_scalars *s, const zk_program *program, const zk_fr *t_over_z, const zk_fr *power,
                           cuzk_err *err) {
    zk_fr scale, power_scale, n;
    zk_fr_sub(&scale, &zk_fr_one, t_over_z);
    zk_fr_from_u64(&n, s->n_g);
    zk_fr_inv_var(&n, &n);
    zk_fr_mul(&power_scale, t_over_z, power);
    zk_fr_mul(&power_scale, &power_scale, &n);
    return zk_columns_reweigh_c(&s->columns, program, &s->toxic.tau, &scale, &power_scale, s->pool, err);
}

static cuzk_status find_c_inputs(zk_key_scalars *s, const zk_program *program, cuzk_err *err) {
    uint64_t *map = zk_calloc(zk_bitmap_words(program->n_inputs), 8);
    size_t n = 0;
    s->c_input = zk_calloc(program->n_inputs, sizeof *s->c_input);
    s->c_at_tau = zk_calloc(program->n_inputs, sizeof *s->c_at_tau);
    cuzk_status status = map && s->c_input && s->c_at_tau
                             ? zk_columns_c_inputs(map, &s->n_c_inputs, program, err)
                             : ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "key of circuit %s: out of memory", program->name);
    for (uint32_t i = 0; status == CUZK_OK && i < program->n_inputs; i++) {
        if (!zk_bitmap_get(map, i)) continue;
        s->c_input[n] = i;
        s->c_at_tau[n++] = s->columns.value[2][i];
    }
    free(map);
    return status;
}

cuzk_status zk_key_scalars_prepare(zk_key_scalars *s, const zk_program *program, cuzk_err *err) {
    const uint64_t n = UINT64_C(1) << s->columns.log2_n;
    zk_fr gn, tau_power, z, inv, t_over_z;
    zk_fr_pow_u64(&gn, &zk_fr_generator, n);
    zk_fr_sub(&z, &gn, &zk_fr_one);
    if (zk_fr_eq(&z, &s->columns.t)) /* tau^n = g^n */
        return ZK_FAIL(err, CUZK_BAD_INPUT, "toxic waste: tau lies on the coset of 2^%u points", s->columns.log2_n);
    s->n_g = n;
    zk_fr_pow_u64(&tau_power, &s->toxic.tau, n - 1);
    zk_fr_inv_var(&inv, &gn);
    zk_fr_mul(&s->g_power, &tau_power, &inv);
    zk_fr_inv_var(&inv, &z);
    zk_fr_mul(&t_over_z, &s->columns.t, &inv);
    zk_fr_from_u64(&s->g_scale, n);
    zk_fr_inv_var(&s->g_scale, &s->g_scale);
    zk_fr_mul(&s->g_scale, &s->g_scale, &inv);
    zk_fr_mul(&s->g_scale, &s->g_scale, &s->h_scale);
    ZK_TRY(find_c_inputs(s, program, err));
    s->n_prepared_l = s->n_c_inputs + s->columns.n_aux;
    return reweigh(s, program, &t_over_z, &tau_power, err);
}

/* g_scale x (x g_power - 1)/(tau - x) at x = g w^-j */
static void get_g_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const get_job *job = ctx;
    const zk_key_scalars *s = job->s;
    zk_fr denominator[SCALAR_CHUNK], scratch[SCALAR_CHUNK], w_inv, x, t;
    size_t n = end - begin;
    (void)thread;
    zk_fr_root_of_unity(&w_inv, s->columns.log2_n);
    zk_fr_inv_var(&w_inv, &w_inv);
    zk_fr_pow_u64(&x, &w_inv, job->first + begin);
    zk_fr_mul(&x, &x, &zk_fr_generator);
    for (size_t i = 0; i < n; i++) {
        zk_fr_sub(&denominator[i], &s->toxic.tau, &x);
        zk_fr_mul(&t, &x, &s->g_power);
        zk_fr_sub(&t, &t, &zk_fr_one);
        zk_fr_mul(&t, &t, &x);
        zk_fr_mul(&job->out[begin + i], &t, &s->g_scale);
        zk_fr_mul(&x, &x, &w_inv);
    }
    zk_fr_batch_inv_var(denominator, n, scratch);
    for (size_t i = 0; i < n; i++) zk_fr_mul(&job->out[begin + i], &job->out[begin + i], &denominator[i]);
}

void zk_key_scalars_get_g(const zk_key_scalars *s, zk_fr *out, size_t first, size_t n) {
    get_job job = {.s = s, .out = out, .first = first};
    zk_pool_for(s->pool, n, SCALAR_CHUNK, get_g_range, &job);
}

static void get_prepared_l_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const get_job *job = ctx;
    const zk_key_scalars *s = job->s;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        size_t at = job->first + i;
        zk_fr *r = &job->out[i];
        if (at < s->n_c_inputs) { /* of C alone, and only what has been taken away */
            zk_fr_sub(r, &s->columns.value[2][s->c_input[at]], &s->c_at_tau[at]);
            zk_fr_mul(r, r, &s->aux.of[2]);
        } else {
            combine(r, &s->columns, s->columns.n_inputs + at - s->n_c_inputs, &s->aux);
        }
    }
}

void zk_key_scalars_get_prepared_l(const zk_key_scalars *s, zk_fr *out, size_t first, size_t n) {
    get_job job = {.s = s, .out = out, .first = first};
    zk_pool_for(s->pool, n, SCALAR_CHUNK, get_prepared_l_range, &job);
}

/* ---- points ---- */

cuzk_status zk_key_multiples_create(zk_multiples *multiples[2], const zk_key_scalars *s, zk_backend *backend,
                                    cuzk_err *err) {
    uint64_t n[2] = {0};
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++) n[zk_params_section_group((zk_params_section_id)id)] += s->n[id];
    multiples[0] = multiples[1] = NULL;
    ZK_TRY(zk_multiples_create(&multiples[ZK_G1], backend, ZK_G1, n[ZK_G1], err));
    return zk_multiples_create(&multiples[ZK_G2], backend, ZK_G2, n[ZK_G2], err);
}

void zk_key_multiples_destroy(zk_multiples *multiples[2]) {
    for (int group = 0; group < 2; group++) {
        zk_multiples_destroy(multiples[group]);
        multiples[group] = NULL;
    }
}

static bool read_g1(zk_g1_affine *r, const uint8_t *encoded) {
    return zk_g1_deserialize(r, encoded, false) == ZK_POINT_OK && !zk_g1_affine_is_infinity(r);
}
static bool read_g2(zk_g2_affine *r, const uint8_t *encoded) {
    return zk_g2_deserialize(r, encoded, false) == ZK_POINT_OK && !zk_g2_affine_is_infinity(r);
}

cuzk_status zk_key_scalars_vk(zk_vk *vk, const zk_key_scalars *s, zk_multiples *const multiples[2], cuzk_err *err) {
    const zk_toxic_waste *toxic = &s->toxic;
    enum { N_G1 = 3, N_G2 = 3 }; /* but the inputs' */
    const size_t step = ZK_G1_UNCOMPRESSED_BYTES, step2 = ZK_G2_UNCOMPRESSED_BYTES;
    size_t n_ic = s->columns.n_inputs, n = N_G1 + n_ic;
    zk_fr *scalars = zk_malloc(n * sizeof *scalars), scalars2[N_G2] = {toxic->beta, toxic->gamma, toxic->delta};
    uint8_t *encoded = zk_malloc(n * step), encoded2[N_G2 * ZK_G2_UNCOMPRESSED_BYTES];
    cuzk_status status = CUZK_OK;
    *vk = (zk_vk){.n_ic = (uint32_t)n_ic, .ic = zk_malloc(n_ic * sizeof *vk->ic)};
    if (!scalars || !encoded || !vk->ic)
        ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "verifying key of %zu inputs: out of memory", n_ic));
    scalars[0] = toxic->alpha;
    scalars[1] = toxic->beta;
    scalars[2] = toxic->delta;
    for (size_t i = 0; i < n_ic; i++) {
        combine(&scalars[N_G1 + i], &s->columns, i, &s->inputs);
        if (zk_fr_is_zero(&scalars[N_G1 + i]))
            ZK_GOTO(ZK_FAIL(err, CUZK_BAD_INPUT, "toxic waste: ic of input %zu would be infinity", i));
    }
    ZK_GOTO(zk_multiples_encode(multiples[ZK_G1], encoded, scalars, n, err));
    ZK_GOTO(zk_multiples_encode(multiples[ZK_G2], encoded2, scalars2, N_G2, err));
    bool good = read_g1(&vk->alpha_g1, encoded) && read_g1(&vk->beta_g1, encoded + step) &&
                read_g1(&vk->delta_g1, encoded + 2 * step) && read_g2(&vk->beta_g2, encoded2) &&
                read_g2(&vk->gamma_g2, encoded2 + step2) && read_g2(&vk->delta_g2, encoded2 + 2 * step2);
    for (size_t i = 0; good && i < n_ic; i++) good = read_g1(&vk->ic[i], encoded + (N_G1 + i) * step);
    if (!good)
        ZK_GOTO(ZK_FAIL(err, CUZK_INTERNAL, "verifying key: %s makes what is no point of the curve",
                        multiples[ZK_G1]->backend->caps.device));
out:
    if (scalars) zk_wipe(scalars, n * sizeof *scalars);
    zk_wipe(scalars2, sizeof scalars2);
    free(scalars);
    free(encoded);
    if (status != CUZK_OK) zk_vk_clear(vk);
    return status;
}
