cuzk_test(test_groth16_toy ${CMAKE_CURRENT_LIST_DIR}/groth16_toy_test.c LINK zk_groth16)
