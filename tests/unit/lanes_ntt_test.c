/* The passes in lanes, for every instruction set at hand, against the scalar ones: every kind of transform, equal
 * results to the last bit. On a CPU with none the cases pass empty. */
#include "field/cpu.h"
#include "ntt/domain.h"
#include "ntt/lanes/lanes.h"
#include "rounding_mode.h"
#include "scalars.h"
#include "zk_test.h"

#define LOG2_MIN (LEAF_LOG2 + 3)
#define LOG2_MAX (LEAF_LOG2 + PASS_LOG2 + 1)

/* A domain that runs the code in lanes, or not. */
static zk_ntt_domain *domain_of(unsigned log2_n, const char *limit) {
    cuzk_err err = {0};
    zk_ntt_domain *d;
    const char *old = getenv("CUZK_CPU");
    char *saved = old ? strdup(old) : NULL;
    ZK_CHECK(setenv("CUZK_CPU", limit, 1) == 0);
    ZK_CHECK_OK(zk_ntt_domain_create(&d, log2_n, NULL, &err), err);
    ZK_CHECK((saved ? setenv("CUZK_CPU", saved, 1) : unsetenv("CUZK_CPU")) == 0);
    free(saved);
    return d;
}

typedef enum fill_kind { FILL_ZERO, FILL_ONE, FILL_LARGEST, FILL_SPARSE, FILL_RANDOM, N_FILLS } fill_kind;

static void fill(zk_fr *x, size_t n, fill_kind kind, uint64_t *seed) {
    zk_fr largest;
    for (int i = 0; i < 4; i++) largest.l[i] = zk_fr_modulus[i];
    largest.l[0]--; /* as stored: the greatest of all encodings */
    for (size_t i = 0; i < n; i++) {
        uint64_t word = zk_test_rand(seed);
        switch (kind) {
        case FILL_ZERO:
            x[i] = zk_fr_zero;
            break;
        case FILL_ONE:
            x[i] = (zk_fr){{1, 0, 0, 0}};
            break;
        case FILL_LARGEST:
            x[i] = largest;
            break;
        case FILL_SPARSE:
            x[i] = word % 3 ? (word % 3 == 1 ? largest : zk_fr_zero) : (zk_fr){{word % 8 == 0, 0, 0, 0}};
            break;
        default:
            for (int k = 0; k < 4; k++) x[i].l[k] = zk_test_rand(seed);
            x[i].l[3] >>= 2;
        }
    }
}

static void transforms(const char *limit) {
    static void (*const run[])(const zk_ntt_domain *, zk_fr *, zk_pool *) = {
        zk_ntt_forward, zk_ntt_inverse, zk_ntt_coset_forward, zk_ntt_coset_inverse};
    const unsigned usual = mode_now();
    uint64_t seed = 3;
    for (unsigned log2_n = LOG2_MIN; log2_n <= LOG2_MAX; log2_n++) {
        zk_ntt_domain *scalar = domain_of(log2_n, "adx"), *lanes = domain_of(log2_n, limit);
        ZK_CHECK(!scalar->lanes && lanes->lanes);
        size_t n = (size_t)1 << log2_n;
        zk_fr *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
        ZK_CHECK(x && y);
        for (int kind = 0; kind < N_FILLS; kind++) {
            if (log2_n > LOG2_MIN + 2 && kind != N_FILLS - 1) continue;
            for (int t = 0; t < 4; t++) {
                fill(x, n, (fill_kind)kind, &seed);
                memcpy(y, x, n * sizeof *x);
                run[t](scalar, x, two_threads());
                mode_set(0x5f80); /* rounding up, to be back afterwards */
                const unsigned mode = mode_now();
                run[t](lanes, y, kind % 2 ? NULL : two_threads());
                ZK_CHECKF(mode_now() == mode, "%s: transform %d of 2^%u", limit, t, log2_n);
                mode_set(usual);
                ZK_CHECKF(memcmp(x, y, n * sizeof *x) == 0, "%s: transform %d of 2^%u, fill %d", limit, t, log2_n,
                          kind);
            }
        }
        free(x);
        free(y);
        zk_ntt_domain_destroy(scalar);
        zk_ntt_domain_destroy(lanes);
    }
}

static void quotient(const char *limit) {
    uint64_t seed = 5;
    for (unsigned log2_n = LOG2_MIN; log2_n <= LOG2_MAX; log2_n += 1) {
        zk_ntt_domain *scalar = domain_of(log2_n, "adx"), *lanes = domain_of(log2_n, limit);
        size_t n = (size_t)1 << log2_n;
        for (int kind = 0; kind < N_FILLS; kind++) {
            if (log2_n > LOG2_MIN && kind != N_FILLS - 1) continue;
            zk_fr *x[3], *y[3];
            for (int v = 0; v < 3; v++) {
                x[v] = malloc(n * sizeof *x[v]);
                y[v] = malloc(n * sizeof *y[v]);
                ZK_CHECK(x[v] && y[v]);
                fill(x[v], n, (fill_kind)kind, &seed);
                memcpy(y[v], x[v], n * sizeof *x[v]);
            }
            zk_ntt_quotient(scalar, x[0], x[1], x[2], two_threads());
            zk_ntt_quotient(lanes, y[0], y[1], y[2], two_threads());
            ZK_CHECKF(memcmp(x[0], y[0], n * sizeof *x[0]) == 0, "%s: quotient of 2^%u, fill %d", limit, log2_n, kind);
            for (int v = 0; v < 3; v++) {
                free(x[v]);
                free(y[v]);
            }
        }
        zk_ntt_domain_destroy(scalar);
        zk_ntt_domain_destroy(lanes);
    }
}

/* Under a limit that is not at hand the code below it runs again. */
static void each_variant(void (*test)(const char *limit)) {
    static const char *const limits[] = {"ifma", "avx2"};
    for (int k = 0; k < 2; k++) {
        zk_ntt_domain *d = domain_of(LOG2_MIN, limits[k]);
        if (d->lanes) test(limits[k]);
        zk_ntt_domain_destroy(d);
    }
}
static void test_transforms(void) { each_variant(transforms); }
static void test_quotient(void) { each_variant(quotient); }

ZK_TEST_MAIN(ZK_CASE(test_transforms), ZK_CASE(test_quotient))
