/* Measurements for zk_tuning, and their use. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "backend/cuda_impl.h"
#include "backend/tuning.h"
#include "base/alloc.h"
#include "base/cancel.h"
#include "base/span.h"

enum {
    CHUNK = 1 << 16, /* scalars made at once */
    MAX_RUNS = 25,
    MAX_LOG2_POINTS = 29, /* the kernels take fewer than 2^30 */
};

typedef union point {
    zk_g1_affine g1;
    zk_g2_affine g2;
} point;

/* Data for the largest size; smaller ones take the beginning. */
typedef struct bench {
    zk_cuda *device;
    zk_group group;
    zk_dptr bases, scalars;
    unsigned runs;
} bench;

/* ---- data ---- */

/* Elements below 2^254, in Montgomery form: as scalars they are as good as uniform. */
static cuzk_status make_scalars(zk_cuda *device, zk_dptr to, size_t n, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    uint64_t counter = 0;
    zk_fr *chunk = zk_malloc(CHUNK * sizeof *chunk);
    if (!chunk) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "tune: out of memory");
    for (size_t at = 0; at < n && status == CUZK_OK; at += CHUNK) {
        size_t count = zk_min_size(n - at, CHUNK);
        for (size_t i = 0; i < 4 * count; i++) { /* splitmix64 */
            uint64_t z = counter += UINT64_C(0x9e3779b97f4a7c15);
            z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
            z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
            z ^= z >> 31;
            chunk[i / 4].l[i % 4] = i % 4 == 3 ? z >> 2 : z;
        }
        status = zk_cuda_upload(device, to + at * sizeof *chunk, chunk, count * sizeof *chunk, err);
    }
    free(chunk);
    return status;
}

/* Multiples of the generator by the scalars: distinct points in general position. */
static cuzk_status make_bases(const bench *b, size_t n, cuzk_err *err) {
    zk_cuda_multiples *multiples;
    ZK_TRY(zk_cuda_multiples_create(&multiples, b->device, (int)b->group, n, err));
    cuzk_status status = zk_cuda_multiples_points(multiples, b->bases, b->scalars, n, err);
    if (status == CUZK_OK) status = zk_cuda_sync(b->device, err);
    zk_cuda_multiples_destroy(multiples);
    return status;
}

/* The largest size, from `to` down, for which data and the fastest MSM have room; below `from`: none. */
static unsigned largest_size(const bench *b, unsigned from, unsigned to) {
    for (; to >= from; to--) {
        size_t n = (size_t)1 << to, best, least;
        zk_cuda_bases bases;
        zk_cuda_bases_plan(&bases, (int)b->group, n, 0);
        zk_cuda_msm_bytes(&best, &least, b->device, &bases);
        size_t data = zk_cuda_alloc_bytes(n * cuda_point_bytes(b->group)) + zk_cuda_alloc_bytes(n * sizeof(zk_fr));
        if (data + best <= zk_cuda_bytes_in_a_row(b->device)) break;
        if (to == 0) return 0;
    }
    return to;
}

/* ---- one size ---- */

static cuzk_status msm(point *sum, const bench *b, size_t n, cuzk_err *err) {
    memset(sum, 0, sizeof *sum);
    return b->group == ZK_G1 ? zk_cuda_msm_g1(&sum->g1, b->device, b->bases, b->scalars, n, err)
                             : zk_cuda_msm_g2(&sum->g2, b->device, b->bases, b->scalars, n, err);
}

static void tune(const bench *b, zk_cuda_msm_way way) {
    zk_cuda_msm_tune(b->device, way.windows, way.entries, way.lanes, 0);
}

/* Median time; 0 if there is no room to work in that way. The first sum is kept in *expected, later ones are compared.
 */
static cuzk_status measure(double *ms, point *expected, bool first, const bench *b, size_t n, zk_cuda_msm_way way,
                           cuzk_err *err) {
    double times[MAX_RUNS];
    cuzk_status status = CUZK_OK;
    *ms = 0;
    tune(b, way);
    for (unsigned i = 0; i < b->runs + first && status == CUZK_OK; i++) { /* the very first is not counted */
        point sum;
        cuzk_err none = {0};
        ZK_GOTO(zk_cancel_check(NULL, "tune", err));
        uint64_t start = zk_now_ns();
        status = msm(&sum, b, n, &none);
        double time = (double)(zk_now_ns() - start) * 1e-6;
        if (status == CUZK_OUT_OF_MEMORY && !first) {
            status = CUZK_OK;
            goto out;
        }
        if (status != CUZK_OK) {
            if (err) *err = none;
            goto out;
        }
        if (first && i == 0) {
            *expected = sum;
            continue;
        }
        if (memcmp(&sum, expected, sizeof sum) != 0)
            ZK_GOTO(ZK_FAIL(err, CUZK_DEVICE, "tune: %s: two MSMs over the same %zu points differ: %u windows",
                            zk_cuda_name(b->device), n, way.windows));
        unsigned k = i - first; /* insertion into what is sorted */
        for (; k > 0 && times[k - 1] > time; k--) times[k] = times[k - 1];
        times[k] = time;
    }
    *ms = times[b->runs / 2];
out:
    tune(b, (zk_cuda_msm_way){0});
    return status;
}

/* What a way leaves open, chosen by the rule. */
static zk_cuda_msm_way complete(const bench *b, size_t n, zk_cuda_msm_way way) {
    zk_cuda_bases bases;
    zk_cuda_bases_plan(&bases, (int)b->group, n, 0);
    tune(b, way);
    zk_cuda_msm_way_of(&way, b->device, &bases);
    tune(b, (zk_cuda_msm_way){0});
    return way;
}

typedef struct search {
    const bench *bench;
    size_t n;
    point expected;
    zk_cuda_msm_way best;
    double best_ms;
} search;

/* Anything but the rule must be worth it. */
#define WORTH 0.99 /* of the time so far */
static cuzk_status try_way(search *s, zk_cuda_msm_way way, cuzk_err *err) {
    double ms;
    ZK_TRY(measure(&ms, &s->expected, false, s->bench, s->n, way, err));
    if (ms > 0 && ms < WORTH * s->best_ms) {
        s->best = way;
        s->best_ms = ms;
    }
    return CUZK_OK;
}

/* Numbers of windows near that of the rule, of both kinds. */
static cuzk_status try_windows(search *s, cuzk_err *err) {
    enum { LEAST = 10, REACH = 2 };
    unsigned windows = complete(s->bench, s->n, s->best).windows, count = windows % ZK_CUDA_HEXAGONS;
    unsigned from = count < LEAST + REACH ? LEAST : count - REACH;
    for (unsigned kind = 0; kind <= ZK_CUDA_HEXAGONS; kind += ZK_CUDA_HEXAGONS) /* of signed digits, of hexagons */
        for (unsigned k = from; k <= count + REACH; k++)
            if (kind + k != windows) ZK_TRY(try_way(s, (zk_cuda_msm_way){.windows = kind + k}, err));
    return CUZK_OK;
}

static cuzk_status try_lanes(search *s, cuzk_err *err) {
    static const unsigned lanes[] = {1, 2, 3, 4, 6};
    zk_cuda_msm_way from = s->best;
    for (unsigned k = 0; k < sizeof lanes / sizeof lanes[0]; k++) {
        zk_cuda_msm_way way = {from.windows, 0, lanes[k]};
        if (complete(s->bench, s->n, from).lanes != lanes[k]) ZK_TRY(try_way(s, way, err));
    }
    return CUZK_OK;
}

/* A quarter to twice the entries of a range. */
static cuzk_status try_entries(search *s, cuzk_err *err) {
    enum { LEAST = 1 << 10 };
    zk_cuda_msm_way from = s->best;
    unsigned entries = complete(s->bench, s->n, from).entries;
    for (unsigned k = entries / 4; k <= entries * 2 && k >= LEAST; k *= 2)
        if (k != entries) ZK_TRY(try_way(s, (zk_cuda_msm_way){from.windows, k, from.lanes}, err));
    return CUZK_OK;
}

/* Whole microseconds, so that files stay readable. */
static double rounded_ms(double ms) { return (double)(uint64_t)(ms * 1000 + 0.5) / 1000; }

/* Windows, then lanes, then entries, each with the best of those before. */
static cuzk_status measure_size(zk_tuning_entry *entry, const bench *b, unsigned log2_n, cuzk_err *err) {
    search s = {.bench = b, .n = (size_t)1 << log2_n};
    ZK_TRY(measure(&s.best_ms, &s.expected, true, b, s.n, s.best, err));
    double rule_ms = s.best_ms;
    ZK_TRY(try_windows(&s, err));
    ZK_TRY(try_lanes(&s, err));
    ZK_TRY(try_entries(&s, err));
    *entry = (zk_tuning_entry){
        b->group, log2_n, s.best.windows, s.best.entries, s.best.lanes, rounded_ms(s.best_ms), rounded_ms(rule_ms)};
    return CUZK_OK;
}

static cuzk_status measure_group(zk_tuning *tuning, bench *b, unsigned from, unsigned to, zk_tuning_report report,
                                 void *report_ctx, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    to = largest_size(b, from, to);
    if (to < from) return CUZK_OK;
    size_t n = (size_t)1 << to;
    b->bases = b->scalars = 0;
    ZK_GOTO(zk_cuda_alloc(&b->bases, b->device, n * cuda_point_bytes(b->group), "bases", err));
    ZK_GOTO(zk_cuda_alloc(&b->scalars, b->device, n * sizeof(zk_fr), "scalars", err));
    ZK_GOTO(make_scalars(b->device, b->scalars, n, err));
    ZK_GOTO(make_bases(b, n, err));
    for (unsigned k = from; k <= to && tuning->n < ZK_TUNING_MAX_ENTRIES; k++) {
        zk_tuning_entry *entry = &tuning->entry[tuning->n];
        ZK_GOTO(measure_size(entry, b, k, err));
        tuning->n++;
        if (report) report(report_ctx, entry);
    }
out:
    zk_cuda_free(b->device, b->bases);
    zk_cuda_free(b->device, b->scalars);
    return status;
}

/* ---- the table ---- */

cuzk_status zk_tuning_measure(zk_tuning *tuning, zk_backend *backend, unsigned from, unsigned to, unsigned runs,
                              zk_tuning_report report, void *report_ctx, cuzk_err *err) {
    zk_cuda *device = cuda_of(backend)->device;
    const zk_cuda_msm_way rule = {0};
    const time_t now = time(NULL);
    struct tm utc;
    if (from > to || to > MAX_LOG2_POINTS || runs == 0 || runs > MAX_RUNS)
        return ZK_FAIL(err, CUZK_USAGE, "tune: 2^%u to 2^%u points, %u runs: expected at most 2^%d and %d", from, to,
                       runs, MAX_LOG2_POINTS, MAX_RUNS);
    *tuning = (zk_tuning){0};
    snprintf(tuning->device, sizeof tuning->device, "%s", zk_cuda_name(device));
    snprintf(tuning->driver, sizeof tuning->driver, "%u.%u", zk_cuda_driver(device) / 1000,
             zk_cuda_driver(device) % 1000 / 10);
    if (gmtime_r(&now, &utc)) strftime(tuning->date, sizeof tuning->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    for (int group = ZK_G1; group <= ZK_G2; group++) {
        bench b = {.device = device, .group = (zk_group)group, .runs = runs};
        for (unsigned k = 0; k <= MAX_LOG2_POINTS; k++)
            zk_cuda_msm_prefer(device, group, k, rule); /* not by an older table */
        ZK_TRY(measure_group(tuning, &b, from, to, report, report_ctx, err));
    }
    if (tuning->n == 0)
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "tune: %s has no room for MSMs over 2^%u points, %zu bytes are free",
                       zk_cuda_name(device), from, zk_cuda_bytes_in_a_row(device));
    return CUZK_OK;
}

void zk_tuning_apply(zk_backend *backend, const zk_tuning *tuning) {
    for (unsigned i = 0; i < tuning->n; i++) {
        const zk_tuning_entry *e = &tuning->entry[i];
        zk_cuda_msm_prefer(cuda_of(backend)->device, (int)e->group, e->log2_n,
                           (zk_cuda_msm_way){e->windows, e->entries, e->lanes});
    }
}
