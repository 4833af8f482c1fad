cuzk_test(test_backend ${CMAKE_CURRENT_LIST_DIR}/backend_test.c LINK zk_backend zk_hash)
