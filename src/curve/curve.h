/* The two groups of BLS12-381.
 *
 *   E1: y^2 = x^3 + 4 over Fp,          G1 its subgroup of order r
 *   E2: y^2 = x^3 + 4 (1 + u) over Fp2, G2 its subgroup of order r
 *
 * Affine points encode infinity as x = y = 0 (not on either curve). Jacobian: x = X/Z^2, y = Y/Z^3, infinity Z = 0.
 * All additions are complete: equal points, opposite points and infinity give the right result. Results may alias
 * operands. Functions named zk_g2_* do in G2 exactly what zk_g1_* do in G1.
 */
#ifndef ZK_CURVE_CURVE_H
#define ZK_CURVE_CURVE_H

#include "base/status.h"
#include "field/fp.h"
#include "field/fr.h"

typedef struct zk_g1_affine {
    zk_fp x, y;
} zk_g1_affine;
typedef struct zk_g1 { /* Jacobian */
    zk_fp x, y, z;
} zk_g1;
typedef struct zk_g2_affine {
    zk_fp2 x, y;
} zk_g2_affine;
typedef struct zk_g2 {
    zk_fp2 x, y, z;
} zk_g2;

#define ZK_G1_COMPRESSED_BYTES 48
#define ZK_G1_UNCOMPRESSED_BYTES 96
#define ZK_G2_COMPRESSED_BYTES 96
#define ZK_G2_UNCOMPRESSED_BYTES 192

extern const zk_g1_affine zk_g1_generator; /* the standard generators */
extern const zk_g2_affine zk_g2_generator;

/* How a decoder came to its answer. */
typedef enum zk_point_verdict {
    ZK_POINT_OK,
    ZK_POINT_BAD_FLAGS,     /* flag bits that the form does not allow */
    ZK_POINT_NOT_CANONICAL, /* coordinate >= p, or stray bits in an infinity */
    ZK_POINT_NOT_ON_CURVE,
    ZK_POINT_NOT_IN_SUBGROUP,
} zk_point_verdict;
const char *zk_point_verdict_text(zk_point_verdict verdict);

#define ZK_CURVE_DECLARE(g, field)                                                                                     \
    void zk_##g##_set_infinity(zk_##g *r);                                                                             \
    bool zk_##g##_is_infinity(const zk_##g *a);                                                                        \
    bool zk_##g##_affine_is_infinity(const zk_##g##_affine *a);                                                        \
    void zk_##g##_from_affine(zk_##g *r, const zk_##g##_affine *a);                                                    \
    void zk_##g##_to_affine(zk_##g##_affine *r, const zk_##g *a);                                                      \
    /* n points, one inversion for 256 of them; infinities allowed. */                                                 \
    void zk_##g##_batch_to_affine(zk_##g##_affine *r, const zk_##g *a, size_t n);                                      \
    void zk_##g##_add(zk_##g *r, const zk_##g *a, const zk_##g *b);                                                    \
    void zk_##g##_add_affine(zk_##g *r, const zk_##g *a, const zk_##g##_affine *b);                                    \
    void zk_##g##_double(zk_##g *r, const zk_##g *a);                                                                  \
    void zk_##g##_neg(zk_##g *r, const zk_##g *a);                                                                     \
    void zk_##g##_affine_neg(zk_##g##_affine *r, const zk_##g##_affine *a);                                            \
    bool zk_##g##_eq(const zk_##g *a, const zk_##g *b);                                                                \
    bool zk_##g##_affine_eq(const zk_##g##_affine *a, const zk_##g##_affine *b);                                       \
    /* [k]a by signed windows. */                                                                                      \
    void zk_##g##_mul_var(zk_##g *r, const zk_##g *a, const zk_fr *k);                                                 \
    bool zk_##g##_affine_is_on_curve(const zk_##g##_affine *a);    /* infinity: true */                                \
    bool zk_##g##_affine_is_in_subgroup(const zk_##g##_affine *a); /* of a point on the curve, by endomorphism */      \
    /* zcash encodings. Decoders set r only on ZK_POINT_OK; the subgroup test is optional, all else is always done. */ \
    void zk_##g##_compress(uint8_t *bytes, const zk_##g##_affine *a);                                                  \
    void zk_##g##_serialize(uint8_t *bytes, const zk_##g##_affine *a); /* uncompressed */                              \
    zk_point_verdict zk_##g##_decompress(zk_##g##_affine *r, const uint8_t *bytes, bool check_subgroup);               \
    /* The same in parts, without the subgroup test. True: r->x is set and y is a root of *square; decompress_root     \
     * then takes the smaller root (it is never zero: the curves' orders are odd). False: the verdict stands, OK for   \
     * infinity. */                                                                                                    \
    bool zk_##g##_decompress_begin(zk_##g##_affine *r, zk_##field *square, zk_point_verdict *verdict,                  \
                                   const uint8_t *bytes);                                                              \
    void zk_##g##_decompress_root(zk_##g##_affine *r, const zk_##field *root, const uint8_t *bytes);                   \
    /* Uncompressed; the compression flag is refused (stricter than the reference). */                                 \
    zk_point_verdict zk_##g##_deserialize(zk_##g##_affine *r, const uint8_t *bytes, bool check_subgroup);

ZK_CURVE_DECLARE(g1, fp)
ZK_CURVE_DECLARE(g2, fp2)

/* The parameter of the curve is x = -ZK_CURVE_ABS_X: r = x^4 - x^2 + 1, p = (x - 1)^2 r / 3 + x. Its absolute value has
 * 64 bits, of which six are set. */
#define ZK_CURVE_ABS_X 0xd201000000010000u

/* beta^3 = 1, the one of the two for which phi(x, y) = (beta x, y) multiplies G1 by -x^2. */
extern const zk_fp zk_g1_beta;
void zk_g1_affine_phi(zk_g1_affine *r, const zk_g1_affine *a);
/* The endomorphism of E2 that multiplies G2 by x, the p-power Frobenius carried over to the twist:
 * psi(x, y) = (c_x conj(x), c_y conj(y)), c_x = (1 + u)^-((p-1)/3), c_y = (1 + u)^-((p-1)/2). c_x is a multiple of u.
 */
extern const zk_fp zk_g2_psi_x; /* c_x / u */
extern const zk_fp2 zk_g2_psi_y;
void zk_g2_affine_psi(zk_g2_affine *r, const zk_g2_affine *a);

#endif
