/* The constants of digits in Z[z] (hexagon.cuh). Host code. */
#include "hexagon.cuh"

#include <cmath>

namespace zk {

namespace {

/* Numbers below 2^63 in size, 352 bits after the point, two's complement. */
struct fixed {
    static constexpr int LIMBS = 13, FRACTION = 11;
    u32 l[LIMBS];

    static fixed of(u32 whole) {
        fixed r = {};
        r.l[FRACTION] = whole;
        return r;
    }
    bool negative() const { return l[LIMBS - 1] >> 31; }
    fixed plus(const fixed &b) const {
        fixed r;
        u64 sum = 0;
        for (int i = 0; i < LIMBS; i++) {
            sum = (sum >> 32) + l[i] + b.l[i];
            r.l[i] = (u32)sum;
        }
        return r;
    }
    fixed minus() const {
        fixed r;
        u64 sum = (u64)1 << 32;
        for (int i = 0; i < LIMBS; i++) {
            sum = (sum >> 32) + (u32)~l[i];
            r.l[i] = (u32)sum;
        }
        return r;
    }
    fixed size() const { return negative() ? minus() : *this; }
    fixed times(u32 k) const {
        fixed r;
        u64 sum = 0;
        for (int i = 0; i < LIMBS; i++) {
            sum = (sum >> 32) + (u64)l[i] * k;
            r.l[i] = (u32)sum;
        }
        return r;
    }
    fixed over(u32 k) const {
        fixed r = size();
        u64 rest = 0;
        for (int i = LIMBS; i-- > 0;) {
            rest = rest << 32 | r.l[i];
            r.l[i] = (u32)(rest / k);
            rest %= k;
        }
        return negative() ? r.minus() : r;
    }
};

double norm_of(u32 side) { return 3.0 * side * side + 3.0 * side + 1; }

/* The least side that is enough for so many digits: the top one, with a carry, lies in the hexagon, which holds the
 * circle of radius L sqrt(3)/2. */
u32 side_of(u32 digits) {
    constexpr double LARGEST = 0.38860 * 340282366920938463463374607431768211456.0; /* sqrt(r/3), 2^128 */
    constexpr double ROUNDING = 1.6;                                                /* 1/sqrt(3), and the carry */
    for (u32 side = 2;; side += 2)
        if (LARGEST / std::pow(norm_of(side), (digits - 1) / 2.0) + ROUNDING < 0.8660254 * side) return side;
}

u32 bits_below(u32 n) { /* of the numbers 0 to n - 1 */
    u32 k = 1;
    while ((n - 1) >> k) k++;
    return k;
}

} // namespace

hexagons hexagons_of(u32 digits) {
    hexagons h;
    h.digits = digits;
    const u32 L = h.side = side_of(digits), norm = 3 * L * L + 3 * L + 1;
    h.row_bits = bits_below(h.rows());
    h.column_bits = bits_below(h.columns());
    h.low_rows = 0;

    fixed c0 = fixed::of(1), c1 = fixed::of(0);
    for (u32 k = 1; k < digits; k++) { /* times the conjugate of B, (2L + 1) - L z, over the norm */
        const fixed first = c0.times(2 * L + 1).plus(c1.times(L)), second = c1.times(L + 1).plus(c0.times(L).minus());
        c0 = first.over(norm);
        c1 = second.over(norm);
    }
    const fixed factors[2][2] = {{c0, c1.minus()}, {c1, c0.plus(c1)}};
    for (u32 c = 0; c < 2; c++) {
        fixed offset = fixed::of(0);
        for (u32 k = 0; k < 2; k++) {
            const fixed size = factors[c][k].size();
            const bool negative = factors[c][k].negative();
            h.flip[c][k] = negative ? 0xffffffffu : 0;
            for (int i = 0; i < HEXAGON_FACTOR; i++) h.factor[c][k][i] = size.l[fixed::FRACTION - 8 + i];
            /* For a number x the product takes x + 2^127, or 2^128 - 1 less that. */
            fixed shifted = size;
            for (u32 bits = 127; bits; bits -= bits < 31 ? bits : 31)
                shifted = shifted.times(1u << (bits < 31 ? bits : 31));
            offset = offset.plus(shifted.minus());
            if (negative) offset = offset.plus(size);
        }
        for (int i = 0; i <= HEXAGON_LIMBS; i++) h.offset[c][i] = offset.l[fixed::FRACTION - HEXAGON_LIMBS + i];
    }

    /* What rounds a fraction off is multiplied by B for each digit from there on; 12 bits keep it small. */
    constexpr double GUARD = 12;
    for (u32 &until : h.until) until = 0;
    for (u32 k = 2; k <= (u32)HEXAGON_LIMBS; k++)
        while ((h.until[k] + 1) * std::log2(norm_of(L)) / 2 + GUARD <= 32 * (k - 1)) h.until[k]++;
    return h;
}

} // namespace zk
