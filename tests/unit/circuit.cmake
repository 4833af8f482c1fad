cuzk_test(test_circuit ${CMAKE_CURRENT_LIST_DIR}/circuit_test.c LINK zk_circuit)
cuzk_test(test_circuit_gadget ${CMAKE_CURRENT_LIST_DIR}/circuit_gadget_test.c LINK zk_circuit)
cuzk_test(test_circuit_c1 ${CMAKE_CURRENT_LIST_DIR}/circuit_c1_test.c LINK zk_filecoin)
cuzk_test(test_circuit_full ${CMAKE_CURRENT_LIST_DIR}/circuit_full_test.c LINK zk_filecoin FULL)
