/* Witnesses of circuits from C1 files as they arrive. */
#include "circuit_sector.h"

static void test_non_interactive_2k(void) { check_sector("seal-StackedDrg2KiBV1_2_Feat_NonInteractivePoRep", 2, true); }
static void test_512m(void) { check_sector("sparse-StackedDrg512MiBV1_1", 1, true); }

ZK_TEST_MAIN(ZK_CASE(test_non_interactive_2k), ZK_CASE(test_512m))
