#include "field/fr52.h"

const uint64_t zk_fr52_multiples[5][16] = {
    {0x0000000000000, 0xfffff00000001, 0xffffe00000002, 0xffffd00000003, 0xffffc00000004, 0xffffb00000005,
     0xffffa00000006, 0xffff900000007, 0xffff800000008, 0xffff700000009, 0xffff60000000a, 0xffff50000000b,
     0xffff40000000c, 0xffff30000000d, 0xffff20000000e, 0xffff10000000f},
    {0x0000000000000, 0x02fffe5bfefff, 0x05fffcb7fdfff, 0x08fffb13fcfff, 0x0bfff96ffbfff, 0x0efff7cbfafff,
     0x11fff627f9fff, 0x14fff483f8fff, 0x17fff2dff7fff, 0x1afff13bf6fff, 0x1dffef97f5fff, 0x20ffedf3f4fff,
     0x23ffec4ff3fff, 0x26ffeaabf2fff, 0x29ffe907f1fff, 0x2cffe763f0fff},
    {0x0000000000000, 0x9a1d80553bda4, 0x343b00aa77b48, 0xce5880ffb38ec, 0x68760154ef690, 0x029381aa2b434,
     0x9cb101ff671d8, 0x36ce8254a2f7c, 0xd0ec02a9ded20, 0x6b0982ff1aac4, 0x0527035456868, 0x9f4483a99260c,
     0x396203fece3b0, 0xd37f84540a154, 0x6d9d04a945ef8, 0x07ba84fe81c9c},
    {0x0000000000000, 0x7d483339d8080, 0xfa906673b0101, 0x77d899ad88181, 0xf520cce760202, 0x7269002138283,
     0xefb1335b10303, 0x6cf96694e8384, 0xea4199cec0404, 0x6789cd0898485, 0xe4d2004270506, 0x621a337c48586,
     0xdf6266b620607, 0x5caa99eff8687, 0xd9f2cd29d0708, 0x573b0063a8789},
    {0x0000000000000, 0x073eda753299d, 0x0e7db4ea6533a, 0x15bc8f5f97cd8, 0x1cfb69d4ca675, 0x243a4449fd013,
     0x2b791ebf2f9b0, 0x32b7f9346234e, 0x39f6d3a994ceb, 0x4135ae1ec7689, 0x48748893fa026, 0x4fb363092c9c4,
     0x56f23d7e5f361, 0x5e3117f391cff, 0x656ff268c469c, 0x6caeccddf703a},
};

#define FOUR_DOUBLES(x)                                                                                                \
    { (double)(x), (double)(x), (double)(x), (double)(x) }
_Alignas(32) const double zk_fr52_reduction_doubles[10][4] = {ZK_FR52_REDUCTION(FOUR_DOUBLES)};
