/* The fastest kernels in lanes that this CPU and CUZK_CPU allow (ifma, avx2) beside the scalar ones.
 *
 *   cuzk_bench_lanes WHAT [LOG2_N] [THREADS] [REPEAT] [WINDOW_BITS]
 *   WHAT: g1 g2 (multi-scalar multiplication), sum1 sum2 (masked sum, half the bits set), table1 table2 subsets1
 * subsets2 (subset tables: making one, the masked sum with it), fixed1 fixed2 (multiples of one base), ntt intt
 * quotient; a trailing s asks for the scalar code ("g1s")
 *
 * Prints the least wall and CPU time of the repetitions; CPU time counts all threads and suffers less from neighbours.
 */
#include "bench.h"
#include "msm/lanes/lanes.h"
#include "msm/plan.h"
#include "ntt/ntt.h"

static uint64_t state = 1;
static uint64_t random_word(void) { return bench_rand(&state); }

typedef struct bench {
    zk_pool *pool;
    size_t n;
    unsigned window_bits;
    bool scalar_code;
    cuzk_err err;
    /* of sums and multiples */
    zk_fr *scalars;
    uint64_t *bits;
    zk_g1_affine *bases_g1, *subsets_g1, *result_g1;
    zk_g2_affine *bases_g2, *subsets_g2, *result_g2;
    zk_fixed_base_g1 *multiples_g1;
    zk_fixed_base_g2 *multiples_g2;
    /* of transforms */
    zk_ntt_domain *domain;
    zk_fr *vectors[3];
} bench;

static void make_scalars(bench *b) {
    b->scalars = bench_alloc(b->n, sizeof *b->scalars);
    b->bits = bench_alloc(b->n / 64 + 1, sizeof *b->bits);
    for (size_t i = 0; i <= b->n / 64; i++) b->bits[i] = random_word();
    for (size_t i = 0; i < b->n; i++) {
        uint8_t wide[64];
        for (int k = 0; k < 8; k++) memcpy(wide + 8 * k, &(uint64_t){random_word()}, 8);
        zk_fr_from_bytes_wide(&b->scalars[i], wide);
    }
}

/* Body once, groups twice. Distinct bases: multiples of the generator by random numbers of 64 bits. */
#define GROUP_RUNS(g)                                                                                                  \
    static cuzk_status make_##g(bench *b) {                                                                            \
        const unsigned c = b->window_bits ? b->window_bits : zk_fixed_base_window_bits(b->n);                          \
        zk_fr *small = bench_alloc(b->n, sizeof *small);                                                               \
        make_scalars(b);                                                                                               \
        for (size_t i = 0; i < b->n; i++) zk_fr_from_u64(&small[i], random_word());                                    \
        b->bases_##g = bench_alloc(b->n, sizeof *b->bases_##g);                                                        \
        b->result_##g = bench_alloc(b->n, sizeof *b->result_##g);                                                      \
        ZK_TRY(zk_fixed_base_##g##_create(&b->multiples_##g, &zk_##g##_generator, c, b->pool, &b->err));               \
        ZK_TRY(zk_fixed_base_##g##_mul(b->multiples_##g, b->bases_##g, small, b->n, b->pool, &b->err));                \
        zk_mem_free(small);                                                                                            \
        return CUZK_OK;                                                                                                \
    }                                                                                                                  \
    static cuzk_status run_msm_##g(bench *b) {                                                                         \
        const unsigned c = b->window_bits;                                                                             \
        zk_##g r;                                                                                                      \
        if (b->scalar_code)                                                                                            \
            return zk_msm_##g##_tuned(&r, b->bases_##g, b->scalars, b->n, &(zk_msm_tuning){.window_bits = c}, b->pool, \
                                      &b->err);                                                                        \
        return zk_msm_##g##_lanes_at(0)->msm(&r, b->bases_##g, b->scalars, b->n,                                       \
                                             &(zk_msm_lanes_tuning){.window_bits = c}, b->pool, &b->err);              \
    }                                                                                                                  \
    static cuzk_status run_sum_##g(bench *b) {                                                                         \
        zk_##g r;                                                                                                      \
        return (b->scalar_code ? zk_masked_sum_##g : zk_msm_##g##_lanes_at(0)->masked_sum)(&r, b->bases_##g, b->bits,  \
                                                                                           b->n, b->pool, &b->err);    \
    }                                                                                                                  \
    static cuzk_status run_table_##g(bench *b) {                                                                       \
        zk_mem_free(b->subsets_##g);                                                                                   \
        b->subsets_##g = NULL;                                                                                         \
        return zk_msm_##g##_lanes_at(0)->subset_table_create(&b->subsets_##g, b->bases_##g, b->n, b->pool, &b->err);   \
    }                                                                                                                  \
    static cuzk_status run_subsets_##g(bench *b) {                                                                     \
        zk_##g r;                                                                                                      \
        if (!b->subsets_##g) ZK_TRY(run_table_##g(b));                                                                 \
        return zk_msm_##g##_lanes_at(0)->subset_table_sum(&r, b->subsets_##g, b->bits, b->n, b->pool, &b->err);        \
    }                                                                                                                  \
    static cuzk_status run_fixed_##g(bench *b) {                                                                       \
        return zk_fixed_base_##g##_mul(b->multiples_##g, b->result_##g, b->scalars, b->n, b->pool, &b->err);           \
    }
GROUP_RUNS(g1)
GROUP_RUNS(g2)

static cuzk_status make_vectors(bench *b) {
    for (int v = 0; v < 3; v++) {
        b->vectors[v] = bench_alloc(b->n, sizeof *b->vectors[v]);
        for (size_t i = 0; i < b->n; i++) zk_fr_from_u64(&b->vectors[v][i], random_word());
    }
    return zk_ntt_domain_create(&b->domain, (unsigned)__builtin_ctzll(b->n), b->pool, &b->err);
}

static cuzk_status run_ntt(bench *b) {
    zk_ntt_forward(b->domain, b->vectors[0], b->pool);
    return CUZK_OK;
}

static cuzk_status run_intt(bench *b) {
    zk_ntt_inverse(b->domain, b->vectors[0], b->pool);
    return CUZK_OK;
}

static cuzk_status run_quotient(bench *b) {
    zk_ntt_quotient(b->domain, b->vectors[0], b->vectors[1], b->vectors[2], b->pool);
    return CUZK_OK;
}

static const struct kind {
    const char *name;
    cuzk_status (*make)(bench *b);
    cuzk_status (*run)(bench *b);
    bool lanes_only; /* there is no scalar code for it */
} kinds[] = {
#define GROUP_KINDS(g, number)                                                                                         \
    {"g" number, make_##g, run_msm_##g}, {"sum" number, make_##g, run_sum_##g},                                        \
        {"table" number, make_##g, run_table_##g, true}, {"subsets" number, make_##g, run_subsets_##g, true},          \
        {"fixed" number, make_##g, run_fixed_##g},
    {"ntt", make_vectors, run_ntt},
    {"intt", make_vectors, run_intt},
    {"quotient", make_vectors, run_quotient},
    GROUP_KINDS(g1, "1") GROUP_KINDS(g2, "2")};

/* The kind of a name without its trailing s; NULL: there is none. */
static const struct kind *kind_of(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strncmp(name, kinds[i].name, length) == 0 && !kinds[i].name[length]) return &kinds[i];
    return NULL;
}

static void check(cuzk_status status, const bench *b) {
    if (status == CUZK_OK) return;
    fprintf(stderr, "%s\n", b->err.message);
    exit(1);
}

static void measure(bench *b, const struct kind *kind, const char *what, unsigned repeat) {
    double wall = 1e9, cpu = 1e9;
    for (unsigned i = 0; i < repeat; i++) {
        const double wall_start = bench_now(), cpu_start = bench_cpu_now();
        check(kind->run(b), b);
        const double w = bench_now() - wall_start, c = bench_cpu_now() - cpu_start;
        if (w < wall) wall = w;
        if (c < cpu) cpu = c;
    }
    printf("%s n %zu threads %u: wall %.2f ms, cpu %.2f ms, %.1f ns a point (cpu)\n", what, b->n,
           zk_pool_n_threads(b->pool), wall * 1e3, cpu * 1e3, cpu * 1e9 / (double)b->n);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "g1";
    bench b = {.n = (size_t)1 << bench_arg(argc, argv, 2, 16), .window_bits = bench_arg(argc, argv, 5, 0)};
    size_t length = strlen(what);
    b.scalar_code = length > 0 && what[length - 1] == 's';
    const struct kind *kind = kind_of(what, length - b.scalar_code);
    if (!kind || (b.scalar_code && kind->lanes_only)) {
        fprintf(stderr, "%s: no such measurement\n", what);
        return 2;
    }
    if (b.scalar_code && setenv("CUZK_CPU", "adx", 1) != 0) return 1; /* what has no entry of its own asks for it */
    if (!b.scalar_code && !zk_msm_g1_lanes_at(0)) {
        fprintf(stderr, "this machine, or CUZK_CPU, has neither AVX-512 IFMA nor AVX2\n");
        return 1;
    }
    check(zk_pool_create(&b.pool, bench_arg(argc, argv, 3, 1), &b.err), &b);
    check(kind->make(&b), &b);
    measure(&b, kind, what, bench_arg(argc, argv, 4, 5));
    return 0;
}
