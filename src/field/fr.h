/* Fr: the scalar field of BLS12-381.
 *
 *   r = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001   (255 bits, r - 1 = 2^32 * odd)
 *
 * zk_fr is 4x64 limbs, least significant first, in Montgomery form (value * R mod r, R = 2^256), always fully reduced
 * (< r). Every function accepts results that alias operands.
 */
#ifndef ZK_FIELD_FR_H
#define ZK_FIELD_FR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "field/dispatch.h"
#include "field/limb.h"

typedef struct zk_fr {
    uint64_t l[4];
} zk_fr;

#define ZK_FR_BYTES 32
#define ZK_FR_BITS 255
#define ZK_FR_TWO_ADICITY 32

extern const zk_fr zk_fr_zero, zk_fr_one;
extern const zk_fr zk_fr_r2; /* R^2: turns plain limbs into Montgomery form by one multiplication */
__attribute__((visibility("hidden"))) extern const uint64_t zk_fr_modulus[4]; /* plain limbs */
extern const zk_fr zk_fr_generator;          /* 7, generates the multiplicative group; also the coset shift */
extern const zk_fr zk_fr_root_of_unity_2_32; /* 7^((r-1)/2^32) */

static inline void zk_fr_add(zk_fr *r, const zk_fr *a, const zk_fr *b);
static inline void zk_fr_sub(zk_fr *r, const zk_fr *a, const zk_fr *b);
static inline void zk_fr_neg(zk_fr *r, const zk_fr *a);
static inline void zk_fr_double(zk_fr *r, const zk_fr *a);
/* b may also be any 256-bit value: the result is a b R^-1 mod r all the same. */
static inline void zk_fr_mul(zk_fr *r, const zk_fr *a, const zk_fr *b);
static inline void zk_fr_sqr(zk_fr *r, const zk_fr *a);
/* a^e, e as n 64-bit limbs, least significant first; 0^0 = 1. */
void zk_fr_pow_var(zk_fr *r, const zk_fr *a, const uint64_t *e, size_t n_limbs);
void zk_fr_pow_u64(zk_fr *r, const zk_fr *a, uint64_t e);
/* r = 1/a; false (and r = 0) for a = 0. */
bool zk_fr_inv_var(zk_fr *r, const zk_fr *a);
/* In place; zeros stay zero. scratch: n elements. Cost 3n multiplications and one inversion. */
void zk_fr_batch_inv_var(zk_fr *a, size_t n, zk_fr *scratch);
/* Smaller of the two roots as an integer; false if a is not a square. */
bool zk_fr_sqrt_var(zk_fr *r, const zk_fr *a);

static inline bool zk_fr_is_zero(const zk_fr *a);
static inline bool zk_fr_is_one(const zk_fr *a);
static inline bool zk_fr_eq(const zk_fr *a, const zk_fr *b);

void zk_fr_from_u64(zk_fr *r, uint64_t v);
void zk_fr_from_i64(zk_fr *r, int64_t v);
/* Plain limbs: from_limbs requires the value to be < r; to_limbs gives the canonical value. */
void zk_fr_from_limbs(zk_fr *r, const uint64_t limbs[4]);
void zk_fr_to_limbs(uint64_t limbs[4], const zk_fr *a);
/* 32 bytes little-endian. from_bytes refuses (false, r untouched) values >= r. */
bool zk_fr_from_bytes_le(zk_fr *r, const uint8_t bytes[32]);
void zk_fr_to_bytes_le(uint8_t bytes[32], const zk_fr *a);
/* 64 bytes little-endian, reduced mod r (uniform if the input is). */
void zk_fr_from_bytes_wide(zk_fr *r, const uint8_t bytes[64]);
/* 32 bytes little-endian, any value, reduced mod r. */
void zk_fr_from_bytes_reduce(zk_fr *r, const uint8_t bytes[32]);
/* Root of unity of order 2^log2_n, log2_n <= 32. */
void zk_fr_root_of_unity(zk_fr *r, unsigned log2_n);

#include "field/fr_impl.h"

#endif
