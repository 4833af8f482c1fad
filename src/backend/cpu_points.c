/* Resident points of the CPU backend: arrays in Montgomery affine form. */
#include "backend/cpu_impl.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/cancel.h"
#include "base/mem.h"
#include "base/retire.h"
#include "curve/many.h"

size_t zk_cpu_point_bytes(zk_group group) { return group == ZK_G1 ? sizeof(zk_g1_affine) : sizeof(zk_g2_affine); }

void zk_cpu_points_plan(const zk_backend *backend, const char *name, zk_group group, size_t n, zk_memory_plan *plan) {
    (void)backend;
    zk_memory_plan_add(plan, name, n, zk_cpu_point_bytes(group));
}

static cuzk_status points_create(cpu_points **points, zk_backend *backend, const zk_points_source *source, size_t n,
                                 cuzk_err *err) {
    cpu_points *p = zk_calloc(1, sizeof *p);
    *points = NULL;
    if (!p) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "points %s: out of memory", source->name);
    p->base = (zk_resident_points){backend, source->group, n};
    p->name = source->name;
    cuzk_status status = zk_mem_alloc_shared(&p->points, p->name, n * zk_cpu_point_bytes(source->group), err);
    if (status != CUZK_OK) {
        free(p);
        return status;
    }
    *points = p;
    return CUZK_OK;
}

void zk_cpu_points_unload(zk_resident_points *points) {
    cpu_points *p = (cpu_points *)points;
    zk_pool_release_memory(zk_cpu_pool(points->backend)); /* who unloads wants memory back */
    zk_retire_mem(points->backend->retire, p->points);
    free(p);
}

typedef struct load_job {
    const zk_points_source *source;
    const cpu_mask *mask; /* bit points; NULL: none */
    void *full, *bits;
    _Atomic size_t first_bad; /* least index refused; n: none */
} load_job;

static zk_point_verdict decode(zk_group group, void *point, const uint8_t *encoded, bool *infinity) {
    zk_point_verdict verdict;
    if (group == ZK_G1) {
        verdict = zk_g1_deserialize(point, encoded, false);
        *infinity = verdict == ZK_POINT_OK && zk_g1_affine_is_infinity(point);
    } else {
        verdict = zk_g2_deserialize(point, encoded, false);
        *infinity = verdict == ZK_POINT_OK && zk_g2_affine_is_infinity(point);
    }
    return verdict;
}

size_t zk_cpu_encoded_bytes(zk_group group) {
    return group == ZK_G1 ? ZK_G1_UNCOMPRESSED_BYTES : ZK_G2_UNCOMPRESSED_BYTES;
}

static void refuse(load_job *job, size_t index) {
    size_t seen = atomic_load(&job->first_bad);
    while (index < seen && !atomic_compare_exchange_weak(&job->first_bad, &seen, index)) {}
}

static size_t decode_many(zk_group group, void *points, const uint8_t *encoded, size_t n) {
    return group == ZK_G1 ? zk_g1_deserialize_many(points, encoded, n) : zk_g2_deserialize_many(points, encoded, n);
}

/* Chunks come in ascending order and one below the least refused index is always finished, so the least is exact. */
static void load_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    load_job *job = ctx;
    const zk_points_source *source = job->source;
    const size_t point_bytes = zk_cpu_point_bytes(source->group), step = zk_cpu_encoded_bytes(source->group);
    size_t i = begin * CPU_BLOCK_BITS, last = zk_min_size(end * CPU_BLOCK_BITS, source->n), n;
    size_t n_bits = job->mask ? job->mask->rank[begin] : 0;
    uint8_t *bit_out = job->bits ? (uint8_t *)job->bits + n_bits * point_bytes : NULL;
    uint8_t *full_out = job->full ? (uint8_t *)job->full + (i - n_bits) * point_bytes : NULL;
    zk_g2_affine mixed[64]; /* large enough for both */
    (void)thread;
    if (i > atomic_load(&job->first_bad) || zk_cancel_requested(NULL)) return;
    for (; i < last; i += n) {
        n = zk_min_size(64, last - i);
        const uint64_t all = n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
        uint64_t bits = job->mask ? job->mask->words[i / 64] : 0;
        uint8_t **out = bits == all ? &bit_out : &full_out;
        uint8_t *points = bits == 0 || bits == all ? *out : (uint8_t *)mixed;
        size_t good = decode_many(source->group, points, source->encoded + i * step, n);
        if (good < n) {
            refuse(job, i + good);
            return;
        }
        if (points == *out) {
            *out += n * point_bytes;
            continue;
        }
        for (size_t k = 0; k < n; k++) {
            out = bits >> k & 1 ? &bit_out : &full_out;
            memcpy(*out, points + k * point_bytes, point_bytes);
            *out += point_bytes;
        }
    }
}

static void describe_fault(zk_points_fault *fault, const zk_points_source *source, size_t index) {
    zk_g2_affine point; /* large enough for both */
    *fault = (zk_points_fault){.found = true, .infinity = true, .index = index, .verdict = ZK_POINT_OK};
    if (!source->encoded) return;
    fault->verdict =
        decode(source->group, &point, source->encoded + index * zk_cpu_encoded_bytes(source->group), &fault->infinity);
}

cuzk_status zk_cpu_points_load(zk_resident_points **full, zk_resident_points **bits, zk_points_fault *fault,
                               zk_backend *backend, const zk_points_source *source, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    cpu_mask mask = {0};
    cpu_points *full_points = NULL, *bit_points = NULL;
    load_job job = {.source = source, .first_bad = source->n};
    size_t bad;

    if (source->n > SIZE_MAX / sizeof(zk_g2_affine))
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "points %s: %zu of them", source->name, source->n);
    if (source->is_bit) {
        ZK_GOTO(zk_cpu_mask_init(&mask, source->is_bit, source->n, err));
        ZK_GOTO(points_create(&bit_points, backend, source, mask.n_set, err));
        job.mask = &mask;
        job.bits = bit_points->points;
    }
    ZK_GOTO(points_create(&full_points, backend, source, source->n - mask.n_set, err));
    job.full = full_points->points;
    if (source->encoded) {
        zk_pool_for(zk_cpu_pool(backend), (source->n + CPU_BLOCK_BITS - 1) / CPU_BLOCK_BITS, 1, load_range, &job);
        ZK_GOTO(zk_cancel_check(NULL, "key load", err)); /* blocks may be left out */
        bad = job.first_bad;
    } else {
        ZK_GOTO(zk_cpu_multiples_points(&bad, source, job.mask, job.full, job.bits, err));
    }
    if (bad < source->n) {
        describe_fault(fault, source, bad);
        status = CUZK_BAD_INPUT;
        goto out;
    }
    *full = &full_points->base;
    if (bits) *bits = bit_points ? &bit_points->base : NULL;
    full_points = bit_points = NULL;
out:
    if (full_points) zk_cpu_points_unload(&full_points->base);
    if (bit_points) zk_cpu_points_unload(&bit_points->base);
    zk_cpu_mask_clear(&mask);
    return status;
}
