cuzk_test(test_prepare ${CMAKE_CURRENT_LIST_DIR}/prepare_test.c LINK zk_groth16)
