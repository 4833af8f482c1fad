cuzk_test(test_curve ${CMAKE_CURRENT_LIST_DIR}/curve_test.c LINK zk_curve)
