/* Poseidon over Fr with x^5, as Filecoin uses it (https://eprint.iacr.org/2019/458, and Filecoin's specification of
 * its instances and of the optimised form).
 *
 * State: width t = arity + 1, [domain tag, input 0 .. input arity-1]; the output is entry 1. Mixing multiplies the
 * state as a row vector: new_j = sum_i s_i M[i][j]. Matrices are stored by rows, M[i][j] at [i * width + j].
 *
 * Plain form, round k of RF + RP: add round_constants[k t .. k t + t - 1]; x^5 on all entries in the RF/2 first and
 * last rounds, on entry 0 only in the RP rounds between; mix with mds.
 *
 * Optimised form, equal results: add compressed[0 .. t-1]; then in each round x^5, add the next compressed constants
 * (t in a full round, one in a partial round, none in the last round), mix. Mixing is with mds, except in the last
 * full round of the first half (pre_sparse) and in partial round i (the sparse matrix i: first column w_hat, first row
 * [w_hat[0], v_rest], identity elsewhere, so new_0 = sum_i s_i w_hat[i] and new_j = s_j + s_0 v_rest[j - 1]).
 */
#ifndef ZK_HASH_POSEIDON_H
#define ZK_HASH_POSEIDON_H

#include "field/fr.h"

#define ZK_POSEIDON_MAX_ARITY 64
#define ZK_POSEIDON_FULL_ROUNDS 8
#define ZK_POSEIDON_MAX_PARTIAL_ROUNDS 61 /* of all arities */
#define ZK_POSEIDON_MAX_SBOXES (ZK_POSEIDON_FULL_ROUNDS * (ZK_POSEIDON_MAX_ARITY + 1) + ZK_POSEIDON_MAX_PARTIAL_ROUNDS)
#define ZK_POSEIDON_BLOCK 4 /* partial rounds done at a time */

typedef struct zk_poseidon_params {
    unsigned arity, width;
    unsigned full_rounds, partial_rounds;
    zk_fr tree_tag;               /* 2^arity - 1: the domain tag of tree nodes, columns and comm_r */
    const zk_fr *mds;             /* [width][width], 1 / (i + j + width), symmetric */
    const zk_fr *round_constants; /* [full_rounds + partial_rounds][width], plain form */
    const zk_fr *compressed;      /* [full_rounds * width + partial_rounds], in order of use */
    const zk_fr *pre_sparse;      /* [width][width] */
    const zk_fr *w_hat;           /* [partial_rounds][width] */
    const zk_fr *v_rest;          /* [partial_rounds][width - 1] */
    const zk_fr *fast; /* [partial_rounds][width - 1 + ZK_POSEIDON_BLOCK], for the fast form: see poseidon.c */
} zk_poseidon_params;

/* The instance of an arity, 1 .. ZK_POSEIDON_MAX_ARITY; made on the first call (a few milliseconds for small arities),
 * any thread. Lives until exit. NULL: arity out of range or out of memory. */
const zk_poseidon_params *zk_poseidon_get(unsigned arity);

/* Number of S-boxes of one permutation: full_rounds * width + partial_rounds, at most ZK_POSEIDON_MAX_SBOXES. */
unsigned zk_poseidon_n_sboxes(const zk_poseidon_params *params);

/* Hash of `arity` inputs with the tree tag, or with a tag of the caller's. out may be one of the inputs. */
void zk_poseidon_hash(zk_fr *out, const zk_poseidon_params *params, const zk_fr *in);
void zk_poseidon_hash_tagged(zk_fr *out, const zk_poseidon_params *params, const zk_fr *tag, const zk_fr *in);
/* n hashes with the tree tag: out[i] from in[i arity .. i arity + arity - 1]. out and in do not overlap. Up to arity 11
 * eight at a time cost less than two of zk_poseidon_hash where the CPU has AVX-512 IFMA, less than five where it has
 * AVX2 and FMA (and CUZK_CPU allows it). */
void zk_poseidon_hash_many(zk_fr *out, const zk_poseidon_params *params, const zk_fr *in, size_t n);
/* The same by the plain form. Slow, for tests. */
void zk_poseidon_hash_plain(zk_fr *out, const zk_poseidon_params *params, const zk_fr *tag, const zk_fr *in);

/* One S-box of the optimised form: x goes in (in the first round with its pre-added constant), y = x^5 + key comes out.
 */
typedef struct zk_poseidon_sbox {
    zk_fr x, x2, x4, y;
} zk_poseidon_sbox;

/* Optimised form with every S-box recorded in order (round by round, entry by entry): sboxes[n_sboxes], or NULL. */
void zk_poseidon_trace(zk_fr *out, zk_poseidon_sbox *sboxes, const zk_poseidon_params *params, const zk_fr *tag,
                       const zk_fr *in);

/* Whole permutation of a state of `width` entries in place, optimised form. */
void zk_poseidon_permute(zk_fr *state, const zk_poseidon_params *params);

#endif
