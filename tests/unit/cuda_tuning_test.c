/* Tables of `cuzk tune`: the file, what is measured on the emulated device, what a device that is opened makes of it.
 */
#include "zk_test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "backend/cuda_impl.h"
#include "backend/cuda.h"
#include "backend/tuning.h"
#include "base/file.h"
#include "base/log.h"

static char folder[64];

static void remove_folder(void) {
    char path[160];
    snprintf(path, sizeof path, "rm -rf %s", folder);
    if (system(path) != 0) fprintf(stderr, "%s is left\n", folder);
}

static const char *in_folder(const char *name) {
    static char path[160];
    if (!folder[0]) {
        strcpy(folder, "/tmp/cuzk-tuning-XXXXXX");
        ZK_CHECK(mkdtemp(folder));
        atexit(remove_folder);
        setenv("XDG_CACHE_HOME", folder, 1);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static zk_tuning example(void) {
    zk_tuning t = {.device = "emulated device", .driver = "13.0", .date = "2026-11-30T10:11:12Z", .n = 3};
    t.entry[0] = (zk_tuning_entry){ZK_G1, 6, 40, 0, 2, 1.5, 1.75};
    t.entry[1] = (zk_tuning_entry){ZK_G2, 26, 11, 1 << 20, 6, 812.25, 820};
    t.entry[2] = (zk_tuning_entry){ZK_G1, 29, 0, 0, 0, 3, 3};
    return t;
}

static void test_path(void) {
    char *path = NULL;
    cuzk_err err = {0};
    (void)in_folder("");
    ZK_CHECK_OK(zk_tuning_path(&path, "NVIDIA H200 (80/GB)", &err), err);
    ZK_CHECKF(strcmp(path, in_folder("cuzk/tune-NVIDIA-H200--80-GB-.json")) == 0, "%s", path);
    free(path);
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/home/somebody", 1);
    ZK_CHECK_OK(zk_tuning_path(&path, "x", &err), err);
    ZK_CHECK(strcmp(path, "/home/somebody/.cache/cuzk/tune-x.json") == 0);
    free(path);
    setenv("XDG_CACHE_HOME", "", 1);
    unsetenv("HOME");
    ZK_CHECK(zk_tuning_path(&path, "x", &err) == CUZK_NOT_FOUND && path == NULL);
    setenv("XDG_CACHE_HOME", folder, 1);
}

static void test_file(void) {
    zk_tuning written = example(), *read = malloc(sizeof *read);
    cuzk_err err = {0};
    const char *path = in_folder("a/b/table.json");
    ZK_CHECK(zk_tuning_read(read, path, written.device, &err) == CUZK_NOT_FOUND);
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_tuning_check_writable(path, &err), err);
    ZK_CHECK_OK(zk_tuning_write(path, &written, &err), err);
    ZK_CHECK_OK(zk_tuning_read(read, path, written.device, &err), err);
    ZK_CHECK(read->n == written.n && memcmp(read->entry, written.entry, written.n * sizeof written.entry[0]) == 0);
    ZK_CHECK(!strcmp(read->device, written.device) && !strcmp(read->driver, written.driver) &&
             !strcmp(read->date, written.date));
    ZK_CHECK(zk_tuning_read(read, path, "another device", &err) == CUZK_BAD_INPUT);
    ZK_CHECKF(strstr(err.message, "\"emulated device\"") && strstr(err.message, "table.json"), "%s", err.message);
    zk_err_reset(&err);
    ZK_CHECK(zk_tuning_check_writable("/proc/none/table.json", &err) != CUZK_OK);
    free(read);
}

/* Each with one thing wrong. */
static void test_damage(void) {
    static const struct {
        const char *from, *to;
    } changes[] = {{"\"format\": 1", "\"format\": 2"},
                   {"\"kernels\": ", "\"kernels\": 99"},
                   {"\"windows\": 40", "\"windows\": 9"},
                   {"\"windows\": 40", "\"windows\": 85"},
                   {"\"lanes\": 6", "\"lanes\": 7"},
                   {"1048576", "1000"},
                   {"\"g2\"", "\"g3\""},
                   {"\"log2_n\": 29", "\"log2_n\": 30"},
                   {"\"ms\"", "\"s\""},
                   {"\"driver\": \"13.0\",", ""},
                   {"]", "}"},
                   {"40", "-40"}};
    zk_tuning table = example(), *read = malloc(sizeof *read);
    cuzk_err err = {0};
    char path[160], changed[4096];
    uint8_t *text;
    size_t n;
    strcpy(path, in_folder("damaged.json"));
    ZK_CHECK_OK(zk_tuning_write(path, &table, &err), err);
    ZK_CHECK_OK(zk_file_read(&text, &n, path, sizeof changed, &err), err);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char *at = strstr((char *)text, changes[i].from);
        ZK_CHECKF(at, "%s", changes[i].from);
        int length = snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - (char *)text), text, changes[i].to,
                              at + strlen(changes[i].from));
        ZK_CHECK_OK(zk_file_write(path, changed, (size_t)length, &err), err);
        ZK_CHECKF(zk_tuning_read(read, path, table.device, &err) == CUZK_BAD_INPUT && err.message[0], "%s to %s",
                  changes[i].from, changes[i].to);
        zk_err_reset(&err);
    }
    ZK_CHECK_OK(zk_file_write(path, text, n / 2, &err), err);
    ZK_CHECK(zk_tuning_read(read, path, table.device, &err) == CUZK_BAD_INPUT);
    free(text);
    free(read);
}

/* ---- on the device ---- */

static zk_cuda_msm_way way_on(const zk_backend *backend, zk_group group, size_t n) {
    zk_cuda_bases bases;
    zk_cuda_msm_way way;
    zk_cuda_bases_plan(&bases, (int)group, n, 0);
    zk_cuda_msm_way_of(&way, cuda_of(backend)->device, &bases);
    return way;
}

static unsigned n_reports;
static void count_report(void *ctx, const zk_tuning_entry *entry) {
    ZK_CHECK(ctx == &n_reports && entry->ms > 0 && entry->ms <= entry->rule_ms);
    n_reports++;
}

static void test_measure(void) {
    zk_backend *backend;
    zk_tuning *table = malloc(sizeof *table);
    cuzk_err err = {0};
    (void)in_folder("");
    ZK_CHECK_OK(zk_backend_open_cuda(&backend, 0, 64 << 20, NULL, &err), err);
    ZK_CHECK_OK(zk_tuning_measure(table, backend, 5, 7, 1, count_report, &n_reports, &err), err);
    ZK_CHECK(table->n == 6 && n_reports == 6 && strcmp(table->device, "emulated device") == 0 && table->date[0]);
    for (unsigned i = 0; i < table->n; i++) {
        const zk_tuning_entry *e = &table->entry[i];
        ZK_CHECK(e->group == (i < 3 ? ZK_G1 : ZK_G2) && e->log2_n == 5 + i % 3);
    }
    ZK_CHECK_OK(zk_tuning_write(in_folder("measured.json"), table, &err), err);
    ZK_CHECK_OK(zk_tuning_read(table, in_folder("measured.json"), "emulated device", &err), err);
    ZK_CHECK(zk_tuning_measure(table, backend, 5, 4, 1, NULL, NULL, &err) == CUZK_USAGE);
    zk_err_reset(&err);
    ZK_CHECK(zk_tuning_measure(table, backend, 29, 29, 1, NULL, NULL, &err) == CUZK_OUT_OF_MEMORY);
    ZK_CHECKF(strstr(err.message, "no room"), "%s", err.message);
    zk_err_reset(&err);
    zk_backend_close(backend);
    ZK_CHECK(zk_cuda_bytes_kept() == 0);
    free(table);
}

/* A device that is opened takes the table up; sizes that are not in it, or memory that is too little, get the rule. */
static void test_use(void) {
    zk_backend *backend;
    zk_tuning table = example();
    char *path;
    cuzk_err err = {0};
    (void)in_folder("");
    ZK_CHECK_OK(zk_backend_open_cuda(&backend, 0, 64 << 20, NULL, &err), err);
    zk_cuda_msm_way rule = way_on(backend, ZK_G1, 64), other = way_on(backend, ZK_G1, 512);
    zk_backend_close(backend);
    table.entry[0].windows = rule.windows - 3;
    table.entry[0].lanes = rule.lanes == 2 ? 1 : 2;
    ZK_CHECK_OK(zk_tuning_path(&path, "emulated device", &err), err);
    ZK_CHECK_OK(zk_tuning_check_writable(path, &err), err);
    ZK_CHECK_OK(zk_tuning_write(path, &table, &err), err);
    ZK_CHECK_OK(zk_backend_open_cuda(&backend, 0, 64 << 20, NULL, &err), err);
    for (size_t n = 46; n <= 90; n += 44) { /* 2^5.5 to 2^6.5 */
        zk_cuda_msm_way way = way_on(backend, ZK_G1, n);
        ZK_CHECKF(way.windows >= rule.windows - 3 && way.windows < rule.windows && way.lanes == table.entry[0].lanes,
                  "%zu points: %u windows, %u lanes", n, way.windows, way.lanes);
    }
    zk_cuda_msm_way now = way_on(backend, ZK_G1, 512);
    ZK_CHECK(memcmp(&now, &other, sizeof now) == 0);
    zk_backend_close(backend);
    /* little memory: the way of the table does not fit, another does */
    ZK_CHECK_OK(zk_backend_open_cuda(&backend, 0, 4 << 20, NULL, &err), err);
    table.entry[0].lanes = 6;
    table.entry[0].entries = 1 << 20;
    zk_tuning_apply(backend, &table);
    now = way_on(backend, ZK_G1, 64);
    ZK_CHECK(now.windows && now.lanes < 6);
    zk_backend_close(backend);
    /* a file that cannot be used is a warning */
    ZK_CHECK_OK(zk_file_write(path, "{}", 2, &err), err);
    zk_log_set_level(ZK_LOG_OFF);
    ZK_CHECK_OK(zk_backend_open_cuda(&backend, 0, 64 << 20, NULL, &err), err);
    zk_log_set_level(ZK_LOG_WARN);
    now = way_on(backend, ZK_G1, 64);
    ZK_CHECK(memcmp(&now, &rule, sizeof now) == 0 && err.message[0] == 0);
    zk_backend_close(backend);
    unlink(path);
    free(path);
}

ZK_TEST_MAIN(ZK_CASE(test_path), ZK_CASE(test_file), ZK_CASE(test_damage), ZK_CASE(test_measure), ZK_CASE(test_use))
