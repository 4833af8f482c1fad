cuzk_test(test_filecoin_post ${CMAKE_CURRENT_LIST_DIR}/filecoin_post_test.c LINK zk_filecoin)
cuzk_test(test_circuit_post ${CMAKE_CURRENT_LIST_DIR}/circuit_post_test.c LINK zk_circuit)
cuzk_test(test_circuit_post_full ${CMAKE_CURRENT_LIST_DIR}/circuit_post_full_test.c LINK zk_circuit FULL)
cuzk_test(test_post_witness ${CMAKE_CURRENT_LIST_DIR}/post_witness_test.c LINK zk_filecoin)
