/* The circuit of the real size: structure, and the witness of one partition. Its rows are not evaluated here (12 GiB);
 * that they are satisfied follows from the digests of both being the reference's. */
#include "circuit_sector.h"

static void test_structure_32g(void) { check_porep_structure(UINT64_C(32) << 30); }
static void test_witness_32g(void) { check_sector("sparse-StackedDrg32GiBV1_1", 1, false); }

ZK_TEST_MAIN(ZK_CASE(test_structure_32g), ZK_CASE(test_witness_32g))
