/* The circuits of sector updates against the reference: structure. */
#include "circuit/update.h"
#include "circuit_check.h"

static void check(uint64_t sector_bytes) {
    cuzk_err err = {0};
    zk_program *p = NULL;
    ZK_CHECK_OK(zk_update_program(&p, sector_bytes, &err), err);
    check_structure("update", sector_bytes, p);
    zk_program_destroy(p);
}

static void test_structure_2k(void) { check(2048); }
static void test_structure_4k(void) { check(4096); }
static void test_structure_16k(void) { check(16384); }
static void test_structure_32k(void) { check(32768); }
static void test_structure_8m(void) { check(UINT64_C(8) << 20); }
static void test_structure_512m(void) { check(UINT64_C(512) << 20); }
static void test_structure_32g(void) { check(UINT64_C(32) << 30); }

ZK_TEST_MAIN(ZK_CASE(test_structure_2k), ZK_CASE(test_structure_4k), ZK_CASE(test_structure_16k),
             ZK_CASE(test_structure_32k), ZK_CASE(test_structure_8m), ZK_CASE(test_structure_512m),
             ZK_CASE(test_structure_32g))
