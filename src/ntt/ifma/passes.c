#include "base/mem.h"
#include "field/fp52x8.h"
#include "field/fr52x8.h"
#include "ntt/ifma/ifma.h"

/* Eight columns of a tile, or the same element of eight leaves, are the lanes of a vector. Data keep the Montgomery
 * form of zk_fr, as all they are multiplied with are constants in the form of zk_fr52; only the product of two vectors
 * needs a correction.
 *
 * Bounds, in multiples of r. A split adds at most 2 a level: u + t and u - t + 2r with t = zeta v below 1.01 +
 * |v|/35.3, so that 16 levels stay below 35. A merge doubles u + v; that is reduced every third level. */

#define COLUMNS 8
#define TILE_ROWS ((size_t)1 << PASS_LOG2)
#define LEAF_ROWS ((size_t)1 << LEAF_LOG2)

/* ---- Butterflies ---- */

ZK_INLINE void split_butterfly(zk_fr52x8 *u, zk_fr52x8 *v, const zk_fr52x8 *zeta) {
    zk_fr52x8 t, x = *u;
    zk_fr52x8_carry_factor(&t, v);
    zk_fr52x8_mul_loose(&t, &t, zeta);
    zk_fr52x8_add_loose(u, &x, &t);
    zk_fr52x8_sub_loose(v, &x, &t, 2);
}

/* zeta = 1, m at least |v| */
ZK_INLINE void split_by_one(zk_fr52x8 *u, zk_fr52x8 *v, const int m) {
    zk_fr52x8 x = *u, y = *v;
    zk_fr52x8_add_loose(u, &x, &y);
    zk_fr52x8_sub_loose(v, &x, &y, m);
}

/* m at least |v| and |u|: 2, 4 or 8; after 8 the sum is reduced. */
ZK_INLINE void merge_butterfly(zk_fr52x8 *u, zk_fr52x8 *v, const zk_fr52x8 *zeta, const int m) {
    zk_fr52x8 t, x = *u, y = *v;
    zk_fr52x8_sub_loose(&t, &x, &y, m);
    zk_fr52x8_carry_factor(&t, &t);
    zk_fr52x8_mul_loose(v, &t, zeta);
    zk_fr52x8_add_loose(&x, &x, &y);
    if (m == 8) {
        zk_fr52x8_reduce(u, &x);
    } else {
        *u = x;
    }
}

/* ---- Tables ---- */

static const zk_fr52 *table52(const zk_ntt_domain *d, const zk_fr *table) { return d->block52 + (table - d->block); }

static void tables_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    zk_ntt_domain *d = ctx;
    for (size_t i = begin; i < end; i++) zk_fr_to_fr52(&d->block52[i], &d->block[i]);
}

cuzk_status zk_ntt_ifma_tables(zk_ntt_domain *domain, size_t n, zk_pool *pool, cuzk_err *err) {
    _Static_assert(sizeof(zk_fr52) == ZK_NTT_IFMA_ELEMENT_BYTES, "size told in the header");
    void *block;
    ZK_TRY(zk_mem_alloc_shared(&block, "ntt tables", n * sizeof *domain->block52, err));
    domain->block52 = block;
    zk_pool_for(pool, n, 4096, tables_range, domain);
    return CUZK_OK;
}

/* ---- Strided passes ---- */

typedef struct place {
    size_t first, stride, n_rows; /* of the tile in the vector */
    size_t block;                 /* which block of the pass's first level */
} place;

static place place_of(const tile_job *job, size_t tile) {
    size_t block_size = job->domain->n >> job->pass.first_level;
    size_t stride = block_size >> job->pass.n_levels, per_block = stride / COLUMNS;
    place p = {.stride = stride, .n_rows = (size_t)1 << job->pass.n_levels, .block = tile / per_block};
    p.first = p.block * block_size + (tile % per_block) * COLUMNS;
    return p;
}

static void tile_load(zk_fr52x8 *tile, const zk_fr *x, const place *p) {
    const zk_fr *row = x + p->first;
    for (size_t r = 0; r < p->n_rows; r++, row += p->stride) {
        __m512i w[4];
        zk_fr52x8_load_words(w, row);
        zk_fr52x8_from_words(&tile[r], w);
    }
}

static void tile_store(zk_fr *x, const zk_fr52x8 *tile, const place *p) {
    zk_fr *row = x + p->first;
    for (size_t r = 0; r < p->n_rows; r++, row += p->stride) {
        __m512i w[4];
        zk_fr52x8_to_words(w, &tile[r]);
        zk_fr52x8_store_words(row, w);
    }
}

/* canonical: the rows are below r, so that in the first two levels a twiddle of one needs no multiplication. */
static void tile_split(zk_fr52x8 *tile, const zk_fr52 *zeta, size_t block, unsigned n_levels, bool canonical) {
    for (unsigned level = 0; level < n_levels; level++) {
        size_t half = (size_t)1 << (n_levels - 1 - level);
        for (size_t b = 0; b < (size_t)1 << level; b++) {
            zk_fr52x8 *u = tile + 2 * half * b, *v = u + half, twiddle;
            if (canonical && level < 2 && block == 0 && b == 0) {
                for (size_t i = 0; i < half && level == 0; i++) split_by_one(&u[i], &v[i], 1);
                for (size_t i = 0; i < half && level == 1; i++) split_by_one(&u[i], &v[i], 2);
                continue;
            }
            zk_fr52x8_broadcast(&twiddle, &zeta[(block << level) + b]);
            for (size_t i = 0; i < half; i++) split_butterfly(&u[i], &v[i], &twiddle);
        }
    }
}

ZK_INLINE void merge_rows(zk_fr52x8 *u, zk_fr52x8 *v, size_t half, const zk_fr52x8 *twiddle, const int m) {
    for (size_t i = 0; i < half; i++) merge_butterfly(&u[i], &v[i], twiddle, m);
}

/* Rows below 2 r at first, below 8 r at last. */
static void tile_merge(zk_fr52x8 *tile, const zk_fr52 *zeta, size_t block, unsigned n_levels) {
    for (unsigned level = n_levels, k = 0; level-- > 0; k = (k + 1) % 3) {
        size_t half = (size_t)1 << (n_levels - 1 - level);
        for (size_t b = 0; b < (size_t)1 << level; b++) {
            zk_fr52x8 *u = tile + 2 * half * b, *v = u + half, twiddle;
            zk_fr52x8_broadcast(&twiddle, &zeta[(block << level) + b]);
            if (k == 0) merge_rows(u, v, half, &twiddle, 2);
            if (k == 1) merge_rows(u, v, half, &twiddle, 4);
            if (k == 2) merge_rows(u, v, half, &twiddle, 8);
        }
    }
}

static void pass_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    const tile_job *job = ctx;
    const zk_ntt_domain *d = job->domain;
    zk_fr52x8 tile[TILE_ROWS];
    for (size_t t = begin; t < end; t++) {
        place p = place_of(job, t);
        tile_load(tile, job->x[0], &p);
        if (job->split != NONE) {
            tile_split(tile, table52(d, d->roots[job->split].zeta), p.block, job->pass.n_levels, true);
        } else {
            tile_merge(tile, table52(d, d->roots[job->merge].zeta), p.block, job->pass.n_levels);
        }
        tile_store(job->x[0], tile, &p);
    }
}

/* 2^264 mod r: takes the product of two values in the form of zk_fr, over R = 2^260, back to that form. */
static const zk_fr52 product_correction = {
    {0x00234fffffdcb, 0x61039ef635000, 0xdce3c3e2e7505, 0x7fa6f1563642b, 0x0247db575276a}};

/* The outermost pass of two merges, a b, and the outermost pass of the split of the result. */
static void middle_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    const tile_job *job = ctx;
    const zk_ntt_domain *d = job->domain;
    const zk_fr52 *merge = table52(d, d->roots[job->merge].zeta), *split = table52(d, d->roots[job->split].zeta);
    zk_fr52x8 tile[2][TILE_ROWS], correction;
    zk_fr52x8_broadcast(&correction, &product_correction);
    for (size_t t = begin; t < end; t++) {
        place p = place_of(job, t);
        for (int i = 0; i < 2; i++) {
            tile_load(tile[i], job->x[i], &p);
            tile_merge(tile[i], merge, p.block, job->pass.n_levels);
        }
        for (size_t r = 0; r < p.n_rows; r++) {
            zk_fr52x8 a, b;
            zk_fr52x8_carry_factor(&a, &tile[0][r]);
            zk_fr52x8_carry_factor(&b, &tile[1][r]);
            zk_fr52x8_mul_loose(&a, &a, &b); /* below 64 / 35.3 + 1.01 */
            zk_fr52x8_carry_factor(&a, &a);
            zk_fr52x8_mul_loose(&tile[0][r], &a, &correction);
        }
        tile_split(tile[0], split, p.block, job->pass.n_levels, false);
        tile_store(job->x[0], tile[0], &p);
    }
}

void zk_ntt_ifma_pass(const tile_job *job, zk_pool *pool) {
    size_t n_tiles = job->domain->n / ((size_t)COLUMNS << job->pass.n_levels);
    /* Neighbouring tiles share pages. */
    size_t grain = n_tiles / (16 * (size_t)zk_pool_n_threads(pool));
    bool both = job->split != NONE && job->merge != NONE;
    zk_pool_for(pool, n_tiles, grain ? grain : 1, both ? middle_range : pass_range, (void *)job);
}

/* ---- Leaves, eight at a time ---- */

/* Two elements of each leaf are 64 bytes: rows of a square of words. */
static void leaves_load(zk_fr52x8 *rows, const zk_fr *x, size_t n_leaf) {
    for (size_t i = 0; i < n_leaf; i += 2) {
        __m512i w[8];
        const uint64_t *from[8];
        for (size_t k = 0; k < 8; k++) from[k] = x[k * n_leaf + i].l;
        zk_v8_load_transposed(w, from, 8);
        zk_fr52x8_from_words(&rows[i], w);
        zk_fr52x8_from_words(&rows[i + 1], w + 4);
    }
}

static void leaves_store(zk_fr *x, const zk_fr52x8 *rows, size_t n_leaf) {
    for (size_t i = 0; i < n_leaf; i += 2) {
        __m512i w[8], t[8];
        zk_fr52x8_to_words(w, &rows[i]);
        zk_fr52x8_to_words(w + 4, &rows[i + 1]);
        zk_v8_transpose(t, w);
        for (size_t k = 0; k < 8; k++) _mm512_storeu_si512(&x[k * n_leaf + i], t[k]);
    }
}

static void load_lanes(zk_fr52x8 *r, const zk_fr52 *a) {
    const uint64_t *l = a->l;
    ZK_UNROLL for (int i = 0; i < 5; i++) r->l[i] =
        _mm512_set_epi64((long long)l[35 + i], (long long)l[30 + i], (long long)l[25 + i], (long long)l[20 + i],
                         (long long)l[15 + i], (long long)l[10 + i], (long long)l[5 + i], (long long)l[i]);
}

/* Twiddle i of level k at twiddles[2^k + i]: zeta[i] shift^(2^(log2_leaf - 1 - k)), each lane with its leaf's shift. */
static void leaf_twiddles(zk_fr52x8 *twiddles, const zk_ntt_domain *d, direction dir, size_t s) {
    const zk_fr52 *zeta = table52(d, d->roots[dir].zeta);
    zk_fr52x8 shift, t;
    load_lanes(&shift, table52(d, d->roots[dir].shift) + s);
    for (unsigned k = d->log2_leaf; k-- > 0;) {
        for (size_t i = 0; i < (size_t)1 << k; i++) {
            zk_fr52x8_broadcast(&t, &zeta[i]);
            zk_fr52x8_mul_loose(&t, &t, &shift);
            zk_fr52x8_carry_factor(&twiddles[((size_t)1 << k) + i], &t);
        }
        zk_fr52x8_mul_loose(&t, &shift, &shift);
        zk_fr52x8_carry_factor(&shift, &t);
    }
}

static void leaf_split(zk_fr52x8 *rows, const zk_fr52x8 *twiddles, unsigned n_levels) {
    for (unsigned level = 0; level < n_levels; level++) {
        size_t half = (size_t)1 << (n_levels - 1 - level);
        for (size_t b = 0; b < (size_t)1 << level; b++) {
            zk_fr52x8 *u = rows + 2 * half * b, *v = u + half;
            const zk_fr52x8 *twiddle = &twiddles[((size_t)1 << level) + b];
            for (size_t i = 0; i < half; i++) split_butterfly(&u[i], &v[i], twiddle);
        }
    }
}

/* Rows below 2 r at first, below 8 r at last. */
static void leaf_merge(zk_fr52x8 *rows, const zk_fr52x8 *twiddles, unsigned n_levels) {
    for (unsigned level = n_levels, k = 0; level-- > 0; k = (k + 1) % 3) {
        size_t half = (size_t)1 << (n_levels - 1 - level);
        for (size_t b = 0; b < (size_t)1 << level; b++) {
            zk_fr52x8 *u = rows + 2 * half * b, *v = u + half;
            const zk_fr52x8 *twiddle = &twiddles[((size_t)1 << level) + b];
            if (k == 0) merge_rows(u, v, half, twiddle, 2);
            if (k == 1) merge_rows(u, v, half, twiddle, 4);
            if (k == 2) merge_rows(u, v, half, twiddle, 8);
        }
    }
}

static void leaf_scale(zk_fr52x8 *rows, const zk_fr52x8 *factors, size_t factor_step, size_t n) {
    for (size_t i = 0; i < n; i++) {
        zk_fr52x8 t;
        zk_fr52x8_carry_factor(&t, &rows[i]);
        zk_fr52x8_mul_loose(&rows[i], &t, &factors[i * factor_step]);
    }
}

static void leaf_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    const leaf_job *job = ctx;
    const zk_ntt_domain *d = job->domain;
    const size_t n_leaf = (size_t)1 << d->log2_leaf;
    zk_fr52x8 rows[LEAF_ROWS], split[LEAF_ROWS], merge[LEAF_ROWS], factors[LEAF_ROWS], scale, plain_scale;
    zk_fr52x8 *const minus = merge; /* a job has only one of them */
    zk_fr52 constant;
    zk_fr_to_fr52(&constant, job->scale ? job->scale : &zk_fr_one);
    zk_fr52x8_broadcast(&plain_scale, &constant);
    for (size_t group = begin; group < end; group++) {
        const size_t s = 8 * group;
        if (job->split != NONE) leaf_twiddles(split, d, job->split, s);
        if (job->merge != NONE) leaf_twiddles(merge, d, job->merge, s);
        scale = plain_scale;
        if (job->coset != NONE) {
            zk_fr52x8 t;
            const zk_fr52 *powers = table52(d, d->roots[job->coset].coset_leaf);
            load_lanes(&t, table52(d, d->roots[job->coset].coset) + s);
            zk_fr52x8_mul_loose(&t, &t, &scale);
            zk_fr52x8_carry_factor(&scale, &t);
            for (size_t i = 0; i < n_leaf; i++) {
                zk_fr52x8_broadcast(&t, &powers[i]);
                zk_fr52x8_mul_loose(&t, &t, &scale);
                zk_fr52x8_carry_factor(&factors[i], &t);
            }
        }
        for (unsigned i = 0; i < job->n_x; i++) {
            zk_fr *x = job->x[i] + s * n_leaf;
            leaves_load(rows, x, n_leaf);
            if (job->split != NONE) leaf_split(rows, split, d->log2_leaf);
            if (job->coset != NONE) {
                leaf_scale(rows, factors, 1, n_leaf);
            } else if (job->scale) {
                leaf_scale(rows, &scale, 0, n_leaf);
            }
            if (job->merge != NONE) leaf_merge(rows, merge, d->log2_leaf);
            if (job->minus) {
                leaves_load(minus, job->minus + s * n_leaf, n_leaf);
                if (job->split != NONE) leaf_split(minus, split, d->log2_leaf);
                leaf_scale(minus, &plain_scale, 0, n_leaf);
                for (size_t k = 0; k < n_leaf; k++) zk_fr52x8_sub_loose(&rows[k], &rows[k], &minus[k], 2);
            }
            leaves_store(x, rows, n_leaf);
        }
    }
}

void zk_ntt_ifma_leaves(const leaf_job *job, zk_pool *pool) {
    size_t n_groups = job->domain->n_leaves / 8, grain = n_groups / (16 * (size_t)zk_pool_n_threads(pool));
    zk_pool_for(pool, n_groups, grain ? grain : 1, leaf_range, (void *)job);
}
