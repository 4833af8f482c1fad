/* Nanoseconds per operation of field, curve and pairing, per variant.
 *
 * usage: cuzk_bench_field [substring of the operation's name]
 *
 * `dependent`: each operation needs the result of the one before (latency). `independent`: eight streams (throughput).
 * Operations that take long are measured one way only. Each figure is the minimum, median and maximum of 21 runs of
 * about two milliseconds.
 */
#include "bench.h"
#include "curve/curve.h"
#include "pairing/pairing.h"
#include "pairing/tower.h"

#define N_RUNS 21
#define STREAMS 8

/* Operands, filled anew before each measurement. */
static zk_fr fr[STREAMS], fr_b;
static zk_fp fp[STREAMS], fp_b;
static zk_fp2 fp2[STREAMS], fp2_b;
static zk_fp12 fp12[STREAMS];
static zk_g1 g1[STREAMS], g1_b;
static zk_g2 g2[STREAMS], g2_b;
static zk_g1_affine g1_affine[4];
static zk_g2_affine g2_affine[4];
static zk_fr scalar;
static uint8_t g1_bytes[48], g2_bytes[96];
static zk_g2_prepared *prepared[4];
static volatile int sink;

static void fill(void) {
    uint64_t limbs[6] = {1, 2, 3, 4, 5, 6};
    for (int i = 0; i < STREAMS; i++) {
        for (int k = 0; k < 6; k++) limbs[k] = limbs[k] * 0x9e3779b97f4a7c15u + (uint64_t)i + 0xbf58476d1ce4e5b9u;
        uint64_t low[6];
        memcpy(low, limbs, sizeof low);
        low[3] >>= 2;
        zk_fr_from_limbs(&fr[i], low);
        low[5] >>= 4;
        zk_fp_from_limbs(&fp[i], low);
        fp2[i] = (zk_fp2){fp[i], fp[i / 2]};
        fp12[i] = (zk_fp12){{fp2[i], fp2[i / 2], fp2[i / 3]}, {fp2[i / 4], fp2[i], fp2[0]}};
        zk_g1_from_affine(&g1[i], &zk_g1_generator);
        zk_g2_from_affine(&g2[i], &zk_g2_generator);
        zk_g1_mul_var(&g1[i], &g1[i], &fr[i]);
        zk_g2_mul_var(&g2[i], &g2[i], &fr[i]);
    }
    fr_b = fr[3];
    fp_b = fp[3];
    fp2_b = fp2[3];
    g1_b = g1[3];
    g2_b = g2[3];
    scalar = fr[5];
    for (int i = 0; i < 4; i++) {
        zk_g1_to_affine(&g1_affine[i], &g1[4 + i]);
        zk_g2_to_affine(&g2_affine[i], &g2[4 + i]);
        if (!prepared[i] && !(prepared[i] = malloc(zk_g2_prepared_bytes()))) exit(4);
        zk_g2_prepare(prepared[i], &g2_affine[i]);
    }
    zk_g1_compress(g1_bytes, &g1_affine[0]);
    zk_g2_compress(g2_bytes, &g2_affine[0]);
}

/* LOOP2(name, stmt): name_dep runs stmt on stream 0 only, name_ind on all streams in turn. stmt uses i. */
#define LOOP2(name, stmt)                                                                                              \
    static void name##_dep(size_t n) {                                                                                 \
        const int i = 0;                                                                                               \
        for (size_t k = 0; k < n; k++) stmt;                                                                           \
    }                                                                                                                  \
    static void name##_ind(size_t n) {                                                                                 \
        for (size_t k = 0; k < n; k += STREAMS)                                                                        \
            for (int i = 0; i < STREAMS; i++) stmt;                                                                    \
    }
#define LOOP1(name, stmt)                                                                                              \
    static void name##_dep(size_t n) {                                                                                 \
        for (size_t k = 0; k < n; k++) stmt;                                                                           \
    }

LOOP2(fr_add, zk_fr_add(&fr[i], &fr[i], &fr_b))
LOOP2(fr_mul, zk_fr_mul(&fr[i], &fr[i], &fr_b))
LOOP2(fr_sqr, zk_fr_sqr(&fr[i], &fr[i]))
LOOP1(fr_inv, zk_fr_inv_var(&fr[0], &fr[0]))
LOOP2(fp_add, zk_fp_add(&fp[i], &fp[i], &fp_b))
LOOP2(fp_sub, zk_fp_sub(&fp[i], &fp[i], &fp_b))
LOOP2(fp_mul, zk_fp_mul(&fp[i], &fp[i], &fp_b))
LOOP2(fp_sqr, zk_fp_sqr(&fp[i], &fp[i]))
LOOP1(fp_inv, zk_fp_inv_var(&fp[0], &fp[0]))
LOOP1(fp_sqrt, sink = zk_fp_sqrt_var(&fp[1], &fp[0]))
LOOP2(fp2_mul, zk_fp2_mul(&fp2[i], &fp2[i], &fp2_b))
LOOP2(fp2_sqr, zk_fp2_sqr(&fp2[i], &fp2[i]))
LOOP1(fp2_inv, zk_fp2_inv_var(&fp2[0], &fp2[0]))
LOOP1(fp2_sqrt, sink = zk_fp2_sqrt_var(&fp2[1], &fp2[0]))
LOOP1(fp12_mul, zk_fp12_mul(&fp12[0], &fp12[0], &fp12[1]))
LOOP1(fp12_sqr, zk_fp12_sqr(&fp12[0], &fp12[0]))
LOOP1(fp12_cyclotomic, zk_fp12_cyclotomic_sqr(&fp12[0], &fp12[0]))
LOOP2(g1_add, zk_g1_add(&g1[i], &g1[i], &g1_b))
LOOP2(g1_add_affine, zk_g1_add_affine(&g1[i], &g1[i], &g1_affine[0]))
LOOP2(g1_double, zk_g1_double(&g1[i], &g1[i]))
LOOP1(g1_mul, zk_g1_mul_var(&g1[0], &g1[0], &scalar))
LOOP1(g1_subgroup, sink = zk_g1_affine_is_in_subgroup(&g1_affine[0]))
LOOP1(g1_decompress, sink = zk_g1_decompress(&g1_affine[1], g1_bytes, false) == ZK_POINT_OK)
LOOP2(g2_add, zk_g2_add(&g2[i], &g2[i], &g2_b))
LOOP2(g2_add_affine, zk_g2_add_affine(&g2[i], &g2[i], &g2_affine[0]))
LOOP2(g2_double, zk_g2_double(&g2[i], &g2[i]))
LOOP1(g2_mul, zk_g2_mul_var(&g2[0], &g2[0], &scalar))
LOOP1(g2_subgroup, sink = zk_g2_affine_is_in_subgroup(&g2_affine[0]))
LOOP1(g2_decompress, sink = zk_g2_decompress(&g2_affine[1], g2_bytes, false) == ZK_POINT_OK)
LOOP1(g2_prepare, zk_g2_prepare(prepared[0], &g2_affine[0]))
LOOP1(miller_1, zk_pairing_miller_loop(&fp12[0], g1_affine, g2_affine, 1))
LOOP1(miller_4, zk_pairing_miller_loop(&fp12[0], g1_affine, g2_affine, 4))
LOOP1(miller_4_prepared,
      zk_pairing_miller_loop_prepared(&fp12[0], g1_affine, (const zk_g2_prepared *const *)prepared, 4))
LOOP1(final_exp, zk_pairing_final_exp(&fp12[1], &fp12[0]))
LOOP1(pairing, zk_pairing(&fp12[0], g1_affine, g2_affine))
LOOP1(product_3, sink = zk_pairing_product_is_one(g1_affine, g2_affine, 3))
LOOP1(product_4, sink = zk_pairing_product_is_one(g1_affine, g2_affine, 4))

typedef struct op {
    const char *name, *mode;
    void (*run)(size_t n);
} op;

#define OP2(name)                                                                                                      \
    {#name, "dependent", name##_dep}, { #name, "independent", name##_ind }
#define OP1(name)                                                                                                      \
    { #name, "", name##_dep }

static const op ops[] = {
    OP2(fr_add),        OP2(fr_mul),          OP2(fr_sqr),
    OP1(fr_inv),        OP2(fp_add),          OP2(fp_sub),
    OP2(fp_mul),        OP2(fp_sqr),          OP1(fp_inv),
    OP1(fp_sqrt),       OP2(fp2_mul),         OP2(fp2_sqr),
    OP1(fp2_inv),       OP1(fp2_sqrt),        OP1(fp12_mul),
    OP1(fp12_sqr),      OP1(fp12_cyclotomic), OP2(g1_add),
    OP2(g1_add_affine), OP2(g1_double),       OP1(g1_mul),
    OP1(g1_subgroup),   OP1(g1_decompress),   OP2(g2_add),
    OP2(g2_add_affine), OP2(g2_double),       OP1(g2_mul),
    OP1(g2_subgroup),   OP1(g2_decompress),   OP1(g2_prepare),
    OP1(miller_1),      OP1(miller_4),        OP1(miller_4_prepared),
    OP1(final_exp),     OP1(pairing),         OP1(product_3),
    OP1(product_4),
};

static void measure(const char *variant, const op *o) {
    double runs[N_RUNS];
    size_t n = STREAMS;
    fill();
    for (;;) { /* warm up, and find how many fill two milliseconds */
        double start = bench_now();
        o->run(n);
        double took = bench_now() - start;
        if (took > 2e-3 || n > (size_t)1 << 40) break;
        n = took < 1e-4 ? 8 * n : 2 * n;
    }
    for (int i = 0; i < N_RUNS; i++) {
        double start = bench_now();
        o->run(n);
        runs[i] = (bench_now() - start) * 1e9 / (double)n;
    }
    qsort(runs, N_RUNS, sizeof runs[0], bench_compare);
    printf("%-9s %-18s %-12s %10.1f %10.1f %10.1f\n", variant, o->name, o->mode, runs[0], runs[N_RUNS / 2],
           runs[N_RUNS - 1]);
    fflush(stdout);
}

int main(int argc, char **argv) {
    printf("%-9s %-18s %-12s %10s %10s %10s  ns\n", "variant", "operation", "mode", "min", "median", "max");
    for (int v = 0; v < ZK_FIELD_N_VARIANTS; v++) {
        if (!zk_field_force((zk_field_variant)v)) continue;
        for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
            if (argc < 2 || strstr(ops[i].name, argv[1])) measure(zk_field_variant_name((zk_field_variant)v), &ops[i]);
    }
    return 0;
}
