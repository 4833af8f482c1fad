cuzk_test(test_trace_compare ${CMAKE_CURRENT_LIST_DIR}/trace_compare_test.c LINK zk_base)
