/* The test harness: a test file is a table of cases and one line of main.
 *
 *   static void test_add(void) { ZK_CHECK(1 + 1 == 2); }
 *   ZK_TEST_MAIN(ZK_CASE(test_add), ZK_CASE(test_sub))
 *
 * Each case prints `ok NAME` or `FAIL NAME`; the last line is `N passed, N failed`, the exit code 0 only when none
 * failed. Arguments select cases by substring. A failing check ends its case. Vectors are read from the folder
 * ZK_VECTORS_DIR (compile-time default, environment variable of the same name overrides).
 */
#ifndef ZK_TEST_H
#define ZK_TEST_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ZK_TEST_THREAD_SANITIZER 1
#endif
#if __has_feature(address_sanitizer)
#define ZK_TEST_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define ZK_TEST_THREAD_SANITIZER 1
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ZK_TEST_ADDRESS_SANITIZER 1
#endif

/* How many times longer than usual a thing may take before a test gives up waiting for it. */
#if defined(ZK_TEST_THREAD_SANITIZER)
enum { ZK_TEST_PATIENCE = 10 };
#else
enum { ZK_TEST_PATIENCE = 1 };
#endif
/* A test does not depend on how fast the machine is: it waits for what must come, and this bounds a hang alone. */
enum { ZK_TEST_HANG_S = 300 * ZK_TEST_PATIENCE };

typedef struct zk_test_case {
    const char *name;
    void (*run)(void);
} zk_test_case;

static jmp_buf zk_test_jump;

#define ZK_CASE(fn)                                                                                                    \
    { #fn, fn }
#define ZK_FAIL_CASE(...)                                                                                              \
    do {                                                                                                               \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                                                \
        fprintf(stderr, __VA_ARGS__);                                                                                  \
        fputc('\n', stderr);                                                                                           \
        longjmp(zk_test_jump, 1);                                                                                      \
    } while (0)
#define ZK_CHECK(cond)                                                                                                 \
    do {                                                                                                               \
        if (!(cond)) ZK_FAIL_CASE("check failed: %s", #cond);                                                          \
    } while (0)
/* Like ZK_CHECK, with a formatted remark (seed, index, values). */
#define ZK_CHECKF(cond, ...)                                                                                           \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            fprintf(stderr, "%s:%d: check failed: %s: ", __FILE__, __LINE__, #cond);                                   \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
            longjmp(zk_test_jump, 1);                                                                                  \
        }                                                                                                              \
    } while (0)
#define ZK_CHECK_MEM(a, b, n) ZK_CHECK(memcmp((a), (b), (n)) == 0)
/* Status of a call must be OK; prints err.message. */
#define ZK_CHECK_OK(expr, err)                                                                                         \
    do {                                                                                                               \
        if ((expr) != CUZK_OK) ZK_FAIL_CASE("%s failed: %s", #expr, (err).message);                                    \
    } while (0)

static inline const char *zk_test_vectors_dir(void) {
    const char *dir = getenv("ZK_VECTORS_DIR");
    return dir ? dir : ZK_VECTORS_DIR;
}

/* Deterministic generator for tests (splitmix64). */
static inline uint64_t zk_test_rand(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int zk_test_run(const zk_test_case *cases, size_t n, int argc, char **argv) {
    volatile size_t passed = 0, failed = 0;
    for (volatile size_t i = 0; i < n; i++) {
        bool selected = argc < 2;
        for (int k = 1; k < argc; k++) selected |= strstr(cases[i].name, argv[k]) != NULL;
        if (!selected) continue;
        if (setjmp(zk_test_jump) == 0) {
            cases[i].run();
            passed++;
            printf("ok %s\n", cases[i].name);
        } else {
            failed++;
            printf("FAIL %s\n", cases[i].name);
        }
        fflush(stdout);
    }
    printf("%zu passed, %zu failed\n", passed, failed);
    return failed || !passed ? 1 : 0;
}

#define ZK_TEST_MAIN(...)                                                                                              \
    int main(int argc, char **argv) {                                                                                  \
        static const zk_test_case cases[] = {__VA_ARGS__};                                                             \
        return zk_test_run(cases, sizeof cases / sizeof cases[0], argc, argv);                                         \
    }

#endif
