cuzk_test(test_update ${CMAKE_CURRENT_LIST_DIR}/update_test.c LINK zk_circuit)
cuzk_test(test_update_full ${CMAKE_CURRENT_LIST_DIR}/update_test.c LINK zk_circuit FULL)
target_compile_definitions(test_update_full PRIVATE FULL=1)
cuzk_test(test_filecoin_update ${CMAKE_CURRENT_LIST_DIR}/filecoin_update_test.c LINK zk_filecoin)
cuzk_test(test_filecoin_update_full ${CMAKE_CURRENT_LIST_DIR}/filecoin_update_test.c LINK zk_filecoin FULL)
target_compile_definitions(test_filecoin_update_full PRIVATE ALL_FLIPS=1)
cuzk_test(test_filecoin_update_circuit ${CMAKE_CURRENT_LIST_DIR}/filecoin_update_circuit_test.c LINK zk_filecoin)
cuzk_test(test_filecoin_update_circuit_full ${CMAKE_CURRENT_LIST_DIR}/filecoin_update_circuit_full_test.c
  LINK zk_filecoin FULL)
