#include "circuit_check.h"

static void test_structure_2k(void) { check_porep_structure(2048); }
static void test_structure_4k(void) { check_porep_structure(4096); }
static void test_structure_32k(void) { check_porep_structure(32768); }
static void test_structure_8m(void) { check_porep_structure(UINT64_C(8) << 20); }
static void test_structure_512m(void) { check_porep_structure(UINT64_C(512) << 20); }

ZK_TEST_MAIN(ZK_CASE(test_structure_2k), ZK_CASE(test_structure_4k), ZK_CASE(test_structure_32k),
             ZK_CASE(test_structure_8m), ZK_CASE(test_structure_512m))
