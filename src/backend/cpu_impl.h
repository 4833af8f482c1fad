/* The CPU backend's own handles; for its files only. */
#ifndef ZK_BACKEND_CPU_IMPL_H
#define ZK_BACKEND_CPU_IMPL_H

#include "backend/backend.h"
#include "base/pool.h"
#include "ntt/ntt.h"

typedef struct cpu_backend {
    zk_backend base;
    zk_pool *pool; /* borrowed */
} cpu_backend;

typedef struct cpu_program {
    zk_resident_program base;
    zk_ntt_domain *domain;
} cpu_program;

typedef struct cpu_points {
    zk_resident_points base;
    const char *name;
    void *points; /* [n] zk_g1_affine or zk_g2_affine */
} cpu_points;

/* Masks are walked in blocks, so that threads know where their part of the output starts. */
#define CPU_BLOCK_WORDS 64
#define CPU_BLOCK_BITS (CPU_BLOCK_WORDS * 64)

typedef struct cpu_mask {
    size_t n_bits, n_words, n_blocks, n_set;
    uint64_t *words; /* [n_words], bits from n_bits on are zero */
    size_t *rank;    /* [n_blocks + 1] bits set before each block */
} cpu_mask;

typedef struct cpu_selection {
    zk_selection base;
    cpu_mask bit, full;
} cpu_selection;

size_t zk_cpu_point_bytes(zk_group group);
size_t zk_cpu_encoded_bytes(zk_group group);
static inline zk_pool *zk_cpu_pool(const zk_backend *backend) { return ((const cpu_backend *)backend)->pool; }

cuzk_status zk_cpu_mask_init(cpu_mask *mask, const uint64_t *words, size_t n_bits, cuzk_err *err) ZK_MUST_USE;
void zk_cpu_mask_clear(cpu_mask *mask);

void zk_cpu_points_plan(const zk_backend *backend, const char *name, zk_group group, size_t n, zk_memory_plan *plan);
cuzk_status zk_cpu_points_load(zk_resident_points **full, zk_resident_points **bits, zk_points_fault *fault,
                               zk_backend *backend, const zk_points_source *source, cuzk_err *err) ZK_MUST_USE;
void zk_cpu_points_unload(zk_resident_points *points);

cuzk_status zk_cpu_multiples_create(zk_multiples **multiples, zk_backend *backend, zk_group group, uint64_t n_expected,
                                    cuzk_err *err) ZK_MUST_USE;
void zk_cpu_multiples_destroy(zk_multiples *multiples);
cuzk_status zk_cpu_multiples_encode(const zk_multiples *multiples, uint8_t *encoded, const zk_fr *scalars, size_t n,
                                    cuzk_err *err) ZK_MUST_USE;
/* The points of a source that are multiples, affine: those under the mask (NULL: none) to `bits`, the others to `full`.
 * *bad: least index whose scalar is zero, or n; then the points are not complete. */
cuzk_status zk_cpu_multiples_points(size_t *bad, const zk_points_source *source, const cpu_mask *mask, void *full,
                                    void *bits, cuzk_err *err) ZK_MUST_USE;

extern const struct zk_array_ops zk_cpu_array_ops;

cuzk_status zk_cpu_selection_create(zk_selection **selection, zk_backend *backend, const uint64_t *bit_mask,
                                    size_t n_aux, const uint64_t *full_mask, size_t n_values,
                                    cuzk_err *err) ZK_MUST_USE;
void zk_cpu_selection_destroy(zk_selection *selection);
cuzk_status zk_cpu_compact_bits(zk_stream *stream, const zk_selection *selection, const zk_buffer *bits, zk_buffer *out,
                                cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cpu_compact_full(zk_stream *stream, const zk_selection *selection, const zk_buffer *full, zk_buffer *out,
                                cuzk_err *err) ZK_MUST_USE;

/* The bits of `word` under `mask`, packed to the low end. The two implementations, and the choice among them. */
uint64_t zk_cpu_pext_portable(uint64_t word, uint64_t mask);
bool zk_cpu_pext_bmi2_usable(void);
/* Compacts words under mask blocks [first, last) into `out` (zeroed before by the caller; words shared with
 * neighbours are joined atomically). bmi2 must be false unless usable. */
void zk_cpu_compact_blocks(uint64_t *out, const cpu_mask *mask, const uint64_t *words, size_t first, size_t last,
                           bool bmi2);

#endif
