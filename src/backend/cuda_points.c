/* Points of the CUDA backend: on the device where proofs have room beside them, bit points as signed sums where there
 * is room for those, else in pinned host memory. */
#include "base/alloc.h"
#include "base/bitmap.h"
#include "base/rand.h"
#include "backend/cuda_impl.h"

void zk_cuda_points_plan(const zk_backend *backend, const char *name, zk_group group, size_t n, zk_memory_plan *plan) {
    (void)backend;
    zk_memory_plan_add(plan, name, n, cuda_point_bytes(group));
}

void zk_cuda_points_unload(zk_resident_points *points) {
    cuda_points *p = (cuda_points *)points;
    zk_cuda *device = cuda_of(points->backend)->device;
    zk_cuda_free(device, p->memory);
    zk_cuda_free(device, p->bases.multiples);
    zk_cuda_host_free(device, p->host);
    free(p);
}

static cuzk_status points_create(cuda_points **points, zk_backend *backend, const zk_points_source *source, size_t n,
                                 bool masked, cuzk_err *err) {
    const cuda_backend *cuda = cuda_of(backend);
    size_t bytes = n * cuda_point_bytes(source->group), keep = zk_cuda_keep_bytes(cuda);
    unsigned together;
    cuzk_err none = {0};
    cuda_points *p = zk_calloc(1, sizeof *p);
    if (!p) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "points %s: out of memory", source->name);
    p->base = (zk_resident_points){backend, source->group, n};
    zk_cuda_bases_plan(&p->bases, (int)source->group, n, 0);
    cuzk_status status = CUZK_OUT_OF_MEMORY;
    if (zk_cuda_wants_points(&together, cuda, source->name, masked)) {
        if (together > 1) {
            size_t table = zk_cuda_signs_bytes((int)source->group, n, together);
            status = zk_cuda_alloc_beside(&p->memory, cuda->device, table, keep, source->name, &none);
            p->signs = (zk_cuda_signs){p->memory, n, (int)source->group, together, {0}};
            p->bases.points = zk_cuda_signs_bases(&p->signs);
        }
        if (status == CUZK_OUT_OF_MEMORY) {
            status = zk_cuda_alloc_beside(&p->memory, cuda->device, bytes, keep, source->name, &none);
            p->signs.together = 0;
            p->bases.points = p->memory;
        }
    }
    if (status == CUZK_OUT_OF_MEMORY) {
        status = zk_cuda_host_alloc(&p->host, cuda->device, bytes, source->name, err);
        p->base.streamed = true;
    } else if (status != CUZK_OK && err) {
        *err = none;
    }
    if (status != CUZK_OK) {
        free(p);
        return status;
    }
    *points = p;
    return CUZK_OK;
}

/* What is wrong with the point at `index`, by the host's decoder. */
static void describe_fault(zk_points_fault *fault, const zk_points_source *source, size_t index) {
    *fault = (zk_points_fault){.found = true, .infinity = true, .index = index};
    if (!source->encoded) return; /* a multiple by zero */
    if (source->group == ZK_G1) {
        zk_g1_affine point;
        fault->verdict = zk_g1_deserialize(&point, source->encoded + index * ZK_G1_UNCOMPRESSED_BYTES, false);
        fault->infinity = fault->verdict == ZK_POINT_OK && zk_g1_affine_is_infinity(&point);
    } else {
        zk_g2_affine point;
        fault->verdict = zk_g2_deserialize(&point, source->encoded + index * ZK_G2_UNCOMPRESSED_BYTES, false);
        fault->infinity = fault->verdict == ZK_POINT_OK && zk_g2_affine_is_infinity(&point);
    }
}

/* Where a kernel writes points: the device reaches pinned host memory by the same address. */
static zk_dptr place_of(const cuda_points *p) {
    return !p ? 0 : p->host ? (zk_dptr)(uintptr_t)p->host : p->bases.points;
}

/* Writes all points of the source. *bad: index of the first that is refused, else source->n. */
static cuzk_status fill(size_t *bad, const cuda_points *full, const cuda_points *bits, const zk_points_source *source,
                        cuzk_err *err) {
    const cuda_backend *cuda = (const cuda_backend *)full->base.backend;
    if (source->encoded)
        return zk_cuda_points_decode(bad, cuda->device, (int)source->group, place_of(full), place_of(bits),
                                     source->encoded, source->n, source->is_bit, cuda->pool, err);
    return zk_cuda_multiples_split(bad, ((const cuda_multiples *)source->multiples)->tables, place_of(full),
                                   place_of(bits), source->scalars, source->scalars_ctx, source->n, source->is_bit,
                                   err);
}

/* Points become signed sums of themselves, if that was planned and there is room for the work. */
static cuzk_status build_signs(cuda_points *p, cuzk_err *err) {
    bool kept;
    cuzk_err none = {0};
    if (p->signs.together < 2) return CUZK_OK;
    cuzk_status status = zk_cuda_signs_build(&kept, &p->signs, cuda_of(p->base.backend)->device, &none);
    if (status == CUZK_OK) {
        p->bases.points = 0;
        p->base.together = p->signs.together;
        return CUZK_OK;
    }
    if (status == CUZK_OUT_OF_MEMORY && kept) return CUZK_OK;
    if (err) *err = none;
    return status;
}

cuzk_status zk_cuda_points_load(zk_resident_points **full, zk_resident_points **bits, zk_points_fault *fault,
                                zk_backend *backend, const zk_points_source *source, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    cuda_points *full_points = NULL, *bit_points = NULL;
    size_t n_bits = 0, bad, first;
    bool range;
    if (source->n > SIZE_MAX / sizeof(zk_g2_affine))
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "points %s: %zu of them", source->name, source->n);
    if (source->is_bit) {
        n_bits = zk_bitmap_count(source->is_bit, source->n, &range, &first);
        ZK_GOTO(points_create(&bit_points, backend, source, n_bits, true, err));
    }
    ZK_GOTO(points_create(&full_points, backend, source, source->n - n_bits, false, err));
    ZK_GOTO(fill(&bad, full_points, bit_points, source, err));
    if (bad < source->n) {
        describe_fault(fault, source, bad);
        status = CUZK_BAD_INPUT;
        goto out;
    }
    if (bit_points) ZK_GOTO(build_signs(bit_points, err));
    *full = &full_points->base;
    if (bits) *bits = bit_points ? &bit_points->base : NULL;
    full_points = bit_points = NULL;
out:
    if (full_points) zk_cuda_points_unload(&full_points->base);
    if (bit_points) zk_cuda_points_unload(&bit_points->base);
    return status;
}

/* Stored multiples of points that lie on the device, in what proofs leave free. Without that MSMs are what they were.
 */
cuzk_status zk_cuda_points_speed_up(zk_resident_points *points, cuzk_err *err) {
    cuda_points *p = (cuda_points *)points;
    const cuda_backend *cuda = cuda_of(points->backend);
    size_t keep = zk_cuda_keep_bytes(cuda), there = zk_cuda_bytes_in_a_row(cuda->device), best, least;
    zk_cuda_bases planned;
    cuzk_err none = {0};
    if (!p->bases.points || p->bases.multiples || there <= keep) return CUZK_OK;
    zk_cuda_bases_plan(&planned, (int)points->group, points->n, there - keep);
    if (planned.planes < 2) return CUZK_OK;
    zk_cuda_msm_bytes(&best, &least, cuda->device, &planned);
    if (least > keep) return CUZK_OK;
    planned.points = p->bases.points;
    cuzk_status status = zk_cuda_alloc_beside(&planned.multiples, cuda->device, zk_cuda_bases_bytes(&planned), keep,
                                              "stored multiples", &none);
    if (status == CUZK_OK) status = zk_cuda_bases_prepare(&planned, cuda->device, &none);
    if (status == CUZK_OK)
        p->bases = planned;
    else
        zk_cuda_free(cuda->device, planned.multiples);
    if (status == CUZK_OUT_OF_MEMORY) return CUZK_OK;
    if (status != CUZK_OK && err) *err = none;
    return status;
}

cuzk_status zk_cuda_points_in_subgroup(bool *good, const zk_resident_points *points, size_t first, size_t n,
                                       cuzk_err *err) {
    const cuda_points *p = (const cuda_points *)points;
    zk_cuda *device = cuda_of(points->backend)->device;
    uint8_t seed[32];
    if (p->host)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "subgroup: %s has no room for %zu points", zk_cuda_name(device),
                       points->n);
    if (points->together)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "subgroup: of %zu points there are signed sums of %u", points->n,
                       points->together);
    ZK_TRY(zk_rand_bytes(seed, sizeof seed, err));
    return zk_cuda_points_subgroup(good, device, (int)points->group,
                                   p->bases.points + first * cuda_point_bytes(points->group), n, seed, err);
}
