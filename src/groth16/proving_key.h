/* A proving key resident on a device, apart from proving: one key serves any number of proofs.
 *
 * Each query is split once into the points of bit variables and those of full ones (backend.h). Of the three selections
 * `b` serves b_g1 and b_g2.
 */
#ifndef ZK_GROTH16_PROVING_KEY_H
#define ZK_GROTH16_PROVING_KEY_H

#include "backend/backend.h"
#include "base/span.h"
#include "groth16/key_scalars.h"
#include "groth16/verify.h"

typedef enum zk_query_id { ZK_QUERY_L, ZK_QUERY_A, ZK_QUERY_B, ZK_N_QUERIES } zk_query_id;

/* What stands in a key for h and l. Proofs are the same. */
typedef enum zk_key_form {
    ZK_KEY_PLAIN,
    ZK_KEY_PREPARED, /* points for the values of a b on the coset, and l with the share of c, the inputs' in front */
} zk_key_form;

/* The masks that a circuit's structure gives. All bitmaps are arrays of 64-bit words. */
typedef struct zk_query_masks {
    zk_program_stats stats;
    zk_key_form form;
    size_t n_c_inputs; /* inputs that occur in C: with a prepared key their points are those before the aux in l */
    struct {
        size_t n_points, n_bits; /* of the query, and of those the points of bit variables */
        uint64_t *is_bit;        /* [n_points] in the order of the key file */
        uint64_t *bit_mask;      /* [n_aux] aux that are bits and in the query */
        uint64_t *full_mask;     /* [n_inputs + n_wide] inputs and wide aux in the query */
        bool full_is_range;      /* these are neighbours, so that they need not be compacted */
    } query[ZK_N_QUERIES];
} zk_query_masks;
struct zk_pool;
cuzk_status zk_query_masks_compute(zk_query_masks *masks, const zk_program *program, struct zk_pool *pool,
                                   cuzk_err *err) ZK_MUST_USE;
void zk_query_masks_clear(zk_query_masks *masks);
/* From the plain form to those of a prepared key. */
cuzk_status zk_query_masks_prepare(zk_query_masks *masks, const zk_program *program, cuzk_err *err) ZK_MUST_USE;

typedef struct zk_proving_key {
    const zk_resident_program *program; /* borrowed */
    zk_key_form form;
    unsigned n_vectors; /* over the domain, that a proof holds at once: zk_proof_vectors */
    zk_vk vk;
    zk_prepared_vk *prepared;
    zk_selection *selection[ZK_N_QUERIES];
    zk_resident_points *h;                               /* plain: n - 1 points; prepared: those of g, n */
    zk_resident_points *l[2], *a[2], *b_g1[2], *b_g2[2]; /* [0] full, [1] bits */
} zk_proving_key;

/* What proofs with this key will ask of the device. */
void zk_proof_shape_make(zk_proof_shape *shape, const zk_resident_program *program, const zk_query_masks *masks);
/* Memory that the key will take on the device. */
void zk_proving_key_plan(const zk_resident_program *program, const zk_query_masks *masks, zk_memory_plan *plan);

/* Keys below are refused with OUT_OF_MEMORY, and the numbers, before any point is read if the device has too little for
 * proofs even with all points elsewhere. */

/* Reads a parameter file for this circuit; every point is checked (not the subgroup, see zk_params_check) while it is
 * converted. `pool` is for work on the host. BAD_INPUT names file, section, index and offset. */
cuzk_status zk_proving_key_load(zk_proving_key **key, const zk_resident_program *program, const char *params_path,
                                struct zk_pool *pool, zk_trace *trace, cuzk_err *err) ZK_MUST_USE;
/* With the prepared key that lies beside the parameter file (prepared_params.h) in place of h and l. NOT_FOUND: there
 * is none. BAD_INPUT also if it is not that of this parameter file. */
cuzk_status zk_proving_key_load_prepared(zk_proving_key **key, const zk_resident_program *program,
                                         const char *params_path, struct zk_pool *pool, zk_trace *trace,
                                         cuzk_err *err) ZK_MUST_USE;
/* The same from open files, which may be closed afterwards; masks: in the form of the key, prepared: NULL for a plain
 * one. */
struct zk_prepared_params;
cuzk_status zk_proving_key_load_files(zk_proving_key **key, const zk_resident_program *program, const zk_params *params,
                                      const struct zk_prepared_params *prepared, const zk_query_masks *masks,
                                      zk_trace *trace, cuzk_err *err) ZK_MUST_USE;
/* The key that zk_setup writes for this toxic waste, made on the device without a file. For tests. `pool` is for the
 * columns, on the host; memory: that of zk_key_scalars_create, less with each section that is done. BAD_INPUT as
 * zk_setup.
 */
cuzk_status zk_proving_key_generate(zk_proving_key **key, const zk_resident_program *program,
                                    const zk_toxic_waste *toxic, struct zk_pool *pool, zk_trace *trace,
                                    cuzk_err *err) ZK_MUST_USE;
/* The same, prepared: the points that zk_prepare would make, from closed forms. BAD_INPUT also if tau lies on the
 * coset.
 */
cuzk_status zk_proving_key_generate_prepared(zk_proving_key **key, const zk_resident_program *program,
                                             const zk_toxic_waste *toxic, struct zk_pool *pool, zk_trace *trace,
                                             cuzk_err *err) ZK_MUST_USE;
/* Spends device memory that is left (after the provers have theirs) and time on faster MSMs, for a key that stays: over
 * all lists of at most most_points full points. ZK_SHORT_LIST: few gigabytes and tenths of a second; SIZE_MAX: also h
 * of a large circuit, tens of gigabytes and some seconds. */
#define ZK_SHORT_LIST ((size_t)1 << 22)
cuzk_status zk_proving_key_speed_up(const zk_proving_key *key, size_t most_points, zk_trace *trace,
                                    cuzk_err *err) ZK_MUST_USE;
/* Whether points of bits have to be brought to the device for every sum. */
bool zk_proving_key_streams_bits(const zk_proving_key *key);
void zk_proving_key_destroy(zk_proving_key *key); /* NULL is fine */

#endif
