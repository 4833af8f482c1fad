/* The isomorphic curves that code in lanes works on with affine points: those of (u^2 x, u^3 y), u^2 = 2^-20, u^3 =
 * 2^-30. Their formulas of addition are the same, and the 64-bit words of x and y, in Montgomery form with R = 2^384,
 * need but be shifted by 12 and 2 bits to be u^2 x and u^3 y in the form with R = 2^416 (zk_fp52x8_split). Such
 * coordinates have magnitudes (field/fp52x8.h) of 2^12 and 2^2.
 */
#ifndef ZK_CURVE_ISOMORPHIC_H
#define ZK_CURVE_ISOMORPHIC_H

#include <stdint.h>

#define ZK_ISOMORPHIC_SHIFT_X 12
#define ZK_ISOMORPHIC_SHIFT_Y 2

/* 2^404 and 2^414 mod p: what zk_fp52x8_to_elements_by takes to give x and y. */
static const uint64_t zk_isomorphic_to_x[8] = {0xd003480ea7ee1, 0x3798a71288f15, 0xf9b49b2d851eb, 0xf5b85ac3d2c2d,
                                               0xe247b2f79f0ad, 0x5a88f0d3f7602, 0xf0c3ce8358db5, 0x0000000004cc5};
static const uint64_t zk_isomorphic_to_y[8] = {0xcd203aa3a2e6c, 0x58629a23f8dcb, 0x33208dac15cdf, 0x1cdb47705d494,
                                               0x42522721fe21d, 0xd4997671edca6, 0x8f166e8dd8641, 0x0000000018b30};

#endif
