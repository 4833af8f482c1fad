/* Sums of products in Fr with one reduction: the inner loop of Poseidon. */
#ifndef ZK_HASH_POSEIDON_DOT_H
#define ZK_HASH_POSEIDON_DOT_H

#include "field/fr.h"
#include "field/limb_x86.h"

#define ZK_POSEIDON_MAX_DOT 128

/* out = init + sum a[i] b[i stride], i < n <= ZK_POSEIDON_MAX_DOT, in Montgomery form throughout; init may be NULL (0).
 * out may alias anything. */
typedef void (*zk_poseidon_dot_fn)(zk_fr *out, const zk_fr *init, const zk_fr *a, const zk_fr *b, size_t stride,
                                   size_t n);

void zk_poseidon_dot_portable(zk_fr *out, const zk_fr *init, const zk_fr *a, const zk_fr *b, size_t stride, size_t n);
/* The assembly needs 14 registers: optimised builds only, and none with a sanitizer (field/limb_x86.h). The CPU must
 * have BMI2 and ADX. */
#if ZK_LIMB_X86
#define ZK_POSEIDON_HAVE_ADX 1
void zk_poseidon_dot_adx(zk_fr *out, const zk_fr *init, const zk_fr *a, const zk_fr *b, size_t stride, size_t n);
#endif

#endif
