/* The fastest kernels in lanes that this CPU and CUZK_CPU allow (ifma, avx2) beside the scalar ones.
 *
 *   cuzk_bench_lanes WHAT [LOG2_N] [THREADS] [REPEAT] [WINDOW_BITS]
 *   WHAT: g1 g2 (multi-scalar multiplication), sum1 sum2 (masked sum, half the bits set), table1 subsets1 (subset
 * tables: making one, the masked sum with it), fixed1 fixed2 (multiples of one base), ntt intt quotient; a trailing s
 * asks for the scalar code ("g1s")
 *
 * Prints the least wall and CPU time of the repetitions; CPU time counts all threads and suffers less from neighbours.
 */
#include "bench.h"
#include "base/alloc.h"
#include "msm/lanes/lanes.h"
#include "msm/plan.h"
#include "ntt/ntt.h"

static uint64_t state = 1;
static uint64_t random_word(void) { return bench_rand(&state); }

typedef struct bench {
    zk_pool *pool;
    zk_fr *scalars;
    zk_g1_affine *g1;
    zk_g2_affine *g2;
    zk_g1_affine *subsets;
    uint64_t *bits;
    void *result;
    zk_fixed_base_g1 *table1;
    zk_fixed_base_g2 *table2;
    zk_ntt_domain *domain;
    zk_fr *vectors[3];
    size_t n;
    bool scalar_code;
    unsigned window_bits;
    cuzk_err err;
} bench;

static cuzk_status run_g1(bench *b) {
    zk_g1 r;
    if (b->scalar_code)
        return zk_msm_g1_tuned(&r, b->g1, b->scalars, b->n, &(zk_msm_tuning){.window_bits = b->window_bits}, b->pool,
                               &b->err);
    return zk_msm_g1_lanes_at(0)->msm(&r, b->g1, b->scalars, b->n,
                                      &(zk_msm_lanes_tuning){.window_bits = b->window_bits}, b->pool, &b->err);
}

static cuzk_status run_g2(bench *b) {
    zk_g2 r;
    if (b->scalar_code)
        return zk_msm_g2_tuned(&r, b->g2, b->scalars, b->n, &(zk_msm_tuning){.window_bits = b->window_bits}, b->pool,
                               &b->err);
    return zk_msm_g2_lanes_at(0)->msm(&r, b->g2, b->scalars, b->n,
                                      &(zk_msm_lanes_tuning){.window_bits = b->window_bits}, b->pool, &b->err);
}

static cuzk_status run_sum1(bench *b) {
    zk_g1 r;
    return (b->scalar_code ? zk_masked_sum_g1 : zk_msm_g1_lanes_at(0)->masked_sum)(&r, b->g1, b->bits, b->n, b->pool,
                                                                                   &b->err);
}

static cuzk_status run_sum2(bench *b) {
    zk_g2 r;
    return (b->scalar_code ? zk_masked_sum_g2 : zk_msm_g2_lanes_at(0)->masked_sum)(&r, b->g2, b->bits, b->n, b->pool,
                                                                                   &b->err);
}

static cuzk_status run_table1(bench *b) {
    zk_g1_affine *table;
    cuzk_status status = zk_msm_g1_lanes_at(0)->subset_table_create(&table, b->g1, b->n, b->pool, &b->err);
    if (status == CUZK_OK) zk_mem_free(table);
    return status;
}

static cuzk_status run_subsets1(bench *b) {
    zk_g1 r;
    if (!b->subsets) {
        cuzk_status status = zk_msm_g1_lanes_at(0)->subset_table_create(&b->subsets, b->g1, b->n, b->pool, &b->err);
        if (status != CUZK_OK) return status;
    }
    return zk_msm_g1_lanes_at(0)->subset_table_sum(&r, b->subsets, b->bits, b->n, b->pool, &b->err);
}

static cuzk_status run_fixed1(bench *b) {
    return zk_fixed_base_g1_mul(b->table1, b->result, b->scalars, b->n, b->pool, &b->err);
}

static cuzk_status run_fixed2(bench *b) {
    return zk_fixed_base_g2_mul(b->table2, b->result, b->scalars, b->n, b->pool, &b->err);
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
    cuzk_status (*run)(bench *b);
    enum { IN_G1, IN_G2, VECTORS } input;
    bool lanes_only; /* there is no scalar code for it */
} kinds[] = {{"g1", run_g1, IN_G1},
             {"g2", run_g2, IN_G2},
             {"sum1", run_sum1, IN_G1},
             {"sum2", run_sum2, IN_G2},
             {"table1", run_table1, IN_G1, true},
             {"subsets1", run_subsets1, IN_G1, true},
             {"fixed1", run_fixed1, IN_G1},
             {"fixed2", run_fixed2, IN_G2},
             {"ntt", run_ntt, VECTORS},
             {"intt", run_intt, VECTORS},
             {"quotient", run_quotient, VECTORS}};

/* The kind of a name without its trailing s; NULL: there is none. */
static const struct kind *kind_of(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strncmp(name, kinds[i].name, length) == 0 && !kinds[i].name[length]) return &kinds[i];
    return NULL;
}

static cuzk_status make_vectors(bench *b, unsigned log2_n) {
    cuzk_status status = zk_ntt_domain_create(&b->domain, log2_n, b->pool, &b->err);
    for (int v = 0; v < 3 && status == CUZK_OK; v++) {
        void *block;
        status = zk_mem_alloc(&block, "vector", b->n * sizeof(zk_fr), &b->err);
        if (status != CUZK_OK) break;
        b->vectors[v] = block;
        for (size_t i = 0; i < b->n; i++) zk_fr_from_u64(&b->vectors[v][i], random_word());
    }
    return status;
}

/* Distinct bases: multiples of the generator by random numbers of 64 bits. */
static cuzk_status make_inputs(bench *b, bool g2) {
    zk_fr *small = zk_malloc(b->n * sizeof *small);
    const size_t bytes[5] = {b->n * sizeof *b->scalars, (b->n / 64 + 1) * 8, g2 ? 0 : b->n * sizeof *b->g1,
                             g2 ? b->n * sizeof *b->g2 : 0, b->n * sizeof(zk_g2_affine)};
    void *block[5] = {NULL};
    for (int i = 0; i < 5; i++)
        if (zk_mem_alloc(&block[i], "bench", bytes[i], &b->err) != CUZK_OK) return CUZK_OUT_OF_MEMORY;
    b->scalars = block[0];
    b->bits = block[1];
    b->g1 = block[2];
    b->g2 = block[3];
    b->result = block[4];
    if (!small) return CUZK_OUT_OF_MEMORY;
    for (size_t i = 0; i <= b->n / 64; i++) b->bits[i] = random_word();
    for (size_t i = 0; i < b->n; i++) {
        uint8_t wide[64];
        for (int k = 0; k < 8; k++) memcpy(wide + 8 * k, &(uint64_t){random_word()}, 8);
        zk_fr_from_bytes_wide(&b->scalars[i], wide);
        zk_fr_from_u64(&small[i], random_word());
    }
    unsigned c = b->window_bits ? b->window_bits : zk_fixed_base_window_bits(b->n);
    cuzk_status status = zk_fixed_base_g1_create(&b->table1, &zk_g1_generator, c, b->pool, &b->err);
    if (status == CUZK_OK) status = zk_fixed_base_g2_create(&b->table2, &zk_g2_generator, g2 ? c : 4, b->pool, &b->err);
    if (status == CUZK_OK && !g2) status = zk_fixed_base_g1_mul(b->table1, b->g1, small, b->n, b->pool, &b->err);
    if (status == CUZK_OK && g2) status = zk_fixed_base_g2_mul(b->table2, b->g2, small, b->n, b->pool, &b->err);
    free(small);
    return status;
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
    const unsigned log2_n = bench_arg(argc, argv, 2, 16);
    bench b = {.n = (size_t)1 << log2_n, .window_bits = bench_arg(argc, argv, 5, 0)};
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
    check(kind->input == VECTORS ? make_vectors(&b, log2_n) : make_inputs(&b, kind->input == IN_G2), &b);
    measure(&b, kind, what, bench_arg(argc, argv, 4, 5));
    return 0;
}
