/* Times of multi-scalar multiplication and its relatives.
 *
 * usage: cuzk_bench_msm KIND [log2 n = 18] [threads = 1] [runs = 5] [window bits = 0: chosen]
 *
 * KIND: g1, g2 (multi-scalar), mask1, mask2 (masked sums of random halves; items are the points summed), fixed1,
 * fixed2.
 */
#include "bench.h"
#include "msm/msm.h"
#include "msm/plan.h"

static unsigned log2_n, n_runs, window_bits;
static size_t n;
static zk_pool *pool;
static cuzk_err err;
static zk_fr *scalars;

static void check(cuzk_status status) {
    if (status == CUZK_OK) return;
    fprintf(stderr, "%s\n", err.message);
    exit(4);
}

/* Body once, groups twice. */
#define GROUP_BENCH(g)                                                                                                 \
    static void bench_##g(const char *kind) {                                                                          \
        bench_times times = {.n = 0};                                                                                  \
        double items = (double)n;                                                                                      \
        uint64_t seed = 2;                                                                                             \
        zk_##g##_affine *bases = bench_alloc(n, sizeof *bases);                                                        \
        uint64_t *bits = bench_alloc(n / 64 + 1, sizeof *bits);                                                        \
        zk_fixed_base_##g *table = NULL;                                                                               \
        zk_##g sum;                                                                                                    \
        unsigned c = window_bits && kind[0] == 'f' ? window_bits : zk_fixed_base_window_bits(n);                       \
        bench_start(&times);                                                                                           \
        check(zk_fixed_base_##g##_create(&table, &zk_##g##_generator, c, pool, &err));                                 \
        bench_stop(&times);                                                                                            \
        bench_print("table of the generator", &times, (double)n);                                                      \
        check(zk_fixed_base_##g##_mul(table, bases, scalars, n, pool, &err));                                          \
        for (size_t i = 0; i < n; i++) scalars[i] = bench_fr(&seed);                                                   \
        if (kind[0] == 'm') items = 0;                                                                                 \
        for (size_t i = 0; i < n; i += 64) {                                                                           \
            bits[i / 64] = bench_rand(&seed);                                                                          \
            if (kind[0] == 'm') items += __builtin_popcountll(bits[i / 64]);                                           \
        }                                                                                                              \
        for (unsigned run = 0; run < n_runs; run++) {                                                                  \
            bench_start(&times);                                                                                       \
            if (kind[0] == 'g' && !window_bits) check(zk_msm_##g(&sum, bases, scalars, n, pool, &err));                \
            if (kind[0] == 'g' && window_bits)                                                                         \
                check(zk_msm_##g##_tuned(&sum, bases, scalars, n, &(zk_msm_tuning){.window_bits = window_bits}, pool,  \
                                         &err));                                                                       \
            if (kind[0] == 'm') check(zk_masked_sum_##g(&sum, bases, bits, n, pool, &err));                            \
            if (kind[0] == 'f') check(zk_fixed_base_##g##_mul(table, bases, scalars, n, pool, &err));                  \
            bench_stop(&times);                                                                                        \
        }                                                                                                              \
        bench_print(kind, &times, items);                                                                              \
        zk_fixed_base_##g##_destroy(table);                                                                            \
        zk_mem_free(bases);                                                                                            \
        zk_mem_free(bits);                                                                                             \
    }
GROUP_BENCH(g1)
GROUP_BENCH(g2)

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "g1";
    log2_n = bench_arg(argc, argv, 2, 18);
    unsigned n_threads = bench_arg(argc, argv, 3, 1);
    n_runs = bench_arg(argc, argv, 4, 5);
    window_bits = bench_arg(argc, argv, 5, 0);
    if (n_runs < 1 || n_runs > BENCH_MAX_RUNS || log2_n > 28 || !strchr("gmf", kind[0])) return 2;
    n = (size_t)1 << log2_n;
    uint64_t seed = 1;
    check(zk_pool_create(&pool, n_threads, &err));
    scalars = bench_alloc(n, sizeof *scalars);
    for (size_t i = 0; i < n; i++) scalars[i] = bench_fr(&seed);
    char last = kind[strlen(kind) - 1];
    printf("%s, 2^%u, %u threads, %.1f MB of work space\n", kind, log2_n, zk_pool_n_threads(pool),
           (double)(last == '2' ? zk_msm_g2_mem_bytes(n, n_threads) : zk_msm_g1_mem_bytes(n, n_threads)) * 1e-6);
    if (last == '2') {
        bench_g2(kind);
    } else {
        bench_g1(kind);
    }
    zk_mem_free(scalars);
    zk_pool_destroy(pool);
    return 0;
}
