/* Digits of scalars in the Eisenstein integers, for MSMs with few buckets.
 *
 * z = (1 + sqrt(-3))/2, a sixth root of unity, z^2 = z - 1, acts on both groups as (x, y) -> (beta x, -y), which
 * multiplies points of order r by the square x^2 of the curve's parameter (src/msm/glv.h). A scalar is k = m + q x^2 =
 * alpha mod r with alpha = m + q z, up to multiples of rho = x^2 - z, whose norm is r: alpha is taken nearest to zero,
 * |alpha|^2 <= r/3 but for rounding.
 *
 * Digits. For even L let B = (L + 1) + L z, of norm N = 3 L^2 + 3 L + 1. They are taken from the top: alpha/B^(T-1) is
 * rounded to the nearest number of Z[z], and so is B times what that leaves, T - 1 times. The first is a fixed-point
 * product with a constant; each further one takes four small products a limb, of ever fewer limbs. What rounding leaves
 * lies in a hexagon around 0, so that the digits d = a + b z have max(|a|, |b|, |a + b|) <= L + 1.
 *
 * A digit is a unit times p + s z, p >= 1, s >= 0. Where p > L/2, which is half of them, it is folded: B - (p + s z) =
 * (L + 1 - p) + (L - s) z is taken for it, with the other sign and a carry of the unit to the digit above. A carry is
 * added after that digit's own folding and can push it over the edges by one. So all digits are units times a rectangle
 * row + column z, row <= L/2 + 1, column <= L + 1. The top digit is folded with its carry in it; its own carry is what
 * the sum of its folded half, subtracted B times, stands for.
 *
 * A bucket is a place in the rectangle and a class of units: (-1)^e times class 0: 1, class 1: -z, class 2: z^2; class
 * c turns x into beta^c x and leaves y. N/2 buckets instead of N with signs alone, and sums over N/6 once the classes
 * are joined.
 */
#ifndef ZK_CUDA_HEXAGON_CUH
#define ZK_CUDA_HEXAGON_CUH

#include "glv.cuh"

namespace zk {

constexpr u32 HEXAGON_NONE = 0xffffffffu, HEXAGON_NEGATIVE = 0x80000000u; /* of a code: digit 0; minus */
constexpr int HEXAGON_LIMBS = 4;                                          /* of a coordinate, of a fraction */
constexpr int HEXAGON_FACTOR = HEXAGON_LIMBS + 1;                         /* of a part of 1/B^(T-1), times 2^256 */

/* A code is the bucket, bits from the top: row >> low_rows, class (2 bits), low_rows bits of row, column. */
struct hexagons {
    u32 digits = 0; /* T; 0: not hexagons */
    u32 side;       /* L */
    u32 row_bits, column_bits, low_rows;
    u32 until[HEXAGON_LIMBS + 1]; /* digits from until[k] on are made from fractions of k limbs or more */
    /* 1/B^(T-1) = c0 + c1 z as the factors c0, -c1 (of m and q, for the first coordinate) and c1, c0 + c1: their sizes
     * times 2^256; what a coordinate is XORed with, all ones for a negative factor; and what makes good for that. */
    u32 factor[2][2][HEXAGON_FACTOR], flip[2][2], offset[2][HEXAGON_LIMBS + 1];
    ZK_HD u32 rows() const { return side / 2 + 2; }
    ZK_HD u32 columns() const { return side + 2; }
    ZK_HD u32 key_bits() const { return row_bits + column_bits + 2; }
    ZK_HD u32 key(u32 row, u32 column, u32 kind) const {
        return (((row >> low_rows) << 2 | kind) << low_rows | (row & ((1u << low_rows) - 1))) << column_bits | column;
    }
    /* of the top digit's buckets */
    ZK_HD bool folded(u32 row, u32 column) const { return row + column > side; }
};
/* The hexagons of so many digits. */
constexpr u32 MIN_HEXAGONS = 10, MAX_HEXAGONS = 20; /* fractions of 128 bits are not enough for 24 */
hexagons hexagons_of(u32 digits);

/* m + q z, two's complement */
struct eisenstein {
    u32 m[HEXAGON_LIMBS], q[HEXAGON_LIMBS];
};

/* v + small */
ZK_HD void hexagon_add(u32 *v, int small) {
    u64 carry = (u64)v[0] + (u32)small;
    const u32 sign = small < 0 ? 0xffffffffu : 0;
    v[0] = (u32)carry;
#pragma unroll
    for (int i = 1; i < HEXAGON_LIMBS; i++) {
        carry = (carry >> 32) + v[i] + sign;
        v[i] = (u32)carry;
    }
}

/* Which corner of its cell a number is nearest to; u, v: its coordinates in the cell, times 2^32. */
ZK_HD void hexagon_corner(int *x, int *y, u32 u, u32 v) {
    constexpr u32 one = 1u << 30;
    const u32 a = u >> 2, b = v >> 2, t1 = 2 * a + b, t2 = a + 2 * b;
    const bool none = t1 < one && t2 < one, both = t1 >= 2 * one && t2 >= 2 * one;
    *x = !none && (both || b <= a);
    *y = !none && (both || b > a);
}

/* The number of a scalar that is nearest to zero. Of m and q, both in [0, x^2], the top 32 bits say which corner of the
 * lattice's cell that is. */
__host__ __device__ inline eisenstein hexagon_number(const fr &k) {
    u32 m[5], q[4];
    glv_split(m, q, k);
    constexpr u32 x2[4] = {0, 1, 0x0001a402u, 0xac45a401u};
    const u64 size = x2[3], t1 = 2 * (u64)m[3] + q[3], t2 = m[3] + 2 * (u64)q[3];
    const bool none = t1 < size && t2 < size, both = t1 >= 2 * size && t2 >= 2 * size;
    const u32 first = !none && (both || q[3] <= m[3]) ? 0xffffffffu : 0, second = !none && !(first && !both) ? ~0u : 0;
    eisenstein a;
    u64 borrow_m = 0, borrow_q = 0;
#pragma unroll
    for (int i = 0; i < HEXAGON_LIMBS; i++) {
        const u64 m_less = (u64)m[i] - (first & x2[i]) - borrow_m, q_less = (u64)q[i] - (second & x2[i]) - borrow_q;
        a.m[i] = (u32)m_less;
        a.q[i] = (u32)q_less;
        borrow_m = (m_less >> 32) & 1;
        borrow_q = (q_less >> 32) & 1;
    }
    /* rho = x^2 - z, rho z = 1 + (x^2 - 1) z */
    hexagon_add(a.m, second ? -1 : 0);
    hexagon_add(a.q, (first ? 1 : 0) + (second ? 1 : 0));
    return a;
}

/* What is left below the digits taken so far: (u - x) + (v - y) z, u and v fractions, x and y a corner. */
struct hexagon_rest {
    u32 u[HEXAGON_LIMBS], v[HEXAGON_LIMBS];
    int x, y;
};

/* product: limbs 3 to 8 of number times factor, less what the limbs 0 to 2 carry. */
ZK_HD void hexagon_product(u32 product[6], const u32 *number, u32 flip, const u32 *factor) {
#pragma unroll
    for (int k = 0; k < 6; k++) product[k] = 0;
#pragma unroll
    for (int i = 0; i < HEXAGON_LIMBS; i++) {
        const u32 limb = number[i] ^ flip;
        u64 carry = 0;
#pragma unroll
        for (int j = 3 - i; j < HEXAGON_FACTOR; j++) {
            carry += (u64)limb * factor[j] + product[i + j - 3];
            product[i + j - 3] = (u32)carry;
            carry >>= 32;
        }
        product[i + 2] = (u32)carry;
    }
}
/* The top digit of a, before its folding, and the rest. */
ZK_HD void hexagon_top(hexagon_rest *rest, int *first, int *second, eisenstein a, const hexagons &h) {
    a.m[HEXAGON_LIMBS - 1] ^= 0x80000000u; /* + 2^127 */
    a.q[HEXAGON_LIMBS - 1] ^= 0x80000000u;
    int whole[2];
#pragma unroll
    for (int c = 0; c < 2; c++) {
        u32 of_m[6], of_q[6];
        hexagon_product(of_m, a.m, h.flip[c][0], h.factor[c][0]);
        hexagon_product(of_q, a.q, h.flip[c][1], h.factor[c][1]);
        u64 sum = (u64)of_m[0] + of_q[0];
#pragma unroll
        for (int i = 0; i < HEXAGON_LIMBS; i++) {
            sum = (sum >> 32) + of_m[i + 1] + of_q[i + 1] + h.offset[c][i];
            (c ? rest->v : rest->u)[i] = (u32)sum;
        }
        whole[c] = (int)((u32)(sum >> 32) + of_m[5] + of_q[5] + h.offset[c][HEXAGON_LIMBS]);
    }
    hexagon_corner(&rest->x, &rest->y, rest->u[HEXAGON_LIMBS - 1], rest->v[HEXAGON_LIMBS - 1]);
    *first = whole[0] + rest->x;
    *second = whole[1] + rest->y;
}
/* The next digit, by the top K limbs of the rest's fractions. */
template <int K> ZK_HD void hexagon_next(hexagon_rest *rest, int *first, int *second, u32 L) {
    /* B (u + v z) = (u (L + 1) - v L) + (u L + v (2 L + 1)) z, - v by its complement */
    u64 sum_u = (u64)L << 32, sum_v = 0;
#pragma unroll
    for (int i = HEXAGON_LIMBS - K; i < HEXAGON_LIMBS; i++) {
        const u32 u = rest->u[i], v = rest->v[i];
        sum_u = (sum_u >> 32) + (u64)u * (L + 1) + (u64)(~v) * L;
        sum_v = (sum_v >> 32) + (u64)u * L + (u64)v * (2 * L + 1);
        rest->u[i] = (u32)sum_u;
        rest->v[i] = (u32)sum_v;
    }
    const int l = (int)L, x = rest->x, y = rest->y;
    hexagon_corner(&rest->x, &rest->y, rest->u[HEXAGON_LIMBS - 1], rest->v[HEXAGON_LIMBS - 1]);
    *first = (int)(sum_u >> 32) - l - (x * (l + 1) - y * l) + rest->x;
    *second = (int)(sum_v >> 32) - (x * l + y * (2 * l + 1)) + rest->y;
}

/* z^unit (p + s z), 0 <= unit < 6; 0 is p = s = 0. */
struct hexagon_place {
    int unit, p, s;
};
ZK_HD int hexagon_units(int a, int b) { return a + b < 6 ? a + b : a + b - 6; } /* the product of two */
/* The coordinates of z^unit: 1, z, z - 1, and these with the other sign. */
ZK_HD int hexagon_unit_first(int unit) { return (int)(0x401u >> 2 * unit & 3) - (int)(0x50u >> 2 * unit & 3); }
ZK_HD int hexagon_unit_second(int unit) { return hexagon_unit_first(unit < 2 ? unit + 4 : unit - 2); }

ZK_HD hexagon_place hexagon_place_of(int first, int second) {
    const bool negative = second < 0 || (second == 0 && first < 0);
    const int a = negative ? -first : first, c = negative ? -second : second, both = a + c;
    const int power = a >= 1 ? 0 : both >= 1 ? 1 : 2;
    return hexagon_place{power + (negative ? 3 : 0),
                         power == 0   ? a
                         : power == 1 ? both
                                      : c,
                         power == 0   ? c
                         : power == 1 ? -a
                                      : -both};
}
/* Folds a place; what it carries is z^carry, 0 <= carry < 6, or nothing: negative. */
ZK_HD int hexagon_fold(hexagon_place *d, u32 side) {
    const int L = (int)side;
    if (d->p <= L / 2) return -1;
    int carry = d->unit;
    d->p = L + 1 - d->p;
    d->s = L - d->s;
    d->unit = hexagon_units(carry, 3);
    if (d->p == 0) { /* L + 1 = (1 - z) B + z (1 + L z): L z would have to be folded again */
        d->p = 1;
        d->unit = hexagon_units(carry, 1);
        carry = hexagon_units(carry, 5);
    }
    return carry;
}
ZK_HD u32 hexagon_code(const hexagon_place &d, const hexagons &h) {
    if (d.p == 0 && d.s == 0) return HEXAGON_NONE;
    const int kind = d.unit < 3 ? d.unit : d.unit - 3;
    return h.key((u32)d.p, (u32)d.s, (u32)kind) | (d.unit & 1 ? HEXAGON_NEGATIVE : 0);
}
/* Code of a digit that has been folded and gets a carry. */
ZK_HD u32 hexagon_carried(hexagon_place d, int carry, const hexagons &h) {
    if (carry >= 0) {
        if (d.p == 0) {
            d = hexagon_place{carry, 1, 0};
        } else {
            const int turned = hexagon_units(carry, 6 - d.unit);
            d.p += hexagon_unit_first(turned);
            d.s += hexagon_unit_second(turned);
            if (d.s < 0) d = hexagon_place{hexagon_units(d.unit, 5), 1, d.p - 1}; /* p - z = (1 - z) (1 + (p - 1) z) */
        }
    }
    return hexagon_code(d, h);
}

/* A digit that waits for the carry of the one below it. */
struct hexagon_digit {
    u32 number;
    hexagon_place place; /* folded, if it is not the top one */
    int first, second;   /* of the top one */
};
template <class Use> ZK_HD void hexagon_finish(const hexagon_digit &d, int carry, const hexagons &h, const Use &use) {
    if (d.number + 1 < h.digits) {
        use(d.number, hexagon_carried(d.place, carry, h));
        return;
    }
    hexagon_place top =
        carry < 0 ? hexagon_place_of(d.first, d.second)
                  : hexagon_place_of(d.first + hexagon_unit_first(carry), d.second + hexagon_unit_second(carry));
    (void)hexagon_fold(&top, h.side);
    use(d.number, hexagon_code(top, h));
}
template <int K, class Use>
ZK_HD void hexagon_digits_of(hexagon_rest *rest, hexagon_digit *d, const hexagons &h, const Use &use) {
#pragma unroll 1
    while (d->number > h.until[K]) {
        int first, second;
        hexagon_next<K>(rest, &first, &second, h.side);
        hexagon_place place = hexagon_place_of(first, second);
        const int carry = hexagon_fold(&place, h.side);
        hexagon_finish(*d, carry, h, use);
        d->number--;
        d->place = place;
    }
}
/* Calls use(i, code) for the digits of a scalar, from the top one, T - 1, to 0. */
template <class Use> ZK_HD void hexagon_digits(const fr &k, const hexagons &h, const Use &use) {
    hexagon_rest rest = {};
    hexagon_digit d;
    d.number = h.digits - 1;
    hexagon_top(&rest, &d.first, &d.second, hexagon_number(k), h);
    d.place = hexagon_place{0, 0, 0};
    hexagon_digits_of<4>(&rest, &d, h, use);
    hexagon_digits_of<3>(&rest, &d, h, use);
    hexagon_digits_of<2>(&rest, &d, h, use);
    hexagon_digits_of<1>(&rest, &d, h, use);
    hexagon_finish(d, -1, h, use);
}

/* What z makes of x, canonical both. */
ZK_HD fp turn_x(const fp &x) { return canonical(mul_lazy(x, glv_beta())); }
/* On the twist by the square of the other, psi twice (src/curve/g2.c). */
ZK_HD fp2 turn_x(const fp2 &x) {
    const fp beta = fp{{0x8671f071u, 0xcd03c9e4u, 0x1fcda5d2u, 0x5dab2246u, 0xd3851b95u, 0x587042afu, 0x01bacb9eu,
                        0x8eb60ebeu, 0x83d050d2u, 0x03f97d6eu, 0x54638741u, 0x18f02065u}};
    return fp2{canonical(mul_lazy(x.c0, beta)), canonical(mul_lazy(x.c1, beta))};
}

} // namespace zk
#endif
