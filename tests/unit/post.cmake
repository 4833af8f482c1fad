cuzk_test(test_filecoin_post ${CMAKE_CURRENT_LIST_DIR}/filecoin_post_test.c LINK zk_filecoin)
cuzk_test(test_circuit_post ${CMAKE_CURRENT_LIST_DIR}/circuit_post_test.c LINK zk_circuit)
cuzk_test(test_circuit_post_full ${CMAKE_CURRENT_LIST_DIR}/circuit_post_full_test.c LINK zk_circuit FULL)
