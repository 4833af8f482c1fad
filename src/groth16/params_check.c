/* The full check of a parameter file: see zk_params_check for the method and its error. */
#include "groth16/params.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/cancel.h"
#include "base/pool.h"
#include "base/rand.h"
#include "hash/sha256.h"

#define N_BUCKETS ((size_t)1 << ZK_CHECK_LOG2_BUCKETS)
#define N_SUMS (ZK_CHECK_PASSES * N_BUCKETS)
#define LOT_POINTS 5 /* drawn from one digest: 3 passes of 16 bits each, 5 times 48 of 256 bits */
#define CHUNK (LOT_POINTS * 512)
#define DEVICE_EACH 32                 /* so few points are left to the CPU */
#define DEVICE_SLICE ((size_t)3 << 30) /* bytes of points on a device at once, at most */

_Static_assert(ZK_CHECK_LOG2_BUCKETS <= 16 && LOT_POINTS * ZK_CHECK_PASSES * 2 <= 32, "draws fit a digest");

typedef union affine {
    zk_g1_affine g1;
    zk_g2_affine g2;
} affine;

typedef struct check_job {
    const zk_params *params;
    zk_params_section_id id;
    zk_group group;
    size_t n;
    bool each;    /* test membership point by point */
    size_t first; /* of this call, in points: sections are handed over in parts, for progress */
    uint8_t seed[32];
    zk_point_sum *sums; /* [n_threads][N_SUMS] */
    _Atomic size_t first_bad;
    size_t wanted; /* second walk: index into N_SUMS of a bad sum */
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

static void refuse(check_job *job, size_t index) {
    size_t seen = atomic_load(&job->first_bad);
    while (index < seen && !atomic_compare_exchange_weak(&job->first_bad, &seen, index)) {}
}

/* The buckets of LOT_POINTS neighbours: seeded by the kernel after the file was written, and repeatable. */
static void draw(const check_job *job, size_t lot, uint16_t draws[16]) {
    uint8_t text[48], digest[32];
    memcpy(text, job->seed, 32);
    zk_store_le64(text + 32, job->id);
    zk_store_le64(text + 40, lot);
    zk_sha256(digest, text, sizeof text);
    memcpy(draws, digest, 32);
}

static size_t sum_index(const uint16_t draws[16], size_t index, unsigned pass) {
    return pass * N_BUCKETS + draws[index % LOT_POINTS * ZK_CHECK_PASSES + pass] % N_BUCKETS;
}

static void check_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    check_job *job = ctx;
    zk_point_sum *sums = job->sums ? job->sums + thread * N_SUMS : NULL;
    uint16_t draws[16];
    begin += job->first;
    end += job->first;
    if (begin > atomic_load(&job->first_bad)) return;
    for (size_t i = begin; i < end; i++) {
        affine point;
        bool infinity;
        if (decode(job, i, job->each, &point, &infinity) != ZK_POINT_OK || infinity) {
            refuse(job, i);
            return;
        }
        if (job->each) continue;
        if (i == begin || i % LOT_POINTS == 0) draw(job, i / LOT_POINTS, draws);
        for (unsigned pass = 0; pass < ZK_CHECK_PASSES; pass++) {
            zk_point_sum *sum = &sums[sum_index(draws, i, pass)];
            if (job->group == ZK_G1)
                zk_g1_add_affine(&sum->g1, &sum->g1, &point.g1);
            else
                zk_g2_add_affine(&sum->g2, &sum->g2, &point.g2);
        }
    }
}

/* Joins the threads' sums and tests each; first_bad is an index into N_SUMS here. */
typedef struct test_job {
    zk_group group;
    unsigned n_threads;
    zk_point_sum *sums;
    _Atomic size_t first_bad;
} test_job;

static void test_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    test_job *job = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        affine point;
        bool good;
        for (unsigned t = 1; t < job->n_threads; t++) {
            const zk_point_sum *other = &job->sums[t * N_SUMS + i];
            if (job->group == ZK_G1)
                zk_g1_add(&job->sums[i].g1, &job->sums[i].g1, &other->g1);
            else
                zk_g2_add(&job->sums[i].g2, &job->sums[i].g2, &other->g2);
        }
        if (job->group == ZK_G1) {
            zk_g1_to_affine(&point.g1, &job->sums[i].g1);
            good = zk_g1_affine_is_in_subgroup(&point.g1);
        } else {
            zk_g2_to_affine(&point.g2, &job->sums[i].g2);
            good = zk_g2_affine_is_in_subgroup(&point.g2);
        }
        size_t seen = atomic_load(&job->first_bad);
        if (!good)
            while (i < seen && !atomic_compare_exchange_weak(&job->first_bad, &seen, i)) {}
    }
}

/* After a sum was found outside the subgroup: which of its points is. */
static void find_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    check_job *job = ctx;
    unsigned pass = (unsigned)(job->wanted / N_BUCKETS);
    uint16_t draws[16];
    (void)thread;
    if (begin > atomic_load(&job->first_bad)) return;
    for (size_t i = begin; i < end; i++) {
        affine point;
        bool infinity;
        if (i == begin || i % LOT_POINTS == 0) draw(job, i / LOT_POINTS, draws);
        if (sum_index(draws, i, pass) != job->wanted) continue;
        if (decode(job, i, true, &point, &infinity) != ZK_POINT_OK) {
            refuse(job, i);
            return;
        }
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
    job->each = job->n <= N_BUCKETS;
    job->first = 0;
    job->first_bad = job->n;
}

/* All queries of one group share the sums. */
static cuzk_status check_group(const zk_params *params, zk_group group, zk_pool *pool, zk_params_progress progress,
                               void *progress_ctx, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    unsigned n_threads = zk_pool_n_threads(pool);
    check_job job = {.params = params, .group = group};
    bool summed = false;

    ZK_TRY(zk_rand_bytes(job.seed, sizeof job.seed, err));
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++)
        if (zk_params_section_group((zk_params_section_id)id) == group && params->section[id].n > N_BUCKETS)
            summed = true;
    if (summed) {
        job.sums = zk_calloc((size_t)n_threads * N_SUMS, sizeof *job.sums); /* zero: infinity */
        if (!job.sums) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: check: out of memory", params->name);
    }
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++) {
        if (zk_params_section_group((zk_params_section_id)id) != group) continue;
        section_job(&job, (zk_params_section_id)id);
        for (; job.first < job.n; job.first += zk_min_size(job.n - job.first, CHUNK * 256)) {
            if (progress) progress(progress_ctx, zk_params_section_name(job.id), job.first, job.n);
            ZK_GOTO(zk_cancel_check(NULL, "params check", err));
            zk_pool_for(pool, zk_min_size(job.n - job.first, CHUNK * 256), CHUNK, check_range, &job);
            if (job.first_bad < job.n) {
                status = refuse_first(&job, err);
                goto out;
            }
        }
        if (progress) progress(progress_ctx, zk_params_section_name(job.id), job.n, job.n);
    }
    if (!summed) goto out;

    test_job test = {group, n_threads, job.sums, N_SUMS};
    zk_pool_for(pool, N_SUMS, 64, test_range, &test);
    if (test.first_bad == N_SUMS) goto out;
    job.wanted = test.first_bad;
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++) {
        if (zk_params_section_group((zk_params_section_id)id) != group) continue;
        section_job(&job, (zk_params_section_id)id);
        if (job.each) continue;
        zk_pool_for(pool, job.n, CHUNK, find_range, &job);
        if (job.first_bad < job.n) {
            status = refuse_first(&job, err);
            goto out;
        }
    }
    status = ZK_FAIL(err, CUZK_INTERNAL, "%s: check: a sum of points is outside the subgroup, none of its points is",
                     params->name);
out:
    free(job.sums);
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

static cuzk_status check_section_on(device_check *check, zk_params_section_id id, cuzk_err *err) {
    check_job job = {.params = check->params, .group = zk_params_section_group(id)};
    section_job(&job, id);
    job.each = job.n <= DEVICE_EACH;
    if (job.each) {
        zk_pool_for(check->pool, job.n, CHUNK, check_range, &job);
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
