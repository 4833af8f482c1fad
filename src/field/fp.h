/* Fp: the base field of BLS12-381, and its quadratic extension.
 *
 *   p = 0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab   (381 bits)
 *
 * zk_fp is 6x64 limbs, least significant first, Montgomery form with R = 2^384, always fully reduced (< p).
 * zk_fp2 is c0 + c1 u with u^2 = -1. Every function accepts results that alias operands.
 */
#ifndef ZK_FIELD_FP_H
#define ZK_FIELD_FP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "field/dispatch.h"
#include "field/limb.h"

typedef struct zk_fp {
    uint64_t l[6];
} zk_fp;

typedef struct zk_fp2 {
    zk_fp c0, c1;
} zk_fp2;

#define ZK_FP_BYTES 48

extern const zk_fp zk_fp_zero, zk_fp_one;
extern const zk_fp zk_fp_r2; /* R^2: turns plain limbs into Montgomery form by one multiplication */
__attribute__((visibility("hidden"))) extern const uint64_t zk_fp_modulus[6]; /* plain limbs */
extern const zk_fp2 zk_fp2_zero, zk_fp2_one;

static inline void zk_fp_add(zk_fp *r, const zk_fp *a, const zk_fp *b);
static inline void zk_fp_sub(zk_fp *r, const zk_fp *a, const zk_fp *b);
static inline void zk_fp_neg(zk_fp *r, const zk_fp *a);
static inline void zk_fp_double(zk_fp *r, const zk_fp *a);
static inline void zk_fp_halve(zk_fp *r, const zk_fp *a); /* a / 2 */
static inline void zk_fp_mul(zk_fp *r, const zk_fp *a, const zk_fp *b);
static inline void zk_fp_sqr(zk_fp *r, const zk_fp *a);
/* a^e, e as n_limbs 64-bit limbs, least significant first; 0^0 = 1. */
void zk_fp_pow_var(zk_fp *r, const zk_fp *a, const uint64_t *e, size_t n_limbs);
/* r = 1/a; false (and r = 0) for a = 0. */
bool zk_fp_inv_var(zk_fp *r, const zk_fp *a);
/* In place; zeros stay zero. scratch: n elements. Cost 3n multiplications and one inversion. */
void zk_fp_batch_inv_var(zk_fp *a, size_t n, zk_fp *scratch);
/* The smaller of the two roots as an integer; false if a is not a square. By a^((p+1)/4), as p = 3 mod 4. */
bool zk_fp_sqrt_var(zk_fp *r, const zk_fp *a);
static inline bool zk_fp_is_zero(const zk_fp *a);
static inline bool zk_fp_is_one(const zk_fp *a);
static inline bool zk_fp_eq(const zk_fp *a, const zk_fp *b);
/* True if the canonical value is > (p-1)/2. */
bool zk_fp_is_lexicographically_largest(const zk_fp *a);
void zk_fp_from_u64(zk_fp *r, uint64_t v);
/* Plain limbs: from_limbs requires the value to be < p; to_limbs gives the canonical value. */
void zk_fp_from_limbs(zk_fp *r, const uint64_t limbs[6]);
void zk_fp_to_limbs(uint64_t limbs[6], const zk_fp *a);
/* from_bytes refuses (false, r untouched) values >= p. */
bool zk_fp_from_bytes_be(zk_fp *r, const uint8_t bytes[48]);
void zk_fp_to_bytes_be(uint8_t bytes[48], const zk_fp *a);
bool zk_fp_from_bytes_le(zk_fp *r, const uint8_t bytes[48]);
void zk_fp_to_bytes_le(uint8_t bytes[48], const zk_fp *a);

static inline void zk_fp2_add(zk_fp2 *r, const zk_fp2 *a, const zk_fp2 *b);
static inline void zk_fp2_sub(zk_fp2 *r, const zk_fp2 *a, const zk_fp2 *b);
static inline void zk_fp2_neg(zk_fp2 *r, const zk_fp2 *a);
static inline void zk_fp2_double(zk_fp2 *r, const zk_fp2 *a);
static inline void zk_fp2_halve(zk_fp2 *r, const zk_fp2 *a); /* a / 2 */
static inline void zk_fp2_mul(zk_fp2 *r, const zk_fp2 *a, const zk_fp2 *b);
static inline void zk_fp2_sqr(zk_fp2 *r, const zk_fp2 *a);
static inline void zk_fp2_mul_fp(zk_fp2 *r, const zk_fp2 *a, const zk_fp *b);
static inline void zk_fp2_mul_xi(zk_fp2 *r, const zk_fp2 *a); /* times 1 + u */
static inline void zk_fp2_conjugate(zk_fp2 *r, const zk_fp2 *a);
/* As those of Fp. */
bool zk_fp2_inv_var(zk_fp2 *r, const zk_fp2 *a);
void zk_fp2_batch_inv_var(zk_fp2 *a, size_t n, zk_fp2 *scratch);
/* The root with the smaller (c1, then c0); false if a is not a square. */
bool zk_fp2_sqrt_var(zk_fp2 *r, const zk_fp2 *a);
static inline bool zk_fp2_is_zero(const zk_fp2 *a);
static inline bool zk_fp2_is_one(const zk_fp2 *a);
static inline bool zk_fp2_eq(const zk_fp2 *a, const zk_fp2 *b);
/* Decided by c1, and by c0 only when c1 = 0. */
bool zk_fp2_is_lexicographically_largest(const zk_fp2 *a);

#include "field/fp_impl.h"

#endif
