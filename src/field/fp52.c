#include "field/fp52.h"

#define REDUCTION(f)                                                                                                   \
    /* (p (-1/p mod 2^52) + 1) / 2^52 */                                                                               \
    f(0x04be07d2027cb), f(0xd7786e39002d4), f(0xf51047083c4dd), f(0x96079a7670223), f(0x04ca513044b79),                \
        f(0x6615d3780ea11), f(0xf9a5623d6a279), f(0x0000000006803), /* p */                                            \
        f(0xeffffffffaaab), f(0xfeb153ffffb9f), f(0x6b0f6241eabff), f(0x12bf6730d2a0f), f(0x764774b84f385),            \
        f(0x1ba7b6434bacd), f(0x1ea397fe69a4b), f(0x000000001a011), /* -1/p mod 2^52 */                                \
        f(0x3fffcfffcfffd)
#define AS_IT_IS(x) x
#define FOUR_DOUBLES(x)                                                                                                \
    { (double)(x), (double)(x), (double)(x), (double)(x) }

const uint64_t zk_fp52_reduction[17] = {REDUCTION(AS_IT_IS)};
_Alignas(32) const double zk_fp52_reduction_doubles[17][4] = {REDUCTION(FOUR_DOUBLES)};

const uint64_t zk_fp52_multiples[8][8] = {
    {0x0000000000000, 0xeffffffffaaab, 0xdffffffff5556, 0xcffffffff0001, 0xbfffffffeaaac, 0xafffffffe5557,
     0x9fffffffe0002, 0x8fffffffdaaad},
    {0x0000000000000, 0xfeb153ffffb9f, 0xfd62a7ffff73f, 0xfc13fbffff2df, 0xfac54ffffee7f, 0xf976a3fffea1f,
     0xf827f7fffe5bf, 0xf6d94bfffe15f},
    {0x0000000000000, 0x6b0f6241eabff, 0xd61ec483d57ff, 0x412e26c5c03ff, 0xac3d8907aafff, 0x174ceb4995bff,
     0x825c4d8b807ff, 0xed6bafcd6b3ff},
    {0x0000000000000, 0x12bf6730d2a0f, 0x257ece61a541e, 0x383e359277e2e, 0x4afd9cc34a83d, 0x5dbd03f41d24d,
     0x707c6b24efc5c, 0x833bd255c266b},
    {0x0000000000000, 0x764774b84f385, 0xec8ee9709e70a, 0x62d65e28eda8f, 0xd91dd2e13ce14, 0x4f6547998c199,
     0xc5acbc51db51e, 0x3bf4310a2a8a3},
    {0x0000000000000, 0x1ba7b6434bacd, 0x374f6c869759a, 0x52f722c9e3068, 0x6e9ed90d2eb35, 0x8a468f507a603,
     0xa5ee4593c60d0, 0xc195fbd711b9e},
    {0x0000000000000, 0x1ea397fe69a4b, 0x3d472ffcd3496, 0x5beac7fb3cee1, 0x7a8e5ff9a692c, 0x9931f7f810377,
     0xb7d58ff679dc2, 0xd67927f4e380d},
    {0x0000000000000, 0x000000001a011, 0x0000000034022, 0x000000004e033, 0x0000000068044, 0x0000000082055,
     0x000000009c066, 0x00000000b6077},
};

#define SHIFTED(k)                                                                                                     \
    {                                                                                                                  \
        0xeffffffffaaabu << k, 0xfeb153ffffb9fu << k, 0x6b0f6241eabffu << k, 0x12bf6730d2a0fu << k,                    \
            0x764774b84f385u << k, 0x1ba7b6434bacdu << k, 0x1ea397fe69a4bu << k, 0x000000001a011u << k                 \
    }
const uint64_t zk_fp52_shifted[8][8] = {SHIFTED(0), SHIFTED(1), SHIFTED(2), SHIFTED(3),
                                        SHIFTED(4), SHIFTED(5), SHIFTED(6), SHIFTED(7)};
