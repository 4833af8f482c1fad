cuzk_test(test_update ${CMAKE_CURRENT_LIST_DIR}/update_test.c LINK zk_circuit)
cuzk_test(test_filecoin_update ${CMAKE_CURRENT_LIST_DIR}/filecoin_update_test.c LINK zk_filecoin)
cuzk_test(test_filecoin_update_full ${CMAKE_CURRENT_LIST_DIR}/filecoin_update_test.c LINK zk_filecoin FULL)
target_compile_definitions(test_filecoin_update_full PRIVATE ALL_FLIPS=1)
