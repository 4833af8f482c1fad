#include <string.h>

#include "curve/curve.h"
#include "curve/wnaf.h"

#define FE zk_fp
#define FE_(name) zk_fp_##name
#define FE_BYTES 48
#define POINT zk_g1
#define AFFINE zk_g1_affine
#define GROUP(name) zk_g1_##name

const zk_g1_affine zk_g1_generator = {{{0x5cb38790fd530c16, 0x7817fc679976fff5, 0x154f95c7143ba1c1, 0xf0ae6acdf3d0e747,
                                        0xedce6ecc21dbf440, 0x120177419e0bfb75}},
                                      {{0xbaac93d50ce72271, 0x8c22631a7918fd8e, 0xdd595f13570725ce, 0x51ac582950405194,
                                        0x0e1c8c3fad0059c0, 0x0bbc3efc5008a26a}}};

/* 4 */
static const zk_fp curve_b = {{0xaa270000000cfff3, 0x53cc0032fc34000a, 0x478fe97a6b0a807f, 0xb1d37ebee6ba24d7,
                               0x8ec9733bbf78ab2f, 0x09d645513d83de7e}};

static bool fe_load(zk_fp *r, const uint8_t *bytes) { return zk_fp_from_bytes_be(r, bytes); }
static void fe_store(uint8_t *bytes, const zk_fp *a) { zk_fp_to_bytes_be(bytes, a); }

#include "curve/group.inc"

/* r = [|x|] a, x the parameter of the curve. */
static void mul_by_abs_x(zk_g1 *r, const zk_g1 *a) {
    zk_g1 sum = *a, base = *a;
    for (int i = 62; i >= 0; i--) {
        zk_g1_double(&sum, &sum);
        if (ZK_CURVE_ABS_X >> i & 1) zk_g1_add(&sum, &sum, &base);
    }
    *r = sum;
}

const zk_fp zk_g1_beta = {{0x30f1361b798a64e8, 0xf3b8ddab7ece5a2a, 0x16a8ca3ac61577f7, 0xc26a2ff874fd029b,
                           0x3636b76660701c6e, 0x051ba4ab241b6160}};

void zk_g1_affine_phi(zk_g1_affine *r, const zk_g1_affine *a) {
    zk_fp_mul(&r->x, &a->x, &zk_g1_beta);
    r->y = a->y;
}

/* M. Scott, "A note on group membership tests for G1, G2 and GT on BLS pairing-friendly curves", 2021: the endomorphism
 * phi(x, y) = (beta x, y), beta^3 = 1, acts on G1 as -x^2 (beta chosen to that end), and on no other point of E1 is
 * phi(P) = -[x^2]P. */
bool zk_g1_affine_is_in_subgroup(const zk_g1_affine *a) {
    if (zk_g1_affine_is_infinity(a)) return true;
    zk_g1_affine image;
    zk_g1 phi, multiple;
    zk_g1_from_affine(&multiple, a);
    mul_by_abs_x(&multiple, &multiple);
    mul_by_abs_x(&multiple, &multiple);
    zk_g1_neg(&multiple, &multiple);
    zk_g1_affine_phi(&image, a);
    zk_g1_from_affine(&phi, &image);
    return zk_g1_eq(&phi, &multiple);
}
