/* One interface for the devices that prove.
 *
 * A backend is a device with memory: it keeps programs (circuits) and points (the queries of a proving key) resident
 * and runs the stages of a proof on buffers of its own. Groth16 is written against this header alone, so that the same
 * stages run on the CPU and on a GPU. What a backend knows of a circuit is its zk_program.
 *
 * A device fills in four small tables of function pointers, and that of arrays.h if it prepares keys; entries marked
 * optional may be NULL. Callers use the functions at the end of this header, which check arguments once and forward.
 * All field elements and points in buffers are in the 64-bit Montgomery forms of field/ and curve/.
 *
 * Variables of a circuit are statically *bits* or *full* field elements. The assignment lives in two buffers:
 *   bits   bitmap over all aux variables (wide positions zero), ceil(n_aux/64) words
 *   full   n_inputs inputs, then n_wide wide values: n_inputs + n_wide field elements
 * A query of a proving key (points for some of the variables) is split once, at load, into the points of bit variables
 * and the points of full variables. A *selection* holds the static masks that bring an assignment into the order of
 * such a query: compacted bits go into a masked sum, compacted full values into an MSM.
 *
 * Order: operations of one stream run in order; a NULL stream is the device's default stream, and a device without
 * streams runs everything before it returns. What an operation writes to host memory (results, counts) is valid after
 * zk_backend_wait on its stream. Buffers, programs, points and selections must outlive the operations on them.
 *
 * Threads: one thread at a time drives a stream, the default one included; several streams of a backend may be driven
 * side by side. Programs, keys and streams are loaded, made and given back by one thread while no other uses the
 * backend.
 */
#ifndef ZK_BACKEND_BACKEND_H
#define ZK_BACKEND_BACKEND_H

#include "curve/curve.h"
#include "program/program.h"

typedef struct zk_backend zk_backend;
typedef struct zk_stream zk_stream; /* known to its device alone */

typedef enum zk_group { ZK_G1, ZK_G2 } zk_group;

/* A sum of points, in the member that the points' group says. */
typedef union zk_point_sum {
    zk_g1 g1;
    zk_g2 g2;
} zk_point_sum;

/* ---- what a caller may know of handles; devices put their own fields behind these ---- */

typedef struct zk_buffer {
    zk_backend *backend;
    const char *name; /* static string: the buffer's line in the memory account */
    size_t bytes;
    void *host; /* the contents, where the device shares memory with the host; else NULL */
    bool lost;  /* discarded, and not written by a stage since: nothing may use it. Kept by the functions below */
} zk_buffer;

typedef struct zk_resident_program {
    zk_backend *backend;
    const zk_program *program; /* borrowed */
    unsigned log2_n;           /* domain: least power of two >= n_rows + n_inputs */
} zk_resident_program;

typedef struct zk_resident_points {
    zk_backend *backend;
    zk_group group;
    size_t n;
    bool streamed;     /* not on the device: every sum has to bring them there, so it pays to make several together */
    unsigned together; /* 0, or the device keeps signed sums of so many points each, which serve masked sums alone */
} zk_resident_points;

typedef struct zk_selection {
    zk_backend *backend;
    size_t n_aux, n_values; /* bits and full values of the assignment */
    size_t n_bits, n_full;  /* how many of each are selected */
    bool full_is_range;     /* the selected full values are full_first .. full_first + n_full - 1: no copy needed */
    size_t full_first;
} zk_selection;

/* The generator of a group, ready to be multiplied: how keys are made from toxic waste. */
typedef struct zk_multiples {
    zk_backend *backend;
    zk_group group;
} zk_multiples;

/* Points: [n] in the zcash uncompressed encoding, as a key file holds them, or multiples of the generator. Those whose
 * bit in `is_bit` is set (bitmap [ceil(n/64)], NULL: none) become the bit points, the others the full points; each
 * keeps its order. */
typedef struct zk_points_source {
    const char *name; /* static string */
    zk_group group;
    const uint8_t *encoded; /* NULL: point i is [s_i] G, and `multiples` and `scalars` are given */
    size_t n;
    const uint64_t *is_bit;
    const zk_multiples *multiples; /* of the same group */
    /* Writes s_first .. s_(first+n-1); asked in ascending order, by one thread at a time. */
    void (*scalars)(void *ctx, zk_fr *out, size_t first, size_t n);
    void *scalars_ctx;
} zk_points_source;

/* The first point that was refused. */
typedef struct zk_points_fault {
    bool found;
    bool infinity; /* well encoded, but infinity has no place in a query */
    size_t index;
    zk_point_verdict verdict;
} zk_points_fault;

typedef struct zk_backend_caps {
    const char *kind;        /* "cpu", "cuda" */
    char device[96];         /* what the device calls itself */
    unsigned n_threads;      /* of the host, that take part */
    bool shares_host_memory; /* buffers have a host address */
    bool has_streams;
    unsigned max_log2_n;   /* largest domain */
    uint64_t memory_bytes; /* of the device; 0: not known */
} zk_backend_caps;

/* Memory that something will take, by name, before it is taken. */
#define ZK_MEMORY_PLAN_ROWS 24
typedef struct zk_memory_plan {
    struct {
        const char *name;
        uint64_t bytes;
    } row[ZK_MEMORY_PLAN_ROWS];
    unsigned n_rows;
    uint64_t bytes; /* sum; saturates */
} zk_memory_plan;
void zk_memory_plan_add(zk_memory_plan *plan, const char *name, uint64_t count, uint64_t element_bytes);

/* What proofs of one circuit ask of a device: known from circuit and key before any memory is taken. */
#define ZK_PROOF_MAX_SUMS 9
typedef struct zk_proof_shape {
    const zk_program *program;
    unsigned log2_n;
    unsigned n_vectors;          /* over the domain at once */
    unsigned n_selections;       /* over all variables */
    size_t some_bits, some_full; /* bytes of the compacted assignment of the largest query */
    unsigned n_sums;
    struct {
        const char *name; /* of the points, as in zk_points_source */
        zk_group group;
        size_t n;
        bool masked; /* a masked sum over bit points, else an MSM over full ones */
    } sum[ZK_PROOF_MAX_SUMS];
} zk_proof_shape;

/* ---- tables that a device fills in ---- */

typedef struct zk_device_ops {
    void (*close)(zk_backend *backend);
    /* optional, all or none */
    cuzk_status (*stream_open)(zk_stream **stream, zk_backend *backend, cuzk_err *err);
    void (*stream_close)(zk_stream *stream);
    cuzk_status (*wait)(zk_backend *backend, zk_stream *stream, cuzk_err *err);
} zk_device_ops;

typedef struct zk_buffer_ops {
    cuzk_status (*create)(zk_buffer **buffer, zk_backend *backend, const char *name, size_t bytes, cuzk_err *err);
    void (*destroy)(zk_buffer *buffer); /* may be deferred */
    cuzk_status (*upload)(zk_stream *stream, zk_buffer *buffer, size_t offset, const void *src, size_t bytes,
                          cuzk_err *err);
    cuzk_status (*download)(zk_stream *stream, void *dst, const zk_buffer *buffer, size_t offset, size_t bytes,
                            cuzk_err *err);
    void (*discard)(zk_buffer *buffer); /* optional, as the next */
    void (*release)(zk_buffer *buffer);
} zk_buffer_ops;

typedef struct zk_residency_ops {
    void (*program_plan)(const zk_backend *backend, const zk_program *program, unsigned log2_n, zk_memory_plan *plan);
    cuzk_status (*program_load)(zk_resident_program **resident, zk_backend *backend, const zk_program *program,
                                unsigned log2_n, cuzk_err *err);
    void (*program_unload)(zk_resident_program *resident);
    /* optional, all or none */
    void (*proof_plan)(const zk_backend *backend, const zk_proof_shape *shape, zk_memory_plan *plan);
    unsigned (*proof_vectors)(const zk_backend *backend, const zk_proof_shape *shape);
    cuzk_status (*proof_reserve)(const zk_resident_program *resident, const zk_proof_shape *shape, cuzk_err *err);
    cuzk_status (*proof_check)(const zk_resident_program *resident, size_t lent, cuzk_err *err);
    void (*points_plan)(const zk_backend *backend, const char *name, zk_group group, size_t n, zk_memory_plan *plan);
    cuzk_status (*points_load)(zk_resident_points **full, zk_resident_points **bits, zk_points_fault *fault,
                               zk_backend *backend, const zk_points_source *source, cuzk_err *err);
    void (*points_unload)(zk_resident_points *points);
    cuzk_status (*points_speed_up)(zk_resident_points *points, cuzk_err *err); /* optional */
    cuzk_status (*points_in_subgroup)(bool *good, const zk_resident_points *points, size_t first, size_t n,
                                      cuzk_err *err); /* optional */
    cuzk_status (*selection_create)(zk_selection **selection, zk_backend *backend, const uint64_t *bit_mask,
                                    size_t n_aux, const uint64_t *full_mask, size_t n_values, cuzk_err *err);
    void (*selection_destroy)(zk_selection *selection);
    /* optional, all or none */
    cuzk_status (*multiples_create)(zk_multiples **multiples, zk_backend *backend, zk_group group, uint64_t n_expected,
                                    cuzk_err *err);
    void (*multiples_destroy)(zk_multiples *multiples);
    cuzk_status (*multiples_encode)(const zk_multiples *multiples, uint8_t *encoded, const zk_fr *scalars, size_t n,
                                    cuzk_err *err);
} zk_residency_ops;

typedef struct zk_stage_ops {
    cuzk_status (*witness)(zk_stream *stream, const zk_resident_program *program, const uint8_t (*hints)[32],
                           zk_buffer *bits, zk_buffer *full, cuzk_err *err);
    cuzk_status (*evaluate)(zk_stream *stream, const zk_resident_program *program, const zk_buffer *bits,
                            const zk_buffer *full, zk_buffer *a, zk_buffer *b, zk_buffer *c, cuzk_err *err);
    cuzk_status (*first_unsatisfied)(zk_stream *stream, const zk_resident_program *program, const zk_buffer *a,
                                     const zk_buffer *b, const zk_buffer *c, size_t *row, cuzk_err *err);
    cuzk_status (*quotient)(zk_stream *stream, const zk_resident_program *program, zk_buffer *a, zk_buffer *b,
                            zk_buffer *c, cuzk_err *err);
    cuzk_status (*quotient_in_two)(zk_stream *stream, const zk_resident_program *program, const zk_buffer *bits,
                                   const zk_buffer *full, zk_buffer *a, zk_buffer *b,
                                   cuzk_err *err); /* optional, where proof_vectors may say 2 for 3 */
    cuzk_status (*products)(zk_stream *stream, const zk_resident_program *program, zk_buffer *a, zk_buffer *b,
                            cuzk_err *err);
    cuzk_status (*compact_bits)(zk_stream *stream, const zk_selection *selection, const zk_buffer *bits, zk_buffer *out,
                                cuzk_err *err);
    cuzk_status (*compact_full)(zk_stream *stream, const zk_selection *selection, const zk_buffer *full, zk_buffer *out,
                                cuzk_err *err);
    cuzk_status (*msm)(zk_stream *stream, const zk_resident_points *points, const zk_buffer *scalars, size_t first,
                       zk_point_sum *sum, cuzk_err *err);
    cuzk_status (*masked_sum)(zk_stream *stream, const zk_resident_points *points, const zk_buffer *bits,
                              zk_point_sum *sum, cuzk_err *err);
    cuzk_status (*masked_sums)(zk_stream *stream, const zk_resident_points *points, const zk_buffer *const *bits,
                               size_t n, zk_point_sum *sums, cuzk_err *err); /* optional; points->streamed */
} zk_stage_ops;

struct zk_backend {
    const zk_device_ops *device;
    const zk_buffer_ops *buffer;
    const zk_residency_ops *residency;
    const zk_stage_ops *stage;
    zk_backend_caps caps;
    struct zk_retire *retire;         /* where memory goes that is done with; NULL: freed at once. Borrowed */
    const struct zk_array_ops *array; /* optional: see backend/arrays.h */
};

/* ---- the interface ---- */

struct zk_pool;
/* The CPU of this machine; work runs on the pool (borrowed; NULL: the calling thread alone). */
cuzk_status zk_backend_open_cpu(zk_backend **backend, struct zk_pool *pool, cuzk_err *err) ZK_MUST_USE;
void zk_backend_close(zk_backend *backend); /* NULL is fine; every handle must be gone */
/* Memory of handles that are destroyed from now on is freed by the queue (base/retire.h), which must outlive the
 * backend or be taken away before with NULL. */
void zk_backend_set_retire(zk_backend *backend, struct zk_retire *retire);

cuzk_status zk_backend_stream_open(zk_stream **stream, zk_backend *backend, cuzk_err *err) ZK_MUST_USE;
void zk_backend_stream_close(zk_backend *backend, zk_stream *stream);
cuzk_status zk_backend_wait(zk_backend *backend, zk_stream *stream, cuzk_err *err) ZK_MUST_USE;

/* Contents of a new buffer are undefined. bytes = 0 is allowed. */
cuzk_status zk_buffer_create(zk_buffer **buffer, zk_backend *backend, const char *name, size_t bytes,
                             cuzk_err *err) ZK_MUST_USE;
void zk_buffer_destroy(zk_buffer *buffer); /* NULL is fine */
/* The contents are not needed any more: the device may use the memory for other things until a stage writes the whole
 * buffer again. Kernels on several streams of a device do not lend memory to each other: while one is open nothing
 * happens. */
void zk_buffer_discard(zk_buffer *buffer);
/* The same whatever streams are open, for a buffer that nothing on any stream works with. */
void zk_buffer_release(zk_buffer *buffer);
cuzk_status zk_buffer_upload(zk_stream *stream, zk_buffer *buffer, size_t offset, const void *src, size_t bytes,
                             cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_buffer_download(zk_stream *stream, void *dst, const zk_buffer *buffer, size_t offset, size_t bytes,
                               cuzk_err *err) ZK_MUST_USE;

/* Domain of a program: log2 of the least power of two >= n_rows + n_inputs. UNSUPPORTED beyond the field's roots of
 * unity. */
cuzk_status zk_program_log2_domain(unsigned *log2_n, const zk_program *program, cuzk_err *err) ZK_MUST_USE;

/* Uploads the tables of a program (borrowed, must outlive the handle) and makes those of its domain. */
void zk_resident_program_plan(const zk_backend *backend, const zk_program *program, zk_memory_plan *plan);
cuzk_status zk_resident_program_load(zk_resident_program **resident, zk_backend *backend, const zk_program *program,
                                     cuzk_err *err) ZK_MUST_USE;
void zk_resident_program_unload(zk_resident_program *resident); /* NULL is fine */

/* Lines for what the stages of a proof take beside program, points, selections and the prover's buffers. */
void zk_proof_plan(const zk_backend *backend, const zk_proof_shape *shape, zk_memory_plan *plan);
/* Vectors over the domain that proofs of this shape hold at once: those of the shape; or 2 for 3, and then they take
 * zk_stage_quotient_in_two, where the device has no room for three. It is decided by zk_proof_reserve, and stays so for
 * the key; before, it is told from what the device has in all. */
unsigned zk_proof_vectors(const zk_backend *backend, const zk_proof_shape *shape);
/* Before the selections and points of a key are loaded: says which proofs they are for (borrowed for this call), so
 * that points are placed where such proofs have room beside them. OUT_OF_MEMORY, with the numbers: even with all points
 * elsewhere the device has too little. */
cuzk_status zk_proof_reserve(const zk_resident_program *resident, const zk_proof_shape *shape,
                             cuzk_err *err) ZK_MUST_USE;
/* When the buffers of a prover are there: whether its stages still have room, while `lent` bytes of other buffers are
 * in use. */
cuzk_status zk_proof_check(const zk_resident_program *resident, size_t lent, cuzk_err *err) ZK_MUST_USE;

/* Reads, checks (canonical, on the curve, not infinity; not the subgroup) and converts points, or makes them as
 * multiples of the generator, where a zero scalar is refused like an infinity that was read. On a refused point the
 * status is BAD_INPUT, *fault says which (always the first) and the caller words the message. CANCELLED: the process
 * asked to stop while points were made. `bits` may be NULL if source->is_bit is NULL. */
void zk_resident_points_plan(const zk_backend *backend, const char *name, zk_group group, size_t n,
                             zk_memory_plan *plan);
cuzk_status zk_resident_points_load(zk_resident_points **full, zk_resident_points **bits, zk_points_fault *fault,
                                    zk_backend *backend, const zk_points_source *source, cuzk_err *err) ZK_MUST_USE;
void zk_resident_points_unload(zk_resident_points *points); /* NULL is fine */
/* Spends memory that is left, and some seconds, on making each MSM over these points faster (CUDA: stored multiples).
 * Called once, when all that belongs to a key is loaded. */
cuzk_status zk_resident_points_speed_up(zk_resident_points *points, cuzk_err *err) ZK_MUST_USE;

/* *good: whether points first .. first + n - 1 all lie in the subgroup of order r; one outside is missed with
 * probability 2^-ZK_SUBGROUP_LOG2_ERROR at most, by draws that are new in every call. UNSUPPORTED: the device cannot,
 * or the points do not lie on it. */
#define ZK_SUBGROUP_LOG2_ERROR 40
bool zk_resident_points_can_check(const zk_backend *backend);
cuzk_status zk_resident_points_in_subgroup(bool *good, const zk_resident_points *points, size_t first, size_t n,
                                           cuzk_err *err) ZK_MUST_USE;

/* The generator of a group, with tables for n_expected multiples in all (a hint: any number can be made). UNSUPPORTED:
 * the device cannot. */
cuzk_status zk_multiples_create(zk_multiples **multiples, zk_backend *backend, zk_group group, uint64_t n_expected,
                                cuzk_err *err) ZK_MUST_USE;
void zk_multiples_destroy(zk_multiples *multiples); /* NULL is fine */
/* encoded: [n] points [scalars_i] G in the zcash uncompressed encoding, 96 (G1) or 192 (G2) bytes each; a zero scalar
 * gives infinity. Both in host memory; the points are there when the call returns. */
cuzk_status zk_multiples_encode(const zk_multiples *multiples, uint8_t *encoded, const zk_fr *scalars, size_t n,
                                cuzk_err *err) ZK_MUST_USE;

/* bit_mask: bitmap over n_aux aux variables; full_mask: bitmap over the n_values = n_inputs + n_wide full values. */
cuzk_status zk_selection_create(zk_selection **selection, zk_backend *backend, const uint64_t *bit_mask, size_t n_aux,
                                const uint64_t *full_mask, size_t n_values, cuzk_err *err) ZK_MUST_USE;
void zk_selection_destroy(zk_selection *selection); /* NULL is fine */

/* Buffers that the stages of one assignment need. */
size_t zk_witness_bits_bytes(const zk_program *program);
size_t zk_witness_full_bytes(const zk_program *program);
size_t zk_domain_bytes(const zk_resident_program *program); /* of each of a, b, c */

/* The assignment from the hints ([program->n_hints] times 32 bytes LE, host memory). */
cuzk_status zk_stage_witness(zk_stream *stream, const zk_resident_program *program, const uint8_t (*hints)[32],
                             zk_buffer *bits, zk_buffer *full, cuzk_err *err) ZK_MUST_USE;
/* a, b, c: values of all rows over the domain: the program's rows, then for each input i a row with a = input_i, b = c
 * = 0, then zeros. c may be NULL: not computed. */
cuzk_status zk_stage_evaluate(zk_stream *stream, const zk_resident_program *program, const zk_buffer *bits,
                              const zk_buffer *full, zk_buffer *a, zk_buffer *b, zk_buffer *c,
                              cuzk_err *err) ZK_MUST_USE;
/* First of the program's rows with a_i b_i != c_i, or n_rows. */
cuzk_status zk_stage_first_unsatisfied(zk_stream *stream, const zk_resident_program *program, const zk_buffer *a,
                                       const zk_buffer *b, const zk_buffer *c, size_t *row, cuzk_err *err) ZK_MUST_USE;
/* a becomes the 2^log2_n coefficients of (a b - c)/(x^n - 1), the last of them zero for a true witness; b and c are
 * lost. */
cuzk_status zk_stage_quotient(zk_stream *stream, const zk_resident_program *program, zk_buffer *a, zk_buffer *b,
                              zk_buffer *c, cuzk_err *err) ZK_MUST_USE;
/* The same of a and b alone, which zk_stage_evaluate has made without c: c is evaluated from the assignment when b is
 * done, in its place. UNSUPPORTED by devices whose proofs hold three vectors (zk_proof_vectors). */
cuzk_status zk_stage_quotient_in_two(zk_stream *stream, const zk_resident_program *program, const zk_buffer *bits,
                                     const zk_buffer *full, zk_buffer *a, zk_buffer *b, cuzk_err *err) ZK_MUST_USE;
/* For keys prepared for the coset (groth16/prepare.h): a_j becomes a(x) b(x) at x = g w^-j, as zk_ntt_products; b is
 * lost. */
cuzk_status zk_stage_products(zk_stream *stream, const zk_resident_program *program, zk_buffer *a, zk_buffer *b,
                              cuzk_err *err) ZK_MUST_USE;
/* out: ceil(n_bits/64) words; n_full field elements. */
cuzk_status zk_stage_compact_bits(zk_stream *stream, const zk_selection *selection, const zk_buffer *bits,
                                  zk_buffer *out, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_stage_compact_full(zk_stream *stream, const zk_selection *selection, const zk_buffer *full,
                                  zk_buffer *out, cuzk_err *err) ZK_MUST_USE;
/* sum_i [scalars_(first+i)] P_i over all points. */
cuzk_status zk_stage_msm(zk_stream *stream, const zk_resident_points *points, const zk_buffer *scalars, size_t first,
                         zk_point_sum *sum, cuzk_err *err) ZK_MUST_USE;
/* Sums of the points whose bits are set, for n masks over the same points, n <= ZK_MAX_MASKS: those that are streamed
 * are brought once. */
#define ZK_MAX_MASKS 16
cuzk_status zk_stage_masked_sums(zk_stream *stream, const zk_resident_points *points, const zk_buffer *const *bits,
                                 size_t n, zk_point_sum *sums, cuzk_err *err) ZK_MUST_USE;

#endif
