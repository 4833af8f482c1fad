/* Times of transforms. usage: cuzk_bench_ntt [log2 n = 20] [threads = 1] [runs = 7] */
#include "bench.h"
#include "ntt/ntt.h"

int main(int argc, char **argv) {
    unsigned log2_n = bench_arg(argc, argv, 1, 20), n_threads = bench_arg(argc, argv, 2, 1);
    unsigned n_runs = bench_arg(argc, argv, 3, 7);
    if (n_runs < 1 || n_runs > BENCH_MAX_RUNS || log2_n > 30) return 2;
    size_t n = (size_t)1 << log2_n;
    bench_times times = {.n = 0};
    uint64_t seed = 1;
    char what[96];
    cuzk_err err = {0};
    zk_pool *pool = NULL;
    zk_ntt_domain *domain = NULL;
    if (zk_pool_create(&pool, n_threads, &err) != CUZK_OK) goto failed;
    for (unsigned run = 0; run < n_runs; run++) {
        zk_ntt_domain_destroy(domain);
        bench_start(&times);
        if (zk_ntt_domain_create(&domain, log2_n, pool, &err) != CUZK_OK) goto failed;
        bench_stop(&times);
    }
    printf("2^%u, %u threads, tables of %.1f MB\n", log2_n, zk_pool_n_threads(pool),
           (double)zk_ntt_domain_bytes(log2_n) * 1e-6);
    bench_print("create domain", &times, (double)n);

    zk_fr *x = bench_alloc(n, sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = bench_fr(&seed);
    static const struct {
        const char *name;
        void (*run)(const zk_ntt_domain *, zk_fr *, zk_pool *);
    } transforms[] = {{"forward", zk_ntt_forward},
                      {"inverse", zk_ntt_inverse},
                      {"coset forward", zk_ntt_coset_forward},
                      {"coset inverse", zk_ntt_coset_inverse}};
    for (size_t t = 0; t < 4; t++) {
        for (unsigned run = 0; run < n_runs; run++) {
            bench_start(&times);
            transforms[t].run(domain, x, pool);
            bench_stop(&times);
        }
        bench_print(transforms[t].name, &times, (double)n);
    }
    zk_fr *b = bench_alloc(n, sizeof *b), *c = bench_alloc(n, sizeof *c);
    for (unsigned run = 0; run < n_runs; run++) {
        memcpy(b, x, n * sizeof *b);
        memcpy(c, x, n * sizeof *c);
        bench_start(&times);
        zk_ntt_quotient(domain, x, b, c, pool);
        bench_stop(&times);
    }
    snprintf(what, sizeof what, "quotient (7 transforms)");
    bench_print(what, &times, (double)n);
    zk_mem_free(x);
    zk_mem_free(b);
    zk_mem_free(c);
    zk_ntt_domain_destroy(domain);
    zk_pool_destroy(pool);
    return 0;
failed:
    fprintf(stderr, "%s\n", err.message);
    return 4;
}
