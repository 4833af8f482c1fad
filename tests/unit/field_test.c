/* Field arithmetic against a schoolbook integer that shares no code with it, on values chosen to hurt: limb boundaries,
 * long runs of ones, the ends of the range; batches, encodings, dispatch. Each for every variant. */
#include "field/cpu.h"
#include "field/fp.h"
#include "field/fr.h"
#include "field_variants.h"
#include "zk_test.h"

/* ---- the schoolbook: little-endian 32-bit digits, bitwise remainder ---- */

#define MAX_DIGITS 32

typedef struct big {
    uint32_t d[MAX_DIGITS];
} big;

static big big_from_limbs(const uint64_t *limbs, int n) {
    big r = {{0}};
    for (int i = 0; i < n; i++) {
        r.d[2 * i] = (uint32_t)limbs[i];
        r.d[2 * i + 1] = (uint32_t)(limbs[i] >> 32);
    }
    return r;
}

static int big_compare(const big *a, const big *b) {
    for (int i = MAX_DIGITS - 1; i >= 0; i--)
        if (a->d[i] != b->d[i]) return a->d[i] < b->d[i] ? -1 : 1;
    return 0;
}

static big big_add(const big *a, const big *b) {
    big r;
    uint64_t carry = 0;
    for (int i = 0; i < MAX_DIGITS; i++) {
        carry += (uint64_t)a->d[i] + b->d[i];
        r.d[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return r;
}

static big big_sub(const big *a, const big *b) {
    big r;
    int64_t carry = 0;
    for (int i = 0; i < MAX_DIGITS; i++) {
        carry += (int64_t)a->d[i] - b->d[i];
        r.d[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return r;
}

static big big_mul(const big *a, const big *b) {
    big r = {{0}};
    for (int i = 0; i < MAX_DIGITS; i++) {
        uint64_t carry = 0;
        if (a->d[i] == 0) continue;
        for (int j = 0; i + j < MAX_DIGITS; j++) {
            carry += (uint64_t)a->d[i] * b->d[j] + r.d[i + j];
            r.d[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    return r;
}

/* a mod m by shifting in one bit at a time; m below 2^415. */
static big big_mod(const big *a, const big *m) {
    enum { DIGITS = 13 };
    big r = {{0}};
    int bit = 32 * MAX_DIGITS - 1;
    while (bit >= 31 && a->d[bit / 32] == 0) bit -= 32;
    for (; bit >= 0; bit--) {
        for (int i = DIGITS - 1; i > 0; i--) r.d[i] = r.d[i] << 1 | r.d[i - 1] >> 31;
        r.d[0] = r.d[0] << 1 | (a->d[bit / 32] >> (bit % 32) & 1);
        int top = DIGITS - 1;
        while (top > 0 && r.d[top] == m->d[top]) top--;
        if (r.d[top] < m->d[top]) continue;
        int64_t carry = 0;
        for (int i = 0; i < DIGITS; i++) {
            carry += (int64_t)r.d[i] - m->d[i];
            r.d[i] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    return r;
}

static big big_mul_mod(const big *a, const big *b, const big *m) {
    big product = big_mul(a, b);
    return big_mod(&product, m);
}

/* 2^bits */
static big big_power(int bits) {
    big r = {{0}};
    r.d[bits / 32] = 1u << (bits % 32);
    return r;
}

static bool big_is_limbs(const big *a, const uint64_t *limbs, int n) {
    big b = big_from_limbs(limbs, n);
    return big_compare(a, &b) == 0;
}

/* ---- values that hurt: limbs below p, plain or as a representation ---- */

#define MAX_EDGES 64

static size_t edges(uint64_t (*e)[6], const uint64_t *p, int n) {
    size_t count = 0;
    uint64_t v[6];
    big modulus = big_from_limbs(p, n);
    uint64_t seed = 77;
    for (int kind = 0; kind < 60; kind++) {
        memset(v, 0, sizeof v);
        if (kind < 3)
            v[0] = (uint64_t)kind;
        else if (kind < 6)
            memcpy(v, p, 8 * (size_t)n), v[0] -= (uint64_t)kind - 2; /* p - 1, p - 2, p - 3 */
        else if (kind < 6 + 6) {                                     /* 2^(64 k) - 1 */
            for (int i = 0; i < kind - 6 + 1 && i < n; i++) v[i] = UINT64_MAX;
        } else if (kind < 12 + 6) { /* 2^(64 k) */
            if (kind - 12 < n) v[kind - 12] = 1;
        } else if (kind < 18 + 6) { /* 2^(64 k + 63) */
            if (kind - 18 < n) v[kind - 18] = 1ull << 63;
        } else if (kind < 24 + 6) { /* one limb of ones */
            if (kind - 24 < n) v[kind - 24] = UINT64_MAX;
        } else if (kind < 30 + 6) { /* the modulus with one limb cleared */
            memcpy(v, p, 8 * (size_t)n);
            if (kind - 30 < n) v[kind - 30] = 0;
        } else if (kind == 36) { /* (p - 1)/2 */
            for (int i = 0; i < n; i++) v[i] = p[i] >> 1 | (i + 1 < n ? p[i + 1] << 63 : 0);
        } else if (kind == 37) { /* (p + 1)/2 */
            for (int i = 0; i < n; i++) v[i] = p[i] >> 1 | (i + 1 < n ? p[i + 1] << 63 : 0);
            v[0]++;
        } else if (kind == 38) { /* ones below the top limb, the modulus' top limb less one */
            for (int i = 0; i < n - 1; i++) v[i] = UINT64_MAX;
            v[n - 1] = p[n - 1] - 1;
        } else if (kind == 39) {
            for (int i = 0; i < n; i++) v[i] = 0x5555555555555555u;
        } else if (kind == 40) {
            for (int i = 0; i < n; i++) v[i] = 0xffffffff00000000u;
        } else if (kind == 41) {
            for (int i = 0; i < n; i++) v[i] = 0x00000000ffffffffu;
        } else {
            for (int i = 0; i < n; i++) v[i] = zk_test_rand(&seed);
        }
        big b = big_from_limbs(v, n);
        if (big_compare(&b, &modulus) >= 0) v[n - 1] %= p[n - 1];
        memcpy(e[count++], v, sizeof v);
    }
    return count;
}

/* ---- the tests: written once over raw limbs, for Fr (4) and Fp (6) ---- */

typedef struct field {
    const char *name;
    int n;
    const uint64_t *modulus, *one;
    void (*add)(uint64_t *, const uint64_t *, const uint64_t *);
    void (*sub)(uint64_t *, const uint64_t *, const uint64_t *);
    void (*mul)(uint64_t *, const uint64_t *, const uint64_t *);
    void (*sqr)(uint64_t *, const uint64_t *);
    void (*neg)(uint64_t *, const uint64_t *);
    void (*twice)(uint64_t *, const uint64_t *);
    bool (*inv)(uint64_t *, const uint64_t *);
    bool (*sqrt)(uint64_t *, const uint64_t *);
    void (*pow)(uint64_t *, const uint64_t *, const uint64_t *, size_t);
    void (*from)(uint64_t *, const uint64_t *);
    void (*to)(uint64_t *, const uint64_t *);
    void (*batch_inv)(uint64_t *, size_t, uint64_t *);
} field;

#define WRAP(f, type)                                                                                                  \
    static void f##_add(uint64_t *r, const uint64_t *a, const uint64_t *b) {                                           \
        zk_##f##_add((type *)r, (const type *)a, (const type *)b);                                                     \
    }                                                                                                                  \
    static void f##_sub(uint64_t *r, const uint64_t *a, const uint64_t *b) {                                           \
        zk_##f##_sub((type *)r, (const type *)a, (const type *)b);                                                     \
    }                                                                                                                  \
    static void f##_mul(uint64_t *r, const uint64_t *a, const uint64_t *b) {                                           \
        zk_##f##_mul((type *)r, (const type *)a, (const type *)b);                                                     \
    }                                                                                                                  \
    static void f##_sqr(uint64_t *r, const uint64_t *a) { zk_##f##_sqr((type *)r, (const type *)a); }                  \
    static void f##_neg(uint64_t *r, const uint64_t *a) { zk_##f##_neg((type *)r, (const type *)a); }                  \
    static void f##_twice(uint64_t *r, const uint64_t *a) { zk_##f##_double((type *)r, (const type *)a); }             \
    static bool f##_inv(uint64_t *r, const uint64_t *a) { return zk_##f##_inv_var((type *)r, (const type *)a); }       \
    static bool f##_sqrt(uint64_t *r, const uint64_t *a) { return zk_##f##_sqrt_var((type *)r, (const type *)a); }     \
    static void f##_pow(uint64_t *r, const uint64_t *a, const uint64_t *e, size_t n) {                                 \
        zk_##f##_pow_var((type *)r, (const type *)a, e, n);                                                            \
    }                                                                                                                  \
    static void f##_from(uint64_t *r, const uint64_t *a) { zk_##f##_from_limbs((type *)r, a); }                        \
    static void f##_to(uint64_t *r, const uint64_t *a) { zk_##f##_to_limbs(r, (const type *)a); }                      \
    static void f##_batch_inv(uint64_t *a, size_t n, uint64_t *scratch) {                                              \
        zk_##f##_batch_inv_var((type *)a, n, (type *)scratch);                                                         \
    }                                                                                                                  \
    static const field f = {#f,                                                                                        \
                            (int)(sizeof(type) / 8),                                                                   \
                            zk_##f##_modulus,                                                                          \
                            zk_##f##_one.l,                                                                            \
                            f##_add,                                                                                   \
                            f##_sub,                                                                                   \
                            f##_mul,                                                                                   \
                            f##_sqr,                                                                                   \
                            f##_neg,                                                                                   \
                            f##_twice,                                                                                 \
                            f##_inv,                                                                                   \
                            f##_sqrt,                                                                                  \
                            f##_pow,                                                                                   \
                            f##_from,                                                                                  \
                            f##_to,                                                                                    \
                            f##_batch_inv};

WRAP(fr, zk_fr)
WRAP(fp, zk_fp)

/* r = a b / 2^(64 n) exactly when r 2^(64 n) = a b mod p, and r is reduced. */
static bool is_montgomery_product(const uint64_t *r, const big *product, const field *f) {
    big p = big_from_limbs(f->modulus, f->n), value = big_from_limbs(r, f->n), radix = big_power(64 * f->n);
    big left = big_mul_mod(&value, &radix, &p), right = big_mod(product, &p);
    return big_compare(&value, &p) < 0 && big_compare(&left, &right) == 0;
}

static void check_arithmetic(const field *f) {
    uint64_t e[MAX_EDGES][6], r[6];
    size_t n_edges = edges(e, f->modulus, f->n);
    size_t bytes = 8 * (size_t)f->n;
    big p = big_from_limbs(f->modulus, f->n);
    for (size_t i = 0; i < n_edges; i++) {
        big a = big_from_limbs(e[i], f->n), expected;
        ZK_CHECK(big_compare(&a, &p) < 0);
        for (size_t k = 0; k < n_edges; k++) {
            big b = big_from_limbs(e[k], f->n), product = big_mul(&a, &b);
            f->mul(r, e[i], e[k]);
            ZK_CHECKF(is_montgomery_product(r, &product, f), "%s: edges %zu times %zu", f->name, i, k);
            f->add(r, e[i], e[k]);
            expected = big_add(&a, &b);
            if (big_compare(&expected, &p) >= 0) expected = big_sub(&expected, &p);
            ZK_CHECKF(big_is_limbs(&expected, r, f->n), "%s: edges %zu plus %zu", f->name, i, k);
            f->sub(r, e[i], e[k]);
            expected = big_add(&a, &p);
            expected = big_sub(&expected, &b);
            if (big_compare(&expected, &p) >= 0) expected = big_sub(&expected, &p);
            ZK_CHECKF(big_is_limbs(&expected, r, f->n), "%s: edges %zu minus %zu", f->name, i, k);
        }
        big product = big_mul(&a, &a);
        f->sqr(r, e[i]);
        ZK_CHECKF(is_montgomery_product(r, &product, f), "%s: square of edge %zu", f->name, i);
        memcpy(r, e[i], bytes);
        f->sqr(r, r);
        ZK_CHECKF(is_montgomery_product(r, &product, f), "%s: square in place of edge %zu", f->name, i);
        memcpy(r, e[i], bytes);
        f->mul(r, r, r);
        ZK_CHECKF(is_montgomery_product(r, &product, f), "%s: product in place of edge %zu", f->name, i);
        f->neg(r, e[i]);
        expected = big_sub(&p, &a);
        if (big_compare(&expected, &p) >= 0) expected = big_sub(&expected, &p);
        ZK_CHECKF(big_is_limbs(&expected, r, f->n), "%s: minus edge %zu", f->name, i);
        f->twice(r, e[i]);
        expected = big_add(&a, &a);
        if (big_compare(&expected, &p) >= 0) expected = big_sub(&expected, &p);
        ZK_CHECKF(big_is_limbs(&expected, r, f->n), "%s: twice edge %zu", f->name, i);
        /* In and out of the representation. */
        f->from(r, e[i]);
        big radix = big_power(64 * f->n), form = big_mul_mod(&a, &radix, &p);
        ZK_CHECKF(big_is_limbs(&form, r, f->n), "%s: from limbs, edge %zu", f->name, i);
        f->to(r, r);
        ZK_CHECKF(big_is_limbs(&a, r, f->n), "%s: to limbs, edge %zu", f->name, i);
    }
}

static void check_inverses(const field *f) {
    uint64_t e[MAX_EDGES][6], r[6], by_power[6], product[6], exponent[6], seed = 5;
    size_t n_edges = edges(e, f->modulus, f->n), bytes = 8 * (size_t)f->n;
    memcpy(exponent, f->modulus, bytes);
    exponent[0] -= 2;
    for (size_t i = 0; i < 2000; i++) {
        uint64_t a[6];
        if (i < n_edges)
            memcpy(a, e[i], sizeof a);
        else {
            for (int k = 0; k < f->n; k++) a[k] = zk_test_rand(&seed);
            a[f->n - 1] %= f->modulus[f->n - 1];
        }
        bool zero = true;
        for (int k = 0; k < f->n; k++) zero &= a[k] == 0;
        ZK_CHECKF(f->inv(r, a) == !zero, "%s: inverse of value %zu", f->name, i);
        f->mul(product, r, a);
        for (int k = 0; k < f->n; k++)
            ZK_CHECKF(product[k] == (zero ? 0 : f->one[k]), "%s: inverse of value %zu", f->name, i);
        if (i < n_edges) {
            f->pow(by_power, a, exponent, (size_t)f->n);
            ZK_CHECK_MEM(by_power, r, bytes);
            f->inv(a, a);
            ZK_CHECK_MEM(a, r, bytes);
        }
    }
}

static void check_batch_inverses(const field *f) {
    static const size_t sizes[] = {0, 1, 2, 3, 16, 33};
    uint64_t a[34 * 6], original[34 * 6], scratch[34 * 6], r[6], seed = 6;
    size_t words = (size_t)f->n;
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        for (int zeros = 0; zeros < 4; zeros++) { /* none, first, every third, all */
            for (size_t i = 0; i < 34; i++) {
                for (size_t w = 0; w < words; w++) a[i * words + w] = zk_test_rand(&seed);
                a[i * words + words - 1] %= f->modulus[words - 1];
                if ((zeros == 1 && i == 0) || (zeros == 2 && i % 3 == 1) || zeros == 3)
                    memset(a + i * words, 0, 8 * words);
            }
            memcpy(original, a, sizeof a);
            f->batch_inv(a, sizes[k], scratch);
            for (size_t i = 0; i < 34; i++) {
                if (i < sizes[k])
                    (void)f->inv(r, original + i * words);
                else
                    memcpy(r, original + i * words, 8 * words);
                ZK_CHECKF(memcmp(r, a + i * words, 8 * words) == 0, "%s: %zu of %zu", f->name, i, sizes[k]);
            }
        }
    }
}

static void check_roots(const field *f) {
    uint64_t e[MAX_EDGES][6], r[6], square[6], minus[6], plain[6], plain_minus[6];
    size_t n_edges = edges(e, f->modulus, f->n), bytes = 8 * (size_t)f->n, n_refused = 0;
    for (size_t i = 0; i < n_edges; i++) {
        f->sqr(square, e[i]);
        ZK_CHECKF(f->sqrt(r, square), "%s: root of the square of edge %zu", f->name, i);
        f->neg(minus, e[i]);
        ZK_CHECKF(memcmp(r, e[i], bytes) == 0 || memcmp(r, minus, bytes) == 0, "%s: edge %zu", f->name, i);
        f->neg(minus, r);
        f->to(plain, r);
        f->to(plain_minus, minus);
        big a = big_from_limbs(plain, f->n), b = big_from_limbs(plain_minus, f->n);
        ZK_CHECKF(big_compare(&a, &b) <= 0, "%s: edge %zu: the larger root", f->name, i);
        if (!f->sqrt(r, e[i])) {
            n_refused++;
            /* By Euler's criterion it is none. */
            uint64_t half[6];
            for (int k = 0; k < f->n; k++) half[k] = f->modulus[k] >> 1 | (k + 1 < f->n ? f->modulus[k + 1] << 63 : 0);
            f->pow(r, e[i], half, (size_t)f->n);
            f->add(r, r, f->one);
            for (int k = 0; k < f->n; k++) ZK_CHECKF(r[k] == 0, "%s: edge %zu refused", f->name, i);
        } else {
            f->sqr(square, r);
            ZK_CHECK_MEM(square, e[i], bytes);
        }
    }
    ZK_CHECK(n_refused > n_edges / 4 && n_refused < n_edges - n_edges / 4);
}

static void test_arithmetic(void) {
    check_arithmetic(&fr);
    check_arithmetic(&fp);
}

static void test_inverses(void) {
    check_inverses(&fr);
    check_inverses(&fp);
}

static void test_batch_inverses(void) {
    check_batch_inverses(&fr);
    check_batch_inverses(&fp);
}

static void test_roots(void) {
    check_roots(&fr);
    check_roots(&fp);
}

/* The second factor of a product, and what is reduced from bytes, may be any 256-bit number. */
static void test_fr_reduction(void) {
    big p = big_from_limbs(zk_fr_modulus, 4);
    uint64_t e[MAX_EDGES][6], seed = 9;
    size_t n_edges = edges(e, zk_fr_modulus, 4);
    for (size_t i = 0; i < 40; i++) {
        uint64_t wide[8], limbs[4];
        for (int k = 0; k < 8; k++) wide[k] = i == 0 ? UINT64_MAX : i == 1 ? 0 : zk_test_rand(&seed);
        if (i == 2) memcpy(wide, zk_fr_modulus, 32), memset(wide + 4, 0, 32);
        if (i == 3) memset(wide, 0, 32), memcpy(wide + 4, zk_fr_modulus, 32);
        if (i == 4) memset(wide, 0xff, 32);
        zk_fr r;
        big b = big_from_limbs(wide, 4);
        for (size_t k = 0; k < n_edges; k++) {
            big a = big_from_limbs(e[k], 4), product = big_mul(&a, &b);
            zk_fr_mul(&r, (const zk_fr *)e[k], (const zk_fr *)wide);
            ZK_CHECKF(is_montgomery_product(r.l, &product, &fr), "edge %zu times wide %zu", k, i);
        }
        big expected = big_mod(&b, &p);
        zk_fr_from_bytes_reduce(&r, (const uint8_t *)wide);
        zk_fr_to_limbs(limbs, &r);
        ZK_CHECKF(big_is_limbs(&expected, limbs, 4), "256 bits, %zu", i);
        b = big_from_limbs(wide, 8);
        expected = big_mod(&b, &p);
        zk_fr_from_bytes_wide(&r, (const uint8_t *)wide);
        zk_fr_to_limbs(limbs, &r);
        ZK_CHECKF(big_is_limbs(&expected, limbs, 4), "512 bits, %zu", i);
    }
    zk_fr minus_five, five, sum;
    zk_fr_from_i64(&minus_five, -5);
    zk_fr_from_u64(&five, 5);
    zk_fr_add(&sum, &five, &minus_five);
    ZK_CHECK(zk_fr_is_zero(&sum) && !zk_fr_is_zero(&five) && !zk_fr_is_one(&five));
    zk_fr_from_i64(&minus_five, INT64_MIN);
    zk_fr_from_u64(&five, 1ull << 63);
    zk_fr_add(&sum, &five, &minus_five);
    ZK_CHECK(zk_fr_is_zero(&sum));
}

static void test_pow(void) {
    uint64_t seed = 12, e[2];
    zk_fr a, r, expected = zk_fr_one;
    zk_fp b, s, expected_fp = zk_fp_one;
    zk_fr_from_u64(&a, 3);
    zk_fp_from_u64(&b, 3);
    for (uint64_t k = 0; k < 300; k++) {
        zk_fr_pow_u64(&r, &a, k);
        ZK_CHECK(zk_fr_eq(&r, &expected));
        e[0] = k, e[1] = 0;
        zk_fr_pow_var(&r, &a, e, 2);
        ZK_CHECK(zk_fr_eq(&r, &expected));
        zk_fp_pow_var(&s, &b, e, 1 + k % 2);
        ZK_CHECK(zk_fp_eq(&s, &expected_fp));
        zk_fr_mul(&expected, &expected, &a);
        zk_fp_mul(&expected_fp, &expected_fp, &b);
    }
    zk_fr_pow_var(&r, &zk_fr_zero, e, 0);
    ZK_CHECK(zk_fr_is_one(&r));
    zk_fp_pow_var(&s, &zk_fp_zero, e, 0);
    ZK_CHECK(zk_fp_is_one(&s));
    for (int i = 0; i < 50; i++) { /* a^(x + y) = a^x a^y for wide exponents */
        uint64_t x[6], y[6], sum[6];
        unsigned char carry = 0;
        for (int k = 0; k < 6; k++) {
            x[k] = i % 3 ? zk_test_rand(&seed) : UINT64_MAX;
            y[k] = k == 5 ? 0 : zk_test_rand(&seed);
            if (k == 5) x[k] >>= 1;
            carry = zk_adc(carry, x[k], y[k], &sum[k]);
        }
        zk_fr rx, ry;
        zk_fp sx, sy;
        zk_fr_pow_var(&rx, &a, x, 6);
        zk_fr_pow_var(&ry, &a, y, 6);
        zk_fr_mul(&rx, &rx, &ry);
        zk_fr_pow_var(&ry, &a, sum, 6);
        ZK_CHECK(zk_fr_eq(&rx, &ry));
        zk_fp_pow_var(&sx, &b, x, 6);
        zk_fp_pow_var(&sy, &b, y, 6);
        zk_fp_mul(&sx, &sx, &sy);
        zk_fp_pow_var(&sy, &b, sum, 6);
        ZK_CHECK(zk_fp_eq(&sx, &sy));
        a = ry;
        b = sy;
    }
}

/* Fp2 products of all edge combinations against the formula over the schoolbook. */
static void test_fp2(void) {
    uint64_t e[MAX_EDGES][6];
    (void)edges(e, zk_fp_modulus, 6);
    static const size_t pick[] = {0, 1, 3, 11, 36, 38, 45};
    const size_t n = sizeof pick / sizeof pick[0];
    big p = big_from_limbs(zk_fp_modulus, 6), p2 = big_mul(&p, &p);
    for (size_t i = 0; i < n * n * n * n; i++) {
        zk_fp2 a, b, r, alias;
        memcpy(&a.c0, e[pick[i % n]], 48);
        memcpy(&a.c1, e[pick[i / n % n]], 48);
        memcpy(&b.c0, e[pick[i / n / n % n]], 48);
        memcpy(&b.c1, e[pick[i / n / n / n]], 48);
        big a0 = big_from_limbs(a.c0.l, 6), a1 = big_from_limbs(a.c1.l, 6);
        big b0 = big_from_limbs(b.c0.l, 6), b1 = big_from_limbs(b.c1.l, 6);
        big v0 = big_mul(&a0, &b0), v1 = big_mul(&a1, &b1), x = big_mul(&a0, &b1), y = big_mul(&a1, &b0);
        v0 = big_add(&v0, &p2);
        v0 = big_sub(&v0, &v1);
        x = big_add(&x, &y);
        zk_fp2_mul(&r, &a, &b);
        ZK_CHECKF(is_montgomery_product(r.c0.l, &v0, &fp) && is_montgomery_product(r.c1.l, &x, &fp), "case %zu", i);
        alias = a;
        zk_fp2_mul(&alias, &alias, &b);
        ZK_CHECKF(zk_fp2_eq(&alias, &r), "case %zu", i);
        alias = b;
        zk_fp2_mul(&alias, &a, &alias);
        ZK_CHECKF(zk_fp2_eq(&alias, &r), "case %zu", i);
        if (i >= n * n) continue; /* each a once */
        zk_fp2_mul(&r, &a, &a);
        zk_fp2_sqr(&alias, &a);
        ZK_CHECKF(zk_fp2_eq(&alias, &r), "square, case %zu", i);
        alias = a;
        zk_fp2_sqr(&alias, &alias);
        ZK_CHECKF(zk_fp2_eq(&alias, &r), "square in place, case %zu", i);
        ZK_CHECKF(zk_fp2_inv_var(&r, &a) == !zk_fp2_is_zero(&a), "case %zu", i);
        zk_fp2_mul(&r, &r, &a);
        ZK_CHECKF(zk_fp2_is_zero(&a) ? zk_fp2_is_zero(&r) : zk_fp2_is_one(&r), "inverse, case %zu", i);
        zk_fp2_sqr(&r, &a);
        ZK_CHECKF(zk_fp2_sqrt_var(&alias, &r) && !zk_fp2_is_lexicographically_largest(&alias), "root, case %zu", i);
        zk_fp2_neg(&r, &a);
        ZK_CHECKF(zk_fp2_eq(&alias, &a) || zk_fp2_eq(&alias, &r), "root, case %zu", i);
        zk_fp2_mul_fp(&r, &a, &b.c0);
        zk_fp2 real = {b.c0, zk_fp_zero};
        zk_fp2_mul(&alias, &a, &real);
        ZK_CHECK(zk_fp2_eq(&r, &alias));
        alias = a;
        zk_fp2_mul_fp(&alias, &alias, &alias.c0);
        real.c0 = a.c0;
        zk_fp2_mul(&r, &a, &real);
        ZK_CHECK(zk_fp2_eq(&r, &alias));
    }
    zk_fp2 batch[9], scratch[9], expected[9];
    for (size_t i = 0; i < 9; i++) {
        memcpy(&batch[i].c0, e[45 + i], 48);
        memcpy(&batch[i].c1, e[4 + i], 48);
        if (i % 4 == 1) batch[i] = zk_fp2_zero;
        (void)zk_fp2_inv_var(&expected[i], &batch[i]);
    }
    zk_fp2_batch_inv_var(batch, 9, scratch);
    for (size_t i = 0; i < 9; i++) ZK_CHECK(zk_fp2_eq(&batch[i], &expected[i]));
    zk_fp2_batch_inv_var(batch, 0, scratch);
}

static void test_halve(void) {
    uint64_t e[MAX_EDGES][6];
    size_t n_edges = edges(e, zk_fp_modulus, 6);
    big p = big_from_limbs(zk_fp_modulus, 6);
    for (size_t i = 0; i < n_edges; i++) {
        zk_fp a, half, again;
        memcpy(&a, e[i], sizeof a);
        zk_fp_halve(&half, &a);
        big b = big_from_limbs(half.l, 6);
        zk_fp_double(&again, &half);
        ZK_CHECKF(big_compare(&b, &p) < 0 && zk_fp_eq(&again, &a), "edge %zu", i);
        zk_fp_halve(&a, &a);
        ZK_CHECK(zk_fp_eq(&a, &half));
    }
}

static void test_lexicographic(void) {
    uint64_t half[6];
    for (int i = 0; i < 6; i++) half[i] = zk_fp_modulus[i] >> 1 | (i < 5 ? zk_fp_modulus[i + 1] << 63 : 0);
    zk_fp low, high;
    zk_fp_from_limbs(&low, half); /* (p - 1)/2 */
    half[0]++;
    zk_fp_from_limbs(&high, half);
    ZK_CHECK(!zk_fp_is_lexicographically_largest(&low) && zk_fp_is_lexicographically_largest(&high));
    ZK_CHECK(!zk_fp_is_lexicographically_largest(&zk_fp_zero) && !zk_fp_is_lexicographically_largest(&zk_fp_one));
    zk_fp2 a = {high, zk_fp_zero}, b = {high, low}, c = {low, high};
    ZK_CHECK(zk_fp2_is_lexicographically_largest(&a));
    ZK_CHECK(!zk_fp2_is_lexicographically_largest(&b));
    ZK_CHECK(zk_fp2_is_lexicographically_largest(&c));
}

static void test_dispatch(void) {
    const zk_cpu_features *cpu = zk_cpu_get_features();
    ZK_CHECK(zk_field_has_variant(ZK_FIELD_PORTABLE));
    ZK_CHECK(!zk_field_has_variant(ZK_FIELD_N_VARIANTS) && !zk_field_force(ZK_FIELD_N_VARIANTS));
    for (int v = 0; v < ZK_FIELD_N_VARIANTS; v++) {
        zk_field_variant before = zk_field_active_variant(), variant = (zk_field_variant)v;
        bool ok = zk_field_force(variant);
        ZK_CHECK(ok == zk_field_has_variant(variant));
        ZK_CHECK(zk_field_active_variant() == (ok ? variant : before));
        ZK_CHECK(strcmp(zk_field_active.name, zk_field_variant_name(zk_field_active_variant())) == 0);
    }
#if defined(__x86_64__)
    ZK_CHECK(zk_field_has_variant(ZK_FIELD_ADX) == (cpu->adx && cpu->bmi2));
    ZK_CHECK(!cpu->avx512ifma || cpu->avx512f);
#else
    ZK_CHECK(!cpu->adx && !zk_field_has_variant(ZK_FIELD_ADX));
#endif
    static const struct {
        const char *name;
        zk_cpu_limit limit;
    } names[] = {{"portable", ZK_CPU_PORTABLE}, {"adx", ZK_CPU_ADX}, {"avx2", ZK_CPU_AVX2},
                 {"ifma", ZK_CPU_IFMA},         {"", ZK_CPU_BEST},   {"IFMA", ZK_CPU_BEST},
                 {"fast", ZK_CPU_BEST}};
    const char *value = getenv("CUZK_CPU");
    char *saved = value ? strdup(value) : NULL;
    bool ok = true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        setenv("CUZK_CPU", names[i].name, 1);
        ok &= zk_cpu_get_limit() == names[i].limit;
    }
    unsetenv("CUZK_CPU");
    ok &= zk_cpu_get_limit() == ZK_CPU_BEST;
    if (saved) setenv("CUZK_CPU", saved, 1);
    free(saved);
    ZK_CHECK(ok);
}

VARIANTS(test_arithmetic)
VARIANTS(test_inverses)
VARIANTS(test_batch_inverses)
VARIANTS(test_roots)
VARIANTS(test_fr_reduction)
VARIANTS(test_pow)
VARIANTS(test_fp2)
VARIANTS(test_lexicographic)

ZK_TEST_MAIN(BOTH(test_arithmetic), BOTH(test_inverses), BOTH(test_batch_inverses), BOTH(test_roots),
             BOTH(test_fr_reduction), BOTH(test_pow), BOTH(test_fp2), BOTH(test_lexicographic), ZK_CASE(test_halve),
             ZK_CASE(test_dispatch))
