/* Prepared keys in workers: used where they lie beside a key file, left alone with a word where they are no good; the
 * same proofs either way. */
#include "engine_common.h"

#include <fcntl.h>

#include "groth16/prepared_params.h"
#include "hash/sha256.h"

static char params_path[ZK_KEY_PATH_BYTES];
static char *prepared_path;
static uint8_t *good; /* what the prepared key holds */
static size_t n_good;

/* The digest at its end. */
static void seal(uint8_t *bytes) {
    zk_sha256(bytes + n_good - ZK_SHA256_DIGEST_BYTES, bytes, n_good - ZK_SHA256_DIGEST_BYTES);
}

/* The file that preparing would make, in closed form: by transforms of points it would take a CPU too long. */
static void write_prepared(const zk_program *program, const zk_toxic_waste *toxic, zk_pool *pool) {
    cuzk_err err = {0};
    zk_key_scalars scalars = {0};
    zk_multiples *multiples[2] = {NULL};
    zk_backend *cpu = NULL;
    zk_params *params = NULL;
    zk_vk vk = {0};
    ZK_CHECK_OK(zk_backend_open_cpu(&cpu, pool, &err), err);
    ZK_CHECK_OK(zk_key_scalars_create(&scalars, program, toxic, pool, &err), err);
    ZK_CHECK_OK(zk_key_multiples_create(multiples, &scalars, cpu, &err), err);
    ZK_CHECK_OK(zk_key_scalars_vk(&vk, &scalars, multiples, &err), err);
    ZK_CHECK_OK(zk_key_scalars_prepare(&scalars, program, &err), err);
    ZK_CHECK_OK(zk_params_open(&params, params_path, NULL, &err), err);
    size_t n_g = scalars.n_g, n_l = scalars.n_prepared_l;
    n_good = ZK_PREPARED_HEADER_BYTES + (n_g + n_l) * ZK_G1_UNCOMPRESSED_BYTES + ZK_SHA256_DIGEST_BYTES;
    good = malloc(n_good);
    zk_fr *of = malloc((n_g + n_l) * sizeof *of);
    zk_prepared_header header = {.params_bytes = params->n_bytes, .n_c_inputs = (uint32_t)scalars.n_c_inputs};
    unsigned log2_n;
    ZK_CHECK_OK(zk_program_log2_domain(&log2_n, program, &err), err);
    header.log2_n = log2_n;
    header.n_aux = program->n_aux;
    zk_sha256(header.params_sha256, params->bytes, params->n_bytes);
    zk_sha256(header.vk_sha256, params->bytes, params->vk_bytes);
    zk_prepared_header_encode(good, &header);
    zk_key_scalars_get_g(&scalars, of, 0, n_g);
    zk_key_scalars_get_prepared_l(&scalars, of + n_g, 0, n_l);
    ZK_CHECK_OK(zk_multiples_encode(multiples[ZK_G1], good + ZK_PREPARED_HEADER_BYTES, of, n_g + n_l, &err), err);
    seal(good);
    free(of);
    zk_vk_clear(&vk);
    zk_params_close(params);
    zk_key_multiples_destroy(multiples);
    zk_key_scalars_clear(&scalars);
    zk_backend_close(cpu);
}

static void make_keys(void) {
    cuzk_err err = {0};
    zk_program *program = NULL;
    zk_pool *pool = NULL;
    zk_toxic_waste toxic, again;
    zk_setup_result result;
    ZK_CHECK_OK(zk_folder_create(test_path("keys"), &err), err);
    ZK_CHECK(zk_circuit_key_path(params_path, NULL, test_path("keys"), ZK_KIND_WINNING, 2048, NULL) == CUZK_NOT_FOUND);
    ZK_CHECK_OK(zk_kind_program(&program, ZK_KIND_WINNING, 2048, &err), err);
    ZK_CHECK_OK(zk_pool_create(&pool, 0, &err), err);
    ZK_CHECK_OK(zk_toxic_waste_random(&toxic, &err), err);
    again = toxic;
    zk_setup_options options = {.toxic = &toxic, .params_path = params_path, .pool = pool};
    ZK_CHECK_OK(zk_setup(&result, program, &options, &err), err);
    ZK_CHECK_OK(zk_prepared_path(&prepared_path, params_path, &err), err);
    write_prepared(program, &again, pool);
    zk_pool_destroy(pool);
    zk_program_destroy(program);
}

static void put_prepared(const uint8_t *bytes, size_t n) {
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_file_write(prepared_path, bytes, n, &err), err);
}

/* Digests that an engine has remembered of prepared keys. */
static unsigned n_remembered(const char *name) {
    char path[600], line[2048];
    unsigned n = 0;
    snprintf(path, sizeof path, "%s/journal.keys", test_path(name));
    FILE *record = fopen(path, "r");
    ZK_CHECK(record != NULL);
    while (fgets(line, sizeof line, record)) n += strstr(line, ".prepared\n") != NULL;
    fclose(record);
    return n;
}

/* What workers write to standard error while fn runs. */
static char *caught(void (*fn)(void *ctx), void *ctx) {
    const char *path = test_path("stderr");
    int saved = dup(2), fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
    ZK_CHECK(saved >= 0 && fd >= 0 && dup2(fd, 2) == 2);
    fn(ctx);
    ZK_CHECK(dup2(saved, 2) == 2);
    close(saved);
    off_t n = lseek(fd, 0, SEEK_END);
    char *text = calloc(1, (size_t)n + 1);
    ZK_CHECK(pread(fd, text, (size_t)n, 0) == n);
    close(fd);
    return text;
}

typedef struct run {
    const char *name;
    bool off;
    uint8_t proof[ZK_PROOF_BYTES];
    bool prepared;
    uint64_t n_wrong;
} run;

static void prove(void *ctx) {
    run *r = ctx;
    zk_engine_options options = test_options(r->name);
    options.param_cache = test_path("keys");
    options.no_prepared = r->off;
    zk_engine *engine = test_engine(&options);
    zk_submitted s;
    zk_result result;
    test_submit(&s, engine, test_request(ZK_KIND_WINNING, "prepared", 1));
    test_await(&result, engine, s.job_id);
    ZK_CHECKF(result.outcome == ZK_OUTCOME_COMPLETED && result.n_proof == ZK_PROOF_BYTES, "%s", result.message);
    memcpy(r->proof, result.proof, sizeof r->proof);
    zk_result_clear(&result);
    zk_engine_status *st = test_status(engine);
    for (size_t i = 0; i < st->n_srs; i++)
        if (strcmp(st->srs[i].circuit_id, "winning-2k") == 0) r->prepared = st->srs[i].prepared;
    r->n_wrong = st->n_wrong_proofs;
    zk_engine_status_destroy(st);
    zk_engine_destroy(engine);
}

static uint8_t plain[ZK_PROOF_BYTES]; /* all runs have one blinding, so that each proof is this */

static void test_used(void) {
    run off = {.name = "off", .off = true}, on = {.name = "on"}, none = {.name = "none"};
    put_prepared(good, n_good);
    free(caught(prove, &off));
    char *text = caught(prove, &on);
    ZK_CHECK(!off.prepared && on.prepared && off.n_wrong + on.n_wrong == 0);
    ZK_CHECK(n_remembered("off") == 0 && n_remembered("on") == 1);
    ZK_CHECK_MEM(on.proof, off.proof, sizeof off.proof);
    ZK_CHECKF(!strstr(text, "prepared"), "%s", text);
    free(text);
    unlink(prepared_path);
    text = caught(prove, &none); /* not there: nothing to be said */
    ZK_CHECKF(!none.prepared && !strstr(text, "prepared"), "%s", text);
    ZK_CHECK_MEM(none.proof, off.proof, sizeof off.proof);
    memcpy(plain, off.proof, sizeof plain);
    free(text);
}

static void check_refused(const char *name, const uint8_t *bytes, size_t n, const char *why) {
    run r = {.name = name};
    if (bytes) put_prepared(bytes, n);
    char *text = caught(prove, &r);
    const char *line = strstr(text, "a prepared key is not used");
    ZK_CHECKF(line && !strstr(line + 1, "a prepared key is not used"), "%s: %s", name, text); /* one line */
    ZK_CHECKF(strstr(text, why), "%s: %s", name, text);
    ZK_CHECKF(!r.prepared && r.n_wrong == 0, "%s", name);
    ZK_CHECK_MEM(r.proof, plain, sizeof plain);
    free(text);
}

static void swap_points(uint8_t *bytes) {
    uint8_t swap[ZK_G1_UNCOMPRESSED_BYTES];
    uint8_t *first = bytes + ZK_PREPARED_HEADER_BYTES, *second = first + ZK_G1_UNCOMPRESSED_BYTES;
    memcpy(swap, first, sizeof swap);
    memcpy(first, second, sizeof swap);
    memcpy(second, swap, sizeof swap);
}

static void test_refused(void) {
    uint8_t *bad = malloc(n_good);
    memcpy(bad, good, n_good);
    check_refused("short", good, n_good - 1, "incomplete or damaged");
    check_refused("empty", good, 10, "found 10 bytes");
    bad[0] ^= 1;
    check_refused("magic", bad, n_good, "not a prepared key");
    bad[0] ^= 1;
    bad[24] ^= 1;
    check_refused("header", bad, n_good, "damaged: its SHA-256 is");
    seal(bad); /* as if the parameter file were another one with the same verifying key */
    check_refused("stale", bad, n_good, "prepared from another file");
    check_refused("stale-again", bad, n_good, "prepared from another file");
    memcpy(bad, good, n_good);
    bad[56] ^= 1;
    check_refused("vk", bad, n_good, "the verifying keys differ");
    bad[56] ^= 1;
    bad[n_good / 2] ^= 1;
    check_refused("point", bad, n_good, "at offset");
    bad[n_good / 2] ^= 1;
    bad[n_good - 1] ^= 1;
    check_refused("digest", bad, n_good, "damaged: its SHA-256 is");
    bad[n_good - 1] ^= 1;
    /* Points that are on the curve, which nothing but the digest tells from the right ones. */
    swap_points(bad);
    check_refused("swapped", bad, n_good, "damaged: its SHA-256 is");
    ZK_CHECK(n_remembered("swapped") == 1 && unlink(test_path("swapped/journal")) == 0); /* else the proof is kept */
    check_refused("swapped", NULL, 0, "damaged: its SHA-256 is");                        /* as was remembered */
    free(bad);
}

/* Wrong points under a digest that is theirs: the proof is refused, kept as evidence, and made without. */
static void test_wrong_points(void) {
    uint8_t *bad = malloc(n_good);
    run r = {.name = "wrong"};
    memcpy(bad, good, n_good);
    swap_points(bad);
    seal(bad);
    put_prepared(bad, n_good);
    free(caught(prove, &r));
    ZK_CHECKF(!r.prepared && r.n_wrong == 1, "%llu wrong", (unsigned long long)r.n_wrong);
    ZK_CHECK_MEM(r.proof, plain, sizeof plain);
    ZK_CHECK(test_count_files(test_path("wrong/journal.evidence")) > 0);
    free(bad);
}

int main(int argc, char **argv) {
    static const zk_test_case cases[] = {ZK_CASE(test_used), ZK_CASE(test_refused), ZK_CASE(test_wrong_points)};
    if (argc > 1 && strcmp(argv[1], "worker") == 0) return test_worker_main(argc, argv);
    zk_log_set_level(getenv("CUZK_ENGINE_LOG") ? ZK_LOG_DEBUG : ZK_LOG_OFF);
    setenv("CUZK_TEST_BLINDING", "1", 1);
    test_dir_make();
    make_keys();
    int code = zk_test_run(cases, sizeof cases / sizeof cases[0], argc, argv);
    free(good);
    free(prepared_path);
    test_dir_remove();
    return code;
}
