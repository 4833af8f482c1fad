/* Standard streams that are closed or full, and outputs that cannot be written: found before the work is done. */
#include "e2e/run.h"

/* Runs the program through a shell, with redirections; exit code. */
static int shell(const char *arguments) {
    char command[2048];
    snprintf(command, sizeof command, "'%s' %s", e2e_program(), arguments);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define SHELL(expected, ...)                                                                                           \
    do {                                                                                                               \
        char arguments[1536];                                                                                          \
        snprintf(arguments, sizeof arguments, __VA_ARGS__);                                                            \
        int code = shell(arguments);                                                                                   \
        ZK_CHECKF(code == (expected), "exit code %d of %s", code, arguments);                                          \
    } while (0)

static void test_streams(void) {
    const char *toy = e2e_vector("toy"), *dir = e2e_dir();
    SHELL(4, "circuit info winning --sector-size 2KiB >/dev/full 2>/dev/null");
    SHELL(4, "circuit info winning --sector-size 2KiB --json >/dev/full 2>/dev/null");
    SHELL(4, "circuit info winning --sector-size 2KiB >&- 2>/dev/null");
    SHELL(0, "circuit info winning --sector-size 2KiB >/dev/null 2>&- <&-");
    const char *const only_print[] = {"--help", "--version", "params --help", "prove --help", "config sample"};
    for (size_t i = 0; i < sizeof only_print / sizeof only_print[0]; i++) {
        SHELL(0, "%s >/dev/null", only_print[i]);
        SHELL(4, "%s >/dev/full 2>/dev/null", only_print[i]);
        SHELL(4,
              "%s 2>&1 >/dev/full | grep 'standard output: cannot write: No space left on device' >/dev/null && exit 4",
              only_print[i]);
    }
    /* nothing that was meant for a closed stream goes into a file */
    SHELL(4, "prove r1cs %s/one-row.json --params %s -o %s/closed --quiet >&- 2>&- <&-", toy, toy, dir);
    size_t n = 0;
    free(e2e_read(e2e_path("closed"), &n));
    ZK_CHECK(n == 192);
    SHELL(0, "verify r1cs %s/one-row.json --params %s %s/closed >/dev/null", toy, toy, dir);
    SHELL(4, "verify r1cs %s/one-row.json --params %s %s/closed >/dev/full 2>/dev/null", toy, toy, dir);
    /* a no stays a no */
    SHELL(1, "verify r1cs %s/one-row.json --params %s %s/one-row.vk >/dev/full 2>/dev/null", toy, toy, toy);
}

static void test_outputs(void) {
    const char *circuit = e2e_vector("toy/one-row.json"), *dir = e2e_dir();
    char long_name[600], under_file[600];
    snprintf(long_name, sizeof long_name, "%s/%0300d", dir, 0);
    snprintf(under_file, sizeof under_file, "%s/x", circuit);
    const char *outputs[] = {"", dir, "/nonexistent/x", long_name, under_file};
    const char *says[] = {": cannot write there", "found a folder", "cannot create", "too long", "Not a directory"};
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
        e2e_result r;
        /* the keys are missing too, but the output comes first */
        E2E_RUN(&r, 3, "prove", "r1cs", circuit, "--params", "/nonexistent", "-o", outputs[i]);
        ZK_CHECKF(strstr(r.err, says[i]) != NULL && strchr(r.err, '\n') == r.err + r.n_err - 1, "%s", r.err);
        e2e_free(&r);
    }
    e2e_result r;
    /* a proof that cannot be read is no answer about it */
    E2E_RUN(&r, 3, "verify", "r1cs", circuit, "--params", e2e_vector("toy"), dir);
    e2e_free(&r);
    e2e_write(e2e_path("long"), "", 0);
    ZK_CHECK(truncate(e2e_path("long"), (off_t)1 << 36) == 0); /* of which only the head is read */
    E2E_RUN(&r, 1, "verify", "r1cs", circuit, "--params", e2e_vector("toy"), e2e_path("long"));
    e2e_free(&r);
    E2E_RUN(&r, 3, "verify", "r1cs", circuit, "--params", e2e_vector("toy"), "/dev/zero");
    ZK_CHECKF(strstr(r.err, "/dev/zero: found a device, expected a regular file") != NULL, "%s", r.err);
    e2e_free(&r);
    E2E_RUN(&r, 3, "inspect", "--c1", dir);
    ZK_CHECKF(strstr(r.err, "found a folder, expected a regular file") != NULL, "%s", r.err);
    e2e_free(&r);
}

static void test_cleanup(void) { e2e_cleanup(); }

ZK_TEST_MAIN(ZK_CASE(test_streams), ZK_CASE(test_outputs), ZK_CASE(test_cleanup))
