/* Key files: digests that are remembered and compared, files that change under the reader, tiers, progress of loads. */
#include "engine_common.h"

#include <fcntl.h>
#include <pthread.h>

#include "base/bytes.h"
#include "engine/digests.h"
#include "hash/blake2b.h"
#include "hash/sha256.h"

/* A folder of keys of our own, to do harm to. */
static const char *own_keys(const char *name) {
    static char folder[512];
    char command[2048];
    snprintf(folder, sizeof folder, "%s", test_path(name));
    snprintf(command, sizeof command, "mkdir -p '%s' && cp -p '%s'/*.params '%s'", folder, test_keys(), folder);
    ZK_CHECK(system(command) == 0);
    return folder;
}

static void key_path(char path[ZK_KEY_PATH_BYTES], const char *folder, zk_proof_kind kind) {
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_circuit_key_path(path, NULL, folder, kind, 2048, &err), err);
}

static void digests_of(char sha256[65], char manifest[33], const char *path) {
    uint8_t *data = NULL, digest[64];
    size_t n = 0;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_file_read(&data, &n, path, (size_t)1 << 30, &err), err);
    zk_sha256(digest, data, n);
    zk_hex_encode(sha256, digest, 32);
    zk_blake2b(digest, 64, data, n);
    zk_hex_encode(manifest, digest, 16);
    free(data);
}

static void write_text(const char *path, const char *text) {
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_file_write(path, text, strlen(text), &err), err);
}

static zk_srs_view srs_of(zk_engine *engine, const char *id) {
    zk_engine_status *st = test_status(engine);
    zk_srs_view v = {.circuit_id = ""};
    for (size_t i = 0; i < st->n_srs; i++)
        if (strcmp(st->srs[i].circuit_id, id) == 0) v = st->srs[i];
    zk_engine_status_destroy(st);
    return v;
}

static cuzk_status preload(zk_engine *engine, const char *id, cuzk_err *err) {
    bool loaded;
    uint64_t ms;
    return zk_engine_preload(&loaded, &ms, engine, id, err);
}

/* ---- digests alone ---- */

static void test_record(void) {
    const char *record = test_path("record");
    write_text(record, "nonsense\n\n00 - 1 2.3 4 5 /short\n");
    zk_digests *d = NULL;
    cuzk_err err = {0};
    bool known = true, both = true, changed = true;
    uint8_t before[32], sha256[32];
    const zk_file_identity a = {1, 2, 3, 4, 5};
    const zk_file_digest digest = {.sha256 = {1, 2}, .blake2b = {3}, .has_blake2b = true};
    ZK_CHECK_OK(zk_digests_open(&d, record, NULL, &err), err);
    ZK_CHECK_OK(zk_digests_look(&known, &both, d, "/keys/a b", &a, &err), err);
    ZK_CHECK(!known && !both && !zk_digests_get(sha256, d, "/keys/a b"));
    ZK_CHECK_OK(zk_digests_remember(&changed, before, d, "/keys/a b", &a, &digest, &err), err);
    ZK_CHECK(!changed);
    zk_digests_close(d);
    ZK_CHECK_OK(zk_digests_open(&d, record, "", &err), err);
    ZK_CHECK_OK(zk_digests_look(&known, &both, d, "/keys/a b", &a, &err), err);
    ZK_CHECK(known && zk_digests_get(sha256, d, "/keys/a b") && sha256[1] == 2);
    for (unsigned i = 0; i < 5; i++) { /* any difference: another file */
        zk_file_identity b = a;
        *(i == 0 ? &b.device : i == 1 ? &b.inode : &b.n_bytes) += i < 3;
        *(i == 3 ? &b.mtime_s : &b.mtime_ns) += i >= 3;
        ZK_CHECK_OK(zk_digests_look(&known, &both, d, "/keys/a b", &b, &err), err);
        ZK_CHECKF(!known, "member %u", i);
    }
    zk_file_digest other = digest;
    other.sha256[5] = 9;
    ZK_CHECK_OK(zk_digests_remember(&changed, before, d, "/keys/a b", &a, &other, &err), err);
    ZK_CHECK(changed && before[0] == 1 && before[5] == 0);
    zk_digests_close(d);
}

static void test_manifest(void) {
    const char *record = test_path("record-m"), *manifest = test_path("parameters.json");
    zk_digests *d = NULL;
    cuzk_err err = {0};
    bool known, both, changed;
    uint8_t before[32];
    const zk_file_identity a = {1, 2, 3, 4, 5};
    zk_file_digest digest = {.blake2b = {0xab}};
    ZK_CHECK(zk_digests_open(&d, record, manifest, &err) == CUZK_NOT_FOUND);
    write_text(manifest, "[]");
    zk_err_reset(&err);
    ZK_CHECK(zk_digests_open(&d, record, manifest, &err) == CUZK_BAD_INPUT && strstr(err.message, "parameters.json"));
    write_text(manifest, "{\"k.params\": {\"cid\": \"Qm\", \"digest\": \"ab000000000000000000000000000000\", "
                         "\"sector_size\": 2048}, \"bad.params\": {\"digest\": \"ab\"}}");
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_digests_open(&d, record, manifest, &err), err);
    /* a digest that does not serve the manifest is not known */
    ZK_CHECK_OK(zk_digests_remember(&changed, before, d, "/x/k.params", &a, &digest, &err), err);
    ZK_CHECK_OK(zk_digests_look(&known, &both, d, "/x/k.params", &a, &err), err);
    ZK_CHECK(!known && both);
    digest.has_blake2b = true;
    ZK_CHECK_OK(zk_digests_remember(&changed, before, d, "/x/k.params", &a, &digest, &err), err);
    ZK_CHECK_OK(zk_digests_look(&known, &both, d, "/x/k.params", &a, &err), err);
    ZK_CHECK(known);
    digest.blake2b[15] = 1;
    ZK_CHECK(zk_digests_remember(&changed, before, d, "/x/k.params", &a, &digest, &err) == CUZK_BAD_INPUT);
    ZK_CHECKF(strstr(err.message, "found digest ab000000000000000000000000000001, expected "
                                  "ab000000000000000000000000000000"),
              "%s", err.message);
    zk_err_reset(&err);
    ZK_CHECK(zk_digests_look(&known, &both, d, "/x/k.params", &a, &err) == CUZK_BAD_INPUT && known);
    zk_err_reset(&err);
    ZK_CHECK(zk_digests_look(&known, &both, d, "/x/bad.params", &a, &err) == CUZK_BAD_INPUT);
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_digests_look(&known, &both, d, "/x/other.params", &a, &err), err);
    zk_digests_close(d);
}

/* ---- with an engine ---- */

/* A restart believes the record as long as the file is the same. */
static void test_remembered(void) {
    zk_engine_options options = test_options("remembered");
    char path[ZK_KEY_PATH_BYTES], sha256[65], manifest[33], record[600], *text = NULL;
    options.param_cache = own_keys("keys-r");
    key_path(path, options.param_cache, ZK_KIND_WINNING);
    digests_of(sha256, manifest, path);
    snprintf(record, sizeof record, "%s.keys", options.journal_path);
    zk_engine *engine = test_engine(&options);
    cuzk_err err = {0};
    ZK_CHECK(!srs_of(engine, "winning-2k").sha256[0]);
    ZK_CHECK_OK(preload(engine, "winning-2k", &err), err);
    ZK_CHECK(strcmp(srs_of(engine, "winning-2k").sha256, sha256) == 0);
    zk_engine_destroy(engine);
    /* another digest in the record: it is not made again */
    size_t n = 0;
    ZK_CHECK_OK(zk_file_read((uint8_t **)&text, &n, record, 1 << 20, &err), err);
    char *at = strstr(text, sha256);
    ZK_CHECK(at != NULL && strstr(text, path));
    memset(at, '7', 8);
    ZK_CHECK_OK(zk_file_write(record, text, n, &err), err);
    free(text);
    engine = test_engine(&options);
    ZK_CHECK_OK(preload(engine, "winning-2k", &err), err);
    ZK_CHECK(strncmp(srs_of(engine, "winning-2k").sha256, "77777777", 8) == 0);
    zk_engine_destroy(engine);
    /* touched: it is */
    ZK_CHECK(utimensat(AT_FDCWD, path, NULL, 0) == 0);
    engine = test_engine(&options);
    ZK_CHECK_OK(preload(engine, "winning-2k", &err), err);
    ZK_CHECK(strcmp(srs_of(engine, "winning-2k").sha256, sha256) == 0);
    zk_engine_destroy(engine);
}

static void test_wrong_file(void) {
    zk_engine_options options = test_options("wrong-file");
    char path[ZK_KEY_PATH_BYTES], sha256[65], manifest[33], text[1024], list[600];
    options.param_cache = own_keys("keys-w");
    key_path(path, options.param_cache, ZK_KIND_WINNING);
    digests_of(sha256, manifest, path);
    snprintf(list, sizeof list, "%s/parameters.json", options.param_cache);
    snprintf(text, sizeof text, "{\"%s\": {\"cid\": \"\", \"digest\": \"%s\", \"sector_size\": 2048}}",
             strrchr(path, '/') + 1, manifest);
    write_text(list, text);
    cuzk_err err = {0};
    zk_engine *engine = test_engine(&options);
    ZK_CHECK_OK(preload(engine, "winning-2k", &err), err);
    zk_engine_destroy(engine);
    char *digit = strstr(text, manifest);
    *digit = *digit == '0' ? '1' : '0';
    write_text(list, text);
    for (unsigned again = 0; again < 2; again++) { /* remembered the second time */
        if (again) ZK_CHECK(utimensat(AT_FDCWD, path, NULL, 0) == 0);
        engine = test_engine(&options);
        ZK_CHECK(preload(engine, "winning-2k", &err) == CUZK_BAD_INPUT);
        ZK_CHECKF(strstr(err.message, manifest) && strstr(err.message, "parameters.json"), "%s", err.message);
        zk_err_reset(&err);
        zk_submitted s;
        zk_result result;
        test_submit(&s, engine, test_request(ZK_KIND_WINNING, "a", 1));
        test_await(&result, engine, s.job_id);
        ZK_CHECK(result.outcome == ZK_OUTCOME_FAILED && strstr(result.message, manifest));
        zk_engine_destroy(engine);
    }
}

/* The worker's device does something to the key file, or waits until somebody has seen how far it is, before each
 * section is loaded. */
static cuzk_status (*real_points_load)(zk_resident_points **full, zk_resident_points **bits, zk_points_fault *fault,
                                       zk_backend *backend, const zk_points_source *source, cuzk_err *err);

static cuzk_status hurt_points_load(zk_resident_points **full, zk_resident_points **bits, zk_points_fault *fault,
                                    zk_backend *backend, const zk_points_source *source, cuzk_err *err) {
    const char *path = getenv("CUZK_TEST_SHRINK");
    if (path && truncate(path, atol(getenv("CUZK_TEST_SHRINK_TO"))) != 0) abort();
    const char *gate = getenv("CUZK_TEST_GATE"); /* one file a step: let go as soon as it is there */
    static unsigned n;
    for (char file[600]; gate; usleep(2000)) {
        snprintf(file, sizeof file, "%s-%u", gate, n);
        if (access(file, F_OK) == 0) break;
    }
    n++;
    return real_points_load(full, bits, fault, backend, source, err);
}

static void change_backend(zk_backend *backend) {
    static zk_residency_ops residency;
    residency = *backend->residency;
    real_points_load = residency.points_load;
    residency.points_load = hurt_points_load;
    backend->residency = &residency;
}

/* A file that shrinks while it is loaded is an error of the job, not the end of the worker. */
static void test_shrinks(void) {
    zk_engine_options options = test_options("shrinks");
    options.devices = "0";
    char path[ZK_KEY_PATH_BYTES];
    options.param_cache = own_keys("keys-s");
    key_path(path, options.param_cache, ZK_KIND_WINNING);
    static const char *const lengths[] = {"0", "8191", "1000000"};
    for (size_t i = 0; i < 3; i++) {
        own_keys("keys-s");
        setenv("CUZK_TEST_SHRINK", path, 1);
        setenv("CUZK_TEST_SHRINK_TO", lengths[i], 1);
        zk_engine *engine = test_engine(&options);
        zk_request request = test_as(test_request(ZK_KIND_WINNING, "a", 1), "", ZK_PRIORITY_NORMAL);
        zk_submitted s;
        zk_result result;
        test_submit(&s, engine, &request);
        test_await(&result, engine, s.job_id);
        unsetenv("CUZK_TEST_SHRINK");
        ZK_CHECKF(result.outcome == ZK_OUTCOME_FAILED && result.status == CUZK_BAD_INPUT &&
                      strstr(result.message, "changed while in use") && strstr(result.message, path),
                  "%s", result.message);
        zk_engine_status *st = test_status(engine);
        ZK_CHECK(st->n_worker_crashes == 0 && st->n_wrong_proofs == 0);
        zk_engine_status_destroy(st);
        zk_engine_destroy(engine);
    }
    own_keys("keys-s");
}

static void *preload_in_thread(void *engine) {
    cuzk_err err = {0};
    return preload(engine, "winning-2k", &err) == CUZK_OK ? engine : NULL;
}

/* Each section waits until the progress before it was seen. */
static void test_progress(void) {
    zk_engine_options options = test_options("progress");
    options.devices = "0";
    setenv("CUZK_TEST_GATE", test_path("gate"), 1);
    zk_engine *engine = test_engine(&options);
    pthread_t thread;
    void *good = NULL;
    uint64_t total = srs_of(engine, "winning-2k").bytes, seen = 0, n_seen = 0;
    uint64_t end_ns = zk_now_ns() + ZK_TEST_HANG_S * ZK_SECOND_NS;
    ZK_CHECK(total > 0 && pthread_create(&thread, NULL, preload_in_thread, engine) == 0);
    for (unsigned step = 0;; usleep(2000)) {
        ZK_CHECKF(zk_now_ns() < end_ns, "step %u: %llu of %llu", step, (unsigned long long)seen,
                  (unsigned long long)total);
        zk_srs_view v = srs_of(engine, "winning-2k");
        if (v.tier == ZK_SRS_HOT) break;
        if (!v.loading || !v.load_total_bytes) continue;
        /* the least of all workers: it may go back when one more begins */
        ZK_CHECKF(v.load_total_bytes == total && v.load_done_bytes <= total, "%llu of %llu, the file has %llu",
                  (unsigned long long)v.load_done_bytes, (unsigned long long)v.load_total_bytes,
                  (unsigned long long)total);
        if (step && v.load_done_bytes <= seen) continue;
        n_seen += v.load_done_bytes > seen;
        seen = v.load_done_bytes;
        char file[32];
        snprintf(file, sizeof file, "gate-%u", step++);
        write_text(test_path(file), "");
    }
    pthread_join(thread, &good);
    unsetenv("CUZK_TEST_GATE");
    ZK_CHECK(good == engine);
    ZK_CHECKF(n_seen >= 3 && seen > total / 2, "%llu steps, up to %llu of %llu", (unsigned long long)n_seen,
              (unsigned long long)seen, (unsigned long long)total);
    zk_engine_destroy(engine);
}

static bool is_in_tier(zk_srs_view *v, zk_engine *engine, const char *id, zk_srs_tier tier) {
    *v = srs_of(engine, id);
    return v->tier == tier;
}

static zk_srs_view await_tier(zk_engine *engine, const char *id, zk_srs_tier tier) {
    zk_srs_view v = {.circuit_id = ""};
    TEST_UNTIL(is_in_tier(&v, engine, id, tier));
    return v;
}

static void test_tiers(void) {
    zk_engine_options options = test_options("tiers");
    cuzk_err err = {0};
    bool was;
    uint64_t bytes;
    options.param_cache = own_keys("keys-t");
    options.memory_budget_bytes = test_budget_for_one(&options, false);
    zk_engine *engine = test_engine(&options);
    ZK_CHECK(srs_of(engine, "winning-2k").tier == ZK_SRS_COLD);
    uint64_t file_bytes = srs_of(engine, "winning-2k").bytes;
    ZK_CHECK_OK(preload(engine, "winning-2k", &err), err);
    ZK_CHECK(srs_of(engine, "winning-2k").tier == ZK_SRS_HOT);
    ZK_CHECK_OK(preload(engine, "wpost-2k", &err), err);
    zk_srs_view v = await_tier(engine, "winning-2k", ZK_SRS_WARM);
    ZK_CHECK(v.bytes == file_bytes && v.n_workers == 0 && v.evictable && !v.locked);
    ZK_CHECK(srs_of(engine, "wpost-2k").tier == ZK_SRS_HOT);
    /* to evict is to let go of the memory, wherever it is */
    ZK_CHECK_OK(zk_engine_evict(&was, &bytes, engine, "winning-2k", &err), err);
    ZK_CHECK(!was && bytes == 0);
    await_tier(engine, "winning-2k", ZK_SRS_COLD);
    ZK_CHECK_OK(zk_engine_evict(&was, &bytes, engine, "wpost-2k", &err), err);
    ZK_CHECK(was);
    await_tier(engine, "wpost-2k", ZK_SRS_COLD);
    zk_engine_destroy(engine);
    options.warm = ZK_WARM_OFF;
    engine = test_engine(&options);
    ZK_CHECK_OK(preload(engine, "winning-2k", &err), err);
    ZK_CHECK_OK(preload(engine, "wpost-2k", &err), err);
    usleep(1200000);
    ZK_CHECK(srs_of(engine, "winning-2k").tier == ZK_SRS_COLD);
    zk_engine_destroy(engine);
}

/* Locked files give way to what needs the memory. */
static void test_resident(void) {
    zk_engine_options options = test_options("resident");
    cuzk_err err = {0};
    bool was;
    uint64_t bytes;
    options.param_cache = own_keys("keys-l");
    const zk_request *request = test_request(ZK_KIND_WINNING, "a", 1); /* the memory of this process counts */
    uint64_t budget = test_budget_for_one(&options, false);
    options.warm = ZK_WARM_RESIDENT;
    zk_engine *engine = test_engine(&options);
    /* a job that waits behind another is reason enough to read its keys */
    ZK_CHECK_OK(preload(engine, "winning-2k", &err), err);
    ZK_CHECK_OK(zk_engine_evict(&was, &bytes, engine, "winning-2k", &err), err);
    zk_engine_destroy(engine);
    options.memory_budget_bytes = budget;
    engine = test_engine(&options);
    ZK_CHECK_OK(preload(engine, "winning-2k", &err), err);
    ZK_CHECK_OK(preload(engine, "wpost-2k", &err), err); /* winning-2k is not hot any more */
    zk_srs_view v = await_tier(engine, "winning-2k", ZK_SRS_WARM);
    for (unsigned i = 0; i < 25 && !v.locked; i++) { /* in the next round */
        usleep(100000);
        v = srs_of(engine, "winning-2k");
    }
    zk_engine_status *st = test_status(engine);
    ZK_CHECK(st->memory_reserved_bytes <= options.memory_budget_bytes);
    zk_engine_status_destroy(st);
    ZK_CHECK(v.tier == ZK_SRS_WARM);
    if (v.locked) {
        test_prove_request(engine, request);
    } else {
        printf("# memory cannot be locked here, or the budget has no room\n");
    }
    zk_engine_destroy(engine);
}

/* Keys that are loaded ahead do not drive out those that were just used; a job does. */
static void test_min_idle(void) {
    zk_engine_options options = test_options("min-idle");
    cuzk_err err = {0};
    const zk_request *request = test_request(ZK_KIND_WINDOW, "a", 1); /* the memory of this process counts */
    options.memory_budget_bytes = test_budget_for_one(&options, false);
    options.eviction_min_idle_ms = 86400000;
    zk_engine *engine = test_engine(&options);
    ZK_CHECK_OK(preload(engine, "winning-2k", &err), err);
    ZK_CHECK(preload(engine, "wpost-2k", &err) == CUZK_EXHAUSTED);
    ZK_CHECKF(strstr(err.message, "memory.eviction_min_idle"), "%s", err.message);
    ZK_CHECK(srs_of(engine, "winning-2k").tier == ZK_SRS_HOT);
    test_prove_request(engine, request);
    ZK_CHECK(srs_of(engine, "winning-2k").tier != ZK_SRS_HOT);
    zk_engine_destroy(engine);
}

int main(int argc, char **argv) {
    static const zk_test_case cases[] = {
        ZK_CASE(test_record),     ZK_CASE(test_manifest), ZK_CASE(test_remembered),
        ZK_CASE(test_wrong_file), ZK_CASE(test_shrinks),  ZK_CASE(test_progress),
        ZK_CASE(test_tiers),      ZK_CASE(test_resident), ZK_CASE(test_min_idle),
    };
    test_change_backend = change_backend;
    if (argc > 1 && strcmp(argv[1], "worker") == 0) return test_worker_main(argc, argv);
    return test_engine_main(cases, sizeof cases / sizeof cases[0], argc, argv);
}
