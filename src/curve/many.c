#include "curve/many.h"

#include <string.h>

#include "base/pool.h"
#include "curve/lanes/lanes.h"
#include "field/sqrt.h"

#define LANES 8

/* NULL: n points are faster one by one. */
static const zk_curve_lanes *lanes_for(size_t n) {
    const zk_curve_lanes *lanes = zk_curve_lanes_active();
    return lanes && n >= lanes->least ? lanes : NULL;
}

/* ---- decoding ---- */

typedef struct decode_job {
    void *points;
    zk_point_verdict *verdicts;
    const uint8_t *const *bytes;
    size_t n;
    const zk_curve_lanes *lanes;
} decode_job;

static void g1_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const decode_job *job = ctx;
    zk_g1_affine *points = job->points;
    (void)thread;
    for (size_t i = begin; i < end; i++) job->verdicts[i] = zk_g1_decompress(&points[i], job->bytes[i], true);
}

static void g2_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const decode_job *job = ctx;
    zk_g2_affine *points = job->points;
    (void)thread;
    for (size_t i = begin; i < end; i++) job->verdicts[i] = zk_g2_decompress(&points[i], job->bytes[i], true);
}

static bool bit(unsigned mask, size_t k) { return mask >> k & 1; }

/* Up to eight points. Lanes without one repeat a point that is in the group. */
static void g1_lanes(const zk_curve_lanes *lanes, zk_g1_affine *r, zk_point_verdict *verdicts,
                     const uint8_t *const *bytes, size_t n) {
    zk_g1_affine point[LANES];
    zk_fp square[LANES], root[LANES];
    unsigned open = 0, undecided;
    for (size_t k = 0; k < LANES; k++) {
        square[k] = zk_fp_one;
        if (k < n && zk_g1_decompress_begin(&point[k], &square[k], &verdicts[k], bytes[k]))
            open |= 1u << k;
        else if (k < n && verdicts[k] == ZK_POINT_OK)
            r[k] = point[k];
        root[k] = square[k];
    }
    lanes->fp_pow(root, zk_fp_sqrt_exponent);
    for (size_t k = 0; k < LANES; k++) {
        if (bit(open, k) && !zk_fp_sqrt_finish(&root[k], &square[k], &root[k])) {
            verdicts[k] = ZK_POINT_NOT_ON_CURVE;
            open &= ~(1u << k);
        }
        if (bit(open, k))
            zk_g1_decompress_root(&point[k], &root[k], bytes[k]);
        else
            point[k] = zk_g1_generator;
    }
    unsigned inside = lanes->g1_subgroup(&undecided, point);
    for (size_t k = 0; k < LANES; k++) {
        if (!bit(open, k)) continue;
        bool in = bit(undecided, k) ? zk_g1_affine_is_in_subgroup(&point[k]) : bit(inside, k);
        verdicts[k] = in ? ZK_POINT_OK : ZK_POINT_NOT_IN_SUBGROUP;
        if (in) r[k] = point[k];
    }
}

static void g2_lanes(const zk_curve_lanes *lanes, zk_g2_affine *r, zk_point_verdict *verdicts,
                     const uint8_t *const *bytes, size_t n) {
    zk_g2_affine point[LANES];
    zk_fp2 square[LANES], root[LANES];
    zk_fp norm[LANES], d[LANES], power[LANES];
    unsigned open = 0, real = 0, undecided;
    for (size_t k = 0; k < LANES; k++) {
        square[k] = zk_fp2_one;
        if (k < n && zk_g2_decompress_begin(&point[k], &square[k], &verdicts[k], bytes[k]))
            open |= 1u << k;
        else if (k < n && verdicts[k] == ZK_POINT_OK)
            r[k] = point[k];
        if (zk_fp_is_zero(&square[k].c1)) real |= 1u << k;
        zk_fp2_sqrt_norm(&norm[k], &square[k]);
        power[k] = norm[k];
    }
    lanes->fp_pow(power, zk_fp_sqrt_exponent);
    for (size_t k = 0; k < LANES; k++) {
        bool is_square = zk_fp_sqrt_finish(&power[k], &norm[k], &power[k]);
        if (bit(open & ~real, k) && !is_square) {
            verdicts[k] = ZK_POINT_NOT_ON_CURVE;
            open &= ~(1u << k);
        }
        zk_fp2_sqrt_half(&d[k], &square[k], &power[k]);
        power[k] = d[k];
    }
    lanes->fp_pow(power, zk_fp_inverse_sqrt_exponent);
    for (size_t k = 0; k < LANES; k++) {
        if (bit(open & real, k) && !zk_fp2_sqrt_var(&root[k], &square[k])) {
            verdicts[k] = ZK_POINT_NOT_ON_CURVE;
            open &= ~(1u << k);
        }
        if (bit(open & ~real, k)) zk_fp2_sqrt_finish(&root[k], &square[k], &d[k], &power[k]);
        if (bit(open, k))
            zk_g2_decompress_root(&point[k], &root[k], bytes[k]);
        else
            point[k] = zk_g2_generator;
    }
    unsigned inside = lanes->g2_subgroup(&undecided, point);
    for (size_t k = 0; k < LANES; k++) {
        if (!bit(open, k)) continue;
        bool in = bit(undecided, k) ? zk_g2_affine_is_in_subgroup(&point[k]) : bit(inside, k);
        verdicts[k] = in ? ZK_POINT_OK : ZK_POINT_NOT_IN_SUBGROUP;
        if (in) r[k] = point[k];
    }
}

static size_t block_points(size_t n, size_t block) { return n - block * LANES < LANES ? n - block * LANES : LANES; }

static void g1_blocks(void *ctx, size_t begin, size_t end, unsigned thread) {
    const decode_job *job = ctx;
    (void)thread;
    for (size_t b = begin; b < end; b++)
        g1_lanes(job->lanes, (zk_g1_affine *)job->points + LANES * b, job->verdicts + LANES * b, job->bytes + LANES * b,
                 block_points(job->n, b));
}

static void g2_blocks(void *ctx, size_t begin, size_t end, unsigned thread) {
    const decode_job *job = ctx;
    (void)thread;
    for (size_t b = begin; b < end; b++)
        g2_lanes(job->lanes, (zk_g2_affine *)job->points + LANES * b, job->verdicts + LANES * b, job->bytes + LANES * b,
                 block_points(job->n, b));
}

static void run(zk_pool *pool, size_t n, const zk_curve_lanes *lanes, zk_range_fn one_by_one, zk_range_fn blocks,
                void *job) {
    if (lanes)
        zk_pool_for(pool, (n - 1) / LANES + 1, 1, blocks, job);
    else
        zk_pool_for(pool, n, 1, one_by_one, job);
}

void zk_g1_decompress_many(zk_g1_affine *r, zk_point_verdict *verdicts, const uint8_t *const *bytes, size_t n,
                           zk_pool *pool) {
    decode_job job = {r, verdicts, bytes, n, lanes_for(n)};
    run(pool, n, job.lanes, g1_range, g1_blocks, &job);
}

void zk_g2_decompress_many(zk_g2_affine *r, zk_point_verdict *verdicts, const uint8_t *const *bytes, size_t n,
                           zk_pool *pool) {
    decode_job job = {r, verdicts, bytes, n, lanes_for(n)};
    run(pool, n, job.lanes, g2_range, g2_blocks, &job);
}

/* ---- decoding of canonical points, membership ---- */

#define GROUP(name) zk_g1_##name
#define IN_LANES(name) g1_##name
#define UNCOMPRESSED_BYTES ZK_G1_UNCOMPRESSED_BYTES
#include "curve/many_group.inc"
#undef GROUP
#undef IN_LANES
#undef UNCOMPRESSED_BYTES

#define GROUP(name) zk_g2_##name
#define IN_LANES(name) g2_##name
#define UNCOMPRESSED_BYTES ZK_G2_UNCOMPRESSED_BYTES
#include "curve/many_group.inc"

/* ---- multiples ---- */

void zk_pair_to_fr(zk_fr *k, const uint64_t pair[2]) {
    const uint64_t first[4] = {pair[0], 1, 0, 0}, second[4] = {pair[1], 0, 0, 0};
    zk_fr a, b, x;
    zk_fr_from_limbs(&a, first);
    zk_fr_from_limbs(&b, second);
    zk_fr_from_u64(&x, ZK_CURVE_ABS_X);
    zk_fr_sqr(&x, &x);
    zk_fr_mul(&b, &b, &x);
    zk_fr_sub(k, &a, &b);
}

typedef struct pairs_job {
    zk_g1_affine *r;
    const zk_g1_affine *p;
    const uint64_t (*pairs)[2];
    size_t n;
    const zk_curve_lanes *lanes;
} pairs_job;

/* By the digits of a and b together: P, phi(P), and P + phi(P) = -phi^2(P). */
static void pairs_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const pairs_job *job = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        zk_g1_affine image[4] = {{{{0}}}};
        zk_g1 sum;
        image[1] = job->p[i];
        zk_g1_affine_phi(&image[2], &image[1]);
        zk_g1_affine_phi(&image[3], &image[2]);
        zk_g1_affine_neg(&image[3], &image[3]);
        zk_g1_from_affine(&sum, &image[1]);
        for (int k = 63; k >= 0; k--) {
            unsigned digit = (unsigned)(job->pairs[i][0] >> k & 1) | (unsigned)(job->pairs[i][1] >> k & 1) << 1;
            zk_g1_double(&sum, &sum);
            if (digit) zk_g1_add_affine(&sum, &sum, &image[digit]);
        }
        zk_g1_to_affine(&job->r[i], &sum);
    }
}

static void pairs_blocks(void *ctx, size_t begin, size_t end, unsigned thread) {
    const pairs_job *job = ctx;
    (void)thread;
    for (size_t b = begin; b < end; b++) {
        const size_t first = LANES * b, n = block_points(job->n, b);
        zk_g1_affine p[LANES], r[LANES];
        zk_g1 multiple[LANES];
        uint64_t pair[LANES][2] = {{0}};
        for (size_t k = 0; k < LANES; k++) {
            bool used = k < n && !zk_g1_affine_is_infinity(&job->p[first + k]);
            p[k] = used ? job->p[first + k] : zk_g1_generator;
            if (k < n) memcpy(pair[k], job->pairs[first + k], sizeof pair[k]);
        }
        job->lanes->g1_mul_pairs(multiple, p, (const uint64_t(*)[2])pair);
        for (size_t k = 0; k < n; k++)
            if (zk_g1_affine_is_infinity(&job->p[first + k])) zk_g1_set_infinity(&multiple[k]);
        if (zk_g1_batch_to_affine(r, multiple, n) != CUZK_OK) /* cannot fail for so few */
            for (size_t k = 0; k < n; k++) zk_g1_to_affine(&r[k], &multiple[k]);
        memcpy(job->r + first, r, n * sizeof *r);
    }
}

void zk_g1_mul_pairs_many(zk_g1_affine *r, const zk_g1_affine *p, const uint64_t (*pairs)[2], size_t n, zk_pool *pool) {
    pairs_job job = {r, p, pairs, n, lanes_for(n)};
    run(pool, n, job.lanes, pairs_range, pairs_blocks, &job);
}
