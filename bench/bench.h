/* Time and random input for benchmark programs. */
#ifndef ZK_BENCH_H
#define ZK_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "field/fr.h"

#define BENCH_MAX_RUNS 64

static inline double bench_now(void) { /* seconds */
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline int bench_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One line: what, minimum, median and maximum in milliseconds, nanoseconds per item at the median. Sorts the times. */
static inline void bench_print(const char *what, double *seconds, unsigned n_runs, double n_items) {
    qsort(seconds, n_runs, sizeof *seconds, bench_compare);
    printf("%-44s min %10.3f  median %10.3f  max %10.3f ms  %9.2f ns/item\n", what, seconds[0] * 1e3,
           seconds[n_runs / 2] * 1e3, seconds[n_runs - 1] * 1e3, seconds[n_runs / 2] * 1e9 / n_items);
    fflush(stdout);
}

static inline uint64_t bench_rand(uint64_t *state) { /* splitmix64 */
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline zk_fr bench_fr(uint64_t *state) {
    uint8_t bytes[32];
    zk_fr r;
    for (int i = 0; i < 4; i++) {
        uint64_t v = bench_rand(state);
        memcpy(bytes + 8 * i, &v, 8);
    }
    zk_fr_from_bytes_reduce(&r, bytes);
    return r;
}

static inline void *bench_alloc(size_t n, size_t bytes) {
    void *p = calloc(n ? n : 1, bytes);
    if (!p) {
        fprintf(stderr, "no memory for %zu times %zu bytes\n", n, bytes);
        exit(4);
    }
    return p;
}

/* argv[i] as a number, or the default. */
static inline unsigned bench_arg(int argc, char **argv, int i, unsigned otherwise) {
    return i < argc ? (unsigned)strtoul(argv[i], NULL, 10) : otherwise;
}

#endif
