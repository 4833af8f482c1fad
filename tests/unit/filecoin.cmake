cuzk_test(test_filecoin ${CMAKE_CURRENT_LIST_DIR}/filecoin_test.c LINK zk_filecoin)
cuzk_test(test_filecoin_c1 ${CMAKE_CURRENT_LIST_DIR}/filecoin_c1_test.c LINK zk_filecoin)
cuzk_test(test_filecoin_vanilla ${CMAKE_CURRENT_LIST_DIR}/filecoin_vanilla_test.c LINK zk_filecoin)
cuzk_test(test_filecoin_full ${CMAKE_CURRENT_LIST_DIR}/filecoin_full_test.c LINK zk_filecoin FULL)
