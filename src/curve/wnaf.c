#include "curve/wnaf.h"

/* limbs = limbs + delta, |delta| small. */
static void add_small(uint64_t limbs[4], int delta) {
    uint64_t high = delta < 0 ? ~0ull : 0;
    unsigned char carry = zk_adc(0, limbs[0], (uint64_t)(int64_t)delta, &limbs[0]);
    for (int i = 1; i < 4; i++) carry = zk_adc(carry, limbs[i], high, &limbs[i]);
}

size_t zk_wnaf_recode(int8_t digits[ZK_WNAF_MAX_DIGITS], const zk_fr *k) {
    const int modulus = 1 << ZK_WNAF_WINDOW;
    uint64_t limbs[4];
    size_t n = 0;
    zk_fr_to_limbs(limbs, k);
    while (!zk_limbs_is_zero(limbs, 4)) {
        int digit = 0;
        if (limbs[0] & 1) {
            digit = (int)(limbs[0] & (uint64_t)(modulus - 1));
            if (digit >= modulus / 2) digit -= modulus;
            add_small(limbs, -digit);
        }
        digits[n++] = (int8_t)digit;
        for (int i = 0; i < 4; i++) limbs[i] = limbs[i] >> 1 | (i < 3 ? limbs[i + 1] << 63 : 0);
    }
    return n;
}
