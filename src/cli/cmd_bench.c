/* cuzk bench msm, masked-sum, ntt: the kernels */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/bench.h"
#include "cli/commands.h"
#include "hash/sha256.h"
#include "msm/lanes/lanes.h"
#include "msm/msm.h"
#include "ntt/ntt.h"

enum { STREAM_BASE = 1, STREAM_SCALAR, STREAM_NTT };

/* ---- sums of points ---- */

/* Distinct random bases [b_i]G with known b_i, so that every result can be checked by one multiplication. Arrays lie in
 * the memory that a prover's do (base/mem.h). */
typedef struct points {
    bool g2, subsets;
    size_t n;
    zk_fr *multipliers; /* [n] b_i */
    zk_fr *scalars;     /* [n] */
    uint64_t *bits;     /* [ceil(n/64)] */
    zk_g1_affine *g1;
    zk_g2_affine *g2_points;
    zk_g1_affine *g1_table; /* of the sums of subsets, if asked for */
    zk_g2_affine *g2_table;
    zk_pool *pool;
    zk_g1 g1_sum;
    zk_g2 g2_sum;
} points;

static void points_free(points *p) {
    zk_mem_free(p->multipliers);
    zk_mem_free(p->scalars);
    zk_mem_free(p->bits);
    zk_mem_free(p->g1);
    zk_mem_free(p->g2_points);
    zk_mem_free(p->g1_table);
    zk_mem_free(p->g2_table);
}

static cuzk_status make_bases(points *p, cuzk_err *err) {
    unsigned window = zk_fixed_base_window_bits(p->n);
    cuzk_status status;
    if (p->g2) {
        zk_fixed_base_g2 *table = NULL;
        ZK_TRY(zk_fixed_base_g2_create(&table, &zk_g2_generator, window, p->pool, err));
        status = zk_fixed_base_g2_mul(table, p->g2_points, p->multipliers, p->n, p->pool, err);
        zk_fixed_base_g2_destroy(table);
    } else {
        zk_fixed_base_g1 *table = NULL;
        ZK_TRY(zk_fixed_base_g1_create(&table, &zk_g1_generator, window, p->pool, err));
        status = zk_fixed_base_g1_mul(table, p->g1, p->multipliers, p->n, p->pool, err);
        zk_fixed_base_g1_destroy(table);
    }
    return status;
}

static void fill_scalars(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    points *p = ctx;
    for (size_t i = begin; i < end; i++) {
        cli_bench_scalar(&p->multipliers[i], STREAM_BASE, i);
        cli_bench_scalar(&p->scalars[i], STREAM_SCALAR, i);
    }
}

static cuzk_status points_make(points *p, cuzk_err *err) {
    void *block[4] = {NULL};
    const size_t bytes[4] = {p->n * sizeof *p->multipliers, p->n * sizeof *p->scalars,
                             (p->n / 64 + 1) * sizeof *p->bits, p->n * (p->g2 ? sizeof *p->g2_points : sizeof *p->g1)};
    cuzk_status status = CUZK_OK;
    for (int i = 0; i < 4 && status == CUZK_OK; i++) status = zk_mem_alloc_shared(&block[i], "bench", bytes[i], err);
    p->multipliers = block[0];
    p->scalars = block[1];
    p->bits = block[2];
    if (p->g2)
        p->g2_points = block[3];
    else
        p->g1 = block[3];
    if (status != CUZK_OK) return status;
    cli_progress(NULL, "making distinct random bases", 0, 0);
    zk_pool_for(p->pool, p->n, 4096, fill_scalars, p);
    for (size_t i = 0; i < p->n; i++) /* half of the bits set, from the scalars' low bits */
        p->bits[i / 64] |= (p->scalars[i].l[0] & 1) << (i % 64);
    return make_bases(p, err);
}

/* Whether the sum is [k]G; the checksum is over its encoding. */
static cuzk_status check_sum(cli_bench *bench, const points *p, const zk_fr *k, cuzk_err *err) {
    uint8_t found[ZK_G2_COMPRESSED_BYTES], expected[ZK_G2_COMPRESSED_BYTES];
    size_t n = p->g2 ? ZK_G2_COMPRESSED_BYTES : ZK_G1_COMPRESSED_BYTES;
    if (p->g2) {
        zk_g2 g;
        zk_g2_affine a;
        zk_g2_to_affine(&a, &p->g2_sum);
        zk_g2_compress(found, &a);
        zk_g2_from_affine(&g, &zk_g2_generator);
        zk_g2_mul_var(&g, &g, k);
        zk_g2_to_affine(&a, &g);
        zk_g2_compress(expected, &a);
    } else {
        zk_g1 g;
        zk_g1_affine a;
        zk_g1_to_affine(&a, &p->g1_sum);
        zk_g1_compress(found, &a);
        zk_g1_from_affine(&g, &zk_g1_generator);
        zk_g1_mul_var(&g, &g, k);
        zk_g1_to_affine(&a, &g);
        zk_g1_compress(expected, &a);
    }
    zk_sha256(bench->checksum, found, n);
    if (memcmp(found, expected, n) != 0)
        return ZK_FAIL(err, CUZK_INTERNAL, "%s: the sum of %zu points is wrong", bench->name, p->n);
    bench->checked = true;
    return CUZK_OK;
}

static cuzk_status run_msm_once(void *ctx, cuzk_err *err) {
    points *p = ctx;
    if (p->g2) return zk_msm_g2(&p->g2_sum, p->g2_points, p->scalars, p->n, p->pool, err);
    return zk_msm_g1(&p->g1_sum, p->g1, p->scalars, p->n, p->pool, err);
}

static cuzk_status run_masked_once(void *ctx, cuzk_err *err) {
    points *p = ctx;
    if (p->g2) return zk_masked_sum_g2(&p->g2_sum, p->g2_points, p->bits, p->n, p->pool, err);
    return zk_masked_sum_g1(&p->g1_sum, p->g1, p->bits, p->n, p->pool, err);
}

static cuzk_status run_subsets_once(void *ctx, cuzk_err *err) {
    points *p = ctx;
    if (p->g2) return zk_msm_g2_lanes_at(0)->subset_table_sum(&p->g2_sum, p->g2_table, p->bits, p->n, p->pool, err);
    return zk_msm_g1_lanes_at(0)->subset_table_sum(&p->g1_sum, p->g1_table, p->bits, p->n, p->pool, err);
}

/* Makes the table of sums of subsets and says how long it took and what it takes. */
static cuzk_status make_table(points *p, cli_bench_field fields[2], cuzk_err *err) {
    const zk_msm_g1_lanes *g1 = zk_msm_g1_lanes_at(0);
    const zk_msm_g2_lanes *g2 = zk_msm_g2_lanes_at(0);
    if (!g1 || !g2)
        return ZK_FAIL(err, CUZK_UNSUPPORTED,
                       "--subsets: this machine, or CUZK_CPU, has neither AVX-512 IFMA nor AVX2");
    uint64_t start = zk_now_ns();
    ZK_TRY(p->g2 ? g2->subset_table_create(&p->g2_table, p->g2_points, p->n, p->pool, err)
                 : g1->subset_table_create(&p->g1_table, p->g1, p->n, p->pool, err));
    fields[0] = (cli_bench_field){"table_us", (zk_now_ns() - start) / 1000};
    fields[1] = (cli_bench_field){"table_bytes", p->g2 ? g2->subset_table_bytes(p->n) : g1->subset_table_bytes(p->n)};
    return CUZK_OK;
}

static int run_points(const cli_command *self, int argc, char **argv, bool masked) {
    cli_bench bench = {0};
    points p = {0};
    cuzk_err err = {0};
    uint64_t n = 1 << 16;
    const char *group = "g1";
    cli_option options[] = {
        {"n", "N", CLI_U64, &n, "number of points (default 65536)"},
        {"group", "G", CLI_STRING, &group, "g1 or g2 (default g1)"},
        CLI_BENCH_OPTIONS(bench),
        {"subsets", NULL, CLI_FLAG, &p.subsets, "by a table of the sums of all subsets of each four points"},
    };
    const size_t n_options = sizeof options / sizeof options[0] - !masked; /* the last is for masked sums */
    bool help = false;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_parse(&help, &(cli_arguments){options, n_options}, self, argc, argv, &err));
    if (help) goto out;
    p.g2 = strcmp(group, "g2") == 0;
    if (!p.g2 && strcmp(group, "g1") != 0)
        ZK_GOTO(ZK_FAIL(&err, CUZK_USAGE, "--group: found \"%s\", expected g1 or g2", group));
    if (n > (uint64_t)1 << 28) ZK_GOTO(ZK_FAIL(&err, CUZK_USAGE, "--n: found %" PRIu64 ", expected at most 2^28", n));
    p.n = n;
    ZK_GOTO(cli_bench_start(&bench, self->name, &err));
    p.pool = bench.pool;
    ZK_GOTO(points_make(&p, &err));
    cli_bench_field fields[4] = {{"n", n}, {"group", .text = group}};
    if (p.subsets) ZK_GOTO(make_table(&p, fields + 2, &err));
    ZK_GOTO(cli_bench_measure(&bench,
                              p.subsets ? run_subsets_once
                              : masked  ? run_masked_once
                                        : run_msm_once,
                              &p, &err));
    zk_fr sum = zk_fr_zero, term;
    for (size_t i = 0; i < p.n; i++) {
        if (masked)
            term = p.bits[i / 64] >> (i % 64) & 1 ? p.multipliers[i] : zk_fr_zero;
        else
            zk_fr_mul(&term, &p.multipliers[i], &p.scalars[i]);
        zk_fr_add(&sum, &sum, &term);
    }
    ZK_GOTO(check_sum(&bench, &p, &sum, &err));
    ZK_GOTO(cli_bench_report(&bench, fields, p.subsets ? 4 : 2, n, "points", &err));
out:
    points_free(&p);
    cli_bench_end(&bench);
    return cli_report(self, status, &err);
}

static int run_msm(const cli_command *self, int argc, char **argv) { return run_points(self, argc, argv, false); }
static int run_masked(const cli_command *self, int argc, char **argv) { return run_points(self, argc, argv, true); }

/* ---- transforms ---- */

typedef struct transform {
    zk_ntt_domain *domain;
    zk_fr *x;
    size_t n;
    zk_pool *pool;
    void (*run)(const zk_ntt_domain *domain, zk_fr *x, zk_pool *pool);
} transform;

static cuzk_status run_transform_once(void *ctx, cuzk_err *err) {
    (void)err;
    transform *t = ctx;
    t->run(t->domain, t->x, t->pool);
    return CUZK_OK;
}

/* One output of a forward transform of fresh inputs against the sum that defines it; then the way back restores all. */
static cuzk_status check_transform(cli_bench *bench, transform *t, unsigned log2_n, cuzk_err *err) {
    for (size_t i = 0; i < t->n; i++) cli_bench_scalar(&t->x[i], STREAM_NTT, i);
    zk_ntt_forward(t->domain, t->x, t->pool);
    size_t j = t->n > 5 ? 5 : t->n - 1;
    zk_fr w, sum = zk_fr_zero;
    zk_fr_root_of_unity(&w, log2_n);
    zk_fr_pow_u64(&w, &w, j);
    for (size_t i = t->n; i-- > 0;) { /* Horner */
        zk_fr x;
        cli_bench_scalar(&x, STREAM_NTT, i);
        zk_fr_mul(&sum, &sum, &w);
        zk_fr_add(&sum, &sum, &x);
    }
    bool good = zk_fr_eq(&sum, &t->x[j]);
    zk_sha256_ctx ctx;
    zk_sha256_init(&ctx);
    for (size_t i = 0; i < t->n; i++) {
        uint8_t bytes[32];
        zk_fr_to_bytes_le(bytes, &t->x[i]);
        zk_sha256_update(&ctx, bytes, sizeof bytes);
    }
    zk_sha256_final(bench->checksum, &ctx);
    zk_ntt_inverse(t->domain, t->x, t->pool);
    for (size_t i = 0; good && i < t->n; i++) {
        zk_fr x;
        cli_bench_scalar(&x, STREAM_NTT, i);
        good = zk_fr_eq(&x, &t->x[i]);
    }
    if (!good) return ZK_FAIL(err, CUZK_INTERNAL, "%s: the transform of size 2^%u is wrong", bench->name, log2_n);
    bench->checked = true;
    return CUZK_OK;
}

static int run_ntt(const cli_command *self, int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(const zk_ntt_domain *domain, zk_fr *x, zk_pool *pool);
    } kinds[] = {{"forward", zk_ntt_forward},
                 {"inverse", zk_ntt_inverse},
                 {"coset-forward", zk_ntt_coset_forward},
                 {"coset-inverse", zk_ntt_coset_inverse}};
    cli_bench bench = {0};
    transform t = {0};
    cuzk_err err = {0};
    uint64_t log2_n = 20;
    const char *kind = "forward";
    cli_option options[] = {
        {"log2-n", "K", CLI_U64, &log2_n, "size 2^K (default 20)"},
        {"kind", "NAME", CLI_STRING, &kind, "forward, inverse, coset-forward or coset-inverse (default forward)"},
        CLI_BENCH_OPTIONS(bench),
    };
    bool help = false;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_parse(&help, &(cli_arguments){CLI_ALL(options)}, self, argc, argv, &err));
    if (help) goto out;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kind, kinds[i].name) == 0) t.run = kinds[i].run;
    if (!t.run) ZK_GOTO(ZK_FAIL(&err, CUZK_USAGE, "--kind: found \"%s\" (see --help)", kind));
    if (log2_n > 30) ZK_GOTO(ZK_FAIL(&err, CUZK_USAGE, "--log2-n: found %" PRIu64 ", expected at most 30", log2_n));
    ZK_GOTO(cli_bench_start(&bench, self->name, &err));
    t.pool = bench.pool;
    t.n = (size_t)1 << log2_n;
    ZK_GOTO(zk_ntt_domain_create(&t.domain, (unsigned)log2_n, t.pool, &err));
    void *block;
    ZK_GOTO(zk_mem_alloc_shared(&block, "bench", t.n * sizeof *t.x, &err));
    t.x = block;
    for (size_t i = 0; i < t.n; i++) cli_bench_scalar(&t.x[i], STREAM_NTT, i);
    ZK_GOTO(cli_bench_measure(&bench, run_transform_once, &t, &err));
    ZK_GOTO(check_transform(&bench, &t, (unsigned)log2_n, &err));
    cli_bench_field fields[] = {{"log2_n", log2_n}, {"kind", .text = kind}};
    ZK_GOTO(cli_bench_report(&bench, fields, 2, log2_n * t.n / 2, "butterflies", &err));
out:
    zk_mem_free(t.x);
    zk_ntt_domain_destroy(t.domain);
    cli_bench_end(&bench);
    return cli_report(self, status, &err);
}

const cli_command cli_bench_msm = {"bench msm", "multi-scalar multiplication: uniform scalars, distinct random bases",
                                   run_msm, NULL};
const cli_command cli_bench_masked_sum = {"bench masked-sum", "sum of the points selected by a bitmap, half of them",
                                          run_masked, NULL};
const cli_command cli_bench_ntt = {"bench ntt", "number-theoretic transform over Fr", run_ntt, NULL};
