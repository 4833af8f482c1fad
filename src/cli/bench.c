#include "cli/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/numa.h"
#include "field/dispatch.h"
#include "msm/lanes/lanes.h"

enum { DEFAULT_RUNS = 5, MAX_RUNS = 10000 };

cuzk_status cli_bench_start(cli_bench *bench, const char *name, cuzk_err *err) {
    bench->name = name;
    if (!bench->runs) bench->runs = DEFAULT_RUNS;
    if (bench->runs > MAX_RUNS)
        return ZK_FAIL(err, CUZK_USAGE, "--runs: found %" PRIu64 ", expected at most %d", bench->runs, MAX_RUNS);
    ZK_TRY(cli_work_start(&bench->work, &bench->pool, err));
    bench->ns = zk_calloc(bench->runs, sizeof *bench->ns);
    return bench->ns ? CUZK_OK : ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for %" PRIu64 " runs", bench->runs);
}

void cli_bench_end(cli_bench *bench) {
    free(bench->ns);
    zk_pool_destroy(bench->pool);
    bench->ns = NULL;
    bench->pool = NULL;
}

static int compare_ns(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Of all threads of the process. */
static uint64_t cpu_now_ns(void) {
    struct timespec t = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

cuzk_status cli_bench_measure(cli_bench *bench, cli_bench_fn fn, void *ctx, cuzk_err *err) {
    ZK_TRY(fn(ctx, err));
    bench->cpu_ns = UINT64_MAX;
    for (uint64_t i = 0; i < bench->runs; i++) {
        ZK_TRY(cli_check_cancelled(err));
        cli_progress(NULL, bench->name, i, bench->runs);
        uint64_t start = zk_now_ns(), cpu_start = cpu_now_ns();
        ZK_TRY(fn(ctx, err));
        bench->ns[i] = zk_now_ns() - start;
        uint64_t cpu = cpu_now_ns() - cpu_start;
        if (cpu < bench->cpu_ns) bench->cpu_ns = cpu;
    }
    cli_progress_end();
    qsort(bench->ns, bench->runs, sizeof *bench->ns, compare_ns);
    return CUZK_OK;
}

static const char *cpu_code(void) {
    const zk_msm_g1_lanes *lanes = zk_msm_g1_lanes_at(0);
    return lanes ? lanes->name : zk_field_variant_name(zk_field_active_variant());
}

cuzk_status cli_bench_report(const cli_bench *bench, const cli_bench_field *fields, size_t n_fields, uint64_t units,
                             const char *unit, cuzk_err *err) {
    double min = (double)bench->ns[0] * 1e-6, max = (double)bench->ns[bench->runs - 1] * 1e-6;
    double median = (double)(bench->ns[(bench->runs - 1) / 2] + bench->ns[bench->runs / 2]) * 0.5e-6;
    double rate = units && median > 0 ? (double)units / (median * 1e-3) : 0;
    bool cpu = !bench->backend || strcmp(bench->backend->caps.kind, "cpu") == 0;
    const char *kind = cpu ? "cpu" : bench->backend->caps.kind, *device = !cpu          ? bench->backend->caps.device
                                                                          : bench->code ? bench->code
                                                                                        : cpu_code();
    if (bench->json) {
        zk_json_writer *json = cli_json_begin();
        zk_json_put_string(json, "bench", bench->name);
        zk_json_put_string(json, "backend", kind);
        zk_json_put_string(json, "device", device);
        zk_json_put_u64(json, "threads", zk_pool_n_threads(bench->pool));
        zk_json_put_u64(json, "nodes", zk_numa_n_nodes());
        for (size_t i = 0; i < n_fields; i++) {
            if (fields[i].text)
                zk_json_put_string(json, fields[i].name, fields[i].text);
            else
                zk_json_put_u64(json, fields[i].name, fields[i].value);
        }
        zk_json_put_u64(json, "runs", bench->runs);
        zk_json_put_double(json, "median_ms", median);
        zk_json_put_double(json, "min_ms", min);
        zk_json_put_double(json, "max_ms", max);
        zk_json_put_double(json, "cpu_ms", (double)bench->cpu_ns * 1e-6);
        if (units) {
            zk_json_put_string(json, "unit", unit);
            zk_json_put_double(json, "units_per_s", rate);
        }
        zk_json_put_bool(json, "checked", bench->checked);
        zk_json_put_hex(json, "checksum", bench->checksum, 32);
        return cli_json_end(json, err);
    }
    printf("%s", bench->name);
    for (size_t i = 0; i < n_fields; i++) {
        if (fields[i].text)
            printf(" %s=%s", fields[i].name, fields[i].text);
        else
            printf(" %s=%" PRIu64, fields[i].name, fields[i].value);
    }
    printf(" (%s %s, %u thread%s", kind, device, zk_pool_n_threads(bench->pool),
           zk_pool_n_threads(bench->pool) == 1 ? "" : "s");
    if (zk_numa_n_nodes() > 1) printf(", %u nodes", zk_numa_n_nodes());
    printf("): median %.3f ms, min %.3f, max %.3f, CPU %.3f", median, min, max, (double)bench->cpu_ns * 1e-6);
    if (units) printf(", %.3g %s/s", rate, unit);
    printf("%s\n", bench->checked ? ", result checked" : "");
    return CUZK_OK;
}

void cli_bench_scalar(zk_fr *r, uint64_t stream, uint64_t i) {
    uint8_t bytes[64];
    for (unsigned k = 0; k < 8; k++) {
        uint64_t z = (stream << 48) + i * 8 + k + 1;
        z *= UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        memcpy(bytes + 8 * k, &z, 8);
    }
    zk_fr_from_bytes_wide(r, bytes);
}
