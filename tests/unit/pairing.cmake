cuzk_test(test_pairing ${CMAKE_CURRENT_LIST_DIR}/pairing_test.c LINK zk_pairing)
