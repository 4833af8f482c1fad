#include "curve/many.h"

#include <string.h>

#include "base/pool.h"
#include "curve/lanes/lanes.h"
#include "field/sqrt.h"

#define LANES 8
#define ALL_LANES ((1u << LANES) - 1)

/* NULL: n points are faster one by one. */
static const zk_curve_lanes *lanes_for(size_t n) {
    const zk_curve_lanes *lanes = zk_curve_lanes_active();
    return lanes && n >= lanes->least ? lanes : NULL;
}

/* ---- decoding, membership ---- */

typedef struct decode_job {
    void *points;
    zk_point_verdict *verdicts;
    const uint8_t *const *bytes;
    size_t n;
    const zk_curve_lanes *lanes;
} decode_job;

static bool bit(unsigned mask, size_t k) { return mask >> k & 1; }

static size_t block_points(size_t n, size_t block) { return n - block * LANES < LANES ? n - block * LANES : LANES; }

static void run(zk_pool *pool, size_t n, const zk_curve_lanes *lanes, zk_range_fn one_by_one, zk_range_fn blocks,
                void *job) {
    if (lanes)
        zk_pool_for(pool, (n - 1) / LANES + 1, 1, blocks, job);
    else
        zk_pool_for(pool, n, 1, one_by_one, job);
}

/* Smaller roots of the squares of the open lanes; returns the lanes, of those, that have one. */
static unsigned g1_roots(zk_fp root[LANES], const zk_curve_lanes *lanes, const zk_fp square[LANES], unsigned open) {
    unsigned found = 0;
    memcpy(root, square, LANES * sizeof *root);
    lanes->fp_pow(root, zk_fp_sqrt_exponent);
    for (size_t k = 0; k < LANES; k++)
        if (bit(open, k) && zk_fp_sqrt_finish(&root[k], &square[k], &root[k])) found |= 1u << k;
    return found;
}

/* As zk_fp2_sqrt_var; squares in Fp are seldom and go there. */
static unsigned g2_roots(zk_fp2 root[LANES], const zk_curve_lanes *lanes, const zk_fp2 square[LANES], unsigned open) {
    zk_fp norm[LANES], d[LANES], power[LANES];
    unsigned real = 0, found = 0;
    for (size_t k = 0; k < LANES; k++) {
        if (zk_fp_is_zero(&square[k].c1)) real |= 1u << k;
        zk_fp2_sqrt_norm(&norm[k], &square[k]);
        power[k] = norm[k];
    }
    lanes->fp_pow(power, zk_fp_sqrt_exponent);
    for (size_t k = 0; k < LANES; k++) {
        if (zk_fp_sqrt_finish(&power[k], &norm[k], &power[k])) found |= 1u << k;
        zk_fp2_sqrt_half(&d[k], &square[k], &power[k]);
        power[k] = d[k];
    }
    lanes->fp_pow(power, zk_fp_inverse_sqrt_exponent);
    found &= open & ~real;
    for (size_t k = 0; k < LANES; k++) {
        if (bit(found, k)) zk_fp2_sqrt_finish(&root[k], &square[k], &d[k], &power[k]);
        if (bit(open & real, k) && zk_fp2_sqrt_var(&root[k], &square[k])) found |= 1u << k;
    }
    return found;
}

#define FE zk_fp
#define FE_(name) zk_fp_##name
#define GROUP(name) zk_g1_##name
#define IN_LANES(name) g1_##name
#define UNCOMPRESSED_BYTES ZK_G1_UNCOMPRESSED_BYTES
#include "curve/many_group.inc"
#undef FE
#undef FE_
#undef GROUP
#undef IN_LANES
#undef UNCOMPRESSED_BYTES

#define FE zk_fp2
#define FE_(name) zk_fp2_##name
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
        zk_g1_affine p[LANES];
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
        zk_g1_batch_to_affine(job->r + first, multiple, n);
    }
}

void zk_g1_mul_pairs_many(zk_g1_affine *r, const zk_g1_affine *p, const uint64_t (*pairs)[2], size_t n, zk_pool *pool) {
    pairs_job job = {r, p, pairs, n, lanes_for(n)};
    run(pool, n, job.lanes, pairs_range, pairs_blocks, &job);
}
