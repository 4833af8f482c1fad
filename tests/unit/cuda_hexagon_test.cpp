/* Digits in the integers of the endomorphism against the scalars' field: with z = x^2, what the buckets weigh, sum of
 * digit i times B^i, is the scalar. In the rectangle that sorting and sums are made for. */
extern "C" {
#include "field/fr.h"
}
#include "../cuda/hexagon.cuh"
#include "zk_test.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

uint64_t rng = 117;

zk_fr number(int64_t k) {
    zk_fr r;
    zk_fr_from_u64(&r, (uint64_t)(k < 0 ? -k : k));
    if (k < 0) zk_fr_neg(&r, &r);
    return r;
}
zk_fr times(const zk_fr &a, const zk_fr &b) {
    zk_fr r;
    zk_fr_mul(&r, &a, &b);
    return r;
}
zk_fr plus(const zk_fr &a, const zk_fr &b) {
    zk_fr r;
    zk_fr_add(&r, &a, &b);
    return r;
}
zk_fr minus(const zk_fr &a) {
    zk_fr r;
    zk_fr_neg(&r, &a);
    return r;
}
/* The square of the curve's parameter 0xd201000000010000, which z multiplies by. */
zk_fr eigenvalue() {
    zk_fr x;
    zk_fr_from_u64(&x, 0xd201000000010000u);
    return times(x, x);
}
/* m + q z */
zk_fr eisenstein_number(const zk_fr &m, const zk_fr &q) { return plus(m, times(q, eigenvalue())); }
zk_fr eisenstein_number(int64_t m, int64_t q) { return eisenstein_number(number(m), number(q)); }

void check(const zk_fr &k, const zk::hexagons &h, const char *what) {
    const int64_t L = h.side;
    const zk_fr base = eisenstein_number(L + 1, L),
                unit[3] = {number(1), eisenstein_number(0, -1), eisenstein_number(-1, 1)};
    zk::fr scalar;
    static_assert(sizeof scalar == sizeof k, "the same element of the field");
    memcpy(&scalar, &k, sizeof k);
    zk_fr sum = number(0);
    uint32_t seen = 0;
    zk::hexagon_digits(scalar, h, [&](uint32_t digit, uint32_t code) {
        ZK_CHECKF(digit + seen + 1 == h.digits, "%s: digit %u of %u comes as number %u", what, digit, h.digits, seen);
        seen++;
        sum = times(sum, base);
        if (code == zk::HEXAGON_NONE) return;
        const uint32_t key = code & ~zk::HEXAGON_NEGATIVE, upper = key >> h.column_bits;
        const uint32_t column = key & ((1u << h.column_bits) - 1), low = upper & ((1u << h.low_rows) - 1);
        const uint32_t kind = upper >> h.low_rows & 3, row = upper >> h.low_rows >> 2 << h.low_rows | low;
        ZK_CHECKF(row < h.rows() && column < h.columns() && kind < 3 && key >> h.key_bits() == 0,
                  "%s: digit %u of %u: row %u of %u, column %u of %u, class %u", what, digit, h.digits, row, h.rows(),
                  column, h.columns(), kind);
        ZK_CHECK(key == h.key(row, column, kind));
        zk_fr value = eisenstein_number(row, column);
        if (digit + 1 == h.digits && h.folded(row, column)) value = plus(value, minus(base));
        value = times(value, unit[kind]);
        sum = plus(sum, code & zk::HEXAGON_NEGATIVE ? minus(value) : value);
    });
    ZK_CHECKF(seen == h.digits, "%s: %u digits of %u", what, seen, h.digits);
    ZK_CHECKF(memcmp(&sum, &k, sizeof k) == 0, "%s: %u digits are another scalar", what, h.digits);
}
/* k and what the units make of it, and their neighbours */
void check_around(const zk_fr &k, const zk::hexagons &h, const char *what) {
    static const int near[][2] = {{0, 0}, {1, 0}, {0, 1}, {-1, 1}, {-1, 0}, {0, -1}, {1, -1}};
    zk_fr turned = k;
    for (int unit = 0; unit < 6; unit++) {
        for (const auto &by : near) check(plus(turned, eisenstein_number(by[0], by[1])), h, what);
        turned = times(turned, eigenvalue());
    }
}

zk::hexagons hexagons_with_low_rows(unsigned digits) {
    zk::hexagons h = zk::hexagons_of(digits);
    h.low_rows = digits % (h.row_bits + 1);
    return h;
}
template <class Check> void for_all(const Check &each) {
    for (unsigned digits = zk::MIN_HEXAGONS; digits <= zk::MAX_HEXAGONS; digits++) each(hexagons_with_low_rows(digits));
}

zk_fr random_fr() {
    uint8_t bytes[32];
    for (int i = 0; i < 4; i++) {
        const uint64_t v = zk_test_rand(&rng);
        memcpy(bytes + 8 * i, &v, 8);
    }
    zk_fr r;
    zk_fr_from_bytes_reduce(&r, bytes);
    return r;
}

void test_units() {
    for_all([](const zk::hexagons &h) {
        check_around(number(0), h, "0"); /* with 1, r - 1, x^2, its square and what is between them */
        for (int k = 1; k < 254; k++) {
            zk_fr power = number(2);
            zk_fr_pow_u64(&power, &power, (uint64_t)k);
            check(power, h, "a power of two");
            check(plus(power, number(-1)), h, "a power of two, less one");
            check(minus(power), h, "a power of two, negative");
        }
    });
}

/* Where the number nearest to zero changes: corners and edges of the cells of rho's multiples. */
void test_cells() {
    const zk_fr third = [] {
        zk_fr r = number(3);
        ZK_CHECK(zk_fr_inv_var(&r, &r));
        return r;
    }();
    /* floor(x^2/3) = (x^2 - 1)/3 and floor(x^2/2) */
    const zk_fr x2 = eigenvalue(), part3 = times(plus(x2, number(-1)), third);
    zk_fr half = number(2);
    ZK_CHECK(zk_fr_inv_var(&half, &half));
    const zk_fr part2 = times(x2, half);
    for_all([&](const zk::hexagons &h) {
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 4; j++) {
                check_around(eisenstein_number(times(part3, number(i)), times(part3, number(j))), h, "a corner");
                if (i < 3 && j < 3)
                    check_around(eisenstein_number(times(part2, number(i)), times(part2, number(j))), h, "an edge");
            }
        }
        for (int i = 0; i < 40; i++) { /* along the edges: 2m + q = x^2, m + 2q = x^2, and their neighbours */
            const zk_fr m = eisenstein_number((int64_t)(zk_test_rand(&rng) >> 1), 0);
            const zk_fr q = plus(x2, times(m, number(-2)));
            for (int64_t by = -1; by <= 1; by++) {
                check(eisenstein_number(m, plus(q, number(by))), h, "an edge");
                check(eisenstein_number(plus(q, number(by)), m), h, "an edge");
            }
        }
    });
}

/* Digits at the edges of the hexagon and where they are folded, and the halves between two. */
void test_edges() {
    for_all([](const zk::hexagons &h) {
        const int64_t L = h.side, of[] = {0, 1, L / 2 - 1, L / 2, L / 2 + 1, L - 1, L, L + 1};
        const zk_fr base = eisenstein_number(L + 1, L);
        zk_fr turn[6];
        turn[0] = number(1);
        for (int unit = 1; unit < 6; unit++) turn[unit] = times(turn[unit - 1], eigenvalue());
        for (int i = 0; i < 600; i++) {
            zk_fr k = number(0);
            for (unsigned digit = h.digits - 1; digit-- > 0;) { /* of the digits below the top one */
                const int64_t p = of[zk_test_rand(&rng) % 8], most = L + 1 - p, s = of[zk_test_rand(&rng) % 8];
                k = times(k, base);
                k = plus(k, times(eisenstein_number(p, s < most ? s : most), turn[zk_test_rand(&rng) % 6]));
            }
            check(k, h, "digits at edges");
        }
        /* B^i z^unit (p + s z) for all of these */
        zk_fr power = number(1);
        for (unsigned digit = 0; digit + 1 < h.digits; digit++) {
            for (int64_t p : of)
                for (int64_t s : of)
                    if (p + s <= L + 1)
                        check(times(times(power, eisenstein_number(p, s)), turn[(digit + p) % 6]), h, "one digit");
            power = times(power, base);
        }
    });
}

void test_random() {
    for_all([](const zk::hexagons &h) {
        for (int i = 0; i < 3000; i++) check(random_fr(), h, "random");
    });
}

/* Few buckets: three times N/6 a digit, and N^T hardly more than r. */
void test_sizes() {
    for_all([](const zk::hexagons &h) {
        const double norm = 3.0 * h.side * h.side + 3.0 * h.side + 1;
        const double bits = h.digits * std::log2(norm);
        ZK_CHECKF(bits > 254.8 && bits < 256 + 12.0 * h.digits / h.side, "%u digits of %u: %.1f bits", h.digits, h.side,
                  bits);
        ZK_CHECK(h.rows() <= 1u << h.row_bits && h.columns() <= 1u << h.column_bits && h.key_bits() < 31);
    });
}

} // namespace

ZK_TEST_MAIN(ZK_CASE(test_sizes), ZK_CASE(test_units), ZK_CASE(test_cells), ZK_CASE(test_edges), ZK_CASE(test_random))
