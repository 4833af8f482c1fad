/* The edge of the CUDA code: the device and its kernels, in C, without a CUDA type.
 *
 * Everything that can fail returns cuzk_status and describes the failure in err: which CUDA call, what it answered.
 * After a CUZK_DEVICE error the device is to be considered lost.
 *
 * Memory. Buffers and the workspaces of the kernels come from a pool of device memory. It is taken from the driver
 * whole when its size is given; else one range of addresses is reserved and backed from its start on as need arises, so
 * that nothing is allocated in steady state. When a workspace does not fit a kernel uses a leaner way, or fails with
 * CUZK_OUT_OF_MEMORY and says how much it asked for. Nothing is thrown out of these functions.
 *
 * Threads. Every function makes its device the calling thread's current one: callers need not, and find it changed.
 *
 * Order. Copies and kernels run in order on the device's main stream. Calls whose result goes to host memory return
 * when it is there; all others return at once and zk_cuda_sync waits. One thread at a time may use a device, and one
 * each of its queues (zk_cuda_fork); memory may be taken and freed by several at once.
 *
 * Data. Field elements and points are those of src/field and src/curve, byte for byte: Montgomery form, canonical,
 * infinity x = y = 0.
 */
#ifndef ZK_CUDA_KERNELS_H
#define ZK_CUDA_KERNELS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t zk_dptr; /* device address; 0 is none */
typedef struct zk_cuda zk_cuda;
struct zk_fr;
struct zk_g1_affine;
struct zk_g2_affine;

/* UNSUPPORTED, with the count: all are older than what the build has code for. */
cuzk_status zk_cuda_device_count(int *count, cuzk_err *err) ZK_MUST_USE;
/* pool_bytes: device memory to take at once; 0: as needed, up to all that is free but 1 GiB. UNSUPPORTED: a device that
 * the build has no code for. */
cuzk_status zk_cuda_open(zk_cuda **device, int ordinal, size_t pool_bytes, cuzk_err *err) ZK_MUST_USE;
void zk_cuda_close(zk_cuda *device);
/* A second queue on the device, with a pool of its own of `bytes` from the device's: its calls run beside those of the
 * device and of other queues, each driven by one thread. Buffers of the device can be used by all; who shares one puts
 * the uses in order. Close it before the device. */
cuzk_status zk_cuda_fork(zk_cuda **queue, zk_cuda *device, size_t bytes, cuzk_err *err) ZK_MUST_USE;
/* Sets `bytes` of the device's pool aside as a workspace that sums of the device and of its queues use one after the
 * other, where it makes them faster than what their own pools have free; 0 gives them back. While no queue works. */
cuzk_status zk_cuda_share(zk_cuda *device, size_t bytes, cuzk_err *err) ZK_MUST_USE;
const char *zk_cuda_name(const zk_cuda *device); /* what the device calls itself */
size_t zk_cuda_bytes_total(const zk_cuda *device);
unsigned zk_cuda_driver(const zk_cuda *device); /* the CUDA version of its driver: 13000 is 13.0 */

/* 512-byte aligned. name: what the buffer is, for messages. */
cuzk_status zk_cuda_alloc(zk_dptr *buffer, zk_cuda *device, size_t bytes, const char *name, cuzk_err *err) ZK_MUST_USE;
/* Only where one piece of `keep` bytes stays free. */
cuzk_status zk_cuda_alloc_beside(zk_dptr *buffer, zk_cuda *device, size_t bytes, size_t keep, const char *name,
                                 cuzk_err *err) ZK_MUST_USE;
/* The buffer may still be in use by work queued before; 0 is allowed. */
void zk_cuda_free(zk_cuda *device, zk_dptr buffer);
size_t zk_cuda_bytes_limit(const zk_cuda *device); /* the most that the pool may hold */
size_t zk_cuda_bytes_free(const zk_cuda *device);  /* in the pool, all pieces */
size_t zk_cuda_bytes_peak(const zk_cuda *device);  /* most ever in use */
size_t zk_cuda_bytes_in_a_row(zk_cuda *device);    /* in the largest free piece */
/* Of a buffer of so many bytes, in the pool. */
static inline size_t zk_cuda_alloc_bytes(size_t n) { return n ? (n + 511) & ~(size_t)511 : 512; }

/* For tests. The nth buffer asked for from now on (1: the next), of any device, is refused, once; 0 disarms. */
void zk_cuda_alloc_fail_nth(uint64_t nth);
bool zk_cuda_alloc_failed(void); /* since then */
/* Bytes that buffers still held when their device or queue was closed, since the last call. */
size_t zk_cuda_bytes_kept(void);
/* With CUZK_POISON_DEVICE in the environment when a device is opened, its memory is overwritten whenever it is taken
 * and given back. */
bool zk_cuda_is_poisoned(const zk_cuda *device);

cuzk_status zk_cuda_upload(zk_cuda *device, zk_dptr to, const void *from, size_t bytes, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_download(zk_cuda *device, void *to, zk_dptr from, size_t bytes, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_fill(zk_cuda *device, zk_dptr to, int byte, size_t bytes, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_sync(zk_cuda *device, cuzk_err *err) ZK_MUST_USE;

/* Transforms of 2^log2_n elements of Fr at x, in place, natural order, 0 <= log2_n <= 28; roots and coset of
 * src/ntt/ntt.h. */
typedef enum zk_cuda_ntt_kind {
    ZK_CUDA_NTT_FORWARD,
    ZK_CUDA_NTT_INVERSE,
    ZK_CUDA_NTT_COSET_FORWARD,
    ZK_CUDA_NTT_COSET_INVERSE,
} zk_cuda_ntt_kind;
cuzk_status zk_cuda_ntt(zk_cuda *device, zk_dptr x, unsigned log2_n, zk_cuda_ntt_kind kind, zk_dptr twiddles,
                        cuzk_err *err) ZK_MUST_USE;
/* As zk_ntt_quotient: a becomes the coefficients of (a b - c)/(x^n - 1), b and c are clobbered. No buffer of full size
 * beyond the three; the passes before and after the pointwise step are fused with it. */
cuzk_status zk_cuda_ntt_quotient(zk_cuda *device, zk_dptr a, zk_dptr b, zk_dptr c, unsigned log2_n, zk_dptr twiddles,
                                 cuzk_err *err) ZK_MUST_USE;
/* The same in two halves, for two buffers: a becomes the share of a b, then b is free, and c may be made there and take
 * its share off a. */
cuzk_status zk_cuda_ntt_quotient_ab(zk_cuda *device, zk_dptr a, zk_dptr b, unsigned log2_n, zk_dptr twiddles,
                                    cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_ntt_quotient_c(zk_cuda *device, zk_dptr a, zk_dptr c, unsigned log2_n, zk_dptr twiddles,
                                   cuzk_err *err) ZK_MUST_USE;
/* As zk_ntt_products: a_j becomes a(x) b(x) at x = 7 w^-j, b is clobbered. No buffer of full size beyond the two. */
cuzk_status zk_cuda_ntt_products(zk_cuda *device, zk_dptr a, zk_dptr b, unsigned log2_n, zk_dptr twiddles,
                                 cuzk_err *err) ZK_MUST_USE;
/* Tables for one size, kept until the device is closed or the size changes. Calls above make them as needed. */
cuzk_status zk_cuda_ntt_prepare(zk_cuda *device, unsigned log2_n, cuzk_err *err) ZK_MUST_USE;
/* For `twiddles` of the calls above, which may be 0: the n twiddles between the first two passes (32 n bytes), for this
 * device and its queues. They save one multiplication in thirteen. 0 for sizes that have no use for them. The caller
 * gives them back (zk_cuda_free). */
cuzk_status zk_cuda_ntt_twiddles(zk_dptr *twiddles, zk_cuda *device, unsigned log2_n, cuzk_err *err) ZK_MUST_USE;
/* Device memory of the small tables, and what a transform, quotient or products take while they run. */
void zk_cuda_ntt_bytes(size_t *tables, size_t *temporary, unsigned log2_n);

/* sum_i [s_i] B_i, to host memory. bases: [n] affine, scalars: [n] Fr; any n < 2^30, any points of order r or infinity
 * (a point of another order gives some point), any scalars. */
cuzk_status zk_cuda_msm_g1(struct zk_g1_affine *result, zk_cuda *device, zk_dptr bases, zk_dptr scalars, size_t n,
                           cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_msm_g2(struct zk_g2_affine *result, zk_cuda *device, zk_dptr bases, zk_dptr scalars, size_t n,
                           cuzk_err *err) ZK_MUST_USE;

/* Sum of the bases whose bit is set, as zk_masked_sum_g1 of src/msm. bits: [ceil(n/64)] 64-bit words. */
cuzk_status zk_cuda_masked_sum_g1(struct zk_g1_affine *result, zk_cuda *device, zk_dptr bases, zk_dptr bits, size_t n,
                                  cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_masked_sum_g2(struct zk_g2_affine *result, zk_cuda *device, zk_dptr bases, zk_dptr bits, size_t n,
                                  cuzk_err *err) ZK_MUST_USE;

/* ---- fixed bases with stored multiples ----
 *
 * Bases that many MSMs share may carry multiples: plane j holds the points [2^(j distance)] B_i. Windows of the scalars
 * that lie a multiple of `distance` apart then share buckets: fewer buckets, wider windows, fewer additions, for
 * (planes - 1) n points of device memory. Which numbers of planes pay is in docs/measurements-cuda.md. */
typedef struct zk_cuda_bases {
    zk_dptr points;    /* [n], plane 0: the bases */
    zk_dptr multiples; /* [planes - 1][n], planes 1 and up; 0 if there is one plane */
    size_t n;
    int group;         /* of zk_group: 0 is G1, 1 is G2 */
    unsigned planes;   /* 1: no stored multiples */
    unsigned distance; /* bits between planes */
} zk_cuda_bases;

/* Sets group, n, planes and distance of *bases to what makes an MSM over n bases cheapest while the multiples take at
 * most `bytes`; the pointers become 0. Returns the additions of such an MSM, so that memory can be divided between
 * lists of bases by what it saves. Pure arithmetic: the same for the same arguments. */
double zk_cuda_bases_plan(zk_cuda_bases *bases, int group, size_t n, size_t bytes);
size_t zk_cuda_bases_bytes(const zk_cuda_bases *bases); /* of the multiples */
/* Fills the buffer at bases->multiples, of zk_cuda_bases_bytes, from bases->points. Any points. */
cuzk_status zk_cuda_bases_prepare(const zk_cuda_bases *bases, zk_cuda *device, cuzk_err *err) ZK_MUST_USE;

/* As zk_cuda_msm_*, of the first n <= bases->n bases. */
cuzk_status zk_cuda_msm_g1_stored(struct zk_g1_affine *result, zk_cuda *device, const zk_cuda_bases *bases,
                                  zk_dptr scalars, size_t n, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_msm_g2_stored(struct zk_g2_affine *result, zk_cuda *device, const zk_cuda_bases *bases,
                                  zk_dptr scalars, size_t n, cuzk_err *err) ZK_MUST_USE;

/* Device memory that a call takes from the pool while it runs: *least for the leanest way, *best for one within 1.5 %
 * of the fastest, by estimate. The fastest that there is room for is used. It is one piece of the pool. */
void zk_cuda_msm_bytes(size_t *best, size_t *least, const zk_cuda *device, const zk_cuda_bases *bases);
void zk_cuda_masked_sum_bytes(size_t *best, size_t *least, const zk_cuda *device, int group, size_t n);

/* ---- sums over bits of fixed bases, by signs (signs.cuh) ----
 *
 * Bases that many masks share, in groups of `together`: of each group all sums with signs, up to a sign of the whole,
 * 2^(together-1) points. A sum under a mask is then one addition a group. For bases of order r and infinity; see
 * signs.cuh for others. */
#define ZK_CUDA_SIGNS_MOST 4u
typedef struct zk_cuda_signs {
    zk_dptr sums; /* [groups][2^(together-1)], device memory of zk_cuda_signs_bytes */
    size_t n;     /* bases */
    int group;
    unsigned together;  /* 2 to ZK_CUDA_SIGNS_MOST */
    uint64_t total[24]; /* affine, the sum of all bases; set by zk_cuda_signs_build */
} zk_cuda_signs;
/* Whether lists of n bases gain: not short ones, whose sums take no time, nor those too long for the kernels. */
bool zk_cuda_signs_pay(size_t n, unsigned together);
size_t zk_cuda_signs_bytes(int group, size_t n, unsigned together);
/* Where in table->sums the bases have to be before the table is built over them. */
zk_dptr zk_cuda_signs_bases(const zk_cuda_signs *table);
/* Any points. *kept: it failed before anything happened, the bases are still where they were. */
cuzk_status zk_cuda_signs_build(bool *kept, zk_cuda_signs *table, zk_cuda *device, cuzk_err *err) ZK_MUST_USE;
/* As zk_cuda_masked_sum_*, and its device memory. */
cuzk_status zk_cuda_signs_sum_g1(struct zk_g1_affine *result, zk_cuda *device, const zk_cuda_signs *table, zk_dptr bits,
                                 cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_signs_sum_g2(struct zk_g2_affine *result, zk_cuda *device, const zk_cuda_signs *table, zk_dptr bits,
                                 cuzk_err *err) ZK_MUST_USE;
void zk_cuda_signs_sum_bytes(size_t *best, size_t *least, const zk_cuda *device, int group, size_t n,
                             unsigned together);

/* ---- bases in host memory ----
 *
 * For devices that cannot hold a key. bases: [n] affine in the device's form, in host memory from zk_cuda_host_alloc
 * (pageable memory works, slowly). Slices are copied while the one before is worked on. scalars, bits: device memory.
 */
cuzk_status zk_cuda_host_alloc(void **memory, zk_cuda *device, size_t bytes, const char *name,
                               cuzk_err *err) ZK_MUST_USE;
void zk_cuda_host_free(zk_cuda *device, void *memory); /* NULL is fine */
cuzk_status zk_cuda_msm_g1_streamed(struct zk_g1_affine *result, zk_cuda *device, const struct zk_g1_affine *bases,
                                    zk_dptr scalars, size_t n, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_msm_g2_streamed(struct zk_g2_affine *result, zk_cuda *device, const struct zk_g2_affine *bases,
                                    zk_dptr scalars, size_t n, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_masked_sum_g1_streamed(struct zk_g1_affine *result, zk_cuda *device,
                                           const struct zk_g1_affine *bases, zk_dptr bits, size_t n,
                                           cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_masked_sum_g2_streamed(struct zk_g2_affine *result, zk_cuda *device,
                                           const struct zk_g2_affine *bases, zk_dptr bits, size_t n,
                                           cuzk_err *err) ZK_MUST_USE;
/* The sums under several masks of bases that cross the bus once. results: [n_masks], bits: [n_masks] masks. */
cuzk_status zk_cuda_masked_sums_g1_streamed(struct zk_g1_affine *results, zk_cuda *device,
                                            const struct zk_g1_affine *bases, const zk_dptr *bits, size_t n_masks,
                                            size_t n, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_masked_sums_g2_streamed(struct zk_g2_affine *results, zk_cuda *device,
                                            const struct zk_g2_affine *bases, const zk_dptr *bits, size_t n_masks,
                                            size_t n, cuzk_err *err) ZK_MUST_USE;
/* Device memory of streamed calls; kind: 0 an MSM, 1 a masked sum. */
void zk_cuda_streamed_bytes(size_t *best, size_t *least, const zk_cuda *device, int group, int kind, size_t n);

/* ---- circuits (synthesis.cu) ---- */

/* The tables of a program on the device. `program` is borrowed, must outlive the handle, and is read at load only. */
struct zk_program;
typedef struct zk_cuda_program zk_cuda_program;
cuzk_status zk_cuda_program_load(zk_cuda_program **resident, zk_cuda *device, const struct zk_program *program,
                                 unsigned log2_n, cuzk_err *err) ZK_MUST_USE;
void zk_cuda_program_unload(zk_cuda_program *resident);
/* Device memory it takes, at most; SIZE_MAX if that cannot be found out. Costs about as much host time as loading. */
size_t zk_cuda_program_bytes(const struct zk_program *program, unsigned log2_n);

/* As zk_program_witness. hints: host memory. bits: [ceil(n_aux/64)] words; full: n_inputs inputs, then the wide values.
 * BAD_INPUT for a hint that is not below r. */
cuzk_status zk_cuda_witness(zk_cuda *device, const zk_cuda_program *program, const uint8_t (*hints)[32], zk_dptr bits,
                            zk_dptr full, cuzk_err *err) ZK_MUST_USE;
size_t zk_cuda_witness_bytes(const zk_cuda_program *program); /* device memory that it takes while it runs */
/* As zk_program_eval_computed, over the domain: rows of the program, then for each input a row with a = input, b = c =
 * 0, then zeros. a, b, c: [2^log2_n] Fr; any may be 0 (not computed). */
cuzk_status zk_cuda_evaluate(zk_cuda *device, const zk_cuda_program *program, zk_dptr bits, zk_dptr full, zk_dptr a,
                             zk_dptr b, zk_dptr c, cuzk_err *err) ZK_MUST_USE;
/* First of n_rows rows with a_i b_i != c_i, or n_rows. */
cuzk_status zk_cuda_first_unsatisfied(size_t *row, zk_cuda *device, zk_dptr a, zk_dptr b, zk_dptr c, size_t n_rows,
                                      cuzk_err *err) ZK_MUST_USE;

/* Of programs loaded from now on: from how many Poseidon permutations of one level on a thread each is used, not a
 * warp; over how many blocks the small instances of a level are spread. 0: the table. For tuning and tests. */
void zk_cuda_synthesis_tune(zk_cuda *device, unsigned hashes, unsigned blocks);

/* A static mask over n things, for compaction. words: host memory, [ceil(n/64)]. */
typedef struct zk_cuda_mask zk_cuda_mask;
cuzk_status zk_cuda_mask_create(zk_cuda_mask **mask, zk_cuda *device, const uint64_t *words, size_t n,
                                cuzk_err *err) ZK_MUST_USE;
void zk_cuda_mask_destroy(zk_cuda_mask *mask);
size_t zk_cuda_mask_bytes(size_t n); /* of device memory */
/* The bits (words of 64) or the elements of Fr under the mask, in order. Bits of the last word beyond the last are 0.
 */
cuzk_status zk_cuda_compact_bits(zk_cuda *device, const zk_cuda_mask *mask, zk_dptr out, zk_dptr bits,
                                 cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_cuda_compact_fr(zk_cuda *device, const zk_cuda_mask *mask, zk_dptr out, zk_dptr values,
                               cuzk_err *err) ZK_MUST_USE;

/* ---- points (points.cu) ---- */

/* G1 and G2 of zk_group: 0, 1. Points are 96 or 192 bytes, affine on the device as in the zcash uncompressed encoding.
 */
struct zk_pool;

/* Decodes n encoded points (host memory: a mapped file; any alignment) through pinned staging. Those whose bit in
 * is_bit (host, NULL: none) is set go to `bits`, the others to `full`, each in order. Checked: no flags but none,
 * coordinates canonical, on the curve, not infinity. *bad: least index refused, n if none. pool: host threads for the
 * staging. */
cuzk_status zk_cuda_points_decode(size_t *bad, zk_cuda *device, int group, zk_dptr full, zk_dptr bits,
                                  const uint8_t *encoded, size_t n, const uint64_t *is_bit, struct zk_pool *pool,
                                  cuzk_err *err) ZK_MUST_USE;
/* The other way, on the device: [n] affine points at `points` to [n] encoded points at `encoded`. */
cuzk_status zk_cuda_points_encode(zk_cuda *device, int group, zk_dptr encoded, zk_dptr points, size_t n,
                                  cuzk_err *err) ZK_MUST_USE;
/* *good: whether all points are in the subgroup of order r, by 40 random subset sums (a point outside is missed with
 * probability 2^-40). seed: 32 bytes from the kernel's generator. */
cuzk_status zk_cuda_points_subgroup(bool *good, zk_cuda *device, int group, zk_dptr points, size_t n,
                                    const uint8_t seed[32], cuzk_err *err) ZK_MUST_USE;

/* Multiples of the generator: a table of windows, in device memory, for about n_expected multiples. */
typedef struct zk_cuda_multiples zk_cuda_multiples;
cuzk_status zk_cuda_multiples_create(zk_cuda_multiples **multiples, zk_cuda *device, int group, uint64_t n_expected,
                                     cuzk_err *err) ZK_MUST_USE;
void zk_cuda_multiples_destroy(zk_cuda_multiples *multiples);
/* points[i] = [scalars[i]] G, device memory both; a zero gives infinity. */
cuzk_status zk_cuda_multiples_points(const zk_cuda_multiples *multiples, zk_dptr points, zk_dptr scalars, size_t n,
                                     cuzk_err *err) ZK_MUST_USE;
/* The points of a key from scalars that a function of the host writes slice by slice, split as by
 * zk_cuda_points_decode. *bad: least index whose scalar is zero, n if none. */
cuzk_status zk_cuda_multiples_split(size_t *bad, const zk_cuda_multiples *multiples, zk_dptr full, zk_dptr bits,
                                    void (*scalars)(void *ctx, struct zk_fr *out, size_t first, size_t n), void *ctx,
                                    size_t n, const uint64_t *is_bit, cuzk_err *err) ZK_MUST_USE;
/* [n] scalars of the host to [n] encoded points of the host. */
cuzk_status zk_cuda_multiples_encode(const zk_cuda_multiples *multiples, uint8_t *encoded, const struct zk_fr *scalars,
                                     size_t n, cuzk_err *err) ZK_MUST_USE;

/* ---- arrays of points of G1, for prepared keys (prepare.cu) ---- */

/* As zk_g1_transform of src/msm/transform.h, 0 <= log2_n <= 28, in place; progress (may be NULL) is called about every
 * tenth of a second. Points at infinity are allowed, points outside the subgroup give other points. */
cuzk_status zk_cuda_g1_transform(zk_cuda *device, zk_dptr points, unsigned log2_n, const struct zk_fr *shift,
                                 const struct zk_fr *scale, bool (*progress)(void *ctx, uint64_t done, uint64_t total),
                                 void *progress_ctx, cuzk_err *err) ZK_MUST_USE;
/* As zk_g1_add_columns. points, rows: device memory; columns: host memory. */
struct zk_sparse_columns;
cuzk_status zk_cuda_g1_add_columns(zk_cuda *device, zk_dptr points, const struct zk_sparse_columns *columns,
                                   zk_dptr rows, cuzk_err *err) ZK_MUST_USE;

/* How an MSM is cut: windows, entries (a point in a bucket) a lane works on at once, lanes; 0 is left to the rule.
 * Windows are signed digits of so many bits as that takes; ZK_CUDA_HEXAGONS + k is k digits, 10 <= k <= 20, in the
 * integers of the endomorphism (cuda/hexagon.cuh), for bases without stored multiples. */
#define ZK_CUDA_HEXAGONS 64
typedef struct zk_cuda_msm_way {
    unsigned windows, entries, lanes;
} zk_cuda_msm_way;
/* From measurements (`cuzk tune`): how MSMs of about 2^log2_n points without stored multiples are cut on the device and
 * on queues that are forked from now on, where they fit memory in that way. */
void zk_cuda_msm_prefer(zk_cuda *device, int group, unsigned log2_n, zk_cuda_msm_way way);
/* What an MSM over resident bases will be with the memory that is free now; zeros if there is too little. */
void zk_cuda_msm_way_of(zk_cuda_msm_way *way, const zk_cuda *device, const zk_cuda_bases *bases);

/* Windows of the next MSMs: their number, how many entries (a point in a bucket) a lane works on at once, how many
 * lanes run side by side, how many threads a multiprocessor a round of additions has; 0 means the table. For tuning and
 * tests. */
void zk_cuda_msm_tune(zk_cuda *device, unsigned windows, unsigned entries, unsigned lanes, unsigned threads);

#ifdef __cplusplus
}
#endif
#endif
