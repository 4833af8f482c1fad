#include "curve/ifma/lanes.h"
#include "field/fp2_52x8.h"

#define ABS_X 0xd201000000010000u

#define VEC zk_fp2_52x8
#define fe_mul zk_fp2_52x8_mul
#define fe_sqr zk_fp2_52x8_sqr
#define fe_carry zk_fp2_52x8_carry
#define fe_add_loose zk_fp2_52x8_add_loose
#define fe_sub_loose zk_fp2_52x8_sub_loose
#define fe_shift_loose zk_fp2_52x8_shift_loose
#define fe_blend zk_fp2_52x8_blend
#include "curve/ifma/ladder.inc"

static unsigned zero_lanes(const zk_fp2_52x8 *a) {
    zk_fp2 element[8];
    unsigned zero = 0;
    zk_fp2_52x8_to_elements(element, a);
    for (int k = 0; k < 8; k++) zero |= (unsigned)zk_fp2_is_zero(&element[k]) << k;
    return zero;
}

/* psi(P) = [x]P: see zk_g2_affine_is_in_subgroup. */
unsigned zk_g2_subgroup_lanes(unsigned *undecided, const zk_g2_affine p[8]) {
    zk_fp2 element[4][8];
    zk_fp2_52x8 x, y, t, u;
    lane_point sum;
    for (int k = 0; k < 8; k++) {
        zk_g2_affine image;
        zk_g2_affine_psi(&image, &p[k]);
        element[0][k] = p[k].x;
        element[1][k] = p[k].y;
        element[2][k] = image.x;
        element[3][k] = image.y;
    }
    zk_fp2_52x8_from_elements(&x, element[0]);
    zk_fp2_52x8_from_elements(&y, element[1]);
    sum.x = x;
    sum.y = y;
    zk_fp52x8_broadcast(&sum.z.c0, &zk_fp_one);
    zk_fp52x8_broadcast(&sum.z.c1, &zk_fp_zero);
    for (int i = 62; i >= 0; i--) {
        lane_double(&sum, &sum);
        if (ABS_X >> i & 1) lane_add_affine(&sum, &sum, &x, &y, 0xff);
    }
    *undecided = zero_lanes(&sum.z);
    zk_fp2_52x8_from_elements(&x, element[2]);
    zk_fp2_52x8_from_elements(&y, element[3]);
    zk_fp2_52x8_sqr(&t, &sum.z);
    zk_fp2_52x8_mul(&x, &x, &t);
    zk_fp2_52x8_sub_loose(&u, &x, &sum.x, 6);
    zk_fp2_52x8_carry(&u, &u);
    unsigned equal = zero_lanes(&u);
    zk_fp2_52x8_mul(&t, &t, &sum.z);
    zk_fp2_52x8_mul(&y, &y, &t);
    zk_fp2_52x8_add_loose(&u, &y, &sum.y); /* [|x|]P = -psi(P) */
    zk_fp2_52x8_carry(&u, &u);
    return equal & zero_lanes(&u) & ~*undecided;
}
