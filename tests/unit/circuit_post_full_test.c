/* The WindowPoSt circuits of the real sizes: some 125 million rows. */
#include "circuit/post.h"
#include "circuit_check.h"

static void check(uint64_t bytes, uint32_t n_sectors) {
    cuzk_err err = {0};
    zk_program *p = NULL;
    ZK_CHECK_OK(zk_post_program(&p, &(zk_post_shape){bytes, n_sectors, 10}, "window", &err), err);
    check_structure("window", bytes, p);
    zk_program_destroy(p);
}

static void test_window_32g(void) { check(UINT64_C(32) << 30, 2349); }
static void test_window_64g(void) { check(UINT64_C(64) << 30, 2300); }

ZK_TEST_MAIN(ZK_CASE(test_window_32g), ZK_CASE(test_window_64g))
