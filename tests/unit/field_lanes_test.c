/* The eight-way field types of every instruction set at hand against the scalar ones, lane by lane: every pair of edge
 * values in every lane, and random ones; products of limbs at their bounds; the vocabulary of vectors. On a CPU with
 * none of the instruction sets the cases pass empty. */
#include "field/cpu.h"
#include "field_lanes.h"
#include "zk_test.h"

/* Number k of those this CPU has, else NULL. */
static const field_lanes *variant(size_t k) {
    const field_lanes *all[3] = {NULL};
    size_t n = 0;
    if (zk_cpu_can_ifma()) all[n++] = &field_lanes_ifma;
    if (zk_cpu_can_fma()) all[n++] = &field_lanes_fma;
    return k < n ? all[k] : NULL;
}

#define N_EDGES 14

/* As stored: 0, 1, 2, modulus - 1, - 2, halves, single limbs, long runs of ones and zeros, one, -1. */
#define FILL_EDGES(edges, type, modulus, n_limbs, unit)                                                                \
    do {                                                                                                               \
        memset(edges, 0, sizeof edges);                                                                                \
        edges[1].l[0] = 1;                                                                                             \
        edges[2].l[0] = 2;                                                                                             \
        for (int i = 0; i < (n_limbs); i++) {                                                                          \
            edges[3].l[i] = edges[4].l[i] = modulus[i];                                                                \
            edges[5].l[i] = modulus[i] >> 1 | (i + 1 < (n_limbs) ? modulus[i + 1] << 63 : 0);                          \
            edges[6].l[i] = i + 1 < (n_limbs) ? ~(uint64_t)0 : modulus[i] - 1;                                         \
            edges[7].l[i] = i + 1 < (n_limbs) ? 0 : modulus[i];                                                        \
            edges[8].l[i] = i % 2 ? 0 : i + 1 < (n_limbs) ? ~(uint64_t)0 : 1;                                          \
            edges[9].l[i] = i + 1 < (n_limbs) ? 0xfffffffff0000000u : 0;                                               \
        }                                                                                                              \
        edges[3].l[0] -= 1;                                                                                            \
        edges[4].l[0] -= 2;                                                                                            \
        edges[10].l[0] = ((uint64_t)1 << 52) - 1;                                                                      \
        edges[11].l[0] = (uint64_t)1 << 52;                                                                            \
        edges[12] = unit;                                                                                              \
        type##_neg(&edges[13], &unit);                                                                                 \
    } while (0)

#define EXPECT(type, one_type)                                                                                         \
    static one_type type##_expected(const one_type *a, const one_type *b, int lane, lanes_op op) {                     \
        one_type r = a[lane], t;                                                                                       \
        switch (op) {                                                                                                  \
        case LANES_ROUND_TRIP:                                                                                         \
            break;                                                                                                     \
        case LANES_MUL:                                                                                                \
            type##_mul(&r, &a[lane], &b[lane]);                                                                        \
            break;                                                                                                     \
        case LANES_SQR:                                                                                                \
            type##_sqr(&r, &a[lane]);                                                                                  \
            break;                                                                                                     \
        case LANES_ADD:                                                                                                \
            type##_add(&r, &a[lane], &b[lane]);                                                                        \
            break;                                                                                                     \
        case LANES_SUB:                                                                                                \
            type##_sub(&r, &a[lane], &b[lane]);                                                                        \
            break;                                                                                                     \
        case LANES_NEG_ODD:                                                                                            \
            if (lane % 2) type##_neg(&r, &r);                                                                          \
            break;                                                                                                     \
        case LANES_SWAP:                                                                                               \
            r = a[lane ^ 1];                                                                                           \
            break;                                                                                                     \
        default:                                                                                                       \
            t = b[lane];                                                                                               \
            for (int i = 0; i < 7; i++) type##_add(&t, &t, &a[lane]);                                                  \
            type##_sub(&r, &a[lane], &b[lane]);                                                                        \
            type##_mul(&r, &r, &t);                                                                                    \
        }                                                                                                              \
        return r;                                                                                                      \
    }                                                                                                                  \
    static void type##_check(const field_lanes *v, const one_type *a, const one_type *b, const char *what,             \
                             int which) {                                                                              \
        for (int op = 0; op < LANES_N_OPS; op++) {                                                                     \
            one_type r[8];                                                                                             \
            v->member_of_##type(r, a, b, (lanes_op)op);                                                                \
            for (int lane = 0; lane < 8; lane++) {                                                                     \
                one_type e = type##_expected(a, b, lane, (lanes_op)op);                                                \
                ZK_CHECKF(type##_eq(&r[lane], &e), "%s: %s %d, operation %d, lane %d", v->name, what, which, op,       \
                          lane);                                                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }

#define member_of_zk_fp fp
#define member_of_zk_fr fr
EXPECT(zk_fp, zk_fp)
EXPECT(zk_fr, zk_fr)

/* Lane k takes the pair number (first + stride k): every pair visits every lane. */
static void test_fp_edges_of(const field_lanes *v) {
    zk_fp edges[N_EDGES], a[8], b[8];
    FILL_EDGES(edges, zk_fp, zk_fp_modulus, 6, zk_fp_one);
    for (int i = 0; i < N_EDGES * N_EDGES; i++) {
        for (int k = 0; k < 8; k++) {
            int pair = (i + 23 * k) % (N_EDGES * N_EDGES);
            a[k] = edges[pair / N_EDGES];
            b[k] = edges[pair % N_EDGES];
        }
        zk_fp_check(v, a, b, "pairs from", i);
    }
}

static void test_fr_edges_of(const field_lanes *v) {
    zk_fr edges[N_EDGES], a[8], b[8];
    FILL_EDGES(edges, zk_fr, zk_fr_modulus, 4, zk_fr_one);
    for (int i = 0; i < N_EDGES * N_EDGES; i++) {
        for (int k = 0; k < 8; k++) {
            int pair = (i + 23 * k) % (N_EDGES * N_EDGES);
            a[k] = edges[pair / N_EDGES];
            b[k] = edges[pair % N_EDGES];
        }
        zk_fr_check(v, a, b, "pairs from", i);
    }
}

static void test_random_of(const field_lanes *v) {
    uint64_t seed = 77;
    for (int i = 0; i < 1000; i++) {
        zk_fp a[8], b[8];
        zk_fr c[8], d[8];
        for (int k = 0; k < 8; k++) {
            for (int l = 0; l < 6; l++) {
                a[k].l[l] = zk_test_rand(&seed);
                b[k].l[l] = zk_test_rand(&seed);
            }
            a[k].l[5] >>= 4; /* below p, whose top limb is 0x1a01... */
            b[k].l[5] >>= 4;
            for (int l = 0; l < 4; l++) {
                c[k].l[l] = zk_test_rand(&seed);
                d[k].l[l] = zk_test_rand(&seed);
            }
            c[k].l[3] >>= 2;
            d[k].l[3] >>= 2;
        }
        zk_fp_check(v, a, b, "random", i);
        zk_fr_check(v, c, d, "random", i);
    }
}

static void test_transpose_of(const field_lanes *v) {
    uint64_t rows[8][8], r[2][8][8];
    for (uint64_t k = 0; k < 8; k++)
        for (uint64_t i = 0; i < 8; i++) rows[k][i] = 100 * k + i;
    v->transpose(r, rows);
    for (int way = 0; way < 2; way++)
        for (int i = 0; i < 8; i++)
            for (int k = 0; k < 8; k++)
                ZK_CHECKF(r[way][i][k] == rows[k][i], "%s: way %d, word %d, row %d", v->name, way, i, k);
}

/* What the limbs of a lane sum up to, mod p, by scalar multiplications. factor: of limbs 0 to 6 the low 52 bits. */
static void of_limbs(zk_fp *r, const uint64_t l[8][8], int lane, bool factor) {
    zk_fp limb, base;
    zk_fp_from_u64(&base, (uint64_t)1 << 52);
    *r = zk_fp_zero;
    for (int i = 7; i >= 0; i--) {
        const uint64_t x = factor && i < 7 ? l[i][lane] & (((uint64_t)1 << 52) - 1) : l[i][lane];
        zk_fp_from_u64(&limb, x >> 63 ? 0 - x : x); /* a loose limb has a sign */
        if (x >> 63) zk_fp_neg(&limb, &limb);
        zk_fp_mul(r, r, &base);
        zk_fp_add(r, r, &limb);
    }
}

/* Limbs that are 0, 1, 2^52 - 1 and random, with rubbish above, and numbers up to 2^17 p. */
static void test_products_of(const field_lanes *v) {
    const uint64_t mask = ((uint64_t)1 << 52) - 1, top[4] = {0, 1, 0x1a011, ((uint64_t)1 << 34) - 1};
    uint64_t seed = 99;
    zk_fp two_416, expected, found, x, y;
    zk_fp_from_u64(&two_416, (uint64_t)1 << 52);
    for (int i = 0; i < 3; i++) zk_fp_sqr(&two_416, &two_416);
    for (int round = 0; round < 400; round++) {
        uint64_t a[8][8], b[8][8], r[8][8], s[8][8];
        for (int i = 0; i < 8; i++)
            for (int k = 0; k < 8; k++) {
                uint64_t *limb[2] = {&a[i][k], &b[i][k]};
                for (int n = 0; n < 2; n++) {
                    const uint64_t z = zk_test_rand(&seed), kind = zk_test_rand(&seed) % 4;
                    *limb[n] = kind == 0 ? 0 : kind == 1 ? mask : kind == 2 ? z & 1 : z & mask;
                    if (round == 0) *limb[n] = mask;
                    if (i == 7) *limb[n] = round == 0 ? top[3] : top[z % 4];
                    if (i < 7 && round % 2) *limb[n] |= z & ~mask;
                }
            }
        for (int how = 0; how < LANES_P_N; how++) {
            v->products(r, s, a, b, (lanes_product)how);
            for (int lane = 0; lane < 8; lane++) {
                of_limbs(&x, a, lane, true);
                of_limbs(&y, b, lane, true);
                for (int square = 0; square < 2; square++) {
                    zk_fp_mul(&expected, &x, square ? &x : &y);
                    of_limbs(&found, square ? s : r, lane, how == LANES_P_FACTOR);
                    zk_fp_mul(&found, &found, &two_416);
                    ZK_CHECKF(zk_fp_eq(&found, &expected), "%s: round %d, way %d, square %d, lane %d", v->name, round,
                              how, square, lane);
                    for (int i = 0; i < 7 && how == LANES_P_TIGHT; i++) ZK_CHECK((square ? s : r)[i][lane] <= mask);
                }
            }
        }
    }
}

static void test_words_of(const field_lanes *v) {
    static const uint64_t edges[] = {0,
                                     1,
                                     ((uint64_t)1 << 52) - 1,
                                     (uint64_t)1 << 52,
                                     (uint64_t)1 << 60,
                                     ~0ull,
                                     1 - (2ull << 52),
                                     0 - (1ull << 60),
                                     0 - (1ull << 52),
                                     ~0ull >> 1,
                                     1ull << 63};
    uint64_t seed = 3;
    for (uint32_t lanes = 0; lanes < 0x10000; lanes += lanes < 256 || lanes >= 0xff00 ? 1 : 251) {
        uint32_t in[16], packed[16], low[8];
        uint16_t halves[16], lower[8];
        uint64_t x[8];
        int64_t carry[8];
        for (int k = 0; k < 16; k++) in[k] = (uint32_t)zk_test_rand(&seed);
        for (int k = 0; k < 8; k++)
            x[k] = k % 2 ? zk_test_rand(&seed) : edges[(lanes + (uint32_t)k) % (sizeof edges / sizeof edges[0])];
        v->words(packed, halves, low, lower, carry, in, lanes, x);
        for (int k = 0, n = 0; k < 16; k++) {
            if (!(lanes >> k & 1)) continue;
            ZK_CHECKF(packed[n] == in[k] && halves[n] == (uint16_t)in[k], "%s: lanes %x, word %d", v->name, lanes, k);
            n++;
        }
        for (int k = 0; k < 8; k++) {
            ZK_CHECKF(low[k] == (uint32_t)x[k] && lower[k] == (uint16_t)x[k], "%s: word %d", v->name, k);
            ZK_CHECKF(carry[k] == ((int64_t)x[k] >> 52), "%s: carry of %llx", v->name, (unsigned long long)x[k]);
        }
    }
}

#define EACH_VARIANT(name)                                                                                             \
    static void name(void) {                                                                                           \
        for (size_t k = 0; variant(k); k++) name##_of(variant(k));                                                     \
    }
EACH_VARIANT(test_fp_edges)
EACH_VARIANT(test_fr_edges)
EACH_VARIANT(test_random)
EACH_VARIANT(test_transpose)
EACH_VARIANT(test_products)
EACH_VARIANT(test_words)

ZK_TEST_MAIN(ZK_CASE(test_fp_edges), ZK_CASE(test_fr_edges), ZK_CASE(test_random), ZK_CASE(test_transpose),
             ZK_CASE(test_products), ZK_CASE(test_words))
