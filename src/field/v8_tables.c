#include "field/v8_tables.h"

/* The number of bit k of m at the place that its rank among the bits of m gives it. */
#define BIT(m, k) ((m) >> (k)&1 ? (uint64_t)(k) << 8 * __builtin_popcount((m) & ((1u << (k)) - 1)) : 0)
#define BITS(m) (BIT(m, 1) | BIT(m, 2) | BIT(m, 3) | BIT(m, 4) | BIT(m, 5) | BIT(m, 6) | BIT(m, 7))
#define BITS4(m) BITS(m), BITS((m) + 1), BITS((m) + 2), BITS((m) + 3)
#define BITS16(m) BITS4(m), BITS4((m) + 4), BITS4((m) + 8), BITS4((m) + 12)
#define BITS64(m) BITS16(m), BITS16((m) + 16), BITS16((m) + 32), BITS16((m) + 48)
const uint64_t zk_v8_bits_of[256] = {BITS64(0u), BITS64(64u), BITS64(128u), BITS64(192u)};
