/* Witnesses of larger sector updates. The rows of the largest are not evaluated here (their values alone take 8 GiB);
 * that they hold follows from the digests of both structure and witness being the reference's. */
#include "update_witness.h"

static void test_witness_32k_p0(void) { check_update_witness("real-32768", 0, true); }
static void test_witness_32k_p1(void) { check_update_witness("real-32768", 1, true); }
static void test_witness_8m_p0(void) { check_update_witness("real-8388608", 0, true); }
static void test_witness_8m_p3(void) { check_update_witness("real-8388608", 3, true); }
static void test_witness_512m(void) { check_update_witness("auto-536870912", 7, false); }
static void test_witness_32g(void) { check_update_witness("auto-34359738368", 7, false); }

ZK_TEST_MAIN(ZK_CASE(test_witness_32k_p0), ZK_CASE(test_witness_32k_p1), ZK_CASE(test_witness_8m_p0),
             ZK_CASE(test_witness_8m_p3), ZK_CASE(test_witness_512m), ZK_CASE(test_witness_32g))
