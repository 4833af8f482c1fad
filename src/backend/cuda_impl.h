/* The CUDA backend's own handles; for its files only. */
#ifndef ZK_BACKEND_CUDA_IMPL_H
#define ZK_BACKEND_CUDA_IMPL_H

#include <stdatomic.h>

#include "backend/backend.h"
#include "base/bytes.h"
#include "base/pool.h"
#include "cuda/cuda_kernels.h"

/* Device memory of the proofs of one circuit, in bytes of the pool. */
typedef struct cuda_needs {
    size_t selections;  /* beside the key's points */
    size_t kept;        /* of a prover between proofs: its assignment */
    size_t vectors;     /* rows and compacted assignment, all at once */
    size_t best, least; /* in one piece while a proof runs: vectors as long as they are needed, and workspaces */
    size_t queue_best, queue_least; /* workspaces of a queue whose prover keeps its vectors, with the queue's tables */
    size_t queue_own;               /* the same where the largest sums take turns in a workspace of all */
} cuda_needs;

typedef struct cuda_program {
    zk_resident_program base;
    zk_cuda_program *tables;
    zk_dptr twiddles; /* of all points between two passes of its transforms, where memory is plenty; 0: none */
    struct cuda_program *next;
    cuda_needs needs;
    unsigned n_asked, n_vectors; /* of its proofs: those of the shape reserved last, those that there is room for */
    size_t keep;                 /* of needs.least to needs.best: what points leave to proofs */
    /* The points of its key that are to lie on the device. */
    unsigned n_placed;
    struct {
        const char *name;
        bool masked;
        unsigned together; /* points of a signed sum; 1: the points themselves */
    } placed[ZK_PROOF_MAX_SUMS];
} cuda_program;

typedef struct cuda_backend {
    zk_backend base;
    zk_cuda *device;
    zk_pool *pool;               /* borrowed: threads that feed the device */
    cuda_program *programs;      /* that are loaded */
    const cuda_program *loading; /* whose key is being loaded: that of the last zk_proof_reserve. NULL: none */
    atomic_uint n_streams;
} cuda_backend;

struct zk_stream {
    cuda_backend *backend;
    zk_cuda *queue;
};

/* Points on the device, with or without stored multiples; or signed sums of them in their place; or in host memory that
 * the device reads slice by slice. */
typedef struct cuda_points {
    zk_resident_points base;
    zk_dptr memory;      /* 0 when in host memory */
    zk_cuda_bases bases; /* points: in `memory`; 0 when they are not there */
    zk_cuda_signs signs; /* if base.together; sums: `memory` */
    void *host;
} cuda_points;

typedef struct cuda_multiples {
    zk_multiples base;
    zk_cuda_multiples *tables;
} cuda_multiples;

static inline cuda_backend *cuda_of(const zk_backend *backend) { return (cuda_backend *)(uintptr_t)backend; }
static inline size_t cuda_point_bytes(zk_group group) {
    return group == ZK_G1 ? sizeof(zk_g1_affine) : sizeof(zk_g2_affine);
}

/* ---- cuda_memory.c ---- */

void zk_cuda_proof_plan(const zk_backend *backend, const zk_proof_shape *shape, zk_memory_plan *plan);
unsigned zk_cuda_proof_vectors(const zk_backend *backend, const zk_proof_shape *shape);
cuzk_status zk_cuda_proof_reserve(const zk_resident_program *resident, const zk_proof_shape *shape,
                                  cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_proof_check(const zk_resident_program *resident, size_t lent, cuzk_err *err) ZK_MUST_USE;
/* What a program needs of which nothing else is known. */
void zk_cuda_needs_default(cuda_program *program);
/* What has to stay free in one piece while points are placed, so that proofs of every loaded program have room. */
size_t zk_cuda_keep_bytes(const cuda_backend *cuda);
/* Whether points of this name are to lie on the device if they can. *together: as what. */
bool zk_cuda_wants_points(unsigned *together, const cuda_backend *cuda, const char *name, bool masked);
/* Workspace for a queue beside the device's own, while as much is left for that; or, where half of what is free would
 * make large MSMs slower, less, and *common bytes in which those of both take turns. OUT_OF_MEMORY if there is too
 * little. */
cuzk_status zk_cuda_queue_bytes(size_t *bytes, size_t *common, const cuda_backend *cuda, cuzk_err *err) ZK_MUST_USE;

/* ---- cuda_points.c ---- */

void zk_cuda_points_plan(const zk_backend *backend, const char *name, zk_group group, size_t n, zk_memory_plan *plan);
cuzk_status zk_cuda_points_load(zk_resident_points **full, zk_resident_points **bits, zk_points_fault *fault,
                                zk_backend *backend, const zk_points_source *source, cuzk_err *err) ZK_MUST_USE;
void zk_cuda_points_unload(zk_resident_points *points);
cuzk_status zk_cuda_points_speed_up(zk_resident_points *points, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_points_in_subgroup(bool *good, const zk_resident_points *points, size_t first, size_t n,
                                       cuzk_err *err) ZK_MUST_USE;

#endif
