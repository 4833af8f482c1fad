/* The full check of a parameter file: see zk_params_check for the method and its error. */
#include "groth16/params.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/cancel.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/rand.h"
#include "curve/many.h"
#include "msm/subgroup.h"

#define CHUNK_BLOCKS ((size_t)2) /* of points that are decoded and added together: they stay in cache */
#define CHUNK (CHUNK_BLOCKS * ZK_SUBGROUP_LANES)
#define EACH_MOST ((size_t)1 << 14) /* points of a query whose membership is tested point by point */
#define EACH_CHUNK ((size_t)512)
#define DEVICE_EACH 32                 /* so few points are left to the CPU */
#define DEVICE_SLICE ((size_t)3 << 30) /* bytes of points on a device at once, at most */

typedef union affine {
    zk_g1_affine g1;
    zk_g2_affine g2;
} affine;

typedef struct check_thread {
    void *points; /* [CHUNK] decoded */
    void *sums;   /* zk_g1_subgroup_sums or zk_g2_subgroup_sums; NULL: all queries are tested point by point */
    zk_subgroup_draw draws[CHUNK_BLOCKS];
} check_thread;

typedef struct check_job {
    const zk_params *params;
    zk_params_section_id id;
    zk_group group;
    size_t n;
    bool each;    /* test membership point by point */
    size_t first; /* of this call, in points: sections are handed over in parts, for progress */
    uint8_t key[32];
    unsigned n_threads;
    check_thread *threads;
    _Atomic size_t first_bad;
    unsigned bad_pass; /* second walk: of a bad sum */
    size_t bad_lane;
} check_job;

static const uint8_t *encoded_at(const check_job *job, size_t index) {
    return job->params->bytes + job->params->section[job->id].offset + index * zk_params_point_bytes(job->id);
}

static zk_point_verdict decode(const check_job *job, size_t index, bool subgroup, affine *point, bool *infinity) {
    zk_point_verdict verdict;
    if (job->group == ZK_G1) {
        verdict = zk_g1_deserialize(&point->g1, encoded_at(job, index), subgroup);
        *infinity = verdict == ZK_POINT_OK && zk_g1_affine_is_infinity(&point->g1);
    } else {
        verdict = zk_g2_deserialize(&point->g2, encoded_at(job, index), subgroup);
        *infinity = verdict == ZK_POINT_OK && zk_g2_affine_is_infinity(&point->g2);
    }
    return verdict;
}

static void lower(_Atomic size_t *least, size_t index) {
    size_t seen = atomic_load(least);
    while (index < seen && !atomic_compare_exchange_weak(least, &seen, index)) {}
}

/* Blocks of all queries have different numbers. */
static void draw_block(zk_subgroup_draw *draw, const check_job *job, size_t block) {
    zk_subgroup_draw_block(draw, job->key, (uint64_t)job->id << 32 | block);
}

/* Chunks come in ascending order and one below the least refused index is always finished, so the least is exact. */
static void check_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    check_job *job = ctx;
    check_thread *t = &job->threads[thread];
    const size_t first = job->first + begin, n = end - begin, block = first / ZK_SUBGROUP_LANES;
    size_t good;
    if (first > atomic_load(&job->first_bad)) return;
    if (job->group == ZK_G1) {
        good = zk_g1_deserialize_many(t->points, encoded_at(job, first), n);
        if (job->each) good = zk_g1_in_subgroup_many(t->points, good);
    } else {
        good = zk_g2_deserialize_many(t->points, encoded_at(job, first), n);
        if (job->each) good = zk_g2_in_subgroup_many(t->points, good);
    }
    if (good < n) lower(&job->first_bad, first + good);
    if (good < n || job->each) return;
    for (size_t i = 0; i * ZK_SUBGROUP_LANES < n; i++) draw_block(&t->draws[i], job, block + i);
    if (job->group == ZK_G1)
        zk_g1_subgroup_sums_add(t->sums, t->points, n, t->draws);
    else
        zk_g2_subgroup_sums_add(t->sums, t->points, n, t->draws);
}

/* ---- sums ---- */

static void sums_destroy(check_job *job) {
    for (unsigned i = 0; job->threads && i < job->n_threads; i++) {
        zk_mem_free(job->threads[i].points);
        if (job->group == ZK_G1)
            zk_g1_subgroup_sums_destroy(job->threads[i].sums);
        else
            zk_g2_subgroup_sums_destroy(job->threads[i].sums);
    }
    free(job->threads);
}

static cuzk_status sums_create(check_job *job, bool summed, cuzk_err *err) {
    const size_t n_bytes = job->group == ZK_G1 ? sizeof(zk_g1_affine) : sizeof(zk_g2_affine);
    job->threads = zk_calloc(job->n_threads, sizeof *job->threads);
    if (!job->threads) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: check: out of memory", job->params->name);
    for (unsigned i = 0; i < job->n_threads; i++) {
        check_thread *t = &job->threads[i];
        ZK_TRY(zk_mem_alloc(&t->points, "subgroup check", (summed ? CHUNK : EACH_CHUNK) * n_bytes, err));
        if (!summed) continue;
        if (job->group == ZK_G1)
            ZK_TRY(zk_g1_subgroup_sums_create((zk_g1_subgroup_sums **)&t->sums, err));
        else
            ZK_TRY(zk_g2_subgroup_sums_create((zk_g2_subgroup_sums **)&t->sums, err));
    }
    return CUZK_OK;
}

/* Threads 2 k d and (2 k + 1) d, d a power of two: the second's sums go to the first. */
typedef struct join_job {
    check_job *job;
    size_t distance;
} join_job;

static void join_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const join_job *join = ctx;
    check_thread *threads = join->job->threads;
    (void)thread;
    for (size_t k = begin; k < end; k++) {
        const size_t to = 2 * k * join->distance, from = to + join->distance;
        if (from >= join->job->n_threads) continue;
        if (join->job->group == ZK_G1)
            zk_g1_subgroup_sums_join(threads[to].sums, threads[from].sums);
        else
            zk_g2_subgroup_sums_join(threads[to].sums, threads[from].sums);
    }
}

typedef struct test_job {
    zk_group group;
    void *sums;               /* [ZK_SUBGROUP_LANES] */
    _Atomic size_t first_bad; /* lane */
} test_job;

static void test_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    test_job *job = ctx;
    (void)thread;
    const size_t good = job->group == ZK_G1
                            ? zk_g1_in_subgroup_many((const zk_g1_affine *)job->sums + begin, end - begin)
                            : zk_g2_in_subgroup_many((const zk_g2_affine *)job->sums + begin, end - begin);
    if (good < end - begin) lower(&job->first_bad, begin + good);
}

/* Joins the threads' sums and tests each; a bad one is left in bad_pass and bad_lane. */
static cuzk_status test_sums(bool *good, check_job *job, zk_pool *pool, cuzk_err *err) {
    test_job test = {.group = job->group, .first_bad = ZK_SUBGROUP_LANES};
    const void *joined = job->threads[0].sums;
    *good = false;
    for (size_t d = 1; d < job->n_threads; d *= 2)
        zk_pool_for(pool, (job->n_threads - 1) / (2 * d) + 1, 1, join_range, &(join_job){job, d});
    test.sums = zk_malloc(ZK_SUBGROUP_LANES * sizeof(affine));
    if (!test.sums) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: check: out of memory", job->params->name);
    for (unsigned pass = 0; pass < ZK_SUBGROUP_PASSES && test.first_bad == ZK_SUBGROUP_LANES; pass++) {
        if (job->group == ZK_G1)
            zk_g1_subgroup_sums_get(test.sums, joined, pass);
        else
            zk_g2_subgroup_sums_get(test.sums, joined, pass);
        zk_pool_for(pool, ZK_SUBGROUP_LANES, 64, test_range, &test);
        job->bad_pass = pass;
    }
    job->bad_lane = test.first_bad;
    *good = job->bad_lane == ZK_SUBGROUP_LANES;
    free(test.sums);
    return CUZK_OK;
}

/* After a sum was found outside the subgroup: which of its points is. */
static void find_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    check_job *job = ctx;
    (void)thread;
    for (size_t block = begin; block < end && block * ZK_SUBGROUP_LANES <= atomic_load(&job->first_bad); block++) {
        zk_subgroup_draw draw;
        affine point;
        bool infinity;
        draw_block(&draw, job, block);
        const size_t i = block * ZK_SUBGROUP_LANES + (job->bad_lane + draw.turn[job->bad_pass]) % ZK_SUBGROUP_LANES;
        if (i < job->n && decode(job, i, true, &point, &infinity) != ZK_POINT_OK) lower(&job->first_bad, i);
    }
}

static cuzk_status refuse_first(check_job *job, cuzk_err *err) {
    affine point;
    zk_points_fault fault = {.found = true, .index = job->first_bad};
    fault.verdict = decode(job, fault.index, true, &point, &fault.infinity);
    return zk_params_refuse_point(job->params, job->id, &fault, CUZK_CHECK_FAILED, err);
}

static void section_job(check_job *job, zk_params_section_id id) {
    job->id = id;
    job->n = job->params->section[id].n;
    job->each = job->n <= EACH_MOST;
    job->first = 0;
    job->first_bad = job->n;
}

/* All queries of one group share the sums. */
static cuzk_status check_group(const zk_params *params, zk_group group, zk_pool *pool, zk_params_progress progress,
                               void *progress_ctx, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    check_job job = {.params = params, .group = group, .n_threads = zk_pool_n_threads(pool)};
    const size_t part = CHUNK * zk_max_size(64, 8 * (size_t)job.n_threads);
    bool summed = false, good;

    ZK_TRY(zk_rand_bytes(job.key, sizeof job.key, err));
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++)
        if (zk_params_section_group((zk_params_section_id)id) == group && params->section[id].n > EACH_MOST)
            summed = true;
    ZK_GOTO(sums_create(&job, summed, err));
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++) {
        if (zk_params_section_group((zk_params_section_id)id) != group) continue;
        section_job(&job, (zk_params_section_id)id);
        for (; job.first < job.n; job.first += zk_min_size(job.n - job.first, part)) {
            if (progress) progress(progress_ctx, zk_params_section_name(job.id), job.first, job.n);
            ZK_GOTO(zk_cancel_check(NULL, "params check", err));
            zk_pool_for(pool, zk_min_size(job.n - job.first, part), job.each ? EACH_CHUNK : CHUNK, check_range, &job);
            if (job.first_bad < job.n) {
                status = refuse_first(&job, err);
                goto out;
            }
        }
        if (progress) progress(progress_ctx, zk_params_section_name(job.id), job.n, job.n);
    }
    if (!summed) goto out;

    ZK_GOTO(test_sums(&good, &job, pool, err));
    if (good) goto out;
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++) {
        if (zk_params_section_group((zk_params_section_id)id) != group) continue;
        section_job(&job, (zk_params_section_id)id);
        if (job.each) continue;
        zk_pool_for(pool, (job.n - 1) / ZK_SUBGROUP_LANES + 1, 8, find_range, &job);
        if (job.first_bad < job.n) {
            status = refuse_first(&job, err);
            goto out;
        }
    }
    status = ZK_FAIL(err, CUZK_INTERNAL, "%s: check: a sum of points is outside the subgroup, none of its points is",
                     params->name);
out:
    sums_destroy(&job);
    return status;
}

/* ---- on a device ---- */

typedef struct device_check {
    const zk_params *params;
    zk_backend *backend;
    zk_pool *pool;
    zk_params_progress progress;
    void *progress_ctx;
    bool found; /* a point outside the subgroup: the first */
    zk_params_section_id id;
    size_t index;
} device_check;

/* The first point outside, among points of which one is. */
static cuzk_status find_outside(size_t *index, const zk_resident_points *points, cuzk_err *err) {
    size_t low = 0, high = points->n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        bool good;
        ZK_TRY(zk_resident_points_in_subgroup(&good, points, low, middle - low, err));
        *(good ? &low : &high) = middle;
    }
    *index = low;
    return CUZK_OK;
}

static cuzk_status check_slice(device_check *check, check_job *job, size_t n, cuzk_err *err) {
    zk_points_source source = {
        .name = zk_params_section_name(job->id), .group = job->group, .encoded = encoded_at(job, job->first), .n = n};
    zk_resident_points *points = NULL;
    zk_points_fault fault;
    bool good = true;
    cuzk_status status = zk_resident_points_load(&points, NULL, &fault, check->backend, &source, err);
    if (status != CUZK_OK && fault.found) {
        zk_err_reset(err);
        job->first_bad = job->first + fault.index;
        return refuse_first(job, err);
    }
    if (status == CUZK_OK && !check->found) /* later ones can only be badly encoded */
        status = zk_resident_points_in_subgroup(&good, points, 0, n, err);
    if (status == CUZK_OK && !good) {
        size_t index = 0;
        status = find_outside(&index, points, err);
        check->found = true;
        check->id = job->id;
        check->index = job->first + index;
    }
    zk_resident_points_unload(points);
    return status;
}

/* Points that fit the device beside what is done with them. */
static size_t slice_points(const zk_backend *backend, zk_params_section_id id) {
    size_t bytes =
        backend->caps.memory_bytes ? (size_t)zk_min_size(backend->caps.memory_bytes / 4, DEVICE_SLICE) : DEVICE_SLICE;
    return zk_max_size(bytes / zk_params_point_bytes(id), 1);
}

static void each_point(check_job *job) {
    affine point;
    bool infinity = false;
    for (size_t i = 0; i < job->first_bad; i++)
        if (decode(job, i, true, &point, &infinity) != ZK_POINT_OK || infinity) job->first_bad = i;
}

static cuzk_status check_section_on(device_check *check, zk_params_section_id id, cuzk_err *err) {
    check_job job = {.params = check->params, .group = zk_params_section_group(id)};
    section_job(&job, id);
    job.each = job.n <= DEVICE_EACH;
    if (job.each) {
        each_point(&job);
        return job.first_bad < job.n ? refuse_first(&job, err) : CUZK_OK;
    }
    size_t slice = slice_points(check->backend, id);
    for (; job.first < job.n; job.first += zk_min_size(job.n - job.first, slice)) {
        if (check->progress) check->progress(check->progress_ctx, zk_params_section_name(id), job.first, job.n);
        ZK_TRY(zk_cancel_check(NULL, "params check", err));
        ZK_TRY(check_slice(check, &job, zk_min_size(job.n - job.first, slice), err));
    }
    if (check->progress) check->progress(check->progress_ctx, zk_params_section_name(id), job.n, job.n);
    return CUZK_OK;
}

/* What the device found outside the subgroup, by the CPU's test and in its words. */
static cuzk_status refuse_found(const device_check *check, cuzk_err *err) {
    check_job job = {.params = check->params, .group = zk_params_section_group(check->id)};
    affine point;
    bool infinity;
    section_job(&job, check->id);
    job.first_bad = check->index;
    if (decode(&job, check->index, true, &point, &infinity) == ZK_POINT_OK && !infinity)
        return ZK_FAIL(err, CUZK_DEVICE, "%s: section %s, point %zu: %s finds it outside the subgroup, it is inside",
                       check->params->name, zk_params_section_name(check->id), check->index,
                       check->backend->caps.device);
    return refuse_first(&job, err);
}

cuzk_status zk_params_check_on(const zk_params *params, zk_backend *backend, zk_pool *pool, zk_params_progress progress,
                               void *progress_ctx, cuzk_err *err) {
    for (int group = ZK_G1; group <= ZK_G2; group++) {
        device_check check = {params, backend, pool, progress, progress_ctx, .found = false};
        for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++)
            if (zk_params_section_group((zk_params_section_id)id) == (zk_group)group)
                ZK_TRY(check_section_on(&check, (zk_params_section_id)id, err));
        if (check.found) return refuse_found(&check, err);
    }
    return zk_params_unchanged(params, err);
}

cuzk_status zk_params_check(const zk_params *params, zk_pool *pool, zk_params_progress progress, void *progress_ctx,
                            cuzk_err *err) {
    ZK_TRY(check_group(params, ZK_G1, pool, progress, progress_ctx, err));
    ZK_TRY(check_group(params, ZK_G2, pool, progress, progress_ctx, err));
    return zk_params_unchanged(params, err); /* else the answer would be about bytes of two files */
}
