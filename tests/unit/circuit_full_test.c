#include "circuit_check.h"

static void test_structure_32g(void) { check_porep_structure(UINT64_C(32) << 30); }

ZK_TEST_MAIN(ZK_CASE(test_structure_32g))
