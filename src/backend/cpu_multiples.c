/* Multiples of the generators on the CPU: tables of windows (msm.h), points made slice by slice on all threads. */
#include "backend/cpu_impl.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/cancel.h"
#include "base/mem.h"
#include "msm/msm.h"

#define SLICE_BLOCKS 16 /* of CPU_BLOCK_BITS points, made at a time */
#define SLICE ((size_t)SLICE_BLOCKS * CPU_BLOCK_BITS)
#define SERIALIZE_CHUNK 512

typedef struct cpu_multiples {
    zk_multiples base;
    zk_fixed_base_g1 *g1; /* one of them, by the group */
    zk_fixed_base_g2 *g2;
} cpu_multiples;

/* Windows for this many multiples of one base: the table (2^w / 2 points a window) must pay for itself. */
static unsigned window_bits(uint64_t n, unsigned most) {
    unsigned w = n < UINT64_MAX ? zk_log2_ceil(n + 1) : 64;
    w = w > 8 ? w - 5 : 4;
    return w < most ? w : most;
}

cuzk_status zk_cpu_multiples_create(zk_multiples **multiples, zk_backend *backend, zk_group group, uint64_t n_expected,
                                    cuzk_err *err) {
    zk_pool *pool = zk_cpu_pool(backend);
    cpu_multiples *m = zk_calloc(1, sizeof *m);
    if (!m) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "multiples of a generator: out of memory");
    m->base = (zk_multiples){backend, group};
    cuzk_status status =
        group == ZK_G1 ? zk_fixed_base_g1_create(&m->g1, &zk_g1_generator, window_bits(n_expected, 16), pool, err)
                       : zk_fixed_base_g2_create(&m->g2, &zk_g2_generator, window_bits(n_expected, 15), pool, err);
    if (status != CUZK_OK) {
        free(m);
        return status;
    }
    *multiples = &m->base;
    return CUZK_OK;
}

void zk_cpu_multiples_destroy(zk_multiples *multiples) {
    cpu_multiples *m = (cpu_multiples *)multiples;
    zk_fixed_base_g1_destroy(m->g1);
    zk_fixed_base_g2_destroy(m->g2);
    free(m);
}

static cuzk_status multiply(const zk_multiples *multiples, void *points, const zk_fr *scalars, size_t n,
                            cuzk_err *err) {
    const cpu_multiples *m = (const cpu_multiples *)multiples;
    zk_pool *pool = zk_cpu_pool(multiples->backend);
    return multiples->group == ZK_G1 ? zk_fixed_base_g1_mul(m->g1, points, scalars, n, pool, err)
                                     : zk_fixed_base_g2_mul(m->g2, points, scalars, n, pool, err);
}

/* ---- encoded ---- */

typedef struct serialize_job {
    zk_group group;
    const void *points;
    uint8_t *encoded;
} serialize_job;

static void serialize_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const serialize_job *job = ctx;
    size_t bytes = zk_cpu_encoded_bytes(job->group);
    (void)thread;
    for (size_t i = begin; i < end; i++)
        if (job->group == ZK_G1)
            zk_g1_serialize(job->encoded + i * bytes, (const zk_g1_affine *)job->points + i);
        else
            zk_g2_serialize(job->encoded + i * bytes, (const zk_g2_affine *)job->points + i);
}

cuzk_status zk_cpu_multiples_encode(const zk_multiples *multiples, uint8_t *encoded, const zk_fr *scalars, size_t n,
                                    cuzk_err *err) {
    zk_group group = multiples->group;
    cuzk_status status = CUZK_OK;
    void *points;
    ZK_TRY(zk_mem_alloc(&points, "multiples", zk_min_size(n, SLICE) * zk_cpu_point_bytes(group), err));
    for (size_t first = 0; first < n; first += SLICE) {
        size_t count = zk_min_size(n - first, SLICE);
        serialize_job job = {group, points, encoded + first * zk_cpu_encoded_bytes(group)};
        ZK_GOTO(zk_cancel_check(NULL, "key generation", err));
        ZK_GOTO(multiply(multiples, points, scalars + first, count, err));
        zk_pool_for(zk_cpu_pool(multiples->backend), count, SERIALIZE_CHUNK, serialize_range, &job);
    }
out:
    zk_mem_free(points);
    return status;
}

/* ---- resident ---- */

/* Puts the points of one slice where they belong. */
typedef struct place_job {
    const cpu_mask *mask;
    size_t point_bytes, first, n; /* the slice: points [first, first + n) */
    const uint8_t *points;
    uint8_t *full, *bits;
} place_job;

static void place_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const place_job *job = ctx;
    size_t bytes = job->point_bytes;
    (void)thread;
    for (size_t block = begin; block < end; block++) {
        size_t i = block * CPU_BLOCK_BITS, last = zk_min_size(i + CPU_BLOCK_BITS, job->n);
        size_t n_bits = job->mask->rank[(job->first + i) / CPU_BLOCK_BITS];
        uint8_t *bit_out = job->bits + n_bits * bytes, *full_out = job->full + (job->first + i - n_bits) * bytes;
        for (; i < last; i++) {
            size_t at = job->first + i;
            uint8_t **out = job->mask->words[at / 64] >> at % 64 & 1 ? &bit_out : &full_out;
            memcpy(*out, job->points + i * bytes, bytes);
            *out += bytes;
        }
    }
}

static size_t first_zero(const zk_fr *scalars, size_t n) {
    size_t i = 0;
    while (i < n && !zk_fr_is_zero(&scalars[i])) i++;
    return i;
}

cuzk_status zk_cpu_multiples_points(size_t *bad, const zk_points_source *source, const cpu_mask *mask, void *full,
                                    void *bits, cuzk_err *err) {
    zk_pool *pool = zk_cpu_pool(source->multiples->backend);
    cuzk_status status = CUZK_OK;
    size_t slice = zk_min_size(source->n, SLICE), bytes = zk_cpu_point_bytes(source->group);
    zk_fr *scalars = NULL;
    void *points = NULL;
    *bad = source->n;
    ZK_GOTO(zk_mem_alloc((void **)&scalars, "multiples", slice * sizeof *scalars, err));
    if (mask) ZK_GOTO(zk_mem_alloc(&points, "multiples", slice * bytes, err));
    for (size_t first = 0; first < source->n; first += slice) {
        size_t n = zk_min_size(slice, source->n - first);
        ZK_GOTO(zk_cancel_check(NULL, "key generation", err));
        source->scalars(source->scalars_ctx, scalars, first, n);
        size_t zero = first_zero(scalars, n);
        if (zero < n) {
            *bad = first + zero;
            break;
        }
        ZK_GOTO(multiply(source->multiples, mask ? points : (uint8_t *)full + first * bytes, scalars, n, err));
        if (!mask) continue;
        place_job job = {mask, bytes, first, n, points, full, bits};
        zk_pool_for(pool, (n + CPU_BLOCK_BITS - 1) / CPU_BLOCK_BITS, 1, place_range, &job);
    }
out:
    zk_mem_free(scalars);
    zk_mem_free(points);
    return status;
}
