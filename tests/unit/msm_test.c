/* msm.json, all of it, and sums of known multiples of the generator in every size, shape and cut; see msm_group.inc.
 * Long inputs of the public functions go to vector code where the CPU has it; the *_tuned functions are the scalar
 * code. */
#include "base/alloc.h"
#include "msm/batch_affine.h"
#include "msm/lanes/lanes.h"
#include "msm/msm.h"
#include "msm/plan.h"
#include "scalars.h"
#include "zk_json.h"

/* Limits the code that runs from now on; NULL: no limit. */
static void limit_cpu(const char *limit) {
    ZK_CHECK((limit ? setenv("CUZK_CPU", limit, 1) : unsetenv("CUZK_CPU")) == 0);
}

static zk_fr *new_scalars(size_t n) {
    zk_fr *s = calloc(n ? n : 1, sizeof *s);
    ZK_CHECK(s);
    return s;
}

static zk_fr fr_of_json(const zk_json *v) {
    uint8_t bytes[32];
    zk_fr r;
    zk_json_hex(bytes, 32, v);
    ZK_CHECK(zk_fr_from_bytes_le(&r, bytes));
    return r;
}

static const zk_json *vectors(void) {
    static const zk_json *file;
    if (!file) file = zk_json_load("primitives/msm.json");
    return file;
}

/* v = sum of digits times powers of 2^c, and, for halves, the two sums join to the scalar. */
static void test_recode(void) {
    uint64_t seed = 91;
    zk_fr x2, x;
    zk_fr_from_u64(&x, 0xd201000000010000);
    zk_fr_sqr(&x2, &x);
    for (unsigned c = ZK_WINDOW_BITS_MIN; c <= ZK_WINDOW_BITS_MAX; c++) {
        zk_windows whole, half;
        zk_fr base;
        zk_windows_whole(&whole, c);
        zk_windows_half(&half, c);
        zk_fr_from_u64(&base, (uint64_t)1 << c);
        for (int i = 0; i < 600; i++) {
            zk_fr s = fr_random(&seed), t;
            if (i < 20) zk_fr_from_i64(&s, i - 10);
            if (i >= 20 && i < 40) { /* around (r - 1)/2 */
                zk_fr_from_u64(&t, 2);
                (void)zk_fr_inv_var(&s, &t);
                zk_fr_from_i64(&t, i - 30);
                zk_fr_add(&s, &s, &t);
            }
            if (i >= 40 && i < 160) { /* around multiples of x^2 and of half of it */
                zk_fr_from_u64(&t, 2);
                (void)zk_fr_inv_var(&t, &t);
                if (i < 100) t = zk_fr_one;
                zk_fr_mul(&s, &t, &x2);
                if (i % 2) zk_fr_mul(&s, &s, &x2);
                zk_fr_from_i64(&t, i % 20 - 10);
                zk_fr_add(&s, &s, &t);
            }
            uint64_t u[4], u1[2], u2[2];
            const uint64_t *strings[3] = {u, u1, u2};
            zk_fr value[3];
            zk_recode_whole(u, &whole, &s);
            zk_recode_halves(u1, u2, &half, &s);
            for (int k = 0; k < 3; k++) {
                const zk_windows *w = k ? &half : &whole;
                value[k] = zk_fr_zero;
                for (unsigned d = w->n; d-- > 0;) {
                    int32_t digit = zk_window_digit(w, strings[k], d);
                    ZK_CHECKF(digit >= -((int32_t)1 << (c - 1)) && digit < (int32_t)1 << (c - 1), "c %u, digit %d", c,
                              digit);
                    zk_fr_mul(&value[k], &value[k], &base);
                    zk_fr_from_i64(&t, digit);
                    zk_fr_add(&value[k], &value[k], &t);
                }
            }
            ZK_CHECKF(zk_fr_eq(&value[0], &s), "whole, c %u, case %d", c, i);
            zk_fr_mul(&t, &value[2], &x2);
            zk_fr_sub(&t, &value[1], &t);
            ZK_CHECKF(zk_fr_eq(&t, &s), "halves, c %u, case %d", c, i);
        }
    }
}

/* What a call may take is known before it, and bounded as msm.h says. */
static void test_memory(void) {
    static const struct {
        const char *limit;
        size_t g1, g2, thread; /* MiB */
    } bounds[] = {{"adx", 700, 600, 2}, {"avx2", 160, 160, 4}, {NULL, 160, 160, 4}};
    ZK_CHECK(zk_msm_g1_mem_bytes(0, 1) == 0 && zk_msm_g2_mem_bytes(0, 1) == 0);
    for (int k = 0; k < 3; k++) {
        limit_cpu(bounds[k].limit);
        if (k > 0 && !zk_msm_g1_lanes_at(0)) continue;
        for (unsigned threads = 1; threads <= 64; threads *= 4) {
            for (unsigned log2_n = 3; log2_n <= 32; log2_n++) {
                size_t n = (size_t)1 << log2_n, more = threads * bounds[k].thread;
                size_t g1 = zk_msm_g1_mem_bytes(n, threads) >> 20, g2 = zk_msm_g2_mem_bytes(n, threads) >> 20;
                ZK_CHECKF(g1 <= bounds[k].g1 + more, "n %zu, %u threads: %zu MiB", n, threads, g1);
                ZK_CHECKF(g2 <= bounds[k].g2 + more, "n %zu, %u threads: %zu MiB", n, threads, g2);
            }
        }
    }
}

#define T(name) g1_##name
#define AFFINE zk_g1_affine
#define POINT zk_g1
#define GROUP(name) zk_g1_##name
#define GROUP_NAME "g1"
#define COMPRESSED_BYTES ZK_G1_COMPRESSED_BYTES
#define BATCH zk_g1_batch
#define BATCH_MAX ZK_G1_BATCH_MAX
#define TABLE zk_fixed_base_g1
#define FIXED(name) zk_fixed_base_g1_##name
#define MSM(name) zk_msm_g1_##name
#define MSM_PLAIN zk_msm_g1
#define MASKED zk_masked_sum_g1
#define WINDOW_BITS_MOST 19
#define N_BASES 16385
#include "msm_group.inc"
#undef T
#undef AFFINE
#undef POINT
#undef GROUP
#undef GROUP_NAME
#undef COMPRESSED_BYTES
#undef BATCH
#undef BATCH_MAX
#undef TABLE
#undef FIXED
#undef MSM
#undef MSM_PLAIN
#undef MASKED
#undef WINDOW_BITS_MOST
#undef N_BASES

#define T(name) g2_##name
#define AFFINE zk_g2_affine
#define POINT zk_g2
#define GROUP(name) zk_g2_##name
#define GROUP_NAME "g2"
#define COMPRESSED_BYTES ZK_G2_COMPRESSED_BYTES
#define BATCH zk_g2_batch
#define BATCH_MAX ZK_G2_BATCH_MAX
#define TABLE zk_fixed_base_g2
#define FIXED(name) zk_fixed_base_g2_##name
#define MSM(name) zk_msm_g2_##name
#define MSM_PLAIN zk_msm_g2
#define MASKED zk_masked_sum_g2
#define WINDOW_BITS_MOST 17
#define N_BASES 4097
#include "msm_group.inc"

ZK_TEST_MAIN(ZK_CASE(test_recode), ZK_CASE(test_memory), ZK_CASE(g1_batch_add), ZK_CASE(g2_batch_add),
             ZK_CASE(g1_fixed_base), ZK_CASE(g2_fixed_base), ZK_CASE(g1_vectors), ZK_CASE(g2_vectors),
             ZK_CASE(g1_sizes), ZK_CASE(g2_sizes), ZK_CASE(g1_infinity), ZK_CASE(g2_infinity), ZK_CASE(g1_collisions),
             ZK_CASE(g2_collisions), ZK_CASE(g1_digit_patterns), ZK_CASE(g2_digit_patterns), ZK_CASE(g1_threads),
             ZK_CASE(g2_threads), ZK_CASE(g1_masked), ZK_CASE(g2_masked), ZK_CASE(g1_out_of_memory),
             ZK_CASE(g2_out_of_memory))
