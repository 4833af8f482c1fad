/* The prepared key of a real circuit (WindowPoSt of 2 KiB sectors, 2^15 rows) from its parameter file by transforms of
 * points: half a minute of one core. */
#include "prepare_proofs.h"

static void test_window(void) {
    const char *request = sample("window", "window.json"), *toxic = e2e_vector("toxic.json"), *dir = e2e_path("keys");
    char list[600], params[512];
    uint8_t plain[192];
    e2e_result r;
    E2E_RUN(&r, 0, "setup", "window", "--sector-size", "2KiB", "--out", dir, "--test-toxic", toxic, "--backend", "cpu");
    e2e_free(&r);
    snprintf(list, sizeof list, "ls %s/v28-*.params", dir);
    FILE *f = popen(list, "r");
    ZK_CHECK(f && fgets(params, sizeof params, f));
    pclose(f);
    params[strcspn(params, "\n")] = 0;
    E2E_RUN(&r, 0, "params", "prepare", params, "--backend", "cpu"); /* the circuit by the file's name */
    e2e_free(&r);
    memcpy(plain, prove_sample(request, "--params", dir, false), sizeof plain);
    ZK_CHECK(memcmp(plain, prove_sample(request, "--params", dir, true), sizeof plain) == 0);
}

int main(int argc, char **argv) {
    static const zk_test_case cases[] = {ZK_CASE(test_window)};
    int result = zk_test_run(cases, sizeof cases / sizeof cases[0], argc, argv);
    e2e_cleanup();
    return result;
}
