/* The eight-way field types against the scalar ones, lane by lane: every pair of edge values in every lane, and random
 * ones. On a CPU without AVX-512 IFMA the cases pass empty. */
#include "ifma_field_lanes.h"
#include "ntt/ifma/ifma.h"
#include "zk_test.h"

static bool usable(void) { return zk_ntt_ifma_usable(20); }

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
    static void type##_check(const one_type *a, const one_type *b, const char *what, int which) {                      \
        for (int op = 0; op < LANES_N_OPS; op++) {                                                                     \
            one_type r[8];                                                                                             \
            lanes_of_##type(r, a, b, (lanes_op)op);                                                                    \
            for (int lane = 0; lane < 8; lane++) {                                                                     \
                one_type e = type##_expected(a, b, lane, (lanes_op)op);                                                \
                ZK_CHECKF(type##_eq(&r[lane], &e), "%s %d, operation %d, lane %d", what, which, op, lane);             \
            }                                                                                                          \
        }                                                                                                              \
    }

#define lanes_of_zk_fp lanes_fp
#define lanes_of_zk_fr lanes_fr
EXPECT(zk_fp, zk_fp)
EXPECT(zk_fr, zk_fr)

/* Lane k takes the pair number (first + stride k): every pair visits every lane. */
static void test_fp_edges(void) {
    if (!usable()) return;
    zk_fp edges[N_EDGES], a[8], b[8];
    FILL_EDGES(edges, zk_fp, zk_fp_modulus, 6, zk_fp_one);
    for (int i = 0; i < N_EDGES * N_EDGES; i++) {
        for (int k = 0; k < 8; k++) {
            int pair = (i + 23 * k) % (N_EDGES * N_EDGES);
            a[k] = edges[pair / N_EDGES];
            b[k] = edges[pair % N_EDGES];
        }
        zk_fp_check(a, b, "pairs from", i);
    }
}

static void test_fr_edges(void) {
    if (!usable()) return;
    zk_fr edges[N_EDGES], a[8], b[8];
    FILL_EDGES(edges, zk_fr, zk_fr_modulus, 4, zk_fr_one);
    for (int i = 0; i < N_EDGES * N_EDGES; i++) {
        for (int k = 0; k < 8; k++) {
            int pair = (i + 23 * k) % (N_EDGES * N_EDGES);
            a[k] = edges[pair / N_EDGES];
            b[k] = edges[pair % N_EDGES];
        }
        zk_fr_check(a, b, "pairs from", i);
    }
}

static void test_random(void) {
    if (!usable()) return;
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
        zk_fp_check(a, b, "random", i);
        zk_fr_check(c, d, "random", i);
    }
}

static void test_transpose(void) {
    if (!usable()) return;
    uint64_t rows[8][8], r[2][8][8];
    for (uint64_t k = 0; k < 8; k++)
        for (uint64_t i = 0; i < 8; i++) rows[k][i] = 100 * k + i;
    lanes_transpose(r, rows);
    for (int way = 0; way < 2; way++)
        for (int i = 0; i < 8; i++)
            for (int k = 0; k < 8; k++) ZK_CHECKF(r[way][i][k] == rows[k][i], "way %d, word %d, row %d", way, i, k);
}

ZK_TEST_MAIN(ZK_CASE(test_fp_edges), ZK_CASE(test_fr_edges), ZK_CASE(test_random), ZK_CASE(test_transpose))
