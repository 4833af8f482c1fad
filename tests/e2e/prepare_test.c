/* Prepared keys through the command line: files of an explicit circuit, keys of real circuits from toxic waste,
 * refusals.
 */
#include "prepare_proofs.h"

static const char *copy_toy(const char *name) {
    const char *path = e2e_path(name);
    char vector[64];
    size_t n;
    snprintf(vector, sizeof vector, "toy/%s", name);
    uint8_t *bytes = e2e_read(e2e_vector(vector), &n);
    e2e_write(path, bytes, n);
    free(bytes);
    return path;
}

static void test_explicit_circuit(void) {
    const char *params = copy_toy("bits-64.params"), *circuit = e2e_vector("toy/bits-64.json"), *prepared;
    e2e_result r;
    size_t n = 0;
    prepared = e2e_path("bits-64.prepared");
    E2E_RUN(&r, 3, "prove", "r1cs", circuit, "--params", e2e_dir(), "--prepared", "-o", e2e_path("p"));
    ZK_CHECKF(strstr(r.err, "bits-64.prepared"), "%s", r.err);
    e2e_free(&r);
    E2E_RUN(&r, 0, "params", "prepare", params, "--r1cs", circuit, "--json", "--backend", "cpu");
    ZK_CHECKF(strstr(r.out, "bits-64.prepared") && strstr(r.out, "\"made\": true"), "%s", r.out);
    e2e_free(&r);
    E2E_RUN(&r, 0, "params", "prepare", params, "--r1cs", circuit, "--check");
    e2e_free(&r);
    E2E_RUN(&r, 0, "prove", "r1cs", circuit, "--params", e2e_dir(), "--prepared", "-o", e2e_path("p"));
    e2e_free(&r);
    copy_toy("bits-64.vk");
    E2E_RUN(&r, 0, "verify", "r1cs", circuit, "--params", e2e_dir(), e2e_path("p"));
    e2e_free(&r);

    uint8_t *bytes = e2e_read(prepared, &n);
    bytes[n / 2] ^= 1;
    e2e_write(prepared, bytes, n);
    E2E_RUN(&r, 1, "params", "prepare", params, "--r1cs", circuit, "--check");
    ZK_CHECKF(strstr(r.err, "SHA-256"), "%s", r.err);
    e2e_free(&r);
    e2e_write(prepared, bytes, n - 1);
    E2E_RUN(&r, 3, "prove", "r1cs", circuit, "--params", e2e_dir(), "--prepared", "-o", e2e_path("p"));
    e2e_free(&r);
    free(bytes);
}

/* Damage that loading does not see: of the digest at the end, of what only the digest covers, of points that stay
 * points. No proof leaves, and the file is named. */
static void test_damage(void) {
    const char *params = copy_toy("bits-64.params"), *circuit = e2e_vector("toy/bits-64.json");
    enum { SHA256 = 32, POINT = 96, HEADER = 104, NAMED_SHA256 = 24 };
    e2e_result r;
    size_t n = 0;
    unlink(e2e_path("bits-64.prepared"));
    E2E_RUN(&r, 0, "params", "prepare", params, "--r1cs", circuit, "--backend", "cpu");
    e2e_free(&r);
    uint8_t *good = e2e_read(e2e_path("bits-64.prepared"), &n), *bytes = malloc(n);
    for (int i = 0; i < 5; i++) {
        memcpy(bytes, good, n);
        if (i == 1) bytes[n - 1] ^= 1;
        if (i == 2) bytes[n - SHA256] ^= 0x80;
        if (i == 3) bytes[NAMED_SHA256 + 5] ^= 1;
        if (i == 4) memcpy(bytes + HEADER, good + HEADER + POINT, POINT);
        e2e_write(e2e_path("bits-64.prepared"), bytes, n);
        unlink(e2e_path("p"));
        E2E_RUN(&r, i ? 3 : 0, "prove", "r1cs", circuit, "--params", e2e_dir(), "--prepared", "-o", e2e_path("p"));
        ZK_CHECKF(!i || (strstr(r.err, "bits-64.prepared: damaged: its SHA-256 is")), "%d: %s", i, r.err);
        ZK_CHECK(e2e_exists(e2e_path("p")) == !i);
        e2e_free(&r);
    }
    free(good);
    free(bytes);
}

static void test_refusals(void) {
    const char *params = copy_toy("bits-64.params"), *circuit = e2e_vector("toy/random-1000.json");
    e2e_result r;
    int before = e2e_count_files(e2e_dir());
    E2E_RUN(&r, 2, "params", "prepare", params);
    ZK_CHECKF(strstr(r.err, "--r1cs"), "%s", r.err);
    e2e_free(&r);
    E2E_RUN(&r, 2, "params", "prepare", params, "--circuit", "window");
    e2e_free(&r);
    E2E_RUN(&r, 2, "params", "prepare", params, "--circuit", "window", "--sector-size", "2KiB", "--r1cs", circuit);
    e2e_free(&r);
    E2E_RUN(&r, 3, "params", "prepare", params, "--circuit", "window", "--sector-size", "2KiB"); /* another circuit's */
    e2e_free(&r);
    E2E_RUN(&r, 3, "params", "prepare", params, "--r1cs", circuit);
    e2e_free(&r);
    E2E_RUN(&r, 3, "params", "prepare", e2e_path("absent.params"), "--r1cs", circuit);
    e2e_free(&r);
    E2E_RUN_LIMITED(&r, 4, 4096, "params", "prepare", params, "--r1cs", e2e_vector("toy/bits-64.json"), "--backend",
                    "cpu");
    e2e_free(&r);
    ZK_CHECK(e2e_count_files(e2e_dir()) == before);
}

/* Without a file: the points that preparing would make, in closed form. */
static void test_real_circuits(void) {
    static const char *const kinds[] = {"window", "winning"};
    const char *toxic = e2e_vector("toxic.json");
    for (int i = 0; i < 2; i++) {
        const char *request = sample(kinds[i], kinds[i]);
        uint8_t plain[192];
        memcpy(plain, prove_sample(request, "--test-toxic", toxic, false), sizeof plain);
        ZK_CHECKF(memcmp(plain, prove_sample(request, "--test-toxic", toxic, true), sizeof plain) == 0, "%s", kinds[i]);
    }
}

int main(int argc, char **argv) {
    static const zk_test_case cases[] = {ZK_CASE(test_refusals), ZK_CASE(test_explicit_circuit), ZK_CASE(test_damage),
                                         ZK_CASE(test_real_circuits)};
    int result = zk_test_run(cases, sizeof cases / sizeof cases[0], argc, argv);
    e2e_cleanup();
    return result;
}
