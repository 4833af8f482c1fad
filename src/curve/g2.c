#include <string.h>

#include "curve/curve.h"
#include "curve/wnaf.h"

#define FE zk_fp2
#define FE_(name) zk_fp2_##name
#define FE_BYTES 96
#define POINT zk_g2
#define AFFINE zk_g2_affine
#define GROUP(name) zk_g2_##name

const zk_g2_affine zk_g2_generator = {{{{0xf5f28fa202940a10, 0xb3f5fb2687b4961a, 0xa1a893b53e2ae580, 0x9894999d1a3caee9,
                                         0x6f67b7631863366b, 0x058191924350bcd7}},
                                       {{0xa5a9c0759e23f606, 0xaaa0c59dbccd60c3, 0x3bb17e18e2867806, 0x1b1ab6cc8541b367,
                                         0xc2b6ed0ef2158547, 0x11922a097360edf3}}},
                                      {{{0x4c730af860494c4a, 0x597cfa1f5e369c5a, 0xe7e6856caa0a635a, 0xbbefb5e96e0d495f,
                                         0x07d3a975f0ef25a2, 0x0083fd8e7e80dae5}},
                                       {{0xadc0fc92df64b05d, 0x18aa270a2b1461dc, 0x86adac6a3be4eba0, 0x79495c4ec93da33a,
                                         0xe7175850a43ccaed, 0x0b2bc2a163de1bf2}}}};

/* 4 + 4 u */
static const zk_fp2 curve_b = {{{0xaa270000000cfff3, 0x53cc0032fc34000a, 0x478fe97a6b0a807f, 0xb1d37ebee6ba24d7,
                                 0x8ec9733bbf78ab2f, 0x09d645513d83de7e}},
                               {{0xaa270000000cfff3, 0x53cc0032fc34000a, 0x478fe97a6b0a807f, 0xb1d37ebee6ba24d7,
                                 0x8ec9733bbf78ab2f, 0x09d645513d83de7e}}};

/* c1 comes first. */
static bool fe_load(zk_fp2 *r, const uint8_t *bytes) {
    return zk_fp_from_bytes_be(&r->c1, bytes) && zk_fp_from_bytes_be(&r->c0, bytes + 48);
}

static void fe_store(uint8_t *bytes, const zk_fp2 *a) {
    zk_fp_to_bytes_be(bytes, &a->c1);
    zk_fp_to_bytes_be(bytes + 48, &a->c0);
}

#include "curve/group.inc"

const zk_fp zk_g2_psi_x = {{0x890dc9e4867545c3, 0x2af322533285a5d5, 0x50880866309b7e2c, 0xa20d1b8c7e881024,
                            0x14e4f04fe2db9068, 0x14e56d3f1564853a}};
const zk_fp2 zk_g2_psi_y = {{{0x3e2f585da55c9ad1, 0x4294213d86c18183, 0x382844c88b623732, 0x92ad2afd19103e18,
                              0x1d794e4fac7cf0b9, 0x0bd592fc7d825ec8}},
                            {{0x7bcfa7a25aa30fda, 0xdc17dec12a927e7c, 0x2f088dd86b4ebef1, 0xd1ca2087da74d4a7,
                              0x2da2596696cebc1d, 0x0e2b7eedbbfd87d2}}};

/* conj(x0 + x1 u) c u = c x1 + c x0 u */
void zk_g2_affine_psi(zk_g2_affine *r, const zk_g2_affine *a) {
    zk_fp x0 = a->x.c0;
    zk_fp_mul(&r->x.c0, &a->x.c1, &zk_g2_psi_x);
    zk_fp_mul(&r->x.c1, &x0, &zk_g2_psi_x);
    zk_fp2_conjugate(&r->y, &a->y);
    zk_fp2_mul(&r->y, &r->y, &zk_g2_psi_y);
}

/* M. Scott, "A note on group membership tests for G1, G2 and GT on BLS pairing-friendly curves", 2021: psi acts on G2
 * as the curve parameter x, and psi(P) = [x]P for no other point of E2. */
bool zk_g2_affine_is_in_subgroup(const zk_g2_affine *a) {
    if (zk_g2_affine_is_infinity(a)) return true;
    zk_g2_affine image;
    zk_g2 multiple, expected;
    zk_g2_from_affine(&multiple, a);
    for (int i = 62; i >= 0; i--) {
        zk_g2_double(&multiple, &multiple);
        if (ZK_CURVE_ABS_X >> i & 1) zk_g2_add_affine(&multiple, &multiple, a);
    }
    zk_g2_neg(&multiple, &multiple);
    zk_g2_affine_psi(&image, a);
    zk_g2_from_affine(&expected, &image);
    return zk_g2_eq(&expected, &multiple);
}
