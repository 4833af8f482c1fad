cuzk_test(test_update ${CMAKE_CURRENT_LIST_DIR}/update_test.c LINK zk_circuit)
