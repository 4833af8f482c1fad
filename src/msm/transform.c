#include "msm/transform.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/cancel.h"
#include "msm/glv.h"

/* The split network of ntt/kernels.h: level l works on 2^l blocks of n / 2^l points, block b has the twiddle zeta_b =
 * w^(n t) with t = sum b_i 2^(-i-2) over the bits of b, and (u, v) become (u + zeta v, u - zeta v). From natural
 * to bit-reversed order; at last points change places. Block 0 of each level needs no multiplication. */
#define MULTIPLES 64    /* of points, made together by a thread */
#define LOW_BITS 10     /* of the number of a block: twiddles by two tables */
#define LEVEL_CHUNKS 64 /* of a level, between two looks at progress */

typedef struct twiddles {
    zk_fr *low, *high; /* zeta_b = low[b mod 2^LOW_BITS] high[b >> LOW_BITS] */
} twiddles;

typedef struct transform_job {
    zk_g1_affine *points;
    size_t n;
    unsigned log2_n, level;
    size_t first; /* butterfly or point, of the chunk in hand */
    twiddles zeta;
    const zk_fr *shift, *scale;
    struct multiplier *scratch; /* [n_threads] */
} transform_job;

/* t[b] for b < 2^n_bits: the product of step[i] over the bits i of b. */
static void fill_by_bits(zk_fr *t, unsigned n_bits, const zk_fr *step) {
    t[0] = zk_fr_one;
    for (unsigned i = 0; i < n_bits; i++)
        for (size_t k = 0; k < (size_t)1 << i; k++) zk_fr_mul(&t[((size_t)1 << i) + k], &t[k], &step[i]);
}

static cuzk_status make_twiddles(twiddles *t, unsigned log2_n, cuzk_err *err) {
    unsigned n_bits = log2_n ? log2_n - 1 : 0, low = n_bits < LOW_BITS ? n_bits : LOW_BITS;
    zk_fr step[ZK_FR_TWO_ADICITY];
    t->low = zk_malloc(sizeof *t->low << low);
    t->high = zk_malloc(sizeof *t->high << (n_bits - low));
    if (!t->low || !t->high) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "transform of 2^%u points: no memory", log2_n);
    for (unsigned i = 0; i < n_bits; i++) zk_fr_root_of_unity(&step[i], i + 2);
    fill_by_bits(t->low, low, step);
    fill_by_bits(t->high, n_bits - low, step + low);
    return CUZK_OK;
}

static void twiddle_of(zk_fr *zeta, const transform_job *job, size_t block) {
    zk_fr_mul(zeta, &job->zeta.low[block & (((size_t)1 << LOW_BITS) - 1)], &job->zeta.high[block >> LOW_BITS]);
}

/* ---- multiples of many points ---- */

typedef struct multiplier {
    zk_glv_table table;
    zk_glv_digit digits[MULTIPLES][ZK_GLV_DIGITS];
    size_t string[MULTIPLES];      /* which digits are those of point i */
    zk_g1_affine point[MULTIPLES]; /* the points, and below what becomes of them */
    zk_g1 product[MULTIPLES];
    zk_g1 work[2 * MULTIPLES];
    zk_g1_affine affine[2 * MULTIPLES];
} multiplier;

/* product[i] = [k] point[i], k of digits[string[i]], for n points; infinity stays infinity. */
static void multiply(multiplier *m, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!zk_g1_affine_is_infinity(&m->point[i])) {
            zk_glv_entries(&m->work[2 * i], &m->point[i]);
            continue;
        }
        zk_g1_set_infinity(&m->work[2 * i]);
        zk_g1_set_infinity(&m->work[2 * i + 1]);
    }
    zk_g1_batch_to_affine(m->affine, m->work, 2 * n);
    for (size_t i = 0; i < n; i++) {
        zk_g1_set_infinity(&m->product[i]);
        if (zk_g1_affine_is_infinity(&m->point[i])) continue;
        zk_glv_table_fill(&m->table, &m->point[i], &m->affine[2 * i]);
        zk_glv_mul(&m->product[i], &m->table, m->digits[m->string[i]]);
    }
}

/* ---- the passes ---- */

/* Point k times scale shift^k. */
static void scale_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const transform_job *job = ctx;
    multiplier *m = &job->scratch[thread];
    zk_g1_affine *points = job->points + job->first + begin;
    size_t n = end - begin;
    zk_fr power;
    zk_fr_pow_u64(&power, job->shift, job->first + begin);
    zk_fr_mul(&power, &power, job->scale);
    for (size_t i = 0; i < n; i++) {
        m->point[i] = points[i];
        m->string[i] = i;
        zk_glv_recode(m->digits[i], &power);
        zk_fr_mul(&power, &power, job->shift);
    }
    multiply(m, n);
    zk_g1_batch_to_affine(points, m->product, n);
}

static void level_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const transform_job *job = ctx;
    const unsigned log2_half = job->log2_n - job->level - 1;
    const size_t half = (size_t)1 << log2_half, first = job->first + begin;
    multiplier *m = &job->scratch[thread];
    zk_g1_affine *u[MULTIPLES];
    size_t n = end - begin, n_strings = 0, last_block = 0;
    for (size_t i = 0; i < n; i++) {
        size_t block = (first + i) >> log2_half;
        u[i] = job->points + (block << (log2_half + 1)) + ((first + i) & (half - 1));
        if (!block) { /* nothing to multiply */
            m->point[i] = (zk_g1_affine){zk_fp_zero, zk_fp_zero};
            continue;
        }
        if (!n_strings || block != last_block) {
            zk_fr zeta;
            twiddle_of(&zeta, job, block);
            zk_glv_recode(m->digits[n_strings++], &zeta);
            last_block = block;
        }
        m->point[i] = u[i][half];
        m->string[i] = n_strings - 1;
    }
    if (n_strings) multiply(m, n);
    for (size_t i = 0; i < n; i++) {
        if ((first + i) >> log2_half == 0) zk_g1_from_affine(&m->product[i], &u[i][half]);
        zk_g1_add_affine(&m->work[2 * i], &m->product[i], u[i]);
        zk_g1_neg(&m->product[i], &m->product[i]);
        zk_g1_add_affine(&m->work[2 * i + 1], &m->product[i], u[i]);
    }
    zk_g1_batch_to_affine(m->affine, m->work, 2 * n);
    for (size_t i = 0; i < n; i++) {
        u[i][0] = m->affine[2 * i];
        u[i][half] = m->affine[2 * i + 1];
    }
}

static void reverse_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const transform_job *job = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        size_t j = zk_reverse_bits(i, job->log2_n);
        if (j <= i) continue;
        zk_g1_affine t = job->points[i];
        job->points[i] = job->points[j];
        job->points[j] = t;
    }
}

typedef struct progress_state {
    zk_transform_progress report;
    void *ctx;
    uint64_t done, total;
} progress_state;

static cuzk_status advance(progress_state *p, size_t n, cuzk_err *err) {
    p->done += n;
    if (p->report && !p->report(p->ctx, p->done, p->total))
        return ZK_FAIL(err, CUZK_CANCELLED, "cancelled during a transform of points");
    return zk_cancel_check(NULL, "a transform of points", err);
}

/* fn over [0, n), with looks at progress in between. */
static cuzk_status run(transform_job *job, size_t n, zk_range_fn fn, zk_pool *pool, progress_state *progress,
                       cuzk_err *err) {
    size_t least = MULTIPLES * (size_t)zk_pool_n_threads(pool), chunk = n / LEVEL_CHUNKS;
    if (chunk < least) chunk = least;
    for (job->first = 0; job->first < n; job->first += chunk) {
        size_t here = zk_min_size(chunk, n - job->first);
        zk_pool_for(pool, here, MULTIPLES, fn, job);
        ZK_TRY(advance(progress, here, err));
    }
    return CUZK_OK;
}

cuzk_status zk_g1_transform(zk_g1_affine *points, unsigned log2_n, const zk_fr *shift, const zk_fr *scale,
                            zk_pool *pool, zk_transform_progress report, void *report_ctx, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    if (log2_n > ZK_FR_TWO_ADICITY)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "transform of 2^%u points: the field has roots up to 2^%d", log2_n,
                       ZK_FR_TWO_ADICITY);
    const size_t n = (size_t)1 << log2_n;
    const bool scaled = !zk_fr_is_one(shift) || !zk_fr_is_one(scale);
    transform_job job = {.points = points, .n = n, .log2_n = log2_n, .shift = shift, .scale = scale};
    progress_state progress = {report, report_ctx, 0, (scaled ? n : 0) + n / 2 * log2_n};
    job.scratch = zk_calloc(zk_pool_n_threads(pool), sizeof *job.scratch);
    if (!job.scratch) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "transform of 2^%u points: no memory", log2_n));
    ZK_GOTO(make_twiddles(&job.zeta, log2_n, err));
    if (scaled) ZK_GOTO(run(&job, n, scale_range, pool, &progress, err));
    for (job.level = 0; job.level < log2_n; job.level++) ZK_GOTO(run(&job, n / 2, level_range, pool, &progress, err));
    zk_pool_for(pool, n, 1 << 14, reverse_range, &job);
out:
    free(job.scratch);
    free(job.zeta.low);
    free(job.zeta.high);
    return status;
}

/* ---- sparse columns ---- */

#define COLUMNS 128 /* made together by a thread */

typedef struct columns_job {
    zk_g1_affine *points;
    const zk_sparse_columns *columns;
    const zk_g1_affine *rows;
} columns_job;

/* sum += [coef] p. Negative numbers are taken as such: their digits are few where those of the number are. */
static void add_multiple(zk_g1 *sum, const zk_g1_affine *p, const zk_fr *coef) {
    uint64_t k[4], minus[4];
    zk_fr opposite;
    zk_g1 product;
    zk_fr_neg(&opposite, coef);
    zk_fr_to_limbs(k, coef);
    zk_fr_to_limbs(minus, &opposite);
    zk_g1_from_affine(&product, p);
    if (zk_limbs_less(minus, k, 4)) {
        zk_g1_neg(&product, &product);
        coef = &opposite;
    }
    zk_g1_mul_var(&product, &product, coef);
    zk_g1_add(sum, sum, &product);
}

static void columns_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const columns_job *job = ctx;
    const zk_sparse_columns *columns = job->columns;
    zk_g1 sums[COLUMNS];
    (void)thread;
    size_t k = begin;
    do { /* chunks are not empty */
        zk_g1 *sum = &sums[k - begin];
        zk_g1_from_affine(sum, &job->points[k]);
        for (uint32_t e = columns->start[k]; e < columns->start[k + 1]; e++) {
            const zk_g1_affine *row = &job->rows[columns->entries[e].row];
            uint32_t coef = columns->entries[e].coef;
            if (coef == 0) {
                zk_g1_add_affine(sum, sum, row);
            } else if (coef == 1) {
                zk_g1_affine minus;
                zk_g1_affine_neg(&minus, row);
                zk_g1_add_affine(sum, sum, &minus);
            } else {
                add_multiple(sum, row, &columns->coefs[coef]);
            }
        }
    } while (++k < end);
    zk_g1_batch_to_affine(job->points + begin, sums, end - begin);
}

cuzk_status zk_g1_add_columns(zk_g1_affine *points, const zk_sparse_columns *columns, const zk_g1_affine *rows,
                              zk_pool *pool, cuzk_err *err) {
    columns_job job = {points, columns, rows};
    zk_pool_for(pool, columns->n, COLUMNS, columns_range, &job);
    return zk_cancel_check(NULL, "sums of columns", err);
}
