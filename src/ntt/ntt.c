#include "ntt/ntt.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "ntt/domain.h"
#include "ntt/lanes/lanes.h"
#include "ntt/kernels.h"

/* A transform runs as passes of up to PASS_LOG2 levels on tiles of strided rows, which are copied into a local buffer
 * (so that power-of-two strides cannot thrash a cache set), and one last pass of LEAF_LOG2 levels on contiguous leaves.
 * The twiddles of all levels but a leaf's come from one small table; those of leaf number s are the table's first
 * entries times a power of a constant of the leaf (its `shift`), one multiplication per element. So tables stay at
 * n / 2^LEAF_LOG2 elements each, and no pass over memory is spent on twiddles.
 *
 * Sizes: a tile is 2^PASS_LOG2 * TILE_COLUMNS * 32 = 32 KiB, a leaf with its twiddles 2 * 16 KiB. */
#define TILE_COLUMNS 4
#define LEAF ((size_t)1 << LEAF_LOG2)
#define TILE (((size_t)1 << PASS_LOG2) * TILE_COLUMNS)

/* Bit reversal moves squares of 2^REVERSE_LOG2 runs of 2^REVERSE_LOG2 elements. */
#define REVERSE_LOG2 4
#define REVERSE ((size_t)1 << REVERSE_LOG2)

/* ---- Tables ---- */

typedef struct table_sizes {
    size_t n_zeta, n_leaves, n_leaf, n_all;
    unsigned log2_leaf;
} table_sizes;

static table_sizes sizes_of(unsigned log2_n) {
    table_sizes s;
    s.log2_leaf = log2_n < LEAF_LOG2 ? log2_n : LEAF_LOG2;
    s.n_leaf = (size_t)1 << s.log2_leaf;
    s.n_leaves = (size_t)1 << (log2_n - s.log2_leaf);
    /* Levels up to log2_n - log2_leaf - 1 read the table itself, a leaf's levels its first half leaf. */
    s.n_zeta = s.n_leaves > s.n_leaf ? s.n_leaves : s.n_leaf;
    s.n_all = 2 * (s.n_zeta + 2 * s.n_leaves + s.n_leaf);
    return s;
}

size_t zk_ntt_domain_bytes(unsigned log2_n) {
    if (log2_n > ZK_FR_TWO_ADICITY) return 0;
    size_t element = sizeof(zk_fr);
    if (zk_ntt_lanes_of(log2_n)) element += ZK_NTT_LANES_ELEMENT_BYTES;
    return sizeof(zk_ntt_domain) + sizes_of(log2_n).n_all * element;
}

/* t[i] = prod of step[k] over the bits k of i. */
static void fill_by_bits(zk_fr *t, unsigned log2_n, const zk_fr *step) {
    t[0] = zk_fr_one;
    for (unsigned k = 0; k < log2_n; k++) zk_ntt_scale(t + ((size_t)1 << k), t, (size_t)1 << k, &step[k]);
}

static void fill_roots(zk_ntt_domain *d, direction dir) {
    roots *r = &d->roots[dir];
    unsigned log2_leaves = d->log2_n - d->log2_leaf,
             log2_zeta = log2_leaves > d->log2_leaf ? log2_leaves : d->log2_leaf;
    /* root[k]: of order 2^k */
    zk_fr root[ZK_FR_TWO_ADICITY + 1], step[ZK_FR_TWO_ADICITY], power[ZK_FR_TWO_ADICITY];
    zk_fr_root_of_unity(&root[ZK_FR_TWO_ADICITY], ZK_FR_TWO_ADICITY);
    if (dir == INVERSE) (void)zk_fr_inv_var(&root[ZK_FR_TWO_ADICITY], &root[ZK_FR_TWO_ADICITY]);
    for (unsigned k = ZK_FR_TWO_ADICITY; k-- > 0;) zk_fr_sqr(&root[k], &root[k + 1]);
    /* power[k] = g^(2^k) */
    power[0] = zk_fr_generator;
    if (dir == INVERSE) (void)zk_fr_inv_var(&power[0], &power[0]);
    for (unsigned k = 1; k < ZK_FR_TWO_ADICITY; k++) zk_fr_sqr(&power[k], &power[k - 1]);

    /* The last entries of a table that is as long as the domain are never read; their root would be of order 2n. */
    for (unsigned k = 0; k < log2_zeta; k++) step[k] = k + 2 <= ZK_FR_TWO_ADICITY ? root[k + 2] : zk_fr_one;
    fill_by_bits(r->zeta, log2_zeta, step);
    for (unsigned k = 0; k < log2_leaves; k++) step[k] = root[d->log2_leaf + 1 + k];
    fill_by_bits(r->shift, log2_leaves, step);
    for (unsigned k = 0; k < log2_leaves; k++) step[k] = power[log2_leaves - 1 - k];
    fill_by_bits(r->coset, log2_leaves, step);
    for (unsigned k = 0; k < d->log2_leaf; k++) step[k] = power[d->log2_n - 1 - k];
    fill_by_bits(r->coset_leaf, d->log2_leaf, step);
}

static void fill_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    for (size_t i = begin; i < end; i++) fill_roots(ctx, (direction)i);
}

/* The tables of both directions in d->block. */
static void deal_out_tables(zk_ntt_domain *d, const table_sizes *s) {
    zk_fr *block = d->block;
    for (int dir = 0; dir < 2; dir++) {
        d->roots[dir].zeta = block;
        d->roots[dir].shift = block + s->n_zeta;
        d->roots[dir].coset = block + s->n_zeta + s->n_leaves;
        d->roots[dir].coset_leaf = block + s->n_zeta + 2 * s->n_leaves;
        block += s->n_all / 2;
    }
}

/* Strided levels are spread evenly over as few passes as possible. */
static void plan_passes(zk_ntt_domain *d) {
    unsigned n_strided = d->log2_n - d->log2_leaf, level = 0;
    d->n_passes = (n_strided + PASS_LOG2 - 1) / PASS_LOG2;
    for (unsigned k = 0; k < d->n_passes; k++) {
        unsigned n_levels = (n_strided - level + d->n_passes - k - 1) / (d->n_passes - k);
        d->passes[k] = (pass){level, n_levels};
        level += n_levels;
    }
}

static void set_scales(zk_ntt_domain *d) {
    zk_fr z; /* g^n - 1 */
    zk_fr_from_u64(&d->n_inverse, d->n);
    (void)zk_fr_inv_var(&d->n_inverse, &d->n_inverse);
    zk_fr_pow_u64(&z, &zk_fr_generator, d->n);
    zk_fr_sub(&z, &z, &zk_fr_one);
    (void)zk_fr_inv_var(&z, &z);
    zk_fr_mul(&d->quotient_scale, &d->n_inverse, &z);
}

cuzk_status zk_ntt_domain_create(zk_ntt_domain **domain, unsigned log2_n, zk_pool *pool, cuzk_err *err) {
    *domain = NULL;
    if (log2_n > ZK_FR_TWO_ADICITY)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "transform of 2^%u elements: the field has roots up to 2^%d", log2_n,
                       ZK_FR_TWO_ADICITY);
    const table_sizes s = sizes_of(log2_n);
    cuzk_status status = CUZK_OK;
    void *tables = NULL;
    zk_ntt_domain *d = zk_calloc(1, sizeof *d);
    if (!d) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "transform of 2^%u elements: no memory", log2_n);
    d->log2_n = log2_n;
    d->log2_leaf = s.log2_leaf;
    d->n = (size_t)1 << log2_n;
    d->n_leaves = s.n_leaves;
    d->n_zeta = s.n_zeta;
    d->lanes = zk_ntt_lanes_of(log2_n);
    ZK_GOTO(zk_mem_alloc_shared(&tables, "ntt tables", s.n_all * sizeof *d->block, err));
    d->block = tables;
    deal_out_tables(d, &s);
    plan_passes(d);
    zk_pool_for(pool, 2, 1, fill_range, d);
    set_scales(d);
    if (d->lanes) ZK_GOTO(zk_ntt_lanes_tables(d, s.n_all, pool, err));
    *domain = d;
    d = NULL;
out:
    zk_ntt_domain_destroy(d);
    return status;
}

void zk_ntt_domain_destroy(zk_ntt_domain *domain) {
    if (!domain) return;
    zk_mem_free(domain->block);
    zk_mem_free(domain->block52);
    free(domain);
}

/* ---- Strided passes ---- */

static void tile_load(zk_fr *tile, const zk_fr *x, const tile_place *p) {
    const zk_fr *row = x + p->first;
    for (size_t r = 0; r < p->n_rows; r++, row += p->stride)
        memcpy(tile + r * TILE_COLUMNS, row, TILE_COLUMNS * sizeof *tile);
}

static void tile_store(zk_fr *x, const zk_fr *tile, const tile_place *p) {
    zk_fr *row = x + p->first;
    for (size_t r = 0; r < p->n_rows; r++, row += p->stride)
        memcpy(row, tile + r * TILE_COLUMNS, TILE_COLUMNS * sizeof *tile);
}

static void tile_twiddles(const zk_fr **zeta, const tile_job *job, direction dir, const tile_place *p) {
    for (unsigned k = 0; k < job->pass.n_levels; k++) zeta[k] = job->domain->roots[dir].zeta + (p->block << k);
}

static void pass_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    const tile_job *job = ctx;
    zk_fr tile[TILE];
    const zk_fr *zeta[PASS_LOG2];
    for (size_t t = begin; t < end; t++) {
        tile_place p = tile_place_of(job, TILE_COLUMNS, t);
        zk_progress_note();
        tile_load(tile, job->x[0], &p);
        if (job->split != NONE) {
            tile_twiddles(zeta, job, job->split, &p);
            zk_ntt_tile_split(tile, TILE_COLUMNS, zeta, job->pass.n_levels);
        } else {
            tile_twiddles(zeta, job, job->merge, &p);
            zk_ntt_tile_merge(tile, TILE_COLUMNS, zeta, job->pass.n_levels);
        }
        tile_store(job->x[0], tile, &p);
    }
}

/* The outermost pass of two merges, a b, and the outermost pass of the split of the result. */
static void middle_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    const tile_job *job = ctx;
    zk_fr tile[2][TILE];
    const zk_fr *zeta[PASS_LOG2];
    for (size_t t = begin; t < end; t++) {
        tile_place p = tile_place_of(job, TILE_COLUMNS, t);
        zk_progress_note();
        tile_twiddles(zeta, job, job->merge, &p);
        for (int i = 0; i < 2; i++) {
            tile_load(tile[i], job->x[i], &p);
            zk_ntt_tile_merge(tile[i], TILE_COLUMNS, zeta, job->pass.n_levels);
        }
        zk_ntt_mul(tile[0], tile[0], tile[1], p.n_rows * TILE_COLUMNS);
        tile_twiddles(zeta, job, job->split, &p);
        zk_ntt_tile_split(tile[0], TILE_COLUMNS, zeta, job->pass.n_levels);
        tile_store(job->x[0], tile[0], &p);
    }
}

static void run_pass(const tile_job *job, zk_range_fn fn, zk_pool *pool) {
    if (job->domain->lanes) {
        job->domain->lanes->pass(job, pool);
        return;
    }
    size_t n_tiles = job->domain->n / ((size_t)TILE_COLUMNS << job->pass.n_levels);
    zk_pool_for(pool, n_tiles, grain_of(n_tiles, 16, pool), fn, (void *)job);
}

static void split_passes(const zk_ntt_domain *d, zk_fr *x, direction dir, unsigned first_pass, zk_pool *pool) {
    for (unsigned k = first_pass; k < d->n_passes; k++)
        run_pass(&(tile_job){d, {x}, d->passes[k], dir, NONE}, pass_range, pool);
}

static void merge_passes(const zk_ntt_domain *d, zk_fr *x, direction dir, unsigned end_pass, zk_pool *pool) {
    for (unsigned k = d->n_passes; k-- > end_pass;)
        run_pass(&(tile_job){d, {x}, d->passes[k], NONE, dir}, pass_range, pool);
}

/* ---- Leaves ---- */

/* The twiddles of leaf s, level k at twiddles + 2^k: zeta[i] shift^(2^(log2_leaf - 1 - k)), as the index s 2^k + i of
 * the table that is not there would say. */
static void leaf_twiddles(zk_fr *twiddles, const zk_fr **zeta, const zk_ntt_domain *d, direction dir, size_t s) {
    const roots *r = &d->roots[dir];
    zk_fr shift = r->shift[s];
    for (unsigned k = d->log2_leaf; k-- > 0;) {
        zeta[k] = r->zeta;
        if (s == 0) continue;
        zk_fr *t = twiddles + ((size_t)1 << k);
        zk_ntt_scale(t, r->zeta, (size_t)1 << k, &shift);
        zeta[k] = t;
        zk_fr_sqr(&shift, &shift);
    }
}

static void leaf_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    const leaf_job *job = ctx;
    const zk_ntt_domain *d = job->domain;
    size_t n_leaf = (size_t)1 << d->log2_leaf;
    zk_fr twiddles[2][LEAF], factors[LEAF], minus[LEAF];
    const zk_fr *split[LEAF_LOG2], *merge[LEAF_LOG2];
    for (size_t s = begin; s < end; s++) {
        zk_fr scale = job->scale ? *job->scale : zk_fr_one;
        zk_progress_note();
        if (job->split != NONE) leaf_twiddles(twiddles[0], split, d, job->split, s);
        if (job->merge != NONE) leaf_twiddles(twiddles[1], merge, d, job->merge, s);
        if (job->coset != NONE) {
            zk_fr_mul(&scale, &scale, &d->roots[job->coset].coset[s]);
            zk_ntt_scale(factors, d->roots[job->coset].coset_leaf, n_leaf, &scale);
        }
        for (unsigned i = 0; i < job->n_x; i++) {
            zk_fr *leaf = job->x[i] + s * n_leaf;
            if (job->split != NONE) zk_ntt_tile_split(leaf, 1, split, d->log2_leaf);
            if (job->coset != NONE) {
                zk_ntt_mul(leaf, leaf, factors, n_leaf);
            } else if (job->scale) {
                zk_ntt_scale(leaf, leaf, n_leaf, &scale);
            }
            if (job->merge != NONE) zk_ntt_tile_merge(leaf, 1, merge, d->log2_leaf);
            if (!job->minus) continue;
            memcpy(minus, job->minus + s * n_leaf, n_leaf * sizeof *minus);
            if (job->split != NONE) zk_ntt_tile_split(minus, 1, split, d->log2_leaf);
            zk_ntt_sub_scaled(leaf, minus, n_leaf, job->scale);
        }
    }
}

static void run_leaves(const leaf_job *job, zk_pool *pool) {
    if (job->domain->lanes) {
        job->domain->lanes->leaves(job, pool);
        return;
    }
    const size_t n_leaves = job->domain->n_leaves;
    zk_pool_for(pool, n_leaves, grain_of(n_leaves, 16, pool), leaf_range, (void *)job);
}

/* ---- Bit reversal ---- */

typedef struct reverse_job {
    zk_fr *x;
    unsigned log2_n;
} reverse_job;

static void swap(zk_fr *a, zk_fr *b) {
    zk_fr t = *a;
    *a = *b;
    *b = t;
}

/* For each middle part m of the index and its reverse: the elements (a, m, b) and (rev b, rev m, rev a) change places,
 * by way of a buffer that is read and written in runs. */
static void reverse_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    const reverse_job *job = ctx;
    unsigned log2_middle = job->log2_n - 2 * REVERSE_LOG2;
    size_t stride = (size_t)1 << (job->log2_n - REVERSE_LOG2);
    zk_fr square[REVERSE][REVERSE];
    for (size_t m = begin; m < end; m++) {
        size_t m_reversed = zk_reverse_bits(m, log2_middle);
        if (m_reversed < m) continue;
        zk_fr *from = job->x + (m << REVERSE_LOG2), *to = job->x + (m_reversed << REVERSE_LOG2);
        for (size_t a = 0; a < REVERSE; a++)
            memcpy(square[zk_reverse_bits(a, REVERSE_LOG2)], from + a * stride, sizeof *square);
        /* square[i][b] goes to (rev b, rev m, i) */
        for (size_t b = 0; b < REVERSE; b++) {
            zk_fr *row = to + zk_reverse_bits(b, REVERSE_LOG2) * stride;
            for (size_t i = 0; i < REVERSE; i++) swap(&row[i], &square[i][b]);
        }
        if (m_reversed == m) continue;
        for (size_t a = 0; a < REVERSE; a++)
            memcpy(from + a * stride, square[zk_reverse_bits(a, REVERSE_LOG2)], sizeof *square);
    }
}

static void reverse_order(const zk_ntt_domain *d, zk_fr *x, zk_pool *pool) {
    if (d->log2_n < 2 * REVERSE_LOG2) {
        for (size_t i = 0; i < d->n; i++) {
            size_t j = zk_reverse_bits(i, d->log2_n);
            if (i < j) swap(&x[i], &x[j]);
        }
        return;
    }
    size_t n_middle = d->n >> (2 * REVERSE_LOG2);
    zk_pool_for(pool, n_middle, grain_of(n_middle, 64, pool), reverse_range, &(reverse_job){x, d->log2_n});
}

/* ---- Transforms ---- */

void zk_ntt_forward(const zk_ntt_domain *domain, zk_fr *x, zk_pool *pool) {
    split_passes(domain, x, FORWARD, 0, pool);
    run_leaves(&(leaf_job){domain, {x}, 1, FORWARD, NONE, NONE, NULL, NULL}, pool);
    reverse_order(domain, x, pool);
}

void zk_ntt_inverse(const zk_ntt_domain *domain, zk_fr *x, zk_pool *pool) {
    split_passes(domain, x, INVERSE, 0, pool);
    run_leaves(&(leaf_job){domain, {x}, 1, INVERSE, NONE, NONE, &domain->n_inverse, NULL}, pool);
    reverse_order(domain, x, pool);
}

void zk_ntt_coset_forward(const zk_ntt_domain *domain, zk_fr *x, zk_pool *pool) {
    reverse_order(domain, x, pool);
    run_leaves(&(leaf_job){domain, {x}, 1, NONE, FORWARD, FORWARD, NULL, NULL}, pool);
    merge_passes(domain, x, FORWARD, 0, pool);
}

void zk_ntt_coset_inverse(const zk_ntt_domain *domain, zk_fr *x, zk_pool *pool) {
    split_passes(domain, x, INVERSE, 0, pool);
    run_leaves(&(leaf_job){domain, {x}, 1, INVERSE, INVERSE, NONE, &domain->n_inverse, NULL}, pool);
    reverse_order(domain, x, pool);
}

typedef struct pointwise_job {
    zk_fr *a;
    const zk_fr *b;
} pointwise_job;

static void pointwise_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    const pointwise_job *job = ctx;
    zk_ntt_mul(job->a + begin, job->a + begin, job->b + begin, end - begin);
}

/* On the coset x^n - 1 is a constant z, so the result is the polynomial through a b / z there, less c / z, whose
 * coefficients the first transform of c has given: six transforms. */
void zk_ntt_quotient(const zk_ntt_domain *domain, zk_fr *a, zk_fr *b, zk_fr *c, zk_pool *pool) {
    zk_fr *x[3] = {a, b, c};
    /* Coefficients in bit-reversed order, and from there onto the coset: no vector is ever permuted but the result. */
    for (int i = 0; i < 3; i++) split_passes(domain, x[i], INVERSE, 0, pool);
    run_leaves(&(leaf_job){domain, {a, b}, 2, INVERSE, FORWARD, FORWARD, &domain->n_inverse, NULL}, pool);
    if (domain->n_passes) {
        for (int i = 0; i < 2; i++) merge_passes(domain, x[i], FORWARD, 1, pool);
        run_pass(&(tile_job){domain, {a, b}, domain->passes[0], INVERSE, FORWARD}, middle_range, pool);
        split_passes(domain, a, INVERSE, 1, pool);
    } else {
        zk_pool_for(pool, domain->n, domain->n, pointwise_range, &(pointwise_job){a, b});
    }
    run_leaves(&(leaf_job){domain, {a}, 1, INVERSE, INVERSE, NONE, &domain->quotient_scale, c}, pool);
    reverse_order(domain, a, pool);
}

typedef struct products_job {
    zk_fr *a, *b;
    size_t n;
} products_job;

/* Elements j and n - j change places as they are multiplied. */
static void products_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    const products_job *job = ctx;
    for (size_t j = begin; j < end; j++) {
        size_t k = (job->n - j) & (job->n - 1);
        zk_fr t;
        zk_fr_mul(&t, &job->a[j], &job->b[j]);
        zk_fr_mul(&job->a[j], &job->a[k], &job->b[k]);
        job->a[k] = t;
    }
}

void zk_ntt_products(const zk_ntt_domain *domain, zk_fr *a, zk_fr *b, zk_pool *pool) {
    zk_fr *x[2] = {a, b};
    for (int i = 0; i < 2; i++) split_passes(domain, x[i], INVERSE, 0, pool);
    run_leaves(&(leaf_job){domain, {a, b}, 2, INVERSE, FORWARD, FORWARD, &domain->n_inverse, NULL}, pool);
    for (int i = 0; i < 2; i++) merge_passes(domain, x[i], FORWARD, 0, pool);
    zk_pool_for(pool, domain->n / 2 + 1, 1 << 14, products_range, &(products_job){a, b, domain->n});
}
