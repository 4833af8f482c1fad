/* One element of Fr in limbs of 52 bits: constants of the code in lanes (field/fr52x8.h). For any CPU. */
#ifndef ZK_FIELD_FR52_H
#define ZK_FIELD_FR52_H

#include "field/fr.h"

#define ZK_FR52_LIMBS 5
/* (m + 1) / 2^52 for the multiple m of r that is -1 mod 2^52, then r: f of each limb. */
#define ZK_FR52_REDUCTION(f)                                                                                           \
    f(0xfdfff1a402001), f(0x2d083dd6c33ff), f(0x44cd43798bcce), f(0x436f80f0223a9), f(0x073eda0144f28),                \
        f(0xfffff00000001), f(0x02fffe5bfefff), f(0x9a1d80553bda4), f(0x7d483339d8080), f(0x073eda753299d)
/* As numbers, in all lanes of a ymm. */
extern const double zk_fr52_reduction_doubles[10][4];

/* k r in radix 2^52, k = 0..15: [limb][k] */
extern const uint64_t zk_fr52_multiples[ZK_FR52_LIMBS][16];

/* One element, tight limbs, reduced: a constant for all lanes. */
typedef struct zk_fr52 {
    uint64_t l[ZK_FR52_LIMBS];
} zk_fr52;

/* Montgomery form with R = 2^256 -> with R = 2^260. */
static inline void zk_fr_to_fr52(zk_fr52 *r, const zk_fr *a) {
    zk_fr t = *a;
    for (int i = 0; i < 4; i++) zk_fr_double(&t, &t);
    for (int i = 0; i < 5; i++) {
        int bit = 52 * i, word = bit / 64, shift = bit % 64;
        uint64_t x = t.l[word] >> shift;
        if (shift > 12 && word < 3) x |= t.l[word + 1] << (64 - shift);
        r->l[i] = x & ZK_MASK_52;
    }
}

#endif
