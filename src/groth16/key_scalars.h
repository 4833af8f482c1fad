/* The scalars of a key: point i of a section (params.h) is [s_i] G. What key files and keys made on a device share.
 *
 * Whoever knows the toxic waste can prove anything, so keys made from it here are for tests and private circuits only.
 */
#ifndef ZK_GROTH16_KEY_SCALARS_H
#define ZK_GROTH16_KEY_SCALARS_H

#include "groth16/columns.h"
#include "groth16/params.h"

typedef struct zk_toxic_waste {
    zk_fr alpha, beta, gamma, delta, tau;
} zk_toxic_waste;

cuzk_status zk_toxic_waste_random(zk_toxic_waste *toxic, cuzk_err *err) ZK_MUST_USE; /* wipe it after use */

/* The weights of A_i, B_i, C_i in a point of l, or of the verifying key. */
typedef struct zk_key_weights {
    zk_fr of[3];
} zk_key_weights;

typedef struct zk_key_scalars {
    zk_pool *pool; /* borrowed */
    zk_toxic_waste toxic;
    zk_key_weights aux, inputs; /* (beta, alpha, 1)/delta, (beta, alpha, 1)/gamma */
    zk_fr h_scale;              /* t(tau)/delta */
    zk_columns columns;
    uint64_t n[ZK_PARAMS_N_SECTIONS]; /* points of each section */
    size_t *rank[2];                  /* of A, B: columns before each block of them that are not zero */
    /* of a prepared key */
    uint64_t n_g, n_prepared_l;
    zk_fr g_scale, g_power; /* t(tau)/(delta n z); tau^(n-1)/g^n */
    uint32_t *c_input;      /* inputs that occur in C */
    size_t n_c_inputs;
    zk_fr *c_at_tau; /* [n_c_inputs] their columns of C before zk_key_scalars_prepare */
} zk_key_scalars;

/* Computes the columns. BAD_INPUT: a variable that occurs in no row (named), or toxic waste that does not do (a zero,
 * or tau in the domain). Memory: that of zk_columns_compute. Clear it also after a failure; toxic waste is wiped. */
cuzk_status zk_key_scalars_create(zk_key_scalars *scalars, const zk_program *program, const zk_toxic_waste *toxic,
                                  zk_pool *pool, cuzk_err *err) ZK_MUST_USE;
void zk_key_scalars_clear(zk_key_scalars *scalars);

/* Writes scalars first .. first + n - 1 of a section, on all threads of the pool. */
void zk_key_scalars_get(const zk_key_scalars *scalars, zk_params_section_id id, zk_fr *out, size_t first, size_t n);
/* Frees the columns that no section behind this one needs; for whoever makes the sections in their order. */
void zk_key_scalars_done(zk_key_scalars *scalars, zk_params_section_id id);
/* Words the refusal of a zero. BAD_INPUT. */
cuzk_status zk_key_scalars_refuse(zk_params_section_id id, size_t index, cuzk_err *err);

/* After zk_key_scalars_vk: makes the scalars of sections g and l of a prepared key (docs/internals/prepared-keys.md);
 * the plain h and l cannot be had any more. BAD_INPUT: tau lies on the coset. */
cuzk_status zk_key_scalars_prepare(zk_key_scalars *scalars, const zk_program *program, cuzk_err *err) ZK_MUST_USE;
/* Scalars first .. first + n - 1 of g, of n_g, and of l, of n_prepared_l. zk_key_scalars_done frees as before. */
void zk_key_scalars_get_g(const zk_key_scalars *scalars, zk_fr *out, size_t first, size_t n);
void zk_key_scalars_get_prepared_l(const zk_key_scalars *scalars, zk_fr *out, size_t first, size_t n);

/* The generators of both groups, for all points of the key: [ZK_G1], [ZK_G2]. Destroy both, also after a failure. */
cuzk_status zk_key_multiples_create(zk_multiples *multiples[2], const zk_key_scalars *scalars, zk_backend *backend,
                                    cuzk_err *err) ZK_MUST_USE;
void zk_key_multiples_destroy(zk_multiples *multiples[2]);

/* The verifying key; before any section is done with. zk_vk_clear it. */
cuzk_status zk_key_scalars_vk(zk_vk *vk, const zk_key_scalars *scalars, zk_multiples *const multiples[2],
                              cuzk_err *err) ZK_MUST_USE;

#endif
