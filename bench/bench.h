/* Time and random input for benchmark programs. */
#ifndef ZK_BENCH_H
#define ZK_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "field/fr.h"

#define BENCH_MAX_RUNS 64

static inline double bench_now(void) { /* seconds */
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline double bench_cpu_now(void) { /* seconds of all threads */
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Times of the runs of one measurement. */
typedef struct bench_times {
    double wall[BENCH_MAX_RUNS], cpu[BENCH_MAX_RUNS], start_wall, start_cpu;
    unsigned n;
} bench_times;

static inline void bench_start(bench_times *t) {
    t->start_wall = bench_now();
    t->start_cpu = bench_cpu_now();
}

static inline void bench_stop(bench_times *t) {
    t->wall[t->n] = bench_now() - t->start_wall;
    t->cpu[t->n++] = bench_cpu_now() - t->start_cpu;
}

static inline int bench_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One line: what, minimum, median and maximum in milliseconds, nanoseconds per item at the median; and the least CPU
 * time of all threads, which other load on the machine disturbs less. */
static inline void bench_print(const char *what, bench_times *t, double n_items) {
    qsort(t->wall, t->n, sizeof *t->wall, bench_compare);
    qsort(t->cpu, t->n, sizeof *t->cpu, bench_compare);
    printf("%-24s min %10.3f  median %10.3f  max %10.3f ms %9.2f ns/item; cpu min %10.3f ms %9.2f ns/item\n", what,
           t->wall[0] * 1e3, t->wall[t->n / 2] * 1e3, t->wall[t->n - 1] * 1e3, t->wall[t->n / 2] * 1e9 / n_items,
           t->cpu[0] * 1e3, t->cpu[0] * 1e9 / n_items);
    fflush(stdout);
    t->n = 0;
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

/* Zeroed, in huge pages. Freed with zk_mem_free. */
static inline void *bench_alloc(size_t n, size_t bytes) {
    cuzk_err err = {0};
    void *p;
    if (zk_mem_alloc(&p, "bench", n * bytes, &err) == CUZK_OK) return p;
    fprintf(stderr, "%s\n", err.message);
    exit(4);
}

/* argv[i] as a number, or the default. */
static inline unsigned bench_arg(int argc, char **argv, int i, unsigned otherwise) {
    return i < argc ? (unsigned)strtoul(argv[i], NULL, 10) : otherwise;
}

#endif
