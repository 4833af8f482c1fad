/* G1 and G2 in lanes, for every instruction set at hand; see lanes_group.inc. On a CPU with none every case passes
 * empty. */
#include <sched.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "msm/lanes/lanes.h"
#include "rounding_mode.h"
#include "scalars.h"
#include "zk_test.h"

static zk_fr *new_scalars(size_t n) {
    zk_fr *s = calloc(n + 1, sizeof *s);
    ZK_CHECK(s);
    return s;
}

#define LARGE 9001
#define T(name) g1_##name
#define AFFINE zk_g1_affine
#define POINT zk_g1
#define GROUP(name) zk_g1_##name
#define LANES_FUNCTIONS zk_msm_g1_lanes
#define LANES_AT(k) zk_msm_g1_lanes_at(k)
#include "lanes_group.inc"
#undef LARGE
#undef T
#undef AFFINE
#undef POINT
#undef GROUP
#undef LANES_FUNCTIONS
#undef LANES_AT

#define LARGE 4500
#define T(name) g2_##name
#define AFFINE zk_g2_affine
#define POINT zk_g2
#define GROUP(name) zk_g2_##name
#define LANES_FUNCTIONS zk_msm_g2_lanes
#define LANES_AT(k) zk_msm_g2_lanes_at(k)
#include "lanes_group.inc"

enum { MODE_THREADS = 3 };
typedef struct modes_read {
    atomic_int arrived;
    unsigned mode[MODE_THREADS];
} modes_read;

/* Each call waits for the others, so every thread of the pool makes one. */
static void read_mode(void *ctx, size_t begin, size_t end, unsigned thread) {
    modes_read *m = ctx;
    (void)begin, (void)end;
    m->mode[thread] = mode_now();
    atomic_fetch_add(&m->arrived, 1);
    while (atomic_load(&m->arrived) < MODE_THREADS) sched_yield();
}

static void check_pool_modes(zk_pool *pool, unsigned usual) {
    modes_read m = {0};
    zk_pool_for(pool, MODE_THREADS, 1, read_mode, &m);
    for (int i = 0; i < MODE_THREADS; i++) ZK_CHECKF(m.mode[i] == usual, "thread %d: %x", i, m.mode[i]);
}

/* The caller's mode, whatever it is, and those of the pool's threads are as before after every function, also when it
 * has nothing to do or no memory. */
static void test_rounding(void) {
    enum { N = 3000 };
    static const unsigned modes[] = {0x1f80, 0x3f80, 0x5f80, 0x9fc0, 0x1e00};
    cuzk_err err = {0};
    zk_pool *pool;
    const unsigned usual = mode_now();
    g1_set s = g1_make_set(N, 3);
    zk_fr *scalars = new_scalars(N);
    uint64_t bits[N / 64 + 1], seed = 5;
    zk_g1_affine *table, *multiples = malloc(N * sizeof *multiples);
    void *sums[2];
    static zk_subgroup_draw draw;
    zk_windows windows;
    ZK_CHECK(multiples);
    zk_windows_whole(&windows, 4);
    for (size_t i = 0; i < N; i++) scalars[i] = fr_random(&seed);
    for (size_t i = 0; i <= N / 64; i++) bits[i] = zk_test_rand(&seed);
    ZK_CHECK_OK(zk_pool_create(&pool, MODE_THREADS, &err), err);
    check_pool_modes(pool, usual);
    for (size_t v = 0; zk_msm_g1_lanes_at(v); v++) {
        const zk_msm_g1_lanes *lanes = zk_msm_g1_lanes_at(v);
        for (size_t k = 0; k < sizeof modes / sizeof modes[0]; k++) {
            zk_g1 r;
            mode_set(modes[k]);
            const unsigned mode = mode_now();
            for (size_t n = 0; n <= N; n += N) {
                ZK_CHECK_OK(lanes->msm(&r, s.bases, scalars, n, NULL, pool, &err), err);
                ZK_CHECKF(mode_now() == mode, "%s: msm, mode %zu", lanes->name, k);
                ZK_CHECK_OK(lanes->masked_sum(&r, s.bases, bits, n, pool, &err), err);
                ZK_CHECKF(mode_now() == mode, "%s: masked sum, mode %zu", lanes->name, k);
                ZK_CHECK_OK(lanes->subset_table_create(&table, s.bases, n, pool, &err), err);
                ZK_CHECK_OK(lanes->subset_table_sum(&r, table, bits, n, pool, &err), err);
                ZK_CHECKF(mode_now() == mode, "%s: subset table, mode %zu", lanes->name, k);
                zk_mem_free(table);
                ZK_CHECK_OK(lanes->fixed_mul(multiples, s.bases, &windows, scalars, n, pool, &err), err);
                ZK_CHECKF(mode_now() == mode, "%s: multiples, mode %zu", lanes->name, k);
            }
            for (int i = 0; i < 2; i++) ZK_CHECK_OK(lanes->sums_create(&sums[i], &err), err);
            for (int i = 0; i < 2; i++) lanes->sums_add(sums[i], s.bases, N, &draw);
            lanes->sums_join(sums[0], sums[1]);
            zk_g1_affine *got = malloc(ZK_SUBGROUP_LANES * sizeof *got);
            ZK_CHECK(got);
            lanes->sums_get(got, sums[0], 0);
            ZK_CHECKF(mode_now() == mode, "%s: subgroup sums, mode %zu", lanes->name, k);
            free(got);
            for (int i = 0; i < 2; i++) zk_mem_free(sums[i]);
            mode_set(usual);
        }
        check_pool_modes(pool, usual);
    }
    zk_pool_destroy(pool);
    g1_free_set(&s);
    free(scalars);
    free(multiples);
}

ZK_TEST_MAIN(ZK_CASE(g1_msm_sizes), ZK_CASE(g2_msm_sizes), ZK_CASE(g1_msm_collisions), ZK_CASE(g2_msm_collisions),
             ZK_CASE(g1_masked), ZK_CASE(g2_masked), ZK_CASE(g1_fixed), ZK_CASE(g2_fixed), ZK_CASE(test_rounding))
