cuzk_test(test_filecoin_sample ${CMAKE_CURRENT_LIST_DIR}/filecoin_sample_test.c LINK zk_filecoin)
